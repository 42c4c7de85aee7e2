//! Apache Spark's `BloomFilter`, versions 1 and 2, and its `CountMinSketch`.
//!
//! All numbers are big-endian. Bit i of m = 64·words is bit i mod 64 of word ⌊i/64⌋. Version 1
//! (Spark 4.0 and before): 1, k and the number of words as `int`, then the words. Version 2 has a
//! seed after k, and sums in 64 bits. Integers of all widths are keys as `long`. SQL's internal
//! aggregates insert `xxhash64(column)`, with seed 42, as a long.
//!
//! Sources: `spark-sketch` of Apache Spark, by the bytes that 4.3.0 wrote.

use super::bit_table::{
    BitTable, MAX_WORDS, Probing, bits_for, flipped, hashes_for, insert, probing_foreign, same, same_type,
};
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use super::{ReadOptions, murmur};
use crate::explain::CellTable;
use crate::index::MAX_HASHES;
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// What Spark's objects take: other numbers become one of these.
const KEYS: &[KeyType] = &[KeyType::Long, KeyType::String];

/// A Bloom filter of Spark: `df.stat.bloomFilter`, `BloomFilter.writeTo`.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, SparkBloom};
/// let mut filter = SparkBloom::new(1_000, 0.03, 0)?;
/// filter.insert(ForeignKey::Long(7)).unwrap();
/// let copy = SparkBloom::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Int(7)).unwrap() && copy.version() == 2);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparkBloom {
    /// Of version 2.
    seed: Option<i32>,
    table: BitTable,
}

impl SparkBloom {
    /// An empty filter of version 2, sized as Spark does it.
    pub fn new(items: u64, fpp: f64, seed: i32) -> Result<Self, SizeError> {
        Ok(Self { seed: Some(seed), table: Self::table_for(items, fpp)? })
    }

    /// An empty filter of version 1, for Spark 4.0 and before.
    pub fn new_v1(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Ok(Self { seed: None, table: Self::table_for(items, fpp)? })
    }

    fn table_for(items: u64, fpp: f64) -> Result<BitTable, SizeError> {
        let bits = libm::floor(bits_for(items, fpp)).max(1.0);
        BitTable::new((bits as u64).div_ceil(64), hashes_for(items, bits))
    }

    /// The filter in these bytes.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let (head, mut cursor) = (Head::read(bytes)?, Cursor::new(bytes));
        cursor.take(head.bytes)?;
        let words = cursor.words(head.words, options, u64::from_be_bytes)?;
        cursor.end()?;
        Ok(Self { seed: head.seed, table: BitTable { words, hashes: head.hashes } })
    }

    /// The version of its bytes, 1 or 2.
    #[must_use]
    pub fn version(&self) -> u32 {
        if self.seed.is_some() { 2 } else { 1 }
    }
}

/// What stands before the words.
struct Head {
    seed: Option<i32>,
    hashes: u32,
    words: u64,
    bytes: u64,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let version = u64::from(cursor.i32_be()? as u32);
        cursor.one_of("version", version, 1..=2, "Spark's filters have versions 1 and 2")?;
        let hashes = u64::from(cursor.i32_be()? as u32);
        cursor.one_of("hashes", hashes, 1..=MAX_HASHES.into(), "1 to 255 are allowed")?;
        let seed = if version == 2 { Some(cursor.i32_be()?) } else { None };
        let words = u64::from(cursor.i32_be()? as u32);
        cursor.one_of("number of words", words, 1..=MAX_WORDS, "it is an int above 0")?;
        Ok(Self { seed, hashes: hashes as u32, words, bytes: cursor.at() as u64 })
    }
}

/// The version of the filter that a file seems to hold.
pub(super) fn begins(look: &Look<'_>) -> Option<u32> {
    let head = Head::read(look.head).ok()?;
    (head.bytes + head.words * 8 == look.len).then_some(if head.seed.is_some() { 2 } else { 1 })
}

/// The two hash values of a key.
fn hashed(key: ForeignKey<'_>, seed: u32, filter: &'static str) -> Result<(i32, i32), KeyError> {
    let of = |bytes: &[u8]| {
        let first = murmur::spark(bytes, seed);
        (first as i32, murmur::spark(bytes, first) as i32)
    };
    match key {
        // A long is hashed as its low and its high word, which are its little-endian bytes.
        ForeignKey::Int(key) => Ok(of(&i64::from(key).to_le_bytes())),
        ForeignKey::Long(key) => Ok(of(&key.to_le_bytes())),
        ForeignKey::Text(key) => Ok(of(key.as_bytes())),
        ForeignKey::Bytes(key) => Ok(of(key)),
        _ => Err(KeyError::Type { filter, accepted: KEYS, found: key.key_type().name() }),
    }
}

impl Probing for SparkBloom {
    fn table(&self) -> &BitTable {
        &self.table
    }
    fn table_mut(&mut self) -> &mut BitTable {
        &mut self.table
    }
    fn probe(&self, key: ForeignKey<'_>, visit: &mut dyn FnMut(u64) -> bool) -> Result<bool, KeyError> {
        let (first, second) = hashed(key, self.seed.unwrap_or(0) as u32, self.format().title())?;
        let (bits, hashes) = (self.table.bits(), self.table.hashes as i32);
        Ok(match self.seed {
            None => (1..=hashes).all(|i| visit(flipped(first.wrapping_add(i.wrapping_mul(second))) % bits)),
            Some(_) => {
                let mut sum = i64::from(first).wrapping_mul(i32::MAX.into());
                (0..hashes).all(|_| {
                    sum = sum.wrapping_add(second.into());
                    // The sum goes on with its sign.
                    visit((if sum < 0 { !sum } else { sum }) as u64 % bits)
                })
            }
        })
    }
}

impl Foreign for SparkBloom {
    fn format(&self) -> Format {
        if self.seed.is_some() { Format::Spark } else { Format::SparkV1 }
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn fpp(&self) -> f64 {
        self.table.fpp()
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        self.seed.map(|seed| ("seed", format!("{seed}"))).into_iter().collect()
    }
    probing_foreign!();
}

impl ForeignInsert for SparkBloom {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        insert(self, key)
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        Some(same_type(self, other).and_then(|other| self.merge(other)))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        let head = [Some(self.version() as i32), Some(self.table.hashes as i32), self.seed];
        for number in head.into_iter().flatten().chain([self.table.words.len() as i32]) {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(self.table.words.iter().flat_map(|word| word.to_be_bytes()));
        Ok(bytes)
    }
}

impl Merge for SparkBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        same("version", self.version(), other.version())?;
        same("seed", self.seed.unwrap_or(0), other.seed.unwrap_or(0))?;
        self.table.merge(&other.table)
    }
}

/// A Count-Min sketch of Spark: `df.stat.countMinSketch`, SQL's `count_min_sketch`.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, SparkCountMin};
/// let mut sketch = SparkCountMin::new(0.01, 0.95, 42)?;
/// sketch.add(ForeignKey::Text("rose"), 3).unwrap();
/// assert_eq!(sketch.count(ForeignKey::Text("rose")), Ok(Some(3)));
/// assert_eq!(sketch.total(), 3);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparkCountMin {
    total: i64,
    width: u64,
    /// One factor for each row.
    factors: Vec<i64>,
    /// Row by row.
    counts: Vec<i64>,
}

impl SparkCountMin {
    /// An empty sketch: counts are at most `eps` of the total too high, with this confidence.
    pub fn new(eps: f64, confidence: f64, seed: i64) -> Result<Self, SizeError> {
        if eps.is_nan() || eps <= 0.0 || eps >= 1.0 {
            return Err(SizeError::Epsilon(eps));
        }
        if confidence.is_nan() || confidence <= 0.0 || confidence >= 1.0 {
            return Err(SizeError::Delta(1.0 - confidence));
        }
        let width = libm::ceil(2.0 / eps);
        let depth = libm::ceil(-libm::log1p(-confidence) / core::f64::consts::LN_2) as u64;
        let cells = (width * depth as f64) as u64;
        if width > f64::from(i32::MAX) || cells > MAX_WORDS {
            return Err(SizeError::TooManyCells { cells, max: MAX_WORDS });
        }
        let mut random = JavaRandom::new(seed);
        let factors = (0..depth).map(|_| random.below(i32::MAX).into()).collect();
        let counts = BitTable::new(cells, 1)?.words.into_iter().map(|zero| zero as i64).collect();
        Ok(Self { total: 0, width: width as u64, factors, counts })
    }

    /// The sketch in these bytes.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let (total, depth, width) = count_min_head(bytes)?;
        let mut cursor = Cursor::new(bytes);
        cursor.take(COUNT_MIN_HEAD)?;
        let mut words = |count| -> Result<Vec<i64>, DecodeError> {
            let words = cursor.words(count, options, u64::from_be_bytes)?;
            Ok(words.into_iter().map(|word| word as i64).collect())
        };
        let (factors, counts) = (words(depth)?, words(depth * width)?);
        cursor.end()?;
        if counts.iter().any(|count| *count < 0) {
            return Err(DecodeError::Damaged("a count is negative"));
        }
        Ok(Self { total, width, factors, counts })
    }

    /// The sum of all counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total as u64
    }

    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> (u64, u64) {
        (self.factors.len() as u64, self.width)
    }

    /// Counts `key` that many times more.
    pub fn add(&mut self, key: ForeignKey<'_>, count: u32) -> Result<(), KeyError> {
        let mut cells = [0; MAX_ROWS];
        let rows = self.cells(key, &mut cells)?;
        for cell in &cells[..rows] {
            self.counts[*cell] = self.counts[*cell].saturating_add(count.into());
        }
        self.total = self.total.saturating_add(count.into());
        Ok(())
    }

    /// The cells of a key, one in each row; how many.
    fn cells(&self, key: ForeignKey<'_>, cells: &mut [usize; MAX_ROWS]) -> Result<usize, KeyError> {
        let (rows, width) = (self.factors.len(), self.width as i64);
        let number = match key {
            ForeignKey::Int(key) => Some(i64::from(key)),
            ForeignKey::Long(key) => Some(key),
            _ => None,
        };
        let (first, second) = if number.is_some() { (0, 0) } else { hashed(key, 0, self.format().title())? };
        for (row, factor) in self.factors.iter().enumerate() {
            let column = match number {
                Some(number) => {
                    let product = factor.wrapping_mul(number);
                    (product.wrapping_add(product >> 32) & i64::from(i32::MAX)) % width
                }
                None => i64::from(first.wrapping_add((row as i32).wrapping_mul(second))) % width,
            };
            cells[row] = row * self.width as usize + column.unsigned_abs() as usize;
        }
        Ok(rows)
    }
}

/// The most rows that a sketch may have: a confidence of 1 − 2⁻⁵³ has 53.
const MAX_ROWS: usize = 64;
/// Bytes before the factors.
const COUNT_MIN_HEAD: u64 = 20;

fn count_min_head(bytes: &[u8]) -> Result<(i64, u64, u64), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let version = u64::from(cursor.i32_be()? as u32);
    cursor.one_of("version", version, 1..=1, "Spark's sketches have version 1")?;
    let total = cursor.i64_be()?;
    cursor.one_of("total", total as u64, 0..=i64::MAX as u64, "it is not negative")?;
    let depth = u64::from(cursor.i32_be()? as u32);
    cursor.one_of("depth", depth, 1..=MAX_ROWS as u64, "1 to 64 rows are allowed")?;
    let width = u64::from(cursor.i32_be()? as u32);
    cursor.one_of("width", width, 1..=MAX_WORDS, "it is an int above 0")?;
    Ok((total, depth, width))
}

pub(super) fn begins_count_min(look: &Look<'_>) -> bool {
    count_min_head(look.head)
        .is_ok_and(|(_, depth, width)| COUNT_MIN_HEAD + 8 * depth + 8 * depth * width == look.len)
}

impl Foreign for SparkCountMin {
    fn format(&self) -> Format {
        Format::SparkCountMin
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        Ok(self.count(key)?.is_some_and(|count| count > 0))
    }
    fn count(&self, key: ForeignKey<'_>) -> Result<Option<u64>, KeyError> {
        let mut cells = [0; MAX_ROWS];
        let rows = self.cells(key, &mut cells)?;
        Ok(cells[..rows].iter().map(|cell| self.counts[*cell] as u64).min())
    }
    fn bits(&self) -> u64 {
        self.counts.len() as u64 * 64
    }
    fn hashes(&self) -> u32 {
        self.factors.len() as u32
    }
    fn fill(&self) -> f64 {
        self.counts.iter().filter(|count| **count > 0).count() as f64 / self.counts.len() as f64
    }
    fn fpp(&self) -> f64 {
        let rows = self.counts.chunks(self.width as usize);
        rows.map(|row| row.iter().filter(|count| **count > 0).count() as f64 / row.len() as f64).product()
    }
    fn estimated_items(&self) -> Option<f64> {
        super::bit_table::estimated_items(self.counts.len() as u64, self.hashes(), self.fill())
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        let (rows, columns) = self.shape();
        alloc::vec![("rows", format!("{rows} of {columns} counts")), ("total", format!("{}", self.total))]
    }
    fn tables(&self) -> Vec<CellTable> {
        let row = |number| CellTable::counters(self.width, 64).named(format!("row {number}"));
        (1..=self.hashes()).map(row).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.counts[table * self.width as usize + at as usize] as u64
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
        Some(self)
    }
}

impl ForeignInsert for SparkCountMin {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        let new = !self.contains(key)?;
        self.add(key, 1)?;
        Ok(new)
    }
    fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        Some(same_type(self, other).and_then(|other| self.merge(other)))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        bytes.extend(1i32.to_be_bytes());
        bytes.extend(self.total.to_be_bytes());
        bytes.extend((self.factors.len() as i32).to_be_bytes());
        bytes.extend((self.width as i32).to_be_bytes());
        bytes.extend(self.factors.iter().chain(&self.counts).flat_map(|word| word.to_be_bytes()));
        Ok(bytes)
    }
}

impl Merge for SparkCountMin {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        same("rows", self.factors.len(), other.factors.len())?;
        same("columns", self.width, other.width)?;
        let row = |factors: &[i64]| format!("{factors:?}");
        same("seed", row(&self.factors), row(&other.factors))?;
        let pairs = self.counts.iter_mut().zip(&other.counts);
        pairs.for_each(|(ours, theirs)| *ours = ours.saturating_add(*theirs));
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}

/// `java.util.Random`: a linear congruence modulo 2⁴⁸, as its documentation specifies it.
struct JavaRandom(u64);

impl JavaRandom {
    const FACTOR: u64 = 0x5_deec_e66d;

    fn new(seed: i64) -> Self {
        Self((seed as u64 ^ Self::FACTOR) & ((1 << 48) - 1))
    }

    /// `nextInt(bound)` of a bound that is no power of two.
    fn below(&mut self, bound: i32) -> i32 {
        loop {
            self.0 = self.0.wrapping_mul(Self::FACTOR).wrapping_add(11) & ((1 << 48) - 1);
            let bits = (self.0 >> 17) as i32;
            let value = bits % bound;
            if bits.wrapping_sub(value).wrapping_add(bound - 1) >= 0 {
                return value;
            }
        }
    }
}
