//! Counts for `INFO`, kept as things happen: asking for them costs the same whatever is stored.
//!
//! A value is counted when it is stored and when it is freed, with its memory at that time. In
//! between only few commands change that memory; they report it by [`resized`], and the key that
//! they have open, which knows the type, takes the difference when it is closed. So the sums are
//! right if every change is reported, and zero when everything is deleted.

use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};

/// Values of one type, and their bytes. They are freed in other threads, too.
#[derive(Debug, Default)]
pub struct Tally {
    objects: AtomicI64,
    bytes: AtomicI64,
}

impl Tally {
    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { objects: AtomicI64::new(0), bytes: AtomicI64::new(0) }
    }

    /// Counts a value that is there now.
    pub(super) fn add(&self, bytes: usize) {
        self.objects.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as i64, Relaxed);
    }

    /// Counts a value that is gone.
    pub(super) fn remove(&self, bytes: usize) {
        self.objects.fetch_sub(1, Relaxed);
        self.bytes.fetch_sub(bytes as i64, Relaxed);
    }

    /// Counts that the memory of a value has changed.
    pub(super) fn resized(&self, before: usize, after: usize) {
        self.bytes.fetch_add(after as i64 - before as i64, Relaxed);
    }

    /// Values and bytes.
    #[must_use]
    pub fn get(&self) -> (u64, u64) {
        let get = |count: &AtomicI64| u64::try_from(count.load(Relaxed)).unwrap_or(0);
        (get(&self.objects), get(&self.bytes))
    }
}

/// The types, in the order they were registered in.
static TYPES: Mutex<Vec<(&'static CStr, &'static Tally)>> = Mutex::new(Vec::new());

/// Notes a type.
pub(super) fn add_type(name: &'static CStr, tally: &'static Tally) {
    TYPES.lock().unwrap_or_else(PoisonError::into_inner).push((name, tally));
}

/// Calls `each` with all types.
pub(super) fn types(mut each: impl FnMut(&'static CStr, &'static Tally)) {
    // Not waited for: a crash report may be written while it is held.
    if let Ok(types) = TYPES.try_lock() {
        types.iter().for_each(|(name, tally)| each(name, tally));
    }
}

/// Bytes that the value under the open key has taken, or given back.
static PENDING: AtomicI64 = AtomicI64::new(0);

/// Notes that the memory of the value under the open key has changed.
#[inline]
pub fn resized(before: usize, after: usize) {
    if before != after {
        PENDING.fetch_add(after as i64 - before as i64, Relaxed);
        if after > before {
            Counter::Growths.add(1);
        }
    }
}

/// Adds what is pending to the type of the key that is closed.
#[inline]
pub(super) fn settle(tally: Option<&Tally>) {
    if PENDING.load(Relaxed) != 0 {
        let bytes = PENDING.swap(0, Relaxed);
        if let Some(tally) = tally {
            tally.bytes.fetch_add(bytes, Relaxed);
        }
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident $text:literal,)+) => {
        /// What is counted by commands, since the server was started.
        #[derive(Clone, Copy, Debug)]
        pub enum Counter {
            $($(#[$doc])* $name,)+
        }

        static COUNTS: [AtomicU64; [$($text),+].len()] = [$({ let _: &CStr = $text; AtomicU64::new(0) }),+];

        impl Counter {
            /// All of them, with their names in `INFO`.
            pub const ALL: [(Self, &'static CStr); COUNTS.len()] = [$((Self::$name, $text)),+];
        }
    };
}

counters! {
    /// Items that were added.
    Added c"items_added",
    /// Items that were removed.
    Removed c"items_removed",
    /// Values that grew.
    Growths c"growths",
    /// Items that were refused because a filter is full and does not grow.
    RefusedFull c"refused_full",
    /// Values and items that were refused for want of memory: mostly by `bf.memory-limit`.
    RefusedMemory c"refused_memory",
}

impl Counter {
    /// Adds to the count. Commands run in one thread, so that reading and writing in two steps
    /// loses nothing.
    #[inline]
    pub fn add(self, by: usize) {
        let count = &COUNTS[self as usize];
        count.store(count.load(Relaxed).wrapping_add(by as u64), Relaxed);
    }

    /// The count.
    #[must_use]
    pub fn get(self) -> u64 {
        COUNTS[self as usize].load(Relaxed)
    }
}

#[test]
fn what_is_pending_goes_to_the_type_of_the_key() {
    let tally = Tally::new();
    tally.add(100);
    let growths = Counter::Growths.get();
    resized(100, 250);
    resized(250, 250);
    settle(Some(&tally));
    settle(Some(&tally));
    assert_eq!((tally.get(), Counter::Growths.get()), ((1, 250), growths + 1));
    resized(250, 50);
    settle(Some(&tally));
    tally.remove(50);
    assert_eq!((tally.get(), Counter::Growths.get()), ((0, 0), growths + 1));
}
