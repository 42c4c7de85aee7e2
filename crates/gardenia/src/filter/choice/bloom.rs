//! The Bloom filter with choices: the type, its verbs and what it tells about itself.

use super::builder::ChoiceBloomOptions;
use super::groups::Groups;
use super::groups::group_digest;
use super::partitions::Partitions;
use super::probe::{Contains, ContainsMany, Set, SetMany};
use super::rate::{GroupRate, either};
use crate::cells::{Bits, Memory, Owned};
use crate::explain::{CellTable, Explain, Holds, Seen, bit};
use crate::filter::builder::SchemeOf;
use crate::filter::{About, Builder, Identity};
use crate::format::Kind;
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::{Fractional, Scheme};
use crate::simd::{Bools, Drawn, Given, Keys, Sink, Source};
use crate::theory::bloom::Estimate;
use crate::{Filter, Full, Insert, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The most groups a key can have.
pub const MAX_CHOICES: u32 = 32;

/// How a key of a [`ChoiceBloom`] may be covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceForm {
    /// By any of its groups of positions.
    Groups {
        /// How many there are, c.
        choices: u32,
    },
    /// By the one hash set that its partition has chosen.
    Partitions {
        /// How many partitions there are: each takes a byte of the filter.
        partitions: u64,
    },
}

/// A Bloom filter that sets fewer bits, because each key chooses among groups of positions.
///
/// Keys that come one by one take the group that sets the fewest new bits. That pays from some 16
/// bits per key on. Much more is gained when all keys are known up front: see
/// [`Builder::<ChoiceBloom>::effort`].
///
/// `S` is the scheme that makes the positions of each group, `M` the memory.
///
/// ```
/// use gardenia::filter::Effort;
/// use gardenia::{Bloom, ChoiceBloom};
/// let mut seen = ChoiceBloom::new(1_000, 1e-6)?; // two groups, for keys that come one by one
/// assert!(seen.insert("rose"));
/// assert!(seen.contains("rose") && !seen.contains("thistle"));
///
/// // 8 bits per key: 2.2 % of false positives in a plain filter, less than 1 % here, at the same cost of a query.
/// let keys: Vec<u32> = (0..10_000).collect();
/// let packed = ChoiceBloom::builder().bits(80_000).effort(Effort::Partitioned).build_from(&keys)?;
/// let mut plain = Bloom::builder().bits(80_000).items(10_000).build()?;
/// plain.extend(&keys);
/// assert!(plain.fpp() > 0.021 && packed.fpp() < 0.0095);
/// assert!(keys.iter().all(|key| packed.contains(key)));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct ChoiceBloom<S = Fractional, M = Owned> {
    pub(super) hasher: KeyHasher,
    pub(super) scheme: S,
    /// The cells, and behind them the table of a partitioned filter.
    pub(super) bits: Bits<M>,
    pub(super) form: ChoiceForm,
    /// Keys that were certainly new when they came.
    pub(super) items: u64,
    pub(super) about: About,
}

impl ChoiceBloom {
    /// A filter with two groups for `items` keys inserted one by one, at a false-positive
    /// probability of at most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose shape, groups, effort, seed, secret, scheme.
    ///
    /// ```
    /// use gardenia::filter::Effort;
    /// use gardenia::index::Independent;
    /// use gardenia::ChoiceBloom;
    /// let online = ChoiceBloom::builder().items(1_000).fpp(1e-6).choices(3).build()?;
    /// let keys: Vec<u32> = (0..1_000).collect();
    /// let builder = ChoiceBloom::builder().bits(16_000).choices(3).effort(Effort::Rounds);
    /// let studied = builder.scheme(Independent::new).build_from(&keys)?;
    /// assert_eq!((online.choices(), studied.choices(), studied.bits()), (3, 3, 16_000));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<ChoiceBloom> {
        Builder::new(ChoiceBloomOptions::new(SchemeOf::new(Fractional::new)))
    }
}

impl<S: Scheme> ChoiceBloom<S> {
    /// Adds `key` by its cheapest group; true if it was certainly absent before.
    ///
    /// In a partitioned filter the key goes by the set that its partition has chosen before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        let digest = self.hasher.digest_key(&key);
        self.insert_digest(digest)
    }

    /// Adds the key with this digest; true if it was certainly absent before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        let bits = &mut self.bits;
        let new = match self.form {
            ChoiceForm::Groups { choices } => {
                self.scheme.dispatch(Set { choose: Groups { choices }, bits, digest })
            }
            ChoiceForm::Partitions { partitions } => self.scheme.dispatch(Set {
                choose: Partitions::in_bits(bits.len(), partitions),
                bits,
                digest,
            }),
        };
        self.items = self.items.saturating_add(new.into());
        new
    }

    /// Adds all keys in order, hashing and fetching ahead; how many were certainly absent before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys { hasher: self.hasher.clone(), keys }, &mut count);
        self.items = self.items.saturating_add(count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        assert_eq!(digests.len(), new.len(), "one answer per digest");
        self.insert_each(Given(digests), &mut Bools(new));
        let count = new.iter().filter(|new| **new).count() as u64;
        self.items = self.items.saturating_add(count);
    }

    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        let bits = &mut self.bits;
        match self.form {
            ChoiceForm::Groups { choices } => {
                self.scheme.dispatch(SetMany { choose: Groups { choices }, bits, digests, new });
            }
            ChoiceForm::Partitions { partitions } => {
                let choose = Partitions::in_bits(bits.len(), partitions);
                self.scheme.dispatch(SetMany { choose, bits, digests, new });
            }
        }
    }

    /// Forgets all keys, and what partitions have chosen.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.items = 0;
        self.about.forget();
    }

    /// Takes in the keys of `other`: all keys of both are found afterwards.
    ///
    /// The result has all bits of both and so may have more than a filter into which the keys of
    /// both were inserted: a key might have found a cheaper group there. Partitioned filters cannot
    /// be merged: a partition has one set in each of them.
    ///
    /// ```
    /// use gardenia::ChoiceBloom;
    /// let (mut a, mut b) = (ChoiceBloom::new(10, 0.001)?, ChoiceBloom::new(10, 0.001)?);
    /// a.insert("rose");
    /// b.insert("tulip");
    /// a.union_with(&b).unwrap();
    /// assert!(a.contains("rose") && a.contains("tulip"));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn union_with(&mut self, other: &ChoiceBloom<S, impl Memory>) -> Result<(), Mismatch> {
        self.check_same(other)?;
        if let ChoiceForm::Partitions { .. } = self.form {
            let chosen = |by: &str| alloc::format!("chosen by {by} keys");
            return Err(Mismatch { what: "hash sets", ours: chosen("its own"), theirs: chosen("other") });
        }
        self.bits.combine(&other.bits, |a, b| a | b);
        self.items = self.items.saturating_add(other.items);
        self.about.took_all(&other.about);
        Ok(())
    }
}

impl<S: Scheme, M: Memory> ChoiceBloom<S, M> {
    /// Whether `key` may be present: never false for a key that is.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher.digest_key(&key))
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let bits = &self.bits;
        match self.form {
            ChoiceForm::Groups { choices } => {
                self.scheme.dispatch(Contains { choose: Groups { choices }, bits, digest })
            }
            ChoiceForm::Partitions { partitions } => self.scheme.dispatch(Contains {
                choose: Partitions::in_bits(bits.len(), partitions),
                bits,
                digest,
            }),
        }
    }

    /// Answers for all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut answers = vec![false; keys.len()];
        self.contains_each(Keys { hasher: self.hasher.clone(), keys }, &mut Bools(&mut answers));
        answers
    }

    /// Answers for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        assert_eq!(digests.len(), out.len(), "one answer per digest");
        self.contains_each(Given(digests), &mut Bools(out));
    }

    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let bits = &self.bits;
        match self.form {
            ChoiceForm::Groups { choices } => {
                self.scheme.dispatch(ContainsMany { choose: Groups { choices }, bits, digests, answers });
            }
            ChoiceForm::Partitions { partitions } => {
                let choose = Partitions::in_bits(bits.len(), partitions);
                self.scheme.dispatch(ContainsMany { choose, bits, digests, answers });
            }
        }
    }

    /// The hash function.
    #[inline]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// The scheme.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Number of bits, m: all of them, with the table of a partitioned filter.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits.len()
    }

    /// Number of bits that positions fall on: all but the table.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.form.cells(self.bits.len())
    }

    /// Probes per group, k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.scheme.hashes()
    }

    /// Groups of a key that a query looks at, c; 1 in a partitioned filter.
    #[must_use]
    pub fn choices(&self) -> u32 {
        match self.form {
            ChoiceForm::Groups { choices } => choices,
            ChoiceForm::Partitions { .. } => 1,
        }
    }

    /// How keys may be covered.
    #[must_use]
    pub fn form(&self) -> ChoiceForm {
        self.form
    }

    /// Whether a cell is set; `None` beyond the last. Queries need no such thing, studies of the
    /// fill do.
    #[must_use]
    pub fn cell(&self, at: u64) -> Option<bool> {
        (at < self.cells()).then(|| self.bits.get(at))
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let (cells, memory) = (self.cells(), self.bits.memory());
        let ones = (0..cells.div_ceil(64) as usize).map(|at| u64::from(memory.load(at).count_ones()));
        ones.sum::<u64>() as f64 / cells as f64
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// Memory used by the bits, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bits.memory().words() * 8
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What the filter was made for, to be changed.
    pub fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    /// The current false-positive probability: `1 - (1 - q)^c`, where q is the probability that a
    /// group of an absent key is all ones.
    ///
    /// q is p^k at a fill of p, and what the scheme adds. A scheme that takes sums modulo a number
    /// with small factors may leave residue classes unequally full (files of earlier versions), and
    /// in filters of few keys what it adds is not known well enough. Then q is counted: fixed
    /// pseudo-random groups are laid over the cells, until the standard error is 1 % of q. If it is
    /// still above 3.5 % after 2²⁷ of them, q follows from the fill of each class. That takes a few
    /// tens of milliseconds at most, beside reading the cells, and gives the same value every time.
    ///
    /// ```
    /// let mut filter = gardenia::ChoiceBloom::new(1_000, 0.001)?;
    /// assert_eq!(filter.fpp(), 0.0);
    /// filter.extend(0..1_000u32);
    /// assert!((0.0008..0.0012).contains(&filter.fpp()));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn fpp(&self) -> f64 {
        if self.items == 0 && self.fill() == 0.0 {
            return 0.0;
        }
        let group = GroupRate { bits: &self.bits, form: self.form, items: self.items as f64 };
        either(0.0, self.scheme.dispatch(group), self.choices())
    }

    /// The number of distinct keys in the filter. A filter with choices counts them: the fill tells
    /// it only of keys that were inserted one by one. A key that was found already when it came is
    /// not counted, which happens to a share of up to [`fpp`](Self::fpp) of the new ones: that is
    /// the error told. A union counts common keys twice.
    ///
    /// ```
    /// let keys: Vec<u32> = (0..5_000).collect();
    /// let filter = gardenia::ChoiceBloom::builder().fpp(0.01).choices(3).build_from(&keys)?;
    /// let about = filter.estimated_items();
    /// assert!((about.items - 5_000.0).abs() <= about.std_error);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        let items = self.items as f64;
        Estimate { items, std_error: items * self.fpp() }
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Choice,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: self.scheme.id(),
            hashes: self.hashes(),
            cells: self.bits.len(),
            width: 1,
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<ChoiceBloom<S>, SizeError> {
        let mut bits = Bits::new(self.bits.len())?;
        bits.combine(&self.bits, |_, b| b);
        let (hasher, &Self { form, items, .. }) = (self.hasher.clone(), self);
        Ok(ChoiceBloom { hasher, scheme: self.scheme.clone(), bits, form, items, about: self.about.clone() })
    }

    fn check_same(&self, other: &ChoiceBloom<S, impl Memory>) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        let differ = |what, ours: &dyn fmt::Debug, theirs: &dyn fmt::Debug| {
            Err(Mismatch { what, ours: alloc::format!("{ours:?}"), theirs: alloc::format!("{theirs:?}") })
        };
        if self.scheme != other.scheme {
            return differ("scheme", &self.scheme, &other.scheme);
        }
        if self.form != other.form {
            return differ("choices", &self.form, &other.form);
        }
        Ok(())
    }
}

impl<S, M: Memory> ChoiceBloom<S, M> {
    /// The groups of a filter that has some.
    pub(super) fn groups(&self) -> Groups {
        match self.form {
            ChoiceForm::Groups { choices } => Groups { choices },
            ChoiceForm::Partitions { .. } => Groups { choices: 1 },
        }
    }

    /// The table of a partitioned filter; of another, one of no partitions.
    pub(super) fn table(&self) -> Partitions {
        let partitions = match self.form {
            ChoiceForm::Groups { .. } => 0,
            ChoiceForm::Partitions { partitions } => partitions,
        };
        Partitions::in_bits(self.bits.len(), partitions)
    }
}

impl<S: Scheme, K: Key> Extend<K> for ChoiceBloom<S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        self.about.took::<K>();
        let hasher = self.hasher.clone();
        let mut count = 0;
        self.insert_each(Drawn(keys.into_iter().fuse().map(|key| hasher.digest_key(&key))), &mut count);
        self.items = self.items.saturating_add(count);
    }
}

impl<S: Scheme, M: Memory> fmt::Debug for ChoiceBloom<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("ChoiceBloom");
        parts.field("hasher", &self.hasher).field("scheme", &self.scheme).field("form", &self.form);
        parts.field("bits", &self.bits).field("items", &self.items).finish()
    }
}

/// Equal in identity, choices and bits: the same answer to every key. What they were planned for,
/// and how many keys were counted, does not matter.
impl<S: Scheme, M: Memory, N: Memory> PartialEq<ChoiceBloom<S, N>> for ChoiceBloom<S, M> {
    fn eq(&self, other: &ChoiceBloom<S, N>) -> bool {
        self.check_same(other).is_ok() && self.bits == other.bits
    }
}

impl<S: Scheme, M: Memory> Explain for ChoiceBloom<S, M> {
    fn tables(&self) -> Vec<CellTable> {
        match self.form {
            ChoiceForm::Groups { .. } => alloc::vec![CellTable::bits(self.bits.len())],
            ChoiceForm::Partitions { partitions } => {
                let cells = self.bits.len() - Partitions::table_bits(partitions);
                alloc::vec![CellTable::bits(cells), CellTable::new("choices", Holds::Code, partitions, 8)]
            }
        }
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        match self.form {
            ChoiceForm::Partitions { partitions } if table == 1 => {
                Partitions::in_bits(self.bits.len(), partitions).choice(&self.bits, at).into()
            }
            _ => bit(&self.bits, at),
        }
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        match self.form {
            ChoiceForm::Groups { choices } => (0..choices).for_each(|group| {
                let digest = group_digest(digest, group);
                seen.add(0, group as usize, self.scheme.positions(digest, self.bits.len()));
            }),
            ChoiceForm::Partitions { partitions } => {
                let form = Partitions::in_bits(self.bits.len(), partitions);
                let choice = form.choice(&self.bits, form.of(digest));
                seen.add(0, 0, form.positions(&self.scheme, digest, choice));
            }
        }
    }
}

impl<S: Scheme, M: Memory> Filter for ChoiceBloom<S, M> {
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        ChoiceBloom::contains_digest(self, digest)
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        ChoiceBloom::contains_digests(self, digests, out);
    }
}

impl<S: Scheme> Insert for ChoiceBloom<S> {
    fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        Ok(ChoiceBloom::<S>::insert_digest(self, digest))
    }
}
