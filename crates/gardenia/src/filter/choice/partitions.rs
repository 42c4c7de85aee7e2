//! Partitioned hashing: a few keys choose one of 256 hash sets together, and the choice is stored.
//!
//! A hash of the key names its partition; a byte per partition names the hash set of its keys. So a
//! query probes k bits, as in a plain filter, and its error is p^k without a factor for the
//! choices; the price is the table of bytes, which is counted as part of the filter's bits.
//!
//! A set only turns the positions of a key *within their 64-bit words*: the first three by the
//! byte, modulo 64, and each later one further than the one before it, by 0, 17, 34 or 51 according
//! to the two upper bits of the byte. So the words that a query loads do not depend on the table,
//! which is loaded beside them; only the last shift waits for it. And one look at the k words of a
//! key tells for all 256 sets which bits they would find, which makes 256 sets, and many
//! passes, affordable. (Sets that choose other words were 2 % better at 8 bits per key, and a query
//! took a third longer.)
//!
//! Sources: Hao, Kodialam and Lakshman, "Building High Accuracy Bloom Filters Using Partitioned
//! Hashing" (2007); the turned words are ours.

use super::blocks::{self, Choosers, Cut, Moves, Outcome};
use super::lanes::Lanes;
use super::offline::Ties;
use super::probe::{Choose, FIRST, fetch_lines};
use super::tally::{Board, Tally};
use crate::cells::atom::Atom;
use crate::cells::{Bits, Memory, Shared};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk, scale};
use crate::simd::ahead;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Families of 64 sets each.
const FAMILIES: u32 = 4;

/// Hash sets to choose from: what a byte can name.
pub(super) const SETS: u32 = FAMILIES * 64;

/// Hash sets that differ: a key of three positions or fewer is turned alike by all families.
pub(super) fn different_sets(hashes: u32) -> u32 {
    if hashes as usize <= FIRST { SETS / FAMILIES } else { SETS }
}

/// How much further a set of family f turns each position after the third than the one before it,
/// times f.
const FURTHER: u64 = 17;

/// How much further a set turns each position after the third: the lowest six bits count.
#[inline(always)]
fn further(choice: u64) -> u64 {
    (choice >> 6 & 3) * FURTHER
}

/// Where things stand in the bits of a partitioned filter: first the cells, a whole number of
/// words, then a byte per partition, also a whole number of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partitions {
    pub(super) cells: u64,
    pub(super) partitions: u64,
}

/// How often position `i` of a key is turned further.
#[inline(always)]
fn beyond(i: u64) -> u64 {
    (i + 1).saturating_sub(FIRST as u64)
}

/// `at` turned within its word.
#[inline(always)]
fn turned(at: u64, by: u64) -> u64 {
    at & !63 | (at + by) & 63
}

impl Partitions {
    /// This number of partitions in a filter of `bits` bits, table included.
    #[inline]
    pub(super) fn in_bits(bits: u64, partitions: u64) -> Self {
        Self { cells: bits - Self::table_bits(partitions), partitions }
    }

    /// Bits that the table of this number of partitions takes.
    pub(super) fn table_bits(partitions: u64) -> u64 {
        partitions * 8
    }

    /// The word of the table, and the byte in it, of a key: by the lower half of the digest,
    /// because the first position comes from the upper one, and without a multiplication more,
    /// because a query waits for it.
    #[inline(always)]
    fn place(self, digest: Digest) -> (u64, u64) {
        (scale(digest.0.rotate_left(32), self.partitions / 8), digest.0 % 8)
    }

    /// The partition of a key.
    #[inline]
    pub(super) fn of(self, digest: Digest) -> u64 {
        let (word, byte) = self.place(digest);
        word * 8 + byte
    }

    /// The set that the partition has chosen.
    #[inline]
    pub(super) fn choice(self, bits: &Bits<impl Memory>, partition: u64) -> u8 {
        (bits.memory().load((self.cells / 64 + partition / 8) as usize) >> (partition % 8 * 8)) as u8
    }

    /// The set of a key.
    #[inline(always)]
    fn choice_of(self, bits: &Bits<impl Memory>, digest: Digest) -> u64 {
        let (word, byte) = self.place(digest);
        bits.memory().load((self.cells / 64 + word) as usize) >> (byte * 8) & 255
    }

    /// Puts the choice of a partition into the table, of which no other thread may change a word.
    fn choose(self, bits: &Bits<Shared>, partition: u64, choice: u8) {
        let word = &bits.memory().atoms()[(self.cells / 64 + partition / 8) as usize];
        let shift = partition % 8 * 8;
        Atom::store(word, Atom::load(word) & !(255 << shift) | u64::from(choice) << shift);
    }

    #[inline]
    pub(super) fn positions<S: Scheme>(
        self,
        scheme: &S,
        digest: Digest,
        choice: u8,
    ) -> impl Iterator<Item = u64> {
        let (by, mut walk) = (u64::from(choice), scheme.walk(digest, self.cells));
        let further = further(by);
        (0..scheme.hashes().into()).map(move |i| turned(walk.step(), by + beyond(i) * further))
    }
}

impl Choose for Partitions {
    #[inline(always)]
    fn covers<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest) -> bool {
        let (mut walk, hashes) = (scheme.walk(digest, self.cells), scheme.hashes() as usize);
        let choice = self.choice_of(bits, digest);
        let mut all = |count: usize, mut by: u64, further| {
            let mut set = 1;
            for _ in 0..count {
                let at = walk.step();
                by += further;
                // The turned position in the same word: shifts take the lowest six bits.
                set &= bits.memory().load((at / 64) as usize) >> ((at + by) % 64);
            }
            set & 1 == 1
        };
        if hashes < FIRST {
            return all(hashes, choice, 0);
        }
        all(FIRST, choice, 0) && all(hashes - FIRST, choice, further(choice))
    }

    #[inline(always)]
    fn fetch<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest, all: bool) {
        let hashes = scheme.hashes() as usize;
        bits.memory().prefetch((self.cells / 64 + self.place(digest).0) as usize);
        fetch_lines(bits, if all { hashes } else { hashes.min(FIRST) }, scheme.walk(digest, self.cells));
    }

    #[inline(always)]
    fn set<S: Scheme>(self, scheme: &S, bits: &mut Bits, digest: Digest) -> bool {
        let choice = self.choice(bits, self.of(digest));
        bits.set_all(self.positions(scheme, digest, choice))
    }
}

/// One pass, in blocks: each partition compares all sets, as if its keys were absent, and takes the
/// cheapest; of several, one at random. In the first pass no key is in.
pub(super) struct Pass<'a> {
    pub(super) form: Partitions,
    pub(super) board: Board<'a>,
    /// By partition.
    pub(super) digests: &'a [Digest],
    pub(super) ties: &'a Ties,
    pub(super) first: bool,
    pub(super) threads: usize,
}

impl SchemeVisitor for Pass<'_> {
    type Output = Outcome;
    fn visit<S: Scheme>(self, scheme: &S) -> Outcome {
        let Self { form, board, digests, ties, first, threads } = self;
        let mut slices = vec![(); Cut::new(digests.len()).slices()];
        let choosers = Choosing { form, scheme, digests, ties, first };
        blocks::round(&choosers, &mut slices, board, form.cells, first, threads)
    }
}

/// All partitions, and how they choose.
struct Choosing<'a, S> {
    form: Partitions,
    scheme: &'a S,
    digests: &'a [Digest],
    ties: &'a Ties,
    first: bool,
}

/// Draws that a key has to give: twice for each family.
pub(super) const DRAWS: u64 = 2 * FAMILIES as u64;

impl<S: Scheme> Choosers for Choosing<'_, S> {
    type Slice = ();
    /// A partition and the set that it chose.
    type Move = (u64, u8);

    fn keys(&self) -> usize {
        self.digests.len()
    }

    fn boundary(&self, at: usize) -> usize {
        let Some(before) = at.checked_sub(1) else { return 0 };
        let partition = self.digests.get(before).map(|digest| self.form.of(*digest));
        let same = |digest: &&Digest| Some(self.form.of(**digest)) == partition;
        at + self.digests[at..].iter().take_while(same).count()
    }

    fn choose(&self, board: Board<'_>, keys: Range<usize>, _: &mut (), moves: &mut Moves<Self::Move>) {
        let Self { form, scheme, .. } = *self;
        let far = board.is_far();
        let mut start = keys.start;
        let mut crowd = Crowd::default();
        for keys in self.digests[keys].chunk_by(|a, b| form.of(*a) == form.of(*b)) {
            let partition = form.of(keys[0]);
            let old = form.choice(board.bits, partition);
            if far {
                // The digests lie by partition: those to come are known.
                let next = self.digests[start + keys.len()..].iter().take(ahead::GROUPS);
                let next = next.skip(ahead::GROUPS - keys.len().min(ahead::GROUPS));
                next.for_each(|key| fetch_all(form, scheme, board, *key, self.first));
            }
            let alone = crowd.gather(form, scheme, board, keys, if self.first { None } else { Some(old) });
            let (new, clear) = crowd.cheapest(self.ties, start as u64 * DRAWS);
            start += keys.len();
            // Bits that two of the keys share count twice in the comparison, but not in what the old set costs.
            if self.first || (new != old && clear <= alone) {
                if !self.first {
                    let cells = keys.iter().flat_map(|key| form.positions(scheme, *key, old));
                    cells.for_each(|at| moves.change(at, false));
                }
                let cells = keys.iter().flat_map(|key| form.positions(scheme, *key, new));
                cells.for_each(|at| moves.change(at, true));
                moves.made.push((partition, new));
            }
        }
    }

    fn settle(&self, board: Board<'_>, (): &mut (), moves: &[Self::Move], stay: bool) {
        if stay {
            moves.iter().for_each(|(partition, new)| self.form.choose(board.bits, *partition, *new));
        }
    }
}

/// Asks for the words of a key, and for the counters of the set it has.
fn fetch_all<S: Scheme>(form: Partitions, scheme: &S, board: Board<'_>, key: Digest, first: bool) {
    fetch_lines(board.bits, scheme.hashes() as usize, scheme.walk(key, form.cells));
    if !first {
        let choice = form.choice(board.bits, form.of(key));
        form.positions(scheme, key, choice).for_each(|at| board.prefetch(at));
    }
}

/// Marks by which words of a partition are told apart.
const MARKS: usize = 64;

/// The words that the keys of a partition look at.
#[derive(Default)]
struct Crowd {
    /// The position before it is turned, which number it is of its key, and its word.
    words: Vec<(u64, u32, u64)>,
    /// The bits that the keys use under the old set.
    own: Vec<u64>,
}

impl Crowd {
    /// Takes the words as they are without these keys, which have the set `old`; how many bits only
    /// these keys use.
    #[inline(always)]
    fn gather<S: Scheme>(
        &mut self,
        form: Partitions,
        scheme: &S,
        board: Board<'_>,
        keys: &[Digest],
        old: Option<u8>,
    ) -> u32 {
        let Self { words, own } = self;
        words.clear();
        own.clear();
        let choice = u64::from(old.unwrap_or(0));
        let (further, taken) = (further(choice), u64::from(old.is_some()));
        let (mut seen, mut twice, mut alone) = ([0u64; MARKS], 0, 0);
        for key in keys {
            let mut walk = scheme.walk(*key, form.cells);
            for i in 0..scheme.hashes() {
                let at = walk.step();
                let used = turned(at, choice + beyond(i.into()) * further);
                let (mark, only) = (at / 64, taken & u64::from(board.count(used) == 1));
                let seen = &mut seen[(mark / 64) as usize % MARKS];
                twice |= *seen >> (mark % 64) & 1;
                *seen |= 1 << (mark % 64);
                alone += only as u32;
                words.push((at, i, board.bits.memory().load(mark as usize) & !(only << (used % 64))));
                own.push(used);
            }
        }
        if twice & taken != 0 { self.gather_again(board) } else { alone }
    }

    /// The same where two positions may be in one word.
    #[inline(never)]
    fn gather_again(&mut self, board: Board<'_>) -> u32 {
        let Self { words, own } = self;
        own.sort_unstable();
        let is_alone = |same: &&[u64]| board.count(same[0]) == same.len() as u64;
        let only: Vec<u64> = own.chunk_by(|a, b| a == b).filter(is_alone).map(|same| same[0]).collect();
        for (at, _, word) in words {
            *word = board.bits.memory().load((*at / 64) as usize);
            let from = only.partition_point(|other| other / 64 < *at / 64);
            let here = only[from..].iter().take_while(|other| **other / 64 == *at / 64);
            here.for_each(|other| *word &= !(1 << (other % 64)));
        }
        only.len() as u32
    }

    /// The set that finds the fewest clear bits, and how many; of several sets, one at random. A
    /// bit that two of the keys would set counts twice.
    #[inline(always)]
    fn cheapest(&self, ties: &Ties, draws: u64) -> (u8, u32) {
        let mut best = (u64::MAX, 0);
        for family in 0..FAMILIES {
            let mut lanes = Lanes::default();
            for (at, i, word) in &self.words {
                let by = FURTHER as u32 * family * beyond((*i).into()) as u32;
                lanes.add(!word.rotate_right((at % 64) as u32 + by));
            }
            let (clear, which) = lanes.least();
            let draws = draws + u64::from(2 * family);
            let lane = nth_one(which, scale(ties.ahead(draws), which.count_ones().into()));
            best = best.min((u64::from(clear) << 32 | ties.ahead(draws + 1) >> 32, family * 64 + lane));
        }
        (best.1 as u8, (best.0 >> 32) as u32)
    }
}

/// The place of set bit number `n`, which is below the number of set bits.
fn nth_one(mut mask: u64, n: u64) -> u32 {
    for _ in 0..n {
        mask &= mask - 1;
    }
    mask.trailing_zeros()
}

/// Bits and counters from sets that are chosen already, starting from none.
pub(super) struct Recount<'a> {
    pub(super) form: Partitions,
    pub(super) bits: &'a mut Bits,
    pub(super) tally: &'a mut Tally,
    pub(super) digests: &'a [Digest],
}

impl SchemeVisitor for Recount<'_> {
    type Output = ();
    fn visit<S: Scheme>(self, scheme: &S) {
        for key in self.digests {
            let choice = self.form.choice(self.bits, self.form.of(*key));
            self.tally.put(self.bits, self.form.positions(scheme, *key, choice));
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
        fn sets_are_compared_as_if_the_keys_were_not_in(
            words in 1u64..30, hashes in 1u32..12, seed in any::<u64>(), old in any::<u8>(), keys in 1u32..8,
            others in 0u32..10, first in any::<bool>(),
        ) {
            let (scheme, cells) = (Independent::new(hashes), words * 64);
            let form = Partitions { cells, partitions: 8 };
            let (mut bits, mut tally) = (Bits::new(cells + 64).unwrap(), Tally::new(cells).unwrap());
            let [keys, others] = [(1, keys), (100, others)].map(|(from, count)| {
                (from..from + count).map(|i| Digest(Digest(seed).word(i))).collect::<Vec<_>>()
            });
            let used = |keys: &[Digest], choice| {
                keys.iter().flat_map(|key| form.positions(&scheme, *key, choice)).collect::<Vec<_>>()
            };
            let mut uses = vec![0; cells as usize];
            let mine = if first { Vec::new() } else { used(&keys, old) };
            used(&others, 7).iter().chain(&mine).for_each(|at| uses[*at as usize] += 1);
            prop_assume!(uses.iter().all(|uses| *uses < 15));
            tally.put(&mut bits, used(&others, 7).into_iter().chain(mine));
            let without: BTreeSet<u64> = used(&others, 7).into_iter().collect();
            // A bit that two keys would set counts twice in the comparison, but not in what the old set costs.
            let cost = |choice| used(&keys, choice).iter().filter(|at| !without.contains(at)).count() as u32;
            let least = (0..=255).map(cost).min().unwrap();
            let alone = used(&keys, old).into_iter().filter(|at| !without.contains(at)).collect::<BTreeSet<_>>();
            tally.lend(&mut bits, |board| {
                let mut crowd = Crowd::default();
                let found = crowd.gather(form, &scheme, board, &keys, (!first).then_some(old));
                assert_eq!(found as usize, if first { 0 } else { alone.len() });
                for draws in 0..4 {
                    let (new, clear) = crowd.cheapest(&Ties::new(), 8 * draws);
                    assert_eq!((clear, cost(new)), (least, least));
                }
                0
            });
        }

        #[test]
        fn queries_look_at_the_positions_that_building_sets(
            words in 1u64..30, hashes in 1u32..12, key in any::<u64>(), choice in any::<u8>(), missing in any::<u32>(),
        ) {
            let (scheme, key) = (Independent::new(hashes), Digest(key));
            let form = Partitions { cells: words * 64, partitions: 8 };
            let mut bits = Bits::new(form.cells + 64).unwrap();
            bits.lend(|bits| form.choose(bits, form.of(key), choice));
            let positions: BTreeSet<u64> = form.positions(&scheme, key, choice).collect();
            let missing = positions.iter().nth(missing as usize % positions.len()).copied();
            bits.set_all(positions.iter().copied().filter(|at| Some(*at) != missing));
            prop_assert!(!form.covers(&scheme, &bits, key));
            prop_assert!(form.set(&scheme, &mut bits, key) && form.covers(&scheme, &bits, key));
            prop_assert_eq!(bits.count_ones(), positions.len() as u64 + u64::from(choice.count_ones()));
        }
    }
}
