//! The shape of a layer, and where a key's row lies in it.

use super::band::{Band, fingerprint};
use crate::SizeError;
use crate::cells::Memory;
use crate::hash::Digest;
use crate::index::MAX_CELLS;

/// Slots to a block: one word for each bit of the fingerprint.
pub(crate) const BLOCK: u64 = 64;

/// Slots of a segment, about. Segments are solved apart from each other, by any number of threads;
/// the few slots that stay empty at the border of two are a thousandth.
const SEGMENT: u64 = 1 << 16;

/// Keys that are no longer bumped: the last layer has room to spare, which so few do not make dear.
const LAST: u64 = 2048;

/// One linear system: segments of blocks of slots, each key's equation within one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// Independent parts.
    pub(crate) segments: u64,
    /// Blocks of 64 slots in each of them.
    pub(crate) blocks: u64,
    /// Which word of a key's digest is its word here.
    pub(crate) attempt: u32,
    /// Whether buckets have thresholds.
    pub(crate) bumps: bool,
    /// Blocks, counted over all segments, that have a word for each bit of the fingerprint; those
    /// after them have one fewer.
    pub(crate) full: u64,
    /// Blocks of all segments, and slots of one at which a row can start: so that the last block
    /// that it touches is in the segment, too. Both follow from the other fields.
    pub(crate) all: u64,
    pub(crate) starts: u64,
    /// Words before the first block.
    pub(crate) first: u64,
    /// Words before the first thresholds.
    pub(crate) thresholds: u64,
}

/// Where a key's row lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which segment.
    pub(crate) segment: u64,
    /// The first slot of the row, in the segment.
    pub(crate) start: u64,
}

/// The words that a key asks for, and what they should say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// Words before the first bit of each block.
    pub(crate) at: [usize; 3],
    /// Coefficients of each block.
    pub(crate) coefficients: [u64; 3],
    /// Bits of the fingerprint that are stored there.
    pub(crate) width: u32,
    /// The fingerprint.
    pub(crate) fingerprint: u32,
}

#[inline(always)]
fn scale(word: u64, range: u64) -> (u64, u64) {
    let product = u128::from(word) * u128::from(range);
    ((product >> 64) as u64, product as u64)
}

impl Layer {
    /// A layer for this many keys, with bumping unless they are few, or `last` is set.
    pub(crate) fn for_items<B: Band>(items: u64, attempt: u32, last: bool) -> Result<Self, SizeError> {
        let bumps = !last && items > LAST;
        let slots = if bumps { items as f64 / B::LOAD } else { items as f64 * B::SLACK };
        let slots = slots as u64;
        if slots > MAX_CELLS - MAX_CELLS / 64 {
            return Err(SizeError::TooManyCells { cells: slots, max: MAX_CELLS });
        }
        let segments = if bumps { ((slots + SEGMENT / 2) / SEGMENT).max(1) } else { 1 };
        // A last layer, and one that is too small for its end to be hidden by overload, has a whole width more.
        let blocks = if bumps { slots / segments / BLOCK } else { slots / BLOCK + B::WIDTH / BLOCK };
        // Buckets do not reach into another segment.
        let unit = if bumps { B::BUCKET / BLOCK } else { 1 };
        let blocks = (blocks + 1).max(B::BLOCKS as u64).next_multiple_of(unit);
        Ok(Self::new::<B>(segments, blocks, attempt, bumps))
    }

    /// A layer of whatever shape, with no full blocks and laid out nowhere.
    pub(crate) fn new<B: Band>(segments: u64, blocks: u64, attempt: u32, bumps: bool) -> Self {
        let (all, starts) = (segments * blocks, blocks * BLOCK - B::WIDTH);
        Self { segments, blocks, attempt, bumps, full: 0, all, starts, first: 0, thresholds: 0 }
    }

    /// The layer for another attempt, with a 16th more room if it is the last.
    pub(crate) fn again<B: Band>(self) -> Self {
        let more = if self.bumps { 0 } else { self.blocks / 16 + 1 };
        let blocks = self.blocks + more;
        Self::new::<B>(self.segments, blocks, self.attempt + 1, self.bumps)
    }

    /// Slots of one segment.
    #[inline(always)]
    pub(crate) fn segment_slots(&self) -> u64 {
        self.blocks * BLOCK
    }

    /// Slots of all segments.
    pub(crate) fn slots(&self) -> u64 {
        self.segments * self.segment_slots()
    }

    /// Buckets of one segment, of a layer with bumping.
    pub(crate) fn buckets<B: Band>(&self) -> u64 {
        self.segment_slots() / B::BUCKET
    }

    /// Words that hold the solution, for fingerprints of this many bits.
    pub(crate) fn solution_words(&self, width: u32) -> u64 {
        self.block_words(self.all, width)
    }

    /// Words that hold the thresholds.
    pub(crate) fn threshold_words<B: Band>(&self) -> u64 {
        if self.bumps { (self.segments * self.buckets::<B>()).div_ceil(32) } else { 0 }
    }

    /// Words before block `block` of the layer.
    #[inline(always)]
    pub(crate) fn block_words(&self, block: u64, width: u32) -> u64 {
        block * u64::from(width - 1) + block.min(self.full)
    }

    /// The word of a key in this layer, from its word in the one before, or its digest.
    #[inline(always)]
    pub(crate) fn word(&self, before: u64) -> u64 {
        Digest(before).word(self.attempt)
    }

    /// Where the row of a key lies. In the order of words.
    #[inline(always)]
    pub(crate) fn place(&self, word: u64) -> Place {
        let (segment, rest) = scale(word, self.segments);
        Place { segment, start: scale(rest, self.starts).0 }
    }

    /// Whether a key that lies there is left to the next layer.
    #[inline(always)]
    pub(crate) fn is_bumped<B: Band>(&self, place: Place, memory: &impl Memory) -> bool {
        let bucket = (place.segment * self.blocks + place.start / BLOCK) / (B::BUCKET / BLOCK);
        let code = memory.load((self.thresholds + bucket / 32) as usize) >> (bucket % 32 * 2) & 3;
        place.start % B::BUCKET < u64::from(B::THRESHOLDS[code as usize])
    }

    /// Bits of the fingerprint that a key has which starts in this block of the layer: one fewer if
    /// a block that it may touch has one fewer.
    #[inline(always)]
    fn width<B: Band>(&self, block: u64, width: u32) -> u32 {
        width - 1 + u32::from(block + (B::BLOCKS as u64) <= self.full)
    }

    /// What to ask for a key that lies there, of fingerprints of `width` bits.
    #[inline(always)]
    pub(crate) fn probe<B: Band>(&self, word: u64, place: Place, width: u32) -> Probe {
        let block = place.segment * self.blocks + place.start / BLOCK;
        let coefficients = B::of(word).words((place.start % BLOCK) as u32);
        let (fingerprint, first) = (fingerprint(word), self.first as usize);
        if self.full == self.all {
            // What follows would say the same, with a dozen instructions more.
            let at = core::array::from_fn(|i| first + (block as usize + i) * width as usize);
            return Probe { at, coefficients, width, fingerprint };
        }
        let mut at = [first + self.block_words(block, width) as usize; 3];
        for i in 1..B::BLOCKS {
            at[i] = at[i - 1] + width as usize - 1 + usize::from(block + (i as u64) <= self.full);
        }
        Probe { at, coefficients, width: self.width::<B>(block, width), fingerprint }
    }

    /// The solution of one slot.
    pub(crate) fn slot(&self, at: u64, width: u32, memory: &impl Memory) -> u64 {
        let block = at / BLOCK;
        let (first, next) = (self.block_words(block, width), self.block_words(block + 1, width));
        let bit = |word: u64| memory.load((self.first + first + word) as usize) >> (at % BLOCK) & 1;
        (0..next - first).fold(0, |value, word| value | bit(word) << word)
    }

    /// The share of digests that are asked for all bits of the fingerprint.
    pub(crate) fn share<B: Band>(&self) -> f64 {
        self.full_starts::<B>(self.full) as f64 / (self.segments * self.starts) as f64
    }

    /// Starts whose keys have all bits if the first `full` blocks do.
    fn full_starts<B: Band>(&self, full: u64) -> u64 {
        let beyond = B::BLOCKS as u64 - 1;
        let (segments, rest) = (full / self.blocks, full % self.blocks);
        // Of whole segments all, since no key leaves its segment; of the next those that end in its full blocks.
        let starts = segments * self.starts + rest.saturating_sub(beyond) * BLOCK;
        starts.min(self.segments * self.starts)
    }

    /// The layer with so many full blocks that at least this share of the digests is asked for all
    /// bits.
    pub(crate) fn with_share<B: Band>(self, share: f64) -> Self {
        let needed = libm::ceil(share * (self.segments * self.starts) as f64) as u64;
        let (mut low, mut high) = (0, self.all);
        while low < high {
            let middle = low.midpoint(high);
            if self.full_starts::<B>(middle) >= needed { high = middle } else { low = middle + 1 }
        }
        // Nothing lies beyond the last blocks that somebody asks for.
        let all = share >= 1.0;
        Self { full: if all { self.all } else { low }, ..self }
    }
}

/// Lays the words of all layers out one after the other: solutions first, because the first of them
/// is then aligned, and the thresholds behind. Words in all.
pub(crate) fn lay_out<B: Band>(layers: &mut [Layer], width: u32) -> u64 {
    let mut words = 0;
    for layer in layers.iter_mut() {
        layer.first = words;
        words += layer.solution_words(width);
    }
    for layer in layers.iter_mut() {
        layer.thresholds = words;
        words += layer.threshold_words::<B>();
    }
    words
}
