//! Cells that hold numbers, as the loops of counting filters see them.

use super::counters::CounterLines;
use super::{Compact, CompactView, Counters, Memory};

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
    /// Sets cell `at`, which held `old`, to `new`. Where finding a cell costs much, only if it is
    /// another.
    #[inline(always)]
    fn change(&mut self, at: u64, old: u32, new: u32) {
        let _ = old;
        self.set(at, new);
    }
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
        <Counters>::lines(self)
    }
    #[inline]
    fn set(&mut self, at: u64, value: u32) {
        <Counters>::set(self, at, value);
    }
}

/// Compact counters are not asked for ahead while they are lent out: finding one reads its segment.
impl Ahead for () {
    #[inline(always)]
    fn prefetch(self, _: u64) {}
}

impl Tally for Compact {
    #[inline]
    fn len(&self) -> u64 {
        Compact::len(self)
    }
    #[inline]
    fn top(&self) -> u32 {
        u32::MAX
    }
    #[inline]
    fn get(&self, at: u64) -> u32 {
        Compact::get(self, at) as u32 // none is above `top`
    }
    #[inline]
    fn prefetch(&self, at: u64) {
        Compact::prefetch(self, at);
    }
    fn words(&self) -> usize {
        compact_words(Compact::len(self))
    }
}

impl TallyMut for Compact {
    type Lines = ();
    #[inline]
    fn lines(&self) {}
    #[inline]
    fn set(&mut self, at: u64, value: u32) {
        Compact::set(self, at, value.into());
    }
}

impl<M: Memory> Tally for CompactView<M> {
    #[inline]
    fn len(&self) -> u64 {
        CompactView::len(self)
    }
    #[inline]
    fn top(&self) -> u32 {
        u32::MAX
    }
    #[inline]
    fn get(&self, at: u64) -> u32 {
        CompactView::get(self, at).min(u32::MAX.into()) as u32 // damaged words can hold anything
    }
    #[inline]
    fn prefetch(&self, at: u64) {
        CompactView::prefetch(self, at);
    }
    fn words(&self) -> usize {
        compact_words(CompactView::len(self))
    }
}

/// About as many words as compact counters take. Adding up their segments would take longer than a
/// query.
fn compact_words(len: u64) -> usize {
    (len / 16) as usize
}
