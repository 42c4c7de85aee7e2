//! The value behind `BF.*` for keys that were made here: a scalable Bloom filter of the library.
//!
//! The shares of the error rate decide what growth costs. A filter that starts with fewer than 1,000 keys says nothing
//! about its size, and its first slices take no memory to speak of: so the largest share belongs to the slice of some
//! 50,000 keys (see [`ScalableBloomBuilder::peak`](gardenia::ScalableBloomBuilder::peak)), and from 100 keys to 800,000
//! at 1 % it ends at 15.4 bits per key. A larger capacity is a plan: half of the rate belongs to the first slice, and a
//! filter that is filled as planned takes 11 bits per key at 1 %. A filter that does not grow has the whole rate.
//!
//! The subtle rule: whether a key is new must follow from the value and the key alone, or replicas would drift apart. So
//! everything that a filter was made with, seed included, travels with its creation and is stored with it.

use crate::engine::ffi::{DigestOf, Io, Rewrite};
use crate::engine::rdb::{PieceWriter, Pieces};
use crate::engine::types::{TypeHandle, Value};
use gardenia::{Digest, KeyHasher, ReadOptions, ScalableBloom, ScalableSlice, SizeError};
use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

/// What a filter is made of: two filters of one plan agree in everything after the same items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
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
}

/// Capacities below this are no plan.
const SMALL: u64 = 1_000;
/// Items of the slice with the largest share, where the capacity is no plan.
const PEAK_ITEMS: u64 = 50_000;
/// The whole rate to the first slice: what is left to others is not worth a bit.
const ALL_TO_THE_FIRST: f64 = 1e-12;

impl Plan {
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
        Self { error, capacity, expansion, seed, tightening, peak }
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
            .seed(self.seed);
        let (shape, _) = builder.shape(0)?;
        if shape.cells.div_ceil(8) > limit {
            return Err(Refused::Memory);
        }
        Ok(builder.build()?)
    }
}

/// The plan of the last small filter, without its seed, and an empty filter of it.
static LAST: Mutex<Option<(Plan, ScalableBloom)>> = Mutex::new(None);
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

/// Items that are hashed and visited together.
pub const BATCH: usize = 128;

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

    /// Bytes of memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        // What the library notes of a slice beside its bits is about a cache line.
        self.filter.memory_bytes() + self.filter.slices().count() * (size_of::<ScalableSlice>() + 40)
    }

    /// The filter that the reader gives, in `len` bytes: no more is allocated, whatever the header says.
    fn read(mut reader: impl Read, len: u64, expansion: u32) -> Option<Self> {
        let filter = ScalableBloom::read_from_with(&mut reader, &ReadOptions::new().max_bytes(len)).ok()?;
        let at_end = matches!(reader.read(&mut [0]), Ok(0));
        if !at_end || expansion != 0 && expansion != filter.growth() {
            return None;
        }
        Some(Self::new(filter, expansion))
    }

    /// A piece of the filter in the native format: bytes `from..from + len` of it, or what there is of them.
    pub fn window(&self, from: u64, len: usize) -> Option<Vec<u8>> {
        let mut window = Window { skip: from, len, bytes: Vec::new() };
        self.filter.write_to(&mut window).ok()?;
        Some(window.bytes)
    }

    /// Bytes of the native format.
    pub fn native_len(&self) -> Option<u64> {
        let mut count = Count(0);
        self.filter.write_to(&mut count).ok()?;
        Some(count.0)
    }

    /// The line of BF.DEBUG for each slice.
    pub fn describe(&self) -> impl Iterator<Item = String> + '_ {
        self.filter.slices().enumerate().map(|(number, slice)| {
            let capacity = self.filter.slice_capacity(number);
            let ScalableSlice { bits, hashes, items } = slice;
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

/// Keeps a window of what is written.
struct Window {
    skip: u64,
    len: usize,
    bytes: Vec<u8>,
}

impl Write for Window {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.skip -= skipped as u64;
        let rest = &bytes[skipped..];
        let rest = &rest[..rest.len().min(self.len - self.bytes.len())];
        self.bytes.try_reserve(rest.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.bytes.extend_from_slice(rest);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts what is written.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hands what is written to a digest.
struct Digested<'a, 'b>(&'a mut DigestOf<'b>);

impl Write for Digested<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A filter that arrives by BF.LOADCHUNK: its bytes so far. They are checked, and become a filter, when all are there.
#[derive(Debug)]
pub struct Arriving {
    expansion: u32,
    total: u64,
    bytes: Vec<u8>,
}

/// What BF.SCANDUMP gives first and BF.LOADCHUNK takes first: mark, expansion, bytes of the native format that follow.
///
/// RedisBloom's begins with a count of items, 8 bytes little-endian: the mark, read so, is a count that no filter has. And
/// none of its headers (20 bytes and 53 per sub-filter) has 20 bytes.
pub const DUMP_HEADER: usize = 20;
const MARK: [u8; 8] = *b"\x89GDN-BF\xff";

/// The most bytes of a chunk.
pub const CHUNK: usize = 16 << 20;

/// Why bytes were not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadChunk {
    /// They are not the next.
    Offset,
    /// More than were announced.
    TooBig,
    /// All are there, and make no filter.
    Data,
}

impl Arriving {
    /// Reads a header; `None` if it is none of ours.
    #[must_use]
    pub fn announce(header: &[u8]) -> Option<Self> {
        let header: &[u8; DUMP_HEADER] = header.try_into().ok()?;
        let (mark, rest) = header.split_first_chunk::<8>()?;
        let (expansion, total) = rest.split_first_chunk::<4>()?;
        let expansion = u32::from_le_bytes(*expansion);
        let total = u64::from_le_bytes(*total.first_chunk()?);
        let bytes = Vec::new();
        (*mark == MARK && expansion <= 1 << 15 && total > 0).then_some(Self { expansion, total, bytes })
    }

    /// Whether a header is one of ours.
    #[must_use]
    pub fn is_announced(header: &[u8]) -> bool {
        header.starts_with(&MARK)
    }

    fn header(expansion: u32, total: u64) -> [u8; DUMP_HEADER] {
        let mut header = [0; DUMP_HEADER];
        header[..8].copy_from_slice(&MARK);
        header[8..12].copy_from_slice(&expansion.to_le_bytes());
        header[12..].copy_from_slice(&total.to_le_bytes());
        header
    }

    /// Bytes that were announced.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes the bytes that end at `end`; the filter, if these were the last. On an error nothing has changed.
    pub fn take(&mut self, end: u64, chunk: &[u8]) -> Result<Option<Scaling>, BadChunk> {
        let start = self.bytes.len() as u64;
        if start.checked_add(chunk.len() as u64) != Some(end) || chunk.is_empty() {
            return Err(BadChunk::Offset);
        }
        if end > self.total {
            return Err(BadChunk::TooBig);
        }
        self.bytes.try_reserve(chunk.len()).map_err(|_| BadChunk::TooBig)?;
        self.bytes.extend_from_slice(chunk);
        if end < self.total {
            return Ok(None);
        }
        match Scaling::read(&self.bytes[..], self.total, self.expansion) {
            Some(filter) => Ok(Some(filter)),
            None => {
                self.bytes.truncate(start as usize);
                Err(BadChunk::Data)
            }
        }
    }
}

/// What is stored under the key.
#[derive(Debug)]
pub enum Bloom {
    /// A filter.
    Whole(Scaling),
    /// One that is not yet all there.
    Arriving(Arriving),
}

static HANDLE: TypeHandle = TypeHandle::new();

/// Command that makes filters again.
const LOADCHUNK: &CStr = c"BF.LOADCHUNK";

impl Bloom {
    /// Header for BF.SCANDUMP.
    #[must_use]
    pub fn dump_header(&self) -> Option<[u8; DUMP_HEADER]> {
        match self {
            Self::Whole(filter) => Some(Arriving::header(filter.expansion, filter.native_len()?)),
            Self::Arriving(Arriving { expansion, total, .. }) => Some(Arriving::header(*expansion, *total)),
        }
    }

    /// Bytes for BF.SCANDUMP, from there on.
    #[must_use]
    pub fn dump(&self, from: u64) -> Option<Vec<u8>> {
        match self {
            Self::Whole(filter) => filter.window(from, CHUNK),
            Self::Arriving(Arriving { bytes, .. }) => {
                let rest = bytes.get(usize::try_from(from).ok()?..).unwrap_or_default();
                Some(rest[..rest.len().min(CHUNK)].to_vec())
            }
        }
    }
}

const WHOLE: u64 = 0;
const ARRIVING: u64 = 1;

/// Saved: what it is (0 a filter, 1 one that arrives), expansion, bytes that were announced (0 of a filter), and the
/// bytes of the native format in pieces.
impl Value for Bloom {
    const NAME: &'static CStr = c"gdn-bloom";
    const VERSION: i32 = 1;

    fn handle() -> &'static TypeHandle {
        &HANDLE
    }

    fn load(io: &mut Io<'_>, version: i32) -> Option<Self> {
        if version != Self::VERSION {
            return None;
        }
        let (what, expansion, total) = (io.load_unsigned()?, io.load_unsigned()?, io.load_unsigned()?);
        let expansion = u32::try_from(expansion).ok()?;
        let pieces = Pieces::load(io)?;
        match what {
            WHOLE if total == 0 => {
                let filter = Scaling::read(pieces.reader(), pieces.len(), expansion)?;
                Some(Self::Whole(filter))
            }
            ARRIVING => {
                let mut arriving = Arriving::announce(&Arriving::header(expansion, total))?;
                if pieces.len() >= total {
                    return None;
                }
                for piece in pieces.iter() {
                    arriving.take(arriving.bytes.len() as u64 + piece.len() as u64, piece).ok()?;
                }
                Some(Self::Arriving(arriving))
            }
            _ => None,
        }
    }

    fn save(&self, io: &mut Io<'_>) {
        let (what, expansion, total) = match self {
            Self::Whole(filter) => (WHOLE, filter.expansion, 0),
            Self::Arriving(arriving) => (ARRIVING, arriving.expansion, arriving.total),
        };
        io.save_unsigned(what);
        io.save_unsigned(expansion.into());
        io.save_unsigned(total);
        let mut pieces = PieceWriter::new(io);
        // Neither fails: the writer takes everything, and such a filter can always be stored.
        let _written = match self {
            Self::Whole(filter) => filter.filter.write_to(&mut pieces).is_ok(),
            Self::Arriving(arriving) => pieces.write_all(&arriving.bytes).is_ok(),
        };
        pieces.finish();
    }

    fn rewrite(&self, file: &mut Rewrite<'_>) {
        let Some(header) = self.dump_header() else { return };
        file.emit(LOADCHUNK, 1, &header);
        let mut from = 0;
        while let Some(bytes) = self.dump(from).filter(|bytes| !bytes.is_empty()) {
            from += bytes.len() as u64;
            file.emit(LOADCHUNK, 1 + from as i64, &bytes);
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Whole(filter) => filter.memory(),
            Self::Arriving(arriving) => arriving.bytes.capacity(),
        }
    }

    fn digest(&self, digest: &mut DigestOf<'_>) {
        match self {
            Self::Whole(filter) => {
                digest.add_number(filter.expansion.into());
                // It cannot fail: a digest takes everything.
                let _written = filter.filter.write_to(Digested(digest)).is_ok();
            }
            Self::Arriving(arriving) => {
                digest.add_number(arriving.total);
                digest.add(&arriving.bytes);
            }
        }
    }

    fn copy(&self) -> Option<Self> {
        Some(match self {
            Self::Whole(Scaling { filter, expansion, left }) => {
                Self::Whole(Scaling { filter: filter.to_owned().ok()?, expansion: *expansion, left: *left })
            }
            Self::Arriving(Arriving { expansion, total, bytes }) => {
                let mut copy = Vec::new();
                copy.try_reserve_exact(bytes.len()).ok()?;
                copy.extend_from_slice(bytes);
                Self::Arriving(Arriving { expansion: *expansion, total: *total, bytes: copy })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: u64 = u64::MAX;

    fn filled(plan: &Plan, items: u32) -> Scaling {
        let mut filter = plan.build(FREE).unwrap();
        for item in 0..items {
            filter.insert(&item.to_le_bytes(), || FREE).unwrap();
        }
        filter
    }

    #[test]
    fn from_100_items_to_800_000_it_takes_16_bits_per_item_at_most() {
        let mut filter = Plan::new(0.01, 100, 2, 7).build(FREE).unwrap();
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
            let filter = Plan::new(0.01, capacity, 2, 7).build(FREE).unwrap();
            let half = gardenia::ScalableBloom::builder().fpp(0.01).tightening(0.5).items(capacity);
            assert_eq!(filter.filter().bits(), half.shape(0).unwrap().0.cells);
        }
        let fixed = Plan::new(0.01, 1_000, 0, 7).build(FREE).unwrap();
        assert!(fixed.filter().bits() < 9_900);
    }

    #[test]
    fn a_filter_made_after_a_model_is_as_one_that_was_sized() {
        for plan in [Plan::new(0.01, 100, 2, 7), Plan::new(0.02, 100, 2, 7), Plan::new(0.01, 100_000, 2, 7)] {
            for seed in [7, 8] {
                let plan = Plan { seed, ..plan };
                let (made, sized) = (plan.build(FREE).unwrap(), plan.model(FREE).unwrap());
                assert_eq!(made.filter().to_vec().unwrap(), sized.to_vec().unwrap());
            }
            assert_eq!(plan.build(100).unwrap_err(), Refused::Memory);
        }
    }

    #[test]
    fn one_that_does_not_grow_takes_its_capacity_and_knows_what_it_has() {
        let mut filter = Plan::new(0.01, 50, 0, 7).build(FREE).unwrap();
        let mut item = 0u32;
        while filter.items() < 50 {
            filter.insert(&item.to_le_bytes(), || FREE).unwrap();
            item += 1;
        }
        let before = filter.filter().to_vec().unwrap();
        assert_eq!(filter.insert(&0u32.to_le_bytes(), || FREE), Ok(false));
        let refused = (item..).find_map(|item| filter.insert(&item.to_le_bytes(), || FREE).err());
        assert_eq!(refused, Some(Refused::Full));
        assert_eq!(filter.filter().to_vec().unwrap(), before);
    }

    #[test]
    fn growth_stops_at_the_limit_and_nothing_changes() {
        let mut filter = filled(&Plan::new(0.01, 1_000, 2, 7), 0);
        let limit = || 3_000;
        let refused = (0u32..).find_map(|item| filter.insert(&item.to_le_bytes(), limit).err()).unwrap();
        assert_eq!((refused, filter.items()), (Refused::Memory, 1_000));
        assert_eq!(Plan::new(0.01, 1_000_000, 2, 7).build(1 << 20).unwrap_err(), Refused::Memory);
    }

    #[test]
    fn batches_are_as_one_by_one() {
        let plan = Plan::new(0.05, 100, 3, 7);
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
    fn what_is_dumped_arrives_in_order_or_is_refused() {
        for plan in [Plan::new(0.01, 100, 2, 7), Plan::new(0.01, 10_000, 0, 8)] {
            let whole = Bloom::Whole(filled(&plan, 5_000));
            let header = whole.dump_header().unwrap();
            let bytes = whole.dump(0).unwrap();
            let Bloom::Whole(filter) = &whole else { unreachable!() };
            assert_eq!(filter.window(5, 7).unwrap(), bytes[5..12]);
            assert!(Arriving::announce(&header[1..]).is_none());
            let mut arriving = Arriving::announce(&header).unwrap();
            assert_eq!(arriving.take(7, &bytes[..8]).unwrap_err(), BadChunk::Offset);
            assert!(arriving.take(8, &bytes[..8]).unwrap().is_none());
            assert_eq!(arriving.take(8, &bytes[..8]).unwrap_err(), BadChunk::Offset);
            let end = bytes.len() as u64;
            let longer = [&bytes[8..], b"!"].concat();
            assert_eq!(arriving.take(end + 1, &longer).unwrap_err(), BadChunk::TooBig);
            let mut damaged = bytes.clone();
            damaged[300] ^= 1;
            assert_eq!(arriving.take(end, &damaged[8..]).unwrap_err(), BadChunk::Data);
            let mut too_long = Arriving::announce(&Arriving::header(plan.expansion, end + 1)).unwrap();
            assert!(too_long.take(8, &bytes[..8]).unwrap().is_none());
            assert_eq!(too_long.take(end + 1, &longer).unwrap_err(), BadChunk::Data);
            let mut other = Arriving::announce(&Arriving::header(plan.expansion + 3, end)).unwrap();
            assert_eq!(other.take(end, &bytes).unwrap_err(), BadChunk::Data);
            let arrived = arriving.take(end, &bytes[8..]).unwrap().unwrap();
            assert_eq!(arrived.filter(), filter.filter());
            assert_eq!((arrived.left, arrived.expansion), (filter.left, filter.expansion));
        }
    }
}
