//! The split-block Bloom filter: half a cache line per key, and the filter of Parquet files.
//!
//! A key goes to one block of 256 bits and sets one bit in each of its eight 32-bit words. One
//! vector register holds a block, and one multiplication finds all eight bits, so that no filter
//! answers a single call sooner. The price is space: small blocks fill less alike than large ones,
//! and k is always eight. 1 % takes 10.5 bits per key (a blocked filter 9.9), 0.1 % 16.9 (15.6).
//!
//! The blocks are bit for bit those of Parquet, Arrow, Impala and Milvus. Under hasher 4, XXH64,
//! with seed 0, it is the very filter that these write for the same bytes of a key.
//!
//! Source: Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007);
//! Apple, "Split block Bloom filters" (2021); the layout is that of Apache Impala (2016) and of the
//! Parquet format.

#[cfg(feature = "std")]
use super::radix;
use crate::cells::{Bits, Bytes, Memory, Owned, Shared};
use crate::explain::{CellTable, Explain, Seen, bit};
use crate::filter::builder::{Built, ForItems, ForRate, InBits};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{collect_impl, filter_impl, insert_impl};
use crate::filter::{About, Atomic, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Level, Mask, Sink, Source, SplitBlocks};
use crate::spec::{FromSpec, Measure, Param, Spec, bit_bytes};
use crate::theory::bloom::{Estimate, Shape};
use crate::theory::split_block::{self, BLOCK_BITS, HASHES};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec::Vec;
use core::fmt;

/// The filter of Parquet files, and the fastest for single queries.
///
/// ```
/// use gardenia::SplitBlockBloom;
/// let mut seen = SplitBlockBloom::new(1_000_000, 0.01)?;
/// assert!(seen.insert("rose"));
/// assert!(seen.contains("rose") && !seen.contains("thistle"));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// A filter that Parquet, Arrow or Impala wrote is its bytes and the hash function XXH64:
///
/// ```
/// use gardenia::{KeyHasher, SplitBlockBloom};
/// // The 32 bytes that Parquet writes for a column of the numbers 1 to 5.
/// let mut column = SplitBlockBloom::builder().bits(256).hasher(KeyHasher::xxh64(0)).build()?;
/// column.extend(1..=5_i64);
/// let read = SplitBlockBloom::from_bitset(&column.to_bitset(), KeyHasher::xxh64(0))?;
/// assert!(read == column && read.contains(3_i64));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct SplitBlockBloom<M = Owned> {
    blocks: SplitBlocks<M>,
    hasher: KeyHasher,
    about: About,
}

/// A [`SplitBlockBloom`] that many threads fill and query at once: `insert` needs only `&self`. It
/// holds an extra byte for every second block, at most 64 KiB.
///
/// ```
/// use gardenia::AtomicSplitBlockBloom;
/// let seen = AtomicSplitBlockBloom::new(1_000, 0.01)?;
/// std::thread::scope(|threads| {
///     for start in [0u32, 500] {
///         let seen = &seen;
///         threads.spawn(move || (start..start + 500).for_each(|key| _ = seen.insert(key)));
///     }
/// });
/// assert!((0..1000u32).all(|key| seen.contains(key)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub type AtomicSplitBlockBloom = Atomic<SplitBlockBloom<Shared>>;

impl Built for SplitBlockBloom {
    type Options = ();
}
impl ForItems for SplitBlockBloom {}
impl ForRate for SplitBlockBloom {}
impl InBits for SplitBlockBloom {}

impl Builder<SplitBlockBloom> {
    /// The filter's shape, before any memory is allocated. Its hashes are always eight.
    pub fn shape(&self) -> Result<Shape, SizeError> {
        // Bits alone say all: eight hashes need not be asked for.
        let hashes = self.request.cells.filter(|_| self.request.fpp.is_none()).map(|_| HASHES);
        Request { hashes, ..self.request.clone() }.shape(
            HASHES,
            split_block::shape,
            |_, _| HASHES,
            |shape| shape.cells.next_multiple_of(BLOCK_BITS),
        )
    }

    /// The filter.
    pub fn build(self) -> Result<SplitBlockBloom, SizeError> {
        let Shape { cells, .. } = self.shape()?;
        let about = self.request.about(|items| split_block::fpp(cells / BLOCK_BITS, items));
        Ok(SplitBlockBloom { blocks: SplitBlocks::empty(cells)?, hasher: self.request.hasher, about })
    }
}

impl SplitBlockBloom {
    /// A filter for `items` keys at a false-positive probability of at most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose size, seed, secret, or hash function.
    ///
    /// ```
    /// use gardenia::{KeyHasher, SplitBlockBloom};
    /// let filter = SplitBlockBloom::builder().bits(100_000).hasher(KeyHasher::xxh64(0)).build()?;
    /// assert_eq!(filter.bits(), 100_096); // whole blocks of 256 bits
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<SplitBlockBloom> {
        Builder::new(())
    }

    /// The filter with these blocks: the bit set of a Parquet filter, without its header.
    ///
    /// # Errors
    ///
    /// If the bytes are not one or more whole blocks of 32, or memory cannot be allocated.
    ///
    /// ```
    /// use gardenia::{KeyHasher, SplitBlockBloom};
    /// assert!(SplitBlockBloom::from_bitset(&[0; 33], KeyHasher::xxh64(0)).is_err());
    /// ```
    pub fn from_bitset(bytes: &[u8], hasher: KeyHasher) -> Result<Self, SizeError> {
        if !bytes.len().is_multiple_of(32) {
            return Err(SizeError::Conflict("a bit set is whole blocks of 32 bytes"));
        }
        let mut blocks = SplitBlocks::empty(bytes.len() as u64 * 8)?;
        for (word, bytes) in blocks.words_mut().iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(Self { blocks, hasher, about: About::default() })
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

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.about.forget();
    }

    /// Adds the keys of `other`, bit for bit as if they had been inserted here.
    pub fn union_with(&mut self, other: &SplitBlockBloom<impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        self.blocks.combine(&other.blocks, |a, b| a | b);
        self.about.took_all(&other.about);
        Ok(())
    }

    /// Keeps the bits that `other` has, too: common keys stay found, and the false-positive rate is
    /// above that of a filter built from the common keys, as with
    /// [`Bloom::intersect_with`](crate::Bloom::intersect_with).
    pub fn intersect_with(&mut self, other: &SplitBlockBloom<impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        self.blocks.combine(&other.blocks, |a, b| a & b);
        Ok(())
    }

    /// The filter of the same keys at half the size: exactly the one that would have been built
    /// with half as many blocks. An odd number of blocks cannot be halved.
    ///
    /// ```
    /// use gardenia::SplitBlockBloom;
    /// let mut large = SplitBlockBloom::builder().bits(4 * 256).build()?;
    /// let mut small = SplitBlockBloom::builder().bits(2 * 256).build()?;
    /// large.extend(0..50);
    /// small.extend(0..50);
    /// assert_eq!(large.fold()?, small);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn fold(&self) -> Result<Self, SizeError> {
        if !self.blocks().is_multiple_of(2) {
            return Err(SizeError::Conflict("only an even number of blocks can be folded"));
        }
        // ⌊h·B/2 / 2³²⌋ is half of ⌊h·B / 2³²⌋: neighbours share a block.
        let mut blocks = SplitBlocks::empty(self.bits() / 2)?;
        let pairs = self.blocks.bits().memory().as_slice().as_chunks::<8>().0;
        for (folded, pair) in blocks.words_mut().as_chunks_mut::<4>().0.iter_mut().zip(pairs) {
            *folded = core::array::from_fn(|word| pair[word] | pair[word + 4]);
        }
        Ok(Self { blocks, hasher: self.hasher.clone(), about: self.about.clone() })
    }

    /// The same filter for many threads; nothing is copied.
    #[must_use]
    pub fn into_shared(self) -> AtomicSplitBlockBloom {
        let Self { blocks, hasher, about } = self;
        Atomic(SplitBlockBloom { blocks: blocks.into_shared(), hasher, about })
    }
}

impl AtomicSplitBlockBloom {
    /// As [`SplitBlockBloom::new`], to be shared between threads.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        SplitBlockBloom::new(items, fpp).map(SplitBlockBloom::into_shared)
    }

    /// Loads a file of a [`SplitBlockBloom`] into memory to be shared between threads, with every
    /// checksum verified.
    #[cfg(feature = "mmap")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, DecodeError> {
        SplitBlockBloom::load(path).map(SplitBlockBloom::into_shared)
    }

    /// Adds `key`; true if it was certainly absent before. Of threads that add one new key at once,
    /// exactly one gets true.
    ///
    /// A thread that adds a new key holds the latch of its block for a dozen instructions; known
    /// keys and queries need none. Other threads see the key once they synchronise with this one,
    /// as with any relaxed store.
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
    pub fn into_owned(self) -> SplitBlockBloom {
        let SplitBlockBloom { blocks, hasher, about } = self.0;
        SplitBlockBloom { blocks: blocks.into_owned(), hasher, about }
    }
}

impl<M: Memory> SplitBlockBloom<M> {
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
    /// let mut seen = gardenia::SplitBlockBloom::new(100, 0.01)?;
    /// let digest = seen.hasher().digest_key("rose");
    /// seen.prefetch(digest);
    /// assert!(!seen.contains_digest(digest));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[inline]
    pub fn prefetch(&self, digest: Digest) {
        self.blocks.prefetch(digest);
    }

    /// Answers for all keys in order, with up to `threads` threads.
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
    /// let mut seen = gardenia::SplitBlockBloom::new(100, 1e-6)?;
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
    /// use gardenia::SplitBlockBloom;
    /// use gardenia::simd::Level;
    /// let mut plain = SplitBlockBloom::new(100, 0.01)?.with_level(Level::Portable);
    /// let mut best = SplitBlockBloom::new(100, 0.01)?;
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

    /// The blocks as bytes: the bit set of a Parquet filter, without its header. Its readers expect
    /// XXH64 with seed 0.
    #[must_use]
    pub fn to_bitset(&self) -> Vec<u8> {
        let mut bytes = alloc::vec![0; self.memory_bytes()];
        self.blocks.bits().memory().copy_le(0, &mut bytes);
        bytes
    }

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

    /// Bytes of memory that the bits occupy.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.blocks.bits().memory().words() * 8
    }

    /// Number of blocks of 256 bits.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks.len()
    }

    /// Bits set per key, k: always eight.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        HASHES
    }

    /// The false-positive probability of the filter as it is now: that of an absent key whose bits
    /// are random, from the words of all blocks.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        // A block covers such a key with the product of its words' fills.
        let ones = |word: u64| u64::from((word as u32).count_ones()) * u64::from((word >> 32).count_ones());
        let memory = self.blocks.bits().memory();
        let covered = |block| memory.block::<4>(block).into_iter().map(ones).product::<u64>();
        let sum: u128 = (0..self.blocks() as usize).map(|block| u128::from(covered(block))).sum();
        sum as f64 / (self.blocks() as f64 * libm::exp2(40.0))
    }

    /// How many distinct keys it holds, estimated from the fill, with its standard error.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        split_block::estimate_items(self.blocks(), self.blocks.bits().count_ones())
    }

    /// Hasher and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::SplitBlock,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: HASHES,
            cells: self.bits(),
            width: 1,
        }
    }
}

impl<M: Memory> fmt::Debug for SplitBlockBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hasher, bits) = (&self.hasher, self.blocks.bits());
        f.debug_struct("SplitBlockBloom").field("hasher", hasher).field("bits", bits).finish()
    }
}

/// Equal in identity and bits: the same answer to every key. What they were planned for does not
/// count.
impl<M: Memory, N: Memory> PartialEq<SplitBlockBloom<N>> for SplitBlockBloom<M> {
    fn eq(&self, other: &SplitBlockBloom<N>) -> bool {
        self.identity() == other.identity() && self.blocks.bits() == other.blocks.bits()
    }
}

impl<M: Memory> Explain for SplitBlockBloom<M> {
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

filter_impl!([M: Memory] SplitBlockBloom<M>);
insert_impl!([] SplitBlockBloom);
collect_impl!(SplitBlockBloom);

impl Merge for SplitBlockBloom {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.union_with(other)
    }
}

impl<M: Memory> Stored for SplitBlockBloom<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        alloc::vec![self.blocks.bits().memory()]
    }
}

/// The parts of a stored filter other than its bits, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, About), DecodeError> {
    header.check_kind(Kind::SplitBlock)?;
    header.check_width(1)?;
    header.check_params(&[])?;
    header.check_no_scheme()?;
    let (cells, hashes) = (header.identity.cells, header.identity.hashes);
    let field = |field, value, rule| Err(DecodeError::Field { field, value, rule });
    if !cells.is_multiple_of(BLOCK_BITS) {
        return field("cells", cells, "blocks have 256");
    }
    if hashes != HASHES {
        return field("hashes", hashes.into(), "a split block takes 8");
    }
    header.check_payload(cells / 8)?;
    Ok((header.hasher(options)?, header.about()))
}

impl format::Restore for SplitBlockBloom {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, about) = restore(header, options)?;
        Ok(Self { blocks: SplitBlocks::empty(header.identity.cells)?, hasher, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        alloc::vec![self.blocks.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        Ok(())
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for SplitBlockBloom<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, about) = restore(header, options)?;
        let (needed, found) = (header.payload_len, payload.as_ref().len() as u64);
        let bits = Bits::borrowed(payload, header.identity.cells);
        let bits = bits.ok_or(DecodeError::Truncated { needed, found })?;
        Ok(Self { blocks: SplitBlocks::new(bits), hasher, about })
    }
}

format::stored_methods!(SplitBlockBloom<M> where M: Memory);
format::read_methods!(SplitBlockBloom);
format::serde_impls!([M: Memory] SplitBlockBloom<M>, [] SplitBlockBloom);

impl FromSpec for SplitBlockBloom {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::split_block_design(goal.need, goal.items, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<SplitBlockBloom> { request: Request::of(spec, 1.0), options: () };
        spec.fill_shape(Param::Bits, builder.shape()?);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let cells = spec.shape(Param::Bits).cells;
        let rate = |items| split_block::fpp(cells / BLOCK_BITS, items);
        Ok(Measure::as_stored(bit_bytes(cells), 0, spec.rate(rate)))
    }
    fn bound(spec: &Spec, _: f64, confidence: f64) -> Result<f64, SizeError> {
        let blocks = spec.shape(Param::Bits).cells / BLOCK_BITS;
        Ok(sizes::split_block_bound(blocks, spec.planned_items(), confidence))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<SplitBlockBloom> { request: Request::of(spec, 1.0), options: () }.build()
    }
}
