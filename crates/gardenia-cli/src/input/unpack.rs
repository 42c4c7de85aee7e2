//! Compressed input is unpacked as it is read. It is known by its first bytes, whatever the file is called.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a gzip member and a Zstandard frame begin.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A reader that can move to another thread.
pub(super) type Reader = Box<dyn Read + Send>;

/// What `reader` gives, unpacked if it is compressed, and the bytes of it that were read to know.
///
/// A plain input is asked for no more bytes than needed: a slow pipe is answered as its lines arrive.
pub(super) fn unpack(mut reader: Reader) -> io::Result<(Vec<u8>, Reader)> {
    let mut start = Vec::new();
    while [GZIP, ZSTD].iter().any(|magic| magic.len() > start.len() && magic.starts_with(&start)) {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let packed = [GZIP, ZSTD].into_iter().find(|magic| start.starts_with(magic));
    let Some(magic) = packed else { return Ok((start, reader)) };
    let whole = io::Cursor::new(start).chain(reader);
    let reader: Reader = if magic == GZIP {
        Box::new(flate2::read::MultiGzDecoder::new(whole))
    } else {
        Box::new(zstd::Decoder::new(whole)?)
    };
    Ok((Vec::new(), Box::new(Unpacked(reader))))
}

/// Says of what the unpacker finds wrong that it is the input which is wrong.
struct Unpacked(Reader);

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the compressed input ends in the middle")
            }
            _ if error.raw_os_error().is_some() => error,
            kind => io::Error::new(kind, format!("the compressed input is damaged: {error}")),
        })
    }
}

/// Counts the bytes that come from the system: those are what a file's length speaks of.
pub(super) struct Counted<R> {
    pub(super) reader: R,
    pub(super) bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
