//! The stable filter: zeros and false positives over time, false negatives against the gap.
//!
//! The simulation lowers P different cells anywhere, as the paper does; the library lowers a run of
//! P from a random start, which has the same law for one cell and ties neighbours together.

use crate::garden::{Aging, Below, StableCells, VALLENTIN};
use crate::queries::found;
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Reference, Stream,
    Table,
};
use anyhow::Result;
use gardenia::StableBloom;
use gardenia::index::SchemeId;
use gardenia::theory::stable::{
    convergence, decrements, false_negative, fpp_after, memory, stable_fpp, zero_fraction,
    zero_fraction_after,
};

/// The stable filter over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct GardenStable {
    /// What simulated cells do at zero.
    pub below: Below,
}

/// Cells of every filter.
const CELLS: u64 = 20_000;

/// K, bits of a cell, and the rate to keep in the long run, from which P follows.
const SETTINGS: [(u32, u32, f64); 4] = [(4, 2, 0.01), (6, 1, 0.01), (3, 3, 0.02), (6, 4, 0.005)];

/// When to look, as shares of the time that it takes to settle.
const MOMENTS: [f64; 8] = [0.03, 0.06, 0.12, 0.2, 0.3, 0.5, 1.0, 1.5];

/// How many keys should be forgotten at the gaps that are looked at.
const FORGOTTEN: [f64; 7] = [0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95];

/// Keys that are asked for at each gap.
const SPAN: u64 = 3_000;

/// One setting: when to look, and after which gaps.
struct Point {
    aging: Aging,
    width: u32,
    moments: Vec<u64>,
    gaps: Vec<u64>,
}

impl Point {
    fn new((hashes, width, fpp): (u32, u32, f64)) -> Result<Self> {
        let max = (1 << width) - 1;
        let decrements = decrements(CELLS, hashes, max, fpp)?;
        let settled = convergence(CELLS, hashes, max, decrements, 1e-4) as f64;
        let moments = MOMENTS.map(|share| libm::ceil(share * settled) as u64).to_vec();
        let gaps = FORGOTTEN.map(|share| memory(CELLS, hashes, max, decrements, share)).to_vec();
        Ok(Self { aging: Aging { cells: CELLS, hashes, max, decrements }, width, moments, gaps })
    }
    fn name(&self) -> String {
        let Aging { hashes, max, decrements, .. } = self.aging;
        format!("K = {hashes}, Max = {max}, P = {decrements}")
    }
    fn inserts(&self) -> u64 {
        let moment = self.moments.last().copied().unwrap_or(0);
        moment.max(self.gaps.last().copied().unwrap_or(0) + SPAN)
    }
    fn zeros(&self, inserts: u64) -> f64 {
        let Aging { cells, hashes, max, decrements } = self.aging;
        zero_fraction_after(inserts, cells, hashes, max, decrements)
    }
    fn rate(&self, inserts: u64) -> f64 {
        let Aging { cells, hashes, max, decrements } = self.aging;
        fpp_after(inserts, cells, hashes, max, decrements)
    }
    /// The formula for different cells, and what it comes to with those that coincide: one pair of
    /// K cells in m, to first order.
    fn forgotten(&self, gap: u64) -> f64 {
        let Aging { cells, hashes, max, decrements } = self.aging;
        let found = 1.0 - false_negative(cells, hashes, max, decrements, gap);
        let k = f64::from(hashes);
        let twice = k * (k - 1.0) / 2.0 / cells as f64;
        1.0 - found * (1.0 - twice) - twice * libm::pow(found, (k - 1.0) / k)
    }
    /// How much the mean of the K-th power of the ones is above that of their mean, as a share of
    /// it, given their spread between filters: K(K-1)/2 of their relative variance.
    fn spread(&self, zeros: Mean) -> f64 {
        let k = f64::from(self.aging.hashes);
        let relative = zeros.standard_error / (1.0 - zeros.mean);
        k * (k - 1.0) / 2.0 * relative * relative * zeros.trials as f64
    }
    fn work(&self) -> u64 {
        self.inserts() * (self.aging.decrements + u64::from(self.aging.hashes))
    }
}

/// What was seen of one filter: at each moment the share of zeros and of absent keys found, and at
/// each gap the share of keys forgotten.
#[derive(serde::Serialize, serde::Deserialize)]
struct Trial {
    zeros: Vec<f64>,
    found: Vec<f64>,
    forgotten: Vec<f64>,
}

/// A filter of any make: insert and look for key number i, the share of zeros, and how many of some
/// random keys are found.
trait Stable {
    fn insert(&mut self, key: usize, stream: &mut Stream);
    fn has(&self, key: usize) -> bool;
    fn zeros(&self) -> f64;
    fn found(&self, queries: u64, stream: &mut Stream) -> u64;
}

struct Simulated {
    cells: StableCells,
    keys: Vec<u32>,
    hashes: usize,
}

impl Stable for Simulated {
    fn insert(&mut self, key: usize, stream: &mut Stream) {
        self.cells.insert(&self.keys[key * self.hashes..][..self.hashes], stream);
    }
    fn has(&self, key: usize) -> bool {
        self.cells.contains(&self.keys[key * self.hashes..][..self.hashes])
    }
    fn zeros(&self) -> f64 {
        self.cells.zeros()
    }
    fn found(&self, queries: u64, stream: &mut Stream) -> u64 {
        self.cells.found(queries, stream)
    }
}

struct Library {
    filter: StableBloom,
    keys: Vec<gardenia::Digest>,
}

impl Stable for Library {
    fn insert(&mut self, key: usize, _: &mut Stream) {
        self.filter.insert_digest(self.keys[key]);
    }
    fn has(&self, key: usize) -> bool {
        self.filter.contains_digest(self.keys[key])
    }
    fn zeros(&self) -> f64 {
        self.filter.zero_fraction()
    }
    fn found(&self, queries: u64, stream: &mut Stream) -> u64 {
        found(&self.filter, queries, stream)
    }
}

fn trial(point: &Point, mut filter: impl Stable, queries: u64, stream: &mut Stream) -> Trial {
    let mut trial = Trial { zeros: Vec::new(), found: Vec::new(), forgotten: vec![0.0; point.gaps.len()] };
    let longest = point.gaps.last().copied().unwrap_or(0);
    for key in 0..point.inserts() {
        filter.insert(key as usize, stream);
        if point.moments.contains(&(key + 1)) {
            trial.zeros.push(filter.zeros());
            trial.found.push(filter.found(queries, stream) as f64 / queries as f64);
        }
        if (longest..longest + SPAN).contains(&key) {
            for (gap, forgotten) in point.gaps.iter().zip(&mut trial.forgotten) {
                *forgotten += f64::from(!filter.has((key - gap) as usize)) / SPAN as f64;
            }
        }
    }
    trial
}

impl Experiment for GardenStable {
    fn name(&self) -> &'static str {
        "garden-stable"
    }
    fn title(&self) -> &'static str {
        "The stable filter: zeros, false positives and false negatives over time"
    }
    fn source(&self) -> &'static str {
        "Deng and Rafiei (2006); Vallentin, A Garden Variety of Bloom Filters (2011)"
    }
    fn claim(&self) -> &'static str {
        "The share of zeros settles at (1/(1 + 1/(P(1/K - 1/m))))^Max whatever the length of the stream, and the rate of \
         false positives at its K-th power of ones; how likely a key is forgotten depends on the insertions since."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let (trials, queries) = (plan.trials(1_000, 32), if plan.quick { 4_000 } else { 10_000 });
        let points = SETTINGS.iter().take(if plan.quick { 2 } else { 4 }).map(|setting| Point::new(*setting));
        let points = points.collect::<Result<Vec<Point>>>()?;
        let total = points.iter().map(|point| 2 * trials * point.work()).sum();
        let bench = Bench::new(plan, self.name(), progress, total);

        let columns = [
            "setting",
            "inserts",
            "zeros, simulated",
            "library",
            "formula",
            "rate by zeros",
            "by queries",
            "library",
            "formula",
        ];
        let title = format!("Over time, m = 20,000: {trials} filters, {queries} queries at each moment");
        let mut time = Table::new(title, &columns);
        let columns = ["setting", "gap", "simulated", "library", "formula"];
        let mut gaps = Table::new(
            format!("Keys forgotten, m = 20,000: {trials} filters, {SPAN} keys of each"),
            &columns,
        );
        let columns = ["setting", "zeros", "formula", "by queries", "formula", "printed", "printed/found"];
        let mut limit = Table::new("In the long run, simulated", &columns);
        let mut figures = Vec::new();
        for (number, point) in points.iter().enumerate() {
            let Aging { cells, hashes, decrements, .. } = point.aging;
            let keys = point.inserts();
            let simulated = bench.trials(&point.name(), trials, point.work(), |stream, _| {
                let keys = stream.positions(keys, cells, hashes);
                let cells = StableCells::new(point.aging, self.below);
                Ok(trial(point, Simulated { cells, keys, hashes: hashes as usize }, queries, stream))
            })?;
            let library =
                bench.trials(&format!("library {}", point.name()), trials, point.work(), |stream, _| {
                    let builder = StableBloom::builder().cells(cells).hashes(hashes).width(point.width);
                    let builder = builder.decrements(decrements).aging_seed(stream.word());
                    let filter = builder.scheme(SchemeId::Independent).build()?;
                    Ok(trial(point, Library { filter, keys: stream.digests(keys) }, queries, stream))
                })?;
            let both = [&simulated, &library];
            // Cells are taken as independent. A run lowers neighbours together: theory::stable has false positives 1% more and
            // false negatives 4% fewer at P/m = 28/1000, and that in proportion to P/m.
            let apart = |percent: f64| percent / 100.0 * decrements as f64 / cells as f64 / 0.028;
            for (at, inserts) in point.moments.iter().enumerate() {
                let (zeros, rate) = (point.zeros(*inserts), point.rate(*inserts));
                let seen = both.map(|trials| mean_of(trials, |trial| trial.zeros[at]));
                let by_zeros =
                    mean_of(&simulated, |trial| libm::pow(1.0 - trial.zeros[at], f64::from(hashes)));
                // The mean of a power is above the power of the mean, by the spread of the zeros.
                let rates = seen.map(|seen| rate * (1.0 + point.spread(seen)));
                let by_queries = both.map(|trials| mean_of(trials, |trial| trial.found[at]));
                let enough = rate * (trials * queries) as f64 >= 100.0;
                let mut checks = Checks::default();
                checks.is("zeros, simulated", seen[0], zeros);
                checks.is("zeros, library", seen[1], zeros);
                checks.is("rate by zeros", by_zeros, rates[0]);
                if enough {
                    checks.is("queries, simulated", by_queries[0], rates[0]);
                    let neighbours = Reference::between(rates[1], rates[1] * (1.0 + apart(1.0)));
                    checks.is("queries, library", by_queries[1], neighbours);
                }
                let asked = |rate: Mean| if enough { Cell::Mean(rate, Form::Power(2)) } else { Cell::Empty };
                let cells = vec![
                    Cell::text(point.name()),
                    Cell::Count(*inserts),
                    Cell::Mean(seen[0], Form::Fixed(4)),
                    Cell::Mean(seen[1], Form::Fixed(4)),
                    Cell::Number(zeros, Form::Fixed(5)),
                    Cell::Mean(by_zeros, Form::Power(2)),
                    asked(by_queries[0]),
                    asked(by_queries[1]),
                    Cell::Number(rate, Form::Power(3)),
                ];
                time.judge(cells, checks);
            }
            let lost = |at: usize| both.map(|trials| mean_of(trials, |trial| trial.forgotten[at]));
            for (at, gap) in point.gaps.iter().enumerate() {
                let (seen, expected) = (lost(at), point.forgotten(*gap));
                let mut checks = Checks::default();
                checks.is("forgotten, simulated", seen[0], expected);
                let neighbours = Reference::between(expected * (1.0 - apart(4.0)), expected);
                checks.is("forgotten, library", seen[1], neighbours);
                let cells = vec![
                    Cell::text(point.name()),
                    Cell::Count(*gap),
                    Cell::Mean(seen[0], Form::Fixed(4)),
                    Cell::Mean(seen[1], Form::Fixed(4)),
                    Cell::Number(expected, Form::Fixed(5)),
                ];
                gaps.judge(cells, checks);
            }
            limit.judge(long_run(point, &simulated), printed(point, &simulated));
            if number < 2 {
                figures.extend(pictures(point, &simulated, &library));
            }
        }
        time.note(
            "A row agrees if all means are within four standard errors of the formulas, rates with the spread of the zeros. The \
             library lowers neighbours together, and may find more, as much as theory::stable says. Queries are left out \
             where fewer than 100 would be found.",
        );
        gaps.note(
            "The share of keys inserted exactly `gap` insertions ago that is not found. A row agrees if both means are within \
             four standard errors of the formula, with cells of a key that coincide. The library's runs of cells may \
             forget less, as much as theory::stable says.",
        );
        limit.note(format!(
            "Source of what is printed: {VALLENTIN}, 1/(d/k - d/m + 1) with d = P and k = K. A row is explained if the zeros and \
             the rate, by queries and by the zeros, are at the last moment what the formulas have for ever, and the printed \
             number is more than four standard errors away."
        ));
        Ok(Outcome { tables: vec![time, gaps, limit], figures })
    }
}

/// The article's formula, in which both powers are missing.
fn printed_rate(aging: &Aging) -> f64 {
    let (m, k, p) = (aging.cells as f64, f64::from(aging.hashes), aging.decrements as f64);
    1.0 / (p / k - p / m + 1.0)
}

fn last(trials: &[Trial]) -> [Mean; 2] {
    let end = |list: &Vec<f64>| list.last().copied().unwrap_or(0.0);
    [mean_of(trials, |trial| end(&trial.zeros)), mean_of(trials, |trial| end(&trial.found))]
}

fn long_run(point: &Point, trials: &[Trial]) -> Vec<Cell> {
    let Aging { cells, hashes, max, decrements } = point.aging;
    let [zeros, rate] = last(trials);
    let printed = printed_rate(&point.aging);
    vec![
        Cell::text(point.name()),
        Cell::Mean(zeros, Form::Fixed(4)),
        Cell::Number(zero_fraction(cells, hashes, max, decrements), Form::Fixed(5)),
        Cell::Mean(rate, Form::Power(3)),
        Cell::Number(stable_fpp(cells, hashes, max, decrements), Form::Power(3)),
        Cell::Number(printed, Form::Power(3)),
        Cell::Number(printed / rate.mean, Form::Fixed(1)),
    ]
}

fn printed(point: &Point, trials: &[Trial]) -> Checks {
    let Aging { cells, hashes, max, decrements } = point.aging;
    let [zeros, rate] = last(trials);
    let by_zeros = mean_of(trials, |trial| {
        libm::pow(1.0 - trial.zeros.last().copied().unwrap_or(0.0), f64::from(hashes))
    });
    let limit = stable_fpp(cells, hashes, max, decrements) * (1.0 + point.spread(zeros));
    let mut checks = Checks::default();
    checks.is("zeros in the long run", zeros, zero_fraction(cells, hashes, max, decrements));
    checks.is("rate in the long run, by zeros", by_zeros, limit);
    checks.is("rate in the long run, by queries", rate, limit);
    checks.is_not("rate in the long run, by what is printed", rate, printed_rate(&point.aging));
    let reason = "the powers Max and K are missing in 1/(d/k - d/m + 1); with them it is what is found";
    checks.explain("garden-stable", "long run", reason.to_owned());
    checks
}

fn pictures(point: &Point, simulated: &[Trial], library: &[Trial]) -> [Figure; 3] {
    let last = point.moments.last().copied().unwrap_or(1) as f64;
    let fine: Vec<u64> =
        (0..=60).map(|i| (last * libm::pow(0.01, 1.0 - f64::from(i) / 60.0)) as u64).collect();
    let inserts = || Axis::log("inserts");
    let mut zeros =
        Figure::new(format!("Zeros, {}", point.name()), inserts(), Axis::linear("share of zeros"));
    let title = format!("False positives, {}", point.name());
    let mut rates = Figure::new(title, inserts(), Axis::log("false positives"));
    let title = format!("Keys forgotten, {}", point.name());
    let mut lost =
        Figure::new(title, Axis::linear("insertions since the key"), Axis::linear("share forgotten"));
    for (name, trials) in [("simulated", simulated), ("library", library)] {
        let moments = || point.moments.iter().map(|inserts| *inserts as f64).enumerate();
        zeros = zeros.line(name, moments().map(|(at, x)| (x, mean_of(trials, |trial| trial.zeros[at]))));
        let power = |at: usize| {
            mean_of(trials, |trial| libm::pow(1.0 - trial.zeros[at], f64::from(point.aging.hashes)))
        };
        rates = rates.line(name, moments().map(|(at, x)| (x, power(at))));
        let gaps = point.gaps.iter().enumerate();
        lost = lost
            .line(name, gaps.map(|(at, gap)| (*gap as f64, mean_of(trials, |trial| trial.forgotten[at]))));
    }
    zeros = zeros.theory("formula", fine.iter().map(|x| (*x as f64, point.zeros(*x))));
    rates = rates.theory("formula", fine.iter().map(|x| (*x as f64, point.rate(*x)))).theory(
        "as printed, in the long run",
        [fine[0] as f64, last].map(|x| (x, printed_rate(&point.aging))),
    );
    let longest = point.gaps.last().copied().unwrap_or(1);
    lost = lost.theory("formula", (0..=60).map(|i| i * longest / 60).map(|x| (x as f64, point.forgotten(x))));
    [zeros, rates, lost]
}
