//! The file of counters of a split filter: changed in place, by one process at a time.
//!
//! `docs/formats.md` describes every byte. A page that says what it is and whether it was closed, the journal of
//! the operation that is under way, and the counters, packed as in memory. The file of bits that belongs to it
//! is a plain filter's; this one knows its fingerprint.

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
use xxhash_rust::xxh3::Xxh3;

/// The first bytes; see `header::MAGIC`.
const MAGIC: [u8; 8] = *b"\x89GDC\r\n\x1a\n";
/// The version written, and the newest read.
const VERSION: u16 = 1;
/// Where the header of a counting filter stands, as in a native file: without parameters and user's bytes.
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
    /// Not closed, and the system was started since, or it cannot be told.
    Stopped,
}

/// A file of counters, mapped and locked.
pub(crate) struct CounterFile {
    pub(crate) header: Header,
    pub(crate) counters: Counters<MappedWords>,
    pub(crate) journal: Journal,
    state: MappedWords,
    /// See [`system_run`].
    run: u64,
    /// Locked as long as the maps are in use.
    _lock: Locked,
}

/// A file that only this value has open, of all that ask for its lock.
struct Locked(File);

impl Drop for Locked {
    /// Closing the file would not do: a process that another thread is just starting has it, too, for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl CounterFile {
    /// Makes the file of counters, all zero, that `header` describes. There must be none at `path`, and a file
    /// that could not be made whole is not left there.
    pub(crate) fn create(path: &Path, header: Header) -> Result<Self, Error> {
        let temporary = temporary_beside(path).map_err(|e| EncodeError::Io(at(path, e)))?;
        write_zeros(temporary.as_file(), &header).map_err(|e| EncodeError::Io(at(path, e)))?;
        // The same open file, whose lock is one with the temporary file's; and so is its place.
        let file = temporary.as_file().try_clone().and_then(|mut file| file.rewind().map(|()| file));
        let mut made = Self::attach(file.map_err(|e| EncodeError::Io(at(path, e)))?, path)?;
        made.state.store(RUN, made.run);
        persist_new(temporary, path).map_err(|e| EncodeError::Io(at(path, e)))?;
        sync_folder(path);
        Ok(made)
    }

    /// Opens a file of counters. Everything but the counters is checked, and nothing is changed.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::options().read(true).write(true).open(path);
        Self::attach(file.map_err(|e| DecodeError::Io(at(path, e)))?, path)
    }

    fn attach(file: File, path: &Path) -> Result<Self, Error> {
        let io = |e| DecodeError::Io(at(path, e));
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse),
            Err(TryLockError::Error(e)) => return Err(io(e).into()),
        }
        let lock = Locked(file);
        let file = &lock.0;
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Err(DecodeError::Damaged("the counters are not in a regular file").into());
        }
        let header = read_page(file, metadata.len())?;
        let needed = COUNTERS as u64 + header.payload_len;
        match metadata.len().checked_sub(needed) {
            None => return Err(DecodeError::Truncated { needed, found: metadata.len() }.into()),
            Some(0) => {}
            Some(extra) => return Err(DecodeError::Trailing { extra }.into()),
        }
        let words = usize::try_from(header.payload_len / 8)
            .map_err(|_| DecodeError::TooLarge { needed: header.payload_len, max: usize::MAX as u64 })?;
        let counters = MappedWords::new(file, COUNTERS as u64, words).map_err(io)?;
        let counters = Counters::mapped(counters, header.identity.cells, header.identity.width)
            .ok_or(DecodeError::Damaged("the counters are not what their header says"))?;
        let journal = Journal::new(MappedWords::new(file, JOURNAL as u64, journal::WORDS).map_err(io)?);
        let state = MappedWords::new(file, STATE as u64, STATE_WORDS).map_err(io)?;
        Ok(Self { header, counters, journal, state, run: system_run(), _lock: lock })
    }

    /// How the file was left.
    pub(crate) fn left(&self) -> Left {
        // A file is closed between operations: with one under way it is none of ours, and the journal decides.
        match self.state.load(MARK) {
            CLOSED if !self.journal.is_pending() => Left::Closed(self.state.load(FINGERPRINT)),
            _ if self.state.load(RUN) == self.run && self.run != 0 => Left::Unclosed,
            _ => Left::Stopped,
        }
    }

    /// Says that the file is in use, on the disk too, before anything else is changed.
    pub(crate) fn mark_in_use(&mut self) -> io::Result<()> {
        if let Left::Closed(_) = self.left() {
            self.state.store(RUN, self.run);
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

    /// Says that the file is closed with the bits of this fingerprint. The disk must have counters and bits.
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

/// The fingerprint of bits: XXH3-64 of their words.
pub(crate) fn fingerprint(bits: &Bits) -> u64 {
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
/// Zeros are written and not left out: a full disk must be an error now, for a store to a page that finds no
/// place on the disk ends the process.
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

/// Reads the first page and checks every byte of it that does not change.
fn read_page(mut file: &File, len: u64) -> Result<Header, DecodeError> {
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
    Ok(header)
}
