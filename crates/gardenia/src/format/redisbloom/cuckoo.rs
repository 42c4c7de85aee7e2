//! RedisBloom's cuckoo filter: a list of tables of one-byte fingerprints, the newest of which makes
//! room for new keys.
//!
//! A fingerprint lies in one of two buckets of any table, h and h ⊕ 0x5bd1e995·fp, modulo the
//! table's buckets. Those are a power of two, and so is the growth from table to table: only then
//! does either bucket lead to the other one, and to both buckets of an older table, when nothing
//! but the fingerprint is left of the key. Headers with other numbers are refused.
//!
//! A new fingerprint takes the first free slot of its first bucket, then of its second. If there is
//! none, it takes the place of another one in its first bucket, that moves to its other bucket, and
//! so on; the slot that has to go is the first one, then the second one, and so on in turn. With
//! these rules the table of the dump that this was checked with comes out byte by byte. If all
//! iterations are used up, every step is undone and the next table follows.
//!
//! Its layout in an RDB file ([`CuckooChain::save_file`]) was learnt from observed payloads;
//! [`CuckooChain::save`] writes one of our own, which was used before that was known.
//!
//! Source of the idea: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better
//! than Bloom" (2014).

use super::layout::{
    ChunkError, LayoutError, Load, Reader, Save, check_limit, chunk, load_chunk, push, reserved, wrong,
    zeroed,
};
use super::murmur::{MULTIPLIER_32, murmur64};

/// Bytes of a dump's header.
pub const HEADER_BYTES: usize = 38;
/// The most tables that a header may tell of.
pub const MAX_TABLES: u64 = 65_536;
/// The largest growth that commands take.
pub const MAX_EXPANSION: u16 = 32_768;
/// The version of [`CuckooChain::save`].
pub const RDB_VERSION: u64 = 1;

/// The version of RedisBloom's own layout in RDB files.
pub const FILE_VERSION: u64 = 4;

/// What a filter and each of its tables are counted with in `CF.INFO`, beside the slots.
const CHAIN_SIZE: u64 = 40;
const TABLE_SIZE: u64 = 16;

/// A cuckoo filter in RedisBloom's layout.
///
/// ```
/// use gardenia::format::redisbloom::cuckoo::{CuckooChain, Limits};
/// let (mut seen, limits) = (CuckooChain::new(1_000, 2, 20, 1, u64::MAX)?, Limits::default());
/// seen.insert(b"rose", limits).unwrap();
/// seen.insert(b"rose", limits).unwrap();
/// assert_eq!((seen.count(b"rose"), seen.count(b"thistle")), (2, 0));
/// assert!(seen.remove(b"rose") && seen.remove(b"rose") && !seen.remove(b"rose"));
/// # Ok::<(), gardenia::format::redisbloom::layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuckooChain {
    items: u64,
    deletes: u64,
    buckets: u64,
    bucket_size: u16,
    iterations: u16,
    expansion: u16,
    tables: Vec<Vec<u8>>,
}

/// How far a filter may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole filter, as [`CuckooChain::size`] counts them.
    pub max_bytes: u64,
    /// Tables.
    pub max_tables: u64,
}

impl Default for Limits {
    /// Any memory, and 32 tables.
    fn default() -> Self {
        Self { max_bytes: u64::MAX, max_tables: 32 }
    }
}

/// This many bytes, and 32 tables.
impl From<u64> for Limits {
    fn from(max_bytes: u64) -> Self {
        Self { max_bytes, ..Self::default() }
    }
}

/// A key that cannot go in; the filter has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// No place was found, and the filter does not grow.
    #[error("Filter is full")]
    Full,
    /// No place was found, and there are as many tables as may be.
    #[error("Maximum expansions reached")]
    Expansions,
    /// The next table cannot be made.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// A key's fingerprint, never 0, and its hash value.
#[derive(Clone, Copy)]
struct Print {
    value: u8,
    hash: u64,
}

impl Print {
    fn of(key: &[u8]) -> Self {
        let hash = murmur64(key, 0);
        Self { value: (hash % 255) as u8 + 1, hash }
    }

    /// The print of a fingerprint that lies in this bucket of a table; it has the same pair of
    /// buckets there, and in every table of fewer buckets.
    fn found(value: u8, bucket: usize) -> Self {
        Self { value, hash: bucket as u64 }
    }

    /// The hash value of the other bucket.
    fn other(self) -> u64 {
        self.hash ^ u64::from(self.value).wrapping_mul(MULTIPLIER_32.into())
    }

    /// The slots of the first and of the second bucket of a table.
    fn buckets(self, table: &[u8], bucket_size: usize) -> [usize; 2] {
        let last = (table.len() / bucket_size - 1) as u64; // a mask: buckets are a power of two
        [self.hash, self.other()].map(|hash| (hash & last) as usize * bucket_size)
    }

    /// The places of the fingerprint's slots in a table, each once, that hold `value`.
    fn slots(self, table: &[u8], bucket_size: usize, value: u8) -> impl Iterator<Item = usize> {
        let [first, second] = self.buckets(table, bucket_size);
        let second = if first == second { 0..0 } else { second..second + bucket_size };
        (first..first + bucket_size).chain(second).filter(move |slot| table[*slot] == value)
    }
}

impl CuckooChain {
    /// A filter for `capacity` keys: as many buckets as they fill, rounded up to a power of two;
    /// the growth is rounded up, too, and 0 is none. Only if it takes at most `max_bytes`.
    pub fn new(
        capacity: u64,
        bucket_size: u16,
        iterations: u16,
        expansion: u16,
        max_bytes: u64,
    ) -> Result<Self, LayoutError> {
        if bucket_size == 0 || bucket_size > 255 {
            return wrong("bucket size", "it is between 1 and 255");
        }
        let buckets = (capacity / u64::from(bucket_size)).max(1).checked_next_power_of_two();
        let Some(buckets) = buckets else {
            return Err(LayoutError::TooLarge { needed: u64::MAX, max: max_bytes });
        };
        let expansion = match expansion {
            0 => 0,
            1..=MAX_EXPANSION => expansion.next_power_of_two(),
            _ => return wrong("expansion", "it is between 0 and 32768"),
        };
        let empty =
            Self { items: 0, deletes: 0, buckets, bucket_size, iterations, expansion, tables: Vec::new() };
        empty.with_tables(1, max_bytes)
    }

    /// The filter with its tables, all empty, if what it says of itself can be.
    fn with_tables(mut self, tables: u64, max_bytes: u64) -> Result<Self, LayoutError> {
        let sizes = self.sizes(tables, max_bytes)?;
        self.tables = reserved(tables)?;
        for size in sizes {
            self.tables.push(zeroed(size)?);
        }
        Ok(self)
    }

    /// The slots of this number of tables, if the filter's numbers are possible, and all of it
    /// takes at most `max_bytes`.
    fn sizes(&self, tables: u64, max_bytes: u64) -> Result<impl Iterator<Item = u64> + use<>, LayoutError> {
        if self.bucket_size == 0 || self.bucket_size > 255 {
            return wrong("bucket size", "it is between 1 and 255");
        }
        if self.iterations == 0 {
            return wrong("iterations", "at least one");
        }
        if !self.buckets.is_power_of_two() {
            return wrong("buckets", "a power of two");
        }
        if self.expansion != 0 && (self.expansion > MAX_EXPANSION || !self.expansion.is_power_of_two()) {
            return wrong("expansion", "0 or a power of two up to 32768");
        }
        if tables == 0 || tables > MAX_TABLES || (tables > 1 && self.expansion == 0) {
            return wrong("number of filters", "at least one, and one only without growth");
        }
        let (mut slots, mut size) = (self.buckets.checked_mul(self.bucket_size.into()), CHAIN_SIZE);
        let first = slots.unwrap_or(0);
        for table in 0..tables {
            if table > 0 {
                slots = slots.and_then(|slots| slots.checked_mul(self.expansion.into()));
            }
            let table_size = slots.and_then(|slots| slots.checked_add(TABLE_SIZE));
            size = table_size.and_then(|bytes| bytes.checked_add(size)).unwrap_or(u64::MAX);
            check_limit(size, max_bytes.min(u64::MAX - 1))?;
        }
        if self.items > size - CHAIN_SIZE - tables * TABLE_SIZE {
            return wrong("number of items", "not more than slots");
        }
        let expansion = u64::from(self.expansion);
        // No overflow: seen above.
        Ok((0..tables)
            .scan(first, move |slots, _| Some(std::mem::replace(slots, slots.wrapping_mul(expansion)))))
    }

    /// Whether `key` may be in: never false for a key that is.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let (print, size) = (Print::of(key), self.bucket_slots());
        self.tables.iter().rev().any(|table| print.slots(table, size, print.value).next().is_some())
    }

    /// How often `key` is in, or keys that cannot be told from it.
    #[must_use]
    pub fn count(&self, key: &[u8]) -> u64 {
        let (print, size) = (Print::of(key), self.bucket_slots());
        self.tables.iter().map(|table| print.slots(table, size, print.value).count() as u64).sum()
    }

    /// Puts `key` in once more. May add a table.
    pub fn insert(&mut self, key: &[u8], limits: Limits) -> Result<(), InsertError> {
        let (print, size) = (Print::of(key), self.bucket_slots());
        let free = self.tables.iter_mut().any(|table| put(table, size, print));
        let last = self.tables.last_mut();
        if !free && !last.is_some_and(|table| make_room(table, size, print, self.iterations)) {
            let mut table = self.grown(limits)?;
            put(&mut table, size, print); // it is empty
            push(&mut self.tables, table)?;
        }
        self.items = self.items.saturating_add(1);
        Ok(())
    }

    /// Puts `key` in if it is certainly absent; true if it went in.
    pub fn insert_if_absent(&mut self, key: &[u8], limits: Limits) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        self.insert(key, limits).map(|()| true)
    }

    /// The next table.
    fn grown(&self, limits: Limits) -> Result<Vec<u8>, InsertError> {
        if self.expansion == 0 {
            return Err(InsertError::Full);
        }
        if self.tables.len() as u64 >= limits.max_tables.min(MAX_TABLES) {
            return Err(InsertError::Expansions);
        }
        let last = self.tables.last().map_or(0, Vec::len) as u64;
        let too_large = LayoutError::TooLarge { needed: u64::MAX, max: limits.max_bytes };
        let slots = last.checked_mul(self.expansion.into()).ok_or(too_large)?;
        check_limit(self.size().saturating_add(TABLE_SIZE).saturating_add(slots), limits.max_bytes)?;
        Ok(zeroed(slots)?)
    }

    /// Removes `key` once; false, and nothing changes, if it is absent. Remove only what was
    /// inserted: another key may have the same fingerprint.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let (print, size) = (Print::of(key), self.bucket_slots());
        // From the newest table first, so that it may become empty.
        for table in self.tables.iter_mut().rev() {
            let slot = print.slots(table, size, print.value).next();
            if let Some(slot) = slot {
                table[slot] = 0;
                self.items = self.items.saturating_sub(1);
                self.deletes = self.deletes.saturating_add(1);
                return true;
            }
        }
        false
    }

    /// Moves fingerprints of the newest tables to free slots of older ones, and drops tables that
    /// are empty then. All keys that were in still are.
    pub fn compact(&mut self) {
        let size = self.bucket_slots();
        while let Some((newest, older)) = self.tables.split_last_mut().filter(|(_, older)| !older.is_empty())
        {
            let mut left = false;
            for (slot, value) in newest.iter_mut().enumerate().filter(|(_, value)| **value != 0) {
                let print = Print::found(*value, slot / size);
                if older.iter_mut().any(|table| put(table, size, print)) {
                    *value = 0;
                } else {
                    left = true;
                }
            }
            if left {
                break;
            }
            self.tables.pop();
        }
        self.deletes = 0;
    }

    fn bucket_slots(&self) -> usize {
        self.bucket_size.into()
    }

    /// Fingerprints that went in and were not removed.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Fingerprints removed since the filter was last compacted.
    #[must_use]
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// Buckets of the first table.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// Slots of a bucket.
    #[must_use]
    pub fn bucket_size(&self) -> u16 {
        self.bucket_size
    }

    /// Steps that are tried to make room for a key.
    #[must_use]
    pub fn iterations(&self) -> u16 {
        self.iterations
    }

    /// How much larger each table is than the one before; 0 if none follows.
    #[must_use]
    pub fn expansion(&self) -> u16 {
        self.expansion
    }

    /// How many tables there are; never none.
    #[must_use]
    pub fn tables(&self) -> usize {
        self.tables.len()
    }

    /// The slots of a table.
    pub(super) fn slots(&self, table: usize) -> &[u8] {
        &self.tables[table]
    }

    /// Bytes of memory, as RedisBloom counts them.
    ///
    /// ```
    /// use gardenia::format::redisbloom::cuckoo::CuckooChain;
    /// assert_eq!(CuckooChain::new(1000, 2, 20, 1, u64::MAX)?.size(), 1080); // the example of CF.INFO's page
    /// # Ok::<(), gardenia::format::redisbloom::layout::LayoutError>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u64 {
        self.tables.iter().fold(CHAIN_SIZE, |sum, table| sum + TABLE_SIZE + table.len() as u64)
    }

    /// What [`size`](Self::size) counts beside the slots.
    pub(super) fn size_without_slots(tables: usize) -> u64 {
        CHAIN_SIZE + TABLE_SIZE * tables as u64
    }

    /// The header of a dump.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        let numbers = [self.items, self.buckets, self.deletes, self.tables.len() as u64];
        numbers.iter().for_each(|number| header.extend(number.to_le_bytes()));
        let shorts = [self.bucket_size, self.iterations, self.expansion];
        shorts.iter().for_each(|number| header.extend(number.to_le_bytes()));
        header
    }

    /// The filter that a dump's header tells of, its slots still empty, if it takes at most
    /// `max_bytes`.
    pub fn from_header(header: &[u8], max_bytes: u64) -> Result<Self, LayoutError> {
        if header.len() != HEADER_BYTES {
            return Err(LayoutError::Length { needed: HEADER_BYTES as u64, found: header.len() as u64 });
        }
        let mut reader = Reader(header);
        let (items, buckets, deletes, tables) = (reader.u64(), reader.u64(), reader.u64(), reader.u64());
        let (bucket_size, iterations, expansion) = (reader.u16(), reader.u16(), reader.u16());
        let chain = Self { items, deletes, buckets, bucket_size, iterations, expansion, tables: Vec::new() };
        chain.with_tables(tables, max_bytes)
    }

    /// The chunk of a dump behind `iterator`, and the iterator behind it; 1 gives the first, `None`
    /// is the end.
    #[must_use]
    pub fn chunk(&self, iterator: u64) -> Option<(u64, &[u8])> {
        chunk(self.tables.iter().map(Vec::as_slice), iterator)
    }

    /// Puts in the chunk of a dump that ends before `iterator`.
    pub fn load_chunk(&mut self, iterator: u64, bytes: &[u8]) -> Result<(), ChunkError> {
        load_chunk(self.tables.iter_mut(), iterator, bytes)
    }

    /// Writes the fields of RedisBloom's RDB files: tables, buckets, items, deletes, bucket size,
    /// iterations, expansion; then of each table its buckets, and its slots.
    pub fn save_file(&self, fields: &mut impl Save) {
        let numbers = [self.tables.len() as u64, self.buckets, self.items, self.deletes];
        let shorts = [self.bucket_size, self.iterations, self.expansion].map(u64::from);
        numbers.into_iter().chain(shorts).for_each(|number| fields.save_u64(number));
        for table in &self.tables {
            fields.save_u64(table.len() as u64 / u64::from(self.bucket_size));
            fields.save_bytes(table);
        }
    }

    /// Reads what RedisBloom wrote in this version, if the filter takes at most `max_bytes`.
    pub fn load_file(version: u64, fields: &mut impl Load, max_bytes: u64) -> Result<Self, LayoutError> {
        if version != FILE_VERSION {
            return Err(LayoutError::Version(version));
        }
        let (tables, buckets) = (fields.load_u64()?, fields.load_u64()?);
        let (items, deletes) = (fields.load_u64()?, fields.load_u64()?);
        let (bucket_size, iterations, expansion) =
            (short(fields, "bucket size")?, short(fields, "iterations")?, short(fields, "expansion")?);
        let chain = Self { items, deletes, buckets, bucket_size, iterations, expansion, tables: Vec::new() };
        let sizes = chain.sizes(tables, max_bytes)?;
        let mut chain = Self { tables: reserved(tables)?, ..chain };
        for size in sizes {
            if fields.load_u64()? != size / u64::from(bucket_size) {
                return wrong("buckets", "those of the table before, times the expansion");
            }
            let table = fields.load_bytes(size)?;
            chain.tables.push(table);
        }
        Ok(chain)
    }

    /// Writes the fields of our own file: the header's numbers in its order, then each table.
    pub fn save(&self, fields: &mut impl Save) {
        let numbers = [self.items, self.buckets, self.deletes, self.tables.len() as u64];
        let shorts = [self.bucket_size, self.iterations, self.expansion].map(u64::from);
        numbers.into_iter().chain(shorts).for_each(|number| fields.save_u64(number));
        self.tables.iter().for_each(|table| fields.save_bytes(table));
    }

    /// Reads what [`save`](Self::save) wrote in this version, if the filter takes at most
    /// `max_bytes`.
    pub fn load(version: u64, fields: &mut impl Load, max_bytes: u64) -> Result<Self, LayoutError> {
        if version != RDB_VERSION {
            return Err(LayoutError::Version(version));
        }
        let (items, buckets) = (fields.load_u64()?, fields.load_u64()?);
        let (deletes, tables) = (fields.load_u64()?, fields.load_u64()?);
        let (bucket_size, iterations, expansion) =
            (short(fields, "bucket size")?, short(fields, "iterations")?, short(fields, "expansion")?);
        let chain = Self { items, deletes, buckets, bucket_size, iterations, expansion, tables: Vec::new() };
        let mut chain = chain.with_tables(tables, max_bytes)?;
        for table in &mut chain.tables {
            *table = fields.load_bytes(table.len() as u64)?;
        }
        Ok(chain)
    }
}

/// The next field, a number of 16 bits.
fn short(fields: &mut impl Load, field: &'static str) -> Result<u16, LayoutError> {
    let rule = "it has 16 bits";
    u16::try_from(fields.load_u64()?).map_err(|_| LayoutError::Field { field, rule })
}

/// Puts a fingerprint into a free slot of its buckets, if there is one.
fn put(table: &mut [u8], bucket_size: usize, print: Print) -> bool {
    let slot = print.slots(table, bucket_size, 0).next();
    slot.is_some_and(|slot| {
        table[slot] = print.value;
        true
    })
}

/// Moves fingerprints to their other buckets until one finds a free slot. If `iterations` do not
/// do, all is as before.
fn make_room(table: &mut [u8], bucket_size: usize, print: Print, iterations: u16) -> bool {
    let last = table.len() / bucket_size - 1;
    let other = |value: u8, bucket: usize| Print::found(value, bucket).other() as usize & last;
    let (mut bucket, mut value) = (print.hash as usize & last, print.value);
    for step in 0..usize::from(iterations) {
        std::mem::swap(&mut table[bucket * bucket_size + step % bucket_size], &mut value);
        bucket = other(value, bucket);
        let slots = &mut table[bucket * bucket_size..][..bucket_size];
        if let Some(free) = slots.iter_mut().find(|slot| **slot == 0) {
            *free = value;
            return true;
        }
    }
    for step in (0..usize::from(iterations)).rev() {
        bucket = other(value, bucket);
        std::mem::swap(&mut table[bucket * bucket_size + step % bucket_size], &mut value);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u32) -> [u8; 4] {
        i.to_le_bytes()
    }

    #[test]
    fn a_full_filter_without_growth_says_so_and_has_not_changed() {
        let mut filter = CuckooChain::new(64, 2, 50, 0, u64::MAX).unwrap();
        let mut inside = 0;
        let full = loop {
            let before = filter.clone();
            match filter.insert(&key(inside), Limits::default()) {
                Ok(()) => inside += 1,
                error => break (error, before),
            }
        };
        assert_eq!(full, (Err(InsertError::Full), filter.clone()));
        assert!(inside > 40 && filter.items() == inside.into());
        assert!((0..inside).all(|i| filter.contains(&key(i))));
    }

    #[test]
    fn tables_grow_up_to_the_limits() {
        let mut filter = CuckooChain::new(8, 1, 5, 3, u64::MAX).unwrap();
        let limits = Limits { max_tables: 3, ..Limits::default() };
        let error = (0..1000).find_map(|i| filter.insert(&key(i), limits).err());
        assert_eq!(error, Some(InsertError::Expansions));
        assert_eq!((filter.expansion(), filter.size()), (4, 40 + 3 * 16 + 8 * (1 + 4 + 16)));

        let mut filter = CuckooChain::new(8, 1, 5, 2, u64::MAX).unwrap();
        let limits = Limits { max_bytes: 1000, ..Limits::default() };
        let error = (0..1000).find_map(|i| filter.insert(&key(i), limits).err());
        assert!(matches!(error, Some(InsertError::Layout(LayoutError::TooLarge { max: 1000, .. }))));
        assert!(filter.size() <= 1000 && filter.tables() > 3);
    }

    #[test]
    fn compacting_loses_no_key_and_drops_empty_tables() {
        let mut filter = CuckooChain::new(64, 2, 20, 2, u64::MAX).unwrap();
        (0..600).for_each(|i| filter.insert(&key(i), Limits::default()).unwrap());
        let tables = filter.tables();
        assert!((0..500).all(|i| filter.remove(&key(i))));
        assert_eq!((filter.items(), filter.deletes()), (100, 500));
        filter.compact();
        assert!((500..600).all(|i| filter.contains(&key(i))));
        assert!(filter.tables() < tables);
        assert_eq!((filter.items(), filter.deletes()), (100, 0));
        let slots = filter.tables.iter().flatten().filter(|slot| **slot != 0).count();
        assert_eq!(slots, 100);
    }

    #[test]
    fn a_bucket_that_is_its_own_other_is_counted_once() {
        let mut filter = CuckooChain::new(4, 4, 1, 0, u64::MAX).unwrap(); // one bucket
        (0..4).for_each(|_| filter.insert(b"rose", Limits::default()).unwrap());
        assert_eq!(filter.count(b"rose"), 4);
        assert_eq!(filter.insert(b"rose", Limits::default()), Err(InsertError::Full));
    }

    #[test]
    fn parameters_that_cannot_be_are_errors() {
        let new = |capacity, bucket_size, iterations, expansion| {
            CuckooChain::new(capacity, bucket_size, iterations, expansion, 1 << 30)
        };
        for (bucket_size, iterations, expansion) in [(0, 1, 1), (256, 1, 1), (1, 0, 1), (1, 1, 32_769)] {
            let made = new(10, bucket_size, iterations, expansion);
            assert!(matches!(made, Err(LayoutError::Field { .. })), "{bucket_size} {iterations} {expansion}");
        }
        for capacity in [u64::MAX, 1 << 62, 1 << 31] {
            assert!(matches!(new(capacity, 1, 1, 1), Err(LayoutError::TooLarge { .. })), "{capacity}");
        }
    }
}
