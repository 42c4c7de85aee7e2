//! What does it cost to keep the counters in a file? `cargo run --release -p gardenia --example
//! split [FOLDER] [KEYS]`
//!
//! A million keys unless given, ten cells each, four bits per cell: a plain filter, a counting
//! filter in memory, and the split form with its files in FOLDER (unless given, the system's for
//! temporary files). One key at a time, and in batches. The median over pieces of 2,000 keys, and
//! of that the best of several rounds.

use gardenia::index::{AnyScheme, SchemeId};
use gardenia::{Bloom, CountingBloom, Digest, SplitBloom};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const PIECE: usize = 2_000;
const ROUNDS: u32 = 5;

/// Nanoseconds per key of `work`: the median over pieces, and the smaller of that and `best`.
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

/// The costs of a filter that can remove keys again.
macro_rules! costs {
    ($filter:expr, $keys:expr, $absent:expr) => {{
        let [mut insert, mut batch, mut remove, mut present, mut absent, mut count] = [f64::INFINITY; 6];
        let mut filter = $filter;
        for _ in 0..ROUNDS {
            time(&mut insert, $keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.insert(key))));
            time(&mut remove, $keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.remove(key))));
            time(&mut batch, $keys, |keys| _ = black_box(filter.insert_many(keys)));
            time(&mut present, $keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.contains(key))));
            time(&mut absent, $absent, |keys| {
                keys.iter().for_each(|key| _ = black_box(filter.contains(key)))
            });
            time(&mut count, $keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.count(key))));
            time(&mut remove, $keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.remove(key))));
        }
        (filter, [insert, batch, remove, present, absent, count])
    }};
}

fn main() -> Result<(), Box<dyn Error>> {
    let number = std::env::args().nth(2).map_or(Ok(1_000_000), |keys| keys.parse())?;
    let keys: Vec<u64> = (1..=number).map(|i| Digest(1).word(i)).collect();
    let others: Vec<u64> = (1..=number).map(|i| Digest(2).word(i)).collect();
    let directory = match std::env::args().nth(1) {
        Some(directory) => tempfile::tempdir_in(directory)?,
        None => tempfile::tempdir()?,
    };
    let path = directory.path().join("bed.gdn");

    // With a scheme that is known at run time only, as the others have it, and as it comes from a file.
    let builder = Bloom::builder().bits(u64::from(number) * 10).items(number.into());
    let mut filter = builder.scheme(move |hashes| AnyScheme::new(SchemeId::Fractional, hashes)).build()?;
    let [mut insert, mut batch, mut present, mut absent] = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        filter.clear();
        time(&mut insert, &keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.insert(key))));
        filter.clear();
        time(&mut batch, &keys, |keys| _ = black_box(filter.insert_many(keys)));
        time(&mut present, &keys, |keys| keys.iter().for_each(|key| _ = black_box(filter.contains(key))));
        time(&mut absent, &others, |keys| keys.iter().for_each(|key| _ = black_box(filter.contains(key))));
    }
    let plain = [insert, batch, f64::NAN, present, absent, f64::NAN];
    let builder = CountingBloom::builder().cells(u64::from(number) * 10).items(number.into());
    let (_, counting) = costs!(builder.clone().build()?, &keys, &others);
    let (mut bed, split) = costs!(SplitBloom::create(&path, builder)?, &keys, &others);

    print!("{:<10}", "ns per key");
    ["insert", "batch", "remove", "present", "absent", "count"].iter().for_each(|name| print!("{name:>10}"));
    for (name, row) in [("plain", plain), ("counting", counting), ("split", split)] {
        print!("\n{name:<10}");
        row.iter().for_each(|ns| print!("{ns:>10.1}"));
    }
    println!();
    bed.insert_many(&keys);
    for crash in [true, false] {
        let start = Instant::now();
        if crash {
            drop(bed); // with changes: not closed
        } else {
            bed.close()?;
            println!("closed in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
        }
        let start = Instant::now();
        bed = SplitBloom::open(&path)?;
        println!("opened in {:.1} ms: {:?}", start.elapsed().as_secs_f64() * 1e3, bed.opening());
    }
    Ok(())
}
