//! From options to a filter: a [`Spec`] is a kind and its options, for every front end.
//!
//! The command line, `GD.RESERVE` and bindings parse their own syntax into a `Spec`; what an option
//! means, which kinds have it, what is filled in where it is left out and which options exclude
//! each other is decided here, once.
//!
//! ```
//! use gardenia::{Filter, Spec};
//! let spec: Spec = "cuckoo items=1M fpp=0.1%".parse()?;
//! assert_eq!(spec.to_string(), "cuckoo items=1000000 fpp=0.001");
//! assert_eq!(spec.filled()?.to_string(), "cuckoo items=1000000 planned-fpp=0.001 cells=1054704 width=13 seed=0");
//! let mut filter = spec.build()?;
//! let digest = filter.hasher().digest_key("rose");
//! filter.insert_digests(&[digest], &mut [false])?;
//! assert!(filter.contains_digest(digest));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub mod number;
mod param;
#[cfg(feature = "serde")]
mod serde;

pub use error::SpecError;
pub use param::{Param, Takes, Value};

use crate::filter::About;
use crate::hash::{Digest, HasherId, KeyHasher, SecretKey};
use crate::index::{AnyScheme, Scheme, SchemeId};
use crate::kinds::{Ability, AnyFilter, Kind};
use crate::plan::{Figures, Goal, sizes};
use crate::theory::bloom::Shape;
use crate::{BuildError, SizeError};
use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use error::pieces;

/// The false-positive rate where none is asked for.
pub const DEFAULT_FPP: f64 = 0.01;

/// A kind of filter and its options. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Spec {
    kind: Kind,
    values: [Option<Value>; Param::ALL.len()],
    secret: Option<SecretKey>,
}

/// What a filter takes before it is built, and what it promises.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Size {
    /// Bytes of memory; of kinds that grow, of their first part.
    pub bytes: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// The false-positive rate once the planned keys are in; `None` if none are planned.
    pub fpp: Option<f64>,
    /// What the rate of the built filter, fixed by the cells that happen to be set, stays below
    /// with the probability [`CONFIDENCE`](Self::CONFIDENCE) once the planned keys are in: the
    /// [`bound`](crate::plan::Design::bound) of a design. Of kinds that grow part by part, while
    /// only the first part is filled; `None` where `fpp` is.
    pub bound: Option<f64>,
}

impl Size {
    /// How sure `bound` is: 99.9 %.
    pub const CONFIDENCE: f64 = 0.999;
}

/// How a kind is built from its options: what each line of the table of kinds brings along, in the
/// file of its filter.
pub(crate) trait FromSpec: core::marker::Sized {
    /// Fills in what was left open, up to the shape, so that nothing depends on how filters are
    /// sized. `spec` was checked.
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError>;
    /// What a filled spec takes and promises: bytes of memory, bytes of parameters and payload in a
    /// file, and the rate.
    fn measure(spec: &Spec) -> Result<Measure, SizeError>;
    /// What the rate of one built filter stays below with probability `confidence`, if `fpp` is
    /// what [`measure`](Self::measure) promises. Unless said, each of n keys collides alone.
    fn bound(_spec: &Spec, fpp: f64, _confidence: f64) -> Result<f64, SizeError> {
        Ok(sizes::sum_bound(fpp))
    }
    /// The empty filter of a filled spec.
    fn empty(_spec: &Spec) -> Result<Self, SizeError> {
        Err(SizeError::Conflict("a filter of this kind is built from all its keys at once"))
    }
    /// The filter of all keys at once; kinds that insert do it one by one.
    fn from_digests(_: &Spec, _: Vec<Digest>, _: &mut Watch<'_>) -> Result<Self, BuildError> {
        Err(SizeError::Conflict("a filter of this kind needs more than keys").into())
    }
    /// Designs for what is asked, or why there is none; nothing if the kind does not fit.
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || goal.by_spec(kind))
    }
    /// Bytes that building from this many keys takes beside the filter and their digests.
    fn working_bytes(spec: &Spec, keys: u64) -> u64 {
        if spec.kind.can(Ability::Fixed) { keys.saturating_mul(FIXED_BYTES) } else { 0 }
    }
}

/// Bytes per key that building a static table takes, at most, beside the digests.
const FIXED_BYTES: u64 = 32;

/// How far building has come, for kinds that take long: what is being done, and how many of its
/// steps are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// What is being done.
    pub doing: &'static str,
    /// Steps that are done.
    pub done: u64,
    /// Steps in all.
    pub all: u64,
    /// The share of cells that are set.
    pub fill: f64,
}

/// Called with the progress of building.
pub type Watch<'a> = dyn FnMut(Step) + 'a;

/// See [`FromSpec::measure`].
pub(crate) struct Measure {
    pub(crate) memory: u64,
    pub(crate) params: u64,
    pub(crate) payload: u64,
    pub(crate) fpp: Option<f64>,
}

/// Bytes of this many bits.
pub(crate) fn bit_bytes(bits: u64) -> u64 {
    bits.div_ceil(64).saturating_mul(8)
}

/// Bytes of cells that do not cross words; a width that no cell has is refused when the filter is
/// built.
pub(crate) fn cell_bytes(cells: u64, width: u32) -> u64 {
    cells.div_ceil(u64::from(64 / width.clamp(1, 32))).saturating_mul(8)
}

impl Measure {
    /// Of filters that are stored as they are in memory.
    pub(crate) fn as_stored(memory: u64, params: u64, fpp: Option<f64>) -> Self {
        Self { memory, params, payload: memory, fpp }
    }
}

impl Spec {
    /// A filter of this kind, with all options open.
    ///
    /// ```
    /// use gardenia::{Kind, Spec};
    /// let filter = Spec::new(Kind::Bloom).items(1_000).fpp(0.01).build()?;
    /// assert_eq!(filter.about().planned_items(), 1_000);
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn new(kind: Kind) -> Self {
        Self { kind, values: [None; Param::ALL.len()], secret: None }
    }

    /// The kind with this name, in any case, and what the name says beside it: `spectral-mi` is the
    /// kind `spectral` with the policy of minimum increase.
    ///
    /// ```
    /// use gardenia::Spec;
    /// assert_eq!(Spec::named("spectral-mi").unwrap().to_string(), "spectral policy=minimum-increase");
    /// assert!(Spec::named("rose").is_none());
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let known = |kind: &Kind| kind.name().eq_ignore_ascii_case(name);
        match Kind::ALL.into_iter().find(known) {
            Some(kind) => Some(Self::new(kind)),
            None => {
                let mut presets = crate::kinds::PRESETS.into_iter();
                let (_, kind, option, _) = presets.find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
                let spec = Self::new(kind);
                Some(option.into_iter().fold(spec, |spec, (param, value)| spec.with(param, value)))
            }
        }
    }

    /// All names that [`named`](Self::named) knows, each with what it stands for in a sentence.
    ///
    /// ```
    /// use gardenia::Spec;
    /// assert!(Spec::names().all(|(name, _)| Spec::named(name).is_some()));
    /// ```
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        let kinds = Kind::ALL.into_iter().map(|kind| (kind.name(), kind.summary()));
        kinds.chain(crate::kinds::PRESETS.into_iter().map(|(name, .., summary)| (name, summary)))
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The value of an option, if it is given.
    #[must_use]
    pub fn get(&self, param: Param) -> Option<Value> {
        self.values[param as usize]
    }

    /// Sets an option; a whole number may be a real one (`1e6`), and a level its place.
    ///
    /// ```
    /// use gardenia::{Kind, Spec, spec::Param};
    /// let spec = Spec::new(Kind::Counting).with(Param::Cells, 900_u64).with(Param::Hashes, 3_u32).with(Param::Scheme, "double");
    /// assert_eq!(spec.to_string(), "counting cells=900 hashes=3 scheme=double");
    /// ```
    pub fn with(mut self, param: Param, value: impl Into<Value>) -> Self {
        self.values[param as usize] = Some(param.takes().fitted(value.into()));
        self
    }

    /// Reads an option as people write it.
    ///
    /// ```
    /// use gardenia::{Kind, Spec, spec::Param};
    /// let spec = Spec::new(Kind::Bloom).parse_option(Param::Fpp, "1/1000")?;
    /// assert_eq!(spec.to_string(), "bloom fpp=0.001");
    /// assert!(Spec::new(Kind::Bloom).parse_option(Param::Fpp, "2").is_err());
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn parse_option(self, param: Param, text: &str) -> Result<Self, SpecError> {
        let wrong = |expected| {
            let what = pieces!["", param, alloc::format!(" is {text:?}")];
            SpecError::new(what, pieces![expected]).about(param)
        };
        let value = match param.takes() {
            Takes::Nothing if text.is_empty() => Value::Given,
            takes => takes.parse(text).map_err(wrong)?,
        };
        Ok(self.with(param, value))
    }

    /// Keys to make room for.
    pub fn items(self, items: u64) -> Self {
        self.with(Param::Items, items)
    }

    /// False-positive rate once they are in.
    pub fn fpp(self, fpp: f64) -> Self {
        self.with(Param::Fpp, fpp)
    }

    /// The scheme.
    pub fn scheme(self, scheme: SchemeId) -> Self {
        self.with(Param::Scheme, scheme.name())
    }

    /// Seed of the hash function.
    pub fn seed(self, seed: u64) -> Self {
        self.with(Param::Seed, seed)
    }

    /// Hash with SipHash-1-3 and this secret instead of a seed. A secret is never printed.
    pub fn secret(mut self, secret: SecretKey) -> Self {
        self.secret = Some(secret);
        self
    }

    /// An error if options are out of range, useless for the kind, or exclude each other; it says
    /// what to change.
    ///
    /// ```
    /// use gardenia::{Kind, Spec, spec::Param};
    /// let spec = Spec::new(Kind::Bloom).items(9).fpp(0.1).with(Param::Bits, 100_u64);
    /// assert!(spec.check().unwrap_err().to_string().starts_with("bits and fpp are both given"));
    /// ```
    pub fn check(&self) -> Result<(), SpecError> {
        for param in self.given() {
            if !self.kind.params().contains(&param) {
                let what = pieces![alloc::format!("a filter of kind {} has no ", self.kind.name()), param];
                let with = Kind::ALL.into_iter().filter(|kind| kind.params().contains(&param));
                let with: Vec<&str> = with.map(Kind::name).take(3).collect();
                let remedy =
                    alloc::format!("leave it out, or choose another kind, such as {}", with.join(", "));
                return Err(SpecError::new(what, pieces![remedy]).about(param));
            }
            let (takes, value) = (param.takes(), self.get(param));
            if !value.is_some_and(|value| takes.admits(value)) {
                let value = value.map(|value| value.to_string()).unwrap_or_default();
                let expected = takes.parse(&value).err().unwrap_or_default();
                let what = pieces![param, alloc::format!(" is {value}")];
                return Err(SpecError::new(what, pieces![expected]).about(param));
            }
        }
        for param in [Param::Seed, Param::Hasher] {
            if self.secret.is_some() && self.has(param) {
                return Err(SpecError::new(
                    pieces!["a secret and ", param, " are both given"],
                    pieces!["leave out one of them"],
                ));
            }
        }
        self.check_pairs()?;
        self.check_needs()
    }

    /// Options that exclude each other.
    fn check_pairs(&self) -> Result<(), SpecError> {
        use Param::{
            AsPrinted, Bits, Cells, Choices, Columns, Compact, Decrements, Delta, Epsilon, Fingerprint, Fpp,
            Memory, NoMarker, Width, Wire,
        };
        const SIZES: [Param; 4] = [Bits, Cells, Columns, Memory];
        let mut pairs = alloc::vec![
            (Fingerprint, Fpp),
            (Wire, Fpp),
            (Decrements, Fpp),
            (Compact, Width),
            (NoMarker, AsPrinted)
        ];
        pairs.extend(
            SIZES.iter().enumerate().flat_map(|(at, one)| SIZES[..at].iter().map(|other| (*other, *one))),
        );
        pairs.extend(SIZES.into_iter().flat_map(|size| [(size, Epsilon), (size, Delta)]));
        // A filter that forgets has a size and a rate, and what it remembers follows.
        if !self.kind.can(Ability::Forget) {
            pairs.extend([(Bits, Fpp), (Cells, Fpp)]);
        }
        if self.effort() == crate::filter::Effort::Partitioned {
            pairs.push((Param::Effort, Choices));
        }
        match pairs.into_iter().find(|(one, other)| self.has(*one) && self.has(*other)) {
            Some((one, other)) => Err(SpecError::both(one, other)),
            None => Ok(()),
        }
    }

    /// Options that need others.
    fn check_needs(&self) -> Result<(), SpecError> {
        use Param::{
            AsPrinted, Bits, Cells, Columns, Decrements, Hashes, Items, NoMarker, Policy, Rows,
            SecondaryCells, SecondaryHashes, Width,
        };
        let needs = |param: Param, needed: Vec<error::Piece>| {
            Err(SpecError::new(pieces![param, " is given alone"], needed).about(param))
        };
        let sized = self.has(Bits) || self.has(Cells) || self.memory_is_size();
        if self.has(Hashes) && !sized {
            return needs(Hashes, pieces!["give a size, too: ", Bits, " or ", Cells]);
        }
        if self.has(Rows) && !sized && !self.has(Columns) {
            return needs(Rows, pieces!["give ", Columns, " or ", Bits, ", too"]);
        }
        if self.has(Decrements) && !(self.has(Hashes) && sized) {
            return needs(Decrements, pieces!["give ", Cells, " and ", Hashes, ", too"]);
        }
        let recurring = self.policy() == crate::filter::PolicyId::RecurringMinimum;
        for param in [SecondaryCells, SecondaryHashes, NoMarker, AsPrinted] {
            if self.has(param) && !recurring {
                return needs(param, pieces!["give ", Policy, " recurring-minimum, too"]);
            }
        }
        // Fingerprints have no usual width.
        let by_width = self.kind.params().contains(&Cells) && !self.kind.params().contains(&Hashes);
        if by_width && self.has(Cells) && !self.has(Width) {
            return needs(Cells, pieces!["give ", Width, ", the bits of a fingerprint such as 12, too"]);
        }
        if self.has(Cells) && self.kind.can(Ability::Grow) && !self.has(Items) {
            return needs(Cells, pieces!["give ", Items, ", the number of keys per layer, too"]);
        }
        if self.needs_items() {
            let what = pieces![alloc::format!(
                "nothing says how large a filter of kind {} is to be",
                self.kind.name()
            )];
            return Err(SpecError::new(what, pieces!["give ", Items, ", the number of keys"]).about(Items));
        }
        Ok(())
    }

    /// Whether nothing says how large the filter is to be, so that [`items`](Self::items) must be
    /// set. A filter that is built from all its keys at once counts them itself.
    ///
    /// ```
    /// use gardenia::{Kind, Spec};
    /// assert!(Spec::new(Kind::Bloom).fpp(0.01).needs_items());
    /// assert!(!Spec::new(Kind::Scalable).needs_items() && !Spec::new(Kind::Ribbon).needs_items());
    /// ```
    #[must_use]
    pub fn needs_items(&self) -> bool {
        let params = self.kind.params();
        let sized = self.has(Param::Bits) || self.has(Param::Cells) || self.memory_is_size();
        let asked = self.has(Param::Hashes) || !params.contains(&Param::Hashes);
        let by_size = sized && (asked || self.kind.can(Ability::Forget));
        let open = self.kind.can(Ability::Grow) || self.needs_all_keys();
        params.contains(&Param::Items) && !open && !by_size && !self.has(Param::Items)
    }

    /// Whether `memory` is the size of the filter and not only the most that it may take: no rate
    /// says how much is needed, and bits can be given.
    fn memory_is_size(&self) -> bool {
        let params = self.kind.params();
        let sizable = params.contains(&Param::Bits) && !params.contains(&Param::MemoryPerKey);
        sizable && self.has(Param::Memory) && !self.has(Param::Fpp)
    }

    /// The same with everything filled in that was left open: shape, seed and all. What replicas,
    /// files and other programs need to build the same filter, whatever rules of sizing they have.
    ///
    /// ```
    /// use gardenia::Spec;
    /// let filled = "bloom items=1000".parse::<Spec>()?.filled()?;
    /// assert_eq!(filled.to_string(), "bloom items=1000 planned-fpp=0.01 bits=9596 hashes=7 scheme=fractional seed=0");
    /// assert_eq!(filled.filled()?, filled);
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and if there is no such filter, or it takes more than `memory`.
    pub fn filled(&self) -> Result<Self, SpecError> {
        self.check()?;
        let mut filled = self.clone();
        let most = filled.whole(Param::Memory);
        if let (Some(bytes), true) = (most, filled.memory_is_size()) {
            // Whole blocks: their number is rounded up.
            filled.values[Param::Memory as usize] = None;
            filled = filled.with(Param::Bits, (bytes / 64).max(1).saturating_mul(512));
        }
        crate::kinds::fill(&mut filled)?;
        if filled.secret.is_none() && !filled.has(Param::Seed) {
            filled = filled.seed(0);
        }
        filled.values[Param::Memory as usize] = None;
        // The size of a filter that is built from keys which are not known yet is checked later.
        let known = !filled.needs_all_keys() || filled.has(Param::Items);
        if let Some(most) = most.filter(|_| !self.memory_is_size() && known) {
            let needed = filled.size()?.bytes;
            if needed > most {
                let what = pieces![
                    alloc::format!("the filter needs {}, and ", number::show_bytes(needed)),
                    Param::Memory,
                    alloc::format!(" allows {}", number::show_bytes(most))
                ];
                let remedy = pieces![
                    "raise ",
                    Param::Memory,
                    " or ",
                    Param::Fpp,
                    ", or leave out ",
                    Param::Fpp,
                    " for the lowest rate that fits"
                ];
                return Err(SpecError::new(what, remedy).about(Param::Memory));
            }
        }
        Ok(filled)
    }

    /// What the filter takes, before any memory is taken.
    ///
    /// ```
    /// use gardenia::Spec;
    /// let size = "counting items=1000 fpp=1%".parse::<Spec>()?.size()?;
    /// assert_eq!(size.bytes, 4_800);
    /// assert!(size.fpp.unwrap() <= 0.01);
    /// // 999 filters of 1,000 have a rate below this.
    /// assert!((0.0115..0.0118).contains(&size.bound.unwrap()));
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn size(&self) -> Result<Size, SpecError> {
        let filled = self.filled_once()?;
        let Measure { memory, params, payload, fpp } = crate::kinds::measure(&filled)?;
        let bound = fpp.map(|fpp| {
            let bound = crate::kinds::bound(&filled, fpp, Size::CONFIDENCE)?;
            Ok::<_, SizeError>(bound.max(fpp).min(1.0))
        });
        let bound = bound.transpose()?;
        Ok(Size { bytes: memory, file_bytes: crate::format::file_bytes(params, payload), fpp, bound })
    }

    /// Filled in; as it is if it was so already.
    fn filled_once(&self) -> Result<Self, SpecError> {
        if self.has(Param::Memory) {
            self.filled()
        } else {
            self.check()?;
            let mut filled = self.clone();
            crate::kinds::fill(&mut filled)?;
            Ok(filled)
        }
    }

    /// The empty filter, for keys that are added one by one.
    ///
    /// # Errors
    ///
    /// As [`filled`](Self::filled); and if the kind is built from all its keys at once, or memory
    /// cannot be allocated.
    pub fn build(&self) -> Result<AnyFilter, SpecError> {
        self.check_insertable()?;
        let filled = self.filled()?;
        let mut filter = crate::kinds::empty(&filled)?;
        filled.note_plan(filter.about_mut());
        Ok(filter)
    }

    /// An error if the filter is built from all its keys at once, so that it has no empty form.
    pub fn check_insertable(&self) -> Result<(), SpecError> {
        if !self.needs_all_keys() {
            return Ok(());
        }
        let what = alloc::format!("a filter of kind {} is built from all its keys at once", self.kind.name());
        let remedy = match self.has(Param::Effort) {
            true => pieces!["leave out ", Param::Effort, ", or hand it the keys"],
            false => pieces!["hand it the keys"],
        };
        Err(SpecError::new(pieces![what], remedy))
    }

    /// An error if filters of this spec that were filled apart cannot be merged: of the parts of a
    /// job on many machines, say.
    ///
    /// ```
    /// use gardenia::Spec;
    /// assert!("blocked items=1M".parse::<Spec>()?.check_mergeable().is_ok());
    /// let error = "cuckoo items=1M".parse::<Spec>()?.check_mergeable().unwrap_err().to_string();
    /// assert!(error.starts_with("filters of kind cuckoo that were filled apart cannot be merged: use another kind, such as bloom"));
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn check_mergeable(&self) -> Result<(), SpecError> {
        self.check_insertable()?;
        if self.policy() == crate::filter::PolicyId::RecurringMinimum {
            let what = "spectral filters of the policy recurring-minimum cannot be merged";
            let remedy = pieces!["use another ", Param::Policy, ", such as minimum-selection"];
            return Err(SpecError::new(pieces![what], remedy).about(Param::Policy));
        }
        if self.kind.can(Ability::Merge) {
            return Ok(());
        }
        let name = self.kind.name();
        let what = alloc::format!("filters of kind {name} that were filled apart cannot be merged");
        let able = |kind: &Kind| kind.can(Ability::Merge) && kind.holds_keys();
        let able: Vec<&str> = Kind::ALL.into_iter().filter(able).map(Kind::name).take(4).collect();
        let remedy = alloc::format!("use another kind, such as {}", able.join(", "));
        Err(SpecError::new(pieces![what], pieces![remedy]))
    }

    /// The filter of these keys, of any kind; the digests come from [`hasher`](Self::hasher).
    /// Without `items` it is sized for as many keys as there are.
    ///
    /// ```
    /// use gardenia::{Filter, Spec};
    /// let spec: Spec = "ribbon fpp=0.1%".parse()?;
    /// let keys: Vec<_> = (0..1_000u32).map(|key| spec.hasher().digest_key(&key)).collect();
    /// let filter = spec.build_from(&keys)?;
    /// assert!(keys.iter().all(|key| filter.contains_digest(*key)));
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build); and if not all keys fit, or a table cannot be built.
    pub fn build_from<'d>(&self, digests: impl Into<Cow<'d, [Digest]>>) -> Result<AnyFilter, SpecError> {
        self.build_from_with(digests, &mut |_| {})
    }

    /// As [`build_from`](Self::build_from), and reports how far it has come.
    pub fn build_from_with<'d>(
        &self,
        digests: impl Into<Cow<'d, [Digest]>>,
        watch: &mut Watch<'_>,
    ) -> Result<AnyFilter, SpecError> {
        let digests = digests.into();
        let spec = self.for_keys(digests.len() as u64);
        if spec.needs_all_keys() {
            return Ok(crate::kinds::from_digests(&spec.filled()?, digests.into_owned(), watch)?);
        }
        let mut filter = spec.build()?;
        let mut new = alloc::vec![false; digests.len().min(4096)];
        for digests in digests.chunks(4096) {
            let full = |_| {
                let what = "the filter is full before all keys are in";
                SpecError::new(pieces![what], pieces!["raise ", Param::Items]).about(Param::Items)
            };
            filter.insert_digests(digests, &mut new[..digests.len()]).map_err(full)?;
        }
        Ok(filter)
    }

    /// Figures for this many keys, where nothing else says how large the filter is to be.
    pub(crate) fn for_keys(&self, keys: u64) -> Self {
        let counted = self.kind.params().contains(&Param::Items) && self.needs_all_keys();
        let open = counted && !self.has(Param::Items) && !self.has(Param::Hashes);
        if open || self.needs_items() { self.clone().items(keys.max(1)) } else { self.clone() }
    }

    /// Bytes that building from this many keys takes beside the filter and their digests.
    ///
    /// ```
    /// use gardenia::{Kind, Spec};
    /// assert_eq!(Spec::new(Kind::Bloom).items(1_000).working_bytes(1_000)?, 0);
    /// assert_eq!(Spec::new(Kind::Ribbon).working_bytes(1_000)?, 32_000);
    /// # Ok::<(), gardenia::spec::SpecError>(())
    /// ```
    pub fn working_bytes(&self, keys: u64) -> Result<u64, SpecError> {
        Ok(crate::kinds::working_bytes(&self.for_keys(keys).filled()?, keys)?)
    }

    /// Whether it is built from all its keys at once, by [`build_from`](Self::build_from).
    #[must_use]
    pub fn needs_all_keys(&self) -> bool {
        self.kind.can(Ability::Fixed) || self.effort() != crate::filter::Effort::Online
    }

    /// The hash function.
    #[must_use]
    pub fn hasher(&self) -> KeyHasher {
        match &self.secret {
            Some(secret) => KeyHasher::sip13(secret.clone()),
            None => {
                let seed = self.whole(Param::Seed).unwrap_or(0);
                let old = self.word(Param::Hasher) == Some(HasherId::Xxh64.name());
                if old { KeyHasher::xxh64(seed) } else { KeyHasher::xxh3(seed) }
            }
        }
    }

    /// The seed or the secret of a hash function.
    pub(crate) fn hashed_by(mut self, hasher: KeyHasher) -> Self {
        match hasher {
            KeyHasher::Sip13 { secret } => self.secret = Some(secret),
            KeyHasher::Xxh3 { seed } if seed != 0 => self = self.seed(seed),
            KeyHasher::Xxh64 { seed } if self.kind.params().contains(&Param::Hasher) => {
                self = self.seed(seed).with(Param::Hasher, HasherId::Xxh64.name());
            }
            _ => {}
        }
        self
    }

    /// What the filter is made for, as it was asked for.
    fn note_plan(&self, about: &mut About) {
        if let (Some(items), Some(fpp)) = (self.whole(Param::Items), self.real(Param::PlannedFpp)) {
            about.plan(items, fpp);
        }
    }

    /// The options that are given.
    pub fn given(&self) -> impl Iterator<Item = Param> + '_ {
        Param::ALL.into_iter().filter(|param| self.has(*param))
    }

    /// Whether an option is given.
    #[must_use]
    pub fn has(&self, param: Param) -> bool {
        self.get(param).is_some()
    }

    /// The value of an option that is a whole number or a size.
    #[must_use]
    pub fn whole(&self, param: Param) -> Option<u64> {
        if let Some(Value::Whole(value)) = self.get(param) { Some(value) } else { None }
    }

    /// A whole number below 2³²; a larger one is the largest, which no kind accepts.
    pub(crate) fn small(&self, param: Param) -> Option<u32> {
        self.whole(param).map(|value| u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// The value of an option that is a probability or any number.
    #[must_use]
    pub fn real(&self, param: Param) -> Option<f64> {
        if let Some(Value::Real(value)) = self.get(param) { Some(value) } else { None }
    }

    pub(crate) fn word(&self, param: Param) -> Option<&'static str> {
        if let Some(Value::Word(word)) = self.get(param) { Some(word) } else { None }
    }

    /// The scheme, or the default.
    pub(crate) fn scheme_id(&self) -> SchemeId {
        self.word(Param::Scheme).and_then(SchemeId::from_name).unwrap_or_default()
    }

    /// The effort of a filter with choices, or the default.
    pub(crate) fn effort(&self) -> crate::filter::Effort {
        let named = |word: &str| crate::filter::Effort::ALL.into_iter().find(|effort| effort.name() == word);
        self.word(Param::Effort).and_then(named).unwrap_or_default()
    }

    /// The policy of a spectral filter, or the default.
    pub(crate) fn policy(&self) -> crate::filter::PolicyId {
        let policy = self.word(Param::Policy).and_then(crate::filter::PolicyId::from_name);
        policy.unwrap_or(crate::filter::PolicyId::MinimumSelection)
    }

    pub(crate) fn set_whole(&mut self, param: Param, value: impl Into<u64>) {
        self.values[param as usize] = Some(Value::Whole(value.into()));
    }

    /// Notes the shape that options come to; the rate that was asked for becomes a note.
    pub(crate) fn fill_shape(&mut self, size: Param, Shape { cells, hashes }: Shape) {
        if let Some(fpp) = self.values[Param::Fpp as usize].take() {
            self.default_to(Param::PlannedFpp, fpp);
        } else if !self.has(Param::Bits) && !self.has(Param::Cells) && self.has(Param::Items) {
            self.default_to(Param::PlannedFpp, Value::Real(DEFAULT_FPP));
        }
        self.values[Param::Bits as usize] = None;
        self.set_whole(size, cells);
        if self.kind.params().contains(&Param::Hashes) {
            self.set_whole(Param::Hashes, hashes);
        }
        if self.kind.params().contains(&Param::Scheme) {
            self.default_to(Param::Scheme, Value::Word(self.scheme_id().name()));
        }
        if self.kind.params().contains(&Param::Hasher) && self.secret.is_none() {
            self.default_to(Param::Hasher, Value::Word(HasherId::Xxh3.name()));
        }
    }

    /// The shape of a filled spec.
    pub(crate) fn shape(&self, size: Param) -> Shape {
        Shape { cells: self.whole(size).unwrap_or(0), hashes: self.small(Param::Hashes).unwrap_or(0) }
    }

    /// How many keys a filter that is built from all at once will have.
    pub(crate) fn expected_items(&self) -> Result<u64, SizeError> {
        self.whole(Param::Items)
            .ok_or(SizeError::Conflict("its size follows from its keys: give items to estimate it"))
    }

    /// Leaves options open again.
    pub(crate) fn forget(&mut self, params: &[Param]) {
        params.iter().for_each(|param| self.values[*param as usize] = None);
    }

    /// The rate at the planned items, if they are known.
    pub(crate) fn rate(&self, rate: impl FnOnce(u64) -> f64) -> Option<f64> {
        self.whole(Param::Items).map(rate)
    }

    /// The false-positive rate of a filter whose rate is that of a Bloom filter of its scheme.
    pub(crate) fn bloom_rate(&self, Shape { cells, hashes }: Shape) -> Option<f64> {
        self.rate(|items| AnyScheme::new(self.scheme_id(), hashes).planned_fpp(cells, items))
    }

    /// The bound on the rate of a filter as of [`bloom_rate`](Self::bloom_rate), which is `fpp`.
    pub(crate) fn bloom_bound(&self, shape: Shape, fpp: f64, confidence: f64) -> f64 {
        sizes::bloom_bound(shape, self.planned_items(), fpp, confidence)
    }

    /// The planned keys, 0 if there are none.
    pub(crate) fn planned_items(&self) -> u64 {
        self.whole(Param::Items).unwrap_or(0)
    }

    /// Sets an option that was left open.
    pub(crate) fn default_to(&mut self, param: Param, value: Value) {
        self.values[param as usize].get_or_insert(value);
    }
}

impl fmt::Display for Spec {
    /// Exactly: what is printed reads as the same spec, but for a secret, which is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        for param in self.given() {
            match self.get(param) {
                Some(Value::Given) | None => write!(f, " {param}")?,
                Some(value) => write!(f, " {param}={value}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    /// A kind, and options behind it: `cuckoo items=1M fpp=0.1%`.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let place = |word: &str| text[..word.as_ptr() as usize - text.as_ptr() as usize].chars().count();
        let mut words = text.split_whitespace().map(|word| (place(word), word));
        let kinds = || Kind::ALL.map(Kind::name).join(", ");
        let Some((at, name)) = words.next() else {
            let remedy = alloc::format!("begin with one of {}", kinds());
            return Err(SpecError::new(pieces!["a spec needs a kind"], pieces![remedy]).found_at(0));
        };
        let Some(mut spec) = Self::named(name) else {
            let what = alloc::format!("no kind of filter is called {name:?}");
            return Err(SpecError::new(pieces![what], pieces!["use one of ", kinds()]).found_at(at));
        };
        let mut places: Vec<(Param, usize)> = Vec::new();
        for (at, word) in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(param) = Param::from_word(name) else {
                let known: Vec<&str> = spec.kind.params().iter().map(|param| param.word()).collect();
                let (what, kind) = (alloc::format!("no option is called {name:?}"), spec.kind.name());
                let remedy = alloc::format!("{kind} has {}", known.join(", "));
                return Err(SpecError::new(pieces![what], pieces![remedy]).found_at(at));
            };
            if spec.has(param) {
                let what = pieces![param, " is given twice"];
                return Err(SpecError::new(what, pieces!["leave out one of them"]).found_at(at));
            }
            places.push((param, at));
            spec = spec.parse_option(param, value).map_err(|error| error.found_at(at))?;
        }
        spec.check().map_err(|error| match places.iter().find(|(param, _)| Some(*param) == error.param) {
            Some((_, at)) => error.found_at(*at),
            None => error,
        })?;
        Ok(spec)
    }
}
