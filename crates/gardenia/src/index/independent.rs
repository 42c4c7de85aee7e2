//! k independent hash values: the standard Bloom filter.
//!
//! The values are words 0 to k−1 of the digest, so "independent" holds up to equal digests (n/2⁶⁴).
//!
//! Source: Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors" (1970).

use super::{Scheme, SchemeId, WordWalk};
use crate::hash::Digest;

/// Scheme 1: position i is h_i, a hash value of its own.
///
/// ```
/// use gardenia::index::{Independent, Scheme};
/// use gardenia::Digest;
/// let at: Vec<u64> = Independent::new(2).positions(Digest(1 << 63), 10).collect();
/// assert_eq!(at[0], 5); // word 0 is the digest: one half of the range
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Independent {
    hashes: u32,
}

impl Independent {
    /// `hashes` independent probes per key.
    #[must_use]
    pub const fn new(hashes: u32) -> Self {
        Self { hashes }
    }
}

impl Scheme for Independent {
    type Walk = WordWalk;
    fn id(&self) -> Option<SchemeId> {
        Some(SchemeId::Independent)
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> WordWalk {
        WordWalk::new(digest, 0, cells)
    }
}
