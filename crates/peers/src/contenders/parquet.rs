//! `parquet`: the split-block filter of the Rust implementation of Parquet, with XXH64. Sizes are
//! powers of two.

use crate::contender::Contender;
use crate::keys::BenchKey;
use parquet::bloom_filter::Sbbf;

pub(crate) struct Parquet(Sbbf);

impl<K: BenchKey> Contender<K> for Parquet {
    fn new(items: usize, fpp: f64) -> Self {
        Self(Sbbf::new_with_ndv_fpp(items as u64, fpp).expect("a size that a filter can have"))
    }

    fn insert_all(&mut self, keys: &[K]) {
        for key in keys {
            key.with_bytes(|bytes| self.0.insert(bytes));
        }
    }

    fn contains(&self, key: &K) -> bool {
        key.with_bytes(|bytes| self.0.check(bytes))
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.num_blocks() * 32)
    }
}
