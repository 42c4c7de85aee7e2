//! The distance-sensitive Bloom filter: is this point close to one that went in?
//!
//! k functions look at some samples of a point each, so that close points often agree and far ones
//! hardly ever; each sets a bit of an array of its own. A point gets a vote from each array that
//! has its bit, and is called near if it gets t votes. The arrays must be apart: in a shared one
//! the votes would not be independent. Near points may be missed and far ones called near, both
//! with a probability that is chosen; points between the two distances may be called either.
//!
//! Bit vectors under the Hamming distance are sampled by random coordinates; sets of tokens under
//! the Jaccard distance (one minus the share of common tokens) by least hash values. In both spaces
//! ℓ samples of two points at distance d agree with probability (1 − d)^ℓ.
//!
//! In a keyed filter the sampled coordinates follow from the secret: whoever knew them could turn
//! all other bits of a point, and it would still be called near. Least hash values follow from
//! keyed digests as they are.
//!
//! Sources: Kirsch and Mitzenmacher, "Distance-Sensitive Bloom Filters" (2006); Broder, "On the
//! resemblance and containment of documents" (1997) for the least hash values; Indyk and Motwani
//! (1998) for the coordinates.

use crate::cells::{Bits, Bytes, Memory, Owned};
use crate::error::PointError;
use crate::filter::builder::{Built, ForItems};
use crate::filter::request::bit_filter_facts;
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, HasherId, Key, KeyHasher};
use crate::index::scale;
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::spec::{Param, Spec, Value};
use crate::theory::distance::{DistanceShape, MAX_SAMPLES, alarms, misses, shape};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// What points are, and how far they are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// Vectors of this many bits; the distance is the share of bits that differ.
    Hamming {
        /// Bits of a point.
        dimension: u64,
    },
    /// Sets of tokens; the distance is one minus the share of common tokens.
    Jaccard,
}

impl Space {
    /// The number in files, and the dimension.
    fn numbers(self, hasher: HasherId) -> (u64, u64) {
        match (self, hasher) {
            (Self::Hamming { dimension }, HasherId::Sip13) => (3, dimension),
            (Self::Hamming { dimension }, _) => (1, dimension),
            (Self::Jaccard, _) => (2, 0),
        }
    }

    /// The space with this number, or why there is none.
    fn from_numbers(number: u64, dimension: u64, hasher: HasherId) -> Result<Self, &'static str> {
        let keyed = hasher == HasherId::Sip13;
        match (number, dimension) {
            (1, 1..=MAX_CELLS) if keyed => Err(
                "a keyed filter with it samples bits that follow from the secret's public id: build it again, for space 3",
            ),
            (3, 1..=MAX_CELLS) if !keyed => Err("it is for keyed filters"),
            (1 | 3, 1..=MAX_CELLS) => Ok(Self::Hamming { dimension }),
            (2, 0) => Ok(Self::Jaccard),
            _ => Err("1 and 3 (Hamming, with a dimension of 1 to 2^40) and 2 (Jaccard, without) are known"),
        }
    }

    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hamming { .. } => "Hamming",
            Self::Jaccard => "Jaccard",
        }
    }
}

/// Reports whether a point is close to one that was inserted; neither answer is certain.
///
/// ```
/// use gardenia::DistanceSensitiveBloom;
/// // Up to 100 texts; those that share most of their words are near.
/// let mut seen = DistanceSensitiveBloom::jaccard().items(100).near(0.2).far(0.8).error(0.001).build()?;
/// let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
/// seen.insert_tokens(&words("the rose is red the violet is blue and so are you my dear")).unwrap();
/// assert!(seen.is_near_tokens(&words("the rose is red the violet is blue and so are you dear")).unwrap());
/// assert!(!seen.is_near_tokens(&words("buy cheap watches now at our new shop in town")).unwrap());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct DistanceSensitiveBloom<M = Owned> {
    hasher: KeyHasher,
    space: Space,
    functions: u32,
    samples: u32,
    threshold: u32,
    /// The distances it was made for; 0 and 1 if it was given by its shape.
    near: f64,
    far: f64,
    bits: Bits<M>,
    about: About,
}

#[derive(Clone, Debug)]
pub struct DistanceSensitiveBloomOptions {
    space: Space,
    near: Option<f64>,
    far: Option<f64>,
    error: Option<f64>,
    shape: Option<DistanceShape>,
}

impl Built for DistanceSensitiveBloom {
    type Options = DistanceSensitiveBloomOptions;
}
impl ForItems for DistanceSensitiveBloom {}

impl Builder<DistanceSensitiveBloom> {
    /// Points up to this distance from a stored one are to be called near.
    pub fn near(mut self, distance: f64) -> Self {
        self.options.near = Some(distance);
        self
    }

    /// Points at least this far from all stored ones are not.
    pub fn far(mut self, distance: f64) -> Self {
        self.options.far = Some(distance);
        self
    }

    /// The probability of either error with that many points in the filter; 1 % unless set.
    pub fn error(mut self, error: f64) -> Self {
        self.options.error = Some(error);
        self
    }

    /// Everything by hand, instead. A filter with more than 2^20 samples per point, functions times
    /// samples of each, is read again only with [`ReadOptions::max_samples`].
    pub fn shape(mut self, shape: DistanceShape) -> Self {
        self.options.shape = Some(shape);
        self
    }

    /// The filter.
    pub fn build(self) -> Result<DistanceSensitiveBloom, SizeError> {
        let (number, dimension) = self.options.space.numbers(self.request.hasher.id());
        if Space::from_numbers(number, dimension, self.request.hasher.id()).is_err() {
            return Err(SizeError::Conflict("points have 1 to 2^40 bits"));
        }
        let error = self.options.error.unwrap_or(0.01);
        let (found, near, far, about) =
            match (self.options.shape, self.request.items, self.options.near, self.options.far) {
                (Some(shape), None, None, None) if self.options.error.is_none() => {
                    (shape, 0.0, 1.0, About::default())
                }
                (None, Some(items), Some(near), Some(far)) => {
                    (shape(items, near, far, error)?, near, far, About::planned(items, error))
                }
                _ => return Err(SizeError::Conflict("give items, near and far, or a shape")),
            };
        let DistanceShape { functions, samples, bits, threshold } = found;
        if !(1..=MAX_HASHES).contains(&functions) {
            return Err(SizeError::Hashes { hashes: functions, max: MAX_HASHES });
        }
        if !(1..=MAX_SAMPLES).contains(&samples) || !(1..=functions).contains(&threshold) {
            return Err(SizeError::Conflict("1 to 65536 samples, and a threshold of 1 to all functions"));
        }
        let bits = Bits::new(bits.saturating_mul(functions.into()))?;
        let (space, hasher) = (self.options.space, self.request.hasher);
        Ok(DistanceSensitiveBloom { hasher, space, functions, samples, threshold, near, far, bits, about })
    }
}

impl DistanceSensitiveBloom {
    /// A filter of vectors of this many bits.
    pub fn hamming(dimension: u64) -> Builder<DistanceSensitiveBloom> {
        Self::builder(Space::Hamming { dimension })
    }

    /// A filter of sets of tokens.
    pub fn jaccard() -> Builder<DistanceSensitiveBloom> {
        Self::builder(Space::Jaccard)
    }

    /// A filter of points of this space.
    ///
    /// Give the number of points, the two distances and the error; or a shape.
    ///
    /// ```
    /// use gardenia::DistanceSensitiveBloom;
    /// let mut faces = DistanceSensitiveBloom::hamming(1024).items(1_000).near(0.02).far(0.3).error(0.01).build()?;
    /// let face = [0x5a; 128];
    /// faces.insert_bits(&face).unwrap();
    /// let mut like = face;
    /// like[7] ^= 0x81; // two of 1,024 bits
    /// assert!(faces.is_near_bits(&like).unwrap() && !faces.is_near_bits(&[0x33; 128]).unwrap());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder(space: Space) -> Builder<DistanceSensitiveBloom> {
        Builder::new(DistanceSensitiveBloomOptions { space, near: None, far: None, error: None, shape: None })
    }

    /// Adds a vector: bit i of the point is bit i mod 8, from the lowest, of byte ⌊i/8⌋.
    pub fn insert_bits(&mut self, point: &[u8]) -> Result<(), PointError> {
        let at = self.vector(point)?;
        at.into_iter().for_each(|at| _ = self.bits.set(at));
        Ok(())
    }

    /// Adds a set of tokens; their order and repeats do not matter.
    pub fn insert_tokens<K: Key>(&mut self, tokens: &[K]) -> Result<(), PointError> {
        let at = self.tokens(tokens)?;
        self.about.took::<K>();
        at.into_iter().for_each(|at| _ = self.bits.set(at));
        Ok(())
    }
}

impl<M: Memory> DistanceSensitiveBloom<M> {
    /// Whether a vector is close to one that went in.
    pub fn is_near_bits(&self, point: &[u8]) -> Result<bool, PointError> {
        Ok(self.votes_bits(point)? >= self.threshold)
    }

    /// Whether a set of tokens is close to one that went in.
    pub fn is_near_tokens<K: Key>(&self, tokens: &[K]) -> Result<bool, PointError> {
        Ok(self.votes_tokens(tokens)? >= self.threshold)
    }

    /// How many arrays vote for a vector: the more, the closer.
    pub fn votes_bits(&self, point: &[u8]) -> Result<u32, PointError> {
        Ok(self.votes(&self.vector(point)?))
    }

    /// How many arrays vote for a set of tokens.
    pub fn votes_tokens<K: Key>(&self, tokens: &[K]) -> Result<u32, PointError> {
        Ok(self.votes(&self.tokens(tokens)?))
    }

    fn votes(&self, at: &[u64]) -> u32 {
        at.iter().map(|at| u32::from(self.bits.get(*at))).sum()
    }

    /// The bits of a vector, one in each array.
    fn vector(&self, point: &[u8]) -> Result<Vec<u64>, PointError> {
        let Space::Hamming { dimension } = self.space else {
            return Err(PointError::Space { filter: self.space.name(), point: "a vector of bits" });
        };
        if point.len() as u64 != dimension.div_ceil(8) {
            return Err(PointError::Length { bytes: point.len() as u64, dimension });
        }
        let mut sampled = vec![0u8; self.samples.div_ceil(8) as usize];
        let bit = |function: u32| {
            sampled.fill(0);
            for i in 0..self.samples {
                // Coordinates are drawn with replacement: points at distance d then agree with (1 − d)^ℓ exactly.
                let at = scale(self.hasher.word(1 + function * self.samples + i), dimension);
                let value = point[(at / 8) as usize] >> (at % 8) & 1;
                sampled[(i / 8) as usize] |= value << (i % 8);
            }
            self.place(function, self.hasher.digest(&sampled))
        };
        Ok((0..self.functions).map(bit).collect())
    }

    /// The bits of a set of tokens, one in each array.
    fn tokens<K: Key>(&self, tokens: &[K]) -> Result<Vec<u64>, PointError> {
        if self.space != Space::Jaccard {
            return Err(PointError::Space { filter: self.space.name(), point: "a set of tokens" });
        }
        let mut digests: Vec<Digest> = tokens.iter().map(|token| self.hasher.digest_key(token)).collect();
        // A set: what repeats has been looked at.
        digests.sort_unstable_by_key(|digest| digest.0);
        digests.dedup();
        let mut sampled = Vec::with_capacity(8 * self.samples as usize);
        let bit = |function: u32| {
            sampled.clear();
            for i in 0..self.samples {
                let hash = 1 + function * self.samples + i;
                // The empty set has no least value; it is at distance 0 from itself and 1 from all others.
                let least = digests.iter().map(|digest| digest.word(hash)).min().unwrap_or(u64::MAX);
                sampled.extend(least.to_le_bytes());
            }
            self.place(function, self.hasher.digest(&sampled))
        };
        Ok((0..self.functions).map(bit).collect())
    }

    /// The bit in the array of a function that this value has.
    fn place(&self, function: u32, value: Digest) -> u64 {
        let bits = self.array_bits();
        u64::from(function) * bits + scale(value.word(1 + function), bits)
    }

    bit_filter_facts!();

    /// Bits of each array, m'.
    fn array_bits(&self) -> u64 {
        self.bits.len() / u64::from(self.functions)
    }

    /// What points are.
    #[must_use]
    pub fn space(&self) -> Space {
        self.space
    }

    /// Functions, samples, bits per array and threshold.
    #[must_use]
    pub fn shape(&self) -> DistanceShape {
        let Self { functions, samples, threshold, .. } = *self;
        DistanceShape { functions, samples, bits: self.array_bits(), threshold }
    }

    /// The two distances it was made for; (0, 1) if it was given by its shape.
    #[must_use]
    pub fn distances(&self) -> (f64, f64) {
        (self.near, self.far)
    }

    /// The spec of a filter like this one, but for a secret, and for the bits of a point, which the
    /// first point tells. `None` if it was given by its shape, or another program made it.
    ///
    /// ```
    /// use gardenia::DistanceSensitiveBloom;
    /// let filter = DistanceSensitiveBloom::jaccard().items(100).near(0.1).far(0.8).build()?;
    /// let text = "distance-sensitive items=100 fpp=0.01 space=jaccard near=0.1 far=0.8 seed=0";
    /// assert_eq!(filter.spec().unwrap(), text.parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn spec(&self) -> Option<Spec> {
        let spec = match self.hasher.id() {
            HasherId::Xxh3 => Spec::new(Kind::DistanceSensitive).seed(self.hasher.mark()),
            HasherId::Sip13 => Spec::new(Kind::DistanceSensitive),
            _ => return None,
        };
        let (items, error) = (self.about.planned_items(), self.about.planned_fpp());
        let space = if let Space::Hamming { .. } = self.space { "hamming" } else { "jaccard" };
        let spec = spec.items(items).fpp(error).with(Param::Space, Value::Word(space));
        (items > 0).then(|| spec.with(Param::Near, self.near).with(Param::Far, self.far))
    }

    /// The probability that a point at this distance from one that is in is missed, at most.
    #[must_use]
    pub fn misses(&self, distance: f64) -> f64 {
        misses(&self.shape(), distance)
    }

    /// The largest probability that a point at least this far from all of `items` stored points is
    /// called near.
    #[must_use]
    pub fn alarms(&self, items: u64, distance: f64) -> f64 {
        alarms(&self.shape(), items, distance)
    }

    /// Hasher and shape. Space, samples and threshold are beside it.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::DistanceSensitive,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.functions,
            cells: self.bits.len(),
            width: 1,
        }
    }

    /// Whether two filters give a point the same bits; if not, the first difference. The threshold
    /// is no difference for bits, but would be one for answers.
    fn check_alike(&self, other: &DistanceSensitiveBloom<impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        let pairs = [
            ("space", alloc::format!("{:?}", self.space), alloc::format!("{:?}", other.space)),
            ("samples", alloc::format!("{}", self.samples), alloc::format!("{}", other.samples)),
            ("threshold", alloc::format!("{}", self.threshold), alloc::format!("{}", other.threshold)),
        ];
        match pairs.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            Some((what, ours, theirs)) => Err(Mismatch { what, ours, theirs }),
            None => Ok(()),
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<DistanceSensitiveBloom, SizeError> {
        let mut bits = Bits::new(self.bits.len())?;
        bits.combine(&self.bits, |_, b| b);
        let Self { hasher, space, functions, samples, threshold, near, far, about, .. } = self;
        let (hasher, space, about) = (hasher.clone(), *space, about.clone());
        let (functions, samples, threshold) = (*functions, *samples, *threshold);
        let (near, far) = (*near, *far);
        Ok(DistanceSensitiveBloom { hasher, space, functions, samples, threshold, near, far, bits, about })
    }
}

impl Merge for DistanceSensitiveBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.check_alike(other)?;
        self.bits.combine(&other.bits, |a, b| a | b);
        self.about.took_all(&other.about);
        Ok(())
    }
}

impl<M: Memory> fmt::Debug for DistanceSensitiveBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistanceSensitiveBloom")
            .field("hasher", &self.hasher)
            .field("space", &self.space)
            .field("shape", &self.shape())
            .field("bits", &self.bits)
            .finish()
    }
}

/// Equal in identity, space, samples, threshold and bits: the same answer to every point.
impl<M: Memory, N: Memory> PartialEq<DistanceSensitiveBloom<N>> for DistanceSensitiveBloom<M> {
    fn eq(&self, other: &DistanceSensitiveBloom<N>) -> bool {
        self.check_alike(other).is_ok() && self.bits == other.bits
    }
}

impl<M: Memory> Stored for DistanceSensitiveBloom<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        let (space, dimension) = self.space.numbers(self.hasher.id());
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        let (samples, threshold) = (self.samples.into(), self.threshold.into());
        let (near, far) = (self.near.to_bits(), self.far.to_bits());
        Ok(header.with_params(&[space, dimension, samples, threshold, near, far]))
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.bits.memory()]
    }
}

/// A stored filter with the bits that `bits` makes for a number of them, checked.
fn restore<M: Memory>(
    header: &Header,
    options: &ReadOptions,
    bits: impl FnOnce(u64) -> Result<Bits<M>, DecodeError>,
) -> Result<DistanceSensitiveBloom<M>, DecodeError> {
    header.check_kind(Kind::DistanceSensitive)?;
    header.check_width(1)?;
    header.check_no_scheme()?;
    let (functions, cells) = (header.identity.hashes, header.identity.cells);
    let whole = functions > 0 && cells.is_multiple_of(functions.into());
    DecodeError::check("cells", cells, whole, "that is no multiple of the functions")?;
    header.check_payload(cells.div_ceil(64) * 8)?;
    let [space, dimension, samples, threshold, near, far] = header.param_words()?;
    let space = Space::from_numbers(space, dimension, header.identity.hasher)
        .map_err(|rule| DecodeError::Field { field: "space", value: space, rule })?;
    DecodeError::check(
        "samples",
        samples,
        (1..=MAX_SAMPLES.into()).contains(&samples),
        "1 to 65536 are allowed",
    )?;
    let (work, max) = (u64::from(functions) * samples, options.max_samples);
    if work > max {
        return Err(DecodeError::Work { samples: work, max });
    }
    let votes = (1..=functions.into()).contains(&threshold);
    DecodeError::check("threshold", threshold, votes, "1 to the number of functions are allowed")?;
    let distances = (f64::from_bits(near), f64::from_bits(far));
    let sane = (0.0..1.0).contains(&distances.0) && distances.1 > distances.0 && distances.1 <= 1.0;
    DecodeError::check("near", near, sane, "the bits of near and far are not distances")?;
    Ok(DistanceSensitiveBloom {
        hasher: header.hasher(options)?,
        space,
        functions,
        samples: samples as u32, // checked, and so is the threshold
        threshold: threshold as u32,
        near: distances.0,
        far: distances.1,
        bits: bits(cells)?,
        about: header.about(),
    })
}

impl<M: Memory> DistanceSensitiveBloom<M> {
    fn check_tail(&self) -> Result<(), DecodeError> {
        let clear = self.bits.tail_is_clear();
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

impl format::Restore for DistanceSensitiveBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        restore(header, options, |cells| Ok(Bits::new(cells)?))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.bits.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for DistanceSensitiveBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let short = DecodeError::Damaged("the payload is shorter than its header says");
        let filter = restore(header, options, |cells| Bits::borrowed(payload, cells).ok_or(short))?;
        filter.check_tail()?;
        Ok(filter)
    }
}

format::stored_methods!(DistanceSensitiveBloom<M> where M: Memory);
format::read_methods!(DistanceSensitiveBloom);
format::serde_impls!([M: Memory] DistanceSensitiveBloom<M>, [] DistanceSensitiveBloom);
