//! What a value under a key must be able to do.

pub use super::ffi::TypeHandle;
use super::ffi::{DigestOf, Io, Rewrite};
use std::ffi::CStr;

/// A value that is stored under a key, of one data type of the engine.
///
/// The engine calls these; a panic in one of them is logged and stops at the border.
pub trait Value: Sized + 'static {
    /// Name of the type: nine characters, of which the engine makes a number that no other module may have.
    const NAME: &'static CStr;
    /// The version of what [`save`](Self::save) writes.
    const VERSION: i32;

    /// Where the engine's number of the type is kept.
    fn handle() -> &'static TypeHandle;

    /// The value that the stream holds; `None` if it holds none. The bytes may be anybody's.
    fn load(io: &mut Io<'_>, version: i32) -> Option<Self>;

    /// Writes the value.
    fn save(&self, io: &mut Io<'_>);

    /// Writes commands that make the value again, exactly.
    fn rewrite(&self, file: &mut Rewrite<'_>);

    /// Bytes of memory behind the value, without those of the type itself.
    fn memory(&self) -> usize;

    /// Everything that makes two values differ.
    fn digest(&self, digest: &mut DigestOf<'_>);

    /// A copy; `None` if there is no memory for it.
    fn copy(&self) -> Option<Self>;

    /// How much work it is to free the value. From 64 on the engine does it in the background; memory of 64 KiB
    /// counts as one here, because the system takes large memory back page by page.
    fn free_effort(&self) -> usize {
        1 + (self.memory() >> 16)
    }
}
