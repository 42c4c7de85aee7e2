//! How filters with choices are made: the builder, and how much effort it takes.

use super::bloom::{ChoiceBloom, ChoiceForm, MAX_CHOICES};
use super::offline::ChoiceOffline;
use super::partitions::{Partitions, different_sets};
use super::propagation::Propagation;
use super::rate::{either, excess};
use crate::BuildError;
use crate::SizeError;
use crate::cells::Bits;
use crate::filter::Builder;
use crate::filter::builder::{Built, ForItems, ForRate, InBits, Probing, SchemeOf};
use crate::filter::request::Request;
use crate::hash::{Digest, Key};
use crate::index::MAX_HASHES;
use crate::index::{AnyScheme, MAX_CELLS, Scheme, prime};
use crate::kinds::{Ability, Kind};
use crate::plan::{Figures, Goal, sizes};
use crate::spec::{FromSpec, Measure, Param, Spec, Step, Value, Watch, bit_bytes};
use crate::theory::bloom::{self, Shape, size};
use crate::theory::choices;
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// How much work goes into choosing groups. Each effort takes more time than the one before it and
/// leaves fewer false positives, or cheaper queries.
///
/// False positives of 10,000 keys at 8 and 16 bits per key, all bits counted, and what building
/// takes per key on one core (`cargo run --release -p gardenia --example choices` measures them):
///
/// | effort | groups | 8 bits | 16 bits | time |
/// | --- | --- | --- | --- | --- |
/// | (plain filter) | 1 | 2.16 % | 4.59e-4 | |
/// | `Online` | 2 | 2.3 % | 3.9e-4 | 0.06 to 0.1 µs |
/// | `Rounds` | 2 | 1.5 % | 2.2e-4 | 2 to 3 µs |
/// | `Rounds` | 3 | 1.2 % | 1.6e-4 | 5 to 10 µs |
/// | `Partitioned` | | 0.86 % | 8.6e-5 | 1 to 2 µs |
/// | `Propagated` | 2 | 1.4 % | 2.1e-4 | 10 to 20 µs |
/// | `Propagated` | 3 | 1.1 % | 1.4e-4 | 15 to 25 µs |
/// | `Propagated` | 8 | 0.72 % | 6.8e-5 | 30 to 60 µs |
/// | `Propagated` | 32 | 0.55 % | 4.1e-5 | 250 to 400 µs |
/// | (the lower limit of any filter) | | 0.39 % | 1.5e-5 | |
///
/// A query looks at all groups; that of a partitioned filter costs what a plain one's costs for
/// absent keys, and up to a third more for present ones. Rounds, passes and propagation use all
/// cores; the first round of groups is the online pass, which one core makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Effort {
    /// Keys come one by one, each by the group that sets the fewest new bits.
    #[default]
    Online,
    /// All keys are known up front and take turns in choosing anew: Lumetta and Mitzenmacher's
    /// rounds.
    Rounds,
    /// All keys are known up front; a few of them together choose one of 256 hash sets, and the
    /// choice is stored. A query costs what it costs in a plain filter.
    Partitioned,
    /// All keys are known up front and their groups are chosen by belief propagation.
    Propagated,
}

impl Effort {
    /// All efforts, by level.
    pub const ALL: [Self; 4] = [Self::Online, Self::Rounds, Self::Partitioned, Self::Propagated];

    /// The effort with this level, 0 to 3.
    ///
    /// ```
    /// use gardenia::filter::Effort;
    /// assert!((0..4).all(|level| Effort::from_level(level).unwrap().level() == level));
    /// assert_eq!(Effort::from_level(4), None);
    /// ```
    #[must_use]
    pub fn from_level(level: u8) -> Option<Self> {
        Self::ALL.get(usize::from(level)).copied()
    }

    /// The level, 0 to 3.
    #[must_use]
    pub const fn level(self) -> u8 {
        self as u8
    }

    /// Name for people and for the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Rounds => "rounds",
            Self::Partitioned => "partitioned",
            Self::Propagated => "propagated",
        }
    }

    /// Rounds or passes that [`Builder::<ChoiceBloom>::build_from`] takes. Those of the paper for
    /// groups; the passes over partitions gain little from the sixth on.
    #[must_use]
    pub const fn rounds(self, choices: u32) -> u64 {
        match self {
            Self::Online => 1,
            Self::Rounds if choices <= 2 => 15,
            Self::Rounds => 40,
            Self::Partitioned => 6,
            Self::Propagated => 10,
        }
    }

    /// The share of the way from the online fill to the floor that is made at least
    /// ([`choices::expected_fill_arranged`]), where `load` is kn/m. Fitted to Lumetta and
    /// Mitzenmacher's Table 3 and to own measurements at 8 and 16 bits per key, and kept a little
    /// below them, so that the rate asked for is kept.
    fn share(self, choices: u32, load: f64) -> f64 {
        let c = f64::from(choices);
        let (at_one, slope) = match self {
            Self::Online | Self::Partitioned => return 0.0,
            Self::Rounds if choices <= 2 => (0.45, 0.12),
            Self::Rounds => (0.55, 0.12),
            // What is left falls like c^-0.8, until the iterations end.
            Self::Propagated => ((0.98 - 0.5 * libm::pow(2.0 / c, 0.8)).min(0.88), 0.24 / c),
        };
        (at_one + slope * (load - 1.0)).clamp(0.0, 1.0)
    }
}

#[derive(Clone, Debug)]
pub struct ChoiceBloomOptions<S> {
    choices: Option<u32>,
    effort: Effort,
    scheme: SchemeOf<S>,
}

impl<S: Scheme> Built for ChoiceBloom<S> {
    type Options = ChoiceBloomOptions<S>;
}
impl<S: Scheme> ForItems for ChoiceBloom<S> {}
impl<S: Scheme> ForRate for ChoiceBloom<S> {}
impl<S: Scheme> InBits for ChoiceBloom<S> {}
impl<S: Scheme> Probing for ChoiceBloom<S> {}

impl<S> ChoiceBloomOptions<S> {
    pub(super) fn new(scheme: SchemeOf<S>) -> Self {
        Self { choices: None, effort: Effort::default(), scheme }
    }
}

impl<S: Scheme> Builder<ChoiceBloom<S>> {
    /// Groups of positions per key, 1 to [`MAX_CHOICES`]; 2 unless said. Not for partitioned
    /// filters.
    pub fn choices(mut self, choices: u32) -> Self {
        self.options.choices = Some(choices);
        self
    }

    /// How much work goes into choosing; [`Effort::Online`] unless said.
    ///
    /// It decides the size (with more effort fewer bits keep the same rate) and what
    /// [`build_from`](Self::build_from) does. A partitioned filter answers in its own way; the
    /// others differ only in how their bits were chosen.
    pub fn effort(mut self, effort: Effort) -> Self {
        self.options.effort = effort;
        self
    }

    /// The scheme, as a function of the number of probes: `Independent::new`.
    ///
    /// Schemes that take sums modulo m ([`Scheme::modulus`]) get the next prime for the number of
    /// bits, or for that of each slice, unless there is one group only: keys that choose would
    /// gather in the residue classes of small factors, and the rate would be up to thousands of
    /// times as high. Partitioned filters refuse these schemes.
    ///
    /// ```
    /// use gardenia::index::Double;
    /// use gardenia::ChoiceBloom;
    /// let filter = ChoiceBloom::builder().bits(160_000).hashes(13).scheme(Double::new).build()?;
    /// assert_eq!(filter.bits(), 160_001);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn scheme<T: Scheme>(
        self,
        scheme: impl Fn(u32) -> T + Send + Sync + 'static,
    ) -> Builder<ChoiceBloom<T>> {
        let ChoiceBloomOptions { choices, effort, .. } = self.options;
        let options = ChoiceBloomOptions { choices, effort, scheme: SchemeOf::new(scheme) };
        Builder { request: self.request, options }
    }

    /// The filter's shape, before any memory is taken: its cells are all its bits.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        let choices = self.checked_choices()?;
        let fit = |shape: Shape| match self.options.effort {
            Effort::Partitioned => shape.cells.next_multiple_of(64).max(128),
            _ => fit_choices(&(self.options.scheme.0)(shape.hashes), shape.cells, choices),
        };
        let rate = |shape: Shape, items| self.rate(shape, items, choices);
        let best = |cells, items| {
            if bloom::best_hashes(cells, items) >= ENOUGH {
                return ENOUGH;
            }
            let start = choices::best_hashes(cells, items, choices);
            // Of the size that it will have.
            let fitted = |hashes| Shape { cells: fit(Shape { cells, hashes }), hashes };
            choices::best_from(start, |hashes| self.rate(fitted(hashes), items, choices))
        };
        self.request.shape(MAX_HASHES, |items, fpp| size(items, fpp, rate, fit), best, fit)
    }

    /// The false-positive probability to expect once the `items` are in, by the effort asked for.
    ///
    /// ```
    /// use gardenia::filter::Effort;
    /// use gardenia::ChoiceBloom;
    /// let of = |effort| ChoiceBloom::builder().items(10_000).bits(80_000).effort(effort).planned_fpp();
    /// assert!(of(Effort::Partitioned)? < 0.8 * of(Effort::Online)?);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn planned_fpp(&self) -> Result<f64, SizeError> {
        let items = self.request.items.ok_or(SizeError::ZeroItems)?;
        Ok(self.rate(self.shape()?, items, self.checked_choices()?))
    }

    /// An empty filter, for keys inserted one by one.
    ///
    /// Its size counts on the effort: only [`Effort::Online`] keeps the rate that was asked for
    /// this way. Of a partitioned filter nothing is chosen, so that it is a plain one, and stays
    /// so.
    pub fn build(self) -> Result<ChoiceBloom<S>, SizeError> {
        let choices = self.checked_choices()?;
        let shape = self.shape()?;
        let scheme = (self.options.scheme.0)(shape.hashes);
        let form = match (self.options.effort, self.request.items) {
            (Effort::Partitioned, None) => {
                return Err(SizeError::Conflict("partitions are made for a number of keys: give items"));
            }
            (Effort::Partitioned, Some(items)) => {
                ChoiceForm::Partitions { partitions: partitions(shape.cells, items).partitions }
            }
            _ => ChoiceForm::Groups { choices },
        };
        let about = self.request.about(|items| self.rate(shape, items, choices));
        let (hasher, bits) = (self.request.hasher, Bits::new(shape.cells)?);
        Ok(ChoiceBloom { hasher, scheme, bits, form, items: 0, about })
    }

    /// The filter of these keys, by the effort asked for. Without `items` it is made for as many as
    /// there are.
    pub fn build_from<K: Key>(self, keys: &[K]) -> Result<ChoiceBloom<S>, SizeError> {
        let (effort, hasher) = (self.options.effort, self.request.hasher.clone());
        let digests = || keys.iter().map(|key| hasher.digest_key(key)).collect();
        let filter = match effort {
            Effort::Online => {
                let mut filter = self.for_items(keys.len()).build()?;
                filter.insert_many(keys);
                filter
            }
            _ => self.build_from_digests(digests())?,
        };
        filter.about.took::<K>();
        Ok(filter)
    }

    /// As [`build_from`](Self::build_from), from digests made by the same hasher.
    pub fn build_from_digests(self, digests: Vec<Digest>) -> Result<ChoiceBloom<S>, SizeError> {
        self.build_watched(digests, &mut |_| {})
    }

    /// The same, and says how far it has come.
    fn build_watched(self, digests: Vec<Digest>, watch: &mut Watch<'_>) -> Result<ChoiceBloom<S>, SizeError> {
        let (effort, choices) = (self.options.effort, self.checked_choices()?);
        let keys = digests.len() as u64;
        let mut offline = self.offline(digests)?;
        let mut tell = |doing, done, all, fill| {
            watch(Step { doing, done, all, fill });
            ControlFlow::Continue(())
        };
        if effort == Effort::Propagated {
            let filter = offline.filter();
            let how = Propagation::new(filter.bits(), keys, filter.hashes(), choices);
            let mut done = 0;
            offline.propagate_with(&how, |now| {
                done += 1;
                tell("propagating", done, how.iterations.into(), now.fill)
            })?;
        }
        let (rounds, mut done) = (effort.rounds(choices), 0);
        offline.improve_with(rounds, |now| {
            done += 1;
            tell("choosing", done, rounds, now.fill)
        });
        Ok(offline.finish())
    }

    /// The filter of these keys, to be improved step by step. Without `items` it is made for as
    /// many as there are.
    pub fn offline(self, digests: Vec<Digest>) -> Result<ChoiceOffline<S>, SizeError> {
        let filter = self.for_items(digests.len()).build()?;
        ChoiceOffline::new(filter, digests)
    }

    /// Made for this many keys, unless told otherwise.
    fn for_items(mut self, keys: usize) -> Self {
        self.request.items = self.request.items.or(Some(keys.max(1) as u64));
        self
    }

    fn checked_choices(&self) -> Result<u32, SizeError> {
        let scheme = (self.options.scheme.0)(1);
        match (self.options.effort, self.options.choices) {
            (Effort::Partitioned, _) if scheme.partitioned() || scheme.modulus(1).is_some() => {
                Err(SizeError::Conflict(NOT_TURNED))
            }
            (Effort::Partitioned, None) => Ok(1),
            (Effort::Partitioned, Some(_)) => {
                Err(SizeError::Conflict("a partitioned filter has hash sets, not groups: leave out choices"))
            }
            (_, None) => Ok(2),
            (_, Some(choices @ 1..=MAX_CHOICES)) => Ok(choices),
            _ => Err(SizeError::Conflict("choices must be between 1 and 32")),
        }
    }

    /// The rate to expect once `items` keys are in.
    fn rate(&self, shape: Shape, items: u64, choices: u32) -> f64 {
        let Shape { cells, hashes } = shape;
        let scheme = (self.options.scheme.0)(hashes);
        let (cells, fill, ideal) = match self.options.effort {
            Effort::Partitioned => {
                let Partitions { cells, partitions } = partitions(cells, items);
                let sets = different_sets(hashes);
                let fill = choices::expected_fill_partitioned(cells, items, hashes, partitions, sets);
                (cells, fill, choices::fpp_partitioned(cells, items, hashes, partitions, sets))
            }
            // Too few keys for the laws of many: as if they came one by one.
            Effort::Rounds | Effort::Propagated if items >= FEW => {
                let load = f64::from(hashes) * items as f64 / cells as f64;
                let share = self.options.effort.share(choices, load);
                let fill = choices::expected_fill_arranged(cells, items, hashes, choices, share);
                (cells, fill, choices::fpp_at_fill(fill, hashes, choices))
            }
            _ => {
                let fill = choices::expected_fill(cells, items, hashes, choices);
                (cells, fill, choices::fpp_of(cells, items, hashes, choices, scheme.partitioned()))
            }
        };
        let form = match self.options.effort {
            Effort::Partitioned => ChoiceForm::Partitions { partitions: 0 },
            _ => ChoiceForm::Groups { choices },
        };
        // A scheme whose positions never coincide finds less at the same fill, but its keys set more cells: no gain.
        let more = excess(&scheme, form, cells, items as f64, fill).max(0.0);
        either(ideal, more, choices)
    }
}

/// Hashes of a filter with this many bits per key that a plain one would have as many, or more. The
/// rate is below 10⁻⁹, and what is left of it comes from positions that coincide; to look for the
/// best number, up to 255, would take up to seconds.
const ENOUGH: u32 = 40;

/// Why partitioned filters need certain schemes: they turn positions within words, so that slices
/// would mix, and their cells are whole words, so that a modulus would not be a prime.
const NOT_TURNED: &str = "effort 2 (partitioned) turns positions within words, which this scheme does not allow: \
     use the scheme fractional or independent, or another effort";

/// The smallest usable number of cells that is at least `cells`.
///
/// Keys that choose gather in residue classes of a modulus with small factors, so that it becomes a
/// prime: m, or the cells of each slice.
fn fit_choices(scheme: &impl Scheme, cells: u64, choices: u32) -> u64 {
    let cells = scheme.fit(cells);
    match scheme.modulus(cells) {
        // Above the largest size nothing fits; the caller's check says so.
        Some(modulus) if choices > 1 && cells <= MAX_CELLS => {
            prime::at_least(modulus) * (cells / modulus.max(1))
        }
        _ => cells,
    }
}

/// Keys below which arranging them is not expected to gain what it gains for many.
const FEW: u64 = 1000;

/// Cells and partitions for this many keys in `bits` bits, a whole number of words.
///
/// A byte for each partition: `0.7·√b` bits per key where there are b in all, at most a quarter of
/// them. That was the best at 8, 16 and 32 bits per key (4, 3 and 2 keys to a partition), and it is
/// flat around there.
fn partitions(bits: u64, items: u64) -> Partitions {
    let per_item = bits as f64 / items as f64;
    let table = (0.7 * libm::sqrt(per_item)).min(per_item / 4.0);
    let words = (table * items as f64 / 64.0) as u64;
    // At least one word of each kind is left.
    Partitions::in_bits(bits, words.clamp(1, (bits / 128).max(1)) * 8)
}

/// The builder that a spec describes.
fn of(spec: &Spec) -> Builder<ChoiceBloom<AnyScheme>> {
    let (scheme, effort) = (spec.scheme_id(), spec.effort());
    let builder = Builder { request: Request::of(spec, 1.0), ..ChoiceBloom::builder() };
    let builder = builder.effort(effort).scheme(move |hashes| AnyScheme::new(scheme, hashes));
    match spec.small(Param::Choices) {
        Some(choices) => builder.choices(choices),
        None => builder,
    }
}

impl FromSpec for ChoiceBloom<AnyScheme> {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let design = |effort| sizes::choice_design(goal.need, goal.items, goal.fpp, goal.within, effort);
        // Keys that never change choose together; the choice is stored, and all threads may ask.
        let changes =
            [Ability::Merge, Ability::Remove, Ability::Count, Ability::Map, Ability::Forget, Ability::Grow];
        match (goal.has(Ability::Fixed), changes.iter().any(|ability| goal.has(*ability))) {
            (true, false) => alloc::vec![design(Effort::Partitioned)],
            (true, true) => Vec::new(),
            (false, _) => goal.if_able(kind, || design(Effort::Online)),
        }
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = of(spec);
        if builder.options.effort != Effort::Partitioned {
            spec.set_whole(Param::Choices, builder.checked_choices()?);
        }
        // Without a number of keys the size waits for them.
        if spec.has(Param::Items) || spec.has(Param::Hashes) || builder.options.effort == Effort::Online {
            spec.fill_shape(Param::Bits, builder.shape()?);
        }
        spec.default_to(Param::Effort, Value::Word(builder.options.effort.name()));
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (builder, shape) = (of(spec), of(spec).shape()?);
        let params = if builder.options.effort == Effort::Partitioned { 9 } else { 2 };
        let rate = spec.rate(|items| builder.rate(shape, items, builder.checked_choices().unwrap_or(1)));
        Ok(Measure::as_stored(bit_bytes(shape.cells), params, rate))
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        let builder = of(spec);
        let partitioned = builder.options.effort == Effort::Partitioned;
        let groups = if partitioned { 1 } else { builder.checked_choices()? };
        Ok(sizes::choice_bound(builder.shape()?, spec.planned_items(), fpp, groups, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        of(spec).build()
    }
    fn from_digests(spec: &Spec, digests: Vec<Digest>, watch: &mut Watch<'_>) -> Result<Self, BuildError> {
        Ok(of(spec).build_watched(digests, watch)?)
    }
    fn working_bytes(spec: &Spec, keys: u64) -> u64 {
        let (bits, hashes) = (spec.whole(Param::Bits).unwrap_or(0), spec.small(Param::Hashes).unwrap_or(0));
        let sorted = keys.saturating_mul(16);
        match (spec.effort(), spec.small(Param::Choices)) {
            (Effort::Online, _) => 0,
            (Effort::Propagated, Some(choices)) => {
                sorted.saturating_add(Propagation::memory_bytes(bits, keys, hashes, choices))
            }
            _ => sorted,
        }
    }
}

#[test]
fn many_bits_per_key_are_planned_without_a_search() {
    for (items, bits) in [(10, 3_000), (1_000, 1_000_000), (1 << 20, 1 << 30)] {
        let shape = ChoiceBloom::builder().items(items).bits(bits).shape().unwrap();
        assert_eq!(shape.hashes, ENOUGH, "{items} {bits}");
        let fpp = ChoiceBloom::builder().items(items).bits(bits).planned_fpp().unwrap();
        assert!(fpp < 1e-9, "{items} {bits}: {fpp}");
    }
}
