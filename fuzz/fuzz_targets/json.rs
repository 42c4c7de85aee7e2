//! Filters inside JSON: any bytes as JSON, and as the numbers of an array.
#![no_main]

use gardenia::{BlockedBloom, Bloom, Cuckoo, DistanceSensitiveBloom, SpectralBloom, Top};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};

fn read<F: Serialize + DeserializeOwned>(text: &[u8]) {
    let Ok(filter) = serde_json::from_slice::<F>(text) else { return };
    // What was read is what is written, except of a filter that is keyed or not portable.
    if let Ok(written) = serde_json::to_vec(&filter) {
        let again: F = serde_json::from_slice(&written).unwrap();
        assert_eq!(serde_json::to_vec(&again).unwrap(), written);
    }
}

fuzz_target!(|bytes: &[u8]| {
    // The header says how large a filter is, and a reader of JSON has no limit to give: 16 MiB here.
    let sealed = gardenia_fuzz::sealed(bytes);
    let options = gardenia::ReadOptions::new().max_bytes(1 << 24).max_expansion(1 << 24);
    let numbers = match gardenia::AnyFilter::from_bytes_with(&sealed, &options) {
        Err(gardenia::DecodeError::TooLarge { .. } | gardenia::DecodeError::Expansion { .. }) => return,
        _ => serde_json::to_vec(&sealed).unwrap(),
    };
    for text in [bytes, &numbers] {
        read::<Bloom>(text);
        read::<BlockedBloom>(text);
        read::<Cuckoo>(text);
        read::<SpectralBloom>(text);
        read::<Top>(text);
        read::<DistanceSensitiveBloom>(text);
    }
});
