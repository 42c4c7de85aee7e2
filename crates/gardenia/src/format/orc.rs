//! ORC files: the Bloom filters in the indexes of their stripes.
//!
//! A file ends in its footer, a postscript and the postscript's length, all of Protocol Buffers.
//! The footer lists stripes and types; each stripe has a footer of its own, which lists the streams
//! of its index: those of kind 8 hold one filter for each 10,000 rows of a column. The hash
//! functions are Hive's ([`HiveBloom`]). Streams of kind 7, of writers before 2016, are
//! skipped: how they hashed text depended on the writer's machine.
//!
//! Compressed files need an [`Unpack`], because the library has no decompressors.
//!
//! Source: the ORC specification; files of ORC's Java and C++ libraries.

use super::ReadOptions;
use super::bit_table::MAX_WORDS;
use super::civil;
use super::cursor::Cursor;
use super::foreign::{Foreign, ForeignKey, Format, KeyError, KeyType, Names, accepts};
use super::hive::HiveBloom;
use super::native::buffer;
use crate::explain::CellTable;
use crate::{DecodeError, SizeError};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use std::io::{Read, Seek, SeekFrom};

/// Streams of filters over UTF-8.
const BLOOM_FILTER_UTF8: u64 = 8;
/// Types of columns, by their numbers.
const FLOAT: u64 = 5;
const DOUBLE: u64 = 6;
const BINARY: u64 = 8;
const DATE: u64 = 15;
/// How deep columns may be nested.
const MAX_NESTING: usize = 100;
/// The largest block that compression may have.
const MAX_BLOCK: u64 = 1 << 23;

/// How an ORC file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// Raw deflate.
    Zlib,
    /// Snappy.
    Snappy,
    /// LZO.
    Lzo,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// Its name in ORC's documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "ZLIB",
            Self::Snappy => "SNAPPY",
            Self::Lzo => "LZO",
            Self::Lz4 => "LZ4",
            Self::Zstd => "ZSTD",
        }
    }
}

/// Unpacks one block of at most this many bytes; `None` if the codec is not known or the block is
/// corrupted.
pub type Unpack<'a> = &'a dyn Fn(Codec, &[u8], usize) -> Option<Vec<u8>>;

/// An [`Unpack`] for files that are not compressed.
///
/// ```
/// use gardenia::format::orc::{Codec, uncompressed};
/// assert_eq!(uncompressed(Codec::Zlib, b"", 10), None);
/// ```
#[must_use]
pub fn uncompressed(_: Codec, _: &[u8], _: usize) -> Option<Vec<u8>> {
    None
}

/// An ORC file that is asked for its filters.
#[derive(Debug)]
pub struct OrcFile<R> {
    reader: R,
    len: u64,
    codec: Option<(Codec, u64)>,
    columns: Vec<OrcColumn>,
    stripes: Vec<Stripe>,
    rows: u64,
}

/// A column of an ORC file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrcColumn {
    /// The path of its names.
    pub name: String,
    /// The number of its type, as ORC numbers them.
    kind: u64,
}

#[derive(Clone, Copy, Debug)]
struct Stripe {
    offset: u64,
    index: u64,
    data: u64,
    footer: u64,
}

/// Where a stripe has the filters of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrcPlace {
    /// The stripe, from 0.
    pub stripe: u64,
    /// The column, as a place in [`OrcFile::columns`].
    pub column: usize,
    /// Where the stream begins.
    pub offset: u64,
    /// Bytes of the stream.
    pub len: u64,
}

/// A field of Protocol Buffers.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

impl<'a> Field<'a> {
    fn number(&self) -> u64 {
        if let Self::Number(number) = self { *number } else { 0 }
    }
    fn bytes(&self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }
}

/// Visits the fields of a message.
fn fields<'a>(
    message: &'a [u8],
    mut visit: impl FnMut(u64, Field<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut cursor = Cursor::new(message);
    while cursor.left() > 0 {
        let tag = cursor.varint()?;
        let field = match tag & 7 {
            0 => Field::Number(cursor.varint()?),
            1 => {
                cursor.take(8)?;
                Field::Other
            }
            2 => {
                let len = cursor.varint()?;
                Field::Bytes(cursor.take(len)?)
            }
            5 => {
                cursor.take(4)?;
                Field::Other
            }
            _ => return Err(DecodeError::Damaged("a message of the ORC file has a field of no known type")),
        };
        visit(tag >> 3, field)?;
    }
    Ok(())
}

/// Numbers one after the other, or alone.
fn numbers(field: &Field<'_>, mut visit: impl FnMut(u64)) -> Result<(), DecodeError> {
    match field {
        Field::Number(number) => visit(*number),
        Field::Bytes(bytes) => {
            let mut cursor = Cursor::new(bytes);
            while cursor.left() > 0 {
                visit(cursor.varint()?);
            }
        }
        Field::Other => {}
    }
    Ok(())
}

impl<R: Read + Seek> OrcFile<R> {
    /// Reads the footer of a file.
    pub fn open(mut reader: R, options: &ReadOptions, unpack: Unpack<'_>) -> Result<Self, DecodeError> {
        let len = reader.seek(SeekFrom::End(0))?;
        if len < 16 {
            return Err(DecodeError::Truncated { needed: 16, found: len });
        }
        let tail_len = len.min(256);
        let mut tail = buffer(tail_len as usize)?;
        reader.seek(SeekFrom::Start(len - tail_len))?;
        reader.read_exact(&mut tail)?;
        let (last, tail) = tail.split_last().ok_or(DecodeError::Truncated { needed: 1, found: 0 })?;
        let start = tail.len().checked_sub((*last).into());
        let start = start.ok_or(DecodeError::Truncated { needed: u64::from(*last) + 1, found: len })?;
        let (mut footer_len, mut codec, mut block, mut magic) = (0, 0, 1 << 18, false);
        fields(&tail[start..], |id, field| {
            match id {
                1 => footer_len = field.number(),
                2 => codec = field.number(),
                3 => block = field.number(),
                8000 => magic = field.bytes() == b"ORC",
                _ => {}
            }
            Ok(())
        })?;
        if !magic {
            return Err(DecodeError::Foreign("not an ORC file: its postscript does not say ORC"));
        }
        let codec = match codec {
            0 => None,
            1 => Some(Codec::Zlib),
            2 => Some(Codec::Snappy),
            3 => Some(Codec::Lzo),
            4 => Some(Codec::Lz4),
            5 => Some(Codec::Zstd),
            value => {
                let rule = "ORC files have 0 to 5";
                return Err(DecodeError::Field { field: "compression", value, rule });
            }
        };
        if block > MAX_BLOCK {
            let rule = "blocks have at most 8 MiB";
            return Err(DecodeError::Field { field: "compression block", value: block, rule });
        }
        let codec = codec.map(|codec| (codec, block));
        let mut file = Self { reader, len, codec, columns: Vec::new(), stripes: Vec::new(), rows: 0 };
        let end = len - 1 - u64::from(*last);
        let begin = end.checked_sub(footer_len);
        let begin = begin.ok_or(DecodeError::Truncated { needed: footer_len, found: end })?;
        let footer = file.stream(begin, footer_len, options, unpack)?;
        file.read_footer(&footer)?;
        Ok(file)
    }

    /// Part of the file, unpacked.
    fn stream(
        &mut self,
        offset: u64,
        len: u64,
        options: &ReadOptions,
        unpack: Unpack<'_>,
    ) -> Result<Vec<u8>, DecodeError> {
        let end = offset.saturating_add(len);
        if end > self.len {
            return Err(DecodeError::Truncated { needed: end, found: self.len });
        }
        if len > options.max_bytes {
            return Err(DecodeError::TooLarge { needed: len, max: options.max_bytes });
        }
        let mut bytes = buffer(len as usize)?;
        self.reader.seek(SeekFrom::Start(offset))?;
        self.reader.read_exact(&mut bytes)?;
        let Some((codec, block)) = self.codec else { return Ok(bytes) };
        let (mut cursor, mut unpacked) = (Cursor::new(&bytes), Vec::new());
        let max = options.expanded(len).min(options.max_bytes);
        while cursor.left() > 0 {
            let head = [cursor.u8()?, cursor.u8()?, cursor.u8()?];
            let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let piece = cursor.take((head >> 1).into())?;
            let made;
            let piece = if head & 1 == 1 {
                piece
            } else {
                let bad = || match codec {
                    Codec::Snappy | Codec::Lzo => {
                        DecodeError::Foreign("ORC files with SNAPPY or LZO are not read")
                    }
                    _ => DecodeError::Damaged("a block of the ORC file cannot be unpacked"),
                };
                made = unpack(codec, piece, block as usize).ok_or_else(bad)?;
                &made
            };
            let needed = (unpacked.len() + piece.len()) as u64;
            if needed > max {
                return Err(DecodeError::Expansion { stored: len, needed, max });
            }
            unpacked.try_reserve(piece.len()).map_err(|_| SizeError::Memory { bytes: needed })?;
            unpacked.extend_from_slice(piece);
        }
        Ok(unpacked)
    }

    /// Where a stripe has filters.
    pub fn places(
        &mut self,
        stripe: u64,
        options: &ReadOptions,
        unpack: Unpack<'_>,
    ) -> Result<Vec<OrcPlace>, DecodeError> {
        let at = usize::try_from(stripe).ok().and_then(|at| self.stripes.get(at)).copied();
        let Stripe { offset, index, data, footer } = at.ok_or(DecodeError::Foreign("no such stripe"))?;
        let start = offset.saturating_add(index).saturating_add(data);
        let footer = self.stream(start, footer, options, unpack)?;
        let (mut at, mut places) = (offset, Vec::new());
        fields(&footer, |id, field| {
            if id != 1 {
                return Ok(());
            }
            let (mut kind, mut column, mut len) = (0, 0, 0);
            fields(field.bytes(), |id, field| {
                match id {
                    1 => kind = field.number(),
                    2 => column = field.number(),
                    3 => len = field.number(),
                    _ => {}
                }
                Ok(())
            })?;
            if kind == BLOOM_FILTER_UTF8 {
                let known = usize::try_from(column).ok().filter(|column| *column < self.columns.len());
                let column = known.ok_or(DecodeError::Damaged("a stream belongs to no column"))?;
                places.push(OrcPlace { stripe, column, offset: at, len });
            }
            at = at.saturating_add(len);
            Ok(())
        })?;
        Ok(places)
    }

    /// Reads the filters of a column in a stripe, one for each 10,000 rows.
    pub fn read(
        &mut self,
        place: &OrcPlace,
        options: &ReadOptions,
        unpack: Unpack<'_>,
    ) -> Result<Vec<HiveBloom>, DecodeError> {
        let stream = self.stream(place.offset, place.len, options, unpack)?;
        let mut filters = Vec::new();
        fields(&stream, |id, field| {
            if id == 1 {
                filters.push(read_filter(field.bytes(), options)?);
            }
            Ok(())
        })?;
        Ok(filters)
    }

    /// All filters of a column, to be asked as one.
    pub fn column(
        &mut self,
        column: usize,
        options: &ReadOptions,
        unpack: Unpack<'_>,
    ) -> Result<OrcColumnFilters, DecodeError> {
        let about = self.columns.get(column).cloned().ok_or(DecodeError::Foreign("no such column"))?;
        let (mut filters, mut left, mut with) = (Vec::new(), options.max_bytes, 0);
        for stripe in 0..self.stripes.len() as u64 {
            for place in self.places(stripe, options, unpack)?.iter().filter(|place| place.column == column) {
                let read = self.read(place, &options.clone().max_bytes(left), unpack)?;
                let bytes: u64 = read.iter().map(|filter| filter.bits() / 8).sum();
                left = left.saturating_sub(bytes);
                with += u64::from(!read.is_empty());
                filters.extend(read.into_iter().map(|filter| (stripe, filter)));
            }
        }
        let complete = with == self.stripes.len() as u64;
        Ok(OrcColumnFilters { column: about, filters, complete })
    }
}

impl<R> OrcFile<R> {
    /// All columns, by number; groups of columns are among them.
    #[must_use]
    pub fn columns(&self) -> &[OrcColumn] {
        &self.columns
    }

    /// How many stripes the file has.
    #[must_use]
    pub fn stripes(&self) -> u64 {
        self.stripes.len() as u64
    }

    /// How many rows the file has, as it says.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn read_footer(&mut self, footer: &[u8]) -> Result<(), DecodeError> {
        /// A type of the schema: its kind, the numbers of its children, and their names.
        type Type = (u64, Vec<u64>, Vec<String>);
        let mut types: Vec<Type> = Vec::new();
        fields(footer, |id, field| {
            match id {
                3 => {
                    let mut stripe = Stripe { offset: 0, index: 0, data: 0, footer: 0 };
                    fields(field.bytes(), |id, field| {
                        match id {
                            1 => stripe.offset = field.number(),
                            2 => stripe.index = field.number(),
                            3 => stripe.data = field.number(),
                            4 => stripe.footer = field.number(),
                            _ => {}
                        }
                        Ok(())
                    })?;
                    self.stripes.push(stripe);
                }
                4 => {
                    let (mut kind, mut children, mut names) = (0, Vec::new(), Vec::new());
                    fields(field.bytes(), |id, field| {
                        match id {
                            1 => kind = field.number(),
                            2 => numbers(&field, |child| children.push(child))?,
                            3 => names.push(String::from_utf8_lossy(field.bytes()).into_owned()),
                            _ => {}
                        }
                        Ok(())
                    })?;
                    types.push((kind, children, names));
                }
                6 => self.rows = field.number(),
                _ => {}
            }
            Ok(())
        })?;
        // Footers of stripes that lie in one place would be read as often.
        let each = |stripe: &Stripe| stripe.index.saturating_add(stripe.data).saturating_add(stripe.footer);
        if self.stripes.iter().map(each).fold(0, u64::saturating_add) > self.len {
            return Err(DecodeError::Damaged("stripes of the ORC file overlap"));
        }
        // Children have higher numbers than what they belong to, so that one pass names them all.
        let mut named: Vec<(String, usize)> = alloc::vec![(String::new(), 0); types.len()];
        let (mut names, no_tree) = (Names::of(footer), "the types of the ORC file are no tree");
        for (at, (kind, children, own)) in types.iter().enumerate() {
            let (path, depth) = core::mem::take(&mut named[at]);
            if depth > MAX_NESTING {
                return Err(DecodeError::Damaged("columns of the ORC file are nested too deep"));
            }
            for (place, child) in children.iter().enumerate() {
                let right = usize::try_from(*child).ok().filter(|child| *child > at);
                // A type that has a depth is the child of another one already.
                let child = right.and_then(|child| named.get_mut(child)).filter(|(_, depth)| *depth == 0);
                let child = child.ok_or(DecodeError::Damaged(no_tree))?;
                let name = own.get(place).map_or("_elem", String::as_str);
                let dot = if path.is_empty() { "" } else { "." };
                names.take(path.len() + dot.len() + name.len())?;
                *child = (format!("{path}{dot}{name}"), depth + 1);
            }
            self.columns.push(OrcColumn { name: path, kind: *kind });
        }
        Ok(())
    }
}

fn read_filter(message: &[u8], options: &ReadOptions) -> Result<HiveBloom, DecodeError> {
    let (mut hashes, mut bitset) = (0, &[][..]);
    fields(message, |id, field| {
        match id {
            1 => hashes = field.number(),
            3 => bitset = field.bytes(),
            _ => {}
        }
        Ok(())
    })?;
    let mut cursor = Cursor::new(bitset);
    cursor.one_of("hashes", hashes, 1..=127, "1 to 127 are allowed")?;
    let words = bitset.len() as u64 / 8;
    cursor.one_of("number of words", words, 1..=MAX_WORDS, "at least one is needed")?;
    let words = cursor.words(words, options, u64::from_le_bytes)?;
    cursor.end()?;
    Ok(HiveBloom::of_orc(hashes as u32, words))
}

impl OrcColumn {
    /// The types that its keys have.
    fn key_types(&self) -> &'static [KeyType] {
        match self.kind {
            1..=4 | DATE => &[KeyType::Long],
            // Writers widen a float before they hash it: 0.1 of 32 bits is not the 0.1 of 64.
            FLOAT => &[KeyType::Float],
            DOUBLE => &[KeyType::Double],
            7 | BINARY | 16 | 17 => &[KeyType::String],
            _ => &[],
        }
    }

    /// The key as writers hash a value of the column; an error if the column has no such values.
    fn key<'a>(&self, key: ForeignKey<'a>) -> Result<ForeignKey<'a>, KeyError> {
        let accepted = self.key_types();
        match (accepted, key) {
            ([], _) => Err(KeyError::NoKeys { column: self.type_name() }),
            ([KeyType::Float], ForeignKey::Double(key)) => Ok(ForeignKey::Float(key as f32)),
            ([KeyType::Long], ForeignKey::Int(_) | ForeignKey::Long(_))
            | ([KeyType::Float | KeyType::Double], ForeignKey::Float(_))
            | ([KeyType::Double], ForeignKey::Double(_))
            | ([KeyType::String], ForeignKey::Text(_) | ForeignKey::Bytes(_)) => Ok(key),
            _ => {
                let (filter, found) = (Format::Orc.title(), key.key_type().name());
                Err(KeyError::Type { filter, accepted, found })
            }
        }
    }

    /// The name of its type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        const NAMES: [&str; 19] = [
            "boolean",
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "float",
            "double",
            "string",
            "binary",
            "timestamp",
            "array",
            "map",
            "struct",
            "uniontype",
            "decimal",
            "date",
            "varchar",
            "char",
            "timestamp with local time zone",
        ];
        usize::try_from(self.kind).ok().and_then(|kind| NAMES.get(kind)).copied().unwrap_or("unknown")
    }
}

/// The filters of one column of an ORC file: a key may be in the column if one of them may hold it.
///
/// [`estimated_items`](Foreign::estimated_items) is the sum of all filters, of which there is one
/// for each 10,000 rows: a key that several of them hold counts once in each.
#[derive(Clone, Debug)]
pub struct OrcColumnFilters {
    column: OrcColumn,
    filters: Vec<(u64, HiveBloom)>,
    complete: bool,
}

impl OrcColumnFilters {
    /// The stripes with their filters.
    #[must_use]
    pub fn filters(&self) -> &[(u64, HiveBloom)] {
        &self.filters
    }

    /// Whether every stripe has filters: if not, any key may be in the column.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

impl Foreign for OrcColumnFilters {
    fn format(&self) -> Format {
        Format::Orc
    }
    fn key_types(&self) -> &'static [KeyType] {
        self.column.key_types()
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        let key = self.column.key(key)?;
        // Rows of a stripe without filters may hold any key.
        if !self.complete {
            return Ok(true);
        }
        for (_, filter) in &self.filters {
            if filter.contains(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    fn parse<'a>(
        &self,
        text: &'a [u8],
        as_type: Option<KeyType>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<ForeignKey<'a>, KeyError> {
        let date = || core::str::from_utf8(text).ok().and_then(|text| civil::days(text.trim()));
        match (as_type, self.column.kind, date()) {
            (None, DATE, Some(days)) => Ok(ForeignKey::Long(days)),
            (None, BINARY, _) => Ok(ForeignKey::Bytes(text)),
            _ => self.check_type(as_type)?.parse(text, scratch),
        }
    }
    fn check_type(&self, as_type: Option<KeyType>) -> Result<KeyType, KeyError> {
        match (as_type, self.key_types()) {
            (_, []) => Err(KeyError::NoKeys { column: self.column.type_name() }),
            (None, types) => Ok(types[0]),
            (Some(one), types) if accepts(types, one) => Ok(one),
            (Some(one), accepted) => {
                Err(KeyError::Type { filter: self.format().title(), accepted, found: one.name() })
            }
        }
    }
    fn bits(&self) -> u64 {
        self.filters.iter().map(|(_, filter)| filter.bits()).sum()
    }
    fn hashes(&self) -> u32 {
        self.filters.first().map_or(0, |(_, filter)| filter.hashes())
    }
    fn fill(&self) -> f64 {
        let set: f64 = self.filters.iter().map(|(_, filter)| filter.fill() * filter.bits() as f64).sum();
        set / self.bits() as f64
    }
    fn fpp(&self) -> f64 {
        1.0 - self.filters.iter().map(|(_, filter)| 1.0 - filter.fpp()).product::<f64>()
    }
    fn estimated_items(&self) -> Option<f64> {
        self.filters.iter().map(|(_, filter)| filter.estimated_items()).sum()
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        let OrcColumn { name, .. } = &self.column;
        alloc::vec![
            ("column", format!("{name} ({})", self.column.type_name())),
            ("filters", format!("{}, one for each 10,000 rows of a stripe", self.filters.len())),
        ]
    }
    fn tables(&self) -> Vec<CellTable> {
        let named = |(stripe, filter): &(u64, HiveBloom)| {
            filter
                .tables()
                .into_iter()
                .map(|table| table.named(format!("stripe {stripe}")))
                .collect::<Vec<_>>()
        };
        self.filters.iter().flat_map(named).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.filters[table].1.cell(0, at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::foreign::ForeignInsert;
    use alloc::string::ToString;

    /// A column of this type, whose filter holds a key as a writer hashes it.
    fn column(kind: u64, key: ForeignKey<'_>) -> OrcColumnFilters {
        let mut filter = HiveBloom::of_orc(5, alloc::vec![0; 16]);
        filter.insert(key).unwrap();
        let column = OrcColumn { name: "a".into(), kind };
        OrcColumnFilters { column, filters: alloc::vec![(0, filter)], complete: true }
    }

    #[test]
    fn a_float_is_asked_as_writers_hash_it() {
        // `addDouble(value)` of a float, in both of ORC's libraries.
        let filters = column(FLOAT, ForeignKey::Double(0.1_f32.into()));
        let mut scratch = Vec::new();
        for as_type in [None, Some(KeyType::Float)] {
            let key = filters.parse(b"0.1", as_type, &mut scratch).unwrap();
            assert_eq!(filters.contains(key), Ok(true), "{as_type:?}");
        }
        assert_eq!(filters.contains(ForeignKey::Double(0.1)), Ok(true));
        assert_eq!(filters.contains(ForeignKey::Float(0.2)), Ok(false));
        let doubles = column(DOUBLE, ForeignKey::Double(0.1));
        assert_eq!(doubles.contains(doubles.parse(b"0.1", None, &mut scratch).unwrap()), Ok(true));
    }

    #[test]
    fn keys_that_a_column_cannot_hold_are_errors() {
        for (kind, key) in [
            (4, ForeignKey::Text("7")),
            (4, ForeignKey::Double(7.0)),
            (FLOAT, ForeignKey::Long(7)),
            (DOUBLE, ForeignKey::Int(7)),
            (7, ForeignKey::Long(7)),
            (7, ForeignKey::Utf16("7")),
        ] {
            let mut filters = column(kind, ForeignKey::Long(1));
            for complete in [true, false] {
                filters.complete = complete;
                let error = filters.contains(key).unwrap_err();
                assert!(matches!(error, KeyError::Type { .. }), "{kind} {key:?}: {error}");
            }
        }
        assert_eq!(column(1, ForeignKey::Long(-1)).contains(ForeignKey::Int(-1)), Ok(true));
        assert_eq!(column(BINARY, ForeignKey::Bytes(b"a")).contains(ForeignKey::Text("a")), Ok(true));
        // Timestamps and decimals: no list of types that is empty.
        for (kind, name) in [(9, "timestamp"), (14, "decimal"), (18, "timestamp with local time zone")] {
            let (filters, mut scratch) = (column(kind, ForeignKey::Long(1)), Vec::new());
            let errors = [
                filters.check_type(None).unwrap_err(),
                filters.check_type(Some(KeyType::Long)).unwrap_err(),
                filters.parse(b"1", None, &mut scratch).unwrap_err(),
                filters.contains(ForeignKey::Long(1)).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error, KeyError::NoKeys { column: name });
                assert!(error.to_string().starts_with(&format!("a column of type {name} cannot be asked")));
            }
        }
    }
}
