//! The filter that grows in place: one table for any number of keys, with removal, and never above
//! the rate that was asked for.
//!
//! Fingerprints lie in pages that split one by one (`cells/pages.rs`). When a page splits, each
//! fingerprint gives one bit to its address; new keys have fingerprints of full length. Old keys,
//! whose fingerprints are short, are few beside those that came since, so that each doubling adds
//! the same small share to the rate (`theory/infini.rs`). A query reads one bucket of one page,
//! however large the filter is.
//!
//! The subtle rules: each copy of a key takes a slot of its own, or removing one of two keys with
//! one fingerprint would lose the other. Removal takes the longest fingerprint that matches. And a
//! fingerprint that has given all its bits away matches its whole bucket, and is copied when that
//! splits; removing its key takes one of the copies, and the others stay.
//!
//! Two such filters are not merged: what their keys gave away is lost, so that the rates would add
//! up.
//!
//! Sources: Dayan, Bercea, Reviriego and Pagh, "InfiniFilter: Expanding Filters to Infinity and
//! Beyond" (2023); Dayan, Bercea and Pagh, "Aleph Filter: To Infinity in Constant Time" (2024), for
//! the copies; Fagin, Nievergelt, Pippenger and Strong, "Extendible Hashing" (1979), for the pages.

use crate::cells::pages::{HEAD, NoRoom, Pages, Unread};
use crate::cells::{Memory, Owned};
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, ForItems, ForRate};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{count_impl, filter_impl, remove_impl, try_insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Cut, Header, Kind, ReadOptions, Section, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value};
use crate::theory::bloom::Estimate;
use crate::theory::infini::{BUCKETS, Rule};
use crate::{DecodeError, EncodeError, Full, RemoveError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A filter that grows in place, for any number of keys, with removal: fingerprints in pages that
/// split one by one.
///
/// ```
/// let mut filter = gardenia::InfiniFilter::new(0.01)?;
/// for key in 0..20_000u32 {
///     filter.insert(key).unwrap();
/// }
/// assert!((0..20_000u32).all(|key| filter.contains(key)));
/// assert!(filter.fpp() <= 0.01 && filter.memory_bytes() * 8 < 20 * 20_000);
/// filter.remove(7u32).unwrap();
/// assert_eq!(filter.items(), 19_999);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Each copy of a key takes room of its own. There is no merge: of early keys only a few bits are
/// left.
///
/// ```compile_fail,E0599
/// let mut filter = gardenia::InfiniFilter::new(0.01).unwrap();
/// filter.merge(&filter.clone());
/// ```
#[derive(Clone)]
pub struct InfiniFilter {
    hasher: KeyHasher,
    rule: Rule,
    table: Table,
    items: u64,
    about: About,
}

/// Keys whose pages are fetched at a time: as many as a mask of answers holds.
const GROUP: usize = 64;

/// Fingerprints of 15 or of 31 bits.
#[derive(Clone, PartialEq)]
enum Table {
    Short(Pages<u16>),
    Long(Pages<u32>),
}

/// Does the same with pages of either width.
macro_rules! each {
    ($table:expr, $pages:ident => $work:expr) => {
        match $table {
            Table::Short($pages) => $work,
            Table::Long($pages) => $work,
        }
    };
}

impl Table {
    fn new(rule: &Rule) -> Result<Self, SizeError> {
        let table = if rule.width == 16 {
            Pages::new(rule).map(Self::Short)
        } else {
            Pages::new(rule).map(Self::Long)
        };
        table.map_err(|_| SizeError::Memory { bytes: first_bytes(rule) })
    }
}

/// Bytes of a filter without keys.
fn first_bytes(rule: &Rule) -> u64 {
    if rule.width == 16 { Pages::<u16>::first_bytes(rule) } else { Pages::<u32>::first_bytes(rule) }
}

impl From<NoRoom> for Full {
    fn from(error: NoRoom) -> Self {
        Self { taken: 0, copies: error == NoRoom::Copies }
    }
}

#[derive(Clone, Debug, Default)]
pub struct InfiniFilterOptions {
    max: Option<u64>,
}

impl Built for InfiniFilter {
    type Options = InfiniFilterOptions;
}
impl ForItems for InfiniFilter {}
impl ForRate for InfiniFilter {}

impl Builder<InfiniFilter> {
    /// The most keys that will come. Then the rate is shared among as many doublings as lead there,
    /// and fingerprints need not be made for any number: where the rate is low, that saves memory.
    /// More keys are accepted, but the rate is not kept.
    ///
    /// ```
    /// let bits = |builder: gardenia::Builder<gardenia::InfiniFilter>| builder.items(100_000).fpp(0.001).build().unwrap().width();
    /// let any = gardenia::InfiniFilter::builder();
    /// assert_eq!((bits(any.clone()), bits(any.max(1_000_000))), (32, 16));
    /// ```
    pub fn max(mut self, max: u64) -> Self {
        self.options.max = Some(max);
        self
    }

    /// How the filter will grow, before any memory is taken.
    pub fn rule(&self) -> Result<Rule, SizeError> {
        let fpp =
            self.request.fpp.ok_or(SizeError::Conflict("give fpp: the rate that is kept at every size"))?;
        Rule::new(fpp, self.request.items.unwrap_or(1), self.options.max)
    }

    /// The filter.
    pub fn build(self) -> Result<InfiniFilter, SizeError> {
        let rule = self.rule()?;
        let about = About::planned(self.request.items.unwrap_or(0), rule.fpp);
        Ok(InfiniFilter { hasher: self.request.hasher, rule, table: Table::new(&rule)?, items: 0, about })
    }
}

impl InfiniFilter {
    /// A filter that keeps a false-positive probability of at most `fpp` for any number of keys.
    pub fn new(fpp: f64) -> Result<Self, SizeError> {
        Self::builder().fpp(fpp).build()
    }

    /// A builder, to choose the first size, the most keys, seed, secret.
    ///
    /// ```
    /// let filter = gardenia::InfiniFilter::builder().fpp(0.01).items(1_000_000).seed(7).build()?;
    /// assert!(filter.pages() > 1_000 && filter.is_empty());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<InfiniFilter> {
        Builder::new(InfiniFilterOptions::default())
    }

    /// Adds `key`; true if it was certainly absent before. If there is no room for it, nothing has
    /// changed.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Full> {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before. Stops at
    /// the first that does not fit: the error says how many were added.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<u64, Full> {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count)?;
        Ok(count)
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before. Stops at the first that does not fit: the error says how many were added.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<(), Full> {
        self.insert_each(Given(digests), &mut Bools::of(digests, new))
    }

    /// As [`insert_digests`](Self::insert_digests), but leaves out copies of a key beyond some
    /// 57,000, so that there is room for other keys, and goes on: how many were left out.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub(crate) fn insert_digests_capped(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
    ) -> Result<u64, Full> {
        self.add_each::<true>(Given(digests), &mut Bools::of(digests, new), true)
    }

    /// Adds the key with this digest; true if it was certainly absent before. It is full, and
    /// nothing has changed, only if memory cannot be had, or if it holds tens of thousands of
    /// copies of the key.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        let found = each!(&mut self.table, pages => {
            let found = pages.contains(digest.0);
            pages.insert(digest.0, &self.rule)?;
            found
        });
        self.items += 1;
        Ok(!found)
    }

    /// Adds those of the keys with these digests, in order, that are certainly absent, and reports
    /// for each whether it was. Stops at the first that does not fit: the error tells how many were
    /// looked at.
    ///
    /// For a set that is never removed from: keys that occur again take no room, and neither does a
    /// false positive. Removing that, or the key that it was taken for, would lose both.
    ///
    /// ```
    /// let mut seen = gardenia::InfiniFilter::new(0.01)?;
    /// let digests = ["rose", "tulip", "rose"].map(|key| seen.hasher().digest_key(&key));
    /// let mut new = [false; 3];
    /// seen.insert_absent_digests(&digests, &mut new).unwrap();
    /// assert_eq!((new, seen.items()), ([true, true, false], 2));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_absent_digests(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<(), Full> {
        self.add_each::<false>(Given(digests), &mut Bools::of(digests, new), false).map(|_| ())
    }

    /// Adds digests in order, up to the first that does not fit; `new` receives for each whether it
    /// was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) -> Result<(), Full> {
        self.add_each::<true>(digests, new, false).map(|_| ())
    }

    /// The same, with keys that are found or without them; how many copies were left out, if
    /// `capped`.
    fn add_each<const AGAIN: bool>(
        &mut self,
        digests: impl Source,
        new: &mut impl Sink,
        capped: bool,
    ) -> Result<u64, Full> {
        let (rule, far) = (self.rule, self.is_far());
        let (mut taken, mut items, mut left_out, mut full) = (0, 0, 0, None);
        each!(&mut self.table, pages => digests.chunks(|digests| {
            for group in digests.chunks(GROUP) {
                pages.prefetch_all(group, far);
                let mut mask = 0;
                for (at, digest) in group.iter().enumerate() {
                    if full.is_some() {
                        break;
                    }
                    let found = pages.contains(digest.0);
                    // A key that is found stays so without this copy, and others need the room.
                    if capped && found && pages.is_crowded(digest.0) {
                        left_out += 1;
                    } else if AGAIN || !found {
                        if let Err(error) = pages.insert(digest.0, &rule) {
                            full = Some(error);
                            break;
                        }
                        items += 1;
                    }
                    taken += 1;
                    mask |= u64::from(!found) << at;
                }
                new.take(mask, group.len());
            }
        }));
        self.items += items;
        full.map_or(Ok(left_out), |error| Err(Full { taken, ..error.into() }))
    }

    /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
    ///
    /// Only remove what was inserted: a false positive passes the check, and removing it can hide a
    /// key that is in.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> Result<(), RemoveError> {
        self.remove_digest(self.hasher.digest_key(&key))
    }

    /// Removes the key with this digest once. If it is not in the filter, nothing has changed.
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        // Of a key that was copied when its fingerprint ran out, copies stay when it was removed.
        if self.items == 0 || !each!(&mut self.table, pages => pages.remove(digest.0)) {
            return Err(RemoveError::Absent);
        }
        self.items -= 1;
        Ok(())
    }

    /// Forgets all keys, and frees all memory but that of the first size.
    pub fn clear(&mut self) {
        // Where there is no memory for a new table, the pages stay with nothing in them.
        match Table::new(&self.rule) {
            Ok(table) => self.table = table,
            Err(_) => each!(&mut self.table, pages => pages.clear()),
        }
        self.items = 0;
        self.about.forget();
    }

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

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        each!(&self.table, pages => pages.contains(digest.0))
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let far = self.is_far();
        each!(&self.table, pages => digests.chunks(|digests| {
            for group in digests.chunks(GROUP) {
                pages.prefetch_all(group, far);
                answers.take(pages.contains_all(group), group.len());
            }
        }));
    }

    /// How often `key` was inserted, less how often it was removed: never too little.
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

    /// The count of the key with this digest: of all fingerprints that match it.
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        each!(&self.table, pages => pages.count(digest.0))
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let (far, mut counts) = (self.is_far(), counts.iter_mut());
        each!(&self.table, pages => digests.chunks(|digests| {
            for group in digests.chunks(GROUP) {
                pages.prefetch_all(group, far);
                group.iter().zip(&mut counts).for_each(|(digest, count)| *count = pages.count(digest.0));
            }
        }));
    }

    /// Whether slots are asked for ahead.
    fn is_far(&self) -> bool {
        // From the number of keys, which is known: pages are many.
        ahead::is_far(self.items as usize / 64 * self.rule.width as usize)
    }

    filter_facts!();

    /// The rate that is kept at every size.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.rule.fpp
    }

    /// The most keys that it was made for, if a limit was given.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.rule.max
    }

    /// Bits of a slot, 16 or 32: a fingerprint of up to one bit less, and the mark that tells its
    /// length.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.rule.width
    }

    /// How many pages there are.
    #[must_use]
    pub fn pages(&self) -> usize {
        each!(&self.table, pages => pages.pages())
    }

    /// The number of keys in the filter, counting every copy.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The share of slots that are in use.
    #[must_use]
    pub fn fill(&self) -> f64 {
        each!(&self.table, pages => pages.len() as f64 / pages.slots() as f64)
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The current false-positive probability, from the lengths of all fingerprints; an upper bound
    /// if keys have copies. Reads all of them.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        each!(&self.table, pages => pages.fpp())
    }

    /// The number of keys in the filter, every copy included: counted, not estimated.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.items as f64, std_error: 0.0 }
    }

    /// Memory used by pages and directory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        each!(&self.table, pages => pages.bytes())
    }

    /// Bytes that this many more keys add at most.
    pub(crate) fn bytes_for(&self, keys: u64) -> u64 {
        each!(&self.table, pages => pages.bytes_for(keys))
    }

    /// Hasher and first shape. Its cells are the buckets of the first pages; a key has one of them.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Infini,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: 1,
            cells: (BUCKETS as u64) << self.rule.depth,
            width: self.rule.width,
        }
    }

    /// The payload: numbers of 16 bits, four to a word.
    fn words(&self) -> Result<Owned, SizeError> {
        let numbers = each!(&self.table, pages => pages.written());
        let mut words = Owned::zeroed(usize::try_from(numbers.div_ceil(4)).unwrap_or(usize::MAX))?;
        let (slots, mut at) = (words.as_mut_slice(), 0);
        let put = |number: u16| {
            slots[at / 4] |= u64::from(number) << (at % 4 * 16);
            at += 1;
        };
        each!(&self.table, pages => pages.write(put));
        Ok(words)
    }
}

impl fmt::Debug for InfiniFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InfiniFilter")
            .field("hasher", &self.hasher)
            .field("rule", &self.rule)
            .field("pages", &self.pages())
            .field("items", &self.items)
            .finish()
    }
}

/// Equal in identity, rule and fingerprints: the same answers now, and after the same insertions.
impl PartialEq for InfiniFilter {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
            && self.rule == other.rule
            && self.items == other.items
            && self.table == other.table
    }
}

impl Explain for InfiniFilter {
    fn tables(&self) -> Vec<CellTable> {
        let (slots, width) = each!(&self.table, pages => (pages.slots(), pages.width()));
        vec![CellTable::new("slots", Holds::Fingerprints, slots, width)]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        each!(&self.table, pages => pages.slot(at))
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        let (key, slots) = each!(&self.table, pages => pages.slots_of(digest.0));
        seen.fingerprint = Some(key);
        seen.add(0, 0, slots);
    }
    fn agrees(&self, value: u64, fingerprint: Option<u64>) -> Option<bool> {
        let key = fingerprint.unwrap_or_default();
        Some(each!(&self.table, pages => pages.matches(value, key)))
    }
}

filter_impl!([] InfiniFilter);
try_insert_impl!([] InfiniFilter);
count_impl!([] InfiniFilter);
remove_impl!([] InfiniFilter);

impl Stored for InfiniFilter {
    fn options(&self, spec: &mut Spec) {
        spec.set_whole(Param::Items, self.rule.items);
        spec.forget(&[Param::Fpp]);
        spec.default_to(Param::Fpp, Value::Real(self.rule.fpp));
        if let Some(max) = self.rule.max {
            spec.set_whole(Param::Max, max);
        }
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let payload = each!(&self.table, pages => pages.written()).div_ceil(4) * 8;
        let header = Header::new(self.identity(), &self.hasher, &self.about, payload)?;
        let Rule { fpp, items, max, .. } = self.rule;
        let params = [fpp.to_bits(), items, max.unwrap_or(0)];
        Ok(Header { items: self.items, ..header.with_params(&params) })
    }
    /// None is kept as it is stored: see `payload`.
    fn sections(&self) -> Vec<&dyn Memory> {
        Vec::new()
    }
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        Ok(vec![Section::Made(self.words()?)])
    }
}

impl From<Unread> for DecodeError {
    fn from(Unread(what): Unread) -> Self {
        Self::Damaged(what)
    }
}

/// What a header says, checked; nothing has been allocated.
struct Parts {
    hasher: KeyHasher,
    rule: Rule,
    items: u64,
    about: About,
}

impl Parts {
    fn new(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        header.check_kind(Kind::Infini)?;
        header.check_no_scheme()?;
        let [fpp, items, max] = header.param_words()?;
        let rule = Rule::new(f64::from_bits(fpp), items, (max > 0).then_some(max))?;
        let Identity { cells, width, hashes, .. } = header.identity;
        let check = |field, value, ok: bool, rule| {
            if ok { Ok(()) } else { Err(DecodeError::Field { field, value, rule }) }
        };
        check("hashes", hashes.into(), hashes == 1, "a key has one bucket")?;
        check("cell width", width.into(), width == rule.width, "the rate needs another")?;
        check("cells", cells, cells == (BUCKETS as u64) << rule.depth, "the first size has others")?;
        Ok(Self { hasher: header.hasher(options)?, rule, items: header.items, about: header.about() })
    }

    /// The filter with this payload.
    fn decode(
        self,
        words: impl Iterator<Item = u64>,
        options: &ReadOptions,
    ) -> Result<InfiniFilter, DecodeError> {
        let numbers: Vec<u16> =
            words.flat_map(|word| [0, 16, 32, 48].map(|shift| (word >> shift) as u16)).collect();
        let stored = numbers.len() as u64 * 2;
        let allowed = |needed: u64| {
            let (needed, max) = (needed.saturating_add(stored), options.max_bytes);
            if needed > max {
                return Err(DecodeError::TooLarge { needed, max });
            }
            let max = options.expanded(stored);
            if needed > max { Err(DecodeError::Expansion { stored, needed, max }) } else { Ok(()) }
        };
        let Self { hasher, rule, items, about } = self;
        // A payload is whole words, so that up to three numbers follow the last page.
        let table = match rule.width {
            16 => Table::Short(Pages::read(&numbers, 4, &rule, allowed)?),
            _ => Table::Long(Pages::read(&numbers, 4, &rule, allowed)?),
        };
        let slots = each!(&table, pages => pages.len());
        if items > slots {
            return Err(DecodeError::Damaged("the header counts more items than there are fingerprints"));
        }
        Ok(InfiniFilter { hasher, rule, table, items, about })
    }
}

impl format::Restore for InfiniFilter {
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        let parts = Parts::new(header, options)?;
        let mut words = Owned::zeroed(usize::try_from(header.payload_len / 8).unwrap_or(usize::MAX))?;
        fill(vec![words.as_mut_slice()])?;
        parts.decode(words.as_slice().iter().copied(), options)
    }
    /// The filter without its keys, which `read` decodes.
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let Parts { hasher, rule, about, .. } = Parts::new(header, options)?;
        Ok(Self { hasher, rule, table: Table::new(&rule)?, items: 0, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        Vec::new()
    }
    fn check(&self) -> Result<(), DecodeError> {
        Ok(())
    }
}

/// Pages that lie one behind the other cannot be asked: they are read into own memory.
impl<B: Cut> format::Attach<B> for InfiniFilter {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let words = payload.as_ref().as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        Parts::new(header, options)?.decode(words, options)
    }
}

format::stored_methods!(InfiniFilter);
format::read_methods!(InfiniFilter, decoded);
format::serde_impls!([] InfiniFilter, [] InfiniFilter);

impl Builder<InfiniFilter> {
    /// The builder that a spec describes.
    fn of(spec: &Spec) -> Self {
        let fpp = Some(spec.real(Param::Fpp).unwrap_or(DEFAULT_FPP));
        let request = Request { fpp, items: spec.whole(Param::Items), ..Request::hashed(spec) };
        Self { request, options: InfiniFilterOptions { max: spec.whole(Param::Max) } }
    }
}

impl FromSpec for InfiniFilter {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let within = goal.within.filter(|_| !goal.need.is_open());
        goal.if_able(kind, || sizes::search(goal.fpp, within, |fpp| sizes::infini_design(goal.need, fpp)))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let Rule { fpp, items, .. } = Builder::<InfiniFilter>::of(spec).rule()?;
        spec.default_to(Param::Items, Value::Whole(items));
        spec.default_to(Param::Fpp, Value::Real(fpp));
        Ok(())
    }
    /// Of the first size.
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let rule = Builder::<InfiniFilter>::of(spec).rule()?;
        // Heads, and no slots yet.
        let payload = ((HEAD << rule.depth) * 2).next_multiple_of(8);
        Ok(Measure { memory: first_bytes(&rule), params: 24, payload, fpp: Some(rule.fpp) })
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<InfiniFilter>::of(spec).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(key: u32) -> Digest {
        Digest(Digest(2023).word(key + 1))
    }

    /// Growing, shrinking and growing again: every key that is in is found, and is counted at least
    /// as often as it was inserted.
    #[test]
    fn no_key_is_lost_while_others_come_and_go() {
        for fpp in [0.5, 0.01, 0.003, 1e-6] {
            let mut filter = InfiniFilter::new(fpp).unwrap();
            let mut counts = vec![0u64; 6_000];
            for step in 0..60_000u32 {
                let random = Digest(u64::from(step)).word(3);
                let key = (random % 6_000) as u32;
                let inserts = random >> 32 & 7 < if step / 10_000 % 2 == 0 { 6 } else { 3 };
                let count = &mut counts[key as usize];
                if inserts {
                    let new = filter.insert_digest(digest(key)).unwrap();
                    assert!(*count == 0 || !new);
                    *count += 1;
                } else if *count > 0 {
                    filter.remove_digest(digest(key)).unwrap();
                    *count -= 1;
                }
                if step % 5_000 == 4_999 {
                    assert_eq!(filter.items(), counts.iter().sum::<u64>());
                    let digests: Vec<Digest> = (0..6_000).map(digest).collect();
                    let (mut found, mut counted) = (vec![false; 6_000], vec![0; 6_000]);
                    filter.contains_digests(&digests, &mut found);
                    filter.count_digests(&digests, &mut counted);
                    for (key, count) in counts.iter().enumerate() {
                        assert!(found[key] || *count == 0, "key {key} at step {step}");
                        assert!(counted[key] >= *count, "key {key} at step {step}");
                    }
                    let again = InfiniFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
                    assert!(again == filter);
                }
            }
        }
    }

    #[test]
    fn where_keys_lie_does_not_depend_on_their_order_within_a_page() {
        let of = |keys: &mut dyn Iterator<Item = u32>| {
            let mut filter = InfiniFilter::builder().fpp(0.01).items(5_000).build().unwrap();
            keys.for_each(|key| _ = filter.insert_digest(digest(key)).unwrap());
            filter
        };
        let forwards = of(&mut (0..2_000));
        assert!(forwards == of(&mut (0..2_000).rev()));
        let mut more = of(&mut (0..2_500));
        (2_000..2_500).for_each(|key| more.remove_digest(digest(key)).unwrap());
        assert!(forwards == more && forwards != of(&mut (1..2_001)));
    }

    /// 65,000 copies of one key take one page as far as it goes, and no more memory than they need.
    #[test]
    fn copies_of_one_key_end_with_an_error_and_bounded_memory() {
        let mut filter = InfiniFilter::new(0.01).unwrap();
        let full = (0..70_000).find_map(|_| filter.insert("rose").err()).unwrap();
        assert!(full.copies && filter.items() > 60_000);
        assert!(filter.memory_bytes() < 200_000, "{}", filter.memory_bytes());
        assert_eq!(filter.count("rose"), filter.items());
        let digests = ["rose", "tulip", "rose"].map(|key| filter.hasher.digest_key(&key));
        assert_eq!(filter.insert_digests_capped(&digests, &mut [false; 3]), Ok(2));
        assert!(InfiniFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap() == filter);
        while filter.remove("rose").is_ok() {}
        assert!(filter.items() == 1 && filter.contains("tulip") && filter.memory_bytes() < 20_000);
    }

    #[test]
    fn removed_memory_is_given_back() {
        let mut filter = InfiniFilter::new(0.01).unwrap();
        (0..50_000).for_each(|key| _ = filter.insert_digest(digest(key)).unwrap());
        let full = filter.memory_bytes();
        (0..50_000).for_each(|key| filter.remove_digest(digest(key)).unwrap());
        assert!(filter.is_empty() && filter.memory_bytes() < full / 2);
        filter.clear();
        assert!(filter == InfiniFilter::new(0.01).unwrap());
    }
}
