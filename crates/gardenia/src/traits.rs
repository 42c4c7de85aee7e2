//! Abilities of filters, one trait each, at the level of digests.
//!
//! Filters have methods of their own for any [`Key`], and these are what people use; the traits
//! serve generic code. What a filter cannot do it does not offer.

use crate::filter::About;
use crate::hash::{Digest, Key, KeyHasher};
use crate::{Full, Mismatch, RemoveError};
use alloc::vec;
use alloc::vec::Vec;

/// A filter that answers queries. Usable as `dyn Filter`.
///
/// ```
/// use gardenia::{Bloom, Filter};
/// let mut filter = Bloom::new(10, 0.01)?;
/// filter.insert("rose");
/// let any: &dyn Filter = &filter;
/// assert!(any.contains("rose"));
/// assert_eq!(any.contains_many(&["rose", "thistle"]), [true, false]);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub trait Filter {
    /// The hash function, which makes digests of keys.
    fn hasher(&self) -> &KeyHasher;

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

impl dyn Filter + '_ {
    /// Whether `key` may be present.
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher().digest_key(&key))
    }

    /// Answers for all keys in order, probing many at a time.
    #[must_use]
    pub fn contains_many<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let digests: Vec<Digest> = keys.iter().map(|key| self.hasher().digest_key(key)).collect();
        let mut answers = vec![false; keys.len()];
        self.contains_digests(&digests, &mut answers);
        answers
    }
}

/// A filter that accepts keys one at a time.
///
/// ```
/// use gardenia::{Bloom, Cuckoo, Insert};
/// let mut filters: [Box<dyn Insert>; 2] = [Box::new(Bloom::new(10, 0.01)?), Box::new(Cuckoo::new(10, 0.01)?)];
/// for filter in &mut filters {
///     assert_eq!(filter.insert("rose"), Ok(true));
///     assert!(filter.contains("rose"));
/// }
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub trait Insert: Filter {
    /// What the filter was made for, where it is noted which keys came.
    fn about_mut(&mut self) -> &mut About;

    /// Adds a key; true if it was certainly absent before, or, of a filter that forgets, forgotten.
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Full>;
}

impl dyn Insert + '_ {
    /// Whether `key` may be present.
    #[must_use]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_digest(self.hasher().digest_key(&key))
    }

    /// Adds `key`; true if it was certainly absent before, or, of a filter that forgets, forgotten.
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Full> {
        self.about_mut().took_key(&key);
        self.insert_digest(self.hasher().digest_key(&key))
    }
}

/// A filter from which keys can be removed again.
pub trait Remove: Insert {
    /// Removes a key once. If that cannot be, the error says why and nothing has changed.
    fn remove_digest(&mut self, digest: Digest) -> Result<(), RemoveError>;
}

/// A filter that counts keys.
pub trait Count: Filter {
    /// How often the key with this digest went in, by the filter's estimate; 0 if it is certainly
    /// absent.
    fn count_digest(&self, digest: Digest) -> u64;

    /// The largest count that it reports: a key that is reported with it may have gone in more
    /// often.
    ///
    /// ```
    /// use gardenia::{Count, CountingBloom};
    /// let mut filter = CountingBloom::new(100, 0.01)?; // four bits per cell
    /// (0..20).for_each(|_| _ = filter.insert("rose"));
    /// assert_eq!((filter.count("rose"), Count::max_count(&filter), Count::saturated(&filter) > 0), (15, 15, true));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    fn max_count(&self) -> u64 {
        u64::MAX
    }

    /// How many cells have reached that count, and count no further. All cells are looked at.
    fn saturated(&self) -> u64 {
        0
    }

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

/// A filter that can be merged with another.
pub trait Merge: Sized {
    /// Afterwards `self` answers as if all keys of both had been inserted into it.
    fn merge(&mut self, other: &Self) -> Result<(), Mismatch>;
}
