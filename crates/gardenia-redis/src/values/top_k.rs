//! The value behind `TOPK.*`: the k most frequent items, by HeavyKeeper.
//!
//! Rows of cells, each a fingerprint and a count. An item raises the cell that has its fingerprint;
//! a cell of another one it lowers with probability decay^count, and takes it over at zero. So
//! small counts fade away and large ones hardly ever lose. The largest of an item's cells is its
//! estimate: too low at times, too high only if fingerprints meet.
//!
//! The table of the k largest is the library's [`Candidates`], a heap with the least at the root.
//! It is full of nothing at the beginning; an item whose estimate is not below the root's takes its
//! place. Of equal counts, the one at the root leaves: that order is what clients' tests expect of
//! RedisBloom, so the heap is put right after each count, and sinking goes past equal children; of
//! two equal ones to the left one, which is our choice.
//!
//! Randomness is SplitMix64 with the state stored beside the cells: the same commands give the same
//! value on every replica, also on one that joined in between.
//!
//! Sources: Gong, Yang, Zhang, Li, Uhlig, Chen, Uden and Li, "HeavyKeeper: an accurate algorithm
//! for finding top-k elephant flows" (2018); Steele, Lea and Flood, "Fast splittable pseudorandom
//! number generators" (2014).

use super::stored::{Stored, Whole};
use crate::engine::stats::resized;
use crate::engine::types::TypeHandle;
use crate::redisbloom::layout::{Bytes, LayoutError, Load, Save, check_limit, copied, wrong, zeroed};
use crate::redisbloom::murmur::murmur32;
use gardenia::filter::candidates::{Candidates, Entry};
use gardenia::{Digest, KeyHasher};
use std::cmp::Reverse;
use std::ffi::CStr;
use std::io::{self, Read, Write};

/// Width, depth and decay if nothing else is asked for.
pub const DEFAULTS: (u32, u32, f64) = (8, 7, 0.9);
/// The largest increment that commands take.
pub const MAX_INCREMENT: u32 = 100_000;

/// Bytes of a cell: fingerprint and count.
const CELL: u64 = 8;
/// Bytes that each place of the table is counted with: 8 of the heap, and up to 32 of the index.
const PLACE: u64 = size_of::<Place>() as u64 + 40;
/// What SplitMix64's state moves by.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Below this probability a cell is never lowered: less than once in all draws that can be told
/// apart.
const NEVER: f64 = 1.0 / (1u64 << 53) as f64;

/// How the cells of an item are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hashing {
    /// Made here: by words of its digest.
    Ours,
    /// From RedisBloom: by MurmurHash2 of 32 bits, with the number of the row for a seed. Learnt
    /// from observed tables, by trying seeds until fingerprints and columns came out.
    RedisBloom,
}

/// The seed of RedisBloom's fingerprints.
const PRINT_SEED: u32 = 1919;
/// Bytes of an entry of RedisBloom's heap: fingerprint, length of the item, 8 bytes of no meaning,
/// count, and 4 bytes of no meaning.
const HEAP_ENTRY: usize = 24;
/// The version of RedisBloom's layout in RDB files.
pub const FILE_VERSION: u64 = 0;

/// The most frequent items of a stream.
///
/// ```
/// use gardenia_redis::values::top_k::TopK;
/// let mut top = TopK::new(2, 50, 4, 0.9, u64::MAX)?;
/// assert_eq!(top.add(b"rose", 3, u64::MAX), Ok(None));
/// assert_eq!(top.add(b"tulip", 2, u64::MAX), Ok(None));
/// assert_eq!(top.add(b"daisy", 5, u64::MAX), Ok(Some(b"tulip".to_vec())));
/// assert_eq!(top.list(), [(&b"daisy"[..], 5), (&b"rose"[..], 3)]);
/// assert!(top.contains(b"rose") && !top.contains(b"tulip"));
/// assert_eq!(top.count(b"tulip"), 2); // the cells still know it
/// # Ok::<(), gardenia_redis::redisbloom::layout::LayoutError>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct TopK {
    hashing: Hashing,
    width: u32,
    depth: u32,
    decay: f64,
    random: u64,
    /// Row by row, little-endian: what is stored.
    cells: Vec<u8>,
    /// k of them. Two items with one digest cannot be told apart.
    places: Candidates<Place>,
    /// Bytes of the items in the table.
    item_bytes: u64,
}

/// A place of the table; empty if its count is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    count: u32,
    /// Its position in the heap.
    at: u32,
    digest: Digest,
    item: Box<[u8]>,
}

impl Entry for Place {
    type Rank = u32;
    const BY_PLACE: bool = false;

    fn digest(&self) -> Digest {
        self.digest
    }
    fn rank(&self) -> u32 {
        self.count
    }
    fn is_empty(&self) -> bool {
        self.count == 0
    }
    fn moved(&mut self, at: u32) {
        self.at = at;
    }
}

impl Place {
    fn new(count: u32, digest: Digest, item: Vec<u8>) -> Self {
        Self { count, at: 0, digest, item: item.into_boxed_slice() }
    }
}

impl TopK {
    /// A table of `k` items over `depth` rows of `width` cells, if all of it takes at most
    /// `max_bytes`, long items not counted.
    pub fn new(k: u32, width: u32, depth: u32, decay: f64, max_bytes: u64) -> Result<Self, LayoutError> {
        let mut top = Self::bare(k, width, depth, decay, max_bytes)?;
        (0..k).for_each(|_| _ = top.places.take(Place::default()));
        Ok(top)
    }

    /// The same without places.
    fn bare(k: u32, width: u32, depth: u32, decay: f64, max_bytes: u64) -> Result<Self, LayoutError> {
        if k == 0 {
            return wrong("k", "at least one");
        }
        if width == 0 {
            return wrong("width", "at least one");
        }
        if depth == 0 {
            return wrong("depth", "at least one");
        }
        if !(decay > 0.0 && decay <= 1.0) {
            return wrong("decay value", "must be '<= 1' & '> 0'");
        }
        // 32 bits each: the first product has 64, and the second may overflow.
        let cells = (u64::from(width) * u64::from(depth)).saturating_mul(CELL);
        check_limit(cells.saturating_add(u64::from(k) * PLACE), max_bytes)?;
        let cells = zeroed(cells)?;
        let failed = |_| LayoutError::Memory { bytes: u64::from(k) * PLACE };
        let places = Candidates::reserved(k as usize).map_err(failed)?;
        Ok(Self { hashing: Hashing::Ours, width, depth, decay, random: 0, cells, places, item_bytes: 0 })
    }

    fn digest(item: &[u8]) -> Digest {
        KeyHasher::default().digest(item)
    }

    fn place(&self, digest: Digest) -> Option<&Place> {
        self.places.get(digest, |place| place.digest == digest)
    }

    /// The fingerprint of an item.
    fn print(&self, item: &[u8], digest: Digest) -> u32 {
        match self.hashing {
            Hashing::Ours => digest.0 as u32,
            Hashing::RedisBloom => murmur32(item, PRINT_SEED),
        }
    }

    /// The first byte of an item's cell in each row.
    fn cells<'i>(&self, item: &'i [u8], digest: Digest) -> impl Iterator<Item = usize> + use<'i> {
        let (width, hashing) = (u64::from(self.width), self.hashing);
        (0..self.depth).map(move |row| {
            let column = match hashing {
                // The words of a digest are functions of their own; the digest itself is the fingerprint.
                Hashing::Ours => {
                    let word = digest.word(row.wrapping_add(1));
                    ((u128::from(word) * u128::from(width)) >> 64) as u64
                }
                Hashing::RedisBloom => u64::from(murmur32(item, row)) % width,
            };
            ((u64::from(row) * width + column) * CELL) as usize
        })
    }

    /// Fingerprint and count of a cell.
    fn cell(&self, at: usize) -> (u32, u32) {
        let half =
            |from: usize| self.cells[from..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        (half(at), half(at + 4))
    }

    fn set_cell(&mut self, at: usize, (print, count): (u32, u32)) {
        self.cells[at..at + 4].copy_from_slice(&print.to_le_bytes());
        self.cells[at + 4..at + 8].copy_from_slice(&count.to_le_bytes());
    }

    /// The next random number, above 0 and at most 1.
    fn draw(&mut self) -> f64 {
        let word = Digest(self.random).word(1);
        self.random = self.random.wrapping_add(STEP);
        ((word >> 11) + 1) as f64 * NEVER
    }

    /// Of up to `most` trials, each of which lowers a cell with this count by chance, the number of
    /// the first that does. One draw: the wait for a success is geometric.
    fn lowered_after(&mut self, count: u32, most: u32) -> Option<u32> {
        let chance = libm::pow(self.decay, count.into());
        if chance < NEVER {
            return None;
        }
        // ln(1 − 1) is −∞, and then no trial fails.
        let failures = libm::floor(libm::log(self.draw()) / libm::log1p(-chance));
        (failures < most.into()).then(|| failures as u32 + 1)
    }

    /// Counts an item `by` more times; the item that it pushed out of the table, if any. An error
    /// if the table, with the item in it, would take more than `limit` bytes, or more than there
    /// are: whether it enters is known only when it is counted, so the memory is there before that,
    /// and on an error nothing has changed.
    pub fn add(&mut self, item: &[u8], by: u32, limit: u64) -> Result<Option<Vec<u8>>, LayoutError> {
        if by == 0 {
            return Ok(None);
        }
        let digest = Self::digest(item);
        let at = self.place(digest).map(|place| place.at);
        let mut copy = Vec::new();
        if at.is_none() {
            check_limit(self.memory_bytes().saturating_add(item.len() as u64), limit)?;
            copy = copied(item)?;
        }
        let estimate = self.raise(item, digest, by);
        if let Some(at) = at {
            self.places.raise(at, |place| place.count = estimate.max(place.count));
            return Ok(None);
        }
        if estimate == 0 || !self.places.admits(|least| estimate >= least) {
            return Ok(None);
        }
        let before = self.memory_bytes() as usize;
        self.item_bytes += item.len() as u64;
        let pushed_out = self.places.take(Place::new(estimate, digest, copy)).filter(|old| old.count > 0);
        let pushed_out = pushed_out.map(|old| {
            self.item_bytes -= old.item.len() as u64;
            old.item.into_vec()
        });
        resized(before, self.memory_bytes() as usize);
        Ok(pushed_out)
    }

    /// Raises the cells of an item; its estimate, 0 if no cell is its own.
    fn raise(&mut self, item: &[u8], digest: Digest, by: u32) -> u32 {
        let (print, mut estimate) = (self.print(item, digest), 0);
        for at in self.cells(item, digest) {
            let (mut owner, mut count) = self.cell(at);
            if count == 0 || owner == print {
                (owner, count) = (print, count.saturating_add(by));
            } else {
                let mut left = by;
                if self.decay == 1.0 {
                    // Each trial lowers: as many of them as would make it one, without drawing.
                    let sure = left.min(count) - 1;
                    self.random = self.random.wrapping_add(STEP.wrapping_mul(sure.into()));
                    (count, left) = (count - sure, left - sure);
                }
                while let Some(trials) = self.lowered_after(count, left) {
                    (count, left) = (count - 1, left - trials);
                    if count == 0 {
                        // The one that made it zero counts for the new owner.
                        (owner, count) = (print, left + 1);
                        break;
                    }
                    if left == 0 {
                        break;
                    }
                }
            }
            if owner == print {
                estimate = count.max(estimate);
            }
            if count > 0 {
                self.set_cell(at, (owner, count));
            }
        }
        estimate
    }

    /// Whether an item is in the table.
    #[must_use]
    pub fn contains(&self, item: &[u8]) -> bool {
        self.place(Self::digest(item)).is_some()
    }

    /// How often an item occurred, estimated: by the table, or by the cells if the table lacks it.
    #[must_use]
    pub fn count(&self, item: &[u8]) -> u32 {
        let digest = Self::digest(item);
        if let Some(place) = self.place(digest) {
            return place.count;
        }
        let own_print = self.print(item, digest);
        let own = self.cells(item, digest).map(|at| self.cell(at)).filter(|(print, _)| *print == own_print);
        own.map(|(_, count)| count).max().unwrap_or(0)
    }

    /// The items of the table and their counts, by falling count; of equal counts, as they lie in
    /// the heap: clients' tests expect that order of RedisBloom.
    #[must_use]
    pub fn list(&self) -> Vec<(&[u8], u32)> {
        let filled = self.places.in_heap().filter(|place| place.count > 0);
        let mut list: Vec<_> = filled.map(|place| (&place.item[..], place.count)).collect();
        list.sort_by_key(|(_, count)| Reverse(*count));
        list
    }

    /// Items that the table has room for.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.places.slots() as u32
    }

    /// Cells of a row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The base of the probability with which counts fade.
    #[must_use]
    pub fn decay(&self) -> f64 {
        self.decay
    }

    /// Bytes of memory, with the items.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.cells.len() as u64 + u64::from(self.k()) * PLACE + self.item_bytes
    }

    /// Writes the fields that [`load`](Self::load) reads.
    pub fn save(&self, fields: &mut impl Save) {
        fields.save_u64(self.k().into());
        fields.save_u64(self.width.into());
        fields.save_u64(self.depth.into());
        fields.save_f64(self.decay);
        fields.save_u64(self.random);
        fields.save_bytes(&self.cells);
        // In the heap's order, on which what leaves next depends.
        for place in self.places.in_heap() {
            fields.save_u64(place.count.into());
            if place.count > 0 {
                fields.save_u64(place.item.len() as u64);
                fields.save_bytes(&place.item);
            }
        }
    }

    /// Reads what [`save`](Self::save) wrote, if all of it takes at most `max_bytes`.
    pub fn load(fields: &mut impl Load, max_bytes: u64) -> Result<Self, LayoutError> {
        let (k, width, depth) = (short(fields, "k")?, short(fields, "width")?, short(fields, "depth")?);
        let mut top = Self::bare(k, width, depth, fields.load_f64()?, max_bytes)?;
        top.random = fields.load_u64()?;
        top.cells = fields.load_bytes(top.cells.len() as u64)?;
        if top.cells.as_chunks::<8>().0.iter().any(|cell| cell[4..] == [0; 4] && cell[..4] != [0; 4]) {
            return wrong("cells", "an empty cell has no fingerprint");
        }
        for _ in 0..k {
            let count = short(fields, "count")?;
            let mut place = Place::default();
            if count > 0 {
                let length = fields.load_u64()?;
                check_limit(top.memory_bytes().saturating_add(length), max_bytes)?;
                top.item_bytes += length;
                let item = fields.load_bytes(length)?;
                place = Place::new(count, Self::digest(&item), item);
                if top.place(place.digest).is_some() {
                    return wrong("item", "no item is twice in the table");
                }
            }
            top.places.take(place);
        }
        // What was no heap has moved up.
        if top.places.iter().zip(0..).any(|(place, at)| place.at != at) {
            return wrong("count", "not below that of the place above it in the heap");
        }
        Ok(top)
    }

    /// Writes the fields of RedisBloom's RDB files: k, width, depth, decay, the cells, the heap,
    /// and the item of each place with a zero byte behind it. The state of the random numbers
    /// stands where RedisBloom has an address that no longer means anything, so that replicas draw
    /// the same.
    pub fn save_file(&self, fields: &mut impl Save) {
        [self.k(), self.width, self.depth].into_iter().for_each(|number| fields.save_u64(number.into()));
        fields.save_f64(self.decay);
        fields.save_bytes(&self.cells);
        let mut heap = Vec::with_capacity(self.k() as usize * HEAP_ENTRY);
        for (at, place) in self.places.in_heap().enumerate() {
            let print = if place.count > 0 { self.print(&place.item, place.digest) } else { 0 };
            heap.extend(print.to_le_bytes());
            heap.extend((place.item.len() as u32).to_le_bytes());
            heap.extend(if at == 0 { self.random } else { 0 }.to_le_bytes());
            heap.extend(u64::from(place.count).to_le_bytes());
        }
        fields.save_bytes(&heap);
        self.places.in_heap().for_each(|place| fields.save_bytes(&[&place.item[..], &[0]].concat()));
    }

    /// Reads what RedisBloom wrote in this version. Memory is of the order of the fields, whatever
    /// they say.
    pub fn load_file(version: u64, fields: &mut impl Load) -> Result<Self, LayoutError> {
        if version != FILE_VERSION {
            return Err(LayoutError::Version(version));
        }
        let (k, width, depth) = (short(fields, "k")?, short(fields, "width")?, short(fields, "depth")?);
        let decay = fields.load_f64()?;
        // Both strings are there before memory is taken for a table of their size.
        let cells = fields.load_bytes((u64::from(width) * u64::from(depth)).saturating_mul(CELL))?;
        let heap = fields.load_bytes(u64::from(k) * HEAP_ENTRY as u64)?;
        let mut top = Self { hashing: Hashing::RedisBloom, ..Self::bare(k, width, depth, decay, u64::MAX)? };
        top.cells = cells;
        for (at, entry) in heap.as_chunks::<HEAP_ENTRY>().0.iter().enumerate() {
            let number = |at: usize| entry[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let (length, count) = (u64::from(number(4)), number(16));
            if at == 0 {
                top.random = u64::from(number(8)) | u64::from(number(12)) << 32;
            }
            let mut item = fields.load_bytes(length + 1)?;
            if item.pop() != Some(0) {
                return wrong("item", "a zero byte follows it");
            }
            let mut place = Place::default();
            if count > 0 {
                top.item_bytes += length;
                place = Place::new(count, Self::digest(&item), item);
                if top.place(place.digest).is_some() {
                    return wrong("item", "no item is twice in the table");
                }
            }
            top.places.take(place);
        }
        Ok(top)
    }

    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, LayoutError> {
        let mut copy = Self::bare(self.k(), self.width, self.depth, self.decay, u64::MAX)?;
        (copy.hashing, copy.random, copy.item_bytes) = (self.hashing, self.random, self.item_bytes);
        copy.cells.copy_from_slice(&self.cells);
        for place in self.places.in_heap() {
            copy.places.take(Place::new(place.count, place.digest, copied(&place.item)?));
        }
        Ok(copy)
    }
}

/// What is stored under the key.
pub type Top = Stored<TopK>;

static HANDLE: TypeHandle<Stored<TopK>> = TypeHandle::new();

/// The memory of a value beside the bytes that it is written as: an empty place is 8 bytes there,
/// and [`PLACE`] in memory.
const UNPACKED: u64 = PLACE.div_ceil(8) + 1;

/// Written as its fields, as bytes.
impl Whole for TopK {
    const NAME: &'static CStr = c"gdn-top-k";
    const MARK: [u8; 8] = *b"\x89GDN-TK\xff";
    const LOADCHUNK: &'static CStr = c"GD.LOADCHUNK";

    fn handle() -> &'static TypeHandle<Stored<Self>> {
        &HANDLE
    }

    fn write(&self, to: impl Write) -> io::Result<()> {
        let mut fields = Bytes::new(to);
        self.save(&mut fields);
        fields.finish()
    }

    fn read(from: impl Read, len: u64) -> Option<Self> {
        Self::load(&mut Bytes::new(from), len.saturating_mul(UNPACKED)).ok()
    }

    fn memory(&self) -> usize {
        self.memory_bytes() as usize
    }

    fn copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }
}

/// The next field, a number of 32 bits.
fn short(fields: &mut impl Load, field: &'static str) -> Result<u32, LayoutError> {
    u32::try_from(fields.load_u64()?).map_err(|_| LayoutError::Field { field, rule: "it has 32 bits" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redisbloom::layout::Field;
    use proptest::prelude::*;

    fn fields(top: &TopK) -> Vec<Field> {
        let mut fields = vec![];
        top.save(&mut fields);
        fields
    }

    /// The stream of redis-py's test of `TOPK.ADD`, and the answers that it expects of a server.
    #[test]
    fn items_leave_in_the_order_that_clients_expect() {
        let mut top = TopK::new(3, 50, 4, 0.9, u64::MAX).unwrap();
        let mut add = |item: &str| {
            let out = top.add(item.as_bytes(), 1, u64::MAX).unwrap();
            out.map_or('-', |item| char::from(item[0]))
        };
        let stream = ["A", "B", "C", "D", "E", "A", "A", "B", "C", "G", "D", "B", "D", "A", "E", "E", "1"];
        assert_eq!(stream.map(&mut add).iter().collect::<String>(), "---ACD--E-BC---D-");
        let asked = ["A", "B", "C", "D", "E", "F", "G"];
        assert_eq!(asked.map(|item| top.contains(item.as_bytes()) as u8), [1, 1, 0, 0, 1, 0, 0]);
        assert_eq!(asked.map(|item| top.count(item.as_bytes())), [4, 3, 2, 3, 3, 0, 1]);
        assert_eq!(top.list(), [(&b"A"[..], 4), (b"B", 3), (b"E", 3)]);

        let mut top = TopK::new(5, 20, 4, 0.9, u64::MAX).unwrap();
        let stream =
            "infinity B nan D -infinity infinity infinity B nan G D B D infinity -infinity -infinity";
        stream.split(' ').for_each(|item| _ = top.add(item.as_bytes(), 1, u64::MAX).unwrap());
        let words: Vec<_> = top.list().iter().map(|(item, _)| str::from_utf8(item).unwrap()).collect();
        assert_eq!(words, ["infinity", "B", "D", "-infinity", "nan"]);

        let mut top = TopK::new(3, 10, 3, 1.0, u64::MAX).unwrap();
        let mut add = |item: &str, by| top.add(item.as_bytes(), by, u64::MAX).unwrap();
        assert_eq!([add("bar", 3), add("baz", 6), add("42", 2)], [None, None, None]);
        assert_eq!([add("42", 8), add("xyzzy", 4)], [None, Some(b"bar".to_vec())]);
        assert_eq!(
            ["bar", "baz", "42", "xyzzy", "4"].map(|item| top.count(item.as_bytes())),
            [3, 6, 10, 4, 0]
        );
    }

    /// Golden values: replicas of another version would differ if the order changed.
    #[test]
    fn of_equal_counts_the_same_ones_always_leave() {
        let mut top = TopK::new(6, 500, 4, 0.9, u64::MAX).unwrap();
        let out = ('a'..='z')
            .map(|item| top.add(&[item as u8], 1, u64::MAX).unwrap().map_or('-', |item| item[0].into()));
        assert_eq!(out.collect::<String>(), "------acfghijklmnopqrstuvw");

        // The same for cells and randomness: many items in few cells.
        let mut top = TopK::new(3, 3, 2, 0.9, u64::MAX).unwrap();
        (0..400u32).for_each(|i| _ = top.add(&[(i * i % 61) as u8], 1 + i % 3, u64::MAX).unwrap());
        assert_eq!(top.list(), [(&[48][..], 6), (&[5], 5), (&[46], 5)]);
        assert_eq!(top.random, 1_262_321_832_220_753_689);
    }

    #[test]
    fn what_is_left_of_an_increment_counts_for_the_new_owner() {
        let mut top = TopK::new(2, 1, 1, 1.0, u64::MAX).unwrap(); // one cell, always lowered
        top.add(b"rose", 2, u64::MAX).unwrap();
        top.add(b"tulip", 5, u64::MAX).unwrap(); // one lowers it, one takes it over, and three more come
        assert_eq!(top.list(), [(&b"tulip"[..], 4), (b"rose", 2)]);
        top.add(b"daisy", 4, u64::MAX).unwrap(); // just enough
        assert_eq!((top.count(b"daisy"), top.contains(b"rose")), (1, true));
    }

    /// It took 57 ns for each count that it lowered.
    #[test]
    fn counts_that_are_lowered_for_certain_are_lowered_at_once() {
        let mut table = TopK::new(3, 1, 7, 1.0, u64::MAX).unwrap();
        let most = u32::MAX;
        for (item, by, count) in
            [("a", most, most), ("b", most - 1, 1), ("c", most, most), ("d", 1, most - 1)]
        {
            table.add(item.as_bytes(), by, u64::MAX).unwrap();
            assert_eq!(table.cell(0).1, count, "{item}");
        }
        // The cells, and the random numbers that are used up, are those of as many increments by one.
        let mut at_once = TopK::new(3, 1, 2, 1.0, u64::MAX).unwrap();
        let mut each = TopK::new(3, 1, 2, 1.0, u64::MAX).unwrap();
        for (item, by) in [("a", 10), ("b", 3), ("c", 7), ("d", 9), ("e", 20), ("f", 5)] {
            at_once.add(item.as_bytes(), by, u64::MAX).unwrap();
            (0..by).for_each(|_| _ = each.add(item.as_bytes(), 1, u64::MAX).unwrap());
            assert_eq!((&at_once.cells, at_once.random), (&each.cells, each.random), "{item}");
        }
    }

    #[test]
    fn an_increment_of_nothing_changes_nothing() {
        let mut top = TopK::new(2, 8, 7, 0.9, u64::MAX).unwrap();
        let empty = top.try_clone().unwrap();
        assert_eq!(top.add(b"rose", 0, u64::MAX), Ok(None));
        assert_eq!((&top, top.contains(b"rose")), (&empty, false));
        // Nor for an item that has counts, as many as the root.
        let pushed_out = [b"a", b"b", b"c"].map(|item| top.add(item, 1, u64::MAX).unwrap());
        assert_eq!(pushed_out, [None, None, Some(b"a".to_vec())]);
        let full = top.try_clone().unwrap();
        assert_eq!((top.add(b"a", 0, u64::MAX), top.count(b"a")), (Ok(None), 1));
        assert_eq!(top, full);
    }

    #[test]
    fn parameters_that_cannot_be_are_errors() {
        let new = |k, width, depth, decay| TopK::new(k, width, depth, decay, 1 << 20);
        for (k, width, depth, decay) in [(0, 8, 7, 0.9), (5, 0, 7, 0.9), (5, 8, 0, 0.9), (5, 8, 7, 0.0)] {
            assert!(matches!(new(k, width, depth, decay), Err(LayoutError::Field { .. })));
        }
        for decay in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(new(5, 8, 7, decay), Err(LayoutError::Field { .. })), "{decay}");
        }
        for (k, width, depth) in [(u32::MAX, 8, 7), (5, u32::MAX, u32::MAX), (5, 1 << 17, 1)] {
            assert!(matches!(new(k, width, depth, 0.9), Err(LayoutError::TooLarge { .. })));
        }
    }

    /// Heavy items among many light ones, in cells that all of them share: the light ones fade, the
    /// heavy ones stay.
    #[test]
    fn heavy_items_are_found_among_many_light_ones() {
        let mut top = TopK::new(10, 64, 4, 0.9, u64::MAX).unwrap();
        for round in 0..2_000u32 {
            for heavy in 0..10u32 {
                top.add(&[b'h', heavy as u8], 1 + heavy / 5, u64::MAX).unwrap();
            }
            for light in 0..10u32 {
                top.add(&(round * 10 + light).to_le_bytes(), 1, u64::MAX).unwrap();
            }
        }
        let list = top.list();
        assert!(list.iter().all(|(item, _)| item[0] == b'h' && item.len() == 2), "{list:?}");
        // For each count that a heavy item adds, `light` light ones meet its cell. At count c they lower it with
        // probability decay^c, so that it loses light·decay/(1 - decay) on its way up, and by as much as it has to climb
        // again a share `light` of that; before, it waits 1/decay for a cell with a count of one. Losses are rare
        // events: their variance is not above their mean.
        let (light, decay) = (10.0 / 64.0, 0.9);
        let lost: f64 = light * decay / (1.0 - decay) / (1.0 - light) + 1.0 / decay;
        for heavy in 0..10u8 {
            let (count, truth) = (top.count(&[b'h', heavy]), 2_000 * (1 + u32::from(heavy) / 5));
            assert!(count <= truth, "{heavy}: {count} of {truth}"); // no two fingerprints meet here
            assert!(f64::from(truth - count) <= lost + 5.0 * lost.sqrt(), "{heavy}: {count} of {truth}");
        }
    }

    /// How often a count of 3 is lowered at once, against decay³, within five standard errors; and
    /// how long it takes, against the mean of a geometric wait.
    #[test]
    fn cells_are_lowered_with_the_probability_of_their_count() {
        let mut top = TopK::new(1, 1, 1, 0.8, u64::MAX).unwrap();
        let (trials, chance) = (100_000, 0.8f64.powi(3));
        let waits: Vec<_> = (0..trials).map(|_| f64::from(top.lowered_after(3, u32::MAX).unwrap())).collect();
        let n = f64::from(trials);
        let at_once = waits.iter().filter(|wait| **wait == 1.0).count() as f64;
        let sigma = (n * chance * (1.0 - chance)).sqrt();
        assert!((at_once - n * chance).abs() < 5.0 * sigma, "{at_once} of {n}, standard error {sigma}");
        let (mean, sigma) = (waits.iter().sum::<f64>() / n, ((1.0 - chance) / n).sqrt() / chance);
        assert!((mean - 1.0 / chance).abs() < 5.0 * sigma, "{mean}, standard error {sigma}");
        assert_eq!(top.lowered_after(1_000, u32::MAX), None);
        let mut sure = TopK::new(1, 1, 1, 1.0, u64::MAX).unwrap();
        assert!((0..1_000).all(|_| sure.lowered_after(7, 1) == Some(1)));
    }

    #[test]
    fn an_item_that_there_is_no_memory_for_changes_nothing() {
        let mut top = TopK::new(2, 8, 7, 0.9, u64::MAX).unwrap();
        let empty = top.memory_bytes();
        top.add(b"rose", 3, empty + 4).unwrap();
        assert_eq!(top.memory_bytes(), empty + 4);
        let before = top.try_clone().unwrap();
        assert_eq!(
            top.add(b"lily", 3, empty + 7),
            Err(LayoutError::TooLarge { needed: empty + 8, max: empty + 7 })
        );
        assert_eq!(top, before);
        // One that is in takes no more; one that leaves gives its bytes back.
        assert_eq!(top.add(b"rose", 3, 0), Ok(None));
        assert_eq!(top.add(b"lily", 3, empty + 8), Ok(None));
        assert_eq!(top.add(b"chrysanthemum", 9, u64::MAX), Ok(Some(b"lily".to_vec())));
        assert_eq!(top.memory_bytes(), empty + 4 + 13);
    }

    #[test]
    fn a_table_is_read_from_what_it_was_written_as() {
        for (k, items) in [(1, 0), (1, 1), (1_000, 0), (1_000, 400), (1_000, 3_000)] {
            let mut top = TopK::new(k, 8, 7, 0.9, u64::MAX).unwrap();
            (0..items as u32).for_each(|item| _ = top.add(&item.to_le_bytes(), 1, u64::MAX).unwrap());
            let mut bytes = vec![];
            Whole::write(&top, &mut bytes).unwrap();
            let read = |len: usize| <TopK as Whole>::read(&bytes[..len], len as u64);
            assert_eq!(read(bytes.len()), Some(top), "{k} {items}");
            assert_eq!(read(bytes.len() - 1), None);
        }
        // What is announced is of the order of what is there.
        let mut bytes = vec![];
        Whole::write(&TopK::new(1, 1, 1, 0.9, u64::MAX).unwrap(), &mut bytes).unwrap();
        for field in [0, 8, 16] {
            let mut wide = bytes.clone();
            wide[field + 3] = 255;
            let (read, peak) = crate::engine::alloc::peak_of(|| <TopK as Whole>::read(&wide[..], 64));
            assert!(read.is_none() && peak < 4096, "{field}: {peak}");
        }
    }

    #[test]
    fn stored_tables_are_checked() {
        let mut top = TopK::new(3, 4, 2, 0.9, u64::MAX).unwrap();
        for (item, by) in [(b"a", 1), (b"b", 2), (b"c", 3)] {
            top.add(item, by, u64::MAX).unwrap();
        }
        let right = fields(&top);
        let load = |fields: &[Field], max| TopK::load(&mut &fields[..], max);
        assert_eq!(load(&right, top.memory_bytes()), Ok(top.try_clone().unwrap()));
        assert!(matches!(load(&right, top.memory_bytes() - 1), Err(LayoutError::TooLarge { .. })));
        let with = |at: usize, field: Field| {
            let mut fields = right.clone();
            fields[at] = field;
            load(&fields, 1 << 20)
        };
        let field = |result: Result<TopK, LayoutError>| match result {
            Err(LayoutError::Field { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(with(0, Field::U64(1 << 32))), "k");
        assert_eq!(field(with(1, Field::U64(0))), "width");
        assert_eq!(field(with(3, Field::F64(f64::NAN))), "decay value");
        assert_eq!(with(2, Field::U64(3)), Err(LayoutError::Length { needed: 96, found: 64 }));
        let mut cells = vec![0; 64];
        cells[0] = 1;
        assert_eq!(field(with(5, Field::Bytes(cells))), "cells");
        assert_eq!(field(with(6, Field::U64(9))), "count"); // the root above its children
        assert_eq!(field(with(9, Field::U64(1 << 32))), "count");
        assert!(matches!(with(10, Field::U64(u64::MAX)), Err(LayoutError::TooLarge { .. })));
        assert_eq!(field(with(11, right[8].clone())), "item");
        assert_eq!(load(&right[..right.len() - 1], 1 << 20), Err(LayoutError::Io));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A model: a sorted list in place of the heap and its index, fed with the same estimates.
        #[test]
        fn the_table_holds_what_entered_and_did_not_leave(
            steps in prop::collection::vec((0u8..40, 0u32..6), 0..400),
            k in 1u32..12,
            width in 1u32..20,
            decay in 0.3..1.0,
        ) {
            let mut top = TopK::new(k, width, 3, decay, u64::MAX).unwrap();
            let mut model: Vec<(Vec<u8>, u32)> = vec![];
            for (item, by) in steps {
                let item = vec![item];
                let least = if model.len() < k as usize { 0 } else { model.iter().map(|place| place.1).min().unwrap() };
                let was_in = model.iter().any(|place| place.0 == item);
                let out = top.add(&item, by, u64::MAX).unwrap();
                let count = top.count(&item);
                if let Some(place) = model.iter_mut().find(|place| place.0 == item) {
                    prop_assert!(count >= place.1 && out.is_none());
                    place.1 = count;
                } else if top.contains(&item) {
                    prop_assert!(count >= least.max(1));
                    model.push((item.clone(), count));
                } else {
                    prop_assert!(count < least || count == 0 || by == 0); // no cell became its own
                }
                if let Some(out) = out {
                    prop_assert!(!was_in);
                    let at = model.iter().position(|place| place.0 == out).unwrap();
                    prop_assert_eq!(model.swap_remove(at).1, least);
                }
                prop_assert!(model.len() <= k as usize);
                let mut list: Vec<_> = model.iter().map(|(item, count)| (&item[..], *count)).collect();
                list.sort_by_key(|(item, count)| (u32::MAX - count, *item));
                let mut told = top.list();
                prop_assert!(told.is_sorted_by_key(|(_, count)| u32::MAX - count));
                told.sort_by_key(|(item, count)| (u32::MAX - count, *item)); // of equal ones any may come first
                prop_assert_eq!(told, list);
                let counts: Vec<u32> = top.places.in_heap().map(|place| place.count).collect();
                let heap = (1..counts.len()).all(|at| counts[(at - 1) / 2] <= counts[at]);
                prop_assert!(heap);
            }
        }

        /// A replica that joins in the middle has the same value at the end.
        #[test]
        fn a_copy_that_was_saved_and_loaded_goes_the_same_way(
            steps in prop::collection::vec((0u8..60, 1u32..9), 1..300),
            half in 0usize..300,
        ) {
            let (mut top, mut copy) = (TopK::new(5, 6, 3, 0.9, u64::MAX).unwrap(), None);
            for (i, (item, by)) in steps.iter().enumerate() {
                if i == half.min(steps.len() - 1) {
                    copy = Some(TopK::load(&mut &fields(&top)[..], 1 << 20).unwrap());
                }
                let out = top.add(&[*item], *by, u64::MAX);
                if let Some(copy) = &mut copy {
                    prop_assert_eq!(copy.add(&[*item], *by, u64::MAX), out);
                }
            }
            prop_assert_eq!(copy, Some(top));
        }
    }
}
