//! Counters in place of bits: how wide they must be so that none loses count.
//!
//! n distinct keys raise k of m cells each, so that a cell counts about nk/m. A cell of w bits
//! holds up to 2^w - 1; two different things happen near its top, and the functions here keep them
//! apart. A cell that *reaches* 2^w - 1 is stuck: from then on it is never lowered, for fear that
//! it has lost count ([`stuck`]). A cell whose true count is 2^w or more *has* lost count: it
//! overflowed ([`overflow`]). Neither makes a key disappear; both leave a cell set after its keys
//! are gone. Keys inserted several times count each time at the same cells, which no formula here
//! covers.
//!
//! Source: Fan, Cao, Almeida and Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing
//! Protocol" (2000), on the width of counters.

use super::binomial::{Binomial, Tails, ln_choose_over};
use crate::SizeError;

/// The widest cell a filter can have.
const MAX_WIDTH: u32 = 32;

/// Fan's bound on the probability that some cell's count reaches 2^w: `m·C(nk, t)/m^t` with t =
/// 2^w, at most 1.
///
/// It adds up, over all cells and all ways to choose t of the nk throws, the chance that these t
/// land in that cell, and so is above the truth for every m, n and k. Since `C(N, t) ≤ (eN/t)^t` it
/// is below `m·(e·nk/(tm))^t`, the form usually quoted, which at half fill (nk = m·ln 2) and w = 4
/// is 1.37e-15·m. Relative error 1e-12, growing to 1e-6 with t. No items or no hashes give 0;
/// otherwise no cells give 1. More than 32 bits, which no cell has, are taken as 32.
///
/// ```
/// use gardenia::theory::counting::{overflow, overflow_bound};
/// let (cells, items, hashes) = (10_000_000, 990_210, 7); // half full
/// let quoted = 1.37e-15 * cells as f64;
/// let bound = overflow_bound(cells, items, hashes, 4);
/// assert!(0.09 * quoted < bound && bound < quoted);
/// assert!(overflow(cells, items, hashes, 4) < bound);
/// ```
#[must_use]
pub fn overflow_bound(cells: u64, items: u64, hashes: u32, width: u32) -> f64 {
    if let Some(answer) = certain(cells, items, hashes) {
        return answer;
    }
    let (throws, t, m) = (f64::from(hashes) * items as f64, threshold(width), cells as f64);
    if t > throws {
        return 0.0;
    }
    libm::exp(libm::log(m) + ln_choose_over(throws, t, m)).min(1.0)
}

/// The probability that some cell's count reaches 2^w: `1 - (1 - Pr(Bin(nk, 1/m) ≥ 2^w))^m`.
///
/// The law of one cell is exact for nk independent throws that all count. Cells are taken as
/// independent, which is slightly too low, because counts with a fixed sum repel each other: with p
/// the probability of one cell, the truth lies between this and `m·p`, and so within a relative
/// mp/2 of small results. A filter that raises each *distinct* cell of a key once has the lower
/// [`overflow_distinct`]. Accurate to about 1e-12 for w ≤ 8 and 1e-9 for w = 32; takes
/// microseconds, for w = 32 milliseconds. No items or no hashes give 0; otherwise no cells give 1.
/// More than 32 bits are taken as 32.
///
/// ```
/// use gardenia::theory::counting::overflow;
/// // Three throws into two cells of one bit: two of them always meet.
/// assert!((overflow(2, 3, 1, 1) - (1.0 - 0.5 * 0.5)).abs() < 1e-15); // one cell reaches 2 half the time
/// assert_eq!(overflow(2, 3, 1, 2), 0.0); // and three never overflow two bits
/// assert!(overflow(1 << 40, 1 << 36, 11, 4) < 1e-3); // 2^40 cells, half full
/// ```
#[must_use]
pub fn overflow(cells: u64, items: u64, hashes: u32, width: u32) -> f64 {
    certain(cells, items, hashes).unwrap_or_else(|| {
        some_cell(cells, Binomial::of_cell(cells, f64::from(hashes) * items as f64), threshold(width))
    })
}

/// As [`overflow`] for a filter that raises each distinct cell of a key once:
/// `Bin(n, 1 - (1 - 1/m)^k)`.
///
/// This is the law that makes removal safe when two positions of one key coincide. No cell counts
/// more than n then, so that fewer than 2^w keys never overflow.
///
/// ```
/// use gardenia::theory::counting::{overflow, overflow_distinct};
/// assert_eq!(overflow_distinct(10, 15, 5, 4), 0.0);
/// assert!(overflow(10, 15, 5, 4) > 0.02); // counting both of two equal positions
/// ```
#[must_use]
pub fn overflow_distinct(cells: u64, items: u64, hashes: u32, width: u32) -> f64 {
    certain(cells, items, hashes).unwrap_or_else(|| {
        some_cell(cells, Binomial::of_cell_once(cells, items as f64, hashes), threshold(width))
    })
}

/// The expected share of cells at their top: `Pr(Bin(nk, 1/m) ≥ 2^w - 1)`.
///
/// They are never lowered again. Exact for nk independent throws that all count, at any size. No
/// items or no hashes give 0; otherwise no cells give 1. More than 32 bits are taken as 32.
///
/// ```
/// use gardenia::theory::counting::stuck;
/// assert!((stuck(2, 2, 1, 1) - 0.75).abs() < 1e-15); // one bit is stuck as soon as it is set
/// assert!((stuck(1_000_000, 99_021, 7, 2) - 0.0333).abs() < 1e-4); // Poisson(ln 2) ≥ 3
/// ```
#[must_use]
pub fn stuck(cells: u64, items: u64, hashes: u32, width: u32) -> f64 {
    certain(cells, items, hashes).unwrap_or_else(|| {
        let throws = f64::from(hashes) * items as f64;
        Binomial::of_cell(cells, throws).tails(threshold(width) - 1.0).from
    })
}

/// The fewest bits per cell, 1 to 32, with which [`overflow`] is at most `probability`.
///
/// # Errors
///
/// [`SizeError::Width`] if 32 bits are too few, [`SizeError::Conflict`] unless `probability` is
/// between 0 and 1 (exclusive).
///
/// ```
/// use gardenia::theory::counting::width;
/// assert_eq!(width(10_000_000, 990_210, 7, 1e-6), Ok(4)); // Fan's four bits
/// assert_eq!(width(10_000_000, 990_210, 7, 1e-12), Ok(5)); // if it must never happen
/// assert!(width(1, u64::MAX, 1, 0.5).is_err());
/// ```
pub fn width(cells: u64, items: u64, hashes: u32, probability: f64) -> Result<u32, SizeError> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(SizeError::Conflict("the overflow probability must be between 0 and 1 (exclusive)"));
    }
    (1..=MAX_WIDTH)
        .find(|&width| overflow(cells, items, hashes, width) <= probability)
        .ok_or(SizeError::Width { width: MAX_WIDTH + 1 })
}

/// The answer where no formula is needed: nothing is counted, or nowhere.
fn certain(cells: u64, items: u64, hashes: u32) -> Option<f64> {
    match (cells, hashes, items) {
        (_, 0, _) | (_, _, 0) => Some(0.0),
        (0, ..) => Some(1.0),
        _ => None,
    }
}

/// 2^w, the count that a cell of w bits cannot hold.
fn threshold(width: u32) -> f64 {
    (1_u64 << width.min(MAX_WIDTH)) as f64
}

/// The probability that one of `cells` independent cells counts to `threshold`.
fn some_cell(cells: u64, law: Binomial, threshold: f64) -> f64 {
    let Tails { below, from } = law.tails(threshold);
    let ln_below = if from < 0.5 { libm::log1p(-from) } else { libm::log(below) };
    -libm::expm1(cells as f64 * ln_below)
}

#[cfg(test)]
mod tests {
    use super::super::testing::SplitMix;
    use super::*;
    use alloc::vec;

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    #[test]
    fn all_formulas_agree_with_long_arithmetic() {
        // Cells, items, hashes, width; bound, overflow, the same for distinct cells, share at the top:
        // binomial sums in 60 digits (mpmath).
        #[rustfmt::skip]
        let reference = [
            (1000, 100, 7, 2, [1.0, 0.9967763984088008, 0.9958455748919518, 0.034062450113840875]),
            (1000, 100, 7, 4, [1.336419761679388e-13, 7.023395608930965e-14, 2.4521428345049452e-14, 1.6432448664941424e-15]),
            (10_000_000, 990_210, 7, 4, [1.3569956459629022e-9, 7.072691937586892e-10, 7.071987183856707e-10, 1.6369180056273587e-15]),
            (1 << 40, 1 << 36, 11, 4, [0.00013090115325296118, 6.858624831798454e-5, 6.858624821350171e-5, 1.455580982394408e-15]),
            (64, 1000, 3, 6, [1.0, 0.45732426869614484, 0.32749288277896615, 0.013485956849411705]),
            (64, 1000, 3, 5, [1.0, 1.0, 1.0, 0.9945892362394553]),
            (1 << 20, 1 << 36, 2, 17, [1.0, 1.0, 1.0, 0.5014692440730112]),
            (1 << 40, 1000, 3, 1, [4.091361915925518e-6, 4.091353538878616e-6, 4.088625065940207e-6, 2.7284841015977127e-9]),
            (50, 8, 4, 2, [0.28768, 0.16828209212724887, 0.09386922024646636, 0.025765005582967192]),
            (7, 3, 2, 2, [0.043731778425655975, 0.03382992235900636, 0.0, 0.04162381320708208]),
        ];
        for (m, n, k, w, expected) in reference {
            let found = [overflow_bound, overflow, overflow_distinct, stuck].map(|f| f(m, n, k, w));
            let agree = (0..4).all(|i| near(found[i], expected[i], 1e-12));
            assert!(agree, "{m} {n} {k} {w}: {found:?}, not {expected:?}");
        }
    }

    #[test]
    fn four_bits_at_half_fill_overflow_as_rarely_as_fan_says() {
        // Their figure is (e·ln 2/16)^16 = 1.3677e-15 per cell; the bound with the true binomial coefficient
        // is ten times lower by Stirling's √(2π·16), and the truth half of that, by e^(-ln 2).
        for (items, hashes) in [(1_u64 << 10, 7), (1 << 20, 10), (1 << 30, 4)] {
            let cells = (items as f64 * f64::from(hashes) / core::f64::consts::LN_2) as u64;
            let quoted = 1.3677e-15 * cells as f64;
            let bound = overflow_bound(cells, items, hashes, 4);
            assert!(bound < quoted && near(bound, quoted / libm::sqrt(32.0 * core::f64::consts::PI), 0.03));
            assert!(near(overflow(cells, items, hashes, 4), bound / 2.0, 0.05), "{items} {hashes}");
            // Where the log of the quoted bound itself is compared, not only its figure.
            let e_over = core::f64::consts::E * f64::from(hashes) * items as f64 / (16.0 * cells as f64);
            assert!(near(cells as f64 * libm::pow(e_over, 16.0), quoted, 1e-3));
        }
    }

    #[test]
    fn every_outcome_of_tiny_filters_lies_between_the_formulas() {
        for (cells, items, hashes, width) in
            [(2_u64, 3, 1, 1), (2, 4, 2, 2), (3, 4, 2, 2), (3, 2, 3, 1), (4, 3, 2, 1), (5, 6, 1, 2)]
        {
            // Every way to choose all positions, as the digits of one number.
            let (throws, top) = (items * hashes, 1_u64 << width);
            let outcomes = cells.pow(throws);
            let (mut overflows, mut overflows_distinct, mut at_top) = (0_u64, 0_u64, 0_u64);
            for outcome in 0..outcomes {
                let digit = |i: u32| ((outcome / cells.pow(i)) % cells) as usize;
                let (mut all, mut distinct) = (vec![0; cells as usize], vec![0; cells as usize]);
                for key in 0..items {
                    for i in key * hashes..(key + 1) * hashes {
                        all[digit(i)] += 1;
                        distinct[digit(i)] += u64::from((key * hashes..i).all(|j| digit(j) != digit(i)));
                    }
                }
                overflows += u64::from(all.iter().any(|&count| count >= top));
                overflows_distinct += u64::from(distinct.iter().any(|&count| count >= top));
                at_top += all.iter().filter(|&&count| count >= top - 1).count() as u64;
            }
            let share = |count: u64| count as f64 / outcomes as f64;
            let ask = |f: fn(u64, u64, u32, u32) -> f64| f(cells, u64::from(items), hashes, width);
            assert!(near(share(at_top) / cells as f64, ask(stuck), 1e-13), "{cells} {items} {hashes}");
            for (truth, formula, law) in [
                (share(overflows), ask(overflow), Binomial::of_cell(cells, f64::from(throws))),
                (
                    share(overflows_distinct),
                    ask(overflow_distinct),
                    Binomial::of_cell_once(cells, f64::from(items), hashes),
                ),
            ] {
                let sum = cells as f64 * law.tails(top as f64).from;
                assert!(formula <= truth + 1e-15 && truth <= sum + 1e-15, "{formula} {truth} {sum}");
            }
            assert!(share(overflows) <= ask(overflow_bound) + 1e-15);
        }
    }

    #[test]
    fn simulated_filters_overflow_as_often_as_the_formulas_say() {
        // 100 cells of two bits and 16 keys of 3 positions: overflow is neither rare nor certain, and
        // positions of one key coincide often enough to tell the two laws apart.
        let (cells, items, hashes, trials) = (100, 16, 3, 100_000);
        let mut random = SplitMix(4);
        let (mut overflows, mut overflows_distinct) = (0, 0);
        for _ in 0..trials {
            let (mut all, mut distinct) = ([0_u8; 100], [0_u8; 100]);
            for _ in 0..items {
                let at: [usize; 3] = core::array::from_fn(|_| random.below(cells));
                for i in 0..hashes {
                    all[at[i]] += 1;
                    distinct[at[i]] += u8::from(!at[..i].contains(&at[i]));
                }
            }
            overflows += u32::from(all.iter().any(|&count| count >= 4));
            overflows_distinct += u32::from(distinct.iter().any(|&count| count >= 4));
        }
        for (count, formula) in
            [(overflows, overflow(100, 16, 3, 2)), (overflows_distinct, overflow_distinct(100, 16, 3, 2))]
        {
            let rate = f64::from(count) / f64::from(trials);
            let error = libm::sqrt(formula * (1.0 - formula) / f64::from(trials));
            // From below it may be off by half its square, as documented.
            let (low, high) = (formula - 5.0 * error, formula + formula * formula / 2.0 + 5.0 * error);
            assert!(low < rate && rate < high, "{rate}, formula {formula} ± {error}");
        }
        let apart = overflow(100, 16, 3, 2) / overflow_distinct(100, 16, 3, 2);
        assert!(apart > 1.2, "{apart}");
    }

    #[test]
    fn the_width_is_the_first_that_will_do() {
        for (m, n, k) in
            [(1, 1, 1), (10, 1_000, 3), (1 << 20, 1 << 17, 6), (1 << 40, 1 << 36, 11), (3, 1 << 31, 1)]
        {
            for probability in [0.999, 0.5, 1e-3, 1e-9, 1e-100] {
                let width = width(m, n, k, probability).unwrap();
                assert!(overflow(m, n, k, width) <= probability);
                let narrower = width == 1 || overflow(m, n, k, width - 1) > probability;
                assert!(narrower, "{m} {n} {k} {probability}: {width}");
            }
        }
        assert_eq!(width(0, 0, 0, 0.1), Ok(1));
        assert_eq!(width(0, 1, 1, 0.1), Err(SizeError::Width { width: 33 }));
        assert_eq!(width(1, u64::MAX, 1, 0.1), Err(SizeError::Width { width: 33 }));
        for wrong in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert!(matches!(width(10, 10, 2, wrong), Err(SizeError::Conflict(_))), "{wrong}");
        }
    }

    #[test]
    fn every_input_has_a_probability() {
        let numbers = [0, 1, 2, 3, 255, 1000, 1 << 32, 1 << 40, u64::MAX - 1, u64::MAX];
        for (m, n) in numbers.into_iter().flat_map(|m| numbers.map(|n| (m, n))) {
            for k in [0, 1, 2, 30, 255, u32::MAX] {
                for w in [0, 1, 2, 4, 16, 32, 33, u32::MAX] {
                    for p in [overflow_bound, overflow, overflow_distinct, stuck].map(|f| f(m, n, k, w)) {
                        assert!((0.0..=1.0).contains(&p), "{m} {n} {k} {w}: {p}");
                    }
                    let [bound, plain, distinct] =
                        [overflow_bound, overflow, overflow_distinct].map(|f| f(m, n, k, w));
                    let order = distinct <= plain * (1.0 + 1e-6) && plain <= bound * (1.0 + 1e-6);
                    assert!(order, "{m} {n} {k} {w}: {distinct} {plain} {bound}");
                }
            }
        }
    }
}
