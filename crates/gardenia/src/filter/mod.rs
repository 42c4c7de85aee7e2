//! The filters, and what belongs to some of them alone: policies, efforts, forms, files.
//!
//! The filters themselves are in the crate root, too.

mod about;
mod atomic;
pub(crate) mod builder;
mod choice;
mod coded;
mod count;
mod fingerprint;
mod fixed;
mod grow;
mod member;
mod near;
mod request;
mod sketch;
mod stream;
mod verbs;

pub use about::{About, Identity};
pub use atomic::{Atomic, SharedFilter};
pub use builder::Builder;
pub use choice::bloom::{ChoiceBloom, ChoiceForm, MAX_CHOICES};
pub use choice::builder::Effort;
pub use choice::offline::{ChoiceOffline, OfflineProgress};
pub use choice::propagation::Propagation;
pub use coded::compressed::CompressedBloom;
pub use coded::golomb::GolombSet;
pub use count::bitwise::{BitwiseBloom, BitwiseLevel};
pub use count::counting::CountingBloom;
pub use count::spectral::{
    MinimumIncrease, MinimumSelection, Policy, PolicyId, RecurringMinimum, Reversible, SpectralBloom,
};
#[cfg(feature = "mmap")]
pub use count::split::{SplitBloom, SplitFiles, SplitOpening, SplitState};
pub use fingerprint::cuckoo::Cuckoo;
pub use fingerprint::quotient::Quotient;
pub use fixed::binary_fuse::BinaryFuse;
pub(crate) use fixed::bloomier::is_mutable;
pub use fixed::bloomier::{Bloomier, MutableBloomier};
pub(crate) use fixed::ribbon;
pub use fixed::ribbon::Ribbon;
pub use grow::dynamic::DynamicBloom;
pub use grow::infini::InfiniFilter;
pub use grow::scalable::{ScalableBloom, ScalableSlice};
pub use grow::scalable_blocked::ScalableBlocked;
pub use member::blocked::{AtomicBlockedBloom, BlockedBloom};
pub use member::bloom::{AtomicBloom, Bloom};
pub use member::retouched::{Clearing, RetouchedBloom};
pub use member::split_block::{AtomicSplitBlockBloom, SplitBlockBloom};
pub use near::distance::{DistanceSensitiveBloom, Space};
pub use sketch::Update;
/// The table of [`Top`], for commands of the Redis module. It may change in any version.
#[doc(hidden)]
pub use sketch::candidates;
pub use sketch::count_min::CountMin;
pub use sketch::count_sketch::{CountSketch, Moment};
pub use sketch::range::RangeCountMin;
pub use sketch::top::{Hitter, Top};
pub use stream::a2::{A2Bloom, AtomicA2Bloom};
pub use stream::stable::StableBloom;
