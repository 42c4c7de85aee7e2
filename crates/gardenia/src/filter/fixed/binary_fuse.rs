//! Binary fuse filter: a set that is built once, in an eighth more bits than no filter can do
//! without.
//!
//! A key has k = 3 (or 4) cells, one in each of k neighbouring segments of the table, and a
//! fingerprint of w bits. The table is solved for all keys at once, such that the cells of each
//! key, one exclusive or the other, make its fingerprint. An absent key's cells make any word, its
//! fingerprint among them with probability 2^−w. A key is three reads that do not wait for each
//! other, whether it is in or not.
//!
//! Source: Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022).

use super::builder::threads;
use super::digests::{Entries, Hashing, Keys, digests_of, try_on, try_seeds};
use super::fuse::{Cell, Layout, Peeled, Picked, build};
use crate::cells::{Bytes, Memory, Owned};
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, ForRate, Threaded};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::filter_impl;
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{self, Bools, Given, Sink, Source, ahead, with_best};
use crate::spec::{FromSpec, Measure, Param, Spec, Watch};
use crate::theory::binary_fuse::{self, FuseShape};
use crate::theory::bloom::Estimate;
use crate::{BuildError, DecodeError, EncodeError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A static set, built from all its keys at once, with a false-positive rate of 2⁻⁸, 2⁻¹⁶ or 2⁻³²
/// in 9, 18 or 36 bits per key.
///
/// ```
/// use gardenia::BinaryFuse;
/// let flowers = ["rose", "tulip", "rose"]; // a key counts once
/// let filter = BinaryFuse::builder().fingerprint(16).build_from(&flowers)?;
/// assert!(filter.contains("rose") && filter.contains("tulip") && !filter.contains("thistle"));
/// assert_eq!((filter.items(), filter.fpp() < 1.6e-5), (2, true));
/// # Ok::<(), gardenia::BuildError>(())
/// ```
///
/// Keys cannot be added,
///
/// ```compile_fail,E0599
/// let mut filter = gardenia::BinaryFuse::new(&["rose"], 0.004).unwrap();
/// filter.insert("tulip");
/// ```
///
/// nor removed:
///
/// ```compile_fail,E0599
/// let mut filter = gardenia::BinaryFuse::new(&["rose"], 0.004).unwrap();
/// filter.remove("rose");
/// ```
#[derive(Clone)]
pub struct BinaryFuse<M = Owned> {
    hasher: KeyHasher,
    layout: Layout,
    /// Bits per fingerprint: 8, 16 or 32.
    width: u32,
    /// Distinct keys. None at all are a case of its own: every word of the table stands for some
    /// keys.
    items: u64,
    /// Three cells per key of 8 bits, and not empty.
    plain: bool,
    /// Plain, and with the hasher that is taken unless another is asked for.
    usual: bool,
    memory: M,
    about: About,
}

#[derive(Clone, Debug)]
pub struct BinaryFuseOptions {
    arity: u32,
    width: Option<u32>,
}

impl Built for BinaryFuse {
    type Options = BinaryFuseOptions;
}
impl ForRate for BinaryFuse {}
impl Threaded for BinaryFuse {}

impl Builder<BinaryFuse> {
    /// Bits per fingerprint: 8 (unless said), 16 or 32.
    pub fn fingerprint(mut self, bits: u32) -> Self {
        self.options.width = Some(bits);
        self
    }

    /// Cells per key: 3 (unless said), or 4, which makes the filter 4 % smaller and a query a third
    /// longer.
    pub fn arity(mut self, arity: u32) -> Self {
        self.options.arity = arity;
        self
    }

    /// Bits per fingerprint that these choices come to.
    pub fn width(&self) -> Result<u32, SizeError> {
        match (self.options.width, self.request.fpp) {
            (None, None) => Ok(8),
            (Some(width @ (8 | 16 | 32)), None) => Ok(width),
            (Some(_), None) => Err(SizeError::Conflict("fingerprints have 8, 16 or 32 bits")),
            (None, Some(fpp)) => binary_fuse::width(0, fpp),
            (Some(_), Some(_)) => Err(SizeError::Conflict("the fingerprint fixes the rate: leave out fpp")),
        }
    }

    /// The table for `items` distinct keys, before any memory is allocated.
    pub fn shape(&self, items: u64) -> Result<FuseShape, SizeError> {
        binary_fuse::shape(items, self.options.arity)
    }

    /// The filter of these keys. Duplicates count once, and the order does not matter.
    pub fn build_from<K: Key + Sync>(self, keys: &[K]) -> Result<BinaryFuse, BuildError> {
        let (width, hasher, threads) = (self.width()?, self.request.hasher.clone(), self.request.threads());
        let peeled = match self.attempt(&Hashing { hasher: hasher.clone(), keys }, 0)? {
            Some(peeled) => peeled,
            None => {
                let digests = digests_of(&hasher, keys, threads)?;
                try_on(Entries::set(&digests), |entries, attempt| self.attempt(&entries, attempt))?
            }
        };
        let filter = self.finish(peeled, width)?;
        filter.about().took::<K>();
        Ok(filter)
    }

    /// As [`build_from`](Self::build_from), from digests made by the same hasher.
    pub fn build_from_digests(self, digests: &[Digest]) -> Result<BinaryFuse, BuildError> {
        let width = self.width()?;
        let peeled = try_seeds(Entries::set(digests), |entries, attempt| self.attempt(&entries, attempt))?;
        self.finish(peeled, width)
    }

    fn attempt(&self, keys: &impl Keys<1>, attempt: u32) -> Result<Option<Peeled<1>>, SizeError> {
        build(Layout::sized(self.shape(keys.len() as u64)?, attempt)?, keys, self.request.threads())
    }

    fn finish(self, peeled: Peeled<1>, width: u32) -> Result<BinaryFuse, BuildError> {
        let (items, threads) = (peeled.len() as u64, self.request.threads());
        let memory = match width {
            8 => words(&table(&peeled, threads, |word| word as u8)?, |cell| cell.into()),
            16 => words(&table(&peeled, threads, |word| word as u16)?, |cell| cell.into()),
            _ => words(&table(&peeled, threads, |word| word as u32)?, |cell| cell.into()),
        }?;
        let about = About::planned(items, binary_fuse::fpp(items, width));
        Ok(Parts { hasher: self.request.hasher, layout: peeled.layout(), width, items, about }.with(memory))
    }
}

/// The fingerprints of all keys, solved.
fn table<C: Cell>(
    peeled: &Peeled<1>,
    threads: usize,
    cut: impl Fn(u64) -> C + Sync,
) -> Result<Vec<C>, SizeError> {
    let layout = peeled.layout();
    peeled.table(threads, |key: Picked| cut(layout.low(key.digest)))
}

/// Cells as words, the first lowest.
fn words<C: Copy>(cells: &[C], wide: impl Fn(C) -> u64) -> Result<Owned, SizeError> {
    let (per_word, width) = (8 / size_of::<C>(), 8 * size_of::<C>());
    let mut words = Owned::zeroed(cells.len().div_ceil(per_word))?;
    for (word, cells) in words.as_mut_slice().iter_mut().zip(cells.chunks(per_word)) {
        *word = cells
            .iter()
            .rev()
            .fold(0, |word, cell| word.checked_shl(width as u32).unwrap_or(0) | wide(*cell));
    }
    Ok(words)
}

/// All of a filter but its cells.
struct Parts {
    hasher: KeyHasher,
    layout: Layout,
    width: u32,
    items: u64,
    about: About,
}

impl Parts {
    fn with<M>(self, memory: M) -> BinaryFuse<M> {
        let Self { hasher, layout, width, items, about } = self;
        let plain = layout.shape().arity == 3 && width == 8 && items > 0;
        let usual = plain && hasher == KeyHasher::default();
        BinaryFuse { hasher, layout, width, items, plain, usual, memory, about }
    }
}

impl BinaryFuse {
    /// The filter of these keys at a false-positive probability of at most `fpp`. Fingerprints have
    /// 8, 16 or 32 bits, so that it is in truth 1 in 2⁸, 2¹⁶ or 2³².
    pub fn new<K: Key + Sync>(keys: &[K], fpp: f64) -> Result<Self, BuildError> {
        Self::builder().fpp(fpp).build_from(keys)
    }

    /// A builder, to choose fingerprint or rate, arity, threads, seed, secret.
    ///
    /// ```
    /// use gardenia::BinaryFuse;
    /// let keys: Vec<u64> = (0..100_000).collect();
    /// let small = BinaryFuse::builder().fpp(0.01).arity(4).threads(2).build_from(&keys)?;
    /// assert!(small.contains_many(&keys).iter().all(|&found| found));
    /// assert!(small.memory_bytes() as f64 * 8.0 < 9.1 * 100_000.0); // 8 would be the least
    /// # Ok::<(), gardenia::BuildError>(())
    /// ```
    pub fn builder() -> Builder<BinaryFuse> {
        Builder::new(BinaryFuseOptions { arity: 3, width: None })
    }
}

impl<M: Memory> BinaryFuse<M> {
    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        Bools::collect(keys.len(), |answers| self.contains_each(simd::Keys::new(&self.hasher, keys), answers))
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.contains_each(Given(digests), &mut Bools::of(digests, out));
    }

    /// Whether `key` may be present: never false for a key that is.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        // The usual hasher by name: the compiler folds its seed into constants.
        if self.usual {
            self.holds::<3, 1>(KeyHasher::default().digest_key(&key))
        } else {
            self.contains_unusual(&key)
        }
    }

    #[inline(never)]
    fn contains_unusual<K: Key>(&self, key: &K) -> bool {
        self.contains_digest(self.hasher.digest_key(key))
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        // Only the plainest filter is inlined: it is short then, and more queries are under way at a time.
        if self.plain { self.holds::<3, 1>(digest) } else { self.holds_any(digest) }
    }

    #[inline(never)]
    fn holds_any(&self, digest: Digest) -> bool {
        match (self.arity(), self.width) {
            _ if self.items == 0 => false,
            (3, 8) => self.holds::<3, 1>(digest),
            (3, 16) => self.holds::<3, 2>(digest),
            (3, _) => self.holds::<3, 4>(digest),
            (_, 8) => self.holds::<4, 1>(digest),
            (_, 16) => self.holds::<4, 2>(digest),
            (_, _) => self.holds::<4, 4>(digest),
        }
    }

    /// [`contains_digest`](Self::contains_digest) with K cells of B bytes per key.
    #[inline(always)]
    fn holds<const K: usize, const B: usize>(&self, digest: Digest) -> bool {
        let sum = match self.memory.bytes() {
            Some(bytes) => self.layout.sum::<K, B>(bytes, digest),
            None => self.layout.spots::<K>(digest).into_iter().fold(0, |sum, at| sum ^ self.cell(at)),
        };
        (self.layout.low(digest) as u32 ^ sum) << (32 - 8 * B) == 0
    }

    /// Cell `at`.
    fn cell(&self, at: usize) -> u32 {
        let per_word = 64 / self.width as usize;
        let word = self.memory.load(at / per_word) >> (at % per_word * self.width as usize);
        word as u32 & (u32::MAX >> (32 - self.width))
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        match (self.arity(), self.width) {
            _ if self.items == 0 => digests.each::<{ ahead::LINES }>(false, |_| (), |_| false, answers),
            (3, 8) => self.hold::<3, 1>(digests, answers),
            (3, 16) => self.hold::<3, 2>(digests, answers),
            (3, _) => self.hold::<3, 4>(digests, answers),
            (_, 8) => self.hold::<4, 1>(digests, answers),
            (_, 16) => self.hold::<4, 2>(digests, answers),
            (_, _) => self.hold::<4, 4>(digests, answers),
        }
    }

    fn hold<const K: usize, const B: usize>(&self, digests: impl Source, answers: &mut impl Sink) {
        let fetch = |digest| {
            for at in self.layout.spots::<K>(digest) {
                self.memory.prefetch(at * B / 8);
            }
        };
        let far = ahead::is_far_if_short(self.memory_bytes() / 8);
        with_best(
            #[inline(always)]
            || digests.each::<{ ahead::LINES }>(far, fetch, |digest| self.holds::<K, B>(digest), answers),
        );
    }

    filter_facts!();

    /// Distinct keys.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Number of cells.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.layout.cells()
    }

    /// Bits per cell, which are those of a fingerprint.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Cells per key: 3 or 4.
    #[must_use]
    pub fn arity(&self) -> u32 {
        self.layout.shape().arity
    }

    /// Which of the numbered attempts to build it succeeded.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.layout.attempt()
    }

    /// The table's segments, and how keys begin in them.
    #[must_use]
    pub fn shape(&self) -> FuseShape {
        self.layout.shape()
    }

    /// The share of cells that are not zero.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let set = |at: &u64| self.cell(*at as usize) != 0;
        (0..self.cells()).filter(set).count() as f64 / self.cells() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The false-positive probability: 2^−w.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        binary_fuse::fpp(self.items, self.width)
    }

    /// The number of distinct keys in the filter, which is known exactly.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.items as f64, std_error: 0.0 }
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.memory.words() * 8
    }

    /// Hasher and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::BinaryFuse,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: self.arity(),
            cells: self.cells(),
            width: self.width,
        }
    }
}

impl<M: Memory> fmt::Debug for BinaryFuse<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinaryFuse")
            .field("hasher", &self.hasher)
            .field("items", &self.items)
            .field("width", &self.width)
            .field("shape", &self.shape())
            .finish()
    }
}

/// Equal in identity, layout and cells: the same answer to every key.
impl<M: Memory, N: Memory> PartialEq<BinaryFuse<N>> for BinaryFuse<M> {
    fn eq(&self, other: &BinaryFuse<N>) -> bool {
        self.identity() == other.identity()
            && (self.layout, self.items) == (other.layout, other.items)
            && (0..self.memory.words()).all(|at| self.memory.load(at) == other.memory.load(at))
    }
}

impl<M: Memory> Explain for BinaryFuse<M> {
    fn tables(&self) -> Vec<CellTable> {
        vec![CellTable::new("cells", Holds::Sums, self.layout.cells(), self.width)]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        BinaryFuse::cell(self, at as usize).into()
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        if self.items > 0 {
            seen.fingerprint = Some(self.layout.low(digest) & u64::MAX >> (64 - self.width));
            seen.add(0, 0, self.layout.all_spots(digest));
        }
    }
}

filter_impl!([M: Memory] BinaryFuse<M>);

impl<M: Memory> Stored for BinaryFuse<M> {
    fn options(&self, spec: &mut Spec) {
        spec.forget(&[Param::Fpp]);
        spec.set_whole(Param::Fingerprint, self.width);
        spec.set_whole(Param::Arity, self.arity());
    }
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items: self.items, params: self.layout.params().to_vec(), ..header })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![&self.memory]
    }
}

impl Parts {
    /// The parts of a stored filter, checked.
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        header.check_kind(Kind::BinaryFuse)?;
        header.check_no_scheme()?;
        let (width, cells) = (header.identity.width, header.identity.cells);
        if !matches!(width, 8 | 16 | 32) {
            let rule = "fingerprints have 8, 16 or 32 bits";
            return Err(DecodeError::Field { field: "cell width", value: width.into(), rule });
        }
        let layout = Layout::restore(header, &header.params)?;
        header.check_payload((cells * u64::from(width)).div_ceil(64) * 8)?;
        let (hasher, items, about) = (header.hasher(options)?, header.items, header.about());
        Ok(Self { hasher, layout, width, items, about })
    }
}

impl format::Restore for BinaryFuse {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let parts = Parts::restore(header, options)?;
        Ok(parts.with(Owned::zeroed((header.payload_len / 8) as usize)?))
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.memory.as_mut_slice()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_tail()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for BinaryFuse<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let parts = Parts::restore(header, options)?;
        let (needed, found) = (header.payload_len, payload.as_ref().len() as u64);
        if needed != found {
            return Err(DecodeError::Truncated { needed, found });
        }
        let filter = parts.with(Bytes(payload));
        filter.check_tail()?;
        Ok(filter)
    }
}

impl<M: Memory> BinaryFuse<M> {
    /// Nothing is set past the last cell.
    fn check_tail(&self) -> Result<(), DecodeError> {
        let used = self.cells() * u64::from(self.width) % 64;
        let clear = used == 0 || self.memory.load(self.memory.words() - 1) >> used == 0;
        clear.then_some(()).ok_or(DecodeError::Damaged("bits are set past the last cell"))
    }
}

format::stored_methods!(BinaryFuse<M> where M: Memory);
format::read_methods!(BinaryFuse);
format::serde_impls!([M: Memory] BinaryFuse<M>, [] BinaryFuse);

impl Builder<BinaryFuse> {
    fn of(spec: &Spec) -> Self {
        let options = BinaryFuseOptions {
            arity: spec.small(Param::Arity).unwrap_or(3),
            width: spec.small(Param::Fingerprint),
        };
        Self { request: Request { fpp: spec.real(Param::Fpp), ..Request::hashed(spec) }, options }
    }
}

impl FromSpec for BinaryFuse {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || sizes::fuse_design(goal.items, goal.fpp, goal.within))
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<BinaryFuse>::of(spec);
        spec.set_whole(Param::Fingerprint, builder.width()?);
        spec.set_whole(Param::Arity, builder.options.arity);
        spec.forget(&[Param::Fpp]);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let (builder, items) = (Builder::<BinaryFuse>::of(spec), spec.expected_items()?);
        let (cells, width) = (builder.shape(items)?.cells(), builder.width()?);
        let bytes = cells.saturating_mul(width.into()).div_ceil(64) * 8;
        Ok(Measure::as_stored(bytes, 2, Some(binary_fuse::fpp(items, width))))
    }
    /// Every table of a shape has the same rate.
    fn bound(_: &Spec, fpp: f64, _: f64) -> Result<f64, SizeError> {
        Ok(fpp)
    }
    fn from_digests(spec: &Spec, digests: Vec<Digest>, _: &mut Watch<'_>) -> Result<Self, BuildError> {
        Builder::<BinaryFuse>::of(spec).threads(threads()).build_from_digests(&digests)
    }
}
