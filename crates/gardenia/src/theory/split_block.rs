//! Split-block filters: half a cache line per key, one bit in each of eight 32-bit words.
//!
//! A key goes to one of B blocks of 256 bits and sets one of 32 bits in each of its eight words.
//! The loads of blocks are binomial, and the rate is the mixture over them. By inclusion and
//! exclusion over the words whose bit is missed: of a given h words a key of the same block misses
//! all with probability (31/32)ʰ, so n keys do with (1 − (1 − (31/32)ʰ)/B)ⁿ.
//!
//! The eight bits follow from the lower 32 bits of the digest alone, by odd multipliers. So two
//! keys of one block have the same bits with probability 2⁻³², and not 2⁻⁴⁰ as independent bits
//! would have; two different lower halves never have (all 2³² differences were tried). That is
//! added.
//!
//! Source: Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007) for
//! the mixture; the layout is that of Apache Impala and Parquet.

use super::bloom::{self, Estimate, Shape};
use crate::SizeError;
use crate::index::MAX_CELLS;

/// Bits of a block.
pub const BLOCK_BITS: u64 = 256;

/// Bits that a key sets: one in each word of its block.
pub const HASHES: u32 = 8;

/// The most blocks: their index is computed from 32 bits.
pub const MAX_BLOCKS: u64 = MAX_CELLS / BLOCK_BITS;

/// The false-positive probability of a split-block filter of `blocks` blocks after `items` keys.
/// Exact for random digests, but that keys with one lower half are counted as if they met apart
/// from all others; 1 without blocks, 0 without items.
///
/// Inclusion and exclusion cancels: the result is good to about 10⁻¹³ absolutely.
///
/// ```
/// use gardenia::theory::split_block::fpp;
/// // 10.5 bits per key: 1 %, where the classical formula says 0.65 %
/// assert!((fpp(41_016, 1_000_000) - 0.0101).abs() < 1e-4);
/// ```
#[must_use]
pub fn fpp(blocks: u64, items: u64) -> f64 {
    /// C(8, h), with signs.
    const WEIGHTS: [f64; 9] = [1.0, -8.0, 28.0, -56.0, 70.0, -56.0, 28.0, -8.0, 1.0];
    if blocks == 0 {
        return 1.0;
    }
    let all_miss = |chance: f64| libm::expm1(items as f64 * libm::log1p(-chance / blocks as f64));
    // The weights sum to 0, so that 1 may be taken from every term: what cancels is then smaller.
    let term =
        |(missed, weight): (usize, f64)| weight * all_miss(1.0 - libm::pow(31.0 / 32.0, missed as f64));
    let covered = WEIGHTS.into_iter().enumerate().map(term).sum::<f64>().clamp(0.0, 1.0);
    let same = -all_miss(libm::exp2(-32.0));
    (covered + same * (1.0 - covered)).clamp(0.0, 1.0)
}

/// The smallest split-block filter for `items` keys at `fpp`: its cells are a multiple of
/// [`BLOCK_BITS`], its hashes [`HASHES`].
///
/// # Errors
///
/// As [`size`](bloom::size).
///
/// ```
/// let shape = gardenia::theory::split_block::shape(1_000_000, 0.01)?;
/// assert!(shape.cells as f64 / 1e6 < 10.6); // a blocked filter needs 9.9, a classical one 9.6
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, fpp: f64) -> Result<Shape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    let floor = items as f64 / 18_446_744_073_709_551_616.0;
    if fpp <= floor {
        return Err(SizeError::FppBelowFloor { fpp, floor, items });
    }
    let blocks = super::first(|blocks| self::fpp(blocks, items) <= fpp);
    if blocks > MAX_BLOCKS {
        return Err(SizeError::TooManyCells { cells: blocks.saturating_mul(BLOCK_BITS), max: MAX_CELLS });
    }
    Ok(Shape { cells: blocks * BLOCK_BITS, hashes: HASHES })
}

/// How many distinct keys leave `ones` bits set: as [`bloom::estimate_items`], and as exact.
///
/// ```
/// let told = gardenia::theory::split_block::estimate_items(100, 9_000);
/// assert!((told.items - 1386.2).abs() < 0.1);
/// ```
#[must_use]
pub fn estimate_items(blocks: u64, ones: u64) -> Estimate {
    bloom::estimate_items(blocks.saturating_mul(BLOCK_BITS), HASHES, ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mixture over binomial loads, written out.
    fn mixture(blocks: u64, items: u64) -> f64 {
        let (n, p) = (items as f64, 1.0 / blocks as f64);
        let of_load = |load: u64| {
            let j = load as f64;
            let choose = libm::lgamma(n + 1.0) - libm::lgamma(j + 1.0) - libm::lgamma(n - j + 1.0);
            let weight = libm::exp(choose + j * libm::log(p) + (n - j) * libm::log1p(-p));
            weight * libm::pow(1.0 - libm::pow(31.0 / 32.0, j), 8.0)
        };
        (0..=items.min(400)).map(of_load).sum()
    }

    #[test]
    fn the_closed_form_is_the_mixture_over_block_loads() {
        for (blocks, items) in [(2, 20), (7, 200), (100, 1_000), (1_000, 24_000), (1_000, 100_000)] {
            let (closed, sum) = (fpp(blocks, items), mixture(blocks, items));
            // Keys with the lower half of the query's digest, where the others do not cover it.
            let same = items as f64 / blocks as f64 * libm::exp2(-32.0) * (1.0 - sum);
            assert!((closed - sum - same).abs() < 1e-9 * sum + 1e-12, "{blocks} {items}: {closed} {sum}");
        }
    }

    #[test]
    fn one_per_cent_takes_less_than_10_6_bits_per_key() {
        // The sizing table of the Parquet format, BloomFilter.md: 10.5 bits for 1 %, 16.9 for 0.1 %, 26.4 for 0.01 %.
        for (rate, bits) in [(0.01, 10.5), (1e-3, 16.9), (1e-4, 26.4)] {
            let found = shape(10_000_000, rate).unwrap().cells as f64 / 1e7;
            assert!((found / bits - 1.0).abs() < 0.01, "{rate}: {found}");
        }
    }

    #[test]
    fn shapes_meet_their_rate_and_one_block_fewer_does_not() {
        for (items, rate) in [(1, 0.01), (100, 0.03), (100_000, 0.01), (1_000_000, 1e-5), (5_000, 1e-8)] {
            let blocks = shape(items, rate).unwrap().cells / BLOCK_BITS;
            assert!(fpp(blocks, items) <= rate, "{items} at {rate}");
            assert!(fpp(blocks - 1, items) > rate, "{items} at {rate}: {blocks} blocks");
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        assert!(matches!(shape(0, 0.01), Err(SizeError::ZeroItems)));
        assert!(matches!(shape(10, 1.0), Err(SizeError::Fpp(_))));
        assert!(matches!(shape(1 << 45, 0.01), Err(SizeError::TooManyCells { .. })));
        assert!(matches!(shape(1 << 20, 1e-14), Err(SizeError::FppBelowFloor { .. })));
        assert_eq!((fpp(0, 1), fpp(1, 0), fpp(1, u64::MAX)), (1.0, 0.0, 1.0));
    }
}
