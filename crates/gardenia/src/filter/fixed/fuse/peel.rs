//! Peeling: an order of the keys in which each has a cell that no key after it has.
//!
//! A cell that only one key has is that key's own; the key is taken away, which leaves other cells with a single key, and
//! so on. Values are then given in the reverse order: a key's own cell is set so that its cells together make its word.
//!
//! The order is that of a queue, first in, first out, and so it does not depend on the order in which keys came: the
//! table is a function of the set alone. And since the waves of peeling start at both ends of a binary fuse table and
//! meet in the middle, its halves are peeled apart from each other, by two threads if there are; keys that have cells in
//! both come last.
//!
//! What makes it fast: keys are sorted by segment first, so that all memory that is touched at a time fits the cache. A
//! cell is one word with its number of keys and the exclusive or of their places in that order. A taken key is taken out
//! of all its cells, its own is put back, and the queue grows by a sum: no branch depends on which cell was its own.

use super::layout::Layout;
use crate::SizeError;
use crate::cells::Owned;
use crate::filter::fixed::digests::{Entries, in_threads, part_len, reserved};
use crate::hash::Digest;
use crate::simd::prefetch;
use alloc::vec;
use alloc::vec::Vec;

/// Bits of a cell that count its keys; the others hold their places.
const COUNT_BITS: u32 = 8;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// A cell that ever had half as many keys as can be counted makes the attempt fail. By chance a cell has three.
const CROWDED: u64 = 1 << (COUNT_BITS - 1);

/// Entries of the queue whose cells, and whose keys, are asked for ahead.
const CELLS_AHEAD: usize = 32;
const KEYS_AHEAD: usize = 16;
const SPOTS_AHEAD: usize = 8;

/// Segments from which on a table is peeled in halves: below, most keys near the middle would have cells in both.
const HALVES: u64 = 16;

/// What a table is made of: 8, 16, 32 or 64 bits.
pub(in crate::filter::fixed) trait Cell:
    Copy + Default + Send + Sync + core::ops::BitXor<Output = Self>
{
}
impl Cell for u8 {}
impl Cell for u16 {}
impl Cell for u32 {}
impl Cell for u64 {}

/// A key as it gets its cell.
pub(in crate::filter::fixed) struct Picked {
    pub(in crate::filter::fixed) digest: Digest,
    /// Its value, if keys have some.
    pub(in crate::filter::fixed) value: u32,
    /// Its own cell, and which of its cells that is.
    pub(in crate::filter::fixed) cell: usize,
    pub(in crate::filter::fixed) side: u32,
}

/// Keys that could all be peeled, and the order in which.
pub(in crate::filter::fixed) struct Peeled {
    layout: Layout,
    keys: Sorted,
    cells: Owned,
    /// The own cells of the keys: of the lower part, the upper part, and both.
    order: [Vec<u32>; 3],
    /// The first cell of the upper part.
    middle: usize,
}

/// Keys in the order of their first segments.
struct Sorted {
    digests: Owned,
    values: Vec<u32>,
    /// Where the keys of each segment begin; and the end.
    starts: Vec<usize>,
}

/// Peels the keys; `None` if some are left over, as all duplicates are.
pub(in crate::filter::fixed) fn build(
    layout: Layout,
    entries: Entries<'_>,
    threads: usize,
) -> Result<Option<Peeled>, SizeError> {
    match layout.shape().arity {
        3 => Peeled::build::<3>(layout, entries, threads),
        _ => Peeled::build::<4>(layout, entries, threads),
    }
}

impl Peeled {
    fn build<const K: usize>(
        layout: Layout,
        entries: Entries<'_>,
        threads: usize,
    ) -> Result<Option<Self>, SizeError> {
        let keys = Sorted::sort(&layout, entries, threads)?;
        let mut cells = Owned::zeroed(layout.cells() as usize)?;
        if !keys.add_all::<K>(&layout, cells.as_mut_slice(), threads) {
            return Ok(None);
        }
        let middle_segment = if layout.shape().starts >= HALVES { layout.shape().starts / 2 } else { 0 };
        let middle = (middle_segment << layout.shape().segment_bits) as usize;
        let (lower, upper) = cells.as_mut_slice().split_at_mut(middle);
        // Both go inwards from their end of the table, as the waves do.
        let each =
            |(cells, start, upwards): (&mut [u64], usize, bool)| -> Result<(Vec<u32>, Vec<u32>), SizeError> {
                let mut part = Part::new(cells, start)?;
                let segments = part.cells.len() >> layout.shape().segment_bits;
                for segment in 0..segments {
                    let segment = if upwards { segment } else { segments - 1 - segment };
                    part.find(segment << layout.shape().segment_bits, layout.segment_len());
                    part.peel::<K>(&layout, keys.digests.as_slice());
                }
                Ok((part.order, part.later))
            };
        let [a, b] = both(threads, entries.len(), [(lower, 0, true), (upper, middle, false)], each);
        let ((a, mut later), (b, later_b)) = (a?, b?);
        later.extend(later_b);
        let mut rest = Part { filled: later.len(), queue: later, ..Part::new(cells.as_mut_slice(), 0)? };
        rest.peel::<K>(&layout, keys.digests.as_slice());
        let order = [a, b, rest.order];
        let peeled: usize = order.iter().map(Vec::len).sum();
        Ok((peeled == entries.len()).then_some(Self { layout, keys, cells, order, middle }))
    }

    /// The layout under which the keys were peeled.
    pub(in crate::filter::fixed) fn layout(&self) -> Layout {
        self.layout
    }

    /// The table in which the cells of each key together make the word that `word` gives it.
    pub(in crate::filter::fixed) fn table<C: Cell>(
        &self,
        threads: usize,
        word: impl Fn(Picked) -> C + Sync,
    ) -> Result<Vec<C>, SizeError> {
        match self.layout.shape().arity {
            3 => self.fill::<3, C>(threads, word),
            _ => self.fill::<4, C>(threads, word),
        }
    }

    fn fill<const K: usize, C: Cell>(
        &self,
        threads: usize,
        word: impl Fn(Picked) -> C + Sync,
    ) -> Result<Vec<C>, SizeError> {
        let mut table = reserved(self.cells.as_slice().len())?;
        table.resize(self.cells.as_slice().len(), C::default());
        let [a, b, last] = &self.order;
        self.give::<K, C>(last, &mut table, 0, &word);
        let (lower, upper) = table.split_at_mut(self.middle);
        let halves = [(a, lower, 0), (b, upper, self.middle)];
        both(threads, self.keys.digests.as_slice().len(), halves, |(order, table, start)| {
            self.give::<K, C>(order, table, start, &word);
        });
        Ok(table)
    }

    /// Gives the keys with these own cells their words, the last first; the table begins with cell `start`.
    fn give<const K: usize, C: Cell>(
        &self,
        order: &[u32],
        table: &mut [C],
        start: usize,
        word: &impl Fn(Picked) -> C,
    ) {
        let (cells, digests) = (self.cells.as_slice(), self.keys.digests.as_slice());
        for (i, cell) in order.iter().enumerate().rev() {
            if i >= CELLS_AHEAD {
                prefetch(cells, order[i - CELLS_AHEAD] as usize);
                prefetch(digests, (cells[order[i - KEYS_AHEAD] as usize] >> COUNT_BITS) as usize);
            }
            let (key, spots) = self.picked::<K>(*cell as usize);
            // Its own cell is still empty, and adds nothing.
            let cell = key.cell - start;
            table[cell] = spots.iter().fold(word(key), |sum, spot| sum ^ table[spot - start]);
        }
    }

    /// Hands over all keys, in no order that means anything.
    pub(in crate::filter::fixed) fn each(&self, mut visit: impl FnMut(Picked)) {
        for cell in self.order.iter().flatten() {
            visit(match self.layout.shape().arity {
                3 => self.picked::<3>(*cell as usize).0,
                _ => self.picked::<4>(*cell as usize).0,
            });
        }
    }

    /// The key whose own cell this is, and all its cells.
    #[inline(always)]
    fn picked<const K: usize>(&self, cell: usize) -> (Picked, [usize; K]) {
        let place = (self.cells.as_slice()[cell] >> COUNT_BITS) as usize;
        let digest = Digest(self.keys.digests.as_slice()[place]);
        let spots = self.layout.spots::<K>(digest);
        let side = (0..K).map(|i| if spots[i] == cell { i as u32 } else { 0 }).sum();
        let value = self.keys.values.get(place).copied().unwrap_or(0);
        (Picked { digest, value, cell, side }, spots)
    }
}

/// Does `work` on both halves of a table, at the same time if that is allowed and worth it.
fn both<P: Send, R: Send>(
    threads: usize,
    keys: usize,
    [a, b]: [P; 2],
    work: impl Fn(P) -> R + Sync,
) -> [R; 2] {
    if threads > 1 && keys >= 2 * part_len(0, 1) {
        let mut done = in_threads(vec![a, b], &work).into_iter();
        if let (Some(a), Some(b)) = (done.next(), done.next()) {
            return [a, b];
        }
        unreachable!("there are as many results as parts");
    }
    [work(a), work(b)]
}

impl Sorted {
    /// Sorts by the first segment: counted, then put in place, each thread its own keys.
    fn sort(layout: &Layout, entries: Entries<'_>, threads: usize) -> Result<Self, SizeError> {
        let segments = layout.shape().starts as usize;
        let each = part_len(entries.len(), threads);
        let parts = || entries.digests.chunks(each);
        let counts = in_threads(parts().collect(), |digests: &[Digest]| {
            let mut counts = vec![0usize; segments];
            digests.iter().for_each(|digest| counts[layout.segment(*digest)] += 1);
            counts
        });
        let mut digests = Owned::zeroed(entries.len())?;
        let mut values: Vec<u32> = reserved(entries.values.len())?;
        values.resize(entries.values.len(), 0);
        // Cut into a piece for each segment and thread; a thread's pieces are where its keys go.
        let mut starts = vec![0; segments + 1];
        let mut places: Vec<Places<'_>> = counts.iter().map(|_| Places::with_room(segments)).collect();
        let (mut rest, mut rest_values) = (digests.as_mut_slice(), &mut values[..]);
        for segment in 0..segments {
            starts[segment + 1] = starts[segment];
            for (counts, places) in counts.iter().zip(&mut places) {
                let count = counts[segment];
                starts[segment + 1] += count;
                let (now, later) = rest.split_at_mut(count);
                let (now_values, later_values) = rest_values.split_at_mut(count.min(rest_values.len()));
                places.digests.push(now.iter_mut());
                places.values.push(now_values.iter_mut());
                (rest, rest_values) = (later, later_values);
            }
        }
        let each_values = if entries.values.is_empty() { 0 } else { each };
        let work = places.into_iter().zip(parts()).enumerate();
        in_threads(work.collect(), |(part, (mut places, digests)): (usize, (Places<'_>, &[Digest]))| {
            let values = entries.values.get(part * each_values..).unwrap_or_default();
            for (at, digest) in digests.iter().enumerate() {
                let segment = layout.segment(*digest);
                if let Some(place) = places.digests[segment].next() {
                    *place = digest.0;
                }
                if let (Some(value), false) = (values.get(at), each_values == 0)
                    && let Some(place) = places.values[segment].next()
                {
                    *place = *value;
                }
            }
        });
        Ok(Self { digests, values, starts })
    }

    /// Adds all keys to their cells; false if a cell got too many.
    fn add_all<const K: usize>(&self, layout: &Layout, cells: &mut [u64], threads: usize) -> bool {
        let (segments, bits) = (layout.shape().starts as usize, layout.shape().segment_bits);
        // A thread has some segments and the keys that lie in them altogether; those across come afterwards.
        let each = segments.div_ceil(threads.clamp(1, 1024)).max(8 * K).max(1);
        let mut parts = Vec::new();
        let mut across = Vec::new();
        let mut rest = &mut *cells;
        for first in (0..segments).step_by(each) {
            let last = first + each >= segments;
            let end = if last { segments } else { first + each };
            let (own, later) = rest.split_at_mut(if last { rest.len() } else { each << bits });
            let inner = if last { end } else { end - (K - 1) };
            parts.push((own, first << bits, self.starts[first]..self.starts[inner]));
            across.push(self.starts[inner]..self.starts[end]);
            rest = later;
        }
        let work = |(cells, start, keys): (&mut [u64], usize, core::ops::Range<usize>)| {
            self.add::<K>(layout, cells, start, keys)
        };
        let crowded: u64 =
            if threads > 1 { in_threads(parts, work) } else { parts.into_iter().map(work).collect() }
                .into_iter()
                .fold(0, |all, part| all | part);
        let crowded =
            across.into_iter().fold(crowded, |all, keys| all | self.add::<K>(layout, cells, 0, keys));
        crowded & CROWDED == 0
    }

    /// Adds some keys to cells that begin with cell `start`; all counts that came up, one over the other.
    fn add<const K: usize>(
        &self,
        layout: &Layout,
        cells: &mut [u64],
        start: usize,
        keys: core::ops::Range<usize>,
    ) -> u64 {
        let mut seen = 0;
        let digests = &self.digests.as_slice()[keys.clone()];
        for (place, digest) in keys.zip(digests) {
            for spot in layout.spots::<K>(Digest(*digest)) {
                let cell = &mut cells[spot - start];
                *cell = (*cell ^ (place as u64) << COUNT_BITS) + 1;
                seen |= *cell;
            }
        }
        seen
    }
}

/// Where a thread's keys go, for each segment.
struct Places<'a> {
    digests: Vec<core::slice::IterMut<'a, u64>>,
    values: Vec<core::slice::IterMut<'a, u32>>,
}

impl Places<'_> {
    fn with_room(segments: usize) -> Self {
        Self { digests: Vec::with_capacity(segments), values: Vec::with_capacity(segments) }
    }
}

/// A part of the table that is peeled for itself.
struct Part<'a> {
    cells: &'a mut [u64],
    /// Its first cell.
    start: usize,
    /// Cells that have, or had, a single key, and how many there are.
    queue: Vec<u32>,
    filled: usize,
    /// The own cells of the peeled keys.
    order: Vec<u32>,
    /// Cells whose single key has cells elsewhere.
    later: Vec<u32>,
}

impl<'a> Part<'a> {
    fn new(cells: &'a mut [u64], start: usize) -> Result<Self, SizeError> {
        // Every key has a cell of its own.
        let order = reserved(cells.len())?;
        Ok(Self { cells, start, queue: Vec::new(), filled: 0, order, later: Vec::new() })
    }

    /// Puts those of `len` cells into the queue that have a single key.
    fn find(&mut self, from: usize, len: usize) {
        if self.queue.len() < self.filled + len {
            self.queue.resize(self.filled + len, 0);
        }
        for (at, cell) in (self.start + from..).zip(&self.cells[from..from + len]) {
            self.queue[self.filled] = at as u32;
            self.filled += usize::from(cell & COUNT == 1);
        }
    }

    /// Takes away all keys that can be, from the queue and what comes into it.
    fn peel<const K: usize>(&mut self, layout: &Layout, digests: &[u64]) {
        let (start, end) = (self.start, self.start + self.cells.len());
        let (mut at, mut filled) = (0, self.filled);
        let cells = &mut *self.cells;
        while at < filled {
            if filled + K > self.queue.len() {
                self.queue.resize(2 * (filled + K), 0);
            }
            let queue = &mut self.queue[..];
            if at + CELLS_AHEAD < filled {
                prefetch(cells, queue[at + CELLS_AHEAD] as usize - start);
                prefetch(digests, (cells[queue[at + KEYS_AHEAD] as usize - start] >> COUNT_BITS) as usize);
                let place = cells[queue[at + SPOTS_AHEAD] as usize - start] >> COUNT_BITS;
                let digest = Digest(digests.get(place as usize).copied().unwrap_or(0));
                layout.spots::<K>(digest).iter().for_each(|spot| prefetch(cells, spot.wrapping_sub(start)));
            }
            let cell = queue[at] as usize;
            at += 1;
            let own = cells[cell - start];
            if own & COUNT != 1 {
                continue; // its key was taken away by another of its cells
            }
            let spots = layout.spots::<K>(Digest(digests[(own >> COUNT_BITS) as usize]));
            if spots[0] < start || spots[K - 1] >= end {
                self.later.push(cell as u32);
                continue;
            }
            self.order.push(cell as u32);
            for spot in spots {
                let other = &mut cells[spot - start];
                queue[filled] = spot as u32;
                filled += usize::from(*other & COUNT == 2);
                *other = (*other ^ (own & !COUNT)) - 1;
            }
            // Its own cell keeps the key, to be found again when values are given; no other key has it. It counts none,
            // so that it is not found again here.
            cells[cell - start] = own & !COUNT;
        }
        self.filled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::binary_fuse::shape;

    fn layout(keys: usize, arity: u32) -> Layout {
        Layout::sized(shape(keys as u64, arity).unwrap(), 0).unwrap()
    }

    #[test]
    fn duplicates_never_peel_however_many_there_are() {
        for copies in [2, 127, 128, 255, 256, 257, 1000] {
            let digests: Vec<Digest> = (0..10).map(Digest).chain(vec![Digest(7 << 50); copies]).collect();
            let layout = layout(digests.len(), 3);
            assert!(build(layout, Entries::set(&digests), 1).unwrap().is_none(), "{copies} copies");
        }
    }

    #[test]
    fn every_key_has_a_cell_of_its_own() {
        for (keys, arity) in [(1, 3), (50, 4), (3_000, 3), (40_000, 4), (40_000, 3)] {
            let digests: Vec<Digest> = (1..=keys).map(|i| Digest(Digest(77).word(i))).collect();
            let values: Vec<u32> = (1..=keys).collect();
            let entries = Entries { digests: &digests, values: &values };
            let peeled = (0..9)
                .find_map(|attempt| {
                    let layout = Layout::sized(shape(keys.into(), arity).unwrap(), attempt).unwrap();
                    build(layout, entries, 2).unwrap()
                })
                .unwrap();
            let (mut cells, mut seen) = (Vec::new(), Vec::new());
            peeled.each(|key| {
                assert_eq!(key.digest, digests[key.value as usize - 1], "a value went to another key");
                let spots = peeled.layout().spots::<4>(key.digest);
                assert_eq!(spots[key.side as usize], key.cell);
                assert!(key.side < arity);
                cells.push(key.cell);
                seen.push(key.value);
            });
            cells.sort_unstable();
            cells.dedup();
            seen.sort_unstable();
            assert_eq!((cells.len(), seen), (keys as usize, values));
        }
    }
}
