//! Filters that grow from room for a thousand keys, side by side in one process.
//!
//! `cargo run --profile dist -p peers --example growing -- [KEYS] [ROUNDS] [NAME…]`
//!
//! Insertion is timed over the whole growth, the filters in turn, best of the rounds. Queries are
//! timed in slices of 65,536 keys, the filters in turn on each slice, best and median of all
//! slices: other programs on the machine then disturb all filters alike. The last line is of three
//! more growths: bits per key at each per cent of one, and the longest single insertion, where the
//! time of a key is the least of the three: what recurs at the same key is the filter's, and what
//! does not is the machine's.

use gardenia::{InfiniFilter, ScalableBlocked};
use growable_bloom_filter::GrowableBloom;
use std::hint::black_box;
use std::time::Instant;

const RATE: f64 = 0.01;
const FIRST: usize = 1_000;
const SLICE: usize = 65_536;
const BATCH: usize = 8_192;

/// A filter that grows, as this program sees it.
trait Grow {
    fn contains(&self, keys: &[u64]) -> usize;
    fn contains_many(&self, _: &[u64]) -> Option<usize> {
        None
    }
    fn bytes(&self) -> usize;
}

macro_rules! grow {
    ($($filter:ty: |$this:ident| $bytes:expr $(, $many:ident)?;)*) => {$(
        impl Grow for $filter {
            fn contains(&self, keys: &[u64]) -> usize {
                keys.iter().filter(|key| black_box(self.contains(**key))).count()
            }
            $(fn contains_many(&self, keys: &[u64]) -> Option<usize> {
                Some(keys.chunks(BATCH).map(|keys| self.$many(keys).iter().filter(|found| **found).count()).sum())
            })?
            fn bytes(&self) -> usize {
                let $this = self;
                $bytes
            }
        }
    )*};
}
grow! {
    InfiniFilter: |filter| filter.memory_bytes(), contains_many;
    ScalableBlocked: |filter| filter.memory_bytes(), contains_many;
    qfilter::Filter: |filter| filter.memory_usage();
    // It does not tell: its stored form is a list of numbers of one byte.
    GrowableBloom: |filter| serde_json::to_string(filter).map_or(0, |text| text.matches(',').count());
}

/// What builds a filter from keys one by one.
type Build = fn(&[u64]) -> Box<dyn Grow>;

const ROWS: [(&str, Build); 5] = [
    ("infini", |keys| {
        let mut filter = InfiniFilter::new(RATE).unwrap();
        keys.iter().for_each(|key| _ = black_box(filter.insert(key)));
        Box::new(filter)
    }),
    ("infini-batches", |keys| {
        let mut filter = InfiniFilter::new(RATE).unwrap();
        keys.chunks(BATCH).for_each(|keys| _ = black_box(filter.insert_many(keys)));
        Box::new(filter)
    }),
    ("qfilter", |keys| {
        let mut filter = qfilter::Filter::new_resizeable(FIRST as u64, keys.len() as u64, RATE).unwrap();
        keys.iter().for_each(|key| _ = black_box(filter.insert(key)));
        Box::new(filter)
    }),
    ("scalable-blocked", |keys| {
        let mut filter = ScalableBlocked::builder().fpp(RATE).items(FIRST as u64).build().unwrap();
        keys.iter().for_each(|key| _ = black_box(filter.insert(key)));
        Box::new(filter)
    }),
    ("growable-bloom", |keys| {
        let mut filter = GrowableBloom::new(RATE, FIRST);
        keys.iter().for_each(|key| _ = black_box(filter.insert(key)));
        Box::new(filter)
    }),
];

/// Distinct numbers without order: a bijection of the numbers from `from` on.
fn keys(from: u64, count: usize) -> Vec<u64> {
    (from..from + count as u64)
        .map(|number| {
            let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        })
        .collect()
}

/// Nanoseconds per key of a call.
fn time<R>(keys: usize, work: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let out = black_box(work());
    (start.elapsed().as_secs_f64() * 1e9 / keys as f64, out)
}

/// Best and median.
fn summary(times: &mut [f64]) -> String {
    times.sort_unstable_by(f64::total_cmp);
    match times.get(times.len() / 2) {
        Some(median) => format!("{:.1} / {median:.1}", times[0]),
        None => String::new(),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual| args.get(at).map_or(usual, |arg| arg.parse::<f64>().expect("a number") as usize);
    let (count, rounds) = (number(0, 1_000_000), number(1, 3).max(1));
    let chosen = args.get(2..).unwrap_or_default();
    let rows: Vec<_> = ROWS
        .iter()
        .filter(|(name, _)| chosen.is_empty() || chosen.iter().any(|wanted| wanted == name))
        .collect();
    let (present, absent) = (keys(1, count), keys(1 << 40, count.max(1_000_000)));

    let mut insert = vec![Vec::new(); rows.len()];
    let mut filters = Vec::new();
    for _ in 0..rounds {
        filters.clear();
        for ((_, build), times) in rows.iter().zip(&mut insert) {
            let (time, filter) = time(count, || build(&present));
            times.push(time);
            filters.push(filter);
        }
    }

    let mut times = vec![[const { Vec::new() }; 4]; rows.len()];
    let mut found = vec![[0; 2]; rows.len()];
    for round in 0..rounds {
        for (column, keys) in [&present, &absent].into_iter().enumerate() {
            for slice in keys.chunks_exact(SLICE) {
                for ((filter, times), found) in filters.iter().zip(&mut times).zip(&mut found) {
                    let (single, hits) = time(SLICE, || filter.contains(slice));
                    times[column].push(single);
                    found[column] += if round == 0 { hits } else { 0 };
                    if let (batch, Some(again)) = time(SLICE, || filter.contains_many(slice)) {
                        assert_eq!(hits, again);
                        times[column + 2].push(batch);
                    }
                }
            }
        }
    }
    println!("{count} keys of 64 bits at 1 %, ns per key, best / median of {rounds} rounds");
    println!("| | insert | hit | miss | hit, batches | miss, batches | bits per key | measured rate |");
    println!("|---|---|---|---|---|---|---|---|");
    for (at, (name, _)) in rows.iter().enumerate() {
        let asked = absent.len() / SLICE * SLICE;
        assert_eq!(found[at][0], count / SLICE * SLICE, "{name} lost keys");
        let [hit, miss, hits, misses] = times[at].each_mut().map(|times| summary(times));
        println!(
            "| `{name}` | {} | {hit} | {miss} | {hits} | {misses} | {:.1} | {:.2} % |",
            summary(&mut insert[at]),
            filters[at].bytes() as f64 * 8.0 / count as f64,
            100.0 * found[at][1] as f64 / asked as f64,
        );
    }
    drop(filters);
    if chosen.is_empty() || chosen.iter().any(|name| name == "infini") {
        growth(&present);
    }
}

/// What an `InfiniFilter` needs on its way.
fn growth(keys: &[u64]) {
    let mut filter = InfiniFilter::new(RATE).unwrap();
    let (mut most, mut sum, mut peak, mut samples) = (0.0f64, 0.0, 0, 0);
    let step = (keys.len() / 100).max(1);
    for (at, key) in keys.iter().enumerate() {
        filter.insert(key).unwrap();
        if at >= 10_000 && at % step == 0 {
            let bytes = filter.memory_bytes();
            let bits = bytes as f64 * 8.0 / (at + 1) as f64;
            (most, sum, peak, samples) = (most.max(bits), sum + bits, peak.max(bytes), samples + 1);
        }
    }
    // Nanoseconds of each insertion, and the longest of one growth.
    let (mut least, mut once) = (vec![u32::MAX; keys.len()], 0);
    for _ in 0..3 {
        let mut filter = InfiniFilter::new(RATE).unwrap();
        for (key, least) in keys.iter().zip(&mut least) {
            let start = Instant::now();
            filter.insert(key).unwrap();
            let time = u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX);
            (*least, once) = (time.min(*least), time.max(once));
        }
    }
    let longest = (0..keys.len()).max_by_key(|at| least[*at]).unwrap_or(0);
    println!(
        "infini, from 10,000 keys on: {:.1} bits per key on average, {most:.1} at most; most memory {:.2} times the \
         final one; longest insertion {:.3} ms, at key {longest} (once {:.3})",
        sum / f64::from(samples.max(1)),
        peak as f64 / filter.memory_bytes() as f64,
        f64::from(least[longest]) / 1e6,
        f64::from(once) / 1e6,
    );
}
