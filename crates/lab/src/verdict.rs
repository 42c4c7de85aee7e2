//! What comes out of a comparison. Verdicts are computed from numbers, never written by hand.
//!
//! A row holds [`Comparison`]s: a number that was found, with its standard error, and a reference,
//! with its own and with the half unit of its last printed digit. What is allowed follows from
//! these alone. A row keeps its comparisons, so that a test can move each reference by five
//! standard errors and see the verdict change without a new trial.

use crate::errata::{self, Erratum};
use crate::stats::poisson_tail;
use crate::{Mean, chi_square_tail};
use serde::Serialize;

/// Whether a row shows what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "lowercase")]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It is not what the paper prints, but what an entry of [`ERRATA`](crate::ERRATA) says it must
    /// be, for this reason.
    Explained(String),
    /// It does not, for these reasons.
    Differs(Vec<String>),
}

impl Verdict {
    /// The word for it in tables.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Explained(_) => "explained",
            Self::Differs(_) => "DIFFERS",
        }
    }

    /// Whether it differs.
    #[must_use]
    pub fn differs(&self) -> bool {
        matches!(self, Self::Differs(_))
    }
}

/// What a found number is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// The number.
    pub value: f64,
    /// Its standard error: that of a paper's trials, or of other trials of ours.
    pub standard_error: f64,
    /// How far it may be off besides: half a unit of the last digit that a paper prints, or half of
    /// the range in which a theory puts it.
    pub half_unit: f64,
}

impl From<f64> for Reference {
    fn from(value: f64) -> Self {
        Self { value, standard_error: 0.0, half_unit: 0.0 }
    }
}

impl Reference {
    /// A number printed with this many significant digits.
    ///
    /// ```
    /// let printed = lab::Reference::printed(2.159e-2, 4);
    /// assert!((printed.half_unit - 0.0005e-2).abs() < 1e-18);
    /// ```
    #[must_use]
    pub fn printed(value: f64, digits: u32) -> Self {
        let last = libm::floor(libm::log10(value.abs())) + 1.0 - f64::from(digits);
        Self { half_unit: 0.5 * libm::pow(10.0, last), ..Self::from(value) }
    }

    /// Anywhere between two numbers.
    #[must_use]
    pub fn between(low: f64, high: f64) -> Self {
        Self { half_unit: (high - low) / 2.0, ..Self::from((low + high) / 2.0) }
    }

    /// The same as the mean of a number of trials that are like those of `ours`.
    #[must_use]
    pub fn of_trials(self, trials: u64, ours: Mean) -> Self {
        let standard_error = ours.standard_error * libm::sqrt(ours.trials as f64 / trials as f64);
        Self { standard_error, ..self }
    }
}

/// What is claimed of a found number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the reference.
    Is,
    /// It is not above the reference.
    AtMost,
    /// It is above the reference, by more than chance.
    Above,
    /// It is not the reference: what is printed is wrong.
    IsNot,
}

/// How far chance may carry a found number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// As a mean of normal trials that tell their own error (Student's distribution).
    Student,
    /// As a Poisson number; what was found is a count.
    Poisson,
    /// Not at all, but for the rounding of arithmetic.
    Exact,
}

/// How likely the less likely side must be: that of four standard errors of a normal number.
const RARE: f64 = 3.167e-5;
/// The same of five.
const FIVE: f64 = 2.867e-7;
/// What arithmetic rounds away.
const ROUNDING: f64 = 1e-9;

/// A number that was found, a reference, and what is claimed of them.
///
/// ```
/// use lab::{Checks, Mean};
/// let found = Mean { mean: 0.503, standard_error: 0.001, trials: 1_000 };
/// let mut checks = Checks::default();
/// checks.is("fill", found, 0.5);
/// let comparison = &checks.comparisons()[0];
/// assert!(comparison.holds() && comparison.changed().iter().all(|changed| !changed.holds()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was found, in words.
    pub what: String,
    /// What is claimed.
    pub claim: Claim,
    /// What was found.
    pub found: Mean,
    /// What it is compared with.
    pub reference: Reference,
    law: Law,
}

impl Comparison {
    /// The standard error of the comparison: of both numbers, and of a last digit that was rounded.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let Reference { standard_error, half_unit, .. } = self.reference;
        let rounded = half_unit / libm::sqrt(3.0);
        libm::hypot(libm::hypot(self.found.standard_error, standard_error), rounded)
    }

    /// Whether it is compared two-sidedly: a claim that any wrong reference breaks.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        self.claim == Claim::Is
    }

    /// Whether what is claimed may be, but for chance.
    #[must_use]
    pub fn holds(&self) -> bool {
        let Reference { value, standard_error, half_unit } = self.reference;
        let off = self.found.mean - value;
        let (below, above) = match self.law {
            Law::Poisson => {
                let found = libm::round(self.found.mean) as u64;
                let tail = |mean: f64| poisson_tail(found, mean.max(0.0));
                (tail(value - half_unit).0 < RARE, tail(value + half_unit).1 < RARE)
            }
            Law::Student | Law::Exact => {
                let error = libm::hypot(self.found.standard_error, standard_error);
                let rounding = ROUNDING * value.abs().max(self.found.mean.abs());
                let least = half_unit + rounding;
                // The number of errors is at least four, and takes a while to compute.
                let far = |off: f64| {
                    let errors = (off - least) / error.max(f64::MIN_POSITIVE);
                    off > least
                        && (self.law == Law::Exact || errors > 4.0 && errors > self.found.errors_allowed())
                };
                (far(-off), far(off))
            }
        };
        match self.claim {
            Claim::Is => !below && !above,
            Claim::AtMost => !above,
            Claim::Above => above,
            Claim::IsNot => below || above,
        }
    }

    /// The same with a reference that is five standard errors away from what was found, on each
    /// side on which that is wrong (of a claim that something is not the reference: with one that
    /// it is). None may hold.
    #[must_use]
    pub fn changed(&self) -> Vec<Self> {
        let found = self.found.mean;
        let with = |value: f64| Self { reference: Reference { value, ..self.reference }, ..self.clone() };
        let (low, high) = match self.law {
            Law::Student => {
                let five = 5.0 * self.standard_error();
                (found - five, found + five)
            }
            Law::Poisson => {
                let count = libm::round(found) as u64;
                let half = self.reference.half_unit;
                (rare_mean(count, false) - half, rare_mean(count, true) + half)
            }
            Law::Exact => {
                // A whole number by one, any other by a millionth.
                let least = self.reference.half_unit + (1e-6 * found.abs()).max(1e-6);
                let step = if libm::round(found) == found { least.max(1.0) } else { least };
                (found - step, found + step)
            }
        };
        match self.claim {
            // A count of none is not below anything.
            Claim::Is if self.law == Law::Poisson && found < 0.5 => vec![with(high)],
            Claim::Is => vec![with(low), with(high)],
            Claim::AtMost => vec![with(low)],
            Claim::Above | Claim::IsNot => vec![with(found)],
        }
    }

    fn why(&self) -> String {
        let Self { what, found, reference, claim, .. } = self;
        let claim = match claim {
            Claim::Is => "where it should be",
            Claim::AtMost => "which is more than",
            Claim::Above => "which is not more than",
            Claim::IsNot => "which may well be",
        };
        let errors = if self.law == Law::Exact || self.standard_error() == 0.0 {
            String::new()
        } else {
            format!(", {:.1} standard errors away", (found.mean - reference.value) / self.standard_error())
        };
        match self.law {
            Law::Student => {
                format!(
                    "{what}: {:.5e} ± {:.1e}, {claim} {:.5e}{errors}",
                    found.mean, found.standard_error, reference.value
                )
            }
            Law::Poisson => format!("{what}: {} in all, {claim} {:.2}{errors}", found.mean, reference.value),
            Law::Exact => format!("{what}: {}, {claim} {}", found.mean, reference.value),
        }
    }
}

/// The mean at which a Poisson number is this small, or this large, as rarely as a normal one is
/// five errors away.
fn rare_mean(count: u64, small: bool) -> f64 {
    let tail = |mean: f64| if small { poisson_tail(count, mean).0 } else { poisson_tail(count, mean).1 };
    let spread = 10.0 * libm::sqrt(count as f64 + 1.0) + 20.0;
    // The rarer end and the other.
    let (mut rare, mut other) = (count as f64 + if small { spread } else { -spread }, count as f64);
    rare = rare.max(0.0);
    for _ in 0..60 {
        let middle = (rare + other) / 2.0;
        if tail(middle) > FIVE { other = middle } else { rare = middle }
    }
    rare
}

/// Why a row is not what is printed.
#[derive(Clone, Debug, PartialEq)]
struct Explanation {
    erratum: Result<&'static Erratum, String>,
    reason: String,
}

/// The comparisons of one row, gathered: it agrees if all hold.
///
/// ```
/// use lab::{Checks, Verdict};
/// let mut checks = Checks::default();
/// checks.exactly("sums that are wrong", 0, 0);
/// assert_eq!(checks.verdict(), Verdict::Agrees);
/// checks.exactly("products that are wrong", 2, 0);
/// assert!(checks.verdict().differs());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks {
    comparisons: Vec<Comparison>,
    explanation: Option<Explanation>,
}

impl Checks {
    fn add(&mut self, what: &str, claim: Claim, found: Mean, reference: impl Into<Reference>, law: Law) {
        let reference = reference.into();
        // Trials that are all the same have no error to go by: they must hit the reference.
        let known = found.standard_error == 0.0 && reference.standard_error == 0.0;
        let law = if law == Law::Student && known { Law::Exact } else { law };
        self.comparisons.push(Comparison { what: what.to_owned(), claim, found, reference, law });
    }

    /// Requires a mean to be the reference.
    pub fn is(&mut self, what: &str, found: Mean, reference: impl Into<Reference>) {
        self.add(what, Claim::Is, found, reference, Law::Student);
    }

    /// Requires the means of trials apart from each other to be the same.
    pub fn alike(&mut self, what: &str, one: Mean, other: Mean) {
        let reference = Reference { standard_error: other.standard_error, ..other.mean.into() };
        let found = Mean { trials: one.trials.min(other.trials), ..one };
        self.is(what, found, reference);
    }

    /// Requires a count of rare events to be a Poisson number of the expected mean.
    pub fn number(&mut self, what: &str, found: u64, expected: impl Into<Reference>) {
        self.count(what, Claim::Is, found, expected);
    }

    fn count(&mut self, what: &str, claim: Claim, found: u64, expected: impl Into<Reference>) {
        let error = libm::sqrt(found.max(1) as f64);
        let found = Mean { mean: found as f64, standard_error: error, trials: found };
        self.add(what, claim, found, expected, Law::Poisson);
    }

    /// Requires the mean over trials of a count to be the reference: by the spread of the trials,
    /// and as a Poisson number where fewer than 100 are expected in all, too few to tell their own
    /// error.
    pub fn mean_number(&mut self, what: &str, found: Mean, expected: f64) {
        let trials = found.trials as f64;
        if expected * trials < 100.0 {
            self.number(what, libm::round(found.mean * trials) as u64, expected * trials);
        } else {
            self.is(what, found, expected);
        }
    }

    /// Requires `found` of `asked` to be this share: as a Poisson number where fewer than 100 are
    /// expected, or all but fewer than 100.
    pub fn share(&mut self, what: &str, found: u64, asked: u64, expected: f64) {
        let all = asked as f64;
        if expected * all < 100.0 {
            self.number(what, found, expected * all);
        } else if (1.0 - expected) * all < 100.0 {
            self.number(&format!("all but {what}"), asked - found, (1.0 - expected) * all);
        } else {
            self.is(what, Mean::of_rate(found, asked), expected);
        }
    }

    /// Requires a mean not to be above the reference.
    pub fn at_most(&mut self, what: &str, found: Mean, reference: impl Into<Reference>) {
        self.add(what, Claim::AtMost, found, reference, Law::Student);
    }

    /// Requires a count of rare events not to be above a Poisson number of this mean.
    pub fn number_at_most(&mut self, what: &str, found: u64, most: f64) {
        self.count(what, Claim::AtMost, found, most);
    }

    /// Requires a mean to be above the reference by more than chance.
    pub fn above(&mut self, what: &str, found: Mean, reference: impl Into<Reference>) {
        self.add(what, Claim::Above, found, reference, Law::Student);
    }

    /// Requires a count of rare events to be above a Poisson number of this mean.
    pub fn number_above(&mut self, what: &str, found: u64, reference: f64) {
        self.count(what, Claim::Above, found, reference);
    }

    /// Requires a mean not to be what is printed.
    pub fn is_not(&mut self, what: &str, found: Mean, printed: impl Into<Reference>) {
        self.add(what, Claim::IsNot, found, printed, Law::Student);
    }

    /// Requires a whole number.
    pub fn exactly(&mut self, what: &str, found: u64, expected: u64) {
        self.computed(what, found as f64, expected as f64);
    }

    /// Requires a number that no chance is in to be the reference, but for what was rounded.
    pub fn computed(&mut self, what: &str, found: f64, reference: impl Into<Reference>) {
        self.add(what, Claim::Is, certain(found), reference, Law::Exact);
    }

    /// Requires a number that no chance is in not to be above the reference.
    pub fn computed_at_most(&mut self, what: &str, found: f64, most: f64) {
        self.add(what, Claim::AtMost, certain(found), most, Law::Exact);
    }

    /// Requires a chi-square number not to be rarer than one in 16,000.
    pub fn chi_square(&mut self, what: &str, statistic: f64, freedom: f64) {
        self.computed_at_most(what, statistic, chi_square_limit(freedom));
    }

    /// What is printed is not what the row shows: if it shows what it should, it is explained by
    /// the erratum of that name on the list of the experiment, and differs if there is none.
    pub fn explain(&mut self, experiment: &str, row: &str, reason: String) {
        let erratum =
            errata::find(experiment, row).ok_or_else(|| format!("no erratum is known of \"{row}\""));
        self.explanation = Some(Explanation { erratum, reason });
    }

    /// The comparisons.
    #[must_use]
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// The same with other comparisons, for tests that change references.
    #[must_use]
    pub fn with(&self, comparisons: Vec<Comparison>) -> Self {
        Self { comparisons, ..self.clone() }
    }

    /// What they come to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let failed = self.comparisons.iter().filter(|comparison| !comparison.holds());
        let mut why: Vec<String> = failed.map(Comparison::why).collect();
        match &self.explanation {
            Some(Explanation { erratum: Err(missing), .. }) => why.push(missing.clone()),
            Some(Explanation { erratum: Ok(erratum), reason }) if why.is_empty() => {
                return Verdict::Explained(format!("{}: {reason}", erratum.name()));
            }
            _ => {}
        }
        if why.is_empty() { Verdict::Agrees } else { Verdict::Differs(why) }
    }
}

/// A number that no chance is in.
fn certain(value: f64) -> Mean {
    Mean { mean: value, standard_error: 0.0, trials: 1 }
}

/// What a chi-square number exceeds once in 16,000 cases.
pub(crate) fn chi_square_limit(freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0 * (freedom + 4.0));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if chi_square_tail(middle, freedom) > 2.0 * RARE { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mean: f64, standard_error: f64, trials: u64) -> Mean {
        Mean { mean, standard_error, trials }
    }

    fn holds(add: impl Fn(&mut Checks)) -> bool {
        let mut checks = Checks::default();
        add(&mut checks);
        let comparisons = checks.comparisons();
        assert!(comparisons.iter().flat_map(Comparison::changed).all(|changed| !changed.holds()));
        comparisons.iter().all(Comparison::holds)
    }

    #[test]
    fn what_is_allowed_follows_from_errors_and_printed_digits() {
        let found = mean(1.0, 0.01, 1_000_000);
        assert!(holds(|checks| checks.is("", found, 1.039)) && !holds(|checks| checks.is("", found, 1.041)));
        // Printed as 1.1: half a unit more.
        let printed = |value| Reference::printed(value, 2);
        assert!(holds(|checks| checks.is("", found, printed(1.08))));
        assert!(!holds(|checks| checks.is("", found, printed(1.1))));
        // The paper's hundredth of our trials: ten times our error.
        assert!(holds(|checks| checks.is("", found, Reference::from(1.4).of_trials(10_000, found))));
        assert!(!holds(|checks| checks.is("", found, Reference::from(1.41).of_trials(10_000, found))));
        // One-sided claims.
        assert!(
            holds(|checks| checks.at_most("", found, 0.961))
                && !holds(|checks| checks.at_most("", found, 0.959))
        );
        assert!(
            holds(|checks| checks.above("", found, 0.959)) && !holds(|checks| checks.above("", found, 0.961))
        );
        assert!(
            holds(|checks| checks.is_not("", found, 1.041))
                && !holds(|checks| checks.is_not("", found, 1.039))
        );
        // Few trials know their error badly, and thirty well enough.
        assert!(holds(|checks| checks.is("", mean(1.0, 0.01, 30), 1.045)));
        assert!(!holds(|checks| checks.is("", mean(1.0, 0.01, 30), 1.049)));
    }

    #[test]
    fn rare_events_are_judged_by_their_tails() {
        // e^-10.3 is 3.4e-5, e^-10.4 is 3.0e-5
        assert!(holds(|checks| checks.number("", 0, 10.3)) && !holds(|checks| checks.number("", 0, 10.4)));
        assert!(holds(|checks| checks.number("", 30, 30.0)) && !holds(|checks| checks.number("", 60, 30.0)));
        assert!(holds(|checks| checks.number("", 60, Reference::between(30.0, 50.0))));
        assert!(
            holds(|checks| checks.share("", 1_000, 1_000, 0.999))
                && !holds(|checks| checks.share("", 970, 1_000, 0.999))
        );
        assert!(holds(|checks| checks.mean_number("", mean(0.01, 0.0, 100), 0.01)));
        assert!(
            !holds(|checks| checks.number_at_most("", 60, 30.0))
                && holds(|checks| checks.number_above("", 60, 30.0))
        );
    }

    #[test]
    fn trials_that_are_all_the_same_must_hit() {
        assert!(holds(|checks| checks.is("", mean(1.0, 0.0, 30), 1.0)));
        assert!(!holds(|checks| checks.is("", mean(1.0, 0.0, 30), 0.999)));
        assert!(holds(|checks| checks.computed("", 0.519_04, Reference::printed(0.519, 4))));
        assert!(!holds(|checks| checks.computed("", 0.519_06, Reference::printed(0.519, 4))));
        assert!((chi_square_limit(1.0) - 16.0).abs() < 0.01, "four errors of a normal number");
    }

    #[test]
    fn only_what_is_listed_is_explained() {
        let mut checks = Checks::default();
        checks.exactly("something", 1, 1);
        let mut known = checks.clone();
        known.explain("garden-a2", "φ is kept", "because".to_owned());
        assert_eq!(known.verdict(), Verdict::Explained("erratum 9: because".to_owned()));
        checks.explain("garden-a2", "something else", "because".to_owned());
        assert!(checks.verdict().differs());
        known.exactly("something", 1, 2);
        assert!(known.verdict().differs());
    }
}
