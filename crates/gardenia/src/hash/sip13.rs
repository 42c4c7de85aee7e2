//! Hasher 2: SipHash-1-3 with a secret 128-bit key (Aumasson and Bernstein), against chosen keys.

use super::Digest;
use core::fmt;
use siphasher::sip::SipHasher13;

/// The 128-bit secret of a keyed filter. Its `Debug` form does not show it.
///
/// ```
/// use gardenia::SecretKey;
/// let secret = SecretKey::new(*b"0123456789abcdef");
/// assert_eq!(format!("{secret:?}"), format!("SecretKey(id {:016x})", secret.id()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretKey([u8; 16]);

impl SecretKey {
    /// A secret from its 16 bytes (the two little-endian words k0, k1 of SipHash).
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// A 64-bit name for this secret, stored in files so that a wrong one is noticed: the SipHash-1-3 of
    /// a fixed text, from which the secret cannot be found.
    #[must_use]
    pub fn id(&self) -> u64 {
        digest(self, b"gardenia secret id").0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(id {:016x})", self.id())
    }
}

/// The digest of `bytes` by SipHash-1-3 under `secret`. Not inlined: its length would keep the short way of
/// the default hasher from being.
#[inline(never)]
pub(super) fn digest(secret: &SecretKey, bytes: &[u8]) -> Digest {
    Digest(SipHasher13::new_with_key(&secret.0).hash(bytes))
}
