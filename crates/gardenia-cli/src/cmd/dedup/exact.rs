//! `dedup --exact`: no line lost, in two passes over files.
//!
//! The first pass asks a filter, which errs on one side only: a line that it calls new came for the first time. The others,
//! repeats and false positives, are kept as they are. So in the second pass a line that was not kept came once, and one
//! that was kept is printed when it is met first.

use super::chain::{Chain, LEAST_FPP};
use super::losses::Losses;
use super::{DedupArgs, Report, estimate, first, print, reading};
use crate::input::{Batch, Block, KeyTexts, Keys, Row, Source};
use crate::message::{self, hinted};
use crate::{Outcome, human, memory};
use gardenia::{Digest, KeyHasher};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;

/// A false positive costs memory here and nothing else.
const FPP: f64 = 0.01;

/// Bytes of a kept line beside its own: table, pointer, and what the allocator adds.
const OVERHEAD: u64 = 64;

/// Kept lines take this much more before memory is looked at again.
const STEP: u64 = 64 << 20;

pub(crate) fn run(args: &DedupArgs, sources: Vec<Source>) -> anyhow::Result<Outcome> {
    let (sources, missing) = twice(sources, "--exact")?;
    if args.key.int {
        return Err(hinted(
            "--exact compares keys as they are written, and not as numbers",
            "leave out --int",
        ));
    }
    let (fpp, keys) = (args.fpp(FPP)?, args.key.keys()?);
    let first = args.items.unwrap_or(first(estimate(&sources)));
    let hasher = args.secret.read()?.map_or(KeyHasher::xxh3(0), KeyHasher::sip13);
    let look = |keys: &Keys, block: Block<'_>, part: &mut BlockKeys| {
        keys.read(&hasher, block, &mut part.batch)?;
        keys.texts_too(block, &mut part.texts)
    };

    let (mut chain, mut kept, mut new) =
        (Chain::new(fpp.max(LEAST_FPP), first)?, Kept::default(), Vec::new());
    let mut flag = |block: Block<'_>, part: &mut BlockKeys| {
        let digests = &part.batch.digests;
        new.resize(digests.len(), false);
        chain.insert(digests, &mut new, || None)?;
        let known = part.texts.slices(block).into_iter().zip(digests).zip(&new).filter(|(_, new)| !**new);
        known.into_iter().try_for_each(|((key, digest), _)| kept.add(*digest, key))
    };
    let trouble = reading(args, &sources, &keys, "looking for repeats in").run(look, &mut flag)?;
    let memory_bytes = chain.memory_bytes() + kept.bytes;
    drop(chain); // its memory is not needed any more

    let (mut stdout, mut output, mut first, mut header) =
        (io::stdout().lock(), Vec::new(), Vec::new(), false);
    let (mut read, mut printed) = (0, 0);
    let mut once = |block: Block<'_>, part: &mut BlockKeys| {
        let texts = part.texts.slices(block).into_iter().zip(&part.batch.digests);
        first.clear();
        first.extend(texts.map(|(key, digest)| kept.is_first(*digest, key)));
        read += part.batch.lines();
        printed += super::count(&first) + part.batch.lines() - first.len() as u64;
        output.clear();
        part.batch.copy(block, &mut output, |row| match row {
            Row::Key(at) => first[at],
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

/// The inputs that can be read, and whether others were complained about; an error if one cannot be read twice.
pub(crate) fn twice(sources: Vec<Source>, option: &str) -> anyhow::Result<(Vec<Source>, bool)> {
    for source in &sources {
        let once = match source {
            Source::Stdin => true,
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
    Ok((readable, missing))
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
    printed: bool,
}

impl Kept {
    fn add(&mut self, digest: Digest, text: &[u8]) -> anyhow::Result<()> {
        let line = || Line { text: text.into(), printed: false };
        match self.lines.entry(digest.0) {
            Entry::Vacant(place) => drop(place.insert(line())),
            Entry::Occupied(place) if *place.get().text == *text => return Ok(()),
            Entry::Occupied(_) if self.others.iter().any(|other| *other.text == *text) => return Ok(()),
            Entry::Occupied(_) => self.others.push(line()),
        }
        self.bytes += text.len() as u64 + OVERHEAD;
        if self.bytes > self.allowed {
            let what = format!("keeping {} that came again", human::plural(self.lines.len() as u64, "line"));
            memory::require(STEP, &what, "without --exact it takes some 30 bits per line")?;
            self.allowed = self.bytes + STEP;
        }
        Ok(())
    }

    /// Whether a line is to be printed now.
    fn is_first(&mut self, digest: Digest, text: &[u8]) -> bool {
        let line = match self.lines.get_mut(&digest.0) {
            None => return true,
            Some(line) if *line.text == *text => Some(line),
            Some(_) => self.others.iter_mut().find(|other| *other.text == *text),
        };
        line.is_none_or(|line| !std::mem::replace(&mut line.printed, true))
    }
}
