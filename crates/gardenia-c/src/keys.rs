//! Batches of keys as C programs have them, and their digests.

use crate::handle::slice;
use crate::status::Failure;
use gardenia::{Digest, KeyHasher};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Layout of `gardenia_keys`: integers of 64 bits. `data` points to `uint64_t`.
pub const GARDENIA_KEYS_U64: u32 = 0;
/// Layout of `gardenia_keys`: digests that `gardenia_digest` returned. `data` points to `uint64_t`.
pub const GARDENIA_KEYS_DIGESTS: u32 = 1;
/// Layout of `gardenia_keys`: separate byte strings. `data` points to `const void *`, `extents` to their lengths as `size_t`.
pub const GARDENIA_KEYS_POINTERS: u32 = 2;
/// Layout of `gardenia_keys`: byte strings one after another, as in Arrow. `data` points to the bytes, `extents` to
/// `count + 1` offsets as `int32_t`.
pub const GARDENIA_KEYS_OFFSETS32: u32 = 3;
/// Layout of `gardenia_keys`: as `GARDENIA_KEYS_OFFSETS32`, with offsets as `int64_t`.
pub const GARDENIA_KEYS_OFFSETS64: u32 = 4;

/// Many keys. The functions `gardenia_keys_…` fill it in; it owns nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the names of C")]
pub struct gardenia_keys {
    /// One of `GARDENIA_KEYS_…`.
    pub layout: u32,
    /// Number of keys.
    pub count: usize,
    /// The keys, or pointers to them.
    pub data: *const c_void,
    /// Lengths or offsets; NULL for integers and digests.
    pub extents: *const c_void,
}

/// What is done with the digests of a chunk of keys, and the number of the first.
pub(crate) type Work<'a> = dyn FnMut(usize, &[Digest]) -> Result<(), Failure> + 'a;

/// Keys that are hashed before they are asked for: as many as stay in the cache.
pub(crate) const CHUNK: usize = 4096;

/// Memory for a chunk, on the stack. Only what is used is initialised: to zero all of it takes 400 ns, as long as a batch of a
/// hundred keys.
pub(crate) struct Room<T>([MaybeUninit<T>; CHUNK]);

impl<T: Copy> Room<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; CHUNK])
    }

    /// The first `len` places, at most a chunk, filled with `value`.
    #[inline]
    #[allow(unsafe_code, reason = "the rest of the memory stays as it is")]
    pub(crate) fn of(&mut self, len: usize, value: T) -> &mut [T] {
        let places = &mut self.0[..len];
        places.fill(MaybeUninit::new(value));
        // SAFETY: each of them was just written, and `MaybeUninit<T>` has the layout of `T`.
        unsafe { &mut *(&raw mut *places as *mut [T]) }
    }
}

impl gardenia_keys {
    /// Calls `work` with the digests of the keys, a chunk at a time.
    ///
    /// # Safety
    /// The pointers are as the layout says.
    #[allow(unsafe_code, reason = "pointers of C")]
    pub(crate) unsafe fn each_chunk(&self, hasher: &KeyHasher, work: &mut Work<'_>) -> Result<(), Failure> {
        let &Self { layout, count, data, extents } = self;
        // SAFETY: of each call, by the caller.
        unsafe {
            match layout {
                GARDENIA_KEYS_U64 => {
                    let keys: &[u64] = slice(data.cast(), count, "data")?;
                    chunks(count, work, |at, digests| {
                        hasher.digest_many(&keys[at..at + digests.len()], digests);
                        Ok(())
                    })
                }
                GARDENIA_KEYS_DIGESTS => {
                    let keys: &[u64] = slice(data.cast(), count, "data")?;
                    chunks(count, work, one_by_one(|at| Ok(Digest(keys[at]))))
                }
                GARDENIA_KEYS_POINTERS => {
                    let keys: &[*const u8] = slice(data.cast(), count, "data")?;
                    let lengths: &[usize] = slice(extents.cast(), count, "extents")?;
                    let digest = |at| {
                        Ok(hasher.digest(
                            slice(keys[at], lengths[at], "a key").map_err(|error| at_key(at, error))?,
                        ))
                    };
                    chunks(count, work, one_by_one(digest))
                }
                GARDENIA_KEYS_OFFSETS32 => {
                    let offsets: &[i32] = slice(extents.cast(), ends(count)?, "extents")?;
                    strings(count, hasher, data.cast(), |at| offsets[at].into(), work)
                }
                GARDENIA_KEYS_OFFSETS64 => {
                    let offsets: &[i64] = slice(extents.cast(), ends(count)?, "extents")?;
                    strings(count, hasher, data.cast(), |at| offsets[at], work)
                }
                other => Err(Failure::argument(format_args!(
                    "keys have no layout {other}: use one of GARDENIA_KEYS_…"
                ))),
            }
        }
    }
}

fn ends(count: usize) -> Result<usize, Failure> {
    // No keys need no offsets.
    if count == 0 { Ok(0) } else { count.checked_add(1).ok_or_else(|| Failure::argument("too many keys")) }
}

fn at_key(at: usize, error: Failure) -> Failure {
    Failure::argument(format_args!("key {at}: {}", error.message()))
}

/// Fills a chunk with what `digest` makes of each number.
#[inline(always)]
fn one_by_one(
    digest: impl Fn(usize) -> Result<Digest, Failure>,
) -> impl Fn(usize, &mut [Digest]) -> Result<(), Failure> {
    move |at, digests| {
        for (next, place) in digests.iter_mut().enumerate() {
            *place = digest(at + next)?;
        }
        Ok(())
    }
}

/// Calls `work` with chunks that `fill` fills, from the number of the first key on.
#[inline(always)]
fn chunks(
    count: usize,
    work: &mut Work<'_>,
    fill: impl Fn(usize, &mut [Digest]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut room = Room::new();
    let mut at = 0;
    while at < count {
        let digests = room.of(CHUNK.min(count - at), Digest(0));
        let len = digests.len();
        fill(at, digests)?;
        work(at, digests)?;
        at += len;
    }
    Ok(())
}

/// Strings between offsets.
///
/// # Safety
/// At `data` are as many bytes as the last offset says.
#[inline(always)]
#[allow(unsafe_code, reason = "pointers of C")]
unsafe fn strings(
    count: usize,
    hasher: &KeyHasher,
    data: *const u8,
    offset: impl Fn(usize) -> i64,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    // All of them before the first key is read: one wrong offset would make the key before it end anywhere.
    for at in 0..count {
        let (start, end) = (offset(at), offset(at + 1));
        if start < 0 || end < start {
            return Err(Failure::argument(format_args!(
                "key {at} would begin at {start} and end at {end}: offsets must not decrease or be negative"
            )));
        }
    }
    if data.is_null() && count > 0 && offset(count) > 0 {
        return Err(Failure::argument("data is NULL, and not all keys are empty"));
    }
    let digest = |at| {
        let (start, end) = (offset(at), offset(at + 1));
        if start == end {
            return Ok(hasher.digest(&[]));
        }
        // SAFETY: within the bytes that the caller vouches for, and in order.
        let key = unsafe { std::slice::from_raw_parts(data.add(start as usize), (end - start) as usize) };
        Ok(hasher.digest(key))
    };
    chunks(count, work, one_by_one(digest))
}

/// `count` integers of 64 bits. Negative numbers are those of two's complement: the key of −1 is that of 2⁶⁴ − 1.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the result points to the caller's memory, which must outlive its use.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_keys_u64(keys: *const u64, count: usize) -> gardenia_keys {
    gardenia_keys { layout: GARDENIA_KEYS_U64, count, data: keys.cast(), extents: std::ptr::null() }
}

/// `count` digests that `gardenia_digest` returned for a filter with the same seed.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the result points to the caller's memory, which must outlive its use.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_keys_digests(digests: *const u64, count: usize) -> gardenia_keys {
    gardenia_keys { layout: GARDENIA_KEYS_DIGESTS, count, data: digests.cast(), extents: std::ptr::null() }
}

/// `count` byte strings at separate addresses, and their lengths.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the result points to the caller's memory, which must outlive its use.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_keys_pointers(
    keys: *const *const c_void,
    lengths: *const usize,
    count: usize,
) -> gardenia_keys {
    gardenia_keys { layout: GARDENIA_KEYS_POINTERS, count, data: keys.cast(), extents: lengths.cast() }
}

/// `count` byte strings in one buffer. Key i begins at `offsets[i]` and ends before `offsets[i + 1]`, so that there are
/// `count + 1` offsets.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the result points to the caller's memory, which must outlive its use.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_keys_offsets32(
    data: *const c_void,
    offsets: *const i32,
    count: usize,
) -> gardenia_keys {
    gardenia_keys { layout: GARDENIA_KEYS_OFFSETS32, count, data, extents: offsets.cast() }
}

/// As `gardenia_keys_offsets32`, with offsets of 64 bits.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the result points to the caller's memory, which must outlive its use.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_keys_offsets64(
    data: *const c_void,
    offsets: *const i64,
    count: usize,
) -> gardenia_keys {
    gardenia_keys { layout: GARDENIA_KEYS_OFFSETS64, count, data, extents: offsets.cast() }
}
