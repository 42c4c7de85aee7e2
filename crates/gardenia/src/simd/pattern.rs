//! The pattern of a key in a block of 512 bits: which bits it sets in the eight 64-bit lanes.

use super::level::Level;
use crate::hash::Digest;
use crate::index::scale;

/// Multipliers that make the words of a pattern from the digest. Odd constants of well-mixed bits
/// (from SplitMix64); the block index takes the digest's high bits, the products bring its low bits
/// up.
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// Where the windows of the eight lanes begin: each takes six bits, the rotation the three bits
/// above the last. Windows are disjoint: overlapping ones raised the error from 0.77 % to 1.01 % in
/// a trial.
pub(super) const SHIFTS: [u64; 8] = [13, 19, 25, 31, 37, 43, 49, 55];
/// The lowest bit of the rotation.
const TOP: u32 = 61;

/// Runs of a number of lanes by rotation, each on a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Runs([[u64; 8]; 8]);

impl Runs {
    /// 1 in the lanes from the rotation on that the key's first word has, 0 elsewhere.
    #[inline(always)]
    pub(super) fn of(&self, first: u64) -> &[u64; 8] {
        &self.0[(first >> TOP) as usize]
    }
}

/// The runs of 0 to 8 lanes.
static RUNS: [Runs; 9] = {
    let mut runs = [const { Runs([[0; 8]; 8]) }; 9];
    let mut lanes = 0;
    while lanes <= 8 {
        let mut rotation = 0;
        while rotation < 8 {
            let mut i = 0;
            while i < lanes {
                runs[lanes].0[rotation][(rotation + i) % 8] = 1;
                i += 1;
            }
            rotation += 1;
        }
        lanes += 1;
    }
    runs
};

/// The lanes in which a key has a first bit, and a second, by rotation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    pub(super) first: &'static Runs,
    /// For more than eight bits per key.
    pub(super) second: Option<&'static Runs>,
}

/// How many bits a key sets, how many blocks there are, and with which instructions they are
/// probed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) blocks: u64,
    pub(crate) hashes: u32,
    /// Blocks before the given part of the table; 0 for the whole.
    skipped: usize,
    /// Blocks of that part.
    here: usize,
    lanes: Lanes,
    /// Found out once per filter: a single query is too short to ask the processor.
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), allow(dead_code))]
    level: Level,
    /// Whether keys have at most eight bits, and AVX-512 finds them.
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), allow(dead_code))]
    shortest: bool,
}

impl Pattern {
    /// The best level of this processor.
    pub(crate) fn new(blocks: u64, hashes: u32) -> Self {
        let bits = hashes.clamp(1, 16) as usize;
        let lanes = Lanes { first: &RUNS[bits.min(8)], second: (bits > 8).then(|| &RUNS[bits - 8]) };
        let whole = Self {
            blocks,
            hashes,
            skipped: 0,
            here: blocks as usize,
            lanes,
            level: Level::Portable,
            shortest: false,
        };
        whole.at(Level::best())
    }

    /// The same with other instructions, or the best that the processor has of them.
    pub(crate) fn at(self, level: Level) -> Self {
        let level = level.min(Level::best());
        Self { level, shortest: level == Level::Avx512 && self.lanes.second.is_none(), ..self }
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

    /// Whether keys have at most eight bits, and AVX-512 finds them: the usual case. Single calls
    /// ask this first, and then the level, because of one value with four cases the compiler makes
    /// a table of jumps.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline(always)]
    pub(super) fn is_shortest(&self) -> bool {
        self.shortest
    }

    /// The block of a key in the given part of the table.
    #[inline(always)]
    pub(crate) fn block(self, digest: Digest) -> usize {
        let block = scale(digest.0, self.blocks) as usize - self.skipped;
        debug_assert!(block < self.here);
        block
    }

    /// The block of a key if this is the whole table.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline(always)]
    pub(super) fn block_of_all(&self, digest: Digest) -> usize {
        debug_assert!(self.skipped == 0);
        scale(digest.0, self.blocks) as usize
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

    #[inline(always)]
    pub(super) fn lanes(&self) -> Lanes {
        self.lanes
    }
}
