//! RedisBloom's own layouts: its Bloom and cuckoo filters as `BF.SCANDUMP` and `CF.SCANDUMP` give
//! them, also as files.
//!
//! Written from a description and from values that a server gave, not from RedisBloom's source.
//! Fields and chunks come in through [`layout`], and are checked before memory is taken for them.

pub mod bloom;
pub mod cuckoo;
mod dump;
pub mod layout;
pub mod murmur;

pub use dump::{BloomDump, CuckooDump};
pub(super) use dump::{begins, begins_cuckoo};
