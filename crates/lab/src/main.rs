//! `gardenia-lab`, which `gardenia lab` calls: the papers' experiments. The work is in the library;
//! here are names, files and the exit code.
//!
//! Whether files can be written is asked before the first trial: nobody should wait for a run that
//! must fail.

mod directory;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use directory::Directory;
use gardenia::format::replace_file;
use gardenia_terminal::message::{hinted, usage};
use gardenia_terminal::progress::Progress;
use gardenia_terminal::{Outcome, colour, exit_code, human};
use lab::{Look, Plan, Report, Run};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// Repeat the papers' experiments
///
/// Every experiment states its claim and its source, prints our numbers beside the paper's with
/// their standard errors, and computes a verdict for each row.
#[derive(Debug, Parser)]
#[command(
    name = "gardenia lab",
    version,
    after_help = "\
Examples:
  gardenia lab list
  gardenia lab run lumetta-table-1
  gardenia lab run --all --quick
  gardenia lab run --all --report results       everything, as a page with pictures"
)]
struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

/// What to do in the lab.
#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Print the name and subject of every experiment
    #[command(after_help = "\
Examples:
  gardenia lab list | grep lumetta")]
    List,
    Run(LabRunArgs),
}

/// Run experiments
///
/// The same seed and trials give the same numbers with any number of threads; only tables of times
/// differ.
///
/// With --report, a run that was interrupted resumes when you run the same command again.
#[derive(Debug, Args)]
#[command(
    override_usage = "gardenia lab run [OPTIONS] NAME... (`gardenia lab list` prints the names; --all runs all of them)",
    after_help = "\
Examples:
  gardenia lab run lumetta-table-1 lumetta-table-2
  gardenia lab run --all                                 25 minutes of processor time, shared by all threads
  gardenia lab run --all --quick                         a minute and a half of it: fewer trials, wider errors
  gardenia lab run --all --report results                results/index.html, and the numbers as CSV and JSON
  gardenia lab run --all --csv results --json results.json
  gardenia lab run lumetta-rounds --json - | jq '.experiments[0].figures'

Exit codes: 0 all verdicts agree or are explained, 1 some differ, 2 error."
)]
struct LabRunArgs {
    /// Names of experiments, as `gardenia lab list` prints them
    #[arg(value_name = "NAME", required_unless_present = "all", value_parser = experiment())]
    names: Vec<String>,

    /// Run all of them
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Trials per point, 2 to 1000000, instead of each experiment's own number
    #[arg(long, value_name = "N", value_parser = trials, allow_negative_numbers = true)]
    trials: Option<u64>,

    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = human::parse_count, allow_negative_numbers = true)]
    seed: u64,

    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    threads: Option<u32>,

    /// Run fewer trials, and only part of the longest tables
    #[arg(long)]
    quick: bool,

    /// Write a page with all tables and pictures, and the numbers as CSV and JSON, into this
    /// directory, which is created if necessary
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// Write a CSV file per table into this directory, which is created if necessary
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,

    /// Write everything as JSON; - is stdout, in place of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw figures between the tables; auto: on a terminal that can show them
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    figures: When,

    /// Replace existing files; with --report, start over
    #[arg(long)]
    force: bool,
}

/// When figures are drawn.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl When {
    fn look(self) -> Option<Look> {
        let look = Look { colour: colour(), ..Look::default() };
        let draws = match self {
            Self::Auto => io::stdout().is_terminal() && speaks_utf8(),
            Self::Always => true,
            Self::Never => false,
        };
        draws.then_some(look)
    }
}

/// Whether the terminal is likely to show braille dots: the locale says so, in the order in which
/// the C library asks.
fn speaks_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The names of the experiments, from the lab.
fn experiment() -> PossibleValuesParser {
    PossibleValuesParser::new(lab::all().iter().map(|experiment| experiment.name()))
}

/// A number of trials.
fn trials(text: &str) -> Result<u64, String> {
    let trials = human::parse_count(text)?;
    Plan { trials: Some(trials), ..Plan::default() }.check().map_err(|error| error.to_string())?;
    Ok(trials)
}

fn main() -> ExitCode {
    match LabArgs::try_parse() {
        Ok(args) => exit_code(run(&args)),
        Err(error) => usage(&error),
    }
}

/// `-`, for stdout.
fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn run(args: &LabArgs) -> Result<Outcome> {
    match &args.command {
        LabCommand::List => list(),
        LabCommand::Run(args) => run_named(args),
    }
}

fn list() -> Result<Outcome> {
    let experiments = lab::all();
    let width = experiments.iter().map(|experiment| experiment.name().len()).max().unwrap_or(0);
    let mut stdout = io::stdout().lock();
    for experiment in experiments {
        let (name, title, source) = (experiment.name(), experiment.title(), experiment.source());
        writeln!(stdout, "{name:width$}  {title}\n{:width$}  {source}", "").context("stdout")?;
    }
    Ok(Outcome::Done)
}

fn run_named(args: &LabRunArgs) -> Result<Outcome> {
    let chosen: Vec<_> = lab::all()
        .into_iter()
        .filter(|experiment| args.all || args.names.iter().any(|name| name == experiment.name()))
        .collect();
    let names: Vec<&str> = chosen.iter().map(|experiment| experiment.name()).collect();
    if let Some(directory) = &args.csv {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        check_csv(directory, &names, args.force)?;
    }
    let json = args.json.as_deref();
    if let Some(path) = json.filter(|path| !args.force && !is_dash(path) && path.exists()) {
        return already_exists(path);
    }
    let (trials, quick, seed) = (args.trials, args.quick, args.seed);
    let threads = args.threads.unwrap_or(0) as usize;
    let mut plan = Plan { trials, seed, threads, quick, journal: None };
    let directory =
        args.report.as_deref().map(|path| Directory::open(path, &plan, &names, args.force)).transpose()?;
    plan.journal = directory.as_ref().map(|directory| Arc::clone(&directory.journal));

    let (start, look) = (Instant::now(), args.figures.look());
    let mut stdout = io::stdout().lock();
    let mut reports = Vec::new();
    for (number, experiment) in (1..).zip(&chosen) {
        let place = if chosen.len() > 1 { format!("{number}/{} ", chosen.len()) } else { String::new() };
        let bar = Bar(Mutex::new(Progress::share(format!("{place}{}", experiment.name()))));
        let outcome = experiment.run(&plan, &bar).context(experiment.name())?;
        drop(bar);
        let report = Report::new(&**experiment, outcome);
        if !json.is_some_and(is_dash) {
            let gap = if reports.is_empty() { "" } else { "\n" };
            let text = report.to_text(look.as_ref());
            write!(stdout, "{gap}{text}").and_then(|()| stdout.flush()).context("stdout")?;
        }
        if let Some(directory) = &args.csv {
            write_csv(directory, &report)?;
        }
        reports.push(report);
    }
    let run = Run::new(&plan, reports);
    if let Some(path) = json {
        let text = run.to_json()?;
        if is_dash(path) {
            stdout.write_all(text.as_bytes()).context("stdout")?;
        } else {
            write_file(path, &text)?;
        }
    }
    if let Some(directory) = directory {
        let page = directory.finish(&run, &command(args), &facts(args, start))?;
        if !json.is_some_and(is_dash) {
            writeln!(stdout, "\nThe report is in {}", page.display()).context("stdout")?;
        }
    }
    Ok(if run.experiments().iter().any(Report::differs) { Outcome::Nothing } else { Outcome::Done })
}

/// What gives the same numbers again.
fn command(args: &LabRunArgs) -> String {
    let names = if args.all { "--all".to_owned() } else { args.names.join(" ") };
    let quick = if args.quick { " --quick" } else { "" };
    let trials = args.trials.map_or(String::new(), |trials| format!(" --trials {trials}"));
    format!("gardenia lab run {names}{quick}{trials} --seed {}", args.seed)
}

/// What else a reader should know of the run.
fn facts(args: &LabRunArgs, start: Instant) -> String {
    let trials = match (args.trials, args.quick) {
        (Some(trials), _) => format!("{trials} trials per point"),
        (None, true) => "fewer trials (--quick), as each table says".to_owned(),
        (None, false) => "trials as each table says".to_owned(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores as u64, u64::from);
    let took = human::seconds(start.elapsed().as_secs_f64());
    format!(
        "Gardenia {}{}, {}; seed {}, {trials}. This run took {took} with {} on {}; only tables of times depend on that.",
        env!("CARGO_PKG_VERSION"),
        option_env!("GARDENIA_COMMIT").map_or(String::new(), |commit| format!(" (commit {commit})")),
        human::date(SystemTime::now()),
        args.seed,
        human::plural(threads, "thread"),
        processor(),
    )
}

/// The processor's name, where the system tells.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}

/// An error if the directory holds a table of one of these experiments, and must not lose it.
fn check_csv(directory: &Path, names: &[&str], force: bool) -> Result<()> {
    // What will be written is not known yet, but all of it begins with the name.
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let file = entry?.file_name();
        if !force && names.iter().any(|name| is_csv_of(&file.to_string_lossy(), name)) {
            return already_exists(&directory.join(file));
        }
    }
    Ok(())
}

fn write_csv(directory: &Path, report: &Report) -> Result<()> {
    report.to_csv().iter().try_for_each(|(name, text)| write_file(&directory.join(name), text))
}

/// Whole or not at all: a full disk leaves no half of a table.
fn write_file(path: &Path, text: &str) -> Result<()> {
    let write = |writer: &mut dyn Write| writer.write_all(text.as_bytes());
    replace_file::<io::Error>(path, write).with_context(|| path.display().to_string())
}

/// Whether `file` is `NAME.csv` or `NAME-1.csv` and so on.
fn is_csv_of(file: &str, name: &str) -> bool {
    let rest = file.strip_prefix(name).and_then(|rest| rest.strip_suffix(".csv"));
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

fn already_exists<T>(path: &Path) -> Result<T> {
    Err(hinted(format!("{}: already exists", path.display()), "--force replaces it"))
}

/// The bar, told by all threads.
struct Bar(Mutex<Progress>);

impl lab::Progress for Bar {
    fn at(&self, done: u64, total: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at(done, total);
    }
}

#[test]
fn csv_files_of_an_experiment_are_known_by_their_names() {
    let names = ["a-table.csv", "a-table-1.csv", "a-table-12.csv"];
    assert!(names.iter().all(|file| is_csv_of(file, "a-table")));
    assert!(
        !["a-table-b.csv", "a-table", "b-table.csv", "a-table1.csv"]
            .iter()
            .any(|file| is_csv_of(file, "a-table"))
    );
}
