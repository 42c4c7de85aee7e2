//! Bits that can be taken back: a small counter beside each bit, for filters that are built with all keys at hand.
//!
//! Counters have four bits and stick at 15: a bit that fifteen groups have shared stays set, which costs at most
//! that bit. It never happens in filters of a sensible size (Fan et al. 2000), and half a byte per bit is what
//! the counters may cost.

use crate::SizeError;
use crate::cells::{Bits, Counters};

/// Bits per counter.
const WIDTH: u32 = 4;

/// How many of the chosen groups use each bit.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    counts: Counters,
    ones: u64,
}

impl Tally {
    /// All zero, for bits that are.
    pub(super) fn new(cells: u64) -> Result<Self, SizeError> {
        Ok(Self { counts: Counters::new(cells, WIDTH)?, ones: 0 })
    }

    /// Bits that are set.
    pub(super) fn ones(&self) -> u64 {
        self.ones
    }

    /// Bytes that the counters take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.counts.memory().as_slice())
    }

    /// Whether the counters are too large to be near the core, and with them, a quarter as large, the bits: from
    /// 2 MiB on.
    pub(super) fn is_far(&self) -> bool {
        self.bytes() > 2 << 20
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.ones = 0;
    }

    /// Uses the bits at `positions` once more, those that come twice twice.
    #[inline]
    pub(super) fn put(&mut self, bits: &mut Bits, positions: impl Iterator<Item = u64>) {
        let mut new = 0;
        for at in positions {
            self.counts.add(at, 1);
            new += u64::from(bits.set(at));
        }
        self.ones += new;
    }

    /// Uses the bits at `positions` once less; exactly what [`put`](Self::put) did before.
    #[inline]
    pub(super) fn take(&mut self, bits: &mut Bits, positions: impl Iterator<Item = u64>) {
        let words = bits.words_mut();
        let mut gone = 0;
        for at in positions {
            let unused = u64::from(self.counts.sub(at, 1) == 0);
            words[(at / 64) as usize] &= !(unused << (at % 64));
            gone += unused;
        }
        self.ones -= gone;
    }

    /// Asks for the lines of a counter.
    #[inline]
    pub(super) fn prefetch(&self, at: u64) {
        self.counts.prefetch(at);
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
            let mut uses = [0u32; 40];
            let mut most = [0u32; 40];
            for group in &groups {
                tally.put(&mut bits, group.iter().copied());
                group.iter().for_each(|at| uses[*at as usize] += 1);
                (0..40).for_each(|at| most[at] = most[at].max(uses[at]));
            }
            for (i, group) in groups.iter().enumerate().filter(|(i, _)| keep >> i & 1 == 0) {
                let _ = i;
                tally.take(&mut bits, group.iter().copied());
                group.iter().for_each(|at| uses[*at as usize] -= 1);
            }
            for at in 0..40 {
                let sticks = most[at] >= 15;
                prop_assert_eq!(bits.get(at as u64), uses[at] > 0 || sticks);
            }
            prop_assert_eq!(tally.ones(), bits.count_ones());
        }
    }
}
