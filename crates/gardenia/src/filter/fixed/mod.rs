//! Static sets: all keys are known when the filter is built, and none comes or goes afterwards.
//!
//! What they share stands in `digests`: keys become digests once, by all threads; a structure is
//! tried with numbered seeds, a bounded number of times; duplicates are looked for only when an
//! attempt fails, since they make every attempt fail. `builder` has the verbs that all builders of
//! static sets have.

pub(super) mod binary_fuse;
pub(super) mod bloomier;
mod builder;
mod digests;
mod fuse;
pub(crate) mod ribbon;
