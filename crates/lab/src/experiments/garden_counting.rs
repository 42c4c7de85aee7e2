//! The counting filter: how often cells reach their top, and what removing keys does.
//!
//! A cell of w bits that counts to 2^w overflows; one that reads 2^w - 1 is at its top and stuck.
//! Fan's formulas let every position of a key count; filters that can remove safely count a cell
//! once for each key, which is a little less. Both are simulated from the same positions.

use crate::garden::{CountingCells, Places, Top, VALLENTIN};
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::Result;
use gardenia::index::SchemeId;
use gardenia::theory::counting::{overflow, overflow_bound, overflow_distinct, stuck};
use gardenia::{CountingBloom, Digest};

/// Overflow and removal in the counting filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct GardenCounting {
    /// What simulated cells do at their top.
    pub top: Top,
}

/// Width, cells and keys, with four positions each.
#[derive(Clone, Copy)]
struct Shape {
    width: u32,
    cells: u64,
    items: u64,
}

const HASHES: u32 = 4;

impl Shape {
    fn name(self) -> String {
        format!("w={} m={} n={}", self.width, self.cells, self.items)
    }
    fn load(self) -> f64 {
        self.items as f64 * f64::from(HASHES) / self.cells as f64
    }
    fn of(self, formula: fn(u64, u64, u32, u32) -> f64) -> f64 {
        formula(self.cells, self.items, HASHES, self.width)
    }
    fn top(self) -> u64 {
        (1 << self.width) - 1
    }
    fn work(self) -> u64 {
        self.cells + 10 * self.items * u64::from(HASHES)
    }
}

/// Keys for a thousand cells at which overflow is neither rare nor certain, for each width; and two
/// filters with many cells and less in each.
const FEW: [(u32, [u64; 6]); 3] = [
    (2, [30, 45, 60, 80, 110, 140]),
    (3, [240, 300, 360, 430, 500, 600]),
    (4, [1_000, 1_150, 1_300, 1_450, 1_600, 1_750]),
];
const MANY: [Shape; 2] =
    [Shape { width: 3, cells: 200_000, items: 34_657 }, Shape { width: 4, cells: 20_000, items: 20_000 }];

/// Pr(Bin(n, p) ≥ t), by its terms.
fn tail(n: u64, p: f64, t: u64) -> f64 {
    let (n, ln_n) = (n as f64, libm::lgamma(n as f64 + 1.0));
    let term = |i: u64| {
        let i = i as f64;
        let ways = ln_n - libm::lgamma(i + 1.0) - libm::lgamma(n - i + 1.0);
        libm::exp(ways + i * libm::log(p) + (n - i) * libm::log1p(-p))
    };
    (t..=(n as u64).min(t + 200)).map(term).sum()
}

/// The chance that a key has a given cell.
fn has_cell(cells: u64) -> f64 {
    -libm::expm1(f64::from(HASHES) * libm::log1p(-1.0 / cells as f64))
}

/// How much likelier no cell reaches 2^w than if cells were independent, as the formulas take them.
/// What all cells count is fixed, and Poisson numbers of that sum are exactly what cells are: with
/// X a Poisson number of the mean load λ, `Pr(X < 2^w)^m · Pr(ΣY = mλ) / Pr(ΣX = mλ)`, Y being X
/// where that is below 2^w. Sums are nearly normal.
fn held_together(cells: u64, throws: f64, one_cell: f64, top: u64) -> f64 {
    let m = cells as f64;
    let load = throws / m;
    let chance = |count: u64| {
        let count = count as f64;
        libm::exp(count * libm::log(load) - load - libm::lgamma(count + 1.0))
    };
    let below: f64 = (0..=top).map(chance).sum();
    let moment = |of: &dyn Fn(f64) -> f64| {
        (0..=top).map(|count| of(count as f64) * chance(count)).sum::<f64>() / below
    };
    let mean = moment(&|x| x);
    let variance = moment(&|x| (x - mean) * (x - mean));
    let skew = moment(&|x| (x - mean) * (x - mean) * (x - mean)) / (variance * libm::sqrt(variance * m));
    let away = (throws - m * mean) / libm::sqrt(m * variance);
    // Edgeworth's series, with the skewness and the flatness of a sum.
    let flat = (moment(&|x| libm::pow(x - mean, 4.0)) / (variance * variance) - 3.0) / m;
    let (square, cube) = (away * away, away * away * away);
    let bend = 1.0
        + skew / 6.0 * (cube - 3.0 * away)
        + flat / 24.0 * (square * square - 6.0 * square + 3.0)
        + skew * skew / 72.0 * (cube * cube - 15.0 * square * square + 45.0 * square - 15.0);
    let sum = libm::exp(-away * away / 2.0) / libm::sqrt(2.0 * std::f64::consts::PI * m * variance) * bend;
    let whole = libm::exp(throws * libm::log(throws) - throws - libm::lgamma(throws + 1.0));
    libm::exp(m * (libm::log(below) - libm::log1p(-one_cell))) * sum / whole
}

/// One filter: whether a cell overflows and how many are at their top, if all positions count and
/// if cells count once for each key.
#[derive(serde::Serialize, serde::Deserialize)]
struct Counted {
    overflows: [bool; 2],
    stuck: [u64; 2],
}

fn counted(shape: Shape, stream: &mut Stream) -> Counted {
    let (mut all, mut once) = (vec![0u32; shape.cells as usize], vec![0u32; shape.cells as usize]);
    let positions = stream.positions(shape.items, shape.cells, HASHES);
    for key in positions.chunks_exact(HASHES as usize) {
        for (i, at) in key.iter().enumerate() {
            all[*at as usize] += 1;
            once[*at as usize] += u32::from(!key[..i].contains(at));
        }
    }
    let top = shape.top() as u32;
    let at_least = |cells: &[u32], count: u32| cells.iter().filter(|cell| **cell >= count).count() as u64;
    Counted {
        overflows: [&all, &once].map(|cells| at_least(cells, top + 1) > 0),
        stuck: [&all, &once].map(|cells| at_least(cells, top)),
    }
}

fn library(shape: Shape) -> Result<CountingBloom> {
    let builder = CountingBloom::builder().cells(shape.cells).hashes(HASHES).width(shape.width);
    Ok(builder.scheme(SchemeId::Independent).build()?)
}

fn insert(filter: &mut CountingBloom, keys: &[Digest]) {
    filter.insert_digests(keys, &mut vec![false; keys.len()]);
}

/// Half of the keys removed again.
#[derive(serde::Serialize, serde::Deserialize)]
struct Removed {
    /// Keys of the other half that are missing.
    missing: u64,
    /// Cells that are set and would not be in a filter of the other half.
    left_over: u64,
    /// Whether the filter is that of the other half, counts included.
    same: bool,
}

fn removed(shape: Shape, top: Top, stream: &mut Stream) -> Removed {
    let places = Places::draw(shape.items, shape.cells, HASHES, stream);
    let make = || CountingCells::new(shape.cells, shape.width, top);
    let (mut filter, mut rest) = (make(), make());
    let (out, kept) = (0..shape.items as u32 / 2, shape.items as u32 / 2..shape.items as u32);
    (0..shape.items as u32).for_each(|key| filter.insert(places.of(key)));
    kept.clone().for_each(|key| rest.insert(places.of(key)));
    out.for_each(|key| filter.remove(places.of(key)));
    let missing = kept.filter(|key| !filter.contains(places.of(*key))).count() as u64;
    let left_over = filter.set().saturating_sub(rest.set());
    Removed { missing, left_over, same: filter == rest }
}

fn library_removed(shape: Shape, stream: &mut Stream) -> Result<Removed> {
    let keys = stream.digests(shape.items);
    let (out, kept) = keys.split_at(keys.len() / 2);
    let (mut filter, mut rest) = (library(shape)?, library(shape)?);
    insert(&mut filter, &keys);
    insert(&mut rest, kept);
    // Refused if all cells of a key are at their top: they would stick, and so nothing is lost.
    out.iter().for_each(|key| _ = filter.remove_digest(*key));
    let missing = kept.iter().filter(|key| !filter.contains_digest(**key)).count() as u64;
    let set = |filter: &CountingBloom| libm::round(filter.fill() * shape.cells as f64) as u64;
    let left_over = set(&filter).saturating_sub(set(&rest));
    Ok(Removed { missing, left_over, same: filter == rest })
}

/// How many keys are missing after absent keys that seemed to be there were removed, one for each
/// key asked for.
fn absent_removed(shape: Shape, stream: &mut Stream) -> u64 {
    let places = Places::draw(2 * shape.items, shape.cells, HASHES, stream);
    let mut filter = CountingCells::new(shape.cells, shape.width, Top::Sticks);
    let (keys, absent) = (0..shape.items as u32, shape.items as u32..2 * shape.items as u32);
    keys.clone().for_each(|key| filter.insert(places.of(key)));
    for key in absent {
        if filter.contains(places.of(key)) {
            filter.remove(places.of(key));
        }
    }
    keys.filter(|key| !filter.contains(places.of(*key))).count() as u64
}

fn library_absent_removed(shape: Shape, stream: &mut Stream) -> Result<u64> {
    let mut filter = library(shape)?;
    let keys = stream.digests(shape.items);
    insert(&mut filter, &keys);
    stream.digests(shape.items).iter().for_each(|absent| _ = filter.remove_digest(*absent));
    Ok(keys.iter().filter(|key| !filter.contains_digest(**key)).count() as u64)
}

impl Experiment for GardenCounting {
    fn name(&self) -> &'static str {
        "garden-counting"
    }
    fn title(&self) -> &'static str {
        "The counting filter: saturated counters and removed keys"
    }
    fn source(&self) -> &'static str {
        "Fan, Cao, Almeida and Broder (2000); Vallentin, A Garden Variety of Bloom Filters (2011)"
    }
    fn claim(&self) -> &'static str {
        "Four bits are enough at half fill. Removing inserted keys loses no other key, and leaves the filter of the remaining keys unless a counter was saturated."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let few = FEW.iter().flat_map(|(width, items)| {
            items.iter().map(|items| Shape { width: *width, cells: 1_000, items: *items })
        });
        let shapes: Vec<Shape> =
            few.chain(MANY.into_iter().filter(|shape| !plan.quick || shape.cells <= 20_000)).collect();
        // Small filters are made more often.
        let trials = |shape: Shape| match shape.cells {
            1_000 => plan.trials(10_000, 1_500),
            20_000 => plan.trials(2_000, 40),
            _ => plan.trials(400, 4),
        };
        let removals = [(4, 0.7), (3, 0.7), (2, 0.7), (2, 1.4), (4, 5.6)];
        let removals = removals.map(|(width, load)| {
            let (cells, hashes) = (10_000, f64::from(HASHES));
            Shape { width, cells, items: 2 * libm::round(load * cells as f64 / hashes / 2.0) as u64 }
        });
        let out = plan.trials(500, 40);
        let total = shapes.iter().map(|shape| 2 * trials(*shape) * shape.work()).sum::<u64>()
            + removals.iter().map(|shape| 4 * out * shape.work()).sum::<u64>();
        let bench = Bench::new(plan, self.name(), progress, total);

        let columns =
            ["w", "m", "n", "nk/m", "filters", "simulated", "formula", "bound", "once a key", "formula"];
        let mut overflows = Table::new("Filters in which a counter overflows, k = 4", &columns);
        let columns = ["w", "m", "n", "all positions", "formula", "once a key", "library", "formula"];
        let mut tops = Table::new("Saturated counters per filter, k = 4", &columns);
        let mut curves: Vec<(Shape, Mean)> = Vec::new();
        for shape in &shapes {
            let count = trials(*shape);
            let simulated =
                bench.trials(&shape.name(), count, shape.work(), |stream, _| Ok(counted(*shape, stream)))?;
            let ours =
                bench.trials(&format!("library {}", shape.name()), count, shape.work(), |stream, _| {
                    let mut filter = library(*shape)?;
                    insert(&mut filter, &stream.digests(shape.items));
                    Ok(filter.saturated())
                })?;
            let found =
                [0, 1].map(|way| simulated.iter().filter(|counted| counted.overflows[way]).count() as u64);
            let rates = found.map(|found| Mean::of_rate(found, count));
            // The formulas take cells as independent; what they count in all is fixed.
            let throws = shape.items as f64 * f64::from(HASHES);
            let one = [
                tail(shape.items * u64::from(HASHES), 1.0 / shape.cells as f64, shape.top() + 1),
                tail(shape.items, has_cell(shape.cells), shape.top() + 1),
            ];
            let once = shape.items as f64 * shape.cells as f64 * has_cell(shape.cells);
            let together = [
                held_together(shape.cells, throws, one[0], shape.top()),
                held_together(shape.cells, once, one[1], shape.top()),
            ];
            let formulas = [shape.of(overflow), shape.of(overflow_distinct)];
            let bound = shape.of(overflow_bound);
            let mut checks = Checks::default();
            for (way, what) in ["all positions", "once a key"].into_iter().enumerate() {
                let expected = 1.0 - (1.0 - formulas[way]) * together[way];
                checks.share(
                    &format!("filters in which a cell overflows, {what}"),
                    found[way],
                    count,
                    expected,
                );
                checks.at_most(&format!("{what}, by the bound"), rates[way], bound);
            }
            let cells = vec![
                Cell::Count(shape.width.into()),
                Cell::Count(shape.cells),
                Cell::Count(shape.items),
                Cell::Number(shape.load(), Form::Fixed(2)),
                Cell::Count(count),
                Cell::Mean(rates[0], Form::Fixed(4)),
                Cell::Number(formulas[0], Form::Fixed(4)),
                Cell::Number(bound, Form::Fixed(4)),
                Cell::Mean(rates[1], Form::Fixed(4)),
                Cell::Number(formulas[1], Form::Fixed(4)),
            ];
            overflows.judge(cells, checks);
            if shape.cells == 1_000 {
                curves.push((*shape, rates[0]));
            }

            let at_top = [0, 1].map(|way| mean_of(&simulated, |counted| counted.stuck[way] as f64));
            let library = mean_of(&ours, |stuck| *stuck as f64);
            let cells = shape.cells as f64;
            let formulas =
                [cells * shape.of(stuck), cells * tail(shape.items, has_cell(shape.cells), shape.top())];
            let mut checks = Checks::default();
            checks.mean_number("saturated counters, all positions", at_top[0], formulas[0]);
            checks.mean_number("saturated counters, once a key", at_top[1], formulas[1]);
            checks.mean_number("saturated counters, library", library, formulas[1]);
            let cells = vec![
                Cell::Count(shape.width.into()),
                Cell::Count(shape.cells),
                Cell::Count(shape.items),
                Cell::Mean(at_top[0], Form::Fixed(3)),
                Cell::Number(formulas[0], Form::Fixed(4)),
                Cell::Mean(at_top[1], Form::Fixed(3)),
                Cell::Mean(library, Form::Fixed(3)),
                Cell::Number(formulas[1], Form::Fixed(4)),
            ];
            tops.judge(cells, checks);
        }
        let (cells, items) = (10_000_000, 1_732_868);
        overflows.note(format!(
            "At half fill and four bits it cannot be seen: with m = 10,000,000 the bound is {:.1e}.",
            overflow_bound(cells, items, HASHES, 4)
        ));
        overflows.note(
            "The formulas treat cells as independent, but their sum is fixed, which makes overflow up to a percent likelier. A row agrees if the simulated shares are within four standard errors of the formulas with that (as \
             Poisson numbers where fewer than 100 filters are expected), and not above Fan's bound.",
        );
        tops.note(
            "A row agrees if all means are within four standard errors of the formulas (where fewer than 100 cells are expected \
             in all: not as rare among Poisson numbers): theory::counting::stuck for all positions, and the same binomial tail for cells that count once for each key, as the library's do.",
        );

        let columns = [
            "w",
            "nk/m",
            "keys asked",
            "missing",
            "library",
            "left over",
            "library",
            "formula",
            "same as the rest",
        ];
        let mut table =
            Table::new(format!("Half of the keys removed, m = 10,000, k = 4: {out} filters"), &columns);
        let mut missing = [0, 0];
        let mut asked = 0;
        for shape in removals {
            let name = format!("removed {}", shape.name());
            let simulated =
                bench.trials(&name, out, shape.work(), |stream, _| Ok(removed(shape, self.top, stream)))?;
            let library = bench.trials(&format!("library {name}"), out, shape.work(), |stream, _| {
                library_removed(shape, stream)
            })?;
            let both = [&simulated, &library];
            let lost = both.map(|trials| trials.iter().map(|removed| removed.missing).sum::<u64>());
            let left = both.map(|trials| mean_of(trials, |removed| removed.left_over as f64));
            let same = both.map(|trials| trials.iter().filter(|removed| removed.same).count() as u64);
            // No key of the rest is in the cell, and as many of those taken out as bring it to its top.
            let (half, has) = (shape.items / 2, has_cell(shape.cells));
            let none = libm::exp(half as f64 * libm::log1p(-has));
            let formula = shape.cells as f64 * none * tail(half, has, shape.top());
            let mut checks = Checks::default();
            for (what, lost, left, same) in
                [("simulated", lost[0], left[0], same[0]), ("library", lost[1], left[1], same[1])]
            {
                checks.exactly(&format!("keys that are missing, {what}"), lost, 0);
                checks.mean_number(&format!("cells left over, {what}"), left, formula);
                let tops = shape.cells as f64 * tail(shape.items, has, shape.top()) * out as f64;
                if tops < 1e-3 {
                    checks.exactly(&format!("filters that are those of the rest, {what}"), same, out);
                }
            }
            let [one, other] = same.map(|same| Mean::of_rate(same, out));
            checks.alike("filters that are those of the rest, simulated and library", one, other);
            missing = [missing[0] + lost[0], missing[1] + lost[1]];
            asked += half * out;
            let cells = vec![
                Cell::Count(shape.width.into()),
                Cell::Number(shape.load(), Form::Fixed(1)),
                Cell::Count(half * out),
                Cell::Count(lost[0]),
                Cell::Count(lost[1]),
                Cell::Mean(left[0], Form::Fixed(2)),
                Cell::Mean(left[1], Form::Fixed(2)),
                Cell::Number(formula, Form::Fixed(3)),
                Cell::text(format!("{} and {} of {out} filters", same[0], same[1])),
            ];
            table.judge(cells, checks);
        }
        table.note(
            "Left over: cells that are set and would not be in a filter of the rest. A row agrees if no key is missing; cells \
             are left over as the formula says, by counters that were saturated; each filter is that of the rest, counts \
             included, where no cell gets there, and as often in the library elsewhere.",
        );
        let harm = self.harm(&bench, out, removals[2], missing, asked)?;
        Ok(Outcome { tables: vec![overflows, tops, table, harm], figures: vec![picture(&curves)] })
    }
}

impl GardenCounting {
    /// What the article says of removals, and what really makes keys disappear.
    fn harm(
        &self,
        bench: &Bench<'_>,
        out: u64,
        shape: Shape,
        missing: [u64; 2],
        asked: u64,
    ) -> Result<Table> {
        let columns = ["what is done", "keys asked", "missing", "library"];
        let mut table = Table::new("\"Deletions necessarily introduce false negatives\"", &columns);
        let cells = |what: &str, asked: u64, missing: Mean, library: Cell| {
            vec![Cell::text(what), Cell::Count(asked), Cell::Mean(missing, Form::Fixed(4)), library]
        };
        let what = "inserted keys are removed";
        let mut checks = Checks::default();
        checks.exactly("keys that are missing, simulated", missing[0], 0);
        checks.exactly("keys that are missing, library", missing[1], 0);
        let reason = format!(
            "of {asked} keys that stayed, none is missing; a cell is lowered as often as it was raised"
        );
        checks.explain("garden-counting", what, reason);
        let share = |found: u64| Mean::of_rate(found, asked);
        let library = Cell::Mean(share(missing[1]), Form::Fixed(4));
        table.judge(cells(what, asked, share(missing[0]), library), checks);

        let shape = Shape { width: 4, ..shape };
        let of_all = |trials: &[u64]| mean_of(trials, |missing| *missing as f64 / shape.items as f64);
        let simulated = of_all(
            &bench.trials("absent", out, shape.work(), |stream, _| Ok(absent_removed(shape, stream)))?,
        );
        let library = of_all(&bench.trials("library absent", out, shape.work(), |stream, _| {
            library_absent_removed(shape, stream)
        })?);
        let mut checks = Checks::default();
        checks.alike("keys that are missing, simulated and library", simulated, library);
        checks.above("keys that are missing", simulated, 0.0);
        let asked = out * shape.items;
        let library = Cell::Mean(library, Form::Fixed(4));
        table.judge(cells("false positives are removed", asked, simulated, library), checks);

        let shape = Shape { width: 2, ..shape };
        let lowered = bench.trials("lowered", out, shape.work(), |stream, _| {
            Ok(removed(shape, Top::Lowers, stream).missing)
        })?;
        let lowered = mean_of(&lowered, |missing| *missing as f64 / (shape.items / 2) as f64);
        let asked = out * (shape.items / 2);
        table.row(cells("saturated counters are lowered (w = 2)", asked, lowered, Cell::Empty), None);
        table.note(format!(
            "Source: {VALLENTIN}. The first row is explained if no key is missing in the table above; the second, m = 10,000, \
             nk/m = 0.7, agrees if keys are missing by more than four standard errors, and as many in the library. The \
             third shows what sticking cells are for, and claims nothing."
        ));
        Ok(table)
    }
}

fn picture(curves: &[(Shape, Mean)]) -> Figure {
    let mut figure = Figure::new(
        "Filters of 1,000 cells in which one overflows, k = 4",
        Axis::log("positions per cell, nk/m"),
        Axis::log("share of filters"),
    );
    for (width, _) in FEW {
        let points = curves.iter().filter(|(shape, _)| shape.width == width);
        figure = figure.line(
            format!("{width} bits"),
            points.map(|(shape, rate)| (shape.load(), *rate)).collect::<Vec<_>>(),
        );
    }
    for (width, items) in FEW {
        let ends = (items[0] as f64, items[5] as f64);
        let fine = (0..=40).map(|i| {
            let items = libm::round(ends.0 * libm::pow(ends.1 / ends.0, f64::from(i) / 40.0)) as u64;
            Shape { width, cells: 1_000, items }
        });
        let fine: Vec<Shape> = fine.collect();
        figure = figure
            .theory(format!("{width} bits"), fine.iter().map(|shape| (shape.load(), shape.of(overflow))));
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_binomial() {
        assert!((tail(2, 0.5, 1) - 0.75).abs() < 1e-12 && (tail(3, 0.25, 3) - 1.0 / 64.0).abs() < 1e-12);
        // With one position per key the two laws are the same.
        assert!((1_000.0 * tail(1_500, 1.0 / 1_000.0, 3) - 1_000.0 * stuck(1_000, 1_500, 1, 2)).abs() < 1e-8);
        assert!((has_cell(2) - 15.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn cells_that_share_a_sum_overflow_a_little_more_often() {
        // All ways to throw 12 balls into 40 cells, one after the other: the share in which no cell has three.
        let (cells, throws) = (40u64, 12u64);
        // ways[single][double], by throws.
        let mut ways = vec![vec![0.0; 14]; 14];
        ways[0][0] = 1.0;
        for _ in 0..throws {
            let mut next = vec![vec![0.0; 14]; 14];
            for (single, double) in (0..13).flat_map(|a| (0..13).map(move |b| (a, b))) {
                let (here, m) = (ways[single][double], cells as f64);
                next[single + 1][double] += here * (m - single as f64 - double as f64) / m;
                if single > 0 {
                    next[single - 1][double + 1] += here * single as f64 / m;
                }
            }
            ways = next;
        }
        let exact: f64 = ways.iter().flatten().sum();
        let one = tail(throws, 1.0 / cells as f64, 3);
        let independent = libm::pow(1.0 - one, cells as f64);
        let told = independent * held_together(cells, throws as f64, one, 2);
        assert!((independent / exact - 1.0).abs() > 2e-4, "it shows: {independent} {exact}");
        assert!((told / exact - 1.0).abs() < (independent / exact - 1.0).abs() / 3.0, "{told} {exact}");
    }
}
