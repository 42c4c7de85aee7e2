//! Cuckoo filters in a list, against an exact count of keys, against their own rate, and against
//! RedisBloom's.

use gardenia_redis::redisbloom::cuckoo::{CuckooChain, Limits};
use gardenia_redis::values::cuckoo::{Chain, CuckooPlan, Refused};
use gardenia_redis::values::stored::Whole;
use proptest::prelude::*;
use std::collections::HashMap;

const FREE: u64 = u64::MAX;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn plan(capacity: u64, bucket_size: u16, expansion: u16, seed: u64) -> CuckooPlan {
    CuckooPlan { capacity, bucket_size, iterations: 20, expansion, seed }
}

fn filled(plan: CuckooPlan, keys: u64) -> Chain {
    let mut chain = plan.build(FREE).unwrap();
    (0..keys).for_each(|number| chain.insert(&key(number), || FREE).unwrap());
    chain
}

/// How many of this many absent keys are found.
fn wrong(keys: u64, contains: impl Fn(&[u8]) -> bool) -> f64 {
    (0..keys).filter(|number| contains(&key(1 << 40 | number))).count() as f64
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64),
    AddAbsent(u64),
    Remove(u64),
    Compact,
    Store,
}

fn step(keys: u64) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..keys).prop_map(Step::Add),
        2 => (0..keys).prop_map(Step::AddAbsent),
        6 => (0..keys).prop_map(Step::Remove),
        1 => Just(Step::Compact),
        1 => Just(Step::Store),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_chain_counts_no_key_too_low_whatever_is_added_and_taken_out(
        capacity in 2u64..40,
        bucket_size in prop::sample::select(vec![1u16, 2, 4, 8, 255]),
        expansion in 0u16..5,
        seed in any::<u64>(),
        first in 0u64..400,
        steps in prop::collection::vec(step(400), 0..400),
    ) {
        let mut chain = plan(capacity, bucket_size, expansion, seed).build(FREE).unwrap();
        let (mut model, mut deletes) = (HashMap::<u64, u64>::new(), 0);
        for step in (0..first).map(Step::Add).chain(steps) {
            match step {
                Step::Add(number) => match chain.insert(&key(number), || FREE) {
                    Ok(()) => *model.entry(number).or_default() += 1,
                    Err(Refused::Full) => prop_assert_eq!(expansion, 0),
                    Err(Refused::Expansions) => prop_assert_eq!(expansion, 1),
                    Err(Refused::Memory) => prop_assert!(false),
                },
                Step::AddAbsent(number) => {
                    if let Ok(added) = chain.insert_if_absent(&key(number), || FREE) {
                        // Never twice; a key that is passed over is not in, for the model.
                        let copies = model.entry(number).or_default();
                        prop_assert!(!added || *copies == 0);
                        *copies += u64::from(added);
                    }
                }
                // Only what is in: others have the same fingerprints.
                Step::Remove(number) => {
                    if let Some(copies) = model.get_mut(&number).filter(|copies| **copies > 0) {
                        prop_assert!(chain.remove(&key(number)));
                        *copies -= 1;
                        deletes += 1;
                    }
                }
                Step::Compact => {
                    chain.compact();
                    deletes = 0;
                }
                Step::Store => {
                    let mut bytes = Vec::new();
                    chain.write(&mut bytes).unwrap();
                    chain = Chain::read(&bytes[..], bytes.len() as u64).unwrap();
                }
            }
            prop_assert_eq!(chain.items(), model.values().sum::<u64>());
            prop_assert_eq!(chain.deletes(), deletes);
        }
        for (number, copies) in &model {
            prop_assert!(chain.count(&key(*number)) >= *copies, "{}", number);
            prop_assert!(chain.contains(&key(*number)) || *copies == 0);
        }
        // What is left can be removed to the last.
        for (number, copies) in &model {
            (0..*copies).for_each(|_| assert!(chain.remove(&key(*number))));
        }
        prop_assert_eq!(chain.items(), 0);
    }
}

#[test]
fn taking_out_what_is_in_old_filters_loses_no_key_of_new_ones() {
    // Thousands of keys seem to be in two filters; each is removed from one.
    for (expansion, seed) in [(1, 1), (2, 2), (3, 3), (10, 4)] {
        let mut chain = filled(plan(500, 8, expansion, seed), 8_000);
        let old = 4_000;
        (0..old).for_each(|number| assert!(chain.remove(&key(number))));
        let lost = (old..8_000).filter(|number| !chain.contains(&key(*number))).count();
        assert_eq!(lost, 0, "expansion {expansion}");
        (old..8_000).for_each(|number| assert!(chain.remove(&key(number))));
        assert_eq!((chain.items(), chain.deletes()), (0, 8_000));
        assert_eq!(wrong(1_000, |key| chain.contains(key)), 0.0);
    }
}

#[test]
fn a_chain_errs_as_often_as_its_filters_say() {
    let cases = [(1_000, 2, 1, 12_000), (1_000, 2, 2, 30_000), (700, 1, 4, 30_000), (5_000, 8, 2, 40_000)];
    for (number, (capacity, bucket_size, expansion, keys)) in cases.into_iter().enumerate() {
        let chain = filled(plan(capacity, bucket_size, expansion, number as u64), keys);
        let (tried, rate) = (200_000, chain.fpp());
        let found = wrong(tried, |key| chain.contains(key));
        let expected = rate * tried as f64;
        let spread = (expected * (1.0 - rate)).sqrt();
        assert!((found - expected).abs() < 5.0 * spread, "case {number}: {found}, not {expected} ± {spread}");
    }
}

#[test]
fn at_the_same_keys_it_errs_less_than_redisbloom_and_at_the_capacity_it_takes_less_memory() {
    for (capacity, bucket_size) in [(1_000, 1), (1_000, 2), (20_000, 2), (100_000, 2), (1_000, 4), (600, 8)] {
        for (expansion, times) in [(1, 1), (1, 5), (2, 1), (2, 20), (4, 30)] {
            let keys = capacity * times;
            let chain = filled(plan(capacity, bucket_size, expansion, 7), keys);
            let mut peer = CuckooChain::new(capacity, bucket_size, 20, expansion, FREE).unwrap();
            (0..keys).for_each(|number| peer.insert(&key(number), Limits::default()).unwrap());
            let (ours, theirs) =
                (wrong(50_000, |key| chain.contains(key)), wrong(50_000, |key| peer.contains(key)));
            let spread = (ours + theirs).sqrt();
            let case = format!("{capacity} {bucket_size} {expansion} {times}: {ours} and {theirs}");
            assert!(ours < theirs + 5.0 * spread, "{case}");
            if times == 1 && bucket_size <= 2 {
                assert_eq!(chain.filters(), 1, "{case}");
                assert!(chain.memory_bytes() <= peer.size(), "{case}");
            }
        }
    }
}
