//! Changing words that several threads share: every atomic operation of the crate stands here.
//!
//! Relaxed order is enough for words. Bits and counters are independent of each other, and whoever must *see* an
//! insertion synchronises with the inserting thread anyhow (a join, a channel, a lock). A block of several words
//! is changed under a latch of its own, because one atomic exchange costs less than an atomic `or` per word.
//! The functions are generic over the atomics so that the model checker `loom` can run them with its own under
//! every interleaving.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU64};

/// An atomic word.
pub(crate) trait Atom {
    /// Its value.
    fn load(&self) -> u64;
    /// Puts a value, whatever is there.
    fn store(&self, value: u64);
    /// Sets `bits`; the value before.
    fn fetch_or(&self, bits: u64) -> u64;
    /// Puts `new` where `old` is expected; the value found if that fails, which it may for no reason.
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

/// Sets `bits`; true if this call set one of them. Each bit is set by exactly one of several calls at once.
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

/// Sets the bits of `masks` in the words of a block; true if one of them was clear. Of several calls at once
/// with the same new bits exactly one is told so.
///
/// Bits that are all set are only read, so that threads which insert known keys do not wait for each other.
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

    /// Runs `work` of each thread on two shared words, in every order; hands the results and the final words
    /// to `check`.
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
                assert!(new[0] + new[1] >= 1, "a new key was told to nobody");
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
            assert_ne!(here, there, "exactly one is told that the key is new");
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
