//! Gardenia itself.

use crate::contender::{Contender, count};
use crate::keys::BenchKey;
use std::hint::black_box;

/// A size that gardenia refuses cannot be compared: the sizes and rates of the command line are all
/// fine.
const SIZED: &str = "a size and a rate within gardenia's bounds";

pub(crate) struct Bloom(gardenia::Bloom);

impl<K: BenchKey> Contender<K> for Bloom {
    fn new(items: usize, fpp: f64) -> Self {
        Self(gardenia::Bloom::new(items as u64, fpp).expect(SIZED))
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
        Some(self.0.memory_bytes())
    }

    fn insert_many(&mut self, keys: &[K]) -> Option<()> {
        black_box(self.0.insert_many(keys));
        Some(())
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        Some(count(self.0.contains_many(keys)))
    }
}

/// Bytes that a Bloom filter takes beyond its m bits.
pub(crate) fn bloom_overhead(items: usize, fpp: f64) -> f64 {
    let filter = gardenia::Bloom::new(items as u64, fpp).expect(SIZED);
    (filter.memory_bytes() + size_of_val(&filter)) as f64 - filter.bits() as f64 / 8.0
}

pub(crate) struct AtomicBloom(gardenia::AtomicBloom);

impl<K: BenchKey> Contender<K> for AtomicBloom {
    fn new(items: usize, fpp: f64) -> Self {
        Self(gardenia::AtomicBloom::new(items as u64, fpp).expect(SIZED))
    }

    fn insert_all(&mut self, keys: &[K]) {
        self.insert_shared(keys);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        Some(count(self.0.contains_many(keys)))
    }

    fn insert_shared(&self, keys: &[K]) -> Option<()> {
        for key in keys {
            black_box(self.0.insert(key));
        }
        Some(())
    }
}

pub(crate) struct Blocked(gardenia::BlockedBloom);

impl<K: BenchKey> Contender<K> for Blocked {
    fn new(items: usize, fpp: f64) -> Self {
        Self(gardenia::BlockedBloom::new(items as u64, fpp).expect(SIZED))
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
        Some(self.0.memory_bytes())
    }

    fn insert_many(&mut self, keys: &[K]) -> Option<()> {
        black_box(self.0.insert_many(keys));
        Some(())
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        Some(count(self.0.contains_many(keys)))
    }
}

pub(crate) struct AtomicBlocked(gardenia::AtomicBlockedBloom);

impl<K: BenchKey> Contender<K> for AtomicBlocked {
    fn new(items: usize, fpp: f64) -> Self {
        Self(gardenia::AtomicBlockedBloom::new(items as u64, fpp).expect(SIZED))
    }

    fn insert_all(&mut self, keys: &[K]) {
        self.insert_shared(keys);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }

    fn insert_many(&mut self, keys: &[K]) -> Option<()> {
        self.insert_many_shared(keys)
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        Some(count(self.0.contains_many(keys)))
    }

    fn insert_shared(&self, keys: &[K]) -> Option<()> {
        for key in keys {
            black_box(self.0.insert(key));
        }
        Some(())
    }

    fn insert_many_shared(&self, keys: &[K]) -> Option<()> {
        black_box(self.0.insert_many(keys));
        Some(())
    }
}

pub(crate) struct SplitBlock(gardenia::SplitBlockBloom);

impl<K: BenchKey> Contender<K> for SplitBlock {
    fn new(items: usize, fpp: f64) -> Self {
        Self(gardenia::SplitBlockBloom::new(items as u64, fpp).expect(SIZED))
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
        Some(self.0.memory_bytes())
    }

    fn insert_many(&mut self, keys: &[K]) -> Option<()> {
        black_box(self.0.insert_many(keys));
        Some(())
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        Some(count(self.0.contains_many(keys)))
    }
}

/// The split-block filter as Parquet has it, with XXH64.
pub(crate) struct Parquet(SplitBlock);

impl<K: BenchKey> Contender<K> for Parquet {
    fn new(items: usize, fpp: f64) -> Self {
        let builder = gardenia::SplitBlockBloom::builder().items(items as u64).fpp(fpp);
        Self(SplitBlock(builder.hasher(gardenia::KeyHasher::xxh64(0)).build().expect(SIZED)))
    }

    fn insert_all(&mut self, keys: &[K]) {
        self.0.insert_all(keys);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Contender::<K>::heap_bytes(&self.0)
    }

    fn insert_many(&mut self, keys: &[K]) -> Option<()> {
        self.0.insert_many(keys)
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        self.0.contains_many(keys)
    }
}

/// Bits per key that `SplitBlockBloom::new` takes.
pub(crate) fn split_block_bits_per_key(items: usize, fpp: f64) -> Option<f64> {
    let filter = gardenia::SplitBlockBloom::new(items as u64, fpp).ok()?;
    Some(filter.bits() as f64 / items as f64)
}

/// Bits per key that `BlockedBloom::new` takes.
pub(crate) fn blocked_bits_per_key(items: usize, fpp: f64) -> Option<f64> {
    let filter = gardenia::BlockedBloom::new(items as u64, fpp).ok()?;
    Some(filter.bits() as f64 / items as f64)
}
