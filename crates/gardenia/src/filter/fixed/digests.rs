//! The digests of a static set: made from keys, without duplicates, and tried with numbered seeds.

use crate::hash::{Digest, Key, KeyHasher};
use crate::simd::{self, Source};
use crate::{BuildError, SizeError};
use alloc::vec::Vec;
use core::ops::Range;

/// Seeds that are tried before building is given up. A static structure fails to build once in a
/// few attempts at most, so that a hundred in a row do not fail by chance.
pub(crate) const MAX_ATTEMPTS: u32 = 100;

/// Fewer items than this are not worth a thread.
const WORTH_A_THREAD: usize = 1 << 14;

/// A set of digests, or a map from digests to values.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'a> {
    pub(crate) digests: &'a [Digest],
    /// As many as digests, or none.
    pub(crate) values: &'a [u32],
}

impl<'a> Entries<'a> {
    /// A set.
    pub(crate) fn set(digests: &'a [Digest]) -> Self {
        Self { digests, values: &[] }
    }

    pub(crate) fn len(&self) -> usize {
        self.digests.len()
    }
}

/// Where keys of W words come from: their digests, and their values if W is 2.
pub(crate) trait Keys<const W: usize>: Sync {
    fn len(&self) -> usize;

    /// Hands some of them over, in order.
    fn each(&self, range: Range<usize>, ask: impl FnMut([u64; W]));
}

impl Keys<1> for Entries<'_> {
    fn len(&self) -> usize {
        self.digests.len()
    }

    fn each(&self, range: Range<usize>, mut ask: impl FnMut([u64; 1])) {
        self.digests[range].iter().for_each(|digest| ask([digest.0]));
    }
}

impl Keys<2> for Entries<'_> {
    fn len(&self) -> usize {
        self.digests.len()
    }

    fn each(&self, range: Range<usize>, mut ask: impl FnMut([u64; 2])) {
        let pairs = self.digests[range.clone()].iter().zip(&self.values[range]);
        pairs.for_each(|(digest, value)| ask([digest.0, (*value).into()]));
    }
}

/// Keys that are hashed as they are handed over, so that nobody waits for memory to keep their
/// digests in.
pub(crate) struct Hashing<'a, K> {
    pub(crate) hasher: KeyHasher,
    pub(crate) keys: &'a [K],
}

impl<K: Key + Sync> Keys<1> for Hashing<'_, K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn each(&self, range: Range<usize>, mut ask: impl FnMut([u64; 1])) {
        let keys = simd::Keys { hasher: self.hasher.clone(), keys: &self.keys[range] };
        keys.chunks(|digests| digests.iter().for_each(|digest| ask([digest.0])));
    }
}

/// The digests of keys in order, by up to `threads` threads.
pub(crate) fn digests_of<K: Key + Sync>(
    hasher: &KeyHasher,
    keys: &[K],
    threads: usize,
) -> Result<Vec<Digest>, SizeError> {
    let mut digests = reserved(keys.len())?;
    digests.resize(keys.len(), Digest(0));
    let each = part_len(keys.len(), threads);
    let parts: Vec<_> = keys.chunks(each).zip(digests.chunks_mut(each)).collect();
    in_threads(parts, |(keys, digests)| crate::simd::digest_keys(hasher, keys, digests));
    Ok(digests)
}

/// Tries attempts 0, 1, … until one makes a `T` of the different digests. `attempt` is given these
/// and returns `None` if it fails.
///
/// Duplicates are looked for when the first attempt fails, and only then: an attempt on a set with
/// duplicates must fail. The result is that of the set without them.
pub(crate) fn try_seeds<T>(
    entries: Entries<'_>,
    mut attempt: impl FnMut(Entries<'_>, u32) -> Result<Option<T>, SizeError>,
) -> Result<T, BuildError> {
    match attempt(entries, 0)? {
        Some(done) => Ok(done),
        None => try_on(entries, attempt),
    }
}

/// [`try_seeds`] when attempt 0 has failed.
pub(crate) fn try_on<T>(
    entries: Entries<'_>,
    mut attempt: impl FnMut(Entries<'_>, u32) -> Result<Option<T>, SizeError>,
) -> Result<T, BuildError> {
    let distinct = Distinct::of(entries)?;
    let (entries, first) = match &distinct {
        Some(distinct) => (distinct.entries(), 0),
        None => (entries, 1),
    };
    for number in first..MAX_ATTEMPTS {
        if let Some(done) = attempt(entries, number)? {
            return Ok(done);
        }
    }
    Err(BuildError::Attempts { attempts: MAX_ATTEMPTS })
}

/// Entries without duplicates.
struct Distinct {
    digests: Vec<Digest>,
    values: Vec<u32>,
}

impl Distinct {
    /// The entries without duplicates; `None` if there were none.
    fn of(entries: Entries<'_>) -> Result<Option<Self>, BuildError> {
        let (digests, values) = if entries.values.is_empty() {
            let mut digests = reserved(entries.len())?;
            digests.extend_from_slice(entries.digests);
            digests.sort_unstable();
            digests.dedup();
            (digests, Vec::new())
        } else {
            let mut pairs: Vec<(Digest, u32)> = reserved(entries.len())?;
            pairs.extend(entries.digests.iter().copied().zip(entries.values.iter().copied()));
            pairs.sort_unstable();
            pairs.dedup();
            if let Some(pair) = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(BuildError::TwoValues { first: pair[0].1, second: pair[1].1 });
            }
            pairs.into_iter().unzip()
        };
        Ok((digests.len() < entries.len()).then_some(Self { digests, values }))
    }

    fn entries(&self) -> Entries<'_> {
        Entries { digests: &self.digests, values: &self.values }
    }
}

/// An empty vector with room, or an error.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>, SizeError> {
    let mut room = Vec::new();
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    room.try_reserve_exact(len).map_err(|_| SizeError::Memory { bytes })?;
    Ok(room)
}

/// How many items each of at most `threads` parts has, at least 1.
pub(crate) fn part_len(len: usize, threads: usize) -> usize {
    len.div_ceil(threads.clamp(1, 1024)).max(WORTH_A_THREAD)
}

/// Does `work` on each part, in threads if there are several; results in the order of the parts.
#[cfg(feature = "std")]
pub(crate) fn in_threads<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    crate::filter::member::radix::in_threads(parts.into_iter(), work)
}

/// Does `work` on each part; without the standard library there are no threads.
#[cfg(not(feature = "std"))]
pub(crate) fn in_threads<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    parts.into_iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const SIX: [Digest; 6] = [Digest(9), Digest(3), Digest(9), Digest(1), Digest(3), Digest(9)];

    #[test]
    fn attempts_are_numbered_and_end() {
        let mut tried = Vec::new();
        let set = [Digest(1), Digest(2)];
        let failed: Result<(), _> = try_seeds(Entries::set(&set), |entries, attempt| {
            tried.push((attempt, entries.len()));
            Ok(None)
        });
        assert_eq!(failed, Err(BuildError::Attempts { attempts: MAX_ATTEMPTS }));
        assert_eq!(tried, (0..MAX_ATTEMPTS).map(|attempt| (attempt, 2)).collect::<Vec<_>>());
    }

    #[test]
    fn duplicates_are_removed_when_an_attempt_fails_and_its_number_is_tried_again() {
        let mut tried = Vec::new();
        let found = try_seeds(Entries::set(&SIX), |entries, attempt| {
            tried.push((attempt, entries.len()));
            Ok((attempt == 2).then(|| entries.digests.to_vec()))
        });
        assert_eq!(found, Ok(vec![Digest(1), Digest(3), Digest(9)]));
        assert_eq!(tried, [(0, 6), (0, 3), (1, 3), (2, 3)]);
    }

    #[test]
    fn a_key_may_come_again_with_its_value_but_not_with_another() {
        let build = |values: &[u32]| {
            try_seeds(Entries { digests: &SIX, values }, |entries, _| {
                Ok((entries.len() == 3).then(|| entries.values.to_vec()))
            })
        };
        assert_eq!(build(&[7, 5, 7, 4, 5, 7]), Ok(vec![4, 5, 7]));
        assert_eq!(build(&[7, 5, 7, 4, 6, 7]), Err(BuildError::TwoValues { first: 5, second: 6 }));
    }

    #[test]
    fn digests_do_not_depend_on_threads() {
        let keys: Vec<u32> = (0..50_000).collect();
        let hasher = KeyHasher::default();
        let expected: Vec<Digest> = keys.iter().map(|key| hasher.digest_key(key)).collect();
        for threads in [0, 1, 2, 5, usize::MAX] {
            assert_eq!(digests_of(&hasher, &keys, threads).as_ref(), Ok(&expected));
        }
    }
}
