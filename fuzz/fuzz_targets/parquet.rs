//! Any bytes as a Parquet file, with the mark and the length of the footer that a writer would have
//! given it.
#![no_main]

use gardenia::ReadOptions;
use gardenia::format::{Foreign, ParquetFile};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::new().max_bytes(1 << 24);
    let mut file = bytes.to_vec();
    if let [footer @ .., long] = bytes {
        // The last byte says how much of the rest is the footer.
        let len = footer.len() * usize::from(*long) / 255;
        file = [b"PAR1", footer, &(len as u32).to_le_bytes(), b"PAR1"].concat();
    }
    for bytes in [bytes, &file] {
        let Ok(mut file) = ParquetFile::open(Cursor::new(bytes), &options) else { continue };
        for column in 0..file.columns().len().min(8) {
            let Ok(filters) = file.column(column, None, &options) else { continue };
            let mut scratch = Vec::new();
            if let Ok(key) = filters.parse(b"2026-11-18", None, &mut scratch) {
                let _ = filters.contains(key);
            }
            let _ = (filters.fpp(), filters.estimated_items(), filters.describe());
        }
    }
});
