//! The laws of every kind in the table, with every option that is a word: a kind is tested because
//! it is listed.

use crate::specs;
use gardenia::spec::Param;
use gardenia::{Ability, AnyFilter, Digest, Filter, KeyHasher, Spec};

const ITEMS: u64 = 400;
const FPP: f64 = 0.02;

fn digests(hasher: &KeyHasher, keys: std::ops::Range<u64>) -> Vec<Digest> {
    keys.map(|key| hasher.digest_key(&key)).collect()
}

fn answers(filter: &impl Filter, digests: &[Digest]) -> Vec<bool> {
    let mut answers = vec![false; digests.len()];
    filter.contains_digests(digests, &mut answers);
    answers
}

/// The filter of these keys.
fn built(spec: &Spec, keys: std::ops::Range<u64>) -> AnyFilter {
    spec.build_from(digests(&spec.hasher(), keys)).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

#[test]
fn the_table_is_walked() {
    let tried: Vec<Spec> = specs::all(ITEMS, FPP).collect();
    for kind in specs::kinds() {
        assert!(tried.iter().any(|spec| spec.kind() == kind), "{}", kind.name());
    }
    assert!(tried.len() > 120, "{}", tried.len());
}

#[test]
fn keys_that_are_in_are_found_one_by_one_and_in_batches() {
    for spec in specs::all(ITEMS, FPP) {
        let filter = built(&spec, 0..ITEMS);
        let asked = digests(&spec.hasher(), 0..3 * ITEMS);
        let found = answers(&filter, &asked);
        let single: Vec<bool> = asked.iter().map(|digest| filter.contains_digest(*digest)).collect();
        assert!(found == single, "{spec}");
        let missed = found[..ITEMS as usize].iter().filter(|found| !**found).count();
        let may_forget = filter.can(Ability::Forget);
        assert!(missed == 0 || may_forget, "{spec}: {missed} keys are not found");
        assert!(found[ITEMS as usize - 1], "{spec}: the last key is not found");
        let wrong = found[ITEMS as usize..].iter().filter(|found| **found).count();
        assert!(wrong < asked.len() / 2, "{spec}: {wrong} absent keys are found");
    }
}

#[test]
fn insertion_in_batches_is_insertion_one_by_one() {
    for spec in specs::all(ITEMS, FPP).filter(|spec| !spec.needs_all_keys()) {
        let (mut batch, mut single) = (spec.build().unwrap(), spec.build().unwrap());
        let keys = digests(&spec.hasher(), 0..ITEMS / 2);
        let keys = [&keys[..], &keys[..9]].concat();
        let mut new = vec![false; keys.len()];
        batch.insert_digests(&keys, &mut new).unwrap();
        let each = keys.iter().map(|key| {
            let mut new = [false];
            single.insert_digests(&[*key], &mut new).unwrap();
            new[0]
        });
        assert!(each.eq(new.iter().copied()), "{spec}");
        assert_eq!(batch.to_bytes().unwrap(), single.to_bytes().unwrap(), "{spec}");
    }
}

#[test]
fn files_hold_the_same_filter() {
    for spec in specs::all(ITEMS, FPP) {
        let filter = built(&spec, 0..ITEMS);
        let bytes = filter.to_bytes().unwrap();
        let asked = digests(&spec.hasher(), 0..2 * ITEMS);
        let expected = answers(&filter, &asked);
        let read = AnyFilter::from_bytes(&bytes).unwrap();
        assert!(read.to_bytes().unwrap() == bytes && answers(&read, &asked) == expected, "{spec}");
        let view = AnyFilter::view(&bytes).unwrap();
        assert!(answers(&view, &asked) == expected && view.identity() == filter.identity(), "{spec}");
        for copy in [filter.try_clone().unwrap(), view.try_clone().unwrap()] {
            assert!(copy == filter && copy.to_bytes().unwrap() == bytes, "{spec}");
        }
        assert_eq!(read.fpp(), filter.fpp(), "{spec}");
        // The size that the spec promises is that of the file, but for codes and parts that are added.
        let size = spec.clone().size().map(|size| size.file_bytes);
        if let (Ok(size), false) = (size, filter.can(Ability::Send) || filter.can(Ability::Grow)) {
            let off = size.abs_diff(bytes.len() as u64);
            // Compact cells are no wider than their counts, and values no wider than the largest.
            let open = spec.has(Param::Compact) || spec.kind().can(Ability::Map);
            let compact = open && bytes.len() as u64 <= size;
            let exact = !spec.needs_all_keys() && spec.kind().can(Ability::Insert);
            assert!(
                off == 0 || compact || !exact && off < 200 + size / 10,
                "{spec}: {size} planned, {} found",
                bytes.len()
            );
        }
    }
}

#[test]
fn merged_filters_hold_the_keys_of_both_and_common_keys_stay() {
    let (mut merged, mut intersected) = (0, 0);
    for spec in specs::all(ITEMS, FPP) {
        let half = |keys| built(&spec, keys);
        let (mut both, other) = (half(0..ITEMS / 2), half(ITEMS / 4..3 * ITEMS / 4));
        let mut common = both.clone();
        if let Some(result) = both.merge(&other) {
            result.unwrap_or_else(|error| panic!("{spec}: {error}"));
            let found = answers(&both, &digests(&spec.hasher(), 0..3 * ITEMS / 4));
            assert!(found.iter().all(|found| *found), "{spec}");
            merged += 1;
            let seeded = built(&spec.clone().seed(7), 0..10);
            assert!(both.merge(&seeded).unwrap().is_err(), "{spec}: another seed");
        }
        assert_eq!(common.can(Ability::Merge), common.clone().merge(&other).is_some(), "{spec}");
        if let Some(result) = common.intersect_with(&other) {
            result.unwrap();
            let found = answers(&common, &digests(&spec.hasher(), ITEMS / 4..ITEMS / 2));
            assert!(found.iter().all(|found| *found), "{spec}");
            intersected += 1;
        }
    }
    assert!(merged > 30 && intersected > 20, "{merged} {intersected}");
}

#[test]
fn counts_are_what_went_in() {
    let mut counted = 0;
    for spec in specs::all(ITEMS, FPP).filter(|spec| !spec.needs_all_keys()) {
        let mut filter = spec.build().unwrap();
        assert_eq!(filter.as_count().is_some(), spec.kind().can(Ability::Count), "{spec}");
        if filter.as_count().is_none() {
            continue;
        }
        let keys = digests(&spec.hasher(), 0..ITEMS / 8);
        for times in 1..=3 {
            filter.insert_digests(&keys, &mut vec![false; keys.len()]).unwrap();
            let counter = filter.as_count().unwrap();
            let mut counts = vec![0; keys.len()];
            counter.count_digests(&keys, &mut counts);
            let exact = counts.iter().filter(|count| **count == times).count();
            // The digits of a bitwise filter err both ways.
            assert!(exact * 10 >= keys.len() * 9, "{spec}: {exact} of {} counts are {times}", keys.len());
            assert!(
                keys.iter().zip(&counts).all(|(key, count)| counter.count_digest(*key) == *count),
                "{spec}"
            );
        }
        counted += 1;
    }
    assert!(counted > 40, "{counted}");
}

#[test]
fn what_a_kind_cannot_do_it_refuses() {
    for spec in specs::all(ITEMS, FPP) {
        let mut filter = built(&spec, 0..50);
        let key = digests(&spec.hasher(), 0..1)[0];
        assert_eq!(filter.remove_digest(key).is_some(), filter.can(Ability::Remove), "{spec}");
        let inserted = filter.insert_digests(&[key], &mut [false]);
        assert_eq!(inserted.is_ok(), filter.kind().can(Ability::Insert), "{spec}");
        assert_eq!(filter.get_digests(&[key], &mut [None]), filter.can(Ability::Map), "{spec}");
        assert_eq!(filter.estimated_items().is_some(), filter.can(Ability::Estimate), "{spec}");
        assert_eq!(spec.build().is_err(), spec.needs_all_keys(), "{spec}");
    }
}

#[test]
fn stated_rates_and_numbers_of_keys_are_found() {
    for spec in specs::all(ITEMS, FPP) {
        let filter = built(&spec, 0..ITEMS);
        let asked = digests(&spec.hasher(), 1_000_000..1_060_000);
        let found = answers(&filter, &asked).iter().filter(|found| **found).count() as f64;
        let (stated, all) = (filter.fpp(), asked.len() as f64);
        let error = (stated * all).sqrt().max(1.0);
        assert!(
            (found - stated * all).abs() < 5.0 * error + 0.05 * stated * all,
            "{spec}: {} found, {stated} stated",
            found / all
        );
        if let (Some(estimate), false) = (filter.estimated_items(), filter.can(Ability::Forget)) {
            let off = (estimate.items - ITEMS as f64).abs();
            assert!(off <= 5.0 * estimate.std_error + 0.5, "{spec}: {estimate:?}");
        }
    }
}

#[test]
fn no_filter_takes_more_memory_than_it_told_before() {
    for spec in specs::all(ITEMS, FPP).filter(|spec| !spec.needs_all_keys()) {
        let mut filter = spec.build().unwrap();
        let (first, grows) = (filter.memory_bytes() as u64, filter.can(Ability::Grow));
        let keys = digests(&spec.hasher(), 0..40 * ITEMS);
        // New keys in batches of several sizes, then one key so often that counts need more digits.
        let often = vec![keys[0]; 3_000];
        let batches = keys.chunks(300).chain(keys[..200].chunks(1)).chain(often.chunks(500));
        for batch in batches {
            let most = filter.memory_after(batch.len() as u64);
            // Others are full.
            let inserted = filter.insert_digests(batch, &mut vec![false; batch.len()]);
            assert!(inserted.is_ok() || !grows, "{spec}: {inserted:?}");
            let now = filter.memory_bytes() as u64;
            let as_wide_as_counts = spec.has(Param::Compact);
            assert!(now <= most || as_wide_as_counts, "{spec}: {now} bytes of {most} at most");
        }
        let grown = filter.memory_bytes() as u64 > first;
        assert!(grown || !grows || filter.kind() == gardenia::Kind::CountMin, "{spec}");
        // What was taken back is not counted any more.
        if let Some(Ok(())) = filter.remove_digest(keys[0]) {
            keys[1..].iter().for_each(|digest| _ = filter.remove_digest(*digest));
            let again = AnyFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
            assert!(again.memory_bytes() <= filter.memory_bytes() || spec.has(Param::Compact), "{spec}");
        }
    }
}

#[test]
fn a_set_does_not_change_with_a_key_that_it_has() {
    for spec in specs::all(ITEMS, FPP).filter(|spec| !spec.needs_all_keys()) {
        let mut filter = built(&spec, 0..ITEMS / 2);
        let before = filter.to_bytes().unwrap();
        let keys = digests(&spec.hasher(), 0..4 * ITEMS);
        let found: Vec<Digest> = keys.into_iter().filter(|digest| filter.contains_digest(*digest)).collect();
        // Some are full before all of them are in.
        _ = filter.insert_digests(&found, &mut vec![false; found.len()]);
        let same = filter.to_bytes().unwrap() == before;
        assert!(same || !filter.can(Ability::Set), "{spec}");
        // What counts its keys is no set.
        assert!(!same || !filter.can(Ability::Count), "{spec}");
    }
}
