//! The probe loops of filters with choices: one key, and many keys with the memory waits
//! overlapped.
//!
//! As in the plain filter the first bits of a group are tested together and only then the others,
//! batches look ahead on tables beyond the cache, and positions are computed twice rather than
//! noted in between.

use crate::cells::{Bits, Memory};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use crate::simd::{Sink, Source, ahead};
use core::cell::Cell;

/// Bits of a group that are tested before the first branch. The families of partitions share as
/// many ([`super::partitions`]): it is part of what files hold, and no number to tune.
pub(super) const FIRST: usize = 3;

/// How a key's bits are chosen.
pub(super) trait Choose: Copy {
    /// Whether the filter covers the key.
    fn covers<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest) -> bool;
    /// Asks for the lines of the key: all, or the first that a query looks at.
    fn fetch<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest, all: bool);
    /// Covers the key; true if it was not.
    fn set<S: Scheme>(self, scheme: &S, bits: &mut Bits, digest: Digest) -> bool;
}

/// Whether the next `hashes` bits are set; `next` gives each at the lowest place, with others above
/// it.
#[inline(always)]
pub(super) fn all_set(hashes: usize, mut next: impl FnMut() -> u64) -> bool {
    let mut all = |count: usize| {
        let mut set = 1;
        for _ in 0..count {
            set &= next();
        }
        set & 1 == 1
    };
    // A constant count, so that the first loads come without a loop.
    if hashes < FIRST { all(hashes) } else { all(FIRST) && all(hashes - FIRST) }
}

/// Whether one digest is covered.
pub(super) struct Contains<'a, C, M> {
    pub(super) choose: C,
    pub(super) bits: &'a Bits<M>,
    pub(super) digest: Digest,
}

impl<C: Choose, M: Memory> SchemeVisitor for Contains<'_, C, M> {
    type Output = bool;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        self.choose.covers(scheme, self.bits, self.digest)
    }
}

/// Answers a batch of digests, in order.
pub(super) struct ContainsMany<'a, C, M, D, A> {
    pub(super) choose: C,
    pub(super) bits: &'a Bits<M>,
    pub(super) digests: D,
    pub(super) answers: &'a mut A,
}

impl<C: Choose, M: Memory, D: Source, A: Sink> SchemeVisitor for ContainsMany<'_, C, M, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { choose, bits, digests, answers } = self;
        if !is_far(bits) {
            // Apart from the other, so that the compiler takes the probes into the loop.
            return digests.each::<{ ahead::LINES }>(
                false,
                |_| (),
                |digest| choose.covers(scheme, bits, digest),
                answers,
            );
        }
        // Share of present keys among the last, in 256ths: an average that forgets.
        let present = Cell::new(0u32);
        let fetch = |digest| choose.fetch(scheme, bits, digest, present.get() > 64);
        let ask = |digest| {
            let found = choose.covers(scheme, bits, digest);
            present.set(present.get() - present.get() / 16 + u32::from(found) * 16);
            found
        };
        digests.each::<{ ahead::LINES }>(true, fetch, ask, answers);
    }
}

/// Covers one digest; true if it was not.
pub(super) struct Set<'a, C> {
    pub(super) choose: C,
    pub(super) bits: &'a mut Bits,
    pub(super) digest: Digest,
}

impl<C: Choose> SchemeVisitor for Set<'_, C> {
    type Output = bool;
    #[inline]
    fn visit<S: Scheme>(self, scheme: &S) -> bool {
        self.choose.set(scheme, self.bits, self.digest)
    }
}

/// Covers a batch of digests in order; tells which were certainly new.
pub(super) struct SetMany<'a, C, D, A> {
    pub(super) choose: C,
    pub(super) bits: &'a mut Bits,
    pub(super) digests: D,
    pub(super) new: &'a mut A,
}

impl<C: Choose, D: Source, A: Sink> SchemeVisitor for SetMany<'_, C, D, A> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { choose, bits, digests, new } = self;
        let far = is_far(bits);
        // Both closures need the bits, one of them to change them.
        let bits = core::cell::RefCell::new(bits);
        let fetch = |digest| choose.fetch(scheme, &**bits.borrow(), digest, true);
        let ask = |digest| choose.set(scheme, &mut bits.borrow_mut(), digest);
        digests.each::<{ ahead::LINES }>(far, fetch, ask, new);
    }
}

/// Asks for the lines of the next `count` positions.
#[inline(always)]
pub(super) fn fetch_lines(bits: &Bits<impl Memory>, count: usize, mut walk: impl Walk) {
    (0..count).for_each(|_| bits.prefetch(walk.step()));
}

/// Whether the table is too large to be near the core.
pub(super) fn is_far(bits: &Bits<impl Memory>) -> bool {
    ahead::is_far(bits.memory().words())
}
