//! Programs of their own that belong to the command: found beside it or on PATH, as cargo and git
//! find theirs.

use crate::Outcome;
use crate::message::hinted;
use anyhow::Context;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Runs `name` with these arguments in place of this program.
pub(crate) fn run(name: &str, args: &[OsString]) -> anyhow::Result<Outcome> {
    let Some(program) = find(name) else {
        let hint =
            format!("in a clone: cargo build --release -p {name}; or put it beside gardenia or on PATH");
        return Err(hinted(format!("{name} is not installed"), hint));
    };
    let mut command = Command::new(&program);
    command.args(args);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(command.exec()).with_context(|| program.display().to_string())
    }
    #[cfg(not(unix))]
    {
        let status = command.status().with_context(|| program.display().to_string())?;
        std::process::exit(status.code().unwrap_or(2))
    }
}

fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let here = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    here.into_iter()
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(&file))
        .find(|path| path.is_file())
}
