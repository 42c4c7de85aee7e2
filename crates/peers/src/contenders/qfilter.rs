//! `qfilter`: rank-and-select quotient filter, which can also remove and count. Its capacity is a
//! power of two, so that its bits per key depend on how well the number of keys suits it.

use crate::contender::Contender;
use crate::keys::BenchKey;
use std::hint::black_box;

pub(crate) struct Quotient(qfilter::Filter);

impl<K: BenchKey> Contender<K> for Quotient {
    fn new(items: usize, fpp: f64) -> Self {
        Self(qfilter::Filter::new(items as u64, fpp).expect("a capacity within its bounds"))
    }

    fn insert_all(&mut self, keys: &[K]) {
        for key in keys {
            black_box(self.0.insert(key).expect("room for the keys it was made for"));
        }
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.memory_usage())
    }
}
