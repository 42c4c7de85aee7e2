//! Enhanced double hashing with the cubic term: h1 + i·h2 + (i³−i)/6.
//!
//! The step itself grows by i at probe i, which costs one more addition than plain double hashing
//! and leaves only exact coincidence of two keys (n/m²): no short cycles, no overlap of equal
//! steps.
//!
//! Source: Dillinger and Manolios, "Bloom Filters in Probabilistic Verification" (2004).

use super::{LEAST, Scheme, SchemeId, Walk, scale, settle, small_prime, wrap};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use crate::theory::kirsch_mitzenmacher::coincidence_excess;

/// Scheme 7: positions h1 + i·h2 + (i³−i)/6 mod m.
///
/// ```
/// use gardenia::index::{Enhanced, Scheme};
/// use gardenia::Digest;
/// // h1 = 0 and h2 = 12 in 0..13
/// let at: Vec<u64> = Enhanced::new(5).positions(Digest(0), 13).collect();
/// let h2 = (u128::from(Digest(0).word(1)) * 13 >> 64) as u64;
/// let cubic = |i: u64| (i * h2 + (i * i * i - i) / 6) % 13;
/// assert_eq!(at, (0..5).map(cubic).collect::<Vec<_>>());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enhanced {
    hashes: u32,
}

impl Enhanced {
    /// Enhanced double hashing with `hashes` probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }
}

impl Scheme for Enhanced {
    type Walk = EnhancedWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Enhanced)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> EnhancedWalk {
        EnhancedWalk { at: scale(digest.word(0), cells), step: scale(digest.word(1), cells), i: 0, cells }
    }
    fn modulus(&self, cells: u64) -> Option<u64> {
        Some(cells)
    }
    fn best_fit(&self, cells: u64) -> u64 {
        small_prime(cells, LEAST)
    }
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::progression(cells, self.hashes, |i| (i * i * i - i) / 6, true)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        coincidence_excess(cells, self.hashes, items, fill, false)
    }
}

/// Walk of [`Enhanced`].
#[derive(Clone, Debug)]
pub struct EnhancedWalk {
    at: u64,
    step: u64,
    i: u32,
    cells: u64,
}

impl Walk for EnhancedWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        self.i += 1;
        let at = self.at;
        self.at = wrap(at + self.step, self.cells);
        self.step = settle(self.step + u64::from(self.i), self.cells);
        at
    }
}
