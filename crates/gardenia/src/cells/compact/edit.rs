//! Changing the length of one counter's code in place.
//!
//! The unary numbers and the low bits of a block grow towards each other, with a gap between them.
//! A counter that changes moves only what is between it and the gap, which mostly is within one
//! word on either side. Only when the gap is used up does what is behind it move, and then by whole
//! bytes.

use super::group::{self, Read, Spot, low, store};

/// The gap of a block, in bits of its group.
#[derive(Clone, Copy)]
pub(super) struct Gap {
    /// Behind the last unary number.
    pub(super) start: usize,
    /// Where the low bits of the last number begin.
    pub(super) end: usize,
}

impl Gap {
    /// The gap of the block of counter `at`, which is at `spot`.
    #[inline(always)]
    pub(super) fn of(group: &[u8], spot: &Spot, at: usize) -> Self {
        let count = group::plane(group, at).count_ones() as usize;
        let (start, end, order) = (spot.block.start, spot.block.end, spot.block.order);
        if count == 0 {
            return Self { start, end };
        }
        // The unary numbers are `count` ones and some zeros, the low bits `order` for each number and one for
        // each zero: half of what is left on either side leads into the middle of the gap. Before it stands a
        // one, and in it there are zeros.
        let middle = start + count + (end - start - count * (1 + order)) / 2;
        let byte = middle.div_ceil(8);
        let before = group.load(byte - 8) << (8 * byte - middle);
        let gap = middle - before.leading_zeros() as usize;
        Self { start: gap, end: end - count * order - (gap - start - count) }
    }
}

/// Replaces the code of the counter at `spot` by that of `value`, for which `gap` is wide enough.
#[inline(always)]
pub(super) fn replace(group: &mut [u8], spot: &Spot, gap: &Gap, value: u64) {
    let order = spot.block.order;
    let (steps, width) = group::sizes(value, order);
    let (unary_bits, low_bits) =
        if value == 0 { (0, 0) } else { (1 << (steps - 1), group::low_bits(value, order, width)) };
    let old_width = spot.width();
    // What moves: the unary numbers behind it, and the low bits below its own.
    let unary_tail = gap.start - spot.unary - spot.steps;
    let low_tail = spot.low_end - old_width - gap.end;
    // One word has the unary numbers from its first byte on, another the low bits up to its last byte. They
    // may overlap, so the second is read before the first is written: else it would have to wait for that.
    let (byte, shift) = (spot.unary / 8, spot.unary % 8);
    let low_byte = spot.low_end.div_ceil(8) - 8;
    let low_shift = 8 * (low_byte + 8) - spot.low_end;
    let mut low_word = group.load(low_byte);
    if shift + unary_tail + steps.max(spot.steps) <= 64 {
        let word = group.load(byte);
        let old = word >> shift & low_up_to(unary_tail + spot.steps);
        let flips = (old ^ (old >> spot.steps << steps | unary_bits)) << shift;
        store(group, byte, word ^ flips);
        low_word ^= if byte < low_byte {
            flips.unbounded_shr(8 * (low_byte - byte) as u32)
        } else {
            flips.unbounded_shl(8 * (byte - low_byte) as u32)
        };
    } else {
        move_bits(group, spot.unary + spot.steps, gap.start, spot.unary + steps);
        put(group, spot.unary, steps, unary_bits);
        clear(group, gap.start + steps - spot.steps, gap.start); // zeros where the gap is wider than it was
        low_word = group.load(low_byte);
    }
    if low_shift + low_tail + width.max(old_width) <= 64 {
        let unused = (64 - low_tail - old_width) as u32;
        let old = (low_word << low_shift).unbounded_shr(unused);
        let new = old & low_up_to(low_tail) | low_bits.unbounded_shl(low_tail as u32);
        let new = new.unbounded_shl((64 - low_tail - width) as u32);
        store(group, low_byte, low_word ^ (old.unbounded_shl(unused) ^ new) >> low_shift);
    } else {
        let new_end = gap.end + old_width - width;
        move_bits(group, gap.end, spot.low_end - old_width, new_end);
        put(group, spot.low_end - width, width, low_bits);
        clear(group, gap.end, new_end);
    }
}

/// The low `count` bits of a word, at most 64.
#[inline(always)]
fn low_up_to(count: usize) -> u64 {
    u64::MAX.unbounded_shr(64 - count as u32)
}

/// Bits moved at a time: from any bit on a word has 57.
const STEP: usize = 56;

/// Copies the bits `from..to` to `dest` and on; the places may overlap.
#[inline(never)]
fn move_bits(group: &mut [u8], from: usize, to: usize, dest: usize) {
    let mut copy = |at: usize, count: usize| {
        put(group, at - from + dest, count, group.bits(at) & low(count));
    };
    if dest < from {
        (from..to).step_by(STEP).for_each(|at| copy(at, STEP.min(to - at)));
    } else {
        let mut end = to;
        while end > from {
            let count = STEP.min(end - from);
            end -= count;
            copy(end, count);
        }
    }
}

/// Writes `count` bits, at most 56, over those at `at`.
#[inline(always)]
fn put(group: &mut [u8], at: usize, count: usize, bits: u64) {
    store(group, at / 8, group.load(at / 8) & !(low(count) << (at % 8)) | bits << (at % 8));
}

/// Zeroes the bits `from..to`, if there are any.
fn clear(group: &mut [u8], from: usize, to: usize) {
    (from..to).step_by(STEP).for_each(|at| put(group, at, STEP.min(to - at), 0));
}

/// Inserts `by` zero bytes into a gap of a group that has `total` bytes and room for them.
pub(super) fn open(group: &mut [u8], gap: &Gap, total: usize, by: usize) {
    let byte = gap.start / 8;
    group.copy_within(byte..total, byte + by);
    // The byte at the start of the gap is there twice.
    let before = low(gap.start % 8) as u8;
    group[byte] &= before;
    group[byte + 1..byte + by].fill(0);
    group[byte + by] &= !before;
}

/// Removes `by` bytes from a gap, which has a byte more, of a group that has `total` bytes.
pub(super) fn close(group: &mut [u8], gap: &Gap, total: usize, by: usize) {
    group.copy_within(gap.end / 8..total, gap.end / 8 - by);
    group[total - by..total].fill(0);
}
