//! The cells of a spectral filter, and the three algorithms on them.

use super::PolicyId;
use super::recurring::{CountMany, InsertMany, Marker, Secondary};
use super::recurring::{second, third};
use super::store::{Cells, CellsMut};
use crate::cells::{Bits, Memory, Owned, Tally, TallyMut};
use crate::error::Overflow;
use crate::explain::{CellTable, Seen, bit, width_of};
use crate::filter::count::row::{LeastMany, Row, Touch, TouchMany};
use crate::hash::Digest;
use crate::index::AnyScheme;
use crate::simd::{Sink, Source};
use crate::{DecodeError, RemoveError, SizeError};
use alloc::vec::Vec;

/// The cells of all keys and, for recurring minimum, those of the keys that may be wrong.
#[derive(Clone)]
pub(super) struct Tables<C, M> {
    pub(super) primary: C,
    pub(super) secondary: Option<Secondary<C, M>>,
}

/// Adds a key `by` times to cells of its own: to all of them, or only as far as its count needs.
#[inline(always)]
fn raise(policy: PolicyId, cells: &mut impl TallyMut, row: &Row<'_>, by: u32) {
    match policy {
        PolicyId::MinimumIncrease => row.raise_to(cells, row.least().saturating_add(by)),
        _ => row.raise(cells, by),
    }
}

/// The number of times that a key can go in, or that its count would reach the top.
fn fit(row: &Row<'_>, times: u64, top: u32) -> Result<u32, Overflow> {
    let (count, top) = (times.saturating_add(row.least().into()), u64::from(top));
    if count >= top { Err(Overflow { count, top: top - 1 }) } else { Ok(times as u32) }
}

impl<C: CellsMut> Tables<C, Owned> {
    /// Adds digests in order; `new` receives for each whether it was certainly absent.
    pub(super) fn insert_each(
        &mut self,
        policy: PolicyId,
        scheme: &AnyScheme,
        digests: impl Source,
        new: &mut impl Sink,
    ) {
        let Self { primary, secondary } = self;
        match secondary {
            None => {
                let work = |cells: &mut C, row: &Row<'_>| {
                    raise(policy, cells, row, 1);
                    row.least() == 0
                };
                C::dispatch(scheme, TouchMany { cells: primary, digests, work, answers: new });
            }
            Some(secondary) => C::dispatch(scheme, InsertMany { primary, secondary, digests, new }),
        }
    }

    /// Adds a key several times; true if it was certainly absent. If its count would reach the top,
    /// nothing changes.
    pub(super) fn insert_times(
        &mut self,
        policy: PolicyId,
        scheme: &AnyScheme,
        digest: Digest,
        times: u64,
    ) -> Result<bool, Overflow> {
        let Self { primary, secondary } = self;
        let top = primary.top();
        if times == 0 {
            return Ok(false);
        }
        let work = |primary: &mut C, row: &Row<'_>| {
            let by = fit(row, times, top)?;
            match secondary {
                None => raise(policy, primary, row, by),
                Some(secondary) => {
                    secondary.check(digest, row, by)?;
                    secondary.insert(digest, primary, row, by);
                }
            }
            Ok(row.least() == 0)
        };
        C::dispatch(scheme, Touch { cells: primary, digest, work })
    }

    /// Removes a key once, where the algorithm allows it.
    pub(super) fn remove(&mut self, scheme: &AnyScheme, digest: Digest) -> Result<(), RemoveError> {
        let Self { primary, secondary } = self;
        let work = |primary: &mut C, row: &Row<'_>| {
            match (row.least(), secondary) {
                (0, _) => return Err(RemoveError::Absent),
                (least, _) if least == primary.top() => return Err(RemoveError::Stuck),
                (_, None) => row.lower(primary, 1),
                (_, Some(secondary)) => secondary.remove(digest, primary, row),
            }
            Ok(())
        };
        C::dispatch(scheme, Touch { cells: primary, digest, work })
    }
}

impl<C: Cells, M: Memory> Tables<C, M> {
    /// Hands the answers for digests to `answers`, in order.
    pub(super) fn contains_each(&self, scheme: &AnyScheme, digests: impl Source, answers: &mut impl Sink) {
        C::dispatch(scheme, LeastMany { cells: &self.primary, digests, take: |least| least > 0, answers });
    }

    /// Hands the counts of digests to `take`, in order.
    pub(super) fn count_each(&self, scheme: &AnyScheme, digests: impl Source, mut take: impl FnMut(u32)) {
        let Self { primary, secondary } = self;
        match secondary {
            None => {
                let take = |least| {
                    take(least);
                    false
                };
                C::dispatch(scheme, LeastMany { cells: primary, digests, take, answers: &mut 0 });
            }
            Some(secondary) => C::dispatch(scheme, CountMany { primary, secondary, digests, take }),
        }
    }
}

/// What [`explain`](crate::AnyFilter::explain) shows: the cells, those of the second filter, and
/// its marker.
impl<C: Cells, M: Memory> Tables<C, M> {
    pub(super) fn tables(&self) -> Vec<CellTable> {
        let table = |cells: &C| CellTable::counters(cells.len(), width_of(cells));
        let mut tables = alloc::vec![table(&self.primary)];
        if let Some(Secondary { cells, marker, .. }) = &self.secondary {
            tables.push(table(cells).named("secondary"));
            tables.extend(marker.iter().map(|marker| CellTable::bits(marker.bits.len()).named("marker")));
        }
        tables
    }

    pub(super) fn cell(&self, table: usize, at: u64) -> u64 {
        match (&self.secondary, table) {
            (Some(second), 1) => second.cells.get(at).into(),
            (Some(Secondary { marker: Some(marker), .. }), 2) => bit(&marker.bits, at),
            _ => self.primary.get(at).into(),
        }
    }

    pub(super) fn look(&self, scheme: &AnyScheme, digest: Digest, seen: &mut Seen) {
        seen.walk(0, scheme, digest, self.primary.len());
        if let Some(Secondary { scheme, cells, marker, .. }) = &self.secondary {
            seen.walk(1, scheme, second(digest), cells.len());
            if let Some(marker) = marker {
                seen.walk(2, &marker.scheme, third(digest), marker.bits.len());
            }
        }
    }
}

impl<C: CellsMut> Tables<C, Owned> {
    /// Cells that `new` makes for these shapes, all zero; with secondary ones there may be a
    /// marker.
    pub(super) fn new(
        scheme: AnyScheme,
        cells: u64,
        secondary: Option<(AnyScheme, u64)>,
        (marker, believed): (bool, bool),
        new: impl Fn(u64) -> Result<C, SizeError>,
    ) -> Result<Self, SizeError> {
        let secondary = match secondary {
            None => None,
            Some((other, len)) => Some(Secondary {
                scheme: other,
                cells: new(len)?,
                marker: if marker { Some(Marker { scheme, bits: Bits::new(cells)? }) } else { None },
                believed,
            }),
        };
        Ok(Self { primary: new(cells)?, secondary })
    }

    /// All cells and the marker to zero.
    pub(super) fn clear(&mut self) {
        self.primary.clear();
        if let Some(secondary) = &mut self.secondary {
            secondary.cells.clear();
            secondary.marker.iter_mut().for_each(|marker| marker.bits.clear());
        }
    }
}

impl<C: Cells, M: Memory> Tables<C, M> {
    /// How many cells are at their top.
    pub(super) fn saturated(&self) -> u64 {
        let secondary = self.secondary.as_ref().map_or(0, |secondary| secondary.cells.saturated());
        self.primary.saturated() + secondary
    }

    /// Memory used by cells and marker, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let secondary = self.secondary.as_ref().map_or(0, |Secondary { cells, marker, .. }| {
            cells.bytes() + marker.as_ref().map_or(0, |marker| marker.bits.memory().words() * 8)
        });
        self.primary.bytes() + secondary
    }

    /// A copy in own memory.
    pub(super) fn copy(&self) -> Result<Tables<C::Own, Owned>, DecodeError> {
        let secondary = match &self.secondary {
            None => None,
            Some(Secondary { scheme, cells, marker, believed }) => Some(Secondary {
                believed: *believed,
                scheme: *scheme,
                cells: cells.copy()?,
                marker: match marker {
                    Some(Marker { scheme, bits }) => Some(Marker { scheme: *scheme, bits: bits.to_owned()? }),
                    None => None,
                },
            }),
        };
        Ok(Tables { primary: self.primary.copy()?, secondary })
    }
}

/// Whether cells hold the same, wherever they are.
fn same(ours: &impl Tally, theirs: &impl Tally) -> bool {
    ours.len() == theirs.len()
        && ours.top() == theirs.top()
        && (0..ours.len()).all(|at| ours.get(at) == theirs.get(at))
}

impl<C: Tally, D: Tally, M: Memory, N: Memory> PartialEq<Tables<D, N>> for Tables<C, M> {
    fn eq(&self, other: &Tables<D, N>) -> bool {
        let secondary = match (&self.secondary, &other.secondary) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => {
                let markers = match (&ours.marker, &theirs.marker) {
                    (None, None) => true,
                    (Some(ours), Some(theirs)) => ours.bits == theirs.bits,
                    _ => false,
                };
                let alike = ours.scheme == theirs.scheme && ours.believed == theirs.believed;
                markers && alike && same(&ours.cells, &theirs.cells)
            }
            _ => false,
        };
        secondary && same(&self.primary, &other.primary)
    }
}
