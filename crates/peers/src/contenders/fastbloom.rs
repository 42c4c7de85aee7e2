//! `fastbloom`: the classical filter that sets the pace among Rust crates. It has no batch calls:
//! its `insert_all` is a loop over `insert`.

use crate::contender::Contender;
use crate::keys::BenchKey;
use fastbloom::{AtomicBloomFilter, BloomFilter, DefaultHasher};
use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::hint::black_box;

/// With the hash function it has by default, SipHash-1-3.
pub(crate) type Default = Plain<DefaultHasher>;
/// With the fastest hash function its documentation suggests.
pub(crate) type FoldHash = Plain<RandomState>;

pub(crate) struct Plain<S>(BloomFilter<S>);

impl<K: BenchKey, S: BuildHasher + std::default::Default + Sync> Contender<K> for Plain<S> {
    fn new(items: usize, fpp: f64) -> Self {
        Self(BloomFilter::with_false_pos(fpp).hasher(S::default()).expected_items(items))
    }

    fn insert_all(&mut self, keys: &[K]) {
        for key in keys {
            black_box(self.0.insert(key));
        }
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.num_bits() / 8)
    }
}

/// The filter that threads can share, with the default hash function.
pub(crate) struct Atomic(AtomicBloomFilter);

impl<K: BenchKey> Contender<K> for Atomic {
    fn new(items: usize, fpp: f64) -> Self {
        Self(AtomicBloomFilter::with_false_pos(fpp).expected_items(items))
    }

    fn insert_all(&mut self, keys: &[K]) {
        self.insert_shared(keys);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.num_bits() / 8)
    }

    fn insert_shared(&self, keys: &[K]) -> Option<()> {
        for key in keys {
            black_box(self.0.insert(key));
        }
        Some(())
    }
}
