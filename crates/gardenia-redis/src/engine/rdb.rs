//! Long byte strings in the database's file: pieces of one MiB, so that neither side holds a second
//! copy of a large filter in one block.

use super::ffi::{Buffer, Io};
use std::io::{self, Read, Write};

/// Bytes of a piece.
const PIECE: usize = 1 << 20;

/// Saves what is written as pieces; [`finish`](Self::finish) ends them.
pub struct PieceWriter<'a, 'b> {
    io: &'a mut Io<'b>,
    room: Vec<u8>,
}

impl<'a, 'b> PieceWriter<'a, 'b> {
    /// Begins a string.
    pub fn new(io: &'a mut Io<'b>) -> Self {
        Self { io, room: Vec::new() }
    }

    /// Ends the string: an empty piece follows.
    pub fn finish(self) {
        if !self.room.is_empty() {
            self.io.save_bytes(&self.room);
        }
        self.io.save_bytes(&[]);
    }
}

impl Write for PieceWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(PIECE - self.room.len());
        self.room.extend_from_slice(&bytes[..len]);
        if self.room.len() == PIECE {
            self.io.save_bytes(&self.room);
            self.room.clear();
        }
        Ok(len)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A string of pieces, all loaded: what it claims of itself can then be compared with what is
/// there.
pub struct Pieces<B> {
    pieces: Vec<B>,
    len: u64,
}

impl Pieces<Buffer> {
    /// Loads pieces up to the empty one; `None` if the stream ends before.
    pub fn load(io: &mut Io<'_>) -> Option<Self> {
        let mut pieces = Vec::new();
        loop {
            let piece = io.load_bytes()?;
            if piece.as_ref().is_empty() {
                return Some(Self::new(pieces));
            }
            pieces.push(piece);
        }
    }
}

impl<B: AsRef<[u8]>> Pieces<B> {
    /// These pieces.
    pub fn new(pieces: Vec<B>) -> Self {
        let len = pieces.iter().map(|piece| piece.as_ref().len() as u64).sum();
        Self { pieces, len }
    }

    /// Bytes of all pieces.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads from the beginning.
    pub fn reader(&self) -> impl Read + '_ {
        PieceReader { pieces: &self.pieces, at: 0 }
    }

    /// The pieces, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(AsRef::as_ref)
    }
}

struct PieceReader<'a, B> {
    pieces: &'a [B],
    at: usize,
}

impl<B: AsRef<[u8]>> Read for PieceReader<'_, B> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some((piece, rest)) = self.pieces.split_first() {
            let left = &piece.as_ref()[self.at..];
            if !left.is_empty() {
                let len = left.len().min(out.len());
                out[..len].copy_from_slice(&left[..len]);
                self.at += len;
                return Ok(len);
            }
            (self.pieces, self.at) = (rest, 0);
        }
        Ok(0)
    }
}

#[test]
fn pieces_read_as_one_string() {
    let pieces = Pieces::new(vec![&b"ro"[..], b"", b"se", b"s"]);
    let mut all = Vec::new();
    pieces.reader().read_to_end(&mut all).unwrap();
    assert_eq!((&all[..], pieces.len()), (&b"roses"[..], 5));
}
