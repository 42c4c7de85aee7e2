//! Asking for a cache line before it is needed.
#![allow(unsafe_code)] // the intrinsic is unsafe to call

/// Starts loading the cache line that holds `slice[at]`; does nothing on processors without such an
/// instruction, or when `at` is outside the slice.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    prefetch_at(slice.as_ptr(), at);
}

/// The same from a pointer, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch_at<T>(base: *const T, at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it reads nothing and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (base, at);
}
