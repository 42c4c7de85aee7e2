//! The three algorithms of the spectral filter, as types and as numbers.

use crate::numbered::numbered;
use core::fmt::Debug;

numbered! {
    /// Number of an algorithm, as stored in files. A number never changes its meaning.
    ///
    /// It is itself a [`Policy`]: that of filters whose algorithm is learnt at run time.
    pub enum PolicyId: u8 {
        /// [`MinimumSelection`]
        MinimumSelection = 1 "minimum-selection",
        /// [`MinimumIncrease`]
        MinimumIncrease = 2 "minimum-increase",
        /// [`RecurringMinimum`]
        RecurringMinimum = 3 "recurring-minimum",
    }
}

/// An algorithm of [`SpectralBloom`](crate::SpectralBloom): one of the three types, or a number.
pub trait Policy: sealed::Sealed + Copy + Debug {
    /// Its number.
    fn id(&self) -> PolicyId;

    /// The algorithm of this type, if `id` is its number.
    ///
    /// ```
    /// use gardenia::filter::{MinimumIncrease, MinimumSelection, Policy, PolicyId};
    /// assert!(MinimumIncrease::restore(PolicyId::MinimumIncrease).is_some());
    /// assert!(MinimumSelection::restore(PolicyId::MinimumIncrease).is_none());
    /// ```
    fn restore(id: PolicyId) -> Option<Self>;
}

/// A [`Policy`] under which keys can be removed again.
pub trait Reversible: Policy {}

/// Raises all cells of a key and takes the least for its count. Keys can be removed, filters be
/// merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinimumSelection;

/// Raises only the least of a key's cells: on the same keys no count is above that of
/// [`MinimumSelection`]. Nothing can be removed: which cells a key raised is not known afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinimumIncrease;

/// As [`MinimumSelection`], and keys whose least value stands in one cell only, which are likely to
/// be wrong, are counted a second time in cells of their own. Keys can be removed.
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
