//! What needs the processor's own instructions. `portable` defines every result; the vector files agree with
//! it bit for bit, so that files and answers are the same on every processor.

pub(crate) mod ahead;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx512;
mod batch;
mod fuse;
mod level;
mod pattern;
mod portable;
mod prefetch;
pub(crate) mod ribbon;
mod rows;

pub(crate) use batch::{Bools, Drawn, Given, Keys, Mask, Sink, Source};
pub(crate) use fuse::Spots;
pub use level::Level;
pub(crate) use level::{
    contains, contains_one, digest_keys, digest_slice, insert, insert_one, insert_shared, insert_shared_many,
    with_best,
};
pub(crate) use pattern::Pattern;
pub(crate) use prefetch::{prefetch, prefetch_at};
pub(crate) use rows::positions;
