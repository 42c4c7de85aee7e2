//! `sbbf-rs-safe`: split block Bloom filter, the layout of Parquet files, with vector instructions.
//! It takes hashed keys, so that the hash function is the caller's choice.

use crate::contender::Contender;
use crate::keys::BenchKey;
use gardenia::KeyHasher;
use std::hash::BuildHasher;
use std::hint::black_box;

/// What hashes the keys.
pub(crate) trait HashKey: Default + Sync {
    fn hash_key<K: BenchKey>(&self, key: &K) -> u64;
}

/// With the hash function of gardenia: the same work before the filter.
pub(crate) type Xxh3 = KeyHasher;
/// With the fastest hash function.
pub(crate) type FoldHash = foldhash::fast::RandomState;

impl HashKey for Xxh3 {
    #[inline]
    fn hash_key<K: BenchKey>(&self, key: &K) -> u64 {
        self.digest_key(key).0
    }
}

impl HashKey for FoldHash {
    #[inline]
    fn hash_key<K: BenchKey>(&self, key: &K) -> u64 {
        self.hash_one(key)
    }
}

pub(crate) struct Sbbf<H> {
    hasher: H,
    filter: sbbf_rs_safe::Filter,
}

impl<K: BenchKey, H: HashKey> Contender<K> for Sbbf<H> {
    fn new(items: usize, fpp: f64) -> Self {
        let bits_per_key = whole_bits_per_key(fpp);
        Self { hasher: H::default(), filter: sbbf_rs_safe::Filter::new(bits_per_key, items) }
    }

    fn insert_all(&mut self, keys: &[K]) {
        for key in keys {
            black_box(self.filter.insert_hash(self.hasher.hash_key(key)));
        }
    }

    fn contains(&self, key: &K) -> bool {
        self.filter.contains_hash(self.hasher.hash_key(key))
    }

    fn heap_bytes(&self) -> Option<usize> {
        Some(self.filter.as_bytes().len())
    }
}

/// The crate takes whole bits per key: the fewest that keep to `fpp`. The search starts where a
/// classical filter would do, because it is timed with the filter's creation.
fn whole_bits_per_key(fpp: f64) -> usize {
    let mut bits = (-fpp.ln() / std::f64::consts::LN_2.powi(2)).ceil().max(1.0);
    while split_block_fpp(bits) > fpp && bits < 64.0 {
        bits += 1.0;
    }
    bits as usize
}

/// False-positive probability of blocks of eight 32-bit lanes with one bit per key in each: the
/// number of keys in a block is Poisson distributed (Putze, Sanders and Singler, 2007).
fn split_block_fpp(bits_per_key: f64) -> f64 {
    let mean = 256.0 / bits_per_key;
    let most = mean + 12.0 * mean.sqrt() + 12.0; // blocks with more keys do not occur
    let mut chance = (-mean).exp(); // of a block with no keys
    let (mut clear, mut fpp, mut keys) = (1.0, 0.0, 0.0);
    while keys < most {
        keys += 1.0;
        chance *= mean / keys;
        clear *= 31.0 / 32.0; // chance that a lane's bit is clear
        fpp += chance * f64::powi(1.0 - clear, 8);
    }
    fpp
}

#[test]
fn split_blocks_take_the_bits_per_key_of_their_table() {
    // The sizing table of the Parquet format, BloomFilter.md: 10.5 bits for 1 %, 16.9 for 0.1 %.
    assert!((split_block_fpp(10.5) / 0.01 - 1.0).abs() < 0.03, "{}", split_block_fpp(10.5));
    assert!((split_block_fpp(16.9) / 0.001 - 1.0).abs() < 0.03, "{}", split_block_fpp(16.9));
    assert_eq!((whole_bits_per_key(0.01), whole_bits_per_key(0.001)), (11, 17));
}
