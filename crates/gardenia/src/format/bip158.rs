//! Basic block filters of Bitcoin: Osuntokun, Akselrod and Posen, "BIP 158: Compact Block Filters
//! for Light Clients" (2017).
//!
//! A filter is the number N of its elements (CompactSize) and a Golomb-coded set: each element's
//! SipHash-2-4, keyed by the first 16 bytes of the block's hash, is scaled to N·784931; the
//! differences of the sorted numbers are coded with 19 bits of remainder behind a unary quotient,
//! from the highest bit of each byte downwards. Numbers that coincide are kept: their difference is
//! 0.

use crate::DecodeError;
use alloc::vec::Vec;
use siphasher::sip::SipHasher24;

/// Bits of a remainder, P.
const P: u32 = 19;
/// M: one query of an absent key in M is a false positive.
const M: u64 = 784_931;
/// `OP_RETURN`, which begins scripts that nobody can spend.
const OP_RETURN: u8 = 0x6a;

/// A basic filter of one block, in the bytes that are sent, with the key of its block.
///
/// ```
/// use gardenia::format::bip158::BasicFilter;
/// // The genesis block of the test network and the script that its only output pays to.
/// let key = 0x43497fd7f826957108f4a30fd9cec3ae_u128.to_be_bytes();
/// let filter = BasicFilter::from_bytes(key, &[0x01, 0x9d, 0xfc, 0xa8]).unwrap();
/// assert_eq!(filter.items(), 1);
/// assert!(!filter.contains(b"another script"));
/// assert_eq!(BasicFilter::build(key, [b"another script"]).items(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicFilter {
    key: [u8; 16],
    items: u64,
    /// Where the code begins: after the number of elements.
    start: usize,
    bytes: Vec<u8>,
}

/// The key of a block: the first half of its hash, in the order of the wire (the reverse of how
/// hashes are printed).
///
/// ```
/// let mut hash = [0; 32];
/// hash[..2].copy_from_slice(&[0x43, 0x49]); // printed as 00…4943
/// assert_eq!(gardenia::format::bip158::block_key(&hash)[..2], [0x43, 0x49]);
/// ```
#[must_use]
pub fn block_key(block_hash: &[u8; 32]) -> [u8; 16] {
    core::array::from_fn(|i| block_hash[i])
}

/// Whether the script of an output belongs into its block's filter: all but empty ones and those
/// that begin with `OP_RETURN`. Scripts that a block spends belong there unless they are empty.
///
/// ```
/// use gardenia::format::bip158::is_indexed;
/// assert!(is_indexed(&[0x51]) && !is_indexed(&[]) && !is_indexed(&[0x6a, 1, 2]));
/// ```
#[must_use]
pub fn is_indexed(output_script: &[u8]) -> bool {
    output_script.first().is_some_and(|first| *first != OP_RETURN)
}

impl BasicFilter {
    /// The filter of these scripts under this key. Scripts that repeat are taken once, and empty
    /// ones are left out; which others belong into a filter [`is_indexed`] tells.
    pub fn build<I: AsRef<[u8]>>(key: [u8; 16], scripts: impl IntoIterator<Item = I>) -> Self {
        let scripts: Vec<I> = scripts.into_iter().collect();
        let mut items: Vec<&[u8]> =
            scripts.iter().map(AsRef::as_ref).filter(|item| !item.is_empty()).collect();
        items.sort_unstable();
        items.dedup();
        let count = items.len() as u64;
        let range = count * M; // far below 2⁶⁴: so many scripts fit no memory
        let mut values: Vec<u64> = items.iter().map(|item| hash(&key, item, range)).collect();
        values.sort_unstable();
        let mut bytes = compact_size(count);
        let start = bytes.len();
        let mut used = 0; // bits of the last byte
        let mut put = |bit: u64| {
            if used == 0 {
                bytes.push(0);
            }
            if let Some(last) = bytes.last_mut() {
                *last |= (bit as u8) << (7 - used);
            }
            used = (used + 1) % 8;
        };
        let mut before = 0;
        for value in values {
            let gap = value - before;
            (0..gap >> P).for_each(|_| put(1));
            put(0);
            (0..P).rev().for_each(|bit| put(gap >> bit & 1));
            before = value;
        }
        Self { key, items: count, start, bytes }
    }

    /// The filter in these bytes, which must be exactly one, decoded once to check it.
    pub fn from_bytes(key: [u8; 16], bytes: &[u8]) -> Result<Self, DecodeError> {
        let (items, start) = read_compact_size(bytes)?;
        let bits = (bytes.len() - start) as u64 * 8;
        // Each element takes 20 bits at least: no more than the bytes can hold is believed.
        let needed = items.checked_mul(u64::from(P) + 1).filter(|needed| *needed <= bits);
        if needed.is_none() {
            let needed = items.saturating_mul(u64::from(P) + 1).div_ceil(8).saturating_add(start as u64);
            return Err(DecodeError::Truncated { needed, found: bytes.len() as u64 });
        }
        let filter = Self { key, items, start, bytes: bytes.to_vec() };
        let mut values = filter.values();
        let decoded = values.by_ref().count() as u64;
        if decoded != items {
            return Err(DecodeError::Damaged("the code ends before the last element, or leaves its range"));
        }
        match bits - values.at {
            rest if rest >= 8 => Err(DecodeError::Trailing { extra: rest / 8 }),
            rest if (0..rest).any(|i| values.bit(values.at + i) == 1) => {
                Err(DecodeError::Damaged("the padding after the last element is not zero"))
            }
            _ => Ok(filter),
        }
    }

    /// The bytes that are sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of elements, N.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Whether `script` may be in the block: never false for one that is.
    #[must_use]
    pub fn contains(&self, script: &[u8]) -> bool {
        let wanted = hash(&self.key, script, self.items * M);
        self.values().find(|value| *value >= wanted) == Some(wanted)
    }

    /// Whether one of `scripts` may be in the block, decoding it once.
    ///
    /// ```
    /// use gardenia::format::bip158::BasicFilter;
    /// let filter = BasicFilter::build([7; 16], ["rose", "tulip"]);
    /// assert!(filter.contains_any(["thistle", "tulip"]) && !filter.contains_any(["thistle", "nettle"]));
    /// ```
    pub fn contains_any<I: AsRef<[u8]>>(&self, scripts: impl IntoIterator<Item = I>) -> bool {
        let range = self.items * M;
        let mut wanted: Vec<u64> =
            scripts.into_iter().map(|script| hash(&self.key, script.as_ref(), range)).collect();
        wanted.sort_unstable();
        let mut values = self.values().peekable();
        wanted.iter().any(|wanted| {
            while values.next_if(|value| value < wanted).is_some() {}
            values.peek() == Some(wanted)
        })
    }

    fn values(&self) -> Values<'_> {
        Values { bytes: &self.bytes[self.start..], at: 0, left: self.items, value: 0, range: self.items * M }
    }
}

/// The number that a script becomes in a filter of this range.
fn hash(key: &[u8; 16], script: &[u8], range: u64) -> u64 {
    ((u128::from(SipHasher24::new_with_key(key).hash(script)) * u128::from(range)) >> 64) as u64
}

/// The numbers of a filter, ascending. Ends early where the code is corrupted.
struct Values<'a> {
    bytes: &'a [u8],
    at: u64,
    left: u64,
    value: u64,
    range: u64,
}

impl Values<'_> {
    /// Bit `at`, from the highest of each byte on; 2 past the end.
    #[inline]
    fn bit(&self, at: u64) -> u8 {
        let byte = usize::try_from(at / 8).ok().and_then(|byte| self.bytes.get(byte));
        byte.map_or(2, |byte| byte >> (7 - at % 8) & 1)
    }
}

impl Iterator for Values<'_> {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let mut gap = 0u64;
        let mut at = self.at;
        // Ends with the bytes at the latest.
        while self.bit(at) == 1 {
            (at, gap) = (at + 1, gap + 1);
        }
        for bit in 0..=P {
            // The first is the zero that ends the quotient.
            match self.bit(at) {
                2 => return None,
                set => gap = gap << u32::from(bit > 0) | u64::from(set),
            }
            at += 1;
        }
        self.value = self.value.checked_add(gap).filter(|value| *value < self.range)?;
        self.at = at;
        Some(self.value)
    }
}

/// A number as Bitcoin writes it.
pub(super) fn compact_size(number: u64) -> Vec<u8> {
    let (mark, width) = match number {
        0..=0xfc => return alloc::vec![number as u8],
        0xfd..=0xffff => (0xfd, 2),
        0x1_0000..=0xffff_ffff => (0xfe, 4),
        _ => (0xff, 8),
    };
    let mut bytes = alloc::vec![mark];
    bytes.extend(&number.to_le_bytes()[..width]);
    bytes
}

/// A number as Bitcoin writes it, in its only right form, and how many bytes it takes.
pub(super) fn read_compact_size(bytes: &[u8]) -> Result<(u64, usize), DecodeError> {
    let found = bytes.len() as u64;
    let (first, rest) = bytes.split_first().ok_or(DecodeError::Truncated { needed: 1, found })?;
    let width = match first {
        0xfd => 2,
        0xfe => 4,
        0xff => 8,
        small => return Ok((u64::from(*small), 1)),
    };
    let field = rest.get(..width).ok_or(DecodeError::Truncated { needed: 1 + width as u64, found })?;
    let number = field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    if compact_size(number).len() != width + 1 {
        return Err(DecodeError::Damaged("the number of elements is not in its shortest form"));
    }
    Ok((number, width + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use alloc::string::ToString;

    fn scripts(seed: u64, count: u32) -> Vec<[u8; 8]> {
        (1..=count).map(|i| Digest(seed).word(i).to_le_bytes()).collect()
    }

    #[test]
    fn numbers_have_one_form() {
        for number in [0, 0xfc, 0xfd, 0xffff, 0x1_0000, 0xffff_ffff, 1 << 32, u64::MAX] {
            let bytes = compact_size(number);
            assert_eq!(read_compact_size(&bytes).unwrap(), (number, bytes.len()));
            assert!(read_compact_size(&bytes[..bytes.len() - 1]).is_err());
        }
        for longer in [&[0xfd, 0xfc, 0][..], &[0xfe, 0xff, 0xff, 0, 0], &[0xff, 1, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(read_compact_size(longer).unwrap_err().to_string().contains("shortest"));
        }
    }

    #[test]
    fn filters_of_all_sizes_find_their_scripts_and_come_back() {
        for count in [0, 1, 2, 100, 253, 1_000] {
            let items = scripts(5, count);
            let filter = BasicFilter::build([9; 16], items.iter().chain(&items));
            assert_eq!(filter.items(), u64::from(count));
            assert!(items.iter().all(|item| filter.contains(item)));
            assert!(count == 0 || filter.contains_any(scripts(6, 50).iter().chain(&items[..1])));
            assert!(!filter.contains_any(scripts(6, 50)), "one in 784,931");
            assert!(!filter.contains_any([[0u8; 0]; 0]));
            assert_eq!(BasicFilter::from_bytes([9; 16], filter.as_bytes()).unwrap(), filter);
        }
        let none = BasicFilter::build([1; 16], [&b""[..], b""]);
        assert_eq!((none.as_bytes(), none.items()), (&[0][..], 0));
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_believed() {
        let good = BasicFilter::build([9; 16], scripts(5, 20)).as_bytes().to_vec();
        let read = |bytes: &[u8]| BasicFilter::from_bytes([9; 16], bytes);
        assert!(matches!(read(&[]), Err(DecodeError::Truncated { .. })));
        (0..good.len()).for_each(|len| assert!(read(&good[..len]).is_err(), "{len}"));
        let longer = [&good[..], &[0]].concat();
        assert!(matches!(read(&longer), Err(DecodeError::Trailing { extra: 1 })));
        // Ones without end; a number that no bytes could hold; a sum beyond the range; padding.
        assert!(read(&[&[1][..], &[0xff; 1_000]].concat()).is_err());
        assert!(read(&[0xff; 9]).is_err());
        assert!(read(&[&[1, 0xff, 0xff][..], &[0; 1_000]].concat()).is_err());
        assert!(matches!(read(&[1, 0x80, 0, 0x01]), Err(DecodeError::Damaged(_))));
        // Every changed bit is refused or changes what is in; nothing panics.
        for at in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[at / 8] ^= 1 << (at % 8);
            if let Ok(filter) = read(&bad) {
                assert!(filter.values().ne(read(&good).unwrap().values()));
            }
        }
        for seed in 0..3_000 {
            let bytes: Vec<u8> = (0..seed % 40).map(|i| Digest(seed).word(i as u32 + 1) as u8).collect();
            if let Ok(filter) = read(&bytes) {
                assert_eq!(filter.values().count() as u64, filter.items());
            }
        }
    }
}
