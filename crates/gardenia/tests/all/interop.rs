//! Files that other programs wrote, with their answers: `tests/data/interop/README.md` says which
//! program wrote which file.

use crate::interop_files::{FILES, base64, bytes_of, file};
use gardenia::format::orc::uncompressed;
use gardenia::format::parquet::{Logical, Physical};
use gardenia::format::redisbloom::layout::Field;
use gardenia::format::{
    DataSketchesBloom, FilterLoad, Foreign, ForeignInsert, ForeignKey, Format, FormatAbility, GuavaBloom,
    GuavaStrategy, HiveBloom, HiveLayout, KeyError, KeyType, MilvusBloom, OrcFile, ParquetFile,
    ParquetFilter, RocksDbBloom, SparkBloom, SparkCountMin, redisbloom,
};
use gardenia::{KeyHasher, ReadOptions, SplitBlockBloom};
use serde_json::Value;
use std::io::Cursor;

fn json(name: &str) -> Value {
    serde_json::from_slice(&file(name)).unwrap()
}

/// The keys of all files, and values that are none.
struct Keys {
    ints: Vec<i64>,
    texts: Vec<String>,
    absent_ints: Vec<i64>,
    absent_texts: Vec<String>,
    expected: Value,
}

impl Keys {
    fn new() -> Self {
        let keys = json("keys.json");
        let list = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        Self {
            ints: list(&keys["ints"]),
            texts: serde_json::from_value(keys["strings"].clone()).unwrap(),
            absent_ints: list(&json("probes_ints.json")),
            absent_texts: serde_json::from_value(json("probes_strings.json")).unwrap(),
            expected: json("expected.json"),
        }
    }

    /// The keys of a file by the end of its name, as the program was given them.
    fn of<'a>(&'a self, name: &str) -> (Vec<ForeignKey<'a>>, Vec<ForeignKey<'a>>) {
        let long = |numbers: &[i64]| numbers.iter().map(|key| ForeignKey::Long(*key)).collect();
        let text = |texts: &'a [String]| texts.iter().map(|key| ForeignKey::Text(key)).collect();
        let wide = |texts: &'a [String]| texts.iter().map(|key| ForeignKey::Utf16(key)).collect();
        match name {
            name if name.contains("i64") => (long(&self.ints), long(&self.absent_ints)),
            name if name.contains("utf16") => (wide(&self.texts), wide(&self.absent_texts)),
            _ => (text(&self.texts), text(&self.absent_texts)),
        }
    }

    fn positives(&self, value: &Value) -> Vec<usize> {
        serde_json::from_value(value["positive_probe_indices"].clone()).unwrap()
    }
}

/// Which of these keys a filter reports.
fn found(filter: &dyn Foreign, keys: &[ForeignKey<'_>]) -> Vec<usize> {
    (0..keys.len()).filter(|at| filter.contains(keys[*at]).unwrap()).collect()
}

fn read(name: &str, format: Format) -> Box<dyn Foreign> {
    format.read(&bytes_of(name), &ReadOptions::new()).unwrap()
}

#[test]
fn every_file_is_recognised_by_its_bytes() {
    for (name, format) in FILES {
        let formats = Format::recognise(&bytes_of(name));
        match format {
            Format::BloomK => assert_eq!(formats, [Format::Hive, Format::BloomK], "{name}"),
            format => assert_eq!(formats, [format], "{name}"),
        }
    }
    for (name, format) in [
        ("parquet_pyarrow.parquet", Format::ParquetFile),
        ("parquet_duckdb.parquet", Format::ParquetFile),
        ("parquet_spark.parquet", Format::ParquetFile),
        ("orc_spark.orc", Format::Orc),
        ("orc_pyarrow.orc", Format::Orc),
    ] {
        assert_eq!(Format::recognise(&file(name)), [format], "{name}");
    }
    let native = gardenia::Bloom::new(100, 0.01).unwrap().to_bytes().unwrap();
    for other in [&native[..], b"", b"rose\ntulip\n", &[0; 100], &[1; 189], &[0xff; 64], b"PAR1", b"ORX"] {
        assert_eq!(Format::recognise(other), [], "{other:?}");
    }
}

#[test]
fn every_file_gives_the_answers_of_its_program() {
    let keys = Keys::new();
    let mut checked = 0;
    for (name, format) in FILES {
        let expected = &keys.expected[name];
        if expected["positive_probe_indices"].is_null() {
            continue;
        }
        let (filter, (present, absent)) = (read(name, format), keys.of(name));
        assert_eq!(found(&*filter, &absent), keys.positives(expected), "{name}");
        let missing: Vec<&ForeignKey<'_>> =
            present.iter().filter(|key| !filter.contains(**key).unwrap()).collect();
        // What these two programs were not given: DataSketches ignores the empty string, and DCSO's was given lines.
        let without: &[&ForeignKey<'_>] = match format {
            Format::DataSketches if name.contains("str") => &[&ForeignKey::Text("")],
            Format::Dcso => &[&ForeignKey::Text("")],
            _ => &[],
        };
        assert_eq!(missing, without, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 19);
}

#[test]
fn every_key_of_the_files_without_stated_answers_is_found() {
    let keys = Keys::new();
    for (name, format) in [
        ("spark_df_stat_bloomfilter_i64.bin", Format::Spark),
        ("spark_df_stat_bloomfilter_str.bin", Format::Spark),
        ("spark_sql_cms_i64.bin", Format::SparkCountMin),
        ("rocksdb_bloom.sst", Format::RocksDb),
        ("rocksdb_fullfilter.bin", Format::RocksDb),
    ] {
        let (filter, (present, absent)) = (read(name, format), keys.of(name));
        let without_empty = format == Format::RocksDb;
        let wanted = present.iter().filter(|key| !(without_empty && **key == ForeignKey::Text("")));
        assert!(wanted.clone().all(|key| filter.contains(*key).unwrap()), "{name}");
        assert!(wanted.count() >= 199);
        // Within five standard deviations of what its bits say.
        let (rate, trials) = (filter.fpp(), absent.len() as f64);
        let by_chance = trials * rate + 5.0 * (trials * rate * (1.0 - rate)).sqrt() + 1.0;
        assert!((found(&*filter, &absent).len() as f64) < by_chance, "{name}");
    }
    for name in ["orc_spark.orc", "orc_pyarrow.orc"] {
        let options = ReadOptions::new();
        let mut orc = OrcFile::open(Cursor::new(file(name)), &options, &uncompressed).unwrap();
        for (column, suffix) in [("id", "i64"), ("name", "str")] {
            let at = orc.columns().iter().position(|one| one.name == column).unwrap();
            let filters = orc.column(at, &options, &uncompressed).unwrap();
            let (present, absent) = keys.of(suffix);
            assert!(filters.is_complete() && filters.filters().len() == 1, "{name} {column}");
            assert_eq!(found(&filters, &present).len(), 200, "{name} {column}");
            // Sized for 10,000 rows.
            assert!(found(&filters, &absent).is_empty(), "{name} {column}");
            let mut scratch = Vec::new();
            let text = if suffix == "i64" { "-1" } else { "abc" };
            let key = filters.parse(text.as_bytes(), None, &mut scratch).unwrap();
            assert!(filters.contains(key).unwrap());
        }
    }
}

#[test]
fn a_rocksdb_filter_of_keys_of_all_lengths_finds_them() {
    // Written by the RocksDB in rocksdict 0.3.29: key n has byte (31·n + 7·j) mod 251 at j.
    let bytes = include_bytes!("../data/rocksdb_lengths.bin");
    let filter = RocksDbBloom::from_bytes(bytes, &ReadOptions::new()).unwrap();
    let lens = (1..400).chain([1023, 1024, 1025, 1087, 1088, 1089, 2047, 2048, 2049, 2112, 3000, 4096]);
    let key = |n: usize| -> Vec<u8> { (0..n).map(|j| ((n * 31 + j * 7) % 251) as u8).collect() };
    let missing: Vec<usize> =
        lens.filter(|n| !filter.contains(ForeignKey::Bytes(&key(*n))).unwrap()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let absent =
        (0..10_000u32).filter(|n| filter.contains(ForeignKey::Bytes(&n.to_le_bytes())).unwrap()).count();
    let mean = 10_000.0 * filter.fpp();
    assert!((absent as f64 - mean).abs() < 5.0 * mean.sqrt() + 1.0, "{absent} and {mean}");
}

#[test]
fn a_rocksdb_table_whose_filter_may_lack_whole_keys_is_refused() {
    let table = file("rocksdb_bloom.sst");
    let read = |bytes: &[u8]| RocksDbBloom::from_bytes(bytes, &ReadOptions::new());
    assert!(read(&table).is_ok());
    // The properties share the beginnings of their names: this is the end of this one, and its value.
    let name = b"whole.key.filtering";
    let at = table.windows(name.len()).position(|window| window == name).unwrap();
    for (place, value, reason) in
        [(at + name.len(), b'0', "prefixes of keys, not whole keys"), (at, b'W', "a property is missing")]
    {
        let mut bytes = table.clone();
        bytes[place] = value;
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn parquet_files_of_three_writers_give_the_answers_of_their_filters() {
    let keys = Keys::new();
    let options = ReadOptions::new();
    for name in ["parquet_pyarrow.parquet", "parquet_duckdb.parquet", "parquet_spark.parquet"] {
        let mut parquet = ParquetFile::open(Cursor::new(file(name)), &options).unwrap();
        assert_eq!(parquet.row_groups(), 1, "{name}");
        let columns: Vec<(String, _)> = parquet.columns().to_vec();
        assert_eq!(
            columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["id", "name", "small"]
        );
        assert_eq!(columns[0].1.physical, Physical::Int64, "{name}");
        assert_eq!(
            (columns[1].1.physical, columns[1].1.logical),
            (Physical::ByteArray, Logical::Text),
            "{name}"
        );
        assert_eq!(columns[2].1.physical, Physical::Int32, "{name}");
        for (at, (column, suffix)) in [("id", "i64"), ("name", "str")].into_iter().enumerate() {
            let expected = &keys.expected[name][column];
            let filters = parquet.column(at, None, &options).unwrap();
            assert_eq!(filters.bits() / 8, expected["bitset_bytes"].as_u64().unwrap(), "{name} {column}");
            let (present, absent) = keys.of(suffix);
            assert_eq!(found(&filters, &present).len(), 200, "{name} {column}");
            assert_eq!(found(&filters, &absent), keys.positives(expected), "{name} {column}");
            assert!(filters.is_complete());
            // The whole bitset follows from the keys.
            let mut built =
                SplitBlockBloom::builder().bits(filters.bits()).hasher(KeyHasher::xxh64(0)).build().unwrap();
            match suffix {
                "i64" => built.extend(&keys.ints),
                _ => built.extend(&keys.texts),
            }
            assert_eq!(filters.groups()[0].1.as_inner().to_bitset(), built.to_bitset(), "{name} {column}");
        }
        if name != "parquet_spark.parquet" {
            let small = parquet.column(2, None, &options).unwrap();
            assert!(keys.ints.iter().all(|key| {
                let small_key = key.rem_euclid(1 << 31) as i32;
                small.contains(ForeignKey::Int(small_key)).unwrap()
                    && small.contains(ForeignKey::Long(small_key.into())).unwrap()
            }));
            assert!(small.contains(ForeignKey::Text("7")).is_err());
        }
        let (len, places) = (file(name).len() as u64, parquet.filters().to_vec());
        assert_eq!(places.len(), if name == "parquet_spark.parquet" { 2 } else { 3 });
        assert!(places.iter().all(|place| place.offset < len && place.row_group == 0));
    }
}

#[test]
fn spark_sketches_count_as_spark_does() {
    let keys = Keys::new();
    for name in ["spark_cms_i64.bin", "spark_cms_str.bin"] {
        let expected = &keys.expected[name];
        let sketch = SparkCountMin::from_bytes(&file(name), &ReadOptions::new()).unwrap();
        let counts: Vec<u64> =
            keys.of(name).0.iter().map(|key| sketch.count(*key).unwrap().unwrap()).collect();
        let right: Vec<u64> = serde_json::from_value(expected["estimates_of_keys"].clone()).unwrap();
        assert_eq!((counts, sketch.total()), (right, expected["total"].as_u64().unwrap()), "{name}");
    }
}

/// A filter of the same keys, as it would be built here.
fn rebuilt(name: &str, format: Format, keys: &Keys) -> Option<Box<dyn ForeignInsert>> {
    let sketch = |eps, seed| Box::new(SparkCountMin::new(eps, 0.95, seed).unwrap());
    let mut filter: Box<dyn ForeignInsert> = match (name, format) {
        ("spark_cms_i64.bin" | "spark_cms_str.bin", _) => {
            let mut sketch = sketch(if name.contains("i64") { 0.05 } else { 0.1 }, 42);
            keys.of(name)
                .0
                .iter()
                .enumerate()
                .for_each(|(i, key)| sketch.add(*key, i as u32 % 7 + 1).unwrap());
            return Some(sketch);
        }
        ("spark_sql_cms_i64.bin", _) => sketch(0.05, 7),
        (_, Format::DataSketches) => Box::new(DataSketchesBloom::new(200, 0.03, 123_456_789).unwrap()),
        (_, Format::Bip37) => Box::new(FilterLoad::new(200, 0.02, 2_147_483_649).unwrap()),
        (_, Format::Milvus | Format::Parquet) => format.create(200, 0.02).unwrap(),
        (_, Format::RocksDb | Format::Dcso) => return None, // not written, and in tests/all/dcso.rs
        _ => format.create(200, 0.03).unwrap(),
    };
    let name = if format == Format::Parquet { "i64" } else { name };
    keys.of(name).0.iter().for_each(|key| _ = filter.insert(*key).unwrap());
    Some(filter)
}

#[test]
fn the_same_keys_make_the_same_bytes() {
    let keys = Keys::new();
    let mut identical = Vec::new();
    for (name, format) in FILES {
        if let Some(filter) = rebuilt(name, format, &keys) {
            assert!(filter.to_bytes().unwrap() == bytes_of(name), "{name}");
            identical.push(format);
        }
    }
    // What the table says of every format with files here; the others have tests of their own.
    for (_, format) in FILES.into_iter().filter(|(_, format)| *format != Format::Dcso) {
        let said = format.shown() == gardenia::format::Shown::Identical;
        assert_eq!(said, identical.contains(&format), "{format:?}");
    }
}

#[test]
fn what_is_read_is_written_again() {
    for (name, format) in FILES {
        let (bytes, options) = (bytes_of(name), ReadOptions::new());
        let copy = match format {
            Format::Spark | Format::SparkV1 => SparkBloom::from_bytes(&bytes, &options).unwrap().to_bytes(),
            Format::SparkCountMin => SparkCountMin::from_bytes(&bytes, &options).unwrap().to_bytes(),
            Format::Guava | Format::Guava32 => GuavaBloom::from_bytes(&bytes, &options).unwrap().to_bytes(),
            Format::Hive => HiveBloom::from_bytes(&bytes, HiveLayout::Hive, &options).unwrap().to_bytes(),
            Format::BloomK => HiveBloom::from_bytes(&bytes, HiveLayout::BloomK, &options).unwrap().to_bytes(),
            Format::DataSketches => DataSketchesBloom::from_bytes(&bytes, &options).unwrap().to_bytes(),
            Format::Milvus => MilvusBloom::from_bytes(&bytes, &options).unwrap().to_bytes(),
            Format::Parquet => ParquetFilter::from_bytes(&bytes, &options).unwrap().to_bytes(),
            Format::Bip37 => FilterLoad::from_bytes(&bytes, &options).unwrap().to_bytes(),
            _ => continue,
        };
        assert!(copy.unwrap() == bytes, "{name}");
    }
    // No key, no bits: DataSketches leaves them out.
    let empty = DataSketchesBloom::new(200, 0.03, 5).unwrap();
    let bytes = empty.to_bytes().unwrap();
    assert_eq!(bytes.len(), 24);
    assert_eq!(DataSketchesBloom::from_bytes(&bytes, &ReadOptions::new()).unwrap(), empty);
}

#[test]
fn merging_equals_inserting_both() {
    let keys = Keys::new();
    for format in Format::ALL.into_iter().filter(|format| format.can(FormatAbility::Merge)) {
        let create = || -> Box<dyn ForeignInsert> {
            match format {
                Format::SparkCountMin => Box::new(SparkCountMin::new(0.05, 0.95, 42).unwrap()),
                format => format.create(200, 0.03).unwrap(),
            }
        };
        let (mut all, mut one, mut two) = (create(), create(), create());
        for (at, key) in keys.of("str").0.iter().enumerate() {
            all.insert(*key).unwrap();
            (if at % 3 == 0 { &mut one } else { &mut two }).insert(*key).unwrap();
        }
        let two = format.read(&two.to_bytes().unwrap(), &ReadOptions::new()).unwrap();
        one.merge_from(&*two).unwrap().unwrap();
        if !matches!(format, Format::Milvus | Format::Dcso) {
            assert!(one.to_bytes().unwrap() == all.to_bytes().unwrap(), "{format:?}");
        }
        assert!(keys.of("str").0.iter().all(|key| one.contains(*key).unwrap()
            || (format == Format::DataSketches && *key == ForeignKey::Text(""))));
        // Another shape, another format.
        if format != Format::SparkCountMin {
            let larger = format.create(20_000, 0.03).unwrap();
            let larger = format.read(&larger.to_bytes().unwrap(), &ReadOptions::new()).unwrap();
            assert!(one.merge_from(&*larger).unwrap().is_err(), "{format:?}");
        }
        let guava = matches!(format, Format::Guava | Format::Guava32);
        let other = if guava { Format::Spark } else { Format::Guava };
        let other =
            other.read(&other.create(200, 0.03).unwrap().to_bytes().unwrap(), &ReadOptions::new()).unwrap();
        assert_eq!(one.merge_from(&*other).unwrap().unwrap_err().what, "format", "{format:?}");
    }
    let mut fixed = Format::RedisBloom.create(10, 0.01).unwrap();
    assert!(fixed.merge_from(&SparkBloom::new(10, 0.01, 0).unwrap()).is_none());
}

#[test]
fn seeds_and_strategies_keep_filters_apart() {
    let merge = |ours: &mut dyn ForeignInsert, theirs: &dyn Foreign| {
        ours.merge_from(theirs).unwrap().unwrap_err().what
    };
    let spark = |seed| SparkBloom::new(100, 0.01, seed).unwrap();
    assert_eq!(merge(&mut spark(0), &spark(1)), "seed");
    assert_eq!(merge(&mut spark(0), &SparkBloom::new_v1(100, 0.01).unwrap()), "version");
    let guava = |strategy| GuavaBloom::new(100, 0.01, strategy).unwrap();
    assert_eq!(merge(&mut guava(GuavaStrategy::Mitz32), &guava(GuavaStrategy::Mitz64)), "strategy");
    let sketch = |seed| SparkCountMin::new(0.1, 0.9, seed).unwrap();
    assert_eq!(merge(&mut sketch(1), &sketch(2)), "seed");
    assert_eq!(
        merge(&mut DataSketchesBloom::new(9, 0.1, 1).unwrap(), &DataSketchesBloom::new(9, 0.1, 2).unwrap()),
        "seed"
    );
    assert_eq!(merge(&mut HiveBloom::new(100, 0.01).unwrap(), &HiveBloom::new_k(100).unwrap()), "format");
}

#[test]
fn a_key_has_to_say_its_type_where_a_file_does_not() {
    let mut scratch = Vec::new();
    let mut ask = |name: &str, format, as_type: Option<KeyType>| {
        read(name, format).parse(b"7", as_type, &mut scratch).map(|key| key.key_type())
    };
    for (name, format) in [
        ("spark_bloom_v2_i64.bin", Format::Spark),
        ("guava_mitz64_i64.bin", Format::Guava),
        ("hive_bloom_i64.bin", Format::Hive),
        ("datasketches_bloom_i64.bin", Format::DataSketches),
    ] {
        let error = ask(name, format, None).unwrap_err();
        assert!(matches!(&error, KeyError::Ambiguous { types, .. } if types.len() > 1), "{name}");
        assert!(error.to_string().contains("does not say of which type its keys are: long"), "{error}");
        assert_eq!(ask(name, format, Some(KeyType::Long)), Ok(KeyType::Long));
        assert_eq!(ask(name, format, Some(KeyType::String)), Ok(KeyType::String));
        assert!(matches!(ask(name, format, Some(KeyType::Float)), Err(KeyError::Type { .. })));
    }
    assert_eq!(ask("milvus_mbf1_i64.bin", Format::Milvus, None), Ok(KeyType::Long));
    assert_eq!(ask("milvus_mbf1_str.bin", Format::Milvus, None), Ok(KeyType::String));
    assert_eq!(ask("bip37_filterload.bin", Format::Bip37, None), Ok(KeyType::Bytes));
    let mut scratch = Vec::new();
    let guava = read("guava_mitz64_i64.bin", Format::Guava);
    let error = guava.parse(b"rose", Some(KeyType::Long), &mut scratch).unwrap_err();
    assert_eq!(error.to_string(), "\"rose\" is not a whole number of 64 bits");
    let not_text = guava.parse(b"\xff", Some(KeyType::String), &mut scratch);
    assert_eq!(not_text.unwrap_err().to_string(), "\"\u{fffd}\" is not UTF-8");
}

#[test]
fn stated_rates_are_those_that_queries_find() {
    let count = |filter: &dyn Foreign, keys: u32| {
        (0..keys).filter(|key| filter.contains(ForeignKey::Text(&format!("absent {key}"))).unwrap()).count()
            as f64
    };
    for format in Format::ALL.into_iter().filter(|format| format.can(FormatAbility::Write)) {
        let mut filter: Box<dyn ForeignInsert> = match format {
            Format::SparkCountMin => Box::new(SparkCountMin::new(0.002, 0.95, 42).unwrap()),
            format => format.create(2_000, 0.03).unwrap(),
        };
        (0..2_000).for_each(|key| _ = filter.insert(ForeignKey::Text(&format!("key {key}"))).unwrap());
        let (trials, rate) = (20_000.0, filter.fpp());
        let found = count(&*filter, 20_000);
        // Five standard deviations; the classical filters also miss the keys' own correlations by a little.
        let off = 5.0 * (trials * rate * (1.0 - rate)).sqrt() + 0.05 * trials * rate;
        assert!((found - trials * rate).abs() < off, "{format:?}: {found} and {}", trials * rate);
        let items = filter.estimated_items().unwrap();
        assert!((items - 2_000.0).abs() < 150.0, "{format:?}: {items}");
        assert!(rate < 0.07 || format == Format::SparkCountMin, "{format:?}: {rate}");
    }
}

#[test]
fn a_parquet_filter_becomes_one_of_ours_and_back_without_a_change() {
    let bytes = bytes_of("parquet_filter.bin");
    let ours = ParquetFilter::from_bytes(&bytes, &ReadOptions::new()).unwrap().into_inner();
    let native = ours.to_bytes().unwrap();
    let back = ParquetFilter::from_inner(SplitBlockBloom::from_bytes(&native).unwrap()).unwrap();
    assert_eq!(back.to_bytes().unwrap(), bytes);
    let milvus = MilvusBloom::from_parquet(back.clone(), KeyType::Long, 200, 0.02).unwrap();
    assert_eq!(milvus.to_bytes().unwrap(), file("milvus_mbf1_i64.bin"));
    assert_eq!(milvus.into_parquet(), back);
    let other = SplitBlockBloom::new(100, 0.01).unwrap();
    assert!(ParquetFilter::from_inner(other).unwrap_err().to_string().contains("xxh64 with seed 0"));
    // Folding is what a writer of fewer keys would have made.
    let spark = file("parquet_spark.parquet");
    let mut spark = ParquetFile::open(Cursor::new(spark), &ReadOptions::new()).unwrap();
    let place = spark.filters()[0];
    let large = spark.read(&place, &ReadOptions::new()).unwrap();
    assert_eq!(large.fold().unwrap().fold().unwrap().to_bytes().unwrap(), bytes);
}

#[test]
fn dumps_of_redisbloom_are_files_of_their_chunks() {
    let keys = Keys::new();
    let all = json("redisbloom.json");
    let (present, absent) = keys.of("str");
    let whole = |case: &Value| -> Vec<u8> {
        let chunks = case["chunks"].as_array().unwrap();
        chunks.iter().flat_map(|chunk| base64(chunk[1].as_str().unwrap())).collect()
    };
    for (name, items, growth) in [("bf_scaling", 100, Some(2)), ("bf_nonscaling", 200, None)] {
        let bytes = whole(&all[name]);
        assert_eq!(Format::recognise(&bytes), [Format::RedisBloom], "{name}");
        let filter = redisbloom::BloomDump::from_bytes(&bytes, &ReadOptions::new()).unwrap();
        assert_eq!(filter.to_bytes().unwrap(), bytes, "{name}");
        assert_eq!(found(&filter, &present).len(), 200, "{name}");
        assert_eq!(found(&filter, &absent), keys.positives(&all[name]), "{name}");
        let (theirs, mut ours) =
            (filter.into_inner(), redisbloom::bloom::BloomChain::new(0.02, items, growth, u64::MAX).unwrap());
        assert_eq!(theirs.growth(), growth, "{name}");
        // The same commands make the same fields.
        for key in &present {
            let ForeignKey::Text(key) = key else { panic!("{key:?}") };
            ours.insert(key.as_bytes(), u64::MAX).unwrap();
        }
        let mut fields = [Vec::new(), Vec::new()];
        theirs.save(&mut fields[0]);
        ours.save(&mut fields[1]);
        assert!(fields[0] == fields[1], "{name}");
    }
    // The same commands make the same bytes.
    let mut scaling = redisbloom::BloomDump::new(100, 0.02).unwrap();
    present.iter().for_each(|key| _ = scaling.insert(*key).unwrap());
    assert_eq!(scaling.to_bytes().unwrap(), whole(&all["bf_scaling"]));
    let mut cuckoo = redisbloom::CuckooDump::new(200).unwrap();
    present.iter().for_each(|key| _ = cuckoo.insert(*key).unwrap());
    assert_eq!(cuckoo.to_bytes().unwrap(), whole(&all["cf"]));
    for (name, case) in all.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("cf")) {
        let bytes = whole(case);
        assert_eq!(Format::recognise(&bytes), [Format::RedisCuckoo], "{name}");
        let filter = redisbloom::CuckooDump::from_bytes(&bytes, &ReadOptions::new()).unwrap();
        assert_eq!(filter.to_bytes().unwrap(), bytes, "{name}");
        assert_eq!(found(&filter, &present).len(), 200, "{name}");
        assert_eq!(found(&filter, &absent), keys.positives(case), "{name}");
    }
}

#[test]
fn redisbloom_stores_the_fields_that_we_do() {
    let all = json("redisbloom_rdb.json");
    let cases = all["cases"].as_array().unwrap().iter().filter(|case| case["dump"].is_string());
    let mut seen = 0;
    for case in cases.filter(|case| case["name"].as_str().unwrap().starts_with("bf")) {
        let words = |command: &Value| -> Vec<String> { serde_json::from_value(command.clone()).unwrap() };
        let commands: Vec<Vec<String>> = case["commands"].as_array().unwrap().iter().map(words).collect();
        let [first, adding @ ..] = &commands[..] else { panic!("no command") };
        let growth = match first.get(4).map(String::as_str) {
            Some("NONSCALING") => None,
            Some(_) => Some(first[5].parse().unwrap()),
            None => Some(2),
        };
        let (error, entries) = (first[2].parse().unwrap(), first[3].parse().unwrap());
        let mut chain = redisbloom::bloom::BloomChain::new(error, entries, growth, u64::MAX).unwrap();
        for key in adding.iter().flat_map(|command| &command[2..]) {
            chain.insert(key.as_bytes(), u64::MAX).unwrap();
        }
        let mut fields = Vec::new();
        chain.save(&mut fields);
        assert!(fields == rdb_fields(&base64(case["dump"].as_str().unwrap())), "{}", case["name"]);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// The fields of a value in a payload of DUMP: type, module, then a number for the type of each
/// field and the field, up to a 0.
fn rdb_fields(dump: &[u8]) -> Vec<Field> {
    let mut bytes = dump[1..].iter().copied();
    let mut fields = Vec::new();
    length(&mut bytes); // the module's id
    loop {
        match length(&mut bytes) {
            (0, _) => return fields,
            (2, _) => fields.push(Field::U64(length(&mut bytes).0)),
            (4, _) => {
                let raw: Vec<u8> = bytes.by_ref().take(8).collect();
                fields.push(Field::F64(f64::from_le_bytes(raw.try_into().unwrap())));
            }
            (5, _) => fields.push(Field::Bytes(match length(&mut bytes) {
                (len, false) => bytes.by_ref().take(len as usize).collect(),
                (3, true) => {
                    let (packed, len) = (length(&mut bytes).0, length(&mut bytes).0);
                    let packed: Vec<u8> = bytes.by_ref().take(packed as usize).collect();
                    let unpacked = lzf(&packed);
                    assert_eq!(unpacked.len() as u64, len);
                    unpacked
                }
                other => panic!("{other:?}"),
            })),
            other => panic!("{other:?}"),
        }
    }
}

/// A length of an RDB file, and whether it stands for an encoding.
fn length(bytes: &mut impl Iterator<Item = u8>) -> (u64, bool) {
    let first = bytes.next().unwrap();
    let mut number = |count| (0..count).fold(0, |number, _| number << 8 | u64::from(bytes.next().unwrap()));
    match (first >> 6, first) {
        (0, _) => (first.into(), false),
        (1, _) => (u64::from(first & 63) << 8 | number(1), false),
        (2, 0x80) => (number(4), false),
        (2, _) => (number(8), false),
        _ => ((first & 63).into(), true),
    }
}

/// LZF: runs of bytes, and references to what was before.
fn lzf(packed: &[u8]) -> Vec<u8> {
    let (mut out, mut bytes) = (Vec::<u8>::new(), packed.iter().copied());
    while let Some(control) = bytes.next() {
        if control < 32 {
            out.extend(bytes.by_ref().take(usize::from(control) + 1));
            continue;
        }
        let mut len = usize::from(control >> 5);
        if len == 7 {
            len += usize::from(bytes.next().unwrap());
        }
        let back = (usize::from(control & 31) << 8 | usize::from(bytes.next().unwrap())) + 1;
        for _ in 0..len + 2 {
            out.push(out[out.len() - back]);
        }
    }
    out
}
