//! `gardenia count`: how often lines went into a filter.

use super::query::{check_stdin, outcome};
use crate::args::CountArgs;
use crate::input::{Batch, Block, KeyTexts, Keys, Reading, Row, Source, has_cr, name};
use crate::message::{hinted, say};
use crate::open::{check_unchanged, counts, open};
use crate::{Outcome, foreign, human, split};
use anyhow::Context;
use gardenia::KeyHasher;
use gardenia::format::Foreign;
use std::io::{self, IsTerminal, Write};

pub(crate) fn run(args: &CountArgs) -> anyhow::Result<Outcome> {
    let sources = Source::all(&args.inputs);
    check_stdin(&args.filter, &sources)?;
    args.verify.check(&args.filter, &sources)?;
    let options = args.memory.options(args.secret.read()?);
    if let Some(filter) = foreign::open_to_ask(&args.filter, args.foreign, &options)? {
        return of_another_program(args, &sources, &*filter);
    }
    let opened = match split::counters(&args.filter, &options)? {
        Some(counting) => counting.into(),
        None => open(&args.filter, &options)?,
    };
    counts(&opened).with_context(|| name(&args.filter))?;
    let keys = args.key.of_filter(opened.about(), args.stored).with_context(|| name(&args.filter))?.keys()?;
    let keys = keys.tell_unseen_bytes(has_cr(opened.about()) == Some(false));
    let (mut stdout, hasher) = (io::stdout().lock(), opened.hasher());
    let (progress, threads) = (!stdout.is_terminal(), args.threads.count());
    let reading =
        Reading { sources: &sources, keys: &keys, doing: "counting", progress, threads, strict: false };
    let most = counts(&opened)?.max_count();
    let look = |keys: &Keys, block: Block<'_>, part: &mut Numbered| {
        keys.read(hasher, block, &mut part.batch)?;
        part.counts.resize(part.batch.digests.len(), 0);
        counts(&opened)?.count_digests(&part.batch.digests, &mut part.counts);
        check_unchanged(&opened, &args.filter)?;
        part.numbers.clear();
        // A counter at its top may stand for any larger count.
        let wanted = |count: &u64| *count >= args.min || *count >= most;
        part.numbers.extend(part.counts.iter().map(|count| wanted(count).then_some(*count)));
        part.keyless = (args.min == 0).then_some(0); // what has no key never went in
        Ok(())
    };
    let (mut found, mut stuck) = (false, 0);
    let note = |count| {
        found |= count > 0;
        stuck += u64::from(count >= most);
    };
    let trouble = print_numbers(&reading, look, &mut stdout, most, note)?;
    if stuck > 0 {
        let (lines, most) = (human::plural(stuck, "line"), human::count(most));
        say(&format!(
            "gardenia: warning: {}: {lines} reached the largest count, {most}, and may have been added more often",
            name(&args.filter)
        ));
    }
    Ok(outcome(trouble, found))
}

/// The counts of a sketch, or of a filter that counts, in another program's format.
fn of_another_program(args: &CountArgs, sources: &[Source], filter: &dyn Foreign) -> anyhow::Result<Outcome> {
    if !foreign::counts(filter) {
        let reason = format!("{}: {} does not count", name(&args.filter), filter.format().title());
        return Err(hinted(reason, "`gardenia query` prints the lines that may be in it"));
    }
    let keys = args.key.keys()?;
    let mut stdout = io::stdout().lock();
    let (progress, threads) = (!stdout.is_terminal(), args.threads.count());
    let reading = Reading { sources, keys: &keys, doing: "counting", progress, threads, strict: false };
    let look = |keys: &Keys, block: Block<'_>, part: &mut Numbered| {
        keys.read(&KeyHasher::default(), block, &mut part.batch)?; // which records have a key
        let mut texts = KeyTexts::default();
        keys.texts_too(block, &mut texts)?;
        part.numbers.clear();
        for key in texts.slices(block) {
            let count = foreign::count(filter, args.foreign.as_type, key)?;
            part.numbers.push((count >= args.min).then_some(count));
        }
        part.keyless = (args.min == 0).then_some(0);
        Ok(())
    };
    let mut found = false;
    let trouble = print_numbers(&reading, look, &mut stdout, u64::MAX, |count| found |= count > 0)?;
    Ok(outcome(trouble, found))
}

/// The records of a block, and the number to print before each of them.
#[derive(Default)]
pub(crate) struct Numbered {
    pub(crate) batch: Batch,
    /// For each key; none if its record is not to be printed.
    pub(crate) numbers: Vec<Option<u64>>,
    /// For records without a key.
    pub(crate) keyless: Option<u64>,
    counts: Vec<u64>,
}

/// Prints records after their numbers and a tab, with a mark at numbers from `most` on, and hands
/// the numbers to `note`. Whether an input could not be read.
pub(crate) fn print_numbers(
    reading: &Reading<'_>,
    look: impl Fn(&Keys, Block<'_>, &mut Numbered) -> anyhow::Result<()> + Sync,
    stdout: &mut impl Write,
    most: u64,
    mut note: impl FnMut(u64),
) -> anyhow::Result<bool> {
    let mut output = Vec::new();
    let trouble = reading.run(look, &mut |block: Block<'_>, part: &mut Numbered| {
        for record in part.batch.records(block) {
            let number = match record.row {
                Row::Key(at) => part.numbers[at],
                Row::Keyless => part.keyless,
                Row::Header => None,
            };
            let Some(number) = number else { continue };
            note(number);
            let mark = if number >= most { "≥" } else { "" };
            let _ = write!(output, "{mark}{number}\t"); // a vector takes all
            output.extend_from_slice(block.without_end(record.bytes));
            output.push(block.end());
        }
        stdout.write_all(&output).context("stdout")?;
        output.clear();
        Ok(())
    })?;
    stdout.flush().context("stdout")?;
    Ok(trouble)
}
