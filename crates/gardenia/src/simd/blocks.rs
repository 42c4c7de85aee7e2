//! A table of blocks together with the pattern of its keys.
#![allow(unsafe_code)] // vector code that reads a block without checking that there is one

use super::batch::{Sink, Source};
use super::level::{self, Level};
use super::pattern::Pattern;
use super::{ahead, portable};
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::{avx2, avx512};
use crate::SizeError;
use crate::cells::{Bits, Memory, Owned, Shared};
use crate::hash::Digest;
use crate::theory::blocked::BLOCK_BITS;

/// Blocks of 512 bits, and which of their bits a key sets.
///
/// The two are made together, by [`new`](Self::new) alone, and no method changes the number of
/// blocks: a pattern never chooses a block that the table does not have. The unsafe code below
/// relies on that.
#[derive(Clone)]
pub(crate) struct Blocks<M = Owned> {
    pattern: Pattern,
    bits: Bits<M>,
}

impl<M: Memory> Blocks<M> {
    /// The table of these bits, in which a key sets `hashes`.
    ///
    /// # Panics
    /// If the bits are not one or more whole blocks.
    pub(crate) fn new(bits: Bits<M>, hashes: u32) -> Self {
        let pattern = Pattern::new(bits.len() / BLOCK_BITS, hashes);
        let whole = pattern.here() > 0 && pattern.here() * 8 == bits.memory().words();
        assert!(whole && bits.len().is_multiple_of(BLOCK_BITS), "a table of whole blocks");
        Self { pattern, bits }
    }

    #[cfg(feature = "std")]
    pub(crate) fn pattern(&self) -> Pattern {
        self.pattern
    }

    pub(crate) fn bits(&self) -> &Bits<M> {
        &self.bits
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> u64 {
        self.pattern.blocks
    }

    /// Bits that a key sets.
    pub(crate) fn hashes(&self) -> u32 {
        self.pattern.hashes
    }

    /// The same with other instructions, or the best that the processor has of them.
    pub(crate) fn at(self, level: Level) -> Self {
        Self { pattern: self.pattern.at(level), ..self }
    }

    /// The answer for one digest.
    ///
    /// Even one key gains, although the vector code is called and not inlined: it is a fifth of the
    /// portable one. Only what needs vector registers is called, with what it needs in registers;
    /// and all other code, so that this is short enough to be inlined wherever a key is asked for.
    /// Where it is not, a query takes a third longer.
    #[inline(always)]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        let (pattern, memory) = (&self.pattern, self.bits.memory());
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(bytes) = memory.bytes() {
            debug_assert_eq!(bytes.len(), pattern.here() * 64);
            let at = bytes.as_ptr().wrapping_add(pattern.block_of_all(digest) * 64);
            let lanes = pattern.lanes();
            if pattern.is_shortest() {
                // SAFETY: a level is only chosen if the processor has it, and the table has as many blocks as its pattern says: see
                // `Blocks`.
                return unsafe { avx512::contains_one(at, digest, lanes.first) };
            }
            match pattern.level() {
                // SAFETY: the same.
                Level::Avx512 => return unsafe { avx512::contains(at, digest, lanes) },
                // SAFETY: the same.
                Level::Avx2 => return unsafe { avx2::contains(at, digest, lanes) },
                Level::Portable => {}
            }
        }
        level::contains_words(pattern, memory, digest)
    }

    /// The first word of a key's block, and the key's bits in its eight words.
    pub(crate) fn masks(&self, digest: Digest) -> (usize, [u64; 8]) {
        (self.pattern.block(digest) * 8, super::portable::masks(self.pattern, digest))
    }

    /// Hands the answers for digests to `answers`, in order.
    pub(crate) fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        level::contains(self.pattern, self.bits.memory(), self.is_far(), digests, answers);
    }

    /// Asks for the memory of this digest.
    #[inline]
    pub(crate) fn prefetch(&self, digest: Digest) {
        self.bits.memory().prefetch(self.pattern.block(digest) * 8);
    }

    /// Whether the table is too large to be near the core.
    fn is_far(&self) -> bool {
        ahead::is_far_if_cheap(self.bits.memory().words())
    }
}

impl Blocks {
    /// An empty table.
    pub(crate) fn empty(bits: u64, hashes: u32) -> Result<Self, SizeError> {
        Ok(Self::new(Bits::new(bits)?, hashes))
    }

    /// Inserts one digest; true if it was certainly new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        let (pattern, words) = (&self.pattern, self.bits.words_mut());
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            debug_assert_eq!(words.len(), pattern.here() * 8);
            let table = words.as_mut_ptr().cast::<u8>();
            let (at, lanes) = (table.wrapping_add(pattern.block_of_all(digest) * 64), pattern.lanes());
            if pattern.is_shortest() {
                // SAFETY: as in `contains`; x86-64 is little-endian, so that words and bytes are the same.
                return unsafe { avx512::insert_one(at, digest, lanes.first) };
            }
            match pattern.level() {
                // SAFETY: the same.
                Level::Avx512 => return unsafe { avx512::insert(at, digest, lanes) },
                // SAFETY: the same.
                Level::Avx2 => return unsafe { avx2::insert(at, digest, lanes) },
                Level::Portable => {}
            }
        }
        insert_plainly(*pattern, digest, words)
    }

    /// Inserts digests in order; `new` receives for each whether it was certainly new.
    pub(crate) fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        let (pattern, far) = (self.pattern, self.is_far());
        level::insert(pattern, self.bits.words_mut(), far, digests, new);
    }

    /// The words, whose number cannot be changed.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.bits.words_mut()
    }

    pub(crate) fn clear(&mut self) {
        self.bits.clear();
    }

    /// Replaces each word by what `with` makes of it and the other's.
    pub(crate) fn combine(&mut self, other: &Blocks<impl Memory>, with: impl Fn(u64, u64) -> u64) {
        self.bits.combine(&other.bits, with);
    }

    pub(crate) fn into_shared(self) -> Blocks<Shared> {
        Blocks { pattern: self.pattern, bits: self.bits.into_shared_blocks() }
    }
}

/// Apart, so that what stands before it is short enough to be inlined wherever a key is inserted.
#[cfg_attr(all(target_arch = "x86_64", feature = "std"), inline(never))]
fn insert_plainly(pattern: Pattern, digest: Digest, words: &mut [u64]) -> bool {
    portable::insert(pattern, digest, words)
}

impl Blocks<Shared> {
    /// Inserts one digest into blocks that threads share; true if it was certainly new.
    #[inline]
    pub(crate) fn insert(&self, digest: Digest) -> bool {
        level::insert_shared(self.pattern, self.bits.memory(), digest)
    }

    /// The same for many, in order.
    pub(crate) fn insert_each(&self, digests: impl Source, new: &mut impl Sink) {
        level::insert_shared_many(self.pattern, self.bits.memory(), self.is_far(), digests, new);
    }

    pub(crate) fn into_owned(self) -> Blocks {
        Blocks { pattern: self.pattern, bits: self.bits.into_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a table of whole blocks")]
    fn bits_that_are_no_blocks_are_refused() {
        let _ = Blocks::new(Bits::new(513).unwrap(), 6);
    }
}
