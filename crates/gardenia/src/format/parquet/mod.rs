//! Parquet's split-block Bloom filters: the bytes of one, and the files that hold them.
//!
//! A filter is a small header of Thrift and a bitset, which is a [`SplitBlockBloom`] with XXH64
//! under seed 0: a Parquet filter becomes one of ours, and back, without a change to a bit. A key
//! is hashed as its plain encoding without a length: 4 or 8 little-endian bytes of a number, the
//! bytes of text.
//!
//! Source: the Parquet format's pages on Bloom filters and on its footer; checked with files of
//! pyarrow, DuckDB and Spark.

mod add;
mod column;
mod file;

pub use add::NewFilter;
pub use column::{ColumnType, Logical, Physical, TimeUnit};
pub use file::{ColumnFilters, FilterPlace, ParquetFile};

use super::bit_table::{same, same_type};
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use super::{ReadOptions, thrift};
use crate::explain::{CellTable, Explain};
use crate::hash::{Digest, KeyHasher};
use crate::{DecodeError, EncodeError, Mismatch, SizeError, SplitBlockBloom};
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// Nothing in a filter says which column it is of.
const KEYS: &[KeyType] =
    &[KeyType::Long, KeyType::Int, KeyType::String, KeyType::Double, KeyType::Float, KeyType::Bytes];
/// Bytes of a block.
const BLOCK: u64 = 32;
/// The largest filter that writers make, and the most that an `i32` of whole blocks can say.
const MAX_WRITTEN: u64 = 128 << 20;
const MAX_READ: u64 = i32::MAX as u64 / BLOCK * BLOCK;
/// The longest header that is looked for: those of writers have 15 to 17 bytes.
const MAX_HEADER: usize = 64;

/// A Bloom filter of Parquet: header and bitset, as they lie in a file.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, ParquetFilter};
/// let mut filter = ParquetFilter::new(1_000, 0.01)?;
/// filter.insert(ForeignKey::Long(7)).unwrap();
/// let bytes = filter.to_bytes().unwrap();
/// let copy = ParquetFilter::from_bytes(&bytes, &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Long(7)).unwrap());
/// let ours: gardenia::SplitBlockBloom = copy.into_inner(); // all commands and engines know it
/// assert!(ours.contains(7_i64));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParquetFilter(SplitBlockBloom);

impl ParquetFilter {
    /// An empty filter, sized as writers do it: for `items` keys at `fpp`, rounded up to a power of
    /// two, at most 128 MiB.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        let bytes = bytes_for(items, fpp)?;
        let builder = SplitBlockBloom::builder().bits(bytes * 8).hasher(KeyHasher::xxh64(0));
        Ok(Self(builder.build()?))
    }

    /// One of our filters as Parquet's; an error unless its hash function is XXH64 under seed 0 and
    /// its size below 2 GiB, because a header has no larger number.
    pub fn from_inner(filter: SplitBlockBloom) -> Result<Self, EncodeError> {
        if *filter.hasher() != KeyHasher::xxh64(0) {
            let (what, found) = ("hasher", filter.hasher().id().name());
            return Err(EncodeError::Foreign { format: "Parquet", what, needed: "xxh64 with seed 0", found });
        }
        if filter.bits() / 8 > MAX_READ {
            let (what, needed, found) = ("size", "below 2 GiB", "a larger one");
            return Err(EncodeError::Foreign { format: "Parquet", what, needed, found });
        }
        Ok(Self(filter))
    }

    /// The filter as one of ours.
    #[must_use]
    pub fn into_inner(self) -> SplitBlockBloom {
        self.0
    }

    /// The filter as one of ours, to be asked.
    #[must_use]
    pub fn as_inner(&self) -> &SplitBlockBloom {
        &self.0
    }

    /// The filter in these bytes, header and bitset.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let (header, len) = read_header(bytes)?;
        let mut cursor = Cursor::new(bytes);
        cursor.take(header)?;
        let filter = Self::from_bitset(cursor.take(len)?, options)?;
        cursor.end()?;
        Ok(filter)
    }

    /// The filter of a bitset without its header.
    pub(super) fn from_bitset(bitset: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let (needed, max) = (bitset.len() as u64, options.max_bytes);
        if needed > max {
            return Err(DecodeError::TooLarge { needed, max });
        }
        Ok(Self(SplitBlockBloom::from_bitset(bitset, KeyHasher::xxh64(0))?))
    }

    /// The filter at half the size: neighbouring blocks merged, as a writer would have made it.
    pub fn fold(&self) -> Result<Self, SizeError> {
        self.0.fold().map(Self)
    }

    /// Header and bitset.
    fn file_bytes(&self) -> Vec<u8> {
        let bitset = self.0.to_bitset();
        let mut bytes = header(bitset.len() as u64);
        bytes.extend(bitset);
        bytes
    }

    /// How many bytes header and bitset have.
    fn file_len(&self) -> u64 {
        let bitset = self.0.bits() / 8;
        header(bitset).len() as u64 + bitset
    }

    /// The digest of a plain encoding.
    fn digest(bytes: &[u8]) -> Digest {
        KeyHasher::xxh64(0).digest(bytes)
    }

    fn contains_bytes(&self, bytes: &[u8]) -> bool {
        self.0.contains_digest(Self::digest(bytes))
    }
}

/// The plain encoding of a key, handed to `work`.
fn encoded<T>(key: ForeignKey<'_>, format: Format, work: impl FnOnce(&[u8]) -> T) -> Result<T, KeyError> {
    Ok(match key {
        ForeignKey::Int(key) => work(&key.to_le_bytes()),
        ForeignKey::Long(key) => work(&key.to_le_bytes()),
        ForeignKey::Float(key) => work(&key.to_le_bytes()),
        ForeignKey::Double(key) => work(&key.to_le_bytes()),
        ForeignKey::Text(key) => work(key.as_bytes()),
        ForeignKey::Bytes(key) => work(key),
        ForeignKey::Utf16(_) => {
            return Err(KeyError::Type {
                filter: format.title(),
                accepted: KEYS,
                found: key.key_type().name(),
            });
        }
    })
}

/// m = −8n/ln(1 − p^⅛) bits in bytes, up to a power of two.
pub(super) fn bytes_for(items: u64, fpp: f64) -> Result<u64, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    let bits = -8.0 * items as f64 / libm::log1p(-libm::pow(fpp, 0.125));
    if bits > (MAX_WRITTEN * 8) as f64 {
        return Err(SizeError::TooManyCells { cells: bits as u64, max: MAX_WRITTEN * 8 });
    }
    Ok((bits as u64).div_ceil(8).next_power_of_two().max(BLOCK))
}

/// How long header and bitset are.
fn read_header(bytes: &[u8]) -> Result<(u64, u64), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let (mut len, mut known) = (None, [false; 3]);
    thrift::fields(&mut cursor, &mut |id, value| match id {
        1 => {
            len = Some(value.int()?);
            Ok(())
        }
        // Unions of one member each: BLOCK, XXHASH, UNCOMPRESSED.
        2..=4 => value.fields(&mut |member, value| {
            known[id as usize - 2] = member == 1;
            value.skip()
        }),
        _ => value.skip(),
    })?;
    if known != [true; 3] {
        return Err(DecodeError::Foreign(
            "not a split-block filter of Parquet with XXHASH and without compression",
        ));
    }
    let len = len.ok_or(DecodeError::Damaged("the header of the filter has no length"))?;
    let right =
        u64::try_from(len).ok().filter(|len| (BLOCK..=MAX_READ).contains(len) && len.is_multiple_of(BLOCK));
    match right {
        Some(len) => Ok((cursor.at() as u64, len)),
        None => {
            let rule = "whole blocks of 32 are needed, below 2^31";
            Err(DecodeError::Field { field: "number of bytes", value: len as u64, rule })
        }
    }
}

/// The header that all writers write.
fn header(len: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    thrift::put_field(&mut bytes, 0, 1, thrift::I32);
    thrift::put_zigzag(&mut bytes, len as i64);
    for _ in 0..3 {
        bytes.extend([0x1c, 0x1c, 0, 0]);
    }
    bytes.push(0);
    bytes
}

pub(super) fn is_file(look: &Look<'_>) -> bool {
    // An encrypted footer has a mark of its own, and is refused with a reason.
    look.len >= 12
        && look.head.starts_with(b"PAR1")
        && [&b"PAR1"[..], b"PARE"].iter().any(|mark| look.tail.ends_with(mark))
}

pub(super) fn is_filter(look: &Look<'_>) -> bool {
    read_header(look.head).is_ok_and(|(header, len)| header + len == look.len)
}

impl Foreign for ParquetFilter {
    fn format(&self) -> Format {
        Format::Parquet
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        encoded(key, self.format(), |bytes| self.contains_bytes(bytes))
    }
    fn bits(&self) -> u64 {
        self.0.bits()
    }
    fn hashes(&self) -> u32 {
        self.0.hashes()
    }
    fn fill(&self) -> f64 {
        self.0.fill()
    }
    fn fpp(&self) -> f64 {
        self.0.fpp()
    }
    fn estimated_items(&self) -> Option<f64> {
        Some(self.0.estimated_items().items).filter(|items| items.is_finite())
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        alloc::vec![("blocks", alloc::format!("{} of 32 bytes", self.0.blocks()))]
    }
    fn tables(&self) -> Vec<CellTable> {
        self.0.tables()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.0.cell(table, at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
        Some(self)
    }
}

impl ForeignInsert for ParquetFilter {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        encoded(key, self.format(), |bytes| self.0.insert_digest(Self::digest(bytes)))
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        Some(same_type(self, other).and_then(|other| {
            same("bytes", self.bits() / 8, other.bits() / 8)?;
            self.0.union_with(&other.0)
        }))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        Ok(self.file_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_filter_whose_size_no_header_can_say_is_refused() {
        // Memory that nothing writes to, as far as it goes.
        let of = |bytes: u64| SplitBlockBloom::builder().bits(bytes * 8).hasher(KeyHasher::xxh64(0)).build();
        let error = ParquetFilter::from_inner(of(1 << 31).unwrap()).unwrap_err().to_string();
        assert!(error.contains("below 2 GiB"), "{error}");
        assert!(ParquetFilter::from_inner(of(1 << 20).unwrap()).is_ok());
    }
}
