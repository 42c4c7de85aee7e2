//! What a ribbon filter costs: time to build and to ask, and bits beside the least that any filter
//! needs.
//!
//! `cargo run --release -p gardenia --example ribbon [millions of keys ...] [--threads N] [--level
//! L]`

use gardenia::simd::Level;
use gardenia::theory::ribbon::limit;
use gardenia::{Digest, Ribbon};
use std::hint::black_box;
use std::time::Instant;

/// The best time of a few rounds, in nanoseconds per key.
fn best(rounds: usize, keys: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / keys as f64
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

/// `count` random keys of a stream.
fn keys(stream: u64, count: usize) -> Vec<u64> {
    (1..=count as u32).map(|i| Digest(stream).word(i)).collect()
}

fn main() -> Result<(), gardenia::BuildError> {
    let (mut sizes, mut threads, mut level, mut widths) = (Vec::new(), 1, Level::Avx512, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(1);
        match argument.as_str() {
            "--threads" => threads = number() as usize,
            "--level" => level = [Level::Portable, Level::Avx2, Level::Avx512][number().min(2) as usize],
            "--bits" => widths.push(number()),
            millions => sizes.extend(millions.parse::<f64>().map(|m| (m * 1e6) as usize)),
        }
    }
    if sizes.is_empty() {
        sizes = vec![1_000_000, 10_000_000];
    }
    if widths.is_empty() {
        widths = vec![1, 2, 3, 4, 7, 8, 10, 16, 32];
    }
    println!("{threads} thread(s); ns per key; single calls ask in random order, batches by contains_many");
    println!(
        "     keys   bits  build   hit  miss  batch hit  batch miss  bits/key  x limit  measured / 2^-bits"
    );
    for size in sizes {
        let (present, absent) = (keys(1, size), keys(2, size));
        // In another order than they are stored.
        for &width in &widths {
            let build = || {
                let builder = Ribbon::builder().fingerprint(width).threads(threads).level(level);
                builder.build_from(black_box(&present))
            };
            let set = build()?;
            let build = best(3, size, || _ = black_box(build()));
            let ask = |keys: &[u64]| {
                best(7, size, || _ = black_box(keys.iter().filter(|key| set.contains(*key)).count()))
            };
            let batch = |keys: &[u64]| best(9, size, || _ = black_box(set.contains_many(keys)));
            let (hit, miss) = (ask(&present), ask(&absent));
            let (batch_hit, batch_miss) = (batch(&present), batch(&absent));
            let found = set.contains_many(&absent).into_iter().filter(|found| *found).count();
            let (rate, bits) = (found as f64 / size as f64, set.memory_bytes() as f64 * 8.0 / size as f64);
            println!(
                "{size:9}  {width:5} {build:6.1} {hit:5.1} {miss:5.1}  {batch_hit:9.2}  {batch_miss:10.2}  {bits:8.4}  {:7.4}  {:.4}",
                bits / limit(set.fpp()),
                rate / set.fpp(),
            );
        }
    }
    Ok(())
}
