//! The stable Bloom filter: duplicates in an endless stream, in fixed memory, at a fixed rate of
//! false alarms.
//!
//! Cells are *ages* and no counts. Each insertion, of a known key too, first answers (a duplicate,
//! if none of the key's K cells is zero), then lowers P cells by one, and then sets the key's cells
//! to their maximum: in this order, or a key would weaken itself. So the share of zeros settles,
//! and with it the rate of false positives; the price is that keys are forgotten at random, the
//! oldest most likely.
//!
//! The P cells are a run from a random place: each cell is met as often as if they were drawn
//! apart, and a run of neighbours is lowered a word at a time. They can be drawn one by one
//! instead, as in the paper ([`drawn`](Builder::<StableBloom>::drawn)). The places come from a
//! seeded stream that is stored with the filter, so that a filter that is read again goes on as if
//! nothing had happened.
//!
//! Source: Deng and Rafiei, "Approximately Detecting Duplicates for Streaming Data Using Stable
//! Bloom Filters" (2006).

use super::ask_each;
use crate::cells::{Bytes, Counters, Memory, Owned, Tally};
use crate::filter::builder::{Built, ForItems, ForRate, InCells, Probing, Schemed};
use crate::filter::request::{Request, counter_filter_facts};
use crate::filter::verbs::{filter_impl, insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::shifts::stated_fpp;
use crate::index::{AnyScheme, Scheme, SchemeVisitor, Walk, scale};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::ahead::{self, FIRST_OF_MORE as FIRST};
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value, cell_bytes};
use crate::theory::bloom;
use crate::theory::stable::{self, StableShape};
use crate::{DecodeError, EncodeError, SizeError};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::hint::select_unpredictable;

/// A filter for endless streams that never fills up: it may forget keys, older ones more surely.
///
/// Its rate of false positives settles at [`stable_fpp`](Self::stable_fpp), however long the
/// stream; how surely a key is still known after a number of others,
/// [`forgotten_after`](Self::forgotten_after) computes.
///
/// ```
/// let mut seen = gardenia::StableBloom::new(1_000, 0.01)?;
/// assert!(seen.insert("rose") && !seen.insert("rose")); // new, then a duplicate
/// seen.extend(0..1_000_000u32); // a long stream of others
/// assert!(seen.fpp() < 0.011);
/// assert!(seen.contains(999_999u32)); // the last is known
/// let known = (0..1_000u32).filter(|old| seen.contains(*old)).count();
/// assert!(known < 100); // the first are forgotten, but for false positives
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// It cannot be merged with another, its keys cannot be removed, and it does not count:
///
/// ```compile_fail,E0277
/// fn merges<F: gardenia::Merge>() {}
/// merges::<gardenia::StableBloom>();
/// ```
/// ```compile_fail,E0277
/// fn removes<F: gardenia::Remove>() {}
/// removes::<gardenia::StableBloom>();
/// ```
/// ```compile_fail,E0277
/// fn counts<F: gardenia::Count>() {}
/// counts::<gardenia::StableBloom>();
/// ```
#[derive(Clone)]
pub struct StableBloom<M = Owned> {
    hasher: KeyHasher,
    scheme: AnyScheme,
    cells: Counters<M>,
    aging: Aging,
    about: About,
}

/// Which cells an insertion lowers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Aging {
    /// Cells lowered per insertion, P.
    decrements: u64,
    /// Seed of the stream of places.
    seed: u64,
    /// Insertions so far.
    inserts: u64,
    /// Whether cells are drawn one by one, and not a run of them.
    drawn: bool,
}

/// The most cells that are drawn for an insertion, which are noted until it is done.
const MAX_DRAWN: u64 = 1 << 16;

impl Aging {
    /// The word of insertion `number`, counted from 1: that output of SplitMix64 (Steele, Lea and
    /// Flood 2014).
    #[inline(always)]
    fn word(self, number: u64) -> u64 {
        let mut z = self.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Where the run of insertion `number` begins.
    #[inline(always)]
    fn start(self, number: u64, cells: u64) -> u64 {
        scale(self.word(number), cells)
    }

    /// The cells that are drawn for insertion `number`: every set of P is as likely as any other
    /// (Floyd's algorithm; Bentley and Floyd 1987).
    fn draw(self, number: u64, cells: u64) -> BTreeSet<u64> {
        let (words, mut drawn) = (Digest(self.word(number)), BTreeSet::new());
        for (i, last) in (1..).zip(cells - self.decrements..cells) {
            if !drawn.insert(scale(words.word(i), last + 1)) {
                drawn.insert(last);
            }
        }
        drawn
    }

    /// The most cells that an insertion may lower.
    fn most(cells: u64, drawn: bool) -> u64 {
        if drawn { cells.min(MAX_DRAWN) } else { cells }
    }
}

/// Rates below it are not planned: digests of 64 bits cannot keep them.
const MIN_RATE: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// The false-positive probability in the long run: that of the mean fill, and what a fill that
/// varies about as binomially, and the scheme, add in few cells.
fn rate_in_few_cells(scheme: &AnyScheme, shape: &StableShape) -> f64 {
    let StableShape { cells, hashes, max, decrements } = *shape;
    let (m, k) = (cells as f64, f64::from(hashes));
    let fill = 1.0 - stable::zero_fraction(cells, hashes, max, decrements);
    let varies = k * (k - 1.0) / 2.0 * (1.0 - fill) / (fill * m);
    let items = bloom::estimate_items(cells, hashes, (fill * m) as u64).items;
    libm::pow(fill, k) * (1.0 + varies) + scheme.excess(cells, items, fill)
}

#[derive(Clone, Debug)]
pub struct StableBloomOptions {
    width: u32,
    decrements: Option<u64>,
    drawn: bool,
    aging_seed: u64,
}

impl Built for StableBloom {
    type Options = StableBloomOptions;
}
impl ForItems for StableBloom {}
impl ForRate for StableBloom {}
impl InCells for StableBloom {}
impl Probing for StableBloom {}
impl Schemed for StableBloom {}

impl Builder<StableBloom> {
    /// Bits per cell, 1 to 32; 4 unless set. Wider cells forget later and more sharply, but there
    /// are fewer of them in the same memory: to know 99 % of the keys over a gap of n others,
    /// at 1 % false positives, cells of 1, 2, 3, 4, 5 and 8 bits take 3,282, 225, 114, 91, 84 and
    /// 92 bits for each key of the gap. Four bits are near the best from 0.1 % to 10 %, and P stays
    /// small.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = width;
        self
    }

    /// Cells lowered per insertion, P, from 1 to all; with `cells` and `hashes`, instead of `fpp`.
    pub fn decrements(mut self, decrements: u64) -> Self {
        self.options.decrements = Some(decrements);
        self
    }

    /// Draws the cells that an insertion lowers one by one, as in the paper, instead of a run of
    /// neighbours. Each is lowered as often, so that all formulas are the same; but no two are
    /// lowered together more often than others, which makes the fill vary less. It is slower, in
    /// proportion to P, and P is at most 65,536.
    ///
    /// ```
    /// use gardenia::StableBloom;
    /// let mut seen = StableBloom::builder().items(1_000).fpp(0.01).drawn().build()?;
    /// assert!(seen.insert("rose") && !seen.insert("rose"));
    /// assert!(seen.is_drawn() && seen.decrements() == StableBloom::new(1_000, 0.01)?.decrements());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn drawn(mut self) -> Self {
        self.options.drawn = true;
        self
    }

    /// Seed of the random places where cells are lowered; 0 unless set.
    pub fn aging_seed(mut self, seed: u64) -> Self {
        self.options.aging_seed = seed;
        self
    }

    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<StableShape, SizeError> {
        let Request { items, fpp, cells, hashes, scheme, .. } = self.request;
        let conflict = |message| Err(SizeError::Conflict(message));
        if !(1..=32).contains(&self.options.width) {
            return Err(SizeError::Width { width: self.options.width });
        }
        let max = u32::MAX >> (32 - self.options.width);
        if items == Some(0) {
            return Err(SizeError::ZeroItems);
        }
        if let Some(hashes) = hashes.filter(|hashes| !(1..=MAX_HASHES).contains(hashes)) {
            return Err(SizeError::Hashes { hashes, max: MAX_HASHES });
        }
        let fit = |cells: u64, hashes: u32| match cells {
            0 => Err(SizeError::ZeroCells),
            cells => match AnyScheme::new(scheme, hashes).fit(cells.min(MAX_CELLS + 1)) {
                fitted @ ..=MAX_CELLS => Ok(fitted),
                fitted => Err(SizeError::TooManyCells { cells: fitted.max(cells), max: MAX_CELLS }),
            },
        };
        // The best K for so many cells.
        let best = |cells, fpp| match (hashes, items) {
            (Some(hashes), _) => {
                let decrements = stable::decrements(cells, hashes, max, fpp)?;
                Ok(StableShape { cells, hashes, max, decrements })
            }
            (None, Some(gap)) => stable::shape_for_gap(cells, max, fpp, gap),
            (None, None) => stable::shape(cells, max, fpp),
        };
        let mut shape = match (cells, fpp, self.options.decrements, items) {
            (_, Some(_), Some(_), _) => return conflict("decrements fix the error rate: leave out fpp"),
            (Some(cells), Some(fpp), None, _) => best(cells, fpp)?,
            (None, Some(fpp), None, Some(gap)) => {
                // The law in theory is that of many cells: few err more, and are asked for less.
                if fpp > 0.0 && fpp <= MIN_RATE {
                    return Err(SizeError::FppBelowFloor { fpp, floor: MIN_RATE, items: gap });
                }
                let mut asked = fpp;
                loop {
                    let mut shape = fewest_cells(fpp, gap, |cells| best(cells, asked))?;
                    shape.cells = AnyScheme::new(scheme, shape.hashes).best_fit(shape.cells);
                    let found = rate_in_few_cells(&AnyScheme::new(scheme, shape.hashes), &shape);
                    if found <= 1.001 * fpp {
                        break shape;
                    }
                    asked *= 0.999 * fpp / found;
                }
            }
            (Some(cells), None, Some(decrements), _) => match hashes {
                Some(hashes) => StableShape { cells, hashes, max, decrements },
                None => return conflict("decrements need hashes"),
            },
            _ => return conflict("give items and fpp, or cells and fpp, or cells, hashes and decrements"),
        };
        shape.cells = fit(shape.cells, shape.hashes)?; // with more cells P is no larger
        let max = Aging::most(shape.cells, self.options.drawn);
        if (1..=max).contains(&shape.decrements) {
            Ok(shape)
        } else {
            Err(SizeError::Decrements { decrements: shape.decrements, max })
        }
    }

    /// The filter.
    pub fn build(self) -> Result<StableBloom, SizeError> {
        let StableShape { cells, hashes, max, decrements } = self.shape()?;
        let Request { items, fpp, hasher, scheme, .. } = self.request;
        let about = match (items, fpp) {
            (None, None) => About::default(),
            (items, fpp) => {
                let rate = || stable::stable_fpp(cells, hashes, max, decrements);
                About::planned(items.unwrap_or(0), fpp.unwrap_or_else(rate))
            }
        };
        Ok(StableBloom {
            hasher,
            scheme: AnyScheme::new(scheme, hashes),
            cells: Counters::new(cells, self.options.width)?,
            aging: Aging { decrements, seed: self.options.aging_seed, inserts: 0, drawn: self.options.drawn },
            about,
        })
    }
}

/// The `best` shape of so few cells that over a gap of this many keys no larger share than `fpp` is
/// forgotten.
fn fewest_cells(
    fpp: f64,
    gap: u64,
    best: impl Fn(u64) -> Result<StableShape, SizeError>,
) -> Result<StableShape, SizeError> {
    let remembers = |cells| match best(cells) {
        Ok(shape) => {
            let StableShape { hashes, max, decrements, .. } = shape;
            (stable::false_negative(cells, hashes, max, decrements, gap) <= fpp).then_some(shape)
        }
        Err(_) => None, // too few for the rate
    };
    // Up to the first power of two that will do, and back.
    let mut high = 1u64;
    let mut shape = loop {
        if let Some(shape) = remembers(high) {
            break shape;
        }
        if high >= MAX_CELLS {
            best(high)?; // a rate that cannot be
            return Err(SizeError::TooManyCells { cells: high.saturating_mul(2), max: MAX_CELLS });
        }
        high *= 2;
    };
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match remembers(middle) {
            Some(found) => (shape, high) = (found, middle),
            None => low = middle,
        }
    }
    Ok(shape)
}

impl StableBloom {
    /// A filter that is wrong with a probability of at most `fpp` both ways: for keys that never
    /// occurred, and for keys after which at most `items` others came.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape, width, seeds, secret, scheme.
    ///
    /// `cells` and `fpp` fix a filter: K is chosen to remember longest or, if `items` are given, to
    /// forget the fewest keys over a gap of that many others; P follows. `items` and `fpp` alone
    /// ask for the cells, too. To choose all by hand give `cells`, `hashes` and `decrements`.
    ///
    /// ```
    /// use gardenia::StableBloom;
    /// let seen = StableBloom::builder().cells(1_000_000).fpp(0.01).build()?;
    /// assert_eq!((seen.hashes(), seen.max(), seen.decrements()), (6, 15, 142));
    /// let own = StableBloom::builder().cells(10_000).hashes(4).width(3).decrements(15).build()?;
    /// assert_eq!((own.max(), own.decrements()), (7, 15));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<StableBloom> {
        Builder::new(StableBloomOptions { width: WIDTH, decrements: None, drawn: false, aging_seed: 0 })
    }

    /// Adds `key`; true if it was absent, or forgotten before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were absent, or forgotten before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was absent, or
    /// forgotten before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.insert_each(Given(digests), &mut Bools::of(digests, new));
    }

    /// Adds the key with this digest; true if it was absent, or forgotten.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.scheme.dispatch(Renew { cells: &mut self.cells, aging: &mut self.aging, digest })
    }

    /// Adds digests in order; `new` receives for each whether it was absent, or forgotten.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        self.scheme.dispatch(RenewMany { cells: &mut self.cells, aging: &mut self.aging, digests, new });
    }

    /// Forgets all keys, and starts the stream of random places again.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.aging.inserts = 0;
        self.about.forget();
    }
}

/// Whether no cell of the key is zero.
struct Known<'a, C> {
    cells: &'a C,
    digest: Digest,
}

impl<C: Tally> SchemeVisitor for Known<'_, C> {
    type Output = bool;
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        let Self { cells, digest } = self;
        let (mut walk, hashes) = (scheme.walk(digest, cells.len()), scheme.hashes() as usize);
        let mut least =
            |count: usize| (0..count).fold(u32::MAX, |least, _| least.min(cells.get(walk.step())));
        if hashes < FIRST {
            return least(hashes) > 0;
        }
        least(FIRST) > 0 && least(hashes - FIRST) > 0
    }
}

/// [`Known`] for each key of a batch in order.
struct KnownMany<'a, C, D, A> {
    cells: &'a C,
    digests: D,
    answers: &'a mut A,
}

impl<C: Tally, D: Source, A: Sink> SchemeVisitor for KnownMany<'_, C, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { cells, digests, answers } = self;
        let ask = |digest| Known { cells, digest }.visit(scheme);
        ask_each(scheme, (cells.len(), cells.words()), digests, answers, |at| cells.prefetch(at), ask);
    }
}

/// Inserts one key: answers, lowers, and sets.
struct Renew<'a> {
    cells: &'a mut Counters,
    aging: &'a mut Aging,
    digest: Digest,
}

impl SchemeVisitor for Renew<'_> {
    type Output = bool;
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        let Self { cells, aging, digest } = self;
        let (len, hashes) = (cells.len(), scheme.hashes());
        aging.inserts = aging.inserts.wrapping_add(1);
        if aging.drawn {
            let known = Known { cells: &*cells, digest }.visit(scheme);
            aging.draw(aging.inserts, len).into_iter().for_each(|at| cells.age_run(at, 1));
            scheme.positions(digest, len).for_each(|at| _ = cells.renew(at));
            return !known;
        }
        let (start, mut walk) = (aging.start(aging.inserts, len), scheme.walk(digest, len));
        // The cells are set as they are read, in one pass, and those that the run then lowers once more.
        let (mut least, mut nearest) = (u32::MAX, u64::MAX);
        for _ in 0..hashes {
            let at = walk.step();
            least = least.min(cells.renew(at));
            let (behind, before) = at.overflowing_sub(start);
            nearest = nearest.min(select_unpredictable(before, behind.wrapping_add(len), behind));
        }
        cells.age_run(start, aging.decrements);
        if nearest < aging.decrements {
            scheme.positions(digest, len).for_each(|at| _ = cells.renew(at));
        }
        least == 0
    }
}

/// Words of a run that are asked for ahead: processors fetch the lines behind the first by
/// themselves.
const RUN_WORDS: u64 = 16;

/// [`Renew`] for each key of a batch in order.
struct RenewMany<'a, D, A> {
    cells: &'a mut Counters,
    aging: &'a mut Aging,
    digests: D,
    new: &'a mut A,
}

impl<D: Source, A: Sink> SchemeVisitor for RenewMany<'_, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { cells, aging, digests, new } = self;
        let (len, hashes, lines, far) =
            (cells.len(), scheme.hashes(), cells.lines(), ahead::is_far(cells.memory().words()));
        // The places of later runs are known now. Each key is fetched once, in order.
        let (plan, fetched) = (*aging, Cell::new(aging.inserts));
        let per_line = 8 * u64::from(64 / cells.width());
        let reach = plan.decrements.min(RUN_WORDS / 8 * per_line) - 1;
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, len);
            (0..hashes).for_each(|_| lines.prefetch(walk.step()));
            if plan.drawn {
                return;
            }
            fetched.set(fetched.get().wrapping_add(1));
            let start = plan.start(fetched.get(), len);
            lines.prefetch(start);
            lines.prefetch(start + reach); // past the end nothing happens
        };
        let ask = |digest| Renew { cells: &mut *cells, aging: &mut *aging, digest }.visit(scheme);
        digests.each::<{ ahead::LINES }>(far, fetch, ask, new);
    }
}

impl<M: Memory> StableBloom<M> {
    /// Whether `key` may have come lately. It may be false for an inserted key: old keys are
    /// forgotten.
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

    /// Whether the key with this digest may have come lately.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        match self.cells.even() {
            Some(cells) => self.scheme.dispatch(Known { cells: &cells, digest }),
            None => self.scheme.dispatch(Known { cells: &self.cells, digest }),
        }
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        match self.cells.even() {
            Some(cells) => self.scheme.dispatch(KnownMany { cells: &cells, digests, answers }),
            None => self.scheme.dispatch(KnownMany { cells: &self.cells, digests, answers }),
        }
    }

    counter_filter_facts!();

    /// Cells set per insertion, K.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// The value that a cell is set to, Max: 2^width − 1.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.cells.top()
    }

    /// Cells lowered per insertion, P.
    #[must_use]
    pub fn decrements(&self) -> u64 {
        self.aging.decrements
    }

    /// Whether these are drawn one by one, and not a run of neighbours.
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.aging.drawn
    }

    /// Seed of the random places where cells are lowered.
    #[must_use]
    pub fn aging_seed(&self) -> u64 {
        self.aging.seed
    }

    /// Insertions so far, of known keys too.
    #[must_use]
    pub fn inserts(&self) -> u64 {
        self.aging.inserts
    }

    /// The share of cells that are zero.
    #[must_use]
    pub fn zero_fraction(&self) -> f64 {
        1.0 - self.fill()
    }

    /// The false-positive probability as the filter is now, from its fill and scheme.
    /// Cells of small filters are counted, as in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let table = (self.cells.len(), self.cells.count_nonzero());
        stated_fpp(&self.scheme, table, 1, |at| self.cells.get(at) > 0)
    }

    /// The false-positive probability in the long run, which is never exceeded but by chance.
    ///
    /// ```
    /// let mut seen = gardenia::StableBloom::builder().cells(50_000).fpp(0.02).build()?;
    /// assert!(seen.fpp() == 0.0 && (0.019..0.02).contains(&seen.stable_fpp()));
    /// seen.extend(0..100_000u32);
    /// assert!((seen.fpp() / seen.stable_fpp() - 1.0).abs() < 0.1);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn stable_fpp(&self) -> f64 {
        stable::stable_fpp(self.cells.len(), self.hashes(), self.max(), self.aging.decrements)
    }

    /// The probability that a key is forgotten once `gap` other, distinct keys came after it.
    ///
    /// ```
    /// let seen = gardenia::StableBloom::new(1_000, 0.01)?;
    /// assert!(seen.forgotten_after(1_000) <= 0.01 && seen.forgotten_after(100) < 1e-4);
    /// assert!(seen.forgotten_after(1_000_000) > 0.9);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn forgotten_after(&self, gap: u64) -> f64 {
        stable::false_negative(self.cells.len(), self.hashes(), self.max(), self.aging.decrements, gap)
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Stable,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.cells.len(),
            width: self.cells.width(),
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<StableBloom, SizeError> {
        let mut cells = Counters::new(self.cells.len(), self.cells.width())?;
        cells.copy_from(&self.cells);
        let (hasher, scheme, aging, about) =
            (self.hasher.clone(), self.scheme, self.aging, self.about.clone());
        Ok(StableBloom { hasher, scheme, cells, aging, about })
    }
}

impl<M: Memory> fmt::Debug for StableBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hasher, scheme, cells) = (&self.hasher, &self.scheme, &self.cells);
        f.debug_struct("StableBloom")
            .field("hasher", hasher)
            .field("scheme", scheme)
            .field("cells", cells)
            .field("aging", &self.aging)
            .finish()
    }
}

/// Equal in identity, cells and aging: the same answers now, and after the same insertions. What
/// they were planned for does not count.
impl<M: Memory, N: Memory> PartialEq<StableBloom<N>> for StableBloom<M> {
    fn eq(&self, other: &StableBloom<N>) -> bool {
        self.identity() == other.identity() && self.aging == other.aging && self.cells == other.cells
    }
}

crate::explain::look_at_counters!([M: Memory] StableBloom<M>, cells);

filter_impl!([M: Memory] StableBloom<M>);
insert_impl!([] StableBloom);

impl<M: Memory> Stored for StableBloom<M> {
    fn options(&self, spec: &mut Spec) {
        spec.set_whole(Param::Decrements, self.aging.decrements);
        if self.aging.drawn {
            spec.default_to(Param::Drawn, Value::Given);
        }
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let Aging { decrements, seed, inserts, drawn } = self.aging;
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        let params = [decrements, seed, inserts, 1];
        Ok(header.with_params(&params[..if drawn { 4 } else { 3 }]))
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.cells.memory()]
    }
}

/// The parts of a stored filter other than its cells, checked.
fn restore(
    header: &Header,
    options: &ReadOptions,
) -> Result<(KeyHasher, AnyScheme, Aging, About), DecodeError> {
    header.check_kind(Kind::Stable)?;
    header.check_counters()?;
    let ([decrements, seed, inserts], drawn) = match header.param_words() {
        Ok([decrements, seed, inserts, 1]) => ([decrements, seed, inserts], true),
        Ok([.., value]) => {
            return Err(DecodeError::Field { field: "way of aging", value, rule: "1 is known" });
        }
        Err(_) => (header.param_words()?, false),
    };
    if !(1..=Aging::most(header.identity.cells, drawn)).contains(&decrements) {
        let rule = "1 to the number of cells are allowed, and 65,536 if they are drawn";
        return Err(DecodeError::Field { field: "decrements", value: decrements, rule });
    }
    let aging = Aging { decrements, seed, inserts, drawn };
    Ok((header.hasher(options)?, header.scheme()?, aging, header.about()))
}

impl format::Restore for StableBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, scheme, aging, about) = restore(header, options)?;
        let cells = Counters::new(header.identity.cells, header.identity.width)?;
        Ok(Self { hasher, scheme, cells, aging, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.cells.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.cells.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for StableBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, scheme, aging, about) = restore(header, options)?;
        let cells = Counters::borrowed(payload, header.identity.cells, header.identity.width)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        Ok(Self { hasher, scheme, cells, aging, about })
    }
}

format::stored_methods!(StableBloom<M> where M: Memory);
format::read_methods!(StableBloom);
format::serde_impls!([M: Memory] StableBloom<M>, [] StableBloom);

/// Bits per cell, unless set.
const WIDTH: u32 = 4;

impl Builder<StableBloom> {
    fn of(spec: &Spec) -> Self {
        let (width, decrements) = (spec.small(Param::Width).unwrap_or(WIDTH), spec.whole(Param::Decrements));
        let mut request = Request::of(spec, width.into());
        // A size leaves the rate open, unless decrements fix it.
        if decrements.is_none() {
            request.fpp.get_or_insert(DEFAULT_FPP);
        }
        let drawn = spec.has(Param::Drawn);
        Self { request, options: StableBloomOptions { width, decrements, drawn, aging_seed: 0 } }
    }
}

impl FromSpec for StableBloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || {
            sizes::search(goal.fpp, goal.within, |fpp| sizes::stable_design(goal.need, fpp))
        })
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<StableBloom>::of(spec);
        let StableShape { cells, hashes, decrements, .. } = builder.shape()?;
        if let Some(fpp) = builder.request.fpp {
            spec.default_to(Param::PlannedFpp, Value::Real(fpp));
        }
        spec.fill_shape(Param::Cells, bloom::Shape { cells, hashes });
        spec.set_whole(Param::Width, builder.options.width);
        spec.set_whole(Param::Decrements, decrements);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let StableBloomOptions { width, decrements, drawn, .. } = Builder::<StableBloom>::of(spec).options;
        let (bloom::Shape { cells, hashes }, max) =
            (spec.shape(Param::Cells), u32::MAX >> (32 - width.clamp(1, 32)));
        let rate = stable::stable_fpp(cells, hashes, max, decrements.unwrap_or(1));
        Ok(Measure::as_stored(cell_bytes(cells, width), if drawn { 32 } else { 24 }, Some(rate)))
    }
    fn bound(spec: &Spec, _: f64, confidence: f64) -> Result<f64, SizeError> {
        Ok(sizes::stable_bound(Builder::<StableBloom>::of(spec).shape()?, spec.planned_items(), confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        let mut filter = Builder::<StableBloom>::of(spec).build()?;
        if let Some(fpp) = spec.real(Param::PlannedFpp) {
            filter.about.plan(spec.whole(Param::Items).unwrap_or(0), fpp);
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SchemeId;
    use proptest::prelude::*;

    fn values<M: Memory>(filter: &StableBloom<M>) -> Vec<u32> {
        (0..filter.cells()).map(|at| filter.cells.get(at)).collect()
    }

    proptest! {
        /// The paper's three steps, one by one, on an array of integers.
        #[test]
        fn the_filter_follows_the_paper_step_by_step(
            scheme in proptest::sample::select(SchemeId::ALL.to_vec()),
            (cells, hashes, width) in (1u64..80, 1u32..12, 1u32..=32),
            (share, drawn) in (0.0..=1.0f64, any::<bool>()),
            (seed, aging_seed) in any::<(u64, u64)>(),
            keys in proptest::collection::vec(0u8..40, 0..200),
        ) {
            let cells = AnyScheme::new(scheme, hashes).fit(cells);
            let decrements = 1 + (share * (cells - 1) as f64) as u64;
            let builder = StableBloom::builder().cells(cells).hashes(hashes).width(width).seed(seed);
            let builder = builder.decrements(decrements).aging_seed(aging_seed).scheme(scheme);
            let builder = if drawn { builder.drawn() } else { builder };
            let mut filter = builder.build().unwrap();
            let mut model = vec![0u32; cells as usize];
            for (number, key) in (1..).zip(keys) {
                let digest = filter.hasher.digest_key(&key);
                let positions: Vec<u64> = filter.scheme.positions(digest, cells).collect();
                let known = positions.iter().all(|at| model[*at as usize] > 0);
                prop_assert_eq!(filter.contains(key), known);
                let place = Digest(aging_seed).word(number);
                let start = scale(place, cells);
                let mut lowered: Vec<u64> = (start..start + decrements).map(|at| at % cells).collect();
                for i in (0..decrements as usize).filter(|_| drawn) {
                    let last = cells - decrements + i as u64;
                    let at = scale(Digest(place).word(i as u32 + 1), last + 1);
                    lowered[i] = if lowered[..i].contains(&at) { last } else { at };
                }
                for at in lowered {
                    model[at as usize] = model[at as usize].saturating_sub(1);
                }
                positions.iter().for_each(|at| model[*at as usize] = filter.max());
                prop_assert_eq!(filter.insert(key), !known);
                prop_assert_eq!(&values(&filter), &model);
                prop_assert_eq!(filter.inserts(), u64::from(number));
            }
        }
    }

    #[test]
    fn a_key_does_not_weaken_itself() {
        // All cells are lowered by every insertion; libbf lowers after it has set.
        let mut bed = StableBloom::builder().cells(40).hashes(3).width(2).decrements(40).build().unwrap();
        bed.insert("rose");
        assert!(values(&bed).iter().all(|value| [0, 3].contains(value)));
        bed.insert("rose");
        assert!(bed.contains("rose") && values(&bed).iter().all(|value| [0, 3].contains(value)));
    }

    #[test]
    fn a_zero_stays_zero() {
        // libbf's zeros wrap to the maximum, which makes every key a duplicate.
        for width in [1, 2, 3, 5, 32] {
            let builder = StableBloom::builder().cells(1_000).hashes(1).width(width).decrements(1_000);
            let mut bed = builder.build().unwrap();
            bed.insert("rose");
            assert_eq!((bed.cells.count_nonzero(), bed.zero_fraction()), (1, 0.999));
        }
    }

    #[test]
    fn duplicates_age_the_others_too() {
        let mut bed = StableBloom::builder().cells(50).hashes(2).width(2).decrements(50).build().unwrap();
        bed.insert("rose");
        for known in [true, true, false] {
            bed.insert("tulip");
            assert_eq!(bed.contains("rose"), known);
        }
    }

    #[test]
    fn places_of_runs_are_frozen() {
        // By make_golden.py, also beyond the 32 bits of `Digest::word`.
        let aging = Aging { decrements: 1, seed: 0x0123_4567_89ab_cdef, inserts: 0, drawn: false };
        let starts = [1, 2, 1 << 32, u64::MAX].map(|number| aging.start(number, 1 << 40));
        assert_eq!(starts[..2], [1, 2].map(|i| scale(Digest(aging.seed).word(i), 1 << 40)));
        assert_eq!(starts[2..], [276_519_155_391, 140_639_676_822]);
    }

    #[test]
    fn every_pair_of_cells_is_drawn_as_often() {
        // Of 7 cells 3, and so each of the 21 pairs with probability 3·2/(7·6).
        let (aging, trials) = (Aging { decrements: 3, seed: 9, inserts: 0, drawn: true }, 70_000u64);
        let mut met = [[0u32; 7]; 7];
        for drawn in (1..=trials).map(|number| aging.draw(number, 7)) {
            assert_eq!(drawn.len(), 3);
            drawn.iter().for_each(|a| drawn.iter().for_each(|b| met[*a as usize][*b as usize] += 1));
        }
        for (a, b) in (0..7).flat_map(|a| (0..7).map(move |b| (a, b))) {
            let share = if a == b { 3.0 / 7.0 } else { 1.0 / 7.0 };
            let (expected, found) = (share * trials as f64, f64::from(met[a][b]));
            let error = libm::sqrt(expected * (1.0 - share));
            assert!((found - expected).abs() < 5.0 * error, "{a} and {b}: {found}, {expected} ± {error}");
        }
    }

    #[test]
    fn more_cells_than_can_be_noted_are_not_drawn() {
        let builder = StableBloom::builder().cells(1 << 17).hashes(3).decrements(MAX_DRAWN + 1);
        assert!(builder.clone().build().is_ok());
        let error = SizeError::Decrements { decrements: MAX_DRAWN + 1, max: MAX_DRAWN };
        assert_eq!(builder.drawn().build().unwrap_err(), error);
    }

    #[test]
    fn clearing_makes_a_new_filter() {
        let new = StableBloom::builder().cells(99).hashes(3).decrements(7).aging_seed(5).build().unwrap();
        let mut bed = new.clone();
        bed.extend(0..1000);
        assert!(bed != new && bed.inserts() == 1000);
        bed.clear();
        assert_eq!(bed, new);
    }

    #[test]
    fn filters_that_will_go_on_otherwise_are_not_equal() {
        let make = |decrements, seed| {
            let builder = StableBloom::builder().cells(99).hashes(3).decrements(decrements);
            builder.aging_seed(seed).build().unwrap()
        };
        assert!(make(7, 0) == make(7, 0) && make(7, 0) != make(8, 0) && make(7, 0) != make(7, 1));
        let drawn = StableBloom::builder().cells(99).hashes(3).decrements(7).drawn().build().unwrap();
        assert!(make(7, 0) != drawn);
    }

    #[test]
    fn parameters_that_cannot_be_are_typed_errors() {
        let with = |change: fn(Builder<StableBloom>) -> Builder<StableBloom>| {
            change(StableBloom::builder()).build().unwrap_err()
        };
        assert_eq!(
            with(|b| b.cells(9).hashes(2).decrements(0)),
            SizeError::Decrements { decrements: 0, max: 9 }
        );
        assert_eq!(
            with(|b| b.cells(9).hashes(2).decrements(10)),
            SizeError::Decrements { decrements: 10, max: 9 }
        );
        for width in [0, 33] {
            let builder = StableBloom::builder().cells(9).fpp(0.1).width(width);
            assert_eq!(builder.build().unwrap_err(), SizeError::Width { width });
        }
        for fpp in [0.0, 1.0, -1.0, 2.0] {
            assert_eq!(StableBloom::builder().cells(99).fpp(fpp).build().unwrap_err(), SizeError::Fpp(fpp));
            assert_eq!(StableBloom::new(99, fpp).unwrap_err(), SizeError::Fpp(fpp));
        }
        assert!(matches!(StableBloom::new(9, f64::NAN), Err(SizeError::Fpp(_))));
        assert_eq!(with(|b| b.items(0).fpp(0.1)), SizeError::ZeroItems);
        assert_eq!(with(|b| b.cells(0).fpp(0.1)), SizeError::ZeroCells);
        assert_eq!(with(|b| b.cells(0).hashes(1).decrements(1)), SizeError::ZeroCells);
        let too_many = SizeError::TooManyCells { cells: MAX_CELLS + 1, max: MAX_CELLS };
        assert_eq!(with(|b| b.cells(MAX_CELLS + 1).hashes(1).decrements(1)), too_many);
        assert_eq!(with(|b| b.cells(MAX_CELLS + 1).fpp(0.1)), too_many);
        assert!(matches!(with(|b| b.items(u64::MAX).fpp(0.1)), SizeError::TooManyCells { .. }));
        assert!(matches!(with(|b| b.cells(9).hashes(0).decrements(1)), SizeError::Hashes { hashes: 0, .. }));
        assert!(matches!(with(|b| b.cells(9).hashes(256).fpp(0.5)), SizeError::Hashes { hashes: 256, .. }));
        let message = |change| alloc::string::ToString::to_string(&with(change));
        assert!(message(|b| b).contains("give items and fpp"));
        assert!(message(|b| b.items(5)).contains("give items and fpp"));
        assert!(message(|b| b.cells(5).hashes(5)).contains("give items and fpp"));
        assert!(message(|b| b.cells(5).decrements(5)).contains("need hashes"));
        assert!(message(|b| b.cells(5).hashes(5).fpp(0.1).decrements(5)).contains("leave out fpp"));
        assert!(message(|b| b.cells(10).hashes(5).fpp(0.001)).contains("too few cells"));
    }

    #[test]
    fn shapes_keep_what_was_asked_for() {
        for (items, fpp, width) in [(1, 0.5, 1), (1_000, 0.1, 2), (1_000, 0.01, 4), (100_000, 1e-3, 6)] {
            let builder = StableBloom::builder().items(items).fpp(fpp).width(width);
            let shape = builder.shape().unwrap();
            let lost = |StableShape { cells, hashes, max, decrements }| {
                stable::false_negative(cells, hashes, max, decrements, items)
            };
            assert!(lost(shape) <= fpp, "{shape:?}");
            let filter = builder.clone().build().unwrap();
            assert!(filter.stable_fpp() <= fpp && filter.forgotten_after(items) <= fpp);
            assert_eq!((filter.about().planned_items(), filter.about().planned_fpp()), (items, fpp));
            // A cell less does not do.
            let less = builder.cells(shape.cells - 1).shape();
            assert!(less.is_err() || lost(less.unwrap()) > fpp, "{shape:?}");
        }
        // A partition is rounded up, and still keeps the rate.
        let builder = StableBloom::builder().cells(1_000).hashes(7).fpp(0.01).scheme(SchemeId::Partition);
        let filter = builder.build().unwrap();
        assert_eq!(filter.cells(), 1_001);
        assert!(filter.stable_fpp() <= 0.01);
    }
}
