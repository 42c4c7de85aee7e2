//! Long work in the background: with progress, and with a way to stop it. One job per page at a
//! time.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many jobs run at once, of all pages.
const MOST_RUNNING: usize = 8;
/// How many finished jobs are remembered.
const MOST_KEPT: usize = 64;

/// A job as its work sees it.
#[derive(Default)]
pub(crate) struct Job {
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: f64,
    result: Value,
    error: Option<String>,
    finished: bool,
}

impl Job {
    /// Whether it was asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// Reports what share is done, and the result so far.
    pub(crate) fn report(&self, done: f64, result: Value) {
        let mut state = self.lock();
        (state.done, state.result) = (done, result);
    }
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn is_finished(&self) -> bool {
        self.lock().finished
    }
    fn json(&self) -> Value {
        let state = self.lock();
        json!({
            "done": state.done,
            "finished": state.finished,
            "stopped": self.is_stopped(),
            "error": state.error,
            "result": state.result,
        })
    }
}

/// All jobs.
#[derive(Default)]
pub(crate) struct Jobs {
    next: AtomicU64,
    all: Mutex<HashMap<u64, (String, Arc<Job>)>>,
}

impl Jobs {
    /// Starts work for a page; refused while the page has another job, or too many run.
    pub(crate) fn start(
        &self,
        page: &str,
        work: impl FnOnce(&Job) -> Result<Value, String> + Send + 'static,
    ) -> Result<Value, String> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = all.values().filter(|(_, job)| !job.is_finished());
        if running.clone().any(|(owner, _)| owner == page) {
            return Err("this page has a job under way; stop it first".into());
        }
        if running.by_ref().count() >= MOST_RUNNING {
            return Err("too many jobs are under way; wait for one to end".into());
        }
        while all.len() >= MOST_KEPT {
            let oldest = all.iter().filter(|(_, (_, job))| job.is_finished()).map(|(id, _)| *id).min();
            let Some(oldest) = oldest else { break };
            all.remove(&oldest);
        }
        let (id, job) = (self.next.fetch_add(1, Ordering::Relaxed) + 1, Arc::new(Job::default()));
        all.insert(id, (page.to_owned(), job.clone()));
        std::thread::spawn(move || {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&job)));
            let mut state = job.lock();
            match done {
                Ok(Ok(result)) => (state.done, state.result) = (1.0, result),
                // Work that was stopped has no other reason to fail.
                Ok(Err(_)) if job.is_stopped() => {}
                Ok(Err(error)) => state.error = Some(error),
                Err(_) => state.error = Some("the work failed; please report it".into()),
            }
            state.finished = true;
        });
        Ok(json!({ "job": id }))
    }

    /// The state of a job.
    pub(crate) fn state(&self, id: u64) -> Option<Value> {
        self.find(id).map(|job| job.json())
    }

    /// Asks a job to stop.
    pub(crate) fn stop(&self, id: u64) -> Option<Value> {
        let job = self.find(id)?;
        job.stop.store(true, Ordering::Relaxed);
        Some(job.json())
    }

    fn find(&self, id: u64) -> Option<Arc<Job>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).get(&id).map(|(_, job)| job.clone())
    }
}
