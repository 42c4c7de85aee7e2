//! How many keys two filters have in common, told from their ones and those of their union.
//!
//! With a, b and u the numbers of keys estimated from the ones of A, of B and of A|B (see
//! [`estimate_items`](super::bloom::estimate_items)), the common keys are a + b − u and the Jaccard
//! index is that by u. The errors of the three estimates depend on each other: keys in both sets
//! cause the same ones. For any sets X and Y of keys in arrays with the same hash functions the
//! covariance of two estimates is the variance V of an estimate of the *common* keys,
//!
//! ```text
//! Cov(x, y) = V(|X ∩ Y|),   V(n) = m·(e^t − t − 1)/k² with t = k·n/m
//! ```
//!
//! because a cell that only one of the sets can hit tells nothing of the other. So the variance of
//! a + b − u is V(u) + 2V(common) − V(a) − V(b), that of u − b, the keys in A alone, is V(u) −
//! V(b), and that of the index follows in the same way.
//!
//! Sources: Swamidass and Baldi, "Mathematical Correction for Fingerprint Similarity Measures to
//! Improve Chemical Retrieval" (2007), for the estimates; the errors are derived here, by the delta
//! method, and checked by simulation.

use super::bloom::{Estimate, spread};

/// What two filters have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overlap {
    /// Keys in both. By chance it can be a little below 0, or above the keys of either.
    pub common: Estimate,
    /// Keys in the first filter alone; likewise.
    pub only_a: Estimate,
    /// Keys in the second filter alone; likewise.
    pub only_b: Estimate,
    /// Keys in both as a share of those in any of the two (Jaccard), from 0 to 1 up to chance; NaN
    /// if there are none.
    pub jaccard: f64,
    /// Standard deviation of `jaccard`.
    pub jaccard_std_error: f64,
}

/// What two filters have in common, from the estimated keys of each and of their union. All three
/// come from arrays of one shape; their own standard errors tell that of the result. A full filter,
/// whose keys cannot be estimated, makes everything NaN or infinite.
///
/// ```
/// use gardenia::{Bloom, theory::overlap::overlap};
/// let (mut a, mut b) = (Bloom::new(3_000, 0.01)?, Bloom::new(3_000, 0.01)?);
/// a.extend(0..2_000u32);
/// b.extend(1_500..3_000u32);
/// let (of_a, of_b) = (a.estimated_items(), b.estimated_items());
/// a.union_with(&b).unwrap();
/// let both = overlap(a.bits(), a.hashes(), of_a, of_b, a.estimated_items());
/// assert!((both.common.items - 500.0).abs() < 5.0 * both.common.std_error);
/// assert!((both.jaccard - 1.0 / 6.0).abs() < 5.0 * both.jaccard_std_error);
/// assert!(both.common.std_error < 20.0);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[must_use]
pub fn overlap(cells: u64, hashes: u32, a: Estimate, b: Estimate, union: Estimate) -> Overlap {
    let common = a.items + b.items - union.items;
    let variance = |estimate: Estimate| estimate.std_error * estimate.std_error;
    let (of_a, of_b, of_union) = (variance(a), variance(b), variance(union));
    let of_common = variance_of(cells, hashes, common.max(0.0));
    // Differences of large numbers: for equal sets rounding can leave a little less than nothing.
    let root = |variance: f64| libm::sqrt(variance.max(0.0));
    let std_error = root(of_union + 2.0 * of_common - of_a - of_b);
    // The index is (a + b)/u − 1.
    let ratio = (a.items + b.items) / union.items;
    let of_ratio = of_a + of_b + 2.0 * of_common + ratio * ratio * of_union - 2.0 * ratio * (of_a + of_b);
    Overlap {
        common: Estimate { items: common, std_error },
        only_a: Estimate { items: union.items - b.items, std_error: root(of_union - of_b) },
        only_b: Estimate { items: union.items - a.items, std_error: root(of_union - of_a) },
        jaccard: common / union.items,
        jaccard_std_error: root(of_ratio) / union.items,
    }
}

/// V(n): the variance of the number of keys told from an array that holds n.
fn variance_of(cells: u64, hashes: u32, items: f64) -> f64 {
    let (m, k) = (cells as f64, f64::from(hashes));
    m * spread(k * items / m) / (k * k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::bloom;
    use crate::theory::testing::{SplitMix, mean_and_error};
    use alloc::vec;
    use alloc::vec::Vec;

    /// One of the estimates with its error.
    type Way = fn(&Overlap) -> (f64, f64);

    /// Many pairs of filters with these numbers of keys in A alone, in B alone and in both:
    /// estimates of common keys and index, and the errors that go with them.
    fn simulate(cells: usize, hashes: u32, keys: [usize; 3]) -> Vec<Overlap> {
        let mut random = SplitMix(cells as u64 + keys[2] as u64);
        let told = |bits: &[u8], of: u8| {
            let ones = bits.iter().filter(|&&bit| bit & of != 0).count();
            bloom::estimate_items(cells as u64, hashes, ones as u64)
        };
        let pair = |_| {
            let mut bits = vec![0u8; cells];
            for (keys, sets) in keys.into_iter().zip([1, 2, 3]) {
                (0..keys * hashes as usize).for_each(|_| bits[random.below(cells)] |= sets);
            }
            overlap(cells as u64, hashes, told(&bits, 1), told(&bits, 2), told(&bits, 3))
        };
        (0..1000).map(pair).collect()
    }

    #[test]
    fn estimates_and_their_errors_are_those_of_simulated_pairs() {
        for (cells, hashes, keys) in [
            (4_000, 3, [300, 500, 200]),
            (4_000, 3, [0, 0, 800]),
            (4_000, 3, [400, 400, 0]),
            (10_000, 7, [900, 50, 50]),
            (20_000, 1, [3_000, 9_000, 6_000]),
            (10_000, 5, [10, 1_500, 500]),
        ] {
            let pairs = simulate(cells, hashes, keys);
            let (common, union) = (keys[2] as f64, keys.iter().sum::<usize>() as f64);
            let ways: [(&str, f64, Way); 4] = [
                ("common", common, |pair| (pair.common.items, pair.common.std_error)),
                ("only a", keys[0] as f64, |pair| (pair.only_a.items, pair.only_a.std_error)),
                ("only b", keys[1] as f64, |pair| (pair.only_b.items, pair.only_b.std_error)),
                ("jaccard", common / union, |pair| (pair.jaccard, pair.jaccard_std_error)),
            ];
            for (what, truth, way) in ways {
                let (values, errors): (Vec<f64>, Vec<f64>) = pairs.iter().map(way).unzip();
                let (mean, error) = mean_and_error(&values);
                // Logarithms make the estimate of a few thousand cells larger by less than half an item.
                let bias = truth.max(1.0) * 1e-3;
                assert!((mean - truth).abs() < 5.0 * error + bias, "{what} of {keys:?}: {mean} ± {error}");
                // The spread of the values is the error that each of them tells: a standard deviation of 1000
                // values errs by 1/√2000 of itself.
                let spread = error * libm::sqrt(values.len() as f64);
                let told = mean_and_error(&errors).0;
                let off = (spread - told).abs();
                assert!(
                    off <= 5.0 * told / libm::sqrt(2_000.0) + 1e-6,
                    "{what} of {keys:?}: {spread}, told {told}"
                );
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_told() {
        let empty = bloom::estimate_items(100, 3, 0);
        let nothing = overlap(100, 3, empty, empty, empty);
        assert!(nothing.common.items == 0.0 && nothing.jaccard.is_nan());
        let some = bloom::estimate_items(100, 3, 20);
        let same = overlap(100, 3, some, some, some);
        assert!((same.jaccard - 1.0).abs() < 1e-12 && same.jaccard_std_error < 1e-6);
        assert!((same.common.std_error - some.std_error).abs() < 0.2);
        let full = bloom::estimate_items(100, 3, 100);
        assert!(!overlap(100, 3, full, some, full).jaccard.is_finite());
    }
}
