//! The canonical form: written, read back with every check, and used where it lies.

use super::group::{self, GROUP, Read};
use super::segment::{GROUPS, Segment};
use super::values::{MAX_WORDS, Values};
use super::{Compact, SEGMENT, place, segments_for};
use crate::cells::{Memory, Owned};
use crate::{DecodeError, SizeError};
use alloc::vec::Vec;
use core::fmt;

/// Words of the directory for each segment: where it starts, and where its groups end.
const ENTRY: usize = 3;

impl Compact {
    /// The canonical form: the same words for the same values, on every machine.
    ///
    /// ```
    /// use gardenia::cells::Compact;
    /// let mut counters = Compact::new(1_000)?;
    /// counters.add(17, 5);
    /// let words = counters.to_words()?;
    /// assert!(Compact::from_words(1_000, words.as_slice()).unwrap() == counters);
    /// counters.add(3, 70_000);
    /// counters.sub(3, 70_000);
    /// assert_eq!(counters.to_words()?.as_slice(), words.as_slice());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn to_words(&self) -> Result<Owned, SizeError> {
        // Sizes first, so that the words are allocated once.
        let mut entries: Vec<(usize, [u16; GROUPS])> = Vec::new();
        let bytes = (self.segments.len() * size_of::<(usize, [u16; GROUPS])>()) as u64;
        entries.try_reserve_exact(self.segments.len()).map_err(|_| SizeError::Memory { bytes })?;
        let mut base = 0;
        for segment in &self.segments {
            let mut end = 0;
            let ends = core::array::from_fn(|number| {
                end += Values::decode(segment.group(number)).words();
                end as u16
            });
            entries.push((base, ends));
            base += end;
        }
        let mut words = Owned::zeroed(ENTRY * entries.len() + base)?;
        let (directory, mut rest) = words.as_mut_slice().split_at_mut(ENTRY * entries.len());
        for ((entry, (base, ends)), segment) in
            directory.chunks_exact_mut(ENTRY).zip(entries).zip(&self.segments)
        {
            entry[0] = base as u64;
            for (number, end) in ends.into_iter().enumerate() {
                entry[1 + number / 4] |= u64::from(end) << (16 * (number % 4));
                let mut scratch = [0; MAX_WORDS];
                let len = Values::decode(segment.group(number)).encode(&mut scratch);
                let (group, behind) = core::mem::take(&mut rest).split_at_mut(len);
                group.copy_from_slice(&scratch[..len]);
                rest = behind;
            }
        }
        Ok(words)
    }

    /// The `len` counters of a canonical form. Any other words are an error, and take no more
    /// memory than three times their own.
    pub fn from_words(len: u64, words: &[u64]) -> Result<Self, DecodeError> {
        CompactView::new(Words(words), len)?.to_compact()
    }
}

/// Counters in the canonical form of [`Compact`], read where they lie: in a mapped file, say.
///
/// ```
/// use gardenia::cells::{Bytes, Compact, CompactView};
/// let mut counters = Compact::new(1_000)?;
/// counters.add(17, 5);
/// let bytes: Vec<u8> = counters.to_words()?.as_slice().iter().flat_map(|w| w.to_le_bytes()).collect();
/// let view = CompactView::new(Bytes(&bytes[..]), 1_000).unwrap();
/// assert_eq!((view.get(17), view.get(18)), (5, 0));
/// assert!(view.to_compact().unwrap() == counters);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Only the length of the words was checked. Corrupted ones give wrong counts but no panic, and
/// [`to_compact`](Self::to_compact) reports them.
///
/// # The canonical form
///
/// Bit i of a string of bits is bit i mod 8 of byte ⌊i/8⌋; bytes are put into 64-bit words from the
/// lowest on, and numbers of several bytes have their lowest byte first. 64 counters are a *block*,
/// 8 blocks a *group* (512 counters), 8 groups a *segment* (4,096 counters). Counters behind the
/// last are zero.
///
/// First comes the directory, three words for each segment:
///
/// | bytes | what |
/// |---|---|
/// | 8 | the number of words that all segments before it take, without the directory |
/// | 8 × 2 | for each group, where it ends: the words that it and those before it in the segment take |
///
/// Then the groups, one behind the other. A group whose counters are all zero takes no words. Any
/// other is
///
/// | bytes | what |
/// |---|---|
/// | 8 × 8 | for each block a *plane*: bit i is one if counter i of the block is not zero |
/// | 8 × 1 | for each block its length in bytes, modulo 256 |
/// | 1 | the order k of the code, 0 to 31 |
/// | 1 | 1 if some block is longer than 255 bytes, else 0 |
/// | 8 × 1 or 0 | if that is 1: for each block its length divided by 256, rounded down |
/// | … | the blocks, as long as said |
/// | 0 to 7 | zero, up to a whole word |
///
/// A block holds its counters that are not zero, in order. Let v be the value, w = v − 1 + 2^k, and
/// b the number of bits of w (so k < b ≤ 33). From the block's first bit upwards stand the *unary
/// numbers*: for each counter b − 1 − k zeros and a one. From the block's last bit downwards stand
/// the *low bits*: for each counter the b − 1 bits of w below its highest, the lowest of them at
/// the lowest place. Those of the first counter end with the last bit of the block, those of the
/// second end just below them, and so on. The bits between unary numbers and low bits are zero, and
/// fewer than eight. So a counter takes one bit in its plane, and 2b − 1 − k bits unless it is
/// zero.
///
/// k is the order for which the bits of all counters of the group are fewest, the least if there
/// are several.
///
/// *To read counter i* of a block: if its bit in the plane is zero, so is the counter. Else let r
/// be the number of ones before that bit, and s the number of bits up to and with the r-th one of
/// the block (none if r = 0); then z zeros follow. The r counters before it have s − r + r·k low
/// bits. The k + z bits that end just below those are the number l, and v = 2^(k+z) + l − 2^k + 1.
///
/// Values are at most 2³² − 1. A reader refuses everything that is not the canonical form of some
/// values.
#[derive(Clone)]
pub struct CompactView<M = Owned> {
    memory: M,
    len: u64,
    segments: usize,
}

impl<M: Memory> CompactView<M> {
    /// `len` counters in memory that must be just as long as its directory says.
    pub fn new(memory: M, len: u64) -> Result<Self, DecodeError> {
        let segments = segments_for(len)?;
        if let Some(extra @ 1..) = memory.bytes().map(|bytes| bytes.len() % 8) {
            return Err(DecodeError::Trailing { extra: extra as u64 });
        }
        let found = memory.words() as u64;
        let directory = (ENTRY * segments) as u64;
        let truncated =
            |words: u64| DecodeError::Truncated { needed: words.saturating_mul(8), found: 8 * found };
        if found < directory {
            return Err(truncated(directory));
        }
        let view = Self { memory, len, segments };
        let (base, _, end) = view.entry(segments - 1, GROUPS - 1);
        let needed = base.saturating_add(end as u64).saturating_add(directory);
        if found < needed {
            return Err(truncated(needed));
        }
        if found > needed {
            return Err(DecodeError::Trailing { extra: 8 * (found - needed) });
        }
        Ok(view)
    }

    /// Number of counters.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never true: there is at least one counter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Counter `at`.
    ///
    /// # Panics
    ///
    /// If there is no such counter.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u64 {
        assert!(at < self.len, "counter {at} of {}", self.len);
        let (segment, number, at) = place(at);
        let (start, end) = self.group(segment, number);
        if start >= end {
            return 0;
        }
        match self.memory.bytes() {
            Some(bytes) => group::get(bytes.get(8 * start..).unwrap_or_default(), at),
            None => group::get(&Group { memory: &self.memory, start }, at),
        }
    }

    /// Asks for the cache lines that counter `at` is probably in.
    #[inline]
    pub fn prefetch(&self, at: u64) {
        let (segment, number, at) = place(at);
        if segment < self.segments {
            let (start, end) = self.group(segment, number);
            self.memory.prefetch(start + at / 64);
            self.memory.prefetch(start + GROUP / 64);
            self.memory.prefetch(start + GROUP / 64 + end.saturating_sub(start + GROUP / 64) * at / GROUP);
        }
    }

    /// The memory below.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The same counters in memory of their own, to be changed; an error unless every bit is as it
    /// must be.
    pub fn to_compact(&self) -> Result<Compact, DecodeError> {
        // The words are there, and are more than half of what an empty array takes.
        let mut compact = Compact::new(self.len)?;
        let (mut base, mut left) = (0, self.len);
        for (number, segment) in compact.segments.iter_mut().enumerate() {
            *segment = self.to_segment(number, base, left)?;
            base += self.entry(number, GROUPS - 1).2 as u64;
            left = left.saturating_sub(SEGMENT);
        }
        Ok(compact)
    }

    /// Segment `segment`, which begins `base` words behind the directory and has `left` counters.
    fn to_segment(&self, segment: usize, base: u64, left: u64) -> Result<Segment, DecodeError> {
        if self.entry(segment, 0).0 != base {
            return Err(DecodeError::Damaged("counters do not begin where the counters before them end"));
        }
        let mut bytes = [0; 8 * MAX_WORDS];
        for number in 0..GROUPS {
            let (start, end) = self.group(segment, number);
            if end < start || end > self.memory.words() {
                return Err(DecodeError::Damaged("counters end before they begin, or behind the end"));
            }
            let Some(bytes) = bytes.get_mut(..8 * (end - start)) else {
                return Err(DecodeError::Damaged("counters take more words than they can need"));
            };
            self.memory.copy_le(start, bytes);
            let values = Values::decode(bytes);
            if !values.ends_before(usize::try_from(left).unwrap_or(usize::MAX).saturating_sub(GROUP * number))
            {
                return Err(DecodeError::Damaged("counters behind the last are not zero"));
            }
            let mut words = [0; MAX_WORDS];
            let len = values.encode(&mut words);
            if words[..len].iter().flat_map(|word| word.to_le_bytes()).ne(bytes.iter().copied()) {
                return Err(DecodeError::Damaged("counters are not in their canonical form"));
            }
        }
        let ends = core::array::from_fn(|number| self.entry(segment, number).2 as u16);
        let start = self.group(segment, 0).0;
        Ok(Segment::new(ends, (start..).map(|at| self.memory.load(at)))?)
    }

    /// First word behind the directory of a segment, and where one of its groups starts and ends.
    #[inline(always)]
    fn entry(&self, segment: usize, number: usize) -> (u64, usize, usize) {
        let end = |number: usize| {
            let ends = self.memory.load(ENTRY * segment + 1 + number / 4);
            (ends >> (16 * (number % 4)) & 0xffff) as usize
        };
        (self.memory.load(ENTRY * segment), if number == 0 { 0 } else { end(number - 1) }, end(number))
    }

    /// The words of a group; arbitrary ones if the directory is corrupted.
    #[inline(always)]
    fn group(&self, segment: usize, number: usize) -> (usize, usize) {
        let (base, start, end) = self.entry(segment, number);
        // Beyond any memory, but with room to count on.
        let base = usize::try_from(base).unwrap_or(usize::MAX).min(usize::MAX >> 8) + ENTRY * self.segments;
        (base + start, base + end)
    }
}

impl<M: Memory> fmt::Debug for CompactView<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompactView({} in {} bytes)", self.len, 8 * self.memory.words())
    }
}

/// A group inside memory that is not bytes.
struct Group<'a, M> {
    memory: &'a M,
    start: usize,
}

impl<M: Memory> Read for Group<'_, M> {
    #[inline(always)]
    fn load(&self, at: usize) -> u64 {
        let word = self.start.saturating_add(at / 8);
        let load = |at: usize| if at < self.memory.words() { self.memory.load(at) } else { 0 };
        let shift = at % 8 * 8;
        if shift == 0 {
            load(word)
        } else {
            load(word) >> shift | load(word.saturating_add(1)) << (64 - shift)
        }
    }
}

/// Words of a slice.
struct Words<'a>(&'a [u64]);

impl crate::cells::memory::sealed::Sealed for Words<'_> {}
impl Memory for Words<'_> {
    fn words(&self) -> usize {
        self.0.len()
    }
    fn load(&self, at: usize) -> u64 {
        self.0[at]
    }
    fn prefetch(&self, _: usize) {}
}
