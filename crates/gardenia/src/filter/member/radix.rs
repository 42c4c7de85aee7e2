//! Insertion of a whole set at once: keys are sorted into ranges of blocks first, then each range
//! is filled while it lies in the cache, by one thread.
//!
//! Random insertion into a table larger than the cache waits for a line per key, however far ahead
//! it is fetched, and writes it back later. Sorting costs two passes over the digests that run at
//! the speed of sequential memory. Ranges belong to one thread each, so that no atomics are needed,
//! and within a range keys keep their order: bits and the count of new keys are those of one-by-one
//! insertion.

use crate::hash::{Digest, Key, KeyHasher};
use crate::simd::{self, Given, Pattern};
use alloc::vec::Vec;

/// Tables up to this many bytes are near enough that sorting costs more than it saves (measured at
/// 10⁷ keys, 12 MiB: twice the time of plain batches; at 10⁸ keys, 118 MiB: two thirds of it).
pub(super) const WORTH: usize = 32 << 20;

/// Keys per round: enough that each range gets several keys per line, so that a line is fetched
/// once for all of them. Their digests take 64 MiB.
const ROUND: usize = 1 << 23;

/// Keys hashed at a time.
const CHUNK: usize = 4096;

/// Blocks per range: 2^13 lines are 512 KiB, half a second-level cache.
const RANGE_SHIFT: u32 = 13;

/// The digests of one thread's keys, by range. Kept from round to round, because fresh memory costs
/// more than the sorting.
struct Sorted {
    ranges: Vec<Vec<Digest>>,
}

impl Sorted {
    fn sort<K: Key>(&mut self, hasher: &KeyHasher, keys: &[K], pattern: Pattern) {
        self.ranges.iter_mut().for_each(Vec::clear);
        let mut digests = [Digest(0); CHUNK];
        for keys in keys.chunks(CHUNK) {
            simd::digest_slice(pattern.level(), hasher, keys, &mut digests);
            for digest in &digests[..keys.len()] {
                self.ranges[pattern.block(*digest) >> RANGE_SHIFT].push(*digest);
            }
        }
    }
}

/// Inserts all keys into `words` with up to `threads` threads; how many were certainly new.
pub(super) fn insert<K: Key + Sync>(
    hasher: &KeyHasher,
    pattern: Pattern,
    words: &mut [u64],
    keys: &[K],
    threads: usize,
) -> u64 {
    let range_words = 8usize << RANGE_SHIFT;
    let ranges = words.len().div_ceil(range_words);
    let threads = threads.clamp(1, ranges.min(64));
    let mut count = 0;
    let mut sorted: Vec<Sorted> =
        (0..threads).map(|_| Sorted { ranges: alloc::vec![Vec::new(); ranges] }).collect();
    for keys in keys.chunks(ROUND) {
        // Threads without keys in a short last round sort none.
        let each = keys.len().div_ceil(threads);
        let mut parts = keys.chunks(each);
        let work: Vec<(&mut Sorted, &[K])> =
            sorted.iter_mut().map(|sorted| (sorted, parts.next().unwrap_or_default())).collect();
        in_threads(work.into_iter(), |(sorted, keys)| sorted.sort(hasher, keys, pattern));
        // Neighbouring ranges to each thread: a run of words that nobody else touches.
        let per_thread = ranges.div_ceil(threads);
        let areas = words.chunks_mut(per_thread * range_words).enumerate();
        count += in_threads(areas, |(thread, area): (usize, &mut [u64])| {
            let mut new = 0u64;
            for (i, words) in area.chunks_mut(range_words).enumerate() {
                let range = thread * per_thread + i;
                let part = pattern.part(range << RANGE_SHIFT, words.len() / 8);
                for sorted in &sorted {
                    simd::insert(part, words, true, Given(&sorted.ranges[range]), &mut new);
                }
            }
            new
        })
        .into_iter()
        .sum::<u64>();
    }
    count
}

/// Does `work` on each part, in threads when there are several; results in the order of the parts.
pub(in crate::filter) fn in_threads<P: Send, R: Send>(
    parts: impl ExactSizeIterator<Item = P>,
    work: impl Fn(P) -> R + Sync,
) -> Vec<R> {
    if parts.len() <= 1 {
        return parts.map(work).collect();
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, R>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    })
}

#[test]
fn a_crowded_table_gets_the_bits_and_the_count_of_insertion_in_order() {
    // Three ranges and a bit, so full that a key's novelty depends on what came before it.
    let keys: Vec<u64> = (1..=2_000_000).map(|i| Digest(7).word(i)).collect();
    let (hasher, pattern) = (KeyHasher::default(), Pattern::new((3 << RANGE_SHIFT) + 5, 6));
    let mut expected = alloc::vec![0u64; pattern.here() * 8];
    let mut count = 0;
    simd::insert(
        pattern,
        &mut expected,
        false,
        simd::Keys { hasher: hasher.clone(), keys: &keys },
        &mut count,
    );
    assert!(count < 1_990_000, "the table must be crowded");
    for threads in [1, 2, 3] {
        let mut words = alloc::vec![0u64; pattern.here() * 8];
        assert_eq!(insert(&hasher, pattern, &mut words, &keys, threads), count, "{threads} threads");
        assert!(words == expected, "{threads} threads");
    }
}
