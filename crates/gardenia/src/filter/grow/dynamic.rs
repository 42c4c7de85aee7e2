//! The dynamic Bloom filter: counting filters of one shape, as many as the keys need, with removal.
//!
//! Keys go into a layer until it holds c of them, then another layer of the same shape is added.
//! All layers are asked, with the same positions, so the false-positive probability grows with
//! their number; the scalable filter exists because of that. But layers of one shape can be added
//! up when their keys fit one.
//!
//! The subtle rule: a key is removed only if exactly one layer claims it. If several do, one of
//! them is right and the others are wrong, and nobody knows which: lowering the wrong one would
//! hide other keys. That is refused with [`RemoveError::Ambiguous`]. A layer that has lost a key
//! takes the next one.
//!
//! Source: Guo, Wu, Chen and Luo, "Theory and Network Applications of Dynamic Bloom Filters"
//! (2006).

use super::{Allowance, Fetch};
use crate::cells::{Bytes, Counters, Memory, Owned, Tally, TallyMut, counter_bytes};
use crate::explain::{CellTable, Explain, Seen};
use crate::filter::builder::{Built, ForItems, ForRate, InCells, Probing, Schemed};
use crate::filter::count::row::{Least, Row, Touch};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{count_impl, filter_impl, remove_impl, try_insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Cut, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, Scheme};
use crate::kinds::Ability;
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead};
use crate::spec::{FromSpec, Measure, Param, Spec, Value, cell_bytes};
use crate::theory::bloom::{Estimate, Shape, estimate_items};
use crate::theory::scalable::compound;
use crate::{DecodeError, EncodeError, Full, InsertError, RemoveError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;

/// A Bloom filter that grows and can remove keys; its false-positive rate grows with it.
///
/// ```
/// let mut filter = gardenia::DynamicBloom::new(1_000, 0.001)?;
/// for key in 0..2_500u32 {
///     filter.insert(key).unwrap();
/// }
/// assert_eq!(filter.layers().collect::<Vec<_>>(), [1_000, 1_000, 500]);
/// let taken = (0..2_500u32).filter(|key| filter.remove(*key).is_ok()).count();
/// assert!(taken > 2_450); // the others are claimed by two layers
/// assert!(filter.compact() > 0 && filter.layers().count() == 1);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Each copy of a key counts as one of a layer's. Copies that lie in different layers are found and
/// counted, but cannot be removed.
#[derive(Clone)]
pub struct DynamicBloom<M = Owned> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    /// The oldest first; never empty.
    layers: Vec<Layer<M>>,
    /// Keys that a layer takes.
    capacity: u64,
    /// The first layer that is not full, or the number of layers.
    active: usize,
    allowance: Allowance,
    about: About,
}

#[derive(Clone)]
struct Layer<M> {
    cells: Counters<M>,
    items: u64,
}

/// The most layers: their numbers of keys fit the header.
const MAX_LAYERS: usize = 4096;

#[derive(Clone, Debug)]
pub struct DynamicBloomOptions {
    width: u32,
}

impl Built for DynamicBloom {
    type Options = DynamicBloomOptions;
}
impl ForItems for DynamicBloom {}
impl ForRate for DynamicBloom {}
impl InCells for DynamicBloom {}
impl Probing for DynamicBloom {}
impl Schemed for DynamicBloom {}

impl Builder<DynamicBloom> {
    /// Bits per cell, 1 to 32; 4 unless set, which holds for sets.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = width;
        self
    }

    /// The shape of a layer, before any memory is taken.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        match self.request.items {
            Some(0) => Err(SizeError::ZeroItems),
            _ => self.request.any_shape(),
        }
    }

    /// The filter, with its first layer.
    pub fn build(self) -> Result<DynamicBloom, SizeError> {
        let Shape { cells, hashes } = self.shape()?;
        let scheme = AnyScheme::new(self.request.scheme, hashes);
        let Some(capacity) = self.request.items else {
            return Err(SizeError::Conflict("give items: the keys that one layer takes"));
        };
        let layers = alloc::vec![Layer { cells: Counters::new(cells, self.options.width)?, items: 0 }];
        let about = self.request.about(|items| scheme.planned_fpp(cells, items));
        let (hasher, allowance) = (self.request.hasher, Allowance::ANY);
        Ok(DynamicBloom { hasher, scheme, layers, capacity, active: 0, allowance, about })
    }
}

impl DynamicBloom {
    /// A filter whose layers take `items` keys each, at a false-positive probability of at most
    /// `fpp` *for each* full layer.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape and width of a layer, seed, secret, scheme. A layer takes 10,000
    /// keys unless set.
    ///
    /// Items, rate and size are those of one layer.
    ///
    /// ```
    /// let filter = gardenia::DynamicBloom::builder().items(500).cells(5_000).hashes(7).width(8).build()?;
    /// assert_eq!((filter.capacity(), filter.cells(), filter.hashes(), filter.width()), (500, 5_000, 7, 8));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<DynamicBloom> {
        Builder::new(DynamicBloomOptions { width: WIDTH }).items(LAYER)
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

    /// Adds the key with this digest; true if it was certainly absent before. It is full, and
    /// nothing has changed, only if memory for another layer cannot be had, or is above what the
    /// filter's reader allowed ([`ReadOptions::max_expansion`]), or there are 4,096.
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        let new = !self.contains_digest(digest);
        if self.active == self.layers.len() {
            if self.active == MAX_LAYERS || self.over_limit().is_some() {
                return Err(Full { taken: 0, copies: false });
            }
            let cells =
                Counters::new(self.cells(), self.width()).map_err(|_| Full { taken: 0, copies: false })?;
            self.layers.push(Layer { cells, items: 0 });
        }
        let Layer { cells, items } = &mut self.layers[self.active];
        let work = |cells: &mut Counters, row: &Row<'_>| row.raise(cells, 1);
        self.scheme.dispatch(Touch { cells, digest, work });
        *items += 1;
        self.find_active(self.active);
        Ok(new)
    }

    /// Bytes with a further layer, and the limit, if they are above it.
    fn over_limit(&self) -> Option<(u64, u64)> {
        let needed = self.memory_bytes() as u64 + self.layer_bytes();
        self.allowance.exceeded(needed, self.items()).map(|max| (needed, max))
    }

    /// Bytes of a layer.
    fn layer_bytes(&self) -> u64 {
        self.layers[0].cells.memory().words() as u64 * 8
    }

    /// Bytes that this many more keys add: those of the layers that they fill.
    pub(crate) fn bytes_for(&self, keys: u64) -> u64 {
        let room = self
            .layers()
            .fold(0, |room: u64, items| room.saturating_add(self.capacity.saturating_sub(items)));
        keys.saturating_sub(room).div_ceil(self.capacity).saturating_mul(self.layer_bytes())
    }

    /// Why the filter is full.
    pub(crate) fn refusal(&self, full: Full) -> InsertError {
        match self.over_limit() {
            Some((needed, max)) => InsertError::Growth { needed, max },
            None => full.into(),
        }
    }

    /// Sets the first layer from `from` on that is not full; none before it is.
    fn find_active(&mut self, from: usize) {
        let full = self.layers[from..].iter().take_while(|layer| layer.items >= self.capacity).count();
        self.active = from + full;
    }

    /// Adds digests in order, up to the first for which there is no memory; `new` receives for each
    /// whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) -> Result<(), Full> {
        let (mut taken, mut full) = (0, false);
        let (scheme, cells) = (self.scheme, self.cells());
        let lines = Cell::new(self.layers.get(self.active).map(|layer| TallyMut::lines(&layer.cells)));
        let fetch = |digest| {
            let Some(lines) = lines.get() else { return };
            scheme.dispatch(Fetch { digest, cells, line: |at| lines.prefetch(at) });
        };
        let far = ahead::is_far(self.layers[0].cells.memory().words());
        let ask = |digest| {
            if full {
                return false;
            }
            let before = self.active;
            let added = self.insert_digest(digest);
            if self.active != before {
                lines.set(self.layers.get(self.active).map(|layer| TallyMut::lines(&layer.cells)));
            }
            full = added.is_err();
            taken += u64::from(!full);
            added == Ok(true)
        };
        digests.each::<{ ahead::LINES }>(far, fetch, ask, new);
        if full { Err(Full { taken, copies: false }) } else { Ok(()) }
    }

    /// Takes the key with this digest out once, if exactly one layer claims it. If that cannot be,
    /// the error says why and nothing has changed.
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        let mut claims = self.claims(digest);
        let (number, least) = claims.next().ok_or(RemoveError::Absent)?;
        if claims.next().is_some() {
            return Err(RemoveError::Ambiguous);
        }
        drop(claims);
        let Layer { cells, items } = &mut self.layers[number];
        if least == Counters::top(cells) {
            return Err(RemoveError::Stuck);
        }
        // A layer without keys claims none, unless damage or wrong removals have left some cells.
        *items = items.saturating_sub(1);
        self.scheme.dispatch(Touch {
            cells,
            digest,
            work: |cells: &mut Counters, row: &Row<'_>| row.lower(cells, 1),
        });
        self.active = self.active.min(number);
        Ok(())
    }

    /// Adds up layers whose keys fit one together, and gives the memory of the others back; how
    /// many that were.
    ///
    /// Cells that reach their top stay there. The keys of all are found as before.
    pub fn compact(&mut self) -> usize {
        let before = self.layers.len();
        // The fullest first, each with as many of the others as fit it.
        self.layers.sort_by_key(|layer| core::cmp::Reverse(layer.items));
        let mut at = 0;
        while at < self.layers.len() {
            let mut next = at + 1;
            while next < self.layers.len() {
                if self.layers[at].items + self.layers[next].items <= self.capacity {
                    let other = self.layers.remove(next);
                    self.layers[at].cells.add_all(&other.cells);
                    self.layers[at].items += other.items;
                } else {
                    next += 1;
                }
            }
            at += 1;
        }
        self.find_active(0);
        before - self.layers.len()
    }

    /// Forgets all keys, and frees all layers but the first.
    pub fn clear(&mut self) {
        self.layers.truncate(1);
        for layer in &mut self.layers {
            layer.cells.clear();
            layer.items = 0;
        }
        self.active = 0;
        self.allowance.items = 0;
        self.about.forget();
    }
}

impl<M: Memory> DynamicBloom<M> {
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
    /// How often `key` went in, less how often it was removed, over all layers: never too little
    /// below the cells' top.
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

    /// The layers that claim a key, from the newest on, with the least of its cells in each.
    #[inline(always)]
    fn claims(&self, digest: Digest) -> impl Iterator<Item = (usize, u32)> + '_ {
        let least = move |(number, layer): (usize, &Layer<M>)| {
            let least = self.scheme.dispatch(Least { cells: &layer.cells, digest });
            (least > 0).then_some((number, least))
        };
        self.layers.iter().enumerate().rev().filter_map(least)
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.claims(digest).next().is_some()
    }

    /// The count of the key with this digest: the sum over all layers.
    #[inline]
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        self.claims(digest).map(|(_, least)| u64::from(least)).sum()
    }

    /// Visits digests in order, with the first lines of the newest layers asked for ahead.
    #[inline(always)]
    fn ask_each(&self, digests: impl Source, ask: impl FnMut(Digest) -> bool, answers: &mut impl Sink) {
        let newest = &self.layers[self.layers.len().saturating_sub(8)..];
        let fetch = |digest| {
            let line = |at| newest.iter().for_each(|layer| Tally::prefetch(&layer.cells, at));
            self.scheme.dispatch(Fetch { digest, cells: self.cells(), line });
        };
        digests.each::<{ ahead::LINES }>(ahead::is_far(self.memory_bytes() / 8), fetch, ask, answers);
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.ask_each(digests, |digest| self.contains_digest(digest), answers);
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

    /// The keys in each layer, from the oldest to the newest.
    pub fn layers(&self) -> impl Iterator<Item = u64> + '_ {
        self.layers.iter().map(|layer| layer.items)
    }

    /// Keys that a layer takes, c.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The number of keys in the filter, counting every copy.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.layers().sum()
    }

    /// Number of cells of one layer, m.
    #[must_use]
    pub fn cells(&self) -> u64 {
        Counters::len(&self.layers[0].cells)
    }

    /// Bits per cell, w.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.layers[0].cells.width()
    }

    /// Probes per key in each layer, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// The share of cells that are not zero, over all layers.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let set: u64 = self.layers.iter().map(|layer| layer.cells.count_nonzero()).sum();
        set as f64 / (self.cells() as f64 * self.layers.len() as f64)
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The false-positive probability as the filter is now: that of all layers together, from their
    /// fill, each as in [`Bloom::fpp`](crate::Bloom::fpp). An upper bound if copies of keys are in
    /// several layers.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        compound(self.layers.iter().map(|layer| {
            let table = (self.cells(), layer.cells.count_nonzero());
            stated_fpp(&self.scheme, table, self.layers.len(), |at| layer.cells.get(at) > 0)
        }))
    }

    /// The number of distinct keys in the filter, estimated from the fill of each layer, with its
    /// standard error.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        let estimates = self
            .layers
            .iter()
            .map(|layer| estimate_items(self.cells(), self.hashes(), layer.cells.count_nonzero()));
        let sum =
            |(items, variance), one: Estimate| (items + one.items, variance + one.std_error * one.std_error);
        let (items, variance) = estimates.fold((0.0, 0.0), sum);
        Estimate { items, std_error: libm::sqrt(variance) }
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.cells.memory().words() * 8).sum()
    }

    /// Hasher, scheme, and the shape of a layer.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Dynamic,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.cells(),
            width: self.width(),
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<DynamicBloom, SizeError> {
        let copy = |layer: &Layer<M>| Ok(Layer { cells: layer.cells.to_owned()?, items: layer.items });
        let (hasher, &Self { scheme, capacity, active, allowance, .. }) = (self.hasher.clone(), self);
        let layers = self.layers.iter().map(copy).collect::<Result<_, SizeError>>()?;
        Ok(DynamicBloom { hasher, scheme, layers, capacity, active, allowance, about: self.about.clone() })
    }

    /// A filter of layers with this many keys, and the cells that `cells` gives each.
    fn of_layers<E>(parts: Parts, mut cells: impl FnMut() -> Result<Counters<M>, E>) -> Result<Self, E> {
        let Parts { hasher, scheme, capacity, items, allowance, about } = parts;
        let active = items.iter().take_while(|items| **items >= capacity).count();
        let layer = |items| Ok(Layer { cells: cells()?, items });
        let layers = items.into_iter().map(layer).collect::<Result<_, E>>()?;
        Ok(Self { hasher, scheme, layers, capacity, active, allowance, about })
    }
}

impl<M: Memory> fmt::Debug for DynamicBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers: Vec<_> = self.layers().collect();
        f.debug_struct("DynamicBloom")
            .field("hasher", &self.hasher)
            .field("scheme", &self.scheme)
            .field("cells", &self.layers[0].cells)
            .field("capacity", &self.capacity)
            .field("layers", &layers)
            .finish()
    }
}

/// Equal in identity, capacity, layers and cells: the same answers now, and after the same changes.
impl<M: Memory, N: Memory> PartialEq<DynamicBloom<N>> for DynamicBloom<M> {
    fn eq(&self, other: &DynamicBloom<N>) -> bool {
        self.identity() == other.identity()
            && self.capacity == other.capacity
            && self.layers().eq(other.layers())
            && self.layers.iter().zip(&other.layers).all(|(ours, theirs)| ours.cells == theirs.cells)
    }
}

impl<M: Memory> Explain for DynamicBloom<M> {
    fn tables(&self) -> Vec<CellTable> {
        let layer = |(number, layer): (usize, &Layer<M>)| {
            let table = CellTable::counters(layer.cells.len(), layer.cells.width());
            table.named(alloc::format!("layer {}", number + 1))
        };
        self.layers.iter().enumerate().map(layer).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.layers[table].cells.get(at).into()
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        for (number, layer) in self.layers.iter().enumerate() {
            seen.walk(number, &self.scheme, digest, layer.cells.len());
        }
    }
}

filter_impl!([M: Memory] DynamicBloom<M>);
try_insert_impl!([] DynamicBloom);
count_impl!([M: Memory] DynamicBloom<M>, filter: most u64::MAX >> (64 - filter.width()), saturated filter.layers.iter().map(|layer| layer.cells.count_saturated()).sum());
remove_impl!([] DynamicBloom);

impl<M: Memory> Stored for DynamicBloom<M> {
    fn options(&self, spec: &mut Spec) {
        spec.set_whole(Param::Items, self.capacity);
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        let words: Vec<u64> = core::iter::once(self.capacity).chain(self.layers()).collect();
        Ok(Header { items: self.items(), ..header.with_params(&words) })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        self.layers.iter().map(|layer| layer.cells.memory() as &dyn Memory).collect()
    }
}

/// A stored filter without its cells.
struct Parts {
    hasher: KeyHasher,
    scheme: AnyScheme,
    capacity: u64,
    items: Vec<u64>,
    allowance: Allowance,
    about: About,
}

/// The parts of a stored filter other than its cells, checked: the layers need exactly the payload.
fn restore(header: &Header, options: &ReadOptions) -> Result<Parts, DecodeError> {
    header.check_kind(Kind::Dynamic)?;
    let (words, rest) = header.params.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    let capacity = words.next().unwrap_or(0);
    let items: Vec<u64> = words.collect();
    let fits = rest.is_empty() && (1..=MAX_LAYERS).contains(&items.len());
    let rule = "this kind has 8 bytes, and 8 for each of 1 to 4096 layers";
    DecodeError::check("parameter length", header.params.len() as u64, fits, rule)?;
    DecodeError::check("capacity", capacity, capacity > 0, "at least 1 key is needed")?;
    let most = items.iter().copied().max().unwrap_or(0);
    DecodeError::check("items of a layer", most, most <= capacity, "they are more than its capacity")?;
    let sum = items.iter().try_fold(0u64, |sum, items| sum.checked_add(*items));
    DecodeError::check("items counted", header.items, sum == Some(header.items), "the layers hold others")?;
    let Identity { cells, width, .. } = header.identity;
    let layer = counter_bytes(cells, width);
    DecodeError::check("cell width", width.into(), layer.is_some(), "counters have 1 to 32 bits")?;
    header.check_payload(layer.unwrap_or(0).saturating_mul(items.len() as u64))?;
    Ok(Parts {
        hasher: header.hasher(options)?,
        scheme: header.scheme()?,
        capacity,
        items,
        allowance: Allowance::read(header, options),
        about: header.about(),
    })
}

impl format::Restore for DynamicBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let Identity { cells, width, .. } = header.identity;
        Ok(Self::of_layers(restore(header, options)?, || Counters::new(cells, width))?)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        self.layers.iter_mut().map(|layer| layer.cells.words_mut()).collect()
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.layers.iter().try_for_each(|layer| layer.cells.check_tail())
    }
}

impl<B: Cut> format::Attach<B> for DynamicBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let Identity { cells, width, .. } = header.identity;
        let needed = counter_bytes(cells, width).and_then(|bytes| usize::try_from(bytes).ok());
        let mut rest = Some(payload);
        Self::of_layers(restore(header, options)?, || {
            let cut = rest.take().zip(needed).and_then(|(rest, needed)| rest.cut(needed));
            let now = cut.and_then(|(now, later)| {
                rest = Some(later);
                Counters::borrowed(now, cells, width)
            });
            now.ok_or(DecodeError::Damaged("the payload is shorter than its header says"))
        })
    }
}

format::stored_methods!(DynamicBloom<M> where M: Memory);
format::read_methods!(DynamicBloom);
format::serde_impls!([M: Memory] DynamicBloom<M>, [] DynamicBloom);

/// Bits per cell, unless set.
const WIDTH: u32 = 4;

/// Keys of a layer, unless set.
const LAYER: u64 = 10_000;

impl Builder<DynamicBloom> {
    fn of(spec: &Spec) -> Self {
        let width = spec.small(Param::Width).unwrap_or(WIDTH);
        let mut request = Request::of(spec, width.into());
        request.items.get_or_insert(LAYER);
        Self { request, options: DynamicBloomOptions { width } }
    }
}

impl FromSpec for DynamicBloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let within = goal.within.filter(|_| !goal.need.is_open());
        let design = || sizes::search(goal.fpp, within, |fpp| sizes::dynamic_design(goal.need, fpp));
        if goal.has(Ability::Remove) { goal.if_able(kind, design) } else { Vec::new() }
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<DynamicBloom>::of(spec);
        let shape = builder.shape()?;
        spec.default_to(Param::Items, Value::Whole(LAYER));
        spec.fill_shape(Param::Cells, shape);
        spec.set_whole(Param::Width, builder.options.width);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (shape, width) = (spec.shape(Param::Cells), Builder::<DynamicBloom>::of(spec).options.width);
        Ok(Measure::as_stored(cell_bytes(shape.cells, width), 16, spec.bloom_rate(shape)))
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Cells), fpp, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<DynamicBloom>::of(spec).build()
    }
}
