//! Cells that hold numbers, as the loops of counting filters see them.

use super::counters::CounterLines;
use super::{Counters, Memory};

/// Numbered cells that can be read.
pub(crate) trait Tally {
    /// Number of cells.
    fn len(&self) -> u64;
    /// The largest value of a cell, at which it sticks.
    fn top(&self) -> u32;
    /// Cell `at`.
    fn get(&self, at: u64) -> u32;
    /// Asks for the cache line of cell `at`.
    fn prefetch(&self, at: u64);
    /// Words of memory.
    fn words(&self) -> usize;
}

/// Numbered cells that can be written.
pub(crate) trait TallyMut: Tally {
    /// See [`lines`](Self::lines).
    type Lines: Ahead;
    /// A way to ask for cache lines while the cells themselves are lent out.
    fn lines(&self) -> Self::Lines;
    /// Sets cell `at` to `value`, or to the top if that is less.
    fn set(&mut self, at: u64, value: u32);
}

/// Asks for cache lines, and reads nothing.
pub(crate) trait Ahead: Copy {
    /// Asks for the cache line of cell `at`.
    fn prefetch(self, at: u64);
}

impl Ahead for CounterLines {
    #[inline(always)]
    fn prefetch(self, at: u64) {
        CounterLines::prefetch(self, at);
    }
}

impl<M: Memory> Tally for Counters<M> {
    #[inline]
    fn len(&self) -> u64 {
        Counters::len(self)
    }
    #[inline]
    fn top(&self) -> u32 {
        Counters::top(self)
    }
    #[inline]
    fn get(&self, at: u64) -> u32 {
        Counters::get(self, at)
    }
    #[inline]
    fn prefetch(&self, at: u64) {
        Counters::prefetch(self, at);
    }
    fn words(&self) -> usize {
        self.memory().words()
    }
}

impl TallyMut for Counters {
    type Lines = CounterLines;
    #[inline]
    fn lines(&self) -> CounterLines {
        Counters::lines(self)
    }
    #[inline]
    fn set(&mut self, at: u64, value: u32) {
        Counters::set(self, at, value);
    }
}
