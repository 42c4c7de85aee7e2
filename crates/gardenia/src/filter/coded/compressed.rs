//! Compressed Bloom filter: a Bloom filter that is large and sparse in memory, and small in a file
//! or on the wire.
//!
//! The bits are coded by a range coder that knows the share of ones, so that a filter of m bits
//! takes m·H₂(p) in a file. The one subtle rule: k is chosen *smaller* than the best one for m,
//! because at p = 1/2 there is nothing to compress; for the same bytes sent such a filter has fewer
//! false positives.
//!
//! Source: Mitzenmacher, "Compressed Bloom filters" (2002).

use super::range::{Model, decode, encode};
use crate::cells::{Bits, Memory, Owned};
use crate::explain::{CellTable, Explain, Seen};
use crate::filter::builder::{Built, ForItems, ForRate, InBits, Probing, SchemeOf};
use crate::filter::request::Request;
use crate::filter::{About, Bloom, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Section, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::AnyScheme;
use crate::index::{Fractional, NumberedScheme, Scheme};
use crate::plan::{Figures, Goal, sizes};
use crate::spec::{FromSpec, Measure, Param, Spec, bit_bytes};
use crate::theory::bloom::{Estimate, Shape};
use crate::theory::compressed::{CompressedPlan, MAX_BITS_PER_ITEM, plan, plan_for_fpp};
use crate::theory::{bloom, compressed::entropy};
use crate::{DecodeError, EncodeError, Filter, Full, Insert, Merge, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A Bloom filter whose stored form is compressed: fewer false positives for the bytes that are
/// sent, more memory in use.
///
/// ```
/// use gardenia::{Bloom, CompressedBloom};
/// // 8 bits per key on the wire, 14 in memory: 1.77 % instead of 2.16 %.
/// let mut filter = CompressedBloom::new(10_000, 8.0, 14.0)?;
/// filter.insert_many(&(0..10_000).collect::<Vec<u32>>());
/// assert_eq!((filter.hashes(), filter.bits()), (2, 140_000));
/// let sent = filter.to_bytes().unwrap();
/// assert!(sent.len() < 10_200 && filter.memory_bytes() > 17_400);
/// assert!(CompressedBloom::from_bytes(&sent).unwrap() == filter);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct CompressedBloom<S = Fractional> {
    bloom: Bloom<S>,
}

#[derive(Clone, Debug)]
pub struct CompressedBloomOptions<S> {
    wire: Option<f64>,
    memory: Option<f64>,
    scheme: SchemeOf<S>,
}

impl<S: Scheme> Built for CompressedBloom<S> {
    type Options = CompressedBloomOptions<S>;
}
impl<S: Scheme> ForItems for CompressedBloom<S> {}
impl<S: Scheme> ForRate for CompressedBloom<S> {}
impl<S: Scheme> InBits for CompressedBloom<S> {}
impl<S: Scheme> Probing for CompressedBloom<S> {}

/// Bits of a cache line.
const LINE_BITS: f64 = 512.0;

impl CompressedBloom {
    /// A filter for `items` keys that takes at most `wire` bits per key in a file, and `memory`
    /// bits per key in use.
    pub fn new(items: u64, wire: f64, memory: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).wire(wire).memory(memory).build()
    }

    /// A builder, to choose shape, seed, secret, scheme.
    ///
    /// Give `items` with `wire` and `memory`, or with `fpp` and `memory`; or a shape, as for a
    /// Bloom filter.
    ///
    /// ```
    /// use gardenia::index::Double;
    /// use gardenia::CompressedBloom;
    /// let sent = CompressedBloom::builder().items(1_000).wire(8.0).memory(92.0).scheme(Double::new).build()?;
    /// let exact = CompressedBloom::builder().items(1_000).fpp(0.01).memory(30.0).build()?;
    /// assert_eq!((sent.hashes(), exact.hashes()), (1, 2));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<CompressedBloom> {
        let scheme = SchemeOf::new(Fractional::new);
        Builder::new(CompressedBloomOptions { wire: None, memory: None, scheme })
    }
}

impl<S: Scheme> Builder<CompressedBloom<S>> {
    /// The most bits per key in a file, once all keys are in; a fraction is fine. The header is not
    /// counted.
    pub fn wire(mut self, bits_per_item: f64) -> Self {
        self.options.wire = Some(bits_per_item);
        self
    }

    /// The most bits per key in memory; a fraction is fine. With [`fpp`](Self::fpp) 512 bits in all
    /// are always allowed.
    pub fn memory(mut self, bits_per_item: f64) -> Self {
        self.options.memory = Some(bits_per_item);
        self
    }

    /// The scheme, as a function of the number of probes: `Double::new`.
    pub fn scheme<T: Scheme>(
        self,
        scheme: impl Fn(u32) -> T + Send + Sync + 'static,
    ) -> Builder<CompressedBloom<T>> {
        let CompressedBloomOptions { wire, memory, .. } = self.options;
        let options = CompressedBloomOptions { wire, memory, scheme: SchemeOf::new(scheme) };
        Builder { request: self.request, options }
    }

    /// What was chosen for the bits allowed; `None` for a filter that was given by its shape.
    fn plan(&self) -> Result<Option<(u64, CompressedPlan)>, SizeError> {
        let conflict = |message| Err(SizeError::Conflict(message));
        let Request { items, fpp, cells, hashes, .. } = self.request;
        if cells.is_some() || hashes.is_some() {
            return match (self.options.wire, self.options.memory) {
                (None, None) => Ok(None),
                _ => conflict("bits and hashes fix the filter: leave out wire and memory"),
            };
        }
        let (Some(items), Some(memory)) = (items, self.options.memory) else {
            return conflict("give items, memory, and wire or fpp; or bits and hashes");
        };
        if items == 0 {
            return Err(SizeError::ZeroItems);
        }
        match (self.options.wire, fpp) {
            (Some(wire), None) => Ok(Some((items, plan(wire, memory)?))),
            (None, Some(fpp)) => {
                // A cache line is little enough for any set: for few keys a limit per key would forbid low rates.
                let enough = memory.max((LINE_BITS / items as f64).min(MAX_BITS_PER_ITEM));
                let plan = self.plan_for(items, fpp, memory).or_else(|_| self.plan_for(items, fpp, enough));
                Ok(Some((items, plan?)))
            }
            _ => conflict("give either wire or fpp"),
        }
    }

    /// The plan whose filter keeps `fpp` with this many keys. The paper's formula is that of many:
    /// few have a higher rate, and are asked for less.
    fn plan_for(&self, items: u64, fpp: f64, memory: f64) -> Result<CompressedPlan, SizeError> {
        let floor = items as f64 * libm::exp2(-64.0);
        if fpp > 0.0 && fpp <= floor {
            return Err(SizeError::FppBelowFloor { fpp, floor, items });
        }
        let (mut asked, mut steps) = (fpp, [0.999, 0.999, 0.999, 0.99].into_iter());
        loop {
            let plan = plan_for_fpp(asked, memory)?;
            let Shape { cells, hashes } = self.shape_of(items, &plan)?;
            let found = (self.options.scheme.0)(hashes).planned_fpp(cells, items);
            if found <= fpp {
                return Ok(plan);
            }
            asked *= steps.next().unwrap_or(0.8) * fpp / found; // until the memory is short
        }
    }

    /// The shape of a plan: rounded up by less than a bit, and then to what the scheme can use.
    fn shape_of(&self, items: u64, plan: &CompressedPlan) -> Result<Shape, SizeError> {
        let cells = libm::ceil(plan.cells_per_item * items as f64 - 1e-6).max(1.0) as u64;
        let cells = (self.options.scheme.0)(plan.hashes).best_fit(cells);
        let request =
            Request { cells: Some(cells), hashes: Some(plan.hashes), fpp: None, ..self.request.clone() };
        request.bloom_shape(&*self.options.scheme.0)
    }

    /// The filter's shape in memory, before any is taken.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        match self.plan()? {
            Some((items, plan)) => self.shape_of(items, &plan),
            None => self.request.bloom_shape(&*self.options.scheme.0),
        }
    }

    /// The filter.
    pub fn build(self) -> Result<CompressedBloom<S>, SizeError> {
        let Shape { cells, hashes } = self.shape()?;
        let scheme = (self.options.scheme.0)(hashes);
        let about = self.request.about(|items| scheme.planned_fpp(cells, items));
        Ok(CompressedBloom {
            bloom: Bloom::from_parts(self.request.hasher, scheme, Bits::new(cells)?, about),
        })
    }
}

/// A Bloom filter that is to be stored in compressed form.
impl<S: Scheme> From<Bloom<S>> for CompressedBloom<S> {
    fn from(bloom: Bloom<S>) -> Self {
        Self { bloom }
    }
}

impl<S: Scheme> CompressedBloom<S> {
    /// The filter as it is in memory, with all that can be asked of it.
    #[must_use]
    pub fn as_bloom(&self) -> &Bloom<S> {
        &self.bloom
    }

    /// The filter as it is in memory; nothing is copied.
    #[must_use]
    pub fn into_bloom(self) -> Bloom<S> {
        self.bloom
    }

    /// Whether `key` may be present: never false for a key that is.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.bloom.contains(key)
    }

    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.bloom.contains_many(keys)
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.bloom.contains_digest(digest)
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.bloom.contains_digests(digests, out);
    }

    /// Adds `key`; true if it was certainly absent before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.bloom.insert(key)
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.bloom.insert_many(keys)
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.bloom.insert_digest(digest)
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.bloom.insert_digests(digests, new);
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.bloom.clear();
    }

    /// Takes in the keys of `other`, bit for bit as if they had been inserted here.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.bloom.union_with(&other.bloom)
    }

    /// Keeps the bits that `other` has too, as [`Bloom::intersect_with`] does.
    pub fn intersect_with(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.bloom.intersect_with(&other.bloom)
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        self.bloom.hasher()
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        self.bloom.about()
    }

    /// What the filter was made for, to be changed.
    pub fn about_mut(&mut self) -> &mut About {
        self.bloom.about_mut()
    }

    /// Number of bits in memory, m.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bloom.bits()
    }

    /// Probes per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.bloom.hashes()
    }

    /// The share of bits that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.bloom.fill()
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// The false-positive probability as the filter is now, from its fill and scheme.
    /// Cells of small filters are counted, as in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        self.bloom.fpp()
    }

    /// The number of distinct keys in the filter, estimated from the fill, with its standard error.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        self.bloom.estimated_items()
    }

    /// Memory used by the bits, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bloom.memory_bytes()
    }

    /// Bits that the filter as it is now takes in coded form, by the entropy of its fill; the coder
    /// needs 128 more at most, and some 10⁻⁵ bits per bit.
    ///
    /// ```
    /// let mut filter = gardenia::CompressedBloom::new(10_000, 8.0, 92.0)?;
    /// filter.insert_many(&(0..10_000).collect::<Vec<u32>>());
    /// assert!((filter.expected_wire_bits() / 80_000.0 - 1.0).abs() < 0.02);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn expected_wire_bits(&self) -> f64 {
        self.bits() as f64 * crate::theory::compressed::entropy(self.fill())
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity { kind: Kind::Compressed, ..self.bloom.identity() }
    }
}

impl<S: NumberedScheme> CompressedBloom<S> {
    /// The bits in coded form, as the words of a payload.
    fn code(&self) -> Result<Owned, SizeError> {
        let bits = self.bloom.cells();
        let model = Model::new(bits.len(), bits.count_ones());
        let (memory, bytes) = (bits.memory(), bits.len().div_ceil(8));
        let symbols = (0..memory.words()).flat_map(|at| memory.load(at).to_le_bytes());
        let code = encode(&model, symbols.take(usize::try_from(bytes).unwrap_or(usize::MAX)))?;
        let mut words = Owned::zeroed(code.len().div_ceil(2))?;
        for (word, pair) in words.as_mut_slice().iter_mut().zip(code.chunks(2)) {
            *word = u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32;
        }
        Ok(words)
    }
}

impl<S: Scheme> fmt::Debug for CompressedBloom<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompressedBloom").field(&self.bloom).finish()
    }
}

/// Equal in identity and bits: the same answer to every key.
impl<S: Scheme> PartialEq for CompressedBloom<S> {
    fn eq(&self, other: &Self) -> bool {
        self.bloom == other.bloom
    }
}

impl<S: Scheme> Explain for CompressedBloom<S> {
    fn tables(&self) -> Vec<CellTable> {
        self.bloom.tables()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.bloom.cell(table, at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        self.bloom.look(digest, seen);
    }
}

impl<S: Scheme> Filter for CompressedBloom<S> {
    fn hasher(&self) -> &KeyHasher {
        CompressedBloom::hasher(self)
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        self.bloom.contains_digest(digest)
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.bloom.contains_digests(digests, out);
    }
}

impl<S: Scheme> Insert for CompressedBloom<S> {
    fn about_mut(&mut self) -> &mut About {
        self.bloom.about_mut()
    }
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        Ok(self.bloom.insert_digest(digest))
    }
}

impl<K: Key, S: Scheme> Extend<K> for CompressedBloom<S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.bloom.extend(keys);
    }
}

impl<S: Scheme> Merge for CompressedBloom<S> {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.union_with(other)
    }
}

impl<S: NumberedScheme> Stored for CompressedBloom<S> {
    fn header(&self) -> Result<Header, EncodeError> {
        let ones = self.bloom.cells().count_ones();
        // What the code will take; the container counts what it took.
        let bytes = libm::ceil(self.expected_wire_bits() / 64.0) as u64 * 8 + 16;
        let header = Header::new(self.identity(), self.hasher(), self.about(), bytes)?;
        Ok(header.with_params(&[ones]))
    }
    /// None is kept as it is stored: see `payload`.
    fn sections(&self) -> Vec<&dyn Memory> {
        Vec::new()
    }
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        Ok(vec![Section::Made(self.code()?)])
    }
}

/// What a header says, checked; nothing has been allocated.
struct Parts<S> {
    hasher: KeyHasher,
    scheme: S,
    bits: u64,
    ones: u64,
    model: Model,
    about: About,
}

impl<S: NumberedScheme> Parts<S> {
    fn new(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        header.check_kind(Kind::Compressed)?;
        header.check_width(1)?;
        let scheme = header.scheme()?;
        let [ones] = header.param_words()?;
        let bits = header.identity.cells;
        let field = |field, value, rule| Err(DecodeError::Field { field, value, rule });
        if ones > bits {
            return field("ones", ones, "there are fewer cells");
        }
        // Decoded bits are larger than their code: what the code could be of bounds them, and so does the cap.
        let model = Model::new(bits, ones);
        if model.least_bits(bits.div_ceil(8)) > header.payload_len as f64 * 8.0 {
            return field("payload length", header.payload_len, "that many cells need more");
        }
        let (needed, max) = (header.payload_len.saturating_add(bits.div_ceil(64) * 8), options.max_bytes);
        if needed > max {
            return Err(DecodeError::TooLarge { needed, max });
        }
        let (stored, max) = (header.payload_len, options.expanded(header.payload_len));
        if needed > max {
            return Err(DecodeError::Expansion { stored, needed, max });
        }
        Ok(Self { hasher: header.hasher(options)?, scheme, bits, ones, model, about: header.about() })
    }

    /// The filter whose coded bits are these words.
    fn decode(self, code: &[u64]) -> Result<CompressedBloom<S>, DecodeError> {
        let mut bits = Bits::new(self.bits)?;
        let words = bits.words_mut();
        // Words are zero at first, and so are nearly all bytes of a filter that is nearly empty.
        decode(&self.model, code, self.bits.div_ceil(8), |at, byte| {
            words[(at / 8) as usize] |= u64::from(byte) << (at % 8 * 8);
        })?;
        if !bits.tail_is_clear() {
            return Err(DecodeError::Damaged("bits are set past the last cell"));
        }
        if bits.count_ones() != self.ones {
            return Err(DecodeError::Damaged("the code holds more or fewer ones than the header says"));
        }
        Ok(CompressedBloom { bloom: Bloom::from_parts(self.hasher, self.scheme, bits, self.about) })
    }
}

impl<S: NumberedScheme> format::Restore for CompressedBloom<S> {
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        let parts = Parts::new(header, options)?;
        let mut code = Owned::zeroed(usize::try_from(header.payload_len / 8).unwrap_or(usize::MAX))?;
        fill(vec![code.as_mut_slice()])?;
        parts.decode(code.as_slice())
    }
    /// The filter without its bits, which `read` decodes.
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let Parts { hasher, scheme, bits, about, .. } = Parts::new(header, options)?;
        Ok(Self { bloom: Bloom::from_parts(hasher, scheme, Bits::new(bits)?, about) })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        Vec::new()
    }
    fn check(&self) -> Result<(), DecodeError> {
        Ok(())
    }
}

/// There is nothing to be asked in a coded payload: it is decoded into own memory.
impl<S: NumberedScheme, B: format::Cut> format::Attach<B> for CompressedBloom<S> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (parts, payload) = (Parts::new(header, options)?, payload.as_ref());
        let mut code = Owned::zeroed(payload.len() / 8)?;
        for (word, bytes) in code.as_mut_slice().iter_mut().zip(payload.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        parts.decode(code.as_slice())
    }
}

format::stored_methods!(CompressedBloom<S> where S: NumberedScheme);
format::read_methods!(CompressedBloom of schemes, decoded);
format::serde_impls!([S: NumberedScheme] CompressedBloom<S>, [S: NumberedScheme] CompressedBloom<S>);

/// Bits per key in memory where nothing is asked for: about three times those of a plain filter.
const MEMORY: f64 = 32.0;

/// The builder that a spec describes.
fn of(spec: &Spec) -> Builder<CompressedBloom<AnyScheme>> {
    let (scheme, mut request) = (spec.scheme_id(), Request::of(spec, 1.0));
    let (wire, shaped) = (spec.real(Param::Wire), request.cells.is_some());
    if wire.is_some() {
        request.fpp = None;
    }
    let memory = (!shaped).then(|| spec.real(Param::MemoryPerKey).unwrap_or(MEMORY));
    let scheme = SchemeOf::new(move |hashes| AnyScheme::new(scheme, hashes));
    Builder { request, options: CompressedBloomOptions { wire, memory, scheme } }
}

impl FromSpec for CompressedBloom<AnyScheme> {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::compressed_design(goal.need, goal.items, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let (shape, by_wire) = (of(spec).shape()?, spec.has(Param::Wire));
        spec.fill_shape(Param::Bits, shape);
        if by_wire {
            spec.forget(&[Param::PlannedFpp]);
        }
        spec.forget(&[Param::Wire, Param::MemoryPerKey]);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let shape = spec.shape(Param::Bits);
        // The coder stays within 1 % of the entropy.
        let coded = |items| {
            let fill = bloom::expected_fill(shape.cells, items, shape.hashes);
            libm::ceil(1.01 * shape.cells as f64 * entropy(fill) / 8.0) as u64 + 16
        };
        let memory = bit_bytes(shape.cells);
        let payload = spec.whole(Param::Items).map_or(memory, coded).next_multiple_of(8);
        Ok(Measure { memory, params: 8, payload, fpp: spec.bloom_rate(shape) })
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Bits), fpp, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        of(spec).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn contradictory_and_missing_parameters_are_named() {
        let message = |b: Builder<CompressedBloom>| b.build().unwrap_err().to_string();
        let new = CompressedBloom::builder;
        assert!(message(new()).contains("give items, memory"));
        assert!(message(new().items(10).wire(8.0)).contains("give items, memory"));
        assert!(message(new().items(10).memory(8.0)).contains("either wire or fpp"));
        assert!(message(new().items(10).memory(8.0).wire(8.0).fpp(0.1)).contains("either wire or fpp"));
        assert!(message(new().items(0).memory(8.0).wire(8.0)).contains("at least 1 item"));
        assert!(message(new().bits(10).hashes(1).wire(8.0)).contains("leave out wire"));
        assert!(message(new().items(10).memory(f64::NAN).wire(8.0)).contains("bits per key"));
        assert!(message(new().items(10).memory(20.0).wire(0.0)).contains("bits per key"));
        assert!(message(new().items(10).memory(20.0).fpp(0.0)).contains("greater than 0 and less than 1"));
        assert!(message(new().items(1 << 50).memory(20.0).wire(8.0)).contains("more than a filter can have"));
        assert!(message(new().items(u64::MAX).memory(1e6).wire(1e6)).contains("more than a filter can have"));
        assert_eq!(new().bits(1_000).hashes(3).build().unwrap().bits(), 1_000);
    }

    #[test]
    fn a_filter_of_any_fill_is_stored_and_read_again() {
        for keys in [0, 1, 10, 300, 3_000, 30_000] {
            for bits in [1, 7, 64, 1_000, 10_001] {
                let mut filter = CompressedBloom::builder().bits(bits).hashes(2).build().unwrap();
                filter.extend(0..keys);
                let bytes = filter.to_bytes().unwrap();
                assert!(CompressedBloom::from_bytes(&bytes).unwrap() == filter, "{keys} in {bits}");
                assert!(bytes.len() as u64 <= 210 + bits / 8, "{keys} in {bits}: {}", bytes.len());
            }
        }
    }

    #[test]
    fn a_union_is_the_filter_of_both() {
        let make = |keys: core::ops::Range<u32>| {
            let mut filter = CompressedBloom::new(1_000, 8.0, 20.0).unwrap();
            filter.extend(keys);
            filter
        };
        let mut ours = make(0..500);
        ours.union_with(&make(400..1_000)).unwrap();
        assert!(ours == make(0..1_000));
        assert!(ours.union_with(&CompressedBloom::new(999, 8.0, 20.0).unwrap()).is_err());
        assert_eq!(ours.clone().into_bloom().bits(), ours.as_bloom().bits());
        ours.clear();
        assert_eq!((ours.fill(), ours.expected_wire_bits()), (0.0, 0.0));
    }

    #[test]
    fn codes_of_other_bits_than_the_header_says_are_refused() {
        let decoded = |ones: u64, bytes: [u8; 2]| {
            let scheme = Fractional::new(1);
            let model = Model::new(13, ones);
            let code = encode(&model, bytes.into_iter()).unwrap();
            let words: Vec<u64> =
                code.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect();
            let parts = Parts {
                hasher: KeyHasher::default(),
                scheme,
                bits: 13,
                ones,
                model,
                about: About::default(),
            };
            parts.decode(&words).map(|filter| filter.fill())
        };
        assert_eq!(decoded(3, [0b11, 0b1_0000]).unwrap(), 3.0 / 13.0);
        let message = |ones, bytes| decoded(ones, bytes).unwrap_err().to_string();
        assert!(message(3, [0b11, 0b10_0000]).contains("past the last cell"));
        assert!(message(3, [0b11, 0b1_1000]).contains("more or fewer ones"));
    }
}
