//! What can be told from a part: a rate from some queries, the number of keys from some cells.
//!
//! Sources: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927),
//! for the interval. The number of keys is that of
//! [`bloom::estimate_items`](super::bloom::estimate_items), with the variance of the zeros among a
//! part of the cells; for all cells the two agree.

use super::bloom::{Estimate, spread};

/// A rate that was measured, and the interval that holds the true one in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// Hits by trials.
    pub rate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Wilson's score interval of 95 %: right also where nothing, or everything, was found. NaN without
/// trials.
///
/// ```
/// let told = gardenia::theory::sample::rate(10, 1_000);
/// assert!((told.low - 0.00544).abs() < 1e-5 && (told.high - 0.01831).abs() < 1e-5);
/// assert_eq!(gardenia::theory::sample::rate(0, 50).low, 0.0);
/// ```
#[must_use]
pub fn rate(hits: u64, trials: u64) -> Measured {
    let (n, z) = (trials as f64, 1.959_963_985);
    let rate = hits as f64 / n;
    let middle = (rate + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * libm::sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n));
    let (low, high) = ((middle - half).max(0.0), (middle + half).min(1.0));
    Measured { rate, low: if hits == 0 { 0.0 } else { low }, high: if hits == trials { 1.0 } else { high } }
}

/// How many distinct keys a Bloom filter of `cells` cells with `hashes` bits per key holds, told
/// from `ones` of `sampled` cells.
///
/// With t = k·n/m the zeros among s cells have the variance s·e⁻ᵗ(1 − e⁻ᵗ) − s²·t·e⁻²ᵗ/m, hence
///
/// ```text
/// Var(n) = m²/(k²·s) · (eᵗ − 1 − t·s/m)
/// ```
///
/// ```
/// use gardenia::theory::{bloom, sample};
/// let (all, some) = (bloom::estimate_items(1 << 20, 7, 1 << 19), sample::items(1 << 20, 7, 1 << 10, 1 << 9));
/// assert!((all.items - some.items).abs() < 1e-6 && some.std_error > 20.0 * all.std_error);
/// ```
#[must_use]
pub fn items(cells: u64, hashes: u32, sampled: u64, ones: u64) -> Estimate {
    estimate(cells, hashes, sampled, ones, f64::from(hashes))
}

/// The same for filters of blocks, of which whole blocks are sampled. All bits of a key are then in
/// the sample, or none is, which makes the part of the variance that comes from sampling k times as
/// large: n·(m/s − 1), that of the keys of the blocks.
#[must_use]
pub fn items_of_blocks(cells: u64, hashes: u32, sampled: u64, ones: u64) -> Estimate {
    estimate(cells, hashes, sampled, ones, 1.0)
}

fn estimate(cells: u64, hashes: u32, sampled: u64, ones: u64, apart: f64) -> Estimate {
    if ones >= sampled || hashes == 0 || sampled > cells {
        return Estimate { items: f64::INFINITY, std_error: f64::INFINITY };
    }
    let (m, s, k) = (cells as f64, sampled as f64, f64::from(hashes));
    let t = -libm::log((sampled - ones) as f64 / s);
    let items = m / k * t;
    let variance = m / s * m * spread(t) / (k * k) + items * (m / s - 1.0) / apart;
    Estimate { items, std_error: libm::sqrt(variance) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::bloom;
    use crate::theory::testing::{SplitMix, mean_and_error};
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn intervals_are_wilsons() {
        // scipy.stats.binomtest(part, whole).proportion_ci(method="wilson")
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let told = rate(5, 100);
        assert!(close(told.low, 0.021543) && close(told.high, 0.111750), "{told:?}");
        assert_eq!((rate(0, 10).low, rate(10, 10).high), (0.0, 1.0));
        assert!(rate(0, 0).rate.is_nan());
    }

    #[test]
    fn all_cells_are_a_sample() {
        let (all, some) = (bloom::estimate_items(5_000, 4, 1_900), items(5_000, 4, 5_000, 1_900));
        assert!((all.items - some.items).abs() < 1e-9 && (all.std_error - some.std_error).abs() < 1e-9);
        assert_eq!(items(100, 3, 10, 10).items, f64::INFINITY);
    }

    /// Estimates of many filters, from their first cells; `blocks` of 200 bits, or one.
    fn simulated(sampled: usize, blocks: usize) -> (Vec<f64>, Vec<f64>) {
        let mut random = SplitMix(29);
        let (cells, keys, hashes) = (8_000usize, 1_500, 4);
        let one = |_| {
            let mut bits = vec![0u64; cells];
            for _ in 0..keys {
                let (block, size) = (random.below(blocks), cells / blocks);
                (0..hashes).for_each(|_| bits[block * size + random.below(size)] = 1);
            }
            let law = if blocks == 1 { items } else { items_of_blocks };
            let told = law(cells as u64, hashes, sampled as u64, bits[..sampled].iter().sum());
            (told.items, told.std_error)
        };
        (0..600).map(one).unzip()
    }

    #[test]
    fn estimates_from_some_cells_err_as_they_say() {
        for (sampled, blocks) in [(500, 1), (2_000, 1), (8_000, 1), (400, 40), (4_000, 40)] {
            let (told, errors) = simulated(sampled, blocks);
            let (mean, error) = mean_and_error(&told);
            // A logarithm of a mean is not the mean of logarithms: a little is systematic.
            let bias = errors[0] * errors[0] / 1_500.0 * 2.0;
            assert!((mean - 1_500.0).abs() < 5.0 * error + bias, "{sampled} of {blocks}: {mean} ± {error}");
            // The standard deviation of 600 estimates is known to 3 % of itself: five of those.
            let (spread, said) = (error * 600f64.sqrt(), errors.iter().sum::<f64>() / 600.0);
            assert!((spread / said - 1.0).abs() < 0.15, "{sampled} of {blocks}: {spread} {said}");
        }
    }
}
