//! Filters of kind split: two files that are changed in place, by commands that are killed, collide
//! or run out of disk.
#![cfg(unix)]

use crate::common::{Shell, answers, finish_by_itself, has, numbers, without_notes};
use gardenia::AnyFilter;
use serde_json::Value;
use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Lines that are in at the start, and lines that come and go.
const HELD: u64 = 1_000;
const MORE: u64 = 200_000;

/// A shell with a split filter of the lines `held`.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("held", numbers(0..HELD));
    shell.write("more", numbers(HELD..HELD + MORE));
    build(&shell, &["--force"]);
    shell
}

fn build(shell: &Shell, options: &[&str]) {
    let all = ["build", "-q", "-o", "f.gdn", "--kind", "split", "--items", "210000", "--fpp", "1e-6", "held"];
    shell.ok(&[&all[..], options].concat());
}

fn count(shell: &Shell, keys: &str) -> u64 {
    let run = shell.run(&["query", "-c", "f.gdn", keys]);
    assert!(run.code < Some(2), "{}", run.err);
    run.text().trim().parse().unwrap()
}

/// Asserts that every command that needs bits or counters refuses the filter.
fn refused(shell: &Shell, says: &str) {
    shell.write("rose", "rose\n");
    let files = ["f.gdn", "f.counters"].map(|file| std::fs::read(shell.path(file)).ok());
    for args in [
        &["query", "f.gdn", "rose"][..],
        &["query", "-F", "f.gdn", "rose"],
        &["count", "f.gdn", "rose"],
        &["add", "f.gdn", "rose"],
        &["remove", "f.gdn", "rose"],
        &["merge", "-o", "m.gdn", "f.gdn", "f.gdn"],
        &["diff", "f.gdn", "f.gdn"],
        &["convert", "--to", "dcso", "-o", "d.bloom", "f.gdn"],
        &["dedup", "--state", "f.gdn", "rose"],
    ] {
        let run = shell.run(args);
        let complaint = run.complaint();
        let says = if args[0] == "dedup" { "changed with its counters" } else { says };
        assert!(complaint.contains("f.gdn: ") && complaint.contains(says), "{args:?}: {complaint}");
    }
    assert_eq!(files, ["f.gdn", "f.counters"].map(|file| std::fs::read(shell.path(file)).ok()));
}

/// The number of the last operation, in a file of counters; 0 of one that is being written.
fn operations(counters: &Path) -> u64 {
    let mut number = [0; 8];
    let read = File::open(counters).and_then(|file| file.read_exact_at(&mut number, 4096));
    read.map_or(0, |()| u64::from_le_bytes(number))
}

#[test]
fn a_split_filter_answers_as_a_counting_filter_does() {
    let shell = Shell::new();
    shell.write("a", numbers(0..900));
    shell.write("b", numbers(300..1_100));
    shell.write("gone", numbers(200..700));
    shell.write("all", numbers(0..3_000));
    let options = ["--cells", "9000", "--hashes", "4", "--width", "3", "--scheme", "double", "--seed", "7"];
    let mut last = Vec::new();
    for kind in ["counting", "split"] {
        shell.ok(&[&["build", "-o", "f.gdn", "--force", "--kind", kind, "a"], &options[..]].concat());
        shell.ok(&["add", "f.gdn", "b"]);
        shell.ok(&["remove", "f.gdn", "gone"]);
        let bits = match shell.filter("f.gdn") {
            AnyFilter::Counting(filter) => filter.to_bloom().unwrap(),
            AnyFilter::Bloom(filter) => filter,
            _ => unreachable!("one of two kinds"),
        };
        let found = shell.ok(&["query", "f.gdn", "all"]);
        last.push((bits.to_bytes().unwrap(), found, shell.ok(&["count", "f.gdn", "all"])));
    }
    assert!(last[0] == last[1], "bits, answers and counts are the same");
    // What went in more often than it came out is found.
    shell.write("left", [numbers(0..200), numbers(300..1_100)].concat());
    assert_eq!(count(&shell, "left"), 1_000);

    let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
    for says in
        ["kind            split,", "counters        9,000 of 3 bits", "f.counters; 2,200 operations; closed"]
    {
        assert!(info.contains(says), "{info}");
    }
    let json: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "f.gdn"])).unwrap();
    let counters = &json["counters"];
    assert_eq!(
        (&json["kind"], &counters["operations"], &counters["closed"]),
        (&"split".into(), &2_200.into(), &true.into())
    );
    assert!(String::from_utf8(shell.ok(&["kinds"])).unwrap().contains("\nsplit: "));
}

#[test]
fn two_files_are_written_or_none() {
    let shell = shell();
    let names = |shell: &Shell| {
        let names = std::fs::read_dir(shell.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&shell), ["f.counters", "f.gdn", "held", "more"]);
    let before = ["f.gdn", "f.counters"].map(|file| shell.read(file));
    let args = ["build", "-o", "f.gdn", "--kind", "split", "held"];
    assert!(shell.run(&args).complaint().starts_with("gardenia: f.gdn: already exists"));
    let full =
        ["build", "--force", "-o", "f.gdn", "--kind", "split", "--items", "9", "--on-full", "error", "held"];
    assert!(shell.run(&full).complaint().contains("more than 9 distinct keys"));
    assert!(before == ["f.gdn", "f.counters"].map(|file| shell.read(file)), "what was there stays");
    std::fs::remove_file(shell.path("f.gdn")).unwrap();
    assert!(shell.run(&args).complaint().starts_with("gardenia: f.counters: already exists"));
    for (args, says) in [
        (&["build", "--kind", "split", "held"][..], "is two files"),
        (&["build", "--kind", "split", "-o", "g.counters", "held"], "extension counters"),
        (&["build", "--kind", "split", "--space", "jaccard", "-o", "g.gdn", "held"], "has no --space"),
    ] {
        assert!(shell.run(args).complaint().contains(says), "{args:?}");
    }
    build(&shell, &["--force"]);
    for (args, says) in [
        (&["add", "-o", "g.gdn", "f.gdn", "held"][..], "changed in place"),
        (&["add", "--on-full", "error", "f.gdn", "held"], "changed in place"),
        (&["add", "--on-full", "grow", "f.gdn", "held"], "does not grow"),
    ] {
        assert!(shell.run(args).complaint().contains(says), "{args:?}");
    }
    assert_eq!(names(&shell), ["f.counters", "f.gdn", "held", "more"]);
    // Counters on another disk: a link is followed, by every command.
    std::fs::create_dir(shell.path("slow")).unwrap();
    std::fs::rename(shell.path("f.counters"), shell.path("slow/far")).unwrap();
    std::os::unix::fs::symlink("slow/far", shell.path("f.counters")).unwrap();
    build(&shell, &["--force"]);
    std::os::unix::fs::symlink("f.gdn", shell.path("link.gdn")).unwrap();
    shell.pipe(b"rose\n", &["add", "-q", "link.gdn"]).quietly();
    assert!(shell.path("f.counters").is_symlink() && answers(&shell.filter("f.gdn"), &["rose"])[0]);
    std::fs::remove_file(shell.path("slow/far")).unwrap();
    refused(&shell, "No such file");
}

#[test]
fn files_that_do_not_belong_together_are_refused_and_recovered() {
    let shell = shell();
    let recover = |says: &str| {
        let run = shell.run(&["recover", "f.gdn"]);
        assert!(run.code == Some(0) && run.err.contains(says), "{}", run.err);
        assert_eq!(count(&shell, "held"), HELD);
    };
    recover("nothing to repair");
    let old = shell.read("f.gdn");
    shell.ok(&["add", "-q", "f.gdn", "more"]);
    shell.ok(&["remove", "-q", "f.gdn", "more"]);
    shell.pipe(b"rose\n", &["add", "-q", "f.gdn"]).quietly();
    // Old bits, as of a backup.
    shell.write("f.gdn", &old);
    refused(&shell, "not the ones that were saved with its counters");
    recover("not the ones");
    assert!(answers(&shell.filter("f.gdn"), &["rose"])[0] && count(&shell, "more") == 0);
    // Bits that another command wrote.
    let good = shell.read("f.gdn");
    shell.ok(&[
        "build", "-q", "--force", "-o", "f.gdn", "--kind", "bloom", "--items", "210000", "--fpp", "1e-6",
        "more",
    ]);
    refused(&shell, "not the ones");
    shell.ok(&["build", "-q", "--force", "-o", "f.gdn", "held"]);
    refused(&shell, "f.counters belongs to another filter: the filters differ in kind");
    assert!(shell.run(&["recover", "f.gdn"]).complaint().contains("belongs to another filter"));
    // Bits that are damaged, cut short, or gone.
    let middle = good.len() / 2;
    let mut flipped = good.clone();
    flipped[middle] ^= 4;
    shell.write("f.gdn", &flipped);
    refused(&shell, "corrupted");
    shell.write("f.gdn", &good[..middle]);
    refused(&shell, "corrupted");
    recover("corrupted");
    std::fs::remove_file(shell.path("f.gdn")).unwrap();
    refused(&shell, "missing");
    recover("missing");
    // What was known of the keys was in the file that is gone.
    assert!(shell.read("f.gdn") == without_notes(&good), "the same bits");
    // The bits alone are a filter of kind bloom.
    shell.write("alone.gdn", &good);
    shell.pipe(b"tulip\n", &["add", "-q", "alone.gdn"]).quietly();
    assert!(shell.run(&["remove", "alone.gdn", "held"]).complaint().contains("kind bloom"));
    assert!(shell.run(&["recover", "alone.gdn"]).complaint().contains("alone.counters is missing"));
}

/// Starts a command that changes the filter, and kills it at work. How many operations it had
/// completed; `None` if it was faster.
fn kill_at_work(shell: &Shell, verb: &str) -> Option<u64> {
    let start = operations(&shell.path("f.counters"));
    let mut child = shell.command(&[verb, "-q", "f.gdn", "more"]).spawn().unwrap();
    let since = Instant::now();
    while operations(&shell.path("f.counters")) == start {
        assert!(child.try_wait().unwrap().is_none(), "it ended without an operation");
        assert!(since.elapsed() < Duration::from_secs(60), "it does nothing");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = operations(&shell.path("f.counters")) - start;
    (done < MORE).then_some(done)
}

#[test]
fn what_a_killed_command_did_is_told_and_nothing_else_is_lost() {
    for verb in ["add", "remove"] {
        let shell = shell();
        let killed = (0..20).find_map(|_| {
            build(&shell, &["--force"]);
            if verb == "remove" {
                shell.ok(&["add", "-q", "f.gdn", "more"]);
            }
            kill_at_work(&shell, verb)
        });
        let written = killed.expect("one of 20 commands is killed at work");
        refused(&shell, "was killed");
        let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
        assert!(info.contains("was killed"), "{info}");
        let run = shell.run(&["recover", "f.gdn"]);
        assert!(run.code == Some(0) && run.err.contains("was killed"), "{}", run.err);
        let done: u64 = run.text().trim().parse().unwrap();
        assert!((written..=written + 1).contains(&done), "one may have been under way: {done}, {written}");
        // The lines that it had done, and no others.
        shell.write("done", numbers(HELD..HELD + done));
        shell.write("rest", numbers(HELD + done..HELD + MORE));
        let found = (count(&shell, "held"), count(&shell, "done"), count(&shell, "rest"));
        let expected = if verb == "add" { (HELD, done, 0) } else { (HELD, 0, MORE - done) };
        assert_eq!(found, expected, "{verb}");
        // Continued behind them it is as if nothing had happened.
        shell.ok(&[verb, "-q", "f.gdn", "rest"]);
        assert_eq!(count(&shell, "more"), if verb == "add" { MORE } else { 0 });
        assert_eq!(count(&shell, "held"), HELD);
        let twice = shell.run(&["count", "--min", "2", "f.gdn", "held", "more"]);
        assert_eq!((twice.code, twice.text()), (Some(1), ""), "no line is in twice");
    }
}

#[test]
fn a_build_that_is_killed_leaves_the_old_filter() {
    let shell = shell();
    let before = ["f.gdn", "f.counters"].map(|file| shell.read(file));
    let mut child = shell.command(&["build", "--force", "-o", "f.gdn", "--kind", "split", "--items", "9000"]);
    let mut child = child.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"tulip\n").unwrap();
    let drafts = || {
        let names = std::fs::read_dir(shell.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".gardenia-")).count()
    };
    let since = Instant::now();
    while drafts() == 0 {
        assert!(since.elapsed() < Duration::from_secs(60), "it builds nothing");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(before == ["f.gdn", "f.counters"].map(|file| shell.read(file)));
    assert_eq!(count(&shell, "held"), HELD);
    shell.pipe(b"rose\n", &["add", "-q", "f.gdn"]).quietly();
    assert_eq!(drafts(), 0, "the next command removes what was left behind");
}

/// A command that waits for its input, once it has the lock on the counters.
fn waiting(shell: &Shell, args: &[&str]) -> Child {
    let child = shell.command(args).stdin(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    let locked = || File::open(shell.path("f.counters")).unwrap().try_lock_shared();
    while !matches!(locked(), Err(TryLockError::WouldBlock)) {
        assert!(since.elapsed() < Duration::from_secs(60), "nobody has locked the counters");
    }
    child
}

#[test]
fn two_commands_change_one_after_the_other() {
    let shell = shell();
    let mut first = waiting(&shell, &["add", "-q", "f.gdn"]);
    shell.write("rose", "rose\n");
    let mut others: Vec<Child> = (0..3)
        .map(|at| {
            shell.write(&format!("tulip{at}"), format!("tulip{at}\n"));
            shell.command(&["add", "f.gdn", &format!("tulip{at}")]).spawn().unwrap()
        })
        .collect();
    for other in &mut others {
        let mut line = String::new();
        BufReader::new(other.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.ends_with("f.counters: waiting for another process to finish changing it\n"), "{line}");
    }
    // Meanwhile it is asked as it was.
    assert_eq!((count(&shell, "held"), count(&shell, "rose")), (HELD, 0));
    let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
    assert!(info.contains("split,") && !info.contains("operations"), "{info}");
    first.stdin.take().unwrap().write_all(b"rose\n").unwrap();
    assert!(first.wait().unwrap().success());
    for other in others {
        assert_eq!(finish_by_itself(other).code, Some(0));
    }
    assert_eq!(answers(&shell.filter("f.gdn"), &["rose", "tulip0", "tulip1", "tulip2", "999"]), [true; 5]);
}

/// A process cannot go on without its counters, but it can say what happened.
#[test]
fn counters_that_are_cut_short_in_use_are_an_error() {
    for args in [
        &["add", "-q", "f.gdn"][..],
        &["remove", "-q", "f.gdn"],
        &["build", "-q", "--kind", "split", "--items", "210000", "-o", "new.gdn"],
    ] {
        let shell = shell();
        let mut child = shell.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(b"7\n").unwrap();
        let before = operations(&shell.path("f.counters"));
        let since = Instant::now();
        let counters = loop {
            // The counters of a new filter have a temporary name.
            let files = std::fs::read_dir(shell.path("")).unwrap().map(|entry| entry.unwrap().path());
            let is_new = |path: &PathBuf| path.to_string_lossy().contains("/.gardenia-");
            let draft = files.filter(is_new).find(|path| operations(path) > 0);
            let named = Some(shell.path("f.counters")).filter(|path| operations(path) > before);
            if let Some(path) = draft.or(named) {
                break path;
            }
            assert!(since.elapsed() < Duration::from_secs(60), "{args:?}: no line is in the counters");
        };
        File::options().write(true).open(counters).unwrap().set_len(0).unwrap();
        stdin.write_all(b"8\n").unwrap();
        let run = finish_by_itself(child);
        assert_eq!(run.complaint(), "gardenia: a file was cut short while it was being used", "{args:?}");
        assert!(run.err.contains("to replace a filter, list or counters in use, write"), "{}", run.err);
    }
}

#[test]
fn a_disk_that_is_full_loses_nothing() {
    if !has("/bin/sh") {
        return;
    }
    let shell = shell();
    let full = |args: &[&str]| {
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_gardenia")]).args(args).current_dir(shell.path(""));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = full(&["build", "--force", "-o", "f.gdn", "--kind", "split", "--items", "210000", "more"]);
    assert!(said.contains("f.counters: "), "{said}");
    assert_eq!(count(&shell, "held"), HELD, "the old one is still there");
    let said = full(&["add", "f.gdn", "more"]);
    assert!(
        said.starts_with("gardenia: f.gdn: ") && said.contains("\nhint: the lines are in the counters"),
        "{said}"
    );
    refused(&shell, "was killed");
    assert!(full(&["recover", "f.gdn"]).starts_with("gardenia: f.gdn: "));
    assert_eq!(shell.ok(&["recover", "-q", "f.gdn"]), format!("{MORE}\n").as_bytes());
    assert_eq!((count(&shell, "held"), count(&shell, "more")), (HELD, MORE));
}

#[test]
fn an_input_that_breaks_off_leaves_a_filter_that_is_closed() {
    let shell = shell();
    shell.write("good", "rose\ntulip\n");
    shell.write("bad", format!("{}\n", "x".repeat(100_000)));
    let run = shell.run(&["add", "--max-line", "10", "f.gdn", "good", "bad"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("warning: f.gdn: 2 lines done before the error"), "{}", run.err);
    assert_eq!((count(&shell, "held"), count(&shell, "good")), (HELD, 2));
}

#[test]
fn a_keyed_split_filter_needs_its_secret() {
    let shell = Shell::new();
    shell.write("held", numbers(0..100));
    let secret = ["--secret", "000102030405060708090a0b0c0d0e0f"];
    shell.ok(&[&["build", "-q", "-o", "f.gdn", "--kind", "split", "held"], &secret[..]].concat());
    for verb in ["query", "count", "add", "remove"] {
        let run = shell.run(&[verb, "f.gdn", "held"]);
        assert!(run.complaint().contains("its secret"), "{verb}: {}", run.err);
        let run = shell.run(&[&[verb, "f.gdn", "held"], &secret[..]].concat());
        assert_eq!(run.code, Some(0), "{verb}: {}", run.err);
    }
    assert!(String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap().contains("split,"));
}

#[test]
fn counters_of_any_bytes_are_an_error_or_a_filter() {
    let shell = Shell::new();
    shell.write("held", numbers(0..50));
    shell.ok(&["build", "-q", "-o", "f.gdn", "--kind", "split", "held"]);
    let (bits, counters) = (shell.read("f.gdn"), shell.read("f.counters"));
    let tried = |bytes: &[u8], what: &str| {
        for args in [
            &["query", "f.gdn", "held"][..],
            &["info", "f.gdn"],
            &["recover", "-q", "f.gdn"],
            &["count", "f.gdn", "held"],
        ] {
            shell.write("f.gdn", &bits);
            shell.write("f.counters", bytes);
            let run = shell.run(args);
            assert!(matches!(run.code, Some(0..=2)), "{what}, {args:?}: {:?} {}", run.code, run.err);
            if run.code == Some(2) {
                run.complaint();
            }
        }
    };
    for len in [0, 1, 7, 8, 63, 64, 191, 192, 4095, 4096, 16_383, 16_384, counters.len() - 1] {
        tried(&counters[..len], &format!("{len} bytes"));
        shell.write("f.counters", &counters[..len]);
        assert!(shell.run(&["query", "f.gdn", "held"]).complaint().contains("f.counters"), "{len} bytes");
    }
    tried(&[&counters[..], &[0]].concat(), "a byte more");
    // Every eighth byte that is not zero, or is part of the header, the state or the journal.
    let places = (8..192).chain(512..536).chain(4096..4160).chain([8208, 16_384, counters.len() - 1]);
    for place in places.step_by(3) {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = counters.clone();
            bytes[place] ^= flip;
            tried(&bytes, &format!("byte {place} ^ {flip}"));
        }
    }
}
