//! Limit each client to a number of requests, in memory that does not grow with the number of
//! clients.
//!
//! `cargo run --example rate_limiter`

use gardenia::CountMin;
use gardenia::filter::Update;

/// At most this many requests of a client in each window.
const LIMIT: u64 = 100;

struct RateLimiter {
    counts: CountMin,
}

impl RateLimiter {
    fn new() -> Result<Self, gardenia::SizeError> {
        // Counts are never too small, and at most 0.01 % of all requests too large (for 99 % of the clients).
        let counts = CountMin::builder().epsilon(1e-4).delta(0.01).update(Update::Conservative).build()?;
        Ok(Self { counts })
    }

    fn allows(&mut self, client: &str) -> bool {
        self.counts.insert(client);
        self.counts.count(client) <= LIMIT
    }

    /// To be called at the end of each window, say every minute.
    fn next_window(&mut self) {
        self.counts.clear();
    }
}

fn main() -> Result<(), gardenia::SizeError> {
    let mut limiter = RateLimiter::new()?;
    let greedy = (0..1_000).filter(|_| limiter.allows("203.0.113.9")).count();
    let modest = (0..20_000u32).filter(|client| limiter.allows(&format!("198.51.100.{client}"))).count();
    println!("{greedy} of 1000 requests of one client allowed, {modest} of 20000 of others");
    assert_eq!((greedy, modest), (100, 20_000));
    limiter.next_window();
    assert!(limiter.allows("203.0.113.9"));
    Ok(())
}
