//! The counters of a split filter whose process was killed, with some bytes changed: the journal of
//! its last operation among them.
#![no_main]

use gardenia::filter::SplitFiles;
use gardenia::{CountingBloom, ReadOptions, SplitBloom};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fuzz_target!(|changes: Vec<(u16, u8)>| {
    static FILES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.gdn");
    let counters = SplitFiles::new(&path).counters_path().to_owned();
    let [bits, written] = FILES.get_or_init(|| {
        let mut filter = SplitBloom::create(&path, CountingBloom::builder().items(100).fpp(0.01)).unwrap();
        filter.insert("rose");
        // Not closed: what the files have now is what a killed process leaves.
        [std::fs::read(&path).unwrap(), std::fs::read(&counters).unwrap()]
    });
    let mut changed = written.clone();
    for (at, change) in changes {
        let at = usize::from(at) % changed.len();
        changed[at] ^= change;
    }
    std::fs::write(&path, bits).unwrap();
    std::fs::write(&counters, changed).unwrap();
    let _ = SplitBloom::inspect(&path, &ReadOptions::new());
    if let Ok(mut filter) = SplitBloom::open_with(&path, &ReadOptions::new().max_bytes(1 << 20)) {
        filter.insert("tulip");
        assert!(filter.contains("tulip"));
    }
});
