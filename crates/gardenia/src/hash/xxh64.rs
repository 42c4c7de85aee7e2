//! Hasher 4: XXH64 with a 64-bit seed (Collet), the hash function of Parquet's filters.

use super::Digest;

const PRIMES: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// The digest of `bytes` by XXH64 with `seed`.
#[inline]
pub(super) fn digest(seed: u64, bytes: &[u8]) -> Digest {
    Digest(xxhash_rust::xxh64::xxh64(bytes, seed))
}

/// The digest of the eight little-endian bytes of `value`: XXH64's steps for that length, written
/// out.
///
/// The same value as [`digest`] of the bytes (tested), without branches on the length, so that a
/// batch of integers is hashed in vector registers.
#[inline(always)]
pub(super) fn digest_u64(seed: u64, value: u64) -> Digest {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let word = value.wrapping_mul(p2).rotate_left(31).wrapping_mul(p1);
    let mut h = seed.wrapping_add(p5).wrapping_add(8) ^ word;
    h = h.rotate_left(27).wrapping_mul(p1).wrapping_add(p4);
    h = (h ^ h >> 33).wrapping_mul(p2);
    h = (h ^ h >> 29).wrapping_mul(p3);
    Digest(h ^ h >> 32)
}

#[test]
fn the_steps_for_eight_bytes_are_those_of_the_whole_function() {
    for i in 0..10_000 {
        let (seed, value) = (Digest(i).word(1), Digest(i).word(2));
        for seed in [0, 1, seed, u64::MAX] {
            assert_eq!(digest_u64(seed, value), digest(seed, &value.to_le_bytes()), "{seed} {value}");
        }
    }
}
