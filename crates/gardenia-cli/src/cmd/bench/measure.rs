//! One repeat: keys, and how long the verbs take for them.

use super::table::{Op, Row};
use crate::keys::Numbers;
use crate::verbs::Verbs;
use anyhow::bail;
use gardenia::cells::{Memory, Owned};
use gardenia::{BlockedBloom, Key, SizeError};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Keys per batch call: about what an engine hands over at a time.
const BATCH: usize = 8192;

/// The least number of keys in a timed loop: some tenths of a millisecond, which a clock can
/// measure and in which no branch is learnt by heart.
const FEWEST: usize = 200_000;

/// The largest number of keys that are asked for: more would take longer and tell no more.
const MOST: usize = 2_000_000;

/// The keys of one repeat, in the order in which they are used.
pub(super) struct Work<T> {
    items: usize,
    /// Sets of `items` keys, each for an empty filter; the last filled filter is asked.
    inserted: T,
    /// Drawn from the last set.
    hits: T,
    /// Never inserted, and fresh in each repeat.
    misses: T,
    /// Half of them hits, in random order.
    mixed: T,
}

impl<T> Work<T> {
    /// The same work with other keys.
    pub(super) fn each<'a, U>(&'a self, keys: impl Fn(&'a T) -> U) -> Work<U> {
        let Self { items, inserted, hits, misses, mixed } = self;
        Work {
            items: *items,
            inserted: keys(inserted),
            hits: keys(hits),
            misses: keys(misses),
            mixed: keys(mixed),
        }
    }
}

impl Work<Vec<u64>> {
    /// How many keys are in memory at a time for a filter of `items` keys.
    pub(super) fn keys(items: u64) -> u64 {
        let queries = items.clamp(FEWEST as u64, MOST as u64);
        // One set, or small ones up to somewhat more than the least number; hits, misses, mix and draws.
        items.max(2 * FEWEST as u64).saturating_add(4 * queries)
    }

    /// Fresh keys for filters of `items` keys.
    pub(super) fn draw(numbers: &mut Numbers, items: usize) -> Self {
        let queries = items.clamp(FEWEST, MOST);
        let inserted = numbers.take(items * FEWEST.div_ceil(items));
        let last = &inserted[inserted.len() - items..];
        let draws = numbers.take(queries);
        let pick = |draw: &u64| last[((u128::from(*draw) * items as u128) >> 64) as usize];
        let hits: Vec<u64> = draws.iter().map(pick).collect();
        let misses = numbers.take(queries);
        // The lowest bit of a draw has no part in picking the key.
        let choose = |(at, draw): (usize, &u64)| if draw & 1 == 0 { hits[at] } else { misses[at] };
        let mixed = draws.iter().enumerate().map(choose).collect();
        Self { items, inserted, hits, misses, mixed }
    }
}

/// Something that keys are put into and asked for.
pub(super) trait Timed<K> {
    /// Forgets all keys; this is not timed.
    fn empty(&mut self);
    fn insert(&mut self, key: &K) -> bool;
    fn insert_many(&mut self, keys: &[K]);
    fn contains(&self, key: &K) -> bool;
    /// How many of the keys are found.
    fn count_many(&self, keys: &[K]) -> usize;
}

impl<K: Key, F: Verbs> Timed<K> for F {
    fn empty(&mut self) {
        self.clear();
    }
    #[inline]
    fn insert(&mut self, key: &K) -> bool {
        Verbs::insert(self, key)
    }
    fn insert_many(&mut self, keys: &[K]) {
        black_box(Verbs::insert_many(self, keys));
    }
    #[inline]
    fn contains(&self, key: &K) -> bool {
        Verbs::contains(self, key)
    }
    fn count_many(&self, keys: &[K]) -> usize {
        count(&self.contains_many(keys))
    }
}

/// How many answers are yes. They pass through memory, as those of a caller would.
fn count(answers: &[bool]) -> usize {
    black_box(answers).iter().filter(|&&found| found).count()
}

/// Times all verbs, and notes how many absent keys are found.
pub(super) fn measure<K, B: Timed<K>>(
    timed: &mut B,
    work: &Work<Vec<K>>,
    row: &mut Row,
) -> anyhow::Result<()> {
    fill(timed, work, row, Op::Insert, |timed, set| {
        for key in set {
            black_box(timed.insert(key));
        }
    });
    fill(timed, work, row, Op::BatchInsert, |timed, set| {
        set.chunks(BATCH).for_each(|keys| timed.insert_many(keys));
    });

    let single = |keys: &[K]| keys.iter().filter(|key| black_box(timed.contains(key))).count();
    let batch = |keys: &[K]| keys.chunks(BATCH).map(|keys| timed.count_many(keys)).sum();
    ask(&work.hits, row, Op::Hit, single);
    let one_by_one = ask(&work.misses, row, Op::Miss, single);
    let hits = ask(&work.hits, row, Op::BatchHit, batch);
    let misses = ask(&work.misses, row, Op::BatchMiss, batch);
    ask(&work.mixed, row, Op::BatchMix, batch);
    if row.is_filter() && misses != one_by_one {
        bail!("a {} filter answers differently in batches: please report this", row.kind);
    }
    found(work, hits, misses, row)
}

/// As [`measure`], for the verbs that use several threads.
pub(super) fn measure_threads<K: Key + Sync>(
    filter: &mut BlockedBloom,
    threads: usize,
    work: &Work<Vec<K>>,
    row: &mut Row,
) -> anyhow::Result<()> {
    fill(filter, work, row, Op::BatchInsert, |filter, set| {
        black_box(filter.par_insert_many(set, threads));
    });
    let batch = |keys: &[K]| count(&filter.par_contains_many(keys, threads));
    let hits = ask(&work.hits, row, Op::BatchHit, batch);
    let misses = ask(&work.misses, row, Op::BatchMiss, batch);
    ask(&work.mixed, row, Op::BatchMix, batch);
    found(work, hits, misses, row)
}

/// Times `insert` on each set of keys. Memory was touched before: it is the filter's time, not the
/// system's.
fn fill<K, B: Timed<K>>(
    timed: &mut B,
    work: &Work<Vec<K>>,
    row: &mut Row,
    op: Op,
    insert: impl Fn(&mut B, &[K]),
) {
    let mut time = Duration::ZERO;
    for set in work.inserted.chunks_exact(work.items) {
        timed.empty();
        let start = Instant::now();
        insert(timed, set);
        time += start.elapsed();
    }
    row.add(op, time, work.inserted.len());
}

/// Times `count` on all keys.
fn ask<K>(keys: &[K], row: &mut Row, op: Op, count: impl Fn(&[K]) -> usize) -> usize {
    let start = Instant::now();
    let found = count(keys);
    row.add(op, start.elapsed(), keys.len());
    found
}

/// Notes how many absent keys a filter found, and an error if it did not find all present ones.
fn found<K>(work: &Work<Vec<K>>, hits: usize, misses: usize, row: &mut Row) -> anyhow::Result<()> {
    if row.is_filter() {
        let lost = work.hits.len() - hits;
        if lost > 0 {
            bail!("a {} filter lost {lost} keys: please report this", row.kind);
        }
        row.asked += work.misses.len() as u64;
        row.found += misses as u64;
    }
    Ok(())
}

/// Words of a cache line.
const LINE: usize = 8;

/// Lines asked for ahead of the one that is needed: enough to keep all of a core's loads under way.
const AHEAD: usize = 64;

/// Tables up to this many bytes are near the core, and asking ahead would only cost.
const NEAR: usize = 1 << 20;

/// Memory without a filter: per key one random cache line is read, or changed.
pub(super) struct Lines {
    words: Owned,
}

impl Lines {
    /// As much memory as a filter of this many bits.
    pub(super) fn new(bits: u64) -> Result<Self, SizeError> {
        let lines = bits.div_ceil(64 * LINE as u64);
        Ok(Self { words: Owned::zeroed(lines as usize * LINE)? })
    }

    /// The line of a number that is random itself.
    #[inline]
    fn line(&self, number: u64) -> usize {
        ((u128::from(number) * (self.words.words() / LINE) as u128) >> 64) as usize
    }

    #[inline]
    fn read(&self, number: u64) -> u64 {
        let line = &self.words.as_slice()[self.line(number) * LINE..][..LINE];
        line.iter().fold(0, |all, word| all ^ word)
    }

    #[inline]
    fn change(&mut self, number: u64) {
        let at = self.line(number) * LINE;
        let line = &mut self.words.as_mut_slice()[at..][..LINE];
        line.iter_mut().for_each(|word| *word ^= number);
    }

    /// Asks for the line that is needed `AHEAD` numbers after the first one of `numbers`.
    #[inline]
    fn ask_ahead(&self, numbers: &[u64]) {
        if let Some(&number) = numbers.get(AHEAD) {
            self.words.prefetch(self.line(number) * LINE);
        }
    }

    fn is_far(&self) -> bool {
        self.words.words() * 8 > NEAR
    }
}

impl Timed<u64> for Lines {
    fn empty(&mut self) {
        self.words.as_mut_slice().fill(0);
    }
    #[inline]
    fn insert(&mut self, number: &u64) -> bool {
        self.change(*number);
        true
    }
    fn insert_many(&mut self, numbers: &[u64]) {
        let far = self.is_far();
        for (at, number) in numbers.iter().enumerate() {
            if far {
                self.ask_ahead(&numbers[at..]);
            }
            self.change(*number);
        }
    }
    #[inline]
    fn contains(&self, number: &u64) -> bool {
        self.read(*number) == 0
    }
    fn count_many(&self, numbers: &[u64]) -> usize {
        let far = self.is_far();
        let mut all = 0;
        for (at, number) in numbers.iter().enumerate() {
            if far {
                self.ask_ahead(&numbers[at..]);
            }
            all ^= self.read(*number);
        }
        usize::from(black_box(all) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashSet;

    #[test]
    fn hits_are_inserted_misses_are_not_and_the_mix_is_half_of_each() {
        let mut numbers = Numbers::default();
        let mut before = HashSet::new();
        for items in [1, 1_000, 1_000, 300_000] {
            let Work { inserted, hits, misses, mixed, .. } = Work::draw(&mut numbers, items);
            assert!(inserted.len() >= FEWEST && inserted.len() % items == 0);
            assert!((inserted.len() + 4 * hits.len()) as u64 <= Work::keys(items as u64));
            let all: HashSet<u64> = inserted.iter().copied().collect();
            let last: HashSet<u64> = inserted[inserted.len() - items..].iter().copied().collect();
            assert!(hits.len() >= FEWEST && hits.iter().all(|key| last.contains(key)));
            assert!(misses.len() == hits.len() && !misses.iter().any(|key| all.contains(key)));
            let share = mixed.iter().filter(|key| last.contains(key)).count() as f64 / mixed.len() as f64;
            assert!((share - 0.5).abs() < 0.01, "{share}");
            assert!(misses.into_iter().all(|key| before.insert(key)), "misses are fresh in each repeat");
        }
    }

    /// A set that counts what it is asked, and makes mistakes on demand.
    #[derive(Default)]
    struct Exact {
        keys: HashSet<u64>,
        inserted: [usize; 2],
        asked: [Cell<usize>; 2],
        forgets: bool,
        invents: bool,
    }

    impl Timed<u64> for Exact {
        fn empty(&mut self) {
            self.keys.clear();
        }
        fn insert(&mut self, key: &u64) -> bool {
            self.inserted[0] += 1;
            self.keys.insert(*key)
        }
        fn insert_many(&mut self, keys: &[u64]) {
            self.inserted[1] += keys.len();
            self.keys.extend(keys);
        }
        fn contains(&self, key: &u64) -> bool {
            self.asked[0].update(|asked| asked + 1);
            self.keys.contains(key)
        }
        fn count_many(&self, keys: &[u64]) -> usize {
            self.asked[1].update(|asked| asked + keys.len());
            let found = keys.iter().filter(|key| self.keys.contains(key)).count();
            if found == 0 { usize::from(self.invents) } else { found - usize::from(self.forgets) }
        }
    }

    #[test]
    fn every_verb_meets_all_its_keys() {
        let work = Work::draw(&mut Numbers::default(), 30_000);
        for bits in [None, Some(1)] {
            let (mut timed, mut row) = (Exact::default(), Row::new("exact", 1, 30_000, bits));
            measure(&mut timed, &work, &mut row).unwrap();
            let queries = work.hits.len();
            assert_eq!(timed.inserted, [work.inserted.len(); 2]);
            assert_eq!(timed.asked.map(Cell::into_inner), [2 * queries, 3 * queries]);
            assert_eq!((row.asked, row.found), (if bits.is_some() { queries as u64 } else { 0 }, 0));
        }
    }

    #[test]
    fn a_filter_that_errs_where_none_may_is_not_measured() {
        let work = Work::draw(&mut Numbers::default(), 30_000);
        for (forgets, invents, reason) in [(true, false, "lost"), (false, true, "differently in batches")] {
            let mut timed = Exact { forgets, invents, ..Exact::default() };
            let error = measure(&mut timed, &work, &mut Row::new("exact", 1, 30_000, Some(1))).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn memory_alone_changes_and_reads_the_line_of_each_number() {
        for bits in [1, 512, 100 * 512, 20_000 * 512] {
            let mut lines = Lines::new(bits).unwrap();
            let numbers = Numbers::default().take(5_000);
            Timed::insert_many(&mut lines, &numbers);
            let mut expected = vec![0; bits.div_ceil(512) as usize];
            numbers.iter().for_each(|&number| expected[lines.line(number)] ^= number);
            let words = lines.words.as_slice().chunks_exact(LINE);
            assert!(words.zip(&expected).all(|(line, word)| line.iter().all(|found| found == word)));
            // Lines are chosen alike: with many numbers per line, none is left out.
            assert!(bits > 100 * 512 || expected.iter().all(|&word| word != 0), "{bits}");
        }
    }
}
