//! What does a cuckoo filter cost, and how full can it be?
//!
//! `cargo run --release -p gardenia --example cuckoo [KEYS …]`: nanoseconds per key, bits per key,
//! the rate of false positives and the load at which a filter of that size was full, for 10⁶ and
//! 10⁷ keys unless given. `… --example cuckoo loads`: how often small filters are full before so
//! many buckets hold the keys that they were sized for, and the load that large ones reach with
//! fingerprints of each width.

use gardenia::theory::cuckoo::{buckets, fpp};
use gardenia::{Cuckoo, Digest};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 3;
const PIECE: usize = 2_000;

/// Nanoseconds per key of `work`: the median over pieces, if less than `best`. Other programs
/// disturb some pieces, and a mean would tell more about them.
fn time(best: &mut f64, keys: &[u64], mut work: impl FnMut(&[u64])) {
    let piece = |keys: &[u64]| {
        let start = Instant::now();
        work(keys);
        start.elapsed().as_secs_f64() * 1e9 / keys.len() as f64
    };
    let mut pieces: Vec<f64> = keys.chunks(PIECE).map(piece).collect();
    pieces.sort_by(f64::total_cmp);
    *best = best.min(pieces[pieces.len() / 2]);
}

/// The same of a filter that fills: its cost grows on the way, so the mean over eight stretches.
fn time_filling(best: &mut f64, keys: &[u64], mut work: impl FnMut(&[u64])) {
    let mut stretches = [f64::INFINITY; 8];
    let parts = keys.chunks(keys.len().div_ceil(stretches.len()));
    parts.zip(&mut stretches).for_each(|(keys, stretch)| time(stretch, keys, &mut work));
    *best = best.min(stretches.iter().sum::<f64>() / stretches.len() as f64);
}

fn stream(seed: u64, count: u32) -> impl Iterator<Item = u64> {
    (1..=count).map(move |i| Digest(seed).word(i))
}

/// The load at which `filter` is full.
fn filled(filter: &mut Cuckoo, seed: u64) -> f64 {
    let mut number = 0;
    while filter.insert_digest(Digest(Digest(seed).word(number))).is_ok() {
        number += 1;
    }
    filter.fill()
}

fn costs(count: u32, rate: f64) -> Result<(), Box<dyn Error>> {
    let keys: Vec<u64> = stream(1, count).collect();
    let others: Vec<u64> = stream(2, count).collect();
    let mut ns = [f64::INFINITY; 7];
    let mut filter = Cuckoo::new(count.into(), rate)?;
    let [insert, insert_batch, hit, miss, hit_batch, miss_batch, remove] = &mut ns;
    let mut passed = 0;
    for _ in 0..ROUNDS {
        filter.clear();
        time_filling(insert, &keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.insert(key))));
        assert_eq!(filter.items(), u64::from(count));
        filter.clear();
        time_filling(insert_batch, &keys, |keys| _ = black_box(filter.insert_many(keys)));
        time(hit, &keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.contains(key))));
        time(miss, &others, |keys| keys.iter().for_each(|key| _ = black_box(filter.contains(key))));
        time(hit_batch, &keys, |keys| _ = black_box(filter.contains_many(keys)));
        time(miss_batch, &others, |keys| _ = black_box(filter.contains_many(keys)));
        passed = filter.contains_many(&others).iter().filter(|found| **found).count();
        assert!(filter.contains_many(&keys).iter().all(|found| *found));
        let mut copy = filter.clone();
        time(remove, &keys, |keys| keys.iter().for_each(|key| _ = black_box(copy.remove(key))));
        assert_eq!((copy.items(), copy.fill()), (0, 0.0));
    }
    print!("{count:>10} {rate:>7} {:>5}", filter.width());
    ns.iter().for_each(|ns| print!("{ns:>8.1}"));
    let bits = filter.memory_bytes() as f64 * 8.0 / f64::from(count);
    let (measured, load) = (passed as f64 / f64::from(count), filter.fill());
    filter.clear();
    println!("{bits:>8.2} {measured:>9.2e} {load:>6.3} {:>6.3}", filled(&mut filter, 3));
    Ok(())
}

fn loads() -> Result<(), Box<dyn Error>> {
    println!("{:>8} {:>8} {:>9} {:>9} {:>8} {:>8}", "keys", "buckets", "trials", "full", "least", "mean");
    for count in [9u64, 12, 16, 24, 32, 48, 64, 100, 200, 400, 1_000, 3_000, 10_000, 100_000] {
        let trials = (20_000_000 / count).min(1_000_000);
        let (mut early, mut least, mut sum) = (0, 1.0f64, 0.0);
        let mut filter = Cuckoo::builder().cells(buckets(count) * 4).width(12).build()?;
        for trial in 0..trials {
            filter.clear();
            let load = filled(&mut filter, Digest(count).word(trial as u32));
            early += u64::from(filter.items() < count);
            (least, sum) = (least.min(load), sum + load);
        }
        let mean = sum / trials as f64;
        println!("{count:>8} {:>8} {trials:>9} {early:>9} {least:>8.3} {mean:>8.3}", buckets(count));
    }
    println!("{:>8} {:>8} {:>8}", "width", "10⁵", "4·10⁶");
    for width in 4..=12 {
        let load = |cells| {
            Ok::<_, gardenia::SizeError>(filled(&mut Cuckoo::builder().cells(cells).width(width).build()?, 5))
        };
        println!("{width:>8} {:>8.4} {:>8.4}", load(100_000)?, load(4_000_000)?);
    }
    println!("{:>8} {:>8} {:>8}", "copies", "in turn", "at once");
    for copies in 1..=5 {
        let mut in_turn = Cuckoo::builder().cells(copies * 100_000).width(16).build()?;
        let mut at_once = in_turn.clone();
        // Each key of a round again, or all copies of a key together: how many keys fit decides the load.
        let fits = |filter: &mut Cuckoo, keys: u32, in_turn: bool| {
            filter.clear();
            let (outer, inner) = if in_turn { (copies as u32, keys) } else { (keys, copies as u32) };
            (0..outer).all(|a| {
                (0..inner).all(|b| {
                    let number = if in_turn { b } else { a };
                    filter.insert_digest(Digest(Digest(6).word(number))).is_ok()
                })
            })
        };
        let load = |filter: &mut Cuckoo, turn: bool| {
            let (mut low, mut high) = (0, 100_001);
            while high - low > 100 {
                let keys = (low + high) / 2;
                if fits(filter, keys, turn) { low = keys } else { high = keys }
            }
            f64::from(low) / 1e5
        };
        println!("{copies:>8} {:>8.3} {:>8.3}", load(&mut in_turn, true), load(&mut at_once, false));
    }
    println!("rate at a load of 0.95 and 8 bits: {:.4}", fpp(100, 95, 8));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "loads") {
        return loads();
    }
    print!("{:>10} {:>7} {:>5}", "keys", "rate", "width");
    ["insert", "batch", "hit", "miss", "hits", "misses", "remove"]
        .iter()
        .for_each(|name| print!("{name:>8}"));
    println!("{:>8} {:>9} {:>6} {:>6}", "bits", "measured", "load", "full at");
    let counts = words.iter().map(|word| word.parse()).collect::<Result<Vec<u32>, _>>()?;
    for count in if counts.is_empty() { vec![1_000_000, 10_000_000] } else { counts } {
        for rate in [0.03, 0.01, 0.001, 1e-6] {
            costs(count, rate)?;
        }
    }
    Ok(())
}
