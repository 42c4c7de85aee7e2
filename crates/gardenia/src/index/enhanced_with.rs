//! Enhanced double hashing with any f: h1 + i·h2 + f(i).
//!
//! i² does not remove the overlap of equal steps (a shifted quadratic is a quadratic with another
//! step), i³ does. Kirsch and Mitzenmacher credit i² to Dillinger and Manolios, whose own term is
//! (i³−i)/6: that is [`Enhanced`](super::Enhanced).
//!
//! Source: Kirsch and Mitzenmacher (2008), section 5.2 and the experiments of section 8.

use super::{LEAST, Scheme, SchemeId, Walk, scale, settle, small_prime, wrap};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use crate::theory::kirsch_mitzenmacher::{coincidence_excess, parabola_excess, progression_excess};
use core::fmt::Debug;

/// The function f of [`EnhancedWith`].
pub trait Offset: Clone + Debug + Sync {
    /// Number of the scheme with this f, if it has one.
    const ID: Option<SchemeId> = None;
    /// f(i).
    fn at(&self, i: u64) -> u64;
    /// See [`Scheme::overlap`]. The default is that of plain double hashing, more than which none
    /// has.
    fn overlap(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
        progression_excess(cells, hashes, items, fill, cells as f64)
    }
}

/// f(i) = i².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Square;
/// f(i) = i³.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cube;

impl Offset for Square {
    const ID: Option<SchemeId> = Some(SchemeId::EnhancedSquare);
    #[inline]
    fn at(&self, i: u64) -> u64 {
        i * i
    }
    fn overlap(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
        parabola_excess(cells, hashes, items, fill)
    }
}

impl Offset for Cube {
    const ID: Option<SchemeId> = Some(SchemeId::EnhancedCube);
    #[inline]
    fn at(&self, i: u64) -> u64 {
        i * i * i
    }
    fn overlap(cells: u64, hashes: u32, items: f64, fill: f64) -> f64 {
        coincidence_excess(cells, hashes, items, fill, true)
    }
}

impl Offset for fn(u64) -> u64 {
    #[inline]
    fn at(&self, i: u64) -> u64 {
        self(i)
    }
}

/// Positions h1 + i·h2 + f(i) mod m. With an f of your own the filter works, but has no `save` and
/// the like, because no file could name f.
///
/// ```
/// use gardenia::index::EnhancedWith;
/// use gardenia::Bloom;
/// let triangle: fn(u64) -> u64 = |i| i * (i + 1) / 2;
/// let mut filter = Bloom::builder().items(100).fpp(0.01).scheme(move |k| EnhancedWith::new(k, triangle)).build()?;
/// filter.insert("rose");
/// assert!(filter.contains("rose"));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EnhancedWith<F> {
    hashes: u32,
    f: F,
}

/// Scheme 5: positions h1 + i·h2 + i² mod m.
pub type EnhancedSquare = EnhancedWith<Square>;
/// Scheme 6: positions h1 + i·h2 + i³ mod m.
pub type EnhancedCube = EnhancedWith<Cube>;

impl<F: Offset> EnhancedWith<F> {
    /// Enhanced double hashing with `hashes` probes per key and this f.
    #[must_use]
    pub const fn new(hashes: u32, f: F) -> Self {
        Self { hashes, f }
    }
}

/// Equal when the offsets of all k probes are: function pointers themselves have no dependable
/// equality.
impl<F: Offset> PartialEq for EnhancedWith<F> {
    fn eq(&self, other: &Self) -> bool {
        self.hashes == other.hashes && (0..u64::from(self.hashes)).all(|i| self.f.at(i) == other.f.at(i))
    }
}

impl<F: Offset> Scheme for EnhancedWith<F> {
    type Walk = EnhancedWithWalk<F>;
    fn id(&self) -> Option<SchemeId> {
        F::ID
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> EnhancedWithWalk<F> {
        EnhancedWithWalk {
            at: scale(digest.word(0), cells),
            step: scale(digest.word(1), cells),
            i: 0,
            cells,
            f: self.f.clone(),
        }
    }
    fn modulus(&self, cells: u64) -> Option<u64> {
        Some(cells)
    }
    fn best_fit(&self, cells: u64) -> u64 {
        small_prime(cells, LEAST)
    }
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::progression(cells, self.hashes, |i| self.f.at(i), true)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        F::overlap(cells, self.hashes, items, fill)
    }
}

/// Walk of [`EnhancedWith`].
#[derive(Clone, Debug)]
pub struct EnhancedWithWalk<F> {
    at: u64,
    step: u64,
    i: u32,
    cells: u64,
    f: F,
}

impl<F: Offset> Walk for EnhancedWithWalk<F> {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = wrap(self.at + settle(self.f.at(u64::from(self.i)), self.cells), self.cells);
        self.i += 1;
        self.at = wrap(self.at + self.step, self.cells);
        at
    }
}
