//! `gardenia-corpus`, which `gardenia corpus` calls: arguments, files and the exit code. The work
//! is in the library.

use anyhow::Context;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use gardenia_corpus::args::{BenchmarkArgs, CompareArgs, LineArgs, ReadArgs, check_bands, check_effects};
use gardenia_corpus::generate::{Recipe, generate};
use gardenia_corpus::input::{self, Packing};
use gardenia_corpus::minhash::Bands;
use gardenia_corpus::options::{Near, Options, Rule};
use gardenia_corpus::output::{self, Target};
use gardenia_corpus::pairs::BINS;
use gardenia_corpus::report::Report;
use gardenia_corpus::run::{Job, curve};
use gardenia_terminal::human::{parse_bytes, parse_count, parse_share};
use gardenia_terminal::message::{hinted, say, usage};
use gardenia_terminal::{Outcome, exit_code, human};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Deduplicate a text corpus: documents, paragraphs, n-grams, near-duplicates
///
/// Reads JSON lines, plain or compressed with gzip or Zstandard. The result is that of the files in
/// their order, with any number of threads.
#[derive(Debug, Parser)]
#[command(
    name = "gardenia corpus",
    version,
    after_help = "\
Examples:
  gardenia corpus dedup raw --output clean                        documents that occurred before
  gardenia corpus dedup raw --by paragraph --output clean
  gardenia corpus dedup raw --by document,near --output clean --state state
  gardenia corpus decontaminate raw --benchmark test.jsonl --output clean
  gardenia corpus generate sample

Exit codes: 0 done, 2 error. docs/corpus.md is the guide."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dedup(Box<DedupArgs>),
    Decontaminate(Box<DecontaminateArgs>),
    Apply(ApplyArgs),
    Pairs(PairsArgs),
    Merge(MergeArgs),
    Curve(CurveArgs),
    Generate(GenerateArgs),
}

/// Files, and how they are read and written.
#[derive(Debug, Args)]
struct IoArgs {
    /// Files of JSON lines, directories, or patterns in quotes
    #[arg(required = true, value_name = "INPUT")]
    input: Vec<String>,

    /// Directory for the files without what was removed
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["attributes", "dry_run"])]
    output: Option<PathBuf>,

    /// Directory for attributes (id and spans, as dolma has them) in place of documents
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    attributes: Option<PathBuf>,

    /// Report what would be removed, and write nothing
    #[arg(long, conflicts_with_all = ["output", "attributes"])]
    dry_run: bool,

    /// Replace files in the output directory
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    read: ReadArgs,

    /// Threads; all processors by default
    #[arg(short = 'j', long, value_name = "N")]
    threads: Option<usize>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Write the report as a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print no report and no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Remove what occurred before
///
/// The first occurrence in the order of the files stays. What is removed by mistake is bounded by
/// --fpp and reported.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia corpus dedup 'raw/*.jsonl.gz' --output clean
  gardenia corpus dedup raw --key url --output clean
  gardenia corpus dedup raw --by paragraph --min-words 5 --attributes attributes
  gardenia corpus dedup raw --by ngram --unit both --output clean
  gardenia corpus dedup raw --by near --bands 14 --rows 8 --output clean --html report.html
  gardenia corpus dedup raw --output clean --state state      go on where it was killed: the same command")]
struct DedupArgs {
    #[command(flatten)]
    io: IoArgs,

    #[command(flatten)]
    compare: CompareArgs,

    /// Directory that remembers what was done: the same command goes on at the last finished file
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,

    /// Bytes of the state's journals after which its sets are written as a whole; by default what
    /// the sets take, and 16 MiB at least
    #[arg(long, value_name = "BYTES", hide = true, requires = "state", value_parser = parse_bytes)]
    journals: Option<u64>,
}

/// Flag or drop documents that contain n-grams of benchmarks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia corpus decontaminate raw --benchmark mmlu.jsonl --output clean
  gardenia corpus decontaminate raw --benchmark 'tests/*.jsonl' --benchmark-key question --attributes flags")]
struct DecontaminateArgs {
    #[command(flatten)]
    io: IoArgs,

    /// Files of the benchmark: JSON lines
    #[arg(long, value_name = "FILE", required = true)]
    benchmark: Vec<String>,

    /// Key of the benchmark's text; that of --text-key by default
    #[arg(long, value_name = "KEY")]
    benchmark_key: Option<String>,

    #[command(flatten)]
    rule: BenchmarkArgs,
}

/// Remove what attributes name
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia corpus dedup raw --by paragraph --attributes attributes
  gardenia corpus apply raw --attributes attributes --output clean")]
struct ApplyArgs {
    /// Files of JSON lines, directories, or patterns in quotes
    #[arg(required = true, value_name = "INPUT")]
    input: Vec<String>,

    /// Directory with attributes, under the same names
    #[arg(long, value_name = "DIR")]
    attributes: PathBuf,

    /// Directory for the files without what was removed
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Replace files in the output directory
    #[arg(long)]
    force: bool,

    /// Documents of which nothing is left
    #[arg(long, value_name = "RULE", default_value = "drop")]
    empty: Rule,

    #[command(flatten)]
    lines: LineArgs,
}

/// Print similar documents as pairs, from exact buckets on disk
///
/// Each document is paired with the first of each bucket that it shares, so that groups are
/// complete without all pairs. The similarity is estimated by the signatures.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia corpus pairs raw --similarity 0.8 > pairs.jsonl")]
struct PairsArgs {
    /// Files of JSON lines, directories, or patterns in quotes
    #[arg(required = true, value_name = "INPUT")]
    input: Vec<String>,

    /// Least similarity of a pair
    #[arg(long, value_name = "SHARE", default_value = "0.7", value_parser = parse_share)]
    similarity: f64,

    /// Bands of a signature
    #[arg(long, value_name = "N", default_value_t = 14)]
    bands: usize,

    /// Values of a band
    #[arg(long, value_name = "N", default_value_t = 8)]
    rows: usize,

    /// Words of a shingle
    #[arg(long, value_name = "N", default_value_t = 5)]
    shingle: usize,

    #[command(flatten)]
    read: ReadArgs,

    /// Directory for temporary files: about 700 bytes a document
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    work: PathBuf,

    /// Print no progress and no summary
    #[arg(short, long)]
    quiet: bool,
}

/// Merge the states of several runs into one, for --after
///
/// Their sets must be of a fixed size (--items) or exact (--exact). Growing filters cannot be
/// merged: name each state with --after.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia corpus merge state-1 state-2 --output state-1-2")]
struct MergeArgs {
    /// Directories that --state made
    #[arg(required = true, num_args = 2.., value_name = "STATE")]
    states: Vec<PathBuf>,

    /// Directory for the merged state
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Print how likely similar documents are removed
#[derive(Debug, Args)]
struct CurveArgs {
    /// Bands of a signature
    #[arg(long, value_name = "N", default_value_t = 14)]
    bands: usize,

    /// Values of a band
    #[arg(long, value_name = "N", default_value_t = 8)]
    rows: usize,

    /// Share of new documents that the filters may remove by mistake
    #[arg(long, value_name = "SHARE", default_value = "1e-6", value_parser = parse_share)]
    fpp: f64,
}

/// Write a corpus with planted duplicates, and the truth about them
///
/// The documents are in DIR/corpus, the truth in DIR/truth.jsonl.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gardenia corpus generate sample --documents 10k --files 4 --packing gzip")]
struct GenerateArgs {
    /// Directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Documents
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count)]
    documents: u64,

    /// Files
    #[arg(long, value_name = "N", default_value_t = 4)]
    files: u64,

    /// Seed: the same gives the same corpus
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Share of copies
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = parse_share)]
    exact: f64,

    /// Share of similar documents
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = parse_share)]
    near: f64,

    /// Share of documents with a copied paragraph
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = parse_share)]
    paragraph: f64,

    /// Similarity of similar documents, from and to
    #[arg(long, value_name = "FROM,TO", default_value = "0.5,0.95", value_delimiter = ',', value_parser = parse_share)]
    similarity: Vec<f64>,

    /// Words of a paragraph, on average
    #[arg(long, value_name = "N", default_value_t = 60)]
    words: u64,

    /// Paragraphs of a document
    #[arg(long, value_name = "N", default_value_t = 5)]
    paragraphs: u64,

    /// How the files are compressed
    #[arg(long, value_name = "HOW", default_value = "none")]
    packing: PackingArg,

    /// Make one copy of a document at most
    #[arg(long)]
    once: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PackingArg {
    None,
    Gzip,
    Zstd,
}

fn main() -> ExitCode {
    let parsed = Cli::command().try_get_matches().and_then(|mut matches| {
        let given = matches.subcommand().map_or_else(ArgMatches::default, |(_, given)| given.clone());
        Ok((Cli::from_arg_matches_mut(&mut matches)?, given))
    });
    match parsed {
        Ok((cli, given)) => exit_code(run(cli.command, &given)),
        Err(error) => usage(&error),
    }
}

/// `given` holds what was given to the subcommand.
fn run(command: Command, given: &ArgMatches) -> anyhow::Result<Outcome> {
    match command {
        Command::Dedup(args) => dedup(&args, given),
        Command::Decontaminate(args) => decontaminate(&args),
        Command::Apply(args) => apply(&args),
        Command::Pairs(args) => pairs(&args),
        Command::Merge(args) => {
            gardenia_corpus::state::merge(&args.states, &args.output)?;
            Ok(Outcome::Done)
        }
        Command::Curve(args) => print_curve(&args),
        Command::Generate(args) => {
            let [low, high] = args.similarity[..] else {
                return Err(hinted("--similarity needs two numbers", "--similarity 0.5,0.95"));
            };
            let recipe = Recipe {
                documents: args.documents,
                files: args.files,
                seed: args.seed,
                exact: args.exact,
                near: args.near,
                paragraph: args.paragraph,
                similarity: (low, high),
                words: args.words,
                paragraphs: args.paragraphs,
                once: args.once,
                packing: match args.packing {
                    PackingArg::None => Packing::Plain,
                    PackingArg::Gzip => Packing::Gzip,
                    PackingArg::Zstd => Packing::Zstd,
                },
            };
            generate(&recipe, &args.directory)?;
            Ok(Outcome::Done)
        }
    }
}

impl IoArgs {
    fn job(&self, options: Options) -> anyhow::Result<Job> {
        let target = match (&self.output, &self.attributes) {
            (Some(directory), _) => Target::Documents(directory.clone()),
            (None, Some(directory)) => Target::Attributes(directory.clone()),
            (None, None) => Target::Nothing,
        };
        if let Some(directory) = target.directory() {
            output::apart(directory, &self.input)?;
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Job {
            sources: input::find(&self.input)?,
            options,
            target,
            state: None,
            journals: None,
            after: Vec::new(),
            benchmark: Vec::new(),
            benchmark_key: None,
            memory: None,
            threads: self.threads.unwrap_or(processors).clamp(1, 256),
            force: self.force,
            verbose: !self.quiet,
        })
    }

    fn finish(&self, report: &Report) -> anyhow::Result<Outcome> {
        if let Some(path) = &self.html {
            let page = gardenia_corpus::html::page(report);
            gardenia::format::replace_file::<std::io::Error>(path, |file| file.write_all(page.as_bytes()))
                .with_context(|| path.display().to_string())?;
        }
        let mut stdout = std::io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut stdout, report)?;
            writeln!(stdout)?;
        } else if !self.quiet {
            stdout.write_all(report.text().as_bytes())?;
        }
        Ok(Outcome::Done)
    }
}

fn dedup(args: &DedupArgs, given: &ArgMatches) -> anyhow::Result<Outcome> {
    let compare = &args.compare;
    let options = compare.options(&args.io.read)?;
    check_effects(given, &options)?;
    if let Some(state) = &args.state {
        output::apart(state, &args.io.input)?;
    }
    let job = Job {
        state: args.state.clone(),
        after: compare.after.clone(),
        memory: compare.memory,
        journals: args.journals,
        ..args.io.job(options)?
    };
    args.io.finish(&job.run()?)
}

fn decontaminate(args: &DecontaminateArgs) -> anyhow::Result<Outcome> {
    let job = Job {
        benchmark: input::find(&args.benchmark)?,
        benchmark_key: args.benchmark_key.clone(),
        ..args.io.job(args.rule.options(&args.io.read)?)?
    };
    args.io.finish(&job.run()?)
}

fn apply(args: &ApplyArgs) -> anyhow::Result<Outcome> {
    let options = Options { empty: args.empty, ..args.lines.options() };
    output::apart(&args.output, &args.input)?;
    let (sources, target) = (input::find(&args.input)?, Target::Documents(args.output.clone()));
    output::check(&target, &sources, args.force, 0)?;
    let applied = gardenia_corpus::apply::apply(&sources, &args.attributes, &options, &target)?;
    let bad = match applied.bad {
        0 => String::new(),
        bad => format!(", {}", human::plural(bad, "bad line")),
    };
    println!(
        "{} read, {} kept, {} of them shortened{bad}",
        human::plural(applied.documents, "document"),
        human::count(applied.kept),
        human::count(applied.changed)
    );
    Ok(Outcome::Done)
}

fn pairs(args: &PairsArgs) -> anyhow::Result<Outcome> {
    check_bands(args.bands, args.rows, args.shingle)?;
    let bands = Bands { bands: args.bands, rows: args.rows };
    let options = Options { near: Some(Near { bands, shingle: args.shingle }), ..args.read.options() };
    let (sources, mut stdout) =
        (input::find(&args.input)?, std::io::BufWriter::new(std::io::stdout().lock()));
    let found = gardenia_corpus::pairs::find(
        &sources,
        &options,
        args.similarity,
        &args.work,
        &mut stdout,
        !args.quiet,
    )?;
    stdout.flush()?;
    if !args.quiet {
        say(&format!(
            "{} read, {} not used, {} printed",
            human::plural(found.documents, "document"),
            human::plural(found.bad, "bad line"),
            human::plural(found.pairs, "pair")
        ));
        for (bin, pairs) in found.similarities.iter().enumerate().filter(|(_, pairs)| **pairs > 0) {
            let (from, to) = (bin as f64 / BINS as f64, (bin + 1) as f64 / BINS as f64);
            say(&format!("similarity {from:.2} to {to:.2}: {}", human::plural(*pairs, "pair")));
        }
    }
    Ok(Outcome::Done)
}

fn print_curve(args: &CurveArgs) -> anyhow::Result<Outcome> {
    check_bands(args.bands, args.rows, 1)?;
    let bands = Bands { bands: args.bands, rows: args.rows };
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "similarity  removed")?;
    for point in curve(bands, args.fpp) {
        writeln!(stdout, "{:<10}  {}", point.similarity, human::percent(point.removed))?;
    }
    writeln!(stdout, "half of all pairs at similarity {:.3}", bands.half())?;
    Ok(Outcome::Done)
}
