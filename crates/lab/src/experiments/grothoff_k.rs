//! Which whole number of hashes? The continuous optimum b·ln 2 lies between two, and either may be
//! better.
//!
//! A trial throws the positions of the smaller k, looks at the fill, and goes on: one more position
//! for the keys whose random choice was the larger k, then one for all the others. So the three
//! ways (smaller, a random choice per key, larger) share their positions, and their differences are
//! known far better than each rate. With independent positions the rate of a filter is exactly its
//! fill to the power k; the random choice gives `(1-q)·fill^k + q·fill^(k+1)` of one shared fill.

use crate::garden::{RandomBits, VALLENTIN};
use crate::queries::found;
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Reference, Stream,
    Table,
};
use anyhow::Result;
use gardenia::Bloom;
use gardenia::index::Independent;
use gardenia::theory::bloom::{best_hashes, fpp_exact};
use std::f64::consts::LN_2;

/// Grothoff's choice between the whole numbers next to b·ln 2.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrothoffK {
    /// Always rounds down, as the article on the garden prints it: it shows that the verdicts
    /// notice.
    pub round_down: bool,
}

const ITEMS: u64 = 10_000;

/// Bits per key and the two numbers next to b·ln 2.
#[derive(Clone, Copy)]
struct Point {
    /// Of half a bit.
    halves: u64,
}

impl Point {
    fn bits_per_key(self) -> f64 {
        self.halves as f64 / 2.0
    }
    fn cells(self) -> u64 {
        self.halves * ITEMS / 2
    }
    fn ideal(self) -> f64 {
        self.bits_per_key() * LN_2
    }
    fn floor(self) -> u32 {
        self.ideal() as u32
    }
    /// The share of keys that must take the larger number for half the bits to be set.
    fn share(self) -> f64 {
        self.ideal() - f64::from(self.floor())
    }
    /// The rate at b·ln 2 hashes, if there were such: 2^-(b·ln 2) = 0.6185^b.
    fn optimum(self) -> f64 {
        libm::exp2(-self.ideal())
    }
    fn exact(self) -> [f64; 2] {
        [0, 1].map(|more| fpp_exact(self.cells(), ITEMS, self.floor() + more))
    }
    /// A random choice per key.
    fn mixed(self) -> f64 {
        let k = self.floor();
        (1.0 - self.share()) * self.power(k) + self.share() * self.power(k + 1)
    }
    /// The mean of the k-th power of the fill after a random choice per key: that k random cells
    /// are set. They are j different ones with a chance that a cell more or less follows from the
    /// one before; and by inclusion and exclusion j given cells are set with Σ (-1)^i·C(j, i)·(1 -
    /// i/m)^(n⌊b·ln 2⌋)·(1 - q·i/m)^n.
    fn power(self, hashes: u32) -> f64 {
        let (m, n) = (self.cells() as f64, ITEMS as f64);
        let clear = |cells: f64| {
            libm::exp(
                n * (f64::from(self.floor()) * libm::log1p(-cells / m)
                    + libm::log1p(-self.share() * cells / m)),
            )
        };
        let set = |cells: u32| {
            let mut choose = 1.0;
            (0..=cells)
                .map(|i| {
                    let term = choose * clear(f64::from(i));
                    choose *= -f64::from(cells - i) / f64::from(i + 1);
                    term
                })
                .sum::<f64>()
        };
        let mut different = vec![0.0; hashes as usize + 1];
        different[0] = 1.0;
        for _ in 0..hashes {
            for j in (1..different.len()).rev() {
                different[j] = different[j] * j as f64 / m + different[j - 1] * (1.0 - (j - 1) as f64 / m);
            }
            different[0] = 0.0;
        }
        (1..).zip(&different[1..]).map(|(j, chance)| chance * set(j)).sum()
    }
    fn linear(self, [floor, ceil]: [f64; 2]) -> f64 {
        (1.0 - self.share()) * floor + self.share() * ceil
    }
}

/// Rates of one filter with the smaller number, with a random choice per key, and with the larger
/// one.
fn simulated(point: Point, stream: &mut Stream) -> [f64; 3] {
    let (k, share) = (point.floor(), point.share());
    let mut bits = RandomBits::new(point.cells());
    bits.throw(u64::from(k) * ITEMS, stream);
    let floor = libm::pow(bits.fill(), f64::from(k));
    let larger = (0..ITEMS).filter(|_| stream.unit() < share).count() as u64;
    bits.throw(larger, stream);
    let power = libm::pow(bits.fill(), f64::from(k));
    let mixed = (1.0 - share) * power + share * power * bits.fill();
    bits.throw(ITEMS - larger, stream);
    [floor, mixed, libm::pow(bits.fill(), f64::from(k + 1))]
}

/// The library's filter with each of the two: its rate by the fill, and by queries.
#[derive(serde::Serialize, serde::Deserialize)]
struct Trial {
    by_fill: [f64; 2],
    by_queries: [f64; 2],
}

fn library(point: Point, queries: u64, stream: &mut Stream) -> Result<Trial> {
    let keys = stream.digests(ITEMS);
    let (mut by_fill, mut by_queries) = ([0.0; 2], [0.0; 2]);
    for more in 0..2 {
        let hashes = point.floor() + more as u32;
        let mut filter =
            Bloom::builder().bits(point.cells()).hashes(hashes).scheme(Independent::new).build()?;
        filter.insert_digests(&keys, &mut vec![false; keys.len()]);
        by_fill[more] = libm::pow(filter.fill(), f64::from(hashes));
        by_queries[more] = found(&filter, queries, stream) as f64 / queries.max(1) as f64;
    }
    Ok(Trial { by_fill, by_queries })
}

/// All about one number of bits per key.
struct Measured {
    point: Point,
    simulated: Vec<[f64; 3]>,
    library: Vec<Trial>,
}

impl Measured {
    /// The mean rate of one of the three ways.
    fn rate(&self, way: usize) -> Mean {
        mean_of(&self.simulated, |rates| rates[way])
    }
    /// How much worse the larger number is than the smaller, in the same filters.
    fn more(&self) -> Mean {
        mean_of(&self.simulated, |[floor, _, ceil]| ceil - floor)
    }
    /// How much worse a random choice is than the better one of both, and than their linear
    /// combination.
    fn mixed_more(&self) -> [Mean; 2] {
        let [floor, ceil] = self.point.exact();
        let better = if floor <= ceil { 0 } else { 2 };
        let over = |rates: &[f64; 3]| rates[1] - self.point.linear([rates[0], rates[2]]);
        [mean_of(&self.simulated, |rates| rates[1] - rates[better]), mean_of(&self.simulated, over)]
    }
}

impl Experiment for GrothoffK {
    fn name(&self) -> &'static str {
        "grothoff-k"
    }
    fn title(&self) -> &'static str {
        "Rounding b·ln 2 up or down, against the bits per key b"
    }
    fn source(&self) -> &'static str {
        "Grothoff, A Quick Introduction to Bloom Filters; Kirsch and Mitzenmacher (2008), section 8"
    }
    fn claim(&self) -> &'static str {
        "The best whole number of hashes is the floor or the ceiling of b·ln 2, whichever formula (1) says; choosing \
         between them at random for each key never helps."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let (trials, fewer) = (plan.trials(1_000, 40), plan.trials(100, 32));
        let queries = if plan.quick { 4_000 } else { 20_000 };
        let points: Vec<Point> = (4..=66)
            .filter(|halves| !plan.quick || halves % 2 == 0 && *halves <= 32 || *halves == 66)
            .map(|halves| Point { halves })
            .collect();
        let asked = |point: Point| if point.halves <= 24 { queries } else { 0 };
        let work = |point: Point| u64::from(point.floor() + 1) * ITEMS;
        let slow = |point: Point| 5 * work(point) + 20 * asked(point);
        let total = points.iter().map(|&point| trials * work(point) + fewer * slow(point)).sum();
        let bench = Bench::new(plan, self.name(), progress, total);
        let mut all = Vec::new();
        for point in points {
            let name = format!("b={}", point.bits_per_key());
            let simulated =
                bench.trials(&name, trials, work(point), |stream, _| Ok(simulated(point, stream)))?;
            let library = bench.trials(&format!("library {name}"), fewer, slow(point), |stream, _| {
                library(point, asked(point), stream)
            })?;
            all.push(Measured { point, simulated, library });
        }
        let tables = vec![
            self.rates(&all, trials, fewer),
            mixtures(&all, trials),
            asked_table(&all, queries),
            printed(&all),
        ];
        Ok(Outcome { tables, figures: figures(&all) })
    }
}

impl GrothoffK {
    fn rates(&self, all: &[Measured], trials: u64, fewer: u64) -> Table {
        let columns = [
            "b",
            "b·ln 2",
            "down, simulated",
            "library",
            "exact",
            "up, simulated",
            "library",
            "exact",
            "up is worse by",
            "chosen k",
        ];
        let title =
            format!("False positives by the fill, n = 10,000: {trials} filters, {fewer} of the library");
        let mut table = Table::new(title, &columns);
        for measured in all {
            let point = measured.point;
            let exact = point.exact();
            let library = [0, 1].map(|way| mean_of(&measured.library, |trial| trial.by_fill[way]));
            let more = measured.more();
            let chosen = if self.round_down { point.floor() } else { best_hashes(point.cells(), ITEMS) };
            let better = u32::from(exact[1] < exact[0]);
            let mut checks = Checks::default();
            for (what, rate, exact) in [
                ("down", measured.rate(0), exact[0]),
                ("up", measured.rate(2), exact[1]),
                ("library, down", library[0], exact[0]),
                ("library, up", library[1], exact[1]),
            ] {
                checks.is(what, rate, exact);
            }
            checks.is("up against down", more, exact[1] - exact[0]);
            checks.exactly("chosen k", chosen.into(), (point.floor() + better).into());
            let (rate, exactly) = (Form::Power(3), Form::Power(4));
            let relative = |mean: f64| mean / exact[0];
            let more =
                Mean { mean: relative(more.mean), standard_error: relative(more.standard_error), ..more };
            let cells = vec![
                Cell::Number(point.bits_per_key(), Form::Fixed(1)),
                Cell::Number(point.ideal(), Form::Fixed(2)),
                Cell::Mean(measured.rate(0), rate),
                Cell::Mean(library[0], rate),
                Cell::Number(exact[0], exactly),
                Cell::Mean(measured.rate(2), rate),
                Cell::Mean(library[1], rate),
                Cell::Number(exact[1], exactly),
                Cell::Mean(more, Form::Percent(2)),
                Cell::Count(chosen.into()),
            ];
            table.judge(cells, checks);
        }
        table.note(
            "A row agrees if all means are within four standard errors of the exact rate, up and down differ as it says \
             in filters that share their positions, and the chosen number (`theory::bloom::best_hashes`, formula (1) of \
             Grothoff at both) is the better one.",
        );
        table
    }
}

/// The random choice per key.
fn mixtures(all: &[Measured], trials: u64) -> Table {
    let columns = [
        "b",
        "share of up",
        "simulated",
        "by formula",
        "linear combination",
        "above it by",
        "above the better by",
    ];
    let mut table = Table::new(
        format!("A random choice of k for each key, so that half the bits are set: {trials} filters"),
        &columns,
    );
    for measured in all {
        let point = measured.point;
        let exact = point.exact();
        let (linear, mixed) = (point.linear(exact), point.mixed());
        let rate = measured.rate(1);
        let [over_better, over_linear] = measured.mixed_more();
        let mut checks = Checks::default();
        checks.is("random choice", rate, mixed);
        let better = exact[0].min(exact[1]);
        checks.is("above the better", over_better, mixed - better);
        checks.is("above the linear combination", over_linear, mixed - linear);
        checks.computed_at_most("the better, against a random choice", better, mixed);
        checks.computed_at_most("the linear combination, against a random choice", linear, mixed);
        let relative = |mean: Mean, to: f64| Mean {
            mean: mean.mean / to,
            standard_error: mean.standard_error / to,
            ..mean
        };
        let cells = vec![
            Cell::Number(point.bits_per_key(), Form::Fixed(1)),
            Cell::Number(point.share(), Form::Fixed(3)),
            Cell::Mean(rate, Form::Power(3)),
            Cell::Number(mixed, Form::Power(4)),
            Cell::Number(linear, Form::Power(4)),
            Cell::Mean(relative(over_linear, linear), Form::Percent(2)),
            Cell::Mean(relative(over_better, better), Form::Percent(2)),
        ];
        table.judge(cells, checks);
    }
    table.note(
        "A row agrees if the mean and its differences are within four standard errors of the formula, which does not say that a random choice beats the better number or the linear combination of both.",
    );
    table
}

/// What real queries of the library find.
fn asked_table(all: &[Measured], queries: u64) -> Table {
    let trials = all.first().map_or(0, |measured| measured.library.len());
    let title = format!("By real queries of the library: {trials} filters, {queries} queries of each");
    let mut table = Table::new(title, &["b", "k down", "found", "exact", "k up", "found", "exact"]);
    for measured in
        all.iter().filter(|measured| measured.point.halves <= 24 && measured.point.halves % 2 == 0)
    {
        let (point, exact) = (measured.point, measured.point.exact());
        let rates = [0, 1].map(|way| mean_of(&measured.library, |trial| trial.by_queries[way]));
        let mut checks = Checks::default();
        checks.is("down", rates[0], exact[0]);
        checks.is("up", rates[1], exact[1]);
        let mut cells = vec![Cell::Number(point.bits_per_key(), Form::Fixed(1))];
        for way in 0..2 {
            cells.extend([
                Cell::Count((point.floor() + way as u32).into()),
                Cell::Mean(rates[way], Form::Power(3)),
                Cell::Number(exact[way], Form::Power(4)),
            ]);
        }
        table.judge(cells, checks);
    }
    table.note("A row agrees if both means are within four standard errors of the exact rate.");
    table
}

/// What is printed, and what came out.
fn printed(all: &[Measured]) -> Table {
    let mut table =
        Table::new("What is printed, and what is right", &["printed", "points", "fails at", "worst"]);
    // Where a rule errs more than the other number does, and where it is worst.
    for (way, what, why) in [
        (0, "k* = ⌊b·ln 2⌋ is the arg min", "floor or ceiling, whichever has fewer false positives"),
        (1, "k in {⌈c·ln 2⌉, ⌈c·ln 2⌉}", "one of the two must be the floor"),
    ] {
        let by = |measured: &Measured| measured.point.exact()[way] / measured.point.exact()[1 - way] - 1.0;
        let losing: Vec<&Measured> = all.iter().filter(|measured| by(measured) > 0.0).collect();
        let mut checks = Checks::default();
        let mut text = Cell::Empty;
        if let Some(worst) = losing.iter().copied().max_by(|a, b| by(a).total_cmp(&by(b))) {
            let (more, exact) = (worst.more(), worst.point.exact());
            let sign = if way == 1 { 1.0 } else { -1.0 };
            let more = Mean { mean: sign * more.mean, ..more };
            checks.is("how much worse the rule is where it is worst", more, exact[way] - exact[1 - way]);
            checks.above("how much worse the rule is where it is worst", more, 0.0);
            let reason = format!("{why}; the trials show it clearly where it is worst");
            checks.explain("grothoff-k", what, reason);
            text = Cell::text(format!("{:+.1}% at b = {}", 100.0 * by(worst), worst.point.bits_per_key()));
        }
        let count = Cell::Count(losing.len() as u64);
        table.judge(vec![Cell::text(what), Cell::Count(all.len() as u64), count, text], checks);
    }
    // The random choice as a linear combination, where that is worst.
    let over = |measured: &Measured| {
        let linear = measured.point.linear(measured.point.exact());
        (measured.mixed_more()[1], linear, measured.point.mixed() - linear)
    };
    let mut checks = Checks::default();
    let mut text = Cell::Empty;
    let share = |measured: &Measured| over(measured).2 / over(measured).1;
    if let Some(worst) = all.iter().max_by(|a, b| share(a).total_cmp(&share(b))) {
        let (found, _, by_formula) = over(worst);
        checks.is("above the linear combination", found, by_formula);
        checks.above("above the linear combination", found, 0.0);
        text = Cell::text(format!("{:+.1}% at b = {}", 100.0 * share(worst), worst.point.bits_per_key()));
    }
    let what = "a random choice per key is a linear combination";
    let reason = "the keys share one fill, so that it is not a linear combination but worse; the conclusion, that it \
                  never helps, stands";
    checks.explain("grothoff-k", what, reason.to_owned());
    let points = Cell::Count(all.len() as u64);
    table.judge(vec![Cell::text(what), points.clone(), points, text], checks);
    // Formula (2) minimises the limit of formula (1), not (1) itself.
    let (n, b) = (1.0, 8.0);
    let rate = |k: f64| libm::pow(1.0 - libm::pow(1.0 - 1.0 / (n * b), k * n), k);
    let (limit, right) = (b * LN_2, -LN_2 / (n * libm::log1p(-1.0 / (n * b))));
    // The least of formula (1), by thirds.
    let (mut low, mut high) = (1.0, 2.0 * limit);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        if rate(low + third) < rate(high - third) { high -= third } else { low += third }
    }
    let what = "k(b) = b·ln 2 minimises formula (1)";
    let mut checks = Checks::default();
    // Near its least a function tells half of the digits.
    let least = Reference { half_unit: 1e-7, ..right.into() };
    checks.computed("k at which formula (1) is least", (low + high) / 2.0, least);
    checks.computed_at_most("formula (1) there, against that of (2)", rate(right), rate(limit));
    checks.explain(
        "grothoff-k",
        what,
        format!(
            "(2) is the minimum of the limit; formula (1) has it at -ln 2/(n·ln(1 - 1/(nb))), for n = 1, b = 8 at {right:.3} and \
             not at {limit:.3}"
        ),
    );
    let worst = format!("{:+.1}% at n = 1, b = 8", 100.0 * (rate(limit) / rate(right) - 1.0));
    table.judge(vec![Cell::text(what), Cell::Count(1), Cell::Count(1), Cell::text(worst)], checks);
    table.note(format!(
        "Sources: {VALLENTIN} (first row); Kirsch and Mitzenmacher (2006), section 6 (second); Grothoff (others). A row is \
         explained if the printed rule fails by the exact rates and, by more than four standard errors, in the trials."
    ));
    table
}

fn figures(all: &[Measured]) -> Vec<Figure> {
    let ways = [(0, "rounded down"), (1, "random choice"), (2, "rounded up")];
    let theory: Vec<Point> = (4..=66).map(|halves| Point { halves }).collect();
    let mut rates =
        Figure::new("False positives", Axis::linear("bits per key"), Axis::log("false positives"));
    let title = "False positives over those of b·ln 2 hashes";
    let mut ratios =
        Figure::new(title, Axis::linear("bits per key"), Axis::linear("times the optimum 0.6185^b"));
    for (way, name) in ways {
        let points = |scale: &dyn Fn(Point) -> f64| {
            all.iter()
                .map(|measured| {
                    let (rate, by) = (measured.rate(way), scale(measured.point));
                    let scaled =
                        Mean { mean: rate.mean / by, standard_error: rate.standard_error / by, ..rate };
                    (measured.point.bits_per_key(), scaled)
                })
                .collect::<Vec<_>>()
        };
        rates = rates.line(name, points(&|_| 1.0));
        ratios = ratios.line(name, points(&Point::optimum));
    }
    let optimum = theory.iter().map(|point| (point.bits_per_key(), point.optimum()));
    rates = rates.theory("b·ln 2 hashes", optimum);
    ratios = ratios.theory("b·ln 2 hashes", theory.iter().map(|point| (point.bits_per_key(), 1.0)));
    vec![rates, ratios]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_those_of_the_notes() {
        let point = Point { halves: 16 };
        assert_eq!((point.floor(), point.cells()), (5, 80_000));
        assert!((point.optimum() - 0.6185f64.powi(8)).abs() < 1e-5);
        // Half and half at 8 bits per key is 0.02274; b·ln 2 - 5 = 0.545 is near to that.
        assert!((point.mixed() - 0.0227).abs() < 5e-5, "{}", point.mixed());
        assert!(point.exact()[1] < point.exact()[0]);
    }

    #[test]
    fn simulated_ways_share_their_positions_in_order() {
        let [floor, mixed, ceil] =
            simulated(Point { halves: 16 }, &mut Stream::new(1, "grothoff", "test", 0));
        assert!(
            [floor, ceil].iter().all(|rate| (rate / 0.0216 - 1.0).abs() < 0.06) && mixed > floor.min(ceil)
        );
    }
}
