//! The engine's C interface: the functions, looked up by name, and thin handles around its
//! pointers.
//!
//! Redis and Valkey hand a module one function that finds all others by name, so nothing is linked
//! and one file serves both. What a version of the engine lacks is `None` here if the module can do
//! without, and refuses to load otherwise. No pointer leaves this file: the handles below own what
//! they point to, or borrow it for as long as it lives.
#![allow(unsafe_code)] // calls into the engine, and the functions that it calls

mod about;

use super::context::{Command, Context, Failure, WRONG_TYPE};
use super::stats::{self, Tally};
use super::types::Value;
use std::cell::Cell;
use std::ffi::{CStr, CString, NulError, c_char, c_int, c_long, c_longlong, c_uint, c_void};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Types of the engine that are only pointed to.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )+};
}

opaque! {
    /// The context of a call.
    RawCtx,
    /// A string of the engine.
    RawString,
    /// An open key.
    RawKey,
    /// A stream of the database's file, or of an append-only file.
    RawIo,
    /// A digest that is computed.
    RawDigest,
    /// A data type.
    RawType,
    /// A command.
    RawCommand,
    /// The state of a defragmentation.
    RawDefrag,
    /// What is written to INFO.
    RawInfo,
}

/// What the engine calls for a command.
type CommandFn = unsafe extern "C" fn(*mut RawCtx, *mut *mut RawString, c_int) -> c_int;
type GetNumber = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
type SetNumber = unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut RawString) -> c_int;
type GetText = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut RawString;
type SetText = unsafe extern "C" fn(*const c_char, *mut RawString, *mut c_void, *mut *mut RawString) -> c_int;
type Apply = unsafe extern "C" fn(*mut RawCtx, *mut c_void, *mut *mut RawString) -> c_int;

/// The callbacks of a data type, in the order of the engine's header; version 3 ends with `defrag`.
#[repr(C)]
struct Methods {
    version: u64,
    rdb_load: unsafe extern "C" fn(*mut RawIo, c_int) -> *mut c_void,
    rdb_save: unsafe extern "C" fn(*mut RawIo, *mut c_void),
    aof_rewrite: unsafe extern "C" fn(*mut RawIo, *mut RawString, *mut c_void),
    mem_usage: unsafe extern "C" fn(*const c_void) -> usize,
    digest: unsafe extern "C" fn(*mut RawDigest, *mut c_void),
    free: unsafe extern "C" fn(*mut c_void),
    aux_load: Option<unsafe extern "C" fn()>,
    aux_save: Option<unsafe extern "C" fn()>,
    aux_save_triggers: c_int,
    free_effort: unsafe extern "C" fn(*mut RawString, *const c_void) -> usize,
    unlink: Option<unsafe extern "C" fn(*mut RawString, *const c_void)>,
    copy: unsafe extern "C" fn(*mut RawString, *mut RawString, *const c_void) -> *mut c_void,
    defrag: Option<unsafe extern "C" fn(*mut RawDefrag, *mut RawString, *mut *mut c_void) -> c_int>,
}

const METHODS_VERSION: u64 = 3;

/// What the engine has under a name.
///
/// # Safety
/// `ctx` is the context that the engine gave to the function that loads the module.
unsafe fn look(ctx: *mut RawCtx, name: &CStr) -> Option<NonNull<c_void>> {
    type GetApi = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
    let mut found: *mut c_void = ptr::null_mut();
    // SAFETY: the first word of that context is the function that finds others, by the engine's contract. The name ends
    // in a zero byte, and `found` is written before the call returns.
    let _status = unsafe { (*ctx.cast::<GetApi>())(name.as_ptr(), &raw mut found) };
    NonNull::new(found)
}

/// The table of functions. Each stands in the engine as `RedisModule_` and its name.
macro_rules! functions {
    (
        required { $($need:ident : fn($($in:ty),*) $(-> $out:ty)?;)+ }
        variadic { $($vary:ident : fn($($vin:ty),*, ...) $(-> $vout:ty)?;)+ }
        optional { $($may:ident : fn($($min:ty),*) $(-> $mout:ty)?;)+ }
    ) => {
        #[allow(non_snake_case, reason = "the engine's names")]
        struct Api {
            $($need: unsafe extern "C" fn($($in),*) $(-> $out)?,)+
            $($vary: unsafe extern "C" fn($($vin),*, ...) $(-> $vout)?,)+
            $($may: Option<unsafe extern "C" fn($($min),*) $(-> $mout)?>,)+
        }

        impl Api {
            /// Looks all functions up; the name of the first that is needed and missing.
            ///
            /// # Safety
            /// `ctx` is the context that the engine gave to the function that loads the module.
            unsafe fn find(ctx: *mut RawCtx) -> Result<Self, &'static str> {
                // SAFETY: by the caller's promise.
                let look = |name: &CStr| unsafe { look(ctx, name) };
                macro_rules! name {
                    ($function:ident) => {
                        match CStr::from_bytes_with_nul(
                            concat!("RedisModule_", stringify!($function), "\0").as_bytes(),
                        ) {
                            Ok(name) => name,
                            Err(_) => c"",
                        }
                    };
                }
                Ok(Self {
                    // SAFETY: what the engine finds by a name has the signature that its header gives it.
                    $($need: unsafe {
                        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($in),*) $(-> $out)?>(
                            look(name!($need)).ok_or(stringify!($need))?,
                        )
                    },)+
                    // SAFETY: as above.
                    $($vary: unsafe {
                        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($vin),*, ...) $(-> $vout)?>(
                            look(name!($vary)).ok_or(stringify!($vary))?,
                        )
                    },)+
                    // SAFETY: as above.
                    $($may: look(name!($may)).map(|found| unsafe {
                        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($min),*) $(-> $mout)?>(found)
                    }),)+
                })
            }
        }
    };
}

functions! {
    required {
        SetModuleAttribs: fn(*mut RawCtx, *const c_char, c_int, c_int);
        SetModuleOptions: fn(*mut RawCtx, c_int);
        CreateCommand: fn(*mut RawCtx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> c_int;
        CreateDataType: fn(*mut RawCtx, *const c_char, c_int, *const Methods) -> *mut RawType;
        WrongArity: fn(*mut RawCtx) -> c_int;
        ReplyWithLongLong: fn(*mut RawCtx, c_longlong) -> c_int;
        ReplyWithError: fn(*mut RawCtx, *const c_char) -> c_int;
        ReplyWithSimpleString: fn(*mut RawCtx, *const c_char) -> c_int;
        ReplyWithStringBuffer: fn(*mut RawCtx, *const c_char, usize) -> c_int;
        ReplyWithArray: fn(*mut RawCtx, c_long) -> c_int;
        ReplyWithMap: fn(*mut RawCtx, c_long) -> c_int;
        ReplyWithBool: fn(*mut RawCtx, c_int) -> c_int;
        ReplyWithNull: fn(*mut RawCtx) -> c_int;
        ReplyWithDouble: fn(*mut RawCtx, f64) -> c_int;
        GetContextFlags: fn(*mut RawCtx) -> c_int;
        IsKeysPositionRequest: fn(*mut RawCtx) -> c_int;
        KeyAtPosWithFlags: fn(*mut RawCtx, c_int, c_int);
        StringPtrLen: fn(*const RawString, *mut usize) -> *const c_char;
        CreateString: fn(*mut RawCtx, *const c_char, usize) -> *mut RawString;
        FreeString: fn(*mut RawCtx, *mut RawString);
        OpenKey: fn(*mut RawCtx, *mut RawString, c_int) -> *mut RawKey;
        CloseKey: fn(*mut RawKey);
        KeyType: fn(*mut RawKey) -> c_int;
        DeleteKey: fn(*mut RawKey) -> c_int;
        SignalModifiedKey: fn(*mut RawCtx, *mut RawString) -> c_int;
        ModuleTypeGetType: fn(*mut RawKey) -> *mut RawType;
        ModuleTypeGetValue: fn(*mut RawKey) -> *mut c_void;
        ModuleTypeSetValue: fn(*mut RawKey, *mut RawType, *mut c_void) -> c_int;
        ReplicateVerbatim: fn(*mut RawCtx) -> c_int;
        NotifyKeyspaceEvent: fn(*mut RawCtx, c_int, *const c_char, *mut RawString) -> c_int;
        SaveUnsigned: fn(*mut RawIo, u64);
        LoadUnsigned: fn(*mut RawIo) -> u64;
        SaveDouble: fn(*mut RawIo, f64);
        LoadDouble: fn(*mut RawIo) -> f64;
        SaveStringBuffer: fn(*mut RawIo, *const c_char, usize);
        LoadStringBuffer: fn(*mut RawIo, *mut usize) -> *mut c_char;
        IsIOError: fn(*mut RawIo) -> c_int;
        DigestAddStringBuffer: fn(*mut RawDigest, *const c_char, usize);
        DigestAddLongLong: fn(*mut RawDigest, c_longlong);
        DigestEndSequence: fn(*mut RawDigest);
        GetRandomBytes: fn(*mut u8, usize);
        Alloc: fn(usize) -> *mut c_void;
        Calloc: fn(usize, usize) -> *mut c_void;
        Realloc: fn(*mut c_void, usize) -> *mut c_void;
        Free: fn(*mut c_void);
    }
    variadic {
        Replicate: fn(*mut RawCtx, *const c_char, *const c_char, ...) -> c_int;
        EmitAOF: fn(*mut RawIo, *const c_char, *const c_char, ...);
        Log: fn(*mut RawCtx, *const c_char, *const c_char, ...);
        Call: fn(*mut RawCtx, *const c_char, *const c_char, ...) -> *mut c_void;
    }
    optional {
        IsModuleNameBusy: fn(*const c_char) -> c_int;
        TryAlloc: fn(usize) -> *mut c_void;
        TryCalloc: fn(usize, usize) -> *mut c_void;
        TryRealloc: fn(*mut c_void, usize) -> *mut c_void;
        AddACLCategory: fn(*mut RawCtx, *const c_char) -> c_int;
        GetCommand: fn(*mut RawCtx, *const c_char) -> *mut RawCommand;
        SetCommandInfo: fn(*mut RawCommand, *const about::CommandInfo) -> c_int;
        RegisterInfoFunc: fn(*mut RawCtx, about::InfoFn) -> c_int;
        InfoAddSection: fn(*mut RawInfo, *const c_char) -> c_int;
        InfoBeginDictField: fn(*mut RawInfo, *const c_char) -> c_int;
        InfoEndDictField: fn(*mut RawInfo) -> c_int;
        InfoAddFieldULongLong: fn(*mut RawInfo, *const c_char, u64) -> c_int;
        InfoAddFieldCString: fn(*mut RawInfo, *const c_char, *const c_char) -> c_int;
        SetCommandACLCategories: fn(*mut RawCommand, *const c_char) -> c_int;
        RegisterNumericConfig: fn(
            *mut RawCtx, *const c_char, c_longlong, c_uint, c_longlong, c_longlong,
            GetNumber, SetNumber, Option<Apply>, *mut c_void
        ) -> c_int;
        RegisterStringConfig: fn(
            *mut RawCtx, *const c_char, *const c_char, c_uint, GetText, SetText, Option<Apply>, *mut c_void
        ) -> c_int;
        LoadConfigs: fn(*mut RawCtx) -> c_int;
        SubscribeToServerEvent: fn(*mut RawCtx, Event, OnEvent) -> c_int;
        MallocSize: fn(*mut c_void) -> usize;
        DefragAlloc: fn(*mut RawDefrag, *mut c_void) -> *mut c_void;
    }
}

static API: OnceLock<Api> = OnceLock::new();

/// The functions, once the module is loaded.
#[inline]
fn api() -> &'static Api {
    match API.get() {
        Some(api) => api,
        None => unreachable!("handles exist only after loading"),
    }
}

/// From this many bytes on zeros are left to the engine, whose fresh pages are zero and stay
/// untouched.
const LARGE: usize = 64 << 10;

/// Memory from the engine, zeroed if asked for; `None` if there is none. Aligned to 8 bytes and no
/// more.
///
/// `Err` before the module is loaded, when there is no engine to ask.
#[inline]
pub(super) fn allocate(bytes: usize, zeroed: bool) -> Result<Option<NonNull<u8>>, NoEngine> {
    let api = API.get().ok_or(NoEngine)?;
    let found = match (zeroed, api.TryCalloc, api.TryAlloc) {
        (true, Some(try_calloc), _) => {
            // SAFETY: any size may be asked for; the engine answers null where it has not so much.
            return Ok(NonNull::new(unsafe { try_calloc(1, bytes) }.cast()).map(placed));
        }
        (true, None, _) if bytes >= LARGE => {
            // SAFETY: as above, but that the engine ends where memory does: so the system is asked before.
            let taken = super::alloc::system_has(bytes).then(|| unsafe { (api.Calloc)(1, bytes) });
            return Ok(taken.and_then(|memory| NonNull::new(memory.cast())));
        }
        // SAFETY: as above.
        (_, _, Some(try_alloc)) => unsafe { try_alloc(bytes) },
        // SAFETY: as above, but that the engine ends where memory does.
        _ => unsafe { (api.Alloc)(bytes) },
    };
    let found = NonNull::new(found.cast::<u8>());
    if let (true, Some(memory)) = (zeroed, found) {
        // SAFETY: the engine gave so many bytes.
        unsafe { memory.write_bytes(0, bytes) };
    }
    Ok(found.map(placed))
}

/// Resizes memory and keeps its bytes, as many as fit; `None` if there is no memory, and then
/// nothing has changed.
///
/// `Err` where the engine can fail to allocate but not to resize, as Redis before 7.4: there a
/// resize that finds no memory ends the engine, while [`allocate`] reports it.
///
/// # Safety
/// The memory came from [`allocate`] or from here, `bytes` is not 0, and the old address is not
/// used after a success.
#[inline]
pub(super) unsafe fn reallocate(memory: *mut u8, bytes: usize) -> Result<Option<NonNull<u8>>, CannotFail> {
    let api = api();
    let resize = match (api.TryRealloc, api.TryAlloc) {
        (Some(try_realloc), _) => try_realloc,
        (None, Some(_)) => return Err(CannotFail),
        (None, None) => api.Realloc,
    };
    // SAFETY: by the caller's promise the memory is the engine's, at the address that the engine returned.
    Ok(NonNull::new(unsafe { resize(memory.cast(), bytes) }.cast()))
}

/// Gives memory back.
///
/// # Safety
/// It came from [`allocate`] or [`reallocate`], and nobody uses it.
#[inline]
pub(super) unsafe fn release(memory: *mut u8) {
    // SAFETY: by the caller's promise.
    unsafe { (api().Free)(memory.cast()) };
}

/// Whether there is an engine.
#[inline]
pub(super) fn is_loaded() -> bool {
    API.get().is_some()
}

/// There is no engine: the code runs in a test.
pub(super) struct NoEngine;

/// The engine would rather end than report that a resize found no memory.
pub(super) struct CannotFail;

/// Levels of the engine's log.
#[derive(Clone, Copy)]
pub enum Level {
    /// Something was refused.
    Notice,
    /// Something is wrong.
    Warning,
}

/// Writes a line to the engine's log.
pub fn log(level: Level, line: &str) {
    let level = match level {
        Level::Notice => c"notice",
        Level::Warning => c"warning",
    };
    if let Some(api) = API.get() {
        let length = c_int::try_from(line.len()).unwrap_or(c_int::MAX);
        // SAFETY: the format takes a length and so many bytes; a log needs no context.
        unsafe { (api.Log)(ptr::null_mut(), level.as_ptr(), c"<bf> %.*s".as_ptr(), length, line.as_ptr()) };
    }
}

/// A random number of the engine.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: so many bytes are written.
    unsafe { (api().GetRandomBytes)(bytes.as_mut_ptr(), bytes.len()) };
    u64::from_le_bytes(bytes)
}

/// A string of the engine, for as long as the call lasts.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Str<'a> {
    raw: NonNull<RawString>,
    call: PhantomData<&'a RawString>,
}

impl<'a> Str<'a> {
    /// The bytes of the string, where they lie.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string lives for `'a`; the engine does not change strings that a module was given.
        unsafe {
            let bytes = (api().StringPtrLen)(self.raw.as_ptr(), &raw mut len);
            slice::from_raw_parts(bytes.cast(), len)
        }
    }
}

impl AsRef<[u8]> for Str<'_> {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// The engine's side of a call.
///
/// A client waits for exactly one reply to a command, and would read what follows as the reply to
/// its next command. So replies are counted: an array is one reply, after which its elements are
/// due. What is still due when a command ends, because it panicked or failed in the middle, is sent
/// as errors, one for each element: null would read as "no" to a client that asked which items are
/// there. A reply too many is not sent.
///
/// Closing the connection instead would not be enough. A command that a script or another module
/// calls has a client without a connection; the engine itself reads that reply, and relies on its
/// lengths. And a client would lose the replies to other commands that it had already sent.
#[derive(Clone, Copy)]
pub struct Ctx<'a> {
    raw: *mut RawCtx,
    api: &'static Api,
    /// Replies that the client waits for: one at the start, then what is left of the arrays that
    /// have begun.
    due: &'a Cell<usize>,
}

/// The command came from the primary.
const REPLICATED: c_int = 1 << 12;
/// The command comes from a file that is loaded.
const LOADING: c_int = 1 << 13;
/// The server receives the data of its primary.
const TRANSFERRING: c_int = 1 << 16;
/// Events of the types of modules.
const NOTIFY_MODULE: c_int = 1 << 13;
const READ: c_int = 1;
const WRITE: c_int = 2;
const KEY_EMPTY: c_int = 0;
const OK: c_int = 0;
const ERR: c_int = 1;

// Replies return a status that is always good.
impl<'a> Ctx<'a> {
    #[inline]
    fn new(raw: *mut RawCtx, due: &'a Cell<usize>) -> Self {
        Self { raw, api: api(), due }
    }

    /// Sends a reply of `elements` elements, which are due after it; nothing if no reply is due.
    #[inline]
    fn reply(self, elements: usize, send: impl FnOnce(&Api, *mut RawCtx) -> c_int) {
        match self.due.get().checked_sub(1) {
            Some(rest) => {
                self.due.set(rest + elements);
                send(self.api, self.raw);
            }
            None => log(Level::Warning, "a command replied too often"),
        }
    }

    /// Sends everything that is still due, as errors.
    fn reply_rest(self, text: &CStr) {
        while self.due.get() > 0 {
            self.reply_error(text);
        }
    }

    /// The engine's error of a wrong number of arguments.
    pub fn reply_wrong_arity(self) {
        // SAFETY: the context is that of the call; as in all methods below.
        self.reply(0, |api, ctx| unsafe { (api.WrongArity)(ctx) });
    }

    /// A whole number.
    pub fn reply_integer(self, value: i64) {
        // SAFETY: see above.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithLongLong)(ctx, value) });
    }

    /// An error.
    pub fn reply_error(self, text: &CStr) {
        // SAFETY: see above; the text is copied.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithError)(ctx, text.as_ptr()) });
    }

    /// A status.
    pub fn reply_status(self, text: &CStr) {
        // SAFETY: see above; the text is copied.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithSimpleString)(ctx, text.as_ptr()) });
    }

    /// Bytes.
    pub fn reply_bytes(self, bytes: &[u8]) {
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: see above; the bytes are copied.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithStringBuffer)(ctx, start, len) });
    }

    /// The head of an array; `len` replies follow.
    pub fn reply_array(self, len: usize) {
        // SAFETY: see above.
        self.reply(len, |api, ctx| unsafe { (api.ReplyWithArray)(ctx, len as c_long) });
    }

    /// The head of a map, which is an array in RESP2; `pairs` pairs follow.
    pub fn reply_map(self, pairs: usize) {
        // SAFETY: see above.
        self.reply(2 * pairs, |api, ctx| unsafe { (api.ReplyWithMap)(ctx, pairs as c_long) });
    }

    /// A truth value, which is 1 or 0 in RESP2.
    #[inline]
    pub fn reply_bool(self, value: bool) {
        // SAFETY: see above.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithBool)(ctx, value.into()) });
    }

    /// Nothing.
    pub fn reply_null(self) {
        // SAFETY: see above.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithNull)(ctx) });
    }

    /// A number that is not whole, which is text in RESP2.
    pub fn reply_double(self, value: f64) {
        // SAFETY: see above.
        self.reply(0, |api, ctx| unsafe { (api.ReplyWithDouble)(ctx, value) });
    }

    /// Tells the engine which of `args` arguments are keys, if it asks for that in place of
    /// running the command: the first, which is changed, and the `sources`, which are read.
    fn tells_keys(self, args: usize, sources: impl FnOnce() -> Range<usize>) -> bool {
        const OVERWRITTEN: c_int = 1 << 2 | 1 << 5;
        const READ: c_int = 1 | 1 << 4;
        // SAFETY: see above.
        unsafe {
            if (self.api.IsKeysPositionRequest)(self.raw) == 0 {
                return false;
            }
            // The engine believes every place that it is told.
            for (Range { start, end }, how) in [(1..2, OVERWRITTEN), (sources(), READ)] {
                (start..end.min(args))
                    .for_each(|at| (self.api.KeyAtPosWithFlags)(self.raw, at as c_int, how));
            }
        }
        true
    }

    fn has(self, flag: c_int) -> bool {
        // SAFETY: see above.
        unsafe { (self.api.GetContextFlags)(self.raw) & flag != 0 }
    }

    /// Whether the command was accepted elsewhere before: it comes from the primary, or from a
    /// file.
    #[must_use]
    pub fn is_repeated(self) -> bool {
        self.has(REPLICATED | LOADING)
    }

    /// Whether the client speaks RESP3.
    #[must_use]
    pub fn is_resp3(self) -> bool {
        self.has(1 << 22)
    }

    /// Passes the command on as it came.
    pub fn replicate_verbatim(self) {
        // SAFETY: see above.
        unsafe { (self.api.ReplicateVerbatim)(self.raw) };
    }

    /// Passes on another command in its place, or one more.
    pub fn replicate(self, command: &CStr, key: Str<'_>, args: &[Str<'_>]) {
        // SAFETY: the format takes one string, and a vector of strings with its length; `Str` is one pointer.
        unsafe {
            (self.api.Replicate)(
                self.raw,
                command.as_ptr(),
                c"sv".as_ptr(),
                key.raw.as_ptr(),
                args.as_ptr(),
                args.len(),
            )
        };
    }

    /// A string of the engine, until it is dropped.
    #[must_use]
    pub fn string(self, bytes: &[u8]) -> Option<OwnedStr<'a>> {
        // SAFETY: see above; the bytes are copied.
        let raw = unsafe { (self.api.CreateString)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
        Some(OwnedStr { ctx: self, raw: NonNull::new(raw)? })
    }

    /// Tells transactions and caches that the key has changed.
    pub fn changed(self, key: Str<'_>) {
        // SAFETY: see above.
        unsafe { (self.api.SignalModifiedKey)(self.raw, key.raw.as_ptr()) };
    }
}

/// A string that was made for a call.
pub struct OwnedStr<'a> {
    ctx: Ctx<'a>,
    raw: NonNull<RawString>,
}

impl OwnedStr<'_> {
    /// The string, to be handed on.
    #[must_use]
    pub fn get(&self) -> Str<'_> {
        Str { raw: self.raw, call: PhantomData }
    }
}

impl Drop for OwnedStr<'_> {
    fn drop(&mut self) {
        // SAFETY: it was made in this context and is dropped once; who kept it counts as another owner.
        unsafe { (self.ctx.api.FreeString)(self.ctx.raw, self.raw.as_ptr()) };
    }
}

/// A value of one of two types.
pub enum Either<'k, A, B> {
    /// Of the first.
    First(&'k mut A),
    /// Of the second.
    Second(&'k mut B),
    /// Of another, or nothing.
    Neither,
}

/// A value of one of three types.
pub enum Among<'k, A, B, C> {
    /// Of the first.
    First(&'k mut A),
    /// Of the second.
    Second(&'k mut B),
    /// Of the third.
    Third(&'k mut C),
    /// Of another, or nothing.
    None,
}

/// The keys of the database, of which a command has one open at a time: two names may be the same
/// key.
///
/// A call of a command gets one of these, and nothing else opens keys. An open key borrows it, and
/// a value borrows its key, so whoever has a value knows that nobody else has it. One key after the
/// other compiles:
///
/// ```
/// # use gardenia_redis::engine::{context::Failure, ffi::{Keys, Str}};
/// # use gardenia_redis::values::bloom::Bloom;
/// fn change(keys: &mut Keys<'_>, first: Str<'_>, second: Str<'_>) -> Result<(), Failure> {
///     let mut key = keys.open_mut(first)?;
///     let value: Option<&mut Bloom> = key.value();
///     drop(key);
///     let mut key = keys.open_mut(second)?;
///     let value: Option<&mut Bloom> = key.value();
///     drop(key);
///     keys.notify(c"bf.change", first);
///     Ok(())
/// }
/// ```
///
/// Two open keys do not:
///
/// ```compile_fail,E0499
/// # use gardenia_redis::engine::{context::Failure, ffi::{Keys, Str}};
/// # use gardenia_redis::values::bloom::Bloom;
/// fn change(keys: &mut Keys<'_>, first: Str<'_>, second: Str<'_>) -> Result<(), Failure> {
///     let mut one = keys.open_mut(first)?;
///     let mut other = keys.open_mut(second)?;
///     let values: [Option<&mut Bloom>; 2] = [one.value(), other.value()];
///     Ok(())
/// }
/// ```
///
/// Nor does an event while a key is open, because those who hear of it may use the same key:
///
/// ```compile_fail,E0499
/// # use gardenia_redis::engine::{context::Failure, ffi::{Keys, Str}};
/// # use gardenia_redis::values::bloom::Bloom;
/// fn change(keys: &mut Keys<'_>, first: Str<'_>) -> Result<(), Failure> {
///     let mut key = keys.open_mut(first)?;
///     let value: Option<&mut Bloom> = key.value();
///     keys.notify(c"bf.change", first);
///     drop(key);
///     Ok(())
/// }
/// ```
pub struct Keys<'a> {
    ctx: Ctx<'a>,
}

impl Keys<'_> {
    /// Opens a key to read it; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn open(&mut self, name: Str<'_>) -> Option<Key<'_>> {
        self.open_for(name, READ)
    }

    /// Opens a key to change it; it may be empty.
    #[inline]
    pub fn open_mut(&mut self, name: Str<'_>) -> Result<Key<'_>, Failure> {
        self.open_for(name, READ | WRITE).ok_or(WRONG_TYPE)
    }

    #[inline]
    fn open_for(&mut self, name: Str<'_>, mode: c_int) -> Option<Key<'_>> {
        let api = self.ctx.api;
        // SAFETY: the context is that of the call, which outlives the key. A key that has expired is deleted here, which frees its
        // value and calls other modules: but no value is borrowed, since no key is open.
        let raw = unsafe { (api.OpenKey)(self.ctx.raw, name.raw.as_ptr(), mode) };
        Some(Key { raw: NonNull::new(raw)?, api, tally: None, keys: PhantomData })
    }

    /// Sends an event to those who listen. Other modules are called at once, and may call commands
    /// of this one on any key: so none is open.
    pub fn notify(&mut self, event: &CStr, key: Str<'_>) {
        let api = self.ctx.api;
        // SAFETY: the context is that of the call, and the event ends in a zero byte.
        unsafe { (api.NotifyKeyspaceEvent)(self.ctx.raw, NOTIFY_MODULE, event.as_ptr(), key.raw.as_ptr()) };
    }
}

/// An open key, the only one of its call.
pub struct Key<'k> {
    raw: NonNull<RawKey>,
    api: &'static Api,
    /// That of the type whose value was last asked for.
    tally: Option<&'static Tally>,
    keys: PhantomData<&'k mut RawCtx>,
}

impl Drop for Key<'_> {
    #[inline]
    fn drop(&mut self) {
        stats::settle(self.tally);
        // SAFETY: opened once, closed once.
        unsafe { (self.api.CloseKey)(self.raw.as_ptr()) };
    }
}

impl Key<'_> {
    /// Whether nothing is stored under the key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // SAFETY: the key is open.
        unsafe { (self.api.KeyType)(self.raw.as_ptr()) == KEY_EMPTY }
    }

    /// The engine's number of the type of the value; null for its own types, and for nothing.
    #[inline]
    fn kind(&self) -> *mut RawType {
        // SAFETY: the key is open.
        unsafe { (self.api.ModuleTypeGetType)(self.raw.as_ptr()) }
    }

    /// The value, if it is of this type.
    #[inline]
    #[must_use]
    pub fn value<T: Value>(&mut self) -> Option<&mut T> {
        match self.either::<T, T>() {
            Either::First(value) | Either::Second(value) => Some(value),
            Either::Neither => None,
        }
    }

    /// The value, if it is of one of two types.
    #[inline]
    #[must_use]
    pub fn either<A: Value, B: Value>(&mut self) -> Either<'_, A, B> {
        match self.among::<A, B, B>() {
            Among::First(value) => Either::First(value),
            Among::Second(value) | Among::Third(value) => Either::Second(value),
            Among::None => Either::Neither,
        }
    }

    /// The value, if it is of one of three types.
    #[inline]
    #[must_use]
    pub fn among<A: Value, B: Value, C: Value>(&mut self) -> Among<'_, A, B, C> {
        let kind = self.kind();
        let is = |own: *mut RawType| !kind.is_null() && own == kind;
        // SAFETY: the key is open. A value of the engine's type `kind` is what `set` or a callback of that type boxed (see
        // `TypeHandle`). Nobody else has it: the engine runs one command at a time and frees a value only after it has left its
        // key. In this command it is reached through the one `Keys` of the call, which this key borrows, and through `&mut self`,
        // which the result borrows. And all that makes the engine call others, or free the value, needs one of the two: `open`,
        // `open_mut`, `notify`, `set`, `delete`.
        unsafe {
            let value = || (self.api.ModuleTypeGetValue)(self.raw.as_ptr());
            if is(A::handle().kind()) {
                self.tally = Some(&A::handle().tally);
                return value().cast::<A>().as_mut().map_or(Among::None, Among::First);
            }
            if is(B::handle().kind()) {
                self.tally = Some(&B::handle().tally);
                return value().cast::<B>().as_mut().map_or(Among::None, Among::Second);
            }
            if is(C::handle().kind()) {
                self.tally = Some(&C::handle().tally);
                return value().cast::<C>().as_mut().map_or(Among::None, Among::Third);
            }
        }
        Among::None
    }

    /// Stores a value in place of what was there; false if the type is not registered, or if the
    /// engine refuses, which it does to no key open for writing.
    pub fn set<T: Value>(&mut self, value: T) -> bool {
        let kind = T::handle().kind();
        if kind.is_null() {
            return false;
        }
        let bytes = held(&value);
        let value = Box::into_raw(Box::new(value));
        // What is pending belongs to the value that is replaced.
        stats::settle(self.tally);
        // SAFETY: the key is open, the type is registered, and the value was boxed for its callbacks.
        if unsafe { (self.api.ModuleTypeSetValue)(self.raw.as_ptr(), kind, value.cast()) } == OK {
            T::handle().tally.add(bytes);
            self.tally = Some(&T::handle().tally);
            return true;
        }
        // SAFETY: the engine did not take it.
        drop(unsafe { Box::from_raw(value) });
        false
    }

    /// Deletes what is stored.
    pub fn delete(&mut self) {
        stats::settle(self.tally);
        // SAFETY: the key is open.
        unsafe { (self.api.DeleteKey)(self.raw.as_ptr()) };
    }
}

/// The engine's number of the data type whose values are `T`, once it is registered.
///
/// Only [`Loading::add_type`] writes to one, and only the number that the engine returned for the
/// callbacks of `T`: so a key whose type has this number holds a `T`.
#[derive(Debug)]
pub struct TypeHandle<T> {
    kind: AtomicPtr<RawType>,
    tally: Tally,
    values: PhantomData<fn() -> T>,
}

impl<T> TypeHandle<T> {
    /// A type that is not yet registered.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "for statics only")]
    pub const fn new() -> Self {
        Self { kind: AtomicPtr::new(ptr::null_mut()), tally: Tally::new(), values: PhantomData }
    }

    /// The number, null before the type is registered.
    #[inline]
    fn kind(&self) -> *mut RawType {
        self.kind.load(Ordering::Relaxed)
    }
}

/// Bytes that the engine loaded.
pub struct Buffer {
    bytes: NonNull<u8>,
    len: usize,
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the engine gave so many bytes, which live until they are freed below.
        unsafe { slice::from_raw_parts(self.bytes.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the engine allocated it for us, and it is freed once.
        unsafe { (api().Free)(self.bytes.as_ptr().cast()) };
    }
}

/// A stream of the database's file.
pub struct Io<'a> {
    raw: *mut RawIo,
    call: PhantomData<&'a mut RawIo>,
}

impl Io<'_> {
    fn new(raw: *mut RawIo) -> Self {
        Self { raw, call: PhantomData }
    }

    /// Whether something went wrong so far.
    #[must_use]
    pub fn failed(&self) -> bool {
        // SAFETY: the stream is that of the call; as in all methods below.
        unsafe { (api().IsIOError)(self.raw) != 0 }
    }

    /// Saves a number.
    pub fn save_unsigned(&mut self, value: u64) {
        // SAFETY: see above.
        unsafe { (api().SaveUnsigned)(self.raw, value) };
    }

    /// Saves a number that is not whole.
    pub fn save_double(&mut self, value: f64) {
        // SAFETY: see above.
        unsafe { (api().SaveDouble)(self.raw, value) };
    }

    /// Saves bytes.
    pub fn save_bytes(&mut self, bytes: &[u8]) {
        // SAFETY: see above.
        unsafe { (api().SaveStringBuffer)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Loads a number.
    pub fn load_unsigned(&mut self) -> Option<u64> {
        // SAFETY: see above.
        let value = unsafe { (api().LoadUnsigned)(self.raw) };
        (!self.failed()).then_some(value)
    }

    /// Loads a number that is not whole.
    pub fn load_double(&mut self) -> Option<f64> {
        // SAFETY: see above.
        let value = unsafe { (api().LoadDouble)(self.raw) };
        (!self.failed()).then_some(value)
    }

    /// Loads bytes.
    pub fn load_bytes(&mut self) -> Option<Buffer> {
        let mut len = 0;
        // SAFETY: see above.
        let bytes = unsafe { (api().LoadStringBuffer)(self.raw, &raw mut len) };
        let buffer = Buffer { bytes: NonNull::new(bytes.cast())?, len };
        (!self.failed()).then_some(buffer)
    }
}

/// An append-only file that is rewritten.
pub struct Rewrite<'a> {
    raw: *mut RawIo,
    key: Str<'a>,
}

impl Rewrite<'_> {
    /// Writes `command key number bytes`.
    pub fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        // SAFETY: the stream and the key are those of the call; the format takes a string, a number, and bytes with
        // their length.
        unsafe {
            (api().EmitAOF)(
                self.raw,
                command.as_ptr(),
                c"slb".as_ptr(),
                self.key.raw.as_ptr(),
                number as c_longlong,
                bytes.as_ptr(),
                bytes.len(),
            );
        }
    }
}

/// The digest of a value, as DEBUG DIGEST asks for it.
pub struct DigestOf<'a> {
    raw: *mut RawDigest,
    call: PhantomData<&'a mut RawDigest>,
}

impl DigestOf<'_> {
    /// Adds bytes, after those before.
    pub fn add(&mut self, bytes: &[u8]) {
        // SAFETY: the digest is that of the call.
        unsafe { (api().DigestAddStringBuffer)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Adds a number, after what was before.
    pub fn add_number(&mut self, number: u64) {
        // SAFETY: the digest is that of the call.
        unsafe { (api().DigestAddLongLong)(self.raw, number as c_longlong) };
    }
}

/// The result of a callback, or `other` if it panicked: no panic may pass into the engine.
fn guarded<R>(other: R, work: impl FnOnce() -> R) -> R {
    // What a panic leaves behind is the one value it worked on, and all its methods hold on any state.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(other)
}

/// Bytes of a value with all that it holds.
fn held<T: Value>(value: &T) -> usize {
    size_of::<T>() + value.memory()
}

/// A value for the engine, or null.
fn given<T: Value>(value: Option<T>) -> *mut c_void {
    value.map_or(ptr::null_mut(), |value| {
        T::handle().tally.add(held(&value));
        Box::into_raw(Box::new(value)).cast()
    })
}

unsafe extern "C" fn rdb_load<T: Value>(io: *mut RawIo, version: c_int) -> *mut c_void {
    guarded(ptr::null_mut(), || given(T::load(&mut Io::new(io), version)))
}

unsafe extern "C" fn rdb_save<T: Value>(io: *mut RawIo, value: *mut c_void) {
    // SAFETY: values of the type are made by `set` and `rdb_load`; as in all callbacks below.
    guarded((), || unsafe { &*value.cast::<T>() }.save(&mut Io::new(io)));
}

unsafe extern "C" fn aof_rewrite<T: Value>(io: *mut RawIo, key: *mut RawString, value: *mut c_void) {
    guarded((), || {
        let Some(key) = NonNull::new(key) else { return };
        let mut file = Rewrite { raw: io, key: Str { raw: key, call: PhantomData } };
        // SAFETY: see above.
        unsafe { &*value.cast::<T>() }.rewrite(&mut file);
    });
}

unsafe extern "C" fn mem_usage<T: Value>(value: *const c_void) -> usize {
    guarded(0, || {
        // With the engine's object and its note of type and value, two pointers each, which it does not count itself.
        let mut sum = taken_for(size_of::<T>()) + 2 * taken_for(2 * size_of::<usize>());
        // SAFETY: see above.
        unsafe { &*value.cast::<T>() }.parts(&mut |bytes| sum += taken_for(bytes));
        sum
    })
}

/// What the engine's allocator takes for this many bytes: it rounds them up, by rules of its own.
/// So memory is taken, asked for its size, and given back; it is not touched.
fn taken_for(bytes: usize) -> usize {
    let (Some(size_of), true) = (api().MallocSize, bytes > 0) else { return bytes };
    match allocate(bytes, false) {
        // SAFETY: the memory came from the engine just now, and nobody else has it.
        Ok(Some(memory)) => unsafe {
            let size = size_of(memory.as_ptr().cast());
            release(memory.as_ptr());
            size.max(bytes)
        },
        _ => bytes,
    }
}

unsafe extern "C" fn digest<T: Value>(digest: *mut RawDigest, value: *mut c_void) {
    guarded((), || {
        // SAFETY: see above.
        unsafe { &*value.cast::<T>() }.digest(&mut DigestOf { raw: digest, call: PhantomData });
        // SAFETY: the digest is that of the call.
        unsafe { (api().DigestEndSequence)(digest) };
    });
}

unsafe extern "C" fn free<T: Value>(value: *mut c_void) {
    guarded((), || {
        // SAFETY: see above; the engine frees a value once. It may do so in another thread, which `Value: Send` allows.
        let value = unsafe { Box::from_raw(value.cast::<T>()) };
        T::handle().tally.remove(held(&*value));
    });
}

unsafe extern "C" fn free_effort<T: Value>(_key: *mut RawString, value: *const c_void) -> usize {
    // SAFETY: see above.
    guarded(1, || unsafe { &*value.cast::<T>() }.free_effort())
}

unsafe extern "C" fn copy<T: Value>(
    _from: *mut RawString,
    _to: *mut RawString,
    value: *const c_void,
) -> *mut c_void {
    // SAFETY: see above.
    guarded(ptr::null_mut(), || given(unsafe { &*value.cast::<T>() }.copy()))
}

/// Memory up to this size lies in slabs with other memory, and can keep a whole slab from being
/// given back; larger memory is the allocator's by itself. That of jemalloc, which is the only one
/// that engines defragment with.
const SLAB_MEMORY: usize = 14 << 10;

/// The defragmentation under way, in which new memory is offered to the engine to be put elsewhere.
static DEFRAG: AtomicPtr<RawDefrag> = AtomicPtr::new(ptr::null_mut());

/// Where the engine would rather have memory that was just taken; the same address if it is good
/// there.
#[inline]
fn placed(memory: NonNull<u8>) -> NonNull<u8> {
    let defrag = DEFRAG.load(Ordering::Relaxed);
    if defrag.is_null() {
        return memory;
    }
    // SAFETY: the memory came from the engine just now and nobody has seen its address; the engine frees the old place itself.
    let moved =
        api().DefragAlloc.and_then(|offer| NonNull::new(unsafe { offer(defrag, memory.as_ptr().cast()) }));
    moved.map_or(memory, NonNull::cast)
}

/// Moves the value where the engine has a better place for it, and so what it holds. The arrays of
/// a filter are the library's, which does not tell where they lie: a small value is copied, into
/// memory of the engine's choice, and the copy takes its place.
unsafe extern "C" fn defrag<T: Value>(
    ctx: *mut RawDefrag,
    _key: *mut RawString,
    value: *mut *mut c_void,
) -> c_int {
    let Some(offer) = api().DefragAlloc else { return 0 };
    guarded((), || {
        // SAFETY: a box of alignment 8 or less is memory of the engine as it was given (see `alloc.rs`), and moving the
        // bytes of a value moves it. The engine frees the old place itself, and nobody else has the value.
        let value = unsafe {
            if align_of::<T>() <= super::alloc::ALIGNED
                && let Some(moved) = NonNull::new(offer(ctx, *value))
            {
                *value = moved.as_ptr();
            }
            &mut *(*value).cast::<T>()
        };
        let before = value.memory();
        if before > SLAB_MEMORY {
            return;
        }
        DEFRAG.store(ctx, Ordering::Relaxed);
        let copy = guarded(None, || value.copy());
        DEFRAG.store(ptr::null_mut(), Ordering::Relaxed);
        if let Some(copy) = copy {
            *value = copy;
            T::handle().tally.resized(before, value.memory());
        }
    });
    0
}

/// What the engine calls for a command: the one place where errors and panics become replies.
unsafe extern "C" fn trampoline<C: Command>(
    ctx: *mut RawCtx,
    argv: *mut *mut RawString,
    argc: c_int,
) -> c_int {
    let due = Cell::new(1);
    let ctx = Ctx::new(ctx, &due);
    // SAFETY: the engine gives so many strings, none null, for the call; `Str` is one pointer.
    let args = unsafe { slice::from_raw_parts(argv.cast::<Str<'_>>(), argc as usize) };
    if let Some(sources) = C::SOURCES
        && guarded(true, || ctx.tells_keys(args.len(), || sources(args)))
    {
        return OK; // it was a question about keys, which has no client
    }
    // The only `Keys` of the call. Other calls can begin inside this one, but only in methods that borrow it.
    let run = || C::run(&Context::new(ctx, args), &mut Keys { ctx });
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Err(Failure::Arity)) => ctx.reply_wrong_arity(),
        Ok(Err(Failure::Text(text))) => ctx.reply_rest(text),
        Ok(Ok(())) | Err(_) => {}
    }
    if due.get() > 0 {
        log(Level::Warning, &format!("{} ended before its reply", C::NAME.to_string_lossy()));
        ctx.reply_rest(c"ERR internal error: see the server's log");
    }
    OK
}

/// All categories of a command: its own, and those that follow from its flags, which engines do not
/// add themselves.
fn categories<C: Command>() -> Result<CString, NulError> {
    let has = |flag: &str| C::FLAGS.to_string_lossy().split(' ').any(|one| one == flag);
    let access = if has("write") { "write" } else { "read" };
    let speed = if has("fast") { "fast" } else { "slow" };
    CString::new(format!("{} {access} {speed}", C::CATEGORIES.to_string_lossy()))
}

/// The module while it is loaded.
pub struct Loading<'a> {
    ctx: Ctx<'a>,
}

impl Loading<'_> {
    /// Registers a data type.
    pub fn add_type<T: Value>(&self) -> Result<(), &'static str> {
        let methods = Methods {
            version: METHODS_VERSION,
            rdb_load: rdb_load::<T>,
            rdb_save: rdb_save::<T>,
            aof_rewrite: aof_rewrite::<T>,
            mem_usage: mem_usage::<T>,
            digest: digest::<T>,
            free: free::<T>,
            aux_load: None,
            aux_save: None,
            aux_save_triggers: 0,
            free_effort: free_effort::<T>,
            unlink: None,
            copy: copy::<T>,
            defrag: Some(defrag::<T>),
        };
        let (ctx, api) = (self.ctx.raw, self.ctx.api);
        // SAFETY: the engine copies the methods and the name.
        let kind = unsafe { (api.CreateDataType)(ctx, T::NAME.as_ptr(), T::VERSION, &raw const methods) };
        // Only a type that was registered: the values of one that was registered before are still there.
        if kind.is_null() {
            return Err("a data type is taken by another module");
        }
        T::handle().kind.store(kind, Ordering::Relaxed);
        stats::add_type(T::NAME, &T::handle().tally);
        Ok(())
    }

    /// Registers a category for access control, where the engine has them for modules.
    pub fn add_category(&self, name: &CStr) {
        if let Some(add) = self.ctx.api.AddACLCategory {
            // SAFETY: the context is that of the call. It fails if there is such a category already, which will do.
            unsafe { add(self.ctx.raw, name.as_ptr()) };
        }
    }

    /// Registers a command of one key, its first argument.
    pub fn add_command<C: Command>(&self) -> Result<(), &'static str> {
        let (ctx, api) = (self.ctx.raw, self.ctx.api);
        let (first, last, step) = C::KEYS;
        // SAFETY: the context is that of the call, and names and flags are copied.
        unsafe {
            let run = trampoline::<C>;
            if (api.CreateCommand)(ctx, C::NAME.as_ptr(), run, C::FLAGS.as_ptr(), first, last, step) != OK {
                return Err("a command is taken by another module");
            }
            if let (Some(get), Some(set)) = (api.GetCommand, api.SetCommandACLCategories) {
                let command = get(ctx, C::NAME.as_ptr());
                if let (false, Ok(categories)) = (command.is_null(), categories::<C>()) {
                    set(command, categories.as_ptr());
                }
            }
        }
        self.describe::<C>();
        Ok(())
    }

    /// Registers a whole number that CONFIG can set.
    pub fn add_number<N: Setting<i64>>(&self, memory: bool) -> Result<(), &'static str> {
        const MEMORY: c_uint = 1 << 7;
        unsafe extern "C" fn get<N: Setting<i64>>(_: *const c_char, _: *mut c_void) -> c_longlong {
            N::get()
        }
        unsafe extern "C" fn set<N: Setting<i64>>(
            _: *const c_char,
            value: c_longlong,
            _: *mut c_void,
            _: *mut *mut RawString,
        ) -> c_int {
            if N::set(value) { OK } else { ERR }
        }
        let Some(register) = self.ctx.api.RegisterNumericConfig else { return Ok(()) };
        let flags = if memory { MEMORY } else { 0 };
        let (least, most) = N::RANGE;
        // SAFETY: the context is that of the call, and the name is copied.
        let status = unsafe {
            register(
                self.ctx.raw,
                N::NAME.as_ptr(),
                N::get(),
                flags,
                least,
                most,
                get::<N>,
                set::<N>,
                None,
                ptr::null_mut(),
            )
        };
        if status == OK { Ok(()) } else { Err("a setting was refused") }
    }

    /// Registers a number that is not whole, which CONFIG sets as text.
    pub fn add_rate<N: Setting<f64>>(&self, default: &CStr) -> Result<(), &'static str> {
        /// The string that was given last: the engine does not take it over.
        static LAST: AtomicPtr<RawString> = AtomicPtr::new(ptr::null_mut());
        unsafe extern "C" fn get<N: Setting<f64>>(_: *const c_char, _: *mut c_void) -> *mut RawString {
            let text = N::get().to_string();
            // SAFETY: a string without a context belongs to us; the one before it is no longer used.
            unsafe {
                let new = (api().CreateString)(ptr::null_mut(), text.as_ptr().cast(), text.len());
                let old = LAST.swap(new, Ordering::Relaxed);
                if !old.is_null() {
                    (api().FreeString)(ptr::null_mut(), old);
                }
                new
            }
        }
        unsafe extern "C" fn set<N: Setting<f64>>(
            _: *const c_char,
            value: *mut RawString,
            _: *mut c_void,
            _: *mut *mut RawString,
        ) -> c_int {
            let Some(raw) = NonNull::new(value) else { return ERR };
            let text = Str { raw, call: PhantomData };
            let value = str::from_utf8(text.bytes()).ok().and_then(|text| text.parse().ok());
            if value.is_some_and(N::set) { OK } else { ERR }
        }
        let Some(register) = self.ctx.api.RegisterStringConfig else { return Ok(()) };
        let name = N::NAME.as_ptr();
        // SAFETY: the context is that of the call, and names and defaults are copied.
        let status = unsafe {
            register(self.ctx.raw, name, default.as_ptr(), 0, get::<N>, set::<N>, None, ptr::null_mut())
        };
        if status == OK { Ok(()) } else { Err("a setting was refused") }
    }

    /// Takes settings from the engine's configuration file, once all are registered.
    pub fn load_settings(&self) -> Result<(), &'static str> {
        match self.ctx.api.LoadConfigs {
            // SAFETY: the context is that of the call.
            Some(load) if unsafe { load(self.ctx.raw) } != OK => Err("a setting has a value that cannot be"),
            _ => Ok(()),
        }
    }
}

/// Something that happens to the server, and the version of the data about it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    id: u64,
    version: u64,
}

/// What the engine calls when something happens.
type OnEvent = unsafe extern "C" fn(*mut RawCtx, Event, u64, *mut c_void);

impl Loading<'_> {
    /// Calls `look` before the data of the server are given up for those of its primary.
    pub fn before_synchronisation<L: Look>(&self) {
        const FLUSH: Event = Event { id: 2, version: 1 };
        unsafe extern "C" fn flush<L: Look>(ctx: *mut RawCtx, _: Event, end: u64, _: *mut c_void) {
            // SAFETY: the context is that of the call.
            let transferring = unsafe { (api().GetContextFlags)(ctx) } & TRANSFERRING != 0;
            // SAFETY: as above. The reply is never freed: the server ends.
            let save = || _ = unsafe { (api().Call)(ctx, c"SAVE".as_ptr(), c"".as_ptr()) };
            if end == 0 && transferring {
                guarded((), || L::look(save));
            }
        }
        if let Some(subscribe) = self.ctx.api.SubscribeToServerEvent {
            // SAFETY: the context is that of the call.
            unsafe { subscribe(self.ctx.raw, FLUSH, flush::<L>) };
        }
    }
}

/// What is done before a synchronisation.
pub trait Look {
    /// Does it; `save` writes what the server has into its own file.
    fn look(save: impl FnOnce());
}

/// A setting of the module.
pub trait Setting<T> {
    /// Its name, which the engine puts behind the module's.
    const NAME: &'static CStr;
    /// The least and the most.
    const RANGE: (T, T);
    /// Its value.
    fn get() -> T;
    /// Changes it; false if that cannot be.
    fn set(value: T) -> bool;
}

/// What the module is called, and its version.
pub struct Module {
    /// Name, by which clients find it.
    pub name: &'static CStr,
    /// Version: major·10000 + minor·100 + patch.
    pub version: i32,
    /// Registers everything.
    pub load: fn(&Loading<'_>, &[Str<'_>]) -> Result<(), &'static str>,
}

/// Loads the module: the engine's status.
///
/// # Safety
/// For the engine alone, with the arguments that it gives.
pub unsafe fn load(module: &Module, ctx: *mut RawCtx, argv: *mut *mut RawString, argc: c_int) -> c_int {
    const API_VERSION: c_int = 1;
    /// Broken payloads are our affair: without this the engine ends at the first.
    const HANDLE_IO_ERRORS: c_int = 1;
    /// Only what changed a key tells so.
    const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 2;
    /// Values of two databases may be there at once, since they share nothing.
    const HANDLE_REPL_ASYNC_LOAD: c_int = 4;
    /// Valkey's: a slot is moved by the commands that rewrite a file, and by those that are passed
    /// on, which is exact.
    const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 32;
    // SAFETY: by the caller's promise. Nothing was allocated before, so that all memory comes from the engine.
    let Ok(found) = (unsafe { Api::find(ctx) }) else { return ERR };
    let api = API.get_or_init(|| found);
    // A file that is loaded twice has one set of statics, which serve the module that is there: nothing may change them.
    // SAFETY: the name ends in a zero byte.
    if api.IsModuleNameBusy.is_some_and(|is_busy| unsafe { is_busy(module.name.as_ptr()) } != 0) {
        log(
            Level::Warning,
            "not loaded: a module with this name is loaded already. hint: restart the server to replace it",
        );
        return ERR;
    }
    // The library may have been built with its memory maps for another program of the workspace.
    gardenia::cells::use_allocator_alone();
    let due = Cell::new(0);
    let loading = Loading { ctx: Ctx::new(ctx, &due) };
    let mut options = HANDLE_IO_ERRORS | NO_IMPLICIT_SIGNAL_MODIFIED | HANDLE_REPL_ASYNC_LOAD;
    // SAFETY: by the caller's promise.
    if unsafe { look(ctx, c"ValkeyModule_Alloc") }.is_some() {
        options |= HANDLE_ATOMIC_SLOT_MIGRATION;
    }
    // SAFETY: the context is that of the call; so many strings are given.
    let args = unsafe {
        (api.SetModuleAttribs)(ctx, module.name.as_ptr(), module.version, API_VERSION);
        (api.SetModuleOptions)(ctx, options);
        if argc > 0 { slice::from_raw_parts(argv.cast::<Str<'_>>(), argc as usize) } else { &[] }
    };
    let result = guarded(Err("it panicked"), || {
        std::panic::set_hook(Box::new(|panic| log(Level::Warning, &panic.to_string())));
        (module.load)(&loading, args)
    });
    match result {
        Ok(()) => {
            log(Level::Notice, &format!("Gardenia {} is loaded (build {})", crate::VERSION, crate::BUILD));
            OK
        }
        Err(why) => {
            log(Level::Warning, &format!("not loaded: {why}"));
            ERR
        }
    }
}
