//! Arrow arrays and streams through the C data interface, by hand: only keys are read, and the crates that read everything
//! take four minutes to compile.
//!
//! The layout is that of the specification, "The Arrow C data interface" and "The Arrow C stream interface".
#![allow(unsafe_code)] // a C interface: structs whose content their producer promises

use crate::column::{
    Address, Bits, Column, Dictionary, Half, Moments, Nullable, Nulls, Number, Numbers, Offset, Offsets,
    Owner, Padded, Strings, Views,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrayStream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrayStream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrayStream)>,
    private_data: *mut c_void,
}

/// A struct of the interface that was moved to us, and is released when it is dropped.
struct Moved<T: Release>(T);

trait Release: Sized {
    /// All zeros: as if it were released.
    fn empty() -> Self;
    fn is_released(&self) -> bool;
    fn forget(&mut self);
    /// # Safety
    /// Once, and nothing of it is used afterwards.
    unsafe fn release(&mut self);
}

macro_rules! release {
    ($($type:ident)+) => {$(
        impl Release for $type {
            fn empty() -> Self {
                // SAFETY: all fields are numbers, pointers or optional functions, and zero is one of each.
                unsafe { std::mem::zeroed() }
            }
            fn is_released(&self) -> bool {
                self.release.is_none()
            }
            fn forget(&mut self) {
                self.release = None;
            }
            unsafe fn release(&mut self) {
                if let Some(release) = self.release.take() {
                    // The function expects the struct as it was.
                    self.release = Some(release);
                    // SAFETY: the caller's promise.
                    unsafe { release(self) };
                }
            }
        }
    )+};
}
release!(Schema Array ArrayStream);

// SAFETY: the specification lets the structs be used and released by any thread, by one at a time.
unsafe impl<T: Release> Send for Moved<T> {}
// SAFETY: what is shared is only read.
unsafe impl<T: Release> Sync for Moved<T> {}

impl<T: Release> Moved<T> {
    /// Moves the struct out of a capsule.
    fn take(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<Self> {
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(name))?.cast::<T>();
        // SAFETY: a capsule of this name holds such a struct. Marked as released, the capsule does not release it again.
        let moved = unsafe {
            let moved = pointer.as_ptr().read();
            (*pointer.as_ptr()).forget();
            moved
        };
        match moved.is_released() {
            true => Err(PyValueError::new_err("the Arrow data was consumed already. hint: make it again")),
            false => Ok(Self(moved)),
        }
    }
}

impl<T: Release> Drop for Moved<T> {
    fn drop(&mut self) {
        // SAFETY: once, at the end.
        unsafe { self.0.release() };
    }
}

/// Arrays of keys, one after the other.
pub(crate) struct Stream {
    schema: Moved<Schema>,
    source: Source,
}

enum Source {
    One(Option<Moved<Array>>),
    Many(Moved<ArrayStream>),
}

impl Stream {
    /// What an object offers by the capsule protocol, if it does.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(method) = object.getattr("__arrow_c_array__") {
            let capsules = method.call0()?.cast_into::<PyTuple>()?;
            let schema = Moved::take(&capsules.get_item(0)?, c"arrow_schema")?;
            let array = Moved::take(&capsules.get_item(1)?, c"arrow_array")?;
            return Ok(Some(Self { schema, source: Source::One(Some(array)) }));
        }
        let Ok(method) = object.getattr("__arrow_c_stream__") else { return Ok(None) };
        let mut stream = Moved::<ArrayStream>::take(&method.call0()?, c"arrow_array_stream")?;
        let mut schema = Moved(Schema::empty());
        let get =
            stream.0.get_schema.ok_or_else(|| PyValueError::new_err("the Arrow stream is incomplete"))?;
        // SAFETY: the stream is live, and the schema is room for the answer.
        if unsafe { get(&mut stream.0, &mut schema.0) } != 0 {
            return Err(last_error(&mut stream.0));
        }
        Ok(Some(Self { schema, source: Source::Many(stream) }))
    }

    /// The next array as a column. Without the GIL, because the producer may wait for threads that need it.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<Box<dyn Column>>> {
        let array = match &mut self.source {
            Source::One(array) => array.take(),
            Source::Many(stream) => {
                let Some(get) = stream.0.get_next else { return Ok(None) };
                let mut array = Moved(Array::empty());
                let failed = py.detach(|| {
                    let (stream, array) = (&mut *stream, &mut array);
                    // SAFETY: the stream is live, and the array is room for the answer.
                    unsafe { get(&mut stream.0, &mut array.0) }
                });
                if failed != 0 {
                    return Err(last_error(&mut stream.0));
                }
                Some(array).filter(|array| !array.0.is_released())
            }
        };
        let Some(array) = array else { return Ok(None) };
        let array = Arc::new(array);
        // SAFETY: the producer promises that arrays are as the schema says.
        unsafe { column(&self.schema.0, &array.0, None, &(array.clone() as Owner)) }.map(Some)
    }
}

fn last_error(stream: &mut ArrayStream) -> PyErr {
    // SAFETY: the stream is live; the text belongs to it until the next call.
    let text = unsafe {
        let text = stream.get_last_error.map(|get| get(stream)).filter(|text| !text.is_null());
        text.map(|text| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    PyValueError::new_err(format!("the Arrow stream failed: {}", text.unwrap_or_default()))
}

/// The keys of an array; of one that is a column of a table, those rows that the table has, by their first and their number.
///
/// # Safety
/// The array is as the schema says, and `owner` keeps it alive.
unsafe fn column(
    schema: &Schema,
    array: &Array,
    table: Option<(usize, usize)>,
    owner: &Owner,
) -> PyResult<Box<dyn Column>> {
    // SAFETY: a schema has a format.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_str().unwrap_or_default();
    let broken = || PyValueError::new_err("the Arrow array is corrupted: a length or buffer is missing");
    let (Ok(len), Ok(first)) = (usize::try_from(array.length), usize::try_from(array.offset)) else {
        return Err(broken());
    };
    let (len, first) = match table {
        Some((skipped, rows)) if skipped + rows <= len => (rows, first + skipped),
        Some(_) => return Err(broken()),
        None => (len, first),
    };
    // A table or frame of one column.
    if format == "+s" {
        if schema.n_children != 1 || array.n_children != 1 {
            return Err(PyTypeError::new_err(format!(
                "the table has {} columns, and keys come from one. hint: choose one, as in table[\"name\"]",
                schema.n_children
            )));
        }
        // SAFETY: there is one child of each.
        let child = unsafe { column(&**schema.children, &**array.children, Some((first, len)), owner) }?;
        // A struct may be missing as a whole, whatever its field holds there.
        // SAFETY: the struct is as its schema says.
        return Ok(unsafe { nullable(child, array, first, owner) });
    }
    let buffer = |at: i64| -> PyResult<Address> {
        if at >= array.n_buffers || array.buffers.is_null() {
            return Err(broken());
        }
        // SAFETY: there are that many buffers.
        let memory: *const u8 = unsafe { *array.buffers.offset(at as isize) }.cast();
        if memory.is_null() && len > 0 {
            Err(broken())
        } else {
            Ok(Address { at: memory, owner: owner.clone() })
        }
    };
    let values = match schema.dictionary.is_null() || array.dictionary.is_null() {
        true => None,
        // SAFETY: the dictionary is an array of its schema.
        false => Some(unsafe { column(&*schema.dictionary, &*array.dictionary, None, owner) }?),
    };
    let column: Box<dyn Column> = match (format, values) {
        ("n", None) => return Ok(Box::new(Nulls(len))),
        ("c", values) => numbers::<i8>(&buffer(1)?, first, len, values),
        ("C", values) => numbers::<u8>(&buffer(1)?, first, len, values),
        ("s", values) => numbers::<i16>(&buffer(1)?, first, len, values),
        ("S", values) => numbers::<u16>(&buffer(1)?, first, len, values),
        ("i", values) => numbers::<i32>(&buffer(1)?, first, len, values),
        ("I", values) => numbers::<u32>(&buffer(1)?, first, len, values),
        ("l", values) => numbers::<i64>(&buffer(1)?, first, len, values),
        ("L", values) => numbers::<u64>(&buffer(1)?, first, len, values),
        ("e", None) => Box::new(plain::<Half>(&buffer(1)?, first, len)),
        ("f", None) => Box::new(plain::<f32>(&buffer(1)?, first, len)),
        ("g", None) => Box::new(plain::<f64>(&buffer(1)?, first, len)),
        ("b", None) => Box::new(Bits { memory: buffer(1)?, first, len }),
        // A column of empty texts may have no bytes at all: nothing is read then, wherever they are said to be.
        ("u" | "z", None) => strings::<i32>(buffer(1)?, buffer(2).or(buffer(1))?, first, len),
        ("U" | "Z", None) => strings::<i64>(buffer(1)?, buffer(2).or(buffer(1))?, first, len),
        ("vu" | "vz", None) => {
            let count = array.n_buffers - 3;
            let sizes = if count > 0 { Some(buffer(array.n_buffers - 1)?) } else { None };
            let mut buffers = Vec::new();
            for (at, sizes) in (0..count).zip(sizes.iter().cycle()) {
                // SAFETY: the last buffer holds the size of each of these.
                let size = unsafe { sizes.at.cast::<i64>().offset(at as isize).read_unaligned() };
                buffers.push((buffer(2 + at)?, usize::try_from(size).map_err(|_| broken())?));
            }
            Box::new(Strings(Views { views: buffer(1)?, buffers, first, len }))
        }
        (format, None) if format.starts_with("w:") => {
            let width: usize = format[2..].parse().map_err(|_| broken())?;
            let mut memory = buffer(1)?;
            memory.at = memory.at.wrapping_add(first * width);
            Box::new(Padded { memory, stride: width as isize, len, width, whole: true })
        }
        (format, None) if format.starts_with("ts") => {
            let unit = match format.as_bytes().get(2) {
                Some(b's') => 1,
                Some(b'm') => 1_000,
                Some(b'u') => 1_000_000,
                _ => 1_000_000_000,
            };
            Box::new(Moments { ticks: plain(&buffer(1)?, first, len), unit, nat: false })
        }
        (format, _) => {
            return Err(PyTypeError::new_err(format!(
                "an Arrow column of the format {format:?} has no keys. hint: use integers, floats, booleans, text, bytes or timestamps, \
                 or cast it to text"
            )));
        }
    };
    // SAFETY: the array is as its schema says.
    Ok(unsafe { nullable(column, array, first, owner) })
}

/// A column with the bitmap of an array, if it has one.
///
/// # Safety
/// The array has a layout that begins with a bitmap, with a bit for each row from `first` on, and `owner` keeps it alive.
unsafe fn nullable(column: Box<dyn Column>, array: &Array, first: usize, owner: &Owner) -> Box<dyn Column> {
    let valid: *const u8 = match array.n_buffers > 0 && !array.buffers.is_null() {
        // SAFETY: the caller's promise; it is null if all rows have a value.
        true => unsafe { *array.buffers }.cast(),
        false => std::ptr::null(),
    };
    if valid.is_null() || array.null_count == 0 {
        return column;
    }
    let valid = Address { at: valid, owner: owner.clone() };
    Box::new(Nullable { column, valid, offset: first })
}

fn plain<T: Number>(memory: &Address, first: usize, len: usize) -> Numbers<T> {
    let mut memory = memory.clone();
    memory.at = memory.at.wrapping_add(first * size_of::<T>());
    Numbers { memory, stride: size_of::<T>() as isize, len, swap: false, of: PhantomData }
}

/// Numbers, or the rows of a dictionary.
fn numbers<T: Number + TryInto<usize>>(
    memory: &Address,
    first: usize,
    len: usize,
    values: Option<Box<dyn Column>>,
) -> Box<dyn Column> {
    let rows = plain::<T>(memory, first, len);
    match values {
        Some(values) => Box::new(Dictionary { rows, values, hashed: OnceLock::new() }),
        None => Box::new(rows),
    }
}

fn strings<O: Offset + 'static>(
    offsets: Address,
    bytes: Address,
    first: usize,
    len: usize,
) -> Box<dyn Column> {
    Box::new(Strings(Offsets::<O> { offsets, bytes, first, len, of: PhantomData }))
}
