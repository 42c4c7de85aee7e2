//! `gardenia query`: answers, exit codes, odd bytes, pipes.

use crate::common::{Run, Shell, answers, finish_by_itself, has, keeping, numbers};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Duration;

/// A shell with the filter `f.gdn` of the numbers below 1000, with few false positives.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1000));
    shell.ok(&["build", "-q", "-o", "f.gdn", "--fpp", "1e-9", "keys"]);
    shell
}

#[test]
fn exit_codes_are_those_of_grep() {
    let shell = shell();
    let code = |input: &str, args: &[&str]| shell.pipe(input.as_bytes(), args).code;
    assert_eq!(code("7\nx\n", &["query", "f.gdn"]), Some(0));
    assert_eq!(code("x\n", &["query", "f.gdn"]), Some(1));
    assert_eq!(code("", &["query", "f.gdn"]), Some(1));
    assert_eq!(code("7\n", &["query", "-v", "f.gdn"]), Some(1));
    assert_eq!(code("x\n", &["query", "-c", "f.gdn"]), Some(1));
    assert_eq!(code("x\n", &["query", "-q", "f.gdn"]), Some(1));
    assert_eq!(code("7\n", &["query", "-q", "f.gdn"]), Some(0));
    assert_eq!(code("7\n", &["grep", "f.gdn"]), Some(0));
    assert_eq!(code("7\n", &["query", "missing.gdn"]), Some(2));
    assert_eq!(code("7\n", &["query", "f.gdn", "missing"]), Some(2));
    assert_eq!(code("", &["query"]), Some(2));
    assert_eq!(code("", &[]), Some(2));
    assert_eq!(code("", &["frobnicate"]), Some(2));
    assert_eq!(code("", &["help"]), Some(0));
    assert_eq!(code("", &["--version"]), Some(0));
}

#[test]
fn no_subcommand_gives_the_help() {
    let run = Shell::new().run(&[]);
    assert!(run.out.is_empty() && run.err.contains("Usage: gardenia") && run.err.contains("Examples:"));
}

#[test]
fn every_help_has_examples() {
    let shell = Shell::new();
    for command in ["build", "query", "add", "remove", "count", "eval", "info", "tour", "bench"] {
        let run = shell.run(&[command, "--help"]);
        assert!(run.text().contains(&format!("Examples:\n  gardenia {command}")), "{command}");
        assert_eq!(shell.run(&["help", command]).quietly(), run.quietly());
    }
}

/// 100,000 lines of all sorts, all different, the last without a line end.
fn odd_lines() -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\0".to_vec(),
        b"\0\0\0".to_vec(),
        b"\r".to_vec(),
        b"rose\r".to_vec(),
        b"rose".to_vec(),
        b" rose".to_vec(),
        b"\xff\xfe not UTF-8 \xc3".to_vec(),
        "Gänseblümchen".as_bytes().to_vec(),
        vec![b'x'; 3 << 20], // many blocks long
    ];
    for i in lines.len() as u64..100_000 {
        let bytes = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let odd = bytes.map(|byte| if byte == b'\n' { 0 } else { byte });
        lines.push([format!("{i}:").as_bytes(), &odd[..i as usize % 9]].concat());
    }
    lines
}

#[test]
fn lines_of_any_bytes_are_found_again() {
    let lines = odd_lines();
    let text = lines.join(&b'\n');
    for kind in keeping() {
        let shell = Shell::new();
        shell.write("keys", &text);
        let options = ["--fpp", "1e-9", "--kind", kind];
        shell.ok(&[&["build", "-o", "file.gdn", "keys"], &options[..]].concat());
        let built = shell.pipe(&text, &[&["build", "-o", "pipe.gdn"], &options[..]].concat());
        assert!(built.err.starts_with("pipe.gdn: 100,000 keys read"), "{}", built.err);
        assert_eq!(shell.read("file.gdn"), shell.read("pipe.gdn"));

        let expected = [&text[..], b"\n"].concat(); // every line is printed with a line end
        assert_eq!(shell.run(&["query", "file.gdn", "keys"]).quietly(), expected);
        assert_eq!(shell.pipe(&text, &["query", "file.gdn", "-"]).quietly(), expected);
        assert_eq!(shell.pipe(&text, &["query", "-v", "file.gdn"]).out, b"");

        // Each line is the key of the library, bytes for bytes, and no other.
        let filter = shell.filter("file.gdn");
        assert!(answers(&filter, &lines).into_iter().all(|found| found));
        assert_eq!(answers(&filter, &["\n", "rose\n", "Rose", "rose ", "\r\n", "\0\0"]), [false; 6]);
    }
}

#[test]
fn without_an_empty_line_the_empty_line_is_absent() {
    let shell = Shell::new();
    shell.write("keys", "rose\ntulip\n"); // the end of the last line is not the start of another
    shell.ok(&["build", "-o", "f.gdn", "--fpp", "1e-9", "keys"]);
    assert_eq!(shell.pipe(b"\n\n", &["query", "-c", "f.gdn"]).text(), "0\n");
}

#[test]
fn invert_count_and_line_numbers_agree_with_the_library() {
    keeping().into_iter().for_each(invert_count_and_line_numbers_agree_for);
}

fn invert_count_and_line_numbers_agree_for(kind: &str) {
    let shell = shell();
    shell.write("loose", numbers(0..1000));
    shell.ok(&["build", "-o", "loose.gdn", "--kind", kind, "--fpp", "20%", "loose"]); // many false positives
    let input = numbers(500..9500);
    shell.write("input", &input);
    let lines: Vec<&str> = std::str::from_utf8(&input).unwrap().lines().collect();
    let answers = answers(&shell.filter("loose.gdn"), &lines);

    let (mut found, mut absent, mut numbered) = (String::new(), String::new(), String::new());
    for (at, (line, answer)) in lines.into_iter().zip(answers).enumerate() {
        if answer {
            found += &format!("{line}\n");
            numbered += &format!("{}:{line}\n", at + 1);
        } else {
            absent += &format!("{line}\n");
        }
    }
    assert!(found.lines().count() > 1000 && absent.lines().count() > 5000);
    let query = |options: &[&str]| String::from_utf8(shell.ok(&[&["query"], options].concat())).unwrap();
    assert_eq!(query(&["loose.gdn", "input"]), found);
    assert_eq!(query(&["-v", "loose.gdn", "input"]), absent);
    assert_eq!(query(&["-n", "loose.gdn", "input"]), numbered);
    assert_eq!(query(&["-c", "loose.gdn", "input"]), format!("{}\n", found.lines().count()));
    assert_eq!(query(&["-cv", "loose.gdn", "input"]), format!("{}\n", absent.lines().count()));
    assert_eq!(query(&["-q", "loose.gdn", "input"]), "");
    // Two inputs: counted and numbered apart.
    let count = found.lines().count();
    assert_eq!(query(&["-c", "loose.gdn", "input", "input"]), format!("input:{count}\ninput:{count}\n"));
    assert_eq!(query(&["-n", "--no-filename", "loose.gdn", "input", "input"]), numbered.repeat(2));
}

#[test]
fn quiet_stops_at_the_first_line_found() {
    let shell = shell();
    let mut child = shell.command(&["query", "-q", "f.gdn"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"x\n7\n").unwrap();
    assert_eq!(finish_by_itself(child).quietly(), b"");
}

#[test]
fn quiet_forgives_a_missing_input_if_a_line_is_found_first() {
    let shell = shell();
    let run = shell.run(&["query", "-q", "f.gdn", "keys", "missing"]);
    assert_eq!((run.code, &*run.err), (Some(0), ""));
    assert_eq!(shell.run(&["query", "-q", "f.gdn", "missing", "keys"]).code, Some(0));
}

#[test]
fn a_line_is_answered_before_the_next_one_comes() {
    let shell = shell();
    let mut child = shell.command(&["query", "f.gdn"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, answers) = std::sync::mpsc::channel();
    // In a thread, so that an answer that does not come is noticed.
    std::thread::spawn(move || stdout.lines().try_for_each(|line| sender.send(line.unwrap())));
    // An archive of 7z begins with a 7, one of bzip2 with a B: the line is answered all the same.
    for number in [7, 0, 1, 2] {
        writeln!(stdin, "{number}").unwrap();
        assert_eq!(answers.recv_timeout(Duration::from_secs(20)), Ok(number.to_string()));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_input_that_cannot_be_read_does_not_stop_the_others() {
    let shell = shell();
    shell.write("one", "1\nx\n");
    shell.write("two", "y\n2"); // no line end: it is not glued to the next input
    std::fs::create_dir(shell.path("folder")).unwrap();
    let run = shell.run(&["query", "f.gdn", "two", "missing", "folder", "one"]);
    assert_eq!((run.code, run.text()), (Some(2), "two:2\none:1\n"));
    let complaints: Vec<&str> = run.err.lines().collect();
    assert_eq!(complaints.len(), 2, "{}", run.err);
    assert!(complaints[0].starts_with("gardenia: missing: "), "{}", run.err);
    assert!(complaints[1].starts_with("gardenia: folder: "), "{}", run.err);
    assert!(!run.err.contains("os error"), "{}", run.err);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let shell = shell();
    shell.write("input", b"7\n".repeat(1_000_000)); // far more than a pipe holds
    let mut child = shell.command(&["query", "f.gdn", "input"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 2]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    if !has("/dev/full") {
        return;
    }
    let shell = shell();
    for args in [&["query", "f.gdn", "keys"][..], &["query", "-c", "f.gdn", "keys"], &["info", "f.gdn"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = shell.command(args).stdout(full).spawn().unwrap().wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let run = Run { code: output.status.code(), out: output.stdout, err };
        assert!(run.complaint().starts_with("gardenia: stdout: "), "{}", run.err);
    }
}

#[test]
fn the_filter_can_come_by_a_pipe() {
    let shell = shell();
    let filter = shell.read("f.gdn");
    assert_eq!(shell.pipe(&filter, &["query", "-c", "-", "keys"]).quietly(), b"1000\n");
    let run = shell.pipe(&filter, &["query", "-"]);
    assert!(run.complaint().contains("cannot both come from stdin"), "{}", run.err);
}

#[test]
fn what_is_no_filter_is_refused_in_one_line() {
    let shell = shell();
    let filter = shell.read("f.gdn");
    let mut newer = filter.clone();
    newer[8] = 200;
    let mut header = filter.clone();
    header[40] ^= 1;
    std::fs::create_dir(shell.path("folder")).unwrap();
    for (name, bytes, reason) in [
        ("foreign", &b"PK\x03\x04 some other kind of file"[..], "not a Gardenia filter"),
        ("text", b"rose\ntulip\n", "not a Gardenia filter"),
        ("empty", b"", "not a Gardenia filter"),
        ("short", &filter[..7], "not a Gardenia filter"),
        ("half", &filter[..filter.len() / 2], "truncated"),
        ("less", &filter[..filter.len() - 1], "truncated"),
        ("more", &[&filter[..], b"\n"].concat(), "follow the end"),
        ("twice", &filter.repeat(2), "follow the end"),
        ("newer", &newer, "version 200"),
        ("header", &header, "checksum of the header"),
    ] {
        shell.write(name, bytes);
        for args in [&["query", name, "keys"][..], &["info", name], &["info", "--verify", name]] {
            let run = shell.run(args);
            let complaint = run.complaint();
            assert!(complaint.starts_with(&format!("gardenia: {name}: ")), "{complaint}");
            assert!(complaint.contains(reason), "{complaint}");
        }
    }
    assert!(shell.run(&["query", "folder", "keys"]).complaint().starts_with("gardenia: folder: "));
    assert!(shell.run(&["query", "gone", "keys"]).complaint().starts_with("gardenia: gone: No such file"));
}

#[test]
fn a_file_name_cannot_break_a_line_of_stderr() {
    let shell = shell();
    let run = shell.run(&["query", "f.gdn", "a\n\x1b[31mb"]);
    assert!(run.complaint().starts_with(r"gardenia: a\n\u{1b}[31mb: "), "{}", run.err);
}

#[test]
fn several_filters_are_asked_at_once() {
    let shell = Shell::new();
    shell.write("a.txt", "rose\ntulip\n");
    shell.write("b.txt", "tulip\niris\n");
    shell.ok(&["build", "--fpp", "1e-9", "-o", "a.gdn", "a.txt"]);
    // Of another hash function.
    shell.ok(&["build", "--fpp", "1e-9", "--seed", "7", "--kind", "ribbon", "-o", "b.gdn", "b.txt"]);
    let input = b"rose\niris\ntulip\nlily\n";
    let ask = |options: &[&str]| {
        let run = shell.pipe(input, &[&["query", "-F", "a.gdn", "-F", "b.gdn"], options].concat());
        assert_eq!((run.code, &*run.err), (Some(0), ""));
        String::from_utf8(run.out).unwrap()
    };
    assert_eq!(ask(&[]), "rose\niris\ntulip\n");
    assert_eq!(ask(&["--all"]), "tulip\n");
    assert_eq!(ask(&["-v"]), "lily\n");
    assert_eq!(ask(&["--label"]), "a:rose\nb:iris\na,b:tulip\n");
    assert_eq!(ask(&["--label", "-n", "-m", "2"]), "a:1:rose\nb:2:iris\n");
    assert_eq!(ask(&["-c", "-m2"]), "2\n");
    shell.write("input.txt", input);
    assert_eq!(shell.ok(&["query", "input.txt", "-F", "b.gdn"]), b"iris\ntulip\n");
    assert!(shell.run(&["query"]).complaint().contains("no filter was given"));
    assert!(
        shell.run(&["query", "-F", "a.gdn", "-F", "none.gdn", "input.txt"]).complaint().contains("none.gdn")
    );
}

#[test]
fn no_more_lines_than_asked_for_are_printed() {
    let shell = Shell::new();
    shell.write("keys.txt", "rose\n");
    shell.ok(&["build", "-o", "f.gdn", "keys.txt"]);
    shell.write("in.txt", "rose\ntulip\nrose\nrose\n");
    let ask = |number: &str| {
        let run = shell.run(&["query", "--no-filename", "-n", "-m", number, "f.gdn", "in.txt", "in.txt"]);
        (run.code, String::from_utf8(run.out).unwrap())
    };
    assert_eq!(ask("2"), (Some(0), "1:rose\n3:rose\n".repeat(2)));
    assert_eq!(ask("4"), (Some(0), "1:rose\n3:rose\n4:rose\n".repeat(2)));
    assert_eq!(ask("0"), (Some(1), String::new()));
    // More need not be read: the pipe is still open.
    let mut child = shell.command(&["query", "-m1", "f.gdn"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"rose\n").unwrap();
    assert_eq!(finish_by_itself(child).out, b"rose\n");
}

#[test]
fn lines_are_parted_into_two_files() {
    let shell = Shell::new();
    shell.write("keys.txt", "rose\niris\n");
    shell.ok(&["build", "--fpp", "1e-9", "-o", "f.gdn", "keys.txt"]);
    shell.write("in.txt", "rose\ntulip\niris\nlily");
    let part = ["query", "--matched", "yes.txt", "--unmatched", "no.txt", "f.gdn", "in.txt"];
    assert_eq!(shell.run(&part).quietly(), b"");
    assert_eq!(
        (shell.read("yes.txt"), shell.read("no.txt")),
        (b"rose\niris\n".to_vec(), b"tulip\nlily\n".to_vec())
    );
    assert!(shell.run(&part).complaint().contains("yes.txt: already exists"));
    shell.ok(&[&part[..], &["--force"]].concat());
    let run = shell.run(&["query", "--unmatched", "-", "f.gdn", "in.txt"]);
    assert_eq!(run.quietly(), b"tulip\nlily\n");
    let run = shell.run(&["query", "--matched", "x.txt", "--unmatched", "x.txt", "f.gdn", "in.txt"]);
    assert!(run.complaint().contains("must be different files"));
    let run = shell.run(&["query", "--matched", "in.txt", "--force", "f.gdn", "in.txt"]);
    assert!(run.complaint().contains("is one of the inputs"), "{}", run.err);
}

#[test]
fn a_file_of_lines_appears_only_when_all_inputs_are_read() {
    let shell = Shell::new();
    shell.write("keys.txt", numbers(0..1_000));
    shell.ok(&["build", "--fpp", "1e-9", "-o", "f.gdn", "keys.txt"]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&numbers(0..200_000)).unwrap();
    let packed = packed.finish().unwrap();
    shell.write("cut.gz", &packed[..packed.len() / 2]);
    shell.write("words.csv", "7\nseven\n8\n");
    shell.write("whole.txt", "7\n");
    let inputs: [(&str, &[&str]); 4] = [
        ("cut.gz", &["f.gdn", "whole.txt", "cut.gz"]),
        ("words.csv", &["--csv", "-f", "none", "f.gdn", "words.csv"]),
        ("missing.txt", &["f.gdn", "missing.txt", "whole.txt"]),
        ("missing.txt", &["f.gdn", "whole.txt", "missing.txt"]),
    ];
    for ((name, input), threads) in inputs.into_iter().zip(["1", "3"].into_iter().cycle()) {
        let parted = ["query", "-j", threads, "--matched", "yes.txt", "--unmatched", "no.txt"];
        let run = shell.run(&[&parted[..], input].concat());
        assert!(run.complaint().starts_with(&format!("gardenia: {name}: ")), "{}", run.err);
        let hint = "hint: --matched and --unmatched write their files only if all inputs could be read";
        assert!(run.err.contains(hint) || input.contains(&"--csv"), "{}", run.err); // which has a hint of its own
        assert!(!shell.path("yes.txt").exists() && !shell.path("no.txt").exists(), "{input:?}");
        shell.write("old.txt", "old\n");
        for option in ["--matched", "--unmatched"] {
            shell.run(&[&["query", "--force", option, "old.txt"], input].concat()).complaint();
            assert_eq!(shell.read("old.txt"), b"old\n", "{input:?}");
        }
    }
    // What goes to a pipe cannot be taken back, and the other inputs are read, as without the option.
    let run = shell.run(&["query", "--matched", "-", "f.gdn", "missing.txt", "whole.txt"]);
    assert_eq!((run.code, run.text()), (Some(2), "7\n"));
    assert_eq!(std::fs::read_dir(shell.path("")).unwrap().count(), 6, "no temporary file is left");
}
