//! The cuckoo filter: fingerprints in one of two buckets, which can be removed again.
//!
//! A key is stored as a short fingerprint in a bucket of four places, or in its other bucket. The
//! other bucket follows from the bucket and the fingerprint alone, so that a stored fingerprint can
//! be moved to its other bucket when both buckets of a new key are full.
//!
//! The subtle rules: the other bucket of i is h − i modulo m, where h is a hash of the fingerprint.
//! That is its own inverse for every m, so m need not be a power of two and the filter is as large
//! as was asked for. m is even and h odd, so that the two buckets always differ. And nothing moves
//! before a way to a free place is known: the nearest one is found by searching breadth first,
//! which needs no random numbers, and an insertion that fails leaves every bit as it was. The
//! nearest way visits no bucket twice: a visit could be cut out.
//!
//! Sources: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than
//! Bloom" (2014). The search is that of Li, Andersen, Kaminsky and Freedman, "Algorithmic
//! Improvements for Fast Concurrent Cuckoo Hashing" (2014), section 4.3.2.

use crate::cells::{Buckets, Bytes, Four, Memory, Owned, SLOTS, bucket_bytes, by_width};
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, ForItems, ForRate, InCells};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{count_impl, filter_impl, remove_impl, try_insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::MAX_CELLS;
use crate::index::scale;
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead, with_best};
use crate::spec::{FromSpec, Measure, Spec};
use crate::theory::bloom::Estimate;
use crate::theory::cuckoo::{self, CuckooShape};
use crate::{DecodeError, EncodeError, Full, RemoveError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A filter of fingerprints: counts and removes keys, and can be full.
///
/// ```
/// let mut filter = gardenia::Cuckoo::new(1_000, 0.01)?;
/// assert_eq!(filter.insert("rose"), Ok(true));
/// assert!(filter.contains("rose") && !filter.contains("tulip"));
/// filter.remove("rose").unwrap();
/// assert!(!filter.contains("rose") && filter.remove("rose").is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// A key can be inserted several times, up to [`MAX_COPIES`](Self::MAX_COPIES), and is counted.
/// Each copy takes a place, and keys with more than four copies block whole buckets: make room for
/// every copy, use [`insert_absent`](Self::insert_absent) if keys are never removed, or a
/// [`CountingBloom`](crate::CountingBloom).
///
/// There is no merge: the sum may not fit.
///
/// ```compile_fail,E0599
/// use gardenia::Merge;
/// let mut filter = gardenia::Cuckoo::new(1_000, 0.01).unwrap();
/// filter.merge(&filter.clone());
/// ```
#[derive(Clone)]
pub struct Cuckoo<M = Owned> {
    hasher: KeyHasher,
    buckets: Buckets<M>,
    items: u64,
    about: About,
}

#[derive(Clone, Debug, Default)]
pub struct CuckooOptions {
    width: Option<u32>,
}

impl Built for Cuckoo {
    type Options = CuckooOptions;
}
impl ForItems for Cuckoo {}
impl ForRate for Cuckoo {}
impl InCells for Cuckoo {}

impl Builder<Cuckoo> {
    /// Bits of a fingerprint, 4 to 32. Below six, large filters are full early: too few buckets can
    /// be reached.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = Some(width);
        self
    }

    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<CuckooShape, SizeError> {
        let Request { items, fpp, cells, .. } = self.request;
        let width = self.options.width;
        let (buckets, width) = match (items, fpp, cells, width) {
            (Some(items), Some(fpp), None, None) => return cuckoo::shape(items, fpp),
            (Some(0), None, None, Some(_)) => return Err(SizeError::ZeroItems),
            (Some(items), None, None, Some(width)) => (cuckoo::buckets(items), width),
            (_, None, Some(0), Some(_)) => return Err(SizeError::ZeroCells),
            (_, None, Some(cells), Some(width)) => (cells.div_ceil(SLOTS).max(2), width),
            _ => {
                return Err(SizeError::Conflict(
                    "give items and fpp, or items and width, or cells and width",
                ));
            }
        };
        if buckets > MAX_CELLS / SLOTS {
            return Err(SizeError::TooManyCells { cells: buckets.saturating_mul(SLOTS), max: MAX_CELLS });
        }
        Ok(CuckooShape { buckets: buckets.next_multiple_of(2), width })
    }

    /// The filter.
    pub fn build(self) -> Result<Cuckoo, SizeError> {
        let shape = self.shape()?;
        let buckets = Buckets::new(shape.buckets, shape.width)?;
        let about = match self.request.items {
            Some(items) => {
                let rate = || cuckoo::fpp(shape.cells(), items.min(shape.cells()), shape.width);
                About::planned(items, self.request.fpp.unwrap_or_else(rate))
            }
            None => About::default(),
        };
        Ok(Cuckoo { hasher: self.request.hasher, buckets, items: 0, about })
    }
}

/// A key's fingerprint and its two buckets.
#[derive(Clone, Copy)]
struct Place {
    fingerprint: u32,
    first: u64,
    second: u64,
}

/// What makes places of digests.
#[derive(Clone, Copy)]
struct Places {
    buckets: u64,
    half: u64,
    /// The largest fingerprint.
    top: u64,
}

impl Places {
    #[inline(always)]
    fn of(self, digest: Digest) -> Place {
        // The bucket is the digest's upper end, the fingerprint comes from a product that depends on all of it.
        let word = digest.0.wrapping_mul(FINGERPRINT) >> 32;
        let fingerprint = 1 + ((word * self.top) >> 32) as u32;
        let first = scale(digest.0, self.buckets);
        Place { fingerprint, first, second: self.other(first, fingerprint) }
    }

    /// The other bucket of a fingerprint that is in `bucket`: its own inverse, and never the same.
    #[inline(always)]
    fn other(self, bucket: u64, fingerprint: u32) -> u64 {
        let word = u64::from(fingerprint).wrapping_mul(fingerprint.into()).wrapping_mul(FINGERPRINT);
        let odd = scale(word, self.half) * 2 + 1;
        let difference = odd.wrapping_sub(bucket);
        difference.min(difference.wrapping_add(self.buckets)) // below 0 it has wrapped
    }
}

/// An odd number with bits all over it (from SplitMix64).
const FINGERPRINT: u64 = 0x94d0_49bb_1331_11eb;

/// Buckets of the first and of the second search: the two of the key, 4 for each of them, and so on
/// through 2 and 5 generations. The first is nearly always enough, and clearing room for it costs
/// little.
const NEAR: usize = 2 + 8 + 32;
const FAR: usize = NEAR + 128 + 512 + 2048;

impl Cuckoo {
    /// How often one key fits: once for each place of its two buckets.
    pub const MAX_COPIES: u64 = 2 * SLOTS;

    /// A filter for `items` keys at a false-positive probability of at most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose places, width, seed, secret.
    ///
    /// ```
    /// let filter = gardenia::Cuckoo::builder().cells(1_000).width(12).seed(7).build()?;
    /// assert_eq!((filter.cells(), filter.width()), (1_000, 12));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<Cuckoo> {
        Builder::new(CuckooOptions::default())
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
    /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
    ///
    /// Only remove what was inserted: a false positive passes the check, and removing it can hide a
    /// key that is in.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> Result<(), RemoveError> {
        self.remove_digest(self.hasher.digest_key(&key))
    }

    /// Adds the key with this digest; true if it was certainly absent before. If there is no room
    /// for it, nothing has changed.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        by_width!(self.put(digest))
    }

    /// Adds digests in order, up to the first that does not fit; `new` receives for each whether it
    /// was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) -> Result<(), Full> {
        with_best(|| by_width!(self.put_each(digests, new, false))).map(|_| ())
    }

    /// As [`insert_digests`](Self::insert_digests), but leaves out copies beyond
    /// [`MAX_COPIES`](Self::MAX_COPIES) of a key and goes on: how many were left out. Stops at the
    /// first key that does not fit for another reason; the error's `taken` then counts the digests
    /// before it.
    ///
    /// ```
    /// let mut filter = gardenia::Cuckoo::new(1_000, 0.01)?;
    /// let [rose, tulip] = ["rose", "tulip"].map(|key| filter.hasher().digest_key(&key));
    /// let digests = [[rose; 10].as_slice(), &[tulip]].concat();
    /// assert_eq!(filter.insert_digests_capped(&digests, &mut [false; 11]), Ok(2));
    /// assert_eq!((filter.count("rose"), filter.count("tulip")), (8, 1));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests_capped(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<u64, Full> {
        assert_eq!(digests.len(), new.len(), "one answer per digest");
        let (digests, new) = (Given(digests), &mut Bools(new));
        with_best(|| by_width!(self.put_each(digests, new, true)))
    }

    /// Adds `key` unless it seems to be in already; true if it was added.
    ///
    /// For sets that keys are not removed from: a key that is skipped, because another has its
    /// fingerprint, would go with that one.
    ///
    /// ```
    /// let mut filter = gardenia::Cuckoo::new(1_000, 0.01)?;
    /// assert_eq!((filter.insert_absent("rose"), filter.insert_absent("rose")), (Ok(true), Ok(false)));
    /// assert_eq!(filter.items(), 1);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn insert_absent(&mut self, key: impl crate::Key) -> Result<bool, Full> {
        self.about.took_key(&key);
        let digest = self.hasher.digest_key(&key);
        if self.contains_digest(digest) { Ok(false) } else { self.insert_digest(digest) }
    }

    /// Removes the key with this digest once. If it is absent, nothing changes.
    #[inline]
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        by_width!(self.take(digest))
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.buckets.clear();
        self.items = 0;
        self.about.forget();
    }

    /// Adds digests in order, and tells how many were left out: copies beyond the most, if
    /// `capped`.
    #[inline(always)]
    fn put_each<F: Four>(
        &mut self,
        digests: impl Source,
        new: &mut impl Sink,
        capped: bool,
    ) -> Result<u64, Full> {
        let (places, lines) = (self.places(), self.buckets.lines());
        let far = ahead::is_far(self.buckets.memory().words());
        let (mut taken, mut left_out, mut full) = (0, 0, None);
        let fetch = |digest| {
            let place = places.of(digest);
            lines.prefetch(place.first);
            lines.prefetch(place.second);
        };
        let ask = |digest| {
            if full.is_some() {
                return false;
            }
            let added = self.put::<F>(digest);
            match added {
                Err(Full { copies, .. }) if !(copies && capped) => full = Some(Full { taken, copies }),
                _ => taken += 1,
            }
            left_out += u64::from(added.is_err());
            added == Ok(true)
        };
        digests.each::<{ ahead::TWO_LINES }>(far, fetch, ask, new);
        full.map_or(Ok(left_out), Err)
    }

    #[inline(always)]
    fn put<F: Four>(&mut self, digest: Digest) -> Result<bool, Full> {
        let Place { fingerprint, first, second } = self.places().of(digest);
        let layout = self.buckets.layout();
        let (one, two) = (self.buckets.read::<F>(first), self.buckets.read::<F>(second));
        let new = !one.equal(fingerprint, layout).or(two.equal(fingerprint, layout)).any();
        // Places are filled from the lower end: the bucket whose first free one is lower has more of them, and
        // taking that keeps loads even, so that fewer keys must be moved later.
        let (free_one, free_two) = (one.equal(0, layout), two.equal(0, layout));
        let (bucket, high) = if free_one.or(free_two).any() {
            let (high_one, high_two) = (free_one.first(), free_two.first());
            let other = high_two < high_one;
            (
                core::hint::select_unpredictable(other, second, first),
                core::hint::select_unpredictable(other, high_two, high_one),
            )
        } else {
            self.make_room::<F>(fingerprint, first, second)?
        };
        self.buckets.flip::<F>(bucket, high, fingerprint);
        self.items += 1;
        Ok(new)
    }

    /// Moves fingerprints until `first` or `second`, which are full, has a free place: its bucket
    /// and highest bit. If both hold nothing but `fingerprint`, none of them can move.
    #[cold]
    #[inline(never)]
    fn make_room<F: Four>(&mut self, fingerprint: u32, first: u64, second: u64) -> Result<(u64, u32), Full> {
        if self.copies::<F>(fingerprint, first, second) == Self::MAX_COPIES {
            return Err(Full { taken: 0, copies: true });
        }
        let near = self.search::<F, NEAR>(first, second);
        near.or_else(|| self.search::<F, FAR>(first, second)).ok_or(Full { taken: 0, copies: false })
    }

    /// [`make_room`](Self::make_room) among `N` buckets; `None`, and nothing has changed, if that
    /// is not enough.
    fn search<F: Four, const N: usize>(&mut self, first: u64, second: u64) -> Option<(u64, u32)> {
        let (places, layout, width) = (self.places(), self.buckets.layout(), self.buckets.width());
        // The children of bucket i of the queue are at 4i + 2 and the three places behind it, one for each of its
        // fingerprints.
        let mut queue = [0; N];
        (queue[0], queue[1]) = (first, second);
        for head in 0..(N - 2) / 4 {
            let four = self.buckets.read::<F>(queue[head]);
            let children = 4 * head + 2;
            let mut free = [four; 4];
            for slot in 0..4 {
                let other = places.other(queue[head], four.get(slot as u32, layout));
                queue[children + slot] = other;
                free[slot] = self.buckets.read::<F>(other).equal(0, layout);
            }
            let Some(slot) = (0..4).find(|slot| free[*slot].any()) else { continue };
            // Back along the way: each fingerprint goes to the place that is free, and leaves its own.
            let (mut at, mut high) = (children + slot, free[slot].first());
            while at >= 2 {
                let (parent, slot) = ((at - 2) / 4, ((at - 2) % 4) as u32);
                let moved = self.buckets.read::<F>(queue[parent]).get(slot, layout);
                self.buckets.flip::<F>(queue[at], high, moved);
                (at, high) = (parent, slot * width + width - 1);
                self.buckets.flip::<F>(queue[at], high, moved);
            }
            return Some((queue[at], high));
        }
        None
    }

    #[inline(always)]
    fn take<F: Four>(&mut self, digest: Digest) -> Result<(), RemoveError> {
        let Place { fingerprint, first, second } = self.places().of(digest);
        let layout = self.buckets.layout();
        let one = self.buckets.read::<F>(first).equal(fingerprint, layout);
        let two = self.buckets.read::<F>(second).equal(fingerprint, layout);
        if !one.or(two).any() {
            return Err(RemoveError::Absent);
        }
        let bucket = core::hint::select_unpredictable(one.any(), first, second);
        let high = core::hint::select_unpredictable(one.any(), one.first(), two.first());
        self.buckets.flip::<F>(bucket, high, fingerprint);
        self.items -= 1;
        Ok(())
    }
}

impl<M: Memory> Cuckoo<M> {
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
    /// How often `key` went in, less how often it was removed: never too little.
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

    #[inline(always)]
    fn places(&self) -> Places {
        let top = u64::from(u32::MAX >> (32 - self.buckets.width()));
        Places { buckets: self.buckets.len(), half: self.buckets.len() / 2, top }
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        by_width!(self.find(digest))
    }

    /// The count of the key with this digest: of all fingerprints like its own in its buckets.
    #[inline]
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        by_width!(self.tell(digest))
    }

    #[inline(always)]
    fn find<F: Four>(&self, digest: Digest) -> bool {
        let Place { fingerprint, first, second } = self.places().of(digest);
        let layout = self.buckets.layout();
        let one = self.buckets.read::<F>(first).equal(fingerprint, layout);
        one.or(self.buckets.read::<F>(second).equal(fingerprint, layout)).any()
    }

    #[inline(always)]
    fn tell<F: Four>(&self, digest: Digest) -> u64 {
        let Place { fingerprint, first, second } = self.places().of(digest);
        self.copies::<F>(fingerprint, first, second)
    }

    /// How often two buckets hold a fingerprint.
    #[inline(always)]
    fn copies<F: Four>(&self, fingerprint: u32, first: u64, second: u64) -> u64 {
        let count =
            |bucket| self.buckets.read::<F>(bucket).all_equal(fingerprint, self.buckets.layout()).count();
        (count(first) + count(second)).into()
    }

    /// Visits digests in order with their lines asked for ahead.
    #[inline(always)]
    fn ask_each(&self, digests: impl Source, ask: impl FnMut(Digest) -> bool, answers: &mut impl Sink) {
        let places = self.places();
        let fetch = |digest| {
            let place = places.of(digest);
            self.buckets.prefetch(place.first);
            self.buckets.prefetch(place.second);
        };
        digests.each::<{ ahead::TWO_LINES }>(
            ahead::is_far(self.buckets.memory().words()),
            fetch,
            ask,
            answers,
        );
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        with_best(|| by_width!(self.find_each(digests, answers)));
    }

    #[inline(always)]
    fn find_each<F: Four>(&self, digests: impl Source, answers: &mut impl Sink) {
        self.ask_each(digests, |digest| self.find::<F>(digest), answers);
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        let take = |digest| {
            counts.by_ref().take(1).for_each(|count| *count = self.count_digest(digest));
            false
        };
        self.ask_each(digests, take, &mut 0);
    }

    filter_facts!();

    /// Places for fingerprints: four in each bucket.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.buckets.len() * SLOTS
    }

    /// Bits of a fingerprint.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.buckets.width()
    }

    /// The number of keys in the filter, counting every copy.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The share of places that are taken: the load.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.items as f64 / self.cells() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The false-positive probability as the filter is now, from its load; an upper bound if keys
    /// have copies, which add no fingerprint that another key could be taken for.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        cuckoo::fpp(self.cells(), self.items, self.width())
    }

    /// The number of keys in the filter, every copy included: counted, not estimated.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.items as f64, std_error: 0.0 }
    }

    /// Memory used by the buckets, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.buckets.memory().words() * 8
    }

    /// Hasher and shape. Its cells are the places for fingerprints; a key has two buckets of them.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Cuckoo,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: 2,
            cells: self.cells(),
            width: self.width(),
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<Cuckoo, SizeError> {
        let mut buckets = Buckets::new(self.buckets.len(), self.width())?;
        buckets.copy_from(&self.buckets);
        Ok(Cuckoo { hasher: self.hasher.clone(), buckets, items: self.items, about: self.about.clone() })
    }
}

impl<M: Memory> fmt::Debug for Cuckoo<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cells, width, items) = (self.cells(), self.width(), self.items);
        f.debug_struct("Cuckoo")
            .field("hasher", &self.hasher)
            .field("cells", &cells)
            .field("width", &width)
            .field("items", &items)
            .finish()
    }
}

/// Equal in identity and places, bit for bit. The same keys put in in another order may lie in
/// other places.
impl<M: Memory, N: Memory> PartialEq<Cuckoo<N>> for Cuckoo<M> {
    fn eq(&self, other: &Cuckoo<N>) -> bool {
        self.identity() == other.identity() && self.items == other.items && self.buckets == other.buckets
    }
}

impl<M: Memory> Explain for Cuckoo<M> {
    fn tables(&self) -> Vec<CellTable> {
        let (cells, width) = (self.buckets.len() * SLOTS, self.buckets.width());
        vec![CellTable::new("buckets", Holds::Fingerprints, cells, width).together(SLOTS)]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        let bucket = self.buckets.read::<u128>(at / SLOTS);
        bucket.get((at % SLOTS) as u32, self.buckets.layout()).into()
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        let Place { fingerprint, first, second } = self.places().of(digest);
        seen.fingerprint = Some(fingerprint.into());
        for (group, bucket) in [first, second].into_iter().enumerate() {
            seen.add(0, group, bucket * SLOTS..(bucket + 1) * SLOTS);
        }
    }
    fn agrees(&self, value: u64, fingerprint: Option<u64>) -> Option<bool> {
        Some(Some(value) == fingerprint)
    }
}

filter_impl!([M: Memory] Cuckoo<M>);
try_insert_impl!([] Cuckoo);
count_impl!([M: Memory] Cuckoo<M>, filter: most { let _ = filter; Cuckoo::MAX_COPIES }, saturated { let _ = filter; 0 });
remove_impl!([] Cuckoo);

impl<M: Memory> Stored for Cuckoo<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items: self.items, ..header })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.buckets.memory()]
    }
}

/// The parts of a stored filter other than its buckets, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, CuckooShape, About), DecodeError> {
    header.check_kind(Kind::Cuckoo)?;
    header.check_no_scheme()?;
    header.check_params(&[])?;
    let Identity { cells, width, hashes, .. } = header.identity;
    DecodeError::check("hashes", hashes.into(), hashes == 2, "a key has two buckets")?;
    DecodeError::check("cells", cells, cells.is_multiple_of(2 * SLOTS), "a multiple of 8 is needed")?;
    DecodeError::check(
        "items counted",
        header.items,
        header.items <= cells,
        "they are more than the places for them",
    )?;
    let shape = CuckooShape { buckets: cells / SLOTS, width };
    let needed = bucket_bytes(shape.buckets, width);
    DecodeError::check("cell width", width.into(), needed.is_some(), "fingerprints have 4 to 32 bits")?;
    header.check_payload(needed.unwrap_or(0))?;
    Ok((header.hasher(options)?, shape, header.about()))
}

impl format::Restore for Cuckoo {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, shape, about) = restore(header, options)?;
        Ok(Self { hasher, buckets: Buckets::new(shape.buckets, shape.width)?, items: header.items, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.buckets.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.buckets.check_tail()?;
        match self.buckets.count() == self.items {
            true => Ok(()),
            false => Err(DecodeError::Damaged("the header counts other items than there are fingerprints")),
        }
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for Cuckoo<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, shape, about) = restore(header, options)?;
        let buckets = Buckets::borrowed(payload, shape.buckets, shape.width)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        Ok(Self { hasher, buckets, items: header.items, about })
    }
}

format::stored_methods!(Cuckoo<M> where M: Memory);
format::read_methods!(Cuckoo);
format::serde_impls!([M: Memory] Cuckoo<M>, [] Cuckoo);

impl Builder<Cuckoo> {
    fn of(spec: &Spec) -> Self {
        let (request, width) = super::requested(spec);
        Self { request, options: CuckooOptions { width } }
    }
}

impl FromSpec for Cuckoo {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        // Copies of a key crowd its two buckets.
        let room = cuckoo::room(0, goal.need.insertions(0).1).is_some();
        let design = || sizes::cuckoo_design(goal.need, goal.items, goal.fpp, goal.within);
        if room { goal.if_able(kind, design) } else { Vec::new() }
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<Cuckoo>::of(spec);
        let shape = builder.shape()?;
        super::fill_in(spec, builder.request.fpp, shape.cells(), shape.width);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let shape = Builder::<Cuckoo>::of(spec).shape()?;
        let (cells, width) = (shape.cells(), shape.width);
        let bytes = bucket_bytes(shape.buckets, width).ok_or(SizeError::Width { width })?;
        Ok(Measure::as_stored(bytes, 0, spec.rate(|items| cuckoo::fpp(cells, items.min(cells), width))))
    }
    fn bound(spec: &Spec, _: f64, _: f64) -> Result<f64, SizeError> {
        let items = spec.planned_items();
        Ok(sizes::cuckoo_bound(Builder::<Cuckoo>::of(spec).shape()?, items) + sizes::floor(items))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<Cuckoo>::of(spec).build()
    }
}
