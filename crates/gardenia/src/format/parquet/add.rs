//! Filters for a Parquet file that has none: a copy of the file with the filters behind its pages.
//!
//! Nothing that the file holds moves, so that all places in its footer stay right. The footer is
//! copied field by field, and the place and the length of each new filter are put where they belong
//! in order, because some readers want fields in their order.

use super::{ParquetFile, ParquetFilter};
use crate::DecodeError;
use crate::format::cursor::Cursor;
use crate::format::native::buffer;
use crate::format::thrift::{self, I32, I64, Value, put_field, put_zigzag};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The fields of `ColumnMetaData` that say where a filter begins and how long it is.
const PLACE: i16 = 14;
const LENGTH: i16 = 15;

/// A filter that a file is to have: of one column in one row group.
#[derive(Clone, Copy, Debug)]
pub struct NewFilter<'a> {
    /// The row group, from 0.
    pub row_group: u64,
    /// The column, as a place in [`ParquetFile::columns`].
    pub column: usize,
    /// The filter, which holds every value that the column has in the row group, in the encoding of
    /// the file.
    pub filter: &'a ParquetFilter,
}

impl<R: Read + Seek> ParquetFile<R> {
    /// Writes a copy of the file that also has these filters. Readers skip row groups by them and
    /// trust them, so that a filter must hold all values of its column that are not null. Encrypted
    /// files and columns that have a filter already are refused, before anything is written.
    ///
    /// ```
    /// use gardenia::format::parquet::NewFilter;
    /// use gardenia::format::{Foreign, ForeignInsert, ForeignKey, ParquetFile, ParquetFilter};
    /// # // One column k of 64-bit integers, and one row group.
    /// # let schema = [0x15, 4, 0x19, 0x2c, 0x48, 1, b'r', 0x15, 2, 0, 0x15, 4, 0x38, 1, b'k', 0, 0x16, 2];
    /// # let groups = [0x19, 0x1c, 0x19, 0x1c, 0x26, 8, 0x1c, 0x15, 4, 0x46, 2, 0, 0, 0, 0];
    /// # let bytes = [b"PAR1", &schema[..], &groups, &33_u32.to_le_bytes(), b"PAR1"].concat();
    /// let mut file = ParquetFile::open(std::io::Cursor::new(bytes), &Default::default()).unwrap();
    /// let mut filter = ParquetFilter::new(100, 0.01)?;
    /// filter.insert(ForeignKey::Long(7)).unwrap();
    /// let mut copy = Vec::new();
    /// file.add_filters(&[NewFilter { row_group: 0, column: 0, filter: &filter }], &mut copy).unwrap();
    /// let mut copy = ParquetFile::open(std::io::Cursor::new(copy), &Default::default()).unwrap();
    /// assert!(copy.column(0, None, &Default::default()).unwrap().contains(ForeignKey::Long(7)).unwrap());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn add_filters(&mut self, filters: &[NewFilter<'_>], mut out: impl Write) -> Result<(), DecodeError> {
        let (start, len) = self.footer;
        let mut footer = buffer(len)?;
        self.reader.seek(SeekFrom::Start(start))?;
        self.reader.read_exact(&mut footer)?;
        let (mut places, mut end) = (BTreeMap::new(), start);
        for new in filters {
            let len = new.filter.file_len();
            if places.insert((new.row_group, new.column), (end, len)).is_some() {
                return Err(DecodeError::Foreign("two filters for one column in one row group"));
            }
            end += len;
        }
        let footer = with_places(&footer, places)?;
        let too_long = |_| DecodeError::Foreign("the footer of the Parquet file would be too long");
        let footer_len = u32::try_from(footer.len()).map_err(too_long)?;
        self.reader.seek(SeekFrom::Start(0))?;
        let copied = io::copy(&mut (&mut self.reader).take(start), &mut out)?;
        if copied != start {
            return Err(DecodeError::Truncated { needed: start, found: copied });
        }
        for new in filters {
            out.write_all(&new.filter.file_bytes())?;
        }
        out.write_all(&footer)?;
        out.write_all(&footer_len.to_le_bytes())?;
        out.write_all(b"PAR1")?;
        Ok(())
    }
}

/// By row group and column: where the filter begins, and its length.
type Places = BTreeMap<(u64, usize), (u64, u64)>;

/// The footer, naming these places, too.
fn with_places(footer: &[u8], mut places: Places) -> Result<Vec<u8>, DecodeError> {
    let mut copy = Copy { footer, made: Vec::new(), copied: 0 };
    let mut row_group = 0;
    thrift::fields(&mut Cursor::new(footer), &mut |id, value| match id {
        4 => value.list(&mut |group| {
            let mut column = 0;
            group.fields(&mut |id, value| match id {
                1 => value.list(&mut |chunk| {
                    let place = places.remove(&(row_group, column));
                    column += 1;
                    match place {
                        Some(place) => copy.chunk(chunk, place),
                        None => chunk.skip(),
                    }
                }),
                _ => value.skip(),
            })?;
            row_group += 1;
            Ok(())
        }),
        8 | 9 => {
            Err(DecodeError::Foreign("the Parquet file is encrypted, or signed: its footer must not change"))
        }
        _ => value.skip(),
    })?;
    if !places.is_empty() {
        return Err(DecodeError::Foreign("the Parquet file has no such column in a row group"));
    }
    Ok(copy.finish())
}

/// A footer that is copied up to a place.
struct Copy<'a> {
    footer: &'a [u8],
    made: Vec<u8>,
    copied: usize,
}

impl Copy<'_> {
    /// A `ColumnChunk` that gets a filter.
    fn chunk(&mut self, chunk: Value<'_, '_>, place: (u64, u64)) -> Result<(), DecodeError> {
        let mut done = false;
        chunk.fields(&mut |id, value| match id {
            1 => match value.bytes()? {
                [] => Ok(()),
                _ => Err(DecodeError::Foreign("the column is in another file: add the filter there")),
            },
            3 => {
                done = true;
                self.metadata(value, place)
            }
            8 | 9 => Err(DecodeError::Foreign("the column is encrypted")),
            _ => value.skip(),
        })?;
        if done { Ok(()) } else { Err(DecodeError::Damaged("a column of the Parquet file has no metadata")) }
    }

    /// Its `ColumnMetaData`: new fields go behind those with smaller numbers.
    fn metadata(&mut self, value: Value<'_, '_>, (place, len): (u64, u64)) -> Result<(), DecodeError> {
        // The last field before the new ones and where it ends, and the first one behind them.
        let (mut before, mut end, mut next) = (0, value.at(), None);
        value.fields(&mut |id, value| {
            match id {
                PLACE | LENGTH => return Err(DecodeError::Foreign("the column has a filter already")),
                ..PLACE if next.is_some() || id <= before => {
                    return Err(DecodeError::Damaged("the fields of a column are not in order"));
                }
                ..PLACE => before = id,
                _ if next.is_none() => next = Some((id, value.kind(), value.start(), value.at())),
                _ => {}
            }
            let after = value.pass()?;
            if next.is_none() {
                end = after;
            }
            Ok(())
        })?;
        let numbers = [(PLACE, before, I64, place), (LENGTH, PLACE, I32, len)];
        self.copy_to(next.map_or(end, |(_, _, start, _)| start));
        for (id, before, kind, number) in numbers {
            put_field(&mut self.made, before, id, kind);
            put_zigzag(&mut self.made, number as i64);
        }
        if let Some((id, kind, _, behind)) = next {
            put_field(&mut self.made, LENGTH, id, kind);
            self.copied = behind;
        }
        Ok(())
    }

    fn copy_to(&mut self, at: usize) {
        self.made.extend(&self.footer[self.copied..at]);
        self.copied = at;
    }

    fn finish(mut self) -> Vec<u8> {
        self.copy_to(self.footer.len());
        self.made
    }
}
