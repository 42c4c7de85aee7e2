//! A journal of one operation: changes of a mapped file that are carried out all or not at all.
//!
//! An operation is written down before it is carried out: which cells get which *new* values.
//! Values are absolute, so carrying it out twice is carrying it out once. In this order, with
//! nothing moved across a line:
//!
//! 1. its cells and values, their number, and their seal
//! 2. its own number into `begun`: from here on it counts
//! 3. the cells
//! 4. its number into `done`: from here on it is over
//!
//! When a process is killed, at any instruction, the system keeps every page that it has mapped,
//! and of its stores the file has exactly those before that instruction. That needs no `msync`,
//! only that the compiler keeps the order, which is what `compiler_fence` is for. If then `begun`
//! is `done` there was nothing to do, or nothing had been done; if it is one more, the operation is
//! carried out from the journal.
//!
//! A loss of power is another matter: pages reach the disk in any order, and a page that changes on
//! its way there may be a mixture. Against that stands the seal, a checksum: a mixture is not
//! carried out.

use crate::cells::{MappedWords, Memory};
use crate::index::MAX_HASHES;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{Ordering::SeqCst, compiler_fence};
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// The number of the last operation that is over.
const DONE: usize = 0;
/// The number of the last operation that counts.
const BEGUN: usize = 1;
/// How many cells it changes.
const COUNT: usize = 2;
/// XXH3-64 of its number, the number of its cells, and the cells.
const SEAL: usize = 3;
/// The cells: for each its position and its new value.
const CELLS: usize = 4;

/// The number of the last operation when the file was last found closed: behind the cells of one
/// key.
const FOUND: usize = CELLS + 2 * MAX_HASHES as usize;

/// Where the numbers stand: done, begun and found.
pub(super) const NUMBERS: [usize; 3] = [DONE, BEGUN, FOUND];

/// Words of a journal.
pub(super) const WORDS: usize = FOUND + 1;

/// The journal of a file of counters, and the operation that is being written down.
pub(crate) struct Journal {
    words: MappedWords,
    done: u64,
    /// What the seal covers.
    entry: Box<[[u8; 8]]>,
    noted: usize,
}

impl Journal {
    pub(super) fn new(words: MappedWords) -> Self {
        let done = words.load(DONE);
        Self { words, done, entry: vec![[0; 8]; WORDS].into(), noted: 0 }
    }

    /// How many operations are over.
    #[inline]
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// How many operations were over when the file was last found closed.
    pub(crate) fn found(&self) -> u64 {
        self.words.load(FOUND)
    }

    /// Notes how many operations are over, in a file that was closed.
    pub(super) fn mark_found(&mut self) {
        self.words.store(FOUND, self.done);
    }

    /// Notes that cell `at` is to become `value`.
    #[inline(always)]
    pub(crate) fn note(&mut self, at: u64, value: u32) {
        let [position, new] = &mut self.entry[2 + 2 * self.noted..][..2] else { unreachable!("two words") };
        (*position, *new) = (at.to_le_bytes(), u64::from(value).to_le_bytes());
        self.noted += 1;
    }

    /// Makes one operation of what was noted, and carries it out by `change`.
    #[inline(always)]
    pub(crate) fn commit(&mut self, mut change: impl FnMut(u64, u32)) {
        let (number, words) = (self.done.wrapping_add(1), 2 + 2 * self.noted);
        (self.entry[0], self.entry[1]) = (number.to_le_bytes(), (self.noted as u64).to_le_bytes());
        let entry = &self.entry[..words];
        self.words.store(COUNT, self.noted as u64);
        self.words.store(SEAL, xxh3_64(entry.as_flattened()));
        for (at, word) in entry[2..].iter().enumerate() {
            self.words.store(CELLS + at, u64::from_le_bytes(*word));
        }
        compiler_fence(SeqCst);
        self.words.store(BEGUN, number);
        compiler_fence(SeqCst);
        for [at, value] in entry[2..].as_chunks().0 {
            change(u64::from_le_bytes(*at), u64::from_le_bytes(*value) as u32);
        }
        compiler_fence(SeqCst);
        self.words.store(DONE, number);
        compiler_fence(SeqCst);
        (self.done, self.noted) = (number, 0);
    }

    /// Whether an operation was begun and is not over.
    pub(crate) fn is_pending(&self) -> bool {
        self.words.load(BEGUN) == self.done.wrapping_add(1)
    }

    /// Carries out by `change` the operation that was begun and is not over, if there is one. One
    /// that is not whole, or has a cell or value that `fits` does not know, is undone: only a loss
    /// of power leaves such.
    pub(crate) fn replay(&mut self, fits: impl Fn(u64, u64) -> bool, mut change: impl FnMut(u64, u32)) {
        if self.is_pending() {
            match self.pending().filter(|cells| cells.iter().all(|[at, value]| fits(*at, *value))) {
                Some(cells) => {
                    self.done = self.done.wrapping_add(1);
                    cells.iter().for_each(|[at, value]| change(*at, *value as u32));
                    compiler_fence(SeqCst);
                    self.words.store(DONE, self.done);
                }
                None => self.words.store(BEGUN, self.done),
            }
            compiler_fence(SeqCst);
        }
    }

    /// The cells and values of the operation in the journal, if its seal is right.
    fn pending(&self) -> Option<Vec<[u64; 2]>> {
        let (number, count) = (self.words.load(BEGUN), self.words.load(COUNT));
        let cells = 0..usize::try_from(count).ok().filter(|count| *count <= MAX_HASHES as usize)?;
        let cells: Vec<[u64; 2]> =
            cells.map(|i| [0, 1].map(|half| self.words.load(CELLS + 2 * i + half))).collect();
        let entry = [number, count].into_iter().chain(cells.iter().flatten().copied());
        let entry: Vec<u8> = entry.flat_map(u64::to_le_bytes).collect();
        (xxh3_64(&entry) == self.words.load(SEAL)).then_some(cells)
    }

    /// Waits until the disk has it.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.words.flush()
    }
}
