//! Filters that are asked "is it in?".

pub(super) mod blocked;
pub(super) mod bloom;
pub(super) mod probe;
#[cfg(feature = "std")]
pub(super) mod radix;
pub(super) mod retouched;
pub(super) mod split_block;
