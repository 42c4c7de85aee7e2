//! Bits that can be cleared again: a small counter beside each bit, for filters that are built with
//! all keys known up front.
//!
//! Counters have four bits and stick at 15: a bit that fifteen groups have shared stays set, which
//! costs at most that bit. It never happens in filters of a sensible size (Fan et al. 2000), and
//! half a byte per bit is what the counters may cost.

use crate::SizeError;
use crate::cells::atom::Atom;
use crate::cells::{Bits, Memory, Owned, Shared};
use crate::simd::ahead;

/// The largest count, which sticks.
const TOP: u64 = 15;

/// Word and shift of a counter.
#[inline(always)]
fn place(at: u64) -> (usize, u64) {
    ((at / 16) as usize, at % 16 * 4)
}

/// `word` with the counter at `shift` raised.
#[inline(always)]
fn raised(word: u64, shift: u64) -> u64 {
    word + (u64::from(word >> shift & TOP != TOP) << shift)
}

/// `word` with the counter at `shift` lowered, unless it is 0 or sticks; and 1 if it has become 0.
#[inline(always)]
fn lowered(word: u64, shift: u64) -> (u64, u64) {
    let count = word >> shift & TOP;
    (word - (u64::from(count.wrapping_sub(1) < TOP - 1) << shift), u64::from(count == 1))
}

/// How many of the chosen groups use each bit.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    counts: Owned,
    ones: u64,
}

impl Tally {
    /// All zero, for bits that are.
    pub(super) fn new(cells: u64) -> Result<Self, SizeError> {
        let words = usize::try_from(cells.div_ceil(16));
        let words = words.map_err(|_| SizeError::Memory { bytes: cells.div_ceil(2) })?;
        Ok(Self { counts: Owned::zeroed(words)?, ones: 0 })
    }

    /// Bits that are set.
    pub(super) fn ones(&self) -> u64 {
        self.ones
    }

    /// Bytes that the counters take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.counts.as_slice())
    }

    /// Whether the counters are too large to be near the core, and with them, a quarter as large,
    /// the bits: from 2 MiB on.
    pub(super) fn is_far(&self) -> bool {
        ahead::is_far(self.bytes() / 8)
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.counts.as_mut_slice().fill(0);
        self.ones = 0;
    }

    /// Uses the bits at `positions` once more, those that come twice twice.
    #[inline]
    pub(super) fn put(&mut self, bits: &mut Bits, positions: impl Iterator<Item = u64>) {
        let (counts, mut new) = (self.counts.as_mut_slice(), 0);
        for at in positions {
            let (word, shift) = place(at);
            counts[word] = raised(counts[word], shift);
            new += u64::from(bits.set(at));
        }
        self.ones += new;
    }

    /// Lends bits and counters to `work`, which may use several threads and tells how many more
    /// bits are set then.
    pub(super) fn lend(&mut self, bits: &mut Bits, work: impl FnOnce(Board<'_>) -> i64) {
        let counts = Shared::new(core::mem::take(&mut self.counts));
        let more = bits.lend(|bits| work(Board { bits, counts: &counts }));
        self.counts = counts.into_owned();
        self.ones = self.ones.wrapping_add_signed(more);
    }
}

/// Bits and counters while threads share them: all may read, or each may change a range of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Board<'a> {
    pub(super) bits: &'a Bits<Shared>,
    counts: &'a Shared,
}

impl Board<'_> {
    /// As [`Tally::is_far`].
    pub(super) fn is_far(self) -> bool {
        ahead::is_far(self.counts.words())
    }

    /// How many uses bit `at` has; from 15 on it is not known, and stays 15.
    #[inline(always)]
    pub(super) fn count(self, at: u64) -> u64 {
        let (word, shift) = place(at);
        self.counts.load(word) >> shift & TOP
    }

    /// Uses bit `at` once more, or once less; how many more bits are set then. No other thread may
    /// work on its word.
    #[inline(always)]
    pub(super) fn change(self, at: u64, more: bool) -> i64 {
        let ((word, shift), cell) = (place(at), &self.bits.memory().atoms()[(at / 64) as usize]);
        let (counts, bit) = (&self.counts.atoms()[word], 1 << (at % 64));
        let (before, now) = (Atom::load(counts), Atom::load(cell));
        if more {
            Atom::store(counts, raised(before, shift));
            Atom::store(cell, now | bit);
            i64::from(now & bit == 0)
        } else {
            let (after, unused) = lowered(before, shift);
            Atom::store(counts, after);
            Atom::store(cell, now & !(unused << (at % 64)));
            -(unused as i64)
        }
    }

    /// Asks for the line of a counter.
    #[inline]
    pub(super) fn prefetch(self, at: u64) {
        self.counts.prefetch(place(at).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_can_be_taken_and_only_full_counters_stick(
            groups in proptest::collection::vec(proptest::collection::vec(0u64..40, 1..6), 1..60),
            keep in any::<u64>(),
        ) {
            let (mut bits, mut tally) = (Bits::new(40).unwrap(), Tally::new(40).unwrap());
            let mut uses = [0u64; 40];
            let mut most = [0u64; 40];
            for (i, group) in groups.iter().enumerate() {
                if i % 2 == 0 {
                    tally.put(&mut bits, group.iter().copied());
                } else {
                    tally.lend(&mut bits, |board| group.iter().map(|at| board.change(*at, true)).sum());
                }
                group.iter().for_each(|at| uses[*at as usize] += 1);
                (0..40).for_each(|at| most[at] = most[at].max(uses[at]));
            }
            for (_, group) in groups.iter().enumerate().filter(|(i, _)| keep >> i & 1 == 0) {
                tally.lend(&mut bits, |board| group.iter().map(|at| board.change(*at, false)).sum());
                group.iter().for_each(|at| uses[*at as usize] -= 1);
            }
            tally.lend(&mut bits, |board| {
                for at in 0..40 {
                    assert_eq!(board.count(at as u64), if most[at] >= 15 { 15 } else { uses[at] });
                }
                0
            });
            for at in 0..40 {
                let sticks = most[at] >= 15;
                prop_assert_eq!(bits.get(at as u64), uses[at] > 0 || sticks);
            }
            prop_assert_eq!(tally.ones(), bits.count_ones());
        }
    }
}
