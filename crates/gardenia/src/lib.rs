//! Bloom filters and their relatives, with one file format.
//!
//! A filter stores a set of keys in about ten bits per key. Asked for a key that was inserted, it
//! always answers yes. Asked for any other key, it answers yes by mistake for a share of them that
//! you choose, the *false-positive rate*.
//!
//! ```
//! let mut seen = gardenia::BlockedBloom::new(1_000_000, 0.01)?; // a million keys, 1 % false positives, 1.2 MB
//! assert!(seen.insert("rose")); // true: it was certainly not there
//! assert!(seen.contains("rose"));
//! assert!(!seen.contains("thistle"));
//! # Ok::<(), gardenia::SizeError>(())
//! ```
//!
//! # Which type
//!
//! | you want to | use |
//! |---|---|
//! | ask "have I seen this key?" | [`BlockedBloom`]; [`Bloom`] for rates below 10⁻⁵ |
//! | the same, as in Parquet files, or fastest for single calls | [`SplitBlockBloom`] |
//! | insert from several threads | [`AtomicBlockedBloom`], [`AtomicBloom`] |
//! | remove keys | [`Cuckoo`], [`CountingBloom`], [`Quotient`] |
//! | count how often keys occur | [`CountMin`], [`SpectralBloom`], [`CountingBloom`]; [`Top`] for the most frequent |
//! | insert an unknown number of keys | [`InfiniFilter`], which also removes; [`ScalableBloom`], [`ScalableBlocked`] |
//! | remember the recent keys of an endless stream | [`A2Bloom`], [`StableBloom`] |
//! | store keys that are known up front, in the least memory | [`BinaryFuse`], [`Ribbon`], [`GolombSet`] |
//! | map known keys to small numbers | [`Bloomier`], [`MutableBloomier`] |
//! | find what is similar | [`DistanceSensitiveBloom`] |
//! | decide at run time, or from a configuration file | [`Spec`], [`AnyFilter`] |
//!
//! [`plan`] chooses from a description of the need and states size and rate.
//!
//! # Keys
//!
//! Strings, bytes, numbers, tuples, addresses and paths are keys: see [`Key`](trait@Key) for the
//! list and for the bytes that each stands for. These bytes are the same on every machine, so that
//! a filter built in one program can be asked in another. `#[derive(Key)]` (feature `derive`) makes
//! a key of your own struct or enum. [`Hashed`] makes a key of anything that implements
//! [`core::hash::Hash`], for filters that stay in one program. [`List`] makes one of a sequence.
//!
//! # Batches
//!
//! `insert_many` and `contains_many` fetch memory ahead and are several times as fast as single
//! calls once the filter is larger than the cache:
//!
//! ```
//! let mut seen = gardenia::BlockedBloom::new(1_000, 0.01)?;
//! let new = seen.insert_many(&["rose", "tulip", "rose"]);
//! assert_eq!(new, 2);
//! assert_eq!(seen.contains_many(&["tulip", "thistle"]), [true, false]);
//! # Ok::<(), gardenia::SizeError>(())
//! ```
//!
//! # Threads
//!
//! All filters are [`Send`] and [`Sync`]. Many threads can ask one filter. The atomic filters can
//! also be filled by many threads, because their `insert` borrows `&self`.
//! `BlockedBloom::par_insert_many` inserts a slice with several threads.
//!
//! # Files
//!
//! | call | reads | safe |
//! |---|---|---|
//! | `Bloom::load(path)` | the file into memory, every checksum verified | yes |
//! | [`AnyFilter::open`] | the same, of any kind | yes |
//! | `Bloom::from_bytes(&bytes)`, `read_from(reader)` | bytes, a socket, a pipe; every checksum verified | yes |
//! | `Bloom::view(&bytes)` | nothing: it answers from your bytes | yes |
//! | `Bloom::open_mapped(path)` | the pages that are asked for, by memory map | `unsafe`: nobody may change the file in place |
//!
//! `save` writes a new file and renames it, so that readers see the old filter or the new one.
//! `docs/formats.md` specifies every byte.
//!
//! A filter can be part of the program:
//!
//! ```
//! use gardenia::BinaryFuse;
//! // static WORDS: &[u8] = include_bytes!("words.gdn");
//! # let bytes = BinaryFuse::new(&["rose", "tulip"], 0.001).unwrap().to_bytes().unwrap();
//! # #[allow(non_snake_case)]
//! # let WORDS: &[u8] = &bytes;
//! let words = BinaryFuse::view(WORDS)?; // no copy
//! assert!(words.contains("rose"));
//! # Ok::<(), gardenia::DecodeError>(())
//! ```
//!
//! # Errors
//!
//! Constructors return [`SizeError`] for sizes and rates that cannot be, [`BuildError`] where keys
//! are part of it. Reading returns [`DecodeError`], writing [`EncodeError`]. Filters that can be
//! full return [`Full`] from `insert`. [`Error`] holds any of them.
//!
//! # Untrusted input
//!
//! If an attacker chooses keys, give the filter a secret: `Bloom::builder().secret(…)`. Without
//! one, keys can be found that fill the filter or collide with others: see
//! [`hash`](hash#untrusted-input). Files from strangers are checked, and need no more memory than
//! their size or a stated limit: see [`ReadOptions`].
//!
//! # How a key is stored
//!
//! ```text
//! key ── Key ──▶ bytes ── KeyHasher ──▶ Digest ── Scheme ──▶ k positions ── cells ──▶ answer
//! ```
//!
//! Each arrow is a module ([`hash`], [`index`], [`cells`]); a filter joins them and adds the policy
//! of one paper. What is stored is numbered and frozen, so a filter answers the same in every
//! program that opens it.
//!
//! # Features
//!
//! * `std` (default): streaming to and from `std::io`. Without it the crate needs `alloc` and
//!   64-bit atomics.
//! * `mmap` (default): atomic saving, memory-mapped opening, huge pages for large filters.
//! * `derive`: `#[derive(Key)]`.
//! * `uuid`: `uuid::Uuid` as a key.
//! * `serde`: filters inside your own formats.
//!
//! The minimum Rust version is 1.89. A new minor version of the crate may raise it.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!("gardenia needs a target with 64-bit atomics: filters that threads share consist of them");

extern crate alloc;

pub mod cells;
pub mod error;
pub mod explain;
pub mod filter;
pub mod format;
pub mod hash;
pub mod index;
mod kinds;
mod numbered;
#[cfg(feature = "mmap")]
mod open;
pub mod plan;
pub mod simd;
pub mod spec;
pub mod theory;
mod traits;

#[doc(inline)]
pub use error::{
    BuildError, DecodeError, EncodeError, Error, Full, InsertError, Mismatch, RemoveError, SizeError,
};
#[cfg(feature = "mmap")]
#[doc(inline)]
pub use filter::SplitBloom;
#[doc(inline)]
pub use filter::{
    A2Bloom, Atomic, AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, AtomicSplitBlockBloom, BinaryFuse,
    BitwiseBloom, BlockedBloom, Bloom, Bloomier, Builder, ChoiceBloom, CompressedBloom, CountMin,
    CountSketch, CountingBloom, Cuckoo, DistanceSensitiveBloom, DynamicBloom, GolombSet, InfiniFilter,
    MutableBloomier, Quotient, RangeCountMin, RetouchedBloom, Ribbon, ScalableBlocked, ScalableBloom,
    SpectralBloom, SplitBlockBloom, StableBloom, Top,
};
#[doc(inline)]
pub use format::ReadOptions;
#[cfg(feature = "derive")]
#[doc(inline)]
pub use gardenia_derive::Key;
#[doc(inline)]
pub use hash::{Digest, Hashed, Key, KeyHasher, List, SecretKey};
pub use kinds::{Ability, AnyFilter, Kind};
#[cfg(feature = "mmap")]
pub use open::OpenFilter;
#[doc(inline)]
pub use spec::Spec;
pub use traits::{Count, Filter, Insert, Merge, Remove};

/// The README's program must compile, too.
#[cfg(all(doctest, feature = "mmap"))]
#[doc = include_str!("../README.md")]
struct Readme;
