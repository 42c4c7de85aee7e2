//! Files of other programs, changed at random: decoders answer with an error or with a filter, and
//! take no more memory than the file accounts for. None of these formats has a checksum that
//! readers check, but lengths that must fit: they are put right after most changes, so that the
//! rest is reached.

use crate::allocator::peak_of;
use crate::interop_files::{FILES, base64, bytes_of, file, hex};
use gardenia::format::bip158::BasicFilter;
use gardenia::format::orc::uncompressed;
use gardenia::format::parquet::NewFilter;
use gardenia::format::{Foreign, ForeignInsert, ForeignKey, Format, OrcFile, ParquetFile, ParquetFilter};
use gardenia::{DecodeError, Digest, ReadOptions};
use std::io::Cursor;
use std::time::{Duration, Instant};

const KIB: usize = 1 << 10;

/// All files, with the name of each.
fn files() -> Vec<(String, Format, Vec<u8>)> {
    let mut all: Vec<_> =
        FILES.iter().map(|(name, format)| ((*name).to_owned(), *format, bytes_of(name))).collect();
    for name in ["parquet_pyarrow.parquet", "parquet_duckdb.parquet", "parquet_spark.parquet"] {
        all.push((name.to_owned(), Format::ParquetFile, file(name)));
    }
    for name in ["orc_spark.orc", "orc_pyarrow.orc"] {
        all.push((name.to_owned(), Format::Orc, file(name)));
    }
    let dumps: serde_json::Value = serde_json::from_slice(&file("redisbloom.json")).unwrap();
    for (name, format) in [
        ("bf_scaling", Format::RedisBloom),
        ("bf_nonscaling", Format::RedisBloom),
        ("cf", Format::RedisCuckoo),
    ] {
        let chunks = dumps[name]["chunks"].as_array().unwrap();
        let bytes = chunks.iter().flat_map(|chunk| base64(chunk[1].as_str().unwrap())).collect();
        all.push((name.to_owned(), format, bytes));
    }
    all
}

/// Numbers from a seed.
struct Random(u64, u32);

impl Random {
    fn next(&mut self) -> u64 {
        self.1 += 1;
        Digest(self.0).word(self.1)
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Where most of a file's structure is.
fn structure(format: Format, len: usize) -> (usize, usize) {
    match format {
        Format::ParquetFile => (len.saturating_sub(3000), len),
        Format::Orc => (len.saturating_sub(600), len),
        Format::RocksDb => (len.saturating_sub(1500), len),
        Format::RedisBloom => (0, 126),
        _ => (0, 48),
    }
}

/// A few changes: bits, bytes, numbers that are large or small, bytes cut out or put in.
fn mutated(bytes: &[u8], format: Format, random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let (from, to) = structure(format, bytes.len());
        let (from, to) = if random.below(4) == 0 { (0, bytes.len()) } else { (from, to.min(bytes.len())) };
        let at = from + random.below(to.saturating_sub(from));
        match random.below(7) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = [0, 1, 0x7f, 0x80, 0xff][random.below(5)];
                }
            }
            3 => {
                let (value, width) = (random.next() >> random.below(64), [2, 4, 8][random.below(3)]);
                if let Some(place) = bytes.get_mut(at..at + width) {
                    place.copy_from_slice(&value.to_le_bytes()[..width]);
                }
            }
            4 => _ = bytes.drain(at..(at + random.below(9)).min(bytes.len())),
            5 => _ = bytes.splice(at..at, [random.next() as u8; 3].into_iter().take(1 + random.below(3))),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Puts lengths and marks right, as far as a format has them.
fn repair(bytes: &mut Vec<u8>, original: &[u8], format: Format) {
    let put = |bytes: &mut Vec<u8>, at: usize, value: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    let words = |len: usize, head: usize| len.saturating_sub(head) / 8;
    let tail = |count: usize| &original[original.len() - count..];
    let len = bytes.len();
    match format {
        Format::SparkV1 => {
            put(bytes, 8, &(words(len, 12) as u32).to_be_bytes());
            bytes.truncate(12 + 8 * words(len, 12));
        }
        Format::Spark => {
            put(bytes, 12, &(words(len, 16) as u32).to_be_bytes());
            bytes.truncate(16 + 8 * words(len, 16));
        }
        Format::SparkCountMin => {
            let depth = bytes.get(15).map_or(1, |depth| usize::from(*depth)).clamp(1, 60);
            let width = (words(len, 20) / depth).saturating_sub(1);
            put(bytes, 12, &(depth as u32).to_be_bytes());
            put(bytes, 16, &(width as u32).to_be_bytes());
            bytes.truncate(20 + 8 * depth * (width + 1));
        }
        Format::Guava | Format::Guava32 => {
            put(bytes, 2, &(words(len, 6) as u32).to_be_bytes());
            bytes.truncate(6 + 8 * words(len, 6));
        }
        Format::Hive | Format::BloomK => {
            put(bytes, 1, &(words(len, 5) as u32).to_be_bytes());
            bytes.truncate(5 + 8 * words(len, 5));
        }
        Format::DataSketches => {
            put(bytes, 16, &(words(len, 32) as u32).to_le_bytes());
            bytes.truncate(32 + 8 * words(len, 32));
        }
        Format::Milvus => {
            put(bytes, 24, &(words(len, 32) as u32 / 4).to_le_bytes());
            bytes.truncate(32 + 32 * (words(len, 32) / 4));
        }
        Format::Bip37 => put(bytes, 0, &[len.saturating_sub(10).min(252) as u8]),
        Format::Dcso => put(bytes, 0, &original[..8]),
        Format::ParquetFile => put(bytes, len.saturating_sub(8), tail(8)),
        Format::Orc => put(bytes, len.saturating_sub(24), tail(24)),
        Format::RocksDb if original.len() > 1000 => put(bytes, len.saturating_sub(12), tail(12)),
        Format::RocksDb => {
            bytes.truncate(len.saturating_sub(5) / 64 * 64);
            bytes.extend_from_slice(tail(5));
        }
        // Their headers say how long the rest is.
        Format::RedisBloom | Format::RedisCuckoo => bytes.resize(original.len(), 0),
        Format::Parquet => {
            bytes.resize(original.len(), 0);
            put(bytes, 0, &original[..1]); // that a number of bytes follows
        }
        _ => {}
    }
}

/// Everything that can be done with a filter.
fn use_filter(filter: &dyn Foreign) {
    let keys = [
        ForeignKey::Long(-1),
        ForeignKey::Int(7),
        ForeignKey::Text("rose"),
        ForeignKey::Utf16("rose"),
        ForeignKey::Bytes(b""),
        ForeignKey::Double(-0.5),
        ForeignKey::Float(0.5),
    ];
    keys.iter().for_each(|key| _ = (filter.contains(*key), filter.count(*key)));
    let _ = (filter.bits(), filter.hashes(), filter.fill(), filter.estimated_items(), filter.describe());
    let fpp = filter.fpp();
    assert!((0.0..=1.0).contains(&fpp) || fpp.is_nan(), "{fpp}");
    let _ = filter.parse(b"2026-11-18", None, &mut Vec::new()).map(|key| filter.contains(key));
}

fn read_parquet(bytes: &[u8], options: &ReadOptions) -> Result<usize, DecodeError> {
    let mut file = ParquetFile::open(Cursor::new(bytes), options)?;
    let places: Vec<_> = file.filters().iter().take(20).copied().collect();
    let read = places.iter().filter(|place| file.read(place, options).is_ok()).count();
    for column in 0..file.columns().len().min(5) {
        if let Ok(filters) = file.column(column, None, options) {
            use_filter(&filters);
        }
    }
    // What gets one filter more is a file that has one more.
    if let Some(column) = file.columns().len().checked_sub(1) {
        let filter = ParquetFilter::new(1, 0.01).unwrap();
        let (mut copy, new) = (Vec::new(), NewFilter { row_group: 0, column, filter: &filter });
        if file.add_filters(&[new], &mut copy).is_ok() {
            let mut copy = ParquetFile::open(Cursor::new(&copy), options).unwrap();
            assert_eq!(copy.filters().len(), file.filters().len() + 1);
            let place = copy.filters().iter().rfind(|place| place.column == column && place.row_group == 0);
            let place = *place.unwrap();
            assert_eq!(copy.read(&place, options).unwrap(), filter);
        }
    }
    Ok(read)
}

fn read_orc(bytes: &[u8], options: &ReadOptions) -> Result<usize, DecodeError> {
    let mut file = OrcFile::open(Cursor::new(bytes), options, &uncompressed)?;
    let mut read = 0;
    for column in 0..file.columns().len().min(5) {
        if let Ok(filters) = file.column(column, options, &uncompressed) {
            use_filter(&filters);
            read += 1;
        }
    }
    Ok(read)
}

/// Reads bytes as a file of a format; whether a filter came of it.
fn survive(bytes: &[u8], format: Format, options: &ReadOptions) -> bool {
    match format {
        Format::ParquetFile => read_parquet(bytes, options).is_ok_and(|read| read > 0),
        Format::Orc => read_orc(bytes, options).is_ok_and(|read| read > 0),
        format => match format.read(bytes, options) {
            Ok(filter) => {
                use_filter(&*filter);
                // What was read is written and read again.
                if let Some(filter) = filter.into_insert() {
                    let written = filter.to_bytes().unwrap();
                    assert!(format.read(&written, options).is_ok(), "{format:?}");
                }
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                false
            }
        },
    }
}

fn sweep(rounds: u64) {
    for (number, (name, format, original)) in files().into_iter().enumerate() {
        let options = ReadOptions::new().max_bytes(1 << 24).max_expansion(1 << 16);
        assert!(survive(&original, format, &options), "{name}");
        let (mut deep, mut most) = (0, 0);
        for round in 0..rounds {
            let mut random = Random(round * 1_000_003 + number as u64, 0);
            let mut bytes = mutated(&original, format, &mut random);
            if random.below(4) > 0 {
                repair(&mut bytes, &original, format);
            }
            let start = Instant::now();
            let (read, peak) = peak_of(|| {
                let read = survive(&bytes, format, &options);
                Format::recognise(&bytes).into_iter().filter(|other| *other != format).for_each(|other| {
                    survive(&bytes, other, &options);
                });
                read
            });
            // Some tens of microseconds, on a machine that has nothing else to do.
            let took = start.elapsed();
            assert!(took < Duration::from_secs(10), "{name}, round {round}: {took:?}");
            deep += u64::from(read);
            most = most.max(peak);
            // A file is copied, the copy used and written: all that stays within a few times its size.
            assert!(
                peak < 12 * bytes.len() + 600 * KIB,
                "{name}, round {round}: {peak} bytes for {}",
                bytes.len()
            );
        }
        assert!(deep * 20 > rounds, "{name}: {deep} of {rounds} were read");
    }
}

/// Filters of Bitcoin blocks, which need the key of their block beside their bytes.
fn sweep_blocks(rounds: u64) {
    let vectors: serde_json::Value = serde_json::from_slice(&file("bip158.json")).unwrap();
    for (number, block) in vectors["blocks"].as_array().unwrap().iter().enumerate() {
        let original = hex(block["filter"].as_str().unwrap());
        let mut deep = 0;
        for round in 0..rounds {
            let mut random = Random(round * 1_000_003 + number as u64, 0);
            let bytes = mutated(&original, Format::Bip158, &mut random);
            let (read, peak) = peak_of(|| match BasicFilter::from_bytes([7; 16], &bytes) {
                Ok(filter) => {
                    let _ = (filter.items(), filter.contains(b"rose"), filter.contains_any([b"a", b"b"]));
                    true
                }
                Err(error) => error.to_string().is_empty(),
            });
            deep += u64::from(read);
            assert!(peak < 12 * bytes.len() + 600 * KIB, "block {number}, round {round}: {peak}");
        }
        assert!(deep > 0, "block {number}: none of {rounds} was read");
    }
}

#[test]
fn changed_files_of_other_programs_are_survived() {
    sweep(400);
    sweep_blocks(400);
}

#[test]
#[ignore = "a long sweep, run by ./check engines"]
fn a_hundred_thousand_changes_of_every_file_are_survived() {
    sweep(100_000);
    sweep_blocks(100_000);
}

#[test]
fn large_claims_are_refused_before_memory_is_taken() {
    let refused = |format: Format, change: &dyn Fn(&mut Vec<u8>)| {
        let (_, _, mut bytes) = files().into_iter().find(|(_, known, _)| *known == format).unwrap();
        change(&mut bytes);
        let (read, peak) = peak_of(|| match format {
            Format::ParquetFile => {
                ParquetFile::open(Cursor::new(&bytes), &ReadOptions::new()).and_then(|mut file| {
                    let place = file.filters()[0];
                    file.read(&place, &ReadOptions::new()).map(drop)
                })
            }
            Format::Orc => OrcFile::open(Cursor::new(&bytes), &ReadOptions::new(), &uncompressed)
                .and_then(|mut file| file.column(1, &ReadOptions::new(), &uncompressed).map(drop)),
            format => format.read(&bytes, &ReadOptions::new()).map(drop),
        });
        assert!(peak < 200 * KIB, "{format:?}: {peak}");
        read.unwrap_err().to_string()
    };
    let most = i32::MAX.to_be_bytes();
    let words = |at: usize| move |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&most);
    for (format, at) in [(Format::SparkV1, 8), (Format::Spark, 12), (Format::Guava, 2), (Format::Hive, 1)] {
        let error = refused(format, &words(at));
        assert!(error.contains("limit") || error.contains("truncated"), "{format:?}: {error}");
    }
    let error = refused(Format::SparkCountMin, &words(16));
    assert!(error.contains("limit"), "{error}");
    let error =
        refused(Format::DataSketches, &|bytes| bytes[16..20].copy_from_slice(&i32::MAX.to_le_bytes()));
    assert!(error.contains("limit") || error.contains("truncated"), "{error}");
    let error = refused(Format::Milvus, &|bytes| bytes[24..28].fill(0xff));
    assert!(error.contains("truncated"), "{error}");
    let error = refused(Format::RedisBloom, &|bytes| {
        bytes[20..28].copy_from_slice(&(1u64 << 40).to_le_bytes());
        bytes[28..36].copy_from_slice(&(1u64 << 43).to_le_bytes());
    });
    assert!(error.contains("limit"), "{error}");
    let error =
        refused(Format::RedisCuckoo, &|bytes| bytes[8..16].copy_from_slice(&(1u64 << 40).to_le_bytes()));
    assert!(error.contains("limit"), "{error}");
    // A footer that is longer than the file, one that lies about places, a filter of 2 GB.
    let error = refused(Format::ParquetFile, &|bytes| {
        let at = bytes.len() - 8;
        bytes[at..at + 4].fill(0x7f);
    });
    assert!(error.contains("truncated"), "{error}");
    let place = ParquetFile::open(Cursor::new(file("parquet_pyarrow.parquet")), &ReadOptions::new())
        .unwrap()
        .filters()[0];
    let error = refused(Format::ParquetFile, &|bytes| {
        // 15 and a number of five bytes: 2^31 - 32 bytes.
        let at = place.offset as usize;
        let header =
            [0x15, 0xc0, 0xff, 0xff, 0xff, 0x0f, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];
        bytes[at..at + header.len()].copy_from_slice(&header);
    });
    assert!(error.contains("truncated"), "{error}");
    // 2⁴⁰ bytes do not fit the type of the field.
    let error = refused(Format::ParquetFile, &|bytes| {
        let at = place.offset as usize;
        bytes[at..at + 8].copy_from_slice(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0x1c]);
    });
    assert!(!error.is_empty());
    let error = refused(Format::Orc, &|bytes| {
        let at = bytes.len() - 1;
        bytes[at] = 255;
    });
    assert!(!error.is_empty());
}

/// A Parquet file with this footer.
fn with_footer(footer: &[u8]) -> Vec<u8> {
    [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn footers_that_lie_are_errors() {
    let open = |footer: &[u8]| {
        let bytes = with_footer(footer);
        let (read, peak) = peak_of(|| ParquetFile::open(Cursor::new(&bytes), &ReadOptions::new()).map(drop));
        assert!(peak < 4 * footer.len() + 64 * KIB, "{peak}");
        read.unwrap_err().to_string()
    };
    // Structs in structs, lists in lists, maps in maps, without end.
    assert!(open(&[0x9c; 100_000]).contains("nested too deep"));
    assert!(open(&[&[0x99][..], &[0x19; 100_000]].concat()).contains("nested too deep"));
    assert!(open(&[&[0x9b][..], &[1, 0xbb].repeat(50_000)].concat()).contains("nested too deep"));
    // Lists that are longer than the footer.
    assert!(open(&[0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f]).contains("longer than the footer"));
    assert!(open(&[0x98, 0xff, 0xff, 0xff, 0xff, 0x0f]).contains("truncated"));
    // A number without end, a type that is none, a field of another type.
    assert!(open(&[&[0x16][..], &[0xff; 20]].concat()).contains("longer than 64 bits"));
    assert!(open(&[0x1e]).contains("no known type"));
    assert!(open(&[0x25, 2]).contains("another type"));
    assert!(open(&[]).contains("truncated"));
    // A schema of a group that has more children than elements, and groups without end.
    assert!(open(&[0x29, 0x1c, 0x48, 1, b'r', 0x15, 8, 0, 0]).contains("ends too early"));
    let group = [0x48, 1, b'g', 0x15, 2, 0];
    let deep: Vec<u8> = [&[0x29, 0xfc, 0xe8, 7][..], &group.repeat(1000), &[0]].concat();
    assert!(open(&deep).contains("nested too deep"));
    // A row group with more columns than the schema, and with a filter at a place below 0.
    let schema = [0x29, 0x2c, 0x48, 1, b'r', 0x15, 2, 0, 0x15, 4, 0x38, 1, b'a', 0];
    let chunk = |offset: u8| [0x3c, 0x06, 0x1c, offset, 0, 0];
    let group = |chunks: &[u8], count: u8| {
        [&schema[..], &[0x29, 0x1c, 0x19, count << 4 | 12], chunks, &[0, 0]].concat()
    };
    let one = group(&chunk(8), 1);
    assert!(
        ParquetFile::open(Cursor::new(with_footer(&one)), &ReadOptions::new()).unwrap().filters().len() == 1
    );
    assert!(open(&group(&[chunk(8), chunk(8)].concat(), 2)).contains("more columns than the schema"));
    assert!(open(&group(&chunk(7), 1)).contains("negative place"));
    // Behind the end.
    let far = with_footer(&group(
        &[0x3c, 0x06, 0x1c, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0],
        1,
    ));
    let mut file = ParquetFile::open(Cursor::new(far), &ReadOptions::new()).unwrap();
    let place = file.filters()[0];
    assert_eq!(place.offset, i64::MAX as u64);
    assert!(matches!(file.read(&place, &ReadOptions::new()), Err(DecodeError::Truncated { .. })));
    assert!(
        ParquetFile::open(Cursor::new(b"PAR1....PARE1234PARE"), &ReadOptions::new())
            .unwrap_err()
            .to_string()
            .contains("encrypted")
    );
}

/// A number in seven bits a byte, lowest first, as Thrift and Protocol Buffers have it.
fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The footer of a Parquet file: a group of this name, and so many columns in it.
fn parquet_footer(name: &[u8], columns: usize, column: &[u8]) -> Vec<u8> {
    let root = [0x48, 1, b'r', 0x15, 2, 0];
    let group = [&[0x48][..], &varint(name.len()), name, &[0x15], &varint(2 * columns), &[0]].concat();
    let columns = column.repeat(columns);
    [&[0x29, 0xfc][..], &varint(columns.len() / column.len() + 2), &root, &group, &columns, &[0]].concat()
}

/// A field of Protocol Buffers that holds bytes.
fn message(field: usize, bytes: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(bytes.len()), bytes].concat()
}

/// An ORC file that has this footer alone, uncompressed.
fn orc_with_footer(footer: &[u8]) -> Vec<u8> {
    let postscript = [&[8][..], &varint(footer.len()), &message(8000, b"ORC")].concat();
    [b"ORC", footer, &postscript, &[postscript.len() as u8]].concat()
}

/// The footer of an ORC file: a group with a name of so many bytes, and these columns in it, of
/// which there are so many.
fn orc_footer(name: usize, children: &[usize], columns: usize) -> Vec<u8> {
    let root = [&[8, 12][..], &message(2, &[1]), &message(3, &vec![b'n'; name])].concat();
    let children: Vec<u8> = children.iter().flat_map(|child| varint(*child)).collect();
    let group = [&[8, 12][..], &message(2, &children)].concat();
    [message(4, &root), message(4, &group), message(4, &[8, 4]).repeat(columns)].concat()
}

#[test]
fn long_names_around_many_columns_take_no_more_memory_than_the_footer_accounts_for() {
    let parquet = |footer: &[u8]| {
        let bytes = with_footer(footer);
        let (read, peak) = peak_of(|| {
            ParquetFile::open(Cursor::new(&bytes), &ReadOptions::new()).map(|file| file.columns().len())
        });
        assert!(peak < 48 * footer.len() + 128 * KIB, "{peak} for {}", footer.len());
        read.map_err(|error| error.to_string())
    };
    // A column of three bytes would take 150 KB, and all of them 750 MB.
    let error = parquet(&parquet_footer(&[0xff; 50_000], 5_000, &[0x15, 4, 0])).unwrap_err();
    assert!(error.contains("far longer than its footer"), "{error}");
    // Names as people give them.
    assert_eq!(parquet(&parquet_footer(&[b'n'; 60], 1_000, &[0x15, 4, 0x38, 2, b'a', b'b', 0])), Ok(1_000));
    assert_eq!(parquet(&parquet_footer(b"", 100_000, &[0x15, 4, 0])), Ok(100_000));

    let orc = |footer: &[u8]| {
        let (bytes, start) = (orc_with_footer(footer), Instant::now());
        let (read, peak) = peak_of(|| {
            OrcFile::open(Cursor::new(&bytes), &ReadOptions::new(), &uncompressed)
                .map(|file| file.columns().len())
        });
        assert!(peak < 100 * footer.len() + 128 * KIB, "{peak} for {}", footer.len());
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
        read.map_err(|error| error.to_string())
    };
    let all = |columns: usize| (2..columns + 2).collect::<Vec<_>>();
    let error = orc(&orc_footer(50_000, &all(5_000), 5_000)).unwrap_err();
    assert!(error.contains("far longer than its footer"), "{error}");
    // One column that a group lists again and again.
    let error = orc(&orc_footer(50_000, &[2; 50_000], 1)).unwrap_err();
    assert!(error.contains("no tree"), "{error}");
    assert_eq!(orc(&orc_footer(60, &all(1_000), 1_000)), Ok(1_002));
    assert_eq!(orc(&orc_footer(0, &all(50_000), 50_000)), Ok(50_002));
}

#[test]
fn parts_of_a_file_that_lie_in_one_place_are_not_read_again_and_again() {
    // 10,000 row groups with one filter of 4 KiB.
    let schema = [0x29, 0x2c, 0x48, 1, b'r', 0x15, 2, 0, 0x15, 4, 0x38, 1, b'a', 0];
    let group = [0x19, 0x1c, 0x3c, 0x06, 0x1c, 8, 0, 0, 0]; // its filter is at 4
    let groups =
        |count: usize| [&schema[..], &[0x29, 0xfc], &varint(count), &group.repeat(count), &[0]].concat();
    let mut filter = ParquetFilter::from_inner(
        gardenia::SplitBlockBloom::builder()
            .bits(1 << 15)
            .hasher(gardenia::KeyHasher::xxh64(0))
            .build()
            .unwrap(),
    )
    .unwrap();
    filter.insert(ForeignKey::Long(7)).unwrap();
    let column = |count: usize| {
        let footer = groups(count);
        let bytes = [b"PAR1", &filter.to_bytes().unwrap()[..], &with_footer(&footer)[4..]].concat();
        let (read, peak) = peak_of(|| {
            let mut file = ParquetFile::open(Cursor::new(&bytes), &ReadOptions::new())?;
            let column = file.column(0, None, &ReadOptions::new())?;
            Ok(column.groups().len())
        });
        assert!(peak < 40 * bytes.len() + 64 * KIB, "{peak} for {}", bytes.len());
        read.map_err(|error: DecodeError| error.to_string())
    };
    assert_eq!(column(1), Ok(1));
    assert!(column(10_000).unwrap_err().contains("overlap"));

    // 100,000 stripes, the footer of each all that comes before.
    let stripe = [8, 0, 0x10, 0, 0x18, 0, 0x20, 0xff, 0x7f];
    let footer = [message(3, &stripe).repeat(100_000), message(4, &[8, 4])].concat();
    let bytes = orc_with_footer(&footer);
    let error = OrcFile::open(Cursor::new(&bytes), &ReadOptions::new(), &uncompressed).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}
