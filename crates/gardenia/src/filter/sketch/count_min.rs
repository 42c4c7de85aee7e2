//! The Count-Min sketch: how often each key came, never too little.
//!
//! d rows of w counters; a key raises one counter in each row, and its estimate is the least of
//! them, because what other keys added only ever makes a counter larger. With w = e/ε and d = ln
//! 1/δ the estimate is above the truth by more than ε times all that was counted with probability δ
//! at most.
//!
//! Under minimum increase (*conservative update*) only the counters that are below the key's new
//! estimate are raised, up to it. Errors shrink, but counters no longer add up: such sketches can
//! still be merged (estimates stay upper bounds), but not as if one had counted both streams. A
//! counter at its top has lost count and stays there.
//!
//! Sources: Cormode and Muthukrishnan, "An improved data stream summary: the Count-Min sketch and
//! its applications" (2005); Kirsch and Mitzenmacher, "Less hashing, same performance" (2008),
//! section 9; Estan and Varghese, "New directions in traffic measurement and accounting" (2002):
//! multistage filters, conservative update.

use super::builder::CountMinOptions;
use super::grid::{Grid, Update};
use crate::cells::region::top;
use crate::cells::{CellKind, Memory, Owned};
use crate::error::{NegativeWeight, Saturated};
use crate::explain::{CellTable, Explain, Seen};
use crate::filter::request::filter_facts;
use crate::filter::verbs::{count_impl, filter_impl, insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::Kind;
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::Form;
use crate::index::rows::{CHUNK, Rows};
use crate::simd::{Bools, Given, Keys, Sink, Source, positions};
use crate::theory::bloom::{Estimate, estimate_items};
use crate::theory::count_min::{SketchShape, delta, epsilon};
use crate::{Merge, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Counts how often each key of a stream occurs: never too low, seldom much too high.
///
/// ```
/// let mut visits = gardenia::CountMin::new(0.001, 0.01)?; // within 0.1 % of all visits, 99 times in 100
/// visits.add("rose", 30);
/// visits.insert("tulip");
/// assert_eq!((visits.count("rose"), visits.count("tulip"), visits.total()), (30, 1, 31));
/// assert_eq!(visits.count("thistle"), 0);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Nothing can be removed again:
///
/// ```compile_fail
/// gardenia::CountMin::new(0.1, 0.1).unwrap().remove("rose");
/// ```
#[derive(Clone)]
pub struct CountMin<M = Owned> {
    pub(super) hasher: KeyHasher,
    pub(super) rows: Rows,
    pub(super) grid: Grid<M>,
    pub(super) update: Update,
    pub(super) total: u64,
    pub(super) about: About,
}

impl CountMin {
    /// A sketch whose estimates are above the truth by more than `epsilon` times the total with
    /// probability `delta` at most: the original form, plain update, cells of 32 bits.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, SizeError> {
        Self::builder().epsilon(epsilon).delta(delta).build()
    }

    /// A builder, to choose shape or memory, form, update, cells, seed.
    ///
    /// ```
    /// use gardenia::cells::CellKind;
    /// use gardenia::index::Form;
    /// use gardenia::filter::Update;
    /// use gardenia::CountMin;
    /// let sketch = CountMin::builder()
    ///     .bytes(1 << 20)
    ///     .rows(3)
    ///     .form(Form::Modified)
    ///     .update(Update::Conservative)
    ///     .cells(CellKind::Merging4)
    ///     .build()?;
    /// assert!(sketch.memory_bytes() <= 1 << 20 && sketch.columns() > 500_000);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<CountMin> {
        Builder::new(CountMinOptions::default())
    }

    /// A sketch of this shape, which its form can use.
    pub(super) fn with(
        hasher: KeyHasher,
        form: Form,
        update: Update,
        cells: CellKind,
        shape: SketchShape,
    ) -> Result<Self, SizeError> {
        let SketchShape { columns, rows, copies } = shape;
        let grid = Grid::new(cells, rows, columns)?;
        let rows = Rows::new(form, rows, copies, columns, grid.stride(), hasher.mark());
        Ok(Self { hasher, rows, grid, update, total: 0, about: About::default() })
    }

    /// Adds `key`; true if it was certainly absent before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.insert_each(Given(digests), &mut Bools::of(digests, new));
    }

    /// Counts `weight` more of `key`; its estimate afterwards. A weight of 0 changes nothing.
    ///
    /// ```
    /// let mut bytes = gardenia::CountMin::new(0.01, 0.01)?;
    /// assert_eq!(bytes.add("10.0.0.7", 1500), 1500);
    /// assert_eq!(bytes.add("10.0.0.7", 40), 1540);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[inline]
    pub fn add(&mut self, key: impl Key, weight: u64) -> u64 {
        self.about.took_key(&key);
        self.add_digest(self.hasher.digest_key(&key), weight)
    }

    /// [`add`](Self::add) of the key with this digest.
    #[inline]
    pub fn add_digest(&mut self, digest: Digest, weight: u64) -> u64 {
        self.add_between(digest, weight).1
    }

    /// [`add`](Self::add) of a weight that may come out negative: then an error, and nothing
    /// changes.
    ///
    /// ```
    /// let mut stock = gardenia::CountMin::new(0.01, 0.01)?;
    /// assert_eq!(stock.add_signed("rose", 3).unwrap(), 3);
    /// let error = stock.add_signed("rose", -1).unwrap_err();
    /// assert_eq!(error.to_string(), "the weight -1 is negative: only CountSketch accepts negative weights");
    /// assert_eq!(stock.count("rose"), 3);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn add_signed(&mut self, key: impl Key, weight: i64) -> Result<u64, NegativeWeight> {
        match u64::try_from(weight) {
            Ok(weight) => Ok(self.add(key, weight)),
            Err(_) => Err(NegativeWeight { weight }),
        }
    }

    /// The estimate of a key before and after `weight` more of it.
    #[inline]
    fn add_between(&mut self, digest: Digest, weight: u64) -> (u64, u64) {
        let before = self.raise(digest, weight);
        match before.saturating_add(weight) {
            after if after <= top(self.cell_kind().width()) => (before, after),
            _ => (before, self.count_digest(digest)), // a counter may have merged, or stuck
        }
    }

    /// Raises the cells of a key; its estimate before.
    #[inline]
    fn raise(&mut self, digest: Digest, weight: u64) -> u64 {
        self.total = self.total.saturating_add(weight);
        self.grid.add(&self.rows, digest, weight, self.update)
    }

    /// Counts `weight` more of `key`, and tells whether that took it from below `threshold` up to
    /// it: a multistage filter, which lets through each key that is large once. No key above the
    /// threshold is ever missed.
    ///
    /// ```
    /// use gardenia::filter::Update;
    /// use gardenia::CountMin;
    /// let mut filter = CountMin::builder().columns(1000).rows(4).update(Update::Conservative).build()?;
    /// let crossed: Vec<bool> = (0..5).map(|_| filter.add_crosses("elephant", 400, 1000)).collect();
    /// assert_eq!(crossed, [false, false, true, false, false]);
    /// assert!(filter.exceeds("elephant", 1000) && !filter.exceeds("mouse", 1000));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn add_crosses(&mut self, key: impl Key, weight: u64, threshold: u64) -> bool {
        self.about.took_key(&key);
        let (before, after) = self.add_between(self.hasher.digest_key(&key), weight);
        before < threshold && after >= threshold
    }

    /// Counts the key with this digest once; true if it is certainly the first of its key.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.raise(digest, 1) == 0
    }

    /// Counts digests in order; `new` receives for each whether it is certainly the first of its
    /// key.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        let (mut at, mut least) = (vec![[0; CHUNK]; self.rows.rows() as usize], [0; CHUNK]);
        digests.chunks(|digests| {
            let least = &mut least[..digests.len()];
            positions(&self.rows, digests, &mut at);
            self.grid.add_chunk(&at, self.update, least);
            self.total = self.total.saturating_add(digests.len() as u64);
            told(least, |before| before == 0, new);
        });
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.grid.clear();
        self.total = 0;
        self.about.forget();
    }
}

/// Hands a yes or no for each number to `answers`.
fn told(numbers: &[u64], yes: impl Fn(u64) -> bool, answers: &mut impl Sink) {
    for numbers in numbers.chunks(64) {
        let bits = numbers.iter().enumerate().map(|(i, number)| u64::from(yes(*number)) << i);
        answers.take(bits.fold(0, |mask, bit| mask | bit), numbers.len());
    }
}

impl<M: Memory> CountMin<M> {
    /// Whether `key` may have occurred: never false for a key that did.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher.digest_key(&key))
    }

    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        Bools::collect(keys.len(), |answers| self.contains_each(Keys::new(&self.hasher, keys), answers))
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.contains_each(Given(digests), &mut Bools::of(digests, out));
    }
    /// How often `key` occurred, or the sum of its weights: never too little below the cells'
    /// [`top`](Self::top).
    #[inline]
    #[must_use]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_digest(self.hasher.digest_key(&key))
    }

    /// Counts of all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = vec![0; keys.len()];
        self.count_each(Keys::new(&self.hasher, keys), &mut counts);
        counts
    }

    /// Counts for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn count_digests(&self, digests: &[Digest], out: &mut [u64]) {
        assert_eq!(digests.len(), out.len(), "one count per digest");
        self.count_each(Given(digests), out);
    }

    /// [`count`](Self::count), or an error if the cells have lost count.
    ///
    /// ```
    /// let mut visits = gardenia::CountMin::builder().columns(100).rows(2).build()?;
    /// visits.add("rose", u64::from(u32::MAX) - 1);
    /// assert_eq!(visits.checked_count("rose"), Ok(u64::from(u32::MAX) - 1));
    /// visits.insert("rose");
    /// assert!(visits.checked_count("rose").is_err());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn checked_count(&self, key: impl Key) -> Result<u64, Saturated> {
        let (count, top) = (self.count(key), self.top());
        if count < top { Ok(count) } else { Err(Saturated { top }) }
    }

    /// Whether the estimate of `key` is `threshold` or more: never false for a key that is.
    pub fn exceeds(&self, key: impl Key, threshold: u64) -> bool {
        self.count(key) >= threshold
    }

    /// Whether the key with this digest may have occurred.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.count_digest(digest) > 0
    }

    /// The estimate for the key with this digest: the least of its cells.
    #[inline]
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        self.grid.least(&self.rows, digest)
    }

    /// Hands the least of the cells of digests to `take`, some at a time and in order.
    fn least_each(&self, digests: impl Source, mut take: impl FnMut(&[u64])) {
        let (mut at, mut least) = (vec![[0; CHUNK]; self.rows.rows() as usize], [0; CHUNK]);
        digests.chunks(|digests| {
            let least = &mut least[..digests.len()];
            positions(&self.rows, digests, &mut at);
            self.grid.least_chunk(&at, least);
            take(least);
        });
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.least_each(digests, |least| told(least, |count| count > 0, answers));
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        self.least_each(digests, |least| least.iter().zip(&mut counts).for_each(|(from, to)| *to = *from));
    }

    /// The inner product of what two sketches counted (the size of a join): the sum over all keys
    /// of the product of their counts, never too little. Both must be alike, and of plain update:
    /// other cells do not hold sums.
    ///
    /// ```
    /// let mut orders = gardenia::CountMin::new(0.01, 0.01)?;
    /// let mut prices = orders.clone();
    /// (orders.add("rose", 3), orders.add("tulip", 5), prices.add("rose", 20));
    /// assert_eq!(orders.inner_product(&prices), Ok(60));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn inner_product(&self, other: &CountMin<impl Memory>) -> Result<u128, Mismatch> {
        self.check_alike(other)?;
        if self.update == Update::Plain {
            return Ok(self.grid.dot(&other.grid));
        }
        let (ours, theirs) = (self.update.name().into(), "plain is needed".into());
        Err(Mismatch { what: "update", ours, theirs })
    }

    /// Whether two sketches can be combined; if not, the first difference.
    pub(super) fn check_alike(&self, other: &CountMin<impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        let copies = |rows: &Rows| alloc::format!("{} with {} copies", rows.form().name(), rows.copies());
        let fields = [
            ("form", copies(&self.rows), copies(&other.rows)),
            ("update", self.update.name().into(), other.update.name().into()),
        ];
        match fields.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            Some((what, ours, theirs)) => Err(Mismatch { what, ours, theirs }),
            None => Ok(()),
        }
    }

    filter_facts!();

    /// The sum of all weights, ‖a‖: what ε is a share of. Stops at 2⁶⁴ − 1.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Cells of a row, w.
    #[must_use]
    pub fn columns(&self) -> u64 {
        self.rows.columns()
    }

    /// Rows of all copies together, d.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows.rows()
    }

    /// Copies of the modified form; 1 for the original.
    #[must_use]
    pub fn copies(&self) -> u32 {
        self.rows.copies()
    }

    /// A function for each row, or two for all.
    #[must_use]
    pub fn form(&self) -> Form {
        self.rows.form()
    }

    /// What happens to the cells of a key.
    #[must_use]
    pub fn update(&self) -> Update {
        self.update
    }

    /// What the cells are.
    #[must_use]
    pub fn cell_kind(&self) -> CellKind {
        self.grid.kind()
    }

    /// The largest estimate: a key that has it has lost count. See
    /// [`checked_count`](Self::checked_count).
    #[must_use]
    pub fn top(&self) -> u64 {
        self.grid.kind().top()
    }

    /// The share ε of the total that estimates exceed the truth by with probability
    /// [`delta`](Self::delta) at most.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        epsilon(self.form(), self.columns())
    }

    /// The probability that an estimate is above the truth by more than [`epsilon`](Self::epsilon)
    /// of the total.
    #[must_use]
    pub fn delta(&self) -> f64 {
        delta(self.form(), self.columns(), self.rows(), self.copies())
    }

    /// Memory used by the cells, in bytes, with the map of merged ones.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.grid.memory().words() * 8
    }

    /// Bytes that this many more keys add: none, a sketch stays as large as it is.
    pub(crate) fn bytes_for(&self, _keys: u64) -> u64 {
        0
    }

    /// The share of cells whose counter is not zero.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let covered: u64 = self.grid.census().map(|row| row.covered).sum();
        covered as f64 / (self.columns() as f64 * f64::from(self.rows()))
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// Counters at their top, which have lost count and stay.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.grid.census().map(|row| row.stuck).sum()
    }

    /// The probability that a key which was never inserted is counted: all its cells are taken, or
    /// its functions agree with those of an inserted key.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let w = self.columns() as f64;
        let rows: f64 = self.grid.census().map(|row| row.covered as f64 / w).product();
        let alike = match self.form() {
            Form::Original => 0.0,
            // In every copy; infinitely many keys give no more than certainty.
            Form::Modified => {
                let met = -libm::expm1(-self.estimated_items().items / (w * w));
                libm::pow(met, f64::from(self.copies()))
            }
        };
        rows + alike * (1.0 - rows)
    }

    /// The number of distinct keys in the stream, estimated from the counters that are still zero:
    /// linear counting in each row. A merged counter is taken as one that is not zero, because its
    /// cells can no longer be told apart.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        let (counters, nonzero) = self
            .grid
            .census()
            .fold((0, 0), |(counters, nonzero), row| (counters + row.counters, nonzero + row.nonzero));
        let estimate = estimate_items(counters, self.rows(), nonzero);
        let scale = self.columns() as f64 * f64::from(self.rows()) / counters as f64;
        Estimate { items: estimate.items * scale, std_error: estimate.std_error * scale }
    }

    /// Hasher and shape. Form and update are beside it.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::CountMin,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.rows(),
            cells: self.columns() * u64::from(self.rows()),
            width: self.grid.kind().width(),
        }
    }

    /// A copy with its own memory, of a sketch that may lie in somebody else's.
    pub fn try_to_owned(&self) -> Result<CountMin, SizeError> {
        let Self { hasher, rows, grid, update, total, about } = self;
        let (rows, grid, about) = (rows.clone(), grid.to_owned()?, about.clone());
        Ok(CountMin { hasher: hasher.clone(), rows, grid, update: *update, total: *total, about })
    }
}

impl<M: Memory> fmt::Debug for CountMin<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountMin")
            .field("hasher", &self.hasher)
            .field("form", &self.form())
            .field("update", &self.update)
            .field("rows", &self.rows())
            .field("columns", &self.columns())
            .field("cells", &self.cell_kind())
            .field("total", &self.total)
            .finish()
    }
}

/// Equal in shape, update, cells and total: the same answer to every question.
impl<M: Memory, N: Memory> PartialEq<CountMin<N>> for CountMin<M> {
    fn eq(&self, other: &CountMin<N>) -> bool {
        self.check_alike(other).is_ok() && self.total == other.total && self.grid == other.grid
    }
}

impl<M: Memory> Explain for CountMin<M> {
    fn tables(&self) -> Vec<CellTable> {
        let width = self.grid.cell_bits();
        let row =
            |row| CellTable::counters(self.rows.columns(), width).named(alloc::format!("row {}", row + 1));
        (0..self.rows.rows()).map(row).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.grid.value(table as u64 * self.grid.stride() + at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        let mut row = 0;
        self.rows.each(digest, |at| {
            seen.add(row, 0, [at - row as u64 * self.grid.stride()]);
            row += 1;
        });
    }
}

filter_impl!([M: Memory] CountMin<M>);
insert_impl!([] CountMin);
count_impl!([M: Memory] CountMin<M>, sketch: most sketch.cell_kind().top(), saturated sketch.saturated());

impl Merge for CountMin {
    /// Adds the cells of `other`. Plain update: afterwards the sketch is the one that counted both
    /// streams. Conservative update: its estimates are still never too little, but may be larger
    /// than of one sketch that counted both.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.check_alike(other)?;
        self.grid.merge(&other.grid, self.update);
        self.total = self.total.saturating_add(other.total);
        self.about.took_all(&other.about);
        Ok(())
    }
}
