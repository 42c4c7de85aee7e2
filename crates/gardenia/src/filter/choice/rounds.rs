//! Rounds over all keys: each in turn is taken out and put back by the group that is cheapest now.
//!
//! A key's own bits must be taken back before its groups are compared, and ties must be broken at random: by a
//! fixed rule the rounds get stuck early, and the filter errs 6 to 23 % more. No step can raise the number of ones,
//! for the group that was taken out is among those compared.
//!
//! Source: Lumetta and Mitzenmacher (2007), section 3.2.

use super::groups::{Groups, clear_cells, group_digest};
use super::offline::Ties;
use super::probe::Choose;
use super::tally::Tally;
use crate::cells::Bits;
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};

/// Keys whose lines are asked for before their turn.
const AHEAD: usize = 8;

/// One round. The first is the online pass, ties and all; it tells how many keys were certainly new.
pub(super) struct Round<'a> {
    pub(super) form: Groups,
    pub(super) bits: &'a mut Bits,
    pub(super) tally: &'a mut Tally,
    pub(super) digests: &'a [Digest],
    pub(super) chosen: &'a mut [u8],
    pub(super) ties: &'a mut Ties,
    pub(super) first: bool,
}

impl SchemeVisitor for Round<'_> {
    type Output = u64;
    fn visit<S: Scheme>(self, scheme: &S) -> u64 {
        let Self { form, bits, tally, digests, chosen, ties, first } = self;
        let (cells, hashes) = (bits.len(), scheme.hashes() as usize);
        let far = tally.is_far();
        let mut new = 0;
        for at in 0..digests.len() {
            if let Some(next) = digests.get(at + AHEAD) {
                if far {
                    form.fetch(scheme, bits, *next, true);
                }
                if far && !first {
                    let mut walk = scheme.walk(group_digest(*next, chosen[at + AHEAD].into()), cells);
                    (0..hashes).for_each(|_| tally.prefetch(walk.step()));
                }
            }
            let digest = digests[at];
            let group = if first {
                let (group, clear) = form.cheapest(scheme, bits, digest);
                new += u64::from(clear > 0);
                group
            } else {
                tally.take(bits, scheme.positions(group_digest(digest, chosen[at].into()), cells));
                cheapest(form, scheme, bits, digest, ties)
            };
            chosen[at] = group as u8;
            tally.put(bits, scheme.positions(group_digest(digest, group), cells));
        }
        new
    }
}

/// The group with the fewest clear cells; of several, each with the same chance.
#[inline(always)]
fn cheapest<S: Scheme>(form: Groups, scheme: &S, bits: &Bits, digest: Digest, ties: &mut Ties) -> u32 {
    let (cells, hashes) = (bits.len(), scheme.hashes() as usize);
    let mut best = (u64::MAX, 0);
    for group in 0..form.choices {
        let clear = clear_cells(bits, hashes, scheme.walk(group_digest(digest, group), cells));
        // A draw below the cost: the least of all is a random one of the cheapest, without a branch.
        best = best.min((u64::from(clear) << 32 | ties.draw() >> 32, group));
    }
    best.1
}

/// Bits and counters from groups that are chosen already, starting from none.
pub(super) struct Recount<'a> {
    pub(super) bits: &'a mut Bits,
    pub(super) tally: &'a mut Tally,
    pub(super) digests: &'a [Digest],
    pub(super) chosen: &'a [u8],
}

impl SchemeVisitor for Recount<'_> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        let cells = self.bits.len();
        for (digest, group) in self.digests.iter().zip(self.chosen) {
            let positions = scheme.positions(group_digest(*digest, u32::from(*group)), cells);
            self.tally.put(self.bits, positions);
        }
    }
}
