//! `gardenia corpus`: calls the program `gardenia-corpus`, which deduplicates text corpora.

use super::beside;
use crate::Outcome;
use std::ffi::OsString;

/// Deduplicate a text corpus, with the program gardenia-corpus
///
/// All that follows is handed on to gardenia-corpus: `gardenia corpus --help` prints what it can
/// do.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  gardenia corpus dedup raw --output clean
  gardenia corpus dedup raw --by paragraph,near --output clean --state state"
)]
pub(crate) struct CorpusArgs {
    /// Arguments of gardenia-corpus
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: &CorpusArgs) -> anyhow::Result<Outcome> {
    beside::run("gardenia-corpus", &args.args)
}
