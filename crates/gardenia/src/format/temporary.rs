//! Temporary files, and those that killed processes left behind.
//!
//! A temporary file is locked from its first moment to its last, by a lock that ends with the
//! process. So whoever makes one beside it can tell those that nobody writes any more, and removes
//! them.
//!
//! Locks are seen by all processes of a machine, but on some network file systems not by other
//! machines. A file's name says which run of a system made it; one that another run made must also
//! have been left alone for a day.

use super::file::directory;
use std::format;
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::xxh3_64;

const PREFIX: &str = ".gardenia-";
const SUFFIX: &str = ".tmp";

/// A number for the current run of the system, from its start to its stop; 0 where there is none to
/// be had.
///
/// Pages that a killed process leaves behind are lost only when the system stops, and its locks end
/// with it.
pub(super) fn system_run() -> u64 {
    std::fs::read("/proc/sys/kernel/random/boot_id").map_or(0, |id| xxh3_64(&id))
}

/// A temporary file in the directory of `path`, to be renamed to it, and locked. Those that nobody
/// writes any more are removed.
pub(super) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    #[cfg(unix)]
    locks::sweep(directory(path), system_run());
    let prefix = format!("{PREFIX}{:016x}-", system_run());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666)); // less the umask, as for any new file
    }
    loop {
        let temporary = builder.tempfile_in(directory(path)).map_err(without_path)?;
        #[cfg(unix)]
        if !locks::is_ours(&temporary) {
            continue; // taken for one left behind, before it was locked
        }
        return Ok(temporary);
    }
}

/// What the system said, without the temporary file's name, which is nobody's.
fn without_path(error: io::Error) -> io::Error {
    let text = std::string::ToString::to_string(&error);
    match text.split_once(" at path ") {
        Some((reason, _)) => io::Error::new(error.kind(), reason),
        None => error,
    }
}

#[cfg(unix)]
mod locks {
    use super::{NamedTempFile, PREFIX, Path, SUFFIX, io};
    use std::fs::{self, File, TryLockError};
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    /// How long a file of another run of a system must have been left alone.
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// Locks a file that was just made; false if somebody else was faster and may remove it.
    pub(super) fn is_ours(temporary: &NamedTempFile) -> bool {
        match temporary.as_file().try_lock() {
            Ok(()) => names(temporary.path(), temporary.as_file()),
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => true, // no locks here, and so nobody takes it for left behind
        }
    }

    /// Removes the temporary files of a directory that nobody writes any more. Files that cannot be
    /// read stay.
    pub(super) fn sweep(directory: &Path, run: u64) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(maker) = name.to_str().and_then(maker) else { continue };
            // By its own type: a link, or a pipe that would wait, is none of ours.
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let local = run != 0 && maker == Some(run);
                let _ = remove_abandoned(&entry.path(), local);
            }
        }
    }

    fn remove_abandoned(path: &Path, local: bool) -> io::Result<()> {
        // For writing if that is allowed: some file systems lock no others.
        let file = File::options().read(true).write(true).open(path).or_else(|_| File::open(path))?;
        let old = || file.metadata()?.modified()?.elapsed().map_err(io::Error::other);
        if (local || old()? > DAY) && file.try_lock().is_ok() && names(path, &file) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Whether `path` names this file, and not one that has taken its place.
    fn names(path: &Path, file: &File) -> bool {
        let id = |file: &fs::Metadata| (file.dev(), file.ino());
        matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(ours), Ok(now)) if id(&ours) == id(&now))
    }

    /// Of a temporary file's name the run that made it, if it says which: names without one are of
    /// older versions.
    pub(super) fn maker(name: &str) -> Option<Option<u64>> {
        let name = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        let (run, random) = name.split_once('-').map_or((None, name), |(run, random)| (Some(run), random));
        let known = random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match run {
            _ if !known => None,
            None => Some(None),
            Some(run) if run.len() == 16 => u64::from_str_radix(run, 16).ok().map(Some),
            Some(_) => None,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    #[test]
    fn only_names_of_temporary_files_are_known() {
        assert_eq!(locks::maker(".gardenia-00000000000000ff-aB3xyZ.tmp"), Some(Some(255)));
        assert_eq!(locks::maker(".gardenia-aB3xyZ.tmp"), Some(None));
        let others = [
            "f.gdn",
            ".gardenia-.tmp",
            ".gardenia-notes.txt",
            ".gardenia-my-aB3xyZ.tmp",
            ".gardenia-seven77.tmp",
        ];
        assert!(others.iter().all(|name| locks::maker(name).is_none()));
        let directory = tempfile::tempdir().unwrap();
        let made = temporary_beside(&directory.path().join("f")).unwrap();
        let name = made.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(locks::maker(name), Some(Some(system_run())));
    }

    #[test]
    fn what_nobody_writes_any_more_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("f");
        let put = |name: &str, days: u64| {
            let file = File::create_new(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 25 * 60 * 60)).unwrap();
        };
        let run = system_run();
        let local = format!(".gardenia-{run:016x}-abcdef.tmp");
        put(&local, 0);
        put(".gardenia-0000000000000001-old000.tmp", 1);
        put(".gardenia-0000000000000001-new000.tmp", 0);
        put(".gardenia-old000.tmp", 1);
        put(".gardenia-new000.tmp", 0);
        put(".gardenia-notes.tmp", 9);
        put("f.gdn", 9);
        fs::create_dir(directory.path().join(".gardenia-directory.tmp")).unwrap();
        std::os::unix::fs::symlink("f.gdn", directory.path().join(".gardenia-link00.tmp")).unwrap();
        let first = temporary_beside(&target).unwrap();
        let second = temporary_beside(&target).unwrap();
        assert!(first.path().exists() && second.path().exists(), "files in use stay");
        let left = |name: &str| fs::symlink_metadata(directory.path().join(name)).is_ok();
        assert_eq!(left(&local), run == 0);
        assert!(!left(".gardenia-0000000000000001-old000.tmp") && !left(".gardenia-old000.tmp"));
        let others = [".gardenia-0000000000000001-new000.tmp", ".gardenia-new000.tmp", ".gardenia-notes.tmp"];
        assert!(others.iter().all(|name| left(name)));
        assert!(["f.gdn", ".gardenia-directory.tmp", ".gardenia-link00.tmp"].iter().all(|name| left(name)));
    }
}
