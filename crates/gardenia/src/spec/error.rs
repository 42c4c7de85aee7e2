//! What is wrong with a spec, where, and what to change.

use super::Param;
use crate::index::MAX_HASHES;
use crate::{BuildError, SizeError};
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A part of a message: text, or an option that each front spells in its own way.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(Cow<'static, str>),
    Param(Param),
}

impl From<&'static str> for Piece {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Piece {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Param> for Piece {
    fn from(param: Param) -> Self {
        Self::Param(param)
    }
}

/// Pieces from texts and options.
macro_rules! pieces {
    ($($piece:expr),* $(,)?) => {
        alloc::vec![$($crate::spec::error::Piece::from($piece)),*]
    };
}
pub(super) use pieces;

/// A [`Spec`](super::Spec) that cannot be read or built: what is wrong, where, and what to change.
///
/// ```
/// use gardenia::Spec;
/// let error = "bloom items=1M width=4".parse::<Spec>().unwrap_err();
/// assert!(error.to_string().starts_with("at character 15: a filter of kind bloom has no width: leave it out"));
/// assert_eq!(error.at(), Some(15));
/// assert_eq!(error.what(|param| format!("--{param}")), "a filter of kind bloom has no --width");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpecError {
    what: Vec<Piece>,
    remedy: Vec<Piece>,
    at: Option<usize>,
    /// The option that is to blame, if one is.
    pub(super) param: Option<Param>,
    cause: Option<SizeError>,
}

impl SpecError {
    pub(super) fn new(what: Vec<Piece>, remedy: Vec<Piece>) -> Self {
        Self { what, remedy, at: None, param: None, cause: None }
    }

    /// Two options that exclude each other.
    pub(super) fn both(one: Param, other: Param) -> Self {
        let what = pieces![one, " and ", other, " are both given, and each fixes the other"];
        Self::new(what, pieces!["leave out one of them"]).about(other)
    }

    pub(super) fn about(mut self, param: Param) -> Self {
        self.param = Some(param);
        self
    }

    pub(super) fn found_at(mut self, at: usize) -> Self {
        self.at.get_or_insert(at);
        self
    }

    /// What is wrong; `spell` says how an option is written: `--fpp`, `FPP`.
    pub fn what(&self, spell: impl Fn(Param) -> String) -> String {
        render(&self.what, &spell)
    }

    /// What to change; empty if nothing helps.
    pub fn remedy(&self, spell: impl Fn(Param) -> String) -> String {
        render(&self.remedy, &spell)
    }

    /// The character of the text, counted from 0, at which the trouble begins; `None` if no text
    /// was read.
    #[must_use]
    pub fn at(&self) -> Option<usize> {
        self.at
    }

    /// The sizing error behind it, if there is one.
    #[must_use]
    pub fn size_error(&self) -> Option<&SizeError> {
        self.cause.as_ref()
    }
}

fn render(pieces: &[Piece], spell: &dyn Fn(Param) -> String) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Param(param) => spell(*param),
    };
    pieces.iter().map(text).collect()
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spell = |param: Param| param.to_string();
        if let Some(at) = self.at {
            write!(f, "at character {at}: ")?;
        }
        f.write_str(&self.what(spell))?;
        match self.remedy(spell) {
            remedy if remedy.is_empty() => Ok(()),
            remedy => write!(f, ": {remedy}"),
        }
    }
}

impl core::error::Error for SpecError {}

impl From<SizeError> for SpecError {
    fn from(error: SizeError) -> Self {
        use Param::{Bits, Cells, Delta, Digit, Epsilon, Fpp, Hashes, Items, Rows, Width};
        let (remedy, param) = match &error {
            SizeError::Fpp(_) => (pieces!["give a probability such as 1% or 0.01 for ", Fpp], Some(Fpp)),
            SizeError::FppBelowFloor { floor, items, .. } if SizeError::is_of_digests(*floor, *items) => {
                (pieces!["raise ", Fpp, ", or lower ", Items], Some(Fpp))
            }
            SizeError::FppBelowFloor { .. } => {
                (pieces!["raise ", Fpp, ", or choose another kind"], Some(Fpp))
            }
            SizeError::Epsilon(_) => (pieces!["give a share such as 0.1% for ", Epsilon], Some(Epsilon)),
            SizeError::Delta(_) => (pieces!["give a probability such as 1% for ", Delta], Some(Delta)),
            SizeError::ZeroItems => (pieces!["raise ", Items], Some(Items)),
            SizeError::ZeroCells => (pieces!["raise ", Bits, " or ", Cells], Some(Bits)),
            SizeError::TooManyCells { .. } | SizeError::Memory { .. } => {
                (pieces!["lower ", Items, ", ", Bits, " or ", Cells, ", or raise ", Fpp], None)
            }
            SizeError::Hashes { hashes, max } if hashes > max && *max < MAX_HASHES => {
                (pieces!["lower ", Hashes, ", or choose the kind bloom, which accepts more"], Some(Hashes))
            }
            SizeError::Hashes { .. } => (pieces!["change ", Hashes, " or ", Rows], Some(Hashes)),
            SizeError::Width { .. } => (pieces!["change ", Width], Some(Width)),
            SizeError::Digit { .. } => (pieces!["change ", Digit, " or ", Width], Some(Digit)),
            _ => (Vec::new(), None),
        };
        Self { what: pieces![error.to_string()], remedy, at: None, param, cause: Some(error) }
    }
}

impl From<BuildError> for SpecError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Size(error) => error.into(),
            error @ BuildError::Attempts { .. } => {
                Self::new(pieces![error.to_string()], pieces!["choose another ", Param::Seed])
            }
            error => Self::new(pieces![error.to_string()], Vec::new()),
        }
    }
}
