//! `gardenia lab`: calls the program `gardenia-lab`, which repeats the papers' experiments.

use super::beside;
use crate::Outcome;
use std::ffi::OsString;

/// Repeat the papers' experiments, with the program gardenia-lab
///
/// All that follows is handed on to gardenia-lab: `gardenia lab --help` prints what it can do.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  gardenia lab list
  gardenia lab run --all --quick"
)]
pub(crate) struct LabArgs {
    /// Arguments of gardenia-lab
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: &LabArgs) -> anyhow::Result<Outcome> {
    beside::run("gardenia-lab", &args.args)
}
