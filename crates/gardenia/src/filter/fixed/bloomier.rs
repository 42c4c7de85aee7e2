//! Bloomier filter: a static map from keys to values of r bits, which says of most absent keys that
//! they are.
//!
//! The cells of a key, one exclusive or the other, and the key's own mask of q bits make its value;
//! an absent key's make any word, and unless its upper q − r bits are zero by chance (probability
//! 2^(r−q)) that is seen. To change a value would change other keys' words. So the map whose values
//! can be changed has two tables: the first tells in this way *which* of its cells is a key's own,
//! and the second holds the value there, where no other key has one.
//!
//! Cells are laid out as those of a [binary fuse filter](crate::BinaryFuse): 1.13 or 1.08 of them
//! per key, where the original has 1.23.
//!
//! Source: Chazelle, Kilian, Rubinfeld and Tal, "The Bloomier Filter" (2004).

use super::builder::threads;
use super::digests::{Entries, digests_of, reserved, try_seeds};
use super::fuse::{Layout, Peeled, Picked, build};
use crate::cells::{Bytes, Memory, Owned, Packed, packed_words};
use crate::error::UpdateError;
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, Threaded};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::filter_impl;
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Cut, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead};
use crate::spec::{FromSpec, Measure, Param, Spec, SpecError, Watch};
use crate::theory::binary_fuse::{self, FuseShape};
use crate::theory::bloom::Estimate;
use crate::{BuildError, DecodeError, EncodeError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A static map, built from all keys and their values at once.
///
/// ```
/// use gardenia::Bloomier;
/// let colours = Bloomier::builder().check_bits(16).build_from(&[("rose", 7), ("violet", 2)])?;
/// assert_eq!((colours.get("rose"), colours.get("violet")), (Some(7), Some(2)));
/// assert_eq!(colours.get("thistle"), None); // but for one absent key in 65,536
/// # Ok::<(), gardenia::BuildError>(())
/// ```
///
/// Its values cannot be changed; those of a [`MutableBloomier`] can.
///
/// ```compile_fail,E0599
/// let mut colours = gardenia::Bloomier::builder().build_from(&[("rose", 7)]).unwrap();
/// colours.set("rose", 8);
/// ```
#[derive(Clone)]
pub struct Bloomier<M = Owned> {
    hasher: KeyHasher,
    plan: MapLayout,
    cells: Packed<M>,
    about: About,
}

/// A static map whose values can be changed; its keys cannot.
///
/// ```
/// use gardenia::error::UpdateError;
/// use gardenia::Bloomier;
/// let mut stock = Bloomier::builder().value_bits(8).check_bits(16).build_mutable_from(&[("rose", 7), ("violet", 2)])?;
/// assert_eq!(stock.set("rose", 255), Ok(7)); // the value before
/// assert_eq!((stock.get("rose"), stock.get("violet")), (Some(255), Some(2)));
/// assert_eq!(stock.set("thistle", 1), Err(UpdateError::Absent));
/// assert_eq!(stock.set("rose", 256), Err(UpdateError::Value { value: 256, bits: 8 }));
/// # Ok::<(), gardenia::BuildError>(())
/// ```
///
/// Keys cannot be removed:
///
/// ```compile_fail,E0599
/// let mut stock = gardenia::Bloomier::builder().build_mutable_from(&[("rose", 7)]).unwrap();
/// stock.remove("rose");
/// ```
#[derive(Clone)]
pub struct MutableBloomier<M = Owned> {
    hasher: KeyHasher,
    plan: MapLayout,
    /// Which of its cells is a key's own, and check bits.
    sides: Packed<M>,
    values: Packed<M>,
    about: About,
}

/// Layout and widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MapLayout {
    layout: Layout,
    value_bits: u32,
    check_bits: u32,
    items: u64,
}

/// Bits that tell which of up to four cells is a key's own.
const SIDE_BITS: u32 = 2;

/// With 32 bits of value and two that tell a side, the cells of both tables have 64 bits, which a
/// header can say.
const MAX_CHECK_BITS: u32 = 30;

#[derive(Clone, Debug)]
pub struct BloomierOptions {
    arity: u32,
    value_bits: Option<u32>,
    check_bits: u32,
}

impl Built for Bloomier {
    type Options = BloomierOptions;
}
impl Threaded for Bloomier {}

impl Builder<Bloomier> {
    /// Bits per value, 1 to 32; as many as the largest value has unless said.
    pub fn value_bits(mut self, bits: u32) -> Self {
        self.options.value_bits = Some(bits);
        self
    }

    /// Check bits, which expose absent keys: 0 to 30; 8 unless set. With none, every key has some
    /// value.
    pub fn check_bits(mut self, bits: u32) -> Self {
        self.options.check_bits = bits;
        self
    }

    /// Cells per key: 3 (unless said), or 4, which makes the map 4 % smaller and a query a third
    /// longer.
    pub fn arity(mut self, arity: u32) -> Self {
        self.options.arity = arity;
        self
    }

    /// The map of these keys to their values. One key with one value may come several times.
    pub fn build_from<K: Key + Sync>(self, entries: &[(K, u32)]) -> Result<Bloomier, BuildError> {
        let (digests, values) = self.taken_apart(entries)?;
        let map = self.build_from_digests(&digests, &values)?;
        map.about.took::<K>();
        Ok(map)
    }

    /// The same as a map whose values can be changed.
    pub fn build_mutable_from<K: Key + Sync>(
        self,
        entries: &[(K, u32)],
    ) -> Result<MutableBloomier, BuildError> {
        let (digests, values) = self.taken_apart(entries)?;
        let map = self.build_mutable_from_digests(&digests, &values)?;
        map.about.took::<K>();
        Ok(map)
    }

    /// As [`build_from`](Self::build_from), from digests made by the same hasher, and a value for
    /// each.
    pub fn build_from_digests(self, digests: &[Digest], values: &[u32]) -> Result<Bloomier, BuildError> {
        let (plan, peeled) = self.solve(digests, values)?;
        let table =
            peeled.table(self.request.threads(), |key: Picked| mask(key.digest) ^ u64::from(key.value))?;
        let mut cells = Packed::new(plan.layout.cells(), plan.cell_bits())?;
        (0..).zip(table).for_each(|(at, cell)| cells.set(at, cell));
        Ok(Bloomier { hasher: self.request.hasher, plan, cells, about: plan.about() })
    }

    /// As [`build_mutable_from`](Self::build_mutable_from), from digests made by the same hasher,
    /// and a value for each.
    pub fn build_mutable_from_digests(
        self,
        digests: &[Digest],
        values: &[u32],
    ) -> Result<MutableBloomier, BuildError> {
        let (plan, peeled) = self.solve(digests, values)?;
        let table =
            peeled.table(self.request.threads(), |key: Picked| mask(key.digest) ^ u64::from(key.side))?;
        let mut sides = Packed::new(plan.layout.cells(), plan.side_bits())?;
        (0..).zip(table).for_each(|(at, cell)| sides.set(at, cell));
        let mut values = Packed::new(plan.layout.cells(), plan.value_bits)?;
        peeled.each(|key: Picked| values.set(key.cell as u64, key.value.into()));
        Ok(MutableBloomier { hasher: self.request.hasher, plan, sides, values, about: plan.about() })
    }

    fn taken_apart<K: Key + Sync>(&self, entries: &[(K, u32)]) -> Result<(Vec<Digest>, Vec<u32>), SizeError> {
        let mut keys = reserved(entries.len())?;
        keys.extend(entries.iter().map(|entry| &entry.0));
        let mut values = reserved(entries.len())?;
        values.extend(entries.iter().map(|entry| entry.1));
        Ok((digests_of(&self.request.hasher, &keys, self.request.threads())?, values))
    }

    /// Checks the widths, and gives each key a cell of its own.
    fn solve(&self, digests: &[Digest], values: &[u32]) -> Result<(MapLayout, Peeled<2>), BuildError> {
        if digests.len() != values.len() {
            return Err(BuildError::Values { keys: digests.len(), values: values.len() });
        }
        let largest = values.iter().copied().max().unwrap_or(0);
        let value_bits = self.options.value_bits.unwrap_or((u32::BITS - largest.leading_zeros()).max(1));
        if !(1..=32).contains(&value_bits) {
            return Err(SizeError::Width { width: value_bits }.into());
        }
        if self.options.check_bits > MAX_CHECK_BITS {
            return Err(SizeError::Conflict("a map has 0 to 30 check bits").into());
        }
        if u64::from(largest) >> value_bits != 0 {
            return Err(BuildError::Value { value: largest, bits: value_bits });
        }
        let (threads, check_bits) = (self.request.threads(), self.options.check_bits);
        try_seeds(Entries { digests, values }, |entries, attempt| {
            let items = entries.len() as u64;
            let layout = Layout::sized(binary_fuse::shape(items, self.options.arity)?, attempt)?;
            let plan = MapLayout { layout, value_bits, check_bits, items };
            Ok(build(layout, &entries, threads)?.map(|peeled| (plan, peeled)))
        })
    }
}

/// The bits that hide a key's word: those of two keys have nothing to do with each other.
#[inline(always)]
fn mask(digest: Digest) -> u64 {
    digest.word(1)
}

/// Whether a file holds a map whose values can be changed.
pub(crate) fn is_mutable(header: &Header) -> bool {
    header.params.first() == Some(&1)
}

impl MapLayout {
    /// Bits per cell of a map that stays as it is, q.
    fn cell_bits(&self) -> u32 {
        self.value_bits + self.check_bits
    }

    /// Bits per cell of the table of sides.
    fn side_bits(&self) -> u32 {
        SIDE_BITS + self.check_bits
    }

    fn about(&self) -> About {
        About::planned(self.items, libm::exp2(-f64::from(self.check_bits)))
    }

    /// A key's cells of `bits` bits and its mask, one exclusive or the other.
    #[inline(always)]
    fn sum(&self, digest: Digest, cells: &Packed<impl Memory>, bits: u32) -> u64 {
        let sum = match self.layout.shape().arity {
            3 => self
                .layout
                .spots::<3>(digest)
                .iter()
                .fold(mask(digest), |sum, at| sum ^ cells.get(*at as u64)),
            _ => self
                .layout
                .spots::<4>(digest)
                .iter()
                .fold(mask(digest), |sum, at| sum ^ cells.get(*at as u64)),
        };
        sum & (u64::MAX >> (64 - bits))
    }

    #[inline(always)]
    fn prefetch(&self, digest: Digest, cells: &Packed<impl Memory>) {
        match self.layout.shape().arity {
            3 => self.layout.spots::<3>(digest).iter().for_each(|at| cells.prefetch(*at as u64)),
            _ => self.layout.spots::<4>(digest).iter().for_each(|at| cells.prefetch(*at as u64)),
        }
    }

    /// The cell with this number among the key's.
    fn cell(&self, digest: Digest, side: u64) -> Option<u64> {
        let cell = match self.layout.shape().arity {
            3 => self.layout.spots::<3>(digest).get(side as usize).copied(),
            _ => self.layout.spots::<4>(digest).get(side as usize).copied(),
        };
        cell.map(|at| at as u64)
    }

    /// As files have it.
    fn params(&self, mutable: bool) -> Vec<u8> {
        let [attempt, segment_bits] = self.layout.params();
        vec![mutable.into(), self.value_bits as u8, self.check_bits as u8, attempt, segment_bits]
    }

    fn restore(header: &Header, mutable: bool) -> Result<Self, DecodeError> {
        header.check_kind(Kind::Bloomier)?;
        header.check_no_scheme()?;
        let field = |field, value, rule| Err(DecodeError::Field { field, value, rule });
        let &[form, value_bits, check_bits, attempt, segment_bits] = &header.params[..] else {
            return field("parameter length", header.params.len() as u64, "this kind has other parameters");
        };
        if form != u8::from(mutable) {
            return field("form", form.into(), "0 is a Bloomier filter, 1 a MutableBloomier");
        }
        let (value_bits, check_bits) = (u32::from(value_bits), u32::from(check_bits));
        if !(1..=32).contains(&value_bits) {
            return field("value bits", value_bits.into(), "values have 1 to 32");
        }
        if check_bits > MAX_CHECK_BITS {
            return field("check bits", check_bits.into(), "there are 0 to 30");
        }
        let layout = Layout::restore(header, &[attempt, segment_bits])?;
        let plan = Self { layout, value_bits, check_bits, items: header.items };
        let (width, cells) = (header.identity.width, layout.cells());
        if width != plan.width(mutable) {
            return field("cell width", width.into(), "it is not that of value and check bits");
        }
        let words = |bits| packed_words(cells, bits).unwrap_or(u64::MAX / 64);
        header.check_payload(8 * plan.tables(mutable).iter().map(|bits| words(*bits)).sum::<u64>())?;
        Ok(plan)
    }

    /// Bits per cell of each table.
    fn tables(&self, mutable: bool) -> Vec<u32> {
        if mutable { vec![self.side_bits(), self.value_bits] } else { vec![self.cell_bits()] }
    }

    /// Bits per cell of all tables.
    fn width(&self, mutable: bool) -> u32 {
        self.tables(mutable).iter().sum()
    }

    fn identity(&self, hasher: &KeyHasher, mutable: bool) -> Identity {
        Identity {
            kind: Kind::Bloomier,
            hasher: hasher.id(),
            mark: hasher.mark(),
            scheme: None,
            hashes: self.layout.shape().arity,
            cells: self.layout.cells(),
            width: self.width(mutable),
        }
    }
}

impl Bloomier {
    /// How maps are made, of both kinds.
    ///
    /// ```
    /// use gardenia::Bloomier;
    /// let keys: Vec<(u32, u32)> = (0..10_000).map(|key| (key, key % 30)).collect();
    /// let map = Bloomier::builder().arity(4).build_from(&keys)?; // 5 bits hold the largest value
    /// assert_eq!((map.value_bits(), map.check_bits(), map.get(77)), (5, 8, Some(17)));
    /// # Ok::<(), gardenia::BuildError>(())
    /// ```
    pub fn builder() -> Builder<Bloomier> {
        Builder::new(BloomierOptions { arity: 3, value_bits: None, check_bits: 8 })
    }
}

impl MutableBloomier {
    /// Changes the value of `key`, and returns the one before.
    ///
    /// An absent key that is not seen to be one ([`fpp`](Self::fpp)) passes, and its value then
    /// goes into a cell that may be another key's: only change keys of which the map was built.
    pub fn set(&mut self, key: impl Key, value: u32) -> Result<u32, UpdateError> {
        self.set_digest(self.hasher.digest_key(&key), value)
    }

    /// [`set`](Self::set) of the key with this digest.
    pub fn set_digest(&mut self, digest: Digest, value: u32) -> Result<u32, UpdateError> {
        if u64::from(value) >> self.plan.value_bits != 0 {
            return Err(UpdateError::Value { value, bits: self.plan.value_bits });
        }
        let cell = self.own_cell(digest).ok_or(UpdateError::Absent)?;
        let before = self.values.get(cell) as u32;
        self.values.set(cell, value.into());
        Ok(before)
    }
}

impl<M: Memory> Bloomier<M> {
    /// The value of the key with this digest; `None` if it is certainly absent.
    #[inline]
    #[must_use]
    pub fn get_digest(&self, digest: Digest) -> Option<u32> {
        let word = self.plan.sum(digest, &self.cells, self.plan.cell_bits());
        (word >> self.plan.value_bits == 0 && self.plan.items > 0).then_some(word as u32)
    }

    fn fetch(&self, digest: Digest) {
        self.plan.prefetch(digest, &self.cells);
    }

    /// The false-positive probability, 2^(r−q): how many absent keys have a value.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        if self.plan.items == 0 { 0.0 } else { libm::exp2(-f64::from(self.plan.check_bits)) }
    }

    /// The share of cells that are not zero.
    #[must_use]
    pub fn fill(&self) -> f64 {
        (0..self.cells.len()).filter(|at| self.cells.get(*at) != 0).count() as f64 / self.cells.len() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.cells.memory().words() * 8
    }

    fn tables(&self) -> [&Packed<M>; 1] {
        [&self.cells]
    }
}

impl<M: Memory> MutableBloomier<M> {
    /// The value of the key with this digest; `None` if it is certainly absent.
    #[inline]
    #[must_use]
    pub fn get_digest(&self, digest: Digest) -> Option<u32> {
        self.own_cell(digest).map(|at| self.values.get(at) as u32)
    }

    /// The cell that holds the key's value; `None` if it is certainly absent.
    #[inline]
    fn own_cell(&self, digest: Digest) -> Option<u64> {
        let side = self.plan.sum(digest, &self.sides, self.plan.side_bits());
        self.plan.cell(digest, side).filter(|_| self.plan.items > 0)
    }

    fn fetch(&self, digest: Digest) {
        self.plan.prefetch(digest, &self.sides);
        self.plan.prefetch(digest, &self.values);
    }

    /// The false-positive probability: an absent key has a value if its word is the number of one
    /// of its cells, which k of the 2^(2 + check bits) words are.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let sides = f64::from(self.plan.layout.shape().arity);
        if self.plan.items == 0 { 0.0 } else { sides * libm::exp2(-f64::from(self.plan.side_bits())) }
    }

    /// The share of cells of the first table that are not zero.
    #[must_use]
    pub fn fill(&self) -> f64 {
        (0..self.sides.len()).filter(|at| self.sides.get(*at) != 0).count() as f64 / self.sides.len() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// Memory used by the cells of both tables, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        (self.sides.memory().words() + self.values.memory().words()) * 8
    }

    fn tables(&self) -> [&Packed<M>; 2] {
        [&self.sides, &self.values]
    }
}

impl<M: Memory> Bloomier<M> {
    /// Whether `key` may be present: never false for a key that is.
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
    filter_facts!();

    /// The value of `key`; `None` if it is certainly absent.
    #[inline]
    #[must_use]
    pub fn get(&self, key: impl Key) -> Option<u32> {
        self.get_digest(self.hasher.digest_key(&key))
    }

    /// Values of all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn get_many<K: Key>(&self, keys: &[K]) -> Vec<Option<u32>> {
        let mut values = vec![None; keys.len()];
        self.get_each(Keys { hasher: self.hasher.clone(), keys }, &mut values);
        values
    }

    /// Values for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn get_digests(&self, digests: &[Digest], out: &mut [Option<u32>]) {
        assert_eq!(digests.len(), out.len(), "one value per digest");
        self.get_each(Given(digests), out);
    }

    fn get_each(&self, digests: impl Source, out: &mut [Option<u32>]) {
        let mut out = out.iter_mut();
        let ask = |digest| {
            let value = self.get_digest(digest);
            out.by_ref().take(1).for_each(|out| *out = value);
            false
        };
        let far = ahead::is_far_if_cheap(self.memory_bytes() / 8);
        digests.each::<{ ahead::LINES }>(far, |digest| self.fetch(digest), ask, &mut 0);
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.get_digest(digest).is_some()
    }

    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let far = ahead::is_far_if_cheap(self.memory_bytes() / 8);
        digests.each::<{ ahead::LINES }>(
            far,
            |digest| self.fetch(digest),
            |digest| self.contains_digest(digest),
            answers,
        );
    }

    /// Distinct keys.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.plan.items
    }

    /// The number of distinct keys in the filter, which is known exactly.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.plan.items as f64, std_error: 0.0 }
    }

    /// Bits per value, r.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.plan.value_bits
    }

    /// Check bits, which expose absent keys.
    #[must_use]
    pub fn check_bits(&self) -> u32 {
        self.plan.check_bits
    }

    /// The table's segments, and how keys begin in them.
    #[must_use]
    pub fn shape(&self) -> FuseShape {
        self.plan.layout.shape()
    }

    /// Hasher and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.plan.identity(&self.hasher, false)
    }

    /// Nothing is set past the last cell.
    fn check_tails(&self) -> Result<(), DecodeError> {
        let clear = self.tables().iter().all(|cells| cells.tail_is_clear());
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

impl<M: Memory> MutableBloomier<M> {
    /// Whether `key` may be present: never false for a key that is.
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
    filter_facts!();

    /// The value of `key`; `None` if it is certainly absent.
    #[inline]
    #[must_use]
    pub fn get(&self, key: impl Key) -> Option<u32> {
        self.get_digest(self.hasher.digest_key(&key))
    }

    /// Values of all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn get_many<K: Key>(&self, keys: &[K]) -> Vec<Option<u32>> {
        let mut values = vec![None; keys.len()];
        self.get_each(Keys { hasher: self.hasher.clone(), keys }, &mut values);
        values
    }

    /// Values for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn get_digests(&self, digests: &[Digest], out: &mut [Option<u32>]) {
        assert_eq!(digests.len(), out.len(), "one value per digest");
        self.get_each(Given(digests), out);
    }

    fn get_each(&self, digests: impl Source, out: &mut [Option<u32>]) {
        let mut out = out.iter_mut();
        let ask = |digest| {
            let value = self.get_digest(digest);
            out.by_ref().take(1).for_each(|out| *out = value);
            false
        };
        let far = ahead::is_far_if_cheap(self.memory_bytes() / 8);
        digests.each::<{ ahead::LINES }>(far, |digest| self.fetch(digest), ask, &mut 0);
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.get_digest(digest).is_some()
    }

    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let far = ahead::is_far_if_cheap(self.memory_bytes() / 8);
        digests.each::<{ ahead::LINES }>(
            far,
            |digest| self.fetch(digest),
            |digest| self.contains_digest(digest),
            answers,
        );
    }

    /// Distinct keys.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.plan.items
    }

    /// The number of distinct keys in the filter, which is known exactly.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.plan.items as f64, std_error: 0.0 }
    }

    /// Bits per value, r.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.plan.value_bits
    }

    /// Check bits, which expose absent keys.
    #[must_use]
    pub fn check_bits(&self) -> u32 {
        self.plan.check_bits
    }

    /// The table's segments, and how keys begin in them.
    #[must_use]
    pub fn shape(&self) -> FuseShape {
        self.plan.layout.shape()
    }

    /// Hasher and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.plan.identity(&self.hasher, true)
    }

    /// Nothing is set past the last cell.
    fn check_tails(&self) -> Result<(), DecodeError> {
        let clear = self.tables().iter().all(|cells| cells.tail_is_clear());
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

/// The traits of both maps, which only pass calls on.
macro_rules! map_impls {
    ($map:ident, $mutable:literal) => {
        impl<M: Memory> fmt::Debug for $map<M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($map))
                    .field("hasher", &self.hasher)
                    .field("plan", &self.plan)
                    .finish()
            }
        }

        /// Equal in identity, layout and cells: the same answer to every key.
        impl<M: Memory, N: Memory> PartialEq<$map<N>> for $map<M> {
            fn eq(&self, other: &$map<N>) -> bool {
                let same = |(a, b): (&Packed<M>, &Packed<N>)| (0..a.len()).all(|at| a.get(at) == b.get(at));
                self.identity() == other.identity()
                    && self.plan == other.plan
                    && self.tables().into_iter().zip(other.tables()).all(same)
            }
        }

        filter_impl!([M: Memory] $map<M>);

        impl<M: Memory> Stored for $map<M> {
            fn options(&self, spec: &mut Spec) {
                spec.set_whole(Param::ValueBits, self.plan.value_bits);
                spec.set_whole(Param::Check, self.plan.check_bits);
                spec.set_whole(Param::Arity, self.plan.layout.shape().arity);
            }
            fn header(&self) -> Result<Header, EncodeError> {
                let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
                Ok(Header { items: self.plan.items, params: self.plan.params($mutable), ..header })
            }
            fn sections(&self) -> Vec<&dyn Memory> {
                self.tables().into_iter().map(|cells| cells.memory() as &dyn Memory).collect()
            }
        }

        format::stored_methods!($map<M> where M: Memory);
        format::read_methods!($map);
        format::serde_impls!([M: Memory] $map<M>, [] $map);
    };
}

impl<M: Memory> Explain for Bloomier<M> {
    fn tables(&self) -> Vec<CellTable> {
        vec![CellTable::new("cells", Holds::Sums, self.cells.len(), self.plan.cell_bits())]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        self.cells.get(at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        if self.plan.items > 0 {
            // What the cells sum up to is the value, below bits that are zero if the key is present.
            seen.fingerprint = Some(mask(digest) & u64::MAX >> (64 - self.plan.cell_bits()));
            seen.add(0, 0, self.plan.layout.all_spots(digest));
        }
    }
}

impl<M: Memory> Explain for MutableBloomier<M> {
    fn tables(&self) -> Vec<CellTable> {
        let sides = CellTable::new("sides", Holds::Sums, self.sides.len(), self.plan.side_bits());
        vec![sides, CellTable::new("values", Holds::Counters, self.values.len(), self.plan.value_bits)]
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        if table == 0 { self.sides.get(at) } else { self.values.get(at) }
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        if self.plan.items > 0 {
            seen.fingerprint = Some(mask(digest) & u64::MAX >> (64 - self.plan.side_bits()));
            seen.add(0, 0, self.plan.layout.all_spots(digest));
            seen.add(1, 0, self.own_cell(digest));
        }
    }
}

map_impls!(Bloomier, false);
map_impls!(MutableBloomier, true);

impl format::Restore for Bloomier {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let plan = MapLayout::restore(header, false)?;
        let cells = Packed::new(plan.layout.cells(), plan.cell_bits())?;
        Ok(Self { hasher: header.hasher(options)?, plan, cells, about: header.about() })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.cells.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tails()
    }
}

impl format::Restore for MutableBloomier {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let plan = MapLayout::restore(header, true)?;
        let [sides, values] =
            [plan.side_bits(), plan.value_bits].map(|bits| Packed::new(plan.layout.cells(), bits));
        Ok(Self {
            hasher: header.hasher(options)?,
            plan,
            sides: sides?,
            values: values?,
            about: header.about(),
        })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.sides.words_mut(), self.values.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tails()
    }
}

/// An error for payloads that are not as long as their header says.
fn short() -> DecodeError {
    DecodeError::Damaged("the payload is shorter than its header says")
}

impl<B: AsRef<[u8]>> format::Attach<B> for Bloomier<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let plan = MapLayout::restore(header, false)?;
        let cells = Packed::borrowed(payload, plan.layout.cells(), plan.cell_bits()).ok_or_else(short)?;
        let map = Self { hasher: header.hasher(options)?, plan, cells, about: header.about() };
        map.check_tails()?;
        Ok(map)
    }
}

impl<B: Cut> format::Attach<B> for MutableBloomier<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let plan = MapLayout::restore(header, true)?;
        let cells = plan.layout.cells();
        let first = packed_words(cells, plan.side_bits()).unwrap_or(u64::MAX / 8) * 8;
        let (sides, values) = payload.cut(first as usize).ok_or_else(short)?;
        let sides = Packed::borrowed(sides, cells, plan.side_bits()).ok_or_else(short)?;
        let values = Packed::borrowed(values, cells, plan.value_bits).ok_or_else(short)?;
        let map = Self { hasher: header.hasher(options)?, plan, sides, values, about: header.about() };
        map.check_tails()?;
        Ok(map)
    }
}

impl Builder<Bloomier> {
    fn of(spec: &Spec) -> Self {
        let options = BloomierOptions {
            arity: spec.small(Param::Arity).unwrap_or(3),
            value_bits: spec.small(Param::ValueBits),
            check_bits: spec.small(Param::Check).unwrap_or(8),
        };
        Self { request: Request::hashed(spec), options }
    }
}

impl FromSpec for Bloomier {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::bloomier_design(goal.need, goal.items, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<Bloomier>::of(spec);
        spec.set_whole(Param::Arity, builder.options.arity);
        spec.set_whole(Param::Check, builder.options.check_bits);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (builder, items) = (Builder::<Bloomier>::of(spec), spec.expected_items()?);
        let cells = binary_fuse::shape(items, builder.options.arity)?.cells();
        let bits = u64::from(builder.options.value_bits.unwrap_or(32) + builder.options.check_bits);
        let rate = libm::exp2(-f64::from(builder.options.check_bits));
        Ok(Measure::as_stored(cells.saturating_mul(bits).div_ceil(64) * 8, 5, Some(rate)))
    }
    /// Every table of a shape has the same rate.
    fn bound(spec: &Spec, fpp: f64, _: f64) -> Result<f64, SizeError> {
        Ok(fpp + sizes::floor(spec.planned_items()))
    }
    /// The values come beside the keys: see [`Spec::build_map`].
    fn from_digests(spec: &Spec, digests: Vec<Digest>, _: &mut Watch<'_>) -> Result<Self, BuildError> {
        let values = alloc::vec![0; digests.len()];
        Builder::<Bloomier>::of(spec).threads(threads()).build_from_digests(&digests, &values)
    }
}

impl Spec {
    /// The map of these keys to their values, of the kind [`Bloomier`](crate::Kind::Bloomier).
    ///
    /// ```
    /// use gardenia::{Digest, Spec};
    /// let map = "bloomier value-bits=4".parse::<Spec>()?.build_map(&[Digest(1), Digest(2)], &[7, 8])?;
    /// assert_eq!(map.get_digest(Digest(2)), Some(8));
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn build_map(&self, digests: &[Digest], values: &[u32]) -> Result<Bloomier, SpecError> {
        let filled = self.filled()?;
        if self.kind() != Kind::Bloomier {
            return Err(
                SizeError::Conflict("a filter of this kind holds no values: use the kind bloomier").into()
            );
        }
        Ok(Builder::<Bloomier>::of(&filled).threads(threads()).build_from_digests(digests, values)?)
    }
}
