//! The keys: random numbers from a seeded stream, and texts made from them.

use gardenia::{Key, KeyHasher};
use serde::Serialize;
use std::fmt;
use std::hash::Hash;

/// Keys inserted and asked per repeat at least: fewer take too little time to be measured.
const FEWEST: usize = 200_000;
/// Keys asked per repeat at most: more would take longer and tell no more.
const MOST: usize = 2_000_000;
/// Absent keys asked over all repeats at least, for the measured error rate.
const ABSENT: usize = 1_000_000;

/// What all contenders can take as a key.
pub(crate) trait BenchKey: Key + Hash + Copy + Sync {
    /// A number that stands for the key, for libraries that take numbers only.
    fn number(self) -> u64;
}

impl BenchKey for u64 {
    #[inline]
    fn number(self) -> u64 {
        self
    }
}

impl BenchKey for &str {
    #[inline]
    fn number(self) -> u64 {
        KeyHasher::default().digest_key(self).0
    }
}

/// The kind of keys in one section of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyKind {
    U64,
    Str40,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::U64 => "u64",
            Self::Str40 => "str40",
        })
    }
}

/// Number `at` of stream `stream`: SplitMix64 (Steele, Lea and Flood, 2014), which maps counters to
/// numbers one to one. So no key comes twice, and a key of one stream never comes in another.
pub(crate) fn random(stream: u64, at: usize) -> u64 {
    let counter = (stream << 40) | at as u64;
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Streams: the inserted keys, then per repeat the absent keys and the draws.
const INSERTED: u64 = 0;
const MISSES: u64 = 1 << 20;
const DRAWS: u64 = 2 << 20;

/// The keys to insert: as many sets of `items` as it takes to measure small filters, too. Each set
/// goes into a filter of its own, so that no branch predictor sees a small set twice in one repeat.
pub(crate) fn inserted(items: usize) -> Vec<u64> {
    let sets = FEWEST.div_ceil(items);
    (0..items * sets).map(|at| random(INSERTED, at)).collect()
}

/// The keys to ask in one repeat, stored in the order in which they are asked: reading the keys
/// themselves is to cost little and the same for all.
pub(crate) struct Queries {
    pub(crate) hits: Vec<u64>,
    pub(crate) misses: Vec<u64>,
    pub(crate) mixed: Vec<u64>,
}

impl Queries {
    /// Draws hits at random from the last set of the pool; misses are fresh in each repeat.
    pub(crate) fn draw(pool: &[u64], items: usize, repeat: usize, repeats: usize) -> Self {
        let queries = items.clamp(FEWEST, MOST);
        let last_set = &pool[pool.len() - items..];
        let draws = (0..queries).map(|at| random(DRAWS + repeat as u64, at));
        let pick = |draw: u64| last_set[((u128::from(draw) * items as u128) >> 64) as usize];
        let hits: Vec<u64> = draws.clone().map(pick).collect();
        let asked = queries.max(ABSENT.div_ceil(repeats));
        let misses: Vec<u64> = (0..asked).map(|at| random(MISSES + repeat as u64, at)).collect();
        // The lowest bit of a draw has no part in picking the key.
        let mixed = draws.enumerate().map(|(at, draw)| if draw & 1 == 0 { hits[at] } else { misses[at] });
        Self { mixed: mixed.collect(), hits, misses }
    }
}

const PREFIX: &str = "https://example.org/key/";
const HEX_DIGITS: usize = 16;
const TEXT: usize = PREFIX.len() + HEX_DIGITS;

/// Texts of 40 bytes, one behind the other in memory.
pub(crate) struct Texts(String);

impl Texts {
    /// One text per number, all different when the numbers are.
    pub(crate) fn of(numbers: &[u64]) -> Self {
        let mut arena = String::with_capacity(numbers.len() * TEXT);
        for number in numbers {
            arena.push_str(PREFIX);
            let digit = |at: usize| char::from(b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15]);
            arena.extend((0..HEX_DIGITS).map(digit));
        }
        Self(arena)
    }

    /// The texts, as the slices that all contenders get.
    pub(crate) fn refs(&self) -> Vec<&str> {
        (0..self.0.len() / TEXT).map(|at| &self.0[at * TEXT..][..TEXT]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hits_are_inserted_misses_are_not_and_the_mix_is_half_of_each() {
        for items in [1_000, 300_000] {
            let pool = inserted(items);
            let all: HashSet<u64> = pool.iter().copied().collect();
            assert!(all.len() == pool.len() && pool.len() >= FEWEST);
            let last: HashSet<u64> = pool[pool.len() - items..].iter().copied().collect();
            let Queries { hits, misses, mixed } = Queries::draw(&pool, items, 0, 5);
            assert!(hits.len() >= FEWEST && hits.iter().all(|key| last.contains(key)));
            assert!(misses.len() * 5 >= ABSENT && !misses.iter().any(|key| all.contains(key)));
            let share = mixed.iter().filter(|key| last.contains(key)).count() as f64 / mixed.len() as f64;
            assert!((share - 0.5).abs() < 0.01, "{share}");
            assert_ne!(misses[0], Queries::draw(&pool, items, 1, 5).misses[0]);
        }
    }

    #[test]
    fn texts_have_40_bytes_and_keep_the_number() {
        let texts = Texts::of(&[0, u64::MAX, 0x0123_4567_89ab_cdef]);
        assert!(texts.refs().iter().all(|text| text.len() == 40));
        assert_eq!(texts.refs()[2], "https://example.org/key/0123456789abcdef");
    }
}
