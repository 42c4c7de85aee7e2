//! The rate of one filter around the probability of its kind: how near, how surely.
//!
//! The false-positive *probability* is a mean over all filters of a shape. One built filter has a *rate* of its own, fixed
//! by the bits that happened to be set, and what people measure is the *share* of their queries that were wrong. Kirsch
//! and Mitzenmacher prove that all three meet: the probability tends to `p = (1 - e^(-λ/k))^k` (Theorems 6.1 and 6.2, here
//! with the constants that their proof gives), the rate to the probability (7.1), and the share to the rate (7.2).
//!
//! Their bound on the rate counts every key that meets a query's cells as if it decided the answer, and so says little of
//! rates below a few percent. [`rate_at_most`] says much more: "with probability q this filter's rate is at most x" goes
//! by the number of ones, which is distributed as a sum of independent zeros and ones (Vatutin and Mikhailov), so that
//! Bennett's inequality holds with the exact variance.
//!
//! Sources: Kirsch and Mitzenmacher, "Less Hashing, Same Performance" (2008), sections 6 and 7, with ξ of Theorem 7.1 put
//! right: `nkΔ(2λ + nkΔ)`, from the square of d = λ/n + kΔ in its proof (printed: nkΔ(2λ + kΔ)). Vatutin and Mikhailov,
//! "Limit theorems for the number of empty cells in an equiprobable scheme for group allocation of particles" (1982).
//! Bennett, "Probability inequalities for the sum of independent random variables" (1962).

use super::blocked::{self, BLOCK_BITS};
use super::choices::Ones;

/// What Lemma 4.1 of Kirsch and Mitzenmacher asks of a scheme, in numbers instead of orders.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overlap {
    /// λ = k²·n/m, the mean number of a query's positions that keys meet.
    pub lambda: f64,
    /// Δ: how far the chance that a key has a given position is from λ/(kn), at most.
    pub deviation: f64,
    /// The chance that a key has two given positions, at most.
    pub pair: f64,
    /// The chance that two positions of one key coincide, at most.
    pub repeat: f64,
}

impl Overlap {
    /// k independent positions in one array.
    ///
    /// ```
    /// use gardenia::theory::concentration::Overlap;
    /// let overlap = Overlap::independent(80_000, 10_000, 6);
    /// assert_eq!(overlap.lambda, 4.5); // 36 · 10,000 / 80,000
    /// assert!((overlap.pair - 30.0 / 6.4e9).abs() < 1e-20);
    /// ```
    #[must_use]
    pub fn independent(cells: u64, items: u64, hashes: u32) -> Self {
        let (m, k) = (cells as f64, f64::from(hashes));
        let pairs = k * (k - 1.0);
        // 1 - (1 - 1/m)^k lies between k/m - k(k-1)/2m² and k/m.
        Self {
            deviation: pairs / (2.0 * m * m),
            pair: pairs / m / m,
            ..Self::of(m, items, k, pairs / 2.0 / m)
        }
    }

    /// `h1 + i·h2 + f(i)` modulo m with any f, for any m and any step: double and enhanced double hashing.
    #[must_use]
    pub fn double(cells: u64, items: u64, hashes: u32) -> Self {
        let (m, k) = (cells as f64, f64::from(hashes));
        // For two of the k indices (i - j)·h2 has a given value for at most gcd(i - j, m) < k of the m steps.
        let pairs = k * (k - 1.0);
        let pair = pairs * (k - 1.0) / m / m;
        // A position that two indices share is counted twice in k/m, and met once.
        Self { deviation: pair / 2.0, pair, ..Self::of(m, items, k, pairs / 2.0 * (k - 1.0) / m) }
    }

    /// `h1 + i·h2` in slice i of m/k cells.
    #[must_use]
    pub fn partition(cells: u64, items: u64, hashes: u32) -> Self {
        let (m, k) = (cells as f64, f64::from(hashes));
        let slice = m / k;
        Self { pair: (k - 1.0) / slice / slice, ..Self::of(m, items, k, 0.0) }
    }

    fn of(m: f64, items: u64, k: f64, repeat: f64) -> Self {
        Self { lambda: k * k * items as f64 / m, deviation: 0.0, pair: 0.0, repeat }
    }
}

/// How far the false-positive probability of a scheme is from its limit `(1 - e^(-λ/k))^k`, at most.
///
/// Theorem 6.1 with its constants, from the couplings of the proof: that n keys meet a query's positions as coins of λ/n
/// would takes `n·(kΔ + k(k-1)P)`, where P is the chance of a pair; that they choose among them evenly `λ` times half the
/// relative spread; that there are Poisson many λ²/n; that the query has k different positions `repeat`. For any
/// partitioned or (enhanced) double hashing scheme every term is O(1/n): Theorem 6.2. It is a bound for all schemes at
/// once and above the true difference by one or two orders; [`kirsch_mitzenmacher`](super::kirsch_mitzenmacher) has the
/// differences themselves. No items give 0; otherwise it is at most 1.
///
/// ```
/// use gardenia::theory::bloom::{fpp_asymptotic, fpp_exact};
/// use gardenia::theory::concentration::{Overlap, convergence};
/// let bound = |n: u64| convergence(n, 6, &Overlap::independent(8 * n, n, 6));
/// let difference = |n: u64| (fpp_exact(8 * n, n, 6) - fpp_asymptotic(8.0, 6)).abs();
/// assert!(difference(10_000) < bound(10_000) && bound(10_000) < 0.02);
/// assert!((bound(10_000) / bound(1_000_000) - 100.0).abs() < 1.0); // O(1/n)
/// ```
#[must_use]
pub fn convergence(items: u64, hashes: u32, overlap: &Overlap) -> f64 {
    let (n, k) = (items as f64, f64::from(hashes));
    let Overlap { lambda, deviation, pair, repeat } = *overlap;
    if items == 0 || lambda == 0.0 {
        return 0.0;
    }
    let meet = n * (k * deviation + k * (k - 1.0) * pair);
    // The chance to meet one position and no other is `alone`, up to these two.
    let (alone, lower) = (lambda / (k * n), deviation + (k - 1.0) * pair);
    let uneven = if lower < alone { 0.5 * (lower + deviation) / (alone - lower) } else { 1.0 };
    let sum = meet + lambda * uneven + lambda * lambda / n + repeat;
    if sum.is_nan() { 1.0 } else { sum.min(1.0) }
}

/// ξ of Theorem 7.1, put right: nkΔ·(2λ + nkΔ).
///
/// The paper's Δ has a sign, and is not above 0 for any of its schemes (Remark 5), so that ξ could be left out. That of
/// [`Overlap`] is a distance, as Theorem 6.1 needs it, and makes the bound weaker by a little.
///
/// ```
/// use gardenia::theory::concentration::xi;
/// // λ² + ξ is n² times the square of d = λ/n + kΔ.
/// let (n, k, lambda, delta) = (1_000, 5, 4.0, 1e-5);
/// let d: f64 = lambda / 1e3 + 5.0 * delta;
/// assert!((lambda * lambda + xi(n, k, lambda, delta) - 1e6 * d * d).abs() < 1e-12);
/// ```
#[must_use]
pub fn xi(items: u64, hashes: u32, lambda: f64, deviation: f64) -> f64 {
    let all = items as f64 * f64::from(hashes) * deviation;
    all * (2.0 * lambda + all)
}

/// The chance that the rate of a filter is farther than `epsilon` from the limit `p`, at most:
/// `2·exp(-2n(ε - |Pr(F) - p|)²/(λ² + ξ))`.
///
/// Theorem 7.1, and item 2 of Theorem 7.2. `difference` is |Pr(F) - p|: 0 if `epsilon` is meant from Pr(F) itself,
/// [`convergence`] if nothing better is known. Where `epsilon` is not larger the theorem says nothing, and this is 1.
///
/// ```
/// use gardenia::theory::concentration::{Overlap, rate_deviation};
/// let overlap = Overlap::partition(8_000_000, 1_000_000, 6);
/// assert!(rate_deviation(1_000_000, 6, &overlap, 0.0, 0.01) < 1e-3);
/// assert_eq!(rate_deviation(1_000_000, 6, &overlap, 0.02, 0.01), 1.0);
/// ```
#[must_use]
pub fn rate_deviation(items: u64, hashes: u32, overlap: &Overlap, difference: f64, epsilon: f64) -> f64 {
    let Overlap { lambda, deviation, .. } = *overlap;
    let (left, spread) = (epsilon - difference, lambda * lambda + xi(items, hashes, lambda, deviation));
    if left.is_nan() || left <= 0.0 {
        return 1.0;
    }
    if spread == 0.0 {
        return 0.0;
    }
    (2.0 * libm::exp(-2.0 * items as f64 * left * left / spread)).min(1.0)
}

/// The chance that of `queries` for absent keys a share farther than `epsilon` from `p` is answered wrongly, at most:
/// `2·e^(-Qε²/2)`, and [`rate_deviation`] at half of `epsilon`.
///
/// Item 3 of Theorem 7.2, Hoeffding's form; it holds for any number of queries.
///
/// ```
/// use gardenia::theory::concentration::{Overlap, share_deviation};
/// let overlap = Overlap::partition(8_000_000, 1_000_000, 6);
/// let of = |queries| share_deviation(queries, 1_000_000, 6, &overlap, 0.0, 0.02);
/// assert!(of(100) == 1.0 && of(100_000) < 1e-3);
/// ```
#[must_use]
pub fn share_deviation(
    queries: u64,
    items: u64,
    hashes: u32,
    overlap: &Overlap,
    difference: f64,
    epsilon: f64,
) -> f64 {
    let hoeffding = 2.0 * libm::exp(-(queries as f64) * epsilon * epsilon / 2.0);
    (hoeffding + rate_deviation(items, hashes, overlap, difference, epsilon / 2.0)).min(1.0)
}

/// The share of `queries` for absent keys that stays unexceeded with probability `confidence`, by the normal law:
/// `p + z·√(p(1-p)/Q + Var(R))`.
///
/// Item 4 of Theorem 7.2, which lets the queries grow more slowly than the keys and so drops the variance of the rate; with
/// it ([`rate_spread`]) the form holds for any number of queries. Good where at least some tens of queries are answered
/// wrongly; with fewer the count is binomial and skewed.
///
/// ```
/// use gardenia::theory::concentration::share_normal;
/// // Figure 2 of the paper: 464 queries, p = 0.0215771, so 10.012 on average, and 9.796 of variance.
/// let one_sigma = share_normal(0.0215771, 0.0, 464, 0.841344746);
/// assert!((one_sigma * 464.0 - (10.012 + 9.796f64.sqrt())).abs() < 0.001);
/// ```
#[must_use]
pub fn share_normal(fpp: f64, rate_spread: f64, queries: u64, confidence: f64) -> f64 {
    let sampling = if queries == 0 { 1.0 } else { fpp * (1.0 - fpp) / queries as f64 };
    let spread = libm::sqrt(sampling + rate_spread * rate_spread);
    (fpp + quantile(confidence) * spread).clamp(0.0, 1.0)
}

/// Mean and standard deviation of the number of ones after `items` keys with `hashes` independent positions.
///
/// Exact: `E = m(1 - a)` and `Var = m·a - m·b + m²(b - a²)` with `a = (1 - 1/m)^(kn)` and `b = (1 - 2/m)^(kn)`, written
/// without cancellation. Positions that are derived from few hash values have the same mean up to O(1), and the same
/// variance up to O(1/m) of it while no two of three agree. No cells give zeros.
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

/// The standard deviation of a filter's rate around its probability, to first order: `k·fill^(k-1)·σ/m` with the ones' σ.
///
/// ```
/// use gardenia::theory::concentration::rate_spread;
/// assert!((rate_spread(80_000, 10_000, 6) / 0.0216 - 0.011).abs() < 1e-3); // filters of 10,000 keys differ by 1.1 %
/// ```
#[must_use]
pub fn rate_spread(cells: u64, items: u64, hashes: u32) -> f64 {
    if cells == 0 || hashes == 0 {
        return 0.0;
    }
    let (m, k, Ones { mean, std_dev }) = (cells as f64, f64::from(hashes), ones(cells, items, hashes));
    k * libm::pow(mean / m, k - 1.0) * std_dev / m
}

/// The number of ones that a filter exceeds with probability `1 - confidence` at most.
///
/// Bennett's inequality with the exact variance: `Pr(X ≥ E + t) ≤ exp(-σ²·h(t/σ²))`, `h(u) = (1+u)·ln(1+u) - u`. It is
/// proved for independent positions. A confidence of 1, or more, gives all that could be set; 0 or less the mean.
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
/// `(ones/m)^k` at [`ones_at_most`] ones: a bound, and about as tight as one can be (3.7 standard deviations at
/// 99.9 %, where the normal law has 3.1). It is that of independent positions; add the
/// [`excess`](crate::index::Scheme::excess) of another scheme. No cells or no hashes give 1.
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
/// The rate is a mean over blocks, whose rates are negatively associated as their loads are; so Bernstein's inequality
/// holds. Its variance is that of a block's rate over Poisson loads and the fills of its lanes, and its range the rate at a
/// load that one filter in a hundred times `1/(1 - confidence)` has anywhere, doubled for the fills. Both take lanes for
/// independent, so that this is a law checked by simulation and not a theorem. No blocks or no hashes give 1.
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
    let (b, load) = (blocks as f64, items as f64 / blocks as f64);
    let rate = BlockRate::new(hashes);
    let surprise = (1.0 - confidence).clamp(f64::MIN_POSITIVE, 1.0);
    // Loads as far as any block of a hundred such surprises has them, by their Poisson weights.
    let rare = 0.01 * surprise / b;
    let (mut second, mut seen) = (0.0, 0.0);
    let mut weight = libm::exp(-load);
    let mut top = 0.0;
    if weight > 0.0 {
        let mut j = 0.0;
        while j < load || (1.0 - seen > rare && weight > rare * 1e-3) {
            second += weight * rate.square(j);
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
    (mean + above).min(1.0)
}

/// The rate of one block under a load, lanes taken for independent.
struct BlockRate {
    hashes: f64,
    /// Chance that a key leaves a given bit, and two given bits of one lane, clear.
    one: f64,
    two: f64,
    /// Lanes of a query with two bits.
    doubled: f64,
}

impl BlockRate {
    const LANE: f64 = 64.0;

    fn new(hashes: u32) -> Self {
        let lanes = BLOCK_BITS as f64 / Self::LANE;
        let k = f64::from(hashes.min(blocked::MAX_BLOCK_HASHES));
        let (first, doubled) = (k.min(lanes) / lanes, (k - lanes).max(0.0));
        let clear =
            |bits: f64| (1.0 - first * bits / Self::LANE) * (1.0 - doubled / lanes * bits / Self::LANE);
        Self { hashes: k, one: clear(1.0), two: clear(2.0), doubled }
    }

    /// The mean fill of a lane, and of its square.
    fn fill(&self, load: f64) -> (f64, f64) {
        let (one, two) = (libm::pow(self.one, load), libm::pow(self.two, load));
        let fill = 1.0 - one;
        (fill, fill / Self::LANE + (1.0 - 1.0 / Self::LANE) * (1.0 - 2.0 * one + two))
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

/// How far a sum of independent zeros and ones with this variance is above its mean with probability `1 - confidence` at
/// most, by Bennett's inequality.
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

/// The value that a standard normal variable stays below with this probability; infinite at 0 and 1.
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

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::super::bloom::{best_hashes, fpp_asymptotic, fpp_exact, fpp_partitioned};
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;

    #[test]
    fn theorem_6_1_covers_every_scheme_and_falls_as_one_over_n() {
        for per_item in [4u64, 8, 16] {
            for n in [200u64, 2_000, 200_000] {
                let (m, k) = (per_item * n, best_hashes(per_item * n, n));
                let limit = fpp_asymptotic(per_item as f64, k);
                let bound = convergence(n, k, &Overlap::independent(m, n, k));
                assert!((fpp_exact(m, n, k) - limit).abs() <= bound, "{per_item} {n}");
                let sliced = m - m % u64::from(k);
                let partition = convergence(n, k, &Overlap::partition(sliced, n, k));
                let of_slices = fpp_asymptotic(sliced as f64 / n as f64, k);
                assert!((fpp_partitioned(sliced, n, k) - of_slices).abs() <= partition);
                let ten = convergence(10 * n, k, &Overlap::independent(10 * m, 10 * n, k));
                assert!(bound >= 1.0 || (bound / ten - 10.0).abs() < 0.5, "{bound} {ten}");
            }
        }
        assert_eq!(convergence(0, 5, &Overlap::independent(10, 0, 5)), 0.0);
    }

    #[test]
    fn theorem_6_1_covers_double_hashing_where_its_difference_can_be_seen() {
        // Few cells, and steps that may be 0 or m/2.
        let (m, n, k) = (16u32, 2u32, 2u32);
        let mut random = SplitMix(61);
        let draw = |random: &mut SplitMix| (random.below(m as usize), random.below(m as usize));
        let rates: Vec<f64> = (0..20_000)
            .map(|_| {
                let mut bits = vec![false; m as usize];
                for _ in 0..n {
                    let (h1, h2) = draw(&mut random);
                    (0..k as usize).for_each(|i| bits[(h1 + i * h2) % m as usize] = true);
                }
                let hit = (0..100).filter(|_| {
                    let (h1, h2) = draw(&mut random);
                    (0..k as usize).all(|i| bits[(h1 + i * h2) % m as usize])
                });
                hit.count() as f64 / 100.0
            })
            .collect();
        let (mean, error) = mean_and_error(&rates);
        let bound = convergence(n.into(), k, &Overlap::double(m.into(), n.into(), k));
        let difference = (mean - fpp_asymptotic(8.0, k)).abs();
        assert!(difference > 5.0 * error, "cannot be seen: {difference} ± {error}");
        assert!(bound < 0.3 && difference < bound, "{difference} ± {error}, {bound}");
    }

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
    fn theorem_7_1_holds_and_the_ones_say_more() {
        let (m, n, k) = (8_000u64, 1_000u64, 6);
        let overlap = Overlap::independent(m, n, k);
        // The epsilon that Theorem 7.1 needs for 99 %, by its own formula.
        let spread = overlap.lambda * overlap.lambda + xi(n, k, overlap.lambda, overlap.deviation);
        let epsilon = libm::sqrt(spread * libm::log(200.0) / (2.0 * n as f64));
        assert!((rate_deviation(n, k, &overlap, 0.0, epsilon) - 0.01).abs() < 1e-12);
        let mean = fpp_exact(m, n, k);
        assert!(rate_at_most(m, n, k, 0.99) < mean + 0.1 * epsilon);
        assert!(
            share_deviation(10, n, k, &overlap, 0.0, epsilon) >= rate_deviation(n, k, &overlap, 0.0, epsilon)
        );
    }

    #[test]
    fn shares_of_queries_are_as_spread_as_the_normal_form_says() {
        let (m, n, k, queries) = (800usize, 100u64, 6u32, 3_000usize);
        let mut random = SplitMix(72);
        let shares: Vec<f64> = (0..3_000)
            .map(|_| {
                let mut bits = vec![false; m];
                (0..n * u64::from(k)).for_each(|_| bits[random.below(m)] = true);
                let fill = bits.iter().filter(|bit| **bit).count() as f64 / m as f64;
                let rate = libm::pow(fill, f64::from(k));
                let hit = (0..queries).filter(|_| (random.next() >> 11) as f64 * libm::exp2(-53.0) < rate);
                hit.count() as f64 / queries as f64
            })
            .collect();
        let (fpp, spread) = (fpp_exact(m as u64, n, k), rate_spread(m as u64, n, k));
        for q in [0.1, 0.5, 0.9, 0.975] {
            let x = share_normal(fpp, spread, queries as u64, q);
            let below = shares.iter().filter(|share| **share <= x).count() as f64 / 3e3;
            // The normal law is first order: skewness moves the quantiles by some percent at 65 wrong answers.
            assert!((below - q).abs() < 0.03 + 5.0 * libm::sqrt(q * (1.0 - q) / 3e3), "{q}: {below}");
            if q == 0.975 {
                // Without the rate's own spread, which is three times that of sampling here, it would not hold.
                let naive = share_normal(fpp, 0.0, queries as u64, q);
                let below = shares.iter().filter(|share| **share <= naive).count() as f64 / 3e3;
                assert!(below < 0.93, "{below}");
            }
        }
    }

    #[test]
    fn blocked_filters_exceed_their_bound_as_rarely_as_told() {
        for (blocks, items, hashes) in [(8usize, 400u64, 6u32), (60, 3_000, 5), (60, 2_000, 8), (40, 900, 11)]
        {
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
                    let overlaps = [Overlap::independent, Overlap::double, Overlap::partition]
                        .map(|f| f(cells, items, hashes));
                    for overlap in overlaps {
                        let all = [
                            convergence(items, hashes, &overlap),
                            rate_deviation(items, hashes, &overlap, 0.0, 0.1),
                            share_deviation(10, items, hashes, &overlap, 0.0, 0.1),
                        ];
                        assert!(
                            all.iter().all(|p| (0.0..=1.0).contains(p)),
                            "{cells} {items} {hashes} {all:?}"
                        );
                    }
                }
            }
        }
        for (blocks, items) in [(0, 1), (1, 0), (1, 1 << 40), (1 << 31, 1), (3, 4_000)] {
            assert!((0.0..=1.0).contains(&blocked_rate_at_most(blocks, items, 6, 0.999)));
        }
        assert!(quantile(f64::NAN).is_nan() && quantile(1.0) == f64::INFINITY);
    }
}
