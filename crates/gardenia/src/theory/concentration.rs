//! The rate of one filter around the probability of its kind: how near, how surely.
//!
//! The false-positive *probability* is a mean over all filters of a shape. One built filter has a
//! *rate* of its own, fixed by the bits that happened to be set. [`rate_at_most`] states the rate
//! that a filter stays below with probability q. It follows from the number of ones, which is
//! distributed as a sum of independent zeros and ones (Vatutin and Mikhailov), so that Bennett's
//! inequality holds with the exact variance. (Kirsch and Mitzenmacher's Theorems 6.1 to 7.2, which
//! say less of low rates, are in the lab.)
//!
//! Sources: Vatutin and Mikhailov, "Limit theorems for the number of empty cells in an equiprobable
//! scheme for group allocation of particles" (1982). Bennett, "Probability inequalities for the sum
//! of independent random variables" (1962).

use super::choices::Ones;
use super::{blocked, split_block};

/// Mean and standard deviation of the number of ones after `items` keys with `hashes` independent
/// positions.
///
/// Exact: `E = m(1 - a)` and `Var = m·a - m·b + m²(b - a²)` with `a = (1 - 1/m)^(kn)` and
/// `b = (1 - 2/m)^(kn)`, written without cancellation. Positions that are derived from few hash
/// values have the same mean up to O(1), and the same variance up to O(1/m) of it while no two of
/// three agree. No cells give zeros.
///
/// ```
/// use gardenia::theory::concentration::ones;
/// let told = ones(80_000, 10_000, 6);
/// assert!((told.mean / 80_000.0 - 0.52764).abs() < 1e-5 && (told.std_dev - 80.94).abs() < 0.01);
/// assert_eq!(ones(10, 1, 1).std_dev, 0.0); // one key, one position
/// ```
#[must_use]
pub fn ones(cells: u64, items: u64, hashes: u32) -> Ones {
    let (m, throws) = (cells as f64, f64::from(hashes) * items as f64);
    if cells == 0 || throws == 0.0 {
        return Ones { mean: 0.0, std_dev: 0.0 };
    }
    if cells == 1 {
        return Ones { mean: 1.0, std_dev: 0.0 };
    }
    let ln_clear = throws * libm::log1p(-1.0 / m);
    let mean = -m * libm::expm1(ln_clear);
    let a = libm::exp(ln_clear);
    // b/a = (1 - 1/(m-1))^(kn), b/a² = (1 - 1/(m-1)²)^(kn)
    let (single, square) = (-1.0 / (m - 1.0), -1.0 / ((m - 1.0) * (m - 1.0)));
    let (to_a, to_square) = if cells == 2 {
        (-1.0, -1.0) // two cells: both cannot stay clear
    } else {
        (libm::expm1(throws * libm::log1p(single)), libm::expm1(throws * libm::log1p(square)))
    };
    let variance = -m * a * to_a + m * m * a * a * to_square;
    Ones { mean, std_dev: libm::sqrt(variance.max(0.0)) }
}

/// The number of ones that a filter exceeds with probability `1 - confidence` at most.
///
/// Bennett's inequality with the exact variance: `Pr(X ≥ E + t) ≤ exp(-σ²·h(t/σ²))`,
/// `h(u) = (1+u)·ln(1+u) - u`. It is proved for independent positions. A confidence of 1, or more,
/// gives all that could be set; 0 or less the mean.
///
/// ```
/// use gardenia::theory::concentration::{ones, ones_at_most};
/// let (law, most) = (ones(80_000, 10_000, 6), ones_at_most(80_000, 10_000, 6, 0.999));
/// assert!(most > law.mean + 3.09 * law.std_dev && most < law.mean + 3.8 * law.std_dev);
/// ```
#[must_use]
pub fn ones_at_most(cells: u64, items: u64, hashes: u32, confidence: f64) -> f64 {
    let Ones { mean, std_dev } = ones(cells, items, hashes);
    let most = (cells as f64).min(f64::from(hashes) * items as f64);
    (mean + bennett(std_dev * std_dev, confidence)).min(most)
}

/// With probability `confidence` the rate of a filter of `items` keys is at most this.
///
/// `(ones/m)^k` at [`ones_at_most`] ones: a bound, and about as tight as one can be (3.7 standard
/// deviations at 99.9 %, where the normal law has 3.1). It is that of independent positions; add
/// the [`excess`](crate::index::Scheme::excess) of another scheme. No cells or no hashes give 1.
///
/// ```
/// use gardenia::theory::bloom::fpp_exact;
/// use gardenia::theory::concentration::rate_at_most;
/// let (mean, bound) = (fpp_exact(96_000, 10_000, 7), rate_at_most(96_000, 10_000, 7, 0.99));
/// assert!(bound > mean && bound < 1.04 * mean);
/// assert_eq!(rate_at_most(96_000, 0, 7, 0.99), 0.0);
/// ```
#[must_use]
pub fn rate_at_most(cells: u64, items: u64, hashes: u32, confidence: f64) -> f64 {
    if cells == 0 || hashes == 0 {
        return 1.0;
    }
    let fill = ones_at_most(cells, items, hashes, confidence) / cells as f64;
    libm::pow(fill.min(1.0), f64::from(hashes))
}

/// The same for a blocked filter of `blocks` blocks.
///
/// The rate is a mean over blocks, whose rates are negatively associated as their loads are; so
/// Bernstein's inequality holds. Its variance is that of a block's rate over Poisson loads and the
/// fills of its lanes, and its range the rate at a load that one filter in a hundred times
/// `1/(1 - confidence)` has anywhere, doubled for the fills. Of few blocks that says little, since
/// such a load is as good as never met: for a hundred keys at 1 % it is 28 %, and no filter of
/// thousands was above 1.3 %. There the quantile of a sum of that variance and skewness (Cornish
/// and Fisher) is the smaller of the two. As the loads of all blocks sum up to the keys, what a
/// block's rate has in common with its load cancels. All take lanes for independent, so that this
/// is a law checked by simulation and not a theorem. No blocks or no hashes give 1.
///
/// ```
/// use gardenia::theory::{blocked::fpp, concentration::blocked_rate_at_most};
/// let (mean, bound) = (fpp(20_000, 1_000_000, 6), blocked_rate_at_most(20_000, 1_000_000, 6, 0.999));
/// assert!(bound > mean && bound < 1.05 * mean);
/// ```
#[must_use]
pub fn blocked_rate_at_most(blocks: u64, items: u64, hashes: u32, confidence: f64) -> f64 {
    let mean = blocked::fpp(blocks, items, hashes);
    if blocks == 0 || hashes == 0 || items == 0 || mean >= 1.0 {
        return mean;
    }
    block_rate_at_most(blocks, items, mean, &BlockRate::new(hashes, 64.0), confidence)
}

/// The same for a filter of `blocks` split blocks.
///
/// ```
/// use gardenia::theory::{concentration::split_block_rate_at_most, split_block::fpp};
/// let (mean, bound) = (fpp(41_000, 1_000_000), split_block_rate_at_most(41_000, 1_000_000, 0.999));
/// assert!(bound > mean && bound < 1.05 * mean);
/// ```
#[must_use]
pub fn split_block_rate_at_most(blocks: u64, items: u64, confidence: f64) -> f64 {
    let mean = split_block::fpp(blocks, items);
    if blocks == 0 || items == 0 || mean >= 1.0 {
        return mean;
    }
    block_rate_at_most(blocks, items, mean, &BlockRate::new(split_block::HASHES, 32.0), confidence)
}

fn block_rate_at_most(blocks: u64, items: u64, mean: f64, rate: &BlockRate, confidence: f64) -> f64 {
    let (b, load) = (blocks as f64, items as f64 / blocks as f64);
    let surprise = (1.0 - confidence).clamp(f64::MIN_POSITIVE, 1.0);
    // Loads as far as any block of a hundred such surprises has them, by their Poisson weights.
    let rare = 0.01 * surprise / b;
    let (mut second, mut seen, mut moments) = (0.0, 0.0, Moments::default());
    let mut weight = libm::exp(-load);
    let mut top = 0.0;
    if weight > 0.0 {
        let mut j = 0.0;
        while j < load || (1.0 - seen > rare && weight > rare * 1e-3) {
            second += weight * rate.square(j);
            moments.add(weight, j - load, rate.mean(j), rate.square(j));
            seen += weight;
            j += 1.0;
            weight *= load / j;
        }
        top = j;
    }
    let range = if top > 0.0 { (2.0 * rate.mean(top)).min(1.0) } else { 1.0 };
    let variance = if top > 0.0 { (second - mean * mean).max(0.0) } else { mean };
    let log = -libm::log(surprise);
    let third = log * range / 3.0;
    let above = (third + libm::sqrt(third * third + 2.0 * log * variance * b)) / b;
    let above = if top > 0.0 { above.min(moments.above(load, b, confidence)) } else { above };
    (mean + above).min(1.0)
}

/// Moments of a block's rate r and its load l, less the mean load.
#[derive(Default)]
struct Moments {
    r: f64,
    rr: f64,
    rrr: f64,
    rl: f64,
    rrl: f64,
    rll: f64,
}

impl Moments {
    fn add(&mut self, weight: f64, load: f64, mean: f64, square: f64) {
        // As of a logarithmically normal variable.
        let ratio = if mean > 0.0 { square / mean } else { 0.0 };
        self.r += weight * mean;
        self.rr += weight * square;
        self.rrr += weight * ratio * ratio * ratio;
        self.rl += weight * mean * load;
        self.rrl += weight * square * load;
        self.rll += weight * mean * load * load;
    }

    /// How far the mean over `blocks` blocks is above its own mean with probability
    /// `1 - confidence`.
    fn above(&self, load: f64, blocks: f64, confidence: f64) -> f64 {
        let Self { r, rr, rrr, rl, rrl, rll } = *self;
        let slope = rl / load;
        let variance = (rr - r * r - slope * rl).max(0.0);
        let cube = rrr - 3.0 * r * rr + 2.0 * r * r * r;
        let third = cube - 3.0 * slope * (rrl - 2.0 * r * rl) + 3.0 * slope * slope * (rll - r * load)
            - slope * slope * slope * load;
        let skewness = if variance > 0.0 {
            third.max(0.0) / libm::sqrt(variance * variance * variance * blocks)
        } else {
            0.0
        };
        let z = quantile(confidence);
        libm::sqrt(variance / blocks) * (z + skewness * (z * z - 1.0).max(0.0) / 6.0)
    }
}

/// The rate of one block of eight lanes under a load, lanes taken for independent.
struct BlockRate {
    hashes: f64,
    /// Bits of a lane.
    lane: f64,
    /// Chance that a key leaves a given bit, and two given bits of one lane, clear.
    one: f64,
    two: f64,
    /// Lanes of a query with two bits.
    doubled: f64,
}

impl BlockRate {
    fn new(hashes: u32, lane: f64) -> Self {
        let lanes = 8.0;
        let k = f64::from(hashes.min(blocked::MAX_BLOCK_HASHES));
        let (first, doubled) = (k.min(lanes) / lanes, (k - lanes).max(0.0));
        let clear = |bits: f64| (1.0 - first * bits / lane) * (1.0 - doubled / lanes * bits / lane);
        Self { hashes: k, lane, one: clear(1.0), two: clear(2.0), doubled }
    }

    /// The mean fill of a lane, and of its square.
    fn fill(&self, load: f64) -> (f64, f64) {
        let (one, two) = (libm::pow(self.one, load), libm::pow(self.two, load));
        let fill = 1.0 - one;
        (fill, fill / self.lane + (1.0 - 1.0 / self.lane) * (1.0 - 2.0 * one + two))
    }

    fn mean(&self, load: f64) -> f64 {
        libm::pow(self.fill(load).0, self.hashes)
    }

    /// The mean of the square of the rate.
    fn square(&self, load: f64) -> f64 {
        let (fill, square) = self.fill(load);
        if fill == 0.0 {
            return 0.0;
        }
        // A fourth power of a lane's fill is above the square of its mean square by four of its relative variances.
        let spread = (square / (fill * fill) - 1.0).max(0.0);
        (libm::pow(square, self.hashes) * libm::pow(1.0 + 4.0 * spread, self.doubled)).min(1.0)
    }
}

/// The value that a standard normal variable stays below with this probability; infinite at 0 and
/// 1.
///
/// ```
/// use gardenia::theory::concentration::quantile;
/// assert!((quantile(0.975) - 1.959963985).abs() < 1e-9 && (quantile(0.999) - 3.090232306).abs() < 1e-9);
/// assert!(quantile(0.5).abs() < 1e-15 && (quantile(1e-9) + 5.997807015).abs() < 1e-8);
/// ```
#[must_use]
pub fn quantile(probability: f64) -> f64 {
    if probability.is_nan() {
        return f64::NAN;
    }
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    if probability > 0.5 {
        return -quantile(1.0 - probability);
    }
    // Pr(Z < x) = erfc(-x/√2)/2 falls fast below 0: bisection on its logarithm is always safe, and 60 steps are exact.
    let (mut low, mut high) = (-39.0, 0.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        let below = 0.5 * libm::erfc(-middle * core::f64::consts::FRAC_1_SQRT_2) < probability;
        (low, high) = if below { (middle, high) } else { (low, middle) };
    }
    0.5 * (low + high)
}

/// How far a sum of independent zeros and ones with this variance is above its mean with
/// probability `1 - confidence` at most, by Bennett's inequality.
pub(crate) fn bennett(variance: f64, confidence: f64) -> f64 {
    if variance <= 0.0 || confidence <= 0.0 {
        return 0.0;
    }
    if confidence >= 1.0 {
        return f64::INFINITY;
    }
    let level = -libm::log1p(-confidence) / variance;
    // h(u) = (1+u)·ln(1+u) - u grows from 0; Newton from above (h is convex, and h(u) ≥ u²/(2 + 2u/3)).
    let mut u = level / 3.0 + libm::sqrt(level * level / 9.0 + 2.0 * level);
    for _ in 0..60 {
        let log = libm::log1p(u);
        let next = u - ((1.0 + u) * log - u - level) / log;
        if !(next < u && next > 0.0) {
            break;
        }
        u = next;
    }
    variance * u
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;

    #[test]
    fn the_spread_of_ones_and_of_rates_is_that_of_simulated_filters() {
        for (m, n, k) in
            [(2usize, 1u64, 1u32), (2, 1, 3), (3, 2, 2), (60, 5, 4), (800, 100, 6), (1_000, 30, 3)]
        {
            let mut random = SplitMix(m as u64);
            let counts: Vec<f64> = (0..20_000)
                .map(|_| {
                    let mut bits = vec![false; m];
                    (0..n * u64::from(k)).for_each(|_| bits[random.below(m)] = true);
                    bits.iter().filter(|bit| **bit).count() as f64
                })
                .collect();
            let law = ones(m as u64, n, k);
            let (mean, error) = mean_and_error(&counts);
            assert!((mean - law.mean).abs() <= 5.0 * error, "{m} {n} {k}: {mean} {law:?}");
            let squares: Vec<f64> = counts.iter().map(|x| (x - law.mean) * (x - law.mean)).collect();
            let (variance, error) = mean_and_error(&squares);
            assert!(
                (variance - law.std_dev * law.std_dev).abs() <= 5.0 * error + 1e-12,
                "{m} {n} {k}: {variance} {law:?}"
            );
            let over = |q: f64| {
                let most = ones_at_most(m as u64, n, k, q);
                counts.iter().filter(|x| **x > most).count() as f64 / 2e4
            };
            // Never more often than told, and not vacuous: the bound at 50 % is passed at times.
            for q in [0.5f64, 0.9, 0.99, 0.999] {
                assert!(over(q) <= 1.0 - q + 5.0 * libm::sqrt(q * (1.0 - q) / 2e4), "{m} {n} {k} {q}");
            }
            assert!(m < 60 || over(0.5) > 0.01, "{}", over(0.5));
            assert!(
                (rate_at_most(m as u64, n, k, 0.99)
                    - libm::pow(ones_at_most(m as u64, n, k, 0.99) / m as f64, f64::from(k)))
                .abs()
                    < 1e-15
            );
        }
    }

    #[test]
    fn blocked_filters_exceed_their_bound_as_rarely_as_told() {
        for (blocks, items, hashes) in [
            (8usize, 400u64, 6u32),
            (60, 3_000, 5),
            (60, 2_000, 8),
            (40, 900, 11),
            (1, 50, 6),
            (2, 100, 6),
            (3, 100, 8),
            (20, 1_000, 6),
        ] {
            let mut random = SplitMix(u64::from(hashes));
            let lanes_of = |random: &mut SplitMix| {
                let rotation = random.below(8);
                core::array::from_fn::<u64, 8, _>(|lane| {
                    let place = (lane + 8 - rotation) % 8;
                    let bits = u32::from(place < hashes as usize) + u32::from(place + 8 < hashes as usize);
                    (0..bits).fold(0, |mask, _| mask | 1 << random.below(64))
                })
            };
            let trials = 1_500;
            let rates: Vec<f64> = (0..trials)
                .map(|_| {
                    let mut table = vec![[0u64; 8]; blocks];
                    for _ in 0..items {
                        let block = random.below(blocks);
                        let mask = lanes_of(&mut random);
                        (0..8).for_each(|lane| table[block][lane] |= mask[lane]);
                    }
                    // The rate of this very filter: over all blocks, rotations and bits.
                    let of_block = |block: &[u64; 8]| {
                        let fill = |lane: usize| f64::from(block[lane].count_ones()) / 64.0;
                        let of_rotation = |rotation: usize| {
                            (0..hashes as usize).map(|i| fill((rotation + i % 8) % 8)).product::<f64>()
                        };
                        (0..8).map(of_rotation).sum::<f64>() / 8.0
                    };
                    table.iter().map(of_block).sum::<f64>() / blocks as f64
                })
                .collect();
            for q in [0.9f64, 0.99, 0.999] {
                let bound = blocked_rate_at_most(blocks as u64, items, hashes, q);
                let over = rates.iter().filter(|rate| **rate > bound).count() as f64 / f64::from(trials);
                let allowed = 1.0 - q + 5.0 * libm::sqrt(q * (1.0 - q) / f64::from(trials));
                assert!(over <= allowed, "{hashes} {q}: {over}");
            }
            // Of use: some filters are above six tenths of the way from the mean to the bound. (Of a block or two the load is less
            // spread than Poisson's.)
            let (mean, bound) = (
                rates.iter().sum::<f64>() / f64::from(trials),
                blocked_rate_at_most(blocks as u64, items, hashes, 0.999),
            );
            let near = mean + (bound - mean) * 0.6;
            assert!(
                blocks < 8 || rates.iter().filter(|rate| **rate > near).count() >= 3,
                "{blocks} {hashes}: {mean} {bound}"
            );
            // Not vacuous: some filters pass the bound of 1 - e^-1.
            let loose = blocked_rate_at_most(blocks as u64, items, hashes, 0.3);
            assert!(rates.iter().any(|rate| *rate > loose), "{hashes}: {loose}");
        }
    }

    #[test]
    fn every_input_has_a_probability() {
        for cells in [0, 1, 2, 3, 1 << 40, u64::MAX] {
            for items in [0, 1, 1 << 40, u64::MAX] {
                for hashes in [0, 1, 7, 255, u32::MAX] {
                    for q in [f64::NEG_INFINITY, 0.0, 0.5, 0.999, 1.0, 2.0] {
                        let rate = rate_at_most(cells, items, hashes, q);
                        assert!((0.0..=1.0).contains(&rate), "{cells} {items} {hashes} {q}: {rate}");
                    }
                }
            }
        }
        for (blocks, items) in [(0, 1), (1, 0), (1, 1 << 40), (1 << 31, 1), (3, 4_000)] {
            assert!((0.0..=1.0).contains(&blocked_rate_at_most(blocks, items, 6, 0.999)));
        }
    }
}
