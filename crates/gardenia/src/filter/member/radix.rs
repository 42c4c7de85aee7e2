//! Insertion of a whole set at once: keys are sorted into ranges of blocks first, then each range is filled
//! while it lies in the cache, by one thread.
//!
//! Random insertion into a table larger than the cache waits for a line per key, however far ahead it is
//! fetched, and writes it back later. Sorting costs two passes over the digests that run at the speed of
//! sequential memory. Ranges belong to one thread each, so that no atomics are needed, and within a range
//! keys keep their order: bits and the count of new keys are those of one-by-one insertion.

use crate::hash::{Digest, Key, KeyHasher};
use crate::simd::{self, Given, Pattern};
use alloc::vec::Vec;

/// Keys per thread and round: their digests, twice, stay within the last-level cache.
const ROUND: usize = 1 << 20;

/// Blocks per range: 2^13 lines are 512 KiB, half a second-level cache.
const RANGE_SHIFT: u32 = 13;

/// The digests of one thread's keys, sorted by range. Kept from round to round, because fresh memory costs
/// more than the sorting.
#[derive(Default)]
struct Sorted {
    hashed: Vec<Digest>,
    digests: Vec<Digest>,
    /// Where each range begins in `digests`; one more at the end.
    starts: Vec<usize>,
    /// Where the next digest of each range goes.
    next: Vec<usize>,
}

impl Sorted {
    fn sort<K: Key>(&mut self, hasher: &KeyHasher, keys: &[K], pattern: Pattern, ranges: usize) {
        self.hashed.resize(keys.len(), Digest(0));
        self.digests.resize(keys.len(), Digest(0));
        simd::digest_slice(pattern, hasher, keys, &mut self.hashed);
        let range = |digest: &Digest| pattern.block(*digest) >> RANGE_SHIFT;
        self.starts.clear();
        self.starts.resize(ranges + 1, 0);
        self.hashed.iter().for_each(|digest| self.starts[range(digest) + 1] += 1);
        for at in 1..=ranges {
            self.starts[at] += self.starts[at - 1];
        }
        self.next.clone_from(&self.starts);
        for digest in &self.hashed {
            let place = &mut self.next[range(digest)];
            self.digests[*place] = *digest;
            *place += 1;
        }
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
    let mut sorted: Vec<Sorted> = (0..threads).map(|_| Sorted::default()).collect();
    for keys in keys.chunks(ROUND * threads) {
        // Threads without keys in a short last round sort none.
        let each = keys.len().div_ceil(threads);
        let mut parts = keys.chunks(each);
        let work: Vec<(&mut Sorted, &[K])> =
            sorted.iter_mut().map(|sorted| (sorted, parts.next().unwrap_or_default())).collect();
        in_threads(work.into_iter(), |(sorted, keys)| sorted.sort(hasher, keys, pattern, ranges));
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
                    simd::insert(part, words, false, digests, &mut new);
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
