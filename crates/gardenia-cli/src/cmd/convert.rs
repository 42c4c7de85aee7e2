//! `gardenia convert`: a filter of one kind or format as another, without its keys where that is
//! possible.

use super::collected::Collected;
use crate::args::{MemoryArgs, SecretArgs};
use crate::foreign::{self, ForeignArgs};
use crate::input::{KeyArgs, Reading, Source};
use crate::message::{self, hinted, say};
use crate::open::load_and_tell;
use crate::output::Output;
use crate::{Outcome, human, input, memory};
use anyhow::{Context, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gardenia::format::{Format, dcso};
use gardenia::hash::HasherId;
use gardenia::{AnyFilter, CompressedBloom, KeyHasher, Kind};
use std::path::PathBuf;

/// The default.
const FPP: f64 = 0.01;

/// Change the kind or the format of a filter file
///
/// Without its keys a filter can become another only if a key keeps its bits: a counting filter
/// becomes a bloom, a bloom a compressed one and back. A file of DCSO's bloom program, which is
/// recognised, becomes a bloom (or compressed) filter with that program's hash function, and such a
/// filter a DCSO file again, without loss. Filters of other hash functions cannot: make a DCSO file
/// of the keys, by --from keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia convert --to bloom -o plain.gdn stock.gdn           a counting filter without its counts: a quarter of it
  gardenia convert --to compressed -o small.gdn sparse.gdn     smaller to send
  gardenia convert --to bloom -o iocs.gdn iocs.bloom           from DCSO's format: `add`, `merge` and all others work
  gardenia convert --to dcso -o iocs.bloom iocs.gdn            and back
  gardenia convert --from keys --to dcso -p 1/10000 -o iocs.bloom iocs.txt
  gardenia convert --to sbbf -o ids.gdn data.parquet:id        the filter of a column, as one of ours
  gardenia convert --to parquet -o ids.sbbf ids.gdn            header and bitset, as they lie in a Parquet file

`query`, `info`, `merge` and `diff` read DCSO files as they are.")]
pub(crate) struct ConvertArgs {
    /// The filter file; - is stdin. With --from keys: files of keys, one per line
    #[arg(value_name = "FILTER")]
    pub(crate) inputs: Vec<PathBuf>,

    /// What to make
    #[arg(long, value_name = "KIND|FORMAT", value_parser = To::parser())]
    pub(crate) to: To,

    /// What is given
    #[arg(long, value_enum, default_value_t = From::Filter)]
    pub(crate) from: From,

    /// The file to write; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Replace OUT if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Number of keys, with --from keys [default: counted]
    #[arg(short = 'n', long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    pub(crate) items: Option<u64>,

    /// False-positive probability, with --from keys [default: 1%]
    #[arg(short = 'p', long, value_name = "P", value_parser = human::parse_share, allow_negative_numbers = true)]
    pub(crate) fpp: Option<f64>,

    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What a filter can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Kind(Kind),
    Format(Format),
}

impl To {
    /// The kinds that other filters can become without their keys.
    const KINDS: [Kind; 3] = [Kind::Bloom, Kind::Compressed, Kind::SplitBlock];

    fn parser() -> impl TypedValueParser<Value = Self> {
        let kinds = Self::KINDS.map(|kind| PossibleValue::new(kind.name()).help(kind.summary()));
        let formats = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.title()));
        PossibleValuesParser::new(kinds.into_iter().chain(formats)).map(|name| {
            let kind = Self::KINDS.into_iter().find(|kind| kind.name() == name);
            match (kind, Format::from_name(&name)) {
                (Some(kind), _) => Self::Kind(kind),
                (None, format) => Self::Format(format.unwrap_or(Format::Dcso)), // the list has no other names
            }
        })
    }
}

/// What it can be converted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum From {
    /// A filter file, ours or DCSO's
    Filter,
    /// Lines
    Keys,
}

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let output = Output { path: &args.output, force: args.force, inputs: &args.inputs };
    check_options(args)?;
    if args.from == From::Filter
        && let Some(outcome) = foreign::convert(args)?
    {
        return Ok(outcome);
    }
    output.check()?;
    let filter = match args.from {
        From::Keys => of_keys(args)?,
        From::Filter => {
            let path = &args.inputs[0];
            let (filter, foreign) = load_and_tell(path, &args.memory.options(args.secret.read()?))?;
            convert(args, filter, foreign).with_context(|| input::name(path))?
        }
    };
    match (&filter, args.to) {
        (AnyFilter::Bloom(bloom), To::Format(_)) => output.write_by(|out| dcso::write_to(bloom, out))?,
        _ => output.write(&filter)?,
    }
    if !args.quiet {
        let (bytes, rate) =
            (human::bytes(filter.memory_bytes() as u64), message::rate(filter.fpp(), filter.is_empty()));
        let kind = if matches!(args.to, To::Format(_)) { "a DCSO file" } else { filter.kind().name() };
        say(&format!("{}: {kind}; {bytes} in memory; estimated false positives {rate}", output.name()));
    }
    Ok(Outcome::Done)
}

/// Options without an effect are refused, not ignored.
fn check_options(args: &ConvertArgs) -> anyhow::Result<()> {
    match (args.from, args.to) {
        (From::Keys, To::Format(Format::Dcso))
            if args.secret.secret.is_some() || args.secret.secret_file.is_some() =>
        {
            Err(hinted(
                "a DCSO file has no secret",
                "`gardenia build --secret-file FILE` makes keyed filters",
            ))
        }
        (From::Keys, To::Format(Format::Dcso)) => Ok(()),
        (From::Keys, _) => {
            let hint =
                "`gardenia build` builds all other filters from keys; with --format, those of other programs";
            Err(hinted("--from keys is for --to dcso", hint))
        }
        (From::Filter, _) if args.items.is_some() || args.fpp.is_some() || args.key != KeyArgs::default() => {
            let reason = "a filter keeps its size: --items, --fpp and key options are for --from keys";
            Err(hinted(reason, "leave them out, or give the keys"))
        }
        (From::Filter, _) if args.inputs.len() != 1 => {
            Err(hinted("one filter is converted at a time", "`gardenia merge` merges several"))
        }
        (From::Filter, _) => Ok(()),
    }
}

/// The same keys in another kind of filter.
fn convert(args: &ConvertArgs, filter: AnyFilter, foreign: bool) -> anyhow::Result<AnyFilter> {
    let already = match (&filter, args.to) {
        (AnyFilter::Bloom(_), To::Kind(Kind::Bloom)) => !foreign,
        (AnyFilter::Bloom(_), To::Format(_)) => foreign,
        (AnyFilter::Compressed(_), To::Kind(Kind::Compressed)) => true,
        _ => false,
    };
    if already {
        bail!("the filter is of this kind already");
    }
    let kind = filter.kind().name();
    let bloom = match filter {
        AnyFilter::Bloom(filter) => filter,
        AnyFilter::Compressed(filter) => filter.into_bloom(),
        AnyFilter::Counting(filter) => {
            memory::require(filter.cells().div_ceil(8), "the filter", "free some memory")?;
            filter.to_bloom().map_err(message::size)?
        }
        _ => {
            let reason = format!("a filter of kind {kind} cannot become another without its keys");
            return Err(hinted(reason, "`gardenia build --kind KIND` builds one from the keys"));
        }
    };
    Ok(match args.to {
        To::Kind(Kind::Compressed) => CompressedBloom::from(bloom).into(),
        To::Format(_) if bloom.hasher().id() != HasherId::Fnv1 => {
            let found = bloom.hasher().id().name();
            let reason = format!("a DCSO file has its own hash function, fnv1, and this filter has {found}");
            return Err(hinted(reason, "build it from the keys: gardenia convert --from keys --to dcso"));
        }
        To::Kind(_) | To::Format(_) => bloom.into(),
    })
}

/// A filter of keys, as DCSO's program makes it.
fn of_keys(args: &ConvertArgs) -> anyhow::Result<AnyFilter> {
    let sources = Source::all(&args.inputs);
    sources.iter().try_for_each(Source::check)?;
    let (keys, hint) = (args.key.keys()?, "all keys are kept in memory, 8 bytes each");
    let (doing, progress, threads) = ("reading", !args.quiet, 1);
    let reading = Reading { sources: &sources, keys: &keys, doing, progress, threads, strict: true };
    let digests = Collected::read(&reading, KeyHasher::Fnv1, hint)?.pieces.concat();
    let (items, fpp) = (args.items.unwrap_or((digests.len() as u64).max(1)), args.fpp.unwrap_or(FPP));
    let shape = dcso::shape(items, fpp).map_err(message::size)?;
    memory::require(shape.cells.div_ceil(8), "the filter", "lower --items, or raise --fpp")?;
    let mut filter = dcso::new(items, fpp).map_err(message::size)?;
    let mut new = vec![false; digests.len()];
    filter.insert_digests(&digests, &mut new);
    let new = new.iter().map(|&new| u64::from(new)).sum::<u64>();
    filter.about_mut().set_counted_items(Some(new));
    if new > items {
        let (came, planned) = (human::count(new), human::count(items));
        say(&format!("gardenia: warning: {came} distinct keys were added, and {planned} were planned"));
    }
    Ok(filter.into())
}
