//! The table of a [`Top`](super::top::Top): candidates by digest, and the one with the least upper bound.
//!
//! Upper bounds only rise while a candidate stays, so the heap may hold old ones: its first entry is put right when
//! it is needed, and raising a candidate touches no heap at all.

use super::top::Hitter;
use crate::SizeError;
use crate::hash::Digest;
use alloc::collections::BinaryHeap;
use alloc::collections::binary_heap::PeekMut;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A key in the table.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) digest: Digest,
    pub(super) key: Vec<u8>,
    /// Bounds of its count.
    pub(super) lower: u64,
    pub(super) upper: u64,
    /// What the sketch has not seen of it.
    pub(super) owed: u64,
}

impl Candidate {
    /// A key whose last weight the sketch has seen; its count is `upper` at most.
    pub(super) fn new(digest: Digest, key: &[u8], weight: u64, upper: u64) -> Self {
        Self { digest, key: key.to_vec(), lower: weight, upper, owed: 0 }
    }

    /// Counts `weight` more.
    #[inline]
    pub(super) fn raise(&mut self, weight: u64) {
        self.lower = self.lower.saturating_add(weight);
        self.upper = self.upper.saturating_add(weight);
        self.owed = self.owed.saturating_add(weight);
    }

    /// Takes in what another table counted of the same key.
    pub(super) fn join(&mut self, other: &Self) {
        self.lower = self.lower.saturating_add(other.lower);
        self.upper = self.upper.saturating_add(other.upper);
        self.owed = self.owed.saturating_add(other.owed);
    }

    pub(super) fn hitter(&self) -> Hitter {
        Hitter { key: self.key.clone(), lower: self.lower, upper: self.upper }
    }
}

/// At most `slots` candidates.
#[derive(Clone)]
pub(super) struct Candidates {
    slots: usize,
    all: Vec<Candidate>,
    /// Open addressing with linear probing, at most half full: 0, or the upper half of a digest and one more than the
    /// candidate's place.
    index: Vec<u64>,
    /// An upper bound of each candidate, now or earlier; the least first.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

/// The candidate's place in an entry of the index.
const PLACE: u64 = 0xffff_ffff;

impl Candidates {
    pub(super) fn new(slots: usize) -> Result<Self, SizeError> {
        let max = u64::from(u32::MAX / 4);
        if slots as u64 > max {
            return Err(SizeError::TooManyCells { cells: slots as u64, max });
        }
        let entries = (2 * slots).next_power_of_two();
        let failed = |_| SizeError::Memory { bytes: entries as u64 * 8 };
        let mut index = Vec::new();
        index.try_reserve_exact(entries).map_err(failed)?;
        index.resize(entries, 0);
        Ok(Self { slots, all: Vec::new(), index, heap: BinaryHeap::new() })
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.all.iter()
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.heap.clear();
        self.index.fill(0);
    }

    /// Where a key's search begins.
    #[inline]
    fn home(&self, digest: Digest) -> usize {
        digest.0 as usize & (self.index.len() - 1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.index.len() - 1)
    }

    /// The place of this key's candidate.
    #[inline]
    fn place(&self, digest: Digest, key: &[u8]) -> Option<usize> {
        let mut at = self.home(digest);
        loop {
            let entry = self.index[at];
            if entry == 0 {
                return None;
            }
            if (entry ^ digest.0) >> 32 == 0 {
                let place = (entry & PLACE) as usize - 1;
                // Keys are compared, too: digests of different keys may agree.
                if self.all[place].digest == digest && self.all[place].key == key {
                    return Some(place);
                }
            }
            at = self.next(at);
        }
    }

    pub(super) fn get(&self, digest: Digest, key: &[u8]) -> Option<&Candidate> {
        self.place(digest, key).map(|place| &self.all[place])
    }

    #[inline]
    pub(super) fn find(&mut self, digest: Digest, key: &[u8]) -> Option<&mut Candidate> {
        self.place(digest, key).map(|place| &mut self.all[place])
    }

    /// Whether a new candidate with this upper bound would be kept.
    #[inline]
    pub(super) fn would_take(&mut self, upper: u64) -> bool {
        if self.all.len() < self.slots {
            return true;
        }
        while let Some(mut first) = self.heap.peek_mut() {
            let Reverse((known, place)) = *first;
            if upper <= known {
                return false;
            }
            let now = self.all[place as usize].upper;
            if now == known {
                return true;
            }
            *first = Reverse((now, place));
        }
        false
    }

    /// Takes in a candidate, after [`would_take`](Self::would_take); the one that had to leave.
    pub(super) fn take(&mut self, new: Candidate) -> Option<Candidate> {
        if self.all.len() < self.slots {
            let place = self.all.len();
            self.heap.push(Reverse((new.upper, place as u32)));
            self.enter(new.digest, place);
            self.all.push(new);
            return None;
        }
        let mut first = self.heap.peek_mut()?;
        let Reverse((_, place)) = *first;
        *first = Reverse((new.upper, place));
        drop::<PeekMut<'_, _>>(first);
        let place = place as usize;
        self.leave(place);
        self.enter(new.digest, place);
        Some(core::mem::replace(&mut self.all[place], new))
    }

    /// Notes where the candidate with this digest is.
    fn enter(&mut self, digest: Digest, place: usize) {
        let mut at = self.home(digest);
        while self.index[at] != 0 {
            at = self.next(at);
        }
        self.index[at] = digest.0 & !PLACE | (place as u64 + 1);
    }

    /// Forgets where this candidate is, and closes the gap: no search may end before its key.
    fn leave(&mut self, place: usize) {
        let mut gap = self.home(self.all[place].digest);
        while self.index[gap] & PLACE != place as u64 + 1 {
            gap = self.next(gap);
        }
        let (mut at, mask) = (self.next(gap), self.index.len() - 1);
        while self.index[at] != 0 {
            let home = self.home(self.all[(self.index[at] & PLACE) as usize - 1].digest);
            // It may move back unless its home lies behind the gap.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.index[gap] = self.index[at];
                gap = at;
            }
            at = self.next(at);
        }
        self.index[gap] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    /// Digests that meet in few homes, and some that agree wholly.
    fn digest(key: u8) -> Digest {
        Digest(u64::from(key % 7) << 33 | u64::from(key % 5))
    }

    proptest! {
        #[test]
        fn the_table_is_a_map_that_drops_its_least(keys in proptest::collection::vec((any::<u8>(), 1u64..9), 1..400)) {
            let mut table = Candidates::new(13).unwrap();
            let mut model: BTreeMap<u8, u64> = BTreeMap::new();
            for (key, weight) in keys {
                if let Some(count) = model.get_mut(&key) {
                    *count += weight;
                    table.find(digest(key), &[key]).unwrap().raise(weight);
                    continue;
                }
                prop_assert!(table.get(digest(key), &[key]).is_none());
                let least = model.values().min().copied().unwrap_or(0);
                let taken = table.would_take(weight);
                prop_assert_eq!(taken, model.len() < 13 || weight > least);
                if taken {
                    let gone = table.take(Candidate::new(digest(key), &[key], weight, weight));
                    prop_assert_eq!(gone.is_some(), model.len() == 13);
                    if let Some(gone) = gone {
                        prop_assert_eq!(gone.upper, least);
                        prop_assert_eq!(model.remove(&gone.key[0]), Some(least));
                    }
                    model.insert(key, weight);
                }
                for key in 0..=255 {
                    let found = table.get(digest(key), &[key]).map(|candidate| candidate.upper);
                    prop_assert_eq!(found, model.get(&key).copied());
                }
            }
        }
    }

    #[test]
    fn tables_that_cannot_be_are_errors() {
        assert!(matches!(Candidates::new(usize::MAX / 2), Err(SizeError::TooManyCells { .. })));
    }
}
