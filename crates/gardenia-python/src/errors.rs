//! The library's errors as Python exceptions, in one place.

use gardenia::spec::{Param, SpecError};
use gardenia::{DecodeError, EncodeError, Error, InsertError, Mismatch, RemoveError, SizeError};
use pyo3::exceptions::{PyException, PyKeyError, PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::path::Path;

/// An exception of this package.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Class {
    #[allow(dead_code, reason = "the base of the others")]
    Gardenia,
    Spec,
    Mismatch,
    Full,
    Absent,
    Remove,
    Format,
    Unsupported,
    Missing,
}

/// Name and meaning of each, in the order of [`Class`].
const CLASSES: [(&str, &str); 9] = [
    ("GardeniaError", "Any error of this package."),
    ("SpecError", "Options that do not make a filter; the message says what to change."),
    ("MismatchError", "Two filters that cannot be combined; the message says what differs."),
    (
        "FullError",
        "The filter has no room for a key. `added` says how many keys of the call were added before it.",
    ),
    ("AbsentError", "A key that is not in the filter. Also a KeyError."),
    ("RemoveError", "A key that can no longer be removed: the filter has lost count of it."),
    ("FormatError", "Bytes that are not a filter, or a corrupted one."),
    ("UnsupportedError", "This filter cannot do that. Also a TypeError."),
    ("MissingError", "A missing value (None, null, NaN) among keys, where `nulls` is \"error\"."),
];

static TYPES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();

/// All exceptions with their names.
pub(crate) fn types(py: Python<'_>) -> PyResult<impl Iterator<Item = (&'static str, Bound<'_, PyType>)>> {
    let types = TYPES.get_or_try_init(py, || make(py))?;
    let names = CLASSES.iter().map(|(name, _)| *name);
    Ok(names.zip(types.iter().map(move |class| class.bind(py).clone())))
}

fn make(py: Python<'_>) -> PyResult<Vec<Py<PyType>>> {
    let mut types: Vec<Py<PyType>> = Vec::new();
    for (at, (name, meaning)) in CLASSES.into_iter().enumerate() {
        let value = match at {
            0 => None,
            at if at == Class::Absent as usize => Some(py.get_type::<PyKeyError>()),
            at if at == Class::Unsupported as usize => Some(py.get_type::<PyTypeError>()),
            _ => Some(py.get_type::<PyValueError>()),
        };
        let bases = match (types.first(), value) {
            (Some(ours), Some(value)) => PyTuple::new(py, [ours.bind(py), &value])?,
            _ => PyTuple::new(py, [py.get_type::<PyException>()])?,
        };
        let content = PyDict::new(py);
        content.set_item("__doc__", meaning)?;
        content.set_item("__module__", "gardenia")?;
        let class = py.get_type::<PyType>().call1((name, bases, content))?;
        types.push(class.cast_into::<PyType>()?.unbind());
    }
    Ok(types)
}

impl Class {
    pub(crate) fn error(self, message: impl Into<String>) -> PyErr {
        let message = message.into();
        Python::attach(|py| match types(py).map(|mut types| types.nth(self as usize)) {
            Ok(Some((_, class))) => PyErr::from_type(class, message),
            Ok(None) => PyValueError::new_err(message),
            Err(error) => error,
        })
    }
}

/// How an option is written in Python: `secondary_cells`.
pub(crate) fn spell(param: Param) -> String {
    param.word().replace('-', "_")
}

pub(crate) fn spec(error: SpecError) -> PyErr {
    let mut message = error.what(spell);
    if let Some(at) = error.at() {
        message = format!("at character {at}: {message}");
    }
    let remedy = error.remedy(spell);
    if !remedy.is_empty() {
        message = format!("{message}. hint: {remedy}");
    }
    match error.size_error() {
        Some(SizeError::Memory { .. }) => PyMemoryError::new_err(message),
        _ => Class::Spec.error(message),
    }
}

pub(crate) fn size(error: SizeError) -> PyErr {
    spec(error.into())
}

/// `added` is how many keys of the call are in.
pub(crate) fn insert(error: InsertError, added: u64) -> PyErr {
    let error = match error {
        InsertError::Fixed => return Class::Unsupported.error(error.to_string()),
        InsertError::Full(full) if full.copies => Class::Full.error(full.to_string()),
        error @ InsertError::Growth { .. } => Class::Full.error(error.to_string()),
        error => {
            Class::Full.error(format!("{error}. hint: build it for more keys (items), or use ScalableBloom"))
        }
    };
    Python::attach(|py| {
        let _ = error.value(py).setattr("added", added);
    });
    error
}

/// `added` is how many keys of the call are in with all their copies.
pub(crate) fn times(error: Error, added: u64) -> PyErr {
    match error {
        Error::Full(full) => insert(full.into(), added),
        Error::Insert(error) => insert(error, added),
        error => Class::Full.error(error.to_string()),
    }
}

pub(crate) fn remove(error: RemoveError) -> PyErr {
    match error {
        RemoveError::Absent => Class::Absent.error(error.to_string()),
        error => Class::Remove.error(error.to_string()),
    }
}

pub(crate) fn mismatch(error: &Mismatch) -> PyErr {
    Class::Mismatch.error(format!("{error}. hint: build both with the same options and seed"))
}

pub(crate) fn encode(error: EncodeError) -> PyErr {
    match error {
        EncodeError::Io(error) => error.into(),
        EncodeError::Size(error) => size(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

pub(crate) fn decode(error: DecodeError) -> PyErr {
    match error {
        DecodeError::Io(error) => error.into(),
        DecodeError::Size(error @ SizeError::Memory { .. }) => PyMemoryError::new_err(error.to_string()),
        DecodeError::SecretMissing { .. } => Class::Format.error(hint(&error, "pass it as secret=")),
        error => {
            // The library names its own options.
            let message = error.to_string();
            Class::Format.error(message.replace("ReadOptions::", "the option "))
        }
    }
}

/// An error of a copy.
pub(crate) fn copy(error: Error) -> PyErr {
    match error {
        Error::Encode(error) => encode(error),
        Error::Decode(error) => decode(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

fn hint(error: &DecodeError, hint: &str) -> String {
    let message = error.to_string();
    let what = message.split(": give it").next().unwrap_or(&message);
    format!("{what}. hint: {hint}")
}

/// An error of a file, with its path in it, as Python's own functions have.
pub(crate) fn at_path(error: impl Into<FileError>, path: &Path) -> PyErr {
    let place = path.display().to_string();
    match error.into() {
        FileError::Io(error) => match error.raw_os_error() {
            // Python chooses the class by the number: FileNotFoundError, IsADirectoryError, …
            Some(number) => {
                let text = error.to_string();
                let text = text.split(" (os error").next().unwrap_or(&text).to_owned();
                PyOSError::new_err((number, text, place))
            }
            None => PyOSError::new_err(format!("{place}: {error}")),
        },
        FileError::Encode(error) => prefixed(&encode(error), &place),
        FileError::Decode(error) => prefixed(&decode(error), &place),
    }
}

/// An error of a file.
pub(crate) enum FileError {
    Io(std::io::Error),
    Encode(EncodeError),
    Decode(DecodeError),
}

impl From<EncodeError> for FileError {
    fn from(error: EncodeError) -> Self {
        if let EncodeError::Io(error) = error { Self::Io(error) } else { Self::Encode(error) }
    }
}

impl From<DecodeError> for FileError {
    fn from(error: DecodeError) -> Self {
        if let DecodeError::Io(error) = error { Self::Io(error) } else { Self::Decode(error) }
    }
}

/// The same error with the place in front.
fn prefixed(error: &PyErr, place: &str) -> PyErr {
    Python::attach(|py| PyErr::from_type(error.get_type(py), format!("{place}: {}", error.value(py))))
}
