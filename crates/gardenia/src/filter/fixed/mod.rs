//! Filters of fixed sets: all keys are at hand when they are built, and none comes later.

pub(crate) mod ribbon;
