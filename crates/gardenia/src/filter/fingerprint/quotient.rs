//! The quotient filter: fingerprints in the order of a table, to be counted, removed, merged and
//! listed.
//!
//! The upper part of a fingerprint, its quotient, is the slot where it belongs; the lower part, its
//! remainder, is what is stored. Remainders of one quotient lie side by side, sorted: a *run*. A
//! run that is in the way of another shifts it to the right, and what lies between two free slots,
//! or begins in its own slot, is a *cluster*. Three bits per slot tell all of it apart: whether
//! some run belongs to the slot (*occupied*), whether a remainder continues the run before it
//! (*continuation*), and whether it lies right of where it belongs (*shifted*).
//!
//! The subtle rules: the first bit belongs to the slot and stays when remainders move; the two
//! others belong to the remainder. And one slot is always free, so that every cluster has an end.
//! Where a remainder lies follows from the set of fingerprints alone, whatever the order of
//! insertion: two filters of the same keys are equal bit for bit.
//!
//! The number of slots need not be a power of two: a fingerprint is the digest scaled to m·2^r, so
//! that quotients ascend with digests.
//!
//! Source: Bender et al., "Don't Thrash: How to Cache Your Hash on Flash" (2012), section 3.

use crate::cells::{Bytes, Lines, Memory, Owned, Packed, packed_words};
use crate::explain::{CellTable, Explain, Holds, Seen};
use crate::filter::builder::{Built, ForItems, ForRate, InCells};
use crate::filter::request::{Request, filter_facts};
use crate::filter::verbs::{count_impl, filter_impl, remove_impl, try_insert_impl};
use crate::filter::{About, Builder, Identity};
use crate::format::{self, Header, Kind, ReadOptions, Stored};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::scale;
use crate::simd::{Bools, Given, Keys, Sink, Source, ahead, with_best};
use crate::spec::{FromSpec, Measure, Spec};
use crate::theory::bloom::Estimate;
use crate::theory::quotient::{self, FLAGS, QuotientShape};
use crate::{DecodeError, EncodeError, Full, Merge, Mismatch, RemoveError, SizeError};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A filter of sorted fingerprints: counts, removes, merges and lists them, and can be full.
///
/// ```
/// let mut filter = gardenia::Quotient::new(1_000, 0.01)?;
/// assert_eq!(filter.insert("rose"), Ok(true));
/// assert_eq!(filter.insert("rose"), Ok(false));
/// assert!(filter.contains("rose") && !filter.contains("tulip"));
/// assert_eq!(filter.count("rose"), 2);
/// filter.remove("rose").unwrap();
/// assert_eq!((filter.count("rose"), filter.items()), (1, 1));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Each copy of a key takes a slot of its own. Unlike a [`Cuckoo`](crate::Cuckoo) filter it holds
/// any number of copies, can be merged, and can list its fingerprints; it is an eighth larger, and
/// a query walks through a cluster, which takes ten times as long (`gardenia bench --calibrate`).
#[derive(Clone)]
pub struct Quotient<M = Owned> {
    hasher: KeyHasher,
    slots: Packed<M>,
    shape: QuotientShape,
    items: u64,
    about: About,
}

#[derive(Clone, Debug, Default)]
pub struct QuotientOptions {
    width: Option<u32>,
}

impl Built for Quotient {
    type Options = QuotientOptions;
}
impl ForItems for Quotient {}
impl ForRate for Quotient {}
impl InCells for Quotient {}

impl Builder<Quotient> {
    /// Bits of a slot, 4 and more: three flags, and the remainder.
    pub fn width(mut self, width: u32) -> Self {
        self.options.width = Some(width);
        self
    }

    /// The filter's shape, before any memory is taken.
    pub fn shape(&self) -> Result<QuotientShape, SizeError> {
        let Request { items, fpp, cells, .. } = self.request;
        let width = self.options.width;
        match (items, fpp, cells, width) {
            (Some(items), Some(fpp), None, None) => quotient::shape(items, fpp),
            (Some(0), None, None, Some(_)) => Err(SizeError::ZeroItems),
            (Some(items), None, None, Some(width)) => {
                let cells = libm::ceil(items as f64 / quotient::LOAD) as u64;
                QuotientShape { cells: cells.max(items.saturating_add(1)), width }.check()
            }
            (_, None, Some(cells), Some(width)) => QuotientShape { cells, width }.check(),
            _ => Err(SizeError::Conflict("give items and fpp, or items and width, or cells and width")),
        }
    }

    /// The filter.
    pub fn build(self) -> Result<Quotient, SizeError> {
        let shape = self.shape()?;
        let about = match self.request.items {
            Some(items) => {
                let rate = || quotient::fpp(shape.cells, items, shape.width);
                About::planned(items, self.request.fpp.unwrap_or_else(rate))
            }
            None => About::default(),
        };
        let slots = Packed::new(shape.cells, shape.width)?;
        Ok(Quotient { hasher: self.request.hasher, slots, shape, items: 0, about })
    }
}

/// Some run belongs to this slot.
const OCCUPIED: u64 = 1;
/// The remainder continues the run before it.
const CONTINUATION: u64 = 2;
/// The remainder lies right of its own slot.
const SHIFTED: u64 = 4;

/// A slot and the three bits of it.
#[derive(Clone, Copy)]
struct Slot(u64);

impl Slot {
    fn is_empty(self) -> bool {
        self.0 & (OCCUPIED | CONTINUATION | SHIFTED) == 0
    }
    fn is_occupied(self) -> bool {
        self.0 & OCCUPIED != 0
    }
    fn is_continuation(self) -> bool {
        self.0 & CONTINUATION != 0
    }
    fn is_shifted(self) -> bool {
        self.0 & SHIFTED != 0
    }
    fn remainder(self) -> u64 {
        self.0 >> FLAGS
    }
}

impl Quotient {
    /// A filter for `items` keys at a false-positive probability of at most `fpp`.
    pub fn new(items: u64, fpp: f64) -> Result<Self, SizeError> {
        Self::builder().items(items).fpp(fpp).build()
    }

    /// A builder, to choose slots, width, seed, secret. A key takes room as often as it is
    /// inserted.
    ///
    /// ```
    /// let filter = gardenia::Quotient::builder().cells(1_000).width(12).seed(7).build()?;
    /// assert_eq!((filter.cells(), filter.width()), (1_000, 12));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn builder() -> Builder<Quotient> {
        Builder::new(QuotientOptions::default())
    }

    /// Adds `key`; true if it was certainly absent before. If there is no room for it, nothing has
    /// changed.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Full> {
        self.about.took_key(&key);
        self.insert_digest(self.hasher.digest_key(&key))
    }

    /// Adds all keys, hashing and fetching ahead; how many were certainly absent before. Stops at
    /// the first that does not fit: the error says how many were added.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<u64, Full> {
        self.about.took::<K>();
        let mut count = 0;
        self.insert_each(Keys::new(&self.hasher, keys), &mut count)?;
        Ok(count)
    }

    /// Adds the keys with these digests in order, and reports for each whether it was certainly
    /// absent before. Stops at the first that does not fit: the error says how many were added.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<(), Full> {
        self.insert_each(Given(digests), &mut Bools::of(digests, new))
    }
    /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
    ///
    /// Only remove what was inserted: a false positive passes the check, and removing it can hide a
    /// key that is in.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> Result<(), RemoveError> {
        self.remove_digest(self.hasher.digest_key(&key))
    }

    /// Adds the key with this digest; true if it was certainly absent before. If there is no room
    /// for it, nothing has changed.
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full> {
        self.insert_fingerprint(self.fingerprint(digest))
    }

    /// Adds digests in order, up to the first that does not fit; `new` receives for each whether it
    /// was certainly absent.
    fn insert_each(&mut self, digests: impl Source, new: &mut impl Sink) -> Result<(), Full> {
        let (shape, far) = (self.shape, ahead::is_far(self.slots.memory().words()));
        let lines = Lines::new(self.slots.memory().as_slice());
        let (mut taken, mut full) = (0, false);
        let fetch = |digest| lines.prefetch(scale(digest, shape.cells) * u64::from(shape.width));
        let ask = |digest: Digest| {
            if full {
                return false;
            }
            let added = self.insert_digest(digest);
            (full, taken) = (added.is_err(), taken + u64::from(added.is_ok()));
            added == Ok(true)
        };
        with_best(|| digests.each::<{ ahead::TWO_LINES }>(far, |digest: Digest| fetch(digest.0), ask, new));
        if full { Err(Full { taken, copies: false }) } else { Ok(()) }
    }

    fn insert_fingerprint(&mut self, fingerprint: u64) -> Result<bool, Full> {
        if self.items + 1 >= self.shape.cells {
            return Err(Full { taken: 0, copies: false });
        }
        let (own, remainder) = self.split(fingerprint);
        self.items += 1;
        let slot = self.slot(own);
        if slot.is_empty() {
            self.slots.set(own, remainder << FLAGS | OCCUPIED);
            return Ok(true);
        }
        let (begun, mut new) = (slot.is_occupied(), true);
        self.slots.set(own, slot.0 | OCCUPIED);
        let start = self.run_start(own);
        let mut at = start;
        if begun {
            loop {
                let there = self.slot(at).remainder();
                new &= there != remainder;
                if there >= remainder {
                    break;
                }
                at = self.after(at);
                if !self.slot(at).is_continuation() {
                    break;
                }
            }
            if at == start {
                self.slots.set(start, self.slot(start).0 | CONTINUATION);
            }
        }
        let continues = if begun && at != start { CONTINUATION } else { 0 };
        let shifted = if at == own { 0 } else { SHIFTED };
        // Everything up to the next free slot moves by one.
        let mut moving = remainder << FLAGS | continues | shifted;
        loop {
            let there = self.slot(at);
            self.slots.set(at, moving | there.0 & OCCUPIED);
            if there.is_empty() {
                return Ok(new);
            }
            moving = there.0 & !OCCUPIED | SHIFTED;
            at = self.after(at);
        }
    }

    /// Removes the key with this digest once. If it is not in the filter, nothing has changed.
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError> {
        if !self.contains_digest(digest) {
            return Err(RemoveError::Absent);
        }
        let fingerprint = self.fingerprint(digest);
        let start = self.cluster_start(self.split(fingerprint).0);
        let mut cluster: Vec<u64> = self.cluster(start).collect();
        let mut at = start;
        for _ in 0..cluster.len() {
            self.slots.set(at, 0);
            at = self.after(at);
        }
        if let Some(found) = cluster.iter().position(|other| *other == fingerprint) {
            cluster.remove(found);
        }
        self.lay(start, &cluster);
        self.items -= 1;
        Ok(())
    }

    /// Lays fingerprints, in the order of their quotients from `start` on, into free slots.
    fn lay(&mut self, start: u64, fingerprints: &[u64]) {
        let (mut next, mut before) = (0, None);
        for fingerprint in fingerprints {
            let (own, remainder) = self.split(*fingerprint);
            let place = self.distance(start, own).max(next);
            let at = self.step(start, place);
            let continues = if before == Some(own) { CONTINUATION } else { 0 };
            let shifted = if at == own { 0 } else { SHIFTED };
            self.slots.set(own, self.slot(own).0 | OCCUPIED);
            self.slots.set(at, self.slot(at).0 & OCCUPIED | remainder << FLAGS | continues | shifted);
            (next, before) = (place + 1, Some(own));
        }
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.slots.words_mut().fill(0);
        self.items = 0;
        self.about.forget();
    }
}

impl<M: Memory> Quotient<M> {
    /// Whether `key` may be present: never false for a key that is.
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
    /// How often `key` was inserted, less how often it was removed: never too little.
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

    /// The key's place among all fingerprints, in the order of digests.
    #[inline(always)]
    fn fingerprint(&self, digest: Digest) -> u64 {
        scale(digest.0, self.shape.cells << self.shape.remainder())
    }

    /// Quotient and remainder.
    #[inline(always)]
    fn split(&self, fingerprint: u64) -> (u64, u64) {
        let bits = self.shape.remainder();
        (fingerprint >> bits, fingerprint & ((1 << bits) - 1))
    }

    #[inline(always)]
    fn slot(&self, at: u64) -> Slot {
        Slot(self.slots.get(at))
    }

    /// The slot after `at`: after the last comes the first.
    #[inline(always)]
    fn after(&self, at: u64) -> u64 {
        if at + 1 == self.shape.cells { 0 } else { at + 1 }
    }

    #[inline(always)]
    fn before(&self, at: u64) -> u64 {
        if at == 0 { self.shape.cells - 1 } else { at - 1 }
    }

    /// The slot `by` places after `at`.
    fn step(&self, at: u64, by: u64) -> u64 {
        let sum = at + by;
        if sum >= self.shape.cells { sum - self.shape.cells } else { sum }
    }

    /// How many steps lead from `at` to `to`.
    fn distance(&self, at: u64, to: u64) -> u64 {
        if to >= at { to - at } else { to + self.shape.cells - at }
    }

    /// Where the cluster begins that `at` is in. In files that were never checked all slots may be
    /// shifted: the walk ends there, too.
    fn cluster_start(&self, mut at: u64) -> u64 {
        for _ in 0..self.shape.cells {
            if !self.slot(at).is_shifted() {
                break;
            }
            at = self.before(at);
        }
        at
    }

    /// Where the run of an occupied slot begins: as many runs after the start of the cluster as
    /// there are occupied slots up to it.
    fn run_start(&self, own: u64) -> u64 {
        let mut slot = self.cluster_start(own);
        let mut run = slot;
        let mut left = 2 * self.shape.cells; // in files that were never checked
        while slot != own && left > 0 {
            loop {
                run = self.after(run);
                left = left.saturating_sub(1);
                if left == 0 || !self.slot(run).is_continuation() {
                    break;
                }
            }
            loop {
                slot = self.after(slot);
                left = left.saturating_sub(1);
                if left == 0 || self.slot(slot).is_occupied() {
                    break;
                }
            }
        }
        run
    }

    /// Whether the key with this digest may be present.
    #[must_use]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.remainders(digest).next().is_some()
    }

    /// The count of the key with this digest: of all fingerprints like its own.
    #[must_use]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        self.remainders(digest).count() as u64
    }

    /// The slots of the run that belongs to slot `own`.
    #[inline(always)]
    fn run(&self, own: u64) -> impl Iterator<Item = u64> {
        let start = self.slot(own).is_occupied().then(|| self.run_start(own));
        core::iter::successors(start, move |at| {
            let next = self.after(*at);
            // A run that goes all the way round is none; one slot is free.
            (self.slot(next).is_continuation() && Some(next) != start).then_some(next)
        })
    }

    /// The remainders like that of a digest in its run.
    #[inline(always)]
    fn remainders(&self, digest: Digest) -> impl Iterator<Item = u64> {
        let (own, remainder) = self.split(self.fingerprint(digest));
        self.run(own)
            .map(|at| self.slot(at).remainder())
            .skip_while(move |other| *other < remainder)
            .take_while(move |other| *other == remainder)
    }

    /// The fingerprints of the cluster that begins at `start`.
    fn cluster(&self, start: u64) -> impl Iterator<Item = u64> {
        let (mut at, mut own, mut left) = (start, start, self.shape.cells);
        core::iter::from_fn(move || {
            let slot = self.slot(at);
            let ends = slot.is_empty() || (at != start && !slot.is_shifted());
            if left == 0 || ends {
                return None;
            }
            if at != start && !slot.is_continuation() {
                own = self.next_occupied(own)?;
            }
            left -= 1;
            at = self.after(at);
            Some(own << self.shape.remainder() | slot.remainder())
        })
    }

    /// The next slot after `own` that a run belongs to.
    fn next_occupied(&self, own: u64) -> Option<u64> {
        let slots = core::iter::successors(Some(self.after(own)), |at| Some(self.after(*at)));
        slots.take(self.shape.cells as usize).find(|at| self.slot(*at).is_occupied())
    }

    /// All fingerprints, each as often as it is in the filter, ascending from some slot on and
    /// round to it: numbers below
    /// [`cells`](Self::cells)·2^[`remainder_bits`](Self::remainder_bits), in the order of digests.
    ///
    /// ```
    /// let mut filter = gardenia::Quotient::new(100, 0.01)?;
    /// filter.insert_many(&["rose", "tulip", "rose"]).unwrap();
    /// let mut fingerprints: Vec<u64> = filter.fingerprints().collect();
    /// assert_eq!(fingerprints.len(), 3);
    /// fingerprints.dedup();
    /// assert_eq!(fingerprints.len(), 2);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn fingerprints(&self) -> impl Iterator<Item = u64> {
        let starts = (0..self.shape.cells).filter(|at| {
            let slot = self.slot(*at);
            slot.is_occupied() && !slot.is_shifted() && !slot.is_continuation()
        });
        starts.flat_map(|start| self.cluster(start))
    }

    /// Hands the answers for digests to `answers`, in order.
    fn contains_each(&self, digests: impl Source, answers: &mut impl Sink) {
        self.ask_each(digests, |digest| self.contains_digest(digest), answers);
    }

    /// Writes the counts of digests, in order.
    fn count_each(&self, digests: impl Source, counts: &mut [u64]) {
        let mut counts = counts.iter_mut();
        let take = |digest| {
            counts.by_ref().take(1).for_each(|count| *count = self.count_digest(digest));
            false
        };
        self.ask_each(digests, take, &mut 0);
    }

    /// Visits digests in order with their slots asked for ahead.
    fn ask_each(&self, digests: impl Source, ask: impl FnMut(Digest) -> bool, answers: &mut impl Sink) {
        let fetch = |digest: Digest| self.slots.prefetch(scale(digest.0, self.shape.cells));
        let far = ahead::is_far(self.slots.memory().words());
        with_best(|| digests.each::<{ ahead::TWO_LINES }>(far, fetch, ask, answers));
    }

    filter_facts!();

    /// Number of slots, m.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.shape.cells
    }

    /// Bits of a slot: the remainder, and three flags.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.shape.width
    }

    /// Bits of a remainder, r.
    #[must_use]
    pub fn remainder_bits(&self) -> u32 {
        self.shape.remainder()
    }

    /// The number of keys in the filter, counting every copy.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The share of slots that are in use: the load.
    #[must_use]
    pub fn fill(&self) -> f64 {
        self.items as f64 / self.cells() as f64
    }

    /// Whether it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items() == 0
    }

    /// The current false-positive probability, from the load; an upper bound if keys have copies.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        quotient::fpp(self.cells(), self.items, self.width())
    }

    /// The number of keys in the filter, every copy included: counted, not estimated.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        Estimate { items: self.items as f64, std_error: 0.0 }
    }

    /// Memory used by the slots, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slots.memory().words() * 8
    }

    /// Hasher and shape. Its cells are the slots; a key has one of them.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            kind: Kind::Quotient,
            hasher: self.hasher.id(),
            mark: self.hasher.mark(),
            scheme: None,
            hashes: 1,
            cells: self.cells(),
            width: self.width(),
        }
    }

    /// An own copy of the filter: of a mapped one, or of its own kind.
    pub fn try_to_owned(&self) -> Result<Quotient, SizeError> {
        let mut slots = Packed::new(self.cells(), self.width())?;
        let memory = self.slots.memory();
        slots.words_mut().iter_mut().enumerate().for_each(|(at, word)| *word = memory.load(at));
        Ok(Quotient {
            hasher: self.hasher.clone(),
            slots,
            shape: self.shape,
            items: self.items,
            about: self.about.clone(),
        })
    }

    /// An error unless every remainder lies where the set of fingerprints puts it.
    fn check_slots(&self) -> Result<(), DecodeError> {
        let damaged = |what| Err(DecodeError::Damaged(what));
        let Some(free) = (0..self.cells()).find(|at| self.slot(*at).is_empty()) else {
            return damaged("no slot is free");
        };
        // From the free slot once round; places are counted from it on.
        let (mut own, mut occupied, mut runs, mut items) = (0, 0u64, 0u64, 0u64);
        let (mut last, mut in_cluster) = (0, false);
        for place in 1..self.cells() {
            let slot = self.slot(self.step(free, place));
            if slot.is_empty() {
                if occupied != runs {
                    return damaged("a slot is marked as occupied and has no run");
                }
                if slot.0 != 0 {
                    return damaged("a free slot holds a remainder");
                }
                in_cluster = false;
                continue;
            }
            occupied += u64::from(slot.is_occupied());
            items += 1;
            if slot.is_continuation() {
                if !in_cluster || !slot.is_shifted() || slot.remainder() < last {
                    return damaged("a run is not sorted, or has no beginning");
                }
            } else {
                runs += 1;
                let next = (own + 1..=place).find(|at| self.slot(self.step(free, *at)).is_occupied());
                match next {
                    Some(next) if slot.is_shifted() == (next != place) => own = next,
                    _ => return damaged("a run is not where it belongs"),
                }
            }
            (last, in_cluster) = (slot.remainder(), true);
        }
        if occupied != runs {
            return damaged("a slot is marked as occupied and has no run");
        }
        match items == self.items {
            true => Ok(()),
            false => damaged("the header counts other items than there are fingerprints"),
        }
    }
}

/// Merging adds the fingerprints of both, each as often as it is in either. An error, and nothing
/// has changed, if there is no room.
///
/// ```
/// use gardenia::{Merge, Quotient};
/// let (mut a, mut b) = (Quotient::new(100, 0.01)?, Quotient::new(100, 0.01)?);
/// a.insert_many(&["rose", "tulip"]).unwrap();
/// b.insert_many(&["rose", "lily"]).unwrap();
/// a.merge(&b).unwrap();
/// assert_eq!((a.count("rose"), a.count("lily"), a.items()), (2, 1, 4));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
impl Merge for Quotient {
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        self.identity().check(&other.identity())?;
        let room = self.cells() - 1 - self.items;
        if other.items > room {
            let (ours, theirs) = (room.to_string(), other.items.to_string());
            return Err(Mismatch { what: "room for keys", ours, theirs });
        }
        for fingerprint in other.fingerprints() {
            let added = self.insert_fingerprint(fingerprint);
            debug_assert!(added.is_ok(), "there was room");
        }
        self.about.took_all(&other.about);
        Ok(())
    }
}

impl<M: Memory> fmt::Debug for Quotient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quotient")
            .field("hasher", &self.hasher)
            .field("cells", &self.cells())
            .field("width", &self.width())
            .field("items", &self.items)
            .finish()
    }
}

/// Equal in identity and fingerprints: the same keys in any order.
impl<M: Memory, N: Memory> PartialEq<Quotient<N>> for Quotient<M> {
    fn eq(&self, other: &Quotient<N>) -> bool {
        let words = 0..self.slots.memory().words();
        self.identity() == other.identity()
            && words.into_iter().all(|at| self.slots.memory().load(at) == other.slots.memory().load(at))
    }
}

impl<M: Memory> Explain for Quotient<M> {
    fn tables(&self) -> Vec<CellTable> {
        vec![CellTable::new("slots", Holds::Fingerprints, self.shape.cells, self.shape.remainder() + FLAGS)]
    }
    /// The remainder with its three flags below it, so that an empty slot alone is 0.
    fn cell(&self, _: usize, at: u64) -> u64 {
        self.slots.get(at)
    }
    fn look(&self, digest: Digest, seen: &mut Seen) {
        let (own, remainder) = self.split(self.fingerprint(digest));
        seen.fingerprint = Some(remainder);
        let mut run: Vec<u64> = self.run(own).collect();
        if run.is_empty() {
            run.push(own);
        }
        seen.add(0, 0, run);
    }
    fn agrees(&self, value: u64, fingerprint: Option<u64>) -> Option<bool> {
        Some(!Slot(value).is_empty() && Some(Slot(value).remainder()) == fingerprint)
    }
}

filter_impl!([M: Memory] Quotient<M>);
try_insert_impl!([] Quotient);
count_impl!([M: Memory] Quotient<M>);
remove_impl!([] Quotient);

impl<M: Memory> Stored for Quotient<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        let header = Header::new(self.identity(), &self.hasher, &self.about, self.memory_bytes() as u64)?;
        Ok(Header { items: self.items, ..header })
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        vec![self.slots.memory()]
    }
}

/// The parts of a stored filter other than its slots, checked.
fn restore(header: &Header, options: &ReadOptions) -> Result<(KeyHasher, QuotientShape, About), DecodeError> {
    header.check_kind(Kind::Quotient)?;
    header.check_no_scheme()?;
    header.check_params(&[])?;
    let Identity { cells, width, hashes, .. } = header.identity;
    DecodeError::check("hashes", hashes.into(), hashes == 1, "a key has one slot")?;
    let shape = QuotientShape { cells, width };
    DecodeError::check(
        "cell width",
        width.into(),
        shape.check().is_ok(),
        "quotient and remainder have 1 to 56 bits",
    )?;
    DecodeError::check("items counted", header.items, header.items < cells, "one slot must be free")?;
    header.check_payload(
        packed_words(cells, width).and_then(|words| words.checked_mul(8)).unwrap_or(u64::MAX),
    )?;
    Ok((header.hasher(options)?, shape, header.about()))
}

impl format::Restore for Quotient {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        let (hasher, shape, about) = restore(header, options)?;
        let slots = Packed::new(shape.cells, shape.width)?;
        Ok(Self { hasher, slots, shape, items: header.items, about })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        vec![self.slots.words_mut()]
    }
    fn check(&self) -> Result<(), DecodeError> {
        match self.slots.tail_is_clear() {
            true => self.check_slots(),
            false => Err(DecodeError::Damaged("bits behind the last slot are set")),
        }
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for Quotient<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        let (hasher, shape, about) = restore(header, options)?;
        let slots = Packed::borrowed(payload, shape.cells, shape.width)
            .ok_or(DecodeError::Damaged("the payload is shorter than its header says"))?;
        Ok(Self { hasher, slots, shape, items: header.items, about })
    }
}

format::stored_methods!(Quotient<M> where M: Memory);
format::read_methods!(Quotient);
format::serde_impls!([M: Memory] Quotient<M>, [] Quotient);

impl Builder<Quotient> {
    fn of(spec: &Spec) -> Self {
        let (request, width) = super::requested(spec);
        Self { request, options: QuotientOptions { width } }
    }
}

impl FromSpec for Quotient {
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<Quotient>::of(spec);
        let shape = builder.shape()?;
        super::fill_in(spec, builder.request.fpp, shape.cells, shape.width);
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        let QuotientShape { cells, width } = Builder::<Quotient>::of(spec).shape()?;
        let words = packed_words(cells, width).ok_or(SizeError::Width { width })?;
        Ok(Measure::as_stored(
            words.saturating_mul(8),
            0,
            spec.rate(|items| quotient::fpp(cells, items, width)),
        ))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<Quotient>::of(spec).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    fn digest(key: u32) -> Digest {
        Digest(Digest(2012).word(key + 1))
    }

    /// Small tables, full to the last slot, against a map of counts: contents, counts, layout, and
    /// files after every step.
    #[test]
    fn it_is_a_multiset_of_fingerprints() {
        for (cells, width) in [(2u64, 4u32), (3, 5), (7, 4), (16, 6), (61, 5)] {
            let mut filter = Quotient::builder().cells(cells).width(width).build().unwrap();
            let mut model: BTreeMap<u64, u64> = BTreeMap::new();
            for step in 0..1_500u32 {
                let key = digest(Digest(u64::from(step)).word(3) as u32 % (2 * cells as u32));
                let fingerprint = filter.fingerprint(key);
                let count = model.get(&fingerprint).copied().unwrap_or(0);
                // Now more insertions, now more removals.
                let inserts = Digest(u64::from(step)).word(4) % 8 < if step / 200 % 2 == 0 { 5 } else { 3 };
                if inserts {
                    match filter.insert_digest(key) {
                        Ok(new) => {
                            assert_eq!(new, count == 0, "step {step}");
                            *model.entry(fingerprint).or_default() += 1;
                        }
                        Err(full) => assert!(filter.items() == cells - 1 && !full.copies),
                    }
                } else {
                    let removed = filter.remove_digest(key).is_ok();
                    assert_eq!(removed, count > 0, "step {step}");
                    if removed {
                        *model.entry(fingerprint).or_default() -= 1;
                    }
                }
                filter.check_slots().unwrap_or_else(|error| panic!("{cells} slots, step {step}: {error}"));
                let mut listed: Vec<u64> = filter.fingerprints().collect();
                listed.sort_unstable();
                let expected: Vec<u64> =
                    model.iter().flat_map(|(f, count)| core::iter::repeat_n(*f, *count as usize)).collect();
                assert_eq!(listed, expected, "{cells} slots, step {step}");
                assert_eq!(filter.items(), expected.len() as u64);
                for key in 0..2 * cells as u32 {
                    let key = digest(key);
                    let count = model.get(&filter.fingerprint(key)).copied().unwrap_or(0);
                    assert_eq!((filter.count_digest(key), filter.contains_digest(key)), (count, count > 0));
                }
            }
        }
    }

    /// Files that an independent program wrote, by the description in `docs/formats.md`.
    #[test]
    fn a_filter_built_here_equals_the_one_built_elsewhere() {
        let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|flower| flower.as_bytes().to_vec());
        let numbers = (-1..990i64).map(|number| number.to_le_bytes().to_vec());
        let many: Vec<Vec<u8>> = flowers.into_iter().chain(numbers).collect();
        let repeated = [&many[..], &many[..2], &many[..2], &many[..2]].concat();
        let builder = Quotient::builder;
        let files: [(&[u8], _, &[_]); 2] = [
            (include_bytes!("../../../tests/data/quotient.gdn"), builder().cells(1011).width(9), &repeated),
            (
                include_bytes!("../../../tests/data/quotient-wide.gdn"),
                builder().cells(21).width(27).seed(5),
                &many[..20],
            ),
        ];
        for (bytes, builder, keys) in files {
            let mut filter = builder.build().unwrap();
            for key in keys {
                filter.insert_digest(filter.hasher().digest(key)).unwrap();
            }
            assert_eq!(filter.to_bytes().unwrap(), bytes);
            assert!(Quotient::from_bytes(bytes).unwrap() == filter);
            assert!(Quotient::view(bytes).unwrap() == filter);
        }
    }

    #[test]
    fn where_keys_lie_does_not_depend_on_their_order() {
        let of = |keys: &mut dyn Iterator<Item = u32>| {
            let mut filter = Quotient::builder().cells(200).width(9).build().unwrap();
            keys.for_each(|key| _ = filter.insert_digest(digest(key)).unwrap());
            filter
        };
        let forwards = of(&mut (0..190));
        assert!(forwards == of(&mut (0..190).rev()));
        let mut more = of(&mut (0..195));
        (190..195).for_each(|key| more.remove_digest(digest(key)).unwrap());
        assert!(forwards == more);
    }

    #[test]
    fn merging_is_insertion_of_both_and_needs_room() {
        let of = |keys: core::ops::Range<u32>| {
            let mut filter = Quotient::builder().cells(101).width(8).build().unwrap();
            keys.for_each(|key| _ = filter.insert_digest(digest(key)).unwrap());
            filter
        };
        let mut both = of(0..60);
        both.merge(&of(60..100)).unwrap();
        assert!(both == of(0..100));
        let before = both.clone();
        let refused = both.merge(&of(0..1)).unwrap_err();
        assert!(refused.what == "room for keys" && both == before);
    }

    #[test]
    fn what_lies_elsewhere_is_refused() {
        let mut filter = Quotient::builder().cells(40).width(8).build().unwrap();
        (0..30).for_each(|key| _ = filter.insert_digest(digest(key)).unwrap());
        let mut refused = 0;
        for at in 0..40 {
            for flip in [1u64, 2, 4, 8, 128] {
                let mut other = filter.clone();
                other.slots.set(at, filter.slot(at).0 ^ flip);
                refused += u64::from(other.check_slots().is_err());
                // Whatever it holds, asking it ends.
                for key in (0..100).map(digest) {
                    let _ = (other.contains_digest(key), other.count_digest(key));
                }
                let _ = other.fingerprints().count();
            }
        }
        // A remainder may be another one; flags may not.
        assert!(refused >= 3 * 40, "{refused}");
    }
}
