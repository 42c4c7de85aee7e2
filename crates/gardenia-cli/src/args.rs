//! The command line, as clap reads it. Every `--help` ends in examples.

use crate::{human, secret};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use gardenia::{SchemeId, SecretKey};
use std::path::PathBuf;

/// Bloom filters at the shell: sets of millions of keys in a byte or two each.
///
/// A filter never forgets a key: what was put in is found. It may find a key that was never put in, at a rate
/// that is chosen when it is built. Keys are lines: bytes up to a line end, never decoded.
#[derive(Debug, Parser)]
#[command(name = "gardenia", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  gardenia tour                                  see all of it in a few seconds
  gardenia build -o seen.gdn urls.txt            a filter of the lines of a file
  gardenia query seen.gdn new.txt                the lines that may be in it
  gardenia query -v seen.gdn new.txt             the lines that certainly are not
  gardenia info seen.gdn                         what is in a file

Exit codes: 0 found or done, 1 nothing found, 2 error.
Numbers can be written 10M, 1e7, 64MiB, 0.1% or 1/1000.";

/// What to do. The descriptions are those of the arguments below.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Build(BuildArgs),
    #[command(visible_alias = "grep")]
    Query(QueryArgs),
    Info(InfoArgs),
    Tour(TourArgs),
}

/// Build a filter from lines
///
/// The size follows from the number of keys and the rate of false positives (--items, --fpp), or is given
/// (--bits, --hashes). Without --items the lines of files are counted first; lines from a pipe are kept aside as
/// digests, 8 bytes of memory each, until the last one is read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia build -o seen.gdn urls.txt                    1% false positives
  gardenia build -o seen.gdn --fpp 1/1000000 *.txt       one in a million
  zcat log.gz | gardenia build -o log.gdn --items 10M    size known: built while reading
  gardenia build -o seen.gdn --bits 64MiB --hashes 7 urls.txt
  gardenia build -o safe.gdn --secret-file secret.txt keys.txt   keys that an adversary may choose")]
pub(crate) struct BuildArgs {
    /// Files of keys, one per line; none, or -, is stdin
    pub(crate) keys: Vec<PathBuf>,

    /// The file to write; - is stdout
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Replace OUT if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Keys to make room for, such as 10M
    #[arg(short = 'n', long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    pub(crate) items: Option<u64>,

    /// False-positive probability once they are in: 0.01, 1%, 1/100 [default: 1%]
    #[arg(
        short = 'p',
        long,
        value_name = "P",
        value_parser = human::parse_share,
        allow_negative_numbers = true,
        conflicts_with = "bits"
    )]
    pub(crate) fpp: Option<f64>,

    /// Size of the filter instead: bits such as 8M, or bytes such as 1MiB
    #[arg(long, value_name = "M", value_parser = human::parse_bits, allow_negative_numbers = true)]
    pub(crate) bits: Option<u64>,

    /// Probes per key, with --bits; left out, the best number for the items
    #[arg(long, value_name = "K", requires = "bits", allow_negative_numbers = true)]
    pub(crate) hashes: Option<u32>,

    /// How positions follow from a key's digest
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SCHEME.name(), value_parser = scheme())]
    pub(crate) scheme: SchemeId,

    /// Seed of the hash function; filters can be united if they have one seed [default: 0]
    #[arg(
        long,
        value_name = "N",
        value_parser = human::parse_count,
        allow_negative_numbers = true,
        conflicts_with_all = ["secret", "secret_file"]
    )]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    /// Keep the secret in the file, so that whoever has the file can ask it
    #[arg(long, requires = "key")]
    pub(crate) store_secret: bool,

    /// Print no summary and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The secret of a keyed filter.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Secret of a keyed filter (SipHash-1-3), 32 hexadecimal digits; others can see it in `ps`
    #[arg(long, value_name = "HEX", value_parser = Secret, group = "key")]
    pub(crate) secret: Option<SecretKey>,

    /// File with the secret, 32 hexadecimal digits
    #[arg(long, value_name = "FILE", group = "key")]
    pub(crate) secret_file: Option<PathBuf>,
}

/// Print the lines that may be in a filter
///
/// A line that is printed may be in the filter: it is, or it is one of the few false positives. A line that is
/// not printed certainly is not. The file is memory-mapped, so that a large filter answers at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia query seen.gdn new.txt            lines that may have been seen
  gardenia query -v seen.gdn new.txt         lines that are certainly new
  gardenia query -c seen.gdn *.txt           how many, in all inputs together
  tail -f log | gardenia query bad.gdn       as they come
  if echo \"$URL\" | gardenia query -q seen.gdn; then echo seen; fi

Exit codes: 0 a line was found, 1 none was, 2 error. An input that cannot be read does not stop the others.")]
pub(crate) struct QueryArgs {
    /// The filter file; - is stdin
    pub(crate) filter: PathBuf,

    /// Files of lines to look up; none, or -, is stdin
    pub(crate) inputs: Vec<PathBuf>,

    /// Print the lines that are certainly not in the filter
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,

    /// Print the number of lines, in all inputs together
    #[arg(short, long)]
    pub(crate) count: bool,

    /// Print nothing and stop at the first line found
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print the number of each line in its input before it, from 1
    #[arg(short = 'n', long)]
    pub(crate) line_number: bool,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,
}

/// Show what a filter file holds, and whether it is intact
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia info seen.gdn                 kind, size, fill, keys, error rate
  gardenia info --verify *.gdn           check every byte; exit code 2 if one is wrong
  gardenia info --json seen.gdn | jq .fpp

With --json each file gives one line, an object; a value that is not known is null.")]
pub(crate) struct InfoArgs {
    /// Filter files; - is stdin
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Read the whole file and check every byte of it
    #[arg(long)]
    pub(crate) verify: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,
}

/// See what filters do, on examples that come along
///
/// Builds a filter, asks it, saves and reopens it, deduplicates a million log lines against an exact set, and
/// measures what a key costs. Takes a few seconds and leaves nothing behind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia tour
  gardenia tour | less")]
pub(crate) struct TourArgs {}

/// The scheme of the library's plain `Bloom`.
const DEFAULT_SCHEME: SchemeId = SchemeId::Fractional;

/// The names of the schemes, from the library.
fn scheme() -> impl TypedValueParser<Value = SchemeId> {
    PossibleValuesParser::new(SchemeId::ALL.map(SchemeId::name))
        .try_map(|name| SchemeId::from_name(&name).ok_or_else(|| format!("no scheme is called {name}")))
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

    #[test]
    fn the_default_scheme_is_that_of_the_library() {
        let plain = gardenia::Bloom::new(1, 0.5).unwrap();
        assert_eq!(plain.identity().scheme, Some(DEFAULT_SCHEME));
    }
}
