//! Golomb's code of gaps, as a stream of bits in 64-bit words, from the lowest bit of each word
//! upwards.
//!
//! A gap g has the quotient ⌊g/b⌋ as that many zeros and a one, and the remainder r in truncated
//! binary: with l = ⌈log₂ b⌉ and s = 2ˡ − b, remainders below s take l − 1 bits; others have the l
//! − 1 high bits of r + s first, and then its lowest. For b = 2ˡ (Rice's code) all take l bits.

use crate::SizeError;
use crate::cells::{Memory, Owned};
use alloc::vec::Vec;

/// The divisor, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    divisor: u64,
    /// Bits of every remainder: ⌈log₂ b⌉ − 1, or 0 for b = 1.
    width: u32,
    /// Remainders without a further bit.
    short: u64,
}

/// The largest divisor: quotients and remainders then stay below 2⁶³.
pub(super) const MAX_DIVISOR: u64 = 1 << 62;

impl Code {
    /// The code with this divisor, 1 to [`MAX_DIVISOR`].
    pub(super) fn new(divisor: u64) -> Self {
        let divisor = divisor.clamp(1, MAX_DIVISOR);
        let bits = 64 - (divisor - 1).leading_zeros();
        if bits == 0 {
            return Self { divisor, width: 0, short: 1 };
        }
        Self { divisor, width: bits - 1, short: (1 << bits) - divisor }
    }

    /// The next gap at bit `at` of `bits`, and where it ends; `None` if it does not end before
    /// `end`, or if its quotient alone is above `most`. Both bound the work, whatever the words
    /// hold.
    #[inline(always)]
    pub(super) fn read(self, bits: &impl Stream, at: u64, end: u64, most: u64) -> Option<(u64, u64)> {
        let mut at = at;
        let mut window = bits.window(at);
        let mut quotient = 0;
        while window == 0 {
            (at, quotient) = (at + 64, quotient + 64);
            if at >= end || quotient > most {
                return None;
            }
            window = bits.window(at);
        }
        let zeros = window.trailing_zeros();
        quotient += u64::from(zeros);
        at += u64::from(zeros) + 1;
        if at > end || quotient > most {
            return None;
        }
        // The remainder is mostly in the same window.
        let (used, need) = (zeros + 1, self.width + 1);
        let window = if used + need <= 64 { window >> used } else { bits.window(at) };
        let high = window & ((1 << self.width) - 1);
        let long = u64::from(high >= self.short);
        let low = window >> self.width & long;
        let rest = high + long * (high + low - self.short.min(high)); // high, or 2·high + low − short
        at += u64::from(self.width) + long;
        // most·b fits: see `GolombShape`.
        (at <= end).then_some((quotient * self.divisor + rest, at))
    }

    /// Whether `place` is one of the numbers whose gaps are coded from bit `at` to bit `end`: the
    /// first number is the first gap, each other one more than the number before it and its gap.
    /// `most` is as for [`read`](Self::read).
    ///
    /// A window is used up in a register, and both forms of a remainder are made before one is
    /// chosen: no code waits for memory or a branch. That takes three fifths of the time of reading
    /// gap by gap.
    #[inline]
    pub(super) fn finds(self, bits: &impl Stream, at: u64, end: u64, most: u64, place: u64) -> bool {
        let (mut at, mut least) = (at, 0); // the least that the next number can be
        let (mask, need) = ((1 << self.width) - 1, self.width + 1);
        while at < end {
            let (mut window, mut left) = (bits.window(at), u64::BITS);
            loop {
                let zeros = window.trailing_zeros();
                if zeros + 1 + need > left {
                    break; // it may not be whole
                }
                let rest = window >> 1 >> zeros;
                let high = rest & mask;
                let (short, long) = (rest >> self.width, rest >> 1 >> self.width);
                let is_long = high >= self.short;
                let wide = (high << 1 | short & 1).wrapping_sub(self.short);
                window = if is_long { long } else { short };
                left -= zeros + need + u32::from(is_long);
                // Fits: zeros are fewer than 63 − width, and the divisor is at most 2^(width + 1).
                let value = least + u64::from(zeros) * self.divisor + if is_long { wide } else { high };
                if value >= place {
                    return value == place && at + u64::from(u64::BITS - left) <= end;
                }
                least = value + 1;
            }
            if left < u64::BITS {
                at += u64::from(u64::BITS - left);
                continue;
            }
            // A gap that is longer than a window.
            let Some((gap, next)) = self.read(bits, at, end, most) else { return false };
            if least + gap >= place {
                return least + gap == place;
            }
            (at, least) = (next, least + gap + 1);
        }
        false
    }
}

/// Bits that can be read 64 at a time.
pub(super) trait Stream {
    /// The 64 bits from `at` on.
    fn window(&self, at: u64) -> u64;
}

/// Bits in words of memory, from word `first` on: of `len` bits there are [`code_words`].
pub(super) struct Codes<'a, M> {
    pub(super) words: &'a M,
    pub(super) first: usize,
}

impl<M: Memory> Stream for Codes<'_, M> {
    #[inline(always)]
    fn window(&self, at: u64) -> u64 {
        let (word, shift) = (self.first + (at / 64) as usize, at % 64);
        let (low, high) = (self.words.load(word), self.words.load(word + 1));
        // Twice by less than 64: a shift by 64 would not clear.
        low >> shift | high << 1 << (63 - shift)
    }
}

/// Words of `len` bits: so many that two can be loaded at any bit, the end included.
pub(super) fn code_words(len: u64) -> u64 {
    len / 64 + 2
}

/// Bits that are being written.
#[derive(Default)]
pub(super) struct Writer {
    words: Vec<u64>,
    len: u64,
}

impl Writer {
    /// Bits so far.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Appends the lowest `count` bits of `value`, at most 64.
    fn put(&mut self, value: u64, count: u32) -> Result<(), SizeError> {
        let (shift, used) = (self.len % 64, count.min(64));
        self.len += u64::from(used);
        let words = usize::try_from(self.len.div_ceil(64)).unwrap_or(usize::MAX);
        if words > self.words.len() {
            let failed = SizeError::Memory { bytes: (words as u64).saturating_mul(8) };
            self.words.try_reserve(words - self.words.len()).map_err(|_| failed)?;
            self.words.resize(words, 0);
        }
        if used == 0 {
            return Ok(());
        }
        let value = value & u64::MAX >> (64 - used);
        let spills = shift + u64::from(used) > 64;
        let last = self.words.len() - 1;
        if spills {
            self.words[last - 1] |= value << shift;
            self.words[last] |= value >> (64 - shift);
        } else {
            self.words[last] |= value << shift;
        }
        Ok(())
    }

    /// Appends a gap.
    pub(super) fn gap(&mut self, code: Code, gap: u64) -> Result<(), SizeError> {
        let (mut quotient, rest) = (gap / code.divisor, gap % code.divisor);
        while quotient >= 64 {
            self.put(0, 64)?;
            quotient -= 64;
        }
        self.put(0, quotient as u32)?;
        self.put(1, 1)?;
        if rest < code.short {
            return self.put(rest, code.width);
        }
        let long = rest + code.short;
        self.put(long / 2, code.width)?;
        self.put(long % 2, 1)
    }

    /// The words, behind `before` others.
    pub(super) fn finish(self, before: &[u64]) -> Result<Owned, SizeError> {
        let words = usize::try_from(code_words(self.len)).unwrap_or(usize::MAX);
        let mut all = Owned::zeroed(before.len().saturating_add(words))?;
        let (head, tail) = all.as_mut_slice().split_at_mut(before.len());
        head.copy_from_slice(before);
        tail[..self.words.len()].copy_from_slice(&self.words);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    #[test]
    fn gaps_come_back_with_every_divisor_and_at_every_bit() {
        for divisor in
            [1, 2, 3, 4, 5, 7, 64, 69, 1 << 19, 544_072, (1 << 40) + 1, MAX_DIVISOR - 1, MAX_DIVISOR]
        {
            let code = Code::new(divisor);
            let gap = |i: u32| match i % 4 {
                0 => Digest(7).word(i) % divisor,
                1 => divisor - 1,
                2 => Digest(9).word(i) % divisor.saturating_mul(3),
                _ => u64::from(i).min(divisor) * (u64::from(i) % 200).min(u64::MAX / divisor / 2000 + 1),
            };
            let mut writer = Writer::default();
            (0..2_000).for_each(|i| writer.gap(code, gap(i)).unwrap());
            let len = writer.len();
            let words = writer.finish(&[1, 2, 3]).unwrap();
            let codes = Codes { words: &words, first: 3 };
            let mut at = 0;
            for i in 0..2_000 {
                let (found, next) = code.read(&codes, at, len, u64::MAX / divisor).unwrap();
                assert_eq!(found, gap(i), "{divisor}: gap {i}");
                assert!(code.read(&codes, at, next - 1, u64::MAX / divisor).is_none(), "read past its end");
                at = next;
            }
            assert_eq!(at, len);
        }
    }

    #[test]
    fn a_number_is_found_as_by_reading_gap_by_gap() {
        for divisor in [1, 2, 3, 5, 64, 69, 1 << 19, 544_072, (1 << 40) + 1, 1 << 57] {
            let code = Code::new(divisor);
            // Some quotients are longer than a window.
            let gap = |i: u32| match i % 50 {
                7 => divisor.saturating_mul(u64::from(i)).min(1 << 60),
                8 => divisor.saturating_mul(62 + u64::from(i) % 3).min(1 << 60),
                _ => Digest(7).word(i) % divisor.saturating_mul(2),
            };
            let mut writer = Writer::default();
            (0..3).for_each(|_| writer.gap(code, 1).unwrap()); // another run
            let (start, mut numbers, mut least) = (writer.len(), Vec::new(), 0_u64);
            for i in 0..if divisor < 1 << 50 { 400 } else { 7 } {
                writer.gap(code, gap(i)).unwrap();
                numbers.push(least + gap(i));
                least += gap(i) + 1;
            }
            let (end, most) = (writer.len(), u64::MAX / divisor);
            writer.gap(code, 0).unwrap(); // another
            let words = writer.finish(&[1]).unwrap();
            let codes = Codes { words: &words, first: 1 };
            for (i, number) in numbers.iter().enumerate() {
                assert!(code.finds(&codes, start, end, most, *number), "{divisor}: number {i}");
                let beside = [number.wrapping_sub(1), number + 1];
                for other in beside.into_iter().filter(|other| !numbers.contains(other)) {
                    assert!(!code.finds(&codes, start, end, most, other), "{divisor}: beside {i}");
                }
                assert!(!code.finds(&codes, start, start, most, *number));
            }
            assert!(!code.finds(&codes, start, end, most, least), "{divisor}: behind the end");
            let last = numbers[numbers.len() - 1];
            assert!(!code.finds(&codes, start, end - 1, most, last), "{divisor}: not whole");
        }
    }

    #[test]
    fn the_code_is_the_one_described() {
        // b = 5: l = 3, s = 3; 0, 1, 2 in two bits, 3 and 4 in three.
        let mut writer = Writer::default();
        [0, 2, 3, 4, 13].into_iter().for_each(|gap| writer.gap(Code::new(5), gap).unwrap());
        let bits: alloc::string::String =
            (0..writer.len()).map(|at| if writer.words[0] >> at & 1 == 1 { '1' } else { '0' }).collect();
        // unary, then the high bits as a number from its lowest bit on, then the last bit
        assert_eq!(bits, ["1", "00", "1", "01", "1", "110", "1", "111", "001", "110"].concat());
    }

    #[test]
    fn zeros_without_end_are_refused_after_as_many_as_can_be() {
        let words = Owned::zeroed(1_000).unwrap();
        let codes = Codes { words: &words, first: 0 };
        assert!(Code::new(3).read(&codes, 0, 999 * 64, u64::MAX).is_none());
        assert!(Code::new(3).read(&codes, 5, 999 * 64, 10).is_none());
        assert!(Code::new(3).read(&codes, 5, 5, 10).is_none());
    }
}
