//! The class `Foreign`: a filter in the format of another program, such as Spark's. Formats come from the library's table.
//!
//! Its keys are hashed as that program does it, so that they have types: the number 7 and the text "7" are two keys, and so are
//! 7 as `int` and as `long` in some formats. Integers are `long`, floats `double` and text `string` unless `type` says otherwise.

use crate::arrow::Stream;
use crate::batch::Nulls;
use crate::buffer::{self, Data, Elements, to_array};
use crate::column::Column;
use crate::errors::{self, Class};
use crate::guarded::Guarded;
use gardenia::format::{
    Foreign as Shared, ForeignInsert, ForeignKey, Format, FormatAbility, KeyError, KeyType,
};
use gardenia::{DecodeError, ReadOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyFloat, PyInt, PyString, PyTuple, PyType};

/// A filter that accepts keys, or one of a format that is only read.
enum Held {
    Written(Box<dyn ForeignInsert>),
    Read(Box<dyn Shared>),
}

impl Held {
    fn shared(&self) -> &dyn Shared {
        match self {
            Self::Written(filter) => &**filter,
            Self::Read(filter) => &**filter,
        }
    }

    fn written(&mut self) -> PyResult<&mut dyn ForeignInsert> {
        match self {
            Self::Written(filter) => Ok(&mut **filter),
            Self::Read(filter) => Err(cannot(filter.format(), "be changed or written, only read")),
        }
    }
}

fn cannot(format: Format, what: &str) -> PyErr {
    Class::Unsupported.error(format!("a filter in the format {} cannot {what}", format.name()))
}

fn named(name: &str) -> PyResult<Format> {
    Format::from_name(name).ok_or_else(|| {
        let known = Format::ALL.map(Format::name).join(", ");
        Class::Spec.error(format!("no format is called {name:?}. hint: use one of {known}"))
    })
}

fn key_type(name: Option<&str>) -> PyResult<Option<KeyType>> {
    let Some(name) = name else { return Ok(None) };
    KeyType::from_name(name).map(Some).ok_or_else(|| {
        let known = KeyType::ALL.map(KeyType::name).join(", ");
        PyValueError::new_err(format!("type is {name:?}, and must be one of {known}"))
    })
}

/// The key as the type that it is to have.
fn typed<'a>(key: ForeignKey<'a>, wanted: Option<KeyType>) -> Result<ForeignKey<'a>, String> {
    let other =
        |wanted: KeyType| format!("a key of type {} is not of type {}", key.key_type().name(), wanted.name());
    Ok(match (key, wanted) {
        (key, None) => key,
        (key, Some(wanted)) if key.key_type() == wanted => key,
        (ForeignKey::Long(long), Some(KeyType::Int)) => {
            ForeignKey::Int(long.try_into().map_err(|_| format!("{long} has more than 32 bits"))?)
        }
        (ForeignKey::Double(double), Some(KeyType::Float)) => ForeignKey::Float(double as f32),
        (ForeignKey::Float(float), Some(KeyType::Double)) => ForeignKey::Double(float.into()),
        (ForeignKey::Text(text), Some(KeyType::Utf16)) => ForeignKey::Utf16(text),
        (ForeignKey::Text(text), Some(KeyType::Bytes)) => ForeignKey::Bytes(text.as_bytes()),
        (ForeignKey::Bytes(bytes), Some(wanted @ (KeyType::String | KeyType::Utf16))) => {
            let text = std::str::from_utf8(bytes).map_err(|_| other(wanted))?;
            typed(ForeignKey::Text(text), Some(wanted))?
        }
        (_, Some(wanted)) => return Err(other(wanted)),
    })
}

/// Hands a Python object to `work` as a key, or `None`.
fn with_key<R>(
    object: &Bound<'_, PyAny>,
    wanted: Option<KeyType>,
    work: impl FnOnce(Option<ForeignKey<'_>>) -> PyResult<R>,
) -> PyResult<R> {
    let wrong = |error: String| PyTypeError::new_err(error);
    if object.is_none() {
        work(None)
    } else if let Ok(text) = object.cast::<PyString>() {
        work(Some(typed(ForeignKey::Text(text.to_str()?), wanted).map_err(wrong)?))
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        work(Some(typed(ForeignKey::Bytes(bytes.as_bytes()), wanted).map_err(wrong)?))
    } else if object.cast::<PyInt>().is_ok() {
        work(Some(typed(ForeignKey::Long(object.extract()?), wanted).map_err(wrong)?))
    } else if let Ok(float) = object.cast::<PyFloat>() {
        work(Some(typed(ForeignKey::Double(float.value()), wanted).map_err(wrong)?))
    } else {
        Err(PyTypeError::new_err(format!(
            "a {} is no key of another program. hint: use str, bytes, int or float",
            object.get_type().name()?
        )))
    }
}

fn wrong_key(error: KeyError) -> PyErr {
    match error {
        KeyError::Full { .. } => Class::Full.error(error.to_string()),
        error => PyTypeError::new_err(error.to_string()),
    }
}

fn missing(nulls: Nulls, row: usize) -> PyResult<()> {
    if nulls == Nulls::Skip { Ok(()) } else { Err(crate::batch::Trouble::Missing(row).into()) }
}

/// Hands each of many keys to `work`, in order; columns without the GIL.
fn each(
    keys: &Bound<'_, PyAny>,
    wanted: Option<KeyType>,
    nulls: Nulls,
    mut work: impl FnMut(Option<ForeignKey<'_>>) -> Result<(), KeyError> + Send,
) -> PyResult<()> {
    let py = keys.py();
    let mut done = 0;
    let mut all_of = |column: &dyn Column| -> PyResult<()> {
        py.detach(|| {
            for row in 0..column.len() {
                let key = column.foreign(row).map_err(PyTypeError::new_err)?;
                match key {
                    Some(key) => work(Some(typed(key, wanted).map_err(PyTypeError::new_err)?)),
                    None => {
                        missing(nulls, done + row)?;
                        work(None)
                    }
                }
                .map_err(wrong_key)?;
            }
            Ok::<_, PyErr>(())
        })?;
        done += column.len();
        py.check_signals()
    };
    if keys.cast::<PyString>().is_ok() || keys.cast::<PyBytes>().is_ok() || keys.cast::<PyByteArray>().is_ok()
    {
        return Err(PyTypeError::new_err(
            "a text or bytes object is one key, and many are expected. hint: use add(key), or pass [key]",
        ));
    }
    if let Some(mut stream) = Stream::of(keys)? {
        while let Some(column) = stream.next(py)? {
            all_of(&*column)?;
        }
        return Ok(());
    }
    if keys.hasattr("__array_interface__")?
        && let Elements::Column(column) = buffer::array(keys)?
    {
        return all_of(&*column);
    }
    for (row, object) in keys.try_iter()?.enumerate() {
        with_key(&object?, wanted, |key| {
            if key.is_none() {
                missing(nulls, row)?;
            }
            work(key).map_err(wrong_key)
        })?;
    }
    Ok(())
}

fn nulls_of(name: &str) -> PyResult<Nulls> {
    match crate::batch::Options::new(name, 1, None)?.nulls {
        Nulls::Key => Err(PyValueError::new_err(
            "nulls=\"key\": other programs have no key for a missing value. hint: use \"error\" or \"skip\"",
        )),
        nulls => Ok(nulls),
    }
}

/// A filter in the format of another program: that program reads its bytes and gives the same answers.
///
/// >>> ids = gardenia.Foreign("spark", items=1000, fpp=0.01)
/// >>> ids.update(range(100))
/// >>> 7 in ids, "7" in ids, len(ids.to_bytes())
/// (True, False, 1216)
#[pyclass(frozen, weakref, module = "gardenia")]
pub(crate) struct Foreign(Guarded<Held>);

#[pymethods]
impl Foreign {
    /// An empty filter for `items` keys at the false-positive rate `fpp`, in the size that the program would choose. Formats have the
    /// names that the command's --format accepts.
    #[new]
    #[pyo3(signature = (format, *, items, fpp=0.01))]
    fn new(py: Python<'_>, format: &str, items: u64, fpp: f64) -> PyResult<Self> {
        let format = named(format)?;
        let made = py.detach(|| format.create(items, fpp)).map_err(errors::size)?;
        Ok(Self(Guarded::new(Held::Written(made))))
    }

    /// The filter in these bytes, of the named format or of the only one that fits.
    #[staticmethod]
    #[pyo3(signature = (data, format=None, *, max_bytes=None))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        format: Option<&str>,
        max_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let format = match format {
            Some(name) => named(name)?,
            None => match &Format::recognise(data)[..] {
                [] => {
                    return Err(Class::Format.error(
                        "no known format. hint: gardenia.from_bytes reads the bytes of this package's filters",
                    ));
                }
                [only] => *only,
                several => {
                    let names: Vec<_> = several.iter().map(|format| format.name()).collect();
                    return Err(Class::Format
                        .error(format!("the format may be {}. hint: pass format=", names.join(" or "))));
                }
            },
        };
        let options = max_bytes.map_or_else(ReadOptions::new, |most| ReadOptions::new().max_bytes(most));
        let read = || -> Result<Held, DecodeError> {
            if !format.can(FormatAbility::Write) {
                return Ok(Held::Read(format.read(data, &options)?));
            }
            Ok(match format.read(data, &options)?.into_insert() {
                Some(filter) => Held::Written(filter),
                None => Held::Read(format.read(data, &options)?),
            })
        };
        Ok(Self(Guarded::new(py.detach(read).map_err(errors::decode)?)))
    }

    /// The bytes of its file: what the other program reads.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let guard = self.0.read(py)?;
        let bytes = match &*guard {
            Held::Written(filter) => py.detach(|| filter.to_bytes()).map_err(errors::encode)?,
            Held::Read(filter) => return Err(cannot(filter.format(), "be written, only read")),
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Adds `key`, as `type` if it is given; True if it was certainly not in the filter before.
    #[pyo3(signature = (key, *, r#type=None))]
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>, r#type: Option<&str>) -> PyResult<bool> {
        with_key(key, key_type(r#type)?, |key| {
            let key = key.ok_or_else(|| PyTypeError::new_err("None is no key of another program"))?;
            self.0.write(py)?.written()?.insert(key).map_err(wrong_key)
        })
    }

    /// Adds each key of a list, an array, Arrow data or any iterable, as `type` if it is given. Missing keys are an error, or left out with
    /// nulls="skip".
    #[pyo3(signature = (keys, *, r#type=None, nulls="error"))]
    fn update(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        r#type: Option<&str>,
        nulls: &str,
    ) -> PyResult<()> {
        let (wanted, nulls) = (key_type(r#type)?, nulls_of(nulls)?);
        let mut guard = self.0.write(py)?;
        let filter = guard.written()?;
        each(keys, wanted, nulls, |key| key.map_or(Ok(()), |key| filter.insert(key).map(|_| ())))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        with_key(key, None, |key| match key {
            Some(key) => self.0.read(py)?.shared().contains(key).map_err(wrong_key),
            None => Ok(false),
        })
    }

    /// An array that says of each key whether it may be in the filter.
    #[pyo3(signature = (keys, *, r#type=None, nulls="error", arrow=false))]
    fn contains_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        r#type: Option<&str>,
        nulls: &str,
        arrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (wanted, nulls) = (key_type(r#type)?, nulls_of(nulls)?);
        let guard = self.0.read(py)?;
        let (filter, mut answers) = (guard.shared(), Vec::new());
        each(keys, wanted, nulls, |key| {
            answers.push(key.map_or(Ok(false), |key| filter.contains(key))?);
            Ok(())
        })?;
        to_array(py, Data::Bools(answers), arrow)
    }

    /// Adds what another filter of the same format and shape holds.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        if slf.is(other) {
            return Ok(());
        }
        let (mut ours, theirs) = slf.get().0.write_and_read(&other.get().0, slf.py())?;
        let (ours, theirs) = (ours.written()?, theirs.shared());
        match slf.py().detach(|| ours.merge_from(theirs)) {
            Some(outcome) => outcome.map_err(|error| errors::mismatch(&error)),
            None => Err(cannot(ours.format(), "be merged")),
        }
    }

    /// The name of the format.
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.0.read(py)?.shared().format().name())
    }

    /// The types that keys may have: "long", "string" and others.
    #[getter]
    fn key_types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.read(py)?.shared().key_types().iter().map(|one| one.name()))
    }

    /// Bits of its table.
    #[getter]
    fn bits(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.read(py)?.shared().bits())
    }

    /// Bits, or cells, of a key.
    #[getter]
    fn hashes(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.0.read(py)?.shared().hashes())
    }

    /// The current false-positive rate, by how full the filter is.
    #[getter]
    fn fpp(&self, py: Python<'_>) -> PyResult<f64> {
        let guard = self.0.read(py)?;
        let filter = guard.shared();
        Ok(py.detach(|| filter.fpp()))
    }

    /// How many distinct keys are in the filter, estimated; None if that is not known.
    #[getter]
    fn estimated_items(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let guard = self.0.read(py)?;
        let filter = guard.shared();
        Ok(py.detach(|| filter.estimated_items()))
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(slf.get().format(slf.py())? == other.get().format(slf.py())?
            && slf.get().to_bytes(slf.py())?.as_bytes() == other.get().to_bytes(slf.py())?.as_bytes())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let class: Bound<'py, PyType> = slf.get_type();
        let (data, format) = (slf.get().to_bytes(slf.py())?, slf.get().format(slf.py())?);
        (class.getattr("from_bytes")?, (data, format)).into_pyobject(slf.py())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let guard = self.0.read(py)?;
        let filter = guard.shared();
        let bytes = gardenia::spec::number::show_bytes(filter.bits().div_ceil(8));
        Ok(format!("<gardenia.Foreign: {}, {} hashes, {bytes}>", filter.format().title(), filter.hashes()))
    }
}

/// The table of formats: each with its name, what it is, and what can be done with it.
pub(crate) fn table(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let ability = |ability: &FormatAbility| format!("{ability:?}").to_lowercase();
    let row = |format: Format| {
        let abilities: Vec<String> = format.abilities().iter().map(ability).collect();
        Ok((format.name(), format.title(), abilities).into_pyobject(py)?.into_any())
    };
    Format::ALL.into_iter().map(row).collect()
}
