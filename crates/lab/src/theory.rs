//! Kirsch and Mitzenmacher's theorems on the rate of one filter, with their constants.
//!
//! The false-positive *probability* is a mean over all filters of a shape. One built filter has a
//! *rate* of its own, fixed by the bits that happened to be set, and what people measure is the
//! *share* of their queries that were wrong. Kirsch and Mitzenmacher prove that all three meet: the
//! probability tends to `p = (1 - e^(-λ/k))^k` (Theorems 6.1 and 6.2, here with the constants that
//! their proof gives), the rate to the probability (7.1), and the share to the rate (7.2).
//!
//! Their bound on the rate counts every key that meets a query's cells as if it decided the answer,
//! and so says little of rates below a few percent; the library's
//! [`rate_at_most`](gardenia::theory::concentration::rate_at_most) says much more.
//!
//! Source: Kirsch and Mitzenmacher, "Less Hashing, Same Performance" (2008), sections 6 and 7, with
//! ξ of Theorem 7.1 put right: `nkΔ(2λ + nkΔ)`, from the square of d = λ/n + kΔ in its proof
//! (printed: nkΔ(2λ + kΔ)).

use gardenia::theory::choices::Ones;
use gardenia::theory::concentration::{ones, quantile};

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
    /// use lab::theory::Overlap;
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

    /// `h1 + i·h2 + f(i)` modulo m with any f, for any m and any step: double and enhanced double
    /// hashing.
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

/// How far the false-positive probability of a scheme is from its limit `(1 - e^(-λ/k))^k`, at
/// most.
///
/// Theorem 6.1 with its constants, from the couplings of the proof: that n keys meet a query's
/// positions as coins of λ/n would takes `n·(kΔ + k(k-1)P)`, where P is the chance of a pair; that
/// they choose among them evenly `λ` times half the relative spread; that there are Poisson many
/// λ²/n; that the query has k different positions `repeat`. For any partitioned or (enhanced)
/// double hashing scheme every term is O(1/n): Theorem 6.2. It is a bound for all schemes at once
/// and above the true difference by one or two orders;
/// [`kirsch_mitzenmacher`](gardenia::theory::kirsch_mitzenmacher) has the differences themselves.
/// No items give 0; otherwise it is at most 1.
///
/// ```
/// use gardenia::theory::bloom::{fpp_asymptotic, fpp_exact};
/// use lab::theory::{Overlap, convergence};
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
/// The paper's Δ has a sign, and is not above 0 for any of its schemes (Remark 5), so that ξ could
/// be left out. That of [`Overlap`] is a distance, as Theorem 6.1 needs it, and makes the bound
/// weaker by a little.
///
/// ```
/// use lab::theory::xi;
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
/// Theorem 7.1, and item 2 of Theorem 7.2. `difference` is |Pr(F) - p|: 0 if `epsilon` is meant
/// from Pr(F) itself, [`convergence`] if nothing better is known. Where `epsilon` is not larger the
/// theorem says nothing, and this is 1.
///
/// ```
/// use lab::theory::{Overlap, rate_deviation};
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

/// The chance that of `queries` for absent keys a share farther than `epsilon` from `p` is answered
/// wrongly, at most: `2·e^(-Qε²/2)`, and [`rate_deviation`] at half of `epsilon`.
///
/// Item 3 of Theorem 7.2, Hoeffding's form; it holds for any number of queries.
///
/// ```
/// use lab::theory::{Overlap, share_deviation};
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

/// The share of `queries` for absent keys that stays unexceeded with probability `confidence`, by
/// the normal law: `p + z·√(p(1-p)/Q + Var(R))`.
///
/// Item 4 of Theorem 7.2, which lets the queries grow more slowly than the keys and so drops the
/// variance of the rate; with it ([`rate_spread`]) the form holds for any number of queries. Good
/// where at least some tens of queries are answered wrongly; with fewer the count is binomial and
/// skewed.
///
/// ```
/// use lab::theory::share_normal;
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

/// The standard deviation of a filter's rate around its probability, to first order:
/// `k·fill^(k-1)·σ/m` with the ones' σ.
///
/// ```
/// use lab::theory::rate_spread;
/// assert!((rate_spread(80_000, 10_000, 6) / 0.0216 - 0.011).abs() < 1e-3); // filters of 10,000 keys differ by 1.1 %
/// ```
#[must_use]
pub fn rate_spread(cells: u64, items: u64, hashes: u32) -> f64 {
    if cells == 0 || hashes == 0 {
        return 0.0;
    }
    let (m, k, Ones { mean, std_dev, .. }) = (cells as f64, f64::from(hashes), ones(cells, items, hashes));
    k * libm::pow(mean / m, k - 1.0) * std_dev / m
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Mean;
    use gardenia::Digest;
    use gardenia::theory::bloom::{best_hashes, fpp_asymptotic, fpp_exact, fpp_partitioned};
    use gardenia::theory::concentration::rate_at_most;

    /// A stream of words.
    struct SplitMix(u64, u32);

    impl SplitMix {
        fn next(&mut self) -> u64 {
            self.1 += 1;
            Digest(self.0).word(self.1)
        }
        fn below(&mut self, end: usize) -> usize {
            ((u128::from(self.next()) * end as u128) >> 64) as usize
        }
    }

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
        let mut random = SplitMix(61, 0);
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
        let Mean { mean, standard_error: error, .. } = Mean::of(&rates);
        let bound = convergence(n.into(), k, &Overlap::double(m.into(), n.into(), k));
        let difference = (mean - fpp_asymptotic(8.0, k)).abs();
        assert!(difference > 5.0 * error, "cannot be seen: {difference} ± {error}");
        assert!(bound < 0.3 && difference < bound, "{difference} ± {error}, {bound}");
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
        let mut random = SplitMix(72, 0);
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
    fn every_input_has_a_probability() {
        for cells in [0, 1, 2, 3, 1 << 40, u64::MAX] {
            for items in [0, 1, 1 << 40, u64::MAX] {
                for hashes in [0, 1, 7, 255, u32::MAX] {
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
        assert!(quantile(f64::NAN).is_nan() && quantile(1.0) == f64::INFINITY);
    }
}
