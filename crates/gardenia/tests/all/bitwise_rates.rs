//! How often the counts of bitwise filters are wrong, against theory and against a model of the
//! rules that shares no code with them: fixed seeds, five standard errors.

use gardenia::filter::BitwiseLevel;
use gardenia::index::{AnyScheme, Scheme, SchemeId};
use gardenia::theory::bitwise::{Digit, exact};
use gardenia::{BitwiseBloom, Digest};
use std::collections::HashMap;

/// Mean and standard error of a sample of trials.
fn mean(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Whether two means agree within five standard errors.
fn agree((a, a_error): (f64, f64), (b, b_error): (f64, f64)) -> bool {
    (a - b).abs() < 5.0 * a_error.hypot(b_error)
}

/// Random numbers, different for each trial.
struct Stream {
    seed: Digest,
    drawn: u32,
}

impl Stream {
    fn new(trial: u64) -> Self {
        Self { seed: Digest(Digest(0x6269_7477_6973_6521).word(1 + trial as u32)), drawn: 0 }
    }
    fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        ((u128::from(self.seed.word(self.drawn)) * u128::from(bound)) >> 64) as u64
    }
    /// Each key as often as its count says, in random order.
    fn shuffled(&mut self, counts: &[u64]) -> Vec<usize> {
        let times = |(key, count): (usize, &u64)| std::iter::repeat_n(key, *count as usize);
        let mut keys: Vec<usize> = counts.iter().enumerate().flat_map(times).collect();
        (1..keys.len()).rev().for_each(|i| keys.swap(i, self.below(i as u64 + 1) as usize));
        keys
    }
}

/// The shares of counts that are too high, and too low.
fn wrong(found: &[u64], counts: &[u64]) -> [f64; 2] {
    let share = |wrong: fn(&u64, &u64) -> bool| {
        found.iter().zip(counts).filter(|(found, count)| wrong(found, count)).count() as f64
            / found.len() as f64
    };
    [share(|found, count| found > count), share(|found, count| found < count)]
}

fn key(trial: u64, key: usize) -> u64 {
    Digest(trial).word(1 + key as u32)
}

#[test]
fn known_counts_are_read_exactly_as_often_as_told() {
    // Few cells, so that one count in five or so is wrong; each key's chance is the product over its digits below
    // the top, each with the keys that are on the level beside it.
    for (widths, id) in [(vec![1, 1, 1, 1, 1], SchemeId::Fractional), (vec![2, 3], SchemeId::Independent)] {
        let (items, trials) = (600, 300);
        let shapes = [(3_000, 4), (2_500, 3), (1_500, 5), (1_200, 2), (700, 3)];
        let levels = widths.iter().zip(shapes).map(|(digit, (cells, hashes))| BitwiseLevel {
            cells,
            hashes,
            digit: *digit,
            width: digit + 4,
        });
        let levels: Vec<_> = levels.collect();
        let digit = |count: u64, level: usize| {
            let below: u32 = widths[..level].iter().sum();
            count >> below & ((1 << widths[level]) - 1)
        };
        let trial = |trial| {
            let mut stream = Stream::new(trial);
            let counts: Vec<u64> = (0..items).map(|_| 1 + stream.below(31)).collect();
            let pairs = counts.iter().enumerate().map(|(i, count)| (key(trial, i), *count));
            let filter = BitwiseBloom::builder().levels(&levels).scheme(id).from_counts(pairs).unwrap();
            let keys: Vec<u64> = (0..items).map(|i| key(trial, i)).collect();
            let [high, low] = wrong(&filter.count_many(&keys), &counts);
            assert_eq!(low, 0.0, "a placed count is never too low");
            let held: Vec<u64> = (0..levels.len())
                .map(|level| counts.iter().filter(|count| digit(**count, level) > 0).count() as u64)
                .collect();
            let mut rates = HashMap::new();
            let chance = |count: &u64| {
                let digits = levels.iter().enumerate().map(|(i, level)| {
                    let others = held[i] - u64::from(digit(*count, i) > 0);
                    let rate = || AnyScheme::new(id, level.hashes).planned_fpp(level.cells, others);
                    Digit { width: level.digit, fpp: *rates.entry((i, others)).or_insert_with(rate) }
                });
                1.0 - exact(*count, &digits.collect::<Vec<_>>())
            };
            let expected = counts.iter().map(chance).sum::<f64>() / items as f64;
            (high, high - expected)
        };
        let (shares, excess): (Vec<f64>, Vec<f64>) = (0..trials).map(trial).unzip();
        let (share, (excess, error)) = (mean(&shares).0, mean(&excess));
        assert!(excess.abs() < 5.0 * error, "{widths:?}: {share} wrong, {excess} ± {error} more than told");
        assert!(error < 0.01 * share, "{widths:?}: the test must be able to see five per cent of {share}");
    }
}

#[test]
fn a_filter_of_known_counts_keeps_the_rate_asked_for() {
    for (digit, fpp) in [(1, 0.02), (4, 0.02), (4, 0.001)] {
        let (items, queries) = (2_000u64, 40_000);
        let rates = (0..30).map(|trial| {
            let mut stream = Stream::new(1_000 + trial);
            // Counts that fall as 1/rank.
            let pairs: Vec<(u64, u64)> =
                (0..items).map(|i| (stream.below(1 << 60), items / (i + 1))).collect();
            let filter = BitwiseBloom::builder().fpp(fpp).digit(digit).from_counts(pairs).unwrap();
            let absent: Vec<u64> = (0..queries).map(|_| stream.below(1 << 60) | 1 << 63).collect();
            let found = filter.count_many(&absent).into_iter().filter(|count| *count > 0).count();
            found as f64 / queries as f64
        });
        let (rate, error) = mean(&rates.collect::<Vec<_>>());
        assert!(rate < fpp + 5.0 * error, "digits of {digit} bits at {fpp}: {rate} ± {error}");
        assert!(
            rate > 0.9 * fpp - 5.0 * error,
            "digits of {digit} bits at {fpp}: {rate} ± {error}, wasteful"
        );
    }
}

#[test]
fn the_rate_told_from_the_levels_is_the_rate_measured() {
    let mut filter = BitwiseBloom::builder().cells(6_000).hashes(4).digit(2).build().unwrap();
    filter.extend((0..1_500u64).flat_map(|key| std::iter::repeat_n(key, 1 + key as usize % 7)));
    let queries = 1_000_000;
    let absent: Vec<u64> = (0..queries).map(|i| i + (1 << 40)).collect();
    let found: f64 = filter.contains_many(&absent).into_iter().map(f64::from).sum();
    let (rate, told) = (found / queries as f64, filter.fpp());
    let error = (told * (1.0 - told) / queries as f64).sqrt();
    assert!(
        (rate - told).abs() < 5.0 * error,
        "{rate} measured, {told} told, {} levels",
        filter.levels().count()
    );
}

#[test]
fn without_carries_a_level_errs_as_a_counting_filter() {
    // Counts below the top of a digit: a count is wrong when other keys share all its cells.
    let (cells, hashes, items) = (8_000u64, 5, 1_000u64);
    let trial = |trial: u64| {
        let mut stream = Stream::new(2_000 + trial);
        let counts: Vec<u64> = (0..items).map(|_| 1 + stream.below(9)).collect();
        let mut filter = BitwiseBloom::builder().cells(cells).hashes(hashes).digit(9).build().unwrap();
        filter.extend(stream.shuffled(&counts).into_iter().map(|i| key(trial, i)));
        let keys: Vec<u64> = (0..items as usize).map(|i| key(trial, i)).collect();
        let [high, low] = wrong(&filter.count_many(&keys), &counts);
        assert_eq!((low, filter.levels().count()), (0.0, 1));
        high
    };
    let (rate, error) = mean(&(0..200).map(trial).collect::<Vec<_>>());
    let theory = AnyScheme::new(SchemeId::Fractional, hashes).planned_fpp(cells, items - 1);
    assert!((rate - theory).abs() < 5.0 * error, "{rate} ± {error}, theory {theory}");
}

/// Levels of unlimited counters at independent random positions, one after the other: the rules as
/// they are told, with nothing packed, hashed or fetched.
struct Model {
    cells: u64,
    hashes: u32,
    digit: u32,
    levels: Vec<Vec<i64>>,
    positions: HashMap<(usize, usize), Vec<usize>>,
    stream: Stream,
    /// The wrong rule of plain bits: a carry clears the cells of the key, whoever shares them.
    plain_bits: bool,
}

impl Model {
    fn new(trial: u64, cells: u64, hashes: u32, digit: u32, plain_bits: bool) -> Self {
        let (levels, positions, stream) = (Vec::new(), HashMap::new(), Stream::new(trial));
        Self { cells, hashes, digit, levels, positions, stream, plain_bits }
    }

    /// The different positions of a key on a level, drawn when they are asked for first.
    fn positions(&mut self, key: usize, level: usize) -> Vec<usize> {
        let (stream, cells, hashes) = (&mut self.stream, self.cells, self.hashes);
        let draw = || {
            let mut at: Vec<usize> = (0..hashes).map(|_| stream.below(cells) as usize).collect();
            at.sort_unstable();
            at.dedup();
            at
        };
        self.positions.entry((key, level)).or_insert_with(draw).clone()
    }

    fn insert(&mut self, key: usize) {
        let full = (1 << self.digit) - 1;
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(vec![0; self.cells as usize]);
            }
            let at = self.positions(key, level);
            let cells = &mut self.levels[level];
            let carry = at.iter().all(|at| cells[*at] >= full);
            for at in at {
                cells[at] = match (carry, self.plain_bits) {
                    (false, false) => cells[at] + 1,
                    (true, false) => cells[at] - full,
                    (carry, true) => i64::from(!carry),
                };
            }
            if !carry {
                return;
            }
        }
    }

    fn count(&mut self, key: usize) -> u64 {
        let full = (1 << self.digit) - 1;
        (0..self.levels.len())
            .map(|level| {
                let at = self.positions(key, level);
                let least = at.iter().map(|at| self.levels[level][*at]).min().unwrap();
                (least.clamp(0, full) as u64) << (level as u32 * self.digit)
            })
            .sum()
    }
}

/// One setting of the trials below: this many keys, each with a count from 1 to `most`, in random
/// order.
#[derive(Clone, Copy)]
struct Setting {
    items: u64,
    most: u64,
    cells: u64,
    hashes: u32,
    digit: u32,
}

impl Setting {
    fn workload(self, trial: u64) -> (Vec<u64>, Vec<usize>) {
        let mut stream = Stream::new(3_000 + trial);
        let counts: Vec<u64> = (0..self.items).map(|_| 1 + stream.below(self.most)).collect();
        let keys = stream.shuffled(&counts);
        (counts, keys)
    }

    /// The shares of counts that are too high, and too low, in each of `trials` filters with levels
    /// of equal size.
    fn ours(self, trials: u64) -> Vec<[f64; 2]> {
        let trial = |trial| {
            let (counts, keys) = self.workload(trial);
            let builder = BitwiseBloom::builder().cells(self.cells).hashes(self.hashes);
            let mut filter = builder.digit(self.digit).share(1.0).build().unwrap();
            filter.extend(keys.into_iter().map(|i| key(trial, i)));
            let keys: Vec<u64> = (0..self.items as usize).map(|i| key(trial, i)).collect();
            wrong(&filter.count_many(&keys), &counts)
        };
        (0..trials).map(trial).collect()
    }

    /// The same of the model.
    fn model(self, trials: u64, plain_bits: bool) -> Vec<[f64; 2]> {
        let trial = |trial| {
            let (counts, keys) = self.workload(trial);
            let mut model = Model::new(8_000 + trial, self.cells, self.hashes, self.digit, plain_bits);
            keys.into_iter().for_each(|key| model.insert(key));
            let found: Vec<u64> = (0..self.items as usize).map(|key| model.count(key)).collect();
            wrong(&found, &counts)
        };
        (0..trials).map(trial).collect()
    }
}

#[test]
fn carries_err_both_ways_as_often_as_a_model_of_the_rules() {
    // Seven cells per key on each level: many counts are wrong, in both directions.
    for (digit, most) in [(1, 6), (2, 20), (3, 40)] {
        let setting = Setting { items: 300, most, cells: 2_100, hashes: 5, digit };
        let (ours, model) = (setting.ours(200), setting.model(200, false));
        for (i, side) in ["high", "low"].iter().enumerate() {
            let of = |sample: &[[f64; 2]]| mean(&sample.iter().map(|shares| shares[i]).collect::<Vec<_>>());
            let (ours, model) = (of(&ours), of(&model));
            assert!(agree(ours, model), "digits of {digit} bits: {ours:?} too {side}, the model {model:?}");
            assert!(ours.0 > 5.0 * ours.1, "digits of {digit} bits: {ours:?} too {side} should be seen");
        }
    }
}

#[test]
fn levels_of_plain_bits_would_destroy_most_counts_and_ours_do_not() {
    // libbf clears the bits of a key that carries, also where other keys need them.
    let setting = Setting { items: 500, most: 100, cells: 5_000, hashes: 7, digit: 1 };
    let wrong =
        |sample: Vec<[f64; 2]>| mean(&sample.iter().map(|[high, low]| high + low).collect::<Vec<_>>());
    let (plain, _) = wrong(setting.model(20, true));
    assert!(plain > 0.9, "plain bits: {plain} wrong");
    let (ours, right) = (wrong(setting.ours(20)), wrong(setting.model(20, false)));
    assert!(agree(ours, right), "{ours:?} wrong, cells that count {right:?}");
    assert!(ours.0 + 5.0 * ours.1 < plain / 10.0, "{ours:?} wrong, plain bits {plain}");
}
