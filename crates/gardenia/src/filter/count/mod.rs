//! Filters that are asked "how often?", and that can forget.

pub(super) mod bitwise;
pub(super) mod counting;
pub(super) mod row;
pub(super) mod spectral;
#[cfg(feature = "mmap")]
pub(super) mod split;
