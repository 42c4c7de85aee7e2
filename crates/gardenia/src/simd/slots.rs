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

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod wide {
    use core::arch::x86_64::{
        _bzhi_u32, _mm512_add_epi16, _mm512_add_epi32, _mm512_mask_testn_epi16_mask,
        _mm512_mask_testn_epi32_mask, _mm512_maskz_loadu_epi16, _mm512_maskz_loadu_epi32, _mm512_set1_epi16,
        _mm512_set1_epi32, _mm512_ternarylogic_epi32,
    };

    /// Of a slot, a key and the slot less one: (slot ^ key) & !(slot ^ less). The slot and the slot
    /// less one differ in its mark and the zeros behind it, so this is where slot and key differ
    /// before the mark.
    const DIFFER: i32 = 0b0010_0100;

    macro_rules! any {
        ($name:ident, $lane:ty, $lanes:literal, $mask:ty, $set:ident, $load:ident, $add:ident, $testn:ident) => {
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,bmi2")]
            pub(super) fn $name(slots: &[$lane], key: $lane) -> bool {
                let (key, minus) = ($set(key.cast_signed()), $set(-1));
                let mut rest = slots;
                loop {
                    let (now, later) = rest.split_at(rest.len().min($lanes));
                    let inside = _bzhi_u32(u32::MAX, now.len() as u32) as $mask;
                    // SAFETY: the mask has a bit for each slot there is, and nothing else is read.
                    let slot = unsafe { $load(inside, now.as_ptr().cast()) };
                    let differ = _mm512_ternarylogic_epi32::<DIFFER>(slot, key, $add(slot, minus));
                    let found = $testn(inside, differ, differ) != 0;
                    if found || later.is_empty() {
                        return found;
                    }
                    rest = later;
                }
            }
        };
    }
    any!(
        any_short,
        u16,
        32,
        u32,
        _mm512_set1_epi16,
        _mm512_maskz_loadu_epi16,
        _mm512_add_epi16,
        _mm512_mask_testn_epi16_mask
    );
    any!(
        any_long,
        u32,
        16,
        u16,
        _mm512_set1_epi32,
        _mm512_maskz_loadu_epi32,
        _mm512_add_epi32,
        _mm512_mask_testn_epi32_mask
    );
}
