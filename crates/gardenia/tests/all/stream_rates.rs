//! Filters that forget against theory, by statistics: fixed seeds, five standard errors, no
//! hand-picked thresholds.
//!
//! Neighbouring cells of a stable filter are lowered together, and the keys of one filter share its
//! bits: a binomial error would be too small. So every figure is a mean over independent filters,
//! and its error comes from their spread.

use gardenia::theory::{a2, stable};
use gardenia::{A2Bloom, Digest, StableBloom};

/// Distinct keys for each trial: no number of one stream is in another.
fn stream(trial: u64) -> impl Fn(u64) -> u64 {
    let base = Digest(0x7374_7265_616d).word(1 + trial as u32);
    move |i| base.wrapping_add(i)
}

/// Checks the mean of `values`, one per independent filter, against `expected`.
fn agrees(what: &str, values: &[f64], expected: f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!(
        (mean - expected).abs() < 5.0 * error,
        "{what}: {mean} ± {error} measured, {expected} expected ({} errors)",
        (mean - expected) / error
    );
    // The test must be able to see a difference.
    assert!(error < 0.03 * expected.min(1.0 - expected), "{what}: {mean} ± {error} says little");
}

/// The share of `queries` keys that were never inserted which `found` says yes to.
fn false_positives(key: impl Fn(u64) -> u64, queries: u64, found: impl FnOnce(&[u64]) -> Vec<bool>) -> f64 {
    let absent: Vec<u64> = (0..queries).map(|i| key((1 << 40) + i)).collect();
    found(&absent).into_iter().filter(|yes| *yes).count() as f64 / queries as f64
}

const INSERTS: u64 = 1_000_000;

/// Cells, hashes, width, decrements: Max from 1 to 255, runs within one word and over a quarter of
/// the filter.
const SETTINGS: [(u64, u32, u32, u64); 7] = [
    (20_000, 6, 1, 7),
    (20_000, 5, 2, 28),
    (30_001, 3, 3, 33),
    (20_000, 6, 4, 142),
    (10_000, 4, 5, 100),
    (5_000, 2, 8, 1_250),
    (20_000, 10, 2, 20),
];

#[test]
fn a_stable_filter_settles_where_the_formula_says() {
    for (cells, hashes, width, decrements) in SETTINGS {
        let max = (1 << width) - 1;
        let limit = stable::zero_fraction(cells, hashes, max, decrements);
        let now = stable::zero_fraction_after(INSERTS, cells, hashes, max, decrements);
        assert!((now / limit - 1.0).abs() < 1e-9, "not settled after {INSERTS} insertions");
        let (mut zeros, mut rates) = (Vec::new(), Vec::new());
        for trial in 0..12 {
            let key = stream(trial);
            let builder = StableBloom::builder().cells(cells).hashes(hashes).width(width);
            let mut filter = builder.decrements(decrements).aging_seed(key(0)).build().unwrap();
            filter.extend((0..INSERTS).map(&key));
            zeros.push(filter.zero_fraction());
            rates.push(false_positives(key, 200_000, |absent| filter.contains_many(absent)));
        }
        let name = format!("m = {cells}, K = {hashes}, Max = {max}, P = {decrements}");
        agrees(&format!("zeros, {name}"), &zeros, limit);
        agrees(&format!("rate, {name}"), &rates, stable::stable_fpp(cells, hashes, max, decrements));
    }
}

#[test]
fn cells_that_are_drawn_age_as_the_formula_says() {
    for (cells, hashes, width, decrements) in &SETTINGS[..5] {
        let (cells, hashes, decrements, max) = (*cells, *hashes, *decrements, (1 << width) - 1);
        let settled = stable::convergence(cells, hashes, max, decrements, 1e-6);
        let gap = stable::memory(cells, hashes, max, decrements, 0.5);
        let [mut zeros, mut rates, mut lost] = [const { Vec::new() }; 3];
        for trial in 0..12 {
            let key = stream(3_000 + trial);
            let builder = StableBloom::builder().cells(cells).hashes(hashes).width(*width).drawn();
            let mut filter = builder.decrements(decrements).aging_seed(key(0)).build().unwrap();
            filter.extend((0..settled).map(&key));
            zeros.push(filter.zero_fraction());
            rates.push(false_positives(&key, 200_000, |absent| filter.contains_many(absent)));
            let forgotten = (settled..settled + gap + 5_000).filter(|now| {
                filter.insert(key(*now));
                *now >= settled + gap && !filter.contains(key(now - gap))
            });
            lost.push(forgotten.count() as f64 / 5_000.0);
        }
        let name = format!("drawn, m = {cells}, K = {hashes}, Max = {max}, P = {decrements}");
        agrees(&format!("zeros, {name}"), &zeros, stable::zero_fraction(cells, hashes, max, decrements));
        agrees(&format!("rate, {name}"), &rates, stable::stable_fpp(cells, hashes, max, decrements));
        let expected = stable::false_negative(cells, hashes, max, decrements, gap);
        agrees(&format!("forgotten after {gap}, {name}"), &lost, expected);
    }
}

#[test]
fn a_stable_filter_forgets_as_the_formula_says() {
    for (cells, hashes, width, decrements) in [SETTINGS[1], SETTINGS[3], SETTINGS[5]] {
        let max = (1 << width) - 1;
        let name = format!("m = {cells}, K = {hashes}, Max = {max}, P = {decrements}");
        // Gaps at which about so many are forgotten; a tenth is always found by false positives.
        for share in [0.1, 0.5, 0.8] {
            let gap = stable::memory(cells, hashes, max, decrements, share);
            let expected = stable::false_negative(cells, hashes, max, decrements, gap);
            let lost: Vec<f64> = (0..40)
                .map(|trial| {
                    let key = stream(1_000 + trial);
                    let builder = StableBloom::builder().cells(cells).hashes(hashes).width(width);
                    let mut filter = builder.decrements(decrements).aging_seed(key(0)).build().unwrap();
                    let settled = stable::convergence(cells, hashes, max, decrements, 1e-6);
                    filter.extend((0..settled).map(&key));
                    // The key that has come exactly `gap` others ago, at many times.
                    let keys = 30_000;
                    let forgotten = (settled..settled + gap + keys)
                        .filter(|now| {
                            filter.insert(key(*now));
                            *now >= settled + gap && !filter.contains(key(now - gap))
                        })
                        .count();
                    forgotten as f64 / keys as f64
                })
                .collect();
            agrees(&format!("forgotten after {gap}, {name}"), &lost, expected);
        }
    }
}

#[test]
fn a_stable_filter_of_a_planned_gap_errs_as_asked_both_ways() {
    for (items, fpp) in [(2_000, 0.1), (1_000, 0.01)] {
        let (mut lost, mut rates, mut expected) = (Vec::new(), Vec::new(), (0.0, 0.0));
        for trial in 0..30 {
            let key = stream(2_000 + trial);
            let mut filter = StableBloom::builder().items(items).fpp(fpp).aging_seed(trial).build().unwrap();
            expected = (filter.forgotten_after(items), filter.stable_fpp());
            assert!(
                expected.0 <= fpp && expected.0 > 0.99 * fpp && expected.1 <= fpp && expected.1 > 0.9 * fpp
            );
            filter.extend((0..100_000).map(&key));
            rates.push(false_positives(&key, 100_000, |absent| filter.contains_many(absent)));
            let forgotten = (100_000..150_000)
                .filter(|now| {
                    filter.insert(key(*now));
                    !filter.contains(key(now - items))
                })
                .count();
            lost.push(forgotten as f64 / 50_000.0);
        }
        agrees(&format!("forgotten after {items} at {fpp}"), &lost, expected.0);
        agrees(&format!("rate at {fpp} for {items}"), &rates, expected.1);
    }
}

/// A filter whose buffers are both full: the next new key changes places. How many distinct keys
/// came.
fn full(filter: &mut A2Bloom, key: impl Fn(u64) -> u64) -> u64 {
    let mut came = 0;
    for _ in 0..3 {
        // A lap is over when the buffer is full, and begins with the key after that.
        filter.insert(key(came));
        came += 1;
        while filter.active_items() < filter.window() {
            filter.insert(key(came));
            came += 1;
        }
    }
    came
}

#[test]
fn an_a2_filter_errs_as_asked_just_before_it_changes_places() {
    for (window, fpp, queries) in [(2_000, 0.3, 20_000), (5_000, 0.1, 50_000), (5_000, 0.01, 400_000)] {
        let mut told = 0.0;
        let rates: Vec<f64> = (0..25)
            .map(|trial| {
                let key = stream(3_000 + trial);
                let mut filter = A2Bloom::new(window, fpp).unwrap();
                full(&mut filter, &key);
                told += filter.fpp() / 25.0;
                false_positives(key, queries, |absent| filter.contains_many(absent))
            })
            .collect();
        agrees(&format!("{window} keys at {fpp}"), &rates, fpp);
        assert!((told / fpp - 1.0).abs() < 0.02, "{fpp}: {told} told by the fill");
    }
    // The theory of n_a random keys in each buffer leaves out the few that were passed over.
    let filter = A2Bloom::new(5_000, 0.01).unwrap();
    let theory = a2::fpp(filter.bits(), filter.hashes(), 5_000, 5_000);
    assert!(theory < 0.01 && theory > 0.99 * 0.01, "{theory}");
}

#[test]
fn an_a2_filter_errs_on_average_as_the_mean_rate_says() {
    let (window, fpp) = (5_000, 0.02);
    let shape = A2Bloom::builder().items(window).fpp(fpp).shape().unwrap();
    let rates: Vec<f64> = (0..25)
        .map(|trial| {
            let key = stream(4_000 + trial);
            let mut filter = A2Bloom::new(window, fpp).unwrap();
            let mut came = full(&mut filter, &key);
            // Twenty moments of a lap, each in the middle of its twentieth.
            let moments = (0..20).map(|moment| {
                while filter.active_items() != (2 * moment + 1) * window / 40 {
                    filter.insert(key(came));
                    came += 1;
                }
                false_positives(&key, 10_000, |absent| filter.contains_many(absent))
            });
            moments.sum::<f64>() / 20.0
        })
        .collect();
    agrees("mean rate", &rates, a2::mean_fpp(shape.bits, shape.hashes, window));
}

#[test]
fn an_a2_filter_remembers_its_window_for_certain_and_the_next_for_a_while() {
    // A rate so low that false positives do not show.
    let window = 1_000;
    let mut found = vec![0u64; 2_500];
    let laps = 40;
    let mut filter = A2Bloom::new(window, 1e-9).unwrap();
    filter.extend(0..3 * window);
    // Ask at every tenth insertion of many laps, so that all phases come alike often.
    for now in 3 * window..(3 + laps) * window {
        filter.insert(now);
        if now % 10 == 0 {
            for (age, found) in (0..).zip(&mut found) {
                *found += u64::from(filter.contains(now - age));
            }
        }
    }
    let asked = (laps * window / 10) as f64;
    for (age, found) in (0..).zip(found) {
        let share = found as f64 / asked;
        // A tenth of the phases are seen: the share is right to a tenth of a percent of them.
        let expected = a2::found(window, age);
        assert!((share - expected).abs() < 0.0101, "{age} others came: found {share}, expected {expected}");
        assert!(age > window || share == 1.0, "{age} others came: found {share}");
        assert!(age < 2 * window || share == 0.0, "{age} others came: found {share}");
    }
}
