//! Hasher 1: XXH3-64 with a 64-bit seed (Collet), the default.

use super::Digest;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The digest of `bytes` by XXH3-64 with `seed`.
#[inline]
pub(super) fn digest(seed: u64, bytes: &[u8]) -> Digest {
    // Seed 0 is XXH3 without a seed. Saying so lets the compiler fold the seed into constants, which takes
    // a third off the time of a short key.
    Digest(if seed == 0 { xxh3_64(bytes) } else { xxh3_64_with_seed(bytes, seed) })
}
