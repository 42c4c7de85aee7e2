//! Filters that grow: they start small and need not know how many keys will come.

use crate::hash::Digest;
use crate::index::{Scheme, SchemeVisitor, Walk};

pub(super) mod dynamic;
pub(super) mod scalable;

/// Keys whose lines are asked for before they are visited.
const AHEAD: usize = 16;

/// Tables up to this many words (2 MiB) are near enough to the core that asking ahead costs more than it hides.
const IN_CACHE: usize = 1 << 18;

/// Lines of a key that are asked for in each part of a filter; see `member/probe.rs`.
const FIRST: u32 = 3;

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
        (0..scheme.hashes().min(FIRST)).for_each(|_| (self.line)(walk.step()));
    }
}
