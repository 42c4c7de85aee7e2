//! The ribbon filter: a fixed set in hardly more bits than its error rate costs anyway.
//!
//! A key's fingerprint of r bits is stored as r equations over single bits: the parity of some bits
//! of a table is the fingerprint's bit. Which ones follows from the digest: a start, and 64 (or
//! 128) coefficients from there on. Such equations are solved by Gaussian elimination that never
//! looks further than the coefficients reach, and the solution takes one slot of r bits per key. An
//! absent key has other coefficients, which meet its fingerprint by chance, once in 2^r times: no
//! filter does better in r bits per key.
//!
//! The table is made *too small* for the keys, so that no slot stays empty. For each bucket of 128
//! slots (or 512) two bits tell which of its keys found no room: they start before one of three
//! thresholds, and have been *bumped* to a second layer, built in the same way; the few that it
//! bumps go to a third, and the last 2,048 or fewer to one with room to spare. The one subtle rule:
//! within a bucket keys go in from right to left, so that those which are bumped are the ones at
//! its left, where the rows of the bucket before it reach into it.
//!
//! Rates between 2^-r and 2^-(r-1) are met by r bits in the first blocks of a layer and r - 1 in
//! the others.
//!
//! Source: Dillinger, Hübschle-Schneider, Sanders and Walzer, "Fast Succinct Retrieval and
//! Approximate Membership using Ribbon" (2022): bumping by two bits, interleaved columns. Segments,
//! which several threads or one by turns can solve, and mixed widths are ours.

mod band;
mod build;
mod layer;
mod sort;
mod stored;

pub(crate) use band::Band;
pub(crate) use layer::{BLOCK, Layer, Place, Probe};

use crate::cells::{Memory, Owned};
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, ForRate, Threaded};
use crate::filter::fixed::digests::digests_of;
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::filter_impl;
use crate::filter::{About, Builder, Identity};
use crate::format::Kind;
use crate::hash::{Digest, Key, KeyHasher};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::ribbon::{self as simd, Table};
use crate::simd::{Bools, Given, Keys, Level, Sink, Source, ahead};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value, Watch};
use crate::theory::bloom::Estimate;
use crate::theory::ribbon::{self as theory, Bits};
use crate::{BuildError, Mismatch, SizeError};
use alloc::vec::Vec;
use core::fmt;

/// The most layers: a layer bumps a thirtieth of its keys, so that the third or fourth is the last,
/// unless digests were chosen to meet.
const MAX_LAYERS: usize = 16;

/// Tries of the last layer, each with other coefficients and more room.
const MAX_ATTEMPTS: u32 = 64;

/// A static set in at most 1.01 times the fewest bits that its false-positive rate needs.
///
/// All keys are there when it is built; equal ones count once. None can be added later, and none
/// removed:
///
/// ```
/// use gardenia::Ribbon;
/// let keys: Vec<u32> = (0..100_000).collect();
/// let set = Ribbon::new(&keys, 1.0 / 256.0)?;
/// assert!(keys.iter().all(|key| set.contains(key)));
/// let found = (100_000..200_000).filter(|absent| set.contains(absent)).count();
/// assert!((300..480).contains(&found)); // 391 are expected
/// assert!((set.memory_bytes() as f64) < 100_000.0 * 1.011); // eight bits per key, and a little
/// # Ok::<(), gardenia::BuildError>(())
/// ```
///
/// ```compile_fail,E0599
/// let mut set = gardenia::Ribbon::new(&["rose"], 0.01).unwrap();
/// set.insert("tulip");
/// ```
///
/// ```compile_fail,E0599
/// let mut set = gardenia::Ribbon::new(&["rose"], 0.01).unwrap();
/// set.remove("rose");
/// ```
#[derive(Clone)]
pub struct Ribbon<M = Owned> {
    hasher: KeyHasher,
    layers: Vec<Layer>,
    /// Bits of a fingerprint where it has all of them, 1 to 32.
    width: u32,
    /// Whether rows have 128 coefficients, and not 64.
    wide: bool,
    memory: M,
    items: u64,
    about: About,
    level: Level,
}

#[derive(Clone, Debug)]
pub struct RibbonOptions {
    fingerprint: Option<u32>,
    level: Level,
}

impl Built for Ribbon {
    type Options = RibbonOptions;
}
impl ForRate for Ribbon {}
impl Threaded for Ribbon {}

impl Builder<Ribbon> {
    /// Bits of the fingerprint, 1 to 32, in place of a rate: one absent key in 2 to this power is
    /// reported as present.
    pub fn fingerprint(mut self, bits: u32) -> Self {
        self.options.fingerprint = Some(bits);
        self
    }

    /// The filter of these keys. Duplicates count once, and the order does not matter.
    pub fn build_from<K: crate::Key + Sync>(self, keys: &[K]) -> Result<Ribbon, BuildError> {
        let filter = self.clone().build_from_digests(&digests_of(
            &self.request.hasher,
            keys,
            self.request.threads(),
        )?)?;
        filter.about().took::<K>();
        Ok(filter)
    }

    /// The instructions to build and to ask with: see [`Ribbon::with_level`].
    pub fn level(mut self, level: Level) -> Self {
        self.options.level = level.min(simd::best());
        self
    }

    /// As [`build_from`](Self::build_from), from digests made by the same hasher.
    pub fn build_from_digests(self, digests: &[Digest]) -> Result<Ribbon, BuildError> {
        let bits = self.bits()?;
        let (threads, level) = (self.request.threads().min(1024), self.options.level);
        let wide = bits.width <= WIDE;
        let solve = if wide { build::solve::<u128> } else { build::solve::<u64> };
        let build::Solution { layers, words, items } =
            solve(digests, bits.width, bits.share, threads, level)?;
        let about = About::planned(items, bits.fpp());
        Ok(Ribbon {
            hasher: self.request.hasher,
            layers,
            width: bits.width,
            wide,
            memory: words,
            items,
            about,
            level,
        })
    }

    /// Bits per key, as asked for.
    fn bits(&self) -> Result<Bits, SizeError> {
        match (self.request.fpp, self.options.fingerprint) {
            (Some(fpp), None) => theory::bits(fpp),
            (None, Some(width @ 1..=theory::MAX_FINGERPRINT)) => Ok(Bits { width, share: 1.0 }),
            (None, Some(width)) => Err(SizeError::Width { width }),
            _ => Err(SizeError::Conflict("give fpp, or the bits of the fingerprint")),
        }
    }
}

/// Fingerprints up to this width have rows of 128 coefficients: two bits for every 128 slots are
/// too much beside them.
const WIDE: u32 = 3;

impl Ribbon {
    /// The filter of these keys at a false-positive probability of at most `fpp`.
    pub fn new<K: Key + Sync>(keys: &[K], fpp: f64) -> Result<Self, BuildError> {
        Self::builder().fpp(fpp).build_from(keys)
    }

    /// A builder, to choose bits of the fingerprint, seed, secret, threads.
    ///
    /// ```
    /// use gardenia::Ribbon;
    /// let set = Ribbon::builder().fingerprint(7).seed(1).build_from(&["rose", "tulip", "rose"])?;
    /// assert!(set.contains("rose") && set.contains("tulip"));
    /// assert_eq!((set.items(), set.fpp()), (2, 1.0 / 128.0));
    /// # Ok::<(), gardenia::BuildError>(())
    /// ```
    pub fn builder() -> Builder<Ribbon> {
        Builder::new(RibbonOptions { fingerprint: None, level: simd::best() })
    }
}

impl<M: Memory> Ribbon<M> {
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
        self.items > 0
            && if self.wide {
                simd::contains_one::<u128, M>(self.table(), self.level, digest)
            } else {
                simd::contains_one::<u64, M>(self.table(), self.level, digest)
            }
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let (table, far) = (self.table(), ahead::is_far(self.memory_bytes() / 8));
        match (self.items, self.wide) {
            (0, _) => digests.each::<64>(false, |_| (), |_| false, answers),
            (_, true) => simd::contains::<u128, M>(table, self.level, far, digests, answers),
            (_, false) => simd::contains::<u64, M>(table, self.level, far, digests, answers),
        }
    }

    #[inline(always)]
    fn table(&self) -> Table<'_, M> {
        Table { layers: &self.layers, width: self.width, memory: &self.memory }
    }

    /// The same filter with other instructions, or the best of them that the processor has. Answers
    /// do not depend on it: this is for tests and benchmarks.
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { level: level.min(simd::best()), ..self }
    }

    filter_facts!();

    /// Distinct keys in the set, exactly (two with one digest are one).
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Bits of a fingerprint, 1 to 32; some keys have one fewer if the rate is between two powers
    /// of a half.
    #[must_use]
    pub fn fingerprint(&self) -> u32 {
        self.width
    }

    /// Slots of all layers: a little more than there are keys.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.layers.iter().map(Layer::slots).sum()
    }

    /// Layers; each holds the keys that the one before it bumped.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The share of slots that hold a key.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.items as f64 / self.slots() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// Memory used by the table, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.memory.words() * 8
    }

    /// The false-positive probability; 0 if there are no keys.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let Some(layer) = self.layers.first().filter(|_| self.items > 0) else { return 0.0 };
        let share = if self.wide { layer.share::<u128>() } else { layer.share::<u64>() };
        Bits { width: self.width, share }.fpp()
    }

    /// The number of distinct keys in the filter, which is known exactly.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.items as f64, std_error: 0.0 }
    }

    /// Hasher and shape: as `hashes` the coefficients of a row.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Ribbon,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: if self.wide { 128 } else { 64 },
            cells: self.slots(),
            width: self.width,
        }
    }
}

impl<M: Memory> fmt::Debug for Ribbon<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ribbon")
            .field("hasher", &self.hasher)
            .field("items", &self.items)
            .field("fingerprint", &self.width)
            .field("slots", &self.slots())
            .field("layers", &self.layers.len())
            .finish()
    }
}

/// Equal in identity, layers and words: the same answer to every key. What they were planned for
/// does not count.
impl<M: Memory, N: Memory> PartialEq<Ribbon<N>> for Ribbon<M> {
    fn eq(&self, other: &Ribbon<N>) -> bool {
        let alike: Result<(), Mismatch> = self.identity().check(&other.identity());
        alike.is_ok()
            && self.items == other.items
            && self.layers == other.layers
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}

impl<M: Memory> Eq for Ribbon<M> {}

impl<M: Memory> Explain for Ribbon<M> {
    fn tables(&self) -> Vec<CellTable> {
        let layer = |(number, layer): (usize, &Layer)| {
            let name = alloc::format!("layer {}", number + 1);
            CellTable::new(name, Holds::Sums, layer.slots(), self.width)
        };
        self.layers.iter().enumerate().map(layer).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.layers[table].slot(at, self.width, &self.memory)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        if self.items == 0 {
            return;
        }
        let (layer, first, probe) =
            if self.wide { self.table().locate::<u128>(digest) } else { self.table().locate::<u64>(digest) };
        seen.fingerprint = Some(u64::from(probe.fingerprint) & u64::MAX >> (64 - probe.width.max(1)));
        for (block, coefficients) in probe.coefficients.into_iter().enumerate() {
            let slots = (0..64u64).filter(|bit| coefficients >> bit & 1 == 1);
            seen.add(layer, 0, slots.map(|bit| first + block as u64 * 64 + bit));
        }
    }
}

filter_impl!([M: Memory] Ribbon<M>);

impl Builder<Ribbon> {
    fn of(spec: &Spec) -> Self {
        let fingerprint = spec.small(Param::Fingerprint);
        let request = Request {
            fpp: spec.real(Param::Fpp).or(fingerprint.is_none().then_some(DEFAULT_FPP)),
            ..Request::hashed(spec)
        };
        Self { request, options: RibbonOptions { fingerprint, level: simd::best() } }
    }
}

impl FromSpec for Ribbon {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || {
            sizes::search(goal.fpp, goal.within, |fpp| sizes::ribbon_design(goal.items, fpp))
        })
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<Ribbon>::of(spec);
        builder.bits()?;
        if let Some(fpp) = builder.request.fpp {
            spec.default_to(Param::Fpp, Value::Real(fpp));
        }
        Ok(())
    }
    /// Of many keys within a hundredth; of few, an upper bound.
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (bits, items) = (Builder::<Ribbon>::of(spec).bits()?, spec.expected_items()?);
        let bytes = theory::most_bytes(items, bits);
        Ok(Measure::as_stored(bytes, 48, Some(bits.fpp())))
    }
    /// Every table of a shape has the same rate.
    fn bound(spec: &Spec, fpp: f64, _: f64) -> Result<f64, SizeError> {
        Ok(fpp + sizes::floor(spec.planned_items()))
    }
    fn from_digests(spec: &Spec, digests: Vec<Digest>, _: &mut Watch<'_>) -> Result<Self, BuildError> {
        Builder::<Ribbon>::of(spec).threads(super::builder::threads()).build_from_digests(&digests)
    }
}
