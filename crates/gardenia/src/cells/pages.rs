//! Fingerprints in pages that split one by one: the table behind a filter that grows in place.
//!
//! The first bits of a digest choose a page, by a directory of all prefixes of one length; the next
//! five choose one of its 32 buckets; those behind them are the fingerprint. A page is one piece of
//! memory with the fingerprints of its buckets one behind the other, and a head that holds the size
//! of each bucket. It grows by 16 slots at a time, and splits in two when it is full: then one more
//! bit of each key is address, and one bit less is fingerprint. So the table grows smoothly: no
//! moment doubles it, and no insertion waits.
//!
//! A slot is a fingerprint of any length up to its width less one, left-aligned, with a mark behind
//! it: a one, and zeros up to the width. Zero is an empty slot. A key matches if it agrees in all
//! bits before the mark: if their difference, without its last bit, is below the mark.
//!
//! The subtle rules: a fingerprint that has no bits left matches all keys of its bucket. When its
//! page splits it does not know to which of two buckets it belongs, and goes to both. And the keys
//! of a bucket are a set: to make room for one more, each bucket behind it moves only its first
//! fingerprint to its end.
#![allow(unsafe_code)] // reads of what the directory and the sizes of buckets point at

use crate::Digest;
use crate::simd::{Has, Level, Work, any_long, any_short, prefetch, sum_before, with_level};
use crate::theory::infini::{BUCKET_BITS, BUCKETS, Rule, STEP};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Slots that are compared at a time. The bucket of a full page has 24 on average; that it has more
/// than a window is so rare that the processor foresees it.
const WINDOW: usize = 32;

/// A slot.
pub(crate) trait Lane: Copy + Ord + Default + Into<u64> {
    /// Its bits.
    const BITS: u32;
    /// The fingerprint that begins a left-aligned number, at full length.
    fn of(bits: u64) -> Self;
    /// The slot with these bits.
    fn from_bits(bits: u64) -> Self;
    /// The slot without its first bit.
    fn shifted(self) -> Self;
    /// Whether one of `len` slots of a window from `from` on is a prefix of `key`.
    fn any(window: &[Self; WINDOW], from: usize, len: usize, key: Self) -> bool;
    /// Whether one of the slots, at most a window of them, is a prefix of `key`; none where windows
    /// are faster.
    fn any_at_once(has: Has, slots: &[Self], key: Self) -> Option<bool>;

    /// A fingerprint without bits.
    #[inline(always)]
    fn is_void(self) -> bool {
        self.into() == 1 << (Self::BITS - 1)
    }
    #[inline(always)]
    fn first_bit(self) -> bool {
        self.into() >> (Self::BITS - 1) != 0
    }
    /// Its mark.
    #[inline(always)]
    fn mark(self) -> u64 {
        let bits: u64 = self.into();
        bits & bits.wrapping_neg()
    }
    #[inline(always)]
    fn is_prefix_of(self, key: Self) -> bool {
        (self.into() ^ key.into()) >> 1 < self.mark()
    }
    /// The probability that a key of its bucket matches.
    #[inline(always)]
    fn share(self) -> f64 {
        self.mark() as f64 / (1u64 << (Self::BITS - 1)) as f64
    }
}

macro_rules! lane {
    ($lane:ty, $at_once:ident) => {
        impl Lane for $lane {
            const BITS: u32 = <$lane>::BITS;
            #[inline(always)]
            fn of(bits: u64) -> Self {
                (bits >> (64 - <$lane>::BITS)) as $lane | 1
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $lane
            }
            #[inline(always)]
            fn shifted(self) -> Self {
                self << 1
            }
            /// Without a branch, and in numbers of one width, so that it is compiled to vector
            /// instructions.
            #[inline(always)]
            fn any(window: &[Self; WINDOW], from: usize, len: usize, key: Self) -> bool {
                let (from, len) = (from as $lane, len as $lane);
                let mut found = 0;
                for (at, &slot) in window.iter().enumerate() {
                    let mark = slot & slot.wrapping_neg();
                    let matched = mark.saturating_sub((slot ^ key) >> 1);
                    let inside = len.saturating_sub((at as $lane).wrapping_sub(from));
                    found |= if inside == 0 { 0 } else { matched };
                }
                found != 0
            }
            #[inline(always)]
            fn any_at_once(has: Has, slots: &[Self], key: Self) -> Option<bool> {
                $at_once(has, slots, key)
            }
        }
    };
}
lane!(u16, any_short);
lane!(u32, any_long);

/// A page: its slots, and how many of them each bucket has.
///
/// A head is small, so that the second-level cache holds those of millions of keys. A page of more
/// than [`NARROW`] slots is *wide*: its first slots tell where buckets begin, and where the last
/// one ends, because a bucket may have more than a byte can count. Only copies of one key, and
/// keys that somebody has chosen, make a page wide.
#[derive(Clone)]
pub(crate) struct Page<L> {
    /// At least a window of them; those behind the last bucket are empty.
    slots: Box<[L]>,
    /// All of them [`WIDE`] in a wide page, and none in others: a query then reads one size to know
    /// both.
    sizes: [u8; BUCKETS],
}

/// The most slots of a page that is not wide.
const NARROW: usize = 1024;
/// The most slots of one of its buckets.
const FULL: u8 = WIDE - 1;
/// The size of a bucket of a wide page, which its first slots tell.
const WIDE: u8 = 255;

/// A one for each bucket before the one at its middle, and a zero for each behind it.
const BEFORE: [u8; 2 * BUCKETS] = {
    let mut masks = [0; 2 * BUCKETS];
    let mut at = 0;
    while at < BUCKETS {
        masks[at] = 0xFF;
        at += 1;
    }
    masks
};

/// Keys of a page from which on copies take no more of its room, an eighth of which is for others.
const CROWDED: usize = 7 << 13;

/// There is no memory, or a page is full of keys that cannot be told apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    Memory,
    Copies,
}

/// The bucket and the fingerprint of a digest in a page of this depth.
#[inline(always)]
fn place<L: Lane>(digest: u64, depth: u32) -> (usize, L) {
    let rest = digest << (depth & 63);
    ((rest >> (64 - BUCKET_BITS)) as usize, L::of(rest << BUCKET_BITS))
}

/// Whether a page with buckets up to these ends and this much room has to be wide.
fn must_be_wide(ends: &[u16; BUCKETS], room: usize) -> bool {
    let mut begin = 0;
    let above = |end: &u16| *end - core::mem::replace(&mut begin, *end) > FULL.into();
    room > NARROW || ends.iter().any(above)
}

/// Slots of a page with this much room.
fn slots_for(room: usize, wide: bool) -> usize {
    let (head, least) = if wide { (BUCKETS + 1, NARROW + 1) } else { (0, WINDOW) };
    (head + room).max(least).next_multiple_of(STEP.into())
}

impl<L: Lane> Page<L> {
    /// A page of these fingerprints, of which a bucket has those up to its end, with room for
    /// `room` of them.
    fn new(ends: [u16; BUCKETS], slots: &[L], room: usize) -> Result<Self, NoRoom> {
        let room = room.max(slots.len());
        Self::of(ends, slots, room, must_be_wide(&ends, room))
    }

    /// The same, wide or not. It must be wide if `must_be_wide` says so.
    fn of(ends: [u16; BUCKETS], slots: &[L], room: usize, wide: bool) -> Result<Self, NoRoom> {
        let (mut sizes, mut begin) = ([WIDE; BUCKETS], 0);
        if !wide {
            for (size, end) in sizes.iter_mut().zip(ends) {
                (*size, begin) = ((end - begin) as u8, end);
            }
        }
        let len = slots_for(room, wide);
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(len).map_err(|_| NoRoom::Memory)?;
        if wide {
            let bound = |end: u16| L::from_bits((BUCKETS + 1) as u64 + u64::from(end));
            fresh.push(bound(0));
            fresh.extend(ends.map(bound));
        }
        fresh.extend_from_slice(slots);
        fresh.resize(len, L::default());
        Ok(Self { slots: fresh.into_boxed_slice(), sizes })
    }

    /// A step more of slots, or the same page if there is no memory.
    fn grow(&mut self) -> Result<(), NoRoom> {
        let mut slots = core::mem::take(&mut self.slots).into_vec();
        let more = slots.try_reserve_exact(STEP.into()).map_err(|_| NoRoom::Memory);
        if more.is_ok() {
            slots.resize(slots.len() + usize::from(STEP), L::default());
        }
        self.slots = slots.into_boxed_slice();
        more
    }

    #[inline(always)]
    fn is_wide(&self) -> bool {
        self.slots.len() > NARROW
    }

    /// Where a bucket of a wide page begins.
    fn bound(&self, bucket: usize) -> usize {
        self.slots[bucket].into() as usize
    }

    /// Where the first bucket begins.
    fn first(&self) -> usize {
        if self.is_wide() { BUCKETS + 1 } else { 0 }
    }

    /// Fingerprints in the page.
    #[inline]
    fn len(&self) -> usize {
        if self.is_wide() {
            return self.bound(BUCKETS) - self.first();
        }
        self.sizes.iter().map(|size| usize::from(*size)).sum()
    }

    /// Slots that the page has room for.
    fn room(&self) -> usize {
        self.slots.len() - self.first()
    }

    /// Its fingerprints.
    fn used(&self) -> &[L] {
        &self.slots[self.first()..][..self.len()]
    }

    /// Where each bucket ends, as if the page were not wide.
    fn ends(&self) -> [u16; BUCKETS] {
        let first = self.first();
        core::array::from_fn(|bucket| (self.range(bucket).end - first) as u16)
    }

    /// Where a bucket lies.
    #[inline(always)]
    fn range(&self, bucket: usize) -> Range<usize> {
        if self.is_wide() {
            return self.bound(bucket)..self.bound(bucket + 1);
        }
        // All sizes, those from it on as zeros: what a condition would be compiled to is 32 branches.
        let before = BEFORE[BUCKETS - bucket..].first_chunk::<BUCKETS>().unwrap_or(&[0; BUCKETS]);
        let sum = |sum, (size, mask): (&u8, &u8)| sum + u32::from(size & mask);
        let start = self.sizes.iter().zip(before).fold(0, sum) as usize;
        start..start + usize::from(self.sizes[bucket])
    }

    #[inline(always)]
    fn contains(&self, has: Has, bucket: usize, key: L) -> bool {
        if let Some(start) = sum_before(has, &self.sizes, bucket) {
            let size = usize::from(self.sizes[bucket]);
            if size > WINDOW {
                return self.long_contains(has, bucket, key);
            }
            debug_assert!(start + size <= self.slots.len());
            // SAFETY: a page that is not wide has as many slots as its sizes add up to, or more; and
            // a wide one has larger sizes.
            let slots = unsafe { self.slots.get_unchecked(start..start + size) };
            if let Some(found) = L::any_at_once(has, slots, key) {
                return found;
            }
        }
        if self.is_wide() {
            return self.wide_contains(bucket, key);
        }
        let range = self.range(bucket);
        let mut from = range.start;
        loop {
            // The last window ends with the slots.
            let window = from.min(self.slots.len() - WINDOW);
            let Some(slots) = self.slots[window..].first_chunk() else { return false };
            if L::any(slots, from - window, range.end - from, key) {
                return true;
            }
            from = window + WINDOW;
            if from >= range.end {
                return false;
            }
        }
    }

    /// The same for a bucket of more than a window.
    #[cold]
    #[inline(never)]
    fn long_contains(&self, has: Has, bucket: usize, key: L) -> bool {
        let mut windows = self.slots[self.range(bucket)].chunks(WINDOW);
        windows.any(|slots| match L::any_at_once(has, slots, key) {
            Some(found) => found,
            None => slots.iter().any(|slot| slot.is_prefix_of(key)),
        })
    }

    #[cold]
    #[inline(never)]
    fn wide_contains(&self, bucket: usize, key: L) -> bool {
        self.slots[self.range(bucket)].iter().any(|slot| slot.is_prefix_of(key))
    }

    /// Adds a fingerprint; there is a free slot, and one in the bucket.
    #[inline(always)]
    fn insert(&mut self, bucket: usize, key: L) {
        let mut end = self.range(bucket).end;
        let mut moving = core::mem::replace(&mut self.slots[end], key);
        if self.is_wide() {
            return self.wide_insert(bucket, moving);
        }
        self.sizes[bucket] += 1;
        for size in &self.sizes[bucket + 1..] {
            end += usize::from(*size);
            // An empty bucket has nothing to move.
            if *size > 0 {
                moving = core::mem::replace(&mut self.slots[end], moving);
            }
        }
    }

    /// The same for the buckets behind one of a wide page.
    #[cold]
    fn wide_insert(&mut self, bucket: usize, mut moving: L) {
        let mut begin = self.bound(bucket + 1);
        for at in bucket + 1..=BUCKETS {
            let end = self.bound(at);
            if end > begin {
                moving = core::mem::replace(&mut self.slots[end], moving);
            }
            self.slots[at] = L::from_bits(end as u64 + 1);
            begin = end;
        }
    }

    /// Removes the longest fingerprint that matches; false if none does.
    ///
    /// All that match are prefixes of one key, so what a shorter one says of any key that had the
    /// longest is true as well: no key is lost, whichever of them was its own.
    fn remove(&mut self, bucket: usize, key: L) -> bool {
        let range = self.range(bucket);
        let matching = range.clone().filter(|at| self.slots[*at].is_prefix_of(key));
        let Some(found) = matching.min_by_key(|at| self.slots[*at].mark()) else { return false };
        let mut hole = range.end - 1;
        self.slots[found] = self.slots[hole];
        for behind in bucket + 1..BUCKETS {
            let range = self.range(behind);
            if !range.is_empty() {
                self.slots[hole] = self.slots[range.end - 1];
                hole = range.end - 1;
            }
        }
        self.slots[hole] = L::default();
        if self.is_wide() {
            (bucket + 1..=BUCKETS).for_each(|at| self.slots[at] = L::from_bits(self.bound(at) as u64 - 1));
        } else {
            self.sizes[bucket] -= 1;
        }
        true
    }

    /// One half of the page, as a page of its own: the fingerprints of half of its buckets, each
    /// with its first bit as part of the address.
    fn half(&self, upper: bool) -> Result<Self, NoRoom> {
        let buckets = if upper { BUCKETS / 2..BUCKETS } else { 0..BUCKETS / 2 };
        let most = 2 * (self.range(buckets.end - 1).end - self.range(buckets.start).start) + 1;
        let (mut slots, mut len, mut ends) = (vec![L::default(); most], 0, [0; BUCKETS]);
        let old = buckets.flat_map(|bucket| [(bucket, false), (bucket, true)]);
        for (end, (bucket, bit)) in ends.iter_mut().zip(old) {
            // Written at any rate, and kept if it belongs here: which it does is a matter of chance, which no processor foresees.
            for &slot in &self.slots[self.range(bucket)] {
                slots[len] = if slot.is_void() { slot } else { slot.shifted() };
                len += usize::from(slot.is_void() | (slot.first_bit() == bit));
            }
            *end = u16::try_from(len).map_err(|_| NoRoom::Copies)?;
        }
        Self::new(ends, &slots[..len], len)
    }

    /// The fingerprints of the buckets, each bucket sorted: what is equal and what is stored does
    /// not depend on the order of insertion.
    fn sorted(&self) -> Vec<L> {
        let mut slots = self.used().to_vec();
        let mut begin = 0;
        for end in self.ends() {
            slots[begin..end.into()].sort_unstable();
            begin = end.into();
        }
        slots
    }
}

/// Which page a prefix has, and its depth: known before the page is read.
#[derive(Clone, Copy)]
struct Entry(u32);

impl Entry {
    /// As many bits of it as the depth needs; the others number the page.
    const DEPTH_BITS: u32 = 6;
    /// The most pages, which take 80 GB.
    const PAGES: usize = 1 << (32 - Self::DEPTH_BITS);

    fn new(page: usize, depth: u32) -> Self {
        Self((page as u32) << Self::DEPTH_BITS | depth)
    }
    #[inline(always)]
    fn page(self) -> usize {
        (self.0 >> Self::DEPTH_BITS) as usize
    }
    #[inline(always)]
    fn depth(self) -> u32 {
        self.0 % (1 << Self::DEPTH_BITS)
    }
}

/// Pages, and the directory that finds them.
#[derive(Clone)]
pub(crate) struct Pages<L> {
    /// The page of each prefix of `bits` bits.
    directory: Vec<Entry>,
    /// How far a digest without its last bit is shifted to leave that prefix.
    shift: u32,
    pages: Vec<Page<L>>,
    /// Slots in all pages, with those that hold bounds: counted as they change, because pages are
    /// many.
    slots: u64,
    level: Level,
}

/// Whether a digest may be there.
struct Ask<'a, L>(&'a Pages<L>, u64);

impl<L: Lane> Work for Ask<'_, L> {
    type Output = bool;
    #[inline(always)]
    fn run(self, has: Has) -> bool {
        let (page, bucket, key) = self.0.find(self.1);
        page.contains(has, bucket, key)
    }
}

/// Which digests of a group may be there: the first in the lowest bit.
struct AskAll<'a, L>(&'a Pages<L>, &'a [Digest]);

impl<L: Lane> Work for AskAll<'_, L> {
    type Output = u64;
    /// A plain loop: what an iterator calls would be compiled apart, without the instructions that
    /// this is compiled with.
    #[inline(always)]
    fn run(self, has: Has) -> u64 {
        let mut mask = 0;
        for (at, digest) in self.1.iter().enumerate() {
            mask |= u64::from(Ask(self.0, digest.0).run(has)) << at;
        }
        mask
    }
}

/// Slots in all pages.
fn counted<L>(pages: &[Page<L>]) -> u64 {
    pages.iter().map(|page| page.slots.len() as u64).sum()
}

/// The largest directory for this number of pages. Random keys need four entries per page at most;
/// without a limit a few keys of one prefix could ask for all memory.
fn widest(pages: usize) -> usize {
    pages.saturating_mul(16).max(1024)
}

impl<L: Lane> Pages<L> {
    /// Empty pages of the first depth, with room for the first keys.
    pub(crate) fn new(rule: &Rule) -> Result<Self, NoRoom> {
        let count = 1usize.checked_shl(rule.depth).ok_or(NoRoom::Memory)?;
        let room = usize::try_from(rule.items.div_ceil(count as u64)).map_err(|_| NoRoom::Memory)?;
        let (mut pages, mut directory) = (Vec::new(), Vec::new());
        pages.try_reserve_exact(count).map_err(|_| NoRoom::Memory)?;
        directory.try_reserve_exact(count).map_err(|_| NoRoom::Memory)?;
        for page in 0..count {
            directory.push(Entry::new(page, rule.depth));
            pages.push(Page::new([0; BUCKETS], &[], room)?);
        }
        let slots = counted(&pages);
        Ok(Self { directory, shift: 63 - rule.depth, pages, slots, level: Level::best() })
    }

    /// Bytes of a table that was just made.
    pub(crate) fn first_bytes(rule: &Rule) -> u64 {
        let room = (rule.items.div_ceil(1 << rule.depth)).max(WINDOW as u64).next_multiple_of(STEP.into());
        (size_of::<Page<L>>() as u64 + 4 + room * size_of::<L>() as u64) << rule.depth
    }

    /// Bits of a prefix in the directory.
    fn bits(&self) -> u32 {
        63 - self.shift
    }

    /// The place of a digest in the directory.
    #[inline(always)]
    fn prefix(&self, digest: u64) -> usize {
        // Two shifts, since one of 64 bits is none.
        (digest >> 1 >> (self.shift & 63)) as usize
    }

    #[inline(always)]
    fn entry(&self, digest: u64) -> Entry {
        let at = self.prefix(digest);
        debug_assert!(at < self.directory.len());
        // SAFETY: the directory has an entry for each prefix of its number of bits.
        unsafe { *self.directory.get_unchecked(at) }
    }

    /// The page of a digest, its bucket there and its fingerprint.
    ///
    /// The number of instructions decides how many queries of a loop overlap their waits for
    /// memory, so that nothing is checked here that always holds.
    #[inline(always)]
    fn find(&self, digest: u64) -> (&Page<L>, usize, L) {
        let entry = self.entry(digest);
        let (bucket, key) = place(digest, entry.depth());
        debug_assert!(entry.page() < self.pages.len());
        // SAFETY: entries number pages that there are.
        (unsafe { self.pages.get_unchecked(entry.page()) }, bucket, key)
    }

    /// The same, to change the page.
    #[inline(always)]
    fn find_mut(&mut self, digest: u64) -> (&mut Page<L>, usize, L) {
        let entry = self.entry(digest);
        let (bucket, key) = place(digest, entry.depth());
        (&mut self.pages[entry.page()], bucket, key)
    }

    /// Asks for what the digests of a group need: first for the heads of all their pages, which
    /// tell where the slots are. Nothing is asked for in a table that is not `far`.
    #[inline(always)]
    pub(crate) fn prefetch_all(&self, group: &[Digest], far: bool) {
        if !far {
            return;
        }
        for digest in group {
            prefetch(&self.pages, self.entry(digest.0).page());
        }
        for digest in group {
            let (page, bucket, _) = self.find(digest.0);
            let start = page.range(bucket).start;
            // All lines of the window, which is read whole: one that was not asked for is waited for.
            prefetch(&page.slots, start);
            prefetch(&page.slots, start + WINDOW - 1);
        }
    }

    #[inline(always)]
    pub(crate) fn contains(&self, digest: u64) -> bool {
        with_level(self.level, Ask(self, digest))
    }

    /// The same for a group of up to 64 digests, the first in the lowest bit.
    #[inline(always)]
    pub(crate) fn contains_all(&self, group: &[Digest]) -> u64 {
        with_level(self.level, AskAll(self, group))
    }

    /// How many fingerprints match.
    pub(crate) fn count(&self, digest: u64) -> u64 {
        let (page, bucket, key) = self.find(digest);
        page.slots[page.range(bucket)].iter().filter(|slot| slot.is_prefix_of(key)).count() as u64
    }

    /// Adds a key.
    #[inline(always)]
    pub(crate) fn insert(&mut self, digest: u64, rule: &Rule) -> Result<(), NoRoom> {
        let (page, bucket, _) = self.find_mut(digest);
        // Slots are a multiple of the step, so that between two multiples there is a free one.
        let fits = page.sizes[bucket] < FULL && !page.is_wide() && !page.len().is_multiple_of(STEP.into());
        if !fits {
            self.make_room(digest, rule)?;
        }
        let (page, bucket, key) = self.find_mut(digest);
        page.insert(bucket, key);
        Ok(())
    }

    /// Removes a key; false if none matches.
    pub(crate) fn remove(&mut self, digest: u64) -> bool {
        let (page, bucket, key) = self.find_mut(digest);
        let removed = page.remove(bucket, key);
        // Gives memory back. If a smaller piece cannot be had, the page keeps the one that it has.
        let (before, len) = (page.slots.len(), page.len());
        if page.room() > 2 * len + 2 * WINDOW {
            let ends = page.ends();
            let wide = must_be_wide(&ends, len);
            // A wide page has a least size, and may be at it.
            if slots_for(len, wide) < before
                && let Ok(smaller) = Page::of(ends, page.used(), len, wide)
            {
                let after = smaller.slots.len();
                *page = smaller;
                self.slots -= (before - after) as u64;
            }
        }
        removed
    }

    /// Whether the page of a digest is so full that only copies of one key can be the reason.
    pub(crate) fn is_crowded(&self, digest: u64) -> bool {
        self.pages[self.entry(digest).page()].len() >= CROWDED
    }

    /// Makes room in the page of a digest: splits it if it is full, perhaps more than once, or
    /// gives it more slots. When it splits depends on the number of its keys alone, so that a
    /// filter that was stored grows as the one that was not.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, digest: u64, rule: &Rule) -> Result<(), NoRoom> {
        loop {
            let depth = self.entry(digest).depth();
            let (page, bucket, _) = self.find_mut(digest);
            let len = page.len();
            let full = len.is_multiple_of(STEP.into()) && len >= rule.page(depth).into();
            if full && self.split(digest, rule)? {
                continue;
            }
            let (page, _, _) = self.find_mut(digest);
            if len + BUCKETS + 2 * usize::from(STEP) > u16::MAX.into() {
                return Err(NoRoom::Copies);
            }
            let before = page.slots.len();
            if !page.is_wide() && (page.sizes[bucket] == FULL || len == NARROW) {
                *page = Page::of(page.ends(), page.used(), len + 1, true)?;
            }
            let room = if len < page.room() { Ok(()) } else { page.grow() };
            let after = page.slots.len();
            self.slots += (after - before) as u64;
            return room;
        }
    }

    /// Splits the page of a digest; false if it is as deep as it can be.
    fn split(&mut self, digest: u64, rule: &Rule) -> Result<bool, NoRoom> {
        let entry = self.entry(digest);
        let page = &self.pages[entry.page()];
        let depth = entry.depth() + 1;
        if depth > rule.deepest()
            || (depth > self.bits() && 2 * self.directory.len() > widest(self.pages.len()))
        {
            return Ok(false);
        }
        if self.pages.len() == Entry::PAGES {
            return Err(NoRoom::Memory);
        }
        let (lower, upper) = match (page.half(false), page.half(true)) {
            (Ok(lower), Ok(upper)) => (lower, upper),
            // More copies than a page can hold.
            (Err(NoRoom::Copies), _) | (_, Err(NoRoom::Copies)) => return Ok(false),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        if self.pages.len() == self.pages.capacity() {
            // An eighth at a time: twice as many pages as are needed would be a tenth of the memory.
            let more = (self.pages.len() / 8).max(8);
            self.pages.try_reserve_exact(more).map_err(|_| NoRoom::Memory)?;
        }
        if depth > self.bits() {
            let mut twice = Vec::new();
            twice.try_reserve_exact(2 * self.directory.len()).map_err(|_| NoRoom::Memory)?;
            twice.extend(self.directory.iter().flat_map(|entry| [*entry, *entry]));
            (self.directory, self.shift) = (twice, self.shift - 1);
        }
        let span = 1usize << (self.bits() - depth);
        let start = self.prefix(digest) / (2 * span) * (2 * span);
        self.directory[start..start + span].fill(Entry::new(entry.page(), depth));
        self.directory[start + span..start + 2 * span].fill(Entry::new(self.pages.len(), depth));
        self.slots += (lower.slots.len() + upper.slots.len()) as u64;
        self.slots -= self.pages[entry.page()].slots.len() as u64;
        self.pages[entry.page()] = lower;
        self.pages.push(upper);
        Ok(true)
    }

    /// Forgets all keys, and keeps the pages.
    pub(crate) fn clear(&mut self) {
        for page in &mut self.pages {
            let first = page.first();
            page.slots[first..].fill(L::default());
            page.slots[..first].fill(L::from_bits(first as u64));
            page.sizes = [if first > 0 { WIDE } else { 0 }; BUCKETS];
        }
    }

    /// The pages in the order of their prefixes, with their depths.
    fn in_order(&self) -> impl Iterator<Item = (&Page<L>, u32)> {
        let mut at = 0;
        core::iter::from_fn(move || {
            let entry = *self.directory.get(at)?;
            at += 1 << (self.bits() - entry.depth());
            Some((&self.pages[entry.page()], entry.depth()))
        })
    }

    /// Fingerprints in all pages: as many as keys, and copies of those that have no bits left.
    pub(crate) fn len(&self) -> u64 {
        self.pages.iter().map(|page| page.len() as u64).sum()
    }

    /// Bits of a slot.
    pub(crate) fn width(&self) -> u32 {
        8 * size_of::<L>() as u32
    }

    /// Slot `at` of all pages in order; 0 if it is empty.
    pub(crate) fn slot(&self, mut at: u64) -> u64 {
        for (page, _) in self.in_order() {
            match page.slots[page.first()..].get(at as usize) {
                Some(slot) => return (*slot).into(),
                None => at -= page.room() as u64,
            }
        }
        0
    }

    /// The fingerprint of a digest, and the slots that it is compared with.
    pub(crate) fn slots_of(&self, digest: u64) -> (u64, core::ops::Range<u64>) {
        let (page, bucket, key) = self.find(digest);
        let before = self.in_order().take_while(|(other, _)| !core::ptr::eq(*other, page));
        let before: u64 = before.map(|(page, _)| page.room() as u64).sum();
        let (range, first) = (page.range(bucket), page.first());
        (key.into(), before + (range.start - first) as u64..before + (range.end - first) as u64)
    }

    /// Whether a slot with these bits stands for a key with this fingerprint.
    pub(crate) fn matches(&self, slot: u64, key: u64) -> bool {
        L::from_bits(slot).is_prefix_of(L::from_bits(key))
    }

    /// Slots in all pages.
    pub(crate) fn slots(&self) -> u64 {
        self.pages.iter().map(|page| page.room() as u64).sum()
    }

    /// The number of pages.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The probability that an absent key is found. Each fingerprint of its bucket matches with
    /// probability 2^−length, independently of the others. These probabilities are not small: a
    /// fingerprint of one bit, as old keys have, matches half of the keys.
    pub(crate) fn fpp(&self) -> f64 {
        let of_page = |(page, depth): (&Page<L>, u32)| {
            let bucket = |bucket| {
                let slots = page.slots[page.range(bucket)].iter();
                slots.fold(0.0, |found, slot| found + (1.0 - found) * slot.share())
            };
            (0..BUCKETS).map(bucket).sum::<f64>() * libm::exp2(-f64::from(depth))
        };
        self.in_order().map(of_page).sum::<f64>() / BUCKETS as f64
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.directory.capacity() * size_of::<Entry>()
            + self.pages.capacity() * size_of::<Page<L>>()
            + self.slots as usize * size_of::<L>()
    }

    /// Bytes that this many more keys add at most, unless they are copies of one: each may split a
    /// page into two that are nearly empty, and for the first of them pages and directory may need
    /// more room.
    pub(crate) fn bytes_for(&self, keys: u64) -> u64 {
        let page = size_of::<Page<L>>() as u64;
        let split = page + 2 * (WINDOW + usize::from(STEP)) as u64 * size_of::<L>() as u64;
        let heads = (self.pages.len() as u64 / 8).max(8) * page;
        keys.saturating_mul(split) + heads + self.directory.capacity() as u64 * 4
    }

    /// Hands the pages to `put` as numbers of 16 bits: depth, ends, and the sorted slots of each,
    /// the lower half of a slot first.
    pub(crate) fn write(&self, mut put: impl FnMut(u16)) {
        for (page, depth) in self.in_order() {
            put(depth as u16);
            page.ends().into_iter().for_each(&mut put);
            for slot in page.sorted() {
                (0..L::BITS).step_by(16).for_each(|shift| put((slot.into() >> shift) as u16));
            }
        }
    }

    /// Numbers that [`write`](Self::write) hands out.
    pub(crate) fn written(&self) -> u64 {
        self.pages() as u64 * HEAD + self.len() * u64::from(L::BITS / 16)
    }

    /// The pages that were written as these numbers; those that are left over are zero, and fewer
    /// than `spare`. `allowed` gets the number of bytes needed before they are allocated.
    pub(crate) fn read<E: From<Unread>>(
        numbers: &[u16],
        spare: usize,
        rule: &Rule,
        allowed: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<Self, E> {
        let per_slot = (L::BITS / 16) as usize;
        // Where pages begin, and what they need.
        let (mut heads, mut at, mut covered, mut bits, mut bytes) = (0, 0, 0u128, rule.depth, 0u64);
        while covered < 1 << 64 {
            let Some(&[depth, ref ends @ ..]) =
                numbers.get(at..).and_then(<[u16]>::first_chunk::<{ HEAD as usize }>)
            else {
                return Err(Unread("there are fewer pages than keys could be in").into());
            };
            let depth = u32::from(depth);
            if !(rule.depth..=rule.deepest()).contains(&depth) || covered % (1 << (64 - depth)) != 0 {
                return Err(Unread("a page has a depth that it cannot have there").into());
            }
            if !ends.is_sorted() {
                return Err(Unread("a bucket ends before it begins").into());
            }
            let len = usize::from(ends[BUCKETS - 1]);
            covered += 1 << (64 - depth);
            bits = bits.max(depth);
            heads += 1;
            at += HEAD as usize + len * per_slot;
            let slots = (len + BUCKETS + 1).max(WINDOW).next_multiple_of(STEP.into());
            bytes += (size_of::<Page<L>>() + slots * size_of::<L>()) as u64;
        }
        let rest = numbers.get(at..).ok_or(Unread("a page is longer than the payload"))?;
        if rest.len() >= spare || rest.iter().any(|number| *number != 0) {
            return Err(Unread("something follows the last page").into());
        }
        let entries = 1usize
            .checked_shl(bits)
            .filter(|entries| *entries <= widest(heads))
            .ok_or(Unread("a page is too deep"))?;
        if heads > Entry::PAGES {
            return Err(Unread("there are more pages than a table can have").into());
        }
        allowed(bytes + (entries * size_of::<Entry>()) as u64)?;
        let no_memory = |_| Unread("there is not enough memory");
        let (mut pages, mut directory) = (Vec::new(), Vec::new());
        pages.try_reserve_exact(heads).map_err(no_memory)?;
        directory.try_reserve_exact(entries).map_err(no_memory)?;
        let mut rest = numbers;
        while let Some((&[depth, ref ends @ ..], behind)) =
            rest.split_first_chunk::<{ HEAD as usize }>().filter(|_| pages.len() < heads)
        {
            let (slots, next) = behind.split_at(usize::from(ends[BUCKETS - 1]) * per_slot);
            let slot = |halves: &[u16]| {
                L::from_bits(halves.iter().rev().fold(0, |bits, half| bits << 16 | u64::from(*half)))
            };
            let slots: Vec<L> = slots.chunks_exact(per_slot).map(slot).collect();
            let page =
                Page::new(*ends, &slots, slots.len()).map_err(|_| Unread("there is not enough memory"))?;
            if slots.iter().any(|slot| *slot == L::default()) {
                return Err(Unread("a slot in use is empty").into());
            }
            if !(0..BUCKETS).all(|bucket| page.slots[page.range(bucket)].is_sorted()) {
                return Err(Unread("a bucket is not sorted").into());
            }
            let entry = Entry::new(pages.len(), depth.into());
            directory.extend(core::iter::repeat_n(entry, 1 << (bits - u32::from(depth))));
            pages.push(page);
            rest = next;
        }
        let slots = counted(&pages);
        Ok(Self { directory, shift: 63 - bits, pages, slots, level: Level::best() })
    }
}

/// Numbers of 16 bits before the slots of a page.
pub(crate) const HEAD: u64 = 1 + BUCKETS as u64;

/// What is wrong with stored pages.
pub(crate) struct Unread(pub(crate) &'static str);

impl<L: Lane> PartialEq for Pages<L> {
    fn eq(&self, other: &Self) -> bool {
        self.pages.len() == other.pages.len()
            && self.in_order().zip(other.in_order()).all(|((ours, depth), (theirs, other))| {
                depth == other && ours.ends() == theirs.ends() && ours.sorted() == theirs.sorted()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    fn random(number: u32) -> u64 {
        Digest(31).word(number + 1)
    }

    /// A page with 20 fingerprints of any length, none included, in each bucket; `heaped` puts 300
    /// more into one, which makes the page wide.
    fn mixed<L: Lane>(heaped: bool) -> Page<L> {
        let room = if heaped { 940 } else { 640 };
        let mut page = Page::new([0; BUCKETS], &[], room).unwrap();
        for number in 0..room as u32 {
            let mark = 1 << (L::BITS - 1 - number / 32 % 16);
            let key = L::from_bits(random(number) & !(mark - 1) | mark);
            let bucket = if number < 640 { number as usize % BUCKETS } else { 5 };
            if page.sizes[bucket] == FULL && !page.is_wide() {
                page = Page::of(page.ends(), page.used(), room, true).unwrap();
            }
            page.insert(bucket, key);
        }
        assert_eq!((page.is_wide(), page.len()), (heaped, room));
        page
    }

    /// Whether a page has a key.
    struct AskPage<'a, L>(&'a Page<L>, usize, L);

    impl<L: Lane> Work for AskPage<'_, L> {
        type Output = bool;
        #[inline(always)]
        fn run(self, has: Has) -> bool {
            self.0.contains(has, self.1, self.2)
        }
    }

    #[test]
    fn each_level_answers_as_slots_do_one_by_one() {
        answers::<u16>();
        answers::<u32>();
    }

    fn answers<L: Lane>() {
        for heaped in [false, true] {
            let mut page: Page<L> = mixed(heaped);
            // Fewer of them, so that both answers are frequent; some buckets stay longer than a window.
            for bucket in 0..BUCKETS {
                let all = 0..60 * (bucket as u32 % 4);
                all.for_each(|number| _ = page.remove(bucket, L::of(random(number))));
            }
            if !heaped {
                // And one of a page that is not wide.
                page = Page::new(page.ends(), page.used(), page.len() + 60).unwrap();
                (0..60).for_each(|number| page.insert(9, L::of(random(number + 30_000))));
                assert!(page.sizes[9] > 2 * WINDOW as u8 - 10 && !page.is_wide());
            }
            let mut found = 0;
            for number in 0..20_000 {
                let (bucket, key) = place(random(number), number % 9);
                let expected = page.slots[page.range(bucket)].iter().any(|slot| slot.is_prefix_of(key));
                for level in Level::available() {
                    let answer = with_level(level, AskPage(&page, bucket, key));
                    assert_eq!(answer, expected, "{level:?}, bucket {bucket}, key {:04x}", key.into());
                }
                found += u32::from(expected);
            }
            assert!((100..19_900).contains(&found), "{found}");
        }
        assert!(
            0x8000u16.is_prefix_of(1) && 0xC000u16.is_prefix_of(0xFFFF) && !0xC000u16.is_prefix_of(0x7FFF)
        );
        assert!(!0u16.is_prefix_of(1));
    }

    /// A wide page and one that is not, each with the same slots in the same buckets, through the
    /// same insertions and removals.
    #[test]
    fn a_wide_page_does_as_another_does() {
        let mut narrow: Page<u16> = mixed(false);
        let mut wide: Page<u16> = mixed(true);
        // The 300 that made it wide, taken out of it by hand.
        let mut slots: Vec<Vec<u16>> =
            (0..BUCKETS).map(|bucket| wide.slots[wide.range(bucket)].to_vec()).collect();
        slots[5].clone_from(&narrow.slots[narrow.range(5)].to_vec());
        let mut end = BUCKETS as u16 + 1;
        let mut all = vec![end];
        for bucket in &slots {
            end += bucket.len() as u16;
            all.push(end);
        }
        all.extend(slots.concat());
        all.resize(wide.slots.len(), 0);
        wide.slots = all.into_boxed_slice();
        for number in 0..3_000 {
            let (bucket, key) = place(random(number), 3);
            if number % 3 == 0 && narrow.len() < narrow.room() && narrow.sizes[bucket] < FULL {
                narrow.insert(bucket, key);
                wide.insert(bucket, key);
            } else {
                assert_eq!(narrow.remove(bucket, key), wide.remove(bucket, key));
            }
            assert_eq!((narrow.ends(), narrow.sorted()), (wide.ends(), wide.sorted()));
            let (ours, theirs) = (narrow.half(number % 2 == 0), wide.half(number % 2 == 0));
            assert_eq!(ours.unwrap().sorted(), theirs.unwrap().sorted());
        }
        assert!(wide.is_wide() && !narrow.is_wide());
    }

    /// Copies of one key in a bucket of their own, and other keys, which are removed: memory is
    /// only given back, whether the copies need a wide page, nearly need one, or do not.
    #[test]
    fn removal_takes_no_memory() {
        let (copy, bucket) = (random(0), |digest| place::<u16>(digest, 0).0);
        for copies in [1, 100, 253, 254, 255, 256, 500] {
            let rule = Rule::new(0.01, 1, None).unwrap();
            let mut pages: Pages<u16> = Pages::new(&rule).unwrap();
            let others = (1..).map(random).filter(|other| bucket(*other) != bucket(copy));
            let others: Vec<u64> = others.take(690 - copies).collect();
            let insert = |pages: &mut Pages<u16>, digest| pages.insert(digest, &rule).unwrap();
            others.iter().for_each(|other| insert(&mut pages, *other));
            (0..copies).for_each(|_| insert(&mut pages, copy));
            assert_eq!((pages.pages.len(), pages.pages[0].is_wide()), (1, copies > 254));
            for other in &others {
                let before = pages.slots;
                assert!(pages.remove(*other));
                assert!(pages.slots <= before, "{copies} copies: {before} slots, then {}", pages.slots);
                assert_eq!(pages.slots, counted(&pages.pages));
                assert_eq!(pages.pages[0].is_wide(), copies > 254);
            }
            assert_eq!((pages.count(copy), pages.len()), (copies as u64, copies as u64));
            others.iter().for_each(|other| insert(&mut pages, *other));
            (0..copies).for_each(|_| assert!(pages.remove(copy)));
            assert!(others.iter().all(|other| pages.contains(*other)) && !pages.contains(copy));
        }
    }

    #[test]
    fn halves_answer_as_the_page_did_or_more_exactly() {
        for heaped in [false, true] {
            let page: Page<u16> = mixed(heaped);
            let (lower, upper) = (page.half(false).unwrap(), page.half(true).unwrap());
            let mut lost = 0;
            for number in 0..50_000 {
                // The prefix of the page is 101.
                let digest = random(number) >> 3 | 0b101 << 61;
                let half = if digest << 3 >> 63 == 1 { &upper } else { &lower };
                let of = |page: &Page<u16>, depth| {
                    let (bucket, key) = place(digest, depth);
                    page.slots[page.range(bucket)].iter().filter(|slot| slot.is_prefix_of(key)).count()
                };
                // The same fingerprints match before and after.
                lost += usize::from(of(&page, 3) != of(half, 4));
            }
            assert_eq!(lost, 0);
            // Those without bits are in two buckets each.
            let voids = page.used().iter().filter(|slot| slot.is_void()).count();
            assert!(voids > 0);
            assert_eq!(lower.len() + upper.len(), page.len() + voids);
        }
    }
}
