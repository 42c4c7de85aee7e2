//! What the machine allows: no filter that reads one cache line per key is faster than reading one
//! line per key, and none that hashes its keys is faster than hashing them.
#![allow(unsafe_code)] // the prefetch instruction is unsafe to call

use crate::contender::Contender;
use gardenia::{Key, KeyHasher};
use memmap2::MmapMut;
use std::hint::black_box;

/// A cache line.
type Line = [u8; 64];

/// Lines asked for ahead of the one that is read: enough to keep all of a core's outstanding loads
/// busy (64 measured best in the trials for the blocked filter).
const AHEAD: usize = 64;

/// Memory as large as a Bloom filter for the same keys, of which whole lines are read, or read and
/// written, at random. A key is a random number and tells the place by multiply-high.
pub(crate) struct Lines {
    map: MmapMut,
}

impl Lines {
    fn lines(&self) -> &[Line] {
        self.map.as_chunks().0
    }

    fn lines_mut(&mut self) -> &mut [Line] {
        self.map.as_chunks_mut().0
    }
}

impl Contender<u64> for Lines {
    fn new(items: usize, fpp: f64) -> Self {
        // The textbook's size of a Bloom filter, n·ln(1/p)/ln²2 bits: asking the library would time its planning.
        let bits = items as f64 * -fpp.ln() / std::f64::consts::LN_2.powi(2);
        let bytes = (bits / 512.0).ceil() as usize * size_of::<Line>();
        let map = MmapMut::map_anon(bytes).expect("memory for as many bytes as a filter has");
        // The limit is that of memory: with small pages it would be that of looking up pages.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Self { map }
    }

    fn insert_all(&mut self, keys: &[u64]) {
        let lines = self.lines_mut();
        for &key in keys {
            write(&mut lines[place(key, lines.len())], key);
        }
    }

    fn insert_many(&mut self, keys: &[u64]) -> Option<()> {
        let lines = self.lines_mut();
        ask_first(lines, keys);
        for (at, &key) in keys.iter().enumerate() {
            ask_ahead(lines, keys, at);
            write(&mut lines[place(key, lines.len())], key);
        }
        Some(())
    }

    fn contains(&self, key: &u64) -> bool {
        let lines = self.lines();
        read(&lines[place(*key, lines.len())]) == 0
    }

    fn contains_many(&self, keys: &[u64]) -> Option<usize> {
        let lines = self.lines();
        let mut sum = 0;
        ask_first(lines, keys);
        for (at, &key) in keys.iter().enumerate() {
            ask_ahead(lines, keys, at);
            sum ^= read(&lines[place(key, lines.len())]);
        }
        black_box(sum);
        Some(0)
    }

    fn heap_bytes(&self) -> Option<usize> {
        None
    }
}

#[inline]
fn place(key: u64, lines: usize) -> usize {
    ((u128::from(key) * lines as u128) >> 64) as usize
}

/// All words of a line in one.
#[inline]
fn read(line: &Line) -> u64 {
    line.as_chunks().0.iter().fold(0, |sum, word| sum ^ u64::from_ne_bytes(*word))
}

/// Changes all words of a line.
#[inline]
fn write(line: &mut Line, key: u64) {
    for word in line.as_chunks_mut().0 {
        *word = (u64::from_ne_bytes(*word) | key).to_ne_bytes();
    }
}

/// Asks for the lines of the first keys.
#[inline]
fn ask_first(lines: &[Line], keys: &[u64]) {
    for &key in keys.iter().take(AHEAD) {
        prefetch(&lines[place(key, lines.len())]);
    }
}

/// Asks for the line of the key `AHEAD` keys after `at`. The only branch is the end of the keys.
#[inline]
fn ask_ahead(lines: &[Line], keys: &[u64], at: usize) {
    if let Some(&later) = keys.get(at + AHEAD) {
        prefetch(&lines[place(later, lines.len())]);
    }
}

/// Asks for a line before it is needed.
#[inline(always)]
fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that reads nothing and cannot fault; the line is valid anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// The default hash function of gardenia, XXH3-64, and nothing else.
pub(crate) struct HashAlone(KeyHasher);

impl<K: Key> Contender<K> for HashAlone {
    fn new(_items: usize, _fpp: f64) -> Self {
        Self(KeyHasher::default())
    }

    fn insert_all(&mut self, keys: &[K]) {
        for key in keys {
            black_box(self.0.digest_key(key));
        }
    }

    fn contains(&self, key: &K) -> bool {
        black_box(self.0.digest_key(key)).0 == 0
    }

    fn contains_many(&self, keys: &[K]) -> Option<usize> {
        black_box(keys.iter().fold(0, |sum, key| sum ^ self.0.digest_key(key).0));
        Some(0)
    }

    fn heap_bytes(&self) -> Option<usize> {
        None
    }
}
