//! A design: its figures, and the one call that builds it.

use crate::{
    A2Bloom, AnyFilter, AnyScheme, BinaryFuse, BlockedBloom, Bloom, Bloomier, BuildError, ChoiceBloom,
    CompressedBloom, CountMin, CountingBloom, Cuckoo, Digest, DynamicBloom, Effort, GolombSet, KeyHasher,
    Kind, PolicyId, Ribbon, ScalableBloom, SchemeId, SizeError, SpectralBloom, StableBloom, Update,
};
use alloc::string::String;
use alloc::vec::Vec;

/// One filter that would do, with all that is to be known about it before it is built.
///
/// ```
/// use gardenia::plan::Need;
/// use gardenia::{Digest, Filter};
/// let plan = Need::of(1_000).fpp(0.01).fixed().plan().unwrap();
/// let keys: Vec<Digest> = (0..1_000).map(|i| Digest(Digest(1).word(i))).collect();
/// for design in plan.designs() {
///     let filter = design.build_from(&keys).unwrap();
///     assert!(filter.memory_bytes() as u64 <= design.bytes, "{}", design.kind.name());
///     assert!(keys.iter().all(|key| filter.contains_digest(*key)));
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Design {
    /// Kind of filter.
    pub kind: Kind,
    /// Its parameters.
    pub parameters: Parameters,
    /// Keys that the figures are for. If no number was given, those of a window are as many as fit, and those of a filter
    /// that grows a million, or as many as fit.
    pub items: u64,
    /// Bits of memory per key.
    pub bits_per_key: f64,
    /// Bytes of memory, with all keys in.
    pub bytes: u64,
    /// Bytes in a file, without its header.
    pub file_bytes: u64,
    /// The probability of an error.
    pub fpp: f64,
    /// What the rate of the built filter stays below with probability `confidence`.
    pub bound: f64,
    /// How sure the bound is.
    pub confidence: f64,
    /// What counts as an error.
    pub error: ErrorMeans,
    /// Cache lines that a query touches on average, at the share of present keys that was told.
    pub lines: f64,
    /// Nanoseconds of a query in a batch, by the calibration.
    pub ns: f64,
    /// Why one would take it, in a sentence.
    pub why: String,
    pub(super) hasher: KeyHasher,
}

/// What the rate of a design is the rate of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorMeans {
    /// An absent key is reported as present; of filters that count, its count is not 0.
    FalsePositive,
    /// A count is above the truth by more than this share of all that was counted.
    CountAbove(f64),
}

/// What a design is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are those of the builders, whose verbs say what they are")]
pub enum Parameters {
    /// [`BlockedBloom`]
    Blocked { bits: u64, hashes: u32 },
    /// [`Bloom`]
    Bloom { bits: u64, hashes: u32 },
    /// [`ChoiceBloom`]: by [`Effort::Online`] or [`Effort::Partitioned`]
    Choice { bits: u64, hashes: u32, effort: Effort },
    /// [`CountingBloom`]
    Counting { cells: u64, hashes: u32, width: u32 },
    /// [`SpectralBloom`]
    Spectral { cells: u64, hashes: u32, width: u32, policy: PolicyId },
    /// [`Cuckoo`]
    Cuckoo { cells: u64, width: u32 },
    /// [`ScalableBloom`]
    Scalable { first: u64, fpp: f64 },
    /// [`DynamicBloom`]
    Dynamic { layer: u64, fpp: f64, width: u32 },
    /// [`StableBloom`]
    Stable { cells: u64, hashes: u32, width: u32, decrements: u64 },
    /// [`A2Bloom`]
    A2 { bits: u64, hashes: u32, window: u64 },
    /// [`BinaryFuse`]
    Fuse { fingerprint: u32, arity: u32 },
    /// [`Ribbon`]
    Ribbon { fpp: f64 },
    /// [`GolombSet`]
    Golomb { fpp: f64 },
    /// [`CompressedBloom`]: for this rate and so many bits per key in memory, at most
    Compressed { bits: u64, hashes: u32, fpp: f64, memory: f64 },
    /// [`CountMin`], with cells of 32 bits
    CountMin { columns: u64, rows: u32, update: Update },
    /// [`Bloomier`]
    Bloomier { value_bits: u32, check_bits: u32, arity: u32 },
}

impl Design {
    /// Whether it is made of all its keys at once, by [`build_from`](Self::build_from).
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        match self.parameters {
            Parameters::Fuse { .. }
            | Parameters::Ribbon { .. }
            | Parameters::Golomb { .. }
            | Parameters::Bloomier { .. } => true,
            Parameters::Choice { effort, .. } => effort != Effort::Online,
            _ => false,
        }
    }

    /// The empty filter, for keys that come one by one.
    ///
    /// # Errors
    ///
    /// If the memory cannot be had, or the design [`is_fixed`](Self::is_fixed).
    pub fn build(&self) -> Result<AnyFilter, SizeError> {
        let (hasher, items) = (self.hasher.clone(), self.items);
        let scheme = |hashes| AnyScheme::new(SchemeId::default(), hashes);
        Ok(match self.parameters {
            Parameters::Blocked { bits, hashes } => {
                BlockedBloom::builder().hasher(hasher).items(items).bits(bits).hashes(hashes).build()?.into()
            }
            Parameters::Bloom { bits, hashes } => {
                let builder = Bloom::builder().hasher(hasher).items(items).bits(bits).hashes(hashes);
                builder.scheme(scheme).build()?.into()
            }
            Parameters::Choice { bits, hashes, effort: Effort::Online } => {
                let builder = ChoiceBloom::builder().hasher(hasher).items(items).bits(bits).hashes(hashes);
                builder.scheme(scheme).build()?.into()
            }
            Parameters::Counting { cells, hashes, width } => {
                let builder = CountingBloom::builder().hasher(hasher).items(items).cells(cells);
                builder.hashes(hashes).width(width).build()?.into()
            }
            Parameters::Spectral { cells, hashes, width, policy } => {
                let builder = SpectralBloom::builder().hasher(hasher).items(items).cells(cells);
                builder.hashes(hashes).width(width).policy(policy).build()?.into()
            }
            Parameters::Cuckoo { cells, width } => {
                Cuckoo::builder().hasher(hasher).cells(cells).width(width).build()?.into()
            }
            Parameters::Scalable { first, fpp } => {
                ScalableBloom::builder().hasher(hasher).items(first).fpp(fpp).build()?.into()
            }
            Parameters::Dynamic { layer, fpp, width } => {
                DynamicBloom::builder().hasher(hasher).items(layer).fpp(fpp).width(width).build()?.into()
            }
            Parameters::Stable { cells, hashes, width, decrements } => {
                let builder = StableBloom::builder().hasher(hasher).cells(cells).hashes(hashes);
                builder.width(width).decrements(decrements).build()?.into()
            }
            Parameters::A2 { bits, hashes, window } => {
                A2Bloom::builder().hasher(hasher).items(window).bits(bits).hashes(hashes).build()?.into()
            }
            Parameters::Compressed { bits, hashes, .. } => {
                let builder =
                    CompressedBloom::builder().hasher(hasher).items(items).bits(bits).hashes(hashes);
                builder.scheme(scheme).build()?.into()
            }
            Parameters::CountMin { columns, rows, update } => {
                let builder = CountMin::builder().hasher(hasher).columns(columns).rows(rows);
                builder.update(update).build()?.into()
            }
            Parameters::Choice { .. }
            | Parameters::Fuse { .. }
            | Parameters::Ribbon { .. }
            | Parameters::Golomb { .. }
            | Parameters::Bloomier { .. } => {
                return Err(SizeError::Conflict(
                    "a design of this kind is made of all its keys at once: build_from takes them",
                ));
            }
        })
    }

    /// The filter of these keys, of any design; the digests come from the hasher that the need named, XXH3 unless said.
    /// They may repeat: filters that count or remove store every copy, others have them once. Copies that take room must
    /// have been planned for, by [`repeated`](super::Need::repeated).
    ///
    /// # Errors
    ///
    /// If the memory cannot be had, a table cannot be built, or (cuckoo filters) the keys are more than were planned.
    pub fn build_from(&self, digests: &[Digest]) -> Result<AnyFilter, BuildError> {
        let hasher = self.hasher.clone();
        Ok(match self.parameters {
            Parameters::Fuse { fingerprint, arity } => BinaryFuse::builder()
                .hasher(hasher)
                .fingerprint(fingerprint)
                .arity(arity)
                .build_from_digests(digests)?
                .into(),
            Parameters::Ribbon { fpp } => {
                Ribbon::builder().hasher(hasher).fpp(fpp).build_from_digests(digests)?.into()
            }
            Parameters::Golomb { fpp } => {
                GolombSet::builder().hasher(hasher).fpp(fpp).build_from_digests(digests.to_vec())?.into()
            }
            Parameters::Choice { bits, hashes, effort } if effort != Effort::Online => {
                let builder =
                    ChoiceBloom::builder().hasher(hasher).items(self.items).bits(bits).hashes(hashes);
                let builder = builder.scheme(|hashes| AnyScheme::new(SchemeId::default(), hashes));
                builder.effort(effort).build_from_digests(digests.to_vec())?.into()
            }
            Parameters::Bloomier { .. } => return self.build_map(digests, &alloc::vec![0; digests.len()]),
            _ => self.filled(digests)?,
        })
    }

    /// The filter with these keys put in one by one.
    fn filled(&self, digests: &[Digest]) -> Result<AnyFilter, BuildError> {
        let mut filter = self.build()?;
        let mut new = alloc::vec![false; digests.len().min(4096)];
        for digests in digests.chunks(4096) {
            let full = SizeError::Conflict("more keys, or copies of keys, came than the design has room for");
            filter.insert_digests(digests, &mut new[..digests.len()]).map_err(|_| full)?;
        }
        Ok(filter)
    }

    /// The map of these keys to their values, of a design for [`values`](super::Need::values).
    ///
    /// ```
    /// use gardenia::plan::Need;
    /// use gardenia::{AnyFilter, Digest};
    /// let plan = Need::of(3).fpp(0.01).values(4).plan().unwrap();
    /// let map = plan.best().build_map(&[Digest(1), Digest(2), Digest(3)], &[7, 8, 9]).unwrap();
    /// let AnyFilter::Bloomier(map) = map else { panic!("a map was planned") };
    /// assert_eq!(map.get_digest(Digest(2)), Some(8));
    /// ```
    ///
    /// # Errors
    ///
    /// If the design holds no values, a value is too large, or a table cannot be built.
    pub fn build_map(&self, digests: &[Digest], values: &[u32]) -> Result<AnyFilter, BuildError> {
        let Parameters::Bloomier { value_bits, check_bits, arity } = self.parameters else {
            return Err(SizeError::Conflict("a design of this kind holds no values").into());
        };
        let builder = Bloomier::builder().hasher(self.hasher.clone()).arity(arity);
        let builder = builder.value_bits(value_bits).check_bits(check_bits);
        Ok(builder.build_from_digests(digests, values)?.into())
    }
}

/// The answer to a [`Need`](super::Need): at least one design, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(super) designs: Vec<Design>,
}

impl Plan {
    /// All designs, the best first.
    #[must_use]
    pub fn designs(&self) -> &[Design] {
        &self.designs
    }

    /// The best.
    #[must_use]
    pub fn best(&self) -> &Design {
        &self.designs[0]
    }

    /// The best filter, empty: for keys that come one by one.
    ///
    /// ```
    /// use gardenia::{Kind, plan::Need};
    /// let filter = Need::of(1_000).fpp(0.01).plan().unwrap().build().unwrap();
    /// assert_eq!((filter.kind(), filter.about().planned_items()), (Kind::Blocked, 1_000));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Design::build`].
    pub fn build(&self) -> Result<AnyFilter, SizeError> {
        self.best().build()
    }

    /// The best filter of these keys.
    ///
    /// # Errors
    ///
    /// As [`Design::build_from`].
    pub fn build_from(&self, digests: &[Digest]) -> Result<AnyFilter, BuildError> {
        self.best().build_from(digests)
    }
}
