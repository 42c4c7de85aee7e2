//! Memory from the engine, so that it is counted there, and falls under its limits.
//!
//! The engine promises 8 bytes of alignment and no more (its own builds may put a length before the
//! memory), while the library asks for cache lines. So what needs more is taken larger, and begins
//! at the next multiple; the word before it tells where the engine's memory begins. Memory that
//! cannot be had is null, which the library's fallible calls turn into errors. Memory of up to 8
//! bytes of alignment is resized by the engine, which can often do so in place; other memory is
//! copied.
#![allow(unsafe_code)] // an allocator is unsafe by its trait

use super::ffi;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The alignment of the engine's memory.
pub(super) const ALIGNED: usize = 8;

/// Allocates by the engine; before it is there, and in tests, by the system.
struct Engine;

#[global_allocator]
static ALLOCATOR: Engine = Engine;

thread_local! {
    /// What this thread holds outside an engine, and the most that it held.
    static HELD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Counts what is taken where no engine does.
fn note(change: impl FnOnce(usize) -> usize) {
    // A thread that ends has nothing left to count with.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        let now = change(now);
        held.set((now, most.max(now)));
    });
}

/// The most memory that `work` held at one time beyond what was held before; outside an engine,
/// which counts by itself. Tests tell by it what a decoder takes.
///
/// ```
/// let (bytes, peak) = gardenia_redis::engine::alloc::peak_of(|| vec![0u8; 1_000].len());
/// assert!(bytes == 1_000 && peak == 1_000);
/// ```
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let (before, _) = HELD.get();
    HELD.set((before, before));
    let result = work();
    (result, HELD.get().1 - before)
}

/// Bytes that are asked of the engine for an array of `bytes` bytes, in whole cache lines and
/// aligned to one.
///
/// ```
/// assert_eq!(gardenia_redis::engine::alloc::aligned_bytes(100), 128 + 64);
/// ```
#[must_use]
pub fn aligned_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(64) + 64
}

/// Whether the system has this many bytes at once: they are taken, and given back untouched.
///
/// For engines that can fail to allocate, but not to allocate zeros (Redis before 7.4).
pub(super) fn system_has(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes, ALIGNED) else { return false };
    // SAFETY: `bytes` is not 0 where large memory is asked for, and what was given is given back.
    unsafe {
        let memory = System.alloc(layout);
        if !memory.is_null() {
            System.dealloc(memory, layout);
        }
        !memory.is_null()
    }
}

/// Memory for `layout`.
#[inline]
fn take(layout: Layout, zeroed: bool) -> Option<*mut u8> {
    let (size, align) = (layout.size(), layout.align());
    let system = |_| {
        note(|held| held + size);
        // SAFETY: layouts of allocations are not empty, by the trait's contract.
        Ok(std::ptr::NonNull::new(unsafe {
            if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) }
        }))
    };
    if align <= ALIGNED {
        let found: Result<_, ffi::NoEngine> = ffi::allocate(size, zeroed).or_else(system);
        return found.ok().flatten().map(|memory| memory.as_ptr());
    }
    // Memory begins at a multiple of 8, so that a word and the way to the next multiple of `align` fit in `align` bytes.
    let room = size.checked_add(align)?;
    match ffi::allocate(room, zeroed) {
        Err(none) => system(none).ok().flatten().map(|memory| memory.as_ptr()),
        Ok(memory) => {
            let start = memory?.as_ptr();
            // SAFETY: the next multiple of `align` behind a word is at most `align` bytes off, and `size` bytes
            // follow it; the word before it lies in the same memory and is aligned.
            unsafe {
                let behind = start.add(ALIGNED);
                let aligned = behind.add(behind.addr().next_multiple_of(align) - behind.addr());
                aligned.cast::<*mut u8>().sub(1).write(start);
                Some(aligned)
            }
        }
    }
}

// SAFETY: memory is as large and as aligned as asked for (see `take` and `realloc`), and returned to whom it came from: the
// engine is there before the first allocation of a module, and never in a test.
unsafe impl GlobalAlloc for Engine {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout, false).unwrap_or(std::ptr::null_mut())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout, true).unwrap_or(std::ptr::null_mut())
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `take` with this layout.
        unsafe {
            if !ffi::is_loaded() {
                note(|held| held.saturating_sub(layout.size()));
                System.dealloc(memory, layout);
            } else if layout.align() <= ALIGNED {
                ffi::release(memory);
            } else {
                ffi::release(memory.cast::<*mut u8>().sub(1).read());
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !ffi::is_loaded() {
            // Both sizes count for a moment: the system may have to copy.
            note(|held| held + size);
            // SAFETY: `memory` came from the system with this layout, and the caller promises that the new size is allowed.
            let moved = unsafe { System.realloc(memory, layout, size) };
            let freed = if moved.is_null() { size } else { layout.size() };
            note(|held| held.saturating_sub(freed));
            return moved;
        }
        // With more alignment the memory starts behind the engine's, by a distance that depends on the address.
        if layout.align() <= ALIGNED {
            // SAFETY: memory of this alignment begins where the engine's does (see `take`); the caller promises the rest.
            if let Ok(moved) = unsafe { ffi::reallocate(memory, size) } {
                return moved.map_or(std::ptr::null_mut(), std::ptr::NonNull::as_ptr);
            }
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is not too large, and is not 0. The two
        // memories are distinct, and both have the bytes that are copied; the old one came from `take` with `layout`.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(memory, size.min(layout.size()));
                self.dealloc(memory, layout);
            }
            moved
        }
    }
}

#[test]
fn resized_memory_is_counted() {
    let (before, _) = HELD.get();
    let held = || HELD.get().0 - before;
    let (mut bytes, peak) = peak_of(|| {
        let mut bytes = vec![7u8; 1_000];
        bytes.reserve_exact(1_000);
        assert_eq!((bytes.capacity(), held()), (2_000, 2_000));
        bytes.shrink_to_fit();
        assert_eq!((bytes.capacity(), held()), (1_000, 1_000));
        bytes
    });
    assert_eq!(peak, 3_000);
    // What there is no memory for changes nothing.
    assert!(bytes.try_reserve_exact(isize::MAX as usize - 1_000).is_err());
    assert_eq!((bytes.capacity(), held()), (1_000, 1_000));
}
