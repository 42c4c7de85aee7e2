//! The retouched Bloom filter: known false positives are removed, at the price of false negatives.
//!
//! Clearing one of the bits of a troublesome key removes it, and with it every element that shares
//! the bit. *Which* bit is cleared decides how many elements are lost. The counts of elements and
//! of troublesome keys per bit are needed only while clearing: the result is a plain array of bits.
//! It takes no more keys, because setting a bit again would bring back what was removed.
//!
//! Source: Donnet, Baynat and Friedman, "Retouched Bloom Filters: allowing networked applications
//! to trade off selected false positives against false negatives" (2006).

use super::probe::{Contains, ContainsMany};
use crate::BuildError;
use crate::cells::{Bits, Bytes, Memory, Owned};
use crate::filter::request::bit_filter_facts;
use crate::filter::verbs::filter_impl;
use crate::filter::{About, Bloom, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::MAX_HASHES;
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, NumberedScheme, Scheme};
use crate::numbered::numbered;
use crate::plan::{Figures, Goal};
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::spec::{FromSpec, Measure, Param, Spec, SpecError, Value, Watch};
use crate::{DecodeError, EncodeError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

numbered! {
    /// Which of its bits is cleared to remove a troublesome key.
    #[derive(Default)]
    pub enum Clearing: u8 {
        /// Any of them.
        Random = 1 "random",
        /// The one with the fewest elements: *minimum FN selection*.
        FewestElements = 2 "fewest-elements",
        /// The one with the most troublesome keys: *maximum FP selection*.
        MostTroublesome = 3 "most-troublesome",
        /// The one that costs the fewest elements for each troublesome key that goes with it:
        /// *ratio selection*. The best.
        #[default]
        Ratio = 4 "ratio",
    }
}

/// A Bloom filter without certain false positives, at the cost of some false negatives.
///
/// ```
/// use gardenia::filter::Clearing;
/// use gardenia::{Bloom, RetouchedBloom};
/// let members: Vec<u32> = (0..1_000).collect();
/// let mut bloom = Bloom::builder().bits(6_000).hashes(4).build()?;
/// bloom.extend(&members);
/// let trouble: Vec<u32> = (1_000..10_000).filter(|key| bloom.contains(key)).collect();
/// let retouched = RetouchedBloom::selective(bloom, &members, &trouble, Clearing::Ratio, 1)?;
/// assert!(trouble.iter().all(|key| !retouched.contains(key)));
/// assert!(retouched.lost() > 0 && retouched.lost() < 800); // elements that are no longer found
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// It takes no more keys:
///
/// ```compile_fail
/// let bloom = gardenia::Bloom::new(10, 0.1).unwrap();
/// gardenia::RetouchedBloom::random(bloom, 1, 0).insert("rose");
/// ```
#[derive(Clone)]
pub struct RetouchedBloom<M = Owned> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    bits: Bits<M>,
    tally: Tally,
    about: About,
}

/// What clearing did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    cleared: u64,
    elements: u64,
    lost: u64,
}

impl RetouchedBloom {
    /// Clears `count` set bits drawn at random (all, if there are fewer): *randomised bit
    /// clearing*. The share of false positives that goes is the share of elements that is lost.
    ///
    /// ```
    /// let mut filter = gardenia::Bloom::new(100, 0.1)?;
    /// filter.extend(0..100);
    /// let fpp = filter.fpp();
    /// let retouched = gardenia::RetouchedBloom::random(filter, 20, 7);
    /// assert!(retouched.cleared() == 20 && retouched.fpp() < fpp);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn random<S: NumberedScheme>(bed: Bloom<S>, count: u64, seed: u64) -> Self {
        let mut filter = Self::of(bed);
        // Selection sampling: each set bit goes with probability (still to go)/(still to come).
        let mut left = filter.bits.count_ones();
        let (mut go, mut draws) = (count.min(left), Draws::new(seed));
        filter.tally.cleared = go;
        for at in 0..filter.bits.len() {
            if go > 0 && filter.bits.get(at) {
                if draws.below(left) < go {
                    filter.bits.clear_bit(at);
                    go -= 1;
                }
                left -= 1;
            }
        }
        filter
    }

    /// Clears one bit of each of the `troublesome` keys that the filter still finds when their turn
    /// comes. The `elements` are the keys that went in: they decide which bit, and tell how many
    /// are lost.
    pub fn selective<S: NumberedScheme, K: Key, T: Key>(
        bed: Bloom<S>,
        elements: &[K],
        troublesome: &[T],
        clearing: Clearing,
        seed: u64,
    ) -> Result<Self, SizeError> {
        let hasher = bed.hasher().clone();
        let elements: Vec<Digest> = elements.iter().map(|key| hasher.digest_key(key)).collect();
        let troublesome: Vec<Digest> = troublesome.iter().map(|key| hasher.digest_key(key)).collect();
        Self::selective_digests(bed, &elements, &troublesome, clearing, seed)
    }

    /// [`selective`](Self::selective) of keys with these digests.
    pub fn selective_digests<S: NumberedScheme>(
        bed: Bloom<S>,
        elements: &[Digest],
        troublesome: &[Digest],
        clearing: Clearing,
        seed: u64,
    ) -> Result<Self, SizeError> {
        let mut filter = Self::of(bed);
        let (of_elements, of_trouble) = (filter.counts(elements)?, filter.counts(troublesome)?);
        let mut draws = Draws::new(seed);
        for digest in troublesome {
            let mut row = [0; MAX_HASHES as usize];
            let row = filter.distinct(*digest, &mut row);
            if !row.iter().all(|at| filter.bits.get(*at)) {
                continue; // not a false positive, or gone with an earlier one
            }
            // The least of these; of several the first, after one of them at random.
            let first = draws.below(row.len() as u64) as usize;
            let price = |at: &u64| {
                let (a, b) = (of_elements[*at as usize], of_trouble[*at as usize]);
                match clearing {
                    Clearing::Random => (0, 1),
                    Clearing::FewestElements => (a, 1),
                    Clearing::MostTroublesome => (u32::MAX - b, 1),
                    Clearing::Ratio => (a, b),
                }
            };
            // a/b < c/d as a·d < c·b: b is 1 at least, the key itself.
            let cheaper = |(a, b): (u32, u32), (c, d): (u32, u32)| {
                u64::from(a) * u64::from(d) < u64::from(c) * u64::from(b)
            };
            let mut best = row[first];
            for at in row.iter() {
                if cheaper(price(at), price(&best)) {
                    best = *at;
                }
            }
            filter.bits.clear_bit(best);
            filter.tally.cleared += 1;
        }
        filter.tally.elements = elements.len() as u64;
        filter.tally.lost = elements.iter().filter(|digest| !filter.contains_digest(**digest)).count() as u64;
        Ok(filter)
    }

    /// The filter before anything is cleared.
    fn of<S: NumberedScheme>(bed: Bloom<S>) -> Self {
        let (hasher, scheme, bits, about) = bed.into_parts();
        // A numbered scheme has a number.
        let scheme = AnyScheme::new(scheme.id().unwrap_or_default(), scheme.hashes());
        Self { hasher, scheme, bits, tally: Tally::default(), about }
    }

    /// How many of the keys have each bit; a key that has it twice counts once.
    fn counts(&self, keys: &[Digest]) -> Result<Vec<u32>, SizeError> {
        let (mut counts, bits) = (Vec::new(), self.bits.len() as usize);
        let failed = |_| SizeError::Memory { bytes: self.bits.len().saturating_mul(4) };
        counts.try_reserve_exact(bits).map_err(failed)?;
        counts.resize(bits, 0u32);
        for digest in keys {
            let mut row = [0; MAX_HASHES as usize];
            self.distinct(*digest, &mut row).iter().for_each(|at| {
                let count = &mut counts[*at as usize];
                *count = count.saturating_add(1);
            });
        }
        Ok(counts)
    }
}

/// Random numbers from a seed.
struct Draws {
    seed: u64,
    drawn: u32,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A number below `range`.
    fn below(&mut self, range: u64) -> u64 {
        self.drawn = self.drawn.wrapping_add(1);
        if self.drawn == 0 {
            self.seed = Digest(self.seed).word(1); // after four billion: another stream
        }
        crate::index::scale(Digest(self.seed).word(self.drawn), range)
    }
}

impl<M: Memory> RetouchedBloom<M> {
    /// Whether `key` may be present. False for keys that were removed, and for elements that went
    /// with them.
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

    /// The different positions of a key.
    fn distinct<'a>(&self, digest: Digest, room: &'a mut [u64; MAX_HASHES as usize]) -> &'a [u64] {
        let mut filled = 0;
        for at in self.scheme.positions(digest, self.bits.len()) {
            if !room[..filled].contains(&at) {
                room[filled] = at;
                filled += 1;
            }
        }
        &room[..filled]
    }

    bit_filter_facts!();

    /// Probes per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// Bits that were cleared.
    #[must_use]
    pub fn cleared(&self) -> u64 {
        self.tally.cleared
    }

    /// Elements that were there while clearing; 0 after [`random`](Self::random), which asks for
    /// none.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.tally.elements
    }

    /// Elements of these that are no longer found: the false negatives.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.tally.lost
    }

    /// The share of elements that are not found: counted while clearing selectively, expected after
    /// clearing at random.
    #[must_use]
    pub fn false_negatives(&self) -> f64 {
        let Tally { cleared, elements, lost } = self.tally;
        match elements {
            0 => crate::theory::retouched::lost(self.bits.count_ones() + cleared, cleared, self.hashes()),
            _ => lost as f64 / elements as f64,
        }
    }

    /// The false-positive probability of a key that nobody removed, from the fill and scheme.
    /// Cells of small filters are counted, as in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        stated_fpp(&self.scheme, (self.bits.len(), self.bits.count_ones()), 1, |at| self.bits.get(at))
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Retouched,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.bits.len(),
            width: 1,
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<RetouchedBloom, SizeError> {
        let mut bits = Bits::new(self.bits.len())?;
        bits.combine(&self.bits, |_, b| b);
        let Self { hasher, scheme, tally, about, .. } = self;
        Ok(RetouchedBloom {
            hasher: hasher.clone(),
            scheme: *scheme,
            bits,
            tally: *tally,
            about: about.clone(),
        })
    }
}

impl<M: Memory> fmt::Debug for RetouchedBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hasher, scheme, bits) = (&self.hasher, &self.scheme, &self.bits);
        let debug = &mut f.debug_struct("RetouchedBloom");
        debug.field("hasher", hasher).field("scheme", scheme).field("bits", bits);
        debug.field("tally", &self.tally).finish()
    }
}

/// Equal in identity and bits: the same answer to every key.
impl<M: Memory, N: Memory> PartialEq<RetouchedBloom<N>> for RetouchedBloom<M> {
    fn eq(&self, other: &RetouchedBloom<N>) -> bool {
        self.identity() == other.identity() && self.bits == other.bits
    }
}

crate::explain::look_at_bits!([M: Memory] RetouchedBloom<M>, bits);

filter_impl!([M: Memory] RetouchedBloom<M>);

impl<M: Memory> Stored for RetouchedBloom<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        let Tally { cleared, elements, lost } = self.tally;
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(header.with_params(&[cleared, elements, lost]))
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.bits.memory()]
    }
}

/// The parts of a stored filter other than its bits, checked.
fn restore(
    header: &Header,
    options: &ReadOptions,
) -> Result<(KeyHasher, AnyScheme, Tally, About), DecodeError> {
    header.check_kind(Kind::Retouched)?;
    header.check_width(1)?;
    header.check_payload(header.identity.cells.div_ceil(64) * 8)?;
    let scheme = header.scheme()?;
    let [cleared, elements, lost] = header.param_words()?;
    DecodeError::check("cleared", cleared, cleared <= header.identity.cells, "there are fewer bits")?;
    DecodeError::check("lost", lost, lost <= elements, "there are fewer elements")?;
    let tally = Tally { cleared, elements, lost };
    Ok((header.hasher(options)?, scheme, tally, header.about()))
}

impl<M: Memory> RetouchedBloom<M> {
    fn check_tail(&self) -> Result<(), DecodeError> {
        let clear = self.bits.tail_is_clear();
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

impl format::Restore for RetouchedBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, scheme, tally, about) = restore(header, options)?;
        Ok(Self { hasher, scheme, bits: Bits::new(header.identity.cells)?, tally, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.bits.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for RetouchedBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, scheme, tally, about) = restore(header, options)?;
        let bits = Bits::borrowed(payload, header.identity.cells)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        let filter = Self { hasher, scheme, bits, tally, about };
        filter.check_tail()?;
        Ok(filter)
    }
}

format::stored_methods!(RetouchedBloom<M> where M: Memory);
format::read_methods!(RetouchedBloom);
format::serde_impls!([M: Memory] RetouchedBloom<M>, [] RetouchedBloom);

/// Figures as the Bloom filter that it is made from.
impl FromSpec for RetouchedBloom {
    /// Which keys are in the way is no matter of a plan.
    fn designs(_: Kind, _: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        Vec::new()
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        spec.default_to(Param::Clearing, Value::Word(Clearing::default().name()));
        // Without a number of keys the size waits for them.
        if spec.has(Param::Items) || spec.has(Param::Hashes) {
            Bloom::<AnyScheme>::fill_in(spec)
        } else {
            Ok(())
        }
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        if !spec.has(Param::Hashes) {
            spec.expected_items()?;
        }
        let bloom = Bloom::<AnyScheme>::measure(spec)?;
        Ok(Measure { params: 24, ..bloom })
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Bits), fpp, confidence))
    }
    /// Without false positives to clear: see [`Spec::build_retouched`].
    fn from_digests(spec: &Spec, digests: Vec<Digest>, _: &mut Watch<'_>) -> Result<Self, BuildError> {
        spec.retouched(&digests, &[])
    }
    /// Beside its bits, how many keys of either sort have each of them.
    fn working_bytes(spec: &Spec, _: u64) -> u64 {
        spec.whole(Param::Bits).unwrap_or(0).saturating_mul(9)
    }
}

impl Spec {
    /// The filter of these keys that does not find the `spared` ones, of the kind
    /// [`Retouched`](crate::Kind::Retouched).
    ///
    /// ```
    /// use gardenia::{Digest, Filter, Spec};
    /// let keys: Vec<Digest> = (1..=100).map(|i| Digest(Digest(7).word(i))).collect();
    /// let spared: Vec<Digest> = (101..=900).map(|i| Digest(Digest(7).word(i))).collect();
    /// let filter = "retouched fpp=10%".parse::<Spec>()?.build_retouched(&keys, &spared)?;
    /// assert!(spared.iter().all(|key| !filter.contains_digest(*key)));
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn build_retouched(
        &self,
        digests: &[Digest],
        spared: &[Digest],
    ) -> Result<RetouchedBloom, SpecError> {
        if self.kind() != Kind::Retouched {
            return Err(
                SizeError::Conflict("a filter of this kind spares no keys: use the kind retouched").into()
            );
        }
        let sized = self.has(Param::Items) || self.has(Param::Hashes);
        let spec = if sized { self.clone() } else { self.clone().items((digests.len() as u64).max(1)) };
        Ok(spec.filled()?.retouched(digests, spared)?)
    }

    fn retouched(&self, digests: &[Digest], spared: &[Digest]) -> Result<RetouchedBloom, BuildError> {
        let how = self.word(Param::Clearing).and_then(Clearing::from_name).unwrap_or_default();
        let mut bloom = Bloom::<AnyScheme>::empty(self)?;
        let mut new = alloc::vec![false; digests.len()];
        bloom.insert_digests(digests, &mut new);
        let seed = self.whole(Param::Seed).unwrap_or(0);
        Ok(RetouchedBloom::selective_digests(bloom, digests, spared, how, seed)?)
    }
}
