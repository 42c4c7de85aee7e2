//! Building with all keys known up front: improve as long as it pays, stop, go on, finish.

use super::blocks::Outcome;
use super::bloom::{ChoiceBloom, ChoiceForm};
use super::partitions::{self, DRAWS, Pass};
use super::propagation::{Propagation, propagate};
use super::rounds::{self, Again, First};
use super::tally::Tally;
use crate::SizeError;
use crate::hash::Digest;
use crate::index::{Fractional, Scheme};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::ops::ControlFlow;

/// Where the draws of a builder start; a builder's results depend on its keys and calls alone.
const SEED: u64 = 0x6c75_6d65_7474_6121;

/// SplitMix64's step: 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of draws, SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Ties {
    state: u64,
}

impl Ties {
    pub(super) fn new() -> Self {
        Self { state: SEED }
    }

    #[inline]
    pub(super) fn draw(&mut self) -> u64 {
        let draw = self.ahead(0);
        self.skip(1);
        draw
    }

    /// The draw that will come after `count` others.
    #[inline(always)]
    pub(super) fn ahead(&self, count: u64) -> u64 {
        Digest(self.state.wrapping_add(count.wrapping_mul(GOLDEN))).word(1)
    }

    /// Leaves out `count` draws.
    fn skip(&mut self, count: u64) {
        self.state = self.state.wrapping_add(count.wrapping_mul(GOLDEN));
    }
}

/// How far a [`ChoiceOffline`] has come.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OfflineProgress {
    /// Rounds done, the online pass included.
    pub rounds: u64,
    /// Bits that are set.
    pub ones: u64,
    /// The share of bits that are set.
    pub fill: f64,
}

/// Positions that a round looks at, from which threads are worth while.
const WORTH: u64 = 1 << 18;

/// A filter with choices that is built from all its keys: it can be improved, left alone and
/// improved again.
///
/// No call makes it worse, and what comes out depends only on the keys, their order and the calls:
/// two calls of 5 rounds are one of 10, whatever the number of threads. Beside the filter and the
/// digests it takes half a byte per bit, a byte per key, and room for the moves of a 128th of the
/// keys.
///
/// ```
/// use gardenia::filter::Effort;
/// use gardenia::{ChoiceBloom, KeyHasher};
/// let digests: Vec<_> = (0..1_000u32).map(|key| KeyHasher::default().digest_key(&key)).collect();
/// let builder = ChoiceBloom::builder().bits(8_000).hashes(8).choices(3).effort(Effort::Rounds);
/// let mut offline = builder.offline(digests)?;
/// let online = offline.improve(1); // the first round is that of the online filter
/// let better = offline.improve(20);
/// assert!(better.ones < online.ones * 19 / 20);
/// let filter = offline.finish();
/// assert!((0..1_000u32).all(|key| filter.contains(key)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct ChoiceOffline<S = Fractional> {
    filter: ChoiceBloom<S>,
    /// In the order given; by partition in a partitioned filter.
    digests: Vec<Digest>,
    tally: Tally,
    /// The group of each key; empty in a partitioned filter, whose table says it.
    chosen: Vec<u8>,
    rounds: u64,
    ties: Ties,
    threads: usize,
    /// The most that moves have taken.
    moves_bytes: usize,
}

impl<S: Scheme> ChoiceOffline<S> {
    /// An arrangement of keys in an empty filter.
    pub(super) fn new(filter: ChoiceBloom<S>, mut digests: Vec<Digest>) -> Result<Self, SizeError> {
        let mut chosen = Vec::new();
        match filter.form() {
            ChoiceForm::Groups { .. } => {
                let memory = |_| SizeError::Memory { bytes: digests.len() as u64 };
                chosen.try_reserve_exact(digests.len()).map_err(memory)?;
                chosen.resize(digests.len(), 0);
            }
            ChoiceForm::Partitions { .. } => {
                let form = filter.table();
                let mut sizes = alloc::vec![0u32; form.partitions as usize];
                digests.iter().for_each(|digest| sizes[form.of(*digest) as usize] += 1);
                // The large ones choose first, while there is much to choose from: 6 % fewer false positives.
                digests.sort_unstable_by_key(|digest| {
                    let partition = form.of(*digest);
                    (Reverse(sizes[partition as usize]), partition, *digest)
                });
                digests.dedup();
            }
        }
        let tally = Tally::new(filter.cells())?;
        let threads = available_threads();
        Ok(Self { filter, digests, tally, chosen, rounds: 0, ties: Ties::new(), threads, moves_bytes: 0 })
    }

    /// How many threads may work; all the processor has at first. It changes the time taken, not
    /// the result.
    pub fn threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Takes every key, or every partition, out and puts it back where it costs least, `rounds`
    /// times. The first round is the online pass.
    pub fn improve(&mut self, rounds: u64) -> OfflineProgress {
        self.improve_with(rounds, |_| ControlFlow::Continue(()))
    }

    /// As [`improve`](Self::improve); `report` hears of each round and may end it.
    ///
    /// ```
    /// # use gardenia::{ChoiceBloom, Digest, filter::Effort};
    /// use std::ops::ControlFlow::{Break, Continue};
    /// # let digests = (0..1_000).map(|i| Digest(Digest(1).word(i))).collect();
    /// # let mut offline = ChoiceBloom::builder().bits(8_000).hashes(8).effort(Effort::Rounds).offline(digests)?;
    /// let mut ones = u64::MAX;
    /// let last = offline.improve_with(1_000, |now| {
    ///     if now.ones < ones { ones = now.ones; Continue(()) } else { Break(()) } // a round without gain
    /// });
    /// assert!(last.rounds > 2 && last.rounds < 1_000);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn improve_with(
        &mut self,
        rounds: u64,
        mut report: impl FnMut(OfflineProgress) -> ControlFlow<()>,
    ) -> OfflineProgress {
        for _ in 0..rounds {
            self.round();
            if report(self.progress()).is_break() {
                break;
            }
        }
        self.progress()
    }

    fn round(&mut self) {
        let first = self.rounds == 0;
        let (tally, digests, ties) = (&mut self.tally, &self.digests[..], &mut self.ties);
        let (form, groups) = (self.filter.table(), self.filter.groups());
        let ChoiceBloom { scheme, bits, items, .. } = &mut self.filter;
        let positions = digests.len() as u64 * u64::from(scheme.hashes() * groups.choices);
        let threads = if positions < WORTH { 1 } else { self.threads };
        let mut outcome = Outcome::default();
        if form.partitions > 0 {
            tally.lend(bits, |board| {
                outcome = scheme.dispatch(Pass { form, board, digests, ties, first, threads });
                outcome.more
            });
            ties.skip(digests.len() as u64 * DRAWS);
            *items = digests.len() as u64; // repeats were removed
        } else if first {
            let chosen = &mut self.chosen;
            *items += scheme.dispatch(First { form: groups, bits, tally, digests, chosen });
        } else {
            let chosen = &mut self.chosen[..];
            tally.lend(bits, |board| {
                outcome = scheme.dispatch(Again { form: groups, board, digests, chosen, ties, threads });
                outcome.more
            });
            ties.skip(digests.len() as u64 * u64::from(groups.choices));
        }
        self.moves_bytes = self.moves_bytes.max(outcome.bytes);
        self.rounds += 1;
        if outcome.stuck {
            self.recount();
        }
    }

    /// Chooses all groups anew by belief propagation, and keeps the better of old and new. Rounds
    /// may follow. It does nothing for a partitioned filter.
    ///
    /// It takes memory for a number per position of all groups, and much time: see [`Propagation`].
    pub fn propagate(&mut self, how: &Propagation) -> Result<OfflineProgress, SizeError> {
        self.propagate_with(how, |_| ControlFlow::Continue(()))
    }

    /// As [`propagate`](Self::propagate); `report` is called after each iteration and may end it.
    /// It gets the iterations done as `rounds`, and the ones as they were before.
    pub fn propagate_with(
        &mut self,
        how: &Propagation,
        mut report: impl FnMut(OfflineProgress) -> ControlFlow<()>,
    ) -> Result<OfflineProgress, SizeError> {
        if matches!(self.filter.form(), ChoiceForm::Partitions { .. }) || self.digests.is_empty() {
            return Ok(self.progress());
        }
        if self.rounds == 0 {
            self.round();
        }
        let before = self.progress();
        let tell = |iterations| report(OfflineProgress { rounds: iterations, ..before });
        let form = self.filter.groups();
        let ChoiceBloom { scheme, bits, .. } = &mut self.filter;
        let new = propagate(how, form, scheme, bits.len(), &self.digests, self.threads, tell)?;
        let old = core::mem::replace(&mut self.chosen, new);
        self.recount();
        if self.tally.ones() > before.ones {
            self.chosen = old;
            self.recount();
        }
        Ok(self.progress())
    }

    /// Bits and counters from what is chosen.
    fn recount(&mut self) {
        self.tally.clear();
        let form = self.filter.table();
        let ChoiceBloom { scheme, bits, .. } = &mut self.filter;
        bits.words_mut()[..form.cells.div_ceil(64) as usize].fill(0);
        let (tally, digests, chosen) = (&mut self.tally, &self.digests[..], &self.chosen[..]);
        if form.partitions > 0 {
            scheme.dispatch(partitions::Recount { form, bits, tally, digests });
        } else {
            scheme.dispatch(rounds::Recount { bits, tally, digests, chosen });
        }
    }

    /// The filter as it is now: empty before the first round.
    #[must_use]
    pub fn filter(&self) -> &ChoiceBloom<S> {
        &self.filter
    }

    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> OfflineProgress {
        let ones = self.tally.ones();
        OfflineProgress { rounds: self.rounds, ones, fill: ones as f64 / self.filter.cells() as f64 }
    }

    /// The most bytes that rounds have used so far beside the filter itself and the digests.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.tally.bytes() + self.chosen.len() + self.moves_bytes
    }

    /// The filter, with all keys in it.
    #[must_use]
    pub fn finish(mut self) -> ChoiceBloom<S> {
        if self.rounds == 0 {
            self.round();
        }
        self.filter
    }
}

impl<S: Scheme> fmt::Debug for ChoiceOffline<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, progress) = (self.digests.len(), self.progress());
        f.debug_struct("ChoiceOffline").field("keys", &keys).field("progress", &progress).finish()
    }
}

/// Threads that the processor runs at once.
fn available_threads() -> usize {
    #[cfg(feature = "std")]
    return std::thread::available_parallelism().map_or(1, usize::from);
    #[cfg(not(feature = "std"))]
    1
}
