//! What it costs to derive all k positions from two hash values instead of drawing them
//! independently.
//!
//! Kirsch and Mitzenmacher prove that the false-positive probability tends to the classical one as
//! n grows at fixed m/n. At finite size every scheme has an excess. One part is that the positions
//! of a single key coincide by another law ([`distinct`](super::distinct)). The other is here: two
//! keys that agree in few bits can agree in many positions; that does not fall with k, and so it
//! sets a floor to what a scheme can promise:
//!
//! | positions, i = 0..k | keys that meet |
//! | --- | --- |
//! | `h1 + i·h2` | [`progression_excess`], most of it [`same_step_excess`] |
//! | `h1 + i·h2` with odd h2 | [`odd_progression_excess`] |
//! | `h1 + i·h2 + i²` | [`parabola_excess`] |
//! | `h1 + i·h2 + i³`, or with `+ (i³ - i)/6` | [`coincidence_excess`] |
//! | `h1 + i·h2` in slice i | [`partition_excess`] |
//!
//! All are first-order terms: what one stored key adds, times n. They lie between 0 and 1; an input
//! that is not a number gives 1, the cautious answer, wherever it matters. The fraction of ones
//! does not show the excess: it is a matter of queries that meet stored keys, so `fill^k` is blind
//! to it.
//!
//! Sources: Kirsch and Mitzenmacher, "Less Hashing, Same Performance: Building a Better Bloom
//! Filter" (2008), for the schemes and their limit; Dillinger and Manolios, "Bloom Filters in
//! Probabilistic Verification" (2004), for (i³ - i)/6. The finite-size terms were worked out for
//! this project; the tests simulate them.

use crate::index::MAX_HASHES;

/// The excess from stored keys whose step is that of the query, or its negative:
/// `2·(2/(1-p) - 1)·n/(m·S)`.
///
/// Two progressions with one step overlap after a shift by s and leave only |s| positions to
/// chance: `Σ_s p^|s| = 2/(1-p) - 1`, for each of n keys and either sign, at a chance of 1/m for
/// the shift and 1/S for the step. `steps` is S, the number of admissible steps: m - 1 for any but
/// 0, m/2 for odd ones and even m, φ(m) for coprime ones. Adding i² does not help, since a shifted
/// square is a square with another step. Valid while p^k is small against 1. No items give 0;
/// otherwise a full filter, no cells or no steps give 1.
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

/// The excess from stored keys that meet a query in several positions, under `h1 + i·h2`.
///
/// Position i of the query and j of the key are a point of a k × k grid. Two points in which they
/// meet fix the key's two values, and all points of the line through them follow. A line of c
/// points leaves k - c positions to the other keys, which fill a share p of the cells. That is
/// counted over what independent positions do:
///
/// ```text
/// n/(m·S) · Σ_lines φ(g) · (p^(k-c) - Σ_{j ≤ 2} C(c,j)·(1-p)^j·p^(k-j))
/// ```
///
/// over the lines of all directions (a, b), where g is the common divisor of a and b; one that does
/// not divide m has no lines. And two points whose distances both share g with m are met g times as
/// often as by independent positions. Slopes of ±1 are [`same_step_excess`]; others are keys whose
/// step is twice the query's, and so on. `steps` is S, as there.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::{progression_excess, same_step_excess};
/// let [all, most] =
///     [progression_excess(16_001, 20, 1e3, 0.5, 16e3), same_step_excess(16_001, 1e3, 0.5, 16e3)];
/// assert!(all > most && all < 1.03 * most);
/// // Fewer positions leave fewer to chance, and other slopes count: 12 % at 11 positions.
/// let all = progression_excess(16_001, 11, 1e3, 0.5, 16e3);
/// assert!(all > 1.1 * most && all < 1.15 * most);
/// ```
#[must_use]
pub fn progression_excess(cells: u64, hashes: u32, items: f64, fill: f64, steps: f64) -> f64 {
    let met = Met::new(cells, hashes, items, fill);
    per_pair(cells as f64 * steps.max(0.0), items, progressions(&met, |_, _| 1.0))
}

/// [`progression_excess`] where steps are odd, and m is a multiple of a power of two that is not
/// below k.
///
/// Multiples of odd steps agree only if the same power of two divides both: points of other
/// distances are never met, and the rest twice as often as with any step. Keys whose steps both
/// have all odd factors of m are left out: few, unless m is small.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::{odd_progression_excess, same_step_excess};
/// let most = same_step_excess(16_000, 1e3, 0.5, 8e3); // m/2 steps: 12n/m²
/// assert!((odd_progression_excess(16_000, 27, 1e3, 0.5) / most - 1.0).abs() < 0.01);
/// ```
#[must_use]
pub fn odd_progression_excess(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
    let met = Met::new(cells, hashes, items, fill);
    let alike = |a: u32, b: u32| if a.trailing_zeros() == b.trailing_zeros() { 2.0 } else { 0.0 };
    per_pair(cells as f64 * cells as f64, items, progressions(&met, alike))
}

/// The sum over the lines in which two progressions meet. Points of distance (a, b) are met
/// `oftener(a, b)` times as often as with any step.
fn progressions(met: &Met, oftener: impl Fn(u32, u32) -> f64) -> f64 {
    let (k, cells) = (met.hashes, met.cells);
    let far = k.saturating_sub(1) / 2; // three points
    let directions = (1..=far).flat_map(|a| (1..=far).map(move |b| (a, b)));
    directions.fold(met.pairs(true, &oftener), |sum, (a, b)| {
        let common = greatest_common_divisor(a.into(), b.into());
        if cells == 0 || !cells.is_multiple_of(common) {
            return sum;
        }
        // As many runs of c points; two of c + 1 start or end one point further, and overlap in one of c + 2.
        let runs = |points: u32| {
            let left = |each: u32| f64::from(k.saturating_sub((points - 1) * each));
            left(a) * left(b)
        };
        let whole = (3..=(k - 1) / a.max(b) + 1)
            .map(|points| (points, runs(points) - 2.0 * runs(points + 1) + runs(points + 2)));
        let lines: f64 =
            whole.map(|(points, lines)| lines * met.line(points, common == 1, oftener(a, b))).sum();
        sum + 2.0 * f64::from(totient(common as u32)) * lines
    })
}

/// The excess from stored keys that meet a query in several positions, under `h1 + i·h2 + i²`.
///
/// As [`progression_excess`] for lines of slope ±1, since a shifted square is a square with another
/// step.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::parabola_excess;
/// assert!((parabola_excess(16_001, 20, 1e3, 0.5) / (6.0 * 1e3 / 16_001f64.powi(2)) - 1.0).abs() < 0.01);
/// ```
#[must_use]
pub fn parabola_excess(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
    let met = Met::new(cells, hashes, items, fill);
    let shifts = (1..met.hashes).map(|shift| 2.0 * met.diagonal(met.hashes - shift));
    let lines = 2.0 * shifts.fold(met.diagonal(met.hashes), |sum, lines| sum + lines);
    per_pair(cells as f64 * cells as f64, items, lines + met.pairs(true, |_, _| 1.0))
}

/// The excess from stored keys that agree with the query in both hash values: about `n/m²`.
///
/// All that is left with a cubic term, `i³` or `(i³ - i)/6`, under which no shift maps one key's
/// positions onto another's. For each divisor b of m keys with a step that differs by a multiple of
/// m/b meet in every b-th position; and under `i³` (`whole`), as in [`progression_excess`],
/// distances that share a factor with m are met more often. No items give 0; otherwise no cells
/// give 1.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::coincidence_excess;
/// assert!((coincidence_excess(1_009, 30, 50.0, 0.5, true) / (50.0 / 1_009f64.powi(2)) - 1.0).abs() < 1e-6);
/// ```
#[must_use]
pub fn coincidence_excess(cells: u64, hashes: u32, items: f64, fill: f64, whole: bool) -> f64 {
    let met = Met::new(cells, hashes, items, fill);
    let pairs = if whole { met.pairs(true, |_, _| 1.0) } else { 0.0 };
    // Three points lie on a parabola, whatever the offset, and can be met the other way round.
    let mirrored = if met.hashes == 3 { 2.0 } else { 1.0 };
    per_pair(cells as f64 * cells as f64, items, mirrored * met.diagonal(met.hashes) + pairs)
}

/// The excess of triple hashing from stored keys that meet a query in two positions: what lies
/// between two positions is a multiple of their distance, or half of it, and where that shares a
/// factor with m the keys meet more often than independent positions do. Nothing if m is prime.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::triple_excess;
/// assert_eq!(triple_excess(101, 6, 10.0, 0.5), 0.0);
/// assert!(triple_excess(120, 6, 10.0, 0.5) > 1e-4);
/// ```
#[must_use]
pub fn triple_excess(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
    let met = Met::new(cells, hashes, items, fill);
    let k = u64::from(met.hashes);
    // How many pairs of positions have a distance with this factor.
    let mut factors = [0.0; MAX_HASHES as usize + 1];
    for apart in 1..k {
        for sum in (apart..2 * k - apart).step_by(2).take((k - apart) as usize) {
            let between = if sum % 2 == 1 { apart } else { apart / 2 };
            factors[greatest_common_divisor(between, cells).min(MAX_HASHES.into()) as usize] += 1.0;
        }
    }
    let shared = |(a, b): (u64, u64)| greatest_common_divisor(a, b) as f64 - 1.0;
    let both = (1..k).flat_map(|a| (1..k).map(move |b| (a, b)));
    let more: f64 = both.map(|(a, b)| factors[a as usize] * factors[b as usize] * shared((a, b))).sum();
    per_pair(cells as f64 * cells as f64, items, 2.0 * more * met.two)
}

/// The excess from coincidence when each position has a slice of its own: about `n·k²/m²`.
///
/// Slices tie positions to their index, so that shifts do no harm, but the two hash values range
/// over m/k cells only. The largest excess of all. No items or no hashes give 0; otherwise no cells
/// give 1.
///
/// ```
/// use gardenia::theory::kirsch_mitzenmacher::partition_excess;
/// let expected = 50.0 / 101f64.powi(2); // coincidence in 101 cells
/// assert!((partition_excess(30 * 101, 30, 50.0, 0.5) / expected - 1.0).abs() < 1e-6);
/// ```
#[must_use]
pub fn partition_excess(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
    if hashes == 0 {
        return 0.0;
    }
    let slice = cells / u64::from(hashes);
    let met = Met::new(slice, hashes, items, fill);
    per_pair(slice as f64 * slice as f64, items, met.diagonal(met.hashes) + met.pairs(false, |_, _| 1.0))
}

/// What one stored key adds by meeting the query in several positions, times the number of keys
/// there are.
struct Met {
    cells: u64,
    hashes: u32,
    /// What c points add over what independent positions do with up to two of them; and what those
    /// do with more.
    points: [[f64; 2]; MAX_HASHES as usize + 1],
    /// What two points add.
    two: f64,
}

impl Met {
    fn new(cells: u64, hashes: u32, items: f64, fill: f64) -> Self {
        let hashes = hashes.min(MAX_HASHES);
        // The share of cells that the other keys fill: one key alone has none beside it.
        let others = libm::log1p(-fill.clamp(0.0, 1.0)) * (items - 1.0).max(0.0) / items;
        let fill = if items > 1.0 { -libm::expm1(others) } else { items * 0.0 + fill * 0.0 };
        let (k, clear, m) = (hashes as usize, 1.0 - fill, cells as f64);
        let mut power = [1.0; MAX_HASHES as usize + 1];
        (1..power.len()).for_each(|i| power[i] = power[i - 1] * fill);
        let mut points = [[0.0; 2]; MAX_HASHES as usize + 1];
        for c in 3..=k {
            let (mut choose, mut clears) = (1.0, 1.0);
            let [mut beyond, mut chance] = [power[k - c], 0.0];
            for j in 0..=c {
                // C(c,j)·(1-p)^j·p^(k-j); independent positions meet in j given points with probability 1/m^j.
                let term = choose * clears * power[k - j];
                match j {
                    0..=2 => beyond -= term,
                    _ => chance += term * libm::pow(m, 2.0 - j as f64),
                }
                choose *= (c - j) as f64 / (j + 1) as f64;
                clears *= clear;
            }
            // Not `max`, which hides what is not a number.
            points[c] = [if beyond < 0.0 { 0.0 } else { beyond }, chance];
        }
        let two = if k < 2 { 0.0 } else { clear * clear * power[k - 2] };
        Self { cells, hashes, points, two }
    }

    /// What a line of so many points adds that is met `oftener` times; of those that independent
    /// positions have, too, or of others.
    fn line(&self, points: u32, plain: bool, oftener: f64) -> f64 {
        let [beyond, chance] = self.points.get(points as usize).copied().unwrap_or_default();
        oftener * beyond - if plain { chance } else { 0.0 }
    }

    /// The sum over the lines of one diagonal with `points` points: with the steps of the two keys
    /// equal, or different by a multiple of m/b, b of which lines have every b-th point.
    fn diagonal(&self, points: u32) -> f64 {
        let divisors = (1..=points.div_ceil(2)).filter(|&b| self.cells.is_multiple_of(b.into()));
        divisors.fold(0.0, |sum, b| {
            let (longer, shorter) = (points % b, b - points % b);
            let line = |points| self.line(points, b == 1, 1.0);
            let lines = f64::from(longer) * line(points / b + 1) + f64::from(shorter) * line(points / b);
            sum + f64::from(totient(b)) * lines
        })
    }

    /// The sum over all pairs of points, `all` of the grid or those of its diagonal: how much
    /// oftener than by independent positions they are met.
    fn pairs(&self, all: bool, oftener: impl Fn(u32, u32) -> f64) -> f64 {
        let k = u64::from(self.hashes);
        let more = |a: u64, b: u64| {
            let common = greatest_common_divisor(greatest_common_divisor(a, b), self.cells) as f64;
            oftener(a as u32, b as u32) * common - 1.0
        };
        let pairs: f64 = if self.cells == 0 {
            0.0
        } else if all {
            let directions = (1..k).flat_map(|a| (1..k).map(move |b| (a, b)));
            directions.map(|(a, b)| 2.0 * ((k - a) * (k - b)) as f64 * more(a, b)).sum()
        } else {
            (1..k).map(|a| (k - a) as f64 * more(a, a)).sum()
        };
        pairs * self.two
    }
}

/// A sum over lines, for `items` stored keys that are on each with probability 1/`ways`.
fn per_pair(ways: f64, items: f64, lines: f64) -> f64 {
    if items <= 0.0 { 0.0 } else { probability(items * lines / ways) }
}

/// The greatest common divisor; of 0 and n it is n.
pub(crate) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A sum of first-order terms as a probability; 1 for what is not a number.
fn probability(sum: f64) -> f64 {
    if sum.is_nan() { 1.0 } else { sum.clamp(0.0, 1.0) }
}

/// Euler's φ: how many of 1..=n share no factor with n. For n ≤ 255 trial division is enough.
pub(super) fn totient(n: u32) -> u32 {
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

    /// The measured excess is clearly there, and what the formula says: to 15%, being of first
    /// order.
    fn check((mean, error): (f64, f64), without: f64, excess: f64) {
        let measured = mean - without;
        assert!(excess > 20.0 * error && excess > without, "cannot be seen: {excess} {without} ± {error}");
        let allowed = f64::max(5.0 * error, 0.15 * excess);
        assert!((measured - excess).abs() < allowed, "measured {measured} ± {error}, formula {excess}");
    }

    fn below(random: &mut SplitMix, bound: u32) -> u32 {
        random.below(bound as usize) as u32
    }

    /// The excess from steps with few multiples modulo m: `(1/m)·Σ_{L | m, L < k} φ(L)·p^L`.
    ///
    /// A step h2 visits only L = m/gcd(h2, m) different cells, and φ(L) of the m steps do so. With
    /// `zero_step` false the step 0, which visits one cell, is never drawn, and the step is uniform
    /// among the other m - 1. Filters count it with all else that makes positions of one key
    /// coincide ([`distinct`](super::super::distinct)); here it is what is left of a simulation.
    fn short_cycle_excess(cells: u32, hashes: u32, fill: f64, zero_step: bool) -> f64 {
        let (shortest, steps) = if zero_step { (1, cells) } else { (2, cells - 1) };
        let cycles = (shortest..hashes).filter(|&cycle| cells.is_multiple_of(cycle));
        let visits = |cycle| f64::from(totient(cycle)) * libm::pow(fill, f64::from(cycle));
        cycles.map(visits).sum::<f64>() / f64::from(steps)
    }

    #[test]
    fn short_cycles_are_counted_by_their_length() {
        // m = 6, k = 4: one step of cycle 1, one of cycle 2, two of cycle 3.
        assert!((short_cycle_excess(6, 4, 0.5, true) - (0.5 + 0.25 + 2.0 * 0.125) / 6.0).abs() < 1e-15);
        assert!((short_cycle_excess(6, 4, 0.5, false) - (0.25 + 2.0 * 0.125) / 5.0).abs() < 1e-15);
    }

    #[test]
    fn double_hashing_over_a_prime_suffers_from_equal_steps_only() {
        let m = 3191;
        let trial = Trial::new(m, 100, 1_000, 20_000);
        let found = trial.run(|r| (below(r, m), 1 + below(r, m - 1)), |h1, h2, i| (h1 + i * h2) % m);
        assert_eq!(short_cycle_excess(m, trial.hashes, trial.fill(), false), 0.0);
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
            let cycles = short_cycle_excess(m, trial.hashes, trial.fill(), zero_step);
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
            odd_progression_excess(m.into(), trial.hashes, 200.0, trial.fill()),
        );
    }

    /// One stored key and one query at a time, all of them: nothing is left to chance, or to the
    /// first order.
    #[test]
    #[ignore = "a long sweep, run by ./check engines"]
    fn keys_meet_as_often_as_counting_finds() {
        let fill = 0.5f64;
        let offsets: [fn(u32) -> u32; 3] = [|_| 0, |i| i * i, |i| i * i * i];
        for (m, k) in [(499u32, 9u32), (503, 7)] {
            for (way, f) in offsets.iter().enumerate() {
                let keys: Vec<Vec<u32>> = (0..m * m)
                    .map(|key| (0..k).map(|i| (key / m + i * (key % m) + f(i)) % m).collect())
                    .collect();
                let (power, clear) = (|exponent: usize| libm::pow(fill, exponent as f64), 1.0 - fill);
                // A query of distinct positions that starts at 0, and every key of distinct positions.
                let distinct = |key: &&Vec<u32>| (1..key.len()).all(|i| !key[..i].contains(&key[i]));
                let queries: Vec<&Vec<u32>> =
                    keys[..m as usize].iter().step_by(13).filter(distinct).collect();
                let mut sum = 0.0;
                for query in &queries {
                    let mut marked = vec![false; m as usize];
                    query.iter().for_each(|&at| marked[at as usize] = true);
                    for key in keys.iter().filter(distinct) {
                        let met = key.iter().filter(|&&at| marked[at as usize]).count();
                        let (k, c) = (k as usize, met as f64);
                        let up_to_two = power(k)
                            + c * clear * power(k - 1)
                            + c * (c - 1.0) / 2.0 * clear * clear * power(k - 2);
                        if met > 2 {
                            sum += power(k - met) - up_to_two;
                        }
                    }
                }
                let counted = sum / queries.len() as f64;
                let ways = f64::from(m) * f64::from(m);
                let alone = 1e3; // as many keys that fill is that of the others
                let found = match way {
                    0 => progression_excess(m.into(), k, alone, fill, m.into()),
                    1 => parabola_excess(m.into(), k, alone, fill),
                    _ => coincidence_excess(m.into(), k, alone, fill, true),
                };
                let found = found / alone * ways;
                // Three positions that are on no line of the formula meet by chance, too: up to twice as often as independent
                // ones, and never under h1 + i·h2 with m prime. There the formula leaves out the 0.1 % that independent positions have.
                let triples = f64::from(k * (k - 1) * (k - 2));
                let chance =
                    triples * triples / 6.0 / f64::from(m) * power(k as usize - 3) * libm::pow(clear, 3.0);
                let most = if way == 0 { 2e-3 * counted } else { 2.0 * chance };
                let off = counted - found;
                assert!((0.0..most).contains(&off), "{m} {k} {way}: {found}, {counted} counted");
            }
        }
    }

    /// One stored key and one query at a time, all of them with odd steps.
    #[test]
    fn keys_of_odd_steps_meet_as_often_as_counting_finds() {
        let fill = 0.5f64;
        for (m, k) in [(512u32, 7u32), (1_024, 8), (1_024, 9)] {
            let steps = || (1..m).step_by(2);
            let (mut sum, mut queries) = (0.0, 0.0);
            for query in steps().step_by(7) {
                let mut marked = vec![false; m as usize];
                (0..k).for_each(|i| marked[(i * query % m) as usize] = true);
                queries += 1.0;
                for (start, step) in (0..m).flat_map(|start| steps().map(move |step| (start, step))) {
                    let met = (0..k).filter(|i| marked[((start + i * step) % m) as usize]).count();
                    sum += libm::pow(fill, f64::from(k) - met as f64);
                }
            }
            // Over what k distinct cells do that are drawn apart: as many of them are met as by chance.
            let (cells, k_real) = (f64::from(m), f64::from(k));
            let mut chance =
                (0..k).fold(1.0, |all, i| all * (cells - k_real - f64::from(i)) / (cells - f64::from(i)));
            let mut apart = 0.0;
            for met in 0..=k {
                let met = f64::from(met);
                apart += chance * libm::pow(fill, k_real - met);
                let left = k_real - met;
                chance *= left * left / ((met + 1.0) * (cells - 2.0 * k_real + met + 1.0));
            }
            let counted = (sum / queries / (cells * cells / 2.0) - apart) * cells * cells;
            let found = odd_progression_excess(m.into(), k, 1e3, fill) / 1e3 * cells * cells;
            // Three positions that are on no line of the formula never meet; those of cells drawn apart do, by chance.
            let triples = k_real * (k_real - 1.0) * (k_real - 2.0);
            let by_chance =
                triples * triples / 6.0 / cells * libm::pow(fill, k_real - 3.0) * libm::pow(1.0 - fill, 3.0);
            assert!(
                (0.0..2.0 * by_chance).contains(&(found - counted)),
                "{m} {k}: {found}, {counted} counted"
            );
        }
    }

    #[test]
    fn a_square_does_not_help_but_ends_the_cycles() {
        let m = 3200;
        let trial = Trial::new(m, 100, 1_000, 20_000);
        let found = trial.run(|r| (below(r, m), below(r, m)), |h1, h2, i| (h1 + i * h2 + i * i) % m);
        check(found, trial.independent(), same_step_excess(u64::from(m), 100.0, trial.fill(), f64::from(m)));
    }

    #[test]
    fn cubic_terms_leave_coincidence_only() {
        let m = 800;
        let trial = Trial::new(m, 25, 1_000, 20_000);
        let draw = |r: &mut SplitMix| (below(r, m), below(r, m));
        let excess = coincidence_excess(u64::from(m), trial.hashes, 25.0, trial.fill(), true);
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
        check(found, independent, partition_excess(u64::from(trial.cells), 17, 1_000.0, trial.fill()));
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
                    let one = coincidence_excess(cells, hashes, a, b, hashes > 1);
                    let slices = partition_excess(cells, hashes, a, b);
                    let parabola = parabola_excess(cells, hashes, a, b);
                    let line = progression_excess(cells, hashes.min(30), a, b, a);
                    let odd = odd_progression_excess(cells, hashes.min(30), a, b);
                    let all = [one, slices, parabola, line, odd];
                    assert!(all.iter().all(|p| (0.0..=1.0).contains(p)), "{cells} {hashes} {a} {b}: {all:?}");
                }
            }
        }
        // Full, without cells or without steps: certain, unless nothing is stored.
        assert_eq!(
            (same_step_excess(100, 1.0, 1.0, 99.0), same_step_excess(100, 0.0, 1.0, 99.0)),
            (1.0, 0.0)
        );
        assert_eq!((same_step_excess(0, 1.0, 0.5, 99.0), same_step_excess(100, 1.0, 0.5, 0.0)), (1.0, 1.0));
        assert_eq!((coincidence_excess(0, 9, 1.0, 0.5, true), partition_excess(0, 9, 1.0, 0.5)), (1.0, 1.0));
        assert_eq!((coincidence_excess(0, 9, 0.0, 0.5, true), partition_excess(5, 0, 1.0, 0.5)), (0.0, 0.0));
        assert_eq!(coincidence_excess(100, 9, 2.0, f64::NAN, true), 1.0);
        assert_eq!(same_step_excess(10, f64::NAN, 0.5, 9.0), 1.0);
    }
}
