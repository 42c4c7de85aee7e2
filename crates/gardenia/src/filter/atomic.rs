//! Filters that many threads fill at once.

use crate::filter::{About, AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, AtomicSplitBlockBloom};
use crate::hash::{Digest, Key, KeyHasher};
use crate::index::AnyScheme;
use crate::kinds::AnyFilter;
use crate::traits::Filter;
use alloc::boxed::Box;
use core::fmt;
use core::ops::Deref;

/// A filter whose words many threads change at once, so that `insert` needs no `&mut`:
/// [`AtomicBloom`](crate::AtomicBloom), [`AtomicBlockedBloom`](crate::AtomicBlockedBloom),
/// [`AtomicA2Bloom`](crate::AtomicA2Bloom).
///
/// Everything that only reads is that of the filter within.
#[derive(Clone, Debug, PartialEq)]
pub struct Atomic<F>(pub(crate) F);

impl<F> Deref for Atomic<F> {
    type Target = F;
    #[inline]
    fn deref(&self) -> &F {
        &self.0
    }
}

impl<F: Filter> Filter for Atomic<F> {
    fn hasher(&self) -> &KeyHasher {
        self.0.hasher()
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        self.0.contains_digest(digest)
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.0.contains_digests(digests, out);
    }
}

/// A filter of any kind that many threads fill at once, chosen at run time: what
/// [`AnyFilter::into_shared`] returns.
///
/// ```
/// use gardenia::{Filter, Spec};
/// let seen = "blocked items=1000".parse::<Spec>()?.build()?.into_shared().expect("blocked filters can be shared");
/// std::thread::scope(|threads| {
///     for start in [0u32, 500] {
///         let seen = &seen;
///         threads.spawn(move || (start..start + 500).for_each(|key| _ = seen.insert(key)));
///     }
/// });
/// let seen = seen.into_owned();
/// assert!((0..1000u32).all(|key| seen.contains(key)));
/// # Ok::<(), gardenia::spec::SpecError>(())
/// ```
pub struct SharedFilter(Box<dyn InsertShared>);

impl SharedFilter {
    pub(crate) fn new(filter: impl InsertShared + 'static) -> Self {
        Self(Box::new(filter))
    }

    /// Adds `key`; true if it was certainly absent before (of a filter that forgets: absent or
    /// forgotten). If threads add one new key at the same time, at least one of them gets true.
    pub fn insert(&self, key: impl Key) -> bool {
        self.0.about().took_key(&key);
        self.0.insert_digest(self.hasher().digest_key(&key))
    }

    /// Adds the key with this digest.
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.0.insert_digest(digest)
    }

    /// Whether the filter is empty: no cell is set. Reads all cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same filter for one owner; nothing is copied.
    #[must_use]
    pub fn into_owned(self) -> AnyFilter {
        self.0.into_any()
    }
}

impl Filter for SharedFilter {
    fn hasher(&self) -> &KeyHasher {
        self.0.hasher()
    }
    fn contains_digest(&self, digest: Digest) -> bool {
        self.0.contains_digest(digest)
    }
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        self.0.contains_digests(digests, out);
    }
}

impl fmt::Debug for SharedFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An atomic filter behind a pointer.
pub(crate) trait InsertShared: Filter + fmt::Debug + Send + Sync {
    fn about(&self) -> &About;
    fn insert_digest(&self, digest: Digest) -> bool;
    fn is_empty(&self) -> bool;
    fn into_any(self: Box<Self>) -> AnyFilter;
}

impl InsertShared for AtomicBloom<AnyScheme> {
    fn about(&self) -> &About {
        self.0.about()
    }
    fn insert_digest(&self, digest: Digest) -> bool {
        self.insert_digest(digest)
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn into_any(self: Box<Self>) -> AnyFilter {
        self.into_owned().into()
    }
}

impl InsertShared for AtomicBlockedBloom {
    fn about(&self) -> &About {
        self.0.about()
    }
    fn insert_digest(&self, digest: Digest) -> bool {
        self.insert_digest(digest)
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn into_any(self: Box<Self>) -> AnyFilter {
        self.into_owned().into()
    }
}

impl InsertShared for AtomicA2Bloom {
    fn about(&self) -> &About {
        self.0.about()
    }
    fn insert_digest(&self, digest: Digest) -> bool {
        self.insert_digest(digest)
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn into_any(self: Box<Self>) -> AnyFilter {
        self.into_owned().into()
    }
}

impl InsertShared for AtomicSplitBlockBloom {
    fn about(&self) -> &About {
        self.0.about()
    }
    fn insert_digest(&self, digest: Digest) -> bool {
        self.insert_digest(digest)
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn into_any(self: Box<Self>) -> AnyFilter {
        self.into_owned().into()
    }
}
