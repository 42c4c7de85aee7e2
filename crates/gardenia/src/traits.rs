//! Abilities of filters, one trait each, at the level of digests.
//!
//! Inherent methods take any [`Key`](crate::Key) and are what people use; these traits serve generic code.
//! What a filter cannot do it does not offer.

use crate::hash::Digest;
use crate::{Full, Mismatch, RemoveError};

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
    /// Adds a key; true if it was certainly absent before, or, of a filter that forgets, forgotten.
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full>;
}

/// A filter from which keys can be removed again.
pub trait Remove: Insert {
    /// Removes a key once. If that cannot be, the error says why and nothing has changed.
    fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError>;
}

/// A filter that knows how often a key went in.
pub trait Count: Filter {
    /// How often the key with this digest went in, by the filter's estimate; 0 if it is certainly absent.
    fn count_digest(&self, digest: Digest) -> u64;

    /// Counts in order, as one by one; implementations prefetch.
    ///
    /// # Panics
    /// If `out` is not as long as `digests`.
    fn count_digests(&self, digests: &[Digest], out: &mut [u64]) {
        assert_eq!(digests.len(), out.len(), "one count per digest");
        for (digest, out) in digests.iter().zip(out) {
            *out = self.count_digest(*digest);
        }
    }
}

/// A filter that can take in another.
pub trait Merge: Sized {
    /// Afterwards `self` answers as if all keys of both had been inserted into it.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch>;
}
