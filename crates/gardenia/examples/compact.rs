//! What do compact counters take, in bits and in time? `cargo run --release -p gardenia --example
//! compact
//! [cells…]`
//!
//! The cells of a spectral filter: a tenth as many keys as cells, each of which adds its frequency
//! to seven cells. Frequencies are all 1, or all 10, or follow Zipf's law with ten times as many
//! occurrences as keys. Times are the best of many short rounds, for cells in random order;
//! "stream" adds to the cells of keys drawn by their frequency, and "fill" is the median round of
//! the filling.

use gardenia::cells::{Bytes, Compact, CompactView, Counters, Memory};
use gardenia::{Digest, SizeError};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

const HASHES: u64 = 7;
const ROUND: usize = 1 << 13;

/// Cell number `i` of all that are drawn from a seed.
fn cell(seed: u64, i: u64, cells: u64) -> u64 {
    ((u128::from(Digest(seed.wrapping_add(i << 20)).word(1)) * u128::from(cells)) >> 64) as u64
}

/// How often each key occurs; the keys come in no order of their own.
fn frequencies(keys: u64, total: u64, exponent: f64) -> Vec<u64> {
    let share: Vec<f64> = (1..=keys).map(|i| (i as f64).powf(-exponent)).collect();
    let sum: f64 = share.iter().sum();
    let of = |i: u64| (total as f64 * share[(i * 7_368_787 % keys) as usize] / sum).round().max(1.0) as u64;
    (0..keys).map(of).collect()
}

/// Nanoseconds per cell that one call takes.
fn time(cells: &[u64], mut call: impl FnMut(u64) -> u64) -> f64 {
    let start = Instant::now();
    black_box(cells.iter().fold(0, |sum, &at| sum ^ call(at)));
    start.elapsed().as_secs_f64() * 1e9 / cells.len() as f64
}

/// The best of many rounds, for each of some calls.
fn best<const N: usize>(cells: &[u64], mut round: impl FnMut(&[u64]) -> [f64; N]) -> [f64; N] {
    cells.chunks_exact(ROUND).fold([f64::INFINITY; N], |best, cells| {
        let times = round(cells);
        std::array::from_fn(|i| best[i].min(times[i]))
    })
}

fn entropy(values: &[u64]) -> f64 {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    values.iter().for_each(|&value| *counts.entry(value).or_default() += 1);
    let share = |&count: &u64| count as f64 / values.len() as f64;
    counts.values().map(share).map(|p| -p * p.log2()).sum()
}

fn line(name: &str, cells: u64, frequencies: &[u64]) -> Result<(), SizeError> {
    let mut counters = Compact::new(cells)?;
    let keys = (0..).zip(frequencies);
    let drawn: Vec<(u64, u64)> =
        keys.flat_map(|(i, &f)| (0..HASHES).map(move |j| (cell(1, HASHES * i + j, cells), f))).collect();
    let mut rounds: Vec<f64> = drawn
        .chunks(ROUND)
        .map(|round| {
            let start = Instant::now();
            round.iter().for_each(|&(at, f)| _ = black_box(counters.add(at, f)));
            start.elapsed().as_secs_f64() * 1e9 / round.len() as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let fill = rounds[rounds.len() / 2];

    let values: Vec<u64> = (0..cells).map(|at| counters.get(at)).collect();
    let sum = drawn.iter().map(|&(_, f)| f).sum::<u64>();
    assert_eq!(values.iter().sum::<u64>(), sum);
    let lengths: u64 = values.iter().map(|v| u64::from(64 - v.leading_zeros())).sum();
    let width = 64 - values.iter().max().map_or(0, |v| v.leading_zeros());
    let plain = Counters::new(cells, width)?;
    let words = counters.to_words()?;
    let bits = |bits: u64| bits as f64 / cells as f64;
    print!(
        "{name:>5} {:>8.3} {:>9.3} {:>6.3} {:>6.3} {:>7.3} {:>7.3}",
        bits(8 * counters.memory_bytes()),
        bits(64 * words.words() as u64),
        bits(64 * plain.memory().words() as u64),
        bits(lengths),
        entropy(&values),
        1.5 * bits(lengths) + 1.5,
    );

    let random: Vec<u64> = (0..100 * ROUND as u64).map(|i| cell(2, i, cells)).collect();
    let [get] = best(&random, |round| [time(round, |at| counters.get(at))]);
    let bytes: Vec<u8> = words.as_slice().iter().flat_map(|word| word.to_le_bytes()).collect();
    let view = CompactView::new(Bytes(&bytes[..]), cells).expect("canonical words");
    let [view] = best(&random, |round| [time(round, |at| view.get(at))]);
    // Each round is undone, so that the load stays the same.
    let [add, sub] =
        best(&random, |round| [time(round, |at| counters.add(at, 1)), time(round, |at| counters.sub(at, 1))]);
    // More of the same keys, as often as they are frequent.
    let mut up_to = Vec::new();
    frequencies.iter().fold(0, |sum, f| (up_to.push(sum + f), sum + f).1);
    let key = |i: u64| up_to.partition_point(|&end| end <= cell(3, i, sum / HASHES)) as u64;
    let stream: Vec<u64> = (0..100 * ROUND as u64 / HASHES)
        .map(key)
        .flat_map(|key| (0..HASHES).map(move |j| cell(1, HASHES * key + j, cells)))
        .collect();
    let [stream, _] =
        best(&stream, |round| [time(round, |at| counters.add(at, 1)), time(round, |at| counters.sub(at, 1))]);
    println!(" | {get:>5.1} {view:>5.1} {add:>6.1} {sub:>6.1} {stream:>7.1} {fill:>6.1}");
    Ok(())
}

fn main() -> Result<(), SizeError> {
    let sizes: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    for cells in if sizes.is_empty() { vec![100_000, 1_000_000, 10_000_000] } else { sizes } {
        println!("{cells} cells: bits per cell, then ns per call");
        println!(
            "{:>5} {:>8} {:>9} {:>6} {:>6} {:>7} {:>7} | {:>5} {:>5} {:>6} {:>6} {:>7} {:>6}",
            "zipf",
            "memory",
            "canonical",
            "plain",
            "length",
            "entropy",
            "bound",
            "get",
            "view",
            "add",
            "sub",
            "stream",
            "fill"
        );
        let keys = (cells / 10).max(1);
        line("ones", cells, &vec![1; keys as usize])?;
        line("tens", cells, &vec![10; keys as usize])?;
        for exponent in [0.8, 1.0, 1.2] {
            line(&exponent.to_string(), cells, &frequencies(keys, 10 * keys, exponent))?;
        }
    }
    Ok(())
}
