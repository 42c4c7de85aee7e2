//! Filters that many threads fill at once.

use crate::hash::{Digest, KeyHasher};
use crate::traits::Filter;
use core::ops::Deref;

/// A filter whose words many threads change at once, so that `insert` needs no `&mut`: [`AtomicBloom`](crate::AtomicBloom),
/// [`AtomicBlockedBloom`](crate::AtomicBlockedBloom), [`AtomicA2Bloom`](crate::AtomicA2Bloom).
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
