//! The canonical bytes of keys, the same on every platform and in every language.
//!
//! | key | bytes |
//! |---|---|
//! | text, bytes, a `char` | the (UTF-8) bytes, no length, no terminator |
//! | integers up to 64 bits | the 64-bit two's complement, little-endian: `5u8` = `5i64`; `u64::MAX` = `-1` |
//! | `i128`, `u128` | as above when in −2⁶³..2⁶⁴, else 16 bytes little-endian |
//! | tuples, [`List`] | each part as its length (u64, little-endian) and its bytes |
//! | [`Hashed`] | what `std::hash::Hash` makes of it: not portable, refused when a filter is saved |
//!
//! Floats are not keys: 0.0 and -0.0 are equal with different bits. Use `to_bits` if that is what you mean.
//! A tuple's bytes can equal those of some text, as any bytes can; tuples among themselves never coincide.

use super::{Digest, KeyHasher};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use siphasher::sip::SipHasher13;

/// Something with canonical bytes, which every engine and language agrees on.
///
/// ```
/// use gardenia::{Key, KeyHasher};
/// let h = KeyHasher::default();
/// assert_eq!(h.digest_key("a"), h.digest_key(b"a"));
/// assert_eq!(h.digest_key(&5u8), h.digest_key(&5i64));
/// assert_ne!(h.digest_key(&("ab", "c")), h.digest_key(&("a", "bc")));
/// ```
pub trait Key {
    /// Whether the bytes are the same on every platform. False only for [`Hashed`] and what holds it.
    const PORTABLE: bool = true;

    /// Calls `f` with the canonical bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;

    /// The digest of the canonical bytes. Integers know a shorter way to the same value.
    #[inline]
    fn digest_with(&self, hasher: &KeyHasher) -> Digest {
        self.with_bytes(|bytes| hasher.digest(bytes))
    }
}

impl<K: Key + ?Sized> Key for &K {
    const PORTABLE: bool = K::PORTABLE;
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(f)
    }
    #[inline(always)]
    fn digest_with(&self, hasher: &KeyHasher) -> Digest {
        (**self).digest_with(hasher)
    }
}

/// Implements [`Key`] for types that point to bytes.
macro_rules! bytes_keys {
    ($($type:ty),+ $(,)?) => {$(
        impl Key for $type {
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                f(AsRef::<[u8]>::as_ref(&**self))
            }
        }
    )+};
}
bytes_keys! { String, Vec<u8>, Box<[u8]>, Box<str>, Rc<str>, Arc<str>, Cow<'_, str>, Cow<'_, [u8]> }

impl Key for [u8] {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for str {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for char {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.encode_utf8(&mut [0; 4]).as_bytes())
    }
}

/// Implements [`Key`] for integers of at most 64 bits: sign- or zero-extended, little-endian.
macro_rules! integer_keys {
    ($($type:ty),+) => {$(
        impl Key for $type {
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                f(&(*self as u64).to_le_bytes())
            }
            #[inline(always)]
            fn digest_with(&self, hasher: &KeyHasher) -> Digest {
                hasher.digest_u64(*self as u64)
            }
        }
    )+};
}
integer_keys!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl Key for u128 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match u64::try_from(*self) {
            Ok(small) => small.with_bytes(f),
            Err(_) => f(&self.to_le_bytes()),
        }
    }
}

impl Key for i128 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let fits = u64::try_from(*self).is_ok() || i64::try_from(*self).is_ok();
        if fits { (*self as u64).with_bytes(f) } else { f(&self.to_le_bytes()) }
    }
}

/// Appends one part of a compound key: its length, then its bytes.
fn push_part(buffer: &mut Vec<u8>, part: &(impl Key + ?Sized)) {
    part.with_bytes(|bytes| {
        buffer.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        buffer.extend_from_slice(bytes);
    });
}

/// Implements [`Key`] for tuples.
macro_rules! tuple_keys {
    ($(($($part:ident),+)),+) => {$(
        impl<$($part: Key),+> Key for ($($part,)+) {
            const PORTABLE: bool = true $(&& $part::PORTABLE)+;
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                #[allow(non_snake_case)]
                let ($($part,)+) = self;
                let mut buffer = Vec::with_capacity(64);
                $(push_part(&mut buffer, $part);)+
                f(&buffer)
            }
        }
    )+};
}
tuple_keys!((A, B), (A, B, C), (A, B, C, D));

/// A slice of keys as one key, encoded like a tuple of the same parts.
///
/// A wrapper, because a slice of `u8` is already a key: its bytes.
///
/// ```
/// use gardenia::{KeyHasher, List};
/// let h = KeyHasher::default();
/// assert_eq!(h.digest_key(&List(&["a", "b"])), h.digest_key(&("a", "b")));
/// assert_ne!(h.digest_key(&List(&["ab"])), h.digest_key(&List(&["a", "b"])));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct List<'a, K>(pub &'a [K]);

impl<K: Key> Key for List<'_, K> {
    const PORTABLE: bool = K::PORTABLE;
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut buffer = Vec::with_capacity(64);
        self.0.iter().for_each(|part| push_part(&mut buffer, part));
        f(&buffer)
    }
}

/// Any `T: std::hash::Hash` as a key, for filters that stay in this process.
///
/// `Hash` feeds bytes that vary by platform and by release, so a filter that was given one of these
/// refuses to be saved.
///
/// ```
/// #[derive(Hash)]
/// struct Seed { genus: u32, wild: bool }
/// let mut bed = gardenia::Bloom::new(100, 0.01)?;
/// bed.insert(gardenia::Hashed(&Seed { genus: 3, wild: true }));
/// assert!(bed.contains(gardenia::Hashed(&Seed { genus: 3, wild: true })));
/// assert!(bed.to_vec().is_err()); // would not answer the same elsewhere
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hashed<'a, T: ?Sized>(pub &'a T);

impl<T: Hash + ?Sized> Key for Hashed<'_, T> {
    const PORTABLE: bool = false;
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut state = SipHasher13::new();
        self.0.hash(&mut state);
        f(&state.finish().to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(key: impl Key) -> Vec<u8> {
        key.with_bytes(<[u8]>::to_vec)
    }

    #[test]
    fn integers_of_all_widths_are_their_64_bit_value() {
        assert_eq!(bytes(5u8), [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(-1i8), [255; 8]);
        assert_eq!(bytes(-1i8), bytes(u64::MAX));
        assert_eq!(bytes(-7i128), bytes(-7i64));
        assert_eq!(bytes(u64::MAX as u128), bytes(u64::MAX));
        assert_eq!(bytes(u64::MAX as i128), bytes(u64::MAX as u128));
    }

    #[test]
    fn the_short_way_of_integers_gives_the_digest_of_their_bytes() {
        let secret = crate::SecretKey::new(*b"0123456789abcdef");
        for hasher in [KeyHasher::xxh3(0), KeyHasher::xxh3(77), KeyHasher::sip13(secret)] {
            assert_eq!(hasher.digest_key(&5u8), hasher.digest(&5u64.to_le_bytes()));
            assert_eq!(hasher.digest_key(&-2i32), hasher.digest(&(-2i64).to_le_bytes()));
            let mut digests = [Digest(0); 2];
            hasher.digest_all(&[&5u8, &9], &mut digests);
            assert_eq!(digests, [hasher.digest_key(&5u64), hasher.digest_key(&9u64)]);
        }
    }

    #[test]
    fn wide_integers_that_do_not_fit_take_sixteen_bytes() {
        assert_eq!(bytes(1u128 << 64).len(), 16);
        assert_eq!(bytes(i64::MIN as i128 - 1).len(), 16);
        assert_eq!(bytes(i64::MIN as i128).len(), 8);
    }

    #[test]
    fn compound_keys_are_unambiguous() {
        let keys = [
            bytes(("a", ("b", "c"))),
            bytes((("a", "b"), "c")),
            bytes(("a", "b", "c")),
            bytes(("ab", "c")),
            bytes(("a", "bc")),
            bytes(("", "abc")),
            bytes(List(&["abc"])),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b), "key {i} is not unique");
        }
        assert_eq!(
            bytes(("a", 1u8)),
            [1, 0, 0, 0, 0, 0, 0, 0, b'a', 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn what_holds_a_hashed_part_is_not_portable() {
        fn portable<K: Key>(_: &K) -> bool {
            K::PORTABLE
        }
        assert!(portable(&("a", 1)));
        assert!(!portable(&("a", Hashed(&1))));
        assert!(!portable(&&Hashed(&1)));
    }
}
