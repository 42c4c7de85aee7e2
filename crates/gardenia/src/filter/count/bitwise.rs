//! The bitwise Bloom filter: counts of any size, a digit to a level.
//!
//! Level i is a small counting filter of its own that holds digit i of every key's count, so that a
//! large count costs cells only where few keys have one. Inserting a key raises its digit on level
//! 0; a full digit goes back to zero and carries one to the next level, which is added when the
//! first key needs it.
//!
//! The subtle rule: a digit has w bits, but its *cell* is shared by keys and must be wide enough
//! for all of them, because a carry takes the whole digit 2^w − 1 out again and must leave the
//! rest. Levels of plain bits lose nearly all counts.
//!
//! A key's digit is the least of its cells, and no more than 2^w − 1. Where other keys share all
//! its cells it reads too high, and then the key carries too early and takes from those cells what
//! is the others'. So counts are wrong both ways: too high for the share φ of keys that a level's
//! false-positive rate tells, and, behind their carries, too low for keys that share a single cell
//! with one of them, of which there may be k times as many. Wide digits carry seldom: with four
//! bits and φ = 0.8 % some 0.6 % of counts from 1 to 20 were too low, with two bits 5 %. Placing
//! known counts ([`BitwiseBloom::from_counts`]) needs no carry, and so is never too low.
//!
//! Source: Lall and Ogihara, "The Bitwise Bloom Filter" (2007), as told by Vallentin, "A Garden
//! Variety of Bloom Filters" (2011), with his exponent put right: digit i weighs 2^(w_0 + … +
//! w_(i−1)).

mod builder;
mod level;
mod stored;

pub use level::BitwiseLevel;

use super::row::{Row, Touch};
use crate::SizeError;
use crate::cells::{Counters, Memory, Owned};
use crate::error::Overflow;
use crate::explain::{CellTable, Explain, Seen};
use crate::filter::request::filter_facts;
use crate::filter::verbs::{count_impl, filter_impl, insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::Kind;
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::Scheme;
use crate::index::shifts::stated_fpp;
use crate::simd::{Bools, Given, Keys, Sink, Source};
use crate::theory::bitwise::Digit;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use level::{Above, AddMany, AskMany, Level, Rule, add, raise};

/// A counting filter without a largest count; counts may be too high or too low. It is a stack of
/// levels, with one digit of the count on each.
///
/// ```
/// let mut filter = gardenia::BitwiseBloom::new(1_000, 0.001)?;
/// (0..1_000).for_each(|_| _ = filter.insert("rose"));
/// filter.insert("tulip");
/// assert_eq!((filter.count("rose"), filter.count("tulip"), filter.count("thistle")), (1_000, 1, 0));
/// assert_eq!(filter.levels().count(), 3); // digits of four bits: 1000 = 0x3e8
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// There is no removal: a digit that reads too high would be lowered where it should be borrowed
/// for, so that removing a key that *is* in could hide others that are.
///
/// ```compile_fail,E0599
/// let mut filter = gardenia::BitwiseBloom::new(1_000, 0.001).unwrap();
/// filter.insert("rose");
/// filter.remove("rose");
/// ```
///
/// Nor is there a merge: the sum of two digits may not fit one, and which keys would have to carry
/// nobody knows.
///
/// ```compile_fail,E0599
/// use gardenia::Merge;
/// let mut filter = gardenia::BitwiseBloom::new(1_000, 0.001).unwrap();
/// filter.merge(&filter.clone());
/// ```
#[derive(Clone)]
pub struct BitwiseBloom<M = Owned> {
    hasher: KeyHasher,
    base: Level<M>,
    above: Above<M>,
    about: About,
}

impl BitwiseBloom {
    /// A filter whose first level is for `items` distinct keys at a false-positive probability of
    /// at most `fpp`, with digits of four bits; levels of half the size of the one below are added
    /// on demand.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose levels, digits, widths, seed, secret, scheme.
    ///
    /// ```
    /// use gardenia::filter::BitwiseLevel;
    /// use gardenia::BitwiseBloom;
    /// let narrow = BitwiseBloom::builder().cells(10_000).hashes(7).digit(1).width(4).share(0.8).build()?;
    /// assert_eq!(narrow.levels().next(), Some(BitwiseLevel { cells: 10_000, hashes: 7, digit: 1, width: 4 }));
    /// let first = BitwiseLevel { cells: 10_000, hashes: 7, digit: 2, width: 6 };
    /// let second = BitwiseLevel { cells: 2_000, hashes: 9, digit: 6, width: 10 };
    /// let given = BitwiseBloom::builder().levels(&[first, second]).max_levels(2).build()?;
    /// assert_eq!(given.max_count(), 255);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<BitwiseBloom> {
        Builder::new(builder::BitwiseBloomOptions::default())
    }

    /// A filter of these keys with these counts: none is too low, and a key without a count seems
    /// to have one with probability at most `fpp`. See [`Builder::<BitwiseBloom>::from_counts`].
    ///
    /// ```
    /// let filter = gardenia::BitwiseBloom::from_counts([("rose", 1_000_000), ("tulip", 2)], 0.001)?;
    /// assert_eq!((filter.count("rose"), filter.count("tulip"), filter.count("thistle")), (1_000_000, 2, 0));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn from_counts<K: Key>(
        counts: impl IntoIterator<Item = (K, u64)>,
        fpp: f64,
    ) -> Result<Self, SizeError> {
        Self::builder().fpp(fpp).from_counts(counts)
    }

    /// Adds `key`; true if it was absent, as far as the filter can tell, before.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were absent, as far as the filter can
    /// tell, before.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count);
        count
    }

    /// Adds the keys with these digests in order, and reports for each whether it was absent, as
    /// far as the filter can tell, before.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        self.insert_each(Given(digests), &mut Bools::of(digests, new));
    }

    /// Adds the key with this digest; true if it was absent, as far as the filter can tell, before.
    ///
    /// A count that can grow no more ([`max_count`](Self::max_count)) stays as it is.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        let Self { base, above, .. } = self;
        let full = base.full();
        let work = |cells: &mut Counters, row: &Row<'_>| raise(cells, row, full, digest, above);
        base.scheme.dispatch(Touch { cells: &mut base.cells, digest, work })
    }

    /// Adds digests in order; `new` receives for each whether it was absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) {
        let Self { base, above, .. } = self;
        let full = base.full();
        base.scheme.dispatch(AddMany { base: &mut base.cells, full, above, digests, new });
    }

    /// Adds `key` `times` times at once; true if it was absent, as far as the filter
    /// can tell, before. If its count cannot grow so far, nothing changes.
    ///
    /// ```
    /// let mut filter = gardenia::BitwiseBloom::builder().cells(1_000).hashes(5).max_levels(2).build()?;
    /// assert_eq!(filter.insert_times("rose", 200), Ok(true));
    /// assert_eq!(filter.insert_times("rose", 100).unwrap_err().top, 255); // two digits of four bits
    /// assert_eq!(filter.count("rose"), 200);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn insert_times(&mut self, key: impl Key, times: u64) -> Result<bool, Overflow> {
        let new = self.insert_digest_times(self.hasher.digest_key(&key), times)?;
        self.about.took_key(&key);
        Ok(new)
    }

    /// [`insert_times`](Self::insert_times) of the key with this digest.
    pub fn insert_digest_times(&mut self, digest: Digest, times: u64) -> Result<bool, Overflow> {
        let Self { base, above, .. } = self;
        let least = base.least(digest);
        let old = base.worth(least) + above.count(digest);
        if times == 0 {
            return Ok(false);
        }
        let (count, top) = (old.saturating_add(times), above.max_count());
        if old.checked_add(times).is_none_or(|count| count > top) {
            return Err(Overflow { count, top });
        }
        let (new, carry) = add(least, base.digit, times);
        if least == base.cells.top() || carry > 0 && !above.add(0, digest, carry) {
            return Err(Overflow { count, top: old });
        }
        base.change(digest, least, new);
        Ok(old == 0)
    }

    /// Forgets all keys. The levels stay.
    pub fn clear(&mut self) {
        self.all_mut().for_each(|level| level.cells.clear());
        self.about.forget();
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Level<Owned>> {
        core::iter::once(&mut self.base).chain(&mut self.above.levels)
    }
}

impl<M: Memory> BitwiseBloom<M> {
    /// Whether `key` may be present: false for a key that is only where its count reads 0.
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
    /// How often `key` went in, as its digits say: too high where other keys share all its cells on
    /// a level, and too low, even 0, where one that shares a cell with it carried too early. Filled
    /// by [`from_counts`](BitwiseBloom::from_counts) alone, never too low.
    #[inline]
    #[must_use]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_digest(self.hasher.digest_key(&key))
    }

    /// Counts of all keys in order, hashing and probing many at a time.
    #[must_use]
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = vec![0; keys.len()];
        self.count_each(Keys::new(&self.hasher, keys), &mut counts);
        counts
    }

    /// Counts for all digests in order, probing many at a time.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    pub fn count_digests(&self, digests: &[Digest], out: &mut [u64]) {
        assert_eq!(digests.len(), out.len(), "one count per digest");
        self.count_each(Given(digests), out);
    }

    /// Whether the key with this digest may be present.
    #[inline]
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        // A count may have any digit zero, the first too.
        self.base.least(digest) > 0 || self.above.holds(digest)
    }

    /// The count of the key with this digest, computed from its digits.
    #[inline]
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        self.base.worth(self.base.least(digest)) + self.above.count(digest)
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        let take = |least, digest| least > 0 || self.above.holds(digest);
        self.base.scheme.dispatch(AskMany { filter: self, digests, take, answers });
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        let take = |least, digest| {
            let found = self.base.worth(least) + self.above.count(digest);
            counts.by_ref().take(1).for_each(|count| *count = found);
            false
        };
        self.base.scheme.dispatch(AskMany { filter: self, digests, take, answers: &mut 0 });
    }

    filter_facts!();

    fn all(&self) -> impl Iterator<Item = &Level<M>> {
        core::iter::once(&self.base).chain(&self.above.levels)
    }

    /// The shapes of the levels that there are, from the lowest digit to the highest.
    pub fn levels(&self) -> impl Iterator<Item = BitwiseLevel> + '_ {
        self.all().map(Level::shape)
    }

    /// The largest count that a key can reach, with all levels that may still be added.
    #[must_use]
    pub fn max_count(&self) -> u64 {
        self.above.max_count()
    }

    /// The share of cells that are not zero, over all levels.
    #[must_use]
    pub fn fill(&self) -> f64 {
        let set: u64 = self.all().map(|level| level.cells.count_nonzero()).sum();
        set as f64 / self.all().map(|level| level.cells.len()).sum::<u64>() as f64
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fill() == 0.0
    }

    /// Cells at their top, which have lost count and stay.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.all().map(|level| level.cells.count_saturated()).sum()
    }

    /// The probability as the filter is now that a key that is not in seems to be: that any of its
    /// digits does, each as in [`Bloom::fpp`](crate::Bloom::fpp).
    #[must_use]
    pub fn fpp(&self) -> f64 {
        -libm::expm1(self.digits().map(|digit| libm::log1p(-digit.fpp)).sum())
    }

    /// The levels as [`theory::bitwise`](crate::theory::bitwise) sees them, with the rates that
    /// they have now.
    ///
    /// ```
    /// use gardenia::{BitwiseBloom, theory::bitwise::exact};
    /// let filter = BitwiseBloom::from_counts((0..1_000u64).map(|key| (key, key % 40)), 0.01)?;
    /// let digits: Vec<_> = filter.digits().collect();
    /// assert!(exact(7, &digits) > 0.98);
    /// assert!((exact(0, &digits) - (1.0 - filter.fpp())).abs() < 1e-12);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn digits(&self) -> impl Iterator<Item = Digit> + '_ {
        let levels = self.all().count();
        self.all().map(move |Level { digit, scheme, cells, .. }| {
            let table = (cells.len(), cells.count_nonzero());
            Digit { width: *digit, fpp: stated_fpp(scheme, table, levels, |at| cells.get(at) > 0) }
        })
    }

    /// Memory used by the cells, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.all().map(|level| level.cells.memory().words() * 8).sum()
    }

    /// Bytes that this many more keys add at most.
    pub(crate) fn bytes_for(&self, keys: u64) -> u64 {
        self.above.bytes_for(keys)
    }

    /// Hasher, scheme, and the shape of the first level.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let BitwiseLevel { cells, hashes, width, .. } = self.base.shape();
        Identity {
            kind: Kind::Bitwise,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: Some(self.above.rule.scheme),
            hashes,
            cells,
            width,
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<BitwiseBloom, SizeError> {
        let levels: Vec<_> = self.levels().collect();
        let mut copy = BitwiseBloom::of_levels(
            self.hasher.clone(),
            self.above.rule,
            &levels,
            self.about.clone(),
            BitwiseLevel::room,
        )?;
        copy.all_mut().zip(self.all()).for_each(|(copy, level)| copy.cells.copy_from(&level.cells));
        Ok(copy)
    }

    /// A filter of these levels with the cells that `cells` gives each.
    fn of_levels<E: From<SizeError>>(
        hasher: KeyHasher,
        rule: Rule,
        shapes: &[BitwiseLevel],
        about: About,
        mut cells: impl FnMut(BitwiseLevel) -> Result<Counters<M>, E>,
    ) -> Result<Self, E> {
        let Some((first, more)) = shapes.split_first() else { return Err(SizeError::ZeroCells.into()) };
        let base = Level::new(*first, rule.scheme, 0, 0, cells(*first)?);
        let mut below = first.digit;
        let mut level = |(number, shape): (usize, &BitwiseLevel)| {
            let level = Level::new(*shape, rule.scheme, number as u32 + 1, below, cells(*shape)?);
            below += shape.digit;
            Ok(level)
        };
        let levels = more.iter().enumerate().map(&mut level).collect::<Result<_, E>>()?;
        Ok(Self { hasher, base, above: Above { rule, first: *first, levels }, about })
    }
}

impl<M: Memory> fmt::Debug for BitwiseBloom<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<_> = self.levels().collect();
        f.debug_struct("BitwiseBloom")
            .field("hasher", &self.hasher)
            .field("rule", &self.above.rule)
            .field("levels", &levels)
            .finish()
    }
}

/// Equal in identity, levels and how more are added: the same answer to every key, also after more
/// insertions. What they were planned for does not count.
impl<M: Memory, N: Memory> PartialEq<BitwiseBloom<N>> for BitwiseBloom<M> {
    fn eq(&self, other: &BitwiseBloom<N>) -> bool {
        self.identity() == other.identity()
            && self.above.rule == other.above.rule
            && self.levels().eq(other.levels())
            && self.all().zip(other.all()).all(|(ours, theirs)| ours.cells == theirs.cells)
    }
}

impl<M: Memory> BitwiseBloom<M> {
    fn level(&self, number: usize) -> &Level<M> {
        if number == 0 { &self.base } else { &self.above.levels[number - 1] }
    }
}

impl<M: Memory> Explain for BitwiseBloom<M> {
    fn tables(&self) -> Vec<CellTable> {
        let level = |number: usize| {
            let cells = &self.level(number).cells;
            CellTable::counters(cells.len(), cells.width()).named(alloc::format!("level {}", number + 1))
        };
        (0..=self.above.levels.len()).map(level).collect()
    }
    fn cell(&self, table: usize, at: u64) -> u64 {
        self.level(table).cells.get(at).into()
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        for table in 0..=self.above.levels.len() {
            let level = self.level(table);
            seen.walk(table, &level.scheme, level.own(digest), level.cells.len());
        }
    }
}

filter_impl!([M: Memory] BitwiseBloom<M>);
insert_impl!([] BitwiseBloom);
count_impl!([M: Memory] BitwiseBloom<M>, filter: most filter.max_count(), saturated { let _ = filter; 0 });

#[cfg(test)]
mod tests {
    use super::builder::SLACK;
    use super::level::here;
    use super::*;
    use crate::EncodeError;
    use crate::index::SchemeId;
    use crate::theory::bitwise::digits;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;

    /// Levels of this many cells, with digits of these widths and no others.
    fn given(cells: u64, digits: &[u32]) -> Builder<BitwiseBloom> {
        let level = |digit: &u32| BitwiseLevel { cells, hashes: 5, digit: *digit, width: digit + SLACK };
        let levels: Vec<_> = digits.iter().map(level).collect();
        BitwiseBloom::builder().max_levels(levels.len() as u32).levels(&levels)
    }

    /// The least of the key's cells on each level.
    fn read(filter: &BitwiseBloom, key: &str) -> Vec<u64> {
        let digest = filter.hasher.digest_key(&key);
        filter.all().map(|level| level.least(digest).into()).collect()
    }

    #[test]
    fn carries_run_through_many_levels() {
        let mut bed = BitwiseBloom::builder().cells(2_000).hashes(5).digit(1).build().unwrap();
        for count in 1..=1 << 12 {
            assert_eq!(bed.insert("rose"), count == 1);
            assert_eq!(bed.count("rose"), count);
            assert!(bed.contains("rose"), "also where lower digits are zero");
        }
        assert_eq!(bed.levels().count(), 13);
        assert_eq!(read(&bed, "rose"), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((bed.count("thistle"), bed.contains("thistle")), (0, false));
    }

    #[test]
    fn each_digit_weighs_what_the_digits_below_it_can_count_to() {
        let widths = [3, 1, 4, 2];
        let mut bed = given(2_000, &widths).build().unwrap();
        for count in 1..1 << 10 {
            bed.insert("rose");
            assert_eq!((bed.count("rose"), read(&bed, "rose")), (count, digits(count, &widths).0));
        }
        assert_eq!(bed.max_count(), (1 << 10) - 1);
    }

    #[test]
    fn a_new_level_changes_no_count_and_has_its_own_hash_functions() {
        let mut bed = BitwiseBloom::builder().cells(500).hashes(3).build().unwrap();
        bed.extend((0..100u32).flat_map(|key| core::iter::repeat_n(key, 1 + key as usize % 9)));
        let keys: Vec<u32> = (0..3_000).collect();
        let before = bed.count_many(&keys);
        assert!(bed.above.levels.is_empty() && bed.above.grow() && bed.above.grow());
        assert_eq!(bed.count_many(&keys), before);
        let at = |number| bed.base.scheme.positions(here(Digest(99), number), 1 << 40).collect::<Vec<_>>();
        assert!(at(0) != at(1) && at(1) != at(2) && at(0) != at(2));
        assert_eq!(at(0), bed.base.scheme.positions(Digest(99), 1 << 40).collect::<Vec<_>>());
    }

    #[test]
    fn added_levels_follow_the_share_and_keep_a_least_size() {
        let shapes = |builder: Builder<BitwiseBloom>| {
            let mut bed = builder.build().unwrap();
            while bed.above.grow() {}
            bed.levels().map(|level| (level.cells, level.digit)).collect::<Vec<_>>()
        };
        let builder = || BitwiseBloom::builder().cells(5_001).hashes(3);
        assert_eq!(
            shapes(builder().digit(20)),
            [(5_001, 20), (2_501, 20), (1_251, 20), (1_024, 4)] // 64 bits in all, and 1,024 cells at least
        );
        assert_eq!(shapes(builder().share(0.7).max_levels(2)), [(5_001, 4), (3_501, 4)]);
        let few = BitwiseBloom::builder().cells(10).hashes(4).scheme(SchemeId::Partition).max_levels(3);
        assert_eq!(shapes(few), [(12, 4), (12, 4), (12, 4)]);
        let most = BitwiseBloom::builder().cells(9).hashes(1).build().unwrap();
        assert_eq!(most.max_count(), u64::MAX);
    }

    #[test]
    fn a_carry_takes_the_whole_digit_and_leaves_what_others_have() {
        // One cell per level: other keys have 2 of its 5, and the key reads a full digit of 3.
        let mut bed = given(1, &[2, 2]).build().unwrap();
        bed.base.cells.set(0, 5);
        assert!(!bed.insert("rose"));
        assert_eq!((bed.base.cells.get(0), bed.above.levels[0].cells.get(0)), (2, 1));
        // A cell at its top has lost count and is not lowered; the other cell is.
        let mut bed = given(2, &[2, 2]).build().unwrap();
        let digest = (0..).map(Digest).find(|digest| {
            let at = |number| bed.base.scheme.positions(here(*digest, number), 2).sum::<u64>();
            (1..5).contains(&at(0)) && (1..5).contains(&at(1)) // both cells on both levels
        });
        bed.base.cells.set(0, 63);
        bed.base.cells.set(1, 3);
        bed.insert_digest(digest.unwrap());
        assert_eq!((bed.base.cells.get(0), bed.base.cells.get(1)), (63, 0));
    }

    #[test]
    fn a_cell_that_says_more_than_a_full_digit_is_not_believed() {
        let mut bed = given(1, &[2, 2]).build().unwrap();
        bed.base.cells.set(0, 40);
        bed.above.levels[0].cells.set(0, 9);
        assert_eq!((bed.count("rose"), bed.count_many(&["rose"])), (15, vec![15]));
    }

    #[test]
    fn a_count_that_can_grow_no_more_stays() {
        let mut bed = given(100, &[1, 2]).build().unwrap();
        (0..50).for_each(|_| _ = bed.insert("rose"));
        assert_eq!(bed.count("rose"), 7);
        let before = bed.clone();
        assert_eq!(bed.insert_times("rose", 1), Err(Overflow { count: 8, top: 7 }));
        assert_eq!(bed.insert_times("tulip", 8), Err(Overflow { count: 8, top: 7 }));
        assert_eq!(bed.insert_times("tulip", u64::MAX), Err(Overflow { count: u64::MAX, top: 7 }));
        assert_eq!((bed.insert_many(&["rose"]), &bed), (0, &before));
        assert_eq!(bed.insert_times("tulip", 7), Ok(true));
        // 64 bits of digits hold every count.
        let mut bed = BitwiseBloom::builder().cells(2_000).hashes(5).digit(7).build().unwrap();
        assert_eq!(bed.insert_times("rose", u64::MAX), Ok(true));
        assert_eq!((bed.count("rose"), bed.levels().count(), bed.insert("rose")), (u64::MAX, 10, false));
        assert_eq!((bed.count("rose"), bed.count("tulip")), (u64::MAX, 0));
        assert_eq!(bed.insert_times("rose", 0), Ok(false));
    }

    #[test]
    fn a_key_that_has_lost_count_changes_nothing() {
        for stuck in 0..2 {
            let mut bed = given(1, &[2, 2, 2]).build().unwrap();
            bed.base.cells.set(0, 3);
            bed.all_mut().nth(stuck).unwrap().cells.set(0, 63);
            let (before, count) = (bed.clone(), bed.count("rose"));
            assert_eq!((bed.insert("rose"), &bed), (false, &before));
            assert_eq!(bed.insert_times("rose", 1), Err(Overflow { count: count + 1, top: count }));
            assert_eq!((&bed, bed.saturated()), (&before, 1));
        }
    }

    #[test]
    fn known_counts_are_placed_as_they_are() {
        let counts =
            [("rose", 1), ("tulip", 1 << 40), ("rose", 2), ("daisy", 0), ("aster", u64::MAX), ("aster", 9)];
        for digit in [1, 3, 4, 29] {
            let bed = BitwiseBloom::builder().fpp(0.001).digit(digit).from_counts(counts).unwrap();
            let found = ["rose", "tulip", "daisy", "aster"].map(|key| bed.count(key));
            assert_eq!(found, [3, 1 << 40, 0, u64::MAX], "{digit}");
            assert_eq!(bed.levels().map(|level| level.digit).sum::<u32>(), 64);
            assert_eq!((bed.about().planned_items(), bed.about().planned_fpp()), (3, 0.001));
        }
        let none = BitwiseBloom::from_counts([("rose", 0)], 0.01).unwrap();
        assert_eq!((none.count("rose"), none.fill(), none.fpp()), (0, 0.0, 0.0));
        let hashed = BitwiseBloom::from_counts([(crate::Hashed(&1), 1)], 0.01).unwrap();
        assert!(matches!(hashed.to_bytes(), Err(EncodeError::NotPortable)));
    }

    #[test]
    fn shapes_that_cannot_be_are_errors() {
        let plain = || BitwiseBloom::builder().cells(10).hashes(2);
        let message = |b: Builder<BitwiseBloom>| b.build().unwrap_err().to_string();
        for (digit, width) in [(0, 4), (1, 3), (4, 6), (29, 31), (u32::MAX, 32)] {
            assert_eq!(
                plain().digit(digit).width(width).build().unwrap_err(),
                SizeError::Digit { digit, width }
            );
        }
        assert_eq!(plain().width(33).build().unwrap_err(), SizeError::Width { width: 33 });
        assert_eq!(plain().digit(30).build().unwrap_err(), SizeError::Digit { digit: 30, width: 32 });
        for share in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
            assert!(message(plain().share(share)).contains("share"));
        }
        for most in [0, 65, u32::MAX] {
            assert!(message(plain().max_levels(most)).contains("max_levels"));
        }
        assert!(message(given(10, &[4, 4]).max_levels(1)).contains("max_levels"));
        assert!(message(given(10, &[25, 25, 25])).contains("64 bits"));
        let level = BitwiseLevel { cells: 10, hashes: 2, digit: 4, width: 8 };
        let of = |level| BitwiseBloom::builder().levels(&[level]).build().unwrap_err();
        assert_eq!(of(BitwiseLevel { cells: 0, ..level }), SizeError::ZeroCells);
        assert_eq!(of(BitwiseLevel { hashes: 0, ..level }), SizeError::Hashes { hashes: 0, max: 255 });
        assert_eq!(of(BitwiseLevel { hashes: 256, ..level }), SizeError::Hashes { hashes: 256, max: 255 });
        assert!(matches!(of(BitwiseLevel { cells: u64::MAX, ..level }), SizeError::TooManyCells { .. }));
        for both in [plain(), BitwiseBloom::builder().fpp(0.1), BitwiseBloom::builder().digit(4)] {
            assert!(message(both.levels(&[level])).contains("levels give every shape"));
        }
        assert!(message(BitwiseBloom::builder()).contains("give items and fpp"));
        let counted = |b: Builder<BitwiseBloom>| b.from_counts([("rose", 300)]).unwrap_err().to_string();
        assert!(counted(plain().fpp(0.1)).contains("known counts"));
        assert!(counted(BitwiseBloom::builder().items(3).fpp(0.1)).contains("known counts"));
        assert!(counted(plain().max_levels(2)).contains("more levels"));
        assert!(counted(BitwiseBloom::builder().fpp(0.1).max_levels(2)).contains("max_levels"));
        assert!(counted(BitwiseBloom::builder().fpp(0.1).digit(0)).contains("a digit of 0 bits"));
        assert!(counted(BitwiseBloom::builder().fpp(1.5)).contains("1.5"));
    }

    proptest! {
        /// What adding one at a time does, in one step.
        #[test]
        fn adding_many_is_adding_one_so_often(least in 0u32..200, digit in 1u32..8, times in 0u64..300) {
            let one = |(least, carry), _| match least >= (1 << digit) - 1 {
                true => (least - ((1 << digit) - 1), carry + 1),
                false => (least + 1, carry),
            };
            prop_assert_eq!(add(least, digit, times), (0..times).fold((least, 0), one));
        }

        #[test]
        fn insert_times_is_insertion_so_often(
            cells in prop_oneof![20u64..200, Just(5_000)],
            digit in 1u32..6,
            keys in proptest::collection::vec((0u8..30, 0u64..60), 0..40),
        ) {
            // Wide cells: one that reached its top on the way would differ.
            let builder = || BitwiseBloom::builder().cells(cells).hashes(4).digit(digit).width(20);
            let (mut one_by_one, mut at_once) = (builder().build().unwrap(), builder().build().unwrap());
            for (key, times) in keys {
                let new = at_once.count(key) == 0 && times > 0;
                (0..times).for_each(|_| _ = one_by_one.insert(key));
                prop_assert_eq!(at_once.insert_times(key, times), Ok(new));
                prop_assert_eq!(&at_once, &one_by_one);
            }
        }
    }
}
