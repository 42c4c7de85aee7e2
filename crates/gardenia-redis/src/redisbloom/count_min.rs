//! RedisBloom's Count-Min sketch: rows of 32-bit counters.
//!
//! Row i of a key has the column MurmurHash2(key, i) mod width, with 32 bits; counters lie row by
//! row. That was found by comparing: the counters of a server's dump come out one by one. A counter
//! at 2³² − 1 has lost count and stays.
//!
//! Source of the idea: Cormode and Muthukrishnan, "An improved data stream summary: the Count-Min
//! sketch and its applications" (2005).

use super::layout::{LayoutError, Load, Save, check_limit, copied, reserved, wrong, zeroed};
use super::murmur::murmur32;

/// The RDB encoding version of the dump that the layout was taken from.
pub const RDB_VERSION: u64 = 0;

/// Bytes that are counted beside the counters.
const SKETCH_SIZE: u64 = 32;

/// A Count-Min sketch in RedisBloom's layout.
///
/// ```
/// use gardenia_redis::redisbloom::count_min::CountMinTable;
/// let mut visits = CountMinTable::new(2000, 7, u64::MAX)?;
/// assert_eq!(visits.add(b"rose", 30), 30);
/// assert_eq!((visits.add(b"rose", 1), visits.count(b"thistle"), visits.total()), (31, 0, 31));
/// # Ok::<(), gardenia_redis::redisbloom::layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountMinTable {
    width: u64,
    depth: u64,
    total: u64,
    /// Little-endian, as they are stored.
    cells: Vec<u8>,
}

impl CountMinTable {
    /// A sketch of `depth` rows of `width` counters, if it takes at most `max_bytes`.
    pub fn new(width: u64, depth: u64, max_bytes: u64) -> Result<Self, LayoutError> {
        let bytes = Self::bytes(width, depth, max_bytes)?;
        Ok(Self { width, depth, total: 0, cells: zeroed(bytes)? })
    }

    /// Bytes of the cells of a sketch that can be, and may.
    fn bytes(width: u64, depth: u64, max_bytes: u64) -> Result<u64, LayoutError> {
        // Row numbers are seeds of 32 bits, and hash values too.
        if width == 0 || width > u64::from(u32::MAX) {
            return wrong("width", "it is between 1 and 2^32 - 1");
        }
        if depth == 0 || depth > u64::from(u32::MAX) {
            return wrong("depth", "it is between 1 and 2^32 - 1");
        }
        let bytes = width.checked_mul(depth).and_then(|cells| cells.checked_mul(4)).unwrap_or(u64::MAX);
        check_limit(bytes.saturating_add(SKETCH_SIZE), max_bytes)?;
        Ok(bytes)
    }

    /// The bytes of a key's counter in each row.
    fn cells<'k>(&self, key: &'k [u8]) -> impl Iterator<Item = std::ops::Range<usize>> + use<'k> {
        let width = self.width;
        (0..self.depth).map(move |row| {
            let at = 4 * (row * width + u64::from(murmur32(key, row as u32)) % width) as usize;
            at..at + 4
        })
    }

    fn cell(bytes: &[u8]) -> u32 {
        bytes.first_chunk().map_or(0, |cell| u32::from_le_bytes(*cell))
    }

    /// Counts `by` more of `key`; its estimate afterwards, which is 2³² − 1 if it has lost count.
    pub fn add(&mut self, key: &[u8], by: u64) -> u64 {
        let mut least = u32::MAX;
        for at in self.cells(key) {
            let cell = &mut self.cells[at];
            let sum = u64::from(Self::cell(cell)).saturating_add(by).min(u32::MAX.into()) as u32;
            cell.copy_from_slice(&sum.to_le_bytes());
            least = least.min(sum);
        }
        self.total = self.total.saturating_add(by);
        least.into()
    }

    /// How often `key` came: never too little below 2³² − 1.
    #[must_use]
    pub fn count(&self, key: &[u8]) -> u64 {
        self.cells(key).map(|at| Self::cell(&self.cells[at])).fold(u32::MAX, u32::min).into()
    }

    /// Counters of a row.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Rows.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// All that was counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes of memory.
    #[must_use]
    pub fn size(&self) -> u64 {
        SKETCH_SIZE + self.cells.len() as u64
    }

    /// The counters, 4 bytes little-endian each, row by row.
    #[must_use]
    pub fn counters(&self) -> &[u8] {
        &self.cells
    }

    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, LayoutError> {
        Ok(Self { cells: copied(&self.cells)?, ..*self })
    }

    /// Writes the fields of an RDB file.
    pub fn save(&self, fields: &mut impl Save) {
        [self.width, self.depth, self.total].into_iter().for_each(|number| fields.save_u64(number));
        fields.save_bytes(&self.cells);
    }

    /// Reads the fields of an RDB file of this version, if the sketch takes at most `max_bytes`.
    pub fn load(version: u64, fields: &mut impl Load, max_bytes: u64) -> Result<Self, LayoutError> {
        if version != RDB_VERSION {
            return Err(LayoutError::Version(version));
        }
        let (width, depth, total) = (fields.load_u64()?, fields.load_u64()?, fields.load_u64()?);
        let cells = fields.load_bytes(Self::bytes(width, depth, max_bytes)?)?;
        Ok(Self { width, depth, total, cells })
    }
}

/// The weighted sum of sketches of one shape, one after the other.
///
/// ```
/// use gardenia_redis::redisbloom::count_min::{CountMinTable, WeightedSum};
/// let mut visits = CountMinTable::new(2000, 7, u64::MAX)?;
/// visits.add(b"rose", 30);
/// let mut sum = WeightedSum::like(&visits)?;
/// assert!(sum.add(&visits, 3) && sum.add(&visits, -1));
/// assert_eq!(sum.finish()?.unwrap().count(b"rose"), 60);
/// # Ok::<(), gardenia_redis::redisbloom::layout::LayoutError>(())
/// ```
#[derive(Debug)]
pub struct WeightedSum {
    width: u64,
    depth: u64,
    total: i128,
    /// Sums may be below 0 in between.
    cells: Vec<i64>,
}

impl WeightedSum {
    /// An empty sum of sketches of this one's shape.
    pub fn like(table: &CountMinTable) -> Result<Self, LayoutError> {
        let mut cells = reserved(table.cells.len() as u64 / 4)?;
        cells.resize(table.cells.len() / 4, 0); // it fits: room was made
        Ok(Self { width: table.width, depth: table.depth, total: 0, cells })
    }

    /// Whether a sketch has the shape of the sum.
    #[must_use]
    pub fn fits(&self, table: &CountMinTable) -> bool {
        (self.width, self.depth) == (table.width, table.depth)
    }

    /// Adds the counters of a sketch of this shape, that number of times; false if one of the sums
    /// has more than 64 bits, and then it is none any more.
    #[must_use]
    pub fn add(&mut self, table: &CountMinTable, weight: i64) -> bool {
        self.total = self.total.saturating_add(i128::from(table.total).saturating_mul(weight.into()));
        let counters = table.cells.as_chunks::<4>().0;
        self.cells.iter_mut().zip(counters).all(|(sum, counter)| {
            let product = i64::from(u32::from_le_bytes(*counter)).checked_mul(weight);
            product.and_then(|product| sum.checked_add(product)).map(|new| *sum = new).is_some()
        })
    }

    /// The sketch of the sums; `None` if one of them is below 0, or at 2³² − 1 or above.
    pub fn finish(self) -> Result<Option<CountMinTable>, LayoutError> {
        let Self { width, depth, total, cells: sums } = self;
        let mut cells = reserved(sums.len() as u64 * 4)?;
        for sum in sums {
            match u32::try_from(sum) {
                Ok(counter) if counter < u32::MAX => cells.extend_from_slice(&counter.to_le_bytes()),
                _ => return Ok(None),
            }
        }
        let total = u64::try_from(total.max(0)).unwrap_or(u64::MAX);
        Ok(Some(CountMinTable { width, depth, total, cells }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stop_at_their_top() {
        let mut sketch = CountMinTable::new(10, 3, u64::MAX).unwrap();
        assert_eq!(sketch.add(b"rose", u64::from(u32::MAX) - 1), u64::from(u32::MAX) - 1);
        assert_eq!(sketch.add(b"rose", 7), u32::MAX.into());
        assert_eq!(sketch.add(b"rose", u64::MAX), u32::MAX.into());
        assert_eq!((sketch.count(b"rose"), sketch.total()), (u32::MAX.into(), u64::MAX));
    }

    #[test]
    fn merging_is_the_weighted_sum_or_nothing() {
        let mut a = CountMinTable::new(50, 4, u64::MAX).unwrap();
        let mut b = a.clone();
        a.add(b"rose", 5);
        b.add(b"rose", 2);
        b.add(b"tulip", 7);
        let merged = |sources: &[(&CountMinTable, i64)]| {
            let mut sum = WeightedSum::like(sources[0].0).unwrap();
            let added = sources.iter().all(|(table, weight)| sum.add(table, *weight));
            sum.finish().unwrap().filter(|_| added)
        };
        let sum = merged(&[(&a, 2), (&b, 3)]).unwrap();
        assert_eq!((sum.count(b"rose"), sum.count(b"tulip"), sum.total()), (16, 21, 37));
        let difference = merged(&[(&b, 3), (&a, -1)]).unwrap();
        assert_eq!((difference.count(b"rose"), difference.total()), (1, 22));
        assert_eq!(merged(&[(&a, 1), (&b, -3)]), None); // below 0
        assert_eq!(merged(&[(&a, i64::MAX)]), None);
        // More than 64 bits in between: what comes back from there is no sum.
        let half = i64::MAX / 5;
        assert_eq!(merged(&[(&a, half), (&a, half), (&a, 1 - half), (&a, -half)]), None);
        assert_eq!(merged(&[(&a, half), (&a, 1 - half)]), Some(a.clone()));
        a.add(b"lily", u32::MAX.into());
        assert_eq!(merged(&[(&a, 1)]), None); // it has lost count, and so would the sum
        let sum = WeightedSum::like(&a).unwrap();
        let other = |width, depth| CountMinTable::new(width, depth, 9999).unwrap();
        assert!(sum.fits(&b) && !sum.fits(&other(4, 50)) && !sum.fits(&other(50, 5)));
    }

    #[test]
    fn sizes_whose_product_overflows_are_errors() {
        for (width, depth) in [(1 << 32, 1), (1, 1 << 32), (u64::MAX, 2), (0, 5), (5, 0)] {
            let sketch = CountMinTable::new(width, depth, u64::MAX);
            assert!(matches!(sketch, Err(LayoutError::Field { .. })), "{width} x {depth}");
        }
        let most = u32::MAX.into();
        assert!(matches!(CountMinTable::new(most, most, u64::MAX - 1), Err(LayoutError::TooLarge { .. })));
        assert!(matches!(CountMinTable::new(most, most, u64::MAX), Err(LayoutError::Memory { .. })));
    }
}
