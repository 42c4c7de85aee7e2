//! Filters with a choice of groups: how full they get, their rate, their size, and how far one
//! could go.
//!
//! A key has c groups of k positions and sets only one group; a query is positive if some group is
//! all ones: with a share p of ones, `1 - (1 - p^k)^c`. Taken one by one, each key by the group
//! that sets the fewest new bits, the fill follows a differential equation ([`expected_fill`]);
//! keys that are all known up front can be arranged better, down to a floor below which no
//! arrangement exists ([`fill_floor`]).
//!
//! Source: Lumetta and Mitzenmacher, "Using the Power of Two Choices to Improve Bloom Filters"
//! (2007): equations (3.1) and (3.2), Theorem 3.2. Partitioned hashing: Hao, Kodialam and Lakshman,
//! "Building High Accuracy Bloom Filters Using Partitioned Hashing" (2007); its equation and both
//! floors are derived here.

use super::bloom::{self, Estimate, Shape};
use crate::SizeError;
use crate::index::MAX_HASHES;
use alloc::vec;
use alloc::vec::Vec;

/// The probability that a filter with this share of ones finds an absent key: `1 - (1 - fill^k)^c`.
///
/// ```
/// use gardenia::theory::choices::fpp_at_fill;
/// assert!((fpp_at_fill(0.5, 2, 3) - (1.0 - 0.75f64.powi(3))).abs() < 1e-15);
/// assert!((fpp_at_fill(0.5, 20, 3) / (3.0 * 0.5f64.powi(20)) - 1.0).abs() < 1e-5);
/// ```
#[must_use]
pub fn fpp_at_fill(fill: f64, hashes: u32, choices: u32) -> f64 {
    let one = libm::pow(fill.clamp(0.0, 1.0), f64::from(hashes));
    if one >= 1.0 { 1.0 } else { -libm::expm1(f64::from(choices) * libm::log1p(-one)) }
}

/// The expected share of ones after `items` keys, each set by the one of `choices` groups that
/// needs the fewest new bits: `dz/dt = (n/m)·Σ_j Pr(Bin(k, 1-z) ≥ j)^c` from t = 0 to 1.
///
/// Equation (3.2) of Lumetta and Mitzenmacher, for any number of groups; right to `O(1/m)`. For one
/// group it is `1 - e^(-kn/m)`. Fourth-order Runge–Kutta, seven digits. No items, hashes or choices
/// give 0; otherwise no cells give 1.
///
/// ```
/// use gardenia::theory::choices::expected_fill;
/// assert_eq!(format!("{:.4}", expected_fill(160_000, 10_000, 13, 2)), "0.5187"); // Table 2 of the paper
/// assert!((expected_fill(80_000, 10_000, 6, 1) - (1.0 - (-0.75f64).exp())).abs() < 1e-9);
/// ```
#[must_use]
pub fn expected_fill(cells: u64, items: u64, hashes: u32, choices: u32) -> f64 {
    path(cells, &[(items as f64, hashes as usize)], choices).fill
}

/// The false-positive probability expected after `items` keys have come one by one.
///
/// The mean of [`fpp_at_fill`] over the fill's own distribution: by equation (3.1) for up to some
/// hundred keys, by the mean and the variance that belong to equation (3.2) for more. Below 0.5 %
/// off from 1 key to any number (checked by simulation), as long as the rate is a small one. No
/// items give 0; no cells, hashes or choices give 1.
///
/// ```
/// use gardenia::theory::choices::fpp;
/// assert!((fpp(320_000, 10_000, 24, 2) / 1.285e-7 - 1.0).abs() < 0.01); // Table 1 of the paper
/// ```
#[must_use]
pub fn fpp(cells: u64, items: u64, hashes: u32, choices: u32) -> f64 {
    fpp_of(cells, items, hashes, choices, false)
}

/// [`fpp`], where `sliced` says whether each position has a slice of its own, so that no group has
/// a cell twice. Of slices filled unequally the rate is a little lower.
pub(crate) fn fpp_of(cells: u64, items: u64, hashes: u32, choices: u32, sliced: bool) -> f64 {
    if cells == 0 || hashes == 0 || choices == 0 {
        return 1.0;
    }
    if items == 0 {
        return 0.0;
    }
    if choices == 1 {
        let exact = if sliced { bloom::fpp_partitioned } else { bloom::fpp_exact };
        return exact(cells, items, hashes);
    }
    let (throws, k) = (items.saturating_mul(hashes.into()), u64::from(hashes));
    if throws <= FEW
        && throws.saturating_mul(k * k) <= QUICK
        && let Some(ones) = Ones::distribution(cells, items, hashes, choices, sliced)
    {
        return ones.mean_of(|ones| fpp_at_fill(ones / cells as f64, hashes, choices));
    }
    let path = path(cells, &[(items as f64, hashes as usize)], choices);
    path.fpp(hashes, choices)
}

/// Throws up to which [`fpp`] follows the distribution itself.
const FEW: u64 = 1 << 11;

/// Steps that this may take, some milliseconds: sizing asks some hundred times. Above 40 hashes, or
/// with few keys 60, the rate is below 10⁻¹², and the mean and the variance do.
const QUICK: u64 = 2_000_000;

/// The number of hashes with the smallest [`fpp`]; more than a classical filter's, growing with the
/// choices.
///
/// Within 1 and [`MAX_HASHES`]; ties go to the smaller number. No items or no cells give 1.
///
/// ```
/// use gardenia::theory::choices::best_hashes;
/// assert_eq!([1, 2, 3].map(|c| best_hashes(160_000, 10_000, c)), [11, 13, 13]); // Table 1 of the paper
/// ```
#[must_use]
pub fn best_hashes(cells: u64, items: u64, choices: u32) -> u32 {
    let rate = |hashes| fpp_at_fill(expected_fill(cells, items, hashes, choices), hashes, choices);
    best_from(bloom::best_hashes(cells, items), rate)
}

/// The whole number from `start` on, up or down, at which `rate` has its (only) minimum.
pub(crate) fn best_from(start: u32, rate: impl Fn(u32) -> f64) -> u32 {
    let mut best = (start, rate(start));
    for step in [-1i64, 1] {
        while let Ok(next @ 1..=MAX_HASHES) = u32::try_from(i64::from(best.0) + step) {
            let there = rate(next);
            if there > best.1 || (there == best.1 && step > 0) {
                break;
            }
            best = (next, there);
        }
    }
    best.0
}

/// The smallest filter of independent positions that keeps `fpp` once `items` keys have come one by
/// one.
///
/// # Errors
/// As [`bloom::size`].
///
/// ```
/// use gardenia::theory::{bloom, choices};
/// let (two, one) = (choices::shape(10_000, 1e-7, 2)?, bloom::shape(10_000, 1e-7)?);
/// assert!(choices::fpp(two.cells, 10_000, two.hashes, 2) <= 1e-7);
/// assert!(two.cells < one.cells * 98 / 100); // choices pay where many bits per key are wanted
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, fpp: f64, choices: u32) -> Result<Shape, SizeError> {
    bloom::size(items, fpp, |s, items| self::fpp(s.cells, items, s.hashes, choices), |s| s.cells)
}

/// How many keys, come one by one, leave `ones` of `cells` set: equation (3.2) read backwards.
///
/// The standard error is that of the fill, divided by its slope. Both fields are infinite for a
/// full filter, for more ones than cells, and for no cells, hashes or choices.
///
/// ```
/// use gardenia::theory::choices::{estimate_items, expected_fill};
/// let ones = 160_000.0 * expected_fill(160_000, 9_000, 13, 2);
/// assert!((estimate_items(160_000, 13, 2, ones as u64).items - 9_000.0).abs() < 1.0);
/// ```
#[must_use]
pub fn estimate_items(cells: u64, hashes: u32, choices: u32, ones: u64) -> Estimate {
    if ones >= cells || hashes == 0 || choices == 0 {
        return Estimate { items: f64::INFINITY, std_error: f64::INFINITY };
    }
    if ones == 0 {
        return Estimate { items: 0.0, std_error: 0.0 };
    }
    // dt/dz instead of dz/dt: the same path, by equal steps of fill.
    let mut groups = Groups::new(hashes as usize);
    let (m, target) = (cells as f64, ones as f64 / cells as f64);
    let mut slope = |z: f64| m / groups.fewest(1.0 - z, choices).mean;
    let h = target / STEPS as f64;
    let mut items = 0.0;
    let mut at = slope(0.0);
    for i in 0..STEPS {
        // Simpson's rule, which is what Runge and Kutta's comes to where the slope depends on z alone.
        let z = h * i as f64;
        let (middle, end) = (slope(z + h / 2.0), slope(z + h));
        items += h / 6.0 * (at + 4.0 * middle + end);
        at = end;
    }
    let whole = libm::round(items).max(1.0);
    let spread = path(cells, &[(whole, hashes as usize)], choices).variance;
    Estimate { items, std_error: libm::sqrt(spread) * at }
}

/// No set of keys can be stored in `bits_per_item` bits each with a rate below `2^-bits_per_item`,
/// by any means.
///
/// ```
/// assert_eq!(gardenia::theory::choices::fpp_information(8.0), 1.0 / 256.0);
/// ```
#[must_use]
pub fn fpp_information(bits_per_item: f64) -> f64 {
    libm::exp2(-bits_per_item).min(1.0)
}

/// The share of ones below which, for many keys, no choice among c groups of k positions exists.
///
/// There are c^n arrangements, and one of them has a fill of at most ρ with probability about
/// `e^(-m·I(ρ))`, I being the rate at which kn balls in m bins leave only ρm bins taken. Where
/// `n·ln c < m·I(ρ)` the expected number of such arrangements goes to 0. With α = kn/m,
/// `θ/(1 - e^-θ) = α/ρ` and the entropy H in natural units,
/// `I = -H(ρ) - α ln α + α - ρ ln(e^θ - 1) + α ln θ`.
///
/// What can really be reached lies above. No cells give 1, no hashes 0, one choice the fill of a
/// plain filter.
///
/// ```
/// use gardenia::theory::choices::{expected_fill, fill_floor};
/// let floor = fill_floor(8.0, 8, 3);
/// assert!((floor - 0.4689).abs() < 1e-4);
/// assert!(floor < 0.5029 && 0.5029 < expected_fill(80_000, 10_000, 8, 3)); // 40 rounds of Table 3 between
/// ```
#[must_use]
pub fn fill_floor(cells_per_item: f64, hashes: u32, choices: u32) -> f64 {
    floor_of(cells_per_item, f64::from(hashes), libm::log(f64::from(choices.max(1))))
}

/// [`fill_floor`] at `entropy` nats of choice per key.
fn floor_of(cells_per_item: f64, hashes: f64, entropy: f64) -> f64 {
    if cells_per_item.is_nan() || cells_per_item <= 0.0 {
        return 1.0;
    }
    let load = hashes / cells_per_item;
    let (mut low, mut high) = (0.0, -libm::expm1(-load));
    for _ in 0..60 {
        let fill = (low + high) / 2.0;
        if cells_per_item * occupancy_rate(fill, load) > entropy { low = fill } else { high = fill }
    }
    high
}

/// How fast the number of arrangements falls at [`fill_floor`], in natural units per bit: `-I'(ρ)`,
/// which is `ln(e^θ - 1) + ln((1 - ρ)/ρ)`. In terms of physics, the inverse temperature at which
/// the system freezes.
///
/// ```
/// use gardenia::theory::choices::{fill_floor, floor_beta};
/// // With 1 % more choices the floor falls by ln 1.01 / β bits per key.
/// let (b, k) = (8.0, 10);
/// let deeper = |c| fill_floor(b, k, c) * b;
/// let slope = (200f64 / 100.0).ln() / (deeper(100) - deeper(200));
/// assert!((slope / floor_beta(b, k, 141) - 1.0).abs() < 0.01);
/// ```
#[must_use]
pub fn floor_beta(cells_per_item: f64, hashes: u32, choices: u32) -> f64 {
    let fill = fill_floor(cells_per_item, hashes, choices);
    if fill <= 0.0 || fill >= 1.0 {
        return 0.0;
    }
    let theta = crowd_parameter(f64::from(hashes) / cells_per_item / fill);
    log_expm1(theta) + libm::log((1.0 - fill) / fill)
}

/// The rate I(ρ) of [`fill_floor`] for `load` balls per bin; ρ below the usual `1 - e^-load`.
fn occupancy_rate(fill: f64, load: f64) -> f64 {
    let theta = crowd_parameter(load / fill);
    let entropy = -fill * libm::log(fill) - (1.0 - fill) * libm::log1p(-fill);
    -entropy - load * libm::log(load) + load - fill * log_expm1(theta) + load * libm::log(theta)
}

/// The θ of taken bins that hold `crowd` > 1 balls each in the mean: `θ/(1 - e^-θ) = crowd`.
fn crowd_parameter(crowd: f64) -> f64 {
    // θ/(1 - e^-θ) grows from 1 and lies between θ and θ + 1.
    let (mut low, mut high) = ((crowd - 1.0).max(0.0), crowd);
    for _ in 0..60 {
        let theta = (low + high) / 2.0;
        if -theta / libm::expm1(-theta) < crowd { low = theta } else { high = theta }
    }
    (low + high) / 2.0
}

/// `ln(e^x - 1)` without overflow.
fn log_expm1(x: f64) -> f64 {
    x + libm::log(-libm::expm1(-x))
}

/// The expected share of ones when keys that are all known up front are arranged with care: a point
/// on the way from [`expected_fill`] (`share` = 0) down to [`fill_floor`] (`share` = 1).
///
/// That a method reaches the same share of the way for all k and m/n is an observation, not a
/// theorem: the rounds of Lumetta and Mitzenmacher's Table 3 make 0.43 to 0.46 of it with two
/// groups and 0.54 to 0.57 with three, for 8, 16 and 32 bits per key.
///
/// ```
/// use gardenia::theory::choices::{expected_fill_arranged, fpp_at_fill};
/// let fill = expected_fill_arranged(160_000, 10_000, 15, 3, 0.55); // Table 3: 1.582e-4 after 40 rounds
/// assert!((fpp_at_fill(fill, 15, 3) / 1.582e-4 - 1.0).abs() < 0.03);
/// ```
#[must_use]
pub fn expected_fill_arranged(cells: u64, items: u64, hashes: u32, choices: u32, share: f64) -> f64 {
    let online = expected_fill(cells, items, hashes, choices);
    let floor = fill_floor(cells as f64 / items as f64, hashes, choices);
    if items == 0 { online } else { online - share * (online - floor).max(0.0) }
}

/// The expected share of ones with partitioned hashing, after one pass: n keys fall into
/// `partitions` by a hash, and each partition, the largest first, takes the one of `sets` hash sets
/// that needs the fewest new bits.
///
/// Equation (3.2) with partitions in the place of keys: a partition of s keys has groups of s·k
/// positions, and s is Poisson distributed. Further passes only lower it. No items, hashes or sets
/// give 0; otherwise no cells or no partitions give 1.
///
/// ```
/// use gardenia::theory::choices::{expected_fill, expected_fill_partitioned};
/// let fill = expected_fill_partitioned(60_000, 10_000, 7, 2_500, 256);
/// assert!(fill < 0.52 && fill < 0.8 * expected_fill(60_000, 10_000, 7, 1));
/// ```
#[must_use]
pub fn expected_fill_partitioned(cells: u64, items: u64, hashes: u32, partitions: u64, sets: u32) -> f64 {
    if partitions == 0 {
        return 1.0;
    }
    partitioned(cells, items, hashes, partitions, sets)
        .map_or_else(|| bloom::expected_fill(cells, items, hashes), |path| path.fill)
}

/// The false-positive probability to plan for with partitioned hashing: the mean over the fill's
/// distribution.
///
/// Equation (3.2) is for many units: of fewer than 48 partitions, which are near each other in a
/// few words, it expects up to a tenth too few ones. These are expected to gain nothing by
/// choosing, which bounds the probability from above.
pub(crate) fn fpp_partitioned(cells: u64, items: u64, hashes: u32, partitions: u64, sets: u32) -> f64 {
    let path = if partitions < 48 { None } else { partitioned(cells, items, hashes, partitions, sets) };
    path.map_or_else(|| bloom::fpp_exact(cells, items, hashes), |path| path.fpp(hashes, 1))
}

/// The path of [`expected_fill_partitioned`]; `None` where partitions have this many keys that
/// these gain next to nothing.
fn partitioned(cells: u64, items: u64, hashes: u32, partitions: u64, sets: u32) -> Option<Path> {
    let mean = items as f64 / partitions as f64;
    if mean > 64.0 {
        return None; // The sum below would be long, too.
    }
    let (mut chance, mut left) = (libm::exp(-mean), 1.0);
    let mut classes = Vec::new();
    for size in 1..200 {
        left -= chance;
        chance *= mean / f64::from(size);
        classes.push((chance * partitions as f64, size as usize * hashes as usize));
        if left < 1e-9 {
            break;
        }
    }
    classes.reverse();
    Some(path(cells, &classes, sets))
}

/// Mean and standard deviation of the number of ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ones {
    /// E\[X\].
    pub mean: f64,
    /// The standard deviation of X.
    pub std_dev: f64,
}

/// E\[X\] and the deviation of the ones after `items` keys have come one by one, from the
/// distribution of X itself: equation (3.1) of Lumetta and Mitzenmacher, iterated key by key.
///
/// Exact for independent positions: the number of new bits of a group is taken from the exact
/// occupancy distribution, where the paper's binomial is right to `O(1/m)`. Ones less likely than
/// 1e-18 are left out. It takes time for n·k·(the spread of X) and m·k², so it is refused (`None`)
/// above some 2·10⁹ steps: about 100,000 keys. The differential equation ([`expected_fill`]) has no
/// such limit. `None` too for no cells, hashes or choices.
///
/// ```
/// use gardenia::theory::choices::{expected_fill, expected_ones};
/// let ones = expected_ones(8_000, 1_000, 7, 2).unwrap();
/// assert!((ones.mean / 8_000.0 - expected_fill(8_000, 1_000, 7, 2)).abs() < 1e-4);
/// assert!(expected_ones(1 << 40, 1 << 36, 7, 2).is_none());
/// ```
#[must_use]
pub fn expected_ones(cells: u64, items: u64, hashes: u32, choices: u32) -> Option<Ones> {
    let distribution = Ones::distribution(cells, items, hashes, choices, false)?;
    let mean = distribution.mean_of(|ones| ones);
    let variance = distribution.mean_of(|ones| (ones - mean) * (ones - mean));
    Some(Ones { mean, std_dev: libm::sqrt(variance) })
}

/// A distribution over `first..first + chances.len()` ones.
struct Distribution {
    first: usize,
    chances: Vec<f64>,
}

impl Distribution {
    fn mean_of(&self, value: impl Fn(f64) -> f64) -> f64 {
        let terms =
            self.chances.iter().enumerate().map(|(i, chance)| chance * value((self.first + i) as f64));
        terms.sum::<f64>() / self.chances.iter().sum::<f64>()
    }
}

impl Ones {
    /// The distribution of X, or `None` if that is too much work.
    fn distribution(cells: u64, items: u64, hashes: u32, choices: u32, sliced: bool) -> Option<Distribution> {
        const WORK: f64 = 2e9;
        if cells == 0 || hashes == 0 || choices == 0 || hashes > MAX_HASHES {
            return None;
        }
        let (m, n, k) = (cells as f64, items as f64, f64::from(hashes));
        // The spread of X is below that of kn balls in m bins, √m/2, and 1e-18 is nine deviations away.
        let width = (10.0 * libm::sqrt(m)).min(n * k + 1.0);
        let reached = m.min(n * k);
        if n * width * k + reached * k * k > WORK || reached > 1e8 {
            return None;
        }
        let (cells, k) = (cells as usize, hashes as usize);
        // fewest[x·(k+1) + j]: the chance that a key adds j ones to x.
        let top = cells.min(items as usize * k);
        let mut fewest = vec![0.0; (top + 1) * (k + 1)];
        for (ones, row) in fewest.chunks_exact_mut(k + 1).enumerate() {
            row[0] = 1.0;
            for thrown in 0..k {
                for new in (0..=thrown).rev() {
                    // In slices no cell comes twice.
                    let taken = if sliced { ones } else { ones + new };
                    let clear = cells.saturating_sub(taken) as f64 / m;
                    row[new + 1] += row[new] * clear;
                    row[new] *= 1.0 - clear;
                }
            }
            // From one group's distribution to that of the fewest of c: tails to the power c.
            let (mut tail, mut above) = (0.0, 0.0);
            for chance in row.iter_mut().rev() {
                tail += *chance;
                let all = power(tail.min(1.0), choices);
                (*chance, above) = (all - above, all);
            }
        }
        let mut now = Distribution { first: 0, chances: vec![1.0] };
        for _ in 0..items {
            let mut next = vec![0.0; now.chances.len() + k];
            for (i, chance) in now.chances.iter().enumerate() {
                let row = &fewest[(now.first + i).min(top) * (k + 1)..][..k + 1];
                next[i..].iter_mut().zip(row).for_each(|(next, new)| *next += chance * new);
            }
            let kept = |chance: &f64| *chance > 1e-18;
            let start = next.iter().position(kept).unwrap_or(0);
            let end = next.iter().rposition(kept).unwrap_or(0) + 1;
            now.first += start;
            next.truncate(end);
            next.drain(..start);
            now.chances = next;
        }
        Some(now)
    }
}

/// Steps of the differential equations; at 100 seven digits are right.
const STEPS: u32 = 100;

/// Where the fill has gone: its mean, and its variance to first order.
#[derive(Clone, Copy, Debug)]
struct Path {
    fill: f64,
    variance: f64,
}

impl Path {
    /// The mean of [`fpp_at_fill`] to second order: about `fill^k` times
    /// `1 + k(k-1)/2·variance/fill²`.
    fn fpp(self, hashes: u32, choices: u32) -> f64 {
        let k = f64::from(hashes);
        let spread = self.variance / (self.fill * self.fill);
        let mean = libm::pow(self.fill, k) * (1.0 + k * (k - 1.0) / 2.0 * spread);
        if mean >= 1.0 { 1.0 } else { -libm::expm1(f64::from(choices) * libm::log1p(-mean)) }
    }
}

/// Follows equation (3.2) through `classes` one after the other, each a number of units whose
/// groups have some number of positions. Beside it goes the variance:
/// `dv/dt = 2·a'(z)·v + Var(new ones)·n/m²`, with a the slope of z.
fn path(cells: u64, classes: &[(f64, usize)], choices: u32) -> Path {
    let mut path = Path { fill: 0.0, variance: 0.0 };
    let moving = classes.iter().any(|(units, size)| *units > 0.0 && *size > 0);
    if !moving || choices == 0 {
        return path;
    }
    if cells == 0 {
        return Path { fill: 1.0, variance: 0.0 };
    }
    let m = cells as f64;
    let steps = STEPS.div_ceil(classes.len() as u32).max(12);
    let h = 1.0 / f64::from(steps);
    for &(n, size) in classes {
        let mut groups = Groups::new(size);
        let mut new = |fill: f64| groups.fewest(1.0 - fill, choices);
        for _ in 0..steps {
            let Path { fill: z, variance: v } = path;
            let first = new(z);
            let a = n / m * first.mean;
            let b = n / m * new((z + h / 2.0 * a).min(1.0)).mean;
            let c = n / m * new((z + h / 2.0 * b).min(1.0)).mean;
            let d = n / m * new((z + h * c).min(1.0)).mean;
            let next = (z + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)).min(1.0);
            // The slope's own slope over this step, for the variance, which needs few digits.
            let bend = if next > z { (n / m * new(next).mean - a) / (next - z) } else { 0.0 };
            let noise = n / (m * m) * (first.square - first.mean * first.mean).max(0.0);
            path = Path { fill: next, variance: v * libm::exp(2.0 * bend * h) + h * noise };
        }
    }
    path
}

/// `base^exponent` by squaring: a tenth of the time of `pow`, which would be most of the work here.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    power
}

/// Mean and mean square of the new ones that a unit brings.
#[derive(Clone, Copy, Debug)]
struct Fewest {
    mean: f64,
    square: f64,
}

/// Groups of some number of positions, and room for their distribution.
struct Groups {
    log_choose: Vec<f64>,
    tails: Vec<f64>,
}

impl Groups {
    fn new(size: usize) -> Self {
        let factorial = |i: usize| libm::lgamma(i as f64 + 1.0);
        let log_choose = (0..=size).map(|j| factorial(size) - factorial(j) - factorial(size - j)).collect();
        Self { log_choose, tails: vec![0.0; size + 1] }
    }

    /// The fewest clear positions in one of `choices` groups if a share `clear` of the cells is:
    /// with the chance T_j that one group has j or more, `Σ_j T_j^c` in the mean and
    /// `Σ_j (2j-1)·T_j^c` in the square.
    fn fewest(&mut self, clear: f64, choices: u32) -> Fewest {
        let k = self.tails.len() - 1;
        if clear >= 1.0 {
            return Fewest { mean: k as f64, square: (k * k) as f64 };
        }
        if clear <= 0.0 {
            return Fewest { mean: 0.0, square: 0.0 };
        }
        // Binomial weights by their quotients from the likeliest on, so that none of note is lost.
        let odds = clear / (1.0 - clear);
        let mode = (((k + 1) as f64 * clear) as usize).min(k);
        let log =
            self.log_choose[mode] + mode as f64 * libm::log(clear) + (k - mode) as f64 * libm::log1p(-clear);
        let weights = &mut self.tails;
        weights[mode] = libm::exp(log);
        for j in mode + 1..=k {
            weights[j] = weights[j - 1] * odds * (k - j + 1) as f64 / j as f64;
        }
        for j in (0..mode).rev() {
            weights[j] = weights[j + 1] / odds * (j + 1) as f64 / (k - j) as f64;
        }
        let (mut tail, mut mean, mut square) = (0.0, 0.0, 0.0);
        for j in (1..=k).rev() {
            tail += weights[j];
            let all = power(tail.min(1.0), choices);
            mean += all;
            square += (2 * j - 1) as f64 * all;
        }
        Fewest { mean, square }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;

    /// Table 2 of Lumetta and Mitzenmacher: m/n, c, k, the fraction of ones by equation (3.2).
    const TABLE_2: [(u64, u32, u32, &str); 6] = [
        (8, 2, 7, "0.5296"),
        (8, 3, 7, "0.5019"),
        (16, 2, 13, "0.5187"),
        (16, 3, 13, "0.4994"),
        (32, 2, 24, "0.5016"),
        (32, 3, 25, "0.5022"),
    ];

    /// Table 1: m/n, c, k, the observed false-positive probability (1000 trials of 10,000 keys).
    const TABLE_1: [(u64, u32, u32, f64); 8] = [
        (8, 2, 7, 2.323e-2),
        (8, 3, 7, 2.389e-2),
        (16, 2, 12, 3.954e-4),
        (16, 2, 13, 3.935e-4),
        (16, 2, 14, 4.035e-4),
        (16, 3, 13, 3.607e-4),
        (32, 2, 24, 1.285e-7),
        (32, 3, 25, 9.980e-8),
    ];

    #[test]
    fn equation_3_2_gives_the_papers_table_2_to_four_decimals() {
        for (bits, choices, hashes, expected) in TABLE_2 {
            let fill = expected_fill(bits * 10_000, 10_000, hashes, choices);
            assert_eq!(alloc::format!("{fill:.4}"), expected, "m/n = {bits}, c = {choices}");
        }
    }

    #[test]
    fn the_rates_of_the_papers_table_1_are_predicted_to_a_third_of_a_per_cent() {
        for (bits, choices, hashes, observed) in TABLE_1 {
            let found = fpp(bits * 10_000, 10_000, hashes, choices);
            assert!((found / observed - 1.0).abs() < 0.0033, "{bits} {choices} {hashes}: {found:e}");
        }
        for (bits, choices, hashes) in
            [(8, 2, 7), (8, 3, 7), (16, 2, 13), (16, 3, 13), (32, 2, 24), (32, 3, 25)]
        {
            assert_eq!(best_hashes(bits * 10_000, 10_000, choices), hashes, "the paper's best k");
        }
    }

    #[test]
    fn one_choice_is_the_plain_filter() {
        for (cells, items, hashes) in [(80_000u64, 10_000u64, 6u32), (1000, 500, 3), (1 << 30, 1 << 26, 11)] {
            let exact = -libm::expm1(-(items as f64) * f64::from(hashes) / cells as f64);
            assert!((expected_fill(cells, items, hashes, 1) / exact - 1.0).abs() < 1e-8);
            assert_eq!(fpp(cells, items, hashes, 1), bloom::fpp_exact(cells, items, hashes));
            assert_eq!(best_hashes(cells, items, 1), bloom::best_hashes(cells, items));
            let ones = (exact * cells as f64) as u64;
            let (ours, plain) =
                (estimate_items(cells, hashes, 1, ones), bloom::estimate_items(cells, hashes, ones));
            assert!((ours.items / plain.items - 1.0).abs() < 1e-8, "{ours:?} {plain:?}");
            assert!((ours.std_error / plain.std_error - 1.0).abs() < 0.02, "{ours:?} {plain:?}");
        }
        let ones = expected_ones(500, 60, 4, 1).unwrap();
        assert!((ones.mean / 500.0 - bloom::expected_fill(500, 60, 4)).abs() < 1e-12);
    }

    /// Ones after `items` keys with independent positions, by the rule itself.
    fn simulate(random: &mut SplitMix, cells: usize, items: u64, hashes: usize, choices: u32) -> usize {
        let mut bits = vec![false; cells];
        for _ in 0..items {
            let draw = |random: &mut SplitMix| {
                let mut group: Vec<usize> = (0..hashes).map(|_| random.below(cells)).collect();
                group.sort_unstable();
                group.dedup();
                group.retain(|at| !bits[*at]);
                group
            };
            let groups: Vec<Vec<usize>> = (0..choices).map(|_| draw(random)).collect();
            let fewest = groups.iter().min_by_key(|group| group.len()).unwrap();
            fewest.iter().for_each(|at| bits[*at] = true);
        }
        bits.iter().filter(|bit| **bit).count()
    }

    #[test]
    fn equation_3_1_and_the_rate_agree_with_simulation_from_one_key_on() {
        let mut random = SplitMix(31);
        for (cells, items, hashes, choices, trials) in [
            (14, 1, 5, 2, 20_000), // repeats within a group matter
            (60, 5, 8, 3, 20_000),
            (100, 10, 7, 2, 20_000),
            (1_500, 100, 11, 4, 2_000),
            (2_600, 300, 8, 2, 1_000), // beyond what the rate takes from the distribution
            (2_600, 300, 9, 32, 200),
        ] {
            let ones: Vec<f64> =
                (0..trials).map(|_| simulate(&mut random, cells, items, hashes, choices) as f64).collect();
            let (mean, error) = mean_and_error(&ones);
            let (m, k) = (cells as u64, hashes as u32);
            let exact = expected_ones(m, items, k, choices).unwrap();
            assert!((mean - exact.mean).abs() < 5.0 * error, "{mean} ± {error}, {exact:?}");
            let spread = error * libm::sqrt(f64::from(trials));
            let spread_error = spread / libm::sqrt(2.0 * f64::from(trials));
            assert!((spread - exact.std_dev).abs() < 5.0 * spread_error + 1e-9, "{spread} {exact:?}");
            let rates: Vec<f64> = ones.iter().map(|ones| fpp_at_fill(ones / m as f64, k, choices)).collect();
            let (rate, error) = mean_and_error(&rates);
            let told = fpp(m, items, k, choices);
            let allowed = 5.0 * error + 0.005 * told;
            assert!(
                (rate - told).abs() < allowed,
                "{cells} {items} {hashes} {choices}: {rate} ± {error}, {told}"
            );
        }
    }

    #[test]
    fn floors_are_those_of_the_derivation_and_below_all_that_is_reached() {
        let fpp_floor =
            |bits, hashes, choices| fpp_at_fill(fill_floor(bits, hashes, choices), hashes, choices);
        // Best k of each, by an independent evaluation of the formula (double precision, 200 bisections).
        for (bits, choices, hashes, fpp, fill) in [
            (8.0, 2, 8, 8.075_020e-3, 0.502_197),
            (8.0, 3, 9, 6.844_577e-3, 0.508_838),
            (8.0, 8, 11, 5.463_458e-3, 0.515_597),
            (8.0, 32, 13, 4.675_029e-3, 0.507_046),
            (16.0, 2, 15, 1.028_556e-4, 0.517_703),
            (16.0, 32, 20, 3.399_934e-5, 0.502_709),
            (32.0, 3, 28, 1.384_146e-8, 0.503_834),
        ] {
            assert!((fill_floor(bits, hashes, choices) - fill).abs() < 1e-6, "{bits} {choices}");
            assert!((fpp_floor(bits, hashes, choices) / fpp - 1.0).abs() < 1e-6, "{bits} {choices}");
            assert!(fpp > fpp_information(bits));
            for near in [hashes - 1, hashes + 1] {
                assert!(fpp_floor(bits, near, choices) >= fpp);
            }
        }
        // One choice leaves nothing to arrange.
        assert!((fill_floor(8.0, 6, 1) - -libm::expm1(-0.75)).abs() < 1e-7);
        assert_eq!((fill_floor(0.0, 6, 2), fill_floor(f64::NAN, 6, 2)), (1.0, 1.0));
        assert!(fill_floor(8.0, 255, 2) <= 1.0 && fill_floor(1e12, 1, 2) < 1e-11);
    }

    #[test]
    fn sizes_keep_the_rate_and_are_the_smallest() {
        for (items, rate, choices) in [(1, 0.01, 2), (50, 1e-3, 3), (10_000, 0.01, 2), (1_000_000, 1e-6, 4)] {
            let Shape { cells, hashes } = shape(items, rate, choices).unwrap();
            assert!(fpp(cells, items, hashes, choices) <= rate);
            let fewer = cells - (cells / 500_000).max(1);
            assert!(fpp(fewer, items, hashes, choices) > rate, "{items} {rate}");
        }
        assert!(matches!(shape(0, 0.1, 2), Err(SizeError::ZeroItems)));
        assert!(matches!(shape(9, 1.0, 2), Err(SizeError::Fpp(_))));
    }

    #[test]
    fn estimates_read_the_equation_backwards() {
        for (cells, items, hashes, choices) in
            [(80_000, 10_000, 7, 2), (160_000, 5_000, 13, 3), (1000, 40, 9, 32), (80_000, 30_000, 7, 2)]
        {
            let ones = cells as f64 * expected_fill(cells, items, hashes, choices);
            let found = estimate_items(cells, hashes, choices, ones as u64);
            let one_bit = items as f64 / ones * 3.0;
            assert!((found.items - items as f64).abs() < one_bit, "{found:?} {items}");
            assert!(found.std_error > 0.0 && found.std_error < items as f64 * 0.1);
        }
        assert_eq!(estimate_items(100, 3, 2, 0), Estimate { items: 0.0, std_error: 0.0 });
        assert_eq!(estimate_items(100, 3, 2, 100).items, f64::INFINITY);
    }

    #[test]
    fn degenerate_parameters_are_answered() {
        assert_eq!(
            (fpp(0, 1, 1, 1), fpp(1, 0, 1, 1), fpp(1, 1, 0, 1), fpp(1, 1, 1, 0)),
            (1.0, 0.0, 1.0, 1.0)
        );
        assert_eq!((expected_fill(0, 5, 3, 2), expected_fill(5, 0, 3, 2)), (1.0, 0.0));
        assert!(expected_fill(10, 1_000_000, 255, 32) <= 1.0);
        assert_eq!(expected_fill_partitioned(0, 5, 3, 2, 256), 1.0);
        assert_eq!(expected_fill_partitioned(640, 5, 3, 0, 256), 1.0);
        assert_eq!(expected_fill_partitioned(640, 0, 3, 2, 256), 0.0);
        assert!(expected_fill_partitioned(64, 10_000_000, 255, 1, 256) <= 1.0);
        assert_eq!(best_hashes(100, 0, 2), 1);
        assert!(expected_ones(0, 1, 1, 1).is_none());
        assert_eq!(fpp_at_fill(1.0, 5, 3), 1.0);
        assert_eq!(floor_beta(0.0, 5, 2), 0.0);
    }
}
