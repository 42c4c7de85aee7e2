//! A full disk, as far as a limit on the size of files goes: what was there stays, and nothing
//! half-written does.
#![cfg(unix)]

use crate::common::{Shell, has, numbers};
use std::process::Command;

/// Runs `gardenia` where no file can have more than a kilobyte; what it says.
fn run_on_full_disk(shell: &Shell, args: &[&str]) -> String {
    // Ignored, so that the write fails as on a full disk, and no signal ends the process.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let output = Command::new("/bin/sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_gardenia")])
        .args(args)
        .current_dir(shell.path(""))
        .output()
        .expect("sh starts");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).expect("messages are UTF-8")
}

#[test]
fn what_does_not_fit_leaves_what_was_there() {
    if !has("/bin/sh") {
        return;
    }
    let shell = Shell::new();
    shell.write("keys", numbers(0..10_000));
    for (kind, out) in [("counting", "c.gdn"), ("choice", "f.gdn"), ("bloom", "b.gdn")] {
        // Of partitions nothing could be improved.
        let effort: &[&str] = if kind == "choice" { &["--effort", "online"] } else { &[] };
        let build = ["build", "-q", "-o", out, "--kind", kind, "--items", "10000", "keys"];
        shell.ok(&[&build, effort].concat());
    }
    shell.write("out", "mine");
    let before = shell.read("f.gdn");
    let names = || {
        let entries = std::fs::read_dir(shell.path("")).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let files = names();
    for (args, file) in [
        (&["merge", "--force", "-o", "out", "b.gdn", "b.gdn"][..], "out"),
        (&["merge", "-o", "new.gdn", "b.gdn", "b.gdn"], "new.gdn"),
        (&["convert", "--force", "--to", "bloom", "-o", "out", "c.gdn"], "out"),
        (&["convert", "--force", "--from", "keys", "--to", "dcso", "-o", "out", "keys"], "out"),
        (&["improve", "f.gdn", "keys"], "f.gdn"),
        (&["add", "f.gdn", "keys"], "f.gdn"),
        (&["man", "."], "./gardenia.1"),
    ] {
        let said = run_on_full_disk(&shell, args);
        assert!(said.starts_with(&format!("gardenia: {file}: ")), "{args:?}: {said}");
        assert_eq!(names(), files, "{args:?}");
    }
    assert_eq!((shell.read("out"), shell.read("f.gdn") == before), (b"mine".to_vec(), true));
}
