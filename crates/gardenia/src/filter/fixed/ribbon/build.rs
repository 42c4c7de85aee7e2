//! Construction: layer by layer, each by Gaussian elimination on the fly and back substitution.
//!
//! Keys go in bucket by bucket from left to right, and within a bucket from right to left. The
//! first whose equation cannot be met sets the bucket's threshold: it and all keys before it in the
//! bucket, for which the buckets to the left have left no room, are bumped to the next layer. A row
//! that is in is never changed, so that removing the last ones again is to clear their slots.

use super::band::{Band, fingerprint};
use super::layer::{BLOCK, Layer, lay_out};
use super::{MAX_ATTEMPTS, MAX_LAYERS, sort};
use crate::cells::Owned;
use crate::filter::fixed::digests::in_threads;
use crate::hash::Digest;
use crate::index::MAX_CELLS;
use crate::simd::Level;
use crate::simd::ribbon::{self, Work};
use crate::{BuildError, SizeError};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Segments that one thread eliminates in turns, a step of each: a step waits for the one before it
/// in its own segment only.
const LANES: usize = 4;

/// What was built.
pub(super) struct Solution {
    pub(super) layers: Vec<Layer>,
    pub(super) words: Owned,
    /// Different digests.
    pub(super) items: u64,
}

/// The layers of these digests: fingerprints of `width` bits for at least `share` of all keys, and
/// of one fewer for the others.
pub(super) fn solve<B: Band>(
    digests: &[Digest],
    width: u32,
    share: f64,
    threads: usize,
    level: Level,
) -> Result<Solution, BuildError> {
    let mut before = Cow::Borrowed(digests);
    let (mut layers, mut solved, mut items) = (Vec::new(), Vec::new(), 0);
    loop {
        // A digest is as good as any word of it; keys that were bumped must meet others in the next layer.
        let attempt = u32::from(!layers.is_empty());
        let words = sort::words(&before, attempt, threads);
        if layers.is_empty() {
            items = words.len() as u64;
        }
        let last = layers.len() + 1 == MAX_LAYERS;
        let layer = Layer::for_items::<B>(words.len() as u64, attempt, last)?.with_share::<B>(share);
        if !layer.bumps {
            let (layer, words) = solve_last::<B>(&before, words, layer, width, share, level)?;
            layers.push(layer);
            solved.push((words, Vec::new()));
            break;
        }
        let bumping = |layer, words: &[u64]| solve_bumping::<B>(words, layer, width, threads, level);
        let (mut layer, mut part) = (layer, bumping(layer, &words)?);
        if part.2.len() > words.len() / 4 {
            // Digests that are no hash values: they crowd in some buckets.
            layer = layer.again::<B>().with_share::<B>(share);
            part = bumping(layer, &sort::words(&before, layer.attempt, threads))?;
        }
        let (words, codes, bumped) = part;
        layers.push(layer);
        solved.push((words, codes));
        before = Cow::Owned(bumped);
    }
    let cells: u64 = layers.iter().map(Layer::slots).sum();
    if cells > MAX_CELLS {
        return Err(SizeError::TooManyCells { cells, max: MAX_CELLS }.into());
    }
    let mut words = Owned::zeroed(lay_out::<B>(&mut layers, width) as usize)?;
    for (layer, (solution, codes)) in layers.iter().zip(solved) {
        let all = words.as_mut_slice();
        all[layer.first as usize..][..solution.as_slice().len()].copy_from_slice(solution.as_slice());
        for (code, at) in codes.into_iter().zip(0..) {
            all[layer.thresholds as usize + at / 32] |= u64::from(code) << (at % 32 * 2);
        }
    }
    Ok(Solution { layers, words, items })
}

/// The solution of a layer without bumping, with another word of the keys and more room as often as
/// it takes.
fn solve_last<B: Band>(
    before: &[Digest],
    mut words: Vec<u64>,
    mut layer: Layer,
    width: u32,
    share: f64,
    level: Level,
) -> Result<(Layer, Owned), BuildError> {
    loop {
        let mut out = Owned::zeroed(layer.solution_words(width) as usize)?;
        let keys = &words[..];
        if ribbon::run(level, Last::<B> { keys, layer, width, out: out.as_mut_slice(), rows: Vec::new() }) {
            return Ok((layer, out));
        }
        if layer.attempt + 1 == MAX_ATTEMPTS {
            return Err(BuildError::Attempts { attempts: MAX_ATTEMPTS });
        }
        layer = layer.again::<B>().with_share::<B>(share);
        words = sort::words(before, layer.attempt, 1);
    }
}

/// The solution of a layer with bumping, the codes of its buckets, and the keys that were bumped,
/// in order.
fn solve_bumping<B: Band>(
    words: &[u64],
    layer: Layer,
    width: u32,
    threads: usize,
    level: Level,
) -> Result<(Owned, Vec<u8>, Vec<Digest>), SizeError> {
    let mut out = Owned::zeroed(layer.solution_words(width) as usize)?;
    let mut tasks = Vec::with_capacity(layer.segments as usize);
    let (mut keys, mut room) = (words, out.as_mut_slice());
    for number in 0..layer.segments {
        let (here, later) = keys.split_at(keys.partition_point(|word| layer.place(*word).segment <= number));
        let size = layer.block_words((number + 1) * layer.blocks, width)
            - layer.block_words(number * layer.blocks, width);
        let (out, more) = room.split_at_mut(size as usize);
        tasks.push(Segment { number, keys: here, out, codes: Vec::new(), bumped: Vec::new() });
        (keys, room) = (later, more);
    }
    let each = tasks.len().div_ceil(threads.max(1)).next_multiple_of(LANES);
    in_threads(tasks.chunks_mut(each).collect(), |segments: &mut [Segment<'_>]| {
        ribbon::run(level, Segments::<B> { segments, layer, width, lanes: Vec::new() });
    });
    let codes = tasks.iter().flat_map(|task| &task.codes).copied().collect();
    let bumped = tasks.iter().flat_map(|task| &task.bumped).map(|word| Digest(*word)).collect();
    Ok((out, codes, bumped))
}

/// One slot: a reduced equation that begins there, or zero.
#[derive(Clone, Copy, Default)]
pub(crate) struct Row<B> {
    pub(crate) coefficients: B,
    pub(crate) fingerprint: u32,
}

impl<B: Band> Row<B> {
    /// The equation of a key, with this many bits of its fingerprint.
    #[inline(always)]
    fn of(word: u64, width: u32) -> Self {
        Self { coefficients: B::of(word), fingerprint: fingerprint(word) & (u32::MAX >> (32 - width)) }
    }
}

/// One segment: its keys' words in order, room for the solution, and what comes of it.
struct Segment<'a> {
    number: u64,
    keys: &'a [u64],
    out: &'a mut [u64],
    codes: Vec<u8>,
    bumped: Vec<u64>,
}

/// Segments for one thread.
struct Segments<'a, 'b, B> {
    segments: &'a mut [Segment<'b>],
    layer: Layer,
    width: u32,
    lanes: Vec<Lane<B>>,
}

impl<B: Band> Work for Segments<'_, '_, B> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let Self { layer, width, .. } = self;
        self.lanes.resize_with(LANES.min(self.segments.len()), Lane::default);
        for segments in self.segments.chunks_mut(LANES) {
            let mut busy = 0;
            for (lane, segment) in self.lanes.iter_mut().zip(&mut *segments) {
                lane.rows.clear();
                lane.rows.resize(layer.segment_slots() as usize, Row::default());
                (lane.end, lane.width) = (0, width);
                busy += u32::from(lane.next_bucket(&layer, segment));
            }
            let mut lanes: Vec<_> = self.lanes.iter_mut().zip(&mut *segments).collect();
            // Lanes take about as long as each other, so that few run empty.
            while busy > 0 {
                for (lane, segment) in &mut lanes {
                    if lane.at != DONE && !lane.step(&layer, segment) {
                        lane.at = DONE;
                        busy -= 1;
                    }
                }
            }
            for (lane, segment) in lanes {
                let first = segment.number * layer.blocks;
                substitute(&lane.rows, &layer, first, width, segment.out);
            }
        }
    }
}

/// A lane that has no key in hand.
const DONE: usize = usize::MAX;

/// The elimination of one segment, a step at a time.
struct Lane<B> {
    rows: Vec<Row<B>>,
    width: u32,
    /// The slots that the bucket's keys took so far; [`DONE`] for a key whose equation held
    /// already.
    taken: Vec<usize>,
    /// The bucket's keys.
    begin: usize,
    end: usize,
    /// The key in hand: what is left of its equation, and its first slot.
    key: usize,
    row: Row<B>,
    at: usize,
}

impl<B: Band> Default for Lane<B> {
    fn default() -> Self {
        let row = Row::default();
        Self { rows: Vec::new(), width: 0, taken: Vec::new(), begin: 0, end: 0, key: 0, row, at: DONE }
    }
}

impl<B: Band> Lane<B> {
    /// Takes the next bucket with keys in hand; false if there is none.
    #[inline(always)]
    fn next_bucket(&mut self, layer: &Layer, segment: &mut Segment<'_>) -> bool {
        while segment.codes.len() < layer.buckets::<B>() as usize {
            let limit = (segment.codes.len() as u64 + 1) * B::BUCKET;
            self.begin = self.end;
            let mut rest = segment.keys[self.begin..].iter();
            self.end += rest.by_ref().take_while(|word| layer.place(**word).start < limit).count();
            self.taken.clear();
            self.key = self.end;
            if self.next_key(layer, segment) {
                return true;
            }
            segment.codes.push(0);
        }
        false
    }

    /// Takes the bucket's next key in hand, from right to left; false if there is none.
    #[inline(always)]
    fn next_key(&mut self, layer: &Layer, segment: &Segment<'_>) -> bool {
        if self.key == self.begin {
            return false;
        }
        self.key -= 1;
        let word = segment.keys[self.key];
        self.row = Row::of(word, self.width);
        self.at = layer.place(word).start as usize;
        true
    }

    /// One step of the elimination of the key in hand; false if no key is left.
    #[inline(always)]
    fn step(&mut self, layer: &Layer, segment: &mut Segment<'_>) -> bool {
        let row = &mut self.rows[self.at];
        if row.coefficients.is_zero() {
            *row = self.row;
            self.taken.push(self.at);
        } else {
            self.row.coefficients ^= row.coefficients;
            self.row.fingerprint ^= row.fingerprint;
            if !self.row.coefficients.is_zero() {
                let zeros = self.row.coefficients.zeros();
                self.row.coefficients = self.row.coefficients >> zeros;
                self.at += zeros as usize;
                return true;
            }
            // All zero: it holds by itself, once in 2^width times, or never.
            if self.row.fingerprint != 0 {
                self.bump(layer, segment);
                return self.next_bucket(layer, segment);
            }
            self.taken.push(DONE);
        }
        if self.next_key(layer, segment) {
            return true;
        }
        segment.codes.push(0);
        self.next_bucket(layer, segment)
    }

    /// Sets the least threshold that excludes the key in hand, and removes those that it excludes,
    /// too.
    fn bump(&mut self, layer: &Layer, segment: &mut Segment<'_>) {
        let offset = |word: u64| layer.place(word).start % B::BUCKET;
        let failed = offset(segment.keys[self.key]);
        let code = (1..4).find(|code| u64::from(B::THRESHOLDS[*code]) > failed).unwrap_or(3);
        let threshold = u64::from(B::THRESHOLDS[code]);
        let here = &segment.keys[self.begin..self.end];
        let bumped = here.partition_point(|word| offset(*word) < threshold);
        // Slots were taken from the last key to the first.
        for at in self.taken.drain(here.len() - bumped..) {
            if at != DONE {
                self.rows[at] = Row::default();
            }
        }
        segment.bumped.extend(&here[..bumped]);
        segment.codes.push(code as u8);
    }
}

/// A layer without bumping: whether it could be solved.
struct Last<'a, B> {
    keys: &'a [u64],
    layer: Layer,
    width: u32,
    out: &'a mut [u64],
    rows: Vec<Row<B>>,
}

impl<B: Band> Work for Last<'_, B> {
    type Output = bool;

    #[inline(always)]
    fn run(mut self) -> bool {
        self.rows.resize(self.layer.segment_slots() as usize, Row::default());
        for word in self.keys {
            let mut row = Row::<B>::of(*word, self.width);
            let mut at = self.layer.place(*word).start as usize;
            while !self.rows[at].coefficients.is_zero() {
                row.coefficients ^= self.rows[at].coefficients;
                row.fingerprint ^= self.rows[at].fingerprint;
                if row.coefficients.is_zero() {
                    break;
                }
                let zeros = row.coefficients.zeros();
                row.coefficients = row.coefficients >> zeros;
                at += zeros as usize;
            }
            if !row.coefficients.is_zero() {
                self.rows[at] = row;
            } else if row.fingerprint != 0 {
                return false;
            }
        }
        substitute(&self.rows, &self.layer, 0, self.width, self.out);
        true
    }
}

/// Columns that are solved together.
const COLUMNS: usize = 8;

/// Back substitution: from the last slot to the first each column gets the bit that meets the
/// slot's equation, and zero where there is none. `first` is the number of the segment's first
/// block in the layer.
#[inline(always)]
fn substitute<B: Band>(rows: &[Row<B>], layer: &Layer, first: u64, width: u32, out: &mut [u64]) {
    let base = layer.block_words(first, width);
    for column in (0..width).step_by(COLUMNS) {
        // The bits behind the slot in hand, the next of them lowest. After a block these are its words.
        let (mut near, mut far) = ([0u64; COLUMNS], [0u64; COLUMNS]);
        for (block, rows) in rows.as_chunks::<{ BLOCK as usize }>().0.iter().enumerate().rev() {
            for row in rows.iter().rev() {
                let behind = (row.coefficients >> 1).words(0);
                let fingerprint = u64::from(row.fingerprint >> column);
                for i in 0..COLUMNS {
                    let mut met = near[i] & behind[0];
                    if B::BLOCKS == 3 {
                        met ^= far[i] & behind[1];
                        far[i] = far[i] << 1 | near[i] >> 63;
                    }
                    let bit = (u64::from(met.count_ones()) ^ fingerprint >> i) & 1;
                    near[i] = near[i] << 1 | bit;
                }
            }
            let block = first + block as u64;
            let [from, to] =
                [block, block + 1].map(|block| (layer.block_words(block, width) - base) as usize);
            // Of the last column a block that is not full has none.
            if let Some(room) = out[from..to].get_mut(column as usize..) {
                room.iter_mut().zip(near).for_each(|(room, word)| *room = word);
            }
        }
    }
}
