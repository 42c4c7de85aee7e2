//! Bitcoin's `filterload` message: Hearn and Corallo, "BIP 37: Connection Bloom filtering" (2012).
//!
//! CompactSize n, n bytes of bits (lowest first), k and a tweak of 4 little-endian bytes each, one
//! byte of flags. Bit i of a key is its 32-bit Murmur3 under the seed i·`FBA4C795` + tweak, modulo
//! 8n.

use super::bip158::{compact_size, read_compact_size};
use super::bit_table::{bit_of, bits_for, estimated_items};
use super::cursor::{Cursor, copied};
use super::foreign::{Foreign, ForeignInsert, ForeignKey, Format, KeyError, KeyType, Look};
use super::{ReadOptions, murmur};
use crate::explain::CellTable;
use crate::{DecodeError, EncodeError, SizeError};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

const KEYS: &[KeyType] = &[KeyType::Bytes];
/// The limits of the protocol.
const MAX_BYTES: u64 = 36_000;
const MAX_HASHES: u64 = 50;
/// Bytes behind the bits.
const TAIL: u64 = 9;

/// A filter of the `filterload` message.
///
/// ```
/// use gardenia::format::{FilterLoad, Foreign, ForeignInsert, ForeignKey};
/// let mut filter = FilterLoad::new(10, 0.01, 7)?;
/// filter.insert(ForeignKey::Bytes(&[1, 2, 3])).unwrap();
/// let copy = FilterLoad::from_bytes(&filter.to_bytes().unwrap(), &Default::default()).unwrap();
/// assert!(copy.contains(ForeignKey::Bytes(&[1, 2, 3])).unwrap());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterLoad {
    bits: Vec<u8>,
    hashes: u32,
    tweak: u32,
    flags: u8,
}

impl FilterLoad {
    /// An empty filter, sized as the proposal says, with the flag `BLOOM_UPDATE_ALL` (1).
    pub fn new(items: u64, fpp: f64, tweak: u32) -> Result<Self, SizeError> {
        let bytes = libm::floor(bits_for(items, fpp) / 8.0);
        if bytes > MAX_BYTES as f64 {
            return Err(SizeError::TooManyCells { cells: bytes as u64 * 8, max: MAX_BYTES * 8 });
        }
        let bytes = (bytes as usize).max(1);
        let hashes = bytes as f64 * 8.0 / items as f64 * core::f64::consts::LN_2;
        let hashes = libm::floor(hashes).clamp(1.0, MAX_HASHES as f64) as u32;
        Ok(Self { bits: alloc::vec![0; bytes], hashes, tweak, flags: 1 })
    }

    /// The filter in these bytes.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        let (len, start) = head(bytes)?;
        let mut cursor = Cursor::new(&bytes[start..]);
        let bits = copied(cursor.take(len)?, options)?;
        let (hashes, tweak, flags) = (cursor.u32_le()?.into(), cursor.u32_le()?, cursor.u8()?);
        cursor.one_of("hashes", hashes, 1..=MAX_HASHES, "the protocol allows 1 to 50")?;
        cursor.end()?;
        Ok(Self { bits, hashes: hashes as u32, tweak, flags })
    }

    /// The tweak that its hash functions are seeded with.
    #[must_use]
    pub fn tweak(&self) -> u32 {
        self.tweak
    }

    /// The places of a key's bits.
    fn places(&self, key: ForeignKey<'_>) -> Result<impl Iterator<Item = (usize, u8)>, KeyError> {
        let bytes = match key {
            ForeignKey::Text(key) => key.as_bytes(),
            ForeignKey::Bytes(key) => key,
            _ => {
                let (filter, found) = (self.format().title(), key.key_type().name());
                return Err(KeyError::Type { filter, accepted: KEYS, found });
            }
        };
        let (bits, tweak) = (self.bits() as u32, self.tweak);
        Ok((0..self.hashes).map(move |i| {
            let bit = murmur::x86_32(bytes, i.wrapping_mul(0xfba4_c795).wrapping_add(tweak)) % bits;
            (bit as usize / 8, 1 << (bit % 8))
        }))
    }
}

/// The number of bytes, and where they begin.
fn head(bytes: &[u8]) -> Result<(u64, usize), DecodeError> {
    let (len, start) = read_compact_size(bytes)?;
    if (1..=MAX_BYTES).contains(&len) {
        return Ok((len, start));
    }
    Err(DecodeError::Field { field: "number of bytes", value: len, rule: "the protocol allows 1 to 36000" })
}

pub(super) fn begins(look: &Look<'_>) -> bool {
    let fits = head(look.head).is_ok_and(|(len, start)| start as u64 + len + TAIL == look.len);
    // Few bytes fit by chance: what is known of the last ones must be right.
    let last = |back: usize| look.tail.len().checked_sub(back).and_then(|at| look.tail.get(at));
    fits && last(1).is_some_and(|flags| *flags <= 2)
        && last(9).is_some_and(|hashes| (1..=50).contains(hashes))
        && [6, 7, 8].iter().all(|back| last(*back) == Some(&0))
}

impl Foreign for FilterLoad {
    fn format(&self) -> Format {
        Format::Bip37
    }
    fn key_types(&self) -> &'static [KeyType] {
        KEYS
    }
    fn contains(&self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        Ok(self.places(key)?.all(|(byte, mask)| self.bits[byte] & mask != 0))
    }
    fn bits(&self) -> u64 {
        self.bits.len() as u64 * 8
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    fn fill(&self) -> f64 {
        self.bits.iter().map(|byte| f64::from(byte.count_ones())).sum::<f64>() / self.bits() as f64
    }
    fn fpp(&self) -> f64 {
        libm::pow(self.fill(), self.hashes.into())
    }
    fn estimated_items(&self) -> Option<f64> {
        estimated_items(self.bits(), self.hashes, self.fill())
    }
    fn describe(&self) -> Vec<(&'static str, String)> {
        alloc::vec![("tweak", format!("{}", self.tweak)), ("flags", format!("{}", self.flags))]
    }
    fn tables(&self) -> Vec<CellTable> {
        alloc::vec![CellTable::bits(self.bits())]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        bit_of(&self.bits, at)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_insert(self: alloc::boxed::Box<Self>) -> Option<alloc::boxed::Box<dyn ForeignInsert>> {
        Some(self)
    }
}

impl ForeignInsert for FilterLoad {
    fn insert(&mut self, key: ForeignKey<'_>) -> Result<bool, KeyError> {
        let places: Vec<_> = self.places(key)?.collect();
        Ok(places.into_iter().fold(false, |new, (byte, mask)| {
            let absent = self.bits[byte] & mask == 0;
            self.bits[byte] |= mask;
            new | absent
        }))
    }
    fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = compact_size(self.bits.len() as u64);
        bytes.extend(&self.bits);
        bytes.extend(self.hashes.to_le_bytes());
        bytes.extend(self.tweak.to_le_bytes());
        bytes.push(self.flags);
        Ok(bytes)
    }
}
