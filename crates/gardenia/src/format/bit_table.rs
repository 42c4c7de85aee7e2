//! The bits of foreign filters of the classical kind: one array, in which a key sets k bits.

use super::foreign::{ForeignKey, KeyError};
use crate::{Mismatch, SizeError};
use alloc::string::ToString;
use alloc::vec::Vec;

/// The most words that Java's arrays hold, and so the formats that count them by `int`.
pub(super) const MAX_WORDS: u64 = i32::MAX as u64;

/// An array of 64-bit words, and how many bits a key has in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitTable {
    pub(super) words: Vec<u64>,
    pub(super) hashes: u32,
}

impl BitTable {
    /// An empty table.
    pub(super) fn new(words: u64, hashes: u32) -> Result<Self, SizeError> {
        if words > MAX_WORDS {
            return Err(SizeError::TooManyCells { cells: words.saturating_mul(64), max: MAX_WORDS * 64 });
        }
        let mut table = Vec::new();
        table.try_reserve_exact(words as usize).map_err(|_| SizeError::Memory { bytes: words * 8 })?;
        table.resize(words as usize, 0);
        Ok(Self { words: table, hashes })
    }

    pub(super) fn bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    #[inline]
    pub(super) fn get(&self, bit: u64) -> bool {
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    /// Sets a bit; true if it was not set.
    #[inline]
    pub(super) fn set(&mut self, bit: u64) -> bool {
        let (word, mask) = (&mut self.words[(bit / 64) as usize], 1 << (bit % 64));
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    pub(super) fn ones(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn fill(&self) -> f64 {
        self.ones() as f64 / self.bits() as f64
    }

    /// Chance that an absent key finds all its bits, each anywhere.
    pub(super) fn fpp(&self) -> f64 {
        libm::pow(self.fill(), f64::from(self.hashes))
    }

    /// −m/k·ln(1 − fill): Swamidass and Baldi (2007). `None` if all bits are set.
    pub(super) fn estimated_items(&self) -> Option<f64> {
        estimated_items(self.bits(), self.hashes, self.fill())
    }

    /// The union with a table of the same shape.
    pub(super) fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        same("bits", self.bits(), other.bits())?;
        same("hashes", self.hashes, other.hashes)?;
        self.words.iter_mut().zip(&other.words).for_each(|(ours, theirs)| *ours |= theirs);
        Ok(())
    }
}

pub(super) fn estimated_items(bits: u64, hashes: u32, fill: f64) -> Option<f64> {
    (fill < 1.0).then(|| -(bits as f64) / f64::from(hashes) * libm::log1p(-fill))
}

/// An error unless two filters agree in this.
pub(super) fn same<T: PartialEq + ToString>(what: &'static str, ours: T, theirs: T) -> Result<(), Mismatch> {
    if ours == theirs {
        return Ok(());
    }
    Err(Mismatch { what, ours: ours.to_string(), theirs: theirs.to_string() })
}

/// The other filter as this type, or the error of merging filters of two formats.
pub(super) fn same_type<'a, T: super::Foreign + 'static>(
    ours: &T,
    theirs: &'a dyn super::Foreign,
) -> Result<&'a T, Mismatch> {
    let name = |filter: &dyn super::Foreign| filter.format().name().to_string();
    let mismatch = || Mismatch { what: "format", ours: name(ours), theirs: name(theirs) };
    theirs.as_any().downcast_ref().ok_or_else(mismatch)
}

/// m = ⌊n·ln(1/p)/(ln 2)²⌋, as most programs size a filter.
pub(super) fn bits_for(items: u64, fpp: f64) -> f64 {
    let ln2 = core::f64::consts::LN_2;
    -(items as f64) * libm::log(fpp) / (ln2 * ln2)
}

/// k = max(1, m/n·ln 2 rounded), as most programs choose it.
pub(super) fn hashes_for(items: u64, bits: f64) -> u32 {
    libm::round(bits / items as f64 * core::f64::consts::LN_2).clamp(1.0, 255.0) as u32
}

/// Java's way to make a sum of hash values a position: a negative one is complemented.
#[inline]
pub(super) fn flipped(sum: i32) -> u64 {
    (if sum < 0 { !sum } else { sum }) as u64
}

/// Bit `at` of an array of bytes, the lowest bit of each first.
pub(crate) fn bit_of(bytes: &[u8], at: u64) -> u64 {
    u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1)
}

/// A filter whose keys are bits of one [`BitTable`].
pub(super) trait Probing {
    fn table(&self) -> &BitTable;
    fn table_mut(&mut self) -> &mut BitTable;
    /// Hands the positions of a key's bits to `visit`, as long as it answers true; whether it
    /// always did.
    fn probe(&self, key: ForeignKey<'_>, visit: &mut dyn FnMut(u64) -> bool) -> Result<bool, KeyError>;
}

/// The parts of [`Foreign`](super::Foreign) and [`ForeignInsert`](super::ForeignInsert) that follow
/// from a table of bits.
macro_rules! probing_foreign {
    () => {
        fn contains(&self, key: $crate::format::ForeignKey<'_>) -> Result<bool, $crate::format::KeyError> {
            let table = self.table();
            self.probe(key, &mut |bit| table.get(bit))
        }
        fn bits(&self) -> u64 {
            self.table().bits()
        }
        fn hashes(&self) -> u32 {
            self.table().hashes
        }
        fn tables(&self) -> alloc::vec::Vec<$crate::explain::CellTable> {
            alloc::vec![$crate::explain::CellTable::bits(self.table().bits())]
        }
        fn cell(&self, _: usize, at: u64) -> u64 {
            self.table().get(at).into()
        }
        fn fill(&self) -> f64 {
            self.table().fill()
        }
        fn estimated_items(&self) -> Option<f64> {
            self.table().estimated_items()
        }
        fn as_any(&self) -> &dyn core::any::Any {
            self
        }
        fn into_insert(
            self: alloc::boxed::Box<Self>,
        ) -> Option<alloc::boxed::Box<dyn $crate::format::ForeignInsert>> {
            Some(self)
        }
    };
}
pub(super) use probing_foreign;

/// Puts a key into a table.
pub(super) fn insert(filter: &mut impl Probing, key: ForeignKey<'_>) -> Result<bool, KeyError> {
    let mut positions = [0; 256];
    let mut count = 0;
    filter.probe(key, &mut |bit| {
        positions[count] = bit;
        count += 1;
        true
    })?;
    let table = filter.table_mut();
    Ok(positions[..count].iter().fold(false, |new, bit| table.set(*bit) | new))
}
