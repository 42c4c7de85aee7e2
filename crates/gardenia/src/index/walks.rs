//! The walks that several schemes share: a line, a curve, and words of the digest.
//!
//! A scheme that is known at compile time fills the fields it does not need with constants, which
//! the compiler folds away. [`AnyScheme`](super::AnyScheme) has one compiled loop for each of these
//! walks.

use super::{Walk, scale, settle, wrap};
use crate::hash::Digest;

/// Equal steps modulo m, in one table (`slice` is 0) or each in the next slice: double hashing and
/// partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct LineWalk {
    pub(super) at: u64,
    pub(super) step: u64,
    /// Where the current slice begins.
    pub(super) base: u64,
    /// How far it is to the next slice.
    pub(super) slice: u64,
    /// The modulus, m.
    pub(super) cells: u64,
}

impl Walk for LineWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.base + self.at;
        self.base += self.slice;
        self.at = wrap(self.at + self.step, self.cells);
        at
    }
}

/// Any sum of h1 + i·h2 and a polynomial of third degree, modulo m, by its differences: the step
/// grows by the bend, and the bend by the curl.
///
/// Enhanced and triple hashing have walks of their own, which leave out what is zero; this is the
/// one they share.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveWalk {
    at: u64,
    step: u64,
    bend: u64,
    curl: u64,
    cells: u64,
}

impl CurveWalk {
    /// The walk of h1 + i·h2 + f(i), where `differences` are f(1) − f(0), how much more f(2) − f(1)
    /// is, and how much that grows each time; all below m.
    #[inline(always)]
    pub(super) fn new(digest: Digest, cells: u64, differences: [u64; 3]) -> Self {
        let [at, step] = [0, 1].map(|i| scale(digest.word(i), cells));
        let [first, bend, curl] = differences;
        let step = if first == 0 { step } else { wrap(step + first, cells) };
        Self { at, step, bend, curl, cells }
    }
}

impl Walk for CurveWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.at;
        self.at = wrap(at + self.step, self.cells);
        self.step = wrap(self.step + self.bend, self.cells);
        self.bend = settle(self.bend + self.curl, self.cells);
        at
    }
}

/// A word of the digest for each position, in one table (`slice` is 0) or each in the next slice.
#[derive(Clone, Debug, PartialEq)]
pub struct WordWalk {
    digest: Digest,
    i: u32,
    base: u64,
    slice: u64,
    cells: u64,
}

impl WordWalk {
    /// Positions in `0..cells`, each `slice` further on.
    #[inline]
    pub(super) fn new(digest: Digest, slice: u64, cells: u64) -> Self {
        Self { digest, i: 0, base: 0, slice, cells }
    }
}

impl Walk for WordWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.base + scale(self.digest.word(self.i), self.cells);
        self.i += 1;
        self.base += self.slice;
        at
    }
}
