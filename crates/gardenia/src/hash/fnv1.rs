//! Hasher 3: FNV-1 with 64 bits (Fowler, Noll and Vo), for filters that other programs made.
//!
//! Slow on long keys, and weak: the last byte of a key reaches eight bits of its digest only.
//! Filters of our own have better.

use super::Digest;

/// The digest of a key.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    let step = |hash: u64, byte: &u8| hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte);
    Digest(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

#[test]
fn digests_are_those_of_the_authors_tables() {
    // From the test vectors that the authors publish for 64-bit FNV-1.
    for (text, hash) in
        [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_bd4c_8601_b7be), ("foobar", 0x340d_8765_a4dd_a9c2)]
    {
        assert_eq!(digest(text.as_bytes()), Digest(hash), "{text}");
    }
}
