//! The spectral Bloom filter: how often did a key come?
//!
//! Cells are counters as in the counting filter, and a key's count is the least of its cells. That
//! is *minimum selection*, and it is too high exactly as often as a Bloom filter finds absent keys.
//! Two more algorithms have smaller errors. *Minimum increase* raises only the least of a key's
//! cells, since the others are too large already; then nothing can be removed again, and the type
//! does not offer it. *Recurring minimum* keeps a second filter for the keys that are likely to be
//! wrong, and can remove keys; see `recurring.rs`.
//!
//! As in every filter of counters here, a cell at its top sticks, and a key that meets a cell twice
//! changes it once.
//!
//! Source: Cohen and Matias, "Spectral Bloom Filters" (2003).

mod build;
mod policy;
mod recurring;
mod store;
mod stored;
mod tables;
#[cfg(all(test, feature = "std"))]
mod tests;

pub use policy::{MinimumIncrease, MinimumSelection, Policy, PolicyId, RecurringMinimum, Reversible};

use crate::cells::{Memory, Owned, Tally};
use crate::error::Overflow;
use crate::explain::{CellTable, Explain, Seen};
use crate::filter::request::filter_facts;
use crate::filter::verbs::{count_impl, filter_impl, insert_impl, remove_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::Kind;
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, Scheme};
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::theory::bloom::{Estimate, estimate_items};
use crate::{DecodeError, Merge, Mismatch, RemoveError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use recurring::Marker;
use store::{Cells, CellsMut, Store, each};

/// A Bloom filter that counts how often keys occur, with one of the three algorithms of its paper.
///
/// ```
/// use gardenia::filter::MinimumIncrease;
/// use gardenia::SpectralBloom;
/// let mut counts = SpectralBloom::new(1_000, 0.01)?; // minimum selection: keys can be removed again
/// counts.insert_many(&["rose", "rose", "tulip"]);
/// counts.remove("rose").unwrap();
/// assert_eq!(counts.count_many(&["rose", "tulip", "thistle"]), [1, 1, 0]);
///
/// let mut log = SpectralBloom::builder().items(1_000).fpp(0.01).policy(MinimumIncrease).build()?;
/// assert_eq!(log.insert_times("rose", 40_000), Ok(true));
/// assert_eq!(log.count("rose"), 40_000); // and nothing comes out
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Under minimum increase there is no `remove`, because it would make other counts too small:
///
/// ```compile_fail,E0599
/// use gardenia::filter::MinimumIncrease;
/// use gardenia::SpectralBloom;
/// let mut log = SpectralBloom::builder().items(1_000).fpp(0.01).policy(MinimumIncrease).build().unwrap();
/// log.insert("rose");
/// log.remove("rose").unwrap();
/// ```
#[derive(Clone)]
pub struct SpectralBloom<P = MinimumSelection, M = Owned> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    policy: P,
    store: Store<M>,
    about: About,
}

impl SpectralBloom {
    /// A filter by minimum selection for `items` distinct keys, of whose counts a share of at most
    /// `fpp` is wrong, with cells of 16 bits.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose algorithm, shape, width, seed, secret, scheme.
    ///
    /// ```
    /// use gardenia::filter::RecurringMinimum;
    /// use gardenia::SpectralBloom;
    /// let counts = SpectralBloom::builder().policy(RecurringMinimum).cells(10_000).hashes(7).width(8).build()?;
    /// assert_eq!((counts.cells(), counts.secondary_cells(), counts.width()), (10_000, 5_000, 8));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<SpectralBloom> {
        Builder::new(build::SpectralBloomOptions::new(MinimumSelection))
    }
}

impl<P: Policy> SpectralBloom<P> {
    /// Adds `key`; true if it was certainly absent before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.insert_each(Given(digests), &mut Bools::of(digests, new));
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        let mut new = 0;
        self.insert_each(Given(&[digest]), &mut new);
        new == 1
    }

    /// Adds digests in order; `new` receives for each whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        each!(&mut self.store, tables => tables.insert_each(self.policy.id(), &self.scheme, digests, new));
    }

    /// Adds `key` as often as `times` says; true if it was certainly absent before. If its count
    /// would reach the top of the cells, and so be lost, nothing changes.
    ///
    /// ```
    /// let mut filter = gardenia::SpectralBloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.insert_times("rose", 65_000), Ok(true));
    /// assert_eq!(filter.insert_times("rose", 1_000).unwrap_err().count, 66_000); // 16 bits end at 65,535
    /// assert_eq!(filter.count("rose"), 65_000);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn insert_times(&mut self, key: impl crate::Key, times: u64) -> Result<bool, Overflow> {
        let new = self.insert_digest_times(self.hasher.digest_key(&key), times)?;
        self.about.took_key(&key);
        Ok(new)
    }

    /// [`insert_times`](Self::insert_times) of the key with this digest.
    pub fn insert_digest_times(&mut self, digest: Digest, times: u64) -> Result<bool, Overflow> {
        each!(&mut self.store, tables => tables.insert_times(self.policy.id(), &self.scheme, digest, times))
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        each!(&mut self.store, tables => tables.clear());
        self.about.forget();
    }
}

impl<P: Reversible> SpectralBloom<P> {
    /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
    ///
    /// Only remove what was inserted: a false positive passes the check, and removing it can hide a
    /// key that is in.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> Result<(), RemoveError> {
        self.remove_digest(self.hasher.digest_key(&key))
    }

    /// Takes the key with this digest out once. If that cannot be, the error says why and nothing
    /// has changed.
    #[inline]
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        each!(&mut self.store, tables => tables.remove(&self.scheme, digest))
    }
}

impl SpectralBloom<PolicyId> {
    /// Takes the key with this digest out once; `None` if the algorithm does not allow it.
    pub fn try_remove_digest(&mut self, digest: Digest) -> Option<Result<(), RemoveError>> {
        match self.policy {
            PolicyId::MinimumIncrease => None,
            _ => Some(each!(&mut self.store, tables => tables.remove(&self.scheme, digest))),
        }
    }

    /// Adds the cells of `other`, stopping at the top; `None` if the algorithm does not allow it.
    /// By minimum increase no count is too small then, but errors are larger than if all keys had
    /// gone into one filter.
    pub fn try_merge(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        if self.policy == PolicyId::RecurringMinimum {
            return None;
        }
        let (ours, theirs) = (self.policy.name(), other.policy.name());
        let same = if ours == theirs {
            Ok(())
        } else {
            Err(Mismatch { what: "algorithm", ours: ours.into(), theirs: theirs.into() })
        };
        Some(self.identity().check(&other.identity()).and(same).and_then(|()| self.add_all(other)))
    }
}

impl SpectralBloom<MinimumIncrease> {
    /// Adds the cells of `other`, stopping at the top. No count is too small then, but errors are
    /// larger than if all keys had gone into one filter: that is why this is not [`Merge`].
    ///
    /// ```
    /// use gardenia::filter::MinimumIncrease;
    /// use gardenia::SpectralBloom;
    /// let builder = SpectralBloom::builder().items(100).fpp(0.01).policy(MinimumIncrease);
    /// let (mut monday, mut tuesday) = (builder.clone().build()?, builder.build()?);
    /// monday.insert_many(&["rose", "tulip"]);
    /// tuesday.insert_many(&["rose", "rose"]);
    /// monday.union_with(&tuesday).unwrap();
    /// assert_eq!(monday.count_many(&["rose", "tulip"]), [3, 1]);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn union_with(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.add_all(other)
    }
}

impl<P: Policy> SpectralBloom<P> {
    /// Adds the primary cells of `other`.
    fn add_all(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        each!(&mut self.store, ours => each!(&other.store, theirs => ours.primary.take_in(&theirs.primary)));
        self.about.took_all(&other.about);
        Ok(())
    }
}

impl<P: Policy, M: Memory> SpectralBloom<P, M> {
    /// Whether `key` may be present: never false for a key that is.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher.digest_key(&key))
    }

    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        Bools::collect(keys.len(), |answers| self.contains_each(Keys::new(&self.hasher, keys), answers))
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.contains_each(Given(digests), &mut Bools::of(digests, out));
    }
    /// How often `key` went in, less how often it was removed. It is never too little below the
    /// cells' top; by [`RecurringMinimum`] up to the false positives of its marker.
    #[inline]
    #[must_use]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_digest(self.hasher.digest_key(&key))
    }

    /// Counts of all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = vec![0; keys.len()];
        self.count_each(Keys::new(&self.hasher, keys), &mut counts);
        counts
    }

    /// Counts for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn count_digests(&self, digests: &[Digest], out: &mut [u64]) {
        assert_eq!(digests.len(), out.len(), "one count per digest");
        self.count_each(Given(digests), out);
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let mut found = 0;
        self.contains_each(Given(&[digest]), &mut found);
        found == 1
    }

    /// The count of the key with this digest.
    #[inline]
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        let mut count = 0;
        let take = |found| count = u64::from(found);
        each!(&self.store, tables => tables.count_each(&self.scheme, Given(&[digest]), take));
        count
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        each!(&self.store, tables => tables.contains_each(&self.scheme, digests, answers));
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        let take = |found| counts.by_ref().take(1).for_each(|count| *count = u64::from(found));
        each!(&self.store, tables => tables.count_each(&self.scheme, digests, take));
    }

    filter_facts!();

    /// The algorithm.
    #[must_use]
    pub fn policy(&self) -> PolicyId {
        self.policy.id()
    }

    /// Number of cells, m; those of the secondary filter of recurring minimum are not among them.
    #[must_use]
    pub fn cells(&self) -> u64 {
        each!(&self.store, tables => tables.primary.len())
    }

    /// Number of cells in the secondary filter of recurring minimum; 0 under other algorithms.
    #[must_use]
    pub fn secondary_cells(&self) -> u64 {
        each!(&self.store, tables => tables.secondary.as_ref().map_or(0, |secondary| secondary.cells.len()))
    }

    /// Whether keys with secondary cells are marked.
    #[must_use]
    pub fn has_marker(&self) -> bool {
        self.marker().is_some()
    }

    /// Whether it follows the paper's basic form to the letter: see
    /// [`as_printed`](Builder::<SpectralBloom>::as_printed).
    #[must_use]
    pub fn is_as_printed(&self) -> bool {
        each!(&self.store, tables => tables.secondary.as_ref().is_some_and(|secondary| secondary.believed))
    }

    /// The share of the marker's bits that are set, if there is a marker. To the power of k it is
    /// the marker's own false-positive probability.
    #[must_use]
    pub fn marker_fill(&self) -> Option<f64> {
        self.marker().map(|marker| marker.bits.count_ones() as f64 / marker.bits.len() as f64)
    }

    fn secondary_scheme(&self) -> Option<&AnyScheme> {
        each!(&self.store, tables => tables.secondary.as_ref().map(|secondary| &secondary.scheme))
    }

    fn marker(&self) -> Option<&Marker<M>> {
        each!(&self.store, tables => tables.secondary.as_ref()?.marker.as_ref())
    }

    /// Whether cells take as many bits as their counts need.
    #[must_use]
    pub fn is_compact(&self) -> bool {
        matches!(self.store, Store::Compact(_))
    }

    /// Bits per cell, w; the most that one can take, 32, if they are compact.
    #[must_use]
    pub fn width(&self) -> u32 {
        each!(&self.store, tables => u32::BITS - tables.primary.top().leading_zeros())
    }

    /// Probes per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// The share of cells that are not zero.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.count_nonzero() as f64 / self.cells() as f64
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// Cells at their top, which have lost count and stay.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        each!(&self.store, tables => tables.saturated())
    }

    fn count_nonzero(&self) -> u64 {
        each!(&self.store, tables => tables.primary.nonzero())
    }

    /// Memory used by cells and marker, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        each!(&self.store, tables => tables.bytes())
    }

    /// The probability, as the filter is now, that an absent key is found, and that a count by
    /// minimum selection is wrong. From the fill and scheme; cells of small filters are counted, as
    /// in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let table = (self.cells(), self.count_nonzero());
        each!(&self.store, tables => stated_fpp(&self.scheme, table, 1, |at| tables.primary.get(at) > 0))
    }

    /// The number of distinct keys in the filter, estimated from the fill, with its standard error.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        estimate_items(self.cells(), self.hashes(), self.count_nonzero())
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Spectral,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.cells(),
            width: self.width(),
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind. Compact cells are checked on
    /// the way.
    pub fn try_to_owned(&self) -> Result<SpectralBloom<P>, DecodeError> {
        let store = match &self.store {
            Store::Plain(tables) => Store::Plain(tables.copy()?),
            Store::Compact(tables) => Store::Compact(tables.copy()?),
        };
        let Self { hasher, scheme, policy, about, .. } = self;
        Ok(SpectralBloom {
            hasher: hasher.clone(),
            scheme: *scheme,
            policy: *policy,
            store,
            about: about.clone(),
        })
    }

    /// The same filter with its algorithm as a number, as [`AnyFilter`](crate::AnyFilter) holds it.
    #[must_use]
    pub fn into_any(self) -> SpectralBloom<PolicyId, M> {
        let Self { hasher, scheme, policy, store, about } = self;
        SpectralBloom { hasher, scheme, policy: policy.id(), store, about }
    }
}

impl<P: Policy, M: Memory> fmt::Debug for SpectralBloom<P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("SpectralBloom");
        debug.field("policy", &self.policy.id()).field("hasher", &self.hasher).field("scheme", &self.scheme);
        each!(&self.store, tables => {
            debug.field("primary", &tables.primary);
            tables.secondary.iter().for_each(|secondary| _ = debug.field("secondary", &secondary.cells));
        });
        debug.field("marker", &self.marker().map(|marker| &marker.bits)).finish()
    }
}

/// Equal in identity, algorithm and cells: the same answer to every key. What they were planned for
/// does not count.
impl<P: Policy, Q: Policy, M: Memory, N: Memory> PartialEq<SpectralBloom<Q, N>> for SpectralBloom<P, M> {
    fn eq(&self, other: &SpectralBloom<Q, N>) -> bool {
        self.identity() == other.identity()
            && self.policy.id() == other.policy.id()
            && self.store == other.store
    }
}

impl<P: Policy, M: Memory> Explain for SpectralBloom<P, M> {
    fn tables(&self) -> Vec<CellTable> {
        each!(&self.store, tables => tables.tables())
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        each!(&self.store, tables => tables.cell(table, at))
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        each!(&self.store, tables => tables.look(&self.scheme, digest, seen));
    }
}

filter_impl!([P: Policy, M: Memory] SpectralBloom<P, M>);
insert_impl!([P: Policy] SpectralBloom<P>);
count_impl!([P: Policy, M: Memory] SpectralBloom<P, M>, filter: most u64::MAX >> (64 - filter.identity().width), saturated filter.saturated());
remove_impl!([P: Reversible] SpectralBloom<P>);

impl Merge for SpectralBloom {
    /// Adds the counts of `other`, stopping at the top.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.add_all(other)
    }
}
