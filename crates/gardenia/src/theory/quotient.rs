//! The quotient filter: size, load and false-positive rate.
//!
//! A key has one fingerprint among m·2^r: its upper part, the quotient, is one of m slots, its
//! lower part, the remainder, is stored. A query is a false positive if one of n keys has its
//! fingerprint, which each has with probability 1/(m·2^r): so with probability 1 − (1 −
//! 1/(m·2^r))^n, about α/2^r at a load α = n/m.
//!
//! Source: Bender, Farach-Colton, Johnson, Kraner, Kuszmaul, Medjedovic, Montes, Shetty, Spillane
//! and Zadok, "Don't Thrash: How to Cache Your Hash on Flash" (2012), section 3.

use crate::SizeError;
use crate::index::MAX_CELLS;

/// The share of slots that filters are planned to fill. Above it clusters become long: the mean
/// length of the one that a key falls into grows as 1/(1 − α)².
pub const LOAD: f64 = 0.85;

/// Bits of a slot beside its remainder: is the slot someone's, does it continue a run, was it
/// shifted.
pub const FLAGS: u32 = 3;

/// The most bits of a fingerprint, quotient and remainder together: digests have 64, and those that
/// are left make all fingerprints equally likely.
pub const MAX_BITS: u32 = 56;

/// The message for other widths.
const WIDTHS: &str = "a slot has 4 bits or more, and the quotient and the remainder 56 together at most";

/// Slots, and the bits of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotientShape {
    /// Number of slots, m.
    pub cells: u64,
    /// Bits of a slot: a remainder of r bits and three flags.
    pub width: u32,
}

impl QuotientShape {
    /// Bits of a remainder, r.
    #[must_use]
    pub const fn remainder(self) -> u32 {
        self.width.saturating_sub(FLAGS)
    }

    /// An error if there cannot be a filter of this shape.
    pub(crate) fn check(self) -> Result<Self, SizeError> {
        match self {
            Self { cells: 0 | 1, .. } => Err(SizeError::ZeroCells),
            Self { cells, .. } if cells > MAX_CELLS => Err(SizeError::TooManyCells { cells, max: MAX_CELLS }),
            Self { width, .. } if width <= FLAGS => Err(SizeError::Conflict(WIDTHS)),
            Self { cells, width } if u64::BITS - cells.leading_zeros() + width - FLAGS > MAX_BITS => {
                Err(SizeError::Conflict(WIDTHS))
            }
            shape => Ok(shape),
        }
    }
}

/// The false-positive probability of `items` keys in `cells` slots of `width` bits: exact for keys
/// that are all distinct.
///
/// No items give 0; no cells, or no remainder, give 1.
///
/// ```
/// use gardenia::theory::quotient::fpp;
/// assert!((fpp(1_000, 850, 8) - 0.85 / 32.0).abs() < 0.0004);
/// assert_eq!((fpp(1_000, 0, 8), fpp(0, 1, 8), fpp(8, 8, 3)), (0.0, 1.0, 1.0));
/// ```
#[must_use]
pub fn fpp(cells: u64, items: u64, width: u32) -> f64 {
    if items == 0 {
        return 0.0;
    }
    if cells == 0 || width <= FLAGS {
        return 1.0;
    }
    let same = libm::exp2(-f64::from(width - FLAGS)) / cells as f64;
    -libm::expm1(items as f64 * libm::log1p(-same))
}

/// The smallest filter for `items` keys at a false-positive probability of at most `fpp`.
///
/// ```
/// use gardenia::theory::quotient::{fpp, shape};
/// let s = shape(1_000_000, 0.001)?;
/// assert!(fpp(s.cells, 1_000_000, s.width) <= 0.001 && s.cells > 1_000_000);
/// assert!(shape(10, 1.0).is_err() && shape(0, 0.1).is_err() && shape(10, 1e-18).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// # Errors
///
/// If `fpp` is no probability, or below what fingerprints of [`MAX_BITS`] promise, or there are no
/// items or too many.
pub fn shape(items: u64, fpp: f64) -> Result<QuotientShape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    // One slot stays free: clusters must end.
    let least = (libm::ceil(items as f64 / LOAD) as u64).max(items.saturating_add(1));
    if least > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells: least, max: MAX_CELLS });
    }
    let fitting = (FLAGS + 1..=FLAGS + MAX_BITS).filter_map(|width| {
        // The equation of `fpp`, solved for the cells.
        let same = -libm::expm1(libm::log1p(-fpp) / items as f64);
        let cells = libm::ceil(libm::exp2(-f64::from(width - FLAGS)) / same);
        let cells = if cells <= 2.0 * least as f64 { (cells as u64).max(least) } else { return None };
        let shape = QuotientShape { cells, width }.check().ok()?;
        (self::fpp(cells, items, width) <= fpp).then_some(shape)
    });
    fitting.min_by_key(|shape| u128::from(shape.cells) * u128::from(shape.width)).ok_or_else(|| {
        let floor = items as f64 * libm::exp2(-f64::from(MAX_BITS - 1));
        SizeError::FppBelowFloor { fpp, floor, items }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::SplitMix;
    use super::*;

    #[test]
    fn shapes_keep_the_rate_and_are_the_smallest() {
        for items in [1u64, 2, 5, 100, 12_345, 10_000_000] {
            for fpp in [0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-8] {
                let found = shape(items, fpp).unwrap();
                assert!(self::fpp(found.cells, items, found.width) <= fpp, "{items} at {fpp}");
                assert!(found.cells > items && found.cells as f64 * LOAD >= items as f64 - 1.0);
                // One bit less is too few in as many slots.
                assert!(self::fpp(found.cells, items, found.width - 1) > fpp || found.width == FLAGS + 1);
            }
        }
    }

    #[test]
    fn the_rate_is_that_of_fingerprints_that_coincide() {
        let (cells, items, width) = (100u64, 80u64, 7);
        let mut random = SplitMix(5);
        let all = cells << (width - FLAGS);
        let (mut hits, trials) = (0u64, 400_000u64);
        for _ in 0..trials / 100 {
            let set: alloc::vec::Vec<u64> = (0..items).map(|_| random.next() % all).collect();
            hits += (0..100).filter(|_| set.contains(&(random.next() % all))).count() as u64;
        }
        let (found, expected) = (hits as f64 / trials as f64, fpp(cells, items, width));
        // Queries of one set share its keys: the standard error is a little above that of independent ones.
        let error = 1.3 * libm::sqrt(expected / trials as f64);
        assert!((found - expected).abs() < 5.0 * error, "{found} {expected}");
    }
}
