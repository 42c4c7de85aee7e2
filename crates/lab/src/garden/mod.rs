//! Filters of the garden and sketches, simulated: true random positions, and no code of the
//! library.
//!
//! Each file is one filter as its paper has it, with the mistake that an experiment can make on
//! purpose to see that its verdicts notice. What they share is positions and streams of keys.

mod a2;
mod bits;
mod bitwise;
mod count_min;
mod counting;
mod spectral;
mod stable;
mod stream;

pub use a2::Swap;
pub(crate) use a2::TwoBuffers;
pub(crate) use bits::RandomBits;
pub use bitwise::Exponent;
pub(crate) use bitwise::{BitwiseCells, Carry};
pub use count_min::Step;
pub(crate) use count_min::{CountMinSketch, SketchSize};
pub(crate) use counting::CountingCells;
pub use counting::Top;
pub use spectral::Raise;
pub(crate) use spectral::{Believe, Cells, Places, Recurring};
pub use stable::Below;
pub(crate) use stable::{Aging, StableCells};

/// The article that shows the garden.
pub(crate) const VALLENTIN: &str = "Vallentin, A Garden Variety of Bloom Filters (2011)";
