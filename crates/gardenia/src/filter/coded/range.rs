//! A range coder for a bit vector of which the number of ones is known.
//!
//! Eight bits are a symbol, and symbols of equally many ones are equally likely, so nine
//! frequencies describe them all. They follow from the numbers of ones and bits by integers alone:
//! nothing but the count is stored, and every platform makes the same bytes. If more than half of
//! the bits are ones, all are inverted first.
//!
//! The coder keeps an interval of 64 bits, gives 32 of them out when its width falls below 2³², and
//! lets a carry run back into what was given out. Its loss is below 10⁻⁴ bits per symbol.
//!
//! Source: Martin, "Range encoding: an algorithm for removing redundancy from a digitised message"
//! (1979).

use crate::{DecodeError, SizeError};
use alloc::vec::Vec;

/// Frequencies add up to 2²⁴: rare symbols then cost what they should, and a width of 2³² still
/// divides well.
const TOTAL_BITS: u32 = 24;
const TOTAL: u32 = 1 << TOTAL_BITS;
/// Give out bits below this width.
const LEAST: u64 = 1 << 32;
/// How many symbols have 0, 1, … ones.
const CHOOSE: [u32; 9] = [1, 8, 28, 56, 70, 56, 28, 8, 1];

/// Symbols by their number of ones, those of one number in ascending order; and the place of each
/// in that order.
const ORDER: ([u8; 256], [u8; 256]) = {
    let (mut symbols, mut ranks) = ([0; 256], [0; 256]);
    let (mut ones, mut next) = (0, 0);
    while ones <= 8 {
        let mut symbol = 0u16;
        while symbol < 256 {
            if symbol.count_ones() == ones {
                symbols[next] = symbol as u8;
                ranks[symbol as usize] = next as u8;
                next += 1;
            }
            symbol += 1;
        }
        ones += 1;
    }
    (symbols, ranks)
};

/// How likely symbols are.
pub(super) struct Model {
    /// Of one symbol with 0, 1, … ones.
    frequency: [u32; 9],
    /// Of all symbols with fewer ones.
    below: [u32; 10],
    /// Place in [`ORDER`] of the first symbol with 0, 1, … ones.
    first: [u32; 9],
    /// All ones if bits are inverted.
    invert: u8,
}

impl Model {
    /// The model of `bits` bits, at least 1, of which `ones` are set.
    pub(super) fn new(bits: u64, ones: u64) -> Self {
        let invert = ones > bits / 2;
        let rare = if invert { bits - ones } else { ones };
        // The share of ones in units of 2⁻³², at most a half.
        let p = ((u128::from(rare) << 32) / u128::from(bits.max(1))) as u64;
        let mut frequency = [0; 9];
        for (ones, frequency) in frequency.iter_mut().enumerate() {
            let power = |x: u64, factor: u64| ((u128::from(x) * u128::from(factor)) >> 32) as u64;
            let product = (0..8).fold(LEAST, |x, i| power(x, if i < ones { p } else { LEAST - p }));
            *frequency = ((product >> (32 - TOTAL_BITS)) as u32).max(1); // every symbol can be coded
        }
        // The likeliest symbol, eight zeros, takes what rounding leaves.
        let others: u32 = (1..9).map(|ones| CHOOSE[ones] * frequency[ones]).sum();
        frequency[0] = TOTAL - others;
        let (mut below, mut first) = ([0; 10], [0; 9]);
        for ones in 0..9 {
            below[ones + 1] = below[ones] + CHOOSE[ones] * frequency[ones];
            first[ones] = CHOOSE[..ones].iter().sum();
        }
        Self { frequency, below, first, invert: if invert { 0xff } else { 0 } }
    }

    /// The fewest bits that this number of symbols can take.
    pub(super) fn least_bits(&self, symbols: u64) -> f64 {
        let likeliest = f64::from(self.frequency[0]) / f64::from(TOTAL);
        -(symbols as f64) * libm::log2(likeliest)
    }

    /// Frequency of a symbol and of all before it.
    #[inline]
    fn of(&self, symbol: u8) -> (u32, u32) {
        let ones = symbol.count_ones() as usize;
        let rank = u32::from(ORDER.1[usize::from(symbol)]) - self.first[ones];
        (self.frequency[ones], self.below[ones] + rank * self.frequency[ones])
    }

    /// The symbol whose interval holds `at`, and its frequency and that of all before it.
    #[inline]
    fn at(&self, at: u32) -> (u8, u32, u32) {
        if at < self.frequency[0] {
            return (0, self.frequency[0], 0);
        }
        let mut ones = 1;
        while ones < 8 && at >= self.below[ones + 1] {
            ones += 1;
        }
        let frequency = self.frequency[ones];
        let rank = (at - self.below[ones]) / frequency;
        let symbol = ORDER.0[(self.first[ones] + rank) as usize & 255];
        (symbol, frequency, self.below[ones] + rank * frequency)
    }
}

/// Codes `symbols`; 32-bit words, two per 64-bit word, the first at its low end.
pub(super) fn encode(model: &Model, symbols: impl Iterator<Item = u8>) -> Result<Vec<u32>, SizeError> {
    let mut out: Vec<u32> = Vec::new();
    let (mut low, mut width) = (0u64, u64::MAX);
    let give = |out: &mut Vec<u32>, low: u64| {
        out.try_reserve(2).map_err(|_| SizeError::Memory { bytes: out.len() as u64 * 4 })?;
        out.push((low >> 32) as u32);
        Ok::<_, SizeError>(())
    };
    for symbol in symbols {
        let (frequency, before) = model.of(symbol ^ model.invert);
        let unit = width >> TOTAL_BITS;
        let (sum, carry) = low.overflowing_add(unit * u64::from(before));
        if carry {
            // What was given out is below its end by this much at least: the carry stops before the first word.
            for word in out.iter_mut().rev() {
                *word = word.wrapping_add(1);
                if *word != 0 {
                    break;
                }
            }
        }
        (low, width) = (sum, unit * u64::from(frequency));
        if width < LEAST {
            give(&mut out, low)?;
            (low, width) = (low << 32, width << 32);
        }
    }
    give(&mut out, low)?;
    give(&mut out, low << 32)?;
    Ok(out)
}

/// Hands the symbols that are not zero to `put`, with their places, of as many as `symbols`,
/// decoded from words in the form that [`encode`] gives, of which the last may be padding.
pub(super) fn decode(
    model: &Model,
    words: &[u64],
    symbols: u64,
    mut put: impl FnMut(u64, u8),
) -> Result<(), DecodeError> {
    const SHORT: DecodeError = DecodeError::Damaged("the code ends before the last bit");
    let mut halves = words.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
    let mut take = || halves.next().map(u64::from).ok_or(SHORT);
    let (mut offset, mut width) = (take()? << 32 | take()?, u64::MAX);
    for place in 0..symbols {
        let unit = width >> TOTAL_BITS; // at least 2⁸: widths are 2³² or more
        // Eight likely bits come first in the interval: no division, and most filters have many.
        let likely = unit * u64::from(model.frequency[0]);
        if offset < likely {
            width = likely;
            if model.invert != 0 {
                put(place, model.invert);
            }
        } else {
            let at = offset / unit;
            if at >= u64::from(TOTAL) {
                return Err(DecodeError::Damaged("the code leaves its interval"));
            }
            let (symbol, frequency, before) = model.at(at as u32);
            offset -= unit * u64::from(before);
            width = unit * u64::from(frequency);
            put(place, symbol ^ model.invert);
        }
        if width < LEAST {
            (offset, width) = (offset << 32 | take()?, width << 32);
        }
    }
    // The encoder ends with the low end of the interval: other ends would mean the same.
    if offset != 0 {
        return Err(DecodeError::Damaged("the code does not end as it should"));
    }
    let rest = [halves.next(), halves.next()];
    match rest {
        [None, None] | [Some(0), None] => Ok(()),
        _ => Err(DecodeError::Damaged("the code goes on after the last bit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use alloc::vec;

    fn words(code: &[u32]) -> Vec<u64> {
        code.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32).collect()
    }

    /// Bytes whose bits are ones with probability `p`.
    fn bytes(seed: u64, len: u32, p: f64) -> Vec<u8> {
        let bit = |i: u32| u8::from((Digest(seed).word(i) as f64) < p * 18_446_744_073_709_551_616.0);
        (0..len).map(|i| (0..8).map(|j| bit(8 * i + j + 1) << j).sum()).collect()
    }

    fn round_trip(bytes: &[u8]) -> usize {
        let ones: u64 = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        let model = Model::new(bytes.len() as u64 * 8, ones);
        let code = encode(&model, bytes.iter().copied()).unwrap();
        let mut back = vec![0; bytes.len()];
        decode(&model, &words(&code), bytes.len() as u64, |at, byte| back[at as usize] = byte).unwrap();
        assert!(back == bytes);
        assert!(model.least_bits(bytes.len() as u64) <= code.len() as f64 * 32.0);
        code.len() * 32
    }

    #[test]
    fn bits_come_back_in_as_many_bits_as_their_entropy() {
        for p in [0.0, 1e-6, 1e-3, 0.01, 0.1332, 0.3, 0.5, 0.7, 0.99, 1.0] {
            let bytes = bytes(9, 200_000, p);
            let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            let entropy = 1.6e6 * crate::theory::compressed::entropy(f64::from(ones) / 1.6e6);
            let size = round_trip(&bytes) as f64;
            // 64 bits of the end, and what frequencies of 2⁻²⁴ at least and the truncation of widths cost.
            assert!(size <= entropy * 1.0005 + 128.0 + 200_000.0 * 1e-4, "{p}: {size} {entropy}");
            assert!(size >= entropy * (1.0 - 1e-9), "{p}: {size} {entropy}");
        }
        for len in 0..40 {
            round_trip(&bytes(3, len, 0.2));
        }
    }

    #[test]
    fn carries_run_through() {
        // Symbols at the upper end of the interval: the low end comes near a whole word again and again.
        let model = Model::new(800, 399);
        for i in 0..2_000 {
            let symbols: Vec<u8> =
                (0..40).map(|j| if Digest(i).word(j + 1).is_multiple_of(8) { 0 } else { 0xff }).collect();
            let code = encode(&model, symbols.iter().copied()).unwrap();
            let mut back = vec![0; 40];
            decode(&model, &words(&code), 40, |at, byte| back[at as usize] = byte).unwrap();
            assert_eq!(back, symbols);
        }
    }

    #[test]
    fn frequencies_add_up_for_every_share() {
        for ones in (0..=1_000).chain([1 << 39]) {
            let model = Model::new(if ones > 1_000 { 1 << 40 } else { 1_000 }, ones);
            assert_eq!(model.below[9], TOTAL);
            assert!(
                model.frequency.iter().all(|&frequency| frequency > 0 && frequency <= model.frequency[0])
            );
            for symbol in 0..=255 {
                let (frequency, before) = model.of(symbol);
                assert_eq!(model.at(before), (symbol, frequency, before));
                assert_eq!(model.at(before + frequency - 1), (symbol, frequency, before));
            }
        }
    }

    #[test]
    fn other_words_are_decoded_or_refused_but_never_more() {
        let model = Model::new(8_000, 900);
        for seed in 0..2_000 {
            let words: Vec<u64> = (0..20).map(|i| Digest(seed).word(i)).collect();
            let mut last = None;
            let _ = decode(&model, &words, 1_000, |at, _| {
                assert!(at < 1_000 && last.is_none_or(|last| last < at));
                last = Some(at);
            });
        }
        assert!(decode(&model, &[], 10, |_, _| ()).is_err());
        assert!(decode(&model, &[u64::MAX; 4], 10, |_, _| ()).is_err());
        assert!(decode(&model, &[0; 2], 1, |_, _| ()).is_err());
    }
}
