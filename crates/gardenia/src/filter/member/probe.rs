//! The probe loops of filters over shared bits: one key, and many keys with the memory waits overlapped.
//!
//! A probe that stops at the first clear bit mispredicts a branch per absent key and, what is worse, holds
//! up the loads behind it. So the first [`FIRST`] bits of a key are fetched together and tested once; only
//! one absent key in 2^FIRST goes on, and for present keys the branch is always right.
//!
//! While the table fits the cache of one core a batch is a plain loop. Above that it works in blocks: the
//! positions of a whole block are computed, noted and prefetched before the first of them is read.

use crate::cells::{Bits, Memory, Shared};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use alloc::vec;
use alloc::vec::Vec;

/// Bits of a key that are tested before the first branch: at the usual fill of one half, three leave an
/// eighth of the absent keys.
const FIRST: usize = 3;

/// Keys whose memory is asked for before the first is read: enough to hide a cache miss, few enough that
/// the lines are still there when they are read.
const BLOCK: usize = 32;

/// Tables up to this many words (2 MiB) are near enough to the core that noting positions costs more than
/// it hides.
const IN_CACHE: usize = 1 << 18;

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
pub(super) struct Contains<'a, M> {
    pub(super) bits: &'a Bits<M>,
    pub(super) digest: Digest,
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
pub(super) struct Set<'a> {
    pub(super) bits: &'a mut Bits,
    pub(super) digest: Digest,
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

/// The noted positions of a block of keys, `each` per key.
struct Noted {
    positions: Vec<u64>,
    each: usize,
}

impl Noted {
    fn new(each: usize) -> Self {
        Self { positions: vec![0; BLOCK * each], each }
    }

    /// Notes the positions of key `slot` and asks for their memory.
    #[inline(always)]
    fn note(&mut self, slot: usize, bits: &Bits<impl Memory>, mut walk: impl Walk) {
        for noted in &mut self.positions[slot * self.each..][..self.each] {
            *noted = walk.step();
            bits.prefetch(*noted);
        }
    }

    /// The positions of key `slot`.
    #[inline(always)]
    fn of(&self, slot: usize) -> &[u64] {
        &self.positions[slot * self.each..][..self.each]
    }

    /// Whether the bits of key `slot` are all set.
    #[inline(always)]
    fn all_set(&self, slot: usize, bits: &Bits<impl Memory>) -> bool {
        self.of(slot).iter().fold(1, |set, &at| set & bits.shifted(at)) & 1 == 1
    }
}

/// Answers for many digests, in order.
pub(super) struct ContainsMany<'a, M> {
    pub(super) bits: &'a Bits<M>,
    pub(super) digests: &'a [Digest],
    pub(super) out: &'a mut [bool],
}

impl<M: Memory> SchemeVisitor for ContainsMany<'_, M> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { bits, digests, out } = self;
        if bits.memory().words() <= IN_CACHE || digests.len() < BLOCK {
            for (digest, out) in digests.iter().zip(out) {
                *out = Contains { bits, digest: *digest }.visit(scheme);
            }
            return;
        }
        let hashes = scheme.hashes() as usize;
        let mut first = Noted::new(hashes.min(FIRST));
        let mut rest = Noted::new(hashes - first.each);
        let mut alive = [0usize; BLOCK];
        for (digests, out) in digests.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            for (slot, digest) in digests.iter().enumerate() {
                first.note(slot, bits, scheme.walk(*digest, bits.len()));
            }
            let mut count = 0;
            for (slot, out) in out.iter_mut().enumerate() {
                *out = first.all_set(slot, bits);
                // Survivors are packed without a branch: a key that fails is overwritten by the next.
                alive[count % BLOCK] = slot;
                count += usize::from(*out);
            }
            for &slot in &alive[..count] {
                let mut walk = scheme.walk(digests[slot], bits.len());
                (0..first.each).for_each(|_| _ = walk.step());
                rest.note(slot, bits, walk);
            }
            for &slot in &alive[..count] {
                out[slot] = rest.all_set(slot, bits);
            }
        }
    }
}

/// Inserts many digests in order; tells which were certainly new.
pub(super) struct SetMany<'a> {
    pub(super) bits: &'a mut Bits,
    pub(super) digests: &'a [Digest],
    pub(super) new: &'a mut [bool],
}

impl SchemeVisitor for SetMany<'_> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let Self { bits, digests, new } = self;
        let cells = bits.len();
        if bits.memory().words() <= IN_CACHE || digests.len() < BLOCK {
            for (digest, new) in digests.iter().zip(new) {
                *new = bits.set_all(scheme.positions(*digest, cells));
            }
            return;
        }
        let mut noted = Noted::new(scheme.hashes() as usize);
        for (digests, new) in digests.chunks(BLOCK).zip(new.chunks_mut(BLOCK)) {
            for (slot, digest) in digests.iter().enumerate() {
                noted.note(slot, bits, scheme.walk(*digest, cells));
            }
            for (slot, new) in new.iter_mut().enumerate() {
                *new = bits.set_all(noted.of(slot).iter().copied());
            }
        }
    }
}
