//! The memory of 4,096 counters: eight groups one behind the other, which move when one of them
//! grows.

use super::edit::{self, Gap};
use super::group::{self, MIN_WORDS, Spot};
use super::values::{MAX_WORDS, Values};
use crate::SizeError;
use crate::simd::prefetch;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Groups of a segment.
pub(super) const GROUPS: usize = 8;
/// Bytes kept free behind the last group, so that eight bytes can be read and written from any of
/// its bytes on.
const SPARE: usize = 8;
/// A gap this wide, in bits, is narrowed when a counter shrinks.
const WIDE_GAP: usize = 24;

/// An entry of the index, which takes a sixteenth of a bit for each counter, and the allocation
/// that it leads to.
#[derive(Clone, Default)]
pub(super) struct Segment {
    /// The groups, then room to grow and `SPARE` bytes.
    bytes: Box<[u8]>,
    /// Where each group ends, in words. One that ends where it starts has zeros only.
    ends: [u16; GROUPS],
}

impl Segment {
    /// A segment of these words, which `ends` divides into groups.
    pub(super) fn new(ends: [u16; GROUPS], words: impl Iterator<Item = u64>) -> Result<Self, SizeError> {
        let used = 8 * usize::from(ends[GROUPS - 1]);
        if used == 0 {
            return Ok(Self::default());
        }
        let mut bytes = Vec::new();
        let failed = |_| SizeError::Memory { bytes: (used + SPARE) as u64 };
        bytes.try_reserve_exact(used + SPARE).map_err(failed)?;
        words.take(used / 8).for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.resize(used + SPARE, 0);
        Ok(Self { bytes: bytes.into_boxed_slice(), ends })
    }

    /// A copy without room to grow.
    pub(super) fn try_clone(&self) -> Result<Self, SizeError> {
        Self::new(self.ends, self.bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)))
    }

    /// All its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// First word of group `number`.
    #[inline(always)]
    fn start(&self, number: usize) -> usize {
        // Without a branch, which would be mispredicted at every eighth group.
        usize::from(self.ends[(number + GROUPS - 1) % GROUPS]) & usize::from(number == 0).wrapping_sub(1)
    }

    /// Words of group `number`.
    #[inline(always)]
    fn words(&self, number: usize) -> usize {
        usize::from(self.ends[number]) - self.start(number)
    }

    /// The bytes from the start of group `number` on; none if it has none.
    #[inline(always)]
    pub(super) fn group(&self, number: usize) -> &[u8] {
        let start = self.start(number);
        if start == usize::from(self.ends[number]) { &[] } else { self.bytes.get(8 * start..).unwrap_or(&[]) }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(super) fn group_mut(&mut self, number: usize) -> &mut [u8] {
        let start = self.start(number);
        let empty = start == usize::from(self.ends[number]);
        if empty { &mut [] } else { self.bytes.get_mut(8 * start..).unwrap_or(&mut []) }
    }

    /// Asks for the lines of a block: its plane, the lengths, and where it is if all blocks of the
    /// group are alike.
    #[inline(always)]
    pub(super) fn prefetch(&self, number: usize, block: usize) {
        let start = self.start(number);
        prefetch(&self.bytes, 8 * (start + block));
        prefetch(&self.bytes, 8 * (start + MIN_WORDS - 1));
        let blocks = self.words(number).saturating_sub(MIN_WORDS - 1);
        prefetch(&self.bytes, 8 * (start + MIN_WORDS - 1) + blocks * block);
    }

    /// Resizes group `number` to `words` words, at its end; new ones are zero.
    fn resize(&mut self, number: usize, words: usize) {
        let (end, used) = (8 * usize::from(self.ends[number]), 8 * usize::from(self.ends[GROUPS - 1]));
        let new_end = 8 * (self.start(number) + words);
        let new_used = used + new_end - end;
        // A thirty-second more than is needed: so much room is free at most while counters grow.
        let size = (new_used + new_used / 32).next_multiple_of(8) + SPARE;
        if new_used + SPARE > self.bytes.len() {
            let mut bytes = core::mem::take(&mut self.bytes).into_vec();
            bytes.reserve_exact(size - bytes.len());
            bytes.resize(size, 0);
            self.bytes = bytes.into_boxed_slice();
        }
        self.bytes.copy_within(end..used, new_end);
        if new_end > end {
            self.bytes[end..new_end].fill(0);
        } else if self.bytes.len() > 2 * size {
            let mut bytes = core::mem::take(&mut self.bytes).into_vec();
            bytes.truncate(size);
            self.bytes = bytes.into_boxed_slice();
        }
        for at in &mut self.ends[number..] {
            *at = (usize::from(*at) + new_end / 8 - end / 8) as u16;
        }
    }

    /// Sets counter `at` of group `number`, which is zero, to `value`, which is not.
    pub(super) fn raise(&mut self, number: usize, at: usize, value: u64) {
        if self.words(number) == 0 {
            self.resize(number, MIN_WORDS);
        }
        self.replace(number, at, Spot::of(self.group(number), at), value);
    }

    /// Sets counter `at` of group `number`, which is at `spot`, to `value`.
    #[inline(never)]
    pub(super) fn replace(&mut self, number: usize, at: usize, mut spot: Spot, value: u64) {
        let words = self.words(number);
        let group = self.group_mut(number);
        let mut gap = Gap::of(group, &spot, at);
        let (steps, width) = group::sizes(value, spot.block.order);
        let (old, new, room) = (spot.steps + spot.width(), steps + width, gap.end - gap.start);
        if new > old + room {
            self.open(number, at / 64, &mut spot, &mut gap, (new - old - room).div_ceil(8));
        }
        let group = self.group_mut(number);
        edit::replace(group, &spot, &gap, value);
        group::set_plane(group, at, value != 0);
        if value == 0 && group::is_all_zero(group) {
            self.resize(number, 0);
        } else if self.words(number) > words {
            if milestone(self.words(number)) > words {
                self.encode_anew(number);
            }
        } else if old + room >= new + WIDE_GAP {
            // A byte is kept, so that a counter that goes up and down does not move the others each time.
            gap = Gap { start: gap.start + steps - spot.steps, end: gap.end + spot.width() - width };
            self.close(number, at / 64, &spot, &gap, (old + room - new) / 8 - 1);
        }
    }

    /// Widens a gap by some bytes.
    #[inline(never)]
    fn open(&mut self, number: usize, block: usize, spot: &mut Spot, gap: &mut Gap, by: usize) {
        let bytes = (spot.block.end - spot.block.start) / 8 + by;
        if !group::may_have(self.group(number), bytes) {
            self.resize(number, self.words(number) + 1);
            let words = self.words(number);
            group::widen(&mut self.group_mut(number)[..8 * words]);
            let moved = [&mut spot.unary, &mut spot.low_end, &mut spot.block.start, &mut spot.block.end];
            moved.into_iter().chain([&mut gap.start, &mut gap.end]).for_each(|at| *at += 64);
        }
        let total = group::total(self.group(number));
        if total + by > 8 * self.words(number) {
            self.resize(number, (total + by).div_ceil(8));
        }
        let group = self.group_mut(number);
        edit::open(group, gap, total, by);
        group::set_length(group, block, bytes);
        [&mut spot.low_end, &mut spot.block.end, &mut gap.end].into_iter().for_each(|at| *at += 8 * by);
    }

    /// Narrows a gap by some bytes.
    #[inline(never)]
    fn close(&mut self, number: usize, block: usize, spot: &Spot, gap: &Gap, by: usize) {
        let group = self.group_mut(number);
        let total = group::total(group);
        edit::close(group, gap, total, by);
        group::set_length(group, block, (spot.block.end - spot.block.start) / 8 - by);
        // A word is kept, for the same reason.
        let (old, words) = (self.words(number), (total - by).div_ceil(8) + 1);
        if words < old {
            self.resize(number, words);
            if milestone(words) < milestone(old) {
                self.encode_anew(number);
            }
        }
    }

    /// Encodes group `number` with the order that is best now.
    #[cold]
    fn encode_anew(&mut self, number: usize) {
        let values = Values::decode(self.group(number));
        if values.best_order() != group::order(self.group(number)) {
            self.encode(number, &values);
        }
    }

    fn encode(&mut self, number: usize, values: &Values) {
        let mut words = [0; MAX_WORDS];
        let len = values.encode(&mut words);
        self.resize(number, len);
        for (bytes, word) in self.group_mut(number).as_chunks_mut().0.iter_mut().zip(&words[..len]) {
            *bytes = word.to_le_bytes();
        }
    }

    /// Encodes all groups anew, and gives back the room to grow.
    pub(super) fn shrink_to_fit(&mut self) {
        for number in 0..GROUPS {
            let values = Values::decode(self.group(number));
            self.encode(number, &values);
        }
        let used = 8 * usize::from(self.ends[GROUPS - 1]);
        let mut bytes = core::mem::take(&mut self.bytes).into_vec();
        bytes.truncate(if used == 0 { 0 } else { used + SPARE });
        self.bytes = bytes.into_boxed_slice();
    }
}

/// The largest of the numbers 2^i and 3·2^i up to `words`. A group that grows or shrinks beyond one
/// of them gets a new order: seldom enough to cost little, often enough that the order is not far
/// from the best.
fn milestone(words: usize) -> usize {
    let power = 1 << words.ilog2();
    if words >= power + power / 2 { power + power / 2 } else { power }
}
