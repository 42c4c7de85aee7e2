//! Count-Min with a function for each row, and with two for all.
//!
//! The error of a sketch does not depend on the order of a stream, only on how often each key came: a stream is drawn
//! once, and the trials draw functions (and keys, which are random numbers). The simulation has the pairwise family of
//! the papers and shares nothing with the library, which stands beside it.

use crate::compare::{RARE, by_chance, mean_of};
use crate::garden::{CountMinSketch, SketchSize, Step};
use crate::stats::poisson_tail;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
    Verdict,
};
use anyhow::Result;
use gardenia::theory::count_min::{failure_modified, failure_original, shape};
use gardenia::{CountMin, Digest, Form as SketchForm};
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
/// How often keys came; ranks are places.
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

/// What one sketch made of a stream: how many keys are above the truth by more than each share of the total, the sum of
/// what all are above, how many are below the truth, and sums of relative errors by rank.
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

/// How often absent keys meet the only one that was counted, in all rows.
fn meetings(size: SketchSize, step: Step, queries: u64, stream: &mut Stream) -> u64 {
    let mut sketch = CountMinSketch::new(size, step, stream);
    sketch.add(stream.word() >> 4, 1);
    (0..queries).filter(|_| sketch.estimate(stream.word() >> 4) > 0).count() as u64
}

fn library_meetings(size: SketchSize, queries: u64, stream: &mut Stream) -> Result<u64> {
    let mut sketch = library_sketch(size, stream)?;
    sketch.add_digest(Digest(stream.word()), 1);
    Ok((0..queries).filter(|_| sketch.count_digest(Digest(stream.word())) > 0).count() as u64)
}

fn bound(size: SketchSize, epsilon: f64) -> f64 {
    match size.form {
        SketchForm::Modified => failure_modified(epsilon, size.columns, size.depth, size.copies),
        _ => failure_original(epsilon, size.columns, size.depth),
    }
}

/// The share of keys above the truth by more than the given share of the total.
fn failing(keys: &Keys, trials: &[Errors], at: usize) -> Mean {
    mean_of(trials, |errors| errors.above[at] as f64 / keys.counts.len() as f64)
}

fn at_most(checks: &mut Checks, what: &str, share: Mean, bound: f64) {
    checks.that(by_chance(share.mean - bound, share), || {
        format!("{what}: {:.3e} of all keys fail, more than {bound:.3e}", share.mean)
    });
}

fn never_below<'a>(checks: &mut Checks, mut trials: impl Iterator<Item = &'a Errors>) {
    let below = trials.by_ref().map(|errors| errors.below).sum::<u64>();
    checks.that(below == 0, || format!("{below} estimates are too low"));
}

impl Experiment for KmCountMin {
    fn name(&self) -> &'static str {
        "km-count-min"
    }
    fn title(&self) -> &'static str {
        "Count-Min sketches with a hash function for each row, and with two for all"
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
        let trials = plan.trials(100, 6);
        let updates = if plan.quick { 100_000 } else { 1_000_000 };
        let skews = [(UNIVERSE, 0.0), (100, 0.0), (UNIVERSE, 0.8), (UNIVERSE, 1.0), (UNIVERSE, 1.5)];
        let skews = skews.into_iter().filter(|(_, skew)| !plan.quick || *skew != 0.8);
        let streams: Vec<Keys> = skews.map(|stream| Keys::draw(plan, self.name(), stream, updates)).collect();
        let narrow_trials = plan.trials(400, 12);
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
        let columns =
            ["stream", "form", "ε", "w", "d", "counters", "simulated", "library", "bound", "mean error/ε"];
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
                at_most(&mut checks, "simulated", shares[0], bound);
                at_most(&mut checks, "library", shares[1], bound);
                never_below(&mut checks, simulated.iter().chain(&library));
                checks.that(bound <= epsilon, || format!("the theorem promises {bound:.3e}, not {epsilon}"));
                let error = mean_of(&simulated, |errors| {
                    errors.sum as f64 / keys.counts.len() as f64 / (epsilon * keys.total as f64)
                });
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
                    Cell::Mean(error, Form::Fixed(4)),
                ];
                designed.row(cells, Some(checks.verdict()));
            }
        }
        designed.note(
            "Simulated, library: the share of keys whose estimate is above their count by more than ε of all updates. A row \
             agrees if neither is above the bound by more than four standard errors, no estimate is too low, and the bound \
             is at most ε.",
        );

        // Narrow ones, where failures show.
        let (w, depth) = (53, 2);
        let shares: Vec<f64> =
            (0..12).map(|i| 1.25 / w as f64 * libm::pow(40.0, f64::from(i) / 11.0)).collect();
        let title =
            format!("Narrow sketches, w = {w}, d = {depth}: share of keys that fail, {narrow_trials} draws");
        let columns = ["stream", "ε·w", "original", "bound", "modified", "bound"];
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
            for (at, share) in shares.iter().enumerate().filter(|(at, _)| at % 2 == 1 && *at < 8) {
                let mut checks = Checks::default();
                let mut cells = vec![Cell::text(&keys.name), Cell::Number(share * w as f64, Form::Fixed(2))];
                for ((form, name), trials) in FORMS.iter().zip(&forms) {
                    let (failing, bound) =
                        (failing(keys, trials, at), bound(size(*form, w, depth, 1), *share));
                    at_most(&mut checks, name, failing, bound);
                    never_below(&mut checks, trials.iter());
                    cells.extend([Cell::Mean(failing, Form::Fixed(5)), Cell::Number(bound, Form::Fixed(5))]);
                }
                narrow.row(cells, Some(checks.verdict()));
            }
            curves.push(forms);
        }
        narrow.note("A row agrees if no share is above its bound by more than four standard errors.");
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
                    .trials(&point, met, queries, |stream, _| Ok(meetings(size, self.step, queries, stream)))?
                    .iter()
                    .sum();
                let ours: u64 = bench
                    .trials(&format!("library {point}"), met, queries, |stream, _| {
                        library_meetings(size, queries, stream)
                    })?
                    .iter()
                    .sum();
                // Two rows that meet say that both functions agree: then all rows meet.
                let rows = if form == SketchForm::Original { depth } else { depth.min(2) * copies };
                let chance = libm::pow(w as f64, -f64::from(rows));
                let asked = met * queries;
                let mut checks = Checks::default();
                for (what, found) in [("simulated", found), ("library", ours)] {
                    let (fewer, more) = poisson_tail(found, chance * asked as f64);
                    checks.that(fewer > RARE && more > RARE, || {
                        format!("{what}: {found} meet, where {:.1} are expected", chance * asked as f64)
                    });
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
                floor.row(cells, Some(checks.verdict()));
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
        Ok(Outcome { tables: vec![designed, narrow, floor, printed(), primes()], figures })
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
        let verdict = if right > 1.0
            && both(d) <= epsilon
            && both(d - 1.0) > epsilon
            && enough(copies)
            && !enough(copies - 1.0)
        {
            let other = if both(less) > epsilon {
                format!(" d ≥ (ln 1/ε)(1 - 1/2e²) will not do: its bound is {:.6}.", both(less))
            } else {
                String::new()
            };
            Verdict::Explained(format!(
                "erratum 13: δ is no part of the theorem, and {right:.2} is no probability; d ≥ ln(1/(ε(1 - 1/(2e²)))) is \
                 what the proof needs, with a row less the bound is {:.6}.{other} Erratum 14: {copies} copies do, not {}.",
                both(d - 1.0),
                2.0 * copies,
            ))
        } else {
            Verdict::Differs(vec![format!("d = {d} gives {:.4}", both(d))])
        };
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
        table.row(cells, Some(verdict));
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
    let depth = 5;
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
        checks.that(if prime { most == 1 } else { most > 1 }, || format!("they meet in {most} rows"));
        let cells = vec![
            Cell::Count(w),
            Cell::text(if prime { "yes" } else { "no" }),
            Cell::Count(most as u64),
            Cell::Number(several as f64 / (w * w - 1) as f64, Form::Fixed(6)),
        ];
        table.row(cells, Some(checks.verdict()));
    }
    table.note(
        "By counting all differences. A row agrees if keys that are not equal in both functions meet in one row at most \
         where w is prime, and in more where it is not.",
    );
    table
}
