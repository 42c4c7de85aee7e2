//! Bytes in and out: the native container, the same for every kind of filter, and one file per
//! foreign format.
//!
//! `docs/formats.md` in the repository describes every byte. In short: a mark, a version, a kind, a
//! header with its checksum, the payload aligned to 64 bytes, a checksum per MiB of payload, and an
//! end mark.

pub mod bip158;
#[cfg(feature = "std")]
mod bip37;
#[cfg(feature = "std")]
mod bit_table;
#[cfg(feature = "std")]
mod civil;
#[cfg(feature = "mmap")]
pub(crate) mod counters_file;
#[cfg(feature = "std")]
mod cursor;
#[cfg(feature = "std")]
mod datasketches;
pub mod dcso;
#[cfg(feature = "mmap")]
mod file;
#[cfg(feature = "std")]
mod foreign;
#[cfg(feature = "std")]
mod guava;
mod header;
#[cfg(feature = "std")]
mod hive;
#[cfg(feature = "mmap")]
mod journal;
#[cfg(feature = "std")]
mod milvus;
#[cfg(feature = "std")]
mod murmur;
mod native;
pub(crate) mod notes;
#[cfg(feature = "std")]
pub mod orc;
#[cfg(feature = "std")]
pub mod parquet;
#[cfg(feature = "std")]
pub mod redisbloom;
#[cfg(feature = "std")]
mod rocksdb;
#[cfg(feature = "serde")]
pub(crate) mod serde;
#[cfg(feature = "std")]
mod spark;
#[cfg(feature = "mmap")]
mod temporary;
#[cfg(feature = "std")]
mod thrift;

pub use crate::kinds::Kind;
#[cfg(feature = "std")]
pub use bip37::FilterLoad;
#[cfg(feature = "std")]
pub use datasketches::DataSketchesBloom;
#[cfg(feature = "mmap")]
pub use file::Mapped;
#[cfg(feature = "mmap")]
pub use file::{create_file, replace_file, verify_file};
#[cfg(feature = "std")]
pub use foreign::{
    Foreign, ForeignInsert, ForeignKey, Format, FormatAbility, KeyError, KeyType, Look, Shown, overlap,
};
#[cfg(feature = "std")]
pub use guava::{GuavaBloom, Strategy as GuavaStrategy};
pub use header::Header;
pub(crate) use header::{MAX_METADATA, check_fit};
#[cfg(feature = "std")]
pub use hive::{HiveBloom, Layout as HiveLayout};
#[cfg(feature = "std")]
pub use milvus::MilvusBloom;
pub(crate) use native::{Attach, Cut, Restore, Section, Stored, file_bytes, read_in_place};
#[cfg(feature = "std")]
pub use native::{header, verify};
#[cfg(feature = "std")]
pub use orc::OrcFile;
#[cfg(feature = "std")]
pub use parquet::{ParquetFile, ParquetFilter};
#[cfg(feature = "std")]
pub use rocksdb::RocksDbBloom;
#[cfg(feature = "std")]
pub use spark::{SparkBloom, SparkCountMin};

#[doc(hidden)]
pub mod methods {
    //! What the macros below call, in one place.
    #[cfg(feature = "mmap")]
    pub(crate) use super::file::{load, map_file, open_mapped, persist_new, save, write_file};
    pub(crate) use super::native::{from_bytes, to_bytes, try_clone, view};
    #[cfg(feature = "std")]
    pub(crate) use super::native::{read_from, write_to};
}

use crate::hash::SecretKey;
use crate::theory::distance::MAX_WORK;

/// Limits and secrets for reading a filter.
///
/// A file that was not written by a friend may claim much in few bytes. Memory and work are bounded
/// by its own size, or by the limits given here: a payload is not allocated before its bytes are
/// known to exist, and what a filter takes beyond them, when it is decoded, grows or is queried, is
/// checked first.
///
/// ```
/// use gardenia::index::Fractional;
/// use gardenia::{Bloom, ReadOptions};
/// let bytes = Bloom::new(1_000, 0.01)?.to_bytes().unwrap();
/// let small = ReadOptions::new().max_bytes(100);
/// assert!(Bloom::from_bytes_as::<Fractional>(&bytes, &small).unwrap_err().to_string().contains("limit of 100"));
/// # Ok::<(), gardenia::SizeError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ReadOptions {
    pub(crate) max_bytes: u64,
    pub(crate) max_expansion: u64,
    pub(crate) max_samples: u64,
    pub(crate) secret: Option<SecretKey>,
}

/// A filter may always take this many times its stored bytes: compressed filters as they are
/// planned take 3 to 12 times as much in memory as in a file once their keys are in, and a slice of
/// growth 2 or 4 is not larger either.
const EXPANSION: u64 = 8;

/// What a filter may take beyond that.
const MAX_EXPANSION: u64 = 256 << 20;

impl Default for ReadOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadOptions {
    /// No secret, payloads up to 16 GiB, an expansion to 256 MiB, and 2^20 samples.
    pub const fn new() -> Self {
        Self { max_bytes: 16 << 30, max_expansion: MAX_EXPANSION, max_samples: MAX_WORK, secret: None }
    }

    /// The most memory that a payload may take, stored or decoded; 16 GiB unless set. Checked
    /// before anything is allocated.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// The most memory that a filter may take once that is more than eight times its stored bytes;
    /// 256 MiB unless set.
    ///
    /// It concerns kinds that a small file can make large. A
    /// [`CompressedBloom`](crate::CompressedBloom) is not decoded if it would take more. A
    /// [`ScalableBloom`](crate::ScalableBloom) or [`DynamicBloom`](crate::DynamicBloom) keeps the
    /// limit, and is full when it would have to grow beyond it, unless that is at most 64 bytes for
    /// each key that was inserted since the filter was read.
    ///
    /// ```
    /// use gardenia::index::Fractional;
    /// use gardenia::{CompressedBloom, DecodeError, ReadOptions};
    /// let empty = CompressedBloom::builder().bits(1 << 23).hashes(2).build()?.to_bytes().unwrap(); // 1 MiB
    /// assert!(empty.len() < 300);
    /// let read = |most| CompressedBloom::from_bytes_as::<Fractional>(&empty, &ReadOptions::new().max_expansion(most));
    /// assert!(matches!(read(1 << 20), Err(DecodeError::Expansion { .. })) && read(2 << 20).is_ok());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn max_expansion(self, max_expansion: u64) -> Self {
        Self { max_expansion, ..self }
    }

    /// The most samples of a point that a query of a
    /// [`DistanceSensitiveBloom`](crate::DistanceSensitiveBloom) may take: functions times samples
    /// of each; 2^20 unless set ([`MAX_WORK`]), which no shape that a builder chooses exceeds. A
    /// set of tokens takes that many for each token.
    ///
    /// ```
    /// use gardenia::{DecodeError, DistanceSensitiveBloom, ReadOptions, theory::distance::DistanceShape};
    /// let shape = DistanceShape { functions: 10, samples: 30, bits: 64, threshold: 5 };
    /// let bytes = DistanceSensitiveBloom::jaccard().shape(shape).build()?.to_bytes().unwrap();
    /// let read = |most| DistanceSensitiveBloom::from_bytes_with(&bytes, &ReadOptions::new().max_samples(most));
    /// assert!(matches!(read(299), Err(DecodeError::Work { samples: 300, max: 299 })) && read(300).is_ok());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    pub fn max_samples(self, max_samples: u64) -> Self {
        Self { max_samples, ..self }
    }

    /// The secret of a keyed filter. Needed if the file does not store it; if the file does, it
    /// must be the same one.
    pub fn secret(self, secret: SecretKey) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// The most memory that a filter of this many stored bytes may come to take.
    pub(crate) fn expanded(&self, stored: u64) -> u64 {
        self.max_expansion.max(stored.saturating_mul(EXPANSION))
    }
}

/// Gives a filter its methods that write it.
macro_rules! stored_methods {
    ($filter:ident<$($param:ident),+> where $($bound:tt)+) => {
        $crate::format::stored_methods!(@ [<$($param),+>] $filter<$($param),+>, $($bound)+);
    };
    ($filter:ident) => {
        $crate::format::stored_methods!(@ [] $filter,);
    };
    (@ [$($generics:tt)*] $filter:ty, $($bound:tt)*) => {
        impl $($generics)* $filter
        where
            $($bound)*
        {
            /// The filter as bytes of the native format.
            pub fn to_bytes(&self) -> Result<alloc::vec::Vec<u8>, $crate::EncodeError> {
                $crate::format::methods::to_bytes(self)
            }

            /// Writes the filter in the native format.
            #[cfg(feature = "std")]
            pub fn write_to(&self, writer: impl std::io::Write) -> Result<(), $crate::EncodeError> {
                $crate::format::methods::write_to(self, writer)
            }

            /// Saves the filter to a file, whole or not at all: written to a temporary file beside
            /// it, synced, then renamed.
            #[cfg(feature = "mmap")]
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), $crate::EncodeError> {
                $crate::format::methods::save(self, path.as_ref())
            }
        }
    };
}
pub(crate) use stored_methods;

/// Gives a filter its functions that read it.
///
/// What is generic over readers and paths is a shell around a function that is not, so that it is
/// compiled here and not again in every program.
///
/// They stand on the default type, so that `Bloom::load(path)` needs no type to be written. Filters
/// with a scheme have forms in `_as` that name the scheme and take options; others have forms in
/// `_with` that take options. Filters that do not lie in memory as they do in files are `decoded`:
/// there is no view of them.
macro_rules! read_methods {
    ($filter:ident of schemes) => {
        $crate::format::read_methods!($filter of schemes, decoded);
        $crate::format::read_methods! {
            @ $filter, view_as, open_mapped_as, "of any scheme and with options", [S: $crate::index::NumberedScheme],
            $filter<S, $crate::cells::Bytes<&'a [u8]>>, $filter<S, $crate::cells::Bytes<$crate::format::Mapped>>,
            $filter<$crate::index::Fractional, $crate::cells::Bytes<&[u8]>>,
            $filter<$crate::index::Fractional, $crate::cells::Bytes<$crate::format::Mapped>>
        }
    };
    ($filter:ident of schemes, decoded) => {
        $crate::format::read_methods! {
            @ $filter, from_bytes_as, read_from_as, load_as,
            "of any scheme and with options", [S: $crate::index::NumberedScheme], $filter<S>
        }
    };
    ($filter:ident) => {
        $crate::format::read_methods!($filter, decoded);
        $crate::format::read_methods! {
            @ $filter, view_with, open_mapped_with, "with options", [],
            $filter<$crate::cells::Bytes<&'a [u8]>>, $filter<$crate::cells::Bytes<$crate::format::Mapped>>,
            $filter<$crate::cells::Bytes<&[u8]>>, $filter<$crate::cells::Bytes<$crate::format::Mapped>>
        }
    };
    ($filter:ident, decoded) => {
        $crate::format::read_methods! {
            @ $filter, from_bytes_with, read_from_with, load_with, "with options", [], $filter
        }
    };
    (
        @ $filter:ident, $from_bytes:ident, $read_from:ident, $load:ident,
        $how:literal, [$($generic:tt)*], $owned:ty
    ) => {
        impl $filter {
            /// The filter in these bytes, with every checksum verified.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, $crate::DecodeError> {
                Self::$from_bytes(bytes, &$crate::ReadOptions::new())
            }

            #[doc = concat!("As [`from_bytes`](Self::from_bytes), ", $how, ".")]
            pub fn $from_bytes<$($generic)*>(
                bytes: &[u8],
                options: &$crate::ReadOptions,
            ) -> Result<$owned, $crate::DecodeError> {
                $crate::format::methods::from_bytes(bytes, options)
            }

            /// Reads one filter, and no byte beyond it, with every checksum verified.
            #[cfg(feature = "std")]
            pub fn read_from(reader: impl std::io::Read) -> Result<Self, $crate::DecodeError> {
                Self::$read_from(reader, &$crate::ReadOptions::new())
            }

            #[doc = concat!("As [`read_from`](Self::read_from), ", $how, ".")]
            #[cfg(feature = "std")]
            pub fn $read_from<$($generic)*>(
                mut reader: impl std::io::Read,
                options: &$crate::ReadOptions,
            ) -> Result<$owned, $crate::DecodeError> {
                fn read<$($generic)*>(
                    reader: &mut dyn std::io::Read,
                    options: &$crate::ReadOptions,
                ) -> Result<$owned, $crate::DecodeError> {
                    $crate::format::methods::read_from(reader, options)
                }
                read(&mut reader, options)
            }

            /// Loads a file into memory, with every checksum verified.
            #[cfg(feature = "mmap")]
            pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, $crate::DecodeError> {
                Self::$load(path, &$crate::ReadOptions::new())
            }

            #[doc = concat!("As [`load`](Self::load), ", $how, ".")]
            #[cfg(feature = "mmap")]
            pub fn $load<$($generic)*>(
                path: impl AsRef<std::path::Path>,
                options: &$crate::ReadOptions,
            ) -> Result<$owned, $crate::DecodeError> {
                fn load<$($generic)*>(
                    path: &std::path::Path,
                    options: &$crate::ReadOptions,
                ) -> Result<$owned, $crate::DecodeError> {
                    $crate::format::methods::load(path, options)
                }
                load(path.as_ref(), options)
            }
        }
    };
    (
        @ $filter:ident, $view:ident, $open_mapped:ident, $how:literal, [$($generic:tt)*],
        $viewed:ty, $mapped:ty, $default_viewed:ty, $default_mapped:ty
    ) => {
        impl $filter {
            /// The filter in these bytes, without a copy. The header is verified, the payload is
            /// not.
            pub fn view(bytes: &[u8]) -> Result<$default_viewed, $crate::DecodeError> {
                Self::$view(bytes, &$crate::ReadOptions::new())
            }

            #[doc = concat!("As [`view`](Self::view), ", $how, ".")]
            pub fn $view<'a, $($generic)*>(
                bytes: &'a [u8],
                options: &$crate::ReadOptions,
            ) -> Result<$viewed, $crate::DecodeError> {
                $crate::format::methods::view(bytes, options)
            }

            /// Opens a file by memory map in a time that does not depend on its size. The header is
            /// verified, the payload is not read: see [`verify_file`]($crate::format::verify_file).
            ///
            /// [`load`](Self::load) is safe: it reads the file into memory, and then nobody can
            /// change it.
            ///
            /// # Safety
            /// While it is open, the file must not be changed in place or cut short, by this
            /// process or another. Answers would be wrong, or the process would end with SIGBUS.
            /// Replacing the file by renaming another over it (`mv`, and [`save`](Self::save)) is
            /// fine: the map stays as it was. `cp` and `>` change a file in place.
            #[cfg(feature = "mmap")]
            #[allow(unsafe_code, reason = "a mapped file is as good as those who can write to it")]
            pub unsafe fn open_mapped(
                path: impl AsRef<std::path::Path>,
            ) -> Result<$default_mapped, $crate::DecodeError> {
                // SAFETY: the caller's promise.
                unsafe { Self::$open_mapped(path, &$crate::ReadOptions::new()) }
            }

            #[doc = concat!("As [`open_mapped`](Self::open_mapped), ", $how, ".")]
            ///
            /// # Safety
            /// That of [`open_mapped`](Self::open_mapped).
            #[cfg(feature = "mmap")]
            #[allow(unsafe_code, reason = "a mapped file is as good as those who can write to it")]
            pub unsafe fn $open_mapped<$($generic)*>(
                path: impl AsRef<std::path::Path>,
                options: &$crate::ReadOptions,
            ) -> Result<$mapped, $crate::DecodeError> {
                // SAFETY: the caller's promise.
                unsafe { $crate::format::methods::open_mapped(path.as_ref(), options) }
            }
        }
    };
}
pub(crate) use read_methods;

/// Gives a filter serde's traits: the native bytes as one byte string.
macro_rules! serde_impls {
    ([$($generic:tt)*] $filter:ty, [$($owned_generic:tt)*] $owned:ty) => {
        #[cfg(feature = "serde")]
        impl<$($generic)*> serde::Serialize for $filter {
            fn serialize<Z: serde::Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
                $crate::format::serde::serialize(self, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de, $($owned_generic)*> serde::Deserialize<'de> for $owned {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::format::serde::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use serde_impls;
