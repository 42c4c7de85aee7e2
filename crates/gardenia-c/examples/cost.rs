//! What a call through the C interface costs beside the same call from Rust:
//! `cargo run --profile dist -p gardenia-c --example cost`.
//!
//! The calls of C go through the shared library that was built with this program, so that no
//! compiler sees both sides. Both are timed in one process and in turns, so that whatever disturbs
//! the machine hits both; the best of the rounds counts.

use gardenia::{AnyFilter, Digest, Filter, Spec};
use gardenia_c::{gardenia_filter, gardenia_keys, gardenia_keys_u64, gardenia_status};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 15;

/// Keys of a batch.
const BATCHES: [usize; 5] = [1, 16, 64, 1_000, 1_000_000];

#[allow(unsafe_code, reason = "the system's loader")]
unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The functions of the shared library.
struct Library {
    new: unsafe extern "C" fn(*const c_char, *const u8, *mut *mut gardenia_filter) -> gardenia_status,
    free: unsafe extern "C" fn(*mut gardenia_filter) -> gardenia_status,
    insert: unsafe extern "C" fn(*mut gardenia_filter, u64) -> c_int,
    contains: unsafe extern "C" fn(*const gardenia_filter, u64) -> c_int,
    count: unsafe extern "C" fn(*const gardenia_filter, u64, *mut u64) -> gardenia_status,
    insert_many: unsafe extern "C" fn(
        *mut gardenia_filter,
        *const gardenia_keys,
        *mut bool,
        *mut usize,
    ) -> gardenia_status,
    contains_many:
        unsafe extern "C" fn(*const gardenia_filter, *const gardenia_keys, *mut bool) -> gardenia_status,
}

#[allow(unsafe_code, reason = "functions found by their names")]
#[allow(clippy::missing_transmute_annotations, reason = "the type of the field says it")]
impl Library {
    /// target/PROFILE/libgardenia_c.so, where this is target/PROFILE/examples/cost.
    fn open() -> Self {
        let program = std::env::current_exe().expect("a path");
        let folder = program.parent().and_then(std::path::Path::parent).expect("two directories above");
        let file = CString::new(folder.join("libgardenia_c.so").into_os_string().into_encoded_bytes());
        // SAFETY: a text; 2 is RTLD_NOW.
        let library = unsafe { dlopen(file.expect("no NUL").as_ptr(), 2) };
        assert!(!library.is_null(), "{} has no libgardenia_c.so", folder.display());
        // SAFETY: a library, and a text.
        let find = |name: &CStr| unsafe { dlsym(library, name.as_ptr()) };
        /// The function of a name, in the type of its field.
        macro_rules! function {
            ($name:literal) => {{
                let found = find($name);
                assert!(!found.is_null(), "{:?} is missing", $name);
                // SAFETY: the function of this name has this type, in the library of the same sources.
                unsafe { std::mem::transmute::<*mut c_void, _>(found) }
            }};
        }
        Self {
            new: function!(c"gardenia_new"),
            free: function!(c"gardenia_free"),
            insert: function!(c"gardenia_insert_u64"),
            contains: function!(c"gardenia_contains_u64"),
            count: function!(c"gardenia_count_u64"),
            insert_many: function!(c"gardenia_insert_many"),
            contains_many: function!(c"gardenia_contains_many"),
        }
    }
}

/// Nanoseconds per key, the best of all rounds.
struct Best(f64);

impl Best {
    fn time(&mut self, keys: usize, work: impl FnOnce()) {
        let start = Instant::now();
        work();
        self.0 = self.0.min(start.elapsed().as_secs_f64() * 1e9 / keys as f64);
    }
}

fn compare(what: &str, keys: usize, mut rust: impl FnMut(), mut c: impl FnMut()) {
    let (mut by_rust, mut by_c) = (Best(f64::MAX), Best(f64::MAX));
    for _ in 0..ROUNDS {
        by_rust.time(keys, &mut rust);
        by_c.time(keys, &mut c);
    }
    let (rust, c) = (by_rust.0, by_c.0);
    println!("{what:36} {rust:8.2} {c:8.2} {:8.2} {:+8.2}", c / rust, c - rust);
}

/// A filter behind the C interface.
struct Handle<'a>(&'a Library, *mut gardenia_filter);

#[allow(unsafe_code, reason = "calls of the C interface")]
impl<'a> Handle<'a> {
    fn new(library: &'a Library, spec: &str) -> Self {
        let (spec, mut handle) = (CString::new(spec).expect("no NUL"), std::ptr::null_mut());
        // SAFETY: a text, no secret, room for a pointer.
        let status = unsafe { (library.new)(spec.as_ptr(), std::ptr::null(), &raw mut handle) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
        Self(library, handle)
    }
    fn insert(&self, key: u64) -> i32 {
        // SAFETY: a live handle that nobody else uses.
        unsafe { (self.0.insert)(self.1, key) }
    }
    fn contains(&self, key: u64) -> i32 {
        // SAFETY: a live handle.
        unsafe { (self.0.contains)(self.1, key) }
    }
    fn count(&self, key: u64) -> u64 {
        let mut count = 0;
        // SAFETY: a live handle, and room for the result.
        let status = unsafe { (self.0.count)(self.1, key, &raw mut count) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
        count
    }
    fn insert_many(&self, keys: &[u64]) {
        let keys = gardenia_keys_u64(keys.as_ptr(), keys.len());
        let (was_new, inserted) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a live handle that nobody else uses, and live keys.
        let status = unsafe { (self.0.insert_many)(self.1, &raw const keys, was_new, inserted) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
    }
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        let keys = gardenia_keys_u64(keys.as_ptr(), keys.len());
        // SAFETY: a live handle, live keys, room for as many answers.
        let status = unsafe { (self.0.contains_many)(self.1, &raw const keys, found.as_mut_ptr()) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
    }
}

#[allow(unsafe_code, reason = "calls of the C interface")]
impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: a live handle that is not used again.
        unsafe { (self.0.free)(self.1) };
    }
}

/// Batches of Rust into memory that is there, as those of C.
struct Rust {
    filter: AnyFilter,
    digests: [Digest; 4096],
    new: [bool; 4096],
}

impl Rust {
    fn insert_many(&mut self, keys: &[u64]) {
        for keys in keys.chunks(self.digests.len()) {
            let digests = &mut self.digests[..keys.len()];
            self.filter.hasher().digest_many(keys, digests);
            self.filter.insert_digests(digests, &mut self.new[..keys.len()]).expect("room");
        }
    }
    fn contains_many(&mut self, keys: &[u64], found: &mut [bool]) {
        for (keys, found) in keys.chunks(self.digests.len()).zip(found.chunks_mut(self.digests.len())) {
            let digests = &mut self.digests[..keys.len()];
            self.filter.hasher().digest_many(keys, digests);
            self.filter.contains_digests(digests, found);
        }
    }
}

fn main() {
    let library = Library::open();
    println!("{:36} {:>8} {:>8} {:>8} {:>8}", "ns per key", "Rust", "C", "ratio", "more");
    for (kind, items) in
        [("blocked", 100_000), ("blocked", 10_000_000), ("bloom", 100_000), ("counting", 100_000)]
    {
        let spec = format!("{kind} items={items} fpp=1%");
        let filter = spec.parse::<Spec>().and_then(|spec| spec.build()).expect("a filter");
        let mut rust = Rust { filter, digests: [Digest(0); 4096], new: [false; 4096] };
        let handle = Handle::new(&library, &spec);
        let keys: Vec<u64> = (0..items).collect();
        // Filled once: keys that are there cost the same in every round.
        rust.insert_many(&keys);
        handle.insert_many(&keys);
        let asked: Vec<u64> = (items / 2..items / 2 + 1_000_000).collect();
        let (count, mut found) = (asked.len(), [vec![false; asked.len()], vec![false; asked.len()]]);
        for batch in BATCHES {
            let batches = || asked.chunks(batch);
            compare(
                &format!("{kind} {items} insert_many of {batch}"),
                count,
                || batches().for_each(|keys| rust.insert_many(keys)),
                || batches().for_each(|keys| handle.insert_many(keys)),
            );
            let [mine, theirs] = &mut found;
            compare(
                &format!("{kind} {items} contains_many of {batch}"),
                count,
                || {
                    let rooms = mine.chunks_mut(batch);
                    batches().zip(rooms).for_each(|(keys, found)| rust.contains_many(keys, found));
                },
                || {
                    let rooms = theirs.chunks_mut(batch);
                    batches().zip(rooms).for_each(|(keys, found)| handle.contains_many(keys, found));
                },
            );
            assert!(black_box(mine.as_slice()) == theirs.as_slice(), "C and Rust differ");
        }
        let filter = &mut rust.filter;
        compare(
            &format!("{kind} {items} insert"),
            count,
            || asked.iter().for_each(|key| _ = black_box(filter.insert(*key))),
            || asked.iter().for_each(|key| _ = black_box(handle.insert(*key))),
        );
        compare(
            &format!("{kind} {items} contains"),
            count,
            || asked.iter().for_each(|key| _ = black_box(filter.contains(*key))),
            || asked.iter().for_each(|key| _ = black_box(handle.contains(*key))),
        );
        if let Some(counter) = filter.as_count() {
            let hasher = filter.hasher();
            compare(
                &format!("{kind} {items} count"),
                count,
                || asked.iter().for_each(|key| _ = black_box(counter.count_digest(hasher.digest_u64(*key)))),
                || asked.iter().for_each(|key| _ = black_box(handle.count(*key))),
            );
        }
    }
}
