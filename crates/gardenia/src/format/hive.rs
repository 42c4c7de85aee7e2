//! Hive's `BloomFilter` and `BloomKFilter` (which Druid takes, too), and the filters of ORC, which
//! have the same hash functions.
//!
//! A file is k in one byte, the number of words as a big-endian `int`, and the words, big-endian.
//! Both kinds have this layout, and nothing in a file tells which it is. A `BloomKFilter` has whole
//! blocks of eight words.
//!
//! Sources: `hive-storage-api` 2.8.1 and ORC, by the bytes that they wrote.

use super::bit_table::{
    BitTable, MAX_WORDS, Probing, bits_for, flipped, hashes_for, insert, probing_foreign, same, same_type,
};
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use super::{ReadOptions, murmur};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec::Vec;

const KEYS: &[KeyType] = &[KeyType::Long, KeyType::String, KeyType::Double];
/// Bytes before the words.
const HEAD: u64 = 5;
/// Words of a block of a `BloomKFilter`.
const BLOCK: u64 = 8;

/// Where a key has its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Hive's `BloomFilter`: anywhere.
    Hive,
    /// Hive's `BloomKFilter`: in one block of 512.
    BloomK,
    /// ORC's `BloomFilter`: anywhere, and others than in Hive's.
    Orc,
}

/// A Bloom filter of Hive, or of an ORC file.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, HiveBloom, HiveLayout};
/// let mut filter = HiveBloom::new_k(1_000)?;
/// filter.insert(ForeignKey::Text("rose")).unwrap();
/// let bytes = filter.to_bytes().unwrap();
/// let copy = HiveBloom::from_bytes(&bytes, HiveLayout::BloomK, &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Text("rose")).unwrap());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiveBloom {
    layout: Layout,
    table: BitTable,
}

impl HiveBloom {
    /// An empty `BloomFilter`, sized as Hive does it.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        let bits = libm::floor(bits_for(items, fpp));
        // One word more than is needed if the bits fill whole words.
        let table = BitTable::new(bits as u64 / 64 + 1, hashes_for(items, bits))?;
        Ok(Self { layout: Layout::Hive, table })
    }

    /// An empty `BloomKFilter`, sized as Hive does it: for 5 % false positives, always.
    pub fn new_k(items: u64) -> Result<Self, SizeError> {
        let bits = libm::floor(bits_for(items, 0.05));
        let words = libm::ceil(bits / 64.0) as u64;
        let table = BitTable::new((words / BLOCK + 1) * BLOCK, hashes_for(items, bits))?;
        Ok(Self { layout: Layout::BloomK, table })
    }

    /// The filter in these bytes.
    pub fn from_bytes(bytes: &[u8], layout: Layout, options: &ReadOptions) -> Result<Self, DecodeError> {
        let ((hashes, words), mut cursor) = (head(bytes, layout)?, Cursor::new(bytes));
        cursor.take(HEAD)?;
        let words = cursor.words(words, options, u64::from_be_bytes)?;
        cursor.end()?;
        Ok(Self { layout, table: BitTable { words, hashes } })
    }

    /// A filter of an ORC file: its hashes and its bits.
    pub(super) fn of_orc(hashes: u32, words: Vec<u64>) -> Self {
        Self { layout: Layout::Orc, table: BitTable { words, hashes } }
    }

    /// Where a key has its bits.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

fn head(bytes: &[u8], layout: Layout) -> Result<(u32, u64), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let hashes = cursor.u8()?.into();
    cursor.one_of("hashes", hashes, 1..=127, "1 to 127 are allowed")?;
    let words = u64::from(cursor.i32_be()? as u32);
    cursor.one_of("number of words", words, 1..=MAX_WORDS, "it is an int above 0")?;
    if layout == Layout::BloomK && !words.is_multiple_of(BLOCK) {
        let rule = "a BloomKFilter has whole blocks of 8";
        return Err(DecodeError::Field { field: "number of words", value: words, rule });
    }
    Ok((hashes as u32, words))
}

pub(super) fn begins(look: &Look<'_>, layout: Layout) -> bool {
    head(look.head, layout).is_ok_and(|(_, words)| HEAD + words * 8 == look.len)
}

impl Probing for HiveBloom {
    fn table(&self) -> &BitTable {
        &self.table
    }
    fn table_mut(&mut self) -> &mut BitTable {
        &mut self.table
    }
    fn probe(&self, key: ForeignKey<'_>, visit: &mut dyn FnMut(u64) -> bool) -> Result<bool, KeyError> {
        let number = match key {
            ForeignKey::Int(key) => Some(key.into()),
            ForeignKey::Long(key) => Some(key),
            // Java's doubleToLongBits; a float is widened first.
            ForeignKey::Float(key) => Some(bits_of(key.into())),
            ForeignKey::Double(key) => Some(bits_of(key)),
            _ => None,
        };
        let hash = match (number, key) {
            (Some(number), _) if self.layout == Layout::BloomK => murmur::hive(&number.to_be_bytes()),
            (Some(number), _) => murmur::wang(number),
            (None, ForeignKey::Text(key)) => murmur::hive(key.as_bytes()),
            (None, ForeignKey::Bytes(key)) => murmur::hive(key),
            (None, other) => {
                let (filter, found) = (self.format().title(), other.key_type().name());
                return Err(KeyError::Type { filter, accepted: KEYS, found });
            }
        };
        let (first, second) = (hash as i32, (hash >> 32) as i32);
        let sum = |i: i32| flipped(first.wrapping_add(i.wrapping_mul(second)));
        let (bits, hashes) = (self.table.bits(), self.table.hashes as i32);
        Ok(match self.layout {
            Layout::Hive => (2..=hashes + 1).all(|i| visit(sum(i) % bits)),
            Layout::Orc => (1..=hashes).all(|i| visit(sum(i) % bits)),
            Layout::BloomK => {
                let block = flipped(first.wrapping_add(second)) % (bits / 512) * 512;
                (2..=hashes + 1).map(sum).all(|c| visit(block + (c & 7) * 64 + (c >> 3 & 63)))
            }
        })
    }
}

/// The bits of a number as Java gives them: every NaN is one.
fn bits_of(number: f64) -> i64 {
    if number.is_nan() { 0x7ff8_0000_0000_0000 } else { number.to_bits() as i64 }
}

impl Foreign for HiveBloom {
    fn format(&self) -> Format {
        match self.layout {
            Layout::Hive => Format::Hive,
            Layout::BloomK => Format::BloomK,
            Layout::Orc => Format::Orc,
        }
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn fpp(&self) -> f64 {
        if self.layout != Layout::BloomK {
            return self.table.fpp();
        }
        let blocks = self.table.words.chunks(BLOCK as usize);
        let ones = |block: &[u64]| block.iter().map(|word| f64::from(word.count_ones())).sum::<f64>();
        let count = blocks.len() as f64;
        blocks.map(|block| libm::pow(ones(block) / 512.0, self.table.hashes.into())).sum::<f64>() / count
    }
    probing_foreign!();
}

impl ForeignInsert for HiveBloom {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        insert(self, key)
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        Some(same_type(self, other).and_then(|other| self.merge(other)))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = alloc::vec![self.table.hashes as u8];
        bytes.extend((self.table.words.len() as i32).to_be_bytes());
        bytes.extend(self.table.words.iter().flat_map(|word| word.to_be_bytes()));
        Ok(bytes)
    }
}

impl Merge for HiveBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        same("format", self.format().name(), other.format().name())?;
        self.table.merge(&other.table)
    }
}
