//! A filter whose kind is learnt at run time.

use crate::cells::{Bytes, Memory, Owned};
use crate::filter::{About, BlockedBloom, Bloom, Identity};
use crate::format::{self, Header, Kind, Stored};
use crate::hash::{Digest, KeyHasher};
use crate::index::AnyScheme;
use crate::theory::bloom::Estimate;
use crate::{DecodeError, EncodeError, Filter, ReadOptions};
use alloc::vec::Vec;

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
    /// A blocked Bloom filter.
    Blocked(BlockedBloom<M>),
}

impl AnyFilter {
    /// Adds the keys with these digests in order, and tells of each whether it was certainly absent.
    ///
    /// # Panics
    /// If `new` is not as long as `digests`.
    pub fn insert_digests(&mut self, digests: &[Digest], new: &mut [bool]) {
        match self {
            Self::Bloom(f) => f.insert_digests(digests, new),
            Self::Blocked(f) => f.insert_digests(digests, new),
        }
    }

    /// What the filter was made for, to be changed.
    pub fn about_mut(&mut self) -> &mut About {
        match self {
            Self::Bloom(f) => f.about_mut(),
            Self::Blocked(f) => f.about_mut(),
        }
    }
}

impl<M> From<Bloom<AnyScheme, M>> for AnyFilter<M> {
    fn from(filter: Bloom<AnyScheme, M>) -> Self {
        Self::Bloom(filter)
    }
}

impl<M> From<BlockedBloom<M>> for AnyFilter<M> {
    fn from(filter: BlockedBloom<M>) -> Self {
        Self::Blocked(filter)
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
            Self::Blocked(f) => f.identity(),
        }
    }

    /// The hash function.
    pub fn hasher(&self) -> &KeyHasher {
        match self {
            Self::Bloom(f) => f.hasher(),
            Self::Blocked(f) => f.hasher(),
        }
    }

    /// What the filter was made for.
    #[must_use]
    pub fn about(&self) -> &About {
        match self {
            Self::Bloom(f) => f.about(),
            Self::Blocked(f) => f.about(),
        }
    }

    /// The share of cells that are set.
    #[must_use]
    pub fn fill(&self) -> f64 {
        match self {
            Self::Bloom(f) => f.fill(),
            Self::Blocked(f) => f.fill(),
        }
    }

    /// The false-positive probability as the filter is now.
    #[must_use]
    pub fn fpp(&self) -> f64 {
        match self {
            Self::Bloom(f) => f.fpp(),
            Self::Blocked(f) => f.fpp(),
        }
    }

    /// How many different keys are in, estimated.
    #[must_use]
    pub fn estimated_items(&self) -> Estimate {
        match self {
            Self::Bloom(f) => f.estimated_items(),
            Self::Blocked(f) => f.estimated_items(),
        }
    }

    /// Bytes of memory that the cells take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Bloom(f) => f.memory_bytes(),
            Self::Blocked(f) => f.memory_bytes(),
        }
    }
}

impl<M: Memory> core::fmt::Debug for AnyFilter<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Bloom(filter) => filter.fmt(f),
            Self::Blocked(filter) => filter.fmt(f),
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
            Self::Blocked(f) => f.contains_digest(digest),
        }
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        match self {
            Self::Bloom(f) => f.contains_digests(digests, out),
            Self::Blocked(f) => f.contains_digests(digests, out),
        }
    }
}

impl<M: Memory> Stored for AnyFilter<M> {
    fn header(&self) -> Result<Header, EncodeError> {
        match self {
            Self::Bloom(f) => f.header(),
            Self::Blocked(f) => f.header(),
        }
    }
    fn sections(&self) -> Vec<&dyn Memory> {
        match self {
            Self::Bloom(f) => f.sections(),
            Self::Blocked(f) => f.sections(),
        }
    }
}

impl format::Restore for AnyFilter {
    fn restore(header: &Header, options: &ReadOptions) -> Result<Self, DecodeError> {
        Ok(match header.identity.kind {
            Kind::Bloom => Self::Bloom(format::Restore::restore(header, options)?),
            Kind::Blocked => Self::Blocked(format::Restore::restore(header, options)?),
        })
    }
    fn sections_mut(&mut self) -> Vec<&mut [u64]> {
        match self {
            Self::Bloom(f) => f.sections_mut(),
            Self::Blocked(f) => f.sections_mut(),
        }
    }
    fn check(&self) -> Result<(), DecodeError> {
        match self {
            Self::Bloom(f) => f.check(),
            Self::Blocked(f) => f.check(),
        }
    }
}

impl<B: AsRef<[u8]>> format::Attach<B> for AnyFilter<Bytes<B>> {
    fn attach(header: &Header, options: &ReadOptions, payload: B) -> Result<Self, DecodeError> {
        Ok(match header.identity.kind {
            Kind::Bloom => Self::Bloom(format::Attach::attach(header, options, payload)?),
            Kind::Blocked => Self::Blocked(format::Attach::attach(header, options, payload)?),
        })
    }
}

format::stored_methods!(AnyFilter<M> where M: Memory);
format::read_methods!(AnyFilter);
