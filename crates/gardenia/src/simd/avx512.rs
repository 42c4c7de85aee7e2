//! Blocked probing with AVX-512: a block is one register.
#![allow(unsafe_code)] // intrinsics, and loads whose bounds the caller has checked

use super::pattern::{Pattern, RUNS, SHIFTS};
use crate::hash::Digest;
use core::arch::x86_64::{
    __m512i, _mm512_andnot_si512, _mm512_loadu_si512, _mm512_or_si512, _mm512_rolv_epi64, _mm512_set1_epi64,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask,
};

/// The key's bits, one register for the whole block: a one in each lane of the run, rotated to its place.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn mask(pattern: &Pattern, digest: Digest) -> __m512i {
    let first = Pattern::first(digest);
    let (lanes, more) = pattern.lanes();
    let bits = place(first, RUNS.of(lanes, first));
    if more == 0 {
        return bits;
    }
    _mm512_or_si512(bits, place(Pattern::second(digest), RUNS.of(more, first)))
}

/// The bits that `word` chooses in the lanes of `run`: ones, rotated to their place. A rotation counts modulo 64,
/// so the bits above a window need not be cut off.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn place(word: u64, run: &[u64; 8]) -> __m512i {
    // SAFETY: both arrays are eight words long.
    let (shifts, run) =
        unsafe { (_mm512_loadu_si512(SHIFTS.as_ptr().cast()), _mm512_loadu_si512(run.as_ptr().cast())) };
    _mm512_rolv_epi64(run, _mm512_srlv_epi64(_mm512_set1_epi64(word as i64), shifts))
}

/// Whether all bits of the key are set.
///
/// # Safety
/// `table` has `pattern.blocks` blocks of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) unsafe fn contains(pattern: &Pattern, digest: Digest, table: *const u8) -> bool {
    // SAFETY: a block index is below `blocks`, and the caller promises as many.
    let block = unsafe { _mm512_loadu_si512(table.add(pattern.block(digest) * 64).cast()) };
    let clear = _mm512_andnot_si512(block, mask(pattern, digest));
    _mm512_test_epi64_mask(clear, clear) == 0
}

/// Sets all bits of the key; true if one was clear.
///
/// # Safety
/// `table` has `pattern.blocks` blocks of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) unsafe fn insert(pattern: &Pattern, digest: Digest, table: *mut u8) -> bool {
    // SAFETY: a block index is below `blocks`, and the caller promises as many.
    unsafe {
        let at = table.add(pattern.block(digest) * 64);
        let (block, mask) = (_mm512_loadu_si512(at.cast()), mask(pattern, digest));
        _mm512_storeu_si512(at.cast(), _mm512_or_si512(block, mask));
        let clear = _mm512_andnot_si512(block, mask);
        _mm512_test_epi64_mask(clear, clear) != 0
    }
}
