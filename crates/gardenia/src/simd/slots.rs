//! Buckets of fingerprints with AVX-512: a bucket is one masked load, so that nothing behind it is
//! read and no window has to be found around it.
#![allow(unsafe_code)] // intrinsics, and calls of functions that a level guards

#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::Level;
use super::level::Has;

/// Whether one of the slots, none of them empty, is a prefix of `key`: see `cells/pages.rs`. None
/// where the processor has no instructions for it.
#[inline(always)]
pub(crate) fn any_short(has: Has, slots: &[u16], key: u16) -> Option<bool> {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if has.level() == Level::Avx512 {
        // SAFETY: the processor has the instructions.
        return Some(unsafe { wide::any_short(slots, key) });
    }
    let _ = (has, slots, key);
    None
}

/// The same for slots of 32 bits.
#[inline(always)]
pub(crate) fn any_long(has: Has, slots: &[u32], key: u32) -> Option<bool> {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if has.level() == Level::Avx512 {
        // SAFETY: the processor has the instructions.
        return Some(unsafe { wide::any_long(slots, key) });
    }
    let _ = (has, slots, key);
    None
}

/// The sum of the first `count` numbers. None where the processor has no instructions for it.
#[inline(always)]
pub(crate) fn sum_before(has: Has, numbers: &[u8; 32], count: usize) -> Option<usize> {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if has.level() == Level::Avx512 {
        // SAFETY: the processor has the instructions.
        return Some(unsafe { wide::sum_before(numbers, count) });
    }
    let _ = (has, numbers, count);
    None
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod wide {
    use core::arch::x86_64::{
        _bzhi_u32, _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_castsi256_si128,
        _mm256_extracti128_si256, _mm256_maskz_loadu_epi8, _mm256_sad_epu8, _mm256_setzero_si256,
        _mm512_add_epi16, _mm512_add_epi32, _mm512_mask_testn_epi16_mask, _mm512_mask_testn_epi32_mask,
        _mm512_maskz_loadu_epi16, _mm512_maskz_loadu_epi32, _mm512_set1_epi16, _mm512_set1_epi32,
        _mm512_ternarylogic_epi32,
    };

    /// Of a slot, a key and the slot less one: (slot ^ key) & !(slot ^ less). The slot and the slot
    /// less one differ in its mark and the zeros behind it, so this is where slot and key differ
    /// before the mark.
    const DIFFER: i32 = 0b0010_0100;

    /// By intrinsics, because the compiler finds the sum of absolute differences only as long as
    /// nothing else is done with the sum.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,bmi2")]
    pub(super) fn sum_before(numbers: &[u8; 32], count: usize) -> usize {
        // SAFETY: the mask has a bit for each number at most, and nothing else is read.
        let here = unsafe { _mm256_maskz_loadu_epi8(first(count), numbers.as_ptr().cast()) };
        let sums = _mm256_sad_epu8(here, _mm256_setzero_si256());
        let two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))) as usize
    }

    /// Most buckets fit into one register, and those of more than 32 slots are asked elsewhere.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,bmi2")]
    pub(super) fn any_short(slots: &[u16], key: u16) -> bool {
        debug_assert!(slots.len() <= 32);
        let inside = first(slots.len());
        // SAFETY: the mask has no bit beyond the slots, and nothing else is read.
        let slot = unsafe { _mm512_maskz_loadu_epi16(inside, slots.as_ptr().cast()) };
        let less = _mm512_add_epi16(slot, _mm512_set1_epi16(-1));
        let differ = _mm512_ternarylogic_epi32::<DIFFER>(slot, _mm512_set1_epi16(key.cast_signed()), less);
        _mm512_mask_testn_epi16_mask(inside, differ, differ) != 0
    }

    /// Two registers at any rate: a bucket has more slots than one of them as often as not.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,bmi2")]
    pub(super) fn any_long(slots: &[u32], key: u32) -> bool {
        debug_assert!(slots.len() <= 32);
        let inside = first(slots.len());
        let key = _mm512_set1_epi32(key.cast_signed());
        let mut found = 0;
        for half in 0..2 {
            let inside = (inside >> (16 * half)) as u16;
            // SAFETY: the mask has no bit beyond the slots, and nothing else is read.
            let slot =
                unsafe { _mm512_maskz_loadu_epi32(inside, slots.as_ptr().wrapping_add(16 * half).cast()) };
            let less = _mm512_add_epi32(slot, _mm512_set1_epi32(-1));
            let differ = _mm512_ternarylogic_epi32::<DIFFER>(slot, key, less);
            found |= _mm512_mask_testn_epi32_mask(inside, differ, differ);
        }
        found != 0
    }

    /// A bit for each of the first 32 lanes up to this number, which is below 256: the instruction
    /// reads no more of it.
    #[inline]
    #[target_feature(enable = "bmi2")]
    fn first(count: usize) -> u32 {
        _bzhi_u32(u32::MAX, count as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::{Work, with_level};
    use super::*;
    use crate::hash::Digest;
    use crate::simd::Level;
    use alloc::vec::Vec;

    struct Sum([u8; 32], usize);

    impl Work for Sum {
        type Output = Option<usize>;
        #[inline(always)]
        fn run(self, has: Has) -> Option<usize> {
            sum_before(has, &self.0, self.1)
        }
    }

    struct Any<'a>(&'a [u16], &'a [u32], u32);

    impl Work for Any<'_> {
        type Output = [Option<bool>; 2];
        #[inline(always)]
        fn run(self, has: Has) -> [Option<bool>; 2] {
            [any_short(has, self.0, (self.2 >> 16) as u16 | 1), any_long(has, self.1, self.2)]
        }
    }

    /// Each level gives the result of plain code, or none.
    #[test]
    fn each_level_adds_and_compares_as_plain_code_does() {
        let random = |number: u32| Digest(17).word(number + 1);
        let mut found = [0; 2];
        for number in 0..20_000 {
            let mut sizes = [0; 32];
            sizes.iter_mut().zip(0..).for_each(|(size, at)| *size = random(40 * number + at) as u8);
            let count = (number % 33) as usize;
            // Of some bits each: else no slot would be a prefix of the key.
            let slot = |at: u32| (random(number ^ (40 * at)) as u32 & 7) << 29 | 1 << (26 + at % 3);
            let long: Vec<u32> = (0..count as u32).map(slot).collect();
            let short: Vec<u16> = long.iter().map(|slot| (slot >> 16) as u16).collect();
            let key = random(number) as u32 | 1;
            let any = long.iter().any(|slot| (slot ^ key) >> 1 < slot & slot.wrapping_neg());
            let sum = sizes[..count].iter().map(|size| usize::from(*size)).sum();
            for level in Level::available() {
                let got = with_level(level, Sum(sizes, count));
                assert_eq!(got.unwrap_or(sum), sum, "{level:?}, {count}");
                let got = with_level(level, Any(&short, &long, key));
                assert_eq!(got.map(|got| got.unwrap_or(any)), [any; 2], "{level:?}, {long:x?}, {key:x}");
            }
            found[usize::from(any)] += 1;
        }
        assert!(found[0] > 1_000 && found[1] > 1_000, "{found:?}");
    }
}
