//! The verbs that all filters share, for any [`Key`](crate::Key), and the traits that follow from them.
//!
//! A filter writes what one digest does to it and hands batches to its probe loop; these macros add the rest, so
//! that every member of the family is asked in the same way. Fields: `hasher`, `about`.

/// `contains` and its batches, from `contains_digest` and `contains_each`. The promise is the filter's own.
macro_rules! ask_verbs {
    ($promise:literal) => {
        #[doc = $promise]
        #[inline]
        #[must_use]
        pub fn contains(&self, key: impl $crate::Key) -> bool {
            self.contains_digest(self.hasher.digest_key(&key))
        }

        $crate::filter::verbs::ask_many_verbs!();
    };
}
pub(crate) use ask_verbs;

/// The batches of [`ask_verbs`], from `contains_each`.
macro_rules! ask_many_verbs {
    () => {
        /// Answers for all keys in order, hashing and probing many at a time.
        #[must_use]
        pub fn contains_many<K: $crate::Key>(&self, keys: &[K]) -> alloc::vec::Vec<bool> {
            let mut answers = alloc::vec![false; keys.len()];
            let keys = $crate::simd::Keys { hasher: self.hasher.clone(), keys };
            self.contains_each(keys, &mut $crate::simd::Bools(&mut answers));
            answers
        }

        /// Answers for all digests in order, probing many at a time.
        ///
        /// # Panics
        /// If `out` is not as long as `digests`.
        pub fn contains_digests(&self, digests: &[$crate::Digest], out: &mut [bool]) {
            assert_eq!(digests.len(), out.len(), "one answer per digest");
            self.contains_each($crate::simd::Given(digests), &mut $crate::simd::Bools(out));
        }
    };
}
pub(crate) use ask_many_verbs;

/// `insert` and its batches, from `insert_digest` and `insert_each`. What it tells of the key can be said in other
/// words where nothing is certain.
macro_rules! insert_verbs {
    () => {
        $crate::filter::verbs::insert_verbs!("certainly absent");
    };
    ($absent:literal) => {
        #[doc = concat!("Adds `key`; true if it was ", $absent, " before.")]
        #[inline]
        pub fn insert(&mut self, key: impl $crate::Key) -> bool {
            self.about.took_key(&key);
            let digest = self.hasher.digest_key(&key);
            self.insert_digest(digest)
        }

        #[doc = concat!("Adds all keys, hashing and fetching ahead; how many were ", $absent, " before.")]
        pub fn insert_many<K: $crate::Key>(&mut self, keys: &[K]) -> u64 {
            self.about.took::<K>();
            let mut count = 0;
            self.insert_each($crate::simd::Keys { hasher: self.hasher.clone(), keys }, &mut count);
            count
        }

        #[doc = concat!("Adds the keys with these digests in order, and tells of each whether it was ", $absent, " before.")]
        ///
        /// # Panics
        /// If `new` is not as long as `digests`.
        pub fn insert_digests(&mut self, digests: &[$crate::Digest], new: &mut [bool]) {
            assert_eq!(digests.len(), new.len(), "one answer per digest");
            self.insert_each($crate::simd::Given(digests), &mut $crate::simd::Bools(new));
        }
    };
}
pub(crate) use insert_verbs;

/// `count` and its batches, from `count_digest` and `count_each`. The promise is the filter's own.
macro_rules! count_verbs {
    ($promise:literal) => {
        #[doc = $promise]
        #[inline]
        #[must_use]
        pub fn count(&self, key: impl $crate::Key) -> u64 {
            self.count_digest(self.hasher.digest_key(&key))
        }

        /// Counts of all keys in order, hashing and probing many at a time.
        #[must_use]
        pub fn count_many<K: $crate::Key>(&self, keys: &[K]) -> alloc::vec::Vec<u64> {
            let mut counts = alloc::vec![0; keys.len()];
            self.count_each($crate::simd::Keys { hasher: self.hasher.clone(), keys }, &mut counts);
            counts
        }

        /// Counts for all digests in order, probing many at a time.
        ///
        /// # Panics
        /// If `out` is not as long as `digests`.
        pub fn count_digests(&self, digests: &[$crate::Digest], out: &mut [u64]) {
            assert_eq!(digests.len(), out.len(), "one count per digest");
            self.count_each($crate::simd::Given(digests), out);
        }
    };
}
pub(crate) use count_verbs;

/// `remove`, from `remove_digest`.
macro_rules! remove_verbs {
    () => {
        /// Removes `key` once. If that cannot be, the error says why and nothing has changed.
        ///
        /// Only remove what was inserted: a false positive passes the check, and removing it can hide a key
        /// that is in.
        #[inline]
        pub fn remove(&mut self, key: impl $crate::Key) -> Result<(), $crate::RemoveError> {
            let digest = self.hasher.digest_key(&key);
            self.remove_digest(digest)
        }
    };
}
pub(crate) use remove_verbs;

/// [`Filter`](crate::Filter), from the verbs of [`ask_verbs`].
macro_rules! filter_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Filter for $filter {
            fn digest(&self, key: &[u8]) -> $crate::Digest {
                self.hasher.digest(key)
            }
            fn contains_digest(&self, digest: $crate::Digest) -> bool {
                <$filter>::contains_digest(self, digest)
            }
            fn contains_digests(&self, digests: &[$crate::Digest], out: &mut [bool]) {
                <$filter>::contains_digests(self, digests, out);
            }
        }
    };
}
pub(crate) use filter_impl;

/// [`Insert`](crate::Insert) and `Extend`, from the verbs of [`insert_verbs`].
macro_rules! insert_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Insert for $filter {
            fn insert_digest(&mut self, digest: $crate::Digest) -> Result<bool, $crate::Full> {
                Ok(<$filter>::insert_digest(self, digest))
            }
        }

        impl<K: $crate::Key, $($generic)*> Extend<K> for $filter {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                self.about.took::<K>();
                let hasher = self.hasher.clone();
                let digests = keys.into_iter().fuse().map(|key| hasher.digest_key(&key));
                self.insert_each($crate::simd::Drawn(digests), &mut 0);
            }
        }
    };
}
pub(crate) use insert_impl;

/// [`Count`](crate::Count), from the verbs of [`count_verbs`].
macro_rules! count_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Count for $filter {
            fn count_digest(&self, digest: $crate::Digest) -> u64 {
                <$filter>::count_digest(self, digest)
            }
            fn count_digests(&self, digests: &[$crate::Digest], out: &mut [u64]) {
                <$filter>::count_digests(self, digests, out);
            }
        }
    };
}
pub(crate) use count_impl;

/// [`Remove`](crate::Remove), from the verbs of [`remove_verbs`].
macro_rules! remove_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Remove for $filter {
            fn remove_digest(&mut self, digest: $crate::Digest) -> Result<(), $crate::RemoveError> {
                <$filter>::remove_digest(self, digest)
            }
        }
    };
}
pub(crate) use remove_impl;

/// [`insert_verbs`] of filters that can be full, from `insert_digest` and `insert_each`.
macro_rules! try_insert_verbs {
    () => {
        /// Adds `key`; true if it was certainly absent before. If there is no room for it, nothing has changed.
        #[inline]
        pub fn insert(&mut self, key: impl $crate::Key) -> Result<bool, $crate::Full> {
            self.about.took_key(&key);
            let digest = self.hasher.digest_key(&key);
            self.insert_digest(digest)
        }

        /// Adds all keys, hashing and fetching ahead; how many were certainly absent before. Stops at the first that
        /// does not fit: the error tells how many went in.
        pub fn insert_many<K: $crate::Key>(&mut self, keys: &[K]) -> Result<u64, $crate::Full> {
            self.about.took::<K>();
            let mut count = 0;
            self.insert_each($crate::simd::Keys { hasher: self.hasher.clone(), keys }, &mut count)?;
            Ok(count)
        }

        /// Adds the keys with these digests in order, and tells of each whether it was certainly absent before. Stops
        /// at the first that does not fit: the error tells how many went in.
        ///
        /// # Panics
        /// If `new` is not as long as `digests`.
        pub fn insert_digests(
            &mut self,
            digests: &[$crate::Digest],
            new: &mut [bool],
        ) -> Result<(), $crate::Full> {
            assert_eq!(digests.len(), new.len(), "one answer per digest");
            self.insert_each($crate::simd::Given(digests), &mut $crate::simd::Bools(new))
        }
    };
}
pub(crate) use try_insert_verbs;

/// [`Insert`](crate::Insert) of filters that can be full. There is no `Extend`, which could not tell.
macro_rules! try_insert_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Insert for $filter {
            fn insert_digest(&mut self, digest: $crate::Digest) -> Result<bool, $crate::Full> {
                <$filter>::insert_digest(self, digest)
            }
        }
    };
}
pub(crate) use try_insert_impl;
