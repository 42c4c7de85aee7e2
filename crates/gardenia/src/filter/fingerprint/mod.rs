//! Filters of fingerprints: short hashes of keys, kept as they are.

pub(super) mod cuckoo;
pub(super) mod quotient;
