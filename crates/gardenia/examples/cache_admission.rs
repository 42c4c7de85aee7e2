//! Keep one-hit wonders out of a cache: an object is stored when it is asked for the second time.
//!
//! `cargo run --example cache_admission`

use gardenia::A2Bloom;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

fn main() -> Result<(), gardenia::SizeError> {
    // Remembers at least the last 50,000 distinct keys, forgets older ones, and never fills up.
    let mut asked_before = A2Bloom::new(50_000, 0.01)?;
    let mut cache: HashMap<u64, Vec<u8>> = HashMap::new();
    let (mut hits, mut stored) = (0, 0);
    for request in 0..300_000u64 {
        // A third of the requests are for 1,000 popular objects, the others for objects that nobody asks for again.
        let object = if request % 3 == 0 { request / 3 % 1_000 } else { 1_000_000 + request };
        match cache.entry(object) {
            Entry::Occupied(_) => hits += 1,
            Entry::Vacant(place) if !asked_before.insert(object) => {
                place.insert(vec![0; 16]);
                stored += 1;
            }
            Entry::Vacant(_) => {} // asked for the first time
        }
    }
    println!("{hits} hits; {stored} objects stored, where storing all would have stored 201,000");
    assert!(hits > 97_000 && stored < 5_000);
    Ok(())
}
