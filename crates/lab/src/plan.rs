//! How experiments are to run, and how their trials are dealt to threads.
//!
//! Every trial draws from a stream of its own, which follows from the seed, the experiment, the
//! point and the trial's number alone; results are gathered in the order of the trials. So the
//! number of threads changes the time and nothing else.

use crate::{Journal, Progress};
use anyhow::{Result, ensure};
use gardenia::{Digest, KeyHasher};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What a run is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Trials per point, if not as many as the experiment takes by itself; at least 2.
    pub trials: Option<u64>,
    /// From which all random streams follow.
    pub seed: u64,
    /// Threads that work at once; 0 is as many as the processor has.
    pub threads: usize,
    /// Fewer trials, and a part of the longest tables: half a minute instead of half an hour. The
    /// standard errors, and with them what the verdicts allow, grow by themselves.
    pub quick: bool,
    /// Where finished points are kept, and taken from if they are there.
    pub journal: Option<Arc<Journal>>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { trials: None, seed: 1, threads: 0, quick: false, journal: None }
    }
}

impl Plan {
    /// The quick plan.
    #[must_use]
    pub fn quick() -> Self {
        Self { quick: true, ..Self::default() }
    }

    /// The trials to make, where an experiment takes `full` by itself and `quick` with `--quick`.
    #[must_use]
    pub fn trials(&self, full: u64, quick: u64) -> u64 {
        self.trials.unwrap_or(if self.quick { quick } else { full })
    }

    /// The most trials of a point: the results of all of them are kept until the point is done.
    pub const MAX_TRIALS: u64 = 1_000_000;

    /// An error if no experiment could run this way.
    pub fn check(&self) -> Result<()> {
        ensure!(self.trials.is_none_or(|trials| trials >= 2), "a standard error takes at least 2 trials");
        ensure!(
            self.trials.is_none_or(|trials| trials <= Self::MAX_TRIALS),
            "a point has at most {} trials",
            Self::MAX_TRIALS
        );
        Ok(())
    }

    fn workers(&self, jobs: u64) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.threads == 0 { cores() } else { self.threads };
        threads.min(usize::try_from(jobs).unwrap_or(usize::MAX)).max(1)
    }
}

/// The random stream of one trial: xoshiro256++.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of this trial.
    ///
    /// ```
    /// use lab::Stream;
    /// let first = |name, point, trial| Stream::new(7, name, point, trial).word();
    /// assert_eq!(first("table", "a", 0), first("table", "a", 0));
    /// assert!(first("table", "a", 0) != first("table", "a", 1) && first("table", "a", 0) != first("table", "b", 0));
    /// ```
    #[must_use]
    pub fn new(seed: u64, experiment: &str, point: &str, trial: u64) -> Self {
        let name = format!("{seed}/{experiment}/{point}/{trial}");
        let digest = KeyHasher::default().digest(name.as_bytes());
        let mut state = [0; 32];
        for (i, bytes) in (1..).zip(state.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&digest.word(i).to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(state))
    }

    /// 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `range`, by multiply-high: even to `range`/2⁶⁴.
    ///
    /// ```
    /// let mut stream = lab::Stream::new(1, "dice", "six", 0);
    /// let mut seen = [0u32; 6];
    /// (0..6_000).for_each(|_| seen[stream.below(6) as usize] += 1);
    /// assert!(seen.iter().all(|&count| (850..1_150).contains(&count)), "{seen:?}"); // five standard errors
    /// ```
    #[inline]
    pub fn below(&mut self, range: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(range)) >> 64) as u64
    }

    /// Digests of random keys.
    #[must_use]
    pub fn digests(&mut self, count: u64) -> Vec<Digest> {
        (0..count).map(|_| Digest(self.word())).collect()
    }
}

/// One run of one experiment: deals trials to threads, and tells how far it is.
pub struct Bench<'a> {
    plan: &'a Plan,
    experiment: &'static str,
    progress: &'a dyn Progress,
    /// How often each point was tried so far.
    tried: Mutex<HashMap<String, u32>>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Bench<'a> {
    /// A run of `experiment` that will take `total` units of work: any unit, as long as it is the
    /// one that [`trials`](Self::trials) gets.
    pub fn new(plan: &'a Plan, experiment: &'static str, progress: &'a dyn Progress, total: u64) -> Self {
        progress.at(0, total);
        Self { plan, experiment, progress, tried: Mutex::default(), done: AtomicU64::new(0), total }
    }

    /// Makes `count` trials of `work` units each; their results, in order, or the error of the
    /// first that failed.
    ///
    /// `point` names what is tried: each name has its own streams. Two algorithms on the same keys
    /// are one point, tried twice.
    pub fn trials<T: Send + Serialize + DeserializeOwned>(
        &self,
        point: &str,
        count: u64,
        work: u64,
        trial: impl Fn(&mut Stream, u64) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let (journal, entry) = (self.plan.journal.as_deref(), self.entry(point));
        if let Some(results) = journal.and_then(|journal| journal.recall(self.experiment, &entry, count)) {
            self.advance(count * work);
            return Ok(results);
        }
        let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
        let results = Mutex::new(Vec::with_capacity(usize::try_from(count)?));
        let worker = || {
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= count || failed.load(Relaxed) {
                    break;
                }
                let result = trial(&mut Stream::new(self.plan.seed, self.experiment, point, number), number);
                if result.is_err() {
                    failed.store(true, Relaxed);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
                self.advance(work);
            }
        };
        let workers = self.plan.workers(count);
        std::thread::scope(|scope| {
            (1..workers).for_each(|_| _ = scope.spawn(worker));
            worker();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|(number, _)| *number);
        let results: Vec<T> = results.into_iter().map(|(_, result)| result).collect::<Result<_>>()?;
        if let Some(journal) = journal {
            journal.keep(self.experiment, &entry, &results)?;
        }
        Ok(results)
    }

    /// The journal's name for this trial of the point.
    fn entry(&self, point: &str) -> String {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let times = tried.entry(point.to_owned()).or_default();
        *times += 1;
        if *times == 1 { point.to_owned() } else { format!("{point}, time {times}") }
    }

    fn advance(&self, work: u64) {
        let done = self.done.fetch_add(work, Relaxed) + work;
        self.progress.at(done.min(self.total), self.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn words(threads: usize) -> Vec<(u64, u64)> {
        let plan = Plan { threads, ..Plan::default() };
        let bench = Bench::new(&plan, "test", &(), 100);
        bench.trials("words", 100, 1, |stream, trial| Ok((trial, stream.word()))).unwrap()
    }

    #[test]
    fn threads_change_neither_results_nor_their_order() {
        let one = words(1);
        assert!(one.iter().zip(0..).all(|((trial, _), number)| *trial == number));
        assert!([0, 2, 3, 64].iter().all(|&threads| words(threads) == one));
        let different: std::collections::BTreeSet<u64> = one.iter().map(|(_, word)| *word).collect();
        assert_eq!(different.len(), 100);
    }

    #[test]
    fn a_failed_trial_fails_the_point() {
        let plan = Plan { threads: 3, ..Plan::default() };
        let bench = Bench::new(&plan, "test", &(), 50);
        let results =
            bench.trials("fail", 50, 1, |_, trial| if trial == 7 { bail!("seven") } else { Ok(trial) });
        assert_eq!(results.unwrap_err().to_string(), "seven");
    }

    #[test]
    fn progress_ends_where_it_said_it_would() {
        struct Seen(Mutex<Vec<(u64, u64)>>);
        impl Progress for Seen {
            fn at(&self, done: u64, total: u64) {
                self.0.lock().unwrap().push((done, total));
            }
        }
        let (plan, seen) = (Plan { threads: 2, ..Plan::default() }, Seen(Mutex::default()));
        Bench::new(&plan, "test", &seen, 30).trials("a", 10, 3, |_, _| Ok(())).unwrap();
        let mut seen = seen.0.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..=10).map(|i| (3 * i, 30)).collect::<Vec<_>>());
    }

    #[test]
    fn fewer_than_two_trials_are_refused_and_more_than_memory_holds() {
        let with = |trials| Plan { trials: Some(trials), ..Plan::quick() }.check();
        assert!(with(1).is_err() && with(2).is_ok() && Plan::default().check().is_ok());
        assert!(with(Plan::MAX_TRIALS).is_ok() && with(Plan::MAX_TRIALS + 1).is_err());
        assert_eq!((Plan::quick().trials(9, 3), Plan::default().trials(9, 3)), (3, 9));
    }
}
