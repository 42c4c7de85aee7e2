//! Counts as the smallest of k counters: how often it is wrong.
//!
//! Every insert raises the k cells of its key, and the count of a key is read as the smallest of
//! them. It is right as soon as one of the cells belongs to no other key, so the error is that of a
//! membership filter with the *other distinct* keys in it: how often keys are repeated does not
//! matter. Keys whose smallest counter appears only once among their cells are suspect; the
//! recurring-minimum method moves them to a second filter, and [`single_minimum`] says how many
//! there are. Two cells can only recur if they are different: two equal positions of one key are
//! one cell here.
//!
//! Source: Cohen and Matias, "Spectral Bloom Filters" (2003). The shares of single minima were
//! worked out for this project; the tests simulate them.

use alloc::vec::Vec;

use super::binomial::{Binomial, at_least_one, ln_none};
use super::bloom::{NEGLIGIBLE, Occupancy, fpp_exact};
use crate::index::MAX_HASHES;

/// The probability that the smallest counter of a stored key is not its count: E_B with the other
/// keys.
///
/// Cohen and Matias give `(1 - e^(-kn/m))^k` with n the number of distinct keys. Exactly, a key's
/// count is wrong if and only if each of its cells is also a cell of one of the n - 1 others, which
/// is [`fpp_exact`] of those, for every m and n, as long as the cells of a key are raised once
/// each. The count is then too high, never too low. For a key that is *not* stored it is
/// [`fpp_exact`] of all n. A single key's count is never wrong; no cells or no hashes give 1, no
/// items 0.
///
/// ```
/// use gardenia::theory::spectral::minimum_error;
/// assert_eq!(minimum_error(1_000, 1, 5), 0.0);
/// assert!((minimum_error(2, 2, 1) - 0.5).abs() < 1e-15); // two keys, two cells
/// assert!((minimum_error(10_000, 1_000, 7) - 0.0082).abs() < 1e-4); // ten cells per key
/// ```
#[must_use]
pub fn minimum_error(cells: u64, items: u64, hashes: u32) -> f64 {
    if items == 0 {
        return 0.0;
    }
    fpp_exact(cells, items - 1, hashes)
}

/// The expected share of keys whose smallest counter is single among their cells, if all counts are
/// equal.
///
/// With every key inserted equally often a counter is that count times the number X of keys in its
/// cell, and for j different cells of a key
///
/// ```text
/// Σ_x j · Pr(X = x) · Pr(X > x)^(j-1),   X ~ Bin(n - 1, 1 - (1 - 1/m)^k) other keys,
/// ```
///
/// averaged over the number j of different cells among k. The law of one cell is exact; cells are
/// taken as independent, which is good to O(k/m). Where X spreads over more than some 1,000 values
/// (nk/m > 2^20) the share of recurring minima is continued by its limit, inversely proportional to
/// the spread. Unequal counts tie less often: see [`single_minimum_at_most`]. With one hash every
/// minimum is single. No items or no hashes give 0; otherwise no cells give 1. More than
/// [`MAX_HASHES`] hashes are taken as that many.
///
/// ```
/// use gardenia::theory::spectral::{single_minimum, single_minimum_at_most};
/// // Half full, five cells per key: a sixth. Exactly one cell unshared, 5/32, and a little more.
/// let share = single_minimum(7_213_475, 1_000_000, 5);
/// assert!((share - 0.1573).abs() < 1e-4);
/// assert!(share < single_minimum_at_most(7_213_475, 1_000_000, 5));
/// ```
#[must_use]
pub fn single_minimum(cells: u64, items: u64, hashes: u32) -> f64 {
    average_over_cells(cells, items, hashes, |cells_of_key| {
        let others = Binomial::of_cell_once(cells, (items - 1) as f64, hashes);
        let spread = others.mean() * others.miss;
        if spread <= WIDEST {
            return single(others, cells_of_key);
        }
        let narrower = Binomial { trials: libm::floor(others.trials * (WIDEST / spread)), ..others };
        1.0 - (1.0 - single(narrower, cells_of_key)) * libm::sqrt(WIDEST / spread)
    })
}

/// The largest share of keys whose smallest counter can be single, whatever the counts.
///
/// Two cells that no other key uses always tie, at the key's own count. So at most the keys with no
/// such cell, or exactly one, have a single minimum, `Σ_{i≤1} C(j, i)·a^i·(1-a)^(j-i)` with
/// `a = (1 - 1/m)^(k(n-1))`, averaged over the number j of different cells. Counts that differ
/// widely, where sums of other keys hardly ever agree, come close to it. At half fill and k = 5
/// this is 6/32 = 19%, the "about 20%" that Cohen and Matias found with skewed data. Assumptions
/// and special cases as in [`single_minimum`].
///
/// ```
/// use gardenia::theory::spectral::single_minimum_at_most;
/// assert!((single_minimum_at_most(7_213_475, 1_000_000, 5) - 6.0 / 32.0).abs() < 1e-4);
/// ```
#[must_use]
pub fn single_minimum_at_most(cells: u64, items: u64, hashes: u32) -> f64 {
    average_over_cells(cells, items, hashes, |cells_of_key| {
        let [hit, miss] = at_least_one(cells, hashes);
        let ln_alone = ln_none((items - 1) as f64, hit, miss);
        let (alone, shared) = (libm::exp(ln_alone), -libm::expm1(ln_alone));
        cells_of_key.iter().zip(1..).fold(0.0, |sum, (weight, j)| {
            let (j, others_shared) = (f64::from(j), libm::pow(shared, f64::from(j - 1)));
            sum + weight * others_shared * (shared + j * alone)
        })
    })
}

/// The variance up to which [`single`] sums term by term.
const WIDEST: f64 = (1 << 20) as f64;

/// The answer where there is one without a formula, else what `share` makes of the probabilities
/// that the cells of a key are 1, 2, … different ones.
fn average_over_cells(cells: u64, items: u64, hashes: u32, share: impl Fn(&[f64]) -> f64) -> f64 {
    match (cells, hashes, items) {
        (_, 0, _) | (_, _, 0) => return 0.0,
        (0, ..) => return 1.0,
        _ => {}
    }
    let hashes = hashes.min(MAX_HASHES);
    let mut distinct = Occupancy::new(cells as f64, hashes as usize);
    (0..hashes).for_each(|_| distinct.throw());
    let cells_of_key: Vec<f64> = (1..=hashes as usize).map(|j| distinct.of(j)).collect();
    share(&cells_of_key).clamp(0.0, 1.0)
}

/// `Σ_x Pr(X = x)·Σ_j weight_j·j·Pr(X > x)^(j-1)`, for X of moderate spread.
fn single(law: Binomial, cells_of_key: &[f64]) -> f64 {
    // Below this even the sum of all further probabilities is nothing against those before.
    const DROPPED: f64 = 1e-300;
    let slope: Vec<f64> = cells_of_key.iter().zip(1..).map(|(weight, j)| weight * f64::from(j)).collect();
    let least_of = |above: f64| slope.iter().rev().fold(0.0, |sum, factor| sum * above + factor);
    let mode = libm::floor(((law.trials + 1.0) * law.hit).min(law.trials));
    let at_mode = law.of(mode);

    // Upwards from the mode, kept so that the tails can be summed from their ends.
    let (mut upper, mut x, mut here) = (Vec::new(), mode, at_mode);
    while x <= law.trials && here > DROPPED {
        upper.push(here);
        here *= (law.trials - x) / (x + 1.0) * (law.hit / law.miss);
        x += 1.0;
    }
    let (mut total, mut above) = (0.0, 0.0);
    for here in upper.into_iter().rev() {
        total += here * least_of(above);
        above += here;
    }
    // Downwards, where the tails are long and rounding in them does not matter.
    let (mut x, mut here) = (mode, at_mode);
    while x > 0.0 {
        here *= x / (law.trials - x + 1.0) * (law.miss / law.hit);
        x -= 1.0;
        if here < NEGLIGIBLE * at_mode {
            break;
        }
        total += here * least_of(above.min(1.0));
        above += here;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;
    use alloc::vec;

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    /// A filter by minimum selection: key i is inserted `counts[i]` times at random positions. The
    /// share of keys whose minimum is wrong, and of those whose minimum is single among their
    /// different cells.
    fn simulate(random: &mut SplitMix, cells: usize, hashes: usize, counts: &[u64]) -> (f64, f64) {
        let mut filter = vec![0; cells];
        let keys: Vec<Vec<usize>> = counts
            .iter()
            .map(|count| {
                let mut at: Vec<usize> = (0..hashes).map(|_| random.below(cells)).collect();
                at.sort_unstable();
                at.dedup();
                at.iter().for_each(|&at| filter[at] += count);
                at
            })
            .collect();
        let (mut wrong, mut single) = (0, 0);
        for (at, count) in keys.iter().zip(counts) {
            let least = at.iter().map(|&at| filter[at]).min().unwrap();
            wrong += u32::from(least != *count);
            single += u32::from(at.iter().filter(|&&at| filter[at] == least).count() == 1);
        }
        let items = counts.len() as f64;
        (f64::from(wrong) / items, f64::from(single) / items)
    }

    #[test]
    fn simulated_counts_err_as_often_as_the_formula_says_whatever_the_counts() {
        for (seed, cells, items, hashes) in [(1, 64, 8, 5), (2, 256, 40, 3), (3, 1024, 140, 5)] {
            let mut random = SplitMix(seed);
            let trials: Vec<f64> = (0..400_000 / items)
                .map(|_| {
                    let counts: Vec<u64> = (0..items).map(|i| 1 + (1000 / (i + 1)) as u64).collect();
                    simulate(&mut random, cells, hashes, &counts).0
                })
                .collect();
            let (mean, error) = mean_and_error(&trials);
            let theory = minimum_error(cells as u64, items as u64, hashes as u32);
            assert!((mean - theory).abs() < 5.0 * error, "{cells}: {mean} ± {error}, theory {theory}");
        }
    }

    #[test]
    fn simulated_minima_are_single_as_often_as_the_formulas_say() {
        for (seed, cells, items, hashes) in
            [(1, 2048, 284, 5), (2, 2048, 500, 3), (3, 1024, 1024, 4), (4, 900, 90, 7)]
        {
            let mut random = SplitMix(seed);
            let sizes = (cells as u64, items as u64, hashes as u32);
            let (uniform, most) = (
                single_minimum(sizes.0, sizes.1, sizes.2),
                single_minimum_at_most(sizes.0, sizes.1, sizes.2),
            );
            let mut share = |count: &dyn Fn(u64) -> u64| {
                let counts: Vec<u64> = (0..items as u64).map(count).collect();
                let trials: Vec<f64> =
                    (0..600_000 / items).map(|_| simulate(&mut random, cells, hashes, &counts).1).collect();
                mean_and_error(&trials)
            };
            let (mean, error) = share(&|_| 3);
            assert!((mean - uniform).abs() < 5.0 * error, "{cells}: {mean} ± {error}, theory {uniform}");
            // Random 60-bit counts: no two sums agree.
            let (mean, error) = share(&|i| SplitMix(i).next() >> 4);
            assert!((mean - most).abs() < 5.0 * error, "{cells}: {mean} ± {error}, theory {most}");
            // What really happens, counts like 1/rank, is in between.
            let (mean, error) = share(&|i| 1 + 1000 / (i + 1));
            assert!(uniform - 5.0 * error < mean && mean < most + 5.0 * error, "{cells}: {mean} ± {error}");
        }
    }

    #[test]
    fn shares_agree_with_long_arithmetic() {
        // Cells, items, hashes, equal counts, any counts: the same sums in 60 digits (mpmath).
        for (m, n, k, equal, any) in [
            (100, 20, 3, 0.34029666524469204, 0.4129609080997483),
            (1000, 100, 7, 0.05559812105712072, 0.06355319141684493),
            (7_213_475, 1_000_000, 5, 0.15721078322629725, 0.18749978237637402),
            (10, 5, 2, 0.6677879530851217, 0.8332281830033343),
            (1 << 40, 100, 4, 1.8900051576549615e-28, 1.8900051578257784e-28),
            (1000, 100_000, 3, 0.9755411167922297, 1.0),
            (1, 5, 3, 1.0, 1.0),
            (50, 1, 1, 1.0, 1.0),
            (50, 1, 2, 0.02, 0.02),
            (2000, 500, 20, 0.567389802785448, 0.9919809594856042),
        ] {
            let found = (single_minimum(m, n, k), single_minimum_at_most(m, n, k));
            assert!(near(found.0, equal, 1e-12), "{m} {n} {k}: {} {equal}", found.0);
            assert!(near(found.1, any, 1e-12), "{m} {n} {k}: {} {any}", found.1);
        }
    }

    #[test]
    fn wide_spreads_continue_narrow_ones() {
        // Just below and just above the spread where the limit takes over.
        let [below, above] = [0.99, 1.01].map(|load| {
            let n = (load * WIDEST * 1024.0 / 3.0) as u64;
            (1.0 - single_minimum(1024, n, 3)) * libm::sqrt(load)
        });
        assert!(near(below, above, 1e-5), "{below} {above}");
    }

    #[test]
    fn every_input_has_a_probability() {
        let numbers = [0, 1, 2, 3, 255, 1000, 1 << 32, u64::MAX - 1, u64::MAX];
        for (m, n) in numbers.into_iter().flat_map(|m| numbers.map(|n| (m, n))) {
            for k in [0, 1, 2, 30, 255, 256, u32::MAX] {
                let found = [minimum_error, single_minimum, single_minimum_at_most].map(|f| f(m, n, k));
                assert!(found.iter().all(|p| (0.0..=1.0).contains(p)), "{m} {n} {k}: {found:?}");
                if m > 0 {
                    assert!(found[1] <= found[2] + 1e-9, "{m} {n} {k}: {found:?}");
                }
            }
        }
        assert_eq!((minimum_error(0, 5, 2), minimum_error(5, 5, 0), minimum_error(5, 0, 0)), (1.0, 1.0, 0.0));
        assert_eq!(
            (single_minimum(0, 5, 2), single_minimum(5, 5, 0), single_minimum(5, 0, 2)),
            (1.0, 0.0, 0.0)
        );
    }
}
