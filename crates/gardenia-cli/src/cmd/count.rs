//! `gardenia count`: how often lines went into a filter.

use super::query::{check_stdin, outcome};
use crate::Outcome;
use crate::args::CountArgs;
use crate::input::{Block, Source, Work, name, read_all};
use crate::open::open;
use anyhow::Context;
use gardenia::{Count, Digest, KeyHasher};
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::ops::ControlFlow;

pub(crate) fn run(args: &CountArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    check_stdin(&args.filter, &sources)?;
    let opened = open(&args.filter, args.secret.read()?)?;
    let filter = opened.counts().with_context(|| name(&args.filter))?;
    let stdout = io::stdout().lock();
    let (progress, hasher) = (!stdout.is_terminal(), opened.hasher());
    let (digests, counts, output) = (Vec::new(), Vec::new(), Vec::new());
    let mut tally = Tally { args, filter, hasher, digests, counts, found: false, output, stdout };
    let trouble = read_all(&sources, "counting", progress, &mut tally)?;
    tally.stdout.flush().context("stdout")?;
    Ok(outcome(trouble, tally.found))
}

/// Lines and their counts, a block at a time.
struct Tally<'a> {
    args: &'a CountArgs,
    filter: &'a dyn Count,
    hasher: KeyHasher,
    digests: Vec<Digest>,
    counts: Vec<u64>,
    found: bool,
    output: Vec<u8>,
    stdout: StdoutLock<'static>,
}

impl Work for Tally<'_> {
    fn take(&mut self, block: Block<'_>) -> anyhow::Result<()> {
        self.args.key.digests(&self.hasher, block, &mut self.digests)?;
        self.counts.resize(self.digests.len(), 0);
        self.filter.count_digests(&self.digests, &mut self.counts);
        for (record, count) in block.records().zip(&self.counts) {
            self.found |= *count > 0;
            if *count >= self.args.min {
                let _ = write!(self.output, "{count}\t"); // a vector takes all
                self.output.extend_from_slice(record);
                self.output.push(b'\n');
            }
        }
        Ok(())
    }

    fn print(&mut self) -> anyhow::Result<ControlFlow<()>> {
        self.stdout.write_all(&self.output).context("stdout")?;
        self.output.clear();
        Ok(ControlFlow::Continue(()))
    }
}
