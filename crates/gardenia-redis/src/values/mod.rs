//! What is stored under keys.

pub mod any;
pub mod bloom;
pub mod count_min;
pub mod cuckoo;
pub mod redisbloom;
pub mod stored;
pub mod top_k;

/// Items that are hashed and visited together.
pub const BATCH: usize = 128;
