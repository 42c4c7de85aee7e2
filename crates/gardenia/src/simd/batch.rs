//! Batches: digests come in chunks, their memory is asked for a chunk ahead, and they are visited in order.
//!
//! One helper for the whole family. Everything is inlined always, so that it takes on the instructions of the
//! loop it stands in: a chunk of integers is then hashed in vector registers.

use crate::hash::{Digest, Key, KeyHasher};

/// Keys per chunk: enough to hide a wait for memory, few enough that fetched lines are still there.
pub(crate) const CHUNK: usize = 64;

/// Where the digests of a batch come from.
pub(crate) trait Source {
    /// Puts the next digests into `chunk`; how many, fewer than a chunk only at the end.
    fn fill(&mut self, chunk: &mut [Digest; CHUNK]) -> usize;
}

/// Keys that are still to be hashed.
pub(crate) struct Keys<'a, K> {
    pub(crate) hasher: KeyHasher,
    pub(crate) keys: &'a [K],
}

impl<K: Key> Source for Keys<'_, K> {
    #[inline(always)]
    fn fill(&mut self, chunk: &mut [Digest; CHUNK]) -> usize {
        match self.keys.split_first_chunk::<CHUNK>() {
            // A constant length, for the sake of the vectors.
            Some((keys, rest)) => {
                self.hasher.digest_all(keys, chunk);
                self.keys = rest;
                CHUNK
            }
            None => {
                self.hasher.digest_all(self.keys, chunk);
                core::mem::take(&mut self.keys).len()
            }
        }
    }
}

/// Digests that are there already.
pub(crate) struct Given<'a>(pub(crate) &'a [Digest]);

impl Source for Given<'_> {
    #[inline(always)]
    fn fill(&mut self, chunk: &mut [Digest; CHUNK]) -> usize {
        let (now, later) = self.0.split_at(self.0.len().min(CHUNK));
        chunk[..now.len()].copy_from_slice(now);
        self.0 = later;
        now.len()
    }
}

/// Digests from any iterator.
pub(crate) struct Drawn<I>(pub(crate) I);

impl<I: Iterator<Item = Digest>> Source for Drawn<I> {
    #[inline(always)]
    fn fill(&mut self, chunk: &mut [Digest; CHUNK]) -> usize {
        let mut filled = 0;
        for (place, digest) in chunk.iter_mut().zip(&mut self.0) {
            *place = digest;
            filled += 1;
        }
        filled
    }
}

/// Hands the digests of `source` to `visit` in order; if the table is `far`, `fetch` is asked for each a chunk
/// earlier. Fetching and visiting alternate, so that memory is never idle.
#[inline(always)]
pub(crate) fn in_chunks(
    mut source: impl Source,
    far: bool,
    fetch: impl Fn(Digest),
    mut visit: impl FnMut(Digest),
) {
    let (mut now, mut next) = ([Digest(0); CHUNK], [Digest(0); CHUNK]);
    let mut count = source.fill(&mut now);
    if !far {
        while count > 0 {
            now[..count].iter().for_each(|digest| visit(*digest));
            count = source.fill(&mut now);
        }
        return;
    }
    now[..count].iter().for_each(|digest| fetch(*digest));
    while count == CHUNK {
        count = source.fill(&mut next);
        for (digest, next) in now.iter().zip(&next) {
            // Behind the end `next` holds digests of an earlier chunk: a line too many is asked for.
            fetch(*next);
            visit(*digest);
        }
        (now, next) = (next, now);
    }
    now[..count].iter().for_each(|digest| visit(*digest));
}
