//! Binary fuse filters: how large a table must be for its keys to peel, and its false-positive
//! rate.
//!
//! A key has one cell in each of k neighbouring segments of the table, and the segment with which
//! it begins is drawn at random. Near the two ends fewer keys meet in a cell, so that peeling
//! starts there and moves inwards, and succeeds at a load that plain random cells would not bear:
//! up to 0.918 keys per cell for k = 3 and 0.977 for k = 4 in the limit. The sizes here stay below,
//! so that one attempt mostly suffices.
//!
//! Source: Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022),
//! section 3.

use crate::SizeError;

/// The most cells that a table can have.
pub const MAX_CELLS: u64 = 1 << 32;

/// The longest segment, as a power of two: the paper's, and as wide as the hash's fields.
pub const MAX_SEGMENT_BITS: u32 = 18;

/// Segments of this many cells, and how many of them a key can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuseShape {
    /// Cells per key, k: 3 or 4.
    pub arity: u32,
    /// Logarithm of the cells of a segment.
    pub segment_bits: u32,
    /// Segments that a key can begin with: all but the last k − 1.
    pub starts: u64,
}

impl FuseShape {
    /// All cells.
    ///
    /// ```
    /// use gardenia::theory::binary_fuse::FuseShape;
    /// assert_eq!(FuseShape { arity: 3, segment_bits: 4, starts: 5 }.cells(), (5 + 2) * 16);
    /// ```
    #[must_use]
    pub const fn cells(&self) -> u64 {
        (self.starts + self.arity as u64 - 1) << self.segment_bits
    }
}

/// Cells per key that are asked for: 1.125 (k = 3) or 1.075 (k = 4) for many keys, more for few.
/// Any other k is taken for 4.
///
/// ```
/// use gardenia::theory::binary_fuse::size_factor;
/// assert_eq!((size_factor(10_000_000, 3), size_factor(10_000_000, 4)), (1.125, 1.075));
/// assert!(size_factor(1_000, 3) > 1.3);
/// ```
#[must_use]
pub fn size_factor(items: u64, arity: u32) -> f64 {
    let log = libm::log(items.max(2) as f64);
    match arity {
        3 => f64::max(1.125, 0.875 + 0.25 * libm::log(1e6) / log),
        _ => f64::max(1.075, 0.77 + 0.305 * libm::log(6e5) / log),
    }
}

/// The table for `items` distinct keys.
///
/// ```
/// use gardenia::theory::binary_fuse::shape;
/// let cells = shape(1_000_000, 3)?.cells();
/// assert!((1_125_000..1_136_000).contains(&cells));
/// assert!(shape(1 << 40, 3).is_err() && shape(10, 5).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, arity: u32) -> Result<FuseShape, SizeError> {
    let log = libm::log(items.max(2) as f64);
    let exponent = match arity {
        3 => log / libm::log(3.33) + 2.25,
        4 => log / libm::log(2.91) - 0.5,
        _ => return Err(SizeError::Conflict("a binary fuse table has 3 or 4 cells per key")),
    };
    let segment_bits = (libm::floor(exponent).max(2.0) as u32).min(MAX_SEGMENT_BITS);
    let cells = libm::round(items as f64 * size_factor(items, arity)) as u64;
    let segments = cells.div_ceil(1 << segment_bits).max(arity.into());
    if segments > MAX_CELLS >> segment_bits {
        return Err(SizeError::TooManyCells { cells, max: MAX_CELLS });
    }
    Ok(FuseShape { arity, segment_bits, starts: segments - u64::from(arity - 1) })
}

/// Bits per key of a filter with fingerprints of `width` bits.
///
/// ```
/// use gardenia::theory::binary_fuse::bits_per_key;
/// // 1.125 and 1.075 times the 8 bits that no filter of this rate can do without, and a few cells to fill the last segment.
/// assert!((9.0..9.03).contains(&bits_per_key(10_000_000, 3, 8)?));
/// assert!((8.6..8.63).contains(&bits_per_key(10_000_000, 4, 8)?));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn bits_per_key(items: u64, arity: u32, width: u32) -> Result<f64, SizeError> {
    let cells = shape(items, arity)?.cells();
    Ok(cells as f64 * f64::from(width) / items.max(1) as f64)
}

/// The false-positive probability of a filter with fingerprints of `width` bits: 2^−w, and that two
/// keys have one digest.
///
/// ```
/// assert!((gardenia::theory::binary_fuse::fpp(1_000, 8) - 1.0 / 256.0).abs() < 1e-15);
/// assert_eq!(gardenia::theory::binary_fuse::fpp(0, 8), 0.0);
/// ```
#[must_use]
pub fn fpp(items: u64, width: u32) -> f64 {
    if items == 0 { 0.0 } else { libm::exp2(-f64::from(width)) + items as f64 * libm::exp2(-64.0) }
}

/// The least of 8, 16 and 32 bits whose fingerprints keep to `fpp`.
///
/// ```
/// use gardenia::theory::binary_fuse::width;
/// assert_eq!([0.01, 1.0 / 256.0, 0.0039, 1e-6].map(|fpp| width(1_000, fpp)), [Ok(8), Ok(8), Ok(16), Ok(32)]);
/// assert!(width(1_000, 1e-10).is_err() && width(1_000, 0.0).is_err());
/// ```
pub fn width(items: u64, fpp: f64) -> Result<u32, SizeError> {
    if !(fpp > 0.0 && fpp < 1.0) {
        return Err(SizeError::Fpp(fpp));
    }
    // What a digest lets two keys have in common is far below these rates.
    let bits = libm::ceil(-libm::log2(fpp));
    let floor = libm::exp2(-32.0);
    match bits {
        ..=8.0 => Ok(8),
        ..=16.0 => Ok(16),
        ..=32.0 => Ok(32),
        _ => Err(SizeError::FppBelowFloor { fpp, floor, items }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_paper() {
        // Segment lengths and factors by its formulas, worked out by hand.
        for (items, arity, bits) in [
            (1_000_000, 3, 13),
            (10_000_000, 3, 15),
            (100_000_000, 3, 17),
            (1_000_000, 4, 12),
            (10_000_000, 4, 14),
        ] {
            assert_eq!(shape(items, arity).unwrap().segment_bits, bits, "{items} keys, {arity}");
        }
        for arity in [3, 4] {
            for items in [1_000_000u64, 5_000_000, 10_000_000, 100_000_000] {
                let (shape, least) = (shape(items, arity).unwrap(), items as f64 * size_factor(items, arity));
                let over = shape.cells() as f64 - least;
                assert!(
                    (-1.0..(1u64 << shape.segment_bits) as f64).contains(&over),
                    "{items} {arity}: {over}"
                );
            }
        }
    }

    #[test]
    fn every_number_of_keys_has_more_cells_than_keys() {
        for arity in [3, 4] {
            for items in
                (0..200).chain((8..28).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]))
            {
                let shape = shape(items, arity).unwrap();
                assert!(shape.starts >= 1 && shape.cells() > items, "{items}: {shape:?}");
            }
            assert!(shape(u64::MAX, arity).is_err() && shape(3_900_000_000, 3).is_err());
            assert!(shape(3_800_000_000, arity).is_ok());
        }
    }
}
