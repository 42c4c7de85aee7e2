//! Filters inside other formats: the native bytes as one byte string.

use super::ReadOptions;
use super::native::{Restore, Stored, from_bytes, to_bytes};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{Error as _, Serializer};

/// Writes `filter` as a byte string in the native format.
pub(crate) fn serialize<T: Stored, S: Serializer>(filter: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let header = filter.header().map_err(S::Error::custom)?;
    if header.needs_secret() {
        // There is no place to bring the secret when the bytes are read again.
        return Err(S::Error::custom(
            "the filter is keyed: allow about_mut().store_secret(true), or use write_to",
        ));
    }
    serializer.serialize_bytes(&to_bytes(filter).map_err(S::Error::custom)?)
}

/// Reads a filter from a byte string, or from the sequence of numbers that text formats make of
/// one.
pub(crate) fn deserialize<'de, T: Restore, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Native<T>(PhantomData<T>);

    impl<'de, T: Restore> Visitor<'de> for Native<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a filter in Gardenia's native format")
        }
        fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<T, E> {
            from_bytes(bytes, &ReadOptions::new()).map_err(E::custom)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<T, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = sequence.next_element()? {
                bytes.push(byte);
            }
            from_bytes(&bytes, &ReadOptions::new()).map_err(A::Error::custom)
        }
    }
    deserializer.deserialize_byte_buf(Native(PhantomData))
}
