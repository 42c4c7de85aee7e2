//! Any bytes as a filter of any kind: an error, or a filter that can be used and stored again.
#![no_main]

use gardenia::{AnyFilter, Digest, Filter, Kind, ReadOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &gardenia_fuzz::sealed(bytes)[..];
    let options = ReadOptions::new().max_bytes(1 << 24).max_expansion(1 << 24);
    let asked = [Digest(0), Digest(u64::MAX), Digest(0x9e37_79b9_7f4a_7c15)];
    if let Ok(view) = AnyFilter::view_with(bytes, &options) {
        view.contains_digests(&asked, &mut [false; 3]);
    }
    let Ok(mut filter) = AnyFilter::from_bytes_with(bytes, &options) else { return };
    filter.contains_digests(&asked, &mut [false; 3]);
    if let Some(counts) = filter.as_count() {
        counts.count_digests(&asked, &mut [0; 3]);
    }
    // What was read is what is written.
    let stored = filter.to_bytes().expect("a filter that was read can be stored");
    assert_eq!(AnyFilter::from_bytes_with(&stored, &options).unwrap().to_bytes().unwrap(), stored);
    let _ = (filter.fill(), filter.estimated_items(), filter.spec());
    // The rate of a filter with choices is counted, which takes 1.8 s under AddressSanitizer: hardly anything else would be tried.
    if filter.kind() != Kind::Choice {
        let _ = filter.fpp();
    }
    let mut new = [false; 3];
    if filter.insert_digests(&asked, &mut new).is_ok() {
        filter.remove_digest(asked[1]);
    }
});
