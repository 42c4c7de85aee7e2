//! What a builder was asked for, and the verbs that all builders share.

use crate::filter::About;
use crate::hash::KeyHasher;
use crate::index::{AnyScheme, Scheme, SchemeId};
use crate::spec::{DEFAULT_FPP, Param, Spec};
use crate::theory::bloom::{Shape, best_hashes, size};
use crate::{MAX_CELLS, MAX_HASHES, SizeError};

/// Items and rate, or a shape, and the hash function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) items: Option<u64>,
    pub(crate) fpp: Option<f64>,
    /// The rate that the shape was made for.
    pub(crate) planned_fpp: Option<f64>,
    pub(crate) cells: Option<u64>,
    pub(crate) hashes: Option<u32>,
    pub(crate) hasher: KeyHasher,
    pub(crate) scheme: SchemeId,
}

impl Wish {
    /// What a spec asks for; a size in bits is turned into cells of `bits_per_cell`.
    pub(crate) fn of(spec: &Spec, bits_per_cell: f64) -> Self {
        let in_bits = |bits: u64| (bits as f64 / bits_per_cell.max(1.0)) as u64;
        let cells = spec.whole(Param::Cells).or(spec.whole(Param::Bits).map(in_bits));
        let asked = spec.real(Param::Fpp);
        Self {
            items: spec.whole(Param::Items),
            fpp: if cells.is_some() { asked } else { Some(asked.unwrap_or(DEFAULT_FPP)) },
            planned_fpp: None,
            cells,
            hashes: spec.small(Param::Hashes),
            hasher: spec.hasher(),
            scheme: spec.scheme_id(),
        }
    }

    /// [`shape`](Self::shape) for filters that err as a Bloom filter of their scheme does.
    pub(crate) fn bloom_shape<S: Scheme>(&self, scheme: impl Fn(u32) -> S) -> Result<Shape, SizeError> {
        let fit = |shape: Shape| scheme(shape.hashes).fit(shape.cells);
        let rate = |shape: Shape, items| scheme(shape.hashes).planned_fpp(shape.cells, items);
        let best = |shape: Shape| scheme(shape.hashes).best_fit(shape.cells);
        self.shape(MAX_HASHES, |items, fpp| size(items, fpp, rate, best), best_hashes, fit)
    }

    /// The same with the scheme that was asked for by number.
    pub(crate) fn any_shape(&self) -> Result<Shape, SizeError> {
        self.bloom_shape(|hashes| AnyScheme::new(self.scheme, hashes))
    }

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
        let mut shape = match (self.cells, self.hashes, self.items, self.fpp) {
            (None, None, Some(items), Some(fpp)) => size(items, fpp)?,
            (Some(cells), Some(hashes), _, None) => Shape { cells, hashes },
            (Some(_), None, Some(0), None) => return Err(SizeError::ZeroItems),
            (Some(cells), None, Some(items), None) => Shape { cells, hashes: best(cells, items) },
            (Some(_), Some(_), _, Some(_)) => {
                return conflict("a size and hashes fix the error rate: leave out fpp");
            }
            (Some(_), None, _, Some(_)) => {
                return conflict("size and fpp are both given: leave out one of them");
            }
            (None, Some(_), ..) => return conflict("hashes needs a size: bits or cells"),
            _ => {
                return conflict(
                    "give items and fpp, or a size (bits or cells) and hashes, or a size and items",
                );
            }
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
            Some(items) => {
                About::planned(items, self.fpp.or(self.planned_fpp).unwrap_or_else(|| rate(items)))
            }
            None => About::default(),
        }
    }
}

/// The verbs that choose the hash function, of any builder that keeps it in this field; what else the seed decides is
/// said behind the first.
macro_rules! hash_verbs {
    ($($field:ident).+) => {
        $crate::filter::wish::hash_verbs!($($field).+, "");
    };
    ($($field:ident).+, $more:literal) => {
        #[doc = concat!("Hash with XXH3-64 and this seed (the default, with seed 0).", $more)]
        pub fn seed(self, seed: u64) -> Self {
            self.hasher($crate::KeyHasher::xxh3(seed))
        }

        /// Hash with SipHash-1-3 and this secret, for keys that an adversary may choose.
        pub fn secret(self, secret: $crate::SecretKey) -> Self {
            self.hasher($crate::KeyHasher::sip13(secret))
        }

        /// The hash function.
        pub fn hasher(mut self, hasher: $crate::KeyHasher) -> Self {
            self.$($field).+ = hasher;
            self
        }
    };
}
pub(crate) use hash_verbs;

/// The verbs of a builder that has a [`Wish`]; its size is given in bits, or with `wish_verbs!(cells)` in cells.
macro_rules! wish_verbs {
    () => {
        $crate::filter::wish::wish_verbs!(
            bits,
            "Number of bits, rounded up to what the filter can use; with `items` the best k follows, or set it \
             by `hashes`."
        );
    };
    (cells) => {
        $crate::filter::wish::wish_verbs!(
            cells,
            "Number of cells, rounded up to what the filter can use; with `items` the best k follows, or set it \
             by `hashes`."
        );
    };
    ($size:ident, $doc:literal) => {
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

        #[doc = $doc]
        pub fn $size(mut self, $size: u64) -> Self {
            self.wish.cells = Some($size);
            self
        }

        /// Probes per key.
        pub fn hashes(mut self, hashes: u32) -> Self {
            self.wish.hashes = Some(hashes);
            self
        }

        $crate::filter::wish::hash_verbs!(wish.hasher);
    };
}
pub(crate) use wish_verbs;

/// The verb of a builder whose filter has a scheme by number.
macro_rules! scheme_verb {
    () => {
        /// The scheme that makes positions of digests.
        pub fn scheme(mut self, scheme: $crate::SchemeId) -> Self {
            self.wish.scheme = scheme;
            self
        }
    };
}
pub(crate) use scheme_verb;

/// What every filter tells about itself: a filter with the fields `hasher` and `about`.
macro_rules! filter_facts {
    () => {
        /// The hash function.
        #[inline]
        pub fn hasher(&self) -> &$crate::KeyHasher {
            &self.hasher
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
pub(crate) use filter_facts;

/// What every filter over one array of bits tells: [`filter_facts`] and the field `bits`.
macro_rules! bit_filter_facts {
    () => {
        $crate::filter::wish::filter_facts!();

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
    };
}
pub(crate) use bit_filter_facts;

/// What every filter over one array of counters tells: [`filter_facts`] and the field `cells`.
macro_rules! counter_filter_facts {
    () => {
        $crate::filter::wish::filter_facts!();

        /// Number of cells, m.
        #[must_use]
        pub fn cells(&self) -> u64 {
            self.cells.len()
        }

        /// Bits per cell, w.
        #[must_use]
        pub fn width(&self) -> u32 {
            self.cells.width()
        }

        /// The share of cells that are not zero.
        #[must_use]
        pub fn fill(&self) -> f64 {
            self.cells.count_nonzero() as f64 / self.cells.len() as f64
        }

        /// Bytes of memory that the cells take.
        #[must_use]
        pub fn memory_bytes(&self) -> usize {
            self.cells.memory().words() * 8
        }
    };
}
pub(crate) use counter_filter_facts;
