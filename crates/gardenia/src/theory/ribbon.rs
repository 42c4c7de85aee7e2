//! Fingerprints of a fixed set: what a rate costs.
//!
//! A filter that stores r bits of fingerprint for each key reports one absent key in 2^r as
//! present, and no filter does better in r bits per key. A rate ε between two powers of a half is
//! met by r bits for a share q of all keys, and r - 1 for the others:
//! `ε = q·2^-r + (1 - q)·2^-(r-1)`, so that q = 2 - ε·2^r. That takes r - 1 + q bits, at most
//! 0.0861 more than log₂(1/ε), the least that any filter needs.
//!
//! Sources: Carter, Floyd, Gill, Markowsky and Wegman, "Exact and approximate membership testers"
//! (1978), for the limit; Dillinger, Hübschle-Schneider, Sanders and Walzer (2022) for what a
//! ribbon filter takes beside it.

use crate::SizeError;

/// The widest fingerprint.
pub const MAX_FINGERPRINT: u32 = 32;

/// Bits of fingerprint per key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bits {
    /// Bits that some keys have, 1 to 32.
    pub width: u32,
    /// The share of keys that have all of them; the others have one fewer.
    pub share: f64,
}

impl Bits {
    /// The false-positive probability: `q·2^-r + (1 - q)·2^-(r-1)`.
    ///
    /// ```
    /// use gardenia::theory::ribbon::Bits;
    /// assert_eq!(Bits { width: 8, share: 1.0 }.fpp(), 1.0 / 256.0);
    /// assert_eq!(Bits { width: 8, share: 0.0 }.fpp(), 1.0 / 128.0);
    /// assert_eq!(Bits { width: 1, share: 0.5 }.fpp(), 0.75);
    /// ```
    #[must_use]
    pub fn fpp(self) -> f64 {
        libm::ldexp(2.0 - self.share, -(self.width.min(1 << 10) as i32))
    }

    /// Bits of fingerprint per key, on average: r - 1 + q.
    ///
    /// ```
    /// use gardenia::theory::ribbon::{Bits, limit};
    /// let bits = Bits { width: 7, share: 0.72 }; // 1 %
    /// assert!(bits.mean() - limit(bits.fpp()) < 0.0861);
    /// ```
    #[must_use]
    pub fn mean(self) -> f64 {
        f64::from(self.width) - 1.0 + self.share
    }
}

/// The fewest bits per key that meet a rate with whole bits: those of [`Bits`].
///
/// # Errors
///
/// [`SizeError::Fpp`] unless `fpp` is between 0 and 1 (exclusive), [`SizeError::Width`] if 32 bits
/// are too few.
///
/// ```
/// use gardenia::theory::ribbon::{Bits, bits};
/// assert_eq!(bits(1.0 / 1024.0), Ok(Bits { width: 10, share: 1.0 }));
/// let percent = bits(0.01)?;
/// assert_eq!((percent.width, percent.fpp()), (7, 0.01));
/// assert!(bits(1e-12).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn bits(fpp: f64) -> Result<Bits, SizeError> {
    if !(fpp > 0.0 && fpp < 1.0) {
        return Err(SizeError::Fpp(fpp));
    }
    // 2^-r <= fpp < 2^-(r-1), by exact powers of two.
    match (1..=MAX_FINGERPRINT).find(|width| libm::ldexp(fpp, *width as i32) >= 1.0) {
        Some(width) => Ok(Bits { width, share: 2.0 - libm::ldexp(fpp, width as i32) }),
        None => Err(SizeError::Width { width: MAX_FINGERPRINT + 1 }),
    }
}

/// The least bits per key that any filter of a fixed set needs: log₂(1/ε).
///
/// ```
/// assert_eq!(gardenia::theory::ribbon::limit(1.0 / 256.0), 8.0);
/// ```
#[must_use]
pub fn limit(fpp: f64) -> f64 {
    -libm::log2(fpp)
}

/// Bits per key that a ribbon filter of many keys takes, thresholds and empty slots included: r =
/// `bits.width` above 3 has rows of 64 coefficients, and up to 3 of 128.
///
/// What stays empty has no closed form: 0.29 % and 0.14 % of the slots in simulations of layers as
/// they are sized here. From 10⁵ keys on the last layer and the borders of segments add less than
/// 0.3 %.
///
/// ```
/// use gardenia::Ribbon;
/// use gardenia::theory::ribbon::{Bits, bits_per_key};
/// let set = Ribbon::builder().fingerprint(8).build_from(&(0..300_000).collect::<Vec<u32>>())?;
/// let (found, expected) = (set.memory_bytes() as f64 * 8.0 / 3e5, bits_per_key(Bits { width: 8, share: 1.0 }));
/// assert!((found / expected - 1.0).abs() < 0.003);
/// # Ok::<(), gardenia::BuildError>(())
/// ```
#[must_use]
pub fn bits_per_key(bits: Bits) -> f64 {
    let (empty, bucket) = if bits.width > 3 { (0.0029, 128.0) } else { (0.0014, 512.0) };
    (bits.mean() + 2.0 / bucket) / (1.0 - empty)
}

/// Bytes of a filter of `items` keys, at most: beyond what many keys take, the last layer, the
/// borders of segments, whole blocks, and an attempt or two more.
///
/// ```
/// use gardenia::theory::ribbon::{bits, most_bytes};
/// let keys: Vec<u32> = (0..10_000).collect();
/// let filter = gardenia::Ribbon::new(&keys, 0.01)?;
/// assert!(filter.memory_bytes() as u64 <= most_bytes(10_000, bits(0.01)?));
/// # Ok::<(), gardenia::BuildError>(())
/// ```
#[must_use]
pub fn most_bytes(items: u64, bits: Bits) -> u64 {
    let n = items as f64;
    let slots = if items <= 2048 { 1.18 * n + 320.0 } else { 1.006 * n + 760.0 };
    libm::ceil(slots * bits_per_key(bits) / 64.0) as u64 * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_is_met_in_hardly_more_bits_than_any_filter_needs() {
        for i in 1..3200 {
            let fpp = libm::exp2(-f64::from(i) / 100.0);
            let bits = bits(fpp).unwrap();
            assert!((bits.fpp() / fpp - 1.0).abs() < 1e-12 && bits.fpp() <= fpp * (1.0 + 1e-15), "{fpp}");
            assert!(bits.share > 0.0 && bits.share <= 1.0);
            let excess = bits.mean() - limit(fpp);
            assert!((-1e-12..0.08608).contains(&excess), "{fpp}: {excess}");
        }
        assert_eq!(bits(0.5), Ok(Bits { width: 1, share: 1.0 }));
        assert_eq!(bits(libm::exp2(-32.0)), Ok(Bits { width: 32, share: 1.0 }));
        assert_eq!(bits(libm::exp2(-32.1)), Err(SizeError::Width { width: 33 }));
        for fpp in [0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(bits(fpp), Err(SizeError::Fpp(_))));
        }
    }
}
