//! Lines seen so far, when unknown number of keys will come: a filter that grows in place.

use crate::message::hinted;
use crate::{memory, message};
use gardenia::theory::infini::Rule;
use gardenia::{Digest, InfiniFilter};

/// Below this rate fingerprints would need more bits than they can have.
pub(crate) const LEAST_FPP: f64 = 1e-8;

/// Filters above this size are allowed for before they grow.
const LARGE: u64 = 16 << 20;

/// What to do when memory is full.
const HINT: &str = "--memory caps it, --window forgets old lines";

/// What keys were seen.
pub(crate) struct Growing {
    filter: Box<InfiniFilter>,
    rule: Rule,
    /// Keys at which memory is looked at again.
    next: u64,
}

impl Growing {
    /// An empty one, with room for `first` lines.
    pub(crate) fn new(fpp: f64, first: u64) -> anyhow::Result<Self> {
        let builder = InfiniFilter::builder().fpp(fpp).items(first);
        let rule = builder.rule().map_err(message::size)?;
        let mut growing =
            Self { filter: Box::new(InfiniFilter::new(fpp).map_err(message::size)?), rule, next: 0 };
        growing.allow(first)?;
        *growing.filter = builder.build().map_err(message::size)?;
        Ok(growing)
    }

    /// Adds keys in order, and tells of each whether it is new.
    pub(crate) fn insert(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<()> {
        if self.filter.items() >= self.next {
            self.allow(self.filter.items() / 4 + digests.len() as u64)?;
        }
        let inserted = self.filter.insert_absent_digests(digests, new);
        inserted.map_err(|_| hinted("there is no memory to remember more lines", HINT))
    }

    /// Tells of each key whether it may have gone in.
    pub(crate) fn contains(&self, digests: &[Digest], known: &mut [bool]) {
        self.filter.contains_digests(digests, known);
    }

    /// An error unless there is memory for that many more keys.
    fn allow(&mut self, keys: u64) -> anyhow::Result<()> {
        let bytes = keys.saturating_mul(u64::from(self.rule.width) / 8 + 1);
        if bytes > LARGE {
            memory::require(bytes, "remembering more lines", HINT)?;
        }
        self.next = self.filter.items() + keys;
        Ok(())
    }

    /// How often it takes a new key for known, now.
    pub(crate) fn fpp(&self) -> f64 {
        self.rule.fpp_at(self.filter.items())
    }

    /// Bytes of the filter.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes() as u64
    }
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
    fn it_tells_what_a_set_tells_and_keeps_its_rate() {
        let (mut growing, mut set) = (Growing::new(1e-7, 100).unwrap(), HashSet::new());
        let mut new = Vec::new();
        for block in 0..50 {
            let digests: Vec<Digest> = (block * 2_000..(block + 1) * 2_000).map(key).collect();
            new.resize(digests.len(), true);
            growing.insert(&digests, &mut new).unwrap();
            let told: Vec<bool> = digests.iter().map(|digest| set.insert(*digest)).collect();
            assert_eq!(new, told, "block {block}");
        }
        assert_eq!(growing.filter.items(), set.len() as u64);
        assert!(growing.fpp() <= 1e-7, "{:?}", growing.fpp());
        let bits = growing.memory_bytes() as f64 * 8.0 / set.len() as f64;
        assert!((32.0..38.0).contains(&bits), "{bits}");
    }
}
