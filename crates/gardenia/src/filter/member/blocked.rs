//! The blocked Bloom filter: one cache line per key.
//!
//! A key goes to one block of 512 bits and sets one bit in each of k of its eight 64-bit lanes
//! (above eight, two in some). A query waits for memory once, where the classical filter waits for
//! k lines, and a whole block is tested in one step where the processor can. The price is space:
//! blocks do not fill alike, and sizing by the exact mixture over their loads gives 9.9 bits per
//! key for 1 %, where the classical filter needs 9.6 (15.6 against 14.4 for 0.1 %). Take it when
//! only membership is asked.
//!
//! Source: Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007);
//! the lanes are those of split block filters, with a run of k lanes rotated by three bits of the
//! digest.

#[cfg(feature = "std")]
use super::radix;
use crate::cells::{Bits, Bytes, Memory, Owned, Shared};
use crate::explain::{CellTable, Explain, Seen, bit};
use crate::filter::builder::{Built, ForItems, ForRate, InBits, Probing};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{collect_impl, filter_impl, insert_impl};
use crate::filter::{About, Atomic, Bloom, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::AnyScheme;
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Blocks, Bools, Given, Keys, Level, Mask, Sink, Source};
use crate::spec::{FromSpec, Measure, Param, Spec, bit_bytes};
use crate::theory::blocked::{self, BLOCK_BITS, MAX_BLOCK_HASHES};
use crate::theory::bloom::{Estimate, Shape};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec::Vec;
use core::fmt;

/// The fastest filter: all bits of a key are in one cache line.
///
/// ```
/// use gardenia::BlockedBloom;
/// let mut seen = BlockedBloom::new(1_000_000, 0.01)?;
/// assert!(seen.insert("rose"));
/// assert!(seen.contains("rose") && !seen.contains("thistle"));
/// assert_eq!(seen.contains_many(&["rose", "nettle"]), [true, false]);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct BlockedBloom<M = Owned> {
    hasher: KeyHasher,
    blocks: Blocks<M>,
    about: About,
}

/// A [`BlockedBloom`] that many threads fill and query at once: `insert` needs only `&self`. It
/// holds an extra byte per block, at most 64 KiB.
///
/// ```
/// use gardenia::AtomicBlockedBloom;
/// let seen = AtomicBlockedBloom::new(1_000, 0.01)?;
/// std::thread::scope(|threads| {
///     for start in [0u32, 500] {
///         let seen = &seen;
///         threads.spawn(move || (start..start + 500).for_each(|key| _ = seen.insert(key)));
///     }
/// });
/// assert!((0..1000u32).all(|key| seen.contains(key)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub type AtomicBlockedBloom = Atomic<BlockedBloom<Shared>>;

impl Built for BlockedBloom {
    type Options = ();
}
impl ForItems for BlockedBloom {}
impl ForRate for BlockedBloom {}
impl InBits for BlockedBloom {}
impl Probing for BlockedBloom {}

impl Builder<BlockedBloom> {
    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        let best = |cells: u64, items| blocked::best_hashes(cells.div_ceil(BLOCK_BITS), items);
        self.request
            .shape(MAX_BLOCK_HASHES, blocked::shape, best, |shape| shape.cells.next_multiple_of(BLOCK_BITS))
    }

    /// The filter.
    pub fn build(self) -> Result<BlockedBloom, SizeError> {
        let Shape { cells, hashes } = self.shape()?;
        let about = self.request.about(|items| blocked::fpp(cells / BLOCK_BITS, items, hashes));
        Ok(BlockedBloom { hasher: self.request.hasher, blocks: Blocks::empty(cells, hashes)?, about })
    }
}

impl BlockedBloom {
    /// A filter for `items` keys at a false-positive probability of at most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape, seed, secret.
    ///
    /// ```
    /// use gardenia::BlockedBloom;
    /// let filter = BlockedBloom::builder().bits(100_000).hashes(6).seed(1).build()?;
    /// assert_eq!((filter.bits(), filter.hashes()), (100_352, 6)); // whole blocks of 512 bits
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<BlockedBloom> {
        Builder::new(())
    }

    /// Adds `key`; true if it was certainly absent before.
    #[inline(always)]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.insert_each(Given(digests), &mut Bools::of(digests, new));
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline(always)]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.blocks.insert(digest)
    }

    /// Adds digests in order; `new` receives for each whether it was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        self.blocks.insert_each(digests, new);
    }

    /// Adds a whole set with up to `threads` threads; how many keys were certainly absent before.
    ///
    /// The same bits and count as [`insert_many`](Self::insert_many), but the keys are first sorted
    /// into ranges of the table, each of which is then filled while it is in the cache: faster for
    /// filters above 32 MiB (smaller ones are left to [`insert_many`](Self::insert_many)) when the
    /// keys are known up front, at the price of some 100 MiB of memory while it works.
    ///
    /// ```
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// let mut seen = gardenia::BlockedBloom::new(100_000, 0.01)?;
    /// let new = seen.par_insert_many(&keys, 2);
    /// assert!(seen.par_contains_many(&keys, 2).into_iter().all(|found| found));
    /// assert!(new > 99_000); // the rest were false positives when they came
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn par_insert_many<K: Key + Sync>(&mut self, keys: &[K], threads: usize) -> u64 {
        if self.memory_bytes() <= radix::WORTH {
            return self.insert_many(keys);
        }
        self.about.took::<K>();
        let pattern = self.blocks.pattern();
        radix::insert(&self.hasher, pattern, self.blocks.words_mut(), keys, threads)
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.about.forget();
    }

    /// Takes in the keys of `other`, bit for bit as if they had been inserted here.
    pub fn union_with(&mut self, other: &BlockedBloom<impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        self.blocks.combine(&other.blocks, |a, b| a | b);
        self.about.took_all(&other.about);
        Ok(())
    }

    /// Keeps the bits that `other` has too: common keys stay found, and the rate is above that of a
    /// filter built from the common keys, as with
    /// [`Bloom::intersect_with`](crate::Bloom::intersect_with).
    pub fn intersect_with(&mut self, other: &BlockedBloom<impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        self.blocks.combine(&other.blocks, |a, b| a & b);
        Ok(())
    }

    /// The filter of the same keys at half the size: exactly the one that would have been built
    /// with half as many blocks. An odd number of blocks cannot be halved.
    ///
    /// ```
    /// use gardenia::BlockedBloom;
    /// let mut large = BlockedBloom::builder().bits(4 * 512).hashes(6).build()?;
    /// let mut small = BlockedBloom::builder().bits(2 * 512).hashes(6).build()?;
    /// large.extend(0..50);
    /// small.extend(0..50);
    /// assert_eq!(large.fold()?, small);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn fold(&self) -> Result<Self, SizeError> {
        if !self.blocks().is_multiple_of(2) {
            return Err(SizeError::Conflict("only an even number of blocks can be folded"));
        }
        // ⌊d·B/2 / 2⁶⁴⌋ is half of ⌊d·B / 2⁶⁴⌋: neighbours share a block.
        let mut blocks = Blocks::empty(self.bits() / 2, self.hashes())?;
        let pairs = self.blocks.bits().memory().as_slice().chunks_exact(16);
        for (folded, pair) in blocks.words_mut().chunks_exact_mut(8).zip(pairs) {
            (0..8).for_each(|lane| folded[lane] = pair[lane] | pair[lane + 8]);
        }
        Ok(Self { hasher: self.hasher.clone(), blocks, about: self.about.clone() })
    }

    /// The same filter for many threads; nothing is copied.
    #[must_use]
    pub fn into_shared(self) -> AtomicBlockedBloom {
        let Self { hasher, blocks, about } = self;
        Atomic(BlockedBloom { hasher, blocks: blocks.into_shared(), about })
    }
}

impl AtomicBlockedBloom {
    /// As [`BlockedBloom::new`], to be shared between threads.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        BlockedBloom::new(items, fpp).map(BlockedBloom::into_shared)
    }

    /// Loads a file of a [`BlockedBloom`] into memory to be shared between threads, with every
    /// checksum verified.
    #[cfg(feature = "mmap")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, DecodeError> {
        BlockedBloom::load(path).map(BlockedBloom::into_shared)
    }

    /// Adds `key`; true if it was certainly absent before. Of threads that add one new key at once,
    /// exactly one gets true.
    ///
    /// A thread that adds a new key holds the latch of its block for a dozen instructions; keys
    /// that are in, and queries, take none. Other threads see the key once they synchronise with
    /// this one, as with any relaxed store.
    #[inline]
    pub fn insert(&self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.blocks.insert(digest)
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before.
    pub fn insert_many<K: Key>(&self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.blocks.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// The same filter for one owner; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> BlockedBloom {
        let BlockedBloom { hasher, blocks, about } = self.0;
        BlockedBloom { hasher, blocks: blocks.into_owned(), about }
    }
}

impl<M: Memory> BlockedBloom<M> {
    /// Whether `key` may be present: never false for a key that is.
    #[inline(always)]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher.digest_key(&key))
    }

    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        Bools::collect(keys.len(), |answers| self.contains_each(Keys::new(&self.hasher, keys), answers))
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.contains_each(Given(digests), &mut Bools::of(digests, out));
    }

    /// Whether the key with this digest may be present.
    #[inline(always)]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.blocks.contains(digest)
    }

    /// Asks for the memory of this digest, for callers with a loop of their own: some dozens of
    /// keys later [`contains_digest`](Self::contains_digest) will not wait.
    ///
    /// ```
    /// let mut seen = gardenia::BlockedBloom::new(100, 0.01)?;
    /// let digest = seen.hasher().digest_key("rose");
    /// seen.prefetch(digest);
    /// assert!(!seen.contains_digest(digest));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[inline]
    pub fn prefetch(&self, digest: Digest) {
        self.blocks.prefetch(digest);
    }

    /// Answers for all keys in order, by up to `threads` threads.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn par_contains_many<K: Key + Sync>(&self, keys: &[K], threads: usize) -> Vec<bool>
    where
        M: Sync,
    {
        let each = keys.len().div_ceil(threads.clamp(1, 1024)).max(1);
        let answers = radix::in_threads(keys.chunks(each), |keys| self.contains_many(keys));
        answers.concat()
    }

    /// Answers as a bit mask: bit `i % 64` of word `i / 64` for digest `i`.
    ///
    /// ```
    /// let mut seen = gardenia::BlockedBloom::new(100, 1e-6)?;
    /// let digests: Vec<_> = (0..100u32).map(|key| seen.hasher().digest_key(&key)).collect();
    /// seen.insert(0);
    /// seen.insert(65);
    /// assert_eq!(seen.contains_mask(&digests), [1, 2]);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn contains_mask(&self, digests: &[Digest]) -> Vec<u64> {
        let mut mask = alloc::vec![0u64; digests.len().div_ceil(64)];
        self.contains_each(Given(digests), &mut Mask(&mut mask));
        mask
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.blocks.contains_each(digests, answers);
    }

    /// The same filter with other instructions, or the best of them that the processor has. Bits
    /// and answers do not depend on it: this is for tests and benchmarks.
    ///
    /// ```
    /// use gardenia::simd::Level;
    /// use gardenia::BlockedBloom;
    /// let mut plain = BlockedBloom::new(100, 0.01)?.with_level(Level::Portable);
    /// let mut best = BlockedBloom::new(100, 0.01)?;
    /// plain.extend(0..100);
    /// best.extend(0..100);
    /// assert_eq!(plain, best);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { blocks: self.blocks.at(level), ..self }
    }

    filter_facts!();

    /// Number of bits, m.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.blocks.bits().len()
    }

    /// The share of bits that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.blocks.bits().count_ones() as f64 / self.bits() as f64
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// Memory used by the bits, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.blocks.bits().memory().words() * 8
    }

    /// Number of blocks of 512 bits.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks.len()
    }

    /// Bits set per key, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.blocks.hashes()
    }

    /// The false-positive probability as the filter is now: the exact rate at the estimated number
    /// of keys.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        let items = self.estimated_items().items;
        if items.is_finite() { blocked::fpp_at(self.blocks(), items, self.hashes()) } else { 1.0 }
    }

    /// The number of distinct keys in the filter, estimated from the fill, with its standard error.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        blocked::estimate_items(self.blocks(), self.hashes(), self.blocks.bits().count_ones())
    }

    /// Hasher and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Blocked,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.hashes(),
            cells: self.bits(),
            width: 1,
        }
    }
}

impl<M: Memory> fmt::Debug for BlockedBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hasher, hashes, bits) = (&self.hasher, &self.hashes(), self.blocks.bits());
        f.debug_struct("BlockedBloom")
            .field("hasher", hasher)
            .field("hashes", hashes)
            .field("bits", bits)
            .finish()
    }
}

/// Equal in identity and bits: the same answer to every key. What they were planned for does not
/// count.
impl<M: Memory, N: Memory> PartialEq<BlockedBloom<N>> for BlockedBloom<M> {
    fn eq(&self, other: &BlockedBloom<N>) -> bool {
        self.identity() == other.identity() && self.blocks.bits() == other.blocks.bits()
    }
}

impl<M: Memory> Explain for BlockedBloom<M> {
    fn tables(&self) -> Vec<CellTable> {
        alloc::vec![CellTable::bits(self.bits()).together(BLOCK_BITS)]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        bit(self.blocks.bits(), at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        let (first, masks) = self.blocks.masks(digest);
        seen.add_masks(0, 0, first, &masks);
    }
}

filter_impl!([M: Memory] BlockedBloom<M>);
insert_impl!([] BlockedBloom);
collect_impl!(BlockedBloom);

impl Merge for BlockedBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.union_with(other)
    }
}

impl<M: Memory> Stored for BlockedBloom<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        alloc::vec![self.blocks.bits().memory()]
    }
}

/// The parts of a stored filter other than its bits, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, About), DecodeError> {
    header.check_kind(Kind::Blocked)?;
    header.check_width(1)?;
    header.check_params(&[])?;
    header.check_no_scheme()?;
    let (cells, hashes) = (header.identity.cells, header.identity.hashes);
    let field = |field, value, rule| Err(DecodeError::Field { field, value, rule });
    if !cells.is_multiple_of(BLOCK_BITS) {
        return field("cells", cells, "blocks have 512");
    }
    if !(1..=MAX_BLOCK_HASHES).contains(&hashes) {
        return field("hashes", hashes.into(), "a block takes 1 to 16");
    }
    header.check_payload(cells / 8)?;
    Ok((header.hasher(options)?, header.about()))
}

impl format::Restore for BlockedBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, about) = restore(header, options)?;
        let blocks = Blocks::empty(header.identity.cells, header.identity.hashes)?;
        Ok(Self { hasher, blocks, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        alloc::vec![self.blocks.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        Ok(())
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for BlockedBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, about) = restore(header, options)?;
        let (needed, found) = (header.payload_len, payload.as_ref().len() as u64);
        let bits = Bits::borrowed(payload, header.identity.cells);
        let bits = bits.ok_or(DecodeError::Truncated { needed, found })?;
        Ok(Self { hasher, blocks: Blocks::new(bits, header.identity.hashes), about })
    }
}

format::stored_methods!(BlockedBloom<M> where M: Memory);
format::read_methods!(BlockedBloom);
format::serde_impls!([M: Memory] BlockedBloom<M>, [] BlockedBloom);

const TOO_LOW: &str = "a blocked filter cannot have a false-positive rate this low: the kind bloom can";

impl FromSpec for BlockedBloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::blocked_design(goal.need, goal.items, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let shape = Builder::<BlockedBloom> { request: Request::of(spec, 1.0), options: () }.shape();
        let bloom = || Bloom::<AnyScheme>::fill_in(&mut spec.clone()).is_ok();
        let shape = match shape {
            Err(SizeError::TooManyCells { .. }) if bloom() => return Err(SizeError::Conflict(TOO_LOW)),
            shape => shape?,
        };
        spec.fill_shape(Param::Bits, shape);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let Shape { cells, hashes } = spec.shape(Param::Bits);
        let rate = |items| blocked::fpp(cells / blocked::BLOCK_BITS, items, hashes);
        Ok(Measure::as_stored(bit_bytes(cells), 0, spec.rate(rate)))
    }
    fn bound(spec: &Spec, _: f64, confidence: f64) -> Result<f64, SizeError> {
        let Shape { cells, hashes } = spec.shape(Param::Bits);
        Ok(sizes::blocked_bound(cells / blocked::BLOCK_BITS, spec.planned_items(), hashes, confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<BlockedBloom> { request: Request::of(spec, 1.0), options: () }.build()
    }
}
