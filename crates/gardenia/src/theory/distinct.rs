//! How many distinct cells a key has, and what that does to the false-positive probability.
//!
//! k positions that are drawn independently coincide now and then, and a query with fewer distinct
//! cells is answered "present" more often. A scheme that derives its positions from two or three
//! values has another law: a progression with a step of large order never meets itself, a parabola
//! folds onto itself, and short cycles leave a handful of cells. In tables of up to some thousand
//! cells that, and not keys that resemble each other
//! ([`kirsch_mitzenmacher`](super::kirsch_mitzenmacher)), is what a scheme adds: triple hashing in
//! fractions, the default scheme, has 1.6 times the false positives of independent positions at 13
//! positions in 100 cells.
//!
//! Sources: Bose et al., "On the false-positive rate of Bloom filters" (2008), for the sum over
//! distinct cells; the laws of the schemes were worked out for this project and are checked by
//! counting and by simulation.

use super::a2::GAUSS;
use super::bloom::{Occupancy, WIDTH, all_hit, certain};
use super::kirsch_mitzenmacher::{greatest_common_divisor, totient};
use crate::index::MAX_HASHES;
use crate::index::wrap;
use alloc::vec::Vec;

/// Up to this many positions, triple hashing is counted over all keys that differ: some 0.3 ms.
const COUNTED: u64 = 1 << 18;

/// The law of the number of distinct cells among the k positions of one key.
///
/// ```
/// use gardenia::theory::bloom::fpp_exact;
/// use gardenia::theory::distinct::Distinct;
/// let (independent, default) = (Distinct::independent(100, 13), Distinct::fractional(100, 13));
/// assert!((independent.fpp(5) / fpp_exact(100, 5, 13) - 1.0).abs() < 1e-9);
/// assert!(default.fpp(5) > 1.5 * independent.fpp(5)); // parabolas that fold, and short cycles
/// ```
#[derive(Clone, Debug)]
pub struct Distinct {
    cells: u64,
    hashes: u32,
    /// `law[d]`: the probability of d distinct cells.
    law: [f64; WIDTH],
}

impl Distinct {
    /// Independent positions: those of a Bloom filter as it is in the books. Exact.
    #[must_use]
    pub fn independent(cells: u64, hashes: u32) -> Self {
        Self::mixture(cells, hashes, &[0.0; WIDTH])
    }

    /// Positions that never coincide.
    pub(crate) fn all(cells: u64, hashes: u32) -> Self {
        let mut found = Self::empty(cells, hashes);
        found.law[found.hashes as usize] = 1.0;
        found
    }

    /// A law of which nothing is known yet but its shape.
    fn empty(cells: u64, hashes: u32) -> Self {
        Self { cells, hashes: hashes.min(MAX_HASHES), law: [0.0; WIDTH] }
    }

    /// The law of positions that are independent but for this: with the probability `repeated[q]`
    /// (which may be negative, as a correction) q of them repeat others.
    fn mixture(cells: u64, hashes: u32, repeated: &[f64; WIDTH]) -> Self {
        let mut found = Self::empty(cells, hashes);
        let k = found.hashes as usize;
        let mut thrown = Occupancy::new(cells as f64, k);
        for throws in 1..=k {
            thrown.throw();
            let chance = repeated[k - throws] + f64::from(u8::from(throws == k));
            if chance != 0.0 {
                (1..=throws).for_each(|d| found.law[d] += chance * thrown.of(d));
            }
        }
        found
    }

    /// Positions h1 + i·h2 + f(i) modulo m. Exact: by all pairs of positions, the steps h2 at which
    /// they coincide. A step of zero is one of them unless `zero_step` is false.
    ///
    /// ```
    /// use gardenia::theory::distinct::Distinct;
    /// // Modulo a prime, plain double hashing without the step 0 never meets itself; modulo 6 it does.
    /// assert_eq!(Distinct::progression(101, 4, |_| 0, false).mean(), 4.0);
    /// assert!((Distinct::progression(6, 4, |_| 0, false).mean() - (2.0 + 2.0 * 3.0 + 2.0 * 4.0) / 5.0).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn progression(cells: u64, hashes: u32, f: impl Fn(u64) -> u64, zero_step: bool) -> Self {
        let mut found = Self::empty(cells, hashes);
        let k = u64::from(found.hashes);
        if cells == 0 || k == 0 {
            return found;
        }
        let place = |step: u64, i: u64| {
            ((u128::from(i) * u128::from(step) + u128::from(f(i))) % u128::from(cells)) as u64
        };
        // (j - i)·h2 = f(i) - f(j): as many solutions as the common divisor of j - i and m has, or none.
        let mut steps = Vec::new();
        for apart in 1..k {
            let common = greatest_common_divisor(apart, cells);
            let (rest, range) = (apart / common, cells / common);
            let inverse = inverse(rest % range, range);
            for i in 0..k - apart {
                let gap = (place(0, i) + cells - place(0, i + apart)) % cells;
                if gap.is_multiple_of(common) {
                    let first = (u128::from(gap / common) * u128::from(inverse) % u128::from(range)) as u64;
                    steps.extend((0..common).map(|turn| first + turn * range));
                }
            }
        }
        steps.sort_unstable();
        let drawn = if zero_step { cells } else { (cells - 1).max(1) };
        let chance = 1.0 / drawn as f64;
        let mut others = drawn as f64;
        for same in steps.chunk_by(|a, b| a == b).filter(|same| zero_step || same[0] > 0) {
            // One or two pairs leave as many cells fewer. More may share cells.
            let distinct = match same.len() {
                pairs @ 1..=2 => k as usize - pairs,
                _ => {
                    let mut at: Vec<u64> = (0..k).map(|i| place(same[0], i)).collect();
                    at.sort_unstable();
                    at.dedup();
                    at.len()
                }
            };
            found.law[distinct] += chance;
            others -= 1.0;
        }
        found.law[k as usize] += others.max(0.0) * chance;
        found
    }

    /// Positions h1 + i·h2 + (i(i-1)/2)·h3 modulo m: triple hashing.
    ///
    /// Positions i and j coincide if (j - i)·(2·h2 + (i + j - 1)·h3)/2 is zero, and so all pairs of
    /// one sum i + j coincide together: a parabola that folds. For each divisor b of m those pairs
    /// do whose distance is a multiple of b, at φ(b)/m. Keys whose step and bend are multiples of
    /// m/L for a small L have few cells.
    ///
    /// Exact by counting as long as d·m·k is at most 2¹⁸, d being the number of divisors of m: up
    /// to 1,000 cells at any rate that fits in them, and up to some 10,000 if m is prime. Beyond,
    /// this is of first order but for short cycles, which are counted.
    #[must_use]
    pub fn triple(cells: u64, hashes: u32) -> Self {
        let (m, k) = (cells as f64, hashes.min(MAX_HASHES) as usize);
        if let Some(counted) = Self::triple_by_counting(cells, hashes) {
            return counted;
        }
        let mut repeated = [0.0; WIDTH];
        let mut pairs_of = |pairs: usize, chance: f64| {
            repeated[pairs] += chance;
            repeated[0] -= chance;
        };
        for (pairs, odd) in sums(k) {
            for divisor in (1..=2 * pairs).filter(|&b| cells.is_multiple_of(b as u64)) {
                match multiples(pairs, odd, divisor) {
                    0 => {}
                    met => pairs_of(met, f64::from(totient(divisor as u32)) / m),
                }
            }
        }
        pairs_of(1, -((k * k.saturating_sub(1) / 2) as f64) / m);
        let mut found = Self::mixture(cells, hashes, &repeated);
        const LONGEST: u64 = 12;
        for cycle in (1..=LONGEST).filter(|&cycle| cells.is_multiple_of(cycle)) {
            for (step, bend) in (0..cycle).flat_map(|step| (0..cycle).map(move |bend| (step, bend))) {
                let common = greatest_common_divisor(greatest_common_divisor(step, bend), cycle);
                let mut met = [false; LONGEST as usize];
                let places = (0..k as u64).map(|i| (i * step + i * i.saturating_sub(1) / 2 * bend) % cycle);
                places.for_each(|at| met[at as usize] = true);
                let distinct = met.iter().filter(|met| **met).count();
                if common == 1 && 2 * distinct + 3 <= k {
                    found.law[distinct] += 1.0 / m / m;
                    found.law[k] -= 1.0 / m / m;
                }
            }
        }
        found
    }

    /// A factor of step and bend that has no divisor in common with m permutes the cells, and so
    /// every bend stands for all that have its greatest common divisor with m.
    fn triple_by_counting(cells: u64, hashes: u32) -> Option<Self> {
        let mut found = Self::empty(cells, hashes);
        let k = u64::from(found.hashes);
        // What there is to count for one bend; many cells are not even searched for divisors.
        let each = cells.checked_mul(k).filter(|each| (1..=COUNTED).contains(each))?;
        let bends = || (1..=cells).filter(|&bend| cells.is_multiple_of(bend));
        if bends().count() as u64 * each > COUNTED {
            return None;
        }
        let (mut met, mut key) = (alloc::vec![0u64; cells as usize], 0);
        for bend in bends() {
            let alike = f64::from(totient((cells / bend) as u32));
            for step in 0..cells {
                let (mut at, mut by, mut distinct) = (0, step, 0);
                key += 1;
                for _ in 0..k {
                    distinct += usize::from(met[at as usize] != key);
                    met[at as usize] = key;
                    (at, by) = (wrap(at + by, cells), wrap(by + bend, cells));
                }
                found.law[distinct] += alike;
            }
        }
        let all = cells as f64 * cells as f64;
        found.law.iter_mut().for_each(|keys| *keys /= all);
        Some(found)
    }

    /// Positions ⌊m·{h1 + i·h2 + (i(i-1)/2)·h3}⌋, where {} is the fraction modulo 1: the default
    /// scheme.
    ///
    /// A parabola of fractions folds too, the nearer its axis lies to the middle of two positions
    /// the more of its pairs coincide: with v the distance of the axis in cells, the pair of
    /// distance d does with probability 1 - d·v. The chance of each number of pairs is the integral
    /// over v, once for each sum of two positions, and φ(b)/b times for the pairs whose distance is
    /// a multiple of b. That is of first order in 1/m. Two terms of second order are calibrated by
    /// 10⁷ to 10⁸ simulated keys for each of 17 k: folds are divided by m + 0.6k instead of m; and
    /// keys whose step and bend lie near multiples of 1/L have few cells, d of them with
    /// probability `v_d/(m²·k³)`.
    ///
    /// The probability that a query passes, [`passes`](Self::passes), is good to 3 % for k ≤ 13,
    /// and to 10 % for k ≤ 24, in 3k cells and more of which 0.4 to 0.7 are set; to 1 % from 20k
    /// cells on. Terms below 10⁻⁴ of it are left out. Beyond 24 positions in fewer than some
    /// thousand cells it is an upper bound, at 40 positions up to five times too high.
    #[must_use]
    pub fn fractional(cells: u64, hashes: u32) -> Self {
        /// v_d for d = 1, 2, …: simulated, the same within some percent for all k that exceed 2d +
        /// 3.
        const CYCLES: [f64; 12] =
            [10.0, 145.0, 400.0, 1_500.0, 1_500.0, 5_300.0, 6_000.0, 13e3, 15e3, 20e3, 26e3, 50e3];
        let (m, k) = (cells as f64, hashes.min(MAX_HASHES) as usize);
        let mut repeated = folds_known(k.min(FOLDED));
        repeated.iter_mut().for_each(|chance| *chance /= m + 0.6 * k as f64);
        // What is below 10⁻⁴ of the rate at half fill is left out: it would cost time and change the shape of large filters
        // by a cell.
        let share: f64 = repeated.iter().zip(0..).map(|(chance, q)| libm::ldexp(*chance, q)).sum();
        if share < 1e-4 {
            return Self::independent(cells, hashes);
        }
        let mut found = Self::mixture(cells, hashes, &repeated);
        for (few, v) in (1..k.saturating_sub(1) / 2).zip(CYCLES) {
            // Beyond 24 positions cautiously as for 24: sizing must not add positions for the sake of this term.
            let chance = v / (m * m * libm::pow(k.min(24) as f64, 3.0));
            found.law[few] += chance;
            found.law[k] -= chance;
        }
        found
    }

    /// The mean number of distinct cells.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.law.iter().zip(0..).map(|(chance, d)| chance * f64::from(d)).sum()
    }

    /// The false-positive probability after `items` keys of this law, as far as no key resembles
    /// another: the mean, over the d distinct cells of a query, of the probability that all d are
    /// set. No items give 0; no cells or no hashes give 1.
    #[must_use]
    pub fn fpp(&self, items: u64) -> f64 {
        if let Some(answer) = certain(self.cells, items, self.hashes) {
            return answer;
        }
        let (m, mean) = (self.cells as f64, self.mean());
        // As many independent throws as leave as many cells clear as a key does.
        let per_key = libm::log1p(-mean / m) / libm::log1p(-1.0 / m);
        let whole = libm::round(per_key);
        let per_key = if libm::fabs(per_key - whole) < 1e-9 * whole { whole } else { per_key };
        if !per_key.is_finite() {
            return 1.0; // one key covers all cells
        }
        let throws = per_key * items as f64;
        let fill = -libm::expm1(throws * libm::log1p(-1.0 / m));
        // Terms of no weight are left out: by the mean fill they are known well enough.
        let most = self.hashes.min(self.cells.min(MAX_HASHES.into()) as u32) as usize;
        let mut rough = [0.0; WIDTH];
        let mut power = 1.0;
        for (rough, chance) in rough.iter_mut().zip(&self.law).take(most + 1).skip(1) {
            power *= fill;
            *rough = chance * power;
        }
        let largest = rough.iter().copied().fold(0.0, f64::max);
        (1..=most)
            .filter(|&d| rough[d] > 1e-13 * largest)
            .map(|d| self.law[d] * all_hit(self.cells, throws, d as u64))
            .sum::<f64>()
            .min(1.0)
    }

    /// The probability that a query passes where `ones` cells, spread at random, are set.
    ///
    /// ```
    /// use gardenia::theory::distinct::Distinct;
    /// assert!((Distinct::independent(100, 7).passes(50.0) - 0.5f64.powi(7)).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn passes(&self, ones: f64) -> f64 {
        let m = self.cells as f64;
        let mut all = 1.0;
        let sum =
            self.law.iter().zip(0..).skip(1).take(self.hashes as usize).fold(0.0, |sum, (chance, d)| {
                let before = f64::from(d) - 1.0;
                all *= if before < m { ((ones - before) / (m - before)).clamp(0.0, 1.0) } else { 0.0 };
                sum + chance * all
            });
        if self.cells == 0 || self.hashes == 0 { 1.0 } else { sum.clamp(0.0, 1.0) }
    }
}

/// The pairs of positions i < j of each sum i + j, and whether that is odd.
fn sums(k: usize) -> impl Iterator<Item = (usize, bool)> {
    let last = (2 * k).saturating_sub(2);
    (1..last).map(move |sum| (sum.min(last - sum).div_ceil(2), sum % 2 == 1))
}

/// How many of the `pairs` of one sum have a distance that is a multiple of `divisor`: distances
/// are 1, 3, 5, … where the sum is odd, and otherwise twice 1, 2, 3, …, of which half counts.
fn multiples(pairs: usize, odd: bool, divisor: usize) -> usize {
    match (odd, divisor % 2) {
        (true, 0) => 0,
        (true, _) => ((2 * pairs - 1) / divisor).div_ceil(2),
        (false, _) => pairs / divisor,
    }
}

/// Folds are counted for this many positions at most: more would take milliseconds, and rates this
/// low have other floors.
const FOLDED: usize = 48;

/// [`folds`] of up to [`FOLDED`] positions, computed once: sizing a filter asks for the same few
/// numbers of positions hundreds of times.
fn folds_known(k: usize) -> [f64; WIDTH] {
    #[cfg(feature = "std")]
    {
        use std::sync::OnceLock;
        // Not in boxes: what is allocated inside an engine is counted there, and would never go back.
        static KNOWN: [OnceLock<[f64; WIDTH]>; FOLDED + 1] = [const { OnceLock::new() }; FOLDED + 1];
        *KNOWN[k].get_or_init(|| folds(k))
    }
    #[cfg(not(feature = "std"))]
    folds(k)
}

/// For a parabola of fractions: m times the chance that q positions repeat others, beyond that of
/// independent ones.
fn folds(k: usize) -> [f64; WIDTH] {
    let mut repeated = [0.0; WIDTH];
    for parity in [true, false] {
        // How often there is a family of so many pairs.
        let mut families = [0.0; WIDTH / 2 + 1];
        for (pairs, _) in sums(k).filter(|&(_, odd)| odd == parity) {
            // Beyond, no two distances are multiples.
            for divisor in 1..=2 * pairs / 3 + 1 {
                let met = multiples(pairs, parity, divisor);
                families[met] += f64::from(totient(divisor as u32)) / divisor as f64;
            }
        }
        let most = (2..families.len()).rev().find(|&pairs| families[pairs] > 0.0).unwrap_or(0);
        let distance = |pair: usize| if parity { 2 * pair - 1 } else { pair } as f64;
        for nearest in 2..=most {
            // Here the pairs up to `nearest` can coincide: probabilities are polynomials of v.
            let right = 1.0 / distance(nearest);
            let left = if nearest == most { 0.0 } else { 1.0 / distance(nearest + 1) };
            let (centre, half) = ((left + right) / 2.0, (right - left) / 2.0);
            for (node, weight) in GAUSS.iter().flat_map(|&(node, weight)| [(node, weight), (-node, weight)]) {
                let (v, weight) = (centre + half * node, 2.0 * half * weight); // on either side of the axis
                let mut met = [0.0; WIDTH / 2 + 1];
                met[0] = 1.0;
                for (pair, family) in families.iter().enumerate().take(most + 1).skip(1) {
                    let meets = (1.0 - distance(pair) * v).max(0.0);
                    for q in (1..=pair.min(nearest)).rev() {
                        met[q] += (met[q - 1] - met[q]) * meets;
                    }
                    met[0] *= 1.0 - meets;
                    (2..=pair.min(nearest)).for_each(|q| repeated[q] += family * weight * met[q]);
                }
            }
        }
    }
    // Single coincidences are as frequent as among independent positions.
    for q in 2..WIDTH {
        repeated[1] -= q as f64 * repeated[q];
        repeated[0] += (q as f64 - 1.0) * repeated[q];
    }
    repeated
}

/// x with a·x = 1 modulo m, for a and m without a common divisor; 0 for m = 1.
fn inverse(a: u64, m: u64) -> u64 {
    let (mut old, mut new) = ((i128::from(a), 1i128), (i128::from(m), 0i128));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old.1.rem_euclid(i128::from(m)) as u64
}

#[cfg(test)]
mod tests {
    use super::super::testing::SplitMix;
    use super::*;

    /// The share of keys with each number of distinct cells.
    fn count(keys: impl Iterator<Item = Vec<u64>>) -> [f64; WIDTH] {
        let (mut law, mut all) = ([0.0; WIDTH], 0.0);
        for mut key in keys {
            key.sort_unstable();
            key.dedup();
            law[key.len()] += 1.0;
            all += 1.0;
        }
        law.map(|keys| keys / all)
    }

    #[test]
    fn progressions_have_as_many_cells_as_counting_finds() {
        type Offset = (fn(u64) -> u64, bool);
        let offsets: [Offset; 4] =
            [(|_| 0, false), (|i| i * i, true), (|i| i * i * i, true), (|i| (i * i * i - i) / 6, true)];
        for (f, zero_step) in offsets {
            for m in [1u64, 2, 7, 12, 60, 97, 128] {
                for k in [1u64, 2, 5, 9, 14] {
                    let steps = if zero_step || m == 1 { 0..m } else { 1..m };
                    let counted = count(steps.map(|step| (0..k).map(|i| (i * step + f(i)) % m).collect()));
                    let found = Distinct::progression(m, k as u32, f, zero_step);
                    let close = found.law.iter().zip(counted).all(|(a, b)| libm::fabs(a - b) < 1e-12);
                    assert!(
                        close || m == 1,
                        "{m} cells, {k} positions: {:?} {:?}",
                        &found.law[..15],
                        &counted[..15]
                    );
                    assert!((found.law.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{m} {k}");
                }
            }
        }
    }

    /// Where the share `fill` of m cells is set, by simulation with its standard error, and by
    /// theory.
    fn check(found: &Distinct, counted: &[f64; WIDTH], keys: f64, fill: f64, allowed: f64) {
        let ones = libm::round(fill * found.cells as f64);
        let law = |law: &[f64; WIDTH]| Distinct { law: *law, ..found.clone() };
        let passes = law(counted).passes(ones);
        let each = |d: usize| {
            let mut alone = [0.0; WIDTH];
            alone[d] = 1.0;
            law(&alone).passes(ones)
        };
        let square: f64 = (1..WIDTH).map(|d| counted[d] * each(d) * each(d)).sum();
        let error = libm::sqrt((square - passes * passes) / keys) / passes;
        let off = found.passes(ones) / passes - 1.0;
        let (m, k) = (found.cells, found.hashes);
        assert!(off.abs() < allowed + 5.0 * error, "{m} cells, {k} positions, fill {fill}: {off} ± {error}");
    }

    #[test]
    fn the_default_scheme_has_as_many_cells_as_simulation_finds() {
        // What the documentation promises of `fractional`.
        for (k, m, allowed) in [
            (4u64, 16u64, 0.03),
            (7, 21, 0.03),
            (7, 140, 0.01),
            (10, 30, 0.03),
            (10, 200, 0.01),
            (13, 39, 0.03),
            (13, 100, 0.03),
            (13, 260, 0.01),
            (16, 48, 0.1),
            (20, 60, 0.1),
            (20, 150, 0.1),
            (24, 96, 0.1),
        ] {
            let mut random = SplitMix(m * 1000 + k);
            let keys = 400_000;
            let counted = count((0..keys).map(|_| {
                let [x, step, bend] = [0; 3].map(|_: u8| random.next());
                let at = |i: u64| {
                    let at = x.wrapping_add(i.wrapping_mul(step));
                    let at = at.wrapping_add((i * i.saturating_sub(1) / 2).wrapping_mul(bend));
                    ((u128::from(at) * u128::from(m)) >> 64) as u64
                };
                (0..k).map(at).collect()
            }));
            let found = Distinct::fractional(m, k as u32);
            assert!((found.law.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            [0.4, 0.5, 0.6, 0.7]
                .iter()
                .for_each(|fill| check(&found, &counted, f64::from(keys), *fill, allowed));
        }
    }

    #[test]
    fn triple_hashing_has_as_many_cells_as_counting_finds() {
        for (k, m) in [(1u64, 1u64), (5, 2), (5, 64), (7, 101), (10, 120), (13, 240)] {
            let all = (0..m).flat_map(|step| (0..m).map(move |bend| (step, bend)));
            let counted = count(
                all.map(|(s, b)| (0..k).map(|i| (i * s + i * i.saturating_sub(1) / 2 * b) % m).collect()),
            );
            let found = Distinct::triple(m, k as u32);
            let close = found.law.iter().zip(counted).all(|(a, b)| libm::fabs(a - b) < 1e-12);
            assert!(close, "{m} cells, {k} positions: {:?} {:?}", &found.law[..15], &counted[..15]);
        }
    }

    #[test]
    fn triple_hashing_in_many_cells_has_as_many_as_simulation_finds() {
        for (k, m) in [(7u64, 5_040u64), (13, 1_440), (20, 1_600)] {
            assert!(Distinct::triple_by_counting(m, k as u32).is_none());
            let mut random = SplitMix(m * 1000 + k);
            let keys = 400_000;
            let counted = count((0..keys).map(|_| {
                let [x, step, bend] = [0; 3].map(|_: u8| random.next() % m);
                (0..k).map(|i| (x + i * step + i * i.saturating_sub(1) / 2 * bend) % m).collect()
            }));
            let found = Distinct::triple(m, k as u32);
            [0.4, 0.5, 0.6, 0.7]
                .iter()
                .for_each(|fill| check(&found, &counted, f64::from(keys), *fill, 0.05));
        }
    }
}
