//! The arguments of `gardenia query`.

use crate::args::{MemoryArgs, SecretArgs, ThreadArgs};
use crate::foreign::ForeignArgs;
use crate::human;
use crate::input::{Delimiter, KeyArgs, StoredArgs};
use crate::message::hinted;
use crate::open::VerifyArgs;
use std::path::PathBuf;

const OUTPUT: &str = "What is printed";
const INPUTS: &str = "Files";
const TOKENS: &str = "Keys anywhere in a line";
const EXACT: &str = "Exact answers";

/// Examples and a table for those who know grep.
macro_rules! examples {
    () => {
        "\
Examples:
  gardenia query seen.gdn new.txt            lines that may have been seen
  gardenia query -v seen.gdn new.txt         lines that are certainly new
  gardenia query -c seen.gdn *.txt           how many, for each file
  gardenia query seen.gdn log.gz             .gz, .zst, .xz, .bz2 and .lz4 are unpacked
  tail -f log | gardenia query bad.gdn       as lines arrive
  gardenia query --csv -f email bad.gdn users.csv            by a column
  gardenia query -F bad.gdn -F worse.gdn --label log.txt     which of several filters
  gardenia query --matched old.txt --unmatched new.txt seen.gdn all.txt
  gardenia query --hash sha1 --upper breached.gdn passwords.txt
  if echo \"$URL\" | gardenia query -q seen.gdn; then echo seen; fi
  gardenia query --confirm list.txt log.txt                  exactly the lines of log.txt that are in list.txt
  gardenia query --tokens --confirm iocs.txt -r /var/log     addresses, domains, URLs and hashes anywhere in a line
  gardenia query --tokens -o bad.gdn log.txt                 only what was found
  gardenia query --extract 'user=(\\w+)' users.gdn log.txt    what the parentheses match
  gardenia query data.parquet:user.id ids.txt                by the Bloom filters of a Parquet or ORC file
  gardenia query --as long filter.bin ids.txt                a filter of Spark, Guava, Hive, DataSketches, …

Coming from grep:
  grep -xFf LIST FILE...     gardenia query --confirm LIST FILE...
  grep -wFf LIST FILE...     gardenia query --tokens --confirm LIST FILE...
  -v -c -l -L -m -n -o -q -s -H -r -i --include --exclude --exclude-dir --color --line-buffered mean the same
  -h                         --no-filename (-h is help)
  -f LIST                    --confirm LIST (-f names fields)
  -F                         names a filter (keys are never patterns)
  -z                         -0 (LIST is read by lines)
  -a                         always: a binary file is searched like any other"
    };
}

/// What tokens are.
macro_rules! rules {
    () => {
        "\
Tokens are, from left to right:
  names        the longest runs of letters, digits, _ - . and bytes above 127, without . and - at their ends: IPv4
               addresses, domains, hashes, words; and of names with dots, unless they end in a number, all that
               follows a dot, if it has a dot itself (www.evil.example is also evil.example)
  chunks       the longest runs of bytes other than white space, controls and \" ' ` < > ( ) [ ] { } | , ;
               without . ! ? : at their end: URLs, paths, IPv6 addresses, host:port; and what follows their first =
  addresses    a name before @ (also with + and %), the @ and the name behind it
  IPv6         the longest runs of hexadecimal digits, : and . with two colons or more
  URLs         from the letters before :// up to white space or one of \" < > `, also behind ) , ; and so on
Of tokens that overlap the first is shown, and the longest of those that begin together."
    };
}

macro_rules! codes {
    () => {
        "Exit codes: 0 a line was found, 1 none was, 2 error. An input that cannot be read does not stop the others."
    };
}

/// Print the lines that may be in a filter, or are in a list
///
/// A line that is printed may be in the filter: it is, or it is one of the few false positives. A
/// line that is not printed certainly is not in it. A few kinds may miss lines that were added: see
/// below. With --confirm LIST each hit is looked up in the list itself, and answers are exact. Keys
/// are made from lines as `gardenia build` made them: an option given here replaces that one
/// option.
///
/// The file is memory-mapped, so that a large filter answers at once.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "gardenia query [OPTIONS] FILTER [FILE]...\n       gardenia query [OPTIONS] -F FILTER... [FILE]...\n       \
                      gardenia query [OPTIONS] --confirm LIST... [FILE]...",
    args_override_self = true,
    after_help = concat!(examples!(), "\n\n", codes!()),
    after_long_help = concat!(examples!(), "\n\n", rules!(), "\n\n", codes!())
)]
pub(crate) struct QueryArgs {
    /// The filter file, unless -F or --confirm is given, and files of lines to look up; no file, or
    /// -, is stdin
    #[arg(value_name = "FILTER] [FILE")]
    pub(crate) operands: Vec<PathBuf>,

    /// A filter; several find the lines that are in any of them
    #[arg(short = 'F', long = "filter", value_name = "FILTER")]
    pub(crate) filters: Vec<PathBuf>,

    /// With several filters or lists, find the lines that are in all of them
    #[arg(long)]
    pub(crate) all: bool,

    /// Print the lines that are not in the filter
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,

    /// Print the number of lines found in each file
    #[arg(short, long, help_heading = OUTPUT)]
    pub(crate) count: bool,

    /// Print nothing and stop at the first line found
    #[arg(short, long, help_heading = OUTPUT)]
    pub(crate) quiet: bool,

    /// Print the number of each line in its input before it, from 1
    #[arg(short = 'n', long, help_heading = OUTPUT)]
    pub(crate) line_number: bool,

    /// Stop reading a file after NUM lines found
    #[arg(short, long, value_name = "NUM", value_parser = human::parse_count, allow_negative_numbers = true,
          help_heading = OUTPUT)]
    pub(crate) max_count: Option<u64>,

    /// Print the name of the file before each line [default: with several files, but for --csv and
    /// --json-key]
    #[arg(short = 'H', long, overrides_with = "no_filename", help_heading = OUTPUT)]
    pub(crate) with_filename: bool,

    /// Never print names of files before lines
    #[arg(long, overrides_with = "with_filename", help_heading = OUTPUT)]
    pub(crate) no_filename: bool,

    /// Print only the names of files in which a line is found
    #[arg(short = 'l', long, overrides_with = "files_without_match", help_heading = OUTPUT)]
    pub(crate) files_with_matches: bool,

    /// Print only the names of files in which no line is found
    #[arg(short = 'L', long, overrides_with = "files_with_matches", help_heading = OUTPUT)]
    pub(crate) files_without_match: bool,

    /// Print only the keys that are found, each on a line of its own
    #[arg(short, long, conflicts_with_all = ["matched", "unmatched"], help_heading = OUTPUT)]
    pub(crate) only_matching: bool,

    /// Colour names, numbers and keys found, with the codes of grep: always, never, or on a
    /// terminal
    #[arg(long, visible_alias = "colour", value_enum, value_name = "WHEN", default_value_t = Colour::Auto,
          num_args = 0..=1, require_equals = true, default_missing_value = "auto", help_heading = OUTPUT)]
    pub(crate) color: Colour,

    /// Print before each line the names of the filters or lists it is in
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) label: bool,

    /// Print lines as soon as they are found, which is always done: accepted as by grep
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) line_buffered: bool,

    /// Write the lines found to FILE, which appears once all inputs are read to the end; - is
    /// stdout
    #[arg(long, value_name = "FILE", help_heading = OUTPUT,
          conflicts_with_all = ["invert", "count", "quiet", "files_with_matches", "files_without_match"])]
    pub(crate) matched: Option<PathBuf>,

    /// Write all other lines to FILE
    #[arg(long, value_name = "FILE", help_heading = OUTPUT,
          conflicts_with_all = ["invert", "count", "quiet", "max_count", "files_with_matches", "files_without_match"])]
    pub(crate) unmatched: Option<PathBuf>,

    /// Replace the files of --matched and --unmatched if they exist
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,

    /// Search the files in directories, and in those below; no FILE is the current directory
    #[arg(short, long, help_heading = INPUTS)]
    pub(crate) recursive: bool,

    /// Search only files whose name matches GLOB, such as '*.log'
    #[arg(long, value_name = "GLOB", help_heading = INPUTS)]
    pub(crate) include: Vec<String>,

    /// Skip files whose name matches GLOB, even if --include names them
    #[arg(long, value_name = "GLOB", help_heading = INPUTS)]
    pub(crate) exclude: Vec<String>,

    /// Skip directories whose name matches GLOB
    #[arg(long, value_name = "GLOB", help_heading = INPUTS)]
    pub(crate) exclude_dir: Vec<String>,

    /// Print no messages about files that are missing or cannot be read; the exit code is 2 all the
    /// same
    #[arg(short = 's', long, help_heading = INPUTS)]
    pub(crate) no_messages: bool,

    /// Look up every token of a line: names, addresses, domains, URLs, hashes; --help has the rules
    #[arg(long, help_heading = TOKENS,
          conflicts_with_all = ["field", "delimiter", "csv", "json_key", "hash", "int", "trim", "skip_empty"])]
    pub(crate) tokens: bool,

    /// Look up every match of a regular expression or, if it has parentheses, of the first of them
    #[arg(long, value_name = "REGEX", help_heading = TOKENS,
          conflicts_with_all = ["tokens", "field", "delimiter", "csv", "json_key", "hash", "int", "trim", "skip_empty"])]
    pub(crate) extract: Option<String>,

    /// Look up each hit in LIST, a file of keys, so that answers are exact; without -F no filter is
    /// needed
    #[arg(long, value_name = "LIST", help_heading = EXACT)]
    pub(crate) confirm: Vec<PathBuf>,

    /// Keep the index of LIST in FILE [default: in memory, and for more than 2 million lines in
    /// LIST.gdx]
    #[arg(long, value_name = "FILE", requires = "confirm", help_heading = EXACT)]
    pub(crate) index: Option<PathBuf>,

    /// The field of LIST that holds its keys, as for -f [default: where the filter's keys were, or
    /// the whole line]
    #[arg(long, value_name = "N", requires = "confirm", allow_negative_numbers = true, help_heading = EXACT)]
    pub(crate) list_field: Option<String>,

    /// The text between the fields of LIST, as for --delimiter [default: a tab]
    #[arg(long, value_name = "TEXT", requires = "list_field", help_heading = EXACT)]
    pub(crate) list_delimiter: Option<Delimiter>,

    #[command(flatten)]
    pub(crate) threads: ThreadArgs,

    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) stored: StoredArgs,

    #[command(flatten)]
    pub(crate) verify: VerifyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

impl QueryArgs {
    /// Whether output is coloured.
    pub(crate) fn coloured(&self) -> bool {
        match self.color {
            Colour::Auto => self.matched.is_none() && self.unmatched.is_none() && gardenia_terminal::colour(),
            Colour::Always => true,
            Colour::Never => false,
        }
    }

    /// How keys are found in LIST: as in the inputs, but for where they are in a line. Without
    /// --list-field that is where the filter's keys were, which was built from the list.
    pub(crate) fn list_key(&self, key: &KeyArgs, built: Option<&KeyArgs>) -> anyhow::Result<KeyArgs> {
        let tokens = self.tokens || self.extract.is_some();
        // What is looked up is hashed, and the list holds hashes already, in any case of digits unless one is named.
        let hashes = key.hash.is_some() && built.is_none_or(|built| built.hash.is_none());
        let what = match hashes {
            true => built.cloned().unwrap_or(KeyArgs { trim: key.trim, ..KeyArgs::default() }),
            false => key.clone(),
        };
        let place = match (&self.list_field, built) {
            (Some(field), _) => KeyArgs {
                field: Some(field.clone()),
                delimiter: self.list_delimiter.clone(),
                ..KeyArgs::default()
            },
            (None, Some(built)) if built.csv => {
                let reason = format!(
                    "the filter was built with {}, and --confirm reads a list by lines",
                    built.describe()
                );
                let hint = "write the keys to a file of lines, and add --list-field 0";
                return Err(hinted(reason, hint));
            }
            (None, Some(KeyArgs { field, delimiter, json_key, null, .. })) => KeyArgs {
                field: field.clone(),
                delimiter: delimiter.clone(),
                json_key: json_key.clone(),
                null: *null,
                ..KeyArgs::default()
            },
            // With -0 lines of the list are compared with records that end in NUL, as by grep -z.
            (None, None) => KeyArgs::default(),
        };
        Ok(KeyArgs {
            ignore_case: what.ignore_case || (hashes && !key.upper),
            hash: what.hash,
            upper: what.upper,
            int: what.int,
            // A token has neither blanks nor carriage returns around it.
            trim: what.trim || self.tokens,
            crlf: key.crlf,
            skip_empty: key.skip_empty || tokens,
            ..place
        })
    }
}
