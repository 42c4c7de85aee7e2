//! The file of counters of a split filter: changed in place, by one process at a time.
//!
//! `docs/formats.md` describes every byte. A page that says what it is and whether it was closed,
//! the journal of the operation that is under way, and the counters, packed as in memory. The file
//! of bits that belongs to it is a plain filter's; this one knows its fingerprint.

use super::file::{persist_new, sync_folder};
use super::header::{FIXED, Header};
use super::journal::{self, Journal};
use super::temporary::{system_run, temporary_beside};
use crate::cells::{Bits, Counters, MappedWords, Memory};
use crate::kinds::Kind;
use crate::{DecodeError, EncodeError, Error};
use alloc::vec;
use core::sync::atomic::{Ordering::SeqCst, compiler_fence};
use std::format;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

/// The first bytes; see `header::MAGIC`.
const MAGIC: [u8; 8] = *b"\x89GDC\r\n\x1a\n";
/// The version written, and the newest read.
const VERSION: u16 = 1;
/// Where the header of a counting filter stands, as in a native file: without parameters and user's
/// bytes.
const HEADER: usize = 64;
/// Its end, with its sum and padding.
const HEADER_END: usize = HEADER + 128;
/// Where the words stand that say how the file was left.
const STATE: usize = 512;
/// [`CLOSED`], or the file is in use or was not closed.
const MARK: usize = 0;
/// The fingerprint of the bits that belong to a closed file.
const FINGERPRINT: usize = 1;
/// The run of the system in which the counters were last on the disk as a whole.
const RUN: usize = 2;
/// Number of these words.
const STATE_WORDS: usize = 3;
/// Where the journal begins.
const JOURNAL: usize = 4096;
/// Where the counters begin: the end of the journal, on a page of 4 or 16 KiB.
const COUNTERS: usize = 16384;
/// The mark of a file that was closed.
const CLOSED: u64 = u64::from_le_bytes(*b"closed\r\n");

const _: () = assert!(JOURNAL + journal::WORDS * 8 <= COUNTERS);

/// How a file of counters was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Closed, together with the bits of this fingerprint.
    Closed(u64),
    /// Not closed; the system has been running since the counters were last on the disk as a whole.
    Unclosed,
    /// Not closed, and the system was started since, or that is not known.
    Stopped,
}

impl Left {
    /// By the words of its state, whether an operation is under way, and the current run of the
    /// system.
    fn by([mark, fingerprint, last]: [u64; STATE_WORDS], pending: bool, run: u64) -> Self {
        // A file is closed between operations: with one under way it is none of ours, and the journal decides.
        match mark {
            CLOSED if !pending => Self::Closed(fingerprint),
            _ if last == run && run != 0 => Self::Unclosed,
            _ => Self::Stopped,
        }
    }
}

/// What a file of counters says without being opened to be changed. Nobody changes it meanwhile.
pub(crate) struct Seen {
    pub(crate) header: Header,
    pub(crate) left: Left,
    pub(crate) pending: bool,
    pub(crate) done: u64,
    pub(crate) found: u64,
    _lock: Locked,
}

/// A file of counters, mapped and locked.
pub(crate) struct CounterFile {
    pub(crate) header: Header,
    pub(crate) counters: Counters<MappedWords>,
    pub(crate) journal: Journal,
    state: MappedWords,
    /// See [`system_run`].
    run: u64,
    /// A file that has no name yet, and whether it may replace another.
    unnamed: Option<(NamedTempFile, bool)>,
    /// Locked as long as the maps are in use.
    _lock: Locked,
}

/// A file that only this value has open, of all that ask for its lock.
struct Locked(File);

impl Locked {
    fn new(file: File, path: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<Self, Error> {
        match lock(&file) {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(Error::InUse),
            Err(TryLockError::Error(e)) => Err(DecodeError::Io(at(path, e)).into()),
        }
    }
}

impl Drop for Locked {
    /// Closing the file would not do: a process that another thread is just starting has it, too,
    /// for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl CounterFile {
    /// Makes the file of counters, all zero, that `header` describes. It gets the name `path` from
    /// [`place`](Self::place), and is gone if that never happens.
    pub(crate) fn draft(path: &Path, header: &Header, replace: bool) -> Result<Self, Error> {
        let temporary = temporary_beside(path).map_err(|e| EncodeError::Io(at(path, e)))?;
        write_zeros(temporary.as_file(), header).map_err(|e| EncodeError::Io(at(path, e)))?;
        // The same open file, whose lock is one with the temporary file's; and so is its place.
        let file = temporary.as_file().try_clone().and_then(|mut file| file.rewind().map(|()| file));
        let mut made = Self::attach(file.map_err(|e| EncodeError::Io(at(path, e)))?, path)?;
        made.state.store(RUN, made.run);
        made.unnamed = Some((temporary, replace));
        Ok(made)
    }

    /// Whether the file has no name yet, and if so whether it may replace another.
    pub(crate) fn is_draft(&self) -> Option<bool> {
        self.unnamed.as_ref().map(|(_, replace)| *replace)
    }

    /// Gives a draft its name.
    pub(crate) fn place(&mut self, path: &Path) -> io::Result<()> {
        match self.unnamed.take() {
            Some((temporary, false)) => drop(persist_new(temporary, path)?),
            Some((temporary, true)) => {
                if let Ok(existing) = std::fs::metadata(path) {
                    temporary.as_file().set_permissions(existing.permissions())?;
                }
                temporary.persist(path)?;
            }
            None => {}
        }
        sync_folder(path);
        Ok(())
    }

    /// Opens a file of counters. Everything but the counters is checked, and nothing is changed.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::options().read(true).write(true).open(path);
        Self::attach(file.map_err(|e| DecodeError::Io(at(path, e)))?, path)
    }

    fn attach(file: File, path: &Path) -> Result<Self, Error> {
        let io = |e| DecodeError::Io(at(path, e));
        let lock = Locked::new(file, path, File::try_lock)?;
        let file = &lock.0;
        let (header, _) = read_page(file)?;
        let words = usize::try_from(header.payload_len / 8)
            .map_err(|_| DecodeError::TooLarge { needed: header.payload_len, max: usize::MAX as u64 })?;
        let counters = MappedWords::new(file, COUNTERS as u64, words).map_err(io)?;
        let counters = Counters::mapped(counters, header.identity.cells, header.identity.width)
            .ok_or(DecodeError::Damaged("the counters are not what their header says"))?;
        let journal = Journal::new(MappedWords::new(file, JOURNAL as u64, journal::WORDS).map_err(io)?);
        let state = MappedWords::new(file, STATE as u64, STATE_WORDS).map_err(io)?;
        Ok(Self { header, counters, journal, state, run: system_run(), unnamed: None, _lock: lock })
    }

    /// How the file was left.
    pub(crate) fn left(&self) -> Left {
        let state = [MARK, FINGERPRINT, RUN].map(|at| self.state.load(at));
        Left::by(state, self.journal.is_pending(), self.run)
    }

    /// Says that the file is in use, on the disk too, before anything else is changed.
    pub(crate) fn mark_in_use(&mut self) -> io::Result<()> {
        if let Left::Closed(_) = self.left() {
            self.state.store(RUN, self.run);
            self.journal.mark_found();
        }
        compiler_fence(SeqCst);
        self.state.store(MARK, 0);
        self.state.flush()
    }

    /// Completes the operation that was under way, if there was one.
    pub(crate) fn replay(&mut self) {
        let Self { counters, journal, .. } = self;
        let (cells, top) = (counters.len(), u64::from(counters.top()));
        journal.replay(|at, value| at < cells && value <= top, |at, value| counters.set(at, value));
    }

    /// Waits until the disk has the counters.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.counters.memory().flush()?;
        self.journal.flush()?;
        if self.state.load(RUN) != self.run {
            self.state.store(RUN, self.run);
            self.state.flush()?;
        }
        Ok(())
    }

    /// Says that the file is closed with the bits of this fingerprint. The disk must have counters
    /// and bits.
    pub(crate) fn mark_closed(&mut self, fingerprint: u64) {
        self.state.store(FINGERPRINT, fingerprint);
        compiler_fence(SeqCst);
        self.state.store(MARK, CLOSED);
    }

    /// Waits until the disk has the mark.
    pub(crate) fn sync_mark(&self) -> io::Result<()> {
        self.state.flush()
    }
}

/// Looks at a file of counters. It is checked as by [`CounterFile::open`].
pub(crate) fn look(path: &Path) -> Result<Seen, Error> {
    let file = File::open(path).map_err(|e| DecodeError::Io(at(path, e)))?;
    let lock = Locked::new(file, path, File::try_lock_shared)?;
    let (header, state) = read_page(&lock.0)?;
    let mut words = [[0; 8]; journal::WORDS];
    (&lock.0).read_exact(words.as_flattened_mut()).map_err(DecodeError::Io)?;
    let [done, begun, found] = journal::NUMBERS.map(|number| u64::from_le_bytes(words[number]));
    let pending = begun == done.wrapping_add(1);
    Ok(Seen { header, left: Left::by(state, pending, system_run()), pending, done, found, _lock: lock })
}

/// Whether a file is certainly not one of counters: one that cannot be read, or is cut short, may
/// be.
pub(crate) fn is_foreign(path: &Path) -> bool {
    let mut mark = vec![];
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut mark));
    read.is_ok() && !MAGIC.starts_with(&mark)
}

/// The fingerprint of bits: XXH3-64 of their words.
pub(crate) fn fingerprint(bits: &Bits<impl Memory>) -> u64 {
    let (mut sum, mut piece) = (Xxh3::new(), vec![0; 1 << 16]);
    let words = bits.memory().words();
    for start in (0..words).step_by(piece.len() / 8) {
        let len = piece.len().min((words - start) * 8);
        bits.memory().copy_le(start, &mut piece[..len]);
        sum.update(&piece[..len]);
    }
    sum.digest()
}

/// An error that says of which file it is.
pub(crate) fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes the file that `header` describes, with an empty journal and all counters zero.
///
/// Zeros are written and not left out: a full disk must be an error now, for a store to a page that
/// finds no place on the disk ends the process.
fn write_zeros(mut file: &File, header: &Header) -> io::Result<()> {
    let mut zeros = vec![0; 1 << 20];
    zeros[..8].copy_from_slice(&MAGIC);
    zeros[8..10].copy_from_slice(&VERSION.to_le_bytes());
    zeros[HEADER..HEADER_END].copy_from_slice(&header.encode());
    file.write_all(&zeros[..COUNTERS])?;
    zeros[..COUNTERS].fill(0);
    let mut left = header.payload_len;
    while left > 0 {
        let len = left.min(zeros.len() as u64);
        file.write_all(&zeros[..len as usize])?;
        left -= len;
    }
    file.sync_all()
}

/// Reads the first page and checks every byte of it that does not change, and the length of the
/// file; also how it was left.
fn read_page(mut file: &File) -> Result<(Header, [u64; STATE_WORDS]), DecodeError> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(DecodeError::Damaged("the counters are not in a regular file"));
    }
    let len = metadata.len();
    let mut page = [0; JOURNAL];
    let truncated = |needed: usize| DecodeError::Truncated { needed: needed as u64, found: len };
    let mut fill = |from: usize, to: usize| match file.read_exact(&mut page[from..to]) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(truncated(to)),
        other => Ok(other?),
    };
    fill(0, 8)?;
    // A short foreign file is foreign, not truncated.
    let complete = fill(8, JOURNAL);
    if page[..8] != MAGIC {
        let found = core::array::from_fn(|i| page[i]);
        return Err(DecodeError::Magic { expected: MAGIC, found });
    }
    complete?;
    let version = u16::from_le_bytes([page[8], page[9]]);
    if version == 0 || version > VERSION {
        return Err(DecodeError::Version { found: version, known: VERSION });
    }
    let zero = [10..HEADER, HEADER_END..STATE, STATE + STATE_WORDS * 8..JOURNAL];
    if zero.into_iter().any(|range| page[range].iter().any(|byte| *byte != 0)) {
        return Err(DecodeError::Damaged("bytes of the first page that are not used are set"));
    }
    let bytes = &page[HEADER..HEADER_END];
    let fixed: [u8; FIXED] = core::array::from_fn(|i| bytes[i]);
    let header_len = Header::measure(&fixed)?;
    if header_len != bytes.len() {
        let (value, rule) = (header_len as u64, "in a file of counters it has no parameters and no metadata");
        return Err(DecodeError::Field { field: "header length", value, rule });
    }
    let header = Header::decode(bytes)?;
    header.check_kind(Kind::Counting)?;
    header.check_counters()?;
    header.check_params(&[])?;
    let needed = COUNTERS as u64 + header.payload_len;
    match len.checked_sub(needed) {
        None => return Err(DecodeError::Truncated { needed, found: len }),
        Some(0) => {}
        Some(extra) => return Err(DecodeError::Trailing { extra }),
    }
    let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| page[STATE + 8 * at + i]));
    Ok((header, [MARK, FINGERPRINT, RUN].map(word)))
}
