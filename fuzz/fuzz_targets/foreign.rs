//! Any bytes as a filter of another program: the first byte chooses the format, or whatever the
//! rest is recognised as.
#![no_main]

use gardenia::ReadOptions;
use gardenia::format::{ForeignKey, Format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let options = ReadOptions::new().max_bytes(1 << 24).max_expansion(1 << 20);
    let recognised = Format::recognise(bytes);
    let chosen = Format::ALL.get(usize::from(*first)).copied();
    for format in recognised.into_iter().chain(chosen).filter(|format| !format.holds_many()) {
        let Ok(filter) = format.read(bytes, &options) else { continue };
        for key in [ForeignKey::Long(7), ForeignKey::Int(7), ForeignKey::Text("rose"), ForeignKey::Double(0.5)] {
            let _ = (filter.contains(key), filter.count(key));
        }
        let _ = (filter.fpp(), filter.fill(), filter.estimated_items(), filter.describe());
        if let Some(mut filter) = filter.into_insert() {
            let _ = filter.insert(ForeignKey::Text("tulip"));
            format.read(&filter.to_bytes().unwrap(), &options).unwrap();
        }
    }
});
