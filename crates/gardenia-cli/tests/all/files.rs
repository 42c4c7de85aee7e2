//! Files that appear, stay or go: two writers at once, killed ones, wrong secrets, full devices,
//! lines without end.
#![cfg(unix)]

use crate::common::{Run, Shell, finish_by_itself, has, numbers};
use std::fs::{self, File};
use std::io::{BufRead, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The temporary files in the shell's folder.
fn temporary(shell: &Shell) -> Vec<String> {
    let entries = fs::read_dir(shell.path("")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".gardenia-")).collect()
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(status.success());
}

/// Starts a command that writes `file`, and sends it a signal while it writes a temporary file.
/// Writing a large file takes a while, but the signal may still come too late: then it is tried
/// again.
fn caught(shell: &Shell, args: &[&str], file: &str, signal: &str) -> Child {
    for _ in 0..20 {
        let known = temporary(shell);
        let mut child = shell.command(args).spawn().expect("gardenia starts");
        let start = Instant::now();
        while temporary(shell).iter().all(|name| known.contains(name)) && child.try_wait().unwrap().is_none()
        {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        }
        kill(&child, signal);
        std::thread::sleep(Duration::from_millis(20));
        if temporary(shell).iter().any(|name| !known.contains(name)) && !shell.path(file).exists() {
            return child;
        }
        kill(&child, "-KILL");
        child.wait().expect("it ends");
        let _ = fs::remove_file(shell.path(file));
    }
    panic!("it was never met while it wrote");
}

/// Arguments that build a large filter of few keys.
const LARGE: [&str; 10] =
    ["build", "-q", "--kind", "bloom", "--bits", "64MiB", "--hashes", "3", "-o", "new.gdn"];

#[test]
fn of_two_builders_the_first_to_finish_wins_and_the_other_says_so() {
    let shell = Shell::new();
    shell.write("few", numbers(0..10));
    shell.write("more", numbers(0..1_000));
    let slow = caught(&shell, &[&LARGE[..], &["few"]].concat(), "new.gdn", "-STOP");
    // It has looked whether the file exists, and now another process makes it.
    shell.run(&["build", "-q", "-o", "new.gdn", "more"]).quietly();
    assert_eq!(temporary(&shell).len(), 1, "what is in use is not swept away");
    let first = shell.read("new.gdn");
    kill(&slow, "-CONT");
    let run = finish_by_itself(slow);
    assert_eq!(run.complaint(), "gardenia: new.gdn: another process has created it in the meantime");
    assert!(run.err.ends_with("\nhint: --force replaces it\n"), "{}", run.err);
    assert!(shell.read("new.gdn") == first);
    assert_eq!(temporary(&shell), [""; 0]);
    // With --force the last to finish wins, as it was asked to.
    fs::remove_file(shell.path("new.gdn")).unwrap();
    let slow = caught(&shell, &[&LARGE[..], &["--force", "few"]].concat(), "new.gdn", "-STOP");
    shell.run(&["build", "-q", "-o", "new.gdn", "more"]).quietly();
    kill(&slow, "-CONT");
    assert_eq!(finish_by_itself(slow).code, Some(0));
    assert_eq!(shell.read("new.gdn").len() >> 20, 64);
}

#[test]
fn of_many_builders_at_once_one_succeeds() {
    let shell = Shell::new();
    for at in 0..4 {
        shell.write(&format!("keys{at}"), numbers(1_000 * at..1_000 * at + 1_000));
    }
    for round in 0..10 {
        let out = format!("{round}.gdn");
        let start = |at: usize| {
            let args = ["build", "-q", "--bits", "4MiB", "--hashes", "3", "-o", &out, &format!("keys{at}")];
            shell.command(&args).spawn().expect("gardenia starts")
        };
        let runs: Vec<Run> =
            (0..4).map(start).collect::<Vec<Child>>().into_iter().map(finish_by_itself).collect();
        let winners: Vec<usize> = (0..4).filter(|&at| runs[at].code == Some(0)).collect();
        let [winner] = winners[..] else { panic!("{winners:?} succeeded") };
        for (at, run) in runs.iter().enumerate().filter(|(at, _)| *at != winner) {
            let said = run.complaint();
            let known =
                said.ends_with(".gdn: already exists") || said.ends_with("created it in the meantime");
            assert!(known, "{at}: {said}");
        }
        assert_eq!(shell.run(&["query", "-c", &out, &format!("keys{winner}")]).text(), "1000\n");
    }
    assert_eq!(temporary(&shell), [""; 0]);
}

#[test]
fn of_two_queries_the_first_to_finish_keeps_its_file() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1_000));
    shell.ok(&["build", "-q", "-p", "1e-9", "-o", "f.gdn", "keys"]);
    let part = ["query", "--matched", "yes.txt", "f.gdn"];
    let mut slow = shell.command(&part).stdin(Stdio::piped()).spawn().expect("gardenia starts");
    let mut input = slow.stdin.take().unwrap();
    input.write_all(b"7\n").unwrap();
    while temporary(&shell).is_empty() {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(shell.pipe(b"8\n", &part).code, Some(0));
    drop(input);
    let run = finish_by_itself(slow);
    assert_eq!(run.complaint(), "gardenia: yes.txt: another process has created it in the meantime");
    assert_eq!((shell.read("yes.txt"), temporary(&shell).len()), (b"8\n".to_vec(), 0));
}

#[test]
fn a_link_to_nothing_is_not_replaced_without_force() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10));
    std::os::unix::fs::symlink("nowhere", shell.path("link.gdn")).unwrap();
    let run = shell.run(&["build", "-q", "-o", "link.gdn", "keys"]);
    assert_eq!(run.complaint(), "gardenia: link.gdn: already exists, as a link to nothing");
    shell.run(&["build", "-q", "--force", "-o", "link.gdn", "keys"]).quietly();
    assert_eq!(shell.run(&["query", "-c", "link.gdn", "keys"]).text(), "10\n");
}

#[test]
fn what_a_killed_process_left_behind_goes_when_the_next_one_writes() {
    if !has("/proc/sys/kernel/random/boot_id") {
        return; // the system does not say whether it was this one: a day has to pass
    }
    let shell = Shell::new();
    shell.write("few", numbers(0..10));
    for _ in 0..2 {
        let mut child = caught(&shell, &[&LARGE[..], &["few"]].concat(), "new.gdn", "-KILL");
        child.wait().expect("it ends");
    }
    assert_eq!(temporary(&shell).len(), 1, "the second has removed what the first left");
    // Whatever is written, and wherever in the folder.
    shell.run(&["build", "-q", "-o", "other.gdn", "few"]).quietly();
    assert_eq!(temporary(&shell), [""; 0]);
    assert_eq!(fs::read_dir(shell.path("")).unwrap().count(), 2);
}

#[test]
fn a_wrong_secret_is_refused_even_if_the_file_stores_its_own() {
    let shell = Shell::new();
    let (right, wrong) = ("000102030405060708090a0b0c0d0e0f", "ffffffffffffffffffffffffffffffff");
    shell.write("keys", numbers(0..10));
    let build = ["build", "-q", "-p", "1e-9", "--secret", right, "--store-secret"];
    shell.ok(&[&build[..], &["-o", "f.gdn", "keys"]].concat());
    shell.ok(&[&build[..], &["--kind", "counting", "-o", "c.gdn", "keys"]].concat());
    shell.ok(&[&build[..], &["--kind", "distance", "-o", "d.gdn", "keys"]].concat());
    let before = shell.read("c.gdn");
    for args in [
        &["query", "f.gdn", "keys"][..],
        &["query", "d.gdn", "keys"],
        &["info", "f.gdn"],
        &["info", "d.gdn"],
        &["count", "c.gdn", "keys"],
        &["add", "c.gdn", "keys"],
        &["remove", "c.gdn", "keys"],
        &["merge", "-o", "m.gdn", "f.gdn", "f.gdn"],
        &["diff", "f.gdn", "f.gdn"],
        &["dedup", "--state", "f.gdn", "keys"],
    ] {
        let run = shell.run(&[args, &["--secret", wrong]].concat());
        assert!(run.complaint().contains("secret"), "{args:?}: {}", run.err);
        assert!(!run.err.contains(wrong), "it is not repeated");
        assert!(shell.read("c.gdn") == before);
        if !["add", "remove", "merge", "dedup"].contains(&args[0]) {
            shell.ok(&[args, &["--secret", right]].concat());
            shell.ok(args);
        }
    }
}

#[test]
fn help_that_cannot_be_printed_is_an_error() {
    if !has("/dev/full") {
        return;
    }
    let shell = Shell::new();
    for args in
        [&["--help"][..], &["-h"], &["--version"], &["help"], &["help", "query"], &["query", "--help"]]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = shell.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, "gardenia: stdout: No space left on device\n", "{args:?}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        // A reader that has seen enough is no error.
        let mut child = shell.command(args).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn info_asks_for_a_secret_only_where_there_is_one() {
    let shell = Shell::new();
    let secret = ["--secret", "000102030405060708090a0b0c0d0e0f"];
    shell.write("titles", "a rose is a rose\nthe name of the rose\n");
    let build = ["build", "-q", "--kind", "distance", "-o"];
    shell.ok(&[&build[..], &["plain.gdn", "titles"]].concat());
    shell.ok(&[&build[..], &["keyed.gdn", "titles"], &secret].concat());
    shell.ok(&[&build[..], &["stored.gdn", "titles", "--store-secret"], &secret].concat());
    let info = |args: &[&str]| String::from_utf8(shell.ok(&[&["info"], args].concat())).unwrap();
    for text in [info(&["plain.gdn"]), info(&["stored.gdn"]), info(&[&["keyed.gdn"], &secret[..]].concat())] {
        assert!(text.contains("\n  fill  ") && !text.contains("without the secret"), "{text}");
    }
    assert!(info(&["keyed.gdn"]).contains("not counted without the secret (--secret-file FILE)"));
    let json: serde_json::Value = serde_json::from_str(&info(&["--json", "plain.gdn"])).unwrap();
    assert!(json["fill"].as_f64().is_some_and(|fill| fill > 0.0 && fill < 1.0), "{json}");
}

/// Gzip of a text.
fn packed(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).expect("a vector takes all");
    packed.finish().expect("a vector takes all")
}

#[test]
fn a_line_that_is_too_long_is_refused_by_number() {
    let shell = Shell::new();
    let long = "x".repeat(100 << 20);
    shell.write("plain", format!("rose\ntulip\n{long}\nlily\n"));
    shell.write("packed", packed(format!("rose\ntulip\n{long}").as_bytes()));
    shell.write("csv", packed(format!("id,text\n1,rose\n2,\"{}\"\n", "x\n".repeat(50 << 20)).as_bytes()));
    shell.write("json", packed(format!("{{\"id\":1}}\n\n{{\"id\":\"{long}\"}}\n").as_bytes()));
    drop(long);
    let cases: [(&str, &[&str], &str); 4] = [
        ("plain", &[], "gardenia: plain: line 3 is longer than 64 MiB"),
        ("packed", &["-j", "2"], "gardenia: packed: line 3 is longer than 64 MiB"),
        ("csv", &["--csv", "-f", "id"], "gardenia: csv: record 3 is longer than 64 MiB"),
        ("json", &["--json-key", "id"], "gardenia: json: line 3 is longer than 64 MiB"),
    ];
    for (file, options, said) in cases {
        let run = shell.run(&[&["build", "-q", "-o", "f.gdn", "-n", "9", file], options].concat());
        assert_eq!(run.complaint(), said);
        assert!(run.err.contains("hint: raise the limit with --max-line SIZE"), "{}", run.err);
        assert!(!shell.path("f.gdn").exists());
        let raised =
            [&["build", "-q", "-o", "f.gdn", "-n", "9", "--max-line", "101MiB", file], options].concat();
        shell.run(&raised).err.lines().for_each(|line| assert!(line.contains("no JSON value"), "{line}"));
        fs::remove_file(shell.path("f.gdn")).expect("it was built");
    }
    // Lines before it are answered, and other inputs are read.
    shell.write("other", "lily\n");
    let run = shell.run(&["dedup", "plain", "other"]);
    assert_eq!((run.code, run.text()), (Some(2), "rose\ntulip\nlily\n"));
    assert!(run.err.starts_with("gardenia: plain: line 3 is longer than 64 MiB\nhint: "), "{}", run.err);
}

#[test]
fn every_subcommand_keeps_to_the_limit_of_lines() {
    let shell = Shell::new();
    let limit = ["--max-line", "10"];
    shell.write("keys", numbers(0..100));
    shell.write("long", "1\n0123456789\n0123456789a\n");
    shell.write("pairs", "1\t2\n3\t4\n");
    shell.write("truth", "1 5\n1 0123456789\n");
    let build =
        |kind: &str, out: &str, file: &str| shell.ok(&["build", "-q", "--kind", kind, "-o", out, file]);
    build("bloom", "b.gdn", "keys");
    build("counting", "c.gdn", "keys");
    build("bloomier", "m.gdn", "pairs");
    shell.ok(&["build", "-q", "--kind", "choice", "--effort", "1", "-o", "i.gdn", "keys"]);
    for args in [
        &["build", "-q", "-o", "new.gdn", "long"][..],
        &["build", "-q", "--kind", "ribbon", "-o", "new.gdn", "long"],
        &["query", "-c", "b.gdn", "long"],
        &["add", "-q", "b.gdn", "long"],
        &["remove", "-q", "c.gdn", "long"],
        &["count", "c.gdn", "long"],
        &["get", "m.gdn", "long"],
        &["top", "-q", "long"],
        &["dedup", "--count", "long"],
        &["dedup", "--exact", "long"],
        &["eval", "b.gdn", "truth"],
        &["convert", "-q", "--from", "keys", "--to", "dcso", "-o", "new.bloom", "long"],
        &["improve", "-q", "i.gdn", "long"],
        &["plan", "--sample", "long"],
    ] {
        let run = shell.run(&[args, &limit].concat());
        let (line, file) = if args[0] == "eval" { (2, "truth") } else { (3, "long") };
        let said = format!("gardenia: {file}: line {line} is longer than 10 bytes\n");
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.err);
        assert!(run.err.starts_with(&said), "{args:?}: {}", run.err);
    }
    let run = shell.run(&["query", "--max-line", "0", "b.gdn", "keys"]);
    assert!(run.complaint().contains("at least 1 byte is needed"), "{}", run.err);
}

/// A query of `f.gdn` that has answered a thousand lines and waits for more.
fn waiting(shell: &Shell) -> (Child, std::io::BufReader<std::process::ChildStdout>) {
    let mut child = shell.command(&["query", "f.gdn"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&numbers(0..1_000)).unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = Vec::new();
    (0..1_000).for_each(|_| assert!(stdout.read_until(b'\n', &mut line).unwrap() > 0));
    assert_eq!(line, numbers(0..1_000));
    (child, stdout)
}

/// What a query says that is fed further lines after its filter was changed. It must not answer
/// them.
fn after_a_change(shell: &Shell, change: impl Fn(&Shell)) -> String {
    shell
        .run(&["build", "-q", "--force", "--kind", "bloom", "--bits", "8MiB", "-o", "f.gdn", "keys"])
        .quietly();
    let (mut child, mut stdout) = waiting(shell);
    change(shell);
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(&numbers(0..100_000)); // it may be gone
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "{} bytes of answers", rest.len());
    let mut run = finish_by_itself(child);
    assert_eq!(run.code, Some(2), "{}", run.err);
    std::mem::take(&mut run.err)
}

#[test]
fn a_filter_that_is_cut_short_or_overwritten_in_use_is_an_error_and_no_answer() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..100_000));
    shell.write("other", numbers(500_000..600_000));
    shell
        .run(&[
            "build",
            "-q",
            "--kind",
            "bloom",
            "--bits",
            "4KiB",
            "--hashes",
            "3",
            "-o",
            "small.gdn",
            "other",
        ])
        .quietly();
    shell.run(&["build", "-q", "--kind", "bloom", "--bits", "8MiB", "-o", "same.gdn", "other"]).quietly();
    let over = |from: &'static str| {
        move |shell: &Shell| {
            // As `cp` and `cat >` do: the file stays, its bytes change.
            let mut file = File::options().write(true).truncate(true).open(shell.path("f.gdn")).unwrap();
            file.write_all(&shell.read(from)).unwrap();
        }
    };
    let cut = after_a_change(&shell, over("small.gdn"));
    assert!(
        cut.contains("a file was cut short while it was being used")
            || cut.contains("permissions changed while"),
        "{cut}"
    );
    assert!(cut.contains("mv it over the old one"), "{cut}");
    let changed = after_a_change(&shell, over("same.gdn"));
    assert!(
        changed.contains("f.gdn: the file or its permissions changed while it was being used"),
        "{changed}"
    );
    assert!(changed.contains("mv it over the old one"), "{changed}");
    // All that can be seen of it is the time of the inode, which overwriting changes, too.
    let permitted = after_a_change(&shell, |shell| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(shell.path("f.gdn"), mode).unwrap();
    });
    assert!(permitted.contains("f.gdn: the file or its permissions changed"), "{permitted}");
}

#[test]
fn a_filter_that_is_replaced_or_added_to_in_use_answers_as_before() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..100_000));
    shell.write("other", numbers(500_000..600_000));
    shell.run(&["build", "-q", "--items", "100k", "--fpp", "1e-9", "-o", "other.gdn", "other"]).quietly();
    for change in [
        &["add", "-q", "f.gdn", "other"][..],
        &["merge", "-q", "--force", "-o", "f.gdn", "copy.gdn", "other.gdn"],
        &["build", "-q", "--force", "-o", "f.gdn", "--items", "100k", "--fpp", "1e-9", "other"],
    ] {
        shell.ok(&["build", "-q", "--force", "--fpp", "1e-9", "-o", "f.gdn", "keys"]);
        fs::copy(shell.path("f.gdn"), shell.path("copy.gdn")).unwrap();
        let (mut child, mut stdout) = waiting(&shell);
        shell.ok(change);
        assert_eq!(shell.run(&["query", "-c", "f.gdn", "other"]).text(), "100000\n", "{change:?}");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&[numbers(1_000..1_100), numbers(700_000..700_100)].concat()).unwrap();
        drop(stdin);
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        assert_eq!((rest, finish_by_itself(child).code), (numbers(1_000..1_100), Some(0)), "{change:?}");
    }
}
