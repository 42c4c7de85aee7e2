//! Any bytes as the counters of a split filter, beside bits that are whole.
#![no_main]

use gardenia::filter::SplitFiles;
use gardenia::{CountingBloom, ReadOptions, SplitBloom};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fuzz_target!(|bytes: &[u8]| {
    static BITS: OnceLock<Vec<u8>> = OnceLock::new();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.gdn");
    let bits = BITS.get_or_init(|| {
        let mut filter = SplitBloom::create(&path, CountingBloom::builder().items(100).fpp(0.01)).unwrap();
        filter.insert("rose");
        filter.close().unwrap();
        std::fs::read(&path).unwrap()
    });
    std::fs::write(&path, bits).unwrap();
    std::fs::write(SplitFiles::new(&path).counters_path(), bytes).unwrap();
    let _ = SplitBloom::inspect(&path, &ReadOptions::new());
    if let Ok(mut filter) = SplitBloom::open_with(&path, &ReadOptions::new().max_bytes(1 << 20)) {
        filter.insert("tulip");
        assert!(filter.contains("tulip"));
    }
});
