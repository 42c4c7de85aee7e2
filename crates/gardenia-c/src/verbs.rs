//! Inserting, asking, counting and removing keys: one, or many.

use crate::handle::{Collected, State, bytes, filter, filter_mut, gardenia_filter, out_pointer, put};
use crate::keys::{Room, gardenia_keys};
use crate::status::{Failure, answer, gardenia_status, status};
use crate::whole::cannot;
use gardenia::{Ability, Count, Digest, Kind};
use std::ffi::{c_int, c_void};

/// The digest of a key for this filter: what the `…_digest` functions accept, so that a key is hashed once for many filters
/// with the same seed. 0 if the filter is NULL.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; there are `len` bytes at `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_digest(
    filter: *const gardenia_filter,
    key: *const c_void,
    len: usize,
) -> u64 {
    // SAFETY: by the caller.
    let digest =
        crate::status::call(|| unsafe { Ok(self::filter(filter)?.hasher.digest(bytes(key, len)?).0) });
    digest.unwrap_or(0)
}

/// The same of an integer.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_digest_u64(filter: *const gardenia_filter, key: u64) -> u64 {
    // SAFETY: by the caller.
    crate::status::call(|| unsafe { Ok(self::filter(filter)?.hasher.digest_u64(key).0) }).unwrap_or(0)
}

/// Adds a key. 1 if it was certainly absent before, 0 if it may have been there, a negative status if it fails.
///
/// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses (or a shared one); there are `len` bytes at `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_insert(
    filter: *mut gardenia_filter,
    key: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: by the caller.
    answer(|| unsafe { insert(filter, self::filter(filter)?.hasher.digest(bytes(key, len)?)) })
}

/// Adds an integer; see `gardenia_insert`.
///
/// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_insert_u64(filter: *mut gardenia_filter, key: u64) -> c_int {
    // SAFETY: by the caller.
    answer(|| unsafe { insert(filter, self::filter(filter)?.hasher.digest_u64(key)) })
}

/// Adds the key with this digest; see `gardenia_insert`.
///
/// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_insert_digest(filter: *mut gardenia_filter, digest: u64) -> c_int {
    // SAFETY: by the caller.
    answer(|| unsafe { insert(filter, Digest(digest)) })
}

/// # Safety
/// That of `gardenia_insert`.
#[inline]
unsafe fn insert(handle: *mut gardenia_filter, digest: Digest) -> Result<bool, Failure> {
    // SAFETY: by the caller; a shared filter is only read here, as others may do at the same time.
    if let State::Owned(_) = unsafe { &filter(handle)?.state }
        // SAFETY: it is a handle, as was just seen, and nobody else uses one that is not shared.
        && let State::Owned(filter) = unsafe { &mut (*handle).state }
    {
        return filter.insert_digest(digest).map_err(refused);
    }
    // SAFETY: by the caller.
    unsafe { insert_otherwise(handle, digest) }
}

#[cold]
#[inline(never)]
fn refused(error: gardenia::InsertError) -> Failure {
    error.into()
}

/// Adds a key to a filter in another state than owned.
///
/// # Safety
/// That of `gardenia_insert`.
#[inline(never)]
unsafe fn insert_otherwise(handle: *mut gardenia_filter, digest: Digest) -> Result<bool, Failure> {
    let mut new = [false];
    // SAFETY: by the caller.
    unsafe { insert_all(handle, &[digest], &mut new) }.map_err(|(_, failure)| failure)?;
    Ok(new[0])
}

/// Adds keys in order; a failure comes with how many went in.
///
/// # Safety
/// That of `gardenia_insert`.
#[inline]
unsafe fn insert_all(
    handle: *mut gardenia_filter,
    digests: &[Digest],
    new: &mut [bool],
) -> Result<(), (u64, Failure)> {
    // SAFETY: by the caller; a shared filter is only read here, as others may do at the same time.
    if let State::Shared(shared) = unsafe { &filter(handle).map_err(|failure| (0, failure))?.state } {
        digests.iter().zip(new).for_each(|(digest, new)| *new = shared.insert_digest(*digest));
        return Ok(());
    }
    // SAFETY: by the caller.
    let handle = unsafe { filter_mut(handle) }.map_err(|failure| (0, failure))?;
    if let State::Collecting(collected) = &mut handle.state {
        let collected = Collected::changed(collected).map_err(|failure| (0, failure))?;
        if collected.spec.kind().can(Ability::Map) {
            let failure =
                Failure::unsupported("the filter is a map: every key needs a value: gardenia_insert_value");
            return Err((0, failure));
        }
        collected.reserve(digests.len(), 0, 0).map_err(|failure| (0, failure))?;
        // Whether a key is new is known once all are there.
        new.fill(true);
        collected.digests.extend_from_slice(digests);
        return Ok(());
    }
    let filter = handle.own_mut().map_err(|failure| (0, failure))?;
    filter.insert_digests(digests, new).map_err(|error| {
        let taken = if let gardenia::InsertError::Full(full) = error { full.taken } else { 0 };
        (taken, error.into())
    })
}

/// Adds a key with a value, to a map (kind bloomier) that is still collecting.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_insert_value(
    filter: *mut gardenia_filter,
    key: *const c_void,
    len: usize,
    value: u32,
) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let (handle, key) = unsafe { (filter_mut(filter)?, bytes(key, len)?) };
        let digest = handle.hasher.digest(key);
        match &mut handle.state {
            State::Collecting(collected) if collected.spec.kind().can(Ability::Map) => {
                let collected = Collected::changed(collected)?;
                collected.reserve(1, 1, 0)?;
                collected.digests.push(digest);
                collected.values.push(value);
                Ok(())
            }
            _ => Err(Failure::unsupported(
                "values belong to a map (kind bloomier) that is still collecting its keys",
            )),
        }
    })
}

/// Names a key that the filter must not find, for a filter (kind retouched) that is still collecting.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_exclude(
    filter: *mut gardenia_filter,
    key: *const c_void,
    len: usize,
) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let (handle, key) = unsafe { (filter_mut(filter)?, bytes(key, len)?) };
        let digest = handle.hasher.digest(key);
        match &mut handle.state {
            State::Collecting(collected) if collected.spec.kind() == Kind::Retouched => {
                let collected = Collected::changed(collected)?;
                collected.reserve(0, 0, 1)?;
                collected.excluded.push(digest);
                Ok(())
            }
            _ => Err(Failure::unsupported(
                "keys can be excluded from a filter of kind retouched that is still collecting its keys",
            )),
        }
    })
}

/// Adds many keys in order, several times as fast as one by one in a filter beyond the cache.
///
/// `was_new`: NULL, or room for `keys->count` answers. `inserted`: NULL, or room for how many keys went in: all, unless it
/// fails; those before the failure stay in the filter.
///
/// Thread safety: one thread, and no other call on the filter meanwhile; any number of threads once it is shared.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses (or a shared one); the pointers in `keys` are as its layout says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_insert_many(
    filter: *mut gardenia_filter,
    keys: *const gardenia_keys,
    was_new: *mut bool,
    inserted: *mut usize,
) -> gardenia_status {
    let mut done = 0;
    let result = status(|| {
        let mut new = Room::new();
        // SAFETY: by the caller.
        let (hasher, keys) = unsafe { (self::filter(filter)?.hasher.clone(), known(keys)?) };
        let mut work = |at: usize, digests: &[Digest]| {
            let new = new.of(digests.len(), false);
            // SAFETY: by the caller.
            let result = unsafe { insert_all(filter, digests, new) };
            let taken = if let Err((taken, _)) = &result { *taken as usize } else { digests.len() };
            done = at + taken;
            // SAFETY: by the caller.
            unsafe { answers(was_new, at, &new[..taken]) };
            result.map_err(|(_, failure)| failure)
        };
        // SAFETY: by the caller.
        unsafe { keys.each_chunk(&hasher, &mut work) }
    });
    if !inserted.is_null() {
        // SAFETY: by the caller.
        unsafe { inserted.write(done) };
    }
    result
}

/// # Safety
/// It is NULL, or keys.
unsafe fn known<'a>(keys: *const gardenia_keys) -> Result<&'a gardenia_keys, Failure> {
    // SAFETY: by the caller.
    unsafe { keys.as_ref() }.ok_or_else(|| Failure::argument("the keys are NULL"))
}

/// Writes answers, if they are wanted.
///
/// # Safety
/// It is NULL, or room for all.
unsafe fn answers<T: Copy>(out: *mut T, at: usize, found: &[T]) {
    if !out.is_null() {
        // SAFETY: by the caller; both are apart.
        unsafe { out.add(at).copy_from_nonoverlapping(found.as_ptr(), found.len()) };
    }
}

/// The caller's memory for some of many answers, filled with `value`, so that a batch needs none of its own.
///
/// # Safety
/// It is NULL, or room for all, which nobody else uses.
unsafe fn results<'a, T: Copy>(out: *mut T, at: usize, len: usize, value: T) -> Result<&'a mut [T], Failure> {
    let out = out_pointer(out)?;
    // SAFETY: by the caller; all of it is written before it is borrowed.
    unsafe {
        let out = out.add(at);
        (0..len).for_each(|at| out.add(at).write(value));
        Ok(std::slice::from_raw_parts_mut(out, len))
    }
}

/// Whether a key may be in the filter: 1 if it may, 0 if it certainly is not, a negative status if it fails.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; there are `len` bytes at `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_contains(
    filter: *const gardenia_filter,
    key: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: by the caller.
    answer(|| unsafe {
        let handle = self::filter(filter)?;
        contains(handle, handle.hasher.digest(bytes(key, len)?))
    })
}

/// Whether an integer may be in the filter; see `gardenia_contains`.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_contains`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_contains_u64(filter: *const gardenia_filter, key: u64) -> c_int {
    // SAFETY: by the caller.
    answer(|| unsafe {
        let handle = self::filter(filter)?;
        contains(handle, handle.hasher.digest_u64(key))
    })
}

/// Whether the key with this digest may be in the filter; see `gardenia_contains`.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_contains`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_contains_digest(filter: *const gardenia_filter, digest: u64) -> c_int {
    // SAFETY: by the caller.
    answer(|| unsafe { contains(self::filter(filter)?, Digest(digest)) })
}

#[inline]
fn contains(handle: &gardenia_filter, digest: Digest) -> Result<bool, Failure> {
    use gardenia::Filter;
    // The usual case without a second indirection.
    if let State::Owned(filter) = &handle.state {
        Ok(filter.contains_digest(digest))
    } else {
        Ok(handle.asked()?.contains_digest(digest))
    }
}

/// Whether each of many keys may be in the filter. `found` has room for `keys->count` answers.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; the pointers in `keys` are as its layout says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_contains_many(
    filter: *const gardenia_filter,
    keys: *const gardenia_keys,
    found: *mut bool,
) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let (handle, keys) = unsafe { (self::filter(filter)?, known(keys)?) };
        let asked = handle.asked()?;
        let mut work = |at: usize, digests: &[Digest]| {
            // SAFETY: by the caller.
            asked.contains_digests(digests, unsafe { results(found, at, digests.len(), false) }?);
            Ok(())
        };
        // SAFETY: by the caller.
        unsafe { keys.each_chunk(&handle.hasher, &mut work) }
    })
}

/// How often a key was inserted, by the filter's estimate. For kinds with the ability "count".
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; there are `len` bytes at `key`; `count` is room for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_count(
    filter: *const gardenia_filter,
    key: *const c_void,
    len: usize,
    count: *mut u64,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { count_one(filter, |handle| Ok(handle.hasher.digest(bytes(key, len)?)), count) })
}

/// How often an integer was inserted; see `gardenia_count`.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; `count` is room for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_count_u64(
    filter: *const gardenia_filter,
    key: u64,
    count: *mut u64,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { count_one(filter, |handle| Ok(handle.hasher.digest_u64(key)), count) })
}

/// How often the key with this digest was inserted; see `gardenia_count`.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; `count` is room for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_count_digest(
    filter: *const gardenia_filter,
    digest: u64,
    count: *mut u64,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { count_one(filter, |_| Ok(Digest(digest)), count) })
}

/// # Safety
/// `filter` is a filter; `count` is room for the result.
#[inline]
unsafe fn count_one(
    filter: *const gardenia_filter,
    digest: impl FnOnce(&gardenia_filter) -> Result<Digest, Failure>,
    count: *mut u64,
) -> Result<(), Failure> {
    // SAFETY: by the caller.
    let handle = unsafe { self::filter(filter) }?;
    let counted = counter(handle)?.count_digest(digest(handle)?);
    // SAFETY: by the caller.
    unsafe { put(count, counted) }
}

/// How often each of many keys was inserted. `counts` has room for `keys->count` numbers.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; the pointers in `keys` are as its layout says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_count_many(
    filter: *const gardenia_filter,
    keys: *const gardenia_keys,
    counts: *mut u64,
) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let (handle, keys) = unsafe { (self::filter(filter)?, known(keys)?) };
        let counter = counter(handle)?;
        let mut work = |at: usize, digests: &[Digest]| {
            // SAFETY: by the caller.
            counter.count_digests(digests, unsafe { results(counts, at, digests.len(), 0) }?);
            Ok(())
        };
        // SAFETY: by the caller.
        unsafe { keys.each_chunk(&handle.hasher, &mut work) }
    })
}

fn counter(handle: &gardenia_filter) -> Result<&dyn Count, Failure> {
    match &handle.state {
        State::Mapped(mapped) => mapped.as_count().ok_or_else(|| {
            Failure::unsupported(format_args!("a filter of kind {} does not count", mapped.kind().name()))
        }),
        _ => {
            let filter = handle.own()?;
            filter.as_count().ok_or_else(|| cannot(filter, "count"))
        }
    }
}

/// The value of a key in a map (kind bloomier). 1 if the key may be in the map, 0 if it certainly is not, a negative status if it fails.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; there are `len` bytes at `key`; `value` is room for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_get_value(
    filter: *const gardenia_filter,
    key: *const c_void,
    len: usize,
    value: *mut u32,
) -> c_int {
    answer(|| {
        // SAFETY: by the caller.
        let (handle, key) = unsafe { (self::filter(filter)?, bytes(key, len)?) };
        let (digest, mut found) = ([handle.hasher.digest(key)], [None]);
        let is_map = match &handle.state {
            State::Mapped(mapped) => mapped.get_digests(&digest, &mut found),
            _ => handle.own()?.get_digests(&digest, &mut found),
        };
        if !is_map {
            return Err(Failure::unsupported("the filter holds no values: use the kind bloomier"));
        }
        match found[0] {
            // SAFETY: by the caller.
            Some(found) => unsafe { put(value, found).map(|()| true) },
            None => Ok(false),
        }
    })
}

/// Removes a key once. Only remove what was inserted: removing another key can hide one that is there. For kinds with the
/// ability "remove".
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses; there are `len` bytes at `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_remove(
    filter: *mut gardenia_filter,
    key: *const c_void,
    len: usize,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { remove(filter_mut(filter)?, |handle| Ok(handle.hasher.digest(bytes(key, len)?))) })
}

/// Removes an integer once; see `gardenia_remove`.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_remove_u64(filter: *mut gardenia_filter, key: u64) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { remove(filter_mut(filter)?, |handle| Ok(handle.hasher.digest_u64(key))) })
}

/// Removes the key with this digest once; see `gardenia_remove`.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_remove_digest(
    filter: *mut gardenia_filter,
    digest: u64,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { remove(filter_mut(filter)?, |_| Ok(Digest(digest))) })
}

fn remove(
    handle: &mut gardenia_filter,
    digest: impl FnOnce(&gardenia_filter) -> Result<Digest, Failure>,
) -> Result<(), Failure> {
    let digest = digest(handle)?;
    let filter = handle.own_mut()?;
    match filter.remove_digest(digest) {
        Some(removed) => Ok(removed?),
        None => Err(cannot(filter, "remove")),
    }
}
