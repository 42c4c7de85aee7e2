//! One level of a bitwise filter, the stack of those above the first, and the loops over keys.

use super::BitwiseBloom;
use crate::SizeError;
use crate::cells::{Counters, Memory, Owned};
use crate::filter::count::row::{Least, Row, Touch};
use crate::hash::Digest;
use crate::index::{AnyScheme, Scheme, SchemeId, SchemeVisitor, Walk};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::simd::{Sink, Source, ahead};
use crate::spec::cell_bytes;
use alloc::vec::Vec;

/// The digits of all levels together have at most this many bits, so that every count fits 64.
pub(super) const COUNT_BITS: u32 = 64;

/// Bits that a cell needs beyond its digit. Three, with which a digit of one bit gets the classical
/// cell of four.
const LEAST_SLACK: u32 = 3;

/// An added level has at least this many cells, or as many as the first: with few it would show the
/// one large count that made it to every key.
const LEAST_CELLS: u64 = 1_024;

/// The shape of one level of a [`BitwiseBloom`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitwiseLevel {
    /// Number of cells, m.
    pub cells: u64,
    /// Probes per key, k.
    pub hashes: u32,
    /// Bits of a digit, w: 1 to 29.
    pub digit: u32,
    /// Bits of a cell, which keys share: at least w + 3, at most 32.
    pub width: u32,
}

impl BitwiseLevel {
    /// Whether there can be such a level.
    pub(super) fn check(self) -> Result<(), SizeError> {
        let Self { cells, hashes, digit, width } = self;
        if width > 32 {
            return Err(SizeError::Width { width });
        }
        if digit == 0 || width < digit.saturating_add(LEAST_SLACK) {
            return Err(SizeError::Digit { digit, width });
        }
        if !(1..=MAX_HASHES).contains(&hashes) {
            return Err(SizeError::Hashes { hashes, max: MAX_HASHES });
        }
        match cells {
            0 => Err(SizeError::ZeroCells),
            cells if cells > MAX_CELLS => Err(SizeError::TooManyCells { cells, max: MAX_CELLS }),
            _ => Ok(()),
        }
    }

    /// This level, with as many cells as the scheme can use.
    pub(super) fn fit(self, scheme: SchemeId) -> Self {
        Self { cells: AnyScheme::new(scheme, self.hashes).fit(self.cells), ..self }
    }

    /// Empty cells for this level.
    pub(super) fn room(self) -> Result<Counters, SizeError> {
        Counters::new(self.cells, self.width)
    }
}

/// One digit of every key's count.
#[derive(Clone)]
pub(super) struct Level<M> {
    /// Counted from 0: it chooses the hash functions.
    number: u32,
    /// Bits of all digits below.
    pub(super) below: u32,
    pub(super) digit: u32,
    pub(super) scheme: AnyScheme,
    pub(super) cells: Counters<M>,
}

/// A key's digest on level `number`: itself on level 0, and above a word that no scheme asks for
/// (they take words 0 to 254), so that levels have hash functions of their own.
#[inline(always)]
pub(super) fn here(digest: Digest, number: u32) -> Digest {
    Digest(digest.word(number << 8))
}

impl<M: Memory> Level<M> {
    pub(super) fn new(
        shape: BitwiseLevel,
        scheme: SchemeId,
        number: u32,
        below: u32,
        cells: Counters<M>,
    ) -> Self {
        Self { number, below, digit: shape.digit, scheme: AnyScheme::new(scheme, shape.hashes), cells }
    }

    pub(super) fn shape(&self) -> BitwiseLevel {
        let (cells, width) = (self.cells.len(), self.cells.width());
        BitwiseLevel { cells, hashes: self.scheme.hashes(), digit: self.digit, width }
    }

    /// The largest digit.
    #[inline(always)]
    pub(super) fn full(&self) -> u32 {
        (1 << self.digit) - 1
    }

    /// The digest that leads to a key's cells here.
    pub(super) fn own(&self, digest: Digest) -> Digest {
        here(digest, self.number)
    }

    /// The least of a key's cells: its digit, or more where other keys share all of them.
    #[inline]
    pub(super) fn least(&self, digest: Digest) -> u32 {
        self.scheme.dispatch(Least { cells: &self.cells, digest: here(digest, self.number) })
    }

    /// What the least of a key's cells says of its count. No digit is above full, so more is not
    /// believed.
    #[inline(always)]
    pub(super) fn worth(&self, least: u32) -> u64 {
        u64::from(least.min(self.full())) << self.below
    }
}

impl Level<Owned> {
    /// Raises or lowers the cells of a key by the difference.
    pub(super) fn change(&mut self, digest: Digest, from: u32, to: u32) {
        let work = |cells: &mut Counters, row: &Row<'_>| match to.checked_sub(from) {
            Some(more) => row.raise(cells, more),
            None => row.lower(cells, from - to),
        };
        let digest = here(digest, self.number);
        self.scheme.dispatch(Touch { cells: &mut self.cells, digest, work });
    }
}

/// What becomes of a level where the least of a key's cells is `least` when `times` is added to its
/// count: the new least, and what is carried. The same as adding one so often, each time carrying
/// at most one.
pub(super) fn add(least: u32, digit: u32, times: u64) -> (u32, u64) {
    let sum = u128::from(least) + u128::from(times);
    let carry = (sum >> digit).min(times.into());
    ((sum - (carry << digit)) as u32, carry as u64)
}

/// How levels are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) scheme: SchemeId,
    /// Cells of a level, as a share of those of the level below.
    pub(super) share: f64,
    pub(super) max_levels: u32,
}

impl Rule {
    /// Whether a filter can have these levels, at least one, and this rule for more.
    pub(super) fn check(&self, levels: &[BitwiseLevel]) -> Result<(), SizeError> {
        levels.iter().try_for_each(|level| level.check())?;
        let conflict = |message| Err(SizeError::Conflict(message));
        if levels.iter().map(|level| level.digit).sum::<u32>() > COUNT_BITS {
            return conflict("the digits of all levels together have more than 64 bits");
        }
        if !(self.share > 0.0 && self.share <= 1.0) {
            return conflict("the share of cells of an added level must be above 0, and at most 1");
        }
        if !(levels.len().max(1) as u32..=COUNT_BITS).contains(&self.max_levels) {
            return conflict(
                "max_levels must be at least the number of levels to begin with, and at most 64",
            );
        }
        Ok(())
    }
}

/// The levels above the first, apart from it so that a carry can change them while the cells of the
/// first are lent to a loop.
#[derive(Clone)]
pub(super) struct Above<M> {
    pub(super) rule: Rule,
    /// The first level, after which others are made.
    pub(super) first: BitwiseLevel,
    pub(super) levels: Vec<Level<M>>,
}

impl<M: Memory> Above<M> {
    /// The least of a key's cells on each level. Few keys have a digit there: mostly the first cell
    /// decides, a branch that is foretold and one line of memory.
    #[inline(always)]
    fn leasts(&self, digest: Digest) -> impl Iterator<Item = (&Level<M>, u32)> {
        self.levels.iter().map(move |level| {
            let rare = Rare { cells: &level.cells, digest: here(digest, level.number) };
            (level, level.scheme.dispatch(rare))
        })
    }

    /// What these levels say of a key's count.
    #[inline]
    pub(super) fn count(&self, digest: Digest) -> u64 {
        self.leasts(digest).map(|(level, least)| level.worth(least)).sum()
    }

    /// Whether one of these levels has a digit of the key.
    #[inline]
    pub(super) fn holds(&self, digest: Digest) -> bool {
        self.leasts(digest).any(|(_, least)| least > 0)
    }

    /// Bits of all digits, those of the first level included.
    pub(super) fn bits(&self) -> u32 {
        self.levels.last().map_or(self.first.digit, |level| level.below + level.digit)
    }

    fn last(&self) -> BitwiseLevel {
        self.levels.last().map_or(self.first, Level::shape)
    }

    /// The largest count, once there are as many levels as there may be.
    pub(super) fn max_count(&self) -> u64 {
        let more = self.rule.max_levels - 1 - self.levels.len() as u32;
        u64::MAX >> (COUNT_BITS - (self.bits() + more * self.last().digit).min(COUNT_BITS))
    }

    /// The level that comes next, if there may be one.
    fn next(&self) -> Option<BitwiseLevel> {
        let left = COUNT_BITS - self.bits();
        if left == 0 || self.levels.len() as u32 + 1 >= self.rule.max_levels {
            return None;
        }
        let last = self.last();
        let cells = libm::ceil(last.cells as f64 * self.rule.share) as u64;
        let cells = cells.max(LEAST_CELLS.min(self.first.cells));
        Some(BitwiseLevel { cells, digit: last.digit.min(left), ..last }.fit(self.rule.scheme))
    }

    /// Bytes that this many more keys add at most: a key adds one level, which is not larger than
    /// the one that comes next, and takes a bit of the count at least.
    pub(super) fn bytes_for(&self, keys: u64) -> u64 {
        let level = self.next().map_or(0, |next| cell_bytes(next.cells, next.width));
        level.saturating_mul(keys.min((COUNT_BITS - self.bits()).into()))
    }
}

impl Above<Owned> {
    /// Adds a level; false if there may be none, or there is no memory for it.
    pub(super) fn grow(&mut self) -> bool {
        let (number, below) = (self.levels.len() as u32 + 1, self.bits());
        let next = self.next().and_then(|next| Some((next, next.room().ok()?)));
        let level = next.map(|(next, cells)| Level::new(next, self.rule.scheme, number, below, cells));
        self.levels.extend(level);
        self.levels.len() as u32 == number
    }

    /// Adds `times` to the key's digit on level `at` of these, with carries. False, and no count
    /// has changed, if the key has lost count on a level or the last level would have to carry.
    pub(super) fn add(&mut self, at: usize, digest: Digest, times: u64) -> bool {
        if at == self.levels.len() && !self.grow() {
            return false;
        }
        let level = &self.levels[at];
        let least = level.least(digest);
        let (new, carry) = add(least, level.digit, times);
        // Upwards first: if it fails there, nothing has changed here.
        if least == level.cells.top() || carry > 0 && !self.add(at + 1, digest, carry) {
            return false;
        }
        self.levels[at].change(digest, least, new);
        true
    }
}

/// Adds one to the digit of a key on the first level, with a carry if it is full; whether the key
/// seemed absent.
#[inline(always)]
pub(super) fn raise(
    cells: &mut Counters,
    row: &Row<'_>,
    full: u32,
    digest: Digest,
    above: &mut Above<Owned>,
) -> bool {
    let least = row.least();
    // Goal also where the first level knows the key: which keys it knows cannot be foretold, and behind a branch
    // the levels above would wait for it.
    let held = above.holds(digest);
    if least >= full {
        if least < cells.top() && above.add(0, digest, 1) {
            row.lower(cells, full);
        }
        return false;
    }
    row.raise(cells, 1);
    least == 0 && !held
}

/// The least of a key's cells, where the first is mostly zero.
struct Rare<'a, M> {
    cells: &'a Counters<M>,
    digest: Digest,
}

impl<M: Memory> SchemeVisitor for Rare<'_, M> {
    type Output = u32;
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) -> u32 {
        let Self { cells, digest } = self;
        let mut walk = scheme.walk(digest, cells.len());
        match cells.get(walk.step()) {
            0 => 0,
            first => (1..scheme.hashes()).fold(first, |least, _| least.min(cells.get(walk.step()))),
        }
    }
}

/// The first position of a key on a level, to be fetched ahead.
struct FirstCell {
    len: u64,
    digest: Digest,
}

impl SchemeVisitor for FirstCell {
    type Output = u64;
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) -> u64 {
        scheme.walk(self.digest, self.len).step()
    }
}

/// [`raise`] for each key of a batch in order.
pub(super) struct AddMany<'a, D, A> {
    pub(super) base: &'a mut Counters,
    pub(super) full: u32,
    pub(super) above: &'a mut Above<Owned>,
    pub(super) digests: D,
    pub(super) new: &'a mut A,
}

impl<D: Source, A: Sink> SchemeVisitor for AddMany<'_, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { base, full, above, digests, new } = self;
        let (len, hashes, far, lines) =
            (base.len(), scheme.hashes(), ahead::is_far(base.memory().words()), base.lines());
        // Where the levels above are; those that this batch adds are not fetched ahead.
        let higher = above.levels.iter().filter(|level| ahead::is_far_if_known(level.cells.memory().words()));
        let higher = higher.map(|level| (level.number, level.scheme, level.cells.len(), level.cells.lines()));
        let higher: Vec<_> = higher.collect();
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, len);
            (0..hashes).for_each(|_| lines.prefetch(walk.step()));
            for (number, scheme, len, lines) in &higher {
                lines.prefetch(scheme.dispatch(FirstCell { len: *len, digest: here(digest, *number) }));
            }
        };
        let ask = |digest| {
            let work = |cells: &mut Counters, row: &Row<'_>| raise(cells, row, full, digest, above);
            Touch { cells: &mut *base, digest, work }.visit(scheme)
        };
        digests.each::<{ ahead::LINES }>(far, fetch, ask, new);
    }
}

/// The least of a key's cells on the first level, handed to `take` for each key of a batch in
/// order; its answers go to `answers`. The cells that `take` needs first from the levels above are
/// fetched ahead, too.
pub(super) struct AskMany<'a, M, D, F, A> {
    pub(super) filter: &'a BitwiseBloom<M>,
    pub(super) digests: D,
    pub(super) take: F,
    pub(super) answers: &'a mut A,
}

impl<M: Memory, D: Source, F: FnMut(u32, Digest) -> bool, A: Sink> SchemeVisitor for AskMany<'_, M, D, F, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { filter: BitwiseBloom { base, above, .. }, digests, mut take, answers } = self;
        let words = |level: &Level<M>| level.cells.memory().words();
        let higher: Vec<_> =
            above.levels.iter().filter(|level| ahead::is_far_if_known(words(level))).collect();
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, base.cells.len());
            (0..scheme.hashes()).for_each(|_| base.cells.prefetch(walk.step()));
            for level in &higher {
                let first = FirstCell { len: level.cells.len(), digest: here(digest, level.number) };
                level.cells.prefetch(level.scheme.dispatch(first));
            }
        };
        let ask = |digest| take(Least { cells: &base.cells, digest }.visit(scheme), digest);
        digests.each::<{ ahead::LINES }>(ahead::is_far(words(base)), fetch, ask, answers);
    }
}
