//! Comparisons that verdicts are made of: a mean with a theory, with another mean, with a paper.

use crate::{Checks, Mean, poisson_tail};

/// The mean of something about each trial.
pub(crate) fn mean_of<T>(trials: &[T], of: impl Fn(&T) -> f64) -> Mean {
    Mean::of(&trials.iter().map(of).collect::<Vec<_>>())
}

/// Whether a mean may be so far off by chance. The allowed number of errors is at least four, and takes a while to
/// compute: only where four are not enough it is asked for.
pub(crate) fn by_chance(off: f64, mean: Mean) -> bool {
    let errors = off / mean.standard_error;
    off <= 0.0 || errors <= 4.0 || errors <= mean.errors_allowed()
}

/// Whether a mean is above zero by more than chance.
pub(crate) fn clearly(mean: Mean) -> bool {
    mean.mean > 0.0 && !by_chance(mean.mean, mean)
}

/// Requires a mean to be `expected`, but for chance and what `expected` itself may be off.
pub(crate) fn near(checks: &mut Checks, what: &str, ours: Mean, expected: f64, besides: f64) {
    checks.that(by_chance((ours.mean - expected).abs() - besides, ours), || {
        format!("{what}: {:.4e} ± {:.1e}, where {expected:.4e} is expected", ours.mean, ours.standard_error)
    });
}

/// Requires two means of trials apart from each other to be the same, but for chance.
pub(crate) fn alike(checks: &mut Checks, what: &str, one: Mean, other: Mean) {
    let standard_error = libm::hypot(one.standard_error, other.standard_error);
    let both = Mean { mean: one.mean - other.mean, standard_error, trials: one.trials.min(other.trials) };
    checks.that(by_chance(both.mean.abs(), both), || {
        format!(
            "{what}: {:.4e} and {:.4e} are {:.1} errors apart",
            one.mean,
            other.mean,
            both.errors_from(0.0)
        )
    });
}

/// How likely the less likely side of a Poisson number must be: that of four standard errors of a normal number.
pub(crate) const RARE: f64 = 3.2e-5;

/// Requires a mean of how often something rare happened to be `expected`: as [`near`], and by the tails of a Poisson
/// number where it happened so seldom that the trials do not tell their own error.
pub(crate) fn near_number(checks: &mut Checks, what: &str, ours: Mean, expected: f64) {
    let (found, mean) = (libm::round(ours.mean * ours.trials as f64) as u64, expected * ours.trials as f64);
    if mean >= 100.0 {
        return near(checks, what, ours, expected, 0.0);
    }
    let (fewer, more) = poisson_tail(found, mean);
    checks.that(fewer > RARE && more > RARE, || {
        format!("{what}: {found} in all, where {mean:.2} are expected")
    });
}

/// Requires a mean to be the paper's, to 1.5 % or four standard errors, whichever is wider. (The paper's own standard
/// error is about that of our thousand trials, and its last digit is up to 0.05 % wide.)
pub(crate) fn near_paper(checks: &mut Checks, what: &str, ours: Mean, paper: f64) {
    near_paper_within(checks, what, ours, paper, 4.0);
}

/// The same with another number of standard errors: [`Mean::errors_allowed`] where few trials tell the error itself.
pub(crate) fn near_paper_within(checks: &mut Checks, what: &str, ours: Mean, paper: f64, errors: f64) {
    let allowed = f64::max(0.015 * paper, errors * ours.standard_error);
    checks.that((ours.mean - paper).abs() <= allowed, || {
        format!(
            "{what}: {:.3e} is {:+.1}% off the paper's {paper:.3e}",
            ours.mean,
            100.0 * ours.relative_to(paper)
        )
    });
}
