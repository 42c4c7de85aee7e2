//! Laws of the family, written once; every test file applies them to the filters that promise them.
#![allow(dead_code, reason = "a test file uses the laws that its filters promise")]

use gardenia::{AnyFilter, Count, Digest, Filter, Insert, Merge, Remove};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

pub(crate) fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..400)
}

pub(crate) fn digests(filter: &impl Filter, keys: &[Vec<u8>]) -> Vec<Digest> {
    keys.iter().map(|key| filter.hasher().digest(key)).collect()
}

/// Inserted keys are found, and `insert` says "certainly new" only of keys that were not in.
pub(crate) fn inserted_keys_are_found<F: Insert>(mut filter: F, keys: &[Vec<u8>]) {
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
pub(crate) fn batches_agree<F: Insert + Clone>(mut filter: F, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    digests(&filter, keys).into_iter().for_each(|digest| _ = filter.insert_digest(digest).unwrap());
    let probes = [digests(&filter, keys), digests(&filter, probes)].concat();
    let mut answers = vec![false; probes.len()];
    filter.contains_digests(&probes, &mut answers);
    for (digest, answer) in probes.iter().zip(answers) {
        assert_eq!(answer, filter.contains_digest(*digest));
    }
}

/// Merging equals inserting both.
pub(crate) fn merge_is_insertion_of_both<F>(empty: F, a: &[Vec<u8>], b: &[Vec<u8>])
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

/// Counts are never below the truth, up to the largest that the cells hold.
pub(crate) fn counts_are_never_too_small<F: Insert + Count>(mut filter: F, keys: &[Vec<u8>], top: u64) {
    let mut model: HashMap<Digest, u64> = HashMap::new();
    for digest in digests(&filter, keys) {
        filter.insert_digest(digest).unwrap();
        *model.entry(digest).or_default() += 1;
    }
    for (digest, count) in model {
        assert!(filter.count_digest(digest) >= count.min(top));
    }
}

/// What goes in and comes out again leaves no trace, as long as no cell overflows.
pub(crate) fn removal_undoes_insertion<F>(mut filter: F, kept: &[Vec<u8>], passing: &[Vec<u8>])
where
    F: Remove + Clone + PartialEq + std::fmt::Debug,
{
    digests(&filter, kept).into_iter().for_each(|digest| _ = filter.insert_digest(digest).unwrap());
    let before = filter.clone();
    let passing = digests(&filter, passing);
    passing.iter().for_each(|digest| _ = filter.insert_digest(*digest).unwrap());
    passing.iter().for_each(|digest| filter.remove_digest(*digest).unwrap());
    assert_eq!(filter, before);
}

/// Counts of a batch are those of the calls one by one.
pub(crate) fn counts_agree<F: Insert + Count>(mut filter: F, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    digests(&filter, keys).into_iter().for_each(|digest| _ = filter.insert_digest(digest).unwrap());
    let probes = [digests(&filter, keys), digests(&filter, probes)].concat();
    let mut counts = vec![0; probes.len()];
    filter.count_digests(&probes, &mut counts);
    for (digest, count) in probes.iter().zip(counts) {
        assert_eq!(count, filter.count_digest(*digest));
        assert_eq!(count > 0, filter.contains_digest(*digest));
    }
}

/// Of filters that forget: the key that came last is known.
pub(crate) fn the_last_key_is_found<F: Insert>(mut filter: F, keys: &[Vec<u8>]) {
    for digest in digests(&filter, keys) {
        let known = filter.contains_digest(digest);
        assert_eq!(
            filter.insert_digest(digest).unwrap(),
            !known,
            "told otherwise than `contains` a moment ago"
        );
        assert!(filter.contains_digest(digest), "a key was lost at once");
    }
}

/// Keys in a batch go in one after the other, whatever is hashed and fetched ahead.
pub(crate) fn batches_insert_in_order(filter: &AnyFilter, keys: &[Vec<u8>]) -> AnyFilter {
    let digests = digests(filter, keys);
    let (mut single, mut batch) = (filter.clone(), filter.clone());
    let mut one_by_one = vec![false; keys.len()];
    for (digest, new) in digests.iter().zip(&mut one_by_one) {
        single.insert_digests(&[*digest], std::slice::from_mut(new)).unwrap();
    }
    let mut answers = vec![false; keys.len()];
    batch.insert_digests(&digests, &mut answers).unwrap();
    assert_eq!(one_by_one, answers);
    assert_eq!(single.to_bytes().unwrap(), batch.to_bytes().unwrap());
    batch
}

/// A filter that is stored and read again goes on as if nothing had happened.
pub(crate) fn storing_interrupts_nothing(mut filter: AnyFilter, a: &[Vec<u8>], b: &[Vec<u8>]) {
    let mut new = [vec![false; a.len()], vec![false; b.len()], vec![false; b.len()]];
    filter.insert_digests(&digests(&filter, a), &mut new[0]).unwrap();
    let mut copy = AnyFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
    filter.insert_digests(&digests(&filter, b), &mut new[1]).unwrap();
    copy.insert_digests(&digests(&copy, b), &mut new[2]).unwrap();
    assert_eq!(new[1], new[2]);
    assert_eq!(filter.to_bytes().unwrap(), copy.to_bytes().unwrap());
}

/// A batch of insertions leaves the same filter and tells the same as one by one.
pub(crate) fn batches_insert_alike<F>(
    filter: F,
    keys: &[Vec<u8>],
    insert: impl Fn(&mut F, &[Digest], &mut [bool]),
) where
    F: Insert + Clone + PartialEq + std::fmt::Debug,
{
    let (mut single, mut batch, digests) = (filter.clone(), filter.clone(), digests(&filter, keys));
    let one_by_one: Vec<bool> = digests.iter().map(|digest| single.insert_digest(*digest).unwrap()).collect();
    let mut answers = vec![false; digests.len()];
    insert(&mut batch, &digests, &mut answers);
    assert_eq!((one_by_one, single), (answers, batch));
}

/// Mean and standard error of the mean, one value per independent trial.
pub(crate) fn mean_and_error(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
