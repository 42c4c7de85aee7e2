//! Blocked probing with AVX2: a block is two registers.
#![allow(unsafe_code)] // intrinsics, and loads whose bounds the caller has checked

use super::pattern::{Pattern, RUNS, SHIFTS};
use crate::hash::Digest;
use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi64x, _mm256_sllv_epi64,
    _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_testc_si256,
};

/// The key's bits in the low and the high half of its block.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(pattern: &Pattern, digest: Digest) -> [__m256i; 2] {
    let first = Pattern::first(digest);
    let (lanes, more) = pattern.lanes();
    let run = RUNS.of(lanes, first);
    let bits = [place(first, run, 0), place(first, run, 1)];
    if more == 0 {
        return bits;
    }
    let (run, second) = (RUNS.of(more, first), Pattern::second(digest));
    [_mm256_or_si256(bits[0], place(second, run, 0)), _mm256_or_si256(bits[1], place(second, run, 1))]
}

/// The bits that `word` chooses in the lanes of one half of `run`.
#[inline]
#[target_feature(enable = "avx2")]
fn place(word: u64, run: &[u64; 8], half: usize) -> __m256i {
    // SAFETY: both arrays are eight words long, and a half is four.
    let (shifts, run) = unsafe {
        let at = half * 4;
        (_mm256_loadu_si256(SHIFTS.as_ptr().add(at).cast()), _mm256_loadu_si256(run.as_ptr().add(at).cast()))
    };
    let windows = _mm256_srlv_epi64(_mm256_set1_epi64x(word as i64), shifts);
    _mm256_sllv_epi64(run, _mm256_and_si256(windows, _mm256_set1_epi64x(63)))
}

/// Whether all bits of the key are set.
///
/// # Safety
/// `table` has `pattern.blocks` blocks of 64 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn contains(pattern: &Pattern, digest: Digest, table: *const u8) -> bool {
    let [low, high] = mask(pattern, digest);
    // SAFETY: a block index is below `blocks`, and the caller promises as many.
    let (block_low, block_high) = unsafe {
        let at = table.add(pattern.block(digest) * 64);
        (_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(32).cast()))
    };
    (_mm256_testc_si256(block_low, low) & _mm256_testc_si256(block_high, high)) == 1
}

/// Sets all bits of the key; true if one was clear.
///
/// # Safety
/// `table` has `pattern.blocks` blocks of 64 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn insert(pattern: &Pattern, digest: Digest, table: *mut u8) -> bool {
    let mask = mask(pattern, digest);
    let mut all_set = 1;
    for (half, mask) in mask.into_iter().enumerate() {
        // SAFETY: a block index is below `blocks`, and the caller promises as many; a half is 32 bytes.
        unsafe {
            let at = table.add(pattern.block(digest) * 64 + half * 32);
            let block = _mm256_loadu_si256(at.cast());
            _mm256_storeu_si256(at.cast(), _mm256_or_si256(block, mask));
            all_set &= _mm256_testc_si256(block, mask);
        }
    }
    all_set == 0
}
