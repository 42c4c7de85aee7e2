//! Where a filter goes: a file, whole or not at all, or stdout.

use crate::message::{self, hinted};
use crate::open::is_dash;
use anyhow::{Context, bail};
use gardenia::format::{create_file, replace_file};
use gardenia::{AnyFilter, EncodeError};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

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
                return Err(hinted("refusing to write a binary filter to the terminal", hint));
            }
            return Ok(());
        }
        self.check_file().with_context(|| self.name())
    }

    fn check_file(&self) -> anyhow::Result<()> {
        let path = self.path;
        let Ok(metadata) = fs::metadata(path) else {
            // A file that is no link appeared a moment ago: of it the writer will tell.
            if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) && !self.force {
                return Err(hinted("already exists, as a link to nothing", "--force replaces it"));
            }
            let directory =
                path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
            // Missing, not a directory, or not ours to enter: the system says it best.
            return fs::read_dir(directory).map(drop).map_err(|error| {
                hinted(format!("the directory {} cannot be used: {error}", directory.display()), "change -o")
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
        self.write_by(|out| filter.write_to(out))
    }

    /// Writes what is no filter of all kinds.
    pub(crate) fn write_by(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), EncodeError>,
    ) -> anyhow::Result<()> {
        self.fill(|out| write(out).map_err(message::encode).with_context(|| self.name()))
    }

    /// Hands stdout or the file to `write`, whose errors say by themselves where they come from. A
    /// file appears when that is done: whole or not at all, and without `force` only where there is
    /// none, not even one that another process made in the meantime.
    pub(crate) fn fill<T>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if is_dash(self.path) {
            let mut stdout = io::stdout().lock();
            let done = write(&mut stdout)?;
            stdout.flush().context("stdout")?;
            return Ok(done);
        }
        self.check()?; // again: another process may have been faster
        let mut done = None;
        let write = |file: &mut dyn Write| match done.insert(write(file)) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::other("stopped")),
        };
        let put = if self.force { replace_file(self.path, write) } else { create_file(self.path, write) };
        match (put, done) {
            (_, Some(Err(error))) => Err(error),
            (Ok(()), Some(Ok(done))) => Ok(done),
            (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => {
                let reason = "another process has created it in the meantime";
                Err(hinted(reason, "--force replaces it")).with_context(|| self.name())
            }
            (Err(error), _) => Err(error).with_context(|| self.name()),
            (Ok(()), None) => bail!("{}: not written", self.name()),
        }
    }
}
