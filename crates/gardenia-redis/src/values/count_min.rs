//! The value behind `CMS.*`: a Count-Min sketch, ours or in RedisBloom's layout.
//!
//! New keys are [`gardenia::CountMin`] sketches with plain update and cells of 32 bits: what `CMS.INCRBY` promises is what
//! they do, and a `.gdn` file is what they are stored as. Keys that arrive from RedisBloom keep its hash functions. The
//! two cannot be merged: cells of one say nothing about cells of the other.
//!
//! A counter at 2³² − 1 has lost count, whether it was passed or just met, and the command says so.

use crate::redisbloom::count_min::CountMinTable;
use crate::redisbloom::layout::{LayoutError, Load, Save, check_limit};
use gardenia::{CellKind, CountMin, EncodeError, Form, Merge, ReadOptions, SizeError, Update};

/// The version of [`CountMinValue::load_ours`].
pub const VERSION: u64 = 1;

/// A Count-Min sketch under a key.
///
/// ```
/// use gardenia_redis::values::count_min::CountMinValue;
/// let mut visits = CountMinValue::by_prob(0.001, 0.01, u64::MAX).unwrap();
/// assert_eq!((visits.width(), visits.depth()), (2000, 7));
/// assert_eq!(visits.increment(b"rose", 3), Ok(3));
/// assert_eq!((visits.count(b"rose"), visits.count(b"thistle"), visits.total()), (3, 0, 3));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CountMinValue {
    /// Gardenia's own.
    Ours(CountMin),
    /// In RedisBloom's layout.
    RedisBloom(CountMinTable),
}

/// A sketch that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// No columns, or more than can be.
    #[error("CMS: invalid width")]
    Width,
    /// No rows, or more than 255.
    #[error("CMS: invalid depth")]
    Depth,
    /// An error that is not between 0 and 1.
    #[error("CMS: invalid overestimation value")]
    Overestimation,
    /// A probability that is not between 0 and 1.
    #[error("CMS: invalid prob value")]
    Probability,
    /// More memory than allowed, or than there is.
    #[error("CMS: Insufficient memory to create the key")]
    Memory,
}

/// A count that the sketch can no longer tell: it is at 2³² − 1, where it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CMS: INCRBY overflow")]
pub struct Overflow;

/// Sketches that cannot be merged; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They differ in shape, or in how keys find their cells.
    #[error("CMS: width/depth is not equal")]
    Shape,
    /// A negative weight, which cells of our own cannot have.
    #[error("CMS: invalid weight value")]
    Weight,
    /// A counter would be below 0, or lose count.
    #[error("CMS: MERGE overflow")]
    Overflow,
    /// No memory for the sum.
    #[error("CMS: Insufficient memory to create the key")]
    Memory,
}

impl CountMinValue {
    /// A new sketch of `depth` rows of `width` cells, if it takes at most `max_bytes`.
    pub fn by_dim(width: u64, depth: u64, max_bytes: u64) -> Result<Self, CreateError> {
        if width == 0 {
            return Err(CreateError::Width);
        }
        let rows = u32::try_from(depth).map_err(|_| CreateError::Depth)?;
        let builder = CountMin::builder().columns(width).rows(rows);
        let wrong = |error| match error {
            SizeError::Hashes { .. } => CreateError::Depth,
            _ => CreateError::Memory,
        };
        if builder.memory_bytes().map_err(wrong)? > max_bytes {
            return Err(CreateError::Memory);
        }
        Ok(Self::Ours(builder.build().map_err(wrong)?))
    }

    /// A new sketch whose counts are above the truth by more than `error` of all that was counted with probability
    /// `probability` at most: ⌈2/error⌉ columns and ⌈log₂ 1/probability⌉ rows.
    pub fn by_prob(error: f64, probability: f64, max_bytes: u64) -> Result<Self, CreateError> {
        let inside = |value: f64| value > 0.0 && value < 1.0; // not a number is outside
        if !inside(error) {
            return Err(CreateError::Overestimation);
        }
        if !inside(probability) {
            return Err(CreateError::Probability);
        }
        let (width, depth) = (libm::ceil(2.0 / error), libm::ceil(-libm::log2(probability)));
        Self::by_dim(width as u64, depth.max(1.0) as u64, max_bytes)
    }

    /// Counts `by` more of `key`; its count afterwards.
    pub fn increment(&mut self, key: &[u8], by: u64) -> Result<u64, Overflow> {
        let count = match self {
            Self::Ours(sketch) => sketch.add(key, by),
            Self::RedisBloom(table) => table.add(key, by),
        };
        if count < u64::from(u32::MAX) { Ok(count) } else { Err(Overflow) }
    }

    /// How often `key` came: never too little below 2³² − 1.
    #[must_use]
    pub fn count(&self, key: &[u8]) -> u64 {
        match self {
            Self::Ours(sketch) => sketch.count(key),
            Self::RedisBloom(table) => table.count(key),
        }
    }

    /// What `self` becomes when weighted sources are merged into it: their weighted sum alone, not that and what
    /// `self` counted. `self` may be among the sources.
    ///
    /// ```
    /// use gardenia_redis::values::count_min::CountMinValue;
    /// let new = || CountMinValue::by_dim(1000, 5, u64::MAX).unwrap();
    /// let (mut a, mut b, c) = (new(), new(), new());
    /// (a.increment(b"rose", 5).unwrap(), b.increment(b"rose", 2).unwrap());
    /// assert_eq!(c.merged(&[(&a, 2), (&b, 3)]).unwrap().count(b"rose"), 16);
    /// ```
    pub fn merged(&self, sources: &[(&Self, i64)]) -> Result<Self, MergeError> {
        match self {
            Self::Ours(target) => {
                let ours = |(source, weight): &(&Self, i64)| match source {
                    Self::Ours(sketch) => Ok((sketch.to_owned().ok(), *weight)),
                    Self::RedisBloom(_) => Err(MergeError::Shape),
                };
                let mut sum = target.to_owned().map_err(|_| MergeError::Memory)?;
                sum.clear();
                for source in sources {
                    let (Some(sketch), weight) = ours(source)? else {
                        return Err(MergeError::Memory);
                    };
                    add_times(&mut sum, sketch, u64::try_from(weight).map_err(|_| MergeError::Weight)?)?;
                }
                Ok(Self::Ours(sum))
            }
            Self::RedisBloom(target) => {
                let mut tables = Vec::new();
                for (source, weight) in sources {
                    match source {
                        Self::RedisBloom(table)
                            if (table.width(), table.depth()) == (target.width(), target.depth()) =>
                        {
                            tables.push((table, *weight));
                        }
                        _ => return Err(MergeError::Shape),
                    }
                }
                CountMinTable::merged(&tables).map(Self::RedisBloom).ok_or(MergeError::Overflow)
            }
        }
    }

    /// Cells of a row.
    #[must_use]
    pub fn width(&self) -> u64 {
        match self {
            Self::Ours(sketch) => sketch.columns(),
            Self::RedisBloom(table) => table.width(),
        }
    }

    /// Rows.
    #[must_use]
    pub fn depth(&self) -> u64 {
        match self {
            Self::Ours(sketch) => sketch.rows().into(),
            Self::RedisBloom(table) => table.depth(),
        }
    }

    /// All that was counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        match self {
            Self::Ours(sketch) => sketch.total(),
            Self::RedisBloom(table) => table.total(),
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::Ours(sketch) => (size_of::<CountMin>() + sketch.memory_bytes()) as u64,
            Self::RedisBloom(table) => table.size(),
        }
    }

    /// Writes the fields that [`load_ours`](Self::load_ours) or
    /// [`load_redisbloom`](Self::load_redisbloom) reads, as the layout is.
    pub fn save(&self, fields: &mut impl Save) -> Result<(), EncodeError> {
        match self {
            Self::Ours(sketch) => {
                let bytes = sketch.to_vec()?;
                fields.save_u64(bytes.len() as u64);
                fields.save_bytes(&bytes);
            }
            Self::RedisBloom(table) => table.save(fields),
        }
        Ok(())
    }

    /// Reads a sketch of our own that was saved in this version, if its cells take at most `max_bytes`.
    pub fn load_ours(version: u64, fields: &mut impl Load, max_bytes: u64) -> Result<Self, LayoutError> {
        if version != VERSION {
            return Err(LayoutError::Version(version));
        }
        let length = fields.load_u64()?;
        // Beside its cells a file has a header, and a checksum for each MiB.
        check_limit(length, max_bytes.saturating_add(max_bytes / 64).saturating_add(256 << 10))?;
        let bytes = fields.load_bytes(length)?;
        Self::from_bytes(&bytes, max_bytes)
    }

    /// Reads a sketch in RedisBloom's layout, if it takes at most `max_bytes`.
    pub fn load_redisbloom(
        version: u64,
        fields: &mut impl Load,
        max_bytes: u64,
    ) -> Result<Self, LayoutError> {
        CountMinTable::load(version, fields, max_bytes).map(Self::RedisBloom)
    }

    /// The sketch in the bytes of a `.gdn` file, if its cells take at most `max_bytes` and it is one that `CMS.*` makes.
    pub fn from_bytes(bytes: &[u8], max_bytes: u64) -> Result<Self, LayoutError> {
        let no_sketch = LayoutError::Field { field: "sketch", rule: "a whole file of a Count-Min sketch" };
        let options = ReadOptions::new().max_bytes(max_bytes);
        let sketch = CountMin::from_slice_with(bytes, &options).map_err(|_| no_sketch)?;
        let kind = (sketch.form(), sketch.update(), sketch.cell_kind());
        if kind == (Form::Original, Update::Plain, CellKind::Fixed32) {
            Ok(Self::Ours(sketch))
        } else {
            Err(LayoutError::Field {
                field: "sketch",
                rule: "the original form, plain update and 32-bit cells",
            })
        }
    }
}

/// Adds `source` to `sum` so many times, by doubling it.
fn add_times(sum: &mut CountMin, mut source: CountMin, mut times: u64) -> Result<(), MergeError> {
    let shape = |_| MergeError::Shape;
    if times > u64::from(u32::MAX) && source.fill() > 0.0 {
        return Err(MergeError::Overflow);
    }
    if times == 0 || source.fill() == 0.0 {
        source.clear(); // only the shapes are to be compared
        return sum.merge(&source).map_err(shape);
    }
    loop {
        if times & 1 == 1 {
            sum.merge(&source).map_err(shape)?;
        }
        times >>= 1;
        if times == 0 {
            break;
        }
        let copy = source.to_owned().map_err(|_| MergeError::Memory)?;
        source.merge(&copy).map_err(shape)?;
    }
    if sum.saturated() > 0 { Err(MergeError::Overflow) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redisbloom::layout::Field;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const TOP: u64 = u32::MAX as u64;

    fn of(width: u64, depth: u64) -> CountMinValue {
        CountMinValue::by_dim(width, depth, u64::MAX).unwrap()
    }

    fn redisbloom(width: u64, depth: u64) -> CountMinValue {
        CountMinValue::RedisBloom(CountMinTable::new(width, depth, u64::MAX).unwrap())
    }

    #[test]
    fn shapes_are_those_that_were_asked_for_or_errors() {
        let shape = |value: CountMinValue| (value.width(), value.depth());
        assert_eq!(shape(of(60, 4)), (60, 4));
        let by_prob = |error, probability| CountMinValue::by_prob(error, probability, 1 << 20).map(shape);
        assert_eq!(by_prob(0.001, 0.01), Ok((2000, 7)));
        assert_eq!(by_prob(0.5, 0.5), Ok((4, 1)));
        assert_eq!(by_prob(0.9, 0.999), Ok((3, 1)));
        for wrong in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(by_prob(wrong, 0.01), Err(CreateError::Overestimation));
            assert_eq!(by_prob(0.01, wrong), Err(CreateError::Probability));
        }
        assert_eq!(by_prob(1e-300, 0.01), Err(CreateError::Memory));
        assert_eq!(by_prob(0.01, 1e-100), Err(CreateError::Depth));
        let by_dim = |width, depth| CountMinValue::by_dim(width, depth, 1 << 20).map(shape);
        assert_eq!(by_dim(0, 4), Err(CreateError::Width));
        assert_eq!(by_dim(4, 0), Err(CreateError::Depth));
        assert_eq!(by_dim(1, 1 << 33), Err(CreateError::Depth));
        assert_eq!(by_dim(u64::MAX, 255), Err(CreateError::Memory));
        assert_eq!(by_dim(1 << 18, 2), Err(CreateError::Memory));
    }

    #[test]
    fn a_count_at_the_top_is_an_overflow_and_stays() {
        for mut value in [of(100, 3), redisbloom(100, 3)] {
            assert_eq!(value.increment(b"rose", TOP - 1), Ok(TOP - 1));
            assert_eq!(value.increment(b"rose", 1), Err(Overflow));
            assert_eq!(value.increment(b"rose", u64::MAX), Err(Overflow));
            assert_eq!(value.count(b"rose"), TOP);
        }
    }

    #[test]
    fn what_cannot_be_merged_says_why() {
        for (new, other) in [(of as fn(u64, u64) -> _, redisbloom as fn(u64, u64) -> _), (redisbloom, of)] {
            let (mut a, mut b) = (new(50, 3), new(50, 3));
            a.increment(b"rose", TOP / 2).unwrap();
            b.increment(b"rose", TOP / 2).unwrap();
            let mut target = new(50, 3);
            target.increment(b"rose", 100).unwrap(); // it is overwritten
            let merged = |sources: &[(&CountMinValue, i64)]| target.merged(sources);
            assert_eq!(merged(&[(&a, 1), (&b, 1)]).unwrap().count(b"rose"), TOP - 1);
            assert_eq!(merged(&[(&a, 0), (&b, 1)]).unwrap(), b);
            assert_eq!(merged(&[(&a, 1), (&b, 2)]), Err(MergeError::Overflow));
            assert_eq!(merged(&[(&a, i64::MAX)]), Err(MergeError::Overflow));
            assert_eq!(merged(&[(&new(50, 3), i64::MAX)]), Ok(new(50, 3)));
            for shape in [new(51, 3), new(50, 4), other(50, 3)] {
                assert_eq!(merged(&[(&a, 1), (&shape, 1)]), Err(MergeError::Shape));
                assert_eq!(merged(&[(&a, 1), (&shape, 0)]), Err(MergeError::Shape));
            }
        }
        assert_eq!(of(5, 1).merged(&[(&of(5, 1), -1)]), Err(MergeError::Weight));
    }

    #[test]
    fn sketches_that_commands_do_not_make_are_refused() {
        let bytes = |builder: gardenia::CountMinBuilder| builder.build().unwrap().to_vec().unwrap();
        let builder = || CountMin::builder().columns(101).rows(3);
        assert!(CountMinValue::from_bytes(&bytes(builder()), 1 << 20).is_ok());
        assert!(CountMinValue::from_bytes(&bytes(builder()), 1 << 9).is_err());
        for other in [
            builder().update(Update::Conservative),
            builder().cells(CellKind::Fixed64),
            builder().form(Form::Modified),
        ] {
            assert!(CountMinValue::from_bytes(&bytes(other), 1 << 20).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn counts_are_never_too_low_merge_exactly_and_survive_saving(
            steps in prop::collection::vec((0u16..300, 0u64..50, any::<bool>()), 0..300),
            shape in (1u64..80, 1u64..6),
            weights in (0i64..9, 0i64..9),
            ours in any::<bool>(),
        ) {
            let empty = if ours { of(shape.0, shape.1) } else { redisbloom(shape.0, shape.1) };
            let (mut a, mut b, mut both, mut truth) = (empty.clone(), empty.clone(), empty.clone(), HashMap::new());
            for (key, by, first) in steps {
                let (value, weight) = if first { (&mut a, weights.0) } else { (&mut b, weights.1) };
                let after = value.increment(&key.to_le_bytes(), by);
                prop_assert_eq!(after, Ok(value.count(&key.to_le_bytes())));
                both.increment(&key.to_le_bytes(), by * weight as u64).unwrap();
                *truth.entry(key).or_insert(0) += by * weight as u64;
            }
            prop_assert_eq!(&empty.merged(&[(&a, weights.0), (&b, weights.1)]).unwrap(), &both);
            prop_assert!(truth.iter().all(|(key, count)| both.count(&key.to_le_bytes()) >= *count));
            prop_assert_eq!(both.total(), truth.values().sum::<u64>());
            let mut fields: Vec<Field> = vec![];
            both.save(&mut fields).unwrap();
            let loaded = match ours {
                true => CountMinValue::load_ours(VERSION, &mut &fields[..], 1 << 20),
                false => CountMinValue::load_redisbloom(0, &mut &fields[..], 1 << 20),
            };
            prop_assert_eq!(loaded, Ok(both));
        }
    }
}
