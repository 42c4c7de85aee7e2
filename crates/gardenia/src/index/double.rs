//! Double hashing: h1 + i·h2, with any step or an odd one.
//!
//! The scheme the papers analyse: asymptotically as good as k independent hash functions. At finite
//! size it is not: two keys with the same step overlap after a shift, and a step that shares a
//! factor with m visits few cells. A step of zero is excluded. Use [`Enhanced`](super::Enhanced)
//! unless you study this.
//!
//! An odd step avoids the short cycles where a power of two divides m: it visits at least that many
//! cells. That power is at least k here, so that no key meets itself. In return there are half as
//! many steps, and keys with the same step meet twice as often.
//!
//! Sources: Kirsch and Mitzenmacher, "Less Hashing, Same Performance" (2006; 2008), section 5.2;
//! for odd steps Lumetta and Mitzenmacher, "Using the Power of Two Choices to Improve Bloom
//! Filters" (2007), section 3.1.

use super::{LEAST, LineWalk, MAX_CELLS, Scheme, SchemeId, prime, scale, small_prime};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use crate::theory::kirsch_mitzenmacher::{odd_progression_excess, progression_excess};

/// Scheme 4: positions h1 + i·h2 mod m with h2 in 1..m.
///
/// ```
/// use gardenia::index::{Double, Scheme};
/// use gardenia::Digest;
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
    type Walk = LineWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Double)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> LineWalk {
        // With one cell the only step is 1 mod 1 = 0.
        let step = if cells > 1 { 1 + scale(digest.word(1), cells - 1) } else { 0 };
        LineWalk { at: scale(digest.word(0), cells), step, base: 0, slice: 0, cells }
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

/// Scheme 12: positions h1 + i·h2 mod m with an odd h2 below m. m is a multiple of the least power
/// of two that is not below k, and even; other numbers of cells are rounded up.
///
/// ```
/// use gardenia::index::{DoubleOdd, Scheme};
/// use gardenia::Digest;
/// let scheme = DoubleOdd::new(6);
/// assert_eq!(scheme.fit(1_001), 1_008); // a multiple of 8
/// let at: std::collections::BTreeSet<u64> = scheme.positions(Digest(12345), 1_008).collect();
/// assert_eq!(at.len(), 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoubleOdd {
    hashes: u32,
}

impl DoubleOdd {
    /// Double hashing with odd steps and `hashes` probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }

    /// The power of two that divides m.
    fn power(self) -> u64 {
        u64::from(self.hashes).next_power_of_two().max(2)
    }
}

impl Scheme for DoubleOdd {
    type Walk = LineWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::DoubleOdd)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> LineWalk {
        let step = 1 + 2 * scale(digest.word(1), cells / 2);
        LineWalk { at: scale(digest.word(0), cells), step, base: 0, slice: 0, cells }
    }
    fn fit(&self, cells: u64) -> u64 {
        if cells > MAX_CELLS { cells } else { cells.next_multiple_of(self.power()) }
    }
    fn best_fit(&self, cells: u64) -> u64 {
        if cells > 4_096 {
            return self.fit(cells);
        }
        self.power() * prime::at_least(cells.max(LEAST).div_ceil(self.power()))
    }
    /// Steps share no factor with the power of two.
    fn modulus(&self, cells: u64) -> Option<u64> {
        Some(cells / self.power())
    }
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::all(cells, self.hashes)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        odd_progression_excess(cells, self.hashes, items, fill)
    }
}

#[test]
fn a_step_visits_m_over_gcd_cells_and_is_never_zero() {
    use super::Walk;
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

#[test]
fn an_odd_step_never_meets_itself() {
    for (m, k) in [(2u64, 1), (2, 2), (8, 5), (24, 8), (48, 16), (1_000, 8), (1_536, 255)] {
        let scheme = DoubleOdd::new(k);
        let m = scheme.fit(m);
        for word in 0..2000u64 {
            let digest = Digest(word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let walk = scheme.walk(digest, m);
            assert!(walk.step % 2 == 1 && walk.step < m);
            let mut at: alloc::vec::Vec<u64> = scheme.positions(digest, m).collect();
            at.sort_unstable();
            at.dedup();
            assert_eq!(at.len(), k as usize, "{m} cells");
        }
    }
}
