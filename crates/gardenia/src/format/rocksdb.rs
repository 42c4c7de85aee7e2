//! RocksDB's full filter blocks (format version 5 of tables), and where a table file has its block.
//!
//! A block is lines of 64 bytes and five more: `ff`, a kind (0), k and the size of lines, two
//! zeros. A key's line follows from the low half of its hash, its bits from the high half, which is
//! multiplied on. The hash is the *preview* of XXH3 that RocksDB froze in 2019; the final XXH3
//! differs.
//!
//! A table ends with a footer that says where the meta index is, which names the filter block.
//! Filter blocks are stored as they are, without compression. Tables of format versions above 5,
//! and partitioned or Ribbon filters, are refused; so are tables whose properties do not say that
//! the filter holds whole keys, because one of prefixes alone would not find a key that is there. A
//! filter block without its table does not say it, and is taken for one of whole keys.
//!
//! Source: RocksDB's format notes and bytes that 9.8.4 and the library in rocksdict 0.3.29 wrote,
//! with keys of 1 to 4,096 bytes.

use super::ReadOptions;
use super::bit_table::{bit_of, estimated_items};
use super::cursor::{Cursor, copied};
use super::foreign::{Foreign, ForeignKey, Format, KeyError, KeyType, Look};
use crate::DecodeError;
use crate::explain::CellTable;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

const KEYS: &[KeyType] = &[KeyType::Bytes];
const LINE: usize = 64;
/// Bytes of a block behind its lines.
const TRAILER: usize = 5;
/// Bytes of a table's footer.
const FOOTER: usize = 53;
/// The last bytes of a table.
const MAGIC: [u8; 8] = 0x88e2_41b7_85f4_cff7_u64.to_le_bytes();
/// The name of the filter block in the meta index.
const FILTER: &[u8] = b"fullfilter.rocksdb.BuiltinBloomFilter";
/// The name of the properties block there.
const PROPERTIES: &[u8] = b"rocksdb.properties";
/// The property that is "1" if the filter holds whole keys. With a prefix extractor it may hold
/// prefixes beside them, which does no harm.
const WHOLE_KEYS: &[u8] = b"rocksdb.block.based.table.whole.key.filtering";
/// The largest meta index, and properties block, that is read: they have a few short entries.
const MAX_META: u64 = 1 << 20;

/// The Bloom filter of a RocksDB table.
///
/// ```
/// use gardenia::format::{Foreign, ForeignKey, RocksDbBloom};
/// // One line without a bit, 6 bits per key.
/// let block = [&[0; 64][..], &[0xff, 0, 6, 0, 0]].concat();
/// let filter = RocksDbBloom::from_bytes(&block, &Default::default()).unwrap();
/// assert!(!filter.contains(ForeignKey::Text("rose")).unwrap());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RocksDbBloom {
    lines: Vec<u8>,
    hashes: u32,
}

impl RocksDbBloom {
    /// The filter in these bytes: a whole table, or the filter block of one.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let block = if bytes.ends_with(&MAGIC) { find_block(bytes)? } else { bytes };
        let (lines, hashes) = block_parts(block)?;
        Ok(Self { lines: copied(lines, options)?, hashes })
    }

    fn line(&self, at: usize) -> &[u8] {
        &self.lines[at * LINE..(at + 1) * LINE]
    }

    fn line_count(&self) -> usize {
        self.lines.len() / LINE
    }
}

fn block_parts(block: &[u8]) -> Result<(&[u8], u32), DecodeError> {
    let found = block.len() as u64;
    let short = DecodeError::Truncated { needed: (LINE + TRAILER) as u64, found };
    let (lines, trailer) = block.split_last_chunk::<TRAILER>().ok_or(short)?;
    let [kind, sub, packed, ..] = *trailer;
    match kind {
        0xff => {}
        0xfe => return Err(DecodeError::Foreign("a Ribbon filter of RocksDB: only Bloom filters are read")),
        _ => return Err(DecodeError::Foreign("a filter of RocksDB before format version 5 is not read")),
    }
    if sub != 0 || packed >> 5 != 0 || trailer[3..] != [0, 0] {
        return Err(DecodeError::Foreign("an unknown form of RocksDB's filter"));
    }
    let hashes = u32::from(packed & 31);
    if hashes == 0 {
        return Err(DecodeError::Field { field: "hashes", value: 0, rule: "1 to 31 are allowed" });
    }
    if lines.is_empty() || !lines.len().is_multiple_of(LINE) {
        let rule = "whole lines of 64 bytes are needed";
        return Err(DecodeError::Field { field: "length", value: lines.len() as u64, rule });
    }
    Ok((lines, hashes))
}

/// Part of the file, by its place and length.
fn part<'a>(bytes: &'a [u8], cursor: &mut Cursor<'_>) -> Result<&'a [u8], DecodeError> {
    let (start, len) = (cursor.varint()?, cursor.varint()?);
    let end = start.saturating_add(len);
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range
        .and_then(|(start, end)| bytes.get(start..end))
        .ok_or(DecodeError::Truncated { needed: end, found: bytes.len() as u64 })
}

/// The filter block of a table, which must hold whole keys.
fn find_block(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let found = bytes.len() as u64;
    let short = DecodeError::Truncated { needed: FOOTER as u64, found };
    let (_, footer) = bytes.split_last_chunk::<FOOTER>().ok_or(short)?;
    let version = u32::from_le_bytes([footer[41], footer[42], footer[43], footer[44]]);
    if !(1..=5).contains(&version) {
        let rule = "tables of format versions 1 to 5 are read";
        return Err(DecodeError::Field { field: "format version", value: version.into(), rule });
    }
    let meta = part(bytes, &mut Cursor::new(&footer[1..41]))?;
    let place = |name| -> Result<_, DecodeError> {
        entry(meta, name)?.map(|place| part(bytes, &mut Cursor::new(place))).transpose()
    };
    let no_filter = DecodeError::Foreign("the table has no full Bloom filter of RocksDB");
    let filter = place(FILTER)?.ok_or(no_filter)?;
    let properties = place(PROPERTIES)?.unwrap_or_default();
    match entry(properties, WHOLE_KEYS)? {
        Some(b"1") => Ok(filter),
        // Asked for a key, such a filter would miss keys that are there.
        Some(_) => Err(DecodeError::Foreign(
            "the table's filter holds prefixes of keys, not whole keys (whole_key_filtering is off)",
        )),
        None => Err(DecodeError::Foreign(
            "the table does not say whether its filter holds whole keys: a property is missing",
        )),
    }
}

/// The value of a key in a block of RocksDB, which has all of its keys in order.
fn entry<'a>(block: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>, DecodeError> {
    if block.len() as u64 > MAX_META {
        return Err(DecodeError::TooLarge { needed: block.len() as u64, max: MAX_META });
    }
    let Some((rest, restarts)) = block.split_last_chunk::<4>() else { return Ok(None) };
    let tail = (u32::from_le_bytes(*restarts) as usize).saturating_mul(4);
    let len = rest.len().checked_sub(tail).ok_or(DecodeError::Damaged("a block has too many restarts"))?;
    let mut entries = Cursor::new(&rest[..len]);
    let mut key: Vec<u8> = Vec::new();
    while entries.left() > 0 {
        let (shared, own, value) = (entries.varint()?, entries.varint()?, entries.varint()?);
        if shared > key.len() as u64 {
            return Err(DecodeError::Damaged("a key of a block shares more than there is"));
        }
        key.truncate(shared as usize);
        key.extend_from_slice(entries.take(own)?);
        let value = entries.take(value)?;
        if key == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

pub(super) fn is_table(look: &Look<'_>) -> bool {
    look.tail.ends_with(&MAGIC)
}

pub(super) fn is_block(look: &Look<'_>) -> bool {
    let Some(trailer) = look.tail.last_chunk::<TRAILER>() else { return false };
    let fits = matches!(trailer, [0xff, 0, 1..32, 0, 0]);
    fits && look.len > TRAILER as u64 && (look.len - TRAILER as u64).is_multiple_of(LINE as u64)
}

impl Foreign for RocksDbBloom {
    fn format(&self) -> Format {
        Format::RocksDb
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        let key = match key {
            ForeignKey::Text(key) => key.as_bytes(),
            ForeignKey::Bytes(key) => key,
            _ => {
                let (filter, found) = (self.format().title(), key.key_type().name());
                return Err(KeyError::Type { filter, accepted: KEYS, found });
            }
        };
        let hash = preview(key);
        let (low, mut high) = (hash & 0xffff_ffff, (hash >> 32) as u32);
        let line = self.line(((low * self.line_count() as u64) >> 32) as usize);
        Ok((0..self.hashes).all(|_| {
            let bit = (high >> 23) as usize;
            high = high.wrapping_mul(0x9e37_79b9);
            line[bit / 8] >> (bit % 8) & 1 == 1
        }))
    }
    fn bits(&self) -> u64 {
        self.lines.len() as u64 * 8
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    fn fill(&self) -> f64 {
        self.lines.iter().map(|byte| f64::from(byte.count_ones())).sum::<f64>() / self.bits() as f64
    }
    fn fpp(&self) -> f64 {
        let ones = |line: &[u8]| line.iter().map(|byte| f64::from(byte.count_ones())).sum::<f64>();
        let lines = self.lines.chunks(LINE).map(|line| libm::pow(ones(line) / 512.0, self.hashes.into()));
        lines.sum::<f64>() / self.line_count() as f64
    }
    fn estimated_items(&self) -> Option<f64> {
        estimated_items(self.bits(), self.hashes, self.fill())
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        alloc::vec![("lines", alloc::format!("{} of {LINE} bytes", self.line_count()))]
    }
    fn tables(&self) -> Vec<CellTable> {
        alloc::vec![CellTable::bits(self.bits()).together(8 * LINE as u64)]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        bit_of(&self.lines, at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

const PRIME32: [u64; 3] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d];
const PRIME: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// XXH3's default secret, which the preview had, too.
#[rustfmt::skip]
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// The preview of XXH3, without a seed.
fn preview(key: &[u8]) -> u64 {
    let secret = &SECRET;
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[at + i]));
    let half =
        |bytes: &[u8], at: usize| u64::from(u32::from_le_bytes(core::array::from_fn(|i| bytes[at + i])));
    let folded = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let avalanche = |h: u64| {
        let h = (h ^ h >> 37).wrapping_mul(PRIME[2]);
        h ^ h >> 32
    };
    let mix = |at: usize, from: usize| {
        folded(word(key, at) ^ word(secret, from), word(key, at + 8) ^ word(secret, from + 8))
    };
    let len = key.len();
    let mut sum = (len as u64).wrapping_mul(PRIME[0]);
    match len {
        0 => 0,
        1..=3 => {
            let [first, middle, last] = [key[0], key[len / 2], key[len - 1]].map(u64::from);
            let joined = first | middle << 8 | last << 16 | (len as u64) << 24;
            avalanche((joined ^ half(secret, 0)).wrapping_mul(PRIME[0]))
        }
        4..=8 => {
            let joined = (half(key, 0) | half(key, len - 4) << 32) ^ word(secret, 0);
            let mixed = (joined ^ joined >> 51).wrapping_mul(PRIME32[0]).wrapping_add(len as u64);
            avalanche((mixed ^ mixed >> 47).wrapping_mul(PRIME[1]))
        }
        9..=16 => {
            let (a, b) = (word(key, 0) ^ word(secret, 0), word(key, len - 8) ^ word(secret, 8));
            avalanche((len as u64).wrapping_add(a).wrapping_add(b).wrapping_add(folded(a, b)))
        }
        17..=128 => {
            for i in 0..=(len - 1) / 32 {
                let both = mix(16 * i, 32 * i).wrapping_add(mix(len - 16 * (i + 1), 32 * i + 16));
                sum = sum.wrapping_add(both);
            }
            avalanche(sum)
        }
        129..=240 => {
            for i in 0..8 {
                sum = sum.wrapping_add(mix(16 * i, 16 * i));
            }
            sum = avalanche(sum);
            for i in 8..len / 16 {
                sum = sum.wrapping_add(mix(16 * i, 16 * (i - 8) + 3));
            }
            avalanche(sum.wrapping_add(mix(len - 16, 136 - 17)))
        }
        _ => {
            let mut lanes =
                [PRIME32[2], PRIME[0], PRIME[1], PRIME[2], PRIME[3], PRIME32[1], PRIME[4], PRIME32[0]];
            let accumulate = |lanes: &mut [u64; 8], at: usize, from: usize| {
                for (i, lane) in lanes.iter_mut().enumerate() {
                    let value = word(key, at + 8 * i);
                    let keyed = value ^ word(secret, from + 8 * i);
                    let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
                    *lane = lane.wrapping_add(value).wrapping_add(product);
                }
            };
            // 16 stripes of 64 bytes to a block.
            let (stripe, block) = (64, 1024);
            for at in (0..len / stripe * stripe).step_by(stripe) {
                accumulate(&mut lanes, at, at % block / 8);
                if at % block == block - stripe {
                    for (i, lane) in lanes.iter_mut().enumerate() {
                        *lane = ((*lane ^ *lane >> 47) ^ word(secret, SECRET.len() - 64 + 8 * i))
                            .wrapping_mul(PRIME32[0]);
                    }
                }
            }
            if !len.is_multiple_of(stripe) {
                accumulate(&mut lanes, len - stripe, SECRET.len() - 64 - 7);
            }
            for i in 0..4 {
                let (a, b) =
                    (lanes[2 * i] ^ word(secret, 11 + 16 * i), lanes[2 * i + 1] ^ word(secret, 19 + 16 * i));
                sum = sum.wrapping_add(folded(a, b));
            }
            avalanche(sum)
        }
    }
}
