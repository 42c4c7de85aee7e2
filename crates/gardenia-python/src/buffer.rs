//! Numpy arrays and all that has the buffer protocol, as columns; and results as memory that numpy reads.
#![allow(unsafe_code)] // the buffer protocol is a C interface

use crate::column::{Address, Column, Flag, Half, Moments, Number, Numbers, Owner, Padded, Wide};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::CStr;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

/// A view of an object's memory, given back when it is dropped.
struct View(Box<ffi::Py_buffer>);

// SAFETY: the view is only looked at, and given back with the GIL held.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the object lives, and the view does not move.
        let failed = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, ffi::PyBUF_FULL_RO) };
        if failed == 0 { Ok(Self(view)) } else { Err(PyErr::fetch(object.py())) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: with the GIL held, and once.
        Python::attach(|_| unsafe { ffi::PyBuffer_Release(&mut *self.0) });
    }
}

/// The elements of an array.
pub(crate) enum Elements<'py> {
    Column(Box<dyn Column>),
    /// Pointers to objects at equal distances: numpy's `object` arrays.
    Objects(Objects<'py>),
}

pub(crate) struct Objects<'py> {
    view: Arc<View>,
    stride: isize,
    pub(crate) len: usize,
    of: PhantomData<Python<'py>>,
}

impl Objects<'_> {
    /// The object of a row; borrowed, and null stands for None.
    pub(crate) fn get(&self, row: usize) -> *mut ffi::PyObject {
        assert!(row < self.len);
        // SAFETY: the array has that many rows, each a pointer.
        let object = unsafe {
            let at = self.view.0.buf.cast::<u8>().offset(row as isize * self.stride);
            at.cast::<*mut ffi::PyObject>().read_unaligned()
        };
        // SAFETY: None always lives.
        if object.is_null() { unsafe { ffi::Py_None() } } else { object }
    }
}

/// The elements of an object with the buffer protocol.
fn elements<'py>(object: &Bound<'py, PyAny>) -> PyResult<Elements<'py>> {
    let view = Arc::new(View::of(object)?);
    let buffer = &view.0;
    if buffer.ndim != 1 {
        return Err(PyValueError::new_err(format!(
            "the array has {} dimensions, and keys have one. hint: use array.ravel()",
            buffer.ndim
        )));
    }
    if !buffer.suboffsets.is_null() {
        return Err(PyBufferError::new_err("an array of pointers to rows cannot be read. hint: copy it"));
    }
    // SAFETY: both are asked for, and there is one dimension.
    let (len, stride) = unsafe { (*buffer.shape as usize, *buffer.strides) };
    let format = match buffer.format.is_null() {
        true => "B",
        // SAFETY: a text that lives as long as the view.
        false => unsafe { CStr::from_ptr(buffer.format) }.to_str().unwrap_or("?"),
    };
    let width = buffer.itemsize as usize;
    let order = format.chars().next().filter(|order| "<>=@!^".contains(*order));
    let letter = format.trim_start_matches(['<', '>', '=', '@', '!', '^']);
    let swap = matches!(order, Some('>' | '!')) != cfg!(target_endian = "big")
        && order.is_some_and(|o| "<>!".contains(o));
    let memory = Address { at: buffer.buf.cast(), owner: view.clone() as Owner };
    fn numbers<T: Number>(memory: Address, stride: isize, len: usize, swap: bool) -> Box<dyn Column> {
        Box::new(Numbers::<T> { memory, stride, len, swap, of: PhantomData })
    }
    let make: fn(Address, isize, usize, bool) -> Box<dyn Column> = match (letter, width) {
        ("?", 1) => numbers::<Flag>,
        ("b", 1) => numbers::<i8>,
        ("B" | "c", 1) => numbers::<u8>,
        ("h", 2) => numbers::<i16>,
        ("H", 2) => numbers::<u16>,
        ("i" | "l" | "q" | "n", 4) => numbers::<i32>,
        ("I" | "L" | "Q" | "N", 4) => numbers::<u32>,
        ("i" | "l" | "q" | "n", 8) => numbers::<i64>,
        ("I" | "L" | "Q" | "N", 8) => numbers::<u64>,
        ("e", 2) => numbers::<Half>,
        ("f", 4) => numbers::<f32>,
        ("d", 8) => numbers::<f64>,
        ("O", _) if width == size_of::<*mut ffi::PyObject>() => {
            return Ok(Elements::Objects(Objects { view, stride, len, of: PhantomData }));
        }
        (letter, _) if letter.ends_with('s') => {
            return Ok(Elements::Column(Box::new(Padded { memory, stride, len, width, whole: false })));
        }
        (letter, _) if letter.ends_with('w') => {
            let width = width / 4;
            return Ok(Elements::Column(Box::new(Wide { memory, stride, len, width, swap })));
        }
        _ => {
            return Err(PyTypeError::new_err(format!(
                "elements of the format {format:?} are not keys. hint: convert the array, as in array.astype(\"float64\")"
            )));
        }
    };
    Ok(Elements::Column(make(memory, stride, len, swap)))
}

/// The elements of an array.
pub(crate) fn array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Elements<'py>> {
    match moments(object)? {
        Some(column) => Ok(Elements::Column(Box::new(column))),
        None => elements(object),
    }
}

/// Numpy's `datetime64`, which the buffer protocol does not know, as integers.
fn moments(object: &Bound<'_, PyAny>) -> PyResult<Option<Moments>> {
    let Ok(dtype) = object.getattr("dtype") else { return Ok(None) };
    let Ok(name) = dtype.getattr("str").and_then(|name| name.extract::<String>()) else { return Ok(None) };
    let Some(unit) = name.get(1..).and_then(|name| name.strip_prefix("M8")) else { return Ok(None) };
    let unit = match unit {
        "[s]" => 1,
        "[ms]" => 1_000,
        "[us]" => 1_000_000,
        "[ns]" => 1_000_000_000,
        "[m]" => -60,
        "[h]" => -3_600,
        "[D]" => -86_400,
        "[W]" => -604_800,
        unit => {
            return Err(PyTypeError::new_err(format!(
                "times of the unit {unit} are not keys. hint: use array.astype(\"datetime64[us]\")"
            )));
        }
    };
    let ticks = object.call_method1("view", (format!("{}i8", &name[..1]),))?;
    let view = Arc::new(View::of(&ticks)?);
    if view.0.ndim > 1 {
        return Err(PyValueError::new_err("keys have one dimension. hint: use array.ravel()"));
    }
    let (len, stride) = match view.0.ndim {
        0 => (1, 8),
        // SAFETY: both are asked for, and there is one dimension.
        _ => unsafe { (*view.0.shape as usize, *view.0.strides) },
    };
    let swap = name.starts_with('>') != cfg!(target_endian = "big");
    let memory = Address { at: view.0.buf.cast(), owner: view.clone() as Owner };
    let ticks = Numbers { memory, stride, len, swap, of: PhantomData };
    Ok(Some(Moments { ticks, unit, nat: true }))
}

/// A scalar of numpy: a time, or what Python has for it.
pub(crate) enum Scalar<'py> {
    Time(Option<SystemTime>),
    Plain(Bound<'py, PyAny>),
}

/// The value of a numpy scalar, if the object is one.
pub(crate) fn scalar<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Scalar<'py>>> {
    let is_scalar = object.hasattr("dtype")? && object.hasattr("item")? && object.getattr("ndim")?.eq(0)?;
    if !is_scalar {
        return Ok(None);
    }
    if let Some(time) = moments(object)? {
        return Ok(Some(Scalar::Time(time.get(0).map_err(PyValueError::new_err)?)));
    }
    let item = object.call_method0("item")?;
    Ok((!item.get_type().is(object.get_type())).then_some(Scalar::Plain(item)))
}

/// Memory that Python may read: answers of a batch, or a filter as bytes. Numpy and pickle use it without a copy.
#[pyclass(frozen, module = "gardenia._gardenia")]
pub(crate) struct Buffer(Data);

pub(crate) enum Data {
    Bytes(Vec<u8>),
    Bools(Vec<bool>),
    Counts(Vec<u64>),
    Values(Vec<i64>),
}

impl Buffer {
    pub(crate) fn new(data: Data) -> Self {
        Self(data)
    }

    fn memory(&self) -> (*const u8, usize) {
        match &self.0 {
            Data::Bytes(bytes) => (bytes.as_ptr(), bytes.len()),
            Data::Bools(bools) => (bools.as_ptr().cast(), bools.len()),
            Data::Counts(counts) => (counts.as_ptr().cast(), size_of_val(&counts[..])),
            Data::Values(values) => (values.as_ptr().cast(), size_of_val(&values[..])),
        }
    }
}

#[pymethods]
impl Buffer {
    /// # Safety
    /// Called by the interpreter, with a view to be filled in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let (memory, length) = slf.get().memory();
        let writable = c_int::from(matches!(slf.get().0, Data::Bytes(_)));
        // SAFETY: the memory lives as long as this object, which the view holds. Answers belong to whoever asked for them: numpy may write
        // to them, and nobody reads them but through this view.
        let failed = unsafe {
            let memory = memory.cast_mut().cast();
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), memory, length as isize, writable, flags)
        };
        if failed == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Answers as a numpy array, or as an Arrow array if that is asked for.
pub(crate) fn to_array<'py>(py: Python<'py>, data: Data, arrow: bool) -> PyResult<Bound<'py, PyAny>> {
    let dtype = match &data {
        Data::Bytes(_) => "uint8",
        Data::Bools(_) => "bool",
        Data::Counts(_) => "uint64",
        Data::Values(_) => "int64",
    };
    let numpy = py.import("numpy")?;
    let array = match Buffer::new(data) {
        empty if empty.memory().1 == 0 => numpy.call_method1("empty", (0, dtype))?,
        buffer => numpy.call_method1("frombuffer", (Bound::new(py, buffer)?, dtype))?,
    };
    if arrow { py.import("pyarrow")?.call_method1("array", (array,)) } else { Ok(array) }
}
