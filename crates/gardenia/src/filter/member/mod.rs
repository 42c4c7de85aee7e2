//! Filters that are asked "is it in?".

pub(super) mod blocked;
pub(super) mod bloom;
mod probe;
#[cfg(feature = "std")]
mod radix;
