//! Any bytes as a distance-sensitive filter.
#![no_main]

use gardenia::{DistanceSensitiveBloom, ReadOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &gardenia_fuzz::sealed(bytes)[..];
    let options = ReadOptions::new().max_bytes(1 << 24).max_samples(1 << 12);
    if let Ok(filter) = DistanceSensitiveBloom::from_bytes_with(bytes, &options) {
        let _ = (filter.fill(), filter.to_bytes().unwrap());
    }
});
