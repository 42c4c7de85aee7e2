//! Hash functions of foreign formats: Murmur3 in the forms that Spark, Guava, Hive and Bitcoin use,
//! and RocksDB's.
//!
//! Murmur3 is by Austin Appleby (2011, in the public domain). Each form here is checked by files
//! that the programs wrote.

/// One step of Murmur3's 32-bit function.
#[inline]
fn mix(state: u32, word: u32) -> u32 {
    let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (state ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// The end of Murmur3's 32-bit function.
#[inline]
fn finish(state: u32, len: usize) -> u32 {
    let mut h = state ^ len as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// The end of Murmur3's 64-bit lanes.
#[inline]
fn finish_64(mut h: u64) -> u64 {
    h = (h ^ h >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ h >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ h >> 33
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Up to eight bytes as a little-endian number.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Murmur3_x86_32 as its author wrote it.
pub(super) fn x86_32(key: &[u8], seed: u32) -> u32 {
    let (words, rest) = key.as_chunks::<4>();
    let mut state = words.iter().fold(seed, |state, word| mix(state, u32::from_le_bytes(*word)));
    if !rest.is_empty() {
        let word = number(rest) as u32;
        state ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    }
    finish(state, key.len())
}

/// Spark's form: each byte after the last whole word is a word of its own, with its sign.
pub(super) fn spark(key: &[u8], seed: u32) -> u32 {
    let (words, rest) = key.as_chunks::<4>();
    let state = words.iter().fold(seed, |state, word| mix(state, u32::from_le_bytes(*word)));
    let state = rest.iter().fold(state, |state, byte| mix(state, *byte as i8 as u32));
    finish(state, key.len())
}

/// Murmur3_x64_128 with seed 0: the two halves.
pub(super) fn x64_128(key: &[u8]) -> (u64, u64) {
    let first = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |word: u64| word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, rest) = key.as_chunks::<16>();
    for block in blocks {
        h1 ^= first(number(&block[..8]));
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= second(number(&block[8..]));
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    h2 ^= second(number(high));
    h1 ^= first(number(low));
    let len = key.len() as u64;
    (h1, h2) = (h1 ^ len, h2 ^ len);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish_64(h1), finish_64(h2));
    h1 = h1.wrapping_add(h2);
    (h1, h2.wrapping_add(h1))
}

/// Hive's form with one lane of 64 bits, under Hive's seed.
pub(super) fn hive(key: &[u8]) -> u64 {
    let lane = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let (words, rest) = key.as_chunks::<8>();
    let mut h = 104_729u64;
    for word in words {
        h = (h ^ lane(u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    finish_64(h ^ lane(number(rest)) ^ key.len() as u64)
}

/// Thomas Wang's mix of a 64-bit number, with the signed shifts of Hive and ORC.
pub(super) fn wang(key: i64) -> u64 {
    let mut h = (!key).wrapping_add(key << 21);
    h ^= h >> 24;
    h = h.wrapping_add(h << 3).wrapping_add(h << 8);
    h ^= h >> 14;
    h = h.wrapping_add(h << 2).wrapping_add(h << 4);
    h ^= h >> 28;
    h.wrapping_add(h << 31) as u64
}

#[test]
fn the_functions_are_those_of_their_authors() {
    // Values of the reference programs, as the literature on Murmur3 prints them.
    assert_eq!((x86_32(b"", 0), x86_32(b"", 1), x86_32(b"hello", 0)), (0, 0x514e_28b7, 0x248b_fa47));
    assert_eq!(x86_32(b"hello, world", 0), 0x149b_bb7f);
    assert_eq!(x64_128(b""), (0, 0));
    assert_eq!(x64_128(b"hello"), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
    // Without a rest Spark's form is the author's.
    assert_eq!(spark(b"rosebuds", 7), x86_32(b"rosebuds", 7));
    assert_ne!(spark(b"rosebud", 7), x86_32(b"rosebud", 7));
}
