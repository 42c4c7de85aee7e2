//! RedisBloom's own layouts, for keys that arrive from it: by `LOADCHUNK`, `RESTORE`, an RDB file or replication.
//!
//! Written from a description and from values that a server gave, not from RedisBloom's source. Everything here is plain
//! Rust without an engine: bytes and fields come in through [`layout`], and what comes in is checked before memory
//! is taken for it.

pub mod bloom;
pub mod count_min;
pub mod cuckoo;
pub mod layout;
pub mod murmur;
