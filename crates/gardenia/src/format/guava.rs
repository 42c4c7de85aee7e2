//! Guava's `BloomFilter`, with both strategies.
//!
//! One byte for the strategy, one for k, the number of words as a big-endian `int`, the words
//! big-endian. The hash is Murmur3's 128-bit function for 64-bit processors, with seed 0, of what
//! the *funnel* makes from a key: the little-endian bytes of an `int` or a `long`, UTF-8 or UTF-16
//! of text, or bytes. A file does not say which funnel it was.
//!
//! Source: Guava, by the bytes that 33.6.0 wrote.

use super::bit_table::{
    BitTable, MAX_WORDS, Probing, bits_for, flipped, insert, probing_foreign, same, same_type,
};
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use super::{ReadOptions, murmur};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec::Vec;

const KEYS: &[KeyType] = &[KeyType::Long, KeyType::Int, KeyType::String, KeyType::Utf16, KeyType::Bytes];
/// Bytes before the words.
const HEAD: u64 = 6;

/// How positions follow from the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// `MURMUR128_MITZ_32`: sums of two 32-bit halves of the first 64 bits; until Guava 11.
    Mitz32,
    /// `MURMUR128_MITZ_64`: sums of both 64-bit halves; what Guava creates.
    Mitz64,
}

/// A Bloom filter of Guava: `BloomFilter.writeTo`.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, GuavaBloom, GuavaStrategy};
/// let mut filter = GuavaBloom::new(1_000, 0.03, GuavaStrategy::Mitz64)?;
/// filter.insert(ForeignKey::Long(7)).unwrap();
/// let copy = GuavaBloom::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Long(7)).unwrap());
/// assert!(!copy.contains(ForeignKey::Int(7)).unwrap()); // another funnel, other bytes
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuavaBloom {
    strategy: Strategy,
    table: BitTable,
}

impl GuavaBloom {
    /// An empty filter, sized as Guava does it.
    pub fn new(items: u64, fpp: f64, strategy: Strategy) -> Result<Self, SizeError> {
        let bits = libm::floor(bits_for(items, fpp)).max(1.0);
        let hashes = libm::round(-libm::log(fpp) / core::f64::consts::LN_2).clamp(1.0, 255.0) as u32;
        Ok(Self { strategy, table: BitTable::new((bits as u64).div_ceil(64), hashes)? })
    }

    /// The filter in these bytes.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let ((strategy, hashes, words), mut cursor) = (head(bytes)?, Cursor::new(bytes));
        cursor.take(HEAD)?;
        let words = cursor.words(words, options, u64::from_be_bytes)?;
        cursor.end()?;
        Ok(Self { strategy, table: BitTable { words, hashes } })
    }

    /// How positions follow from the hash.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }
}

fn head(bytes: &[u8]) -> Result<(Strategy, u32, u64), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let strategy = match cursor.u8()? {
        0 => Strategy::Mitz32,
        1 => Strategy::Mitz64,
        other => {
            let rule = "Guava has the strategies 0 and 1";
            return Err(DecodeError::Field { field: "strategy", value: other.into(), rule });
        }
    };
    let hashes = cursor.u8()?.into();
    cursor.one_of("hashes", hashes, 1..=255, "1 to 255 are allowed")?;
    let words = u64::from(cursor.i32_be()? as u32);
    cursor.one_of("number of words", words, 1..=MAX_WORDS, "it is an int above 0")?;
    Ok((strategy, hashes as u32, words))
}

pub(super) fn begins(look: &Look<'_>) -> Option<Strategy> {
    head(look.head).ok().filter(|(_, _, words)| HEAD + words * 8 == look.len).map(|(strategy, ..)| strategy)
}

impl Probing for GuavaBloom {
    fn table(&self) -> &BitTable {
        &self.table
    }
    fn table_mut(&mut self) -> &mut BitTable {
        &mut self.table
    }
    fn probe(&self, key: ForeignKey<'_>, visit: &mut dyn FnMut(u64) -> bool) -> Result<bool, KeyError> {
        let (low, high) = match key {
            ForeignKey::Int(key) => murmur::x64_128(&key.to_le_bytes()),
            ForeignKey::Long(key) => murmur::x64_128(&key.to_le_bytes()),
            ForeignKey::Text(key) => murmur::x64_128(key.as_bytes()),
            ForeignKey::Bytes(key) => murmur::x64_128(key),
            ForeignKey::Utf16(key) => {
                let bytes: Vec<u8> = key.encode_utf16().flat_map(u16::to_le_bytes).collect();
                murmur::x64_128(&bytes)
            }
            _ => {
                let (filter, found) = (self.format().title(), key.key_type().name());
                return Err(KeyError::Type { filter, accepted: KEYS, found });
            }
        };
        let (bits, hashes) = (self.table.bits(), self.table.hashes);
        Ok(match self.strategy {
            Strategy::Mitz32 => {
                let (first, second) = (low as i32, (low >> 32) as i32);
                let sum = |i: i32| first.wrapping_add(i.wrapping_mul(second));
                (1..=hashes as i32).all(|i| visit(flipped(sum(i)) % bits))
            }
            Strategy::Mitz64 => {
                let sum = |i: u64| low.wrapping_add(i.wrapping_mul(high));
                (0..hashes.into()).all(|i| visit((sum(i) & i64::MAX as u64) % bits))
            }
        })
    }
}

impl Foreign for GuavaBloom {
    fn format(&self) -> Format {
        match self.strategy {
            Strategy::Mitz32 => Format::Guava32,
            Strategy::Mitz64 => Format::Guava,
        }
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn fpp(&self) -> f64 {
        self.table.fpp()
    }
    probing_foreign!();
}

impl ForeignInsert for GuavaBloom {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        insert(self, key)
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        Some(same_type(self, other).and_then(|other| self.merge(other)))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = alloc::vec![self.strategy as u8, self.table.hashes as u8];
        bytes.extend((self.table.words.len() as i32).to_be_bytes());
        bytes.extend(self.table.words.iter().flat_map(|word| word.to_be_bytes()));
        Ok(bytes)
    }
}

impl Merge for GuavaBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        same("strategy", self.strategy as u8, other.strategy as u8)?;
        self.table.merge(&other.table)
    }
}
