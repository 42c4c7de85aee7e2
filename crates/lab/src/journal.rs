//! What a long run has finished so far, point by point, so that it can go on where it was stopped.
//!
//! A file of lines of JSON: which run it is, then the results of each point, written when the point
//! is done. The subtle rule: a line counts only if it is whole. What follows the last whole line,
//! if the program was killed while it wrote, is cut off before more is added.

use crate::Plan;
use anyhow::{Context, Result, bail, ensure};
use gardenia::KeyHasher;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The first line: runs that differ in any of these have other numbers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    /// The digest of the program: another build may compute something else.
    program: u64,
    seed: u64,
    trials: Option<u64>,
    quick: bool,
}

impl Head {
    fn new(plan: &Plan) -> Self {
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let program = KeyHasher::default().digest(&program[..]).0;
        Self { program, seed: plan.seed, trials: plan.trials, quick: plan.quick }
    }
}

/// The results of a point, as they are read.
#[derive(Deserialize)]
struct Point {
    experiment: String,
    point: String,
    results: Box<RawValue>,
}

/// The same, as they are written.
#[derive(Serialize)]
struct NewPoint<'a, T> {
    experiment: &'a str,
    point: &'a str,
    results: &'a [T],
}

/// The points of a run that are done, in a file.
///
/// ```
/// use lab::{Journal, Plan};
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("unfinished.jsonl");
/// let journal = Journal::open(&path, &Plan::quick())?;
/// assert_eq!(journal.points(), 0);
/// drop(journal);
/// let other = Plan { seed: 2, ..Plan::quick() };
/// let error = Journal::open(&path, &other).unwrap_err();
/// assert!(format!("{error:#}").contains("another seed"));
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    found: HashMap<(String, String), Box<RawValue>>,
    file: Mutex<File>,
}

impl Journal {
    /// Opens a journal, or begins one. Nobody else can open it as long as this exists.
    ///
    /// # Errors
    /// If the file cannot be read and written, is none of ours, is in use, or is that of a run that
    /// differs in seed, trials or program.
    pub fn open(path: &Path, plan: &Plan) -> Result<Self> {
        Self::open_or_begin(path, plan, false).with_context(|| path.display().to_string())
    }

    /// Begins a journal, in place of whatever the file was.
    ///
    /// # Errors
    /// If the file cannot be written, or is in use.
    pub fn begin(path: &Path, plan: &Plan) -> Result<Self> {
        Self::open_or_begin(path, plan, true).with_context(|| path.display().to_string())
    }

    fn open_or_begin(path: &Path, plan: &Plan, anew: bool) -> Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another run is writing it"),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let mut text = Vec::new();
        if !anew {
            file.read_to_end(&mut text)?;
        }
        let (mut found, mut whole) = (HashMap::new(), 0);
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let head = Head::new(plan);
        if let Some(line) = lines.next() {
            let theirs: Head = serde_json::from_slice(line).context("is no journal of the lab")?;
            ensure!(theirs.program == head.program, "was begun by another build of the program");
            ensure!(theirs == head, "was begun with another seed, other trials or another --quick");
            whole = line.len();
            for line in lines {
                let Ok(point) = serde_json::from_slice::<Point>(line) else { break };
                found.insert((point.experiment, point.point), point.results);
                whole += line.len();
            }
        } else {
            // Begun and killed before its first line was whole, or something else altogether.
            ensure!(text.len() < 200, "is no journal of the lab");
        }
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        if whole == 0 {
            write_line(&mut file, &head)?;
        }
        Ok(Self { found, file: Mutex::new(file) })
    }

    /// How many points it held when it was opened.
    #[must_use]
    pub fn points(&self) -> usize {
        self.found.len()
    }

    /// The results of a point, if there are `count` of them.
    pub(crate) fn recall<T: DeserializeOwned>(
        &self,
        experiment: &str,
        point: &str,
        count: u64,
    ) -> Option<Vec<T>> {
        let results = self.found.get(&(experiment.to_owned(), point.to_owned()))?;
        // Results that cannot be written as JSON (no number is infinite there) are made again.
        let results: Vec<T> = serde_json::from_str(results.get()).ok()?;
        (results.len() as u64 == count).then_some(results)
    }

    /// Notes the results of a point.
    pub(crate) fn keep<T: Serialize>(&self, experiment: &str, point: &str, results: &[T]) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&mut file, &NewPoint { experiment, point, results }).context("the journal")
    }
}

/// In one call, so that a line is whole or the last.
fn write_line(file: &mut File, line: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(file.write_all(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bench;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A run of two points, the second tried in two ways, and how many trials it had to make.
    fn run(path: &Path) -> (Vec<Vec<(u64, f64)>>, u64) {
        let made = AtomicU64::new(0);
        let journal = Some(Arc::new(Journal::open(path, &Plan::quick()).unwrap()));
        let plan = Plan { journal, ..Plan::quick() };
        let bench = Bench::new(&plan, "test", &(), 30);
        let points = [("a", 1), ("b", 2), ("b", 3)].map(|(point, way)| {
            let trial = |stream: &mut crate::Stream, _| {
                made.fetch_add(1, Relaxed);
                Ok((stream.word() / way, stream.word() as f64 / 3e10))
            };
            bench.trials(point, 10, 1, trial).unwrap()
        });
        (points.to_vec(), made.into_inner())
    }

    #[test]
    fn a_run_goes_on_where_it_was_stopped_with_the_same_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let (whole, made) = run(&path);
        assert_eq!(made, 30);
        assert_eq!(run(&path), (whole.clone(), 0));
        let text = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').map(|at| at + 1).collect();
        // Stopped at any byte: what is whole is recalled, to the last digit.
        for stop in (0..text.len()).step_by(37).chain(ends.iter().copied()) {
            std::fs::write(&path, &text[..stop]).unwrap();
            let points = ends[1..].iter().filter(|end| **end <= stop).count() as u64;
            assert_eq!(run(&path), (whole.clone(), 30 - 10 * points), "stopped at {stop}");
            assert_eq!(std::fs::read(&path).unwrap(), text);
        }
    }

    #[test]
    fn another_run_or_another_file_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        run(&path);
        let text = std::fs::read(&path).unwrap();
        let complaint = |plan: &Plan| format!("{:#}", Journal::open(&path, plan).unwrap_err());
        for plan in
            [Plan { seed: 2, ..Plan::quick() }, Plan { trials: Some(3), ..Plan::quick() }, Plan::default()]
        {
            assert!(complaint(&plan).contains("another seed"), "{}", complaint(&plan));
        }
        let held = Journal::open(&path, &Plan::quick()).unwrap();
        assert!(complaint(&Plan::quick()).contains("another run"));
        assert!(Journal::begin(&path, &Plan::quick()).is_err());
        drop(held);
        assert_eq!(std::fs::read(&path).unwrap(), text);
        let other = Plan { seed: 2, ..Plan::quick() };
        assert!(Journal::begin(&path, &other).unwrap().points() == 0 && Journal::open(&path, &other).is_ok());
        for other in ["roses are red\n".to_owned(), "x".repeat(300)] {
            std::fs::write(&path, &other).unwrap();
            assert!(complaint(&Plan::quick()).contains("no journal"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }
}
