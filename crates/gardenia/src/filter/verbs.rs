//! What connects a filter's own methods with the traits that serve generic code.
//!
//! Every filter writes its methods out, for any [`Key`](crate::Key) and for digests; what is here
//! only passes calls on.

/// [`Filter`](crate::Filter).
macro_rules! filter_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Filter for $filter {
            fn hasher(&self) -> &$crate::KeyHasher {
                &self.hasher
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

/// [`Insert`](crate::Insert) and `Extend`.
macro_rules! insert_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Insert for $filter {
            fn about_mut(&mut self) -> &mut $crate::filter::About {
                &mut self.about
            }
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

/// `FromIterator` for filters whose size follows from the number of keys, and whose insertion
/// cannot fail: docs/design.md says why other kinds have none.
macro_rules! collect_impl {
    ($filter:ident) => {
        impl<K: $crate::Key> FromIterator<K> for $filter {
            /// A filter just large enough for these keys at 1 %. Digests are kept aside until they
            /// are counted.
            ///
            /// # Panics
            /// If memory is short, as any collection.
            fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
                let hasher = $crate::KeyHasher::default();
                let digests: alloc::vec::Vec<$crate::Digest> =
                    keys.into_iter().map(|key| hasher.digest_key(&key)).collect();
                let filter = Self::new(digests.len().max(1) as u64, 0.01);
                let mut filter = filter.unwrap_or_else(|error| panic!("collecting into a filter: {error}"));
                filter.about.took::<K>();
                filter.insert_each($crate::simd::Given(&digests), &mut 0);
                filter
            }
        }
    };
}
pub(crate) use collect_impl;

/// [`Count`](crate::Count).
macro_rules! count_impl {
    ([$($generic:tt)*] $filter:ty $(, $counts:ident: most $most:expr, saturated $saturated:expr)?) => {
        impl<$($generic)*> $crate::Count for $filter {
            $(fn max_count(&self) -> u64 {
                let $counts = self;
                $most
            }
            fn saturated(&self) -> u64 {
                let $counts = self;
                $saturated
            })?
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

/// [`Remove`](crate::Remove).
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

/// [`Insert`](crate::Insert) of filters that can be full. There is no `Extend`, which could not
/// tell.
macro_rules! try_insert_impl {
    ([$($generic:tt)*] $filter:ty) => {
        impl<$($generic)*> $crate::Insert for $filter {
            fn about_mut(&mut self) -> &mut $crate::filter::About {
                &mut self.about
            }
            fn insert_digest(&mut self, digest: $crate::Digest) -> Result<bool, $crate::Full> {
                <$filter>::insert_digest(self, digest)
            }
        }
    };
}
pub(crate) use try_insert_impl;
