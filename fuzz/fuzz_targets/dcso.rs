//! Any bytes as a file of DCSO's bloom program.
#![no_main]

use gardenia::ReadOptions;
use gardenia::format::dcso;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::new().max_bytes(1 << 24);
    let whole = dcso::from_bytes(bytes, &options);
    assert_eq!(dcso::read_from(bytes, &options).is_ok(), whole.is_ok());
    if let Ok(filter) = whole {
        let _ = (filter.contains("rose"), filter.fpp());
        dcso::to_bytes(&filter).unwrap();
    }
});
