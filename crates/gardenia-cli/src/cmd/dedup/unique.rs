//! `dedup --unique`: the lines that occur once, in two passes over files.
//!
//! The first pass notes the lines that come again, as `-d` does; the second prints all others. A
//! line that comes again is always noted, so that what is printed occurs once for certain. A line
//! that occurs once is lost if one of the filters takes it for one that came before.

use super::exact::{Twice, twice};
use super::growing::{Growing, LEAST_FPP};
use super::losses::Losses;
use super::seen::{Memory, Seen};
use super::{DedupArgs, FPP, Report, count, print, reading, rewind};
use crate::Outcome;
use crate::input::{Batch, Block, Keys, Row, Source};
use gardenia::{Digest, KeyHasher};
use std::io;

pub(crate) fn run(args: &DedupArgs, sources: Vec<Source>) -> anyhow::Result<Outcome> {
    let Twice { sources, missing, start } = twice(sources, "-u")?;
    let (fpp, keys) = (args.fpp(FPP)?.max(LEAST_FPP), args.key.keys()?);
    let hasher = args.secret.read()?.map_or(KeyHasher::xxh3(0), KeyHasher::sip13);
    let first = args.items.unwrap_or(1);
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);

    let mut seen = Seen::new(Memory::Growing(Growing::new(fpp, first)?), false);
    let (mut repeated, mut answers, mut read) = (Growing::new(fpp, 1)?, Vec::new(), 0);
    let mut again = |_: Block<'_>, batch: &mut Batch| {
        read += batch.lines();
        answers.resize(batch.digests.len(), false);
        seen.ask(&batch.digests, &mut answers)?;
        seen.commit(count(&answers))?;
        let known = batch.digests.iter().zip(&answers).filter(|(_, new)| !**new);
        let known: Vec<Digest> = known.map(|(digest, _)| *digest).collect();
        let mut new = vec![false; known.len()];
        repeated.insert(&known, &mut new)
    };
    let trouble = reading(args, &sources, &keys, "looking for repeats in").run(look, &mut again)?;
    let (mut lost, memory_bytes) = (seen.losses(), seen.memory_bytes() + repeated.memory_bytes());
    drop(seen);
    rewind(start)?;

    let (mut stdout, mut output, mut header, mut printed) = (io::stdout().lock(), Vec::new(), false, 0);
    let mut once = |block: Block<'_>, batch: &mut Batch| {
        answers.resize(batch.digests.len(), false);
        repeated.contains(&batch.digests, &mut answers);
        let kept = batch.lines() - count(&answers);
        printed += kept;
        output.clear();
        batch.copy(block, &mut output, |row| match row {
            Row::Key(at) => !answers[at],
            Row::Keyless => true,
            Row::Header => !std::mem::replace(&mut header, true),
        });
        print(&mut stdout, &output, args.line_buffered.then_some(block.end()))
    };
    let later = reading(args, &sources, &keys, "printing").run_again(look, &mut once)?;
    lost.at_rate(printed, repeated.fpp());
    let fpp = repeated.fpp();
    Report::new((read, printed), (lost, Losses::default()), fpp, memory_bytes, "unique")
        .say(args.stats, args.json)?;
    Ok(if missing || trouble || later { Outcome::Trouble } else { Outcome::Done })
}
