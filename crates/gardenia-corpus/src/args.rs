//! Options that say what is compared, as the command and the Python package have them: names,
//! defaults and meanings are stated once.

use crate::minhash::Bands;
use crate::normalise::Normalise;
use crate::options::{BadLines, Benchmark, Near, Ngrams, Options, Rule, Unit, Within};
use crate::units::{Split, Words};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};
use gardenia_terminal::human::{parse_bytes, parse_count, parse_share};
use gardenia_terminal::message::{hinted, problem};
use std::path::PathBuf;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Documents: their text, or the value of --key
    Document,
    /// Paragraphs: see --split
    Paragraph,
    /// N-grams: what shares most of them with what came before
    Ngram,
    /// Similar documents, by MinHash
    Near,
}

/// How lines are read.
#[derive(Clone, Debug, Args)]
pub struct LineArgs {
    /// Key of the text
    #[arg(long, value_name = "KEY", default_value = "text")]
    pub text_key: String,

    /// Key of the id, for attributes
    #[arg(long, value_name = "KEY", default_value = "id")]
    pub id_key: String,

    /// Lines that cannot be used: keep them as they are, drop them, or stop
    #[arg(long, value_name = "RULE", default_value = "keep")]
    pub bad: BadLines,

    /// Longest line that is read as a document
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_bytes)]
    pub max_line: u64,
}

/// How documents are read.
#[derive(Clone, Debug, Args)]
pub struct ReadArgs {
    #[command(flatten)]
    lines: LineArgs,

    /// How words are told apart
    #[arg(long, value_name = "RULE", default_value = "unicode")]
    pub words: Words,
}

/// What is removed, and what remembers it.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// What is compared: document, paragraph, ngram, near; several with commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "document")]
    pub by: Vec<By>,

    /// Key whose value makes documents equal, in place of their text: url, metadata.sha
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,

    /// Differences that do not count for documents and paragraphs: none, all, or some of
    /// nfc,case,space,punct
    #[arg(long, value_name = "RULES", default_value = "none")]
    pub normalise: Normalise,

    /// The same for the words of n-grams and shingles
    #[arg(long, value_name = "RULES", default_value = "nfc,case")]
    pub normalise_words: Normalise,

    /// What a paragraph is
    #[arg(long, value_name = "RULE", default_value = "line")]
    pub split: Split,

    /// Paragraphs of fewer words stay; of n-grams those of fewer words than an n-gram do in any
    /// case
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_words: usize,

    /// Of a paragraph that repeats within one document only, keep the first or all
    #[arg(long, value_name = "RULE", default_value = "first")]
    pub within: Within,

    /// Documents of which nothing is left
    #[arg(long, value_name = "RULE", default_value = "drop")]
    pub empty: Rule,

    /// Words of an n-gram
    #[arg(long, value_name = "N", default_value_t = 13)]
    pub ngram: usize,

    /// Share of known n-grams above which a unit is removed
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = parse_share)]
    pub overlap: f64,

    /// What n-grams remove
    #[arg(long, value_name = "UNIT", default_value = "paragraph")]
    pub unit: Unit,

    /// Bands of a signature
    #[arg(long, value_name = "N", default_value_t = 14)]
    pub bands: usize,

    /// Values of a band
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub rows: usize,

    /// Words of a shingle
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub shingle: usize,

    /// Share of new units that may be removed by mistake
    #[arg(long, value_name = "SHARE", default_value = "1e-6", value_parser = parse_share)]
    pub fpp: f64,

    /// Use filters of a fixed size for this many units, which can be merged; a full one ends the
    /// run
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub items: Option<u64>,

    /// Hold digests of 64 bits in place of filters: 14 bytes a unit
    #[arg(long, conflicts_with_all = ["items", "fpp"])]
    pub exact: bool,

    /// Memory that the filters may take; by default what is available
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub memory: Option<u64>,

    /// State of another run: what it saw counts as seen before
    #[arg(long, value_name = "DIR")]
    pub after: Vec<PathBuf>,
}

/// What makes a document contaminated.
#[derive(Clone, Debug, Args)]
pub struct BenchmarkArgs {
    /// Words of an n-gram
    #[arg(long, value_name = "N", default_value_t = 13)]
    pub ngram: usize,

    /// Distinct n-grams of a benchmark from which on a document is contaminated
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub matches: usize,

    /// Differences of words that do not count
    #[arg(long, value_name = "RULES", default_value = "nfc,case,punct")]
    pub normalise_words: Normalise,
}

impl LineArgs {
    /// Options that compare nothing yet.
    pub fn options(&self) -> Options {
        Options {
            text_key: self.text_key.clone(),
            id_key: self.id_key.clone(),
            bad: self.bad,
            max_line: self.max_line,
            ..Options::default()
        }
    }
}

impl ReadArgs {
    /// The same with words.
    pub fn options(&self) -> Options {
        Options { words: self.words, ..self.lines.options() }
    }
}

impl CompareArgs {
    /// What is done with documents that are read in this way.
    pub fn options(&self, read: &ReadArgs) -> anyhow::Result<Options> {
        let by = |what: By| self.by.contains(&what);
        check_bands(self.bands, self.rows, self.shingle)?;
        Ok(Options {
            documents: by(By::Document),
            key: self.key.clone(),
            paragraphs: by(By::Paragraph),
            ngrams: by(By::Ngram).then_some(Ngrams { n: self.ngram, overlap: self.overlap, unit: self.unit }),
            near: by(By::Near).then_some(Near {
                bands: Bands { bands: self.bands, rows: self.rows },
                shingle: self.shingle,
            }),
            split: self.split,
            min_words: self.min_words,
            within: self.within,
            empty: self.empty,
            normalise: self.normalise,
            normalise_words: self.normalise_words,
            fpp: self.fpp,
            items: self.items,
            exact: self.exact,
            after: self.after.iter().map(|state| state.display().to_string()).collect(),
            ..read.options()
        })
    }
}

impl BenchmarkArgs {
    /// What is done with documents that are read in this way.
    pub fn options(&self, read: &ReadArgs) -> anyhow::Result<Options> {
        if self.ngram == 0 || self.matches == 0 {
            return Err(hinted("--ngram and --matches must be at least 1", "13 and 1 are the defaults"));
        }
        Ok(Options {
            benchmark: Some(Benchmark { n: self.ngram, matches: self.matches }),
            normalise_words: self.normalise_words,
            ..read.options()
        })
    }
}

/// Options that have an effect with some others only: their names, when that is, and what they
/// need.
type Effect = (&'static str, fn(&Options) -> bool, &'static str);
const EFFECTS: [Effect; 14] = [
    ("key", |options| options.documents, "--by document"),
    ("normalise", |options| options.documents || options.paragraphs, "--by document or paragraph"),
    ("normalise_words", Options::counts_words, "--by ngram or near"),
    ("words", Options::counts_words, "--by ngram or near"),
    ("split", Options::splits, "--by paragraph, or ngram with paragraphs as --unit"),
    ("within", Options::splits, "--by paragraph, or ngram with paragraphs as --unit"),
    ("empty", Options::splits, "--by paragraph, or ngram with paragraphs as --unit"),
    ("min_words", |options| options.paragraphs || options.ngrams.is_some(), "--by paragraph or ngram"),
    ("overlap", |options| options.ngrams.is_some(), "--by ngram"),
    ("unit", |options| options.ngrams.is_some(), "--by ngram"),
    ("ngram", |options| options.ngrams.is_some() || options.benchmark.is_some(), "--by ngram"),
    ("bands", |options| options.near.is_some(), "--by near"),
    ("rows", |options| options.near.is_some(), "--by near"),
    ("shingle", |options| options.near.is_some(), "--by near"),
];

/// An error if an option was given that has no effect with these.
pub fn check_effects(given: &ArgMatches, options: &Options) -> anyhow::Result<()> {
    for (name, effect, needed) in EFFECTS {
        // clap panics at a name that the subcommand does not have.
        let is_given =
            given.ids().any(|id| id == name) && given.value_source(name) == Some(ValueSource::CommandLine);
        if is_given && !effect(options) {
            let option = format!("--{}", name.replace('_', "-"));
            let reason = format!("{option} has no effect without {needed}");
            return Err(hinted(reason, format!("{needed}, or leave out {option}")));
        }
    }
    Ok(())
}

/// An error if no signatures can be made with these.
pub fn check_bands(bands: usize, rows: usize, shingle: usize) -> anyhow::Result<()> {
    if bands == 0 || rows == 0 || shingle == 0 || bands.saturating_mul(rows) > 4096 {
        let reason = "--bands, --rows and --shingle must be at least 1, bands times rows at most 4096";
        return Err(hinted(reason, "14, 8 and 5 are the defaults"));
    }
    Ok(())
}

/// Options without files, for programs that bring their own documents.
#[derive(Debug, Parser)]
#[command(name = "gardenia corpus", no_binary_name = true, disable_help_flag = true)]
enum Given {
    Dedup {
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        compare: Box<CompareArgs>,
    },
    Decontaminate {
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        rule: BenchmarkArgs,
    },
}

/// What arguments ask for, without files.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What is done.
    pub options: Options,
    /// States of other runs.
    pub after: Vec<PathBuf>,
    /// Bytes that all sets together may take.
    pub memory: Option<u64>,
}

/// Reads `dedup` or `decontaminate` with its options, such as `--min-words=3`, and without files.
pub fn parse(arguments: &[String]) -> anyhow::Result<Wanted> {
    let matches = Given::command().try_get_matches_from(arguments);
    let given = matches.and_then(|mut matches| {
        let named = matches.subcommand().map_or_else(ArgMatches::default, |(_, given)| given.clone());
        Ok((Given::from_arg_matches_mut(&mut matches)?, named))
    });
    let (given, named) = given.map_err(|error| hinted(problem(&error), "see gardenia corpus --help"))?;
    let wanted = match given {
        Given::Dedup { read, compare } => {
            let options = compare.options(&read)?;
            Wanted { options, after: compare.after, memory: compare.memory }
        }
        Given::Decontaminate { read, rule } => {
            Wanted { options: rule.options(&read)?, after: Vec::new(), memory: None }
        }
    };
    check_effects(&named, &wanted.options)?;
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table names options that exist, each of which is refused where it does nothing, with the
    /// remedy, and accepted where it does something.
    #[test]
    fn options_without_an_effect_are_refused() {
        let value = |name: &str| match name {
            "key" => "url",
            "normalise" | "normalise_words" => "case",
            "words" => "space",
            "split" => "block",
            "within" => "all",
            "empty" => "keep",
            "overlap" => "0.5",
            "unit" => "both",
            _ => "3",
        };
        for (name, effect, needed) in EFFECTS {
            let option = format!("--{}", name.replace('_', "-"));
            let mut answers = Vec::new();
            for by in ["document", "paragraph", "ngram", "near"] {
                let arguments =
                    ["dedup".to_owned(), format!("--by={by}"), format!("{option}={}", value(name))];
                let parsed = parse(&arguments);
                let plain = parse(&arguments[..2]).unwrap();
                assert_eq!(parsed.is_ok(), effect(&plain.options), "{arguments:?}");
                let refused = parsed.err().map(|error| error.to_string());
                if let Some(text) = &refused {
                    assert_eq!(*text, format!("{option} has no effect without {needed}"));
                }
                answers.push(refused.is_none());
            }
            assert!(answers.contains(&true) && answers.contains(&false), "{option}: {answers:?}");
        }
        let all = ["decontaminate", "--ngram=4", "--words=space", "--normalise-words=case"];
        parse(&all.map(str::to_owned)).unwrap();
    }
}
