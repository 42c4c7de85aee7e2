//! Files and folders that are not ours to read or to write.
#![cfg(unix)]

use crate::common::{Shell, has, numbers};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

const SETPRIV: &str = "/usr/bin/setpriv";

/// Runs the command as somebody whom the system refuses things: root is refused nothing, and
/// becomes nobody.
fn refused(shell: &Shell, args: &[&str]) -> Output {
    let mut command = shell.command(args);
    if File::open(shell.path("closed")).is_ok() {
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "./gardenia"];
        command = Command::new(SETPRIV);
        command.args(nobody).args(args).current_dir(shell.path("")).stdin(std::process::Stdio::null());
    }
    command.output().expect("it starts")
}

#[test]
fn what_the_system_refuses_is_said_and_nothing_is_lost() {
    let shell = Shell::new();
    shell.write("open", numbers(0..10));
    shell.write("closed", "secret\n");
    shell.ok(&["build", "-q", "-o", "f.gdn", "open"]);
    shell.ok(&["build", "-q", "-o", "hidden.gdn", "open"]);
    fs::create_dir(shell.path("fixed")).unwrap();
    shell.write("fixed/f.gdn", shell.read("f.gdn"));
    let allow =
        |name: &str, mode| fs::set_permissions(shell.path(name), PermissionsExt::from_mode(mode)).unwrap();
    for (name, mode) in [("", 0o755), ("closed", 0), ("hidden.gdn", 0), ("fixed", 0o555), ("f.gdn", 0o644)] {
        allow(name, mode);
    }
    let root = File::open(shell.path("closed")).is_ok();
    if root && !has(SETPRIV) {
        eprintln!("root without setpriv: nobody can be refused anything here");
        return;
    }
    // Where nobody can reach it, too.
    fs::copy(env!("CARGO_BIN_EXE_gardenia"), shell.path("gardenia")).unwrap();
    allow("gardenia", 0o755);

    for (args, said, out) in [
        (
            &["query", "--no-filename", "f.gdn", "closed", "open"][..],
            "gardenia: closed: Permission denied",
            numbers(0..10),
        ),
        (&["dedup", "closed", "open"], "gardenia: closed: Permission denied", numbers(0..10)),
        (&["query", "hidden.gdn", "open"], "gardenia: hidden.gdn: Permission denied", Vec::new()),
        (&["info", "hidden.gdn"], "gardenia: hidden.gdn: Permission denied", Vec::new()),
        (&["build", "-o", "fixed/new.gdn", "closed"], "gardenia: closed: Permission denied", Vec::new()),
        (
            &["build", "-q", "-o", "fixed/new.gdn", "open"],
            "gardenia: fixed/new.gdn: Permission denied",
            Vec::new(),
        ),
        (&["add", "-q", "fixed/f.gdn", "open"], "gardenia: fixed/f.gdn: Permission denied", Vec::new()),
        (
            &["dedup", "--state", "fixed/s.gdn", "open"],
            "gardenia: fixed/s.gdn: Permission denied",
            Vec::new(),
        ),
    ] {
        let output = refused(&shell, args);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.starts_with(said), "{args:?}: {err}");
        assert_eq!(output.stdout, out, "{args:?}");
    }
    allow("fixed", 0o755);
    assert_eq!(shell.read("fixed/f.gdn"), shell.read("f.gdn"));
    assert_eq!(fs::read_dir(shell.path("fixed")).unwrap().count(), 1);
}
