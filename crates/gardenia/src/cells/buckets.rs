//! A packed array of buckets of four fingerprints.
//!
//! A bucket of four fingerprints of w bits takes 4w bits and follows the one before it without a
//! gap, so that any width has its own size. It starts at a byte or in the middle of one: a single
//! unaligned read brings all four (8 bytes up to w = 16, 16 bytes above), and they are compared
//! side by side without a branch. A spare word behind the last bucket lets every bucket be read,
//! and every fingerprint be written, in the same way.

use super::{Bytes, Lines, Memory, Owned};
use crate::index::MAX_CELLS;
use crate::{DecodeError, SizeError};

/// Fingerprints in a bucket, b.
pub(crate) const SLOTS: u64 = 4;
/// The narrowest and the widest fingerprints, in bits.
pub(crate) const WIDTHS: core::ops::RangeInclusive<u32> = 4..=32;

/// Calls `$self.$method::<F>(…)` with the [`Four`] that suits the width.
macro_rules! by_width {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self.buckets.width() {
            8 => $self.$method::<$crate::cells::Eights>($($argument),*),
            ..=16 => $self.$method::<u64>($($argument),*),
            _ => $self.$method::<u128>($($argument),*),
        }
    };
}
pub(crate) use by_width;

/// Where fingerprints stand in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    buckets: u64,
    width: u32,
    /// Bits of a bucket.
    step: u64,
    /// The lowest bit of each of four fingerprints.
    ones: u128,
    /// The highest bit of each.
    high: u128,
}

impl Layout {
    fn new(buckets: u64, width: u32) -> Result<Self, SizeError> {
        if !WIDTHS.contains(&width) {
            return Err(SizeError::Width { width });
        }
        if buckets == 0 {
            return Err(SizeError::ZeroCells);
        }
        if buckets > MAX_CELLS / SLOTS {
            return Err(SizeError::TooManyCells { cells: buckets.saturating_mul(SLOTS), max: MAX_CELLS });
        }
        let ones = (0..SLOTS as u32).fold(0, |ones, slot| ones | 1 << (slot * width));
        Ok(Self { buckets, width, step: SLOTS * u64::from(width), ones, high: ones << (width - 1) })
    }

    /// All buckets, and the spare word.
    fn words(self) -> u64 {
        (self.buckets * self.step).div_ceil(64) + 1
    }

    /// The first bit of a bucket.
    #[inline(always)]
    fn start(self, bucket: u64) -> u64 {
        bucket * self.step
    }
}

/// Bytes of `buckets` buckets of fingerprints of `width` bits; `None` if there cannot be such.
pub(crate) fn bucket_bytes(buckets: u64, width: u32) -> Option<u64> {
    Layout::new(buckets, width).ok().map(|layout| layout.words() * 8)
}

/// Buckets of four fingerprints of 4 to 32 bits; 0 is an empty place.
#[derive(Clone)]
pub(crate) struct Buckets<M = Owned> {
    memory: M,
    layout: Layout,
}

/// Four fingerprints side by side, with whatever follows above them: `u64` for up to 16 bits each,
/// `u128` for more, and [`Eights`] for eight bits, whose shape the compiler then knows.
pub(crate) trait Four: Copy + Eq {
    /// The bits of `memory` from `bucket` on.
    fn read(memory: &impl Memory, bucket: u64, layout: Layout) -> Self;
    /// Turns the bits of `change` in `words`, from bit `at` on, where a fingerprint begins.
    fn flip(words: &mut [u64], at: u64, change: u32);
    /// The highest bit of the lowest fingerprint that equals `fingerprint`, perhaps with some above
    /// it; none if none does.
    fn equal(self, fingerprint: u32, layout: Layout) -> Self;
    /// The fingerprints that equal `fingerprint`: exactly their highest bits.
    fn all_equal(self, fingerprint: u32, layout: Layout) -> Self;
    /// The fingerprint in place `slot`, which is below 4.
    fn get(self, slot: u32, layout: Layout) -> u32;
    /// Both.
    fn or(self, other: Self) -> Self;
    /// Whether there is a bit.
    fn any(self) -> bool;
    /// The number of the lowest bit; the number of bits of the type if there is none.
    fn first(self) -> u32;
    /// How many bits there are.
    fn count(self) -> u32;
}

macro_rules! four {
    ($word:ty, $read:expr) => {
        impl Four for $word {
            #[inline(always)]
            fn read(memory: &impl Memory, bucket: u64, layout: Layout) -> Self {
                let start = layout.start(bucket);
                if let Some(bytes) = memory.bytes() {
                    let at = (start / 8) as usize;
                    let read = bytes.get(at..at + size_of::<$word>()).and_then(<[u8]>::first_chunk);
                    if let Some(read) = read {
                        return <$word>::from_le_bytes(*read) >> (start % 8);
                    }
                }
                #[allow(clippy::redundant_closure_call)]
                $read(memory, start)
            }
            #[inline(always)]
            fn flip(words: &mut [u64], at: u64, change: u32) {
                let (word, shift) = ((at / 64) as usize, at % 64);
                words[word] ^= u64::from(change) << shift;
                words[word + 1] ^= u64::from(change) >> 1 >> (63 - shift);
            }
            #[inline(always)]
            fn equal(self, fingerprint: u32, layout: Layout) -> Self {
                let ones = layout.ones as $word;
                let other = self ^ ones.wrapping_mul(fingerprint.into());
                // A borrow comes out of a zero only, and so can be wrong only above the first one.
                other.wrapping_sub(ones) & !other & layout.high as $word
            }
            #[inline(always)]
            fn all_equal(self, fingerprint: u32, layout: Layout) -> Self {
                let (ones, high) = (layout.ones as $word, layout.high as $word);
                let other = self ^ ones.wrapping_mul(fingerprint.into());
                // Below its highest bit a fingerprint has room for the sum: that bit is set unless all others are 0.
                let below = high - ones;
                !((other & below).wrapping_add(below) | other) & high
            }
            #[inline(always)]
            fn get(self, slot: u32, layout: Layout) -> u32 {
                (self >> (slot * layout.width)) as u32 & u32::MAX >> (32 - layout.width)
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn any(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn first(self) -> u32 {
                self.trailing_zeros()
            }
            #[inline(always)]
            fn count(self) -> u32 {
                self.count_ones()
            }
        }
    };
}

four!(u64, word_at);
four!(u128, |memory, start| u128::from(word_at(memory, start))
    | u128::from(word_at(memory, start + 64)) << 64);

/// Four fingerprints of eight bits each. They lie in the lower half of an 8-byte read as in a word
/// of four bytes, so what is above is cut off, and no fingerprint is in two words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Eights(u32);

impl Eights {
    const ONES: u32 = 0x0101_0101;
    const HIGH: u32 = Self::ONES << 7;
}

impl Four for Eights {
    #[inline(always)]
    fn read(memory: &impl Memory, bucket: u64, _: Layout) -> Self {
        if let Some(bytes) = memory.bytes() {
            let at = bucket as usize * 4;
            if let Some(read) = bytes.get(at..at + 4).and_then(<[u8]>::first_chunk) {
                return Self(u32::from_le_bytes(*read));
            }
        }
        Self(word_at(memory, bucket * 32) as u32)
    }
    #[inline(always)]
    fn flip(words: &mut [u64], at: u64, change: u32) {
        words[(at / 64) as usize] ^= u64::from(change) << (at % 64);
    }
    #[inline(always)]
    fn equal(self, fingerprint: u32, _: Layout) -> Self {
        let other = self.0 ^ Self::ONES.wrapping_mul(fingerprint);
        Self(other.wrapping_sub(Self::ONES) & !other & Self::HIGH)
    }
    #[inline(always)]
    fn all_equal(self, fingerprint: u32, _: Layout) -> Self {
        let (other, below) = (self.0 ^ Self::ONES.wrapping_mul(fingerprint), Self::HIGH - Self::ONES);
        Self(!((other & below).wrapping_add(below) | other) & Self::HIGH)
    }
    #[inline(always)]
    fn get(self, slot: u32, _: Layout) -> u32 {
        self.0 >> (slot * 8) & 255
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0 != 0
    }
    #[inline(always)]
    fn first(self) -> u32 {
        self.0.trailing_zeros()
    }
    #[inline(always)]
    fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// 64 bits from bit `start` on, where the memory cannot be read as bytes; zeros behind the end.
/// Kept out of the loops, which it would make too long to be inlined.
#[cold]
#[inline(never)]
fn word_at(memory: &impl Memory, start: u64) -> u64 {
    let (word, shift) = ((start / 64) as usize, start % 64);
    let load = |at| if at < memory.words() { memory.load(at) } else { 0 };
    load(word) >> shift | load(word + 1) << 1 << (63 - shift)
}

impl Buckets {
    /// This number of buckets, all empty.
    pub(crate) fn new(buckets: u64, width: u32) -> Result<Self, SizeError> {
        let layout = Layout::new(buckets, width)?;
        let words = usize::try_from(layout.words())
            .map_err(|_| SizeError::Memory { bytes: layout.words().saturating_mul(8) })?;
        Ok(Self { memory: Owned::zeroed(words)?, layout })
    }

    /// Turns the bits of `change`, which has as many as a fingerprint, of the place whose *highest*
    /// bit is bit `high` of the bucket: an empty place takes the fingerprint, a place with it is
    /// emptied.
    #[inline(always)]
    pub(crate) fn flip<F: Four>(&mut self, bucket: u64, high: u32, change: u32) {
        let at = self.layout.start(bucket) + u64::from(high + 1 - self.layout.width);
        F::flip(self.memory.as_mut_slice(), at, change);
    }

    /// All places empty.
    pub(crate) fn clear(&mut self) {
        self.memory.as_mut_slice().fill(0);
    }

    /// Takes over the fingerprints of `other`, which has the same layout.
    pub(crate) fn copy_from(&mut self, other: &Buckets<impl Memory>) {
        debug_assert_eq!(self.layout, other.layout);
        for (at, word) in self.memory.as_mut_slice().iter_mut().enumerate() {
            *word = other.memory.load(at);
        }
    }

    /// The words, for decoders to fill.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.as_mut_slice()
    }

    /// A way to ask for cache lines while the buckets themselves are lent out.
    #[inline]
    pub(crate) fn lines(&self) -> BucketLines {
        BucketLines { lines: Lines::new(self.memory.as_slice()), layout: self.layout }
    }
}

/// Where buckets begin: enough to ask for their cache lines, which reads nothing.
#[derive(Clone, Copy)]
pub(crate) struct BucketLines {
    lines: Lines,
    layout: Layout,
}

impl BucketLines {
    /// Asks for the cache line of a bucket.
    #[inline(always)]
    pub(crate) fn prefetch(self, bucket: u64) {
        self.lines.prefetch(self.layout.start(bucket));
    }
}

impl<B: AsRef<[u8]>> Buckets<Bytes<B>> {
    /// Buckets in borrowed bytes; `None` unless the bytes are exactly the words they need.
    pub(crate) fn borrowed(bytes: B, buckets: u64, width: u32) -> Option<Self> {
        let layout = Layout::new(buckets, width).ok()?;
        let fits = bytes.as_ref().len() as u64 == layout.words() * 8;
        fits.then_some(Self { memory: Bytes(bytes), layout })
    }
}

impl<M: Memory> Buckets<M> {
    /// Number of buckets.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.layout.buckets
    }

    /// Bits of a fingerprint.
    #[inline(always)]
    pub(crate) fn width(&self) -> u32 {
        self.layout.width
    }

    /// What [`Four`] must know.
    #[inline(always)]
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The four fingerprints of a bucket.
    #[inline(always)]
    pub(crate) fn read<F: Four>(&self, bucket: u64) -> F {
        F::read(&self.memory, bucket, self.layout)
    }

    /// Asks for the cache line of a bucket.
    #[inline(always)]
    pub(crate) fn prefetch(&self, bucket: u64) {
        self.memory.prefetch((self.layout.start(bucket) / 64) as usize);
    }

    /// How many places are taken.
    pub(crate) fn count(&self) -> u64 {
        let empty = |bucket| self.read::<u128>(bucket).all_equal(0, self.layout).count();
        (0..self.len()).map(|bucket| SLOTS - u64::from(empty(bucket))).sum()
    }

    /// The memory below.
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// Bits behind the last bucket are zero, as they must be in a file.
    pub(crate) fn check_tail(&self) -> Result<(), DecodeError> {
        let (end, last) = (self.layout.start(self.len()), self.memory.words() - 1);
        let clear = self.memory.load(last) == 0
            && (end.is_multiple_of(64) || self.memory.load(last - 1) >> (end % 64) == 0);
        if clear { Ok(()) } else { Err(DecodeError::Damaged("bits behind the last bucket are set")) }
    }
}

impl<M: Memory, N: Memory> PartialEq<Buckets<N>> for Buckets<M> {
    fn eq(&self, other: &Buckets<N>) -> bool {
        self.layout == other.layout
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Memory that cannot be read as bytes, as owned words on a big-endian machine.
    struct Plain(Vec<u64>);

    impl crate::cells::memory::sealed::Sealed for Plain {}
    impl Memory for Plain {
        fn words(&self) -> usize {
            self.0.len()
        }
        fn load(&self, at: usize) -> u64 {
            self.0[at]
        }
        fn prefetch(&self, _: usize) {}
    }

    /// Every width: buckets filled in a scattered order against an array of numbers, read in every
    /// way there is.
    fn places_are_numbers<F: Four>(width: u32) {
        let len = 11;
        let mut buckets = Buckets::new(len, width).unwrap();
        let mut model = vec![0u32; (len * SLOTS) as usize];
        let top = u32::MAX >> (32 - width);
        for round in 1..=300u64 {
            let random = crate::Digest(round).word(1);
            let (bucket, slot) = (random % len, (random >> 20 & 3) as u32);
            let value = if round % 5 == 0 { 0 } else { (random >> 30) as u32 & top };
            let place = &mut model[(bucket * SLOTS) as usize + slot as usize];
            buckets.flip::<F>(bucket, slot * width + width - 1, *place ^ value);
            *place = value;
            let plain = Buckets { memory: Plain(buckets.memory.as_slice().to_vec()), layout: buckets.layout };
            for bucket in 0..len {
                let row = &model[(bucket * SLOTS) as usize..][..4];
                let (four, same) = (buckets.read::<F>(bucket), plain.read::<F>(bucket));
                for ask in [0, 1, top, row[0], row[1] ^ 1, row[3]] {
                    let expected =
                        |slot: usize| (row[slot] == ask).then_some(slot as u32 * width + width - 1);
                    let first = (0..4).find_map(expected);
                    for four in [four, same] {
                        let (some, all) =
                            (four.equal(ask, buckets.layout), four.all_equal(ask, buckets.layout));
                        assert_eq!(some.any().then(|| some.first()), first);
                        assert_eq!(all.any().then(|| all.first()), first);
                        assert_eq!(all.count() as usize, row.iter().filter(|other| **other == ask).count());
                    }
                }
                for slot in 0..4 {
                    assert_eq!(four.get(slot, buckets.layout), row[slot as usize]);
                    assert_eq!(same.get(slot, buckets.layout), row[slot as usize]);
                }
            }
            assert_eq!(buckets.count(), model.iter().filter(|value| **value != 0).count() as u64);
            assert!(buckets.check_tail().is_ok());
        }
    }

    #[test]
    fn fingerprints_of_every_width_are_read_and_written_as_numbers() {
        WIDTHS.filter(|width| *width <= 16).for_each(places_are_numbers::<u64>);
        WIDTHS.for_each(places_are_numbers::<u128>);
        places_are_numbers::<Eights>(8);
    }

    #[test]
    fn sizes_that_cannot_be_are_errors() {
        for width in [0, 3, 33] {
            assert_eq!(Buckets::new(1, width).err(), Some(SizeError::Width { width }));
        }
        assert_eq!(Buckets::new(0, 8).err(), Some(SizeError::ZeroCells));
        assert!(matches!(Buckets::new(u64::MAX, 8).err(), Some(SizeError::TooManyCells { .. })));
        assert_eq!(
            (bucket_bytes(1, 8), bucket_bytes(2, 8), bucket_bytes(3, 8)),
            (Some(16), Some(16), Some(24))
        );
        assert!(Buckets::borrowed(&[0u8; 16][..], 2, 8).is_some());
        assert!(Buckets::borrowed(&[0u8; 24][..], 2, 8).is_none());
    }

    #[test]
    fn bits_behind_the_last_bucket_are_damage() {
        for bit in [13 * 4, 63, 64, 127] {
            let mut buckets = Buckets::new(1, 13).unwrap();
            buckets.memory.as_mut_slice()[bit / 64] |= 1 << (bit % 64);
            assert!(buckets.check_tail().is_err(), "{bit}");
        }
    }
}
