//! MurmurHash2 with 32 and with 64 bits, the hash functions of RedisBloom.
//!
//! Words of the key are multiplied, folded and multiplied again before they enter the state; what
//! is left over enters as one shorter word, little-endian, and the state is folded twice at the
//! end. The length goes into the first state, so that a key and the same key with zeros behind it
//! differ.
//!
//! Source: Austin Appleby, "MurmurHash2" and its 64-bit variant "MurmurHash64A" (2008), in the
//! public domain.

/// Multiplier of the 64-bit function; RedisBloom's Bloom filters also take it as their first seed.
pub const MULTIPLIER_64: u64 = 0xc6a4_a793_5bd1_e995;
/// Multiplier of the 32-bit function; RedisBloom's cuckoo filters also move fingerprints by it.
pub const MULTIPLIER_32: u32 = 0x5bd1_e995;

/// MurmurHash64A of `key`.
///
/// ```
/// use gardenia::format::redisbloom::murmur::murmur64;
/// assert_eq!(murmur64(b"hello", 0), 0x1e68_d17c_457b_f117);
/// ```
#[inline]
#[must_use]
pub fn murmur64(key: &[u8], seed: u64) -> u64 {
    const M: u64 = MULTIPLIER_64;
    let fold = |word: u64| word ^ (word >> 47);
    let mut state = seed ^ (key.len() as u64).wrapping_mul(M);
    let (words, rest) = key.as_chunks::<8>();
    for word in words {
        let word = fold(u64::from_le_bytes(*word).wrapping_mul(M)).wrapping_mul(M);
        state = (state ^ word).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        state = (state ^ word).wrapping_mul(M);
    }
    fold(fold(state).wrapping_mul(M))
}

/// MurmurHash2 of `key`, with 32 bits. Of the length only the low 32 bits count.
///
/// ```
/// use gardenia::format::redisbloom::murmur::murmur32;
/// assert_eq!(murmur32(b"hello", 0), 0xe561_29cb);
/// ```
#[inline]
#[must_use]
pub fn murmur32(key: &[u8], seed: u32) -> u32 {
    const M: u32 = MULTIPLIER_32;
    let mut state = seed ^ key.len() as u32;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let word = u32::from_le_bytes(*word).wrapping_mul(M);
        state = state.wrapping_mul(M) ^ (word ^ (word >> 24)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        state = (state ^ word).wrapping_mul(M);
    }
    let state = (state ^ (state >> 13)).wrapping_mul(M);
    state ^ (state >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of a second program, written in another language from the same description. That both
    /// describe what a server computes is shown by its dumps (`tests/redisbloom.rs`).
    #[test]
    fn every_length_of_the_rest_has_its_golden_value() {
        let text = b"in a garden of bits";
        let golden = [
            (0x6e80_9507_82bd_be12, 0x82bc_6669),
            (0x14ab_ad76_e030_9edc, 0x6a6e_4b70),
            (0x4e46_9e1d_7abe_36bb, 0x5a6c_e2c0),
            (0x2467_e84e_31ce_ca55, 0x501d_cd90),
            (0x60ce_faba_b465_3cbc, 0x69b6_1c75),
            (0xfcb8_d992_e938_094c, 0x9ba8_e11e),
            (0x860a_7430_1ec0_c887, 0xed79_b7d8),
            (0x7658_d2ba_1144_79ee, 0xdc30_a12b),
            (0x4f11_c3fe_8509_7af4, 0x1222_1281),
            (0xf337_a9f5_3acf_5f70, 0x9473_a37f),
            (0xe4af_069d_827d_6d0c, 0xce62_c237),
            (0xf15f_9886_e785_7a1a, 0x6aa9_b0ee),
            (0x3e10_cb97_c2a6_31fc, 0x99c4_22bc),
            (0x9a02_2bba_2083_0909, 0x4052_03a7),
            (0x2413_5e8d_e398_2fbd, 0x8d2b_8a27),
            (0xc719_f33d_cd52_b38c, 0x4782_0f91),
            (0xf28a_7f5f_c378_590e, 0x4e41_e8fc),
            (0x6041_8c95_d015_5806, 0xb9af_dcbf),
            (0x64b7_b9cc_6a66_c3b4, 0x41ec_47a8),
            (0x926e_e744_84e0_9060, 0x128e_2e69),
        ];
        assert_eq!(golden.len(), text.len() + 1);
        for (length, (long, short)) in golden.into_iter().enumerate() {
            assert_eq!(murmur64(&text[..length], 7), long, "{length} bytes");
            assert_eq!(murmur32(&text[..length], 7), short, "{length} bytes");
        }
    }

    #[test]
    fn bytes_above_127_and_zeros_count() {
        assert_ne!(murmur64(b"\x80", 0), murmur64(b"\x00", 0));
        assert_ne!(murmur64(b"", 0), murmur64(b"\x00", 0));
        assert_ne!(murmur32(b"a\xff", 0), murmur32(b"a\x7f", 0));
    }
}
