//! Partition schemes: probe i goes to slice i of m' = m/k cells.
//!
//! m must be a multiple of k; [`Scheme::fit`] rounds up. Slices shrink the range of the hash
//! values, at a price: a partitioned filter is never better than a shared one, and with two hash
//! values the excess is the largest of all schemes (n·k²/m²), because m' and not m is the range. A
//! step of zero is legal here: each slice is its own table.
//!
//! Source: Kirsch and Mitzenmacher (2006), section 2 (m' prime) and (2008), section 5.1 (any m').

use super::{LineWalk, MAX_CELLS, Scheme, SchemeId, WordWalk, prime, scale, small_prime};
use crate::hash::Digest;
use crate::theory::kirsch_mitzenmacher::partition_excess;

/// Divides cell counts by k without a division: ⌊2⁶⁴/k⌋+1, exact below 2⁵⁶ for k ≤ 255.
#[inline]
const fn slice_of(cells: u64, reciprocal: u64, hashes: u32) -> u64 {
    if hashes <= 1 { cells } else { scale(reciprocal, cells) }
}

const fn reciprocal(hashes: u32) -> u64 {
    if hashes <= 1 { 0 } else { u64::MAX / hashes as u64 + 1 }
}

/// Defines a partition scheme over the two-value progression or over independent values.
macro_rules! partition_scheme {
    ($(#[$doc:meta])* $name:ident, $id:ident, $walk:ident: $new:expr, $fit:expr, $sums:expr, $excess:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            hashes: u32,
            reciprocal: u64,
        }

        impl $name {
            /// A partition into `hashes` slices, one probe in each.
            #[must_use]
            pub const fn new(hashes: u32) -> Self {
                Self { hashes, reciprocal: reciprocal(hashes) }
            }
        }

        impl Scheme for $name {
            type Walk = $walk;
            fn id(&self) -> Option<SchemeId> {
                Some(SchemeId::$id)
            }
            fn hashes(&self) -> u32 {
                self.hashes
            }
            #[inline]
            fn walk(&self, digest: Digest, cells: u64) -> $walk {
                $new(digest, slice_of(cells, self.reciprocal, self.hashes))
            }
            fn fit(&self, cells: u64) -> u64 {
                let k = u64::from(self.hashes.max(1));
                let fit: fn(u64) -> u64 = $fit;
                // Above the largest size nothing fits; the caller's check says so.
                if cells > MAX_CELLS { cells } else { fit(cells.div_ceil(k)) * k }
            }
            fn best_fit(&self, cells: u64) -> u64 {
                let k = u64::from(self.hashes.max(1));
                if cells > MAX_CELLS { cells } else { self.fit(small_prime(cells.div_ceil(k), 2) * k) }
            }
            fn partitioned(&self) -> bool {
                true
            }
            fn modulus(&self, cells: u64) -> Option<u64> {
                $sums.then(|| slice_of(cells, self.reciprocal, self.hashes))
            }
            fn overlap(&self, cells: u64, items: f64, fill: f64) -> f64 {
                let excess: fn(u64, u32, f64, f64) -> f64 = $excess;
                excess(cells, self.hashes, items, fill)
            }
        }
    };
}

partition_scheme! {
    /// Scheme 2: position i is i·m' + (h1 + i·h2 mod m'), any m'.
    ///
    /// ```
    /// use gardenia::index::{Partition, Scheme};
    /// use gardenia::Digest;
    /// let scheme = Partition::new(3);
    /// assert_eq!(scheme.fit(100), 102);
    /// let at: Vec<u64> = scheme.positions(Digest(77), 102).collect();
    /// assert_eq!(at.iter().map(|p| p / 34).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    Partition, Partition, LineWalk: line, |slice| slice, true, partition_excess
}
partition_scheme! {
    /// Scheme 3: as [`Partition`] with m' prime, the case that the papers' first proof needs: two
    /// keys that meet in two slices meet in all.
    ///
    /// ```
    /// use gardenia::index::{PartitionPrime, Scheme};
    /// assert_eq!(PartitionPrime::new(3).fit(100), 3 * 37);
    /// ```
    PartitionPrime, PartitionPrime, LineWalk: line, prime::at_least, true, partition_excess
}
partition_scheme! {
    /// Scheme 9: position i is i·m' + h_i, a hash value of its own in each slice.
    ///
    /// ```
    /// use gardenia::index::{PartitionIndependent, Scheme};
    /// use gardenia::Digest;
    /// let at: Vec<u64> = PartitionIndependent::new(2).positions(Digest(1 << 63), 20).collect();
    /// assert_eq!(at[0], 5);
    /// assert!((10..20).contains(&at[1]));
    /// ```
    PartitionIndependent, PartitionIndependent, WordWalk: words, |slice| slice, false, |_, _, _, _| 0.0
}

/// The walk of two hash values through slices.
#[inline]
fn line(digest: Digest, slice: u64) -> LineWalk {
    let [at, step] = [0, 1].map(|i| scale(digest.word(i), slice));
    LineWalk { at, step, base: 0, slice, cells: slice }
}

/// The walk of a hash value for each slice.
#[inline]
fn words(digest: Digest, slice: u64) -> WordWalk {
    WordWalk::new(digest, slice, slice)
}

#[test]
fn the_reciprocal_divides_exactly() {
    for k in 1..=255u32 {
        for cells in [1, 7, 254, 255, 256, 1 << 20, MAX_CELLS - 1, MAX_CELLS] {
            assert_eq!(slice_of(cells, reciprocal(k), k), cells / u64::from(k), "{cells} / {k}");
        }
    }
}
