//! What is stored at a position? Bits and small counters over owned, borrowed or shared memory.
//!
//! Cells know no hashing. [`Bits`] and [`Counters`] are generic over their [`Memory`]: [`Owned`]
//! words, [`Bytes`] borrowed from a buffer or a mapped file, and [`Shared`] words that many threads
//! may change.

pub(crate) mod atom;
mod bits;
mod buckets;
mod compact;
mod counters;
#[cfg(feature = "mmap")]
pub(crate) mod mapped;
mod memory;
pub(crate) mod merging;
mod packed;
pub(crate) mod pages;
mod pair;
pub(crate) mod region;
mod tally;

pub use crate::kinds::Held;
pub use bits::Bits;
pub(crate) use bits::Lines;
pub(crate) use buckets::{Buckets, Eights, Four, SLOTS, WIDTHS, bucket_bytes, by_width};
pub use compact::{Compact, CompactView};
#[cfg(feature = "mmap")]
pub(crate) use counters::CounterLines;
pub use counters::Counters;
pub(crate) use counters::counter_bytes;
#[cfg(feature = "mmap")]
pub(crate) use mapped::MappedWords;
/// For the Redis module, whose engine counts all memory. It acts on the whole process, and may
/// change in any version.
#[doc(hidden)]
pub use memory::use_allocator_alone;
/// For tables of other programs.
#[cfg(feature = "std")]
#[doc(hidden)]
pub use memory::zeroed_bytes;
pub use memory::{Bytes, Memory, Owned, Shared, Still};
pub(crate) use packed::{Packed, packed_words};
pub(crate) use pair::{Pair, pair_bytes};
pub use region::CellKind;
pub(crate) use tally::{Ahead, Tally, TallyMut};
