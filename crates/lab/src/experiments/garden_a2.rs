//! The A² filter: what it remembers by age, and what it takes for known over a period.
//!
//! Keys are all different, and their age is counted in keys that were really inserted: one that the
//! active buffer takes for known changes nothing. A period is looked at after every insert, so that
//! the share found by age is a mean over all phases. For that reason it has no error but that of
//! false positives; and a key among the last n_a must always be found.

use crate::garden::{Swap, TwoBuffers, VALLENTIN};
use crate::queries::found;
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::Result;
use gardenia::A2Bloom;
use gardenia::index::SchemeId;
use gardenia::theory::a2::{self, buffer_fpp};
use gardenia::theory::bloom::fpp_exact;
use std::f64::consts::LN_2;

/// The A² filter's window and rates.
#[derive(Clone, Copy, Debug, Default)]
pub struct GardenA2 {
    /// What simulated buffers do with their count when they swap.
    pub swap: Swap,
}

const BITS: u64 = 20_000;
const TARGETS: [f64; 2] = [0.1, 0.01];
/// Moments of a period at which absent keys are asked for, each in the middle of its part.
const MOMENTS: u64 = 20;

/// A filter: hashes, and keys in a buffer.
struct Point {
    target: f64,
    hashes: u32,
    capacity: u64,
    /// The rates with 1, 2, … keys in the active buffer.
    rates: Vec<f64>,
}

impl Point {
    fn new(target: f64, hashes: u32, capacity: u64) -> Self {
        // Keys that the active buffer takes for known are not counted, and yet it is as full as if they were. How
        // many keys have come when 1, 2, … are counted:
        let mut come = 0.0;
        let come: Vec<f64> = (0..capacity)
            .map(|_| {
                come += 1.0 / (1.0 - between(come, |keys| fpp_exact(BITS / 2, keys, hashes)));
                come
            })
            .collect();
        let full = come.last().copied().unwrap_or(0.0);
        let buffer = |keys: f64| between(keys, |keys| fpp_exact(BITS / 2, keys, hashes));
        let passive = buffer(full);
        let rate = |active: &f64| passive + buffer(*active) * (1.0 - passive);
        let rates = come.iter().map(rate).collect();
        Self { target, hashes, capacity, rates }
    }
    /// As the library sizes it.
    fn ours(target: f64) -> Result<Self> {
        let builder = A2Bloom::builder().bits(BITS).fpp(target).scheme(SchemeId::Independent);
        let a2::A2Shape { hashes, capacity, .. } = builder.shape()?;
        Ok(Self::new(target, hashes, capacity))
    }
    /// k_a = ⌊-log2 φ_a⌋ and κ_a = ⌊m/(2k_a)·ln 2⌋.
    fn printed(target: f64) -> Self {
        let hashes = -libm::log2(buffer_fpp(target)) as u32;
        Self::new(target, hashes, (BITS as f64 / f64::from(2 * hashes) * LN_2) as u64)
    }
    fn name(&self) -> String {
        format!("φ = {}, k = {}, n = {}", self.target, self.hashes, self.capacity)
    }
    /// Ages that are looked at: quarters of the capacity.
    fn ages(&self) -> Vec<u64> {
        (0..=12).map(|quarter| quarter * self.capacity / 4).collect()
    }
    fn moments(&self) -> impl Iterator<Item = u64> {
        let capacity = self.capacity;
        (0..MOMENTS).map(move |moment| (2 * moment + 1) * capacity / (2 * MOMENTS))
    }
    /// What the library's theory says.
    fn formula(&self, filled: u64) -> f64 {
        a2::fpp(BITS, self.hashes, self.capacity, filled)
    }
    /// The rate of random keys, those that were skipped included.
    fn rate(&self, filled: u64) -> f64 {
        self.rates[filled as usize - 1]
    }
    fn work(&self) -> u64 {
        self.capacity * u64::from(self.hashes) * 20
    }
}

/// A function of whole numbers, in a line between them.
fn between(x: f64, of: impl Fn(u64) -> f64) -> f64 {
    let (below, share) = (x as u64, x - libm::floor(x));
    if share == 0.0 { of(below) } else { (1.0 - share) * of(below) + share * of(below + 1) }
}

/// One filter over one period: the number of phases in which keys of each age were found, the rate
/// of absent keys at each moment, and just before the swap.
#[derive(serde::Serialize, serde::Deserialize)]
struct Trial {
    found: Vec<u64>,
    rates: Vec<f64>,
    full: f64,
}

/// A filter of any make.
trait Buffers {
    type Key;
    fn key(&self, stream: &mut Stream) -> Self::Key;
    /// Whether it was put in.
    fn insert(&mut self, key: &Self::Key) -> bool;
    fn has(&self, key: &Self::Key) -> bool;
    fn found(&self, queries: u64, stream: &mut Stream) -> u64;
}

struct Simulated {
    buffers: TwoBuffers,
    hashes: u32,
}

impl Buffers for Simulated {
    type Key = Vec<u32>;
    fn key(&self, stream: &mut Stream) -> Vec<u32> {
        stream.positions(1, self.buffers.half(), self.hashes)
    }
    fn insert(&mut self, key: &Vec<u32>) -> bool {
        self.buffers.insert(key)
    }
    fn has(&self, key: &Vec<u32>) -> bool {
        self.buffers.contains(key)
    }
    fn found(&self, queries: u64, stream: &mut Stream) -> u64 {
        self.buffers.found(self.hashes, queries, stream)
    }
}

impl Buffers for A2Bloom {
    type Key = gardenia::Digest;
    fn key(&self, stream: &mut Stream) -> gardenia::Digest {
        gardenia::Digest(stream.word())
    }
    fn insert(&mut self, key: &gardenia::Digest) -> bool {
        let before = self.active_items();
        self.insert_digest(*key);
        self.active_items() != before
    }
    fn has(&self, key: &gardenia::Digest) -> bool {
        self.contains_digest(*key)
    }
    fn found(&self, queries: u64, stream: &mut Stream) -> u64 {
        found(self, queries, stream)
    }
}

fn trial<B: Buffers>(point: &Point, mut filter: B, queries: u64, stream: &mut Stream) -> Trial {
    let ages = point.ages();
    let mut trial = Trial { found: vec![0; ages.len()], rates: Vec::new(), full: 0.0 };
    let mut keys: Vec<B::Key> = Vec::new();
    let insert = |filter: &mut B, keys: &mut Vec<B::Key>, stream: &mut Stream| {
        loop {
            let key = filter.key(stream);
            if filter.insert(&key) {
                keys.push(key);
                break;
            }
        }
    };
    // Four buffers full: the next key begins a period.
    (0..4 * point.capacity).for_each(|_| insert(&mut filter, &mut keys, stream));
    let moments: Vec<u64> = point.moments().collect();
    for filled in 1..=point.capacity {
        insert(&mut filter, &mut keys, stream);
        for (age, found) in ages.iter().zip(&mut trial.found) {
            let key = &keys[keys.len() - 1 - *age as usize];
            *found += u64::from(filter.has(key));
        }
        let rate = |queries: u64, stream: &mut Stream| filter.found(queries, stream) as f64 / queries as f64;
        if moments.contains(&filled) {
            trial.rates.push(rate(queries, stream));
        }
        if filled == point.capacity {
            trial.full = rate(10 * queries, stream);
        }
    }
    trial
}

impl Experiment for GardenA2 {
    fn name(&self) -> &'static str {
        "garden-a2"
    }
    fn title(&self) -> &'static str {
        "The A² filter: keys found by age, and the false-positive rate over a period"
    }
    fn source(&self) -> &'static str {
        "Yoon (2010); Vallentin, A Garden Variety of Bloom Filters (2011)"
    }
    fn claim(&self) -> &'static str {
        "The last n keys are always found, keys older than 2n only by false positives; in between the share falls linearly. The false-positive rate is highest just before a swap."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(1_500, 32);
        let queries = 2_000;
        let ours = TARGETS.iter().map(|target| Point::ours(*target)).collect::<Result<Vec<_>>>()?;
        let printed = TARGETS.map(Point::printed);
        let total = ours.iter().chain(&printed).map(|point| 2 * trials * point.work()).sum();
        let bench = Bench::new(plan, self.name(), progress, total);
        let run = |point: &Point, name: &str| -> Result<[Vec<Trial>; 2]> {
            let name = format!("{name} {}", point.name());
            let simulated = bench.trials(&name, trials, point.work(), |stream, _| {
                let buffers = TwoBuffers::new(BITS, point.capacity, self.swap);
                Ok(trial(point, Simulated { buffers, hashes: point.hashes }, queries, stream))
            })?;
            let library = bench.trials(&format!("library {name}"), trials, point.work(), |stream, _| {
                let builder = A2Bloom::builder().bits(BITS).items(point.capacity).hashes(point.hashes);
                Ok(trial(point, builder.scheme(SchemeId::Independent).build()?, queries, stream))
            })?;
            Ok([simulated, library])
        };

        let title = format!("Found by age, 20,000 bits: {trials} filters over a period each");
        let columns =
            ["filter", "newer keys", "of n", "simulated", "library", "stored", "with false positives"];
        let mut window = Table::new(title, &columns);
        let title = format!(
            "False positives over a period: {trials} filters, {queries} queries at each moment, 10 times as many before the swap"
        );
        let columns = ["filter", "active buffer", "simulated", "library", "formula", "with keys skipped"];
        let mut rates = Table::new(title, &columns);
        let mut figures = Vec::new();
        for point in &ours {
            let both = run(point, "ours")?;
            by_age(&mut window, point, &both);
            over_period(&mut rates, point, &both);
            figures.extend(pictures(point, &both));
        }
        window.note(
            "The share of a period's phases in which a key is found after that many newer ones. A row agrees if both means \
             are within four standard errors of theory::a2::found and the false positives of the phases in which it is not \
             stored, and if up to n newer keys it is never lost.",
        );
        rates.note(
            "Keys that the active buffer reports as known are not counted, but their bits are in it, so it is a little fuller than the counted keys make it. A row agrees if both means are within four standard errors of the rate with them and \
             of what theory::a2 says (fpp; mean_fpp over a period), and not above the target φ.",
        );

        let columns = ["φ", "what", "k", "n", "printed", "simulated", "library", "formula"];
        let mut table = Table::new("What is printed, just before a swap", &columns);
        for (point, ours) in printed.iter().zip(&ours) {
            let both = run(point, "printed")?;
            let full = both.each_ref().map(|trials| mean_of(trials, |trial| trial.full));
            let mut row = |what: &str, printed: f64, explained: String| {
                let rate = point.rate(point.capacity);
                let mut checks = Checks::default();
                for (make, found) in [("simulated", full[0]), ("library", full[1])] {
                    checks.is(make, found, rate);
                    checks.above(&format!("{make}, by what is printed"), found, printed);
                }
                checks.explain("garden-a2", what, explained);
                let cells = vec![
                    Cell::Number(point.target, Form::Fixed(2)),
                    Cell::text(what),
                    Cell::Count(point.hashes.into()),
                    Cell::Count(point.capacity),
                    Cell::Number(printed, Form::Fixed(4)),
                    Cell::Mean(full[0], Form::Fixed(4)),
                    Cell::Mean(full[1], Form::Fixed(4)),
                    Cell::Number(rate, Form::Fixed(5)),
                ];
                table.judge(cells, checks);
            };
            row(
                "φ is kept",
                point.target,
                format!(
                    "⌊·⌋ for k misses the target at half fill; k = {}, n = {} keep it (the table above)",
                    ours.hashes, ours.capacity
                ),
            );
            row(
                "1 - √(1-φ) is the filter's false-positive rate",
                buffer_fpp(point.target),
                "that is the budget of one buffer of two".to_owned(),
            );
        }
        table.note(format!(
            "Source: {VALLENTIN}. A row is explained if the rate is what the formula says, and clearly above what is printed."
        ));
        Ok(Outcome { tables: vec![window, rates, table], figures })
    }
}

/// The share of phases in which a key with `newer` newer ones is not stored, and found by a false
/// positive.
fn by_mistake(capacity: u64, rates: &[f64], newer: u64) -> f64 {
    let n = capacity;
    let phase = |filled: u64| if newer < filled + n { 0.0 } else { rates[filled as usize - 1] };
    (1..=n).map(phase).sum::<f64>() / n as f64
}

/// The share in which it is found at all.
fn expected(capacity: u64, rates: &[f64], newer: u64) -> f64 {
    a2::found(capacity, newer) + by_mistake(capacity, rates, newer)
}

/// The share of phases in which keys of this age were found.
fn found_at(point: &Point, trials: &[Trial], at: usize) -> Mean {
    mean_of(trials, |trial| trial.found[at] as f64 / point.capacity as f64)
}

fn by_age(table: &mut Table, point: &Point, both: &[Vec<Trial>; 2]) {
    for (at, age) in point.ages().into_iter().enumerate() {
        let seen = both.each_ref().map(|trials| found_at(point, trials, at));
        let stored = a2::found(point.capacity, age);
        let share = expected(point.capacity, &point.rates, age);
        let mut checks = Checks::default();
        for (what, seen, trials) in [("simulated", seen[0], &both[0]), ("library", seen[1], &both[1])] {
            if stored >= 1.0 {
                let lost = trials.iter().map(|trial| point.capacity - trial.found[at]).sum();
                checks.exactly(&format!("phases in which a key of the window is lost, {what}"), lost, 0);
            } else {
                checks.is(&format!("found, {what}"), seen, share);
            }
        }
        let cells = vec![
            Cell::text(point.name()),
            Cell::Count(age),
            Cell::Number(age as f64 / point.capacity as f64, Form::Fixed(2)),
            Cell::Mean(seen[0], Form::Fixed(4)),
            Cell::Mean(seen[1], Form::Fixed(4)),
            Cell::Number(stored, Form::Fixed(4)),
            Cell::Number(share, Form::Fixed(4)),
        ];
        table.judge(cells, checks);
    }
}

fn over_period(table: &mut Table, point: &Point, both: &[Vec<Trial>; 2]) {
    let mut row = |what: String, seen: [Mean; 2], [formula, rate]: [f64; 2], at_most: f64| {
        let mut checks = Checks::default();
        for (make, seen) in [("simulated", seen[0]), ("library", seen[1])] {
            checks.is(make, seen, rate);
            checks.is(&format!("{make}, by theory::a2"), seen, formula);
            checks.at_most(&format!("{make}, by the target"), seen, at_most);
        }
        let cells = vec![
            Cell::text(point.name()),
            Cell::text(what),
            Cell::Mean(seen[0], Form::Fixed(5)),
            Cell::Mean(seen[1], Form::Fixed(5)),
            Cell::Number(formula, Form::Fixed(6)),
            Cell::Number(rate, Form::Fixed(6)),
        ];
        table.judge(cells, checks);
    };
    for (at, filled) in point.moments().enumerate().filter(|(at, _)| at % 4 == 1) {
        let seen = both.each_ref().map(|trials| mean_of(trials, |trial| trial.rates[at]));
        row(format!("{filled} keys"), seen, [point.formula(filled), point.rate(filled)], point.target);
    }
    let full = both.each_ref().map(|trials| mean_of(trials, |trial| trial.full));
    let rates = [point.formula(point.capacity), point.rate(point.capacity)];
    row("full, before the swap".to_owned(), full, rates, point.target);
    // Of the twenty moments; the formula is that of all.
    let mean = |trial: &Trial| trial.rates.iter().sum::<f64>() / trial.rates.len() as f64;
    let mean = both.each_ref().map(|trials| mean_of(trials, mean));
    let formula = a2::mean_fpp(BITS, point.hashes, point.capacity);
    let middles = point.moments().map(|filled| point.rate(filled)).sum::<f64>() / MOMENTS as f64;
    row("mean of a period".to_owned(), mean, [formula, middles], point.target);
}

fn pictures(point: &Point, both: &[Vec<Trial>; 2]) -> [Figure; 2] {
    let n = point.capacity as f64;
    let title = format!("Found by age, {}", point.name());
    let mut window = Figure::new(title, Axis::linear("newer keys, in n"), Axis::linear("share found"));
    let title = format!("False positives over a period, {}", point.name());
    let mut period =
        Figure::new(title, Axis::linear("keys in the active buffer, in n"), Axis::linear("false positives"));
    for (name, trials) in ["simulated", "library"].iter().zip(both) {
        let ages = point.ages().into_iter().enumerate();
        let found = ages.map(|(at, age)| (age as f64 / n, found_at(point, trials, at)));
        window = window.line(*name, found.collect::<Vec<_>>());
        let moments = point.moments().enumerate();
        let rate = moments.map(|(at, filled)| (filled as f64 / n, mean_of(trials, |trial| trial.rates[at])));
        period = period.line(*name, rate.collect::<Vec<_>>());
    }
    let fine = (0..=60).map(|i| i * point.capacity / 20);
    window = window
        .theory("formula", fine.map(|age| (age as f64 / n, expected(point.capacity, &point.rates, age))));
    let fine = (1..=40).map(|i| i * point.capacity / 40);
    period = period
        .theory("formula", fine.map(|filled| (filled as f64 / n, point.rate(filled))))
        .theory("target", [(0.0, point.target), (1.0, point.target)]);
    [window, period]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_parameters_are_those_of_the_notes() {
        let point = Point::printed(0.01);
        assert_eq!((point.hashes, point.capacity), (7, 990));
        assert!((point.formula(990) - 0.0156).abs() < 2e-4);
        for target in TARGETS {
            let ours = Point::ours(target).unwrap();
            let buffer = fpp_exact(BITS / 2, ours.capacity, ours.hashes);
            let (formula, rate) = (buffer + buffer * (1.0 - buffer), ours.rate(ours.capacity));
            assert!(rate <= target * 1.001, "{target}: {rate}");
            // Passed over are 1% of the keys at 10%, and 0.07% at 1%; a rate grows a few times as fast as its keys.
            let more = (rate / formula - 1.0) / if target == 0.1 { 0.01 } else { 0.0007 };
            assert!((2.0..7.0).contains(&more), "{target}: {more}");
        }
    }

    #[test]
    fn without_false_positives_what_is_expected_is_what_is_stored() {
        for newer in [0, 50, 99, 100, 101, 150, 199, 200, 299] {
            let stored = (1..=100).filter(|filled| newer < filled + 100).count() as f64 / 100.0;
            assert!((expected(100, &[0.0; 100], newer) - stored).abs() < 1e-12, "{newer}");
        }
    }
}
