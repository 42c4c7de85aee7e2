//! Enhanced double hashing in fractions of the table: the default.
//!
//! The same sum as [`Enhanced`](super::Enhanced), but start, step and offset are 64-bit binary fractions of
//! the whole table, added modulo 1 (that is, modulo 2⁶⁴), and only the result is scaled to m cells. That
//! replaces two compare-and-subtract steps per probe by plain additions: a query of seven probes in cache
//! takes two thirds of the time, and there are no special cases for small or composite m. Steps are 2⁶⁴
//! fine instead of m, so that two keys meet in all their cells even more rarely: n/m² is an upper bound.
//!
//! Source: after Dillinger and Manolios (2004) and Kirsch and Mitzenmacher (2008); the fractions are ours.

use super::{Scheme, SchemeId, Walk, scale};
use crate::hash::Digest;
use crate::theory::kirsch_mitzenmacher::coincidence_excess;

/// The unit of the cubic term: the golden section of the table, far from every simple fraction.
const UNIT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplier that makes the step from the digest (from SplitMix64's finaliser; any odd mixer would do).
const STEP: u64 = 0xbf58_476d_1ce4_e5b9;

/// Scheme 10: position i is ⌊m·{h1 + i·h2 + ((i³−i)/6)·γ}⌋, where {} is the fraction modulo 1.
///
/// h1 is the digest, h2 the exclusive or of both halves of the 128-bit product of digest and a constant, γ
/// the golden section, all as fractions of 2⁶⁴.
///
/// ```
/// use gardenia::{Digest, Fractional, Scheme};
/// let at: Vec<u64> = Fractional::new(3).positions(Digest(1 << 63), 1000).collect();
/// assert_eq!(at[0], 500); // the digest is one half of the range
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fractional {
    hashes: u32,
}

impl Fractional {
    /// Fractional double hashing with `hashes` probes per key.
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
        let product = u128::from(digest.0) * u128::from(STEP);
        let step = (product >> 64) as u64 ^ product as u64;
        FractionalWalk { at: digest.0, step, bend: 0, cells }
    }
    fn excess(&self, cells: u64, items: f64, _fill: f64) -> f64 {
        coincidence_excess(cells, items)
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
        self.bend = self.bend.wrapping_add(UNIT);
        self.step = self.step.wrapping_add(self.bend);
        at
    }
}

#[test]
fn positions_follow_the_formula() {
    let (digest, cells) = (Digest(0x0123_4567_89ab_cdef), 99_991);
    let product = u128::from(digest.0) * u128::from(STEP);
    let step = (product >> 64) as u64 ^ product as u64;
    let expected = (0..40u64).map(|i| {
        let cubic = (i * i * i - i) / 6;
        scale(digest.0.wrapping_add(i.wrapping_mul(step)).wrapping_add(cubic.wrapping_mul(UNIT)), cells)
    });
    assert!(Fractional::new(40).positions(digest, cells).eq(expected));
}
