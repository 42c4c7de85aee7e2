//! Retouched filters: what is removed stays out, what it costs is what theory says, and the
//! strategies are ordered as in the paper.

use crate::common::*;
use gardenia::filter::Clearing;
use gardenia::index::{AnyScheme, Fractional, Scheme, SchemeId};
use gardenia::theory::retouched::{chi, lost};
use gardenia::{Ability, AnyFilter, Bloom, Digest, InsertError, Kind, RetouchedBloom, Spec};
use proptest::prelude::*;
use std::collections::HashMap;

fn blooms() -> impl Strategy<Value = Bloom<AnyScheme>> {
    let shapes = prop_oneof![(1u64..300, 1u32..12), (1_000u64..20_000, 1u32..9)];
    (proptest::sample::select(SchemeId::ALL.to_vec()), shapes, any::<u64>()).prop_map(
        |(id, (bits, hashes), seed)| {
            let builder = Bloom::builder().bits(bits).hashes(hashes).seed(seed);
            builder.scheme(move |k| AnyScheme::new(id, k)).build().unwrap()
        },
    )
}

proptest! {
    #[test]
    fn troublesome_keys_are_out_and_nothing_new_is_in(
        bed in blooms(),
        elements in keys(),
        probes in keys(),
        clearing in proptest::sample::select(Clearing::ALL.to_vec()),
        seed in any::<u64>(),
    ) {
        let mut bed = bed;
        bed.extend(&elements);
        let trouble: Vec<Vec<u8>> = probes.iter().filter(|key| bed.contains(key) && !elements.contains(key)).cloned().collect();
        let filter = RetouchedBloom::selective(bed.clone(), &elements, &trouble, clearing, seed).unwrap();
        prop_assert!(trouble.iter().all(|key| !filter.contains(key)));
        for key in elements.iter().chain(&probes) {
            prop_assert!(bed.contains(key) || !filter.contains(key));
        }
        let missing = elements.iter().filter(|key| !filter.contains(key)).count() as u64;
        prop_assert_eq!((filter.elements(), filter.lost()), (elements.len() as u64, missing));
        prop_assert!(filter.cleared() <= trouble.len() as u64);
        let ones = |fill: f64| (fill * bed.bits() as f64).round() as u64;
        prop_assert_eq!(ones(bed.fill()) - ones(filter.fill()), filter.cleared());
        if trouble.is_empty() {
            prop_assert_eq!(filter.lost(), 0);
        }
    }

    #[test]
    fn clearing_at_random_clears_so_many_set_bits(bed in blooms(), elements in keys(), count in 0u64..2_000, seed in any::<u64>()) {
        let mut bed = bed;
        bed.extend(&elements);
        let ones = |fill: f64| (fill * bed.bits() as f64).round() as u64;
        let before = ones(bed.fill());
        let filter = RetouchedBloom::random(bed.clone(), count, seed);
        prop_assert_eq!((filter.cleared(), ones(filter.fill())), (count.min(before), before - count.min(before)));
        let again = RetouchedBloom::random(bed.clone(), count, seed);
        prop_assert_eq!(&again, &filter);
        prop_assert!(elements.iter().all(|key| bed.contains(key)));
    }

    #[test]
    fn a_retouched_filter_survives_encoding(bed in blooms(), elements in keys(), probes in keys()) {
        let mut bed = bed;
        bed.extend(&elements);
        let filter = RetouchedBloom::selective(bed, &elements, &probes, Clearing::Ratio, 3).unwrap();
        let bytes = filter.to_bytes().unwrap();
        let copy = RetouchedBloom::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&copy, &filter);
        let facts = |f: &RetouchedBloom| (f.cleared(), f.elements(), f.lost(), f.hashes());
        prop_assert_eq!(facts(&copy), facts(&filter));
        let view = RetouchedBloom::view(&bytes).unwrap();
        prop_assert!(view == filter && view.try_to_owned().unwrap() == filter);
        prop_assert_eq!(view.contains_many(&elements), filter.contains_many(&elements));
        for (key, answer) in elements.iter().zip(filter.contains_many(&elements)) {
            prop_assert_eq!(filter.contains(key), answer);
        }
        let mut any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        prop_assert_eq!(any.insert_digests(&[Digest(1)], &mut [false]), Err(InsertError::Fixed));
        prop_assert!(!any.can(Ability::Insert) && any.estimated_items().is_none());
        prop_assert!(Bloom::from_bytes(&bytes).is_err());
    }
}

/// Elements, and false positives of a filter of them.
fn setting(seed: u64) -> (Bloom, Vec<u64>, Vec<u64>) {
    let mut bed = Bloom::builder().bits(8_000).hashes(5).seed(seed).build().unwrap();
    let key = |i: u32| Digest(seed ^ 0x7e70).word(1 + i);
    let elements: Vec<u64> = (0..1_500).map(key).collect();
    bed.extend(&elements);
    let trouble = (1_500..12_000).map(key).filter(|key| bed.contains(key)).collect();
    (bed, elements, trouble)
}

#[test]
fn clearing_at_random_loses_elements_and_false_positives_alike() {
    let (mut elements_lost, mut trouble_lost) = (Vec::new(), Vec::new());
    for seed in 0..60 {
        let (bed, elements, trouble) = setting(seed);
        let ones = (bed.fill() * 8_000.0).round() as u64;
        let filter = RetouchedBloom::random(bed, 200, seed);
        let expected = lost(ones, 200, 5);
        assert!((filter.false_negatives() - expected).abs() < 1e-12);
        let share = |keys: &[u64]| {
            keys.iter().filter(|key| !filter.contains(**key)).count() as f64 / keys.len() as f64
        };
        elements_lost.push(share(&elements) - expected);
        trouble_lost.push(share(&trouble) - expected);
    }
    // A key whose positions coincide loses a little less; at 8,000 bits that is one key in 800, far below the error.
    for sample in [elements_lost, trouble_lost] {
        let (off, error) = mean_and_error(&sample);
        assert!(off.abs() < 5.0 * error, "{off} ± {error}");
    }
}

#[test]
fn the_strategies_are_ordered_as_in_the_paper() {
    // χ of all four on the same filters; differences by pairs, five standard errors from zero.
    let of = |clearing, seed| {
        let (bed, elements, trouble) = setting(seed);
        let filter = RetouchedBloom::selective(bed, &elements, &trouble, clearing, seed).unwrap();
        let removed = trouble.iter().filter(|key| !filter.contains(**key)).count() as u64;
        assert_eq!(removed, trouble.len() as u64);
        chi((removed, removed), (filter.lost(), filter.elements()))
    };
    let better = |a, b| {
        let (difference, error) =
            mean_and_error(&(0..40).map(|seed| of(a, seed) - of(b, seed)).collect::<Vec<_>>());
        assert!(difference > 5.0 * error, "{a:?} over {b:?}: {difference} ± {error}");
    };
    better(Clearing::FewestElements, Clearing::Random);
    better(Clearing::MostTroublesome, Clearing::Random);
    better(Clearing::Ratio, Clearing::FewestElements);
    better(Clearing::Ratio, Clearing::MostTroublesome);
    let (random, error) = mean_and_error(&(0..40).map(|seed| of(Clearing::Random, seed)).collect::<Vec<_>>());
    assert!(random > 1.0 + 5.0 * error, "{random} ± {error}"); // several keys may go with one bit
}

#[test]
fn every_set_bit_is_as_likely_to_be_cleared_as_another() {
    // Ten bits, one probe, all set; two are cleared. Each is one of them in a fifth of the trials.
    let mut bed = Bloom::builder().bits(10).hashes(1).build().unwrap();
    bed.extend(0..1_000);
    let at: Vec<i32> = (0..1_000).collect();
    let trials = 3_000u32;
    let mut cleared = HashMap::new();
    for seed in 0..trials {
        let filter = RetouchedBloom::random(bed.clone(), 2, seed.into());
        let gone = at.iter().filter(|key| !filter.contains(key));
        // A key stands for its bit: all keys of a bit are gone together.
        let mut bits: Vec<u64> = gone
            .map(|key| {
                Fractional::new(1)
                    .positions(filter.hasher().digest(&i64::from(*key).to_le_bytes()), 10)
                    .next()
                    .unwrap()
            })
            .collect();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), 2);
        bits.into_iter().for_each(|bit| *cleared.entry(bit).or_insert(0.0) += 1.0);
    }
    let expected = f64::from(trials) / 5.0;
    let chi_square: f64 = cleared.values().map(|n: &f64| (n - expected) * (n - expected) / expected).sum();
    // Two of ten without replacement: 9 degrees of freedom, scaled by 8/9.
    assert!(cleared.len() == 10 && chi_square < 8.0 + 5.0 * 4.0, "{chi_square}: {cleared:?}");
}

#[test]
fn nothing_to_take_out_changes_nothing() {
    let mut bed = Bloom::new(100, 0.01).unwrap();
    bed.extend(0..100u32);
    let elements: Vec<u32> = (0..100).collect();
    let absent: Vec<u32> = (100..10_000).filter(|key| !bed.contains(key)).collect();
    let filter = RetouchedBloom::selective(bed, &elements, &absent, Clearing::Ratio, 1).unwrap();
    assert_eq!((filter.cleared(), filter.lost(), filter.false_negatives()), (0, 0, 0.0));
    let none: [u32; 0] = [];
    let bed = Bloom::new(100, 0.01).unwrap();
    let filter = RetouchedBloom::selective(bed, &none, &elements, Clearing::Random, 1).unwrap();
    assert_eq!((filter.cleared(), filter.false_negatives()), (0, 0.0));
}

#[test]
fn other_kinds_spare_no_keys() {
    // Built as a retouched filter, a filter of another kind would lose keys that this kind never loses.
    let keys: Vec<Digest> = (0..100).map(|i| Digest(Digest(7).word(i))).collect();
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Retouched) {
        let error = Spec::new(kind).build_retouched(&keys, &keys[..1]).unwrap_err().to_string();
        assert!(error.contains("use the kind retouched"), "{kind:?}: {error}");
    }
}
