//! Blocked probing with AVX2: a block is two registers.
#![allow(unsafe_code)] // intrinsics, and loads whose bounds the caller has checked

use super::pattern::{Lanes, Pattern, Runs, SHIFTS};
use crate::hash::Digest;
use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi64x, _mm256_sllv_epi64,
    _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_testc_si256,
};

/// The key's bits in the low and the high half of its block.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(lanes: Lanes, digest: Digest) -> [__m256i; 2] {
    let first = Pattern::first(digest);
    let run = lanes.first.of(first);
    let bits = [place(first, run, 0), place(first, run, 1)];
    let Some(run) = lanes.second else { return bits };
    let (run, second) = (run.of(first), Pattern::second(digest));
    [_mm256_or_si256(bits[0], place(second, run, 0)), _mm256_or_si256(bits[1], place(second, run, 1))]
}

/// The bits that `word` chooses in the lanes of one half of `run`.
#[inline]
#[target_feature(enable = "avx2")]
fn place(word: u64, run: &[u64; 8], half: usize) -> __m256i {
    // SAFETY: the array is eight words long, and a half is four.
    let run = unsafe { _mm256_loadu_si256(run.as_ptr().add(half * 4).cast()) };
    // SAFETY: as above.
    let shifts = unsafe { _mm256_loadu_si256(SHIFTS.as_ptr().add(half * 4).cast()) };
    let windows = _mm256_srlv_epi64(_mm256_set1_epi64x(word as i64), shifts);
    _mm256_sllv_epi64(run, _mm256_and_si256(windows, _mm256_set1_epi64x(63)))
}

/// The bits of a key in the eight words of its block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn masks(digest: Digest, lanes: Lanes) -> [u64; 8] {
    let mut words = [0_u64; 8];
    for (half, mask) in mask(lanes, digest).into_iter().enumerate() {
        // SAFETY: the array is eight words long, and a half is four.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().add(half * 4).cast(), mask) };
    }
    words
}

/// Whether all bits of the key are set.
///
/// # Safety
/// There is a block of 64 bytes at `block`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn contains(block: *const u8, digest: Digest, lanes: Lanes) -> bool {
    let [low, high] = mask(lanes, digest);
    // SAFETY: the caller promises the block.
    let (block_low, block_high) =
        unsafe { (_mm256_loadu_si256(block.cast()), _mm256_loadu_si256(block.add(32).cast())) };
    (_mm256_testc_si256(block_low, low) & _mm256_testc_si256(block_high, high)) == 1
}

/// The same for keys of at most eight bits, whose lanes these are.
///
/// # Safety
/// There is a block of 64 bytes at `block`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn contains_one(block: *const u8, digest: Digest, first: &'static Runs) -> bool {
    // SAFETY: the caller promises the block.
    unsafe { contains(block, digest, Lanes { first, second: None }) }
}

/// Sets all bits of the key; true if one was clear.
///
/// # Safety
/// There is a block of 64 bytes at `block`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn insert(block: *mut u8, digest: Digest, lanes: Lanes) -> bool {
    let mask = mask(lanes, digest);
    let mut all_set = 1;
    for (half, mask) in mask.into_iter().enumerate() {
        // SAFETY: the caller promises the block; a half is 32 bytes.
        unsafe {
            let at = block.add(half * 32);
            let block = _mm256_loadu_si256(at.cast());
            _mm256_storeu_si256(at.cast(), _mm256_or_si256(block, mask));
            all_set &= _mm256_testc_si256(block, mask);
        }
    }
    all_set == 0
}

/// The same for keys of at most eight bits, whose lanes these are.
///
/// # Safety
/// There is a block of 64 bytes at `at`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn insert_one(at: *mut u8, digest: Digest, first: &'static Runs) -> bool {
    // SAFETY: the caller promises the block.
    unsafe { insert(at, digest, Lanes { first, second: None }) }
}
