//! Several threads fill one filter: `insert` needs no `&mut`.
//!
//! `cargo run --example threads`

use gardenia::AtomicBlockedBloom;
use std::thread;

fn main() -> Result<(), gardenia::SizeError> {
    let seen = AtomicBlockedBloom::new(400_000, 0.001)?;
    let new: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|worker| {
                let seen = &seen;
                // Each pair of neighbours shares half of its keys.
                scope.spawn(move || {
                    let keys: Vec<u64> = (worker * 100_000..worker * 100_000 + 200_000).collect();
                    seen.insert_many(&keys)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no thread panics")).sum()
    });
    // Of threads that insert one key at the same time, exactly one is told that it was new.
    println!("800,000 insertions, {new} new keys");
    assert!((499_000..=500_000).contains(&new));
    assert!((0..500_000u64).all(|key| seen.contains(key)));
    Ok(())
}
