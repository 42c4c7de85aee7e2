//! The spectral filter: how often, and how far, its three algorithms are wrong.
//!
//! A trial draws how often each key comes (once, and then by Zipf's law), shuffles the stream, and
//! gives it to all algorithms, simulated and of the library. The simulated minimum selection and
//! minimum increase share their positions, so that their estimates can be compared key by key. All
//! have the same memory: recurring minimum divides it among its primary and secondary counters and
//! its marker.

use crate::garden::{Believe, Cells, Places, Raise, Recurring, VALLENTIN};
use crate::stats::mean_of;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::Result;
use gardenia::filter::{MinimumIncrease, MinimumSelection, Policy, RecurringMinimum};
use gardenia::index::SchemeId;
use gardenia::theory::spectral::{minimum_error, single_minimum, single_minimum_at_most};
use gardenia::{Digest, SpectralBloom};

/// Errors of the spectral filter's algorithms against skew.
#[derive(Clone, Copy, Debug, Default)]
pub struct GardenSpectral {
    /// Which counters the simulated minimum increase raises.
    pub raise: Raise,
}

const ITEMS: u64 = 2_000;
const INSERTS: u64 = 20_000;
const HASHES: u32 = 5;
/// Counters of 16 bits, in all.
const MEMORY: u64 = 12_500;
/// Primary and secondary counters with a marker of as many bits as there are primary ones: 8,000 +
/// 4,000 + 8,000/16.
const MARKED: [u64; 2] = [8_000, 4_000];
/// The same without a marker.
const BARE: [u64; 2] = [8_333, 4_167];

/// The ways that are compared.
const WAYS: [&str; 6] = ["MS", "MI", "RM", "RM, no marker", "RM as printed", "MS of 8,000"];
const MS: usize = 0;
const MI: usize = 1;
const RM: usize = 2;
const RM_BARE: usize = 3;
/// The paper's rule, without a marker: the secondary counters are believed.
const RM_PRINTED: usize = 4;
const MS_PRIMARY: usize = 5;

/// How one algorithm counted a stream: keys whose count is too high, too low, and the sum of all
/// errors.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
struct Errors {
    above: u64,
    below: u64,
    sum: u64,
}

impl Errors {
    fn of(counts: &[u64], estimates: impl Iterator<Item = u64>) -> Self {
        let mut errors = Self::default();
        for (estimate, count) in estimates.zip(counts) {
            errors.above += u64::from(estimate > *count);
            errors.below += u64::from(estimate < *count);
            errors.sum += estimate.abs_diff(*count);
        }
        errors
    }
    fn ratio(self) -> f64 {
        (self.above + self.below) as f64 / ITEMS as f64
    }
    fn size(self) -> f64 {
        self.sum as f64 / ITEMS as f64
    }
    fn too_low(self) -> f64 {
        self.below as f64 / ITEMS as f64
    }
}

/// One stream, given to all ways.
#[derive(serde::Serialize, serde::Deserialize)]
struct Trial {
    simulated: [Errors; 6],
    library: [Errors; 6],
    /// Keys whose estimate by minimum increase is above that by minimum selection.
    worse: u64,
    /// What the simulated marker's own rate has become.
    marker: f64,
}

fn trial(skew: f64, raise: Raise, stream: &mut Stream) -> Result<Trial> {
    let mut counts = stream.zipf(ITEMS as usize, INSERTS - ITEMS, skew);
    counts.iter_mut().for_each(|count| *count += 1);
    let keys = stream.shuffled(&counts);

    let places = Places::draw(ITEMS, MEMORY, HASHES, stream);
    let (mut selection, mut increase) = (Cells::new(MEMORY), Cells::new(MEMORY));
    let mut marked = Recurring::new(ITEMS, MARKED, HASHES, true, stream);
    let mut bare = Recurring::new(ITEMS, BARE, HASHES, false, stream);
    let few = Places::draw(ITEMS, MARKED[0], HASHES, stream);
    let mut primary = Cells::new(MARKED[0]);
    for key in &keys {
        selection.select(places.of(*key), 1);
        increase.increase(places.of(*key), raise);
        marked.insert(*key);
        bare.insert(*key);
        primary.select(few.of(*key), 1);
    }
    let all = || 0..ITEMS as u32;
    let mut simulated = [Errors::default(); 6];
    simulated[MS] = Errors::of(&counts, all().map(|key| selection.least(places.of(key))));
    simulated[MI] = Errors::of(&counts, all().map(|key| increase.least(places.of(key))));
    simulated[RM] = Errors::of(&counts, all().map(|key| marked.estimate(key, Believe::Smaller)));
    simulated[RM_BARE] = Errors::of(&counts, all().map(|key| bare.estimate(key, Believe::Smaller)));
    simulated[RM_PRINTED] = Errors::of(&counts, all().map(|key| bare.estimate(key, Believe::Secondary)));
    simulated[MS_PRIMARY] = Errors::of(&counts, all().map(|key| primary.least(few.of(key))));
    let worse =
        all().filter(|key| increase.least(places.of(*key)) > selection.least(places.of(*key))).count();

    let digests = stream.digests(ITEMS);
    let mut library = [Errors::default(); 6];
    library[MS] = run_library(MinimumSelection, [MEMORY, 0], false, &digests, &keys, &counts)?;
    library[MI] = run_library(MinimumIncrease, [MEMORY, 0], false, &digests, &keys, &counts)?;
    library[RM] = run_library(RecurringMinimum, MARKED, true, &digests, &keys, &counts)?;
    library[RM_BARE] = run_library(RecurringMinimum, BARE, false, &digests, &keys, &counts)?;
    library[MS_PRIMARY] = run_library(MinimumSelection, [MARKED[0], 0], false, &digests, &keys, &counts)?;
    Ok(Trial { simulated, library, worse: worse as u64, marker: marked.marker_rate(HASHES) })
}

fn run_library<P: Policy>(
    policy: P,
    [cells, secondary]: [u64; 2],
    marker: bool,
    digests: &[Digest],
    keys: &[u32],
    counts: &[u64],
) -> Result<Errors> {
    let mut builder = SpectralBloom::builder().cells(cells).hashes(HASHES).scheme(SchemeId::Independent);
    if secondary > 0 {
        builder = builder.secondary_cells(secondary).marker(marker);
    }
    let mut filter = builder.policy(policy).build()?;
    keys.iter().for_each(|key| _ = filter.insert_digest(digests[*key as usize]));
    Ok(Errors::of(counts, digests.iter().map(|digest| filter.count_digest(*digest))))
}

/// All trials at one skew.
struct Point {
    skew: f64,
    trials: Vec<Trial>,
}

impl Point {
    fn simulated(&self, way: usize, of: fn(Errors) -> f64) -> Mean {
        mean_of(&self.trials, |trial| of(trial.simulated[way]))
    }
    fn library(&self, way: usize, of: fn(Errors) -> f64) -> Mean {
        mean_of(&self.trials, |trial| of(trial.library[way]))
    }
    /// How much worse one way is than another, on the same streams.
    fn more(&self, way: usize, other: usize, of: fn(Errors) -> f64) -> Mean {
        mean_of(&self.trials, |trial| of(trial.simulated[way]) - of(trial.simulated[other]))
    }
}

impl Experiment for GardenSpectral {
    fn name(&self) -> &'static str {
        "garden-spectral"
    }
    fn title(&self) -> &'static str {
        "The spectral filter: errors of MS, MI and RM against skew, in equal memory"
    }
    fn source(&self) -> &'static str {
        "Cohen and Matias (2003); Vallentin, A Garden Variety of Bloom Filters (2011)"
    }
    fn claim(&self) -> &'static str {
        "Minimum selection is wrong as often as a Bloom filter, whatever the counts. Minimum increase is never worse, and its errors are several times smaller. Recurring minimum beats selection on its primary counters only."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(400, 40);
        let skews: Vec<f64> =
            (0..=8).filter(|step| !plan.quick || step % 4 == 0).map(|step| f64::from(step) / 4.0).collect();
        let bench = Bench::new(plan, self.name(), progress, skews.len() as u64 * trials * INSERTS);
        let run = |skew: f64| {
            let name = format!("skew={skew}");
            let trials = bench.trials(&name, trials, INSERTS, |stream, _| trial(skew, self.raise, stream))?;
            Ok(Point { skew, trials })
        };
        let points = skews.into_iter().map(run).collect::<Result<Vec<Point>>>()?;
        let single = single(&bench, plan.trials(1_000, 100))?;
        let tables = vec![ratios(&points), sizes(&points), printed(&points), single];
        let figure = |title: &str, axis: Axis, of: fn(Errors) -> f64| {
            let mut figure = Figure::new(title, Axis::linear("exponent of Zipf's law"), axis);
            for (way, name) in WAYS.iter().enumerate() {
                figure =
                    figure.line(*name, points.iter().map(|point| (point.skew, point.simulated(way, of))));
            }
            figure
        };
        let theory = minimum_error(MEMORY, ITEMS, HASHES);
        let figures = vec![
            figure("Keys with a wrong count", Axis::linear("share of keys"), Errors::ratio)
                .theory("E_B", [(0.0, theory), (2.0, theory)]),
            figure("Mean error of a count", Axis::log("mean error"), Errors::size),
        ];
        Ok(Outcome { tables, figures })
    }
}

fn ratios(points: &[Point]) -> Table {
    let trials = points.first().map_or(0, |point| point.trials.len());
    let title = format!(
        "Keys with a wrong count: 2,000 keys, 20,000 inserts, k = 5, memory of 12,500 counters; {trials} streams"
    );
    let columns = [
        "skew",
        "MS",
        "library",
        "E_B",
        "MI",
        "library",
        "RM",
        "library",
        "too low",
        "RM, no marker",
        "library",
        "too low",
    ];
    let mut table = Table::new(title, &columns);
    let theory = minimum_error(MEMORY, ITEMS, HASHES);
    for point in points {
        let [simulated, library] = [0, 1].map(|make| {
            [MS, MI, RM, RM_BARE].map(|way| match make {
                0 => point.simulated(way, Errors::ratio),
                _ => point.library(way, Errors::ratio),
            })
        });
        let mut checks = Checks::default();
        checks.is("MS, by E_B", simulated[MS], theory);
        checks.is("MS of the library, by E_B", library[MS], theory);
        for way in [MI, RM, RM_BARE] {
            checks.alike(WAYS[way], simulated[way], library[way]);
        }
        let low: u64 = point
            .trials
            .iter()
            .map(|trial| {
                let low = |errors: &[Errors; 6]| errors[MS].below + errors[MI].below;
                low(&trial.simulated) + low(&trial.library)
            })
            .sum();
        checks.exactly("counts of MS or MI that are too low", low, 0);
        let worse: u64 = point.trials.iter().map(|trial| trial.worse).sum();
        checks.exactly("counts of MI that are above those of MS", worse, 0);
        checks.above("how much less often MI is wrong than MS", point.more(MS, MI, Errors::ratio), 0.0);
        let low = [RM, RM_BARE].map(|way| point.simulated(way, Errors::too_low));
        for (way, what) in [(RM, "RM"), (RM_BARE, "RM without a marker")] {
            let [one, other] = [point.simulated(way, Errors::too_low), point.library(way, Errors::too_low)];
            checks.alike(&format!("counts of {what} that are too low"), one, other);
        }
        let marker = mean_of(&point.trials, |trial| trial.simulated[RM].too_low() - trial.marker);
        checks.at_most("counts of RM that are too low, against its marker's false positives", marker, 0.0);
        let rate = Form::Fixed(4);
        let cells = vec![
            Cell::Number(point.skew, Form::Fixed(2)),
            Cell::Mean(simulated[MS], rate),
            Cell::Mean(library[MS], rate),
            Cell::Number(theory, Form::Fixed(5)),
            Cell::Mean(simulated[MI], rate),
            Cell::Mean(library[MI], rate),
            Cell::Mean(simulated[RM], rate),
            Cell::Mean(library[RM], rate),
            Cell::Mean(low[0], rate),
            Cell::Mean(simulated[RM_BARE], rate),
            Cell::Mean(library[RM_BARE], rate),
            Cell::Mean(low[1], rate),
        ];
        table.judge(cells, checks);
    }
    table.note(
        "A row agrees if both MS are within four standard errors of E_B (theory::spectral::minimum_error); simulation and library have the same errors; no count of MS or MI is too low; by MI no count is above that by MS at the same positions, and \
         clearly fewer are wrong; RM is too low as often in both, and with its marker no more often than the marker has false positives.",
    );
    table
}

fn sizes(points: &[Point]) -> Table {
    let columns = [
        "skew",
        "MS",
        "library",
        "MI",
        "library",
        "MS/MI",
        "RM",
        "library",
        "RM, no marker",
        "library",
        "RM as printed",
    ];
    let mut table = Table::new("Mean error of a count, on the same streams", &columns);
    for point in points {
        let ways = [MS, MI, RM, RM_BARE];
        let simulated = ways.map(|way| point.simulated(way, Errors::size));
        let library = ways.map(|way| point.library(way, Errors::size));
        let mut checks = Checks::default();
        ways.iter().for_each(|way| checks.alike(WAYS[*way], simulated[*way], library[*way]));
        checks.above(
            "by what errors of MI are smaller than those of MS",
            point.more(MS, MI, Errors::size),
            0.0,
        );
        let size = Form::Fixed(4);
        let cells = vec![
            Cell::Number(point.skew, Form::Fixed(2)),
            Cell::Mean(simulated[MS], size),
            Cell::Mean(library[MS], size),
            Cell::Mean(simulated[MI], size),
            Cell::Mean(library[MI], size),
            Cell::Number(simulated[MS].mean / simulated[MI].mean, Form::Fixed(1)),
            Cell::Mean(simulated[RM], size),
            Cell::Mean(library[RM], size),
            Cell::Mean(simulated[RM_BARE], size),
            Cell::Mean(library[RM_BARE], size),
            Cell::Mean(point.simulated(RM_PRINTED, Errors::size), size),
        ];
        table.judge(cells, checks);
    }
    table.note("A row agrees if simulation and library have the same errors, and errors of MI are clearly smaller than those of MS.");
    table
}

/// Cells and keys of a filter that is half full with five positions.
const HALF_FULL: [u64; 2] = [7_213, 1_000];

/// How many keys have a single minimum.
fn single(bench: &Bench<'_>, trials: u64) -> Result<Table> {
    let [cells, items] = HALF_FULL;
    let title =
        format!("Keys whose minimum is single, {cells} counters, {items} keys, k = 5: {trials} filters");
    let mut table = Table::new(title, &["counts", "simulated", "theory"]);
    let rows = [
        ("all the same", false, single_minimum(cells, items, HASHES)),
        ("far apart", true, single_minimum_at_most(cells, items, HASHES)),
    ];
    for (what, far, theory) in rows {
        let found = bench.trials(&format!("single {what}"), trials, items, |stream, _| {
            let places = Places::draw(items, cells, HASHES, stream);
            let mut counters = Cells::new(cells);
            for key in 0..items as u32 {
                counters.select(places.of(key), if far { stream.word() >> 20 } else { 1 });
            }
            let single = (0..items as u32).filter(|key| counters.single(places.of(*key))).count();
            Ok(single as f64 / items as f64)
        })?;
        let found = Mean::of(&found);
        let mut checks = Checks::default();
        checks.is("keys with a single minimum", found, theory);
        let form = Form::Fixed(4);
        table.judge(vec![Cell::text(what), Cell::Mean(found, form), Cell::Number(theory, form)], checks);
    }
    table.note(
        "\"About 20% of items have a single minimum\" (Cohen and Matias, of skewed data at half fill). A row agrees if the mean is \
         within four standard errors of theory::spectral::single_minimum (single_minimum_at_most where counts are far \
         apart: random ones of 44 bits).",
    );
    Ok(table)
}

/// What the article says, and what came out.
fn printed(points: &[Point]) -> Table {
    let columns = ["printed", "skew", "printed value", "found", "above by"];
    let mut table = Table::new("What is printed, and what is right", &columns);
    let theory = minimum_error(MEMORY, ITEMS, HASHES);
    let form = Form::Fixed(4);
    if let Some(point) = points.first() {
        // The estimate is the minimum by definition: they never differ. It is the true count that differs so often.
        let found = point.simulated(MS, Errors::ratio);
        let mut checks = Checks::default();
        checks.is("Pr(f ≠ m)", found, theory);
        let what = "MS: Pr(estimate ≠ minimum) = E_B";
        let reason = "the estimate is the minimum, so that they never differ; it is the count f_x itself that differs with \
                      probability E_B";
        checks.explain("garden-spectral", what, reason.to_owned());
        let cells = vec![
            Cell::text(what),
            Cell::Number(point.skew, Form::Fixed(2)),
            Cell::Number(theory, form),
            Cell::Mean(found, form),
            Cell::Empty,
        ];
        table.judge(cells, checks);
        let found = point.simulated(MI, Errors::ratio);
        let value = theory / f64::from(HASHES);
        let above = Mean { mean: found.mean - value, ..found };
        let what = "MI: E_B/k for keys drawn alike";
        let mut checks = Checks::default();
        checks.alike("MI, simulated and library", found, point.library(MI, Errors::ratio));
        checks.above("MI, by E_B/k", found, value);
        let reason = format!(
            "of keys drawn alike MI is wrong with {:.2} of E_B, not with 1/k; the size of its errors falls by more",
            found.mean / theory
        );
        checks.explain("garden-spectral", what, reason);
        let cells = vec![
            Cell::text(what),
            Cell::Number(point.skew, Form::Fixed(2)),
            Cell::Number(value, form),
            Cell::Mean(found, form),
            Cell::Mean(above, form),
        ];
        table.judge(cells, checks);
    }
    for point in points.iter().filter(|point| libm::floor(point.skew) == point.skew) {
        for (way, what) in
            [(RM, "RM: at least as well as MS"), (RM_PRINTED, "RM as printed: at least as well as MS")]
        {
            let more = point.more(way, MS, Errors::ratio);
            let low = point.simulated(way, Errors::too_low);
            let gain = point.more(MS_PRIMARY, way, Errors::ratio);
            let mut checks = Checks::default();
            if way == RM {
                let [one, other] = [point.simulated(RM, Errors::ratio), point.library(RM, Errors::ratio)];
                checks.alike("RM, simulated and library", one, other);
            }
            checks.above("how much more often RM is wrong than MS", more, 0.0);
            let clearly = |mean: Mean| mean.mean > mean.errors_allowed() * mean.standard_error;
            let low = if clearly(low) {
                format!("; {:.2}% of all counts are too low, which MS never is", 100.0 * low.mean)
            } else {
                String::new()
            };
            let gain = if clearly(gain) {
                "it is wrong less often than MS on its primary counters alone, and more often"
            } else {
                "it is worse"
            };
            checks.explain("garden-spectral", what, format!("{gain} than MS with the same memory{low}"));
            let cells = vec![
                Cell::text(what),
                Cell::Number(point.skew, Form::Fixed(2)),
                Cell::Number(theory, form),
                Cell::Mean(point.simulated(way, Errors::ratio), form),
                Cell::Mean(more, form),
            ];
            table.judge(cells, checks);
        }
    }
    table.note(format!(
        "Source: {VALLENTIN}. MS of 12,500 counters against RM of 8,000 + 4,000 and a marker, and against RM as \
         printed, 8,333 + 4,167 without one, which trusts the secondary counters where the library uses the smaller count. A row is \
         explained if what is printed fails by more than four standard errors, simulated, on the same streams."
    ));
    table
}
