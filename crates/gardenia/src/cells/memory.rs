//! Words of memory: owned, borrowed or shared.
//!
//! Owned words start on a cache line. From 2 MiB on they are a mapping of their own for which huge
//! pages are asked (a random probe into small pages misses the TLB as well as the cache); where the
//! system has none, nothing is lost.
#![allow(unsafe_code)] // one buffer type that hands out slices of words, and atomics over the same words

use crate::SizeError;
use crate::simd::prefetch;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;
#[cfg(feature = "mmap")]
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU64};

/// Memory is what this crate says it is: unsafe code counts on the number of its words.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Readable 64-bit words. Bit `i` of a cell array is bit `i % 64` of word `i / 64`.
pub trait Memory: sealed::Sealed {
    /// Number of words.
    fn words(&self) -> usize;
    /// Word `at`.
    fn load(&self, at: usize) -> u64;
    /// Asks for the cache line of word `at`; out of range it does nothing.
    fn prefetch(&self, at: usize);
    /// The words as little-endian bytes, where they lie so in memory and nobody else writes to
    /// them.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
    /// The words of block `at`, if blocks have `N`.
    #[doc(hidden)]
    #[inline(always)]
    fn block<const N: usize>(&self, at: usize) -> [u64; N]
    where
        Self: Sized,
    {
        core::array::from_fn(|word| self.load(at * N + word))
    }
    /// The words from `start` on as little-endian bytes, as many as fit `out`.
    fn copy_le(&self, start: usize, out: &mut [u8]) {
        for (at, bytes) in (start..).zip(out.as_chunks_mut::<8>().0) {
            *bytes = self.load(at).to_le_bytes();
        }
    }
}

/// Words that nobody else changes while they are read: all but [`Shared`] ones.
pub trait Still: Memory {}

impl Still for Owned {}
impl<B: AsRef<[u8]>> Still for Bytes<B> {}

/// Eight words on one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

const WORDS_PER_LINE: usize = 8;

/// Memory of at least this many bytes is mapped, with huge pages, unless [`use_allocator_alone`].
#[cfg(feature = "mmap")]
const HUGE: usize = 2 << 20;

/// Whether large memory is mapped.
#[cfg(feature = "mmap")]
static MAPS: AtomicBool = AtomicBool::new(true);

/// From now on takes all memory from the global allocator, however large: for a program whose
/// allocator counts what it gives, such as a module of a server. There are no huge pages then.
///
/// ```
/// use gardenia::cells::{Memory, Owned, use_allocator_alone};
/// use_allocator_alone();
/// assert_eq!(Owned::zeroed(1 << 20)?.words(), 1 << 20); // 8 MiB, as a vector
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn use_allocator_alone() {
    #[cfg(feature = "mmap")]
    MAPS.store(false, Relaxed);
}

/// Where owned words live, so that they can be given back.
enum Home {
    /// Lines as a vector has them, with this capacity.
    Lines { capacity: usize },
    #[cfg(feature = "mmap")]
    Map { _map: memmap2::MmapMut },
}

/// Words owned by one filter, zero at first, aligned to cache lines.
pub struct Owned {
    words: NonNull<u64>,
    len: usize,
    home: Home,
}

// SAFETY: the words are owned by this value alone and are plain data.
unsafe impl Send for Owned {}
// SAFETY: `&Owned` only reads.
unsafe impl Sync for Owned {}

impl Owned {
    /// `len` zero words, or an error: never an abort, however large.
    ///
    /// ```
    /// use gardenia::cells::{Memory, Owned};
    /// let words = Owned::zeroed(3)?;
    /// assert_eq!((words.words(), words.load(2)), (3, 0));
    /// assert!(Owned::zeroed(usize::MAX).is_err());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn zeroed(len: usize) -> Result<Self, SizeError> {
        let failed = || SizeError::Memory { bytes: (len as u64).saturating_mul(8) };
        let bytes = len.checked_mul(8).filter(|&b| b <= isize::MAX as usize).ok_or_else(failed)?;
        #[cfg(feature = "mmap")]
        if bytes >= HUGE && MAPS.load(Relaxed) {
            let mut map = memmap2::MmapMut::map_anon(bytes).map_err(|_| failed())?;
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage); // a request: without huge pages it is only slower
            let words = NonNull::new(map.as_mut_ptr().cast()).ok_or_else(failed)?;
            return Ok(Self { words, len, home: Home::Map { _map: map } });
        }
        let lines = bytes.div_ceil(64);
        if lines == 0 {
            return Ok(Self::default());
        }
        let layout = Layout::array::<Line>(lines).map_err(|_| failed())?;
        // Zeros of the allocator: where it has fresh pages, a large filter touches them only when keys come.
        // SAFETY: the layout is not empty.
        let words = NonNull::new(unsafe { alloc::alloc::alloc_zeroed(layout) }.cast()).ok_or_else(failed)?;
        Ok(Self { words, len, home: Home::Lines { capacity: lines } })
    }

    /// The words.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        // SAFETY: `words` points to `len` initialised words that live as long as `home`; `&self` keeps
        // writers out.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr(), self.len) }
    }

    /// The words, to be changed.
    #[inline]
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        // SAFETY: as above, and `&mut self` is the only way in.
        unsafe { core::slice::from_raw_parts_mut(self.words.as_ptr(), self.len) }
    }

    /// A copy, or an error when memory is short.
    pub fn try_clone(&self) -> Result<Self, SizeError> {
        let mut copy = Self::zeroed(self.len)?;
        copy.as_mut_slice().copy_from_slice(self.as_slice());
        Ok(copy)
    }
}

impl Default for Owned {
    /// No words: what stays where words were taken from.
    fn default() -> Self {
        Self { words: NonNull::<Line>::dangling().cast(), len: 0, home: Home::Lines { capacity: 0 } }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        match self.home {
            Home::Lines { capacity } => {
                // SAFETY: `zeroed` took the memory with the layout that a vector of this capacity has; lines are
                // plain data, so length 0 frees the same allocation.
                drop(unsafe { Vec::<Line>::from_raw_parts(self.words.as_ptr().cast(), 0, capacity) });
            }
            #[cfg(feature = "mmap")]
            Home::Map { .. } => {} // unmapped by its own drop
        }
    }
}

impl Clone for Owned {
    /// Copies the words. Like `Vec::clone`, it does not return when memory is short; see
    /// [`try_clone`](Self::try_clone).
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(copy) => copy,
            Err(_) => alloc::alloc::handle_alloc_error(
                Layout::array::<u64>(self.len).unwrap_or(Layout::new::<u64>()),
            ),
        }
    }
}

impl PartialEq for Owned {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} owned words", self.len)
    }
}

impl sealed::Sealed for Owned {}
impl Memory for Owned {
    #[inline]
    fn words(&self) -> usize {
        self.len
    }
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: the words are initialised, have no padding, and `&self` keeps writers out.
        cfg!(target_endian = "little")
            .then(|| unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.len * 8) })
    }
    #[inline]
    fn load(&self, at: usize) -> u64 {
        self.as_slice()[at]
    }
    #[inline]
    fn prefetch(&self, at: usize) {
        prefetch(self.as_slice(), at);
    }
}

/// Words that many threads may read and change at once.
#[derive(Debug)]
pub struct Shared {
    // Reached only through `atoms` while it is in here, so that no plain access races with an atomic one.
    words: Owned,
    latches: Vec<AtomicU8>,
}

/// The most latches: 64 KiB keep threads apart that do not work on one block.
const MAX_LATCHES: usize = 1 << 16;

impl Shared {
    /// Shares words that were owned by one filter; nothing is copied.
    #[must_use]
    pub fn new(words: Owned) -> Self {
        Self { words, latches: Vec::new() }
    }

    /// The same for filters that change a block of eight words at a time: with a latch, one byte,
    /// for each block or two up to 65,536 of them. Their number is a power of two: dividing by
    /// another would take as long as the exchange.
    pub(crate) fn with_latches(words: Owned) -> Self {
        let latches = 1 << (words.len / WORDS_PER_LINE).clamp(1, MAX_LATCHES).ilog2();
        Self { words, latches: (0..latches).map(|_| AtomicU8::new(0)).collect() }
    }

    /// The latch of a block; there are some only after [`with_latches`](Self::with_latches).
    #[inline]
    pub(crate) fn latch(&self, block: usize) -> &AtomicU8 {
        &self.latches[block & (self.latches.len() - 1)]
    }

    /// The words, owned by one filter again; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> Owned {
        self.words
    }

    /// The words as atomics.
    #[inline]
    #[must_use]
    pub fn atoms(&self) -> &[AtomicU64] {
        // SAFETY: `AtomicU64` has the size of `u64`, the words are aligned to it, and inside `Shared` they
        // are only reached as atomics.
        unsafe { core::slice::from_raw_parts(self.words.words.as_ptr().cast(), self.words.len) }
    }
}

impl sealed::Sealed for Shared {}
impl Memory for Shared {
    #[inline]
    fn words(&self) -> usize {
        self.words.len
    }
    #[inline]
    fn load(&self, at: usize) -> u64 {
        self.atoms()[at].load(Relaxed)
    }
    #[inline(always)]
    fn block<const N: usize>(&self, at: usize) -> [u64; N] {
        self.atoms().as_chunks().0[at].each_ref().map(|atom| atom.load(Relaxed))
    }
    #[inline]
    fn prefetch(&self, at: usize) {
        prefetch(self.atoms(), at);
    }
}

/// Little-endian words inside somebody else's bytes: a slice, or a mapped file. Any alignment will
/// do.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<B>(pub B);

impl<B: AsRef<[u8]>> sealed::Sealed for Bytes<B> {}
impl<B: AsRef<[u8]>> Memory for Bytes<B> {
    #[inline]
    fn words(&self) -> usize {
        self.0.as_ref().len() / 8
    }
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }
    #[inline]
    fn load(&self, at: usize) -> u64 {
        let bytes = self.0.as_ref();
        match bytes.get(at * 8..).and_then(<[u8]>::first_chunk) {
            Some(word) => u64::from_le_bytes(*word),
            None => panic!("word {at} of {}", self.words()), // as a slice would; callers stay below `words`
        }
    }
    #[inline]
    fn prefetch(&self, at: usize) {
        prefetch(self.0.as_ref(), at * 8);
    }
}

/// That many bytes, all zero, which the system hands out without touching them; `None` if there is
/// no memory for them.
///
/// ```
/// assert_eq!(gardenia::cells::zeroed_bytes(3), Some(vec![0, 0, 0]));
/// assert_eq!(gardenia::cells::zeroed_bytes(usize::MAX), None);
/// ```
#[must_use]
#[doc(hidden)]
#[cfg(feature = "std")]
pub fn zeroed_bytes(bytes: usize) -> Option<Vec<u8>> {
    if bytes == 0 {
        return Some(Vec::new());
    }
    let layout = Layout::array::<u8>(bytes).ok()?;
    // SAFETY: the layout is not empty, and is that of a vector of so many bytes, all of which are zero.
    unsafe {
        let memory = NonNull::new(alloc::alloc::alloc_zeroed(layout))?;
        Some(Vec::from_raw_parts(memory.as_ptr(), bytes, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_words_are_zero_aligned_and_keep_what_is_written() {
        for len in [1, 7, 8, 9, 1000, (2 << 20) / 8, (2 << 20) / 8 + 1] {
            let mut words = Owned::zeroed(len).unwrap();
            assert_eq!(words.as_slice().as_ptr() as usize % 64, 0);
            assert!(words.as_slice().iter().all(|&w| w == 0));
            words.as_mut_slice()[len - 1] = 7;
            let copy = words.clone();
            words.as_mut_slice()[len - 1] = 8;
            assert_eq!((copy.load(len - 1), words.load(len - 1)), (7, 8));
            let shared = Shared::new(words);
            shared.atoms()[0].fetch_or(1 << 40, Relaxed);
            assert_ne!(shared.load(0) & (1 << 40), 0);
            assert_ne!(shared.into_owned().load(0) & (1 << 40), 0);
        }
    }

    #[test]
    fn borrowed_bytes_are_little_endian_words_at_any_alignment() {
        let bytes: Vec<u8> = (0..17).collect();
        let words = Bytes(&bytes[1..]);
        assert_eq!(words.words(), 2);
        assert_eq!(words.load(1), u64::from_le_bytes([9, 10, 11, 12, 13, 14, 15, 16]));
    }
}
