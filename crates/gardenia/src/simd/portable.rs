//! The definition of blocked probing, for any memory and any processor.

use super::pattern::{Lanes, Pattern, SHIFTS};
use crate::hash::Digest;

/// The bits that `word` chooses in the lanes of `run`. All eight lanes, so that shifts are
/// constants and nothing is looked up by a lane's number.
#[inline(always)]
fn place(word: u64, run: &[u64; 8]) -> [u64; 8] {
    core::array::from_fn(|lane| run[lane] << (word >> SHIFTS[lane] & 63))
}

/// The bits of a key in the eight words of its block.
#[inline(always)]
pub(super) fn masks(pattern: Pattern, digest: Digest) -> [u64; 8] {
    let first = Pattern::first(digest);
    let Lanes { first: run, second } = pattern.lanes();
    let mut masks = place(first, run.of(first));
    if let Some(run) = second {
        let second = place(Pattern::second(digest), run.of(first));
        (0..8).for_each(|lane| masks[lane] |= second[lane]);
    }
    masks
}

/// Whether all bits of the key are set in its block, whose words `load` gives.
#[inline(always)]
pub(super) fn contains(pattern: Pattern, digest: Digest, load: impl Fn(usize) -> u64) -> bool {
    let (block, masks) = (pattern.block(digest) * 8, masks(pattern, digest));
    (0..8).fold(0, |clear, lane| clear | masks[lane] & !load(block + lane)) == 0
}

/// Sets all bits of the key; true if one was clear.
#[inline(always)]
pub(super) fn insert(pattern: Pattern, digest: Digest, words: &mut [u64]) -> bool {
    let masks = masks(pattern, digest);
    let block = &mut words.as_chunks_mut::<8>().0[pattern.block(digest)];
    let mut clear = 0;
    for (word, mask) in block.iter_mut().zip(masks) {
        clear |= mask & !*word;
        *word |= mask;
    }
    clear != 0
}
