//! What does a query cost under each scheme? `cargo run --release -p gardenia --example schemes`
//!
//! One filter per scheme, 100,000 keys at 1 % (in cache), asked one key at a time: best of several rounds.

use gardenia::index::{AnyScheme, SchemeId};
use gardenia::{Bloom, Digest};
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() -> Result<(), gardenia::SizeError> {
    let keys: Vec<u64> = (1..=100_000).map(|i| Digest(1).word(i)).collect();
    let absent: Vec<u64> = (1..=100_000).map(|i| Digest(2).word(i)).collect();
    println!("{:<24}{:>8}{:>8}  ns per query", "scheme", "present", "absent");
    for id in SchemeId::ALL {
        let builder = Bloom::builder().items(100_000).fpp(0.01).scheme(move |k| AnyScheme::new(id, k));
        let mut filter = builder.build()?;
        filter.insert_many(&keys);
        let cost = |keys: &[u64]| {
            let round = |_| {
                let start = Instant::now();
                keys.iter().for_each(|key| _ = black_box(filter.contains(key)));
                start.elapsed()
            };
            (0..40).map(round).min().unwrap_or(Duration::ZERO).as_secs_f64() * 1e9 / keys.len() as f64
        };
        println!("{:<24}{:>8.1}{:>8.1}", id.name(), cost(&keys), cost(&absent));
    }
    Ok(())
}
