//! The cells of sketches: counters that stick at their top, or that grow by merging with their
//! neighbours.
//!
//! A *region* is a run of cells that may merge: one cell of 32 or 64 bits, or eight cells of 4 or 8
//! bits (see `merging.rs`). What is rare (overflow, merging sketches) is written once over regions;
//! what is frequent goes by [`Slot`], the place of one counter in its word.

use super::Memory;
use crate::DecodeError;
use core::fmt;

/// What the cells of a sketch are: of fixed width, or merging with their neighbours when they
/// overflow.
///
/// ```
/// use gardenia::cells::CellKind;
/// use gardenia::CountMin;
/// let make = |cells| CountMin::builder().columns(1000).rows(3).cells(cells).build();
/// let (fixed, merging) = (make(CellKind::Fixed32)?, make(CellKind::Merging4)?);
/// assert!(merging.memory_bytes() * 6 < fixed.memory_bytes());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CellKind {
    /// 4 bits and one for the map of merged cells; grow to 8, 16 and 32 bits.
    Merging4,
    /// 8 bits and one for the map of merged cells; grow to 16, 32 and 64 bits.
    Merging8,
    /// 32 bits, stuck at 2³² − 1.
    #[default]
    Fixed32,
    /// 64 bits, stuck at 2⁶⁴ − 1.
    Fixed64,
}

impl CellKind {
    /// All kinds, the narrowest first.
    pub const ALL: [Self; 4] = [Self::Merging4, Self::Merging8, Self::Fixed32, Self::Fixed64];

    /// The kind whose cells begin with this many bits, if there is one.
    ///
    /// ```
    /// use gardenia::cells::CellKind;
    /// assert!(CellKind::ALL.iter().all(|&kind| CellKind::from_width(kind.width()) == Some(kind)));
    /// assert_eq!(CellKind::from_width(16), None);
    /// ```
    #[must_use]
    pub fn from_width(width: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.width() == width)
    }

    /// Bits of a cell that has not merged.
    #[must_use]
    pub const fn width(self) -> u32 {
        match self {
            Self::Merging4 => 4,
            Self::Merging8 => 8,
            Self::Fixed32 => 32,
            Self::Fixed64 => 64,
        }
    }

    /// The largest count of a cell, fully grown; one that got there has lost count and stays.
    ///
    /// ```
    /// # use gardenia::cells::CellKind;
    /// assert_eq!(CellKind::Merging4.top(), u64::from(u32::MAX));
    /// ```
    #[must_use]
    pub const fn top(self) -> u64 {
        match self {
            Self::Merging4 | Self::Fixed32 => top(32),
            Self::Merging8 | Self::Fixed64 => top(64),
        }
    }

    /// Name for people: `merging-4`, `fixed-32` and so on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Merging4 => "merging-4",
            Self::Merging8 => "merging-8",
            Self::Fixed32 => "fixed-32",
            Self::Fixed64 => "fixed-64",
        }
    }
}

impl fmt::Display for CellKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The largest value of `width` bits, 1 to 64.
#[inline(always)]
pub(crate) const fn top(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// The most cells of a region.
pub(crate) const MOST: usize = 8;

/// Where a counter stands, and its value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) word: usize,
    pub(crate) shift: u32,
    /// Bits, a power of two.
    pub(crate) width: u32,
    pub(crate) value: u64,
}

/// What becomes of two counters that merge, and of two sketches that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// Their sum: a counter is what all its cells were raised by, in any order.
    Sum,
    /// The larger: at least the count of each key in either.
    Largest,
}

impl Join {
    fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Sum => a.saturating_add(b),
            Self::Largest => a.max(b),
        }
    }
}

/// How cells lie in words. Cells are numbered through all rows; `map` is the first word behind the
/// cells.
pub(crate) trait CellLayout: Sized {
    /// Rows begin at a multiple of this many cells: a whole word, of the map too.
    const UNIT: u64;
    /// Cells of a region.
    const REGION: usize;
    /// How often a counter can double.
    const LEVELS: u32;
    /// Bits of a cell that has not merged.
    const WIDTH: u32;

    /// Words of this many cells, a multiple of `UNIT`, without and with their map.
    fn words(cells: u64) -> (u64, u64);

    /// The counter of cell `at`.
    fn slot(load: impl Fn(usize) -> u64, map: usize, at: u64) -> Slot;

    /// The word of cell `at` that slots of it are read from, and that of the map if there is one.
    fn lines(map: usize, at: u64) -> (usize, Option<usize>);

    /// The region of cell `at`.
    fn read(load: impl Fn(usize) -> u64, map: usize, at: u64) -> Region;

    /// Writes a region back to where cell `at` is.
    fn write(words: &mut [u64], map: usize, at: u64, region: &Region);

    /// What must hold of words that came from a file: `rows` rows of `stride` cells, `columns` of
    /// them in use.
    fn check(load: &dyn Fn(usize) -> u64, map: usize, rows: u64, stride: u64, columns: u64) -> bool;

    /// Raises cell `at` where it overflows: by `by`, or to `to` at least. Merges what must merge.
    #[cold]
    #[inline(never)]
    fn overflow(words: &mut [u64], map: usize, at: u64, by: u64, to: u64, join: Join) {
        let mut region = Self::read(|word| words[word], map, at);
        let start = region.start(at as usize % Self::REGION);
        region.value[start] = region.value[start].saturating_add(by).max(to);
        region.settle::<Self>(join);
        Self::write(words, map, at, &region);
    }
}

/// A run of cells that may merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// How often the counter of each cell has doubled.
    pub(crate) level: [u32; MOST],
    /// The value of each counter, where it starts; 0 elsewhere.
    pub(crate) value: [u64; MOST],
    /// Cells.
    pub(crate) len: usize,
}

impl Region {
    /// Where the counter of cell `at` starts.
    fn start(&self, at: usize) -> usize {
        at >> self.level[at] << self.level[at]
    }

    /// The start of each counter.
    pub(crate) fn starts(&self) -> impl Iterator<Item = usize> {
        let mut at = 0;
        core::iter::from_fn(move || {
            let start = (at < self.len).then_some(at)?;
            at += 1 << self.level[start];
            Some(start)
        })
    }

    /// Makes one counter of the cells around `at` that a counter of this level has.
    fn widen(&mut self, at: usize, level: u32, join: Join) {
        let start = at >> level << level;
        let cells = start..(start + (1 << level)).min(self.len);
        let value = self.value[cells.clone()].iter().fold(0, |sum, value| join.of(sum, *value));
        self.value[cells.clone()].fill(0);
        self.level[cells].fill(level);
        self.value[start] = value;
    }

    /// Lets counters grow until all values fit; one that cannot stops at its top.
    fn settle<L: CellLayout>(&mut self, join: Join) {
        let over =
            |region: &Self| region.starts().find(|&at| region.value[at] > top(L::WIDTH << region.level[at]));
        while let Some(at) = over(self) {
            match self.level[at] {
                level if level < L::LEVELS => self.widen(at, level + 1, join),
                level => self.value[at] = top(L::WIDTH << level),
            }
        }
    }

    /// Gives both the same counters: the wider of each two.
    fn align(&mut self, other: &mut Self, join: Join) {
        for at in 0..self.len.min(other.len) {
            let level = self.level[at].max(other.level[at]);
            if self.level[at] < level {
                self.widen(at, level, join);
            }
            if other.level[at] < level {
                other.widen(at, level, join);
            }
        }
    }

    /// Adds the counters of `other`.
    fn add<L: CellLayout>(&mut self, mut other: Self, join: Join) {
        self.align(&mut other, join);
        self.value.iter_mut().zip(other.value).for_each(|(ours, theirs)| *ours = ours.saturating_add(theirs));
        self.settle::<L>(join);
    }

    /// The sum of the products of counters that stand for the same cells.
    fn dot(mut self, mut other: Self) -> u128 {
        self.align(&mut other, Join::Sum);
        let products = self.value.iter().zip(other.value).map(|(a, b)| u128::from(*a) * u128::from(b));
        products.fold(0, u128::saturating_add)
    }
}

/// Adds all counters of `other`, of the same shape, to `words`: `cells` cells.
pub(crate) fn add_all<L: CellLayout>(
    words: &mut [u64],
    other: &impl Memory,
    map: usize,
    cells: u64,
    join: Join,
) {
    for at in (0..cells).step_by(L::REGION) {
        let theirs = L::read(|word| other.load(word), map, at);
        if theirs.value == [0; MOST] {
            continue; // a region of zeros has not merged
        }
        let mut ours = L::read(|word| words[word], map, at);
        ours.add::<L>(theirs, join);
        L::write(words, map, at, &ours);
    }
}

/// The inner product of the counters of two arrays of one shape: `cells` of them from `first`.
pub(crate) fn dot<L: CellLayout>(
    a: &impl Memory,
    b: &impl Memory,
    map: usize,
    first: u64,
    cells: u64,
) -> u128 {
    let region = |memory: &dyn Fn(usize) -> u64, at| L::read(memory, map, at);
    let at = (first..first + cells).step_by(L::REGION);
    at.map(|at| region(&|word| a.load(word), at).dot(region(&|word| b.load(word), at)))
        .fold(0, u128::saturating_add)
}

/// How many counters there are, are not zero, and are at their top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) counters: u64,
    pub(crate) nonzero: u64,
    pub(crate) stuck: u64,
    /// Cells whose counter is not zero.
    pub(crate) covered: u64,
}

/// Counts the counters of `cells` cells from `first`.
pub(crate) fn census<L: CellLayout>(memory: &impl Memory, map: usize, first: u64, cells: u64) -> Census {
    let mut census = Census::default();
    for at in (first..first + cells).step_by(L::REGION) {
        let region = L::read(|word| memory.load(word), map, at);
        let left = (first + cells - at).min(L::REGION as u64) as usize; // the last ones may belong to no column
        for start in region.starts().filter(|start| *start < left) {
            let (value, level) = (region.value[start], region.level[start]);
            census.counters += 1;
            census.nonzero += u64::from(value != 0);
            census.stuck += u64::from(level == L::LEVELS && value == top(L::WIDTH << level));
            census.covered += if value == 0 { 0 } else { (left - start).min(1 << level) as u64 };
        }
    }
    census
}

/// Cells of `WIDTH` bits (32 or 64) that stick at their top.
pub(crate) struct Fixed<const WIDTH: u32>;

impl<const WIDTH: u32> CellLayout for Fixed<WIDTH> {
    const UNIT: u64 = 64 / WIDTH as u64;
    const REGION: usize = 1;
    const LEVELS: u32 = 0;
    const WIDTH: u32 = WIDTH;

    fn words(cells: u64) -> (u64, u64) {
        (cells / Self::UNIT, cells / Self::UNIT)
    }

    #[inline(always)]
    fn slot(load: impl Fn(usize) -> u64, _map: usize, at: u64) -> Slot {
        let (word, shift) = ((at / Self::UNIT) as usize, (at % Self::UNIT) as u32 * WIDTH % 64);
        Slot { word, shift, width: WIDTH, value: load(word) >> shift & top(WIDTH) }
    }

    #[inline(always)]
    fn lines(_map: usize, at: u64) -> (usize, Option<usize>) {
        ((at / Self::UNIT) as usize, None)
    }

    fn read(load: impl Fn(usize) -> u64, map: usize, at: u64) -> Region {
        let mut value = [0; MOST];
        value[0] = Self::slot(load, map, at).value;
        Region { level: [0; MOST], value, len: 1 }
    }

    fn write(words: &mut [u64], map: usize, at: u64, region: &Region) {
        let slot = Self::slot(|word| words[word], map, at);
        words[slot.word] ^= (slot.value ^ region.value[0]) << slot.shift;
    }

    fn check(load: &dyn Fn(usize) -> u64, map: usize, rows: u64, stride: u64, columns: u64) -> bool {
        let spare = (0..rows).flat_map(|row| row * stride + columns..(row + 1) * stride);
        spare.map(|at| Self::slot(load, map, at).value).fold(0, |any, value| any | value) == 0
    }
}

/// An error unless the marks of a file agree with each other and its spare cells are zero.
pub(crate) fn checked(right: bool) -> Result<(), DecodeError> {
    match right {
        true => Ok(()),
        false => Err(DecodeError::Damaged("marks of merged cells disagree, or cells of no column are set")),
    }
}
