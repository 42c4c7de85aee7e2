//! Laws of the family, written once and run for every variant.

use crate::common::*;
use gardenia::filter::{MinimumIncrease, MinimumSelection, Policy, PolicyId, RecurringMinimum};
use gardenia::index::{AnyScheme, Scheme, SchemeId};
use gardenia::simd::Level;
use gardenia::{
    A2Bloom, AnyFilter, AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, BitwiseBloom, BlockedBloom, Bloom,
    CountingBloom, Digest, KeyHasher, ReadOptions, SecretKey, SpectralBloom, StableBloom,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Blocked filters near and far from the core, of one and two bits per lane.
fn blocked() -> impl Strategy<Value = BlockedBloom> {
    let bits = prop_oneof![1u64..50_000, Just(10_000_000)];
    let level = proptest::sample::select(Level::available());
    (bits, 1u32..=16, any::<u64>(), level).prop_map(|(bits, hashes, seed, level)| {
        BlockedBloom::builder().bits(bits).hashes(hashes).seed(seed).build().unwrap().with_level(level)
    })
}

/// Counting filters of every scheme and width, some of them with very few cells.
fn counting() -> impl Strategy<Value = CountingBloom> {
    let shapes = prop_oneof![(1u64..300, 1u32..12), (1_000u64..50_000, 1u32..30), Just((3_000_000, 7))];
    (proptest::sample::select(SchemeId::ALL.to_vec()), shapes, any::<u64>(), 1u32..=32).prop_map(
        |(scheme, (cells, hashes), seed, width)| {
            let builder = CountingBloom::builder().cells(cells).hashes(hashes).seed(seed);
            builder.width(width).scheme(scheme).build().unwrap()
        },
    )
}

/// Bitwise filters of every scheme and digit, some of them with so few cells that most counts are
/// wrong.
fn bitwise() -> impl Strategy<Value = BitwiseBloom> {
    let shapes = prop_oneof![(1u64..300, 1u32..12), (1_000u64..50_000, 1u32..30), Just((3_000_000, 7))];
    let rule = (0.01..=1.0, 1u32..=64);
    (proptest::sample::select(SchemeId::ALL.to_vec()), shapes, any::<u64>(), 1u32..=10, 3u32..9, rule)
        .prop_map(|(scheme, (cells, hashes), seed, digit, slack, (share, max_levels))| {
            let builder = BitwiseBloom::builder().cells(cells).hashes(hashes).seed(seed).scheme(scheme);
            let builder = builder.digit(digit).width(digit + slack).share(share).max_levels(max_levels);
            builder.build().unwrap()
        })
}

/// Spectral filters of one algorithm: every scheme, width and storage, with and without a marker,
/// some with very few cells.
fn spectral<P: Policy>(policy: P) -> impl Strategy<Value = SpectralBloom<P>> {
    let shapes = prop_oneof![(1u64..300, 1u32..12), (1_000u64..50_000, 1u32..30), Just((1_000_000, 7))];
    let secondary = proptest::option::of((1u64..20_000, 1u32..12, 0..3));
    let width = proptest::option::weighted(0.7, 1u32..=32);
    let choice = (proptest::sample::select(SchemeId::ALL.to_vec()), any::<u64>(), width);
    (shapes, choice, secondary).prop_map(move |((cells, hashes), (scheme, seed, width), secondary)| {
        let builder = SpectralBloom::builder().cells(cells).hashes(hashes).seed(seed).scheme(scheme);
        let mut builder = match width {
            Some(width) => builder.width(width),
            None => builder.compact(),
        }
        .policy(policy);
        if let (PolicyId::RecurringMinimum, Some((cells, hashes, marker))) = (policy.id(), secondary) {
            builder = builder.secondary_cells(cells).secondary_hashes(hashes);
            builder = if marker == 2 { builder.as_printed() } else { builder.marker(marker == 1) };
        }
        builder.build().unwrap()
    })
}

/// The same of any algorithm.
fn any_spectral() -> impl Strategy<Value = SpectralBloom<PolicyId>> {
    proptest::sample::select(PolicyId::ALL.to_vec()).prop_flat_map(spectral)
}

/// Stable filters of every scheme and width, also with runs as long as the filter, near and far
/// from the core.
fn stable() -> impl Strategy<Value = StableBloom> {
    let shapes =
        prop_oneof![9 => (1u64..300, 1u32..12), 9 => (1_000u64..50_000, 1u32..30), 1 => Just((0, 7))];
    let scheme = proptest::sample::select(SchemeId::ALL.to_vec());
    (scheme, shapes, any::<[u64; 2]>(), 1u32..=32, (0.0..=1.0f64, any::<bool>())).prop_map(
        |(scheme, (cells, hashes), [seed, aging_seed], width, (share, drawn))| {
            // None stands for a little more than 2 MiB.
            let cells = if cells == 0 { 270_000 * u64::from(64 / width) } else { cells };
            let most = cells.min(2_000) - 1;
            let builder = StableBloom::builder().cells(cells).hashes(hashes).seed(seed).width(width);
            let builder = builder.decrements(1 + (share * share * most as f64) as u64);
            let builder = if drawn { builder.drawn() } else { builder };
            builder.aging_seed(aging_seed).scheme(scheme).build().unwrap()
        },
    )
}

/// A² filters of every scheme, some with windows that the keys of a test fill many times.
fn a2() -> impl Strategy<Value = A2Bloom> {
    let far = Just((17_000_000, 7)); // more than 2 MiB
    let shapes = prop_oneof![9 => (1u64..600, 1u32..12), 9 => (1_000u64..50_000, 1u32..30), 1 => far];
    let scheme = proptest::sample::select(SchemeId::ALL.to_vec());
    let window = prop_oneof![1u64..20, 1u64..1_000];
    (scheme, shapes, any::<u64>(), window).prop_map(|(scheme, (bits, hashes), seed, window)| {
        let builder = A2Bloom::builder().bits(bits).hashes(hashes).items(window).seed(seed);
        builder.scheme(scheme).build().unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn stable_bloom_keeps_the_laws_of_filters_that_forget(filter in stable(), a in keys(), b in keys()) {
        let repeated = [&a[..a.len() / 3], &a].concat();
        the_last_key_is_found(filter.clone(), &repeated);
        batches_agree(filter.clone(), &repeated, &b);
        let any = AnyFilter::from(filter.clone());
        let batch = batches_insert_in_order(&any, &repeated);
        storing_interrupts_nothing(any, &repeated, &b);
        let (mut many, mut extended) = (filter.clone(), filter);
        many.insert_many(&repeated);
        extended.extend(&repeated);
        prop_assert!(many == extended && many.inserts() == repeated.len() as u64);
        prop_assert_eq!(many.to_bytes().unwrap(), batch.to_bytes().unwrap());
    }

    #[test]
    fn stable_bloom_survives_encoding(filter in stable(), a in keys()) {
        let mut filter = filter;
        filter.insert_many(&a);
        let bytes = filter.to_bytes().unwrap();
        let copy = StableBloom::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&copy, &filter);
        let facts = |f: &StableBloom| (f.decrements(), f.is_drawn(), f.aging_seed(), f.inserts(), f.max());
        prop_assert_eq!(facts(&copy), facts(&filter));
        let view = StableBloom::view(&bytes).unwrap();
        prop_assert!(view == filter && view.try_to_owned().unwrap() == filter);
        prop_assert_eq!(view.contains_many(&a), filter.contains_many(&a));
        prop_assert_eq!(AnyFilter::from_bytes(&bytes).unwrap().to_bytes().unwrap(), &bytes[..]);
        prop_assert!(A2Bloom::from_bytes(&bytes).is_err());
    }

    #[test]
    fn a2_keeps_the_laws_of_filters_that_forget(filter in a2(), a in keys(), b in keys()) {
        let repeated = [&a[..a.len() / 3], &a].concat();
        the_last_key_is_found(filter.clone(), &repeated);
        batches_agree(filter.clone(), &repeated, &b);
        let any = AnyFilter::from(filter.clone());
        let batch = batches_insert_in_order(&any, &repeated);
        storing_interrupts_nothing(any, &repeated, &b);
        let (mut many, mut extended) = (filter.clone(), filter);
        many.insert_many(&repeated);
        extended.extend(&repeated);
        prop_assert!(many == extended && many.active_items() <= many.window());
        prop_assert_eq!(many.to_bytes().unwrap(), batch.to_bytes().unwrap());
    }

    /// After every insertion the last `window` distinct keys are found.
    #[test]
    fn a2_finds_every_key_of_its_window(filter in a2(), draws in proptest::collection::vec(0u16..200, 0..300)) {
        let (mut filter, mut last) = (filter, Vec::new());
        for key in draws {
            filter.insert(key);
            last.retain(|old| *old != key);
            last.push(key);
            let window = (filter.window() as usize).min(last.len());
            for (age, key) in last.iter().rev().take(window).enumerate() {
                prop_assert!(filter.contains(*key), "the key before {age} others is lost");
            }
        }
    }

    #[test]
    fn a2_survives_encoding(filter in a2(), a in keys()) {
        let mut filter = filter;
        filter.insert_many(&a);
        let bytes = filter.to_bytes().unwrap();
        let copy = A2Bloom::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&copy, &filter);
        prop_assert_eq!((copy.window(), copy.active_items()), (filter.window(), filter.active_items()));
        let view = A2Bloom::view(&bytes).unwrap();
        prop_assert!(view == filter && view.try_to_owned().unwrap() == filter);
        prop_assert_eq!(view.contains_many(&a), filter.contains_many(&a));
        prop_assert_eq!(AnyFilter::from_bytes(&bytes).unwrap().to_bytes().unwrap(), &bytes[..]);
        prop_assert!(StableBloom::from_bytes(&bytes).is_err());
    }

    #[test]
    fn shared_a2_is_the_owned_one(filter in a2(), a in keys(), b in keys()) {
        let mut owned = filter.clone();
        let shared: AtomicA2Bloom = filter.into_shared();
        for key in a.iter().chain(&b).chain(&a) {
            prop_assert_eq!(owned.insert(key), shared.insert(key));
        }
        prop_assert!(owned == *shared && shared.try_to_owned().unwrap() == owned);
        prop_assert_eq!(owned.contains_many(&b), shared.contains_many(&b));
        prop_assert_eq!(owned, shared.into_owned());
    }

    #[test]
    fn counting_bloom_keeps_the_laws(filter in counting(), a in keys(), b in keys()) {
        // Keys drawn again and again, so that there is something to count.
        let (few, top) = ([&a[..a.len() / 20], &a[..a.len() / 20], &a].concat(), (1 << filter.width()) - 1);
        inserted_keys_are_found(filter.clone(), &few);
        batches_agree(filter.clone(), &few, &b);
        counts_agree(filter.clone(), &few, &b);
        counts_are_never_too_small(filter.clone(), &few, top);
        if few.len() + b.len() < top as usize {
            removal_undoes_insertion(filter.clone(), &few, &b);
        }
        merge_is_insertion_of_both(filter, &few, &b);
    }

    #[test]
    fn counting_bloom_survives_encoding(filter in counting(), a in keys()) {
        let mut filter = filter;
        prop_assert!(filter.insert_many(&a) <= a.len() as u64);
        let bytes = filter.to_bytes().unwrap();
        prop_assert_eq!(&CountingBloom::from_bytes(&bytes).unwrap(), &filter);
        prop_assert!(CountingBloom::view(&bytes).unwrap() == filter);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        prop_assert_eq!(filter.count_many(&a), CountingBloom::view(&bytes).unwrap().count_many(&a));
    }

    #[test]
    fn a_counting_bloom_answers_as_the_plain_filter_of_its_cells(filter in counting(), a in keys(), b in keys()) {
        let mut filter = filter;
        filter.extend(&a);
        let plain = filter.to_bloom().unwrap();
        prop_assert_eq!(plain.contains_many(&b), filter.contains_many(&b));
        prop_assert_eq!(plain.fill(), filter.fill());
        let mut direct = plain.clone();
        direct.clear();
        direct.extend(&a);
        prop_assert_eq!(direct, plain);
    }

    #[test]
    fn bitwise_bloom_keeps_the_laws_of_filters_that_err_both_ways(filter in bitwise(), a in keys(), b in keys()) {
        // Some keys again and again, so that there are carries.
        let mut all = a.clone();
        (0..a.len()).for_each(|i| all.push(a[i % (1 + a.len() / 30)].clone()));
        batches_agree(filter.clone(), &all, &b);
        counts_agree(filter.clone(), &all, &b);
        let (mut single, mut batch, mut many) = (filter.clone(), filter.clone(), filter);
        let digests = digests(&single, &all);
        let new = digests.iter().map(|digest| {
            let before = single.count_digest(*digest);
            let new = single.insert_digest(*digest);
            assert_eq!(new, before == 0 && single.count_digest(*digest) > 0);
            new
        });
        let new: Vec<bool> = new.collect();
        let mut answers = vec![false; digests.len()];
        batch.insert_digests(&digests, &mut answers);
        prop_assert_eq!(&new, &answers);
        prop_assert_eq!(many.insert_many(&all), new.iter().filter(|new| **new).count() as u64);
        prop_assert!(single == batch && batch == many);
        many.clear();
        prop_assert_eq!((many.count_many(&all), many.fill()), (vec![0; all.len()], 0.0));
    }

    #[test]
    fn bitwise_bloom_counts_exactly_where_cells_are_plenty(
        digit in 1u32..6,
        scheme in proptest::sample::select(SchemeId::ALL.to_vec()),
        counts in proptest::collection::hash_map(any::<u32>(), 1u64..70, 0..60),
        order in any::<u64>(),
    ) {
        // 60 keys in 30,000 cells: two keys share all seven once in 10^12 times, and no other count is wrong.
        let builder = || BitwiseBloom::builder().cells(30_000).hashes(7).digit(digit).scheme(scheme).share(1.0);
        let mut stream: Vec<u32> =
            counts.iter().flat_map(|(key, count)| std::iter::repeat_n(*key, *count as usize)).collect();
        stream.sort_by_key(|key| Digest(order).word(*key));
        for i in (1..stream.len()).rev() {
            stream.swap(i, (Digest(order).word(i as u32) % (i as u64 + 1)) as usize);
        }
        let mut filter = builder().build().unwrap();
        filter.extend(&stream);
        for (key, count) in &counts {
            prop_assert_eq!(filter.count(key), *count);
        }
        // Known counts are placed where insertion would have brought them.
        prop_assert_eq!(&builder().from_counts(counts.clone()).unwrap(), &filter);
        let mut at_once = builder().build().unwrap();
        counts.iter().for_each(|(key, count)| _ = at_once.insert_times(key, *count).unwrap());
        prop_assert_eq!(at_once, filter);
    }

    #[test]
    fn known_counts_are_never_too_low(
        cells in 1u64..300,
        hashes in 1u32..6,
        digit in 1u32..6,
        counts in proptest::collection::vec((any::<u16>(), 0u64..10_000), 0..200),
    ) {
        let filter = BitwiseBloom::builder().cells(cells).hashes(hashes).digit(digit).from_counts(counts.clone());
        let filter = filter.unwrap();
        let mut model: HashMap<u16, u64> = HashMap::new();
        counts.iter().for_each(|(key, count)| *model.entry(*key).or_default() += count);
        for (key, count) in model {
            prop_assert!(filter.count(key) >= count && filter.contains(key) == (filter.count(key) > 0));
        }
    }

    #[test]
    fn spectral_bloom_keeps_the_laws_of_every_algorithm(filter in any_spectral(), a in keys(), b in keys()) {
        let few = [&a[..a.len() / 20], &a[..a.len() / 20], &a].concat();
        inserted_keys_are_found(filter.clone(), &few);
        batches_agree(filter.clone(), &few, &b);
        counts_agree(filter.clone(), &few, &b);
        // What recurring minimum may miss is told by its rates, not by a law.
        if filter.policy() != PolicyId::RecurringMinimum {
            counts_are_never_too_small(filter.clone(), &few, (1 << filter.width()) - 1);
        }
        let (mut single, mut batch, mut many) = (filter.clone(), filter.clone(), filter);
        let digests = digests(&single, &few);
        let one_by_one: Vec<bool> = digests.iter().map(|digest| single.insert_digest(*digest)).collect();
        let mut answers = vec![false; digests.len()];
        batch.insert_digests(&digests, &mut answers);
        let new = many.insert_many(&few);
        prop_assert_eq!(new, one_by_one.iter().map(|new| u64::from(*new)).sum::<u64>());
        prop_assert_eq!(one_by_one, answers);
        prop_assert!(single == batch && batch == many);
        many.clear();
        prop_assert_eq!((many.fill(), many.count_many(&few)), (0.0, vec![0; few.len()]));
    }

    #[test]
    fn minimum_selection_is_a_counting_bloom_filter(
        filter in spectral(MinimumSelection), a in keys(), b in keys(),
    ) {
        let few = [&a[..a.len() / 20], &a[..a.len() / 20], &a].concat();
        if few.len() + b.len() < (1 << filter.width()) - 1 {
            removal_undoes_insertion(filter.clone(), &few, &b);
        }
        merge_is_insertion_of_both(filter.clone(), &few, &b);
        let (mut filter, id) = (filter.clone(), filter.identity());
        let builder = CountingBloom::builder().cells(id.cells).hashes(id.hashes).width(id.width);
        let mut counting = builder.seed(id.mark).scheme(id.scheme.unwrap()).build().unwrap();
        filter.extend(&few);
        counting.extend(&few);
        prop_assert_eq!(filter.count_many(&few), counting.count_many(&few));
        prop_assert_eq!(filter.count_many(&b), counting.count_many(&b));
        prop_assert_eq!(filter.fill(), counting.fill());
    }

    /// Cell by cell: a cell that minimum increase raises was the least of the key's, and minimum
    /// selection raises it as well.
    #[test]
    fn minimum_increase_never_counts_above_minimum_selection(
        filter in spectral(MinimumIncrease), a in keys(), b in keys(), times in 1u64..5,
    ) {
        let few = [&a[..a.len() / 20], &a[..a.len() / 20], &a].concat();
        let (mut increase, mut other, id) = (filter.clone(), filter.clone(), filter.identity());
        let builder = SpectralBloom::builder().cells(id.cells).hashes(id.hashes).width(id.width);
        let mut selection = builder.seed(id.mark).scheme(id.scheme.unwrap()).build().unwrap();
        for key in &few {
            if selection.insert_times(key, times).is_ok() {
                prop_assert!(increase.insert_times(key, times).is_ok(), "its cells are not above the other's");
            }
        }
        for (selected, increased) in selection.count_many(&few).into_iter().zip(increase.count_many(&few)) {
            prop_assert!(increased <= selected);
        }
        let mut model: HashMap<&Vec<u8>, u64> = HashMap::new();
        few.iter().chain(&b).for_each(|key| *model.entry(key).or_default() += 1);
        let mut union = filter;
        union.extend(&few);
        other.extend(&b);
        union.union_with(&other).unwrap();
        for (key, count) in model {
            prop_assert!(union.count(key) >= count.min((1 << union.width()) - 1), "a union counts too little");
        }
    }

    #[test]
    fn bitwise_bloom_survives_encoding(filter in bitwise(), a in keys()) {
        let mut filter = filter;
        filter.insert_many(&a);
        (0..4 * a.len()).for_each(|i| _ = filter.insert(&a[i % (1 + a.len() / 30)]));
        let bytes = filter.to_bytes().unwrap();
        prop_assert_eq!(&BitwiseBloom::from_bytes(&bytes).unwrap(), &filter);
        let view = BitwiseBloom::view(&bytes).unwrap();
        prop_assert!(view == filter && view.try_to_owned().unwrap() == filter);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        prop_assert_eq!(filter.count_many(&a), view.count_many(&a));
        prop_assert_eq!(filter.contains_many(&a), view.contains_many(&a));
        // What was read grows on as what was written.
        let mut copy = BitwiseBloom::from_bytes(&bytes).unwrap();
        let many = std::iter::repeat_n("rose", 5_000);
        copy.extend(many.clone());
        filter.extend(many);
        prop_assert_eq!(copy, filter);
    }

    #[test]
    fn recurring_minimum_finds_what_is_in_and_refuses_what_is_not(
        filter in spectral(RecurringMinimum), a in keys(), b in keys(),
    ) {
        let mut filter = filter;
        filter.extend(&a);
        filter.extend(&b);
        let top = (1 << filter.width()) - 1;
        for key in &b {
            let (contained, count) = (filter.contains(key), filter.count(key));
            match filter.remove(key) {
                Ok(()) => prop_assert!(contained && count > 0),
                Err(gardenia::RemoveError::Absent) => prop_assert!(!contained && count == 0),
                Err(_) => prop_assert!(count > 0),
            }
        }
        // Without overflow the primary cells are those of minimum selection: nothing that is in is lost.
        if a.len() + b.len() < top {
            prop_assert_eq!(filter.contains_many(&a), vec![true; a.len()]);
        }
    }

    #[test]
    fn spectral_bloom_survives_encoding(filter in any_spectral(), a in keys()) {
        let mut filter = filter;
        filter.insert_many(&[&a[..a.len() / 20], &a].concat());
        let bytes = filter.to_bytes().unwrap();
        let options = ReadOptions::new();
        prop_assert_eq!(&SpectralBloom::from_bytes_as::<PolicyId>(&bytes, &options).unwrap(), &filter);
        let view = SpectralBloom::view_as::<PolicyId>(&bytes, &options).unwrap();
        prop_assert!(view == filter && view.try_to_owned().unwrap() == filter);
        prop_assert_eq!(filter.count_many(&a), view.count_many(&a));
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        let any = AnyFilter::view(&bytes).unwrap();
        prop_assert_eq!(any.as_count().map(|any| any.count_digest(Digest(1))), Some(filter.count_digest(Digest(1))));
        // A type reads only its own algorithm.
        let own = [
            SpectralBloom::from_bytes(&bytes).is_ok(),
            SpectralBloom::from_bytes_as::<MinimumIncrease>(&bytes, &options).is_ok(),
            SpectralBloom::from_bytes_as::<RecurringMinimum>(&bytes, &options).is_ok(),
        ];
        prop_assert_eq!(own, PolicyId::ALL.map(|id| id == filter.policy()));
        prop_assert!(CountingBloom::from_bytes(&bytes).is_err());
    }

    #[test]
    fn bloom_keeps_the_laws(filter in blooms(), a in keys(), b in keys()) {
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        merge_is_insertion_of_both(filter, &a, &b);
    }

    #[test]
    fn blocked_bloom_keeps_the_laws(filter in blocked(), a in keys(), b in keys()) {
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        merge_is_insertion_of_both(filter, &a, &b);
    }

    #[test]
    fn blocked_bloom_batches_agree_with_single_calls(filter in blocked(), a in keys(), b in keys()) {
        let all = [a.clone(), a, b].concat();
        let (mut single, mut many, mut extended) = (filter.clone(), filter.clone(), filter.clone());
        let digests = digests(&filter, &all);
        let one_by_one: Vec<bool> = digests.iter().map(|digest| single.insert_digest(*digest)).collect();
        let new = one_by_one.iter().filter(|new| **new).count() as u64;
        prop_assert_eq!(many.insert_many(&all), new);
        extended.extend(&all);
        let mut batch = filter.clone();
        let mut answers = vec![false; all.len()];
        batch.insert_digests(&digests, &mut answers);
        prop_assert_eq!(one_by_one, answers);
        prop_assert!(single == many && many == batch && batch == extended);
        let shared = filter.into_shared();
        prop_assert_eq!(shared.insert_many(&all), new);
        prop_assert!(*shared == single);
        prop_assert_eq!(shared.contains_many(&all), vec![true; all.len()]);
        let mask = single.contains_mask(&digests);
        prop_assert_eq!(mask.iter().map(|word| word.count_ones() as usize).sum::<usize>(), all.len());
    }

    #[test]
    fn folding_is_building_at_half_the_size(blocks in 1u64..300, hashes in 1u32..=16, a in keys()) {
        let make = |blocks: u64| {
            let mut filter = BlockedBloom::builder().bits(blocks * 512).hashes(hashes).build().unwrap();
            filter.extend(&a);
            filter
        };
        prop_assert_eq!(make(2 * blocks).fold().unwrap(), make(blocks));
        prop_assert!(make(2 * blocks + 1).fold().is_err());
    }

    #[test]
    fn blocked_bloom_survives_encoding(filter in blocked(), a in keys()) {
        let mut filter = filter;
        filter.insert_many(&a);
        let bytes = filter.to_bytes().unwrap();
        prop_assert_eq!(&BlockedBloom::from_bytes(&bytes).unwrap(), &filter);
        prop_assert!(BlockedBloom::view(&bytes).unwrap() == filter);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        prop_assert!(Bloom::from_bytes(&bytes).is_err());
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
        let bytes = filter.to_bytes().unwrap();
        let copy = Bloom::from_bytes_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap();
        prop_assert_eq!(&copy, &filter);
        prop_assert_eq!(copy.about().metadata(), filter.about().metadata());
        prop_assert_eq!(copy.to_bytes().unwrap(), &bytes[..]);
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
        prop_assert!(owned == *shared);
        prop_assert_eq!(owned.contains_many(&a), shared.contains_many(&a));
        prop_assert_eq!(owned, shared.into_owned());
    }

    #[test]
    fn intersection_keeps_common_keys_and_adds_none(filter in blooms(), a in keys(), b in keys(), c in keys()) {
        let (mut left, mut right) = (filter.clone(), filter);
        left.extend(a.iter().chain(&c));
        right.extend(b.iter().chain(&c));
        let mut both = left.clone();
        both.intersect_with(&right).unwrap();
        prop_assert!(c.iter().all(|key| both.contains(key)));
        for key in a.iter().chain(&b) {
            prop_assert!(!both.contains(key) || (left.contains(key) && right.contains(key)));
        }
    }

    #[test]
    fn positions_are_in_range_for_every_size(
        id in proptest::sample::select(SchemeId::ALL.to_vec()),
        digest in any::<u64>(),
        cells in prop_oneof![1u64..50, 1u64..=gardenia::index::MAX_CELLS / 2],
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
    let shared = AtomicBloom::new(40_000, 0.001).unwrap();
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

#[test]
fn all_instruction_levels_set_the_same_bits_and_give_the_same_answers() {
    // A million keys in a table that is fetched ahead, and in one that is not; also what one level wrote is
    // read by another.
    let keys: Vec<u64> = (1..=1_000_000u32).map(|i| Digest(42).word(i)).collect();
    let probes: Vec<u64> = (1..=1_000_000u32).map(|i| Digest(43).word(i)).collect();
    for (bits, hashes) in
        [(10_000_000u64, 6), (10_000_000, 8), (300_000_000, 11), (40_000_000, 16), (500_000, 3)]
    {
        let build = |level| {
            let mut filter =
                BlockedBloom::builder().bits(bits).hashes(hashes).build().unwrap().with_level(level);
            filter.insert_many(&keys);
            filter
        };
        let definition = build(Level::Portable);
        let answers = definition.contains_many(&probes);
        let bytes = definition.to_bytes().unwrap();
        for level in Level::available() {
            let filter = build(level);
            assert!(filter == definition, "{level:?} set other bits than the definition, k = {hashes}");
            assert_eq!(filter.contains_many(&keys), vec![true; keys.len()], "{level:?}");
            let read = BlockedBloom::from_bytes(&bytes).unwrap().with_level(level);
            assert!(read.contains_many(&probes) == answers, "{level:?} answers otherwise, k = {hashes}");
        }
    }
}

#[test]
fn an_instruction_level_that_the_processor_lacks_falls_back() {
    let filter = BlockedBloom::new(100, 0.01).unwrap();
    let [mut plain, mut most] =
        [Level::Portable, Level::Avx512].map(|level| filter.clone().with_level(level));
    assert_eq!((plain.insert("rose"), most.insert("rose")), (true, true));
    assert_eq!(plain, most);
}

#[test]
fn sorted_insertion_by_threads_is_insertion_in_order() {
    let keys: Vec<u64> = (1..=300_000u32).map(|i| Digest(44).word(1 + i % 200_000)).collect();
    // The last is above what `par_insert_many` leaves to `insert_many`.
    for (bits, threads) in [(512, 2), (5_000_000, 1), (300_000_000, 1), (300_000_000, 2), (300_000_000, 7)] {
        let mut expected = BlockedBloom::builder().bits(bits).hashes(6).build().unwrap();
        let mut sorted = expected.clone();
        let new = expected.insert_many(&keys);
        assert_eq!(sorted.par_insert_many(&keys, threads), new, "{bits} bits, {threads} threads");
        assert!(sorted == expected, "{bits} bits, {threads} threads");
        assert_eq!(sorted.par_contains_many(&keys, threads), vec![true; keys.len()]);
    }
    let mut empty = BlockedBloom::new(10, 0.1).unwrap();
    assert_eq!(empty.par_insert_many::<u64>(&[], 2), 0);
    assert!(empty.par_contains_many::<u64>(&[], 0).is_empty());
}

#[test]
fn threads_that_share_a_blocked_filter_lose_nothing() {
    let shared = AtomicBlockedBloom::new(40_000, 0.001).unwrap();
    std::thread::scope(|threads| {
        for t in 0..4u64 {
            let shared = &shared;
            // Neighbours insert the same half of their keys.
            let keys: Vec<u64> = (t * 10_000..t * 10_000 + 20_000).collect();
            threads.spawn(move || shared.insert_many(&keys));
        }
    });
    let mut one_thread = BlockedBloom::new(40_000, 0.001).unwrap();
    one_thread.extend(0..50_000u64);
    assert_eq!(shared.into_owned(), one_thread);
}

#[test]
fn readers_find_the_window_of_an_a2_filter_while_writers_change_its_buffers() {
    // Places change every 16 keys. One key comes again all the time, so that it is always among the last 16 and
    // is refreshed and cleared in every other lap; the others count upwards, two writers taking turns.
    const WINDOW: u64 = 16;
    const KEYS: u64 = 100_000;
    const HOT: u64 = u64::MAX;
    let shared = A2Bloom::builder().bits(2_000).hashes(7).items(WINDOW).build().unwrap().into_shared();
    shared.insert(HOT);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                loop {
                    let key = next.fetch_add(1, Ordering::SeqCst);
                    if key >= KEYS {
                        break;
                    }
                    shared.insert(key);
                    if key % 4 == 0 {
                        shared.insert(HOT);
                    }
                    while done.compare_exchange(key, key + 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                        std::thread::yield_now(); // the other writer's key comes first
                    }
                }
            });
        }
        for _ in 0..2 {
            threads.spawn(|| {
                loop {
                    let before = done.load(Ordering::SeqCst);
                    assert!(shared.contains(HOT), "missed after {before} keys");
                    for key in before.saturating_sub(4)..before {
                        let found = shared.contains(key);
                        // At most these came after it: all that were drawn until now, and the hot key.
                        let newer = next.load(Ordering::SeqCst) - key;
                        assert!(found || newer >= WINDOW - 1, "missed {key} before {newer} others");
                    }
                    if before == KEYS {
                        break;
                    }
                }
            });
        }
    });
    assert!(shared.contains(HOT) && (KEYS - 15..KEYS).all(|key| shared.contains(key)));
}

#[test]
fn threads_that_share_an_a2_filter_lose_nothing_of_its_window() {
    let shared = AtomicA2Bloom::new(50_000, 0.001).unwrap();
    let new: u64 = std::thread::scope(|threads| {
        let workers: Vec<_> = (0..4u64)
            // Neighbours insert the same half of their keys.
            .map(|t| {
                let shared = &shared;
                threads.spawn(move || {
                    (t * 10_000..t * 10_000 + 20_000).filter(|key| shared.insert(*key)).count() as u64
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let mut one_thread = A2Bloom::new(50_000, 0.001).unwrap();
    one_thread.extend(0..50_000u64);
    // Which keys are false positives depends on the order, but their bits are set in any.
    assert_eq!(shared.fill(), one_thread.fill());
    assert_eq!(shared.active_items(), new);
    assert!((0..50_000u64).all(|key| shared.contains(key)));
    assert!(new as f64 > 50_000.0 * 0.998, "{new}");
}
