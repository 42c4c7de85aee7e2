//! Two processes that change one filter file.
#![cfg(unix)]

use crate::common::{Shell, answers, finish_by_itself, numbers};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A shell with a filter of the numbers below 1000.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1000));
    shell.ok(&["build", "-q", "-o", "f.gdn", "--items", "2000", "--fpp", "1e-6", "keys"]);
    shell
}

/// A command that waits for its input, once it has the lock on `f.gdn`.
fn waiting(shell: &Shell, args: &[&str]) -> Child {
    let child = shell.command(args).stdin(Stdio::piped()).spawn().expect("gardenia starts");
    wait_for_lock(shell);
    child
}

/// Waits until somebody has locked the file that is now `f.gdn`.
fn wait_for_lock(shell: &Shell) {
    let start = Instant::now();
    while !matches!(
        File::open(shell.path("f.gdn")).expect("a file").try_lock(),
        Err(TryLockError::WouldBlock)
    ) {
        assert!(start.elapsed() < Duration::from_secs(20), "nobody has locked the file");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Gives a waiting command its last line, and waits for its end.
fn end(mut child: Child, line: &[u8]) {
    child.stdin.take().expect("a pipe").write_all(line).expect("it reads");
    let output = child.wait_with_output().expect("gardenia ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_two_processes_add_at_once_is_all_in() {
    let shell = shell();
    let first = waiting(&shell, &["add", "f.gdn"]);
    std::os::unix::fs::symlink("f.gdn", shell.path("link.gdn")).expect("a link");
    let others: Vec<Child> = ["f.gdn", "link.gdn"]
        .iter()
        .enumerate()
        .map(|(at, file)| {
            shell.write(&format!("more{at}"), format!("tulip{at}\n"));
            shell.command(&["add", file, &format!("more{at}")]).spawn().expect("gardenia starts")
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200)); // without a lock they would be done by now
    end(first, b"rose\n");
    for other in others {
        let run = finish_by_itself(other);
        assert_eq!(run.code, Some(0));
        assert!(run.err.contains(".gdn: waiting for another process to finish changing it\n"), "{}", run.err);
    }
    assert_eq!(answers(&shell.filter("f.gdn"), &["rose", "tulip0", "tulip1", "999"]), [true; 4]);
}

#[test]
fn whoever_has_waited_locks_the_file_that_has_taken_the_place() {
    let shell = shell();
    let first = waiting(&shell, &["add", "f.gdn"]);
    let second = shell.command(&["add", "f.gdn"]).stdin(Stdio::piped()).spawn().expect("gardenia starts");
    std::thread::sleep(Duration::from_millis(200)); // for it to wait
    end(first, b"rose\n");
    wait_for_lock(&shell); // the file is a new one, and the second has it
    shell.write("more", "tulip\n");
    let third = shell.command(&["add", "f.gdn", "more"]).spawn().expect("gardenia starts");
    std::thread::sleep(Duration::from_millis(200));
    end(second, b"lily\n");
    assert_eq!(finish_by_itself(third).code, Some(0));
    assert_eq!(answers(&shell.filter("f.gdn"), &["rose", "lily", "tulip"]), [true; 3]);
}

#[test]
fn a_filter_that_is_not_changed_is_not_waited_for() {
    let shell = shell();
    let before = shell.read("f.gdn");
    let first = waiting(&shell, &["add", "-q", "f.gdn"]);
    let elsewhere = shell.command(&["add", "-q", "-o", "g.gdn", "f.gdn", "keys"]).spawn().expect("it starts");
    assert_eq!(finish_by_itself(elsewhere).code, Some(0));
    assert_eq!(shell.read("g.gdn"), before);
    assert_eq!(shell.run(&["query", "-c", "f.gdn", "keys"]).text(), "1000\n");
    // The same file by another name is changed in place, too, and `--quiet` waits without a word.
    let args = ["add", "-q", "--force", "-o", "./f.gdn", "f.gdn", "more"];
    shell.write("more", "tulip\n");
    let second = shell.command(&args).spawn().expect("gardenia starts");
    std::thread::sleep(Duration::from_millis(200));
    end(first, b"rose\n");
    assert_eq!(&*finish_by_itself(second).err, "");
    assert_eq!(answers(&shell.filter("f.gdn"), &["rose", "tulip"]), [true; 2]);
}

#[test]
fn a_process_that_was_killed_is_not_waited_for() {
    let shell = shell();
    let mut first = waiting(&shell, &["add", "f.gdn"]);
    first.kill().expect("a child can be killed");
    first.wait().expect("it ends");
    assert_eq!(shell.pipe(b"rose\n", &["add", "-q", "f.gdn"]).code, Some(0));
    assert!(answers(&shell.filter("f.gdn"), &["rose"])[0]);
}

#[test]
fn a_file_that_cannot_be_written_is_locked_and_replaced_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let shell = shell();
    let readonly = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(shell.path("f.gdn"), readonly).expect("permissions can be set");
    shell.pipe(b"rose\n", &["add", "-q", "f.gdn"]).quietly();
    assert!(answers(&shell.filter("f.gdn"), &["rose"])[0]);
    assert!(
        shell.run(&["add", "missing.gdn", "keys"]).complaint().starts_with("gardenia: missing.gdn: No such")
    );
    assert!(shell.run(&["add", ".", "keys"]).complaint().starts_with("gardenia: .: "));
}
