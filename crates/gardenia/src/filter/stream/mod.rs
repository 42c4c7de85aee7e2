//! Filters for endless streams: asked "did it come lately?", they forget what is old.

use crate::hash::Digest;
use crate::index::{Scheme, Walk};
use crate::simd::ahead::{self, FIRST_OF_MORE as FIRST};
use crate::simd::{Sink, Source};
use core::cell::Cell;

pub(super) mod a2;
pub(super) mod stable;

/// Asks for each key of a batch; if the table of `words` is far, the lines of its cells are
/// prefetched ahead: the first ones always, the others while most keys turn out to be present.
#[inline(always)]
fn ask_each<S: Scheme>(
    scheme: &S,
    (cells, words): (u64, usize),
    digests: impl Source,
    answers: &mut impl Sink,
    prefetch: impl Fn(u64),
    ask: impl Fn(Digest) -> bool,
) {
    let hashes = scheme.hashes() as usize;
    // Share of present keys among the last, in 256ths: an average that forgets.
    let present = Cell::new(0u32);
    let fetch = |digest| {
        let lines = if present.get() > 64 { hashes } else { hashes.min(FIRST) };
        let mut walk = scheme.walk(digest, cells);
        (0..lines).for_each(|_| prefetch(walk.step()));
    };
    let ask = |digest| {
        let found = ask(digest);
        present.set(present.get() - present.get() / 16 + u32::from(found) * 16);
        found
    };
    digests.each::<{ ahead::LINES }>(ahead::is_far(words), fetch, ask, answers);
}
