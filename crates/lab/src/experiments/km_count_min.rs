//! Count-Min with a function for each row, and with two for all.
//!
//! The error of a sketch does not depend on the order of a stream, only on how often each key came:
//! a stream is drawn once, and the trials draw functions (and keys, which are random numbers). The
//! simulation has the pairwise family of the papers and shares nothing with the library, which
//! stands beside it.
//!
//! Streams of many keys stay a hundred times below the bounds, and say nothing of them. The stream
//! that comes near has 1/ε - 1 keys that are each just above ε of the total, so that an estimate
//! fails if it meets one of them in every row. How often that happens is known exactly, and is
//! about half of what the bounds allow.

use crate::garden::{CountMinSketch, SketchSize, Step};
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::Result;
use gardenia::filter::MinimumSelection;
use gardenia::index::{Form as SketchForm, SchemeId};
use gardenia::theory::count_min::{failure_modified, failure_original, shape};
use gardenia::{CountMin, Digest, SpectralBloom};
use std::f64::consts::E;

/// Count-Min in both forms, error against the bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct KmCountMin {
    /// What is wrong with the rows of the simulated modified form.
    pub step: Step,
}

const KM: &str = "Kirsch and Mitzenmacher, Less Hashing, Same Performance (2008), section 9";
const FORMS: [(SketchForm, &str); 2] =
    [(SketchForm::Original, "original"), (SketchForm::Modified, "modified")];
const UNIVERSE: usize = 20_000;
/// How often keys occur; ranks are places.
struct Keys {
    name: String,
    counts: Vec<u64>,
    total: u64,
}

impl Keys {
    fn draw(plan: &Plan, experiment: &str, (items, skew): (usize, f64), updates: u64) -> Self {
        let name = if skew == 0.0 { format!("{items} alike") } else { format!("Zipf {skew}") };
        let mut counts = Stream::new(plan.seed, experiment, &name, 0).zipf(items, updates, skew);
        counts.retain(|count| *count > 0);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        Self { name, counts, total: updates }
    }
}

/// How one sketch counted a stream: how many keys are above the truth by more than each share of
/// the total, the sum of what all are above, how many are below the truth, and sums of relative
/// errors by rank.
#[derive(serde::Serialize, serde::Deserialize)]
struct Errors {
    above: Vec<u64>,
    sum: u64,
    below: u64,
    relative: Vec<f64>,
}

/// Ranks that are averaged: up to 1, 2, 4, 8, …
fn ranks(keys: &Keys) -> Vec<(usize, usize)> {
    let ends = (0..).map(|power| 1 << power).take_while(|end| *end < keys.counts.len());
    let ends: Vec<usize> = ends.chain([keys.counts.len()]).collect();
    std::iter::once(0).chain(ends.iter().copied()).zip(ends.iter().copied()).collect()
}

fn judged(keys: &Keys, shares: &[f64], estimates: impl Iterator<Item = u64>) -> Errors {
    let limits: Vec<f64> = shares.iter().map(|share| share * keys.total as f64).collect();
    let mut errors = Errors { above: vec![0; shares.len()], sum: 0, below: 0, relative: Vec::new() };
    let over: Vec<u64> = estimates
        .zip(&keys.counts)
        .map(|(found, count)| {
            errors.below += u64::from(found < *count);
            found.saturating_sub(*count)
        })
        .collect();
    for over in &over {
        errors.sum += over;
        let above = errors.above.iter_mut().zip(&limits);
        above.for_each(|(above, limit)| *above += u64::from(*over as f64 > *limit));
    }
    let relative = |(from, to): (usize, usize)| {
        let each = (from..to).map(|rank| over[rank] as f64 / keys.counts[rank] as f64);
        each.sum::<f64>() / (to - from) as f64
    };
    errors.relative = ranks(keys).into_iter().map(relative).collect();
    errors
}

fn simulated(keys: &Keys, size: SketchSize, step: Step, shares: &[f64], stream: &mut Stream) -> Errors {
    let mut sketch = CountMinSketch::new(size, step, stream);
    let names: Vec<u64> = keys.counts.iter().map(|_| stream.word() >> 4).collect();
    names.iter().zip(&keys.counts).for_each(|(key, count)| sketch.add(*key, *count));
    judged(keys, shares, names.iter().map(|key| sketch.estimate(*key)))
}

/// The mean error of an estimate, and the share of those that are right.
fn errs(keys: &Keys, estimates: impl Iterator<Item = u64>) -> [f64; 2] {
    let (mut sum, mut right) = (0, 0);
    for (found, count) in estimates.zip(&keys.counts) {
        sum += found.saturating_sub(*count);
        right += u64::from(found == *count);
    }
    [sum, right].map(|of| of as f64 / keys.counts.len() as f64)
}

fn library_sketch(size: SketchSize, stream: &mut Stream) -> Result<CountMin> {
    let builder = CountMin::builder().form(size.form).columns(size.columns).rows(size.depth);
    Ok(builder.copies(size.copies).seed(stream.word()).build()?)
}

fn library(keys: &Keys, size: SketchSize, shares: &[f64], stream: &mut Stream) -> Result<Errors> {
    let mut sketch = library_sketch(size, stream)?;
    let names = stream.digests(keys.counts.len() as u64);
    names.iter().zip(&keys.counts).for_each(|(key, count)| _ = sketch.add_digest(*key, *count));
    Ok(judged(keys, shares, names.iter().map(|key| sketch.count_digest(*key))))
}

/// How often absent keys meet one of those that were counted, each once, in every row.
fn meetings(size: SketchSize, step: Step, heavy: u64, queries: u64, stream: &mut Stream) -> u64 {
    let mut sketch = CountMinSketch::new(size, step, stream);
    (0..heavy).for_each(|_| sketch.add(stream.word() >> 4, 1));
    (0..queries).filter(|_| sketch.estimate(stream.word() >> 4) > 0).count() as u64
}

fn library_meetings(size: SketchSize, heavy: u64, queries: u64, stream: &mut Stream) -> Result<u64> {
    let mut sketch = library_sketch(size, stream)?;
    (0..heavy).for_each(|_| _ = sketch.add_digest(Digest(stream.word()), 1));
    Ok((0..queries).filter(|_| sketch.count_digest(Digest(stream.word())) > 0).count() as u64)
}

fn bound(size: SketchSize, epsilon: f64) -> f64 {
    match size.form {
        SketchForm::Modified => failure_modified(epsilon, size.columns, size.depth, size.copies),
        _ => failure_original(epsilon, size.columns, size.depth),
    }
}

/// Keys that are each just above `epsilon` of the total, if there is no other.
fn heavy_keys(epsilon: f64) -> u64 {
    (libm::ceil(1.0 / epsilon - 1e-9) as u64).saturating_sub(1).max(1)
}

/// How likely an absent key meets one of `heavy` others in every row.
///
/// A row of its own function: `1 - (1 - 1/w)^heavy`. The rows of two functions: another key agrees
/// in both with 1/w², and then meets in all rows; else it meets in one row at most, in each with
/// (w-1)/w², for w is a prime. So s given rows are free of it with `1 - 1/w² - s(w-1)/w²`, and
/// inclusion and exclusion over the rows gives the chance that none is free.
fn meets(size: SketchSize, heavy: u64) -> f64 {
    let (w, keys) = (size.columns as f64, heavy as f64);
    let copy = if size.form == SketchForm::Original {
        libm::pow(-libm::expm1(keys * libm::log1p(-1.0 / w)), f64::from(size.depth))
    } else {
        let mut choose = 1.0;
        let term = |free: u32| {
            let met = 1.0 / (w * w) + f64::from(free) * (w - 1.0) / (w * w);
            let term = if free == 0 { 1.0 } else { choose * libm::exp(keys * libm::log1p(-met)) };
            choose *= -f64::from(size.depth - free) / f64::from(free + 1);
            term
        };
        (0..=size.depth).map(term).sum()
    };
    libm::pow(copy, f64::from(size.copies))
}

/// The share of keys above the truth by more than the given share of the total.
fn failing(keys: &Keys, trials: &[Errors], at: usize) -> Mean {
    mean_of(trials, |errors| errors.above[at] as f64 / keys.counts.len() as f64)
}

fn never_below<'a>(checks: &mut Checks, trials: impl Iterator<Item = &'a Errors>) {
    checks.exactly("estimates that are too low", trials.map(|errors| errors.below).sum(), 0);
}

impl Experiment for KmCountMin {
    fn name(&self) -> &'static str {
        "km-count-min"
    }
    fn title(&self) -> &'static str {
        "Count-Min sketches: one hash function per row, or two for all rows"
    }
    fn source(&self) -> &'static str {
        "Kirsch and Mitzenmacher (2008), section 9; Cormode and Muthukrishnan (2005)"
    }
    fn claim(&self) -> &'static str {
        "Two pairwise independent functions are enough for all rows: an estimate is never too low, and above the truth by \
         more than ε of the total with probability at most 2/(εw²) + (2/(εw))^d, which is at most ε."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(100, 32);
        let updates = if plan.quick { 100_000 } else { 1_000_000 };
        let skews = [(UNIVERSE, 0.0), (100, 0.0), (UNIVERSE, 0.8), (UNIVERSE, 1.0), (UNIVERSE, 1.5)];
        let skews = skews.into_iter().filter(|(_, skew)| !plan.quick || *skew != 0.8);
        let streams: Vec<Keys> = skews.map(|stream| Keys::draw(plan, self.name(), stream, updates)).collect();
        let narrow_trials = plan.trials(400, 12);
        let (drawn, each_drawn) = (plan.trials(400, 60), if plan.quick { 10_000 } else { 50_000 });
        let each = UNIVERSE as u64;
        let epsilons: &[f64] = if plan.quick { &[0.1, 0.01] } else { &[0.1, 0.03, 0.01, 0.003] };
        let queries = if plan.quick { 20_000 } else { 100_000 };
        let met = plan.trials(400, 40);
        let depths = [1, 2, 4, 8, 16];
        let total = streams.len() as u64 * each * (4 * trials * epsilons.len() as u64 + 2 * narrow_trials)
            + depths.len() as u64 * met * queries * 6;
        let bench = Bench::new(plan, self.name(), progress, total);

        // Sketches as the theorems size them.
        let title = format!("Sketches for ε = δ, {updates} updates: {trials} draws of the functions");
        let columns = [
            "stream",
            "form",
            "ε",
            "w",
            "d",
            "counters",
            "simulated",
            "library",
            "bound",
            "mean error/ε",
            "library",
        ];
        let mut designed = Table::new(title, &columns);
        for keys in &streams {
            for (epsilon, (form, form_name)) in epsilons.iter().flat_map(|e| FORMS.map(|form| (*e, form))) {
                let shape = shape(form, epsilon, epsilon)?;
                let size = SketchSize {
                    form,
                    columns: shape.columns,
                    depth: shape.rows / shape.copies,
                    copies: shape.copies,
                };
                let name = format!("{} {form_name} ε={epsilon}", keys.name);
                let simulated = bench.trials(&name, trials, each, |stream, _| {
                    Ok(simulated(keys, size, self.step, &[epsilon], stream))
                })?;
                let library = bench.trials(&format!("library {name}"), trials, each, |stream, _| {
                    library(keys, size, &[epsilon], stream)
                })?;
                let (shares, bound) =
                    ([&simulated, &library].map(|trials| failing(keys, trials, 0)), bound(size, epsilon));
                let mut checks = Checks::default();
                let error = [&simulated, &library].map(|trials| {
                    mean_of(trials, |errors| {
                        errors.sum as f64 / keys.counts.len() as f64 / (epsilon * keys.total as f64)
                    })
                });
                checks.alike("mean error, simulated and library", error[0], error[1]);
                checks.at_most("keys that fail, simulated", shares[0], bound);
                checks.at_most("keys that fail, library", shares[1], bound);
                never_below(&mut checks, simulated.iter().chain(&library));
                let cells = vec![
                    Cell::text(&keys.name),
                    Cell::text(form_name),
                    Cell::Number(epsilon, Form::Fixed(3)),
                    Cell::Count(size.columns),
                    Cell::Count(size.depth.into()),
                    Cell::Count(size.columns * u64::from(shape.rows)),
                    Cell::Mean(shares[0], Form::Fixed(5)),
                    Cell::Mean(shares[1], Form::Fixed(5)),
                    Cell::Number(bound, Form::Fixed(5)),
                    Cell::Mean(error[0], Form::Fixed(4)),
                    Cell::Mean(error[1], Form::Fixed(4)),
                ];
                designed.judge(cells, checks);
            }
        }
        designed.note(
            "Simulated, library: the share of keys whose estimate is above their count by more than ε of all updates. A row \
             agrees if simulation and library have the same errors in the mean, neither share is above the bound by more than four \
             standard errors, and no estimate is too low. These streams stay far below the bounds; the next table does not.",
        );

        // A spectral filter by minimum selection whose cells are divided among its hash functions is the same thing.
        let (w, d) = (272, 5);
        let keys = Keys::draw(plan, self.name(), (2_000, 1.0), 20_000);
        let title = format!(
            "Spectral filters of {d} slices of {w} counters, {}, 20,000 updates: {drawn} of each",
            keys.name
        );
        let columns =
            ["mean error, Count-Min", "spectral filter", "keys that are right, Count-Min", "spectral filter"];
        let mut same = Table::new(title, &columns);
        let form = SketchForm::Original;
        let sketches = bench.trials("slices, Count-Min", drawn, 1, |stream, _| {
            let mut sketch = library_sketch(SketchSize { form, columns: w, depth: d, copies: 1 }, stream)?;
            let names = stream.digests(keys.counts.len() as u64);
            names.iter().zip(&keys.counts).for_each(|(key, count)| _ = sketch.add_digest(*key, *count));
            Ok(errs(&keys, names.iter().map(|key| sketch.count_digest(*key))))
        })?;
        let filters = bench.trials("slices, spectral", drawn, 1, |stream, _| {
            let builder = SpectralBloom::builder().cells(w * u64::from(d)).hashes(d).width(32);
            let builder = builder.scheme(SchemeId::PartitionIndependent);
            let mut filter = builder.policy(MinimumSelection).build()?;
            let names = stream.digests(keys.counts.len() as u64);
            for (key, count) in names.iter().zip(&keys.counts) {
                filter.insert_digest_times(*key, *count)?;
            }
            Ok(errs(&keys, names.iter().map(|key| filter.count_digest(*key))))
        })?;
        let means =
            [0, 1].map(|at| [&sketches, &filters].map(|trials| mean_of(trials, |errs: &[f64; 2]| errs[at])));
        let mut checks = Checks::default();
        checks.alike("mean error", means[0][0], means[0][1]);
        checks.alike("keys that are right", means[1][0], means[1][1]);
        let cells = means.into_iter().flatten().map(|mean| Cell::Mean(mean, Form::Fixed(4)));
        same.judge(cells.collect(), checks);
        same.note("A row agrees if both have the same errors. The keys of each are random, and so are the functions.");

        // The stream that comes near the bounds.
        let title = format!(
            "1/ε - 1 keys just above ε, sketches for ε = δ: {drawn} draws, {each_drawn} absent keys each"
        );
        let columns = [
            "form",
            "ε",
            "w",
            "d",
            "copies",
            "keys",
            "simulated",
            "library",
            "exactly",
            "bound",
            "exactly/bound",
        ];
        let mut heavy = Table::new(title, &columns);
        let heavy_row = |table: &mut Table, size: SketchSize, epsilon: f64, designed: bool| -> Result<()> {
            let (keys, name) = (
                heavy_keys(epsilon),
                if size.form == SketchForm::Original { "original" } else { "modified" },
            );
            let point = format!("heavy {name} ε={epsilon:.5} w={} copies={}", size.columns, size.copies);
            let share = |found: Vec<u64>| mean_of(&found, |found| *found as f64 / each_drawn as f64);
            let simulated = share(bench.trials(&point, drawn, each_drawn, |stream, _| {
                Ok(meetings(size, self.step, keys, each_drawn, stream))
            })?);
            let library =
                share(bench.trials(&format!("library {point}"), drawn, each_drawn, |stream, _| {
                    library_meetings(size, keys, each_drawn, stream)
                })?);
            let (exactly, bound) = (meets(size, keys), bound(size, epsilon));
            let mut checks = Checks::default();
            for (what, found) in [("simulated", simulated), ("library", library)] {
                checks.is(&format!("keys that fail, {what}"), found, exactly);
                checks.at_most(&format!("keys that fail, {what}, by the bound"), found, bound);
            }
            // A bound that is a half of what it is would be broken.
            checks.computed_at_most("what fails exactly, by the bound", exactly, bound);
            if designed {
                checks.computed_at_most("the bound, by ε", bound, epsilon);
            }
            let cells = vec![
                Cell::text(name),
                Cell::Number(epsilon, Form::Fixed(4)),
                Cell::Count(size.columns),
                Cell::Count(size.depth.into()),
                Cell::Count(size.copies.into()),
                Cell::Count(keys),
                Cell::Mean(simulated, Form::Power(3)),
                Cell::Mean(library, Form::Power(3)),
                Cell::Number(exactly, Form::Power(4)),
                Cell::Number(bound, Form::Power(4)),
                Cell::Number(exactly / bound, Form::Fixed(2)),
            ];
            table.judge(cells, checks);
            Ok(())
        };
        for (epsilon, (form, _)) in epsilons.iter().flat_map(|e| FORMS.map(|form| (*e, form))) {
            let shape = shape(form, epsilon, epsilon)?;
            let (columns, copies) = (shape.columns, shape.copies);
            heavy_row(
                &mut heavy,
                SketchSize { form, columns, depth: shape.rows / copies, copies },
                epsilon,
                true,
            )?;
        }
        heavy.note(
            "An absent key fails if it meets a heavy one in every row. A row agrees if both shares are within four standard \
             errors of what is exact for random functions, which is not above the bound, and that not above ε.",
        );

        // Narrow ones, where failures show.
        let (w, depth) = (53, 2);
        let shares: Vec<f64> =
            (0..12).map(|i| 1.25 / w as f64 * libm::pow(40.0, f64::from(i) / 11.0)).collect();
        let title =
            format!("1/ε - 1 keys just above ε, narrow sketches, w = {w}, d = {depth}: {drawn} draws");
        let (mut narrow, mut figures) = (Table::new(title, &columns), Vec::new());
        let size = |form, columns, depth, copies| SketchSize { form, columns, depth, copies };
        let mut curves: Vec<Vec<Vec<Errors>>> = Vec::new();
        for keys in &streams {
            let of_form = |(form, form_name): (SketchForm, &str)| {
                bench.trials(
                    &format!("{} {form_name} narrow", keys.name),
                    narrow_trials,
                    each,
                    |stream, _| Ok(simulated(keys, size(form, w, depth, 1), self.step, &shares, stream)),
                )
            };
            let forms = FORMS.into_iter().map(of_form).collect::<Result<Vec<_>>>()?;
            curves.push(forms);
        }
        for (share, (form, _)) in [1, 3, 5].into_iter().flat_map(|at| FORMS.map(|form| (shares[at], form))) {
            heavy_row(&mut narrow, size(form, w, depth, 1), share, false)?;
        }
        narrow.note("A row agrees as in the table above, but for ε, for which these were not made.");
        for (at, (form, name)) in FORMS.iter().enumerate() {
            let title = format!("Keys that fail, {name} form, w = {w}, d = {depth}");
            let mut figure = Figure::new(title, Axis::log("ε"), Axis::log("share of keys above by ε of all"));
            for (keys, forms) in streams.iter().zip(&curves) {
                let points =
                    shares.iter().enumerate().map(|(i, share)| (*share, failing(keys, &forms[at], i)));
                figure = figure.line(keys.name.as_str(), points.collect::<Vec<_>>());
            }
            let fine = (0..=40).map(|i| 1.25 / w as f64 * libm::pow(40.0, f64::from(i) / 40.0));
            figure = figure.theory("bound", fine.map(|e| (e, bound(size(*form, w, depth, 1), e))));
            figures.push(figure);
        }
        let skewed = streams.iter().position(|keys| keys.name == "Zipf 1").unwrap_or(0);
        let mut by_rank = Figure::new(
            format!("Relative error against rank, {}, w = {w}, d = {depth}", streams[skewed].name),
            Axis::log("rank of the key"),
            Axis::log("estimate/count - 1"),
        );
        for (at, (_, name)) in FORMS.iter().enumerate() {
            let point = |(bin, (from, to)): (usize, (usize, usize))| {
                let middle = libm::sqrt((from + 1) as f64 * to as f64);
                (middle, mean_of(&curves[skewed][at], |errors| errors.relative[bin]))
            };
            by_rank = by_rank.line(*name, ranks(&streams[skewed]).into_iter().enumerate().map(point));
        }
        figures.push(by_rank);

        // The first term of theorem 9.1.
        let w = 23;
        let title = format!(
            "One key counted, w = {w}: how often another meets it in all rows, {:.1e} queries",
            (met * queries) as f64
        );
        let columns =
            ["form", "d", "copies", "expected", "simulated", "library", "share, simulated", "by rows alone"];
        let mut floor = Table::new(title, &columns);
        let mut lines = [Vec::new(), Vec::new(), Vec::new()];
        for depth in depths {
            for (line, (form, name, copies)) in [
                (SketchForm::Original, "original", 1),
                (SketchForm::Modified, "modified", 1),
                (SketchForm::Modified, "modified", 2),
            ]
            .into_iter()
            .enumerate()
            {
                let size = size(form, w, depth, copies);
                let point = format!("meet {name} d={depth} copies={copies}");
                let found: u64 = bench
                    .trials(&point, met, queries, |stream, _| {
                        Ok(meetings(size, self.step, 1, queries, stream))
                    })?
                    .iter()
                    .sum();
                let ours: u64 = bench
                    .trials(&format!("library {point}"), met, queries, |stream, _| {
                        library_meetings(size, 1, queries, stream)
                    })?
                    .iter()
                    .sum();
                // Two rows that meet say that both functions agree: then all rows meet.
                let rows = if form == SketchForm::Original { depth } else { depth.min(2) * copies };
                let chance = libm::pow(w as f64, -f64::from(rows));
                let asked = met * queries;
                let mut checks = Checks::default();
                for (what, found) in [("simulated", found), ("library", ours)] {
                    checks.number(&format!("keys that meet, {what}"), found, chance * asked as f64);
                }
                let share = Mean::of_rate(found, asked);
                let cells = vec![
                    Cell::text(name),
                    Cell::Count(depth.into()),
                    Cell::Count(copies.into()),
                    Cell::Number(chance * asked as f64, Form::Fixed(1)),
                    Cell::Count(found),
                    Cell::Count(ours),
                    Cell::Mean(share, Form::Power(2)),
                    Cell::Number(libm::pow(w as f64, -f64::from(depth * copies)), Form::Power(1)),
                ];
                floor.judge(cells, checks);
                if found > 0 {
                    lines[line].push((f64::from(depth), share));
                }
            }
        }
        floor.note(
            "The first term of theorem 9.1 is real: more rows never bring the modified form below 1/w² for each heavy key, \
             for both functions may agree; a second copy brings it to 1/w⁴. A row agrees if what was found is not rarer \
             than four standard errors among Poisson numbers of the expected mean.",
        );
        let [original, modified, copies] = lines;
        figures.push(
            Figure::new(
                format!("Meeting a heavy key in all rows, w = {w}"),
                Axis::linear("rows of a copy"),
                Axis::log("share of queries"),
            )
            .line("original", original)
            .line("modified", modified)
            .line("modified, two copies", copies)
            .theory("1/w²", [(1.0, 1.0 / (w * w) as f64), (16.0, 1.0 / (w * w) as f64)]),
        );
        Ok(Outcome { tables: vec![designed, heavy, narrow, floor, printed(), primes(), same], figures })
    }
}

/// Theorem 9.1 as printed, and as its proof has it.
fn printed() -> Table {
    let columns = [
        "ε",
        "w",
        "printed: δ ≥",
        "d from the proof",
        "bound",
        "d of the other reading",
        "bound",
        "copies for δ = ε²/2",
    ];
    let mut table = Table::new("Theorem 9.1: \"w ≥ 2e/ε and δ ≥ ln 1/ε(1 - 1/2e²)\"", &columns);
    for epsilon in [0.1, 0.05, 0.01, 0.001, 0.0001] {
        let (w, rest) = (2.0 * E / epsilon, 1.0 - 0.5 / (E * E));
        let both = |d: f64| 2.0 / (epsilon * w * w) + libm::pow(2.0 / (epsilon * w), d);
        let right = libm::log(1.0 / (epsilon * rest));
        let other = libm::log(1.0 / epsilon) * rest;
        let [d, less] = [right, other].map(libm::ceil);
        let delta = epsilon * epsilon / 2.0;
        let copies = libm::ceil(libm::log(delta) / libm::log(epsilon));
        let enough = |copies: f64| libm::pow(epsilon, copies) <= delta;
        // No probability is at least as large as this; with d in its place the bound holds, and not with a row less.
        let mut checks = Checks::default();
        let least = |from: f64, enough: &dyn Fn(f64) -> bool| {
            let mut number = from;
            while !enough(number) {
                number += 1.0;
            }
            number as u64
        };
        checks.exactly("fewest rows that keep the bound", least(1.0, &|d| both(d) <= epsilon), d as u64);
        checks.exactly("fewest copies for ε²/2", least(1.0, &enough), copies as u64);
        checks.computed_at_most("1, by what is printed as a probability", 1.0, right);
        let other_reading = if both(less) > epsilon {
            format!(" d ≥ (ln 1/ε)(1 - 1/2e²) will not do: its bound is {:.6}.", both(less))
        } else {
            String::new()
        };
        checks.explain(
            "km-count-min",
            "Theorem 9.1",
            format!(
                "δ is no part of the theorem, and {right:.2} is no probability; d ≥ ln(1/(ε(1 - 1/(2e²)))) is what the proof \
                 needs, with a row less the bound is {:.6}.{other_reading} Erratum 14: {copies} copies do, not {}.",
                both(d - 1.0),
                2.0 * copies,
            ),
        );
        let cells = vec![
            Cell::Number(epsilon, Form::Fixed(4)),
            Cell::Number(w, Form::Fixed(1)),
            Cell::Number(right, Form::Fixed(2)),
            Cell::Count(d as u64),
            Cell::Number(both(d), Form::Fixed(6)),
            Cell::Count(less as u64),
            Cell::Number(both(less), Form::Fixed(6)),
            Cell::Count(copies as u64),
        ];
        table.judge(cells, checks);
    }
    table.note(format!("Source: {KM}, theorem 9.1 and the text before it."));
    table.note(
        "Erratum 15: the \"small\" increase in space is a factor of two, w being 2e/ε instead of e/ε (the column counters \
         of the first table); and d ≤ w is needed, for rows j and j + w are the same.",
    );
    table
}

/// Why w must be a prime: differences of two keys that meet in several rows without being equal.
fn primes() -> Table {
    let depth = 5u64;
    let title = format!("Two keys that differ in a function: in how many of {depth} rows can they meet?");
    let mut table = Table::new(title, &["w", "prime", "most rows", "pairs that meet in two rows or more"]);
    for (w, prime) in [(547, true), (546, false), (512, false)] {
        let (mut most, mut several) = (0, 0);
        for (start, step) in (0..w).flat_map(|start| (0..w).map(move |step| (start, step))).skip(1) {
            let met = (0..depth).filter(|row| (start + row * step) % w == 0).count();
            most = most.max(met);
            several += u64::from(met > 1);
        }
        let mut checks = Checks::default();
        if prime {
            checks.exactly("most rows in which they meet", most as u64, 1);
        } else {
            // A step of w/q meets again after q rows, for the least factor q of w.
            let factor = (2..).find(|factor| w % factor == 0).unwrap_or(w);
            let again = depth.div_ceil(factor);
            checks.exactly("most rows in which they meet", most as u64, again);
        }
        let cells = vec![
            Cell::Count(w),
            Cell::text(if prime { "yes" } else { "no" }),
            Cell::Count(most as u64),
            Cell::Number(several as f64 / (w * w - 1) as f64, Form::Fixed(6)),
        ];
        table.judge(cells, checks);
    }
    table.note(
        "By counting all differences. A row agrees if keys that are not equal in both functions meet in one row at most \
         where w is prime, and in more where it is not.",
    );
    table
}
