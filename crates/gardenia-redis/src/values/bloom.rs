//! The value behind `BF.*` for keys that were made here: a scalable Bloom filter of the library.
//!
//! The shares of the error rate decide what growth costs. A filter that starts with fewer than
//! 1,000 keys says nothing about its size, and its first slices take no memory to speak of: so the
//! largest share belongs to the slice of some 50,000 keys (see [`peak`](gardenia::Builder::peak)),
//! and from 100 keys to 800,000 at 1 % it ends at 15.4 bits per key. A larger capacity is a plan:
//! half of the rate belongs to the first slice, and a filter that is filled as planned takes 11
//! bits per key at 1 %. A filter that does not grow has the whole rate.
//!
//! Most keys of most servers hold few items, and a filter of one item would take as much memory as
//! one of a hundred. So the first sixteen items are their digests; the filter is made when the next
//! one comes, or for a moment when it is asked for as a whole.
//!
//! The subtle rule: whether a key is new must follow from the value and the key alone, or replicas
//! would drift apart. So everything that a filter was made with, seed included, travels with its
//! creation and is stored with it. Digests are never stored: what is written is the filter, so that
//! a server that has digests and one that has read the filter write the same. An item that a filter
//! would take for another one is counted among the digests, and no longer when the filter is made.

use super::BATCH;
use super::any::grows_here;
use super::stored::{Stored, Whole};
use crate::engine::alloc::aligned_bytes;
use crate::engine::stats::resized;
use crate::engine::types::TypeHandle;
use gardenia::filter::ScalableSlice;
use gardenia::index::SchemeId;
use gardenia::{Digest, KeyHasher, ScalableBloom, SizeError};
use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// What a filter is built from: two filters of one plan agree in everything after the same items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomPlan {
    /// The error rate that is kept.
    pub error: f64,
    /// Items of the first slice.
    pub capacity: u64,
    /// Growth of slices; 0: there is one, and it can be full.
    pub expansion: u32,
    /// Seed of the hash function.
    pub seed: u64,
    /// Share of the error rate of a slice beside that of its neighbour.
    pub tightening: f64,
    /// The slice with the largest share.
    pub peak: u32,
    /// How positions follow from a digest.
    pub scheme: SchemeId,
}

/// Capacities below this are no plan.
const SMALL: u64 = 1_000;
/// Items of the slice with the largest share, where the capacity is no plan.
const PEAK_ITEMS: u64 = 50_000;
/// The library adds no slice to this many.
pub const MOST_SLICES: usize = 64;
/// The whole rate to the first slice: what is left to others is not worth a bit.
const ALL_TO_THE_FIRST: f64 = 1e-12;

impl BloomPlan {
    /// A filter for these needs; how its error rate is shared out follows (see the top of this
    /// file).
    #[must_use]
    pub fn new(error: f64, capacity: u64, expansion: u32, seed: u64) -> Self {
        let (tightening, peak) = match expansion {
            0 => (ALL_TO_THE_FIRST, 0),
            // Equal slices, 64 at most, and one is as likely the last as the next.
            1 => (0.9, 0),
            2.. if capacity < SMALL => {
                let slice =
                    |number: u32| u64::from(expansion).saturating_pow(number).saturating_mul(capacity);
                (0.8, (0..16).find(|&number| slice(number) >= PEAK_ITEMS).unwrap_or(16))
            }
            _ => (0.5, 0),
        };
        Self { error, capacity, expansion, seed, tightening, peak, scheme: SchemeId::default() }
    }

    /// The filter, empty; refused if its first slice takes more than `limit` bytes.
    pub fn build(&self, limit: u64) -> Result<Scaling, Refused> {
        // Sizing takes a hundred times as long as all else that a small filter needs, and small filters come in numbers
        // with one plan: the last one serves as a model.
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = Self { seed: 0, ..*self };
        let model = match &*last {
            Some((like, model)) if *like == plan => model,
            _ => {
                let model = self.model(limit)?;
                if model.memory_bytes() > MODEL_BYTES {
                    return Ok(Scaling::new(model, self.expansion));
                }
                &last.insert((plan, Arc::new(model))).1
            }
        };
        if model.memory_bytes() as u64 > limit {
            return Err(Refused::Memory);
        }
        let hasher = KeyHasher::xxh3(self.seed);
        if model.capacity() <= FEW as u64 {
            return Ok(Scaling::new(model.fresh(hasher)?, self.expansion));
        }
        let few = Few { model: Arc::clone(model), hasher, digests: [Digest(0); FEW], len: 0 };
        Ok(Scaling { state: State::Few(few), expansion: self.expansion, left: model.capacity() })
    }

    /// The filter of this plan, sized anew.
    fn model(&self, limit: u64) -> Result<ScalableBloom, Refused> {
        let builder = ScalableBloom::builder()
            .fpp(self.error)
            .items(self.capacity)
            .growth(self.expansion.max(1))
            .tightening(self.tightening)
            .peak(self.peak)
            .scheme(self.scheme)
            .seed(self.seed);
        let (shape, _) = builder.shape(0)?;
        if shape.cells.div_ceil(8) > limit {
            return Err(Refused::Memory);
        }
        Ok(builder.build()?)
    }
}

/// The plan of the last small filter, without its seed, and an empty filter of it.
static LAST: Mutex<Option<(BloomPlan, Arc<ScalableBloom>)>> = Mutex::new(None);
/// Filters up to this size are kept as models.
const MODEL_BYTES: usize = 4 << 10;

/// Why a filter was not made, or an item not added. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The filter is full: it does not grow, or has [`MOST_SLICES`].
    Full,
    /// The memory cannot be had, or may not.
    Memory,
    /// There is no such filter.
    Shape,
}

impl From<SizeError> for Refused {
    fn from(error: SizeError) -> Self {
        match error {
            SizeError::Memory { .. } | SizeError::TooManyCells { .. } => Self::Memory,
            _ => Self::Shape,
        }
    }
}

/// A filter that grows by a factor, or not at all.
#[derive(Debug)]
pub struct Scaling {
    state: State,
    expansion: u32,
    /// Items that still go in before a slice is added.
    left: u64,
}

#[derive(Debug)]
enum State {
    Few(Few),
    Many(ScalableBloom),
}

/// Items whose digests are kept before a filter is made: as many as fit where the filter would be.
const FEW: usize = 16;

/// The digests of some items, and an empty filter like the one that they will be in.
#[derive(Clone, Debug)]
struct Few {
    model: Arc<ScalableBloom>,
    hasher: KeyHasher,
    digests: [Digest; FEW],
    len: u8,
}

const _: () = assert!(size_of::<State>() == size_of::<ScalableBloom>());

impl Few {
    fn digests(&self) -> &[Digest] {
        &self.digests[..usize::from(self.len)]
    }

    /// The filter of these items.
    fn filter(&self) -> Result<ScalableBloom, SizeError> {
        let (mut filter, mut new) = (self.model.fresh(self.hasher.clone())?, [false; FEW]);
        // There is room for more than these.
        let _ = filter.insert_digests(self.digests(), &mut new[..usize::from(self.len)]);
        Ok(filter)
    }
}

/// The library's filter, as it is kept or made for a look at it.
#[derive(Debug)]
pub enum Shown<'a> {
    /// Kept under the key.
    Kept(&'a ScalableBloom),
    /// Built from digests.
    Made(Box<ScalableBloom>),
}

impl Deref for Shown<'_> {
    type Target = ScalableBloom;
    fn deref(&self) -> &ScalableBloom {
        match self {
            Self::Kept(filter) => filter,
            Self::Made(filter) => filter,
        }
    }
}

/// A filter of the library's own, which grows as it is.
impl From<ScalableBloom> for Scaling {
    fn from(filter: ScalableBloom) -> Self {
        let expansion = filter.growth();
        Self::new(filter, expansion)
    }
}

impl Scaling {
    fn new(filter: ScalableBloom, expansion: u32) -> Self {
        let left = filter.capacity() - filter.items();
        Self { state: State::Many(filter), expansion, left }
    }

    /// The library's filter.
    ///
    /// # Panics
    /// If there is no memory for that of a few items.
    #[must_use]
    pub fn filter(&self) -> Shown<'_> {
        match &self.state {
            State::Few(few) => Shown::Made(Box::new(few.filter().expect("some hundred bytes"))),
            State::Many(filter) => Shown::Kept(filter),
        }
    }

    /// The hash function.
    #[inline]
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        match &self.state {
            State::Few(few) => &few.hasher,
            State::Many(filter) => filter.hasher(),
        }
    }

    /// The growth of slices; 0: it does not grow.
    #[must_use]
    pub fn expansion(&self) -> u32 {
        self.expansion
    }

    /// Whether an item may be in.
    #[inline]
    #[must_use]
    pub fn contains(&self, item: &[u8]) -> bool {
        let digest = self.hasher().digest(item);
        match &self.state {
            State::Few(few) => few.digests().contains(&digest),
            State::Many(filter) => filter.contains_digest(digest),
        }
    }

    /// Answers for up to [`BATCH`] items, in order.
    pub fn contains_all(&self, items: &[impl AsRef<[u8]>], out: &mut [bool]) {
        let mut room = [Digest(0); BATCH];
        self.contains_digests(self.digests(items, &mut room), out);
    }

    /// Answers for digests, in order.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        match &self.state {
            State::Few(few) => {
                digests.iter().zip(out).for_each(|(digest, out)| *out = few.digests().contains(digest));
            }
            State::Many(filter) => filter.contains_digests(digests, out),
        }
    }

    /// Adds an item; true if it was certainly absent. `limit` is asked when the filter has to grow.
    #[inline]
    pub fn insert(&mut self, item: &[u8], limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        self.insert_digest(self.hasher().digest(item), limit)
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest, limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        if self.left == 0 {
            return self.grow_for(digest, limit);
        }
        if let State::Few(few) = &mut self.state {
            let len = usize::from(few.len);
            if few.digests().contains(&digest) {
                return Ok(false);
            } else if len < FEW {
                few.digests[len] = digest;
                few.len += 1;
                self.left -= 1;
                return Ok(true);
            }
        }
        let new = self.many()?.insert_digest(digest).map_err(|_| Refused::Memory)?;
        self.left -= u64::from(new);
        Ok(new)
    }

    /// The filter, built from the digests if there was none.
    #[inline]
    fn many(&mut self) -> Result<&mut ScalableBloom, Refused> {
        if let State::Few(few) = &self.state {
            let filter = few.filter()?;
            let before = self.memory();
            *self = Self::new(filter, self.expansion);
            resized(before, self.memory());
        }
        match &mut self.state {
            State::Many(filter) => Ok(filter),
            State::Few(_) => Err(Refused::Memory),
        }
    }

    /// Adds an item to a filter whose slices are full.
    #[cold]
    fn grow_for(&mut self, digest: Digest, limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        let (before, expansion) = (self.memory(), self.expansion);
        let filter = self.many()?;
        if filter.contains_digest(digest) {
            return Ok(false);
        }
        if expansion == 0 || filter.slices().count() >= MOST_SLICES {
            return Err(Refused::Full);
        }
        let (shape, _) = filter.next_slice()?;
        let bytes = (filter.memory_bytes() as u64).saturating_add(shape.cells.div_ceil(8));
        if bytes > limit() {
            return Err(Refused::Memory);
        }
        let new = filter.insert_digest(digest).map_err(|_| Refused::Memory)?;
        self.left = filter.capacity() - filter.items();
        resized(before, self.memory());
        Ok(new)
    }

    /// Adds up to [`BATCH`] items in order, and tells of each whether it was certainly absent; at
    /// the first that is refused it stops, and tells how many went in before.
    pub fn insert_all(
        &mut self,
        items: &[impl AsRef<[u8]>],
        new: &mut [bool],
        limit: impl Fn() -> u64,
    ) -> Result<(), (usize, Refused)> {
        let mut room = [Digest(0); BATCH];
        let digests = self.digests(items, &mut room);
        self.insert_digests(digests, new, limit)
    }

    /// Adds the items with these digests in order, and tells of each whether it was certainly
    /// absent; at the first that is refused it stops, and tells how many went in before.
    pub fn insert_digests(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
        limit: impl Fn() -> u64,
    ) -> Result<(), (usize, Refused)> {
        if let State::Many(filter) = &mut self.state
            && self.left >= digests.len() as u64
        {
            let taken = filter.insert_digests(digests, new);
            self.left = filter.capacity() - filter.items();
            return taken.map_err(|full| (full.taken as usize, Refused::Memory));
        }
        for (at, (digest, new)) in digests.iter().zip(new).enumerate() {
            *new = self.insert_digest(*digest, &limit).map_err(|why| (at, why))?;
        }
        Ok(())
    }

    fn digests<'a>(&self, items: &[impl AsRef<[u8]>], room: &'a mut [Digest; BATCH]) -> &'a [Digest] {
        let hasher = self.hasher();
        for (digest, item) in room.iter_mut().zip(items) {
            *digest = hasher.digest(item.as_ref());
        }
        &room[..items.len()]
    }

    /// Items that it takes before it grows, or is full.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        match &self.state {
            State::Few(few) => few.model.capacity(),
            State::Many(filter) => filter.capacity(),
        }
    }

    /// Slices.
    #[must_use]
    pub fn slices(&self) -> usize {
        match &self.state {
            State::Few(_) => 1,
            State::Many(filter) => filter.slices().count(),
        }
    }

    /// Items that went in.
    #[must_use]
    pub fn items(&self) -> u64 {
        match &self.state {
            State::Few(few) => few.len.into(),
            State::Many(filter) => filter.items(),
        }
    }

    /// The line of BF.DEBUG for each slice.
    pub fn describe(&self) -> Vec<String> {
        let filter = self.filter();
        let line = |(number, slice): (usize, ScalableSlice)| {
            let capacity = filter.slice_capacity(number);
            let ScalableSlice { bits, hashes, items, .. } = slice;
            let bytes = bits.div_ceil(64) * 8;
            let ratio = gardenia::theory::scalable::peaked_fpp(
                filter.target(),
                filter.tightening(),
                filter.peak(),
                number as u32,
            );
            format!(
                "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:64 capacity:{capacity} size:{items} ratio:{ratio}"
            )
        };
        filter.slices().enumerate().map(line).collect()
    }
}

/// What is stored under the key.
pub type Bloom = Stored<Scaling>;

static HANDLE: TypeHandle<Stored<Scaling>> = TypeHandle::new();

/// Written as its expansion, 4 bytes little-endian, and the filter in the native format.
impl Whole for Scaling {
    const NAME: &'static CStr = c"gdn-bloom";
    const MARK: [u8; 8] = *b"\x89GDN-BF\xff";
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";

    fn handle() -> &'static TypeHandle<Stored<Self>> {
        &HANDLE
    }

    fn write(&self, mut to: impl Write) -> io::Result<()> {
        to.write_all(&self.expansion.to_le_bytes())?;
        self.filter().write_to(to).map_err(io::Error::other)
    }

    fn read(mut from: impl Read, len: u64) -> Option<Self> {
        let mut expansion = [0; 4];
        from.read_exact(&mut expansion).ok()?;
        let expansion = u32::from_le_bytes(expansion);
        let filter = ScalableBloom::read_from_with(from, &grows_here().max_bytes(len)).ok()?;
        (expansion == 0 || expansion == filter.growth()).then(|| Self::new(filter, expansion))
    }

    fn memory(&self) -> usize {
        let State::Many(filter) = &self.state else { return 0 };
        // What the library notes of a slice beside its bits is about a cache line.
        filter.memory_bytes() + filter.slices().count() * (size_of::<ScalableSlice>() + 40)
    }

    fn parts(&self, part: &mut dyn FnMut(usize)) {
        let State::Many(filter) = &self.state else { return };
        // The list of slices doubles, from four on; what the library notes of a slice beside its bits takes 64 bytes.
        let slices = match filter.slices().count() {
            1 => 1,
            slices => slices.next_power_of_two().max(4),
        };
        part(slices * 64);
        filter.slices().for_each(|slice| part(aligned_bytes(slice.bits.div_ceil(8) as usize)));
    }

    fn copy(&self) -> Option<Self> {
        let state = match &self.state {
            State::Few(few) => State::Few(few.clone()),
            State::Many(filter) => State::Many(filter.try_to_owned().ok()?),
        };
        Some(Self { state, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: u64 = u64::MAX;

    fn filled(plan: &BloomPlan, items: u32) -> Scaling {
        let mut filter = plan.build(FREE).unwrap();
        for item in 0..items {
            filter.insert(&item.to_le_bytes(), || FREE).unwrap();
        }
        filter
    }

    #[test]
    fn from_100_items_to_800_000_it_takes_16_bits_per_item_at_most() {
        let mut filter = BloomPlan::new(0.01, 100, 2, 7).build(FREE).unwrap();
        let mut item = 0u64;
        while filter.items() < 800_000 {
            filter.insert(&item.to_le_bytes(), || FREE).unwrap();
            item += 1;
        }
        let bits = filter.filter().memory_bytes() as f64 * 8.0 / 800_000.0;
        assert!(bits <= 16.0, "{bits}");
        assert!(filter.filter().fpp() <= 0.01);
    }

    #[test]
    fn a_filter_that_is_filled_as_planned_takes_no_more_than_half_of_the_rate_costs() {
        for capacity in [1_000, 100_000] {
            let filter = BloomPlan::new(0.01, capacity, 2, 7).build(FREE).unwrap();
            let half = gardenia::ScalableBloom::builder().fpp(0.01).tightening(0.5).items(capacity);
            assert_eq!(filter.filter().bits(), half.shape(0).unwrap().0.cells);
        }
        let fixed = BloomPlan::new(0.01, 1_000, 0, 7).build(FREE).unwrap();
        assert!(fixed.filter().bits() < 9_900);
    }

    #[test]
    fn a_filter_made_after_a_model_is_as_one_that_was_sized() {
        for plan in [
            BloomPlan::new(0.01, 100, 2, 7),
            BloomPlan::new(0.02, 100, 2, 7),
            BloomPlan::new(0.01, 100_000, 2, 7),
        ] {
            for seed in [7, 8] {
                let plan = BloomPlan { seed, ..plan };
                let (made, sized) = (plan.build(FREE).unwrap(), plan.model(FREE).unwrap());
                assert_eq!(made.filter().to_bytes().unwrap(), sized.to_bytes().unwrap());
            }
            assert_eq!(plan.build(100).unwrap_err(), Refused::Memory);
        }
    }

    #[test]
    fn one_that_does_not_grow_takes_its_capacity_and_knows_what_it_has() {
        let mut filter = BloomPlan::new(0.01, 50, 0, 7).build(FREE).unwrap();
        let mut item = 0u32;
        while filter.items() < 50 {
            filter.insert(&item.to_le_bytes(), || FREE).unwrap();
            item += 1;
        }
        let before = filter.filter().to_bytes().unwrap();
        assert_eq!(filter.insert(&0u32.to_le_bytes(), || FREE), Ok(false));
        let refused = (item..).find_map(|item| filter.insert(&item.to_le_bytes(), || FREE).err());
        assert_eq!(refused, Some(Refused::Full));
        assert_eq!(filter.filter().to_bytes().unwrap(), before);
    }

    #[test]
    fn growth_stops_at_the_limit_and_nothing_changes() {
        let mut filter = filled(&BloomPlan::new(0.01, 1_000, 2, 7), 0);
        let limit = || 3_000;
        let refused = (0u32..).find_map(|item| filter.insert(&item.to_le_bytes(), limit).err()).unwrap();
        assert_eq!((refused, filter.items()), (Refused::Memory, 1_000));
        assert_eq!(BloomPlan::new(0.01, 1_000_000, 2, 7).build(1 << 20).unwrap_err(), Refused::Memory);
    }

    #[test]
    fn batches_are_as_one_by_one() {
        let plan = BloomPlan::new(0.05, 100, 3, 7);
        let items: Vec<[u8; 4]> = (0..5_000u32).map(|item| (item % 3_000).to_le_bytes()).collect();
        let (mut one, mut many) = (plan.build(FREE).unwrap(), plan.build(FREE).unwrap());
        for items in items.chunks(BATCH) {
            let mut new = [false; BATCH];
            many.insert_all(items, &mut new[..items.len()], || FREE).unwrap();
            for (item, new) in items.iter().zip(new) {
                assert_eq!(one.insert(item, || FREE), Ok(new));
            }
            many.contains_all(items, &mut new[..items.len()]);
            assert!(new[..items.len()].iter().all(|&found| found));
        }
        assert_eq!((&*one.filter(), one.left), (&*many.filter(), many.left));
    }

    #[test]
    fn a_few_items_are_digests_and_are_written_as_the_filter_that_they_become() {
        let plan = BloomPlan::new(0.01, 100, 2, 7);
        for items in 0..=20u32 {
            let (few, mut many) = (filled(&plan, items), plan.model(FREE).unwrap());
            (0..items).for_each(|item| _ = many.insert(&item.to_le_bytes()[..]).unwrap());
            assert_eq!(matches!(few.state, State::Few(_)), items <= 16);
            assert_eq!((few.items(), few.left, few.capacity()), (items.into(), 100 - u64::from(items), 100));
            assert_eq!(few.filter().to_bytes().unwrap(), many.to_bytes().unwrap());
            assert_eq!(few.copy().unwrap().filter().to_bytes().unwrap(), many.to_bytes().unwrap());
            for item in 0..1_000u32 {
                assert_eq!(few.contains(&item.to_le_bytes()), item < items);
            }
            assert_eq!(few.memory() == 0, items <= 16);
        }
        // A filter for fewer than these is made at once, and knows when it is full.
        assert!(matches!(BloomPlan::new(0.01, 16, 0, 7).build(FREE).unwrap().state, State::Many(_)));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_not() {
        for plan in [BloomPlan::new(0.01, 100, 2, 7), BloomPlan::new(0.01, 10_000, 0, 8)] {
            let filter = filled(&plan, 5_000);
            let mut bytes = Vec::new();
            filter.write(&mut bytes).unwrap();
            let read = |bytes: &[u8]| Scaling::read(bytes, bytes.len() as u64);
            let again = read(&bytes).unwrap();
            assert_eq!(*again.filter(), *filter.filter());
            assert_eq!((again.left, again.expansion), (filter.left, filter.expansion));
            for at in [0, 300] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 4;
                assert!(read(&damaged).is_none(), "{at}");
            }
        }
    }
}
