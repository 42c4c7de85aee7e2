//! Gardenia for Python: a thin front on the library. `docs/python.md` is its guide.
//!
//! Python objects, numpy arrays and Arrow data become digests here, by the library's own [`Key`](gardenia::Key) and
//! [`KeyHasher`](gardenia::KeyHasher); everything else (kinds, options, sizes, loops) is the library's. Classes, keyword arguments,
//! docstrings and stubs come from the table of kinds.

mod arrow;
mod batch;
mod buffer;
mod classes;
mod column;
mod corpus;
mod errors;
mod filter;
mod foreign;
mod guarded;
mod keys;
mod parquet;
mod plan;
mod spec;
mod top;

use pyo3::prelude::*;

#[pymodule]
mod _gardenia {
    use crate::batch::Options;
    #[pymodule_export]
    use crate::corpus::{Corpus, merge};
    use crate::filter::Filter;
    #[pymodule_export]
    use crate::foreign::Foreign;
    #[pymodule_export]
    use crate::plan::Design;
    #[pymodule_export]
    use crate::top::Top;
    use crate::{classes, errors, filter, foreign, keys, parquet, plan as planning, spec};
    use gardenia::{Digest, KeyHasher, Kind, Spec};
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyDict, PyList, PyType};
    use std::path::PathBuf;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        for (name, class) in errors::types(module.py())? {
            module.add(name, class)?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        classes::add_to(module)
    }

    /// A spec from text, or from a name and keyword arguments.
    fn read_spec(text: &str, secret: Option<&[u8]>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Spec> {
        let mut made = match Spec::named(text) {
            Some(named) => named,
            None => text.parse().map_err(errors::spec)?,
        };
        if let Some(secret) = secret {
            made = made.secret(spec::secret(secret)?);
        }
        spec::options_only(made, options)
    }

    /// The filter of a spec, such as "cuckoo items=1M fpp=0.1%": empty, or built from `keys`. Options may also be keyword arguments.
    ///
    /// >>> seen = gardenia.make("cuckoo items=1M fpp=0.1%")
    /// >>> seen.add("rose"), seen.kind
    /// (True, 'cuckoo')
    #[pyfunction]
    #[pyo3(signature = (spec, keys=None, values=None, *, secret=None, spared=None, nulls="error", threads=1, progress=None, **options))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn make<'py>(
        py: Python<'py>,
        spec: &str,
        keys: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
        secret: Option<&[u8]>,
        spared: Option<&Bound<'py, PyAny>>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = Options::new(nulls, threads, progress)?;
        filter::make(py, &read_spec(spec, secret, options)?, keys, values, spared, &batch)
    }

    /// Opens a filter file and returns the right class. `mmap=True` maps the file instead of reading it: the filter opens at once, whatever its
    /// size, and is read-only. Nobody may change a mapped file in place or cut it short: answers would be wrong, or the process would be
    /// killed (SIGBUS).
    ///
    /// >>> gardenia.Bloom(["rose"], items=100).save("garden.gdn")
    /// >>> "rose" in gardenia.open("garden.gdn")
    /// True
    #[pyfunction]
    #[pyo3(signature = (path, *, mmap=false, secret=None, max_bytes=None, max_expansion=None))]
    fn open<'py>(
        py: Python<'py>,
        path: PathBuf,
        mmap: bool,
        secret: Option<&[u8]>,
        max_bytes: Option<u64>,
        max_expansion: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let is_top = || {
            let header = gardenia::format::header(std::io::BufReader::new(std::fs::File::open(&path).ok()?));
            Some(header.ok()?.identity.kind == Kind::Top)
        };
        if is_top() == Some(true) {
            return Ok(Bound::new(py, Top::open(path)?)?.into_any());
        }
        Filter::open(&py.get_type::<Filter>(), path, mmap, secret, max_bytes, max_expansion)
    }

    /// The filter in these bytes: what to_bytes() returned, or the content of a file.
    ///
    /// >>> garden = gardenia.Bloom(["rose"], items=100)
    /// >>> gardenia.from_bytes(garden.to_bytes()) == garden
    /// True
    #[pyfunction]
    #[pyo3(signature = (data, *, secret=None, max_bytes=None, max_expansion=None))]
    fn from_bytes<'py>(
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        secret: Option<&[u8]>,
        max_bytes: Option<u64>,
        max_expansion: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(py);
        options.set_item("secret", secret)?;
        options.set_item("max_bytes", max_bytes)?;
        options.set_item("max_expansion", max_expansion)?;
        py.get_type::<Filter>().call_method("from_bytes", (data,), Some(&options))
    }

    /// All designs that do what is asked, the best first. `items` is the number of keys, `fpp` the false-positive rate, `memory` the most
    /// bytes; abilities are asked for by name: remove=True, count=True, merge=True, grow=True, forget=True, fixed=True, map=8 (bits).
    ///
    /// >>> gardenia.plan(items=1_000_000, fpp=0.01, remove=True)[0].kind
    /// 'cuckoo'
    #[pyfunction]
    #[pyo3(signature = (items=None, fpp=None, memory=None, *, prefer="balance", **abilities))]
    fn plan(
        items: Option<u64>,
        fpp: Option<f64>,
        memory: Option<u64>,
        prefer: &str,
        abilities: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Design>> {
        planning::plan(items, fpp, memory, prefer, abilities)
    }

    /// What the filter of a spec takes before it is built: a dict with the filled spec, nbytes, file_bytes, fpp and bound.
    ///
    /// >>> gardenia.size("bloom items=1M", fpp=0.01)["nbytes"]
    /// 1199120
    #[pyfunction]
    #[pyo3(signature = (spec, **options))]
    fn size<'py>(
        py: Python<'py>,
        spec: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        planning::size(py, &read_spec(spec, None, options)?)
    }

    /// The canonical bytes of a key: two keys are the same exactly if these are.
    ///
    /// >>> gardenia.key_bytes("a"), gardenia.key_bytes(1)
    /// (b'a', b'\x01\x00\x00\x00\x00\x00\x00\x00')
    #[pyfunction]
    fn key_bytes<'py>(py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &keys::bytes(key)?))
    }

    /// The digest of a key, an int of 64 bits: XXH3-64 of its canonical bytes with `seed`, or SipHash-1-3 with `secret`.
    ///
    /// >>> hex(gardenia.digest("rose"))
    /// '0xd6ea2b8b8a72aca7'
    /// >>> gardenia.digest("rose") == gardenia.Bloom(items=100).digest("rose")
    /// True
    #[pyfunction]
    #[pyo3(signature = (key, *, seed=0, secret=None))]
    fn digest(key: &Bound<'_, PyAny>, seed: u64, secret: Option<&[u8]>) -> PyResult<u64> {
        let hasher = match secret {
            Some(secret) => KeyHasher::sip13(spec::secret(secret)?),
            None => KeyHasher::xxh3(seed),
        };
        let Digest(digest) = hasher.digest(&keys::bytes(key)?);
        Ok(digest)
    }

    /// What unpickles a filter: its own bytes, which nothing limits.
    #[pyfunction]
    fn _restore<'py>(class: &Bound<'py, PyType>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Filter::from_bytes(class, data, None, Some(u64::MAX), Some(u64::MAX))
    }

    /// An empty filter for a column of a Parquet file: for gardenia.parquet.
    #[pyfunction]
    fn _parquet_filter(py: Python<'_>, items: u64, fpp: f64) -> PyResult<Bound<'_, PyAny>> {
        parquet::empty(py, items, fpp)
    }

    /// Writes a copy of a Parquet file with filters, each with its row group and column: for gardenia.parquet.
    #[pyfunction]
    fn _parquet_add(
        py: Python<'_>,
        source: PathBuf,
        target: PathBuf,
        filters: Vec<(u64, usize, Bound<'_, Filter>)>,
    ) -> PyResult<()> {
        parquet::add(py, source, target, filters)
    }

    /// The table of kinds: for stubs and tests.
    #[pyfunction]
    fn _table(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        classes::table(py)
    }

    /// The table of formats of other programs: for `gardenia.spark` and tests.
    #[pyfunction]
    fn _formats(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
        foreign::table(py)
    }
}
