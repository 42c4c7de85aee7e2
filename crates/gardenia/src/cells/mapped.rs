//! Words of a file that is mapped to be changed in place.
//!
//! Every access is atomic: whatever another program does to the file, a word is the old one or the
//! new one. The order of stores is the writer's business; see `format/journal.rs`.
#![allow(unsafe_code)] // words inside a memory map

use super::Memory;
use crate::simd::prefetch;
use core::fmt;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use std::fs::File;
use std::io;

/// Little-endian words of a file. What is stored is in the file at once, also when this process is
/// killed right after; [`flush`](Self::flush) makes it survive a loss of power.
///
/// As with any memory map, a file that is cut short while it is mapped, or a disk that cannot be
/// read, ends the process with a bus error.
pub struct MappedWords {
    map: memmap2::MmapRaw,
    words: usize,
}

impl MappedWords {
    /// The `words` words of `file` that begin at byte `offset`, a multiple of 8.
    pub(crate) fn new(file: &File, offset: u64, words: usize) -> io::Result<Self> {
        let len = words.checked_mul(8).filter(|len| *len > 0 && offset.is_multiple_of(8));
        let end = len.and_then(|len| offset.checked_add(len as u64));
        let (Some(len), Some(end)) = (len, end) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if file.metadata()?.len() < end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let map = memmap2::MmapOptions::new().offset(offset).len(len).map_raw(file)?;
        Ok(Self { map, words })
    }

    /// The words as atomics, in the byte order of the file.
    #[inline]
    fn atoms(&self) -> &[AtomicU64] {
        // SAFETY: `new` mapped `words` whole words of a file that had them. Maps begin on a page and `offset` is
        // a multiple of 8, so they are aligned. The map lives as long as `self`, and its memory is reached only
        // through these atomics, which other maps of the same file may change at any time.
        unsafe { core::slice::from_raw_parts(self.map.as_ptr().cast(), self.words) }
    }

    /// Puts `word` at `at`.
    #[inline]
    pub(crate) fn store(&mut self, at: usize, word: u64) {
        #[cfg(test)]
        if !fuse::burns() {
            return;
        }
        self.atoms()[at].store(word.to_le(), Relaxed);
    }

    /// Where the words begin, for asking ahead.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u64 {
        self.map.as_ptr().cast()
    }

    /// Waits until the disk has what was stored.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }
}

impl super::memory::sealed::Sealed for MappedWords {}
impl Memory for MappedWords {
    #[inline]
    fn words(&self) -> usize {
        self.words
    }
    #[inline]
    fn load(&self, at: usize) -> u64 {
        u64::from_le(self.atoms()[at].load(Relaxed))
    }
    #[inline]
    fn prefetch(&self, at: usize) {
        prefetch(self.atoms(), at);
    }
}

impl fmt::Debug for MappedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} mapped words", self.words)
    }
}

/// Lets a test end the process, as far as the file can see, between any two stores.
#[cfg(test)]
pub(crate) mod fuse {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    /// Runs `work`, of whose stores to mapped files only the first `stores` are carried out; how
    /// many of them were left.
    pub(crate) fn after<R>(stores: u64, work: impl FnOnce() -> R) -> (R, u64) {
        LEFT.set(stores);
        let result = work();
        (result, LEFT.replace(u64::MAX))
    }

    /// Whether the next store is to be carried out.
    pub(super) fn burns() -> bool {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};
    use std::vec::Vec;

    #[test]
    fn words_are_stored_little_endian_where_they_belong() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(4096 + 24).unwrap();
        let mut words = MappedWords::new(&file, 4096 + 8, 2).unwrap();
        words.store(1, 0x0807_0605_0403_0201);
        assert_eq!((words.words(), words.load(0), words.load(1)), (2, 0, 0x0807_0605_0403_0201));
        words.flush().unwrap();
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes[4096 + 16..], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(bytes[..4096 + 16].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn words_that_the_file_does_not_have_are_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64).unwrap();
        for (offset, words) in [(0, 9), (8, 8), (64, 1), (4, 1), (0, 0), (0, usize::MAX), (u64::MAX - 7, 1)] {
            assert!(MappedWords::new(&file, offset, words).is_err(), "{words} words at {offset}");
        }
        assert!(MappedWords::new(&file, 56, 1).is_ok());
    }
}
