//! Digest → k cells, one in each of k neighbouring segments.

use crate::filter::fixed::digests::MAX_ATTEMPTS;
use crate::format::Header;
use crate::hash::Digest;
use crate::simd::Spots;
use crate::theory::binary_fuse::{FuseShape, MAX_CELLS, MAX_SEGMENT_BITS};
use crate::{DecodeError, SizeError};
use alloc::vec::Vec;

/// The cells that keys have under one attempt: those of a multiplier that follows from its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter::fixed) struct Layout {
    spots: Spots,
    shape: FuseShape,
    attempt: u32,
}

impl Layout {
    /// The layout of one attempt; `None` for shapes that cannot be.
    pub(in crate::filter::fixed) fn new(shape: FuseShape, attempt: u32) -> Option<Self> {
        let fits = matches!(shape.arity, 3 | 4)
            && shape.segment_bits <= MAX_SEGMENT_BITS
            && (1..=MAX_CELLS).contains(&shape.starts)
            && shape.cells() <= MAX_CELLS;
        // Odd, so that no two digests have one product, and large, so that the high half has all its fields.
        let multiplier = Digest(0).word(attempt.wrapping_add(1)) | 1 << 63 | 1;
        let spots = Spots::new(multiplier, shape.starts, shape.segment_bits)?;
        fits.then_some(Self { spots, shape, attempt })
    }

    /// The layout of one attempt on a shape that was made for some keys.
    pub(in crate::filter::fixed) fn sized(shape: FuseShape, attempt: u32) -> Result<Self, SizeError> {
        let too_many = SizeError::TooManyCells { cells: shape.cells(), max: MAX_CELLS };
        Self::new(shape, attempt).ok_or(too_many)
    }

    /// As files have it, beside the cells and the arity: the attempt and the length of segments, as
    /// its logarithm.
    pub(in crate::filter::fixed) fn params(&self) -> [u8; 2] {
        [self.attempt as u8, self.shape.segment_bits as u8]
    }

    /// The layout of a stored table of this many cells and items.
    pub(in crate::filter::fixed) fn restore(header: &Header, params: &[u8]) -> Result<Self, DecodeError> {
        let field = |field, value, rule| Err(DecodeError::Field { field, value, rule });
        let &[attempt, segment_bits] = params else {
            return field("parameter length", params.len() as u64, "this kind has other parameters");
        };
        let (attempt, segment_bits) = (u32::from(attempt), u32::from(segment_bits));
        let (arity, cells) = (header.identity.hashes, header.identity.cells);
        if attempt >= MAX_ATTEMPTS {
            return field("attempt", attempt.into(), "there are at most 100, from 0 on");
        }
        if !matches!(arity, 3 | 4) {
            return field("hashes", arity.into(), "a key has 3 or 4 cells");
        }
        if segment_bits > MAX_SEGMENT_BITS {
            return field("segment bits", segment_bits.into(), "segments have at most 2^18 cells");
        }
        let segments = cells >> segment_bits;
        if segments << segment_bits != cells || segments < arity.into() || cells > MAX_CELLS {
            return field(
                "cells",
                cells,
                "there are whole segments, at least one for each cell of a key, up to 2^32",
            );
        }
        if header.items > cells {
            return field("items", header.items, "each key has a cell of its own");
        }
        let shape = FuseShape { arity, segment_bits, starts: segments - u64::from(arity - 1) };
        Self::new(shape, attempt).ok_or(DecodeError::Damaged("such a table cannot be"))
    }

    pub(in crate::filter::fixed) fn shape(&self) -> FuseShape {
        self.shape
    }

    pub(in crate::filter::fixed) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// All cells.
    pub(in crate::filter::fixed) fn cells(&self) -> u64 {
        self.shape.cells()
    }

    /// Cells of a segment.
    pub(super) fn segment_len(&self) -> usize {
        1 << self.shape.segment_bits
    }

    /// A word of the digest, of which the lowest bits are the fingerprint.
    #[inline(always)]
    pub(in crate::filter::fixed) fn low(&self, digest: Digest) -> u64 {
        self.spots.low(digest)
    }

    /// The segment with which the key begins.
    #[inline(always)]
    pub(super) fn segment(&self, digest: Digest) -> usize {
        (self.spots.first(digest) >> self.shape.segment_bits) as usize
    }

    /// The K cells of a key, in K neighbouring segments.
    #[inline(always)]
    pub(in crate::filter::fixed) fn spots<const K: usize>(&self, digest: Digest) -> [usize; K] {
        self.spots.of(digest)
    }

    /// The same for any number of cells.
    pub(in crate::filter::fixed) fn all_spots(&self, digest: Digest) -> Vec<u64> {
        let wide = |spots: &[usize]| spots.iter().map(|at| *at as u64).collect();
        match self.shape().arity {
            3 => wide(&self.spots::<3>(digest)),
            _ => wide(&self.spots::<4>(digest)),
        }
    }

    /// The exclusive or of these, in a table of cells of B bytes.
    #[inline(always)]
    pub(in crate::filter::fixed) fn sum<const K: usize, const B: usize>(
        &self,
        table: &[u8],
        digest: Digest,
    ) -> u32 {
        self.spots.sum::<K, B>(table, digest)
    }
}
