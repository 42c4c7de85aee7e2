//! `xorf`: binary fuse filter, built once from all keys. Its error rate is 1/256 whatever rate is
//! asked.

use crate::contender::Contender;
use crate::keys::BenchKey;
use xorf::{BinaryFuse8, Filter};

pub(crate) struct Fuse8(BinaryFuse8);

impl Fuse8 {
    fn of(numbers: &[u64]) -> Self {
        Self(BinaryFuse8::try_from(numbers).expect("keys that are all different"))
    }
}

impl<K: BenchKey> Contender<K> for Fuse8 {
    fn new(_items: usize, _fpp: f64) -> Self {
        Self::of(&[])
    }

    fn insert_all(&mut self, keys: &[K]) {
        // The builder passes over its keys several times, so hashing them once is the faster way.
        let numbers: Vec<u64> = keys.iter().map(|key| key.number()).collect();
        *self = Self::of(&numbers);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(&key.number())
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.fingerprints.len())
    }
}
