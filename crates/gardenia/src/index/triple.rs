//! Triple hashing: h1 + i·h2 + (i(i−1)/2)·h3.
//!
//! A third value makes the step itself move by a key's own amount, so that no stored key overlaps
//! with a query. What remains is that a parabola may fold onto itself: about 1 % of the rate of
//! 1,000 keys in 16 bits each, and less for more keys. It costs one more word than enhanced double
//! hashing.
//!
//! Source: Dillinger and Manolios, "Fast and Accurate Bitstate Verification for SPIN" (2004).

use super::{LEAST, Scheme, SchemeId, Walk, scale, small_prime, wrap};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use crate::theory::kirsch_mitzenmacher::{same_step_excess, triple_excess};

/// Scheme 8: positions h1 + i·h2 + (i(i−1)/2)·h3 mod m.
///
/// ```
/// use gardenia::index::{Scheme, Triple};
/// use gardenia::Digest;
/// let at: Vec<u64> = Triple::new(4).positions(Digest(99), 1009).collect();
/// let step = |i: usize| (at[i + 1] + 1009 - at[i]) % 1009;
/// assert_eq!((step(1) + 1009 - step(0)) % 1009, (step(2) + 1009 - step(1)) % 1009);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triple {
    hashes: u32,
}

impl Triple {
    /// Triple hashing with `hashes` probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }
}

impl Scheme for Triple {
    type Walk = TripleWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Triple)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> TripleWalk {
        let [at, step, bend] = [0, 1, 2].map(|i| scale(digest.word(i), cells));
        TripleWalk { at, step, bend, cells }
    }
    fn modulus(&self, cells: u64) -> Option<u64> {
        Some(cells)
    }
    fn best_fit(&self, cells: u64) -> u64 {
        small_prime(cells, LEAST)
    }
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::triple(cells, self.hashes)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        // Step and bend must both agree for an overlap: m² ways instead of m. Up to three positions are independent.
        match self.hashes {
            0..=3 => 0.0,
            _ => {
                let ways = cells as f64 * cells as f64;
                same_step_excess(cells, items, fill, ways) + triple_excess(cells, self.hashes, items, fill)
            }
        }
    }
}

/// Walk of [`Triple`].
#[derive(Clone, Debug)]
pub struct TripleWalk {
    at: u64,
    step: u64,
    bend: u64,
    cells: u64,
}

impl Walk for TripleWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.at;
        self.at = wrap(at + self.step, self.cells);
        self.step = wrap(self.step + self.bend, self.cells);
        at
    }
}
