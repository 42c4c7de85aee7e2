//! A filter that was opened from a file, wherever its cells are.

use crate::cells::Bytes;
use crate::filter::{About, Identity};
use crate::format::Mapped;
use crate::hash::{Digest, Key, KeyHasher};
use crate::kinds::{Ability, AnyFilter, Kind};
use crate::spec::Spec;
use crate::theory::bloom::Estimate;
use crate::{Count, DecodeError, Filter, ReadOptions};
use std::path::Path;

/// A filter of any kind, to be asked: in memory of its own, or in a mapped file.
///
/// One type for both, and its loops are compiled here once, so that programs that open filters need not compile them again.
///
/// ```
/// use gardenia::{BlockedBloom, OpenFilter};
/// let path = std::env::temp_dir().join(format!("gardenia-open-{}.gdn", std::process::id()));
/// let mut filter = BlockedBloom::new(100, 0.01)?;
/// filter.insert("rose");
/// filter.save(&path).unwrap();
/// let open = OpenFilter::map(&path).unwrap();
/// assert!(open.contains("rose"));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Debug)]
pub enum OpenFilter {
    /// In memory of its own.
    Owned(AnyFilter),
    /// In a file.
    Mapped(AnyFilter<Bytes<Mapped>>),
}

/// Does the same with either.
macro_rules! either {
    ($open:expr, $filter:ident => $work:expr) => {
        match $open {
            OpenFilter::Owned($filter) => $work,
            OpenFilter::Mapped($filter) => $work,
        }
    };
}

impl OpenFilter {
    /// Maps the file at `path`. Its payload is read when it is asked for, and checked by
    /// [`verify_file`](crate::format::verify_file) only. Do not change the file in place while it is mapped: see [`Mapped`].
    pub fn map(path: impl AsRef<Path>) -> Result<Self, DecodeError> {
        Self::map_with(path, &ReadOptions::new())
    }

    /// As [`map`](Self::map), with options.
    pub fn map_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, DecodeError> {
        AnyFilter::open_mapped_with(path, options).map(Self::Mapped)
    }

    /// Kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        either!(self, filter => filter.kind())
    }

    /// Whether this filter can do it.
    #[must_use]
    pub fn can(&self, ability: Ability) -> bool {
        either!(self, filter => filter.can(ability))
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        either!(self, filter => filter.identity())
    }

    /// The spec of a filter like this one. See [`AnyFilter::spec`].
    #[must_use]
    pub fn spec(&self) -> Option<Spec> {
        either!(self, filter => filter.spec())
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        either!(self, filter => filter.hasher())
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        either!(self, filter => filter.about())
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        either!(self, filter => filter.fill())
    }

    /// The current false-positive rate.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        either!(self, filter => filter.fpp())
    }

    /// How many distinct keys are in the filter, estimated; `None` if this kind cannot estimate it.
    #[must_use]
    pub fn estimated_items(&self) -> Option<Estimate> {
        either!(self, filter => filter.estimated_items())
    }

    /// Whether `key` may be present.
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher().digest_key(&key))
    }

    /// Answers for all keys in order, probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        (self as &dyn Filter).contains_many(keys)
    }

    /// The filter as one that counts; `None` if this kind does not.
    #[must_use]
    pub fn as_count(&self) -> Option<&dyn Count> {
        either!(self, filter => filter.as_count())
    }

    /// The values of the keys with these digests; false if this kind holds none. See [`AnyFilter::get_digests`].
    pub fn get_digests(&self, digests: &[Digest], values: &mut [Option<u32>]) -> bool {
        either!(self, filter => filter.get_digests(digests, values))
    }

    /// Bytes that the cells take, in memory or in the file.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        either!(self, filter => filter.memory_bytes())
    }
}

impl From<AnyFilter> for OpenFilter {
    fn from(filter: AnyFilter) -> Self {
        Self::Owned(filter)
    }
}

impl Filter for OpenFilter {
    fn hasher(&self) -> &KeyHasher {
        OpenFilter::hasher(self)
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        either!(self, filter => filter.contains_digest(digest))
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        either!(self, filter => filter.contains_digests(digests, out));
    }
}
