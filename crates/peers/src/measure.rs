//! One contender, one repeat.

use crate::clock::{Stopwatch, Took};
use crate::contender::Contender;
use crate::keys::BenchKey;
use crate::table::{Case, Op};
use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Keys per batch call: about what an engine hands over at a time.
const BATCH: usize = 8192;

/// What to insert and to ask.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a, K> {
    pub(crate) case: Case,
    pub(crate) fpp: f64,
    /// One or more sets of `case.items` keys, each for a filter of its own; the last filter is
    /// queried.
    pub(crate) pool: &'a [K],
    pub(crate) hits: &'a [K],
    pub(crate) misses: &'a [K],
    pub(crate) mixed: &'a [K],
}

/// The work of one repeat, with the numbers that its keys were made from beside it: the machine's
/// limit reads memory at random, and hashes nothing to find its places.
pub(crate) struct Round<'a, K> {
    pub(crate) work: Work<'a, K>,
    pub(crate) numbers: Work<'a, u64>,
}

/// What one repeat told of a contender.
#[derive(Default)]
pub(crate) struct Sample {
    /// Nanoseconds per key of the operations that the contender offers.
    pub(crate) times: Vec<(Op, f64)>,
    /// Seconds of processor time in all operations, and of wall time.
    pub(crate) worked: f64,
    pub(crate) passed: f64,
    /// All memory of the filter; none for what is not a filter.
    pub(crate) bytes: Option<usize>,
    pub(crate) absent_asked: usize,
    pub(crate) absent_found: usize,
    /// Inserted keys that were not found: a fault of the contender.
    pub(crate) lost: usize,
    /// By how much the counts of batches and of single calls differ: a fault, too.
    pub(crate) disagreed: usize,
}

/// Fills filters with the pool, by batches and one by one, and queries the last one.
///
/// With several threads each works on an equal part of the keys, and all share the filter; a
/// contender that cannot be filled so is filled by one thread, untimed.
pub(crate) fn measure<C: Contender<K>, K: BenchKey>(work: &Work<'_, K>, threads: usize) -> Sample {
    let mut sample = Sample::default();
    let alone = threads == 1;

    sample.fill(Op::BatchBuild, work, |filter: &mut C, set| match alone {
        true => clock(|| set.chunks(BATCH).try_for_each(|batch| filter.insert_many(batch))),
        false => in_parts(set, threads, |part| {
            part.chunks(BATCH).try_for_each(|batch| filter.insert_many_shared(batch)).map(|()| 0)
        }),
    });
    let filled = sample.fill(Op::Build, work, |filter: &mut C, set| match alone {
        true => clock(|| {
            filter.insert_all(set);
            Some(())
        }),
        false => in_parts(set, threads, |part| filter.insert_shared(part).map(|()| 0)),
    });
    let filter = filled.unwrap_or_else(|| {
        let mut filter = C::new(work.case.items, work.fpp);
        filter.insert_all(&work.pool[work.pool.len() - work.case.items..]);
        filter
    });

    let mut ask = |op, keys: &[K], batch: bool| {
        let (took, found) = in_parts(keys, threads, |part| match batch {
            true => part.chunks(BATCH).map(|batch| filter.contains_many(batch)).sum(),
            false => Some(part.iter().map(|key| usize::from(black_box(filter.contains(key)))).sum()),
        })?;
        sample.add(op, &[took], keys.len());
        Some(found)
    };
    let hits = ask(Op::Hit, work.hits, false);
    let misses = ask(Op::Miss, work.misses, false);
    let batch_hits = ask(Op::BatchHit, work.hits, true);
    let batch_misses = ask(Op::BatchMiss, work.misses, true);
    ask(Op::Mix, work.mixed, false);

    if let (Some(heap), Some(hits), Some(misses)) = (filter.heap_bytes(), hits, misses) {
        sample.bytes = Some(heap + size_of::<C>());
        sample.lost = work.hits.len() - hits;
        (sample.absent_asked, sample.absent_found) = (work.misses.len(), misses);
        let differ = |batch: Option<usize>, single: usize| batch.map_or(0, |batch| batch.abs_diff(single));
        sample.disagreed = differ(batch_hits, hits) + differ(batch_misses, misses);
    }
    sample
}

impl Sample {
    /// Makes a filter per set of the pool and fills it; the last filter, or none if `insert` is not
    /// offered.
    ///
    /// Making it is part of the time: some libraries touch all memory there, and others leave that
    /// to the first insertions.
    fn fill<C: Contender<K>, K>(
        &mut self,
        op: Op,
        work: &Work<'_, K>,
        insert: impl Fn(&mut C, &[K]) -> Option<(Took, usize)>,
    ) -> Option<C> {
        let mut all = Vec::new();
        let mut last = None;
        for set in work.pool.chunks_exact(work.case.items) {
            drop(last.take()); // so that there is never more than one in the caches
            let making = Stopwatch::start();
            let mut filter = C::new(work.case.items, work.fpp);
            all.push(making.stop());
            all.push(insert(&mut filter, set)?.0);
            last = Some(filter);
        }
        self.add(op, &all, work.pool.len());
        last
    }

    fn add(&mut self, op: Op, took: &[Took], keys: usize) {
        let seconds = |time: fn(&Took) -> Duration| took.iter().map(time).sum::<Duration>().as_secs_f64();
        let time = seconds(|took| took.time);
        self.times.push((op, time * 1e9 / keys as f64));
        self.worked += time;
        self.passed += seconds(|took| took.end - took.start);
    }
}

/// How long `job` takes, if it can be done.
fn clock(job: impl FnOnce() -> Option<()>) -> Option<(Took, usize)> {
    let watch = Stopwatch::start();
    job()?;
    Some((watch.stop(), 0))
}

/// Does `job` on as many equal parts of `keys` as there are threads; the time of the slowest
/// thread, and the sum of what the jobs return.
fn in_parts<K: Sync>(
    keys: &[K],
    threads: usize,
    job: impl Fn(&[K]) -> Option<usize> + Sync,
) -> Option<(Took, usize)> {
    let timed = |part| {
        let watch = Stopwatch::start();
        job(part).map(|sum| (watch.stop(), sum))
    };
    if threads == 1 {
        return timed(keys);
    }
    let parts = keys.chunks(keys.len().div_ceil(threads).max(1));
    // Starting a thread takes longer than small work does. They wait for each other, to run at the same time.
    let all_here = Barrier::new(parts.len());
    let together = |part| {
        all_here.wait();
        timed(part)
    };
    let done: Option<Vec<(Took, usize)>> = thread::scope(|scope| {
        let running: Vec<_> = parts.map(|part| scope.spawn(move || together(part))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done?.into_iter().reduce(|(a, x), (b, y)| (a.at_once(b), x + y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::roster;
    use crate::keys::{KeyKind, Queries, Texts, inserted};

    /// Every contender with its threads, its name and what it told.
    fn samples<K: BenchKey>(round: &Round<'_, K>) -> Vec<(String, Sample)> {
        let threads = |shareable| if shareable { 1..=2 } else { 1..=1 };
        let entries = roster::<K>();
        let runs = entries.iter().flat_map(|e| threads(e.shareable).map(move |threads| (e, threads)));
        runs.map(|(e, threads)| (format!("{} x{threads}", e.name), (e.run)(round, threads))).collect()
    }

    #[test]
    fn every_contender_finds_its_keys_and_keeps_to_the_error_rate() {
        let (items, fpp) = (20_000, 0.01);
        let pool = inserted(items);
        let Queries { hits, misses, mixed } = Queries::draw(&pool, items, 0, 5);
        let case = Case { items, keys: KeyKind::U64 };
        let numbers = Work { case, fpp, pool: &pool, hits: &hits, misses: &misses, mixed: &mixed };
        let mut all = samples(&Round { work: numbers, numbers });

        let [pool, hits, misses, mixed] = [&pool, &hits, &misses, &mixed].map(|n| Texts::of(n));
        let (pool, hits, misses, mixed) = (pool.refs(), hits.refs(), misses.refs(), mixed.refs());
        let case = Case { items, keys: KeyKind::Str40 };
        let work = Work { case, fpp, pool: &pool, hits: &hits, misses: &misses, mixed: &mixed };
        all.extend(samples(&Round { work, numbers }));

        for (name, sample) in all {
            assert_eq!((sample.lost, sample.disagreed), (0, 0), "{name}");
            assert!(sample.times.iter().all(|(_, ns)| ns.is_finite()), "{name}");
            if let Some(bytes) = sample.bytes {
                assert!((8.0..20.0).contains(&(bytes as f64 * 8.0 / items as f64)), "{name}: {bytes} bytes");
                // Five standard deviations of the sample, and as much again for the filter's own fill.
                let asked = sample.absent_asked as f64;
                let most = asked * fpp + 10.0 * (asked * fpp).sqrt();
                assert!(sample.absent_found as f64 <= most, "{name}: {}", sample.absent_found);
            }
        }
    }

    #[test]
    fn parts_cover_all_keys_for_any_number_of_threads() {
        for (keys, threads) in [(0, 1), (1, 1), (1, 2), (5, 4), (1000, 3)] {
            let keys: Vec<u64> = (0..keys).collect();
            let counted = in_parts(&keys, threads, |part| Some(part.len())).map(|(_, sum)| sum);
            assert_eq!(counted, Some(keys.len()));
        }
    }
}
