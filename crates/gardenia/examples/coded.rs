//! What do coded sets take, in bits and in time?
//! `cargo run --release -p gardenia --example coded [items]`
//!
//! Golomb-coded sets of random digests: bits per key against theory, and the time to build and to
//! ask. Compressed Bloom filters of the shapes in Mitzenmacher's paper: bits per key sent against
//! the entropy, false positives, and the megabytes of bits coded and decoded in a second. Times are
//! the best of several rounds.

use gardenia::theory::{compressed::wire_bits, golomb};
use gardenia::{CompressedBloom, Digest, GolombSet, SizeError, format};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 5;

/// The best of several rounds, in seconds.
fn best<T>(mut work: impl FnMut() -> T) -> f64 {
    let round = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn drawn(seed: u64, count: u32) -> Vec<Digest> {
    (1..=count).map(|i| Digest(Digest(seed).word(i))).collect()
}

fn sets(items: u32) -> Result<(), SizeError> {
    println!("Golomb-coded sets of {items} keys: bits per key, then ns per key");
    println!(
        "{:>8} {:>6} {:>5} {:>7} {:>7} {:>7} {:>7} | {:>6} {:>6} {:>6} {:>6} {:>6}",
        "fpp", "code", "run", "codes", "theory", "entropy", "all", "build", "hit", "miss", "batch", "any"
    );
    let digests = drawn(1, items);
    let absent = drawn(2, 200_000);
    for (fpp, rice, run) in [
        (0.01, false, None),
        (0.01, true, None),
        (0.01, false, Some(64)),
        (0.01, false, Some(16)),
        (0.001, false, None),
        (1.0 / 784_931.0, false, None),
        (1.0 / 784_931.0, true, None),
    ] {
        let builder = GolombSet::builder().fpp(fpp);
        let builder = if rice { builder.rice() } else { builder };
        let builder = run.map_or(builder.clone(), |run| builder.gaps_per_run(run));
        let set = builder.clone().build_from_digests(digests.clone())?;
        let build = best(|| builder.clone().build_from_digests(digests.clone()).map(|set| set.values()));
        let few = &digests[..digests.len().min(200_000)];
        let ask = |keys: &[Digest]| keys.iter().filter(|key| set.contains_digest(**key)).count();
        let mut answers = vec![false; absent.len()];
        let times = [
            best(|| ask(few)) / few.len() as f64,
            best(|| ask(&absent)) / absent.len() as f64,
            best(|| set.contains_digests(&absent, &mut answers)) / absent.len() as f64,
            // Until the first that is found: here none of 1/fpp/10 keys, most often.
            best(|| set.contains_any_digest(absent[..(0.1 / fpp) as usize % 200_000].to_vec())) * 10.0 * fpp,
        ];
        let per_key = |bits: f64| bits / set.items() as f64;
        let mean = set.range() as f64 / set.values() as f64;
        print!(
            "{fpp:>8.1e} {:>6} {:>5} {:>7.3} {:>7.3} {:>7.3} {:>7.3} | {:>6.1}",
            if rice { "rice" } else { "golomb" },
            run.map_or("-".to_owned(), |run| run.to_string()),
            per_key(set.code_bits() as f64),
            per_key(set.values() as f64 * golomb::bits(mean, set.divisor())),
            per_key(set.values() as f64 * golomb::entropy(mean)),
            per_key(set.memory_bytes() as f64 * 8.0),
            build * 1e9 / f64::from(items),
        );
        times.iter().for_each(|time| print!(" {:>6.1}", time * 1e9));
        println!();
    }
    Ok(())
}

fn filters(items: u32) -> Result<(), SizeError> {
    println!("\ncompressed Bloom filters of {items} keys");
    println!(
        "{:>6} {:>2} {:>8} {:>8} {:>8} {:>9} {:>9} | {:>8} {:>8}",
        "memory", "k", "sent", "theory", "entropy", "fpp", "measured", "MB/s out", "MB/s in"
    );
    let digests = drawn(1, items);
    let absent = drawn(2, 2_000_000);
    for (memory, hashes) in [(8.0, 6), (14.0, 2), (92.0, 1), (16.0, 11), (28.0, 4), (48.0, 3)] {
        let bits = (memory * f64::from(items)) as u64;
        let mut filter = CompressedBloom::builder().bits(bits).hashes(hashes).build()?;
        filter.insert_digests(&digests, &mut vec![false; digests.len()]);
        let bytes = filter.to_bytes().expect("portable keys");
        let sent = format::header(&bytes[..]).expect("an own header").payload_len as f64 * 8.0;
        let mut answers = vec![false; absent.len()];
        filter.contains_digests(&absent, &mut answers);
        let found = answers.iter().filter(|answer| **answer).count() as f64 / absent.len() as f64;
        let megabytes = bits as f64 / 8e6;
        let out = megabytes / best(|| filter.to_bytes().map(|bytes| bytes.len()));
        let back = megabytes / best(|| CompressedBloom::from_bytes(&bytes).map(|filter| filter.bits()));
        println!(
            "{memory:>6} {hashes:>2} {:>8.4} {:>8.4} {:>8.4} {:>9.3e} {found:>9.3e} | {out:>8.0} {back:>8.0}",
            sent / f64::from(items),
            wire_bits(memory, hashes),
            filter.expected_wire_bits() / f64::from(items),
            filter.fpp(),
        );
    }
    Ok(())
}

fn main() -> Result<(), SizeError> {
    let items = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    sets(items)?;
    filters(items)
}
