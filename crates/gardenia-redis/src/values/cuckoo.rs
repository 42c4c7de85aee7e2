//! The value behind `CF.*` for keys that were made here: cuckoo filters of the library, one behind
//! the other.
//!
//! A filter takes the capacity that it was asked for, and goes on until a key finds no place; the
//! next one is `EXPANSION` times as large. Buckets have four places whatever `BUCKETSIZE` says, and
//! places are searched for breadth first whatever `MAXITERATIONS` says. What `BUCKETSIZE` b decides
//! is the fingerprint: 11 − ⌊log₂ b⌋ bits, and 8 at least. Why: a filter of RedisBloom has a
//! false-positive rate of 2b/255 when it is full, but its slots are rounded up to a power of two,
//! so that it may be half empty when its capacity is reached. One of these has 8/(2^w − 1) when it
//! is full, and w is the least that makes it half of 2b/255 or less: with the same keys its rate is
//! no higher.
//!
//! | `CF.RESERVE` | keys | RedisBloom: filters, bits per key, rate | here |
//! |---|---|---|---|
//! | 1,000 | 1,000 | 2, 16.4, 1.5 % | 1, 11.5, 0.7 % |
//! | 100,000 | 100,000 | 2, 21.0, 1.2 % | 1, 10.6, 0.7 % |
//! | 1,000 | 10,000 | 11, 9.0, 14 % | 9, 10.3, 6.7 % |
//! | 1,000 `EXPANSION 2` | 60,000 | 7, 17.3, 8.7 % | 6, 11.9, 4.3 % |
//! | 1,000 `EXPANSION 2` | 100,000 | 7, 10.4, 9.7 % | 7, 14.4, 4.8 % |
//!
//! (`cargo run --release -p gardenia-redis --example cuckoo_space`.) That is: at the planned size
//! less memory and half of the errors. Far beyond it half of the errors for 15 to 25 % more bits
//! where filters are equal (RedisBloom puts later keys into what was left over in older filters),
//! and with `EXPANSION` each steps up at its own sizes.
//!
//! The subtle rule is what removing needs. A key that two filters seem to have is in one of them,
//! and nobody knows which. So it is removed from the newest; if that was another key's fingerprint,
//! the other key must be found by what stays behind in the older filter. It is, if keys that a
//! newer filter cannot tell apart are never told apart by an older one: all filters use one digest
//! of a key, one fingerprint, buckets that are multiples of those before, and of the two buckets of
//! a key the even one comes first, always. (Of its two buckets one is even. If either could come
//! first, keys might share a pair in one filter and not in another.) The library takes a digest's
//! own bucket for the first: `Print::aligned` makes another digest, of the same fingerprint, with
//! that even bucket.
//!
//! Sources: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than
//! Bloom" (2014); a list of cuckoo filters is the dynamic cuckoo filter of Chen, Liao, Jin and Wu,
//! "The Dynamic Cuckoo Filter" (2017).

use super::BATCH;
use super::stored::{Stored, Whole};
use crate::engine::alloc::aligned_bytes;
use crate::engine::stats::resized;
use crate::engine::types::TypeHandle;
use crate::redisbloom::cuckoo::Limits;
use gardenia::theory::cuckoo::buckets;
use gardenia::theory::scalable::compound;
use gardenia::{Cuckoo, Digest, KeyHasher, ReadOptions, SizeError};
use std::ffi::CStr;
use std::io::{self, Read, Write};

/// The most filters that a value can have; how many it may grow to is a setting.
pub const MAX_LAYERS: usize = u16::MAX as usize;

/// The most buckets of one filter: `Print::aligned` needs that their square is a digest.
const MAX_BUCKETS: u64 = 1 << 31;

/// Places of the largest filter whose fingerprints are moved: it takes a quarter of a second.
const MOST_MOVED: u64 = 1 << 17;

/// Places of a bucket.
const SLOTS: u64 = 4;

/// What a filter is built from: two filters of one plan agree in everything after the same
/// commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooPlan {
    /// Keys of the first filter.
    pub capacity: u64,
    /// Decides the bits of a fingerprint (see the top of this file).
    pub bucket_size: u16,
    /// Remembered.
    pub iterations: u16,
    /// Growth of filters; 0: there is one, and it can be full.
    pub expansion: u16,
    /// Seed of the hash function.
    pub seed: u64,
}

impl CuckooPlan {
    /// The filter, empty; refused if it takes more than `limit` bytes.
    pub fn build(&self, limit: u64) -> Result<Chain, Refused> {
        let Self { capacity, bucket_size, iterations, expansion, seed } = *self;
        let hasher = KeyHasher::xxh3(seed);
        let first = Layer::new(buckets(capacity), width(bucket_size), hasher, limit)?;
        let mut layers = Vec::new();
        layers.try_reserve_exact(1).map_err(|_| Refused::Memory)?;
        layers.push(first);
        Ok(Chain { layers, bucket_size, iterations, expansion, deletes: 0 })
    }
}

/// Bits of a fingerprint.
fn width(bucket_size: u16) -> u32 {
    11 - bucket_size.max(1).ilog2().min(3)
}

/// Why a filter was not made, or a key not added. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The filter does not grow, and is full.
    Full,
    /// There are as many filters as may be.
    Expansions,
    /// The memory cannot be had, or may not.
    Memory,
}

impl From<SizeError> for Refused {
    fn from(_: SizeError) -> Self {
        Self::Memory
    }
}

/// A key's digest, and where the numbers begin that give its fingerprint.
#[derive(Clone, Copy)]
struct Print {
    digest: Digest,
    start: u64,
}

/// What the library multiplies digests with: the upper half of the product gives the fingerprint
/// (docs/formats.md, kind 14).
const FINGERPRINT: u64 = 0x94d0_49bb_1331_11eb;
/// A digest that grows by `SMALL` has a product that grows by `STEP`: less than the numbers of one
/// fingerprint.
const SMALL: u64 = 1_765;
const STEP: u64 = SMALL.wrapping_mul(FINGERPRINT);
const _: () = assert!(STEP < u64::MAX / 2047);

impl Print {
    fn new(digest: Digest, width: u32) -> Self {
        let top = (1 << width) - 1;
        Self::with(digest, ((digest.0.wrapping_mul(FINGERPRINT) >> 32) * top) >> 32, top)
    }

    /// Any fingerprint below `top`, in the pair of a digest.
    fn with(digest: Digest, fingerprint: u64, top: u64) -> Self {
        Self { digest, start: (fingerprint << 32).div_ceil(top) << 32 }
    }

    /// The digest of the same fingerprint whose bucket is the even one of the key's pair: number 2p
    /// of `buckets`, if the key's digest is in part p of half as many. `step` is that of a
    /// [`Layer`].
    #[inline]
    fn aligned(self, buckets: u64, step: u64) -> Digest {
        let pair = ((u128::from(self.digest.0) * u128::from(buckets / 2)) >> 64) as u64;
        let first = 2 * pair * step;
        // By so much the product of the bucket's first digest is before the fingerprint's numbers. The digest grows by
        // 2^24 at most, and a bucket has 2^33 digests or more.
        let missing = self.start.wrapping_sub(first.wrapping_mul(FINGERPRINT));
        Digest(first + missing.div_ceil(STEP) * SMALL)
    }
}

/// One filter.
#[derive(Debug)]
struct Layer {
    filter: Cuckoo,
    /// Digests of a bucket, rounded up.
    step: u64,
    /// Keys with which it is full, as far as is known.
    room: u64,
}

impl Layer {
    fn new(buckets: u64, width: u32, hasher: KeyHasher, limit: u64) -> Result<Self, Refused> {
        let cells = buckets.saturating_mul(SLOTS);
        if buckets > MAX_BUCKETS || cells.saturating_mul(width.into()).div_ceil(8) > limit {
            return Err(Refused::Memory);
        }
        let filter = Cuckoo::builder().cells(cells).width(width).hasher(hasher).build()?;
        Ok(Self::of(filter, cells))
    }

    fn of(filter: Cuckoo, room: u64) -> Self {
        let step = u64::MAX / (filter.cells() / SLOTS) + 1;
        Self { filter, step, room }
    }

    fn buckets(&self) -> u64 {
        self.filter.cells() / SLOTS
    }

    fn is_full(&self) -> bool {
        self.filter.items() >= self.room
    }

    #[inline]
    fn aligned(&self, print: Print) -> Digest {
        print.aligned(self.buckets(), self.step)
    }

    /// Moves fingerprints to older filters, as many as find a place there; true if something
    /// changed. The library does not tell which there are, and all that there could be are asked
    /// for.
    fn move_to(&mut self, older: &mut [Layer]) -> bool {
        let (top, mut changed) = ((1 << self.filter.width()) - 1, false);
        for pair in 0..self.buckets() / 2 {
            for fingerprint in 0..top {
                let print = Print::with(Digest(2 * pair * self.step), fingerprint, top);
                let here = self.aligned(print);
                while self.filter.contains_digest(here) {
                    let (inside, full) = put(older, print);
                    close(older, &full);
                    changed |= inside || !full.is_empty();
                    if !inside || self.filter.remove_digest(here).is_err() {
                        break;
                    }
                }
            }
        }
        changed
    }
}

/// Puts a fingerprint into the oldest filter that has a place. Tells whether there was one, and
/// which have none.
fn put(layers: &mut [Layer], print: Print) -> (bool, Vec<usize>) {
    let mut full = Vec::new();
    for (number, layer) in layers.iter_mut().enumerate().filter(|(_, layer)| !layer.is_full()) {
        let digest = layer.aligned(print);
        if layer.filter.insert_digest(digest).is_ok() {
            return (true, full);
        }
        // A key that is in too often already says nothing about others.
        let often = layer.filter.count_digest(digest) >= Cuckoo::MAX_COPIES;
        if !often && layer.filter.fill() > 0.75 {
            full.push(number);
        }
    }
    (false, full)
}

/// Notes which filters are full.
fn close(layers: &mut [Layer], full: &[usize]) {
    for number in full {
        layers[*number].room = layers[*number].filter.items();
    }
}

/// A list of cuckoo filters; keys are counted, and can be removed.
#[derive(Debug)]
pub struct Chain {
    /// The oldest first; never none.
    layers: Vec<Layer>,
    bucket_size: u16,
    iterations: u16,
    expansion: u16,
    deletes: u64,
}

impl Chain {
    fn width(&self) -> u32 {
        width(self.bucket_size)
    }

    #[inline]
    fn print(&self, key: &[u8]) -> Print {
        Print::new(self.layers[0].filter.hasher().digest(key), self.width())
    }

    /// Whether `key` may be in: never false for a key that is.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.contains_print(self.print(key))
    }

    #[inline]
    fn contains_print(&self, print: Print) -> bool {
        self.layers.iter().rev().any(|layer| layer.filter.contains_digest(layer.aligned(print)))
    }

    /// Answers for up to [`BATCH`] keys, in order.
    pub fn contains_all(&self, keys: &[impl AsRef<[u8]>], out: &mut [bool]) {
        let prints = self.prints(keys);
        let prints = &prints[..keys.len()];
        let (mut digests, mut found) = ([Digest(0); BATCH], [false; BATCH]);
        let (digests, found) = (&mut digests[..keys.len()], &mut found[..keys.len()]);
        out.fill(false);
        for layer in self.layers.iter().rev() {
            digests.iter_mut().zip(prints).for_each(|(digest, print)| *digest = layer.aligned(*print));
            layer.filter.contains_digests(digests, found);
            out.iter_mut().zip(&*found).for_each(|(out, found)| *out |= *found);
            if !out.contains(&false) {
                break;
            }
        }
    }

    fn prints(&self, keys: &[impl AsRef<[u8]>]) -> [Print; BATCH] {
        let mut prints = [Print { digest: Digest(0), start: 0 }; BATCH];
        for (print, key) in prints.iter_mut().zip(keys) {
            *print = self.print(key.as_ref());
        }
        prints
    }

    /// How often `key` is in, or keys that cannot be told from it.
    #[must_use]
    pub fn count(&self, key: &[u8]) -> u64 {
        let print = self.print(key);
        self.layers.iter().map(|layer| layer.filter.count_digest(layer.aligned(print))).sum()
    }

    /// Adds `key` once more, to the oldest filter that has a place for it. `limit` is asked when
    /// one has to be added.
    #[inline]
    pub fn insert<L: Into<Limits>>(&mut self, key: &[u8], limit: impl FnOnce() -> L) -> Result<(), Refused> {
        self.insert_print(self.print(key), limit)
    }

    /// Adds `key` if it is certainly absent; true if it went in.
    pub fn insert_if_absent<L: Into<Limits>>(
        &mut self,
        key: &[u8],
        limit: impl FnOnce() -> L,
    ) -> Result<bool, Refused> {
        let print = self.print(key);
        if self.contains_print(print) {
            return Ok(false);
        }
        self.insert_print(print, limit).map(|()| true)
    }

    fn insert_print<L: Into<Limits>>(
        &mut self,
        print: Print,
        limit: impl FnOnce() -> L,
    ) -> Result<(), Refused> {
        let (inside, full) = put(&mut self.layers, print);
        if !inside {
            let before = self.memory();
            let mut layer = self.grown(|| limit().into())?;
            let digest = layer.aligned(print);
            layer.filter.insert_digest(digest).map_err(|_| Refused::Memory)?; // it is empty
            self.layers.push(layer);
            resized(before, self.memory());
        }
        // Only now: a key that is refused must change nothing, since replicas do not hear of it.
        close(&mut self.layers, &full);
        Ok(())
    }

    /// The next filter; there is room for it in the list.
    #[cold]
    fn grown(&mut self, limit: impl FnOnce() -> Limits) -> Result<Layer, Refused> {
        if self.expansion == 0 {
            return Err(Refused::Full);
        }
        let Limits { max_bytes, max_tables } = limit();
        if self.layers.len() as u64 >= max_tables.min(MAX_LAYERS as u64) {
            return Err(Refused::Expansions);
        }
        let last = &self.layers[self.layers.len() - 1];
        let (buckets, hasher) =
            (last.buckets().saturating_mul(self.expansion.into()), last.filter.hasher().clone());
        let left = max_bytes.saturating_sub(self.memory_bytes());
        let layer = Layer::new(buckets, self.width(), hasher, left)?;
        self.layers.try_reserve_exact(1).map_err(|_| Refused::Memory)?;
        Ok(layer)
    }

    /// Adds up to [`BATCH`] keys in order, once more each, and tells of each whether it went in;
    /// the error is why the last did not that did not.
    pub fn insert_all<L: Into<Limits>>(
        &mut self,
        keys: &[impl AsRef<[u8]>],
        out: &mut [bool],
        limit: impl Fn() -> L,
    ) -> Result<(), Refused> {
        let prints = self.prints(keys);
        let prints = &prints[..keys.len()];
        let mut taken = 0;
        if let Some(layer) = self.layers.iter_mut().find(|layer| !layer.is_full()) {
            // The first filter with places takes all, as far as they go.
            let left = usize::try_from(layer.room - layer.filter.items()).unwrap_or(usize::MAX);
            let mut digests = [Digest(0); BATCH];
            let digests = &mut digests[..keys.len().min(left)];
            digests.iter_mut().zip(prints).for_each(|(digest, print)| *digest = layer.aligned(*print));
            let mut new = [false; BATCH];
            taken = match layer.filter.insert_digests(digests, &mut new[..digests.len()]) {
                Ok(()) => digests.len(),
                Err(full) => full.taken as usize,
            };
        }
        out[..taken].fill(true);
        let mut result = Ok(());
        for (out, print) in out.iter_mut().zip(prints).skip(taken) {
            let inserted = self.insert_print(*print, &limit);
            *out = inserted.is_ok();
            result = inserted.and(result);
        }
        result
    }

    /// Removes `key` once; false, and nothing changes, if it is absent. Remove only what was
    /// inserted.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let print = self.print(key);
        // The newest first (see the top of this file).
        let mut layers = self.layers.iter_mut().rev();
        let removed = layers.any(|layer| layer.filter.remove_digest(layer.aligned(print)).is_ok());
        self.deletes = self.deletes.saturating_add(removed.into());
        removed
    }

    /// Drops filters that are empty, but for one; moves the newest filter's fingerprints to older
    /// ones, if there are as many places, and so on while it becomes empty; and forgets how many
    /// keys were removed. No key is lost. True if that changed something.
    pub fn compact(&mut self) -> bool {
        let (taken, mut changed) = (self.memory(), std::mem::take(&mut self.deletes) > 0);
        let (before, mut first) = (self.layers.len(), self.items() == 0);
        self.layers.retain(|layer| std::mem::take(&mut first) || layer.filter.items() > 0);
        while let Some((newest, older)) = self.layers.split_last_mut().filter(|(_, older)| !older.is_empty())
        {
            let places: u64 = older.iter().map(|layer| layer.room - layer.filter.items()).sum();
            if newest.filter.items() > places || newest.filter.cells() > MOST_MOVED {
                break;
            }
            changed |= newest.move_to(older);
            if newest.filter.items() > 0 {
                break;
            }
            self.layers.pop();
        }
        resized(taken, self.memory());
        changed || self.layers.len() < before
    }

    /// Keys that went in and were not removed, each as often as it went in.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.layers.iter().map(|layer| layer.filter.items()).sum()
    }

    /// Keys removed since the filter was last compacted.
    #[must_use]
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// Places of the first filter, in buckets of the size that was asked for.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.layers[0].filter.cells() / u64::from(self.bucket_size)
    }

    /// The bucket size that was asked for.
    #[must_use]
    pub fn bucket_size(&self) -> u16 {
        self.bucket_size
    }

    /// The iterations that were asked for.
    #[must_use]
    pub fn iterations(&self) -> u16 {
        self.iterations
    }

    /// How much larger each filter is than the one before; 0 if none follows.
    #[must_use]
    pub fn expansion(&self) -> u16 {
        self.expansion
    }

    /// How many filters there are.
    #[must_use]
    pub fn filters(&self) -> usize {
        self.layers.len()
    }

    /// The current false-positive rate.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        compound(self.layers.iter().map(|layer| layer.filter.fpp()))
    }

    /// Bytes of all fingerprints.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.filter.memory_bytes() as u64).sum()
    }
}

/// What is stored under the key.
pub type Cuckoos = Stored<Chain>;

static HANDLE: TypeHandle<Stored<Chain>> = TypeHandle::new();

/// Numbers of the head: bucket size, iterations, expansion, filters, of 2 bytes each; and the
/// deleted keys, 8 bytes.
const HEAD: usize = 16;

/// Written as its head, and each filter, the oldest first: the keys that it takes, 8 bytes, and the
/// native format. All numbers are little-endian.
impl Whole for Chain {
    const NAME: &'static CStr = c"gdn-cucko";
    const MARK: [u8; 8] = *b"\x89GDN-CF\xff";
    const LOADCHUNK: &'static CStr = c"CF.LOADCHUNK";

    fn handle() -> &'static TypeHandle<Stored<Self>> {
        &HANDLE
    }

    fn write(&self, mut to: impl Write) -> io::Result<()> {
        for number in [self.bucket_size, self.iterations, self.expansion, self.layers.len() as u16] {
            to.write_all(&number.to_le_bytes())?;
        }
        to.write_all(&self.deletes.to_le_bytes())?;
        for layer in &self.layers {
            to.write_all(&layer.room.to_le_bytes())?;
            layer.filter.write_to(&mut to).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn read(mut from: impl Read, len: u64) -> Option<Self> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head).ok()?;
        let (shorts, deletes) = head.split_at(8);
        let short = |at: usize| Some(u16::from_le_bytes(*shorts.get(2 * at..)?.first_chunk()?));
        let (bucket_size, iterations, expansion, count) = (short(0)?, short(1)?, short(2)?, short(3)?);
        let deletes = u64::from_le_bytes(*deletes.first_chunk()?);
        let counts = 1..=if expansion > 0 { MAX_LAYERS } else { 1 };
        if !(1..=255).contains(&bucket_size)
            || iterations == 0
            || expansion > 1 << 15
            || !counts.contains(&usize::from(count))
        {
            return None;
        }
        let mut layers: Vec<Layer> = Vec::new();
        layers.try_reserve_exact(count.into()).ok()?;
        for _ in 0..count {
            let mut room = [0; 8];
            from.read_exact(&mut room).ok()?;
            let filter = Cuckoo::read_from_with(&mut from, &ReadOptions::new().max_bytes(len)).ok()?;
            if filter.cells() == 0 {
                return None;
            }
            let layer = Layer::of(filter, u64::from_le_bytes(room));
            let (filter, buckets) = (&layer.filter, layer.buckets());
            // One hash function for all, and buckets that are multiples of those before.
            let fits = layers.last().is_none_or(|last| {
                last.filter.hasher() == filter.hasher() && buckets.is_multiple_of(last.buckets())
            });
            let full = (filter.items()..=filter.cells()).contains(&layer.room);
            if !fits || !full || filter.width() != width(bucket_size) || buckets > MAX_BUCKETS {
                return None;
            }
            layers.push(layer);
        }
        Some(Self { layers, bucket_size, iterations, expansion, deletes })
    }

    fn memory(&self) -> usize {
        self.memory_bytes() as usize + self.layers.len() * size_of::<Layer>()
    }

    fn parts(&self, part: &mut dyn FnMut(usize)) {
        part(self.layers.capacity() * size_of::<Layer>());
        self.layers.iter().for_each(|layer| part(aligned_bytes(layer.filter.memory_bytes())));
    }

    fn copy(&self) -> Option<Self> {
        let mut layers = Vec::new();
        layers.try_reserve_exact(self.layers.len()).ok()?;
        for layer in &self.layers {
            layers.push(Layer { filter: layer.filter.try_to_owned().ok()?, ..*layer });
        }
        Some(Self { layers, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: u64 = u64::MAX;
    /// The default size.
    const FILTERS: usize = 32;
    const PLAN: CuckooPlan =
        CuckooPlan { capacity: 100, bucket_size: 2, iterations: 20, expansion: 2, seed: 7 };

    fn key(number: u64) -> [u8; 8] {
        number.to_le_bytes()
    }

    fn bytes(chain: &Chain) -> Vec<u8> {
        let mut bytes = Vec::new();
        chain.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Chain> {
        Chain::read(bytes, bytes.len() as u64)
    }

    fn filled(plan: CuckooPlan, keys: u64) -> Chain {
        let mut chain = plan.build(FREE).unwrap();
        (0..keys).for_each(|number| chain.insert(&key(number), || FREE).unwrap());
        chain
    }

    /// Bucket and fingerprint as docs/formats.md has them.
    fn place(digest: Digest, buckets: u64, width: u32) -> (u64, u64) {
        let scale = |number: u64, by: u64| ((u128::from(number) * u128::from(by)) >> 64) as u64;
        let upper = digest.0.wrapping_mul(0x94d0_49bb_1331_11eb) >> 32;
        (scale(digest.0, buckets), 1 + ((upper * ((1 << width) - 1)) >> 32))
    }

    #[test]
    fn an_aligned_digest_has_the_keys_fingerprint_and_the_even_bucket_of_its_pair() {
        let ends = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63];
        let digests = ends.into_iter().chain((0..2_000).map(|number| Digest(number).word(1))).map(Digest);
        for (digest, width) in digests.flat_map(|digest| (8..=11).map(move |width| (digest, width))) {
            for buckets in [2, 4, 6, 284, (1 << 20) + 2, MAX_BUCKETS - 2, MAX_BUCKETS] {
                let aligned = Print::new(digest, width).aligned(buckets, u64::MAX / buckets + 1);
                let pair = place(digest, buckets / 2, width).0;
                let right = (2 * pair, place(digest, buckets, width).1);
                assert_eq!(place(aligned, buckets, width), right, "{digest:?} {width} {buckets}");
            }
        }
    }

    #[test]
    fn keys_that_a_newer_filter_cannot_tell_apart_no_older_one_does() {
        // Small filters and many keys, so that there are enough that cannot be told apart.
        let hasher = KeyHasher::xxh3(7);
        let new = |buckets: u64| Layer::new(buckets, 8, hasher.clone(), FREE).unwrap();
        let (mut old, mut newer, mut same) = (new(6), new(18), 0);
        let prints: Vec<Print> =
            (0..400).map(|number| Print::new(Digest(Digest(number).word(1)), 8)).collect();
        for one in &prints {
            old.filter.clear();
            newer.filter.clear();
            assert!(old.filter.insert_digest(old.aligned(*one)).unwrap());
            assert!(newer.filter.insert_digest(newer.aligned(*one)).unwrap());
            for other in &prints {
                let both = newer.filter.contains_digest(newer.aligned(*other));
                assert!(!both || old.filter.contains_digest(old.aligned(*other)));
                same += u64::from(both);
            }
        }
        assert!(same > 400, "no two keys but the same were alike");
    }

    #[test]
    fn a_filter_takes_its_capacity_and_then_grows_or_is_full() {
        for capacity in [4, 8, 9, 100, 1_000, 20_000] {
            let mut chain = filled(CuckooPlan { capacity, expansion: 0, ..PLAN }, capacity);
            assert_eq!((chain.filters(), chain.items()), (1, capacity));
            let why = (capacity..).find_map(|number| chain.insert(&key(number), || FREE).err());
            assert_eq!(why, Some(Refused::Full));
            let load = chain.items() as f64 / chain.layers[0].filter.cells() as f64;
            assert!(load > 0.9 || capacity < 1_000, "{capacity}: {load}");
            for expansion in [1, 3] {
                let chain = filled(CuckooPlan { capacity, expansion, ..PLAN }, 5 * capacity);
                let buckets: Vec<u64> = chain.layers.iter().map(Layer::buckets).collect();
                assert!(buckets.windows(2).all(|two| two[1] == two[0] * u64::from(expansion)), "{buckets:?}");
                assert!(buckets.len() > 1);
                // What is known to be full is not searched again.
                assert!(chain.layers[..buckets.len() - 1].iter().all(Layer::is_full), "{capacity}");
                assert!((0..5 * capacity).all(|number| chain.contains(&key(number))));
            }
        }
    }

    #[test]
    fn a_key_that_is_refused_changes_nothing() {
        /// Until a key is refused: the one that is behind those that are in.
        fn refused(chain: &mut Chain, limit: u64) -> Refused {
            loop {
                let before = bytes(chain);
                if let Err(why) = chain.insert(&key(chain.items()), || limit) {
                    assert_eq!(bytes(chain), before);
                    return why;
                }
            }
        }
        let small = CuckooPlan { capacity: 10, ..PLAN };
        assert_eq!(refused(&mut filled(CuckooPlan { expansion: 0, ..small }, 0), FREE), Refused::Full);
        let mut chain = filled(CuckooPlan { expansion: 1, ..small }, 0);
        assert_eq!((refused(&mut chain, FREE), chain.filters()), (Refused::Expansions, FILTERS));
        let mut chain = filled(small, 0);
        assert_eq!(refused(&mut chain, 1_000), Refused::Memory);
        assert!(chain.memory_bytes() <= 1_000 && chain.filters() > 2);
        let (mut out, keys, before) = ([true; 2], [key(chain.items()); 2], bytes(&chain));
        assert_eq!(chain.insert_all(&keys, &mut out, || 1_000), Err(Refused::Memory));
        assert_eq!((out, bytes(&chain)), ([false; 2], before));
        // More filters than 32, where that is allowed.
        let limits = || Limits { max_tables: 70, ..Limits::default() };
        let mut chain = filled(CuckooPlan { expansion: 1, ..small }, 0);
        let why = (0..).find_map(|number| chain.insert(&key(number), limits).err());
        assert_eq!((why, chain.filters()), (Some(Refused::Expansions), 70));
        assert!((0..chain.items()).all(|number| chain.contains(&key(number))));
        assert_eq!(bytes(&read(&bytes(&chain)).unwrap()), bytes(&chain));
        assert_eq!(CuckooPlan { capacity: 1 << 20, ..PLAN }.build(1 << 20).unwrap_err(), Refused::Memory);
        assert_eq!(CuckooPlan { capacity: 1 << 40, ..PLAN }.build(FREE).unwrap_err(), Refused::Memory);
    }

    #[test]
    fn more_copies_than_one_filter_takes_go_to_the_next() {
        let mut chain = CuckooPlan { capacity: 1_000, expansion: 1, ..PLAN }.build(FREE).unwrap();
        let most = 8 * FILTERS as u64;
        for copies in 1..=most {
            chain.insert(b"rose", || FREE).unwrap();
            assert_eq!(chain.count(b"rose"), copies);
            assert_eq!(chain.filters() as u64, copies.div_ceil(8));
        }
        assert_eq!(chain.insert(b"rose", || FREE), Err(Refused::Expansions));
        // Filters with one key in them have room for others, but for those few with the same two buckets.
        (0..1_000).for_each(|number| chain.insert(&key(number), || FREE).unwrap());
        assert_eq!(chain.insert_if_absent(b"rose", || FREE), Ok(false));
        for copies in (0..most).rev() {
            assert!(chain.remove(b"rose"));
            assert_eq!(chain.count(b"rose"), copies);
        }
        assert!(!chain.remove(b"rose"));
        assert_eq!((chain.items(), chain.deletes()), (1_000, most));
        // That one key has no place says nothing about a filter.
        let mut chain = filled(PLAN, 115);
        let (cells, filters) = (chain.layers[0].filter.cells(), chain.filters());
        (0..9).for_each(|_| chain.insert(b"rose", || FREE).unwrap());
        assert!(chain.layers[0].room == cells && chain.layers[0].filter.fill() > 0.75);
        assert_eq!((filters, chain.filters()), (1, 2));
        let mut fixed = CuckooPlan { expansion: 0, ..PLAN }.build(FREE).unwrap();
        (0..8).for_each(|_| fixed.insert(b"rose", || FREE).unwrap());
        assert_eq!(fixed.insert(b"rose", || FREE), Err(Refused::Full));
    }

    #[test]
    fn places_that_become_free_are_used_again() {
        let mut chain = filled(PLAN, 2_000);
        let (filters, memory) = (chain.filters(), chain.memory_bytes());
        for round in 1..20 {
            // Many at once, and then one by one.
            (0..500).for_each(|number| assert!(chain.remove(&key(2_000 * (round - 1) + number))));
            (0..500).for_each(|number| chain.insert(&key(2_000 * round + number), || FREE).unwrap());
            for number in 500..2_000 {
                assert!(chain.remove(&key(2_000 * (round - 1) + number)));
                chain.insert(&key(2_000 * round + number), || FREE).unwrap();
            }
        }
        assert_eq!((chain.filters(), chain.memory_bytes(), chain.items()), (filters, memory, 2_000));
    }

    #[test]
    fn compacting_drops_empty_filters_and_loses_no_key() {
        let mut chain = filled(PLAN, 1_000);
        assert!(!chain.compact());
        let filters = chain.filters();
        assert!(filters > 3);
        // The newest have the last keys: as these go, filters become empty.
        let emptied = chain.layers[filters - 1].filter.items();
        (1_000 - emptied..1_000).for_each(|number| assert!(chain.remove(&key(number))));
        assert_eq!((chain.deletes(), chain.filters()), (emptied, filters));
        assert!(chain.compact() && !chain.compact());
        assert_eq!((chain.deletes(), chain.filters()), (0, filters - 1));
        assert!((0..1_000 - emptied).all(|number| chain.contains(&key(number))));
        // The oldest have the first keys: as these go, there are places for the newest.
        let (left, copies) = (chain.items(), 5);
        (0..copies).for_each(|_| chain.insert(b"rose", || FREE).unwrap());
        (0..left - 50).for_each(|number| assert!(chain.remove(&key(number))));
        assert!(chain.compact() && !chain.compact());
        assert_eq!((chain.filters(), chain.items()), (1, 50 + copies));
        assert!((left - 50..left).all(|number| chain.contains(&key(number))));
        assert_eq!(chain.count(b"rose"), copies);
        (0..copies).for_each(|_| assert!(chain.remove(b"rose")));
        (left - 50..left).for_each(|number| assert!(chain.remove(&key(number))));
        assert!(chain.compact() && !chain.compact());
        assert_eq!((chain.filters(), chain.items()), (1, 0));
        let again = read(&bytes(&chain)).unwrap();
        assert_eq!(bytes(&again), bytes(&chain));
    }

    #[test]
    fn batches_are_as_one_by_one() {
        let keys: Vec<[u8; 8]> = (0..4_000).map(|number| key(number % 2_500)).collect();
        let (mut one, mut many) = (PLAN.build(FREE).unwrap(), PLAN.build(FREE).unwrap());
        for (number, keys) in keys.chunks(BATCH).enumerate() {
            let mut out = [false; BATCH];
            many.insert_all(keys, &mut out[..keys.len()], || FREE).unwrap();
            assert!(out[..keys.len()].iter().all(|added| *added));
            keys.iter().for_each(|key| one.insert(key, || FREE).unwrap());
            // Holes in older filters.
            let hole = key(number as u64 * 3);
            assert_eq!(one.remove(&hole), many.remove(&hole));
            let others: Vec<[u8; 8]> = (0..100).map(|other| key(other * 60)).collect();
            many.contains_all(&others, &mut out[..100]);
            assert!(others.iter().zip(out).all(|(key, found)| one.contains(key) == found));
        }
        assert!(one.filters() > 4);
        assert_eq!(bytes(&one), bytes(&many));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_not() {
        for expansion in [0, 1, 4] {
            let plan = CuckooPlan { capacity: 300, expansion, ..PLAN };
            let mut chain = filled(plan, if expansion == 0 { 300 } else { 1_500 });
            chain.remove(&key(3));
            let written = bytes(&chain);
            let again = read(&written).unwrap();
            assert_eq!(bytes(&again), written);
            assert_eq!((again.items(), again.deletes()), (chain.items(), 1));
            assert_eq!(bytes(&chain.copy().unwrap()), written);
            let damaged = |at: usize, byte: u8| {
                let mut damaged = written.clone();
                damaged[at] = byte;
                read(&damaged)
            };
            // The bucket size, iterations, expansion, filters, the keys of the first filter, its header, and its buckets.
            let wrong =
                [(0, 0), (0, 1), (1, 1), (2, 0), (5, 255), (6, 0), (6, 33), (16, 0), (23, 1), (40, 77)];
            for (at, byte) in wrong.into_iter().chain([(300, written[300] ^ 1)]) {
                assert!(damaged(at, byte).is_none(), "{at} {byte}");
            }
            assert!(read(&written[..written.len() - 1]).is_none());
            assert!(expansion != 1 || damaged(4, 0).is_none(), "more than one filter, and no growth");
        }
        // Filters that do not belong together.
        let (one, other) = (filled(PLAN, 1), filled(CuckooPlan { seed: 8, ..PLAN }, 1));
        let odd = filled(CuckooPlan { capacity: 150, ..PLAN }, 1);
        for (second, good) in [(&one, true), (&other, false), (&odd, false)] {
            let mut both = bytes(&one);
            both[6] = 2;
            both.extend_from_slice(&bytes(second)[HEAD..]);
            assert_eq!(read(&both).is_some(), good);
        }
    }
}
