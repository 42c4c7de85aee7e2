//! The value behind `GD.*`: a filter of any kind, stored as a `.gdn` file and nothing else.
//!
//! So what the command line writes is what a key holds, and the other way round. Two kinds are
//! other values here: a scalable filter is a key of `BF.*` ([`Scaling`]), and a compressed one is
//! the Bloom filter that it is in memory. A compressed file may say much about many bits in few
//! bytes, and what is stored must not take more memory than its bytes can account for.
//!
//! The subtle rule: a filter whose items can be removed stores every copy of an item, as the
//! library does. An item that only seems to be in would otherwise go with the one that it
//! resembles.

use super::bloom::Scaling;
use super::stored::{Stored, Whole};
use crate::engine::alloc::aligned_bytes;
use crate::engine::stats::resized;
use crate::engine::types::TypeHandle;
use gardenia::filter::PolicyId;
use gardenia::{
    Ability, AnyFilter, DecodeError, Digest, EncodeError, Filter, Full, InsertError, KeyHasher, ReadOptions,
    RemoveError,
};
use std::ffi::CStr;
use std::io::{self, Read, Write};

/// Options for filters whose growth is checked here, by `bf.memory-limit`: a replica must not
/// refuse what its primary took.
pub(super) fn grows_here() -> ReadOptions {
    ReadOptions::new().max_expansion(u64::MAX)
}

/// What is stored under the key.
pub type Any = Stored<AnyFilter>;

static HANDLE: TypeHandle<Stored<AnyFilter>> = TypeHandle::new();

/// A filter may take this many times its bytes in memory while it is read: spectral filters with
/// compact cells do.
const COMPACT: u64 = 4;

impl Whole for AnyFilter {
    const NAME: &'static CStr = c"gdn-filtr";
    const MARK: [u8; 8] = *b"\x89GDN-AF\xff";
    const LOADCHUNK: &'static CStr = c"GD.LOADCHUNK";

    fn handle() -> &'static TypeHandle<Stored<Self>> {
        &HANDLE
    }

    fn write(&self, to: impl Write) -> io::Result<()> {
        self.write_to(to).map_err(io::Error::other)
    }

    fn read(from: impl Read, len: u64) -> Option<Self> {
        let options = grows_here().max_bytes(len.saturating_mul(COMPACT));
        let filter = AnyFilter::read_from_with(from, &options).ok()?;
        // Neither is stored as this value.
        (!matches!(filter, Self::Scalable(_) | Self::Compressed(_))).then_some(filter)
    }

    fn memory(&self) -> usize {
        let layers = if let Self::Dynamic(filter) = self { filter.layers().count() * 64 } else { 0 };
        self.memory_bytes() + self.about().metadata().len() + layers
    }

    fn parts(&self, part: &mut dyn FnMut(usize)) {
        part(aligned_bytes(Whole::memory(self)));
    }

    /// By way of its bytes: not every kind can be copied without the risk that memory is short.
    fn copy(&self) -> Option<Self> {
        let bytes = bytes(self.memory_bytes(), |to| self.write_to(to)).ok()?;
        AnyFilter::from_bytes_with(&bytes, &grows_here().max_bytes(u64::MAX)).ok()
    }
}

/// What `write` writes, which is about `len` bytes; an error if there is no memory for it.
pub fn bytes(
    len: usize,
    write: impl FnOnce(&mut Room) -> Result<(), EncodeError>,
) -> Result<Vec<u8>, EncodeError> {
    let mut room = Room(Vec::new());
    let out_of_memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
    // Header, sums and the user's own bytes are seldom more.
    room.0.try_reserve_exact(len.saturating_add(len >> 16).saturating_add(1024)).map_err(out_of_memory)?;
    write(&mut room)?;
    Ok(room.0)
}

/// Bytes that are written, as long as there is memory.
pub struct Room(Vec<u8>);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a `.gdn` file becomes.
#[derive(Debug)]
pub enum Loaded {
    /// A key of `GD.*`.
    Any(AnyFilter),
    /// A key of `BF.*`.
    Scaling(Scaling),
}

/// The filter in the bytes of a file, if it takes `limit` bytes of memory at most; cells that are
/// as wide as their counts need are taken for as wide as they may become.
pub fn load(bytes: &[u8], limit: u64) -> Result<Loaded, DecodeError> {
    let filter = AnyFilter::from_bytes_with(bytes, &grows_here().max_bytes(limit))?;
    if let AnyFilter::Spectral(filter) = &filter
        && filter.is_compact()
    {
        let needed = counter_bytes(filter.cells().saturating_add(filter.secondary_cells()), u32::BITS);
        if needed > limit {
            return Err(DecodeError::TooLarge { needed, max: limit });
        }
    }
    Ok(match filter {
        AnyFilter::Scalable(filter) => Loaded::Scaling(Scaling::from(filter)),
        AnyFilter::Compressed(filter) => Loaded::Any(filter.into_bloom().into()),
        filter => Loaded::Any(filter),
    })
}

/// Why an item was not added, or not removed. Nothing has changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The filter is built from all its items at once.
    Fixed,
    /// It has no room left.
    Full,
    /// It holds as many copies of the item as it can.
    Copies,
    /// The memory to grow cannot be had, or may not.
    Memory,
    /// Filters of this kind do not remove items.
    Stays,
    /// The item cannot be removed.
    Remove(RemoveError),
}

impl From<super::bloom::Refused> for Refused {
    fn from(refused: super::bloom::Refused) -> Self {
        match refused {
            super::bloom::Refused::Full => Self::Full,
            super::bloom::Refused::Memory | super::bloom::Refused::Shape => Self::Memory,
        }
    }
}

/// A filter under a key, of any layout of our own.
pub enum Kept<'k> {
    /// A key of `GD.*`.
    Any(&'k mut AnyFilter),
    /// A key of `BF.*`.
    Scaling(&'k mut Scaling),
}

impl Kept<'_> {
    /// The hash function.
    #[inline]
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        match self {
            Self::Any(filter) => filter.hasher(),
            Self::Scaling(filter) => filter.hasher(),
        }
    }

    /// Whether items can be added.
    #[must_use]
    pub fn inserts(&self) -> bool {
        match self {
            Self::Any(filter) => filter.can(Ability::Insert),
            Self::Scaling(_) => true,
        }
    }

    /// Answers for digests, in order.
    pub fn contains(&self, digests: &[Digest], out: &mut [bool]) {
        match self {
            Self::Any(filter) => filter.contains_digests(digests, out),
            Self::Scaling(filter) => filter.contains_digests(digests, out),
        }
    }

    /// Counts of digests, in order; 1 or 0 where the filter does not count.
    pub fn count(&self, digests: &[Digest], out: &mut [u64]) {
        if let Self::Any(filter) = self
            && let Some(counts) = filter.as_count()
        {
            return counts.count_digests(digests, out);
        }
        for (digest, out) in digests.iter().zip(out) {
            let mut found = [false];
            self.contains(&[*digest], &mut found);
            *out = found[0].into();
        }
    }

    /// Whether an item that is in already changes nothing when it is added.
    #[must_use]
    pub fn is_set(&self) -> bool {
        match self {
            Self::Any(filter) => filter.can(Ability::Set),
            Self::Scaling(_) => true,
        }
    }

    /// Adds digests in order, and tells of each whether it was certainly absent; at the first that
    /// is refused it stops, and tells how many went in before. `limit` is asked when the filter has
    /// to grow.
    pub fn insert(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
        limit: impl Fn() -> u64,
    ) -> Result<(), (usize, Refused)> {
        let before = self.grown_bytes();
        let result = self.insert_uncounted(digests, new, limit);
        resized(before, self.grown_bytes());
        result
    }

    /// Bytes of the filter. A scalable filter counts itself.
    fn grown_bytes(&self) -> usize {
        match self {
            Self::Any(filter) => Whole::memory(&**filter),
            Self::Scaling(_) => 0,
        }
    }

    fn insert_uncounted(
        &mut self,
        digests: &[Digest],
        new: &mut [bool],
        limit: impl Fn() -> u64,
    ) -> Result<(), (usize, Refused)> {
        match self {
            Self::Scaling(filter) => {
                filter.insert_digests(digests, new, limit).map_err(|(at, why)| (at, why.into()))
            }
            Self::Any(filter) => {
                let (now, most) = (filter.memory_bytes() as u64, filter.memory_after(digests.len() as u64));
                let limit = if most > now { limit() } else { u64::MAX };
                let inserted = if most <= limit {
                    filter.insert_digests(digests, new).map_err(|error| match error {
                        InsertError::Full(full) => (full.taken as usize, error),
                        _ => (0, error),
                    })
                } else {
                    insert_up_to(filter, digests, new, limit)
                };
                inserted.map_err(|(at, error)| match error {
                    InsertError::Full(Full { copies: true, .. }) => (at, Refused::Copies),
                    InsertError::Full(_) if !filter.can(Ability::Grow) => (at, Refused::Full),
                    InsertError::Fixed => (at, Refused::Fixed),
                    // A filter that grows is full when it gets no more memory, or has its most parts.
                    _ => (at, Refused::Memory),
                })
            }
        }
    }

    /// Removes the item with this digest once; false if it is absent.
    pub fn remove(&mut self, digest: Digest) -> Result<bool, Refused> {
        let before = self.grown_bytes();
        let removed = match self {
            Self::Any(filter) => filter.remove_digest(digest),
            Self::Scaling(_) => None,
        };
        resized(before, self.grown_bytes());
        match removed.ok_or(Refused::Stays)? {
            Ok(()) => Ok(true),
            Err(RemoveError::Absent) => Ok(false),
            Err(error) => Err(Refused::Remove(error)),
        }
    }

    /// The filter as a `.gdn` file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Any(filter) => bytes(filter.memory_bytes(), |to| filter.write_to(to)),
            Self::Scaling(filter) => {
                let filter = filter.filter();
                bytes(filter.memory_bytes(), |to| filter.write_to(to))
            }
        }
    }

    /// The number of distinct items, estimated; `None` if this kind of filter cannot tell.
    #[must_use]
    pub fn items(&self) -> Option<u64> {
        match self {
            Self::Any(AnyFilter::Dynamic(filter)) => Some(filter.items()),
            Self::Any(filter) => filter.estimated_items().map(|about| about.items.round() as u64),
            Self::Scaling(filter) => Some(filter.items()),
        }
    }
}

/// Adds one by one where a batch might need more memory than `limit`: only the key that would is
/// refused.
fn insert_up_to(
    filter: &mut AnyFilter,
    digests: &[Digest],
    new: &mut [bool],
    limit: u64,
) -> Result<(), (usize, InsertError)> {
    let set = filter.can(Ability::Set);
    for (at, (digest, new)) in digests.iter().zip(new).enumerate() {
        // A key that a set has takes nothing.
        if set && filter.contains_digest(*digest) {
            continue;
        }
        let (now, needed) = (filter.memory_bytes() as u64, filter.memory_after(1));
        if needed > now && needed > limit {
            return Err((at, InsertError::Growth { needed, max: limit }));
        }
        *new = filter.insert_digest(*digest).map_err(|error| (at, error))?;
    }
    Ok(())
}

/// Bytes that counters of this width take, in whole words.
fn counter_bytes(cells: u64, width: u32) -> u64 {
    cells.div_ceil(u64::from(64 / width.clamp(1, 32))).saturating_mul(8)
}

/// The kind of a filter, as the command line calls it.
#[must_use]
pub fn kind_name(filter: &AnyFilter) -> &'static str {
    match filter {
        AnyFilter::Spectral(filter) => match filter.policy() {
            PolicyId::MinimumIncrease => "spectral-mi",
            PolicyId::RecurringMinimum => "spectral-rm",
            _ => "spectral-ms",
        },
        filter => filter.kind().name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gardenia::{BitwiseBloom, Bloom, CompressedBloom, Cuckoo, DynamicBloom, SpectralBloom};

    fn insert(filter: &mut AnyFilter, digests: &[Digest], limit: u64) -> Result<Vec<bool>, (usize, Refused)> {
        let mut new = vec![false; digests.len()];
        Kept::Any(filter).insert(digests, &mut new, || limit).map(|()| new)
    }

    #[test]
    fn growth_stops_at_the_limit_and_nothing_changes() {
        let digests: Vec<Digest> = (1..5_000).map(|number| Digest(Digest(number).word(1))).collect();
        let once = AnyFilter::from(DynamicBloom::new(500, 0.001).unwrap());
        let often = AnyFilter::from(BitwiseBloom::builder().items(500).fpp(0.001).digit(1).build().unwrap());
        let same = vec![digests[0]; 1 << 12];
        for (mut filter, digests) in [(once, &digests), (often, &same)] {
            let limit = 3 * filter.memory_bytes() as u64;
            let (taken, why) = insert(&mut filter, digests, limit).unwrap_err();
            assert_eq!(why, Refused::Memory);
            assert!(taken > 1 && filter.memory_bytes() as u64 <= limit);
            let before = filter.to_bytes().unwrap();
            assert_eq!(insert(&mut filter, &digests[taken..], limit), Err((0, Refused::Memory)));
            assert_eq!(filter.to_bytes().unwrap(), before);
            // All of them at once, as far as they went, is the same.
            let mut again = match &filter {
                AnyFilter::Dynamic(_) => AnyFilter::from(DynamicBloom::new(500, 0.001).unwrap()),
                _ => BitwiseBloom::builder().items(500).fpp(0.001).digit(1).build().unwrap().into(),
            };
            insert(&mut again, &digests[..taken], u64::MAX).unwrap();
            assert_eq!(again.to_bytes().unwrap(), before);
        }
    }

    #[test]
    fn every_copy_of_an_item_goes_in_and_comes_out() {
        for filter in
            [AnyFilter::from(Cuckoo::new(100, 0.001).unwrap()), DynamicBloom::new(10, 0.001).unwrap().into()]
        {
            let (mut filter, digests) = (filter, [5, 5, 6, 5].map(|number| Digest(Digest(number).word(1))));
            assert_eq!(insert(&mut filter, &digests, u64::MAX).unwrap(), [true, false, true, false]);
            let mut counts = [0; 2];
            Kept::Any(&mut filter).count(&digests[1..3], &mut counts);
            assert_eq!((counts, Kept::Any(&mut filter).items()), ([3, 1], Some(4)));
            let removed = [(); 4].map(|()| Kept::Any(&mut filter).remove(digests[0]));
            assert_eq!(removed, [Ok(true), Ok(true), Ok(true), Ok(false)]);
            assert_eq!(Kept::Any(&mut filter).items(), Some(1));
        }
    }

    #[test]
    fn a_ninth_copy_is_refused_for_itself_and_not_as_a_full_filter() {
        let mut filter = AnyFilter::from(Cuckoo::new(100, 0.001).unwrap());
        let digests = [[Digest(7); 9].as_slice(), &[Digest(8)]].concat();
        assert_eq!(insert(&mut filter, &digests, u64::MAX), Err((8, Refused::Copies)));
        assert_eq!(insert(&mut filter, &digests[9..], u64::MAX), Ok(vec![true]));
    }

    #[test]
    fn what_may_become_large_is_not_small() {
        let compact = SpectralBloom::builder().cells(100_000).hashes(3).compact().build().unwrap();
        let bytes = AnyFilter::from(compact).to_bytes().unwrap();
        assert!(bytes.len() < 20_000);
        assert!(matches!(load(&bytes, 399_999), Err(DecodeError::TooLarge { needed: 400_000, .. })));
        assert!(load(&bytes, 400_000).is_ok());
        // A compressed file becomes what it is in memory, which its few bytes do not tell.
        let scheme = |hashes| gardenia::index::AnyScheme::new(gardenia::index::SchemeId::Fractional, hashes);
        let bloom = Bloom::builder().scheme(scheme).bits(800_000).hashes(3).build().unwrap();
        let bytes = CompressedBloom::from(bloom).to_bytes().unwrap();
        assert!(bytes.len() < 400);
        assert!(matches!(load(&bytes, 100_000), Err(DecodeError::TooLarge { .. })));
        assert!(matches!(load(&bytes, 101_000), Ok(Loaded::Any(AnyFilter::Bloom(_)))));
        assert!(AnyFilter::read(&bytes[..], bytes.len() as u64).is_none());
        assert!(AnyFilter::read(&bytes[..], u64::MAX / 8).is_none());
    }
}
