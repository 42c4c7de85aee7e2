//! What a key holds, for the commands of a family.

use crate::engine::context::{Context, Failure, WRONG_TYPE};
use crate::engine::ffi::Str;
use crate::values::BATCH;

/// The value is not yet all there.
pub const STILL_LOADING: Failure = Failure::Text(c"ERR the filter is still being loaded");

/// What a key holds.
pub enum Found<F> {
    /// A filter of the family.
    Filter(F),
    /// One that is not yet all there.
    Arriving,
    /// Something else, or nothing.
    Other,
}

impl<F> Found<F> {
    /// The filter, or the error in its place.
    #[inline]
    pub fn filter(self) -> Result<F, Failure> {
        match self {
            Self::Filter(filter) => Ok(filter),
            Self::Arriving => Err(STILL_LOADING),
            Self::Other => Err(WRONG_TYPE),
        }
    }

    /// Whether it is nothing of the family.
    #[must_use]
    pub fn is_other(&self) -> bool {
        matches!(self, Self::Other)
    }
}

/// Answers of each item whether `contains` says that it is in; it is asked for up to [`BATCH`] at a
/// time.
pub fn reply_each(ctx: &Context<'_>, items: &[Str<'_>], contains: impl Fn(&[Str<'_>], &mut [bool])) {
    let engine = ctx.engine();
    engine.reply_array(items.len());
    for items in items.chunks(BATCH) {
        let mut found = [false; BATCH];
        let found = &mut found[..items.len()];
        contains(items, found);
        found.iter().for_each(|found| engine.reply_bool(*found));
    }
}
