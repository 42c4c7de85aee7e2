//! Which cells of a binary fuse table a key has, and their sum.
//!
//! Here, and not beside the table, for the sake of one loop: a query that checks each of its reads
//! takes a tenth longer, and why they need no check follows from the arithmetic below alone.
#![allow(unsafe_code)] // reads that are checked together

use crate::hash::Digest;
use crate::index::scale;
use crate::theory::binary_fuse::MAX_SEGMENT_BITS;

/// The cells that keys have in a table of segments.
///
/// All of them follow from one product of 128 bits, that of the digest with a multiplier, since a
/// query is over the sooner the fewer instructions stand between it and the next. The low half is a
/// bijection of the digest: its high end makes the first cell, a share of all with which a key can
/// begin, and its low end the fingerprint. Three fields of the high half make the places in the
/// segments that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spots {
    multiplier: u64,
    /// Cells that a key can begin with: whole segments.
    starts: u64,
    /// Cells of a segment, a power of two; and the place within one.
    length: u64,
    mask: u64,
}

/// Bits between the fields of the high half: as many as a place can have.
const FIELD: u32 = MAX_SEGMENT_BITS;

impl Spots {
    /// The cells by an odd multiplier, of keys that begin in one of this many segments; `None` if
    /// these are none, or too many.
    pub(crate) fn new(multiplier: u64, segments: u64, segment_bits: u32) -> Option<Self> {
        // Without a segment the first cell would be 0 for every key, and the last ones behind the table.
        let fits = segment_bits <= MAX_SEGMENT_BITS && segments > 0 && segments <= 1 << 40;
        let length = 1 << segment_bits.min(MAX_SEGMENT_BITS);
        fits.then(|| Self { multiplier, starts: segments * length, length, mask: length - 1 })
    }

    /// The low half of the product, of which the lowest bits are the fingerprint.
    #[inline(always)]
    pub(crate) fn low(&self, digest: Digest) -> u64 {
        digest.0.wrapping_mul(self.multiplier)
    }

    /// The first cell of a key.
    #[inline(always)]
    pub(crate) fn first(&self, digest: Digest) -> u64 {
        scale(self.low(digest), self.starts)
    }

    /// The K cells of a key, in K neighbouring segments.
    #[inline(always)]
    pub(crate) fn of<const K: usize>(&self, digest: Digest) -> [usize; K] {
        let (first, length) = (self.first(digest), self.length);
        let high = scale(digest.0, self.multiplier);
        core::array::from_fn(|i| match i as u32 {
            0 => first as usize,
            i => ((first + u64::from(i) * length) ^ (high >> (FIELD * (i - 1)) & self.mask)) as usize,
        })
    }

    /// The exclusive or of the K cells of a key, in a table of little-endian cells of B bytes, 1, 2
    /// or 4.
    ///
    /// # Panics
    /// If the table has not all cells that keys can have.
    #[inline(always)]
    pub(crate) fn sum<const K: usize, const B: usize>(&self, table: &[u8], digest: Digest) -> u32 {
        let cells = self.starts + (K as u64 - 1) * self.length;
        assert!(table.len() as u64 >= cells * B as u64, "a table has all cells");
        self.of::<K>(digest).into_iter().fold(0, |sum, at| {
            // SAFETY: `at` is below `cells`, and the table has as many. For cell i: `first` is below `starts`, which is a
            // multiple of the segments' length, so that `first + i * length` is in one of the segments below
            // `starts + i * length`; the exclusive or with less than a length, which is a power of two, stays in it.
            let cell = unsafe { table.as_ptr().add(at * B).cast::<[u8; B]>().read() };
            sum ^ cell.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn sums<const K: usize, const B: usize>(spots: Spots, segments: u64, bits: u32, digest: Digest) {
        let cells = (segments as usize + K - 1) << bits;
        let table: Vec<u8> = (0..cells * B).map(|at| Digest(7).word(at as u32) as u8).collect();
        let expected = spots.of::<K>(digest).iter().fold(0, |sum, at| {
            let mut cell = [0; 4];
            cell[..B].copy_from_slice(&table[at * B..][..B]);
            sum ^ u32::from_le_bytes(cell)
        });
        assert_eq!(spots.sum::<K, B>(&table, digest), expected);
        #[cfg(feature = "std")]
        {
            let short = std::panic::catch_unwind(|| spots.sum::<K, B>(&table[1..], digest));
            assert!(short.is_err(), "a table that is too short was read");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn sums_are_those_of_the_cells_and_short_tables_are_refused(
            multiplier in any::<u64>(),
            segments in 1u64..20,
            bits in 0u32..6,
            digest in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)].prop_map(Digest),
        ) {
            let spots = Spots::new(multiplier | 1, segments, bits).unwrap();
            sums::<3, 1>(spots, segments, bits, digest);
            sums::<3, 2>(spots, segments, bits, digest);
            sums::<4, 4>(spots, segments, bits, digest);
        }
    }

    #[test]
    fn tables_of_no_segment_and_of_too_many_are_refused() {
        assert!(Spots::new(1, 1, MAX_SEGMENT_BITS).is_some() && Spots::new(1, 1 << 40, 0).is_some());
        for (segments, bits) in [(0, 0), (0, 3), ((1 << 40) + 1, 0), (1, MAX_SEGMENT_BITS + 1)] {
            assert_eq!(Spots::new(1, segments, bits), None);
        }
    }

    #[test]
    fn the_last_cell_of_each_segment_is_reached_and_none_behind() {
        let spots = Spots::new(u64::MAX, 5, 3).unwrap();
        let mut seen = [false; 8 * 8];
        for i in 0..20_000 {
            for (segment, at) in spots.of::<4>(Digest(Digest(1).word(i))).into_iter().enumerate() {
                assert!((segment * 8..(segment + 5) * 8).contains(&at), "{at}");
                seen[at] = true;
            }
        }
        assert_eq!(seen, [true; 8 * 8]);
    }
}
