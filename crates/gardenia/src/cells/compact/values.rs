//! All counters of a group at once: read from any code of theirs, and written in the canonical
//! form.

use super::group::{BLOCKS, Block, GROUP, LENGTHS, ORDER, Read, UPPER, WIDE, low, low_bits, sizes, value_of};

/// More words than a group takes with its best order: with order 31 a counter takes at most 34
/// bits.
pub(super) const MAX_WORDS: usize = (UPPER + BLOCKS + 34 * GROUP / 8 + BLOCKS) / 8 + 2;

/// The counters of a group apart from any code.
#[derive(PartialEq)]
pub(super) struct Values {
    /// Which of them are not zero.
    planes: [u64; BLOCKS],
    /// Those that are not, in order, and zeros behind them.
    numbers: [u32; GROUP],
}

impl Values {
    /// Reads a group; no bytes are zeros. Bytes that no encoder wrote give some values.
    pub(super) fn decode(group: &[u8]) -> Self {
        let planes = core::array::from_fn(|block| group.load(8 * block));
        let mut numbers = [0; GROUP];
        let mut next = numbers.iter_mut();
        for (block, plane) in planes.iter().enumerate() {
            let Block { start: mut unary, end: mut low_end, order } = Block::of(group, block);
            for number in next.by_ref().take(plane.count_ones() as usize) {
                let zeros = group.bits(unary).trailing_zeros() as usize;
                let width = (order + zeros) & 63;
                (unary, low_end) = (unary + zeros + 1, low_end.wrapping_sub(width));
                *number = value_of(group.bits(low_end) & low(width), order, width).max(1) as u32;
            }
        }
        Self { planes, numbers }
    }

    /// Number of counters that are not zero.
    pub(super) fn count(&self) -> usize {
        self.planes.iter().map(|plane| plane.count_ones() as usize).sum()
    }

    /// Whether all counters from `at` on are zero.
    pub(super) fn ends_before(&self, at: usize) -> bool {
        let last = self.planes.iter().rposition(|&plane| plane != 0);
        last.is_none_or(|block| 64 * (block + 1) - self.planes[block].leading_zeros() as usize <= at)
    }

    /// Those that are not zero, block by block.
    fn blocks(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.numbers[..];
        self.planes.iter().map(move |plane| {
            let (block, behind) = rest.split_at(plane.count_ones() as usize);
            rest = behind;
            block
        })
    }

    /// The order of the shortest code, the least if there are several.
    ///
    /// With the order k the value v takes 2b − 1 − k bits, where b is the length of v − 1 + 2^k.
    /// Let l be that of v − 1, which begins with c ones. Then b is l for k < l − c; l + 1 from
    /// there up to k = l, because adding 2^k carries to the top where all bits from k on are ones;
    /// and k + 1 from there on. So two histograms tell it all.
    pub(super) fn best_order(&self) -> usize {
        let (mut lengths, mut carries) = ([0; 33], [0; 33]);
        let count = self.count();
        for &number in &self.numbers[..count] {
            let length = (u32::BITS - (number - 1).leading_zeros()) as usize;
            let ones = (u64::from(number - 1) << (64 - length.max(1))).leading_ones() as usize;
            lengths[length] += 1;
            carries[length - ones] += 1;
        }
        let mut longer: usize = lengths.iter().enumerate().map(|(length, count)| length * count).sum();
        let (mut shorter, mut carried) = (0, 0);
        let (mut best, mut least) = (0, usize::MAX);
        for order in 0..32 {
            // The sum of l over the numbers with l > k; how many have l ≤ k; and l − c ≤ k, those among them.
            longer -= order * lengths[order];
            shorter += lengths[order];
            carried += carries[order];
            let bits = longer + (carried - shorter) + shorter * (order + 1);
            let cost = 2 * bits - count * (order + 1);
            if cost < least {
                (best, least) = (order, cost);
            }
        }
        best
    }

    /// Bytes of each block.
    fn lengths(&self, order: usize) -> [usize; BLOCKS] {
        let mut lengths = [0; BLOCKS];
        for (length, block) in lengths.iter_mut().zip(self.blocks()) {
            let bits = block.iter().map(|&number| sizes(u64::from(number), order));
            *length = bits.map(|(steps, width)| steps + width).sum::<usize>().div_ceil(8);
        }
        lengths
    }

    /// Number of words of the canonical form.
    pub(super) fn words(&self) -> usize {
        if self.count() == 0 {
            return 0;
        }
        let lengths = self.lengths(self.best_order());
        let upper = if lengths.iter().any(|&length| length > 255) { BLOCKS } else { 0 };
        (UPPER + upper + lengths.iter().sum::<usize>()).div_ceil(8)
    }

    /// Writes the canonical form; its number of words. Those behind it become zero.
    pub(super) fn encode(&self, words: &mut [u64; MAX_WORDS]) -> usize {
        words.fill(0);
        if self.count() == 0 {
            return 0;
        }
        let order = self.best_order();
        let lengths = self.lengths(order);
        let wide = lengths.iter().any(|&length| length > 255);
        words[..BLOCKS].copy_from_slice(&self.planes);
        let mut put = |at: usize, bits: u64| {
            let shifted = u128::from(bits) << (at % 64);
            words[at / 64] |= shifted as u64;
            words[at / 64 + 1] |= (shifted >> 64) as u64;
        };
        put(8 * ORDER, order as u64);
        put(8 * WIDE, u64::from(wide));
        let mut start = if wide { UPPER + BLOCKS } else { UPPER };
        for (number, (block, &length)) in self.blocks().zip(&lengths).enumerate() {
            put(8 * (LENGTHS + number), length as u64 & 0xff);
            put(8 * (UPPER + number), length as u64 >> 8); // nothing unless some block is long
            let (mut unary, mut low_end) = (8 * start, 8 * (start + length));
            for value in block.iter().copied().map(u64::from) {
                let (steps, width) = sizes(value, order);
                (unary, low_end) = (unary + steps, low_end - width);
                put(unary - 1, 1);
                put(low_end, low_bits(value, order, width));
            }
            start += length;
        }
        start.div_ceil(8)
    }
}
