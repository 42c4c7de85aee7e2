//! How often, and what most often? Sketches of streams that do not fit.

mod builder;
pub mod candidates;
pub(super) mod count_min;
pub(super) mod count_sketch;
mod grid;
pub(super) mod range;
mod stored;
pub(super) mod top;

pub use grid::Update;
