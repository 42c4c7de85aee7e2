//! How far batches look ahead, and from which size of table on: the numbers of the whole family.
//!
//! A batch asks for the cache lines of a key some keys before it visits them. Too few keys ahead,
//! and it still waits for memory; too many, and lines are gone again before they are used. The more
//! lines a key has, the fewer keys ahead suffice. In a table that the core's own cache holds,
//! asking costs more than it hides. Times of whole filters below are of
//! `gardenia bench --calibrate --items 6e5,1.5e6`, built with either limit.
//!
//! Measured by `cargo test --release -p gardenia --lib ahead -- --ignored --nocapture` (AMD EPYC, 1
//! MiB of second-level cache, ns per key, nothing asked for and 8, 16, 32 and 64 keys ahead):
//!
//! | lines per key | table | nothing | 8 | 16 | 32 | 64 |
//! |---|---|---|---|---|---|---|
//! | 1 | 512 KiB | 1.2 | 1.5 | 1.4 | 1.3 | 1.4 |
//! | 1 | 4 MiB | 1.8 | 1.8 | 1.5 | 1.5 | 1.7 |
//! | 1 | 16 MiB | 9.8 | 8.7 | 6.6 | 4.2 | 3.5 |
//! | 3 | 512 KiB | 4.5 | 6.9 | 6.6 | 7.1 | 7.2 |
//! | 3 | 8 MiB | 7.6 | 7.6 | 7.3 | 7.5 | 7.7 |
//! | 3 | 64 MiB | 48 | 28 | 28 | 31 | 29 |
//! | 7 | 512 KiB | 10 | 18 | 17 | 18 | 19 |
//! | 7 | 8 MiB | 18 | 19 | 18 | 19 | 20 |
//! | 7 | 64 MiB | 115 | 70 | 74 | 76 | 74 |

/// Keys ahead where a key has one line, as in a blocked filter.
pub(crate) const ONE_LINE: usize = 64;
/// Keys ahead where a key has one or two, as in a cuckoo filter.
pub(crate) const TWO_LINES: usize = 32;
/// Keys ahead where a key has more.
pub(crate) const LINES: usize = 16;
/// Keys ahead where a key has several groups of lines, as in a filter with choices while it is
/// built.
pub(crate) const GROUPS: usize = 8;

/// Bits or cells of a key that are read before the first branch: at the usual fill of one half,
/// three leave an eighth of the absent keys, and for present keys the branch is always right.
/// Reckoned, as the next number is, and not measured.
pub(crate) const FIRST: usize = 3;
/// The same where a test lets more absent keys pass, or costs less: two buffers, of which either
/// may hold a key, and the bits of a fingerprint, which are one line each.
pub(crate) const FIRST_OF_MORE: usize = 4;

/// Whether the lines of a table of this many words are asked for ahead: above 2 MiB.
#[inline]
pub(crate) const fn is_far(words: usize) -> bool {
    words > (2 << 20) / 8
}

/// The same where a probe is so short that the processor overlaps those of several keys by itself:
/// above 4 MiB.
///
/// A query of a binary fuse filter of 2.1 MB takes 3.4 ns, and 6.1 if its lines are asked for.
#[inline]
pub(crate) const fn is_far_if_short(words: usize) -> bool {
    words > (4 << 20) / 8
}

/// The same where the lines of a key are found at little cost: above 1 MiB.
///
/// A query of a blocked filter of 1.9 MB takes 2.4 ns with asking and 2.6 without, and one of a
/// Bloomier filter of 1.6 MB 19 and 21 ns.
#[inline]
pub(crate) const fn is_far_if_cheap(words: usize) -> bool {
    words > (1 << 20) / 8
}

/// The same where positions are known beforehand, so that asking takes one instruction per line:
/// above 256 KiB.
#[inline]
pub(crate) const fn is_far_if_known(words: usize) -> bool {
    words > (256 << 10) / 8
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use crate::hash::Digest;
    use crate::index::scale;
    use crate::simd::{Given, Source, prefetch};
    use std::time::Instant;

    const KEYS: usize = 1 << 16;

    /// Nanoseconds per key of a table of `words`, the least of `runs`; nothing is asked for ahead
    /// if `far` is false.
    fn time<const AHEAD: usize>(words: &[u64], lines: u32, far: bool, runs: usize) -> f64 {
        let at = |digest: Digest, line: u32| scale(digest.word(line), words.len() as u64) as usize;
        let run = |seed: usize| {
            let digests: Vec<Digest> =
                (0..KEYS).map(|key| Digest(Digest((seed * KEYS + key) as u64).word(99))).collect();
            let (mut found, start) = (0u64, Instant::now());
            let fetch = |digest| (0..lines).for_each(|line| prefetch(words, at(digest, line)));
            let ask = |digest: Digest| (0..lines).fold(1, |all, line| all & words[at(digest, line)]) != 0;
            Given(&digests).each::<AHEAD>(far, fetch, ask, &mut found);
            assert_eq!(found, KEYS as u64);
            start.elapsed().as_nanos() as f64 / KEYS as f64
        };
        (0..runs).map(run).fold(f64::INFINITY, f64::min)
    }

    #[test]
    #[ignore = "a measurement, which prints a table"]
    fn ahead() {
        for lines in [1, 3, 7] {
            println!("\n{lines} lines per key, ns per key\n     KiB   plain  8 ahead    16     32     64");
            for bits in 17..=28 {
                // Ones: pages of zeros that nobody wrote would all be the same page.
                let words = vec![1u64; (1 << bits) / 8];
                print!("{:8} {:7.2} ", (1 << bits) / 1024, time::<16>(&words, lines, false, 30));
                let ahead = [
                    time::<8>(&words, lines, true, 30),
                    time::<16>(&words, lines, true, 30),
                    time::<32>(&words, lines, true, 30),
                    time::<64>(&words, lines, true, 30),
                ];
                ahead.iter().for_each(|nanos| print!(" {nanos:6.2}"));
                println!();
            }
        }
    }
}
