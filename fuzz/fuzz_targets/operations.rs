//! Sequences of operations on every kind that accepts keys, against an exact model: what was
//! inserted more often than removed is found, unless the kind forgets.
#![no_main]

use arbitrary::Arbitrary;
use gardenia::{Ability, AnyFilter, Digest, Filter, InsertError, Kind, Spec};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

#[derive(Arbitrary, Debug)]
enum Step {
    Insert(u8),
    InsertMany(Vec<u8>),
    Remove(u8),
    Store,
    Merge(Vec<u8>),
}

fuzz_target!(|input: (u8, u8, Vec<Step>)| {
    let (kind, items, steps) = input;
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.can(Ability::Insert)).collect();
    let kind = kinds[usize::from(kind) % kinds.len()];
    let forgets = kind.can(Ability::Forget);
    let text = format!("{} items={} fpp=1%", kind.name(), u32::from(items) + 1);
    let Ok(spec) = text.parse::<Spec>() else { return };
    let Ok(mut filter) = spec.build() else { return };
    let mut model: BTreeMap<u8, u32> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Insert(key) => {
                if filter.insert(key).is_ok() {
                    *model.entry(key).or_default() += 1;
                }
            }
            Step::InsertMany(keys) => {
                // As one batch, which goes other ways than single keys do.
                let digests: Vec<Digest> = keys.iter().map(|key| filter.hasher().digest_key(key)).collect();
                let taken = match filter.insert_digests(&digests, &mut vec![false; keys.len()]) {
                    Ok(_) => keys.len(),
                    Err(InsertError::Full(full)) => full.taken as usize,
                    Err(error) => panic!("{text}: {error}"),
                };
                keys.iter().take(taken).for_each(|key| *model.entry(*key).or_default() += 1);
            }
            // Only what was inserted may be removed.
            Step::Remove(key) if model.get(&key).is_some_and(|&count| count > 0) => {
                if let Some(Ok(())) = filter.remove(key) {
                    *model.entry(key).or_default() -= 1;
                }
            }
            Step::Remove(_) => {}
            Step::Store => filter = AnyFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap(),
            Step::Merge(keys) => {
                let Ok(mut other) = spec.build() else { return };
                let stored: Vec<u8> = keys.into_iter().filter(|key| other.insert(*key).is_ok()).collect();
                if let Some(Ok(())) = filter.merge(&other) {
                    stored.into_iter().for_each(|key| *model.entry(key).or_default() += 1);
                }
            }
        }
        let keys: Vec<Digest> = (0..=u8::MAX).map(|key| filter.hasher().digest_key(&key)).collect();
        let mut found = [false; 256];
        filter.contains_digests(&keys, &mut found);
        assert!(
            keys.iter().zip(found).all(|(key, found)| filter.contains_digest(*key) == found),
            "{text}: batch and single calls"
        );
        if !forgets {
            let lost = model.iter().find(|(key, count)| **count > 0 && !filter.contains(**key));
            assert_eq!(lost, None, "{text}");
        }
    }
});
