//! Where a filter goes: a file, whole or not at all, or stdout.

use crate::message::{self, hinted};
use crate::open::is_dash;
use anyhow::{Context, bail};
use gardenia::{AnyFilter, EncodeError};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Whether stdout shows colours, and they are wanted.
pub(crate) fn colour() -> bool {
    // https://no-color.org: set and not empty
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stdout().is_terminal() && !unwanted && !dumb
}

/// The place for a filter.
pub(crate) struct Output<'a> {
    pub(crate) path: &'a Path,
    /// An existing file may be replaced.
    pub(crate) force: bool,
    /// Files that are read meanwhile, and must not be lost.
    pub(crate) inputs: &'a [PathBuf],
}

impl Output<'_> {
    /// How messages name it.
    pub(crate) fn name(&self) -> String {
        if is_dash(self.path) { "stdout".to_owned() } else { self.path.display().to_string() }
    }

    /// What is wrong with it, if anything: to be asked before hours of reading.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if is_dash(self.path) {
            if io::stdout().is_terminal() {
                let hint = "give a file by -o FILE, or send it on with > or |";
                return Err(hinted("a filter is not written to a terminal", hint));
            }
            return Ok(());
        }
        self.check_file().with_context(|| self.name())
    }

    fn check_file(&self) -> anyhow::Result<()> {
        let path = self.path;
        let Ok(metadata) = fs::metadata(path) else {
            let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            // Missing, not a folder, or not ours to enter: the system says it best.
            return fs::read_dir(folder).map(drop).map_err(|error| {
                hinted(format!("the folder {} cannot be used: {error}", folder.display()), "change -o")
            });
        };
        if metadata.is_dir() {
            bail!("Is a directory");
        }
        let real = |path: &Path| fs::canonicalize(path).ok();
        if metadata.is_file() && self.inputs.iter().any(|input| real(input) == real(path)) {
            return Err(hinted("is one of the inputs, and would be lost", "change -o"));
        }
        if metadata.is_file() && !self.force {
            return Err(hinted("already exists", "--force replaces it"));
        }
        Ok(())
    }

    /// Writes the filter.
    pub(crate) fn write(&self, filter: &AnyFilter) -> anyhow::Result<()> {
        self.write_by(|out| filter.write_to(out), || filter.save(self.path))
    }

    /// Writes what is no filter of all kinds, to stdout or to the file.
    pub(crate) fn write_by(
        &self,
        to_stdout: impl FnOnce(io::StdoutLock<'_>) -> Result<(), EncodeError>,
        to_file: impl FnOnce() -> Result<(), EncodeError>,
    ) -> anyhow::Result<()> {
        if is_dash(self.path) {
            return to_stdout(io::stdout().lock()).map_err(message::encode).context("stdout");
        }
        self.check()?; // again: another process may have been faster
        to_file().map_err(message::encode).with_context(|| self.name())
    }
}
