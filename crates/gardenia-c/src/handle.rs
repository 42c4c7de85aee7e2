//! The handle: a filter that is being collected, owned, mapped or shared.

use crate::status::Failure;
use gardenia::filter::SharedFilter;
use gardenia::{AnyFilter, Digest, Filter, KeyHasher, Kind, OpenFilter, Spec};
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// A filter. Its content is private; one of the functions that make filters returns a pointer to it, and `gardenia_free`
/// ends it.
#[allow(non_camel_case_types, reason = "the names of C")]
pub struct gardenia_filter {
    /// [`LIVE`] until it is freed.
    mark: u64,
    /// That of the filter, here so that a call need not ask for it.
    pub(crate) hasher: KeyHasher,
    /// The kind never changes: a filter that is shared can be asked for it, too.
    pub(crate) kind: Kind,
    pub(crate) state: State,
}

const LIVE: u64 = u64::from_le_bytes(*b"gardenia");

pub(crate) enum State {
    /// Keys of a filter that is built from all of them at once.
    Collecting(Arc<Collected>),
    Owned(AnyFilter),
    /// Read from a file where it lies.
    Mapped(OpenFilter),
    /// Many threads insert.
    Shared(SharedFilter),
    /// On its way from one state to another.
    Moving,
}

/// What a filter will be built from.
pub(crate) struct Collected {
    pub(crate) spec: Spec,
    pub(crate) digests: Vec<Digest>,
    /// As many as digests, or none.
    pub(crate) values: Vec<u32>,
    /// Keys that must not be found.
    pub(crate) excluded: Vec<Digest>,
}

/// Called while a filter is built, at least every 100 ms, with how many of all steps are done: some kinds tell only when they
/// begin and when they are done. Return false to stop. It runs in the thread that called `gardenia_finish`.
#[allow(non_camel_case_types, reason = "the names of C")]
pub type gardenia_progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, all: u64) -> bool>;

impl Collected {
    pub(crate) fn new(spec: Spec) -> Self {
        Self { spec, digests: Vec::new(), values: Vec::new(), excluded: Vec::new() }
    }

    /// Room for this many more keys: without it, memory that is short would end the process.
    pub(crate) fn reserve(&mut self, digests: usize, values: usize, excluded: usize) -> Result<(), Failure> {
        reserve(&mut self.digests, digests)?;
        reserve(&mut self.values, values)?;
        reserve(&mut self.excluded, excluded)
    }

    fn try_clone(&self) -> Result<Self, Failure> {
        let mut copy = Self::new(self.spec.clone());
        copy.reserve(self.digests.len(), self.values.len(), self.excluded.len())?;
        copy.digests.extend_from_slice(&self.digests);
        copy.values.extend_from_slice(&self.values);
        copy.excluded.extend_from_slice(&self.excluded);
        Ok(copy)
    }

    /// What is collected, to be changed: copied first if another handle, or a build that was
    /// cancelled, still has it.
    pub(crate) fn changed(shared: &mut Arc<Self>) -> Result<&mut Self, Failure> {
        if Arc::get_mut(shared).is_none() {
            *shared = Arc::new(shared.try_clone()?);
        }
        Arc::get_mut(shared).ok_or_else(|| Failure::internal("a copy that is not alone"))
    }

    /// The filter; the keys are still there if that fails.
    pub(crate) fn build(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<AnyFilter, Failure> {
        Ok(if !self.values.is_empty() {
            self.spec.build_map(&self.digests, &self.values)?.into()
        } else if !self.excluded.is_empty() {
            self.spec.build_retouched(&self.digests, &self.excluded)?.into()
        } else {
            self.spec.build_from_with(&self.digests, &mut |step| watch(step.done, step.all))?
        })
    }

    /// As [`build`](Self::build), in a thread of its own, while this one calls `progress` every now and then until it returns
    /// false. Most kinds are built in one go, without a place to stop: such a thread runs on to its end, which nobody sees.
    pub(crate) fn build_watched(
        self: &Arc<Self>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<AnyFilter, Failure> {
        let all = self.digests.len() as u64;
        if !progress(0, all) {
            return Err(Failure::cancelled());
        }
        let (state, keys) = (Arc::new(Mutex::new((0, all, false))), self.clone());
        let (told, (sender, receiver)) = (state.clone(), mpsc::sync_channel(1));
        let locked = |state: &Mutex<(u64, u64, bool)>| *state.lock().unwrap_or_else(PoisonError::into_inner);
        let work = move || {
            let mut watch = |done, all| {
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                (told.0, told.1) = (done, all);
                if told.2 {
                    drop(told);
                    resume_unwind(Box::new(())); // not a panic: no message is printed
                }
            };
            let built = catch_unwind(AssertUnwindSafe(|| keys.build(&mut watch)));
            drop(keys); // before the filter is handed over, so that its keys are freed with the handle's
            let _ = sender.send(built); // nobody waits for it once the call was cancelled
        };
        std::thread::Builder::new().spawn(work).map_err(Failure::internal)?;
        let built = loop {
            match receiver.recv_timeout(BEAT) {
                Ok(built) => break built.unwrap_or_else(|cause| resume_unwind(cause)),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let (done, all, _) = locked(&state);
                    if !progress(done, all) {
                        state.lock().unwrap_or_else(PoisonError::into_inner).2 = true;
                        return Err(Failure::cancelled());
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Failure::internal("the thread that built the filter ended without one"));
                }
            }
        }?;
        if progress(all, all) { Ok(built) } else { Err(Failure::cancelled()) }
    }
}

fn reserve<T>(keys: &mut Vec<T>, more: usize) -> Result<(), Failure> {
    let bytes = keys.len().saturating_add(more).saturating_mul(size_of::<T>());
    keys.try_reserve(more).map_err(|_| Failure::memory(bytes))
}

/// How often a progress function is called.
const BEAT: Duration = Duration::from_millis(50);

/// The addresses of all handles: what tells a second `gardenia_free` from the first without a look at freed memory.
static HANDLES: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

fn handles<R>(work: impl FnOnce(&mut HashSet<usize>) -> R) -> R {
    work(HANDLES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

impl gardenia_filter {
    pub(crate) fn new(hasher: KeyHasher, kind: Kind, state: State) -> *mut Self {
        let handle = Box::into_raw(Box::new(Self { mark: LIVE, hasher, kind, state }));
        handles(|all| all.insert(handle.addr()));
        handle
    }

    pub(crate) fn owned(filter: AnyFilter) -> *mut Self {
        Self::new(filter.hasher().clone(), filter.kind(), State::Owned(filter))
    }

    /// Ends a handle; false if it is none.
    ///
    /// # Safety
    /// No other call uses it, now or later.
    #[allow(unsafe_code, reason = "pointers of C")]
    pub(crate) unsafe fn free(handle: *mut Self) -> bool {
        if !handles(|all| all.remove(&handle.addr())) {
            return false;
        }
        // SAFETY: it is a handle that `new` made and nobody has freed. Whoever uses it afterwards may see that it is dead.
        unsafe {
            (&raw mut (*handle).mark).write_volatile(0);
            drop(Box::from_raw(handle));
        }
        true
    }

    /// The filter to ask.
    pub(crate) fn asked(&self) -> Result<&dyn Filter, Failure> {
        match &self.state {
            State::Owned(filter) => Ok(filter),
            State::Mapped(filter) => Ok(filter),
            State::Shared(filter) => Ok(filter),
            State::Collecting(_) => Err(unfinished()),
            State::Moving => Err(moving()),
        }
    }

    /// The filter in memory of its own.
    pub(crate) fn own(&self) -> Result<&AnyFilter, Failure> {
        match &self.state {
            State::Owned(filter) => Ok(filter),
            State::Collecting(_) => Err(unfinished()),
            State::Mapped(_) => Err(mapped()),
            State::Shared(_) => Err(shared()),
            State::Moving => Err(moving()),
        }
    }

    /// The same, to be changed.
    pub(crate) fn own_mut(&mut self) -> Result<&mut AnyFilter, Failure> {
        match &mut self.state {
            State::Owned(filter) => Ok(filter),
            State::Collecting(_) => Err(unfinished()),
            State::Mapped(_) => Err(mapped()),
            State::Shared(_) => Err(shared()),
            State::Moving => Err(moving()),
        }
    }
}

fn unfinished() -> Failure {
    Failure::unsupported(
        "the filter is built from all its keys at once, and is still collecting them: call gardenia_finish",
    )
}

fn moving() -> Failure {
    Failure::internal("a call before this one failed inside the library: free the filter")
}

fn mapped() -> Failure {
    Failure::unsupported("the filter is a mapped file, which can only be asked: open it with gardenia_open")
}

fn shared() -> Failure {
    Failure::unsupported("the filter is shared between threads: call gardenia_unshare when they are done")
}

/// The filter behind a handle.
///
/// # Safety
/// It is NULL, or a handle that lives as long as the reference.
#[inline]
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn filter<'a>(handle: *const gardenia_filter) -> Result<&'a gardenia_filter, Failure> {
    // SAFETY: by the caller.
    match unsafe { handle.as_ref() } {
        Some(filter) if filter.mark == LIVE => Ok(filter),
        found => Err(no_handle(found.is_none())),
    }
}

/// The same, to be changed.
///
/// # Safety
/// That of [`filter`], and nobody else uses the handle meanwhile.
#[inline]
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn filter_mut<'a>(
    handle: *mut gardenia_filter,
) -> Result<&'a mut gardenia_filter, Failure> {
    // SAFETY: by the caller.
    match unsafe { handle.as_mut() } {
        Some(filter) if filter.mark == LIVE => Ok(filter),
        found => Err(no_handle(found.is_none())),
    }
}

#[cold]
fn no_handle(null: bool) -> Failure {
    Failure::argument(if null { "the filter is NULL" } else { "this is no filter, or it was freed" })
}

/// `len` bytes.
///
/// # Safety
/// There are that many at `data`, unchanged as long as the slice is used; or `len` is 0.
#[inline]
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Result<&'a [u8], Failure> {
    // SAFETY: by the caller.
    unsafe { slice(data.cast(), len, "the key") }
}

/// `len` values.
///
/// # Safety
/// That of [`bytes`].
#[inline]
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn slice<'a, T>(data: *const T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::argument(format_args!("{what} is NULL, and its length is {len}")));
    }
    if len > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::argument(format_args!("{what} has a length of {len}: is it negative?")));
    }
    // SAFETY: by the caller; not NULL, and not longer than any object can be.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// A text.
///
/// # Safety
/// It is NULL, or ends with a NUL byte and is unchanged as long as the text is used.
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: by the caller.
    let text = unsafe { c_text(text, what) }?;
    text.to_str().map_err(|_| Failure::argument(format_args!("{what} is not UTF-8")))
}

/// A path: any bytes but NUL.
///
/// # Safety
/// That of [`text`].
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path, Failure> {
    // SAFETY: by the caller.
    let path = unsafe { c_text(path, "the path") }?;
    Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// # Safety
/// That of [`text`].
#[allow(unsafe_code, reason = "pointers of C")]
unsafe fn c_text<'a>(text: *const c_char, what: &str) -> Result<&'a CStr, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format_args!("{what} is NULL")));
    }
    // SAFETY: by the caller, and not NULL.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// Writes a result to where the caller wants it.
///
/// # Safety
/// It is NULL, or room for a value.
#[allow(unsafe_code, reason = "pointers of C")]
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result<(), Failure> {
    // SAFETY: by the caller.
    unsafe { out_pointer(out)?.write(value) };
    Ok(())
}

/// The pointer, unless it is NULL.
pub(crate) fn out_pointer<T>(out: *mut T) -> Result<*mut T, Failure> {
    if out.is_null() { Err(Failure::argument("the pointer for the result is NULL")) } else { Ok(out) }
}

/// A text of our own for the caller, who frees it with `gardenia_free_string`.
pub(crate) fn given(text: String) -> Result<*mut c_char, Failure> {
    CString::new(text).map(CString::into_raw).map_err(|_| Failure::internal("a text with a NUL byte"))
}
