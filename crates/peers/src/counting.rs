//! `peers counting`: sketches that count, in the same memory and on the same stream.
//!
//! One Zipf-distributed stream of numbers goes through every sketch; afterwards each is asked for
//! every distinct key, and the answers are compared with exact counts. Time is processor time,
//! taken for slices of 100,000 keys: the best of the repeats for each slice, added up, so that a
//! disturbance costs one slice of one repeat.

mod sketches;

use crate::clock::Stopwatch;
use crate::host;
use clap::Parser;
use sketches::{Entry, Shape};
use std::fmt::Write as _;
use std::io::Write as _;

/// Keys under one measurement.
const SLICE: usize = 100_000;

/// Compares sketches that count how often keys occur.
#[derive(Clone, Debug, Parser)]
pub(crate) struct CountingArgs {
    /// Length of the stream, such as 1e7
    #[arg(long, default_value = "1e7", value_parser = crate::args::parse_size)]
    items: usize,

    /// Distinct keys that may come
    #[arg(long, default_value = "1e7", value_parser = crate::args::parse_size)]
    universe: usize,

    /// Exponent of the Zipf distribution
    #[arg(long, default_value_t = 1.1)]
    exponent: f64,

    /// Cells of 32 bits in a row, a power of two; all sketches take this memory
    #[arg(long, default_value_t = 1 << 16)]
    columns: usize,

    /// Rows
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    rows: u32,

    /// Repeats, of which the best is shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,

    /// Measure the sketches whose name contains one of these
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
}

/// What was measured of one sketch.
#[derive(Clone, Debug, Default)]
struct Figures {
    bytes: usize,
    update: Vec<f64>,
    query: Vec<f64>,
    mean: f64,
    largest: u64,
    too_small: usize,
}

impl Figures {
    /// Nanoseconds per update and per query.
    fn times(&self, items: usize, keys: usize) -> (f64, f64) {
        (self.update.iter().sum::<f64>() / items as f64, self.query.iter().sum::<f64>() / keys as f64)
    }
}

pub(crate) fn run(args: &CountingArgs) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.columns.is_power_of_two(),
        "--columns must be a power of two: some sketches have no others"
    );
    let shape = Shape { columns: args.columns, rows: args.rows };
    let mut out = std::io::stdout();
    writeln!(out, "{}\n", host::describe())?;
    let stream = zipf(args.items, args.universe, args.exponent);
    let exact = exact_counts(&stream);
    writeln!(
        out,
        "{} keys, Zipf {} over {}: {} different, the most frequent {} times; {} KiB each",
        args.items,
        args.exponent,
        args.universe,
        exact.len(),
        exact.iter().map(|(_, count)| count).max().unwrap_or(&0),
        shape.bytes() >> 10,
    )?;
    let admits =
        |entry: &&Entry| args.only.is_empty() || args.only.iter().any(|part| entry.name.contains(part));
    let all = sketches::roster();
    let mut rows: Vec<(&Entry, Figures)> =
        all.iter().filter(admits).map(|e| (e, Figures::default())).collect();
    // The repeats are the outer loop, so that a disturbance falls on all and not on all repeats of one.
    for repeat in 0..args.repeat {
        for (entry, figures) in &mut rows {
            let _ = writeln!(std::io::stderr(), "repeat {} of {}: {}", repeat + 1, args.repeat, entry.name);
            measure(entry, shape, &stream, &exact, figures);
        }
    }
    write!(out, "{}", report(&rows, args.items, exact.len()))?;
    Ok(())
}

/// One run of one sketch; times are the least of those so far.
fn measure(entry: &Entry, shape: Shape, stream: &[u64], exact: &[(u64, u64)], figures: &mut Figures) {
    let mut sketch = (entry.make)(shape);
    figures.bytes = sketch.bytes();
    let mut slices = figures.update.clone().into_iter();
    figures.update = stream.chunks(SLICE).map(|keys| best(slices.next(), || sketch.update(keys))).collect();
    let keys: Vec<u64> = exact.iter().map(|(key, _)| *key).collect();
    let mut counts = vec![0; keys.len()];
    let mut slices = figures.query.clone().into_iter();
    let asked = keys.chunks(SLICE).zip(counts.chunks_mut(SLICE));
    figures.query = asked.map(|(keys, counts)| best(slices.next(), || sketch.counts(keys, counts))).collect();
    let errors = || counts.iter().zip(exact).map(|(count, (_, exact))| (*count, *exact));
    figures.mean =
        errors().map(|(count, exact)| count as f64 - exact as f64).sum::<f64>() / exact.len() as f64;
    figures.largest = errors().map(|(count, exact)| count.saturating_sub(exact)).max().unwrap_or(0);
    figures.too_small = errors().filter(|(count, exact)| count < exact).count();
}

/// Nanoseconds of `work`, or those of an earlier repeat if they were fewer.
fn best(before: Option<f64>, work: impl FnOnce()) -> f64 {
    let watch = Stopwatch::start();
    work();
    before.unwrap_or(f64::MAX).min(watch.stop().time.as_secs_f64() * 1e9)
}

fn report(rows: &[(&Entry, Figures)], items: usize, keys: usize) -> String {
    let peers = || rows.iter().filter(|(entry, _)| !entry.ours);
    let least = |figure: &dyn Fn(&Figures) -> f64| peers().map(|(_, f)| figure(f)).fold(f64::MAX, f64::min);
    let fastest = (least(&|f| f.times(items, keys).0), least(&|f| f.times(items, keys).1));
    let mean = least(&|f| f.mean);
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        "\n{:36}{:>8}{:>9}{:>9}{:>11}{:>9}   {:>8}{:>8}{:>9}",
        "ns per key", "KiB", "update", "query", "mean error", "largest", "update", "query", "error"
    );
    for (entry, figures) in rows {
        let (update, query) = figures.times(items, keys);
        let _ = write!(
            text,
            "{:36}{:>8}{update:>9.1}{query:>9.1}{:>11.3}{:>9}",
            entry.name,
            figures.bytes >> 10,
            figures.mean,
            figures.largest
        );
        if mean < f64::MAX {
            let ratio = [fastest.0 / update, fastest.1 / query, mean / figures.mean];
            let _ = write!(text, "   {:>7.2}x{:>7.2}x{:>8.2}x", ratio[0], ratio[1], ratio[2]);
        }
        let _ = writeln!(text);
        if figures.too_small > 0 {
            let _ = writeln!(text, "  FAULT: {} keys were counted too small", figures.too_small);
        }
    }
    if mean < f64::MAX {
        let _ = writeln!(
            text,
            "\nx: how many times better than the best of the other libraries, which need not be one and the same.\n\n{}",
            goals(rows, items, keys, fastest, mean)
        );
    }
    text
}

/// Which of ours are faster than every peer, have a tenth of the error, or both.
fn goals(rows: &[(&Entry, Figures)], items: usize, keys: usize, fastest: (f64, f64), mean: f64) -> String {
    let fast = |f: &Figures| f.times(items, keys).0 < fastest.0 && f.times(items, keys).1 < fastest.1;
    let exact = |f: &Figures| f.mean <= mean / 10.0;
    let names = |yes: &dyn Fn(&Figures) -> bool| {
        let names: Vec<&str> = rows.iter().filter(|(e, f)| e.ours && yes(f)).map(|(e, _)| e.name).collect();
        if names.is_empty() { "not met".to_owned() } else { format!("met by {}", names.join(", ")) }
    };
    format!(
        "faster than every other library: {}\na tenth of the least mean error of them: {}\nboth at once: {}\n",
        names(&fast),
        names(&exact),
        names(&|f| fast(f) && exact(f))
    )
}

/// Number `at` of a seeded stream: SplitMix64 (Steele, Lea and Flood 2014), one to one.
fn random(stream: u64, at: u64) -> u64 {
    let mut z = stream.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `items` keys, key r of `universe` with a frequency proportional to r^−`exponent`; keys
/// themselves are random.
fn zipf(items: usize, universe: usize, exponent: f64) -> Vec<u64> {
    let mut sum = 0.0;
    let mut add = |rank: usize| {
        sum += (rank as f64).powf(-exponent);
        sum
    };
    let below: Vec<f64> = (1..=universe).map(&mut add).collect();
    let draw = |at: usize| (random(42, at as u64) >> 11) as f64 / (1u64 << 53) as f64 * below[universe - 1];
    let rank = |at: usize| below.partition_point(|sum| *sum <= draw(at)).min(universe - 1);
    (0..items).map(|at| random(7, rank(at) as u64)).collect()
}

/// Each different key and how often it comes, by key.
fn exact_counts(stream: &[u64]) -> Vec<(u64, u64)> {
    let mut sorted = stream.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_fall_as_the_exponent_says() {
        let stream = zipf(200_000, 1_000, 1.1);
        let count = |rank| stream.iter().filter(|key| **key == random(7, rank)).count() as f64;
        let ratio = count(0) / count(9);
        assert!((ratio - 10f64.powf(1.1)).abs() < 1.5, "{ratio}");
        assert_eq!(exact_counts(&stream).iter().map(|(_, count)| count).sum::<u64>(), 200_000);
    }

    #[test]
    fn every_sketch_counts_all_of_a_small_stream_and_stays_within_its_memory() {
        let (stream, shape) = (zipf(20_000, 500, 1.1), Shape { columns: 1 << 12, rows: 4 });
        let exact = exact_counts(&stream);
        for entry in sketches::roster() {
            let mut figures = Figures::default();
            measure(&entry, shape, &stream, &exact, &mut figures);
            assert_eq!(figures.too_small, 0, "{}", entry.name);
            assert!(figures.mean < 30.0, "{}: {}", entry.name, figures.mean);
            assert!(figures.bytes <= shape.bytes(), "{}: {}", entry.name, figures.bytes);
        }
    }
}
