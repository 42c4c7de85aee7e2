//! Triple hashing: h1 + i·h2 + (i(i−1)/2)·h3.
//!
//! A third value makes the step itself move by a key's own amount, so that no stored key overlaps with a query. What
//! remains is that a parabola may fold onto itself: about 1 % of the rate of 1,000 keys in 16 bits each, and less for more
//! keys. It costs one more word than enhanced double hashing.
//!
//! Source: Dillinger and Manolios, "Fast and Accurate Bitstate Verification for SPIN" (2004).

use super::{Scheme, SchemeId, Walk, scale, wrap};
use crate::hash::Digest;
use crate::theory::kirsch_mitzenmacher::{folding_excess, same_step_excess};

/// Scheme 8: positions h1 + i·h2 + (i(i−1)/2)·h3 mod m.
///
/// ```
/// use gardenia::{Digest, Scheme, Triple};
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
    fn excess(&self, cells: u64, items: f64, fill: f64) -> f64 {
        let m = cells as f64;
        // Step and bend must both agree for an overlap: m² ways instead of m. And they may be multiples of m/L
        // for a small L, which leaves a key few cells: up to 8/m² for round m (simulated).
        let overlap = same_step_excess(cells, items, fill, m * m) + (8.0 / m / m).min(1.0);
        overlap + folding_excess(cells, self.hashes, fill)
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
