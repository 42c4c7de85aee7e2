//! Error rates of the cuckoo filter and of the filters that grow, against theory: within five
//! standard errors.

use gardenia::theory::infini::Rule;
use gardenia::theory::{cuckoo, dynamic, scalable};
use gardenia::{Cuckoo, Digest, DynamicBloom, InfiniFilter, RemoveError, ScalableBlocked, ScalableBloom};

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
        let fewer = cuckoo::CuckooShape {
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

/// A filter that grows in place from 10 keys to `most`, with random keys removed in between: the
/// rate just before and just after every doubling is at most the asked one, and within five
/// standard errors of what the lengths of its fingerprints say.
fn grow_in_place(fpp: f64, most: u64, trials: u32) {
    let (others, rule) = (stream(97, trials), Rule::new(fpp, 1, None).unwrap());
    let mut filter = InfiniFilter::new(fpp).unwrap();
    let (mut next, mut kept) = (0u64, Vec::new());
    let key = |number: u64| Digest(96).word(number as u32 + 1);
    let page = u64::from(rule.page(0));
    // Pages split within some per cent of each other, about a multiple of their size.
    let doublings = (0..).map(|doubling| page << doubling).flat_map(|all| [all * 9 / 10, all * 11 / 10]);
    let goals = [10].into_iter().chain(doublings.take_while(|goal| *goal < most)).chain([most]);
    for goal in goals {
        while filter.items() < goal {
            let batch: Vec<u64> = (next..next + (goal - filter.items())).map(key).collect();
            filter.insert_many(&batch).unwrap();
            next += batch.len() as u64;
            kept.extend_from_slice(&batch);
            // One of sixteen goes again, old or new.
            for removal in 0..batch.len() / 16 {
                let at = Digest(next).word(removal as u32 + 1) % kept.len() as u64;
                filter.remove(kept.swap_remove(at as usize)).unwrap();
            }
        }
        for some in kept.chunks(1 << 16) {
            assert!(
                filter.contains_many(some).into_iter().all(|found| found),
                "{fpp}: a key of {goal} is lost"
            );
        }
        let seen = count(&filter.contains_many(&others));
        near(seen, trials.into(), filter.fpp());
        at_most(seen, trials.into(), fpp);
        assert!(filter.fpp() <= fpp && filter.items() == kept.len() as u64);
        if goal > 4_096 {
            // Of all that came, some were removed: the rate is at most that of all.
            assert!(filter.fpp() < 1.05 * rule.fpp_at(next), "{} of {}", filter.fpp(), rule.fpp_at(next));
            let bits = filter.memory_bytes() as f64 * 8.0 / goal as f64;
            assert!(bits < f64::from(rule.width) + 3.5, "{bits} bits per key at {goal}");
        }
    }
}

#[test]
fn a_filter_that_grows_in_place_keeps_its_rate_and_its_keys() {
    grow_in_place(0.01, 100_000, 1_000_000);
    grow_in_place(0.1, 30_000, 200_000);
    grow_in_place(1e-4, 30_000, 1_000_000);
}

#[test]
fn a_filter_that_grows_in_place_keeps_its_rate_and_its_keys_up_to_ten_million() {
    grow_in_place(0.01, 10_000_000, 4_000_000);
}

/// At full size, where a doubling is due, and without removals, the rate is the one of theory.
#[test]
fn a_filter_that_grows_in_place_errs_as_theory_says() {
    for (fpp, doublings) in [(0.01, 8), (0.2, 5), (0.003, 7)] {
        let (rule, others) = (Rule::new(fpp, 1, None).unwrap(), stream(95, 1_000_000));
        let mut filter = InfiniFilter::new(fpp).unwrap();
        let items = u64::from(rule.page(0)) << doublings;
        filter.insert_many(&stream(94, items as u32)).unwrap();
        let expected = rule.fpp_at(items);
        assert!((filter.fpp() / expected - 1.0).abs() < 0.05, "{} and {expected}", filter.fpp());
        near(count(&filter.contains_many(&others)), others.len() as f64, filter.fpp());
    }
}

#[test]
fn scalable_filters_of_blocked_slices_keep_the_rate_at_every_size() {
    let others = stream(93, 1_000_000);
    for (fpp, growth, first) in [(0.01, 2, 100), (0.05, 4, 500), (0.005, 2, 1_000)] {
        let builder = ScalableBlocked::builder().fpp(fpp).growth(growth).items(first).tightening(0.8);
        let (mut bed, all) = (builder.build().unwrap(), stream(92, 100_000));
        for (step, keys) in all.chunks(20_000).enumerate() {
            bed.insert_many(keys).unwrap();
            let seen = count(&bed.contains_many(&others));
            at_most(seen, others.len() as f64, fpp);
            assert!(bed.fpp() <= fpp);
            assert!(all[..20_000 * (step + 1)].iter().all(|key| bed.contains(key)));
        }
    }
}

#[test]
fn the_rate_that_blocked_slices_state_is_measured_on_average() {
    let others = stream(95, 100_000);
    for (fpp, growth, items) in [(0.01, 2, 5_000), (0.05, 4, 3_000)] {
        // Blocks of one filter are filled unevenly, and its rate differs by some percent from what the number of its bits tells.
        let sample: Vec<f64> = (0..60)
            .map(|seed| {
                let builder = ScalableBlocked::builder().fpp(fpp).growth(growth).items(100).seed(seed);
                let mut filter = builder.build().unwrap();
                filter.insert_many(&stream(94, items)).unwrap();
                count(&filter.contains_many(&others)) / others.len() as f64 / filter.fpp()
            })
            .collect();
        mean_is(&sample, 1.0);
    }
}
