//! The whole family of Bloom filters, as fast as memory allows, with one file format.
//!
//! ```
//! let mut seen = gardenia::Bloom::new(1_000_000, 0.01)?; // a million keys, 1 % false positives
//! seen.insert("rose");
//! assert!(seen.contains("rose"));
//! assert!(!seen.contains("thistle"));
//! # Ok::<(), gardenia::SizeError>(())
//! ```
//!
//! # The way of a key
//!
//! ```text
//! key ── Key ──▶ bytes ── KeyHasher ──▶ Digest ── Scheme ──▶ k positions ── cells ──▶ answer
//! ```
//!
//! Each arrow is a module ([`hash`], [`index`], [`cells`]); a filter joins them and adds the policy of one
//! paper. What is stored is numbered and frozen, so a filter answers the same in every program that opens it.
//!
//! # Untrusted input
//!
//! Keys that an attacker may choose need a secret ([`hash`](hash#untrusted-input)), files from strangers have limits
//! ([`ReadOptions`]).
//!
//! # Features
//!
//! * `std` (default): streaming to and from `std::io`. Without it the crate needs `alloc` only.
//! * `mmap` (default): atomic saving, memory-mapped opening, huge pages for large filters.
//! * `serde`: filters inside your own formats.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod cells;
pub mod error;
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
/// The table of `Top`, for the module's `TOPK.*`.
#[doc(hidden)]
pub use filter::candidates;
#[doc(inline)]
pub use filter::{
    A2Bloom, About, Atomic, AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, BinaryFuse, BitwiseBloom,
    BlockedBloom, Bloom, Bloomier, Builder, ChoiceBloom, CompressedBloom, CountMin, CountSketch,
    CountingBloom, Cuckoo, DistanceSensitiveBloom, DynamicBloom, GolombSet, MutableBloomier, Quotient,
    RangeCountMin, RetouchedBloom, Ribbon, ScalableBloom, SpectralBloom, StableBloom, Top,
};
#[doc(inline)]
pub use format::ReadOptions;
#[cfg(feature = "derive")]
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
#[doc = include_str!("../../../README.md")]
struct Readme;
