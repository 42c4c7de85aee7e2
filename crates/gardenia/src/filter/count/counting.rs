//! The counting Bloom filter: membership with removal, and counts.
//!
//! Each cell is a small counter: inserting a key raises its k cells, removing it lowers them. A
//! counter at its top is never lowered again, because a stuck cell costs at most a false positive
//! and a lowered one could cost a false negative. Removing only what was inserted, there are none.
//!
//! Source: Fan, Cao, Almeida and Broder, "Summary Cache" (2000), section V.

use super::row::{Least, LeastMany, Row, Touch, TouchMany};
use crate::cells::{Bytes, Counters, Memory, Owned, TallyMut};
use crate::error::Overflow;
use crate::filter::builder::{Built, ForItems, ForRate, InCells, Probing, Schemed};
use crate::filter::request::{Request, counter_filter_facts};
use crate::filter::verbs::{collect_impl, count_impl, filter_impl, insert_impl, remove_impl};
use crate::filter::{About, Bloom, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, Scheme};
use crate::kinds::Ability;
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::spec::{FromSpec, Measure, Param, Spec, bit_bytes, cell_bytes};
use crate::theory::bloom::{Estimate, Shape, estimate_items};
use crate::{DecodeError, EncodeError, Merge, Mismatch, RemoveError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A Bloom filter that counts keys and can remove them.
///
/// ```
/// let mut filter = gardenia::CountingBloom::new(1_000, 0.01)?;
/// assert!(filter.insert("rose") && !filter.insert("rose"));
/// assert_eq!(filter.count("rose"), 2);
/// filter.remove("rose").unwrap();
/// assert!(filter.contains("rose"));
/// filter.remove("rose").unwrap();
/// assert!(!filter.contains("rose") && filter.remove("rose").is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct CountingBloom<M = Owned> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    cells: Counters<M>,
    about: About,
}

#[derive(Clone, Debug)]
pub struct CountingBloomOptions {
    width: u32,
}

impl Built for CountingBloom {
    type Options = CountingBloomOptions;
}
impl ForItems for CountingBloom {}
impl ForRate for CountingBloom {}
impl InCells for CountingBloom {}
impl Probing for CountingBloom {}
impl Schemed for CountingBloom {}

/// What a counting filter is beside its cells.
pub(super) struct Parts {
    pub(super) hasher: KeyHasher,
    pub(super) scheme: AnyScheme,
    pub(super) about: About,
}

impl Builder<CountingBloom> {
    /// Bits per cell, 1 to 32; 4 unless set, which holds for sets. Counts up to 2^width − 2 can be
    /// lowered again.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = width;
        self
    }

    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        self.request.any_shape()
    }

    /// The filter.
    pub fn build(self) -> Result<CountingBloom, SizeError> {
        let (Parts { hasher, scheme, about }, cells) = self.parts()?;
        Ok(CountingBloom { hasher, scheme, cells: Counters::new(cells, self.options.width)?, about })
    }

    /// All but the cells, and how many of them there will be; no memory is taken.
    pub(super) fn parts(&self) -> Result<(Parts, u64), SizeError> {
        let Shape { cells, hashes } = self.shape()?;
        let scheme = AnyScheme::new(self.request.scheme, hashes);
        let about = self.request.about(|items| scheme.planned_fpp(cells, items));
        Ok((Parts { hasher: self.request.hasher.clone(), scheme, about }, cells))
    }

    /// Bits per cell.
    #[cfg(feature = "mmap")]
    pub(super) fn cell_width(&self) -> u32 {
        self.options.width
    }
}

impl CountingBloom {
    /// A filter for `items` keys at a false-positive probability of at most `fpp`, with cells of
    /// four bits.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape, width, seed, secret, scheme.
    ///
    /// ```
    /// use gardenia::index::SchemeId;
    /// use gardenia::CountingBloom;
    /// let filter = CountingBloom::builder().cells(10_000).hashes(7).width(8).scheme(SchemeId::Double).build()?;
    /// assert_eq!((filter.cells(), filter.hashes(), filter.width()), (10_000, 7, 8));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<CountingBloom> {
        Builder::new(CountingBloomOptions { width: WIDTH })
    }

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
    /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
    ///
    /// Only remove what was inserted: a false positive passes the check, and removing it can hide a
    /// key that is in.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> Result<(), RemoveError> {
        self.remove_digest(self.hasher.digest_key(&key))
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.scheme.dispatch(Touch { cells: &mut self.cells, digest, work: raise })
    }

    /// Adds digests in order; `new` receives for each whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        self.scheme.dispatch(TouchMany { cells: &mut self.cells, digests, work: raise, answers: new });
    }

    /// Adds `key` as often as `times` says; true if it was certainly absent before. If its count
    /// would reach the top of the cells, and so be lost, nothing changes.
    ///
    /// ```
    /// let mut filter = gardenia::CountingBloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.insert_times("rose", 10), Ok(true));
    /// assert_eq!(filter.insert_times("rose", 10).unwrap_err().count, 20); // four bits end at 15
    /// assert_eq!(filter.count("rose"), 10);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn insert_times(&mut self, key: impl crate::Key, times: u64) -> Result<bool, Overflow> {
        let new = self.insert_digest_times(self.hasher.digest_key(&key), times)?;
        self.about.took_key(&key);
        Ok(new)
    }

    /// [`insert_times`](Self::insert_times) of the key with this digest.
    pub fn insert_digest_times(&mut self, digest: Digest, times: u64) -> Result<bool, Overflow> {
        let work = |cells: &mut Counters, row: &Row<'_>| {
            let count = times.saturating_add(row.least().into());
            let top = u64::from(cells.top());
            if times > 0 && count >= top {
                return Err(Overflow { count, top: top - 1 });
            }
            row.raise(cells, times as u32); // below the top, so it fits
            Ok(row.least() == 0 && times > 0)
        };
        self.scheme.dispatch(Touch { cells: &mut self.cells, digest, work })
    }

    /// Takes the key with this digest out once. If that cannot be, the error says why and nothing
    /// has changed.
    #[inline]
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        self.scheme.dispatch(Touch { cells: &mut self.cells, digest, work: lower })
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.about.forget();
    }
}

/// Raises the cells of a key by one; whether it was certainly absent.
#[inline(always)]
pub(super) fn raise(cells: &mut impl TallyMut, row: &Row<'_>) -> bool {
    row.raise(cells, 1);
    row.least() == 0
}

/// Lowers the cells of a key by one, if it is in and has not lost count.
#[inline(always)]
pub(super) fn lower(cells: &mut impl TallyMut, row: &Row<'_>) -> Result<(), RemoveError> {
    match row.least() {
        0 => Err(RemoveError::Absent),
        least if least == cells.top() => Err(RemoveError::Stuck),
        _ => {
            row.lower(cells, 1);
            Ok(())
        }
    }
}

impl<M: Memory> CountingBloom<M> {
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
    /// How often `key` went in, less how often it was removed: never too little below the cells'
    /// top.
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
        self.scheme.dispatch(Least { cells: &self.cells, digest }) > 0
    }

    /// The count of the key with this digest, by minimum selection.
    #[inline]
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        self.scheme.dispatch(Least { cells: &self.cells, digest }).into()
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.scheme.dispatch(LeastMany { cells: &self.cells, digests, take: |least| least > 0, answers });
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        let take = |least| {
            counts.by_ref().take(1).for_each(|count| *count = u64::from(least));
            false
        };
        self.scheme.dispatch(LeastMany { cells: &self.cells, digests, take, answers: &mut 0 });
    }

    counter_filter_facts!();

    /// Probes per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// Cells at their top, which have lost count and stay.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.cells.count_saturated()
    }

    /// The false-positive probability as the filter is now, from its fill and scheme.
    /// Cells of small filters are counted, as in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let table = (self.cells.len(), self.cells.count_nonzero());
        stated_fpp(&self.scheme, table, 1, |at| self.cells.get(at) > 0)
    }

    /// The number of distinct keys in the filter, estimated from the fill, with its standard error.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        estimate_items(self.cells.len(), self.hashes(), self.cells.count_nonzero())
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Counting,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.cells.len(),
            width: self.cells.width(),
        }
    }

    /// The plain filter that answers the same: a bit for each cell that is not zero.
    ///
    /// ```
    /// let mut filter = gardenia::CountingBloom::new(1_000, 0.01)?;
    /// filter.insert("rose");
    /// let plain = filter.to_bloom()?;
    /// assert!(plain.contains("rose") && plain.memory_bytes() * 4 <= filter.memory_bytes() + 24);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Bloom<AnyScheme>, SizeError> {
        Ok(Bloom::from_parts(self.hasher.clone(), self.scheme, self.cells.to_bits()?, self.about.clone()))
    }

    /// A filter of these parts, which fit each other.
    #[cfg(feature = "mmap")]
    pub(super) fn from_parts(parts: Parts, cells: Counters<M>) -> Self {
        Self { hasher: parts.hasher, scheme: parts.scheme, cells, about: parts.about }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<CountingBloom, SizeError> {
        let mut cells = Counters::new(self.cells.len(), self.cells.width())?;
        cells.copy_from(&self.cells);
        Ok(CountingBloom {
            hasher: self.hasher.clone(),
            scheme: self.scheme,
            cells,
            about: self.about.clone(),
        })
    }
}

impl<M: Memory> fmt::Debug for CountingBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hasher, scheme, cells) = (&self.hasher, &self.scheme, &self.cells);
        f.debug_struct("CountingBloom")
            .field("hasher", hasher)
            .field("scheme", scheme)
            .field("cells", cells)
            .finish()
    }
}

/// Equal in identity and cells: the same answer to every key. What they were planned for does not
/// count.
impl<M: Memory, N: Memory> PartialEq<CountingBloom<N>> for CountingBloom<M> {
    fn eq(&self, other: &CountingBloom<N>) -> bool {
        self.identity() == other.identity() && self.cells == other.cells
    }
}

crate::explain::look_at_counters!([M: Memory] CountingBloom<M>, cells);

filter_impl!([M: Memory] CountingBloom<M>);
insert_impl!([] CountingBloom);
collect_impl!(CountingBloom);
count_impl!([M: Memory] CountingBloom<M>, filter: most filter.cells.top().into(), saturated filter.saturated());
remove_impl!([] CountingBloom);

impl Merge for CountingBloom {
    /// Adds the counts of `other`, stopping at the top.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        self.cells.add_all(&other.cells);
        self.about.took_all(&other.about);
        Ok(())
    }
}

impl<M: Memory> Stored for CountingBloom<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.cells.memory()]
    }
}

/// The parts of a stored filter other than its cells, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, AnyScheme, About), DecodeError> {
    header.check_kind(Kind::Counting)?;
    header.check_counters()?;
    header.check_params(&[])?;
    Ok((header.hasher(options)?, header.scheme()?, header.about()))
}

impl format::Restore for CountingBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, scheme, about) = restore(header, options)?;
        let cells = Counters::new(header.identity.cells, header.identity.width)?;
        Ok(Self { hasher, scheme, cells, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.cells.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.cells.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for CountingBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, scheme, about) = restore(header, options)?;
        let cells = Counters::borrowed(payload, header.identity.cells, header.identity.width)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        Ok(Self { hasher, scheme, cells, about })
    }
}

format::stored_methods!(CountingBloom<M> where M: Memory);
format::read_methods!(CountingBloom);
format::serde_impls!([M: Memory] CountingBloom<M>, [] CountingBloom);

/// Bits per cell, unless set.
const WIDTH: u32 = 4;

impl Builder<CountingBloom> {
    pub(super) fn of(spec: &Spec) -> Self {
        let width = spec.small(Param::Width).unwrap_or(WIDTH);
        // The size of a split filter is that of its bits.
        let bits_per_cell = if spec.kind() == Kind::Split { 1 } else { width };
        let planned_fpp = spec.real(Param::PlannedFpp);
        let request = Request { planned_fpp, ..Request::of(spec, bits_per_cell.into()) };
        Self { request, options: CountingBloomOptions { width } }
    }
}

impl FromSpec for CountingBloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let design = || sizes::counting_design(goal.need, goal.items, goal.fpp, goal.within);
        let of_use = (goal.has(Ability::Remove) || goal.has(Ability::Count)) && !goal.has(Ability::Fixed);
        if of_use { goal.if_able(kind, design) } else { Vec::new() }
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<CountingBloom>::of(spec);
        spec.fill_shape(Param::Cells, builder.shape()?);
        spec.set_whole(Param::Width, builder.options.width);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (shape, width) = (spec.shape(Param::Cells), Builder::<CountingBloom>::of(spec).options.width);
        let (counters, bits) = (cell_bytes(shape.cells, width), bit_bytes(shape.cells));
        let stored = Measure::as_stored(counters, 0, spec.bloom_rate(shape));
        match spec.kind() {
            Kind::Split => Ok(Measure { memory: bits, payload: counters.saturating_add(bits), ..stored }),
            _ => Ok(stored),
        }
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Cells), fpp, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<CountingBloom>::of(spec).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_at_its_top_is_never_lowered() {
        let mut bed = CountingBloom::builder().cells(1).hashes(1).build().unwrap();
        (0..300).for_each(|_| _ = bed.insert("rose"));
        assert_eq!(
            (bed.remove("rose"), bed.count("rose"), bed.saturated()),
            (Err(RemoveError::Stuck), 15, 1)
        );
        assert!(bed.contains("rose"));
    }

    #[test]
    fn a_removal_lowers_the_cells_that_are_not_stuck() {
        // Two cells: "rose" may stick in one of them while the other still counts.
        let mut bed = CountingBloom::builder().cells(2).hashes(9).width(2).build().unwrap();
        bed.cells.set(0, 3);
        bed.cells.set(1, 2);
        assert_eq!(bed.remove("rose"), Ok(()));
        assert_eq!((bed.cells.get(0), bed.cells.get(1)), (3, 1));
    }

    #[test]
    fn removing_an_absent_key_changes_nothing() {
        let mut bed = CountingBloom::new(1_000, 0.01).unwrap();
        bed.extend(0..500u32);
        let before = bed.clone();
        let refused = (500..10_000u32).filter(|key| bed.remove(*key) == Err(RemoveError::Absent)).count();
        assert!(refused > 9_300, "{refused}"); // the others are false positives, one in a hundred or less
        let before_count = before.cells.memory().as_slice().len();
        assert_eq!(before_count, bed.cells.memory().as_slice().len());
        let mut fresh = before.clone();
        let absent = (10_000u32..).find(|key| !fresh.contains(*key)).unwrap();
        assert_eq!(fresh.remove(absent), Err(RemoveError::Absent));
        assert_eq!(fresh, before);
    }

    #[test]
    fn a_count_that_does_not_fit_is_refused_whole() {
        let mut bed = CountingBloom::builder().cells(100).hashes(3).width(32).build().unwrap();
        assert_eq!(bed.insert_times("rose", u64::MAX).unwrap_err().count, u64::MAX);
        assert_eq!(bed.insert_times("rose", 0), Ok(false));
        assert!(!bed.contains("rose"));
        assert_eq!(bed.insert_times("rose", u64::from(u32::MAX) - 1), Ok(true));
        assert_eq!(bed.insert_times("rose", 0), Ok(false));
        assert!(bed.insert_times("rose", 1).is_err());
        assert_eq!(bed.count("rose"), u64::from(u32::MAX) - 1);
    }

    #[test]
    fn widths_that_cannot_be_are_errors() {
        for width in [0, 33, u32::MAX] {
            let builder = CountingBloom::builder().items(10).fpp(0.1).width(width);
            assert_eq!(builder.build().unwrap_err(), SizeError::Width { width });
        }
    }
}
