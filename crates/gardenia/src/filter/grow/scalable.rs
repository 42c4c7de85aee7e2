//! The scalable Bloom filter: any number of keys, and never above the rate that was asked for.
//!
//! Keys go into a slice, a Bloom filter of its own, until it holds as many as it was sized for;
//! then comes another, larger by the growth s and stricter by the tightening r. All slices are
//! asked, the newest and largest first. Since their rates are a falling series, the sum stays below
//! the target at every size.
//!
//! The subtle rules: a key that any slice claims is not inserted again, so that a slice is full by
//! the keys in it and not by attempts. The keys that are skipped for that reason do not count,
//! so the ones that do are those that found a zero bit, and a slice of n of them is a little fuller
//! than n keys make it: slices are sized for all that they meet. And each slice has positions of
//! its own, or a key's neighbours in one slice would be its neighbours in all.
//!
//! Source: Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom Filters" (2007).

use super::{Allowance, Fetch};
use crate::cells::{Bits, Bytes, Lines, Memory, Owned};
use crate::explain::{CellTable, Explain, Seen, bit};
use crate::filter::builder::{Built, ForItems, ForRate, Schemed};
use crate::filter::member::probe::{Contains, Set};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{filter_impl, try_insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Cut, Header, Kind, ReadOptions, Stored, check_fit};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, Scheme, SchemeId};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value, bit_bytes};
use crate::theory::a2::stored;
use crate::theory::bloom::{Estimate, Shape, size};
use crate::theory::scalable::{capacity, compound, peaked_fpp};
use crate::{DecodeError, EncodeError, Full, InsertError, SizeError};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

/// A Bloom filter that grows with its keys and keeps its false-positive rate.
///
/// ```
/// let mut filter = gardenia::ScalableBloom::new(0.01)?;
/// for key in 0..20_000u32 {
///     filter.insert(key).unwrap();
/// }
/// assert!((0..20_000u32).all(|key| filter.contains(key)));
/// assert!(filter.slices().count() > 3 && filter.fpp() <= 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// There is no merge: two filters of the same keys have them in slices of other sizes. Nor is there
/// removal.
///
/// ```compile_fail,E0599
/// let mut filter = gardenia::ScalableBloom::new(0.01).unwrap();
/// filter.remove("rose");
/// ```
#[derive(Clone)]
pub struct ScalableBloom<M = Owned> {
    hasher: KeyHasher,
    rule: Rule,
    /// The oldest first; never empty.
    slices: Vec<Slice<M>>,
    allowance: Allowance,
    about: About,
}

/// One slice of a [`ScalableBloom`]: a Bloom filter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScalableSlice {
    /// Number of bits.
    pub bits: u64,
    /// Probes per key.
    pub hashes: u32,
    /// Keys in it.
    pub items: u64,
}

#[derive(Clone)]
struct Slice<M> {
    scheme: AnyScheme,
    bits: Bits<M>,
    items: u64,
}

/// What the next slice will be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) scheme: SchemeId,
    pub(super) fpp: f64,
    pub(super) tightening: f64,
    pub(super) growth: u32,
    /// The slice with the highest rate.
    pub(super) peak: u32,
    /// Keys that the first slice takes.
    pub(super) first: u64,
}

/// The most slices. Where each is larger than the one before it, 2⁴⁰ cells end them earlier.
pub(super) const MAX_SLICES: usize = 64;

/// The fastest growth.
const MAX_GROWTH: u32 = 1 << 15;

impl Rule {
    pub(super) fn check(&self) -> Result<(), SizeError> {
        if !(self.fpp > 0.0 && self.fpp < 1.0) {
            return Err(SizeError::Fpp(self.fpp));
        }
        if !(self.tightening > 0.0 && self.tightening < 1.0) {
            return Err(SizeError::Conflict(
                "the tightening must be between 0 and 1 (exclusive): at 1 the rates add up without end",
            ));
        }
        if !(1..=MAX_GROWTH).contains(&self.growth) {
            return Err(SizeError::Conflict("the growth must be between 1 and 32768"));
        }
        if self.peak as usize >= MAX_SLICES {
            return Err(SizeError::Conflict(
                "the slice with the highest rate must be one of the 64 that there can be",
            ));
        }
        match self.first {
            0 => Err(SizeError::ZeroItems),
            cells if cells > MAX_CELLS => Err(SizeError::TooManyCells { cells, max: MAX_CELLS }),
            _ => Ok(()),
        }
    }

    /// Keys that slice `number` takes; `u64::MAX` where they do not fit 64 bits.
    pub(super) fn capacity(&self, number: usize) -> u64 {
        capacity(self.first, self.growth, number as u32).unwrap_or(u64::MAX)
    }

    /// Bytes that `keys` more keys add at most, each new, to this many slices, the last of which
    /// has `last`: those of the slices that they fill, of which `bytes` knows each.
    pub(super) fn bytes_for(
        &self,
        slices: usize,
        last: u64,
        keys: u64,
        bytes: impl Fn(usize) -> Option<u64>,
    ) -> u64 {
        let mut room = self.capacity(slices - 1).saturating_sub(last);
        let (mut number, mut sum) = (slices, 0u64);
        while room < keys && number < MAX_SLICES {
            // What cannot be made takes nothing: the key that needs it is refused.
            let Some(bytes) = bytes(number) else { break };
            sum = sum.saturating_add(bytes);
            room = room.saturating_add(self.capacity(number));
            number += 1;
        }
        sum
    }

    /// Notes the options that describe it.
    pub(super) fn note(&self, spec: &mut Spec) {
        let Self { fpp, tightening, growth, peak, first, .. } = *self;
        spec.set_whole(Param::Items, first);
        spec.set_whole(Param::Growth, growth);
        spec.set_whole(Param::Peak, peak);
        spec.forget(&[Param::Fpp]);
        spec.default_to(Param::Fpp, Value::Real(fpp));
        spec.default_to(Param::Tightening, Value::Real(tightening));
    }

    /// The parameters in a file.
    pub(super) fn params(&self, slices: impl Iterator<Item = ScalableSlice>) -> Vec<u64> {
        let growth = u64::from(self.growth) | u64::from(self.peak) << 32;
        let mut words = alloc::vec![self.fpp.to_bits(), self.tightening.to_bits(), growth, self.first];
        words.extend(slices.flat_map(|slice| [slice.bits, slice.hashes.into(), slice.items]));
        words
    }

    /// The shape of slice `number`.
    fn shape(&self, number: usize) -> Result<Shape, SizeError> {
        #[cfg(feature = "std")]
        if let Some(shape) = known(|known| {
            known.iter().flatten().find(|known| known.0 == *self && known.1 == number).map(|known| known.2)
        }) {
            return Ok(shape);
        }
        let shape = self.sized(number)?;
        #[cfg(feature = "std")]
        known(|known| {
            known.rotate_right(1);
            known[0] = Some((*self, number, shape));
            Some(shape)
        });
        Ok(shape)
    }

    /// The same, sized anew.
    fn sized(&self, number: usize) -> Result<Shape, SizeError> {
        let fpp = peaked_fpp(self.fpp, self.tightening, self.peak, number as u32);
        let scheme = |hashes| AnyScheme::new(self.scheme, hashes);
        let rate = |shape: Shape, items: u64| {
            let met = libm::ceil(stored(shape.cells, shape.hashes, items as f64));
            scheme(shape.hashes).planned_fpp(shape.cells, met as u64)
        };
        size(self.capacity(number), fpp, rate, |shape| scheme(shape.hashes).best_fit(shape.cells))
    }

    /// An empty slice of this shape.
    fn slice(&self, Shape { cells, hashes }: Shape) -> Result<Slice<Owned>, SizeError> {
        Ok(Slice { scheme: AnyScheme::new(self.scheme, hashes), bits: Bits::new(cells)?, items: 0 })
    }
}

/// The last shapes that were sized, the newest first: sizing takes a millisecond or two, which a
/// server has not at every growth of its many filters of a few rules.
#[cfg(feature = "std")]
type Known = [Option<(Rule, usize, Shape)>; 96];

/// Looks at them; `None` while another thread does.
#[cfg(feature = "std")]
fn known(look: impl FnOnce(&mut Known) -> Option<Shape>) -> Option<Shape> {
    static KNOWN: std::sync::Mutex<Known> = std::sync::Mutex::new([None; 96]);
    look(&mut *KNOWN.try_lock().ok()?)
}

#[derive(Clone, Debug)]
pub struct ScalableBloomOptions {
    pub(super) tightening: f64,
    pub(super) growth: u32,
    pub(super) peak: u32,
}

impl Built for ScalableBloom {
    type Options = ScalableBloomOptions;
}
impl ForItems for ScalableBloom {}
impl ForRate for ScalableBloom {}
impl Schemed for ScalableBloom {}

impl Builder<ScalableBloom> {
    /// How many times as many keys each slice takes as the one before it: 2 (unless set) for modest
    /// growth, 4 for fast, 32768 at most. With 1 all slices take as many, and the 64th is the last.
    pub fn growth(mut self, growth: u32) -> Self {
        self.options.growth = growth;
        self
    }

    /// The rate of each slice over that of the one before it, between 0 and 1; 0.85 unless set.
    ///
    /// Near 1 the first slices are strict and later ones hardly more so; near 0 it is the other way
    /// round. The paper recommends 0.8 to 0.9.
    pub fn tightening(mut self, tightening: f64) -> Self {
        self.options.tightening = tightening;
        self
    }

    /// The slice, counted from 0, with the highest rate: 0 (unless set) as in the paper, 63 at
    /// most.
    ///
    /// For a filter that starts far smaller than it will be: the slices before the peak are small,
    /// so that their strictness costs little, and leave the largest shares of the rate to those
    /// that hold most keys. From 100 keys to 800,000 at 1 % it takes 15.4 bits per key with the
    /// peak at slice 9, and 17.2 at best without.
    ///
    /// ```
    /// let bits = |peak| {
    ///     let builder = gardenia::ScalableBloom::builder().fpp(0.01).items(100).tightening(0.8).peak(peak);
    ///     (0..13).map(|number| builder.shape(number).unwrap().0.cells).sum::<u64>()
    /// };
    /// assert!(bits(10) * 10 < bits(0) * 9);
    /// ```
    pub fn peak(mut self, peak: u32) -> Self {
        self.options.peak = peak;
        self
    }

    /// The shape of slice `number`, counted from 0, and the keys that it takes, before any memory
    /// is taken.
    ///
    /// ```
    /// let builder = gardenia::ScalableBloom::builder().fpp(0.01).items(100);
    /// let ((first, few), (second, more)) = (builder.shape(0)?, builder.shape(1)?);
    /// assert_eq!((few, more), (100, 200));
    /// assert!(second.cells > 2 * first.cells);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn shape(&self, number: usize) -> Result<(Shape, u64), SizeError> {
        let rule = self.rule()?;
        Ok((rule.shape(number)?, rule.capacity(number)))
    }

    /// The filter, with its first slice.
    pub fn build(self) -> Result<ScalableBloom, SizeError> {
        let rule = self.rule()?;
        let (slices, about) = (alloc::vec![rule.slice(rule.shape(0)?)?], About::planned(0, rule.fpp));
        Ok(ScalableBloom { hasher: self.request.hasher, rule, slices, allowance: Allowance::ANY, about })
    }

    fn rule(&self) -> Result<Rule, SizeError> {
        let Request { fpp, items, scheme, .. } = self.request;
        let ScalableBloomOptions { tightening, growth, peak } = self.options;
        let fpp = fpp.ok_or(SizeError::Conflict("give fpp: the rate that is kept at every size"))?;
        let rule = Rule { scheme, fpp, tightening, growth, peak, first: items.unwrap_or(0) };
        rule.check().map(|()| rule)
    }
}

/// The digest that slice `number` takes for a key's: the slices choose positions apart from each
/// other.
#[inline(always)]
fn of_slice(digest: Digest, number: usize) -> Digest {
    Digest(digest.word(256 * number as u32))
}

/// Enough to ask for the lines of a slice.
#[derive(Clone, Copy)]
struct Ahead {
    number: usize,
    scheme: AnyScheme,
    cells: u64,
    lines: Lines,
}

impl ScalableBloom {
    /// A filter that keeps a false-positive probability of at most `fpp` for any number of keys.
    pub fn new(fpp: f64) -> Result<Self, SizeError> {
        Self::builder().fpp(fpp).build()
    }

    /// A builder, to choose first size, growth, tightening, seed, secret, scheme.
    ///
    /// ```
    /// let builder = gardenia::ScalableBloom::builder().fpp(0.001).items(100).growth(4).tightening(0.5);
    /// assert_eq!(builder.build()?.slices().count(), 1);
    /// assert!(gardenia::ScalableBloom::builder().fpp(0.001).tightening(1.0).build().is_err());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<ScalableBloom> {
        Builder::new(ScalableBloomOptions { tightening: 0.85, growth: 2, peak: 0 }).items(1_000)
    }

    /// A filter of the same rule with no keys in it and this hash function. The first slice has the
    /// shape that it has here, so that nothing is sized: that takes longer than all else where
    /// filters are many and small.
    ///
    /// ```
    /// use gardenia::{KeyHasher, ScalableBloom};
    /// let mut filter = ScalableBloom::builder().fpp(0.01).items(100).build()?;
    /// filter.insert("rose").unwrap();
    /// let other = filter.fresh(KeyHasher::xxh3(7))?;
    /// assert_eq!((other.items(), other.capacity(), other.hasher()), (0, 100, &KeyHasher::xxh3(7)));
    /// assert_eq!(other, ScalableBloom::builder().fpp(0.01).items(100).seed(7).build()?);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn fresh(&self, hasher: KeyHasher) -> Result<Self, SizeError> {
        let Slice { scheme, bits, .. } = &self.slices[0];
        let first = Slice { scheme: *scheme, bits: Bits::new(bits.len())?, items: 0 };
        let (allowance, about) = (Allowance { items: 0, ..self.allowance }, About::planned(0, self.rule.fpp));
        Ok(Self { hasher, rule: self.rule, slices: alloc::vec![first], allowance, about })
    }

    /// Adds `key`; true if it was certainly absent before. If there is no room for it, nothing has
    /// changed.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Full> {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before. Stops at
    /// the first that does not fit: the error says how many were added.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<u64, Full> {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count)?;
        Ok(count)
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before. Stops at the first that does not fit: the error says how many were added.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<(), Full> {
        self.insert_each(Given(digests), &mut Bools::of(digests, new))
    }

    /// Adds the key with this digest; true if it was certainly absent before. It is full, and
    /// nothing has changed, only if memory for another slice cannot be had, or is above what the
    /// filter's reader allowed ([`ReadOptions::max_expansion`]).
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        if self.contains_digest(digest) {
            return Ok(false);
        }
        let mut number = self.slices.len() - 1;
        if self.slices[number].items >= self.rule.capacity(number) {
            number += 1;
            self.grow().ok_or(Full { taken: 0, copies: false })?;
        }
        let slice = &mut self.slices[number];
        // Each key in a slice has set a bit of it, unless its file was forged.
        if slice.items >= slice.bits.len() {
            return Err(Full { taken: 0, copies: false });
        }
        slice.items += 1;
        let digest = of_slice(digest, number);
        Ok(slice.scheme.dispatch(Set { bits: &mut slice.bits, digest }))
    }

    /// Adds a slice, if there can be another, it is allowed, and memory for it can be had.
    fn grow(&mut self) -> Option<()> {
        let shape = self.rule.shape(self.slices.len()).ok().filter(|_| self.slices.len() < MAX_SLICES)?;
        if self.over_limit(shape).is_some() {
            return None;
        }
        self.slices.push(self.rule.slice(shape).ok()?);
        Some(())
    }

    /// Bytes with a further slice of this shape, and the limit, if they are above it.
    fn over_limit(&self, shape: Shape) -> Option<(u64, u64)> {
        let needed = self.memory_bytes() as u64 + shape.cells.div_ceil(64) * 8;
        self.allowance.exceeded(needed, self.items()).map(|max| (needed, max))
    }

    /// Bytes that this many more keys add at most: those of the slices that they fill.
    pub(crate) fn bytes_for(&self, keys: u64) -> u64 {
        let shape = |number| self.rule.shape(number).ok().map(|shape| bit_bytes(shape.cells));
        let last = self.slices.last().map_or(0, |slice| slice.items);
        self.rule.bytes_for(self.slices.len(), last, keys, shape)
    }

    /// Why the filter is full.
    pub(crate) fn refusal(&self, full: Full) -> InsertError {
        match self.rule.shape(self.slices.len()).ok().and_then(|shape| self.over_limit(shape)) {
            Some((needed, max)) => InsertError::Growth { needed, max },
            None => full.into(),
        }
    }

    /// Adds digests in order, up to the first for which there is no memory; `new` receives for each
    /// whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) -> Result<(), Full> {
        let (mut taken, mut full) = (0, false);
        let ahead = RefCell::new(self.far());
        let fetch = |digest| {
            for slice in ahead.borrow().iter() {
                let digest = of_slice(digest, slice.number);
                let line = |at| slice.lines.prefetch(at);
                slice.scheme.dispatch(Fetch { digest, cells: slice.cells, line });
            }
        };
        let ask = |digest| {
            if full {
                return false;
            }
            let slices = self.slices.len();
            let added = self.insert_digest(digest);
            if self.slices.len() > slices {
                *ahead.borrow_mut() = self.far();
            }
            full = added.is_err();
            taken += u64::from(!full);
            added == Ok(true)
        };
        digests.each::<{ ahead::LINES }>(true, fetch, ask, new);
        if full { Err(Full { taken, copies: false }) } else { Ok(()) }
    }

    /// The slices that are not near the core.
    fn far(&self) -> Vec<Ahead> {
        let far = |(_, slice): &(usize, &Slice<Owned>)| ahead::is_far(slice.bits.memory().words());
        let ahead = |(number, slice): (usize, &Slice<Owned>)| Ahead {
            number,
            scheme: slice.scheme,
            cells: slice.bits.len(),
            lines: slice.bits.lines(),
        };
        self.slices.iter().enumerate().filter(far).map(ahead).collect()
    }

    /// Forgets all keys, and frees all slices but the first.
    pub fn clear(&mut self) {
        self.slices.truncate(1);
        for slice in &mut self.slices {
            slice.bits.clear();
            slice.items = 0;
        }
        self.allowance.items = 0;
        self.about.forget();
    }
}

impl<M: Memory> ScalableBloom<M> {
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

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.slices.iter().enumerate().rev().any(|(number, Slice { scheme, bits, .. })| {
            scheme.dispatch(Contains { bits, digest: of_slice(digest, number) })
        })
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let far: Vec<_> = self
            .slices
            .iter()
            .enumerate()
            .filter(|(_, slice)| ahead::is_far(slice.bits.memory().words()))
            .collect();
        let fetch = |digest| {
            for (number, Slice { scheme, bits, .. }) in &far {
                let digest = of_slice(digest, *number);
                scheme.dispatch(Fetch { digest, cells: bits.len(), line: |at| bits.prefetch(at) });
            }
        };
        digests.each::<{ ahead::LINES }>(
            !far.is_empty(),
            fetch,
            |digest| self.contains_digest(digest),
            answers,
        );
    }

    filter_facts!();

    /// The slices that there are, from the oldest to the newest.
    pub fn slices(&self) -> impl Iterator<Item = ScalableSlice> + '_ {
        let shape = |Slice { scheme, bits, items }: &Slice<M>| ScalableSlice {
            bits: bits.len(),
            hashes: scheme.hashes(),
            items: *items,
        };
        self.slices.iter().map(shape)
    }

    /// The rate that is kept at every size.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.rule.fpp
    }

    /// How many times as many keys each slice takes as the one before it.
    #[must_use]
    pub fn growth(&self) -> u32 {
        self.rule.growth
    }

    /// The rate of each slice over that of the one before it.
    #[must_use]
    pub fn tightening(&self) -> f64 {
        self.rule.tightening
    }

    /// The slice, counted from 0, with the highest rate.
    #[must_use]
    pub fn peak(&self) -> u32 {
        self.rule.peak
    }

    /// Keys that slice `number` takes, counted from 0, also if there is none yet.
    ///
    /// ```
    /// let filter = gardenia::ScalableBloom::builder().fpp(0.01).items(100).growth(4).build()?;
    /// assert_eq!((filter.slice_capacity(0), filter.slice_capacity(2)), (100, 1_600));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn slice_capacity(&self, number: usize) -> u64 {
        self.rule.capacity(number)
    }

    /// Keys that the slices take together, before another is needed.
    ///
    /// ```
    /// let mut filter = gardenia::ScalableBloom::builder().fpp(0.01).items(100).build()?;
    /// assert_eq!(filter.capacity(), 100);
    /// while filter.items() <= 100 {
    ///     filter.insert(filter.items() + filter.bits()).unwrap();
    /// }
    /// assert_eq!(filter.capacity(), 300);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> u64 {
        (0..self.slices.len()).fold(0, |sum, number| self.rule.capacity(number).saturating_add(sum))
    }

    /// The shape of the slice that comes next, and the keys that it takes, before any memory is
    /// taken.
    ///
    /// ```
    /// let filter = gardenia::ScalableBloom::builder().fpp(0.01).items(100).build()?;
    /// let (shape, keys) = filter.next_slice()?;
    /// assert!(keys == 200 && shape.cells > 2 * filter.bits());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn next_slice(&self) -> Result<(Shape, u64), SizeError> {
        let number = self.slices.len();
        Ok((self.rule.shape(number)?, self.rule.capacity(number)))
    }

    /// Keys that went in and were certainly absent before.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.slices.iter().map(|slice| slice.items).sum()
    }

    /// Number of bits of all slices.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.slices.iter().map(|slice| slice.bits.len()).sum()
    }

    /// The share of bits that are set, over all slices.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.slices.iter().map(|slice| slice.bits.count_ones()).sum::<u64>() as f64 / self.bits() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The false-positive probability as the filter is now: that of all slices together, from their
    /// fill, each as in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        compound(self.slices.iter().map(|Slice { scheme, bits, .. }| {
            stated_fpp(scheme, (bits.len(), bits.count_ones()), self.slices.len(), |at| bits.get(at))
        }))
    }

    /// The number of distinct keys in the filter: those that were certainly absent when they were
    /// inserted. The error is what may have been skipped, at the rate that the filter has now.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        let items = self.items() as f64;
        Estimate { items, std_error: items * self.fpp() }
    }

    /// Memory used by the bits, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slices.iter().map(|slice| slice.bits.memory().words() * 8).sum()
    }

    /// Hasher, scheme, and the shape of the first slice.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Scalable,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: Some(self.rule.scheme),
            hashes: self.slices[0].scheme.hashes(),
            cells: self.slices[0].bits.len(),
            width: 1,
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<ScalableBloom, SizeError> {
        let copy = |Slice { scheme, bits, items }: &Slice<M>| {
            Ok(Slice { scheme: *scheme, bits: bits.to_owned()?, items: *items })
        };
        let slices = self.slices.iter().map(copy).collect::<Result<_, SizeError>>()?;
        let (hasher, &Self { rule, allowance, .. }) = (self.hasher.clone(), self);
        Ok(ScalableBloom { hasher, rule, slices, allowance, about: self.about.clone() })
    }

    /// A filter of slices of these shapes, with the bits that `bits` gives each.
    fn of_slices<E>(parts: Parts, mut bits: impl FnMut(u64) -> Result<Bits<M>, E>) -> Result<Self, E> {
        let Parts { hasher, rule, shapes, allowance, about } = parts;
        let slice = |shape: ScalableSlice| {
            let scheme = AnyScheme::new(rule.scheme, shape.hashes);
            Ok(Slice { scheme, bits: bits(shape.bits)?, items: shape.items })
        };
        let slices = shapes.into_iter().map(slice).collect::<Result<_, E>>()?;
        Ok(Self { hasher, rule, slices, allowance, about })
    }

    /// What must hold of the bits: none is set past a slice's end, and each key in a slice has set
    /// one.
    pub(crate) fn check_cells(&self) -> Result<(), DecodeError> {
        if !self.slices.iter().all(|slice| slice.bits.tail_is_clear()) {
            return Err(DecodeError::Damaged("bits past the end of a slice are set"));
        }
        match self.slices.iter().find(|slice| slice.items > slice.bits.count_ones()) {
            Some(_) => Err(DecodeError::Damaged("a slice claims more keys than it has bits set")),
            None => Ok(()),
        }
    }
}

impl<M: Memory> fmt::Debug for ScalableBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slices: Vec<_> = self.slices().collect();
        f.debug_struct("ScalableBloom")
            .field("hasher", &self.hasher)
            .field("rule", &self.rule)
            .field("slices", &slices)
            .finish()
    }
}

/// Equal in identity, rule, slices and bits: the same answers now, and after the same insertions.
impl<M: Memory, N: Memory> PartialEq<ScalableBloom<N>> for ScalableBloom<M> {
    fn eq(&self, other: &ScalableBloom<N>) -> bool {
        self.identity() == other.identity()
            && self.rule == other.rule
            && self.slices().eq(other.slices())
            && self.slices.iter().zip(&other.slices).all(|(ours, theirs)| ours.bits == theirs.bits)
    }
}

impl<M: Memory> Explain for ScalableBloom<M> {
    fn tables(&self) -> Vec<CellTable> {
        let slice = |(number, slice): (usize, &Slice<M>)| {
            CellTable::bits(slice.bits.len()).named(alloc::format!("slice {}", number + 1))
        };
        self.slices.iter().enumerate().map(slice).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        bit(&self.slices[table].bits, at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        for (number, Slice { scheme, bits, .. }) in self.slices.iter().enumerate() {
            seen.walk(number, scheme, of_slice(digest, number), bits.len());
        }
    }
}

filter_impl!([M: Memory] ScalableBloom<M>);
try_insert_impl!([] ScalableBloom);

/// Words of the parameters before the slices, and of each slice.
const RULE_WORDS: usize = 4;
const SLICE_WORDS: usize = 3;

impl<M: Memory> Stored for ScalableBloom<M> {
    fn options(&self, spec: &mut Spec) {
        self.rule.note(spec);
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items: self.items(), ..header.with_params(&self.rule.params(self.slices())) })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        self.slices.iter().map(|slice| slice.bits.memory() as &dyn Memory).collect()
    }
}

/// A stored filter without its bits.
pub(super) struct Parts {
    pub(super) hasher: KeyHasher,
    pub(super) rule: Rule,
    pub(super) shapes: Vec<ScalableSlice>,
    pub(super) allowance: Allowance,
    pub(super) about: About,
}

/// The parts of a stored filter other than its bits, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<Parts, DecodeError> {
    header.check_kind(Kind::Scalable)?;
    let scheme = header.identity.scheme.ok_or(DecodeError::UnknownScheme(0))?;
    parts(header, options, scheme, MAX_HASHES, |shape| {
        check_fit(&AnyScheme::new(scheme, shape.hashes), shape.cells)
    })
}

/// The parts of a stored filter of slices that `fit` admits: the slices need exactly the payload.
pub(super) fn parts(
    header: &Header,
    options: &ReadOptions,
    scheme: SchemeId,
    most_hashes: u32,
    fit: impl Fn(Shape) -> Result<(), DecodeError>,
) -> Result<Parts, DecodeError> {
    header.check_width(1)?;
    let (words, rest) = header.params.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let slices = words.len().saturating_sub(RULE_WORDS);
    let fits = rest.is_empty()
        && slices.is_multiple_of(SLICE_WORDS)
        && (1..=MAX_SLICES).contains(&(slices / SLICE_WORDS));
    let rule = "this kind has 32 bytes, and 24 for each of 1 to 64 slices";
    DecodeError::check("parameter length", header.params.len() as u64, fits, rule)?;
    let (rule, slices) = words.split_at(RULE_WORDS);
    let (growth, peak) = (rule[2] as u32, (rule[2] >> 32) as u32);
    let (fpp, tightening) = (f64::from_bits(rule[0]), f64::from_bits(rule[1]));
    let rule = Rule { scheme, fpp, tightening, growth, peak, first: rule[3] };
    rule.check()?;
    let slices: Vec<_> = slices
        .as_chunks::<SLICE_WORDS>()
        .0
        .iter()
        .map(|&[bits, hashes, items]| ScalableSlice {
            bits,
            hashes: u32::try_from(hashes).unwrap_or(0),
            items,
        })
        .collect();
    let (mut bytes, mut items) = (0u64, 0u64);
    for (number, slice) in slices.iter().enumerate() {
        let ScalableSlice { bits, hashes, items: inside } = *slice;
        DecodeError::check(
            "bits of a slice",
            bits,
            (1..=MAX_CELLS).contains(&bits),
            "1 to 2^40 are allowed",
        )?;
        DecodeError::check(
            "hashes of a slice",
            hashes.into(),
            (1..=most_hashes).contains(&hashes),
            if most_hashes == MAX_HASHES { "1 to 255 are allowed" } else { "a block takes 1 to 16" },
        )?;
        fit(Shape { cells: bits, hashes })?;
        let (capacity, last) = (rule.capacity(number), number + 1 == slices.len());
        let filled = if last { inside <= capacity } else { inside == capacity };
        DecodeError::check(
            "items of a slice",
            inside,
            filled,
            "all slices but the last are full, and that takes no more either",
        )?;
        // A key that went in found a zero bit. So the next slice cannot be asked to be huge by a small file.
        DecodeError::check(
            "items of a slice",
            inside,
            inside <= bits,
            "each has set a bit, and there are fewer",
        )?;
        // At most 64 slices of 2⁴⁰ bits: the sum stays far below 2⁶⁴.
        bytes += bits.div_ceil(64) * 8;
        items = items.saturating_add(inside);
    }
    header.check_payload(bytes)?;
    DecodeError::check("items counted", header.items, header.items == items, "the slices hold others")?;
    let Identity { cells, hashes, .. } = header.identity;
    if (cells, hashes) != (slices[0].bits, slices[0].hashes) {
        return Err(DecodeError::Damaged(
            "the header and its parameters tell different shapes of the first slice",
        ));
    }
    let (hasher, allowance) = (header.hasher(options)?, Allowance::read(header, options));
    Ok(Parts { hasher, rule, shapes: slices, allowance, about: header.about() })
}

impl format::Restore for ScalableBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        Ok(Self::of_slices(restore(header, options)?, Bits::new)?)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        self.slices.iter_mut().map(|slice| slice.bits.words_mut()).collect()
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_cells()
    }
}

impl<B: Cut> format::Attach<B> for ScalableBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let mut rest = Some(payload);
        Self::of_slices(restore(header, options)?, |bits| {
            let needed = usize::try_from(bits.div_ceil(64) * 8).ok();
            let cut = rest.take().zip(needed).and_then(|(rest, needed)| rest.cut(needed));
            let now = cut.and_then(|(now, later)| {
                rest = Some(later);
                Bits::borrowed(now, bits)
            });
            now.ok_or(DecodeError::Damaged("the payload is shorter than its header says"))
        })
    }
}

format::stored_methods!(ScalableBloom<M> where M: Memory);
format::read_methods!(ScalableBloom);
format::serde_impls!([M: Memory] ScalableBloom<M>, [] ScalableBloom);

/// A first slice of fewer keys is no plan: the filter may become any size.
const PLAN: u64 = 1_000;
/// Keys of the slice that may have the largest rate, where the first size is no plan.
const PEAK_ITEMS: u64 = 50_000;

impl Builder<ScalableBloom> {
    /// The builder that a spec describes.
    ///
    /// How the rate is shared out decides what growth costs. A filter that starts with few keys
    /// says nothing about its size, and its first slices take no memory to speak of: so the largest
    /// share belongs to the slice of some 50,000 keys, and from 100 keys to 800,000 at 1 % it ends
    /// at 15.4 bits per key. A larger number is a plan: half of the rate belongs to the first
    /// slice, and a filter that is filled as planned takes 11 bits per key at 1 %.
    pub(crate) fn of(spec: &Spec) -> Self {
        let (items, options) = ScalableBloomOptions::of(spec);
        let fpp = Some(spec.real(Param::Fpp).unwrap_or(DEFAULT_FPP));
        let request = Request { fpp, items: Some(items), scheme: spec.scheme_id(), ..Request::hashed(spec) };
        Self { request, options }
    }
}

impl ScalableBloomOptions {
    /// Keys of the first slice, and how the rate is shared out, of a spec.
    pub(super) fn of(spec: &Spec) -> (u64, Self) {
        let (asked, growth) = (spec.whole(Param::Items), spec.small(Param::Growth).unwrap_or(2));
        let items = asked.unwrap_or(PLAN);
        let slice = |number: u32| u64::from(growth).saturating_pow(number).saturating_mul(items);
        let (tightening, peak) = match (growth, asked) {
            // Equal slices, 64 at most, and one is as likely the last as the next.
            (1, _) => (0.9, 0),
            (_, Some(PLAN..)) => (0.5, 0),
            _ => (0.8, (0..16).find(|&number| slice(number) >= PEAK_ITEMS).unwrap_or(16)),
        };
        let options = Self {
            tightening: spec.real(Param::Tightening).unwrap_or(tightening),
            growth,
            peak: spec.small(Param::Peak).unwrap_or(peak),
        };
        (items, options)
    }
}

impl FromSpec for ScalableBloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let within = goal.within.filter(|_| !goal.need.is_open());
        goal.if_able(kind, || sizes::search(goal.fpp, within, |fpp| sizes::scalable_design(goal.need, fpp)))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<ScalableBloom>::of(spec);
        builder.shape(0)?;
        let Rule { fpp, tightening, growth, peak, first, scheme } = builder.rule()?;
        spec.default_to(Param::Items, Value::Whole(first));
        spec.default_to(Param::Fpp, Value::Real(fpp));
        spec.set_whole(Param::Growth, growth);
        spec.default_to(Param::Tightening, Value::Real(tightening));
        spec.set_whole(Param::Peak, peak);
        spec.default_to(Param::Scheme, Value::Word(scheme.name()));
        Ok(())
    }
    /// Of the first slice.
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let builder = Builder::<ScalableBloom>::of(spec);
        let (shape, _) = builder.shape(0)?;
        Ok(Measure::as_stored(bit_bytes(shape.cells), 56, builder.request.fpp))
    }
    fn bound(spec: &Spec, _: f64, confidence: f64) -> Result<f64, SizeError> {
        let (shape, capacity) = Builder::<ScalableBloom>::of(spec).shape(0)?;
        let scheme = AnyScheme::new(spec.scheme_id(), shape.hashes);
        let items = sizes::slice_items(capacity, scheme.planned_fpp(shape.cells, capacity));
        Ok(sizes::bloom_bound(shape, items, scheme.planned_fpp(shape.cells, items), confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<ScalableBloom>::of(spec).build()
    }
}
