//! What comes out of a comparison. Verdicts are computed from numbers, never written by hand.

use serde::Serialize;

/// Whether a row shows what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "lowercase")]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It is not what the paper says, but what a known erratum says it must be, for this reason.
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

/// Conditions of one row, gathered: it agrees if all hold.
///
/// ```
/// use lab::{Checks, Verdict};
/// let mut checks = Checks::default();
/// checks.that(1 + 1 == 2, || "sums are wrong".to_owned());
/// assert_eq!(checks.clone().verdict(), Verdict::Agrees);
/// checks.that(2 * 2 == 5, || "products are wrong".to_owned());
/// assert_eq!(checks.verdict(), Verdict::Differs(vec!["products are wrong".to_owned()]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Checks(Vec<String>);

impl Checks {
    /// Requires `holds`; `why` says what is wrong otherwise.
    pub fn that(&mut self, holds: bool, why: impl FnOnce() -> String) {
        if !holds {
            self.0.push(why());
        }
    }

    /// What they come to.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        if self.0.is_empty() { Verdict::Agrees } else { Verdict::Differs(self.0) }
    }
}
