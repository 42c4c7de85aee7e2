//! Gardenia beside other libraries: the same keys and the same error rate, in one run.
//!
//! `cargo run --profile dist -p peers` prints a table per size and kind of key, then the goals of
//! the project as ratios within this run. Times of different runs or machines are not comparable,
//! so nothing here is a test that passes or fails by the clock. `docs/speed.md` says how to read
//! the tables.
//!
//! `cargo run --profile dist -p peers -- garden` measures the garden's filters beside libbf's
//! figures, `cargo run --profile dist -p peers -- counting` sketches beside those of other crates,
//! `-- static` filters that are built of all keys at once, and `-- stream` the command beside other
//! tools of the shell.
//!
//! A contender is one small `impl` of [`contender::Contender`] and one line in
//! [`contenders::roster`].

mod args;
mod clock;
mod contender;
mod contenders;
mod counting;
mod fixed;
mod garden;
mod goals;
mod host;
mod keys;
mod measure;
mod report;
mod stream;
mod table;

use args::{Args, What};
use clap::Parser;
use keys::{BenchKey, KeyKind, Queries, Texts};
use measure::{Round, Work};
use std::io::{ErrorKind, IsTerminal, Write};
use table::{Case, Table};

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let done = match &args.what {
        None => run(&args),
        Some(What::Garden(garden)) => garden::run(garden),
        Some(What::Counting(counting)) => counting::run(counting),
        Some(What::Static(fixed)) => fixed::run(fixed),
        Some(What::Stream(stream)) => stream::run(stream),
        Some(What::Measure(command)) => stream::measure(command),
    };
    match done {
        // A reader such as `head` that has seen enough is no error.
        Err(error) if error.downcast_ref().is_some_and(is_closed_pipe) => Ok(()),
        done => done,
    }
}

fn is_closed_pipe(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

fn run(args: &Args) -> anyhow::Result<()> {
    let host = host::describe();
    let mut out = std::io::stdout();
    write!(out, "{}", report::heading(&host, args))?;
    let mut table = Table::default();
    for items in args.sizes() {
        for &keys in args.keys.kinds() {
            let case = Case { items, keys };
            run_case(args, case, &mut table);
            write!(out, "{}", report::section(&table, case, args.fpp))?;
            out.flush()?; // also in a pipe a section is to be seen as soon as it is ready
        }
    }
    let verdicts = goals::evaluate(&table, args.fpp);
    write!(out, "{}", report::goals(&verdicts))?;
    if let Some(path) = &args.json {
        std::fs::write(path, report::json(&host, args, &table, &verdicts)?)?;
    }
    Ok(())
}

/// Measures all contenders with one number and kind of keys. The repeats are the outer loop, so
/// that a disturbance by the machine's other work falls on all contenders and not on all repeats of
/// one.
fn run_case(args: &Args, case: Case, table: &mut Table) {
    let Case { items, keys } = case;
    let pool = keys::inserted(items);
    let texts = (keys == KeyKind::Str40).then(|| Texts::of(&pool));
    let text_pool = texts.as_ref().map(Texts::refs);
    for repeat in 0..args.repeats() {
        let Queries { hits, misses, mixed } = Queries::draw(&pool, items, repeat, args.repeats());
        let fpp = args.fpp;
        let numbers = Work { case, fpp, pool: &pool, hits: &hits, misses: &misses, mixed: &mixed };
        match &text_pool {
            None => run_round(args, repeat, &Round { work: numbers, numbers }, table),
            Some(pool) => {
                let [hits, misses, mixed] = [&hits, &misses, &mixed].map(|numbers| Texts::of(numbers));
                let (hits, misses, mixed) = (hits.refs(), misses.refs(), mixed.refs());
                let work = Work { case, fpp, pool, hits: &hits, misses: &misses, mixed: &mixed };
                run_round(args, repeat, &Round { work, numbers }, table);
            }
        }
    }
}

/// One repeat of all contenders.
fn run_round<K: BenchKey>(args: &Args, repeat: usize, round: &Round<'_, K>, table: &mut Table) {
    let case = round.work.case;
    let progress = Progress::new(format!("{case}, repeat {} of {}", repeat + 1, args.repeats()));
    for entry in contenders::roster::<K>() {
        if !entry.always && !args.admits(entry.name) {
            continue;
        }
        for threads in args.threads(entry.shareable) {
            progress.show(entry.name);
            table.add(entry.name, threads, case, (entry.run)(round, threads));
        }
    }
}

/// Tells on stderr what is being done: on a terminal in one line that is replaced and in the end
/// wiped out, elsewhere by a line per repeat. Nobody is hurt when that fails.
struct Progress {
    what: String,
    terminal: bool,
}

impl Progress {
    fn new(what: String) -> Self {
        let terminal = std::io::stderr().is_terminal();
        if !terminal {
            let _ = writeln!(std::io::stderr(), "{what}");
        }
        Self { what, terminal }
    }

    fn show(&self, name: &str) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}: {name}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
