//! `gardenia explore`: calls the program `gardenia-explore`, which shows filters on a page in the
//! browser.

use super::beside;
use crate::Outcome;
use std::ffi::OsString;

/// Plan, draw, probe and inspect filters in the browser, with the program gardenia-explore
///
/// All that follows is handed on to gardenia-explore: `gardenia explore --help` prints what it can
/// do.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  gardenia explore
  gardenia explore seen.gdn"
)]
pub(crate) struct ExploreArgs {
    /// Arguments of gardenia-explore
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: &ExploreArgs) -> anyhow::Result<Outcome> {
    beside::run("gardenia-explore", &args.args)
}
