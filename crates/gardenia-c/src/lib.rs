//! Gardenia for C and C++: every filter of the family behind one header.
//!
//! `include/gardenia.h` is made from these files by cbindgen, and `include/gardenia.hpp` is a thin C++ header over it. Filters are
//! opaque handles, a kind and its options are a text ("blocked items=1M fpp=1%"), and the table of kinds stays in the
//! library: nothing here lists kinds. `docs/c.md` is for users.
//!
//! # Rules of all functions
//!
//! * A function that fails leaves its filter and its results as they were, unless it says otherwise, and notes a message for
//!   `gardenia_last_error`. No panic crosses the boundary.
//! * Who may call at the same time: functions with a `const gardenia_filter *` from any number of threads; all others by
//!   one thread, while no other thread uses the filter. `gardenia_share` makes insertions an exception.
//! * What a function returns by pointer belongs to the caller: filters are ended by `gardenia_free`, texts by
//!   `gardenia_free_string`, bytes by `gardenia_free_bytes`. Arguments are only read during the call.
#![allow(unsafe_code, reason = "pointers of C; each function says what it relies on")]

mod handle;
mod keys;
mod make;
mod status;
mod verbs;
mod whole;

pub use handle::{gardenia_filter, gardenia_progress};
pub use keys::*;
pub use make::*;
pub use status::{gardenia_last_error, gardenia_status, gardenia_status_name, gardenia_version};
pub use verbs::*;
pub use whole::*;
