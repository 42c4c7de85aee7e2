//! A whole dump in one file: the chunks that `BF.SCANDUMP` or `CF.SCANDUMP` give, one after the
//! other.
//!
//! The first chunk is a header that says how long all arrays are, so that chunks need no marks
//! between them. To load a file into a server, give its header to `LOADCHUNK` with the iterator 1,
//! and then each piece of an array, of at most 16 MiB, with one more than the bytes of all arrays
//! so far.

use super::bloom::{self, BloomChain};
use super::cuckoo::{self, CuckooChain, Limits};
use super::layout::{LayoutError, MAX_CHUNK};
use crate::explain::{CellTable, Holds};
use crate::format::ReadOptions;
use crate::format::cursor::Cursor;
use crate::format::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use crate::{DecodeError, EncodeError, SizeError};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// Redis knows no numbers: all keys are strings of bytes.
const KEYS: &[KeyType] = &[KeyType::Bytes];

fn key_bytes(key: ForeignKey<'_>, format: Format) -> Result<&[u8], KeyError> {
    match key {
        ForeignKey::Text(key) => Ok(key.as_bytes()),
        ForeignKey::Bytes(key) => Ok(key),
        _ => Err(KeyError::Type { filter: format.title(), accepted: KEYS, found: key.key_type().name() }),
    }
}

/// An error unless a file has as many bytes as its header says, and may have them.
fn check_len(needed: u64, found: u64, options: &ReadOptions) -> Result<(), DecodeError> {
    if needed > options.max_bytes {
        return Err(DecodeError::TooLarge { needed, max: options.max_bytes });
    }
    match found.checked_sub(needed) {
        None => Err(DecodeError::Truncated { needed, found }),
        Some(0) => Ok(()),
        Some(extra) => Err(DecodeError::Trailing { extra }),
    }
}

fn sized(error: LayoutError) -> SizeError {
    match error {
        LayoutError::Memory { bytes } | LayoutError::TooLarge { needed: bytes, .. } => {
            SizeError::Memory { bytes }
        }
        _ => SizeError::Conflict("RedisBloom has no filter of this size"),
    }
}

/// A Bloom filter of RedisBloom, as a file of its dump.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, redisbloom::BloomDump};
/// let mut filter = BloomDump::new(1_000, 0.01)?;
/// filter.insert(ForeignKey::Text("rose")).unwrap();
/// let copy = BloomDump::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert!(copy == filter && copy.contains(ForeignKey::Text("rose")).unwrap());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BloomDump(BloomChain);

impl BloomDump {
    /// An empty filter, as `BF.RESERVE key fpp items` makes it: it grows by the factor 2.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        BloomChain::new(fpp, items, Some(2), u64::MAX).map(Self).map_err(sized)
    }

    /// The filter in these bytes, the header and all arrays.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.u64_le()?;
        let layers = u64::from(cursor.u32_le()?);
        let header = bloom::HEADER_BYTES as u64 + layers * bloom::LAYER_BYTES as u64;
        let mut cursor = Cursor::new(bytes);
        let head = cursor.take(header)?;
        let arrays = head[bloom::HEADER_BYTES..]
            .chunks(bloom::LAYER_BYTES)
            .map(|layer| layer.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)));
        let needed = arrays.fold(header, u64::saturating_add);
        check_len(needed, bytes.len() as u64, options)?;
        let mut chain = BloomChain::from_header(head, u64::MAX)?;
        let lens: Vec<u64> = chain.layers().iter().map(bloom::Layer::bytes).collect();
        load(&lens, &mut cursor, |iterator, chunk| chain.load_chunk(iterator, chunk).is_ok())?;
        Ok(Self(chain))
    }

    /// The filter, to be changed or dumped chunk by chunk.
    #[must_use]
    pub fn into_inner(self) -> BloomChain {
        self.0
    }
}

/// Hands the rest of a file to `put` in chunks, none of two arrays.
fn load(
    lens: &[u64],
    cursor: &mut Cursor<'_>,
    mut put: impl FnMut(u64, &[u8]) -> bool,
) -> Result<(), DecodeError> {
    let mut iterator = 1;
    for len in lens {
        for chunk in cursor.take(*len)?.chunks(MAX_CHUNK) {
            iterator += chunk.len() as u64;
            if !put(iterator, chunk) {
                return Err(DecodeError::Damaged("a chunk has no place"));
            }
        }
    }
    cursor.end()
}

/// All bytes of a dump.
fn dumped<'a>(header: Vec<u8>, chunk: impl Fn(u64) -> Option<(u64, &'a [u8])>) -> Vec<u8> {
    let (mut bytes, mut iterator) = (header, 1);
    while let Some((next, piece)) = chunk(iterator) {
        bytes.extend_from_slice(piece);
        iterator = next;
    }
    bytes
}

/// The first layer's numbers have to agree: its bits with its bytes, and the options with what is
/// known.
pub(in crate::format) fn begins(look: &Look<'_>) -> bool {
    let read = || -> Result<bool, DecodeError> {
        let mut cursor = Cursor::new(look.head);
        let (_, layers, options, growth) =
            (cursor.u64_le()?, cursor.u32_le()?, cursor.u32_le()?, cursor.u32_le()?);
        let (bytes, bits, _, error) =
            (cursor.u64_le()?, cursor.u64_le()?, cursor.u64_le()?, cursor.f64_le()?);
        let fits = layers > 0 && matches!(options, 5 | 13) && growth <= bloom::MAX_GROWTH;
        Ok(fits && bytes.checked_mul(8) == Some(bits) && bytes < look.len && error > 0.0 && error < 1.0)
    };
    read().unwrap_or(false)
}

impl Foreign for BloomDump {
    fn format(&self) -> Format {
        Format::RedisBloom
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        Ok(self.0.contains(key_bytes(key, self.format())?))
    }
    fn bits(&self) -> u64 {
        self.0.layers().iter().map(|layer| layer.bytes() * 8).sum()
    }
    fn hashes(&self) -> u32 {
        self.0.layers().last().map_or(0, bloom::Layer::hashes)
    }
    fn fill(&self) -> f64 {
        let set: f64 = self.0.layers().iter().map(|layer| layer.fill() * (layer.bytes() * 8) as f64).sum();
        set / self.bits() as f64
    }
    fn fpp(&self) -> f64 {
        let missed = |layer: &bloom::Layer| 1.0 - libm::pow(layer.fill(), layer.hashes().into());
        1.0 - self.0.layers().iter().map(missed).product::<f64>()
    }
    fn estimated_items(&self) -> Option<f64> {
        Some(self.0.items() as f64)
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        let growth = self.0.growth().map_or_else(|| "none".into(), |growth| format!("{growth}"));
        let layers = self.0.describe().map(|layer| ("layer", layer));
        [("growth", growth), ("capacity", format!("{}", self.0.capacity()))]
            .into_iter()
            .chain(layers)
            .collect()
    }
    fn tables(&self) -> Vec<CellTable> {
        let named = |(number, layer): (usize, &bloom::Layer)| {
            CellTable::bits(layer.bytes() * 8).named(format!("layer {}", number + 1))
        };
        self.0.layers().iter().enumerate().map(named).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.0.layers()[table].bit(at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
        Some(self)
    }
}

impl ForeignInsert for BloomDump {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        let key = key_bytes(key, self.format())?;
        self.0.insert(key, u64::MAX).map_err(|error| KeyError::Full { reason: format!("{error}") })
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        Ok(dumped(self.0.header(), |iterator| self.0.chunk(iterator)))
    }
}

/// A cuckoo filter of RedisBloom, as a file of its dump.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, redisbloom::CuckooDump};
/// let mut filter = CuckooDump::new(1_000)?;
/// filter.insert(ForeignKey::Text("rose")).unwrap();
/// let copy = CuckooDump::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert_eq!(copy.count(ForeignKey::Text("rose")), Ok(Some(1)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuckooDump(CuckooChain);

impl CuckooDump {
    /// An empty filter, as `CF.RESERVE key items` makes it: buckets of 2, 20 iterations, growth 1.
    pub fn new(items: u64) -> Result<Self, SizeError> {
        CuckooChain::new(items, 2, 20, 1, u64::MAX).map(Self).map_err(sized)
    }

    /// The filter in these bytes, the header and all tables.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let head = cursor.take(cuckoo::HEADER_BYTES as u64)?;
        let needed = table_lens(head)?.fold(head.len() as u64, u64::saturating_add);
        check_len(needed, bytes.len() as u64, options)?;
        let mut chain = CuckooChain::from_header(head, u64::MAX)?;
        let lens: Vec<u64> = table_lens(head)?.collect();
        load(&lens, &mut cursor, |iterator, chunk| chain.load_chunk(iterator, chunk).is_ok())?;
        Ok(Self(chain))
    }

    /// The filter, to be changed or dumped chunk by chunk.
    #[must_use]
    pub fn into_inner(self) -> CuckooChain {
        self.0
    }

    fn slots(&self) -> u64 {
        self.bits() / 8
    }
}

/// How long the tables of a header are.
fn table_lens(head: &[u8]) -> Result<impl Iterator<Item = u64>, DecodeError> {
    let mut cursor = Cursor::new(head);
    let (_, buckets, _, tables) = (cursor.u64_le()?, cursor.u64_le()?, cursor.u64_le()?, cursor.u64_le()?);
    let (size, _, growth) = (cursor.u16_le()?, cursor.u16_le()?, cursor.u16_le()?);
    cursor.one_of("number of filters", tables, 1..=cuckoo::MAX_TABLES, "1 to 65536 are allowed")?;
    let first = buckets.saturating_mul(size.into());
    let grown = move |len: &u64| Some(len.saturating_mul(growth.into()));
    Ok(core::iter::successors(Some(first), grown).take(tables as usize))
}

pub(in crate::format) fn begins_cuckoo(look: &Look<'_>) -> bool {
    let Some(head) = look.head.get(..cuckoo::HEADER_BYTES) else { return false };
    let buckets = head[8..16].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let head_len = cuckoo::HEADER_BYTES as u64;
    buckets.is_power_of_two()
        && table_lens(head).is_ok_and(|lens| lens.fold(head_len, u64::saturating_add) == look.len)
}

impl Foreign for CuckooDump {
    fn format(&self) -> Format {
        Format::RedisCuckoo
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        Ok(self.0.contains(key_bytes(key, self.format())?))
    }
    fn count(&self, key: ForeignKey<'_>) -> Result<Option<u64>, KeyError> {
        Ok(Some(self.0.count(key_bytes(key, self.format())?)))
    }
    fn bits(&self) -> u64 {
        8 * (self.0.size() - CuckooChain::size_without_slots(self.0.tables()))
    }
    fn hashes(&self) -> u32 {
        2
    }
    fn fill(&self) -> f64 {
        self.0.items() as f64 / self.slots() as f64
    }
    fn fpp(&self) -> f64 {
        // Two buckets in each table, and 255 fingerprints.
        let asked = 2.0 * f64::from(self.0.bucket_size()) * self.0.tables() as f64;
        1.0 - libm::pow(1.0 - self.fill().min(1.0) / 255.0, asked)
    }
    fn estimated_items(&self) -> Option<f64> {
        Some(self.0.items() as f64)
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        let Self(chain) = self;
        alloc::vec![
            (
                "tables",
                format!(
                    "{}, the first of {} buckets of {}",
                    chain.tables(),
                    chain.buckets(),
                    chain.bucket_size()
                )
            ),
            ("growth", format!("{}", chain.expansion())),
            ("iterations", format!("{}", chain.iterations())),
        ]
    }
    fn tables(&self) -> Vec<CellTable> {
        let named = |number: usize| {
            let cells = self.0.slots(number).len() as u64;
            let table = CellTable::new(format!("table {}", number + 1), Holds::Fingerprints, cells, 8);
            table.together(self.0.bucket_size().into())
        };
        (0..self.0.tables()).map(named).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.0.slots(table)[at as usize].into()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
        Some(self)
    }
}

impl ForeignInsert for CuckooDump {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        let key = key_bytes(key, self.format())?;
        let new = !self.0.contains(key);
        let inserted = self.0.insert(key, Limits::default());
        inserted.map_err(|error| KeyError::Full { reason: format!("{error}") })?;
        Ok(new)
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        Ok(dumped(self.0.header(), |iterator| self.0.chunk(iterator)))
    }
}
