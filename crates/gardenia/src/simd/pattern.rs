//! The pattern of a key in a block of 512 bits: which bits it sets in the eight 64-bit lanes.

use super::level::Level;
use crate::hash::Digest;
use crate::index::scale;

/// Multipliers that make the words of a pattern from the digest. Odd constants of well-mixed bits (from
/// SplitMix64); the block index takes the digest's high bits, the products bring its low bits up.
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// Where the windows of the eight lanes begin: each takes six bits, the rotation the three bits above the last.
/// Windows are disjoint: overlapping ones raised the error from 0.77 % to 1.01 % in a trial.
pub(super) const SHIFTS: [u64; 8] = [13, 19, 25, 31, 37, 43, 49, 55];
/// The lowest bit of the rotation.
const TOP: u32 = 61;

/// Runs by k' lanes and rotation, each on a cache line of its own.
#[repr(C, align(64))]
pub(super) struct Runs([[[u64; 8]; 8]; 16]);

impl Runs {
    /// 1 in the `lanes` lanes from the rotation on that the key's first word has, 0 elsewhere.
    #[inline(always)]
    pub(super) fn of(&self, lanes: usize, first: u64) -> &[u64; 8] {
        &self.0[lanes % 16][(first >> TOP) as usize]
    }
}

pub(super) static RUNS: Runs = {
    let mut runs = [[[0; 8]; 8]; 16]; // sixteen rows, so that a masked index needs no check
    let mut lanes = 0;
    while lanes <= 8 {
        let mut rotation = 0;
        while rotation < 8 {
            let mut i = 0;
            while i < lanes {
                runs[lanes][rotation][(rotation + i) % 8] = 1;
                i += 1;
            }
            rotation += 1;
        }
        lanes += 1;
    }
    Runs(runs)
};

/// How many bits a key sets, how many blocks there are, and with which instructions they are probed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) blocks: u64,
    pub(crate) hashes: u32,
    /// Blocks before the given part of the table; 0 for the whole.
    skipped: usize,
    /// Blocks of that part.
    here: usize,
    /// Lanes with a first bit, and with a second.
    lanes: (usize, usize),
    /// Found out once per filter: a single query is too short to ask the processor.
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), allow(dead_code))]
    level: Level,
}

impl Pattern {
    /// The best level of this processor.
    pub(crate) fn new(blocks: u64, hashes: u32) -> Self {
        let bits = hashes.clamp(1, 16) as usize;
        let lanes = (bits.min(8), bits.saturating_sub(8));
        Self { blocks, hashes, skipped: 0, here: blocks as usize, lanes, level: Level::best() }
    }

    /// The same with other instructions, or the best that the processor has of them.
    pub(crate) fn at(self, level: Level) -> Self {
        Self { level: level.min(Level::best()), ..self }
    }

    /// The same for a part of the table, `here` blocks from block `skipped` on.
    #[cfg(feature = "std")]
    pub(crate) fn part(self, skipped: usize, here: usize) -> Self {
        Self { skipped, here, ..self }
    }

    /// Blocks of the given part of the table.
    #[inline(always)]
    pub(crate) fn here(self) -> usize {
        self.here
    }

    /// The instructions, which the processor has.
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(crate) fn level(self) -> Level {
        self.level
    }

    /// The block of a key in the given part of the table.
    #[inline(always)]
    pub(crate) fn block(self, digest: Digest) -> usize {
        let block = scale(digest.0, self.blocks) as usize - self.skipped;
        debug_assert!(block < self.here);
        block
    }

    /// The word of the first bits, and of the rotation.
    #[inline(always)]
    pub(super) fn first(digest: Digest) -> u64 {
        digest.0.wrapping_mul(FIRST)
    }

    /// The word of the second bits, for more than eight bits per key.
    #[inline(always)]
    pub(super) fn second(digest: Digest) -> u64 {
        digest.0.wrapping_mul(SECOND)
    }

    /// Lanes with a first bit, at most eight, and lanes with a second.
    #[inline(always)]
    pub(super) fn lanes(self) -> (usize, usize) {
        self.lanes
    }
}
