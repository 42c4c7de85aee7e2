//! The index of a list: digests in order, each with the place of its line, and a filter of them.
//!
//! It is a cache and no format to keep: one of another version, or of a list that has changed
//! since, is built again.
//!
//! ```text
//! header (64 bytes: magic, version, mark, entries, lines that cannot be found, the first of them, 0, digest of these) ── entries (digest, place: 16 bytes each, by digest) ── filter (a Gardenia file of kind blocked) ── sum of all before it (8 bytes)
//! ```

use super::{Held, index_size, is_foreign};
use crate::input::{Keys, Scratch};
use crate::message::{self, hinted};
use crate::progress::Progress;
use anyhow::Context;
use gardenia::format::replace_file;
use gardenia::{BlockedBloom, Digest};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes of an entry.
pub(super) const ENTRY: usize = 16;
const HEADER: usize = 64;
const MAGIC: &[u8; 8] = b"GDNINDEX";
const VERSION: u64 = 3;
const SUM: usize = 8;

/// What the filter finds by mistake is looked up without success. Fewer bits stay in the cache.
const FPP: f64 = 1.0 / 256.0;

/// Entries sorted at a time: 32 MiB.
const PART: u64 = 2 << 20;
/// Entries of a part that are written at a time.
const CHUNK: usize = 4096;

/// The lines of a list.
pub(super) struct Lines<'a> {
    pub(super) text: &'a [u8],
    pub(super) keys: &'a Keys,
    /// How many there are, at most.
    pub(super) lines: u64,
    /// Whether a key can be found at all, if it does not follow from its being there.
    pub(super) findable: Option<fn(&[u8]) -> bool>,
    /// For the progress bar.
    pub(super) name: String,
    pub(super) progress: bool,
}

/// Where a key is.
type Entry = (u64, u64);

/// How many lines have a key that cannot be found, and the first of them, from 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Lost {
    pub(super) count: u64,
    pub(super) first: u64,
}

pub(super) enum Index {
    Memory {
        entries: Vec<Entry>,
        filter: BlockedBloom,
        lost: Lost,
    },
    /// As it is written, with this many entries.
    Mapped {
        bytes: Held,
        entries: usize,
        lost: Lost,
    },
}

impl Index {
    /// The index in these bytes, if they hold one with this mark.
    fn read(bytes: Held, mark: u64) -> Option<Self> {
        let word = |at: usize| {
            bytes.get(8 * at..8 * at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes)
        };
        let entries = usize::try_from(word(3)?).ok()?;
        let head = super::List::hasher().digest(bytes.get(..HEADER - 8)?).0;
        let ours = bytes.starts_with(MAGIC) && word(1)? == VERSION && word(2)? == mark && word(7)? == head;
        let filter = entries.checked_mul(ENTRY)?.checked_add(HEADER)?;
        let end = bytes.len().checked_sub(SUM)?;
        // The list itself is read to its end as well, to count its lines.
        let whole = ours
            && filter <= end
            && BlockedBloom::view(&bytes[filter..end]).is_ok()
            && bytes[..end].chunks(BLOCK).fold(0, add_block).to_le_bytes() == bytes[end..];
        let lost = Lost { count: word(4)?, first: word(5)? };
        whole.then_some(Self::Mapped { bytes, entries, lost })
    }

    pub(super) fn lost(&self) -> Lost {
        match self {
            Self::Memory { lost, .. } | Self::Mapped { lost, .. } => *lost,
        }
    }

    /// Which digests may be there.
    pub(super) fn may_contain(&self, digests: &[Digest], answers: &mut [bool]) -> anyhow::Result<()> {
        match self {
            Self::Memory { filter, .. } => filter.contains_digests(digests, answers),
            Self::Mapped { bytes, entries, .. } => {
                let filter = BlockedBloom::view(&bytes[HEADER + entries * ENTRY..bytes.len() - SUM]);
                filter.map_err(message::decode)?.contains_digests(digests, answers);
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        match self {
            Self::Memory { entries, .. } => entries.len(),
            Self::Mapped { entries, .. } => *entries,
        }
    }

    fn entry(&self, at: usize) -> Entry {
        match self {
            Self::Memory { entries, .. } => entries[at],
            Self::Mapped { bytes, .. } => from_bytes(&bytes[HEADER + at * ENTRY..][..ENTRY]),
        }
    }

    /// Where the lines with this digest begin.
    pub(super) fn places(&self, digest: Digest) -> impl Iterator<Item = u64> {
        let mut at = self.first(digest.0);
        std::iter::from_fn(move || {
            let (found, place) = (at < self.len()).then(|| self.entry(at))?;
            at += 1;
            (found == digest.0).then_some(place)
        })
    }

    /// The first entry whose digest is not below this one. Digests are evenly spread, so that the
    /// place can be guessed; a few guesses leave some tens of entries, of any number. Many equal
    /// digests would mislead them: then the rest is halved.
    fn first(&self, digest: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        let (mut least, mut most) = (0, u64::MAX);
        let mut guesses = 0;
        while high - low > 8 {
            guesses += 1;
            let middle = if guesses < 8 {
                let share =
                    u128::from(digest - least) * (high - low) as u128 / (u128::from(most - least) + 1);
                low + share as usize
            } else {
                low + (high - low) / 2
            };
            let (found, _) = self.entry(middle);
            if found < digest {
                (low, least) = (middle + 1, found);
            } else {
                (high, most) = (middle, found);
            }
        }
        (low..high).find(|&at| self.entry(at).0 >= digest).unwrap_or(high)
    }
}

/// The index in a file, which is written if there is none for this list.
pub(super) fn open_or_build(path: &Path, lines: &Lines<'_>, mark: u64) -> anyhow::Result<Index> {
    if let Some(index) = open(path, mark)? {
        return Ok(index);
    }
    build_in_file(path, lines, mark).map_err(|error| {
        let reason = format!(
            "the index ({}) cannot be written to {}: {error:#}",
            index_size(lines.lines),
            path.display()
        );
        message::with_hint(hinted_unless(error, reason), "name another file with --index FILE")
    })?;
    open(path, mark)?.with_context(|| format!("{}: changed by another process", path.display()))
}

/// The reason as an error, unless the error has advice of its own.
fn hinted_unless(error: anyhow::Error, reason: String) -> anyhow::Error {
    let advised = error.chain().any(|cause| cause.is::<gardenia_terminal::message::Hinted>());
    if advised { error } else { anyhow::anyhow!(reason) }
}

/// The index in a file, if there is one that belongs to the list. A file that is no index is not to
/// be replaced.
fn open(path: &Path, mark: u64) -> anyhow::Result<Option<Index>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut magic = [0; MAGIC.len()];
    if file.read_exact(&mut magic).is_err() || magic != *MAGIC {
        if is_foreign(path) {
            let reason = format!("{} is not an index, and is not replaced by one", path.display());
            return Err(hinted(reason, "name another file with --index FILE"));
        }
        return Ok(None);
    }
    Ok(Index::read(Held::map(&file)?, mark))
}

/// An index of a few lines.
pub(super) fn build_in_memory(lines: &Lines<'_>) -> anyhow::Result<Index> {
    let mut entries = Vec::new();
    entries.try_reserve_exact(usize::try_from(lines.lines)?)?;
    let lost = each_entry(lines, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    entries.sort_unstable();
    let mut filter = BlockedBloom::new((entries.len() as u64).max(1), FPP).map_err(message::size)?;
    entries.iter().for_each(|entry| _ = filter.insert_digest(Digest(entry.0)));
    Ok(Index::Memory { entries, filter, lost })
}

/// An index of any number of lines in the memory of a few: entries go to a temporary file by ranges
/// of digests, which are sorted one after the other.
fn build_in_file(path: &Path, lines: &Lines<'_>, mark: u64) -> anyhow::Result<()> {
    let directory = path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    let mut file = tempfile::tempfile_in(directory)?;
    let count = usize::try_from(lines.lines.div_ceil(PART))?;
    let mut parts: Vec<Part> = (0..count).map(|_| Part::default()).collect();
    let (mut entries, mut end) = (0, 0);
    let lost = each_entry(lines, |entry| {
        entries += 1;
        let part = &mut parts[((u128::from(entry.0) * count as u128) >> 64) as usize];
        part.waiting.push(entry);
        if part.waiting.len() == CHUNK { part.flush(&mut file, &mut end) } else { Ok(()) }
    })?;
    parts.iter_mut().try_for_each(|part| part.flush(&mut file, &mut end))?;
    let mut sorting = Progress::share(format!("sorting the index of {}", lines.name));
    replace_file(path, |out| {
        let parts = |take: &mut dyn FnMut(&mut Vec<Entry>) -> anyhow::Result<()>| {
            for (at, part) in parts.iter().enumerate() {
                if lines.progress {
                    sorting.at(at as u64, count as u64);
                }
                take(&mut part.read(&mut file)?)?;
            }
            Ok(())
        };
        write(out, mark, entries, lost, parts)
    })
}

/// Entries of a range of digests.
#[derive(Default)]
struct Part {
    waiting: Vec<Entry>,
    /// Where others are in the temporary file, and how many there are.
    chunks: Vec<(u64, usize)>,
}

impl Part {
    fn flush(&mut self, file: &mut File, end: &mut u64) -> anyhow::Result<()> {
        let bytes: Vec<u8> = self.waiting.iter().flat_map(|entry| to_bytes(*entry)).collect();
        file.write_all(&bytes)?;
        self.chunks.push((*end, self.waiting.len()));
        *end += bytes.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    fn read(&self, file: &mut File) -> anyhow::Result<Vec<Entry>> {
        let (mut entries, mut bytes) = (Vec::new(), Vec::new());
        for (at, len) in &self.chunks {
            bytes.resize(len * ENTRY, 0);
            file.seek(SeekFrom::Start(*at))?;
            file.read_exact(&mut bytes)?;
            entries.extend(bytes.chunks_exact(ENTRY).map(from_bytes));
        }
        Ok(entries)
    }
}

fn to_bytes((digest, place): Entry) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..8].copy_from_slice(&digest.to_le_bytes());
    bytes[8..].copy_from_slice(&place.to_le_bytes());
    bytes
}

fn from_bytes(bytes: &[u8]) -> Entry {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    (word(&bytes[..8]), word(&bytes[8..ENTRY]))
}

/// Hands the entries of all lines that have a key to `take`.
fn each_entry(lines: &Lines<'_>, mut take: impl FnMut(Entry) -> anyhow::Result<()>) -> anyhow::Result<Lost> {
    let Lines { text, keys, name, progress, findable, .. } = lines;
    let (mut lost, mut line) = (Lost::default(), 0);
    let mut bar = Progress::new(format!("indexing {name}"), Some(text.len() as u64), *progress);
    let (hasher, end) = (super::List::hasher(), keys.form().end);
    let (mut start, mut scratch, mut read) = (0, Scratch::default(), 0);
    while start < text.len() {
        let rest = &text[start..];
        let len = memchr::memchr(end, rest).unwrap_or(rest.len());
        line += 1;
        let line_bytes = &rest[..len];
        if let Some(key) = keys.bytes_of(line_bytes, &mut scratch) {
            take((hasher.digest(&key).0, start as u64))?;
            // As it stands there: the key may be a hash of it.
            let lost_here = findable.is_some_and(|findable| {
                keys.part_of(line_bytes, &mut scratch).is_some_and(|part| !findable(part.trim_ascii()))
            });
            if lost_here {
                lost = Lost { count: lost.count + 1, first: if lost.count == 0 { line } else { lost.first } };
            }
        }
        start += len + 1;
        if start - read > 1 << 20 {
            read = start;
            bar.read(read as u64);
        }
    }
    Ok(lost)
}

/// Bytes that are summed at a time.
const BLOCK: usize = 64 << 10;

/// The sum of blocks, and of one more: a corrupted place could hide a line.
fn add_block(sum: u64, block: &[u8]) -> u64 {
    let mut both = [0; 16];
    both[..8].copy_from_slice(&sum.to_le_bytes());
    both[8..].copy_from_slice(&super::List::hasher().digest(block).0.to_le_bytes());
    super::List::hasher().digest(&both).0
}

/// Sums what is written.
struct Summed<'a, W: ?Sized> {
    out: &'a mut W,
    block: Vec<u8>,
    sum: u64,
}

impl<W: Write + ?Sized> Summed<'_, W> {
    fn write_block(&mut self) -> io::Result<()> {
        self.sum = add_block(self.sum, &self.block);
        self.out.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Writes the sum after everything else.
    fn finish(mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.out.write_all(&self.sum.to_le_bytes())
    }
}

impl<W: Write + ?Sized> Write for Summed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..len]);
        if self.block.len() == BLOCK {
            self.write_block()?;
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes an index. The parts come in the order of their digests, and are sorted here.
fn write(
    out: &mut (impl Write + ?Sized),
    mark: u64,
    entries: u64,
    lost: Lost,
    parts: impl FnOnce(&mut dyn FnMut(&mut Vec<Entry>) -> anyhow::Result<()>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = Summed { out, block: Vec::with_capacity(BLOCK), sum: 0 };
    let mut filter = BlockedBloom::new(entries.max(1), FPP).map_err(message::size)?;
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    for (at, word) in [(1, VERSION), (2, mark), (3, entries), (4, lost.count), (5, lost.first)] {
        header[8 * at..8 * at + 8].copy_from_slice(&u64::to_le_bytes(word));
    }
    let head = super::List::hasher().digest(&header[..HEADER - 8]).0;
    header[HEADER - 8..].copy_from_slice(&head.to_le_bytes());
    out.write_all(&header)?;
    let mut bytes = Vec::with_capacity(CHUNK * ENTRY);
    parts(&mut |part| {
        part.sort_unstable();
        for chunk in part.chunks(CHUNK) {
            bytes.clear();
            for &entry in chunk {
                bytes.extend_from_slice(&to_bytes(entry));
                filter.insert_digest(Digest(entry.0));
            }
            out.write_all(&bytes)?;
        }
        Ok(())
    })?;
    filter.write_to(&mut out).map_err(message::encode)?;
    Ok(out.finish()?)
}
