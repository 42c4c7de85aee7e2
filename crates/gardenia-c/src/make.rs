//! Making, opening, storing and ending filters.

use crate::handle::{
    Collected, State, bytes, filter, filter_mut, gardenia_filter, gardenia_progress, given, out_pointer,
    path, put, text,
};
use crate::status::{Failure, gardenia_status, status};
use crate::whole::cannot;
use gardenia::format::verify_file;
use gardenia::{AnyFilter, OpenFilter, ReadOptions, SecretKey, Spec};
use std::ffi::{CString, c_char, c_void};
use std::mem::replace;
use std::sync::Arc;

/// A spec as text, and a secret if there is one.
///
/// # Safety
/// The text is NULL or ends with NUL, and the secret is NULL or has 16 bytes.
unsafe fn read_spec(spec: *const c_char, secret: *const u8) -> Result<Spec, Failure> {
    // SAFETY: by the caller.
    let (spec, secret) = unsafe { (text(spec, "the spec")?, read_secret(secret)) };
    let spec: Spec = spec.parse()?;
    Ok(match secret {
        Some(secret) => spec.secret(secret),
        None => spec,
    })
}

/// # Safety
/// It is NULL or has 16 bytes.
unsafe fn read_secret(secret: *const u8) -> Option<SecretKey> {
    // SAFETY: by the caller; bytes have no alignment.
    (!secret.is_null()).then(|| SecretKey::new(unsafe { secret.cast::<[u8; 16]>().read() }))
}

/// # Safety
/// That of [`read_secret`].
unsafe fn options(secret: *const u8) -> ReadOptions {
    // SAFETY: by the caller.
    match unsafe { read_secret(secret) } {
        Some(secret) => ReadOptions::new().secret(secret),
        None => ReadOptions::new(),
    }
}

/// Makes an empty filter from a spec: a kind and its options, such as "blocked items=1M fpp=0.1%".
///
/// `gardenia_kinds_json` lists kinds and options. A kind that is built from all its keys at once (fuse, ribbon, golomb,
/// bloomier, …) collects what is inserted until `gardenia_finish`.
///
/// `secret`: NULL, or 16 bytes that keys are hashed with, for keys that an attacker may choose.
/// `out`: receives the filter, which `gardenia_free` ends.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
///
/// # Safety
/// `spec` ends with NUL, `secret` is NULL or has 16 bytes, `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_new(
    spec: *const c_char,
    secret: *const u8,
    out: *mut *mut gardenia_filter,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        let spec = unsafe { read_spec(spec, secret) }?;
        let handle = if spec.needs_all_keys() {
            let _ = spec.filled()?; // an error belongs here, and not after hours of collecting
            gardenia_filter::new(
                spec.hasher(),
                spec.kind(),
                State::Collecting(Arc::new(Collected::new(spec))),
            )
        } else {
            gardenia_filter::owned(spec.build()?)
        };
        // SAFETY: by the caller.
        unsafe { put(out, handle) }
    })
}

/// Builds a filter that has been collecting its keys. Filters of other kinds are finished from the start, and nothing happens.
///
/// If it fails, the filter still has its keys. `progress` may be NULL; `context` is handed to it. With a progress function the
/// filter is built in a thread of its own. When that function returns false this call ends at once; the thread goes on with its
/// share of memory until its step is done, and its result is dropped.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: `context` stays the caller's.
///
/// # Safety
/// `filter` is a filter that no other call uses; `progress` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_finish(
    filter: *mut gardenia_filter,
    progress: gardenia_progress,
    context: *mut c_void,
) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let handle = unsafe { filter_mut(filter) }?;
        if let State::Collecting(collected) = &handle.state {
            let built = match progress {
                None => collected.build(&mut |_, _| ()),
                // SAFETY: by the caller.
                Some(call) => collected.build_watched(&mut |done, all| unsafe { call(context, done, all) }),
            };
            handle.state = State::Owned(built?);
        }
        Ok(())
    })
}

/// Reads a filter of any kind from a file into memory, and verifies every checksum.
///
/// `secret`: NULL, or the 16 bytes that the filter was made with.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
///
/// # Safety
/// `file` ends with NUL, `secret` is NULL or has 16 bytes, `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_open(
    file: *const c_char,
    secret: *const u8,
    out: *mut *mut gardenia_filter,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        unsafe { put(out, gardenia_filter::owned(AnyFilter::load_with(path(file)?, &options(secret))?)) }
    })
}

/// Maps a file: it opens at once, and pages are read when they are asked for. The filter can be asked, not changed.
///
/// Checksums of the payload are not verified: `gardenia_verify` does. Replace a mapped file with `mv`, never in place: if
/// another process truncates it, the next query ends this process with SIGBUS, and if it is overwritten, answers are wrong.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
///
/// # Safety
/// That of `gardenia_open`, and nobody changes the file while it is mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_open_mapped(
    file: *const c_char,
    secret: *const u8,
    out: *mut *mut gardenia_filter,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        unsafe {
            let mapped = OpenFilter::map_with(path(file)?, &options(secret))?;
            put(out, gardenia_filter::new(mapped.hasher().clone(), mapped.kind(), State::Mapped(mapped)))
        }
    })
}

/// Reads a filter of any kind from the bytes of a file, and verifies every checksum. The bytes are copied.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
///
/// # Safety
/// There are `len` bytes at `data`; `secret` is NULL or has 16 bytes; `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_from_bytes(
    data: *const c_void,
    len: usize,
    secret: *const u8,
    out: *mut *mut gardenia_filter,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        unsafe {
            put(out, gardenia_filter::owned(AnyFilter::from_bytes_with(bytes(data, len)?, &options(secret))?))
        }
    })
}

/// Verifies every checksum of a file without keeping it in memory.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `file` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_verify(file: *const c_char) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        verify_file(unsafe { path(file) }?)?;
        Ok(())
    })
}

/// Copies a filter. The copy of a mapped file is in memory of its own.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: the caller ends `*out` with `gardenia_free`; arguments are read during the call only.
///
/// # Safety
/// `filter` is a filter; `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_clone(
    filter: *const gardenia_filter,
    out: *mut *mut gardenia_filter,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        let handle = unsafe { self::filter(filter) }?;
        let state = match &handle.state {
            State::Collecting(collected) => State::Collecting(collected.clone()),
            State::Owned(filter) => State::Owned(filter.try_clone()?),
            State::Mapped(mapped) => {
                let mapped = mapped.as_mapped();
                let mapped = mapped.ok_or_else(|| Failure::internal("a mapped filter is not mapped"))?;
                State::Owned(mapped.try_clone()?)
            }
            State::Shared(_) | State::Moving => return handle.own().map(drop),
        };
        // SAFETY: by the caller.
        unsafe { put(out, gardenia_filter::new(handle.hasher.clone(), handle.kind, state)) }
    })
}

/// Lets many threads call the `gardenia_insert…` functions on one filter at the same time; nothing is copied. For kinds with
/// the ability "share". Saving, merging and the like wait for `gardenia_unshare`.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_share(filter: *mut gardenia_filter) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let handle = unsafe { filter_mut(filter) }?;
        handle.own_mut()?;
        let State::Owned(filter) = replace(&mut handle.state, State::Moving) else { return Ok(()) };
        match filter.into_shared() {
            Ok(shared) => handle.state = State::Shared(shared),
            Err(filter) => {
                let failure = cannot(&filter, "share");
                handle.state = State::Owned(filter);
                return Err(failure);
            }
        }
        Ok(())
    })
}

/// Ends what `gardenia_share` began, after the threads have ended. Nothing happens to a filter that is not shared.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_unshare(filter: *mut gardenia_filter) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let handle = unsafe { filter_mut(filter) }?;
        handle.state = match replace(&mut handle.state, State::Moving) {
            State::Shared(shared) => State::Owned(shared.into_owned()),
            other => other,
        };
        Ok(())
    })
}

/// Ends a filter. NULL is ignored; a filter that was freed before is reported, as long as its address has not been used again.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: the filter ends here.
///
/// # Safety
/// No other call uses the filter, now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_free(filter: *mut gardenia_filter) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        if filter.is_null() || unsafe { gardenia_filter::free(filter) } {
            return Ok(());
        }
        Err(Failure::argument("this is no filter, or it was freed before"))
    })
}

/// Saves a filter to a file. A file that is there is replaced when the new one is whole, so that readers see one or the other.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; `file` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_save(
    filter: *const gardenia_filter,
    file: *const c_char,
) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let (handle, path) = unsafe { (self::filter(filter)?, path(file)?) };
        match &handle.state {
            State::Mapped(mapped) => Ok(mapped.as_mapped().map_or(Ok(()), |mapped| mapped.save(path))?),
            _ => Ok(handle.own()?.save(path)?),
        }
    })
}

/// The bytes of a file with this filter. `gardenia_free_bytes` frees them.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: the caller frees `*data` with `gardenia_free_bytes`.
///
/// # Safety
/// `filter` is a filter; `data` and `len` are room for a pointer and a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_to_bytes(
    filter: *const gardenia_filter,
    data: *mut *mut u8,
    len: *mut usize,
) -> gardenia_status {
    status(|| {
        let (data, len) = (out_pointer(data)?, out_pointer(len)?);
        // SAFETY: by the caller.
        let handle = unsafe { self::filter(filter) }?;
        let bytes = match &handle.state {
            State::Mapped(mapped) => mapped.as_mapped().map_or(Ok(Vec::new()), AnyFilter::to_bytes)?,
            _ => handle.own()?.to_bytes()?,
        };
        let bytes = Box::leak(bytes.into_boxed_slice());
        // SAFETY: by the caller.
        unsafe {
            put(len, bytes.len())?;
            put(data, bytes.as_mut_ptr())
        }
    })
}

/// Frees what `gardenia_to_bytes` returned. NULL is ignored.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the bytes end here.
///
/// # Safety
/// They came from `gardenia_to_bytes` together, and are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_free_bytes(data: *mut u8, len: usize) {
    if !data.is_null() {
        // SAFETY: by the caller, a boxed slice of this length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, len)) });
    }
}

/// Frees a text that a function of this library returned in a `char **`. NULL is ignored.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the text ends here.
///
/// # Safety
/// It came from there, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_free_string(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: by the caller.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// The spec with everything filled in that was left open: what another program needs to build the same filter.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller frees `*out` with `gardenia_free_string`.
///
/// # Safety
/// `spec` ends with NUL; `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_spec_filled(spec: *const c_char, out: *mut *mut c_char) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        unsafe { put(out, given(read_spec(spec, std::ptr::null())?.filled()?.to_string())?) }
    })
}

/// What a filter takes and promises before it is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the names of C")]
pub struct gardenia_size {
    /// Bytes of memory; of kinds that grow, of their first part.
    pub bytes: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// The false-positive rate once the planned keys are in; NaN if none are planned.
    pub fpp: f64,
}

/// What a filter of this spec takes, before any memory is allocated.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `spec` ends with NUL; `out` is room for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_spec_size(spec: *const c_char, out: *mut gardenia_size) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        let size = unsafe { read_spec(spec, std::ptr::null()) }?.size()?;
        let (bytes, file_bytes, fpp) = (size.bytes, size.file_bytes, size.fpp.unwrap_or(f64::NAN));
        // SAFETY: by the caller.
        unsafe { put(out, gardenia_size { bytes, file_bytes, fpp }) }
    })
}
