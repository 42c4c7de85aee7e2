//! The table behind [`Top`](crate::Top) and `TOPK.*`: entries by digest, and the one of least rank,
//! which makes room.
//!
//! Entries do not move. An index finds them by digest, and a heap of their places has the least
//! first. Ranks only rise while an entry stays, so the heap may hold old ones: its first is put
//! right when it is needed, and raising an entry touches no heap at all. `TOPK.LIST` shows the
//! order of the heap, so that table keeps it right: it raises entries with
//! [`raise`](Candidates::raise).

use crate::SizeError;
use crate::hash::Digest;
use alloc::vec::Vec;
use core::fmt::Debug;

/// What a table holds.
pub trait Entry {
    /// What entries are ordered by.
    type Rank: Copy + Ord + Debug;

    /// Whether of equal ranks the one at the lower place is less. Otherwise their order depends on
    /// all that happened before.
    const BY_PLACE: bool;

    /// The digest of its key.
    fn digest(&self) -> Digest;

    /// Its rank now.
    fn rank(&self) -> Self::Rank;

    /// Whether it stands for an empty place: no search finds it.
    fn is_empty(&self) -> bool {
        false
    }

    /// It is now at this position of the heap.
    fn moved(&mut self, _at: u32) {}
}

/// At most `slots` entries.
///
/// ```
/// use gardenia::Digest;
/// use gardenia::filter::candidates::{Candidates, Entry};
/// struct Count(Digest, u64);
/// impl Entry for Count {
///     type Rank = u64;
///     const BY_PLACE: bool = true;
///     fn digest(&self) -> Digest {
///         self.0
///     }
///     fn rank(&self) -> u64 {
///         self.1
///     }
/// }
/// let mut table = Candidates::new(2)?;
/// assert!(table.take(Count(Digest(1), 5)).is_none() && table.take(Count(Digest(2), 3)).is_none());
/// table.find(Digest(2), |count| count.0 == Digest(2)).unwrap().1 = 9;
/// assert!(table.admits(|least| least < 6));
/// assert_eq!(table.take(Count(Digest(3), 6)).unwrap().1, 5);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Candidates<E: Entry> {
    slots: usize,
    all: Vec<E>,
    /// Open addressing with linear probing, at most half full: 0, or the upper half of a digest and
    /// one more than the entry's place.
    index: Vec<u64>,
    /// Digests are multiplied by it, so that whoever chooses keys does not choose where they meet.
    factor: u64,
    /// Ranks, now or earlier, and places: nothing has a larger rank than its children at 2i + 1 and
    /// 2i + 2.
    heap: Vec<(E::Rank, u32)>,
}

/// The place in an entry of the index.
const PLACE: u64 = 0xffff_ffff;

#[cfg(feature = "std")]
fn factor() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) | 1
}

#[cfg(not(feature = "std"))]
fn factor() -> u64 {
    0x9e37_79b9_7f4a_7c15 // nothing random is known here
}

impl<E: Entry> Candidates<E> {
    /// An empty table, with memory for its index.
    pub fn new(slots: usize) -> Result<Self, SizeError> {
        let max = u64::from(u32::MAX / 4);
        if slots as u64 > max {
            return Err(SizeError::TooManyCells { cells: slots as u64, max });
        }
        let entries = Self::entries(slots);
        let failed = |_| SizeError::Memory { bytes: entries as u64 * 8 };
        let mut index = Vec::new();
        index.try_reserve_exact(entries).map_err(failed)?;
        index.resize(entries, 0);
        Ok(Self { slots, all: Vec::new(), index, factor: factor(), heap: Vec::new() })
    }

    /// Entries of the index.
    fn entries(slots: usize) -> usize {
        slots.saturating_mul(2).max(2).checked_next_power_of_two().unwrap_or(usize::MAX)
    }

    /// Memory used by a table with this many entries, in bytes, without what they point to.
    pub(super) fn bytes(slots: usize, entries: u64) -> u64 {
        let each = (size_of::<E>() + size_of::<(E::Rank, u32)>()) as u64;
        (Self::entries(slots) as u64).saturating_mul(8).saturating_add(entries.saturating_mul(each))
    }

    /// The same with memory for all entries.
    pub fn reserved(slots: usize) -> Result<Self, SizeError> {
        let mut table = Self::new(slots)?;
        let failed = |_| SizeError::Memory { bytes: (slots * size_of::<E>()) as u64 };
        table.all.try_reserve_exact(slots).map_err(failed)?;
        table.heap.try_reserve_exact(slots).map_err(failed)?;
        Ok(table)
    }

    /// Entries that there is room for.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The entries, by their places.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &E> {
        self.all.iter()
    }

    /// The entries, as they lie in the heap. Taken into an empty table in this order, they lie
    /// there the same.
    pub fn in_heap(&self) -> impl ExactSizeIterator<Item = &E> {
        self.heap.iter().map(|(_, place)| &self.all[*place as usize])
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.all.clear();
        self.heap.clear();
        self.index.fill(0);
    }

    /// Where a key's search begins.
    #[inline]
    fn home(&self, digest: Digest) -> usize {
        (digest.0.wrapping_mul(self.factor) >> 32) as usize & (self.index.len() - 1)
    }

    #[inline]
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.index.len() - 1)
    }

    /// The place of an entry with half of this digest that is the `same`.
    #[inline]
    fn place(&self, digest: Digest, same: impl Fn(&E) -> bool) -> Option<usize> {
        let mut at = self.home(digest);
        loop {
            let entry = self.index[at];
            if entry == 0 {
                return None;
            }
            if (entry ^ digest.0) >> 32 == 0 {
                let place = (entry & PLACE) as usize - 1;
                if same(&self.all[place]) {
                    return Some(place);
                }
            }
            at = self.next(at);
        }
    }

    /// The entry with this digest that is the `same`. It is asked of some that have another digest,
    /// too.
    pub fn get(&self, digest: Digest, same: impl Fn(&E) -> bool) -> Option<&E> {
        self.place(digest, same).map(|place| &self.all[place])
    }

    /// [`get`](Self::get), to be raised. The heap is not put right.
    #[inline]
    pub fn find(&mut self, digest: Digest, same: impl Fn(&E) -> bool) -> Option<&mut E> {
        self.place(digest, same).map(|place| &mut self.all[place])
    }

    /// Whether there is room, or a newcomer `beats` the least rank.
    #[inline]
    pub fn admits(&mut self, beats: impl Fn(E::Rank) -> bool) -> bool {
        if self.all.len() < self.slots {
            return true;
        }
        while let Some(&(known, place)) = self.heap.first() {
            if !beats(known) {
                return false;
            }
            let now = self.all[place as usize].rank();
            if now == known {
                return true;
            }
            self.sink(0, (now, place));
        }
        false
    }

    /// Stores an entry that the table [`admits`](Self::admits); the one that had to leave.
    pub fn take(&mut self, new: E) -> Option<E> {
        if self.all.len() < self.slots {
            let place = self.all.len() as u32;
            self.enter(&new, place);
            let moved = (new.rank(), place);
            self.all.push(new);
            self.heap.push(moved);
            self.rise(moved);
            return None;
        }
        let &(_, place) = self.heap.first()?;
        self.leave(place);
        self.enter(&new, place);
        let moved = (new.rank(), place);
        let gone = core::mem::replace(&mut self.all[place as usize], new);
        self.sink(0, moved);
        Some(gone)
    }

    /// Raises the entry at this position of the heap, and puts the heap right.
    pub fn raise(&mut self, at: u32, raise: impl FnOnce(&mut E)) {
        if let Some(&(_, place)) = self.heap.get(at as usize) {
            let entry = &mut self.all[place as usize];
            raise(entry);
            let moved = (entry.rank(), place);
            self.sink(at as usize, moved);
        }
    }

    /// Moves what comes to position `at` down the heap: past equal ranks, and of two equal ones to
    /// the left.
    fn sink(&mut self, mut at: usize, moved: (E::Rank, u32)) {
        let less = |a: &(E::Rank, u32), b: &(E::Rank, u32)| if E::BY_PLACE { a < b } else { a.0 < b.0 };
        loop {
            let left = 2 * at + 1;
            let (child, least) = match self.heap.get(left..) {
                Some([a, b, ..]) if less(b, a) => (left + 1, *b),
                Some([a, ..]) => (left, *a),
                _ => break,
            };
            if less(&moved, &least) {
                break;
            }
            self.set(at, least);
            at = child;
        }
        self.set(at, moved);
    }

    /// Moves the last of the heap up, as long as it is less.
    fn rise(&mut self, moved: (E::Rank, u32)) {
        let mut at = self.heap.len() - 1;
        while at > 0 && moved.0 < self.heap[(at - 1) / 2].0 {
            self.set(at, self.heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        self.set(at, moved);
    }

    #[inline]
    fn set(&mut self, at: usize, moved: (E::Rank, u32)) {
        self.heap[at] = moved;
        if let Some(entry) = self.all.get_mut(moved.1 as usize) {
            entry.moved(at as u32);
        }
    }

    /// Notes where an entry will be.
    fn enter(&mut self, new: &E, place: u32) {
        if new.is_empty() {
            return;
        }
        let mut at = self.home(new.digest());
        while self.index[at] != 0 {
            at = self.next(at);
        }
        self.index[at] = new.digest().0 & !PLACE | (u64::from(place) + 1);
    }

    /// Forgets where an entry is, and closes the gap: no search may end before its key.
    fn leave(&mut self, place: u32) {
        let gone = &self.all[place as usize];
        if gone.is_empty() {
            return;
        }
        let mut gap = self.home(gone.digest());
        while self.index[gap] & PLACE != u64::from(place) + 1 {
            gap = self.next(gap);
        }
        let (mut at, mask) = (self.next(gap), self.index.len() - 1);
        while self.index[at] != 0 {
            let home = self.home(self.all[(self.index[at] & PLACE) as usize - 1].digest());
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

/// Equal entries in heaps of one order.
impl<E: Entry + PartialEq> PartialEq for Candidates<E> {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots && self.in_heap().eq(other.in_heap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    /// A key, its count, and its position in the heap.
    #[derive(Clone, Debug, PartialEq)]
    struct Counted<const BY_PLACE: bool> {
        key: u8,
        count: u64,
        at: u32,
    }

    impl<const BY_PLACE: bool> Entry for Counted<BY_PLACE> {
        type Rank = u64;
        const BY_PLACE: bool = BY_PLACE;
        /// Digests that meet in few homes, and some that agree wholly.
        fn digest(&self) -> Digest {
            digest(self.key)
        }
        fn rank(&self) -> u64 {
            self.count
        }
        fn is_empty(&self) -> bool {
            self.count == 0
        }
        fn moved(&mut self, at: u32) {
            self.at = at;
        }
    }

    fn digest(key: u8) -> Digest {
        Digest(u64::from(key % 7) << 33 | u64::from(key % 5))
    }

    /// Places are what Top orders by, and it lets the heap be until it is asked; TOPK.* does
    /// neither.
    fn is_a_map<const TOP: bool>(keys: &[(u8, u64)]) {
        let mut table = Candidates::<Counted<TOP>>::new(13).unwrap();
        let mut model: BTreeMap<u8, u64> = BTreeMap::new();
        for &(key, weight) in keys {
            if let Some(count) = model.get_mut(&key) {
                *count += weight;
                let entry = table.find(digest(key), |entry| entry.key == key).unwrap();
                let at = entry.at;
                match TOP {
                    true => entry.count += weight,
                    false => table.raise(at, |entry| entry.count += weight),
                }
                continue;
            }
            assert!(table.get(digest(key), |entry| entry.key == key).is_none());
            let least = model.values().min().copied().unwrap_or(0);
            let taken = table.admits(|rank| weight > rank);
            assert_eq!(taken, model.len() < 13 || weight > least);
            if taken {
                let first = table.iter().min_by_key(|entry| entry.count).map(|entry| entry.key);
                let gone = table.take(Counted { key, count: weight, at: 0 });
                assert_eq!(gone.is_some(), model.len() == 13);
                if let Some(gone) = gone {
                    assert_eq!(gone.count, least);
                    assert!(!TOP || first == Some(gone.key));
                    assert_eq!(model.remove(&gone.key), Some(least));
                }
                model.insert(key, weight);
            }
            for key in 0..=255 {
                let found = table.get(digest(key), |entry| entry.key == key).map(|entry| entry.count);
                assert_eq!(found, model.get(&key).copied());
            }
            assert!(table.in_heap().enumerate().all(|(at, entry)| entry.at as usize == at));
            let mut copy = Candidates::new(13).unwrap();
            table.in_heap().for_each(|entry| _ = copy.take(entry.clone()));
            assert!(TOP || copy == table);
        }
    }

    proptest! {
        #[test]
        fn the_table_is_a_map_that_drops_its_least(
            keys in proptest::collection::vec((any::<u8>(), 1u64..9), 1..400),
        ) {
            is_a_map::<true>(&keys);
            is_a_map::<false>(&keys);
        }
    }

    #[test]
    fn tables_that_cannot_be_are_errors() {
        let new = Candidates::<Counted<true>>::new;
        assert!(matches!(new(usize::MAX / 2), Err(SizeError::TooManyCells { .. })));
    }

    /// Each table places digests in its own way.
    #[cfg(feature = "std")]
    #[test]
    fn digests_that_meet_in_one_table_do_not_in_another() {
        let homes = || {
            let table = Candidates::<Counted<true>>::new(1 << 20).unwrap();
            (0..4).map(|i| table.home(Digest(i << 21))).collect::<Vec<_>>()
        };
        assert_ne!(homes(), homes());
    }
}
