//! Blocks: many keys choose at once as things stand, and then all of them move.
//!
//! Rounds and passes change one array of bits key after key. To let threads share the work, keys
//! are processed in blocks of 1/128 of all. First every key of a block chooses, by the state before
//! the block: threads only read. Then the moves are made: each thread changes a range of the bits.
//! So few keys of a block meet in a bit that the outcome is as good as one after the other; and as
//! blocks, slices and ranges depend on the keys alone, it is the same for any number of threads.
//!
//! One rule makes it safe: what a block made worse, because its keys did meet, is undone as a
//! whole.

use super::tally::Board;
use alloc::vec::Vec;
use core::ops::Range;

/// Blocks in a round.
const BLOCKS: usize = 128;

/// Slices of a block, and ranges of the bits, that threads share out among themselves.
const SLICES: usize = 16;

/// Keys of a block from which slices are worth while.
const SLICED: usize = 256;

/// Bits from which ranges are worth while.
const RANGED: u64 = 1 << 16;

/// Changes of a range have 31 bits for the place.
const RANGE_BITS: u64 = 1 << 31;

/// The moves of a slice.
#[derive(Debug, Default)]
pub(super) struct Moves<M> {
    /// Which keys moved, in a form that the caller chooses.
    pub(super) made: Vec<M>,
    /// For each range: places of bits from its start, twice, and one more if the bit is used once
    /// more.
    changes: Vec<Vec<u32>>,
    range: u64,
}

impl<M> Moves<M> {
    /// Notes that bit `at` is used once more, or once less.
    #[inline]
    pub(super) fn change(&mut self, at: u64, more: bool) {
        let (range, place) = (at / self.range, at % self.range);
        self.changes[range as usize].push((place as u32) << 1 | u32::from(more));
    }
}

/// Keys that choose among groups of bits, block after block.
pub(super) trait Choosers: Sync {
    /// What belongs to a slice of keys alone.
    type Slice: Send;
    /// What is noted of a move.
    type Move: Send + Sync;
    /// The number of keys.
    fn keys(&self) -> usize;
    /// The first key from `at` on with which a slice may begin.
    fn boundary(&self, at: usize) -> usize {
        at
    }
    /// Lets these keys choose, and notes their moves.
    fn choose(
        &self,
        board: Board<'_>,
        keys: Range<usize>,
        own: &mut Self::Slice,
        moves: &mut Moves<Self::Move>,
    );
    /// Hears whether the moves of a slice stay. One thread calls it, after all have been made.
    fn settle(&self, board: Board<'_>, own: &mut Self::Slice, moves: &[Self::Move], stay: bool);
}

/// How many keys are cut into blocks, and those into slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    keys: usize,
    blocks: usize,
    slices: usize,
}

impl Cut {
    pub(super) fn new(keys: usize) -> Self {
        let blocks = keys.clamp(1, BLOCKS);
        Self { keys, blocks, slices: if keys / blocks < SLICED { 1 } else { SLICES } }
    }

    /// All slices, in order: each begins where the one before it ends.
    pub(super) fn slices(self) -> usize {
        self.blocks * self.slices
    }

    /// Where slice `number` begins.
    pub(super) fn start(self, number: usize) -> usize {
        (self.keys as u128 * number as u128 / self.slices() as u128) as usize
    }
}

/// What came of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// How many more bits are set.
    pub(super) more: i64,
    /// Whether a counter stuck in moves that were undone: then bits may be set that nobody uses.
    pub(super) stuck: bool,
    /// Bytes that the moves took.
    pub(super) bytes: usize,
}

/// One round over all keys by up to `threads` threads, with what belongs to each slice. Blocks that
/// make it worse are undone, unless it is the first round.
pub(super) fn round<C: Choosers>(
    choosers: &C,
    own: &mut [C::Slice],
    board: Board<'_>,
    cells: u64,
    first: bool,
    threads: usize,
) -> Outcome {
    let cut = Cut::new(choosers.keys());
    let ranges = if cells < RANGED { 1 } else { (SLICES as u64).max(cells.div_ceil(RANGE_BITS)) };
    // Whole words of bits.
    let range = cells.div_ceil(ranges).next_multiple_of(64);
    let round = Round { choosers, board, cut, range, ranges: ranges as usize, first };
    match threads.min(cut.slices) {
        #[cfg(feature = "std")]
        threads @ 2.. => team::run(&round, own, threads),
        _ => alone(&round, own),
    }
}

/// What the threads of a round share.
struct Round<'a, C> {
    choosers: &'a C,
    board: Board<'a>,
    cut: Cut,
    range: u64,
    ranges: usize,
    first: bool,
}

impl<C: Choosers> Round<'_, C> {
    fn moves(&self) -> Moves<C::Move> {
        let changes = (0..self.ranges).map(|_| Vec::new()).collect();
        Moves { made: Vec::new(), changes, range: self.range }
    }

    fn choose(&self, number: usize, own: &mut C::Slice, moves: &mut Moves<C::Move>) {
        moves.made.clear();
        moves.changes.iter_mut().for_each(Vec::clear);
        let [start, end] = [number, number + 1].map(|number| self.choosers.boundary(self.cut.start(number)));
        self.choosers.choose(self.board, start..end, own, moves);
    }

    /// Makes the changes of a slice in one range; how many more bits are set.
    fn make(&self, range: usize, moves: &Moves<C::Move>) -> i64 {
        let start = range as u64 * self.range;
        let change = |change: &u32| self.board.change(start + u64::from(change >> 1), change & 1 == 1);
        moves.changes[range].iter().map(change).sum()
    }

    /// The opposite.
    fn unmake(&self, range: usize, moves: &Moves<C::Move>) -> i64 {
        let start = range as u64 * self.range;
        let change = |change: &u32| self.board.change(start + u64::from(change >> 1), change & 1 == 0);
        moves.changes[range].iter().rev().map(change).sum()
    }
}

fn bytes<M>(moves: &Moves<M>) -> usize {
    let changes: usize = moves.changes.iter().map(Vec::capacity).sum();
    changes * size_of::<u32>() + moves.made.capacity() * size_of::<M>()
}

/// All blocks by one thread.
fn alone<C: Choosers>(round: &Round<'_, C>, own: &mut [C::Slice]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut slots: Vec<_> = (0..round.cut.slices).map(|_| round.moves()).collect();
    for (block, own) in own.chunks_mut(round.cut.slices).enumerate() {
        for (slice, (moves, own)) in slots.iter_mut().zip(&mut *own).enumerate() {
            round.choose(block * round.cut.slices + slice, own, moves);
        }
        let all = |range| slots.iter().map(|moves| round.make(range, moves)).sum::<i64>();
        let mut more: i64 = (0..round.ranges).map(all).sum();
        let stay = round.first || more <= 0;
        if !stay {
            let all = |range| slots.iter().rev().map(|moves| round.unmake(range, moves)).sum::<i64>();
            more += (0..round.ranges).map(all).sum::<i64>();
            outcome.stuck |= more != 0;
        }
        for (moves, own) in slots.iter().zip(own) {
            round.choosers.settle(round.board, own, &moves.made, stay);
        }
        outcome.more += more;
    }
    outcome.bytes = slots.iter().map(bytes).sum();
    outcome
}

/// The same by several threads, which wait for each other after each step.
#[cfg(feature = "std")]
mod team {
    use super::{Choosers, Moves, Outcome, Round, Vec, bytes};
    use std::sync::{Barrier, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

    /// What the threads of a team tell each other.
    struct Team<'a, C: Choosers> {
        round: &'a Round<'a, C>,
        own: Vec<Mutex<&'a mut C::Slice>>,
        slots: Vec<RwLock<Moves<C::Move>>>,
        more: Vec<Mutex<i64>>,
        barrier: Barrier,
        threads: usize,
    }

    pub(super) fn run<C: Choosers>(round: &Round<'_, C>, own: &mut [C::Slice], threads: usize) -> Outcome {
        let own = own.iter_mut().map(Mutex::new).collect();
        let slots = (0..round.cut.slices).map(|_| RwLock::new(round.moves())).collect();
        let more = (0..round.ranges).map(|_| Mutex::new(0)).collect();
        let team = Team { round, own, slots, more, barrier: Barrier::new(threads), threads };
        let mut outcome = std::thread::scope(|scope| {
            for member in 1..threads {
                let team = &team;
                scope.spawn(move || _ = team.work(member));
            }
            team.work(0)
        });
        outcome.bytes = (0..team.slots.len()).map(|slot| bytes(&team.read(slot))).sum();
        outcome
    }

    fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
        value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl<C: Choosers> Team<'_, C> {
        fn read(&self, slot: usize) -> RwLockReadGuard<'_, Moves<C::Move>> {
            self.slots[slot].read().unwrap_or_else(PoisonError::into_inner)
        }

        /// Numbers below `end` that fall to a member.
        fn share(&self, member: usize, end: usize) -> impl Iterator<Item = usize> {
            (member..end).step_by(self.threads)
        }

        fn wait(&self) {
            self.barrier.wait();
        }

        /// The sum over all ranges, for which all must have worked.
        fn sum(&self) -> i64 {
            self.more.iter().map(|more| *lock(more)).sum()
        }

        /// The part of one member in all blocks.
        fn work(&self, member: usize) -> Outcome {
            let Round { cut, board, .. } = *self.round;
            let mut outcome = Outcome::default();
            for block in 0..cut.blocks {
                for slice in self.share(member, cut.slices) {
                    let mut moves = self.slots[slice].write().unwrap_or_else(PoisonError::into_inner);
                    let number = block * cut.slices + slice;
                    self.round.choose(number, &mut lock(&self.own[number]), &mut moves);
                }
                self.wait();
                for range in self.share(member, self.round.ranges) {
                    let all = (0..cut.slices).map(|slot| self.round.make(range, &self.read(slot)));
                    *lock(&self.more[range]) = all.sum();
                }
                self.wait();
                let mut more = self.sum();
                let stay = self.round.first || more <= 0;
                if !stay {
                    self.wait();
                    for range in self.share(member, self.round.ranges) {
                        let all =
                            (0..cut.slices).rev().map(|slot| self.round.unmake(range, &self.read(slot)));
                        *lock(&self.more[range]) += all.sum::<i64>();
                    }
                    self.wait();
                    more = self.sum();
                    outcome.stuck |= more != 0;
                }
                if member == 0 {
                    for slice in 0..cut.slices {
                        let mut own = lock(&self.own[block * cut.slices + slice]);
                        self.round.choosers.settle(board, &mut own, &self.read(slice).made, stay);
                    }
                }
                outcome.more += more;
                self.wait();
            }
            outcome
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Bits;
    use crate::filter::choice::tally::Tally;
    use alloc::vec;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Each key uses a bit once more, `times` times, and remembers whether that was allowed.
    struct Greedy {
        keys: usize,
        times: usize,
        stayed: AtomicUsize,
        went: AtomicUsize,
    }

    impl Choosers for Greedy {
        type Slice = ();
        type Move = usize;
        fn keys(&self) -> usize {
            self.keys
        }
        fn choose(&self, _: Board<'_>, keys: Range<usize>, (): &mut (), moves: &mut Moves<usize>) {
            for key in keys {
                (0..self.times).for_each(|_| moves.change(key as u64, true));
                moves.made.push(key);
            }
        }
        fn settle(&self, _: Board<'_>, (): &mut (), moves: &[usize], stay: bool) {
            (if stay { &self.stayed } else { &self.went }).fetch_add(moves.len(), Relaxed);
        }
    }

    fn greedy(keys: usize, times: usize, first: bool, threads: usize) -> (Outcome, u64, [usize; 2]) {
        let choosers = Greedy { keys, times, stayed: AtomicUsize::new(0), went: AtomicUsize::new(0) };
        let (mut bits, mut tally) = (Bits::new(100_000).unwrap(), Tally::new(100_000).unwrap());
        let mut outcome = Outcome::default();
        tally.lend(&mut bits, |board| {
            let mut own = vec![(); Cut::new(keys).slices()];
            outcome = round(&choosers, &mut own, board, 100_000, first, threads);
            outcome.more
        });
        assert_eq!(tally.ones(), bits.count_ones());
        (outcome, tally.ones(), [choosers.stayed.into_inner(), choosers.went.into_inner()])
    }

    #[test]
    fn what_a_block_makes_worse_is_taken_back_by_any_number_of_threads() {
        for threads in [1, 2, 5, 16] {
            for keys in [0, 1, 200, 50_000] {
                let (outcome, ones, settled) = greedy(keys, 1, false, threads);
                assert_eq!((outcome.more, outcome.stuck, ones, settled), (0, false, 0, [0, keys]));
                let (outcome, ones, settled) = greedy(keys, 1, true, threads);
                assert_eq!((outcome.more, ones, settled), (keys as i64, keys as u64, [keys, 0]));
            }
        }
    }

    #[test]
    fn counters_that_stick_are_told() {
        let (outcome, ones, settled) = greedy(1, 15, false, 1);
        assert_eq!((outcome.more, outcome.stuck, ones, settled), (1, true, 1, [0, 1]));
        assert!(!greedy(1, 14, false, 1).0.stuck);
    }

    #[test]
    fn slices_cover_all_keys_in_order() {
        for keys in [0, 1, 2, 127, 128, 129, 1_000, 32_767, 32_768, 100_003] {
            let cut = Cut::new(keys);
            let starts: Vec<usize> = (0..=cut.slices()).map(|number| cut.start(number)).collect();
            assert!(starts.is_sorted());
            assert_eq!((starts[0], starts[cut.slices()]), (0, keys));
            assert!(keys > 128 || cut.slices() == keys.max(1), "few keys go one by one");
        }
    }
}
