//! Ribbon filters with the processor's own instructions: parities of masked words.
#![allow(unsafe_code)] // calls of functions whose instructions were asked for, and masked loads

use super::Level;
use super::ahead::{self, FIRST_OF_MORE};
use super::batch::{Sink, Source};
use crate::cells::Memory;
use crate::filter::ribbon::{BLOCK, Band, Layer, Place, Probe};
use crate::hash::Digest;
use core::marker::PhantomData;

/// Work that is compiled for each level.
pub(crate) trait Work {
    /// What comes of it.
    type Output;
    /// Does it; to be inlined always, so that it takes on the level's instructions.
    fn run(self) -> Self::Output;
}

/// The best level of this processor: with AVX-512 it must also count bits in vectors.
pub(crate) fn best() -> Level {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    {
        let counts = std::arch::is_x86_feature_detected!("avx512vpopcntdq");
        let bits = std::arch::is_x86_feature_detected!("popcnt")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2");
        match Level::best() {
            Level::Avx512 if counts && bits => Level::Avx512,
            Level::Avx512 | Level::Avx2 if bits => Level::Avx2,
            _ => Level::Portable,
        }
    }
    #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
    Level::Portable
}

/// Does the work with the instructions of a level that this processor has.
pub(crate) fn run<W: Work>(level: Level, work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    match level.min(best()) {
        // SAFETY: the processor has what `best` allows.
        Level::Avx512 => return unsafe { run_avx512(work) },
        // SAFETY: the processor has what `best` allows.
        Level::Avx2 => return unsafe { run_avx2(work) },
        Level::Portable => {}
    }
    let _ = level;
    work.run()
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

/// A filter's layers, fingerprints of how many bits, and words.
pub(crate) struct Table<'a, M> {
    pub(crate) layers: &'a [Layer],
    pub(crate) width: u32,
    pub(crate) memory: &'a M,
}

/// Where the words of a key are.
enum Found {
    /// In the first layer.
    First(Probe),
    /// In a later one, since it was bumped: its word in the first.
    Later(u64),
}

impl<M: Memory> Table<'_, M> {
    /// The words to ask for a key, unless the first layer bumped it.
    #[inline(always)]
    fn first<B: Band>(&self, first: &Layer, digest: Digest) -> Found {
        let word = first.word(digest.0);
        let place = first.place(word);
        if first.bumps && first.is_bumped::<B>(place, self.memory) {
            return Found::Later(word);
        }
        Found::First(first.probe::<B>(word, place, self.width))
    }

    /// The words to ask for a key that the first layer bumped.
    fn later<B: Band>(&self, mut word: u64) -> Probe {
        let mut found = Probe::default();
        for layer in &self.layers[1..] {
            word = layer.word(word);
            let place = layer.place(word);
            found = layer.probe::<B>(word, place, self.width);
            if !(layer.bumps && layer.is_bumped::<B>(place, self.memory)) {
                break;
            }
        }
        found
    }

    /// The layer that holds a key, its first slot there, and its words.
    pub(crate) fn locate<B: Band>(&self, digest: Digest) -> (usize, u64, Probe) {
        let (mut word, mut found) = (digest.0, (0, 0, Probe::default()));
        for (number, layer) in self.layers.iter().enumerate() {
            word = layer.word(word);
            let place = layer.place(word);
            let block = place.segment * layer.blocks + place.start / BLOCK;
            found = (number, block * BLOCK, layer.probe::<B>(word, place, self.width));
            if !(layer.bumps && layer.is_bumped::<B>(place, self.memory)) {
                break;
            }
        }
        found
    }

    /// Asks for the lines of a key in the first layer: all that a present key of up to 16 bits
    /// needs, and those of the first eight bits of longer ones, which absent keys seldom pass.
    #[inline(always)]
    fn fetch<B: Band>(&self, first: &Layer, digest: Digest) {
        let word = first.word(digest.0);
        let Place { segment, start } = first.place(word);
        let block = segment * first.blocks + start / BLOCK;
        let at = (first.first + first.block_words(block, self.width)) as usize;
        let (width, ask) = (self.width as usize, |at: usize| self.memory.prefetch(at));
        ask(at);
        if width > 16 {
            (1..B::BLOCKS).for_each(|i| ask(at + i * width));
            return;
        }
        ask(at + 8);
        if B::BLOCKS * width > 16 {
            ask(at + 16);
            ask(at + 24);
        }
        ask(at + B::BLOCKS * width - 1);
    }

    /// Whether the words have the fingerprint.
    #[inline(always)]
    fn holds<B: Band>(&self, probe: &Probe) -> bool {
        let differ = |from: u32, to: u32| {
            (from..to).fold(0, |differ, bit| {
                let mut met = 0;
                for i in 0..B::BLOCKS {
                    met ^= self.memory.load(probe.at[i] + bit as usize) & probe.coefficients[i];
                }
                differ | (met.count_ones() ^ probe.fingerprint >> bit) & 1
            })
        };
        let first = probe.width.min(FIRST_OF_MORE as u32);
        differ(0, first) == 0 && differ(first, probe.width) == 0
    }
}

/// Whether a digest may be present.
#[inline]
pub(crate) fn contains_one<B: Band, M: Memory>(table: Table<'_, M>, level: Level, digest: Digest) -> bool {
    let probe = match table.first::<B>(&table.layers[0], digest) {
        Found::First(probe) => probe,
        Found::Later(word) => table.later::<B>(word),
    };
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if let (Level::Avx512, Some(bytes)) = (level, table.memory.bytes()) {
        // SAFETY: a filter's level is one that `best` allows.
        return unsafe { holds_avx512::<B>(bytes, &probe) };
    }
    let _ = level;
    table.holds::<B>(&probe)
}

/// Answers for digests in order.
pub(crate) fn contains<B: Band, M: Memory>(
    table: Table<'_, M>,
    level: Level,
    far: bool,
    digests: impl Source,
    sink: &mut impl Sink,
) {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if let (Level::Avx512, Some(bytes)) = (level.min(best()), table.memory.bytes()) {
        // SAFETY: the processor has what `best` allows.
        return unsafe { contains_avx512::<B, M>(table, bytes, far, digests, sink) };
    }
    run(level, Contains::<B, _, _, _> { table, far, digests, sink, band: PhantomData });
}

/// A batch of queries by plain code.
struct Contains<'a, 'b, B, M, D, S> {
    table: Table<'a, M>,
    far: bool,
    digests: D,
    sink: &'b mut S,
    band: PhantomData<B>,
}

impl<B: Band, M: Memory, D: Source, S: Sink> Work for Contains<'_, '_, B, M, D, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (table, first) = (&self.table, self.table.layers[0]);
        let ask = |digest| match table.first::<B>(&first, digest) {
            Found::First(probe) => table.holds::<B>(&probe),
            Found::Later(word) => table.holds::<B>(&table.later::<B>(word)),
        };
        self.digests.each::<{ ahead::TWO_LINES }>(
            self.far,
            |digest| table.fetch::<B>(&first, digest),
            ask,
            self.sink,
        );
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn contains_avx512<B: Band, M: Memory>(
    table: Table<'_, M>,
    bytes: &[u8],
    far: bool,
    digests: impl Source,
    sink: &mut impl Sink,
) {
    let first = table.layers[0];
    let ask = |digest| match table.first::<B>(&first, digest) {
        Found::First(probe) => holds_avx512::<B>(bytes, &probe),
        Found::Later(word) => later_avx512::<B, M>(&table, bytes, word),
    };
    digests.each::<{ ahead::TWO_LINES }>(far, |digest| table.fetch::<B>(&first, digest), ask, sink);
}

/// The answer for a key that was bumped. Apart, so that the loop stays small.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn later_avx512<B: Band, M: Memory>(table: &Table<'_, M>, bytes: &[u8], word: u64) -> bool {
    holds_avx512::<B>(bytes, &table.later::<B>(word))
}

/// Whether the words, as little-endian bytes, have the fingerprint.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn holds_avx512<B: Band>(bytes: &[u8], probe: &Probe) -> bool {
    let differ = differ_avx512::<B>(bytes, probe, 0);
    // No branch on a first part that is all.
    if probe.width <= 8 { differ == 0 } else { differ == 0 && rest_holds_avx512::<B>(bytes, *probe) }
}

/// Whether the words have the fingerprint's bits after the first eight.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn rest_holds_avx512<B: Band>(bytes: &[u8], probe: Probe) -> bool {
    (8..probe.width).step_by(8).all(|from| differ_avx512::<B>(bytes, &probe, from) == 0)
}

/// Up to eight bits, from bit `from` of the fingerprint on, in which the words differ from it.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
fn differ_avx512<B: Band>(bytes: &[u8], probe: &Probe, from: u32) -> u8 {
    use core::arch::x86_64::{
        _mm512_maskz_loadu_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
        _mm512_ternarylogic_epi64, _mm512_test_epi64_mask,
    };
    // The blocks of a row are in order, so that the first and the last bound all of them.
    debug_assert!(probe.at[..B::BLOCKS].is_sorted(), "the blocks of a row are in order");
    let last = probe.at[B::BLOCKS - 1];
    assert!(probe.at[0] <= last && last + probe.width as usize <= bytes.len() / 8, "rows end with the table");
    let mask = (!0_u64 >> 1 >> (63 + from - probe.width)) as u8;
    let mut met = _mm512_setzero_si512();
    for i in 0..B::BLOCKS {
        let words = bytes.as_ptr().cast::<i64>().wrapping_add(probe.at[i] + from as usize);
        // SAFETY: of these words only those below `at + width` are read, which are among the bytes.
        let words = unsafe { _mm512_maskz_loadu_epi64(mask, words) };
        // met ^ (words & coefficients)
        let coefficients = _mm512_set1_epi64(probe.coefficients[i] as i64);
        met = _mm512_ternarylogic_epi64::<0x78>(met, words, coefficients);
    }
    let odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(met), _mm512_set1_epi64(1));
    (u32::from(odd) ^ probe.fingerprint >> from) as u8 & mask
}
