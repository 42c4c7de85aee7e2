//! The allocator of these tests: it counts the memory of each thread, and finds a secret in what is
//! given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What memory that is given back must not hold.
pub(crate) const SECRET: [u8; 16] = *b"rose and thistle";

struct Watching;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    /// Whether blocks are searched, and how many were given back with the secret in them.
    static SEARCH: Cell<bool> = const { Cell::new(false) };
    static TRACES: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator; only numbers are kept beside it.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = NOW.try_with(|now| {
            now.set(now.get() + layout.size());
            let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
        });
        // SAFETY: the caller's promise is handed on. Zeroed, so that all of a block can be read when it is searched.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = NOW.try_with(|now| now.set(now.get().saturating_sub(layout.size())));
        if SEARCH.try_with(Cell::get).unwrap_or(false) {
            // SAFETY: the block is the caller's, as long as its layout says, and was zeroed when it was given out.
            let block = unsafe { std::slice::from_raw_parts(pointer, layout.size()) };
            if block.windows(16).any(|bytes| bytes == SECRET) {
                let _ = TRACES.try_with(|traces| traces.set(traces.get() + 1));
            }
        }
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// The most memory that `work` held at one time beyond what was held before, in this thread.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    gardenia::cells::use_allocator_alone();
    let before = NOW.with(Cell::get);
    PEAK.with(|peak| peak.set(before));
    let result = work();
    (result, PEAK.with(Cell::get) - before)
}

/// How many blocks `work` gives back with the secret in them.
pub(crate) fn traces_of(work: impl FnOnce()) -> u64 {
    SEARCH.set(true);
    let before = TRACES.get();
    work();
    SEARCH.set(false);
    TRACES.get() - before
}
