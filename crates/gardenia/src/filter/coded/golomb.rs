//! Golomb-coded set: a static set in close to the fewest bits.
//!
//! Each of n keys becomes a number below n/fpp; the numbers are sorted, and the gaps between them
//! coded. The numbers are cut into runs of equal range, whose codes start anew (gaps are
//! memoryless, so that this costs nothing), and an index tells where each run's code lies: a query
//! decodes one run, half of it on average. The one subtle rule: the range is a multiple of the
//! number of runs, so that run and place follow from one digest by two multiplications, and agree.
//!
//! Sources: Golomb, "Run-length encodings" (1966); Putze, Sanders and Singler, "Cache-, hash- and
//! space-efficient Bloom filters" (2007), section 4, for sets of hash values.

use super::gaps::{Code, Codes, MAX_DIVISOR, Writer, code_words};
use crate::BuildError;
use crate::cells::{Bytes, Memory, Owned};
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, ForRate};
use crate::filter::request::filter_facts;
use crate::filter::verbs::filter_impl;
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::MAX_CELLS;
use crate::plan::{Figures, Goal, sizes};
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead};
use crate::spec::{DEFAULT_FPP, FromSpec, Measure, Param, Spec, Value, Watch};
use crate::theory::bloom::Estimate;
use crate::theory::golomb;
use crate::{DecodeError, EncodeError, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The largest range of numbers.
const MAX_RANGE: u64 = 1 << 62;
/// Bits of code that a run has unless asked for otherwise: the index then takes 0.8 %.
const RUN_BITS: f64 = 2400.0;
/// Runs whose places are stored relative to one word.
const GROUP: u64 = 16;
/// A static set in about log₂(1/fpp) + 1.5 bits per key: two thirds of a Bloom filter, with slower
/// queries.
///
/// ```
/// use gardenia::GolombSet;
/// let filter = GolombSet::builder().fpp(0.001).build_from(&["rose", "tulip", "rose"])?;
/// assert!(filter.contains("rose") && filter.contains("tulip") && !filter.contains("thistle"));
/// assert_eq!(filter.items(), 2);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// It is built of all its keys at once. Nothing can be put in or removed:
///
/// ```compile_fail
/// let mut filter = gardenia::GolombSet::builder().fpp(0.01).build_from(&["rose"]).unwrap();
/// filter.insert("tulip");
/// ```
/// ```compile_fail
/// let mut filter = gardenia::GolombSet::builder().fpp(0.01).build_from(&["rose"]).unwrap();
/// filter.remove("rose");
/// ```
#[derive(Clone)]
pub struct GolombSet<M = Owned> {
    hasher: KeyHasher,
    shape: GolombShape,
    /// The index, then the codes.
    words: M,
    about: About,
}

/// All that fixes the meaning of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GolombShape {
    /// Different digests, n.
    items: u64,
    /// Different numbers.
    values: u64,
    /// Runs, 1 to 2⁴⁰.
    runs: u64,
    /// Numbers that fall into one run; runs·span is at most 2⁶².
    span: u64,
    /// Of the code.
    divisor: u64,
    /// Bits of code.
    bits: u64,
    /// Bits of an entry of the index: 16, 32 or 64.
    width: u32,
}

/// ⌊digest·range / 2⁶⁴⌋.
#[inline(always)]
fn scale(digest: Digest, range: u64) -> u64 {
    ((u128::from(digest.0) * u128::from(range)) >> 64) as u64
}

impl GolombShape {
    /// The shape for `items` different digests, before they are coded.
    fn new(items: u64, fpp: f64, gaps_per_run: Option<u32>) -> Result<Self, SizeError> {
        if !(fpp > 0.0 && fpp < 1.0) {
            return Err(SizeError::Fpp(fpp));
        }
        let keys = items.max(1) as f64;
        let range = keys / fpp;
        if range > (MAX_RANGE / 2) as f64 {
            let floor = keys / (MAX_RANGE / 2) as f64;
            return Err(SizeError::FppBelowFloor { fpp, floor, items });
        }
        let gap = golomb::bits(1.0 / fpp, golomb::divisor(1.0 / fpp));
        let per_run = gaps_per_run.map_or(libm::floor(RUN_BITS / gap), f64::from).max(1.0);
        let runs = libm::ceil(keys / per_run).clamp(1.0, MAX_CELLS as f64) as u64;
        let span = libm::ceil(range / runs as f64).max(1.0) as u64;
        Ok(Self { items, values: 0, runs, span, divisor: 1, bits: 0, width: 16 })
    }

    /// Numbers that keys become.
    #[inline(always)]
    fn range(&self) -> u64 {
        self.runs * self.span
    }

    /// Words of a group in the index.
    #[inline(always)]
    fn group_words(&self) -> usize {
        1 + (GROUP as usize * self.width as usize) / 64
    }

    /// Words of the index.
    #[inline(always)]
    fn index_words(&self) -> usize {
        self.runs.div_ceil(GROUP) as usize * self.group_words()
    }

    /// The largest quotient that a gap in a run can have.
    #[inline(always)]
    fn most(&self) -> u64 {
        self.span / self.divisor
    }
}

#[derive(Clone, Debug, Default)]
pub struct GolombSetOptions {
    rice: bool,
    gaps_per_run: Option<u32>,
}

impl Built for GolombSet {
    type Options = GolombSetOptions;
}
impl ForRate for GolombSet {}

impl Builder<GolombSet> {
    /// Rice's code, whose divisor is a power of two: up to 0.1 bits longer per key, and a little
    /// faster.
    pub fn rice(mut self) -> Self {
        self.options.rice = true;
        self
    }

    /// Keys in a run, about: a query decodes half of one. Each run takes 20 bits in the index.
    /// By default the index takes 0.8 % (295 keys in a run at 1 %).
    pub fn gaps_per_run(mut self, gaps: u32) -> Self {
        self.options.gaps_per_run = Some(gaps);
        self
    }

    /// Bytes that a set of `items` distinct keys takes, about: the mean over all such sets, index
    /// included.
    ///
    /// ```
    /// let digests = (0..10_000).map(|i| gardenia::Digest(gardenia::Digest(7).word(i))).collect();
    /// let builder = gardenia::GolombSet::builder().fpp(0.01);
    /// let (about, set) = (builder.memory_bytes(10_000)?, builder.build_from_digests(digests)?);
    /// assert!((set.memory_bytes() as f64 / about as f64 - 1.0).abs() < 0.01);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn memory_bytes(&self, items: u64) -> Result<u64, SizeError> {
        let fpp = self.request.fpp.ok_or(SizeError::Conflict("a set of digests needs fpp"))?;
        let shape = GolombShape::new(items, fpp, self.options.gaps_per_run)?;
        let values = golomb::expected_values(items, shape.range());
        let mean = shape.range() as f64 / values.max(1.0);
        let divisor = if self.options.rice { golomb::rice_divisor(mean) } else { golomb::divisor(mean) };
        let words = libm::ceil(values * golomb::bits(mean, divisor) / 64.0) as u64;
        Ok((words + shape.index_words() as u64) * 8)
    }

    /// The set of these keys. They may repeat and come in any order; of no keys it is the set that
    /// contains nothing.
    pub fn build_from<K: Key>(self, keys: &[K]) -> Result<GolombSet, SizeError> {
        let mut digests = Vec::new();
        let failed = SizeError::Memory { bytes: (keys.len() as u64).saturating_mul(8) };
        digests.try_reserve_exact(keys.len()).map_err(|_| failed)?;
        digests.extend(keys.iter().map(|key| self.request.hasher.digest_key(key)));
        let set = self.build_from_digests(digests)?;
        set.about.took::<K>();
        Ok(set)
    }

    /// The set of the keys with these digests, which may repeat and come in any order.
    pub fn build_from_digests(self, mut digests: Vec<Digest>) -> Result<GolombSet, SizeError> {
        let fpp = self.request.fpp.ok_or(SizeError::Conflict("a set of digests needs fpp"))?;
        if self.options.gaps_per_run == Some(0) {
            return Err(SizeError::Conflict("a run needs at least 1 key"));
        }
        digests.sort_unstable();
        digests.dedup();
        let mut shape = GolombShape::new(digests.len() as u64, fpp, self.options.gaps_per_run)?;
        // Scaling keeps the order.
        let mut values = digests;
        let range = shape.range();
        values.iter_mut().for_each(|digest| *digest = Digest(scale(*digest, range)));
        values.dedup();
        shape.values = values.len() as u64;
        let mean = range as f64 / (shape.values as f64).max(1.0);
        let divisor = if self.options.rice { golomb::rice_divisor(mean) } else { golomb::divisor(mean) };
        shape.divisor = divisor.clamp(1, MAX_DIVISOR.min(range));
        let words = encode(&mut shape, &values)?;
        let about = About::planned(shape.items, fpp);
        Ok(GolombSet { hasher: self.request.hasher, shape, words, about })
    }
}

/// Index and codes of sorted, different numbers below the range.
fn encode(shape: &mut GolombShape, values: &[Digest]) -> Result<Owned, SizeError> {
    let code = Code::new(shape.divisor);
    let mut writer = Writer::default();
    let mut ends = Vec::new();
    let failed = SizeError::Memory { bytes: shape.runs.saturating_mul(8) };
    ends.try_reserve_exact(usize::try_from(shape.runs).unwrap_or(usize::MAX)).map_err(|_| failed)?;
    let mut rest = values;
    for run in 0..shape.runs {
        let mut least = run * shape.span;
        let end = least + shape.span;
        while let Some((value, later)) = rest.split_first().filter(|(value, _)| value.0 < end) {
            writer.gap(code, value.0 - least)?;
            least = value.0 + 1;
            rest = later;
        }
        ends.push(writer.len());
    }
    shape.bits = writer.len();
    let starts = |group: usize| if group == 0 { 0 } else { ends[group * GROUP as usize - 1] };
    let groups = || ends.chunks(GROUP as usize).enumerate();
    let longest = groups().map(|(group, ends)| ends[ends.len() - 1] - starts(group)).max().unwrap_or(0);
    shape.width = if longest >> 16 == 0 {
        16
    } else if longest >> 32 == 0 {
        32
    } else {
        64
    };
    let mut index = vec![0; shape.index_words()];
    let per_word = (64 / shape.width) as usize;
    for (words, (group, ends)) in index.chunks_mut(shape.group_words()).zip(groups()) {
        words[0] = starts(group);
        for (i, end) in ends.iter().enumerate() {
            words[1 + i / per_word] |= (end - starts(group)) << (i % per_word * shape.width as usize);
        }
    }
    writer.finish(&index)
}

impl GolombSet {
    /// The set of these keys at a false-positive probability of at most `fpp`.
    pub fn new<K: Key>(keys: &[K], fpp: f64) -> Result<Self, SizeError> {
        Self::builder().fpp(fpp).build_from(keys)
    }

    /// How sets are made: rate, code, hash function, and then the keys.
    ///
    /// ```
    /// use gardenia::{Digest, GolombSet};
    /// let digests: Vec<Digest> = (0..10_000).map(|i| Digest(Digest(7).word(i))).collect();
    /// let small = GolombSet::builder().fpp(0.01).build_from_digests(digests.clone())?;
    /// let quick = GolombSet::builder().fpp(0.01).gaps_per_run(32).build_from_digests(digests)?;
    /// assert!(small.memory_bytes() < quick.memory_bytes());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<GolombSet> {
        Builder::new(GolombSetOptions::default())
    }
}

impl<M: Memory> GolombSet<M> {
    /// Whether `key` may be in the set: never false for a key that is.
    #[inline]
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

    /// Whether the key with this digest may be in the set.
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let run = scale(digest, self.shape.runs);
        // ⌊⌊d·runs·span⌋ / span⌋ = ⌊d·runs⌋: the number is in that run, whatever the rounding.
        let place = scale(digest, self.shape.range()) - run * self.shape.span;
        let Run { codes, code, at, end, most, .. } = self.run(run);
        code.finds(&codes, at, end, most, place)
    }

    /// Whether one of the keys may be in the set; each run is decoded once at most.
    ///
    /// ```
    /// let filter = gardenia::GolombSet::builder().fpp(1e-6).build_from(&["rose", "tulip"])?;
    /// assert!(filter.contains_any(&["thistle", "tulip"]) && !filter.contains_any(&["thistle", "nettle"]));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn contains_any<K: Key>(&self, keys: &[K]) -> bool {
        self.contains_any_digest(keys.iter().map(|key| self.hasher.digest_key(key)).collect())
    }

    /// Whether one of the keys with these digests, in any order, may be in the set; each run is
    /// decoded once at most.
    #[must_use]
    pub fn contains_any_digest(&self, mut digests: Vec<Digest>) -> bool {
        digests.sort_unstable();
        digests.chunk_by(|a, b| scale(*a, self.shape.runs) == scale(*b, self.shape.runs)).any(|group| {
            let run = scale(group[0], self.shape.runs);
            let mut values = self.run(run).peekable();
            group.iter().any(|digest| {
                let place = scale(*digest, self.shape.range()) - run * self.shape.span;
                while values.next_if(|value| *value < place).is_some() {}
                values.peek() == Some(&place)
            })
        })
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let fetch = |digest| {
            // Reads the index: such loads do not wait for each other.
            let (start, _) = self.place(scale(digest, self.shape.runs));
            let word = self.shape.index_words() + (start / 64) as usize;
            self.words.prefetch(word);
            self.words.prefetch(word + 8);
        };
        let far = ahead::is_far(self.words.words());
        digests.each::<{ ahead::LINES }>(far, fetch, |digest| self.contains_digest(digest), answers);
    }

    /// First bit and end of the code of a run; nothing if the index is corrupted.
    #[inline]
    fn place(&self, run: u64) -> (u64, u64) {
        let shape = &self.shape;
        let (base, at) = ((run / GROUP) as usize * shape.group_words(), (run % GROUP) as u32);
        let entry = |at: u32| {
            let per_word = 64 / shape.width;
            let word = self.words.load(base + 1 + (at / per_word) as usize) >> (at % per_word * shape.width);
            word & u64::MAX >> (64 - shape.width)
        };
        let before = if at == 0 { 0 } else { entry(at - 1) };
        let (start, end) = (before, entry(at));
        let first = self.words.load(base);
        match (first.checked_add(start), first.checked_add(end)) {
            (Some(start), Some(end)) if start <= end && end <= shape.bits => (start, end),
            _ => (0, 0),
        }
    }

    /// The numbers in a run, less its first possible one.
    #[inline]
    fn run(&self, run: u64) -> Run<'_, M> {
        let (at, end) = self.place(run);
        let codes = Codes { words: &self.words, first: self.shape.index_words() };
        Run { codes, code: Code::new(self.shape.divisor), at, end, least: 0, most: self.shape.most() }
    }

    filter_facts!();

    /// Distinct keys that it was built of, n.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.shape.items
    }

    /// Different numbers that are coded: fewer than [`items`](Self::items) where keys coincide.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.shape.values
    }

    /// The range of these numbers: a little above [`items`](Self::items) divided by the rate.
    #[must_use]
    pub fn range(&self) -> u64 {
        self.shape.range()
    }

    /// The divisor of the code.
    #[must_use]
    pub fn divisor(&self) -> u64 {
        self.shape.divisor
    }

    /// Bits that the codes take.
    #[must_use]
    pub fn code_bits(&self) -> u64 {
        self.shape.bits
    }

    /// Bits that the index takes.
    #[must_use]
    pub fn index_bits(&self) -> u64 {
        self.shape.index_words() as u64 * 64
    }

    /// The share of the range that is in the set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.shape.values as f64 / self.shape.range() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The false-positive probability: the same as [`fill`](Self::fill).
    ///
    /// ```
    /// let filter = gardenia::GolombSet::builder().fpp(0.01).build_from(&[1, 2, 3])?;
    /// assert!((filter.fpp() - 0.01).abs() < 1e-4);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn fpp(&self) -> f64 {
        self.fill()
    }

    /// The number of distinct keys in the filter, which is known exactly.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.shape.items as f64, std_error: 0.0 }
    }

    /// Memory used by index and codes, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.words.words() * 8
    }

    /// Hasher and shape: the cells are runs, as wide as an entry of the index.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::GolombSet,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: 1,
            cells: self.shape.runs,
            width: self.shape.width,
        }
    }

    /// An own copy of the set: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<GolombSet, SizeError> {
        let mut words = Owned::zeroed(self.words.words())?;
        words.as_mut_slice().iter_mut().enumerate().for_each(|(at, word)| *word = self.words.load(at));
        Ok(GolombSet { hasher: self.hasher.clone(), shape: self.shape, words, about: self.about.clone() })
    }

    /// Whether the words are what an encoder writes.
    fn check_words(&self) -> Result<(), DecodeError> {
        let damaged = |what| Err(DecodeError::Damaged(what));
        let shape = &self.shape;
        let (mut before, mut values) = (0, 0u64);
        for run in 0..shape.runs {
            let (at, end) = self.place(run);
            if at != before {
                return damaged("a run does not start where the one before it ends");
            }
            let mut numbers = self.run(run);
            for value in numbers.by_ref() {
                if value >= shape.span {
                    return damaged("a number is beyond its run");
                }
                values += 1;
            }
            if numbers.at != end {
                return damaged("a run holds no whole number of codes");
            }
            before = end;
        }
        if before != shape.bits || values != shape.values {
            return damaged("the runs hold more or fewer numbers than the header says");
        }
        // What no code and no entry uses is zero.
        let used = shape.index_words() + (shape.bits / 64) as usize;
        let spare = self.words.load(used) >> (shape.bits % 64) | self.words.load(used + 1);
        let last = shape.index_words() - shape.group_words() + 1;
        let entries = (shape.runs - 1) % GROUP + 1;
        let unused =
            (entries * u64::from(shape.width)..GROUP * u64::from(shape.width)).step_by(shape.width as usize);
        let set = unused.fold(spare, |set, bit| {
            let word = self.words.load(last + (bit / 64) as usize) >> (bit % 64);
            set | word & u64::MAX >> (64 - shape.width)
        });
        if set == 0 { Ok(()) } else { damaged("spare bits are set") }
    }
}

/// The numbers in a run, ascending.
struct Run<'a, M> {
    codes: Codes<'a, M>,
    code: Code,
    at: u64,
    end: u64,
    /// The least that the next number can be.
    least: u64,
    most: u64,
}

impl<M: Memory> Iterator for Run<'_, M> {
    type Item = u64;
    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.at >= self.end {
            return None;
        }
        // Beyond the run's range nothing can follow; so sums stay below 2⁶⁴, whatever the words hold.
        let (gap, at) = self.code.read(&self.codes, self.at, self.end, self.most)?;
        let value = self.least.checked_add(gap).filter(|value| *value < MAX_RANGE)?;
        (self.at, self.least) = (at, value + 1);
        Some(value)
    }
}

impl<M: Memory> fmt::Debug for GolombSet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GolombSet").field("hasher", &self.hasher).field("shape", &self.shape).finish()
    }
}

/// Equal in identity and words: the same answer to every key.
impl<M: Memory, N: Memory> PartialEq<GolombSet<N>> for GolombSet<M> {
    fn eq(&self, other: &GolombSet<N>) -> bool {
        self.identity() == other.identity()
            && self.shape == other.shape
            && (0..self.words.words()).all(|at| self.words.load(at) == other.words.load(at))
    }
}

impl<M: Memory> Explain for GolombSet<M> {
    fn tables(&self) -> Vec<CellTable> {
        vec![CellTable::new("code", Holds::Code, self.shape.bits, 1)]
    }
    fn cell(&self, _: usize, at: u64) -> u64 {
        self.words.load(self.shape.index_words() + (at / 64) as usize) >> (at % 64) & 1
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        if self.shape.items == 0 {
            return;
        }
        let run = scale(digest, self.shape.runs);
        let (at, end) = self.place(run);
        seen.add(0, 0, at..end);
        // Numbers count from the first of the run.
        seen.fingerprint = Some(scale(digest, self.shape.range()) - run * self.shape.span);
        seen.decoded = self.run(run).take(1_000).collect();
    }
}

filter_impl!([M: Memory] GolombSet<M>);

impl<M: Memory> Stored for GolombSet<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        let GolombShape { items, values, span, divisor, bits, .. } = self.shape;
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items, ..header.with_params(&[values, span, divisor, bits]) })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![&self.words]
    }
}

/// The parts of a stored set other than its words, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, GolombShape, About), DecodeError> {
    header.check_kind(Kind::GolombSet)?;
    header.check_no_scheme()?;
    let (Identity { hashes, cells: runs, width, .. }, items) = (header.identity, header.items);
    let [values, span, divisor, bits] = header.param_words()?;
    DecodeError::check("hashes", hashes.into(), hashes == 1, "this kind has 1")?;
    DecodeError::check(
        "cell width",
        width.into(),
        matches!(width, 16 | 32 | 64),
        "this index has entries of 16, 32 or 64 bits",
    )?;
    let range = runs.checked_mul(span).filter(|range| (1..=MAX_RANGE).contains(range));
    DecodeError::check("span", span, range.is_some(), "all runs together have 1 to 2^62 numbers")?;
    let range = range.unwrap_or(1);
    DecodeError::check(
        "divisor",
        divisor,
        (1..=MAX_DIVISOR.min(range)).contains(&divisor),
        "it is 1 or more, and in the range",
    )?;
    let fits = (values..=range).contains(&items) && (items == 0) == (values == 0);
    DecodeError::check(
        "items",
        items,
        fits,
        "there are at least as many as numbers, and fewer than the range",
    )?;
    DecodeError::check(
        "values",
        values,
        values <= range && values <= bits,
        "each takes a bit, and one of the range",
    )?;
    DecodeError::check(
        "code length",
        bits,
        bits <= MAX_CELLS * 64 && (bits == 0) == (values == 0),
        "it is that of the numbers",
    )?;
    let shape = GolombShape { items, values, runs, span, divisor, bits, width };
    // At most 2⁴⁰ runs, of 68 bits each at most.
    let index = runs.div_ceil(GROUP) * (1 + GROUP * u64::from(width) / 64);
    header.check_payload((index + code_words(bits)) * 8)?;
    Ok((header.hasher(options)?, shape, header.about()))
}

impl format::Restore for GolombSet {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, shape, about) = restore(header, options)?;
        let words = usize::try_from(header.payload_len / 8).unwrap_or(usize::MAX);
        Ok(Self { hasher, shape, words: Owned::zeroed(words)?, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.words.as_mut_slice()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.check_words()
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for GolombSet<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, shape, about) = restore(header, options)?;
        let (needed, found) = (header.payload_len, payload.as_ref().len() as u64);
        if needed != found {
            return Err(DecodeError::Truncated { needed, found });
        }
        Ok(Self { hasher, shape, words: Bytes(payload), about })
    }
}

format::stored_methods!(GolombSet<M> where M: Memory);
format::read_methods!(GolombSet);
format::serde_impls!([M: Memory] GolombSet<M>, [] GolombSet);

impl Builder<GolombSet> {
    fn of(spec: &Spec) -> Self {
        GolombSet::builder().hasher(spec.hasher()).fpp(spec.real(Param::Fpp).unwrap_or(DEFAULT_FPP))
    }
}

impl FromSpec for GolombSet {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        goal.if_able(kind, || {
            sizes::search(goal.fpp, goal.within, |fpp| sizes::golomb_design(goal.items, fpp))
        })
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        spec.default_to(Param::Fpp, Value::Real(DEFAULT_FPP));
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let bytes = Builder::<GolombSet>::of(spec).memory_bytes(spec.expected_items()?)?;
        Ok(Measure::as_stored(bytes, 32, spec.real(Param::Fpp)))
    }
    fn bound(spec: &Spec, fpp: f64, _: f64) -> Result<f64, SizeError> {
        Ok(sizes::golomb_bound(spec.planned_items(), fpp))
    }
    fn from_digests(spec: &Spec, digests: Vec<Digest>, _: &mut Watch<'_>) -> Result<Self, BuildError> {
        Ok(Builder::<GolombSet>::of(spec).build_from_digests(digests)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn digests(seed: u64, count: u32) -> Vec<Digest> {
        (0..count).map(|i| Digest(Digest(seed).word(i))).collect()
    }

    #[test]
    fn wrong_wishes_are_named() {
        let build = |builder: Builder<GolombSet>| builder.build_from(&[1]).unwrap_err();
        let new = GolombSet::builder;
        assert!(build(new()).to_string().contains("needs fpp"));
        for odd in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(build(new().fpp(odd)), SizeError::Fpp(_)));
        }
        assert!(matches!(build(new().fpp(1e-19)), SizeError::FppBelowFloor { .. }));
        assert!(build(new().fpp(0.1).gaps_per_run(0)).to_string().contains("a run"));
    }

    #[test]
    fn the_empty_set_contains_nothing_and_is_stored() {
        for fpp in [0.9, 0.01, 1e-15] {
            let empty = GolombSet::builder().fpp(fpp).build_from::<u64>(&[]).unwrap();
            assert_eq!((empty.items(), empty.values(), empty.code_bits(), empty.fpp()), (0, 0, 0, 0.0));
            assert!(digests(1, 1_000).into_iter().all(|digest| !empty.contains_digest(digest)));
            assert!(!empty.contains_any_digest(digests(1, 100)) && !empty.contains_any_digest(Vec::new()));
            assert!(GolombSet::from_bytes(&empty.to_bytes().unwrap()).unwrap() == empty);
        }
    }

    #[test]
    fn clustered_digests_make_a_long_run_and_a_wider_index_and_are_found() {
        // All in the last run of thousands.
        let clustered: Vec<Digest> = (0..20_000).map(|i| Digest(u64::MAX - (i << 30))).collect();
        let set = GolombSet::builder().fpp(1e-6).build_from_digests(clustered.clone()).unwrap();
        assert_eq!(set.identity().width, 32);
        assert!(clustered.iter().all(|digest| set.contains_digest(*digest)));
        assert!(!digests(3, 100).into_iter().any(|digest| set.contains_digest(digest)));
        assert!(GolombSet::from_bytes(&set.to_bytes().unwrap()).unwrap() == set);
    }

    #[test]
    fn keys_that_coincide_are_coded_once() {
        let keys = digests(5, 10_000);
        let set = GolombSet::builder().fpp(0.5).build_from_digests(keys.clone()).unwrap();
        assert!(set.values() < 8_500 && set.items() == 10_000, "{}", set.values());
        assert!(keys.iter().all(|digest| set.contains_digest(*digest)));
    }

    #[test]
    fn words_that_no_encoder_writes_are_refused() {
        let mut keys = digests(8, 300);
        keys.push(Digest(u64::MAX)); // the last number of the range
        let good = GolombSet::builder().fpp(0.01).gaps_per_run(16).build_from_digests(keys).unwrap();
        assert!(!good.shape.runs.is_multiple_of(GROUP) && good.check_words().is_ok());
        let refused = |change: &dyn Fn(&mut GolombSet)| {
            let mut bad = good.clone();
            change(&mut bad);
            let Err(DecodeError::Damaged(what)) = bad.check_words() else { panic!("taken") };
            what
        };
        let (last, index) = (good.words.words() - 1, good.shape.index_words());
        assert!(refused(&|set| set.words.as_mut_slice()[last] = 1).contains("spare"));
        assert!(refused(&|set| set.words.as_mut_slice()[index - 1] |= 1 << 48).contains("spare"));
        assert!(refused(&|set| set.words.as_mut_slice()[0] = 1).contains("does not start"));
        assert!(refused(&|set| set.words.as_mut_slice()[1] += 1).contains("whole"));
        assert!(refused(&|set| set.shape.span -= 1).contains("beyond its run"));
        assert!(refused(&|set| set.shape.values -= 1).contains("more or fewer"));
    }
}
