//! Asking for a cache line before it is needed.
#![allow(unsafe_code)] // the intrinsic is unsafe to call

/// Starts loading the cache line that holds `slice[at]`; does nothing where that cannot be said, or when
/// `at` is outside the slice.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch is a hint: it reads nothing and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}
