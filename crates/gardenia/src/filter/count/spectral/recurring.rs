//! Recurring minimum: a second filter for the keys that are likely to be wrong.
//!
//! A key is wrong only if other keys share *every* one of its cells, and then it is unlikely that
//! two different cells hold the same least value. So a key whose least value *recurs* is believed,
//! and one with a single least cell moves, with its count, to secondary cells, where few keys are
//! and few collide.
//!
//! The subtle rule: a key that has moved must be counted in both places from then on. Without a
//! marker that is not known: a key can move, recur for a while, in which its secondary cells stand
//! still, and be single again; then its count is *too small*: up to two keys in a hundred in
//! `tests/spectral_rates.rs`. The marker, a plain Bloom filter of the moved keys, closes that gap:
//! a key that it takes for moved by mistake moves, if its secondary cells are still 0. Only if
//! other keys hold all of them, too, can its count be too small. The marker's hash functions are
//! its own: on the positions of the primary cells ten times as many keys would pass for moved,
//! because a key's neighbours move more often.
//!
//! As printed there is no marker, and the secondary cells are believed. But the primary ones are
//! never too small, so the smaller of both is at least as near: that is the default.

use super::store::{Cells, CellsMut};
use crate::cells::{Ahead, Bits, Memory, Owned};
use crate::error::Overflow;
use crate::filter::count::row::{Least, Minimum, Row, Touch, least};
use crate::filter::member::probe::{Contains, Set};
use crate::hash::Digest;
use crate::index::{AnyScheme, Scheme, SchemeVisitor};
use crate::simd::ahead::{self, FIRST};
use crate::simd::{Sink, Source};

/// The secondary cells follow from this word of a key's digest, taken as a digest, and the marker's
/// bits from the next. No scheme uses them for the primary cells (it uses words 0 to 254), so that
/// keys which meet there do not meet here.
const SECONDARY_WORD: u32 = 256;

/// The secondary cells, and which keys have moved there.
#[derive(Clone)]
pub(super) struct Secondary<C, M> {
    pub(super) scheme: AnyScheme,
    pub(super) cells: C,
    pub(super) marker: Option<Marker<M>>,
    /// Whether the secondary cells are believed even if they count more than the primary ones.
    pub(super) believed: bool,
}

/// A Bloom filter of the keys that have secondary cells: as many bits as there are primary cells,
/// and as many probes.
#[derive(Clone)]
pub(super) struct Marker<M> {
    pub(super) scheme: AnyScheme,
    pub(super) bits: Bits<M>,
}

/// The digest that leads to a key's secondary cells.
#[inline(always)]
pub(super) fn second(digest: Digest) -> Digest {
    Digest(digest.word(SECONDARY_WORD))
}

/// The digest that leads to a key's bits in the marker.
#[inline(always)]
pub(super) fn third(digest: Digest) -> Digest {
    Digest(digest.word(SECONDARY_WORD + 1))
}

// What visits a scheme from inside the loop of another is not inlined: it would be compiled for each pair of
// them.

impl<M: Memory> Marker<M> {
    /// Whether a key has moved.
    #[inline(never)]
    fn contains(&self, digest: Digest) -> bool {
        self.scheme.dispatch(Contains { bits: &self.bits, digest: third(digest) })
    }
}

impl Marker<Owned> {
    /// Notes that a key has moved.
    #[inline(never)]
    fn insert(&mut self, digest: Digest) {
        self.scheme.dispatch(Set { bits: &mut self.bits, digest: third(digest) });
    }
}

impl<C: Cells, M: Memory> Secondary<C, M> {
    /// The least of a key's secondary cells.
    #[inline(never)]
    fn least(&self, digest: Digest) -> u32 {
        C::dispatch(&self.scheme, Least { cells: &self.cells, digest: second(digest) })
    }

    /// The count of a key whose primary cells have this least value, which recurs or not.
    #[inline(always)]
    fn count(&self, digest: Digest, least: u32, recurs: bool) -> u32 {
        let moved = match &self.marker {
            Some(marker) => marker.contains(digest),
            None => !recurs,
        };
        match if moved { self.least(digest) } else { 0 } {
            0 => least,
            other if self.believed => other,
            other => other.min(least),
        }
    }

    /// What the secondary cells get when a key goes in `by` times and `raised` happens to its
    /// primary ones: nothing while its least value recurs, all that was counted so far when it
    /// moves, or when the marker takes it for moved and it is not, and from then on the same as the
    /// primary ones.
    #[inline(always)]
    fn share(&self, digest: Digest, row: &Row<'_>, by: u32, raised: impl Fn(u32) -> u32) -> u32 {
        match &self.marker {
            // Secondary cells of 0 belong to a key that the marker only takes for moved.
            Some(marker) if marker.contains(digest) && self.least(digest) > 0 => by,
            Some(marker) if marker.contains(digest) => raised(row.least()),
            _ if row.least_recurs(&raised) => 0,
            None if self.least(digest) > 0 => by,
            _ => raised(row.least()),
        }
    }

    /// Whether a key can go in `by` times without its count in the secondary cells being lost.
    pub(super) fn check(&self, digest: Digest, row: &Row<'_>, by: u32) -> Result<(), Overflow> {
        let share = self.share(digest, row, by, |value| value.saturating_add(by));
        let top = u64::from(self.cells.top());
        let count = u64::from(self.least(digest)) + u64::from(share);
        if share > 0 && count >= top { Err(Overflow { count, top: top - 1 }) } else { Ok(()) }
    }
}

impl<C: CellsMut> Secondary<C, Owned> {
    /// Adds a key `by` times, to its primary cells, of which `row` was read, and here; what does
    /// not fit stops at the top.
    #[inline(always)]
    pub(super) fn insert(&mut self, digest: Digest, primary: &mut C, row: &Row<'_>, by: u32) {
        let top = primary.top();
        let raised = |value: u32| value.saturating_add(by).min(top);
        let share = self.share(digest, row, by, raised);
        row.write(primary, raised);
        if share > 0 {
            self.raise(digest, share);
        }
    }

    /// Raises a key's secondary cells, and marks it.
    #[inline(never)]
    fn raise(&mut self, digest: Digest, by: u32) {
        let work = |cells: &mut C, row: &Row<'_>| row.raise(cells, by);
        C::dispatch(&self.scheme, Touch { cells: &mut self.cells, digest: second(digest), work });
        self.marker.iter_mut().for_each(|marker| marker.insert(digest));
    }

    /// Takes a key that is in out once, of its primary cells, of which `row` was read, and here.
    pub(super) fn remove(&mut self, digest: Digest, primary: &mut C, row: &Row<'_>) {
        let top = primary.top();
        let lowered = |value: u32| if value == top { top } else { value.saturating_sub(1) };
        let moved = match &self.marker {
            Some(marker) => marker.contains(digest),
            None => !row.least_recurs(lowered),
        };
        row.write(primary, lowered);
        if moved {
            self.lower(digest);
        }
    }

    /// Lowers a key's secondary cells by one, unless one of them is 0: then it is not in them.
    #[inline(never)]
    fn lower(&mut self, digest: Digest) {
        let work = |cells: &mut C, row: &Row<'_>| {
            if row.least() > 0 {
                row.lower(cells, 1);
            }
        };
        C::dispatch(&self.scheme, Touch { cells: &mut self.cells, digest: second(digest), work });
    }
}

/// Adds the keys of a batch in order; `new` receives for each whether it was certainly absent.
pub(super) struct InsertMany<'a, C, D, A> {
    pub(super) primary: &'a mut C,
    pub(super) secondary: &'a mut Secondary<C, Owned>,
    pub(super) digests: D,
    pub(super) new: &'a mut A,
}

impl<C: CellsMut, D: Source, A: Sink> SchemeVisitor for InsertMany<'_, C, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { primary, secondary, digests, new } = self;
        let (len, lines, far) = (primary.len(), primary.lines(), ahead::is_far(primary.words()));
        let marker = secondary.marker.as_ref().map(|marker| marker.bits.lines());
        let fetch = |digest| {
            scheme.positions(digest, len).for_each(|at| lines.prefetch(at));
            if let Some(lines) = marker {
                scheme.positions(third(digest), len).take(FIRST).for_each(|at| lines.prefetch(at));
            }
        };
        let ask = |digest| {
            let work = |primary: &mut C, row: &Row<'_>| {
                secondary.insert(digest, primary, row, 1);
                row.least() == 0
            };
            Touch { cells: &mut *primary, digest, work }.visit(scheme)
        };
        digests.each::<{ ahead::LINES }>(far, fetch, ask, new);
    }
}

/// Hands the counts of a batch of keys to `take`, in order.
pub(super) struct CountMany<'a, C, M, D, F> {
    pub(super) primary: &'a C,
    pub(super) secondary: &'a Secondary<C, M>,
    pub(super) digests: D,
    pub(super) take: F,
}

impl<C: Cells, M: Memory, D: Source, F: FnMut(u32)> SchemeVisitor for CountMany<'_, C, M, D, F> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { primary, secondary, digests, mut take } = self;
        let len = primary.len();
        let marker = secondary.marker.as_ref().map(|marker| &marker.bits);
        let fetch = |digest| {
            scheme.positions(digest, len).for_each(|at| primary.prefetch(at));
            if let Some(bits) = marker {
                scheme.positions(third(digest), len).take(FIRST).for_each(|at| bits.prefetch(at));
            }
        };
        let ask = |digest| {
            let (least, recurs) = match marker {
                Some(_) => (least(primary, scheme, digest), false), // the marker is asked instead
                None => {
                    let mut minimum = Minimum::default();
                    scheme.positions(digest, len).for_each(|at| minimum.take(at, primary.get(at)));
                    (minimum.least(), minimum.recurs())
                }
            };
            take(if least == 0 { 0 } else { secondary.count(digest, least, recurs) });
            false
        };
        digests.each::<{ ahead::LINES }>(ahead::is_far(primary.words()), fetch, ask, &mut 0);
    }
}
