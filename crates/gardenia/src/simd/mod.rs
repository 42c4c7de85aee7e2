//! What needs the processor's own instructions. `portable` defines every result; the vector files
//! agree with it bit for bit, so that files and answers are the same on every processor.

pub(crate) mod ahead;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx512;
mod batch;
mod blocks;
mod fuse;
mod level;
mod pattern;
mod portable;
mod prefetch;
pub(crate) mod ribbon;
mod rows;
mod slots;
mod split;

pub(crate) use batch::{Bools, Drawn, Given, Keys, Mask, Sink, Source};
pub(crate) use blocks::Blocks;
pub(crate) use fuse::Spots;
pub use level::Level;
#[cfg(feature = "std")]
pub(crate) use level::insert;
pub(crate) use level::{Has, Work, digest_keys, digest_slice, with_best, with_level};
#[cfg(feature = "std")]
pub(crate) use pattern::Pattern;
pub(crate) use prefetch::{prefetch, prefetch_at};
pub(crate) use rows::positions;
pub(crate) use slots::{any_long, any_short, sum_before};
pub(crate) use split::SplitBlocks;
