//! Parquet files: which filters there are, by row group and column, from the footer alone.
//!
//! A file ends in its footer, the footer's length and `PAR1`. The footer is read, and of it no more
//! is kept than the types of columns and the places of filters; a filter is read when it is asked
//! for.

use super::column::{ColumnType, Logical, Physical, TimeUnit};
use super::{MAX_HEADER, ParquetFilter, encoded, read_header};
use crate::DecodeError;
use crate::explain::CellTable;
use crate::format::ReadOptions;
use crate::format::cursor::Cursor;
use crate::format::foreign::{Foreign, ForeignKey, Format, KeyError, KeyType, Names, accepts};
use crate::format::native::buffer;
use crate::format::thrift::{self, Value};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use std::io::{Read, Seek, SeekFrom};

/// How deep columns may be nested.
const MAX_NESTING: usize = 100;

/// A Parquet file that is asked for its filters.
///
/// ```
/// use gardenia::format::ParquetFile;
/// // A file of no columns: version 2, one element of the schema, no rows, no row groups.
/// let footer = [0x15, 4, 0x19, 0x1c, 0x48, 1, b'r', 0x15, 0, 0, 0x16, 0, 0x19, 0x0c, 0];
/// let file = [b"PAR1", &footer[..], &15_u32.to_le_bytes(), b"PAR1"].concat();
/// let file = ParquetFile::open(std::io::Cursor::new(file), &Default::default()).unwrap();
/// assert!(file.filters().is_empty() && file.columns().is_empty());
/// ```
#[derive(Debug)]
pub struct ParquetFile<R> {
    pub(super) reader: R,
    len: u64,
    /// Where the footer begins, and its bytes.
    pub(super) footer: (u64, usize),
    columns: Vec<(String, ColumnType)>,
    filters: Vec<FilterPlace>,
    row_groups: u64,
    rows: u64,
}

/// Where a file has a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterPlace {
    /// The row group, from 0.
    pub row_group: u64,
    /// The column, as a place in [`ParquetFile::columns`].
    pub column: usize,
    /// Values of the column in the row group, with those that are null.
    pub values: u64,
    /// Where it begins.
    pub offset: u64,
    /// Bytes of header and bitset, where the file says so.
    pub len: Option<u64>,
}

impl<R: Read + Seek> ParquetFile<R> {
    /// Reads the footer of a file.
    pub fn open(mut reader: R, options: &ReadOptions) -> Result<Self, DecodeError> {
        let len = reader.seek(SeekFrom::End(0))?;
        let mut end = [0; 8];
        if len < 12 {
            return Err(DecodeError::Truncated { needed: 12, found: len });
        }
        reader.seek(SeekFrom::Start(len - 8))?;
        reader.read_exact(&mut end)?;
        let [a, b, c, d, mark @ ..] = end;
        match &mark {
            b"PAR1" => {}
            b"PARE" => return Err(DecodeError::Foreign("the footer of the Parquet file is encrypted")),
            _ => return Err(DecodeError::Foreign("not a Parquet file: it does not end in PAR1")),
        }
        let footer_len = u64::from(u32::from_le_bytes([a, b, c, d]));
        if footer_len > options.max_bytes {
            return Err(DecodeError::TooLarge { needed: footer_len, max: options.max_bytes });
        }
        if footer_len > len - 12 {
            return Err(DecodeError::Truncated { needed: footer_len + 12, found: len });
        }
        let place = (len - 8 - footer_len, footer_len as usize);
        let mut footer = buffer(place.1)?;
        reader.seek(SeekFrom::Start(place.0))?;
        reader.read_exact(&mut footer)?;
        let mut found = Footer { names: Names::of(&footer), ..Default::default() };
        found.read(&mut Cursor::new(&footer))?;
        let Footer { columns, filters, row_groups, rows, .. } = found;
        Ok(Self { reader, len, footer: place, columns, filters, row_groups, rows })
    }

    /// Reads a filter.
    pub fn read(&mut self, place: &FilterPlace, options: &ReadOptions) -> Result<ParquetFilter, DecodeError> {
        let FilterPlace { offset, .. } = *place;
        let rest = self.len.checked_sub(offset).filter(|rest| *rest > 0);
        let rest =
            rest.ok_or(DecodeError::Truncated { needed: offset.saturating_add(1), found: self.len })?;
        let mut head = [0; MAX_HEADER];
        let head = &mut head[..rest.min(MAX_HEADER as u64) as usize];
        self.reader.seek(SeekFrom::Start(offset))?;
        self.reader.read_exact(head)?;
        let (header, len) = read_header(head)?;
        if len > options.max_bytes {
            return Err(DecodeError::TooLarge { needed: len, max: options.max_bytes });
        }
        if header + len > rest {
            return Err(DecodeError::Truncated { needed: offset + header + len, found: self.len });
        }
        if place.len.is_some_and(|stated| stated != header + len) {
            return Err(DecodeError::Damaged(
                "the footer states another length of the filter than its header",
            ));
        }
        let mut bitset = buffer(len as usize)?;
        self.reader.seek(SeekFrom::Start(offset + header))?;
        self.reader.read_exact(&mut bitset)?;
        ParquetFilter::from_bitset(&bitset, options)
    }

    /// All filters of a column, one for each row group that has one, to be asked as one.
    /// `row_group` reads that one only.
    pub fn column(
        &mut self,
        column: usize,
        row_group: Option<u64>,
        options: &ReadOptions,
    ) -> Result<ColumnFilters, DecodeError> {
        let (name, column_type) =
            self.columns.get(column).cloned().ok_or(DecodeError::Foreign("no such column"))?;
        let wanted = |place: &&FilterPlace| {
            place.column == column && row_group.is_none_or(|wanted| place.row_group == wanted)
        };
        let places: Vec<FilterPlace> = self.filters.iter().filter(wanted).copied().collect();
        let (mut groups, mut left, mut rest) = (Vec::new(), options.max_bytes, self.len);
        for place in places {
            let filter = self.read(&place, &options.clone().max_bytes(left))?;
            let bytes = filter.bits() / 8;
            left -= bytes;
            // One filter that many row groups name would be read, and kept, as often.
            let overlap = DecodeError::Damaged("filters of the Parquet file overlap");
            rest = rest.checked_sub(bytes).ok_or(overlap)?;
            groups.push((place.row_group, filter));
        }
        let with = groups.len() as u64;
        let complete = row_group.is_some() || with == self.row_groups;
        Ok(ColumnFilters { name, column_type, groups, complete })
    }
}

impl<R> ParquetFile<R> {
    /// The columns that hold values, by the path of their names (`a.b.c`), with their types.
    #[must_use]
    pub fn columns(&self) -> &[(String, ColumnType)] {
        &self.columns
    }

    /// Where filters are, row group by row group.
    #[must_use]
    pub fn filters(&self) -> &[FilterPlace] {
        &self.filters
    }

    /// How many row groups the file has.
    #[must_use]
    pub fn row_groups(&self) -> u64 {
        self.row_groups
    }

    /// How many rows the file has, as it says.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// The filters of one column of a Parquet file: a key may be in the column if one of them may hold
/// it.
///
/// [`estimated_items`](Foreign::estimated_items) is the sum of the row groups: a key that several
/// of them hold counts once in each.
#[derive(Clone, Debug)]
pub struct ColumnFilters {
    name: String,
    column_type: ColumnType,
    groups: Vec<(u64, ParquetFilter)>,
    complete: bool,
}

impl ColumnFilters {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The column's type.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// The row groups with their filters.
    #[must_use]
    pub fn groups(&self) -> &[(u64, ParquetFilter)] {
        &self.groups
    }

    /// Whether every row group has a filter: if not, any key may be in the column.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The plain encoding of a number: `None` if no value of the column is that large, and an error
    /// if its values are no whole numbers.
    fn number(&self, number: i64, found: KeyType) -> Result<Option<Vec<u8>>, KeyError> {
        let unsigned = matches!(self.column_type.logical, Logical::Integer { signed: false, .. });
        match self.column_type.physical {
            Physical::Int32 if unsigned => {
                Ok(u32::try_from(number).ok().map(|one| one.to_le_bytes().to_vec()))
            }
            Physical::Int32 => Ok(i32::try_from(number).ok().map(|one| one.to_le_bytes().to_vec())),
            Physical::Int64 => Ok(Some(number.to_le_bytes().to_vec())),
            _ => Err(self.wrong_type(found)),
        }
    }

    /// Whether the bytes of a text are a value of the column.
    fn takes_text(&self) -> bool {
        let ColumnType { physical, logical } = self.column_type;
        matches!(
            (physical, logical),
            (Physical::ByteArray, Logical::Text | Logical::Plain) | (Physical::Fixed(_), Logical::Text)
        )
    }

    fn wrong_type(&self, found: KeyType) -> KeyError {
        let (filter, accepted) = (self.format().title(), self.key_types());
        KeyError::Type { filter, accepted, found: found.name() }
    }
}

impl Foreign for ColumnFilters {
    fn format(&self) -> Format {
        Format::ParquetFile
    }
    fn key_types(&self) -> &'static [KeyType] {
        match self.column_type.physical {
            Physical::Int32 => &[KeyType::Int],
            Physical::Int64 => &[KeyType::Long],
            Physical::Float => &[KeyType::Float],
            Physical::Double => &[KeyType::Double],
            _ if self.column_type.logical == Logical::Text => &[KeyType::String],
            _ => &[KeyType::Bytes],
        }
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        // Rows of a group without a filter may hold any key.
        let asked = |bytes: &[u8]| {
            !self.complete || self.groups.iter().any(|(_, filter)| filter.contains_bytes(bytes))
        };
        match key {
            // Bytes are the plain encoding, whatever the type.
            ForeignKey::Bytes(bytes) => Ok(asked(bytes)),
            ForeignKey::Int(number) => {
                Ok(self.number(number.into(), KeyType::Int)?.is_some_and(|bytes| asked(&bytes)))
            }
            ForeignKey::Long(number) => {
                Ok(self.number(number, KeyType::Long)?.is_some_and(|bytes| asked(&bytes)))
            }
            ForeignKey::Text(text) if self.takes_text() => Ok(asked(text.as_bytes())),
            other if other.key_type() == self.key_types()[0] => encoded(other, self.format(), asked),
            other => Err(self.wrong_type(other.key_type())),
        }
    }
    /// The value is read as the column's type writes it: dates, decimals, UUIDs.
    fn parse<'a>(
        &self,
        text: &'a [u8],
        as_type: Option<KeyType>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<ForeignKey<'a>, KeyError> {
        match as_type {
            Some(one) => self.check_type(Some(one))?.parse(text, scratch),
            None if self.takes_text() => Ok(ForeignKey::Bytes(text)),
            None => {
                let text = core::str::from_utf8(text).map_err(|_| KeyError::not(text, "UTF-8"))?;
                *scratch = self.column_type.encode(text)?;
                Ok(ForeignKey::Bytes(scratch))
            }
        }
    }
    fn check_type(&self, as_type: Option<KeyType>) -> Result<KeyType, KeyError> {
        match as_type {
            None => Ok(self.key_types()[0]),
            // What is no text is written as digits: its bytes are no UTF-8.
            Some(KeyType::String) if !self.takes_text() => Err(self.wrong_type(KeyType::String)),
            Some(one) if accepts(self.key_types(), one) => Ok(one),
            Some(one) => Err(self.wrong_type(one)),
        }
    }
    fn bits(&self) -> u64 {
        self.groups.iter().map(|(_, filter)| filter.bits()).sum()
    }
    fn hashes(&self) -> u32 {
        8
    }
    fn fill(&self) -> f64 {
        let set: f64 = self.groups.iter().map(|(_, filter)| filter.fill() * filter.bits() as f64).sum();
        set / self.bits() as f64
    }
    fn fpp(&self) -> f64 {
        1.0 - self.groups.iter().map(|(_, filter)| 1.0 - filter.fpp()).product::<f64>()
    }
    fn estimated_items(&self) -> Option<f64> {
        self.groups.iter().map(|(_, filter)| filter.estimated_items()).sum()
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        alloc::vec![
            ("column", format!("{} ({})", self.name, self.column_type)),
            ("row groups", format!("{} with a filter", self.groups.len())),
        ]
    }
    fn tables(&self) -> Vec<CellTable> {
        let named = |(group, filter): &(u64, ParquetFilter)| {
            filter
                .tables()
                .into_iter()
                .map(|table| table.named(format!("row group {group}")))
                .collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(named).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.groups[table].1.cell(0, at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What is kept of a footer.
#[derive(Default)]
struct Footer {
    /// Open groups of the schema: the length of the path before each, and how many children are to
    /// come.
    open: Vec<(usize, u64)>,
    path: String,
    names: Names,
    columns: Vec<(String, ColumnType)>,
    filters: Vec<FilterPlace>,
    row_groups: u64,
    rows: u64,
}

impl Footer {
    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let mut first = true;
        thrift::fields(cursor, &mut |id, value| match id {
            2 => value.list(&mut |element| {
                let root = core::mem::take(&mut first);
                self.element(element, root)
            }),
            3 => {
                self.rows = u64::try_from(value.int()?).unwrap_or(0);
                Ok(())
            }
            4 => value.list(&mut |group| self.row_group(group)),
            _ => value.skip(),
        })?;
        if !self.open.is_empty() {
            return Err(DecodeError::Damaged("the schema of the Parquet file ends too early"));
        }
        Ok(())
    }

    /// One element of the schema, which lists a tree from its root, each before its children.
    fn element(&mut self, element: Value<'_, '_>, root: bool) -> Result<(), DecodeError> {
        let (mut physical, mut len, mut name, mut children) = (None, 0, &[][..], None);
        let (mut converted, mut scale, mut logical) = (None, 0, None);
        element.fields(&mut |id, value| {
            match id {
                1 => physical = Some(value.int()?),
                2 => len = value.int()?,
                4 => name = value.bytes()?,
                5 => children = Some(value.int()?),
                6 => converted = Some(value.int()?),
                7 => scale = value.int()?,
                10 => logical = read_logical(value)?,
                _ => return value.skip(),
            }
            Ok(())
        })?;
        let children = children.map_or(Ok(0), u64::try_from);
        let children =
            children.map_err(|_| DecodeError::Damaged("a group of the schema has less than no children"))?;
        if root {
            if children > 0 {
                self.open.push((0, children));
            }
            return Ok(());
        }
        let damaged = DecodeError::Damaged("the schema of the Parquet file has elements outside its tree");
        let (before, left) = self.open.last_mut().ok_or(damaged)?;
        *left -= 1;
        self.path.truncate(*before);
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(&String::from_utf8_lossy(name));
        if children > 0 {
            if self.open.len() >= MAX_NESTING {
                return Err(DecodeError::Damaged("columns of the Parquet file are nested too deep"));
            }
            self.open.push((self.path.len(), children));
            return Ok(());
        }
        if let Some(physical) = physical {
            let scale = u32::try_from(scale).unwrap_or(0);
            let column_type = column_type(physical, len, converted, scale, logical)?;
            self.names.take(self.path.len())?;
            self.columns.push((self.path.clone(), column_type));
        }
        while self.open.last().is_some_and(|(_, left)| *left == 0) {
            self.open.pop();
        }
        Ok(())
    }

    fn row_group(&mut self, group: Value<'_, '_>) -> Result<(), DecodeError> {
        let (row_group, mut column) = (self.row_groups, 0);
        group.fields(&mut |id, value| match id {
            1 => value.list(&mut |chunk| {
                self.chunk(chunk, row_group, column)?;
                column += 1;
                Ok(())
            }),
            _ => value.skip(),
        })?;
        self.row_groups += 1;
        Ok(())
    }

    fn chunk(&mut self, chunk: Value<'_, '_>, row_group: u64, column: usize) -> Result<(), DecodeError> {
        let (mut offset, mut len, mut values, mut elsewhere) = (None, None, 0, false);
        chunk.fields(&mut |id, value| match id {
            1 => {
                elsewhere = !value.bytes()?.is_empty();
                Ok(())
            }
            3 => value.fields(&mut |id, value| {
                match id {
                    5 => values = u64::try_from(value.int()?).unwrap_or(0),
                    14 => offset = Some(value.int()?),
                    15 => len = Some(value.int()?),
                    _ => return value.skip(),
                }
                Ok(())
            }),
            _ => value.skip(),
        })?;
        // A column of another file has its filter there.
        let Some(offset) = offset.filter(|_| !elsewhere) else { return Ok(()) };
        let negative = |_| DecodeError::Damaged("a filter of the Parquet file has a negative place");
        let offset = u64::try_from(offset).map_err(negative)?;
        let len = len.map(u64::try_from).transpose().map_err(negative)?;
        if column >= self.columns.len() {
            return Err(DecodeError::Damaged("a row group has more columns than the schema"));
        }
        self.filters.push(FilterPlace { row_group, column, values, offset, len });
        Ok(())
    }
}

fn unit(number: i16) -> Result<TimeUnit, DecodeError> {
    match number {
        1 => Ok(TimeUnit::Millis),
        2 => Ok(TimeUnit::Micros),
        3 => Ok(TimeUnit::Nanos),
        _ => Err(DecodeError::Damaged("a column has a unit of time that is not known")),
    }
}

/// The union `LogicalType`; `None` if it says nothing about how values are written.
fn read_logical(value: Value<'_, '_>) -> Result<Option<Logical>, DecodeError> {
    let mut logical = None;
    value.fields(&mut |id, value| {
        match id {
            1 | 4 | 12 => logical = Some(Logical::Text),
            6 => logical = Some(Logical::Date),
            14 => logical = Some(Logical::Uuid),
            15 => logical = Some(Logical::Float16),
            5 => {
                let mut scale = 0;
                value.fields(&mut |id, value| match id {
                    1 => {
                        scale = u32::try_from(value.int()?).unwrap_or(0);
                        Ok(())
                    }
                    _ => value.skip(),
                })?;
                logical = Some(Logical::Decimal { scale });
                return Ok(());
            }
            7 | 8 => {
                let mut found = None;
                value.fields(&mut |part, value| match part {
                    2 => value.fields(&mut |member, value| {
                        found = Some(unit(member)?);
                        value.skip()
                    }),
                    _ => value.skip(),
                })?;
                let found = found.ok_or(DecodeError::Damaged("a column of times has no unit"))?;
                logical = Some(if id == 7 { Logical::Time(found) } else { Logical::Timestamp(found) });
                return Ok(());
            }
            10 => {
                let (mut bits, mut signed) = (64, true);
                value.fields(&mut |part, value| {
                    match part {
                        1 => bits = u8::try_from(value.int()?).unwrap_or(64),
                        2 => signed = value.flag()?,
                        _ => return value.skip(),
                    }
                    Ok(())
                })?;
                logical = Some(Logical::Integer { bits, signed });
                return Ok(());
            }
            _ => {}
        }
        value.skip()
    })?;
    Ok(logical)
}

fn column_type(
    physical: i64,
    len: i64,
    converted: Option<i64>,
    scale: u32,
    logical: Option<Logical>,
) -> Result<ColumnType, DecodeError> {
    let physical = match physical {
        0 => Physical::Boolean,
        1 => Physical::Int32,
        2 => Physical::Int64,
        3 => Physical::Int96,
        4 => Physical::Float,
        5 => Physical::Double,
        6 => Physical::ByteArray,
        7 => Physical::Fixed(u32::try_from(len).unwrap_or(0)),
        _ => return Err(DecodeError::Damaged("a column has a type that is not known")),
    };
    // Older files have the converted type alone.
    let of_converted = |number| {
        let int = |bits, signed| Some(Logical::Integer { bits, signed });
        match number {
            0 | 4 | 19 => Some(Logical::Text),
            5 => Some(Logical::Decimal { scale }),
            6 => Some(Logical::Date),
            7 => Some(Logical::Time(TimeUnit::Millis)),
            8 => Some(Logical::Time(TimeUnit::Micros)),
            9 => Some(Logical::Timestamp(TimeUnit::Millis)),
            10 => Some(Logical::Timestamp(TimeUnit::Micros)),
            11 => int(8, false),
            12 => int(16, false),
            13 => int(32, false),
            14 => int(64, false),
            15 => int(8, true),
            16 => int(16, true),
            17 => int(32, true),
            18 => int(64, true),
            _ => None,
        }
    };
    let logical = logical.or_else(|| converted.and_then(of_converted)).unwrap_or(Logical::Plain);
    Ok(ColumnType { physical, logical })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::foreign::ForeignInsert;

    /// A column of this type, whose filter holds the plain encoding of a key.
    fn column(physical: Physical, logical: Logical, key: &[u8]) -> ColumnFilters {
        let mut filter = ParquetFilter::new(10, 0.001).unwrap();
        filter.insert(ForeignKey::Bytes(key)).unwrap();
        let column_type = ColumnType::new(physical, logical);
        ColumnFilters { name: "a".into(), column_type, groups: alloc::vec![(0, filter)], complete: true }
    }

    #[test]
    fn numbers_are_asked_of_columns_of_whole_numbers_alone() {
        let unsigned = Logical::Integer { bits: 32, signed: false };
        for (physical, logical, held, number) in [
            (Physical::Int32, Logical::Plain, &[7, 0, 0, 0][..], 7),
            (Physical::Int32, unsigned, &[255; 4], (1 << 32) - 1),
            (Physical::Int64, Logical::Plain, &[255; 8], -1),
        ] {
            let filters = column(physical, logical, held);
            assert_eq!(filters.contains(ForeignKey::Long(number)), Ok(true), "{number}");
            assert_eq!(filters.contains(ForeignKey::Long(number - 2)), Ok(false), "{number}");
        }
        // No value of the column is as large.
        let small = column(Physical::Int32, Logical::Plain, &[7, 0, 0, 0]);
        assert_eq!(small.contains(ForeignKey::Long(1 << 40)), Ok(false));
        // 7 as it is in these columns would have other bytes: "absent" would be wrong.
        for (physical, logical, held) in [
            (Physical::Double, Logical::Plain, &7_f64.to_le_bytes()[..]),
            (Physical::Float, Logical::Plain, &7_f32.to_le_bytes()),
            (Physical::ByteArray, Logical::Text, b"7"),
            (Physical::Fixed(1), Logical::Plain, b"7"),
        ] {
            let filters = column(physical, logical, held);
            for key in [ForeignKey::Int(7), ForeignKey::Long(7)] {
                let error = filters.contains(key).unwrap_err();
                assert!(matches!(error, KeyError::Type { .. }), "{physical:?} {key:?}: {error}");
            }
            assert_eq!(filters.contains(ForeignKey::Bytes(held)), Ok(true), "{physical:?}");
        }
    }

    #[test]
    fn text_is_asked_of_columns_of_bytes_and_no_type_is_accepted_that_fails_later() {
        let all = [
            (Physical::ByteArray, Logical::Text, true),
            (Physical::ByteArray, Logical::Plain, true),
            (Physical::ByteArray, Logical::Decimal { scale: 0 }, false),
            (Physical::Fixed(4), Logical::Plain, false),
            (Physical::Fixed(16), Logical::Uuid, false),
            (Physical::Int96, Logical::Plain, false),
            (Physical::Int32, Logical::Plain, false),
            (Physical::Double, Logical::Plain, false),
        ];
        for (physical, logical, takes_text) in all {
            let filters = column(physical, logical, b"rose");
            let what = format!("{physical:?} {logical:?}");
            assert_eq!(filters.check_type(Some(KeyType::String)).is_ok(), takes_text, "{what}");
            assert_eq!(filters.contains(ForeignKey::Text("rose")).ok(), takes_text.then_some(true), "{what}");
            let mut accepted = 0;
            for one in KeyType::ALL {
                if filters.check_type(Some(one)).is_ok() {
                    accepted += 1;
                    let mut scratch = Vec::new();
                    let key = filters.parse(b"12", Some(one), &mut scratch).unwrap();
                    assert!(filters.contains(key).is_ok(), "{what} {one:?}");
                }
            }
            assert!(accepted > 0, "{what}");
        }
    }
}
