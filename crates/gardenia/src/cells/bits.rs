//! A packed array of bits.

use super::{Bytes, Memory, Owned, Shared, atom};
use crate::SizeError;
use crate::index::MAX_CELLS;
use crate::simd::prefetch_at;
use core::fmt;

/// `len` bits over some [`Memory`]; bits past the end are zero.
///
/// ```
/// let mut bits = gardenia::cells::Bits::new(100)?;
/// assert!(bits.set(99) && !bits.set(99)); // true the first time
/// assert_eq!((bits.get(99), bits.count_ones()), (true, 1));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct Bits<M = Owned> {
    memory: M,
    len: u64,
}

/// Where words begin: enough to ask for their cache lines, which reads nothing.
#[derive(Clone, Copy)]
pub(crate) struct Lines {
    base: *const u64,
}

impl Lines {
    /// The lines of these words.
    pub(crate) fn new(words: &[u64]) -> Self {
        Self { base: words.as_ptr() }
    }

    /// The lines of the words that begin here.
    #[cfg(feature = "mmap")]
    pub(crate) fn at(base: *const u64) -> Self {
        Self { base }
    }

    /// Asks for the cache line of bit `at`.
    #[inline(always)]
    pub(crate) fn prefetch(self, at: u64) {
        self.prefetch_word((at / 64) as usize);
    }

    /// Asks for the cache line of word `at`.
    #[inline(always)]
    pub(crate) fn prefetch_word(self, at: usize) {
        prefetch_at(self.base, at);
    }
}

/// Words that hold `len` bits.
fn words_for(len: u64) -> Result<usize, SizeError> {
    if len == 0 {
        return Err(SizeError::ZeroCells);
    }
    if len > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells: len, max: MAX_CELLS });
    }
    usize::try_from(len.div_ceil(64)).map_err(|_| SizeError::Memory { bytes: len.div_ceil(8) })
}

impl Bits {
    /// `len` zero bits.
    pub fn new(len: u64) -> Result<Self, SizeError> {
        Ok(Self { memory: Owned::zeroed(words_for(len)?)?, len })
    }

    /// Sets bit `at`; true if it was not set before.
    #[inline]
    pub fn set(&mut self, at: u64) -> bool {
        let word = &mut self.memory.as_mut_slice()[(at / 64) as usize];
        let (before, bit) = (*word, 1 << (at % 64));
        *word = before | bit;
        before & bit == 0
    }

    /// Sets the bits at `positions`; true if one of them was not set before.
    #[inline]
    pub fn set_all(&mut self, positions: impl Iterator<Item = u64>) -> bool {
        let words = self.memory.as_mut_slice();
        let mut new = 0;
        for at in positions {
            let word = &mut words[(at / 64) as usize];
            new |= !*word >> (at % 64);
            *word |= 1 << (at % 64);
        }
        new & 1 == 1
    }

    /// Sets the bits from `at` on where `with`, which has no bit past the end, has one.
    #[inline]
    pub(crate) fn merge(&mut self, at: u64, with: u64) {
        let (word, shift) = ((at / 64) as usize, at % 64);
        let words = self.memory.as_mut_slice();
        words[word] |= with << shift;
        let over = with.checked_shr(64 - shift as u32).unwrap_or(0);
        if over != 0 {
            words[word + 1] |= over;
        }
    }

    /// Sets bit `at` to `value`.
    #[cfg(feature = "mmap")]
    #[inline]
    pub(crate) fn put(&mut self, at: u64, value: bool) {
        let word = &mut self.memory.as_mut_slice()[(at / 64) as usize];
        *word = *word & !(1 << (at % 64)) | u64::from(value) << (at % 64);
    }

    /// A way to ask for cache lines while the bits themselves are lent out.
    #[inline]
    pub(crate) fn lines(&self) -> Lines {
        Lines::new(self.memory.as_slice())
    }

    /// Clears bit `at`.
    #[inline]
    pub(crate) fn clear_bit(&mut self, at: u64) {
        self.memory.as_mut_slice()[(at / 64) as usize] &= !(1 << (at % 64));
    }

    /// All bits to zero.
    pub fn clear(&mut self) {
        self.memory.as_mut_slice().fill(0);
    }

    /// Combines with the words of `other`, which has as many bits.
    pub(crate) fn combine(&mut self, other: &Bits<impl Memory>, with: impl Fn(u64, u64) -> u64) {
        debug_assert_eq!(self.len, other.len);
        for (at, word) in self.memory.as_mut_slice().iter_mut().enumerate() {
            *word = with(*word, other.memory.load(at));
        }
    }

    /// The words, for decoders to fill.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.as_mut_slice()
    }

    /// The same bits for many threads that change blocks of 512 bits; nothing is copied.
    pub(crate) fn into_shared_blocks(self) -> Bits<Shared> {
        Bits { memory: Shared::with_latches(self.memory), len: self.len }
    }

    /// What `work` makes of these bits while many threads share them; nothing is copied.
    pub(crate) fn lend<R>(&mut self, work: impl FnOnce(&Bits<Shared>) -> R) -> R {
        let shared = Bits { memory: Shared::new(core::mem::take(&mut self.memory)), len: self.len };
        let result = work(&shared);
        self.memory = shared.memory.into_owned();
        result
    }

    /// The same bits for many threads; nothing is copied.
    #[must_use]
    pub fn into_shared(self) -> Bits<Shared> {
        Bits { memory: Shared::new(self.memory), len: self.len }
    }
}

impl Bits<Shared> {
    /// Sets the bits at `positions`; true if this call set one of them.
    #[inline]
    pub fn set_all(&self, positions: impl Iterator<Item = u64> + Clone) -> bool {
        let atoms = self.memory.atoms();
        // Known keys are only read, so that threads which insert them do not fight for the lines. One test for
        // all bits: a test for each would be mispredicted at every second one.
        if positions.clone().fold(1, |set, at| set & self.shifted(at)) & 1 == 1 {
            return false;
        }
        positions.fold(false, |new, at| new | atom::set(&atoms[(at / 64) as usize], 1 << (at % 64)))
    }

    /// The same bits for one owner; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> Bits {
        Bits { memory: self.memory.into_owned(), len: self.len }
    }
}

impl<B: AsRef<[u8]>> Bits<Bytes<B>> {
    /// `len` bits in borrowed bytes; `None` unless the bytes are exactly the words they need.
    #[must_use]
    pub fn borrowed(bytes: B, len: u64) -> Option<Self> {
        let fits = words_for(len).is_ok_and(|words| words.checked_mul(8) == Some(bytes.as_ref().len()));
        fits.then_some(Self { memory: Bytes(bytes), len })
    }
}

impl<M: Memory> Bits<M> {
    /// Number of bits.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never true: there is at least one bit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bit `at`.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> bool {
        self.shifted(at) & 1 == 1
    }

    /// Bit `at` at the lowest place, others above it. Loops that must not branch between bits
    /// combine these: of booleans the compiler would make branches again.
    #[inline]
    pub(crate) fn shifted(&self, at: u64) -> u64 {
        self.memory.load((at / 64) as usize) >> (at % 64)
    }

    /// Asks for the cache line of bit `at`.
    #[inline]
    pub fn prefetch(&self, at: u64) {
        self.memory.prefetch((at / 64) as usize);
    }

    /// Number of set bits.
    #[must_use]
    pub fn count_ones(&self) -> u64 {
        (0..self.memory.words()).map(|at| u64::from(self.memory.load(at).count_ones())).sum()
    }

    /// A copy in own memory.
    pub(crate) fn to_owned(&self) -> Result<Bits, SizeError> {
        let mut copy = Bits::new(self.len)?;
        copy.combine(self, |_, theirs| theirs);
        Ok(copy)
    }

    /// The memory below.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Whether the bits past the end are zero, as they must be in a file.
    pub(crate) fn tail_is_clear(&self) -> bool {
        let used = self.len % 64;
        used == 0 || self.memory.load(self.memory.words() - 1) >> used == 0
    }
}

impl<M: Memory, N: Memory> PartialEq<Bits<N>> for Bits<M> {
    fn eq(&self, other: &Bits<N>) -> bool {
        self.len == other.len
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}

impl<M: Memory> Eq for Bits<M> {}

impl<M: Memory> fmt::Debug for Bits<M> {
    /// Length and population, not a million bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bits({} of {} set)", self.count_ones(), self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_cannot_be_are_errors() {
        assert_eq!(Bits::new(0).unwrap_err(), SizeError::ZeroCells);
        let cells = MAX_CELLS + 1;
        assert_eq!(Bits::new(cells).unwrap_err(), SizeError::TooManyCells { cells, max: MAX_CELLS });
    }

    #[test]
    fn owned_shared_and_borrowed_bits_agree() {
        let positions = [0u64, 63, 64, 65, 199, 64];
        let mut owned = Bits::new(200).unwrap();
        let shared = Bits::new(200).unwrap().into_shared();
        for at in positions {
            assert_eq!(owned.set_all([at].into_iter()), shared.set_all([at].into_iter()));
        }
        let bytes: alloc::vec::Vec<u8> =
            owned.memory().as_slice().iter().flat_map(|w| w.to_le_bytes()).collect();
        let borrowed = Bits::borrowed(&bytes[..], 200).unwrap();
        assert_eq!(owned, borrowed);
        assert_eq!(owned, shared);
        assert_eq!(borrowed.count_ones(), 5);
        assert!(Bits::borrowed(&bytes[1..], 200).is_none());
        assert!(borrowed.tail_is_clear());
        assert!(!Bits::borrowed(&bytes[..], 193).unwrap().tail_is_clear());
    }
}
