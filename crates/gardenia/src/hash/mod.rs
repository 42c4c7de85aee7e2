//! Which bits stand for this key? Key → bytes → [`Digest`].
//!
//! A key's bytes are fixed by its type ([`Key`]), the hash functions are numbered and seeded
//! ([`KeyHasher`]), and everything behind them speaks [`Digest`]s: a key is hashed once.
//!
//! From a key to its digest there are three calls, and each decides one thing:
//! [`KeyHasher::digest_key`] is what filters call. It asks the key (`Key::digest_with`), because
//! integers need no bytes in memory: they go to [`KeyHasher::digest_u64`] in a register, and only
//! so does a batch of them become vector code. Every other key calls [`KeyHasher::digest`] with its
//! bytes, where the hash function is chosen.
//!
//! # Untrusted input
//!
//! The default hash function, XXH3, does not resist an attacker who chooses keys. It is a bijection
//! on keys of 8 bytes, so a key for any digest is computed in a fraction of a microsecond. With
//! chosen keys a Bloom filter for n keys is completely filled by 3 n of them, one block of a
//! blocked filter by 508, and the two buckets of a cuckoo filter by 8. A seed is no secret: it is
//! in every file, and does not help against whoever has seen one.
//!
//! A filter built with `.secret(…)` uses SipHash-1-3 under a [`SecretKey`]. Without the secret
//! nobody can predict which cells a key has, so false positives and collisions cannot be computed.
//! A secret does *not* promise that:
//!
//! * questions reveal nothing: whoever may ask finds a false positive in 1/p questions;
//! * the filter stays sparse: whoever may insert can fill it;
//! * keys stay in: whoever may remove can remove false positives, and hides other keys with them;
//! * a stored secret (`about_mut().store_secret(true)`) is safe: it is in the file in clear.
//!
//! ```
//! use gardenia::{Bloom, SecretKey};
//! let secret = SecretKey::new([7; 16]); // 16 random bytes, kept apart from the file
//! let mut seen = Bloom::builder().items(1_000).fpp(0.01).secret(secret).build()?;
//! seen.insert("rose");
//! assert!(Bloom::from_bytes(&seen.to_bytes().unwrap()).unwrap_err().to_string().contains("keyed"));
//! # Ok::<(), gardenia::SizeError>(())
//! ```
//!
//! Files from strangers are another matter: see [`ReadOptions`](crate::ReadOptions).

mod digest;
mod fnv1;
mod hasher;
mod key;
mod sip13;
mod xxh3;
mod xxh64;

pub use digest::Digest;
pub use hasher::{HasherId, KeyHasher};
pub use key::{Hashed, Key, List};
#[doc(hidden)]
pub use key::{parts, push_part};
pub use sip13::SecretKey;
