//! The scalable filter of blocked slices: as [`ScalableBloom`](crate::ScalableBloom), with one
//! cache line per slice.
//!
//! Slices, their rates and their order are those of `scalable.rs`; each slice is a blocked filter.
//! All slices take the same digest: each holds keys of its own, so that what a key meets in one
//! says nothing of what it meets in another, and a digest for each slice would take as long as its
//! cache line.
//!
//! The subtle rule: a key that any slice claims is not inserted again, so a slice of n keys has met
//! n/(1 − p), and is sized for that.
//!
//! Sources: Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom Filters" (2007); Putze,
//! Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007).

use super::Allowance;
use super::scalable::{MAX_SLICES, Parts, Rule, ScalableBloomOptions, ScalableSlice, parts};
use crate::cells::{Bits, Bytes, Lines, Memory, Owned};
use crate::explain::{CellTable, Explain, Seen, bit};
use crate::filter::builder::{Built, ForItems, ForRate};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{filter_impl, try_insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Cut, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::{SchemeId, scale};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Blocks, Bools, Given, Keys, Sink, Source, ahead};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value, bit_bytes};
use crate::theory::blocked::{self, BLOCK_BITS, MAX_BLOCK_HASHES};
use crate::theory::bloom::{Estimate, Shape};
use crate::theory::scalable::{compound, peaked_fpp};
use crate::{DecodeError, EncodeError, Full, InsertError, SizeError};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

/// A filter that grows with its keys and keeps its false-positive rate, from slices of one cache
/// line per key.
///
/// ```
/// let mut filter = gardenia::ScalableBlocked::new(0.01)?;
/// for key in 0..20_000u32 {
///     filter.insert(key).unwrap();
/// }
/// assert!((0..20_000u32).all(|key| filter.contains(key)));
/// assert!(filter.slices().count() > 3 && filter.fpp() <= 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// It is faster than a [`ScalableBloom`](crate::ScalableBloom) and a fifth larger, and its rate
/// cannot be far below 10⁻³. An [`InfiniFilter`](crate::InfiniFilter) reads one bucket instead of
/// one line of each slice, and can remove keys. There is no merge.
#[derive(Clone)]
pub struct ScalableBlocked<M = Owned> {
    hasher: KeyHasher,
    rule: Rule,
    /// The oldest first; never empty.
    slices: Vec<Slice<M>>,
    allowance: Allowance,
    about: About,
}

#[derive(Clone)]
struct Slice<M> {
    blocks: Blocks<M>,
    items: u64,
}

impl Built for ScalableBlocked {
    type Options = ScalableBloomOptions;
}
impl ForItems for ScalableBlocked {}
impl ForRate for ScalableBlocked {}

/// The shape of slice `number`.
fn shape(rule: &Rule, number: usize) -> Result<Shape, SizeError> {
    let fpp = peaked_fpp(rule.fpp, rule.tightening, rule.peak, number as u32);
    let met = libm::ceil(rule.capacity(number) as f64 / (1.0 - fpp)) as u64;
    blocked::shape(met, fpp)
}

impl Builder<ScalableBlocked> {
    /// How many times as many keys each slice holds as the one before it: 2 (unless set) to 32768.
    /// Larger ones make fewer slices to be asked, and leave more of the newest one empty.
    pub fn growth(mut self, growth: u32) -> Self {
        self.options.growth = growth;
        self
    }

    /// The rate of each slice over that of the one before it, between 0 and 1; 0.85 unless set.
    pub fn tightening(mut self, tightening: f64) -> Self {
        self.options.tightening = tightening;
        self
    }

    /// The slice, counted from 0, with the highest rate: 0 unless set, 63 at most. See
    /// [`ScalableBloom`](crate::ScalableBloom).
    pub fn peak(mut self, peak: u32) -> Self {
        self.options.peak = peak;
        self
    }

    /// The shape of slice `number`, counted from 0, and the keys that it holds, before any memory
    /// is taken.
    pub fn shape(&self, number: usize) -> Result<(Shape, u64), SizeError> {
        let rule = self.rule()?;
        Ok((shape(&rule, number)?, rule.capacity(number)))
    }

    /// The filter, with its first slice.
    pub fn build(self) -> Result<ScalableBlocked, SizeError> {
        let rule = self.rule()?;
        let first = Slice::new(shape(&rule, 0)?)?;
        let about = About::planned(rule.first, rule.fpp);
        let (slices, allowance) = (alloc::vec![first], Allowance::ANY);
        Ok(ScalableBlocked { hasher: self.request.hasher, rule, slices, allowance, about })
    }

    fn rule(&self) -> Result<Rule, SizeError> {
        let Request { fpp, items, .. } = self.request;
        let ScalableBloomOptions { tightening, growth, peak } = self.options;
        let fpp = fpp.ok_or(SizeError::Conflict("give fpp: the rate that is kept at every size"))?;
        let (scheme, first) = (SchemeId::default(), items.unwrap_or(0));
        let rule = Rule { scheme, fpp, tightening, growth, peak, first };
        rule.check().map(|()| rule)
    }
}

impl Slice<Owned> {
    fn new(shape: Shape) -> Result<Self, SizeError> {
        Ok(Self { blocks: Blocks::empty(shape.cells, shape.hashes)?, items: 0 })
    }
}

impl ScalableBlocked {
    /// A filter that keeps a false-positive probability of at most `fpp` for any number of keys.
    pub fn new(fpp: f64) -> Result<Self, SizeError> {
        Self::builder().fpp(fpp).build()
    }

    /// A builder, to choose first size, growth, tightening, seed, secret.
    ///
    /// ```
    /// let filter = gardenia::ScalableBlocked::builder().fpp(0.01).items(100).growth(4).build()?;
    /// assert_eq!(filter.slices().count(), 1);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<ScalableBlocked> {
        Builder::new(ScalableBloomOptions { tightening: 0.85, growth: 2, peak: 0 }).items(1_000)
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
        if slice.items >= slice.blocks.bits().len() {
            return Err(Full { taken: 0, copies: false });
        }
        slice.items += 1;
        Ok(slice.blocks.insert(digest))
    }

    /// Adds a slice, if there can be another, it is allowed, and memory for it can be had.
    fn grow(&mut self) -> Option<()> {
        let shape = shape(&self.rule, self.slices.len()).ok().filter(|_| self.slices.len() < MAX_SLICES)?;
        if self.over_limit(shape).is_some() {
            return None;
        }
        self.slices.push(Slice::new(shape).ok()?);
        Some(())
    }

    /// Bytes with a further slice of this shape, and the limit, if they are above it.
    fn over_limit(&self, shape: Shape) -> Option<(u64, u64)> {
        let needed = self.memory_bytes() as u64 + bit_bytes(shape.cells);
        self.allowance.exceeded(needed, self.items()).map(|max| (needed, max))
    }

    /// Bytes that this many more keys add at most: those of the slices that they fill.
    pub(crate) fn bytes_for(&self, keys: u64) -> u64 {
        let shape = |number| shape(&self.rule, number).ok().map(|shape| bit_bytes(shape.cells));
        let last = self.slices.last().map_or(0, |slice| slice.items);
        self.rule.bytes_for(self.slices.len(), last, keys, shape)
    }

    /// Why the filter is full.
    pub(crate) fn refusal(&self, full: Full) -> InsertError {
        match shape(&self.rule, self.slices.len()).ok().and_then(|shape| self.over_limit(shape)) {
            Some((needed, max)) => InsertError::Growth { needed, max },
            None => full.into(),
        }
    }

    /// Adds digests in order, up to the first for which there is no memory; `new` receives for each
    /// whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) -> Result<(), Full> {
        let (mut taken, mut full) = (0, false);
        let far = RefCell::new(self.far());
        let fetch = |digest: Digest| {
            far.borrow()
                .iter()
                .for_each(|(lines, blocks)| lines.prefetch_word(scale(digest.0, *blocks) as usize * 8));
        };
        let ask = |digest| {
            if full {
                return false;
            }
            let slices = self.slices.len();
            let added = self.insert_digest(digest);
            if self.slices.len() > slices {
                *far.borrow_mut() = self.far();
            }
            full = added.is_err();
            taken += u64::from(!full);
            added == Ok(true)
        };
        digests.each::<{ ahead::LINES }>(true, fetch, ask, new);
        if full { Err(Full { taken, copies: false }) } else { Ok(()) }
    }

    /// The slices that are not near the core, the largest first: where they lie, and their blocks.
    fn far(&self) -> Vec<(Lines, u64)> {
        let bits = self.slices.iter().rev().map(|slice| slice.blocks.bits());
        bits.filter(|bits| ahead::is_far_if_cheap(bits.memory().words()))
            .map(|bits| (bits.lines(), bits.len() / BLOCK_BITS))
            .collect()
    }

    /// Forgets all keys, and frees all slices but the first.
    pub fn clear(&mut self) {
        self.slices.truncate(1);
        for slice in &mut self.slices {
            slice.blocks.clear();
            slice.items = 0;
        }
        self.allowance.items = 0;
        self.about.forget();
    }
}

impl<M: Memory> ScalableBlocked<M> {
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

    /// Whether the key with this digest may be present: the largest slice is asked first.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.slices.iter().rev().any(|slice| slice.blocks.contains(digest))
    }

    /// Hands the answers for digests to `answers`, in order: the lines of all large slices are
    /// asked for at once.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let slices = self.slices.iter().rev();
        let far: Vec<_> =
            slices.filter(|slice| ahead::is_far_if_cheap(slice.blocks.bits().memory().words())).collect();
        let fetch = |digest| far.iter().for_each(|slice| slice.blocks.prefetch(digest));
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
        self.slices.iter().map(|Slice { blocks, items }| ScalableSlice {
            bits: blocks.bits().len(),
            hashes: blocks.hashes(),
            items: *items,
        })
    }

    /// The rate that is kept at every size.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.rule.fpp
    }

    /// Keys that went in and were certainly absent before.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.slices.iter().map(|slice| slice.items).sum()
    }

    /// Number of bits of all slices.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.slices.iter().map(|slice| slice.blocks.bits().len()).sum()
    }

    /// The share of bits that are set, over all slices.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.slices.iter().map(|slice| slice.blocks.bits().count_ones()).sum::<u64>() as f64
            / self.bits() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The false-positive probability as the filter is now: that of all slices together, from their
    /// fill.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        compound(self.slices.iter().map(|Slice { blocks, .. }| {
            let found =
                blocked::estimate_items(blocks.len(), blocks.hashes(), blocks.bits().count_ones()).items;
            if found.is_finite() { blocked::fpp_at(blocks.len(), found, blocks.hashes()) } else { 1.0 }
        }))
    }

    /// The number of distinct keys: those that were certainly absent when inserted. The error is
    /// what may have been skipped, at the current rate.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        let items = self.items() as f64;
        Estimate { items, std_error: items * self.fpp() }
    }

    /// Memory used by the bits, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slices.iter().map(|slice| slice.blocks.bits().memory().words() * 8).sum()
    }

    /// Hasher, and the shape of the first slice.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::ScalableBlocked,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.slices[0].blocks.hashes(),
            cells: self.slices[0].blocks.bits().len(),
            width: 1,
        }
    }

    /// A filter of slices of these shapes, with the bits that `bits` gives each.
    fn of_slices<E>(parts: Parts, mut bits: impl FnMut(u64) -> Result<Bits<M>, E>) -> Result<Self, E> {
        let Parts { hasher, rule, shapes, allowance, about } = parts;
        let slice = |shape: ScalableSlice| {
            Ok(Slice { blocks: Blocks::new(bits(shape.bits)?, shape.hashes), items: shape.items })
        };
        let slices = shapes.into_iter().map(slice).collect::<Result<_, E>>()?;
        Ok(Self { hasher, rule, slices, allowance, about })
    }

    /// What must hold of the bits: each key in a slice has set one.
    pub(crate) fn check_cells(&self) -> Result<(), DecodeError> {
        match self.slices.iter().find(|slice| slice.items > slice.blocks.bits().count_ones()) {
            Some(_) => Err(DecodeError::Damaged("a slice claims more keys than it has bits set")),
            None => Ok(()),
        }
    }
}

impl<M: Memory> fmt::Debug for ScalableBlocked<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slices: Vec<_> = self.slices().collect();
        f.debug_struct("ScalableBlocked")
            .field("hasher", &self.hasher)
            .field("rule", &self.rule)
            .field("slices", &slices)
            .finish()
    }
}

/// Equal in identity, rule, slices and bits: the same answers now, and after the same insertions.
impl<M: Memory, N: Memory> PartialEq<ScalableBlocked<N>> for ScalableBlocked<M> {
    fn eq(&self, other: &ScalableBlocked<N>) -> bool {
        self.identity() == other.identity()
            && self.rule == other.rule
            && self.slices().eq(other.slices())
            && self
                .slices
                .iter()
                .zip(&other.slices)
                .all(|(ours, theirs)| ours.blocks.bits() == theirs.blocks.bits())
    }
}

impl<M: Memory> Explain for ScalableBlocked<M> {
    fn tables(&self) -> Vec<CellTable> {
        let slice = |(number, slice): (usize, &Slice<M>)| {
            let table = CellTable::bits(slice.blocks.bits().len()).together(BLOCK_BITS);
            table.named(alloc::format!("slice {}", number + 1))
        };
        self.slices.iter().enumerate().map(slice).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        bit(self.slices[table].blocks.bits(), at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        for (number, slice) in self.slices.iter().enumerate() {
            let (first, masks) = slice.blocks.masks(digest);
            seen.add_masks(number, number, first, &masks);
        }
    }
}

filter_impl!([M: Memory] ScalableBlocked<M>);
try_insert_impl!([] ScalableBlocked);

impl<M: Memory> Stored for ScalableBlocked<M> {
    fn options(&self, spec: &mut Spec) {
        self.rule.note(spec);
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items: self.items(), ..header.with_params(&self.rule.params(self.slices())) })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        self.slices.iter().map(|slice| slice.blocks.bits().memory() as &dyn Memory).collect()
    }
}

/// The parts of a stored filter other than its bits, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<Parts, DecodeError> {
    header.check_kind(Kind::ScalableBlocked)?;
    header.check_no_scheme()?;
    parts(header, options, SchemeId::default(), MAX_BLOCK_HASHES, |shape| {
        let (field, value, rule) = ("bits of a slice", shape.cells, "blocks have 512");
        if value.is_multiple_of(BLOCK_BITS) { Ok(()) } else { Err(DecodeError::Field { field, value, rule }) }
    })
}

impl format::Restore for ScalableBlocked {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        Ok(Self::of_slices(restore(header, options)?, Bits::new)?)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        self.slices.iter_mut().map(|slice| slice.blocks.words_mut()).collect()
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_cells()
    }
}

impl<B: Cut> format::Attach<B> for ScalableBlocked<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let mut rest = Some(payload);
        Self::of_slices(restore(header, options)?, |bits| {
            let needed = usize::try_from(bits / 8).ok();
            let cut = rest.take().zip(needed).and_then(|(rest, needed)| rest.cut(needed));
            let now = cut.and_then(|(now, later)| {
                rest = Some(later);
                Bits::borrowed(now, bits)
            });
            now.ok_or(DecodeError::Damaged("the payload is shorter than its header says"))
        })
    }
}

format::stored_methods!(ScalableBlocked<M> where M: Memory);
format::read_methods!(ScalableBlocked);
format::serde_impls!([M: Memory] ScalableBlocked<M>, [] ScalableBlocked);

impl Builder<ScalableBlocked> {
    /// The builder that a spec describes: the rate is shared out as by
    /// [`ScalableBloom`](crate::ScalableBloom).
    fn of(spec: &Spec) -> Self {
        let (items, options) = ScalableBloomOptions::of(spec);
        let fpp = Some(spec.real(Param::Fpp).unwrap_or(DEFAULT_FPP));
        let request = Request { fpp, items: Some(items), ..Request::hashed(spec) };
        Self { request, options }
    }
}

const TOO_LOW: &str =
    "blocked slices cannot have a false-positive rate this low: the kinds scalable and infini can";

impl FromSpec for ScalableBlocked {
    /// An [`InfiniFilter`](crate::InfiniFilter) is faster and smaller: this one is for those who
    /// know why.
    fn designs(_: Kind, _: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        Vec::new()
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<ScalableBlocked>::of(spec);
        match builder.shape(0) {
            Err(SizeError::TooManyCells { .. }) if builder.rule()?.first < 1 << 30 => {
                return Err(SizeError::Conflict(TOO_LOW));
            }
            shape => shape?,
        };
        let Rule { fpp, tightening, growth, peak, first, .. } = builder.rule()?;
        spec.default_to(Param::Items, Value::Whole(first));
        spec.default_to(Param::Fpp, Value::Real(fpp));
        spec.set_whole(Param::Growth, growth);
        spec.default_to(Param::Tightening, Value::Real(tightening));
        spec.set_whole(Param::Peak, peak);
        Ok(())
    }
    /// Of the first slice.
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let builder = Builder::<ScalableBlocked>::of(spec);
        let (shape, _) = builder.shape(0)?;
        Ok(Measure::as_stored(bit_bytes(shape.cells), 56, builder.request.fpp))
    }
    fn bound(spec: &Spec, _: f64, confidence: f64) -> Result<f64, SizeError> {
        let (Shape { cells, hashes }, capacity) = Builder::<ScalableBlocked>::of(spec).shape(0)?;
        let blocks = cells / blocked::BLOCK_BITS;
        let items = sizes::slice_items(capacity, blocked::fpp(blocks, capacity, hashes));
        Ok(sizes::blocked_bound(blocks, items, hashes, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<ScalableBlocked>::of(spec).build()
    }
}
