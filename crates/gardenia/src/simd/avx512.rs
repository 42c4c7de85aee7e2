//! Blocked probing with AVX-512: a block is one register.
#![allow(unsafe_code)] // intrinsics, and loads whose bounds the caller has checked

use super::pattern::{Lanes, Pattern, Runs, SHIFTS};
use crate::hash::Digest;
use core::arch::x86_64::{
    __m512i, _mm512_andnot_si512, _mm512_loadu_si512, _mm512_or_si512, _mm512_rolv_epi64, _mm512_rorv_epi64,
    _mm512_set1_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask,
};

/// The key's bits, one register for the whole block.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn mask(lanes: Lanes, digest: Digest) -> __m512i {
    let first = Pattern::first(digest);
    let bits = place(first, lanes.first.of(first));
    let Some(run) = lanes.second else { return bits };
    _mm512_or_si512(bits, place(Pattern::second(digest), run.of(first)))
}

/// The bits that `word` chooses in the lanes of `run`: ones, rotated to their place. Windows are
/// rotated down, and not shifted: a rotation counts modulo 64, so that the bits above a window need
/// not be cut off, and of a shift compilers check that it is by less.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn place(word: u64, run: &[u64; 8]) -> __m512i {
    // SAFETY: the array is eight words long.
    let run = unsafe { _mm512_loadu_si512(run.as_ptr().cast()) };
    // Loaded, and not mapped to signed numbers: with `lto = "off"` that was nine calls for each key, 22 ns instead of 2.
    // SAFETY: the array is eight words long.
    let shifts = unsafe { _mm512_loadu_si512(SHIFTS.as_ptr().cast()) };
    _mm512_rolv_epi64(run, _mm512_rorv_epi64(_mm512_set1_epi64(word.cast_signed()), shifts))
}

/// Whether all bits of a mask are set in a block.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn covers(block: __m512i, mask: __m512i) -> bool {
    let clear = _mm512_andnot_si512(block, mask);
    _mm512_test_epi64_mask(clear, clear) == 0
}

/// The bits of a key in the eight words of its block.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) fn masks(digest: Digest, lanes: Lanes) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: the array is eight words long.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), mask(lanes, digest)) };
    words
}

/// Whether all bits of the key are set.
///
/// # Safety
/// There is a block of 64 bytes at `block`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) unsafe fn contains(block: *const u8, digest: Digest, lanes: Lanes) -> bool {
    // SAFETY: the caller promises the block.
    covers(unsafe { _mm512_loadu_si512(block.cast()) }, mask(lanes, digest))
}

/// The same for keys of at most eight bits, whose lanes these are.
///
/// # Safety
/// There is a block of 64 bytes at `block`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) unsafe fn contains_one(block: *const u8, digest: Digest, first: &'static Runs) -> bool {
    // SAFETY: the caller promises the block.
    unsafe { contains(block, digest, Lanes { first, second: None }) }
}

/// Sets all bits of the key; true if one was clear.
///
/// # Safety
/// There is a block of 64 bytes at `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) unsafe fn insert(at: *mut u8, digest: Digest, lanes: Lanes) -> bool {
    // SAFETY: the caller promises the block.
    unsafe {
        let (block, mask) = (_mm512_loadu_si512(at.cast()), mask(lanes, digest));
        _mm512_storeu_si512(at.cast(), _mm512_or_si512(block, mask));
        !covers(block, mask)
    }
}

/// The same for keys of at most eight bits, whose lanes these are.
///
/// # Safety
/// There is a block of 64 bytes at `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) unsafe fn insert_one(at: *mut u8, digest: Digest, first: &'static Runs) -> bool {
    // SAFETY: the caller promises the block.
    unsafe { insert(at, digest, Lanes { first, second: None }) }
}
