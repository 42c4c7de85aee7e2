//! The bitwise filter by its paper: a digit of every count to a level, placed at once or raised
//! with a carry.

use super::{Cells, Places};
use crate::Stream;

/// Where the digit of a level stands in a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exponent {
    /// Above those of the levels below: 2^(w_0 + … + w_(i-1)).
    #[default]
    Below,
    /// As the article prints it, Σ_{j=0..i} w_i: above its own level, too, and with the wrong
    /// index.
    Printed,
}

/// What a digit that is full does to its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carry {
    /// Its 2^w - 1 are removed; what other keys have there stays.
    TakesDigit,
    /// The cells are plain bits, and are cleared.
    ClearsBits,
}

/// Levels, with the cells of every key drawn beforehand.
pub(crate) struct BitwiseCells {
    widths: Vec<u32>,
    levels: Vec<(Places, Cells)>,
    exponent: Exponent,
}

impl BitwiseCells {
    /// Empty levels of these widths, cells and hashes for this many keys.
    pub(crate) fn new(
        keys: u64,
        shapes: &[(u32, u64, u32)],
        exponent: Exponent,
        stream: &mut Stream,
    ) -> Self {
        let mut level = |&(_, cells, hashes): &(u32, u64, u32)| {
            (Places::draw(keys, cells, hashes, stream), Cells::new(cells))
        };
        let levels = shapes.iter().map(&mut level).collect();
        Self { widths: shapes.iter().map(|(width, ..)| *width).collect(), levels, exponent }
    }

    /// Places a known count, digit by digit.
    pub(crate) fn place(&mut self, key: u32, count: u64) {
        let mut rest = count;
        for ((places, cells), width) in self.levels.iter_mut().zip(&self.widths) {
            cells.select(places.of(key), rest & ((1 << width) - 1));
            rest >>= width;
        }
    }

    /// Adds one: a digit that seems to be full carries to the next level. What is above the last is
    /// lost.
    pub(crate) fn insert(&mut self, key: u32, carry: Carry) {
        for ((places, cells), width) in self.levels.iter_mut().zip(&self.widths) {
            let (at, full) = (places.of(key), (1 << width) - 1);
            let carries = cells.least(at) >= full;
            match (carries, carry) {
                (false, Carry::TakesDigit) => cells.select(at, 1),
                (true, Carry::TakesDigit) => cells.lower(at, full),
                (carries, Carry::ClearsBits) => cells.set(at, u64::from(!carries)),
            }
            if !carries {
                return;
            }
        }
    }

    /// The count that a key seems to have.
    pub(crate) fn count(&self, key: u32) -> u64 {
        let (mut count, mut below) = (0, 0);
        for (level, ((places, cells), width)) in (1..).zip(self.levels.iter().zip(&self.widths)) {
            let digit = cells.least(places.of(key)).min((1 << width) - 1);
            count += digit << if self.exponent == Exponent::Below { below } else { level * width };
            below += width;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_key_are_exact_and_printed_ones_are_not() {
        let stream = &mut Stream::new(1, "bitwise", "one", 0);
        for (exponent, expected) in [(Exponent::Below, 21), (Exponent::Printed, (1 << 2) + (5 << 6))] {
            let shapes = [(2, 100, 3), (3, 100, 3)];
            let mut placed = BitwiseCells::new(2, &shapes, exponent, stream);
            placed.place(0, 21);
            let mut raised = BitwiseCells::new(2, &shapes, exponent, stream);
            (0..21).for_each(|_| raised.insert(0, Carry::TakesDigit));
            assert_eq!((placed.count(0), raised.count(0)), (expected, expected));
        }
    }

    #[test]
    fn a_carry_leaves_what_others_have_unless_cells_are_bits() {
        let stream = &mut Stream::new(1, "bitwise", "carry", 0);
        for (carry, others) in [(Carry::TakesDigit, 1), (Carry::ClearsBits, 0)] {
            // One cell on the first level, shared; many on the second.
            let mut filter = BitwiseCells::new(2, &[(1, 1, 1), (1, 1_000, 3)], Exponent::Below, stream);
            filter.levels[0].1.select(&[0], 1); // key 1
            filter.insert(0, carry); // seems to be there, and carries
            assert_eq!(filter.levels[0].1.least(&[0]), 0);
            filter.levels[0].1.select(&[0], 2);
            filter.insert(0, carry);
            assert_eq!(filter.levels[0].1.least(&[0]), others);
        }
    }
}
