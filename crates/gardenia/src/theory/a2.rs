//! Two buffers that take turns: a window over the last keys of a stream, in two plain filters.
//!
//! Keys go to the active buffer. When it holds n_a of them the other one is cleared, and the two
//! swap. An answer is yes if either says so, and so each buffer may have half the rate of the
//! whole, a little more exactly: `φ_a = 1 - √(1 - φ)` (a budget for one buffer and not, as
//! sometimes read, the filter's error). The passive buffer is always full, so the rate is worst
//! just before a swap; it is that moment which must keep φ.
//!
//! A key is always found while it is among the last n_a different ones, and never, but by a false
//! positive, when 2n_a newer ones have come; in between it depends on the phase ([`found`]). What
//! counts is keys that are really inserted: one that the active buffer already reports changes
//! nothing. So a buffer is as full as one of more keys than it counts ([`stored`]).
//!
//! Source: Yoon, "Aging Bloom Filter with Two Active Buffers for Dynamic Sets" (2010).

use super::bloom;
use crate::SizeError;
use crate::index::{MAX_CELLS, MAX_HASHES};

/// The size of a filter of two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct A2Shape {
    /// Bits of both buffers together (m); each has half of them.
    pub bits: u64,
    /// Positions per key (k_a).
    pub hashes: u32,
    /// Keys per buffer (n_a).
    pub capacity: u64,
}

/// The rate that one buffer may have so that both together have `fpp`: `1 - √(1 - φ)`.
///
/// Computed as `-expm1(log1p(-φ)/2)`, for the plain form has no digits left where φ is small.
/// Outside 0 to 1 it is that of the nearer end; NaN gives NaN.
///
/// ```
/// use gardenia::theory::a2::buffer_fpp;
/// assert!((buffer_fpp(0.19) - 0.1).abs() < 1e-15);
/// assert!((buffer_fpp(1e-18) - 5e-19).abs() < 1e-33);
/// ```
#[must_use]
pub fn buffer_fpp(fpp: f64) -> f64 {
    -libm::expm1(0.5 * libm::log1p(-fpp.clamp(0.0, 1.0)))
}

/// The hashes and the capacity of a filter of `bits` bits that holds most keys at `fpp`, even
/// before a swap.
///
/// In the limit of many keys `n_a(k) = ⌊-(m/2k)·ln(1 - φ_a^(1/k))⌋` less the keys that are
/// skipped. The truth for finite size, [`bloom::fpp_exact`] of the keys [`stored`] in one buffer at
/// most [`buffer_fpp`], is a key or a few below that, and is what counts here; the k with the
/// largest capacity is taken, of equal ones the smallest. (`k = ⌊-log2 φ_a⌋` with
/// `n_a = ⌊(m/2k)·ln 2⌋`, as printed, assumes half fill and misses its target: 1.56% for 1%.) An
/// odd bit is not used.
///
/// # Errors
///
/// [`SizeError::Fpp`] unless 0 < `fpp` < 1, [`SizeError::TooManyCells`] above [`MAX_CELLS`] bits,
/// [`SizeError::Conflict`] if not even one key has room, and [`SizeError::FppBelowFloor`] if the
/// digests of 2n_a keys meet more often than `fpp`.
///
/// ```
/// use gardenia::theory::a2::{fpp, shape};
/// let a2 = shape(1_000_000, 0.01)?;
/// assert_eq!((a2.hashes, a2.capacity), (8, 45_298));
/// assert!(fpp(1_000_000, 8, 45_298, 45_298) <= 0.01);
/// assert!(fpp(1_000_000, 8, 45_299, 45_299) > 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(bits: u64, fpp: f64) -> Result<A2Shape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    if bits > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells: bits, max: MAX_CELLS });
    }
    let (buffer, budget) = (bits / 2, buffer_fpp(fpp));
    let nearest = (libm::round(-libm::log2(budget)) as u32).clamp(1, MAX_HASHES);
    let (mut hashes, mut capacity) = (nearest, most_items(buffer, nearest, budget, 0));
    let fewer = &mut (1..nearest).rev() as &mut dyn Iterator<Item = u32>;
    for direction in [fewer, &mut (nearest + 1..=MAX_HASHES)] {
        for k in direction {
            // Of equal capacities the one with fewer hashes is better. The capacity rises and falls once with
            // k, so that a miss is the last try; only where there is no room for a key is it flat.
            let enough = if k < hashes { capacity.max(1) } else { capacity + 1 };
            match most_items(buffer, k, budget, enough) {
                0 if capacity == 0 => {}
                0 => break,
                more => (hashes, capacity) = (k, more),
            }
        }
    }
    if capacity == 0 {
        return Err(SizeError::Conflict("too few bits for a single key at this false-positive probability"));
    }
    let floor = 2.0 * capacity as f64 * libm::exp2(-64.0);
    if fpp <= floor {
        return Err(SizeError::FppBelowFloor { fpp, floor, items: 2 * capacity });
    }
    Ok(A2Shape { bits, hashes, capacity })
}

/// The smallest filter whose buffers hold at least `window` keys each at `fpp`: the last `window`
/// are found.
///
/// Two classical filters ([`bloom::size`]) at [`buffer_fpp`], for the keys [`stored`]: smallest to
/// a part in a million. Half the error costs each of them 1.44 bits per key.
///
/// # Errors
///
/// As [`bloom::size`], and [`SizeError::TooManyCells`] if both buffers together have too many.
///
/// ```
/// use gardenia::theory::a2::{shape, size};
/// let a2 = size(10_000, 0.01)?;
/// assert_eq!(a2.capacity, 10_000);
/// assert!(shape(a2.bits - 2, 0.01)?.capacity < 10_000);
/// assert!((a2.bits as f64 / 10_000.0 - 22.1).abs() < 0.1); // for a window of one to two times 10,000
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn size(window: u64, fpp: f64) -> Result<A2Shape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    let rate = |shape: bloom::Shape, window| buffer_rate(shape.cells, window, shape.hashes);
    let bloom::Shape { cells, hashes } = bloom::size(window, buffer_fpp(fpp), rate, |shape| shape.cells)?;
    let bits = 2 * cells; // at most 2^41
    if bits > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells: bits, max: MAX_CELLS });
    }
    let best = shape(bits, fpp)?;
    Ok(if best.capacity >= window { best } else { A2Shape { bits, hashes, capacity: window } })
}

/// The false-positive probability with `capacity` keys in the passive buffer and `filled` in the
/// active one: `1 - (1 - f(n_a))·(1 - f(x))`, f being [`bloom::fpp_exact`] of half the bits and the
/// keys [`stored`].
///
/// The keys of both buffers are taken as different. Keys of the passive buffer that came again have
/// set the same bits in the active one; then both are wrong together more often, and the rate is
/// lower. Before the first swap the passive buffer is empty: use `capacity` 0. No hashes, or fewer
/// than two bits, give 1.
///
/// ```
/// use gardenia::theory::{a2::fpp, bloom::fpp_exact};
/// let full = fpp(1_000, 5, 0, 50);
/// assert!(full > fpp_exact(500, 50, 5) && full < 1.01 * fpp_exact(500, 50, 5));
/// assert!((fpp(1_000, 5, 50, 50) - (1.0 - (1.0 - full) * (1.0 - full))).abs() < 1e-15);
/// ```
#[must_use]
pub fn fpp(bits: u64, hashes: u32, capacity: u64, filled: u64) -> f64 {
    let [passive, active] = [capacity, filled].map(|items| buffer_rate(bits / 2, items, hashes));
    passive + active * (1.0 - passive)
}

/// The false-positive probability averaged over a period: over `filled` = 1, 2, …, n_a, each for
/// one insert.
///
/// Lower than the worst case, as the active buffer is half full on average:
/// `f(n_a) + (1 - f(n_a))·f̄`, where f̄ is the mean of f. Up to 64 keys it is a plain sum; beyond,
/// Gaussian quadrature with a correction for whole numbers, good to about 1e-7, at some 90 times
/// the cost of [`bloom::fpp_exact`]. No capacity gives the rate of empty buffers.
///
/// ```
/// use gardenia::theory::a2::{fpp, mean_fpp};
/// let (worst, mean) = (fpp(1_000_000, 8, 45_298, 45_298), mean_fpp(1_000_000, 8, 45_298));
/// assert!((worst - 0.01).abs() < 1e-6 && (mean - 0.00575).abs() < 1e-5);
/// ```
#[must_use]
pub fn mean_fpp(bits: u64, hashes: u32, capacity: u64) -> f64 {
    let buffer = bits / 2;
    let passive = buffer_rate(buffer, capacity, hashes);
    passive + mean_over(buffer, hashes, capacity) * (1.0 - passive)
}

/// How many keys a buffer of `cells` bits has met once it has counted `counted`:
/// `counted/(1 - f̄)`.
///
/// A new key that the buffer reports, at its own false-positive rate, is not counted and need not
/// be put in, since all its bits are set: it is as if it were in. f̄ is the mean of
/// `(1 - e^(-kx/m))^k` while the buffer fills. At a rate of 1 % that is 0.07 % more keys, at 10 %
/// it is 1 %.
///
/// ```
/// use gardenia::theory::a2::stored;
/// assert!((stored(500_000, 8, 45_298.0) / 45_298.0 - 1.0007).abs() < 1e-4);
/// ```
#[must_use]
pub fn stored(cells: u64, hashes: u32, counted: f64) -> f64 {
    // The share that is passed over is small, and so are its changes: a strict filter is there after one or two steps.
    let mut met = counted;
    for _ in 0..24 {
        let before = met;
        met = counted / (1.0 - passed_over(hashes, f64::from(hashes) * met / cells as f64));
        if met == before {
            break;
        }
    }
    met
}

/// The share of new keys that a buffer takes for known while it fills up to `load` = k·n/m: the
/// mean of (1 − e^(−load·t))^k over t from 0 to 1.
fn passed_over(hashes: u32, load: f64) -> f64 {
    const STEPS: u32 = 64; // Simpson's rule
    let rate =
        |step: u32| libm::pow(-libm::expm1(-load * f64::from(step) / f64::from(STEPS)), f64::from(hashes));
    let inner: f64 = (1..STEPS).map(|step| f64::from(2 + 2 * (step % 2)) * rate(step)).sum();
    (inner + rate(STEPS)) / f64::from(3 * STEPS)
}

/// The rate of one buffer that has counted `items` keys.
fn buffer_rate(cells: u64, items: u64, hashes: u32) -> f64 {
    match bloom::certain(cells, items, hashes) {
        Some(answer) => answer,
        None if hashes > MAX_HASHES => bloom::fpp(cells, items, hashes),
        None => bloom::fpp_of(cells, stored(cells, hashes, items as f64), hashes),
    }
}

/// The probability, at a random time of a period, that a key is still stored when `newer` distinct
/// keys were inserted after it: 1 up to n_a, `(2n_a - newer)/n_a` on the way to 2n_a, and then 0.
///
/// With c keys in the active buffer, 1 ≤ c ≤ n_a, the last c + n_a are stored, and every c lasts
/// one insert. False positives come on top. A filter of no capacity stores nothing.
///
/// ```
/// use gardenia::theory::a2::found;
/// assert_eq!([0, 99, 100, 150, 199, 200].map(|newer| found(100, newer)), [1.0, 1.0, 1.0, 0.5, 0.01, 0.0]);
/// ```
#[must_use]
pub fn found(capacity: u64, newer: u64) -> f64 {
    if capacity == 0 {
        return 0.0;
    }
    // The number of phases in which it is stored, without 2n_a, which may not fit.
    let stored = capacity - newer.saturating_sub(capacity).min(capacity);
    stored as f64 / capacity as f64
}

/// The most keys that `cells` cells hold with `hashes` at `fpp`, if at least `enough`, else 0.
fn most_items(cells: u64, hashes: u32, fpp: f64, enough: u64) -> u64 {
    let k = f64::from(hashes);
    // The limit form is above the truth: positions that coincide, and a fill that varies, only cost.
    let limit = -(cells as f64) / k * libm::log1p(-libm::pow(fpp, 1.0 / k));
    // A key more than the limit, for rounding.
    let limit = (limit as u64).saturating_add(1);
    let meets = |items: u64| buffer_rate(cells, items, hashes) <= fpp;
    if cells == 0 || limit < enough || !meets(enough) {
        return 0;
    }
    // Invariant: `low` meets, `high` does not. The truth is near the limit: go down from there in growing
    // steps.
    let (mut low, mut high, mut step) = (enough, limit + 1, 1);
    loop {
        let guess = high.saturating_sub(step).max(low);
        if guess == low {
            break;
        }
        if meets(guess) {
            low = guess;
            break;
        }
        (high, step) = (guess, step * 4);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if meets(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Panels of the quadrature: the last has a sixteenth of the whole.
const PANELS: u32 = 5;

/// Nodes and weights of Gauss and Legendre's quadrature with 8 points, each for both signs
/// (mpmath).
pub(super) const GAUSS: [(f64, f64); 4] = [
    (0.1834346424956498, 0.362683783378362),
    (0.525532409916329, 0.31370664587788727),
    (0.7966664774136267, 0.22238103445337448),
    (0.9602898564975362, 0.10122853629037626),
];

/// The mean of the rate of one buffer over x = 1, …, `items` counted keys.
fn mean_over(cells: u64, hashes: u32, items: u64) -> f64 {
    const SUMMED: u64 = 64;
    let exact = |x: u64| buffer_rate(cells, x, hashes);
    if items == 0 {
        return exact(0);
    }
    if items <= SUMMED || cells == 0 || hashes == 0 {
        return (1..=items.min(SUMMED)).map(exact).sum::<f64>() / items.min(SUMMED) as f64;
    }
    // The rate between whole numbers: the textbook's, which is smooth, times how much more the truth is,
    // which hardly changes from one key to the next.
    let k = f64::from(hashes);
    let textbook = |x: f64| libm::pow(-libm::expm1(x * k * libm::log1p(-1.0 / cells as f64)), k);
    let excess = |x: u64| libm::log(exact(x) / textbook(x as f64));
    let rate = |x: f64| {
        let below = (x as u64).clamp(1, items - 1);
        let (here, next) = (excess(below), excess(below + 1));
        let excess = here + (next - here) * (x - below as f64);
        if excess.is_finite() { textbook(x) * libm::exp(excess) } else { textbook(x) }
    };
    // Σ f(x) = ∫ f from 1/2 to n + 1/2 - (f'(n + 1/2) - f'(1/2))/24 + …, the midpoint rule read backwards.
    // The rate grows like x^k: panels that halve towards the end catch it for every k.
    let n = items as f64;
    let (mut integral, mut left) = (0.0, 0.5);
    for panel in 1..=PANELS {
        let right = if panel == PANELS { n + 0.5 } else { n + 0.5 - n * libm::exp2(-f64::from(panel)) };
        let (centre, half) = ((left + right) / 2.0, (right - left) / 2.0);
        integral += half
            * GAUSS
                .iter()
                .map(|(node, weight)| weight * (rate(centre - half * node) + rate(centre + half * node)))
                .sum::<f64>();
        left = right;
    }
    let slopes = (exact(items.saturating_add(1)) - exact(items)) - (exact(1) - exact(0));
    (integral - slopes / 24.0) / n
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;
    use alloc::{collections::VecDeque, vec, vec::Vec};

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    #[test]
    fn half_the_error_keeps_all_its_digits() {
        // 1 - √(1 - φ) in 60 digits (mpmath).
        for (target, half) in [
            (0.5, 0.2928932188134525),
            (0.01, 0.005012562893380045),
            (1e-9, 5.00000000125e-10),
            (1e-17, 5e-18),
            (0.999999, 0.9989999999999856),
        ] {
            assert!(near(buffer_fpp(target), half, 1e-13), "{target}: {}", buffer_fpp(target));
        }
        assert_eq!([-1.0, 0.0, 1.0, 2.0].map(buffer_fpp), [0.0, 0.0, 1.0, 1.0]);
        assert!(buffer_fpp(f64::NAN).is_nan());
    }

    #[test]
    fn a_shape_holds_as_many_keys_as_any_number_of_hashes_allows() {
        for bits in (2..300).step_by(5).chain([100, 1_000, 12_345, 1_000_000, 1 << 33]) {
            for target in [0.9, 0.598, 0.3, 0.1, 0.01, 1e-3, 1e-9] {
                let Ok(found) = shape(bits, target) else {
                    let none = (1..=60).all(|k| fpp(bits, k, 1, 1) > target);
                    assert!(none, "{bits} {target}: there is room for a key");
                    continue;
                };
                let A2Shape { hashes, capacity, .. } = found;
                assert!(fpp(bits, hashes, capacity, capacity) <= target * (1.0 + 1e-12), "{found:?}");
                // None holds more, and none with fewer hashes as many.
                assert!(
                    (1..hashes).all(|k| fpp(bits, k, capacity, capacity) > target * (1.0 - 1e-9)),
                    "{found:?}"
                );
                for k in 1..=60 {
                    let more = fpp(bits, k, capacity + 1, capacity + 1);
                    assert!(more > target * (1.0 - 1e-9), "{bits} {target}: {found:?}, {k} hashes: {more}");
                }
            }
        }
    }

    #[test]
    fn the_share_of_keys_passed_over_is_the_mean_rate_while_a_buffer_fills() {
        for (hashes, load) in [(1, 1.0), (4, 0.6), (8, 0.725), (30, 0.7)] {
            let steps = 100_000;
            let rate = |t: f64| libm::pow(-libm::expm1(-load * t), f64::from(hashes));
            let mean = (0..steps).map(|i| rate((f64::from(i) + 0.5) / f64::from(steps))).sum::<f64>();
            let mean = mean / f64::from(steps);
            assert!((passed_over(hashes, load) / mean - 1.0).abs() < 1e-3, "{hashes}, {load}");
        }
        // Counted and passed over are all that were met.
        let met = stored(10_000, 3, 4_000.0);
        let counted = met * (1.0 - passed_over(3, 3.0 * met / 1e4));
        assert!(near(counted, 4_000.0, 1e-3) && met > 4_300.0, "{met}");
    }

    #[test]
    fn the_printed_parameters_miss_and_ours_do_not() {
        // k = ⌊-log2 φ_a⌋ = 7 and n = ⌊(m/2k)·ln 2⌋, as printed, give 1.56% where 1% was asked for.
        let (bits, target) = (2_000_000, 0.01);
        let k = -libm::log2(buffer_fpp(target)) as u32;
        let printed = (bits as f64 / f64::from(2 * k) * core::f64::consts::LN_2) as u64;
        assert_eq!(k, 7);
        // To the digits given: without and with the keys that are passed over.
        let buffer = bloom::fpp_exact(bits / 2, printed, k);
        assert!(near(buffer * (2.0 - buffer), 0.01556, 0.5e-5 / 0.01556));
        assert!(near(fpp(bits, k, printed, printed), 0.01566, 0.5e-5 / 0.01566));
        let A2Shape { hashes, capacity, .. } = shape(bits, target).unwrap();
        assert!(near(fpp(bits, hashes, capacity, capacity), target, 1e-4) && hashes == 8);
        // The limit form with this k: less than a key more than are stored.
        let root = libm::pow(buffer_fpp(target), 0.125);
        let limit = -(bits as f64) / 16.0 * libm::log1p(-root);
        let met = |capacity: u64| stored(bits / 2, hashes, capacity as f64);
        assert!(met(capacity) <= limit && met(capacity + 1) > limit, "{} {limit}", met(capacity));
    }

    #[test]
    fn the_size_is_the_smallest_that_holds_the_window() {
        for window in [1, 2, 10, 100, 10_000, 3_000_000] {
            for target in [0.5, 0.1, 0.01, 1e-4, 1e-8] {
                let found = size(window, target).unwrap();
                assert!(found.capacity >= window && found.bits.is_multiple_of(2));
                assert!(
                    fpp(found.bits, found.hashes, found.capacity, found.capacity) <= target * (1.0 + 1e-12)
                );
                let fewer = found.bits - (found.bits / 500_000).max(2);
                let smaller = shape(fewer, target).map_or(0, |smaller| smaller.capacity);
                assert!(smaller < window, "{window} {target}: {found:?}");
            }
        }
    }

    #[test]
    fn the_mean_over_a_period_is_the_mean() {
        for (bits, hashes, capacity) in [
            (1_000, 5, 40),
            (1_500, 7, 65),
            (2_000, 1, 200),
            (20_000, 8, 900),
            (30_000, 20, 600),
            (100_000, 60, 500),
            (60_000, 4, 5_000),
        ] {
            let sum: f64 = (1..=capacity).map(|filled| fpp(bits, hashes, capacity, filled)).sum();
            let (mean, found) = (sum / capacity as f64, mean_fpp(bits, hashes, capacity));
            assert!(near(found, mean, 1e-7), "{bits} {hashes} {capacity}: {found} {mean}");
        }
    }

    #[test]
    fn simulated_buffers_err_as_often_as_told() {
        let (bits, hashes, capacity) = (512_usize, 4_usize, 40);
        let mut random = SplitMix(8);
        let mut at_end = Vec::new();
        let mut whole_period = Vec::new();
        for _ in 0..20_000 {
            let (mut passive, mut active) = (vec![false; bits / 2], vec![false; bits / 2]);
            // A key whose cells are all set is passed over.
            let mut put = |buffer: &mut [bool]| loop {
                let at: Vec<usize> = (0..hashes).map(|_| random.below(bits / 2)).collect();
                if at.iter().any(|&at| !buffer[at]) {
                    at.iter().for_each(|&at| buffer[at] = true);
                    break;
                }
            };
            (0..capacity).for_each(|_| put(&mut passive));
            let rate = |buffer: &[bool]| {
                libm::pow(buffer.iter().filter(|bit| **bit).count() as f64 / (bits / 2) as f64, hashes as f64)
            };
            let full = rate(&passive);
            let mut sum = 0.0;
            for _ in 0..capacity {
                put(&mut active);
                sum += full + rate(&active) * (1.0 - full);
            }
            at_end.push(full + rate(&active) * (1.0 - full));
            whole_period.push(sum / capacity as f64);
        }
        let capacity = capacity as u64;
        for (sample, theory) in
            [(&at_end, fpp(512, 4, capacity, capacity)), (&whole_period, mean_fpp(512, 4, capacity))]
        {
            let (mean, error) = mean_and_error(sample);
            assert!((mean - theory).abs() < 5.0 * error, "{mean} ± {error}, theory {theory}");
        }
    }

    #[test]
    fn keys_of_a_stream_stay_as_long_as_told() {
        // The buffers as lists of keys, without false positives: every key is new.
        let (capacity, inserts) = (7, 7 * 40);
        let (mut active, mut passive) = (Vec::new(), Vec::new());
        let (mut stored, mut asked) = (vec![0_u32; 40], 0);
        for key in 0..inserts {
            if active.len() == capacity {
                passive = core::mem::take(&mut active);
            }
            active.push(key);
            if key >= 3 * 7 {
                asked += 1;
                for newer in 0..stored.len().min(key + 1) {
                    let there = active.contains(&(key - newer)) || passive.contains(&(key - newer));
                    stored[newer] += u32::from(there);
                }
            }
        }
        for (newer, count) in stored.iter().enumerate() {
            let share = f64::from(*count) / f64::from(asked);
            assert!(near(found(capacity as u64, newer as u64), share, 1e-15), "{newer}: {share}");
        }
    }

    #[test]
    fn keys_that_come_again_stay_within_the_same_bounds() {
        // A stream with repeats: what is certain by age is so here, though an older key may lose its place to
        // a repeated one between n_a and 2n_a.
        let (capacity, mut random) = (5, SplitMix(10));
        let (mut active, mut passive): (Vec<usize>, Vec<usize>) = Default::default();
        let mut recent: VecDeque<usize> = VecDeque::new();
        for _ in 0..20_000 {
            let key = random.below(30);
            if !active.contains(&key) {
                if active.len() == capacity {
                    passive = core::mem::take(&mut active);
                }
                active.push(key);
            }
            recent.retain(|other| *other != key);
            recent.push_front(key);
            for (newer, key) in recent.iter().enumerate() {
                let there = active.contains(key) || passive.contains(key);
                let chance = found(capacity as u64, newer as u64);
                assert!(there || chance < 1.0 || newer == capacity, "lost after {newer}");
                assert!(!there || chance > 0.0, "still there after {newer}");
            }
        }
    }

    #[test]
    fn impossible_wishes_are_errors() {
        for wrong in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(matches!(shape(1_000, wrong), Err(SizeError::Fpp(_))), "{wrong}");
            assert!(matches!(size(1_000, wrong), Err(SizeError::Fpp(_))), "{wrong}");
        }
        for bits in [0, 1, 2, 9] {
            assert!(matches!(shape(bits, 0.01), Err(SizeError::Conflict(_))), "{bits}");
        }
        assert_eq!(size(0, 0.1), Err(SizeError::ZeroItems));
        assert!(matches!(shape(MAX_CELLS + 1, 0.1), Err(SizeError::TooManyCells { .. })));
        assert!(matches!(size(1 << 37, 0.01), Err(SizeError::TooManyCells { .. })));
        assert!(matches!(shape(1 << 40, 1e-10), Err(SizeError::FppBelowFloor { .. })));
        assert!(shape(MAX_CELLS, 0.01).is_ok());
    }

    #[test]
    fn every_input_has_a_probability() {
        let numbers = [0, 1, 2, 3, 63, 64, 65, 1000, 1 << 40, u64::MAX];
        for (bits, capacity) in numbers.into_iter().flat_map(|m| numbers.map(|n| (m, n))) {
            for hashes in [0, 1, 2, 30, u32::MAX] {
                let mean = mean_fpp(bits, hashes, capacity);
                let (best, worst) = (fpp(bits, hashes, capacity, 0), fpp(bits, hashes, capacity, capacity));
                assert!((0.0..=1.0).contains(&best) && (0.0..=1.0).contains(&worst));
                assert!(
                    best <= mean * (1.0 + 1e-6) && mean <= worst * (1.0 + 1e-6),
                    "{bits} {hashes} {capacity}: {mean}"
                );
            }
            assert!((0.0..=1.0).contains(&found(capacity, bits)));
        }
        assert_eq!((found(0, 0), found(u64::MAX, u64::MAX), found(1, u64::MAX)), (0.0, 1.0, 0.0));
    }
}
