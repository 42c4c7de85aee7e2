//! What a value under a key must be able to do.

pub use super::ffi::TypeHandle;
use super::ffi::{DigestOf, Io, Rewrite};
use std::ffi::CStr;

/// A value that is stored under a key, of one data type of the engine.
///
/// The engine calls these; a panic in one of them is logged and stops at the border. Where it calls
/// them:
///
/// * in the thread that runs commands, never while a command has the value;
/// * [`save`](Self::save) and [`rewrite`](Self::rewrite) also in a forked process, in which no
///   other thread runs: a lock that another thread held is never released there;
/// * `drop` also in a thread for deletions (UNLINK, FLUSHALL ASYNC, lazy expiry): hence `Send`.
///
/// No two threads have a value at once, so that it need not be `Sync`. It is moved byte by byte
/// when the engine defragments.
///
/// The trait is not `unsafe`, because `unsafe` code relies on nothing that an implementation can
/// get wrong: that a type of the engine holds values of `Self` follows from the type of its
/// [`handle`](Self::handle), and the bounds are the compiler's.
///
/// ```
/// use gardenia_redis::engine::ffi::{DigestOf, Io, Rewrite};
/// use gardenia_redis::engine::types::{TypeHandle, Value};
/// use std::{ffi::CStr, sync::Arc};
///
/// struct Shared(Arc<str>);
///
/// static HANDLE: TypeHandle<Shared> = TypeHandle::new();
///
/// impl Value for Shared {
///     const NAME: &'static CStr = c"gdn-share";
///     const VERSION: i32 = 1;
///     fn handle() -> &'static TypeHandle<Self> { &HANDLE }
///     fn load(_: &mut Io<'_>, _: i32) -> Option<Self> { None }
///     fn save(&self, _: &mut Io<'_>) {}
///     fn rewrite(&self, _: &mut Rewrite<'_>) {}
///     fn memory(&self) -> usize { self.0.len() }
///     fn digest(&self, _: &mut DigestOf<'_>) {}
///     fn copy(&self) -> Option<Self> { Some(Shared(self.0.clone())) }
/// }
/// ```
///
/// The same with an `Rc`, whose count two threads could change at once, does not compile:
///
/// ```compile_fail,E0277
/// # use gardenia_redis::engine::ffi::{DigestOf, Io, Rewrite};
/// # use gardenia_redis::engine::types::{TypeHandle, Value};
/// # use std::{ffi::CStr, rc::Rc};
/// struct Shared(Rc<str>);
/// # static HANDLE: TypeHandle<Shared> = TypeHandle::new();
/// # impl Value for Shared {
/// #     const NAME: &'static CStr = c"gdn-share";
/// #     const VERSION: i32 = 1;
/// #     fn handle() -> &'static TypeHandle<Self> { &HANDLE }
/// #     fn load(_: &mut Io<'_>, _: i32) -> Option<Self> { None }
/// #     fn save(&self, _: &mut Io<'_>) {}
/// #     fn rewrite(&self, _: &mut Rewrite<'_>) {}
/// #     fn memory(&self) -> usize { self.0.len() }
/// #     fn digest(&self, _: &mut DigestOf<'_>) {}
/// #     fn copy(&self) -> Option<Self> { Some(Shared(self.0.clone())) }
/// # }
/// ```
///
/// Nor does a handle that is another type's, whose values would be read as its own:
///
/// ```compile_fail,E0308
/// # use gardenia_redis::engine::types::{TypeHandle, Value};
/// # use gardenia_redis::{redisbloom::count_min::CountMinTable, values::bloom::Bloom};
/// let handle: &TypeHandle<Bloom> = CountMinTable::handle();
/// ```
pub trait Value: Sized + Send + 'static {
    /// Name of the type: nine characters, of which the engine makes a number that no other module
    /// may have.
    const NAME: &'static CStr;
    /// The version of what [`save`](Self::save) writes.
    const VERSION: i32;

    /// Where the engine's number of the type is kept.
    fn handle() -> &'static TypeHandle<Self>;

    /// The value that the stream holds; `None` if it holds none. The bytes may be anybody's.
    fn load(io: &mut Io<'_>, version: i32) -> Option<Self>;

    /// Writes the value.
    fn save(&self, io: &mut Io<'_>);

    /// Writes commands that make the value again, exactly.
    fn rewrite(&self, file: &mut Rewrite<'_>);

    /// Bytes of memory behind the value, without those of the type itself.
    fn memory(&self) -> usize;

    /// Calls `part` with the bytes of each piece of memory behind the value, for `MEMORY USAGE`.
    fn parts(&self, part: &mut dyn FnMut(usize)) {
        part(self.memory());
    }

    /// Everything that makes two values differ.
    fn digest(&self, digest: &mut DigestOf<'_>);

    /// A copy; `None` if there is no memory for it.
    fn copy(&self) -> Option<Self>;

    /// How much work it is to free the value. From 64 on the engine does it in the background;
    /// memory of 64 KiB counts as one here, because the system takes large memory back page by
    /// page.
    fn free_effort(&self) -> usize {
        1 + (self.memory() >> 16)
    }
}
