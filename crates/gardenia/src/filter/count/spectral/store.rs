//! Where the cells of a spectral filter are: in counters of one width, or in compact ones.

use super::tables::Tables;
use crate::cells::{Compact, CompactView, Counters, Memory, Owned, Tally, TallyMut};
use crate::index::{AnyScheme, Scheme, SchemeVisitor};
use crate::{DecodeError, SizeError};
use core::fmt;

/// The cells of a filter, of either storage.
#[derive(Clone)]
pub(super) enum Store<M> {
    Plain(Tables<Counters<M>, M>),
    Compact(Tables<Packed<M>, M>),
}

/// Does the same with the tables of either storage, so that the loops are compiled for each.
macro_rules! each {
    ($store:expr, $tables:ident => $work:expr) => {
        match $store {
            $crate::filter::count::spectral::store::Store::Plain($tables) => $work,
            $crate::filter::count::spectral::store::Store::Compact($tables) => $work,
        }
    };
}
pub(super) use each;

impl<M: Memory, N: Memory> PartialEq<Store<N>> for Store<M> {
    fn eq(&self, other: &Store<N>) -> bool {
        each!(self, ours => each!(other, theirs => ours == theirs))
    }
}

/// What cells of either storage can do beyond the loops.
pub(super) trait Cells: Tally + fmt::Debug {
    /// The same in own memory.
    type Own: CellsMut;
    /// Does the work with this scheme: compiled for each where that pays, else asking at every
    /// probe which it is.
    fn dispatch<V: SchemeVisitor>(scheme: &AnyScheme, work: V) -> V::Output;
    /// A copy in own memory.
    fn copy(&self) -> Result<Self::Own, DecodeError>;
    /// Bytes of memory.
    fn bytes(&self) -> usize;
    /// How many cells are not zero.
    fn nonzero(&self) -> u64 {
        (0..self.len()).filter(|at| self.get(*at) > 0).count() as u64
    }
    /// How many cells are at their top.
    fn saturated(&self) -> u64 {
        (0..self.len()).filter(|at| self.get(*at) == self.top()).count() as u64
    }
}

/// The same of cells that can be changed.
pub(super) trait CellsMut: Cells + TallyMut {
    /// All cells to zero.
    fn clear(&mut self);
    /// Adds the cells of `other`, of which there are as many, stopping at the top.
    fn take_in(&mut self, other: &impl Tally) {
        for at in 0..self.len() {
            self.set(at, self.get(at).saturating_add(other.get(at)));
        }
    }
}

impl<M: Memory> Cells for Counters<M> {
    type Own = Counters;
    #[inline]
    fn dispatch<V: SchemeVisitor>(scheme: &AnyScheme, work: V) -> V::Output {
        scheme.dispatch(work)
    }
    fn copy(&self) -> Result<Counters, DecodeError> {
        Ok(self.to_owned()?)
    }
    fn bytes(&self) -> usize {
        self.memory().words() * 8
    }
    fn nonzero(&self) -> u64 {
        self.count_nonzero()
    }
    fn saturated(&self) -> u64 {
        self.count_saturated()
    }
}

impl CellsMut for Counters {
    fn clear(&mut self) {
        Counters::clear(self);
    }
}

/// Compact counters that can be changed, or, in bytes of others, be read where they lie. Decoding
/// costs so much that a call, or a question of which scheme it is, adds little.
#[derive(Clone)]
pub(super) enum Packed<M> {
    Live(Compact),
    Frozen(CompactView<M>),
}

impl<M: Memory> Tally for Packed<M> {
    #[inline]
    fn len(&self) -> u64 {
        match self {
            Self::Live(cells) => Tally::len(cells),
            Self::Frozen(cells) => Tally::len(cells),
        }
    }
    #[inline]
    fn top(&self) -> u32 {
        u32::MAX
    }
    #[inline(never)]
    fn get(&self, at: u64) -> u32 {
        match self {
            Self::Live(cells) => Tally::get(cells, at),
            Self::Frozen(cells) => Tally::get(cells, at),
        }
    }
    #[inline(never)]
    fn prefetch(&self, at: u64) {
        match self {
            Self::Live(cells) => Tally::prefetch(cells, at),
            Self::Frozen(cells) => Tally::prefetch(cells, at),
        }
    }
    fn words(&self) -> usize {
        match self {
            Self::Live(cells) => Tally::words(cells),
            Self::Frozen(cells) => Tally::words(cells),
        }
    }
}

impl Packed<Owned> {
    /// `len` cells, all zero.
    pub(super) fn new(len: u64) -> Result<Self, SizeError> {
        Ok(Self::Live(Compact::new(len)?))
    }

    /// The counters, which are live wherever the filter is its own.
    #[inline]
    fn live(&mut self) -> &mut Compact {
        match self {
            Self::Live(cells) => cells,
            Self::Frozen(_) => unreachable!("only bytes of others are frozen"),
        }
    }
}

impl TallyMut for Packed<Owned> {
    type Lines = ();
    #[inline]
    fn lines(&self) {}
    #[inline(never)]
    fn set(&mut self, at: u64, value: u32) {
        TallyMut::set(self.live(), at, value);
    }
    #[inline]
    fn change(&mut self, at: u64, old: u32, new: u32) {
        if old != new {
            self.set(at, new);
        }
    }
}

impl<M: Memory> Cells for Packed<M> {
    type Own = Packed<Owned>;
    fn dispatch<V: SchemeVisitor>(scheme: &AnyScheme, work: V) -> V::Output {
        work.visit(scheme)
    }
    fn copy(&self) -> Result<Packed<Owned>, DecodeError> {
        Ok(Packed::Live(match self {
            Self::Live(cells) => cells.try_clone()?,
            Self::Frozen(cells) => cells.to_compact()?,
        }))
    }
    fn bytes(&self) -> usize {
        match self {
            Self::Live(cells) => cells.memory_bytes() as usize,
            Self::Frozen(cells) => cells.memory().words() * 8,
        }
    }
}

impl CellsMut for Packed<Owned> {
    fn clear(&mut self) {
        self.live().clear();
    }
}

impl<M: Memory> fmt::Debug for Packed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live(cells) => cells.fmt(f),
            Self::Frozen(cells) => cells.fmt(f),
        }
    }
}
