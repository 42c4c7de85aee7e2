//! `gardenia recover`: a split filter after a crash.

use crate::args::{MemoryArgs, SecretArgs};
use crate::message::{self, hinted, say};
use crate::split::{explain, try_open, wait, words};
use crate::{Outcome, human, input};
use anyhow::Context;
use gardenia::Error;
use gardenia::filter::{SplitFiles, SplitOpening};
use std::io::{self, Write};
use std::path::PathBuf;

/// Repair a filter of kind split after a crash
///
/// A filter of kind split is two files: FILTER, its bits, and its counters beside it, with the
/// extension `counters`. Commands refuse it if a command that changed it was killed, or if the bits
/// are missing, corrupted or not those of the counters. This completes the operation that was under
/// way and writes the bits again from the counters. Every line is then in the filter as a whole or
/// not at all.
///
/// Prints how many operations the killed command had completed. Each line that `add` stores is one,
/// and each line that `remove` removes. Continue after them. After a system crash nothing is
/// printed: commands that exited with 0 are complete; the last one may be partly done. Add its
/// lines again, but do not remove its lines again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gardenia recover stock.gdn
  lines=$(gardenia recover -q stock.gdn)
  tail -n +$((lines + 1)) sold.txt | gardenia remove stock.gdn

Exit codes: 0 done, 2 error.")]
pub(crate) struct RecoverArgs {
    /// The file of bits; it need not exist
    filter: PathBuf,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &RecoverArgs) -> anyhow::Result<Outcome> {
    let (path, name) = (&args.filter, input::name(&args.filter));
    let options = args.memory.options(args.secret.read()?);
    let Some(files) = SplitFiles::find(path) else {
        let counters = path.with_extension("counters");
        let reason = format!("it has no counters: {} is missing", counters.display());
        return Err(hinted(reason, "only filters of kind split have them").context(name));
    };
    let filter = loop {
        match try_open(&files, &options) {
            Err(Error::InUse) => wait(&files, args.quiet)?,
            opened => break opened.map_err(|error| explain(path, &files, error))?,
        }
    };
    let (opening, all, before) = (filter.opening(), filter.operations(), filter.closed_operations());
    filter.close().map_err(message::encode).with_context(|| name.clone())?;
    let since = all.saturating_sub(before);
    if !args.quiet {
        let repaired = match opening {
            SplitOpening::Clean => "nothing to repair".to_owned(),
            found => format!("repaired ({})", words(found)),
        };
        let (all, since) = (human::plural(all, "operation"), human::count(since));
        say(&format!("{name}: {repaired}; {all} in all, {since} since it was last closed"));
    }
    if opening != SplitOpening::Stopped {
        writeln!(io::stdout(), "{since}").context("stdout")?;
    }
    Ok(Outcome::Done)
}
