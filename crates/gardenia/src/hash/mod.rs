//! Which bits stand for this key? Key → bytes → [`Digest`].
//!
//! A key's bytes are fixed by its type ([`Key`]), the hash functions are numbered and seeded
//! ([`KeyHasher`]), and everything behind them speaks [`Digest`]s: a key is hashed once.

mod digest;
mod fnv1;
mod hasher;
mod key;
mod sip13;
mod xxh3;

pub use digest::Digest;
pub use hasher::{HasherId, KeyHasher};
pub use key::{Hashed, Key, List};
pub use sip13::SecretKey;
