//! What it costs to derive all k positions from two hash values instead of drawing them independently.
//!
//! Kirsch and Mitzenmacher prove that the false-positive probability tends to the classical one as n grows at
//! fixed m/n. At finite size every scheme has an excess, because two keys that agree in few bits can agree in
//! many positions; it does not fall with k, and so it sets a floor to what a scheme can promise. Add the
//! terms of a scheme to [`fpp_exact`](super::bloom::fpp_exact), or for slices to
//! [`fpp_partitioned`](super::bloom::fpp_partitioned):
//!
//! | positions, i = 0..k | excess |
//! | --- | --- |
//! | `h1 + i·h2` | [`same_step_excess`] + [`short_cycle_excess`] |
//! | `h1 + i·h2 + i²` | [`same_step_excess`] + [`folding_excess`] |
//! | `h1 + i·h2 + i³`, or with `+ (i³ - i)/6` | [`coincidence_excess`] |
//! | `h1 + i·h2` in slice i | [`partition_excess`] |
//!
//! All are first-order terms, good to some percent while they are well below 1, and lie between 0 and 1; an
//! input that is not a number gives 1, the cautious answer, wherever it matters. The fraction of ones does
//! not show the excess: it is a matter of queries that meet stored keys, so `fill^k` is blind to it.
//!
//! Sources: Kirsch and Mitzenmacher, "Less Hashing, Same Performance: Building a Better Bloom Filter" (2008),
//! for the schemes and their limit; Dillinger and Manolios, "Bloom Filters in Probabilistic Verification"
//! (2004), for (i³ - i)/6. The finite-size terms were worked out for this project; the tests simulate them.

use crate::MAX_HASHES;

/// The excess from stored keys whose step is that of the query, or its negative: `2·(2/(1-p) - 1)·n/(m·S)`.
///
/// Two progressions with one step overlap after a shift by s and leave only |s| positions to chance: `Σ_s
/// p^|s| = 2/(1-p) - 1`, for each of n keys and either sign, at a chance of 1/m for the shift and 1/S for the
/// step. `steps` is S, the number of admissible steps: m - 1 for any but 0, m/2 for odd ones and even m, φ(m)
/// for coprime ones. Adding i² does not help, since a shifted square is a square with another step. Valid
/// while p^k is small against 1. No items give 0; otherwise a full filter, no cells or no steps give 1.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::same_step_excess;
/// // At half fill and any step: 6n/m².
/// assert!((same_step_excess(16_000, 1_000.0, 0.5, 16_000.0) - 6.0 * 1e3 / 16e3 / 16e3).abs() < 1e-18);
/// assert_eq!(same_step_excess(16_000, 1_000.0, 1.0, 16_000.0), 1.0);
/// ```
#[must_use]
pub fn same_step_excess(cells: u64, items: f64, fill: f64, steps: f64) -> f64 {
    if items <= 0.0 {
        return 0.0;
    }
    let shifts = 2.0 / (1.0 - fill.clamp(0.0, 1.0)) - 1.0;
    probability(2.0 * shifts * items / (cells as f64 * steps.max(0.0)))
}

/// The excess from steps with few multiples modulo m: `(1/m)·Σ_{L | m, L < k} φ(L)·p^L`.
///
/// A step h2 visits only L = m/gcd(h2, m) different cells, and φ(L) of the m steps do so. With `zero_step`
/// false the step 0, which visits one cell, is never drawn, and the step is uniform among the other m - 1. It
/// is about 1/m for round m and nothing for prime m: as long as steps may share factors with m, this is the
/// larger part. For odd or coprime steps do not add it. No cells give 1. Cycles beyond [`MAX_HASHES`] are not
/// counted.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::short_cycle_excess;
/// // m = 6, k = 4: one step of cycle 1, one of cycle 2, two of cycle 3.
/// assert!((short_cycle_excess(6, 4, 0.5, true) - (0.5 + 0.25 + 2.0 * 0.125) / 6.0).abs() < 1e-15);
/// assert!((short_cycle_excess(6, 4, 0.5, false) - (0.25 + 2.0 * 0.125) / 5.0).abs() < 1e-15);
/// assert_eq!(short_cycle_excess(10_007, 8, 0.5, false), 0.0); // a prime
/// ```
#[must_use]
pub fn short_cycle_excess(cells: u64, hashes: u32, fill: f64, zero_step: bool) -> f64 {
    if cells == 0 {
        return 1.0;
    }
    let fill = fill.clamp(0.0, 1.0);
    let (shortest, steps) = if zero_step { (1, cells) } else { (2, cells - 1) };
    let sum = (shortest..hashes.min(MAX_HASHES + 1))
        .filter(|&cycle| cells.is_multiple_of(u64::from(cycle)))
        .map(|cycle| f64::from(totient(cycle)) * libm::pow(fill, f64::from(cycle)))
        .fold(0.0, |sum, term| sum + term); // `sum()` of nothing is -0.0, and shows
    // One cell without the step 0 has no step at all, and no cycle.
    probability(sum / steps.max(1) as f64)
}

/// The excess from stored keys that agree with the query in both hash values: `n/m²`.
///
/// All that is left with a cubic term, `i³` or `(i³ - i)/6`, under which no shift maps one key's positions
/// onto another's. No items give 0; otherwise no cells give 1.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::coincidence_excess;
/// assert!((coincidence_excess(1_000, 50.0) - 5e-5).abs() < 1e-18);
/// ```
#[must_use]
pub fn coincidence_excess(cells: u64, items: f64) -> f64 {
    if items <= 0.0 {
        return 0.0;
    }
    let m = cells as f64;
    probability(items / m / m)
}

/// The excess from coincidence when each position has a slice of its own: `n·k²/m²`.
///
/// Slices tie positions to their index, so that shifts do no harm, but the two hash values range over m/k
/// cells only. The largest excess of all. No items or no hashes give 0; otherwise no cells give 1.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::partition_excess;
/// assert!((partition_excess(1_000, 10, 50.0) - 5e-3).abs() < 1e-16); // coincidence in 100 cells
/// ```
#[must_use]
pub fn partition_excess(cells: u64, hashes: u32, items: f64) -> f64 {
    if items <= 0.0 || hashes == 0 {
        return 0.0;
    }
    let slice = cells as f64 / f64::from(hashes);
    probability(items / slice / slice)
}

/// The excess from keys whose positions fold onto each other, where they lie on a parabola: with `i²` and in triple hashing.
///
/// Positions i and j of `h1 + i·h2 + b·i²` coincide if `h2 + (i + j)·b` is zero, and then all pairs of the same sum do: a
/// chance of 1/m for each of the 2k - 3 sums, which leaves a query of sum s only k - q(s) different cells, q(s) being
/// the pairs of that sum. Beyond what single coincidences of independent positions make of it that is `(1/m)·Σ_s (p^(k-q) -
/// p^k - q·(p^(k-1) - p^k))`: at half fill some percent of p^k for few keys and many positions. The
/// fold of a cubic is a point, and the default scheme works in fractions, where it must be met to 1/k of a cell.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::folding_excess;
/// // 16 bits for each of 1,000 keys, 11 positions: 0.9 % of 2⁻¹¹.
/// let share = folding_excess(16_000, 11, 0.5) * 2_048.0;
/// assert!((share - 0.008875).abs() < 1e-6);
/// assert_eq!(folding_excess(16_000, 2, 0.5), 0.0); // one pair folds as any two positions coincide
/// ```
#[must_use]
pub fn folding_excess(cells: u64, hashes: u32, fill: f64) -> f64 {
    let (hashes, fill) = (hashes.min(MAX_HASHES), fill.clamp(0.0, 1.0));
    if hashes < 2 {
        return 0.0;
    }
    let power = |positions: u32| libm::pow(fill, f64::from(positions));
    let (all, one_less) = (power(hashes), power(hashes - 1));
    let last = 2 * hashes - 2;
    let sums = (1..last).map(|sum| {
        let pairs = sum.min(last - sum).div_ceil(2);
        power(hashes - pairs) - all - f64::from(pairs) * (one_less - all)
    });
    probability(sums.fold(0.0, |sum, term| sum + term) / cells as f64)
}

/// A sum of first-order terms as a probability; 1 for what is not a number.
fn probability(sum: f64) -> f64 {
    if sum.is_nan() { 1.0 } else { sum.clamp(0.0, 1.0) }
}

/// Euler's φ: how many of 1..=n share no factor with n. For n ≤ 255 trial division is enough.
fn totient(n: u32) -> u32 {
    let (mut rest, mut phi) = (n, n);
    for prime in 2..=n {
        if rest.is_multiple_of(prime) {
            phi -= phi / prime;
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
        }
    }
    phi
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::super::bloom::{best_hashes, expected_fill, fpp_asymptotic, fpp_exact, fpp_partitioned};
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;

    /// Cells, items and hashes of a simulated filter, and how much to simulate.
    struct Trial {
        cells: u32,
        items: u32,
        hashes: u32,
        filters: usize,
        queries: u32,
    }

    impl Trial {
        fn new(cells: u32, items: u32, filters: usize, queries: u32) -> Self {
            let hashes = best_hashes(u64::from(cells), u64::from(items));
            Self { cells, items, hashes, filters, queries }
        }

        fn fill(&self) -> f64 {
            expected_fill(u64::from(self.cells), u64::from(self.items), self.hashes)
        }

        /// The false-positive probability with independent positions.
        fn independent(&self) -> f64 {
            fpp_exact(u64::from(self.cells), u64::from(self.items), self.hashes)
        }

        /// Mean rate over the filters and its standard error, each filter and query drawn afresh.
        fn run(
            &self,
            draw: impl Fn(&mut SplitMix) -> (u32, u32),
            at: impl Fn(u32, u32, u32) -> u32,
        ) -> (f64, f64) {
            let mut random = SplitMix(2008);
            let rates: Vec<f64> = (0..self.filters)
                .map(|_| {
                    let mut bits = vec![false; self.cells as usize];
                    for _ in 0..self.items {
                        let (h1, h2) = draw(&mut random);
                        (0..self.hashes).for_each(|i| bits[at(h1, h2, i) as usize] = true);
                    }
                    let hits = (0..self.queries).filter(|_| {
                        let (h1, h2) = draw(&mut random);
                        (0..self.hashes).all(|i| bits[at(h1, h2, i) as usize])
                    });
                    hits.count() as f64 / f64::from(self.queries)
                })
                .collect();
            mean_and_error(&rates)
        }
    }

    /// The measured excess is clearly there, and what the formula says: to 15%, being of first order.
    fn check((mean, error): (f64, f64), without: f64, excess: f64) {
        let measured = mean - without;
        assert!(excess > 20.0 * error && excess > without, "cannot be seen: {excess} {without} ± {error}");
        let allowed = f64::max(5.0 * error, 0.15 * excess);
        assert!((measured - excess).abs() < allowed, "measured {measured} ± {error}, formula {excess}");
    }

    fn below(random: &mut SplitMix, bound: u32) -> u32 {
        random.below(bound as usize) as u32
    }

    #[test]
    fn double_hashing_over_a_prime_suffers_from_equal_steps_only() {
        let m = 3191;
        let trial = Trial::new(m, 100, 1_000, 20_000);
        let found = trial.run(|r| (below(r, m), 1 + below(r, m - 1)), |h1, h2, i| (h1 + i * h2) % m);
        assert_eq!(short_cycle_excess(u64::from(m), trial.hashes, trial.fill(), false), 0.0);
        check(
            found,
            trial.independent(),
            same_step_excess(u64::from(m), 100.0, trial.fill(), f64::from(m - 1)),
        );
    }

    #[test]
    fn double_hashing_over_a_round_number_suffers_from_short_cycles_too() {
        for (m, zero_step) in [(6400, false), (6400, true), (6300, false)] {
            let trial = Trial::new(m, 200, 500, 20_000);
            let first = u32::from(!zero_step);
            let draw = |r: &mut SplitMix| (below(r, m), first + below(r, m - first));
            let found = trial.run(draw, |h1, h2, i| (h1 + i * h2) % m);
            let same = same_step_excess(u64::from(m), 200.0, trial.fill(), f64::from(m - first));
            let cycles = short_cycle_excess(u64::from(m), trial.hashes, trial.fill(), zero_step);
            check(found, trial.independent(), same + cycles);
        }
    }

    #[test]
    fn odd_steps_double_the_overlap() {
        let m = 6400;
        let trial = Trial::new(m, 200, 1_000, 20_000);
        let found = trial.run(|r| (below(r, m), 1 + 2 * below(r, m / 2)), |h1, h2, i| (h1 + i * h2) % m);
        check(
            found,
            trial.independent(),
            same_step_excess(u64::from(m), 200.0, trial.fill(), f64::from(m / 2)),
        );
    }

    #[test]
    fn a_square_does_not_help_but_ends_the_cycles() {
        let m = 3200;
        let trial = Trial::new(m, 100, 1_000, 20_000);
        let found = trial.run(|r| (below(r, m), below(r, m)), |h1, h2, i| (h1 + i * h2 + i * i) % m);
        check(found, trial.independent(), same_step_excess(u64::from(m), 100.0, trial.fill(), f64::from(m)));
    }

    /// All keys of a prime number of cells, one by one: nothing is left to chance, or to the first order.
    #[test]
    fn parabolas_fold() {
        let (m, fill) = (101u32, 0.5f64);
        for k in 2..=12u32 {
            let passes = |step: u32, bend: u32| {
                let mut cells: Vec<u32> = (0..k).map(|i| (i * step + bend * i * i) % m).collect();
                cells.sort_unstable();
                cells.dedup();
                libm::pow(fill, cells.len() as f64)
            };
            let [all, one_less] = [k, k - 1].map(|k| libm::pow(fill, f64::from(k)));
            let pairs = f64::from(k * (k - 1) / 2) / f64::from(m) * (one_less - all);
            let expected = all + pairs + folding_excess(m.into(), k, fill);
            let square = (0..m).map(|step| passes(step, 1)).sum::<f64>() / f64::from(m);
            assert!((square / expected - 1.0).abs() < 1e-12, "{k}: {square} where {expected} is expected");
            // With a bend of one's own but zero, which is no parabola.
            let bent = (1..m).flat_map(|bend| (0..m).map(move |step| passes(step, bend))).sum::<f64>();
            assert!((bent / f64::from(m * (m - 1)) / expected - 1.0).abs() < 1e-12, "{k}");
        }
    }

    #[test]
    fn cubic_terms_leave_coincidence_only() {
        let m = 800;
        let trial = Trial::new(m, 25, 1_000, 20_000);
        let draw = |r: &mut SplitMix| (below(r, m), below(r, m));
        let excess = coincidence_excess(u64::from(m), 25.0);
        let enhanced = |h1, h2, i: u32| (h1 + i * h2 + (i.pow(3) - i) / 6) % m;
        check(trial.run(draw, enhanced), trial.independent(), excess);
        check(trial.run(draw, |h1, h2, i| (h1 + i * h2 + i.pow(3)) % m), trial.independent(), excess);
    }

    #[test]
    fn slices_suffer_from_coincidence_within_a_slice() {
        let slice = 1409;
        let trial = Trial { hashes: 17, ..Trial::new(17 * slice, 1_000, 200, 20_000) };
        let draw = |r: &mut SplitMix| (below(r, slice), below(r, slice));
        let found = trial.run(draw, |h1, h2, i| i * slice + (h1 + i * h2) % slice);
        let independent = fpp_partitioned(u64::from(trial.cells), 1_000, 17);
        check(found, independent, partition_excess(u64::from(trial.cells), 17, 1_000.0));
    }

    #[test]
    fn the_table_of_section_8() {
        for (per_item, hashes, p) in
            [(4, 3, 0.146892), (8, 6, 0.0215771), (12, 8, 3.14235e-3), (16, 11, 4.58711e-4)]
        {
            assert_eq!(best_hashes(per_item * 10_000, 10_000), hashes);
            // Six digits are printed.
            assert!((fpp_asymptotic(per_item as f64, hashes) / p - 1.0).abs() < 5e-6, "{per_item}");
        }
    }

    #[test]
    fn the_totient_counts_what_shares_no_factor() {
        let gcd = |mut a: u32, mut b: u32| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        for n in 1..=MAX_HASHES {
            assert_eq!(totient(n) as usize, (1..=n).filter(|&x| gcd(x, n) == 1).count());
        }
    }

    #[test]
    fn every_input_has_a_probability() {
        let numbers = [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 0.5, 1.0, 1e300, f64::INFINITY];
        for cells in [0, 1, 2, 1 << 40, u64::MAX] {
            for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
                for c in numbers {
                    assert!((0.0..=1.0).contains(&same_step_excess(cells, a, b, c)), "{cells} {a} {b} {c}");
                }
                for hashes in [0, 1, 255, 256, u32::MAX] {
                    let cycles = short_cycle_excess(cells, hashes, a, b > 0.0);
                    let (one, slices) = (coincidence_excess(cells, a), partition_excess(cells, hashes, a));
                    assert!(
                        [cycles, one, slices].iter().all(|p| (0.0..=1.0).contains(p)),
                        "{cells} {hashes} {a}"
                    );
                }
            }
        }
        // Full, without cells or without steps: certain, unless nothing is stored.
        assert_eq!(
            (same_step_excess(100, 1.0, 1.0, 99.0), same_step_excess(100, 0.0, 1.0, 99.0)),
            (1.0, 0.0)
        );
        assert_eq!((same_step_excess(0, 1.0, 0.5, 99.0), same_step_excess(100, 1.0, 0.5, 0.0)), (1.0, 1.0));
        assert_eq!((coincidence_excess(0, 1.0), partition_excess(0, 3, 1.0)), (1.0, 1.0));
        assert_eq!((coincidence_excess(0, 0.0), partition_excess(5, 0, 1.0)), (0.0, 0.0));
        assert_eq!((short_cycle_excess(0, 3, 0.5, true), short_cycle_excess(1, 3, 0.5, false)), (1.0, 0.0));
        assert_eq!(
            (same_step_excess(10, f64::NAN, 0.5, 9.0), short_cycle_excess(4, 3, f64::NAN, true)),
            (1.0, 1.0)
        );
    }
}
