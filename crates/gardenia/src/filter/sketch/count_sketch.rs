//! The Count sketch: counts that may fall as well as rise, without bias, and the second moment of a
//! stream.
//!
//! Each row gives a key one cell *and a sign*: the cell is raised or lowered by the key's weight.
//! What other keys added has either sign as often, so a row is too high as often as too low, and
//! the median of the rows is near the truth. Without the signs (the median of plain counters) every
//! estimate would be too large.
//!
//! Cells are chosen by pairwise independent functions, signs by polynomials of degree three modulo
//! 2⁶¹ − 1, which are 4-wise independent: the variance of the second moment needs that. Sums are
//! modulo 2⁶⁴, so that they are right whenever the last one fits, whatever overflowed on the way.
//!
//! Sources: Charikar, Chen and Farach-Colton, "Finding frequent items in data streams" (2002);
//! Cormode and Garofalakis, "Sketching streams through the net" (2005: Fast-AMS); Alon, Matias and
//! Szegedy (1996).

use crate::cells::{Bytes, Memory, Owned};
use crate::filter::builder::Built;
use crate::filter::request::filter_facts;
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::linear::{Linear, Modulus, drawn, folded, mul_add};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::theory::count_min::SketchShape;
use crate::theory::count_sketch::{moment_error, shape};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Counts that rise and fall: unbiased estimates, second moments, differences of streams.
///
/// ```
/// let mut stock = gardenia::CountSketch::new(0.01, 0.01)?;
/// stock.add("rose", 30);
/// stock.add("rose", -10);
/// assert_eq!((stock.count("rose"), stock.count("tulip")), (20, 0));
/// assert_eq!(stock.second_moment().value, 400.0);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct CountSketch<M = Owned> {
    hasher: KeyHasher,
    columns: Modulus,
    rows: Vec<Row>,
    cells: M,
    about: About,
}

/// The functions of one row.
#[derive(Clone, Copy, Debug)]
struct Row {
    column: Linear,
    sign: [u64; 4],
}

impl Row {
    /// Those of row `row`, drawn from `seed`.
    fn drawn(seed: u64, row: u32) -> Self {
        let sign = core::array::from_fn(|i| drawn(seed, 6 * row + 3 + i as u32));
        Self { column: Linear::drawn(seed, 3 * row), sign }
    }

    /// 1 or −1: the lowest bit of a polynomial of degree three.
    #[inline]
    fn sign(&self, x: u64) -> i64 {
        let value = self.sign.iter().fold(0, |sum, coefficient| mul_add(sum, x, *coefficient));
        ((value & 1) as i64 * 2) - 1
    }
}

/// A moment of a stream, and how far off it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Moment {
    /// The estimate.
    pub value: f64,
    /// One standard deviation: two thirds of all estimates are nearer to the truth.
    pub std_error: f64,
}

#[derive(Clone, Debug, Default)]
pub struct CountSketchOptions {
    errors: (Option<f64>, Option<f64>),
    shape: (Option<u64>, Option<u32>),
}

impl Built for CountSketch {
    type Options = CountSketchOptions;
}

impl Builder<CountSketch> {
    /// How far an estimate may be off, as a share of the root of the second moment.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.options.errors.0 = Some(epsilon);
        self
    }

    /// How probable it may be that an estimate is farther off.
    pub fn delta(mut self, delta: f64) -> Self {
        self.options.errors.1 = Some(delta);
        self
    }

    /// Cells of a row, w.
    pub fn columns(mut self, columns: u64) -> Self {
        self.options.shape.0 = Some(columns);
        self
    }

    /// Rows, an odd number.
    pub fn rows(mut self, rows: u32) -> Self {
        self.options.shape.1 = Some(rows);
        self
    }

    /// The sketch.
    pub fn build(self) -> Result<CountSketch, SizeError> {
        let SketchShape { columns, rows, .. } = match (self.options.errors, self.options.shape) {
            ((Some(epsilon), Some(delta)), (None, None)) => shape(epsilon, delta)?,
            ((None, None), (Some(columns), Some(rows))) => SketchShape { columns, rows, copies: 1 },
            _ => return Err(SizeError::Conflict("give epsilon and delta, or columns and rows")),
        };
        let cells = Owned::zeroed(check(columns, rows)?)?;
        Ok(CountSketch::over(self.request.hasher, columns, rows, cells, About::default()))
    }
}

/// The words of such a sketch, if there can be one.
fn check(columns: u64, rows: u32) -> Result<usize, SizeError> {
    if !(1..=MAX_HASHES).contains(&rows) {
        return Err(SizeError::Hashes { hashes: rows, max: MAX_HASHES });
    }
    if rows.is_multiple_of(2) {
        return Err(SizeError::Conflict("a Count sketch takes the median: its rows must be an odd number"));
    }
    match columns.saturating_mul(rows.into()) {
        0 => Err(SizeError::ZeroCells),
        cells if cells > MAX_CELLS => Err(SizeError::TooManyCells { cells, max: MAX_CELLS }),
        cells => usize::try_from(cells).map_err(|_| SizeError::Memory { bytes: cells.saturating_mul(8) }),
    }
}

impl CountSketch {
    /// A sketch whose estimates are off by more than `epsilon` times the root of the second moment
    /// with probability `delta` at most.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, SizeError> {
        Self::builder().epsilon(epsilon).delta(delta).build()
    }

    /// A builder, to choose shape, seed.
    ///
    /// ```
    /// let sketch = gardenia::CountSketch::builder().columns(1000).rows(5).seed(7).build()?;
    /// assert_eq!((sketch.columns(), sketch.rows()), (1000, 5));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<CountSketch> {
        Builder::new(CountSketchOptions::default())
    }

    /// Counts `weight` more of `key`, or less if it is negative.
    #[inline]
    pub fn add(&mut self, key: impl Key, weight: i64) {
        self.about.took_key(&key);
        self.add_digest(self.hasher.digest_key(&key), weight);
    }

    /// Counts `key` once.
    #[inline]
    pub fn insert(&mut self, key: impl Key) {
        self.add(key, 1);
    }

    /// [`add`](Self::add) of the key with this digest.
    #[inline]
    pub fn add_digest(&mut self, digest: Digest, weight: i64) {
        let (x, w, words) = (folded(digest), self.columns.get() as usize, self.cells.as_mut_slice());
        for (row, cells) in self.rows.iter().zip(words.chunks_exact_mut(w)) {
            let cell = &mut cells[self.columns.of(row.column.at(x)) as usize];
            *cell = cell.wrapping_add(row.sign(x).wrapping_mul(weight) as u64);
        }
    }

    /// Subtracts what `other` counted: afterwards the sketch is that of the difference of both
    /// streams.
    ///
    /// ```
    /// let mut today = gardenia::CountSketch::new(0.1, 0.1)?;
    /// let mut yesterday = today.clone();
    /// (today.add("rose", 7), yesterday.add("rose", 9));
    /// today.subtract(&yesterday).unwrap();
    /// assert_eq!(today.count("rose"), -2);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn subtract(&mut self, other: &CountSketch<impl Memory>) -> Result<(), Mismatch> {
        self.combine(other, u64::wrapping_sub)
    }

    fn combine(
        &mut self,
        other: &CountSketch<impl Memory>,
        join: impl Fn(u64, u64) -> u64,
    ) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        let cells = self.cells.as_mut_slice().iter_mut().enumerate();
        cells.for_each(|(at, cell)| *cell = join(*cell, other.cells.load(at)));
        self.about.took_all(&other.about);
        Ok(())
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.cells.as_mut_slice().fill(0);
        self.about.forget();
    }
}

impl<K: Key> Extend<K> for CountSketch {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.insert(key));
    }
}

impl Merge for CountSketch {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.combine(other, u64::wrapping_add)
    }
}

impl<M: Memory> CountSketch<M> {
    /// A sketch of these cells.
    fn over(hasher: KeyHasher, columns: u64, rows: u32, cells: M, about: About) -> Self {
        let rows = (0..rows).map(|row| Row::drawn(hasher.mark(), row)).collect();
        Self { hasher, columns: Modulus::new(columns), rows, cells, about }
    }

    /// The sum of the weights of `key`: the median of what the rows say, off on both sides alike.
    #[inline]
    #[must_use]
    pub fn count(&self, key: impl Key) -> i64 {
        self.count_digest(self.hasher.digest_key(&key))
    }

    /// [`count`](Self::count) of the key with this digest.
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> i64 {
        let (x, w) = (folded(digest), self.columns.get() as usize);
        let value = |(at, row): (usize, &Row)| {
            let cell = self.cells.load(at * w + self.columns.of(row.column.at(x)) as usize);
            (cell as i64).wrapping_mul(row.sign(x))
        };
        let mut room = [0; MAX_HASHES as usize];
        let values = &mut room[..self.rows.len()];
        values.iter_mut().zip(self.rows.iter().enumerate().map(value)).for_each(|(to, from)| *to = from);
        let middle = values.len() / 2;
        *values.select_nth_unstable(middle).1
    }

    /// The sum of all squared counts, F2: how uneven a stream is, or how far two streams are apart
    /// (of their difference). The median of the rows' sums of squares.
    ///
    /// ```
    /// let mut words = gardenia::CountSketch::new(0.01, 0.01)?;
    /// (0..100).for_each(|word| words.add(word, 3));
    /// let moment = words.second_moment();
    /// assert!((moment.value - 900.0).abs() < 5.0 * moment.std_error);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn second_moment(&self) -> Moment {
        let value = self.median_of_products(self);
        Moment { value, std_error: value * moment_error(self.columns(), self.rows()) }
    }

    /// The sum over all keys of the product of their counts in two sketches, off on both sides
    /// alike.
    ///
    /// ```
    /// let mut orders = gardenia::CountSketch::new(0.01, 0.01)?;
    /// let mut prices = orders.clone();
    /// (orders.add("rose", -3), orders.add("tulip", 5), prices.add("rose", 20));
    /// assert_eq!(orders.inner_product(&prices), Ok(-60.0));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn inner_product(&self, other: &CountSketch<impl Memory>) -> Result<f64, Mismatch> {
        self.identity().check(&other.identity())?;
        Ok(self.median_of_products(other))
    }

    fn median_of_products(&self, other: &CountSketch<impl Memory>) -> f64 {
        let w = self.columns.get() as usize;
        let product = |at| (self.cells.load(at) as i64) as f64 * (other.cells.load(at) as i64) as f64;
        let row = |row: usize| (row * w..(row + 1) * w).map(product).sum();
        let mut rows: Vec<f64> = (0..self.rows.len()).map(row).collect();
        let middle = rows.len() / 2;
        *rows.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    filter_facts!();

    /// Cells of a row, w.
    #[must_use]
    pub fn columns(&self) -> u64 {
        self.columns.get()
    }

    /// Rows, d.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.cells.words() * 8
    }

    /// Hasher and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::CountSketch,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.rows(),
            cells: self.columns() * u64::from(self.rows()),
            width: 64,
        }
    }
}

impl<M: Memory> fmt::Debug for CountSketch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (self.rows(), self.columns());
        f.debug_struct("CountSketch")
            .field("hasher", &self.hasher)
            .field("rows", &rows)
            .field("columns", &columns)
            .finish()
    }
}

/// Equal in identity and cells: the same answer to every question.
impl<M: Memory, N: Memory> PartialEq<CountSketch<N>> for CountSketch<M> {
    fn eq(&self, other: &CountSketch<N>) -> bool {
        let words = self.cells.words();
        self.identity() == other.identity()
            && (0..words).all(|at| self.cells.load(at) == other.cells.load(at))
    }
}

impl<M: Memory> Stored for CountSketch<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![&self.cells]
    }
}

/// Hasher, columns, rows and words of a stored sketch, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, u64, u32, usize), DecodeError> {
    header.check_kind(Kind::CountSketch)?;
    header.check_no_scheme()?;
    header.check_params(&[])?;
    header.check_width(64)?;
    let (cells, rows) = (header.identity.cells, header.identity.hashes);
    if rows == 0 || !cells.is_multiple_of(rows.into()) {
        return Err(DecodeError::Field {
            field: "cells",
            value: cells,
            rule: "that is no multiple of the rows",
        });
    }
    let words = check(cells / u64::from(rows), rows)?;
    header.check_payload(cells * 8)?;
    Ok((header.hasher(options)?, cells / u64::from(rows), rows, words))
}

impl format::Restore for CountSketch {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, columns, rows, words) = restore(header, options)?;
        Ok(Self::over(hasher, columns, rows, Owned::zeroed(words)?, header.about()))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.cells.as_mut_slice()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        Ok(()) // every word is a cell, and a cell may hold anything
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for CountSketch<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, columns, rows, words) = restore(header, options)?;
        match payload.as_ref().len() == words * 8 {
            true => Ok(Self::over(hasher, columns, rows, Bytes(payload), header.about())),
            false => Err(DecodeError::Damaged("the payload is shorter than its header says")),
        }
    }
}

format::stored_methods!(CountSketch<M> where M: Memory);
format::read_methods!(CountSketch);
format::serde_impls!([M: Memory] CountSketch<M>, [] CountSketch);
