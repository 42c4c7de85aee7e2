//! The class `Filter`: a filter of any kind. Its subclasses come from the table of kinds (`classes.rs`).
#![allow(unsafe_code)] // a mapped file is unsafe, and `add` is called by the interpreter without a detour

use crate::batch::{self, Collect, Nulls, Options, Rows, Trouble, Work, each_chunk, in_threads};
use crate::buffer::{Buffer, Data, to_array};
use crate::column::Column;
use crate::errors::{self, Class};
use crate::guarded::{Guarded, Reading, Writing};
use crate::{keys, spec};
use gardenia::{
    Ability, AnyFilter, DecodeError, Digest, Filter as _, InsertError, KeyHasher, Kind, OpenFilter,
    ReadOptions, Spec,
};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use std::ffi::c_int;
use std::path::{Path, PathBuf};

/// Where the cells of a filter are.
pub(crate) enum Held {
    Owned(AnyFilter),
    Mapped(OpenFilter),
    /// A mapped file that was closed again.
    Closed,
}

/// Does the same with a filter in memory or in a file.
macro_rules! either {
    ($held:expr, $filter:ident => $work:expr) => {
        match $held {
            Held::Owned($filter) => Ok($work),
            Held::Mapped($filter) => Ok($work),
            Held::Closed => Err(closed()),
        }
    };
}

fn closed() -> PyErr {
    PyValueError::new_err("the filter is closed. hint: open the file again")
}

impl Held {
    #[inline]
    fn owned_mut(&mut self) -> PyResult<&mut AnyFilter> {
        match self {
            Self::Owned(filter) => Ok(filter),
            Self::Mapped(_) => Err(read_only()),
            Self::Closed => Err(closed()),
        }
    }

    fn contains(&self, digests: &[Digest], answers: &mut [bool]) -> PyResult<()> {
        either!(self, filter => filter.contains_digests(digests, answers))
    }

    fn count(&self, digests: &[Digest], counts: &mut [u64]) -> PyResult<()> {
        match either!(self, filter => filter.as_count())? {
            Some(counting) => {
                counting.count_digests(digests, counts);
                Ok(())
            }
            None => Err(unsupported("count keys")),
        }
    }

    fn to_bytes(&self) -> PyResult<Vec<u8>> {
        match self {
            Self::Owned(filter) => filter.to_bytes().map_err(errors::encode),
            Self::Mapped(filter) => match filter.as_mapped() {
                Some(filter) => filter.to_bytes().map_err(errors::encode),
                None => Err(closed()),
            },
            Self::Closed => Err(closed()),
        }
    }

    /// A copy in memory.
    fn to_owned(&self) -> PyResult<AnyFilter> {
        match self {
            Self::Owned(filter) => filter.try_clone().map_err(errors::copy),
            Self::Mapped(filter) => match filter.as_mapped() {
                Some(filter) => filter.try_clone().map_err(errors::copy),
                None => Err(closed()),
            },
            Self::Closed => Err(closed()),
        }
    }
}

fn read_only() -> PyErr {
    Class::Unsupported
        .error("a mapped filter is read-only. hint: open it without mmap=True, or change a copy()")
}

fn unsupported(what: &str) -> PyErr {
    Class::Unsupported.error(format!("this filter cannot {what}"))
}

/// A filter that Rust made and that becomes an instance of whichever class: what `__new__` is given then.
#[pyclass(frozen, module = "gardenia._gardenia")]
struct Made(std::sync::Mutex<Option<Held>>);

/// A filter of any kind.
#[pyclass(frozen, subclass, weakref, module = "gardenia")]
pub(crate) struct Filter {
    held: Guarded<Held>,
    hasher: KeyHasher,
    kind: Kind,
}

impl Filter {
    fn of(held: Held) -> PyResult<Self> {
        let (hasher, kind) = either!(&held, filter => (filter.hasher().clone(), filter.kind()))?;
        Ok(Self { held: Guarded::new(held), hasher, kind })
    }

    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Reading<'_, Held>> {
        self.held.read(py)
    }

    fn write(&self, py: Python<'_>) -> PyResult<Writing<'_, Held>> {
        self.held.write(py)
    }

    fn digest_of(&self, key: &Bound<'_, PyAny>) -> PyResult<Digest> {
        // SAFETY: the key lives as long as the reference.
        unsafe { keys::digest(key.py(), key.as_ptr(), &self.hasher) }
    }

    /// An instance of a class, or of the class of its kind.
    pub(crate) fn instance<'py>(
        py: Python<'py>,
        class: Option<&Bound<'py, PyType>>,
        held: Held,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = either!(&held, filter => filter.kind())?;
        let class = match class {
            Some(class) if kind_of(class)?.is_some() => class.clone(),
            _ => crate::classes::of_kind(py, kind)?,
        };
        match kind_of(&class)? {
            Some(expected) if expected != kind => Err(Class::Format.error(format!(
                "it holds a filter of kind {}, not {}. hint: use gardenia.open or gardenia.from_bytes, which return the right class",
                kind.name(),
                expected.name()
            ))),
            _ => {
                let made = Bound::new(py, Made(std::sync::Mutex::new(Some(held))))?;
                let new = py.get_type::<Self>().getattr("__new__")?;
                new.call1((class, made))
            }
        }
    }

    /// The filter of a spec: empty, or built from keys.
    pub(crate) fn build<'py>(
        py: Python<'py>,
        spec: &Spec,
        keys: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
        spared: Option<&Bound<'py, PyAny>>,
        options: &Options<'py>,
    ) -> PyResult<Held> {
        let hasher = spec.hasher();
        let collect = |keys: &Bound<'py, PyAny>| {
            let mut collected = Collect { digests: Vec::new(), hasher: hasher.clone() };
            batch::run(keys, &hasher, options, &mut collected)?;
            Ok::<_, PyErr>(collected.digests)
        };
        let Some(keys) = keys else {
            if values.is_some() || spared.is_some() {
                return Err(PyTypeError::new_err(
                    "values and spared belong to keys. hint: pass the keys first",
                ));
            }
            return py.detach(|| spec.build()).map(Held::Owned).map_err(errors::spec);
        };
        let is_map = spec.kind().can(Ability::Map);
        let (keys, values) = match (keys.cast::<PyDict>(), values) {
            (Ok(map), None) if is_map => (map.call_method0("keys")?, Some(map.call_method0("values")?)),
            _ => (keys.clone(), values.cloned()),
        };
        let digests = collect(&keys)?;
        if let Some(values) = values {
            if !is_map {
                let message = format!("{} holds no values. hint: leave out values", spec.kind().name());
                return Err(PyTypeError::new_err(message));
            }
            let values = batch::wholes::<u32>(&values)?;
            let map = py.detach(|| spec.build_map(&digests, &values)).map_err(errors::spec)?;
            return Ok(Held::Owned(map.into()));
        }
        if is_map {
            return Err(PyTypeError::new_err(
                "a map needs a value for each key. hint: pass a dict, or keys and values",
            ));
        }
        if let Some(spared) = spared {
            if spec.kind() != Kind::Retouched {
                return Err(PyTypeError::new_err("only a RetouchedBloom accepts spared. hint: leave it out"));
            }
            let spared = collect(spared)?;
            let filter = py.detach(|| spec.build_retouched(&digests, &spared)).map_err(errors::spec)?;
            return Ok(Held::Owned(filter.into()));
        }
        py.detach(|| spec.build_from(digests)).map(Held::Owned).map_err(errors::spec)
    }

    /// Runs a batch that only asks, and returns the answers.
    fn ask<T: Copy + Default + Send>(
        &self,
        keys: &Bound<'_, PyAny>,
        options: &Options<'_>,
        answer: impl Fn(&Held, &[Digest], &mut [T]) -> PyResult<()> + Sync,
    ) -> PyResult<Vec<T>> {
        let mut work = Ask { filter: self, answer, answers: Vec::new(), done: 0 };
        batch::run(keys, &self.hasher, options, &mut work)?;
        Ok(work.answers)
    }

    /// Runs a batch that changes the filter; `answers` are kept if they are asked for.
    fn change(
        &self,
        keys: &Bound<'_, PyAny>,
        options: &Options<'_>,
        keep: bool,
        change: impl FnMut(&mut AnyFilter, &[Digest], &mut [bool]) -> Result<(), InsertError> + Send,
    ) -> PyResult<(u64, Vec<bool>)> {
        let mut work = Change { filter: self, change, keep, answers: Vec::new(), done: 0 };
        let rows = batch::run(keys, &self.hasher, options, &mut work)?;
        Ok((rows, work.answers))
    }

    fn add_batch(
        &self,
        keys: &Bound<'_, PyAny>,
        options: &Options<'_>,
        keep: bool,
    ) -> PyResult<(u64, Vec<bool>)> {
        self.change(keys, options, keep, AnyFilter::insert_digests)
    }

    fn merged(&self, py: Python<'_>, other: &Self, merge: Combine) -> PyResult<AnyFilter> {
        let (ours, theirs) = (self.read(py)?, other.read(py)?);
        let (ours, theirs) = (&*ours, &*theirs);
        py.detach(|| {
            let mut ours = ours.to_owned()?;
            merge(&mut ours, theirs)?;
            Ok(ours)
        })
    }
}

type Combine = fn(&mut AnyFilter, &Held) -> PyResult<()>;

/// Merges or intersects; a filter in a file is read into memory for it.
fn combine(
    ours: &mut AnyFilter,
    theirs: &Held,
    verb: &str,
    work: fn(&mut AnyFilter, &AnyFilter) -> Option<Result<(), gardenia::Mismatch>>,
) -> PyResult<()> {
    let read;
    let theirs = match theirs {
        Held::Owned(filter) => filter,
        mapped => {
            read = mapped.to_owned()?;
            &read
        }
    };
    match work(ours, theirs) {
        Some(outcome) => outcome.map_err(|error| errors::mismatch(&error)),
        None => Err(unsupported(verb)),
    }
}

fn unite(ours: &mut AnyFilter, theirs: &Held) -> PyResult<()> {
    combine(ours, theirs, "be merged with another", AnyFilter::merge)
}

fn intersect(ours: &mut AnyFilter, theirs: &Held) -> PyResult<()> {
    combine(ours, theirs, "be intersected with another", AnyFilter::intersect_with)
}

/// A batch of questions.
struct Ask<'a, T, F> {
    filter: &'a Filter,
    answer: F,
    answers: Vec<T>,
    done: usize,
}

impl<T: Copy + Default + Send, F: Fn(&Held, &[Digest], &mut [T]) -> PyResult<()> + Sync> Work
    for Ask<'_, T, F>
{
    fn grow(&mut self, py: Python<'_>, rows: usize) -> PyResult<()> {
        grow(py, &mut self.answers, rows)
    }

    fn column(
        &mut self,
        py: Python<'_>,
        column: &dyn Column,
        from: usize,
        rows: usize,
        options: &Options<'_>,
    ) -> Result<(), Trouble> {
        let guard = self.filter.read(py)?;
        let (held, hasher, answer) = (&*guard, &self.filter.hasher, &self.answer);
        let (nulls, threads) = (options.nulls, options.threads);
        let answers = &mut self.answers[self.done..self.done + rows];
        py.detach(|| {
            in_threads(answers, threads, |at, answers| {
                each_chunk(column, from + at, answers.len(), hasher, |within, rows| {
                    let answers = &mut answers[within..within + rows.digests.len()];
                    rows.answer(nulls, answers, |digests, answers| answer(held, digests, answers))
                })
            })
        })?;
        self.done += rows;
        Ok(())
    }

    fn rows(&mut self, py: Python<'_>, rows: &Rows<'_>, nulls: Nulls) -> Result<(), Trouble> {
        let guard = self.filter.read(py)?;
        let answers = &mut self.answers[self.done..self.done + rows.digests.len()];
        rows.answer(nulls, answers, |digests, answers| (self.answer)(&guard, digests, answers))?;
        self.done += rows.digests.len();
        Ok(())
    }
}

/// Room for the answers to more rows. Without the GIL if there are many: memory that is touched first is slow.
fn grow<T: Copy + Default + Send>(py: Python<'_>, answers: &mut Vec<T>, rows: usize) -> PyResult<()> {
    let out_of_memory = |_| {
        let bytes = gardenia::spec::number::show_bytes((rows * size_of::<T>()) as u64);
        pyo3::exceptions::PyMemoryError::new_err(format!(
            "no memory for {rows} more rows, which take {bytes}"
        ))
    };
    answers.try_reserve(rows).map_err(out_of_memory)?;
    let len = answers.len() + rows;
    if rows > 1 << 16 {
        py.detach(|| answers.resize(len, T::default()));
    } else {
        answers.resize(len, T::default());
    }
    Ok(())
}

/// A batch of insertions or removals.
struct Change<'a, F> {
    filter: &'a Filter,
    change: F,
    keep: bool,
    answers: Vec<bool>,
    done: usize,
}

impl<F> Change<'_, F> {
    /// Room for the answers of the next rows: where they stay, or for a moment.
    fn room(&mut self, rows: usize) -> std::ops::Range<usize> {
        if self.keep {
            self.done..self.done + rows
        } else {
            if self.answers.len() < rows {
                self.answers.resize(rows, false);
            }
            0..rows
        }
    }
}

impl<F: FnMut(&mut AnyFilter, &[Digest], &mut [bool]) -> Result<(), InsertError> + Send> Work
    for Change<'_, F>
{
    fn grow(&mut self, py: Python<'_>, rows: usize) -> PyResult<()> {
        if self.keep { grow(py, &mut self.answers, rows) } else { Ok(()) }
    }

    fn column(
        &mut self,
        py: Python<'_>,
        column: &dyn Column,
        from: usize,
        rows: usize,
        options: &Options<'_>,
    ) -> Result<(), Trouble> {
        let room = self.room(if self.keep { rows } else { crate::column::CHUNK });
        let mut guard = self.filter.write(py)?;
        let (filter, hasher) = (guard.owned_mut()?, &self.filter.hasher);
        let (nulls, threads, keep, done) = (options.nulls, options.threads, self.keep, self.done);
        let (answers, change) = (&mut self.answers[room], &mut self.change);
        let mut insert = |at: usize, rows: &Rows<'_>| {
            let at = if keep { at } else { 0 };
            let answers = &mut answers[at..at + rows.digests.len()];
            rows.answer(nulls, answers, |digests, answers| {
                change(filter, digests, answers)
                    .map_err(|error| errors::insert(error, added(done + at, &error)))
            })
        };
        if threads <= 1 {
            py.detach(|| each_chunk(column, from, rows, hasher, &mut insert))?;
        } else {
            // Threads hash, and one inserts in order: the filter and the answers are those of one thread.
            let hash = || {
                let mut digests = vec![Digest(0); rows];
                let missing = std::sync::Mutex::new(std::collections::BTreeMap::new());
                in_threads(&mut digests, threads, |at, digests| {
                    each_chunk(column, from + at, digests.len(), hasher, |within, rows| {
                        digests[within..within + rows.digests.len()].copy_from_slice(rows.digests);
                        if !rows.missing.is_empty() {
                            let mut missing = missing.lock().unwrap_or_else(|broken| broken.into_inner());
                            missing.insert(at + within, rows.missing.to_vec());
                        }
                        Ok(())
                    })
                })?;
                let missing = missing.into_inner().unwrap_or_else(|broken| broken.into_inner());
                for (number, digests) in digests.chunks(crate::column::CHUNK).enumerate() {
                    let at = number * crate::column::CHUNK;
                    let missing = missing.get(&at).map_or(&[][..], Vec::as_slice);
                    insert(at, &Rows { digests, missing }).map_err(|trouble| match trouble {
                        Trouble::Missing(row) => Trouble::Missing(from + at + row),
                        other => other,
                    })?;
                }
                Ok::<(), Trouble>(())
            };
            py.detach(hash)?;
        }
        self.done += rows;
        Ok(())
    }

    fn rows(&mut self, py: Python<'_>, rows: &Rows<'_>, nulls: Nulls) -> Result<(), Trouble> {
        let room = self.room(rows.digests.len());
        let mut guard = self.filter.write(py)?;
        let (filter, done) = (guard.owned_mut()?, self.done);
        let (answers, change) = (&mut self.answers[room], &mut self.change);
        rows.answer(nulls, answers, |digests, answers| {
            change(filter, digests, answers).map_err(|error| errors::insert(error, added(done, &error)))
        })?;
        self.done += rows.digests.len();
        Ok(())
    }
}

/// Keys of a call that are in before one that is not.
fn added(before: usize, error: &InsertError) -> u64 {
    before as u64 + if let InsertError::Full(full) = error { full.taken } else { 0 }
}

/// The kind of a class; `None` of `Filter` itself.
fn kind_of(class: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    match class.getattr("kind")?.extract::<String>() {
        Ok(name) => Ok(Kind::from_name(&name)),
        Err(_) => Ok(None),
    }
}

/// Adds one key: what `filter.add(key)` calls, without the detours of a function with keywords.
///
/// # Safety
/// Called by the interpreter, for an instance of `Filter` and with the GIL held.
pub(crate) unsafe extern "C" fn add(slf: *mut ffi::PyObject, key: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as the caller promises.
    let outcome = unsafe { call(slf, |py, filter| add_one(py, filter, key)) };
    match outcome {
        // SAFETY: both live forever.
        Some(new) => unsafe { ffi::Py_NewRef(if new { ffi::Py_True() } else { ffi::Py_False() }) },
        None => std::ptr::null_mut(),
    }
}

/// Whether a key may be in the filter: what `key in filter` calls.
///
/// # Safety
/// Called by the interpreter, for an instance of `Filter` and with the GIL held.
pub(crate) unsafe extern "C" fn contains(slf: *mut ffi::PyObject, key: *mut ffi::PyObject) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { call(slf, |py, filter| contains_one(py, filter, key)) }.map_or(-1, c_int::from)
}

/// Does `work` with a filter; `None` if an exception is set.
///
/// # Safety
/// `slf` is a live instance of `Filter`, and the GIL is held.
#[inline(always)]
unsafe fn call(
    slf: *mut ffi::PyObject,
    work: impl FnOnce(Python<'_>, &Filter) -> PyResult<bool>,
) -> Option<bool> {
    // SAFETY: the caller's promise.
    unsafe {
        let py = Python::assume_attached();
        let slf = Borrowed::from_ptr(py, slf).cast_unchecked::<Filter>();
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(py, slf.get()))) {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.restore(py),
            Err(_) => {
                pyo3::exceptions::PyRuntimeError::new_err("gardenia panicked: please report it").restore(py);
            }
        }
        None
    }
}

#[inline(always)]
fn contains_one(py: Python<'_>, filter: &Filter, key: *mut ffi::PyObject) -> PyResult<bool> {
    // SAFETY: the interpreter holds the key.
    let digest = unsafe { keys::digest(py, key, &filter.hasher) }?;
    match &*filter.read(py)? {
        Held::Owned(filter) => Ok(filter.contains_digest(digest)),
        held => either!(held, filter => filter.contains_digest(digest)),
    }
}

#[inline(always)]
fn add_one(py: Python<'_>, filter: &Filter, key: *mut ffi::PyObject) -> PyResult<bool> {
    // SAFETY: the interpreter holds the key.
    let digest = unsafe { keys::digest(py, key, &filter.hasher) }?;
    let mut guard = filter.write(py)?;
    guard.owned_mut()?.insert_digest(digest).map_err(|error| errors::insert(error, 0))
}

#[pymethods]
impl Filter {
    #[new]
    #[classmethod]
    #[pyo3(signature = (keys=None, values=None, *, secret=None, spared=None, nulls="error", threads=1, progress=None, **options))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new<'py>(
        class: &Bound<'py, PyType>,
        keys: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
        secret: Option<&[u8]>,
        spared: Option<&Bound<'py, PyAny>>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let py = class.py();
        if let Some(made) = keys.and_then(|keys| keys.cast::<Made>().ok()) {
            let held = made.get().0.lock().unwrap_or_else(|broken| broken.into_inner()).take();
            return Self::of(held.ok_or_else(closed)?);
        }
        let Some(kind) = kind_of(class)? else {
            return Err(PyTypeError::new_err(
                "Filter is the class of all filters. hint: use one of its subclasses, such as gardenia.Bloom, or gardenia.make(spec)",
            ));
        };
        let mut spec = Spec::new(kind);
        if let Some(secret) = secret {
            spec = spec.secret(spec::secret(secret)?);
        }
        // A filter that is sized by its keys need not know how many before.
        let spec = match keys {
            Some(_) => spec::options_only(spec, options)?,
            None => spec::with_options(spec, options)?,
        };
        let batch = Options::new(nulls, threads, progress)?;
        Self::of(Self::build(py, &spec, keys, values, spared, &batch)?)
    }

    /// Adds each key of each argument: lists, arrays, Arrow data, any iterable.
    #[pyo3(signature = (*others, nulls="error", threads=1, progress=None))]
    fn update(
        &self,
        others: &Bound<'_, PyTuple>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let options = Options::new(nulls, threads, progress)?;
        for keys in others {
            self.add_batch(&keys, &options, false)?;
        }
        Ok(())
    }

    /// Adds each key; an array that says of each whether it was certainly new.
    #[pyo3(signature = (keys, *, nulls="error", threads=1, progress=None, arrow=false))]
    fn add_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        arrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (_, new) = self.add_batch(keys, &Options::new(nulls, threads, progress)?, true)?;
        to_array(py, Data::Bools(new), arrow)
    }

    /// An array that says of each key whether it may be in the filter.
    #[pyo3(signature = (keys, *, nulls="error", threads=1, progress=None, arrow=false))]
    fn contains_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        arrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::new(nulls, threads, progress)?;
        let answers = self.ask(keys, &options, Held::contains)?;
        to_array(py, Data::Bools(answers), arrow)
    }

    /// How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter.
    fn count(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let digest = self.digest_of(key)?;
        let mut count = [0];
        self.read(py)?.count(&[digest], &mut count)?;
        Ok(count[0])
    }

    /// An array that says of each key how often it was added, by the filter's estimate.
    #[pyo3(signature = (keys, *, nulls="error", threads=1, progress=None, arrow=false))]
    fn count_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        arrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::new(nulls, threads, progress)?;
        let counts = self.ask(keys, &options, Held::count)?;
        to_array(py, Data::Counts(counts), arrow)
    }

    /// Adds each key as many times as `times` says: a list or array as long as the keys.
    #[pyo3(signature = (keys, times, *, nulls="error", threads=1, progress=None))]
    fn insert_pairs(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        times: &Bound<'_, PyAny>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let options = Options::new(nulls, threads, progress)?;
        let mut pairs = Collect { digests: Vec::new(), hasher: self.hasher.clone() };
        if options.nulls == Nulls::Skip {
            return Err(PyValueError::new_err(
                "nulls=\"skip\" would shift keys against their counts. hint: leave missing keys out of both",
            ));
        }
        batch::run(keys, &self.hasher, &options, &mut pairs)?;
        let times = batch::wholes::<u64>(times)?;
        if times.len() != pairs.digests.len() {
            return Err(PyValueError::new_err(format!(
                "{} keys and {} counts: each key needs one",
                pairs.digests.len(),
                times.len()
            )));
        }
        let mut added = 0;
        for (digests, times) in pairs.digests.chunks(65_536).zip(times.chunks(65_536)) {
            let mut guard = self.write(py)?;
            let filter = guard.owned_mut()?;
            let insert = || {
                digests.iter().zip(times).try_for_each(|(digest, times)| {
                    filter.insert_digest_times(*digest, *times)?;
                    added += 1;
                    Ok(())
                })
            };
            py.detach(insert).map_err(|error| errors::times(error, added))?;
            drop(guard);
            py.check_signals()?;
        }
        Ok(())
    }

    /// Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let digest = self.digest_of(key)?;
        match self.write(py)?.owned_mut()?.remove_digest(digest) {
            Some(outcome) => outcome.map_err(errors::remove),
            None => Err(unsupported("remove keys")),
        }
    }

    /// Removes `key` once if it is in the filter; whether it was. Only discard what was added.
    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.remove(py, key) {
            Ok(()) => Ok(true),
            Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes each key once if it is in the filter; an array that says of each whether it was.
    #[pyo3(signature = (keys, *, nulls="error", threads=1, progress=None, arrow=false))]
    fn discard_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        arrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !either!(&*self.read(py)?, filter => filter.can(Ability::Remove))? {
            return Err(unsupported("remove keys"));
        }
        let options = Options::new(nulls, threads, progress)?;
        let (_, gone) = self.change(keys, &options, true, |filter, digests, gone| {
            for (digest, gone) in digests.iter().zip(gone) {
                *gone = filter.remove_digest(*digest).is_some_and(|outcome| outcome.is_ok());
            }
            Ok(())
        })?;
        to_array(py, Data::Bools(gone), arrow)
    }

    /// The value of `key`; `default` if it is certainly not in the map.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut value = [None];
        let digest = self.digest_of(key)?;
        if !either!(&*self.read(py)?, filter => filter.get_digests(&[digest], &mut value))? {
            return Err(unsupported("hold values"));
        }
        match (value[0], default) {
            (Some(value), _) => Ok(value.into_pyobject(py)?.into_any()),
            (None, Some(default)) => Ok(default),
            (None, None) => Ok(py.None().into_bound(py)),
        }
    }

    /// An array of the values of keys; `default` for those that are certainly not in the map.
    #[pyo3(signature = (keys, default=-1, *, nulls="error", threads=1, progress=None, arrow=false))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        default: i64,
        nulls: &str,
        threads: usize,
        progress: Option<Bound<'py, PyAny>>,
        arrow: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::new(nulls, threads, progress)?;
        let answers = self.ask(keys, &options, |held, digests, values: &mut [Option<u32>]| {
            match either!(held, filter => filter.get_digests(digests, values))? {
                true => Ok(()),
                false => Err(unsupported("hold values")),
            }
        })?;
        let convert = || answers.into_iter().map(|value| value.map_or(default, i64::from)).collect();
        let values = py.detach(convert);
        to_array(py, Data::Values(values), arrow)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.get(py, key, None)?;
        if value.is_none() { Err(Class::Absent.error("the key is not in the map")) } else { Ok(value) }
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let mut guard = self.write(py)?;
        let filter = guard.owned_mut()?;
        if py.detach(|| filter.clear()) { Ok(()) } else { Err(unsupported("be emptied: its keys are fixed")) }
    }

    /// A copy, in memory. Of a mapped filter, one that can be changed.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let guard = slf.get().read(py)?;
        let held = &*guard;
        let copy = py.detach(|| held.to_owned())?;
        Filter::instance(py, Some(&slf.get_type()), Held::Owned(copy))
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        if matches!(slf.get().hasher, KeyHasher::Sip13 { .. }) {
            return Err(PyValueError::new_err(
                "a keyed filter is not pickled, because the pickle would hold its secret. hint: use to_bytes(), and from_bytes(data, secret=secret)",
            ));
        }
        let guard = slf.get().read(py)?;
        let held = &*guard;
        let bytes = py.detach(|| held.to_bytes())?;
        drop(guard);
        // From protocol 5 on the bytes can travel beside the pickle, without a copy.
        let data = match protocol {
            5.. => {
                let buffer = Bound::new(py, Buffer::new(Data::Bytes(bytes)))?;
                py.import("pickle")?.call_method1("PickleBuffer", (buffer,))?
            }
            _ => py_bytes(py, &bytes)?.into_any(),
        };
        // Not from_bytes: a pickle is trusted, and no limit of files stands between a filter and its copy.
        let restore = py.import("gardenia._gardenia")?.getattr("_restore")?;
        match slf.getattr("__dict__") {
            Ok(state) if !state.is_empty()? => (restore, (slf.get_type(), data), state).into_pyobject(py),
            _ => (restore, (slf.get_type(), data)).into_pyobject(py),
        }
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::operate(slf, other, unite)
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::operate(slf, other, intersect)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::merge(slf, Self::operand(other)?)
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::change_by(slf, Self::operand(other)?, intersect)
    }

    /// Merges the keys of another filter of the same options into this one; counts add up.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        Self::change_by(slf, other, unite)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let (ours, theirs) = (slf.get().read(py)?, other.get().read(py)?);
        let (ours, theirs) = (&*ours, &*theirs);
        let equal = py.detach(|| match (ours, theirs) {
            (Held::Owned(ours), Held::Owned(theirs)) => Ok(ours == theirs),
            (ours, theirs) => Ok::<_, PyErr>(ours.to_owned()? == theirs.to_owned()?),
        })?;
        Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match &*self.read(py)? {
            Held::Owned(filter) => Ok(!filter.is_empty()),
            Held::Mapped(filter) => Ok(filter.as_mapped().is_none_or(|filter| !filter.is_empty())),
            Held::Closed => Err(closed()),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let exact = self.kind.can(Ability::Fixed) || self.kind.can(Ability::Copies);
        let estimate = either!(&*self.read(py)?, filter => filter.estimated_items())?;
        match estimate.filter(|estimate| exact && estimate.std_error == 0.0) {
            Some(estimate) => Ok(estimate.items as usize),
            None => Err(PyTypeError::new_err(
                "this filter does not know how many keys it holds. hint: use filter.estimated_items",
            )),
        }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.get_type().name()?;
        let guard = slf.get().read(slf.py())?;
        let mut parts: Vec<String> = Vec::new();
        if matches!(*guard, Held::Closed) {
            return Ok(format!("<gardenia.{name}: closed>"));
        }
        either!(&*guard, filter => {
            let bytes = filter.memory_bytes();
            // Counting the keys of a large filter reads all of it.
            let known = if bytes <= 16 << 20 { filter.estimated_items() } else { None };
            if let Some(estimate) = known {
                let sign = if estimate.std_error == 0.0 { "" } else { "about " };
                parts.push(format!("{sign}{} keys", grouped(estimate.items)));
            }
            if filter.about().planned_items() > 0 {
                parts.push(format!("planned for {}", grouped(filter.about().planned_items() as f64)));
            }
            if filter.about().planned_fpp() > 0.0 {
                parts.push(format!("at {}", percent(filter.about().planned_fpp())));
            }
            parts.push(gardenia::spec::number::show_bytes(bytes as u64));
        })?;
        if matches!(*guard, Held::Mapped(_)) {
            parts.push("mapped".to_owned());
        }
        Ok(format!("<gardenia.{name}: {}>", parts.join(", ")))
    }

    fn __enter__<'a, 'py>(slf: &'a Bound<'py, Self>) -> &'a Bound<'py, Self> {
        slf
    }

    #[pyo3(signature = (*_reason))]
    fn __exit__(&self, py: Python<'_>, _reason: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// Closes a mapped file. A filter in memory stays as it is.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut guard = self.write(py)?;
        if let Held::Mapped(_) = *guard {
            *guard = Held::Closed;
        }
        Ok(())
    }

    /// Writes the filter to a file, whole or not at all. Every program that has Gardenia reads it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let guard = self.read(py)?;
        let held = &*guard;
        let failed = |error| errors::at_path(error, &path);
        py.detach(|| match held {
            Held::Owned(filter) => filter.save(&path).map_err(failed),
            Held::Mapped(filter) => match filter.as_mapped() {
                Some(filter) => filter.save(&path).map_err(failed),
                None => Err(closed()),
            },
            Held::Closed => Err(closed()),
        })
    }

    /// The filter as bytes: the content of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let guard = self.read(py)?;
        let held = &*guard;
        let bytes = py.detach(|| held.to_bytes())?;
        py_bytes(py, &bytes)
    }

    /// The filter in these bytes, with every checksum verified. `secret` is that of a keyed filter.
    #[classmethod]
    #[pyo3(signature = (data, *, secret=None, max_bytes=None, max_expansion=None))]
    pub(crate) fn from_bytes<'py>(
        class: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        secret: Option<&[u8]>,
        max_bytes: Option<u64>,
        max_expansion: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        let options = read_options(secret, max_bytes, max_expansion)?;
        let read = |bytes: &[u8]| py.detach(|| AnyFilter::from_bytes_with(bytes, &options));
        let filter = match data.cast::<PyBytes>() {
            Ok(bytes) => read(bytes.as_bytes()),
            Err(_) => {
                let view = pyo3::buffer::PyBuffer::<u8>::get(data)?;
                let mut bytes = Vec::new();
                grow(py, &mut bytes, view.item_count())?;
                view.copy_to_slice(py, &mut bytes)?;
                read(&bytes)
            }
        };
        Self::instance(py, Some(class), Held::Owned(filter.map_err(errors::decode)?))
    }

    /// Reads a file, with every checksum verified. `mmap=True` maps it instead: it opens at once, answers from the file, and is
    /// read-only. Nobody may change a mapped file in place or cut it short: answers would be wrong, or the process would be killed (SIGBUS).
    #[classmethod]
    #[pyo3(signature = (path, *, mmap=false, secret=None, max_bytes=None, max_expansion=None))]
    pub(crate) fn open<'py>(
        class: &Bound<'py, PyType>,
        path: PathBuf,
        mmap: bool,
        secret: Option<&[u8]>,
        max_bytes: Option<u64>,
        max_expansion: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        let options = read_options(secret, max_bytes, max_expansion)?;
        let read = |path: &Path| -> Result<Held, DecodeError> {
            Ok(match mmap {
                // SAFETY: the caller asked for it; the documentation says what that risks.
                true => Held::Mapped(unsafe { OpenFilter::map_with(path, &options) }?),
                false => Held::Owned(AnyFilter::load_with(path, &options)?),
            })
        };
        let held = py.detach(|| read(&path)).map_err(|error| errors::at_path(error, &path))?;
        Self::instance(py, Some(class), held)
    }

    /// The digest of a key in this filter: its hash, an int of 64 bits.
    fn digest(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.digest_of(key)?.0)
    }

    /// The spec of a filter like this one, with everything filled in; None if another program made it.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<Option<String>> {
        either!(&*self.read(py)?, filter => filter.spec().map(|spec| spec.to_string()))
    }

    /// The options of a filter like this one, as a dict.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let spec = either!(&*self.read(py)?, filter => filter.spec())?;
        for (param, value) in spec.iter().flat_map(|spec| spec.given().map(|param| (param, spec.get(param))))
        {
            if let Some(value) = value {
                dict.set_item(errors::spell(param), spec::value(py, value)?)?;
            }
        }
        Ok(dict)
    }

    /// What this filter can do: names such as "insert", "remove", "count".
    #[getter]
    fn abilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyFrozenSet>> {
        let guard = self.read(py)?;
        let mut can: Vec<Ability> = Ability::ALL.to_vec();
        either!(&*guard, filter => can.retain(|ability| filter.can(*ability)))?;
        pyo3::types::PyFrozenSet::new(py, can.into_iter().map(Ability::name))
    }

    /// The current false-positive rate, by how full the filter is.
    #[getter]
    fn fpp(&self, py: Python<'_>) -> PyResult<f64> {
        either!(&*self.read(py)?, filter => filter.fpp())
    }

    /// The share of cells that are set.
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<f64> {
        either!(&*self.read(py)?, filter => filter.fill())
    }

    /// How many distinct keys are in the filter, estimated; None if this kind cannot estimate it.
    #[getter]
    fn estimated_items(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(either!(&*self.read(py)?, filter => filter.estimated_items())?.map(|estimate| estimate.items))
    }

    /// The number of keys that the filter was planned for; 0 if its shape was given.
    #[getter]
    fn planned_items(&self, py: Python<'_>) -> PyResult<u64> {
        either!(&*self.read(py)?, filter => filter.about().planned_items())
    }

    /// The false-positive rate that the filter was planned for; 0 if its shape was given.
    #[getter]
    fn planned_fpp(&self, py: Python<'_>) -> PyResult<f64> {
        either!(&*self.read(py)?, filter => filter.about().planned_fpp())
    }

    /// Bytes of memory that the cells take; of a mapped filter, bytes of the file.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        either!(&*self.read(py)?, filter => filter.memory_bytes())
    }

    /// Up to 64 KiB of your own that are stored with the filter.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        either!(&*self.read(py)?, filter => PyBytes::new(py, filter.about().metadata()))
    }

    #[setter]
    fn set_metadata(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        self.write(py)?.owned_mut()?.about_mut().set_metadata(data).map_err(errors::encode)
    }

    /// Whether the filter answers from a mapped file.
    #[getter]
    fn mapped(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(matches!(*self.read(py)?, Held::Mapped(_)))
    }
}

impl Filter {
    fn operand<'a, 'py>(other: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Self>> {
        other.cast::<Self>().map_err(|_| {
            PyTypeError::new_err(
                "a filter combines with a filter. hint: use update() to add the keys of a set or list",
            )
        })
    }

    fn operate<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        combine: Combine,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented().into_bound(py)) };
        let filter = slf.get().merged(py, other.get(), combine)?;
        Self::instance(py, Some(&slf.get_type()), Held::Owned(filter))
    }

    fn change_by(slf: &Bound<'_, Self>, other: &Bound<'_, Self>, combine: Combine) -> PyResult<()> {
        let py = slf.py();
        if slf.is(other) {
            let copy = Held::Owned(slf.get().read(py)?.to_owned()?);
            return combine(slf.get().write(py)?.owned_mut()?, &copy);
        }
        let (mut ours, theirs) = slf.get().held.write_and_read(&other.get().held, py)?;
        let (ours, theirs) = (ours.owned_mut()?, &*theirs);
        py.detach(|| combine(ours, theirs))
    }
}

/// A copy of bytes for Python.
fn py_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |room| {
        room.copy_from_slice(bytes);
        Ok(())
    })
}

fn read_options(
    secret: Option<&[u8]>,
    max_bytes: Option<u64>,
    max_expansion: Option<u64>,
) -> PyResult<ReadOptions> {
    let mut options = ReadOptions::new();
    if let Some(bytes) = max_bytes {
        options = options.max_bytes(bytes);
    }
    if let Some(bytes) = max_expansion {
        options = options.max_expansion(bytes);
    }
    if let Some(secret) = secret {
        options = options.secret(spec::secret(secret)?);
    }
    Ok(options)
}

/// A count with groups of three digits.
fn grouped(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate for people: `1%`, `0.1%`, `1e-6`.
fn percent(rate: f64) -> String {
    match rate {
        rate if rate < 1e-4 => format!("{rate:.1e}").replace(".0e", "e"),
        rate => {
            let text = format!("{:.3}", rate * 100.0);
            format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// A filter of a spec, as an instance of the class of its kind.
pub(crate) fn make<'py>(
    py: Python<'py>,
    spec: &Spec,
    keys: Option<&Bound<'py, PyAny>>,
    values: Option<&Bound<'py, PyAny>>,
    spared: Option<&Bound<'py, PyAny>>,
    options: &Options<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let held = Filter::build(py, spec, keys, values, spared, options)?;
    Filter::instance(py, None, held)
}
