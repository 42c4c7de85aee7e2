//! The Bloom filter: membership in few bits per key, no false negatives.
//!
//! A key sets k bits; a key whose k bits are all set may be present. The scheme decides how the k
//! positions come from one digest, the memory whether the bits are owned, mapped or shared by
//! threads.
//!
//! Sources: Bloom (1970); Kirsch and Mitzenmacher (2008) for the schemes; Grothoff for the whole k.

use super::probe::{Contains, ContainsMany, Set, SetMany, SetShared};
use crate::cells::{Bits, Bytes, Memory, Owned, Shared};
use crate::filter::builder::{Built, ForItems, ForRate, InBits, Probing, SchemeOf};
use crate::filter::request::{Request, bit_filter_facts};
use crate::filter::verbs::{collect_impl, filter_impl, insert_impl};
use crate::filter::{About, Atomic, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::AnyScheme;
use crate::index::shifts::stated_fpp;
use crate::index::{Fractional, NumberedScheme, Scheme};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::spec::{FromSpec, Measure, Param, Spec, bit_bytes};
use crate::theory::bloom::{Estimate, Shape, estimate_items};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The Bloom filter: a set of keys in a few bits each, without false negatives.
///
/// `S` is the scheme; leave it at the default unless you study the others. `M` is the memory:
/// [`Owned`] here, [`Shared`] in [`AtomicBloom`], a mapped file from [`Bloom::open_mapped`].
///
/// ```
/// use gardenia::Bloom;
/// let mut filter = Bloom::new(1_000, 0.01)?;
/// assert!(filter.insert("rose")); // certainly new, as with a HashSet
/// assert!(filter.contains("rose") && !filter.contains("thistle"));
/// assert_eq!(filter.contains_many(&["rose", "nettle"]), [true, false]);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct Bloom<S = Fractional, M = Owned> {
    hasher: KeyHasher,
    scheme: S,
    bits: Bits<M>,
    about: About,
}

/// A [`Bloom`] filter that many threads fill and query at once: `insert` needs only `&self`.
///
/// ```
/// use gardenia::AtomicBloom;
/// let filter = AtomicBloom::new(1_000, 0.01)?;
/// std::thread::scope(|threads| {
///     for start in [0u32, 500] {
///         let filter = &filter;
///         threads.spawn(move || (start..start + 500).for_each(|key| _ = filter.insert(key)));
///     }
/// });
/// assert!((0..1000u32).all(|key| filter.contains(key)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub type AtomicBloom<S = Fractional> = Atomic<Bloom<S, Shared>>;

impl<S: Scheme> Built for Bloom<S> {
    type Options = SchemeOf<S>;
}
impl<S: Scheme> ForItems for Bloom<S> {}
impl<S: Scheme> ForRate for Bloom<S> {}
impl<S: Scheme> InBits for Bloom<S> {}
impl<S: Scheme> Probing for Bloom<S> {}

impl Bloom {
    /// A filter for `items` keys at a false-positive probability of at most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape, seed, secret, scheme.
    ///
    /// ```
    /// use gardenia::index::Double;
    /// use gardenia::{Bloom, SecretKey};
    /// let keyed = Bloom::builder().items(1_000).fpp(1e-6).secret(SecretKey::new([7; 16])).build()?;
    /// let studied = Bloom::builder().bits(8_000).hashes(6).seed(1).scheme(Double::new).build()?;
    /// assert_eq!((studied.bits(), studied.hashes()), (8_000, 6));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<Bloom> {
        Builder::new(SchemeOf::new(Fractional::new))
    }
}

impl AtomicBloom {
    /// As [`Bloom::new`], to be shared between threads.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Bloom::new(items, fpp).map(Bloom::into_shared)
    }

    /// Loads a file of a [`Bloom`] into memory to be shared between threads, with every checksum
    /// verified.
    #[cfg(feature = "mmap")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, DecodeError> {
        Bloom::load(path).map(Bloom::into_shared)
    }
}

impl<S: Scheme> Builder<Bloom<S>> {
    /// The scheme, as a function of the number of probes: `Double::new`.
    pub fn scheme<T: Scheme>(self, scheme: impl Fn(u32) -> T + Send + Sync + 'static) -> Builder<Bloom<T>> {
        Builder { request: self.request, options: SchemeOf::new(scheme) }
    }

    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        self.request.bloom_shape(&*self.options.0)
    }

    /// The filter.
    pub fn build(self) -> Result<Bloom<S>, SizeError> {
        let Shape { cells, hashes } = self.shape()?;
        let scheme = (self.options.0)(hashes);
        let about = self.request.about(|items| scheme.planned_fpp(cells, items));
        Ok(Bloom { hasher: self.request.hasher, scheme, bits: Bits::new(cells)?, about })
    }
}

impl<S: Scheme> Bloom<S> {
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

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.scheme.dispatch(Set { bits: &mut self.bits, digest })
    }

    /// Adds digests in order; `new` receives for each whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        self.scheme.dispatch(SetMany { bits: &mut self.bits, digests, new });
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.about.forget();
    }

    /// Takes in the keys of `other`, bit for bit as if they had been inserted here.
    ///
    /// ```
    /// use gardenia::Bloom;
    /// let (mut a, mut b) = (Bloom::new(10, 0.01)?, Bloom::new(10, 0.01)?);
    /// a.insert("rose");
    /// b.insert("tulip");
    /// a.union_with(&b).unwrap();
    /// assert!(a.contains("rose") && a.contains("tulip"));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn union_with(&mut self, other: &Bloom<S, impl Memory>) -> Result<(), Mismatch> {
        self.check_same(other)?;
        self.bits.combine(&other.bits, |a, b| a | b);
        self.about.took_all(&other.about);
        self.about.count_all(&other.about);
        Ok(())
    }

    /// Keeps the bits that `other` has too.
    ///
    /// Every key that is in both stays found, but the result is *not* the filter of the common
    /// keys: bits that distinct keys of the two had set stay, so its error rate is above that of a
    /// filter built from the common keys (and never above that of either filter).
    pub fn intersect_with(&mut self, other: &Bloom<S, impl Memory>) -> Result<(), Mismatch> {
        self.check_same(other)?;
        self.bits.combine(&other.bits, |a, b| a & b);
        self.about.set_counted_items(None);
        Ok(())
    }

    /// The bits, for the split form.
    #[cfg(feature = "mmap")]
    #[inline]
    pub(crate) fn cells_mut(&mut self) -> &mut Bits {
        &mut self.bits
    }

    /// The parts, for filters that are made from this one.
    pub(crate) fn into_parts(self) -> (KeyHasher, S, Bits, About) {
        (self.hasher, self.scheme, self.bits, self.about)
    }

    /// The same filter for many threads; nothing is copied.
    #[must_use]
    pub fn into_shared(self) -> AtomicBloom<S> {
        let Self { hasher, scheme, bits, about } = self;
        Atomic(Bloom { hasher, scheme, bits: bits.into_shared(), about })
    }
}

impl<S: Scheme> AtomicBloom<S> {
    /// Adds `key`; true if this call set one of its bits.
    ///
    /// Of threads that add one new key at once, at least one gets true. Other threads see the
    /// key once they synchronise with this one (a join, a channel, a lock), as with any relaxed
    /// store.
    #[inline]
    pub fn insert(&self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds the key with this digest; true if this call set one of its bits.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.scheme.dispatch(SetShared { bits: &self.bits, digest })
    }

    /// The same filter for one owner; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> Bloom<S> {
        let Bloom { hasher, scheme, bits, about } = self.0;
        Bloom { hasher, scheme, bits: bits.into_owned(), about }
    }
}

impl<S: Scheme, M: Memory> Bloom<S, M> {
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
        self.scheme.dispatch(Contains { bits: &self.bits, digest })
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.scheme.dispatch(ContainsMany { bits: &self.bits, digests, answers });
    }

    bit_filter_facts!();

    /// The scheme.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Probes per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// The false-positive probability as the filter is now, from its fill and scheme.
    ///
    /// In tables of up to 2,048 bits the fill does not tell enough. There groups of positions are
    /// laid over the bits and counted: all that the scheme has, or so many that the standard error
    /// is 3 %. That takes up to some 2 ms, and gives the same value every time. If 2 ms are too
    /// short, the count is weighted with the formula.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(1_000, 0.01)?;
    /// assert_eq!(filter.fpp(), 0.0);
    /// filter.extend(0..1_000u32);
    /// assert!((0.005..0.02).contains(&filter.fpp()));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn fpp(&self) -> f64 {
        stated_fpp(&self.scheme, (self.bits.len(), self.bits.count_ones()), 1, |at| self.bits.get(at))
    }

    /// The number of distinct keys in the filter, estimated from the fill, with its standard error.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(10_000, 0.01)?;
    /// filter.extend(0..5_000u32);
    /// let about = filter.estimated_items();
    /// assert!((about.items - 5_000.0).abs() < 5.0 * about.std_error);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        estimate_items(self.bits.len(), self.hashes(), self.bits.count_ones())
    }

    /// The capacity κ: how many distinct keys it accepts until its false-positive rate is above the
    /// planned one ([`Scheme::capacity`]). `None` if no rate was planned.
    ///
    /// ```
    /// use gardenia::Bloom;
    /// let capacity = Bloom::new(1_000, 0.01)?.capacity().unwrap();
    /// assert!((1_000..1_010).contains(&capacity)); // bits are whole, and so there may be room for a few more
    /// assert_eq!(Bloom::builder().bits(9_600).hashes(7).build()?.capacity(), None);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> Option<u64> {
        let planned = Some(self.about.planned_fpp()).filter(|fpp| *fpp > 0.0 && *fpp < 1.0);
        planned.map(|fpp| self.scheme.capacity(self.bits.len(), fpp))
    }

    /// Whether it holds more keys than its [`capacity`](Self::capacity), by their [estimated
    /// number](Self::estimated_items). It still accepts keys; more absent ones than planned are
    /// reported as present.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(1_000, 0.01)?;
    /// filter.extend(0..900);
    /// assert!(!filter.is_full());
    /// filter.extend(900..1_100);
    /// assert!(filter.is_full());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.estimated_items().items > capacity as f64)
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Bloom,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.bits.len(),
            width: 1,
        }
    }

    /// An own copy of the filter: of a mapped or shared one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<Bloom<S>, SizeError> {
        let mut bits = Bits::new(self.bits.len())?;
        bits.combine(&self.bits, |_, b| b);
        Ok(Bloom {
            hasher: self.hasher.clone(),
            scheme: self.scheme.clone(),
            bits,
            about: self.about.clone(),
        })
    }

    /// The bits, for the split and the compressed form.
    #[inline]
    pub(crate) fn cells(&self) -> &Bits<M> {
        &self.bits
    }

    /// A filter of these parts, which fit each other.
    pub(crate) fn from_parts(hasher: KeyHasher, scheme: S, bits: Bits<M>, about: About) -> Self {
        Self { hasher, scheme, bits, about }
    }

    fn check_same(&self, other: &Bloom<S, impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        if self.scheme != other.scheme {
            let named = |scheme: &S| alloc::format!("{scheme:?}");
            return Err(Mismatch { what: "scheme", ours: named(&self.scheme), theirs: named(&other.scheme) });
        }
        Ok(())
    }
}

collect_impl!(Bloom);

impl<S: Scheme, M: Memory> fmt::Debug for Bloom<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hasher, scheme, bits) = (&self.hasher, &self.scheme, &self.bits);
        f.debug_struct("Bloom").field("hasher", hasher).field("scheme", scheme).field("bits", bits).finish()
    }
}

/// Equal in identity and bits: the same answer to every key. What they were planned for does not
/// count.
impl<S: Scheme, M: Memory, N: Memory> PartialEq<Bloom<S, N>> for Bloom<S, M> {
    fn eq(&self, other: &Bloom<S, N>) -> bool {
        self.check_same(other).is_ok() && self.bits == other.bits
    }
}

crate::explain::look_at_bits!([S: Scheme, M: Memory] Bloom<S, M>, bits);

filter_impl!([S: Scheme, M: Memory] Bloom<S, M>);
insert_impl!([S: Scheme] Bloom<S>);

impl<S: Scheme> Merge for Bloom<S> {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.union_with(other)
    }
}

impl<S: NumberedScheme, M: Memory> Stored for Bloom<S, M> {
    fn header(&self) -> Result<Header, EncodeError> {
        Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.bits.memory()]
    }
}

/// The parts of a stored filter other than its bits, checked.
fn restore<S: NumberedScheme>(
    header: &Header,
    options: &ReadOptions,
) -> Result<(KeyHasher, S, u64, About), DecodeError> {
    header.check_kind(Kind::Bloom)?;
    header.check_width(1)?;
    header.check_params(&[])?;
    let scheme = header.scheme::<S>()?;
    let cells = header.identity.cells;
    header.check_payload(cells.div_ceil(64) * 8)?;
    Ok((header.hasher(options)?, scheme, cells, header.about()))
}

impl<S: NumberedScheme> format::Restore for Bloom<S> {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, scheme, cells, about) = restore::<S>(header, options)?;
        Ok(Self { hasher, scheme, bits: Bits::new(cells)?, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.bits.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tail()
    }
}

impl<S: NumberedScheme, B: AsRef<[u8]>> format::Attach<B> for Bloom<S, Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, scheme, cells, about) = restore::<S>(header, options)?;
        let needed = header.payload_len;
        let found = payload.as_ref().len() as u64;
        let bits = Bits::borrowed(payload, cells).ok_or(DecodeError::Truncated { needed, found })?;
        let filter = Self { hasher, scheme, bits, about };
        filter.check_tail()?;
        Ok(filter)
    }
}

impl<S, M: Memory> Bloom<S, M> {
    fn check_tail(&self) -> Result<(), DecodeError> {
        let clear = self.bits.tail_is_clear();
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

format::stored_methods!(Bloom<S, M> where S: NumberedScheme, M: Memory);
format::read_methods!(Bloom of schemes);
format::serde_impls!([S: NumberedScheme, M: Memory] Bloom<S, M>, [S: NumberedScheme] Bloom<S>);

impl FromSpec for Bloom<AnyScheme> {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::bloom_design(goal.need, goal.items, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let shape = Request::of(spec, 1.0).any_shape()?;
        spec.fill_shape(Param::Bits, shape);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let shape = spec.shape(Param::Bits);
        Ok(Measure::as_stored(bit_bytes(shape.cells), 0, spec.bloom_rate(shape)))
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Bits), fpp, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        let scheme = spec.scheme_id();
        let builder = Builder { request: Request::of(spec, 1.0), ..Bloom::builder() };
        builder.scheme(move |hashes| AnyScheme::new(scheme, hashes)).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hashed;

    #[test]
    fn contradictory_and_missing_parameters_are_named() {
        let message = |b: Builder<Bloom>| alloc::string::ToString::to_string(&b.build().unwrap_err());
        assert!(message(Bloom::builder()).contains("give items and fpp"));
        assert!(message(Bloom::builder().bits(10).hashes(2).fpp(0.1)).contains("leave out fpp"));
        assert!(message(Bloom::builder().bits(10).items(2).fpp(0.1)).contains("leave out one"));
        assert!(message(Bloom::builder().hashes(3)).contains("needs a size"));
        assert!(message(Bloom::builder().bits(10).hashes(0)).contains("0 hashes"));
        assert!(message(Bloom::builder().bits(10).hashes(256)).contains("256 hashes"));
        assert!(message(Bloom::builder().bits(0).hashes(1)).contains("at least 1 cell"));
        assert!(message(Bloom::builder().bits(u64::MAX).hashes(1)).contains("more than"));
        assert!(message(Bloom::builder().bits(10).items(0)).contains("at least 1 item"));
    }

    #[test]
    fn probabilities_and_item_counts_that_cannot_be_are_errors() {
        for fpp in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(Bloom::new(10, fpp), Err(SizeError::Fpp(_))), "{fpp}");
        }
        assert!(matches!(Bloom::new(0, 0.01), Err(SizeError::ZeroItems)));
        assert!(matches!(Bloom::new(1 << 50, 0.01), Err(SizeError::TooManyCells { .. })));
        assert!(matches!(Bloom::new(u64::MAX, 0.01), Err(SizeError::FppBelowFloor { .. })));
        assert!(matches!(Bloom::new(10, 1e-300), Err(SizeError::FppBelowFloor { .. })));
    }

    #[test]
    fn a_union_of_unlike_filters_names_the_difference() {
        let make = |seed, bits| Bloom::builder().seed(seed).bits(bits).hashes(3).build().unwrap();
        let mut ours = make(0, 100);
        let before = ours.clone();
        let error = ours.union_with(&make(1, 100)).unwrap_err();
        assert_eq!((error.what, &*error.ours, &*error.theirs), ("seed", "0x0", "0x1"));
        assert_eq!(ours.intersect_with(&make(0, 101)).unwrap_err().what, "cells");
        assert_eq!(ours, before);
    }

    #[test]
    fn a_union_with_an_unportable_filter_is_not_portable() {
        let (mut a, mut b) = (Bloom::new(10, 0.1).unwrap(), Bloom::new(10, 0.1).unwrap());
        b.extend([Hashed(&1)]);
        assert!(matches!(b.to_bytes(), Err(EncodeError::NotPortable)));
        a.union_with(&b).unwrap();
        assert!(matches!(a.to_bytes(), Err(EncodeError::NotPortable)));
        a.clear();
        assert!(a.to_bytes().is_ok());
    }

    #[test]
    fn debug_does_not_print_the_bits() {
        let filter: Bloom = (0..100_000u32).collect();
        assert!(alloc::format!("{filter:?}").len() < 400);
    }
}
