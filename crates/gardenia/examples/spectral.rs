//! The algorithms of the spectral Bloom filter side by side: how often and how far they err in the
//! same memory, what plain and compact cells take, and what a key costs.
//!
//! `cargo run --release -p gardenia --example spectral [errors|sizes|speed] [keys]`
//!
//! Nothing is claimed here: it prints what comes out.

use gardenia::filter::PolicyId;
use gardenia::{Builder, Digest, SpectralBloom};
use std::hint::black_box;
use std::time::Instant;

/// An algorithm and, for recurring minimum, whether it has its marker.
const ALGORITHMS: [(&str, PolicyId, bool); 4] = [
    ("minimum selection", PolicyId::MinimumSelection, false),
    ("minimum increase", PolicyId::MinimumIncrease, false),
    ("recurring minimum, no marker", PolicyId::RecurringMinimum, false),
    ("recurring minimum", PolicyId::RecurringMinimum, true),
];

/// Exponents of Zipf's law; with 0 all keys come alike.
const SPREADS: [f64; 4] = [0.0, 0.8, 1.0, 1.2];

/// Bits per cell of plain cells.
const WIDTH: u64 = 16;

fn main() {
    let mut args = std::env::args().skip(1);
    let what = args.next();
    let keys = args.next().and_then(|keys| keys.parse().ok());
    let wanted = |name: &str| what.as_deref().is_none_or(|what| what == name);
    if wanted("errors") {
        errors(keys.unwrap_or(20_000));
    }
    if wanted("sizes") {
        sizes(keys.unwrap_or(100_000));
    }
    if wanted("speed") {
        speed(keys.unwrap_or(1_000_000));
    }
}

/// A builder by one of the algorithms.
fn builder(policy: PolicyId, marker: bool) -> Builder<SpectralBloom<PolicyId>> {
    let builder = SpectralBloom::builder().policy(policy);
    if policy == PolicyId::RecurringMinimum { builder.marker(marker) } else { builder }
}

/// A stream of ten times as many keys as there are different ones, each of which comes at least
/// once; and how often each does.
fn stream(items: u64, exponent: f64, seed: u64) -> (Vec<u64>, Vec<u64>) {
    let mut sum = 0.0;
    let weights = (1..=items).map(|rank| (rank as f64).powf(-exponent));
    let upto: Vec<f64> = weights
        .scan(&mut sum, |sum, weight| {
            **sum += weight;
            Some(**sum)
        })
        .collect();
    let mut keys: Vec<u64> = (0..items).collect();
    keys.extend((1..=9 * items).map(|draw| {
        let point = (Digest(seed).word(draw as u32) >> 11) as f64 / (1u64 << 53) as f64 * sum;
        upto.partition_point(|&upto| upto <= point).min(items as usize - 1) as u64
    }));
    for last in (1..keys.len()).rev() {
        let other = (u128::from(Digest(!seed).word(last as u32)) * (last as u128 + 1)) >> 64;
        keys.swap(last, other as usize);
    }
    let mut counts = vec![0; items as usize];
    keys.iter().for_each(|key| counts[*key as usize] += 1);
    (keys, counts)
}

fn spread_name(exponent: f64) -> String {
    if exponent == 0.0 { "uniform".to_owned() } else { format!("Zipf {exponent}") }
}

fn errors(items: u64) {
    const TRIALS: u64 = 5;
    let bits = 10 * WIDTH * items;
    println!(
        "Errors at equal memory: {items} different keys, ten times as many in all, {} bits for each",
        bits / items
    );
    println!(
        "{:<10} {:<30} {:>7} {:>3} {:>9} {:>11} {:>11}",
        "keys", "algorithm", "cells", "k", "wrong", "too small", "mean error"
    );
    for exponent in SPREADS {
        let streams: Vec<_> = (0..TRIALS).map(|seed| stream(items, exponent, seed)).collect();
        for (name, policy, marker) in ALGORITHMS {
            // A primary cell comes with half a secondary one, and a bit of the marker.
            let cells = match (policy, marker) {
                (PolicyId::RecurringMinimum, true) => 2 * bits / (3 * WIDTH + 2),
                (PolicyId::RecurringMinimum, false) => 2 * bits / (3 * WIDTH),
                _ => bits / WIDTH,
            };
            let (mut wrong, mut small, mut size, mut hashes) = (0, 0, 0, 0);
            for (seed, (keys, counts)) in streams.iter().enumerate() {
                let builder = builder(policy, marker).items(items).cells(cells).seed(seed as u64);
                let mut filter = builder.build().expect("a filter of this size");
                assert!(filter.memory_bytes() as u64 * 8 <= bits + 3 * 64, "more memory than the others");
                filter.insert_many(keys);
                let told = filter.count_many(&(0..items).collect::<Vec<_>>());
                for (told, count) in told.iter().zip(counts) {
                    wrong += u64::from(told != count);
                    small += u64::from(told < count);
                    size += told.abs_diff(*count);
                }
                hashes = filter.hashes();
            }
            let all = (TRIALS * items) as f64;
            println!(
                "{:<10} {name:<30} {cells:>7} {hashes:>3} {:>8.3}% {:>10.4}% {:>11.4}",
                spread_name(exponent),
                100.0 * wrong as f64 / all,
                100.0 * small as f64 / all,
                size as f64 / all
            );
        }
    }
    println!();
}

fn sizes(items: u64) {
    println!("Memory: {items} different keys, ten times as many in all, 10 cells for each");
    println!(
        "{:<10} {:<30} {:>14} {:>14} {:>15} {:>14}",
        "keys", "algorithm", "plain/cell", "compact/cell", "compact/key", "stored/key"
    );
    for exponent in SPREADS {
        let (keys, _) = stream(items, exponent, 1);
        for (name, policy, marker) in ALGORITHMS {
            let fill = |compact| {
                let builder = builder(policy, marker).items(items).cells(10 * items);
                let builder = if compact { builder.compact() } else { builder.width(WIDTH as u32) };
                let mut filter = builder.build().expect("a filter of this size");
                filter.insert_many(&keys);
                filter
            };
            let (plain, compact) = (fill(false), fill(true));
            let cells = (plain.cells() + plain.secondary_cells()) as f64;
            let bits = |bytes: usize| bytes as f64 * 8.0;
            let stored = compact.to_bytes().expect("portable keys").len();
            println!(
                "{:<10} {name:<30} {:>9.2} bits {:>9.2} bits {:>10.2} bits {:>9.2} bits",
                spread_name(exponent),
                bits(plain.memory_bytes()) / cells,
                bits(compact.memory_bytes()) / cells,
                bits(compact.memory_bytes()) / items as f64,
                bits(stored) / items as f64
            );
        }
    }
    println!();
}

fn speed(items: u64) {
    println!(
        "Nanoseconds per key: {items} different texts of 20 bytes, 10 cells for each, 7 probes, {WIDTH} bits"
    );
    println!(
        "{:<30} {:>15} {:>15} {:>15} {:>15}",
        "algorithm", "insert, batch", "count, batch", "insert, single", "count, single"
    );
    let keys: Vec<String> = (1..=items).map(|i| format!("key-{:016x}", Digest(7).word(i as u32))).collect();
    for compact in [false, true] {
        for (name, policy, marker) in ALGORITHMS {
            let builder = builder(policy, marker).cells(10 * items).hashes(7);
            let builder = if compact { builder.compact() } else { builder.width(WIDTH as u32) };
            let mut filter = builder.build().expect("a filter of this size");
            let times = [
                best(&mut filter, &keys, SpectralBloom::clear, |filter, keys| _ = filter.insert_many(keys)),
                best(&mut filter, &keys, |_| (), |filter, keys| _ = black_box(filter.count_many(keys))),
                best(&mut filter, &keys, SpectralBloom::clear, |filter, keys| {
                    keys.iter().for_each(|key| _ = black_box(filter.insert(key)));
                }),
                best(
                    &mut filter,
                    &keys,
                    |_| (),
                    |filter, keys| {
                        keys.iter().for_each(|key| _ = black_box(filter.count(key)));
                    },
                ),
            ];
            let name = if compact { format!("{name}, compact") } else { name.to_owned() };
            println!("{name:<37} {:>8.1} {:>15.1} {:>15.1} {:>15.1}", times[0], times[1], times[2], times[3]);
        }
    }
}

/// Nanoseconds per key of `work` on all keys, 16,384 at a time: of each piece the best of seven
/// rounds, before each of which `before` is done. What another program took from one round is not
/// counted.
fn best<F>(
    filter: &mut F,
    keys: &[String],
    mut before: impl FnMut(&mut F),
    mut work: impl FnMut(&mut F, &[String]),
) -> f64 {
    let pieces: Vec<&[String]> = keys.chunks(16_384).collect();
    let mut least = vec![f64::MAX; pieces.len()];
    for _ in 0..7 {
        before(filter);
        for (piece, least) in pieces.iter().zip(&mut least) {
            let start = Instant::now();
            work(filter, piece);
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    least.iter().sum::<f64>() * 1e9 / keys.len() as f64
}
