//! The cells of one key, and the loops of filters over numbers: one key, and many with the memory
//! waits overlapped.
//!
//! Positions of one key may coincide, and a cell that is met twice must still be changed once:
//! raised twice at insertion and lowered once at removal it would never come back to zero. So all
//! cells are *read* before the first is *written*: writing the same new value twice does no harm,
//! and no position is compared with another.

use crate::cells::{Ahead, Tally, TallyMut};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use crate::simd::ahead::{self, FIRST};
use crate::simd::{Sink, Source};
use core::hint::select_unpredictable;

/// Where the cells of a key are, and what they held when they were read.
pub(crate) struct Row<'a> {
    at: &'a mut [u64],
    value: &'a mut [u32],
}

impl Row<'_> {
    /// Reads the cells at the next positions of `walk`.
    #[inline(always)]
    fn read(&mut self, cells: &impl Tally, mut walk: impl Walk) {
        for (at, value) in self.at.iter_mut().zip(self.value.iter_mut()) {
            *at = walk.step();
            *value = cells.get(*at);
        }
    }

    /// The least value: minimum selection.
    #[inline(always)]
    pub(crate) fn least(&self) -> u32 {
        self.value.iter().fold(u32::MAX, |least, value| least.min(*value))
    }

    /// Whether at least two *different* cells hold the least value, once `change` has been done to
    /// each.
    #[inline(always)]
    pub(crate) fn least_recurs(&self, change: impl Fn(u32) -> u32) -> bool {
        let mut minimum = Minimum::default();
        self.at.iter().zip(self.value.iter()).for_each(|(at, value)| minimum.take(*at, change(*value)));
        minimum.recurs()
    }

    /// Writes `change` of each cell's old value.
    #[inline(always)]
    pub(crate) fn write(&self, cells: &mut impl TallyMut, change: impl Fn(u32) -> u32) {
        for (at, value) in self.at.iter().zip(self.value.iter()) {
            cells.change(*at, *value, change(*value));
        }
    }

    /// Raises each different cell by `by`, stopping at the top.
    #[inline(always)]
    pub(crate) fn raise(&self, cells: &mut impl TallyMut, by: u32) {
        let top = cells.top();
        self.write(cells, |value| value.saturating_add(by).min(top));
    }

    /// Raises each cell to at least `to`, stopping at the top: minimum increase.
    #[inline(always)]
    pub(crate) fn raise_to(&self, cells: &mut impl TallyMut, to: u32) {
        let top = cells.top();
        self.write(cells, |value| value.max(to.min(top)));
    }

    /// Lowers each different cell by `by`, stopping at 0; a cell at its top stays.
    #[inline(always)]
    pub(crate) fn lower(&self, cells: &mut impl TallyMut, by: u32) {
        let top = cells.top();
        self.write(cells, |value| if value == top { top } else { value.saturating_sub(by) });
    }
}

/// The least value of a key's cells, and whether it recurs in a different one. Without a branch:
/// which cell is the least cannot be predicted.
pub(crate) struct Minimum {
    /// Above every value until a cell came.
    least: u64,
    at: u64,
    again: u64,
}

impl Default for Minimum {
    fn default() -> Self {
        Self { least: u64::MAX, at: 0, again: 0 }
    }
}

impl Minimum {
    /// Takes the cell at `at` into account.
    #[inline(always)]
    pub(crate) fn take(&mut self, at: u64, value: u32) {
        let value = u64::from(value);
        let (less, same) = (value < self.least, u64::from(value == self.least) & u64::from(at != self.at));
        self.again = select_unpredictable(less, 0, self.again | same);
        self.at = select_unpredictable(less, at, self.at);
        self.least = self.least.min(value);
    }

    /// The least value.
    #[inline(always)]
    pub(crate) fn least(&self) -> u32 {
        self.least as u32
    }

    /// Whether at least two different cells hold it.
    #[inline(always)]
    pub(crate) fn recurs(&self) -> bool {
        self.again == 1
    }
}

/// Calls `work` with room for the cells of a key. Clearing room for 255 of them would cost more
/// than all the rest for the usual seven.
#[inline(always)]
fn with_row<R>(hashes: u32, work: impl FnOnce(Row<'_>) -> R) -> R {
    #[inline(always)]
    fn room<const N: usize, R>(hashes: usize, work: impl FnOnce(Row<'_>) -> R) -> R {
        let (mut at, mut value) = ([0; N], [0; N]);
        work(Row { at: &mut at[..hashes], value: &mut value[..hashes] })
    }
    match hashes as usize {
        hashes @ ..=8 => room::<8, R>(hashes, work),
        hashes @ ..=24 => room::<24, R>(hashes, work),
        hashes => room::<{ crate::index::MAX_HASHES as usize }, R>(hashes, work),
    }
}

/// The least of a key's cells.
#[inline(always)]
pub(crate) fn least<S: Scheme>(cells: &impl Tally, scheme: &S, digest: Digest) -> u32 {
    let mut walk = scheme.walk(digest, cells.len());
    let hashes = scheme.hashes() as usize;
    let mut next = |count: usize| (0..count).fold(u32::MAX, |least, _| least.min(cells.get(walk.step())));
    if hashes < FIRST {
        return next(hashes);
    }
    match next(FIRST) {
        0 => 0,
        first => first.min(next(hashes - FIRST)),
    }
}

/// The least of a key's cells: its count by minimum selection, 0 if it is certainly absent.
pub(crate) struct Least<'a, C> {
    pub(crate) cells: &'a C,
    pub(crate) digest: Digest,
}

impl<C: Tally> SchemeVisitor for Least<'_, C> {
    type Output = u32;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> u32 {
        least(self.cells, scheme, self.digest)
    }
}

/// The least of the cells of each key of a batch, handed to `take` in order; its answers go to
/// `answers`.
pub(crate) struct LeastMany<'a, C, D, F, A> {
    pub(crate) cells: &'a C,
    pub(crate) digests: D,
    pub(crate) take: F,
    pub(crate) answers: &'a mut A,
}

impl<C: Tally, D: Source, F: FnMut(u32) -> bool, A: Sink> SchemeVisitor for LeastMany<'_, C, D, F, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { cells, digests, mut take, answers } = self;
        let hashes = scheme.hashes();
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, cells.len());
            (0..hashes).for_each(|_| cells.prefetch(walk.step()));
        };
        let ask = |digest| take(least(cells, scheme, digest));
        digests.each::<{ ahead::LINES }>(ahead::is_far(cells.words()), fetch, ask, answers);
    }
}

/// Reads the cells of a key and lets `work` change them.
pub(crate) struct Touch<'a, C, F> {
    pub(crate) cells: &'a mut C,
    pub(crate) digest: Digest,
    pub(crate) work: F,
}

impl<C: TallyMut, R, F: FnOnce(&mut C, &Row<'_>) -> R> SchemeVisitor for Touch<'_, C, F> {
    type Output = R;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> R {
        let Self { cells, digest, work } = self;
        with_row(scheme.hashes(), |mut row| {
            row.read(cells, scheme.walk(digest, cells.len()));
            work(cells, &row)
        })
    }
}

/// [`Touch`] for each key of a batch in order; the answers of `work` go to `answers`.
pub(crate) struct TouchMany<'a, C, D, F, A> {
    pub(crate) cells: &'a mut C,
    pub(crate) digests: D,
    pub(crate) work: F,
    pub(crate) answers: &'a mut A,
}

impl<C: TallyMut, D: Source, F: FnMut(&mut C, &Row<'_>) -> bool, A: Sink> SchemeVisitor
    for TouchMany<'_, C, D, F, A>
{
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { cells, digests, mut work, answers } = self;
        let (len, hashes, far, lines) =
            (cells.len(), scheme.hashes(), ahead::is_far(cells.words()), cells.lines());
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, len);
            (0..hashes).for_each(|_| lines.prefetch(walk.step()));
        };
        let ask = |digest| Touch { cells: &mut *cells, digest, work: &mut work }.visit(scheme);
        digests.each::<{ ahead::LINES }>(far, fetch, ask, answers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Counters;
    use crate::index::Fractional;

    /// A key of `hashes` probes in very few cells, so that positions coincide.
    fn touch<R>(cells: &mut Counters, hashes: u32, work: impl FnOnce(&mut Counters, &Row<'_>) -> R) -> R {
        Fractional::new(hashes).dispatch(Touch { cells, digest: Digest(0x9e37_79b9_7f4a_7c15), work })
    }

    #[test]
    fn a_cell_that_is_met_twice_is_changed_once() {
        for hashes in [1, 8, 9, 24, 25, 255] {
            let mut cells = Counters::new(3, 8).unwrap();
            touch(&mut cells, hashes, |cells, row| row.raise(cells, 5));
            assert!((0..3).all(|at| [0, 5].contains(&cells.get(at))));
            touch(&mut cells, hashes, |cells, row| row.lower(cells, 5));
            assert_eq!(cells.count_nonzero(), 0);
        }
    }

    #[test]
    fn a_least_value_recurs_only_in_another_cell() {
        let mut one = Counters::new(1, 8).unwrap();
        assert!(!touch(&mut one, 7, |_, row| row.least_recurs(|value| value)), "one cell seven times");
        let mut two = Counters::new(2, 8).unwrap();
        assert!(touch(&mut two, 20, |_, row| row.least_recurs(|value| value)), "both cells are zero");
        two.set(1, 3);
        assert!(!touch(&mut two, 20, |_, row| row.least_recurs(|value| value)));
        assert!(touch(&mut two, 20, |_, row| row.least_recurs(|value| value.max(3))), "equal once changed");
        assert_eq!(touch(&mut two, 20, |_, row| row.least()), 0);
    }

    #[test]
    fn raising_to_a_value_lowers_none() {
        let mut cells = Counters::new(2, 4).unwrap();
        cells.set(1, 9);
        touch(&mut cells, 20, |cells, row| row.raise_to(cells, 5));
        assert_eq!((cells.get(0), cells.get(1)), (5, 9));
        touch(&mut cells, 20, |cells, row| row.raise_to(cells, 99));
        assert_eq!((cells.get(0), cells.get(1)), (15, 15));
    }
}
