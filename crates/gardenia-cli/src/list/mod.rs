//! A list of keys that answers exactly: its text, and an index of where each key is.
//!
//! The index has the digests of all keys, in order, each with the place of its line, and a filter
//! before them. A key that the filter finds is searched among the digests, and compared with the
//! lines of its digest: no answer depends on a hash alone. Text and index are mapped, so that what
//! is not asked for takes no memory.

mod index;

use crate::input::{self, Batch, Block, KeyArgs, Keys, Reading, Scratch, Source};
use crate::message::{hinted, say};
use crate::open::is_stream;
use crate::{human, memory, signal};
use anyhow::Context;
use gardenia::{Digest, KeyHasher};
use index::Index;
use memchr::memchr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Lists of up to this many lines are indexed in memory each time, in some 32 MB and a quarter of a
/// second.
const IN_MEMORY: u64 = 2_000_000;

/// Bytes, wherever they are.
pub(crate) enum Held {
    Memory(Vec<u8>),
    Mapped(memmap2::Mmap),
}

impl std::ops::Deref for Held {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

impl Held {
    fn map(file: &File) -> io::Result<Self> {
        signal::explain_bus_errors()?;
        // SAFETY: others may change the file all the same. If it is cut short, the signal is explained; before answers
        // are printed, `List::check_unchanged` looks whether they can be trusted. The map is read as bytes, any of which
        // are fine.
        #[allow(unsafe_code, reason = "see above")]
        unsafe {
            memmap2::Mmap::map(file).map(Self::Mapped)
        }
    }
}

/// What tells whether a list is the one that was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    bytes: u64,
    /// When it was changed, in nanoseconds of Unix time.
    changed: u64,
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self { bytes: metadata.len(), changed: changed.map_or(0, |since| since.as_nanos() as u64) })
    }
}

/// A file that is mapped, and what it was like when that began.
struct MappedFile {
    file: File,
    stamp: Stamp,
    inode: Option<Inode>,
}

/// When an inode was changed, and how many names it has.
type Inode = (i64, i64, u64);

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.ctime(), metadata.ctime_nsec(), metadata.nlink()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<Inode> {
    None
}

impl MappedFile {
    fn of(file: File) -> io::Result<Self> {
        Ok(Self { stamp: Stamp::of(&file)?, inode: inode(&file.metadata()?), file })
    }

    /// Whether the file is as it was. As `OpenFilter::is_unchanged`: a change of the inode alone
    /// counts, unless the file got another number of names or another file took its place.
    fn is_unchanged(&self, path: &Path) -> io::Result<bool> {
        if Stamp::of(&self.file)? != self.stamp {
            return Ok(false);
        }
        let metadata = self.file.metadata()?;
        let (now, then) = (inode(&metadata), self.inode);
        Ok(now == then || now.map(|now| now.2) != then.map(|then| then.2) || !is_at(&metadata, path))
    }
}

#[cfg(unix)]
fn is_at(metadata: &fs::Metadata, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn is_at(_: &fs::Metadata, _: &Path) -> bool {
    true
}

/// A list of keys.
pub(crate) struct List {
    path: PathBuf,
    keys: Keys,
    text: Held,
    index: Index,
    /// The file that is mapped.
    file: Option<MappedFile>,
    /// The file that holds the index.
    index_path: Option<PathBuf>,
}

impl List {
    /// Opens a list, and builds its index unless there is one that belongs to it.
    pub(crate) fn open(
        path: &Path,
        args: &KeyArgs,
        index_path: Option<&Path>,
        findable: Option<fn(&[u8]) -> bool>,
        progress: bool,
    ) -> anyhow::Result<Self> {
        let keys = args.keys()?;
        let list = Self::try_open(path, keys, args, index_path, findable, progress)
            .with_context(|| input::name(path))?;
        list.warn_of_lost();
        Ok(list)
    }

    /// Reports lines whose keys cannot be found, whatever is searched.
    fn warn_of_lost(&self) {
        let (name, lost) = (self.name(), self.index.lost());
        let (lines, first) = (human::plural(lost.count, "line"), human::count(lost.first));
        let which =
            if lost.count == 1 { format!(": line {first}") } else { format!(", the first is line {first}") };
        if lost.count == 0 {
            return;
        }
        say(&format!("gardenia: warning: {name}: {lines} cannot be found with --tokens{which}"));
        say(
            "hint: remove comments and brackets, write *.evil.example as evil.example and ranges as addresses, or use --extract REGEX",
        );
    }

    fn try_open(
        path: &Path,
        keys: Keys,
        args: &KeyArgs,
        index_path: Option<&Path>,
        findable: Option<fn(&[u8]) -> bool>,
        progress: bool,
    ) -> anyhow::Result<Self> {
        let (text, file) = text(path, &keys, progress)?;
        input::refuse_late(&text)?;
        if text.starts_with(input::MARK) {
            input::warn_of_mark(&input::name(path));
        }
        let lines = memchr::memchr_iter(keys.form().end, &text).count() as u64 + 1;
        let beside = || {
            let mut name = path.as_os_str().to_owned();
            name.push(".gdx");
            PathBuf::from(name)
        };
        let on_disk = match (index_path, &file) {
            (Some(path), Some(_)) => Some(path.to_owned()),
            (Some(_), None) => {
                let reason = "the index of a pipe or a compressed list cannot be stored";
                return Err(hinted(reason, "leave out --index, or unpack the list into a file first"));
            }
            (None, Some(_)) if lines > IN_MEMORY => Some(beside()),
            (None, _) => None,
        };
        let name = input::name(path);
        let list = index::Lines { text: &text, keys: &keys, lines, findable, name, progress };
        let index = match (&on_disk, &file) {
            (Some(place), Some(MappedFile { stamp, .. })) => {
                // What a list's keys are depends on the options.
                let options = args.describe() + if findable.is_some() { " --tokens" } else { "" };
                let mark = stamp.mark(&text, &options);
                index::open_or_build(place, &list, mark)?
            }
            _ => {
                memory::require(
                    lines * index::ENTRY as u64,
                    "the index of the list",
                    "put the list into a file",
                )?;
                index::build_in_memory(&list)?
            }
        };
        Ok(Self { path: path.to_owned(), keys, text, index, file, index_path: on_disk })
    }

    /// Whether there is not even an empty line in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// How messages name it.
    pub(crate) fn name(&self) -> String {
        input::name(&self.path)
    }

    /// Whether its keys end in a carriage return, as the first of them tell.
    pub(crate) fn has_cr(&self) -> bool {
        let start = &self.text[..self.text.len().min(1 << 16)];
        self.keys.line_ends_matter() && memchr::memmem::find(start, b"\r\n").is_some()
    }

    /// Warns of a list that seems to be separated by NUL: it is read by lines.
    pub(crate) fn warn_of_nul(&self) {
        if self.text[..self.text.len().min(1 << 16)].contains(&0) {
            let name = self.name();
            say(&format!(
                "gardenia: warning: {name}: has NUL bytes, but is read by lines: no record that ends in NUL equals such a line"
            ));
            say("hint: tr '\\0' '\\n' <LIST | gardenia query -0 --confirm - …");
        }
    }

    /// The file of the index, if it has one.
    pub(crate) fn index_path(&self) -> Option<&Path> {
        self.index_path.as_deref()
    }

    /// The hash function of its digests.
    pub(crate) fn hasher() -> KeyHasher {
        KeyHasher::default()
    }

    /// Which of the keys with these digests may be in the list.
    pub(crate) fn may_contain(&self, digests: &[Digest], answers: &mut [bool]) -> anyhow::Result<()> {
        self.index.may_contain(digests, answers)
    }

    /// Whether a key is in the list.
    pub(crate) fn contains(&self, digest: Digest, key: &[u8], scratch: &mut Scratch) -> anyhow::Result<bool> {
        for place in self.index.places(digest) {
            let rest = usize::try_from(place).ok().and_then(|place| self.text.get(place..));
            let Some(rest) = rest else {
                let index = self.index_path().map_or_else(|| self.path.display(), Path::display);
                let reason = format!("{index}: the index is corrupted");
                return Err(hinted(reason, "remove it, and it will be built again"));
            };
            let line = &rest[..memchr(self.keys.form().end, rest).unwrap_or(rest.len())];
            if self.keys.bytes_of(line, scratch).is_some_and(|found| *found == *key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An error if the list was changed while it was in use.
    pub(crate) fn check_unchanged(&self) -> anyhow::Result<()> {
        match &self.file {
            Some(source) if !source.is_unchanged(&self.path)? => {
                let reason = format!(
                    "{}: the list or its permissions changed while it was being used",
                    input::name(&self.path)
                );
                Err(hinted(reason, "run it again"))
            }
            _ => Ok(()),
        }
    }
}

/// The text of a list: mapped, if it lies in a file as it is.
fn text(path: &Path, keys: &Keys, progress: bool) -> anyhow::Result<(Held, Option<MappedFile>)> {
    if !is_stream(path) {
        let file = File::open(path)?;
        if input::is_plain(&file)? {
            let source = MappedFile::of(file)?;
            let empty = source.stamp.bytes == 0;
            let text = if empty { Held::Memory(Vec::new()) } else { Held::map(&source.file)? };
            return Ok((text, Some(source)));
        }
    }
    let (sources, mut text) = (Source::all(&[path.to_owned()]), Vec::<u8>::new());
    let reading = Reading { sources: &sources, keys, doing: "reading", progress, threads: 1, strict: true };
    let look = |_: &Keys, _: Block<'_>, _: &mut Batch| Ok(());
    let mut work = |block: Block<'_>, _: &mut Batch| {
        let bytes = block.bytes();
        if text.capacity() - text.len() < bytes.len() {
            let more = text.len().max(bytes.len());
            memory::require(more as u64, "the list", "unpack it into a file, which is not read into memory")?;
            text.try_reserve(more).context("the list is longer than memory")?;
        }
        text.extend_from_slice(bytes);
        Ok(())
    };
    reading.run(look, &mut work)?;
    Ok((Held::Memory(text), None))
}

impl Stamp {
    /// A number that changes if the list, or what its keys are, does: of its length, the time of
    /// its last change, a sample of its text and the options.
    fn mark(self, text: &[u8], options: &str) -> u64 {
        const PIECE: usize = 4096;
        const PIECES: usize = 64;
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        bytes.extend_from_slice(&self.changed.to_le_bytes());
        bytes.extend_from_slice(options.as_bytes());
        let last = text.len().saturating_sub(PIECE);
        for piece in 0..PIECES {
            let start = last / (PIECES - 1) * piece;
            bytes.extend_from_slice(&text[start..text.len().min(start + PIECE)]);
        }
        bytes.extend_from_slice(&text[last..]);
        List::hasher().digest(&bytes).0
    }
}

/// How messages speak of the size of an index.
fn index_size(lines: u64) -> String {
    human::bytes(lines.saturating_mul(index::ENTRY as u64))
}

/// Whether there is something at a path that must not be replaced by an index.
fn is_foreign(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0)
}
