//! Distance-sensitive filters: votes and both errors against theory, by statistics.

use crate::common::mean_and_error;
use gardenia::error::PointError;
use gardenia::filter::Space;
use gardenia::theory::distance::{DistanceShape, agreement};
use gardenia::{AnyFilter, Digest, DistanceSensitiveBloom, Merge, SecretKey, SizeError};
use proptest::prelude::*;

const BITS: u64 = 2_048;

/// A random vector.
fn vector(seed: u64) -> Vec<u8> {
    (0..BITS as u32 / 64).flat_map(|i| Digest(seed).word(1 + i).to_le_bytes()).collect()
}

/// The same with `flips` different bits turned.
fn turned(point: &[u8], flips: usize, seed: u64) -> Vec<u8> {
    let mut order: Vec<u64> = (0..BITS).collect();
    for i in 0..flips {
        let left = BITS - i as u64;
        order.swap(i, i + (Digest(seed).word(1 + i as u32) % left) as usize);
    }
    let mut point = point.to_vec();
    order[..flips].iter().for_each(|at| point[(at / 8) as usize] ^= 1 << (at % 8));
    point
}

#[test]
fn points_at_a_distance_get_as_many_votes_as_theory_says() {
    let shape = DistanceShape { functions: 20, samples: 12, bits: 64, threshold: 10 };
    for (flips, keyed) in
        [0, 50, 200, 700, 2_048].into_iter().flat_map(|flips| [(flips, false), (flips, true)])
    {
        let votes = |seed: u64| {
            let builder = DistanceSensitiveBloom::hamming(BITS).shape(shape);
            let secret = SecretKey::new(core::array::from_fn(|i| Digest(seed).word(i as u32) as u8));
            let builder = if keyed { builder.secret(secret) } else { builder.seed(seed) };
            let mut filter = builder.build().unwrap();
            let point = vector(seed ^ 9);
            filter.insert_bits(&point).unwrap();
            f64::from(filter.votes_bits(&turned(&point, flips, seed)).unwrap())
        };
        let (mean, error) = mean_and_error(&(0..800).map(votes).collect::<Vec<_>>());
        let agrees = agreement(flips as f64 / BITS as f64, shape.samples);
        let expected = 20.0 * (agrees + (1.0 - agrees) / 64.0);
        assert!((mean - expected).abs() <= 5.0 * error, "{flips} flips: {mean} ± {error}, not {expected}");
    }
}

#[test]
fn sets_with_common_tokens_get_as_many_votes_as_theory_says() {
    let shape = DistanceShape { functions: 20, samples: 3, bits: 64, threshold: 10 };
    for common in [0u64, 30, 60, 90, 100] {
        let votes = |seed: u64| {
            let mut filter = DistanceSensitiveBloom::jaccard().shape(shape).seed(seed).build().unwrap();
            let (ours, theirs): (Vec<u64>, Vec<u64>) =
                ((0..100).collect(), (100 - common..200 - common).collect());
            filter.insert_tokens(&ours).unwrap();
            f64::from(filter.votes_tokens(&theirs).unwrap())
        };
        let (mean, error) = mean_and_error(&(0..600).map(votes).collect::<Vec<_>>());
        let distance = 1.0 - common as f64 / (200 - common) as f64;
        let agrees = agreement(distance, shape.samples);
        let expected = 20.0 * (agrees + (1.0 - agrees) / 64.0);
        assert!((mean - expected).abs() <= 5.0 * error, "{common} common: {mean} ± {error}, not {expected}");
    }
}

#[test]
fn both_errors_stay_below_what_was_asked_for() {
    let (items, near, far, asked) = (200u64, 0.02, 0.3, 0.05);
    let (mut missed, mut alarmed) = (Vec::new(), Vec::new());
    for seed in 0..12u64 {
        let builder = DistanceSensitiveBloom::hamming(BITS).items(items).near(near).far(far).error(asked);
        let mut filter = builder.seed(seed).build().unwrap();
        let point = |i: u64| vector(1_000 * seed + i);
        (0..items).for_each(|i| filter.insert_bits(&point(i)).unwrap());
        let flips = (near * BITS as f64) as usize;
        let miss =
            (0..items).filter(|i| !filter.is_near_bits(&turned(&point(*i), flips, *i)).unwrap()).count();
        missed.push(miss as f64 / items as f64);
        // Random vectors are at distance 0.5 from each other, farther than asked.
        let alarms = (items..2 * items).filter(|i| filter.is_near_bits(&point(*i)).unwrap()).count();
        alarmed.push(alarms as f64 / items as f64);
        assert!(filter.misses(near) <= asked && filter.alarms(items, far) <= asked);
    }
    let ((misses, error), (alarms, noise)) = (mean_and_error(&missed), mean_and_error(&alarmed));
    assert!(misses <= asked + 5.0 * error, "{misses} ± {error}");
    assert!(alarms <= asked + 5.0 * noise, "{alarms} ± {noise}");
    assert!(misses > 0.0, "a bound that is never near would be a waste");
}

proptest! {
    #[test]
    fn what_went_in_is_near_and_files_answer_the_same(
        seed in any::<u64>(),
        functions in 1u32..30,
        samples in 1u32..40,
        bits in 1u64..300,
        points in proptest::collection::vec(any::<u64>(), 0..30),
        probes in proptest::collection::vec(any::<u64>(), 0..30),
        hamming in any::<bool>(),
    ) {
        let shape = DistanceShape { functions, samples, bits, threshold: 1 + functions / 2 };
        let space = if hamming { Space::Hamming { dimension: 61 } } else { Space::Jaccard };
        let mut filter = DistanceSensitiveBloom::builder(space).shape(shape).seed(seed).build().unwrap();
        prop_assert_eq!((filter.shape(), filter.space(), filter.distances()), (shape, space, (0.0, 1.0)));
        let tokens = |point: u64| (0..point % 9).map(|i| Digest(point).word(1 + i as u32) % 50).collect::<Vec<u64>>();
        let (mut other, half) = (filter.clone(), points.len() / 2);
        for (i, point) in points.iter().enumerate() {
            let into = if i < half { &mut filter } else { &mut other };
            match hamming {
                true => into.insert_bits(&point.to_le_bytes()).unwrap(),
                false => into.insert_tokens(&tokens(*point)).unwrap(),
            }
        }
        filter.merge(&other).unwrap();
        let votes = |filter: &DistanceSensitiveBloom, point: u64| match hamming {
            true => filter.votes_bits(&point.to_le_bytes()).unwrap(),
            false => filter.votes_tokens(&tokens(point)).unwrap(),
        };
        prop_assert!(points.iter().all(|point| votes(&filter, *point) == functions));
        let bytes = filter.to_bytes().unwrap();
        let copy = DistanceSensitiveBloom::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&copy, &filter);
        let view = DistanceSensitiveBloom::view(&bytes).unwrap();
        prop_assert!(view == filter && view.try_to_owned().unwrap() == filter);
        for point in probes {
            prop_assert_eq!(votes(&copy, point), votes(&filter, point));
        }
        let reversed = |point: u64| tokens(point).into_iter().rev().chain(tokens(point)).collect::<Vec<_>>();
        if !hamming {
            for point in points {
                prop_assert_eq!(filter.votes_tokens(&reversed(point)).unwrap(), functions);
            }
        }
        prop_assert!(AnyFilter::from_bytes(&bytes).unwrap_err().to_string().contains("distance-sensitive"));
    }
}

#[test]
fn points_of_another_space_or_length_are_refused() {
    let shape = DistanceShape { functions: 4, samples: 2, bits: 10, threshold: 2 };
    let mut vectors = DistanceSensitiveBloom::hamming(20).shape(shape).build().unwrap();
    for bytes in [0, 2, 4] {
        let error = PointError::Length { bytes, dimension: 20 };
        assert_eq!(vectors.insert_bits(&vec![0; bytes as usize]), Err(error));
        assert_eq!(vectors.is_near_bits(&vec![0; bytes as usize]), Err(error));
    }
    assert!(matches!(vectors.insert_tokens(&["rose"]), Err(PointError::Space { .. })));
    let mut sets = DistanceSensitiveBloom::jaccard().shape(shape).build().unwrap();
    assert!(matches!(sets.insert_bits(&[1, 2, 3]), Err(PointError::Space { .. })));
    assert_eq!(vectors.merge(&sets).unwrap_err().what, "space");
    let more = DistanceShape { samples: 3, ..shape };
    assert_eq!(
        sets.merge(&DistanceSensitiveBloom::jaccard().shape(more).build().unwrap()).unwrap_err().what,
        "samples"
    );
    // The empty set is near itself, and only that.
    sets.insert_tokens::<u64>(&[]).unwrap();
    assert!(sets.is_near_tokens::<u64>(&[]).unwrap());
}

#[test]
fn filters_that_cannot_be_are_errors() {
    let make = || DistanceSensitiveBloom::hamming(100);
    let good = DistanceShape { functions: 4, samples: 2, bits: 10, threshold: 2 };
    let refused = |shape| make().shape(shape).build().unwrap_err();
    assert!(matches!(refused(DistanceShape { functions: 0, ..good }), SizeError::Hashes { .. }));
    assert!(matches!(refused(DistanceShape { functions: 256, ..good }), SizeError::Hashes { .. }));
    assert!(matches!(refused(DistanceShape { samples: 0, ..good }), SizeError::Conflict(_)));
    assert!(matches!(refused(DistanceShape { samples: u32::MAX, ..good }), SizeError::Conflict(_)));
    assert!(matches!(refused(DistanceShape { threshold: 0, ..good }), SizeError::Conflict(_)));
    assert!(matches!(refused(DistanceShape { threshold: 5, ..good }), SizeError::Conflict(_)));
    assert!(matches!(refused(DistanceShape { bits: 0, ..good }), SizeError::ZeroCells));
    assert!(matches!(refused(DistanceShape { bits: u64::MAX, ..good }), SizeError::TooManyCells { .. }));
    assert!(matches!(make().build(), Err(SizeError::Conflict(_))));
    assert!(matches!(make().items(9).near(0.1).build(), Err(SizeError::Conflict(_))));
    assert!(matches!(make().shape(good).items(9).build(), Err(SizeError::Conflict(_))));
    assert!(matches!(DistanceSensitiveBloom::hamming(0).shape(good).build(), Err(SizeError::Conflict(_))));
}
