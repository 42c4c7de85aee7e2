//! Laws of the family, written once and run for every variant.

use gardenia::{
    AnyScheme, AtomicBloom, Bloom, Digest, Filter, Insert, KeyHasher, Merge, ReadOptions, Scheme, SchemeId,
    SecretKey,
};
use proptest::prelude::*;
use std::collections::HashSet;

/// Every scheme, some shapes, both hashers: the filters that the laws run on.
fn blooms() -> impl Strategy<Value = Bloom<AnyScheme>> {
    let scheme = proptest::sample::select(SchemeId::ALL.to_vec());
    let shapes = prop_oneof![(1u64..300, 1u32..12), (1_000u64..50_000, 1u32..9), Just((3_000_000, 7))];
    (scheme, shapes, any::<u64>(), any::<bool>()).prop_map(|(id, (bits, hashes), seed, keyed)| {
        let secret = SecretKey::new((u128::from(seed) << 7).to_le_bytes());
        let hasher = if keyed { KeyHasher::sip13(secret) } else { KeyHasher::xxh3(seed) };
        let builder = Bloom::builder().bits(bits).hashes(hashes).hasher(hasher);
        builder.scheme(move |k| AnyScheme::new(id, k)).build().unwrap()
    })
}

fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..400)
}

fn digests(filter: &impl Filter, keys: &[Vec<u8>]) -> Vec<Digest> {
    keys.iter().map(|key| filter.digest(key)).collect()
}

/// Inserted keys are found, and `insert` says "certainly new" only of keys that were not in.
fn inserted_keys_are_found<F: Insert>(mut filter: F, keys: &[Vec<u8>]) {
    let mut model = HashSet::new();
    for (key, digest) in keys.iter().zip(digests(&filter, keys)) {
        let new = filter.insert_digest(digest).unwrap();
        assert!(!new || !model.contains(key), "a key was called new twice");
        assert!(new || filter.contains_digest(digest));
        model.insert(key.clone());
    }
    for digest in digests(&filter, keys) {
        assert!(filter.contains_digest(digest), "a key was lost");
    }
}

/// A batch answers as the calls one by one.
fn batches_agree<F: Insert + Clone>(mut filter: F, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    digests(&filter, keys).into_iter().for_each(|digest| _ = filter.insert_digest(digest).unwrap());
    let probes = [digests(&filter, keys), digests(&filter, probes)].concat();
    let mut answers = vec![false; probes.len()];
    filter.contains_digests(&probes, &mut answers);
    for (digest, answer) in probes.iter().zip(answers) {
        assert_eq!(answer, filter.contains_digest(*digest));
    }
}

/// Merging equals inserting both.
fn merge_is_insertion_of_both<F>(empty: F, a: &[Vec<u8>], b: &[Vec<u8>])
where
    F: Insert + Merge + Clone + PartialEq + std::fmt::Debug,
{
    let with = |keys: &[&[Vec<u8>]]| {
        let mut filter = empty.clone();
        for keys in keys {
            digests(&empty, keys).into_iter().for_each(|digest| _ = filter.insert_digest(digest).unwrap());
        }
        filter
    };
    let mut merged = with(&[a]);
    merged.merge(&with(&[b])).unwrap();
    assert_eq!(merged, with(&[a, b]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bloom_keeps_the_laws(filter in blooms(), a in keys(), b in keys()) {
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        merge_is_insertion_of_both(filter, &a, &b);
    }

    #[test]
    fn bloom_batches_insert_as_one_by_one(filter in blooms(), a in keys(), b in keys()) {
        let all = [a.clone(), a, b].concat(); // the repeats lie in one batch
        let (mut single, mut batch) = (filter.clone(), filter);
        let digests = digests(&batch, &all);
        let one_by_one: Vec<bool> = digests.iter().map(|digest| single.insert_digest(*digest)).collect();
        let mut answers = vec![false; digests.len()];
        batch.insert_digests(&digests, &mut answers);
        prop_assert_eq!(&single, &batch);
        prop_assert_eq!(one_by_one, answers);
        let mut many = single.clone();
        many.clear();
        prop_assert_eq!(many.bits(), single.bits());
        let new = many.insert_many(&all);
        prop_assert_eq!(new, batch_count(&all, &many));
        prop_assert_eq!(many.contains_many(&all), vec![true; all.len()]);
        prop_assert_eq!(many, single);
    }

    #[test]
    fn bloom_survives_encoding(filter in blooms(), a in keys()) {
        let mut filter = filter;
        filter.insert_many(&a);
        filter.about_mut().set_metadata(&a.concat()[..a.concat().len().min(99)]).unwrap();
        filter.about_mut().store_secret(true);
        let bytes = filter.to_vec().unwrap();
        let copy = Bloom::from_slice_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap();
        prop_assert_eq!(&copy, &filter);
        prop_assert_eq!(copy.about().metadata(), filter.about().metadata());
        prop_assert_eq!(copy.to_vec().unwrap(), &bytes[..]);
        let view = Bloom::view_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap();
        prop_assert!(view == filter);
        // "m bits plus at most 4 KiB", metadata included here
        prop_assert!(bytes.len() as u64 <= filter.bits().div_ceil(8) + 4096);
    }

    #[test]
    fn shared_bloom_is_the_owned_one(filter in blooms(), a in keys()) {
        let mut owned = filter.clone();
        let shared: AtomicBloom<AnyScheme> = filter.into_shared();
        for key in &a {
            prop_assert_eq!(owned.insert(key), shared.insert(key));
        }
        prop_assert!(owned == shared);
        prop_assert_eq!(owned.contains_many(&a), shared.contains_many(&a));
        prop_assert_eq!(owned, shared.into_owned());
    }

    #[test]
    fn intersection_keeps_common_keys_and_adds_none(filter in blooms(), a in keys(), b in keys(), c in keys()) {
        let (mut left, mut right) = (filter.clone(), filter);
        left.extend(a.iter().chain(&c));
        right.extend(b.iter().chain(&c));
        let mut both = left.clone();
        both.intersection(&right).unwrap();
        prop_assert!(c.iter().all(|key| both.contains(key)));
        for key in a.iter().chain(&b) {
            prop_assert!(!both.contains(key) || (left.contains(key) && right.contains(key)));
        }
    }

    #[test]
    fn positions_are_in_range_for_every_size(
        id in proptest::sample::select(SchemeId::ALL.to_vec()),
        digest in any::<u64>(),
        cells in prop_oneof![1u64..50, 1u64..=gardenia::MAX_CELLS / 2],
        hashes in 1u32..=255,
    ) {
        let scheme = AnyScheme::new(id, hashes);
        let cells = scheme.fit(cells);
        let positions: Vec<u64> = scheme.positions(Digest(digest), cells).collect();
        prop_assert_eq!(positions.len(), hashes as usize);
        prop_assert!(positions.iter().all(|&at| at < cells), "{positions:?} of {cells}");
    }
}

/// How many of `keys` a fresh filter of this shape calls new.
fn batch_count(keys: &[Vec<u8>], like: &Bloom<AnyScheme>) -> u64 {
    let mut fresh = like.clone();
    fresh.clear();
    keys.iter().map(|key| u64::from(fresh.insert(key))).sum()
}

#[test]
fn threads_that_share_a_filter_lose_nothing() {
    let shared = AtomicBloom::new_shared(40_000, 0.001).unwrap();
    let new: usize = std::thread::scope(|threads| {
        let workers: Vec<_> = (0..4u64)
            // Neighbours insert the same half of their keys.
            .map(|t| {
                threads.spawn({
                    let shared = &shared;
                    move || (t * 10_000..t * 10_000 + 20_000).filter(|key| shared.insert(*key)).count()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let owned = shared.into_owned();
    let one_thread: Bloom = {
        let mut filter = Bloom::new(40_000, 0.001).unwrap();
        filter.extend(0..50_000u64);
        filter
    };
    assert_eq!(owned, one_thread);
    // At least one thread was told that a key is new, unless it was a false positive.
    assert!(new as f64 > 50_000.0 * 0.98, "{new}");
}
