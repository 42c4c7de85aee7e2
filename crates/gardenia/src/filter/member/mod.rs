//! Filters that are asked "is it in?".

pub(super) mod bloom;
mod probe;
