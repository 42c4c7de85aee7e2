//! The numbered hash functions.

use super::{Digest, Key, SecretKey, fnv1, sip13, xxh3, xxh64};
use crate::numbered::numbered;

numbered! {
    /// Number of a hash function, as stored in files. A number never changes its meaning.
    pub enum HasherId: u8 {
        /// XXH3-64 with a 64-bit seed.
        Xxh3 = 1 "xxh3",
        /// SipHash-1-3 with a secret 128-bit key.
        Sip13 = 2 "sip13",
        /// XXH64 with a 64-bit seed; with seed 0 the hash function of Parquet's filters.
        Xxh64 = 4 "xxh64",
    }
    foreign {
        /// FNV-1 with 64 bits, of filters in DCSO's format.
        Fnv1 = 3 "fnv1",
    }
}

/// Turns key bytes into a [`Digest`]: one of the numbered hash functions with its seed or secret.
///
/// An enum and not a type parameter, because a filter learns its hasher from a file at run time,
/// and the predicted branch costs less than can be measured. More functions may follow.
///
/// ```
/// use gardenia::{KeyHasher, SecretKey};
/// let fast = KeyHasher::xxh3(7);
/// assert_eq!(fast.digest_key("rose"), fast.digest(b"rose"));
/// let keyed = KeyHasher::sip13(SecretKey::new([42; 16]));
/// assert_ne!(fast.digest_key("rose"), keyed.digest_key("rose"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyHasher {
    /// Hasher 1: XXH3-64. Fast and known everywhere; an attacker finds colliding keys at once,
    /// whatever the seed: see
    /// [Untrusted input](crate::hash#untrusted-input).
    Xxh3 {
        /// Seed of the function; 0 unless chosen, so that filters made apart can be merged.
        seed: u64,
    },
    /// Hasher 2: SipHash-1-3, for keys that an attacker may choose.
    Sip13 {
        /// The secret key.
        secret: SecretKey,
    },
    /// Hasher 3: FNV-1, for filters that other programs made (see [`dcso`](crate::format::dcso)).
    Fnv1,
    /// Hasher 4: XXH64, for filters that other programs read or write: see
    /// [`SplitBlockBloom`](crate::SplitBlockBloom).
    Xxh64 {
        /// Seed of the function; Parquet's is 0.
        seed: u64,
    },
}

impl Default for KeyHasher {
    /// XXH3-64 with seed 0.
    fn default() -> Self {
        Self::xxh3(0)
    }
}

impl KeyHasher {
    /// XXH3-64 with this seed.
    #[must_use]
    pub const fn xxh3(seed: u64) -> Self {
        Self::Xxh3 { seed }
    }

    /// XXH64 with this seed.
    #[must_use]
    pub const fn xxh64(seed: u64) -> Self {
        Self::Xxh64 { seed }
    }

    /// SipHash-1-3 with this secret.
    #[must_use]
    pub const fn sip13(secret: SecretKey) -> Self {
        Self::Sip13 { secret }
    }

    /// The digest of a key given as its canonical bytes.
    #[inline]
    #[must_use]
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        match self {
            Self::Xxh3 { seed } => xxh3::digest(*seed, bytes),
            _ => self.digest_otherwise(bytes),
        }
    }

    /// The digest by another function than the usual one. Apart, so that a single call is one
    /// comparison and the usual function: of four branches the compiler makes a table of jumps,
    /// which every key then goes through.
    #[cold]
    #[inline(never)]
    fn digest_otherwise(&self, bytes: &[u8]) -> Digest {
        match self {
            Self::Xxh3 { seed } => xxh3::digest(*seed, bytes),
            Self::Sip13 { secret } => sip13::digest(secret, bytes),
            Self::Fnv1 => fnv1::digest(bytes),
            Self::Xxh64 { seed } => xxh64::digest(*seed, bytes),
        }
    }

    /// The digest of any [`Key`].
    #[inline(always)]
    #[must_use]
    pub fn digest_key<K: Key + ?Sized>(&self, key: &K) -> Digest {
        key.digest_with(self)
    }

    /// The digest of an integer key: of its eight little-endian bytes, a little faster than by
    /// [`digest`](Self::digest).
    #[inline(always)]
    #[must_use]
    pub fn digest_u64(&self, value: u64) -> Digest {
        match self {
            Self::Xxh3 { seed } => xxh3::digest_u64(*seed, value),
            // Here, too, because a batch that knows its function makes vectors of it: 0.3 ns per key instead of 1.7.
            Self::Xxh64 { seed } => xxh64::digest_u64(*seed, value),
            _ => self.digest_otherwise(&value.to_le_bytes()),
        }
    }

    /// The digests of `keys` in order. Integers and floats are hashed in vector registers where the
    /// processor has them.
    ///
    /// ```
    /// use gardenia::{Digest, KeyHasher};
    /// let (hasher, mut digests) = (KeyHasher::default(), [Digest(0); 2]);
    /// hasher.digest_many(&["rose", "tulip"], &mut digests);
    /// assert_eq!(digests, [hasher.digest_key("rose"), hasher.digest_key("tulip")]);
    /// ```
    ///
    /// # Panics
    /// If `digests` is not as long as `keys`.
    pub fn digest_many<K: Key>(&self, keys: &[K], digests: &mut [Digest]) {
        assert_eq!(keys.len(), digests.len(), "one digest per key");
        crate::simd::digest_keys(self, keys, digests);
    }

    /// The digests of `keys` in order, as many as both slices hold.
    ///
    /// Inlined always, so that it takes on the instructions of the batch loop it stands in.
    #[inline(always)]
    pub(crate) fn digest_all<K: Key>(&self, keys: &[K], digests: &mut [Digest]) {
        match self {
            // Decided before the loop: inside it the compiler would not make vectors.
            Self::Xxh3 { seed } => {
                let hasher = Self::Xxh3 { seed: *seed };
                keys.iter().zip(digests).for_each(|(key, digest)| *digest = key.digest_with(&hasher));
            }
            Self::Xxh64 { seed } => {
                let hasher = Self::Xxh64 { seed: *seed };
                keys.iter().zip(digests).for_each(|(key, digest)| *digest = key.digest_with(&hasher));
            }
            Self::Sip13 { .. } | Self::Fnv1 => {
                keys.iter().zip(digests).for_each(|(key, digest)| *digest = key.digest_with(self));
            }
        }
    }

    /// Number `at` of a sequence that belongs to the hasher: that of its seed or, if it is keyed,
    /// one that only its secret tells.
    pub(crate) fn word(&self, at: u32) -> u64 {
        match self {
            Self::Sip13 { secret } => {
                let mut label = *b"gardenia sample ........";
                label[16..].copy_from_slice(&u64::from(at).to_le_bytes());
                sip13::digest(secret, &label).0
            }
            Self::Xxh3 { .. } | Self::Xxh64 { .. } | Self::Fnv1 => Digest(self.mark()).word(at),
        }
    }

    /// Which numbered function this is.
    #[must_use]
    pub const fn id(&self) -> HasherId {
        match self {
            Self::Xxh3 { .. } => HasherId::Xxh3,
            Self::Sip13 { .. } => HasherId::Sip13,
            Self::Fnv1 => HasherId::Fnv1,
            Self::Xxh64 { .. } => HasherId::Xxh64,
        }
    }

    /// What tells this hasher from others of its number: the seed, or the secret's id; 0 if there
    /// are no others.
    #[must_use]
    pub fn mark(&self) -> u64 {
        match self {
            Self::Xxh3 { seed } | Self::Xxh64 { seed } => *seed,
            Self::Sip13 { secret } => secret.id(),
            Self::Fnv1 => 0,
        }
    }
}
