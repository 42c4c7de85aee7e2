//! Two arrays of bits that are always asked together.
//!
//! The two bits of a position lie side by side, in *lanes* 0 and 1 of one word: a probe costs one
//! load and one cache line, as in a single array of bits, and one `and` tests both arrays. A lane
//! is cleared by one pass with a mask.

use super::atom::{Turn, lane_mask};
use super::{Bytes, Lines, Memory, Owned, Shared};
use crate::index::MAX_CELLS;
use crate::{DecodeError, SizeError};
use core::fmt;

/// Positions in a word.
const PER_WORD: u64 = 32;

/// `len` positions of two bits each over some [`Memory`]; bits past the end are zero.
#[derive(Clone)]
pub(crate) struct Pair<M = Owned> {
    memory: M,
    len: u64,
}

/// Asks for the cache lines of positions.
#[derive(Clone, Copy)]
pub(crate) struct PairLines(Lines);

impl PairLines {
    /// Asks for the cache line of position `at`.
    #[inline(always)]
    pub(crate) fn prefetch(self, at: u64) {
        self.0.prefetch_word(place(at).0);
    }
}

/// Word and shift of position `at`.
#[inline(always)]
const fn place(at: u64) -> (usize, u32) {
    ((at / PER_WORD) as usize, (at % PER_WORD) as u32 * 2)
}

/// Bytes of `len` positions.
pub(crate) const fn pair_bytes(len: u64) -> u64 {
    len.div_ceil(PER_WORD) * 8
}

impl Pair {
    /// `len` positions, both bits of each zero.
    pub(crate) fn new(len: u64) -> Result<Self, SizeError> {
        if len == 0 {
            return Err(SizeError::ZeroCells);
        }
        if len > MAX_CELLS {
            return Err(SizeError::TooManyCells { cells: len, max: MAX_CELLS });
        }
        let words = usize::try_from(len.div_ceil(PER_WORD));
        let words = words.map_err(|_| SizeError::Memory { bytes: pair_bytes(len) })?;
        Ok(Self { memory: Owned::zeroed(words)?, len })
    }

    /// Sets the bits of lane `lane` at `positions`.
    #[inline(always)]
    pub(crate) fn set_all(&mut self, positions: impl Iterator<Item = u64>, lane: u32) {
        let words = self.memory.as_mut_slice();
        for (word, shift) in positions.map(place) {
            words[word] |= 1 << (shift + lane);
        }
    }

    /// All bits of lane `lane` to zero.
    pub(crate) fn clear_lane(&mut self, lane: u32) {
        self.memory.as_mut_slice().iter_mut().for_each(|word| *word &= !lane_mask(lane));
    }

    /// All bits to zero.
    pub(crate) fn clear(&mut self) {
        self.memory.as_mut_slice().fill(0);
    }

    /// Takes the words of `other`, of which there are as many.
    pub(crate) fn copy_from(&mut self, other: &Pair<impl Memory>) {
        debug_assert_eq!(self.len, other.len);
        let words = self.memory.as_mut_slice().iter_mut();
        words.enumerate().for_each(|(at, word)| *word = other.memory.load(at));
    }

    /// The words, for decoders to fill.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.as_mut_slice()
    }

    /// A way to ask for cache lines while the bits themselves are lent out.
    #[inline]
    pub(crate) fn lines(&self) -> PairLines {
        PairLines(Lines::new(self.memory.as_slice()))
    }

    /// The same bits for many threads; nothing is copied.
    pub(crate) fn into_shared(self) -> Pair<Shared> {
        Pair { memory: Shared::new(self.memory), len: self.len }
    }
}

impl Pair<Shared> {
    /// Puts a key into the active lane in its turn; true if it was in neither.
    #[inline]
    pub(crate) fn insert(
        &self,
        turn: &Turn,
        capacity: u64,
        positions: impl Iterator<Item = u64> + Clone,
    ) -> bool {
        turn.insert(self.memory.atoms(), capacity, positions.map(place))
    }

    /// The same bits for one owner; nothing is copied.
    pub(crate) fn into_owned(self) -> Pair {
        Pair { memory: self.memory.into_owned(), len: self.len }
    }
}

impl<B: AsRef<[u8]>> Pair<Bytes<B>> {
    /// `len` positions in borrowed bytes; `None` unless the bytes are exactly the words they need.
    pub(crate) fn borrowed(bytes: B, len: u64) -> Option<Self> {
        let fits = (1..=MAX_CELLS).contains(&len) && pair_bytes(len) == bytes.as_ref().len() as u64;
        fits.then_some(Self { memory: Bytes(bytes), len })
    }
}

impl<M: Memory> Pair<M> {
    /// Number of positions.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bits of position `at` at the lowest two places, others above them.
    #[inline(always)]
    pub(crate) fn lanes(&self, at: u64) -> u64 {
        let (word, shift) = place(at);
        self.memory.load(word) >> shift
    }

    /// Asks for the cache line of position `at`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: u64) {
        self.memory.prefetch(place(at).0);
    }

    /// Number of set bits in lane 0, in lane 1, and of positions with at least one of them.
    pub(crate) fn count_ones(&self) -> [u64; 3] {
        (0..self.memory.words()).fold([0; 3], |[low, high, both], at| {
            let word = self.memory.load(at);
            let ones = |bits: u64| u64::from((bits & lane_mask(0)).count_ones());
            [low + ones(word), high + ones(word >> 1), both + ones(word | word >> 1)]
        })
    }

    /// The bits past the end must be zero in a file.
    pub(crate) fn check_tail(&self) -> Result<(), DecodeError> {
        let used = self.len % PER_WORD * 2;
        match used == 0 || self.memory.load(self.memory.words() - 1) >> used == 0 {
            true => Ok(()),
            false => Err(DecodeError::Damaged("bits are set past the last cell")),
        }
    }

    /// The memory below.
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }
}

impl<M: Memory, N: Memory> PartialEq<Pair<N>> for Pair<M> {
    fn eq(&self, other: &Pair<N>) -> bool {
        self.len == other.len
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}

impl<M: Memory> fmt::Debug for Pair<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pair(twice {} bits)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A pair follows two arrays of booleans.
        #[test]
        fn lanes_do_not_disturb_each_other(
            len in 1u64..200,
            steps in proptest::collection::vec((any::<u64>(), 0u32..2, 0u8..20), 1..200),
        ) {
            let mut model = [[false; 200]; 2];
            let mut pair = Pair::new(len).unwrap();
            for (at, lane, op) in steps {
                if op == 0 {
                    model[lane as usize].fill(false);
                    pair.clear_lane(lane);
                } else {
                    model[lane as usize][(at % len) as usize] = true;
                    pair.set_all(core::iter::once(at % len), lane);
                }
                let told = |at: u64| u64::from(model[0][at as usize]) | u64::from(model[1][at as usize]) << 1;
                prop_assert!((0..len).all(|at| pair.lanes(at) & 3 == told(at)));
                let count = |yes: fn(u64) -> bool| (0..len).filter(|at| yes(told(*at))).count() as u64;
                let counts = [count(|bits| bits & 1 > 0), count(|bits| bits > 1), count(|bits| bits > 0)];
                prop_assert_eq!(pair.count_ones(), counts);
                prop_assert!(pair.check_tail().is_ok());
            }
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_errors_and_bits_past_the_end_are_damage() {
        assert_eq!(Pair::new(0).unwrap_err(), SizeError::ZeroCells);
        assert!(matches!(Pair::new(MAX_CELLS + 1), Err(SizeError::TooManyCells { .. })));
        assert!(Pair::borrowed([0u8; 8], 33).is_none() && Pair::borrowed([0u8; 8], 0).is_none());
        assert!(Pair::borrowed([255u8; 8], 32).unwrap().check_tail().is_ok());
        assert!(Pair::borrowed([255u8; 8], 31).unwrap().check_tail().is_err());
        assert!(Pair::borrowed([255, 255, 255, 255, 255, 255, 255, 63], 31).unwrap().check_tail().is_ok());
    }
}
