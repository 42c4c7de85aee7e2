//! `dedup --exact`: no line lost, in two passes over files, or three.
//!
//! The first pass asks a filter, which is wrong in one direction only: a line that it calls new
//! occurs for the first time. The others, repeats and false positives, are kept as they are. So in
//! the second pass a line that was not kept came once, and one that was kept is printed when it is
//! met first. How often those that were kept occur, for `-c` and `-u`, is counted in a pass between
//! the two.

use super::growing::{Growing, LEAST_FPP};
use super::losses::Losses;
use super::{DedupArgs, Report, print, reading, rewind};
use crate::input::{Batch, Block, KeyTexts, Keys, Row, Source};
use crate::message::{self, hinted};
use crate::{Outcome, human, memory};
use gardenia::{Digest, KeyHasher};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Write};

/// A false positive costs memory here and nothing else.
const FPP: f64 = 0.01;

/// Bytes of a kept line beside its own: table, pointer, and what the allocator adds.
const OVERHEAD: u64 = 64;

/// Kept lines take this much more before memory is looked at again.
const STEP: u64 = 64 << 20;

pub(crate) fn run(args: &DedupArgs, sources: Vec<Source>) -> anyhow::Result<Outcome> {
    let Twice { sources, missing, start } = twice(sources, "--exact")?;
    if args.key.int {
        return Err(hinted(
            "--exact compares keys as they are written, and not as numbers",
            "leave out --int",
        ));
    }
    let (fpp, keys) = (args.fpp(FPP)?, args.key.keys()?);
    let hasher = args.secret.read()?.map_or(KeyHasher::xxh3(0), KeyHasher::sip13);
    let look = |keys: &Keys, block: Block<'_>, part: &mut BlockKeys| {
        keys.read(&hasher, block, &mut part.batch)?;
        keys.texts_too(block, &mut part.texts)
    };

    let (mut seen, mut kept, mut new) =
        (Growing::new(fpp.max(LEAST_FPP), args.items.unwrap_or(1))?, Kept::default(), Vec::new());
    let mut flag = |block: Block<'_>, part: &mut BlockKeys| {
        let digests = &part.batch.digests;
        new.resize(digests.len(), false);
        seen.insert(digests, &mut new)?;
        let known = part.texts.slices(block).into_iter().zip(digests).zip(&new).filter(|(_, new)| !**new);
        known.into_iter().try_for_each(|((key, digest), _)| kept.add(*digest, key))
    };
    let mut trouble = reading(args, &sources, &keys, "looking for repeats in").run(look, &mut flag)?;
    let memory_bytes = seen.memory_bytes() + kept.bytes;
    drop(seen); // its memory is not needed any more
    rewind(start)?;
    if args.count || args.unique {
        let mut count = |block: Block<'_>, part: &mut BlockKeys| {
            let texts = part.texts.slices(block).into_iter().zip(&part.batch.digests);
            texts.for_each(|(key, digest)| kept.count(*digest, key));
            Ok(())
        };
        trouble |= reading(args, &sources, &keys, "counting").run_again(look, &mut count)?;
        rewind(start)?;
    }

    let (mut stdout, mut output, mut first, mut header) =
        (io::stdout().lock(), Vec::new(), Vec::new(), false);
    let (mut read, mut printed) = (0, 0);
    let mut once = |block: Block<'_>, part: &mut BlockKeys| {
        let texts = part.texts.slices(block).into_iter().zip(&part.batch.digests);
        first.clear();
        first.extend(
            texts.map(|(key, digest)| kept.first(*digest, key).filter(|count| !args.unique || *count == 1)),
        );
        read += part.batch.lines();
        printed += first.iter().flatten().count() as u64 + part.batch.lines() - first.len() as u64;
        output.clear();
        if args.count {
            write_counts(block, &part.batch, &mut output, |at| first[at]);
            return print(&mut stdout, &output, args.line_buffered.then_some(block.end()));
        }
        part.batch.copy(block, &mut output, |row| match row {
            Row::Key(at) => first[at].is_some(),
            Row::Keyless => true,
            Row::Header => !std::mem::replace(&mut header, true),
        });
        print(&mut stdout, &output, args.line_buffered.then_some(block.end()))
    };
    let again = reading(args, &sources, &keys, "printing").run_again(look, &mut once)?;
    let (lost, mode) = (Losses::default(), "exact");
    Report::new((read, printed), (lost, lost), 0.0, memory_bytes, mode).say(args.stats, args.json)?;
    Ok(if missing || trouble || again { Outcome::Trouble } else { Outcome::Done })
}

/// The keys of a block.
#[derive(Default)]
struct BlockKeys {
    batch: Batch,
    texts: KeyTexts,
}

/// Records of a block after their counts and a tab; those that are not to be printed have none.
pub(crate) fn write_counts(
    block: Block<'_>,
    batch: &Batch,
    output: &mut Vec<u8>,
    count: impl Fn(usize) -> Option<u64>,
) {
    for record in batch.records(block) {
        // A record without a key came once, as far as anybody can tell.
        let count = match record.row {
            Row::Key(at) => count(at),
            Row::Keyless => Some(1),
            Row::Header => None,
        };
        let Some(count) = count else { continue };
        let _ = write!(output, "{count}\t"); // a vector takes all
        output.extend_from_slice(block.without_end(record.bytes));
        output.push(block.end());
    }
}

/// Inputs that can be read more than once.
pub(crate) struct Twice {
    pub(crate) sources: Vec<Source>,
    /// Whether others were complained about.
    pub(crate) missing: bool,
    /// Where stdin begins, if it is one of them.
    pub(crate) start: Option<u64>,
}

/// The inputs that can be read; an error if one cannot be read twice.
pub(crate) fn twice(sources: Vec<Source>, option: &str) -> anyhow::Result<Twice> {
    let start =
        sources.iter().any(|source| matches!(source, Source::Stdin)).then(super::stdin_start).flatten();
    for source in &sources {
        let once = match source {
            Source::Stdin => start.is_none(),
            Source::File(path) => crate::open::is_stream(path),
        };
        if once {
            let reason =
                format!("{}: {option} reads its input twice, which a pipe cannot give", source.name());
            return Err(hinted(reason, "write it to a file first"));
        }
    }
    let all = sources.len();
    let complain = |source: &Source| source.check().map_err(|error| message::complain(&error)).is_ok();
    let readable: Vec<Source> = sources.into_iter().filter(complain).collect();
    let missing = readable.len() < all;
    Ok(Twice { sources: readable, missing, start })
}

/// Digests are hashed already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Lines that the filter called known, each once, and whether it was printed.
#[derive(Default)]
struct Kept {
    lines: HashMap<u64, Line, BuildHasherDefault<AsIs>>,
    /// Lines whose digest another line has: hardly ever any.
    others: Vec<Line>,
    bytes: u64,
    allowed: u64,
}

struct Line {
    text: Box<[u8]>,
    count: u64,
    printed: bool,
}

impl Kept {
    fn add(&mut self, digest: Digest, text: &[u8]) -> anyhow::Result<()> {
        let line = || Line { text: text.into(), count: 0, printed: false };
        match self.lines.entry(digest.0) {
            Entry::Vacant(place) => drop(place.insert(line())),
            Entry::Occupied(place) if *place.get().text == *text => return Ok(()),
            Entry::Occupied(_) if self.others.iter().any(|other| *other.text == *text) => return Ok(()),
            Entry::Occupied(_) => self.others.push(line()),
        }
        self.bytes += text.len() as u64 + OVERHEAD;
        if self.bytes > self.allowed {
            let what = format!("storing {}", human::plural(self.lines.len() as u64, "repeated line"));
            memory::require(STEP, &what, "without --exact it takes some 30 bits per line")?;
            self.allowed = self.bytes + STEP;
        }
        Ok(())
    }

    /// A line that was kept.
    fn find(&mut self, digest: Digest, text: &[u8]) -> Option<&mut Line> {
        match self.lines.get_mut(&digest.0)? {
            line if *line.text == *text => Some(line),
            _ => self.others.iter_mut().find(|other| *other.text == *text),
        }
    }

    /// Counts a line, if it was kept.
    fn count(&mut self, digest: Digest, text: &[u8]) {
        if let Some(line) = self.find(digest, text) {
            line.count += 1;
        }
    }

    /// How often a line occurs, if it is met for the first time now; what was not kept occurs once.
    fn first(&mut self, digest: Digest, text: &[u8]) -> Option<u64> {
        let Some(line) = self.find(digest, text) else { return Some(1) };
        let printed = std::mem::replace(&mut line.printed, true);
        (!printed).then_some(line.count)
    }
}
