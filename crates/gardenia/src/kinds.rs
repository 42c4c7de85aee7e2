//! The table of kinds: every kind of filter once, with its number, name, type and abilities.
//!
//! Everything that lists kinds comes from here: [`Kind`], [`AnyFilter`] with its conversions, how a
//! file finds the type that reads it, and which calls reach which filters. A kind that stands in
//! the table is stored, opened, asked, merged and tested like all others; what is particular about
//! it stands in its own file under `filter/`.

use crate::cells::{Bytes, Memory, Owned};
use crate::explain::Explain;
use crate::filter::{
    A2Bloom, About, BinaryFuse, BitwiseBloom, BlockedBloom, Bloom, Bloomier, ChoiceBloom, ChoiceForm,
    CompressedBloom, CountMin, CountingBloom, Cuckoo, DynamicBloom, GolombSet, Identity, InfiniFilter,
    MinimumIncrease, MinimumSelection, MutableBloomier, PolicyId, Quotient, RecurringMinimum, RetouchedBloom,
    Ribbon, ScalableBlocked, ScalableBloom, SharedFilter, SpectralBloom, SplitBlockBloom, StableBloom,
    is_mutable,
};
use crate::format::{self, Attach, Cut, Header, Restore, Section, Stored};
use crate::hash::{Digest, HasherId, Key, KeyHasher};
use crate::index::AnyScheme;
use crate::plan::{Cost, Figures, Goal};
use crate::spec::{FromSpec, Measure, Param, Spec, Value, Watch};
use crate::theory::bloom::Estimate;
use crate::theory::overlap::{Overlap, overlap};
use crate::{
    BuildError, Count, DecodeError, EncodeError, Error, Filter, Full, Insert, InsertError, Merge, Mismatch,
    ReadOptions, Remove, RemoveError, SizeError,
};
use alloc::vec::Vec;

/// Declares the kinds: [`Kind`], [`AnyFilter`], and macros that do the same with the filter of
/// every kind.
macro_rules! kinds {
    (
        filters { $($number:literal $kind:ident($type:ty), $name:literal, $near:literal $far:literal, [$($ability:ident)*], {$($param:ident)*}, $summary:literal;)+ }
        forms { $($form:ident($form_type:ty), $of:ident if $guard:ident, [$($form_ability:ident)*], $form_summary:literal;)+ }
        others { $($other_number:literal $other:ident $(as $sized:ty)?, $other_name:literal $other_built:literal, [$($other_ability:ident)*], {$($other_param:ident)*}, $other_summary:literal;)+ }
    ) => {
        /// Kind of filter, as stored in files. A number never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = $summary] $kind = $number,)+
            $(#[doc = $other_summary] $other = $other_number,)+
        }

        impl Kind {
            /// All kinds, by number.
            pub const ALL: [Self; [$($number,)+ $($other_number,)+].len()] =
                by_number([$(Self::$kind,)+ $(Self::$other,)+]);

            /// Name for people and for the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                    $(Self::$other => $other_name,)+
                }
            }

            /// What the kind is, in a sentence.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Self::$kind => $summary,)+
                    $(Self::$other => $other_summary,)+
                }
            }

            /// What filters of this kind can do. Some can do it in some forms only:
            /// [`AnyFilter::can`] knows.
            #[must_use]
            pub const fn abilities(self) -> &'static [Ability] {
                match self {
                    $(Self::$kind => &[$(ability!($ability),)*],)+
                    $(Self::$other => &[$(ability!($other_ability),)*],)+
                }
            }
        }

        impl Kind {
            /// Whether filters of this kind answer for keys, so that an [`AnyFilter`] can hold
            /// them.
            #[must_use]
            pub const fn holds_keys(self) -> bool {
                match self {
                    $(Self::$kind)|+ => true,
                    $(Self::$other)|+ => false,
                }
            }

            /// Whether a list of keys can be made into such a filter from a [`Spec`] alone, as
            /// `gardenia build --kind` does. Others are types of the library.
            ///
            /// ```
            /// use gardenia::Kind;
            /// assert!(Kind::Bloom.is_built() && Kind::Split.is_built() && !Kind::Top.is_built());
            /// ```
            #[must_use]
            pub const fn is_built(self) -> bool {
                match self {
                    $(Self::$kind)|+ => true,
                    $(Self::$other => $other_built,)+
                }
            }

            /// The name of the type that holds such filters; `None` if no [`AnyFilter`] does.
            ///
            /// ```
            /// use gardenia::Kind;
            /// assert_eq!(Kind::Blocked.type_name(), Some("BlockedBloom"));
            /// assert_eq!(Kind::Top.type_name(), None);
            /// ```
            #[must_use]
            pub fn type_name(self) -> Option<&'static str> {
                let written = match self {
                    $(Self::$kind => stringify!($type),)+
                    $(Self::$other)|+ => return None,
                };
                written.split(['<', ' ']).next()
            }

            /// Nanoseconds per cache line of a query, in a table near the core and in one far from
            /// it; of the kinds that can be planned.
            pub(crate) const fn cost(self) -> Option<Cost> {
                match self {
                    $(Self::$kind => if $near > 0.0 { Some(Cost { near: $near, far: $far }) } else { None },)+
                    $(Self::$other)|+ => None,
                }
            }

            /// The options of this kind.
            #[must_use]
            pub const fn params(self) -> &'static [Param] {
                match self {
                    $(Self::$kind => &[Param::Seed, Param::Memory, Param::PlannedFpp, $(Param::$param,)*],)+
                    $(Self::$other => &[Param::Seed, $(Param::$other_param,)*],)+
                }
            }
        }

        /// Does the same with the type of every kind, or the one that it is sized as.
        macro_rules! each_type {
            ($named:expr, $this:ident => $work:expr) => {
                match $named {
                    $(Kind::$kind => {
                        #[allow(dead_code, reason = "not every type has a memory of its choice")]
                        type M = Owned;
                        type $this = $type;
                        $work
                    })+
                    $($(Kind::$other => {
                        type $this = $sized;
                        $work
                    })?)+
                    _ => Err(NO_KEYS.into()),
                }
            };
        }

        /// A filter of any kind, chosen at run time.
        ///
        /// ```
        /// use gardenia::{AnyFilter, Bloom};
        /// let mut filter = Bloom::new(100, 0.01)?;
        /// filter.insert("rose");
        /// let mut any = AnyFilter::from_bytes(&filter.to_bytes().unwrap()).unwrap();
        /// assert!(any.contains("rose"));
        /// assert_eq!(any.insert("tulip"), Ok(true));
        /// # Ok::<(), gardenia::SizeError>(())
        /// ```
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum AnyFilter<M = Owned> {
            $(#[doc = $summary] $kind($type),)+
            $(#[doc = $form_summary] $form($form_type),)+
        }

        $(impl<M> From<$type> for AnyFilter<M> {
            fn from(filter: $type) -> Self {
                Self::$kind(filter)
            }
        })+
        $(impl<M> From<$form_type> for AnyFilter<M> {
            fn from(filter: $form_type) -> Self {
                Self::$form(filter)
            }
        })+

        impl<M> AnyFilter<M> {
            /// Kind of filter.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)+
                    $(Self::$form(_) => Kind::$of,)+
                }
            }
        }

        /// Does the same with the filter of every kind.
        macro_rules! each {
            ($any:expr, $filter:ident => $work:expr) => {
                match $any {
                    $(AnyFilter::$kind($filter) => $work,)+
                    $(AnyFilter::$form($filter) => $work,)+
                }
            };
        }

        /// Does the same with the filter of every kind that has an ability; other kinds give the
        /// last value.
        macro_rules! each_able {
            ($able:ident, $any:expr, $filter:ident => $work:expr, $or:expr) => {
                match $any {
                    $(AnyFilter::$kind($filter) => {
                        let _ = &$filter;
                        able!($able in [$($ability)*] $work; $or)
                    })+
                    $(AnyFilter::$form($filter) => {
                        let _ = &$filter;
                        able!($able in [$($form_ability)*] $work; $or)
                    })+
                }
            };
        }

        /// Does the same with two filters of one kind that has an ability. Of two kinds nothing can
        /// be done: the error says so.
        macro_rules! each_pair {
            ($able:ident, $any:expr, $ours:ident, $theirs:ident => $work:expr) => {
                match $any {
                    $((AnyFilter::$kind($ours), AnyFilter::$kind($theirs)) => {
                        let _ = (&$ours, &$theirs);
                        able!($able in [$($ability)*] $work; None)
                    })+
                    (ours, theirs) => Some(ours.identity().check(&theirs.identity())),
                }
            };
        }

        /// Equal in identity and cells, whatever each was planned for: the same answer to every
        /// question.
        ///
        /// ```
        /// use gardenia::{AnyFilter, Spec};
        /// let spec: Spec = "bloom items=100".parse()?;
        /// let (mut a, b) = (spec.build()?, spec.build()?);
        /// assert!(a == b && a == AnyFilter::from_bytes(&b.to_bytes()?)?);
        /// a.insert("rose")?;
        /// assert!(a != b);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        impl PartialEq for AnyFilter {
            fn eq(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$kind(ours), Self::$kind(theirs)) => ours == theirs,)+
                    $((Self::$form(ours), Self::$form(theirs)) => ours == theirs,)+
                    _ => false,
                }
            }
        }

        /// The filter of the kind that a header names.
        macro_rules! of_kind {
            ($header:expr, $made:expr) => {
                match $header.identity.kind {
                    $(Kind::$of if $guard($header) => AnyFilter::$form($made),)+
                    $(Kind::$kind => AnyFilter::$kind($made),)+
                    // Stored in the same way, but answers other questions: its own type reads it.
                    $(Kind::$other)|+ => {
                        let found = $header.identity.kind.name();
                        return Err(DecodeError::Kind { expected: "one that can be asked for keys", found });
                    }
                }
            };
        }
    };
}

/// Declares the abilities: the words of the table, and what they mean.
macro_rules! abilities {
    ($($word:ident $ability:ident $meaning:literal;)+) => {
        /// What a filter can do beside answering queries.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Ability {
            $(#[doc = $meaning] $ability,)+
        }

        impl Ability {
            /// All of them.
            pub const ALL: [Self; [$(stringify!($word)),+].len()] = [$(Self::$ability),+];

            /// Name for people and for the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$ability => stringify!($word),)+
                }
            }
        }

        /// The ability that a word of the table names.
        macro_rules! ability {
            $(($word) => { Ability::$ability };)+
        }

        abilities! { @able ($) $($word)+ }
    };
    // The first expression if the list names the ability, else the second. One rule for each word.
    (@able ($d:tt) $($word:ident)+) => {
        macro_rules! able {
            $(($word in [$word $d($d rest:ident)*] $d yes:expr; $d no:expr) => { $d yes };)+
            ($d ability:ident in [$d other:ident $d($d rest:ident)*] $d yes:expr; $d no:expr) => {
                able!($d ability in [$d($d rest)*] $d yes; $d no)
            };
            ($d ability:ident in [] $d yes:expr; $d no:expr) => { $d no };
        }
    };
}

abilities! {
    insert Insert "Keys can be added one by one.";
    remove Remove "Keys can be removed again.";
    count Count "It knows how often a key was added.";
    merge Merge "Filters that were filled apart can be merged.";
    intersect Intersect "The common keys of two filters can be kept.";
    grow Grow "It accepts any number of keys.";
    set Set "A key that is found already changes nothing when it is added.";
    forget Forget "It forgets old keys of an endless stream.";
    fixed Fixed "It is built from all its keys at once.";
    map Map "It holds a value for each key.";
    share Share "Several threads can insert at once.";
    copies Copies "Each copy of a key takes room of its own.";
    estimate Estimate "It can estimate how many distinct keys it holds.";
    send Send "It is smaller in a file than in memory.";
    miss Miss "A key that was added may be reported as absent.";
}

kinds! {
    filters {
        1 Bloom(Bloom<AnyScheme, M>), "bloom", 2.3 3.9, [insert merge intersect share set estimate], {Items Fpp Bits Hashes Scheme},
            "The classical Bloom filter: k cache lines per key, 9.6 bits per key at 1 %.";
        2 Blocked(BlockedBloom<M>), "blocked", 1.7 6.0, [insert merge intersect share set estimate], {Items Fpp Bits Hashes},
            "One cache line per key, 9.9 bits per key at 1 %.";
        3 Counting(CountingBloom<M>), "counting", 3.4 12.6, [insert remove count merge estimate], {Items Fpp Bits Cells Hashes Width Scheme},
            "Counts keys and removes them again; four times the size of bloom.";
        4 Bitwise(BitwiseBloom<M>), "bitwise", 0.0 0.0, [insert count miss], {Items Fpp Bits Cells Hashes Digit Width Scheme},
            "Counts without a limit, one digit per level.";
        5 Spectral(SpectralBloom<PolicyId, M>), "spectral", 2.8 10.7, [insert remove count merge estimate], {Policy Items Fpp Bits Cells Hashes Width Compact SecondaryCells SecondaryHashes NoMarker AsPrinted Scheme},
            "Counts by the least of a key's cells, under one of three policies.";
        6 Stable(StableBloom<M>), "stable", 3.3 14.6, [insert forget miss], {Items Fpp Bits Cells Hashes Width Decrements Drawn Scheme},
            "Forgets keys at random, the older the more likely.";
        7 A2(A2Bloom<M>), "a2", 1.6 3.7, [insert forget share estimate miss], {Items Fpp Bits Hashes Scheme},
            "Remembers the last keys for certain, and forgets older ones.";
        8 Choice(ChoiceBloom<AnyScheme, M>), "choice", 2.7 5.3, [insert merge estimate], {Items Fpp Bits Hashes Choices Effort Scheme},
            "Fewer false positives in the same bits: keys choose among groups of positions.";
        9 CountMin(CountMin<M>), "count-min", 2.8 10.7, [insert count merge grow estimate], {Epsilon Delta Columns Rows Bits Width Copies Form Update},
            "Counts a stream of any length, in a size that does not depend on it.";
        11 BinaryFuse(BinaryFuse<M>), "fuse", 0.7 2.5, [fixed estimate], {Items Fpp Fingerprint Arity},
            "Built once from all keys: three reads per query, 9 bits per key at 1 in 256.";
        12 Bloomier(Bloomier<M>), "bloomier", 5.7 8.7, [fixed map estimate], {Items ValueBits Check Arity},
            "A static map from keys to numbers.";
        13 Ribbon(Ribbon<M>), "ribbon", 4.2 7.4, [fixed estimate], {Items Fpp Fingerprint},
            "Built once from all keys in the fewest bits, 6.7 per key at 1 %; any rate.";
        14 Cuckoo(Cuckoo<M>), "cuckoo", 2.8 8.3, [insert remove count copies estimate], {Items Fpp Cells Width},
            "Fingerprints: keys can be removed again, in the size of bloom.";
        15 GolombSet(GolombSet<M>), "golomb", 183.0 199.0, [fixed estimate], {Items Fpp},
            "Built once as a code of sorted numbers: 8.1 bits per key at 1 %, and slow queries.";
        16 Compressed(CompressedBloom<AnyScheme>), "compressed", 1.8 6.1, [insert merge intersect set estimate send], {Items Fpp Bits Hashes Wire MemoryPerKey Scheme},
            "A Bloom filter that is large in memory and small in files.";
        17 Scalable(ScalableBloom<M>), "scalable", 2.4 9.1, [insert grow set estimate], {Items Fpp Growth Tightening Peak Scheme},
            "Grows with its keys and keeps the rate, however many come.";
        18 Dynamic(DynamicBloom<M>), "dynamic", 3.4 23.0, [insert remove count grow copies estimate], {Items Fpp Cells Hashes Width Scheme},
            "Grows, and keys can be removed; the rate of each layer adds up.";
        19 Retouched(RetouchedBloom<M>), "retouched", 0.0 0.0, [fixed miss], {Items Fpp Bits Hashes Clearing Scheme},
            "A Bloom filter that gives up known false positives, and loses a few keys for it.";
        21 Quotient(Quotient<M>), "quotient", 98.6 210.6, [insert remove count merge copies estimate], {Items Fpp Cells Width},
            "Sorted fingerprints: removal, any number of copies, merging; an eighth larger than cuckoo, and ten times slower.";
        25 SplitBlock(SplitBlockBloom<M>), "sbbf", 1.9 6.6, [insert merge intersect share set estimate], {Items Fpp Bits Hasher},
            "Half a cache line per key, 10.5 bits per key at 1 %: the filter of Parquet files, fastest key by key.";
        26 Infini(InfiniFilter), "infini", 6.0 18.0, [insert remove count grow copies estimate], {Items Fpp Max},
            "Grows in place, page by page: removal, one cache line or two per query at any size, 18 bits per key at 1 %.";
        27 ScalableBlocked(ScalableBlocked<M>), "scalable-blocked", 0.0 0.0, [insert grow set estimate], {Items Fpp Growth Tightening Peak},
            "As scalable, with one cache line per slice: faster, a fifth larger, for rates from about 0.1 % on.";
    }
    forms {
        MutableBloomier(MutableBloomier<M>), Bloomier if is_mutable, [fixed map estimate],
            "A static map whose values can be changed.";
    }
    others {
        10 CountSketch, "count-sketch" false, [insert count merge], {Epsilon Delta Columns Rows}, "Counts with signs, and the second moment of a stream.";
        20 DistanceSensitive, "distance-sensitive" true, [insert miss], {Items Fpp Space Near Far}, "Finds what is similar to what was added.";
        22 Top, "top" false, [insert count merge], {}, "The most frequent keys of a stream, with bounds on their counts.";
        23 RangeCountMin, "range-count-min" false, [insert count merge], {Epsilon Delta}, "Counts numbers of a stream by ranges.";
        24 Split as CountingBloom, "split" true, [insert remove count estimate], {Memory PlannedFpp Items Fpp Bits Cells Hashes Width Scheme},
            "Counts keys and removes them again, with the counters in a file: the memory of bloom, and no loss in a crash.";
    }
}

/// A name, its kind, what it says beside it, and what is particular about it.
type Preset = (&'static str, Kind, Option<(Param, Value)>, &'static str);

/// Other names for a kind, some with one of its options.
pub(crate) const PRESETS: [Preset; 4] = [
    (
        "spectral-ms",
        Kind::Spectral,
        policy(PolicyId::MinimumSelection),
        "Spectral, by the least of a key's cells.",
    ),
    (
        "spectral-mi",
        Kind::Spectral,
        policy(PolicyId::MinimumIncrease),
        "Spectral, raising only the least cells: the smallest errors, no removal.",
    ),
    (
        "spectral-rm",
        Kind::Spectral,
        policy(PolicyId::RecurringMinimum),
        "Spectral, with a second filter for keys that have a single least cell.",
    ),
    ("distance", Kind::DistanceSensitive, None, "The same as distance-sensitive."),
];

const fn policy(policy: PolicyId) -> Option<(Param, Value)> {
    Some((Param::Policy, Value::Word(policy.name())))
}

/// Of kinds that no [`AnyFilter`] holds.
const NO_KEYS: SizeError = SizeError::Conflict("a filter of this kind is not held in memory as others are");

/// Fills in what a spec leaves open.
pub(crate) fn fill(spec: &mut Spec) -> Result<(), SizeError> {
    each_type!(spec.kind(), This => <This as FromSpec>::fill_in(spec))
}

/// What a filled spec takes.
pub(crate) fn measure(spec: &Spec) -> Result<Measure, SizeError> {
    each_type!(spec.kind(), This => <This as FromSpec>::measure(spec))
}

/// What the rate of one filter stays below, if the kind promises `fpp`.
pub(crate) fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
    each_type!(spec.kind(), This => <This as FromSpec>::bound(spec, fpp, confidence))
}

/// The designs of a kind for what is asked, or why there is none; nothing if the kind does not fit.
pub(crate) fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
    let designs: Result<_, SizeError> = each_type!(kind, This => Ok(<This as FromSpec>::designs(kind, goal)));
    if kind.holds_keys() { designs.unwrap_or_default() } else { Vec::new() }
}

/// The empty filter of a filled spec.
pub(crate) fn empty(spec: &Spec) -> Result<AnyFilter, SizeError> {
    if !spec.kind().holds_keys() {
        return Err(NO_KEYS);
    }
    each_type!(spec.kind(), This => Ok(<This as FromSpec>::empty(spec)?.into()))
}

/// The filter of a filled spec that is built from all its keys at once.
pub(crate) fn from_digests(
    spec: &Spec,
    digests: Vec<Digest>,
    watch: &mut Watch<'_>,
) -> Result<AnyFilter, BuildError> {
    each_type!(spec.kind(), This => Ok(<This as FromSpec>::from_digests(spec, digests, watch)?.into()))
}

/// Bytes that building takes beside the filter.
pub(crate) fn working_bytes(spec: &Spec, keys: u64) -> Result<u64, SizeError> {
    each_type!(spec.kind(), This => Ok(<This as FromSpec>::working_bytes(spec, keys)))
}

impl Kind {
    /// The kind with this number, if there is one.
    ///
    /// ```
    /// use gardenia::Kind;
    /// assert!(Kind::ALL.iter().all(|&kind| Kind::from_number(kind.number()) == Some(kind)));
    /// assert_eq!(Kind::from_number(65_535), None);
    /// ```
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The kind with this name, if there is one.
    ///
    /// ```
    /// use gardenia::Kind;
    /// assert!(Kind::ALL.iter().all(|&kind| Kind::from_name(kind.name()) == Some(kind)));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The number stored in files.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether filters of this kind can do it, in some form.
    #[must_use]
    pub fn can(self, ability: Ability) -> bool {
        self.abilities().contains(&ability)
    }
}

/// The kinds in the order of their numbers.
const fn by_number<const N: usize>(mut kinds: [Kind; N]) -> [Kind; N] {
    let mut done = 1;
    while done < N {
        let mut at = done;
        while at > 0 && kinds[at].number() < kinds[at - 1].number() {
            (kinds[at - 1], kinds[at]) = (kinds[at], kinds[at - 1]);
            at -= 1;
        }
        done += 1;
    }
    kinds
}

impl AnyFilter {
    /// Reads a filter of any kind from a file into memory, with every checksum verified: another
    /// name of [`load`](Self::load).
    ///
    /// ```
    /// use gardenia::{AnyFilter, Cuckoo};
    /// # let path = std::env::temp_dir().join(format!("gardenia-any-{}.gdn", std::process::id()));
    /// let mut filter = Cuckoo::new(100, 0.01)?;
    /// filter.insert("rose")?;
    /// filter.save(&path)?;
    /// assert!(AnyFilter::open(&path)?.contains("rose"));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, DecodeError> {
        Self::load(path)
    }

    /// Adds `key`; true if it was certainly absent (of filters that forget: absent or forgotten). A
    /// filter that is built from all its keys at once refuses.
    pub fn insert(&mut self, key: impl Key) -> Result<bool, InsertError> {
        self.about().took_key(&key);
        self.insert_digest(self.hasher().digest_key(&key))
    }

    /// Removes `key` once; `None` if this filter cannot remove keys. Only remove what was inserted.
    pub fn remove(&mut self, key: impl Key) -> Option<Result<(), RemoveError>> {
        self.remove_digest(self.hasher().digest_key(&key))
    }

    /// Adds the keys with these digests in order, and reports of each whether it was certainly
    /// absent (of filters that forget: absent or forgotten). A filter that is built from all its
    /// keys at once refuses.
    ///
    /// ```
    /// use gardenia::{Ability, AnyFilter, Bloom, Digest, InsertError, RetouchedBloom};
    /// let mut any = AnyFilter::from(RetouchedBloom::random(Bloom::new(10, 0.1)?, 1, 0));
    /// assert_eq!(any.insert_digests(&[Digest(1)], &mut [false]), Err(InsertError::Fixed));
    /// assert!(!any.can(Ability::Insert));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    #[allow(clippy::unit_arg, reason = "filters that are never full return nothing")]
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<(), InsertError> {
        let inserted = each_able!(insert, self, filter => filter.insert_digests(digests, new).inserted(), Err(InsertError::Fixed));
        inserted.map_err(|error| self.refusal(error))
    }

    /// Adds the key with this digest; true if it was certainly absent (of filters that forget:
    /// absent or forgotten). For single keys: a batch is faster.
    ///
    /// ```
    /// use gardenia::{AnyFilter, BlockedBloom, Digest};
    /// let mut any = AnyFilter::from(BlockedBloom::new(10, 0.1)?);
    /// assert_eq!((any.insert_digest(Digest(1)), any.insert_digest(Digest(1))), (Ok(true), Ok(false)));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, InsertError> {
        let inserted = each_able!(insert, self, filter => Insert::insert_digest(filter, digest).map_err(InsertError::from), Err(InsertError::Fixed));
        inserted.map_err(|error| self.refusal(error))
    }

    /// Why a key was refused: a filter that was read from a file may not have been allowed to grow.
    #[cold]
    fn refusal(&self, error: InsertError) -> InsertError {
        match (self, error) {
            (Self::Scalable(filter), InsertError::Full(full)) => filter.refusal(full),
            (Self::ScalableBlocked(filter), InsertError::Full(full)) => filter.refusal(full),
            (Self::Dynamic(filter), InsertError::Full(full)) => filter.refusal(full),
            (_, error) => error,
        }
    }

    /// Adds the key with this digest `times` times. Sketches, counting and spectral filters do it
    /// at once, others one by one.
    ///
    /// ```
    /// use gardenia::{AnyFilter, CountMin, Digest};
    /// let mut any = AnyFilter::from(CountMin::new(0.01, 0.01)?);
    /// any.insert_digest_times(Digest(1), 1_000_000_000)?;
    /// assert_eq!(any.as_count().unwrap().count_digest(Digest(1)), 1_000_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the count does not fit the cells, which have not changed then; or the filter is full, and
    /// has those that fitted.
    pub fn insert_digest_times(&mut self, digest: Digest, times: u64) -> Result<(), Error> {
        match self {
            Self::CountMin(filter) => _ = filter.add_digest(digest, times),
            Self::Counting(filter) => _ = filter.insert_digest_times(digest, times)?,
            Self::Spectral(filter) => _ = filter.insert_digest_times(digest, times)?,
            filter => {
                for _ in 0..times {
                    filter.insert_digest(digest)?;
                }
            }
        }
        Ok(())
    }

    /// As [`insert_digests`](Self::insert_digests), but where the filter holds no further copy of a
    /// key ([`Full::copies`](crate::Full::copies)), leaves that copy out and goes on: how many were
    /// left out.
    ///
    /// A copy that was left out cannot be removed. Of filters that hold any number of copies none
    /// is.
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
            Self::Infini(filter) => Ok(filter.insert_digests_capped(digests, new)?),
            filter => filter.insert_digests(digests, new).map(|()| 0),
        }
    }

    /// Removes the key with this digest once; `None` if this filter cannot remove keys.
    ///
    /// ```
    /// use gardenia::{Ability, AnyFilter, CountingBloom, Filter};
    /// let mut filter = CountingBloom::new(100, 0.01)?;
    /// filter.insert("rose");
    /// let mut any = AnyFilter::from(filter);
    /// let digest = any.hasher().digest_key("rose");
    /// assert_eq!(any.as_count().unwrap().count_digest(digest), 1);
    /// assert_eq!(any.remove_digest(digest), Some(Ok(())));
    /// assert!(any.can(Ability::Remove) && !any.contains_digest(digest));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn remove_digest(&mut self, digest: Digest) -> Option<Result<(), RemoveError>> {
        each_able!(remove, self, filter => filter.remove_if(digest), None)
    }

    /// Merges the keys of `other` into this filter: all keys of both are found afterwards, and
    /// counts add up. `None` if this filter [`can`](Self::can)not be merged; an error says what
    /// differs, and nothing has changed then.
    ///
    /// ```
    /// use gardenia::{AnyFilter, CountingBloom, Filter};
    /// let (mut a, mut b) = (CountingBloom::new(10, 0.01)?, CountingBloom::new(10, 0.01)?);
    /// a.insert("rose");
    /// b.insert("rose");
    /// let (mut both, other) = (AnyFilter::from(a), AnyFilter::from(b));
    /// assert!(both.merge(&other).unwrap().is_ok());
    /// assert_eq!(both.count("rose").unwrap(), 2);
    /// let small = AnyFilter::from(CountingBloom::new(5, 0.01)?);
    /// assert_eq!(both.merge(&small).unwrap().unwrap_err().what, "cells");
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        if !self.can(Ability::Merge) {
            return None;
        }
        each_pair!(merge, (&mut *self, other), ours, theirs => ours.merge_if(theirs))
    }

    /// How many keys this filter and `other` have in common, estimated from their cells and those
    /// of their union. The filter is used up: it becomes the union on the way. `None` of kinds
    /// whose cells do not tell it; an error says what differs.
    ///
    /// ```
    /// use gardenia::{AnyFilter, BlockedBloom};
    /// let (mut a, mut b) = (BlockedBloom::new(3_000, 0.01)?, BlockedBloom::new(3_000, 0.01)?);
    /// (0..2_000u32).for_each(|key| _ = a.insert(key));
    /// (1_500..3_000u32).for_each(|key| _ = b.insert(key));
    /// let both = AnyFilter::from(a).overlap(&AnyFilter::from(b)).unwrap().unwrap();
    /// assert!((both.common.items - 500.0).abs() < 5.0 * both.common.std_error);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn overlap(mut self, other: &Self) -> Option<Result<Overlap, Mismatch>> {
        // Kinds of which each key uses as many cells as any other.
        let told = |filter: &Self| match filter {
            Self::Spectral(filter) if filter.secondary_cells() > 0 => None,
            Self::Bloom(_) | Self::Blocked(_) | Self::SplitBlock(_) => filter.estimated_items(),
            Self::Compressed(_) | Self::Counting(_) | Self::Spectral(_) => filter.estimated_items(),
            _ => None,
        };
        let (id, of_a, of_b) = (self.identity(), told(&self)?, told(other)?);
        if let Err(mismatch) = self.merge(other)? {
            return Some(Err(mismatch));
        }
        Some(Ok(overlap(id.cells, id.hashes, of_a, of_b, told(&self)?)))
    }

    /// Keeps the bits that `other` has too: every key of both is still found, at a false-positive
    /// rate above that of a filter of the common keys. `None` if filters of this kind cannot be
    /// intersected; an error says what differs, and nothing has changed then.
    ///
    /// ```
    /// use gardenia::{AnyFilter, BlockedBloom, Filter};
    /// let (mut a, mut b) = (BlockedBloom::new(10, 1e-6)?, BlockedBloom::new(10, 1e-6)?);
    /// a.insert_many(&["rose", "tulip"]);
    /// b.insert_many(&["rose", "lily"]);
    /// let mut common = AnyFilter::from(a);
    /// assert!(common.intersect_with(&AnyFilter::from(b)).unwrap().is_ok());
    /// assert_eq!(common.contains_many(&["rose", "tulip", "lily"]), [true, false, false]);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn intersect_with(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        if !self.can(Ability::Intersect) {
            return None;
        }
        each_pair!(intersect, (&mut *self, other), ours, theirs => Some(ours.intersect_with(theirs)))
    }

    /// Bytes of memory that the cells take at most once this many more keys are in; of kinds that
    /// do not grow, those that they take now. For who must know before it happens: insertion itself
    /// takes what it needs.
    ///
    /// Cells of a spectral filter that are as wide as their counts need are not counted ahead.
    ///
    /// ```
    /// use gardenia::{AnyFilter, ScalableBloom};
    /// let mut any = AnyFilter::from(ScalableBloom::builder().fpp(0.01).items(100).build()?);
    /// let (now, most) = (any.memory_bytes() as u64, any.memory_after(1_000));
    /// assert!(now == any.memory_after(100) && most > 8 * now);
    /// (0..1_000u32).for_each(|key| _ = any.insert(key));
    /// assert!((any.memory_bytes() as u64) <= most);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn memory_after(&self, keys: u64) -> u64 {
        let more = match self {
            // Its levels grow, and its counts end.
            Self::Bitwise(filter) => filter.bytes_for(keys),
            filter => each_able!(grow, filter, filter => filter.bytes_for(keys), 0),
        };
        (self.memory_bytes() as u64).saturating_add(more)
    }

    /// Removes all keys, and keeps size, options and metadata; false, and nothing changes, if the
    /// filter is built from all its keys at once.
    ///
    /// ```
    /// use gardenia::{AnyFilter, BlockedBloom};
    /// let mut any = AnyFilter::from(BlockedBloom::new(10, 0.01)?);
    /// any.insert("rose").unwrap();
    /// assert!(any.clear() && any.is_empty());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn clear(&mut self) -> bool {
        each_able!(insert, self, filter => {
            filter.clear();
            true
        }, false)
    }

    /// The same filter for many threads that insert at once; nothing is copied. A filter that
    /// cannot be shared ([`Ability::Share`]) comes back as it was.
    #[allow(clippy::result_large_err, reason = "the filter itself comes back")]
    pub fn into_shared(self) -> Result<SharedFilter, Self> {
        if !self.can(Ability::Share) {
            return Err(self);
        }
        Ok(
            each_able!(share, self, filter => SharedFilter::new(filter.into_shared()), unreachable!("the table says which can")),
        )
    }

    /// What the filter was made for, to be changed.
    pub fn about_mut(&mut self) -> &mut About {
        each!(self, filter => filter.about_mut())
    }
}

/// Memory that a filter of any kind can be in: its own, a slice of bytes, or a mapped file.
///
/// Each is written out and none is generic, so that the loops of all kinds are compiled in this
/// crate, once, and not again in every program; inlined there, a function would bring its table of
/// methods along. A call is an indirect one, per key or per batch.
pub trait Held: Memory + sealed::Held<Self> + Sized {}

impl<M: sealed::Held<M>> Held for M {}

#[allow(private_interfaces, reason = "nobody outside can name the trait")]
mod sealed {
    use super::*;

    pub trait Held<M>: Memory {
        fn as_filter(any: &AnyFilter<M>) -> &dyn Filter;
        fn as_stored(any: &AnyFilter<M>) -> &dyn Stored;
        fn as_look(any: &AnyFilter<M>) -> &dyn Explain;
        fn as_debug(any: &AnyFilter<M>) -> &dyn core::fmt::Debug;
        fn as_count(any: &AnyFilter<M>) -> Option<&dyn Count>;
        fn identity(any: &AnyFilter<M>) -> Identity;
        fn hasher(any: &AnyFilter<M>) -> &KeyHasher;
        fn about(any: &AnyFilter<M>) -> &About;
        fn fill(any: &AnyFilter<M>) -> f64;
        fn fpp(any: &AnyFilter<M>) -> f64;
        fn memory_bytes(any: &AnyFilter<M>) -> usize;
        fn estimated_items(any: &AnyFilter<M>) -> Option<Estimate>;
        fn get_digests(any: &AnyFilter<M>, digests: &[Digest], values: &mut [Option<u32>]) -> bool;
    }

    macro_rules! held {
        ($memory:ty) => {
            impl Held<Self> for $memory {
                #[inline(never)]
                fn as_filter(any: &AnyFilter<Self>) -> &dyn Filter {
                    each!(any, filter => filter)
                }
                #[inline(never)]
                fn as_stored(any: &AnyFilter<Self>) -> &dyn Stored {
                    each!(any, filter => filter)
                }
                #[inline(never)]
                fn as_look(any: &AnyFilter<Self>) -> &dyn Explain {
                    each!(any, filter => filter)
                }
                #[inline(never)]
                fn as_debug(any: &AnyFilter<Self>) -> &dyn core::fmt::Debug {
                    each!(any, filter => filter)
                }
                #[inline(never)]
                fn as_count(any: &AnyFilter<Self>) -> Option<&dyn Count> {
                    each_able!(count, any, filter => Some(filter), None)
                }
                #[inline(never)]
                fn identity(any: &AnyFilter<Self>) -> Identity {
                    each!(any, filter => filter.identity())
                }
                #[inline(never)]
                fn hasher(any: &AnyFilter<Self>) -> &KeyHasher {
                    each!(any, filter => filter.hasher())
                }
                #[inline(never)]
                fn about(any: &AnyFilter<Self>) -> &About {
                    each!(any, filter => filter.about())
                }
                #[inline(never)]
                fn fill(any: &AnyFilter<Self>) -> f64 {
                    each!(any, filter => filter.fill())
                }
                #[inline(never)]
                fn fpp(any: &AnyFilter<Self>) -> f64 {
                    each!(any, filter => filter.fpp())
                }
                #[inline(never)]
                fn memory_bytes(any: &AnyFilter<Self>) -> usize {
                    each!(any, filter => filter.memory_bytes())
                }
                #[inline(never)]
                fn estimated_items(any: &AnyFilter<Self>) -> Option<Estimate> {
                    each_able!(estimate, any, filter => Some(filter.estimated_items()), None)
                }
                #[inline(never)]
                fn get_digests(
                    any: &AnyFilter<Self>,
                    digests: &[Digest],
                    values: &mut [Option<u32>],
                ) -> bool {
                    each_able!(map, any, filter => {
                        filter.get_digests(digests, values);
                        true
                    }, false)
                }
            }
        };
    }
    held!(Owned);
    held!(Bytes<&[u8]>);
    #[cfg(feature = "mmap")]
    held!(Bytes<crate::format::Mapped>);
}

impl<M: Held> AnyFilter<M> {
    /// Whether this filter can do it: what its kind can do, unless its form cannot.
    ///
    /// ```
    /// use gardenia::filter::MinimumIncrease;
    /// use gardenia::{Ability, AnyFilter, SpectralBloom};
    /// let filter = SpectralBloom::builder().items(9).fpp(0.1).policy(MinimumIncrease).build()?;
    /// let any = AnyFilter::from(filter.into_any());
    /// assert!(any.can(Ability::Count) && !any.can(Ability::Remove));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn can(&self, ability: Ability) -> bool {
        let in_this_form = match (self, ability) {
            (Self::Spectral(filter), Ability::Remove) => filter.policy() != PolicyId::MinimumIncrease,
            (Self::Spectral(filter), Ability::Merge) => filter.policy() != PolicyId::RecurringMinimum,
            (Self::Choice(filter), Ability::Merge) => matches!(filter.form(), ChoiceForm::Groups { .. }),
            _ => true,
        };
        in_this_form && self.kind().can(ability)
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        M::identity(self)
    }

    /// The spec of a filter like this one, with everything filled in but a secret. A filter that is
    /// built by it from the same keys is the same, and one from other keys can be merged with it,
    /// if its kind can be merged. `None` if another program made it.
    ///
    /// How much effort a filter with choices took is not stored, and not part of it.
    ///
    /// ```
    /// use gardenia::{AnyFilter, Cuckoo};
    /// let spec = AnyFilter::from(Cuckoo::new(1_000, 0.01)?).spec().unwrap();
    /// assert_eq!(spec.to_string(), "cuckoo items=1000 planned-fpp=0.01 cells=1136 width=10 seed=0");
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn spec(&self) -> Option<Spec> {
        let Identity { kind, hasher, mark, scheme, hashes, cells, width } = self.identity();
        let mut spec = match hasher {
            HasherId::Xxh3 => Spec::new(kind).seed(mark),
            HasherId::Sip13 => Spec::new(kind),
            HasherId::Xxh64 if kind.params().contains(&Param::Hasher) => Spec::new(kind).seed(mark),
            _ => return None,
        };
        let (params, about) = (kind.params(), self.about());
        let size = [Param::Cells, Param::Bits].into_iter().find(|size| params.contains(size));
        // Kinds without a size are made for a rate.
        let rate =
            if size.is_none() && params.contains(&Param::Fpp) { Param::Fpp } else { Param::PlannedFpp };
        for (param, value) in [
            (Param::Items, (about.planned_items() > 0).then(|| about.planned_items().into())),
            (rate, (about.planned_fpp() > 0.0).then(|| about.planned_fpp().into())),
            (size.unwrap_or(Param::Cells), Some(cells.into())),
            (Param::Hashes, Some(hashes.into())),
            (Param::Width, Some(width.into())),
            (Param::Scheme, scheme.map(|scheme| scheme.name().into())),
            (Param::Hasher, (hasher != HasherId::Sip13).then(|| hasher.name().into())),
        ] {
            if let Some(value) = value.filter(|_: &Value| params.contains(&param)) {
                spec = spec.with(param, value);
            }
        }
        M::as_stored(self).options(&mut spec);
        Some(spec)
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        M::hasher(self)
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        M::about(self)
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        M::fill(self)
    }

    /// The current false-positive rate.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        M::fpp(self)
    }

    /// How many distinct keys are in the filter, estimated; `None` if this kind cannot estimate it.
    #[must_use]
    pub fn estimated_items(&self) -> Option<Estimate> {
        M::estimated_items(self)
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        each!(self, filter => filter.is_empty())
    }

    /// Whether `key` may be present.
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher().digest_key(&key))
    }

    /// Answers for all keys in order, probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        M::as_filter(self).contains_many(keys)
    }

    /// How often `key` was inserted, by the filter's estimate; `None` if this kind does not count.
    #[must_use]
    pub fn count(&self, key: impl Key) -> Option<u64> {
        self.as_count().map(|counts| counts.count_digest(self.hasher().digest_key(&key)))
    }

    /// The filter as one that counts; `None` if this kind does not.
    #[must_use]
    pub fn as_count(&self) -> Option<&dyn Count> {
        M::as_count(self)
    }

    /// The values of the keys with these digests, `None` of keys that are certainly absent; false,
    /// and nothing is written, if this kind holds no values.
    ///
    /// ```
    /// use gardenia::{Digest, Spec};
    /// let map = "bloomier".parse::<Spec>()?.build_map(&[Digest(1), Digest(2)], &[7, 8])?;
    /// let mut values = [None; 2];
    /// assert!(gardenia::AnyFilter::from(map).get_digests(&[Digest(2), Digest(1)], &mut values));
    /// assert_eq!(values, [Some(8), Some(7)]);
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    ///
    /// # Panics
    /// If this kind holds values, and `values` is not as long as `digests`.
    pub fn get_digests(&self, digests: &[Digest], values: &mut [Option<u32>]) -> bool {
        M::get_digests(self, digests, values)
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        M::memory_bytes(self)
    }

    /// A copy in memory of its own; where `clone` would end the process because memory is short,
    /// this is an error. So is [`EncodeError::NotPortable`]: the copy goes by way of what a file
    /// would hold.
    ///
    /// ```
    /// let filter = "blocked items=1000".parse::<gardenia::Spec>()?.build()?;
    /// assert!(filter.try_clone()? == filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_clone(&self) -> Result<AnyFilter, Error> {
        format::methods::try_clone(self, self.hasher())
    }

    /// Checks what must hold of the cells beside the checksums, for filters that are viewed or
    /// mapped and not loaded: so far that no slice of a scalable filter claims more keys than it
    /// has bits set. Reads all of them.
    ///
    /// ```
    /// use gardenia::{AnyFilter, ScalableBloom};
    /// let bytes = ScalableBloom::new(0.01)?.to_bytes().unwrap();
    /// assert!(AnyFilter::view(&bytes).unwrap().check_cells().is_ok());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn check_cells(&self) -> Result<(), DecodeError> {
        match self {
            Self::Scalable(filter) => filter.check_cells(),
            Self::ScalableBlocked(filter) => filter.check_cells(),
            _ => Ok(()),
        }
    }
}

impl<M: Held> core::fmt::Debug for AnyFilter<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        M::as_debug(self).fmt(f)
    }
}

impl<M: Held> Filter for AnyFilter<M> {
    fn hasher(&self) -> &KeyHasher {
        AnyFilter::hasher(self)
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        M::as_filter(self).contains_digest(digest)
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        M::as_filter(self).contains_digests(digests, out);
    }
}

impl<M: Held> Stored for AnyFilter<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        M::as_stored(self).header()
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        M::as_stored(self).sections()
    }
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        M::as_stored(self).payload()
    }
}

impl Restore for AnyFilter {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        Ok(of_kind!(header, Restore::restore(header, options)?))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        each!(self, filter => filter.sections_mut())
    }
    fn check(&self) -> Result<(), DecodeError> {
        each!(self, filter => filter.check())
    }
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        Ok(of_kind!(header, Restore::read(header, options, fill)?))
    }
}

impl<B: Cut> Attach<B> for AnyFilter<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        Ok(of_kind!(header, Attach::attach(header, options, payload)?))
    }
}

/// Spectral filters whose policy is a type.
macro_rules! from_spectral {
    ($($policy:ident)+) => {$(
        impl<M: Memory> From<SpectralBloom<$policy, M>> for AnyFilter<M> {
            fn from(filter: SpectralBloom<$policy, M>) -> Self {
                Self::Spectral(filter.into_any())
            }
        }
    )+};
}
from_spectral!(MinimumSelection MinimumIncrease RecurringMinimum);

/// What an insertion of a batch returns: nothing, or that the filter was full.
trait Inserted {
    fn inserted(self) -> Result<(), InsertError>;
}

impl Inserted for () {
    fn inserted(self) -> Result<(), InsertError> {
        Ok(())
    }
}

impl Inserted for Result<(), Full> {
    fn inserted(self) -> Result<(), InsertError> {
        Ok(self?)
    }
}

/// Removal, of filters that can in some form.
trait RemoveIf {
    fn remove_if(&mut self, digest: Digest) -> Option<Result<(), RemoveError>>;
}

impl<F: Remove> RemoveIf for F {
    fn remove_if(&mut self, digest: Digest) -> Option<Result<(), RemoveError>> {
        Some(self.remove_digest(digest))
    }
}

impl RemoveIf for SpectralBloom<PolicyId> {
    fn remove_if(&mut self, digest: Digest) -> Option<Result<(), RemoveError>> {
        self.try_remove_digest(digest)
    }
}

/// Merging, of filters that can in some form.
trait MergeIf: Sized {
    fn merge_if(&mut self, other: &Self) -> Option<Result<(), Mismatch>>;
}

impl<F: Merge> MergeIf for F {
    fn merge_if(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        Some(self.merge(other))
    }
}

impl MergeIf for SpectralBloom<PolicyId> {
    fn merge_if(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        self.try_merge(other)
    }
}

impl MergeIf for ChoiceBloom<AnyScheme> {
    fn merge_if(&mut self, other: &Self) -> Option<Result<(), Mismatch>> {
        Some(self.union_with(other))
    }
}

format::stored_methods!(AnyFilter<M> where M: Held);
format::read_methods!(AnyFilter);
