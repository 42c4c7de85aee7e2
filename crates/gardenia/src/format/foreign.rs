//! Filters of other programs: the table of formats, how a file is recognised, and what every such
//! filter can be asked.
//!
//! The bits of a foreign filter are all there is: its keys cannot be hashed again, and its hash
//! functions are that program's own. So each format has a type of its own that takes keys
//! ([`ForeignKey`]), and all of them are a [`Foreign`]. A key has to have the type with which it
//! was inserted: the number 7 and the text "7" are two keys, and most formats do not say which they
//! hold.

use super::bit_table::same;
use super::{ReadOptions, bip37, datasketches, guava, hive, milvus, parquet, redisbloom, rocksdb, spark};
use crate::explain::{CellTable, Holds, fill_of_parts};
use crate::theory::{self, bloom, overlap::Overlap};
use crate::{DecodeError, EncodeError, Mismatch, SizeError};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::ops::Range;
use thiserror::Error;

/// Declares the formats.
macro_rules! formats {
    ($($format:ident $name:literal, $title:literal, $by:literal, [$($can:ident)*] $shown:expr, $program:literal;)+) => {
        /// A format of other programs.
        ///
        /// ```
        /// use gardenia::format::{Format, FormatAbility};
        /// assert_eq!(Format::from_name("guava"), Some(Format::Guava));
        /// assert!(Format::Guava.can(FormatAbility::Write) && !Format::Orc.can(FormatAbility::Write));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $(#[doc = $title] $format,)+
        }

        impl Format {
            /// All formats, in the order of the table.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$format),+];

            /// Name for the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$format => $name,)+
                }
            }

            /// What it is, in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$format => $title,)+
                }
            }

            /// By what bytes a file is recognised.
            #[must_use]
            pub const fn recognised_by(self) -> &'static str {
                match self {
                    $(Self::$format => $by,)+
                }
            }

            /// What can be done with it.
            #[must_use]
            pub const fn abilities(self) -> &'static [FormatAbility] {
                match self {
                    $(Self::$format => &[$(FormatAbility::$can),*],)+
                }
            }

            /// By what it is shown that the real program agrees.
            #[must_use]
            pub const fn shown(self) -> Shown {
                match self {
                    $(Self::$format => $shown,)+
                }
            }

            /// The program that reads our files in a test (`crates/gardenia-cli/tests/programs`;
            /// for filters in Parquet files also `crates/gardenia-python/tests/test_parquet.py`),
            /// if one does.
            #[must_use]
            pub const fn read_back_by(self) -> Option<&'static str> {
                let program = match self {
                    $(Self::$format => $program,)+
                };
                if program.is_empty() { None } else { Some(program) }
            }
        }
    };
}

formats! {
    Parquet "parquet", "Parquet split-block filter (header and bitset)", "the bytes of its Thrift header", [Read Query Write Merge Convert] Shown::Identical, "DuckDB 2.0.0 and Spark 4.3.0, in a file";
    ParquetFile "parquet-file", "Parquet file with filters in its row groups", "`PAR1` at both ends", [Read Query Convert] Shown::Read, "DuckDB 2.0.0 and Spark 4.3.0: filters added by `ParquetFile::add_filters`";
    Milvus "milvus", "Milvus blob (MBF1)", "`MBF1`", [Read Query Write Merge Convert] Shown::Identical, "";
    Spark "spark", "Spark BloomFilter, version 2", "version 2, and the length", [Read Query Write Merge] Shown::Identical, "Spark 4.3.0";
    SparkV1 "spark-v1", "Spark BloomFilter, version 1", "version 1, and the length", [Read Query Write Merge] Shown::Identical, "Spark 4.3.0";
    SparkCountMin "spark-cms", "Spark CountMinSketch", "version 1, and the length", [Read Query Write Merge] Shown::Identical, "Spark 4.3.0";
    Guava "guava", "Guava BloomFilter, MURMUR128_MITZ_64", "strategy 1, and the length", [Read Query Write Merge] Shown::Identical, "Guava, of Spark's jars";
    Guava32 "guava-32", "Guava BloomFilter, MURMUR128_MITZ_32", "strategy 0, and the length", [Read Query Write Merge] Shown::Identical, "Guava, of Spark's jars";
    Hive "hive", "Hive BloomFilter", "the length", [Read Query Write Merge] Shown::Identical, "Hive storage-api, of Spark's jars";
    BloomK "bloomk", "Hive BloomKFilter, as Druid takes it", "the length; as `hive`", [Read Query Write Merge] Shown::Identical, "Hive storage-api, of Spark's jars";
    Orc "orc", "ORC file with filters in its stripes", "`ORC`", [Read Query] Shown::Neither("written by ORC's own library alone; its files are read"), "";
    DataSketches "datasketches", "Apache DataSketches BloomFilter", "family 21", [Read Query Write Merge] Shown::Identical, "DataSketches, of Spark's jars";
    RocksDb "rocksdb", "RocksDB table file, or a full filter block of one", "the table's magic number, or the block's last five bytes", [Read Query] Shown::Neither("written by RocksDB alone; its files are read"), "";
    Bip37 "bip37", "Bitcoin `filterload` (BIP 37)", "the length", [Read Query Write] Shown::Identical, "";
    Bip158 "bip158", "Bitcoin block filter (BIP 158)", "not: it needs the key of its block", [] Shown::Identical, "";
    RedisBloom "redisbloom", "RedisBloom BF.SCANDUMP, all chunks in one file", "the options, and the length", [Read Query Write] Shown::Identical, "";
    RedisCuckoo "redis-cuckoo", "RedisBloom CF.SCANDUMP, all chunks in one file", "the length", [Read Query Write] Shown::Identical, "";
    Dcso "dcso", "DCSO bloom", "its six numbers", [Read Query Write Merge Convert] Shown::Identical, "";
}

/// What can be done with files of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormatAbility {
    /// Described: size, fill, rate.
    Read,
    /// Asked for keys.
    Query,
    /// Built from keys.
    Write,
    /// Merged with another one of the same shape.
    Merge,
    /// Turned into one of our kinds, or back, without its keys.
    Convert,
}

/// How a test shows that the real program agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shown {
    /// Our bytes for the same keys are those of the program's file.
    Identical,
    /// The program's files are read, and its answers are ours.
    Read,
    /// Neither can be shown; why.
    Neither(&'static str),
}

impl Format {
    /// The format with this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether something can be done with files of this format.
    #[must_use]
    pub fn can(self, ability: FormatAbility) -> bool {
        self.abilities().contains(&ability)
    }

    /// Whether a file holds any number of filters, and is opened by a type of its own
    /// ([`ParquetFile`](super::ParquetFile), [`OrcFile`](super::OrcFile)).
    #[must_use]
    pub const fn holds_many(self) -> bool {
        matches!(self, Self::ParquetFile | Self::Orc)
    }

    /// Whether the program chooses the false-positive rate itself: [`create`](Self::create) then
    /// does not use the one it is given.
    ///
    /// ```
    /// use gardenia::format::Format;
    /// let sizes = |format: Format| [0.1, 0.001].map(|fpp| format.create(100, fpp).unwrap().bits());
    /// let [coarse, fine] = sizes(Format::BloomK);
    /// assert!(Format::BloomK.has_fixed_fpp() && coarse == fine);
    /// let [coarse, fine] = sizes(Format::Hive);
    /// assert!(!Format::Hive.has_fixed_fpp() && coarse < fine);
    /// ```
    #[must_use]
    pub const fn has_fixed_fpp(self) -> bool {
        matches!(self, Self::BloomK | Self::RedisCuckoo)
    }

    /// The formats that a file may have, judged by both of its ends and its length. Formats without
    /// a mark are recognised by lengths that fit, so that there may be several: `hive` and `bloomk`
    /// have the same layout, and nothing in a file tells them apart.
    ///
    /// ```
    /// use gardenia::format::Format;
    /// let bytes = Format::Guava.create(100, 0.01)?.to_bytes().unwrap();
    /// assert_eq!(Format::recognise(&bytes), [Format::Guava]);
    /// assert!(Format::recognise(b"rose\ntulip\n").is_empty());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> Vec<Self> {
        let head = &bytes[..bytes.len().min(Look::ENDS)];
        let tail = &bytes[bytes.len().saturating_sub(Look::ENDS)..];
        Look { head, tail, len: bytes.len() as u64 }.formats()
    }

    /// The filter in these bytes, which must be one file of this format.
    ///
    /// ```
    /// use gardenia::format::{Foreign, ForeignKey, Format};
    /// let mut filter = Format::Spark.create(100, 0.01)?;
    /// filter.insert(ForeignKey::Long(7)).unwrap();
    /// let copy = Format::Spark.read(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
    /// assert!(copy.contains(ForeignKey::Long(7)).unwrap() && !copy.contains(ForeignKey::Text("7")).unwrap());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn read(self, bytes: &[u8], options: &ReadOptions) -> Result<Box<dyn Foreign>, DecodeError> {
        Ok(match self {
            Self::Parquet => Box::new(parquet::ParquetFilter::from_bytes(bytes, options)?),
            Self::Milvus => Box::new(milvus::MilvusBloom::from_bytes(bytes, options)?),
            Self::Spark | Self::SparkV1 => Box::new(spark::SparkBloom::from_bytes(bytes, options)?),
            Self::SparkCountMin => Box::new(spark::SparkCountMin::from_bytes(bytes, options)?),
            Self::Guava | Self::Guava32 => Box::new(guava::GuavaBloom::from_bytes(bytes, options)?),
            Self::Hive => Box::new(hive::HiveBloom::from_bytes(bytes, hive::Layout::Hive, options)?),
            Self::BloomK => Box::new(hive::HiveBloom::from_bytes(bytes, hive::Layout::BloomK, options)?),
            Self::DataSketches => Box::new(datasketches::DataSketchesBloom::from_bytes(bytes, options)?),
            Self::RocksDb => Box::new(rocksdb::RocksDbBloom::from_bytes(bytes, options)?),
            Self::Bip37 => Box::new(bip37::FilterLoad::from_bytes(bytes, options)?),
            Self::RedisBloom => Box::new(redisbloom::BloomDump::from_bytes(bytes, options)?),
            Self::RedisCuckoo => Box::new(redisbloom::CuckooDump::from_bytes(bytes, options)?),
            Self::Dcso => Box::new(super::dcso::from_bytes(bytes, options)?),
            Self::ParquetFile => {
                return Err(DecodeError::Foreign(
                    "a Parquet file holds many filters: open it with ParquetFile",
                ));
            }
            Self::Orc => {
                return Err(DecodeError::Foreign("an ORC file holds many filters: open it with OrcFile"));
            }
            Self::Bip158 => {
                return Err(DecodeError::Foreign(
                    "a BIP 158 filter needs the key of its block: read it with BasicFilter",
                ));
            }
        })
    }

    /// An empty filter for `items` keys at `fpp`, in the size that the program would choose; an
    /// error of formats that are not written.
    ///
    /// ```
    /// use gardenia::format::Format;
    /// assert_eq!(Format::Bip37.create(200, 0.02)?.bits(), 203 * 8);
    /// assert!(Format::Orc.create(200, 0.02).is_err());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn create(self, items: u64, fpp: f64) -> Result<Box<dyn ForeignInsert>, SizeError> {
        if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
            return Err(SizeError::Fpp(fpp));
        }
        if items == 0 {
            return Err(SizeError::ZeroItems);
        }
        Ok(match self {
            Self::Parquet => Box::new(parquet::ParquetFilter::new(items, fpp)?),
            Self::Milvus => Box::new(milvus::MilvusBloom::new(items, fpp)?),
            Self::Spark => Box::new(spark::SparkBloom::new(items, fpp, 0)?),
            Self::SparkV1 => Box::new(spark::SparkBloom::new_v1(items, fpp)?),
            Self::SparkCountMin => {
                return Err(SizeError::Conflict(
                    "a sketch is sized by its error: create it with SparkCountMin::new",
                ));
            }
            Self::Guava => Box::new(guava::GuavaBloom::new(items, fpp, guava::Strategy::Mitz64)?),
            Self::Guava32 => Box::new(guava::GuavaBloom::new(items, fpp, guava::Strategy::Mitz32)?),
            Self::Hive => Box::new(hive::HiveBloom::new(items, fpp)?),
            Self::BloomK => Box::new(hive::HiveBloom::new_k(items)?),
            Self::DataSketches => {
                Box::new(datasketches::DataSketchesBloom::new(items, fpp, datasketches::SEED)?)
            }
            Self::Bip37 => Box::new(bip37::FilterLoad::new(items, fpp, 0)?),
            Self::RedisBloom => Box::new(redisbloom::BloomDump::new(items, fpp)?),
            Self::RedisCuckoo => Box::new(redisbloom::CuckooDump::new(items)?),
            Self::Dcso => Box::new(super::dcso::new(items, fpp)?),
            Self::ParquetFile | Self::Orc | Self::RocksDb | Self::Bip158 => {
                return Err(SizeError::Conflict("files of this format are read, not written"));
            }
        })
    }
}

/// How many bytes the names of a file's columns may still take together. The path of a column has
/// the names of all groups around it, so that few bytes of a footer can stand for many of paths: a
/// long name, and under it columns of three bytes each.
#[derive(Default)]
pub(super) struct Names(usize);

impl Names {
    /// For the columns of this footer. Writers repeat each path in each row group or stripe, or
    /// have a few names of some ten bytes around a column.
    pub(super) fn of(footer: &[u8]) -> Self {
        Self(footer.len().saturating_mul(8).saturating_add(64 << 10))
    }

    /// Accounts for a path before it is copied.
    pub(super) fn take(&mut self, path: usize) -> Result<(), DecodeError> {
        let damaged = DecodeError::Damaged("the names of the file's columns are far longer than its footer");
        self.0 = self.0.checked_sub(path).ok_or(damaged)?;
        Ok(())
    }
}

/// Both ends of a file and its length: all that is needed to recognise it.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The first bytes, [`ENDS`](Self::ENDS) of them if there are as many.
    pub head: &'a [u8],
    /// The last bytes, as many.
    pub tail: &'a [u8],
    /// Length of the file.
    pub len: u64,
}

impl Look<'_> {
    /// How many bytes of each end are looked at.
    pub const ENDS: usize = 64;

    /// The formats that the file may have. See [`Format::recognise`].
    #[must_use]
    pub fn formats(&self) -> Vec<Format> {
        // Marks first: a file that has one is nothing else.
        let marked = [
            (Format::ParquetFile, parquet::is_file(self)),
            (Format::Orc, self.head.starts_with(b"ORC")),
            (Format::Milvus, self.head.starts_with(milvus::MARK)),
            (Format::RocksDb, rocksdb::is_table(self)),
            (Format::DataSketches, datasketches::begins(self)),
        ];
        if let Some((format, _)) = marked.into_iter().find(|(_, fits)| *fits) {
            return alloc::vec![format];
        }
        let fitting = [
            (Format::Parquet, parquet::is_filter(self)),
            (Format::Spark, spark::begins(self) == Some(2)),
            (Format::SparkV1, spark::begins(self) == Some(1)),
            (Format::SparkCountMin, spark::begins_count_min(self)),
            (Format::Guava, guava::begins(self) == Some(guava::Strategy::Mitz64)),
            (Format::Guava32, guava::begins(self) == Some(guava::Strategy::Mitz32)),
            (Format::Hive, hive::begins(self, hive::Layout::Hive)),
            (Format::BloomK, hive::begins(self, hive::Layout::BloomK)),
            (Format::Bip37, bip37::begins(self)),
            (Format::RedisBloom, redisbloom::begins(self)),
            (Format::RedisCuckoo, redisbloom::begins_cuckoo(self)),
            (Format::Dcso, super::dcso::begins(self.head)),
            (Format::RocksDb, rocksdb::is_block(self)),
        ];
        fitting.into_iter().filter(|(_, fits)| *fits).map(|(format, _)| format).collect()
    }
}

/// A key as the other program was given it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ForeignKey<'a> {
    /// A 32-bit integer, `int` in Java.
    Int(i32),
    /// A 64-bit integer, `long` in Java.
    Long(i64),
    /// A 32-bit floating-point number.
    Float(f32),
    /// A 64-bit floating-point number.
    Double(f64),
    /// Text, which programs hash as UTF-8.
    Text(&'a str),
    /// Text, hashed as UTF-16 without a byte order mark: Guava's `unencodedCharsFunnel`.
    Utf16(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl ForeignKey<'_> {
    /// The type of the key.
    #[must_use]
    pub const fn key_type(self) -> KeyType {
        match self {
            Self::Int(_) => KeyType::Int,
            Self::Long(_) => KeyType::Long,
            Self::Float(_) => KeyType::Float,
            Self::Double(_) => KeyType::Double,
            Self::Text(_) => KeyType::String,
            Self::Utf16(_) => KeyType::Utf16,
            Self::Bytes(_) => KeyType::Bytes,
        }
    }
}

/// How a line of text becomes a [`ForeignKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// A floating-point number of 32 bits.
    Float,
    /// A floating-point number of 64 bits.
    Double,
    /// Text, hashed as UTF-8.
    String,
    /// Text, hashed as UTF-16.
    Utf16,
    /// The bytes as they are.
    Bytes,
    /// Bytes, written as hexadecimal digits.
    Hex,
}

impl KeyType {
    /// All types.
    pub const ALL: [Self; 8] =
        [Self::Int, Self::Long, Self::Float, Self::Double, Self::String, Self::Utf16, Self::Bytes, Self::Hex];

    /// Name for the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::String => "string",
            Self::Utf16 => "utf16",
            Self::Bytes => "bytes",
            Self::Hex => "hex",
        }
    }

    /// The type with this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The key that this text stands for; `scratch` holds its bytes where they are not those of the
    /// text.
    ///
    /// ```
    /// use gardenia::format::{ForeignKey, KeyType};
    /// let mut scratch = Vec::new();
    /// assert_eq!(KeyType::Long.parse(b" -7", &mut scratch), Ok(ForeignKey::Long(-7)));
    /// assert_eq!(KeyType::Hex.parse(b"00fF", &mut scratch), Ok(ForeignKey::Bytes(&[0, 255])));
    /// assert!(KeyType::Int.parse(b"3000000000", &mut scratch).is_err());
    /// ```
    pub fn parse<'a>(self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<ForeignKey<'a>, KeyError> {
        let as_text = || core::str::from_utf8(text).map_err(|_| KeyError::not(text, "UTF-8"));
        let trimmed = || as_text().map(str::trim);
        Ok(match self {
            Self::Int => ForeignKey::Int(
                trimmed()?.parse().map_err(|_| KeyError::not(text, "a whole number of 32 bits"))?,
            ),
            Self::Long => ForeignKey::Long(
                trimmed()?.parse().map_err(|_| KeyError::not(text, "a whole number of 64 bits"))?,
            ),
            Self::Float => {
                ForeignKey::Float(trimmed()?.parse().map_err(|_| KeyError::not(text, "a number"))?)
            }
            Self::Double => {
                ForeignKey::Double(trimmed()?.parse().map_err(|_| KeyError::not(text, "a number"))?)
            }
            Self::String => ForeignKey::Text(as_text()?),
            Self::Utf16 => ForeignKey::Utf16(as_text()?),
            Self::Bytes => ForeignKey::Bytes(text),
            Self::Hex => {
                scratch.clear();
                let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
                let (pairs, rest) = text.trim_ascii().as_chunks::<2>();
                for [high, low] in pairs {
                    let byte = digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low);
                    scratch.push(byte.ok_or_else(|| KeyError::not(text, "pairs of hexadecimal digits"))?);
                }
                if !rest.is_empty() {
                    return Err(KeyError::not(text, "pairs of hexadecimal digits"));
                }
                ForeignKey::Bytes(scratch)
            }
        })
    }
}

/// A key that cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Text that is not what the type wants.
    #[error("{text:?} is not {wanted}")]
    Text {
        /// The first characters.
        text: String,
        /// What was wanted.
        wanted: String,
    },
    /// The filter does not take keys of this type.
    #[error("{filter} has no keys of type {found}, but of {}", Types(.accepted))]
    Type {
        /// The filter.
        filter: &'static str,
        /// What it takes.
        accepted: &'static [KeyType],
        /// What was given.
        found: &'static str,
    },
    /// The column holds values for which no key can be given.
    #[error("a column of type {column} cannot be asked: it is not known here how its values are hashed")]
    NoKeys {
        /// The type of the column.
        column: &'static str,
    },
    /// The filter has no room for the key.
    #[error("the key does not fit: {reason}")]
    Full {
        /// What the filter says.
        reason: String,
    },
    /// Nothing says of which type the keys are.
    #[error("{filter} does not say of which type its keys are: {}", Types(.types))]
    Ambiguous {
        /// The filter.
        filter: &'static str,
        /// Which it may be.
        types: &'static [KeyType],
    },
}

/// Names of types, as people list them.
struct Types<'a>(&'a [KeyType]);

impl fmt::Display for Types<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, one) in self.0.iter().enumerate() {
            let before = if at == 0 {
                ""
            } else if at + 1 == self.0.len() {
                " or "
            } else {
                ", "
            };
            write!(f, "{before}{}", one.name())?;
        }
        Ok(())
    }
}

impl KeyError {
    pub(super) fn not(text: &[u8], wanted: &str) -> Self {
        let shown = &text[..text.len().min(40)];
        Self::Text { text: String::from_utf8_lossy(shown).into_owned(), wanted: wanted.to_string() }
    }
}

mod sealed {
    use super::{bip37, datasketches, guava, hive, milvus, parquet, redisbloom, rocksdb, spark};

    /// For the types of this crate alone, so that a new version can ask more of them.
    pub trait Sealed {}

    macro_rules! sealed {
        ($($type:ty),+ $(,)?) => { $(impl Sealed for $type {})+ };
    }
    sealed! {
        bip37::FilterLoad, datasketches::DataSketchesBloom, crate::Bloom<crate::index::AnyScheme>, guava::GuavaBloom, hive::HiveBloom,
        milvus::MilvusBloom, crate::format::orc::OrcColumnFilters, parquet::ColumnFilters, parquet::ParquetFilter,
        redisbloom::BloomDump, redisbloom::CuckooDump, rocksdb::RocksDbBloom, spark::SparkBloom, spark::SparkCountMin,
    }
}

/// A filter in another program's format, asked by keys of that program's types.
///
/// ```
/// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, GuavaBloom, GuavaStrategy};
/// let mut filter = GuavaBloom::new(100, 0.01, GuavaStrategy::Mitz64)?;
/// filter.insert(ForeignKey::Text("rose")).unwrap();
/// let asked: &dyn Foreign = &filter;
/// assert!(asked.contains(ForeignKey::Text("rose")).unwrap());
/// assert!(!asked.contains(ForeignKey::Utf16("rose")).unwrap());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub trait Foreign: Send + Sync + sealed::Sealed {
    /// The format.
    fn format(&self) -> Format;

    /// The types that its keys may have: one, if the format has no others or the file says which.
    fn key_types(&self) -> &'static [KeyType];

    /// Whether `key` may be in the filter: never false for a key that is, if it was inserted with
    /// the same type.
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError>;

    /// How often `key` was inserted, or more; `None` of filters that do not count.
    fn count(&self, _key: ForeignKey<'_>) -> Result<Option<u64>, KeyError> {
        Ok(None)
    }

    /// Bits of its table.
    fn bits(&self) -> u64;

    /// Bits, or cells, of a key.
    fn hashes(&self) -> u32;

    /// The share of its bits, or cells, that are set.
    fn fill(&self) -> f64;

    /// The share of absent keys that it reports as present, as it is now.
    fn fpp(&self) -> f64;

    /// About how many distinct keys it holds; `None` if that is not known.
    fn estimated_items(&self) -> Option<f64>;

    /// Its tables of cells, to be drawn; none of a format whose cells are not looked at.
    ///
    /// ```
    /// use gardenia::format::{ForeignKey, Format};
    /// let mut filter = Format::Guava.create(100, 0.01)?;
    /// filter.insert(ForeignKey::Text("rose")).unwrap();
    /// let tables = filter.tables();
    /// assert_eq!((tables.len(), tables[0].cells), (1, filter.bits()));
    /// let ones: u64 = (0..tables[0].cells).map(|at| filter.cell(0, at)).sum();
    /// assert_eq!(ones, filter.hashes().into());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    fn tables(&self) -> Vec<CellTable> {
        Vec::new()
    }

    /// What cell `at` of a table holds, which must be one of its cells.
    fn cell(&self, _table: usize, _at: u64) -> u64 {
        0
    }

    /// The share of cells in use, for each of `parts` equal parts of a table: as
    /// [`AnyFilter::fill_of`](crate::AnyFilter::fill_of).
    fn fill_of(&self, table: usize, cells: Range<u64>, parts: usize, samples: usize) -> Vec<f32> {
        let all = self.tables().get(table).map_or(0, |table| table.cells);
        fill_of_parts(all, cells, parts, samples, |at| self.cell(table, at) > 0)
    }

    /// What this format alone has, by name.
    fn describe(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The filter itself, to be compared with another one.
    fn as_any(&self) -> &dyn Any;

    /// The filter, to be filled or merged; `None` of formats that are only read.
    fn into_insert(self: Box<Self>) -> Option<Box<dyn ForeignInsert>> {
        None
    }

    /// The key that a line of text stands for: of type `as_type`, or of the only type that the
    /// filter has.
    fn parse<'a>(
        &self,
        text: &'a [u8],
        as_type: Option<KeyType>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<ForeignKey<'a>, KeyError> {
        self.check_type(as_type)?.parse(text, scratch)
    }

    /// The type in which keys are read, `as_type` or the filter's only one; an error if there are
    /// several, or others.
    fn check_type(&self, as_type: Option<KeyType>) -> Result<KeyType, KeyError> {
        let (filter, types) = (self.format().title(), self.key_types());
        match (as_type, types) {
            (None, [only]) => Ok(*only),
            (None, _) => Err(KeyError::Ambiguous { filter, types }),
            (Some(one), _) if accepts(types, one) => Ok(one),
            (Some(one), _) => Err(KeyError::Type { filter, accepted: types, found: one.name() }),
        }
    }
}

/// How many keys two filters of one format and shape have in common, as
/// [`AnyFilter::overlap`](crate::AnyFilter::overlap). `None` of formats that are not one array of
/// bits.
///
/// ```
/// use gardenia::format::{ForeignKey, Format, overlap};
/// let (mut a, mut b) = (Format::Guava.create(3_000, 0.01)?, Format::Guava.create(3_000, 0.01)?);
/// (0..2_000).for_each(|key| _ = a.insert(ForeignKey::Long(key)));
/// (1_500..3_000).for_each(|key| _ = b.insert(ForeignKey::Long(key)));
/// let both = overlap(&*a, &*b).unwrap().unwrap();
/// assert!((both.common.items - 500.0).abs() < 5.0 * both.common.std_error);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn overlap(a: &dyn Foreign, b: &dyn Foreign) -> Option<Result<Overlap, Mismatch>> {
    let (cells, hashes) = (a.bits(), a.hashes());
    for filter in [a, b] {
        let [table] = &filter.tables()[..] else { return None };
        if table.holds != Holds::Bits {
            return None;
        }
    }
    // What a format says of itself, apart from what its keys changed: seeds, above all.
    let seed = |filter: &dyn Foreign| {
        let named = filter.describe().into_iter().filter(|(name, _)| ["seed", "tweak"].contains(name));
        named.map(|(_, value)| value).collect::<String>()
    };
    let alike = same("format", a.format().name(), b.format().name())
        .and_then(|()| same("bits", cells, b.bits()))
        .and_then(|()| same("hashes", hashes, b.hashes()))
        .and_then(|()| same("seed", seed(a), seed(b)));
    if let Err(mismatch) = alike {
        return Some(Err(mismatch));
    }
    let mut ones = [0; 3];
    for at in 0..cells {
        let bits = [a.cell(0, at), b.cell(0, at)];
        let counted = [bits[0], bits[1], bits[0] | bits[1]];
        ones.iter_mut().zip(counted).for_each(|(sum, bit)| *sum += bit);
    }
    let [a, b, union] = ones.map(|ones| bloom::estimate_items(cells, hashes, ones));
    Some(Ok(theory::overlap::overlap(cells, hashes, a, b, union)))
}

/// Whether keys of this type can be of one of these: digits stand for bytes, and text is bytes,
/// too.
pub(super) fn accepts(types: &[KeyType], one: KeyType) -> bool {
    let bytes = [KeyType::String, KeyType::Bytes];
    types.contains(&one)
        || (matches!(one, KeyType::Hex | KeyType::Bytes | KeyType::String)
            && bytes.iter().any(|known| types.contains(known)))
}

/// A foreign filter that takes new keys and can be written.
pub trait ForeignInsert: Foreign {
    /// Puts `key` in; true if it was certainly absent.
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError>;

    /// Puts in what `other` holds, if it is of the same format and shape; an error that says what
    /// differs. `None` of formats that cannot be merged ([`FormatAbility::Merge`]).
    fn merge_from(&mut self, _other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
        None
    }

    /// The bytes of its file.
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError>;
}
