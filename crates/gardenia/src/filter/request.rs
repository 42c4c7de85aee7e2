//! What a builder was asked for, and what all filters tell about themselves.

use crate::SizeError;
use crate::filter::About;
use crate::hash::KeyHasher;
use crate::index::{AnyScheme, Scheme, SchemeId};
use crate::index::{MAX_CELLS, MAX_HASHES};
use crate::spec::{DEFAULT_FPP, Param, Spec};
use crate::theory::bloom::{Shape, best_hashes, size};

/// Items and rate, or a shape, and the hash function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) items: Option<u64>,
    pub(crate) fpp: Option<f64>,
    /// The rate that the shape was made for.
    pub(crate) planned_fpp: Option<f64>,
    pub(crate) cells: Option<u64>,
    pub(crate) hashes: Option<u32>,
    pub(crate) hasher: KeyHasher,
    pub(crate) scheme: SchemeId,
    /// How many threads may build; 0 if the caller did not choose.
    pub(crate) threads: usize,
}

impl Request {
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
            threads: 0,
        }
    }

    /// A request for the hasher of a spec, and nothing else.
    pub(crate) fn hashed(spec: &Spec) -> Self {
        Self { hasher: spec.hasher(), ..Self::default() }
    }

    /// How many threads may build.
    pub(crate) fn threads(&self) -> usize {
        self.threads.max(1)
    }

    /// [`shape`](Self::shape) for filters with the rate of a Bloom filter of their scheme.
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

    /// The shape that was asked for: given, or by `size` from items and rate, or with the `best`
    /// hashes for bits and items; checked, and rounded up by `fit`. No memory is taken.
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

    /// What the filter is made for; `rate` tells the rate at the planned items where none was asked
    /// for.
    pub(crate) fn about(&self, rate: impl FnOnce(u64) -> f64) -> About {
        match self.items {
            Some(items) => {
                About::planned(items, self.fpp.or(self.planned_fpp).unwrap_or_else(|| rate(items)))
            }
            None => About::default(),
        }
    }
}

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
        pub fn about(&self) -> &$crate::filter::About {
            &self.about
        }

        /// What the filter was made for, to be changed.
        pub fn about_mut(&mut self) -> &mut $crate::filter::About {
            &mut self.about
        }
    };
}
pub(crate) use filter_facts;

/// What every filter over one array of bits tells: [`filter_facts`] and the field `bits`.
macro_rules! bit_filter_facts {
    () => {
        $crate::filter::request::filter_facts!();

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

        /// Whether the filter is empty: no cell is set. Reads all cells.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.fill() == 0.0
        }

        /// Memory used by the bits, in bytes.
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
        $crate::filter::request::filter_facts!();

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

        /// Whether the filter is empty: no cell is set. Reads all cells.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.fill() == 0.0
        }

        /// Memory used by the cells, in bytes.
        #[must_use]
        pub fn memory_bytes(&self) -> usize {
            self.cells.memory().words() * 8
        }
    };
}
pub(crate) use counter_filter_facts;
