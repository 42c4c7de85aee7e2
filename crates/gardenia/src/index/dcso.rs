//! The positions of DCSO's bloom filters, so that a filter which that program made is asked, merged
//! and kept like any other.
//!
//! The digest is multiplied k times, modulo 2⁶⁴ and then modulo a prime next to it; each product
//! modulo m is a position. The factor and 2⁶⁴ make this a walk that depends on the digest's lowest
//! bits alone where m is a power of two: two keys whose digests agree in these share all positions,
//! and false positives are never rarer than n/m. DCSO's rule for sizes avoids such m by luck only,
//! so that [`overlap`](Scheme::overlap) counts them.
//!
//! Source: DCSO GmbH, "bloom" (program and Go library, 2017); checked against files that it wrote.

use super::{Scheme, SchemeId, Walk};
use crate::hash::Digest;

/// The largest prime below 2⁶⁴.
const PRIME: u64 = 18_446_744_073_709_551_557;
/// The factor.
const FACTOR: u64 = 18_446_744_073_709_550_147;

/// Scheme 11: position i is g^(i+1)·h mod m, of filters in DCSO's format.
///
/// ```
/// use gardenia::index::Dcso;
/// use gardenia::index::Scheme;
/// use gardenia::Digest;
/// let at: Vec<u64> = Dcso::new(2).positions(Digest(1), 1000).collect();
/// assert_eq!(at, [147, 961]); // 2⁶⁴ − 1469, then 1469²
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dcso {
    hashes: u32,
}

impl Dcso {
    /// `hashes` probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }
}

impl Scheme for Dcso {
    type Walk = DcsoWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Dcso)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> DcsoWalk {
        DcsoWalk { state: digest.0 % PRIME, cells }
    }
    /// Keys whose digests agree modulo the power of two in m, or do after some steps of the walk,
    /// have all positions, or all but some, in common, as far as the odd part of m lets them:
    /// `n/m · Σ_j o^-(k-1-|j|) · fill^|j|` for j from -(k-2) to k-2 steps and odd part o. These are
    /// the leading terms: filters that are half full can be off by a fifth.
    fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
        if self.hashes < 2 || cells == 0 || !items.is_finite() {
            return 0.0;
        }
        let odd = (cells >> cells.trailing_zeros()) as f64;
        let last = self.hashes - 1;
        let steps = (0..last).map(|j| {
            let both_ways = if j == 0 { 1.0 } else { 2.0 };
            both_ways * libm::pow(odd, -f64::from(last - j)) * libm::pow(fill, j.into())
        });
        items / cells as f64 * steps.sum::<f64>()
    }
}

/// Walk of [`Dcso`].
#[derive(Clone, Debug, PartialEq)]
pub struct DcsoWalk {
    state: u64,
    cells: u64,
}

impl Walk for DcsoWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(FACTOR) % PRIME;
        self.state % self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn false_positives_at_powers_of_two_are_as_planned() {
        // Few keys, so that what is left out is below the errors of these counts.
        for (cells, items, hashes) in [(1 << 16, 400, 5), (1 << 18, 1_000, 4), (1 << 16, 300, 3)] {
            let (scheme, queries, sets) = (Dcso::new(hashes), 20_000_u32, 40);
            let mut shares = vec![];
            for set in 0..sets {
                let digest = |i: u32| Digest(Digest(set).word(1 + i));
                let mut bits = vec![false; cells];
                for key in 0..items {
                    scheme.positions(digest(key), cells as u64).for_each(|at| bits[at as usize] = true);
                }
                let found = (items..items + queries)
                    .filter(|i| scheme.positions(digest(*i), cells as u64).all(|at| bits[at as usize]))
                    .count();
                shares.push(found as f64 / f64::from(queries));
            }
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let spread = shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>();
            let error = libm::sqrt(spread / shares.len() as f64 / (shares.len() - 1) as f64);
            let planned = scheme.planned_fpp(cells as u64, items.into());
            assert!((mean - planned).abs() < 5.0 * error, "{cells}: {mean} ± {error}, not {planned}");
        }
    }

    #[test]
    fn an_odd_number_of_cells_costs_nothing() {
        let ideal = crate::theory::bloom::fpp_exact(10_007, 1_000, 6);
        assert!((Dcso::new(6).planned_fpp(10_007, 1_000) / ideal - 1.0).abs() < 1e-3);
    }
}
