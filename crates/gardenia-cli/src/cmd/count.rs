//! `gardenia count`: how often lines went into a filter.

use super::query::{check_stdin, outcome};
use crate::Outcome;
use crate::args::CountArgs;
use crate::input::{Batch, Block, Keys, Reading, Row, Source, name};
use crate::open::open;
use anyhow::Context;
use std::io::{self, IsTerminal, Write};

pub(crate) fn run(args: &CountArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    check_stdin(&args.filter, &sources)?;
    let opened = open(&args.filter, args.secret.read()?)?;
    opened.counts().with_context(|| name(&args.filter))?;
    let (mut stdout, hasher, keys) = (io::stdout().lock(), opened.hasher(), args.key.keys()?);
    let (progress, threads) = (!stdout.is_terminal(), args.threads.count());
    let reading =
        Reading { sources: &sources, keys: &keys, doing: "counting", progress, threads, strict: false };
    let look = |keys: &Keys, block: Block<'_>, part: &mut Part| {
        keys.read(&hasher, block, &mut part.batch)?;
        part.counts.resize(part.batch.digests.len(), 0);
        opened.counts()?.count_digests(&part.batch.digests, &mut part.counts);
        Ok(())
    };
    let (mut found, mut output) = (false, Vec::new());
    let trouble = reading.run(look, &mut |block: Block<'_>, part: &mut Part| {
        found |= part.counts.iter().any(|&count| count > 0);
        for record in part.batch.records(block) {
            let count = match record.row {
                Row::Key(at) => part.counts[at],
                Row::Keyless => 0,
                Row::Header => continue,
            };
            if count >= args.min {
                let _ = write!(output, "{count}\t"); // a vector takes all
                output.extend_from_slice(block.without_end(record.bytes));
                output.push(block.end());
            }
        }
        stdout.write_all(&output).context("stdout")?;
        output.clear();
        Ok(())
    })?;
    stdout.flush().context("stdout")?;
    Ok(outcome(trouble, found))
}

/// The counts of a block's records.
#[derive(Default)]
struct Part {
    batch: Batch,
    counts: Vec<u64>,
}
