//! The calls of the page. Each parses, calls the library, and formats.

mod inside;
mod inspect;
mod papers;
mod plan;
mod streams;

use crate::job::Job;
use crate::server::{Shared, parameter};
use gardenia::{Ability, Kind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A call.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) query: &'a str,
    pub(crate) body: Vec<u8>,
    pub(crate) page: &'a str,
    pub(crate) is_post: bool,
}

/// Why a call has no answer.
pub(crate) struct Refused {
    pub(crate) code: u16,
    pub(crate) why: String,
}

impl<E: std::fmt::Display> From<E> for Refused {
    fn from(error: E) -> Self {
        Self { code: 400, why: error.to_string() }
    }
}

fn refuse<T>(code: u16, why: impl Into<String>) -> Answer<T> {
    Err(Refused { code, why: why.into() })
}

type Answer<T = Value> = Result<T, Refused>;

impl Call<'_> {
    fn text(&self, name: &str) -> Option<String> {
        parameter(self.query, name)
    }
    fn number<T: std::str::FromStr>(&self, name: &str) -> Answer<Option<T>> {
        match self.text(name).filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(_) => refuse(400, format!("{name}={text} is not a number")),
            },
        }
    }
    fn json<T: DeserializeOwned>(&self) -> Answer<T> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

/// Starts the work of a call in the background; the answer is the number of the job.
fn start(shared: &Shared, call: &Call<'_>, work: impl FnOnce(&Job) -> Answer + Send + 'static) -> Answer {
    let started = shared.jobs.start(call.page, |job| work(job).map_err(|refused| refused.why));
    started.or_else(|why| refuse(429, why))
}

/// The answer to a call.
pub(crate) fn answer(shared: &Shared, call: Call<'_>) -> Answer {
    let posts = ["inside", "upload", "file", "query", "verify", "compare", "streams", "simulate", "stop"];
    if posts.contains(&call.name) != call.is_post {
        let method = if call.is_post { "GET" } else { "POST" };
        return refuse(405, format!("this call needs {method}"));
    }
    match call.name {
        "kinds" => Ok(kinds()),
        "plan" => plan::plan(&call),
        "inside" => inside::inside(&call),
        "files" => Ok(inspect::files(shared)),
        "upload" => inspect::upload(shared, &call),
        "file" => inspect::file(shared, &call),
        "fill" => inspect::fill(shared, &call),
        "query" => inspect::query(shared, &call),
        "verify" => inspect::verify(shared, &call),
        "compare" => inspect::compare(shared, &call),
        "streams" => streams::start(shared, &call),
        "papers" => papers::curves(&call),
        "simulate" => papers::simulate(shared, &call),
        "job" | "stop" => {
            let Some(id) = call.number("id")? else { return refuse(400, "id is missing") };
            let state = if call.is_post { shared.jobs.stop(id) } else { shared.jobs.state(id) };
            state.map_or_else(|| refuse(404, "there is no such job"), Ok)
        }
        _ => refuse(404, "there is no such call"),
    }
}

/// A number that JSON can hold; null if it is none.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The table of kinds, for the page's forms.
fn kinds() -> Value {
    let kinds: Vec<_> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.holds_keys())
        .map(|kind| {
            let abilities: Vec<_> = kind.abilities().iter().map(|ability| ability.name()).collect();
            let params: Vec<_> = kind
                .params()
                .iter()
                .map(|param| json!({ "word": param.word(), "meaning": param.meaning(), "words": param.takes().words() }))
                .collect();
            json!({
                "name": kind.name(),
                "summary": kind.summary(),
                "abilities": abilities,
                "params": params,
                "example": inside::example(kind),
            })
        })
        .collect();
    let abilities: Vec<_> = Ability::ALL.into_iter().map(Ability::name).collect();
    json!({ "version": env!("CARGO_PKG_VERSION"), "kinds": kinds, "abilities": abilities, "needs": plan::needs() })
}
