//! How values come in and go out: fields of an RDB file, chunks of a dump, and what can be wrong
//! with them.
//!
//! The rule for everything that is read: a field is checked, and the memory it asks for is compared
//! with the caller's limit, before that memory is taken; and memory that cannot be had is an error.
//!
//! A dump (`SCANDUMP`) is a header and then chunks of at most 16 MiB. Its iterator is one more than
//! the bytes of all arrays up to and with the chunk, and no chunk holds bytes of two arrays.

use std::io::{self, Read, Write};

/// The largest chunk of a dump.
pub const MAX_CHUNK: usize = 16 << 20;

/// A value that cannot be read, or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Bytes that are too few or too many.
    #[error("{found} bytes, where {needed} are needed")]
    Length {
        /// As other fields say.
        needed: u64,
        /// What was given.
        found: u64,
    },
    /// A field with a value that cannot be.
    #[error("the {field} is wrong: {rule}")]
    Field {
        /// Which.
        field: &'static str,
        /// What it should have been.
        rule: &'static str,
    },
    /// A version that this build does not read.
    #[error("encoding version {0} is unknown to this build")]
    Version(u64),
    /// More memory than the caller allows.
    #[error("{needed} bytes are needed, over the limit of {max}")]
    TooLarge {
        /// Bytes of the whole value.
        needed: u64,
        /// The limit.
        max: u64,
    },
    /// Memory that could not be had.
    #[error("{bytes} bytes of memory could not be allocated")]
    Memory {
        /// Size of the request.
        bytes: u64,
    },
    /// The fields could not be read at all: the input ended, or is of another type.
    #[error("the fields could not be read")]
    Io,
}

/// A chunk that has no place in a filter; the filter has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// No array begins before it and ends behind its first byte.
    #[error("invalid offset - no link found")]
    Offset,
    /// It would go beyond the end of its array.
    #[error("invalid chunk - Too big for current filter")]
    TooBig,
}

/// Where the fields of a value are written, in order: an RDB file.
pub trait Save {
    /// A number.
    fn save_u64(&mut self, value: u64);
    /// A floating-point number, all of its bits.
    fn save_f64(&mut self, value: f64);
    /// A string of bytes; its length is stored with it.
    fn save_bytes(&mut self, bytes: &[u8]);
}

/// Where the fields of a value are read from, in the order they were written in.
pub trait Load {
    /// The next field, a number.
    fn load_u64(&mut self) -> Result<u64, LayoutError>;
    /// The next field, a floating-point number.
    fn load_f64(&mut self) -> Result<f64, LayoutError>;
    /// The next field, a string of this many bytes: an error ([`LayoutError::Length`]) if it has
    /// another length, which is seen before memory is taken for it.
    fn load_bytes(&mut self, length: u64) -> Result<Vec<u8>, LayoutError>;
}

/// One field of a value, for code without an RDB file.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// See [`Save::save_u64`].
    U64(u64),
    /// See [`Save::save_f64`].
    F64(f64),
    /// See [`Save::save_bytes`].
    Bytes(Vec<u8>),
}

impl Save for Vec<Field> {
    fn save_u64(&mut self, value: u64) {
        self.push(Field::U64(value));
    }
    fn save_f64(&mut self, value: f64) {
        self.push(Field::F64(value));
    }
    fn save_bytes(&mut self, bytes: &[u8]) {
        self.push(Field::Bytes(bytes.to_vec()));
    }
}

/// Fields in memory are read from the front.
impl Load for &[Field] {
    fn load_u64(&mut self) -> Result<u64, LayoutError> {
        match self.split_off_first() {
            Some(Field::U64(value)) => Ok(*value),
            _ => Err(LayoutError::Io),
        }
    }
    fn load_f64(&mut self) -> Result<f64, LayoutError> {
        match self.split_off_first() {
            Some(Field::F64(value)) => Ok(*value),
            _ => Err(LayoutError::Io),
        }
    }
    fn load_bytes(&mut self, length: u64) -> Result<Vec<u8>, LayoutError> {
        let Some(Field::Bytes(bytes)) = self.split_off_first() else {
            return Err(LayoutError::Io);
        };
        copied_whole(bytes, length)
    }
}

/// A copy of a string that has to have this many bytes.
#[doc(hidden)]
pub fn copied_whole(bytes: &[u8], length: u64) -> Result<Vec<u8>, LayoutError> {
    let found = bytes.len() as u64;
    if found == length { copied(bytes) } else { Err(LayoutError::Length { needed: length, found }) }
}

/// Fields as bytes: numbers of 8 bytes little-endian, and strings behind their length.
pub struct Bytes<S> {
    stream: S,
    failed: bool,
}

impl<S> Bytes<S> {
    /// Fields that are written to this stream, or read from it.
    pub fn new(stream: S) -> Self {
        Self { stream, failed: false }
    }

    /// Whether all that was written has arrived.
    pub fn finish(self) -> io::Result<()> {
        if self.failed { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
    }
}

impl<W: Write> Bytes<W> {
    fn put(&mut self, bytes: &[u8]) {
        self.failed = self.failed || self.stream.write_all(bytes).is_err();
    }
}

impl<W: Write> Save for Bytes<W> {
    fn save_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }
    fn save_f64(&mut self, value: f64) {
        self.put(&value.to_le_bytes());
    }
    fn save_bytes(&mut self, bytes: &[u8]) {
        self.save_u64(bytes.len() as u64);
        self.put(bytes);
    }
}

impl<R: Read> Load for Bytes<R> {
    fn load_u64(&mut self) -> Result<u64, LayoutError> {
        let mut bytes = [0; 8];
        self.stream.read_exact(&mut bytes).map_err(|_| LayoutError::Io)?;
        Ok(u64::from_le_bytes(bytes))
    }
    fn load_f64(&mut self) -> Result<f64, LayoutError> {
        self.load_u64().map(f64::from_bits)
    }
    /// The caller's limit bounds what is taken: a stream does not tell how long it is.
    fn load_bytes(&mut self, length: u64) -> Result<Vec<u8>, LayoutError> {
        let found = self.load_u64()?;
        if found != length {
            return Err(LayoutError::Length { needed: length, found });
        }
        let mut bytes = zeroed(length)?;
        self.stream.read_exact(&mut bytes).map_err(|_| LayoutError::Io)?;
        Ok(bytes)
    }
}

/// An error about a field.
#[doc(hidden)]
pub fn wrong<T>(field: &'static str, rule: &'static str) -> Result<T, LayoutError> {
    Err(LayoutError::Field { field, rule })
}

/// An error unless `needed` bytes are within the limit.
#[doc(hidden)]
pub fn check_limit(needed: u64, max: u64) -> Result<(), LayoutError> {
    if needed <= max { Ok(()) } else { Err(LayoutError::TooLarge { needed, max }) }
}

/// An empty list with room for this many items, or an error if there is no memory for them.
#[doc(hidden)]
pub fn reserved<T>(items: u64) -> Result<Vec<T>, LayoutError> {
    let no_memory = LayoutError::Memory { bytes: items.saturating_mul(size_of::<T>() as u64) };
    let mut list = Vec::new();
    list.try_reserve_exact(usize::try_from(items).map_err(|_| no_memory)?).map_err(|_| no_memory)?;
    Ok(list)
}

/// An array of zeros, or an error if there is no memory for it.
#[doc(hidden)]
pub fn zeroed(bytes: u64) -> Result<Vec<u8>, LayoutError> {
    usize::try_from(bytes).ok().and_then(crate::cells::zeroed_bytes).ok_or(LayoutError::Memory { bytes })
}

/// A copy of bytes, or an error if there is no memory for it.
#[doc(hidden)]
pub fn copied(bytes: &[u8]) -> Result<Vec<u8>, LayoutError> {
    let mut copy = reserved(bytes.len() as u64)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Appends to a list, or an error if there is no memory for it.
#[doc(hidden)]
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), LayoutError> {
    let bytes = (list.len() as u64 + 1).saturating_mul(size_of::<T>() as u64);
    list.try_reserve(1).map_err(|_| LayoutError::Memory { bytes })?;
    list.push(item);
    Ok(())
}

/// The chunk of a dump that follows `iterator` (1 after the header), and the iterator behind it.
/// `None` at the end, and for iterators beyond it.
pub(crate) fn chunk<'a>(arrays: impl Iterator<Item = &'a [u8]>, iterator: u64) -> Option<(u64, &'a [u8])> {
    let mut offset = usize::try_from(iterator.checked_sub(1)?).ok()?;
    for array in arrays {
        if offset < array.len() {
            let rest = &array[offset..];
            let chunk = &rest[..rest.len().min(MAX_CHUNK)];
            return Some((iterator + chunk.len() as u64, chunk));
        }
        offset -= array.len();
    }
    None
}

/// Puts the chunk of a dump where it belongs; `iterator` is the one behind it.
pub(crate) fn load_chunk<'a>(
    arrays: impl Iterator<Item = &'a mut Vec<u8>>,
    iterator: u64,
    chunk: &[u8],
) -> Result<(), ChunkError> {
    let before = iterator.checked_sub(1).and_then(|end| end.checked_sub(chunk.len() as u64));
    let mut offset = before.and_then(|at| usize::try_from(at).ok()).ok_or(ChunkError::Offset)?;
    for array in arrays {
        if offset < array.len() {
            let place = array[offset..].get_mut(..chunk.len()).ok_or(ChunkError::TooBig)?;
            place.copy_from_slice(chunk);
            return Ok(());
        }
        offset -= array.len();
    }
    Err(ChunkError::Offset)
}

/// Reads little-endian numbers off the front of bytes.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    /// The next bytes; zeros if they are missing, so that lengths are to be checked before.
    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let (now, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *now
    }
    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }
    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }
    pub(crate) fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_the_bytes_that_they_were_written_as() {
        let mut bytes = Vec::new();
        let mut fields = Bytes::new(&mut bytes);
        fields.save_u64(7);
        fields.save_f64(0.5);
        fields.save_bytes(b"rose");
        fields.finish().unwrap();
        assert_eq!(bytes.len(), 8 + 8 + 12);
        let mut fields = Bytes::new(&bytes[..]);
        assert_eq!((fields.load_u64(), fields.load_f64()), (Ok(7), Ok(0.5)));
        assert_eq!(fields.load_bytes(4), Ok(b"rose".to_vec()));
        assert_eq!(fields.load_u64(), Err(LayoutError::Io));
        assert_eq!(Bytes::new(&bytes[16..]).load_bytes(5), Err(LayoutError::Length { needed: 5, found: 4 }));
        assert_eq!(Bytes::new(&bytes[16..27]).load_bytes(4), Err(LayoutError::Io));
        let mut room = [0u8; 3];
        let mut full = Bytes::new(&mut room[..]);
        full.save_u64(7);
        assert!(full.finish().is_err());
    }

    #[test]
    fn chunks_go_through_all_arrays_and_no_chunk_through_two() {
        let arrays = [vec![1u8; 5], vec![2; MAX_CHUNK + 3], vec![3; 2]];
        let slices = || arrays.iter().map(Vec::as_slice);
        let (mut at, mut lengths, mut back) = (1, vec![], arrays.clone().map(|array| vec![0; array.len()]));
        while let Some((next, bytes)) = chunk(slices(), at) {
            load_chunk(back.iter_mut(), next, bytes).unwrap();
            lengths.push(bytes.len());
            at = next;
        }
        assert_eq!(lengths, [5, MAX_CHUNK, 3, 2]);
        assert_eq!(back, arrays);
        assert_eq!(at, 1 + 5 + (MAX_CHUNK as u64 + 3) + 2);
        for beyond in [0, at, at + 1, u64::MAX] {
            assert_eq!(chunk(slices(), beyond), None, "{beyond}");
        }
    }

    #[test]
    fn a_chunk_without_a_place_changes_nothing() {
        let mut arrays = [vec![0u8; 5], vec![0; 4]];
        let mut load = |at, bytes: &[u8]| load_chunk(arrays.iter_mut(), at, bytes);
        assert_eq!(load(0, b""), Err(ChunkError::Offset));
        assert_eq!(load(3, b"xxx"), Err(ChunkError::Offset)); // it would begin before the first byte
        assert_eq!(load(7, b"xx"), Err(ChunkError::TooBig)); // the last byte of one array and the first of the next
        assert_eq!(load(11, b"x"), Err(ChunkError::Offset));
        assert_eq!(load(u64::MAX, b"x"), Err(ChunkError::Offset));
        assert_eq!(load(6, b"xxxxx"), Ok(()));
        assert_eq!(load(10, b"xy"), Ok(()));
        assert_eq!(arrays, [b"xxxxx".to_vec(), b"\0\0xy".to_vec()]);
    }
}
