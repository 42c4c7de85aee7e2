//! Changing words that several threads share: every atomic operation of the crate stands here.
//!
//! Relaxed order is enough throughout. Bits and counters are independent of each other, an operation touches
//! one word, and whoever must *see* an insertion synchronises with the inserting thread anyhow (a join, a
//! channel, a lock). The functions are generic over the atomic word so that the model checker `loom` can run
//! them with its own under every interleaving.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// An atomic word.
pub(crate) trait Atom {
    /// Its value.
    fn load(&self) -> u64;
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
