//! What a query and an insertion cost, from filters that fit the cache to filters that do not.
//!
//! Digests are asked in batches, so that what is measured is the filter, and not the hash function
//! or the wait for one line of memory after the other. One thread works, whatever the plan says:
//! times of two that share a memory would be those of neither. Times carry no verdict; the rows
//! that do say that the filters which were timed are right.

use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Stream, Table,
};
use anyhow::{Context, Result};
use gardenia::plan::{Design, Need, time_queries};
use gardenia::{Ability, Digest, Kind};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Times of queries and insertions against the size of the filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed {
    /// Asks for keys that were never put in as if they had been: it shows that the verdicts notice.
    pub forgetful: bool,
}

/// The rate that all are planned for.
const RATE: f64 = 0.01;
/// Keys asked for.
const QUERIES: usize = 1 << 20;
/// Keys, as powers of two: of a full run, and of a quick one.
const FULL: [u32; 8] = [12, 14, 16, 18, 20, 22, 24, 26];
const QUICK: [u32; 3] = [12, 15, 18];
/// Above this, fixed sets would take gigabytes while they are made.
const LARGEST_FIXED: u32 = 24;
/// The time of building is the best of this many runs.
const REPEATS: u32 = 3;
const KINDS: [Kind; 7] = [
    Kind::Blocked,
    Kind::SplitBlock,
    Kind::Bloom,
    Kind::Cuckoo,
    Kind::Infini,
    Kind::BinaryFuse,
    Kind::Ribbon,
];

/// The planner's design of a kind.
fn design(kind: Kind, items: u64) -> Result<Design> {
    let need = Need::of(items).fpp(RATE);
    let fixed = kind.can(Ability::Fixed);
    let need = if kind.can(Ability::Grow) { need.grow() } else { need };
    let plan = if fixed { need.fixed() } else { need }.plan()?;
    let design = plan.designs().iter().find(|design| design.kind == kind);
    Ok(design.with_context(|| format!("no design of a {} filter", kind.name()))?.clone())
}

/// A filter that was built and asked. Times are in nanoseconds per key.
#[derive(Serialize, Deserialize)]
struct Trial {
    bytes: u64,
    lost: u64,
    found: u64,
    /// What the filter tells of its rate.
    told: f64,
    build: f64,
    present: f64,
    absent: f64,
}

/// The least time of some repeats, per key.
fn best(keys: usize, repeats: u32, mut work: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..repeats {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed().as_secs_f64());
    }
    least * 1e9 / keys as f64
}

fn trial(design: &Design, forgetful: bool, stream: &mut Stream) -> Result<Trial> {
    let keys = stream.digests(design.items);
    let mut built = None;
    // Of the largest once is enough: a page fault more or less is not seen among a hundred million keys.
    let repeats = if keys.len() > 1 << 22 { 1 } else { REPEATS };
    let mut failed = None;
    let build = best(keys.len(), repeats, || {
        drop(built.take());
        match design.build_from(&keys) {
            Ok(filter) => built = Some(filter),
            Err(error) => failed = Some(error),
        }
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let filter = built.context("nothing was built")?;
    let some = |stream: &mut Stream| keys[stream.below(keys.len() as u64) as usize];
    let hits: Vec<Digest> =
        (0..QUERIES).map(|_| if forgetful { Digest(stream.word()) } else { some(stream) }).collect();
    let misses = stream.digests(QUERIES as u64);
    let ((hits, present), (found, absent)) = (time_queries(&filter, &hits), time_queries(&filter, &misses));
    let (bytes, lost) = (filter.memory_bytes() as u64, QUERIES as u64 - hits);
    Ok(Trial { bytes, lost, found, told: filter.fpp(), build, present, absent })
}

impl Experiment for Speed {
    fn name(&self) -> &'static str {
        "speed"
    }
    fn title(&self) -> &'static str {
        "Time per query and per insertion against the size of the filter"
    }
    fn source(&self) -> &'static str {
        "Our own; the machine's processor, caches and memory decide"
    }
    fn claim(&self) -> &'static str {
        "A filter in the cache answers in a few nanoseconds; a larger one pays for the cache lines that it reads."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> Result<Outcome> {
        plan.check()?;
        let sizes: &[u32] = if plan.quick { &QUICK } else { &FULL };
        let fixed = |kind| matches!(kind, Kind::BinaryFuse | Kind::Ribbon);
        let sizes = |kind| sizes.iter().copied().filter(move |&size| !fixed(kind) || size <= LARGEST_FIXED);
        let work = |size: u32| (1 << size) + 6 * QUERIES as u64;
        let total = KINDS.iter().flat_map(|&kind| sizes(kind).map(work)).sum();
        let bench = Bench::new(plan, self.name(), progress, total);
        let columns = ["filter", "keys", "bits per key", "keys lost", "rate", "promised"];
        let mut right = Table::new(format!("The filters that were timed, {QUERIES} queries each"), &columns);
        let columns = ["filter", "keys", "KiB", "build", "present key", "absent key"];
        let mut times = Table::new("Nanoseconds per key, in batches, on one thread", &columns);
        times.timed = true;
        let axes = |what: &str| {
            Figure::new(what, Axis::log("size of the filter, KiB"), Axis::log("ns per key")).timed()
        };
        let mut figures = [axes("Query of an absent key"), axes("Query of a present key"), axes("Building")];
        for kind in KINDS {
            let mut lines = [const { Vec::new() }; 3];
            for size in sizes(kind) {
                let design = design(kind, 1 << size)?;
                let name = format!("{} 2^{size} keys", kind.name());
                let trials =
                    bench.trials(&name, 1, work(size), |stream, _| trial(&design, self.forgetful, stream))?;
                let Some(trial) = trials.into_iter().next() else { continue };
                let rate = Mean::of_rate(trial.found, QUERIES as u64);
                let mut checks = Checks::default();
                checks.exactly("inserted keys that were not found", trial.lost, 0);
                checks.number(
                    "found, against the rate that the filter reports",
                    trial.found,
                    trial.told * QUERIES as f64,
                );
                checks.number_at_most(
                    "found, by the planner's bound",
                    trial.found,
                    design.bound * QUERIES as f64,
                );
                let cells = vec![
                    Cell::text(kind.name()),
                    Cell::Count(design.items),
                    Cell::Number(trial.bytes as f64 * 8.0 / design.items as f64, Form::Fixed(2)),
                    Cell::Count(trial.lost),
                    Cell::Mean(rate, Form::Power(2)),
                    Cell::Number(design.fpp, Form::Power(2)),
                ];
                right.judge(cells, checks);
                let cells = vec![
                    Cell::text(kind.name()),
                    Cell::Count(design.items),
                    Cell::Number(trial.bytes as f64 / 1024.0, Form::Fixed(0)),
                    Cell::Number(trial.build, Form::Fixed(1)),
                    Cell::Number(trial.present, Form::Fixed(1)),
                    Cell::Number(trial.absent, Form::Fixed(1)),
                ];
                times.row(cells, None);
                for (line, time) in lines.iter_mut().zip([trial.absent, trial.present, trial.build]) {
                    line.push([trial.bytes as f64 / 1024.0, time, 0.0]);
                }
            }
            for (figure, line) in figures.iter_mut().zip(lines) {
                *figure = figure.clone().series(kind.name(), crate::Mark::Line, line);
            }
        }
        right.note(
            "A row agrees if all keys are found, and absent keys are found at the rate that the filter reports (as a Poisson number, no rarer than four standard errors) and at most at the planner's bound.",
        );
        times.note(
            "A query's time is the lower quartile of its batches. Building is the best of three runs (of one from 8 million keys on), over keys that are hashed already. Times differ from run to run and with the machine's load; no verdict depends on them.",
        );
        Ok(Outcome { tables: vec![right, times], figures: figures.to_vec() })
    }
}
