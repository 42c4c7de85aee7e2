//! Double hashing: h1 + i·h2.
//!
//! The scheme the papers analyse: asymptotically as good as k independent hash functions. At finite size
//! it is not: two keys with the same step overlap after a shift, and a step that shares a factor with m
//! visits few cells. A step of zero is excluded. Use [`Enhanced`](super::Enhanced) unless you study this.
//!
//! Source: Kirsch and Mitzenmacher, "Less Hashing, Same Performance" (2006; 2008), section 5.2.

use super::{LEAST, Scheme, SchemeId, Walk, scale, small_prime, wrap};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use crate::theory::kirsch_mitzenmacher::progression_excess;

/// Scheme 4: positions h1 + i·h2 mod m with h2 in 1..m.
///
/// ```
/// use gardenia::{Digest, Double, Scheme};
/// let at: Vec<u64> = Double::new(3).positions(Digest(12345), 101).collect();
/// assert_eq!((at[0] + 2 * ((at[1] + 101 - at[0]) % 101)) % 101, at[2]); // equal steps
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Double {
    hashes: u32,
}

impl Double {
    /// Double hashing with `hashes` probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }
}

impl Scheme for Double {
    type Walk = DoubleWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Double)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> DoubleWalk {
        // With one cell the only step is 1 mod 1 = 0.
        let step = if cells > 1 { 1 + scale(digest.word(1), cells - 1) } else { 0 };
        DoubleWalk { at: scale(digest.word(0), cells), step, cells }
    }
    fn modulus(&self, cells: u64) -> Option<u64> {
        Some(cells)
    }
    fn best_fit(&self, cells: u64) -> u64 {
        small_prime(cells, LEAST)
    }
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::progression(cells, self.hashes, |_| 0, false)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        let steps = cells.saturating_sub(1).max(1) as f64;
        progression_excess(cells, self.hashes, items, fill, steps)
    }
}

/// Walk of [`Double`].
#[derive(Clone, Debug)]
pub struct DoubleWalk {
    at: u64,
    step: u64,
    cells: u64,
}

impl Walk for DoubleWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.at;
        self.at = wrap(at + self.step, self.cells);
        at
    }
}

#[test]
fn a_step_visits_m_over_gcd_cells_and_is_never_zero() {
    let m = 12u64;
    for word in 0..2000u64 {
        let mut walk = Double::new(12).walk(Digest(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)), m);
        assert_ne!(walk.step, 0);
        let gcd = (1..=m).rev().find(|d| m.is_multiple_of(*d) && walk.step.is_multiple_of(*d));
        let mut seen = [false; 12];
        (0..m).for_each(|_| seen[walk.step() as usize] = true);
        assert_eq!(seen.iter().filter(|&&s| s).count() as u64, m / gcd.unwrap_or(1));
    }
}
