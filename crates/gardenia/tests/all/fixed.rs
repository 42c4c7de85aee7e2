//! Static sets and maps: what was built in is found, whatever the keys, their order, duplicates,
//! threads and storage; and absent keys pass as often as theory says.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "the mapped files are the test's own")]

use crate::common::{digests, keys};
use gardenia::error::UpdateError;
use gardenia::theory::binary_fuse;
use gardenia::{
    Ability, AnyFilter, BinaryFuse, Bloomier, BuildError, Digest, Filter, Hashed, InsertError, KeyHasher,
    SecretKey, SizeError,
};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// Word `i` of a stream, as a digest.
fn digest(stream: u64, i: u32) -> Digest {
    Digest(Digest(stream).word(i + 1))
}

fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let mut places: Vec<usize> = (0..items.len()).collect();
    places.sort_by_key(|at| Digest(seed).word(*at as u32 + 1));
    places.iter().map(|at| items[*at].clone()).collect()
}

fn hasher() -> impl Strategy<Value = KeyHasher> {
    prop_oneof![
        any::<u64>().prop_map(KeyHasher::xxh3),
        any::<[u8; 16]>().prop_map(|s| KeyHasher::sip13(SecretKey::new(s)))
    ]
}

proptest! {
    #[test]
    fn a_fuse_filter_is_a_function_of_its_set(
        keys in keys(),
        probes in keys(),
        arity in 3u32..=4,
        width in proptest::sample::select(vec![8u32, 16, 32]),
        hasher in hasher(),
        seed in any::<u64>(),
    ) {
        let builder = BinaryFuse::builder().arity(arity).fingerprint(width).hasher(hasher);
        let filter = builder.clone().build_from(&keys).unwrap();
        let distinct: HashSet<&Vec<u8>> = keys.iter().collect();
        prop_assert_eq!((filter.items(), filter.arity(), filter.width()), (distinct.len() as u64, arity, width));
        prop_assert!(keys.iter().all(|key| filter.contains(key)), "a key was lost");
        prop_assert!(filter.contains_many(&keys).iter().all(|found| *found), "a key was lost in a batch");
        // Duplicates, and the order, leave no trace.
        let again = shuffled(&[&keys[..], &keys[..keys.len() / 2]].concat(), seed);
        prop_assert!(filter == builder.threads(3).build_from(&again).unwrap());
        // Batches answer as single calls do.
        let probes = [digests(&filter, &keys), digests(&filter, &probes)].concat();
        let mut answers = vec![false; probes.len()];
        filter.contains_digests(&probes, &mut answers);
        prop_assert!(probes.iter().zip(&answers).all(|(probe, answer)| filter.contains_digest(*probe) == *answer));
        // So do copies of it.
        let mut filter = filter;
        filter.about_mut().store_secret(true);
        let bytes = filter.to_bytes().unwrap();
        let (copy, view) = (BinaryFuse::from_bytes(&bytes).unwrap(), BinaryFuse::view(&bytes).unwrap());
        prop_assert!(copy == filter && view == filter && view.to_bytes().unwrap() == bytes);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        let mut others = vec![true; probes.len()];
        AnyFilter::view(&bytes).unwrap().contains_digests(&probes, &mut others);
        prop_assert_eq!(&answers, &others);
        prop_assert!(probes.iter().zip(&answers).all(|(probe, answer)| any.contains_digest(*probe) == *answer));
        prop_assert!(any.to_bytes().unwrap() == bytes && any.fpp() == filter.fpp());
    }

    #[test]
    fn a_map_gives_each_key_its_value(
        entries in proptest::collection::hash_map(proptest::collection::vec(any::<u8>(), 0..9), any::<u32>(), 0..300),
        value_bits in 1u32..=32,
        check_bits in 0u32..=30,
        arity in 3u32..=4,
        seed in any::<u64>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 0..50),
    ) {
        let cut = |value: u32| value & (u32::MAX >> (32 - value_bits));
        let mut model: HashMap<Vec<u8>, u32> = entries.into_iter().map(|(key, value)| (key, cut(value))).collect();
        let mut entries: Vec<_> = model.clone().into_iter().collect();
        entries.sort();
        let builder = Bloomier::builder().value_bits(value_bits).check_bits(check_bits).arity(arity).seed(seed);
        let map = builder.clone().build_from(&entries).unwrap();
        let twice = shuffled(&[&entries[..], &entries[..]].concat(), seed);
        prop_assert!(map == builder.clone().threads(2).build_from(&twice).unwrap());
        let mut stock = builder.clone().build_mutable_from(&entries).unwrap();
        prop_assert!(stock == builder.build_mutable_from(&twice).unwrap());
        prop_assert_eq!((map.items(), stock.items()), (model.len() as u64, model.len() as u64));
        for (at, value) in changes {
            if !entries.is_empty() {
                let (key, value) = (&entries[at.index(entries.len())].0, cut(value));
                prop_assert_eq!(stock.set(key, value), Ok(model.insert(key.clone(), value).unwrap()));
            }
        }
        let names: Vec<&Vec<u8>> = entries.iter().map(|entry| &entry.0).collect();
        let probes: Vec<Digest> = names.iter().map(|name| map.hasher().digest(name)).chain((0..99).map(|i| digest(7, i))).collect();
        let (mut values, mut changed) = (vec![None; probes.len()], vec![None; probes.len()]);
        map.get_digests(&probes, &mut values);
        stock.get_digests(&probes, &mut changed);
        prop_assert!(entries.iter().zip(&values).all(|(entry, value)| Some(entry.1) == *value));
        prop_assert!(names.iter().zip(&changed).all(|(name, value)| model.get(*name).copied() == *value));
        let bytes = [map.to_bytes().unwrap(), stock.to_bytes().unwrap()];
        let (copy, view) = (Bloomier::from_bytes(&bytes[0]).unwrap(), Bloomier::view(&bytes[0]).unwrap());
        prop_assert!(copy == map && view == map && view.to_bytes().unwrap() == bytes[0]);
        let view = gardenia::MutableBloomier::view(&bytes[1]).unwrap();
        prop_assert!(view == stock && gardenia::MutableBloomier::from_bytes(&bytes[1]).unwrap() == stock);
        for (at, probe) in probes.iter().enumerate() {
            prop_assert_eq!((map.get_digest(*probe), stock.get_digest(*probe)), (values[at], changed[at]));
            prop_assert_eq!(view.get_digest(*probe), changed[at]);
        }
        for (bytes, values) in bytes.iter().zip([&values, &changed]) {
            let any = AnyFilter::from_bytes(bytes).unwrap();
            prop_assert_eq!(&any.to_bytes().unwrap(), bytes);
            prop_assert!(probes.iter().zip(values).all(|(probe, value)| any.contains_digest(*probe) == value.is_some()));
        }
    }
}

#[test]
fn every_small_set_can_be_built() {
    for (arity, width) in [(3, 8), (4, 16)] {
        for items in 0..600u64 {
            let keys: Vec<u64> = (0..items).collect();
            let filter = BinaryFuse::builder().arity(arity).fingerprint(width).build_from(&keys).unwrap();
            assert!(keys.iter().all(|key| filter.contains(key)), "{items} keys");
            assert_eq!(filter.items(), items);
        }
    }
}

#[test]
fn a_filter_of_no_keys_contains_nothing() {
    for width in [8, 16, 32] {
        let empty = BinaryFuse::builder().fingerprint(width).build_from::<&str>(&[]).unwrap();
        let copy = AnyFilter::from_bytes(&empty.to_bytes().unwrap()).unwrap();
        let probes: Vec<Digest> = (0..10_000).map(|i| digest(3, i)).chain([Digest(0)]).collect();
        let mut answers = vec![true; probes.len()];
        empty.contains_digests(&probes, &mut answers);
        assert!(answers.iter().all(|found| !found));
        assert!(probes.iter().all(|probe| !empty.contains_digest(*probe) && !copy.contains_digest(*probe)));
        assert_eq!((empty.items(), empty.fpp(), empty.estimated_items().items), (0, 0.0, 0.0));
    }
    let entries: [(&str, u32); 0] = [];
    let builder = Bloomier::builder().check_bits(0);
    let (map, mut stock) =
        (builder.clone().build_from(&entries).unwrap(), builder.build_mutable_from(&entries).unwrap());
    assert!((0..1000).all(|i| map.get(i).is_none() && stock.get(i).is_none()));
    assert_eq!(stock.set("rose", 0), Err(UpdateError::Absent));
}

#[test]
fn threads_make_the_same_filter() {
    let keys: Vec<u64> = (0..150_000).collect(); // sequential, and enough for several threads
    for arity in [3, 4] {
        let builder = BinaryFuse::builder().arity(arity);
        let filter = builder.clone().build_from(&keys).unwrap();
        assert!(filter.contains_many(&keys).iter().all(|found| *found));
        for threads in [0, 2, 3, 7, usize::MAX] {
            assert!(
                filter == builder.clone().threads(threads).build_from(&keys).unwrap(),
                "{threads} threads"
            );
        }
    }
    let entries: Vec<(u64, u32)> = keys.iter().map(|key| (*key, *key as u32 % 1000)).collect();
    let map = Bloomier::builder().build_from(&entries).unwrap();
    assert!(map == Bloomier::builder().threads(4).build_from(&entries).unwrap());
    assert!(map.get_many(&keys).iter().zip(&entries).all(|(value, entry)| *value == Some(entry.1)));
}

#[test]
fn a_million_keys_take_the_bits_of_the_paper() {
    let keys: Vec<u64> = (0..1_000_000).collect();
    for (arity, least, most) in [(3, 1.125, 1.135), (4, 1.075, 1.085)] {
        let filter = BinaryFuse::builder().arity(arity).build_from(&keys).unwrap();
        let per_key = filter.memory_bytes() as f64 * 8.0 / 1e6;
        assert!((8.0 * least..8.0 * most).contains(&per_key), "{arity}: {per_key}");
        assert!((per_key - binary_fuse::bits_per_key(1_000_000, arity, 8).unwrap()).abs() < 1e-4);
    }
}

/// Within five standard errors of what is expected of so many trials.
fn check_rate(found: u64, trials: u64, fpp: f64, what: &str) {
    let (expected, error) = (trials as f64 * fpp, (trials as f64 * fpp * (1.0 - fpp)).sqrt());
    assert!(
        (found as f64 - expected).abs() <= 5.0 * error,
        "{what}: {found} found, {expected} ± {error} expected"
    );
}

#[test]
fn absent_keys_pass_a_fuse_filter_as_often_as_its_fingerprints_say() {
    const TRIALS: u32 = 1_000_000;
    for (arity, width, seeds) in [(3, 8, 3), (4, 8, 3), (3, 16, 6), (4, 16, 6), (3, 32, 1)] {
        let mut found = 0;
        for seed in 0..seeds {
            let keys: Vec<Digest> = (0..50_000).map(|i| digest(seed, i)).collect();
            let filter =
                BinaryFuse::builder().arity(arity).fingerprint(width).build_from_digests(&keys).unwrap();
            let mut answers = vec![false; 8192];
            for start in (0..TRIALS).step_by(8192) {
                let probes: Vec<Digest> =
                    (start..(start + 8192).min(TRIALS)).map(|i| digest(1000 + seed, i)).collect();
                filter.contains_digests(&probes, &mut answers[..probes.len()]);
                found += answers[..probes.len()].iter().filter(|found| **found).count() as u64;
            }
        }
        check_rate(
            found,
            seeds * u64::from(TRIALS),
            binary_fuse::fpp(50_000, width),
            &format!("{arity}, {width} bits"),
        );
    }
}

#[test]
fn absent_keys_have_a_value_as_often_as_check_bits_say() {
    const TRIALS: u32 = 400_000;
    for (check_bits, arity) in [(0, 3), (1, 4), (5, 3), (8, 3), (8, 4), (12, 3)] {
        let keys: Vec<Digest> = (0..20_000).map(|i| digest(5, i)).collect();
        let values: Vec<u32> = (0..20_000).map(|i| i % 7).collect();
        let builder = Bloomier::builder().check_bits(check_bits).arity(arity);
        let map = builder.clone().build_from_digests(&keys, &values).unwrap();
        let stock = builder.build_mutable_from_digests(&keys, &values).unwrap();
        let probes: Vec<Digest> = (0..TRIALS).map(|i| digest(6, i)).collect();
        let (mut answers, mut changed) = (vec![false; probes.len()], vec![false; probes.len()]);
        map.contains_digests(&probes, &mut answers);
        stock.contains_digests(&probes, &mut changed);
        let count = |answers: &[bool]| answers.iter().filter(|found| **found).count() as u64;
        assert_eq!(map.fpp(), 0.5f64.powi(check_bits as i32));
        assert_eq!(stock.fpp(), map.fpp() * f64::from(arity) / 4.0);
        check_rate(count(&answers), TRIALS.into(), map.fpp(), &format!("{check_bits} check bits"));
        check_rate(count(&changed), TRIALS.into(), stock.fpp(), &format!("{check_bits} check bits, mutable"));
    }
}

#[test]
fn what_cannot_be_is_a_typed_error() {
    let builder = BinaryFuse::builder;
    let keys = ["rose"];
    assert!(matches!(
        builder().fingerprint(9).build_from(&keys),
        Err(BuildError::Size(SizeError::Conflict(_)))
    ));
    assert!(matches!(builder().arity(5).build_from(&keys), Err(BuildError::Size(SizeError::Conflict(_)))));
    assert!(matches!(
        builder().fingerprint(8).fpp(0.1).build_from(&keys),
        Err(BuildError::Size(SizeError::Conflict(_)))
    ));
    assert_eq!(builder().fpp(2.0).build_from(&keys).unwrap_err(), SizeError::Fpp(2.0).into());
    assert!(matches!(
        builder().fpp(1e-12).build_from(&keys),
        Err(BuildError::Size(SizeError::FppBelowFloor { .. }))
    ));
    for (fpp, width) in [(0.5, 8), (0.001, 16), (1e-9, 32)] {
        assert_eq!(builder().fpp(fpp).build_from(&keys).unwrap().width(), width);
    }
    let builder = Bloomier::builder;
    let twice = [("rose", 1), ("tulip", 2), ("rose", 9)];
    assert_eq!(builder().build_from(&twice).unwrap_err(), BuildError::TwoValues { first: 1, second: 9 });
    assert_eq!(
        builder().build_mutable_from(&twice).unwrap_err(),
        BuildError::TwoValues { first: 1, second: 9 }
    );
    let entries = [("rose", 1), ("tulip", 4)];
    assert_eq!(
        builder().value_bits(2).build_from(&entries).unwrap_err(),
        BuildError::Value { value: 4, bits: 2 }
    );
    assert_eq!(
        builder().value_bits(0).build_from(&entries).unwrap_err(),
        SizeError::Width { width: 0 }.into()
    );
    assert_eq!(
        builder().value_bits(33).build_from(&entries).unwrap_err(),
        SizeError::Width { width: 33 }.into()
    );
    assert!(matches!(
        builder().check_bits(31).build_from(&entries),
        Err(BuildError::Size(SizeError::Conflict(_)))
    ));
    assert_eq!(
        builder().build_from_digests(&[Digest(1)], &[]).unwrap_err(),
        BuildError::Values { keys: 1, values: 0 }
    );
    let filter = BinaryFuse::new(&[Hashed(&1)], 0.004).unwrap();
    assert!(filter.contains(Hashed(&1)) && filter.to_bytes().is_err(), "bytes that are not portable");
}

#[test]
fn no_key_can_be_put_into_a_static_filter() {
    let entries = [("rose", 1)];
    for mut any in [
        AnyFilter::from(BinaryFuse::new(&["rose"], 0.004).unwrap()),
        Bloomier::builder().build_from(&entries).unwrap().into(),
        Bloomier::builder().build_mutable_from(&entries).unwrap().into(),
    ] {
        let before = any.to_bytes().unwrap();
        assert_eq!(any.insert_digests(&[Digest(1)], &mut [false]), Err(InsertError::Fixed));
        assert!(any.remove_digest(Digest(1)).is_none() && any.as_count().is_none());
        assert!(!any.can(Ability::Insert) && !any.can(Ability::Remove) && any.to_bytes().unwrap() == before);
        assert_eq!(any.estimated_items().unwrap().items, 1.0);
        assert!((0.0..=1.0).contains(&any.fill()) && any.contains_digest(any.hasher().digest(b"rose")));
    }
}

#[test]
fn the_widest_maps_can_be_stored() {
    let entries = [("rose", u32::MAX), ("tulip", 0)];
    let builder = Bloomier::builder().check_bits(30);
    let (map, stock) =
        (builder.clone().build_from(&entries).unwrap(), builder.build_mutable_from(&entries).unwrap());
    assert_eq!((map.identity().width, stock.identity().width), (62, 64));
    assert!(Bloomier::from_bytes(&map.to_bytes().unwrap()).unwrap() == map);
    let copy = gardenia::MutableBloomier::from_bytes(&stock.to_bytes().unwrap()).unwrap();
    assert_eq!((copy.get("rose"), copy.get("tulip")), (Some(u32::MAX), Some(0)));
}

#[test]
fn a_change_of_an_absent_key_changes_nothing() {
    let entries: Vec<(u64, u32)> = (0..5_000).map(|key| (key, key as u32 % 100)).collect();
    let mut stock = Bloomier::builder().value_bits(7).check_bits(20).build_mutable_from(&entries).unwrap();
    let before = stock.clone();
    let refused = (5_000..15_000).filter(|key| stock.set(*key, 1) == Err(UpdateError::Absent)).count();
    assert_eq!(refused, 10_000); // 7 in a million would pass
    assert_eq!(stock.set(7, 128), Err(UpdateError::Value { value: 128, bits: 7 }));
    assert!(stock == before);
}

#[cfg(feature = "mmap")]
#[test]
fn static_files_answer_the_same_loaded_and_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bed.gdn");
    let keys: Vec<u64> = (0..1_200_000).collect(); // above one core's cache: batches take the other path
    let filter = BinaryFuse::new(&keys, 0.004).unwrap();
    filter.save(&path).unwrap();
    let (loaded, mapped) =
        (BinaryFuse::load(&path).unwrap(), unsafe { BinaryFuse::open_mapped(&path) }.unwrap());
    assert!(loaded == filter && mapped == filter);
    let probes: Vec<u64> = (1_100_000..1_300_000).collect();
    let answers = filter.contains_many(&probes);
    assert_eq!(mapped.contains_many(&probes), answers);
    assert!(probes.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer));

    let entries: Vec<(u64, u32)> = keys[..400_000].iter().map(|key| (*key, *key as u32)).collect();
    let stock = Bloomier::builder().build_mutable_from(&entries).unwrap();
    stock.save(&path).unwrap();
    let mapped = unsafe { gardenia::MutableBloomier::open_mapped(&path) }.unwrap();
    assert!(mapped == stock && mapped.get_many(&keys) == stock.get_many(&keys));
    assert!(
        unsafe { AnyFilter::open_mapped(&path) }.unwrap().contains_digest(stock.hasher().digest_key(&7u64))
    );
}

#[cfg(feature = "serde")]
#[test]
fn static_filters_go_through_serde() {
    let filter = BinaryFuse::new(&["rose"], 0.004).unwrap();
    let copy: BinaryFuse = serde_json::from_str(&serde_json::to_string(&filter).unwrap()).unwrap();
    assert!(copy == filter);
}
