//! Two processes that change one file wait for each other: what is read, changed and renamed into
//! place by one would otherwise be lost to the other.
//!
//! The lock is the system's, on the file itself, and ends with the process. As files are replaced
//! by renaming, the file that was waited for may be the old one: the lock counts once its path
//! still names it.

use crate::input;
#[cfg(unix)]
use crate::message::{hinted, say};
use crate::open::is_stream;
use anyhow::Context;
use std::fs::File;
#[cfg(unix)]
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

/// Keeps others from changing a file until it is dropped.
pub(crate) struct Lock {
    /// None where nothing can be locked.
    _file: Option<File>,
}

/// Waits until no other process changes the file at `path`, and keeps others waiting from then on.
/// Whoever asks for it says so on stderr, unless `quiet`.
pub(crate) fn hold(path: &Path, quiet: bool) -> anyhow::Result<Lock> {
    if is_stream(path) {
        return Ok(Lock { _file: None });
    }
    lock(path, quiet).with_context(|| input::name(path)).map(|file| Lock { _file: file })
}

#[cfg(unix)]
fn lock(path: &Path, quiet: bool) -> io::Result<Option<File>> {
    let mut said = quiet;
    loop {
        let file = open(path)?;
        let locked = match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                if !said {
                    say(&format!("{}: waiting for another process to finish changing it", input::name(path)));
                    said = true;
                }
                file.lock()
            }
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        if let Err(error) = locked {
            let name = input::name(path);
            say(&format!("gardenia: warning: {name}: cannot lock the file: {error}"));
            say("hint: let no other process change it meanwhile");
            return Ok(None);
        }
        if names(path, &file)? {
            return Ok(Some(file));
        }
    }
}

/// For writing if that is allowed: some file systems lock no others.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path).or_else(|_| File::open(path))
}

/// Whether `path` names this file, and not one that has taken its place.
#[cfg(unix)]
fn names(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (ours, now) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (now.dev(), now.ino()))
}

/// Takes the file at `path` for this process, or says that another has it. One that is not there is
/// made, empty, so that it can be locked; if it stays empty it goes with the lock.
pub(crate) fn claim(path: &Path) -> anyhow::Result<Claim> {
    claim_file(path)
        .with_context(|| input::name(path))
        .map(|file| Claim { _file: file, path: path.to_owned() })
}

/// A file that only this process works with.
pub(crate) struct Claim {
    _file: Option<File>,
    path: PathBuf,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While the lock is held, so that nobody else's file goes.
        if self._file.is_some()
            && std::fs::metadata(&self.path).is_ok_and(|file| file.is_file() && file.len() == 0)
        {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
fn claim_file(path: &Path) -> anyhow::Result<Option<File>> {
    loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let hint = "wait for it to finish: only one process can use a state";
                return Err(hinted("another process is using it", hint));
            }
            Err(TryLockError::Error(error)) => {
                say(&format!("gardenia: warning: {}: cannot lock the file: {error}", input::name(path)));
                return Ok(None);
            }
            Ok(()) => {}
        }
        // Its holder may have put another in its place, or taken it away, before it was ours.
        if names(path, &file).unwrap_or(false) {
            return Ok(Some(file));
        }
    }
}

#[cfg(not(unix))]
fn claim_file(_: &Path) -> anyhow::Result<Option<File>> {
    Ok(None)
}

/// An open file could not be replaced here, so none is kept open.
#[cfg(not(unix))]
fn lock(_: &Path, _: bool) -> io::Result<Option<File>> {
    Ok(None)
}
