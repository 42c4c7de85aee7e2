//! The definition of blocked probing, for any memory and any processor.

use super::pattern::{LOW, Pattern, TOP};
use crate::hash::Digest;

/// The bits that `word` chooses in `count` lanes of the run, handed over as (lane, bit) pairs.
#[inline(always)]
fn each_bit(word: u64, rotation: usize, count: usize, mut put: impl FnMut(usize, u32)) {
    for i in 0..count {
        let lane = (rotation + i) % 8;
        put(lane, (word >> (LOW + 6 * lane as u32) & 63) as u32);
    }
}

/// All (lane, bit) pairs of a key.
#[inline(always)]
pub(super) fn bits(pattern: Pattern, digest: Digest, mut put: impl FnMut(usize, u32)) {
    let first = Pattern::first(digest);
    let (rotation, (lanes, more)) = ((first >> TOP) as usize, pattern.lanes());
    each_bit(first, rotation, lanes, &mut put);
    if more > 0 {
        each_bit(Pattern::second(digest), rotation, more, &mut put);
    }
}

/// Whether all bits of the key are set in its block, whose words `load` gives.
#[inline(always)]
pub(super) fn contains(pattern: Pattern, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
    let block = pattern.block(digest) * 8;
    let mut clear = 0;
    bits(pattern, digest, |lane, bit| clear |= !load(block + lane) >> bit);
    clear & 1 == 0
}

/// Sets all bits of the key; true if one was clear.
#[inline(always)]
pub(super) fn insert(pattern: Pattern, digest: Digest, words: &mut [u64]) -> bool {
    let block = &mut words[pattern.block(digest) * 8..][..8];
    let mut clear = 0;
    bits(pattern, digest, |lane, bit| {
        clear |= !block[lane] >> bit;
        block[lane] |= 1 << bit;
    });
    clear & 1 == 1
}
