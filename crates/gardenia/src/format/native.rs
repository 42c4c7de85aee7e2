//! The native container: header, payload, checksums, end mark; to and from any reader or writer.

use super::ReadOptions;
use super::header::{FIXED, Header};
use crate::cells::{Memory, Owned};
use crate::error::Part;
use crate::hash::KeyHasher;
use crate::spec::Spec;
use crate::{DecodeError, EncodeError, Error, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use xxhash_rust::xxh3::xxh3_64;

/// Payload bytes under one checksum: a mapped file can be verified piecewise.
const CHUNK: usize = 1 << 20;
/// The last bytes.
const END: [u8; 8] = *b"GDN.END\n";

/// A filter that can be written.
pub(crate) trait Stored {
    /// Everything but the payload.
    fn header(&self) -> Result<Header, EncodeError>;
    /// The payload, in order.
    fn sections(&self) -> Vec<&dyn Memory>;
    /// The payload, in order, of filters that do not keep it as it is stored.
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        Ok(self.sections().into_iter().map(Section::Kept).collect())
    }
    /// Notes the options of its kind that its identity and its plan do not give.
    fn options(&self, _spec: &mut Spec) {}
}

/// A part of a payload.
pub(crate) enum Section<'a> {
    /// Words of the filter.
    Kept(&'a dyn Memory),
    /// Words that were made for the file.
    Made(Owned),
}

impl Section<'_> {
    /// The words.
    pub(crate) fn memory(&self) -> &dyn Memory {
        match self {
            Self::Kept(memory) => *memory,
            Self::Made(memory) => memory,
        }
    }
}

/// A filter that can be read into own memory.
pub(crate) trait Restore: Sized {
    /// The empty filter that the header describes. Sizes were checked against the cap.
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError>;
    /// The words to be filled, in order; together as long as the payload.
    fn sections_mut(&mut self) -> Vec<&mut [u64]>;
    /// What must hold of the words once they are filled.
    fn check(&self) -> Result<(), DecodeError>;
    /// The filter that the header describes, with the words that `fill` puts into the given place.
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        read_in_place(header, options, fill)
    }
}

/// [`Restore::read`] of filters that keep their payload as it is stored.
pub(crate) fn read_in_place<T: Restore>(
    header: &Header,
    options: &ReadOptions,
    fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
) -> Result<T, DecodeError> {
    let mut filter = T::restore(header, options)?;
    fill(filter.sections_mut())?;
    filter.check()?;
    Ok(filter)
}

/// A filter that can be read where its payload lies.
pub(crate) trait Attach<B>: Sized {
    /// The filter that the header describes, over its payload.
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError>;
}

/// Payload bytes that can be cut into the sections of a filter.
pub(crate) trait Cut: AsRef<[u8]> + Sized {
    /// The first `len` bytes, and the rest; `None` if there are fewer.
    fn cut(self, len: usize) -> Option<(Self, Self)>;
}

impl Cut for &[u8] {
    fn cut(self, len: usize) -> Option<(Self, Self)> {
        self.split_at_checked(len)
    }
}

/// Bytes after the payload: checksums, checksum of the checksums, end mark.
fn trailer_len(payload_len: u64) -> u64 {
    payload_len.div_ceil(CHUNK as u64) * 8 + 8 + 8
}

/// Length of the whole file.
pub(super) fn file_len(header: &Header) -> u64 {
    header.payload_offset() + header.payload_len + trailer_len(header.payload_len)
}

/// Length of a file whose kind has this many bytes of parameters and of payload.
pub(crate) fn file_bytes(params: u64, payload: u64) -> u64 {
    (FIXED as u64 + params + 8).next_multiple_of(64) + payload + trailer_len(payload)
}

/// A filter that is about to be written.
struct Encoder<'a> {
    header: Header,
    sections: Vec<Section<'a>>,
}

impl<'a> Encoder<'a> {
    fn new(filter: &'a impl Stored) -> Result<Self, EncodeError> {
        let sections = filter.payload()?;
        let payload_len = sections.iter().map(|section| section.memory().words() as u64 * 8).sum();
        Ok(Self { header: Header { payload_len, ..filter.header()? }, sections })
    }

    /// Hands the payload to `put`, a chunk at a time.
    fn each_chunk<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut chunk = vec![0; CHUNK.min(self.header.payload_len as usize)];
        let mut filled = 0;
        for section in self.sections.iter().map(Section::memory) {
            let mut at = 0;
            while at < section.words() {
                let len = (chunk.len() - filled).min((section.words() - at) * 8);
                section.copy_le(at, &mut chunk[filled..filled + len]);
                (at, filled) = (at + len / 8, filled + len);
                if filled == chunk.len() {
                    put(&chunk)?;
                    filled = 0;
                }
            }
        }
        if filled > 0 { put(&chunk[..filled]) } else { Ok(()) }
    }

    /// Hands all bytes to `put`, a piece at a time.
    fn encode<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        put(&self.header.encode())?;
        let mut sums = Vec::new();
        self.each_chunk(|chunk| {
            sums.extend_from_slice(&xxh3_64(chunk).to_le_bytes());
            put(chunk)
        })?;
        put(&sums)?;
        put(&xxh3_64(&sums).to_le_bytes())?;
        put(&END)
    }
}

pub(crate) fn to_bytes(filter: &impl Stored) -> Result<Vec<u8>, EncodeError> {
    let encoder = Encoder::new(filter)?;
    let len = file_len(&encoder.header);
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX))
        .map_err(|_| SizeError::Memory { bytes: len })?;
    encoder.encode(|piece| {
        bytes.extend_from_slice(piece);
        Ok::<_, EncodeError>(())
    })?;
    Ok(bytes)
}

#[cfg(feature = "std")]
pub(crate) fn write_to(filter: &impl Stored, mut writer: impl std::io::Write) -> Result<(), EncodeError> {
    Encoder::new(filter)?.encode(|piece| writer.write_all(piece))?;
    Ok(writer.flush()?)
}

/// A copy of `filter` in memory of its own, by way of what is stored of it: where memory is short,
/// it is an error. `hasher` is the filter's.
pub(crate) fn try_clone<T: Restore>(filter: &impl Stored, hasher: &KeyHasher) -> Result<T, Error> {
    let encoder = Encoder::new(filter)?;
    // The filter is in memory already, so no limit protects anything.
    let mut options = ReadOptions::new().max_bytes(u64::MAX).max_expansion(u64::MAX).max_samples(u64::MAX);
    if let KeyHasher::Sip13 { secret } = hasher {
        options = options.secret(secret.clone());
    }
    Ok(T::read(&encoder.header, &options, |sections| {
        let mut room = Room::new(sections);
        encoder.each_chunk(|chunk| {
            room.put(chunk);
            Ok(())
        })
    })?)
}

/// Where a decoder takes its bytes from.
pub(super) trait Source {
    /// Fills `buffer`, or says how much is missing.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), DecodeError>;
}

/// A slice as a source.
struct Slice<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Source for Slice<'_> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), DecodeError> {
        let (needed, found) = ((self.at + buffer.len()) as u64, self.bytes.len() as u64);
        let end = self.at + buffer.len();
        let piece = self.bytes.get(self.at..end).ok_or(DecodeError::Truncated { needed, found })?;
        buffer.copy_from_slice(piece);
        self.at = end;
        Ok(())
    }
}

/// A reader as a source.
#[cfg(feature = "std")]
pub(super) struct Reader<R> {
    pub(super) reader: R,
    pub(super) at: u64,
}

#[cfg(feature = "std")]
impl<R: std::io::Read> Source for Reader<R> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), DecodeError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => {
                    let needed = self.at + buffer.len() as u64;
                    return Err(DecodeError::Truncated { needed, found: self.at + filled as u64 });
                }
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.at += filled as u64;
        Ok(())
    }
}

/// Reads and checks the header; the source then stands at the payload.
pub(super) fn read_header(source: &mut impl Source) -> Result<Header, DecodeError> {
    let mut fixed = [0; FIXED];
    source.fill(&mut fixed[..8])?;
    if fixed[..8] != super::header::MAGIC {
        // Said before the length is complained about: a short foreign file is foreign, not truncated.
        let found = core::array::from_fn(|i| fixed[i]);
        return Err(DecodeError::Magic { expected: super::header::MAGIC, found });
    }
    source.fill(&mut fixed[8..])?;
    let mut bytes = vec![0; Header::measure(&fixed)?];
    bytes[..FIXED].copy_from_slice(&fixed);
    source.fill(&mut bytes[FIXED..])?;
    Header::decode(&bytes)
}

/// Reads the payload in chunks, hands each to `take`, and checks all that follows.
fn read_payload(
    source: &mut impl Source,
    header: &Header,
    mut take: impl FnMut(&[u8]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut sums = Vec::new();
    let mut left = header.payload_len;
    let mut chunk = vec![0; CHUNK.min(usize::try_from(left).unwrap_or(CHUNK))];
    while left > 0 {
        let len = CHUNK.min(usize::try_from(left).unwrap_or(CHUNK));
        source.fill(&mut chunk[..len])?;
        take(&chunk[..len])?;
        sums.push(xxh3_64(&chunk[..len]));
        left -= len as u64;
    }
    check_trailer(source, &sums)
}

/// Checks checksums and end mark against the sums computed from the payload.
fn check_trailer(source: &mut impl Source, sums: &[u64]) -> Result<(), DecodeError> {
    let mut table = vec![0; sums.len() * 8 + 16];
    source.fill(&mut table)?;
    let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| table[at * 8 + i]));
    // The table first: if it is damaged, its sums accuse the wrong chunk.
    let (expected, found) = (word(sums.len()), xxh3_64(&table[..sums.len() * 8]));
    if expected != found {
        return Err(DecodeError::Checksum { part: Part::Table, expected, found });
    }
    for (number, &found) in sums.iter().enumerate() {
        let expected = word(number);
        if expected != found {
            return Err(DecodeError::Checksum { part: Part::Chunk(number as u64), expected, found });
        }
    }
    if table[sums.len() * 8 + 8..] != END {
        return Err(DecodeError::Damaged("the end mark is missing"));
    }
    Ok(())
}

fn check_cap(header: &Header, options: &ReadOptions) -> Result<(), DecodeError> {
    let (needed, max) = (header.payload_len, options.max_bytes);
    if needed > max { Err(DecodeError::TooLarge { needed, max }) } else { Ok(()) }
}

/// The words of a filter that are still to be filled, in order.
struct Room<'a> {
    sections: alloc::vec::IntoIter<&'a mut [u64]>,
    now: &'a mut [u64],
}

impl<'a> Room<'a> {
    fn new(sections: Vec<&'a mut [u64]>) -> Self {
        Self { sections: sections.into_iter(), now: &mut [] }
    }

    /// Fills in the next bytes of a payload.
    fn put(&mut self, bytes: &[u8]) {
        let mut words = bytes.as_chunks::<8>().0;
        while !words.is_empty() {
            if self.now.is_empty() {
                match self.sections.next() {
                    Some(section) => self.now = section,
                    None => return, // longer than the sections: excluded by `restore`
                }
            }
            let len = words.len().min(self.now.len());
            let (now, later) = core::mem::take(&mut self.now).split_at_mut(len);
            for (word, bytes) in now.iter_mut().zip(words) {
                *word = u64::from_le_bytes(*bytes);
            }
            (self.now, words) = (later, &words[len..]);
        }
    }
}

/// Reads one filter whose header has been read, from a source that is known to be as long as it
/// says.
pub(super) fn read_filter<T: Restore>(
    source: &mut impl Source,
    header: &Header,
    options: &ReadOptions,
) -> Result<T, DecodeError> {
    check_cap(header, options)?;
    T::read(header, options, |sections| {
        let mut room = Room::new(sections);
        read_payload(source, header, |chunk| {
            room.put(chunk);
            Ok(())
        })
    })
}

/// Reads one filter whose header has been read, from a stream that may end before what it claims:
/// its bytes are kept in chunks as they arrive, and memory for the filter is taken once all of them
/// are there.
#[cfg(feature = "std")]
pub(super) fn read_stream<T: Restore>(
    source: &mut impl Source,
    header: &Header,
    options: &ReadOptions,
) -> Result<T, DecodeError> {
    if header.payload_len <= CHUNK as u64 {
        return read_filter(source, header, options);
    }
    check_cap(header, options)?;
    let mut chunks = Vec::new();
    read_payload(source, header, |chunk| {
        let mut copy = buffer(chunk.len())?;
        copy.copy_from_slice(chunk);
        chunks.push(copy);
        Ok(())
    })?;
    T::read(header, options, |sections| {
        let mut room = Room::new(sections);
        chunks.into_iter().for_each(|chunk| room.put(&chunk)); // and given back one by one
        Ok(())
    })
}

/// That many bytes, or an error when memory is short.
pub(super) fn buffer(len: usize) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| SizeError::Memory { bytes: len as u64 })?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// A slice must hold one filter and nothing else.
fn check_len(header: &Header, found: u64) -> Result<(), DecodeError> {
    let needed = file_len(header);
    match found.checked_sub(needed) {
        None => Err(DecodeError::Truncated { needed, found }),
        Some(0) => Ok(()),
        Some(extra) => Err(DecodeError::Trailing { extra }),
    }
}

pub(crate) fn from_bytes<T: Restore>(bytes: &[u8], options: &ReadOptions) -> Result<T, DecodeError> {
    let mut source = Slice { bytes, at: 0 };
    let header = read_header(&mut source)?;
    check_len(&header, bytes.len() as u64)?;
    read_filter(&mut source, &header, options)
}

#[cfg(feature = "std")]
pub(crate) fn read_from<T: Restore>(
    reader: impl std::io::Read,
    options: &ReadOptions,
) -> Result<T, DecodeError> {
    let mut source = Reader { reader, at: 0 };
    let header = read_header(&mut source)?;
    read_stream(&mut source, &header, options)
}

pub(crate) fn view<'a, T: Attach<&'a [u8]>>(
    bytes: &'a [u8],
    options: &ReadOptions,
) -> Result<T, DecodeError> {
    let header = read_header(&mut Slice { bytes, at: 0 })?;
    check_len(&header, bytes.len() as u64)?;
    let (start, len) = (header.payload_offset() as usize, header.payload_len as usize);
    T::attach(&header, options, &bytes[start..start + len])
}

/// Reads the header of a file of any kind, and no byte beyond it.
///
/// ```
/// let bytes = gardenia::Bloom::new(100, 0.01)?.to_bytes().unwrap();
/// assert_eq!(gardenia::format::header(&bytes[..]).unwrap().planned_items, 100);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[cfg(feature = "std")]
pub fn header(reader: impl std::io::Read) -> Result<Header, DecodeError> {
    read_header(&mut Reader { reader, at: 0 })
}

/// Reads a whole file of any kind and checks every byte: header, padding, checksums, end mark, and
/// that nothing follows. The header, if all is well.
///
/// ```
/// let mut bytes = gardenia::Bloom::new(100, 0.01)?.to_bytes().unwrap();
/// assert!(gardenia::format::verify(&bytes[..]).is_ok());
/// bytes[200] ^= 1;
/// assert!(gardenia::format::verify(&bytes[..]).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[cfg(feature = "std")]
pub fn verify(reader: impl std::io::Read) -> Result<Header, DecodeError> {
    let mut source = Reader { reader, at: 0 };
    let header = read_header(&mut source)?;
    read_payload(&mut source, &header, |_| Ok(()))?;
    let extra = std::io::copy(&mut source.reader, &mut std::io::sink())?;
    if extra > 0 {
        return Err(DecodeError::Trailing { extra });
    }
    Ok(header)
}
