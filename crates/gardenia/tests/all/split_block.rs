//! The split-block filter beside the laws that all kinds keep: levels, batches, threads, folding,
//! rates.

use crate::common::mean_and_error;
use gardenia::AtomicSplitBlockBloom;
use gardenia::simd::Level;
use gardenia::spec::Param;
use gardenia::{AnyFilter, BlockedBloom, Digest, KeyHasher, Kind, SecretKey, Spec, SplitBlockBloom, theory};
use proptest::prelude::*;

fn stream(seed: u64, count: u32) -> Vec<u64> {
    (1..=count).map(|i| Digest(seed).word(i)).collect()
}

#[test]
fn all_instruction_levels_set_the_same_bits_and_give_the_same_answers() {
    let (keys, probes) = (stream(42, 300_000), stream(43, 300_000));
    // In a table that is fetched ahead, and in ones that are not; an odd number of blocks, and a single one.
    for bits in [40_000_000, 3_000_000, 256 * 12_345, 256] {
        let build = |level| {
            let mut filter = SplitBlockBloom::builder().bits(bits).build().unwrap().with_level(level);
            filter.insert_many(&keys);
            filter
        };
        let definition = build(Level::Portable);
        let answers = definition.contains_many(&probes);
        let bytes = definition.to_bytes().unwrap();
        for level in Level::available() {
            let filter = build(level);
            assert!(filter == definition, "{level:?} sets other bits than the definition");
            assert_eq!(filter.contains_many(&keys), vec![true; keys.len()], "{level:?}");
            assert!(probes.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer));
            let view = SplitBlockBloom::view(&bytes).unwrap().with_level(level);
            assert!(view.contains_many(&probes) == answers, "{level:?} answers otherwise");
            assert!(view.par_contains_many(&probes, 3) == answers);
        }
    }
}

proptest! {
    #[test]
    fn batches_agree_with_single_calls(
        bits in 1u64..30_000,
        seed in any::<u64>(),
        level in 0usize..3,
        keys in proptest::collection::vec(0u64..3_000, 0..900),
    ) {
        let level = Level::available()[level % Level::available().len()];
        let filter = SplitBlockBloom::builder().bits(bits).seed(seed).build().unwrap().with_level(level);
        let (mut single, mut many, mut batch) = (filter.clone(), filter.clone(), filter.clone());
        let digests: Vec<Digest> = keys.iter().map(|key| filter.hasher().digest_key(key)).collect();
        let one_by_one: Vec<bool> = keys.iter().map(|key| single.insert(key)).collect();
        let new = one_by_one.iter().filter(|new| **new).count() as u64;
        prop_assert_eq!(many.insert_many(&keys), new);
        let mut answers = vec![false; keys.len()];
        batch.insert_digests(&digests, &mut answers);
        prop_assert_eq!(one_by_one, answers);
        let shared = filter.into_shared();
        prop_assert_eq!(shared.insert_many(&keys), new);
        prop_assert!(single == many && many == batch && *shared == single);
        prop_assert_eq!(shared.contains_many(&keys), vec![true; keys.len()]);
        let mask = single.contains_mask(&digests);
        prop_assert_eq!(mask.iter().map(|word| word.count_ones() as usize).sum::<usize>(), keys.len());
        let bytes = single.to_bytes().unwrap();
        prop_assert_eq!(&SplitBlockBloom::from_bytes(&bytes).unwrap(), &single);
        prop_assert_eq!(AnyFilter::from_bytes(&bytes).unwrap().to_bytes().unwrap(), &bytes[..]);
        prop_assert!(BlockedBloom::from_bytes(&bytes).is_err());
    }

    #[test]
    fn folding_is_building_at_half_the_size(blocks in 1u64..300, keys in proptest::collection::vec(any::<u64>(), 0..500)) {
        let make = |blocks: u64| {
            let mut filter = SplitBlockBloom::builder().bits(blocks * 256).build().unwrap();
            filter.extend(&keys);
            filter
        };
        prop_assert_eq!(make(2 * blocks).fold().unwrap(), make(blocks));
        prop_assert!(make(2 * blocks + 1).fold().is_err());
    }
}

#[test]
fn threads_that_share_a_filter_lose_nothing() {
    let shared = AtomicSplitBlockBloom::new(40_000, 0.001).unwrap();
    std::thread::scope(|threads| {
        for t in 0..4u64 {
            let shared = &shared;
            // Neighbours insert the same half of their keys, one by one and at once.
            let keys: Vec<u64> = (t * 10_000..t * 10_000 + 20_000).collect();
            threads.spawn(move || match t % 2 {
                0 => shared.insert_many(&keys),
                _ => keys.iter().filter(|key| shared.insert(*key)).count() as u64,
            });
        }
    });
    let mut one_thread = SplitBlockBloom::new(40_000, 0.001).unwrap();
    one_thread.extend(0..50_000u64);
    assert_eq!(shared.into_owned(), one_thread);
}

#[test]
fn one_digest_in_each_pair_of_filters_is_told_apart_by_hasher_and_size() {
    let filter = |bits, hasher| SplitBlockBloom::builder().bits(bits).hasher(hasher).build().unwrap();
    let mut ours = filter(2_560, KeyHasher::xxh64(0));
    let error = ours.union_with(&filter(2_560, KeyHasher::xxh3(0))).unwrap_err();
    assert_eq!((error.what, &*error.theirs), ("hasher", "xxh3"));
    assert_eq!(ours.intersect_with(&filter(2_816, KeyHasher::xxh64(0))).unwrap_err().what, "cells");
    assert_eq!(ours.union_with(&filter(2_560, KeyHasher::xxh64(1))).unwrap_err().what, "seed");
    assert!(ours.union_with(&filter(2_560, KeyHasher::xxh64(0))).is_ok());
}

#[test]
fn the_hash_function_is_an_option_of_this_kind_alone() {
    let spec: Spec = "sbbf items=100 hasher=xxh64 seed=5".parse().unwrap();
    let filter = spec.build().unwrap();
    assert_eq!(filter.hasher(), &KeyHasher::xxh64(5));
    assert_eq!(filter.spec().unwrap(), spec.filled().unwrap());
    let wrong = |spec: Spec| spec.check().unwrap_err().to_string();
    let keyed = "sbbf items=100 hasher=xxh3".parse::<Spec>().unwrap().secret(SecretKey::new([7; 16]));
    assert!(wrong(keyed).starts_with("a secret and hasher are both given"));
    let other = Spec::new(Kind::Bloom).items(9).with(Param::Hasher, "xxh64");
    assert!(wrong(other).starts_with("a filter of kind bloom has no hasher"));
    let keyed = "sbbf items=100".parse::<Spec>().unwrap().secret(SecretKey::new([7; 16]));
    assert_eq!(keyed.filled().unwrap().to_string(), "sbbf items=100 planned-fpp=0.01 bits=1280");
}

/// The measured rate of filters built for `plan` keys after `items` keys, with its standard error
/// over trials, and what theory says.
fn rate(plan: u64, fpp: f64, items: u64, trials: u64, queries: u64) -> (f64, f64, f64) {
    let mut theory = 0.0;
    let rates: Vec<f64> = (0..trials)
        .map(|trial| {
            let mut filter = SplitBlockBloom::new(plan, fpp).unwrap();
            let stream = Digest(trial * 7919 + plan + items).word(1);
            filter.extend((0..items).map(|i| stream.wrapping_add(i)));
            theory = theory::split_block::fpp(filter.blocks(), items);
            let probes: Vec<u64> = (0..queries).map(|i| stream.wrapping_add(items + i)).collect();
            filter.contains_many(&probes).into_iter().map(f64::from).sum::<f64>() / queries as f64
        })
        .collect();
    let (rate, error) = mean_and_error(&rates);
    // With few false positives the spread of trials says little: the Poisson error is the least there can be.
    (rate, error.max((theory / (trials * queries) as f64).sqrt()), theory)
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn the_rate_is_as_planned_at_every_size_and_load() {
    for fpp in [0.03, 0.01, 1e-3, 1e-4, 1e-5] {
        for (plan, trials, queries) in
            [(1, 3000, 2_000), (10, 2000, 3_000), (1_000, 60, 100_000), (100_000, 10, 1_000_000)]
        {
            for load in [0.1, 1.0, 3.0] {
                let items = ((plan as f64 * load) as u64).max(1);
                let (rate, error, theory) = rate(plan, fpp, items, trials, queries);
                let what = format!("{items} of {plan} keys at {fpp}: {rate} ± {error}, theory {theory}");
                assert!((rate - theory).abs() < 5.0 * error, "{what}");
                assert!(load > 1.0 || theory <= fpp, "{what}");
            }
        }
    }
}

#[test]
fn a_million_keys_have_the_rate_that_was_asked_for() {
    for fpp in [0.03, 0.01, 1e-3, 1e-4] {
        let (rate, error, theory) = rate(1_000_000, fpp, 1_000_000, 2, 5_000_000);
        assert!((rate - theory).abs() < 5.0 * error, "{fpp}: {rate} ± {error}, theory {theory}");
        assert!(theory <= fpp && theory > 0.999 * fpp, "{fpp}: planned {theory}");
    }
}

#[test]
fn the_filter_tells_its_keys_and_rate_from_its_fill() {
    let mut filter = SplitBlockBloom::new(100_000, 0.01).unwrap();
    filter.extend(0..130_000u64);
    let told = filter.estimated_items();
    assert!((told.items - 130_000.0).abs() < 5.0 * told.std_error, "{told:?}");
    let planned = theory::split_block::fpp(filter.blocks(), 130_000);
    assert!((filter.fpp() / planned - 1.0).abs() < 0.05, "{} told, {planned} planned", filter.fpp());
}
