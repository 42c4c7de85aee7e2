//! `gardenia plan`: from a need to designs, with the commands that build them.

mod command;
mod plot;
mod sample;

use super::calibration;
use crate::input::{Batch, Block, KeyArgs, Keys, Reading, Source};
use crate::message::{self, hinted, say};
use crate::{Outcome, human};
use anyhow::Context;
use clap::{Args, ValueEnum};
use gardenia::Ability;
use gardenia::plan::{Calibration, Design, ErrorMeans, Impossible, Need, Plan, Prefer, Reason};
use gardenia::{KeyHasher, SizeError};
use plot::Curve;
use sample::{Estimate, Smallest};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// Recommend a filter and its size
///
/// Prints which kinds of filter fit, how large they are, their false-positive rates, the cost of a
/// query, and the command that builds each. The best comes first: by time and memory, or by
/// false-positive rate if only memory is given.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia plan --items 10M --fpp 0.1%                    ten million keys, one false positive in a thousand
  gardenia plan -n 10M -p 1/1000 --remove --memory 20MiB  keys can be removed; in 20 MiB
  gardenia plan -n 1e9 --memory 1GiB --fixed              the lowest rate in a GiB, for keys that never change
  gardenia plan --sample log.txt --fpp 1%                 as many keys as the file has
  gardenia plan -n 1M --window                            the last million keys of a stream
  gardenia plan --fpp 1%                                  unknown number of keys
  gardenia plan -n 10M --json | jq -r '.designs[0].command'

Columns:
  rate      false-positive rate (for filters that count: the share of counts that are too high)
  at most   upper bound on the rate of the built filter, at --confidence
  lines     cache lines per query, and ns per query in a batch: see `gardenia bench --calibrate`
  plot      each design by its number, also at other rates; a dotted line at the rate asked for

With --json one object is printed; unknown values are null.
Exit codes: 0 done, 1 no filter can do it (the nearest that can is shown), 2 error.")]
pub(crate) struct PlanArgs {
    /// Distinct keys, such as 10M; of a --window, those that are remembered [default: unknown]
    #[arg(short = 'n', long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    items: Option<u64>,

    /// Count the distinct keys of this file instead, within 0.4%; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "items")]
    sample: Vec<PathBuf>,

    /// False-positive probability: 0.01, 1%, 1/100 [default: 1%, or the least in --memory]
    #[arg(short = 'p', long, value_name = "P", value_parser = human::parse_share, allow_negative_numbers = true)]
    fpp: Option<f64>,

    /// Memory limit, such as 20MiB
    #[arg(short, long, value_name = "BYTES", value_parser = human::parse_bytes, allow_negative_numbers = true)]
    memory: Option<u64>,

    /// Keys can be removed
    #[arg(long)]
    remove: bool,

    /// Keys are counted, up to MAX
    #[arg(
        long,
        value_name = "MAX",
        num_args = 0..=1,
        default_missing_value = "65535",
        value_parser = human::parse_count
    )]
    count: Option<u64>,

    /// Only the last keys of an endless stream matter
    #[arg(long)]
    window: bool,

    /// More keys may be added than planned
    #[arg(long)]
    grow: bool,

    /// All keys are known up front, and never change
    #[arg(long, alias = "static")]
    fixed: bool,

    /// Each key has a value of this many bits, and the keys never change
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    values: Option<u32>,

    /// Filters that were built separately are merged
    #[arg(long, alias = "union")]
    merge: bool,

    /// Several threads insert at once
    #[arg(long, alias = "threads")]
    share: bool,

    /// The filter is sent or stored, so its file size counts
    #[arg(long, alias = "wire")]
    send: bool,

    /// Share of queries for keys that are in the filter
    #[arg(long, value_name = "S", default_value = "50%", value_parser = human::parse_share, allow_negative_numbers = true)]
    present: f64,

    /// Confidence of the "at most" column
    #[arg(long, value_name = "Q", default_value = "99.9%", value_parser = human::parse_share, allow_negative_numbers = true)]
    confidence: f64,

    /// What counts most
    #[arg(long, value_enum, default_value_t = By::Balance)]
    prefer: By,

    /// Print no plot of false-positive rate against bits per key
    #[arg(long)]
    no_plot: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print no notes and no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    key: KeyArgs,
}

/// By what designs are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Time times memory; in given memory the rate
    Balance,
    /// Time of a query
    Speed,
    /// Memory; in given memory the rate
    Memory,
}

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<Outcome> {
    let (calibration, from, trouble) = calibration::load();
    if let (Some(trouble), false) = (trouble, args.quiet) {
        say(&format!("gardenia: warning: {trouble}"));
        say(
            "hint: `gardenia bench --calibrate` writes it again; until then times are those of a reference machine",
        );
    }
    if args.values.is_some() && args.items.is_none() && args.sample.is_empty() {
        return Err(hinted("--values needs the number of keys", "add -n N, or --sample FILE"));
    }
    let sample = if args.sample.is_empty() { None } else { Some(read_sample(args)?) };
    let need = need(args, sample.as_ref());
    let result = need.plan_with(&calibration);
    if let Err(Impossible { reason: Reason::Size(error), .. }) = &result {
        return Err(size(error));
    }
    let mut stdout = io::stdout().lock();
    if args.json {
        let source = from.as_ref().map(|path| path.display().to_string());
        let report = Report::new(args, &need, sample, source, &result);
        writeln!(stdout, "{}", serde_json::to_string(&report)?).context("stdout")?;
    } else {
        let text = match &result {
            Ok(plan) => table(args, &need, sample, &calibration, plan),
            Err(impossible) => answer(args, &need, sample, impossible),
        };
        write!(stdout, "{text}").context("stdout")?;
        if from.is_none() && result.is_ok() && !args.quiet {
            say(
                "times (queries in batches) were measured on a reference machine; run `gardenia bench --calibrate` to measure yours",
            );
        }
    }
    Ok(if result.is_ok() { Outcome::Done } else { Outcome::Nothing })
}

/// Says which option to change.
fn size(error: &SizeError) -> anyhow::Error {
    match error {
        SizeError::Conflict(text) if text.contains("present") => {
            hinted(error, "--present is a share such as 90%")
        }
        SizeError::Conflict(text) if text.contains("confidence") => {
            hinted(error, "--confidence is a probability such as 99%")
        }
        SizeError::Width { width } if *width > 32 => {
            hinted(format!("{width} bits do not fit a cell of 32"), "lower --values or --count")
        }
        error => message::size(error.clone()),
    }
}

/// Counts the distinct keys of the inputs.
fn read_sample(args: &PlanArgs) -> anyhow::Result<Estimate> {
    let (sources, hasher, keys) = (Source::all(&args.sample), KeyHasher::default(), args.key.keys()?);
    sources.iter().try_for_each(Source::check)?;
    let (doing, progress, threads) = ("reading", !args.quiet, 1);
    let reading = Reading { sources: &sources, keys: &keys, doing, progress, threads, strict: true };
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);
    let mut smallest = Smallest::default();
    reading.run(look, &mut |_: Block<'_>, batch: &mut Batch| {
        smallest.add(&batch.digests);
        Ok(())
    })?;
    let estimate = smallest.estimate();
    match estimate.lines {
        0 => Err(hinted("the sample has no keys", "name files that have some, or give --items N")),
        _ => Ok(estimate),
    }
}

fn need(args: &PlanArgs, sample: Option<&Estimate>) -> Need {
    let items = args.items.or(sample.map(Estimate::items));
    let mut need = items.map_or_else(Need::unknown, Need::of);
    if let Some(sample) = sample {
        need = need.repeated(sample.lines, sample.most);
    }
    for (wanted, ability) in [
        (args.remove, Ability::Remove),
        (args.window, Ability::Forget),
        (args.grow, Ability::Grow),
        (args.fixed, Ability::Fixed),
        (args.merge, Ability::Merge),
        (args.share, Ability::Share),
        (args.send, Ability::Send),
    ] {
        if wanted {
            need = need.with(ability);
        }
    }
    if let Some(largest) = args.count {
        need = need.count(largest);
    }
    if let Some(bits) = args.values {
        need = need.values(bits);
    }
    if let Some(fpp) = args.fpp {
        need = need.fpp(fpp);
    }
    if let Some(bytes) = args.memory {
        need = need.memory(bytes);
    }
    let prefer = match args.prefer {
        By::Balance => Prefer::Balance,
        By::Speed => Prefer::Speed,
        By::Memory => Prefer::Memory,
    };
    need.present(args.present).confidence(args.confidence).prefer(prefer)
}

/// The need in a line.
fn heading(args: &PlanArgs, need: &Need, sample: Option<Estimate>) -> String {
    let mut parts = Vec::new();
    let items = args.items.or(sample.as_ref().map(Estimate::items));
    parts.push(match (items, args.memory) {
        (Some(items), _) => human::plural(items, "key"),
        // What the planner's figures are for, if nobody says.
        (None, None) => "any number of keys (sizes are those for 1,000,000)".to_owned(),
        (None, Some(_)) => "any number of keys".to_owned(),
    });
    match (args.fpp, args.memory) {
        (Some(fpp), _) => parts.push(format!("{} false positives", human::share(fpp))),
        (None, Some(_)) => parts.push("the lowest false-positive rate".to_owned()),
        (None, None) => parts.push("1% false positives".to_owned()),
    }
    if let Some(bytes) = args.memory {
        parts.push(format!("in {}", human::bytes(bytes)));
    }
    parts.extend(need.abilities().iter().map(|ability| ability.name().to_owned()));
    let mut text = parts.join(", ") + "\n";
    if let Some(Estimate { lines, distinct, std_error, most }) = sample {
        let repeats = 1.0 - distinct / lines as f64;
        let about = if std_error > 0.0 {
            format!("about {} ± {}", human::count(distinct as u64), human::count(std_error as u64))
        } else {
            human::count(distinct as u64)
        };
        let seen = match most {
            0 | 1 => "no key occurs twice".to_owned(),
            most => format!("the most frequent occurs {} times", human::count(most)),
        };
        text += &format!(
            "sample: {}, {about} distinct; {} repeat an earlier one, {seen}\n",
            human::plural(lines, "key"),
            human::percent(repeats.max(0.0)),
        );
    }
    text
}

/// Marks of designs in the table and in the plot.
fn mark(rank: usize) -> char {
    "123456789abcdefghijklmnopqrstuvwxyz".chars().nth(rank).unwrap_or('+')
}

/// The designs as a table, with the commands that build them, and the plot.
fn table(
    args: &PlanArgs,
    need: &Need,
    sample: Option<Estimate>,
    calibration: &Calibration,
    plan: &Plan,
) -> String {
    let mut text = heading(args, need, sample);
    let titles = ["", "kind", "bits/key", "memory", "rate", "at most", "lines", "ns"];
    let mut rows = vec![titles.map(str::to_owned)];
    for (rank, design) in plan.designs().iter().enumerate() {
        rows.push([
            mark(rank).to_string(),
            design.kind.name().to_owned(),
            format!("{:.1}", design.bits_per_key),
            human::bytes(design.bytes),
            human::share(design.fpp),
            human::share(design.bound),
            format!("{:.1}", design.lines),
            format!("{:.1}", design.ns),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        text += &format!("\n{}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
        if let Some(design) = number.checked_sub(1).and_then(|rank| plan.designs().get(rank)) {
            text += &details(args, design);
        }
    }
    if !args.no_plot {
        let curves = curves(need, calibration, plan);
        let lines = plot::draw(&curves, args.fpp.or_else(|| args.memory.is_none().then_some(0.01)));
        if !lines.is_empty() {
            text += &format!("\n{}\n", lines.join("\n"));
        }
    }
    text
}

/// Why, and how.
fn details(args: &PlanArgs, design: &Design) -> String {
    let mut text = format!("   {}{}\n", design.why, means(design));
    if args.send {
        text += &format!("   {} in a file\n", human::bytes(design.file_bytes));
    }
    text += &format!("   {}\n", command::line(design, args.memory, args.fpp, &files(args)));
    text
}

/// What an error is, where it is not a false positive; and for how many keys the figures are where
/// nobody knows.
fn means(design: &Design) -> String {
    match design.error {
        ErrorMeans::CountAbove(epsilon) => {
            format!(
                "; an error is a count that is too high by more than {} of the total",
                human::share(epsilon)
            )
        }
        _ => String::new(),
    }
}

/// The files of the sample, as the commands name them; stdin has no name.
fn files(args: &PlanArgs) -> Vec<String> {
    let names: Vec<String> = args.sample.iter().map(|path| path.display().to_string()).collect();
    if names.iter().any(|name| name == "-") { Vec::new() } else { names }
}

/// What each kind of the plan takes at other rates.
fn curves(need: &Need, calibration: &Calibration, plan: &Plan) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let mut kinds = Vec::new();
    for (rank, design) in plan.designs().iter().enumerate() {
        if !kinds.contains(&design.kind) && design.error == ErrorMeans::FalsePositive {
            kinds.push(design.kind);
            curves.push(Curve { mark: mark(rank), points: vec![(design.bits_per_key, design.fpp)] });
        }
    }
    // From 30 % to 10⁻⁵ in equal steps of the logarithm.
    for step in 0..12 {
        let fpp = 0.3 * 10f64.powf(-f64::from(step) * 4.5 / 11.0);
        let Ok(other) = need.clone().any_memory().fpp(fpp).plan_with(calibration) else { continue };
        for design in other.designs() {
            if let Some(at) = kinds.iter().position(|kind| *kind == design.kind) {
                // Of two designs of one kind the first stands for it.
                let known = curves[at].points.iter().any(|(_, rate)| *rate == design.fpp);
                // A kind with few rates errs far less than asked: it is shown where it was asked for that.
                if !known && design.bits_per_key <= 64.0 && design.fpp > fpp / 10.0 {
                    curves[at].points.push((design.bits_per_key, design.fpp));
                }
            }
        }
    }
    curves
}

/// What is impossible, and what is not.
fn answer(args: &PlanArgs, need: &Need, sample: Option<Estimate>, impossible: &Impossible) -> String {
    let mut text = heading(args, need, sample);
    let reason = match &impossible.reason {
        Reason::Memory { needed, allowed } => format!(
            "the smallest filter takes {}, and --memory allows {}",
            human::bytes(*needed),
            human::bytes(*allowed)
        ),
        Reason::Useless { allowed, items } => format!(
            "in {} a filter of {} reports more than half of all other keys as present",
            human::bytes(*allowed),
            human::plural(*items, "key")
        ),
        reason => reason.to_string(),
    };
    text += &format!("impossible: {reason}\n");
    if let Some(design) = impossible.nearest.as_deref() {
        text += &format!(
            "nearest, {}: {}, {}, {:.1} bits per key, false-positive rate {}\n",
            impossible.without,
            design.kind.name(),
            human::bytes(design.bytes),
            design.bits_per_key,
            human::share(design.fpp)
        );
        text += &details(args, design);
    }
    text
}

/// What `--json` prints: fields are added, never renamed or removed.
#[derive(Serialize)]
struct Report {
    need: NeedReport,
    sample: Option<SampleReport>,
    /// The file that times are from; null if they are those of another machine.
    calibration: Option<String>,
    designs: Vec<DesignReport>,
    impossible: Option<ImpossibleReport>,
}

#[derive(Serialize)]
struct NeedReport {
    items: Option<u64>,
    fpp: Option<f64>,
    memory: Option<u64>,
    abilities: Vec<&'static str>,
    present: f64,
}

#[derive(Serialize)]
struct SampleReport {
    keys: u64,
    distinct: f64,
    std_error: f64,
    largest_count: u64,
}

#[derive(Serialize)]
struct DesignReport {
    kind: &'static str,
    items: u64,
    bits_per_key: f64,
    bytes: u64,
    file_bytes: u64,
    fpp: f64,
    bound: f64,
    confidence: f64,
    /// How far above the truth a count must be to be an error; null if errors are false positives.
    count_above: Option<f64>,
    lines: f64,
    ns: f64,
    why: String,
    command: String,
}

#[derive(Serialize)]
struct ImpossibleReport {
    reason: String,
    without: String,
    nearest: Option<DesignReport>,
}

impl Report {
    fn new(
        args: &PlanArgs,
        need: &Need,
        sample: Option<Estimate>,
        calibration: Option<String>,
        result: &Result<Plan, Impossible>,
    ) -> Self {
        let files = files(args);
        let designs = result.as_ref().map_or(&[][..], Plan::designs);
        Self {
            need: NeedReport {
                items: args.items.or(sample.as_ref().map(Estimate::items)),
                fpp: args.fpp,
                memory: args.memory,
                abilities: need.abilities().iter().map(|ability| ability.name()).collect(),
                present: args.present,
            },
            sample: sample.map(|Estimate { lines, distinct, std_error, most }| SampleReport {
                keys: lines,
                distinct,
                std_error,
                largest_count: most,
            }),
            calibration,
            designs: designs
                .iter()
                .map(|design| DesignReport::new(design, args.memory, args.fpp, &files))
                .collect(),
            impossible: result.as_ref().err().map(|impossible| ImpossibleReport {
                reason: impossible.reason.to_string(),
                without: impossible.without.clone(),
                nearest: impossible
                    .nearest
                    .as_deref()
                    .map(|design| DesignReport::new(design, args.memory, args.fpp, &files)),
            }),
        }
    }
}

impl DesignReport {
    fn new(design: &Design, memory: Option<u64>, fpp: Option<f64>, files: &[String]) -> Self {
        Self {
            kind: design.kind.name(),
            items: design.items,
            bits_per_key: design.bits_per_key,
            bytes: design.bytes,
            file_bytes: design.file_bytes,
            fpp: design.fpp,
            bound: design.bound,
            confidence: design.confidence,
            count_above: match design.error {
                ErrorMeans::CountAbove(epsilon) => Some(epsilon),
                _ => None,
            },
            lines: design.lines,
            ns: design.ns,
            why: design.why.clone(),
            command: command::line(design, memory, fpp, files),
        }
    }
}
