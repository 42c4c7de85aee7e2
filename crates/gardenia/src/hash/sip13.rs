//! Hasher 2: SipHash-1-3 with a secret 128-bit key (Aumasson and Bernstein), against chosen keys.
#![allow(unsafe_code)] // one volatile write, which overwrites a secret

use super::Digest;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{Ordering, compiler_fence};
use siphasher::sip::SipHasher13;

/// The 128-bit secret of a keyed filter. Its `Debug` form does not show it.
///
/// A clone is another handle to the same 16 bytes, so that a filter, its copies and its hashers
/// hold the secret once, and moving them moves no secret. When the last handle is dropped, the
/// bytes are overwritten with zeros.
///
/// That covers the memory that this type holds, and nothing else. Not overwritten are: the bytes
/// that [`new`](Self::new) was given, where the caller has kept them; registers and stack that
/// SipHash used; files, and the bytes of [`to_bytes`](crate::Bloom::to_bytes), of a filter that
/// stores its secret; pages that the system has swapped out.
///
/// ```
/// use gardenia::SecretKey;
/// let secret = SecretKey::new(*b"0123456789abcdef");
/// assert_eq!(format!("{secret:?}"), format!("SecretKey(id {:016x})", secret.id()));
/// assert_eq!(secret.clone().bytes().as_ptr(), secret.bytes().as_ptr());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Arc<Erased>);

/// Bytes that are overwritten before their memory is given back.
#[derive(PartialEq, Eq)]
struct Erased([u8; 16]);

impl Erased {
    fn erase(bytes: &mut [u8; 16]) {
        // SAFETY: the reference is valid for writes. The compiler must not leave the store out because nobody reads it.
        unsafe { core::ptr::write_volatile(bytes, [0; 16]) };
        compiler_fence(Ordering::SeqCst);
    }
}

impl Drop for Erased {
    fn drop(&mut self) {
        Self::erase(&mut self.0);
    }
}

impl SecretKey {
    /// A secret from its 16 bytes (the two little-endian words k0, k1 of SipHash).
    #[must_use]
    pub fn new(mut bytes: [u8; 16]) -> Self {
        let mut secret = Arc::new(Erased([0; 16])); // in its place before it is secret
        if let Some(place) = Arc::get_mut(&mut secret) {
            place.0 = bytes;
        }
        Erased::erase(&mut bytes);
        Self(secret)
    }

    /// The 16 bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0.0
    }

    /// A 64-bit name for this secret, stored in files so that a wrong one is noticed: the
    /// SipHash-1-3 of a fixed text, from which the secret cannot be found.
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

/// The digest of `bytes` by SipHash-1-3 under `secret`. Not inlined: it is so long that the
/// compiler would then no longer inline the default hasher.
#[inline(never)]
pub(super) fn digest(secret: &SecretKey, bytes: &[u8]) -> Digest {
    Digest(SipHasher13::new_with_key(secret.bytes()).hash(bytes))
}
