//! The `gardenia` command: filters built, asked and inspected at the shell.
//!
//! `main` turns what a subcommand returns into an exit code, as `grep` does: 0 found (or done), 1
//! nothing found, 2 trouble. Each subcommand is one file in `cmd`, thin over the library.

mod args;
mod cmd;
mod foreign;
mod help;
mod host;
mod input;
mod keys;
mod list;
mod lock;
mod memory;
mod message;
mod open;
mod output;
mod secret;
mod signal;
mod spec;
mod split;
mod verbs;

use args::Command;
use gardenia_terminal::exit_code;
use gardenia_terminal::message::{problem, usage_as};
pub(crate) use gardenia_terminal::{Outcome, human, progress};
use message::hinted;
use std::process::ExitCode;

fn main() -> ExitCode {
    match help::parse() {
        Ok(cli) => exit_code(run(cli.command)),
        Err(error) => match help::from_grep(&error) {
            Some(hint) => exit_code(Err(hinted(problem(&error), hint))),
            None => usage_as(&error, help::printed),
        },
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Build(args) => cmd::build::run(&args),
        Command::Query(args) => cmd::query::run(&args),
        Command::Dedup(args) => cmd::dedup::run(&args),
        Command::Add(args) => cmd::change::add(&args),
        Command::Remove(args) => cmd::change::remove(&args.change),
        Command::Recover(args) => cmd::recover::run(&args),
        Command::Count(args) => cmd::count::run(&args),
        Command::Get(args) => cmd::map::get(&args),
        Command::Top(args) => cmd::top::run(&args),
        Command::Merge(args) => cmd::merge::run(&args),
        Command::Diff(args) => cmd::diff::run(&args),
        Command::Info(args) => cmd::info::run(&args),
        Command::Eval(args) => cmd::eval::run(&args),
        Command::Convert(args) => cmd::convert::run(&args),
        Command::Improve(args) => cmd::improve::run(&args),
        Command::Plan(args) => cmd::plan::run(&args),
        Command::Kinds(args) => cmd::kinds::run(&args),
        Command::Tour(args) => cmd::tour::run(&args),
        Command::Bench(args) => cmd::bench::run(&args),
        Command::Corpus(args) => cmd::corpus::run(&args),
        Command::Lab(args) => cmd::lab::run(&args),
        Command::Explore(args) => cmd::explore::run(&args),
        Command::Completions(args) => cmd::generate::completions(&args),
        Command::Man(args) => cmd::generate::man(&args),
    }
}
