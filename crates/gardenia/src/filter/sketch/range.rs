//! Counts of ranges of numbers, by dyadic decomposition.
//!
//! Level l counts the keys without their l lowest bits, so that one cell stands for an aligned block of 2ˡ keys. Any
//! range is a union of at most two blocks per level. A level with fewer blocks than a sketch has cells is counted
//! exactly. A row of all levels together errs by at most 2·(levels)·ε'/e of the total on average, so with
//! ε' = ε/(2·levels) the promise of the point query carries over to ranges.
//!
//! Source: Cormode and Muthukrishnan, "An improved data stream summary: the Count-Min sketch" (2005), section 4.3.

use super::count_min::CountMin;
use crate::hash::Digest;
use crate::theory::count_min::shape;
use crate::{Form, Merge, Mismatch, OutOfRange, SizeError};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Bound, RangeBounds};

/// How often keys between two numbers came: never too little, seldom much too much.
///
/// ```
/// let mut latency = gardenia::RangeCountMin::new(20, 0.01, 0.01)?; // numbers below 2²⁰
/// for micros in [120, 130, 950, 7_000] {
///     latency.add(micros, 1).unwrap();
/// }
/// assert_eq!((latency.count(..1_000), latency.count(125..=950), latency.count(8_000..)), (3, 2, 0));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RangeCountMin {
    bits: u32,
    levels: Vec<Level>,
    total: u64,
}

/// The blocks of one size.
#[derive(Clone, Debug, PartialEq)]
enum Level {
    Sketch(Box<CountMin>),
    Exact(Vec<u64>),
}

impl RangeCountMin {
    /// Counts of numbers below 2^`bits` (1 to 64 bits); that of a range is above the truth by more than `epsilon`
    /// times the total with probability `delta` at most.
    pub fn new(bits: u32, epsilon: f64, delta: f64) -> Result<Self, SizeError> {
        Self::with_seed(bits, epsilon, delta, 0)
    }

    /// The same with hash functions of another seed. Only sketches of one seed can be merged.
    pub fn with_seed(bits: u32, epsilon: f64, delta: f64, seed: u64) -> Result<Self, SizeError> {
        if !(1..=64).contains(&bits) {
            return Err(SizeError::Conflict("numbers have 1 to 64 bits"));
        }
        shape(Form::Original, epsilon, delta)?; // complains of what was given, and not of a part of it
        let columns = shape(Form::Original, epsilon / f64::from(2 * bits), delta)?.columns;
        let level = |level: u32| match 1u128 << (bits - level) {
            blocks if blocks <= columns.into() => Ok(Level::Exact(vec![0; blocks as usize])),
            _ => {
                let builder = CountMin::builder().epsilon(epsilon / f64::from(2 * bits)).delta(delta);
                builder
                    .seed(Digest(seed).word(level + 1))
                    .build()
                    .map(|sketch| Level::Sketch(Box::new(sketch)))
            }
        };
        let levels = (0..bits).map(level).collect::<Result<_, _>>()?;
        Ok(Self { bits, levels, total: 0 })
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
                    let count = &mut counts[block as usize];
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
            Level::Exact(counts) => counts[block as usize],
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

    /// Bytes of memory that the cells take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let bytes = |level: &Level| match level {
            Level::Sketch(sketch) => sketch.memory_bytes(),
            Level::Exact(counts) => counts.len() * 8,
        };
        self.levels.iter().map(bytes).sum()
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
                (Level::Exact(ours), Level::Exact(theirs)) if ours.len() == theirs.len() => {}
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
                    ours.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.saturating_add(*b));
                }
                _ => {}
            }
        }
        self.total = self.total.saturating_add(other.total);
        Ok(())
    }
}
