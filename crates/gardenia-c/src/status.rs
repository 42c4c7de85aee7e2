//! What a call returns, and the message of the last failure of each thread.

use gardenia::error::{InsertError, RemoveError};
use gardenia::spec::SpecError;
use gardenia::{DecodeError, EncodeError, Mismatch, SizeError};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call returns. Functions that answer yes or no return 1 or 0, and a failure as its negative number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the names of C")]
pub enum gardenia_status {
    /// The call did what it says.
    GARDENIA_OK = 0,
    /// A NULL pointer, a handle that was freed, text that is not UTF-8, or offsets that decrease.
    GARDENIA_ARGUMENT = 1,
    /// A spec or a need that cannot be read or built. The message names the option to change.
    GARDENIA_SPEC = 2,
    /// The filter holds no further keys, or no further copies of this one.
    GARDENIA_FULL = 3,
    /// Filters of this kind, or in this state, cannot do that.
    GARDENIA_UNSUPPORTED = 4,
    /// The key is not in the filter, or cannot be removed for certain.
    GARDENIA_ABSENT = 5,
    /// The two filters differ in size, seed or kind.
    GARDENIA_MISMATCH = 6,
    /// The bytes are not a filter, or are corrupted, or need a secret.
    GARDENIA_DECODE = 7,
    /// The file system refused.
    GARDENIA_IO = 8,
    /// The memory cannot be allocated.
    GARDENIA_MEMORY = 9,
    /// The progress function asked to stop.
    GARDENIA_CANCELLED = 10,
    /// A fault of the library. Please report it.
    GARDENIA_INTERNAL = 11,
}

use gardenia_status::{
    GARDENIA_ABSENT, GARDENIA_ARGUMENT, GARDENIA_CANCELLED, GARDENIA_DECODE, GARDENIA_FULL,
    GARDENIA_INTERNAL, GARDENIA_IO, GARDENIA_MEMORY, GARDENIA_MISMATCH, GARDENIA_OK, GARDENIA_SPEC,
    GARDENIA_UNSUPPORTED,
};

/// Why a call failed.
pub(crate) struct Failure {
    status: gardenia_status,
    message: String,
}

impl Failure {
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
    pub(crate) fn argument(message: impl fmt::Display) -> Self {
        Self { status: GARDENIA_ARGUMENT, message: message.to_string() }
    }
    pub(crate) fn unsupported(message: impl fmt::Display) -> Self {
        Self { status: GARDENIA_UNSUPPORTED, message: message.to_string() }
    }
    pub(crate) fn spec(message: impl fmt::Display) -> Self {
        Self { status: GARDENIA_SPEC, message: message.to_string() }
    }
    pub(crate) fn cancelled() -> Self {
        Self { status: GARDENIA_CANCELLED, message: "the progress function asked to stop".into() }
    }
    /// Memory for this many bytes could not be had.
    pub(crate) fn memory(bytes: usize) -> Self {
        Self { status: GARDENIA_MEMORY, message: SizeError::Memory { bytes: bytes as u64 }.to_string() }
    }
    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self { status: GARDENIA_INTERNAL, message: message.to_string() }
    }
}

/// The status of an error of sizes: memory that is not there is no fault of the spec.
fn of_size(error: &SizeError, otherwise: gardenia_status) -> gardenia_status {
    if matches!(error, SizeError::Memory { .. }) { GARDENIA_MEMORY } else { otherwise }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        let status = error.size_error().map_or(GARDENIA_SPEC, |size| of_size(size, GARDENIA_SPEC));
        Self { status, message: error.to_string() }
    }
}

impl From<InsertError> for Failure {
    fn from(error: InsertError) -> Self {
        let status = if error == InsertError::Fixed { GARDENIA_UNSUPPORTED } else { GARDENIA_FULL };
        Self { status, message: error.to_string() }
    }
}

impl From<RemoveError> for Failure {
    fn from(error: RemoveError) -> Self {
        Self { status: GARDENIA_ABSENT, message: error.to_string() }
    }
}

impl From<Mismatch> for Failure {
    fn from(error: Mismatch) -> Self {
        Self { status: GARDENIA_MISMATCH, message: format!("{error}: build both with the same spec") }
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        let status = match &error {
            DecodeError::Io(_) => GARDENIA_IO,
            DecodeError::Size(size) => of_size(size, GARDENIA_DECODE),
            _ => GARDENIA_DECODE,
        };
        Self { status, message: error.to_string() }
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        let status = match &error {
            EncodeError::Io(_) => GARDENIA_IO,
            EncodeError::Size(size) => of_size(size, GARDENIA_UNSUPPORTED),
            _ => GARDENIA_UNSUPPORTED,
        };
        Self { status, message: error.to_string() }
    }
}

/// Of a copy: what is stored of a filter, and read again.
impl From<gardenia::Error> for Failure {
    fn from(error: gardenia::Error) -> Self {
        match error {
            gardenia::Error::Encode(error) => error.into(),
            gardenia::Error::Decode(error) => error.into(),
            gardenia::Error::Size(error) => {
                Self { status: of_size(&error, GARDENIA_INTERNAL), message: error.to_string() }
            }
            other => Self::internal(other),
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs a call. A failure is noted for the thread, and no panic leaves it.
#[inline(always)]
pub(crate) fn call<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, gardenia_status> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(note(Ok(failure))),
        Err(cause) => Err(note(Err(cause))),
    }
}

/// Notes what went wrong for the thread.
#[cold]
#[inline(never)]
fn note(outcome: std::thread::Result<Failure>) -> gardenia_status {
    let failure = match outcome {
        Ok(failure) => failure,
        Err(_) => Failure::internal("a fault inside the library: please report it"),
    };
    // Messages hold no NUL bytes unless a key or a path was quoted; those end there.
    let message: Vec<u8> = failure.message.bytes().map(|byte| if byte == 0 { b'?' } else { byte }).collect();
    LAST.with(|last| *last.borrow_mut() = CString::new(message).unwrap_or_default());
    failure.status
}

/// Runs a call that returns its status.
pub(crate) fn status(work: impl FnOnce() -> Result<(), Failure>) -> gardenia_status {
    call(work).err().unwrap_or(GARDENIA_OK)
}

/// Runs a call that answers yes or no.
pub(crate) fn answer(work: impl FnOnce() -> Result<bool, Failure>) -> c_int {
    match call(work) {
        Ok(yes) => yes.into(),
        Err(status) => -(status as c_int),
    }
}

/// The message of the last failure in this thread, in English. It is valid until the next failure in this thread.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the text belongs to the library.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// The name of a status, such as "GARDENIA_FULL"; also of the negative number that a yes-or-no function returned.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the text belongs to the library.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_status_name(status: c_int) -> *const c_char {
    let known = [
        (GARDENIA_OK, c"GARDENIA_OK"),
        (GARDENIA_ARGUMENT, c"GARDENIA_ARGUMENT"),
        (GARDENIA_SPEC, c"GARDENIA_SPEC"),
        (GARDENIA_FULL, c"GARDENIA_FULL"),
        (GARDENIA_UNSUPPORTED, c"GARDENIA_UNSUPPORTED"),
        (GARDENIA_ABSENT, c"GARDENIA_ABSENT"),
        (GARDENIA_MISMATCH, c"GARDENIA_MISMATCH"),
        (GARDENIA_DECODE, c"GARDENIA_DECODE"),
        (GARDENIA_IO, c"GARDENIA_IO"),
        (GARDENIA_MEMORY, c"GARDENIA_MEMORY"),
        (GARDENIA_CANCELLED, c"GARDENIA_CANCELLED"),
        (GARDENIA_INTERNAL, c"GARDENIA_INTERNAL"),
    ];
    let found = known.iter().find(|(known, _)| *known as c_int == status.wrapping_abs());
    found.map_or(c"unknown status" as &CStr, |(_, name)| name).as_ptr()
}

/// The version of the library, such as "0.1.0".
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the text belongs to the library.
#[unsafe(no_mangle)]
pub extern "C" fn gardenia_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
