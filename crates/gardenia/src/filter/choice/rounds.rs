//! Rounds over all keys: each in turn is removed and put back by the group that is cheapest now.
//!
//! A key's own bits must be cleared before its groups are compared, and ties must be broken at
//! random: by a fixed rule the rounds get stuck early, and the filter has 6 to 23 % more false
//! positives. No step can raise the number of ones, for the group that was removed is among those
//! compared.
//!
//! Source: Lumetta and Mitzenmacher (2007), section 3.2.

use super::blocks::{self, Choosers, Cut, Moves, Outcome};
use super::groups::{Groups, group_digest};
use super::offline::Ties;
use super::probe::Choose;
use super::tally::{Board, Tally};
use crate::cells::Bits;
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use crate::simd::ahead;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The first round: the online pass, key after key, ties and all. It tells how many keys were
/// certainly new.
pub(super) struct First<'a> {
    pub(super) form: Groups,
    pub(super) bits: &'a mut Bits,
    pub(super) tally: &'a mut Tally,
    pub(super) digests: &'a [Digest],
    pub(super) chosen: &'a mut [u8],
}

impl SchemeVisitor for First<'_> {
    type Output = u64;
    fn visit<S: Scheme>(self, scheme: &S) -> u64 {
        let Self { form, bits, tally, digests, chosen } = self;
        let (cells, far) = (bits.len(), tally.is_far());
        let mut new = 0;
        for (at, (digest, chosen)) in digests.iter().zip(chosen).enumerate() {
            if let Some(next) = digests.get(at + ahead::GROUPS).filter(|_| far) {
                form.fetch(scheme, bits, *next, true);
            }
            let (group, clear) = form.cheapest(scheme, bits, *digest);
            new += u64::from(clear > 0);
            *chosen = group as u8;
            tally.put(bits, scheme.positions(group_digest(*digest, group), cells));
        }
        new
    }
}

/// Another round, in blocks.
pub(super) struct Again<'a> {
    pub(super) form: Groups,
    pub(super) board: Board<'a>,
    pub(super) digests: &'a [Digest],
    pub(super) chosen: &'a mut [u8],
    pub(super) ties: &'a Ties,
    pub(super) threads: usize,
}

impl SchemeVisitor for Again<'_> {
    type Output = Outcome;
    fn visit<S: Scheme>(self, scheme: &S) -> Outcome {
        let Self { form, board, digests, chosen, ties, threads } = self;
        let cut = Cut::new(digests.len());
        let mut rest = chosen;
        let slice = |number| {
            let (slice, later) =
                core::mem::take(&mut rest).split_at_mut(cut.start(number + 1) - cut.start(number));
            rest = later;
            slice
        };
        let mut chosen: Vec<&mut [u8]> = (0..cut.slices()).map(slice).collect();
        let keys = Keys { form, scheme, digests, ties };
        blocks::round(&keys, &mut chosen, board, board.bits.len(), false, threads)
    }
}

/// All keys, and how they choose.
struct Keys<'a, S> {
    form: Groups,
    scheme: &'a S,
    digests: &'a [Digest],
    ties: &'a Ties,
}

impl<'a, S: Scheme> Choosers for Keys<'a, S> {
    /// The groups that its keys have.
    type Slice = &'a mut [u8];

    /// Which key of the slice, and the group that it had.
    type Move = (u32, u8);

    fn keys(&self) -> usize {
        self.digests.len()
    }

    fn choose(
        &self,
        board: Board<'_>,
        keys: Range<usize>,
        chosen: &mut &'a mut [u8],
        moves: &mut Moves<Self::Move>,
    ) {
        let Self { form, scheme, .. } = *self;
        let (cells, hashes, far) = (board.bits.len(), scheme.hashes() as usize, board.is_far());
        let mut own = Uses::new(hashes);
        let digests = &self.digests[keys.clone()];
        for (at, digest) in digests.iter().enumerate() {
            if let Some(next) = digests.get(at + ahead::GROUPS).filter(|_| far) {
                form.fetch(scheme, board.bits, *next, true);
                let mut walk = scheme.walk(group_digest(*next, chosen[at + ahead::GROUPS].into()), cells);
                (0..hashes).for_each(|_| board.prefetch(walk.step()));
            }
            let old = u32::from(chosen[at]);
            let walk = |group| scheme.walk(group_digest(*digest, group), cells);
            own.take(board, walk(old));
            let draws = (keys.start + at) as u64 * u64::from(form.choices);
            // A draw below the cost: the least of all is a random one of the cheapest, without a branch.
            let cost =
                |group, clear| u64::from(clear) << 32 | self.ties.ahead(draws + u64::from(group)) >> 32;
            let mut best = (cost(old, own.alone as u32), old);
            for group in 0..form.choices {
                if group != old {
                    best = best.min((cost(group, own.clear_cells(board, walk(group))), group));
                }
            }
            if best.1 != old {
                let positions = |group| scheme.positions(group_digest(*digest, group), cells);
                positions(old).for_each(|at| moves.change(at, false));
                positions(best.1).for_each(|at| moves.change(at, true));
                moves.made.push((at as u32, old as u8));
                chosen[at] = best.1 as u8;
            }
        }
    }

    fn settle(&self, _: Board<'_>, chosen: &mut &'a mut [u8], moves: &[Self::Move], stay: bool) {
        if !stay {
            moves.iter().for_each(|(at, old)| chosen[*at as usize] = *old);
        }
    }
}

/// Slots of a set of marks.
const MARKS: usize = 16;

/// A small set that may say yes of what is not in it: 1,024 marks, by the lowest bits of a
/// position.
#[derive(Clone, Copy, Default)]
struct Marks([u64; MARKS]);

impl Marks {
    /// 1 if a position may be in the set, 0 if it is not.
    #[inline(always)]
    fn has(&self, at: u64) -> u64 {
        self.0[(at / 64) as usize % MARKS] >> (at % 64) & 1
    }

    #[inline(always)]
    fn add(&mut self, at: u64, is: u64) {
        self.0[(at / 64) as usize % MARKS] |= is << (at % 64);
    }
}

/// The bits that one key uses alone: without it they are clear.
struct Uses {
    hashes: usize,
    positions: Vec<u64>,
    /// The first `alone` of these.
    own: Vec<u64>,
    alone: usize,
    marks: Marks,
    found: Vec<u64>,
}

impl Uses {
    fn new(hashes: usize) -> Self {
        let [positions, own, found] = [(); 3].map(|()| vec![0; hashes]);
        Self { hashes, positions, own, alone: 0, marks: Marks::default(), found }
    }

    /// As if the key with this walk were removed.
    #[inline(always)]
    fn take(&mut self, board: Board<'_>, mut walk: impl Walk) {
        let (mut marks, mut seen, mut twice, mut alone) = (Marks::default(), Marks::default(), 0, 0);
        for place in &mut self.positions {
            let at = walk.step();
            twice |= seen.has(at);
            seen.add(at, 1);
            *place = at;
            let own = u64::from(board.count(at) == 1);
            self.own[alone] = at;
            alone += own as usize;
            marks.add(at, own);
        }
        (self.alone, self.marks) = (alone, marks);
        if twice != 0 {
            self.take_again(board);
        }
    }

    /// The same where the key may use a bit more than once.
    #[inline(never)]
    fn take_again(&mut self, board: Board<'_>) {
        self.positions.sort_unstable();
        self.alone = 0;
        for same in self.positions.chunk_by(|a, b| a == b) {
            if board.count(same[0]) == same.len() as u64 {
                self.own[self.alone] = same[0];
                self.alone += 1;
                self.marks.add(same[0], 1);
            }
        }
    }

    /// How many different positions of `walk` are clear without the key.
    #[inline(always)]
    fn clear_cells(&mut self, board: Board<'_>, mut walk: impl Walk) -> u32 {
        let (mut marks, mut doubt, mut count) = (0u64, 0, 0);
        for _ in 0..self.hashes {
            let at = walk.step();
            let own = self.marks.has(at);
            let clear = !board.bits.shifted(at) & 1 | own;
            doubt |= own;
            self.found[count] = at;
            count += clear as usize;
            marks |= clear << (at % 64);
        }
        // As many marks as positions: none came twice.
        if doubt == 0 && marks.count_ones() as usize == count {
            return count as u32;
        }
        self.clear_again(board, count)
    }

    #[inline(never)]
    fn clear_again(&self, board: Board<'_>, count: usize) -> u32 {
        let (found, own) = (&self.found[..count], &self.own[..self.alone]);
        let is_first = |i: usize| !found[..i].contains(&found[i]);
        let is_clear = |at: &u64| !board.bits.get(*at) || own.contains(at);
        (0..count).map(|i| u32::from(is_first(i) && is_clear(&found[i]))).sum()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Independent;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn costs_are_those_without_the_key(
            cells in 1u64..300, hashes in 1u32..12, others in 0u64..20, key in any::<u64>(),
        ) {
            let scheme = Independent::new(hashes);
            let positions = |key: u64| scheme.positions(Digest(key), cells);
            let (mut bits, mut tally) = (Bits::new(cells).unwrap(), Tally::new(cells).unwrap());
            // Counters that stick have uses that cannot be taken back.
            let keys: Vec<u64> = (0..others).map(|i| key ^ (i + 1)).collect();
            let mut uses = vec![0; cells as usize];
            keys.iter().chain([&key]).for_each(|key| positions(*key).for_each(|at| uses[at as usize] += 1));
            prop_assume!(uses.iter().all(|uses| *uses < 15));
            keys.iter().chain([&key]).for_each(|key| tally.put(&mut bits, positions(*key)));
            let without: BTreeSet<u64> = keys.iter().flat_map(|key| positions(*key)).collect();
            let expected = |key| positions(key).filter(|at| !without.contains(at)).collect::<BTreeSet<_>>().len();
            tally.lend(&mut bits, |board| {
                let mut own = Uses::new(hashes as usize);
                own.take(board, scheme.walk(Digest(key), cells));
                assert_eq!(own.alone, expected(key));
                for other in [key, !key, key ^ 1, key.rotate_left(9)] {
                    let clear = own.clear_cells(board, scheme.walk(Digest(other), cells));
                    assert_eq!(clear as usize, expected(other));
                }
                0
            });
        }
    }
}
