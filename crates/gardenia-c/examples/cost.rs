//! What a call through the C interface costs beside the same call from Rust: `cargo run --profile dist -p gardenia-c --example cost`.
//!
//! Both in one process and in turns, so that whatever disturbs the machine hits both; the best of the rounds counts.

use gardenia::{AnyFilter, Digest, Spec};
use gardenia_c::{
    gardenia_contains_many, gardenia_contains_u64, gardenia_filter, gardenia_free, gardenia_insert_many,
    gardenia_insert_u64, gardenia_keys_u64, gardenia_new, gardenia_status,
};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 15;

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
    println!("{what:28} {rust:8.2} {c:8.2} {:8.2} {:+8.2}", c / rust, c - rust);
}

/// A filter behind the C interface.
struct Handle(*mut gardenia_filter);

#[allow(unsafe_code, reason = "calls of the C interface")]
impl Handle {
    fn new(spec: &str) -> Self {
        let (spec, mut handle) = (std::ffi::CString::new(spec).expect("no NUL"), std::ptr::null_mut());
        // SAFETY: a text, no secret, room for a pointer.
        let status = unsafe { gardenia_new(spec.as_ptr(), std::ptr::null(), &raw mut handle) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
        Self(handle)
    }
    fn insert(&self, key: u64) -> i32 {
        // SAFETY: a live handle that nobody else uses.
        unsafe { gardenia_insert_u64(self.0, key) }
    }
    fn contains(&self, key: u64) -> i32 {
        // SAFETY: a live handle.
        unsafe { gardenia_contains_u64(self.0, key) }
    }
    fn insert_many(&self, keys: &[u64]) {
        let keys = gardenia_keys_u64(keys.as_ptr(), keys.len());
        let (was_new, inserted) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a live handle that nobody else uses, and live keys.
        let status = unsafe { gardenia_insert_many(self.0, &raw const keys, was_new, inserted) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
    }
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        let keys = gardenia_keys_u64(keys.as_ptr(), keys.len());
        // SAFETY: a live handle, live keys, room for as many answers.
        let status = unsafe { gardenia_contains_many(self.0, &raw const keys, found.as_mut_ptr()) };
        assert_eq!(status, gardenia_status::GARDENIA_OK);
    }
}

#[allow(unsafe_code, reason = "calls of the C interface")]
impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: a live handle that is not used again.
        unsafe { gardenia_free(self.0) };
    }
}

fn insert_many(filter: &mut AnyFilter, keys: &[u64]) {
    let (mut new, mut digests) = ([false; 4096], [Digest(0); 4096]);
    for keys in keys.chunks(new.len()) {
        let digests = &mut digests[..keys.len()];
        filter.hasher().digest_many(keys, digests);
        filter.insert_digests(digests, &mut new[..keys.len()]).expect("room");
    }
}

fn main() {
    println!("{:28} {:>8} {:>8} {:>8} {:>8}", "ns per key", "Rust", "C", "ratio", "more");
    for (kind, items) in
        [("blocked", 100_000), ("blocked", 10_000_000), ("bloom", 100_000), ("counting", 100_000)]
    {
        let spec = format!("{kind} items={items} fpp=1%");
        let mut filter = spec.parse::<Spec>().and_then(|spec| spec.build()).expect("a filter");
        let handle = Handle::new(&spec);
        let keys: Vec<u64> = (0..items).collect();
        // Filled once: keys that are there cost the same in every round.
        insert_many(&mut filter, &keys);
        handle.insert_many(&keys);
        let asked: Vec<u64> = (items / 2..items / 2 + items.min(1_000_000)).collect();
        let (count, mut found) = (asked.len(), vec![false; asked.len()]);
        compare(
            &format!("{kind} {items} insert_many"),
            count,
            || insert_many(&mut filter, &asked),
            || handle.insert_many(&asked),
        );
        compare(
            &format!("{kind} {items} insert"),
            count,
            || asked.iter().for_each(|key| _ = black_box(filter.insert(*key))),
            || asked.iter().for_each(|key| _ = black_box(handle.insert(*key))),
        );
        compare(
            &format!("{kind} {items} contains_many"),
            count,
            || _ = black_box(filter.contains_many(&asked)),
            || handle.contains_many(&asked, black_box(&mut found)),
        );
        compare(
            &format!("{kind} {items} contains"),
            count,
            || asked.iter().for_each(|key| _ = black_box(filter.contains(*key))),
            || asked.iter().for_each(|key| _ = black_box(handle.contains(*key))),
        );
    }
}
