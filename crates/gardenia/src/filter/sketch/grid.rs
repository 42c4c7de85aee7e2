//! Rows of cells, and the loops of sketches over them: one key, and many with the memory waits
//! overlapped.
//!
//! The kind of cell is chosen at run time, once per key or batch; the loops are compiled for each.
//! Rows are independent under plain update, so a batch goes through one row after the other.
//! Minimum increase needs all cells of a key at once, and its loop is compiled for each number of
//! rows up to eight.

use crate::cells::merging::Merging;
use crate::cells::region::{self, CellLayout, Census, Fixed, Join, Slot, top};
use crate::cells::{Bytes, CellKind, Lines, Memory, Owned};
use crate::hash::Digest;
use crate::index::rows::{CHUNK, Rows};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::numbered::numbered;
use crate::simd::ahead;
use crate::{DecodeError, SizeError};

/// Rows × columns cells of one kind.
#[derive(Clone)]
pub(super) struct Grid<M> {
    memory: M,
    kind: CellKind,
    rows: u32,
    columns: u64,
    stride: u64,
    map: usize,
}

numbered! {
    /// What happens to the cells of a key.
    #[derive(Default)]
    pub enum Update: u8 {
        /// Every cell is raised: sketches add up, and can answer for inner products.
        #[default]
        Plain = 1 "plain",
        /// Only cells below the new estimate are raised, up to it (*minimum increase*,
        /// *conservative update*): smaller errors, but a cell no longer holds the sum of its keys.
        Conservative = 2 "conservative",
    }
}

impl Update {
    fn join(self) -> Join {
        match self {
            Self::Plain => Join::Sum,
            Self::Conservative => Join::Largest,
        }
    }
}

/// Does the same with the layout of every kind. The one place that lists them.
macro_rules! by_kind {
    ($kind:expr, $layout:ident => $work:expr) => {
        match $kind {
            CellKind::Merging4 => {
                type $layout = Merging<4>;
                $work
            }
            CellKind::Merging8 => {
                type $layout = Merging<8>;
                $work
            }
            CellKind::Fixed32 => {
                type $layout = Fixed<32>;
                $work
            }
            CellKind::Fixed64 => {
                type $layout = Fixed<64>;
                $work
            }
        }
    };
}

/// Picks the loop that is compiled for this number of rows, or the one for any.
macro_rules! by_rows {
    ($rows:expr, $few:ident => $work:expr, $many:expr) => {
        by_rows!($rows, $few => $work, $many, 1 2 3 4 5 6 7 8)
    };
    ($rows:expr, $few:ident => $work:expr, $many:expr, $($count:literal)+) => {
        match $rows {
            $($count => {
                const $few: usize = $count;
                $work
            })+
            _ => $many,
        }
    };
}

/// The distance of rows, and words without and with the map, of such a grid.
pub(super) fn measure(kind: CellKind, rows: u32, columns: u64) -> Result<(u64, u64, u64), SizeError> {
    if rows == 0 || rows > MAX_HASHES {
        return Err(SizeError::Hashes { hashes: rows, max: MAX_HASHES });
    }
    if columns == 0 {
        return Err(SizeError::ZeroCells);
    }
    let too_many = SizeError::TooManyCells { cells: columns.saturating_mul(rows.into()), max: MAX_CELLS };
    let stride = by_kind!(kind, L => columns.checked_next_multiple_of(L::UNIT));
    let cells = stride.and_then(|stride| stride.checked_mul(rows.into()));
    let (Some(stride), Some(cells)) = (stride, cells.filter(|cells| *cells <= MAX_CELLS)) else {
        return Err(too_many);
    };
    let (bare, all) = by_kind!(kind, L => L::words(cells));
    Ok((stride, bare, all))
}

impl Grid<Owned> {
    /// All zero.
    pub(super) fn new(kind: CellKind, rows: u32, columns: u64) -> Result<Self, SizeError> {
        let (stride, bare, all) = measure(kind, rows, columns)?;
        let words = usize::try_from(all).map_err(|_| SizeError::Memory { bytes: all.saturating_mul(8) })?;
        Ok(Self { memory: Owned::zeroed(words)?, kind, rows, columns, stride, map: bare as usize })
    }

    /// Raises the cells of one key by `by`; its estimate before.
    #[inline]
    pub(super) fn add(&mut self, rows: &Rows, digest: Digest, by: u64, update: Update) -> u64 {
        let (words, map) = (self.memory.as_mut_slice(), self.map);
        match update {
            Update::Plain => by_kind!(self.kind, L => {
                let mut least = u64::MAX;
                rows.each(digest, |at| least = least.min(raise::<L>(words, map, at, by)));
                least
            }),
            Update::Conservative => {
                rows.all(digest, |at| by_kind!(self.kind, L => increase_one::<L>(words, map, at, by)))
            }
        }
    }

    /// Raises the cells of as many keys as `least` has room for by one each, in order, and writes
    /// their estimates before. The position of key i in row j is `positions[j][i]`.
    pub(super) fn add_chunk(&mut self, positions: &[[u64; CHUNK]], update: Update, least: &mut [u64]) {
        let (words, map) = (self.memory.as_mut_slice(), self.map);
        match update {
            Update::Plain => by_kind!(self.kind, L => raise_chunk::<L>(words, map, positions, least)),
            Update::Conservative => {
                by_kind!(self.kind, L => increase_chunk::<L>(words, map, positions, least));
            }
        }
    }

    /// Adds the cells of `other`, which has the same shape.
    pub(super) fn merge(&mut self, other: &Grid<impl Memory>, update: Update) {
        let (cells, join) = (self.stride * u64::from(self.rows), update.join());
        let (words, map) = (self.memory.as_mut_slice(), self.map);
        by_kind!(self.kind, L => region::add_all::<L>(words, &other.memory, map, cells, join));
    }

    /// All cells to zero.
    pub(super) fn clear(&mut self) {
        self.memory.as_mut_slice().fill(0);
    }

    /// The words, for decoders to fill.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.memory.as_mut_slice()
    }
}

/// Raises cell `at` by `by`; its value before.
#[inline(always)]
fn raise<L: CellLayout>(words: &mut [u64], map: usize, at: u64, by: u64) -> u64 {
    let slot = L::slot(|word| words[word], map, at);
    let to = slot.value.saturating_add(by);
    if to <= top(slot.width) {
        words[slot.word] += (to - slot.value) << slot.shift;
    } else {
        L::overflow(words, map, at, by, 0, Join::Sum);
    }
    slot.value
}

/// Plain update of many keys: row after row, which no row can tell from key after key.
fn raise_chunk<L: CellLayout>(words: &mut [u64], map: usize, positions: &[[u64; CHUNK]], least: &mut [u64]) {
    let (lines, far) = (Lines::new(words), ahead::is_far_if_known(words.len()));
    least.fill(u64::MAX);
    for row in positions {
        for (i, (at, least)) in row.iter().zip(&mut *least).enumerate() {
            if far {
                fetch::<L>(lines, map, row[(i + ahead::LINES).min(CHUNK - 1)]);
            }
            *least = (*least).min(raise::<L>(words, map, *at, 1));
        }
    }
}

/// Minimum increase: raises the cells at `at` that are below the least of them and `by`, to that.
/// The least before.
#[inline(always)]
fn increase<L: CellLayout, const D: usize>(words: &mut [u64], map: usize, at: &[u64; D], by: u64) -> u64 {
    let mut slots = [Slot::default(); D];
    let (mut least, mut widths) = (u64::MAX, 0);
    for (slot, at) in slots.iter_mut().zip(at) {
        *slot = L::slot(|word| words[word], map, *at);
        least = least.min(slot.value);
        widths |= slot.width;
    }
    let to = least.saturating_add(by);
    // Widths are powers of two: the lowest bit of all is the narrowest.
    if to > top(widths & widths.wrapping_neg()) {
        at.iter().for_each(|at| L::overflow(words, map, *at, 0, to, Join::Largest));
        return least;
    }
    for slot in slots {
        // Whether a cell is below is anybody's guess: a branch here would be mispredicted.
        let (short, above) = to.overflowing_sub(slot.value);
        words[slot.word] += core::hint::select_unpredictable(above, 0, short) << slot.shift;
    }
    least
}

/// The same for any number of rows, which are read twice.
fn increase_many<L: CellLayout>(
    words: &mut [u64],
    map: usize,
    at: impl Iterator<Item = u64> + Clone,
    by: u64,
) -> u64 {
    let read = |at| L::slot(|word| words[word], map, at).value;
    let least = at.clone().map(read).fold(u64::MAX, u64::min);
    let to = least.saturating_add(by);
    for at in at {
        let slot = L::slot(|word| words[word], map, at);
        match to.saturating_sub(slot.value) {
            by if to <= top(slot.width) => words[slot.word] += by << slot.shift,
            _ => L::overflow(words, map, at, 0, to, Join::Largest),
        }
    }
    least
}

/// Minimum increase of one key.
#[inline]
fn increase_one<L: CellLayout>(words: &mut [u64], map: usize, at: &[u64], by: u64) -> u64 {
    by_rows!(
        at.len(),
        D => at.first_chunk().map_or(0, |at| increase::<L, D>(words, map, at, by)),
        increase_many::<L>(words, map, at.iter().copied(), by)
    )
}

/// Minimum increase of many keys, by one each.
fn increase_chunk<L: CellLayout>(
    words: &mut [u64],
    map: usize,
    positions: &[[u64; CHUNK]],
    least: &mut [u64],
) {
    by_rows!(
        positions.len(),
        D => if let Some(positions) = positions.first_chunk() {
            increase_few::<L, D>(words, map, positions, least);
        },
        for (i, least) in least.iter_mut().enumerate() {
            *least = increase_many::<L>(words, map, positions.iter().map(|row| row[i]), 1);
        }
    );
}

/// The same with few rows.
fn increase_few<L: CellLayout, const D: usize>(
    words: &mut [u64],
    map: usize,
    positions: &[[u64; CHUNK]; D],
    least: &mut [u64],
) {
    let (lines, far) = (Lines::new(words), ahead::is_far_if_known(words.len()));
    for (i, least) in least.iter_mut().enumerate().take(CHUNK) {
        if far {
            positions.iter().for_each(|row| fetch::<L>(lines, map, row[(i + ahead::LINES).min(CHUNK - 1)]));
        }
        *least = increase::<L, D>(words, map, &positions.each_ref().map(|row| row[i]), 1);
    }
}

/// Asks for the lines of cell `at`.
#[inline(always)]
fn fetch<L: CellLayout>(lines: Lines, map: usize, at: u64) {
    let (word, mark) = L::lines(map, at);
    lines.prefetch_word(word);
    if let Some(mark) = mark {
        lines.prefetch_word(mark);
    }
}

impl<B: AsRef<[u8]>> Grid<Bytes<B>> {
    /// A grid in borrowed bytes; `None` unless they are exactly its words.
    pub(super) fn borrowed(bytes: B, kind: CellKind, rows: u32, columns: u64) -> Option<Self> {
        let (stride, bare, all) = measure(kind, rows, columns).ok()?;
        let fits = usize::try_from(all).ok()?.checked_mul(8)? == bytes.as_ref().len();
        fits.then_some(Self { memory: Bytes(bytes), kind, rows, columns, stride, map: bare as usize })
    }
}

impl<M: Memory> Grid<M> {
    pub(super) fn kind(&self) -> CellKind {
        self.kind
    }

    /// The distance of the rows' first cells.
    pub(super) fn stride(&self) -> u64 {
        self.stride
    }

    pub(super) fn memory(&self) -> &M {
        &self.memory
    }

    /// The value of cell `at`.
    pub(super) fn value(&self, at: u64) -> u64 {
        by_kind!(self.kind, L => L::slot(|word| self.memory.load(word), self.map, at).value)
    }

    /// Bits of a cell that has not merged.
    pub(super) fn cell_bits(&self) -> u32 {
        self.kind.width()
    }

    /// The least of the cells of one key.
    #[inline]
    pub(super) fn least(&self, rows: &Rows, digest: Digest) -> u64 {
        let (load, mut least) = (|word| self.memory.load(word), u64::MAX);
        by_kind!(self.kind, L => rows.each(digest, |at| least = least.min(L::slot(load, self.map, at).value)));
        least
    }

    /// The least of the cells of as many keys as `least` has room for.
    pub(super) fn least_chunk(&self, positions: &[[u64; CHUNK]], least: &mut [u64]) {
        by_kind!(self.kind, L => self.least_chunk_as::<L>(positions, least));
    }

    fn least_chunk_as<L: CellLayout>(&self, positions: &[[u64; CHUNK]], least: &mut [u64]) {
        let (load, far) = (|word| self.memory.load(word), ahead::is_far_if_known(self.memory.words()));
        least.fill(u64::MAX);
        for row in positions {
            for (i, (at, least)) in row.iter().zip(&mut *least).enumerate() {
                if far {
                    let (word, mark) = L::lines(self.map, row[(i + ahead::LINES).min(CHUNK - 1)]);
                    self.memory.prefetch(word);
                    mark.into_iter().for_each(|mark| self.memory.prefetch(mark));
                }
                *least = (*least).min(L::slot(load, self.map, *at).value);
            }
        }
    }

    /// The least over the rows of the inner product of both grids' cells, which have the same
    /// shape.
    pub(super) fn dot(&self, other: &Grid<impl Memory>) -> u128 {
        let row = |row: u32| {
            let first = u64::from(row) * self.stride;
            by_kind!(self.kind, L => region::dot::<L>(&self.memory, &other.memory, self.map, first, self.stride))
        };
        (0..self.rows).map(row).fold(u128::MAX, u128::min)
    }

    /// Counts the counters of each row.
    pub(super) fn census(&self) -> impl Iterator<Item = Census> {
        (0..u64::from(self.rows)).map(|row| {
            let first = row * self.stride;
            by_kind!(self.kind, L => region::census::<L>(&self.memory, self.map, first, self.columns))
        })
    }

    /// What must hold of words that came from a file.
    pub(super) fn check(&self) -> Result<(), DecodeError> {
        let (rows, load) = (u64::from(self.rows), |word| self.memory.load(word));
        let right = by_kind!(self.kind, L => L::check(&load, self.map, rows, self.stride, self.columns));
        region::checked(right)
    }

    /// A copy with its own memory.
    pub(super) fn to_owned(&self) -> Result<Grid<Owned>, SizeError> {
        let mut copy = Grid::new(self.kind, self.rows, self.columns)?;
        let words = copy.memory.as_mut_slice().iter_mut();
        words.enumerate().for_each(|(at, word)| *word = self.memory.load(at));
        Ok(copy)
    }
}

impl<M: Memory, N: Memory> PartialEq<Grid<N>> for Grid<M> {
    fn eq(&self, other: &Grid<N>) -> bool {
        (self.kind, self.rows, self.columns) == (other.kind, other.rows, other.columns)
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}
