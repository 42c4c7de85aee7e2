//! Cells of any width up to 64 bits, one right behind the other.
//!
//! Unlike a [counter](super::Counters) a cell may begin in one word and end in the next: nothing is
//! lost between them, and nobody changes one while another thread reads it.

use super::{Bytes, Memory, Owned};
use crate::SizeError;

/// `len` cells of `width` bits (1 to 64) over some [`Memory`]; cell i begins with bit i·width.
#[derive(Clone)]
pub(crate) struct Packed<M = Owned> {
    memory: M,
    len: u64,
    width: u32,
}

/// Words that this many cells take; `None` if there cannot be as many.
pub(crate) fn packed_words(len: u64, width: u32) -> Option<u64> {
    let bits = (1..=64).contains(&width).then(|| len.checked_mul(width.into()))??;
    Some(bits.div_ceil(64))
}

impl Packed {
    /// Cells of zero.
    pub(crate) fn new(len: u64, width: u32) -> Result<Self, SizeError> {
        let words = packed_words(len, width).ok_or(SizeError::Width { width })?;
        let words =
            usize::try_from(words).map_err(|_| SizeError::Memory { bytes: words.saturating_mul(8) })?;
        Ok(Self { memory: Owned::zeroed(words)?, len, width })
    }

    /// Sets cell `at` to the lowest bits of `value`.
    pub(crate) fn set(&mut self, at: u64, value: u64) {
        let (word, shift) = self.place(at);
        let (ones, words) = (self.ones(), self.memory.as_mut_slice());
        let value = value & ones;
        words[word] = words[word] & !(ones << shift) | value << shift;
        if shift + self.width > 64 {
            let over = 64 - shift;
            words[word + 1] = words[word + 1] & !(ones >> over) | value >> over;
        }
    }

    /// The words, for decoders to fill.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.as_mut_slice()
    }
}

impl<B: AsRef<[u8]>> Packed<Bytes<B>> {
    /// Cells in borrowed bytes; `None` unless the bytes are exactly the words they need.
    pub(crate) fn borrowed(bytes: B, len: u64, width: u32) -> Option<Self> {
        let fits = packed_words(len, width)?.checked_mul(8) == Some(bytes.as_ref().len() as u64);
        fits.then_some(Self { memory: Bytes(bytes), len, width })
    }
}

impl<M: Memory> Packed<M> {
    /// Cell `at`.
    #[inline(always)]
    pub(crate) fn get(&self, at: u64) -> u64 {
        let (word, shift) = self.place(at);
        let low = self.memory.load(word) >> shift;
        let over = shift + self.width > 64;
        let high = if over { self.memory.load(word + 1) << (64 - shift) } else { 0 };
        (low | high) & self.ones()
    }

    /// Asks for the cache line in which cell `at` begins.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: u64) {
        self.memory.prefetch(self.place(at).0);
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// Whether the bits past the last cell are zero, as they must be in a file.
    pub(crate) fn tail_is_clear(&self) -> bool {
        let used = self.len * u64::from(self.width) % 64;
        used == 0 || self.memory.load(self.memory.words() - 1) >> used == 0
    }

    /// Word and shift of cell `at`.
    #[inline(always)]
    fn place(&self, at: u64) -> (usize, u32) {
        let bit = at * u64::from(self.width);
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    #[inline(always)]
    fn ones(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Digest;

    #[test]
    fn cells_of_every_width_keep_what_is_written_and_leave_their_neighbours() {
        for width in 1..=64 {
            let ones = u64::MAX >> (64 - width);
            let value = |round: u32, at: u64| Digest(at).word(1 + round) & ones;
            let mut cells = Packed::new(67, width).unwrap();
            for round in 0..3 {
                (0..67).for_each(|at| cells.set(at, value(round, at)));
                assert!((0..67).all(|at| cells.get(at) == value(round, at)), "{width} bits");
            }
            cells.set(30, u64::MAX); // what is too wide is cut
            assert_eq!([29, 30, 31].map(|at| cells.get(at)), [value(2, 29), ones, value(2, 31)]);
            assert!(
                cells.tail_is_clear()
                    && cells.memory().words() as u64 == (67 * u64::from(width)).div_ceil(64)
            );
            let bytes: alloc::vec::Vec<u8> =
                cells.words_mut().iter().flat_map(|word| word.to_le_bytes()).collect();
            let borrowed = Packed::borrowed(&bytes[..], 67, width).unwrap();
            assert!((0..67).all(|at| borrowed.get(at) == cells.get(at)));
            assert!(Packed::borrowed(&bytes[1..], 67, width).is_none());
        }
        assert!(
            Packed::new(1, 0).is_err() && Packed::new(1, 65).is_err() && packed_words(u64::MAX, 2).is_none()
        );
    }
}
