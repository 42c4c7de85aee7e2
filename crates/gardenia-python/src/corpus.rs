//! Documents of a corpus, decided batch by batch: what `gardenia.corpus` stands on. The decisions are those of the command
//! `gardenia corpus`, with its options.

use gardenia_corpus::analyse::{Given, Key};
use gardenia_corpus::args::{self, Wanted};
use gardenia_corpus::decide::Reason;
use gardenia_corpus::output::attribute;
use gardenia_corpus::texts::{Texts, Verdict};
use gardenia_corpus::{html, state};
use gardenia_terminal::message;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The answer about a document that does not stay as it is: why all of it goes, or what is left of its text, and the spans that went,
/// in characters.
type Answer = Option<(Option<&'static str>, Option<String>, Vec<(&'static str, usize, usize)>)>;

/// A run over documents that Python brings. Its options are those of the command: `["dedup", "--by=paragraph"]`.
#[pyclass(frozen, name = "_Corpus", module = "gardenia._gardenia")]
pub(crate) struct Corpus(Mutex<Texts>);

#[pymethods]
impl Corpus {
    #[new]
    #[pyo3(signature = (arguments, benchmark=None))]
    fn new(py: Python<'_>, arguments: Vec<String>, benchmark: Option<&Bound<'_, PyList>>) -> PyResult<Self> {
        let benchmark = benchmark.map_or(Vec::new(), strings);
        py.detach(|| {
            let documents = given(&benchmark, None);
            let wanted: Wanted = args::parse(&arguments)?;
            Texts::new(&wanted, &documents)
        })
        .map(|texts| Self(Mutex::new(texts)))
        .map_err(|error| python(&error))
    }

    /// Goes on where `save` was called.
    #[staticmethod]
    #[pyo3(signature = (directory, memory=None))]
    fn open(py: Python<'_>, directory: PathBuf, memory: Option<u64>) -> PyResult<Self> {
        if !directory.is_dir() {
            let text =
                format!("{}: no such directory. hint: name a directory that save made", directory.display());
            return Err(PyFileNotFoundError::new_err(text));
        }
        let texts = py.detach(|| Texts::open(&directory, memory));
        texts.map(|texts| Self(Mutex::new(texts))).map_err(|error| python(&error))
    }

    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        py.detach(|| self.texts().save(&directory)).map_err(|error| python(&error))
    }

    /// Decides about the next documents. `keys` holds a text for each, or bytes of JSON, where another value than the text is compared.
    #[pyo3(signature = (texts, keys=None, threads=1))]
    fn push(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyList>,
        keys: Option<&Bound<'_, PyList>>,
        threads: usize,
    ) -> PyResult<Vec<Answer>> {
        let texts = strings(texts);
        let keys = keys.map(values).transpose()?;
        if keys.as_ref().is_some_and(|keys| keys.len() != texts.len()) {
            return Err(PyValueError::new_err("there must be as many keys as texts"));
        }
        py.detach(|| {
            let documents = given(&texts, keys.as_deref());
            let verdicts = self.texts().push(&documents, threads.clamp(1, 256))?;
            let answers = documents.iter().zip(&verdicts);
            Ok(answers.map(|(given, verdict)| answer(given.text.unwrap_or_default(), verdict)).collect())
        })
        .map_err(|error: anyhow::Error| python(&error))
    }

    /// The report as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let report = py.detach(|| self.texts().report());
        serde_json::to_string(&report).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The report for people.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.texts().report().text())
    }

    /// The report as a page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| html::page(&self.texts().report()))
    }

    /// The keys of documents that are read: of the text, of the id, and of the value that is compared.
    #[getter]
    fn keys(&self, py: Python<'_>) -> (String, String, Option<String>) {
        let options = py.detach(|| self.texts().options().clone());
        (options.text_key, options.id_key, options.key)
    }
}

impl Corpus {
    /// Called without the GIL: who holds the lock may wait for it.
    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Merges states into one, for `after`.
#[pyfunction]
#[pyo3(name = "_corpus_merge")]
pub(crate) fn merge(py: Python<'_>, states: Vec<PathBuf>, output: PathBuf) -> PyResult<()> {
    py.detach(|| state::merge(&states, &output)).map_err(|error| python(&error))
}

/// Texts; what is no text, or cannot be UTF-8, is a document that cannot be used.
fn strings(list: &Bound<'_, PyList>) -> Vec<Option<PyBackedStr>> {
    let text = |item: Bound<'_, PyAny>| match item.cast_into::<PyString>() {
        Ok(text) => PyBackedStr::try_from(text).ok(),
        Err(_) => None,
    };
    list.iter().map(text).collect()
}

enum Value {
    Text(PyBackedStr),
    Json(PyBackedBytes),
}

fn values(list: &Bound<'_, PyList>) -> PyResult<Vec<Option<Value>>> {
    let value = |item: Bound<'_, PyAny>| {
        if item.is_none() {
            return Ok(None);
        }
        match item.cast_into::<PyString>() {
            Ok(text) => Ok(PyBackedStr::try_from(text).ok().map(Value::Text)),
            Err(other) => match other.into_inner().cast_into::<PyBytes>() {
                Ok(json) => Ok(Some(Value::Json(json.into()))),
                Err(_) => Err(PyTypeError::new_err("a key is a text, or bytes of JSON")),
            },
        }
    };
    list.iter().map(value).collect()
}

fn given<'a>(texts: &'a [Option<PyBackedStr>], keys: Option<&'a [Option<Value>]>) -> Vec<Given<'a>> {
    let key = |at: usize| match keys?.get(at)?.as_ref()? {
        Value::Text(text) => Some(Key::Text((&**text).into())),
        Value::Json(json) => std::str::from_utf8(json).ok().map(Key::Json),
    };
    texts.iter().enumerate().map(|(at, text)| Given { text: text.as_deref(), key: key(at) }).collect()
}

fn answer(text: &str, verdict: &Verdict) -> Answer {
    if verdict.is_unchanged() {
        return None;
    }
    let (mut at, mut chars, mut spans) = (0, 0, Vec::new());
    let rest = verdict.removed.is_none().then(|| verdict.rest(text));
    match verdict.removed {
        Some(reason) => spans.push((attribute(reason), 0, text.chars().count())),
        None => {
            for (reason, span) in &verdict.spans {
                chars += text[at..span.start].chars().count();
                let end = chars + text[span.clone()].chars().count();
                spans.push((attribute(*reason), chars, end));
                (at, chars) = (span.end, end);
            }
        }
    }
    Some((verdict.removed.map(Reason::name), rest, spans))
}

/// An error of the corpus library. Options are named as Python has them.
fn python(error: &anyhow::Error) -> PyErr {
    let mut text = format!("{error:#}");
    if let Some(hint) = message::hint(error) {
        text = format!("{text}. hint: {hint}");
    }
    let words = text.split(' ').map(|word| match word.strip_prefix("--") {
        Some(option) => option.replace('-', "_"),
        None => word.to_owned(),
    });
    let text = words.collect::<Vec<_>>().join(" ");
    match error.chain().any(|cause| cause.is::<std::io::Error>()) {
        true => PyOSError::new_err(text),
        false => PyValueError::new_err(text),
    }
}
