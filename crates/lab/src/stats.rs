//! What many trials say: means with their standard errors, and rates counted by queries.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The mean of something about each trial.
pub(crate) fn mean_of<T>(trials: &[T], of: impl Fn(&T) -> f64) -> Mean {
    Mean::of(&trials.iter().map(of).collect::<Vec<_>>())
}

/// How often a normal number is four standard errors or more away from its mean.
const FOUR_ERRORS: f64 = 6.334e-5;

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The trials, or queries, that it comes from.
    pub trials: u64,
}

impl Mean {
    /// Of at least two values; the error of one is infinite, for nothing is known of it.
    ///
    /// ```
    /// use lab::Mean;
    /// let Mean { mean, standard_error, .. } = Mean::of(&[1.0, 3.0, 1.0, 3.0]);
    /// assert!(mean == 2.0 && (standard_error - (4.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let standard_error =
            if values.len() < 2 { f64::INFINITY } else { libm::sqrt(squares / (n - 1.0) / n) };
        Self { mean, standard_error, trials: values.len() as u64 }
    }

    /// Of a rate, `found` in `asked`: the error is that of a binomial. None found, or all, would
    /// claim certainty: then it is as if there were one of the other.
    ///
    /// ```
    /// use lab::Mean;
    /// let rate = Mean::of_rate(100, 10_000);
    /// assert!(rate.mean == 0.01 && (rate.standard_error - 0.000995).abs() < 1e-6);
    /// assert!(Mean::of_rate(0, 10_000).standard_error > 9e-5);
    /// ```
    #[must_use]
    pub fn of_rate(found: u64, asked: u64) -> Self {
        let (mean, one) = (found as f64 / asked as f64, 1.0 / asked as f64);
        let share = mean.min(1.0 - one).max(one);
        Self { mean, standard_error: libm::sqrt(share * (1.0 - share) / asked as f64), trials: asked }
    }

    /// How far `value` is away, in standard errors.
    #[must_use]
    pub fn errors_from(&self, value: f64) -> f64 {
        (self.mean - value).abs() / self.standard_error
    }

    /// How many standard errors a mean may be away by chance: four, and more where few trials tell
    /// the error itself. A mean of any number of normal trials is that far away once in 16,000
    /// cases (Student's distribution).
    ///
    /// ```
    /// use lab::Mean;
    /// let of = |trials: usize| Mean::of(&vec![0.0; trials]).errors_allowed();
    /// assert!((of(1_001) - 4.02).abs() < 0.01 && (of(11) - 6.567).abs() < 0.001);
    /// assert!((of(3) - 125.64).abs() < 0.01); // as scipy.stats.t has it
    /// ```
    #[must_use]
    pub fn errors_allowed(&self) -> f64 {
        static KNOWN: Mutex<BTreeMap<u64, f64>> = Mutex::new(BTreeMap::new());
        let freedom = self.trials.saturating_sub(1).max(1);
        if freedom > 100_000 {
            return 4.0;
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(freedom).or_insert_with(|| student(freedom as f64))
    }

    /// How far away from `value`, as a share of it: 0.01 is 1 % above.
    #[must_use]
    pub fn relative_to(&self, value: f64) -> f64 {
        self.mean / value - 1.0
    }

    /// The same as a share of `whole`.
    #[must_use]
    pub fn over(self, whole: f64) -> Self {
        Self { mean: self.mean / whole, standard_error: self.standard_error / whole.abs(), ..self }
    }

    /// The same mean with the spread of trials that follow the same law: a few slow trials beside
    /// many fast ones, which know the error better.
    ///
    /// ```
    /// use lab::Mean;
    /// let (few, many) = (Mean::of(&[1.0, 1.0, 1.0, 1.0]), Mean { mean: 1.1, standard_error: 0.1, trials: 100 });
    /// assert_eq!(few.spread_of(many), Mean { mean: 1.0, standard_error: 0.5, trials: 100 });
    /// ```
    #[must_use]
    pub fn spread_of(self, many: Self) -> Self {
        let standard_error = many.standard_error * libm::sqrt(many.trials as f64 / self.trials as f64);
        Self { standard_error, trials: many.trials, ..self }
    }
}

/// The errors allowed with `freedom` degrees of freedom.
fn student(freedom: f64) -> f64 {
    // With x = √ν·tan φ the tail is ∫cos^(ν-1) φ dφ from the angle up to π/2, over the same from 0.
    let area = |from: f64| {
        const STEPS: u32 = 2_000;
        let step = (std::f64::consts::FRAC_PI_2 - from) / f64::from(STEPS);
        let height = |i: u32| libm::pow(libm::cos(from + step * f64::from(i)).max(0.0), freedom - 1.0);
        let inner: f64 = (1..STEPS).map(|i| height(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        step / 3.0 * (height(0) + inner + height(STEPS))
    };
    let whole = area(0.0);
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..50 {
        let angle = (low + high) / 2.0;
        if area(angle) > FOUR_ERRORS * whole { low = angle } else { high = angle }
    }
    libm::sqrt(freedom) * libm::tan(high)
}

/// How likely a Poisson number of this mean is at most `found`, and how likely at least.
///
/// ```
/// let (most, least) = lab::poisson_tail(0, 2.0);
/// assert!((most - (-2.0f64).exp()).abs() < 1e-12 && least == 1.0);
/// let (most, least) = lab::poisson_tail(100, 100.0);
/// assert!((most - 0.5266).abs() < 1e-4 && (least - 0.5133).abs() < 1e-4);
/// ```
#[must_use]
pub fn poisson_tail(found: u64, mean: f64) -> (f64, f64) {
    if mean <= 0.0 {
        return (1.0, if found == 0 { 1.0 } else { 0.0 });
    }
    let chance = |count: u64| {
        let count = count as f64;
        libm::exp(count * libm::log(mean) - mean - libm::lgamma(count + 1.0))
    };
    // From `found` on away from the mean the terms only fall; on its side of the mean they may be summed from there, and
    // the other tail is what is left.
    let sum = |terms: &mut dyn Iterator<Item = u64>| {
        let mut sum = 0.0;
        for count in terms {
            let term = chance(count);
            sum += term;
            if term <= 1e-18 * sum {
                break;
            }
        }
        sum.min(1.0)
    };
    let here = chance(found);
    if found as f64 >= mean {
        let least = sum(&mut (found..));
        ((1.0 - least + here).clamp(0.0, 1.0), least)
    } else {
        let most = sum(&mut (0..=found).rev());
        (most, (1.0 - most + here).clamp(0.0, 1.0))
    }
}

/// How likely a chi-square number with `freedom` degrees of freedom is at least `statistic`: the
/// upper incomplete gamma function, by its series or its continued fraction, whichever is short.
///
/// ```
/// use lab::chi_square_tail;
/// assert!((chi_square_tail(3.841_458_820_694_124, 1.0) - 0.05).abs() < 1e-12); // as scipy.stats.chi2 has it
/// assert!((chi_square_tail(10.0, 2.0) - (-5.0f64).exp()).abs() < 1e-14);
/// assert_eq!(chi_square_tail(0.0, 7.0), 1.0);
/// ```
#[must_use]
pub fn chi_square_tail(statistic: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, statistic / 2.0);
    if a <= 0.0 || x <= 0.0 {
        return 1.0;
    }
    let scale = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        // γ(a, x) = x^a·e^-x·Σ x^i / (a·(a+1)···(a+i))
        let (mut term, mut sum, mut denominator) = (1.0 / a, 1.0 / a, a);
        while term > 1e-17 * sum {
            denominator += 1.0;
            term *= x / denominator;
            sum += term;
        }
        return (1.0 - scale * sum).clamp(0.0, 1.0);
    }
    // Γ(a, x) = x^a·e^-x / (x + (1-a)/(1 + 1/(x + (2-a)/(1 + 2/(x + …))))), in its even part, from below.
    const DEPTH: u32 = 2_000;
    let step = |below: f64, i: f64| x + 2.0 * i + 1.0 - a - (i + 1.0) * (i + 1.0 - a) / below;
    let innermost = x + 2.0 * f64::from(DEPTH) + 1.0 - a;
    let fraction = (0..DEPTH).rev().fold(innermost, |below, i| step(below, f64::from(i)));
    (scale / fraction).clamp(0.0, 1.0)
}

/// A straight line through points whose errors are known, by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The slope, and its standard error.
    pub slope: Mean,
    /// The height at x = 0, and its standard error.
    pub height: Mean,
}

impl Fit {
    /// Of points x, y and the standard error of y; each counts by its error.
    ///
    /// ```
    /// let fit = lab::Fit::of(&[(0.0, 1.0, 0.1), (1.0, 3.0, 0.1), (2.0, 5.0, 0.1)]);
    /// assert!((fit.slope.mean - 2.0).abs() < 1e-12 && (fit.height.mean - 1.0).abs() < 1e-12);
    /// assert!((fit.slope.standard_error - 0.1 / 2f64.sqrt()).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn of(points: &[(f64, f64, f64)]) -> Self {
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|&(x, y, error)| of(x, y) / (error * error)).sum::<f64>()
        };
        let weight = sum(&|_, _| 1.0);
        let (middle, mean) = (sum(&|x, _| x) / weight, sum(&|_, y| y) / weight);
        let spread = sum(&|x, _| (x - middle) * (x - middle));
        let slope = sum(&|x, y| (x - middle) * (y - mean)) / spread;
        let trials = points.len() as u64;
        let of = |mean: f64, variance: f64| Mean { mean, standard_error: libm::sqrt(variance), trials };
        Self {
            slope: of(slope, 1.0 / spread),
            height: of(mean - slope * middle, 1.0 / weight + middle * middle / spread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_chi_square_are_those_of_poisson_numbers_and_of_the_normal() {
        for x in [0.01, 0.5, 1.0, 3.0, 10.0, 20.0, 47.0, 90.0, 200.0, 400.0] {
            // With 2r degrees of freedom it is that a Poisson number of mean x/2 is below r.
            for r in [1u64, 2, 5, 10, 40, 150] {
                let (below, tail) = (poisson_tail(r - 1, x / 2.0).0, chi_square_tail(x, 2.0 * r as f64));
                assert!((tail - below).abs() < 1e-11 * below.max(1e-3), "{x} {r} {tail} {below}");
            }
            // With one degree it is the square of a normal number.
            let normal = libm::erfc(libm::sqrt(x / 2.0));
            assert!((chi_square_tail(x, 1.0) / normal - 1.0).abs() < 1e-11, "{x}");
        }
        // e^-x·Σ x^i/i!, i < 10, at x = 29.15
        assert!((chi_square_tail(58.3, 20.0) / 1.300_872_820_160_515e-5 - 1.0).abs() < 1e-11);
    }

    #[test]
    fn points_count_by_their_errors() {
        // The last point is far off, and says so.
        let fit = Fit::of(&[(0.0, 0.0, 0.1), (1.0, 1.0, 0.1), (2.0, 9.0, 1e3)]);
        assert!((fit.slope.mean - 1.0).abs() < 1e-6 && fit.height.mean.abs() < 1e-6, "{fit:?}");
        assert!((fit.slope.standard_error - 0.1 * libm::sqrt(2.0)).abs() < 1e-4);
    }
}
