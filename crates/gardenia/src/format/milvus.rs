//! Milvus's blobs of Bloom filters (MBF1): Parquet's blocks behind another header.
//!
//! `MBF1`, two numbers 1 (u16), the keys planned (u64) and their rate (double), blocks (u32), what
//! the keys are (u32: 1 numbers of 64 bits, 2 text), then blocks of 32 bytes; all little-endian.
//!
//! Source: blobs that pymilvus 3.0.2 wrote.

use super::ReadOptions;
use super::bit_table::{same, same_type};
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType};
use super::parquet::ParquetFilter;
use crate::explain::CellTable;
use crate::{DecodeError, EncodeError, Mismatch, SizeError};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// The first bytes.
pub(super) const MARK: &[u8] = b"MBF1";
/// What keys may be.
const LONGS: u32 = 1;
const TEXTS: u32 = 2;

/// A Bloom filter of Milvus.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, MilvusBloom};
/// let mut filter = MilvusBloom::new(100, 0.01)?;
/// filter.insert(ForeignKey::Text("rose")).unwrap();
/// let copy = MilvusBloom::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Text("rose")).unwrap());
/// assert!(copy.contains(ForeignKey::Long(7)).is_err()); // its keys are text
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MilvusBloom {
    items: u64,
    fpp: f64,
    /// What the keys are, once there is one.
    domain: Option<u32>,
    filter: ParquetFilter,
}

impl MilvusBloom {
    /// An empty filter, sized as Milvus does it.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Ok(Self { items, fpp, domain: None, filter: ParquetFilter::new(items, fpp)? })
    }

    /// A Parquet filter as one of Milvus, with keys of this type and the plan that Milvus notes.
    pub fn from_parquet(
        filter: ParquetFilter,
        keys: KeyType,
        items: u64,
        fpp: f64,
    ) -> Result<Self, EncodeError> {
        let domain = match keys {
            KeyType::Long => LONGS,
            KeyType::String => TEXTS,
            other => {
                let (what, needed) = ("keys", "long or string");
                return Err(EncodeError::Foreign { format: "Milvus", what, needed, found: other.name() });
            }
        };
        Ok(Self { items, fpp, domain: Some(domain), filter })
    }

    /// The filter as Parquet's.
    #[must_use]
    pub fn into_parquet(self) -> ParquetFilter {
        self.filter
    }

    /// The filter in these bytes.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(4)? != MARK {
            return Err(DecodeError::Foreign("not a blob of Milvus: it does not begin with MBF1"));
        }
        for (field, rule) in [("version", "1 is known"), ("algorithm", "1 is known")] {
            let value = cursor.u16_le()?.into();
            cursor.one_of(field, value, 1..=1, rule)?;
        }
        let (items, fpp) = (cursor.u64_le()?, cursor.f64_le()?);
        if !(0.0..=1.0).contains(&fpp) {
            let rule = "its bits are not a number from 0 to 1";
            return Err(DecodeError::Field { field: "planned rate", value: fpp.to_bits(), rule });
        }
        let blocks = cursor.u32_le()?.into();
        cursor.one_of("blocks", blocks, 1..=u32::MAX.into(), "at least one is needed")?;
        let domain = cursor.u32_le()?;
        cursor.one_of("type of keys", domain.into(), 1..=2, "1 and 2 are known: numbers and text")?;
        let filter = ParquetFilter::from_bitset(cursor.take(blocks * 32)?, options)?;
        cursor.end()?;
        Ok(Self { items, fpp, domain: Some(domain), filter })
    }

    fn check(&self, key: ForeignKey<'_>) -> Result<u32, KeyError> {
        let domain = match key {
            ForeignKey::Int(_) | ForeignKey::Long(_) => LONGS,
            ForeignKey::Text(_) | ForeignKey::Bytes(_) => TEXTS,
            _ => 0,
        };
        if domain != 0 && self.domain.is_none_or(|known| known == domain) {
            return Ok(domain);
        }
        let (filter, accepted) = (self.format().title(), self.key_types());
        Err(KeyError::Type { filter, accepted, found: key.key_type().name() })
    }
}

/// Numbers are keys of 64 bits.
fn widened(key: ForeignKey<'_>) -> ForeignKey<'_> {
    match key {
        ForeignKey::Int(key) => ForeignKey::Long(key.into()),
        other => other,
    }
}

impl Foreign for MilvusBloom {
    fn format(&self) -> Format {
        Format::Milvus
    }
    fn key_types(&self) -> &'static [KeyType] {
        match self.domain {
            Some(LONGS) => &[KeyType::Long],
            Some(_) => &[KeyType::String],
            None => &[KeyType::Long, KeyType::String],
        }
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        self.check(key)?;
        self.filter.contains(widened(key))
    }
    fn bits(&self) -> u64 {
        self.filter.bits()
    }
    fn hashes(&self) -> u32 {
        self.filter.hashes()
    }
    fn fill(&self) -> f64 {
        self.filter.fill()
    }
    fn fpp(&self) -> f64 {
        self.filter.fpp()
    }
    fn estimated_items(&self) -> Option<f64> {
        self.filter.estimated_items()
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        let keys = if self.domain == Some(LONGS) { "long" } else { "string" };
        let planned = ("planned for", format!("{} keys at {}", self.items, self.fpp));
        [planned, ("keys are", keys.into())].into_iter().chain(self.filter.describe()).collect()
    }
    fn tables(&self) -> Vec<CellTable> {
        self.filter.tables()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.filter.cell(table, at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
        Some(self)
    }
}

impl ForeignInsert for MilvusBloom {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        self.domain = Some(self.check(key)?);
        self.filter.insert(widened(key))
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        let merged = same_type(self, other).and_then(|other: &Self| {
            same("type of keys", self.domain.unwrap_or(0), other.domain.unwrap_or(0))?;
            self.filter.merge_from(&other.filter).unwrap_or(Ok(()))?;
            self.items = self.items.saturating_add(other.items);
            Ok(())
        });
        Some(merged)
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let bitset = self.filter.as_inner().to_bitset();
        let mut bytes = MARK.to_vec();
        bytes.extend([1, 0, 1, 0]);
        bytes.extend(self.items.to_le_bytes());
        bytes.extend(self.fpp.to_le_bytes());
        bytes.extend((bitset.len() as u32 / 32).to_le_bytes());
        bytes.extend(self.domain.unwrap_or(LONGS).to_le_bytes());
        bytes.extend(bitset);
        Ok(bytes)
    }
}
