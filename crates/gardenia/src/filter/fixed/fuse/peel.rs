//! Peeling: an order of the keys in which each has a cell that no key after it has.
//!
//! A cell that only one key has is that key's own; the key is removed, which leaves other cells
//! with a single key, and so on. Values are then given in the reverse order: a key's own cell is
//! set so that its cells together make its word.
//!
//! The order is that of a queue, first in, first out, and so it does not depend on the order in
//! which keys came: the table is a function of the set alone. And since the waves of peeling start
//! at both ends of a binary fuse table and meet in the middle, its halves are peeled apart from
//! each other, by two threads if there are; keys that have cells in both come last.
//!
//! What makes it fast: keys are sorted by segment first, so that all memory that is touched at a
//! time fits the cache. A cell has the exclusive or of its keys, so that a single key is read off
//! it, and a count. Cells are changed some keys at a time: all that these need is computed and
//! asked for before the first of them changes a cell, since a read that stands behind writes waits
//! for them. The queue grows by a sum: no branch depends on a count. And a peeled key is written
//! over the sorted ones, which nobody needs any more, so that values are given in one way through
//! memory.

use super::layout::Layout;
use crate::SizeError;
use crate::cells::Owned;
use crate::filter::fixed::digests::{Keys, in_threads, part_len, reserved};
use crate::hash::Digest;
use crate::simd::prefetch;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// A cell that ever had this many keys makes the attempt fail. By chance a cell has three.
const CROWDED: u8 = 1 << 7;

/// Keys whose cells are asked for before the first of them is changed.
const GROUP: usize = 16;

/// Segments from which on a table is peeled in halves: below, most keys near the middle would have
/// cells in both.
const HALVES: u64 = 16;

/// A cell of a table: 8, 16, 32 or 64 bits.
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

/// Keys of W words that could all be peeled, in the order in which they were.
pub(in crate::filter::fixed) struct Peeled<const W: usize> {
    layout: Layout,
    /// Keys of the lower part from the first on, and of the upper part from `split` on.
    keys: Owned,
    split: usize,
    /// Keys that have cells in both.
    last: Vec<[u64; W]>,
    /// Which of its cells is a key's own: of the lower part, the upper part, and both.
    sides: [Vec<u8>; 3],
    /// The first cell of the upper part.
    middle: usize,
}

/// Peels the keys; `None` if some are left over, as all duplicates are.
pub(in crate::filter::fixed) fn build<const W: usize>(
    layout: Layout,
    keys: &impl Keys<W>,
    threads: usize,
) -> Result<Option<Peeled<W>>, SizeError> {
    match layout.shape().arity {
        3 => Peeled::build::<3>(layout, keys, threads),
        _ => Peeled::build::<4>(layout, keys, threads),
    }
}

impl<const W: usize> Peeled<W> {
    fn build<const K: usize>(
        layout: Layout,
        keys: &impl Keys<W>,
        threads: usize,
    ) -> Result<Option<Self>, SizeError> {
        let (items, bits) = (keys.len(), layout.shape().segment_bits);
        let sorted = Sorted::sort(&layout, keys, threads)?;
        let mut cells = Owned::zeroed(layout.cells() as usize * W)?;
        let mut counts = reserved(layout.cells() as usize)?;
        counts.resize(layout.cells() as usize, 0);
        let mut cells = Cells { keys: chunks_mut(&mut cells), counts: &mut counts, start: 0 };
        if !sorted.add_all::<K>(&layout, &mut cells, threads) {
            return Ok(None);
        }
        let middle_segment = if layout.shape().starts >= HALVES { layout.shape().starts / 2 } else { 0 };
        let (middle, split) = ((middle_segment << bits) as usize, sorted.start(middle_segment as usize));
        let mut keys = sorted.keys;
        let (lower, upper) = cells.by_ref().split_at(middle);
        let (lower_out, upper_out) = chunks_mut(&mut keys).split_at_mut(split);
        // Both go inwards from their end of the table, as the waves do.
        let halves = [(lower, lower_out, true), (upper, upper_out, false)];
        let each = |(cells, out, upwards): (Cells<'_, W>, &mut [[u64; W]], bool)| {
            let mut part = Section::new(cells, out)?;
            let segments = part.cells.counts.len() >> bits;
            for segment in 0..segments {
                let segment = if upwards { segment } else { segments - 1 - segment };
                part.find(segment << bits, layout.segment_len());
                part.peel::<K>(&layout);
            }
            Ok(part.finish())
        };
        let [lower, upper] = both(threads, items, halves, each);
        let ((lower, mut later), (upper, later_upper)) = (lower?, upper?);
        later.extend(later_upper);
        let left = items - lower.len() - upper.len();
        let mut last = reserved(left)?;
        last.resize(left, [0; W]);
        let mut rest = Section { filled: later.len(), queue: later, ..Section::new(cells, &mut last)? };
        rest.peel::<K>(&layout);
        let sides = [lower, upper, rest.finish().0];
        Ok((sides[2].len() == left).then_some(Self { layout, keys, split, last, sides, middle }))
    }

    /// How many keys there are.
    pub(in crate::filter::fixed) fn len(&self) -> usize {
        self.sides.iter().map(Vec::len).sum()
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
        let cells = self.layout.cells() as usize;
        let mut table = reserved(cells)?;
        table.resize(cells, C::default());
        self.give::<K, C>(2, &mut table, 0, &word);
        let (lower, upper) = table.split_at_mut(self.middle);
        let halves = [(0, lower, 0), (1, upper, self.middle)];
        both(threads, self.len(), halves, |(part, table, start)| {
            self.give::<K, C>(part, table, start, &word);
        });
        Ok(table)
    }

    /// The keys of a part, and which of its cells is each one's own, in the order in which they
    /// were peeled.
    fn part(&self, part: usize) -> impl DoubleEndedIterator<Item = ([u64; W], u8)> {
        let all = self.keys.as_slice().as_chunks::<W>().0;
        let keys = [all, &all[self.split..], &self.last][part];
        let sides = &self.sides[part];
        keys[..sides.len()].iter().copied().zip(sides.iter().copied())
    }

    /// Gives the keys of a part their words, the last first; the table begins with cell `start`.
    fn give<const K: usize, C: Cell>(
        &self,
        part: usize,
        table: &mut [C],
        start: usize,
        word: &impl Fn(Picked) -> C,
    ) {
        for (key, side) in self.part(part).rev() {
            let (key, spots) = self.picked::<K>(key, side);
            // Its own cell is still empty, and adds nothing.
            let cell = key.cell - start;
            table[cell] = spots.iter().fold(word(key), |sum, spot| sum ^ table[spot - start]);
        }
    }

    /// Hands over all keys, in no order that means anything.
    pub(in crate::filter::fixed) fn each(&self, mut ask: impl FnMut(Picked)) {
        for (key, side) in (0..3).flat_map(|part| self.part(part)) {
            ask(match self.layout.shape().arity {
                3 => self.picked::<3>(key, side).0,
                _ => self.picked::<4>(key, side).0,
            });
        }
    }

    /// A key with its own cell, and all its cells.
    #[inline(always)]
    fn picked<const K: usize>(&self, key: [u64; W], side: u8) -> (Picked, [usize; K]) {
        let digest = Digest(key[0]);
        let spots = self.layout.spots::<K>(digest);
        let value = key.get(1).map_or(0, |value| *value as u32);
        (Picked { digest, value, cell: spots[side as usize], side: side.into() }, spots)
    }
}

/// Words as keys.
fn chunks_mut<const W: usize>(words: &mut Owned) -> &mut [[u64; W]] {
    words.as_mut_slice().as_chunks_mut().0
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

/// Keys in the order of their first segments.
struct Sorted<const W: usize> {
    keys: Owned,
    /// Where the keys of each segment are: a piece for each thread that put some there.
    pieces: Vec<Range<usize>>,
    /// Pieces of a segment.
    parts: usize,
}

impl<const W: usize> Sorted<W> {
    /// Sorts by the first segment, each thread its own keys.
    ///
    /// Digests are even, so that nobody counts them first: every piece has room for six standard
    /// deviations more than come on average. If that was too little, as it is for many duplicates,
    /// all begins anew with the counts.
    fn sort(layout: &Layout, keys: &impl Keys<W>, threads: usize) -> Result<Self, SizeError> {
        let segments = layout.shape().starts as usize;
        let each = part_len(keys.len(), threads);
        let parts: Vec<Range<usize>> =
            (0..keys.len()).step_by(each).map(|first| first..keys.len().min(first + each)).collect();
        let mean = each.min(keys.len()) as f64 / segments as f64;
        let room = (mean + 6.0 * libm::sqrt(mean)) as usize + 8;
        let mut rooms = vec![room.min(keys.len()); segments * parts.len()];
        loop {
            let (sorted, counts) = Self::place(layout, keys, &parts, &rooms)?;
            if rooms.iter().zip(&counts).all(|(room, count)| count <= room) {
                return Ok(sorted);
            }
            rooms = counts;
        }
    }

    /// Puts keys into their pieces, which have these rooms, and tells how many each one should have
    /// had room for.
    fn place(
        layout: &Layout,
        keys: &impl Keys<W>,
        parts: &[Range<usize>],
        rooms: &[usize],
    ) -> Result<(Self, Vec<usize>), SizeError> {
        let segments = layout.shape().starts as usize;
        let mut sorted = Owned::zeroed(rooms.iter().sum::<usize>() * W)?;
        let mut rest = chunks_mut(&mut sorted);
        let mut places: Vec<Vec<core::slice::IterMut<'_, [u64; W]>>> =
            parts.iter().map(|_| Vec::with_capacity(segments)).collect();
        for (piece, room) in rooms.iter().enumerate() {
            let (now, later) = rest.split_at_mut(*room);
            places[piece % parts.len()].push(now.iter_mut());
            rest = later;
        }
        let work = |(mut places, part): (Vec<core::slice::IterMut<'_, [u64; W]>>, &Range<usize>)| {
            let mut over = vec![0; segments];
            keys.each(part.clone(), |key| {
                let segment = layout.segment(Digest(key[0]));
                match places[segment].next() {
                    Some(place) => *place = key,
                    None => over[segment] += 1,
                }
            });
            places.iter().zip(over).map(|(free, over)| (free.len(), over)).collect::<Vec<_>>()
        };
        let left = in_threads(places.into_iter().zip(parts).collect(), work);
        let count = |(piece, room): (usize, &usize)| {
            let (free, over) = left[piece % parts.len()][piece / parts.len()];
            room - free + over
        };
        let counts: Vec<usize> = rooms.iter().enumerate().map(count).collect();
        let mut start = 0;
        let piece = |(room, count): (&usize, &usize)| {
            let piece = start..start + count;
            start += room;
            piece
        };
        let pieces = rooms.iter().zip(&counts).map(piece).collect();
        Ok((Self { keys: sorted, pieces, parts: parts.len() }, counts))
    }

    /// Where the keys of a segment begin.
    fn start(&self, segment: usize) -> usize {
        self.pieces.get(segment * self.parts).map_or(0, |piece| piece.start)
    }

    /// Adds all keys to their cells; false if a cell got too many.
    fn add_all<const K: usize>(&self, layout: &Layout, cells: &mut Cells<'_, W>, threads: usize) -> bool {
        let (segments, bits) = (layout.shape().starts as usize, layout.shape().segment_bits);
        // A thread has some segments and the keys that lie in them altogether; those across come afterwards.
        let each = segments.div_ceil(threads.clamp(1, 1024)).max(8 * K).max(1);
        let mut parts = Vec::new();
        let mut across = Vec::new();
        let mut rest = cells.by_ref();
        for first in (0..segments).step_by(each) {
            let last = first + each >= segments;
            let end = if last { segments } else { first + each };
            let len = if last { rest.counts.len() } else { each << bits };
            let (own, later) = rest.split_at(len);
            let inner = if last { end } else { end - (K - 1) };
            parts.push((own, first..inner));
            across.push(inner..end);
            rest = later;
        }
        let work =
            |(mut cells, segments): (Cells<'_, W>, Range<usize>)| self.add::<K>(layout, &mut cells, segments);
        let crowded: u8 =
            if threads > 1 { in_threads(parts, work) } else { parts.into_iter().map(work).collect() }
                .into_iter()
                .fold(0, |all, part| all | part);
        let crowded =
            across.into_iter().fold(crowded, |all, segments| all | self.add::<K>(layout, cells, segments));
        crowded & CROWDED == 0
    }

    /// Adds the keys of some segments to cells; all counts that came up, one over the other.
    fn add<const K: usize>(&self, layout: &Layout, cells: &mut Cells<'_, W>, segments: Range<usize>) -> u8 {
        let mut seen = 0;
        let mut room = [[0; K]; GROUP];
        let keys = self.keys.as_slice().as_chunks::<W>().0;
        for piece in &self.pieces[segments.start * self.parts..segments.end * self.parts] {
            for group in keys[piece.clone()].chunks(GROUP) {
                for (key, spots) in group.iter().zip(&mut room) {
                    *spots = layout.spots::<K>(Digest(key[0])).map(|spot| spot - cells.start);
                    spots.iter().for_each(|spot| cells.prefetch(*spot));
                }
                for (key, spots) in group.iter().zip(&room) {
                    for spot in spots {
                        let count = &mut cells.counts[*spot];
                        *count = count.wrapping_add(1);
                        seen |= *count;
                        flip(&mut cells.keys[*spot], key);
                    }
                }
            }
        }
        seen
    }
}

/// Adds a key to a cell, or removes it.
#[inline(always)]
fn flip<const W: usize>(cell: &mut [u64; W], key: &[u64; W]) {
    cell.iter_mut().zip(key).for_each(|(cell, key)| *cell ^= key);
}

/// Neighbouring cells: the exclusive or of each one's keys, and how many they are.
struct Cells<'a, const W: usize> {
    keys: &'a mut [[u64; W]],
    counts: &'a mut [u8],
    /// The first of them.
    start: usize,
}

impl<'a, const W: usize> Cells<'a, W> {
    /// The same for a while.
    fn by_ref(&mut self) -> Cells<'_, W> {
        Cells { keys: self.keys, counts: self.counts, start: self.start }
    }

    /// The first `len` of them, and the others.
    fn split_at(self, len: usize) -> (Self, Self) {
        let (keys, later) = self.keys.split_at_mut(len);
        let (counts, later_counts) = self.counts.split_at_mut(len);
        let rest = Self { keys: later, counts: later_counts, start: self.start + len };
        (Self { keys, counts, start: self.start }, rest)
    }

    /// Asks for the cell at `at` of them, if there is such.
    #[inline(always)]
    fn prefetch(&self, at: usize) {
        prefetch(self.keys, at);
        prefetch(self.counts, at);
    }
}

/// A part of the table that is peeled for itself.
struct Section<'a, const W: usize> {
    cells: Cells<'a, W>,
    /// Cells that have, or had, a single key, and how many there are.
    queue: Vec<u32>,
    filled: usize,
    /// The peeled keys, and which of its cells is each one's own.
    out: &'a mut [[u64; W]],
    sides: Vec<u8>,
    /// Cells whose single key has cells elsewhere.
    later: Vec<u32>,
}

impl<'a, const W: usize> Section<'a, W> {
    /// `out` has room for all keys that lie in the cells altogether.
    fn new(cells: Cells<'a, W>, out: &'a mut [[u64; W]]) -> Result<Self, SizeError> {
        let sides = reserved(out.len())?;
        Ok(Self { cells, queue: Vec::new(), filled: 0, out, sides, later: Vec::new() })
    }

    /// The own cells of the keys that were peeled, and cells whose single key has cells elsewhere.
    fn finish(self) -> (Vec<u8>, Vec<u32>) {
        (self.sides, self.later)
    }

    /// Puts those of `len` cells into the queue that have a single key.
    fn find(&mut self, from: usize, len: usize) {
        if self.queue.len() < self.filled + len {
            self.queue.resize(self.filled + len, 0);
        }
        for (at, count) in (self.cells.start + from..).zip(&self.cells.counts[from..from + len]) {
            self.queue[self.filled] = at as u32;
            self.filled += usize::from(*count == 1);
        }
    }

    /// Removes all keys that can be removed, from the queue and what is added to it.
    fn peel<const K: usize>(&mut self, layout: &Layout) {
        let Cells { keys, counts, start } = self.cells.by_ref();
        let (bits, end) = (layout.shape().segment_bits, start + keys.len());
        let (mut at, mut filled) = (0, self.filled);
        let mut room = [([0; W], [0; K]); GROUP];
        while at < filled {
            if filled + K * GROUP > self.queue.len() {
                self.queue.resize(2 * (filled + K * GROUP), 0);
            }
            // A cell in the queue has one key, or none any more if another of the group takes it: the count tells.
            let group = (filled - at).min(GROUP);
            for (cell, (key, spots)) in self.queue[at..at + group].iter().zip(&mut room) {
                *key = keys[*cell as usize - start];
                *spots = layout.spots::<K>(Digest(key[0]));
                for spot in spots {
                    prefetch(keys, spot.wrapping_sub(start));
                    prefetch(counts, spot.wrapping_sub(start));
                }
            }
            for (key, spots) in &room[..group] {
                let cell = self.queue[at] as usize;
                at += 1;
                if counts[cell - start] != 1 {
                    continue;
                }
                if spots[0] < start || spots[K - 1] >= end {
                    self.later.push(cell as u32);
                    continue;
                }
                self.out[self.sides.len()] = *key;
                self.sides.push(((cell >> bits) - (spots[0] >> bits)) as u8);
                for spot in spots {
                    self.queue[filled] = *spot as u32;
                    let count = &mut counts[spot - start];
                    filled += usize::from(*count == 2);
                    *count -= 1;
                    flip(&mut keys[spot - start], key);
                }
            }
        }
        self.filled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::fixed::digests::Entries;
    use crate::theory::binary_fuse::shape;

    fn layout(keys: usize, arity: u32) -> Layout {
        Layout::sized(shape(keys as u64, arity).unwrap(), 0).unwrap()
    }

    #[test]
    fn duplicates_never_peel_however_many_there_are() {
        for copies in [2, 127, 128, 255, 256, 257, 1000] {
            let digests: Vec<Digest> = (0..10).map(Digest).chain(vec![Digest(7 << 50); copies]).collect();
            let layout = layout(digests.len(), 3);
            assert!(build::<1>(layout, &Entries::set(&digests), 1).unwrap().is_none(), "{copies} copies");
        }
    }

    #[test]
    fn keys_are_sorted_by_segment_also_if_one_has_more_than_there_was_room_for() {
        let layout = layout(60_000, 3);
        let even = (1..=40_000).map(|i| Digest(Digest(5).word(i)));
        let first = (1..).map(|i| Digest(Digest(6).word(i))).filter(|digest| layout.segment(*digest) == 1);
        let digests: Vec<Digest> = even.chain(first.take(20_000)).collect();
        let values: Vec<u32> = (0..60_000).collect();
        for threads in [1, 3] {
            let sorted =
                Sorted::<2>::sort(&layout, &Entries { digests: &digests, values: &values }, threads).unwrap();
            let mut seen = Vec::new();
            for (at, piece) in sorted.pieces.iter().enumerate() {
                for [digest, value] in &sorted.keys.as_slice().as_chunks::<2>().0[piece.clone()] {
                    assert_eq!(digests[*value as usize], Digest(*digest));
                    assert_eq!(layout.segment(Digest(*digest)), at / sorted.parts);
                    seen.push(*value as u32);
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, values);
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
                    build::<2>(layout, &entries, 2).unwrap()
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
