//! The value behind `BF.*` for keys that were made here: a scalable Bloom filter of the library.
//!
//! The shares of the error rate decide what growth costs. A filter that starts with fewer than 1,000 keys says nothing
//! about its size, and its first slices take no memory to speak of: so the largest share belongs to the slice of some
//! 50,000 keys (see [`peak`](gardenia::Builder::peak)), and from 100 keys to 800,000
//! at 1 % it ends at 15.4 bits per key. A larger capacity is a plan: half of the rate belongs to the first slice, and a
//! filter that is filled as planned takes 11 bits per key at 1 %. A filter that does not grow has the whole rate.
//!
//! The subtle rule: whether a key is new must follow from the value and the key alone, or replicas would drift apart. So
//! everything that a filter was made with, seed included, travels with its creation and is stored with it.

use super::BATCH;
use super::any::grows_here;
use super::stored::{Stored, Whole};
use crate::engine::types::TypeHandle;
use gardenia::filter::ScalableSlice;
use gardenia::index::SchemeId;
use gardenia::{Digest, KeyHasher, ScalableBloom, SizeError};
use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

/// What a filter is made of: two filters of one plan agree in everything after the same items.
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
/// The whole rate to the first slice: what is left to others is not worth a bit.
const ALL_TO_THE_FIRST: f64 = 1e-12;

impl BloomPlan {
    /// A filter for these needs; how its error rate is shared out follows (see the top of this file).
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
                &last.insert((plan, model)).1
            }
        };
        if model.memory_bytes() as u64 > limit {
            return Err(Refused::Memory);
        }
        Ok(Scaling::new(model.fresh(KeyHasher::xxh3(self.seed))?, self.expansion))
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
static LAST: Mutex<Option<(BloomPlan, ScalableBloom)>> = Mutex::new(None);
/// Filters up to this size are kept as models.
const MODEL_BYTES: usize = 4 << 10;

/// Why a filter was not made, or an item not added. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The filter does not grow, and is full.
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
    filter: ScalableBloom,
    expansion: u32,
    /// Items that still go in before a slice is added.
    left: u64,
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
        Self { filter, expansion, left }
    }

    /// The library's filter.
    #[must_use]
    pub fn filter(&self) -> &ScalableBloom {
        &self.filter
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
        self.filter.contains_digest(self.filter.hasher().digest(item))
    }

    /// Answers for up to [`BATCH`] items, in order.
    pub fn contains_all(&self, items: &[impl AsRef<[u8]>], out: &mut [bool]) {
        let mut room = [Digest(0); BATCH];
        self.filter.contains_digests(self.digests(items, &mut room), out);
    }

    /// Adds an item; true if it was certainly absent. `limit` is asked when the filter has to grow.
    #[inline]
    pub fn insert(&mut self, item: &[u8], limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        self.insert_digest(self.filter.hasher().digest(item), limit)
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest, limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        if self.left == 0 {
            return self.grow_for(digest, limit);
        }
        let new = self.filter.insert_digest(digest).map_err(|_| Refused::Memory)?;
        self.left -= u64::from(new);
        Ok(new)
    }

    /// Adds an item to a filter whose slices are full.
    #[cold]
    fn grow_for(&mut self, digest: Digest, limit: impl FnOnce() -> u64) -> Result<bool, Refused> {
        if self.filter.contains_digest(digest) {
            return Ok(false);
        }
        if self.expansion == 0 {
            return Err(Refused::Full);
        }
        let (shape, _) = self.filter.next_slice()?;
        let bytes = (self.filter.memory_bytes() as u64).saturating_add(shape.cells.div_ceil(8));
        if bytes > limit() {
            return Err(Refused::Memory);
        }
        let new = self.filter.insert_digest(digest).map_err(|_| Refused::Memory)?;
        self.left = self.filter.capacity() - self.filter.items();
        Ok(new)
    }

    /// Adds up to [`BATCH`] items in order, and tells of each whether it was certainly absent; at the first that is
    /// refused it stops, and tells how many went in before.
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

    /// Adds the items with these digests in order, and tells of each whether it was certainly absent; at the first that is
    /// refused it stops, and tells how many went in before.
    pub fn insert_digests(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
        limit: impl Fn() -> u64,
    ) -> Result<(), (usize, Refused)> {
        if self.left >= digests.len() as u64 {
            let taken = self.filter.insert_digests(digests, new);
            self.left = self.filter.capacity() - self.filter.items();
            return taken.map_err(|full| (full.taken as usize, Refused::Memory));
        }
        for (at, (digest, new)) in digests.iter().zip(new).enumerate() {
            *new = self.insert_digest(*digest, &limit).map_err(|why| (at, why))?;
        }
        Ok(())
    }

    fn digests<'a>(&self, items: &[impl AsRef<[u8]>], room: &'a mut [Digest; BATCH]) -> &'a [Digest] {
        let hasher = self.filter.hasher();
        for (digest, item) in room.iter_mut().zip(items) {
            *digest = hasher.digest(item.as_ref());
        }
        &room[..items.len()]
    }

    /// Items that it takes before it grows, or is full.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.filter.capacity()
    }

    /// Items that went in.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.filter.items()
    }

    /// The line of BF.DEBUG for each slice.
    pub fn describe(&self) -> impl Iterator<Item = String> + '_ {
        self.filter.slices().enumerate().map(|(number, slice)| {
            let capacity = self.filter.slice_capacity(number);
            let ScalableSlice { bits, hashes, items, .. } = slice;
            let bytes = bits.div_ceil(64) * 8;
            let ratio = gardenia::theory::scalable::peaked_fpp(
                self.filter.target(),
                self.filter.tightening(),
                self.filter.peak(),
                number as u32,
            );
            format!(
                "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:64 capacity:{capacity} size:{items} ratio:{ratio}"
            )
        })
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
        self.filter.write_to(to).map_err(io::Error::other)
    }

    fn read(mut from: impl Read, len: u64) -> Option<Self> {
        let mut expansion = [0; 4];
        from.read_exact(&mut expansion).ok()?;
        let expansion = u32::from_le_bytes(expansion);
        let filter = ScalableBloom::read_from_with(from, &grows_here().max_bytes(len)).ok()?;
        (expansion == 0 || expansion == filter.growth()).then(|| Self::new(filter, expansion))
    }

    fn memory(&self) -> usize {
        // What the library notes of a slice beside its bits is about a cache line.
        self.filter.memory_bytes() + self.filter.slices().count() * (size_of::<ScalableSlice>() + 40)
    }

    fn copy(&self) -> Option<Self> {
        Some(Self { filter: self.filter.to_owned().ok()?, ..*self })
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
        assert_eq!((one.filter(), one.left), (many.filter(), many.left));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_not() {
        for plan in [BloomPlan::new(0.01, 100, 2, 7), BloomPlan::new(0.01, 10_000, 0, 8)] {
            let filter = filled(&plan, 5_000);
            let mut bytes = Vec::new();
            filter.write(&mut bytes).unwrap();
            let read = |bytes: &[u8]| Scaling::read(bytes, bytes.len() as u64);
            let again = read(&bytes).unwrap();
            assert_eq!(again.filter(), filter.filter());
            assert_eq!((again.left, again.expansion), (filter.left, filter.expansion));
            for at in [0, 300] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 4;
                assert!(read(&damaged).is_none(), "{at}");
            }
        }
    }
}
