//! Sixty-four sums at a time: how many of some words have bit i set, for each i.
//!
//! The sums stand upright, bit j of all of them in one word (a *plane*), so that adding a word to
//! 64 sums takes a few instructions. Eight words go through a tree of adders before one carry runs
//! up the planes.

/// One-bit sums: the sum and the carry of three words, in every lane.
#[inline(always)]
const fn add3(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, a & b | (a ^ b) & c)
}

/// Planes of eights and up: sums to 2²⁰, more than any partition's positions.
const PLANES: usize = 17;

/// Sums in 64 lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    waiting: [u64; 8],
    filled: usize,
    low: [u64; 3],
    high: [u64; PLANES],
}

impl Lanes {
    /// Adds one to each lane whose bit is set in `word`.
    #[inline(always)]
    pub(super) fn add(&mut self, word: u64) {
        self.waiting[self.filled % 8] = word;
        self.filled += 1;
        if self.filled.is_multiple_of(8) {
            self.flush();
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        let [ones, twos, fours] = &mut self.low;
        let w = &self.waiting;
        let mut pair = |a, b| {
            let (sum, carry) = add3(*ones, a, b);
            *ones = sum;
            carry
        };
        let [a, b, c, d] = [pair(w[0], w[1]), pair(w[2], w[3]), pair(w[4], w[5]), pair(w[6], w[7])];
        let (sum, first) = add3(*twos, a, b);
        let (sum, second) = add3(sum, c, d);
        *twos = sum;
        let (sum, mut carry) = add3(*fours, first, second);
        *fours = sum;
        for plane in &mut self.high {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// Adds the words that are still waiting.
    #[inline]
    fn settle(&mut self) {
        let rest = self.filled % 8;
        if rest > 0 {
            self.waiting[rest..].fill(0);
            self.flush();
        }
    }

    /// All sums.
    pub(super) fn sums(mut self) -> [u32; 64] {
        self.settle();
        let mut sums = [0; 64];
        for (weight, plane) in self.low.iter().chain(&self.high).enumerate() {
            sums.iter_mut()
                .enumerate()
                .for_each(|(lane, sum)| *sum += ((plane >> lane & 1) as u32) << weight);
        }
        sums
    }

    /// The smallest sum, and the lanes that have it.
    #[inline]
    pub(super) fn least(mut self) -> (u32, u64) {
        self.settle();
        let (mut least, mut lanes) = (0, u64::MAX);
        for plane in self.high.iter().rev().chain(self.low.iter().rev()) {
            let without = lanes & !plane;
            least = least << 1 | u32::from(without == 0);
            lanes = if without == 0 { lanes } else { without };
        }
        (least, lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lanes_sum_as_sixty_four_counters_do(words in proptest::collection::vec(any::<u64>(), 0..200), sparse in 0u32..4) {
            let mut lanes = Lanes::default();
            let mut sums = [0u32; 64];
            for word in words {
                let word = (0..sparse).fold(word, |word, turn| word & word.rotate_left(7 + turn));
                lanes.add(word);
                sums.iter_mut().enumerate().for_each(|(i, sum)| *sum += (word >> i & 1) as u32);
            }
            let least = *sums.iter().min().unwrap();
            let mask = (0..64).filter(|&i| sums[i] == least).fold(0, |mask, i| mask | 1u64 << i);
            prop_assert_eq!(lanes.clone().sums(), sums);
            prop_assert_eq!(lanes.least(), (least, mask));
        }
    }
}
