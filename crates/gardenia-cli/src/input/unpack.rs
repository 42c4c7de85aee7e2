//! Compressed input is unpacked as it is read, and input that is no text is refused. Both are known
//! by their first bytes, whatever the file is called.

use crate::message::hinted;
use memchr::memchr;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an input begins with, and what is done with it.
struct Format {
    magic: &'static [Byte],
    reading: Reading,
}

/// A byte of a magic.
#[derive(Clone, Copy)]
enum Byte {
    Is(u8),
    /// From '1' to '9'.
    Digit,
    /// This one or one of the fifteen above it.
    AnyOf16(u8),
    Any,
}
use Byte::{Any, AnyOf16, Digit, Is};

enum Reading {
    Unpacked(fn(Reader) -> io::Result<Reader>),
    /// Its name, and what to do instead. Read as lines it would give "not found" for each of them.
    Refused(&'static str, &'static str),
}
use Reading::{Refused, Unpacked};

/// All that are known by their first bytes. A text that begins in such a way differs in the
/// bytes that follow: blocks of bzip2 begin with the digits of π, pages of Parquet with a header,
/// and every second byte of Latin text in UTF-16 is zero.
const FORMATS: [Format; 20] = [
    Format {
        magic: &[Is(0x1f), Is(0x8b)],
        reading: Unpacked(|packed| Ok(Box::new(flate2::read::MultiGzDecoder::new(packed)))),
    },
    Format {
        magic: &[Is(0x28), Is(0xb5), Is(0x2f), Is(0xfd)],
        reading: Unpacked(|packed| Ok(Box::new(zstd::Decoder::new(packed)?))),
    },
    Format {
        magic: &[Is(0xfd), Is(b'7'), Is(b'z'), Is(b'X'), Is(b'Z'), Is(0)],
        reading: Unpacked(|packed| Ok(Box::new(lzma_rust2::XzReader::new(packed, true)))),
    },
    Format {
        magic: &[
            Is(b'B'),
            Is(b'Z'),
            Is(b'h'),
            Digit,
            Is(0x31),
            Is(0x41),
            Is(0x59),
            Is(0x26),
            Is(0x53),
            Is(0x59),
        ],
        reading: Unpacked(|packed| Ok(Box::new(bzip2::read::MultiBzDecoder::new(packed)))),
    },
    Format {
        magic: &[Is(0x04), Is(0x22), Is(0x4d), Is(0x18)],
        reading: Unpacked(|packed| Ok(Box::new(Lz4::new(io::BufReader::new(packed))))),
    },
    // A frame to be skipped, as pzstd writes first.
    Format {
        magic: &[AnyOf16(0x50), Is(0x2a), Is(0x4d), Is(0x18)],
        reading: Unpacked(|packed| Ok(Box::new(zstd::Decoder::new(packed)?))),
    },
    // LZ4 of before the frame format, as kernels are packed.
    Format {
        magic: &[Is(0x02), Is(0x21), Is(0x4c), Is(0x18)],
        reading: Unpacked(|packed| Ok(Box::new(Lz4::new(io::BufReader::new(packed))))),
    },
    Format {
        magic: &[Is(b'P'), Is(b'K'), Is(3), Is(4)],
        reading: Refused("a ZIP archive", "unzip -p FILE | gardenia …"),
    },
    Format {
        magic: &[Is(b'P'), Is(b'K'), Is(5), Is(6)],
        reading: Refused("an empty ZIP archive", "name another file"),
    },
    Format {
        magic: &[Is(b'R'), Is(b'a'), Is(b'r'), Is(b'!'), Is(0x1a), Is(7)],
        reading: Refused("a RAR archive", "unrar p -inul FILE | gardenia …"),
    },
    Format {
        magic: &[Is(b'A'), Is(b'R'), Is(b'R'), Is(b'O'), Is(b'W'), Is(b'1'), Is(0), Is(0)],
        reading: Refused("an Arrow file", "write the column as text or CSV first"),
    },
    Format {
        magic: &[Is(b'P'), Is(b'A'), Is(b'R'), Is(b'1'), Is(0x15)],
        reading: Refused("a Parquet file", "write the column as text or CSV first"),
    },
    Format {
        magic: &[Is(b'7'), Is(b'z'), Is(0xbc), Is(0xaf), Is(0x27), Is(0x1c)],
        reading: Refused("a 7z archive", "7z x -so FILE | gardenia …"),
    },
    Format { magic: &[Is(0xff), Is(0xfe), Any, Is(0)], reading: Refused(UTF16.0, UTF16.1) },
    Format { magic: &[Is(0xfe), Is(0xff), Is(0), Any], reading: Refused(UTF16.0, UTF16.1) },
    Format {
        magic: &[Is(0x1f), Is(0x9d)],
        reading: Refused("a file of compress (.Z)", "zcat FILE | gardenia …"),
    },
    Format {
        magic: &[Is(0x89), Is(b'G'), Is(b'D'), Is(b'N'), Is(0x0d), Is(0x0a), Is(0x1a), Is(0x0a)],
        reading: Refused("a Gardenia filter", "name the filter first, or with -F"),
    },
    Format {
        magic: &[Is(b'O'), Is(b'b'), Is(b'j'), Is(1)],
        reading: Refused("an Avro file", "write the column as text or CSV first"),
    },
    Format {
        magic: &[
            Is(b'S'),
            Is(b'Q'),
            Is(b'L'),
            Is(b'i'),
            Is(b't'),
            Is(b'e'),
            Is(0x20),
            Is(b'f'),
            Is(b'o'),
            Is(b'r'),
            Is(b'm'),
            Is(b'a'),
            Is(b't'),
            Is(0x20),
            Is(b'3'),
            Is(0),
        ],
        reading: Refused("an SQLite database", "sqlite3 FILE 'SELECT …' | gardenia …"),
    },
    Format {
        magic: &[Is(b'E'), Is(b'l'), Is(b'f'), Is(b'F'), Is(b'i'), Is(b'l'), Is(b'e'), Is(0)],
        reading: Refused("a Windows event log", "export it as text or CSV first"),
    },
];

impl Format {
    /// Whether an input that begins with these bytes can be of this format.
    fn can_be(&self, start: &[u8]) -> bool {
        self.magic.iter().zip(start).all(|(magic, &byte)| match magic {
            Is(value) => *value == byte,
            Digit => byte.is_ascii_digit() && byte != b'0',
            AnyOf16(first) => byte & 0xf0 == *first,
            Any => true,
        })
    }
}

/// Frames of LZ4, one after the other: the decoder stops after each.
struct Lz4(Option<lz4_flex::frame::FrameDecoder<io::BufReader<Reader>>>);

impl Lz4 {
    fn new(packed: io::BufReader<Reader>) -> Self {
        Self(Some(lz4_flex::frame::FrameDecoder::new(packed)))
    }
}

impl Read for Lz4 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() || decoder.get_mut().fill_buf()?.is_empty() {
                return Ok(count);
            }
            *self = self.0.take().map_or(Self(None), |decoder| Self::new(decoder.into_inner()));
        }
        Ok(0)
    }
}

/// A reader that can move to another thread.
pub(super) type Reader = Box<dyn Read + Send>;

/// A file that was compressed more often than this by mistake is hardly anybody's.
const MOST_LAYERS: usize = 4;

/// What `reader` gives, unpacked if it is compressed, also more than once, and the bytes of it that
/// were read to know. An error if it is no text.
///
/// A plain input is asked for no more bytes than needed: a slow pipe is answered as its lines
/// arrive.
pub(super) fn unpack(mut reader: Reader) -> anyhow::Result<(Vec<u8>, Reader)> {
    for _ in 0..MOST_LAYERS {
        let start = start(&mut reader)?;
        match format_of(&start) {
            None => return Ok((start, reader)),
            Some(Unpacked(open)) => {
                let whole: Reader = Box::new(io::Cursor::new(start).chain(reader));
                reader = Box::new(Checked(open(whole)?));
            }
            Some(Refused(what, instead)) => return Err(refused(what, instead)),
        }
    }
    Err(hinted("compressed over and over again", "unpack it first"))
}

/// The first bytes of an input: as many as it takes to know its format.
fn start(reader: &mut Reader) -> anyhow::Result<Vec<u8>> {
    let mut start = Vec::new();
    while FORMATS.iter().any(|format| format.magic.len() > start.len() && format.can_be(&start)) {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(start)
}

/// What is done with an input that begins with these bytes; none if it is read as it is.
fn format_of(start: &[u8]) -> Option<&'static Reading> {
    let found = FORMATS.iter().find(|format| format.magic.len() <= start.len() && format.can_be(start));
    found.map(|format| &format.reading)
}

/// Whether a file holds text as it is, and not compressed; an error if it holds none.
pub(crate) fn is_plain(mut file: &std::fs::File) -> anyhow::Result<bool> {
    let longest = FORMATS.iter().map(|format| format.magic.len()).max().unwrap_or_default();
    let mut start = Vec::new();
    file.by_ref().take(longest as u64).read_to_end(&mut start)?;
    match format_of(&start) {
        None => Ok(true),
        Some(Unpacked(_)) => Ok(false),
        Some(Refused(what, instead)) => Err(refused(what, instead)),
    }
}

/// An error if what an input begins with, unpacked, is no text by more than its first bytes: a slow
/// pipe is not waited for.
pub(crate) fn refuse_late(start: &[u8]) -> anyhow::Result<()> {
    let start = &start[..start.len().min(LATE)];
    if start.get(257..262) == Some(b"ustar") {
        return Err(refused("a tar archive", "tar -xOf FILE | gardenia …"));
    }
    // Names that end in NUL have no other controls.
    let controls = |byte: &u8| matches!(byte, 1..=8 | 0x0e..=0x1a);
    if start.starts_with(b"ORC") && start.contains(&0) && start.iter().any(controls) {
        return Err(refused("an ORC file", "write the column as text or CSV first"));
    }
    if is_utf16(start) {
        return Err(refused(UTF16.0, UTF16.1));
    }
    Ok(())
}

/// Bytes of an input that are looked at before it is taken for text.
const LATE: usize = 64 << 10;

const UTF16: (&str, &str) = ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | gardenia …");

/// Whether bytes that begin with the mark of UTF-16 are that. Text that is not Latin may have no
/// zero bytes but those of its line ends, and 0x0a in its letters.
fn is_utf16(start: &[u8]) -> bool {
    let little = match start {
        [0xff, 0xfe, _, ..] => true,
        [0xfe, 0xff, _, ..] => false,
        _ => return false,
    };
    let (mut ends, mut others, mut latin) = (0, 0, false);
    for unit in start.chunks(2) {
        latin |= matches!((little, unit), (true, [b' '..=b'~', 0]) | (false, [0, b' '..=b'~']));
        match (little, unit) {
            (true, [b'\n', 0]) | (false, [0, b'\n']) => ends += 1,
            (true, [b'\n', ..]) | (false, [_, b'\n']) => others += 1,
            _ => {}
        }
    }
    // Bytes that are no text begin with 0 and 1 rather than a text with Ā.
    let binary = matches!(start, [_, _, 0, 1, ..] | [_, _, 1, 0, ..]);
    let text = if ends > 0 {
        ends > others || !binary && is_clean_utf16(start, little)
    } else {
        // A single line, in which ASCII would be pairs of letters.
        let ascii = start.iter().filter(|byte| matches!(byte, b' '..=b'~')).count();
        !binary
            && memchr(b'\n', start).is_none()
            && 4 * ascii <= 3 * start.len()
            && is_clean_utf16(start, little)
    };
    text && (latin || !binary)
}

/// Whether bytes are UTF-16 without a half of a pair, and without controls but blanks.
fn is_clean_utf16(bytes: &[u8], little: bool) -> bool {
    let (units, rest) = bytes.as_chunks::<2>();
    let unit = |unit: &[u8; 2]| if little { u16::from_le_bytes(*unit) } else { u16::from_be_bytes(*unit) };
    // The last one may be cut off where only so many bytes are looked at.
    let cut = usize::from(bytes.len() == LATE && matches!(units.last().map(unit), Some(0xd800..=0xdbff)));
    let mut letters = char::decode_utf16(units[..units.len() - cut].iter().map(unit));
    let clean = |letter: char| matches!(letter, '\t' | '\n' | '\r') || !letter.is_control();
    rest.is_empty() && letters.all(|letter| letter.is_ok_and(|letter| clean(letter) && letter != '\u{fffe}'))
}

fn refused(what: &str, instead: &str) -> anyhow::Error {
    hinted(format!("{what}, which has no lines of text to read"), instead)
}

/// Says of what the unpacker finds wrong that it is the input which is wrong.
struct Checked(Reader);

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "the compressed input is truncated"),
            _ if error.raw_os_error().is_some() => error,
            kind => io::Error::new(kind, format!("the compressed input is corrupted: {error}")),
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
