//! What a filter must offer to be measured.

use std::hint::black_box;

/// A filter of one library over keys `K`.
///
/// What a library does not offer answers `None`, and its column stays empty. Loops are written here
/// or in the `impl`, never behind a pointer, so that every contender is inlined as it would be in a
/// program. Answers go through [`black_box`]: an answer that nobody uses need not be computed, and
/// once was not.
pub(crate) trait Contender<K>: Sized + Sync {
    /// An empty filter for `items` keys at the false-positive probability `fpp`.
    fn new(items: usize, fpp: f64) -> Self;

    /// Adds all keys, one call per key; or builds the filter of these keys where that is the only
    /// way.
    fn insert_all(&mut self, keys: &[K]);

    /// Whether the key may be present.
    fn contains(&self, key: &K) -> bool;

    /// Bytes on the heap; `None` for what is not a filter and measures the machine.
    fn heap_bytes(&self) -> Option<usize>;

    /// Adds all keys in one call.
    fn insert_many(&mut self, _keys: &[K]) -> Option<()> {
        None
    }

    /// How many of the keys may be present, asked in one call.
    fn contains_many(&self, _keys: &[K]) -> Option<usize> {
        None
    }

    /// Adds all keys, one call per key, while other threads do the same.
    fn insert_shared(&self, _keys: &[K]) -> Option<()> {
        None
    }

    /// Adds all keys in one call, while other threads do the same.
    fn insert_many_shared(&self, _keys: &[K]) -> Option<()> {
        None
    }
}

/// Counts the answers of a batch, so that all of them are used.
pub(crate) fn count(answers: Vec<bool>) -> usize {
    black_box(answers).iter().map(|&found| usize::from(found)).sum()
}
