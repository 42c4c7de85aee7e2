//! One counter in a group of 512: where it is, and what. [`CompactView`](super::CompactView)
//! describes the bits.

use super::TOP;

/// Counters of a group.
pub(super) const GROUP: usize = 512;
/// Blocks of 64 counters in a group.
pub(super) const BLOCKS: usize = GROUP / 64;
/// First byte of the lengths of the blocks; the planes are before it.
pub(super) const LENGTHS: usize = 64;
/// Byte where the order of the code stands.
pub(super) const ORDER: usize = 72;
/// Byte that is 1 if there are upper bytes of the lengths.
pub(super) const WIDE: usize = 73;
/// First of the upper bytes if there are any, else of the blocks.
pub(super) const UPPER: usize = 74;
/// Words of a group without blocks.
pub(super) const MIN_WORDS: usize = UPPER.div_ceil(8);

/// The bytes of a group, wherever they are.
pub(super) trait Read {
    /// The eight bytes from `at` on as a little-endian number; bytes past the end are zero.
    fn load(&self, at: usize) -> u64;

    /// The bits from `at` on, at least 57 of them.
    #[inline(always)]
    fn bits(&self, at: usize) -> u64 {
        self.load(at / 8) >> (at % 8)
    }
}

impl Read for [u8] {
    #[inline(always)]
    fn load(&self, at: usize) -> u64 {
        match self.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => load_end(self, at),
        }
    }
}

/// The same where fewer than eight bytes are left.
#[cold]
#[inline(never)]
fn load_end(bytes: &[u8], at: usize) -> u64 {
    let left = bytes.get(at..).unwrap_or_default();
    left.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Writes a little-endian number over the eight bytes from `at` on.
#[inline(always)]
pub(super) fn store(group: &mut [u8], at: usize, word: u64) {
    match group.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        Some(bytes) => *bytes = word.to_le_bytes(),
        None => unreachable!("a segment has spare bytes behind its groups"),
    }
}

/// The low `count` bits of a word, at most 63.
#[inline(always)]
pub(super) fn low(count: usize) -> u64 {
    (1 << count) - 1
}

// Ranks and selects inside a word, after S. Vigna, "Broadword implementation of rank/select queries" (2008).

const EACH_BYTE: u64 = 0x0101_0101_0101_0101;
const EACH_PAIR: u64 = 0x0001_0001_0001_0001;
const LOW_BYTES: u64 = 0x00ff_00ff_00ff_00ff;

/// Byte i of the result is the number of ones in bytes 0..=i of `word`.
#[inline(always)]
fn ones_up_to(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    ((nibbles + (nibbles >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(EACH_BYTE)
}

/// The sum of the eight bytes of `word`.
#[inline(always)]
fn sum_of_bytes(word: u64) -> usize {
    // In lanes of 16 bits: the sum may exceed a byte.
    let pairs = (word & LOW_BYTES) + (word >> 8 & LOW_BYTES);
    (pairs.wrapping_mul(EACH_PAIR) >> 48) as usize
}

/// `IN_BYTE[r][b]` is the position of the one in byte `b` that has `r` ones before it.
static IN_BYTE: [[u8; 256]; 8] = {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut rank) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[rank][byte] = bit;
                rank += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Position of the one in `word` that has `rank` ones before it; `ones` are its [`ones_up_to`].
#[inline(always)]
fn select(word: u64, ones: u64, rank: u64) -> usize {
    // A byte of `ones` that is at most `rank` leaves the bit above it set; their number is that of the byte.
    let passed = ((rank * EACH_BYTE) | (EACH_BYTE << 7)) - ones;
    let byte = ((passed >> 7 & EACH_BYTE).wrapping_mul(EACH_BYTE) >> 56) * 8;
    let rank = rank - (ones << 8 >> byte & 0xff);
    byte as usize + usize::from(IN_BYTE[(rank & 7) as usize][(word >> byte & 0xff) as usize])
}

/// Bits of the unary number and of the low bits of `value`; none for a zero.
#[inline(always)]
pub(super) fn sizes(value: u64, order: usize) -> (usize, usize) {
    if value == 0 {
        return (0, 0);
    }
    let bits = (u64::BITS - (value - 1 + (1 << order)).leading_zeros()) as usize;
    (bits - order, bits - 1)
}

/// The low bits of `value`, which is not zero and has `width` of them.
#[inline(always)]
pub(super) fn low_bits(value: u64, order: usize, width: usize) -> u64 {
    (value - 1 + (1 << order)) ^ (1 << width)
}

/// The value that has these low bits; of bits that no encoder wrote, something up to the top.
#[inline(always)]
pub(super) fn value_of(low_bits: u64, order: usize, width: usize) -> u64 {
    (low_bits | 1 << width).wrapping_sub(low(order)).min(TOP)
}

/// Where a block is, in bits of its group, and the order of the code.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) order: usize,
}

impl Block {
    /// Block `number` of `group`. Whatever the bytes are, it ends below bit 2²⁰.
    #[inline(always)]
    pub(super) fn of(group: &(impl Read + ?Sized), number: usize) -> Self {
        let (lengths, head) = (group.load(LENGTHS), group.load(ORDER));
        let below = low(8 * number);
        let mut start = UPPER + sum_of_bytes(lengths & below);
        let mut end = start + (lengths >> (8 * number) & 0xff) as usize;
        if head >> 8 & 1 == 1 {
            let upper = group.load(UPPER);
            start += BLOCKS + (sum_of_bytes(upper & below) << 8);
            end += BLOCKS + (sum_of_bytes(upper & (below << 8 | 0xff)) << 8);
        }
        Self { start: 8 * start, end: 8 * end, order: (head & 31) as usize }
    }
}

/// Where one counter stands in its group.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) block: Block,
    /// Bit where its unary number begins, or would begin.
    pub(super) unary: usize,
    /// Bit behind its low bits, or behind where they would be.
    pub(super) low_end: usize,
    /// Bits of its unary number; 0 for a zero.
    pub(super) steps: usize,
    pub(super) value: u64,
}

impl Spot {
    /// The spot of counter `at`.
    #[inline(always)]
    pub(super) fn of(group: &(impl Read + ?Sized), at: usize) -> Self {
        Self::find(group, at, plane(group, at))
    }

    #[inline(always)]
    fn find(group: &(impl Read + ?Sized), at: usize, plane: u64) -> Self {
        let rank = (plane & low(at % 64)).count_ones() as usize;
        let block @ Block { start, end, order } = Block::of(group, at / 64);
        // A one put before the first bit makes rank 0 like the others.
        let word = group.bits(start) << 1 | 1;
        let ones = ones_up_to(word);
        let (unary, zeros) = if (rank as u64) + 1 < ones >> 56 {
            let before = select(word, ones, rank as u64);
            (start + before, (word >> before >> 1).trailing_zeros() as usize)
        } else {
            find_far(group, start, end, rank)
        };
        // The unary numbers before it are `rank` ones and zeros, the low bits `order` for each and one for
        // each zero.
        let low_end = end.wrapping_sub((unary - start + rank * order).wrapping_sub(rank));
        let width = (order + zeros) & 63;
        let low_bits = group.bits(low_end.wrapping_sub(width)) & low(width);
        let set = (plane >> (at % 64) & 1).wrapping_neg();
        let value = value_of(low_bits, order, width) & set;
        Self { block, unary, low_end, steps: (zeros + 1) & set as usize, value }
    }

    /// Number of its low bits.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        if self.steps == 0 { 0 } else { self.block.order + self.steps - 1 }
    }

    /// Whether the code of `value` is as long as that of the counter, which is not zero.
    #[inline(always)]
    pub(super) fn holds(&self, value: u64) -> bool {
        // Above the low bits there is a single one.
        value != 0 && (value - 1 + (1 << self.block.order)) >> self.width() == 1
    }

    /// Writes `value`, whose code is as long.
    #[inline(always)]
    pub(super) fn set(&self, group: &mut [u8], value: u64) {
        let (width, at) = (self.width(), self.low_end - self.width());
        let bits = low_bits(value, self.block.order, width);
        store(group, at / 8, group.load(at / 8) & !(low(width) << (at % 8)) | bits << (at % 8));
    }
}

/// The bit behind the `rank`-th one from `start` on, or some bit if there is none before `end`, and
/// the number of zeros from there on.
#[inline(never)]
fn find_far(group: &(impl Read + ?Sized), start: usize, end: usize, rank: usize) -> (usize, usize) {
    const STEP: usize = 56;
    let (mut at, mut rank) = (start, rank as u64);
    while rank > 0 && at < end {
        let word = group.bits(at) & low(STEP);
        let ones = ones_up_to(word);
        if rank <= ones >> 56 {
            at += select(word, ones, rank - 1) + 1;
            break;
        }
        rank -= ones >> 56;
        at += STEP;
    }
    (at, group.bits(at).trailing_zeros() as usize)
}

/// Counter `at`.
#[inline(always)]
pub(super) fn get(group: &(impl Read + ?Sized), at: usize) -> u64 {
    let plane = plane(group, at);
    // A branch that is mispredicted, but saves more: half of the counters of a good filter are zero.
    if plane >> (at % 64) & 1 == 0 { 0 } else { Spot::find(group, at, plane).value }
}

/// Which counters of the block of counter `at` are not zero.
#[inline(always)]
pub(super) fn plane(group: &(impl Read + ?Sized), at: usize) -> u64 {
    group.load(at / 64 * 8)
}

/// Notes whether counter `at` is not zero.
#[inline(always)]
pub(super) fn set_plane(group: &mut [u8], at: usize, set: bool) {
    let plane = plane(group, at) & !(1 << (at % 64)) | u64::from(set) << (at % 64);
    store(group, at / 64 * 8, plane);
}

/// Whether counter `at` is zero.
#[inline(always)]
pub(super) fn is_zero(group: &[u8], at: usize) -> bool {
    plane(group, at) >> (at % 64) & 1 == 0
}

/// Whether all counters are zero.
pub(super) fn is_all_zero(group: &[u8]) -> bool {
    group[..LENGTHS].iter().all(|&byte| byte == 0)
}

/// The order of the code.
pub(super) fn order(group: &[u8]) -> usize {
    usize::from(group[ORDER])
}

/// Bytes up to the end of the last block.
#[inline(always)]
pub(super) fn total(group: &[u8]) -> usize {
    Block::of(group, BLOCKS - 1).end / 8
}

/// Bits of planes and blocks.
pub(super) fn code_bits(group: &[u8]) -> usize {
    GROUP + 8 * total(group) - Block::of(group, 0).start
}

/// Whether a block may have this many bytes.
#[inline(always)]
pub(super) fn may_have(group: &[u8], bytes: usize) -> bool {
    bytes < 256 || group[WIDE] == 1
}

/// Notes that block `number` has this many bytes, as it may.
pub(super) fn set_length(group: &mut [u8], number: usize, bytes: usize) {
    group[LENGTHS + number] = bytes as u8;
    if group[WIDE] == 1 {
        group[UPPER + number] = (bytes >> 8) as u8;
    }
}

/// Makes room for the upper bytes of the lengths, at the cost of the last eight bytes, which were
/// free.
pub(super) fn widen(group: &mut [u8]) {
    let end = group.len() - BLOCKS;
    group.copy_within(UPPER..end, UPPER + BLOCKS);
    group[UPPER..UPPER + BLOCKS].fill(0);
    group[WIDE] = 1;
}
