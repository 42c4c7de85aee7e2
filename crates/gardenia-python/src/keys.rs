//! Python objects as keys: each type has the canonical bytes that [`gardenia::Key`] gives it.
#![allow(unsafe_code)] // exact ints, texts and bytes are read without a detour: they are nine of ten keys

use crate::buffer;
use gardenia::{Digest, Key, KeyHasher, List};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt, PyList, PyMemoryView,
    PyString, PyTuple, PyType,
};
use std::time::{Duration, SystemTime};

/// The digest of a key.
///
/// # Safety
/// `object` is a live object that the caller keeps alive.
#[inline(always)]
pub(crate) unsafe fn digest(
    py: Python<'_>,
    object: *mut ffi::PyObject,
    hasher: &KeyHasher,
) -> PyResult<Digest> {
    // SAFETY: the object lives; types are compared before they are relied on. Neither call runs Python code for exact types.
    unsafe {
        let class = ffi::Py_TYPE(object);
        if class == &raw mut ffi::PyLong_Type {
            let mut overflow = 0;
            let value = ffi::PyLong_AsLongLongAndOverflow(object, &mut overflow);
            if overflow == 0 {
                return Ok(hasher.digest_u64(value as u64));
            }
        } else if class == &raw mut ffi::PyUnicode_Type {
            let mut length = 0;
            let text = ffi::PyUnicode_AsUTF8AndSize(object, &mut length);
            if !text.is_null() {
                return Ok(hasher.digest(std::slice::from_raw_parts(text.cast(), length as usize)));
            }
            return Err(PyErr::fetch(py));
        }
        slow_digest(&Bound::from_borrowed_ptr(py, object), hasher)
    }
}

#[inline(never)]
fn slow_digest(object: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<Digest> {
    with_bytes(object, |bytes| hasher.digest(bytes))
}

/// The canonical bytes of a key.
pub(crate) fn bytes(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    with_bytes(object, <[u8]>::to_vec)
}

/// Calls `work` with the canonical bytes of a key.
fn with_bytes<R>(object: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    let py = object.py();
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_str()?.with_bytes(work));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().with_bytes(work));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(value.is_true().with_bytes(work));
    }
    if object.cast::<PyInt>().is_ok() {
        return match (object.extract::<i128>(), object.extract::<u128>()) {
            (Ok(value), _) => Ok(value.with_bytes(work)),
            (_, Ok(value)) => Ok(value.with_bytes(work)),
            _ => Err(PyOverflowError::new_err(
                "an int key must fit 128 bits. hint: use str(key) or key.to_bytes(…) as the key",
            )),
        };
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(value.value().with_bytes(work));
    }
    if object.is_none() {
        return Ok(None::<u8>.with_bytes(work));
    }
    if let Ok(parts) = object.cast::<PyTuple>() {
        let parts = parts.iter().map(|part| bytes(&part)).collect::<PyResult<Vec<_>>>()?;
        return Ok(List(&parts).with_bytes(work));
    }
    if object.cast::<PyByteArray>().is_ok() || object.cast::<PyMemoryView>().is_ok() {
        let copy: Vec<u8> = py.get_type::<PyBytes>().call1((object,))?.extract()?;
        return Ok(copy.with_bytes(work));
    }
    if let Ok(length) = object.cast::<PyDelta>() {
        return Ok(duration(length)?.with_bytes(work));
    }
    if object.cast::<PyDateTime>().is_ok() {
        return Ok(moment(object)?.with_bytes(work));
    }
    for (class, attribute) in addresses(py)? {
        if object.is_instance(class.bind(py))? {
            let bytes = object.getattr(*attribute)?;
            return Ok(bytes.cast::<PyBytes>()?.as_bytes().with_bytes(work));
        }
    }
    if let Ok(path) = object.extract::<std::path::PathBuf>() {
        return Ok(path.with_bytes(work));
    }
    match buffer::scalar(object)? {
        Some(buffer::Scalar::Time(Some(time))) => Ok(time.with_bytes(work)),
        Some(buffer::Scalar::Time(None)) => Ok(None::<u8>.with_bytes(work)),
        Some(buffer::Scalar::Plain(value)) => bytes(&value).map(|bytes| work(&bytes)),
        None => Err(not_a_key(object)),
    }
}

/// UUIDs and addresses: types whose bytes are an attribute.
fn addresses(py: Python<'_>) -> PyResult<&'static [(Py<PyType>, &'static str); 3]> {
    static TYPES: PyOnceLock<[(Py<PyType>, &str); 3]> = PyOnceLock::new();
    TYPES.get_or_try_init(py, || {
        let class = |module: &str, name: &str| -> PyResult<Py<PyType>> {
            Ok(py.import(module)?.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        Ok([
            (class("uuid", "UUID")?, "bytes"),
            (class("ipaddress", "IPv4Address")?, "packed"),
            (class("ipaddress", "IPv6Address")?, "packed"),
        ])
    })
}

fn not_a_key(object: &Bound<'_, PyAny>) -> PyErr {
    let class = object.get_type();
    let name = class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let hint = if object.cast::<PyList>().is_ok() || object.hasattr("__array__").unwrap_or(false) {
        "use update() or add_many() for each of its elements, or tuple(…) for all of them as one key"
    } else if object.hasattr("value").unwrap_or(false) && object.hasattr("name").unwrap_or(false) {
        "use its .value"
    } else {
        "use str, bytes, int, float, a tuple of them, UUID, datetime or an IP address; for others their text, as in str(key)"
    };
    PyTypeError::new_err(format!("a {name} has no canonical bytes, so it is not a key. hint: {hint}"))
}

/// A time that may lie before 1970: seconds, and nanoseconds after them.
pub(crate) fn system_time(seconds: i64, nanos: u32) -> Option<SystemTime> {
    let after = Duration::from_nanos(nanos.into());
    let whole = match u64::try_from(seconds) {
        Ok(seconds) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)),
        Err(_) => SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(seconds.unsigned_abs())),
    };
    whole?.checked_add(after)
}

/// A datetime in UTC; one without a time zone is taken as UTC.
fn moment(object: &Bound<'_, PyAny>) -> PyResult<SystemTime> {
    static EPOCHS: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();
    let py = object.py();
    let [naive, utc] = EPOCHS.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let class = module.getattr("datetime")?;
        Ok::<_, PyErr>([
            class.call1((1970, 1, 1))?.unbind(),
            class.call1((1970, 1, 1, 0, 0, 0, 0, utc))?.unbind(),
        ])
    })?;
    let epoch = if object.call_method0("utcoffset")?.is_none() { naive } else { utc };
    let since = object.sub(epoch)?;
    let since = since.cast::<PyDelta>()?;
    let nanos = nanoseconds(since)?;
    let seconds = i64::from(since.get_days()) * 86_400 + i64::from(since.get_seconds());
    system_time(seconds, nanos).ok_or_else(|| PyOverflowError::new_err("the time is out of range"))
}

fn duration(length: &Bound<'_, PyDelta>) -> PyResult<Duration> {
    let seconds = i64::from(length.get_days()) * 86_400 + i64::from(length.get_seconds());
    match u64::try_from(seconds) {
        Ok(seconds) => Ok(Duration::new(seconds, nanoseconds(length)?)),
        Err(_) => Err(PyTypeError::new_err(
            "a negative timedelta is not a key. hint: use its total_seconds() or another number",
        )),
    }
}

/// Nanoseconds after the second; pandas has more than microseconds.
fn nanoseconds(length: &Bound<'_, PyDelta>) -> PyResult<u32> {
    let beyond = match length.get_type().is(length.py().get_type::<PyDelta>()) {
        true => 0,
        false => length.getattr("nanoseconds").and_then(|nanos| nanos.extract::<u32>()).unwrap_or(0),
    };
    Ok(length.get_microseconds() as u32 * 1000 + beyond)
}

/// The digest of an element of a list, and whether it stands for a missing value: None, NaN, pandas' NA, NaT.
///
/// # Safety
/// `object` is a live object that the caller keeps alive.
#[inline(always)]
pub(crate) unsafe fn element(
    py: Python<'_>,
    object: *mut ffi::PyObject,
    hasher: &KeyHasher,
) -> PyResult<(Digest, bool)> {
    // SAFETY: the object lives.
    unsafe {
        let class = ffi::Py_TYPE(object);
        if class == &raw mut ffi::PyLong_Type || class == &raw mut ffi::PyUnicode_Type {
            return Ok((digest(py, object, hasher)?, false));
        }
        slow_element(&Bound::from_borrowed_ptr(py, object), hasher)
    }
}

#[inline(never)]
fn slow_element(object: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<(Digest, bool)> {
    match missing(object) {
        Some(bytes) => Ok((hasher.digest(&bytes), true)),
        None => Ok((slow_digest(object, hasher)?, false)),
    }
}

/// The canonical bytes of an object that stands for a missing value; `None` of others.
pub(crate) fn missing(object: &Bound<'_, PyAny>) -> Option<Vec<u8>> {
    // Numpy's NaT is one of its times, and like NaN it does not equal itself.
    let named = || {
        object.get_type().name().is_ok_and(|name| {
            name == "NAType"
                || name == "NaTType"
                || name == "datetime64" && object.ne(object).unwrap_or(false)
        })
    };
    if let Ok(value) = object.cast::<PyFloat>() {
        return value.value().is_nan().then(|| value.value().with_bytes(<[u8]>::to_vec));
    }
    (object.is_none() || named()).then(|| None::<u8>.with_bytes(<[u8]>::to_vec))
}
