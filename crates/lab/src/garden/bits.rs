//! Bits that are set at random: a plain Bloom filter with independent positions, seen by its fill.

use crate::Stream;

/// Bits, some of them set.
pub(crate) struct RandomBits {
    words: Vec<u64>,
    cells: u64,
}

impl RandomBits {
    /// None set.
    pub(crate) fn new(cells: u64) -> Self {
        Self { words: vec![0; cells.div_ceil(64) as usize], cells }
    }

    /// Sets `throws` bits at random, some perhaps twice.
    pub(crate) fn throw(&mut self, throws: u64, stream: &mut Stream) {
        for _ in 0..throws {
            let at = stream.below(self.cells);
            self.words[(at / 64) as usize] |= 1 << (at % 64);
        }
    }

    /// The share that is set.
    pub(crate) fn fill(&self) -> f64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() as f64 / self.cells as f64
    }
}

#[test]
fn random_bits_are_as_full_as_expected() {
    let stream = &mut Stream::new(1, "bits", "fill", 0);
    let fills: Vec<f64> = (0..200)
        .map(|_| {
            let mut bits = RandomBits::new(100);
            bits.throw(70, stream);
            bits.fill()
        })
        .collect();
    assert!(crate::Mean::of(&fills).errors_from(1.0 - 0.99f64.powi(70)) < 5.0);
    // Every bit can be set, and only then all are.
    let mut bits = RandomBits::new(130);
    assert_eq!(bits.fill(), 0.0);
    bits.throw(20_000, stream);
    assert_eq!(bits.fill(), 1.0);
}
