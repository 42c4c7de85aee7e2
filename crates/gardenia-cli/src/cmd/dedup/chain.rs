//! Lines seen so far, when nobody knows how many will come: cuckoo filters, one behind the other.
//!
//! Each new one takes what the rest of the input is expected to bring, or half as many lines as came so far, so that little
//! of it stays empty. Fingerprints need 26 to 29 bits per line at a rate of 10⁻⁶, where a Bloom
//! filter needs 29 and a blocked one 39, and two cache lines per filter. The rates of the filters are the falling series
//! of the scalable Bloom filter, so that their sum stays below what was unknown for.
//!
//! A line is unknown of all filters, the newest first, a block at a time; what none of them knows goes into the newest.

use crate::{memory, message};
use gardenia::theory::scalable::{compound, slice_fpp};
use gardenia::{Cuckoo, Digest, SizeError};

/// The rate of each filter over that of the one before it.
const TIGHTENING: f64 = 0.85;

/// Below this rate fingerprints would need more than the 32 bits that they can have.
pub(crate) const LEAST_FPP: f64 = 1e-7;

/// Lines that the first filter takes, if nothing is known of them: 3.5 MiB. Below that a chain grows by leaps.
pub(crate) const FIRST: u64 = 1 << 20;

/// Filters above this size are allowed for before they are taken.
const LARGE: u64 = 16 << 20;

/// Keys that are unknown for together.
const BLOCK: usize = 4096;

/// What keys were seen.
pub(crate) struct Chain {
    fpp: f64,
    /// The oldest first; never empty.
    filters: Vec<Cuckoo>,
    unknown: Unknown,
}

/// Keys of a block that no filter knew so far, and their places in it.
#[derive(Default)]
struct Unknown {
    places: Vec<u32>,
    digests: Vec<Digest>,
    known: Vec<bool>,
}

impl Unknown {
    fn all(&mut self, digests: &[Digest]) {
        self.digests.clear();
        self.digests.extend_from_slice(digests);
        self.places.clear();
        self.places.extend(0..digests.len() as u32);
    }

    /// Leaves those that `filter` does not know.
    fn ask(&mut self, filter: &Cuckoo) {
        self.known.resize(self.digests.len(), false);
        filter.contains_digests(&self.digests, &mut self.known);
        let mut left = 0;
        for at in 0..self.known.len() {
            // Written whether it stays or not: a branch would be mispredicted for every second line.
            self.digests[left] = self.digests[at];
            self.places[left] = self.places[at];
            left += usize::from(!self.known[at]);
        }
        self.digests.truncate(left);
        self.places.truncate(left);
    }
}

impl Chain {
    /// An empty one; `first` lines are expected.
    pub(crate) fn new(fpp: f64, first: u64) -> anyhow::Result<Self> {
        let filter = filter(fpp, 0, first)?;
        Ok(Self { fpp, filters: vec![filter], unknown: Unknown::default() })
    }

    /// Adds keys in order, and tells of each whether it is new; `expected` tells how many more new ones will come, if it
    /// can.
    pub(crate) fn insert(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
        expected: impl Fn() -> Option<u64>,
    ) -> anyhow::Result<()> {
        digests.chunks(BLOCK).zip(new.chunks_mut(BLOCK)).try_for_each(|(d, n)| self.take(d, n, &expected))
    }

    /// [`insert`](Self::insert) of so few that their lines of memory stay in the cache.
    fn take(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
        expected: impl Fn() -> Option<u64>,
    ) -> anyhow::Result<()> {
        self.unknown.all(digests);
        self.filters.iter().rev().for_each(|filter| self.unknown.ask(filter));
        new.fill(false);
        let mut newest = self.filters.len() - 1;
        // Those of this block that went in are in these.
        let first = newest;
        for at in 0..self.unknown.digests.len() {
            let (digest, place) = (self.unknown.digests[at], self.unknown.places[at]);
            if self.filters[first..].iter().any(|filter| filter.contains_digest(digest)) {
                continue;
            }
            while self.is_full() || self.filters[newest].insert_digest(digest).is_err() {
                self.grow(expected())?;
                newest += 1;
            }
            new[place as usize] = true;
        }
        Ok(())
    }

    /// Whether the newest filter has as many keys as it was made for.
    fn is_full(&self) -> bool {
        self.filters.last().is_none_or(|newest| newest.items() >= newest.about().planned_items())
    }

    fn grow(&mut self, expected: Option<u64>) -> anyhow::Result<()> {
        let items = self.items();
        let small = items < FIRST;
        let next = match expected {
            // A little more, for what was not foreseen, and no leap: lines may repeat later.
            Some(expected) => {
                let least = if small { items } else { items / 8 };
                (expected + expected / 32 + 1024).clamp(least, 3 * items)
            }
            None if small => 3 * items,
            None => items / 2,
        };
        self.filters.push(filter(self.fpp, self.filters.len(), next.max(1024))?);
        Ok(())
    }

    /// Keys in it.
    pub(crate) fn items(&self) -> u64 {
        self.filters.iter().map(Cuckoo::items).sum()
    }

    /// How often it takes a new key for known, now.
    pub(crate) fn fpp(&self) -> f64 {
        compound(self.filters.iter().map(Cuckoo::fpp))
    }

    /// Bytes of all filters.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.filters.iter().map(|filter| filter.memory_bytes() as u64).sum()
    }
}

/// Filter `number` of a chain, for so many keys, once its memory is known to be there.
fn filter(fpp: f64, number: usize, items: u64) -> anyhow::Result<Cuckoo> {
    let rate = slice_fpp(fpp, TIGHTENING, number as u32);
    let builder = Cuckoo::builder().items(items);
    let builder = match builder.clone().fpp(rate).shape() {
        // The widest there are: far down a chain of a very low rate they are a little above their share.
        Err(SizeError::FppBelowFloor { .. }) => builder.width(32),
        _ => builder.fpp(rate),
    };
    let shape = builder.shape().map_err(message::size)?;
    let bytes = (shape.cells() * u64::from(shape.width)).div_ceil(8);
    if bytes > LARGE {
        memory::require(bytes, "remembering more lines", "--memory caps it, --window forgets old lines")?;
    }
    builder.build().map_err(message::size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Keys of which many repeat, within blocks and between them.
    fn key(at: u64) -> Digest {
        Digest(Digest(Digest(at).word(1) % 40_000).word(2))
    }

    #[test]
    fn a_chain_tells_what_a_set_tells_and_keeps_its_rate() {
        for expected in [None, Some(100), Some(50_000)] {
            let (mut chain, mut set) = (Chain::new(1e-7, 100).unwrap(), HashSet::new());
            let mut new = Vec::new();
            for block in 0..50 {
                let digests: Vec<Digest> = (block * 2_000..(block + 1) * 2_000).map(key).collect();
                new.resize(digests.len(), true);
                chain.insert(&digests, &mut new, || expected).unwrap();
                let told: Vec<bool> = digests.iter().map(|digest| set.insert(*digest)).collect();
                assert_eq!(new, told, "block {block}, {expected:?}");
            }
            assert_eq!(chain.items(), set.len() as u64);
            assert!(chain.filters.len() > 2 && chain.fpp() <= 1e-7, "{:?}", chain.fpp());
        }
    }

    #[test]
    fn a_chain_stays_within_two_of_what_it_needs() {
        let mut chain = Chain::new(1e-6, 1024).unwrap();
        let mut new = vec![false; 1000];
        for block in 0..3_000u64 {
            let digests: Vec<Digest> =
                (0..1000).map(|at| Digest(Digest(1000 * block + at).word(1))).collect();
            chain.insert(&digests, &mut new, || None).unwrap();
        }
        let bits = chain.memory_bytes() as f64 * 8.0 / chain.items() as f64;
        assert!((26.0..50.0).contains(&bits), "{bits}");
    }
}
