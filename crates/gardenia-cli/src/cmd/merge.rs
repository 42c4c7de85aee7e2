//! `gardenia merge`: merges filters, by union or by intersection.

use super::top;
use crate::args::{MemoryArgs, SecretArgs};
use crate::input::check_alike;
use crate::message::{hinted, say};
use crate::open::{is_dash, is_stream, load_any, open};
use crate::output::Output;
use crate::{Outcome, foreign, human, input, memory, message};
use anyhow::bail;
use gardenia::filter::Update;
use gardenia::format::Format;
use gardenia::spec::Param;
use gardenia::theory::overlap::Overlap;
use gardenia::{AnyFilter, Mismatch, Spec};
use std::path::{Path, PathBuf};

/// Merge filter files
///
/// The result finds every key of every filter, as if all had gone into one; counts add up. The
/// filters must be of one kind, size and seed: build them with the same --items, --fpp and --seed.
/// For the kinds that are listed below; for counts saved by `gardenia top -o`; and for filters of
/// Spark, Guava, Hive, DataSketches, Parquet and Milvus.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia merge -o week.gdn mon.gdn tue.gdn wed.gdn     all keys of three days
  gardenia merge --intersect -o both.gdn a.gdn b.gdn     keys of both
  gardenia merge -o - a.gdn b.gdn | gardenia query - new.txt
  gardenia merge -o week.gdn mon.gdn tue.gdn && gardenia top week.gdn

An intersection finds all common keys, but has more false positives than a filter built from them, because bits set by distinct keys remain.")]
pub(crate) struct MergeArgs {
    /// Filter files, two or more; one of them can be -, stdin
    #[arg(required = true, num_args = 2.., value_name = "FILTER")]
    pub(crate) filters: Vec<PathBuf>,

    /// The file to write; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Keep what all filters have in common
    #[arg(long)]
    pub(crate) intersect: bool,

    /// Replace OUT if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Format of the filters, if they are another program's and their bytes do not tell
    #[arg(long, value_name = "FORMAT", value_parser = foreign::format_named)]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,

    /// Print no summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Outcome> {
    let output = Output { path: &args.output, force: args.force, inputs: &args.filters };
    let [first, others @ ..] = &args.filters[..] else { bail!("two filters or more are needed") };
    check_stdin(&args.filters)?;
    output.check()?;
    if args.filters.iter().any(|path| top::is_saved(path)) {
        return merge_counts(args, &output);
    }
    let options = args.memory.options(args.secret.read()?);
    if let Some(outcome) = foreign::merge(args, &output, &options)? {
        return Ok(outcome);
    }
    // A file that cannot be opened is said before the others are read.
    for path in args.filters.iter().filter(|path| !is_stream(path)) {
        open(path, &options)?;
    }
    let mut filter = load_any(first, &options)?;
    let mut overlap = None;
    for path in others {
        let other = load_any(path, &options)?;
        check_keys(first, &filter, path, &other)?;
        let spec = filter.spec();
        let combined = if args.intersect {
            // Of two filters it can be told how many keys they share; not if a third copy would fill the memory.
            let room = memory::available().is_none_or(|free| free / 2 > filter.memory_bytes() as u64);
            overlap = (others.len() == 1 && room).then(|| overlap_of(filter.clone(), &other).ok()).flatten();
            filter.intersect_with(&other)
        } else {
            filter.merge(&other)
        };
        let verb = if args.intersect { "intersected" } else { "merged" };
        match combined {
            None => return Err(unable(first, &filter, verb)),
            Some(combined) => combined.map_err(|difference| {
                differs(first, path, &difference, spec.as_ref(), other.spec().as_ref())
            })?,
        }
    }
    output.write(&filter)?;
    if !args.quiet {
        report(args, &output, &filter, overlap);
    }
    let saturated = filter.as_count().and_then(message::saturated);
    message::warn_of_saturation(&output.name(), saturated, filter.identity().hashes);
    Ok(Outcome::Done)
}

/// One file of counts of several, for `gardenia top`.
fn merge_counts(args: &MergeArgs, output: &Output<'_>) -> anyhow::Result<Outcome> {
    if args.intersect {
        return Err(hinted("the counts of frequent lines cannot be intersected", "leave out --intersect"));
    }
    if let Some(top) = top::merged(&args.filters)? {
        output.write_by(|out| top.write_to(out))?;
        if !args.quiet {
            let (to, files) = (output.name(), human::plural(args.filters.len() as u64, "file"));
            say(&format!("{to}: {files} of counts merged, of {}", human::plural(top.total(), "line")));
        }
    }
    Ok(Outcome::Done)
}

/// Two filters cannot both come from one pipe.
pub(crate) fn check_stdin(filters: &[PathBuf]) -> anyhow::Result<()> {
    if filters.iter().filter(|path| is_dash(path)).count() > 1 {
        bail!("only one filter can come from stdin");
    }
    Ok(())
}

/// Refuses filters whose keys were made in different ways.
pub(crate) fn check_keys(
    first: &Path,
    filter: &AnyFilter,
    path: &Path,
    other: &AnyFilter,
) -> anyhow::Result<()> {
    let Err((ours, theirs)) = check_alike(filter.about(), other.about())? else { return Ok(()) };
    let (first, path) = (input::name(first), input::name(path));
    let reason = format!("{path}: was built with {theirs}, and {first} with {ours}");
    Err(hinted(reason, "build all of them with the same key options"))
}

/// Filters of this kind cannot be combined.
fn unable(path: &Path, filter: &AnyFilter, verb: &str) -> anyhow::Error {
    let kind = filter.kind().name();
    let reason = format!("{}: filters of kind {kind} cannot be {verb}", input::name(path));
    let hint = match filter {
        AnyFilter::Spectral(_) => "build them with --kind spectral-ms or spectral-mi",
        AnyFilter::Choice(_) if verb == "merged" => "build them with --effort online",
        AnyFilter::Counting(_) => "convert them first: gardenia convert --to bloom",
        _ => "build them with --kind blocked or bloom",
    };
    hinted(reason, hint)
}

/// Says what differs, and what to do about it.
pub(crate) fn mismatch(first: &Path, other: &Path, difference: &Mismatch) -> anyhow::Error {
    let hint = match difference.what {
        "kind" => "give filters of one kind; `gardenia convert` changes some",
        "hasher" => "build all of them with a secret, or none",
        "seed" => "build them with one --seed, or one secret",
        "hashes" | "cells" | "cell width" => {
            "build them with the same --items and --fpp, or --bits and --hashes"
        }
        "room for keys" => "build each of them with --items for the keys of all",
        _ => "build them with the same options",
    };
    hinted(message::difference(first, other, difference), hint)
}

/// As [`mismatch`], in terms of the specs that would build the filters: what they differ in, and
/// how to build them alike.
fn differs(
    first: &Path,
    other: &Path,
    difference: &Mismatch,
    ours: Option<&Spec>,
    theirs: Option<&Spec>,
) -> anyhow::Error {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return mismatch(first, other, difference) };
    let all = ours.kind().params().iter().chain(theirs.kind().params());
    let mut params: Vec<Param> =
        all.copied().filter(|param| ours.get(*param) != theirs.get(*param)).collect();
    params.sort_unstable();
    params.dedup();
    // What a filter was planned for says more than the shape that follows from it.
    let shape = [Param::Bits, Param::Cells, Param::Hashes, Param::Width, Param::Columns];
    let planned = [Param::Items, Param::PlannedFpp, Param::Fpp];
    if params.iter().any(|param| planned.contains(param) && ours.has(*param) && theirs.has(*param)) {
        params.retain(|param| !shape.contains(param));
    }
    let part = |spec: &Spec| {
        let given = params.iter().filter_map(|param| {
            let word = if *param == Param::PlannedFpp { Param::Fpp.word() } else { param.word() };
            spec.get(*param).map(|value| format!(" {word}={value}"))
        });
        format!("{}{}", spec.kind().name(), given.collect::<String>())
    };
    if params.is_empty() && ours.kind() == theirs.kind() {
        return mismatch(first, other, difference);
    }
    let (first, other) = (input::name(first), input::name(other));
    hinted(
        format!(
            "{other} is {}, and {first} is {}: only filters of one spec can be merged",
            part(theirs),
            part(ours)
        ),
        format!(
            "build all of them with the same options, or with --spec FILE, where FILE holds: {}",
            shared(ours, theirs)
        ),
    )
}

/// A spec for what two filters hold together: that of the larger one.
fn shared(ours: &Spec, theirs: &Spec) -> String {
    let items = |spec: &Spec| spec.whole(Param::Items).unwrap_or(0);
    let larger = if items(theirs) > items(ours) { theirs } else { ours };
    match (larger.whole(Param::Items), larger.real(Param::Fpp).or(larger.real(Param::PlannedFpp))) {
        (Some(items), Some(fpp)) => format!("{} items={items} fpp={fpp}", larger.kind().name()),
        _ => larger.to_string(),
    }
}

fn report(args: &MergeArgs, output: &Output<'_>, filter: &AnyFilter, overlap: Option<Overlap>) {
    let (to, count) = (output.name(), args.filters.len() as u64);
    let (filters, rate) = (human::plural(count, "filter"), message::rate(filter.fpp(), filter.is_empty()));
    if args.intersect {
        let common = overlap.map_or_else(String::new, |both| {
            let (keys, error) = (round(both.common.items), round(both.common.std_error));
            format!("; about {keys} ± {error} common keys")
        });
        say(&format!("{to}: intersection of {filters}{common}; estimated false positives {rate}"));
        return say("hint: a filter built from the common keys would have fewer");
    }
    let keys = filter.estimated_items().filter(|keys| keys.items.is_finite());
    let told = keys.map_or_else(
        || "an unknown number of keys".to_owned(),
        |keys| format!("about {} ± {} distinct keys", round(keys.items), round(keys.std_error)),
    );
    say(&format!("{to}: {filters} merged; {told}; estimated false positives {rate}"));
    match filter {
        AnyFilter::CountMin(sketch) if sketch.update() == Update::Conservative => {
            say(
                "hint: built with --update plain, sums of files would be as exact as one sketch of all lines",
            );
        }
        AnyFilter::CountMin(_) => {}
        _ => {
            let (planned, wanted) = (filter.about().planned_items(), filter.about().planned_fpp());
            let many = keys.is_none_or(|keys| keys.items - 3.0 * keys.std_error > planned as f64);
            if planned > 0 && many && filter.fpp() > wanted {
                let (planned, wanted) = (human::plural(planned, "key"), human::share(wanted));
                say(&format!(
                    "gardenia: warning: each was planned for {planned}: false-positive rate {rate}, not {wanted}"
                ));
                say("hint: build each with the --items of all together");
            }
        }
    }
}

/// A number of keys: none, if chance made it less.
pub(crate) fn round(items: f64) -> String {
    human::count(items.max(0.0).round() as u64)
}

/// What two filters have in common. The first becomes their union on the way.
pub(crate) fn overlap_of(a: AnyFilter, b: &AnyFilter) -> Result<Overlap, Why> {
    a.overlap(b).ok_or(Why::Kind)?.map_err(Why::Mismatch)
}

/// Why it is not known what two filters have in common.
pub(crate) enum Why {
    /// Filters of this kind do not show it.
    Kind,
    /// They are not alike.
    Mismatch(Mismatch),
}
