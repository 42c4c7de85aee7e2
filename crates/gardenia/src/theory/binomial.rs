//! The binomial law: its probabilities and its two tails, without factorials and without
//! cancellation.
//!
//! The trials may be as many as kn of the largest filter, and the tail as thin as a float can hold.
//! Single probabilities come from Loader's saddle-point form, whose deviance is a small number by
//! itself and not the difference of large ones; a tail is summed from its largest term outwards, so
//! that every term is positive and the number of terms is about ten standard deviations, whatever
//! the number of trials.
//!
//! Source: Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000).

use core::f64::consts::PI;

use super::bloom::NEGLIGIBLE;

/// A number of successes: `trials` of them, each with probability `hit` = 1 - `miss`.
///
/// `trials` is a whole number, perhaps rounded. Both probabilities are given, because the smaller
/// of them must be accurate and 1 minus the other is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binomial {
    pub(super) trials: f64,
    pub(super) hit: f64,
    pub(super) miss: f64,
}

/// The two sides of a threshold, which sum to 1; the smaller has all its digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tails {
    /// Less than the threshold.
    pub(super) below: f64,
    /// The threshold or more.
    pub(super) from: f64,
}

impl Binomial {
    /// Throws at one of `cells` ≥ 1 equally likely cells.
    pub(super) fn of_cell(cells: u64, throws: f64) -> Self {
        Self { trials: throws, hit: 1.0 / cells as f64, miss: (cells - 1) as f64 / cells as f64 }
    }

    /// Keys of `hashes` throws each, where a key counts once however often it hits; `cells` ≥ 1.
    pub(super) fn of_cell_once(cells: u64, items: f64, hashes: u32) -> Self {
        let [hit, miss] = at_least_one(cells, hashes);
        Self { trials: items, hit, miss }
    }

    pub(super) fn mean(&self) -> f64 {
        self.trials * self.hit
    }

    /// The probability of exactly x successes, 0 ≤ x ≤ `trials`. Relative error some 1e-14 for
    /// small x, and 1e-16 of the logarithm of the result for large.
    pub(super) fn of(&self, x: f64) -> f64 {
        let Self { trials, hit, miss } = *self;
        let rest = trials - x;
        if x == 0.0 {
            return libm::exp(ln_none(trials, hit, miss));
        }
        if rest == 0.0 {
            return libm::exp(ln_none(trials, miss, hit));
        }
        // How far from the mean, the same for successes and failures: x - np = nq - (n - x). Taken once, so
        // that nothing is lost when n - x rounds to n.
        let away = x - trials * hit;
        let deviance = deviance(x, trials * hit, away) + deviance(rest, trials * miss, -away);
        let correction = stirling(trials) - stirling(x) - stirling(rest);
        libm::sqrt(trials / (2.0 * PI * x) / rest) * libm::exp(correction - deviance)
    }

    /// The probabilities of less than `threshold` successes and of that many or more.
    pub(super) fn tails(&self, threshold: f64) -> Tails {
        let Self { trials, hit, miss } = *self;
        if threshold <= 0.0 {
            return Tails { below: 0.0, from: 1.0 };
        }
        if threshold > trials {
            return Tails { below: 1.0, from: 0.0 };
        }
        let (mut term, mut sum) = (1.0, 1.0);
        if threshold > self.mean() {
            let (odds, mut x) = (hit / miss, threshold);
            while x < trials && term > NEGLIGIBLE * sum {
                term *= (trials - x) / (x + 1.0) * odds;
                sum += term;
                x += 1.0;
            }
            let from = (self.of(threshold) * sum).min(1.0);
            Tails { below: 1.0 - from, from }
        } else {
            let (odds, mut x) = (miss / hit, threshold - 1.0);
            while x > 0.0 && term > NEGLIGIBLE * sum {
                term *= x / (trials - x + 1.0) * odds;
                sum += term;
                x -= 1.0;
            }
            let below = (self.of(threshold - 1.0) * sum).min(1.0);
            Tails { below, from: 1.0 - below }
        }
    }
}

/// The probability that one of `hashes` throws hits a given one of `cells` ≥ 1, and that none does.
pub(super) fn at_least_one(cells: u64, hashes: u32) -> [f64; 2] {
    if hashes == 0 {
        return [0.0, 1.0]; // spares the one-cell filter 0 · ln 0
    }
    let ln_miss = f64::from(hashes) * libm::log1p(-1.0 / cells as f64);
    [-libm::expm1(ln_miss), libm::exp(ln_miss)]
}

/// The logarithm of the probability that no trial is a `hit`: its `exp` is that none is, `-expm1`
/// that some is.
pub(super) fn ln_none(trials: f64, hit: f64, miss: f64) -> f64 {
    if trials == 0.0 {
        return 0.0;
    }
    trials * if hit < 0.5 { libm::log1p(-hit) } else { libm::log(miss) }
}

/// `x·ln(x/mean) + mean - x`, given also `away = x - mean`.
fn deviance(x: f64, mean: f64, away: f64) -> f64 {
    if libm::fabs(away) > 0.1 * (x + mean) {
        return x * libm::log(x / mean) - away;
    }
    // With v = away/(x + mean): ln(x/mean) = 2·(v + v³/3 + v⁵/5 + …), and the first order cancels by hand.
    let v = away / (x + mean);
    let (mut sum, mut power) = (away * v, 2.0 * x * v);
    for odd in (3..40).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// What Stirling's formula lacks: `ln n! - ln(√(2πn)·(n/e)^n)`, for n ≥ 1.
fn stirling(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - ((n + 0.5) * libm::log(n) - n + 0.5 * libm::log(2.0 * PI));
    }
    let square = 1.0 / (n * n);
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / n
}

/// The natural logarithm of `C(trials, x)/base^x`, for 0 ≤ x ≤ `trials`.
pub(super) fn ln_choose_over(trials: f64, x: f64, base: f64) -> f64 {
    let rest = trials - x;
    if x == 0.0 {
        return 0.0;
    }
    if rest == 0.0 {
        return -x * libm::log(base);
    }
    let correction = stirling(trials) - stirling(x) - stirling(rest);
    let root = 0.5 * libm::log(trials / (2.0 * PI * x) / rest);
    correction + root + x * libm::log(trials / x / base) - rest * libm::log1p(-x / trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, relative: f64) -> bool {
        (found - expected).abs() <= relative * expected.abs()
    }

    #[test]
    fn probabilities_and_tails_agree_with_long_arithmetic() {
        // Trials, hits of how many, threshold t; exactly t, less, t or more. Sums in 60 digits (mpmath).
        #[rustfmt::skip]
        let reference: [(u128, u64, u128, f64, [f64; 3], f64); 14] = [
            (20, 1, 2, 16.0, [0.004620552062988281, 0.9940910339355469, 0.005908966064453125], 3e-14),
            (20, 1, 2, 4.0, [0.004620552062988281, 0.0012884140014648438, 0.9987115859985352], 3e-14),
            (100, 1, 1000, 3.0, [0.00014674468415343928, 0.9998496236341458, 0.00015037636585421186], 3e-14),
            (1 << 40, 1, 1 << 40, 16.0, [1.758271449963137e-14, 0.9999999999999813, 1.867763462988962e-14], 3e-14),
            (1_000_000, 1, 1443, 16.0, [1.1619141496049928e-269, 2.739988220456366e-271, 1.0], 2e-13),
            (1 << 80, 1, 1 << 79, 16.0, [4.2390776610921964e-10, 0.9999999995200317, 4.799682757265358e-10], 3e-14),
            (1 << 50, 1, 1 << 45, 16.0, [0.0007317397344296456, 0.0006599275525998532, 0.9993400724474002], 3e-14),
            (5, 1, 3, 5.0, [0.00411522633744856, 0.9958847736625515, 0.00411522633744856], 3e-14),
            (5, 1, 3, 1.0, [0.3292181069958848, 0.13168724279835392, 0.8683127572016461], 3e-14),
            (1 << 40, 1, 1 << 20, 1_048_576.0, [0.0003895922255146233, 0.4998701357899717, 0.5001298642100283], 1e-12),
            (1 << 40, 1, 1 << 20, 1_053_576.0, [2.6338319868263352e-9, 0.9999994658389358, 5.341610641551927e-7], 1e-12),
            (1 << 62, 1, 1 << 30, 4_295_067_296.0, [1.9003941469268247e-6, 0.936478616750588, 0.06352138324941202], 2e-10),
            (7, 9, 10, 3.0, [0.0025515, 0.0001765, 0.9998235], 3e-14),
            (3_000_000_000, 1, 1_000_000_000_000, 2.0, [4.486520228278638e-6, 0.9999955089898845, 4.49101011541404e-6], 3e-14),
        ];
        for (trials, hits, of, t, [exactly, below, from], precision) in reference {
            let of = of as f64;
            let law =
                Binomial { trials: trials as f64, hit: hits as f64 / of, miss: (of - hits as f64) / of };
            let tails = law.tails(t);
            assert!(near(law.of(t), exactly, precision), "{law:?} {t}: {} {exactly}", law.of(t));
            assert!(near(tails.below, below, precision), "{law:?} {t}: {tails:?} {below}");
            assert!(near(tails.from, from, precision), "{law:?} {t}: {tails:?} {from}");
        }
    }

    #[test]
    fn all_probabilities_sum_to_one() {
        for (trials, hit) in [(1, 0.5), (13, 0.01), (40, 0.3), (200, 0.999)] {
            let law = Binomial { trials: f64::from(trials), hit, miss: 1.0 - hit };
            let sum: f64 = (0..=trials).map(|x| law.of(f64::from(x))).sum();
            assert!(near(sum, 1.0, 1e-12), "{law:?}: {sum}");
            for t in 0..=trials + 1 {
                let tails = law.tails(f64::from(t));
                let from: f64 = (t..=trials).map(|x| law.of(f64::from(x))).sum();
                assert!((tails.from - from).abs() < 1e-12, "{law:?} {t}: {tails:?} {from}");
                assert!(near(tails.below + tails.from, 1.0, 1e-15));
            }
        }
    }

    #[test]
    fn what_is_certain_is_zero_or_one() {
        let tails = |trials, hit: f64, t| {
            let Tails { below, from } = Binomial { trials, hit, miss: 1.0 - hit }.tails(t);
            [below, from]
        };
        assert_eq!(tails(10.0, 0.3, 0.0), [0.0, 1.0]);
        assert_eq!(tails(10.0, 0.3, 11.0), [1.0, 0.0]);
        assert_eq!(tails(0.0, 0.3, 1.0), [1.0, 0.0]);
        assert_eq!(tails(10.0, 0.0, 1.0), [1.0, 0.0]);
        assert_eq!(tails(10.0, 1.0, 10.0), [0.0, 1.0]);
        assert_eq!(tails(10.0, 1.0, 11.0), [1.0, 0.0]);
        assert_eq!(tails(7e28, 0.25, 16.0), [0.0, 1.0]);
        assert_eq!(at_least_one(1, 0), [0.0, 1.0]);
        assert_eq!(at_least_one(1, 3), [1.0, 0.0]);
    }
}
