//! How our programs talk to people: messages, numbers, progress and exit codes. Shared by
//! `gardenia` and the programs beside it.

pub mod human;
pub mod message;
pub mod progress;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// How a command ended, other than by an error that stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Something was found, or the work is done.
    Done,
    /// Nothing was found.
    Nothing,
    /// Part of the work failed; it was complained about, and the rest is done.
    Trouble,
}

/// The exit code of a command, as `grep` has it: 0 found (or done), 1 nothing found, 2 trouble,
/// which is complained about.
pub fn exit_code(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Nothing) => ExitCode::from(1),
        Ok(Outcome::Trouble) => ExitCode::from(2),
        // Whoever reads our output has seen enough (`| head`): that is no failure of ours.
        Err(error) if message::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            message::complain(&error);
            ExitCode::from(2)
        }
    }
}

/// Whether output is to be coloured.
pub fn colour() -> bool {
    // https://no-color.org: set and not empty
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stdout().is_terminal() && !unwanted && !dumb
}
