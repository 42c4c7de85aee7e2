//! Counters of variable length with an index: small where the counts are small.
//!
//! An array of counters as wide as the largest wastes most of its room on a skewed multiset. Here
//! each counter takes about as many bits as its value needs, and is still found in constant time:
//! what the *string-array index* of the spectral Bloom filter is for. Cohen and Matias build it of
//! offset vectors in several levels and a lookup table; the same end is reached here with eight
//! lengths for every 512 counters, and with ranks and selects inside a word.
//!
//! **The code.** A counter is a bit that says whether it is zero, and if not, an Exp-Golomb code of
//! its value, whose *order* k is chosen for every 512 counters. That is near the entropy of such
//! loads: 2.87 bits for a counter of entropy 2.82, where keys with Zipf frequencies (exponent 1)
//! fill half of a million cells. Headers, whole bytes and index add 0.3 bits, room to grow another
//! 0.1. `cargo run --release -p gardenia --example compact` measures it.
//!
//! **The subtle rule.** What is stored is the *canonical form*: one sequence of words for one
//! sequence of values, whatever was done to reach them; [`CompactView`] describes it. In memory the
//! same code is used with room to grow and with an order that may be out of date.
//!
//! Source: S. Cohen and Y. Matias, "Spectral Bloom Filters" (SIGMOD 2003), for the task and its
//! bound of N + o(N) + O(m) bits; J. Teuhola, "A compression method for clustered bit-vectors"
//! (1978), for the code.

mod edit;
mod frozen;
mod group;
mod segment;
#[cfg(test)]
mod tests;
mod values;

pub use frozen::CompactView;

use self::group::{GROUP, Spot};
use self::segment::{GROUPS, Segment};
use self::values::Values;
use crate::SizeError;
use crate::index::MAX_CELLS;
use alloc::vec::Vec;
use core::fmt;

/// The largest value of a counter.
const TOP: u64 = u32::MAX as u64;
/// Counters of a segment.
const SEGMENT: u64 = (GROUP * GROUPS) as u64;

/// `len` counters of up to 32 bits, each taking about as many bits as its value has, and saturating
/// at both ends.
///
/// ```
/// let mut counters = gardenia::cells::Compact::new(100_000)?;
/// assert_eq!((counters.add(7, 2), counters.add(8, 1_000_000)), (2, 1_000_000));
/// assert_eq!((counters.sub(7, 5), counters.get(8), counters.get(9)), (0, 1_000_000, 0));
/// (0..100_000).step_by(3).for_each(|at| _ = counters.add(at, 1));
/// assert!(counters.memory_bytes() < 3 * 100_000 / 8); // a fixed width would take 20 bits for each
/// assert_eq!(counters.add(7, u64::MAX), u64::from(u32::MAX));
/// assert_eq!(counters.sub(7, 1), u64::from(u32::MAX)); // what reached its top stays there
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Calls that make counters longer allocate, and like [`Vec::push`] they do not return when memory
/// is short.
#[derive(Clone)]
pub struct Compact {
    segments: Vec<Segment>,
    len: u64,
}

/// The number of segments of `len` counters, unless there are too many.
fn segments_for(len: u64) -> Result<usize, SizeError> {
    if len == 0 {
        return Err(SizeError::ZeroCells);
    }
    if len > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells: len, max: MAX_CELLS });
    }
    let count = len.div_ceil(SEGMENT);
    let bytes = count * size_of::<Segment>() as u64;
    usize::try_from(count).map_err(|_| SizeError::Memory { bytes })
}

/// Segment, group in it and place in the group of counter `at`.
#[inline(always)]
fn place(at: u64) -> (usize, usize, usize) {
    ((at / SEGMENT) as usize, at as usize / GROUP % GROUPS, at as usize % GROUP)
}

impl Compact {
    /// `len` counters, all zero. They take a sixteenth of a bit each.
    pub fn new(len: u64) -> Result<Self, SizeError> {
        let count = segments_for(len)?;
        let mut segments = Vec::new();
        let bytes = (count as u64) * size_of::<Segment>() as u64;
        segments.try_reserve_exact(count).map_err(|_| SizeError::Memory { bytes })?;
        segments.resize_with(count, Segment::default);
        Ok(Self { segments, len })
    }

    /// Number of counters.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never true: there is at least one counter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The largest value that a counter can hold.
    #[must_use]
    pub fn top(&self) -> u64 {
        TOP
    }

    /// Counter `at`.
    ///
    /// # Panics
    ///
    /// If there is no such counter, like all calls that take a position.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u64 {
        assert!(at < self.len, "counter {at} of {}", self.len);
        let (segment, number, at) = place(at);
        let group = self.segments[segment].group(number);
        if group.is_empty() { 0 } else { group::get(group, at) }
    }

    /// Sets counter `at` to `change` of what it is, or to the top if that is less; its new value.
    ///
    /// ```
    /// let mut counters = gardenia::cells::Compact::new(10)?;
    /// assert_eq!(counters.update(3, |old| old.max(5)), 5);
    /// assert_eq!(counters.update(3, |old| old * 2), 10);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[inline]
    pub fn update(&mut self, at: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        assert!(at < self.len, "counter {at} of {}", self.len);
        let (segment, number, at) = place(at);
        let segment = &mut self.segments[segment];
        let group = segment.group_mut(number);
        // A zero is known early. Its place is only looked for if it is to change.
        if group.is_empty() || group::is_zero(group, at) {
            let value = change(0).min(TOP);
            if value > 0 {
                segment.raise(number, at, value);
            }
            return value;
        }
        let spot = Spot::of(group, at);
        let value = change(spot.value).min(TOP);
        if spot.holds(value) {
            spot.set(group, value);
        } else {
            segment.replace(number, at, spot, value);
        }
        value
    }

    /// Raises counter `at` by `by`, stopping at the top; its new value.
    #[inline]
    pub fn add(&mut self, at: u64, by: u64) -> u64 {
        self.update(at, |old| old.saturating_add(by))
    }

    /// Lowers counter `at` by `by`, stopping at 0; a counter at its top stays. Its new value.
    #[inline]
    pub fn sub(&mut self, at: u64, by: u64) -> u64 {
        self.update(at, |old| if old == TOP { old } else { old.saturating_sub(by) })
    }

    /// Sets counter `at` to `value`, or to the top if that is less.
    #[inline]
    pub fn set(&mut self, at: u64, value: u64) {
        self.update(at, |_| value);
    }

    /// All counters to zero; their memory is given back.
    pub fn clear(&mut self) {
        self.segments.fill_with(Segment::default);
    }

    /// Asks for the cache lines that counter `at` is probably in.
    #[inline]
    pub fn prefetch(&self, at: u64) {
        let (segment, number, at) = place(at);
        if let Some(segment) = self.segments.get(segment) {
            segment.prefetch(number, at / 64);
        }
    }

    /// Bytes of memory held: counters, index and room to grow.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let index = self.segments.capacity() * size_of::<Segment>();
        index as u64 + self.segments.iter().map(|segment| segment.bytes().len() as u64).sum::<u64>()
    }

    /// Bits of the codes alone: planes and blocks, without index, headers and room to grow.
    ///
    /// ```
    /// let mut counters = gardenia::cells::Compact::new(1_000)?;
    /// assert_eq!(counters.bits_used(), 0); // zeros that were never anything else
    /// counters.set(5, 1);
    /// assert_eq!(counters.bits_used(), 512 + 8); // a bit for each of its group, and a byte
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn bits_used(&self) -> u64 {
        self.groups().filter(|group| !group.is_empty()).map(|group| group::code_bits(group) as u64).sum()
    }

    /// Chooses the best code again and gives back the room to grow.
    ///
    /// ```
    /// let mut counters = gardenia::cells::Compact::new(4_096)?;
    /// (0..4_096).for_each(|at| _ = counters.add(at, 100 + at % 50));
    /// let before = counters.memory_bytes();
    /// counters.shrink_to_fit();
    /// assert!(counters.memory_bytes() < before && counters.get(17) == 117);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.segments.iter_mut().for_each(Segment::shrink_to_fit);
    }

    /// A copy without room to grow, or an error when memory is short.
    pub fn try_clone(&self) -> Result<Self, SizeError> {
        let mut copy = Self::new(self.len)?;
        for (copy, segment) in copy.segments.iter_mut().zip(&self.segments) {
            *copy = segment.try_clone()?;
        }
        Ok(copy)
    }

    /// The bytes of all groups.
    fn groups(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().flat_map(|segment| (0..GROUPS).map(|number| segment.group(number)))
    }
}

impl PartialEq for Compact {
    /// By values, however they are coded.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.groups().map(Values::decode).eq(other.groups().map(Values::decode))
    }
}

impl Eq for Compact {}

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compact({} in {} bytes)", self.len, self.memory_bytes())
    }
}
