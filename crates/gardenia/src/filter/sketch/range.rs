//! Counts of ranges of numbers, by dyadic decomposition.
//!
//! Level l counts the keys without their l lowest bits, so that one cell stands for an aligned
//! block of 2ˡ keys. Any range is a union of at most two blocks per level. A level with fewer
//! blocks than a sketch has cells is counted exactly. A row of all levels together is off by at
//! most 2·(levels)·ε'/e of the total on average, so with ε' = ε/(2·levels) the promise of the point
//! query carries over to ranges.
//!
//! Source: Cormode and Muthukrishnan, "An improved data stream summary: the Count-Min sketch"
//! (2005), section 4.3.

use super::count_min::CountMin;
use super::grid::Update;
use crate::cells::{CellKind, Memory, Owned};
use crate::error::OutOfRange;
use crate::filter::request::filter_facts;
use crate::filter::{About, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Restore, Stored};
use crate::hash::{Digest, HasherId, KeyHasher};
use crate::index::Form;
use crate::theory::count_min::{SketchShape, shape};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Bound, RangeBounds};

/// Counts the keys between two numbers: never too low, seldom much too high.
///
/// ```
/// let mut latency = gardenia::RangeCountMin::new(20, 0.01, 0.01)?; // numbers below 2²⁰
/// for micros in [120, 130, 950, 7_000] {
///     latency.add(micros, 1).unwrap();
/// }
/// assert_eq!((latency.count(..1_000), latency.count(125..=950), latency.count(8_000..)), (3, 2, 0));
/// let saved = latency.to_bytes().unwrap();
/// assert_eq!(gardenia::RangeCountMin::from_bytes(&saved).unwrap(), latency);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RangeCountMin {
    hasher: KeyHasher,
    shape: SketchShape,
    bits: u32,
    levels: Vec<Level>,
    total: u64,
    about: About,
}

/// The blocks of one size.
#[derive(Clone, Debug, PartialEq)]
enum Level {
    Sketch(Box<CountMin>),
    Exact(Owned),
}

impl RangeCountMin {
    /// Counts of numbers below 2^`bits` (1 to 64 bits); that of a range is above the truth by more
    /// than `epsilon` times the total with probability `delta` at most.
    pub fn new(bits: u32, epsilon: f64, delta: f64) -> Result<Self, SizeError> {
        Self::with_seed(bits, epsilon, delta, 0)
    }

    /// The same with hash functions of another seed. Only sketches of one seed can be merged.
    pub fn with_seed(bits: u32, epsilon: f64, delta: f64, seed: u64) -> Result<Self, SizeError> {
        if !(1..=64).contains(&bits) {
            return Err(SizeError::Conflict("numbers have 1 to 64 bits"));
        }
        shape(Form::Original, epsilon, delta)?; // complains of what was given, and not of a part of it
        Self::with_shape(bits, shape(Form::Original, epsilon / f64::from(2 * bits), delta)?, seed)
    }

    /// All levels that are not counted exactly have this shape.
    fn with_shape(bits: u32, shape: SketchShape, seed: u64) -> Result<Self, SizeError> {
        let level = |level: u32| match 1u128 << (bits - level) {
            blocks if blocks <= shape.columns.into() => Ok(Level::Exact(Owned::zeroed(blocks as usize)?)),
            _ => {
                let hasher = KeyHasher::xxh3(Digest(seed).word(level + 1));
                let sketch = CountMin::with(hasher, Form::Original, Update::Plain, CellKind::Fixed32, shape)?;
                Ok(Level::Sketch(Box::new(sketch)))
            }
        };
        let levels = (0..bits).map(level).collect::<Result<_, SizeError>>()?;
        let (hasher, about) = (KeyHasher::xxh3(seed), About::default());
        Ok(Self { hasher, shape, bits, levels, total: 0, about })
    }

    /// Counts `weight` more of `key`; an error if it has too many bits.
    pub fn add(&mut self, key: u64, weight: u64) -> Result<(), OutOfRange> {
        let bits = self.bits;
        if key.checked_shr(bits).unwrap_or(0) != 0 {
            return Err(OutOfRange { key, bits });
        }
        for (level, counts) in self.levels.iter_mut().enumerate() {
            let block = key >> level;
            match counts {
                Level::Sketch(sketch) => _ = sketch.add(block, weight),
                Level::Exact(counts) => {
                    let count = &mut counts.as_mut_slice()[block as usize];
                    *count = count.saturating_add(weight);
                }
            }
        }
        self.total = self.total.saturating_add(weight);
        Ok(())
    }

    /// How often keys of this range came.
    #[must_use]
    pub fn count(&self, range: impl RangeBounds<u64>) -> u64 {
        let end = 1u128 << self.bits;
        let mut from = match range.start_bound() {
            Bound::Included(key) => u128::from(*key),
            Bound::Excluded(key) => u128::from(*key) + 1,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(key) => (u128::from(*key) + 1).min(end),
            Bound::Excluded(key) => u128::from(*key).min(end),
            Bound::Unbounded => end,
        };
        if (from, to) == (0, end) {
            return self.total;
        }
        let mut sum = 0u64;
        while from < to {
            // The largest block that starts here and ends in the range; the whole was answered above.
            let level = from.trailing_zeros().min((to - from).ilog2());
            sum = sum.saturating_add(self.block(level, (from >> level) as u64));
            from += 1 << level;
        }
        sum
    }

    /// The estimate for one block.
    fn block(&self, level: u32, block: u64) -> u64 {
        match &self.levels[level as usize] {
            Level::Sketch(sketch) => sketch.count(block),
            Level::Exact(counts) => counts.as_slice()[block as usize],
        }
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bits of the numbers.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.sections().iter().map(|level| level.words() * 8).sum()
    }

    filter_facts!();

    /// Hasher and shape of each level that is not counted exactly.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::RangeCountMin,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.shape.rows,
            cells: self.shape.columns * u64::from(self.shape.rows),
            width: CellKind::Fixed32.width(),
        }
    }
}

/// Equal in levels and total: the same answer to every question.
impl PartialEq for RangeCountMin {
    fn eq(&self, other: &Self) -> bool {
        self.total == other.total && self.levels == other.levels
    }
}

impl Merge for RangeCountMin {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        if self.bits != other.bits {
            let (ours, theirs) = (alloc::format!("{}", self.bits), alloc::format!("{}", other.bits));
            return Err(Mismatch { what: "bits", ours, theirs });
        }
        // All levels are checked before the first is changed.
        for (ours, theirs) in self.levels.iter().zip(&other.levels) {
            match (ours, theirs) {
                (Level::Sketch(ours), Level::Sketch(theirs)) => ours.check_alike(theirs)?,
                (Level::Exact(ours), Level::Exact(theirs)) if ours.words() == theirs.words() => {}
                _ => {
                    let (ours, theirs) = ("a sketch".into(), "exact counts, or the reverse".into());
                    return Err(Mismatch { what: "columns", ours, theirs });
                }
            }
        }
        for (ours, theirs) in self.levels.iter_mut().zip(&other.levels) {
            match (ours, theirs) {
                (Level::Sketch(ours), Level::Sketch(theirs)) => ours.merge(theirs)?,
                (Level::Exact(ours), Level::Exact(theirs)) => {
                    let pairs = ours.as_mut_slice().iter_mut().zip(theirs.as_slice());
                    pairs.for_each(|(a, b)| *a = a.saturating_add(*b));
                }
                _ => {}
            }
        }
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}

impl Stored for RangeCountMin {
    fn header(&self) -> Result<Header, EncodeError> {
        let bytes = self.memory_bytes() as u64;
        let header = Header::new(self.identity(), &self.hasher, &self.about, bytes)?;
        Ok(header.with_params(&[self.bits.into(), self.total]))
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        let levels = self.levels.iter().map(|level| match level {
            Level::Sketch(sketch) => sketch.grid.memory() as &dyn Memory,
            Level::Exact(counts) => counts,
        });
        levels.collect()
    }
}

impl Restore for RangeCountMin {
    fn restore(header: &Header, _: &ReadOptions) -> Result<Self, DecodeError> {
        let wrong = |field, value: u64, rule| Err(DecodeError::Field { field, value, rule });
        header.check_kind(Kind::RangeCountMin)?;
        header.check_no_scheme()?;
        header.check_width(CellKind::Fixed32.width())?;
        let ([bits, total], id) = (header.param_words()?, header.identity);
        if id.hasher != HasherId::Xxh3 {
            return wrong("hasher", id.hasher.number().into(), "this kind has hasher 1");
        }
        if !(1..=64).contains(&bits) {
            return wrong("bits", bits, "numbers have 1 to 64 bits");
        }
        if id.hashes == 0 || !id.cells.is_multiple_of(id.hashes.into()) {
            return wrong("cells", id.cells, "that is no multiple of the rows");
        }
        let (bits, rows) = (bits as u32, id.hashes);
        let shape = SketchShape { columns: id.cells / u64::from(rows), rows, copies: 1 };
        // Each level before any: the cells of a row are padded to whole words.
        let words = |level: u32| match 1u128 << (bits - level) {
            blocks if blocks <= shape.columns.into() => blocks as u64,
            _ => shape.columns.div_ceil(2) * u64::from(rows),
        };
        header.check_payload((0..bits).map(words).sum::<u64>() * 8)?;
        let mut ranges = Self { total, about: header.about(), ..Self::with_shape(bits, shape, id.mark)? };
        for level in &mut ranges.levels {
            if let Level::Sketch(sketch) = level {
                sketch.total = total; // each counts all
            }
        }
        Ok(ranges)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        let levels = self.levels.iter_mut().map(|level| match level {
            Level::Sketch(sketch) => sketch.grid.words_mut(),
            Level::Exact(counts) => counts.as_mut_slice(),
        });
        levels.collect()
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.levels.iter().try_for_each(|level| match level {
            Level::Sketch(sketch) => sketch.check(),
            Level::Exact(_) => Ok(()),
        })
    }
}

format::stored_methods!(RangeCountMin);
format::read_methods!(RangeCountMin, decoded);
format::serde_impls!([] RangeCountMin, [] RangeCountMin);
