//! Insertion of a whole set at once: keys are sorted into ranges of blocks first, then each range is filled
//! while it lies in the cache, by one thread.
//!
//! Random insertion into a table larger than the cache waits for a line per key, however far ahead it is
//! fetched, and writes it back later. Sorting costs two passes over the digests that run at the speed of
//! sequential memory. Ranges belong to one thread each, so that no atomics are needed, and within a range
//! keys keep their order: bits and the count of new keys are those of one-by-one insertion.

use crate::hash::{Digest, Key, KeyHasher};
use crate::simd::{self, Given, Pattern};
use alloc::vec;
use alloc::vec::Vec;

/// Keys per thread and round: their digests, twice, stay within the last-level cache.
const ROUND: usize = 1 << 20;

/// Blocks per range: 2^13 lines are 512 KiB, half a second-level cache.
const RANGE_SHIFT: u32 = 13;

/// The digests of one thread's keys, sorted by range.
struct Sorted {
    digests: Vec<Digest>,
    /// Where each range begins in `digests`; one more at the end.
    starts: Vec<usize>,
}

impl Sorted {
    fn new<K: Key>(hasher: &KeyHasher, keys: &[K], pattern: Pattern, ranges: usize) -> Self {
        let mut hashed = vec![Digest(0); keys.len()];
        simd::digest_slice(pattern, hasher, keys, &mut hashed);
        let range = |digest: &Digest| pattern.block(*digest) >> RANGE_SHIFT;
        let mut starts = vec![0; ranges + 1];
        hashed.iter().for_each(|digest| starts[range(digest) + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut digests = vec![Digest(0); keys.len()];
        for digest in hashed {
            let place = &mut next[range(&digest)];
            digests[*place] = digest;
            *place += 1;
        }
        Self { digests, starts }
    }

    fn range(&self, range: usize) -> &[Digest] {
        &self.digests[self.starts[range]..self.starts[range + 1]]
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
    for keys in keys.chunks(ROUND * threads) {
        let parts = keys.chunks(keys.len().div_ceil(threads));
        let sort = |keys: &[K]| Sorted::new(hasher, keys, pattern, ranges);
        let sorted: Vec<Sorted> = in_threads(parts, sort);
        // Neighbouring ranges to each thread: a run of words that nobody else touches.
        let per_thread = ranges.div_ceil(threads);
        let areas = words.chunks_mut(per_thread * range_words).enumerate();
        count += in_threads(areas, |(thread, area): (usize, &mut [u64])| {
            let mut new = 0u64;
            for (i, words) in area.chunks_mut(range_words).enumerate() {
                let range = thread * per_thread + i;
                let part = pattern.part(range << RANGE_SHIFT, words.len() / 8);
                for sorted in &sorted {
                    let digests = Given(sorted.range(range));
                    simd::insert(part, words, false, digests, |is_new| new += u64::from(is_new));
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
pub(super) fn in_threads<P: Send, R: Send>(
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
