//! `dedup --count`: each line once, after the number of times that it came, in two passes over
//! files.
//!
//! What a line's count is, is known when the last line is read, and the lines are not kept. So the
//! first pass counts them in a Count-Min sketch, and the second prints each when it is met first,
//! with what the sketch tells.

use super::exact::{Twice, twice, write_counts};
use super::growing::Growing;
use super::losses::Losses;
use super::seen::{Memory, Seen};
use super::{DedupArgs, FPP, Report, estimate, print, reading, rewind};
use crate::cmd::sketch;
use crate::input::{Batch, Block, Keys, Source};
use crate::message::{self, say};
use crate::{Outcome, memory};
use gardenia::cells::CellKind;
use gardenia::{CountMin, KeyHasher};
use std::io;

/// Bytes of the sketch for each line that may come, and the least and the most of them.
const PER_LINE: u64 = 4;
const LEAST: u64 = 1 << 20;
const MOST: u64 = 1 << 30;

pub(crate) fn run(args: &DedupArgs, sources: Vec<Source>) -> anyhow::Result<Outcome> {
    let Twice { sources, missing, start } = twice(sources, "-c")?;
    let hasher = args.secret.read()?.map_or(KeyHasher::xxh3(0), KeyHasher::sip13);
    let lines = args.items.or(estimate(&sources)).unwrap_or(1 << 20);
    let bytes = lines.saturating_mul(PER_LINE).clamp(LEAST, MOST);
    let builder = CountMin::builder().cells(CellKind::Merging8).bytes(bytes).rows(4).hasher(hasher.clone());
    memory::require(bytes, "counting", "lower --items")?;
    let growing = Growing::new(args.fpp(FPP)?.max(super::LEAST_FPP), args.items.unwrap_or(1))?;
    let mut sketch = builder.build().map_err(message::sketch_size)?;
    let mut seen = Seen::new(Memory::Growing(growing), false);
    let look = |keys: &Keys, block: Block<'_>, batch: &mut Batch| keys.read(&hasher, block, batch);

    let (keys, mut answers, mut lines) = (args.key.keys()?, Vec::new(), 0);
    let mut tally = |_: Block<'_>, batch: &mut Batch| {
        lines += batch.lines();
        answers.resize(batch.digests.len(), false);
        sketch.insert_digests(&batch.digests, &mut answers);
        Ok(())
    };
    let trouble = reading(args, &sources, &keys, "counting").run(look, &mut tally)?;

    rewind(start)?;
    let (mut stdout, mut output, mut counts, mut printed) = (io::stdout().lock(), Vec::new(), Vec::new(), 0);
    let mut once = |block: Block<'_>, batch: &mut Batch| {
        let digests = &batch.digests;
        answers.resize(digests.len(), false);
        seen.ask(digests, &mut answers)?;
        counts.resize(digests.len(), 0);
        sketch.count_digests(digests, &mut counts);
        seen.commit(super::count(&answers))?;
        output.clear();
        write_counts(block, batch, &mut output, |at| answers[at].then_some(counts[at]));
        printed += super::count(&answers) + batch.lines() - digests.len() as u64;
        print(&mut stdout, &output, args.line_buffered.then_some(block.end()))
    };
    let again = reading(args, &sources, &keys, "printing").run_again(look, &mut once)?;
    let memory_bytes = sketch.memory_bytes() as u64 + seen.memory_bytes();
    let (lost, fpp) = (seen.losses(), seen.fpp());
    Report::new((lines, printed), (lost, Losses::default()), fpp, memory_bytes, "growing")
        .say(args.stats, args.json)?;
    if args.stats && !args.json {
        say(&sketch::promise(&sketch));
    }
    Ok(if missing || trouble || again { Outcome::Trouble } else { Outcome::Done })
}
