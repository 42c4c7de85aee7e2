//! What do we promise? One file per member of the family, by what it is asked.

mod about;
mod member;
mod wish;

pub use about::{About, Identity};
pub use member::blocked::{AtomicBlockedBloom, BlockedBloom, BlockedBloomBuilder};
pub use member::bloom::{AtomicBloom, Bloom, BloomBuilder};
