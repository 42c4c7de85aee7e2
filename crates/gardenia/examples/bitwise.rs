//! How wide should the digits of a bitwise filter be, and what does it cost in time?
//! `cargo run --release -p gardenia --example bitwise`
//!
//! Ten cells per key on the first level, seven probes. First the share of counts that are wrong,
//! for digits of each width and two kinds of counts in random order; then the time of batches of
//! texts, the best of several rounds for each piece of a batch.

use gardenia::{BitwiseBloom, Digest, SizeError};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const PIECE: usize = 4_096;

fn make(keys: u32, digit: u32) -> Result<BitwiseBloom, SizeError> {
    BitwiseBloom::builder().cells(10 * u64::from(keys)).hashes(7).digit(digit).build()
}

/// Each key as often as `counts` says, in random order.
fn shuffled<K: Copy>(keys: &[K], counts: impl Fn(u32) -> u64) -> Vec<K> {
    let times = |(i, key): (u32, &K)| std::iter::repeat_n(*key, counts(i) as usize);
    let mut stream: Vec<K> = (0..).zip(keys).flat_map(times).collect();
    for i in (1..stream.len()).rev() {
        stream.swap(i, (Digest(4).word(i as u32) % (i as u64 + 1)) as usize);
    }
    stream
}

fn errors(name: &str, keys: u32, counts: impl Fn(u32) -> u64 + Copy) -> Result<(), SizeError> {
    let numbers: Vec<u64> = (1..=keys).map(|i| Digest(1).word(i)).collect();
    let stream = shuffled(&numbers, counts);
    for digit in 1..=6 {
        let mut filter = make(keys, digit)?;
        filter.insert_many(&stream);
        let (mut high, mut low) = (0, 0);
        for (i, found) in (0..).zip(filter.count_many(&numbers)) {
            high += u32::from(found > counts(i));
            low += u32::from(found < counts(i));
        }
        let (levels, bits) = (filter.levels().count(), filter.memory_bytes() * 8);
        let [bits, high, low] = [bits as f64, high.into(), low.into()].map(|n| n / f64::from(keys));
        println!("{name:<10}{digit:>5}{levels:>8}{bits:>12.1}{high:>12.5}{low:>12.5}");
    }
    Ok(())
}

/// Nanoseconds per key, the shortest of several rounds for each piece; each round begins with
/// `start`.
fn time<K>(
    keys: &[K],
    filter: &mut BitwiseBloom,
    start: impl Fn(&mut BitwiseBloom),
    work: impl Fn(&mut BitwiseBloom, &[K]),
) -> f64 {
    let mut best = vec![Duration::MAX; keys.chunks(PIECE).count()];
    for _ in 0..ROUNDS {
        start(filter);
        for (piece, best) in keys.chunks(PIECE).zip(&mut best) {
            let start = Instant::now();
            work(filter, piece);
            *best = start.elapsed().min(*best);
        }
    }
    best.iter().sum::<Duration>().as_secs_f64() * 1e9 / keys.len() as f64
}

fn times(name: &str, keys: u32, counts: impl Fn(u32) -> u64) -> Result<(), SizeError> {
    let text = |seed: u64, i: u32| format!("{:016x}", Digest(seed).word(i));
    let texts: Vec<String> = (1..=keys).map(|i| text(2, i)).collect();
    let absent: Vec<String> = (1..=keys).map(|i| text(3, i)).collect();
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let stream = if name == "once" { refs.clone() } else { shuffled(&refs, counts) };
    let mut filter = make(keys, 4)?;
    let insert = time(&stream, &mut filter, BitwiseBloom::clear, |filter, keys| {
        black_box(filter.insert_many(keys));
    });
    let mut ask = |keys: &[&str]| {
        time(keys, &mut filter, |_| (), |filter, keys| _ = black_box(filter.count_many(keys)))
    };
    let count = ask(&refs);
    let none = ask(&absent.iter().map(String::as_str).collect::<Vec<_>>());
    let found = time(&absent, &mut filter, |_| (), |filter, keys| _ = black_box(filter.contains_many(keys)));
    let levels = filter.levels().count();
    println!("{name:<10}{levels:>7}{insert:>10.1}{count:>10.1}{none:>14.1}{found:>17.1}");
    Ok(())
}

fn main() -> Result<(), SizeError> {
    println!("counts    digit  levels    bits/key    too high     too low");
    errors("1/rank", 100_000, |i| u64::from(100_000 / (4 * (i + 1))) + 1)?;
    errors("1 to 20", 100_000, |i| 1 + Digest(5).word(i + 1) % 20)?;
    println!("\ncounts     levels    insert     count  count absent  contains absent  (ns, a million texts)");
    times("once", 1_000_000, |_| 1)?;
    times("1/rank", 1_000_000, |i| u64::from(1_000_000 / (16 * (i + 1))) + 1)
}
