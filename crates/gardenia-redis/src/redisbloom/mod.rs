//! RedisBloom's own layouts, for keys that arrive from it: by `LOADCHUNK`, `RESTORE`, an RDB file
//! or replication.
//!
//! Written from a description and from values that a server gave, not from RedisBloom's source.
//! Filters and the way fields are read are the library's ([`gardenia::format::redisbloom`]); what
//! comes in is checked before memory is taken for it.

pub mod count_min;
mod io;

pub use gardenia::format::redisbloom::{bloom, cuckoo, layout, murmur};
