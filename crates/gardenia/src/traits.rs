//! Abilities of filters, one trait each, at the level of digests.
//!
//! Inherent methods take any [`Key`](crate::Key) and are what people use; these traits serve generic code.
//! What a filter cannot do it does not offer.

use crate::hash::Digest;
use crate::{Full, Mismatch};

/// A filter that can be asked. Usable as `dyn Filter`.
///
/// ```
/// use gardenia::{Bloom, Filter};
/// let mut bed = Bloom::new(10, 0.01)?;
/// bed.insert("rose");
/// let any: &dyn Filter = &bed;
/// assert!(any.contains_digest(any.digest(b"rose")));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub trait Filter {
    /// The digest of a key given as its canonical bytes.
    fn digest(&self, key: &[u8]) -> Digest;

    /// Whether the key with this digest may be present.
    fn contains_digest(&self, digest: Digest) -> bool;

    /// Answers in order, as one by one; implementations prefetch.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    fn contains_digests(&self, digests: &[Digest], out: &mut [bool]) {
        assert_eq!(digests.len(), out.len(), "one answer per digest");
        for (digest, out) in digests.iter().zip(out) {
            *out = self.contains_digest(*digest);
        }
    }
}

/// A filter that takes keys one at a time.
pub trait Insert: Filter {
    /// Adds a key; true if it was certainly absent before.
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full>;
}

/// A filter that can take in another.
pub trait Merge: Sized {
    /// Afterwards `self` answers as if all keys of both had been inserted into it.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch>;
}
