//! A class for each kind of the table: its methods by its abilities, its documentation by its options.
#![allow(unsafe_code)] // `add` is a method of the C interface, because one made by PyO3 takes twice the time of the insertion

use crate::errors::spell;
use crate::filter::{self, Filter};
use crate::spec;
use gardenia::spec::Param;
use gardenia::{Ability, Kind};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use std::ffi::{CString, c_void};
use std::fmt::Write;

/// Methods that only classes with all these abilities have.
const METHODS: [(&[Ability], &[&str]); 6] = [
    (&[Ability::Insert], &["add", "update", "add_many", "clear"]),
    (&[Ability::Remove], &["remove", "discard", "discard_many"]),
    (&[Ability::Count], &["count", "count_many"]),
    (&[Ability::Insert, Ability::Count], &["insert_pairs"]),
    (&[Ability::Merge], &["merge"]),
    (&[Ability::Map], &["get", "get_many"]),
];

static CLASSES: PyOnceLock<Vec<(Kind, Py<PyType>)>> = PyOnceLock::new();

/// `add(key)`, as a method that takes one object.
static ADD: Method = Method(std::cell::UnsafeCell::new(ffi::PyMethodDef {
    ml_name: c"add".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer { PyCFunction: filter::add },
    ml_flags: ffi::METH_O,
    ml_doc: c"add($self, key, /)\n--\n\nAdds `key`; True if it was certainly not in the filter before."
        .as_ptr(),
}));

struct Method(std::cell::UnsafeCell<ffi::PyMethodDef>);
// SAFETY: the interpreter only reads it.
unsafe impl Sync for Method {}

/// Makes all classes and adds them to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = py.get_type::<Filter>();
    // SAFETY: both live as long as the process.
    let add = unsafe {
        let method = ffi::PyDescr_NewMethod(base.as_type_ptr(), ADD.0.get());
        Bound::from_owned_ptr_or_err(py, method)?
    };
    base.setattr("add", add)?;
    base.setattr("kind", py.None())?;
    let methods = PyDict::new(py);
    for name in METHODS.into_iter().flat_map(|(_, names)| names) {
        methods.set_item(name, base.getattr("__dict__")?.get_item(name)?)?;
        base.delattr(*name)?;
    }
    module.add("Filter", &base)?;
    let mut classes = Vec::new();
    for (kind, name) in spec::classes() {
        let class = make(&base, kind, name)?;
        class.setattr("kind", kind.name())?;
        for method in methods_of(kind) {
            class.setattr(method, methods.get_item(method)?)?;
        }
        module.add(name, &class)?;
        classes.push((kind, class.unbind()));
    }
    CLASSES.get_or_init(py, || classes);
    Ok(())
}

/// A subclass with a docstring, and `in` without the detours of PyO3.
fn make<'py>(base: &Bound<'py, PyType>, kind: Kind, name: &str) -> PyResult<Bound<'py, PyType>> {
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let documentation = CString::new(documentation(kind, name))?;
    let contains: ffi::objobjproc = filter::contains;
    let mut slots = [
        slot(ffi::Py_tp_doc, documentation.as_ptr() as *mut c_void),
        slot(ffi::Py_sq_contains, contains as *mut c_void),
        slot(0, std::ptr::null_mut()),
    ];
    let name = CString::new(format!("gardenia.{name}"))?;
    let mut made = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: 0, // that of the base
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as u32,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(base.py(), [base])?;
    // SAFETY: everything that the description refers to lives until the end of the call, and the interpreter copies it.
    let class = unsafe {
        let class = ffi::PyType_FromSpecWithBases(&mut made, bases.as_ptr());
        Bound::from_owned_ptr_or_err(base.py(), class)?
    };
    Ok(class.cast_into::<PyType>()?)
}

/// Methods of the classes of a kind beside those of all.
fn methods_of(kind: Kind) -> impl Iterator<Item = &'static str> {
    let able = move |(abilities, _): &(&[Ability], _)| abilities.iter().all(|ability| kind.can(*ability));
    METHODS.into_iter().filter(able).flat_map(|(_, names)| names.iter().copied())
}

/// The class of a kind.
pub(crate) fn of_kind(py: Python<'_>, kind: Kind) -> PyResult<Bound<'_, PyType>> {
    let mut classes = CLASSES.get(py).into_iter().flatten();
    match classes.find(|(known, _)| *known == kind) {
        Some((_, class)) => Ok(class.bind(py).clone()),
        None => Err(PyTypeError::new_err(format!("{} has no class in Python", kind.name()))),
    }
}

/// The docstring of a class: what it is, its options, and an example that runs.
fn documentation(kind: Kind, class: &str) -> String {
    let mut text = format!("{}\n\nOptions:\n", kind.summary());
    for param in kind.params() {
        let _ = writeln!(text, "    {}: {}", spell(*param), param.meaning());
    }
    let options = if kind.params().contains(&Param::Items) { "items=1000" } else { "" };
    let example = if kind.can(Ability::Map) {
        format!(
            ">>> filter = gardenia.{class}({{\"rose\": 7, \"tulip\": 8}})\n>>> filter[\"rose\"], \"tulip\" in filter\n(7, True)\n"
        )
    } else if kind.can(Ability::Fixed) {
        format!(">>> filter = gardenia.{class}([\"rose\", \"tulip\"])\n>>> \"rose\" in filter\nTrue\n")
    } else {
        format!(
            ">>> filter = gardenia.{class}({options})\n>>> filter.add(\"rose\"), \"rose\" in filter\n(True, True)\n"
        )
    };
    text + "\n" + &example
}

/// The table of kinds, for stubs and tests.
pub(crate) fn table(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rows = PyList::empty(py);
    for (kind, class) in spec::classes() {
        let row = PyDict::new(py);
        row.set_item("name", kind.name())?;
        row.set_item("class", class)?;
        row.set_item("summary", kind.summary())?;
        row.set_item("abilities", kind.abilities().iter().map(|ability| ability.name()).collect::<Vec<_>>())?;
        row.set_item("methods", methods_of(kind).collect::<Vec<_>>())?;
        let options =
            kind.params().iter().map(|param| (spell(*param), spec::type_of(*param), param.meaning()));
        row.set_item("options", options.collect::<Vec<_>>())?;
        rows.append(row)?;
    }
    Ok(rows)
}
