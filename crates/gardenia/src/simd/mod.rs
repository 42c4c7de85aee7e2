//! What needs the processor's own instructions. Portable code defines every result.

mod prefetch;

pub(crate) use prefetch::prefetch;
