//! What cuckoo filters take and how often they err, ours beside RedisBloom's layout: the figures at
//! the top of `values/cuckoo.rs` and in `docs/redis.md`.
//!
//! `cargo run --release -p gardenia-redis --example cuckoo_space`

use gardenia_redis::redisbloom::cuckoo::{CuckooChain, Limits};
use gardenia_redis::values::cuckoo::CuckooPlan;

/// Keys that are not in and asked for.
const PROBES: u64 = 200_000;

/// How often `contains` is true of keys that were never added.
fn rate(contains: impl Fn(&[u8]) -> bool) -> f64 {
    let wrong = (0..PROBES).filter(|probe| contains(&(probe + (1 << 40)).to_le_bytes())).count();
    100.0 * wrong as f64 / PROBES as f64
}

fn main() {
    println!("reserved  expansion     keys | RedisBloom's: filters, bits per key, rate | ours");
    let cases = [
        (1_000, 1, 1_000),
        (100_000, 1, 100_000),
        (1_000_000, 1, 1_000_000),
        (1_000, 1, 10_000),
        (1_000, 1, 30_000),
        (1_000, 2, 60_000),
        (1_000, 2, 100_000),
    ];
    for (capacity, expansion, keys) in cases {
        let mut theirs = CuckooChain::new(capacity, 2, 20, expansion, u64::MAX).expect("it is small");
        let plan = CuckooPlan { capacity, bucket_size: 2, iterations: 20, expansion, seed: 7 };
        let mut ours = plan.build(u64::MAX).expect("it is small");
        for key in 0..keys {
            let key = u64::to_le_bytes(key);
            theirs.insert(&key, Limits::default()).expect("32 tables take them");
            ours.insert(&key, || u64::MAX).expect("32 filters take them");
        }
        let bits = |bytes: u64| 8.0 * bytes as f64 / keys as f64;
        // Of both the slots alone.
        let slots = theirs.buckets()
            * 2
            * (0..theirs.tables()).map(|n| u64::from(expansion).pow(n as u32)).sum::<u64>();
        println!(
            "{capacity:8} {expansion:10} {keys:8} | {:10} {:13.1} {:8.2} % | {:2} {:6.1} {:6.2} %",
            theirs.tables(),
            bits(slots),
            rate(|key| theirs.contains(key)),
            ours.filters(),
            bits(ours.memory_bytes()),
            rate(|key| ours.contains(key)),
        );
    }
}
