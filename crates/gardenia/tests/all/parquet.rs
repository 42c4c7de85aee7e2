//! Filters of Parquet files: what other programs wrote is read, and the same bits are made.

use crate::interop_files::file;
use gardenia::format::parquet::NewFilter;
use gardenia::format::{Foreign, ForeignInsert, ForeignKey, ParquetFile, ParquetFilter};
use gardenia::{KeyHasher, ReadOptions, SizeError, SplitBlockBloom};
use serde_json::Value;
use std::io::Cursor;

/// A key of a column: a number, or text.
fn digest(hasher: &KeyHasher, key: &Value) -> gardenia::Digest {
    match key {
        Value::Number(number) => hasher.digest_key(&number.as_i64().unwrap()),
        key => hasher.digest_key(key.as_str().unwrap()),
    }
}

#[test]
fn filters_that_other_programs_wrote_are_read_and_made_bit_for_bit() {
    let file: Value = serde_json::from_str(include_str!("../data/parquet.json")).unwrap();
    let hasher = KeyHasher::xxh64(0);
    let columns = file["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 4);
    for column in columns {
        let (name, hex) = (column["column"].as_str().unwrap(), column["bits"].as_str().unwrap());
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let bits: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let read = SplitBlockBloom::from_bitset(&bits, hasher.clone()).unwrap();
        let mut made = SplitBlockBloom::builder().bits(read.bits()).hasher(hasher.clone()).build().unwrap();
        for key in file["keys"][name].as_array().unwrap() {
            let digest = digest(&hasher, key);
            assert!(read.contains_digest(digest), "{key}");
            made.insert_digest(digest);
        }
        assert!(made == read, "{column}");
        assert_eq!(made.to_bitset(), bits);
        let probes = file["probes"][name].as_array().unwrap().iter();
        let found = probes.enumerate().filter(|(_, key)| read.contains_digest(digest(&hasher, key)));
        let found: Vec<Value> = found.map(|(at, _)| at.into()).collect();
        assert_eq!(&found, column["positives"].as_array().unwrap());
    }
}

fn open(bytes: Vec<u8>) -> ParquetFile<Cursor<Vec<u8>>> {
    ParquetFile::open(Cursor::new(bytes), &ReadOptions::new()).unwrap()
}

/// A filter of the numbers below 100.
fn of_numbers() -> ParquetFilter {
    let mut filter = ParquetFilter::new(100, 0.01).unwrap();
    (0..100).for_each(|key| _ = filter.insert(ForeignKey::Int(key)).unwrap());
    filter
}

fn adding(bytes: Vec<u8>, places: &[(u64, usize)]) -> Result<Vec<u8>, String> {
    let (filter, mut copy) = (of_numbers(), Vec::new());
    let new = |&(row_group, column)| NewFilter { row_group, column, filter: &filter };
    let new: Vec<NewFilter<'_>> = places.iter().map(new).collect();
    open(bytes).add_filters(&new, &mut copy).map_err(|error| error.to_string())?;
    Ok(copy)
}

#[test]
fn a_column_without_a_filter_gets_one_and_all_else_stays() {
    let (options, original) = (ReadOptions::new(), file("parquet_spark.parquet"));
    let copy = adding(original.clone(), &[(0, 2)]).unwrap();
    let (mut before, mut after) = (open(original.clone()), open(copy.clone()));
    assert_eq!((before.columns(), before.rows()), (after.columns(), after.rows()));
    assert_eq!((before.filters().len(), after.filters().len()), (2, 3));
    for place in before.filters().to_vec() {
        assert!(after.filters().contains(&place));
        assert_eq!(before.read(&place, &options).unwrap(), after.read(&place, &options).unwrap());
    }
    let small = after.column(2, None, &options).unwrap();
    assert!((0..100).all(|key| small.contains(ForeignKey::Int(key)).unwrap()) && small.is_complete());
    assert_eq!(small.groups()[0].1, of_numbers());
    // Pages and filters stay where they are; only the footer is another.
    let footer = usize::try_from(after.filters()[2].offset).unwrap();
    assert!(copy[..footer] == original[..footer] && footer > original.len() - 2000);
    assert!(adding(original, &[(0, 1)]).unwrap_err().contains("has a filter already"));
    assert!(adding(copy, &[(0, 2)]).unwrap_err().contains("has a filter already"));
}

/// A file of two columns, the second one with these fields of its chunk, and these at the end of
/// the footer.
fn of_chunk(chunk: &[u8], end: &[u8]) -> Vec<u8> {
    let schema = [
        0x15, 4, 0x19, 0x3c, 0x48, 1, b'r', 0x15, 4, 0, 0x15, 2, 0x38, 1, b'a', 0, 0x15, 2, 0x38, 1, b'b', 0,
    ];
    let groups = [0x16, 2, 0x19, 0x1c, 0x19, 0x2c, 0x26, 8, 0x1c, 0x15, 2, 0x46, 2, 0, 0];
    let footer = [&schema[..], &groups, chunk, &[0], end, &[0]].concat();
    [b"PAR1 pages ", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn the_place_of_a_filter_is_written_between_its_neighbours() {
    let len = of_numbers().to_bytes().unwrap().len();
    assert!((64..8192).contains(&len), "{len}: two bytes as a signed number, as below");
    // Fields 14 and 15: the place behind the pages, 11, and the length.
    let (place, length) = (22, [(2 * len) as u8 | 128, (len >> 6) as u8]);
    let cases: [(&[u8], &[u8]); 3] = [
        // Behind field 5 at the end, before field 16, and behind field 1 before field 40, which has a long number.
        (
            &[0x26, 8, 0x1c, 0x15, 2, 0x46, 2, 0, 0],
            &[0x26, 8, 0x1c, 0x15, 2, 0x46, 2, 0x96, place, 0x15, length[0], length[1], 0, 0],
        ),
        (
            &[0x3c, 0x56, 2, 0xbc, 0, 0, 0],
            &[0x3c, 0x56, 2, 0x96, place, 0x15, length[0], length[1], 0x1c, 0, 0, 0],
        ),
        (
            &[0x3c, 0x15, 2, 5, 80, 6, 0, 0],
            &[0x3c, 0x15, 2, 0xd6, place, 0x15, length[0], length[1], 5, 80, 6, 0, 0],
        ),
    ];
    for (chunk, expected) in cases {
        let copy = adding(of_chunk(chunk, &[]), &[(0, 1)]).unwrap();
        let made = of_chunk(expected, &[]);
        let (footer, from) = (&made[11..], 11 + len);
        assert_eq!(&copy[from..], footer, "{chunk:x?}");
        let (mut file, options) = (open(copy), ReadOptions::new());
        let place = file.filters()[0];
        assert_eq!((place.column, place.offset, place.len), (1, 11, Some(len as u64)));
        assert_eq!(file.read(&place, &options).unwrap(), of_numbers());
    }
    let plain = [0x3c, 0x15, 2, 0, 0];
    let both = adding(of_chunk(&plain, &[]), &[(0, 1), (0, 0)]).unwrap();
    let places: Vec<_> = open(both).filters().iter().map(|place| (place.column, place.offset)).collect();
    assert_eq!(places, [(0, 11 + len as u64), (1, 11)]);
}

#[test]
fn filters_that_a_file_cannot_get_are_refused() {
    let plain = [0x3c, 0x15, 2, 0, 0];
    let no_such = "no such column in a row group";
    // Bytes of a column and of the footer, the places that were asked for, and the refusal.
    type Case<'a> = (&'a [u8], &'a [u8], &'a [(u64, usize)], &'a str);
    let cases: [Case<'_>; 9] = [
        (&plain, &[], &[(0, 2)], no_such),
        (&plain, &[], &[(1, 0)], no_such),
        (&plain, &[], &[(0, 1), (0, 1)], "two filters for one column"),
        (&plain, &[0x4c, 0], &[(0, 1)], "encrypted, or signed"),
        (&[0x18, 1, b'x', 0x2c, 0x15, 2, 0, 0], &[], &[(0, 1)], "in another file"),
        (&[0x3c, 0x15, 2, 0, 0x5c, 0, 0], &[], &[(0, 1)], "the column is encrypted"),
        (&[0x26, 8, 0], &[], &[(0, 1)], "no metadata"),
        (&[0x3c, 0x56, 2, 5, 2, 2, 0, 0], &[], &[(0, 1)], "not in order"),
        (&[0x3c, 0x56, 2, 0xb5, 2, 5, 26, 2, 0, 0], &[], &[(0, 1)], "not in order"),
    ];
    for (chunk, end, places, reason) in cases {
        let error = adding(of_chunk(chunk, end), places).unwrap_err();
        assert!(error.contains(reason), "{error}, not {reason}");
    }
}

#[test]
fn a_rate_that_is_none_makes_no_filter() {
    for fpp in [0.0, -1.0, 1.0, 2.0, f64::NAN] {
        assert!(matches!(ParquetFilter::new(10, fpp), Err(SizeError::Fpp(_))), "{fpp}");
    }
}
