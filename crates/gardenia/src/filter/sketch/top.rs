//! The most frequent keys of a stream: a sketch for all keys, and a table of candidates.
//!
//! A key in the table is counted there, exactly, and no longer in the sketch; all others are
//! counted in the sketch. A key enters when its estimate is above the smallest upper bound in a
//! full table, and the one with that bound makes room: what the table counted of it goes into the
//! sketch. So at any time
//!
//! * the sketch has seen all of a key that is not in the table, and its estimate is not below the
//!   truth;
//! * a candidate's count is at least what the table counted of it, and at most that and its
//!   estimate at entry;
//! * every key that is not in the table has a count of [`Top::floor`] at most: no more than its
//!   estimate when it was last turned away, or than its upper bound when it had to leave. So
//!   **every key above the floor is in the table.**
//!
//! How high can the floor be? With m slots and N counted in all, it is at most the least upper
//! bound in the table, m of which sum up to N and the errors of the estimates: N/m and the largest
//! of these errors. The argument is that of Metwally, Agrawal and El Abbadi, "Efficient computation
//! of frequent and top-k elements in data streams" (2005), with estimates of a sketch in place of
//! their least counter. Counting candidates outside the sketch is from Roy, Khan and Alonso,
//! "Augmented Sketch" (2016): the heaviest keys then disturb no other, and cost one look into the
//! table.

use super::candidates::{Candidates, Entry};
use super::count_min::CountMin;
use super::grid::Update;
use super::stored::{PARAMS, StoredShape};
use crate::cells::{CellKind, Memory, Owned};
use crate::filter::Identity;
use crate::format::{self, Header, Kind, ReadOptions, Restore, Section, Stored};
use crate::hash::{Digest, Key};
use crate::index::Form;
use crate::index::rows::CHUNK;
use crate::simd::{Level, digest_slice};
use crate::{DecodeError, EncodeError, Merge, Mismatch, SizeError};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The most frequent keys of a stream, with bounds on how often each occurs.
///
/// ```
/// let mut visits = gardenia::Top::new(10)?;
/// for key in ["rose", "tulip", "rose", "daisy", "rose", "tulip"] {
///     visits.update(key, 1);
/// }
/// let top = visits.top(2);
/// assert_eq!((&top[0].key[..], top[0].lower, top[0].upper), (&b"rose"[..], 3, 3));
/// assert_eq!(&top[1].key[..], b"tulip");
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// It can be saved and counts on later as if nothing had happened. The file holds the candidates'
/// keys as they are, even if a secret hashes them.
///
/// ```
/// let mut monday = gardenia::Top::new(10)?;
/// monday.update("rose", 3);
/// let mut read = gardenia::Top::from_bytes(&monday.to_bytes().unwrap()).unwrap();
/// assert!(read == monday);
/// read.update("rose", 2);
/// assert_eq!(read.bounds("rose"), (5, 5));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
pub struct Top {
    sketch: CountMin,
    candidates: Candidates<Candidate>,
    floor: u64,
    total: u64,
}

/// A frequent key, and bounds on the sum of its weights that always hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hitter {
    /// The key's canonical bytes.
    pub key: Vec<u8>,
    /// What was counted of it exactly: never above the truth.
    pub lower: u64,
    /// Never below the truth.
    pub upper: u64,
}

impl Hitter {
    /// Whether the bounds meet.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }
}

/// A key in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    digest: Digest,
    key: Vec<u8>,
    /// Bounds of its count.
    lower: u64,
    upper: u64,
    /// What the sketch has not seen of it.
    owed: u64,
}

impl Candidate {
    /// Counts more of it.
    #[inline]
    fn raise(&mut self, lower: u64, upper: u64, owed: u64) {
        self.lower = self.lower.saturating_add(lower);
        self.upper = self.upper.saturating_add(upper);
        self.owed = self.owed.saturating_add(owed);
    }

    fn hitter(&self) -> Hitter {
        Hitter { key: self.key.clone(), lower: self.lower, upper: self.upper }
    }
}

impl Entry for Candidate {
    type Rank = u64;
    /// So what leaves does not depend on how the table came about: files do not store the heap.
    const BY_PLACE: bool = true;

    fn digest(&self) -> Digest {
        self.digest
    }
    #[inline]
    fn rank(&self) -> u64 {
        self.upper
    }
}

/// Fewest slots of the table, and slots per key asked for: keys near the last place may change
/// often, and each change costs a little of their bounds.
const SLOTS: (usize, usize) = (1024, 4);

/// Bytes of sketch per slot, unless a sketch is given.
const SKETCH_BYTES: u64 = 256;

impl Top {
    /// The `keys` most frequent keys, from four times as many candidates (1024 at least) and a
    /// sketch of 256 bytes for each of these.
    pub fn new(keys: usize) -> Result<Self, SizeError> {
        Self::with_bytes(keys, SKETCH_BYTES.saturating_mul(Self::slots_for(keys) as u64))
    }

    /// The `keys` most frequent keys, with a sketch of this many bytes: more of them bring the
    /// bounds of frequent keys closer together.
    ///
    /// ```
    /// let mut visits = gardenia::Top::with_bytes(10, 1 << 20)?;
    /// visits.update("rose", 3);
    /// assert_eq!(visits.bounds("rose"), (3, 3));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn with_bytes(keys: usize, bytes: u64) -> Result<Self, SizeError> {
        if keys == 0 {
            return Err(SizeError::ZeroItems);
        }
        let sketch = CountMin::builder().form(Form::Modified).update(Update::Conservative).rows(3);
        let sketch = sketch.cells(CellKind::Merging8).bytes(bytes).build()?;
        Self::with_slots(Self::slots_for(keys), sketch)
    }

    /// Candidates for this many keys.
    fn slots_for(keys: usize) -> usize {
        keys.saturating_mul(SLOTS.1).max(SLOTS.0)
    }

    /// A table of `slots` candidates with a sketch of your own, which must be empty: more of either
    /// lowers the [`floor`](Self::floor).
    ///
    /// ```
    /// use gardenia::{CountMin, Top};
    /// let top = Top::with_slots(5000, CountMin::new(1e-5, 0.01)?)?;
    /// assert_eq!((top.slots(), top.floor()), (5000, 0));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn with_slots(slots: usize, sketch: CountMin) -> Result<Self, SizeError> {
        if slots == 0 {
            return Err(SizeError::ZeroItems);
        }
        if sketch.total() != 0 {
            return Err(SizeError::Conflict("the sketch of a Top must be empty"));
        }
        Ok(Self { sketch, candidates: Candidates::new(slots)?, floor: 0, total: 0 })
    }

    /// Counts `weight` more of `key`.
    #[inline]
    pub fn update(&mut self, key: impl Key, weight: u64) {
        self.sketch.about.took_key(&key);
        let digest = self.sketch.hasher().digest_key(&key);
        key.with_bytes(|bytes| self.update_digest(digest, bytes, weight));
    }

    /// Counts each of these keys once, hashing many at a time.
    pub fn update_many<K: Key>(&mut self, keys: &[K]) {
        self.sketch.about.took::<K>();
        let (hasher, mut digests) = (self.sketch.hasher().clone(), [Digest(0); CHUNK]);
        for keys in keys.chunks(CHUNK) {
            digest_slice(Level::best(), &hasher, keys, &mut digests);
            for (key, digest) in keys.iter().zip(digests) {
                key.with_bytes(|bytes| self.update_digest(digest, bytes, 1));
            }
        }
    }

    #[inline]
    fn update_digest(&mut self, digest: Digest, key: &[u8], weight: u64) {
        if weight == 0 {
            return;
        }
        self.total = self.total.saturating_add(weight);
        if let Some(candidate) = self.candidates.find(digest, |candidate| candidate.key == key) {
            return candidate.raise(weight, weight, weight);
        }
        let estimate = self.sketch.add_digest(digest, weight);
        let upper = bound(&self.sketch, estimate);
        if !self.candidates.admits(|least| upper > least) {
            self.floor = self.floor.max(upper);
            return;
        }
        let new = Candidate { digest, key: key.to_vec(), lower: weight, upper, owed: 0 };
        if let Some(gone) = self.candidates.take(new) {
            self.release(&gone);
        }
    }

    /// A candidate has left the table.
    fn release(&mut self, gone: &Candidate) {
        self.sketch.add_digest(gone.digest, gone.owed);
        self.floor = self.floor.max(gone.upper);
    }

    /// The `keys` most frequent keys by their upper bounds, the most frequent first; fewer if fewer
    /// came. There are as many as [`slots`](Self::slots) at most.
    #[must_use]
    pub fn top(&self, keys: usize) -> Vec<Hitter> {
        let mut order: Vec<&Candidate> = self.candidates.iter().collect();
        order.sort_unstable_by(|a, b| {
            b.upper.cmp(&a.upper).then(b.lower.cmp(&a.lower)).then(a.key.cmp(&b.key))
        });
        order.truncate(keys);
        order.into_iter().map(Candidate::hitter).collect()
    }

    /// All keys whose count may be `count` or more, the most frequent first: none is missing if
    /// `count` is above the [`floor`](Self::floor).
    #[must_use]
    pub fn at_least(&self, count: u64) -> Vec<Hitter> {
        let mut hitters = self.top(self.slots());
        hitters.retain(|hitter| hitter.upper >= count);
        hitters
    }

    /// Bounds on the sum of the weights of any key: exact ones of candidates, else 0 and the
    /// sketch's estimate.
    ///
    /// ```
    /// let mut visits = gardenia::Top::new(10)?;
    /// visits.update("rose", 7);
    /// assert_eq!((visits.bounds("rose"), visits.bounds("tulip")), ((7, 7), (0, 0)));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn bounds(&self, key: impl Key) -> (u64, u64) {
        let digest = self.sketch.hasher().digest_key(&key);
        key.with_bytes(|bytes| match self.candidate(digest, bytes) {
            Some(found) => (found.lower, found.upper),
            None => (0, self.unknown(digest)),
        })
    }

    fn candidate(&self, digest: Digest, key: &[u8]) -> Option<&Candidate> {
        self.candidates.get(digest, |candidate| candidate.key == key)
    }

    /// The most that a key can have come which is no candidate.
    fn unknown(&self, digest: Digest) -> u64 {
        bound(&self.sketch, self.sketch.count_digest(digest)).min(self.floor)
    }

    /// No key that is not a candidate has a larger count than this; every key with a larger one is
    /// a candidate.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Candidates that the table has room for.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.candidates.slots()
    }

    /// The sketch of all keys that are no candidates.
    #[must_use]
    pub fn sketch(&self) -> &CountMin {
        &self.sketch
    }

    /// Hasher and shape of the sketch.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity { kind: Kind::Top, ..self.sketch.identity() }
    }
}

/// What an estimate bounds: nothing at all if the cells have lost count.
#[inline]
fn bound(sketch: &CountMin, estimate: u64) -> u64 {
    if estimate < sketch.top() { estimate } else { u64::MAX }
}

impl fmt::Debug for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Top")
            .field("slots", &self.slots())
            .field("floor", &self.floor)
            .field("total", &self.total)
            .field("sketch", &self.sketch)
            .finish()
    }
}

/// Equal in sketch, candidates, floor and total: the same answer to every question, now and later.
impl PartialEq for Top {
    fn eq(&self, other: &Self) -> bool {
        (self.slots(), self.floor, self.total) == (other.slots(), other.floor, other.total)
            && self.sketch == other.sketch
            && self.candidates.iter().eq(other.candidates.iter())
    }
}

impl Merge for Top {
    /// Takes in what `other` counted. Bounds still hold: what one table does not know of a key is
    /// at most the other's floor, and its sketch's estimate. The floor is at most the sum of both
    /// and what had to leave the table.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch> {
        let (ours, theirs) = (self.slots(), other.slots());
        if ours != theirs {
            return Err(Mismatch {
                what: "slots",
                ours: alloc::format!("{ours}"),
                theirs: alloc::format!("{theirs}"),
            });
        }
        let mut sketch = self.sketch.clone();
        sketch.merge(&other.sketch)?;
        let mut all: Vec<Candidate> = Vec::new();
        for ours in self.candidates.iter() {
            let mut sum = ours.clone();
            match other.candidate(ours.digest, &ours.key) {
                Some(theirs) => sum.raise(theirs.lower, theirs.upper, theirs.owed),
                None => sum.raise(0, other.unknown(ours.digest), 0),
            }
            all.push(sum);
        }
        for theirs in other.candidates.iter().filter(|c| self.candidate(c.digest, &c.key).is_none()) {
            let mut sum = theirs.clone();
            sum.raise(0, self.unknown(theirs.digest), 0);
            all.push(sum);
        }
        all.sort_unstable_by(|a, b| b.upper.cmp(&a.upper).then(a.key.cmp(&b.key)));
        self.sketch = sketch;
        self.floor = self.floor.saturating_add(other.floor);
        self.total = self.total.saturating_add(other.total);
        self.candidates.clear();
        let gone = all.split_off(all.len().min(ours));
        all.into_iter().for_each(|candidate| _ = self.candidates.take(candidate));
        gone.iter().for_each(|candidate| self.release(candidate));
        Ok(())
    }
}

/// Words of a stored candidate beside its key: lower, upper, owed, length of the key.
const RECORD: usize = 4;

impl Stored for Top {
    fn header(&self) -> Result<Header, EncodeError> {
        let mut header = self.sketch.header_of(Kind::Top)?;
        let numbers = [self.slots() as u64, self.candidates.iter().len() as u64, self.floor, self.total];
        header.params.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        Ok(header)
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        self.sketch.sections()
    }
    /// The sketch, the candidates by their places, and their keys without gaps.
    fn payload(&self) -> Result<Vec<Section<'_>>, EncodeError> {
        let bytes: usize = self.candidates.iter().map(|candidate| candidate.key.len()).sum();
        let records = self.candidates.iter().len() * RECORD;
        let mut table = Owned::zeroed(records + bytes.div_ceil(8))?;
        let (records, keys) = table.as_mut_slice().split_at_mut(records);
        for (record, from) in records.as_chunks_mut::<RECORD>().0.iter_mut().zip(self.candidates.iter()) {
            *record = [from.lower, from.upper, from.owed, from.key.len() as u64];
        }
        let bytes = self.candidates.iter().flat_map(|candidate| &candidate.key);
        bytes.enumerate().for_each(|(at, byte)| keys[at / 8] |= u64::from(*byte) << (at % 8 * 8));
        Ok(vec![Section::Kept(self.sketch.grid.memory()), Section::Made(table)])
    }
}

impl Top {
    /// The table that a header describes, still without candidates, and the words that they take in
    /// the file: of their records, and in all. What it asks for is checked before memory is taken.
    fn claimed(header: &Header, options: &ReadOptions) -> Result<(Self, usize, usize), DecodeError> {
        let wrong = |field, value: u64, rule| DecodeError::Field { field, value, rule };
        header.check_kind(Kind::Top)?;
        let (sketch, own) = header.params.split_at_checked(PARAMS).unwrap_or_default();
        let (&[slots, candidates, floor, total], []) = own.as_chunks() else {
            let (value, rule) = (header.params.len() as u64, "this kind has 48 bytes of them");
            return Err(wrong("parameter length", value, rule));
        };
        let [slots, candidates, floor, total] = [slots, candidates, floor, total].map(u64::from_le_bytes);
        let shape = StoredShape::with(header, sketch)?;
        if slots == 0 || candidates > slots {
            return Err(wrong("candidates", candidates, "there is no room for that many"));
        }
        let (stored, records) = (header.payload_len, candidates.saturating_mul(8 * RECORD as u64));
        let table = stored.checked_sub(shape.bytes).filter(|table| *table >= records);
        let table = table.ok_or(wrong("payload length", stored, "cells and candidates need more"))?;
        // A file of few bytes may claim many slots.
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let beside = Candidates::<Candidate>::bytes(slots, candidates);
        let (needed, max) = (stored.saturating_add(beside), options.expanded(stored));
        if needed > options.max_bytes {
            return Err(DecodeError::TooLarge { needed, max: options.max_bytes });
        }
        if needed > max {
            return Err(DecodeError::Expansion { stored, needed, max });
        }
        let words = |bytes: u64| usize::try_from(bytes / 8).unwrap_or(usize::MAX);
        let (sketch, candidates) = (shape.empty(header, options)?, Candidates::new(slots)?);
        Ok((Self { sketch, candidates, floor, total }, words(records), words(table)))
    }

    /// Adds the candidates of a file.
    fn restore_candidates(&mut self, records: &[u64], keys: &[u64]) -> Result<(), DecodeError> {
        let mut bytes = keys.iter().flat_map(|word| word.to_le_bytes());
        let mut left = keys.len() * 8;
        for &[lower, upper, owed, length] in records.as_chunks::<RECORD>().0 {
            if lower == 0 || lower > upper || owed > lower {
                return Err(DecodeError::Damaged("the bounds of a candidate contradict each other"));
            }
            let length = usize::try_from(length).ok().filter(|length| *length <= left);
            let length = length.ok_or(DecodeError::Damaged("keys are longer than their bytes"))?;
            left -= length;
            let key: Vec<u8> = bytes.by_ref().take(length).collect();
            let digest = self.sketch.hasher().digest(&key);
            if self.candidate(digest, &key).is_some() {
                return Err(DecodeError::Damaged("a candidate is listed twice"));
            }
            self.candidates.take(Candidate { digest, key, lower, upper, owed });
        }
        match left < 8 && bytes.all(|byte| byte == 0) {
            true => Ok(()),
            false => Err(DecodeError::Damaged("bytes behind the last key are not zero")),
        }
    }
}

impl Restore for Top {
    fn read(
        header: &Header,
        options: &ReadOptions,
        fill: impl FnOnce(Vec<&mut [u64]>) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError> {
        let (mut top, records, words) = Self::claimed(header, options)?;
        let mut table = Owned::zeroed(words)?;
        fill([top.sections_mut(), vec![table.as_mut_slice()]].into_iter().flatten().collect())?;
        top.check()?;
        let (records, keys) = table.as_slice().split_at(records);
        top.restore_candidates(records, keys)?;
        Ok(top)
    }
    /// Without candidates, which `read` adds.
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        Self::claimed(header, options).map(|(top, ..)| top)
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        self.sketch.sections_mut()
    }
    fn check(&self) -> Result<(), DecodeError> {
        self.sketch.check()
    }
}

format::stored_methods!(Top);
format::read_methods!(Top, decoded);
format::serde_impls!([] Top, [] Top);
