//! The directory of a report: the page, the numbers, and, as long as the run is not over, what it
//! has finished.

use super::{already_exists, check_csv, write_csv, write_file};
use anyhow::{Context, Result};
use gardenia_terminal::human;
use gardenia_terminal::message::{hinted, say};
use lab::{Journal, Plan, Run};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PAGE: &str = "index.html";
const NUMBERS: &str = "lab.json";
const JOURNAL: &str = "unfinished.jsonl";

/// A directory that a report will be in.
pub(super) struct Directory {
    path: PathBuf,
    pub(super) journal: Arc<Journal>,
}

impl Directory {
    /// Makes the directory, or resumes the run that was interrupted in it.
    pub(super) fn open(path: &Path, plan: &Plan, names: &[&str], force: bool) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| path.display().to_string())?;
        let journal = path.join(JOURNAL);
        if !force && !journal.exists() {
            check_csv(path, names, force)?;
            for file in [PAGE, NUMBERS].map(|name| path.join(name)) {
                if file.exists() {
                    return already_exists(&file);
                }
            }
        }
        let hint = "give another directory, or the options that the run was begun with; if it is not running, --force starts over";
        let open = if force { Journal::begin } else { Journal::open };
        let journal = open(&journal, plan).map_err(|error| hinted(format!("{error:#}"), hint))?;
        if journal.points() > 0 {
            say(&format!(
                "gardenia: {}: resuming an interrupted run; {} are done",
                path.display(),
                human::plural(journal.points() as u64, "point")
            ));
        }
        Ok(Self { path: path.to_owned(), journal: Arc::new(journal) })
    }

    /// Writes everything; the page.
    pub(super) fn finish(self, run: &Run, command: &str, facts: &str) -> Result<PathBuf> {
        run.experiments().iter().try_for_each(|report| write_csv(&self.path, report))?;
        write_file(&self.path.join(NUMBERS), &run.to_json()?)?;
        let page = self.path.join(PAGE);
        write_file(&page, &run.to_html(command, facts))?;
        let journal = self.path.join(JOURNAL);
        fs::remove_file(&journal).with_context(|| journal.display().to_string())?;
        Ok(page)
    }
}
