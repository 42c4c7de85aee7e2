//! The class `Top`: the most frequent keys of a stream. It holds keys, not only digests, so that it is not a `Filter`.

use crate::batch::{HOLD, Nulls, OBJECTS, Options, Ticker, Trouble};
use crate::errors;
use crate::guarded::Guarded;
use crate::keys;
use gardenia::{Merge, Top as Sketch};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PySlice, PyString, PyTuple, PyType};
use std::path::PathBuf;
use std::time::Instant;

/// The most frequent keys of a stream, with bounds on their counts.
///
/// >>> top = gardenia.Top(10)
/// >>> top.update(["rose", "tulip", "rose"])
/// >>> top.most_common(1, type=str)
/// [('rose', 2, 2)]
#[pyclass(frozen, subclass, weakref, module = "gardenia")]
pub(crate) struct Top(Guarded<Sketch>);

#[pymethods]
impl Top {
    /// The `keys` most frequent keys; `memory` is the size of the sketch in bytes.
    #[new]
    #[pyo3(signature = (keys=10, *, memory=None))]
    fn new(keys: usize, memory: Option<u64>) -> PyResult<Self> {
        let top = match memory {
            Some(memory) => Sketch::with_bytes(keys, memory),
            None => Sketch::new(keys),
        };
        Ok(Self(Guarded::new(top.map_err(errors::size)?)))
    }

    /// Counts `key`, `times` times.
    #[pyo3(signature = (key, times=1))]
    fn add(&self, key: &Bound<'_, PyAny>, times: u64) -> PyResult<()> {
        let bytes = keys::bytes(key)?;
        self.0.write(key.py())?.update(&bytes[..], times);
        Ok(())
    }

    /// Counts each key of a list, an array, Arrow data or any iterable.
    #[pyo3(signature = (keys, *, nulls="error", progress=None))]
    fn update(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        nulls: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if keys.cast::<PyString>().is_ok() || keys.cast::<PyBytes>().is_ok() {
            return Err(PyTypeError::new_err("a text is one key, and many are expected. hint: use add(key)"));
        }
        let options = Options::new(nulls, 1, progress)?;
        let mut ticker = Ticker::new(keys, &options)?;
        let mut since = Instant::now();
        let mut each = |keys: &Bound<'_, PyAny>| -> PyResult<()> {
            for key in keys.try_iter()? {
                let key = key?;
                match (keys::missing(&key), options.nulls) {
                    (Some(_), Nulls::Error) => return Err(Trouble::Missing(ticker.done()).into()),
                    (Some(_), Nulls::Skip) => {}
                    (Some(bytes), Nulls::Key) => self.0.write(py)?.update(&bytes[..], 1),
                    (None, _) => {
                        let bytes = keys::bytes(&key)?;
                        self.0.write(py)?.update(&bytes[..], 1);
                    }
                }
                ticker.count(py, 1)?;
                if since.elapsed() > HOLD {
                    py.detach(|| ());
                    py.check_signals()?;
                    since = Instant::now();
                }
            }
            Ok(())
        };
        // Arrays become lists a piece at a time, which is short enough to hold the GIL for. Not so times, where Python's have too few
        // digits: numpy makes a list of integers of them.
        let is_times = keys
            .getattr("dtype")
            .and_then(|dtype| dtype.getattr("kind"))
            .is_ok_and(|kind| kind.eq("M").unwrap_or(false));
        let mut lists = ["to_pylist", "tolist", "to_list"].into_iter();
        match (lists.find(|name| !is_times && keys.hasattr(*name).unwrap_or(false)), keys.len()) {
            (Some(list), Ok(len)) => (0..len).step_by(OBJECTS).try_for_each(|from| {
                let rows = PySlice::new(py, from as isize, (from + OBJECTS).min(len) as isize, 1);
                // The index of a pandas Series may have labels that are numbers.
                let slices = keys.getattr("iloc").unwrap_or_else(|_| keys.clone());
                each(&slices.get_item(rows)?.call_method0(list)?)
            })?,
            _ => each(keys)?,
        }
        ticker.finish(py)
    }

    /// The `keys` most frequent keys as (key, least count, most count), the most frequent first. Keys are given as their canonical
    /// bytes, or as `type`: str or int.
    #[pyo3(signature = (keys=10, *, r#type=None))]
    fn most_common<'py>(
        &self,
        py: Python<'py>,
        keys: usize,
        r#type: Option<&Bound<'py, PyType>>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let is = |class: Bound<'py, PyType>| r#type.is_some_and(|wanted| wanted.is(&class));
        let (text, number) = (is(py.get_type::<PyString>()), is(py.get_type::<PyInt>()));
        if !text && !number && r#type.is_some_and(|wanted| !wanted.is(py.get_type::<PyBytes>())) {
            return Err(PyValueError::new_err("type must be bytes, str or int"));
        }
        let hitters = self.0.read(py)?.top(keys);
        let mut answer = Vec::new();
        for hitter in hitters {
            let key = match <[u8; 8]>::try_from(&hitter.key[..]) {
                Ok(bytes) if number => i64::from_le_bytes(bytes).into_pyobject(py)?.into_any(),
                _ if number => {
                    let message = format!("the key {:?} is no integer. hint: leave out type", hitter.key);
                    return Err(PyValueError::new_err(message));
                }
                _ if text => PyString::new(py, &String::from_utf8_lossy(&hitter.key)).into_any(),
                _ => PyBytes::new(py, &hitter.key).into_any(),
            };
            answer.push((key, hitter.lower, hitter.upper).into_pyobject(py)?);
        }
        Ok(answer)
    }

    /// The least and the most that `key` can have been counted.
    fn bounds(&self, key: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let bytes = keys::bytes(key)?;
        Ok(self.0.read(key.py())?.bounds(&bytes[..]))
    }

    /// Adds what another one counted.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        if slf.is(other) {
            let copy = slf.get().0.read(py)?.clone();
            return slf.get().0.write(py)?.merge(&copy).map_err(|error| errors::mismatch(&error));
        }
        let (mut ours, theirs) = slf.get().0.write_and_read(&other.get().0, py)?;
        ours.merge(&theirs).map_err(|error| errors::mismatch(&error))
    }

    /// The sum of all counts.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.read(py)?.total())
    }

    /// Every key that was counted more often than this is among the candidates.
    #[getter]
    fn floor(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.0.read(py)?.floor())
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        Ok(*slf.get().0.read(py)? == *other.get().0.read(py)?)
    }

    /// The bytes of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.read(py)?.to_bytes().map_err(errors::encode)?))
    }

    /// What `to_bytes` wrote, with every checksum verified.
    #[staticmethod]
    pub(crate) fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self(Guarded::new(Sketch::from_bytes(data).map_err(errors::decode)?)))
    }

    /// Writes a file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.0.read(py)?.save(&path).map_err(|error| errors::at_path(error, &path))
    }

    /// Reads a file, with every checksum verified.
    #[staticmethod]
    pub(crate) fn open(path: PathBuf) -> PyResult<Self> {
        let top = Sketch::load(&path).map_err(|error| errors::at_path(error, &path))?;
        Ok(Self(Guarded::new(top)))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let data = slf.get().to_bytes(slf.py())?;
        (slf.get_type().getattr("from_bytes")?, (data,)).into_pyobject(slf.py())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let top = self.0.read(py)?;
        Ok(format!("<gardenia.Top: {} counted, {} candidates>", top.total(), top.slots()))
    }
}
