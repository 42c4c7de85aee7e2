//! A design: its figures, and the one call that builds it.

use crate::spec::{Spec, SpecError};
use crate::{AnyFilter, Digest, Kind};
use alloc::string::String;
use alloc::vec::Vec;

/// One filter that would do, with all that is to be known about it before it is built.
///
/// ```
/// use gardenia::plan::Need;
/// use gardenia::{Digest, Filter};
/// let plan = Need::of(1_000).fpp(0.01).fixed().plan().unwrap();
/// let keys: Vec<Digest> = (0..1_000).map(|i| Digest(Digest(1).word(i))).collect();
/// for design in plan.designs() {
///     let filter = design.build_from(&keys).unwrap();
///     assert!(filter.memory_bytes() as u64 <= design.bytes, "{}", design.kind.name());
///     assert!(keys.iter().all(|key| filter.contains_digest(*key)));
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Design {
    /// Kind of filter.
    pub kind: Kind,
    /// How it is built: its shape, with nothing that matters left open. A map of values is built by
    /// [`Spec::build_map`].
    pub spec: Spec,
    /// Keys that the figures are for. If no number was given, those of a window are as many as fit,
    /// and those of a filter that grows a million, or as many as fit.
    pub items: u64,
    /// Bits of memory per key.
    pub bits_per_key: f64,
    /// Bytes of memory, with all keys in.
    pub bytes: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// The probability of an error.
    pub fpp: f64,
    /// What the rate of the built filter stays below with probability `confidence`.
    pub bound: f64,
    /// How sure the bound is.
    pub confidence: f64,
    /// What counts as an error.
    pub error: ErrorMeans,
    /// Cache lines that a query touches on average, at the given share of present keys.
    pub lines: f64,
    /// Nanoseconds of a query in a batch, by the calibration.
    pub ns: f64,
    /// Why one would take it, in a sentence.
    pub why: String,
}

/// What the rate of a design is the rate of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorMeans {
    /// An absent key is reported as present; of filters that count, its count is not 0.
    FalsePositive,
    /// A count is above the truth by more than this share of all that was counted.
    CountAbove(f64),
}

impl Design {
    /// Whether it is built from all its keys at once, by [`build_from`](Self::build_from).
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.spec.needs_all_keys()
    }

    /// The empty filter, for keys that are added one by one.
    ///
    /// # Errors
    ///
    /// If the memory cannot be allocated, or the design [`is_fixed`](Self::is_fixed).
    pub fn build(&self) -> Result<AnyFilter, SpecError> {
        self.spec.build()
    }

    /// The filter of these keys, of any design; the digests come from the hasher that the need
    /// named, XXH3 unless said. They may repeat: filters that count or remove store every copy,
    /// others have them once. Copies that take room must have been planned for, by
    /// [`repeated`](super::Need::repeated).
    ///
    /// # Errors
    ///
    /// If the memory cannot be allocated, a table cannot be built, or there are more keys than were
    /// planned.
    pub fn build_from(&self, digests: &[Digest]) -> Result<AnyFilter, SpecError> {
        self.spec.build_from(digests)
    }
}

/// The answer to a [`Need`](super::Need): at least one design, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(super) designs: Vec<Design>,
}

impl Plan {
    /// All designs, the best first.
    #[must_use]
    pub fn designs(&self) -> &[Design] {
        &self.designs
    }

    /// The best.
    #[must_use]
    pub fn best(&self) -> &Design {
        &self.designs[0]
    }

    /// The best filter, empty: for keys that come one by one.
    ///
    /// ```
    /// use gardenia::{Kind, plan::Need};
    /// let filter = Need::of(1_000).fpp(0.01).plan().unwrap().build().unwrap();
    /// assert_eq!((filter.kind(), filter.about().planned_items()), (Kind::Blocked, 1_000));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Design::build`].
    pub fn build(&self) -> Result<AnyFilter, SpecError> {
        self.best().build()
    }

    /// The best filter of these keys.
    ///
    /// # Errors
    ///
    /// As [`Design::build_from`].
    pub fn build_from(&self, digests: &[Digest]) -> Result<AnyFilter, SpecError> {
        self.best().build_from(digests)
    }
}
