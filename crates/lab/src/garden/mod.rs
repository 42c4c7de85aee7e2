//! Filters of the garden and sketches, simulated: true random positions, and no code of the library.
//!
//! Each file is one filter as its paper has it, with the mistake that an experiment can make on purpose to see that its
//! verdicts notice. Here is what they share: positions, streams of keys, and comparisons of means.

mod a2;
mod bits;
mod bitwise;
mod count_min;
mod counting;
mod spectral;
mod stable;
mod stream;

pub use a2::Swap;
pub(crate) use a2::TwoBuffers;
pub(crate) use bits::RandomBits;
pub use bitwise::Exponent;
pub(crate) use bitwise::{BitwiseCells, Carry};
pub use count_min::Step;
pub(crate) use count_min::{CountMinSketch, SketchSize};
pub(crate) use counting::CountingCells;
pub use counting::Top;
pub use spectral::Raise;
pub(crate) use spectral::{Believe, Cells, Places, Recurring};
pub use stable::Below;
pub(crate) use stable::{Aging, StableCells};

use crate::{Checks, Mean, poisson_tail};

/// The article that shows the garden.
pub(crate) const VALLENTIN: &str = "Vallentin, A Garden Variety of Bloom Filters (2011)";

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
const RARE: f64 = 3.2e-5;

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
