//! What a builder was asked for, and the verbs that all builders share.

use crate::filter::About;
use crate::hash::KeyHasher;
use crate::theory::bloom::Shape;
use crate::{MAX_CELLS, SizeError};

/// Items and rate, or a shape, and the hash function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) items: Option<u64>,
    pub(crate) fpp: Option<f64>,
    pub(crate) bits: Option<u64>,
    pub(crate) hashes: Option<u32>,
    pub(crate) hasher: KeyHasher,
}

impl Wish {
    /// The shape that was asked for: given, or by `size` from items and rate, or with the `best` hashes for bits
    /// and items; checked, and rounded up by `fit`. No memory is taken.
    pub(crate) fn shape(
        &self,
        max_hashes: u32,
        size: impl FnOnce(u64, f64) -> Result<Shape, SizeError>,
        best: impl FnOnce(u64, u64) -> u32,
        fit: impl FnOnce(Shape) -> u64,
    ) -> Result<Shape, SizeError> {
        let too_many = |cells| Err(SizeError::TooManyCells { cells, max: MAX_CELLS });
        let conflict = |message| Err(SizeError::Conflict(message));
        let mut shape = match (self.bits, self.hashes, self.items, self.fpp) {
            (None, None, Some(items), Some(fpp)) => size(items, fpp)?,
            (Some(cells), Some(hashes), _, None) => Shape { cells, hashes },
            (Some(_), None, Some(0), None) => return Err(SizeError::ZeroItems),
            (Some(cells), None, Some(items), None) => Shape { cells, hashes: best(cells, items) },
            (Some(_), Some(_), _, Some(_)) => {
                return conflict("bits and hashes fix the error rate: leave out fpp");
            }
            (Some(_), None, _, Some(_)) => {
                return conflict("bits and fpp are both given: leave out one of them");
            }
            (None, Some(_), ..) => return conflict("hashes needs bits"),
            _ => return conflict("give items and fpp, or bits and hashes, or bits and items"),
        };
        if !(1..=max_hashes).contains(&shape.hashes) {
            return Err(SizeError::Hashes { hashes: shape.hashes, max: max_hashes });
        }
        match shape.cells {
            0 => return Err(SizeError::ZeroCells),
            cells if cells > MAX_CELLS => return too_many(cells),
            _ => shape.cells = fit(shape),
        }
        if shape.cells > MAX_CELLS { too_many(shape.cells) } else { Ok(shape) }
    }

    /// What the filter is made for; `rate` tells the rate at the planned items where none was asked for.
    pub(crate) fn about(&self, rate: impl FnOnce(u64) -> f64) -> About {
        match self.items {
            Some(items) => About::planned(items, self.fpp.unwrap_or_else(|| rate(items))),
            None => About::default(),
        }
    }
}

/// The verbs of a builder that has a [`Wish`].
macro_rules! wish_verbs {
    () => {
        /// Keys to make room for.
        pub fn items(mut self, items: u64) -> Self {
            self.wish.items = Some(items);
            self
        }

        /// False-positive probability once that many are in.
        pub fn fpp(mut self, fpp: f64) -> Self {
            self.wish.fpp = Some(fpp);
            self
        }

        /// Number of bits, rounded up to what the filter can use; with `items` the best k follows, or set it by
        /// `hashes`.
        pub fn bits(mut self, bits: u64) -> Self {
            self.wish.bits = Some(bits);
            self
        }

        /// Bits set per key.
        pub fn hashes(mut self, hashes: u32) -> Self {
            self.wish.hashes = Some(hashes);
            self
        }

        /// Hash with XXH3-64 and this seed (the default, with seed 0).
        pub fn seed(self, seed: u64) -> Self {
            self.hasher($crate::KeyHasher::xxh3(seed))
        }

        /// Hash with SipHash-1-3 and this secret, for keys that an adversary may choose.
        pub fn secret(self, secret: $crate::SecretKey) -> Self {
            self.hasher($crate::KeyHasher::sip13(secret))
        }

        /// The hash function.
        pub fn hasher(mut self, hasher: $crate::KeyHasher) -> Self {
            self.wish.hasher = hasher;
            self
        }
    };
}
pub(crate) use wish_verbs;

/// What every filter over bits tells about itself: a filter with the fields `hasher`, `bits` and `about`.
macro_rules! bit_filter_facts {
    () => {
        /// The hash function.
        #[inline]
        pub fn hasher(&self) -> &$crate::KeyHasher {
            &self.hasher
        }

        /// Number of bits, m.
        #[must_use]
        pub fn bits(&self) -> u64 {
            self.bits.len()
        }

        /// The share of bits that are set.
        #[must_use]
        pub fn fill(&self) -> f64 {
            self.bits.count_ones() as f64 / self.bits.len() as f64
        }

        /// Bytes of memory that the bits take.
        #[must_use]
        pub fn memory_bytes(&self) -> usize {
            self.bits.memory().words() * 8
        }

        /// What the filter was made for.
        #[must_use]
        pub fn about(&self) -> &$crate::About {
            &self.about
        }

        /// What the filter was made for, to be changed.
        pub fn about_mut(&mut self) -> &mut $crate::About {
            &mut self.about
        }
    };
}
pub(crate) use bit_filter_facts;
