//! Blocks of 256 bits, split into eight 32-bit words with one bit of a key in each: the layout of
//! Parquet's filters.
//!
//! The block of a key follows from the upper half of its digest, and all eight bits from the lower:
//! one multiplication by eight odd numbers, of which the top five bits choose. As bytes, 32-bit
//! words are little-endian; two of them are one of our words.
#![allow(unsafe_code)] // vector code that reads a block without checking that there is one

use super::ahead;
use super::batch::{Sink, Source};
use super::level::Level;
use crate::SizeError;
use crate::cells::{Bits, Memory, Owned, Shared, atom};
use crate::hash::Digest;
use crate::theory::split_block::BLOCK_BITS;

/// Words of a block.
const WORDS: usize = 4;

/// The multipliers of the eight words. A constant, and not a static value, which code inlined
/// elsewhere would look up first.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// Split blocks, and the instructions that probe them.
///
/// [`new`](Self::new) alone makes them, and no method changes the number of blocks: the unsafe code
/// below relies on that.
#[derive(Clone)]
pub(crate) struct SplitBlocks<M = Owned> {
    bits: Bits<M>,
    blocks: u64,
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), allow(dead_code))]
    level: Level,
}

/// The block of a key among `blocks`, which are at most 2³².
#[inline(always)]
fn block_of(blocks: u64, digest: Digest) -> usize {
    (((digest.0 >> 32) * blocks) >> 32) as usize
}

/// The bits of a key in the words of its block: what all vector code agrees with.
#[inline(always)]
fn masks(digest: Digest) -> [u64; WORDS] {
    let bit = |at: usize| 1 << ((digest.0 as u32).wrapping_mul(SALTS[at]) >> 27);
    core::array::from_fn(|at| bit(2 * at) | bit(2 * at + 1) << 32)
}

/// The same with the instructions of a level, which the processor has.
#[inline(always)]
fn masks_at(level: Level, digest: Digest) -> [u64; WORDS] {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if level > Level::Portable {
        // SAFETY: the processor has the instructions.
        return unsafe { avx2::masks(digest) };
    }
    let _ = level;
    masks(digest)
}

/// Whether all bits of the masks are set in the words.
#[inline(always)]
fn covers(words: [u64; WORDS], masks: [u64; WORDS]) -> bool {
    (0..WORDS).fold(0, |clear, at| clear | masks[at] & !words[at]) == 0
}

/// Sets all bits of the key; true if one was clear.
#[cfg_attr(all(target_arch = "x86_64", feature = "std"), inline(never))]
fn insert(blocks: u64, digest: Digest, words: &mut [u64]) -> bool {
    let block = &mut words.as_chunks_mut::<WORDS>().0[block_of(blocks, digest)];
    let mut clear = 0;
    for (word, mask) in block.iter_mut().zip(masks(digest)) {
        clear |= mask & !*word;
        *word |= mask;
    }
    clear != 0
}

impl<M: Memory> SplitBlocks<M> {
    /// The table of these bits.
    ///
    /// # Panics
    /// If the bits are not one or more whole blocks.
    pub(crate) fn new(bits: Bits<M>) -> Self {
        let blocks = bits.len() / BLOCK_BITS;
        let whole = blocks > 0 && blocks as usize * WORDS == bits.memory().words();
        assert!(whole && bits.len().is_multiple_of(BLOCK_BITS), "a table of whole blocks");
        Self { bits, blocks, level: Level::best() }
    }

    pub(crate) fn bits(&self) -> &Bits<M> {
        &self.bits
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> u64 {
        self.blocks
    }

    /// The same with other instructions, or the best that the processor has of them.
    pub(crate) fn at(self, level: Level) -> Self {
        Self { level: level.min(Level::best()), ..self }
    }

    /// The answer for one digest.
    ///
    /// Only what needs vector registers is called, and all else inlined.
    #[inline(always)]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let (true, Some(bytes)) = (self.level > Level::Portable, self.bits.memory().bytes()) {
            let at = block_of(self.blocks, digest) * 32;
            // SAFETY: the processor has the instructions, and a block index is below `blocks`, as many as there are.
            return unsafe { avx2::contains(bytes.as_ptr().add(at), digest.0 as u32) };
        }
        self.contains_words(digest)
    }

    /// The same by words, read one by one. Apart where vector code is the rule:
    /// [`contains`](Self::contains) is then short enough to be inlined wherever a key is asked for.
    #[cfg_attr(all(target_arch = "x86_64", feature = "std"), inline(never))]
    fn contains_words(&self, digest: Digest) -> bool {
        covers(self.bits.memory().block(block_of(self.blocks, digest)), masks_at(self.level, digest))
    }

    /// The first word of a key's block, and the key's bits in its words.
    pub(crate) fn masks(&self, digest: Digest) -> (usize, [u64; WORDS]) {
        (block_of(self.blocks, digest) * WORDS, masks(digest))
    }

    /// Hands the answers for digests to `answers`, in order.
    pub(crate) fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let (blocks, memory, far) = (self.blocks, self.bits.memory(), self.is_far());
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let (true, Some(bytes)) = (self.level > Level::Portable, memory.bytes()) {
            let table = bytes.as_ptr();
            // SAFETY: the processor has the instructions, and the table has as many blocks.
            unsafe {
                return match self.level {
                    Level::Avx512 => avx2::contains_each_avx512(blocks, table, far, digests, answers),
                    _ => avx2::contains_each_avx2(blocks, table, far, digests, answers),
                };
            }
        }
        let fetch = |digest| memory.prefetch(block_of(blocks, digest) * WORDS);
        let level = self.level;
        let ask = |digest| covers(memory.block(block_of(blocks, digest)), masks_at(level, digest));
        digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, answers);
    }

    /// Asks for the memory of this digest.
    #[inline]
    pub(crate) fn prefetch(&self, digest: Digest) {
        self.bits.memory().prefetch(block_of(self.blocks, digest) * WORDS);
    }

    /// Whether the table is too large to be near the core.
    fn is_far(&self) -> bool {
        ahead::is_far_if_cheap(self.bits.memory().words())
    }
}

impl SplitBlocks {
    /// An empty table.
    pub(crate) fn empty(bits: u64) -> Result<Self, SizeError> {
        Ok(Self::new(Bits::new(bits)?))
    }

    /// Inserts one digest; true if it was certainly new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        let words = self.bits.words_mut();
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if self.level > Level::Portable {
            let at = block_of(self.blocks, digest) * 32;
            // SAFETY: as in `contains`; x86-64 is little-endian, so that words and bytes are the same.
            return unsafe { avx2::insert(words.as_mut_ptr().cast::<u8>().add(at), digest.0 as u32) };
        }
        insert(self.blocks, digest, words)
    }

    /// Inserts digests in order; `new` receives for each whether it was certainly new.
    pub(crate) fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        let (blocks, far) = (self.blocks, self.is_far());
        let words = self.bits.words_mut();
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if self.level > Level::Portable {
            let table: *mut u8 = words.as_mut_ptr().cast();
            // SAFETY: the processor has the instructions, and the table has as many blocks.
            unsafe {
                return match self.level {
                    Level::Avx512 => avx2::insert_each_avx512(blocks, table, far, digests, new),
                    _ => avx2::insert_each_avx2(blocks, table, far, digests, new),
                };
            }
        }
        // The lines are asked for through a pointer, because the words are lent to the insertion.
        let table: *const u64 = words.as_ptr();
        let fetch = |digest| super::prefetch::prefetch_at(table, block_of(blocks, digest) * WORDS);
        digests.each::<{ ahead::ONE_LINE }>(far, fetch, |digest| insert(blocks, digest, words), new);
    }

    /// The words, whose number cannot be changed.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.bits.words_mut()
    }

    pub(crate) fn clear(&mut self) {
        self.bits.clear();
    }

    /// Replaces each word by what `with` makes of it and the other's.
    pub(crate) fn combine(&mut self, other: &SplitBlocks<impl Memory>, with: impl Fn(u64, u64) -> u64) {
        self.bits.combine(&other.bits, with);
    }

    pub(crate) fn into_shared(self) -> SplitBlocks<Shared> {
        let Self { bits, blocks, level } = self;
        SplitBlocks { bits: bits.into_shared_blocks(), blocks, level }
    }
}

impl SplitBlocks<Shared> {
    /// Inserts one digest into blocks that threads share; true if it was certainly new.
    #[inline]
    pub(crate) fn insert(&self, digest: Digest) -> bool {
        let (block, memory) = (block_of(self.blocks, digest), self.bits.memory());
        let words = &memory.atoms().as_chunks::<WORDS>().0[block];
        atom::set_block(words, memory.latch(block), &masks_at(self.level, digest))
    }

    /// The same for many, in order.
    pub(crate) fn insert_each(&self, digests: impl Source, new: &mut impl Sink) {
        let fetch = |digest| self.prefetch(digest);
        digests.each::<{ ahead::ONE_LINE }>(self.is_far(), fetch, |digest| self.insert(digest), new);
    }

    pub(crate) fn into_owned(self) -> SplitBlocks {
        let Self { bits, blocks, level } = self;
        SplitBlocks { bits: bits.into_owned(), blocks, level }
    }
}

/// A block in one register.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2 {
    use super::{Digest, SALTS, Sink, Source, ahead, block_of};
    use crate::simd::prefetch_at;
    use core::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_or_si256, _mm256_set1_epi32,
        _mm256_setr_epi32, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_testc_si256,
    };

    /// The bits of a key, from the lower half of its digest.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask(low: u32) -> __m256i {
        let [a, b, c, d, e, f, g, h] = SALTS.map(u32::cast_signed);
        let salts = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        let products = _mm256_mullo_epi32(_mm256_set1_epi32(low.cast_signed()), salts);
        _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(products))
    }

    /// The bits of a key in the words of its block.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn masks(digest: Digest) -> [u64; super::WORDS] {
        let mut words = [0; super::WORDS];
        // SAFETY: the words fill a register.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), mask(digest.0 as u32)) };
        words
    }

    /// Whether all bits of the key are set.
    ///
    /// # Safety
    /// There is a block of 32 bytes at `block`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn contains(block: *const u8, low: u32) -> bool {
        // SAFETY: the caller promises the block.
        let block = unsafe { _mm256_loadu_si256(block.cast()) };
        _mm256_testc_si256(block, mask(low)) == 1
    }

    /// Sets all bits of the key; true if one was clear.
    ///
    /// # Safety
    /// There is a block of 32 bytes at `at`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn insert(at: *mut u8, low: u32) -> bool {
        let mask = mask(low);
        // SAFETY: the caller promises the block.
        unsafe {
            let block = _mm256_loadu_si256(at.cast());
            _mm256_storeu_si256(at.cast(), _mm256_or_si256(block, mask));
            _mm256_testc_si256(block, mask) == 0
        }
    }

    /// Writes the batch loops for a level: hashing then has its instructions, too.
    macro_rules! loops {
        ($feature:literal, $contains:ident, $insert:ident) => {
            /// # Safety
            /// `table` has `blocks` blocks.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $contains(
                blocks: u64,
                table: *const u8,
                far: bool,
                digests: impl Source,
                sink: &mut impl Sink,
            ) {
                let fetch = |digest| prefetch_at(table, block_of(blocks, digest) * 32);
                // SAFETY: a block index is below `blocks`, and the caller promises as many.
                let ask = |digest: Digest| unsafe {
                    contains(table.add(block_of(blocks, digest) * 32), digest.0 as u32)
                };
                digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
            }

            /// # Safety
            /// `table` has `blocks` blocks.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $insert(
                blocks: u64,
                table: *mut u8,
                far: bool,
                digests: impl Source,
                sink: &mut impl Sink,
            ) {
                let fetch = |digest| prefetch_at(table, block_of(blocks, digest) * 32);
                // SAFETY: a block index is below `blocks`, and the caller promises as many.
                let ask = |digest: Digest| unsafe {
                    insert(table.add(block_of(blocks, digest) * 32), digest.0 as u32)
                };
                digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
            }
        };
    }
    loops!("avx512f,avx512dq,avx512vl,bmi2", contains_each_avx512, insert_each_avx512);
    loops!("avx2", contains_each_avx2, insert_each_avx2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a table of whole blocks")]
    fn bits_that_are_no_blocks_are_refused() {
        let _ = SplitBlocks::new(Bits::new(257).unwrap());
    }
}
