//! Batches: digests are made many at a time, their memory is asked for ahead, and they are visited
//! in order.
//!
//! One helper for the whole family. Everything is inlined always, so that it takes on the
//! instructions of the loop it stands in: integers are then hashed in vector registers.

use super::level::{Level, digest_slice};
use super::prefetch;
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::rows;
use alloc::vec;
use alloc::vec::Vec;

/// Keys that are hashed before the first of them is visited. Many, because stored digests hold up
/// the probes behind them: a probe whose address ends like that of a waiting store waits with it,
/// and the store waits for all probes before it. Hashing 64 at a time made a batch from the
/// last-level cache twice as long, and so did a ring of groups of eight.
const CHUNK: usize = 4096;

/// The same for tables near the core: as many as leave room beside them in its first cache.
const NEAR_CHUNK: usize = 1024;

/// Digests drawn from an iterator at a time.
const DRAWN: usize = 256;

/// Where the digests of a batch come from, and the loop that suits it.
pub(crate) trait Source {
    /// Hands the digests to `ask` in order and its answers to `sink`; if the table is `far`,
    /// `fetch` is asked for each `AHEAD` keys earlier: enough to hide a wait for memory, few enough
    /// that fetched lines are still there. Fetching and asking alternate, so that memory is never
    /// idle.
    fn each<const AHEAD: usize>(
        self,
        far: bool,
        fetch: impl Fn(Digest),
        ask: impl FnMut(Digest) -> bool,
        sink: &mut impl Sink,
    );

    /// Hands the digests to `work` in order, at most [`CHUNK`](crate::index::rows::CHUNK) at a
    /// time: for loops that compute the positions of many keys before the first is visited.
    fn chunks(self, work: impl FnMut(&[Digest]));
}

/// Keys that are still to be hashed.
pub(crate) struct Keys<'a, K> {
    pub(crate) hasher: KeyHasher,
    pub(crate) keys: &'a [K],
}

impl<'a, K> Keys<'a, K> {
    /// Keys to be hashed by a copy of this hasher, so that the filter can change meanwhile.
    #[inline]
    pub(crate) fn new(hasher: &KeyHasher, keys: &'a [K]) -> Self {
        Self { hasher: hasher.clone(), keys }
    }
}

impl<K: Key> Source for Keys<'_, K> {
    #[inline(always)]
    fn each<const AHEAD: usize>(
        self,
        far: bool,
        fetch: impl Fn(Digest),
        mut ask: impl FnMut(Digest) -> bool,
        sink: &mut impl Sink,
    ) {
        let Self { hasher, keys } = self;
        if keys.len() <= 64 {
            // Clearing room for a chunk would cost more than a few keys do.
            let mut room = [Digest(0); 64];
            hasher.digest_all(keys, &mut room);
            return Given(&room[..keys.len()]).each::<AHEAD>(far, fetch, ask, sink);
        }
        let mut room = [Digest(0); CHUNK];
        let mut rest = keys;
        let chunk = if far { CHUNK } else { NEAR_CHUNK };
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(chunk));
            hasher.digest_all(now, &mut room);
            // Small keys are asked for while the ones before them are probed: hashing alone would wait for
            // them. Pointers to keys are not: their lines only push out those of the table (8.3 against 11 ns).
            let between = |at: usize| {
                if size_of::<K>() <= 8 {
                    (at..at + AHEAD).step_by(8).for_each(|at| prefetch(later, at));
                }
            };
            probe::<AHEAD>(&room[..now.len()], far, &fetch, &mut ask, sink, between);
            rest = later;
        }
    }

    fn chunks(self, mut work: impl FnMut(&[Digest])) {
        let mut room = [Digest(0); rows::CHUNK];
        for keys in self.keys.chunks(rows::CHUNK) {
            digest_slice(Level::best(), &self.hasher, keys, &mut room);
            work(&room[..keys.len()]);
        }
    }
}

/// Digests that are there already.
pub(crate) struct Given<'a>(pub(crate) &'a [Digest]);

impl Source for Given<'_> {
    #[inline(always)]
    fn each<const AHEAD: usize>(
        self,
        far: bool,
        fetch: impl Fn(Digest),
        mut ask: impl FnMut(Digest) -> bool,
        sink: &mut impl Sink,
    ) {
        probe::<AHEAD>(self.0, far, fetch, &mut ask, sink, |_| ());
    }

    fn chunks(self, work: impl FnMut(&[Digest])) {
        self.0.chunks(rows::CHUNK).for_each(work);
    }
}

/// The loop behind [`Source::each`]; `between` gets the number of digests visited, after each
/// group.
#[inline(always)]
fn probe<const AHEAD: usize>(
    mut digests: &[Digest],
    far: bool,
    fetch: impl Fn(Digest),
    ask: &mut impl FnMut(Digest) -> bool,
    sink: &mut impl Sink,
    between: impl Fn(usize),
) {
    if far {
        let all = digests.len();
        digests.iter().take(AHEAD).for_each(|digest| fetch(*digest));
        while let Some((group, rest)) = digests.split_first_chunk::<AHEAD>() {
            let Some(ahead) = rest.first_chunk::<AHEAD>() else {
                rest.iter().for_each(|digest| fetch(*digest));
                break;
            };
            between(all - digests.len());
            let mut mask = 0;
            for i in 0..AHEAD {
                fetch(ahead[i]);
                mask = mask << 1 | u64::from(ask(group[i]));
            }
            sink.take(first_lowest(mask, AHEAD), AHEAD);
            digests = rest;
        }
    }
    for group in digests.chunks(AHEAD) {
        let mask = group.iter().fold(0, |mask, digest| mask << 1 | u64::from(ask(*digest)));
        sink.take(first_lowest(mask, group.len()), group.len());
    }
}

/// A mask of `count` answers that were shifted in at the low end (one instruction each), with the
/// first answer lowest.
#[inline(always)]
fn first_lowest(mask: u64, count: usize) -> u64 {
    mask.reverse_bits() >> (64 - count)
}

/// Digests from any iterator that ends for good.
pub(crate) struct Drawn<I>(pub(crate) I);

impl<I: Iterator<Item = Digest>> Drawn<I> {
    /// The next digests, as many as there are and fit the room; `None` at the end.
    #[inline(always)]
    fn draw<'a>(&mut self, room: &'a mut [Digest]) -> Option<&'a [Digest]> {
        let mut filled = 0;
        for (place, digest) in room.iter_mut().zip(&mut self.0) {
            *place = digest;
            filled += 1;
        }
        (filled > 0).then(|| &room[..filled])
    }
}

impl<I: Iterator<Item = Digest>> Source for Drawn<I> {
    #[inline(always)]
    fn each<const AHEAD: usize>(
        mut self,
        far: bool,
        fetch: impl Fn(Digest),
        mut ask: impl FnMut(Digest) -> bool,
        sink: &mut impl Sink,
    ) {
        let mut digests = [Digest(0); DRAWN];
        while let Some(drawn) = self.draw(&mut digests) {
            Given(drawn).each::<AHEAD>(far, &fetch, &mut ask, sink);
        }
    }

    fn chunks(mut self, mut work: impl FnMut(&[Digest])) {
        let mut digests = [Digest(0); rows::CHUNK];
        while let Some(drawn) = self.draw(&mut digests) {
            work(drawn);
        }
    }
}

/// The answers of a batch, `AHEAD` (at most 64) at a time: bit `i` of `mask` is that of key `i` of
/// `count`.
///
/// A mask, because it stays in a register while the keys are probed.
pub(crate) trait Sink {
    /// Takes the answers of the next keys.
    fn take(&mut self, mask: u64, count: usize);
}

/// Answers as booleans, in order.
pub(crate) struct Bools<'a>(pub(crate) &'a mut [bool]);

impl<'a> Bools<'a> {
    /// Room for an answer to each digest.
    ///
    /// # Panics
    /// If there is more or less of it.
    pub(crate) fn of(digests: &[Digest], answers: &'a mut [bool]) -> Self {
        assert_eq!(digests.len(), answers.len(), "one answer per digest");
        Self(answers)
    }

    /// The answers that `ask` gives to this many keys.
    pub(crate) fn collect(keys: usize, ask: impl FnOnce(&mut Bools<'_>)) -> Vec<bool> {
        let mut answers = vec![false; keys];
        ask(&mut Bools(&mut answers));
        answers
    }
}

impl Sink for Bools<'_> {
    #[inline(always)]
    fn take(&mut self, mask: u64, count: usize) {
        let (now, later) = core::mem::take(&mut self.0).split_at_mut(count);
        now.iter_mut().enumerate().for_each(|(i, answer)| *answer = mask >> i & 1 == 1);
        self.0 = later;
    }
}

/// Answers as words of 64 bits, in order, of a batch that goes 64 ahead and whose digests are
/// [`Given`].
pub(crate) struct Mask<'a>(pub(crate) &'a mut [u64]);

impl Sink for Mask<'_> {
    #[inline(always)]
    fn take(&mut self, mask: u64, _count: usize) {
        if let Some((now, later)) = core::mem::take(&mut self.0).split_first_mut() {
            *now = mask;
            self.0 = later;
        }
    }
}

/// Only how many answers were yes.
impl Sink for u64 {
    #[inline(always)]
    fn take(&mut self, mask: u64, _count: usize) {
        *self += u64::from(mask.count_ones());
    }
}
