//! Filters that grow: they start small and need not know how many keys will come.

use crate::format::{Header, ReadOptions};
use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};
use crate::simd::ahead::FIRST;

pub(super) mod dynamic;
pub(super) mod infini;
pub(super) mod scalable;
pub(super) mod scalable_blocked;

/// Asks for the first lines of a key, by `line`.
struct Fetch<F> {
    digest: Digest,
    cells: u64,
    line: F,
}

impl<F: Fn(u64)> SchemeVisitor for Fetch<F> {
    type Output = ();
    #[inline(always)]
    fn visit<S: Scheme>(self, scheme: &S) {
        let mut walk = scheme.walk(self.digest, self.cells);
        (0..scheme.hashes().min(FIRST as u32)).for_each(|_| (self.line)(walk.step()));
    }
}

/// How large a filter may become. One that was read from a file keeps what its reader allowed: its
/// parameters say how it grows, and a few bytes of them could ask for all memory at the next key.
#[derive(Clone, Copy)]
struct Allowance {
    /// Bytes that it may take in any case.
    bytes: u64,
    /// Keys that were in it when it was read.
    items: u64,
}

/// Bytes of memory for each key that was inserted since a filter was read: twice and more of what a
/// filter needs at any rate, right after it has grown fourfold.
const PER_KEY: u64 = 64;

impl Allowance {
    /// Of a filter that was built here, by parameters of the caller's.
    const ANY: Self = Self { bytes: u64::MAX, items: 0 };

    /// Of a filter that was read.
    fn read(header: &Header, options: &ReadOptions) -> Self {
        Self { bytes: options.expanded(header.payload_len), items: header.items }
    }

    /// The limit, if a filter of this many keys would be above it with this many bytes.
    fn exceeded(&self, bytes: u64, items: u64) -> Option<u64> {
        let earned = PER_KEY.saturating_mul(items.saturating_sub(self.items));
        let max = self.bytes.max(earned);
        (bytes > max).then_some(max)
    }
}
