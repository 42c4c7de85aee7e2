//! `gardenia lab`: the papers' experiments. The work is in the crate `lab`; here are names, files and the exit code.
//!
//! Whether files can be written is asked before the first trial: nobody should wait for a run that must fail.

use crate::Outcome;
use crate::args::{LabArgs, LabCommand, LabRunArgs};
use crate::message::hinted;
use crate::open::is_dash;
use crate::progress::Progress;
use anyhow::{Context, Result};
use gardenia::format::replace_file;
use lab::{Plan, Report, Run};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub(crate) fn run(args: &LabArgs) -> Result<Outcome> {
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
    if let Some(folder) = &args.csv {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        // What will be written is not known yet, but all of it begins with the name.
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let file = entry?.file_name();
            let mut names = chosen.iter().map(|experiment| experiment.name());
            if !args.force && names.any(|name| is_csv_of(&file.to_string_lossy(), name)) {
                return already_exists(&folder.join(file));
            }
        }
    }
    let json = args.json.as_deref();
    if let Some(path) = json.filter(|path| !args.force && !is_dash(path) && path.exists()) {
        return already_exists(path);
    }
    let (trials, quick, seed) = (args.trials, args.quick, args.seed);
    let plan = Plan { trials, seed, threads: args.threads.unwrap_or(0) as usize, quick };

    let mut stdout = io::stdout().lock();
    let mut reports = Vec::new();
    for experiment in chosen {
        let bar = Bar(Mutex::new(Progress::share(experiment.name().to_owned())));
        let outcome = experiment.run(&plan, &bar).context(experiment.name())?;
        drop(bar);
        let report = Report::new(&*experiment, outcome);
        if !json.is_some_and(is_dash) {
            let gap = if reports.is_empty() { "" } else { "\n" };
            write!(stdout, "{gap}{}", report.to_text()).and_then(|()| stdout.flush()).context("stdout")?;
        }
        if let Some(folder) = &args.csv {
            for (name, text) in report.to_csv() {
                let path = folder.join(name);
                write_file(&path, &text)?;
            }
        }
        reports.push(report);
    }
    let differs = reports.iter().any(Report::differs);
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&Run::new(&plan, reports))? + "\n";
        if is_dash(path) {
            stdout.write_all(text.as_bytes()).context("stdout")?;
        } else {
            write_file(path, &text)?;
        }
    }
    Ok(if differs { Outcome::Nothing } else { Outcome::Done })
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

fn already_exists(path: &Path) -> Result<Outcome> {
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
