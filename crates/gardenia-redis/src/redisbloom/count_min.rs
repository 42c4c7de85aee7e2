//! RedisBloom's Count-Min sketch: rows of 32-bit counters.
//!
//! Row i of a key has the column MurmurHash2(key, i) mod width, with 32 bits; counters lie row by row. That was found
//! by comparing: the counters of a server's dump come out one by one. A counter at 2³² − 1 has lost count and stays.
//!
//! Source of the idea: Cormode and Muthukrishnan, "An improved data stream summary: the Count-Min sketch and its
//! applications" (2005).

use super::layout::{LayoutError, Load, Save, check_limit, wrong, zeroed};
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

    /// The weighted sum of sketches of one shape; `None` if a counter would be below 0, or at 2³² − 1 or above, or if there
    /// is no sketch, or they differ in shape.
    #[must_use]
    pub fn merged(sources: &[(&Self, i64)]) -> Option<Self> {
        let (first, _) = sources.first()?;
        if sources.iter().any(|(source, _)| (source.width, source.depth) != (first.width, first.depth)) {
            return None;
        }
        // A product has 127 bits and a sign; what a sum cannot hold is no counter either.
        let sum = |values: &mut dyn Iterator<Item = (u64, i64)>| {
            let products = values.map(|(value, weight)| i128::from(value) * i128::from(weight));
            products.fold(0, i128::saturating_add)
        };
        let mut result = Self { total: 0, cells: zeroed(first.cells.len() as u64).ok()?, ..**first };
        for at in (0..first.cells.len()).step_by(4) {
            let mut values =
                sources.iter().map(|(source, weight)| (Self::cell(&source.cells[at..]).into(), *weight));
            let cell = u32::try_from(sum(&mut values)).ok().filter(|cell| *cell < u32::MAX)?;
            result.cells[at..at + 4].copy_from_slice(&cell.to_le_bytes());
        }
        let total = sum(&mut sources.iter().map(|(source, weight)| (source.total, *weight)));
        result.total = u64::try_from(total.max(0)).unwrap_or(u64::MAX);
        Some(result)
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
        let sum = CountMinTable::merged(&[(&a, 2), (&b, 3)]).unwrap();
        assert_eq!((sum.count(b"rose"), sum.count(b"tulip"), sum.total()), (16, 21, 37));
        let difference = CountMinTable::merged(&[(&b, 3), (&a, -1)]).unwrap();
        assert_eq!(difference.count(b"rose"), 1);
        assert_eq!(CountMinTable::merged(&[(&a, 1), (&b, -3)]), None); // below 0
        assert_eq!(CountMinTable::merged(&[(&a, i64::MAX)]), None);
        a.add(b"lily", u32::MAX.into());
        assert_eq!(CountMinTable::merged(&[(&a, 1)]), None); // it has lost count, and so would the sum
        assert_eq!(CountMinTable::merged(&[(&a, 1), (&CountMinTable::new(4, 50, 9999).unwrap(), 1)]), None);
        assert_eq!(CountMinTable::merged(&[]), None);
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
