//! Changing words that several threads share: every atomic operation of the crate stands here.
//!
//! Relaxed order is enough for words. Bits and counters are independent of each other, and whoever
//! must *see* an insertion synchronises with the inserting thread anyhow (a join, a channel, a
//! lock). A block of several words is changed under a latch of its own, because one atomic exchange
//! costs less than an atomic `or` per word. The functions are generic over the atomics so that the
//! model checker `loom` can run them with its own under every interleaving.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU64, fence};

/// An atomic word.
pub(crate) trait Atom {
    /// Its value.
    fn load(&self) -> u64;
    /// Puts a value, whatever is there.
    fn store(&self, value: u64);
    /// Sets `bits`; the value before.
    fn fetch_or(&self, bits: u64) -> u64;
    /// Puts `new` where `old` is expected; the value found if that fails, which it may for no
    /// reason.
    fn exchange(&self, old: u64, new: u64) -> Result<(), u64>;
}

impl Atom for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        self.load(Relaxed)
    }
    #[inline(always)]
    fn store(&self, value: u64) {
        self.store(value, Relaxed);
    }
    #[inline(always)]
    fn fetch_or(&self, bits: u64) -> u64 {
        self.fetch_or(bits, Relaxed)
    }
    #[inline(always)]
    fn exchange(&self, old: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange_weak(old, new, Relaxed, Relaxed).map(|_| ())
    }
}

/// Sets `bits`; true if this call set one of them. Each bit is set by exactly one of several calls
/// at once.
#[inline(always)]
pub(crate) fn set(atom: &impl Atom, bits: u64) -> bool {
    atom.fetch_or(bits) & bits != bits
}

/// Replaces the word by what `change` makes of it, and gives what `change` says beside.
#[inline(always)]
pub(crate) fn update<R>(atom: &impl Atom, change: impl Fn(u64) -> (u64, R)) -> R {
    let mut seen = atom.load();
    loop {
        let (changed, result) = change(seen);
        match atom.exchange(seen, changed) {
            Ok(()) => return result,
            Err(now) => seen = now,
        }
    }
}

/// What lets one thread at a time into a block.
pub(crate) trait Latch {
    /// Closes the latch behind this thread; false if another is inside.
    fn close(&self) -> bool;
    /// Opens it again.
    fn open(&self);
    /// Waits a moment; `tries` counts how often it did.
    fn pause(tries: u32);
}

impl Latch for AtomicU8 {
    #[inline(always)]
    fn close(&self) -> bool {
        self.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }
    #[inline(always)]
    fn open(&self) {
        self.store(0, Release);
    }
    fn pause(tries: u32) {
        // Inside are a dozen instructions. Who is still there after that was put to sleep: let it run.
        #[cfg(feature = "std")]
        if tries > 100 {
            return std::thread::yield_now();
        }
        let _ = tries;
        core::hint::spin_loop();
    }
}

/// Sets the bits of `masks` in the words of a block; true if one of them was clear. Of several
/// calls at once with the same new bits exactly one returns true.
///
/// Bits that are all set are only read, so that threads which insert known keys do not wait for
/// each other.
#[inline(always)]
pub(crate) fn set_block<A: Atom, L: Latch, const N: usize>(
    block: &[A; N],
    latch: &L,
    masks: &[u64; N],
) -> bool {
    let pairs = || block.iter().zip(masks);
    if pairs().fold(0, |clear, (word, mask)| clear | mask & !word.load()) == 0 {
        return false;
    }
    let mut tries = 0;
    while !latch.close() {
        L::pause(tries);
        tries += 1;
    }
    let mut clear = 0;
    for (word, mask) in pairs() {
        let old = word.load();
        clear |= mask & !old;
        word.store(old | mask);
    }
    latch.open();
    clear != 0
}

/// A number that announces changes which no reader may straddle unawares.
pub(crate) trait Epoch: Atom {
    /// The number, before the first read.
    fn begin(&self) -> u64;
    /// Called after the last read: whether the number is still `seen`. If so, no read returned a
    /// value that was written after a later number was announced.
    fn is_still(&self, seen: u64) -> bool;
    /// Stores a new number: a thread that reads it sees everything written before.
    fn publish(&self, number: u64);
    /// The same before a change: a thread that reads anything written afterwards also finds that
    /// number or a later one.
    fn announce(&self, number: u64);
}

impl Epoch for AtomicU64 {
    #[inline(always)]
    fn begin(&self) -> u64 {
        self.load(Acquire)
    }
    #[inline(always)]
    fn is_still(&self, seen: u64) -> bool {
        fence(Acquire);
        self.load(Relaxed) == seen
    }
    fn publish(&self, number: u64) {
        self.store(number, Release);
    }
    fn announce(&self, number: u64) {
        self.store(number, Release);
        fence(Release);
    }
}

/// Whose turn it is: of two sets of bits, which share words as lanes 0 and 1, one is *active* and
/// takes new keys, the other is *passive* and holds the keys before. When the active one is full,
/// the passive one is cleared and they change places.
///
/// Readers look at both lanes and take no latch. A key that is refreshed (put into the active lane)
/// just before the passive lane is cleared could be missed by a reader that saw some words before
/// and some after, so a reader that finds nothing looks at the epoch: if a clearing began
/// meanwhile, it looks again. Writers of new keys take turns by a latch, inside which plain relaxed
/// stores do.
#[derive(Debug, Default)]
pub(crate) struct Turn<N = AtomicU64, L = AtomicU8> {
    /// Twice the number of changes; odd while the passive lane is being cleared.
    epoch: N,
    /// Keys in the active lane; changed inside the latch.
    count: N,
    latch: L,
}

/// What [`Turn`] is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lap {
    /// The active lane, 0 or 1.
    pub(crate) active: u32,
    /// Keys in it.
    pub(crate) count: u64,
}

/// The bits of a lane in a word.
#[inline(always)]
pub(crate) const fn lane_mask(lane: u32) -> u64 {
    (u64::MAX / 3) << lane
}

impl<N: Epoch, L: Latch> Turn<N, L> {
    /// What `look` finds in the lanes, bit 0 and bit 1: never neither for a key that was in one of
    /// them all the time, however the lanes change meanwhile.
    #[inline(always)]
    pub(crate) fn ask(&self, mut look: impl FnMut() -> u64) -> u64 {
        loop {
            let seen = self.epoch.begin();
            let lanes = look() & 3;
            if lanes != 0 || self.epoch.is_still(seen) {
                return lanes;
            }
        }
    }

    /// Puts the key at `places` (word and shift) into the active lane, after changing lanes if
    /// `capacity` keys are in that; true if it was in neither. A key that is in the active lane is
    /// only read.
    pub(crate) fn insert<A: Atom>(
        &self,
        words: &[A],
        capacity: u64,
        places: impl Iterator<Item = (usize, u32)> + Clone,
    ) -> bool {
        let look = || places.clone().fold(3, |lanes, (word, shift)| lanes & words[word].load() >> shift);
        // The lane that is active now is cleared only after `capacity` more keys. Should that happen while this
        // thread looks, it came before them, and its key would be forgotten by now in any case.
        let active = (self.epoch.begin() / 2) & 1;
        if look() >> active & 1 == 1 {
            return false;
        }
        self.inside(|mut lap| {
            let lanes = look();
            if lanes >> lap.active & 1 == 0 {
                if lap.count >= capacity {
                    lap = self.change(words, lap);
                }
                for (word, shift) in places.clone() {
                    words[word].store(words[word].load() | 1 << (shift + lap.active));
                }
                self.count.store(lap.count + 1);
            }
            lanes == 0
        })
    }

    /// Clears the passive lane, which is active from now on.
    fn change<A: Atom>(&self, words: &[A], lap: Lap) -> Lap {
        let epoch = self.epoch.begin();
        self.epoch.announce(epoch.wrapping_add(1));
        words.iter().for_each(|word| word.store(word.load() & lane_mask(lap.active)));
        self.epoch.publish(epoch.wrapping_add(2));
        Lap { active: 1 - lap.active, count: 0 }
    }

    /// Calls `work` while no other thread is inside.
    pub(crate) fn inside<R>(&self, work: impl FnOnce(Lap) -> R) -> R {
        let mut tries = 0;
        while !self.latch.close() {
            L::pause(tries);
            tries += 1;
        }
        let result = work(self.lap());
        self.latch.open();
        result
    }

    /// Whose turn it is, as one who is alone or inside the latch sees it.
    #[inline]
    pub(crate) fn lap(&self) -> Lap {
        Lap { active: ((self.epoch.load() / 2) & 1) as u32, count: self.count.load() }
    }
}

impl Turn {
    /// The turn of a filter that was stored.
    pub(crate) fn new(lap: Lap) -> Self {
        let (epoch, count) = (AtomicU64::new(2 * u64::from(lap.active)), AtomicU64::new(lap.count));
        Self { epoch, count, latch: AtomicU8::new(0) }
    }

    /// Sets whose turn it is, of one owner.
    #[inline]
    pub(crate) fn set(&mut self, lap: Lap) {
        *self.epoch.get_mut() = 2 * u64::from(lap.active);
        *self.count.get_mut() = lap.count;
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    //! Every interleaving of a few threads, by the model checker.
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Modelled;
    use std::vec::Vec;

    impl Atom for Modelled {
        fn load(&self) -> u64 {
            self.load(Relaxed)
        }
        fn store(&self, value: u64) {
            self.store(value, Relaxed);
        }
        fn fetch_or(&self, bits: u64) -> u64 {
            self.fetch_or(bits, Relaxed)
        }
        fn exchange(&self, old: u64, new: u64) -> Result<(), u64> {
            self.compare_exchange_weak(old, new, Relaxed, Relaxed).map(|_| ())
        }
    }

    /// Runs `work` of each thread on two shared words, in every order; hands the results and the
    /// final words to `check`.
    fn every_order(
        threads: usize,
        work: impl Fn(usize, &[Modelled; 2]) -> u64 + Send + Sync + Copy + 'static,
        check: impl Fn(Vec<u64>, [u64; 2]) + Send + Sync + 'static,
    ) {
        loom::model(move || {
            let words = Arc::new([Modelled::new(0), Modelled::new(0)]);
            let spawned: Vec<_> = (1..threads)
                .map(|thread| {
                    let words = words.clone();
                    loom::thread::spawn(move || work(thread, &words))
                })
                .collect();
            let mut results = std::vec![work(0, &words)];
            results.extend(spawned.into_iter().map(|thread| thread.join().unwrap()));
            check(results, [words[0].load(Relaxed), words[1].load(Relaxed)]);
        });
    }

    #[test]
    fn no_bit_is_lost_and_one_thread_is_told_that_a_key_is_new() {
        // Two threads insert one key (bits in both words), the third another that shares a bit with it.
        let key = |thread: usize| if thread < 2 { [0b011, 0b100] } else { [0b110, 0b001] };
        every_order(
            3,
            move |thread, words| {
                let bits = key(thread);
                u64::from(set(&words[0], bits[0]) | set(&words[1], bits[1]))
            },
            |new, words| {
                assert_eq!(words, [0b111, 0b101]);
                assert!(new[0] + new[1] >= 1, "no thread learned that a key was new");
                assert_eq!(new[2], 1, "the other key has a bit of its own");
            },
        );
    }

    impl Latch for loom::sync::atomic::AtomicU8 {
        fn close(&self) -> bool {
            self.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
        }
        fn open(&self) {
            self.store(0, Release);
        }
        fn pause(_: u32) {
            loom::thread::yield_now();
        }
    }

    #[test]
    fn a_block_loses_no_bit_and_one_thread_is_told_that_a_key_is_new() {
        // A thread and the main one insert the same key, which shares a word with one that is in.
        let mut model = loom::model::Builder::new();
        model.max_branches = 100_000; // waiting at a latch takes many
        model.check(|| {
            let shared =
                Arc::new(([Modelled::new(4), Modelled::new(0)], loom::sync::atomic::AtomicU8::new(0)));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || set_block(&other.0, &other.1, &[1, 2]));
            let here = set_block(&shared.0, &shared.1, &[1, 2]);
            let there = thread.join().unwrap();
            assert_eq!([shared.0[0].load(Relaxed), shared.0[1].load(Relaxed)], [5, 2]);
            assert_ne!(here, there, "exactly one learns that the key is new");
        });
        model.check(|| {
            let shared =
                Arc::new(([Modelled::new(0), Modelled::new(0)], loom::sync::atomic::AtomicU8::new(0)));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || set_block(&other.0, &other.1, &[1, 2]));
            assert!(set_block(&shared.0, &shared.1, &[6, 4]), "a key with bits of its own");
            assert!(thread.join().unwrap(), "another");
            assert_eq!([shared.0[0].load(Relaxed), shared.0[1].load(Relaxed)], [7, 6], "a bit was lost");
        });
    }

    impl Epoch for Modelled {
        fn begin(&self) -> u64 {
            self.load(Acquire)
        }
        fn is_still(&self, seen: u64) -> bool {
            loom::sync::atomic::fence(Acquire);
            self.load(Relaxed) == seen
        }
        fn publish(&self, number: u64) {
            self.store(number, Release);
        }
        fn announce(&self, number: u64) {
            self.store(number, Release);
            loom::sync::atomic::fence(Release);
        }
    }

    type ModelledTurn = Turn<Modelled, loom::sync::atomic::AtomicU8>;

    /// Two words and a turn, as `work` leaves them before the threads start.
    fn modelled(count: u64, words: [u64; 2]) -> Arc<([Modelled; 2], ModelledTurn)> {
        let latch = loom::sync::atomic::AtomicU8::new(0);
        let turn = Turn { epoch: Modelled::new(0), count: Modelled::new(count), latch };
        Arc::new((words.map(Modelled::new), turn))
    }

    /// Keys that have a position in both words.
    const ROSE: [(usize, u32); 2] = [(0, 0), (1, 0)];
    const TULIP: [(usize, u32); 2] = [(0, 2), (1, 2)];

    fn ask(turn: &ModelledTurn, words: &[Modelled; 2], key: [(usize, u32); 2]) -> bool {
        let look = || key.iter().fold(3, |lanes, (word, shift)| lanes & words[*word].load(Relaxed) >> shift);
        turn.ask(look) != 0
    }

    fn check_every_order(model: impl Fn() + Send + Sync + 'static) {
        let mut every = loom::model::Builder::new();
        every.max_branches = 100_000; // waiting at a latch takes many
        every.check(model);
    }

    #[test]
    fn a_key_of_the_window_is_seen_through_every_change() {
        // The window is of two keys. The rose is in the passive lane 1, another key in the active one. While it
        // is refreshed, and its old place is cleared for the tulip, a reader must see it at every moment.
        check_every_order(|| {
            let shared = modelled(1, [0b10, 0b10]);
            let other = shared.clone();
            // The writer is the main thread, which loom runs first: it looks for other orders only where a
            // thread *reads* what another wrote before.
            let reader = loom::thread::spawn(move || ask(&other.1, &other.0, ROSE));
            let (words, turn) = &*shared;
            assert!(!turn.insert(words, 2, ROSE.into_iter()), "the rose is in");
            assert!(turn.insert(words, 2, TULIP.into_iter()), "the tulip is new");
            assert!(reader.join().unwrap(), "a key of the window was missed");
            assert!(ask(turn, words, ROSE) && ask(turn, words, TULIP));
            assert_eq!(turn.lap(), Lap { active: 1, count: 1 });
        });
    }

    #[test]
    fn writers_change_lanes_once_and_one_of_them_is_told_that_a_key_is_new() {
        // The active lane is full and the rose is in it; both threads refresh or add what the other does, too.
        check_every_order(|| {
            let shared = modelled(1, [0b0001, 0b0001]);
            let other = shared.clone();
            let writer = loom::thread::spawn(move || {
                let (words, turn) = &*other;
                turn.insert(words, 1, TULIP.into_iter())
            });
            let (words, turn) = &*shared;
            let rose = turn.insert(words, 1, ROSE.into_iter());
            let tulip = turn.insert(words, 1, TULIP.into_iter());
            assert!(!rose, "the rose is in one of the lanes all the time");
            assert!(writer.join().unwrap() != tulip, "exactly one learns that the tulip is new");
            assert!(ask(turn, words, TULIP) && ask(turn, words, ROSE));
            assert_eq!(turn.lap().count, 1);
        });
        // The rose is in the passive lane, which is cleared while it is added again.
        check_every_order(|| {
            let shared = modelled(1, [0b10, 0b10]);
            let other = shared.clone();
            let writer = loom::thread::spawn(move || other.1.insert(&other.0, 1, ROSE.into_iter()));
            let (words, turn) = &*shared;
            assert!(turn.insert(words, 1, TULIP.into_iter()));
            writer.join().unwrap();
            assert!(ask(turn, words, TULIP) && ask(turn, words, ROSE), "what was cleared passed for known");
        });
    }

    #[test]
    fn counters_count_every_change_and_neighbours_stay() {
        // Three-bit counters at shifts 0 and 3 of one word; each thread raises its own and the common one.
        every_order(
            2,
            |thread, words| {
                let raise = |shift: u32| update(&words[0], |word| (word + (1 << shift), word >> shift & 7));
                raise(3 * (1 + thread as u32));
                raise(0)
            },
            |seen, words| {
                assert_eq!(words[0], 0b001_001_010);
                assert_eq!(seen[0] + seen[1], 1, "one saw 0 before its change, the other 1");
            },
        );
    }
}
