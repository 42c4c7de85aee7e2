//! Counts written digit by digit into levels of filters: where each digit stands, how often a count
//! is exact, and how large each level must be.
//!
//! Level i has w_i bits per digit, and its digit stands at the bit `w_0 + … + w_(i-1)`: the levels
//! *below* it, not its own (as often printed, every count would be 2^(w_i) times too large). A
//! level can show more than it holds, when all cells of a key are shared, but never less; so counts
//! are only ever too high. An error at level i costs 2^i and more, which is why high levels need
//! the lower error rates. They can afford them, because few keys get that high.
//!
//! The formulas are for levels built from known counts, each level with hash functions of its own.
//!
//! Source: Lall and Ogihara, "The Bitwise Bloom Filter" (2007). The division of the error among the
//! levels was worked out for this project.

use alloc::vec::Vec;

use super::bloom::{Shape, fpp_exact, size};
use crate::SizeError;

/// A level as a reader of counts sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Digit {
    /// Bits of the digit (w).
    pub width: u32,
    /// The probability that the level shows more than the digit it holds: its false-positive
    /// probability.
    pub fpp: f64,
}

impl Digit {
    /// `fpp` as a probability; 1, the cautious answer, for what is not a number.
    fn error(&self) -> f64 {
        if self.fpp.is_nan() { 1.0 } else { self.fpp.clamp(0.0, 1.0) }
    }
}

/// The bit at which the digit of `level` stands: `Σ_{j < level} w_j`. Levels beyond the last have
/// no bits.
///
/// ```
/// use gardenia::theory::bitwise::exponent;
/// assert_eq!([0, 1, 2, 3].map(|level| exponent(&[4, 2, 1], level)), [0, 4, 6, 7]);
/// ```
#[must_use]
pub fn exponent(widths: &[u32], level: usize) -> u64 {
    widths.iter().take(level).map(|&width| u64::from(width)).sum()
}

/// The count that digits stand for, lowest level first: `Σ d_i · 2^(w_0 + … + w_(i-1))`, at most
/// `u64::MAX`.
///
/// The inverse of [`digits`], for digits below 2^w.
///
/// ```
/// use gardenia::theory::bitwise::count;
/// assert_eq!(count(&[1, 0, 1], &[1, 1, 1]), 5);
/// assert_eq!(count(&[3, 2], &[2, 2]), 3 + 2 * 4);
/// ```
#[must_use]
pub fn count(digits: &[u64], widths: &[u32]) -> u64 {
    let mut at = 0_u64;
    digits.iter().zip(widths).fold(0_u64, |sum, (&digit, &width)| {
        let value = match (digit, at) {
            (0, _) => 0,
            (_, 0..64) if digit.leading_zeros() as u64 >= at => digit << at,
            _ => u64::MAX,
        };
        at = at.saturating_add(u64::from(width));
        sum.saturating_add(value)
    })
}

/// The digits of `count`, lowest level first, and whether they are all of it.
///
/// ```
/// use gardenia::theory::bitwise::digits;
/// assert_eq!(digits(11, &[2, 2]), (vec![3, 2], true));
/// assert_eq!(digits(16, &[2, 2]), (vec![0, 0], false)); // needs a third level
/// ```
#[must_use]
pub fn digits(count: u64, widths: &[u32]) -> (Vec<u64>, bool) {
    let mut rest = count;
    let digits = widths.iter().map(|&width| {
        let (digit, above) = split(rest, width);
        rest = above;
        digit
    });
    (digits.collect(), rest == 0)
}

/// The probability that a count is read exactly: the product of `1 - φ_i` over the digits below
/// their top.
///
/// For digits of one bit these are the zero bits of the count, Lall and Ogihara's case: a bit that
/// is set cannot be read as more. Nor can any digit at its top, 2^w - 1, provided that a reader
/// takes no digit for more than that. A count with more digits than levels is never exact.
///
/// ```
/// use gardenia::theory::bitwise::{Digit, exact};
/// let levels = [0.1, 0.05, 0.025].map(|fpp| Digit { width: 1, fpp });
/// assert!((exact(0b101, &levels) - 0.95).abs() < 1e-15); // only the middle bit can be wrong
/// assert!((exact(0, &levels) - 0.9 * 0.95 * 0.975).abs() < 1e-15);
/// assert_eq!(exact(0b111, &levels), 1.0);
/// ```
#[must_use]
pub fn exact(count: u64, levels: &[Digit]) -> f64 {
    let mut rest = count;
    let ln_exact = levels.iter().fold(0.0, |sum, level| {
        let (digit, above) = split(rest, level.width);
        rest = above;
        if at_top(digit, level.width) { sum } else { sum + libm::log1p(-level.error()) }
    });
    if rest == 0 { libm::exp(ln_exact) } else { 0.0 }
}

/// The mean by which a count is read too high: `Σ 2^(w_0 + … + w_(i-1))·φ_i` over the digits below
/// their top.
///
/// Exact for digits of one bit. For wider digits it is a lower bound: a digit d of w bits that is
/// read too high is so by 1 at least and by 2^w - 1 - d at most, and by how much depends on the
/// digits of all keys, of which nothing is known here. Skewed streams in digits of 2 and 3 bits
/// were found to be read too high by 2.6 times this sum. The sum shows why φ_i must shrink like
/// 2^-i. What a count loses because it has more digits than there are levels is not in it.
///
/// ```
/// use gardenia::theory::bitwise::{Digit, overcount};
/// let levels = [0.1, 0.1, 0.1].map(|fpp| Digit { width: 1, fpp });
/// assert!((overcount(0b010, &levels) - (0.1 + 4.0 * 0.1)).abs() < 1e-15);
/// ```
#[must_use]
pub fn overcount(count: u64, levels: &[Digit]) -> f64 {
    let (mut rest, mut unit) = (count, 1.0);
    levels.iter().fold(0.0, |sum, level| {
        let (digit, above) = split(rest, level.width);
        let error = if at_top(digit, level.width) { 0.0 } else { level.error() };
        let here = unit;
        (rest, unit) = (above, libm::ldexp(unit, level.width.min(4096) as i32));
        if error == 0.0 { sum } else { sum + error * here } // a unit may be infinite
    })
}

/// One level of one-bit digits: what it holds, its rate, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The keys that have this bit in their count.
    pub items: u64,
    /// The false-positive probability of the level, digests included: at most φ_i.
    pub fpp: f64,
    /// The filter that keeps it.
    pub shape: Shape,
}

/// The smallest `levels` filters of one-bit digits that read no count too high by more than
/// `overcount` on average, if level i holds `items·decay^i` keys.
///
/// The largest error is that of an absent key, with `Σ 2^i·φ_i` over all levels. A level of n_i
/// keys takes `1.44·n_i·log2(1/φ_i)` bits, and their sum is least, by Lagrange, if φ_i is
/// proportional to `n_i·2^-i`: then
///
/// ```text
/// φ_i = overcount · n_i / (2^i · Σ n_j).
/// ```
///
/// So φ_i shrinks like `(decay/2)^i`; the same φ_i·2^i for all levels would spend bits on the
/// lowest and largest ones (a fifth more in all, for 16 levels of decay 1/2 at 0.01). `decay` is
/// the share of keys that go on from one bit to the next: 1/2 for counts like 1/rank, 1 for bits
/// that half of all keys have. Numbers of keys are rounded up and at least 1. Two keys of equal
/// 64-bit digest cannot be told apart; that floor of n_i/2^64 per level is counted.
///
/// # Errors
///
/// Those of [`size`] for each level; [`SizeError::Fpp`] unless 0 < `overcount` < 1;
/// [`SizeError::Conflict`] unless 0 < `decay` ≤ 1 and there are 1 to 64 levels.
///
/// ```
/// use gardenia::theory::bitwise::{Digit, overcount, shapes};
/// let levels = shapes(1_000_000, 0.5, 10, 0.01)?;
/// let digits: Vec<Digit> = levels.iter().map(|level| Digit { width: 1, fpp: level.fpp }).collect();
/// assert!(overcount(0, &digits) <= 0.01);
/// assert_eq!(levels[1].items, 500_000);
/// let bits: u64 = levels.iter().map(|level| level.shape.cells).sum();
/// assert!(bits < 30_000_000); // counters of ten bits for the same keys would take 100 million
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shapes(items: u64, decay: f64, levels: u32, overcount: f64) -> Result<Vec<Level>, SizeError> {
    if !(overcount > 0.0 && overcount < 1.0) {
        return Err(SizeError::Fpp(overcount));
    }
    if !(decay > 0.0 && decay <= 1.0) {
        return Err(SizeError::Conflict("the decay from level to level must be above 0 and at most 1"));
    }
    if !(1..=64).contains(&levels) {
        return Err(SizeError::Conflict("a count has 1 to 64 bits"));
    }
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    let keys: Vec<u64> = (0..levels)
        .map(|level| (libm::ceil(items as f64 * libm::pow(decay, f64::from(level))) as u64).clamp(1, items))
        .collect();
    let all_keys: f64 = keys.iter().map(|&n| n as f64).sum();
    // What digests cost in any case comes off first; the levels divide the rest.
    let digests: f64 = keys.iter().zip(0..).map(|(&n, level)| libm::ldexp(n as f64, level - 64)).sum();
    let left = overcount - digests;
    if left <= 0.0 {
        return Err(SizeError::FppBelowFloor { fpp: overcount, floor: digests, items });
    }
    let level_for = |(&items, level): (&u64, i32)| {
        let floor = libm::ldexp(items as f64, -64);
        let budget = floor + libm::ldexp(left * (items as f64 / all_keys), -level);
        let rate = |shape: Shape, items| fpp_exact(shape.cells, items, shape.hashes) + floor;
        let shape = size(items, budget, rate, |shape| shape.cells)?;
        Ok(Level { items, fpp: rate(shape, items), shape })
    };
    keys.iter().zip(0..).map(level_for).collect()
}

/// The lowest `width` bits of a count, and what is above them.
fn split(count: u64, width: u32) -> (u64, u64) {
    match width {
        0 => (0, count),
        1..64 => (count & ((1 << width) - 1), count >> width),
        _ => (count, 0),
    }
}

/// Whether a digit is 2^w - 1 and cannot be read as more.
fn at_top(digit: u64, width: u32) -> bool {
    width == 0 || width <= 64 && digit == u64::MAX >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;
    use alloc::vec;

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    fn bits(fpps: &[f64]) -> Vec<Digit> {
        fpps.iter().map(|&fpp| Digit { width: 1, fpp }).collect()
    }

    #[test]
    fn a_digit_stands_above_the_levels_below_it_and_not_above_its_own() {
        // As printed, Σ_{j ≤ i}, the first digit would already stand at bit 3.
        let widths = [3, 1, 4, 2];
        assert_eq!([0, 1, 2, 3, 4, 9].map(|level| exponent(&widths, level)), [0, 3, 4, 8, 10, 10]);
        assert_eq!(count(&[5, 0, 0, 0], &widths), 5);
        assert_eq!(count(&[0, 1, 0, 0], &widths), 8);
        assert_eq!(count(&[0, 0, 9, 0], &widths), 9 << 4);
        assert_eq!(count(&[0, 0, 0, 3], &widths), 3 << 8);
        for width in [1, 2, 5] {
            assert_eq!(exponent(&[width; 8], 3), 3 * u64::from(width));
        }
    }

    #[test]
    fn digits_and_counts_are_inverse() {
        let mut random = SplitMix(6);
        for widths in [vec![1; 64], vec![4; 16], vec![3, 1, 7, 5, 11, 2, 40], vec![64], vec![0, 63, 0, 5]] {
            for _ in 0..1000 {
                let number = random.next() >> random.below(64);
                let (digits, complete) = digits(number, &widths);
                assert!(complete && digits.iter().zip(&widths).all(|(d, &w)| w == 64 || d >> w == 0));
                assert_eq!(count(&digits, &widths), number, "{widths:?}");
            }
        }
        assert!(!digits(8, &[3]).1 && digits(7, &[3]).1);
        assert_eq!(count(&[1, 1], &[64, 1]), u64::MAX);
        assert_eq!(count(&[3, 3], &[63, 1]), u64::MAX);
        assert_eq!(count(&[3, 1], &[1, 1]), 5); // a digit too large for its width carries
        assert_eq!(count(&[0, 0], &[u32::MAX, u32::MAX]), 0);
    }

    #[test]
    fn all_outcomes_of_all_levels_give_the_product_and_the_mean() {
        let fpps = [0.3, 0.2, 0.1, 0.05];
        let levels = bits(&fpps);
        for number in 0..16_u64 {
            // Every set of levels that say yes by mistake, with its probability.
            let (mut right, mut mean) = (0.0, 0.0);
            for mistakes in 0..16_u64 {
                let chance: f64 =
                    (0..4).map(|i| if mistakes >> i & 1 == 1 { fpps[i] } else { 1.0 - fpps[i] }).product();
                let read = number | mistakes;
                right += if read == number { chance } else { 0.0 };
                mean += chance * (read - number) as f64;
            }
            assert!(near(exact(number, &levels), right, 1e-14), "{number}");
            assert!((overcount(number, &levels) - mean).abs() < 1e-14, "{number}");
        }
        assert_eq!(exact(16, &levels), 0.0); // not enough levels
    }

    #[test]
    fn wide_digits_are_safe_at_their_top_only() {
        let levels = [Digit { width: 2, fpp: 0.2 }, Digit { width: 3, fpp: 0.1 }];
        assert!(near(exact(3 + 4 * 7, &levels), 1.0, 1e-15));
        assert!(near(exact(3 + 4 * 6, &levels), 0.9, 1e-15));
        assert!(near(exact(2 + 4 * 7, &levels), 0.8, 1e-15));
        assert!(near(overcount(1, &levels), 0.2 + 4.0 * 0.1, 1e-15));
    }

    #[test]
    fn simulated_levels_read_counts_as_exactly_as_told() {
        // 300 keys of which half have bit 0, a quarter bit 1 and so on, in five levels made too small.
        let (cells, hashes) = ([400_usize, 200, 100, 60, 40], 3);
        let mut random = SplitMix(7);
        let key_counts: Vec<u64> = (0..300)
            .map(|_| (0..5).fold(0, |count, i| count | u64::from(random.below(2 << i) == 0) << i))
            .collect();
        let held = |level: usize| key_counts.iter().filter(|&&count| count >> level & 1 == 1).count() as u64;
        let fpps: Vec<f64> = (0..5).map(|i| fpp_exact(cells[i] as u64, held(i), hashes as u32)).collect();
        let levels = bits(&fpps);
        assert!(fpps.iter().all(|fpp| (0.01..0.9).contains(fpp)), "{fpps:?}");

        let (mut exacts, mut overs) = (vec![Vec::new(); 32], vec![Vec::new(); 32]);
        for _ in 0..3_000 {
            let mut filters: Vec<Vec<bool>> = cells.iter().map(|&m| vec![false; m]).collect();
            for number in &key_counts {
                for (level, filter) in filters.iter_mut().enumerate().filter(|(i, _)| number >> i & 1 == 1) {
                    (0..hashes).for_each(|_| filter[random.below(cells[level])] = true);
                }
            }
            // A fresh key of each count: its own bits are set, the others may seem so.
            for number in 0..32_u64 {
                let read = filters.iter().enumerate().fold(0, |read, (level, filter)| {
                    let seems = (0..hashes).fold(true, |all, _| filter[random.below(cells[level])] && all);
                    read | u64::from(seems) << level
                });
                exacts[number as usize].push(f64::from(u8::from(read | number == number)));
                overs[number as usize].push(((read | number) - number) as f64);
            }
        }
        for number in 0..31 {
            for (sample, theory) in [
                (&exacts[number], exact(number as u64, &levels)),
                (&overs[number], overcount(number as u64, &levels)),
            ] {
                let (mean, error) = mean_and_error(sample);
                assert!((mean - theory).abs() < 5.0 * error, "{number}: {mean} ± {error}, theory {theory}");
            }
        }
    }

    #[test]
    fn shapes_keep_the_mean_error_and_divide_it_best() {
        for (items, decay, levels, target) in
            [(1_000_000, 0.5, 16, 0.01), (1_000, 0.9, 5, 0.5), (50_000, 1.0, 8, 1e-3), (7, 0.1, 32, 0.3)]
        {
            let found = shapes(items, decay, levels, target).unwrap();
            let told = bits(&found.iter().map(|level| level.fpp).collect::<Vec<f64>>());
            let mean = overcount(0, &told);
            assert!(mean <= target, "{items}: {mean}");
            for (i, level) in found.iter().enumerate() {
                let keys = libm::ceil(items as f64 * libm::pow(decay, i as f64)).max(1.0);
                assert_eq!(level.items as f64, keys);
                let real = fpp_exact(level.shape.cells, level.items, level.shape.hashes);
                assert!(near(level.fpp, real + keys * libm::exp2(-64.0), 1e-12), "{i}");
            }
            // Whole cells leave a part of the budget unused where filters are tiny.
            assert!(mean > if items > 100 { 0.9 } else { 0.1 } * target, "{items}: {mean}");
        }
        // Against an equal share of the error for every level: as the documentation says, a fifth more.
        let best: u64 = shapes(1_000_000, 0.5, 16, 0.01).unwrap().iter().map(|level| level.shape.cells).sum();
        let equal: u64 = (0..16)
            .map(|i| {
                let fpp = libm::ldexp(0.01 / 16.0, -i);
                super::super::bloom::shape(1_000_000_u64.div_ceil(1 << i), fpp).unwrap().cells
            })
            .sum();
        let ratio = equal as f64 / best as f64;
        assert!((1.18..1.22).contains(&ratio), "{ratio}: {best} {equal}");
        // And no small shift of the error from one level to another helps: Lagrange's condition.
        let found = shapes(1_000_000, 0.5, 4, 0.01).unwrap();
        let cost = |i: usize, factor: f64| -(found[i].items as f64) * libm::log(found[i].fpp * factor);
        for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 3), (3, 0)] {
            let moved = 0.05 * found[from].fpp * libm::exp2(from as f64);
            let gain = 1.0 + moved / (found[to].fpp * libm::exp2(to as f64));
            assert!(cost(from, 0.95) + cost(to, gain) > cost(from, 1.0) + cost(to, 1.0), "{from} {to}");
        }
    }

    #[test]
    fn impossible_wishes_are_errors() {
        for wrong in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(matches!(shapes(10, 0.5, 4, wrong), Err(SizeError::Fpp(_))), "{wrong}");
        }
        for wrong in [0.0, 1.1, -0.5, f64::NAN] {
            assert!(matches!(shapes(10, wrong, 4, 0.1), Err(SizeError::Conflict(_))), "{wrong}");
        }
        assert!(matches!(shapes(10, 0.5, 0, 0.1), Err(SizeError::Conflict(_))));
        assert!(matches!(shapes(10, 0.5, 65, 0.1), Err(SizeError::Conflict(_))));
        assert_eq!(shapes(0, 0.5, 4, 0.1), Err(SizeError::ZeroItems));
        assert!(matches!(shapes(1 << 50, 0.5, 4, 0.1), Err(SizeError::TooManyCells { .. })));
        // A thousand keys with all of 64 bits: every digest met costs 2^63.
        assert!(matches!(shapes(1_000, 1.0, 64, 0.1), Err(SizeError::FppBelowFloor { .. })));
    }

    #[test]
    fn every_input_has_an_answer() {
        let strange = [0.0, 0.5, 1.0, -1.0, 7.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for (width, fpp) in [0, 1, 2, 63, 64, 65, u32::MAX].into_iter().flat_map(|w| strange.map(|f| (w, f)))
        {
            for number in [0, 1, u64::MAX] {
                let levels = [Digit { width, fpp }; 70];
                assert!((0.0..=1.0).contains(&exact(number, &levels)), "{width} {fpp} {number}");
                assert!(overcount(number, &levels) >= 0.0, "{width} {fpp} {number}");
            }
        }
        assert_eq!((exact(0, &[]), exact(1, &[]), overcount(1, &[])), (1.0, 0.0, 0.0));
        assert_eq!((exponent(&[], 3), count(&[], &[]), digits(0, &[])), (0, 0, (vec![], true)));
    }
}
