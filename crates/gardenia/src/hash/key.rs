//! The canonical bytes of keys, the same on every platform and in every language: see [`Key`].

use super::{Digest, KeyHasher};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZero;
use core::time::Duration;

/// A value with canonical bytes, which are the same on every machine and in every language.
///
/// | key | bytes |
/// |---|---|
/// | text, bytes, a `char` | the (UTF-8) bytes, no length, no terminator |
/// | integers up to 64 bits, `NonZero` ones | the 64-bit two's complement, little-endian: `5u8` = `5i64`; `u64::MAX` = `-1` |
/// | `i128`, `u128` | as above when in −2⁶³..2⁶⁴, else 16 bytes little-endian: as `i128`, −1 and 2⁶⁴−1 are one key |
/// | `bool` | as the integers 0 and 1 |
/// | `f32`, `f64` | the 64 bits of the `f64`, little-endian, with −0 as 0 and every NaN as `0x7ff8_0000_0000_0000`: `0.5f32` = `0.5f64` |
/// | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | the 4 or 16 bytes of the address, in network order; an IPv4 address mapped into IPv6 has 16 |
/// | `Uuid` (feature `uuid`) | its 16 bytes, in the order in which it is written |
/// | `Duration` | seconds (u64) and nanoseconds (u32), little-endian |
/// | `SystemTime` | seconds since 1970 (i64) and nanoseconds after them (u32), little-endian |
/// | `OsStr`, `Path` and their owned forms | the bytes of the name on Unix, elsewhere its text as UTF-8 (a surrogate alone as three bytes); `a/b` and `a//b` differ |
/// | tuples, [`List`] | each part as its length (u64, little-endian) and its bytes |
/// | `Option` | `None` as no bytes, `Some(key)` as a tuple of one part |
/// | a struct with `#[derive(Key)]` | as a tuple of its fields, in their order |
/// | an enum with `#[derive(Key)]` | as a tuple of the name of the variant and its fields |
/// | references, `Box`, `Rc`, `Arc`, `Cow` | as what they point to |
/// | [`Hashed`] | what `std::hash::Hash` feeds: not portable, refused when a filter is saved |
///
/// Two values of one type have the same bytes only if they are equal, with two exceptions. As
/// `i128`, a number in −2⁶³..0 has the bytes of the number 2⁶⁴ above it. This is frozen; if both
/// can occur, use `value.to_le_bytes()` as the key. And all NaNs are one key. Values of different
/// types can have the same bytes, as a tuple and some text can; tuples have the same bytes only if
/// all their parts have.
///
/// A struct or an enum becomes a key with `#[derive(Key)]` (feature `derive`), also for filters
/// that are saved:
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```ignore")]
/// #[derive(gardenia::Key)]
/// struct Visit<'a> { page: &'a str, user: u64 }
///
/// #[derive(gardenia::Key)]
/// enum Event { Login(u64), Logout { user: u64 }, Restart }
///
/// let mut seen = gardenia::Bloom::new(100, 1e-9)?;
/// seen.insert(Visit { page: "/", user: 7 });
/// seen.insert(Event::Login(7));
/// assert!(seen.contains(("/", 7)) && seen.contains(("Login", 7)));
/// assert!(!seen.contains(Event::Logout { user: 7 }) && !seen.contains(Event::Restart));
/// assert!(seen.to_bytes().is_ok());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
///
/// Other keys:
///
/// ```
/// use gardenia::{Key, KeyHasher};
/// let h = KeyHasher::default();
/// assert_eq!(h.digest_key("a"), h.digest_key(b"a"));
/// assert_eq!(h.digest_key(&5u8), h.digest_key(&5i64));
/// assert_ne!(h.digest_key(&("ab", "c")), h.digest_key(&("a", "bc")));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key",
    label = "this has no canonical bytes",
    note = "a struct or an enum becomes a key with `#[derive(gardenia::Key)]` (feature `derive`)",
    note = "a slice or an array of keys is one key as `gardenia::List(&keys)`; to insert all of them use `insert_many` or `extend`",
    note = "a map or a set is a key by its sorted entries: `let mut entries: Vec<_> = map.iter().collect(); entries.sort();`, then `gardenia::List(&entries)`",
    note = "anything else that implements `Hash` is a key as `gardenia::Hashed(&value)`, in filters that are not saved"
)]
pub trait Key {
    /// Whether the bytes are the same on every platform. False only for [`Hashed`] and what holds
    /// it.
    const PORTABLE: bool = true;

    /// Calls `f` with the canonical bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;

    /// The digest of the canonical bytes. Integers know a shorter way to the same value.
    ///
    /// Not to be overridden outside this crate: a key whose digest is not that of its bytes is not
    /// found by other programs, and by batches.
    #[doc(hidden)]
    #[inline]
    fn digest_with(&self, hasher: &KeyHasher) -> Digest {
        self.with_bytes(|bytes| hasher.digest(bytes))
    }
}

/// Implements [`Key`] for what points to a key.
macro_rules! pointer_keys {
    ($([$($generic:tt)*] $type:ty, $target:ty;)+) => {$(
        impl<$($generic)*> Key for $type {
            const PORTABLE: bool = <$target as Key>::PORTABLE;
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                (**self).with_bytes(f)
            }
            #[inline(always)]
            fn digest_with(&self, hasher: &KeyHasher) -> Digest {
                (**self).digest_with(hasher)
            }
        }
    )+};
}
pointer_keys! {
    [K: Key + ?Sized] &K, K;
    [K: Key + ?Sized] &mut K, K;
    [K: Key + ?Sized] Box<K>, K;
    [K: Key + ?Sized] Rc<K>, K;
    [K: Key + ?Sized] Arc<K>, K;
    [K: Key + alloc::borrow::ToOwned + ?Sized] Cow<'_, K>, K;
    [] String, str;
    [] Vec<u8>, [u8];
}

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

/// Implements [`Key`] for types that are another key by some conversion.
macro_rules! keys_as {
    ($($type:ty: $value:ident => $key:expr;)+) => {$(
        impl Key for $type {
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                let $value = self;
                $key.with_bytes(f)
            }
            #[inline(always)]
            fn digest_with(&self, hasher: &KeyHasher) -> Digest {
                let $value = self;
                $key.digest_with(hasher)
            }
        }
    )+};
}
keys_as! {
    bool: value => u64::from(*value);
    f64: value => canonical_bits(*value);
    f32: value => canonical_bits(f64::from(*value));
    Ipv4Addr: address => address.octets();
    Ipv6Addr: address => address.octets();
    Duration: time => moment(time.as_secs(), time.subsec_nanos());
    NonZero<u8>: number => number.get();
    NonZero<u16>: number => number.get();
    NonZero<u32>: number => number.get();
    NonZero<u64>: number => number.get();
    NonZero<usize>: number => number.get();
    NonZero<u128>: number => number.get();
    NonZero<i8>: number => number.get();
    NonZero<i16>: number => number.get();
    NonZero<i32>: number => number.get();
    NonZero<i64>: number => number.get();
    NonZero<isize>: number => number.get();
    NonZero<i128>: number => number.get();
}
#[cfg(feature = "uuid")]
keys_as! {
    uuid::Uuid: id => *id.as_bytes();
}

/// The bits that stand for a number: equal numbers have the same, and so have all that are none.
#[inline]
fn canonical_bits(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8 << 48 } else { (value + 0.0).to_bits() } // -0 + 0 is 0
}

/// Seconds and nanoseconds.
fn moment(seconds: u64, nanos: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&seconds.to_le_bytes());
    bytes[8..].copy_from_slice(&nanos.to_le_bytes());
    bytes
}

impl Key for IpAddr {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::V4(address) => f(&address.octets()),
            Self::V6(address) => f(&address.octets()),
        }
    }
}

#[cfg(feature = "std")]
mod with_std {
    use super::{Key, moment};
    use std::ffi::{OsStr, OsString};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};

    impl Key for SystemTime {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            let (seconds, nanos) = match self.duration_since(Self::UNIX_EPOCH) {
                Ok(after) => (after.as_secs(), after.subsec_nanos()),
                // Nanoseconds are counted forwards: a half second before 1970 is -1 s and 500,000,000 ns.
                Err(before) => {
                    let before = before.duration();
                    let whole = Duration::from_secs(before.as_secs() + u64::from(before.subsec_nanos() > 0));
                    (whole.as_secs().wrapping_neg(), (whole - before).subsec_nanos())
                }
            };
            f(&moment(seconds, nanos))
        }
    }

    impl Key for OsStr {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            f(self.as_encoded_bytes())
        }
    }

    impl Key for Path {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            self.as_os_str().with_bytes(f)
        }
    }

    impl Key for OsString {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            (**self).with_bytes(f)
        }
    }

    impl Key for PathBuf {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            (**self).with_bytes(f)
        }
    }
}

impl<K: Key> Key for Option<K> {
    const PORTABLE: bool = K::PORTABLE;
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        List(self.as_slice()).with_bytes(f)
    }
}

/// Room for the parts of a compound key.
#[doc(hidden)]
#[must_use]
pub fn parts() -> Vec<u8> {
    Vec::with_capacity(64)
}

/// Appends one part of a compound key: its length, then its bytes.
#[doc(hidden)]
pub fn push_part(buffer: &mut Vec<u8>, part: &(impl Key + ?Sized)) {
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
                let mut buffer = parts();
                $(push_part(&mut buffer, $part);)+
                f(&buffer)
            }
        }
    )+};
}
tuple_keys! {
    (A), (A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F), (A, B, C, D, E, F, G),
    (A, B, C, D, E, F, G, H), (A, B, C, D, E, F, G, H, I), (A, B, C, D, E, F, G, H, I, J),
    (A, B, C, D, E, F, G, H, I, J, K), (A, B, C, D, E, F, G, H, I, J, K, L)
}

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
        let mut buffer = parts();
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
/// let mut filter = gardenia::Bloom::new(100, 0.01)?;
/// filter.insert(gardenia::Hashed(&Seed { genus: 3, wild: true }));
/// assert!(filter.contains(gardenia::Hashed(&Seed { genus: 3, wild: true })));
/// assert!(filter.to_bytes().is_err()); // would not answer the same elsewhere
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hashed<'a, T: ?Sized>(pub &'a T);

impl<T: Hash + ?Sized> Key for Hashed<'_, T> {
    const PORTABLE: bool = false;
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut fed = Fed(Vec::with_capacity(64));
        self.0.hash(&mut fed);
        f(&fed.0)
    }
}

/// Keeps what a value feeds to a hasher. All of it is hashed by the filter's own hash function:
/// hashed to 64 bits here, two values that collide would do so under every secret.
struct Fed(Vec<u8>);

impl Hasher for Fed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    fn finish(&self) -> u64 {
        0 // nobody asks
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
    fn a_negative_i128_is_one_key_with_the_number_2_to_the_64_above_it() {
        assert_eq!(bytes(-1i128), bytes((1i128 << 64) - 1));
        assert_eq!(bytes(i64::MIN as i128), bytes(1i128 << 63));
        let apart = [-1i128, (1 << 64) - 1].map(|value| bytes(value.to_le_bytes()));
        assert_ne!(apart[0], apart[1]);
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
    fn every_type_has_the_bytes_of_the_table() {
        assert_eq!((bytes(true), bytes(false)), (bytes(1u8), bytes(0u8)));
        assert_eq!(bytes(0.5f32), 0.5f64.to_bits().to_le_bytes());
        assert_eq!((bytes(-0.0f64), bytes(-f32::NAN)), (bytes(0.0f32), bytes(0x7ff8_0000_0000_0000u64)));
        assert_ne!(bytes(f64::MIN_POSITIVE / 2.0), bytes(0.0)); // numbers below the least normal one are kept
        assert_eq!(bytes(Ipv4Addr::LOCALHOST), [127, 0, 0, 1]);
        assert_eq!(bytes(IpAddr::from(Ipv4Addr::LOCALHOST)), [127, 0, 0, 1]);
        assert_eq!(bytes(IpAddr::from(Ipv6Addr::LOCALHOST)), bytes(1u128.to_be_bytes()));
        #[cfg(feature = "uuid")]
        assert_eq!(bytes(uuid::Uuid::from_u128(1)), bytes(1u128.to_be_bytes()));
        assert_eq!(bytes(Duration::new(1, 2)), [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes(NonZero::new(-7i8)), bytes(Some(-7i64)));
        assert_eq!((bytes(None::<u8>), bytes(Some("a"))), (Vec::new(), bytes(("a",))));
        let owned: (Box<str>, Rc<[u8]>, Arc<u8>, Cow<'_, str>) =
            ("a".into(), b"a"[..].into(), 5.into(), "a".into());
        assert_eq!(bytes(owned), bytes(("a", "a", 5u64, "a")));
        assert_eq!(
            bytes((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)),
            bytes(List(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]))
        );
    }

    #[cfg(feature = "std")]
    #[test]
    fn times_and_names_have_the_bytes_of_the_table() {
        use std::time::SystemTime;
        let epoch = SystemTime::UNIX_EPOCH;
        let moment = |seconds: i64, nanos: u32| [&seconds.to_le_bytes()[..], &nanos.to_le_bytes()].concat();
        assert_eq!(bytes(epoch + Duration::new(3, 4)), moment(3, 4));
        assert_eq!(bytes(epoch - Duration::from_millis(500)), moment(-1, 500_000_000));
        assert_eq!(bytes(epoch - Duration::from_secs(2)), moment(-2, 0));
        assert_eq!(bytes(std::path::Path::new("a/b")), bytes("a/b"));
        assert_eq!(bytes(std::ffi::OsString::from("ä")), bytes("ä"));
    }

    /// Two numbers that SipHash-1-3 without a key takes to one value, found in 5·10⁹ steps. Hashed
    /// by it first, they were one key under every secret.
    #[test]
    fn hashed_keys_collide_under_no_secret() {
        let (a, b) = (0xc98c_3268_f87a_d59e_u64, 0xb371_17d6_3634_1187_u64);
        let unkeyed = |value: u64| {
            let mut state = siphasher::sip::SipHasher13::new();
            value.hash(&mut state);
            state.finish()
        };
        assert_eq!(unkeyed(a), unkeyed(b));
        for secret in 1..=100u128 {
            let hasher = KeyHasher::sip13(crate::SecretKey::new(secret.to_le_bytes()));
            assert_ne!(hasher.digest_key(&Hashed(&a)), hasher.digest_key(&Hashed(&b)));
            assert_ne!(hasher.digest_key(&(1, Hashed(&a))), hasher.digest_key(&(1, Hashed(&b))));
        }
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
