//! Files of DCSO's `bloom` program, which threat-intelligence lists are given out in: read, asked,
//! changed and written.
//!
//! A file is six numbers, the bits, and free data behind them. Its filter is a [`Bloom`] whose
//! hasher (3, FNV-1) and scheme (11, [`Dcso`]) are that program's: bits cannot be carried over to
//! others. So it can be stored in either format without loss: planned keys and rate, keys counted
//! ([`About::counted_items`](crate::filter::About::counted_items)) and data (the metadata) are
//! kept. What is new goes in as into any other filter; its count is the caller's to set.
//!
//! Source: DCSO GmbH, "bloom" (program and Go library, 2017); checked against a file that version
//! 0.2.4 wrote.

use super::native::buffer;
use super::{MAX_METADATA, ReadOptions};
use crate::cells::{Bits, Memory};
use crate::filter::{About, Bloom};
use crate::hash::HasherId;
use crate::hash::KeyHasher;
use crate::index::{AnyScheme, Dcso, MAX_CELLS, MAX_HASHES, Scheme, SchemeId};
use crate::theory::bloom::Shape;
use crate::{DecodeError, EncodeError, SizeError};
use alloc::vec::Vec;

/// Bytes before the bits.
pub const HEADER: usize = 48;
/// The first number: version 1, and no flags.
const FLAGS: u64 = 1;
/// Bytes read or written at a time.
const PIECE: usize = 1 << 20;

/// The shape that the program gives a filter for `items` keys at `fpp`: m is n·ln(1/p)/(ln 2)²,
/// rounded *down*, because the program rounds up its negative; k is m/n·ln 2, rounded up.
///
/// ```
/// let shape = gardenia::format::dcso::shape(200, 0.02)?;
/// assert_eq!((shape.cells, shape.hashes), (1628, 6)); // not 1629
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, fpp: f64) -> Result<Shape, SizeError> {
    if fpp.is_nan() || fpp <= 0.0 || fpp >= 1.0 {
        return Err(SizeError::Fpp(fpp));
    }
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    let (n, ln2) = (items as f64, core::f64::consts::LN_2);
    let cells = libm::floor(-n * libm::log(fpp) / (ln2 * ln2));
    if cells < 1.0 {
        return Err(SizeError::ZeroCells);
    }
    let (cells, hashes) = (cells as u64, libm::ceil(ln2 * cells / n) as u32);
    if cells > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells, max: MAX_CELLS });
    }
    if hashes > MAX_HASHES {
        return Err(SizeError::Hashes { hashes, max: MAX_HASHES });
    }
    Ok(Shape { cells, hashes })
}

/// An empty filter for `items` keys at `fpp`, as the program makes it.
///
/// ```
/// use gardenia::ReadOptions;
/// use gardenia::format::dcso;
/// let mut list = dcso::new(1_000, 0.001)?;
/// list.insert("198.51.100.7");
/// let copy = dcso::from_bytes(&dcso::to_bytes(&list).unwrap(), &ReadOptions::new()).unwrap();
/// assert!(copy.contains("198.51.100.7") && !copy.contains("198.51.100.8"));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn new(items: u64, fpp: f64) -> Result<Bloom<AnyScheme>, SizeError> {
    let Shape { cells, hashes } = shape(items, fpp)?;
    let mut about = About::planned(items, fpp);
    about.set_counted_items(Some(0));
    let scheme = AnyScheme::Dcso(Dcso::new(hashes));
    Ok(Bloom::from_parts(KeyHasher::Fnv1, scheme, Bits::new(cells)?, about))
}

/// Whether bytes begin like such a file: it has no mark, but numbers that hang together.
///
/// ```
/// use gardenia::format::dcso;
/// let bytes = dcso::to_bytes(&dcso::new(10, 0.01)?).unwrap();
/// assert!(dcso::begins(&bytes) && !dcso::begins(b"rose\ntulip\n"));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|fixed| Fixed::decode(fixed).is_ok())
}

/// The filter in the bytes of a file, which must be as many as it claims before memory is taken for
/// them.
pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Bloom<AnyScheme>, DecodeError> {
    let mut rest = bytes;
    read(options, Some(bytes.len() as u64), |piece| {
        let (now, later) = rest.split_at(piece.len().min(rest.len()));
        piece[..now.len()].copy_from_slice(now);
        rest = later;
        Ok(now.len())
    })
}

/// Reads a file up to its end. Memory is taken as its bytes arrive, so that an early end costs
/// none.
#[cfg(feature = "std")]
pub fn read_from(
    mut reader: impl std::io::Read,
    options: &ReadOptions,
) -> Result<Bloom<AnyScheme>, DecodeError> {
    read(options, None, |piece| {
        let mut filled = 0;
        while filled < piece.len() {
            match reader.read(&mut piece[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    })
}

/// The bytes of a file that holds this filter, which must have the hasher and the scheme of the
/// format.
pub fn to_bytes(filter: &Bloom<AnyScheme, impl Memory>) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    write(filter, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Writes a file that holds this filter, which must have the hasher and the scheme of the format.
#[cfg(feature = "std")]
pub fn write_to(
    filter: &Bloom<AnyScheme, impl Memory>,
    mut writer: impl std::io::Write,
) -> Result<(), EncodeError> {
    write(filter, |piece| Ok(writer.write_all(piece)?))?;
    Ok(writer.flush()?)
}

/// The numbers before the bits.
struct Fixed {
    items: u64,
    fpp: f64,
    hashes: u32,
    cells: u64,
    counted: u64,
}

impl Fixed {
    fn decode(bytes: &[u8; HEADER]) -> Result<Self, DecodeError> {
        let word = |i: usize| u64::from_le_bytes(core::array::from_fn(|byte| bytes[8 * i + byte]));
        DecodeError::check("version", word(0), word(0) == FLAGS, "files of DCSO's bloom begin with 1")?;
        let fpp = f64::from_bits(word(2));
        let sane = (0.0..=1.0).contains(&fpp);
        DecodeError::check("planned rate", word(2), sane, "its bits are not a number from 0 to 1")?;
        let (hashes, cells) = (word(3), word(4));
        DecodeError::check(
            "hashes",
            hashes,
            (1..=u64::from(MAX_HASHES)).contains(&hashes),
            "1 to 255 are allowed",
        )?;
        DecodeError::check("cells", cells, (1..=MAX_CELLS).contains(&cells), "1 to 2^40 are allowed")?;
        DecodeError::check("items counted", word(5), word(5) != u64::MAX, "no filter holds that many keys")?;
        Ok(Self { items: word(1), fpp, hashes: hashes as u32, cells, counted: word(5) })
    }
}

/// Reads a filter by `take`, which fills a piece and tells how many bytes there were; `known` is
/// how many there are in all.
fn read(
    options: &ReadOptions,
    known: Option<u64>,
    mut take: impl FnMut(&mut [u8]) -> Result<usize, DecodeError>,
) -> Result<Bloom<AnyScheme>, DecodeError> {
    let mut fixed = [0; HEADER];
    let found = take(&mut fixed)? as u64;
    if found < HEADER as u64 {
        return Err(DecodeError::Truncated { needed: HEADER as u64, found });
    }
    let Fixed { items, fpp, hashes, cells, counted } = Fixed::decode(&fixed)?;
    let (len, max) = (cells.div_ceil(64) * 8, options.max_bytes);
    if len > max {
        return Err(DecodeError::TooLarge { needed: len, max });
    }
    let (needed, mut at) = (HEADER as u64 + len, HEADER as u64);
    if let Some(found) = known.filter(|found| *found < needed) {
        return Err(DecodeError::Truncated { needed, found });
    }
    let mut fill = |piece: &mut [u8]| {
        let found = take(piece)?;
        at += found as u64;
        if found < piece.len() { Err(DecodeError::Truncated { needed, found: at }) } else { Ok(()) }
    };
    let piece_at = |start: u64| buffer((len - start).min(PIECE as u64) as usize);
    // A stream may end before what it claims: its bytes come first, and then the memory for the filter.
    let mut pieces = Vec::new();
    if known.is_none() {
        for start in (0..len).step_by(PIECE) {
            let mut piece = piece_at(start)?;
            fill(&mut piece)?;
            pieces.push(piece);
        }
    }
    let (mut pieces, mut piece, mut bits) = (pieces.into_iter(), piece_at(0)?, Bits::new(cells)?);
    for words in bits.words_mut().chunks_mut(PIECE / 8) {
        match pieces.next() {
            Some(next) => piece = next,
            None => fill(&mut piece[..words.len() * 8])?,
        }
        for (word, bytes) in words.iter_mut().zip(piece.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }
    if !bits.tail_is_clear() {
        return Err(DecodeError::Damaged("bits are set past the last cell"));
    }
    let mut data = alloc::vec![0; MAX_METADATA + 1];
    let found = take(&mut data)?;
    if found > MAX_METADATA {
        let rule = "at most 65536 bytes can be kept";
        return Err(DecodeError::Field { field: "data after the bits", value: found as u64, rule });
    }
    data.truncate(found);
    let mut about = About::stored(items, fpp, data, false);
    about.set_counted_items(Some(counted));
    Ok(Bloom::from_parts(KeyHasher::Fnv1, AnyScheme::Dcso(Dcso::new(hashes)), bits, about))
}

/// Hands the bytes of a filter's file to `put`, piece by piece.
fn write(
    filter: &Bloom<AnyScheme, impl Memory>,
    mut put: impl FnMut(&[u8]) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let about = filter.about();
    if !about.is_portable() {
        return Err(EncodeError::NotPortable);
    }
    let foreign = |what, needed, found| EncodeError::Foreign { format: "DCSO", what, needed, found };
    let hasher = filter.hasher().id();
    if hasher != HasherId::Fnv1 {
        return Err(foreign("hasher", HasherId::Fnv1.name(), hasher.name()));
    }
    if let Some(scheme) = filter.scheme().id().filter(|scheme| *scheme != SchemeId::Dcso) {
        return Err(foreign("scheme", SchemeId::Dcso.name(), scheme.name()));
    }
    let about_so_many = || {
        let items = filter.estimated_items().items;
        if items.is_finite() { libm::round(items) as u64 } else { about.planned_items() }
    };
    let counted = about.counted_items().unwrap_or_else(about_so_many);
    let (hashes, cells) = (filter.hashes().into(), filter.bits());
    for word in [FLAGS, about.planned_items(), about.planned_fpp().to_bits(), hashes, cells, counted] {
        put(&word.to_le_bytes())?;
    }
    let (memory, words) = (filter.cells().memory(), cells.div_ceil(64) as usize);
    let mut piece = alloc::vec![0; PIECE.min(words * 8)];
    for start in (0..words).step_by(PIECE / 8) {
        let piece = &mut piece[..(words - start).min(PIECE / 8) * 8];
        memory.copy_le(start, piece);
        put(piece)?;
    }
    put(about.metadata())
}

/// A list in DCSO's format is asked for bytes, as the program is for lines.
#[cfg(feature = "std")]
mod foreign {
    use super::{AnyScheme, Bloom, to_bytes};
    use crate::explain::{CellTable, Explain};
    use crate::format::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType};
    use crate::{EncodeError, Mismatch};
    use alloc::vec::Vec;
    use core::any::Any;

    const KEYS: &[KeyType] = &[KeyType::Bytes];

    fn bytes(key: ForeignKey<'_>) -> Result<&[u8], KeyError> {
        match key {
            ForeignKey::Text(key) => Ok(key.as_bytes()),
            ForeignKey::Bytes(key) => Ok(key),
            _ => {
                let (filter, found) = (Format::Dcso.title(), key.key_type().name());
                Err(KeyError::Type { filter, accepted: KEYS, found })
            }
        }
    }

    impl Foreign for Bloom<AnyScheme> {
        fn format(&self) -> Format {
            Format::Dcso
        }
        fn key_types(&self) -> &'static [KeyType] {
            KEYS
        }
        fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
            Ok(Self::contains(self, bytes(key)?))
        }
        fn bits(&self) -> u64 {
            Self::bits(self)
        }
        fn hashes(&self) -> u32 {
            Self::hashes(self)
        }
        fn fill(&self) -> f64 {
            Self::fill(self)
        }
        fn fpp(&self) -> f64 {
            Self::fpp(self)
        }
        fn estimated_items(&self) -> Option<f64> {
            Some(Self::estimated_items(self).items).filter(|items| items.is_finite())
        }
        fn tables(&self) -> Vec<CellTable> {
            Explain::tables(self)
        }
        fn cell(&self, table: usize, at: u64) -> u64 {
            Explain::cell(self, table, at)
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
        fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
            Some(self)
        }
    }

    impl ForeignInsert for Bloom<AnyScheme> {
        /// As the program does, keys that were new are counted.
        fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
            let new = Self::insert(self, bytes(key)?);
            let counted = self.about().counted_items();
            self.about_mut().set_counted_items(counted.map(|counted| counted + u64::from(new)));
            Ok(new)
        }
        fn merge_from(&mut self, other: &dyn Foreign) -> Option<Result<(), Mismatch>> {
            let merged = crate::format::bit_table::same_type(self, other);
            Some(merged.and_then(|other: &Self| self.union_with(other)))
        }
        fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
            to_bytes(self)
        }
    }
}
