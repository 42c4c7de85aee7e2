//! How bitwise filters are made: from a request, from given levels, and from known counts.

use super::BitwiseBloom;
use super::level::{BitwiseLevel, COUNT_BITS, Rule};
use crate::SizeError;
use crate::filter::builder::{Built, ForItems, ForRate, InCells, Probing, Schemed};
use crate::filter::request::Request;
use crate::filter::{About, Builder};
use crate::hash::{Digest, Key};
use crate::index::{AnyScheme, Scheme};
use crate::kinds::Kind;
use crate::plan::{Figures, Goal};
use crate::spec::{FromSpec, Measure, Param, Spec, cell_bytes};
use crate::theory::bloom::{Shape, size};
use alloc::vec;
use alloc::vec::Vec;

/// Bits of a digit unless set: with [`SLACK`] a cell is a byte. Narrower digits carry more often
/// and so are wrong more often, wider ones pay for bits that most keys never need
/// (`examples/bitwise.rs` measures both).
const DIGIT: u32 = 4;

/// Bits that a cell has beyond its digit unless set: room for 16 full digits, as the classical cell
/// of four bits has for 15 keys.
pub(super) const SLACK: u32 = 4;

/// Cells of an added level for each of the level below, unless set. For counts that fall as 1/rank
/// one key in sixteen has a second digit of four bits and less would do; for equal counts all may
/// have one.
const SHARE: f64 = 0.5;

/// Levels of known counts are not sized for rates below 2⁻³²: the finite-size excess of a scheme
/// would cost more cells than the keys.
const LEAST_RATE: f64 = 1.0 / 4_294_967_296.0;

#[derive(Clone, Debug)]
pub struct BitwiseBloomOptions {
    digit: Option<u32>,
    width: Option<u32>,
    levels: Vec<BitwiseLevel>,
    share: f64,
    max_levels: u32,
}

impl Default for BitwiseBloomOptions {
    fn default() -> Self {
        Self { digit: None, width: None, levels: Vec::new(), share: SHARE, max_levels: COUNT_BITS }
    }
}

impl Built for BitwiseBloom {
    type Options = BitwiseBloomOptions;
}
impl ForItems for BitwiseBloom {}
impl ForRate for BitwiseBloom {}
impl InCells for BitwiseBloom {}
impl Probing for BitwiseBloom {}
impl Schemed for BitwiseBloom {}

impl Builder<BitwiseBloom> {
    /// Bits per digit, 1 to 29; 4 unless set.
    pub fn digit(mut self, digit: u32) -> Self {
        self.options.digit = Some(digit);
        self
    }

    /// Bits per cell, at least 3 more than a digit, for the keys that share it, and at most 32; 4
    /// more unless set.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = Some(width);
        self
    }

    /// The levels to begin with, each with its own shape, instead of one from the verbs above.
    pub fn levels(mut self, levels: &[BitwiseLevel]) -> Self {
        self.options.levels = levels.to_vec();
        self
    }

    /// Cells of a level that is added, as a share of those of the level below it; a half unless
    /// set, at most 1. It has at least 1,024, or as many as the first level; digit, width and
    /// hashes are those of the level below.
    pub fn share(mut self, share: f64) -> Self {
        self.options.share = share;
        self
    }

    /// The most levels there may be; as many as counts of 64 bits need unless set.
    pub fn max_levels(mut self, max_levels: u32) -> Self {
        self.options.max_levels = max_levels;
        self
    }

    /// The shapes of the levels to begin with, before any memory is taken.
    pub fn shape(&self) -> Result<Vec<BitwiseLevel>, SizeError> {
        if self.options.levels.is_empty() {
            let Shape { cells, hashes } = self.request.any_shape()?;
            let (digit, width) = self.digit_and_width();
            return self.checked(vec![BitwiseLevel { cells, hashes, digit, width }]);
        }
        let Request { fpp, cells, hashes, .. } = self.request;
        if fpp.is_some()
            || (cells, hashes, self.options.digit, self.options.width) != (None, None, None, None)
        {
            let message = "levels give every shape: leave out fpp, cells, hashes, digit and width";
            return Err(SizeError::Conflict(message));
        }
        self.checked(self.options.levels.clone())
    }

    fn digit_and_width(&self) -> (u32, u32) {
        let digit = self.options.digit.unwrap_or(DIGIT);
        (digit, self.options.width.unwrap_or(digit.saturating_add(SLACK).min(32)))
    }

    fn rule(&self) -> Rule {
        Rule { scheme: self.request.scheme, share: self.options.share, max_levels: self.options.max_levels }
    }

    /// These levels, rounded up to what the scheme can use, if there can be such.
    fn checked(&self, mut levels: Vec<BitwiseLevel>) -> Result<Vec<BitwiseLevel>, SizeError> {
        self.rule().check(&levels)?;
        levels.iter_mut().for_each(|level| *level = level.fit(self.request.scheme));
        levels.iter().try_for_each(|level| level.check())?; // rounded up one may be too large
        Ok(levels)
    }

    /// The filter.
    pub fn build(self) -> Result<BitwiseBloom, SizeError> {
        let levels = self.shape()?;
        let rate =
            |items| AnyScheme::new(self.request.scheme, levels[0].hashes).planned_fpp(levels[0].cells, items);
        self.empty(&levels, self.request.about(rate))
    }

    /// The empty filter of these levels, which were checked.
    fn empty(&self, levels: &[BitwiseLevel], about: About) -> Result<BitwiseBloom, SizeError> {
        BitwiseBloom::of_levels(self.request.hasher.clone(), self.rule(), levels, about, BitwiseLevel::room)
    }

    /// A filter of these keys with these counts. Their digits are placed without a carry, so that
    /// no count is too low; a key that comes more than once has the sum of its counts. More can be
    /// inserted later.
    ///
    /// From `fpp`, the probability that a key without a count seems to have one, each level is
    /// sized for the keys that have a digit there, with a rate that falls as its digit weighs more
    /// and its keys are fewer. Or the levels are given, or the first by `cells` and `hashes`, and
    /// as many are added as the counts need.
    ///
    /// Digests and counts are kept aside, 16 bytes a key, until they are placed.
    ///
    /// ```
    /// let filter = gardenia::BitwiseBloom::builder().fpp(0.001).digit(1).from_counts([("rose", 5), ("rose", 6)])?;
    /// assert_eq!((filter.count("rose"), filter.levels().count()), (11, 4));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn from_counts<K: Key>(
        self,
        counts: impl IntoIterator<Item = (K, u64)>,
    ) -> Result<BitwiseBloom, SizeError> {
        let hasher = self.request.hasher.clone();
        let counts = counts.into_iter().map(|(key, count)| (hasher.digest_key(&key), count));
        let counts = summed(counts.collect());
        let mut filter = match self.request.fpp {
            Some(fpp) => self.empty(&self.sized(&counts, fpp)?, About::planned(counts.len() as u64, fpp))?,
            None => self.build()?,
        };
        filter.about.took::<K>();
        counts.iter().try_for_each(|(digest, count)| place(&mut filter, *digest, *count))?;
        Ok(filter)
    }

    /// Levels for these counts, each sized for the keys that have a digit on it.
    fn sized(&self, counts: &[(Digest, u64)], fpp: f64) -> Result<Vec<BitwiseLevel>, SizeError> {
        let Request { items, cells, hashes, scheme, .. } = self.request;
        if !self.options.levels.is_empty() || (items, cells, hashes) != (None, None, None) {
            let message = "known counts and fpp fix every level: leave out items, cells, hashes and levels";
            return Err(SizeError::Conflict(message));
        }
        if !(fpp > 0.0 && fpp < 1.0) {
            return Err(SizeError::Fpp(fpp));
        }
        let (digit, width) = self.digit_and_width();
        // Checked before digits are cut out of counts.
        BitwiseLevel { cells: 1, hashes: 1, digit, width }.check()?;
        let bits = counts.iter().map(|(_, count)| COUNT_BITS - count.leading_zeros()).max().unwrap_or(0);
        let levels = (0..bits.max(1)).step_by(digit as usize).map(|below| {
            let digit = digit.min(COUNT_BITS - below);
            let has_digit = |count: u64| count >> below & ((1 << digit) - 1) != 0;
            let items = counts.iter().filter(|(_, count)| has_digit(*count)).count().max(1) as u64;
            (digit, items, items as f64 * libm::exp2(-f64::from(below)))
        });
        let levels: Vec<_> = levels.collect();
        // As in `theory::bitwise::shapes`: an error of a level costs 2^below, and the fewest cells in all have
        // rates in proportion to keys and inversely to that cost. Together the rates are `fpp`.
        let weights: f64 = levels.iter().map(|(.., weight)| weight).sum();
        let rate = |weight: f64| (fpp * weight / weights).max(LEAST_RATE);
        let rates: f64 = levels.iter().map(|(.., weight)| rate(*weight)).sum();
        let planned = |s: Shape, items| AnyScheme::new(scheme, s.hashes).planned_fpp(s.cells, items);
        let fit = |s: Shape| AnyScheme::new(scheme, s.hashes).fit(s.cells);
        let levels = levels.into_iter().map(|(digit, items, weight)| {
            let Shape { cells, hashes } = size(items, rate(weight) * (fpp / rates), planned, fit)?;
            Ok(BitwiseLevel { cells, hashes, digit, width })
        });
        self.checked(levels.collect::<Result<_, _>>()?)
    }
}

/// Counts of distinct keys: the counts of equal keys added, those of zero left out.
fn summed(mut counts: Vec<(Digest, u64)>) -> Vec<(Digest, u64)> {
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    counts.retain(|(_, count)| *count > 0);
    counts
}

/// Puts the digits of a count on their levels, on top of what other keys have there.
fn place(filter: &mut BitwiseBloom, digest: Digest, count: u64) -> Result<(), SizeError> {
    while filter.above.bits() < COUNT_BITS - count.leading_zeros() {
        if !filter.above.grow() {
            return Err(SizeError::Conflict("a count needs more levels than there may be"));
        }
    }
    for level in filter.all_mut() {
        let digit = (count >> level.below) as u32 & level.full();
        if digit > 0 {
            level.change(digest, 0, digit);
        }
    }
    Ok(())
}

impl Builder<BitwiseBloom> {
    fn of(spec: &Spec) -> Self {
        let [digit, width] = [Param::Digit, Param::Width].map(|param| spec.small(param));
        let mut builder = BitwiseBloom::builder();
        (builder.options.digit, builder.options.width) = (digit, width);
        builder.request = Request::of(spec, builder.digit_and_width().1.into());
        builder
    }
}

impl FromSpec for BitwiseBloom {
    /// The planner knows better: its counts are rarely worth their cells.
    fn designs(_: Kind, _: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        Vec::new()
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        for BitwiseLevel { cells, hashes, digit, width } in Builder::<BitwiseBloom>::of(spec).shape()? {
            spec.fill_shape(Param::Cells, Shape { cells, hashes });
            spec.set_whole(Param::Digit, digit);
            spec.set_whole(Param::Width, width);
        }
        Ok(())
    }
    /// Of the first level; what counts add to it depends on them.
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (shape, width) = (spec.shape(Param::Cells), spec.small(Param::Width).unwrap_or(0));
        Ok(Measure::as_stored(cell_bytes(shape.cells, width), 32, spec.bloom_rate(shape)))
    }
    fn bound(spec: &Spec, fpp: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(spec.bloom_bound(spec.shape(Param::Cells), fpp, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<BitwiseBloom>::of(spec).build()
    }
}
