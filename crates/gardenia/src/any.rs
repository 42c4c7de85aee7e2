//! A filter whose kind is learnt at run time.

use crate::cells::{Memory, Owned};
use crate::filter::{About, Bloom, Identity};
use crate::format::Kind;
use crate::hash::{Digest, KeyHasher};
use crate::index::AnyScheme;
use crate::theory::bloom::Estimate;
use crate::{DecodeError, EncodeError, Filter, ReadOptions};

/// Any kind of filter, as files, the command line and engines hold it. The compiler lists every place that
/// a new kind touches.
///
/// ```
/// use gardenia::{AnyFilter, Bloom, Filter};
/// let mut bed = Bloom::new(100, 0.01)?;
/// bed.insert("rose");
/// let any = AnyFilter::from_slice(&bed.to_vec().unwrap()).unwrap();
/// assert!(any.contains_digest(any.digest(b"rose")));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum AnyFilter<M = Owned> {
    /// A Bloom filter of any scheme.
    Bloom(Bloom<AnyScheme, M>),
}

impl AnyFilter {
    /// The filter in these bytes, with every checksum verified.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::from_slice_with(bytes, &ReadOptions::new())
    }

    /// As [`from_slice`](Self::from_slice), with options.
    pub fn from_slice_with(bytes: &[u8], options: &ReadOptions) -> Result<Self, DecodeError> {
        Bloom::from_slice_as(bytes, options).map(Self::Bloom)
    }

    /// Reads one filter, and no byte beyond it, with every checksum verified.
    #[cfg(feature = "std")]
    pub fn read_from(reader: impl std::io::Read, options: &ReadOptions) -> Result<Self, DecodeError> {
        Bloom::read_from_as(reader, options).map(Self::Bloom)
    }

    /// Loads a file into memory, with every checksum verified.
    #[cfg(feature = "mmap")]
    pub fn load(path: impl AsRef<std::path::Path>, options: &ReadOptions) -> Result<Self, DecodeError> {
        Bloom::load_as(path, options).map(Self::Bloom)
    }
}

#[cfg(feature = "mmap")]
impl AnyFilter<crate::cells::Bytes<crate::Mapped>> {
    /// Opens a file by memory map, in a time that does not depend on its size.
    pub fn open_mapped(
        path: impl AsRef<std::path::Path>,
        options: &ReadOptions,
    ) -> Result<Self, DecodeError> {
        Bloom::open_mapped_as(path, options).map(Self::Bloom)
    }
}

impl<M: Memory> AnyFilter<M> {
    /// Kind of filter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.identity().kind
    }

    /// Hasher, scheme and shape.
    #[must_use]
    pub fn identity(&self) -> Identity {
        match self {
            Self::Bloom(f) => f.identity(),
        }
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        match self {
            Self::Bloom(f) => f.hasher(),
        }
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        match self {
            Self::Bloom(f) => f.about(),
        }
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        match self {
            Self::Bloom(f) => f.fill(),
        }
    }

    /// The false-positive probability as the filter is now.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        match self {
            Self::Bloom(f) => f.fpp(),
        }
    }

    /// How many different keys are in, estimated.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        match self {
            Self::Bloom(f) => f.estimated_items(),
        }
    }

    /// Bytes of memory that the cells take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Bloom(f) => f.memory_bytes(),
        }
    }

    /// The filter as bytes of the native format.
    pub fn to_vec(&self) -> Result<alloc::vec::Vec<u8>, EncodeError> {
        match self {
            Self::Bloom(f) => f.to_vec(),
        }
    }

    /// Saves the filter to a file, whole or not at all.
    #[cfg(feature = "mmap")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), EncodeError> {
        match self {
            Self::Bloom(f) => f.save(path),
        }
    }
}

impl<M: Memory> core::fmt::Debug for AnyFilter<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Bloom(filter) => filter.fmt(f),
        }
    }
}

impl<M: Memory> Filter for AnyFilter<M> {
    fn digest(&self, key: &[u8]) -> Digest {
        self.hasher().digest(key)
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        match self {
            Self::Bloom(f) => f.contains_digest(digest),
        }
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        match self {
            Self::Bloom(f) => f.contains_digests(digests, out),
        }
    }
}
