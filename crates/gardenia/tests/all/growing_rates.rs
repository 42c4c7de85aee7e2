//! Error rates of the cuckoo filter and of the filters that grow, against theory: within five standard errors.

use gardenia::theory::{cuckoo, dynamic, scalable};
use gardenia::{Cuckoo, Digest, DynamicBloom, RemoveError, ScalableBloom};

fn stream(seed: u64, count: u32) -> Vec<u64> {
    (1..=count).map(|i| Digest(seed).word(i)).collect()
}

fn count(answers: &[bool]) -> f64 {
    answers.iter().filter(|answer| **answer).count() as f64
}

/// `seen` of `trials` differs from `rate` by at most five standard errors.
#[track_caller]
fn near(seen: f64, trials: f64, rate: f64) {
    let error = (rate * (1.0 - rate) * trials).sqrt().max(1.0);
    assert!((seen - rate * trials).abs() < 5.0 * error, "{seen} of {trials}, {} expected", rate * trials);
}

/// `seen` of `trials` is at most five standard errors above `rate`.
#[track_caller]
fn at_most(seen: f64, trials: f64, rate: f64) {
    let error = (rate * (1.0 - rate) * trials).sqrt().max(1.0);
    assert!(seen - rate * trials < 5.0 * error, "{seen} of {trials}, at most {} expected", rate * trials);
}

#[test]
fn cuckoo_filters_err_as_their_load_says() {
    let others = stream(99, 2_000_000);
    for (width, load) in
        [(4, 0.95), (6, 0.5), (8, 0.95), (8, 0.3), (11, 0.95), (13, 0.7), (16, 0.95), (17, 0.9)]
    {
        let mut bed = Cuckoo::builder().cells(40_000).width(width).build().unwrap();
        bed.insert_many(&stream(u64::from(width), (bed.cells() as f64 * load) as u32)).unwrap();
        let seen = count(&bed.contains_many(&others));
        assert_eq!(bed.fpp(), cuckoo::fpp(bed.cells(), bed.items(), width));
        near(seen, others.len() as f64, bed.fpp());
    }
}

#[test]
fn cuckoo_filters_keep_the_rate_that_was_asked_for_in_the_least_memory() {
    let others = stream(98, 1_000_000);
    for fpp in [0.3, 0.1, 0.03, 0.016, 0.01, 0.003, 0.001, 1e-4] {
        let items = 30_000;
        let mut bed = Cuckoo::new(items.into(), fpp).unwrap();
        bed.insert_many(&stream(1, items)).unwrap();
        at_most(count(&bed.contains_many(&others)), others.len() as f64, fpp);
        // One bit less per fingerprint in the same memory would miss it, or not have room.
        let fewer = cuckoo::Shape {
            buckets: bed.memory_bytes() as u64 * 2 / u64::from(bed.width() - 1),
            width: bed.width() - 1,
        };
        let roomy = fewer.buckets >= cuckoo::buckets(items.into());
        assert!(
            bed.width() == 4 || !roomy || cuckoo::fpp(fewer.cells(), items.into(), fewer.width) > fpp * 0.999
        );
    }
}

#[test]
fn the_two_buckets_of_a_key_are_chosen_evenly() {
    // One key at a time: all eight places of its two buckets answer to its fingerprint only. Over many keys every
    // place is used alike, or the load that can be reached would suffer.
    let mut bed = Cuckoo::builder().cells(1_000 * 8).width(8).build().unwrap();
    let keys = stream(5, 6_000);
    bed.insert_many(&keys).unwrap();
    let bytes = bed.to_bytes().unwrap();
    // Payload of one byte per place: how many of each quarter are taken?
    let payload = &bytes[128..128 + 8_000];
    for quarter in payload.chunks(2_000) {
        let taken = quarter.iter().filter(|byte| **byte != 0).count() as f64;
        assert!((taken - 1_500.0).abs() < 5.0 * (2_000.0f64 * 0.75 * 0.25).sqrt(), "{taken}");
    }
    for parity in 0..2 {
        let odd =
            payload.chunks(4).skip(parity).step_by(2).flatten().filter(|byte| **byte != 0).count() as f64;
        assert!((odd - 3_000.0).abs() < 5.0 * (6_000.0f64 * 0.25).sqrt(), "{odd}");
    }
    // Fingerprints are even, too: chi-square over 255 values.
    let mut seen = [0.0; 256];
    payload.iter().for_each(|byte| seen[*byte as usize] += 1.0);
    let mean = 6_000.0 / 255.0;
    let chi: f64 = seen[1..].iter().map(|n| (n - mean) * (n - mean) / mean).sum();
    assert!((chi - 254.0).abs() < 5.0 * (2.0f64 * 254.0).sqrt(), "{chi}");
}

#[test]
fn scalable_filters_keep_their_rate_at_a_thousand_times_the_first_size() {
    let others = stream(97, 400_000);
    for (fpp, tightening, growth) in [(0.01, 0.85, 2), (0.01, 0.5, 2), (0.03, 0.9, 4), (0.001, 0.8, 2)] {
        let (mut seen, mut trials, mut planned) = (0.0, 0.0, 0.0);
        for seed in 0..3 {
            let builder = ScalableBloom::builder().fpp(fpp).tightening(tightening).growth(growth).items(100);
            let mut bed = builder.seed(seed).build().unwrap();
            let keys = stream(seed, 100_000);
            // At sizes on the way, just after a slice has filled up and just before, too.
            for piece in keys.chunks(12_500) {
                bed.insert_many(piece).unwrap();
                assert!(bed.fpp() <= fpp * 1.02, "{} of {fpp}", bed.fpp());
            }
            assert!(
                bed.items() as f64 > 1e5 * (1.0 - fpp) && bed.contains_many(&keys).iter().all(|found| *found)
            );
            let found = count(&bed.contains_many(&others));
            near(found, others.len() as f64, bed.fpp());
            (seen, trials, planned) = (seen + found, trials + others.len() as f64, planned + bed.fpp() / 3.0);
            // Each slice is larger than the one before it, and asks for as many bits of a key or more.
            let slices: Vec<_> = bed.slices().collect();
            assert!(
                slices.windows(2).all(|pair| pair[0].bits < pair[1].bits && pair[0].hashes <= pair[1].hashes)
            );
            assert!(slices[0].hashes < slices[slices.len() - 1].hashes);
            let parts = (0..bed.slices().count() as u32).map(|i| scalable::slice_fpp(fpp, tightening, i));
            assert!(bed.fpp() <= 1.02 * scalable::compound(parts));
        }
        at_most(seen, trials, fpp);
        assert!(planned < fpp);
    }
}

/// The mean of a sample, one value per filter, is within five of its standard errors of `expected`.
#[track_caller]
fn mean_is(sample: &[f64], expected: f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let error = (sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0) / n).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} ± {error}, {expected} expected");
}

#[test]
fn full_slices_err_as_they_were_sized_for() {
    let (fpp, tightening) = (0.2, 0.7);
    for number in 0..4 {
        let sample: Vec<f64> = (0..40)
            .map(|seed| {
                let builder = ScalableBloom::builder().fpp(fpp).tightening(tightening).items(500).seed(seed);
                let mut bed = builder.build().unwrap();
                // Up to the first key of the next slice, which then errs hardly ever.
                let mut key = 0u64;
                while bed.slices().count() < number + 2 {
                    bed.insert(key).unwrap();
                    key += 1;
                }
                bed.fpp()
            })
            .collect();
        mean_is(
            &sample,
            scalable::compound((0..=number as u32).map(|i| scalable::slice_fpp(fpp, tightening, i))),
        );
    }
}

#[test]
fn dynamic_filters_err_as_the_formula_says() {
    let others = stream(96, 50_000);
    for items in [300, 1_000, 1_001, 4_500, 12_000] {
        let rate = |seed| {
            let builder = DynamicBloom::builder().cells(8_000).hashes(5).items(1_000).seed(seed);
            let mut bed = builder.build().unwrap();
            bed.insert_many(&stream(seed, items)).unwrap();
            near(count(&bed.contains_many(&others)), others.len() as f64, bed.fpp());
            bed.fpp()
        };
        let sample: Vec<f64> = (0..30).map(rate).collect();
        mean_is(&sample, dynamic::fpp(8_000, 5, 1_000, items.into()));
    }
}

#[test]
fn removals_are_refused_as_often_as_other_layers_err() {
    let builder = DynamicBloom::builder().cells(8_000).hashes(5).items(1_000).width(8);
    let mut bed = builder.build().unwrap();
    let keys = stream(3, 5_000);
    bed.insert_many(&keys).unwrap();
    let one = gardenia::theory::bloom::fpp_exact(8_000, 1_000, 5);
    let expected = dynamic::refused([one; 4]);
    let removals = |bed: &DynamicBloom, key: &u64| bed.clone().remove(*key);
    let tried = &keys[..400];
    let refused = tried.iter().filter(|key| removals(&bed, key) == Err(RemoveError::Ambiguous)).count();
    near(refused as f64, tried.len() as f64, expected);
    // And none that is carried out hides another key.
    let (mut kept, mut gone) = (Vec::new(), 0);
    for key in &keys {
        match bed.remove(*key) {
            Ok(()) => gone += 1,
            Err(_) => kept.push(*key),
        }
    }
    assert!(gone > 4_000 && bed.contains_many(&kept).iter().all(|found| *found));
    assert_eq!(bed.items(), kept.len() as u64);
}
