//! A filter whose kind is learnt at run time.

use crate::cells::{Bytes, Memory, Owned};
use crate::filter::{
    A2Bloom, About, BinaryFuse, BitwiseBloom, BlockedBloom, Bloom, Bloomier, ChoiceBloom, ChoiceForm,
    CompressedBloom, CountMin, CountingBloom, Cuckoo, DynamicBloom, GolombSet, Identity, MutableBloomier,
    Policy, PolicyId, RetouchedBloom, Ribbon, ScalableBloom, SpectralBloom, StableBloom,
};
use crate::filter::{attach_compressed, is_mutable};
use crate::format::{self, Cut, Header, Kind, Section, Stored};
use crate::hash::{Digest, KeyHasher};
use crate::index::AnyScheme;
use crate::theory::bloom::Estimate;
use crate::{
    Count, DecodeError, EncodeError, Filter, InsertError, Merge, Mismatch, ReadOptions, RemoveError,
};
use alloc::vec::Vec;

/// Any kind of filter, as files, the command line and engines hold it. The compiler lists every place that
/// a new kind touches.
///
/// ```
/// use gardenia::{AnyFilter, Bloom, Filter};
/// let mut bed = Bloom::new(100, 0.01)?;
/// bed.insert("rose");
/// let any = AnyFilter::from_slice(&bed.to_vec().unwrap()).unwrap();
/// assert!(any.contains_digest(any.digest(b"rose")));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum AnyFilter<M = Owned> {
    /// A Bloom filter of any scheme.
    Bloom(Bloom<AnyScheme, M>),
    /// A blocked Bloom filter.
    Blocked(BlockedBloom<M>),
    /// A counting Bloom filter.
    Counting(CountingBloom<M>),
    /// A bitwise Bloom filter.
    Bitwise(BitwiseBloom<M>),
    /// A spectral Bloom filter by any algorithm.
    Spectral(SpectralBloom<PolicyId, M>),
    /// A stable Bloom filter.
    Stable(StableBloom<M>),
    /// An A² filter.
    A2(A2Bloom<M>),
    /// A Bloom filter with choices, of any scheme.
    Choice(ChoiceBloom<AnyScheme, M>),
    /// A Count-Min sketch.
    CountMin(CountMin<M>),
    /// A retouched Bloom filter.
    Retouched(RetouchedBloom<M>),
    /// A dynamic Bloom filter.
    Dynamic(DynamicBloom<M>),
    /// A scalable Bloom filter.
    Scalable(ScalableBloom<M>),
    /// A cuckoo filter.
    Cuckoo(Cuckoo<M>),
    /// A compressed Bloom filter of any scheme; in own memory also where others are borrowed.
    Compressed(CompressedBloom<AnyScheme>),
    /// A Golomb-coded set.
    GolombSet(GolombSet<M>),
    /// A Bloomier filter: a static map, of which it is asked whether a key is in.
    Bloomier(Bloomier<M>),
    /// A Bloomier filter whose values can be changed.
    MutableBloomier(MutableBloomier<M>),
    /// A binary fuse filter.
    BinaryFuse(BinaryFuse<M>),
    /// A ribbon filter.
    Ribbon(Ribbon<M>),
}

/// Does the same with the filter of every kind. The one place that lists them.
macro_rules! each {
    ($any:expr, $filter:ident => $work:expr) => {
        match $any {
            AnyFilter::Bloom($filter) => $work,
            AnyFilter::Blocked($filter) => $work,
            AnyFilter::Counting($filter) => $work,
            AnyFilter::Bitwise($filter) => $work,
            AnyFilter::Spectral($filter) => $work,
            AnyFilter::Stable($filter) => $work,
            AnyFilter::A2($filter) => $work,
            AnyFilter::Choice($filter) => $work,
            AnyFilter::CountMin($filter) => $work,
            AnyFilter::Retouched($filter) => $work,
            AnyFilter::Dynamic($filter) => $work,
            AnyFilter::Scalable($filter) => $work,
            AnyFilter::Cuckoo($filter) => $work,
            AnyFilter::Compressed($filter) => $work,
            AnyFilter::GolombSet($filter) => $work,
            AnyFilter::Bloomier($filter) => $work,
            AnyFilter::MutableBloomier($filter) => $work,
            AnyFilter::BinaryFuse($filter) => $work,
            AnyFilter::Ribbon($filter) => $work,
        }
    };
}

impl AnyFilter {
    /// Adds the keys with these digests in order, and tells of each whether it was certainly absent (or, by filters
    /// that forget, forgotten). Filters that are made of all their keys at once take no more.
    ///
    /// ```
    /// use gardenia::{AnyFilter, Bloom, Digest, InsertError, RetouchedBloom};
    /// let mut any = AnyFilter::from(RetouchedBloom::random(Bloom::new(10, 0.1)?, 1, 0));
    /// assert_eq!(any.insert_digests(&[Digest(1)], &mut [false]), Err(InsertError::Fixed));
    /// assert!(!any.inserts());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<(), InsertError> {
        match self {
            Self::Bloom(filter) => filter.insert_digests(digests, new),
            Self::Blocked(filter) => filter.insert_digests(digests, new),
            Self::Counting(filter) => filter.insert_digests(digests, new),
            Self::Bitwise(filter) => filter.insert_digests(digests, new),
            Self::Spectral(filter) => filter.insert_digests(digests, new),
            Self::Stable(filter) => filter.insert_digests(digests, new),
            Self::A2(filter) => filter.insert_digests(digests, new),
            Self::Choice(filter) => filter.insert_digests(digests, new),
            Self::CountMin(sketch) => sketch.insert_digests(digests, new),
            Self::Dynamic(filter) => {
                return filter.insert_digests(digests, new).map_err(|full| filter.refusal(full));
            }
            Self::Scalable(filter) => {
                return filter.insert_digests(digests, new).map_err(|full| filter.refusal(full));
            }
            Self::Cuckoo(filter) => return Ok(filter.insert_digests(digests, new)?),
            Self::Compressed(filter) => filter.insert_digests(digests, new),
            Self::Retouched(_)
            | Self::Ribbon(_)
            | Self::BinaryFuse(_)
            | Self::Bloomier(_)
            | Self::MutableBloomier(_)
            | Self::GolombSet(_) => return Err(InsertError::Fixed),
        }
        Ok(())
    }

    /// As [`insert_digests`](Self::insert_digests), but where the filter holds no further copy of a key
    /// ([`Full::copies`](crate::Full::copies)), leaves that copy out and goes on: how many were left out.
    ///
    /// A copy that was left out cannot be removed. Of filters that hold any number of copies none is.
    ///
    /// ```
    /// use gardenia::{AnyFilter, CountingBloom, Cuckoo, Digest};
    /// for (filter, left_out) in [
    ///     (AnyFilter::from(Cuckoo::new(1_000, 0.01)?), 2),
    ///     (AnyFilter::from(CountingBloom::new(1_000, 0.01)?), 0),
    /// ] {
    ///     let mut filter = filter;
    ///     assert_eq!(filter.insert_digests_capped(&[Digest(7); 10], &mut [false; 10]), Ok(left_out));
    /// }
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests_capped(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
    ) -> Result<u64, InsertError> {
        match self {
            Self::Cuckoo(filter) => Ok(filter.insert_digests_capped(digests, new)?),
            filter => filter.insert_digests(digests, new).map(|()| 0),
        }
    }

    /// Takes the key with this digest out once; `None` if this filter cannot.
    ///
    /// ```
    /// use gardenia::{AnyFilter, Bloom, CountingBloom, Filter};
    /// let mut bed = CountingBloom::new(100, 0.01)?;
    /// bed.insert("rose");
    /// let mut any = AnyFilter::from(bed);
    /// let digest = any.digest(b"rose");
    /// assert_eq!(any.as_count().unwrap().count_digest(digest), 1);
    /// assert_eq!(any.remove_digest(digest), Some(Ok(())));
    /// assert!(any.removes() && !any.contains_digest(digest));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn remove_digest(&mut self, digest: Digest) -> Option<Result<(), RemoveError>> {
        match self {
            Self::Counting(filter) => Some(filter.remove_digest(digest)),
            Self::Dynamic(filter) => Some(filter.remove_digest(digest)),
            Self::Cuckoo(filter) => Some(filter.remove_digest(digest)),
            Self::Spectral(filter) => filter.try_remove_digest(digest),
            _ => None,
        }
    }

    /// Takes in the keys of `other`: all keys of both are found afterwards, and counts add up. `None` if filters of this
    /// kind cannot be united ([`merges`](Self::merges)); an error tells what differs, and nothing has changed then.
    ///
    /// ```
    /// use gardenia::{AnyFilter, CountingBloom, Filter};
    /// let (mut a, mut b) = (CountingBloom::new(10, 0.01)?, CountingBloom::new(10, 0.01)?);
    /// a.insert("rose");
    /// b.insert("rose");
    /// let (mut both, other) = (AnyFilter::from(a), AnyFilter::from(b));
    /// assert!(both.merge(&other).unwrap().is_ok());
    /// assert_eq!(both.as_count().unwrap().count_digest(both.digest(b"rose")), 2);
    /// let small = AnyFilter::from(CountingBloom::new(5, 0.01)?);
    /// assert_eq!(both.merge(&small).unwrap().unwrap_err().what, "cells");
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        if !self.merges() {
            return None;
        }
        Some(match (&mut *self, other) {
            (Self::Bloom(ours), Self::Bloom(theirs)) => ours.merge(theirs),
            (Self::Blocked(ours), Self::Blocked(theirs)) => ours.merge(theirs),
            (Self::Counting(ours), Self::Counting(theirs)) => ours.merge(theirs),
            (Self::Choice(ours), Self::Choice(theirs)) => ours.union(theirs),
            (Self::CountMin(ours), Self::CountMin(theirs)) => ours.merge(theirs),
            (Self::Compressed(ours), Self::Compressed(theirs)) => ours.merge(theirs),
            (Self::Spectral(ours), Self::Spectral(theirs)) => return ours.try_merge(theirs),
            (ours, theirs) => ours.identity().check(&theirs.identity()),
        })
    }

    /// Keeps the bits that `other` has too: every key of both is still found, at a rate of false positives above that
    /// of a filter of the common keys. `None` if filters of this kind cannot be intersected; an error tells what
    /// differs, and nothing has changed then.
    ///
    /// ```
    /// use gardenia::{AnyFilter, BlockedBloom, Filter};
    /// let (mut a, mut b) = (BlockedBloom::new(10, 1e-6)?, BlockedBloom::new(10, 1e-6)?);
    /// a.insert_many(&["rose", "tulip"]);
    /// b.insert_many(&["rose", "lily"]);
    /// let mut common = AnyFilter::from(a);
    /// assert!(common.intersect(&AnyFilter::from(b)).unwrap().is_ok());
    /// let found = ["rose", "tulip", "lily"].map(|key| common.contains_digest(common.digest(key.as_bytes())));
    /// assert_eq!(found, [true, false, false]);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn intersect(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        Some(match (&mut *self, other) {
            (Self::Bloom(ours), Self::Bloom(theirs)) => ours.intersection(theirs),
            (Self::Blocked(ours), Self::Blocked(theirs)) => ours.intersection(theirs),
            (Self::Compressed(ours), Self::Compressed(theirs)) => ours.intersection(theirs),
            (ours @ (Self::Bloom(_) | Self::Blocked(_) | Self::Compressed(_)), theirs) => {
                ours.identity().check(&theirs.identity())
            }
            _ => return None,
        })
    }

    /// What the filter was made for, to be changed.
    pub fn about_mut(&mut self) -> &mut About {
        each!(self, f => f.about_mut())
    }
}

impl<M> From<Bloom<AnyScheme, M>> for AnyFilter<M> {
    fn from(filter: Bloom<AnyScheme, M>) -> Self {
        Self::Bloom(filter)
    }
}

impl<M> From<BlockedBloom<M>> for AnyFilter<M> {
    fn from(filter: BlockedBloom<M>) -> Self {
        Self::Blocked(filter)
    }
}

impl<M> From<CountingBloom<M>> for AnyFilter<M> {
    fn from(filter: CountingBloom<M>) -> Self {
        Self::Counting(filter)
    }
}

impl<M> From<BitwiseBloom<M>> for AnyFilter<M> {
    fn from(filter: BitwiseBloom<M>) -> Self {
        Self::Bitwise(filter)
    }
}

impl<P: Policy, M: Memory> From<SpectralBloom<P, M>> for AnyFilter<M> {
    fn from(filter: SpectralBloom<P, M>) -> Self {
        Self::Spectral(filter.into_any())
    }
}

impl<M> From<StableBloom<M>> for AnyFilter<M> {
    fn from(filter: StableBloom<M>) -> Self {
        Self::Stable(filter)
    }
}

impl<M> From<A2Bloom<M>> for AnyFilter<M> {
    fn from(filter: A2Bloom<M>) -> Self {
        Self::A2(filter)
    }
}

impl<M> From<ChoiceBloom<AnyScheme, M>> for AnyFilter<M> {
    fn from(filter: ChoiceBloom<AnyScheme, M>) -> Self {
        Self::Choice(filter)
    }
}

impl<M> From<CountMin<M>> for AnyFilter<M> {
    fn from(sketch: CountMin<M>) -> Self {
        Self::CountMin(sketch)
    }
}

impl<M> From<RetouchedBloom<M>> for AnyFilter<M> {
    fn from(filter: RetouchedBloom<M>) -> Self {
        Self::Retouched(filter)
    }
}

impl<M> From<Ribbon<M>> for AnyFilter<M> {
    fn from(filter: Ribbon<M>) -> Self {
        Self::Ribbon(filter)
    }
}

impl<M> From<BinaryFuse<M>> for AnyFilter<M> {
    fn from(filter: BinaryFuse<M>) -> Self {
        Self::BinaryFuse(filter)
    }
}

impl<M> From<Bloomier<M>> for AnyFilter<M> {
    fn from(filter: Bloomier<M>) -> Self {
        Self::Bloomier(filter)
    }
}

impl<M> From<MutableBloomier<M>> for AnyFilter<M> {
    fn from(filter: MutableBloomier<M>) -> Self {
        Self::MutableBloomier(filter)
    }
}

impl<M> From<GolombSet<M>> for AnyFilter<M> {
    fn from(filter: GolombSet<M>) -> Self {
        Self::GolombSet(filter)
    }
}

impl<M> From<CompressedBloom<AnyScheme>> for AnyFilter<M> {
    fn from(filter: CompressedBloom<AnyScheme>) -> Self {
        Self::Compressed(filter)
    }
}

impl<M> From<Cuckoo<M>> for AnyFilter<M> {
    fn from(filter: Cuckoo<M>) -> Self {
        Self::Cuckoo(filter)
    }
}

impl<M> From<ScalableBloom<M>> for AnyFilter<M> {
    fn from(filter: ScalableBloom<M>) -> Self {
        Self::Scalable(filter)
    }
}

impl<M> From<DynamicBloom<M>> for AnyFilter<M> {
    fn from(filter: DynamicBloom<M>) -> Self {
        Self::Dynamic(filter)
    }
}

impl<M: Memory> AnyFilter<M> {
    /// Kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.identity().kind
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        each!(self, f => f.identity())
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        each!(self, f => f.hasher())
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        each!(self, f => f.about())
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        each!(self, f => f.fill())
    }

    /// The false-positive probability as the filter is now.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        each!(self, f => f.fpp())
    }

    /// How many different keys are in, estimated; `None` if this kind of filter cannot tell.
    #[must_use]
    pub fn estimated_items(&self) -> Option<Estimate> {
        match self {
            Self::Bloom(filter) => Some(filter.estimated_items()),
            Self::Blocked(filter) => Some(filter.estimated_items()),
            Self::Counting(filter) => Some(filter.estimated_items()),
            Self::Spectral(filter) => Some(filter.estimated_items()),
            Self::A2(filter) => Some(filter.estimated_items()),
            Self::Choice(filter) => Some(filter.estimated_items()),
            Self::CountMin(sketch) => Some(sketch.estimated_items()),
            Self::Dynamic(filter) => Some(filter.estimated_items()),
            Self::Scalable(filter) => Some(filter.estimated_items()),
            Self::Cuckoo(filter) => Some(filter.estimated_items()),
            Self::Compressed(filter) => Some(filter.estimated_items()),
            Self::GolombSet(filter) => Some(filter.estimated_items()),
            Self::Bloomier(filter) => Some(filter.estimated_items()),
            Self::MutableBloomier(filter) => Some(filter.estimated_items()),
            Self::BinaryFuse(filter) => Some(filter.estimated_items()),
            Self::Ribbon(filter) => Some(filter.estimated_items()),
            Self::Retouched(_) => None, // bits were cleared
            Self::Stable(_) => None,    // it forgets keys little by little
            Self::Bitwise(_) => None,   // a key has no digit, and so no cell, wherever its count has a zero
        }
    }

    /// The filter as one that counts; `None` if this kind does not.
    #[must_use]
    pub fn as_count(&self) -> Option<&dyn Count> {
        match self {
            Self::Counting(filter) => Some(filter),
            Self::Bitwise(filter) => Some(filter),
            Self::Spectral(filter) => Some(filter),
            Self::CountMin(sketch) => Some(sketch),
            Self::Dynamic(filter) => Some(filter),
            Self::Cuckoo(filter) => Some(filter),
            _ => None,
        }
    }

    /// Whether keys can be put in one by one, and not only all at once.
    #[must_use]
    pub fn inserts(&self) -> bool {
        !matches!(
            self,
            Self::Retouched(_)
                | Self::Ribbon(_)
                | Self::BinaryFuse(_)
                | Self::Bloomier(_)
                | Self::MutableBloomier(_)
                | Self::GolombSet(_)
        )
    }

    /// Whether keys can be taken out.
    #[must_use]
    pub fn removes(&self) -> bool {
        match self {
            Self::Counting(_) => true,
            Self::Dynamic(_) => true,
            Self::Cuckoo(_) => true,
            Self::Spectral(filter) => filter.policy() != PolicyId::MinimumIncrease,
            _ => false,
        }
    }

    /// Whether each copy of a key takes room of its own, as a further key would. Make room for all keys that are
    /// inserted then, not for the distinct ones.
    ///
    /// ```
    /// use gardenia::{AnyFilter, CountingBloom, Cuckoo};
    /// assert!(AnyFilter::from(Cuckoo::new(10, 0.01)?).copies_take_room());
    /// assert!(!AnyFilter::from(CountingBloom::new(10, 0.01)?).copies_take_room());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn copies_take_room(&self) -> bool {
        matches!(self, Self::Cuckoo(_) | Self::Dynamic(_))
    }

    /// Whether filters of this kind can be united.
    #[must_use]
    pub fn merges(&self) -> bool {
        match self {
            Self::Bloom(_) | Self::Blocked(_) | Self::Counting(_) => true,
            Self::CountMin(_) | Self::Compressed(_) => true,
            Self::Choice(filter) => matches!(filter.form(), ChoiceForm::Groups { .. }),
            Self::Spectral(filter) => filter.policy() != PolicyId::RecurringMinimum,
            _ => false,
        }
    }

    /// Bytes of memory that the cells take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        each!(self, f => f.memory_bytes())
    }

    /// Checks what must hold of the cells beside the checksums, for filters that are viewed or mapped and not loaded: so far
    /// that no slice of a scalable filter claims more keys than it has bits set. Reads all of them.
    ///
    /// ```
    /// use gardenia::{AnyFilter, ScalableBloom};
    /// let bytes = ScalableBloom::new(0.01)?.to_vec().unwrap();
    /// assert!(AnyFilter::view(&bytes).unwrap().check_cells().is_ok());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn check_cells(&self) -> Result<(), DecodeError> {
        match self {
            Self::Scalable(filter) => filter.check_cells(),
            _ => Ok(()),
        }
    }
}

impl<M: Memory> core::fmt::Debug for AnyFilter<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        each!(self, filter => filter.fmt(f))
    }
}

impl<M: Memory> Filter for AnyFilter<M> {
    fn digest(&self, key: &[u8]) -> Digest {
        self.hasher().digest(key)
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        each!(self, f => f.contains_digest(digest))
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        each!(self, f => f.contains_digests(digests, out));
    }
}

impl<M: Memory> Stored for AnyFilter<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        each!(self, f => f.header())
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        each!(self, f => f.sections())
    }
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        each!(self, f => f.payload())
    }
}

/// A kind that is stored in the same way but answers other questions: it is read by its own type.
fn no_filter(header: &Header) -> DecodeError {
    DecodeError::Kind { expected: "one that can be asked for keys", found: header.identity.kind.name() }
}

impl format::Restore for AnyFilter {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        Ok(match header.identity.kind {
            Kind::Bloom => Self::Bloom(format::Restore::restore(header, options)?),
            Kind::Blocked => Self::Blocked(format::Restore::restore(header, options)?),
            Kind::Counting => Self::Counting(format::Restore::restore(header, options)?),
            Kind::Bitwise => Self::Bitwise(format::Restore::restore(header, options)?),
            Kind::Spectral => Self::Spectral(format::Restore::restore(header, options)?),
            Kind::Stable => Self::Stable(format::Restore::restore(header, options)?),
            Kind::A2 => Self::A2(format::Restore::restore(header, options)?),
            Kind::Choice => Self::Choice(format::Restore::restore(header, options)?),
            Kind::CountMin => Self::CountMin(format::Restore::restore(header, options)?),
            Kind::Retouched => Self::Retouched(format::Restore::restore(header, options)?),
            Kind::Dynamic => Self::Dynamic(format::Restore::restore(header, options)?),
            Kind::Scalable => Self::Scalable(format::Restore::restore(header, options)?),
            Kind::Cuckoo => Self::Cuckoo(format::Restore::restore(header, options)?),
            Kind::Compressed => Self::Compressed(format::Restore::restore(header, options)?),
            Kind::GolombSet => Self::GolombSet(format::Restore::restore(header, options)?),
            Kind::Bloomier if is_mutable(header) => {
                Self::MutableBloomier(format::Restore::restore(header, options)?)
            }
            Kind::Bloomier => Self::Bloomier(format::Restore::restore(header, options)?),
            Kind::BinaryFuse => Self::BinaryFuse(format::Restore::restore(header, options)?),
            Kind::Ribbon => Self::Ribbon(format::Restore::restore(header, options)?),
            Kind::CountSketch | Kind::DistanceSensitive => return Err(no_filter(header)),
        })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        each!(self, f => f.sections_mut())
    }
    fn check(&self) -> Result<(), DecodeError> {
        each!(self, f => f.check())
    }
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        match header.identity.kind {
            Kind::Spectral => Ok(Self::Spectral(format::Restore::read(header, options, fill)?)),
            Kind::Compressed => Ok(Self::Compressed(format::Restore::read(header, options, fill)?)),
            _ => format::read_in_place(header, options, fill),
        }
    }
}

impl<B: Cut> format::Attach<B> for AnyFilter<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        Ok(match header.identity.kind {
            Kind::Bloom => Self::Bloom(format::Attach::attach(header, options, payload)?),
            Kind::Blocked => Self::Blocked(format::Attach::attach(header, options, payload)?),
            Kind::Counting => Self::Counting(format::Attach::attach(header, options, payload)?),
            Kind::Bitwise => Self::Bitwise(format::Attach::attach(header, options, payload)?),
            Kind::Spectral => Self::Spectral(format::Attach::attach(header, options, payload)?),
            Kind::Stable => Self::Stable(format::Attach::attach(header, options, payload)?),
            Kind::A2 => Self::A2(format::Attach::attach(header, options, payload)?),
            Kind::Choice => Self::Choice(format::Attach::attach(header, options, payload)?),
            Kind::CountMin => Self::CountMin(format::Attach::attach(header, options, payload)?),
            Kind::Retouched => Self::Retouched(format::Attach::attach(header, options, payload)?),
            Kind::Dynamic => Self::Dynamic(format::Attach::attach(header, options, payload)?),
            Kind::Scalable => Self::Scalable(format::Attach::attach(header, options, payload)?),
            Kind::Cuckoo => Self::Cuckoo(format::Attach::attach(header, options, payload)?),
            Kind::Compressed => Self::Compressed(attach_compressed(header, options, payload.as_ref())?),
            Kind::GolombSet => Self::GolombSet(format::Attach::attach(header, options, payload)?),
            Kind::Bloomier if is_mutable(header) => {
                Self::MutableBloomier(format::Attach::attach(header, options, payload)?)
            }
            Kind::Bloomier => Self::Bloomier(format::Attach::attach(header, options, payload)?),
            Kind::BinaryFuse => Self::BinaryFuse(format::Attach::attach(header, options, payload)?),
            Kind::Ribbon => Self::Ribbon(format::Attach::attach(header, options, payload)?),
            Kind::CountSketch | Kind::DistanceSensitive => return Err(no_filter(header)),
        })
    }
}

format::stored_methods!(AnyFilter<M> where M: Memory);
format::read_methods!(AnyFilter);
