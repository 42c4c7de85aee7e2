//! The files that other programs wrote, for all tests that read them.

use gardenia::ReadOptions;
use gardenia::format::{ForeignInsert, Format, ParquetFile};
use std::io::Cursor;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", "interop", name].iter().collect()
}

pub(crate) fn file(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// Every file of one filter, with its format; `hive` and `bloomk` look alike.
pub(crate) const FILES: [(&str, Format); 27] = [
    ("spark_bloom_v1_i64.bin", Format::SparkV1),
    ("spark_bloom_v1_str.bin", Format::SparkV1),
    ("spark_bloom_v2_i64.bin", Format::Spark),
    ("spark_bloom_v2_str.bin", Format::Spark),
    ("spark_df_stat_bloomfilter_i64.bin", Format::Spark),
    ("spark_df_stat_bloomfilter_str.bin", Format::Spark),
    ("spark_cms_i64.bin", Format::SparkCountMin),
    ("spark_cms_str.bin", Format::SparkCountMin),
    ("spark_sql_cms_i64.bin", Format::SparkCountMin),
    ("guava_mitz32_i64.bin", Format::Guava32),
    ("guava_mitz32_str.bin", Format::Guava32),
    ("guava_mitz64_i64.bin", Format::Guava),
    ("guava_mitz64_str.bin", Format::Guava),
    ("guava_mitz64_utf16.bin", Format::Guava),
    ("hive_bloom_i64.bin", Format::Hive),
    ("hive_bloom_str.bin", Format::Hive),
    ("hive_bloomk_i64.bin", Format::BloomK),
    ("hive_bloomk_str.bin", Format::BloomK),
    ("datasketches_bloom_i64.bin", Format::DataSketches),
    ("datasketches_bloom_str.bin", Format::DataSketches),
    ("milvus_mbf1_i64.bin", Format::Milvus),
    ("milvus_mbf1_str.bin", Format::Milvus),
    ("rocksdb_bloom.sst", Format::RocksDb),
    ("rocksdb_fullfilter.bin", Format::RocksDb),
    ("bip37_filterload.bin", Format::Bip37),
    ("dcso.bloom", Format::Dcso),
    ("parquet_filter.bin", Format::Parquet),
];

/// The bytes of a file of the list; a Parquet filter alone is cut out of its file.
pub(crate) fn bytes_of(name: &str) -> Vec<u8> {
    if name != "parquet_filter.bin" {
        return file(name);
    }
    let mut parquet =
        ParquetFile::open(Cursor::new(file("parquet_pyarrow.parquet")), &ReadOptions::new()).unwrap();
    let place = parquet.filters()[0];
    parquet.read(&place, &ReadOptions::new()).unwrap().to_bytes().unwrap()
}

/// The bytes of a base64 text.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let bits = digits.chunks(4).flat_map(|chunk| {
        let word =
            chunk.iter().fold(0u32, |word, digit| word << 6 | u32::from(*digit)) << (6 * (4 - chunk.len()));
        word.to_be_bytes()[1..chunk.len()].to_vec()
    });
    bits.collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}
