//! Any bytes as a filter of BIP 158.
#![no_main]

use gardenia::format::bip158::BasicFilter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(filter) = BasicFilter::from_bytes([7; 16], bytes) {
        let _ = filter.contains(b"rose");
        assert_eq!(filter.as_bytes(), bytes);
    }
});
