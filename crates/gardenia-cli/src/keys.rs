//! Keys to measure with: random, all different, and the same in every run.

use gardenia::Digest;

/// The `at`-th number of a fixed random sequence (SplitMix64), in which no number comes twice.
pub(crate) fn random(at: u64) -> u64 {
    Digest(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).word(1) // word 1 takes the sequence one step further
}

/// That sequence, from its start; what was given out is not given again.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    next: u64,
}

impl Numbers {
    /// The next `count` numbers.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u64> {
        let start = self.next;
        self.next += count as u64;
        (start..self.next).map(random).collect()
    }
}

const PREFIX: &str = "https://example.org/key/";
const DIGITS: usize = 16;

/// Bytes of a text.
pub(crate) const TEXT: usize = PREFIX.len() + DIGITS;

/// Texts of 40 bytes, one behind the other in memory.
pub(crate) struct Texts(String);

impl Texts {
    /// One text per number.
    pub(crate) fn of(numbers: &[u64]) -> Self {
        let mut texts = String::with_capacity(numbers.len() * TEXT);
        for number in numbers {
            texts.push_str(PREFIX);
            let digit = |at: usize| char::from(b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15]);
            texts.extend((0..DIGITS).map(digit));
        }
        Self(texts)
    }

    /// The texts as slices.
    pub(crate) fn slices(&self) -> Vec<&str> {
        (0..self.0.len() / TEXT).map(|at| &self.0[at * TEXT..][..TEXT]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix_and_never_come_twice() {
        let mut numbers = Numbers::default();
        let mut all = numbers.take(1);
        assert_eq!(all, [0xe220_a839_7b1d_cdaf]); // Java's `new SplittableRandom(0).nextLong()`
        all.extend(numbers.take(50_000));
        all.extend(numbers.take(50_000));
        assert_eq!(all.len(), 100_001);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100_001);
    }

    #[test]
    fn a_text_has_40_bytes_and_holds_its_number() {
        let texts = Texts::of(&[u64::MAX, 0x0123_4567_89ab_cdef]);
        let slices = texts.slices();
        assert!(slices.len() == 2 && slices.iter().all(|text| text.len() == 40));
        assert_eq!(slices[1], "https://example.org/key/0123456789abcdef");
    }
}
