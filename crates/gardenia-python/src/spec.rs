//! Keyword arguments as a [`Spec`]: names, types and meanings come from the table of options.

use crate::errors::{self, Class, spell};
use gardenia::spec::{Param, Takes, Value};
use gardenia::{Kind, SecretKey, Spec};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// Adds keyword arguments to a spec, and checks it.
pub(crate) fn with_options(spec: Spec, options: Option<&Bound<'_, PyDict>>) -> PyResult<Spec> {
    let spec = options_only(spec, options)?;
    spec.check().map_err(errors::spec)?;
    Ok(spec)
}

/// Adds keyword arguments to a spec. It is checked when the filter is built, perhaps from keys that say how large it is to be.
pub(crate) fn options_only(mut spec: Spec, options: Option<&Bound<'_, PyDict>>) -> PyResult<Spec> {
    let Some(options) = options else { return Ok(spec) };
    for (name, value) in options {
        let name: String = name.extract()?;
        let Some(param) = Param::from_word(&name.replace('_', "-")) else {
            let known: Vec<String> = spec.kind().params().iter().map(|param| spell(*param)).collect();
            return Err(PyTypeError::new_err(format!(
                "{} has no option {name:?}. hint: use one of {}",
                spec.kind().name(),
                known.join(", ")
            )));
        };
        if !value.is_none() {
            spec = with_option(spec, param, &value)?;
        }
    }
    Ok(spec)
}

fn with_option(spec: Spec, param: Param, value: &Bound<'_, PyAny>) -> PyResult<Spec> {
    if let Ok(text) = value.cast::<PyString>() {
        return spec.parse_option(param, text.to_str()?).map_err(errors::spec);
    }
    let wrong = |expected: &str| {
        let class = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!("{} is {value} of type {class}, and must be {expected}", spell(param)))
    };
    match param.takes() {
        Takes::Nothing => match value.cast::<PyBool>() {
            Ok(given) if given.is_true() => Ok(spec.with(param, Value::Given)),
            Ok(_) => Ok(spec),
            Err(_) => Err(wrong("True or False")),
        },
        Takes::Whole(..) | Takes::Bits | Takes::Bytes => {
            // 1e6 is how many people write a million.
            let whole = |float: f64| float.fract() == 0.0 && (0.0..=2f64.powi(53)).contains(&float);
            let float = value.cast::<PyFloat>().ok().map(|float| float.value()).filter(|float| whole(*float));
            if let (Some(float), Takes::Whole(..)) = (float, param.takes()) {
                return Ok(spec.with(param, float as u64));
            }
            if value.cast::<PyBool>().is_ok() || value.extract::<i128>().is_err() {
                let out_of_range = value.cast::<PyInt>().is_ok();
                return Err(wrong(if out_of_range { "below 2**64" } else { "an int" }));
            }
            match value.extract::<u64>() {
                Ok(value) => Ok(spec.with(param, value)),
                Err(_) => Err(Class::Spec
                    .error(format!("{} is {value}, and must be from 0 to 2**64 - 1", spell(param)))),
            }
        }
        Takes::Share | Takes::Number => match value.extract::<f64>() {
            Ok(value) => Ok(spec.with(param, value)),
            Err(_) => Err(wrong("a number")),
        },
        Takes::Level(words) => match value.extract::<usize>().ok().and_then(|level| words.get(level)) {
            Some(word) => Ok(spec.with(param, *word)),
            None => Err(wrong(&format!("one of {}", words.join(", ")))),
        },
        Takes::Word(words) => Err(wrong(&format!("one of {}", words.join(", ")))),
        _ => Err(wrong("a text")),
    }
}

/// A secret of 16 bytes.
pub(crate) fn secret(bytes: &[u8]) -> PyResult<SecretKey> {
    let wrong = |_| {
        let message = format!(
            "a secret has 16 bytes, and {} are given. hint: use secrets.token_bytes(16)",
            bytes.len()
        );
        Class::Spec.error(message)
    };
    bytes.try_into().map(SecretKey::new).map_err(wrong)
}

/// The value of an option, as Python has it.
pub(crate) fn value<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Whole(value) => value.into_pyobject(py)?.into_any(),
        Value::Real(value) => value.into_pyobject(py)?.into_any(),
        Value::Word(word) => word.into_pyobject(py)?.into_any(),
        _ => PyBool::new(py, true).to_owned().into_any(),
    })
}

/// The type that an option has in stubs.
pub(crate) fn type_of(param: Param) -> String {
    match param.takes() {
        Takes::Nothing => "bool".to_owned(),
        Takes::Whole(..) | Takes::Bits | Takes::Bytes => "int | str".to_owned(),
        Takes::Share | Takes::Number => "float | str".to_owned(),
        takes => match takes.words() {
            Some(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let level = if matches!(takes, Takes::Level(_)) { " | int" } else { "" };
                format!("Literal[{}]{level}", words.join(", "))
            }
            None => "str".to_owned(),
        },
    }
}

/// The kinds that are classes, each with its name there.
pub(crate) fn classes() -> impl Iterator<Item = (Kind, &'static str)> {
    Kind::ALL.into_iter().filter_map(|kind| Some((kind, kind.type_name()?)))
}
