//! `gardenia query`: several files, tokens, regular expressions, exact answers.

use crate::common::{Shell, numbers};
use std::fs::File;
use std::time::{Duration, SystemTime};

fn shell() -> Shell {
    let shell = Shell::new();
    shell
        .write("bad.txt", "evil.example\n203.0.113.7\nd41d8cd98f00b204e9800998ecf8427e\nrose@mail.example\n");
    shell.write(
        "log",
        "10.0.0.1 GET http://www.evil.example/x\n\
         203.0.113.7:443 POST /login\n\
         10.0.0.2 mail from <rose@mail.example>, md5=d41d8cd98f00b204e9800998ecf8427e.\n\
         10.203.0.113.7 notevil.example evil.example.org\n\
         nothing EVIL.example\n",
    );
    shell.ok(&["build", "-q", "--fpp", "1e-9", "-o", "bad.gdn", "bad.txt"]);
    shell
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn tokens_are_found_anywhere_in_a_line() {
    let shell = shell();
    let log = text(shell.read("log"));
    let first: String = log.lines().take(3).map(|line| format!("{line}\n")).collect();
    for asked in
        [&["--confirm", "bad.txt"][..], &["-F", "bad.gdn"], &["-F", "bad.gdn", "--confirm", "bad.txt"]]
    {
        let ask =
            |options: &[&str]| text(shell.ok(&[&["query", "--tokens"], asked, options, &["log"]].concat()));
        assert_eq!(ask(&[]), first);
        assert_eq!(ask(&["-j3"]), first);
        assert_eq!(
            ask(&["-on"]),
            "1:evil.example\n2:203.0.113.7\n3:rose@mail.example\n3:d41d8cd98f00b204e9800998ecf8427e\n"
        );
        assert_eq!(ask(&["-c"]), "3\n");
        assert_eq!(ask(&["-vc"]), "2\n");
        assert_eq!(ask(&["-ic", "--keys-as-given"]), "4\n");
        assert_eq!(ask(&["--label", "-m1"]), format!("bad:{}\n", log.lines().next().unwrap()));
        let red = |token: &str| format!("\x1b[01;31m\x1b[K{token}\x1b[m\x1b[K");
        let line = format!("10.0.0.1 GET http://www.{}/x\n", red("evil.example"));
        assert_eq!(ask(&["--color=always", "-m1"]), line);
    }
    // The filter is in the directory, and is not a file of lines.
    assert_eq!(text(shell.ok(&["query", "-rLv", "bad.gdn"])), "bad.txt\n");
    let run = shell.run(&["query", "--tokens", "-f", "1", "bad.gdn", "log"]);
    assert!(run.complaint().contains("cannot be used with"), "{}", run.err);
}

#[test]
fn a_regular_expression_says_what_the_keys_are() {
    let shell = shell();
    let ask = |pattern: &str| {
        let run = shell.run(&["query", "-o", "--extract", pattern, "--confirm", "bad.txt", "log"]);
        (run.code, text(run.out))
    };
    assert_eq!(ask(r"[0-9]+(\.[0-9]+){3}"), (Some(1), String::new())); // the parentheses are .7
    assert_eq!(ask(r"(\d+(?:\.\d+){3})"), (Some(0), "203.0.113.7\n".to_owned()));
    assert_eq!(ask(r"md5=([0-9a-f]+)"), (Some(0), "d41d8cd98f00b204e9800998ecf8427e\n".to_owned()));
    for pattern in ["x*", "", "(", "a**("] {
        let run = shell.run(&["query", "--extract", pattern, "bad.gdn", "log"]);
        assert!(run.complaint().starts_with("gardenia: --extract"), "{}", run.err);
        assert!(run.err.contains("hint: "), "{}", run.err);
    }
}

#[test]
fn hits_of_a_filter_are_confirmed_by_the_list() {
    let shell = Shell::new();
    shell.write("list", numbers(0..1000));
    shell.write("input", numbers(500..20_000));
    shell.ok(&["build", "-q", "--fpp", "10%", "-o", "loose.gdn", "list"]);
    assert!(shell.ok(&["query", "-c", "loose.gdn", "input"]) > b"1000".to_vec());
    for options in [&[][..], &["-j3"], &["-F", "loose.gdn"]] {
        let asked = [&["query", "--confirm", "list"], options, &["input"]].concat();
        assert_eq!(shell.ok(&asked), numbers(500..1000), "{options:?}");
    }
    // A filter of another seed, whose digests are not those of the index.
    shell.ok(&["build", "-q", "--seed", "7", "--fpp", "10%", "-o", "seeded.gdn", "list"]);
    assert_eq!(shell.ok(&["query", "-F", "seeded.gdn", "--confirm", "list", "input"]), numbers(500..1000));
}

#[test]
fn keys_of_the_list_are_made_as_those_of_the_lines() {
    let shell = Shell::new();
    shell.write("list", "Rose:1\n tulip :2\r\n007:3\n");
    let ask = |input: &[u8], options: &[&str]| {
        let fields = ["query", "--confirm", "list", "--list-field", "1", "--list-delimiter", ":"];
        text(shell.pipe(input, &[&fields, options].concat()).out)
    };
    assert_eq!(ask(b"Rose\nrose\n tulip \ntulip\n7\n", &[]), "Rose\n tulip \n");
    assert_eq!(ask(b"ROSE\ntulip\n", &["-i", "--trim"]), "ROSE\ntulip\n");
    assert_eq!(ask(b"x,Rose\n", &["-f2", "--delimiter", ","]), "x,Rose\n");
    assert_eq!(ask(b"x,Rose\n", &["-o", "-f2", "--delimiter", ","]), "Rose\n");
    assert_eq!(ask(b"a,b\n\"x\"\"\",\"Rose\"\n", &["-o", "--csv", "-fb"]), "a,b\nRose\n");
    shell.write("numbers", "7\n8\n");
    assert_eq!(text(shell.pipe(b"+7\n9\n", &["query", "--int", "--confirm", "numbers"]).out), "+7\n");
    // With -0 a list is read by lines, as by grep -z, and one that is not is told.
    assert_eq!(shell.pipe(b"7\08\n9\08\0", &["query", "-0", "--confirm", "numbers"]).quietly(), b"7\08\0");
    shell.write("nul", b"7\08\0");
    let run = shell.pipe(b"7\09\0", &["query", "-0", "--confirm", "nul"]);
    assert!(run.err.contains("warning: nul: has NUL bytes, but is read by lines"), "{}", run.err);
    // A list of hashes, for passwords.
    shell.write("hashes", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:10\n");
    let hashes = ["query", "--confirm", "hashes", "--list-field", "1", "--list-delimiter", ":"];
    let run = shell.pipe(b"password\nother\n", &[&hashes[..], &["--hash", "sha1", "--upper"]].concat());
    assert_eq!(text(run.out), "password\n");
}

#[test]
fn a_command_line_of_grep_is_answered_with_ours() {
    let shell = shell();
    for args in [
        &["grep", "-xFf", "bad.txt", "log"][..],
        &["grep", "-F", "-f", "bad.txt", "log"],
        &["query", "-wFf", "bad.txt", "log"],
        &["grep", "-E", "evil", "log"],
    ] {
        let run = shell.run(args);
        run.complaint();
        assert!(
            run.err.contains("hint: grep -xFf LIST FILE is gardenia query --confirm LIST FILE"),
            "{}",
            run.err
        );
    }
    let run = shell.run(&["query", "--confirmed", "bad.txt", "log"]);
    assert!(run.complaint().contains("--confirmed") && !run.err.contains("grep"), "{}", run.err);
}

#[test]
fn lines_of_a_list_that_no_token_can_equal_are_reported() {
    let shell = shell();
    shell.write("list", "# bad ones\nevil.example\nevil[.]example\nbad file.exe\n203.0.113.7\n");
    let warning =
        "gardenia: warning: list: 3 lines cannot be found with --tokens, the first is line 1\nhint: ";
    // The index is kept, and what it says of the list with it.
    for options in [&[][..], &["--index", "i.gdx"], &["--index", "i.gdx"]] {
        let run = shell.run(&[&["query", "--tokens", "-c", "--confirm", "list"], options, &["log"]].concat());
        assert_eq!((run.code, run.text()), (Some(0), "2\n"), "{}", run.err);
        assert!(run.err.starts_with(warning), "{}", run.err);
    }
    assert_eq!(shell.run(&["query", "-c", "--confirm", "list", "list"]).quietly(), b"5\n");
    shell.write("list", "evil.example\n/x y/\n");
    let run = shell.run(&["query", "--tokens", "-c", "--confirm", "list", "log"]);
    assert!(run.err.contains("list: 1 line cannot be found with --tokens: line 2\n"), "{}", run.err);
}

#[test]
fn keys_that_are_written_for_people_are_reported() {
    let shell = shell();
    for key in ["evil[.]example", "hxxp://evil.example/", "*.evil.example", "203.0.113.0/24", "2001:db8::/32"]
    {
        shell.write("list", format!("mail.example\n{key}\n"));
        let run = shell.run(&["build", "-q", "--force", "-o", "list.gdn", "list"]);
        let warning =
            format!("list.gdn: keys are compared as they stand, and one is {key:?} (line 2)\nhint: ");
        assert!(run.code == Some(0) && run.err.contains(&warning), "{}", run.err);
        let run = shell.run(&["query", "--tokens", "--confirm", "list", "log"]);
        let lost = "list: 1 line cannot be found with --tokens: line 2\n";
        assert_eq!(run.err.contains(lost), !key.starts_with("hxxp"), "{key}: {}", run.err);
    }
    shell.write("list", "mail.example\n203.0.113.7\n/etc/x/24\n");
    shell.run(&["build", "-q", "--force", "-o", "list.gdn", "list"]).quietly();
}

#[test]
fn a_list_may_be_compressed_or_come_by_a_pipe() {
    use std::io::Write;
    let shell = Shell::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&numbers(0..5000)).unwrap();
    shell.write("list.gz", packed.finish().unwrap());
    shell.write("input", "7\nx\n4999\n");
    assert_eq!(shell.ok(&["query", "--confirm", "list.gz", "input"]), b"7\n4999\n");
    let run = shell.pipe(&numbers(0..5000), &["query", "--confirm", "-", "input"]);
    assert_eq!(run.quietly(), b"7\n4999\n");
    let run = shell.pipe(b"7\n", &["query", "--confirm", "-"]);
    assert!(run.complaint().contains("cannot both come from stdin"), "{}", run.err);
    let run = shell.run(&["query", "--confirm", "list.gz", "--index", "i", "input"]);
    assert!(run.complaint().contains("cannot be stored"), "{}", run.err);
    assert!(
        shell.run(&["query", "--confirm", "missing", "input"]).complaint().contains("missing: No such file")
    );
}

#[test]
fn several_lists_are_told_apart() {
    let shell = Shell::new();
    shell.write("a.txt", "rose\ntulip\n");
    shell.write("b.txt", "tulip\niris\n");
    let ask = |options: &[&str]| {
        let run = shell.pipe(
            b"rose\niris\ntulip\nlily\n",
            &[&["query", "--confirm=a.txt", "--confirm=b.txt"], options].concat(),
        );
        text(run.quietly())
    };
    assert_eq!(ask(&[]), "rose\niris\ntulip\n");
    assert_eq!(ask(&["--all"]), "tulip\n");
    assert_eq!(ask(&["--label"]), "a:rose\nb:iris\na,b:tulip\n");
}

#[test]
fn an_index_is_kept_and_built_again_when_the_list_changes() {
    let shell = Shell::new();
    shell.write("list", numbers(0..10_000));
    shell.write("input", "7\nx\n12345\n");
    let ask = |options: &[&str]| {
        let run =
            shell.run(&[&["query", "--confirm", "list", "--index", "i.gdx"], options, &["input"]].concat());
        (text(run.out), run.err)
    };
    assert_eq!(ask(&[]), ("7\n".to_owned(), String::new()));
    let built = shell.read("i.gdx");
    assert!(built.len() > 160_000 && built.len() < 200_000, "{}", built.len());
    // Used again: it is the same file.
    let written = || std::fs::metadata(shell.path("i.gdx")).unwrap().modified().unwrap();
    let first = written();
    assert_eq!(ask(&[]).0, "7\n");
    assert_eq!(written(), first);
    // A damaged place could hide a line: built again.
    for at in [64, 71, 72, 100_000, 160_063, 160_300, built.len() - 1] {
        let mut damaged = built.clone();
        damaged[at] ^= 4;
        shell.write("i.gdx", &damaged);
        assert_eq!(ask(&[]), ("7\n".to_owned(), String::new()), "{at}");
        assert!(shell.read("i.gdx") == built, "{at}");
    }
    // Cut short, or of another version: built again.
    for broken in [&built[..1000], &[&built[..8], &[9], &built[9..]].concat(), &built[..40], &built[..8]] {
        shell.write("i.gdx", broken);
        assert_eq!(ask(&[]), ("7\n".to_owned(), String::new()));
        assert_eq!(shell.read("i.gdx"), built);
    }
    // Other options make other keys.
    assert_eq!(ask(&["-i"]), ("7\n".to_owned(), String::new()));
    assert!(shell.read("i.gdx") != built);
    // Of the same length, and then of the same time as well.
    let time = File::open(shell.path("list")).unwrap().metadata().unwrap().modified().unwrap();
    let set = |time: SystemTime| {
        File::options().append(true).open(shell.path("list")).unwrap().set_modified(time).unwrap();
    };
    shell.write("list", text(numbers(0..10_000)).replace("\n7\n", "\nx\n"));
    set(time + Duration::from_secs(7));
    assert_eq!(ask(&[]), ("x\n".to_owned(), String::new()));
    shell.write("list", numbers(0..10_000));
    set(time + Duration::from_secs(7));
    assert_eq!(ask(&[]), ("7\n".to_owned(), String::new()));
    // What is no index is not replaced.
    shell.write("i.gdx", "precious\n");
    assert!(ask(&[]).1.contains("is not an index"), "{}", ask(&[]).1);
    assert_eq!(shell.read("i.gdx"), b"precious\n");
    let run = shell.run(&["query", "--confirm", "list", "--index", "no/such/i.gdx", "input"]);
    assert!(run.complaint().contains("cannot be written to no/such/i.gdx"), "{}", run.err);
    assert!(run.err.contains("hint: name another file with --index FILE"), "{}", run.err);
}

#[test]
fn an_index_of_millions_of_lines_is_kept_beside_the_list() {
    let shell = Shell::new();
    shell.write("list", numbers(0..2_300_000));
    shell.write("input", "7\nx\n2299999\n2300000\n");
    for _ in 0..2 {
        assert_eq!(shell.run(&["query", "--confirm", "list", "input"]).quietly(), b"7\n2299999\n");
        assert!(shell.path("list.gdx").exists());
    }
    // All of them, in the parts that were sorted one by one.
    assert_eq!(shell.ok(&["query", "-c", "--confirm", "list", "list"]), b"2300000\n");
    // The index is not searched, and the list is, as by grep.
    let run = shell.run(&["query", "-rlv", "--confirm", "list"]);
    assert_eq!(text(run.quietly()), "input\n");
}

#[test]
fn a_list_of_one_line_many_times_is_searched_quickly() {
    let shell = Shell::new();
    shell.write("list", [&b"rose\n".repeat(300_000)[..], &numbers(0..1000)].concat());
    shell.write("input", [&numbers(0..2000)[..], b"rose\n", &b"lily\n".repeat(1000)].concat());
    assert_eq!(shell.ok(&["query", "-c", "--confirm", "list", "input"]), b"1001\n");
}

#[test]
fn names_stand_before_lines_of_several_files_but_not_in_tables() {
    let shell = Shell::new();
    shell.write("list", "rose\n");
    shell.write("a", "rose\nx\n");
    shell.write("b", "rose\n");
    let ask =
        |options: &[&str]| text(shell.ok(&[&["query", "--confirm", "list"], options, &["a", "b"]].concat()));
    assert_eq!(ask(&[]), "a:rose\nb:rose\n");
    assert_eq!(ask(&["-n"]), "a:1:rose\nb:1:rose\n");
    assert_eq!(ask(&["-c"]), "a:1\nb:1\n");
    assert_eq!(ask(&["--no-filename"]), "rose\nrose\n");
    assert_eq!(ask(&["-l"]), "a\nb\n");
    assert_eq!(ask(&["--csv", "-f1", "--no-header"]), "rose\nrose\n");
    assert_eq!(ask(&["--csv", "-f1", "--no-header", "-H"]), "a:rose\nb:rose\n");
    assert_eq!(ask(&["--matched", "-"]), "rose\nrose\n");
}

#[test]
fn a_filter_among_the_files_of_lines_is_refused() {
    let shell = shell();
    let run = shell.run(&["query", "--confirm", "bad.txt", "bad.gdn", "log"]);
    assert!(run.complaint().contains("bad.gdn is a filter, not a file of lines"), "{}", run.err);
    assert!(run.err.contains("-F bad.gdn"), "{}", run.err);
}

#[test]
fn a_list_that_changes_while_it_is_used_is_an_error() {
    use std::io::Write;
    use std::process::Stdio;
    let shell = Shell::new();
    shell.write("list", numbers(0..1000));
    let mut child = shell.command(&["query", "--confirm", "list"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdin.write_all(b"7\n").unwrap();
    let mut answer = [0; 2];
    std::io::Read::read_exact(&mut stdout, &mut answer).unwrap();
    File::options().append(true).open(shell.path("list")).unwrap().write_all(b"x\n").unwrap();
    stdin.write_all(b"x\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("list: the list or its permissions changed while it was being used"),
        "{message}"
    );
}

/// As `cp --preserve` over a file in use does: of the same length, and of the same time.
#[cfg(unix)]
#[test]
fn a_file_that_is_overwritten_with_the_same_length_and_time_is_an_error() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    for (asked, name, message) in [
        (
            &["query", "f.gdn"][..],
            "f.gdn",
            "f.gdn: the file or its permissions changed while it was being used",
        ),
        (
            &["query", "--confirm", "list"],
            "list",
            "list: the list or its permissions changed while it was being used",
        ),
    ] {
        for overwrites in [true, false] {
            let shell = Shell::new();
            shell.write("list", numbers(0..1000));
            shell.write("other", numbers(1000..2000));
            shell.ok(&["build", "-q", "-n", "1000", "-o", "f.gdn", "list"]);
            let old = shell.read(name);
            let mut child = shell.command(asked).stdin(Stdio::piped()).spawn().unwrap();
            let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut lines = BufReader::new(stdout).lines();
            stdin.write_all(b"7\n").unwrap();
            assert_eq!(lines.next().unwrap().unwrap(), "7");
            if overwrites {
                let time = std::fs::metadata(shell.path(name)).unwrap().modified().unwrap();
                let file = File::options().write(true).open(shell.path(name)).unwrap();
                (&file).write_all(&old).unwrap();
                file.set_modified(time).unwrap();
            } else {
                // As it is to be replaced: the old one stays what it was.
                shell.write("new", &old);
                std::fs::rename(shell.path(name), shell.path("before")).unwrap();
                std::fs::rename(shell.path("new"), shell.path(name)).unwrap();
                std::fs::remove_file(shell.path("before")).unwrap();
            }
            stdin.write_all(b"8\n").unwrap();
            drop(stdin);
            let rest: Vec<String> = lines.map(Result::unwrap).collect();
            let output = child.wait_with_output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            if overwrites {
                assert!(output.status.code() == Some(2) && err.contains(message), "{err}");
                assert!(rest.is_empty());
            } else {
                assert_eq!((output.status.code(), &*err, rest), (Some(0), "", vec!["8".to_owned()]));
            }
        }
    }
}

#[test]
fn no_count_is_printed_of_an_input_that_was_not_read_to_its_end() {
    use std::io::Write;
    let shell = Shell::new();
    shell.write("list", numbers(0..100_000));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&numbers(0..100_000)).unwrap();
    let packed = packed.finish().unwrap();
    shell.write("short.gz", &packed[..packed.len() / 2]);
    shell.write("none", "rose\n");
    for (list, options, printed) in [
        ("list", "-c", "list:100000\n"),
        ("none", "-L", "list\n"),
        ("none", "-c", "list:0\n"),
        ("none", "-l", ""),
    ] {
        let run = shell.run(&["query", options, "--confirm", list, "short.gz", "list"]);
        assert_eq!((run.code, run.text()), (Some(2), printed), "{list} {options}");
        assert!(run.err.contains("short.gz: the compressed input is truncated"), "{}", run.err);
    }
}
