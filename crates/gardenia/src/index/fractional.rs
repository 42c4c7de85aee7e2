//! Triple hashing in fractions of the table: the default.
//!
//! The same sum as [`Triple`](super::Triple), but start, step and bend are 64-bit binary fractions
//! of the whole table, added modulo 1 (that is, modulo 2⁶⁴), and only the result is scaled to m
//! cells. That replaces two compare-and-subtract steps per probe by plain additions: a query of
//! seven probes in cache takes three fifths of the time (three quarters of that of enhanced double
//! hashing; `examples/schemes.rs` measures all), and there are no special cases for small or
//! composite m. Two keys meet in all their cells only if all three fractions are close, which is
//! below notice where it is not for double hashing. What does show, in tables of a few hundred
//! cells, are keys that fold onto themselves ([`Distinct::fractional`]).
//!
//! Source: after Dillinger and Manolios (2004) and Kirsch and Mitzenmacher (2008); the fractions
//! are ours.

use super::{Scheme, SchemeId, Walk, scale};
use crate::hash::Digest;
use crate::theory::distinct::Distinct;
use crate::theory::kirsch_mitzenmacher::same_step_excess;

/// Multipliers that make step and bend from the digest (from SplitMix64's finaliser; any odd mixers
/// would do).
const STEP: u64 = 0xbf58_476d_1ce4_e5b9;
const BEND: u64 = 0x94d0_49bb_1331_11eb;

/// Exclusive or of both halves of the 128-bit product.
#[inline(always)]
const fn fold(digest: u64, multiplier: u64) -> u64 {
    let product = digest as u128 * multiplier as u128;
    (product >> 64) as u64 ^ product as u64
}

/// Scheme 10: position i is ⌊m·{h1 + i·h2 + (i(i−1)/2)·h3}⌋, where {} is the fraction modulo 1.
///
/// h1 is the digest; h2 and h3 are the exclusive or of both halves of the 128-bit product of the
/// digest and a constant; all as fractions of 2⁶⁴.
///
/// ```
/// use gardenia::index::{Fractional, Scheme};
/// use gardenia::Digest;
/// let at: Vec<u64> = Fractional::new(3).positions(Digest(1 << 63), 1000).collect();
/// assert_eq!(at[0], 500); // the digest is one half of the range
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fractional {
    hashes: u32,
}

impl Fractional {
    /// Fractional triple hashing with `hashes` probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }
}

impl Scheme for Fractional {
    type Walk = FractionalWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Fractional)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> FractionalWalk {
        let (step, bend) = (fold(digest.0, STEP), fold(digest.0, BEND));
        FractionalWalk { at: digest.0, step, bend, cells }
    }
    fn distinct(&self, cells: u64) -> Distinct {
        Distinct::fractional(cells, self.hashes)
    }
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        // Step and bend must both agree for an overlap: m² ways instead of m. And they must do so the more closely the
        // more positions there are: simulated, one in 2k. Up to three positions are independent.
        match self.hashes {
            0..=3 => 0.0,
            k => same_step_excess(cells, items, fill, 2.0 * f64::from(k) * cells as f64 * cells as f64),
        }
    }
}

/// Walk of [`Fractional`].
#[derive(Clone, Debug)]
pub struct FractionalWalk {
    at: u64,
    step: u64,
    bend: u64,
    cells: u64,
}

impl Walk for FractionalWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = scale(self.at, self.cells);
        self.at = self.at.wrapping_add(self.step);
        self.step = self.step.wrapping_add(self.bend);
        at
    }
}

#[test]
fn positions_follow_the_formula() {
    let (digest, cells) = (Digest(0x0123_4567_89ab_cdef), 99_991);
    let (step, bend) = (fold(digest.0, STEP), fold(digest.0, BEND));
    let expected = (0..40u64).map(|i| {
        let bent = (i * i.saturating_sub(1) / 2).wrapping_mul(bend);
        scale(digest.0.wrapping_add(i.wrapping_mul(step)).wrapping_add(bent), cells)
    });
    assert!(Fractional::new(40).positions(digest, cells).eq(expected));
}
