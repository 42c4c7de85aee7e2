//! Sets and filters in as few bits as a code can make of them.

pub(super) mod compressed;
mod gaps;
pub(super) mod golomb;
mod range;
