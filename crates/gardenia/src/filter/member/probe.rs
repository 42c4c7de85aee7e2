//! The probe loops of filters over shared bits: one key, and many keys with the memory waits
//! overlapped.
//!
//! A probe that stops at the first clear bit mispredicts a branch per absent key and, what is
//! worse, holds up the loads behind it. So the first [`FIRST`] bits of a key are fetched together
//! and tested once; only one absent key in 2^FIRST goes on, and for present keys the branch is
//! always right.
//!
//! While the table fits the cache of one core a batch is a plain loop. Above that the lines of a
//! key are asked for some keys ahead: the first ones always, the others while most keys turn out to
//! be present. Positions are computed twice rather than noted in between: stored positions would
//! hold up the probes behind them.

use crate::cells::{Bits, Memory, Shared};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use crate::simd::ahead::{self, FIRST};
use crate::simd::{Sink, Source};
use core::cell::Cell;

/// Whether the bits at the next `count` positions are set, without a branch between them.
#[inline(always)]
fn all_set(bits: &Bits<impl Memory>, count: usize, mut next: impl FnMut() -> u64) -> bool {
    let mut set = 1;
    for _ in 0..count {
        set &= bits.shifted(next());
    }
    set & 1 == 1
}

/// Whether all positions of `digest` are set.
pub(crate) struct Contains<'a, M> {
    pub(crate) bits: &'a Bits<M>,
    pub(crate) digest: Digest,
}

impl<M: Memory> SchemeVisitor for Contains<'_, M> {
    type Output = bool;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        let (mut walk, hashes) = (scheme.walk(self.digest, self.bits.len()), scheme.hashes() as usize);
        if hashes < FIRST {
            return all_set(self.bits, hashes, || walk.step());
        }
        // A constant count, so that these loads come without a loop.
        all_set(self.bits, FIRST, || walk.step()) && all_set(self.bits, hashes - FIRST, || walk.step())
    }
}

/// Sets all positions of `digest`; true if one was clear.
pub(crate) struct Set<'a> {
    pub(crate) bits: &'a mut Bits,
    pub(crate) digest: Digest,
}

impl SchemeVisitor for Set<'_> {
    type Output = bool;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        let cells = self.bits.len();
        self.bits.set_all(scheme.positions(self.digest, cells))
    }
}

/// As [`Set`], through a shared reference.
pub(super) struct SetShared<'a> {
    pub(super) bits: &'a Bits<Shared>,
    pub(super) digest: Digest,
}

impl SchemeVisitor for SetShared<'_> {
    type Output = bool;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        self.bits.set_all(scheme.positions(self.digest, self.bits.len()))
    }
}

/// Answers for a batch of digests, in order.
pub(super) struct ContainsMany<'a, M, D, A> {
    pub(super) bits: &'a Bits<M>,
    pub(super) digests: D,
    pub(super) answers: &'a mut A,
}

impl<M: Memory, D: Source, A: Sink> SchemeVisitor for ContainsMany<'_, M, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { bits, digests, answers } = self;
        let hashes = scheme.hashes() as usize;
        // Share of present keys among the last, in 256ths: an average that forgets.
        let present = Cell::new(0u32);
        let fetch = |digest| {
            let lines = if present.get() > 64 { hashes } else { hashes.min(FIRST) };
            fetch(bits, lines, scheme.walk(digest, bits.len()));
        };
        let ask = |digest| {
            let found = Contains { bits, digest }.visit(scheme);
            present.set(present.get() - present.get() / 16 + u32::from(found) * 16);
            found
        };
        digests.each::<{ ahead::LINES }>(is_far(bits), fetch, ask, answers);
    }
}

/// Inserts a batch of digests in order; tells which were certainly new.
pub(super) struct SetMany<'a, D, A> {
    pub(super) bits: &'a mut Bits,
    pub(super) digests: D,
    pub(super) new: &'a mut A,
}

impl<D: Source, A: Sink> SchemeVisitor for SetMany<'_, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { bits, digests, new } = self;
        let (cells, hashes, far) = (bits.len(), scheme.hashes() as usize, is_far(bits));
        let lines = bits.lines();
        let fetch = |digest| {
            let mut walk = scheme.walk(digest, cells);
            (0..hashes).for_each(|_| lines.prefetch(walk.step()));
        };
        digests.each::<{ ahead::LINES }>(
            far,
            fetch,
            |digest| bits.set_all(scheme.positions(digest, cells)),
            new,
        );
    }
}

/// Asks for the lines of the next `count` positions.
#[inline(always)]
fn fetch(bits: &Bits<impl Memory>, count: usize, mut walk: impl Walk) {
    (0..count).for_each(|_| bits.prefetch(walk.step()));
}

/// Whether the table is too large to be near the core.
fn is_far(bits: &Bits<impl Memory>) -> bool {
    ahead::is_far(bits.memory().words())
}
