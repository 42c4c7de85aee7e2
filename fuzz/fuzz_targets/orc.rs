//! Any bytes as an ORC file without compression.
#![no_main]

use gardenia::ReadOptions;
use gardenia::format::orc::uncompressed;
use gardenia::format::{Foreign, ForeignKey, OrcFile};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::new().max_bytes(1 << 24);
    let Ok(mut file) = OrcFile::open(Cursor::new(bytes), &options, &uncompressed) else { return };
    for column in 0..file.columns().len().min(8) {
        let Ok(filters) = file.column(column, &options, &uncompressed) else { continue };
        let _ = (filters.contains(ForeignKey::Long(7)), filters.contains(ForeignKey::Text("rose")));
        let _ = (filters.fpp(), filters.estimated_items(), filters.describe());
    }
});
