//! The law of removal, for every kind that removes: whatever was inserted more often than removed
//! is found.
//!
//! A filter that passes over a key that only seems to be in breaks it, because that key goes with
//! the one it resembles. So filters are small here, and many keys resemble each other. A removal
//! that is refused removes nothing.

use crate::specs;
use gardenia::filter::{MinimumSelection, PolicyId, RecurringMinimum};
use gardenia::spec::Param;
use gardenia::{
    Ability, AnyFilter, Bloom, CountingBloom, Cuckoo, Digest, DynamicBloom, Filter, InsertError, Remove,
    RemoveError, Spec, SpectralBloom,
};
use proptest::prelude::*;
use std::collections::HashMap;

/// What is done with a filter.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8),
    InsertMany(Vec<u8>),
    Remove(u8),
    /// Written and read again.
    Store,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        10 => (0u8..80).prop_map(Step::Insert),
        2 => proptest::collection::vec(0u8..80, 0..60).prop_map(Step::InsertMany),
        20 => (0u8..80).prop_map(Step::Remove),
        1 => Just(Step::Store),
    ];
    proptest::collection::vec(step, 0..200)
}

fn digest(filter: &(impl Filter + ?Sized), key: u8) -> Digest {
    filter.hasher().digest(&[key])
}

/// How often each key was inserted, less how often it was removed.
#[derive(Default)]
struct Model(HashMap<u8, u64>);

impl Model {
    fn inserted(&mut self, key: u8) {
        *self.0.entry(key).or_default() += 1;
    }

    /// Removes the key, if it is in: only what was inserted may be.
    fn remove(&mut self, key: u8, remove: impl FnOnce() -> Result<(), RemoveError>) {
        let Some(count) = self.0.get_mut(&key).filter(|count| **count > 0) else { return };
        match remove() {
            Ok(()) => *count -= 1,
            Err(error) => assert_ne!(error, RemoveError::Absent, "key {key}, inserted {count} times more"),
        }
    }

    fn check(&self, filter: &(impl Filter + ?Sized), what: &str) {
        for (key, count) in self.0.iter().filter(|(_, count)| **count > 0) {
            let found = filter.contains_digest(digest(filter, *key));
            assert!(found, "{what}: key {key} is lost, inserted {count} times more than removed");
        }
    }
}

/// The law for a filter of its own type.
fn typed(filter: &mut dyn Remove, steps: &[Step], what: &str) {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Insert(key) if filter.insert_digest(digest(filter, *key)).is_ok() => model.inserted(*key),
            Step::InsertMany(keys) => {
                let stored = keys.iter().filter(|key| filter.insert_digest(digest(filter, **key)).is_ok());
                stored.for_each(|key| model.inserted(*key));
            }
            Step::Remove(key) => {
                let digest = digest(filter, *key);
                model.remove(*key, || filter.remove_digest(digest));
            }
            Step::Insert(_) | Step::Store => {}
        }
        model.check(filter, what);
    }
}

/// The law for a filter of any type, with batches, and files between the steps.
fn law(mut filter: AnyFilter, steps: &[Step], what: &str) {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Insert(key) => {
                let digest = digest(&filter, *key);
                if filter.insert_digests(&[digest], &mut [false]).is_ok() {
                    model.inserted(*key);
                }
            }
            Step::InsertMany(keys) => {
                let digests: Vec<Digest> = keys.iter().map(|key| digest(&filter, *key)).collect();
                let mut new = vec![false; keys.len()];
                let stored = match filter.insert_digests(&digests, &mut new) {
                    Ok(()) => keys.len(),
                    Err(InsertError::Full(full)) => full.taken as usize,
                    Err(error) => panic!("{what}: {error}"),
                };
                keys[..stored].iter().for_each(|key| model.inserted(*key));
            }
            Step::Remove(key) => {
                let digest = digest(&filter, *key);
                model.remove(*key, || filter.remove_digest(digest).expect("this kind removes"));
            }
            Step::Store => filter = AnyFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap(),
        }
        model.check(&filter, what);
    }
}

/// All filters of the table that remove, with each option that is a word, small enough that keys
/// resemble each other and fill them.
fn filters(seed: u64, cells: u64) -> Vec<(Spec, AnyFilter)> {
    let sizes: [&[(Param, u64)]; 6] = [
        &[(Param::Cells, cells), (Param::Hashes, 3)],
        &[(Param::Cells, cells), (Param::Hashes, 2), (Param::Width, 3)],
        &[(Param::Cells, cells), (Param::Width, 5)],
        &[(Param::Cells, cells), (Param::Width, 17)],
        &[(Param::Cells, cells), (Param::Hashes, 3), (Param::Items, cells / 8)],
        // Kinds that have no cells of a number that is chosen: they grow from here on.
        &[(Param::Items, cells / 8)],
    ];
    let mut filters = Vec::new();
    for kind in specs::kinds().filter(|kind| kind.can(Ability::Remove)) {
        let before = filters.len();
        for spec in specs::varied(kind, 1, 0.5) {
            let open = [Param::Items, Param::Fpp];
            let bare = spec.given().filter(|param| !open.contains(param));
            let bare = bare.fold(Spec::new(kind), |bare, param| match spec.get(param) {
                Some(value) => bare.with(param, value),
                None => bare,
            });
            let by_cells = kind.params().contains(&Param::Cells);
            for size in sizes.into_iter().filter(|size| (size[0].0 == Param::Cells) == by_cells) {
                let spec = size
                    .iter()
                    .fold(bare.clone(), |spec, (param, value)| spec.with(*param, *value))
                    .seed(seed);
                let filter = spec.build().ok().filter(|filter| filter.can(Ability::Remove));
                filters.extend(filter.map(|filter| (spec, filter)));
            }
        }
        assert!(filters.len() > before, "no small filter of kind {} removes", kind.name());
    }
    filters
}

/// Filters of their own types.
fn own(seed: u64, cells: u64) -> Vec<Box<dyn Remove>> {
    let spectral = || SpectralBloom::builder().cells(cells).hashes(3).seed(seed);
    vec![
        Box::new(CountingBloom::builder().cells(cells).hashes(2).width(2).seed(seed).build().unwrap()),
        Box::new(spectral().width(3).policy(MinimumSelection).build().unwrap()),
        Box::new(spectral().compact().policy(RecurringMinimum).build().unwrap()),
        Box::new(Cuckoo::builder().cells(cells).width(5).seed(seed).build().unwrap()),
        Box::new(DynamicBloom::builder().items(cells / 8).cells(cells).hashes(3).seed(seed).build().unwrap()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_was_inserted_more_often_than_removed_is_found(
        (seed, cells) in (any::<u64>(), 24u64..300),
        steps in steps(),
    ) {
        for (number, (spec, filter)) in filters(seed, cells).into_iter().enumerate() {
            // All options in turn.
            if (number as u64 + seed).is_multiple_of(7) {
                law(filter, &steps, &spec.to_string());
            }
        }
        for (number, mut filter) in own(seed, cells).into_iter().enumerate() {
            typed(&mut *filter, &steps, &format!("type {number}"));
        }
    }

    /// A batch that leaves copies out is the insertions one by one, less those that are refused for
    /// their copies.
    #[test]
    fn a_capped_batch_leaves_out_the_copies_that_do_not_fit_and_nothing_else(
        (seed, cells, width) in (any::<u64>(), 100u64..400, 4u32..=32),
        keys in proptest::collection::vec(prop_oneof![0u8..5, any::<u8>()], 0..120),
    ) {
        let filter = Cuckoo::builder().cells(cells).width(width).seed(seed).build().unwrap();
        let digests: Vec<Digest> = keys.iter().map(|key| digest(&filter, *key)).collect();
        let (mut batch, mut single) = (AnyFilter::from(filter.clone()), filter);
        let (mut told, mut left_out, mut full) = (Vec::new(), 0, None);
        for digest in &digests {
            let count = single.count_digest(*digest);
            let inserted = single.insert_digest(*digest);
            told.push(inserted == Ok(true));
            if let Err(error) = inserted {
                prop_assert_eq!(error.copies, count == Cuckoo::MAX_COPIES);
                if !error.copies {
                    told.pop();
                    full = Some(told.len() as u64);
                    break;
                }
                left_out += 1;
            }
        }
        let mut new = vec![false; digests.len()];
        match (batch.insert_digests_capped(&digests, &mut new), full) {
            (Ok(count), None) => prop_assert_eq!(count, left_out),
            (Err(InsertError::Full(error)), Some(taken)) => {
                prop_assert_eq!((error.taken, error.copies), (taken, false));
            }
            (capped, full) => prop_assert!(false, "{capped:?}, one by one {full:?}"),
        }
        prop_assert!(new.starts_with(&told) && !new[told.len()..].contains(&true));
        prop_assert_eq!(batch.to_bytes().unwrap(), single.to_bytes().unwrap());
    }
}

/// A split filter is no kind of its own in files, and has its counters in one.
#[cfg(feature = "mmap")]
mod split {
    use super::*;
    use gardenia::SplitBloom;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_split_filter_keeps_the_law_of_removal(
            (seed, cells, width) in (any::<u64>(), 24u64..300, 2u32..6),
            steps in steps(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("f.gdn");
            let builder = CountingBloom::builder().cells(cells).hashes(3).width(width).seed(seed);
            let mut filter = SplitBloom::create(&path, builder).unwrap();
            let mut model = Model::default();
            for step in &steps {
                match step {
                    Step::Insert(key) => {
                        filter.insert_digest(digest(&filter, *key));
                        model.inserted(*key);
                    }
                    Step::InsertMany(keys) => keys.iter().for_each(|key| {
                        filter.insert_digest(digest(&filter, *key));
                        model.inserted(*key);
                    }),
                    Step::Remove(key) => {
                        let digest = digest(&filter, *key);
                        model.remove(*key, || filter.remove_digest(digest));
                    }
                    Step::Store => {
                        filter.close().unwrap();
                        filter = SplitBloom::open(&path).unwrap();
                        let bits = Bloom::load_as::<gardenia::index::AnyScheme>(&path, &Default::default()).unwrap();
                        model.check(&bits, "the bits of a split filter");
                    }
                }
                model.check(&filter, "split");
            }
        }
    }
}

#[test]
fn every_policy_that_removes_is_tried() {
    let tried = filters(1, 100);
    for policy in PolicyId::ALL {
        let filter = SpectralBloom::builder().cells(100).hashes(3).policy(policy).build().unwrap();
        let tried = tried.iter().any(|(_, any)| match any {
            AnyFilter::Spectral(filter) => filter.policy() == policy,
            _ => false,
        });
        assert_eq!(AnyFilter::from(filter).can(Ability::Remove), tried, "{}", policy.name());
    }
}
