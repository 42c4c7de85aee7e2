//! An engine of a few functions that does what real ones do seldom: panics inside a command, memory
//! that is aligned to 8 bytes only, no memory at all, and functions that are missing.
//!
//! A process loads the module once, so the test runs itself again for engines that cannot resize
//! memory, or only without reporting a failure.
#![allow(unsafe_code)] // it plays the engine
#![allow(missing_docs)]

use gardenia_redis::commands;
use gardenia_redis::engine::context::{Command, Context, Failure};
use gardenia_redis::engine::ffi::{self, Keys, Loading, Module, RawCtx, RawString};
use gardenia_redis::redisbloom::count_min::{CountMinTable, WeightedSum};
use gardenia_redis::redisbloom::layout::LayoutError;
use gardenia_redis::values::any::Any;
use gardenia_redis::values::bloom::{Bloom, BloomPlan, Refused};
use gardenia_redis::values::count_min::{Counts, NotMade, NotMerged, add_weighted, by_dim};
use gardenia_redis::values::top_k::TopK;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_longlong, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize};

static MISSING: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
/// What the client was sent, in RESP2.
static SENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static COMMANDS: Mutex<BTreeMap<CString, Run>> = Mutex::new(BTreeMap::new());
static VALUES: Mutex<BTreeMap<Vec<u8>, Stored>> = Mutex::new(BTreeMap::new());
/// How many keys are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);
static ASKS_FOR_KEYS: AtomicI32 = AtomicI32::new(0);
static OPTIONS: AtomicI32 = AtomicI32::new(0);
/// The largest memory that is given.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes that are given and not taken back.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
/// How often the engine was asked to resize memory.
static RESIZED: AtomicUsize = AtomicUsize::new(0);
/// How often memory was put elsewhere.
static MOVED: AtomicUsize = AtomicUsize::new(0);
/// How many of [`LATER`] this engine does not have.
static WITHOUT: AtomicUsize = AtomicUsize::new(0);

/// Functions that engines got one after the other, the last one first: Redis 7.4 and 7.0.
const LATER: [&[u8]; 2] = [b"RedisModule_TryRealloc", b"RedisModule_TryAlloc"];
/// The environment variable that says how many of them are missing.
const VARIABLE: &str = "GARDENIA_FAKE_ENGINE_WITHOUT";

type Run = unsafe extern "C" fn(*mut RawCtx, *mut *mut RawString, c_int) -> c_int;

/// A value under a key: its type, as [`create_type`] returned it, and its address.
#[derive(Clone, Copy)]
struct Stored {
    kind: usize,
    value: usize,
}

/// Size and a mark stand before the memory that is given.
const BEFORE: usize = 24;
const MARK: usize = 0x6a72_6465_6e69_6121;

/// Memory as an engine gives it that puts a length before it: at 8 bytes behind a multiple of 16.
unsafe extern "C" fn try_alloc(size: usize) -> *mut c_void {
    if size > MOST.load(Relaxed) {
        return ptr::null_mut();
    }
    let layout = Layout::from_size_align(size + BEFORE, 16).unwrap();
    // SAFETY: the layout is not empty.
    unsafe {
        let start = System.alloc(layout);
        if start.is_null() {
            return ptr::null_mut();
        }
        start.add(8).cast::<[usize; 2]>().write([size, MARK]);
        GIVEN.fetch_add(size, Relaxed);
        start.add(BEFORE).cast()
    }
}

unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: so many bytes are given, if any.
    unsafe {
        let memory = try_alloc(count * size);
        if !memory.is_null() {
            memory.write_bytes(0, count * size);
        }
        memory
    }
}

unsafe extern "C" fn free(memory: *mut c_void) {
    // SAFETY: it came from `try_alloc`; or from the system, before the module was loaded, and is left where it is: that
    // has a word before it, too.
    unsafe {
        let words = memory.cast::<usize>();
        if words.sub(1).read() == MARK {
            let size = words.sub(2).read();
            GIVEN.fetch_sub(size, Relaxed);
            words.sub(1).write(0);
            let layout = Layout::from_size_align(size + BEFORE, 16).unwrap();
            System.dealloc(memory.cast::<u8>().sub(BEFORE), layout);
        }
    }
}

unsafe extern "C" fn try_realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    RESIZED.fetch_add(1, Relaxed);
    // SAFETY: the memory came from `try_alloc`, which the mark shows, and the smaller of both sizes is in both.
    unsafe {
        let words = memory.cast::<usize>();
        assert_eq!(words.sub(1).read(), MARK, "only memory of the engine is resized");
        let old = words.sub(2).read();
        let moved = try_alloc(size);
        if !moved.is_null() {
            moved.cast::<u8>().copy_from_nonoverlapping(memory.cast(), old.min(size));
            free(memory);
        }
        moved
    }
}

/// Puts everything elsewhere that it is offered.
unsafe extern "C" fn defrag_alloc(_: *mut c_void, memory: *mut c_void) -> *mut c_void {
    MOVED.fetch_add(1, Relaxed);
    // SAFETY: the memory came from `try_alloc`, which the mark shows, and the new one is as large.
    unsafe {
        let words = memory.cast::<usize>();
        assert_eq!(words.sub(1).read(), MARK, "only memory of the engine is offered");
        let size = words.sub(2).read();
        let moved = try_alloc(size);
        moved.cast::<u8>().copy_from_nonoverlapping(memory.cast(), size);
        memory.write_bytes(0xaa, size);
        free(memory);
        moved
    }
}

unsafe extern "C" fn set_options(_: *mut RawCtx, options: c_int) {
    OPTIONS.store(options, Relaxed);
}

unsafe extern "C" fn is_keys_position_request(_: *mut RawCtx) -> c_int {
    ASKS_FOR_KEYS.load(Relaxed)
}

unsafe extern "C" fn create_command(
    _: *mut RawCtx,
    name: *const c_char,
    run: Run,
    _: *const c_char,
    _: c_int,
    _: c_int,
    _: c_int,
) -> c_int {
    // SAFETY: names end in a zero byte.
    let name = unsafe { CStr::from_ptr(name) }.to_owned();
    COMMANDS.lock().unwrap().insert(name, run);
    0
}

/// A type is its callbacks, which are kept.
unsafe extern "C" fn create_type(
    _: *mut RawCtx,
    _: *const c_char,
    _: c_int,
    methods: *const [usize; 14],
) -> *mut c_void {
    // SAFETY: the module gives a version and thirteen callbacks.
    Box::into_raw(Box::new(unsafe { methods.read() })).cast()
}

/// Calls the callback that frees a value.
fn free_value(Stored { kind, value }: Stored) {
    // SAFETY: the type is one of `create_type`, and its seventh word is the callback that frees a value.
    unsafe {
        let methods = *ptr::with_exposed_provenance::<[usize; 14]>(kind);
        let free: unsafe extern "C" fn(*mut c_void) =
            std::mem::transmute(ptr::with_exposed_provenance::<()>(methods[6]));
        free(ptr::with_exposed_provenance_mut(value));
    }
}

/// A string is its bytes.
unsafe extern "C" fn create_string(_: *mut RawCtx, bytes: *const u8, len: usize) -> *mut Vec<u8> {
    // SAFETY: so many bytes are given.
    Box::into_raw(Box::new(unsafe { std::slice::from_raw_parts(bytes, len) }.to_vec()))
}

unsafe extern "C" fn free_string(_: *mut RawCtx, string: *mut Vec<u8>) {
    // SAFETY: it came from `create_string`.
    drop(unsafe { Box::from_raw(string) });
}

unsafe extern "C" fn string_bytes(string: *const Vec<u8>, len: *mut usize) -> *const u8 {
    // SAFETY: the string is one of `create_string`, and there is room for its length.
    unsafe {
        *len = (*string).len();
        (*string).as_ptr()
    }
}

/// An open key is its name. One is open at a time: the next may have the same name.
unsafe extern "C" fn open_key(_: *mut RawCtx, name: *const Vec<u8>, mode: c_int) -> *mut Vec<u8> {
    // SAFETY: the string is one of `create_string`.
    let name = unsafe { (*name).clone() };
    if mode == 1 && !VALUES.lock().unwrap().contains_key(&name) {
        return ptr::null_mut();
    }
    assert_eq!(OPEN.fetch_add(1, Relaxed), 0, "a second key is open");
    Box::into_raw(Box::new(name))
}

unsafe extern "C" fn close_key(key: *mut Vec<u8>) {
    OPEN.fetch_sub(1, Relaxed);
    // SAFETY: it came from `open_key`.
    drop(unsafe { Box::from_raw(key) });
}

/// What is stored under an open key.
fn stored(key: *const Vec<u8>) -> Option<Stored> {
    // SAFETY: the key came from `open_key`.
    VALUES.lock().unwrap().get(unsafe { &*key }).copied()
}

unsafe extern "C" fn key_type(key: *mut Vec<u8>) -> c_int {
    const MODULE: c_int = 6;
    stored(key).map_or(0, |_| MODULE)
}

unsafe extern "C" fn get_type(key: *mut Vec<u8>) -> *mut c_void {
    stored(key).map_or(ptr::null_mut(), |stored| ptr::with_exposed_provenance_mut(stored.kind))
}

unsafe extern "C" fn get_value(key: *mut Vec<u8>) -> *mut c_void {
    stored(key).map_or(ptr::null_mut(), |stored| ptr::with_exposed_provenance_mut(stored.value))
}

unsafe extern "C" fn set_value(key: *mut Vec<u8>, kind: *mut c_void, value: *mut c_void) -> c_int {
    let stored = Stored { kind: kind.expose_provenance(), value: value.expose_provenance() };
    // SAFETY: the key came from `open_key`.
    let before = VALUES.lock().unwrap().insert(unsafe { (*key).clone() }, stored);
    before.into_iter().for_each(free_value);
    0
}

/// Others may use the key that they hear of.
unsafe extern "C" fn notify(_: *mut RawCtx, _: c_int, _: *const c_char, _: *mut RawString) -> c_int {
    assert_eq!(OPEN.load(Relaxed), 0, "a key is open while others are called");
    0
}

fn send(reply: &str) -> c_int {
    SENT.lock().unwrap().extend_from_slice(reply.as_bytes());
    0
}

unsafe extern "C" fn reply_with_error(_: *mut RawCtx, text: *const c_char) -> c_int {
    // SAFETY: texts end in a zero byte.
    send(&format!("-{}\r\n", unsafe { CStr::from_ptr(text) }.to_str().unwrap()))
}

unsafe extern "C" fn reply_with_status(_: *mut RawCtx, text: *const c_char) -> c_int {
    // SAFETY: as above.
    send(&format!("+{}\r\n", unsafe { CStr::from_ptr(text) }.to_str().unwrap()))
}

unsafe extern "C" fn reply_with_number(_: *mut RawCtx, number: c_longlong) -> c_int {
    send(&format!(":{number}\r\n"))
}

unsafe extern "C" fn reply_with_bool(_: *mut RawCtx, truth: c_int) -> c_int {
    send(&format!(":{truth}\r\n"))
}

unsafe extern "C" fn reply_with_array(_: *mut RawCtx, len: c_long) -> c_int {
    send(&format!("*{len}\r\n"))
}

unsafe extern "C" fn reply_with_map(_: *mut RawCtx, pairs: c_long) -> c_int {
    send(&format!("*{}\r\n", 2 * pairs))
}

/// Stands for all functions that only have to be there.
unsafe extern "C" fn nothing() -> c_int {
    0
}

/// The function that finds others.
unsafe extern "C" fn get_api(name: *const c_char, found: *mut *mut c_void) -> c_int {
    // SAFETY: names end in a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let missing = MISSING.load(Relaxed);
    // SAFETY: as above.
    if !missing.is_null() && unsafe { CStr::from_ptr(missing) } == name {
        return 1;
    }
    let function = match name.to_bytes() {
        name if LATER[..WITHOUT.load(Relaxed)].contains(&name) => return 1,
        b"RedisModule_TryAlloc" | b"RedisModule_Alloc" => try_alloc as *mut c_void,
        b"RedisModule_TryRealloc" | b"RedisModule_Realloc" => try_realloc as *mut c_void,
        b"RedisModule_DefragAlloc" => defrag_alloc as *mut c_void,
        b"RedisModule_Calloc" => calloc as *mut c_void,
        b"RedisModule_Free" => free as *mut c_void,
        b"RedisModule_SetModuleOptions" => set_options as *mut c_void,
        b"RedisModule_IsKeysPositionRequest" => is_keys_position_request as *mut c_void,
        b"RedisModule_CreateCommand" => create_command as *mut c_void,
        b"RedisModule_CreateDataType" => create_type as *mut c_void,
        b"RedisModule_CreateString" => create_string as *mut c_void,
        b"RedisModule_FreeString" => free_string as *mut c_void,
        b"RedisModule_StringPtrLen" => string_bytes as *mut c_void,
        b"RedisModule_OpenKey" => open_key as *mut c_void,
        b"RedisModule_CloseKey" => close_key as *mut c_void,
        b"RedisModule_KeyType" => key_type as *mut c_void,
        b"RedisModule_ModuleTypeGetType" => get_type as *mut c_void,
        b"RedisModule_ModuleTypeGetValue" => get_value as *mut c_void,
        b"RedisModule_ModuleTypeSetValue" => set_value as *mut c_void,
        b"RedisModule_NotifyKeyspaceEvent" => notify as *mut c_void,
        b"RedisModule_ReplyWithError" => reply_with_error as *mut c_void,
        b"RedisModule_ReplyWithSimpleString" => reply_with_status as *mut c_void,
        b"RedisModule_ReplyWithLongLong" => reply_with_number as *mut c_void,
        b"RedisModule_ReplyWithBool" => reply_with_bool as *mut c_void,
        b"RedisModule_ReplyWithArray" => reply_with_array as *mut c_void,
        b"RedisModule_ReplyWithMap" => reply_with_map as *mut c_void,
        b"RedisModule_TryCalloc" | b"RedisModule_GetCommand" | b"RedisModule_RegisterNumericConfig" => {
            return 1;
        }
        _ => nothing as *mut c_void,
    };
    // SAFETY: the module gives room for one pointer.
    unsafe { *found = function };
    0
}

/// Ends as its second argument says, at the place that its first one says.
struct Replies;

impl Command for Replies {
    const NAME: &'static CStr = c"replies";
    const FLAGS: &'static CStr = c"readonly";
    const CATEGORIES: &'static CStr = c"bloom";
    fn run(ctx: &Context<'_>, _: &mut Keys<'_>) -> Result<(), Failure> {
        let [_, place, end] = ctx.args() else { return Err(Failure::Arity) };
        let engine = ctx.engine();
        match place.bytes() {
            b"before" => {}
            b"array" => {
                engine.reply_array(3);
                engine.reply_bool(true);
            }
            b"map" => {
                engine.reply_map(2);
                engine.reply_status(c"numbers");
                engine.reply_array(2);
                engine.reply_integer(7);
            }
            _ => engine.reply_array(0),
        }
        match end.bytes() {
            b"panic" => panic!("as a test"),
            b"error" => Err(c"ERR as a test".into()),
            b"more" => {
                (0..9).for_each(|number| engine.reply_integer(number));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The first word of a context is the function that finds others.
fn with_context<R>(work: impl FnOnce(*mut RawCtx) -> R) -> R {
    let mut context = [get_api as *mut c_void];
    work(context.as_mut_ptr().cast())
}

/// Runs a command, of words between spaces, and returns what its client is sent.
fn run(line: &str) -> String {
    let words = line.split(' ');
    // SAFETY: the bytes are there.
    let words = words.map(|word| unsafe { create_string(ptr::null_mut(), word.as_ptr(), word.len()) });
    let words: Vec<_> = words.collect();
    let name = CString::new(line.split(' ').next().unwrap()).unwrap();
    let command = COMMANDS.lock().unwrap()[&name];
    // SAFETY: it is a function that the module registered, and the strings live for the call.
    let status =
        with_context(|ctx| unsafe { command(ctx, words.as_ptr().cast_mut().cast(), words.len() as c_int) });
    assert_eq!((status, OPEN.load(Relaxed)), (0, 0), "{line}");
    // SAFETY: they were created above.
    words.into_iter().for_each(|word| unsafe { free_string(ptr::null_mut(), word) });
    String::from_utf8(std::mem::take(&mut *SENT.lock().unwrap())).unwrap()
}

/// However a command ends, its client gets one reply: as many elements as were announced, and
/// nothing behind them.
fn a_reply_is_complete_however_a_command_ends() {
    let cases = [
        ("before", "", 1),
        ("array", "*3\r\n:1\r\n", 2),
        ("map", "*4\r\n+numbers\r\n*2\r\n:7\r\n", 3), // the rest of the inner array, and a pair
        ("behind", "*0\r\n", 0),
    ];
    for (place, begun, due) in cases {
        let all = |error: &str| format!("{begun}{}", error.repeat(due));
        let internal = all("-ERR internal error: see the server's log\r\n");
        assert_eq!(run(&format!("replies {place} panic")), internal);
        assert_eq!(run(&format!("replies {place} nothing")), internal);
        assert_eq!(run(&format!("replies {place} error")), all("-ERR as a test\r\n"));
        let numbers: String = (0..due).map(|number| format!(":{number}\r\n")).collect();
        assert_eq!(run(&format!("replies {place} more")), format!("{begun}{numbers}"));
    }
    // A question about keys gets none.
    ASKS_FOR_KEYS.store(1, Relaxed);
    assert_eq!(run("cms.merge sketch 1 rose"), "");
    ASKS_FOR_KEYS.store(0, Relaxed);
    assert_eq!(run("cms.merge sketch 1 rose"), "-CMS: key does not exist\r\n");
}

/// A destination that is its own source, once and twice. The engine above fails if two keys are
/// open.
fn one_key_may_be_merged_with_itself() {
    let check = |command: &str, wanted: &str| assert_eq!(run(command), wanted, "{command}");
    check("cms.initbydim sketch 100 5", "+OK\r\n");
    check("cms.incrby sketch rose 3 lily 1", "*2\r\n:3\r\n:1\r\n");
    check("cms.merge sketch 2 sketch sketch", "+OK\r\n");
    check("cms.query sketch rose lily", "*2\r\n:6\r\n:2\r\n");
    check("cms.merge sketch 1 sketch weights 5", "+OK\r\n");
    check("cms.query sketch rose lily", "*2\r\n:30\r\n:10\r\n");
    check("gd.reserve filter kind counting items 100", "+OK\r\n");
    check("gd.add filter rose", "*1\r\n:1\r\n");
    check("gd.merge filter filter", "+OK\r\n");
    check("gd.count filter rose", "*1\r\n:2\r\n");
    check("gd.merge filter filter filter", "+OK\r\n");
    check("gd.count filter rose", "*1\r\n:6\r\n");
    // A source that cannot be merged changes nothing, wherever it stands.
    check(
        "gd.merge filter filter sketch",
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
    );
    check("gd.count filter rose", "*1\r\n:6\r\n");
    // A new key is a copy of the first source, and takes in the others.
    check("gd.merge new filter filter", "+OK\r\n");
    check("gd.count new rose", "*1\r\n:12\r\n");
}

/// Memory that is resized is aligned, holds the bytes that it held, and is resized by the engine
/// wherever that is safe.
fn resized_memory_is_the_engines() {
    let before = GIVEN.load(Relaxed);
    // An engine that reports missing memory when it allocates has to do so when it resizes.
    let can_resize = WITHOUT.load(Relaxed) != 1;
    for align in [1, 8, 16, 64, 4096] {
        for (size, new) in [(1, 100_000), (100, 101), (100, 100), (100_000, 8)] {
            let layout = Layout::from_size_align(size, align).unwrap();
            let what = format!("{layout:?} to {new}");
            let resized = RESIZED.load(Relaxed);
            // SAFETY: the layouts are not empty, and the memory is used as long as it is there.
            unsafe {
                let memory = std::alloc::alloc(layout);
                (0..size).for_each(|at| memory.add(at).write(at as u8));
                MOST.store(0, Relaxed);
                let refused = std::alloc::realloc(memory, layout, new).is_null();
                MOST.store(usize::MAX, Relaxed);
                assert!(refused, "{what}");
                let moved = std::alloc::realloc(memory, layout, new);
                assert!(!moved.is_null() && moved.addr().is_multiple_of(align), "{what}");
                assert!((0..size.min(new)).all(|at| moved.add(at).read() == at as u8), "{what}");
                assert!(GIVEN.load(Relaxed) >= before + new, "{what}");
                std::alloc::dealloc(moved, Layout::from_size_align(new, align).unwrap());
            }
            let times = if align <= 8 && can_resize { 2 } else { 0 };
            assert_eq!(RESIZED.load(Relaxed) - resized, times, "{what}");
        }
    }
    assert_eq!(GIVEN.load(Relaxed), before);
}

/// A value that is defragmented answers as before, its arrays lie elsewhere, and no memory is lost.
fn defragmentation_moves_a_value_and_its_arrays() {
    // More than the digests that a scalable filter keeps before it has a table.
    const MANY: &str = "gd.add grown rose 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";
    let values = [
        ("gd.reserve small kind blocked items 100", "gd.add small rose", "gd.exists small rose lily", 2),
        ("gd.reserve few kind scalable items 100", "gd.add few rose", "gd.exists few rose lily", 1),
        ("gd.reserve grown kind scalable items 100", MANY, "gd.exists grown rose lily", 3),
        ("cms.initbydim counts 50 4", "cms.incrby counts rose 3", "cms.query counts rose lily", 2),
        ("gd.reserve large kind blocked items 100000", "gd.add large rose", "gd.exists large rose lily", 1),
    ];
    for (make, add, ask, least) in values {
        assert_eq!(run(make), "+OK\r\n");
        run(add);
        let (answer, given, moved) = (run(ask), GIVEN.load(Relaxed), MOVED.load(Relaxed));
        defragment(make.split(' ').nth(1).unwrap().as_bytes());
        assert_eq!(run(ask), answer, "{make}");
        let moved = MOVED.load(Relaxed) - moved;
        assert!(if least == 1 { moved <= 1 } else { moved >= least }, "{make}: {moved}");
        // A copy may have room for more slices than its original, but only once.
        let again = GIVEN.load(Relaxed);
        assert!(again <= given + 256, "{make}: {given} {again}");
        defragment(make.split(' ').nth(1).unwrap().as_bytes());
        assert_eq!(run(ask), answer, "{make}");
        assert_eq!(GIVEN.load(Relaxed), again, "{make}");
    }
}

/// Calls the callback that defragments the value under a key.
fn defragment(name: &[u8]) {
    type Defrag = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut *mut c_void) -> c_int;
    let Stored { kind, value } = VALUES.lock().unwrap()[name];
    // SAFETY: the type is one of `create_type`, and its fourteenth word is the callback that defragments.
    let value = unsafe {
        let methods = *ptr::with_exposed_provenance::<[usize; 14]>(kind);
        let defrag: Defrag = std::mem::transmute(ptr::with_exposed_provenance::<()>(methods[13]));
        let (mut context, mut value) = (0u64, ptr::with_exposed_provenance_mut::<c_void>(value));
        assert_eq!(defrag((&raw mut context).cast(), ptr::null_mut(), &raw mut value), 0);
        value.expose_provenance()
    };
    VALUES.lock().unwrap().insert(name.to_vec(), Stored { kind, value });
}

fn main() {
    let without = std::env::var(VARIABLE).ok().and_then(|count| count.parse().ok());
    WITHOUT.store(without.unwrap_or(0), Relaxed);
    let load = |loading: &Loading<'_>, _: &[ffi::Str<'_>]| {
        loading.add_type::<Counts>()?;
        loading.add_type::<CountMinTable>()?;
        loading.add_type::<Any>()?;
        loading.add_type::<Bloom>()?;
        commands::cms::register(loading)?;
        commands::gd::register(loading)?;
        loading.add_command::<Replies>()
    };
    let module = Module { name: c"bf", version: 1, load };
    // SAFETY: the context is as an engine's.
    let load = || with_context(|context| unsafe { ffi::load(&module, context, ptr::null_mut(), 0) });

    // What is needed and missing is no reason to crash.
    MISSING.store(c"RedisModule_OpenKey".as_ptr().cast_mut(), Relaxed);
    assert_eq!(load(), 1);
    MISSING.store(ptr::null_mut(), Relaxed);
    assert_eq!(load(), 0);
    assert_eq!(OPTIONS.load(Relaxed) & 1, 1, "broken payloads are ours to handle");
    // This engine writes no log: what fails below is printed, except the panics that are meant.
    std::panic::set_hook(Box::new(|panic| match panic.payload().downcast_ref() {
        Some(&"as a test") => {}
        _ => eprintln!("{panic}"),
    }));

    a_reply_is_complete_however_a_command_ends();
    one_key_may_be_merged_with_itself();
    defragmentation_moves_a_value_and_its_arrays();

    // Memory is the engine's, aligned as asked for, zero if asked for, and all of it goes back.
    let before = GIVEN.load(Relaxed);
    for align in [1, 8, 16, 64, 4096] {
        for size in [1, 8, 100, 100_000] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the layout is not empty, and the memory is used as long as it is there.
            unsafe {
                for zeroed in [false, true] {
                    let memory =
                        if zeroed { std::alloc::alloc_zeroed(layout) } else { std::alloc::alloc(layout) };
                    assert!(!memory.is_null() && memory.addr() % align == 0, "{layout:?}");
                    assert!(GIVEN.load(Relaxed) >= before + size);
                    assert!(
                        !zeroed || std::slice::from_raw_parts(memory, size).iter().all(|&byte| byte == 0)
                    );
                    memory.write_bytes(255, size);
                    std::alloc::dealloc(memory, layout);
                }
            }
        }
    }
    assert_eq!(GIVEN.load(Relaxed), before);
    resized_memory_is_the_engines();

    // Also that of large filters, however the library was built.
    let large = BloomPlan::new(0.01, 10_000_000, 2, 7).build(u64::MAX).unwrap();
    assert!(
        GIVEN.load(Relaxed) >= before + large.filter().memory_bytes()
            && large.filter().memory_bytes() > 8 << 20
    );
    drop(large);
    assert_eq!(GIVEN.load(Relaxed), before);

    // No memory is an error, and nothing is lost by it.
    let plan = BloomPlan::new(0.01, 1_000_000, 2, 7);
    MOST.store(1 << 20, Relaxed);
    assert_eq!(plan.build(u64::MAX).err(), Some(Refused::Memory));
    assert_eq!(GIVEN.load(Relaxed), before);
    let mut filter = BloomPlan::new(0.01, 100, 2, 7).build(u64::MAX).unwrap();
    let refused = (0u64..).find_map(|item| filter.insert(&item.to_le_bytes(), || u64::MAX).err());
    assert_eq!(refused, Some(Refused::Memory));
    let items = filter.items();
    assert!(items > 100_000);
    MOST.store(usize::MAX, Relaxed);
    assert!((0u64..).any(|item| filter.insert(&item.to_le_bytes(), || u64::MAX) == Ok(true)));
    assert_eq!(filter.items(), items + 1);

    // The same for sketches and tables: an item, a sketch, a sum that there is no memory for.
    let rose = vec![7u8; 2 << 20];
    let mut top = TopK::new(2, 8, 7, 0.9, u64::MAX).unwrap();
    top.add(b"lily", 1, u64::MAX).unwrap();
    let (copy, table) = (top.try_clone().unwrap(), CountMinTable::new(1 << 17, 4, u64::MAX).unwrap());
    let (mut sum, mut sketch) =
        (by_dim(1 << 17, 4, 0, u64::MAX).unwrap(), by_dim(1 << 17, 4, 0, u64::MAX).unwrap());
    sketch.add(b"lily", 1);
    let given = GIVEN.load(Relaxed);
    MOST.store(1 << 20, Relaxed);
    assert_eq!(top.add(&rose, 9, u64::MAX), Err(LayoutError::Memory { bytes: 2 << 20 }));
    assert_eq!(top, copy);
    assert!(matches!(TopK::new(1, 1 << 20, 1, 0.9, u64::MAX), Err(LayoutError::Memory { .. })));
    assert!(matches!(TopK::new(1 << 20, 1, 1, 0.9, u64::MAX), Err(LayoutError::Memory { .. })));
    assert_eq!(by_dim(1 << 18, 4, 0, u64::MAX).err(), Some(NotMade::Memory));
    assert!(table.try_clone().is_err() && WeightedSum::like(&table).is_err());
    assert_eq!(add_weighted(&mut sum, &sketch, 3), Err(NotMerged::Memory));
    assert_eq!(GIVEN.load(Relaxed), given);
    MOST.store(usize::MAX, Relaxed);
    assert_eq!(top.add(&rose, 9, u64::MAX), Ok(None));
    assert_eq!(add_weighted(&mut sum, &sketch, 3), Ok(()));

    if without.is_none() {
        for count in 1..=LATER.len() {
            let this = std::env::current_exe().unwrap();
            let status = std::process::Command::new(this).env(VARIABLE, count.to_string()).status();
            assert!(status.unwrap().success(), "without {count} functions");
        }
    }
}
