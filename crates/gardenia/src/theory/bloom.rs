//! The classical filter: its false-positive probability, its best shape, and what its ones tell.
//!
//! n keys set k positions each in an array of m bits; a key never inserted is reported when all its
//! positions happen to be set. The textbook rate puts the *mean* fill to the power k. The true rate
//! is the mean of the power, which is larger, and the difference matters for small filters: sizing
//! by the textbook formula misses the target. [`fpp`] is the textbook, [`fpp_exact`] the truth, and
//! [`shape`] sizes by the truth.
//!
//! Sources: Bloom, "Space/time trade-offs in hash coding with allowable errors" (1970); Grothoff,
//! "A Quick Introduction to Bloom Filters", formula (1) and the choice of k; Bose et al., "On the
//! false-positive rate of Bloom filters" (2008), for the exact probability.

use core::f64::consts::LN_2;

use crate::SizeError;
use crate::index::{MAX_CELLS, MAX_HASHES};

/// How large a filter is and how many cells each key touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits or counters (m).
    pub cells: u64,
    /// Positions per key (k).
    pub hashes: u32,
}

/// The textbook false-positive probability after `items` keys: `(1 - (1 - 1/m)^(kn))^k`.
///
/// Grothoff's formula (1). It replaces the fill by its mean and so is too low, by a relative
/// `O(1/n)`; [`fpp_exact`] has no such error. Relative accuracy is about 1e-13 for k ≤ 255 and any
/// m and n, tiny results included. No items give 0; no cells or no hashes exclude nothing and give
/// 1.
///
/// ```
/// use gardenia::theory::bloom::fpp;
/// // 8 bits per key: 6 hashes beat 5, though 8·ln 2 = 5.55 says neither.
/// assert!((fpp(80_000, 10_000, 6) - 0.021578).abs() < 1e-6);
/// assert!((fpp(80_000, 10_000, 5) - 0.021680).abs() < 1e-6);
/// assert_eq!(fpp(80_000, 0, 6), 0.0);
/// ```
#[must_use]
pub fn fpp(cells: u64, items: u64, hashes: u32) -> f64 {
    match certain(cells, items, hashes) {
        Some(answer) => answer,
        None => libm::pow(expected_fill(cells, items, hashes), f64::from(hashes)),
    }
}

/// The limit of the false-positive probability for many items: `(1 - e^(-k/b))^k` at b cells per
/// item.
///
/// Bloom (1970), as every later paper writes it; all index schemes tend to it as n grows at fixed
/// b. No cells per item (`b ≤ 0`) or no hashes give 1, infinitely many cells 0, and NaN gives NaN.
///
/// ```
/// use gardenia::theory::bloom::fpp_asymptotic;
/// assert!((fpp_asymptotic(8.0, 6) - 0.0215771).abs() < 5e-8);
/// assert_eq!(fpp_asymptotic(0.0, 6), 1.0);
/// ```
#[must_use]
pub fn fpp_asymptotic(cells_per_item: f64, hashes: u32) -> f64 {
    if cells_per_item <= 0.0 || hashes == 0 {
        return 1.0;
    }
    let k = f64::from(hashes);
    libm::pow(-libm::expm1(-k / cells_per_item), k)
}

/// The true false-positive probability for k independent uniform positions per key: the mean of
/// `fill^k`.
///
/// With N = kn throws into m cells it is
///
/// ```text
/// Σ_j Pr(the query has j distinct cells) · Σ_b Bin(N, j/m)(b) · Pr(b throws into j cells hit all j)
/// ```
///
/// where b counts the throws that land among the query's cells. It equals the formula of Bose et
/// al. (2008), `m^(-k(n+1)) · Σ_i i^k · i! · C(m,i) · S(kn,i)`, but has positive terms only, where
/// the usual inclusion–exclusion loses every digit, and its cost depends on k alone.
///
/// Relative error below 1e-11 for every m and n; results below 1e-290 may come out as 0. Takes some
/// 3 µs for k ≤ 10, 40 µs for k ≤ 30 and at most some 20 ms, for k = 255 in a few hundred cells. No
/// items give 0; no cells or no hashes give 1. For more than [`MAX_HASHES`] hashes, which no filter
/// has, this is [`fpp`].
///
/// ```
/// use gardenia::theory::bloom::{fpp, fpp_exact};
/// // One key that sets 2 of 2 cells at random: they differ with probability 1/2 and then every query hits;
/// // else a query hits the one cell twice with probability 1/4.
/// assert!((fpp_exact(2, 1, 2) - (0.5 + 0.5 * 0.25)).abs() < 1e-15);
/// assert!((fpp(2, 1, 2) - 0.5625).abs() < 1e-15); // the textbook is too low
/// ```
#[must_use]
pub fn fpp_exact(cells: u64, items: u64, hashes: u32) -> f64 {
    match certain(cells, items, hashes) {
        Some(answer) => answer,
        None if hashes > MAX_HASHES => fpp(cells, items, hashes),
        None => fpp_of(cells, items as f64, hashes),
    }
}

/// [`fpp_exact`] for a number of items that is a mean; at least 1 cell, 1 item and 1 to
/// [`MAX_HASHES`] hashes.
pub(super) fn fpp_of(cells: u64, items: f64, hashes: u32) -> f64 {
    let mut distinct = Occupancy::new(cells as f64, hashes as usize);
    (0..hashes).for_each(|_| distinct.throw());

    let throws = f64::from(hashes) * items;
    let (mut total, mut last) = (0.0, 0.0);
    for j in (1..=u64::from(hashes).min(cells)).rev() {
        let term = distinct.of(j as usize) * all_hit(cells, throws, j);
        total += term;
        // Both factors are log-concave in j, so that terms which fall keep falling at least as fast.
        if term < last && term < NEGLIGIBLE * total {
            break;
        }
        last = term;
    }
    total.min(1.0)
}

/// The false-positive probability with one position in each of k slices: `(1 - (1 - 1/m')^n)^k`,
/// `m' = m/k`.
///
/// Exact for independent positions (Kirsch and Mitzenmacher 2008, section 5.1), because the fills
/// of the slices are independent. Its limit for many items is [`fpp_asymptotic`]; at any size it is
/// above the rate of one shared array. If k does not divide m the slices are rounded down and the
/// rest of the cells stays unused. No items give 0; no hashes, or fewer cells than hashes, give 1.
///
/// ```
/// use gardenia::theory::bloom::{fpp_asymptotic, fpp_exact, fpp_partitioned};
/// assert!((fpp_partitioned(4, 1, 2) - 0.25).abs() < 1e-15); // two slices of two cells
/// assert!(fpp_partitioned(12_000, 1_000, 8) > fpp_exact(12_000, 1_000, 8));
/// assert!((fpp_partitioned(12 << 36, 1 << 36, 8) / fpp_asymptotic(12.0, 8) - 1.0).abs() < 1e-9);
/// ```
#[must_use]
pub fn fpp_partitioned(cells: u64, items: u64, hashes: u32) -> f64 {
    let slice = cells.checked_div(u64::from(hashes)).unwrap_or(0);
    match certain(slice, items, hashes) {
        Some(answer) => answer,
        None => libm::pow(expected_fill(slice, items, 1), f64::from(hashes)),
    }
}

/// The false-positive probability of k slices of which a share `fill` is set in all.
///
/// Slices are not filled alike, and the product of their fills is below the power of the mean: to
/// second order by `e^(-(k-1)·v/2μ²)`, where a slice has μ ones on average with the variance v of
/// its n throws.
pub(crate) fn fpp_of_slices(cells: u64, fill: f64, hashes: u32) -> f64 {
    let (k, slice) = (f64::from(hashes), cells as f64 / f64::from(hashes));
    // n throws leave both of two cells clear with probability (1 - 2/m')^n, one with (1 - 1/m')^n.
    let clear = 1.0 - fill;
    let items = libm::log(clear) / libm::log1p(-1.0 / slice);
    let both = if slice > 2.0 { libm::exp(items * libm::log1p(-2.0 / slice)) } else { 0.0 };
    let (ones, variance) = (slice * fill, slice * ((slice - 1.0) * both + clear - slice * clear * clear));
    let unlike = (k - 1.0) * variance / (2.0 * ones * ones);
    let less = if unlike > 0.0 { libm::exp(-unlike) } else { 1.0 }; // an empty or full filter has none
    libm::pow(fill, k) * less
}

/// The expected fraction of ones after `items` keys: `1 - (1 - 1/m)^(kn)`.
///
/// Exact for independent positions, and to `O(1/m)` for every scheme. No items or no hashes give 0;
/// otherwise no cells give 1.
///
/// ```
/// use gardenia::theory::bloom::expected_fill;
/// assert!((expected_fill(10, 1, 2) - 0.19).abs() < 1e-15); // 0.1, and another tenth of what is left
/// ```
#[must_use]
pub fn expected_fill(cells: u64, items: u64, hashes: u32) -> f64 {
    let throws = f64::from(hashes) * items as f64;
    if throws == 0.0 {
        return 0.0; // spares the one-cell filter 0 · ln 0
    }
    if cells == 0 {
        return 1.0;
    }
    -libm::expm1(throws * libm::log1p(-1.0 / cells as f64))
}

/// The whole number of hashes with the smaller [`fpp`], of the two next to `(m/n)·ln 2`.
///
/// Grothoff's rule, formula (2) put into formula (1). Rounding does not do: at m/n = 8 down is
/// wrong, at m/n = 12 up. Always within 1 and [`MAX_HASHES`]; ties go to the smaller number. No
/// items, where any number is as good, give 1; so do no cells.
///
/// ```
/// use gardenia::theory::bloom::best_hashes;
/// assert_eq!(best_hashes(80_000, 10_000), 6); // 5.55, up
/// assert_eq!(best_hashes(120_000, 10_000), 8); // 8.32, down
/// ```
#[must_use]
pub fn best_hashes(cells: u64, items: u64) -> u32 {
    if items == 0 {
        return 1;
    }
    let ideal = cells as f64 / items as f64 * LN_2;
    let below = (ideal as u32).clamp(1, MAX_HASHES); // `as` rounds down and saturates
    let above = (below + 1).min(MAX_HASHES);
    if fpp(cells, items, above) < fpp(cells, items, below) { above } else { below }
}

/// The fewest cells, and the hashes to go with them, at which a scheme's own `rate` is at most
/// `fpp`.
///
/// `rate(shape, items)` is the scheme's false-positive probability, including whatever the scheme
/// adds (blocks, derived positions, the digest floor); it should fall as cells are added, up to
/// noise. `fit(shape)` rounds the cells up to what the scheme can use, such as a multiple of its
/// hashes. Both are asked only about shapes within [`MAX_CELLS`] and [`MAX_HASHES`]. The hashes
/// tried are the whole numbers next to log2(1/fpp), where the classical filter is best, and on from
/// there as long as it helps.
///
/// The answer always has `rate ≤ fpp`. For its number of hashes, and up to the noise of `rate`, it
/// is the smallest: one cell fewer, or beyond a million cells 1e-6 of them, would miss the target.
/// `rate` is called about ten times if the classical formula is near, twenty if not, and fifty for
/// a handful of items.
///
/// # Errors
///
/// [`SizeError::Fpp`] unless 0 < fpp < 1, [`SizeError::ZeroItems`], [`SizeError::FppBelowFloor`] if
/// 64-bit digests cannot keep the promise (`fpp ≤ items/2^64`), and [`SizeError::TooManyCells`] if
/// no filter within [`MAX_CELLS`] does; it tells what the classical formula `-n·ln(fpp)/(ln 2)²`
/// would need.
///
/// ```
/// use gardenia::theory::bloom::{Shape, fpp_partitioned, size};
/// let rate = |s: Shape, items| fpp_partitioned(s.cells, items, s.hashes);
/// let shape = size(1_000, 0.01, rate, |s| s.cells.next_multiple_of(u64::from(s.hashes)))?;
/// assert_eq!(shape.cells % u64::from(shape.hashes), 0);
/// assert!(fpp_partitioned(shape.cells, 1_000, shape.hashes) <= 0.01);
/// assert!(fpp_partitioned(shape.cells - u64::from(shape.hashes), 1_000, shape.hashes) > 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn size(
    items: u64,
    fpp: f64,
    rate: impl Fn(Shape, u64) -> f64,
    fit: impl Fn(Shape) -> u64,
) -> Result<Shape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    let floor = items as f64 / TWO_POW_64;
    if fpp <= floor {
        return Err(SizeError::FppBelowFloor { fpp, floor, items });
    }

    let try_hashes = |hashes: u32, best: Option<Shape>| -> Option<Shape> {
        // Of two shapes with equal cells the one with fewer hashes is better.
        let limit = best.map_or(MAX_CELLS, |b| if hashes < b.hashes { b.cells } else { b.cells - 1 });
        let k = f64::from(hashes);
        // Whether the best so far can be beaten shows at its own size: mostly one look, and the answer is no.
        let start = match best {
            Some(_) => limit,
            None => (-k * items as f64 / libm::log1p(-libm::pow(fpp, 1.0 / k))) as u64,
        };
        let probe = |cells: u64| {
            let rate = if cells > MAX_CELLS { f64::NAN } else { rate(Shape { cells, hashes }, items) };
            Probe { meets: rate <= fpp, excess: libm::log(rate / fpp) }
        };
        // At half fill d ln(rate) / d ln(m) = -k·ln 2, from the limit form.
        let cells = fewest_cells(start, limit, k * LN_2, |cells| fit(Shape { cells, hashes }), probe)?;
        (cells <= limit).then_some(Shape { cells, hashes })
    };

    let nearest = (libm::round(-libm::log2(fpp)) as u32).clamp(1, MAX_HASHES);
    let mut best = try_hashes(nearest, None);
    let fewer = &mut (1..nearest).rev() as &mut dyn Iterator<Item = u32>;
    for direction in [fewer, &mut (nearest + 1..=MAX_HASHES)] {
        // Two misses in a row, because rounding by `fit` can hide a gain behind one.
        let mut misses = 0;
        for hashes in direction {
            match try_hashes(hashes, best) {
                Some(better) => (best, misses) = (Some(better), 0),
                None => misses += 1,
            }
            if misses == 2 {
                break;
            }
        }
    }
    best.ok_or_else(|| {
        let classical = libm::ceil(-(items as f64) * libm::log(fpp) / (LN_2 * LN_2)) as u64;
        SizeError::TooManyCells { cells: classical.max(MAX_CELLS + 1), max: MAX_CELLS }
    })
}

/// The smallest filter of independent positions that keeps `fpp` once it holds `items` keys.
///
/// [`size`] with [`fpp_exact`], at every size: its cost does not grow with m, so there is no reason
/// to switch to an approximation for large filters. The classical formula `-n·ln(fpp)/(ln 2)²`
/// gives fewer cells (0.1% at fpp = 0.01, 2% at 0.35) and misses the target, because k is a whole
/// number. The digest floor of `items/2^64` is not added.
///
/// # Errors
///
/// As [`size`].
///
/// ```
/// use gardenia::theory::bloom::{Shape, fpp_exact, shape};
/// let Shape { cells, hashes } = shape(1_000, 0.01)?;
/// assert!(fpp_exact(cells, 1_000, hashes) <= 0.01);
/// assert!(fpp_exact(cells - 1, 1_000, hashes) > 0.01);
/// assert!(shape(1_000, 1.5).is_err() && shape(0, 0.01).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, fpp: f64) -> Result<Shape, SizeError> {
    size(items, fpp, |s, items| fpp_exact(s.cells, items, s.hashes), |s| s.cells)
}

/// A number of keys told from the ones of a filter, and how far off it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The estimated number of distinct keys.
    pub items: f64,
    /// One standard deviation of `items`: two thirds of all estimates are nearer to the truth.
    pub std_error: f64,
}

impl Estimate {
    /// A number of items, and its standard error.
    #[must_use]
    pub const fn new(items: f64, std_error: f64) -> Self {
        Self { items, std_error }
    }
}

/// How many distinct keys leave `ones` of `cells` set: `-(m/k)·ln(1 - ones/m)`, with its standard
/// error.
///
/// Swamidass and Baldi (2007). The error is that of linear counting (Whang, Vander-Zanden and
/// Taylor 1990), `√(m·(e^t - t - 1))/k` with `t = k·n̂/m`: the ones count kn throws, k per key. It
/// grows fast above a fill of 0.95, where few zeros are left to count. A full filter could hold any
/// number of keys: both fields are infinite, as they are for more ones than cells, for no cells and
/// for no hashes.
///
/// ```
/// use gardenia::theory::bloom::estimate_items;
/// let half = estimate_items(1_000_000, 7, 500_000);
/// assert!((half.items - 1e6 / 7.0 * 0.693147).abs() < 1.0);
/// assert!((half.std_error - 79.1).abs() < 0.1); // 1000 · √(2 - ln 2 - 1) / 7
/// assert_eq!(estimate_items(64, 3, 64).items, f64::INFINITY);
/// ```
#[must_use]
pub fn estimate_items(cells: u64, hashes: u32, ones: u64) -> Estimate {
    if ones >= cells || hashes == 0 {
        return Estimate { items: f64::INFINITY, std_error: f64::INFINITY };
    }
    let (m, k) = (cells as f64, f64::from(hashes));
    // The quotient of two large integers can round to 1: count the zeros there instead.
    let t = if ones < cells / 2 {
        -libm::log1p(-(ones as f64) / m)
    } else {
        -libm::log((cells - ones) as f64 / m)
    };
    Estimate { items: m / k * t, std_error: libm::sqrt(m * spread(t)) / k }
}

/// e^t - t - 1, which is t²/2 · (1 + t/3 · (1 + t/4 · …)): the plain form cancels for nearly empty
/// filters.
pub(super) fn spread(t: f64) -> f64 {
    if t < 0.5 {
        t * t / 2.0 * (3..=16).rev().fold(1.0, |tail, i| 1.0 + t / f64::from(i) * tail)
    } else {
        libm::expm1(t) - t
    }
}

const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

/// Below this share of a sum of falling positive terms the rest is lost in rounding.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

/// The answer where no formula is needed: nothing can be excluded, or nothing is stored.
pub(super) fn certain(cells: u64, items: u64, hashes: u32) -> Option<f64> {
    match (cells, hashes, items) {
        (0, _, _) | (_, 0, _) => Some(1.0),
        (_, _, 0) => Some(0.0),
        _ => None,
    }
}

/// The distribution of the number of taken bins as balls are thrown one by one, up to a highest
/// number.
pub(super) struct Occupancy {
    highest: usize,
    /// `taken[s]`: the probability that s bins are taken.
    taken: [f64; WIDTH],
    /// The probability that a ball finds one of s taken bins.
    again: [f64; WIDTH],
    /// The probability that a ball takes the s-th bin when s - 1 are taken.
    fresh: [f64; WIDTH],
}

pub(super) const WIDTH: usize = MAX_HASHES as usize + 1;

impl Occupancy {
    /// `bins` empty bins, of which more than `highest` ≤ [`MAX_HASHES`] taken ones are not
    /// followed.
    pub(super) fn new(bins: f64, highest: usize) -> Self {
        let (mut taken, mut again, mut fresh) = ([0.0; WIDTH], [0.0; WIDTH], [0.0; WIDTH]);
        taken[0] = 1.0;
        for s in 1..=highest {
            again[s] = s as f64 / bins;
            fresh[s] = (bins - (s - 1) as f64) / bins;
        }
        Self { highest, taken, again, fresh }
    }

    pub(super) fn throw(&mut self) {
        // The probabilities of few taken bins soon leave the range where arithmetic is fast and are dropped:
        // nothing that matters is within a hundred decimal orders of them.
        const DROPPED: f64 = 1e-290;
        let mut below = self.taken[0];
        self.taken[0] = 0.0;
        for s in 1..=self.highest {
            let here = self.taken[s];
            let next = here * self.again[s] + below * self.fresh[s];
            self.taken[s] = if next < DROPPED { 0.0 } else { next };
            below = here;
        }
    }

    pub(super) fn of(&self, s: usize) -> f64 {
        self.taken[s]
    }
}

/// The probability that uniform throws into `cells` hit all of `j` given cells; `throws` ≥ 1, 1 ≤ j
/// ≤ 255, m.
pub(super) fn all_hit(cells: u64, throws: f64, j: u64) -> f64 {
    let (m, targets) = (cells as f64, j as f64);
    // Σ_i (-1)^i C(j,i) (1 - i/m)^N loses at most a digit while few targets stay empty, and bounds the throws
    // of the other way by m·ln(2j).
    if targets * libm::exp(throws * libm::log1p(-1.0 / m)) <= 0.5 {
        let (mut missed, mut choose, mut sign) = (0.0, 1.0, 1.0);
        for i in 1..=j {
            choose *= (j - i + 1) as f64 / i as f64;
            let term = choose * libm::exp(throws * libm::log1p(-(i as f64) / m));
            missed += sign * term;
            if term < NEGLIGIBLE {
                break;
            }
            sign = -sign;
        }
        return 1.0 - missed;
    }
    let mut hit = Occupancy::new(targets, j as usize);
    if j == cells {
        // Every throw lands among the targets. Here throws < m·ln(2j) < 1600.
        (0..throws as u64).for_each(|_| hit.throw());
        return hit.of(j as usize);
    }
    // The binomial weights by their quotients, relative to e^scale: the first can be far below the smallest
    // float while the sum is not. No factorials, so that nothing is lost at N = 2^50.
    let odds = targets / (m - targets);
    let mut scale = throws * libm::log1p(-targets / m);
    let (mut weight, mut sum, mut last) = (1.0, 0.0, 0.0);
    let mut b = 0.0;
    while b < throws {
        weight *= (throws - b) / (b + 1.0) * odds;
        b += 1.0;
        hit.throw();
        let term = weight * hit.of(j as usize);
        sum += term;
        // Log-concave in b: as in `fpp_exact`.
        if term < last && term < NEGLIGIBLE * sum {
            break;
        }
        last = term;
        if !(1e-100..=1e100).contains(&weight) {
            scale += libm::log(weight);
            (sum, last, weight) = (sum / weight, last / weight, 1.0);
        }
    }
    libm::exp(scale + libm::log(sum))
}

/// What one look at a scheme's rate tells.
#[derive(Clone, Copy)]
struct Probe {
    /// Whether the rate is at most the target.
    meets: bool,
    /// ln(rate / target), for interpolation only; may be infinite or NaN.
    excess: f64,
}

/// The smallest fitted number of cells that meets the target, from requests of 1 to `limit` cells,
/// if any.
///
/// `slope` is about -d excess / d ln(cells): a wrong one, or a bad `start`, costs time but not
/// correctness.
fn fewest_cells(
    start: u64,
    limit: u64,
    slope: f64,
    fit: impl Fn(u64) -> u64,
    probe: impl Fn(u64) -> Probe,
) -> Option<u64> {
    // Where Newton's method would go from here, at least `resolution` away and `stretch` times as far.
    let step = |from: u64, excess: f64, resolution: u64, stretch: f64| -> u64 {
        let newton = libm::fabs(from as f64 * libm::expm1(excess / slope));
        let step = if newton.is_finite() { newton } else { from as f64 };
        (libm::ceil(step * stretch) as u64).max(resolution)
    };
    // Invariant: a request of `low` cells does not meet the target (0 never does), and `high` does if `met`.
    let (mut low, mut low_excess, mut high) = (0, f64::NAN, limit);
    let mut met: Option<(u64, Probe)> = None;
    let (mut stretch, mut halve) = (1.0, false);
    let mut guess = start.max(1).min(limit);
    while low < limit {
        let width = high - low;
        let cells = fit(guess);
        let seen = match met {
            Some((same, probe)) if same == cells => probe,
            _ => probe(cells),
        };
        if seen.meets {
            (high, met) = (guess, Some((cells, seen)));
        } else {
            // Every request up to the fitted number gets the same cells.
            (low, low_excess) = (guess.max(cells.min(high - 1)), seen.excess);
        }
        let resolution = (high / 1_000_000).max(1);
        let left = high - low;
        guess = match met {
            Some((cells, _)) if left <= resolution => return Some(cells),
            None => low.saturating_add(step(low, low_excess, resolution, stretch)).min(limit),
            Some((_, at_high)) if low == 0 => {
                high.saturating_sub(step(high, at_high.excess, resolution, stretch)).max(1)
            }
            Some((_, at_high)) => {
                // Interpolate, but halve after a step that did not, so that the end is always near.
                let part = libm::ceil(left as f64 * low_excess / (low_excess - at_high.excess));
                let middle = halve || !part.is_finite() || left < 2 * resolution;
                halve = !middle && 2 * left > width;
                low + if middle { left / 2 } else { (part as u64).clamp(resolution, left - resolution) }
            }
        };
        stretch *= 4.0;
    }
    None
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::cell::Cell;

    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    /// Cells, items, hashes, exact value, formula (1): by inclusion–exclusion in 1500-digit
    /// arithmetic (mpmath).
    const REFERENCE: [(u64, u64, u32, f64, f64); 25] = [
        (3, 2, 2, 0.6790123456790124, 0.6439567139155616),
        (64, 8, 5, 0.023416087476948046, 0.02230072620127406),
        (16, 1, 20, 0.010188530307945469, 0.001607147615990027),
        (1000, 100, 7, 0.008266247514843566, 0.008213554634050216),
        (9586, 1000, 7, 0.01004358399014652, 0.010037019796068617),
        (1 << 20, 1 << 15, 22, 2.1043135345890638e-7, 2.1041706940763327e-7),
        (1 << 40, 1 << 36, 11, 0.0004587107308232939, 0.00045871073081622343),
        (1 << 40, 1 << 34, 44, 4.427469719841409e-14, 4.427469718667609e-14),
        (1 << 40, 1 << 42, 3, 0.9999815674761939, 0.9999815674761939),
        (1 << 40, 1, 1, 9.094947017729282e-13, 9.094947017729282e-13),
        (1 << 40, 1 << 20, 6, 3.509947070956112e-32, 3.50994707093217e-32),
        (300, 3, 255, 3.755095693456914e-7, 1.0875140526695149e-9),
        (300, 5, 255, 0.08255491860914739, 0.026318859748867354),
        (255, 2, 255, 5.551812041827551e-12, 9.208129065014425e-17),
        (255, 6, 255, 0.6719491042389607, 0.5350279854520744),
        (1 << 30, 1 << 22, 177, 3.833838319091101e-54, 3.833821231562534e-54),
        (1 << 30, 1 << 22, 255, 8.942101264662549e-52, 8.942035453890532e-52),
        (100_000, 100_000, 255, 1.0, 1.0),
        (2000, 1, 30, 1.6684387942244926e-55, 1.5430399476563512e-55),
        (40, 100, 30, 1.0, 1.0),
        (40, 3, 30, 0.08573945419557505, 0.039092200227396116),
        (7, 1, 255, 0.9999999999999999, 0.9999999999999979),
        (1 << 62, 1 << 58, 11, 0.0004587107308146279, 0.0004587107308146279),
        (1_000_000, 7, 10, 2.8238384219538844e-42, 2.8237781237566425e-42),
        (1000, 1500, 5, 0.9972534403350745, 0.9972479704326118),
    ];

    #[test]
    fn both_formulas_agree_with_long_arithmetic() {
        for (cells, items, hashes, exact, textbook) in REFERENCE {
            let found = (fpp_exact(cells, items, hashes), fpp(cells, items, hashes));
            assert!(near(found.0, exact, 2e-12), "exact {cells} {items} {hashes}: {} {exact}", found.0);
            assert!(near(found.1, textbook, 2e-13), "(1) {cells} {items} {hashes}: {} {textbook}", found.1);
        }
    }

    #[test]
    fn the_partitioned_formula_agrees_with_long_arithmetic() {
        for (cells, items, hashes, expected) in [
            (1 << 40, 1 << 36, 8, 0.0005744962221925634),
            (12_000, 1_000, 8, 0.0031482516355679823),
            (4_400, 140, 22, 2.8766661150463637e-7),
            (4_421, 140, 22, 2.8766661150463637e-7), // 21 cells left over
        ] {
            assert!(near(fpp_partitioned(cells, items, hashes), expected, 2e-13), "{cells} {items} {hashes}");
        }
    }

    #[test]
    fn the_exact_formula_counts_every_outcome_of_tiny_filters() {
        for (cells, items, hashes) in
            [(1, 1, 1), (2, 1, 2), (2, 2, 3), (3, 1, 3), (3, 2, 2), (4, 2, 2), (4, 1, 4)]
        {
            // Every way to choose the positions of all keys and of the query, as the digits of one number.
            let digits = (items + 1) * hashes;
            let outcomes = (cells as u64).pow(digits);
            let hits = (0..outcomes).filter(|&outcome| {
                let digit = |i: u32| (outcome / (cells as u64).pow(i)) % cells as u64;
                let filter = (hashes..digits).fold(0_u64, |bits, i| bits | 1 << digit(i));
                (0..hashes).all(|i| filter >> digit(i) & 1 == 1)
            });
            let expected = hits.count() as f64 / outcomes as f64;
            let found = fpp_exact(cells as u64, u64::from(items), hashes);
            assert!(near(found, expected, 1e-14), "{cells} {items} {hashes}: {found} {expected}");
        }
    }

    #[test]
    fn the_exact_formula_agrees_with_simulation_and_the_textbook_does_not() {
        let (cells, items, hashes) = (64_usize, 8, 5);
        let mut random = SplitMix(1);
        let rates: Vec<f64> = (0..400_000)
            .map(|_| {
                let filter = (0..items * hashes).fold(0_u64, |bits, _| bits | 1 << random.below(cells));
                libm::pow(f64::from(filter.count_ones()) / cells as f64, hashes as f64)
            })
            .collect();
        let (mean, error) = mean_and_error(&rates);
        assert!((mean - fpp_exact(64, 8, 5)).abs() < 5.0 * error);
        assert!((mean - fpp(64, 8, 5)).abs() > 5.0 * error);
    }

    #[test]
    fn the_textbook_is_below_the_truth_and_slices_are_above_it() {
        for items in [1, 2, 3, 10, 100, 10_000, 1 << 30] {
            for per_item in 1..=40 {
                for hashes in 2..=30 {
                    let cells = items * per_item;
                    let (textbook, exact) = (fpp(cells, items, hashes), fpp_exact(cells, items, hashes));
                    assert!(exact >= textbook * (1.0 - 1e-12), "{cells} {items} {hashes}: {textbook}");
                    let cells = cells.next_multiple_of(u64::from(hashes));
                    let slices = fpp_partitioned(cells, items, hashes);
                    let exact = fpp_exact(cells, items, hashes);
                    assert!(exact <= slices * (1.0 + 1e-12), "{cells} {items} {hashes}: {slices}");
                }
            }
        }
    }

    #[test]
    fn every_rate_tends_to_the_asymptotic_one() {
        let (items, excess) = (1_u64 << 32, 1e-6);
        for per_item in [1, 4, 8, 12, 16, 32] {
            for hashes in [1, 2, 6, 11, 22] {
                let cells = items * per_item / u64::from(hashes) * u64::from(hashes);
                let limit = fpp_asymptotic(cells as f64 / items as f64, hashes);
                for rate in [fpp, fpp_exact, fpp_partitioned] {
                    assert!(near(rate(cells, items, hashes), limit, excess), "{per_item} {hashes}");
                }
            }
        }
    }

    #[test]
    fn the_best_number_of_hashes_is_that_of_a_full_search() {
        for (per_item, hashes) in [(4, 3), (8, 6), (12, 8), (16, 11)] {
            assert_eq!(best_hashes(per_item * 10_000, 10_000), hashes);
        }
        for items in [100, 1_000, 1_000_000] {
            for per_item in 1..=33 {
                let cells = items * per_item;
                let rate = |k: &u32| fpp(cells, items, *k);
                let searched = (1..=60).min_by(|a, b| rate(a).total_cmp(&rate(b)));
                assert_eq!(Some(best_hashes(cells, items)), searched, "{cells} {items}");
            }
        }
        assert_eq!(best_hashes(u64::MAX, 1), MAX_HASHES);
        assert_eq!((best_hashes(0, 5), best_hashes(5, 0), best_hashes(1, u64::MAX)), (1, 1, 1));
    }

    #[test]
    fn a_shape_keeps_its_promise_and_is_the_smallest_that_does() {
        for items in [1, 2, 3, 7, 30, 100, 1_000, 12_345, 1_000_000, 20_000_000, 5_000_000_000] {
            for target in [0.999, 0.9, 0.5, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9] {
                let Shape { cells, hashes } = shape(items, target).unwrap();
                assert!(fpp_exact(cells, items, hashes) <= target, "{items} {target}");
                let fewer = cells - (cells / 1_000_000).max(1);
                for other in 1..hashes + 6 {
                    let missed = fpp_exact(fewer, items, other) > target;
                    assert!(missed, "{items} {target}: {cells} {hashes}, {other}");
                }
            }
        }
    }

    #[test]
    fn known_shapes() {
        // The classical 9,585,059 cells (m = -n·ln(fpp)/(ln 2)²) give 1.0039% with the 7 hashes they need.
        let million = shape(1_000_000, 0.01).unwrap();
        assert!(million.cells > 9_585_059 && fpp(9_585_059, 1_000_000, 7) > 0.01, "{million:?}");
        assert_eq!(million.hashes, 7);
        assert!(near(million.cells as f64, 7e6 / -libm::log1p(-libm::pow(0.01, 1.0 / 7.0)), 3e-6));
        assert_eq!(shape(1, 0.5), Ok(Shape { cells: 2, hashes: 1 }));
        assert_eq!(shape(10, 0.999), Ok(Shape { cells: 3, hashes: 1 }));
    }

    #[test]
    fn rounding_to_a_multiple_can_hide_the_better_number_of_hashes() {
        // Nearest to log2(1000) are 9 and 10, with 36 and 40 cells; 8 need 40 too, but 7 only 35.
        let rate = |s: Shape, items| fpp_partitioned(s.cells, items, s.hashes);
        let found = size(2, 0.001, rate, |s| s.cells.next_multiple_of(u64::from(s.hashes)));
        assert_eq!(found, Ok(Shape { cells: 35, hashes: 7 }));
    }

    /// A rate a third worse in cells than the classical one, as blocked filters have.
    fn worse(s: Shape, items: u64) -> f64 {
        fpp((s.cells as f64 * 0.75) as u64, items, s.hashes)
    }

    #[test]
    fn sizing_asks_for_few_rates() {
        // Tiny filters tie at many numbers of hashes and so try more of them.
        for (items, most) in [(1, 50), (10, 50), (1_000, 25), (1_000_000, 25), (10_000_000_000, 25)] {
            for target in [0.999, 0.4, 0.01, 1e-3, 1e-6, 1e-8] {
                let exact = |s: Shape, items| fpp_exact(s.cells, items, s.hashes);
                for rate in [exact, worse] {
                    let calls = Cell::new(0);
                    let counted = |s: Shape, items| {
                        calls.set(calls.get() + 1);
                        rate(s, items)
                    };
                    assert!(size(items, target, counted, |s| s.cells.next_multiple_of(64)).is_ok());
                    assert!(calls.get() <= most, "{items} {target}: {calls:?}");
                }
            }
        }
    }

    #[test]
    fn sizing_fits_the_scheme_and_survives_noise() {
        type Fit = fn(Shape) -> u64;
        let fits: [Fit; 4] = [
            |s| s.cells,
            |s| s.cells.next_multiple_of(u64::from(s.hashes)),
            |s| s.cells.next_multiple_of(512),
            |s| s.cells.next_power_of_two(),
        ];
        // A rate that jumps by up to 3% from one size to the next, as short cycles make it.
        let noise = |s: Shape| 0.03 * (SplitMix(s.cells).next() as f64 / TWO_POW_64);
        let noisy = |s: Shape, items| worse(s, items) * (1.0 + noise(s));
        for items in [1, 5, 1_000, 77_777, 3_000_000] {
            for (target, fit) in
                [0.2, 0.01, 1e-5].into_iter().flat_map(|target| fits.map(|fit| (target, fit)))
            {
                let (smooth, rough) = (size(items, target, worse, fit), size(items, target, noisy, fit));
                let (smooth, rough) = (smooth.unwrap(), rough.unwrap());
                assert!(worse(smooth, items) <= target && noisy(rough, items) <= target);
                for (shape, noise) in [(smooth, 1.0), (rough, 1.03)] {
                    assert_eq!(fit(shape), shape.cells);
                    // The next smaller size that fits and differs by the resolution would miss.
                    let fitted = |cells| Shape { cells: fit(Shape { cells, ..shape }), ..shape };
                    let below = shape.cells - (shape.cells / 1_000_000).max(1);
                    let fewer = (1..=below).rev().map(fitted).find(|fewer| fewer.cells < shape.cells);
                    let missed = fewer.is_none_or(|fewer| noise * worse(fewer, items) > target);
                    assert!(missed, "{items} {target}: {shape:?} {fewer:?}");
                }
            }
        }
    }

    #[test]
    fn sizing_refuses_what_no_filter_can_do() {
        for wrong in [f64::NAN, 0.0, -0.1, 1.0, 2.0, f64::INFINITY] {
            assert!(matches!(shape(10, wrong), Err(SizeError::Fpp(_))), "{wrong}");
        }
        assert_eq!(shape(0, 0.1), Err(SizeError::ZeroItems));
        let floor = 1024.0 / TWO_POW_64;
        assert_eq!(shape(1024, floor), Err(SizeError::FppBelowFloor { fpp: floor, floor, items: 1024 }));
        assert!(shape(1024, floor * 1.000_001).is_ok());

        assert_eq!(
            shape(1 << 40, 0.01),
            Err(SizeError::TooManyCells { cells: 10_538_883_138_828, max: MAX_CELLS })
        );
        assert!(matches!(shape(u64::MAX / 2, 0.9), Err(SizeError::TooManyCells { .. })));
        let hopeless = size(10, 0.1, |_, _| f64::NAN, |s| s.cells);
        assert_eq!(hopeless, Err(SizeError::TooManyCells { cells: MAX_CELLS + 1, max: MAX_CELLS }));
        let unfit = size(10, 0.1, |_, _| unreachable!("asked beyond the limit"), |_| u64::MAX);
        assert_eq!(unfit, Err(SizeError::TooManyCells { cells: MAX_CELLS + 1, max: MAX_CELLS }));
        // The largest filters are reached: a hair below the limit is fine.
        let most = (MAX_CELLS as f64 / 9.6) as u64;
        assert!(shape(most, 0.01).unwrap().cells > MAX_CELLS / 100 * 99);
    }

    #[test]
    fn every_input_has_a_probability() {
        let cells = [0, 1, 2, 3, 255, 256, 1000, 1 << 40, u64::MAX - 1, u64::MAX];
        let items = [0, 1, 2, 100, 1 << 40, u64::MAX];
        for (m, n) in cells.into_iter().flat_map(|m| items.map(|n| (m, n))) {
            for k in [0, 1, 2, 30, 255, 256, u32::MAX] {
                for p in [fpp(m, n, k), fpp_exact(m, n, k), fpp_partitioned(m, n, k), expected_fill(m, n, k)]
                {
                    assert!((0.0..=1.0).contains(&p), "{m} {n} {k}: {p}");
                }
                let empty = if m == 0 || k == 0 { 1.0 } else { 0.0 };
                assert_eq!((fpp(m, 0, k), fpp_exact(m, 0, k)), (empty, empty));
                let Estimate { items, std_error } = estimate_items(m, k, n);
                assert!(items >= 0.0 && std_error >= 0.0, "{m} {k} {n}");
                assert_eq!(items.is_infinite(), n >= m || k == 0);
            }
            assert!((1..=MAX_HASHES).contains(&best_hashes(m, n)));
        }
        assert!(fpp_asymptotic(f64::NAN, 3).is_nan());
        assert_eq!((fpp_asymptotic(-1.0, 3), fpp_asymptotic(f64::INFINITY, 3)), (1.0, 0.0));
        assert_eq!(fpp_asymptotic(5.0, 0), 1.0);
    }

    #[test]
    fn estimates_are_centred_and_as_spread_as_they_say() {
        let (cells, hashes) = (4096_usize, 5_u32);
        for (seed, items) in [(1, 40), (2, 400), (3, 568), (4, 2000)] {
            let mut random = SplitMix(seed);
            let estimates: Vec<f64> = (0..4_000)
                .map(|_| {
                    let mut filter = [false; 4096];
                    (0..items * hashes).for_each(|_| filter[random.below(cells)] = true);
                    let ones = filter.iter().filter(|one| **one).count();
                    estimate_items(cells as u64, hashes, ones as u64).items
                })
                .collect();
            let (mean, error) = mean_and_error(&estimates);
            assert!((mean - f64::from(items)).abs() < 5.0 * error, "{items}: {mean} ± {error}");
            // A sample variance of 4000 nearly normal values has a relative standard error of √(2/4000).
            let ones = expected_fill(cells as u64, u64::from(items), hashes) * cells as f64;
            let told = estimate_items(cells as u64, hashes, ones as u64).std_error;
            let ratio = 4_000.0 * error * error / (told * told);
            assert!((ratio - 1.0).abs() < 5.0 * libm::sqrt(2.0 / 4_000.0), "{items}: {ratio}");
        }
    }

    #[test]
    fn estimates_keep_their_digits_in_empty_and_in_crowded_filters() {
        // By mpmath, 60 digits: n̂ and its standard error.
        for (cells, hashes, ones, items, std_error) in [
            (1 << 40, 3, 1, 0.3333333333334849, 2.247831920582378e-7),
            (1 << 40, 7, (1 << 40) - 1, 4354990770204.631, 157073089680.23386),
            (1000, 4, 400, 127.70640594149766, 3.1209077495645796),
            (1_000_000_000_000, 3, 1, 0.3333333333335, 2.3570226039567298e-7),
            (1000, 4, 900, 575.6462732485114, 20.459433806629942),
            (1000, 4, 390, 123.57408045369503, 3.010896258594584),
            (u64::MAX, 1, u64::MAX - 1, 8.1832375329297e20, 1.8446744073709552e19),
        ] {
            let found = estimate_items(cells, hashes, ones);
            assert!(near(found.items, items, 1e-13) && near(found.std_error, std_error, 1e-13), "{found:?}");
        }
    }
}
