//! What do we promise? One file per member of the family, by what it is asked.

mod about;
mod atomic;
mod choice;
mod coded;
mod count;
mod fingerprint;
mod fixed;
mod grow;
mod member;
mod near;
mod sketch;
mod stream;
mod verbs;
mod wish;

pub use about::{About, Identity};
pub use atomic::Atomic;
pub use choice::bloom::{ChoiceBloom, ChoiceForm, MAX_CHOICES};
pub use choice::builder::{ChoiceBloomBuilder, Effort};
pub use choice::offline::{ChoiceOffline, OfflineProgress};
pub use choice::propagation::Propagation;
pub use coded::compressed::{CompressedBloom, CompressedBloomBuilder};
pub use coded::golomb::{GolombSet, GolombSetBuilder};
pub use count::bitwise::{BitwiseBloom, BitwiseBloomBuilder, BitwiseLevel};
pub use count::counting::{CountingBloom, CountingBloomBuilder};
pub use count::spectral::{
    MinimumIncrease, MinimumSelection, Policy, PolicyId, RecurringMinimum, Reversible, SpectralBloom,
    SpectralBloomBuilder,
};
#[cfg(feature = "mmap")]
pub use count::split::{SplitBloom, SplitFiles, SplitOpening, SplitState};
pub use fingerprint::cuckoo::{Cuckoo, CuckooBuilder};
pub use fingerprint::quotient::{Quotient, QuotientBuilder};
pub use fixed::binary_fuse::{BinaryFuse, BinaryFuseBuilder};
pub(crate) use fixed::bloomier::is_mutable;
pub use fixed::bloomier::{Bloomier, BloomierBuilder, MutableBloomier};
pub(crate) use fixed::ribbon;
pub use fixed::ribbon::{Ribbon, RibbonBuilder};
pub use grow::dynamic::{DynamicBloom, DynamicBloomBuilder};
pub use grow::scalable::{ScalableBloom, ScalableBloomBuilder, ScalableSlice};
pub use member::blocked::{AtomicBlockedBloom, BlockedBloom, BlockedBloomBuilder};
pub use member::bloom::{AtomicBloom, Bloom, BloomBuilder};
pub use member::retouched::{Clearing, RetouchedBloom};
pub use near::distance::{DistanceSensitiveBloom, DistanceSensitiveBloomBuilder, Space};
pub use sketch::candidates;
pub use sketch::count_min::CountMin;
pub use sketch::count_sketch::{CountSketch, CountSketchBuilder, Moment};
pub use sketch::range::RangeCountMin;
pub use sketch::top::{Hitter, Top};
pub use sketch::{CountMinBuilder, Update};
pub use stream::a2::{A2Bloom, A2BloomBuilder, AtomicA2Bloom};
pub use stream::stable::{StableBloom, StableBloomBuilder};
