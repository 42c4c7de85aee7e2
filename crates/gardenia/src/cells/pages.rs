//! Fingerprints in pages that split one by one: the table behind a filter that grows in place.
//!
//! The first bits of a digest choose a page, by a directory of all prefixes of one length; the next
//! four choose one of its 16 buckets; those behind them are the fingerprint. A page is one piece of
//! memory with the fingerprints of its buckets one behind the other, and a head that tells where
//! each bucket ends. It grows by 16 slots at a time, and splits in two when it is full: then one
//! more bit of each key is address, and one bit less is fingerprint. So the table grows smoothly:
//! no moment doubles it, and no insertion waits.
//!
//! A slot is a fingerprint of any length up to its width less one, left-aligned, with a mark behind
//! it: a one, and zeros up to the width. Zero is an empty slot. A key matches if it agrees in all
//! bits before the mark: if their difference, without its last bit, is below the mark.
//!
//! The subtle rules: a fingerprint that has no bits left matches all keys of its bucket. When its
//! page splits it does not know to which of two buckets it belongs, and goes to both. And the keys
//! of a bucket are a set: to make room for one more, each bucket behind it moves only its first
//! fingerprint to its end.

use crate::Digest;
use crate::simd::{Level, Work, prefetch, with_level};
use crate::theory::infini::{BUCKET_BITS, BUCKETS, Rule, STEP};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Slots that are compared at a time. The bucket of a full page has 32 on average; that it has more
/// than a window is so rare that the processor foresees it.
const WINDOW: usize = 48;

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
    ($lane:ty) => {
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
        }
    };
}
lane!(u16);
lane!(u32);

/// A page: its slots, and where its buckets end. A cache line holds the head.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Page<L> {
    /// At least a window of them; those behind the last bucket are empty.
    slots: Box<[L]>,
    /// Where buckets begin, and where the last one ends. The first begins at zero; it is here,
    /// because asking for it would be a branch that the processor cannot foresee.
    bounds: [u16; BUCKETS + 1],
    depth: u8,
}

/// There is no memory, or a page is full of keys that cannot be told apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    Memory,
    Copies,
}

impl<L: Lane> Page<L> {
    /// A page of these fingerprints, with room for `room` of them.
    fn new(depth: u32, ends: [u16; BUCKETS], slots: &[L], room: usize) -> Result<Self, NoRoom> {
        let mut bounds = [0; BUCKETS + 1];
        bounds[1..].copy_from_slice(&ends);
        let mut page = Self { slots: Box::default(), bounds, depth: depth as u8 };
        page.refit(slots, room)?;
        Ok(page)
    }

    /// Moves to slots that have room for `room` fingerprints, of which `slots` are the first.
    fn refit(&mut self, slots: &[L], room: usize) -> Result<(), NoRoom> {
        let len = room.max(slots.len()).max(WINDOW).next_multiple_of(STEP.into());
        let mut fresh = Vec::new();
        fresh.try_reserve_exact(len).map_err(|_| NoRoom::Memory)?;
        fresh.extend_from_slice(slots);
        fresh.resize(len, L::default());
        self.slots = fresh.into_boxed_slice();
        Ok(())
    }

    /// Fingerprints in the page.
    #[inline(always)]
    fn len(&self) -> usize {
        self.bounds[BUCKETS].into()
    }

    /// Where buckets end.
    fn ends(&self) -> &[u16] {
        &self.bounds[1..]
    }

    /// Where a bucket lies.
    #[inline(always)]
    fn range(&self, bucket: usize) -> core::ops::Range<usize> {
        self.bounds[bucket].into()..self.bounds[bucket + 1].into()
    }

    /// The bucket and the fingerprint of a digest.
    #[inline(always)]
    fn place(&self, digest: u64) -> (usize, L) {
        let rest = digest << (self.depth & 63);
        ((rest >> (64 - BUCKET_BITS)) as usize, L::of(rest << BUCKET_BITS))
    }

    #[inline(always)]
    fn contains(&self, bucket: usize, key: L) -> bool {
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

    /// Adds a fingerprint; there is a free slot.
    #[inline(always)]
    fn insert(&mut self, bucket: usize, key: L) {
        let mut at = usize::from(self.bounds[bucket + 1]);
        let mut moving = core::mem::replace(&mut self.slots[at], key);
        self.bounds[bucket + 1] += 1;
        for end in &mut self.bounds[bucket + 2..] {
            let behind = usize::from(*end);
            *end += 1;
            // An empty bucket has nothing to move.
            if behind > at {
                moving = core::mem::replace(&mut self.slots[behind], moving);
                at = behind;
            }
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
        self.bounds[bucket + 1] -= 1;
        for end in &mut self.bounds[bucket + 2..] {
            let last = usize::from(*end) - 1;
            *end -= 1;
            if last > hole {
                self.slots[hole] = self.slots[last];
                hole = last;
            }
        }
        self.slots[hole] = L::default();
        true
    }

    /// One half of the page, as a page of its own: the fingerprints of eight buckets, each with its
    /// first bit as part of the address.
    fn half(&self, upper: bool) -> Result<Self, NoRoom> {
        let buckets = if upper { BUCKETS / 2..BUCKETS } else { 0..BUCKETS / 2 };
        let from = self.range(buckets.start).start;
        let most = 2 * (usize::from(self.bounds[buckets.end]) - from) + 1;
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
        Self::new(u32::from(self.depth) + 1, ends, &slots[..len], len)
    }

    /// The fingerprints of the buckets, each bucket sorted: what is equal and what is stored does
    /// not depend on the order of insertion.
    fn sorted(&self) -> Vec<L> {
        let mut slots = self.slots[..self.len()].to_vec();
        (0..BUCKETS).for_each(|bucket| slots[self.range(bucket)].sort_unstable());
        slots
    }
}

/// Pages, and the directory that finds them.
#[derive(Clone)]
pub(crate) struct Pages<L> {
    /// The page of each prefix of `bits` bits.
    directory: Vec<u32>,
    bits: u32,
    pages: Vec<Page<L>>,
    level: Level,
}

/// Whether a digest may be there.
struct Ask<'a, L>(&'a Pages<L>, u64);

impl<L: Lane> Work for Ask<'_, L> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let page = self.0.page(self.1);
        let (bucket, key) = page.place(self.1);
        page.contains(bucket, key)
    }
}

/// Which digests of a group may be there: the first in the lowest bit.
struct AskAll<'a, L>(&'a Pages<L>, &'a [Digest]);

impl<L: Lane> Work for AskAll<'_, L> {
    type Output = u64;
    /// A plain loop: what an iterator calls would be compiled apart, without the instructions that
    /// this is compiled with.
    #[inline(always)]
    fn run(self) -> u64 {
        let mut mask = 0;
        for (at, digest) in self.1.iter().enumerate() {
            mask |= u64::from(Ask(self.0, digest.0).run()) << at;
        }
        mask
    }
}

/// The largest directory for so many pages. Random keys need four entries per page at most; without
/// a limit a few keys of one prefix could ask for all memory.
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
            directory.push(page as u32);
            pages.push(Page::new(rule.depth, [0; BUCKETS], &[], room)?);
        }
        Ok(Self { directory, bits: rule.depth, pages, level: Level::best() })
    }

    /// Bytes of a table that was just made.
    pub(crate) fn first_bytes(rule: &Rule) -> u64 {
        let room = (rule.items.div_ceil(1 << rule.depth)).max(WINDOW as u64).next_multiple_of(STEP.into());
        (size_of::<Page<L>>() as u64 + 4 + room * size_of::<L>() as u64) << rule.depth
    }

    /// The page of a digest, by its place in the directory.
    #[inline(always)]
    fn entry(&self, digest: u64) -> usize {
        // Two shifts, since one of 64 bits is none.
        (digest >> 1 >> (63 - self.bits)) as usize
    }

    #[inline(always)]
    fn page(&self, digest: u64) -> &Page<L> {
        &self.pages[self.directory[self.entry(digest)] as usize]
    }

    /// Asks for what the digests of a group need: first for the heads of all their pages, which
    /// tell where the slots are. Nothing is asked for in a table that is not `far`.
    #[inline(always)]
    pub(crate) fn prefetch_all(&self, group: &[Digest], far: bool) {
        if !far {
            return;
        }
        for digest in group {
            prefetch(&self.pages, self.directory[self.entry(digest.0)] as usize);
        }
        for digest in group {
            let page = self.page(digest.0);
            let range = page.range(page.place(digest.0).0);
            // All lines of the window, which is read whole: one that was not asked for is waited for.
            prefetch(&page.slots, range.start);
            prefetch(&page.slots, range.start + WINDOW - 16);
            prefetch(&page.slots, range.start + WINDOW - 1);
            prefetch(&page.slots, range.end);
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
        let page = self.page(digest);
        let (bucket, key) = page.place(digest);
        page.slots[page.range(bucket)].iter().filter(|slot| slot.is_prefix_of(key)).count() as u64
    }

    /// Adds a key.
    #[inline(always)]
    pub(crate) fn insert(&mut self, digest: u64, rule: &Rule) -> Result<(), NoRoom> {
        let mut number = self.directory[self.entry(digest)] as usize;
        // Slots are a multiple of the step, so that between two multiples there is a free one.
        if self.pages[number].len().is_multiple_of(STEP.into()) {
            self.make_room(digest, rule)?;
            number = self.directory[self.entry(digest)] as usize;
        }
        let page = &mut self.pages[number];
        let (bucket, key) = page.place(digest);
        page.insert(bucket, key);
        Ok(())
    }

    /// Removes a key; false if none matches.
    pub(crate) fn remove(&mut self, digest: u64) -> bool {
        let number = self.directory[self.entry(digest)] as usize;
        let page = &mut self.pages[number];
        let (bucket, key) = page.place(digest);
        let removed = page.remove(bucket, key);
        // Gives memory back. If a smaller piece cannot be had, the page keeps the one that it has.
        if page.slots.len() > 2 * page.len() + 2 * WINDOW {
            let slots = page.slots[..page.len()].to_vec();
            let _ = page.refit(&slots, slots.len());
        }
        removed
    }

    /// Makes room in the page of a digest: splits it if it is full, perhaps more than once, or
    /// gives it more slots. When it splits depends on the number of its keys alone, so that a
    /// filter that was stored grows as the one that was not.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, digest: u64, rule: &Rule) -> Result<(), NoRoom> {
        loop {
            let number = self.directory[self.entry(digest)] as usize;
            let page = &self.pages[number];
            let len = page.len();
            let full = len.is_multiple_of(STEP.into()) && len >= rule.page(page.depth.into()).into();
            if full && self.split(digest, rule)? {
                continue;
            }
            let page = &mut self.pages[number];
            if len < page.slots.len() {
                return Ok(());
            }
            if len + usize::from(STEP) > u16::MAX.into() {
                return Err(NoRoom::Copies);
            }
            let slots = core::mem::take(&mut page.slots);
            if let Err(error) = page.refit(&slots, len + 1) {
                page.slots = slots;
                return Err(error);
            }
        }
    }

    /// Splits the page of a digest; false if it is as deep as it can be.
    fn split(&mut self, digest: u64, rule: &Rule) -> Result<bool, NoRoom> {
        let number = self.directory[self.entry(digest)];
        let page = &self.pages[number as usize];
        let depth = u32::from(page.depth) + 1;
        if depth > rule.deepest()
            || (depth > self.bits && 2 * self.directory.len() > widest(self.pages.len()))
        {
            return Ok(false);
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
        if depth > self.bits {
            let mut twice = Vec::new();
            twice.try_reserve_exact(2 * self.directory.len()).map_err(|_| NoRoom::Memory)?;
            twice.extend(self.directory.iter().flat_map(|page| [*page, *page]));
            (self.directory, self.bits) = (twice, self.bits + 1);
        }
        let span = 1usize << (self.bits - depth);
        let start = self.entry(digest) / (2 * span) * (2 * span);
        self.directory[start + span..start + 2 * span].fill(self.pages.len() as u32);
        self.pages[number as usize] = lower;
        self.pages.push(upper);
        Ok(true)
    }

    /// Forgets all keys, and keeps the pages.
    pub(crate) fn clear(&mut self) {
        for page in &mut self.pages {
            page.slots.fill(L::default());
            page.bounds = [0; BUCKETS + 1];
        }
    }

    /// The pages in the order of their prefixes.
    fn in_order(&self) -> impl Iterator<Item = &Page<L>> {
        let mut at = 0;
        core::iter::from_fn(move || {
            let page = &self.pages[*self.directory.get(at)? as usize];
            at += 1 << (self.bits - u32::from(page.depth));
            Some(page)
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
        for page in self.in_order() {
            match page.slots.get(at as usize) {
                Some(slot) => return (*slot).into(),
                None => at -= page.slots.len() as u64,
            }
        }
        0
    }

    /// The fingerprint of a digest, and the slots that it is compared with.
    pub(crate) fn slots_of(&self, digest: u64) -> (u64, core::ops::Range<u64>) {
        let page = self.page(digest);
        let before = self.in_order().take_while(|other| !core::ptr::eq(*other, page));
        let before: u64 = before.map(|page| page.slots.len() as u64).sum();
        let (bucket, key) = page.place(digest);
        let range = page.range(bucket);
        (key.into(), before + range.start as u64..before + range.end as u64)
    }

    /// Whether a slot with these bits stands for a key with this fingerprint.
    pub(crate) fn matches(&self, slot: u64, key: u64) -> bool {
        L::from_bits(slot).is_prefix_of(L::from_bits(key))
    }

    /// Slots in all pages.
    pub(crate) fn slots(&self) -> u64 {
        self.pages.iter().map(|page| page.slots.len() as u64).sum()
    }

    /// The number of pages.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The probability that an absent key is found. Each fingerprint of its bucket matches with
    /// probability 2^−length, independently of the others. These probabilities are not small: a
    /// fingerprint of one bit, as old keys have, matches half of the keys.
    pub(crate) fn fpp(&self) -> f64 {
        let of_page = |page: &Page<L>| {
            let bucket = |bucket| {
                let slots = page.slots[page.range(bucket)].iter();
                slots.fold(0.0, |found, slot| found + (1.0 - found) * slot.share())
            };
            (0..BUCKETS).map(bucket).sum::<f64>() * libm::exp2(-f64::from(page.depth))
        };
        self.pages.iter().map(of_page).sum::<f64>() / BUCKETS as f64
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.directory.capacity() * 4
            + self.pages.capacity() * size_of::<Page<L>>()
            + self.slots() as usize * size_of::<L>()
    }

    /// Hands the pages to `put` as numbers of 16 bits: depth, ends, and the sorted slots of each,
    /// the lower half of a slot first.
    pub(crate) fn write(&self, mut put: impl FnMut(u16)) {
        for page in self.in_order() {
            put(page.depth.into());
            page.ends().iter().for_each(|end| put(*end));
            for slot in page.sorted() {
                (0..L::BITS).step_by(16).for_each(|shift| put((slot.into() >> shift) as u16));
            }
        }
    }

    /// Numbers that [`write`](Self::write) hands out.
    pub(crate) fn written(&self) -> u64 {
        self.pages() as u64 * HEAD as u64 + self.len() * u64::from(L::BITS / 16)
    }

    /// The pages that were written as these numbers; those that are left over are zero, and fewer
    /// than `spare`. `allowed` is told how many bytes are needed, before they are taken.
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
            let Some(&[depth, ref ends @ ..]) = numbers.get(at..).and_then(<[u16]>::first_chunk::<HEAD>)
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
            at += HEAD + len * per_slot;
            let slots = len.max(WINDOW).next_multiple_of(STEP.into());
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
        allowed(bytes + entries as u64 * 4)?;
        let no_memory = |_| Unread("there is not enough memory");
        let (mut pages, mut directory) = (Vec::new(), Vec::new());
        pages.try_reserve_exact(heads).map_err(no_memory)?;
        directory.try_reserve_exact(entries).map_err(no_memory)?;
        let mut rest = numbers;
        while let Some((&[depth, ref ends @ ..], behind)) =
            rest.split_first_chunk::<HEAD>().filter(|_| pages.len() < heads)
        {
            let (slots, next) = behind.split_at(usize::from(ends[BUCKETS - 1]) * per_slot);
            let slot = |halves: &[u16]| {
                L::from_bits(halves.iter().rev().fold(0, |bits, half| bits << 16 | u64::from(*half)))
            };
            let slots: Vec<L> = slots.chunks_exact(per_slot).map(slot).collect();
            let ends: [u16; BUCKETS] = *ends;
            let page = Page::new(depth.into(), ends, &slots, slots.len())
                .map_err(|_| Unread("there is not enough memory"))?;
            if slots.iter().any(|slot| *slot == L::default()) {
                return Err(Unread("a slot in use is empty").into());
            }
            if !(0..BUCKETS).all(|bucket| slots[page.range(bucket)].is_sorted()) {
                return Err(Unread("a bucket is not sorted").into());
            }
            directory.extend(core::iter::repeat_n(pages.len() as u32, 1 << (bits - u32::from(depth))));
            pages.push(page);
            rest = next;
        }
        Ok(Self { directory, bits, pages, level: Level::best() })
    }
}

/// Numbers of 16 bits before the slots of a page.
const HEAD: usize = 1 + BUCKETS;

/// What is wrong with stored pages.
pub(crate) struct Unread(pub(crate) &'static str);

impl<L: Lane> PartialEq for Pages<L> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(ours, theirs): (&Page<L>, &Page<L>)| {
            ours.depth == theirs.depth && ours.bounds == theirs.bounds && ours.sorted() == theirs.sorted()
        };
        self.pages.len() == other.pages.len() && self.in_order().zip(other.in_order()).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    fn random(number: u32) -> u64 {
        Digest(31).word(number + 1)
    }

    /// A page with 40 fingerprints of any length, none included, in each bucket.
    fn mixed(depth: u32) -> Page<u16> {
        let mut page = Page::new(depth, [0; BUCKETS], &[], 640).unwrap();
        for number in 0..640 {
            let (bits, length) = (random(number) as u16, number / 16 % 16);
            let key = (bits | 1) & (u16::MAX << (15 - length)) | 1 << (15 - length);
            page.insert(number as usize % BUCKETS, key);
        }
        page
    }

    #[test]
    fn windows_answer_as_slots_do_one_by_one() {
        for depth in [0, 7] {
            let mut page = mixed(depth);
            // Fewer of them, so that both answers are frequent.
            for bucket in 0..BUCKETS {
                (0..60).for_each(|number| _ = page.remove(bucket, random(number) as u16 | 1));
            }
            let mut found = 0;
            for number in 0..20_000 {
                let (bucket, key) = page.place(random(number));
                let expected = page.slots[page.range(bucket)].iter().any(|slot| slot.is_prefix_of(key));
                assert_eq!(page.contains(bucket, key), expected, "bucket {bucket}, key {key:04x}");
                found += u32::from(expected);
            }
            assert!((100..19_900).contains(&found), "{found}");
        }
        assert!(
            0x8000u16.is_prefix_of(1) && 0xC000u16.is_prefix_of(0xFFFF) && !0xC000u16.is_prefix_of(0x7FFF)
        );
        assert!(!0u16.is_prefix_of(1));
    }

    #[test]
    fn halves_answer_as_the_page_did_or_more_exactly() {
        let page = mixed(3);
        let (lower, upper) = (page.half(false).unwrap(), page.half(true).unwrap());
        let mut lost = 0;
        for number in 0..50_000 {
            // The prefix of the page is 101.
            let digest = random(number) >> 3 | 0b101 << 61;
            let half = if digest << 3 >> 63 == 1 { &upper } else { &lower };
            let of = |page: &Page<u16>| {
                let (bucket, key) = page.place(digest);
                page.slots[page.range(bucket)].iter().filter(|slot| slot.is_prefix_of(key)).count()
            };
            // The same fingerprints match before and after.
            lost += usize::from(of(&page) != of(half));
        }
        assert_eq!(lost, 0);
        // Those without bits are in two buckets each.
        let voids = page.slots.iter().filter(|slot| slot.is_void()).count();
        assert!(voids > 0);
        assert_eq!(lower.len() + upper.len(), page.len() + voids);
    }
}
