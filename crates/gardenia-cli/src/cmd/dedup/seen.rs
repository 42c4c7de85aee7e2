//! What lines were seen: a filter of any kind, asked a block at a time.
//!
//! With a state, keys are put in only once their lines are printed: what `ask` finds to be new
//! waits for `commit`. So whatever happens in between, the state holds nothing that was not
//! printed.

use super::growing::Growing;
use super::losses::Losses;
use gardenia::{AnyFilter, Digest, Filter};

/// Growth of the number of keys between two measurements of the rate: each counts all bits of a
/// filter.
const STEP: f64 = 1.15;

/// A block of more keys than this part of all changes the rate.
const MANY: f64 = 32.0;

/// Keys that change little, for each bit of the filter: it takes some seventy times as many.
const FEW: f64 = 1.0 / 2048.0;

/// What remembers lines.
pub(crate) enum Memory {
    /// As many as come, in this process.
    Growing(Growing),
    /// A filter that can be stored.
    Filter(Box<AnyFilter>),
}

/// Lines seen so far.
pub(crate) struct Seen {
    pub(crate) memory: Memory,
    /// Keys that are asked and not put in yet.
    waiting: Option<Waiting>,
    losses: Losses,
    /// Keys in a filter, as far as it can tell, and how many there will be at the next measurement.
    keys: f64,
    measure_at: f64,
    /// The most keys between two measurements, for filters that forget.
    most: f64,
}

impl Seen {
    /// `later` if keys are to wait for [`commit`](Self::commit). A filter that forgets cannot wait:
    /// within a block it may forget, and learn again.
    pub(crate) fn new(memory: Memory, later: bool) -> Self {
        let (keys, most) = match &memory {
            Memory::Filter(filter) => match &**filter {
                // Their rates go up and down, or up to where they stay.
                AnyFilter::A2(filter) => (0.0, filter.window() as f64 / 4.0),
                AnyFilter::Stable(filter) => (0.0, filter.cells() as f64 / 16.0),
                filter => {
                    let about = filter.estimated_items().map_or(0.0, |about| about.items);
                    (if about.is_finite() { about } else { 1e18 }, f64::INFINITY)
                }
            },
            Memory::Growing(_) => (0.0, f64::INFINITY),
        };
        let waiting = later.then(Waiting::default);
        let mut seen = Self { memory, waiting, losses: Losses::default(), keys, measure_at: 0.0, most };
        seen.measure();
        seen
    }

    /// Tells of each key whether it is new.
    pub(crate) fn ask(&mut self, digests: &[Digest], new: &mut [bool]) -> anyhow::Result<()> {
        match (&mut self.memory, &mut self.waiting) {
            (Memory::Growing(growing), _) => growing.insert(digests, new),
            (Memory::Filter(filter), None) => {
                let inserted = filter.insert_digests(digests, new);
                inserted.map_err(|error| crate::message::insert(error, filter))
            }
            (Memory::Filter(filter), Some(waiting)) => {
                filter.contains_digests(digests, new);
                waiting.take(digests, new);
                Ok(())
            }
        }
    }

    /// Notes that what was new is printed: this many lines.
    pub(crate) fn commit(&mut self, new: u64) -> anyhow::Result<()> {
        if let Memory::Growing(growing) = &self.memory {
            self.losses.at_rate(new, growing.fpp());
            return Ok(());
        }
        // Keys that wait were asked at the rate from before their block, which matters if they are many.
        let many = self.waiting.is_some() && new as f64 > (self.keys / MANY).max(self.few());
        if many {
            self.measure();
            self.losses.at_rate(new, self.losses.rate());
        }
        if let (Memory::Filter(filter), Some(Waiting { digests, answers, .. })) =
            (&mut self.memory, &mut self.waiting)
        {
            answers.resize(digests.len(), false);
            let inserted = filter.insert_digests(digests, answers);
            inserted.map_err(|error| crate::message::insert(error, filter))?;
        }
        self.keys += new as f64;
        if let (Memory::Filter(filter), true) = (&self.memory, many) {
            self.losses.begin(self.keys, filter.fpp());
        } else if self.keys >= self.measure_at {
            self.measure();
        }
        Ok(())
    }

    /// Whether all that is in was printed; of keys that did not wait some may not be.
    pub(crate) fn is_certain(&self) -> bool {
        self.waiting.is_some()
    }

    fn measure(&mut self) {
        if let Memory::Filter(filter) = &self.memory {
            self.losses.measured(self.keys.max(1.0), filter.fpp());
            self.measure_at = (self.keys * STEP).min(self.keys + self.most).max(self.keys + self.few());
        }
    }

    fn few(&self) -> f64 {
        (self.memory_bytes() as f64 * 8.0 * FEW).max(1.0)
    }

    /// How many lines were probably lost so far.
    pub(crate) fn losses(&mut self) -> Losses {
        self.measure();
        self.losses
    }

    /// The rate at which new lines are lost: now, or when it was last measured.
    pub(crate) fn fpp(&self) -> f64 {
        match &self.memory {
            Memory::Growing(growing) => growing.fpp(),
            Memory::Filter(_) => self.losses.rate(),
        }
    }

    /// Bytes of the filters.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match &self.memory {
            Memory::Growing(growing) => growing.memory_bytes(),
            Memory::Filter(filter) => filter.memory_bytes() as u64,
        }
    }
}

/// New keys of a block, each once.
#[derive(Default)]
struct Waiting {
    digests: Vec<Digest>,
    answers: Vec<bool>,
    /// A hash table: places in `digests`, counted from 1.
    table: Vec<usize>,
}

impl Waiting {
    /// Makes of `known` whether each digest is new: unknown, and for the first time in this block.
    fn take(&mut self, digests: &[Digest], known: &mut [bool]) {
        self.digests.clear();
        let size = (2 * digests.len()).next_power_of_two();
        self.table.clear();
        self.table.resize(size, 0);
        for (digest, known) in digests.iter().zip(known) {
            *known = !*known && {
                let mut at = digest.0 as usize & (size - 1);
                while self.table[at] != 0 && self.digests[self.table[at] - 1] != *digest {
                    at = (at + 1) & (size - 1);
                }
                let first = self.table[at] == 0;
                if first {
                    self.digests.push(*digest);
                    self.table[at] = self.digests.len();
                }
                first
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gardenia::BlockedBloom;
    use std::collections::HashSet;

    #[test]
    fn keys_that_wait_are_told_as_keys_that_do_not() {
        let filter = || Memory::Filter(Box::new(BlockedBloom::new(10_000, 1e-9).unwrap().into()));
        let (mut now, mut later) = (Seen::new(filter(), false), Seen::new(filter(), true));
        let (mut set, mut told, mut waited) = (HashSet::new(), vec![false; 500], vec![false; 500]);
        for block in 0..20u64 {
            let key = |at| Digest(Digest(Digest(at).word(1) % 3_000).word(2));
            let digests: Vec<Digest> = (500 * block..500 * (block + 1)).map(key).collect();
            let truth: Vec<bool> = digests.iter().map(|digest| set.insert(*digest)).collect();
            now.ask(&digests, &mut told).unwrap();
            // Asked, and asked again: nothing went in meanwhile.
            later.ask(&digests, &mut waited).unwrap();
            later.ask(&digests, &mut waited).unwrap();
            assert!(told == truth && waited == truth, "block {block}");
            later.commit(truth.iter().filter(|new| **new).count() as u64).unwrap();
        }
        assert!(later.is_certain() && !now.is_certain());
        assert_eq!(now.memory_bytes(), later.memory_bytes());
    }
}
