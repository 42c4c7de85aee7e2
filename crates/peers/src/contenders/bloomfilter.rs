//! `bloomfilter`: a classical filter, long known and much used; two SipHash-1-3 per key and a
//! division per probe.

use crate::contender::Contender;
use crate::keys::BenchKey;

pub(crate) struct Sip<K>(bloomfilter::Bloom<K>);

impl<K: BenchKey> Contender<K> for Sip<K> {
    fn new(items: usize, fpp: f64) -> Self {
        Self(bloomfilter::Bloom::new_for_fp_rate(items, fpp).expect("items, and a rate below 1"))
    }

    fn insert_all(&mut self, keys: &[K]) {
        for key in keys {
            self.0.set(key);
        }
    }

    fn contains(&self, key: &K) -> bool {
        self.0.check(key)
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.0.len() as usize / 8)
    }
}
