//! Batches: where many keys come from, and the loop that hands their digests on.
//!
//! Keys in columns (numpy, Arrow) are hashed and looked up without the GIL, a block at a time; between two blocks signals are handled
//! (Ctrl-C) and progress is reported. Python objects need the GIL to be read: they are hashed a chunk at a time, and the GIL is offered to
//! other threads about every millisecond.
#![allow(unsafe_code)] // elements of a list are borrowed while they are hashed

use crate::arrow::Stream;
use crate::buffer::{self, Elements, Objects};
use crate::column::{CHUNK, Column};
use crate::errors::Class;
use crate::keys;
use gardenia::{Digest, KeyHasher};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyString, PyTuple};
use std::time::{Duration, Instant};

/// Rows of a column that one thread handles without the GIL: some 5 to 20 ms. To have it back costs up to 5 ms where other threads are busy.
const BLOCK: usize = 1 << 20;

/// How long the GIL is held for Python objects, at most by about a chunk of them.
pub(crate) const HOLD: Duration = Duration::from_millis(1);

/// Objects that are hashed before the clock is looked at.
pub(crate) const OBJECTS: usize = 1024;

/// What is done with missing values.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Nulls {
    /// They are left out; asked for, they are not in the filter.
    Skip,
    Error,
    /// They are keys: None, and NaN.
    Key,
}

/// How a batch is run.
pub(crate) struct Options<'py> {
    pub(crate) nulls: Nulls,
    pub(crate) threads: usize,
    pub(crate) progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Options<'py> {
    pub(crate) fn new(nulls: &str, threads: usize, progress: Option<Bound<'py, PyAny>>) -> PyResult<Self> {
        let nulls = match nulls {
            "skip" => Nulls::Skip,
            "error" => Nulls::Error,
            "key" => Nulls::Key,
            other => {
                let message = format!("nulls is {other:?}, and must be \"error\", \"skip\" or \"key\"");
                return Err(PyValueError::new_err(message));
            }
        };
        let all = || std::thread::available_parallelism().map_or(1, Into::into);
        let threads = if threads == 0 { all() } else { threads.min(256) };
        let progress = progress.filter(|progress| !progress.is_none());
        Ok(Self { nulls, threads, progress })
    }

    pub(crate) fn plain() -> Self {
        Self { nulls: Nulls::Error, threads: 1, progress: None }
    }
}

/// Keys of a batch.
enum Keys<'py> {
    Column(Option<Box<dyn Column>>),
    Arrow(Stream),
    Objects(Objects<'py>),
    List(Bound<'py, PyList>),
    Tuple(Bound<'py, PyTuple>),
    Iterator(Bound<'py, PyIterator>),
}

impl<'py> Keys<'py> {
    fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Self::List(list.clone()));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return Ok(Self::Tuple(tuple.clone()));
        }
        for (is_one, name) in [
            (object.cast::<PyString>().is_ok(), "str"),
            (object.cast::<PyBytes>().is_ok(), "bytes object"),
            (object.cast::<PyByteArray>().is_ok(), "bytearray"),
        ] {
            if is_one {
                return Err(PyTypeError::new_err(format!(
                    "a {name} is one key, and many are expected. hint: use add(key) or `key in filter`, or pass [key]"
                )));
            }
        }
        if object.cast::<PyDict>().is_ok() {
            return Ok(Self::Iterator(object.try_iter()?));
        }
        if let Some(stream) = Stream::of(object)? {
            return Ok(Self::Arrow(stream));
        }
        // SAFETY: the object lives.
        let has_buffer = unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0;
        if has_buffer {
            return Ok(match buffer::array(object)? {
                Elements::Column(column) => Self::Column(Some(column)),
                Elements::Objects(objects) => Self::Objects(objects),
            });
        }
        if object.hasattr("__array__")? {
            let array = object.py().import("numpy")?.call_method1("asarray", (object,))?;
            return Self::of(&array);
        }
        match object.try_iter() {
            Ok(iterator) => Ok(Self::Iterator(iterator)),
            Err(_) => Err(PyTypeError::new_err(format!(
                "many keys are expected: a list, an array or any iterable, not a {}. hint: use add(key) for one key",
                object.get_type().name()?
            ))),
        }
    }
}

/// The hashed rows of a chunk: their digests, and which of them are missing.
pub(crate) struct Rows<'a> {
    pub(crate) digests: &'a [Digest],
    pub(crate) missing: &'a [u32],
}

/// Why a batch ended early.
pub(crate) enum Trouble {
    /// A row, counted from the first of the batch, has no value.
    Missing(usize),
    /// A row is no key.
    Row(String),
    /// What the work itself failed at.
    Python(PyErr),
}

impl From<PyErr> for Trouble {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Trouble> for PyErr {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Missing(row) => Class::Missing.error(format!(
                "element {row} is missing (None, null or NaN). hint: pass nulls=\"skip\" to leave such out, nulls=\"key\" to use them as keys"
            )),
            Trouble::Row(text) => PyValueError::new_err(text),
            Trouble::Python(error) => error,
        }
    }
}

/// What is done with the keys of a batch.
pub(crate) trait Work {
    /// Room for the answers to `rows` more rows; called before any of them is handled.
    fn grow(&mut self, py: Python<'_>, rows: usize) -> PyResult<()>;

    /// Handles rows `from` on of a column. Releases the GIL.
    fn column(
        &mut self,
        py: Python<'_>,
        column: &dyn Column,
        from: usize,
        rows: usize,
        options: &Options<'_>,
    ) -> Result<(), Trouble>;

    /// Handles hashed rows, few enough to hold the GIL.
    fn rows(&mut self, py: Python<'_>, rows: &Rows<'_>, nulls: Nulls) -> Result<(), Trouble>;
}

/// Runs a batch: hashes `keys` and hands them to `work`; how many there were.
pub(crate) fn run(
    keys: &Bound<'_, PyAny>,
    hasher: &KeyHasher,
    options: &Options<'_>,
    work: &mut dyn Work,
) -> PyResult<u64> {
    let py = keys.py();
    let mut ticker = Ticker::new(keys, options)?;
    match Keys::of(keys)? {
        Keys::Column(column) => {
            if let Some(column) = column {
                run_column(py, &*column, options, work, &mut ticker)?;
            }
        }
        Keys::Arrow(mut stream) => {
            while let Some(column) = stream.next(py)? {
                run_column(py, &*column, options, work, &mut ticker)?;
            }
        }
        Keys::Objects(objects) => run_objects(py, hasher, options, work, &mut ticker, |row| {
            Ok((row < objects.len).then(|| Element::borrowed(objects.get(row))))
        })?,
        Keys::List(list) => run_objects(py, hasher, options, work, &mut ticker, |row| {
            // SAFETY: the list lives. It may have become shorter while the GIL was released: then there is no such item.
            let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), row as isize) };
            if item.is_null() {
                // SAFETY: the GIL is held, and the error is only that.
                unsafe { ffi::PyErr_Clear() };
                return Ok(None);
            }
            Ok(Some(Element::borrowed(item)))
        })?,
        Keys::Tuple(tuple) => {
            let len = tuple.len();
            run_objects(py, hasher, options, work, &mut ticker, |row| {
                // SAFETY: the tuple lives, and has that many elements.
                let get = || unsafe { ffi::PyTuple_GetItem(tuple.as_ptr(), row as isize) };
                Ok((row < len).then(|| Element::borrowed(get())))
            })?;
        }
        Keys::Iterator(mut iterator) => run_objects(py, hasher, options, work, &mut ticker, |_| {
            let next = iterator.next().transpose()?;
            Ok(next.map(|object| Element { object: object.as_ptr(), held: Some(object) }))
        })?,
    }
    Ok(ticker.done)
}

fn run_column(
    py: Python<'_>,
    column: &dyn Column,
    options: &Options<'_>,
    work: &mut dyn Work,
    ticker: &mut Ticker<'_, '_>,
) -> PyResult<()> {
    work.grow(py, column.len())?;
    let block = BLOCK.saturating_mul(options.threads);
    for from in (0..column.len()).step_by(block) {
        let rows = block.min(column.len() - from);
        let failed = |trouble| match trouble {
            Trouble::Missing(row) => Trouble::Missing(ticker.done as usize - from + row),
            other => other,
        };
        work.column(py, column, from, rows, options).map_err(failed)?;
        ticker.tick(py, rows)?;
    }
    Ok(())
}

/// An object that is hashed next.
struct Element<'py> {
    object: *mut ffi::PyObject,
    /// What keeps it alive, if no list does.
    #[allow(dead_code, reason = "it is there to be dropped last")]
    held: Option<Bound<'py, PyAny>>,
}

impl Element<'_> {
    fn borrowed(object: *mut ffi::PyObject) -> Self {
        Self { object, held: None }
    }
}

/// Runs Python objects, which `next` brings by their numbers; `None` at the end.
#[inline(always)]
fn run_objects<'py>(
    py: Python<'py>,
    hasher: &KeyHasher,
    options: &Options<'_>,
    work: &mut dyn Work,
    ticker: &mut Ticker<'_, '_>,
    mut next: impl FnMut(usize) -> PyResult<Option<Element<'py>>>,
) -> PyResult<()> {
    let (mut digests, mut missing) = (Vec::with_capacity(OBJECTS), Vec::new());
    let mut since = Instant::now();
    let mut more = true;
    while more {
        digests.clear();
        missing.clear();
        let first = ticker.done as usize;
        let mut hash_all = || {
            for row in 0..OBJECTS {
                let Some(element) = next(first + row)? else { return Ok(false) };
                // SAFETY: the element lives, in its list or by itself. Types that run Python code, which could drop it, are held
                // by the slow way.
                let (digest, gone) = unsafe { keys::element(py, element.object, hasher) }?;
                if gone {
                    missing.push(row as u32);
                }
                digests.push(digest);
            }
            Ok::<_, PyErr>(true)
        };
        let outcome = hash_all();
        more = outcome.as_ref().is_ok_and(|more| *more);
        // What came before an element that is no key is handled all the same, as in `set.update`.
        work.grow(py, digests.len())?;
        let rows = Rows { digests: &digests, missing: &missing };
        work.rows(py, &rows, options.nulls).map_err(|trouble| match trouble {
            Trouble::Missing(row) => Trouble::Missing(first + row),
            other => other,
        })?;
        outcome?;
        ticker.count(py, digests.len())?;
        if since.elapsed() > HOLD {
            py.detach(|| ());
            py.check_signals()?;
            since = Instant::now();
        }
    }
    ticker.finish(py)
}

/// Counts rows, reports progress and lets signals through.
pub(crate) struct Ticker<'a, 'py> {
    progress: Option<&'a Bound<'py, PyAny>>,
    /// Whether it is a bar that gets the number of new rows, as tqdm's does.
    bar: bool,
    total: Option<usize>,
    done: u64,
    reported: u64,
}

impl<'a, 'py> Ticker<'a, 'py> {
    pub(crate) fn new(keys: &Bound<'py, PyAny>, options: &'a Options<'py>) -> PyResult<Self> {
        let progress = options.progress.as_ref();
        let bar = progress.is_some_and(|progress| progress.hasattr("update").unwrap_or(false));
        let total = progress.and_then(|_| keys.len().ok());
        Ok(Self { progress, bar, total, done: 0, reported: 0 })
    }

    /// Rows so far.
    pub(crate) fn done(&self) -> usize {
        self.done as usize
    }

    fn tick(&mut self, py: Python<'_>, rows: usize) -> PyResult<()> {
        self.done += rows as u64;
        self.finish(py)?;
        py.check_signals()
    }

    /// Counts objects, and reports them a block at a time.
    pub(crate) fn count(&mut self, py: Python<'_>, rows: usize) -> PyResult<()> {
        self.done += rows as u64;
        if self.done - self.reported >= (BLOCK / 16) as u64 { self.finish(py) } else { Ok(()) }
    }

    /// Reports what is not reported yet.
    pub(crate) fn finish(&mut self, _: Python<'_>) -> PyResult<()> {
        let new = self.done - self.reported;
        self.reported = self.done;
        match self.progress {
            Some(progress) if self.bar && new > 0 => progress.call_method1("update", (new,)).map(drop),
            Some(progress) if new > 0 => progress.call1((self.done, self.total)).map(drop),
            _ => Ok(()),
        }
    }
}

/// Hashes a chunk of a column at a time and hands it on.
pub(crate) fn each_chunk(
    column: &dyn Column,
    from: usize,
    rows: usize,
    hasher: &KeyHasher,
    mut work: impl FnMut(usize, &Rows<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let (mut room, mut missing) = (vec![Digest(0); CHUNK.min(rows)], Vec::new());
    for at in (0..rows).step_by(CHUNK) {
        let digests = &mut room[..CHUNK.min(rows - at)];
        missing.clear();
        column.digest(from + at, hasher, digests, &mut missing).map_err(Trouble::Row)?;
        work(at, &Rows { digests, missing: &missing }).map_err(|trouble| match trouble {
            Trouble::Missing(row) => Trouble::Missing(from + at + row),
            other => other,
        })?;
    }
    Ok(())
}

impl Rows<'_> {
    /// Calls `work` with the digests that count and room for their answers; rows that are left out get the default answer.
    pub(crate) fn answer<T: Copy + Default>(
        &self,
        nulls: Nulls,
        answers: &mut [T],
        work: impl FnOnce(&[Digest], &mut [T]) -> PyResult<()>,
    ) -> Result<(), Trouble> {
        match (self.missing, nulls) {
            ([], _) | (_, Nulls::Key) => Ok(work(self.digests, answers)?),
            ([first, ..], Nulls::Error) => Err(Trouble::Missing(*first as usize)),
            (missing, Nulls::Skip) => {
                let mut missing = missing.iter().peekable();
                let present = (0..self.digests.len())
                    .filter(|row| missing.next_if(|gone| **gone as usize == *row).is_none());
                let present: Vec<usize> = present.collect();
                let digests: Vec<Digest> = present.iter().map(|row| self.digests[*row]).collect();
                let mut found = vec![T::default(); present.len()];
                answers.fill(T::default());
                work(&digests, &mut found)?;
                present.iter().zip(found).for_each(|(row, answer)| answers[*row] = answer);
                Ok(())
            }
        }
    }
}

/// Splits rows among threads; the first trouble by row wins, so that it does not depend on their number.
pub(crate) fn in_threads<T: Send>(
    answers: &mut [T],
    threads: usize,
    work: impl Fn(usize, &mut [T]) -> Result<(), Trouble> + Sync,
) -> Result<(), Trouble> {
    let each = answers.len().div_ceil(threads.max(1)).next_multiple_of(CHUNK).max(CHUNK);
    if answers.len() <= each {
        return work(0, answers);
    }
    std::thread::scope(|scope| {
        let work = &work;
        let parts = answers.chunks_mut(each).enumerate();
        let threads: Vec<_> = parts.map(|(at, part)| scope.spawn(move || work(at * each, part))).collect();
        let outcomes: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        outcomes.into_iter().try_for_each(|outcome| match outcome {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Whole numbers beside keys, such as their counts: an array, Arrow data, or any iterable of them.
pub(crate) fn wholes<T>(object: &Bound<'_, PyAny>) -> PyResult<Vec<T>>
where
    T: TryFrom<u64> + Send + for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    let (py, mut numbers) = (object.py(), Vec::new());
    let room = |numbers: &mut Vec<T>, rows| {
        let out_of_memory = |_| pyo3::exceptions::PyMemoryError::new_err("no memory for the numbers");
        numbers.try_reserve(rows).map_err(out_of_memory)
    };
    let read = |column: &dyn Column, numbers: &mut Vec<T>| {
        room(numbers, column.len())?;
        for from in (0..column.len()).step_by(BLOCK) {
            let mut rows = from..column.len().min(from + BLOCK);
            let add = |row| {
                numbers.push(column.whole(row).and_then(|number| T::try_from(number).ok()).ok_or(row)?);
                Ok(())
            };
            py.detach(|| rows.try_for_each(add)).map_err(|row: usize| {
                let most = u64::MAX >> (64 - 8 * size_of::<T>());
                PyValueError::new_err(format!("element {row} is not a whole number from 0 to {most}"))
            })?;
            py.check_signals()?;
        }
        Ok::<_, PyErr>(())
    };
    match Keys::of(object)? {
        Keys::Column(column) => column.map_or(Ok(()), |column| read(&*column, &mut numbers))?,
        Keys::Arrow(mut stream) => {
            while let Some(column) = stream.next(py)? {
                read(&*column, &mut numbers)?;
            }
        }
        Keys::Objects(_) | Keys::List(_) | Keys::Tuple(_) | Keys::Iterator(_) => {
            let mut since = Instant::now();
            for number in object.try_iter()? {
                room(&mut numbers, 1)?;
                numbers.push(number?.extract()?);
                if numbers.len() % OBJECTS == 0 && since.elapsed() > HOLD {
                    py.detach(|| ());
                    py.check_signals()?;
                    since = Instant::now();
                }
            }
        }
    }
    Ok(numbers)
}

/// The digests of all keys, for filters that are built from them at once.
#[derive(Default)]
pub(crate) struct Collect {
    pub(crate) digests: Vec<Digest>,
    pub(crate) hasher: KeyHasher,
}

impl Work for Collect {
    fn grow(&mut self, _: Python<'_>, rows: usize) -> PyResult<()> {
        let out_of_memory =
            |_| pyo3::exceptions::PyMemoryError::new_err("no memory for the digests of all keys");
        self.digests.try_reserve(rows).map_err(out_of_memory)
    }

    fn column(
        &mut self,
        py: Python<'_>,
        column: &dyn Column,
        from: usize,
        rows: usize,
        options: &Options<'_>,
    ) -> Result<(), Trouble> {
        let (digests, hasher, nulls) = (&mut self.digests, &self.hasher, options.nulls);
        let threads = options.threads;
        py.detach(|| {
            let first = digests.len();
            digests.resize(first + rows, Digest(0));
            let gone = std::sync::Mutex::new(Vec::new());
            in_threads(&mut digests[first..], threads, |at, digests| {
                each_chunk(column, from + at, digests.len(), hasher, |within, rows| {
                    let out = &mut digests[within..within + rows.digests.len()];
                    out.copy_from_slice(rows.digests);
                    match (rows.missing, nulls) {
                        ([], _) | (_, Nulls::Key) => {}
                        ([row, ..], Nulls::Error) => return Err(Trouble::Missing(*row as usize)),
                        (missing, Nulls::Skip) => {
                            let rows = missing.iter().map(|row| first + at + within + *row as usize);
                            gone.lock().unwrap_or_else(|broken| broken.into_inner()).extend(rows);
                        }
                    }
                    Ok(())
                })
            })?;
            let mut gone = gone.into_inner().unwrap_or_else(|broken| broken.into_inner());
            gone.sort_unstable();
            let mut gone = gone.into_iter().peekable();
            if gone.peek().is_some() {
                let mut row = 0;
                digests.retain(|_| {
                    row += 1;
                    gone.next_if_eq(&(row - 1)).is_none()
                });
            }
            Ok(())
        })
    }

    fn rows(&mut self, _: Python<'_>, rows: &Rows<'_>, nulls: Nulls) -> Result<(), Trouble> {
        let mut unused = vec![(); rows.digests.len()];
        rows.answer(nulls, &mut unused, |digests, _| {
            self.digests.extend_from_slice(digests);
            Ok(())
        })
    }
}
