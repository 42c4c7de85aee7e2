//! The Bloom filter of Apache DataSketches, which has one layout in Java, C++, Python and Rust.
//!
//! A preamble of 32 bytes, 24 if the filter is empty, and words of 64 bits, all little-endian. A
//! key has two hash values, XXH64 under the filter's seed and under the first value. The empty
//! string is no key there: it is ignored.
//!
//! Source: datasketches-java, by the bytes that 6.2.0 wrote.

use super::ReadOptions;
use super::bit_table::{BitTable, MAX_WORDS, Probing, bits_for, insert, probing_foreign, same, same_type};
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::string::String;
use alloc::vec::Vec;
use xxhash_rust::xxh64::xxh64;

const KEYS: &[KeyType] = &[KeyType::Long, KeyType::String, KeyType::Double];
/// The number of this kind of sketch.
const FAMILY: u8 = 21;
/// The flag of filters without a key, whose bits are not stored.
const EMPTY: u8 = 4;
/// Number of bits set that stands for "not counted".
const UNCOUNTED: u64 = u64::MAX;
/// A seed for filters that name none. The library draws one.
pub(super) const SEED: u64 = 9001;

/// A Bloom filter of Apache DataSketches.
///
/// ```
/// use gardenia::format::{DataSketchesBloom, Foreign, ForeignInsert, ForeignKey};
/// let mut filter = DataSketchesBloom::new(1_000, 0.01, 42)?;
/// filter.insert(ForeignKey::Text("rose")).unwrap();
/// let copy = DataSketchesBloom::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Text("rose")).unwrap() && copy.seed() == 42);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSketchesBloom {
    seed: u64,
    table: BitTable,
}

impl DataSketchesBloom {
    /// An empty filter, sized as the library does it (`createByAccuracy`).
    pub fn new(items: u64, fpp: f64, seed: u64) -> Result<Self, SizeError> {
        let bits = libm::ceil(bits_for(items, fpp)).max(1.0);
        let hashes = libm::ceil(bits / items as f64 * core::f64::consts::LN_2).clamp(1.0, 255.0) as u32;
        Ok(Self { seed, table: BitTable::new((bits as u64).div_ceil(64), hashes)? })
    }

    /// The filter in these bytes.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let (preamble, version, family, flags) = (cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?);
        cursor.one_of("family", family.into(), FAMILY.into()..=FAMILY.into(), "Bloom filters have 21")?;
        cursor.one_of("version", version.into(), 1..=1, "1 is known")?;
        let empty = flags & EMPTY != 0;
        let right = if empty { 3 } else { 4 };
        cursor.one_of("preamble", preamble.into(), right..=right, "4 words, or 3 if the filter is empty")?;
        let hashes = cursor.u16_le()?.into();
        cursor.one_of("hashes", hashes, 1..=255, "1 to 255 are allowed")?;
        cursor.u16_le()?;
        let seed = cursor.u64_le()?;
        let words = cursor.u32_le()?.into();
        cursor.one_of("number of words", words, 1..=MAX_WORDS, "it is an int above 0")?;
        cursor.u32_le()?;
        if empty {
            // The words are not there: the reader's limits decide how many may be made of nothing.
            let (stored, needed) = (bytes.len() as u64, words * 8);
            let max = options.expanded(stored).min(options.max_bytes);
            if needed > max {
                return Err(DecodeError::Expansion { stored, needed, max });
            }
            cursor.end()?;
            return Ok(Self { seed, table: BitTable::new(words, hashes as u32)? });
        }
        let stated = cursor.u64_le()?;
        let words = cursor.words(words, options, u64::from_le_bytes)?;
        cursor.end()?;
        let table = BitTable { words, hashes: hashes as u32 };
        if stated != UNCOUNTED && stated != table.ones() {
            let rule = "another number of bits is set";
            return Err(DecodeError::Field { field: "bits set", value: stated, rule });
        }
        Ok(Self { seed, table })
    }

    /// The seed of its hash function.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

pub(super) fn begins(look: &Look<'_>) -> bool {
    matches!(look.head, [3 | 4, 1, FAMILY, ..])
}

impl Probing for DataSketchesBloom {
    fn table(&self) -> &BitTable {
        &self.table
    }
    fn table_mut(&mut self) -> &mut BitTable {
        &mut self.table
    }
    fn probe(&self, key: ForeignKey<'_>, visit: &mut dyn FnMut(u64) -> bool) -> Result<bool, KeyError> {
        let number;
        let bytes = match key {
            ForeignKey::Int(key) => {
                number = i64::from(key).to_le_bytes();
                &number[..]
            }
            ForeignKey::Long(key) => {
                number = key.to_le_bytes();
                &number[..]
            }
            // One zero and one NaN, as the library has them.
            ForeignKey::Double(key) => {
                let bits = if key.is_nan() { 0x7ff8_0000_0000_0000 } else { (key + 0.0).to_bits() };
                number = bits.to_le_bytes();
                &number[..]
            }
            ForeignKey::Text(key) => key.as_bytes(),
            ForeignKey::Bytes(key) => key,
            _ => {
                let (filter, found) = (self.format().title(), key.key_type().name());
                return Err(KeyError::Type { filter, accepted: KEYS, found });
            }
        };
        if bytes.is_empty() {
            return Ok(false);
        }
        let first = xxh64(bytes, self.seed);
        let (second, bits) = (xxh64(bytes, first), self.table.bits());
        let sum = |i: u64| first.wrapping_add(i.wrapping_mul(second));
        Ok((1..=self.table.hashes.into()).all(|i| visit((sum(i) >> 1) % bits)))
    }
}

impl Foreign for DataSketchesBloom {
    fn format(&self) -> Format {
        Format::DataSketches
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn fpp(&self) -> f64 {
        self.table.fpp()
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        alloc::vec![("seed", alloc::format!("{}", self.seed))]
    }
    probing_foreign!();
}

impl ForeignInsert for DataSketchesBloom {
    /// The empty string is ignored, as in the library.
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        insert(self, key)
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        Some(same_type(self, other).and_then(|other| self.merge(other)))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let empty = self.table.ones() == 0;
        let mut bytes = alloc::vec![if empty { 3 } else { 4 }, 1, FAMILY, if empty { EMPTY } else { 0 }];
        bytes.extend((self.table.hashes as u16).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend((self.table.words.len() as u32).to_le_bytes());
        bytes.extend([0; 4]);
        if !empty {
            // As Java writes what it has not counted: any reader counts then.
            bytes.extend(UNCOUNTED.to_le_bytes());
            bytes.extend(self.table.words.iter().flat_map(|word| word.to_le_bytes()));
        }
        Ok(bytes)
    }
}

impl Merge for DataSketchesBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        same("seed", self.seed, other.seed)?;
        self.table.merge(&other.table)
    }
}
