//! The A² filter (active–active buffering): the last keys of a stream for certain, older ones not
//! at all.
//!
//! Two Bloom filters of half the bits each. New keys go into the *active* one until it holds n_a of
//! them; then the *passive* one is cleared, and they change places. A query asks both. So the last
//! n_a distinct keys are always found, and what is more than 2·n_a keys old only by a false
//! positive. A key that is found only in the passive filter and comes again goes into the active
//! one, too: that keeps it.
//!
//! Both filters use the same positions, and their bits lie side by side: a query costs as many
//! cache lines as one of a plain filter. Several threads may share the filter; queries never wait,
//! not even while it changes places (`cells/atom.rs` holds the protocol).
//!
//! Source: Yoon, "Aging Bloom Filter with Two Active Buffers for Dynamic Sets" (2010).

use super::ask_each;
use crate::cells::atom::{Lap, Turn};
use crate::cells::{Bytes, Memory, Owned, Pair, Shared, Still, pair_bytes};
use crate::explain::{CellTable, Explain, Seen};
use crate::filter::builder::{Built, ForItems, ForRate, InBits, Probing, Schemed};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{filter_impl, insert_impl};
use crate::filter::{About, Atomic, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, Scheme, SchemeVisitor, Walk};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::ahead::{self, FIRST_OF_MORE as FIRST};
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value, cell_bytes};
use crate::theory;
use crate::theory::a2::{self, A2Shape, buffer_fpp};
use crate::theory::bloom::{self, Estimate, estimate_items};
use crate::{DecodeError, EncodeError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A filter for endless streams: finds the last [`window`](Self::window) keys for certain, and
/// forgets older ones.
///
/// ```
/// let mut seen = gardenia::A2Bloom::new(1_000, 0.01)?;
/// assert!(seen.insert("rose") && !seen.insert("rose"));
/// seen.extend(0..999u32);
/// assert!(seen.contains("rose")); // one of the last thousand
/// seen.extend(1_000..3_000u32);
/// assert!(!seen.contains("rose")); // two thousand came since
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// It cannot be merged with another, and its keys cannot be removed or counted:
///
/// ```compile_fail,E0277
/// fn merges<F: gardenia::Merge>() {}
/// merges::<gardenia::A2Bloom>();
/// ```
/// ```compile_fail,E0277
/// fn removes<F: gardenia::Remove>() {}
/// removes::<gardenia::A2Bloom>();
/// ```
/// ```compile_fail,E0277
/// fn counts<F: gardenia::Count>() {}
/// counts::<gardenia::A2Bloom>();
/// ```
pub struct A2Bloom<M = Owned> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    pair: Pair<M>,
    capacity: u64,
    turn: Turn,
    about: About,
}

/// An [`A2Bloom`] that many threads fill and query at once: `insert` needs only `&self`.
///
/// Queries never wait. A key is found by every query that begins after its insertion returned (and
/// that is synchronised with it: by a join, a channel, a lock), as long as it is one of the last
/// [`window`](A2Bloom::window) keys; also while the buffers change places. Writers of new keys take
/// turns at a latch, inside which a key's bits are set; once in [`window`](A2Bloom::window) keys it
/// is held while a buffer is cleared. Keys that are in the active buffer take no latch.
///
/// It is not stored while others may write to it: [`try_to_owned`](Self::try_to_owned) takes a copy
/// of one moment.
///
/// ```
/// let seen = gardenia::AtomicA2Bloom::new(1_000, 0.01)?;
/// std::thread::scope(|threads| {
///     for start in [0u32, 500] {
///         let seen = &seen;
///         threads.spawn(move || (start..start + 500).for_each(|key| _ = seen.insert(key)));
///     }
/// });
/// assert!((0..1000u32).all(|key| seen.contains(key)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
/// ```compile_fail,E0599
/// let seen = gardenia::AtomicA2Bloom::new(1_000, 0.01).unwrap();
/// seen.to_bytes();
/// ```
pub type AtomicA2Bloom = Atomic<A2Bloom<Shared>>;

impl Built for A2Bloom {
    type Options = ();
}
impl ForItems for A2Bloom {}
impl ForRate for A2Bloom {}
impl InBits for A2Bloom {}
impl Probing for A2Bloom {}
impl Schemed for A2Bloom {}

impl Builder<A2Bloom> {
    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<A2Shape, SizeError> {
        let Request { items, fpp, cells: bits, hashes, scheme, .. } = self.request;
        if items == Some(0) {
            return Err(SizeError::ZeroItems);
        }
        if let Some(fpp) = fpp.filter(|fpp| !(*fpp > 0.0 && *fpp < 1.0)) {
            return Err(SizeError::Fpp(fpp));
        }
        // Each buffer is a Bloom filter of half the bits and about half the rate; `cells` are those of one buffer.
        let half = Request {
            cells: bits.map(|bits| bits.div_ceil(2)),
            fpp: fpp.map(buffer_fpp),
            ..self.request.clone()
        };
        let (bloom::Shape { cells, hashes }, capacity) = match (half.cells, items, fpp, half.fpp) {
            (None, Some(items), Some(fpp), Some(budget)) => {
                let request = Request { items: Some(items_met(items, budget)), ..half };
                let of_both = |error| match error {
                    SizeError::FppBelowFloor { floor, .. } => {
                        SizeError::FppBelowFloor { fpp, floor: 2.0 * floor, items }
                    }
                    error => error,
                };
                (request.any_shape().map_err(of_both)?, items)
            }
            (_, Some(items), ..) => (half.any_shape()?, items),
            (Some(0), ..) => return Err(SizeError::ZeroCells),
            (Some(cells), None, Some(fpp), Some(budget)) => {
                let best = || Ok(a2::shape(cells.saturating_mul(2), fpp)?.hashes);
                let hashes = hashes.map_or_else(best, Ok)?;
                let shape = Request { hashes: Some(hashes), fpp: None, ..half }.any_shape()?;
                let scheme = AnyScheme::new(scheme, hashes);
                let met = scheme.capacity(shape.cells, budget) as f64;
                let above = theory::first(|items| a2::stored(shape.cells, hashes, items as f64) > met);
                (shape, above.saturating_sub(1))
            }
            _ => return Err(SizeError::Conflict("give items (the window) and fpp, or bits and one of them")),
        };
        match 2 * cells {
            bits if bits > MAX_CELLS => Err(SizeError::TooManyCells { cells: bits, max: MAX_CELLS }),
            _ if capacity == 0 => {
                Err(SizeError::Conflict("too few bits for a single key at this false-positive probability"))
            }
            bits => Ok(A2Shape { bits, hashes, capacity }),
        }
    }

    /// The rate with both buffers full.
    fn planned_fpp(&self, A2Shape { bits, hashes, capacity }: A2Shape) -> f64 {
        let cells = bits / 2;
        let met = a2::stored(cells, hashes, capacity as f64) as u64;
        let one = AnyScheme::new(self.request.scheme, hashes).planned_fpp(cells, met);
        both(one, one)
    }

    /// The filter.
    pub fn build(self) -> Result<A2Bloom, SizeError> {
        let shape @ A2Shape { bits, hashes, capacity } = self.shape()?;
        let about = About::planned(capacity, self.request.fpp.unwrap_or_else(|| self.planned_fpp(shape)));
        let Request { hasher, scheme, .. } = self.request;
        let (cells, scheme) = (bits / 2, AnyScheme::new(scheme, hashes));
        Ok(A2Bloom { hasher, scheme, pair: Pair::new(cells)?, capacity, turn: Turn::default(), about })
    }
}

/// The rate of two buffers with these rates.
fn both(a: f64, b: f64) -> f64 {
    a + b - a * b
}

/// The keys that a buffer of rate `budget` meets until it has counted `items` of them.
fn items_met(items: u64, budget: f64) -> u64 {
    let hashes = (libm::round(-libm::log2(budget)) as u32).clamp(1, MAX_HASHES);
    let full = -libm::log1p(-libm::pow(budget, 1.0 / f64::from(hashes))); // k·n/m
    let met = (0..8).fold(items as f64, |met, _| {
        a2::stored((f64::from(hashes) * met / full) as u64, hashes, items as f64)
    });
    libm::ceil(met) as u64
}

impl A2Bloom {
    /// A filter that finds the last `items` keys for certain, at a false-positive probability of at
    /// most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape, window, seed, secret, scheme.
    ///
    /// `items` is the window: this many keys are found for certain. `items` and `fpp` ask for the
    /// bits, `bits` and `fpp` for the window, `bits` and `items` for the best rate; `hashes` may be
    /// set with `bits`. The rate is that of both buffers when they are full, just before they
    /// change places; on average it is lower.
    ///
    /// ```
    /// use gardenia::A2Bloom;
    /// let seen = A2Bloom::builder().bits(1_000_000).fpp(0.01).build()?;
    /// assert_eq!((seen.hashes(), seen.window()), (8, 45_298));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<A2Bloom> {
        Builder::new(())
    }

    /// Adds `key`; true if it was absent, or forgotten before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were absent, or forgotten before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was absent, or
    /// forgotten before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.insert_each(Given(digests), &mut Bools::of(digests, new));
    }

    /// Adds the key with this digest; true if it was absent, or forgotten.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        let mut lap = self.turn.lap();
        let (pair, capacity) = (&mut self.pair, self.capacity);
        let new = self.scheme.dispatch(Put { pair, lap: &mut lap, capacity, digest });
        self.turn.set(lap);
        new
    }

    /// Adds digests in order; `new` receives for each whether it was absent, or forgotten.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        let mut lap = self.turn.lap();
        let (pair, capacity) = (&mut self.pair, self.capacity);
        self.scheme.dispatch(PutMany { pair, lap: &mut lap, capacity, digests, new });
        self.turn.set(lap);
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.pair.clear();
        self.turn.set(Lap { active: 0, count: 0 });
        self.about.forget();
    }

    /// The same filter for many threads; nothing is copied.
    #[must_use]
    pub fn into_shared(self) -> AtomicA2Bloom {
        let Self { hasher, scheme, pair, capacity, turn, about } = self;
        Atomic(A2Bloom { hasher, scheme, pair: pair.into_shared(), capacity, turn, about })
    }
}

impl AtomicA2Bloom {
    /// As [`A2Bloom::new`], to be shared between threads.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        A2Bloom::new(items, fpp).map(A2Bloom::into_shared)
    }

    /// Loads a file of an [`A2Bloom`] into memory to be shared between threads, with every checksum
    /// verified.
    #[cfg(feature = "mmap")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, DecodeError> {
        A2Bloom::load(path).map(A2Bloom::into_shared)
    }

    /// Adds `key`; true if it was absent, or forgotten. Of threads that add one new key at once
    /// exactly one gets true.
    #[inline]
    pub fn insert(&self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds the key with this digest; true if it was absent, or forgotten.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        let (pair, turn, capacity) = (&self.pair, &self.turn, self.capacity);
        self.scheme.dispatch(PutShared { pair, turn, capacity, digest })
    }

    /// A copy of one moment, for one owner: writers wait for it, queries do not.
    pub fn try_to_owned(&self) -> Result<A2Bloom, SizeError> {
        self.turn.inside(|lap| self.copy(lap))
    }

    /// The same filter for one owner; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> A2Bloom {
        let A2Bloom { hasher, scheme, pair, capacity, turn, about } = self.0;
        A2Bloom { hasher, scheme, pair: pair.into_owned(), capacity, turn, about }
    }
}

impl<M: Still> A2Bloom<M> {
    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<A2Bloom, SizeError> {
        self.copy(self.turn.lap())
    }
}

/// In which buffers the key is: bits 0 and 1.
#[inline(always)]
fn look<S: Scheme>(pair: &Pair<impl Memory>, scheme: &S, digest: Digest) -> u64 {
    let (mut walk, hashes) = (scheme.walk(digest, pair.len()), scheme.hashes() as usize);
    let mut next = |count: usize| (0..count).fold(3, |lanes, _| lanes & pair.lanes(walk.step()));
    if hashes < FIRST {
        return next(hashes);
    }
    match next(FIRST) {
        0 => 0,
        first => first & next(hashes - FIRST),
    }
}

/// [`look`] at a filter that others may be changing.
struct Look<'a, M> {
    pair: &'a Pair<M>,
    turn: &'a Turn,
    digest: Digest,
}

impl<M: Memory> SchemeVisitor for Look<'_, M> {
    type Output = bool;
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        self.turn.ask(|| look(self.pair, scheme, self.digest)) != 0
    }
}

/// Answers for a batch of digests, in order.
struct LookMany<'a, M, D, A> {
    pair: &'a Pair<M>,
    turn: &'a Turn,
    digests: D,
    answers: &'a mut A,
}

impl<M: Memory, D: Source, A: Sink> SchemeVisitor for LookMany<'_, M, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { pair, turn, digests, answers } = self;
        let ask = |digest| Look { pair, turn, digest }.visit(scheme);
        ask_each(scheme, (pair.len(), pair.memory().words()), digests, answers, |at| pair.prefetch(at), ask);
    }
}

/// Puts a key into the active buffer, after changing places if that is full; true if it was in
/// neither.
struct Put<'a> {
    pair: &'a mut Pair,
    lap: &'a mut Lap,
    capacity: u64,
    digest: Digest,
}

impl SchemeVisitor for Put<'_> {
    type Output = bool;
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        let Self { pair, lap, capacity, digest } = self;
        let lanes = look(pair, scheme, digest) & 3;
        if lanes >> lap.active & 1 == 0 {
            if lap.count >= capacity {
                *lap = Lap { active: 1 - lap.active, count: 0 };
                pair.clear_lane(lap.active);
            }
            pair.set_all(scheme.positions(digest, pair.len()), lap.active);
            lap.count += 1;
        }
        lanes == 0
    }
}

/// [`Put`] for each key of a batch in order.
struct PutMany<'a, D, A> {
    pair: &'a mut Pair,
    lap: &'a mut Lap,
    capacity: u64,
    digests: D,
    new: &'a mut A,
}

impl<D: Source, A: Sink> SchemeVisitor for PutMany<'_, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { pair, lap, capacity, digests, new } = self;
        let (len, hashes, lines, far) =
            (pair.len(), scheme.hashes(), pair.lines(), ahead::is_far(pair.memory().words()));
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, len);
            (0..hashes).for_each(|_| lines.prefetch(walk.step()));
        };
        let ask = |digest| Put { pair: &mut *pair, lap: &mut *lap, capacity, digest }.visit(scheme);
        digests.each::<{ ahead::LINES }>(far, fetch, ask, new);
    }
}

/// [`Put`] through a shared reference.
struct PutShared<'a> {
    pair: &'a Pair<Shared>,
    turn: &'a Turn,
    capacity: u64,
    digest: Digest,
}

impl SchemeVisitor for PutShared<'_> {
    type Output = bool;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        let Self { pair, turn, capacity, digest } = self;
        pair.insert(turn, capacity, scheme.positions(digest, pair.len()))
    }
}

impl<M: Memory> A2Bloom<M> {
    /// Whether `key` may have come lately: never false for one of the last
    /// [`window`](A2Bloom::window) keys.
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

    /// Whether the key with this digest may have come lately.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.scheme.dispatch(Look { pair: &self.pair, turn: &self.turn, digest })
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.scheme.dispatch(LookMany { pair: &self.pair, turn: &self.turn, digests, answers });
    }

    filter_facts!();

    /// Number of bits in both buffers.
    #[must_use]
    pub fn bits(&self) -> u64 {
        2 * self.pair.len()
    }

    /// Probes per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// How many of the last distinct keys are found for certain: what a buffer takes, n_a.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.capacity
    }

    /// Keys in the active buffer: when they are [`window`](A2Bloom::window), the next new one
    /// changes places.
    #[must_use]
    pub fn active_items(&self) -> u64 {
        self.turn.lap().count
    }

    /// The share of bits that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let [low, high, _] = self.pair.count_ones();
        (low + high) as f64 / self.bits() as f64
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// Memory used by the bits, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.pair.memory().words() * 8
    }

    /// The false-positive probability as the filter is now, from the fill of both buffers and the
    /// scheme. Cells of small filters are counted, as in [`Bloom::fpp`](crate::Bloom::fpp). An
    /// upper bound if keys came again that are in the passive buffer: then both buffers report the
    /// same absent keys more often.
    ///
    /// ```
    /// let mut seen = gardenia::A2Bloom::new(1_000, 0.01)?;
    /// assert_eq!(seen.fpp(), 0.0);
    /// seen.extend(0..10_000u32); // both buffers are full now
    /// assert!((0.008..0.012).contains(&seen.fpp()));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let [low, high, _] = self.pair.count_ones();
        let rate = |ones: u64, lane: u32| {
            stated_fpp(&self.scheme, (self.pair.len(), ones), 2, |at| self.pair.lanes(at) >> lane & 1 == 1)
        };
        both(rate(low, 0), rate(high, 1))
    }

    /// The number of distinct keys that are still found, estimated from the fill, with its standard
    /// error.
    ///
    /// ```
    /// let mut seen = gardenia::A2Bloom::new(1_000, 0.01)?;
    /// seen.extend(0..10_500u32); // a full buffer, and half a buffer
    /// let about = seen.estimated_items();
    /// assert!((about.items - 1_500.0).abs() < 5.0 * about.std_error);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        // The bits of either buffer are those of one filter of all keys: one that is in both counts once.
        let [_, _, either] = self.pair.count_ones();
        estimate_items(self.pair.len(), self.hashes(), either)
    }

    /// Hasher, scheme and shape. Its cells are the positions, of two bits each: one for each
    /// buffer.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::A2,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.pair.len(),
            width: 2,
        }
    }

    fn copy(&self, lap: Lap) -> Result<A2Bloom, SizeError> {
        let mut pair = Pair::new(self.pair.len())?;
        pair.copy_from(&self.pair);
        let (hasher, scheme, capacity, about) =
            (self.hasher.clone(), self.scheme, self.capacity, self.about.clone());
        Ok(A2Bloom { hasher, scheme, pair, capacity, turn: Turn::new(lap), about })
    }
}

/// Memory that is shared cannot be cloned, so nobody writes meanwhile.
impl<M: Clone> Clone for A2Bloom<M> {
    fn clone(&self) -> Self {
        let (hasher, scheme, capacity, about) =
            (self.hasher.clone(), self.scheme, self.capacity, self.about.clone());
        Self { hasher, scheme, pair: self.pair.clone(), capacity, turn: Turn::new(self.turn.lap()), about }
    }
}

impl<M: Memory> fmt::Debug for A2Bloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2Bloom")
            .field("hasher", &self.hasher)
            .field("scheme", &self.scheme)
            .field("pair", &self.pair)
            .field("window", &self.capacity)
            .field("lap", &self.turn.lap())
            .finish()
    }
}

/// Equal in identity, window, bits and whose turn it is: the same answers now, and after the same
/// insertions. What they were planned for does not count.
impl<M: Memory, N: Memory> PartialEq<A2Bloom<N>> for A2Bloom<M> {
    fn eq(&self, other: &A2Bloom<N>) -> bool {
        self.identity() == other.identity()
            && self.capacity == other.capacity
            && self.turn.lap() == other.turn.lap()
            && self.pair == other.pair
    }
}

impl<M: Memory> Explain for A2Bloom<M> {
    fn tables(&self) -> Vec<CellTable> {
        let active = self.turn.lap().active;
        let buffer = |lane: u32| {
            let name = if lane == active { "active buffer" } else { "older buffer" };
            CellTable::bits(self.pair.len()).named(name)
        };
        [0, 1].map(buffer).into()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.pair.lanes(at) >> table & 1
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        (0..2).for_each(|lane| seen.walk(lane, &self.scheme, digest, self.pair.len()));
    }
}

filter_impl!([M: Memory] A2Bloom<M>);
insert_impl!([] A2Bloom);

impl<M: Memory> Stored for A2Bloom<M> {
    fn options(&self, spec: &mut Spec) {
        spec.set_whole(Param::Items, self.capacity);
        spec.set_whole(Param::Bits, 2 * self.pair.len());
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let Lap { active, count } = self.turn.lap();
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(header.with_params(&[self.capacity, count, active.into()]))
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.pair.memory()]
    }
}

/// The parts of a stored filter other than its bits, checked.
fn restore(
    header: &Header,
    options: &ReadOptions,
) -> Result<(KeyHasher, AnyScheme, u64, Turn, About), DecodeError> {
    header.check_kind(Kind::A2)?;
    header.check_width(2)?;
    header.check_payload(pair_bytes(header.identity.cells))?;
    let [capacity, count, active] = header.param_words()?;
    DecodeError::check("window", capacity, capacity > 0, "at least 1 key is needed")?;
    DecodeError::check("active items", count, count <= capacity, "they are more than the window")?;
    DecodeError::check("active buffer", active, active <= 1, "there are only 0 and 1")?;
    let turn = Turn::new(Lap { active: active as u32, count });
    Ok((header.hasher(options)?, header.scheme()?, capacity, turn, header.about()))
}

impl format::Restore for A2Bloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, scheme, capacity, turn, about) = restore(header, options)?;
        Ok(Self { hasher, scheme, pair: Pair::new(header.identity.cells)?, capacity, turn, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.pair.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.pair.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for A2Bloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, scheme, capacity, turn, about) = restore(header, options)?;
        let pair = Pair::borrowed(payload, header.identity.cells)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        pair.check_tail()?;
        Ok(Self { hasher, scheme, pair, capacity, turn, about })
    }
}

format::stored_methods!(A2Bloom<M> where M: Still);
format::read_methods!(A2Bloom);
format::serde_impls!([M: Still] A2Bloom<M>, [] A2Bloom);

impl Builder<A2Bloom> {
    fn of(spec: &Spec) -> Self {
        let mut request = Request::of(spec, 1.0);
        // A size leaves the rate or the window open.
        if request.items.is_none() {
            request.fpp.get_or_insert(DEFAULT_FPP);
        }
        Self { request, options: () }
    }
}

impl FromSpec for A2Bloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::a2_design(goal.need, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<A2Bloom>::of(spec);
        let A2Shape { bits, hashes, capacity } = builder.shape()?;
        if let Some(fpp) = builder.request.fpp {
            spec.default_to(Param::PlannedFpp, Value::Real(fpp));
        }
        spec.fill_shape(Param::Bits, bloom::Shape { cells: bits, hashes });
        spec.set_whole(Param::Items, capacity);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let builder = Builder::<A2Bloom>::of(spec);
        let bytes = cell_bytes(spec.shape(Param::Bits).cells / 2, 2);
        Ok(Measure::as_stored(bytes, 24, Some(builder.planned_fpp(builder.shape()?))))
    }
    fn bound(spec: &Spec, _: f64, confidence: f64) -> Result<f64, SizeError> {
        let shape = Builder::<A2Bloom>::of(spec).shape()?;
        Ok(sizes::a2_bound(shape, AnyScheme::new(spec.scheme_id(), shape.hashes), confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<A2Bloom>::of(spec).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SchemeId;
    use proptest::prelude::*;

    proptest! {
        /// The algorithm, one step after the other, on two arrays of booleans.
        #[test]
        fn the_filter_follows_two_arrays_step_by_step(
            scheme in proptest::sample::select(SchemeId::ALL.to_vec()),
            (bits, hashes, window) in (1u64..300, 1u32..12, 1u64..20),
            keys in proptest::collection::vec(0u8..60, 0..300),
        ) {
            let builder = A2Bloom::builder().bits(bits).hashes(hashes).items(window).scheme(scheme);
            let mut filter = builder.build().unwrap();
            let mut model = [vec![false; filter.bits() as usize / 2], vec![false; filter.bits() as usize / 2]];
            let mut count = 0;
            for key in keys {
                let digest = filter.hasher.digest_key(&key);
                let positions: Vec<u64> = filter.scheme.positions(digest, filter.bits() / 2).collect();
                let found = [0, 1].map(|v: usize| positions.iter().all(|at| model[v][*at as usize]));
                prop_assert_eq!(filter.contains(key), found[0] || found[1]);
                // The model's first array is the active one; the filter's lanes stay where they are.
                if !found[0] {
                    if count == window {
                        model.swap(0, 1);
                        model[0].fill(false);
                        count = 0;
                    }
                    positions.iter().for_each(|at| model[0][*at as usize] = true);
                    count += 1;
                }
                prop_assert_eq!(filter.insert(key), !found[0] && !found[1]);
                let lap = filter.turn.lap();
                prop_assert_eq!(lap.count, count);
                for (lane, model) in [lap.active, 1 - lap.active].into_iter().zip(&model) {
                    let bit = |at: u64| filter.pair.lanes(at) >> lane & 1 == 1;
                    prop_assert!((0..).zip(model).all(|(at, set)| bit(at) == *set));
                }
            }
        }
    }

    #[test]
    fn only_real_insertions_count() {
        let mut bed = A2Bloom::new(10, 0.001).unwrap();
        (0..1_000).for_each(|_| _ = bed.insert("rose"));
        assert_eq!(bed.active_items(), 1);
    }

    #[test]
    fn a_key_that_comes_again_is_kept() {
        let mut bed = A2Bloom::new(3, 1e-6).unwrap();
        bed.extend(["rose", "tulip", "daisy", "lily"]); // the lily changes places
        assert_eq!(bed.active_items(), 1);
        assert!(!bed.insert("rose"), "known");
        assert_eq!(bed.active_items(), 2, "and put into the active buffer, too");
        bed.extend(["poppy", "aster"]); // changes places again
        assert!(bed.contains("rose") && !bed.contains("tulip"));
    }

    #[test]
    fn clearing_makes_a_new_filter() {
        let new = A2Bloom::new(100, 0.01).unwrap();
        for keys in [1, 50, 100, 101, 250] {
            let mut bed = new.clone();
            bed.extend(0..keys);
            assert!(bed != new);
            bed.clear();
            assert_eq!(bed, new); // libbf keeps the count, and forgets the first keys too early
        }
    }

    #[test]
    fn whose_turn_it_is_and_the_window_are_part_of_equality() {
        let make = |window| A2Bloom::builder().bits(100).hashes(3).items(window).build().unwrap();
        assert!(make(5) == make(5) && make(5) != make(6));
        let mut other = make(5);
        other.turn.set(Lap { active: 1, count: 0 });
        assert!(other != make(5));
        other.turn.set(Lap { active: 0, count: 1 });
        assert!(other != make(5));
    }

    #[test]
    fn parameters_that_cannot_be_are_typed_errors() {
        let with = |change: fn(Builder<A2Bloom>) -> Builder<A2Bloom>| {
            change(A2Bloom::builder()).build().unwrap_err()
        };
        assert_eq!(with(|b| b.items(0).fpp(0.1)), SizeError::ZeroItems);
        assert_eq!(with(|b| b.items(0).bits(10).hashes(2)), SizeError::ZeroItems);
        assert_eq!(with(|b| b.bits(0).fpp(0.1)), SizeError::ZeroCells);
        assert_eq!(with(|b| b.bits(0).items(9)), SizeError::ZeroCells);
        for fpp in [0.0, 1.0, -1.0, 2.0] {
            assert_eq!(A2Bloom::new(9, fpp).unwrap_err(), SizeError::Fpp(fpp));
            assert_eq!(A2Bloom::builder().bits(9).fpp(fpp).build().unwrap_err(), SizeError::Fpp(fpp));
        }
        assert!(matches!(A2Bloom::new(9, f64::NAN), Err(SizeError::Fpp(_))));
        assert!(matches!(with(|b| b.bits(9).items(1).hashes(0)), SizeError::Hashes { .. }));
        assert!(matches!(with(|b| b.bits(9).fpp(0.1).hashes(256)), SizeError::Hashes { .. }));
        assert!(matches!(with(|b| b.bits(MAX_CELLS + 1).items(9)), SizeError::TooManyCells { .. }));
        assert!(matches!(with(|b| b.bits(u64::MAX).fpp(0.1)), SizeError::TooManyCells { .. }));
        assert!(matches!(with(|b| b.items(1 << 50).fpp(0.1)), SizeError::TooManyCells { .. }));
        let floor = SizeError::FppBelowFloor { fpp: 1e-19, floor: 2000.0 / libm::exp2(64.0), items: 1000 };
        match (with(|b| b.items(1000).fpp(1e-19)), floor) {
            (
                SizeError::FppBelowFloor { fpp: a, floor: b, items: c },
                SizeError::FppBelowFloor { fpp: d, floor: e, items: f },
            ) => assert!(a == d && (b / e - 1.0).abs() < 0.01 && c == f),
            (other, _) => panic!("{other}"),
        }
        let message = |change| alloc::string::ToString::to_string(&with(change));
        assert!(message(|b| b).contains("give items"));
        assert!(message(|b| b.bits(9)).contains("give items"));
        assert!(message(|b| b.bits(9).hashes(9)).contains("give items"));
        assert!(message(|b| b.bits(9).fpp(1e-6)).contains("too few bits"));
        assert!(message(|b| b.items(9).fpp(1e-6).hashes(4)).contains("needs a size"));
        assert!(message(|b| b.items(9).fpp(1e-6).bits(4)).contains("leave out one"));
    }

    #[test]
    fn the_window_is_what_real_numbers_give() {
        // libbf divides whole numbers before it multiplies by ln 2, and loses up to a key's share.
        for (bits, fpp) in [(100, 0.1), (1_000, 0.03), (12_345, 0.01), (1_000_000, 1e-4), (1_000_000, 0.1)] {
            let a2::A2Shape { bits, hashes, capacity } =
                A2Bloom::builder().bits(bits).fpp(fpp).shape().unwrap();
            let root = libm::pow(buffer_fpp(fpp), 1.0 / f64::from(hashes));
            let limit = -(bits as f64) / 2.0 / f64::from(hashes) * libm::log1p(-root);
            let met = |capacity: u64| a2::stored(bits / 2, hashes, capacity as f64);
            // Less than a key goes to finite size, one to whole keys met and one to whole keys counted.
            assert!(met(capacity) <= limit && met(capacity + 2) > limit, "{capacity}, {limit}");
            // The way back: this many keys at this rate take no more bits.
            assert!(A2Bloom::builder().items(capacity).fpp(fpp).shape().unwrap().bits <= bits);
        }
        assert_eq!(A2Bloom::builder().bits(99).items(5).shape().unwrap().bits, 100);
        let partition = A2Bloom::builder().bits(1_000).hashes(7).items(5).scheme(SchemeId::Partition);
        assert_eq!(partition.shape().unwrap().bits, 2 * 504);
    }
}
