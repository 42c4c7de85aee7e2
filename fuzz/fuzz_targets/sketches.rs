//! Any bytes as counts of a stream: Count sketches, the most frequent keys, counts by ranges.
#![no_main]

use gardenia::{CountSketch, RangeCountMin, ReadOptions, Top};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &gardenia_fuzz::sealed(bytes)[..];
    let options = ReadOptions::new().max_bytes(1 << 24);
    if let Ok(sketch) = CountSketch::from_bytes_with(bytes, &options) {
        let _ = (sketch.count("rose"), sketch.second_moment());
        assert_eq!(sketch.to_bytes().unwrap().len(), bytes.len());
    }
    if let Ok(mut top) = Top::from_bytes_with(bytes, &options) {
        let _ = (top.top(10), top.at_least(1));
        let _ = top.update(b"rose", 3);
        top.to_bytes().unwrap();
    }
    if let Ok(ranges) = RangeCountMin::from_bytes_with(bytes, &options) {
        let _ = ranges.count(0..=u64::MAX);
        ranges.to_bytes().unwrap();
    }
});
