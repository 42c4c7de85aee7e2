//! From a need to designs: `gardenia.plan`.

use crate::batch::Options;
use crate::errors::{self, Class};
use crate::filter;
use gardenia::Ability;
use gardenia::plan::{Need, Prefer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// A filter that would do, with what it costs; `build()` makes it.
#[pyclass(frozen, module = "gardenia")]
pub(crate) struct Design(gardenia::plan::Design);

#[pymethods]
impl Design {
    /// The kind of filter.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// The spec that builds it, for gardenia.make, the command and the Redis module.
    #[getter]
    fn spec(&self) -> String {
        self.0.spec.to_string()
    }

    /// The number of keys that the figures are for.
    #[getter]
    fn items(&self) -> u64 {
        self.0.items
    }

    /// Bytes of memory, with all keys in the filter.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.bytes
    }

    /// Bytes of a file.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.0.file_bytes
    }

    /// Bits of memory per key.
    #[getter]
    fn bits_per_key(&self) -> f64 {
        self.0.bits_per_key
    }

    /// The false-positive rate once all keys are in the filter.
    #[getter]
    fn fpp(&self) -> f64 {
        self.0.fpp
    }

    /// What the rate of the built filter stays below with probability `confidence`.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.bound
    }

    /// How sure the bound is.
    #[getter]
    fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// Nanoseconds of a query in a batch, as measured on the machine of the library's authors.
    #[getter]
    fn ns(&self) -> f64 {
        self.0.ns
    }

    /// Why one would use it, in a sentence.
    #[getter]
    fn why(&self) -> &str {
        &self.0.why
    }

    /// The filter: empty, or built from `keys`.
    #[pyo3(signature = (keys=None, values=None))]
    fn build<'py>(
        &self,
        py: Python<'py>,
        keys: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        filter::make(py, &self.0.spec, keys, values, None, &Options::plain())
    }

    fn __repr__(&self) -> String {
        let size = gardenia::spec::number::show_bytes(self.0.bytes);
        format!("<gardenia.Design: {}, {size}, fpp={:.3e}>", self.0.kind.name(), self.0.fpp)
    }
}

/// All designs that do what is asked, the best first.
pub(crate) fn plan(
    items: Option<u64>,
    fpp: Option<f64>,
    memory: Option<u64>,
    prefer: &str,
    abilities: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Design>> {
    let mut need = items.map_or_else(Need::unknown, Need::of);
    if let Some(fpp) = fpp {
        need = need.fpp(fpp);
    }
    if let Some(memory) = memory {
        need = need.memory(memory);
    }
    need = need.prefer(match prefer {
        "balance" => Prefer::Balance,
        "speed" => Prefer::Speed,
        "memory" => Prefer::Memory,
        other => {
            let message = format!("prefer is {other:?}, and must be \"balance\", \"speed\" or \"memory\"");
            return Err(PyValueError::new_err(message));
        }
    });
    for (name, value) in abilities.into_iter().flat_map(|abilities| abilities.iter()) {
        let name: String = name.extract()?;
        let Some(ability) = Ability::ALL.into_iter().find(|ability| ability.name() == name) else {
            let known = Ability::ALL.map(Ability::name).join(", ");
            return Err(PyTypeError::new_err(format!(
                "no ability is called {name:?}. hint: use one of {known}"
            )));
        };
        need = match (ability, value.cast::<PyBool>()) {
            (_, Ok(wanted)) if !wanted.is_true() => need,
            (_, Ok(_)) => need.with(ability),
            (Ability::Count, _) => need.count(value.extract()?),
            (Ability::Map, _) => need.values(value.extract()?),
            _ => return Err(PyTypeError::new_err(format!("{name} must be True or False"))),
        };
    }
    match need.plan() {
        Ok(plan) => Ok(plan.designs().iter().cloned().map(Design).collect()),
        Err(impossible) => {
            let mut message = impossible.to_string();
            if let Some(nearest) = &impossible.nearest {
                let _ = std::fmt::Write::write_fmt(
                    &mut message,
                    format_args!(". hint: without {} there is {}", impossible.without, nearest.spec),
                );
            }
            Err(Class::Spec.error(message))
        }
    }
}

/// What a spec takes and promises before it is built.
pub(crate) fn size<'py>(py: Python<'py>, spec: &gardenia::Spec) -> PyResult<Bound<'py, PyDict>> {
    let (filled, size) = (spec.filled().map_err(errors::spec)?, spec.size().map_err(errors::spec)?);
    let answer = PyDict::new(py);
    answer.set_item("spec", filled.to_string())?;
    answer.set_item("nbytes", size.bytes)?;
    answer.set_item("file_bytes", size.file_bytes)?;
    answer.set_item("fpp", size.fpp)?;
    answer.set_item("bound", size.bound)?;
    Ok(answer)
}
