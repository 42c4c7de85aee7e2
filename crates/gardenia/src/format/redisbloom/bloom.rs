//! RedisBloom's scalable Bloom filter: a chain of Bloom filters, the newest of which takes new
//! keys.
//!
//! A key is in the chain if any layer has it. A key that is in no layer goes into the last one; if
//! that is full, a new layer with half its error and `growth` times its entries follows. The first
//! layer of a chain that can grow has half the error asked for, so that the errors of all layers
//! add up to it.
//!
//! Bit i of a key is (a + i·b mod 2⁶⁴) mod bits, with a and b from MurmurHash64A, b seeded with a.
//! Bits per entry are −ln e / 0.480453013918201, that constant with its 15 digits: dumps hold the
//! quotient, and with (ln 2)² its last bits would be others. libbloom (Jyri Virkki, BSD licence)
//! has the same constant, so its other two rules are taken, too, which the dumps that we have do
//! not decide: ln 2 has 15 digits where the hashes follow from it, and bits are truncated to a
//! whole number before they are rounded up to a word. Readers allow for both.
//!
//! What today's servers write is read: options 5 or 13. Older chains with 32-bit hashes (option 4
//! missing), or with arrays of powers of two (option 1 missing, or n2 above 0), are refused,
//! because how they place bits is not known here: a guess could lose keys.

use super::layout::{
    ChunkError, LayoutError, Load, Reader, Save, check_limit, chunk, copied, load_chunk, push, reserved,
    wrong, zeroed,
};
use super::murmur::{MULTIPLIER_64, murmur64};
use crate::format::bit_table::bit_of;

/// The only RDB encoding version that is known.
pub const RDB_VERSION: u64 = 4;
/// Bytes of a dump's header before the layers.
pub const HEADER_BYTES: usize = 20;
/// Bytes of the header for each layer.
pub const LAYER_BYTES: usize = 53;
/// The largest growth that commands take.
pub const MAX_GROWTH: u32 = 32_768;

/// Option: sizes are not rounded up to powers of two.
const NO_ROUNDING: u32 = 1;
/// Option: MurmurHash64A, not its 32-bit form.
const HASH_64: u32 = 4;
/// Option: no layer follows a full one.
const NON_SCALING: u32 = 8;

/// What a chain and each of its layers are counted with in `BF.INFO`, beside the bits.
const CHAIN_SIZE: u64 = 32;
const LAYER_SIZE: u64 = 64;

/// (ln 2)², and ln 2, with as many digits as RedisBloom takes.
const LN2_SQUARED: f64 = 0.480_453_013_918_201;
#[allow(clippy::approx_constant)]
const LN2: f64 = 0.693_147_180_559_945;

/// A Bloom filter in RedisBloom's layout.
///
/// ```
/// use gardenia::format::redisbloom::bloom::BloomChain;
/// let mut seen = BloomChain::new(0.01, 1_000, Some(2), u64::MAX)?;
/// assert_eq!(seen.insert(b"rose", u64::MAX), Ok(true));
/// assert!(seen.contains(b"rose") && !seen.contains(b"thistle"));
///
/// let mut copy = BloomChain::from_header(&seen.header(), 1 << 20)?; // as SCANDUMP and LOADCHUNK do
/// let mut iterator = 1;
/// while let Some((next, chunk)) = seen.chunk(iterator) {
///     copy.load_chunk(next, chunk).unwrap();
///     iterator = next;
/// }
/// assert!(copy.contains(b"rose") && copy == seen);
/// # Ok::<(), gardenia::format::redisbloom::layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BloomChain {
    items: u64,
    options: u32,
    growth: u32,
    layers: Vec<Layer>,
}

/// One Bloom filter of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    items: u64,
    error: f64,
    bits_per_entry: f64,
    hashes: u32,
    entries: u64,
    bits: Vec<u8>,
}

/// A key that cannot go in; the chain has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// As many keys as were asked for are in, and the filter is of fixed size.
    #[error("non scaling filter is full")]
    Full,
    /// The next layer cannot be made.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// The two hash values of a key.
#[derive(Clone, Copy)]
struct Probe {
    first: u64,
    step: u64,
}

impl Probe {
    #[inline]
    fn of(key: &[u8]) -> Self {
        let first = murmur64(key, MULTIPLIER_64);
        Self { first, step: murmur64(key, first) }
    }

    /// Byte and mask of each bit of the key, in an array of `bits` bits.
    #[inline]
    fn bits(self, hashes: u32, bits: u64) -> impl Iterator<Item = (usize, u8)> {
        let value = move |i| self.first.wrapping_add(self.step.wrapping_mul(i)) % bits;
        (0..u64::from(hashes)).map(value).map(|bit| ((bit / 8) as usize, 1 << (bit % 8)))
    }
}

/// −ln e / (ln 2)²: bits for each key at this error.
fn bits_per_entry(error: f64) -> f64 {
    // The C library's logarithm, as a server on the same machine takes it. The crate `libm` has another last bit at 0.01,
    // which would show in dumps; what follows from a layer's size is stored with it, so that no answer depends on it.
    -(error.ln() / LN2_SQUARED)
}

/// Bits for this number of entries: whole words, one at least. `None` if they are beyond all
/// memory.
fn bits_for(entries: u64, bits_per_entry: f64) -> Option<u64> {
    let bits = entries as f64 * bits_per_entry;
    // Above 2^60 nothing can be allocated, and below it the rounding cannot overflow.
    (bits.is_finite() && bits < (1u64 << 60) as f64).then(|| (bits as u64).max(1).next_multiple_of(64))
}

/// What the header or the fields of a layer say, before it is believed.
struct Stated {
    bits: u64,
    items: u64,
    error: f64,
    bits_per_entry: f64,
    hashes: u64,
    entries: u64,
    n2: u64,
}

impl Stated {
    /// The layer, without its bits, and how many bytes they are.
    fn checked(&self) -> Result<(Layer, u64), LayoutError> {
        let Self { bits, items, error, bits_per_entry: per_entry, hashes, entries, n2 } = *self;
        if n2 != 0 {
            return wrong("n2", "sizes rounded to powers of two are not supported");
        }
        if !error.is_finite() || error <= 0.0 || error >= 1.0 {
            return wrong("error rate", "it is between 0 and 1");
        }
        // Other mathematics libraries may differ in the last bits.
        let right = bits_per_entry(error);
        if !per_entry.is_finite() || (per_entry - right).abs() > right * 1e-9 {
            return wrong("bits per entry", "they follow from the error rate");
        }
        // Rounded up, and one more or less where a last bit decides.
        let least = LN2 * per_entry - 1e-6;
        let hashes = u32::try_from(hashes).unwrap_or(0);
        if hashes == 0 || f64::from(hashes) < least || f64::from(hashes) > least + 1.000_002 {
            return wrong("hashes", "they follow from the bits per entry");
        }
        if entries == 0 || items > entries {
            return wrong("entries", "at least one, and not below the items");
        }
        // One word more or less, for chains that round otherwise.
        if bits_for(entries, per_entry).is_none_or(|right| bits.abs_diff(right) > 64)
            || bits == 0
            || !bits.is_multiple_of(64)
        {
            return wrong("bits", "whole words, as many as the entries need");
        }
        let layer = Layer { items, error, bits_per_entry: per_entry, hashes, entries, bits: Vec::new() };
        Ok((layer, bits / 8))
    }
}

impl Layer {
    /// An empty layer, if it fits `max_bytes`, of which `used` are used.
    fn new(error: f64, entries: u64, used: u64, max_bytes: u64) -> Result<Self, LayoutError> {
        if !error.is_finite() || error <= 0.0 || error >= 1.0 {
            return wrong("error rate", "it is between 0 and 1");
        }
        if entries == 0 {
            return wrong("entries", "at least one");
        }
        let bits_per_entry = bits_per_entry(error);
        let Some(bits) = bits_for(entries, bits_per_entry) else {
            return Err(LayoutError::TooLarge { needed: u64::MAX, max: max_bytes });
        };
        check_limit(used.saturating_add(LAYER_SIZE).saturating_add(bits / 8), max_bytes)?;
        let hashes = libm::ceil(LN2 * bits_per_entry).max(1.0) as u32;
        Ok(Self { items: 0, error, bits_per_entry, hashes, entries, bits: zeroed(bits / 8)? })
    }

    /// Keys that went in.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Keys that it is made for.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Its designed false-positive probability.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Probes per key.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Bytes of its bits.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bits.len() as u64
    }

    /// The share of its bits that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let ones: u64 = self.bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        ones as f64 / (self.bytes() * 8) as f64
    }

    /// Bit `at` of it.
    pub(super) fn bit(&self, at: u64) -> u64 {
        bit_of(&self.bits, at)
    }

    #[inline]
    fn contains(&self, probe: Probe) -> bool {
        probe.bits(self.hashes, self.bytes() * 8).all(|(byte, mask)| self.bits[byte] & mask != 0)
    }

    fn insert(&mut self, probe: Probe) {
        let bits = probe.bits(self.hashes, self.bytes() * 8);
        bits.for_each(|(byte, mask)| self.bits[byte] |= mask);
        self.items += 1;
    }
}

impl BloomChain {
    /// A chain for `entries` keys at `error` that grows by the factor `growth`, or never, if it
    /// takes at most `max_bytes`.
    pub fn new(error: f64, entries: u64, growth: Option<u32>, max_bytes: u64) -> Result<Self, LayoutError> {
        if growth.is_some_and(|growth| !(1..=MAX_GROWTH).contains(&growth)) {
            return wrong("growth", "it is between 1 and 32768");
        }
        let scaling = NO_ROUNDING | HASH_64;
        let (error, options) = match growth {
            Some(_) => (error * 0.5, scaling),
            None => (error, scaling | NON_SCALING),
        };
        let layer = Layer::new(error, entries, CHAIN_SIZE, max_bytes)?;
        let mut layers = reserved(1)?;
        layers.push(layer);
        // A chain that does not grow stores the default factor, too.
        Ok(Self { items: 0, options, growth: growth.unwrap_or(2), layers })
    }

    /// Whether `key` may be in: never false for a key that is.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let probe = Probe::of(key);
        // The newest layer has the most keys.
        self.layers.iter().rev().any(|layer| layer.contains(probe))
    }

    /// Puts `key` in; true if it was certainly absent. May add a layer, if the chain then has at
    /// most `max_bytes`.
    pub fn insert(&mut self, key: &[u8], max_bytes: u64) -> Result<bool, InsertError> {
        let probe = Probe::of(key);
        if self.layers.iter().rev().any(|layer| layer.contains(probe)) {
            return Ok(false);
        }
        if self.layers.last().is_none_or(|last| last.items >= last.entries) {
            self.grow(max_bytes)?;
        }
        if let Some(last) = self.layers.last_mut() {
            last.insert(probe);
            self.items = self.items.saturating_add(1);
        }
        Ok(true)
    }

    /// Adds the next layer.
    fn grow(&mut self, max_bytes: u64) -> Result<(), InsertError> {
        let (Some(growth), Some(last)) = (self.growth(), self.layers.last()) else {
            return Err(InsertError::Full);
        };
        let Some(entries) = last.entries.checked_mul(growth.into()) else {
            return Err(LayoutError::TooLarge { needed: u64::MAX, max: max_bytes }.into());
        };
        let layer = Layer::new(last.error * 0.5, entries, self.size(), max_bytes)?;
        Ok(push(&mut self.layers, layer)?)
    }

    /// Keys that went in.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Keys that all layers are made for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.entries))
    }

    /// How much larger each layer is than the one before; `None` if none follows.
    #[must_use]
    pub fn growth(&self) -> Option<u32> {
        (self.options & NON_SCALING == 0).then_some(self.growth)
    }

    /// The layers, oldest first; never none.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Bytes of memory, as RedisBloom counts them.
    ///
    /// ```
    /// use gardenia::format::redisbloom::bloom::BloomChain;
    /// assert_eq!(BloomChain::new(0.02, 200, None, u64::MAX)?.size(), 304); // 1664 bits
    /// # Ok::<(), gardenia::format::redisbloom::layout::LayoutError>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u64 {
        self.layers.iter().fold(CHAIN_SIZE, |sum, layer| sum + LAYER_SIZE + layer.bytes())
    }

    /// A line about each layer.
    pub fn describe(&self) -> impl Iterator<Item = String> + '_ {
        self.layers.iter().map(|layer| {
            let Layer { items, error, hashes, entries, .. } = layer;
            let (bytes, bits) = (layer.bytes(), layer.bytes() * 8);
            format!(
                "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:64 capacity:{entries} size:{items} ratio:{error}"
            )
        })
    }

    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, LayoutError> {
        let mut layers = reserved(self.layers.len() as u64)?;
        for layer in &self.layers {
            layers.push(Layer { bits: copied(&layer.bits)?, ..*layer });
        }
        Ok(Self { layers, ..*self })
    }

    /// The header of a dump: what `SCANDUMP` gives for iterator 0, and stores under 1.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(HEADER_BYTES + LAYER_BYTES * self.layers.len());
        header.extend(self.items.to_le_bytes());
        header.extend((self.layers.len() as u32).to_le_bytes());
        header.extend(self.options.to_le_bytes());
        header.extend(self.growth.to_le_bytes());
        for layer in &self.layers {
            header.extend(layer.bytes().to_le_bytes());
            header.extend((layer.bytes() * 8).to_le_bytes());
            header.extend(layer.items.to_le_bytes());
            header.extend(layer.error.to_le_bytes());
            header.extend(layer.bits_per_entry.to_le_bytes());
            header.extend(layer.hashes.to_le_bytes());
            header.extend(layer.entries.to_le_bytes());
            header.push(0);
        }
        header
    }

    /// The chain that a dump's header tells of, its bits still zero, if it takes at most
    /// `max_bytes`.
    pub fn from_header(header: &[u8], max_bytes: u64) -> Result<Self, LayoutError> {
        let found = header.len() as u64;
        if header.len() < HEADER_BYTES {
            return Err(LayoutError::Length { needed: HEADER_BYTES as u64, found });
        }
        let mut reader = Reader(header);
        let (items, count) = (reader.u64(), reader.u32());
        let mut chain = Self::begun(items, count.into(), reader.u32().into(), reader.u32().into())?;
        let needed = HEADER_BYTES as u64 + LAYER_BYTES as u64 * u64::from(count);
        if needed != found {
            return Err(LayoutError::Length { needed, found });
        }
        // Twice over the layers: nothing is allocated before all of them are right and their sum is allowed.
        let layers = |mut reader: Reader<'_>, take: Take<'_>| {
            (0..count).try_for_each(|_| {
                let bytes = reader.u64();
                let (bits, items, error) = (reader.u64(), reader.u64(), reader.f64());
                let (bits_per_entry, hashes) = (reader.f64(), reader.u32().into());
                let (entries, n2) = (reader.u64(), reader.u8().into());
                let stated = Stated { bits, items, error, bits_per_entry, hashes, entries, n2 };
                let (layer, right) = stated.checked()?;
                if bytes != right { wrong("bytes", "eight bits each") } else { take(layer, bytes) }
            })
        };
        let mut size = CHAIN_SIZE;
        layers(Reader(reader.0), &mut |_, bytes| {
            size = size.saturating_add(LAYER_SIZE).saturating_add(bytes);
            check_limit(size, max_bytes)
        })?;
        chain.layers = reserved(count.into())?;
        layers(Reader(reader.0), &mut |layer, bytes| {
            chain.layers.push(Layer { bits: zeroed(bytes)?, ..layer });
            Ok(())
        })?;
        chain.finished()
    }

    /// What a chain says before its layers, checked.
    fn begun(items: u64, layers: u64, options: u64, growth: u64) -> Result<Self, LayoutError> {
        if layers == 0 || layers > u64::from(u32::MAX) {
            return wrong("number of filters", "at least one");
        }
        let (scaling, fixed) = (NO_ROUNDING | HASH_64, NO_ROUNDING | HASH_64 | NON_SCALING);
        let Some(options) = [scaling, fixed].into_iter().find(|known| u64::from(*known) == options) else {
            return wrong("options", "64-bit hashes without rounding: 5, or 13 for a fixed size");
        };
        let growth = u32::try_from(growth).ok().filter(|growth| *growth <= MAX_GROWTH);
        // A chain of fixed size never asks for its growth.
        let Some(growth) = growth.filter(|growth| *growth > 0 || options == fixed) else {
            return wrong("growth", "it is between 1 and 32768");
        };
        if options == fixed && layers != 1 {
            return wrong("number of filters", "one, if it is of fixed size");
        }
        Ok(Self { items, options, growth, layers: Vec::new() })
    }

    /// What must hold of a chain with all its layers.
    fn finished(self) -> Result<Self, LayoutError> {
        let sum = self.layers.iter().try_fold(0u64, |sum, layer| sum.checked_add(layer.items));
        if sum == Some(self.items) { Ok(self) } else { wrong("number of items", "the sum of the filters'") }
    }

    /// The chunk of a dump behind `iterator`, and the iterator behind it; 1 gives the first, `None`
    /// is the end.
    #[must_use]
    pub fn chunk(&self, iterator: u64) -> Option<(u64, &[u8])> {
        chunk(self.layers.iter().map(|layer| layer.bits.as_slice()), iterator)
    }

    /// Puts in the chunk of a dump that ends before `iterator`.
    pub fn load_chunk(&mut self, iterator: u64, bytes: &[u8]) -> Result<(), ChunkError> {
        load_chunk(self.layers.iter_mut().map(|layer| &mut layer.bits), iterator, bytes)
    }

    /// Writes the fields of an RDB file, version 4.
    pub fn save(&self, fields: &mut impl Save) {
        fields.save_u64(self.items);
        fields.save_u64(self.layers.len() as u64);
        fields.save_u64(self.options.into());
        fields.save_u64(self.growth.into());
        for layer in &self.layers {
            fields.save_u64(layer.entries);
            fields.save_f64(layer.error);
            fields.save_u64(layer.hashes.into());
            fields.save_f64(layer.bits_per_entry);
            fields.save_u64(layer.bytes() * 8);
            fields.save_u64(0);
            fields.save_bytes(&layer.bits);
            fields.save_u64(layer.items);
        }
    }

    /// Reads the fields of an RDB file of this version, if the chain takes at most `max_bytes`.
    pub fn load(version: u64, fields: &mut impl Load, max_bytes: u64) -> Result<Self, LayoutError> {
        if version != RDB_VERSION {
            return Err(LayoutError::Version(version));
        }
        let (items, count) = (fields.load_u64()?, fields.load_u64()?);
        let mut chain = Self::begun(items, count, fields.load_u64()?, fields.load_u64()?)?;
        // No layer takes less than a word. The list is not made longer than fields follow for.
        check_limit(count.saturating_mul(LAYER_SIZE + 8).saturating_add(CHAIN_SIZE), max_bytes)?;
        chain.layers = reserved(count.min(1024))?;
        let mut size = CHAIN_SIZE;
        for _ in 0..count {
            let (entries, error, hashes) = (fields.load_u64()?, fields.load_f64()?, fields.load_u64()?);
            let (bits_per_entry, bits, n2) = (fields.load_f64()?, fields.load_u64()?, fields.load_u64()?);
            // Items follow behind the bits, and are compared then.
            let stated = Stated { bits, items: 0, error, bits_per_entry, hashes, entries, n2 };
            let (mut layer, bytes) = stated.checked()?;
            size = size.saturating_add(LAYER_SIZE).saturating_add(bytes);
            check_limit(size, max_bytes)?;
            layer.bits = fields.load_bytes(bytes)?;
            layer.items = fields.load_u64()?;
            if layer.items > entries {
                return wrong("entries", "at least one, and not below the items");
            }
            push(&mut chain.layers, layer)?;
        }
        chain.finished()
    }
}

/// What is done with each layer of a header.
type Take<'a> = &'a mut dyn FnMut(Layer, u64) -> Result<(), LayoutError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_halve_the_error_and_grow_by_the_factor() {
        let mut chain = BloomChain::new(0.02, 10, Some(3), u64::MAX).unwrap();
        for i in 0..200u32 {
            chain.insert(&i.to_le_bytes(), u64::MAX).unwrap();
        }
        let layers: Vec<_> = chain.layers().iter().map(|layer| (layer.error(), layer.entries())).collect();
        assert_eq!(layers, [(0.01, 10), (0.005, 30), (0.0025, 90), (0.00125, 270)]);
        assert!(chain.layers()[..3].iter().all(|layer| layer.items() == layer.entries()));
        assert_eq!((chain.capacity(), chain.growth()), (400, Some(3)));
    }

    #[test]
    fn a_chain_of_fixed_size_is_full_at_its_entries_and_still_knows_its_keys() {
        let mut chain = BloomChain::new(0.001, 5, None, u64::MAX).unwrap();
        for key in [b"a", b"b", b"c", b"d", b"e"] {
            assert_eq!(chain.insert(key, u64::MAX), Ok(true));
        }
        let full = chain.clone();
        assert_eq!(chain.insert(b"f", u64::MAX), Err(InsertError::Full));
        assert_eq!(chain.insert(b"a", u64::MAX), Ok(false));
        assert_eq!((chain.items(), chain.growth()), (5, None));
        assert_eq!(chain, full);
    }

    #[test]
    fn a_layer_over_the_limit_is_refused_and_nothing_changes() {
        let mut chain = BloomChain::new(0.01, 1, Some(32_768), u64::MAX).unwrap();
        assert_eq!(chain.insert(b"a", 0), Ok(true)); // room is there
        let before = chain.clone();
        let error = chain.insert(b"b", 10_000).unwrap_err();
        assert!(matches!(error, InsertError::Layout(LayoutError::TooLarge { max: 10_000, .. })), "{error}");
        assert_eq!(chain, before);
        assert_eq!(chain.insert(b"b", 100_000), Ok(true));
    }

    #[test]
    fn sizes_that_cannot_be_are_errors() {
        let too_large = |entries, error| {
            matches!(BloomChain::new(error, entries, Some(2), 1 << 40), Err(LayoutError::TooLarge { .. }))
        };
        assert!(too_large(1_000_000_000_000_000_000, 0.01) && too_large(u64::MAX, 1e-300));
        for error in [0.0, -0.5, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(BloomChain::new(error, 10, Some(2), u64::MAX).is_err(), "{error}");
        }
        assert!(BloomChain::new(0.01, 0, Some(2), u64::MAX).is_err());
        assert!(BloomChain::new(0.01, 1, Some(0), u64::MAX).is_err());
        // An error rate near 1 needs no bits at all by the formula.
        let mut loose = BloomChain::new(0.999, 1, None, u64::MAX).unwrap();
        assert_eq!((loose.insert(b"a", u64::MAX), loose.size()), (Ok(true), 32 + 64 + 8));
    }

    #[test]
    fn half_of_the_smallest_error_ends_growth_without_a_panic() {
        let mut chain = BloomChain::new(f64::MIN_POSITIVE, 1, Some(1), u64::MAX).unwrap();
        let grown = (0..200u32).try_for_each(|i| chain.insert(&i.to_le_bytes(), 1 << 20).map(|_| ()));
        assert!(matches!(grown, Err(InsertError::Layout(LayoutError::Field { .. }))), "{grown:?}");
        assert!(chain.layers().len() > 50);
    }
}
