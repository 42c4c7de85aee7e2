//! Which instructions to use, found out once per filter, and the batch loops over them.
#![allow(unsafe_code)] // calls into the vector files, whose needs are checked here

use super::ahead;
use super::batch::{Sink, Source};
use super::pattern::Pattern;
use super::portable;
use super::prefetch_at;
use crate::cells::{Memory, Shared, atom};
use crate::hash::{Digest, Key, KeyHasher};

#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::{avx2, avx512};

/// Instructions for blocked filters. All give the same bits and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Plain code, which defines the result.
    Portable,
    /// 256-bit registers.
    Avx2,
    /// 512-bit registers.
    Avx512,
}

impl Level {
    /// The best that this processor has.
    #[inline]
    #[must_use]
    pub fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            if std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("bmi2")
            {
                return Self::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// All that this processor has, the plainest first.
    ///
    /// ```
    /// use gardenia::simd::Level;
    /// assert!(Level::available().contains(&Level::best()));
    /// ```
    #[must_use]
    pub fn available() -> alloc::vec::Vec<Self> {
        let all = [Self::Portable, Self::Avx2, Self::Avx512];
        all.into_iter().filter(|level| *level <= Self::best()).collect()
    }
}

/// Answers for digests in order. `far` tables are fetched ahead; others are near enough for a plain
/// loop.
pub(crate) fn contains<M: Memory>(
    pattern: Pattern,
    memory: &M,
    far: bool,
    digests: impl Source,
    sink: &mut impl Sink,
) {
    assert_eq!(memory.words(), pattern.here() * 8, "the table has as many blocks as its pattern says");
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if let (Some(bytes), true) = (memory.bytes(), pattern.level() > Level::Portable) {
        let table = bytes.as_ptr();
        // SAFETY: the processor has the instructions, and the table has as many blocks as the pattern says
        // (its words were counted above, and its bytes are the same memory).
        unsafe {
            return match pattern.level() {
                Level::Avx512 => contains_avx512(pattern, table, far, digests, sink),
                _ => contains_avx2(pattern, table, far, digests, sink),
            };
        }
    }
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    // SAFETY: the processor has the instructions.
    unsafe {
        match pattern.level() {
            Level::Avx512 => return contains_words_avx512(pattern, memory, far, digests, sink),
            Level::Avx2 => return contains_words_avx2(pattern, memory, far, digests, sink),
            Level::Portable => {}
        }
    }
    let ask = |digest| portable::contains(pattern, digest, |at| memory.load(at));
    digests.each::<{ ahead::ONE_LINE }>(far, |digest| memory.prefetch(pattern.block(digest) * 8), ask, sink);
}

/// Whether all bits of the masks are set in the words.
#[inline(always)]
fn covers(words: [u64; 8], masks: [u64; 8]) -> bool {
    (0..8).fold(0, |clear, lane| clear | masks[lane] & !words[lane]) == 0
}

/// The answer for one digest in any words, read one by one. Apart where vector code is the rule, so
/// that single calls stay short.
#[cfg_attr(all(target_arch = "x86_64", feature = "std"), inline(never))]
pub(super) fn contains_words<M: Memory>(pattern: &Pattern, memory: &M, digest: Digest) -> bool {
    covers(memory.block(pattern.block(digest)), masks(pattern, digest))
}

/// The bits of a key in the eight words of its block.
#[inline(always)]
fn masks(pattern: &Pattern, digest: Digest) -> [u64; 8] {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    // SAFETY: the processor has the instructions.
    unsafe {
        match pattern.level() {
            Level::Avx512 => return avx512::masks(digest, pattern.lanes()),
            Level::Avx2 => return avx2::masks(digest, pattern.lanes()),
            Level::Portable => {}
        }
    }
    portable::masks(*pattern, digest)
}

/// Inserts digests in order, and tells of each whether it was certainly new.
pub(crate) fn insert(
    pattern: Pattern,
    words: &mut [u64],
    far: bool,
    digests: impl Source,
    sink: &mut impl Sink,
) {
    assert_eq!(words.len(), pattern.here() * 8, "the table has as many blocks as its pattern says");
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if pattern.level() > Level::Portable {
        let table: *mut u8 = words.as_mut_ptr().cast();
        // SAFETY: as above; x86-64 is little-endian, so words and bytes are the same. The digests of a part of the table are
        // those of its blocks: `member/radix.rs` hashes each key once, and sorts the stored digests by their block.
        unsafe {
            return match pattern.level() {
                Level::Avx512 => insert_avx512(pattern, table, far, digests, sink),
                _ => insert_avx2(pattern, table, far, digests, sink),
            };
        }
    }
    // The lines are asked for through a pointer, because the words are lent to the insertion.
    let table: *const u64 = words.as_ptr();
    let fetch = |digest: Digest| prefetch_at(table, pattern.block(digest) * 8);
    digests.each::<{ ahead::ONE_LINE }>(far, fetch, |digest| portable::insert(pattern, digest, words), sink);
}

/// The digests of all keys, with the instructions of `level`, which the processor has.
pub(crate) fn digest_slice<K: Key>(level: Level, hasher: &KeyHasher, keys: &[K], digests: &mut [Digest]) {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if level.min(Level::best()) == Level::Avx512 {
        // SAFETY: the processor has the instructions.
        return unsafe { digest_avx512(hasher, keys, digests) };
    }
    let _ = level;
    hasher.digest_all(keys, digests);
}

/// The digests of all keys, with the best instructions.
pub(crate) fn digest_keys<K: Key>(hasher: &KeyHasher, keys: &[K], digests: &mut [Digest]) {
    with_best(|| hasher.digest_all(keys, digests));
}

/// Does `work`, compiled for the best instructions where it is inlined: loops over keys are then
/// hashed in vector registers.
#[inline]
pub(crate) fn with_best<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if Level::best() == Level::Avx512 {
        // SAFETY: the processor has the instructions.
        return unsafe { with_avx512(work) };
    }
    work()
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Something small that plain code does and that wider registers do faster. A type and not a
/// closure: closures are compiled apart, without the instructions, where the compiler finds them
/// too long.
pub(crate) trait Work {
    type Output;
    /// To be marked `#[inline(always)]`, with all that it calls.
    fn run(self, has: Has) -> Self::Output;
}

/// Instructions that the processor has, and that [`Work`] is compiled with. Only `with_level` makes
/// one.
#[derive(Clone, Copy)]
#[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), expect(dead_code))] // nothing to choose there
pub(crate) struct Has(Level);

impl Has {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline(always)]
    pub(super) fn level(self) -> Level {
        self.0
    }
}

/// Runs `work` with the instructions of `level`, which the processor has. Each is a function of its
/// own, so that a caller's loop keeps nothing in registers for those that it does not take.
#[inline(always)]
pub(crate) fn with_level<W: Work>(level: Level, work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    // SAFETY: the processor has the instructions.
    unsafe {
        match level {
            Level::Avx512 => run_avx512(work),
            Level::Avx2 => run_avx2(work),
            Level::Portable => run_portable(work),
        }
    }
    #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
    work.run(Has(level))
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,bmi2")]
fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run(Has(Level::Avx512))
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2")]
fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run(Has(Level::Avx2))
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline(never)]
fn run_portable<W: Work>(work: W) -> W::Output {
    work.run(Has(Level::Portable))
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn digest_avx512<K: Key>(hasher: &KeyHasher, keys: &[K], digests: &mut [Digest]) {
    hasher.digest_all(keys, digests);
}

/// Inserts one digest into blocks that threads share; true if it was certainly new.
#[inline]
pub(crate) fn insert_shared(pattern: Pattern, memory: &Shared, digest: Digest) -> bool {
    let block = pattern.block(digest);
    atom::set_block(&memory.atoms().as_chunks::<8>().0[block], memory.latch(block), &masks(&pattern, digest))
}

/// Inserts digests in order into words that threads share.
pub(crate) fn insert_shared_many(
    pattern: Pattern,
    memory: &Shared,
    far: bool,
    digests: impl Source,
    sink: &mut impl Sink,
) {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    // SAFETY: the processor has the instructions.
    unsafe {
        match pattern.level() {
            Level::Avx512 => return insert_words_avx512(pattern, memory, far, digests, sink),
            Level::Avx2 => return insert_words_avx2(pattern, memory, far, digests, sink),
            Level::Portable => {}
        }
    }
    let ask = |digest| insert_shared(pattern, memory, digest);
    digests.each::<{ ahead::ONE_LINE }>(far, |digest| memory.prefetch(pattern.block(digest) * 8), ask, sink);
}

/// Writes the batch loops of one vector file: the whole loop has its instructions, hashing
/// included. Keys of at most eight bits have a loop of their own, without a branch for more.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
macro_rules! loops {
    ($feature:literal, $file:ident, $contains:ident, $insert:ident, $contains_words:ident, $insert_words:ident) => {
        #[target_feature(enable = $feature)]
        unsafe fn $contains(
            pattern: Pattern,
            table: *const u8,
            far: bool,
            digests: impl Source,
            sink: &mut impl Sink,
        ) {
            let at = |digest| table.wrapping_add(pattern.block_of_all(digest) * 64);
            let fetch = |digest| prefetch_at(at(digest), 0);
            let lanes = pattern.lanes();
            // SAFETY: a block index is below `blocks`, and the caller promises as many.
            unsafe {
                match lanes.second {
                    None => {
                        let ask = |digest| $file::contains_one(at(digest), digest, lanes.first);
                        digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
                    }
                    Some(_) => {
                        let ask = |digest| $file::contains(at(digest), digest, lanes);
                        digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
                    }
                }
            }
        }

        #[target_feature(enable = $feature)]
        unsafe fn $insert(
            pattern: Pattern,
            table: *mut u8,
            far: bool,
            digests: impl Source,
            sink: &mut impl Sink,
        ) {
            let at = |digest| table.wrapping_add(pattern.block(digest) * 64);
            let fetch = |digest| prefetch_at(at(digest), 0);
            let lanes = pattern.lanes();
            // SAFETY: a block index is below `blocks`, and the caller promises as many.
            unsafe {
                match lanes.second {
                    None => {
                        let ask = |digest| $file::insert_one(at(digest), digest, lanes.first);
                        digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
                    }
                    Some(_) => {
                        let ask = |digest| $file::insert(at(digest), digest, lanes);
                        digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
                    }
                }
            }
        }

        #[target_feature(enable = $feature)]
        fn $contains_words<M: Memory>(
            pattern: Pattern,
            memory: &M,
            far: bool,
            digests: impl Source,
            sink: &mut impl Sink,
        ) {
            let fetch = |digest| memory.prefetch(pattern.block(digest) * 8);
            let lanes = pattern.lanes();
            let ask = |digest| covers(memory.block(pattern.block(digest)), $file::masks(digest, lanes));
            digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
        }

        #[target_feature(enable = $feature)]
        fn $insert_words(
            pattern: Pattern,
            memory: &Shared,
            far: bool,
            digests: impl Source,
            sink: &mut impl Sink,
        ) {
            let fetch = |digest| memory.prefetch(pattern.block(digest) * 8);
            let (blocks, lanes) = (memory.atoms().as_chunks::<8>().0, pattern.lanes());
            let ask = |digest| {
                let block = pattern.block(digest);
                atom::set_block(&blocks[block], memory.latch(block), &$file::masks(digest, lanes))
            };
            digests.each::<{ ahead::ONE_LINE }>(far, fetch, ask, sink);
        }
    };
}
#[cfg(all(target_arch = "x86_64", feature = "std"))]
loops!(
    "avx512f,avx512dq,avx512vl,bmi2",
    avx512,
    contains_avx512,
    insert_avx512,
    contains_words_avx512,
    insert_words_avx512
);
#[cfg(all(target_arch = "x86_64", feature = "std"))]
loops!("avx2", avx2, contains_avx2, insert_avx2, contains_words_avx2, insert_words_avx2);
