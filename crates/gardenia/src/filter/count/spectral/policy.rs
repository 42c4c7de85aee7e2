//! The three algorithms of the spectral filter, as types and as numbers.

use core::fmt::Debug;

/// Number of an algorithm, as stored in files. A number never changes its meaning.
///
/// It is itself a [`Policy`]: that of filters whose algorithm is learnt at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum PolicyId {
    /// [`MinimumSelection`]
    MinimumSelection = 1,
    /// [`MinimumIncrease`]
    MinimumIncrease = 2,
    /// [`RecurringMinimum`]
    RecurringMinimum = 3,
}

impl PolicyId {
    /// All algorithms, by number.
    pub const ALL: [Self; 3] = [Self::MinimumSelection, Self::MinimumIncrease, Self::RecurringMinimum];

    /// The algorithm with this number, if there is one.
    ///
    /// ```
    /// use gardenia::PolicyId;
    /// assert_eq!(PolicyId::from_number(2), Some(PolicyId::MinimumIncrease));
    /// assert_eq!(PolicyId::from_number(9), None);
    /// ```
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.number() == number)
    }

    /// The algorithm with this name, if there is one.
    ///
    /// ```
    /// use gardenia::PolicyId;
    /// assert!(PolicyId::ALL.iter().all(|&id| PolicyId::from_name(id.name()) == Some(id)));
    /// assert_eq!(PolicyId::from_name("maximum"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }

    /// The number stored in files.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Name for people and for the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinimumSelection => "minimum-selection",
            Self::MinimumIncrease => "minimum-increase",
            Self::RecurringMinimum => "recurring-minimum",
        }
    }
}

/// An algorithm of [`SpectralBloom`](crate::SpectralBloom): one of the three types, or a number.
pub trait Policy: sealed::Sealed + Copy + Debug {
    /// Its number.
    fn id(&self) -> PolicyId;

    /// The algorithm of this type, if `id` is its number.
    ///
    /// ```
    /// use gardenia::{MinimumIncrease, MinimumSelection, Policy, PolicyId};
    /// assert!(MinimumIncrease::restore(PolicyId::MinimumIncrease).is_some());
    /// assert!(MinimumSelection::restore(PolicyId::MinimumIncrease).is_none());
    /// ```
    fn restore(id: PolicyId) -> Option<Self>;
}

/// A [`Policy`] under which keys can be taken out again.
pub trait Reversible: Policy {}

/// Raises all cells of a key and takes the least for its count. Keys can be taken out, filters be merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinimumSelection;

/// Raises only the least of a key's cells: on the same keys no count is above that of [`MinimumSelection`].
/// Nothing can be taken out: which cells a key raised is not known afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinimumIncrease;

/// As [`MinimumSelection`], and keys whose least value stands in one cell only, which are likely to be wrong,
/// are counted a second time in cells of their own. Keys can be taken out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecurringMinimum;

/// The algorithms are those of the paper and no others.
mod sealed {
    pub trait Sealed {}
}

macro_rules! policies {
    ($($policy:ident)+) => {$(
        impl sealed::Sealed for $policy {}
        impl Policy for $policy {
            #[inline]
            fn id(&self) -> PolicyId {
                PolicyId::$policy
            }
            fn restore(id: PolicyId) -> Option<Self> {
                (id == PolicyId::$policy).then_some(Self)
            }
        }
    )+};
}
policies!(MinimumSelection MinimumIncrease RecurringMinimum);

impl Reversible for MinimumSelection {}
impl Reversible for RecurringMinimum {}

impl sealed::Sealed for PolicyId {}
impl Policy for PolicyId {
    #[inline]
    fn id(&self) -> PolicyId {
        *self
    }
    fn restore(id: PolicyId) -> Option<Self> {
        Some(id)
    }
}
