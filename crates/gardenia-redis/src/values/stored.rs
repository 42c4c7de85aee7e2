//! How values of our own are stored, and how they travel.
//!
//! A value is written as a string of bytes, and read from one. The database's file holds the string
//! in pieces, the append-only file and `SCANDUMP` hold it behind a header: a mark of the type, and
//! the number of bytes. A string of up to 16 MiB may follow its header at once; a longer one
//! follows in chunks, and while they come the key holds what has come so far
//! ([`Stored::Arriving`]). Nothing is believed before all bytes are there.

use crate::engine::ffi::{DigestOf, Io, Rewrite};
use crate::engine::rdb::{PieceWriter, Pieces};
use crate::engine::types::{TypeHandle, Value};
use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::marker::PhantomData;

/// A value that is a string of bytes where it is stored. As every [`Value`] it can be freed on
/// another thread.
pub trait Whole: Sized + Send + 'static {
    /// Name of the engine's data type, nine characters.
    const NAME: &'static CStr;
    /// What a dump begins with. RedisBloom's begin with a count of items, 8 bytes little-endian: a
    /// mark that ends in 0xff is a count that no value has.
    const MARK: [u8; 8];
    /// The command that takes dumps.
    const LOADCHUNK: &'static CStr;

    /// Where the engine's number of the type is kept.
    fn handle() -> &'static TypeHandle<Stored<Self>>;

    /// Writes all that makes the value what it is.
    fn write(&self, to: impl Write) -> io::Result<()>;

    /// The value that was written as these `len` bytes, which may be anybody's: memory that is
    /// taken is of their order, whatever they say.
    fn read(from: impl Read, len: u64) -> Option<Self>;

    /// Bytes of memory behind the value.
    fn memory(&self) -> usize;

    /// Calls `part` with the bytes of each piece of memory behind the value.
    fn parts(&self, part: &mut dyn FnMut(usize)) {
        part(self.memory());
    }

    /// A copy; `None` if there is no memory for it.
    fn copy(&self) -> Option<Self>;
}

/// What is stored under a key.
#[derive(Debug)]
pub enum Stored<T> {
    /// A value.
    Whole(T),
    /// One that is not yet all there.
    Arriving(Arriving<T>),
}

/// A value that arrives in chunks: its bytes so far. They are checked, and become a value, when all
/// are there.
#[derive(Debug)]
pub struct Arriving<T> {
    total: u64,
    bytes: Vec<u8>,
    kind: PhantomData<fn() -> T>,
}

/// Bytes of a dump's header: the mark, and how many bytes follow.
pub const DUMP_HEADER: usize = 16;

/// The most bytes of a chunk.
pub const CHUNK: usize = 16 << 20;

/// Why bytes were not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadChunk {
    /// They are not the next.
    Offset,
    /// More than were announced.
    TooBig,
    /// All are there, and make no value.
    Data,
}

/// The value that is written in `len` bytes, and no more.
fn read<T: Whole>(mut from: impl Read, len: u64) -> Option<T> {
    let value = T::read(&mut from, len)?;
    matches!(from.read(&mut [0]), Ok(0)).then_some(value)
}

impl<T: Whole> Arriving<T> {
    fn header(total: u64) -> [u8; DUMP_HEADER] {
        let mut header = [0; DUMP_HEADER];
        header[..8].copy_from_slice(&T::MARK);
        header[8..].copy_from_slice(&total.to_le_bytes());
        header
    }

    /// Bytes that were announced.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes the bytes that end at `end`; the value, if these were the last. On an error nothing
    /// has changed.
    pub fn take(&mut self, end: u64, chunk: &[u8]) -> Result<Option<T>, BadChunk> {
        let start = self.bytes.len() as u64;
        if start.checked_add(chunk.len() as u64) != Some(end) || chunk.is_empty() {
            return Err(BadChunk::Offset);
        }
        if end > self.total {
            return Err(BadChunk::TooBig);
        }
        self.bytes.try_reserve(chunk.len()).map_err(|_| BadChunk::TooBig)?;
        self.bytes.extend_from_slice(chunk);
        if end < self.total {
            return Ok(None);
        }
        let whole = read(&self.bytes[..], self.total);
        if whole.is_none() {
            self.bytes.truncate(start as usize);
        }
        whole.map(Some).ok_or(BadChunk::Data)
    }
}

impl<T: Whole> Stored<T> {
    /// Whether a dump's header is one of this type.
    #[must_use]
    pub fn is_announced(header: &[u8]) -> bool {
        header.starts_with(&T::MARK)
    }

    /// What a dump's header announces, with the bytes behind it: all, or none yet. `None` if that
    /// cannot be.
    #[must_use]
    pub fn announce(header: &[u8]) -> Option<Self> {
        let (header, body) = header.split_first_chunk::<DUMP_HEADER>()?;
        let (mark, total) = header.split_first_chunk::<8>()?;
        let total = u64::from_le_bytes(*total.first_chunk()?);
        if *mark != T::MARK || total == 0 {
            return None;
        }
        if body.is_empty() {
            return Some(Self::Arriving(Arriving { total, bytes: Vec::new(), kind: PhantomData }));
        }
        (body.len() as u64 == total).then(|| read(body, total))?.map(Self::Whole)
    }

    /// Bytes of the value as it is written, all of them.
    #[must_use]
    pub fn written(&self) -> u64 {
        match self {
            Self::Whole(value) => {
                let mut count = Count(0);
                // It cannot fail: a count takes everything.
                let _written = value.write(&mut count).is_ok();
                count.0
            }
            Self::Arriving(arriving) => arriving.total,
        }
    }

    /// The header of a dump.
    #[must_use]
    pub fn dump_header(&self) -> [u8; DUMP_HEADER] {
        Arriving::<T>::header(self.written())
    }

    /// Bytes of a dump behind its header, from there on: a chunk of at most `most` of them. `None`
    /// if there is no memory for it.
    #[must_use]
    pub fn dump(&self, from: u64, most: usize) -> Option<Vec<u8>> {
        let mut window = Window { skip: from, len: most.clamp(1, CHUNK), bytes: Vec::new() };
        let written = match self {
            Self::Whole(value) => value.write(&mut window),
            Self::Arriving(arriving) => window.write_all(&arriving.bytes),
        };
        // A full window ends the writing: what is behind it is not wanted.
        (written.is_ok() || window.bytes.len() == window.len).then_some(window.bytes)
    }
}

const WHOLE: u64 = 0;
const ARRIVING: u64 = 1;

/// Saved: what it is (0 a value, 1 one that arrives), bytes that were announced (0 of a value), and
/// the bytes in pieces.
impl<T: Whole> Value for Stored<T> {
    const NAME: &'static CStr = T::NAME;
    const VERSION: i32 = 1;

    fn handle() -> &'static TypeHandle<Self> {
        T::handle()
    }

    fn load(io: &mut Io<'_>, version: i32) -> Option<Self> {
        if version != Self::VERSION {
            return None;
        }
        let (what, total) = (io.load_unsigned()?, io.load_unsigned()?);
        let pieces = Pieces::load(io)?;
        match what {
            WHOLE if total == 0 => read(pieces.reader(), pieces.len()).map(Self::Whole),
            ARRIVING if pieces.len() < total => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(pieces.len() as usize).ok()?;
                pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
                Some(Self::Arriving(Arriving { total, bytes, kind: PhantomData }))
            }
            _ => None,
        }
    }

    fn save(&self, io: &mut Io<'_>) {
        let (what, total) = match self {
            Self::Whole(_) => (WHOLE, 0),
            Self::Arriving(arriving) => (ARRIVING, arriving.total),
        };
        io.save_unsigned(what);
        io.save_unsigned(total);
        let mut pieces = PieceWriter::new(io);
        // Neither fails: the writer takes everything, and what is stored can be written.
        let _written = match self {
            Self::Whole(value) => value.write(&mut pieces).is_ok(),
            Self::Arriving(arriving) => pieces.write_all(&arriving.bytes).is_ok(),
        };
        pieces.finish();
    }

    fn rewrite(&self, file: &mut Rewrite<'_>) {
        let mut first = self.dump_header().to_vec();
        if let Self::Whole(value) = self
            && self.written() <= CHUNK as u64
        {
            // It cannot fail: a list takes everything.
            let _written = value.write(&mut first).is_ok();
            return file.emit(T::LOADCHUNK, 1, &first);
        }
        file.emit(T::LOADCHUNK, 1, &first);
        let mut chunks = ChunkWriter { file, command: T::LOADCHUNK, end: 1, room: Vec::new() };
        let _written = match self {
            Self::Whole(value) => value.write(&mut chunks).is_ok(),
            Self::Arriving(arriving) => chunks.write_all(&arriving.bytes).is_ok(),
        };
        chunks.emit();
    }

    fn memory(&self) -> usize {
        match self {
            Self::Whole(value) => value.memory(),
            Self::Arriving(arriving) => arriving.bytes.capacity(),
        }
    }

    fn parts(&self, part: &mut dyn FnMut(usize)) {
        match self {
            Self::Whole(value) => value.parts(part),
            Self::Arriving(arriving) => part(arriving.bytes.capacity()),
        }
    }

    fn digest(&self, digest: &mut DigestOf<'_>) {
        match self {
            // It cannot fail: a digest takes everything.
            Self::Whole(value) => _ = value.write(Digested(digest)).is_ok(),
            Self::Arriving(arriving) => {
                digest.add_number(arriving.total);
                digest.add(&arriving.bytes);
            }
        }
    }

    fn copy(&self) -> Option<Self> {
        Some(match self {
            Self::Whole(value) => Self::Whole(value.copy()?),
            Self::Arriving(Arriving { total, bytes, kind }) => {
                let mut copy = Vec::new();
                copy.try_reserve_exact(bytes.len()).ok()?;
                copy.extend_from_slice(bytes);
                Self::Arriving(Arriving { total: *total, bytes: copy, kind: *kind })
            }
        })
    }
}

/// Sends what is written as chunks.
struct ChunkWriter<'a, 'b> {
    file: &'a mut Rewrite<'b>,
    command: &'static CStr,
    /// The iterator behind the last chunk.
    end: i64,
    room: Vec<u8>,
}

impl ChunkWriter<'_, '_> {
    fn emit(&mut self) {
        if !self.room.is_empty() {
            self.end += self.room.len() as i64;
            self.file.emit(self.command, self.end, &self.room);
            self.room.clear();
        }
    }
}

impl Write for ChunkWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(CHUNK - self.room.len());
        self.room.extend_from_slice(&bytes[..len]);
        if self.room.len() == CHUNK {
            self.emit();
        }
        Ok(len)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps a window of what is written.
struct Window {
    skip: u64,
    len: usize,
    bytes: Vec<u8>,
}

impl Write for Window {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.skip -= skipped as u64;
        let rest = &bytes[skipped..];
        if !rest.is_empty() && self.bytes.len() == self.len {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let rest = &rest[..rest.len().min(self.len - self.bytes.len())];
        self.bytes.try_reserve(rest.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.bytes.extend_from_slice(rest);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts what is written.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hands what is written to a digest.
struct Digested<'a, 'b>(&'a mut DigestOf<'b>);

impl Write for Digested<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text, whose bytes are itself.
    #[derive(Debug, PartialEq)]
    struct Text(String);

    static HANDLE: TypeHandle<Stored<Text>> = TypeHandle::new();

    impl Whole for Text {
        const NAME: &'static CStr = c"gdn-text-";
        const MARK: [u8; 8] = *b"\x89GDN-TX\xff";
        const LOADCHUNK: &'static CStr = c"TX.LOADCHUNK";
        fn handle() -> &'static TypeHandle<Stored<Self>> {
            &HANDLE
        }
        fn write(&self, mut to: impl Write) -> io::Result<()> {
            to.write_all(self.0.as_bytes())
        }
        /// Without the last byte that it is offered if there are eleven.
        fn read(from: impl Read, len: u64) -> Option<Self> {
            let mut text = String::new();
            from.take(len.min(10)).read_to_string(&mut text).ok()?;
            Some(Self(text))
        }
        fn memory(&self) -> usize {
            self.0.capacity()
        }
        fn copy(&self) -> Option<Self> {
            Some(Self(self.0.clone()))
        }
    }

    fn arriving(total: u64) -> Arriving<Text> {
        match Stored::announce(&Arriving::<Text>::header(total)) {
            Some(Stored::Arriving(arriving)) => arriving,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_dumped_arrives_in_order_or_is_refused() {
        let rose = Stored::Whole(Text("roses".into()));
        assert_eq!(rose.dump_header(), *b"\x89GDN-TX\xff\x05\0\0\0\0\0\0\0");
        assert_eq!(
            (rose.dump(0, CHUNK).unwrap(), rose.dump(2, CHUNK).unwrap()),
            (b"roses".to_vec(), b"ses".to_vec())
        );
        assert_eq!((rose.dump(5, CHUNK).unwrap(), rose.dump(u64::MAX, CHUNK).unwrap()), (vec![], vec![]));

        assert_eq!((rose.dump(1, 3).unwrap(), rose.dump(4, 3).unwrap()), (b"ose".to_vec(), b"s".to_vec()));

        let mut half = arriving(5);
        assert_eq!(half.take(1, b"ro"), Err(BadChunk::Offset));
        assert_eq!(half.take(0, b""), Err(BadChunk::Offset));
        assert_eq!(half.take(2, b"ro"), Ok(None));
        assert_eq!(half.take(2, b"ro"), Err(BadChunk::Offset));
        assert_eq!(half.take(6, b"sess"), Err(BadChunk::TooBig));
        assert_eq!(half.take(5, b"\xffes"), Err(BadChunk::Data));
        let stored = Stored::Arriving(half);
        assert_eq!((stored.written(), stored.dump(1, CHUNK).unwrap()), (5, b"o".to_vec()));
        let Stored::Arriving(mut half) = stored.copy().unwrap() else { panic!() };
        assert_eq!(half.take(5, b"ses"), Ok(Some(Text("roses".into()))));
        // What the value does not read is too much.
        assert_eq!(arriving(11).take(11, b"rhododendra"), Err(BadChunk::Data));
    }

    #[test]
    fn small_values_arrive_with_their_header_and_wrong_headers_are_none() {
        let with = |total: u64, body: &[u8]| {
            let header = [&Arriving::<Text>::header(total)[..], body].concat();
            Stored::<Text>::announce(&header)
        };
        assert!(matches!(with(5, b"roses"), Some(Stored::Whole(text)) if text.0 == "roses"));
        for (total, body) in
            [(0, &b""[..]), (4, b"roses"), (6, b"roses"), (5, b"ros\xff\xff"), (11, b"rhododendra")]
        {
            assert!(with(total, body).is_none(), "{total} {body:?}");
        }
        let header = Arriving::<Text>::header(5);
        assert!(Stored::<Text>::announce(&header[1..]).is_none());
        assert!(Stored::<Text>::announce(&header[..15]).is_none());
        assert!(Stored::<Text>::is_announced(&header) && !Stored::<Text>::is_announced(b"\x89GDN-BF\xff"));
    }
}
