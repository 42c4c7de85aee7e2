//! Figure 2: how the number Q of false positives among 464 queries is distributed, at n = 5000 and
//! 8 bits per key.
//!
//! The paper draws histograms of ten thousand trials beside 10,000 times the normal density with
//! mean 464p and variance 464p(1-p), and finds that a reasonable approximation. To the eye it is.
//! Given its filter Q is binomial, though, and as its mean is 10 it is skewed; chi-square tests
//! tell the two apart. The rate of a filter differs a little from one to the next, which a beta
//! distribution of that spread mixes in: it changes the variance by a quarter percent.

use super::fewer;
use crate::schemes::{KIRSCH, Size, expected, library_expected, library_found, limit, trial};
use crate::theory::rate_spread;
use crate::verdict::chi_square_limit;
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Form, Mean, Outcome, Plan, Progress, Table, Way,
    chi_square_tail,
};

/// Figure 2 of Kirsch and Mitzenmacher.
#[derive(Clone, Copy, Debug, Default)]
pub struct KmFigure2 {
    /// The simulated scheme that leaves out what makes it: it shows that the verdicts notice.
    pub broken: Option<Way>,
}

/// How likely a histogram must be: as likely as four standard errors.
const RARE: f64 = 6.3e-5;

/// How many trials found 0, 1, 2 … of `queries` queries.
fn histogram(found: &[u64], queries: u64) -> Vec<f64> {
    let mut counts = vec![0.0; queries as usize + 1];
    found.iter().for_each(|&found| counts[found as usize] += 1.0);
    counts
}

/// A chi-square statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fitted {
    statistic: f64,
    freedom: f64,
}

impl Fitted {
    /// Counts of trials against the chances of each; classes are merged until five trials are
    /// expected in each.
    fn of(counts: &[f64], chances: &[f64]) -> Self {
        let trials = counts.iter().sum::<f64>();
        let mut fitted = Self { statistic: 0.0, freedom: -1.0 };
        let (mut found, mut wanted, mut left) = (0.0, 0.0, trials);
        for (count, chance) in counts.iter().zip(chances) {
            let now = chance * trials;
            (found, wanted, left) = (found + count, wanted + now, left - now);
            // The last class takes all that would be left below five.
            if wanted >= 5.0 && left >= 5.0 {
                fitted.add(found, wanted);
                (found, wanted) = (0.0, 0.0);
            }
        }
        fitted.add(found, wanted + left);
        fitted
    }

    fn add(&mut self, found: f64, wanted: f64) {
        self.statistic += (found - wanted) * (found - wanted) / wanted;
        self.freedom += 1.0;
    }

    fn chance(&self) -> f64 {
        chi_square_tail(self.statistic, self.freedom)
    }

    /// Whether what fits a distribution this badly in the mean would be noticed but once in 16,000
    /// runs.
    fn sure(&self) -> bool {
        // A noncentral chi-square number has mean ν + λ and variance 2ν + 4λ.
        let lambda = self.statistic;
        let least = self.freedom + lambda - 4.0 * libm::sqrt(2.0 * self.freedom + 4.0 * lambda);
        chi_square_tail(least, self.freedom) < RARE
    }
}

/// Chances of Q at this rate, which differs by `spread` between filters: beta-binomial, or binomial
/// for none.
fn chances(queries: u64, rate: f64, spread: f64) -> Vec<f64> {
    let total = queries as f64;
    let choose = |q: f64| libm::lgamma(total + 1.0) - libm::lgamma(q + 1.0) - libm::lgamma(total - q + 1.0);
    let beta = |a: f64, b: f64| libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let both = rate * (1.0 - rate) / (spread * spread) - 1.0;
    let (alpha, omega) = (rate * both, (1.0 - rate) * both);
    let ln = |q: f64| {
        let passes = if spread == 0.0 {
            q * libm::log(rate) + (total - q) * libm::log1p(-rate)
        } else {
            beta(q + alpha, total - q + omega) - beta(alpha, omega)
        };
        choose(q) + passes
    };
    (0..=queries).map(|q| libm::exp(ln(q as f64))).collect()
}

/// The normal density φ of the paper, at x.
fn density(x: f64, mean: f64, variance: f64) -> f64 {
    libm::exp(-(x - mean) * (x - mean) / (2.0 * variance)) / libm::sqrt(2.0 * std::f64::consts::PI * variance)
}

/// All that is known of one scheme.
struct Shape<'a> {
    way: Way,
    found: &'a [u64],
    library: &'a [u64],
    size: &'a Size,
}

impl Shape<'_> {
    fn judge(&self, table: &mut Table) -> Figure {
        let (size, queries) = (self.size, self.size.queries());
        let (p, total) = (limit(size), queries as f64);
        let spread = rate_spread(size.cells(self.way), size.items, size.hashes);
        let rate = expected(size, self.way).rate;
        let (binomial, mixed) = (chances(queries, rate, 0.0), chances(queries, rate, spread));
        let promised = chances(queries, library_expected(size, self.way), spread);
        let (mean, variance) = (total * p, total * p * (1.0 - p));
        let normal: Vec<f64> = (0..=queries).map(|q| density(q as f64, mean, variance)).collect();

        let (counts, trials) = (histogram(self.found, queries), self.found.len() as f64);
        let [by_binomial, by_mixed, by_normal] =
            [&binomial, &mixed, &normal].map(|chances| Fitted::of(&counts, chances));
        let library = Fitted::of(&histogram(self.library, queries), &promised);
        // What the normal density comes to if the histogram is just as theory has it.
        let far = Fitted::of(&mixed.iter().map(|chance| trials * chance).collect::<Vec<_>>(), &normal);

        let values: Vec<f64> = self.found.iter().map(|&found| found as f64).collect();
        let measured = Mean::of(&values);
        let squares: Vec<f64> = values.iter().map(|q| (q - measured.mean) * (q - measured.mean)).collect();
        let mut around = Mean::of(&squares);
        let spread_of_q = total * rate * (1.0 - rate) + total * (total - 1.0) * spread * spread;

        // Few trials may look surer than they can be.
        let least = libm::sqrt(spread_of_q / trials);
        let measured = Mean { standard_error: measured.standard_error.max(0.9 * least), ..measured };
        around.standard_error = around.standard_error.max(0.9 * libm::sqrt(2.0 / trials) * spread_of_q);

        let mut checks = Checks::default();
        checks.is("mean of Q", measured, total * rate);
        checks.is("variance of Q", around, spread_of_q);
        let values: Vec<f64> = self.library.iter().map(|&found| found as f64).collect();
        checks.is("mean of the library's Q", Mean::of(&values), total * library_expected(size, self.way));
        for (what, fitted) in
            [("binomial", by_binomial), ("with the rate's spread", by_mixed), ("library", library)]
        {
            checks.chi_square(&format!("chi-square, {what}"), fitted.statistic, fitted.freedom);
        }
        // That Q is skewed must show where there are trials enough.
        if far.sure() {
            let limit = chi_square_limit(by_normal.freedom);
            checks.computed_at_most("what rejects the normal density", limit, by_normal.statistic);
        }
        if by_normal.chance() < RARE {
            let farthest = normal.iter().zip(&mixed).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let reason = format!(
                "the normal density is a good approximation (no bar is off by more than {:.0}% of the trials) but not the law: Q is \
                 skewed, which its chi-square shows; the binomial fits",
                (100.0 * farthest).ceil(),
            );
            checks.explain("km-figure-2", "normal density", reason);
        }
        let (one, likely) = (Form::Fixed(1), Form::Power(1));
        let cells = vec![
            Cell::text(self.way.name()),
            Cell::Mean(measured, Form::Fixed(2)),
            Cell::Number(total * rate, Form::Fixed(2)),
            Cell::Mean(around, Form::Fixed(2)),
            Cell::Number(spread_of_q, Form::Fixed(2)),
            Cell::Number(by_binomial.statistic, one),
            Cell::Number(by_binomial.freedom, Form::Fixed(0)),
            Cell::Number(by_binomial.chance(), Form::Fixed(3)),
            Cell::Number(by_mixed.chance(), Form::Fixed(3)),
            Cell::Number(library.chance(), Form::Fixed(3)),
            Cell::Number(by_normal.statistic, one),
            Cell::Number(by_normal.chance(), likely),
        ];
        table.judge(cells, checks);

        let seen = counts.iter().enumerate().filter(|(q, _)| *q <= 26);
        let title = format!("Q of {}", self.way.name());
        let axes = (Axis::linear("false positives among 464 queries, Q"), Axis::linear("trials"));
        let curve = (0..=104).map(|quarter| f64::from(quarter) / 4.0);
        Figure::new(title, axes.0, axes.1)
            .bars("simulated", seen.map(|(q, &count)| (q as f64, count)))
            .theory("normal (paper)", curve.map(|x| (x, trials * density(x, mean, variance))))
            .theory("binomial", (0..=26).map(|q| (f64::from(q), trials * mixed[q as usize])))
    }
}

impl Experiment for KmFigure2 {
    fn name(&self) -> &'static str {
        "km-figure-2"
    }
    fn title(&self) -> &'static str {
        "Distribution of the number of false positives"
    }
    fn source(&self) -> &'static str {
        "Kirsch and Mitzenmacher (2008), Figure 2 and Theorem 7.2"
    }
    fn claim(&self) -> &'static str {
        "The number of false positives among many queries is binomial with probability p; the normal density is a reasonable approximation."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(10_000, 2_000);
        let fewer = fewer(trials);
        let size = Size::best(8, 5_000);
        let queries = size.queries();
        // The library takes some eight times as long for a position.
        let work = size.items * u64::from(size.hashes) + 5 * queries;
        let bench = Bench::new(plan, self.name(), progress, 6 * (trials + 8 * fewer) * work);
        let columns = [
            "scheme",
            "mean of Q",
            "theory",
            "variance of Q",
            "theory",
            "χ², binomial",
            "degrees",
            "probability",
            "with the rate's spread",
            "library's",
            "χ², normal",
            "probability",
        ];
        let title = format!(
            "False positives Q among {queries} queries, n = 5,000, m = 40,000, k = 6: {trials} trials ({fewer} of the library)"
        );
        let mut table = Table::new(title, &columns);
        let mut figures = Vec::new();
        for way in Way::ALL {
            let (name, broken) = (format!("{} {}", size.name(), way.name()), self.broken == Some(way));
            let found = bench.trials(&name, trials, work, |stream, _| {
                Ok(trial(&size, way, broken, queries, stream).found)
            })?;
            let library = bench.trials(&format!("library {name}"), fewer, 8 * work, |stream, _| {
                library_found(&size, way, false, queries, stream)
            })?;
            figures.push(Shape { way, found: &found, library: &library, size: &size }.judge(&mut table));
        }
        let p = limit(&size);
        let (mean, variance) = (queries as f64 * p, queries as f64 * p * (1.0 - p));
        table.note(format!("Source: {KIRSCH}, section 8 and Figure 2."));
        table.note(format!(
            "The normal density is the paper's, of mean {mean:.3} and variance {variance:.3}. The binomial has the rate of \
             the scheme at this n; filters differ in it by {:.1}% (one standard deviation), which the beta distribution mixes \
             in: \"with the rate's spread\", for the simulated trials and for the library's. The partition scheme has m = {} \
             (erratum 22).",
            100.0 * rate_spread(size.cells(Way::Standard), size.items, size.hashes) / p,
            size.cells(Way::Partition),
        ));
        table.note(format!(
            "A row agrees if mean and variance are within four standard errors of the theory, and no chi-square test of the binomial has a probability below {RARE:.1e}; classes hold at \
             least five expected trials. It is explained if the normal density fails that test while the binomial passes; it \
             must fail where there are trials enough to tell.",
        ));
        Ok(Outcome { tables: vec![table], figures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_a_binomial_and_of_its_mixture() {
        let moments = |chances: &[f64]| {
            let of = |power: i32| {
                chances.iter().enumerate().map(|(q, chance)| chance * (q as f64).powi(power)).sum::<f64>()
            };
            (of(0), of(1), of(2) - of(1) * of(1))
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-8 * b;
        let (all, mean, variance) = moments(&chances(464, 0.0216, 0.0));
        assert!(near(all, 1.0) && near(mean, 464.0 * 0.0216) && near(variance, 464.0 * 0.0216 * 0.9784));
        // Var Q = N·r(1-r) + N(N-1)·s²
        let (all, mean, variance) = moments(&chances(464, 0.0216, 0.003));
        assert!(near(all, 1.0) && near(mean, 464.0 * 0.0216), "{all} {mean}");
        assert!(near(variance, 464.0 * 0.0216 * 0.9784 + 464.0 * 463.0 * 9e-6), "{variance}");
        // Two tosses of a fair coin.
        assert!(chances(2, 0.5, 0.0).iter().zip([0.25, 0.5, 0.25]).all(|(a, b)| near(*a, b)));
    }

    #[test]
    fn classes_are_merged_until_five_are_expected() {
        // Expected 2 8 | 60 | 24 6: the last class takes what is left.
        let fitted = Fitted::of(&[4.0, 9.0, 57.0, 20.0, 10.0], &[0.02, 0.08, 0.6, 0.24, 0.06]);
        assert_eq!(fitted.freedom, 3.0);
        let expected = 9.0 / 10.0 + 9.0 / 60.0 + 16.0 / 24.0 + 16.0 / 6.0;
        assert!((fitted.statistic - expected).abs() < 1e-12, "{fitted:?}");
        // Nothing but what is expected.
        assert_eq!(Fitted::of(&[50.0, 50.0], &[0.5, 0.5]), Fitted { statistic: 0.0, freedom: 1.0 });
    }
}
