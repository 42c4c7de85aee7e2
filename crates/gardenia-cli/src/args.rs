//! The command line, as clap reads it. Every `--help` ends in examples.

use crate::cmd::convert::ConvertArgs;
use crate::cmd::corpus::CorpusArgs;
use crate::cmd::dedup::DedupArgs;
use crate::cmd::diff::DiffArgs;
use crate::cmd::explore::ExploreArgs;
use crate::cmd::generate::{CompletionsArgs, ManArgs};
use crate::cmd::improve::ImproveArgs;
use crate::cmd::kinds::KindsArgs;
use crate::cmd::lab::LabArgs;
use crate::cmd::map::GetArgs;
use crate::cmd::merge::MergeArgs;
use crate::cmd::plan::PlanArgs;
use crate::cmd::query::QueryArgs;
use crate::cmd::recover::RecoverArgs;
use crate::foreign::{ForeignArgs, format_named};
use crate::input::{KeyArgs, StoredArgs};
use crate::open::VerifyArgs;
use crate::spec::SpecArgs;
use crate::{human, secret};
use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};
use gardenia::SecretKey;
use gardenia::format::Format;
use std::path::PathBuf;

/// Bloom filters at the shell: store sets of millions of keys in one or two bytes per key.
///
/// A filter finds every key that was added (except for a few kinds that are designed to forget). It
/// also reports a small share of other keys as present: the false-positive rate, which you choose.
/// Keys are lines of bytes; they are never decoded.
#[derive(Debug, Parser)]
#[command(name = "gardenia", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  gardenia tour                                  a guided tour, in a few seconds
  gardenia plan -n 10M -p 0.1% --remove          recommends a filter and its size
  gardenia kinds                                 all kinds of filters, with abilities and options
  gardenia build -o seen.gdn urls.txt            a filter of the lines of a file
  gardenia query seen.gdn new.txt                the lines that may be in it
  gardenia query -v seen.gdn new.txt             the lines that certainly are not in it
  gardenia add seen.gdn new.txt                  adds more lines
  gardenia remove stock.gdn sold.txt             removes lines (kinds that can)
  gardenia recover stock.gdn                     repair a filter of kind split after a crash
  gardenia dedup big.log                         each line once, in order, in little memory
  gardenia count words.gdn vocabulary.txt        how often lines were added (kinds that count)
  gardenia get port.gdn names.txt                the number stored for each line (kind bloomier)
  gardenia top -n 20 log.txt                     the most frequent lines of a stream of any length
  gardenia eval seen.gdn truth.txt               its false-positive rate, measured
  gardenia info seen.gdn                         describes a file
  gardenia merge -o week.gdn mon.gdn tue.gdn     merges filters
  gardenia diff mon.gdn tue.gdn                  how many keys two have in common
  gardenia convert --to bloom -o b.gdn a.bloom   from another kind or format
  gardenia improve online.gdn urls.txt           fewer false positives (kind choice)
  gardenia bench                                 the time per key on this machine
  gardenia lab list                              the papers' experiments
  gardenia explore seen.gdn                      explores a filter in the browser

Exit codes: 0 found or done, 1 nothing found, 2 error.
Numbers can be written 10M, 1e7, 64MiB, 0.1% or 1/1000.";

/// What to do. The descriptions are those of the arguments below.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Build(Box<BuildArgs>),
    #[command(visible_alias = "grep")]
    Query(Box<QueryArgs>),
    Dedup(DedupArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
    Recover(RecoverArgs),
    Count(CountArgs),
    Get(GetArgs),
    Top(TopArgs),
    Merge(MergeArgs),
    Diff(DiffArgs),
    Info(InfoArgs),
    Eval(EvalArgs),
    Convert(ConvertArgs),
    Improve(ImproveArgs),
    Plan(Box<PlanArgs>),
    Kinds(KindsArgs),
    Tour(TourArgs),
    Bench(BenchArgs),
    Corpus(CorpusArgs),
    Lab(LabArgs),
    Explore(ExploreArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Build a filter from lines
///
/// The size follows from the number of keys and the false-positive rate (--items, --fpp), or is
/// given (--bits, --hashes). Without --items the distinct lines are counted first. Lines are held
/// as digests, 8 bytes of memory each, until the last one is read; files of more than 16 million
/// lines are read twice instead.
///
/// The options that make keys from records (-f, -i, --trim, --hash, --int …) are stored in the
/// filter. Other commands use each of them unless you give that option yourself.
///
/// A line that occurs several times is stored that often by the kinds whose lines can be removed. A
/// cuckoo filter holds 8 copies of a line, and an infini filter about 57,000: further copies are
/// left out and reported, the filter is written, and the exit code is 2.
///
/// A filter of kind split is two files: its bits in OUT, an ordinary filter of kind bloom, and its
/// counters beside it, with the extension `counters`. Only the bits take memory. To store the
/// counters on another disk, move them there and put a symbolic link in their place.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia build -o seen.gdn urls.txt                    1% false positives
  gardenia build -o seen.gdn --fpp 1/1000000 *.txt       one in a million
  zcat log.gz | gardenia build -o log.gdn --items 10M    size known: built while reading
  gardenia build -o seen.gdn --bits 64MiB --hashes 6 urls.txt
  gardenia build -o small.gdn --kind bloom urls.txt      smaller, and several times slower
  gardenia build -o stock.gdn --kind counting parts.txt  lines can be removed again
  gardenia build -o stock.gdn --kind split parts.txt     the same, with the counters in the file stock.counters
  gardenia build -o words.gdn --kind spectral-mi words.txt       how often each line occurs
  gardenia build -o hits.gdn --kind count-min --bits 8MiB log.txt    the same for a stream of any length
  gardenia build -o last.gdn --kind a2 --items 1M log.txt        the last million lines, no others
  gardenia build -o fixed.gdn --kind ribbon --fpp 0.1% urls.txt  the fewest bits, for lines that never change
  gardenia build -o grows.gdn --kind scalable first.txt          no number of lines needed; `add` more at any time
  gardenia build -o fits.gdn --memory 64MiB urls.txt             the lowest false-positive rate in this much memory
  gardenia build -o mail.gdn --csv -f email -i users.csv.gz      a column, ignoring case
  gardenia build -o breached.gdn -f 1 --delimiter : hashes.txt   the text before a colon
  gardenia build -o tight.gdn --kind choice urls.txt             18% smaller than bloom, at 1%
  gardenia build -o fixed.gdn --kind fuse urls.txt               fastest queries, 9 bits per line, rate 1/256; accepts no more lines
  gardenia build -o age.gdn --kind bloomier pairs.tsv            a number per line; `get` prints it
  gardenia build -o ok.gdn --kind retouched --spare good.txt bad.txt     lines of good.txt are never found
  gardenia build -o like.gdn --kind distance --near 20% titles.txt       lines that share most of their words
  gardenia build -o safe.gdn --secret-file secret.txt keys.txt   keys that an attacker may choose
  sort -u parts.txt | gardenia build -o stock.gdn --kind cuckoo  lines can be removed again, in little memory
  gardenia build -o ids.bin --format spark --as long ids.txt     a filter that Spark reads; also guava, parquet, …

Exit codes: 0 done, 2 error, or copies of lines were left out.")]
pub(crate) struct BuildArgs {
    /// Files of keys, one per line; none, or -, is stdin
    pub(crate) keys: Vec<PathBuf>,

    /// The file to write; - is stdout
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Replace OUT if it exists
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) spec: SpecArgs,

    /// What to do if more distinct keys are added than planned [default: warn]
    #[arg(long, value_enum, value_name = "WHAT", hide_short_help = true)]
    pub(crate) on_full: Option<OnFull>,

    /// Text to store in the file, such as the source of the list; `gardenia info` prints it
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) meta: Option<String>,

    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,

    /// Field (or JSON key) of the value, for the kind bloomier [default: field 2]
    #[arg(long, value_name = "N|PATH", hide_short_help = true)]
    pub(crate) value: Option<String>,

    /// File of lines that must not be found, for the kind retouched; some added lines are lost in
    /// return
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) spare: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    /// Store the secret in the file, so that anyone who has the file can query it
    #[arg(long, requires = "key", hide_short_help = true)]
    pub(crate) store_secret: bool,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What to do with more keys than were planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnFull {
    /// Add them, and warn that the false-positive rate is higher
    #[default]
    Warn,
    /// Stop, and write nothing
    Error,
    /// Grow: build uses the kind scalable
    Grow,
}

/// The secret of a keyed filter.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Secret of a keyed filter (SipHash-1-3), 32 hexadecimal digits; others can see it in `ps`; a
    /// wrong one is refused
    #[arg(long, value_name = "HEX", value_parser = Secret, group = "key", hide_short_help = true)]
    pub(crate) secret: Option<SecretKey>,

    /// File with the secret, 32 hexadecimal digits
    #[arg(long, value_name = "FILE", group = "key", hide_short_help = true)]
    pub(crate) secret_file: Option<PathBuf>,
}

/// How much memory a filter may take.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MemoryArgs {
    /// Memory limit for filters that need more than 8 times their file size [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = human::parse_bytes, allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) max_memory: Option<u64>,
}

/// How many threads work on one stream.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Worker threads in addition to the reader; 0 is one per core
    #[arg(short = 'j', long = "threads", value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u16).range(0..=256), allow_negative_numbers = true)]
    threads: u16,
}

impl ThreadArgs {
    /// At least one.
    pub(crate) fn count(self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.into(),
        }
    }
}

/// Add lines to a filter file
///
/// The file is replaced once all lines are added, or not at all. Kinds whose lines can be removed
/// store every copy of a line. A cuckoo filter holds 8 copies of a line, and an infini filter about
/// 57,000: further copies are left out and reported, the file is replaced, and the exit code is 2.
///
/// A filter of kind split is changed in place, line by line. Queries see the old filter until the
/// last line is in. If the command is killed, other commands refuse the filter until
/// `gardenia recover` has repaired it. If an input cannot be read, the lines before it stay in the
/// filter, and their number is reported.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia add seen.gdn today.txt            existing lines stay
  zcat log.gz | gardenia add seen.gdn        lines from a pipe
  gardenia add -o both.gdn seen.gdn new.txt  leaves seen.gdn as it is

Exit codes: 0 done, 2 error, or copies of lines were left out.")]
pub(crate) struct AddArgs {
    /// What to do if more distinct keys are added than planned [default: warn]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) on_full: Option<OnFull>,

    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Remove lines from a filter file
///
/// For the kinds that are listed below. A line that was added several times must be removed as
/// often. Only remove what was added: a line that is not in the filter is refused, but a false
/// positive passes that check, and removing it can hide a line that is in the filter. The file is
/// replaced once all lines are removed, or not at all. A filter of kind split is changed in place,
/// as by `add`: if the command is killed, do not remove the same lines again, but continue where
/// `gardenia recover` says.
///
/// Some lines cannot be removed: those whose counters reached their maximum, and those that several
/// layers of a dynamic filter may hold. They are reported, and stay in the filter.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia remove stock.gdn sold.txt
  gardenia remove -o left.gdn stock.gdn sold.txt

Exit codes: 0 a line was removed, 1 none was in the filter, 2 error.")]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// What `add` and `remove` have in common.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The filter file
    pub(crate) filter: PathBuf,

    /// Files of keys, one per line; none, or -, is stdin
    pub(crate) keys: Vec<PathBuf>,

    /// Write the changed filter here, and leave FILTER as it is; - is stdout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace OUT if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) stored: StoredArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Print how often each line was added to a filter
///
/// Prints each input line after its count and a tab. A count of 0 is certain; others may be too
/// high. A count at the maximum of the filter's counters is marked, as in ≥65535: the line may have
/// been added more often. A filter of kind bitwise may also report counts that are too low, even 0.
///
/// For kinds that count: counting, spectral-ms, spectral-mi, spectral-rm, bitwise, count-min,
/// cuckoo (up to 8), dynamic, quotient, and split, whose counters are read into memory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia count words.gdn vocabulary.txt | sort -rn | head
  gardenia count --min 100 words.gdn vocabulary.txt    only the frequent ones
  echo rose | gardenia count words.gdn

Exit codes: 0 a line was counted, 1 none was, 2 error. An input that cannot be read does not stop the others.")]
pub(crate) struct CountArgs {
    /// The filter file; - is stdin
    pub(crate) filter: PathBuf,

    /// Files of lines to look up; none, or -, is stdin
    pub(crate) inputs: Vec<PathBuf>,

    /// Print only lines that may have been added this often
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true,
          value_parser = human::parse_count, allow_negative_numbers = true)]
    pub(crate) min: u64,

    #[command(flatten)]
    pub(crate) threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) stored: StoredArgs,

    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,

    #[command(flatten)]
    pub(crate) verify: VerifyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Print the most frequent lines
///
/// Reads a stream of any length once, in little memory. Each line is preceded by a lower and an
/// upper bound of its count; both are guaranteed. Lines that may be missing or misplaced are
/// reported on stderr.
///
/// With -o the counts are saved. An input that is such a file is added to the counts instead of
/// being read as lines, so that `gardenia top week.gdn` prints it, and `gardenia merge` merges
/// several. The file holds the frequent lines as they are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia top access.log                        the ten most frequent lines
  cut -f1 big.tsv | gardenia top -n 100          of a pipe
  gardenia top --min 0.1% log.txt                all lines that are at least a thousandth of the input
  gardenia top --memory 64MiB -n 10000 log.txt   more memory, narrower bounds
  gardenia top --json log.txt | jq -r '.lines[] | select(.certain) | .line'
  gardenia top -o mon.gdn mon.log                also saves the counts
  gardenia top -n 20 mon.gdn tue.gdn wed.log     of three days, two of them saved
  gardenia top --state all.gdn today.log         of all days up to now

Without a terminal: at least, at most and line, with tabs between them.

Exit codes: 0 lines were read, 1 the input was empty, 2 error. An input that cannot be read does not stop the others.")]
pub(crate) struct TopArgs {
    /// Files of lines, or counts saved by -o; none, or -, is stdin
    pub(crate) inputs: Vec<PathBuf>,

    /// Save the counts to this file; - is stdout, and no lines are printed
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Continue from this file of counts, if it exists, and save it at the end
    #[arg(short, long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) state: Option<PathBuf>,

    /// Replace the file of -o if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// How many lines to print
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value = "10",
        value_parser = human::parse_count,
        allow_negative_numbers = true
    )]
    pub(crate) number: u64,

    /// Print all lines that may be this share of the input or more, instead of the first N
    #[arg(
        long,
        value_name = "P",
        value_parser = human::parse_share,
        allow_negative_numbers = true,
        conflicts_with = "number"
    )]
    pub(crate) min: Option<f64>,

    /// Memory for counting, beside that of the lines to print [default: 1MiB, or more for many
    /// lines]
    #[arg(short, long, value_name = "M", value_parser = human::parse_bytes, allow_negative_numbers = true)]
    pub(crate) memory: Option<u64>,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Compare a filter with the truth
///
/// The truth comes as `sort FILE | uniq -c` prints it: a count, then the line; a count of 0 is for
/// a line that was never added. For counting filters, counts are compared too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia eval in.gdn truth.txt                       its false-positive rate, with 95% intervals
  sort in.txt | uniq -c > truth.txt                    where that came from,
  seq 1000000 | sed 's/^/0 absent-/' >> truth.txt      and lines that were never added
  gardenia eval --each in.gdn truth.txt                line by line
  gardenia eval --json in.gdn truth.txt | jq .false_positive_rate

Columns of --each, running totals first:
  TN TP   right: absent, and present (of filters that count: with the right count)
  FP FN   wrong: found or counted too much, missed or counted too little
  G C     the count given by the truth, and the filter's (1 or 0 if it does not count)
  E       the line

Exit codes: 0 done, 2 error.")]
pub(crate) struct EvalArgs {
    /// The filter file
    pub(crate) filter: PathBuf,

    /// Files of counts and lines; none, or -, is stdin
    pub(crate) truth: Vec<PathBuf>,

    /// Print a line for each line of the truth
    #[arg(long, conflicts_with = "json")]
    pub(crate) each: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) stored: StoredArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Show what a filter file holds, and whether it is intact
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia info seen.gdn                 kind, size, fill, keys, false-positive rate
  gardenia info --verify *.gdn           check every byte; exit code 2 if one is wrong
  gardenia info --json seen.gdn | jq .fpp
  gardenia info data.parquet                 its Bloom filters, by row group and column
  gardenia info filter.bin                   of Spark, Guava, Hive, ORC, DataSketches, RocksDB, Redis dumps, …

With --json each file gives one line, an object; a value that is not known is null.")]
pub(crate) struct InfoArgs {
    /// Filter files; - is stdin
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Read the whole file and check every byte of it
    #[arg(long)]
    pub(crate) verify: bool,

    /// Format of the file, if it is another program's and its bytes do not identify it
    #[arg(long, value_name = "FORMAT", value_parser = format_named)]
    pub(crate) format: Option<Format>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Guided tour with built-in examples
///
/// Builds two kinds of filter, queries them, saves and reopens them, deduplicates a million log
/// lines against an exact set, counts, removes and forgets keys, shows what choosing bits saves,
/// counts a stream of any length, compares the other kinds, and measures the time per key. Takes a
/// few seconds and leaves nothing behind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia tour
  gardenia tour | less")]
pub(crate) struct TourArgs {}

/// Measure the time per key on this machine
///
/// Fills and queries filters with random keys, one call per key and in batches of 8192. Each repeat
/// uses fresh keys. Filters start empty, with their memory already in use; keys are hashed while
/// the clock runs. Below 1000 keys the clock itself takes part of the time.
/// `cargo run --profile dist -p peers` compares with other libraries.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia bench                                  from cache to memory, in some 10 seconds
  gardenia bench --items 1e8 --kind blocked       one size, one kind
  gardenia bench --keys text --fpp 1/1000 --threads 2
  gardenia bench --json | jq '.rows[] | {kind, items, hit: .ns_per_key.batch_hit.best}'
  gardenia bench --calibrate                      what queries of all kinds cost, for `gardenia plan`; a minute

Columns:
  insert      add keys to an empty filter until it holds what was planned
  hit, miss   query keys that are in the filter, in random order; keys that are not
  mix         half of the keys are in the filter
  N threads   par_insert_many and par_contains_many of the blocked filter
  memory alone, the machine's own limit, stands in the first row.

With --json one object is printed; what was not measured is null.")]
pub(crate) struct BenchArgs {
    /// Keys per filter, several sizes with commas between them
    #[arg(
        short = 'n',
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1e4,1e6,1e7",
        value_parser = size,
        allow_negative_numbers = true
    )]
    pub(crate) items: Vec<u64>,

    /// False-positive probability the filters are planned for
    #[arg(
        short = 'p',
        long,
        value_name = "P",
        default_value = "1%",
        value_parser = human::parse_share,
        allow_negative_numbers = true
    )]
    pub(crate) fpp: f64,

    /// Kinds of filter
    #[arg(short, long, value_enum, default_value_t = Kinds::Both)]
    pub(crate) kind: Kinds,

    /// Kind of keys
    #[arg(long, value_enum, default_value_t = KeyKind::U64)]
    pub(crate) keys: KeyKind,

    /// Measure the blocked filter with this many threads as well
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64),
        allow_negative_numbers = true
    )]
    pub(crate) threads: u32,

    /// Repeats; best and median are shown
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000),
        allow_negative_numbers = true
    )]
    pub(crate) repeat: u32,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Measure a query of every kind at the smallest and the largest of --items, and store it for
    /// `gardenia plan`
    #[arg(long, conflicts_with_all = ["fpp", "kind", "keys", "threads", "json"])]
    pub(crate) calibrate: bool,
}

/// A number of keys to measure with.
fn size(text: &str) -> Result<u64, String> {
    match human::parse_count(text)? {
        0 => Err("at least 1 key is needed".to_owned()),
        items => Ok(items),
    }
}

/// Kinds of filter to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kinds {
    Both,
    Bloom,
    Blocked,
}

impl Kinds {
    pub(crate) fn bloom(self) -> bool {
        self != Self::Blocked
    }

    pub(crate) fn blocked(self) -> bool {
        self != Self::Bloom
    }
}

/// Kinds of keys to measure with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeyKind {
    /// Random numbers of 64 bits
    U64,
    /// Texts of 40 bytes
    Text,
}

impl KeyKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::Text => "text",
        }
    }
}

/// Reads a secret; unlike clap's own parsers it does not repeat a wrong one in its message.
#[derive(Clone)]
struct Secret;

impl TypedValueParser for Secret {
    type Value = SecretKey;
    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<SecretKey, clap::Error> {
        let invalid = |reason| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("--secret: {reason}\n"))
                .with_cmd(command)
        };
        secret::parse(&value.to_string_lossy()).map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
