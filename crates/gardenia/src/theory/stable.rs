//! Filters that forget: cells hold ages, and the share of zeros settles whatever the length of the
//! stream.
//!
//! Each insert first lowers P different cells by 1, a run from a random start or all drawn, and
//! then sets K random cells to Max. A cell never counts below 0. So in one insert a cell is set
//! with probability `s = 1 - (1 - 1/m)^K` (positions of a key may coincide; the paper writes K/m),
//! and otherwise lowered with probability `d = (P/m)·(1 - s)`. That law of one cell is exact, and
//! all that is needed is to look *back* in time: a cell is zero if and only if Max lowerings come
//! before the first setting. Each event was a lowering with probability d/(s + d), whenever it was;
//! hence the limit, and both laws of finite time:
//!
//! ```text
//! z       = (d/(s+d))^Max                                                   for ever
//! u_g     = z · Pr(Bin(g, s+d) ≥ Max)                                       g inserts after it was set
//! w_N     = z · Pr(Bin(N, s+d) ≥ Max) + (1-s)^N · Pr(Bin(N, P/m) < Max)     N inserts after it was empty
//! ```
//!
//! The article's 1/(d/k - d/m + 1) lacks both powers, Max and K. Where several cells of a key
//! matter they are taken as different and independent. They are not quite, since a run lowers
//! neighbours together: in small filters false positives are slightly more and false negatives
//! slightly fewer, by 1% and 4% of themselves at m = 1000, K = 5, P = 28, and in inverse proportion
//! to m. Where cells are drawn one by one false positives are half as much more, for the fill
//! varies all the same, and false negatives are as said. Digests of 64 bits may meet on top.
//!
//! Source: Deng and Rafiei, "Approximately Detecting Duplicates for Streaming Data using Stable
//! Bloom Filters" (2006), for the filter, the limit, and P. The laws of finite time were worked out
//! for this project; the tests simulate them.

use super::binomial::{Binomial, at_least_one, ln_none};
use super::first;
use crate::SizeError;
use crate::index::{MAX_CELLS, MAX_HASHES};

/// A stable filter's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StableShape {
    /// Cells (m).
    pub cells: u64,
    /// Cells set per insert (K).
    pub hashes: u32,
    /// The value a cell is set to (Max): 2^w - 1 for w bits.
    pub max: u32,
    /// Cells lowered per insert (P).
    pub decrements: u64,
}

/// The fraction of zeros in the long run: `(1 / (1 + s/d))^Max`, `s/d = ((1 - 1/m)^-K - 1)·m/P`.
///
/// Deng and Rafiei's `(1 / (1 + 1/(P·(1/K - 1/m))))^Max`, with the true chance s in place of K/m;
/// the two differ by O(K/m). It is also the probability that one cell is zero. Without hashes, or
/// with cells that hold nothing (Max = 0), all is zero; otherwise nothing is, in the end, without
/// decrements or without cells. More decrements than cells are taken as all.
///
/// ```
/// use gardenia::theory::stable::zero_fraction;
/// let paper = |m: f64, k: f64, max: f64, p: f64| (1.0 / (1.0 + 1.0 / (p * (1.0 / k - 1.0 / m)))).powf(max);
/// assert!((zero_fraction(1_000_000, 6, 3, 26) - paper(1e6, 6.0, 3.0, 26.0)).abs() < 2e-6);
/// // One position in two cells, one of them lowered: set 1/2, lowered and not set 1/4.
/// assert!((zero_fraction(2, 1, 1, 1) - 1.0 / 3.0).abs() < 1e-15);
/// ```
#[must_use]
pub fn zero_fraction(cells: u64, hashes: u32, max: u32, decrements: u64) -> f64 {
    match Law::new(cells, hashes, max, decrements) {
        Ok(law) => libm::exp(law.ln_zero()),
        Err(Certain { zero }) => zero,
    }
}

/// The false-positive probability in the long run: `(1 - z)^K` with z from [`zero_fraction`].
///
/// On the way there from an empty filter it is lower ([`fpp_after`]). No hashes exclude nothing and
/// give 1, and so do no cells and no decrements.
///
/// ```
/// use gardenia::theory::stable::stable_fpp;
/// assert!((stable_fpp(1_000_000, 5, 3, 28) - 0.008925).abs() < 1e-6);
/// assert_eq!(stable_fpp(1_000_000, 5, 3, 0), 1.0); // never forgets, and fills up
/// ```
#[must_use]
pub fn stable_fpp(cells: u64, hashes: u32, max: u32, decrements: u64) -> f64 {
    let set = match Law::new(cells, hashes, max, decrements) {
        Ok(law) => -libm::expm1(law.ln_zero()),
        Err(Certain { zero }) => 1.0 - zero,
    };
    libm::pow(set, f64::from(hashes))
}

/// The fraction of zeros after `inserts` insertions of distinct keys into an empty filter: w_N of
/// the module.
///
/// It only falls, from 1 to [`zero_fraction`]. Repeated keys set the same cells again, which keeps
/// it higher.
///
/// ```
/// use gardenia::theory::stable::{zero_fraction, zero_fraction_after};
/// assert_eq!(zero_fraction_after(0, 1_000, 3, 3, 10), 1.0);
/// assert!((zero_fraction_after(1, 1_000, 3, 3, 10) - 0.999_f64.powi(3)).abs() < 1e-15);
/// assert!((zero_fraction_after(10_000, 1_000, 3, 3, 10) - zero_fraction(1_000, 3, 3, 10)).abs() < 1e-12);
/// ```
#[must_use]
pub fn zero_fraction_after(inserts: u64, cells: u64, hashes: u32, max: u32, decrements: u64) -> f64 {
    match Law::new(cells, hashes, max, decrements) {
        Ok(law) => {
            let since_set = law.events(inserts).tails(law.max).from;
            (libm::exp(law.ln_zero()) * since_set + law.untouched(inserts)).min(1.0)
        }
        // No cells stay none; cells that are always zero are so from the start.
        Err(Certain { zero }) => zero,
    }
}

/// The false-positive probability after `inserts` insertions into an empty filter: `(1 - w_N)^K`.
///
/// ```
/// use gardenia::theory::stable::{fpp_after, stable_fpp};
/// let at = |inserts| fpp_after(inserts, 100_000, 5, 3, 28);
/// assert!(at(0) == 0.0 && at(1_000) < at(5_000) && at(5_000) < stable_fpp(100_000, 5, 3, 28));
/// ```
#[must_use]
pub fn fpp_after(inserts: u64, cells: u64, hashes: u32, max: u32, decrements: u64) -> f64 {
    let occupied = match Law::new(cells, hashes, max, decrements) {
        Ok(law) => law.occupied(inserts),
        Err(Certain { zero }) => 1.0 - zero,
    };
    libm::pow(occupied, f64::from(hashes))
}

/// How many inserts into an empty filter bring its fraction of zeros to within `relative` of the
/// limit: the fewest N with `w_N ≤ z·(1 + relative)`.
///
/// Of the order of m·Max/P. A limit of 0 is never reached, nor is any with `relative` ≤ 0 or NaN:
/// they give `u64::MAX`. A filter with all zeros in the limit starts there, and gives 0.
///
/// ```
/// use gardenia::theory::stable::{convergence, zero_fraction, zero_fraction_after};
/// let inserts = convergence(1_000, 3, 3, 10, 0.01);
/// let z = zero_fraction(1_000, 3, 3, 10);
/// assert!(zero_fraction_after(inserts, 1_000, 3, 3, 10) <= 1.01 * z);
/// assert!(zero_fraction_after(inserts - 1, 1_000, 3, 3, 10) > 1.01 * z);
/// ```
#[must_use]
pub fn convergence(cells: u64, hashes: u32, max: u32, decrements: u64, relative: f64) -> u64 {
    let law = match Law::new(cells, hashes, max, decrements) {
        Ok(law) => law,
        Err(Certain { zero }) => return if zero == 1.0 { 0 } else { u64::MAX },
    };
    let zero = libm::exp(law.ln_zero());
    if zero == 0.0 || relative.is_nan() || relative <= 0.0 {
        return u64::MAX;
    }
    // w_N - z by its two falling parts, and not by the difference from 1.
    first(|inserts| {
        let since_set = law.events(inserts).tails(law.max).below;
        law.untouched(inserts) - zero * since_set <= relative * zero
    })
}

/// The fewest cells to lower per insert, P, at which [`stable_fpp`] is at most `fpp`.
///
/// Deng and Rafiei's `1 / (((1 - fpp^(1/K))^(-1/Max) - 1)·(1/K - 1/m))`, with s in place of K/m,
/// rounded up: more lowering means more zeros. It hardly depends on m, and not at all on the
/// stream.
///
/// # Errors
///
/// [`SizeError::Conflict`] if P would be more than all cells: there are too few of them for that
/// many hashes. Otherwise what is wrong with a parameter.
///
/// ```
/// use gardenia::theory::stable::{decrements, stable_fpp};
/// let p = decrements(1_000_000, 5, 3, 0.01)?;
/// assert!(stable_fpp(1_000_000, 5, 3, p) <= 0.01 && stable_fpp(1_000_000, 5, 3, p - 1) > 0.01);
/// assert!(decrements(10, 5, 3, 0.01).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn decrements(cells: u64, hashes: u32, max: u32, fpp: f64) -> Result<u64, SizeError> {
    check(cells, max, fpp)?;
    if !(1..=MAX_HASHES).contains(&hashes) {
        return Err(SizeError::Hashes { hashes, max: MAX_HASHES });
    }
    let meets = |decrements: u64| stable_fpp(cells, hashes, max, decrements) <= fpp;
    if !meets(cells) {
        return Err(SizeError::Conflict(
            "too few cells for that many hashes: even lowering all of them would miss the false-positive rate",
        ));
    }
    // By search and not by the formula: it cannot be off by rounding, and takes microseconds.
    Ok(first(meets))
}

/// The probability that a key is forgotten after `gap` inserts of other, distinct keys:
/// `1 - (1 - u_g)^K`.
///
/// A cell of the key was Max and is zero now if Max lowerings came since it was last set, by the
/// key or by another that shares it. Nothing is forgotten at once, or without decrements; for long
/// gaps all but a share of [`stable_fpp`] is. How full the filter was does not matter. Keys that
/// are repeated in the gap lower cells like others but set the same ones, and so make it likelier.
///
/// ```
/// use gardenia::theory::stable::{false_negative, stable_fpp};
/// let after = |gap| false_negative(1_000_000, 5, 3, 28, gap);
/// assert_eq!(after(2), 0.0); // three lowerings take three inserts
/// assert!(after(1_000) < 2e-5 && (after(20_000) - 0.0868).abs() < 1e-4);
/// assert!((after(1_000_000_000) - (1.0 - stable_fpp(1_000_000, 5, 3, 28))).abs() < 1e-12);
/// ```
#[must_use]
pub fn false_negative(cells: u64, hashes: u32, max: u32, decrements: u64, gap: u64) -> f64 {
    if hashes == 0 {
        return 0.0;
    }
    let forgotten = match Law::new(cells, hashes, max, decrements) {
        Ok(law) => libm::exp(law.ln_zero()) * law.events(gap).tails(law.max).from,
        Err(Certain { zero }) => zero,
    };
    -libm::expm1(f64::from(hashes) * libm::log1p(-forgotten))
}

/// The longest gap after which a key is still found with probability `1 - false_negative` or more.
///
/// `u64::MAX` if that holds for ever, 0 if it does not hold after a single insert or for a
/// `false_negative` that is NaN or negative.
///
/// ```
/// use gardenia::theory::stable::{false_negative, memory};
/// let gap = memory(1_000_000, 5, 3, 28, 0.1);
/// assert!((21_000..21_500).contains(&gap));
/// assert!(false_negative(1_000_000, 5, 3, 28, gap) <= 0.1);
/// assert!(false_negative(1_000_000, 5, 3, 28, gap + 1) > 0.1);
/// ```
#[must_use]
pub fn memory(cells: u64, hashes: u32, max: u32, decrements: u64, false_negative: f64) -> u64 {
    if false_negative.is_nan() || false_negative < 0.0 {
        return 0;
    }
    let too_long = |gap| self::false_negative(cells, hashes, max, decrements, gap) > false_negative;
    if !too_long(u64::MAX) {
        return u64::MAX;
    }
    first(too_long).saturating_sub(1)
}

/// The shape of `cells` cells that keeps `fpp` in the long run and remembers longest.
///
/// Each K has its least P ([`decrements`]); taken is the K whose [`memory`] at 10% false negatives
/// is longest. The choice hardly depends on the 10%: at 0.1% and at 50% K is the same, or off by
/// one or two in a flat optimum. It is below the log2(1/fpp) of a filter that never forgets (4 at
/// 1% and Max = 3), and nears it for large Max. If the gap that matters is known, [`shape_for_gap`]
/// is the paper's criterion.
///
/// # Errors
///
/// As [`decrements`], if no number of hashes will do.
///
/// ```
/// use gardenia::theory::stable::{StableShape, shape, stable_fpp};
/// let StableShape { hashes, decrements, .. } = shape(1_000_000, 3, 0.01)?;
/// assert_eq!((hashes, decrements), (4, 30));
/// assert!(stable_fpp(1_000_000, 4, 3, 30) <= 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(cells: u64, max: u32, fpp: f64) -> Result<StableShape, SizeError> {
    const FORGOTTEN: f64 = 0.1;
    let (mut longest, mut best) = (0, None);
    candidates(cells, max, fpp, |shape| {
        let StableShape { hashes, decrements, .. } = shape;
        // Whether the longest memory is beaten shows at its own gap: mostly one look, and the answer is no.
        let beats = false_negative(cells, hashes, max, decrements, longest + 1) <= FORGOTTEN;
        if best.is_none() || beats {
            longest = memory(cells, hashes, max, decrements, FORGOTTEN).min(u64::MAX - 1);
            best = Some(shape);
        }
    })?;
    best.ok_or(NO_HASHES)
}

/// The shape of `cells` cells that keeps `fpp` and forgets the fewest keys of a given `gap`.
///
/// Deng and Rafiei choose K so that false negatives are fewest for the gaps of their stream; this
/// is the case of one gap. Of numbers that are equally good, such as all of them at short gaps, the
/// smallest is taken.
///
/// # Errors
///
/// As [`decrements`], if no number of hashes will do.
///
/// ```
/// use gardenia::theory::stable::{false_negative, shape_for_gap};
/// let best = shape_for_gap(1_000_000, 1, 0.01, 20_000)?;
/// let rate = |hashes, p| false_negative(1_000_000, hashes, 1, p, 20_000);
/// assert_eq!(best.hashes, 3);
/// assert!(rate(3, best.decrements) < rate(2, 18));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape_for_gap(cells: u64, max: u32, fpp: f64, gap: u64) -> Result<StableShape, SizeError> {
    let mut best: Option<(f64, StableShape)> = None;
    candidates(cells, max, fpp, |shape| {
        let rate = false_negative(cells, shape.hashes, max, shape.decrements, gap);
        if best.is_none_or(|(least, _)| rate < least) {
            best = Some((rate, shape));
        }
    })?;
    best.map(|(_, shape)| shape).ok_or(NO_HASHES)
}

const NO_HASHES: SizeError =
    SizeError::Conflict("too few cells: no number of hashes keeps the false-positive probability");

/// Calls `consider` for each number of hashes that can be best, with its decrements.
fn candidates(
    cells: u64,
    max: u32,
    fpp: f64,
    mut consider: impl FnMut(StableShape),
) -> Result<(), SizeError> {
    check(cells, max, fpp)?;
    // A filter that forgets sharply is a classical one, with log2(1/fpp) hashes; none wants more.
    let most = (libm::ceil(-libm::log2(fpp)) as u32 + 1).clamp(2, MAX_HASHES);
    for hashes in 1..=most {
        if let Ok(decrements) = decrements(cells, hashes, max, fpp) {
            consider(StableShape { cells, hashes, max, decrements });
        }
    }
    Ok(())
}

fn check(cells: u64, max: u32, fpp: f64) -> Result<(), SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    match (cells, max) {
        (0, _) => Err(SizeError::ZeroCells),
        (1..=MAX_CELLS, 0) => Err(SizeError::Width { width: 0 }),
        (1..=MAX_CELLS, _) => Ok(()),
        _ => Err(SizeError::TooManyCells { cells, max: MAX_CELLS }),
    }
}

/// What one insert does to one cell.
struct Law {
    max: f64,
    /// The cell is set (s), and not.
    set: f64,
    unset: f64,
    /// The cell is among those lowered (P/m), and not.
    lowered: f64,
    kept: f64,
}

/// A filter that needs no formula: cells that are always zero, or never in the end.
struct Certain {
    zero: f64,
}

impl Law {
    fn new(cells: u64, hashes: u32, max: u32, decrements: u64) -> Result<Self, Certain> {
        if cells == 0 {
            return Err(Certain { zero: 0.0 });
        }
        if hashes == 0 || max == 0 {
            return Err(Certain { zero: 1.0 });
        }
        let [set, unset] = at_least_one(cells, hashes);
        let decrements = decrements.min(cells);
        let (lowered, kept) = (decrements as f64 / cells as f64, (cells - decrements) as f64 / cells as f64);
        Ok(Self { max: f64::from(max), set, unset, lowered, kept })
    }

    /// ln z: the first Max events back in time are lowerings. Minus infinity if none ever is.
    fn ln_zero(&self) -> f64 {
        -self.max * libm::log1p(self.set / (self.lowered * self.unset))
    }

    /// Settings and lowerings together, in `inserts` insertions.
    fn events(&self, inserts: u64) -> Binomial {
        // 1 - (s + d) = (1 - s)(1 - P/m)
        let hit = self.set + self.lowered * self.unset;
        Binomial { trials: inserts as f64, hit, miss: self.unset * self.kept }
    }

    /// Lowerings, whether the cell is also set or not, in `inserts` insertions.
    fn lowerings(&self, inserts: u64) -> Binomial {
        Binomial { trials: inserts as f64, hit: self.lowered, miss: self.kept }
    }

    /// 1 - w_N without the difference from 1, which for few inserts would be all rounding: set at
    /// least once, less what was set and forgotten.
    fn occupied(&self, inserts: u64) -> f64 {
        let ln_never = ln_none(inserts as f64, self.set, self.unset);
        let (never, ever) = (libm::exp(ln_never), -libm::expm1(ln_never));
        let zero = libm::exp(self.ln_zero()) * self.events(inserts).tails(self.max).from;
        (ever - (zero - never * self.lowerings(inserts).tails(self.max).from)).clamp(0.0, 1.0)
    }

    /// Never set in `inserts` insertions, and lowered less than Max times.
    fn untouched(&self, inserts: u64) -> f64 {
        let never = libm::exp(ln_none(inserts as f64, self.set, self.unset));
        never * self.lowerings(inserts).tails(self.max).below
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SplitMix, mean_and_error};
    use super::*;
    use alloc::{vec, vec::Vec};

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    #[test]
    fn the_laws_of_finite_time_agree_with_the_markov_chain_of_a_cell() {
        // Cells, hashes, Max, decrements, inserts; zeros from empty, false negatives, false positives from
        // empty: the transition matrix of one cell multiplied out in 50 digits (mpmath).
        #[rustfmt::skip]
        let reference = [
            (1000, 3, 3, 10, 0, 1.0, 0.0, 0.0),
            (1000, 3, 3, 10, 1, 0.997002999, 0.0, 2.691910791903599e-8),
            (1000, 3, 3, 10, 7, 0.9792087773296598, 0.00010006996922074729, 8.987524535002253e-6),
            (1000, 3, 3, 10, 30, 0.9139555511361661, 0.00926386770997266, 0.0006370427412095506),
            (1000, 3, 3, 10, 500, 0.46266909786955135, 0.8197897814713778, 0.15514059518400888),
            (100, 2, 1, 4, 1, 0.9801, 0.076871046384, 0.00039601),
            (100, 2, 1, 4, 7, 0.8831052943528902, 0.4075441209150771, 0.013664372208324444),
            (100, 2, 1, 4, 30, 0.7174411987695994, 0.8034452441005171, 0.07983947615276099),
            (100, 2, 1, 4, 500, 0.6633053600433333, 0.8866367194244109, 0.1133632805755494),
            (50, 5, 7, 20, 7, 0.4930746206180783, 0.004032746290142697, 0.033474968291091485),
            (50, 5, 7, 20, 30, 0.19236955254833124, 0.6546228959029278, 0.34360811880369163),
            (1_000_000, 5, 3, 28, 1, 0.99999500001, 0.0, 3.1249687501562495e-27),
            (1_000_000, 5, 3, 28, 30, 0.9998500111744517, 4.453212342720509e-10, 7.590921888306075e-20),
            (1_000_000, 5, 3, 28, 500, 0.9975031214300941, 2.245152444416165e-6, 9.704811617976286e-14),
            (2, 1, 1, 1, 7, 0.3333740234375, 0.33331298828125, 0.6666259765625),
            (40, 3, 15, 40, 7, 0.5876204882136229, 0.0, 0.0701279656207474),
            (40, 3, 15, 40, 30, 0.32004253847362973, 0.6856270056792717, 0.31437299432072824),
        ];
        for (m, k, max, p, inserts, zeros, negative, positive) in reference {
            let found = [
                zero_fraction_after(inserts, m, k, max, p),
                false_negative(m, k, max, p, inserts),
                fpp_after(inserts, m, k, max, p),
            ];
            let expected = [zeros, negative, positive];
            let agree = (0..3).all(|i| near(found[i], expected[i], 1e-12));
            assert!(agree, "{m} {k} {max} {p}, {inserts} inserts: {found:?}, not {expected:?}");
        }
    }

    #[test]
    fn the_limit_is_the_stationary_law_of_the_chain() {
        // By solving the linear system of the chain in 50 digits (mpmath).
        for (m, k, max, p, zeros, positive) in [
            (1000, 3, 3, 10, 0.4545354368894423, 0.16229293853787655),
            (100, 2, 1, 4, 0.6633053600433135, 0.11336328057556277),
            (50, 5, 7, 20, 0.19213867125679074, 0.3440995444174944),
            (1_000_000, 5, 3, 28, 0.6108459266330498, 0.008924993394424681),
            (2, 1, 1, 1, 1.0 / 3.0, 2.0 / 3.0),
            (40, 3, 15, 40, 0.32004253847362973, 0.31437299432072824),
        ] {
            assert!(near(zero_fraction(m, k, max, p), zeros, 1e-13), "{m} {k} {max} {p}");
            assert!(near(stable_fpp(m, k, max, p), positive, 1e-13), "{m} {k} {max} {p}");
            assert!(near(zero_fraction_after(1 << 40, m, k, max, p), zeros, 1e-13));
            assert!(near(false_negative(m, k, max, p, 1 << 40), 1.0 - positive, 1e-13));
        }
    }

    #[test]
    fn large_filters_obey_the_formula_of_the_paper_and_not_that_of_the_article() {
        for (k, max, p) in [(1_u32, 1_u32, 3_u64), (5, 3, 28), (7, 7, 90), (3, 255, 1000)] {
            let (m, kf, pf) = (1_u64 << 36, f64::from(k), p as f64);
            let one = 1.0 / (1.0 + 1.0 / (pf * (1.0 / kf - 1.0 / m as f64)));
            let zeros = libm::pow(one, f64::from(max));
            assert!(near(zero_fraction(m, k, max, p), zeros, 1e-7));
            let fpp = libm::pow(1.0 - zeros, kf);
            assert!(near(stable_fpp(m, k, max, p), fpp, 1e-7));
            assert!((k, max) == (1, 1) || !near(1.0 - one, fpp, 0.2));
        }
    }

    /// Cells as the paper says: lower P, a run from a random start or drawn, then set K random
    /// cells.
    struct Cells {
        cells: Vec<u32>,
        random: SplitMix,
        drawn: bool,
    }

    impl Cells {
        fn insert(&mut self, hashes: u32, max: u32, decrements: usize) -> Vec<usize> {
            let m = self.cells.len();
            let start = self.random.below(m);
            let mut lowered: Vec<usize> = (start..start + m).map(|at| at % m).collect();
            for i in (0..decrements).filter(|_| self.drawn) {
                lowered.swap(i, i + self.random.below(m - i));
            }
            for at in &lowered[..decrements] {
                self.cells[*at] = self.cells[*at].saturating_sub(1);
            }
            let at: Vec<usize> = (0..hashes).map(|_| self.random.below(m)).collect();
            at.iter().for_each(|&at| self.cells[at] = max);
            at
        }
        fn zeros(&self) -> f64 {
            self.cells.iter().filter(|&&cell| cell == 0).count() as f64 / self.cells.len() as f64
        }
    }

    #[test]
    fn simulated_filters_have_the_zeros_that_the_law_says_at_any_time() {
        // Small filters, where s and K/m differ and runs are a good part of all cells: the law is exact.
        let shapes = [(1, 60, 4, 3, 12), (2, 25, 3, 1, 5), (3, 100, 2, 7, 40), (4, 30, 6, 3, 30)];
        for ((seed, m, k, max, p), drawn) in shapes.into_iter().flat_map(|one| [(one, false), (one, true)]) {
            let times = [1, 5, 20, 60, 200];
            let mut samples = vec![Vec::new(); times.len()];
            let mut random = SplitMix(seed);
            for _ in 0..4_000 {
                let mut filter = Cells { cells: vec![0; m], random, drawn };
                let mut done = 0;
                for (sample, time) in samples.iter_mut().zip(times) {
                    (done..time).for_each(|_| _ = filter.insert(k, max, p));
                    done = time;
                    sample.push(filter.zeros());
                }
                random = filter.random;
            }
            for (sample, time) in samples.iter().zip(times) {
                let (mean, error) = mean_and_error(sample);
                let theory = zero_fraction_after(time, m as u64, k, max, p as u64);
                // After one insert the spread can be nothing but rounding.
                assert!(
                    (mean - theory).abs() < 5.0 * error + 1e-12,
                    "{m} {k} {max} {p} after {time}: {mean} ± {error}, theory {theory}"
                );
            }
        }
    }

    #[test]
    #[ignore = "a long sweep, run by ./check engines"]
    fn simulated_keys_are_forgotten_as_often_as_the_formula_says() {
        for (seed, m, k, max, p, gaps) in [
            (1, 3_000, 3, 3, 10, [100, 300, 900]),
            (2, 4_000, 2, 1, 5, [30, 200, 1_000]),
            (3, 6_000, 5, 7, 40, [200, 400, 800]),
        ] {
            let trials = 3_000;
            let mut filter = Cells { cells: vec![0; m], random: SplitMix(seed), drawn: false };
            let mut forgotten = [0.0; 3];
            for _ in 0..trials {
                // What the filter held before does not matter, so one filter serves all trials.
                let key = filter.insert(k, max, p);
                let mut age = 0;
                for (count, gap) in forgotten.iter_mut().zip(gaps) {
                    (age..gap).for_each(|_| _ = filter.insert(k, max, p));
                    age = gap;
                    *count += f64::from(u8::from(key.iter().any(|&at| filter.cells[at] == 0)));
                }
            }
            for (count, gap) in forgotten.iter().zip(gaps) {
                let (rate, theory) =
                    (count / f64::from(trials), false_negative(m as u64, k, max, p as u64, gap));
                let error = libm::sqrt(theory * (1.0 - theory) / f64::from(trials));
                assert!(
                    (rate - theory).abs() < 5.0 * error,
                    "{m} {k} {max} {p} {gap}: {rate}, theory {theory} ± {error}"
                );
            }
        }
    }

    #[test]
    #[ignore = "a long sweep, run by ./check engines"]
    fn simulated_filters_err_as_often_as_the_limit_says() {
        let (m, k, max, p) = (20_000_usize, 3, 3, 10);
        let mut filter = Cells { cells: vec![0; m], random: SplitMix(9), drawn: false };
        let settled = convergence(m as u64, k, max, p as u64, 1e-3);
        (0..settled).for_each(|_| _ = filter.insert(k, max, p));
        // Looks far enough apart to be nearly independent.
        let rates: Vec<f64> = (0..100)
            .map(|_| {
                (0..m / 3).for_each(|_| _ = filter.insert(k, max, p));
                libm::pow(1.0 - filter.zeros(), f64::from(k))
            })
            .collect();
        let (mean, error) = mean_and_error(&rates);
        let theory = stable_fpp(m as u64, k, max, p as u64);
        assert!((mean - theory).abs() < 5.0 * error, "{mean} ± {error}, theory {theory}");
        assert!(error < 0.01 * theory, "too few trials to tell: {error}");
    }

    #[test]
    fn decrements_are_the_fewest_that_keep_the_rate() {
        for m in [30, 1_000, 1_000_000, 1 << 40] {
            for k in [1, 2, 5, 10, 30] {
                for max in [1, 3, 7, 255, 65_535] {
                    for target in [0.9, 0.5, 0.1, 0.01, 1e-4, 1e-9] {
                        match decrements(m, k, max, target) {
                            Ok(p) => {
                                assert!((1..=m).contains(&p) && stable_fpp(m, k, max, p) <= target);
                                let fewer = p == 1 || stable_fpp(m, k, max, p - 1) > target;
                                assert!(fewer, "{m} {k} {max} {target}: {p}");
                            }
                            Err(SizeError::Conflict(_)) => assert!(stable_fpp(m, k, max, m) > target),
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            }
        }
        // Before rounding, by the paper's formula in 15 digits: 4.32, 27.1, 141.3 and 2442.7.
        for (k, max, target, p) in
            [(2, 1, 0.1, 5), (5, 3, 0.01, 28), (6, 15, 0.01, 142), (7, 255, 0.01, 2443)]
        {
            assert_eq!(decrements(1 << 36, k, max, target), Ok(p));
        }
    }

    #[test]
    fn the_shape_has_the_longest_memory_of_all() {
        for (m, max, target) in [(100_000, 1, 0.01), (100_000, 3, 0.01), (1 << 30, 15, 1e-3), (5_000, 7, 0.1)]
        {
            let found = shape(m, max, target).unwrap();
            let memory_of = |k: u32| decrements(m, k, max, target).map_or(0, |p| memory(m, k, max, p, 0.1));
            let longest = memory_of(found.hashes);
            assert_eq!(Ok(found.decrements), decrements(m, found.hashes, max, target));
            assert!((1..=40).all(|k| memory_of(k) <= longest), "{m} {max} {target}: {found:?}");
            let at_gap = shape_for_gap(m, max, target, longest).unwrap();
            let rate = |s: StableShape| false_negative(m, s.hashes, max, s.decrements, longest);
            assert!(rate(at_gap) <= rate(found));
            for k in 1..=40 {
                let Ok(decrements) = decrements(m, k, max, target) else { continue };
                assert!(
                    rate(at_gap) <= rate(StableShape { hashes: k, decrements, ..found }),
                    "{m} {max} {target} {k}"
                );
            }
        }
        // By a search in another language, with the paper's P and the Poisson limit of u_g.
        let wide = |max, target| shape(1 << 36, max, target).unwrap().hashes;
        for (target, best) in [(0.1, [2, 2, 3, 3, 3]), (0.01, [3, 4, 5, 6, 7]), (1e-3, [5, 8, 9, 9, 10])] {
            assert_eq!([1, 3, 7, 15, 255].map(|max| wide(max, target)), best, "{target}");
        }
    }

    #[test]
    fn memory_and_convergence_are_where_their_laws_cross() {
        for (m, k, max, p) in [(1_000, 3, 3, 10), (100, 2, 1, 4), (1 << 33, 5, 7, 60), (50, 5, 7, 20)] {
            for share in [1e-6, 0.01, 0.3] {
                let gap = memory(m, k, max, p, share);
                assert!(false_negative(m, k, max, p, gap) <= share);
                assert!(false_negative(m, k, max, p, gap + 1) > share, "{m} {k} {max} {p} {share}: {gap}");
                let (inserts, z) = (convergence(m, k, max, p, share), zero_fraction(m, k, max, p));
                let excess = |n| zero_fraction_after(n, m, k, max, p) / z - 1.0;
                // To the rounding of this difference.
                assert!(excess(inserts) <= share + 1e-12 && excess(inserts - 1) > share - 1e-12);
            }
            assert_eq!(memory(m, k, max, p, 1.0), u64::MAX);
            assert_eq!(memory(m, k, max, p, f64::NAN), 0);
            // Of the order m·Max/P, the time to lower what is set.
            let order = m as f64 * f64::from(max) / p as f64;
            let inserts = convergence(m, k, max, p, 0.01) as f64;
            assert!((0.3..10.0).contains(&(inserts / order)), "{inserts} {order}");
        }
        assert_eq!(memory(1_000, 3, 3, 0, 0.1), u64::MAX);
        assert_eq!(convergence(1_000, 3, 3, 0, 0.1), u64::MAX);
        assert_eq!(convergence(1_000, 0, 3, 5, 0.1), 0);
        assert!([0.0, -1.0, f64::NAN].iter().all(|&r| convergence(1_000, 3, 3, 10, r) == u64::MAX));
    }

    #[test]
    fn zeros_fall_and_forgetting_grows_all_the_way() {
        for (m, k, max, p) in [(1_000, 3, 3, 10), (30, 5, 15, 30), (10, 9, 1, 1)] {
            for n in 0..300 {
                let zeros = [n, n + 1].map(|n| zero_fraction_after(n, m, k, max, p));
                assert!(zeros[1] <= zeros[0] + 1e-15, "{m} {n}: {zeros:?}");
                let forgotten = [n, n + 1].map(|n| false_negative(m, k, max, p, n));
                assert!(forgotten[0] <= forgotten[1] + 1e-15, "{m} {n}: {forgotten:?}");
            }
        }
    }

    #[test]
    fn impossible_wishes_are_errors() {
        for wrong in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(matches!(decrements(10, 2, 3, wrong), Err(SizeError::Fpp(_))), "{wrong}");
            assert!(matches!(shape(10, 3, wrong), Err(SizeError::Fpp(_))), "{wrong}");
        }
        assert_eq!(decrements(0, 2, 3, 0.1), Err(SizeError::ZeroCells));
        assert_eq!(decrements(10, 0, 3, 0.1), Err(SizeError::Hashes { hashes: 0, max: 255 }));
        assert_eq!(decrements(10, 256, 3, 0.1), Err(SizeError::Hashes { hashes: 256, max: 255 }));
        assert_eq!(decrements(10, 2, 0, 0.1), Err(SizeError::Width { width: 0 }));
        assert!(matches!(decrements(MAX_CELLS + 1, 2, 3, 0.1), Err(SizeError::TooManyCells { .. })));
        assert!(matches!(decrements(1, 1, 1, 0.1), Err(SizeError::Conflict(_))));
        assert!(matches!(shape(1, 1, 0.1), Err(SizeError::Conflict(_))));
        assert!(matches!(shape_for_gap(5, 255, 1e-9, 3), Err(SizeError::Conflict(_))));
    }

    #[test]
    fn every_input_has_a_probability() {
        let numbers = [0, 1, 2, 1000, 1 << 40, u64::MAX];
        for (m, p) in numbers.into_iter().flat_map(|m| numbers.map(|p| (m, p))) {
            for (k, max) in
                [0, 1, 2, 255, u32::MAX].into_iter().flat_map(|k| [0, 1, 255, 65_535].map(|max| (k, max)))
            {
                let limits = [zero_fraction(m, k, max, p), stable_fpp(m, k, max, p)];
                assert!(limits.iter().all(|p| (0.0..=1.0).contains(p)), "{m} {k} {max} {p}: {limits:?}");
                for n in numbers {
                    let found = [
                        zero_fraction_after(n, m, k, max, p),
                        fpp_after(n, m, k, max, p),
                        false_negative(m, k, max, p, n),
                    ];
                    assert!(
                        found.iter().all(|p| (0.0..=1.0).contains(p)),
                        "{n} {m} {k} {max} {p}: {found:?}"
                    );
                    // Without hashes the answer is always yes, and without cells too.
                    assert!((m > 0 && k > 0) || found[1..] == [1.0, 0.0], "{n} {m} {k} {max} {p}: {found:?}");
                }
                _ = (convergence(m, k, max, p, 0.01), memory(m, k, max, p, 0.1));
            }
        }
    }
}
