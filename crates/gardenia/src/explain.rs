//! What a filter does with a key, step by step: bytes, digest, positions, cells.
//!
//! [`AnyFilter::explain`] is for people: teaching, debugging, drawing. It asks the filter itself
//! which cells it reads, so that it cannot disagree with `contains`, and it reads cells one by one,
//! so that it works on a mapped file of any size.
//!
//! ```
//! use gardenia::Spec;
//! let mut filter = "bloom bits=64 hashes=3".parse::<Spec>()?.build()?;
//! filter.insert("rose")?;
//! let rose = filter.explain("rose");
//! assert_eq!((rose.bytes.as_slice(), rose.probes.len(), rose.present), (&b"rose"[..], 3, true));
//! assert!(rose.probes.iter().all(|probe| probe.value == 1 && probe.agrees));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::cells::{Bits, Held, Memory, Tally};
use crate::hash::{Digest, Key};
use crate::index::Scheme;
use crate::{Ability, AnyFilter, Filter, InsertError};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// What the cells of a table hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Holds {
    /// One bit: a key is present if all its bits are set.
    Bits,
    /// A number: a key occurred at most as often as the least of its cells says.
    Counters,
    /// Fingerprints: a key is present if one of its cells equals its own. An empty cell is 0.
    Fingerprints,
    /// Parts of a sum: a key is present if the exclusive or of its cells gives its fingerprint.
    Sums,
    /// Bits of a code: a key is present if its number is among those that its cells encode.
    Code,
}

/// A table of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CellTable {
    /// What the filter calls it: `bits`, `row 2`, `slice 1`.
    pub name: Cow<'static, str>,
    /// What its cells hold.
    pub holds: Holds,
    /// Number of cells.
    pub cells: u64,
    /// Bits per cell; the most if cells differ.
    pub width: u32,
    /// Cells that lie together because a key uses several of them: a block, a bucket; 1 if there is
    /// no such thing.
    pub together: u64,
}

impl CellTable {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, holds: Holds, cells: u64, width: u32) -> Self {
        Self { name: name.into(), holds, cells, width, together: 1 }
    }
    pub(crate) fn bits(cells: u64) -> Self {
        Self::new("bits", Holds::Bits, cells, 1)
    }
    pub(crate) fn counters(cells: u64, width: u32) -> Self {
        Self::new("counters", Holds::Counters, cells, width)
    }
    pub(crate) fn together(self, together: u64) -> Self {
        Self { together, ..self }
    }
    pub(crate) fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A cell that a query of one key reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProbedCell {
    /// The number of the table, as in [`AnyFilter::tables`].
    pub table: u32,
    /// The group of cells: those of one group decide together, and one group is enough.
    pub group: u32,
    /// The number of the cell.
    pub at: u64,
    /// What it holds.
    pub value: u64,
    /// What it would hold after an insertion; see [`AnyFilter::explain_insert`].
    pub after: Option<u64>,
    /// Whether the cell agrees that the key is present.
    pub agrees: bool,
}

/// What a filter does with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Explanation {
    /// The bytes that stand for the key.
    pub bytes: Vec<u8>,
    /// The digest of these bytes: all that the filter knows of the key.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_number"))]
    pub digest: Digest,
    /// What the key's cells are compared with, in filters of fingerprints, sums and codes.
    pub fingerprint: Option<u64>,
    /// The cells, in the order of probing; a cell may occur twice.
    pub probes: Vec<ProbedCell>,
    /// The numbers that the cells encode, if they are a code.
    pub decoded: Vec<u64>,
    /// The answer of `contains`.
    pub present: bool,
    /// The answer of `count`, of kinds that count.
    pub count: Option<u64>,
}

#[cfg(feature = "serde")]
fn as_number<S: serde::Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(digest.0)
}

/// A cell of a key, as the filter names it.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) table: u32,
    pub(crate) group: u32,
    pub(crate) at: u64,
}

/// The most cells that an explanation lists: runs of quotient filters and codes have no bound of
/// their own.
const MOST_PROBES: usize = 4096;

/// What a filter says of one key.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) spots: Vec<Spot>,
    pub(crate) fingerprint: Option<u64>,
    pub(crate) decoded: Vec<u64>,
}

impl Seen {
    /// Adds the cells of one group.
    pub(crate) fn add(&mut self, table: usize, group: usize, cells: impl IntoIterator<Item = u64>) {
        let (table, group) = (table as u32, group as u32);
        let room = MOST_PROBES.saturating_sub(self.spots.len());
        self.spots.extend(cells.into_iter().take(room).map(|at| Spot { table, group, at }));
    }
    /// Adds the bits of `masks`, which are words from word `first` on.
    pub(crate) fn add_masks(&mut self, table: usize, group: usize, first: usize, masks: &[u64]) {
        for (word, mask) in masks.iter().enumerate() {
            let bits = (0..64u64).filter(|bit| mask >> bit & 1 == 1);
            self.add(table, group, bits.map(|bit| (first + word) as u64 * 64 + bit));
        }
    }
    /// Adds the positions of a scheme.
    pub(crate) fn walk(&mut self, table: usize, scheme: &impl Scheme, digest: Digest, cells: u64) {
        self.add(table, table, scheme.positions(digest, cells));
    }
}

/// A filter whose cells can be looked at one by one.
pub(crate) trait Explain {
    /// Its tables.
    fn tables(&self) -> Vec<CellTable>;
    /// Cell `at`, which is in the table.
    fn cell(&self, table: usize, at: u64) -> u64;
    /// The cells that a query of `digest` reads.
    fn look(&self, digest: Digest, seen: &mut Seen);
    /// Whether a cell of this value agrees that a key is present.
    fn agrees(&self, value: u64, fingerprint: Option<u64>) -> Option<bool> {
        match fingerprint {
            None => Some(value > 0),
            Some(_) => None,
        }
    }
}

/// [`Explain`] of a filter with one table of bits and a scheme.
macro_rules! look_at_bits {
    ([$($generics:tt)*] $filter:ty, $bits:ident) => {
        impl<$($generics)*> $crate::explain::Explain for $filter {
            fn tables(&self) -> alloc::vec::Vec<$crate::explain::CellTable> {
                alloc::vec![$crate::explain::CellTable::bits(self.$bits.len())]
            }
            fn cell(&self, _: usize, at: u64) -> u64 {
                self.$bits.get(at).into()
            }
            fn look(&self, digest: $crate::hash::Digest, seen: &mut $crate::explain::Seen) {
                seen.walk(0, &self.scheme, digest, self.$bits.len());
            }
        }
    };
}
/// [`Explain`] of a filter with one table of counters and a scheme.
macro_rules! look_at_counters {
    ([$($generics:tt)*] $filter:ty, $cells:ident) => {
        impl<$($generics)*> $crate::explain::Explain for $filter {
            fn tables(&self) -> alloc::vec::Vec<$crate::explain::CellTable> {
                alloc::vec![$crate::explain::CellTable::counters(self.$cells.len(), self.$cells.width())]
            }
            fn cell(&self, _: usize, at: u64) -> u64 {
                self.$cells.get(at).into()
            }
            fn look(&self, digest: $crate::hash::Digest, seen: &mut $crate::explain::Seen) {
                seen.walk(0, &self.scheme, digest, self.$cells.len());
            }
        }
    };
}
pub(crate) use {look_at_bits, look_at_counters};

/// Bits per cell of a table whose cells have this greatest value.
pub(crate) fn width_of(cells: &impl Tally) -> u32 {
    u32::BITS - cells.top().leading_zeros()
}

/// A bit, of filters that have several tables of them.
pub(crate) fn bit<M: Memory>(bits: &Bits<M>, at: u64) -> u64 {
    bits.get(at).into()
}

impl<M: Held> AnyFilter<M> {
    /// The tables of cells that the filter consists of.
    ///
    /// ```
    /// let filter = "count-min columns=8 rows=2".parse::<gardenia::Spec>()?.build()?;
    /// let tables = filter.tables();
    /// assert_eq!((tables.len(), tables[1].cells, &*tables[1].name), (2, 8, "row 2"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tables(&self) -> Vec<CellTable> {
        M::as_look(self).tables()
    }

    /// The values of the cells `cells` of table `table`; those that do not exist are left out.
    ///
    /// ```
    /// let mut filter = "counting cells=20 hashes=2".parse::<gardenia::Spec>()?.build()?;
    /// (0..3).for_each(|_| _ = filter.insert("rose"));
    /// assert_eq!(filter.cells(0, 0..20).iter().sum::<u64>(), 6);
    /// assert!(filter.cells(0, 20..30).is_empty() && filter.cells(7, 0..9).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cells(&self, table: usize, cells: core::ops::Range<u64>) -> Vec<u64> {
        let look = M::as_look(self);
        let end = look.tables().get(table).map_or(0, |table| table.cells).min(cells.end);
        (cells.start.min(end)..end).map(|at| look.cell(table, at)).collect()
    }

    /// The share of cells in use, for each of `parts` equal parts of a table. Of each part up to
    /// `samples` neighbouring cells are read, so that of a large mapped file only some pages are.
    ///
    /// ```
    /// let mut filter = "bloom items=10k fpp=0.01".parse::<gardenia::Spec>()?.build()?;
    /// (0..10_000u32).for_each(|key| _ = filter.insert(key));
    /// let picture = filter.fill_picture(0, 100, 1024);
    /// assert!(picture.len() == 100 && picture.iter().all(|fill| (0.3..0.7).contains(fill)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fill_picture(&self, table: usize, parts: usize, samples: usize) -> Vec<f32> {
        let look = M::as_look(self);
        let cells = look.tables().get(table).map_or(0, |table| table.cells);
        self.fill_of(table, 0..cells, parts, samples)
    }

    /// As [`fill_picture`](Self::fill_picture), of a part of the table.
    #[must_use]
    pub fn fill_of(
        &self,
        table: usize,
        cells: core::ops::Range<u64>,
        parts: usize,
        samples: usize,
    ) -> Vec<f32> {
        let look = M::as_look(self);
        let all = look.tables().get(table).map_or(0, |table| table.cells);
        fill_of_parts(all, cells, parts, samples, |at| look.cell(table, at) > 0)
    }

    /// What a query of `key` does: its bytes, its digest, the cells that are read, and the answer.
    ///
    /// [`users`](Self::users) names the keys that share its cells, which explains a false positive.
    ///
    /// ```
    /// let filter = "bloom bits=64 hashes=3".parse::<gardenia::Spec>()?.build()?;
    /// let rose = filter.explain("rose");
    /// assert!(!rose.present && rose.probes.iter().all(|probe| probe.value == 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(&self, key: impl Key) -> Explanation {
        let mut bytes = Vec::new();
        key.with_bytes(|part| bytes.extend_from_slice(part));
        let digest = self.hasher().digest_key(&key);
        Explanation { bytes, ..self.explain_digest(digest) }
    }

    /// For each cell of an explanation: which of `keys` use it, too, as places in `keys`. The
    /// filter does not know its keys, so that the caller names them; this is for small ones.
    ///
    /// ```
    /// let mut filter = "bloom bits=16 hashes=2".parse::<gardenia::Spec>()?.build()?;
    /// let keys = ["rose", "tulip", "iris", "lily"];
    /// keys.into_iter().for_each(|key| _ = filter.insert(key));
    /// let asked = (0..100u32).map(|key| filter.explain(key)).find(|asked| asked.present).unwrap();
    /// // Every bit of the false positive was set by one of the keys, or several.
    /// assert!(filter.users(&asked, &keys).iter().all(|users| !users.is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn users(&self, explained: &Explanation, keys: &[impl Key]) -> Vec<Vec<usize>> {
        let (look, mut users) = (M::as_look(self), Vec::new());
        users.resize_with(explained.probes.len(), Vec::new);
        for (number, key) in keys.iter().enumerate() {
            let mut seen = Seen::default();
            look.look(self.hasher().digest_key(key), &mut seen);
            for (probe, users) in explained.probes.iter().zip(&mut users) {
                if seen.spots.iter().any(|spot| (spot.table, spot.at) == (probe.table, probe.at)) {
                    users.push(number);
                }
            }
        }
        users
    }

    /// The same as [`explain`](Self::explain) for a digest, with no bytes.
    #[must_use]
    pub fn explain_digest(&self, digest: Digest) -> Explanation {
        let (look, mut seen) = (M::as_look(self), Seen::default());
        look.look(digest, &mut seen);
        let present = self.contains_digest(digest);
        let Seen { spots, fingerprint, decoded } = seen;
        let probes = spots
            .into_iter()
            .map(|Spot { table, group, at }| {
                let value = look.cell(table as usize, at);
                // The slot of an absent key may hold the same fingerprint for another one.
                let agrees =
                    look.agrees(value, fingerprint).unwrap_or(true) && (present || fingerprint.is_none());
                ProbedCell { table, group, at, value, after: None, agrees }
            })
            .collect();
        let count = self.as_count().map(|counts| counts.count_digest(digest));
        Explanation { bytes: Vec::new(), digest, fingerprint, probes, decoded, present, count }
    }
}

/// The share of cells in use, for each of `parts` equal parts of some of `all` cells, by up to
/// `samples` neighbours of each.
pub(crate) fn fill_of_parts(
    all: u64,
    cells: core::ops::Range<u64>,
    parts: usize,
    samples: usize,
    used: impl Fn(u64) -> bool,
) -> Vec<f32> {
    let end = all.min(cells.end);
    let start = cells.start.min(end);
    let (len, samples) = (end - start, samples.max(1) as u64);
    let parts = (parts as u64).min(len);
    let border = |part: u64| start + (u128::from(len) * u128::from(part) / u128::from(parts)) as u64;
    (0..parts)
        .map(|part| {
            let (from, to) = (border(part), border(part + 1));
            // Neighbours, from the middle: of a mapped file one page for each part, or two.
            let read = samples.min(to - from);
            let first = from + (to - from - read) / 2;
            (first..first + read).filter(|at| used(*at)).count() as f32 / read.max(1) as f32
        })
        .collect()
}

impl AnyFilter {
    /// As [`explain`](Self::explain), with what the cells would hold after the key was inserted. A
    /// copy of the filter is made for that, so this is for small ones.
    ///
    /// ```
    /// let filter = "counting cells=100 hashes=3".parse::<gardenia::Spec>()?.build()?;
    /// let rose = filter.explain_insert("rose")?;
    /// assert!(!rose.present && rose.probes.iter().all(|probe| (probe.value, probe.after) == (0, Some(1))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the filter refuses the key: it is full, or built from all its keys at once.
    pub fn explain_insert(&self, key: impl Key) -> Result<Explanation, InsertError> {
        let mut explained = self.explain(&key);
        if !self.can(Ability::Insert) {
            return Err(InsertError::Fixed);
        }
        let mut after = self.clone();
        after.insert_digest(explained.digest)?;
        let look = look_at(&after);
        let tables = look.tables();
        for probe in &mut explained.probes {
            let table = probe.table as usize;
            let exists = tables.get(table).is_some_and(|table| probe.at < table.cells);
            probe.after = exists.then(|| look.cell(table, probe.at));
        }
        Ok(explained)
    }
}

fn look_at<M: Held>(filter: &AnyFilter<M>) -> &dyn Explain {
    M::as_look(filter)
}
