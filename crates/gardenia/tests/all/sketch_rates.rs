//! Measured errors of sketches against theory, by statistics: fixed seeds, five standard errors, no
//! hand-picked thresholds.

use crate::common::mean_and_error;
use gardenia::cells::CellKind;
use gardenia::filter::Update;
use gardenia::index::Form;
use gardenia::theory::count_min::{failure_modified, failure_original};
use gardenia::{CountMin, CountSketch, Digest, RangeCountMin, Top};

/// Key r of `universe` with a frequency proportional to r^−`exponent`: `items` draws, as (key,
/// count).
fn stream(items: u32, universe: usize, exponent: f64, seed: u64) -> Vec<u64> {
    let mut sum = 0.0;
    let mut below = Vec::with_capacity(universe);
    for rank in 1..=universe {
        sum += libm_pow(rank as f64, -exponent);
        below.push(sum);
    }
    let uniform = |i: u32| (Digest(seed).word(1 + i) >> 11) as f64 / (1u64 << 53) as f64;
    let rank = |i: u32| below.partition_point(|bound| *bound <= uniform(i) * sum).min(universe - 1);
    (0..items).map(|i| Digest(seed ^ 0x5eed).word(1 + rank(i) as u32)).collect()
}

/// Only streams are made with it, whose last digit does not matter.
fn libm_pow(base: f64, exponent: f64) -> f64 {
    base.powf(exponent)
}

fn exact(stream: &[u64]) -> Vec<(u64, u64)> {
    let mut sorted = stream.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
}

fn make(form: Form, columns: u64, rows: u32, seed: u64) -> CountMin {
    CountMin::builder().columns(columns).rows(rows).form(form).seed(seed).build().unwrap()
}

/// The over-counts of all keys; fails if one is counted too small.
fn errors(sketch: &CountMin, counts: &[(u64, u64)]) -> Vec<u64> {
    let keys: Vec<u64> = counts.iter().map(|(key, _)| *key).collect();
    let error = |(found, (key, exact)): (u64, &(u64, u64))| {
        found.checked_sub(*exact).unwrap_or_else(|| panic!("{key} came {exact} times, not {found}"))
    };
    sketch.count_many(&keys).into_iter().zip(counts).map(error).collect()
}

fn mean(errors: &[u64]) -> f64 {
    errors.iter().sum::<u64>() as f64 / errors.len() as f64
}

#[test]
fn large_errors_are_as_rare_as_the_theorems_say() {
    // Narrow sketches, whose bounds are not small: 1/(εw) is a half, and 2/(εw) for the modified form.
    for (exponent, universe) in [(0.0, 300), (1.0, 2_000), (1.5, 20_000)] {
        let stream = stream(6_000, universe, exponent, 11);
        let counts = exact(&stream);
        for (form, columns, rows) in [
            (Form::Original, 41, 2),
            (Form::Original, 41, 4),
            (Form::Modified, 83, 2),
            (Form::Modified, 83, 4),
        ] {
            let epsilon = 2.0 / 41.0;
            let bound = match form {
                Form::Modified => failure_modified(epsilon, columns, rows, 1),
                _ => failure_original(epsilon, columns, rows),
            };
            let share = |seed| {
                let mut sketch = make(form, columns, rows, seed);
                sketch.insert_many(&stream);
                let limit = (epsilon * sketch.total() as f64) as u64;
                let large = errors(&sketch, &counts).iter().filter(|error| **error > limit).count();
                large as f64 / counts.len() as f64
            };
            let (share, error) = mean_and_error(&(0..60).map(share).collect::<Vec<_>>());
            assert!(
                share <= bound + 5.0 * error,
                "{form:?}, {rows} rows, exponent {exponent}: {share} > {bound}"
            );
        }
    }
}

#[test]
fn large_errors_do_happen_where_the_bound_is_nearly_tight() {
    // All weight on few keys: a key that was never inserted meets one of them with probability 1/w per row and key.
    let (columns, heavy) = (41, 5u64);
    for rows in [1, 2] {
        let meets = |seed| {
            let mut sketch = make(Form::Original, columns, rows, seed);
            (0..heavy).for_each(|key| _ = sketch.add(key, 1000));
            (1_000..1_200u64).filter(|key| sketch.exceeds(key, 1000)).count() as f64 / 200.0
        };
        let (share, error) = mean_and_error(&(0..400).map(meets).collect::<Vec<_>>());
        let row = 1.0 - (1.0 - 1.0 / columns as f64).powi(heavy as i32);
        let expected = row.powi(rows as i32);
        assert!((share - expected).abs() < 5.0 * error, "{rows} rows: {share}, not {expected}");
    }
}

#[test]
fn keys_that_agree_in_both_functions_collide_in_all_rows() {
    // The first term of theorem 9.1: however many rows, a heavy key is met with probability 1/w².
    let meets = |seed| {
        let mut sketch = make(Form::Modified, 23, 12, seed);
        sketch.add("heavy", 1000);
        (0..500u64).filter(|key| sketch.exceeds(key, 1000)).count() as f64 / 500.0
    };
    let (share, error) = mean_and_error(&(0..600).map(meets).collect::<Vec<_>>());
    let expected = 1.0 / (23.0 * 23.0);
    assert!((share - expected).abs() < 5.0 * error, "{share} ± {error}, not {expected}");
}

#[test]
fn the_modified_form_errs_as_the_original_one() {
    // Mean errors at equal shape, over many seeds: the difference is below 5 %, with certainty (five errors) to spare.
    for exponent in [0.0, 1.0] {
        let stream = stream(20_000, 5_000, exponent, 12);
        let counts = exact(&stream);
        let of = |form, seed| {
            let mut sketch = make(form, 1_009, 4, seed);
            sketch.insert_many(&stream);
            mean(&errors(&sketch, &counts))
        };
        let relative = |seed| of(Form::Modified, seed) / of(Form::Original, seed + 1_000) - 1.0;
        let (difference, error) = mean_and_error(&(0..200).map(relative).collect::<Vec<_>>());
        assert!(difference.abs() + 5.0 * error < 0.05, "exponent {exponent}: {difference} ± {error}");
    }
}

#[test]
fn copies_fail_together_as_rarely_as_sketches_made_apart() {
    let stream = stream(6_000, 3_000, 1.2, 13);
    let counts = exact(&stream);
    let failures = |copies, seed| -> Vec<bool> {
        let builder = CountMin::builder().form(Form::Modified).columns(29).rows(2).copies(copies).seed(seed);
        let mut sketch = builder.build().unwrap();
        sketch.insert_many(&stream);
        let limit = sketch.total() / 20;
        errors(&sketch, &counts).iter().map(|error| *error > limit).collect()
    };
    let share =
        |failures: Vec<bool>| failures.iter().filter(|failed| **failed).count() as f64 / counts.len() as f64;
    let trial = |seed| {
        let (one, other) = (failures(1, seed), failures(1, seed + 1_000));
        share(failures(2, seed + 2_000)) - share(one.iter().zip(other).map(|(a, b)| *a && b).collect())
    };
    let (difference, error) = mean_and_error(&(0..200).map(trial).collect::<Vec<_>>());
    let (one, _) = mean_and_error(&(0..200).map(|seed| share(failures(1, seed))).collect::<Vec<_>>());
    assert!(difference.abs() < 5.0 * error, "{difference} ± {error}");
    assert!(one > 10.0 * error, "too few failures to compare: {one}");
}

#[test]
fn narrower_cells_and_minimum_increase_err_less_in_the_same_memory() {
    let kinds = [
        (Update::Plain, CellKind::Fixed32),
        (Update::Conservative, CellKind::Fixed32),
        (Update::Conservative, CellKind::Merging8),
        (Update::Conservative, CellKind::Merging4),
    ];
    let mean_of = |update, cells, seed| {
        let stream = stream(60_000, 60_000, 1.0, seed);
        let builder = CountMin::builder().bytes(16 << 10).rows(4).form(Form::Modified).seed(seed);
        let mut sketch = builder.update(update).cells(cells).build().unwrap();
        assert!(sketch.memory_bytes() <= 16 << 10);
        sketch.insert_many(&stream);
        mean(&errors(&sketch, &exact(&stream)))
    };
    let means: Vec<Vec<f64>> = kinds
        .iter()
        .map(|(update, cells)| (0..8).map(|seed| mean_of(*update, *cells, seed)).collect())
        .collect();
    for (worse, better) in means.iter().zip(&means[1..]) {
        let gains: Vec<f64> = worse.iter().zip(better).map(|(worse, better)| worse - better).collect();
        let (gain, error) = mean_and_error(&gains);
        assert!(gain > 5.0 * error, "{means:?}");
    }
}

#[test]
fn the_number_of_keys_and_the_false_positives_are_as_told() {
    for (form, cells, update) in [
        (Form::Original, CellKind::Fixed32, Update::Plain),
        (Form::Modified, CellKind::Fixed64, Update::Conservative),
        (Form::Modified, CellKind::Merging8, Update::Plain),
        (Form::Original, CellKind::Merging4, Update::Conservative),
    ] {
        let trial = |seed: u64| {
            let builder = CountMin::builder().columns(997).rows(3).seed(seed);
            let mut sketch = builder.form(form).cells(cells).update(update).build().unwrap();
            let keys: Vec<u64> = (1..=600).map(|i| Digest(seed).word(i)).collect();
            sketch.insert_many(&keys);
            let estimate = sketch.estimated_items();
            let absent: Vec<u64> = (1..=20_000).map(|i| Digest(seed ^ 99).word(i)).collect();
            let found =
                sketch.contains_many(&absent).iter().filter(|found| **found).count() as f64 / 20_000.0;
            ((estimate.items - 600.0) / estimate.std_error, found - sketch.fpp())
        };
        let trials: Vec<(f64, f64)> = (0..100).map(trial).collect();
        let scores: Vec<f64> = trials.iter().map(|trial| trial.0).collect();
        let squares: Vec<f64> = scores.iter().map(|score| score * score).collect();
        let ((bias, error), (variance, error_variance)) = (mean_and_error(&scores), mean_and_error(&squares));
        assert!(bias.abs() < 5.0 * error, "{cells}: off by {bias} standard deviations");
        // Each row has its own cells: a little less spread than where all share them, which the formula is for.
        assert!(variance < 1.0 + 5.0 * error_variance, "{cells}: {variance}");
        let (off, error) = mean_and_error(&trials.iter().map(|trial| trial.1).collect::<Vec<_>>());
        assert!(off.abs() < 5.0 * error, "{form:?}, {cells}: the rate is off by {off} ± {error}");
    }
}

#[test]
fn many_rows_of_the_modified_form_find_no_fewer_absent_keys_than_told() {
    // With twelve rows nearly all false positives are keys whose two functions agree with those of another.
    let trial = |seed: u64| {
        let mut sketch = make(Form::Modified, 211, 12, seed);
        (1..=60).for_each(|i| _ = sketch.insert(Digest(seed).word(i)));
        let absent: Vec<u64> = (1..=4_000).map(|i| Digest(seed ^ 77).word(i)).collect();
        let found = sketch.contains_many(&absent).iter().filter(|found| **found).count() as f64 / 4_000.0;
        (found, sketch.fpp())
    };
    let trials: Vec<(f64, f64)> = (0..300).map(trial).collect();
    let (off, error) = mean_and_error(&trials.iter().map(|(found, told)| found - told).collect::<Vec<_>>());
    assert!(off.abs() < 5.0 * error, "{off} ± {error}");
}

#[test]
fn ranges_exceed_the_truth_as_rarely_as_promised() {
    let (epsilon, delta) = (0.2, 0.1);
    let stream: Vec<u64> = stream(3_000, 1_000, 1.0, 14).iter().map(|key| key >> 44).collect();
    let share = |seed| {
        let mut ranges = RangeCountMin::with_seed(20, epsilon, delta, seed).unwrap();
        stream.iter().for_each(|key| ranges.add(*key, 1).unwrap());
        let large = (0..200u32).filter(|i| {
            let [a, b] = [1, 2].map(|word| Digest(u64::from(*i)).word(word) >> 44);
            let (from, to) = (a.min(b), a.max(b));
            let truth = stream.iter().filter(|key| (from..to).contains(*key)).count() as u64;
            let found = ranges.count(from..to);
            assert!(found >= truth);
            (found - truth) as f64 > epsilon * stream.len() as f64
        });
        large.count() as f64 / 200.0
    };
    let (share, error) = mean_and_error(&(0..10).map(share).collect::<Vec<_>>());
    assert!(share <= delta + 5.0 * error, "{share} ± {error}");
}

#[test]
fn a_count_sketch_errs_on_both_sides_alike_and_by_no_more_than_the_theorem_says() {
    let stream = stream(20_000, 3_000, 1.0, 15);
    let counts = exact(&stream);
    let moment: f64 = counts.iter().map(|(_, count)| (*count as f64) * (*count as f64)).sum();
    let (columns, rows) = (401u64, 3);
    let trial = |seed| {
        let mut sketch = CountSketch::builder().columns(columns).rows(rows).seed(seed).build().unwrap();
        sketch.extend(&stream);
        let errors: Vec<f64> =
            counts.iter().map(|(key, count)| sketch.count(*key) as f64 - *count as f64).collect();
        let limit = 2.0 * (moment / columns as f64).sqrt(); // a row fails with probability a quarter at most
        let large = errors.iter().filter(|error| error.abs() > limit).count() as f64;
        let single = CountSketch::builder().columns(columns).rows(1).seed(seed).build().map(|mut sketch| {
            sketch.extend(&stream);
            let square = |(key, count): &(u64, u64)| (sketch.count(*key) as f64 - *count as f64).powi(2);
            counts.iter().map(square).sum::<f64>() / counts.len() as f64
        });
        (errors.iter().sum::<f64>() / errors.len() as f64, large / errors.len() as f64, single.unwrap())
    };
    let trials: Vec<(f64, f64, f64)> = (0..120).map(trial).collect();
    let of = |pick: fn(&(f64, f64, f64)) -> f64| mean_and_error(&trials.iter().map(pick).collect::<Vec<_>>());
    let (bias, error) = of(|trial| trial.0);
    assert!(bias.abs() < 5.0 * error, "biased by {bias} ± {error}");
    let (share, error) = of(|trial| trial.1);
    let bound = gardenia::theory::count_sketch::median_failure(0.25, rows);
    assert!(share <= bound + 5.0 * error, "{share} > {bound}");
    // The variance of one row is (F2 − f²)/w, exactly.
    let (variance, error) = of(|trial| trial.2);
    let expected = (moment - moment / counts.len() as f64) / columns as f64;
    assert!((variance - expected).abs() < 5.0 * error, "{variance} ± {error}, not {expected}");
}

#[test]
fn second_moments_are_off_by_what_is_told() {
    // Equal counts, for which the variance bound 2·F2²/w is nearly reached; signs by less than 4-wise independent
    // functions would show here.
    let (columns, keys) = (128, 500u64);
    for (rows, efficiency) in [(1u32, 1.0), (5, 0.2868 / (core::f64::consts::FRAC_PI_2 / 5.0))] {
        let score = |seed: u64| {
            let mut sketch = CountSketch::builder().columns(columns).rows(rows).seed(seed).build().unwrap();
            (0..keys).for_each(|key| sketch.add(key, if key % 2 == 0 { 10 } else { -10 }));
            let (found, truth) = (sketch.second_moment(), (keys * 100) as f64);
            (found.value - truth) / (truth * found.std_error / found.value)
        };
        let scores: Vec<f64> = (0..600).map(score).collect();
        let squares: Vec<f64> = scores.iter().map(|score| score * score).collect();
        let (variance, error) = mean_and_error(&squares);
        // 0.2868: the variance of the median of five normal numbers; and a share 1/n less, because F4 = F2²/n.
        let expected = efficiency * (1.0 - 1.0 / keys as f64);
        assert!(
            (variance - expected).abs() < 5.0 * error,
            "{rows} rows: {variance} ± {error}, not {expected}"
        );
    }
}

#[test]
fn the_true_top_twenty_of_a_zipf_stream_are_found() {
    for seed in 0..3 {
        let stream = stream(300_000, 100_000, 1.1, 20 + seed);
        let mut counts = exact(&stream);
        counts.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut top = Top::new(20).unwrap();
        top.update_many(&stream);
        let found: Vec<u64> =
            top.top(20).iter().map(|hitter| u64::from_le_bytes(hitter.key[..].try_into().unwrap())).collect();
        // Keys of one count may come in either order, and at the last place in either's stead.
        let last = counts[19].1;
        assert!(counts[..20].iter().all(|(key, count)| found.contains(key) || *count == last));
        assert!(found.iter().all(|key| counts.iter().any(|(other, count)| other == key && *count >= last)));
        for (key, count) in counts {
            let (lower, upper) = top.bounds(key);
            assert!((lower..=upper).contains(&count));
            assert!(count <= top.floor() || lower > 0, "{key} came {count} times and is no candidate");
        }
        assert!(top.floor() < last, "{} is no bound for the last of twenty", top.floor());
    }
}
