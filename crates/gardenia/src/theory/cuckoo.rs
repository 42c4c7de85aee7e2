//! The cuckoo filter: size, load and false-positive rate.
//!
//! A key has one fingerprint of w bits, never 0, in one of two of m buckets of b = 4 places. A
//! query is a false positive if one of n keys has its fingerprint and its pair of buckets, which
//! each has with probability 2/(m·(2^w − 1)). So the rate is probability 1 − (1 − 2/(m·(2^w −
//! 1)))^n, wherever the keys lie: about 2b·α/2^w at a load α = n/(b·m).
//!
//! Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom"
//! (2014), section 5.1. Their bound 1 − (1 − 1/2^w)^(2b) takes all places for full, and each for a
//! fingerprint of its own.

use crate::SizeError;
use crate::cells::{SLOTS, WIDTHS};
use crate::index::MAX_CELLS;

/// The share of places that large filters are planned to fill. With two buckets of four places the
/// last free one is lost from a load of 0.98 on.
pub const LOAD: f64 = 0.95;

/// Buckets of four fingerprints, and the bits of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooShape {
    /// Number of buckets, m: an even number.
    pub buckets: u64,
    /// Bits of a fingerprint, w.
    pub width: u32,
}

impl CuckooShape {
    /// Places for fingerprints, 4m.
    ///
    /// ```
    /// assert_eq!(gardenia::theory::cuckoo::CuckooShape { buckets: 10, width: 8 }.cells(), 40);
    /// ```
    #[must_use]
    pub const fn cells(self) -> u64 {
        self.buckets * SLOTS
    }
}

/// The false-positive probability once `items` of `cells` places are taken, with fingerprints of
/// `width` bits.
///
/// 1 − (1 − 8/(cells·(2^w − 1)))^items, exactly. No items give 0; no cells, or no width, give 1.
///
/// ```
/// use gardenia::theory::cuckoo::fpp;
/// assert!((fpp(1_000, 950, 8) - 7.6 / 255.0).abs() < 0.0005);
/// assert_eq!((fpp(1_000, 0, 8), fpp(0, 1, 8), fpp(8, 8, 0)), (0.0, 1.0, 1.0));
/// ```
#[must_use]
pub fn fpp(cells: u64, items: u64, width: u32) -> f64 {
    if items == 0 {
        return 0.0;
    }
    if cells == 0 || width == 0 {
        return 1.0;
    }
    let same = 2.0 * SLOTS as f64 / (cells as f64 * (libm::exp2(f64::from(width)) - 1.0));
    if same >= 1.0 { 1.0 } else { -libm::expm1(items as f64 * libm::log1p(-same)) }
}

/// Buckets that take `items` keys, except with a probability below one in a million.
///
/// m = items/(4·0.95), and √m + 4 more for chance: how full a filter can be varies as 1/√m, and in
/// the smallest ones nine keys may have the same two buckets (C(n, 9)·(m/2)^−16 is 10⁻⁷ at most).
/// Seen in 10⁶ filters of each size, and fewer of large ones, by `examples/cuckoo.rs`. Always even,
/// at least 2; two buckets take any eight keys.
///
/// ```
/// use gardenia::theory::cuckoo::buckets;
/// assert_eq!((buckets(8), buckets(9)), (2, 8));
/// assert!((buckets(10_000_000) as f64 * 4.0 * 0.95 / 1e7 - 1.0).abs() < 0.01);
/// ```
#[must_use]
pub fn buckets(items: u64) -> u64 {
    if items <= 2 * SLOTS {
        return 2;
    }
    let needed = items as f64 / (SLOTS as f64 * LOAD);
    let spare = libm::sqrt(needed) + 4.0;
    (libm::ceil(needed + spare) as u64).next_multiple_of(2)
}

/// Keys to make room for, by [`shape`] or [`buckets`], if there are `total` insertions, of one key
/// at most `most`; `None` if no size can be relied on.
///
/// All copies of a key are in its two buckets, so that places elsewhere stay free. Filters of 10⁵
/// keys were full at a load of 0.85 if each key had two copies, at 0.59 with three, at 0.28 to 0.3
/// with four, and almost empty with five (`examples/cuckoo.rs loads`): planned are 0.82 and 0.52,
/// and no more than three copies.
///
/// ```
/// use gardenia::theory::cuckoo::room;
/// assert_eq!((room(1_000, 1), room(2_000, 2), room(2_000, 9)), (Some(1_000), Some(2_318), None));
/// ```
#[must_use]
pub fn room(total: u64, most: u64) -> Option<u64> {
    let load = match most {
        0 | 1 => LOAD,
        2 => 0.82,
        3 => 0.52,
        _ => return None,
    };
    Some(libm::ceil(total as f64 * (LOAD / load)) as u64)
}

/// The smallest filter that takes `items` keys at a false-positive probability of at most `fpp`.
///
/// Usually the narrowest fingerprints that keep the rate at full load; if one bit less keeps it at
/// a load that is little lower, those. A filter that would be more than half empty is refused.
///
/// ```
/// use gardenia::theory::cuckoo::{fpp, shape};
/// let s = shape(1_000_000, 0.001)?;
/// assert_eq!(s.width, 13);
/// assert!(fpp(s.cells(), 1_000_000, s.width) <= 0.001);
/// assert!(shape(10, 1.0).is_err() && shape(0, 0.1).is_err() && shape(10, 1e-10).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// # Errors
///
/// If `fpp` is no probability, or below what 32 bits can promise, or there are no items or too
/// many.
pub fn shape(items: u64, fpp: f64) -> Result<CuckooShape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    let least = self::buckets(items);
    if least > MAX_CELLS / SLOTS {
        return Err(SizeError::TooManyCells { cells: least.saturating_mul(SLOTS), max: MAX_CELLS });
    }
    let fitting = WIDTHS.filter_map(|width| {
        // The equation of `fpp`, solved for the cells.
        let same = -libm::expm1(libm::log1p(-fpp) / items as f64);
        let cells = libm::ceil(2.0 * SLOTS as f64 / (same * (libm::exp2(f64::from(width)) - 1.0)));
        let cells = if cells <= MAX_CELLS as f64 { cells as u64 } else { return None };
        let shape = CuckooShape { buckets: cells.div_ceil(SLOTS).next_multiple_of(2).max(least), width };
        let roomy = shape.buckets > 2 * least || shape.cells() > MAX_CELLS;
        (!roomy && self::fpp(shape.cells(), items, width) <= fpp).then_some(shape)
    });
    let bits = |shape: &CuckooShape| shape.buckets.saturating_mul(shape.width.into());
    fitting.min_by_key(bits).ok_or_else(|| {
        let floor = self::fpp(2 * least * SLOTS, items, *WIDTHS.end());
        SizeError::FppBelowFloor { fpp, floor, items }
    })
}
