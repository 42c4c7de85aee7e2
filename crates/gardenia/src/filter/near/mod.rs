//! Filters that are asked "is something like it in?".

pub(super) mod distance;
