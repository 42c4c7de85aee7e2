//! Nothing is silently wrong: flawed records, full counters, filters that forget, damaged files,
//! killed processes.

use crate::common::{Shell, numbers};
use std::io::{Read, Write};
use std::process::Stdio;

#[test]
fn an_unclosed_quote_costs_its_line_and_no_other() {
    let shell = Shell::new();
    let lines: String = (0..1000).map(|n| format!("a,{n}\n")).collect();
    shell.write("stray.csv", format!("host,x\nfoo,\"unclosed\n{lines}"));
    shell.write("hosts", "a\nfoo\n");
    shell.ok(&["build", "-q", "-p", "1e-6", "-o", "f.gdn", "hosts"]);
    for threads in ["1", "3"] {
        let run = shell.run(&["query", "-j", threads, "--csv", "-f", "host", "-c", "f.gdn", "stray.csv"]);
        assert_eq!((run.code, run.text()), (Some(0), "1001\n"), "{}", run.err);
        let warning = "gardenia: warning: stray.csv: 1 quote is not closed, the first in line 2: that line was read as it stands\n";
        assert_eq!(run.err, warning);
    }
    // Built from: the same, reported once.
    let run = shell.run(&["build", "-q", "--csv", "-f", "x", "-o", "g.gdn", "stray.csv"]);
    assert_eq!((run.code, run.err.matches("not closed").count()), (Some(0), 1), "{}", run.err);
    // A record that would be too long names the line where a quote may be open.
    let run = shell.run(&["query", "--csv", "-f", "host", "--max-line", "100", "-c", "f.gdn", "stray.csv"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("unless a quote that begins in line 2 is not closed"), "{}", run.err);
}

#[test]
fn a_quote_that_a_later_line_closes_hides_no_line() {
    let shell = Shell::new();
    let lines: String = (0..1000).map(|n| format!("a,{n}\n")).collect();
    shell.write("stray.csv", format!("host,x\nfoo,\"unclosed\n{lines}b,\"quoted\"\nfoo,\"two\nlines\"\n"));
    shell.write("hosts", "a\nb\nfoo\n");
    shell.ok(&["build", "-q", "-p", "1e-6", "-o", "f.gdn", "hosts"]);
    for threads in ["1", "3"] {
        let run = shell.run(&["query", "-j", threads, "--csv", "-f", "host", "-c", "f.gdn", "stray.csv"]);
        assert_eq!((run.code, run.text()), (Some(0), "1003\n"), "{}", run.err);
        let warning = "gardenia: warning: stray.csv: 1 quote is not closed, the first in line 2: that line was read as it stands\n";
        assert_eq!(run.err, warning);
    }
}

#[test]
fn a_line_that_is_no_number_is_reported_and_the_others_are_looked_up() {
    let shell = Shell::new();
    shell.write("numbers", numbers(1..1001));
    shell.ok(&["build", "-q", "--int", "-o", "f.gdn", "numbers"]);
    for options in [&["--int"][..], &[]] {
        let run = shell.pipe(b"1\n2\nabc\n3\n\n004\n", &[&["query"], options, &["f.gdn"]].concat());
        assert_eq!((run.code, run.text()), (Some(0), "1\n2\n3\n004\n"));
        let warning =
            "gardenia: warning: (stdin): 2 records have no whole number of 64 bits, the first in line 3\n";
        assert_eq!(run.err, warning);
    }
    let run = shell.pipe(b"7\nx\n8\n", &["build", "--int", "-q", "-o", "g.gdn"]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("1 record has no whole number of 64 bits, in line 2"), "{}", run.err);
    assert_eq!(shell.pipe(b"7\n8\n9\n", &["query", "-c", "g.gdn"]).text(), "2\n");
    let run = shell.pipe(b"1 7\n1 x\n1 8\n", &["eval", "--json", "g.gdn"]);
    assert!(run.text().contains("\"true_positives\":2"), "{}", run.text());
    assert!(run.err.contains("in line 2"), "{}", run.err);
}

#[test]
fn a_record_without_a_key_is_reported_with_its_line() {
    let shell = Shell::new();
    shell.write("list", "rose\n");
    shell.ok(&["build", "-q", "-o", "f.gdn", "list"]);
    let many: String = (0..50_000).map(|n| if n == 40_000 { "x\n" } else { "x\trose\n" }).collect();
    shell.write("log", many);
    for threads in ["1", "4"] {
        let run = shell.run(&["query", "-j", threads, "-f", "2", "-c", "f.gdn", "log"]);
        assert_eq!(run.text(), "49999\n");
        assert_eq!(run.err, "gardenia: warning: log: 1 record has no field 2, in line 40,001\n");
    }
    // A quoted field may hold line ends: it is lines that are counted, as editors do.
    shell.write("log.csv", "a,b\n1,\"two\nlines\"\n3\n4,rose\n");
    let run = shell.run(&["query", "--csv", "-f", "b", "f.gdn", "log.csv"]);
    assert_eq!(run.err, "gardenia: warning: log.csv: 1 record has no field b, in line 4\n");
}

#[test]
fn counts_at_their_top_are_marked() {
    let shell = Shell::new();
    let lines = ["rose\n".repeat(70_000), "tulip\n".repeat(3)].concat();
    shell.write("lines", lines);
    shell.write("asked", "rose\ntulip\nlily\n");
    for (kind, top) in
        [("spectral-mi", Some("65535")), ("counting", Some("15")), ("count-min", None), ("bitwise", None)]
    {
        let run = shell.run(&["build", "-q", "--force", "-k", kind, "-o", "f.gdn", "lines"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let counted = shell.run(&["count", "f.gdn", "asked"]);
        match top {
            Some(top) => {
                assert!(run.err.contains("reached the largest count"), "{kind}: {}", run.err);
                assert_eq!(counted.text(), format!("≥{top}\trose\n3\ttulip\n0\tlily\n"), "{kind}");
                assert!(counted.err.contains("1 line reached the largest count"), "{}", counted.err);
            }
            None => {
                assert_eq!((&*run.err, &*counted.err), ("", ""), "{kind}");
                assert_eq!(counted.text(), "70000\trose\n3\ttulip\n0\tlily\n", "{kind}");
            }
        }
    }
    let wide =
        shell.run(&["build", "-q", "--force", "-k", "spectral-mi", "--width", "32", "-o", "f.gdn", "lines"]);
    assert_eq!(
        (wide.quietly(), shell.run(&["count", "f.gdn", "asked"]).quietly()),
        (vec![], b"70000\trose\n3\ttulip\n0\tlily\n".to_vec())
    );
}

#[test]
fn full_counters_in_a_file_are_reported() {
    let shell = Shell::new();
    shell.write("lines", "rose\n".repeat(20));
    shell.write("few", "tulip\n");
    let warning = "f.gdn: 7 cells reached the largest count, 15: `gardenia count` marks such counts with ≥";
    let run = shell.run(&["build", "-q", "-k", "split", "-n", "100", "-p", "1%", "-o", "f.gdn", "lines"]);
    assert!(run.code == Some(0) && run.err.contains(warning), "{}", run.err);
    let run = shell.run(&["add", "-q", "f.gdn", "few"]);
    assert!(run.code == Some(0) && run.err.contains(warning), "{}", run.err);
    let run = shell.run(&["build", "-q", "-k", "split", "-n", "100", "-p", "1%", "-o", "g.gdn", "few"]);
    assert_eq!((run.code, &*run.err), (Some(0), ""));
}

#[test]
fn whoever_asks_what_is_certainly_absent_is_told_of_filters_that_miss_lines() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..500));
    shell.write("good", "x\n");
    for (kind, options) in [
        ("stable", &[][..]),
        ("a2", &[]),
        ("retouched", &["--spare", "good"]),
        ("distance", &[]),
        ("bitwise", &[]),
    ] {
        shell.ok(&[&["build", "-q", "--force", "-k", kind, "-o", "f.gdn"], options, &["lines"]].concat());
        for option in [&["-v"][..], &["--unmatched", "none", "--force"]] {
            let run = shell.run(&[&["query"], option, &["f.gdn", "lines"]].concat());
            assert!(run.err.contains("may miss lines that were added"), "{kind}: {}", run.err);
        }
        assert_eq!(shell.run(&["query", "f.gdn", "lines"]).err, "", "{kind}");
    }
    shell.ok(&["build", "-q", "--force", "-o", "f.gdn", "lines"]);
    assert_eq!(shell.run(&["query", "-v", "f.gdn", "lines"]).err, "");
    let help = String::from_utf8(shell.ok(&["query", "--help"])).unwrap();
    for kind in gardenia::Kind::ALL {
        let listed = help.contains("may miss") && help.contains(kind.name());
        assert!(listed || !kind.can(gardenia::Ability::Miss), "{}", kind.name());
    }
}

#[test]
fn a_damaged_filter_is_noticed_where_that_costs_little() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..20_000));
    for command in ["query", "count"] {
        let options: &[&str] = if command == "count" { &["-k", "counting"] } else { &[] };
        shell.ok(&[&["build", "-q", "--force", "-o", "g.gdn"], options, &["lines"]].concat());
        let mut bytes = shell.read("g.gdn");
        bytes[1000] ^= 4;
        shell.write("g.gdn", &bytes);
        let run = shell.run(&[command, "g.gdn", "lines"]);
        assert!(run.complaint().contains("g.gdn: corrupted: the checksum"), "{}", run.err);
        assert!(run.err.contains("hint: the file is corrupted"), "{}", run.err);
        assert_ne!(shell.run(&[command, "--no-verify", "g.gdn", "lines"]).code, Some(2));
    }
    // A large filter, and few lines: only if asked for.
    shell.ok(&["build", "-q", "--force", "--bits", "8MiB", "--hashes", "5", "-o", "f.gdn", "lines"]);
    let mut bytes = shell.read("f.gdn");
    bytes[5000] ^= 4;
    shell.write("f.gdn", &bytes);
    assert_ne!(shell.pipe(b"1\n", &["query", "f.gdn"]).code, Some(2));
    let run = shell.pipe(b"1\n", &["query", "--verify", "f.gdn"]);
    assert!(run.complaint().contains("f.gdn: corrupted: the checksum"), "{}", run.err);
}

#[cfg(unix)]
#[test]
fn after_kill_9_no_more_is_lost_than_was_asked_for() {
    let shell = Shell::new();
    let start = |lines: &[u8], shell: &Shell| {
        let args = ["dedup", "--state", "s.gdn", "--save-every", "1000"];
        let mut child = shell.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(lines).unwrap();
        stdin.flush().unwrap();
        let mut printed = vec![0; lines.len()];
        child.stdout.as_mut().unwrap().read_exact(&mut printed).unwrap();
        assert_eq!(printed, lines);
        (child, stdin)
    };
    let first = numbers(0..2_500);
    let (mut child, mut stdin) = start(&first, &shell);
    // Its own claim holds after each save.
    let other = shell.pipe(b"x\n", &["dedup", "--state", "s.gdn"]);
    assert!(other.complaint().contains("another process is using it"), "{}", other.err);
    // One more block, so that the saves before it are done.
    stdin.write_all(b"last\n").unwrap();
    let mut last = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut last).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    let run = shell.pipe(&first, &["dedup", "--state", "s.gdn"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let again = run.out.iter().filter(|byte| **byte == b'\n').count();
    assert!(again <= 1000, "{again} lines are printed again");
    assert!(shell.run(&["dedup", "--save-every", "5"]).complaint().contains("--state"));
}

#[test]
fn exact_deduplication_reads_a_redirected_file_and_counts() {
    let shell = Shell::new();
    shell.write("lines", "skip\nb\na\nb\nc\na\nb\n");
    let run = |args: &[&str]| {
        let mut command = shell.command(&[&["dedup"], args].concat());
        let mut file = std::fs::File::open(shell.path("lines")).unwrap();
        // What others have read of it is not read again.
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(5)).unwrap();
        let output = command.stdin(file).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&["--exact"]), "b\na\nc\n");
    assert_eq!(run(&["--exact", "-c"]), "3\tb\n2\ta\n1\tc\n");
    assert_eq!(run(&["-c"]), "3\tb\n2\ta\n1\tc\n");
    assert_eq!(run(&["-u"]), "c\n");
    assert_eq!(run(&["-u", "--exact"]), "c\n");
    assert_eq!(run(&["--exact", "-c", "--fpp", "0.5"]), "3\tb\n2\ta\n1\tc\n");
    // Of a pipe there is no second reading.
    let pipe = shell.pipe(b"a\n", &["dedup", "-u"]);
    assert!(pipe.complaint().contains("-u reads its input twice"), "{}", pipe.err);
}

#[test]
fn lines_that_occur_once_are_those_of_uniq() {
    let shell = Shell::new();
    let lines: String =
        (0..40_000u64).map(|n| format!("{}\n", gardenia::Digest(n).word(1) % 30_000)).collect();
    shell.write("lines", &lines);
    let mut counts = std::collections::HashMap::<&str, u32>::new();
    lines.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let once: String =
        lines.lines().filter(|line| counts[line] == 1).map(|line| format!("{line}\n")).collect();
    for exact in [
        &["-u", "--fpp", "1e-7"][..],
        &["-u", "--exact"],
        &["-u", "--exact", "-p", "0.5"],
        &["-u", "-j", "3"],
    ] {
        let run = shell.run(&[&["dedup"], exact, &["lines"]].concat());
        assert!(run.quietly() == once.as_bytes(), "{exact:?}");
    }
}

#[test]
fn counts_that_do_not_fit_their_cells_are_printed_and_reported() {
    let shell = Shell::new();
    shell.write("lines", "rose\n".repeat(12));
    shell.write("asked", "rose\nlily\n");
    for name in ["a", "b"] {
        shell.ok(&["build", "-q", "-k", "counting", "-n", "10", "-o", &format!("{name}.gdn"), "lines"]);
    }
    let warning = "reached the largest count, 15: `gardenia count` marks such counts with ≥";
    let run = shell.run(&["merge", "-q", "-o", "ab.gdn", "a.gdn", "b.gdn"]);
    assert!(run.err.contains("warning: ab.gdn: ") && run.err.contains(warning), "{}", run.err);
    let run = shell.run(&["add", "-q", "a.gdn", "lines"]);
    assert!(run.err.contains("warning: a.gdn: ") && run.err.contains(warning), "{}", run.err);
    // Any count of 15 or more.
    let run = shell.run(&["count", "--min", "100", "a.gdn", "asked"]);
    assert_eq!((run.code, run.text()), (Some(0), "≥15\trose\n"), "{}", run.err);
    assert!(run.err.contains("1 line reached the largest count, 15"), "{}", run.err);
    assert_eq!(shell.run(&["count", "--min", "13", "b.gdn", "asked"]).text(), "");
}

#[test]
fn a_spec_in_a_file_is_the_whole_spec_and_its_filters_can_be_merged() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..100));
    shell.write("spec", "choice items=1k fpp=1%");
    for name in ["a.gdn", "b.gdn"] {
        shell.ok(&["build", "-q", "--spec", "spec", "-o", name, "lines"]);
    }
    shell.ok(&["merge", "-q", "-o", "ab.gdn", "a.gdn", "b.gdn"]);
    for option in [["--fpp", "5%"], ["-n", "7"], ["--seed", "7"]] {
        let run = shell.run(&[&["build", "--spec", "spec", "-o", "c.gdn", "lines"], &option[..]].concat());
        assert!(run.complaint().contains("'--spec <FILE>' cannot be used with"), "{option:?}: {}", run.err);
    }
    let told = shell.run(&["kinds", "choice"]);
    assert!(told.text().contains("`gardenia build` uses partitioned unless --spec FILE"), "{}", told.text());
    // By default keys choose together, and such filters are told how others are built.
    for name in ["a.gdn", "b.gdn"] {
        shell.ok(&["build", "-q", "--force", "-k", "choice", "-n", "1k", "-o", name, "lines"]);
    }
    let run = shell.run(&["merge", "-o", "c.gdn", "a.gdn", "b.gdn"]);
    assert!(run.err.contains("hint: build them with --effort online"), "{}", run.err);
    // There is nothing to improve, which is no error.
    let run = shell.run(&["improve", "a.gdn", "lines"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("its keys were placed together already; nothing is written"), "{}", run.err);
}

#[test]
fn names_of_files_without_a_line_are_not_certain_where_lines_may_be_missed() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..100));
    shell.ok(&["build", "-q", "-k", "stable", "--cells", "100k", "-o", "f.gdn", "lines"]);
    let run = shell.run(&["query", "-L", "f.gdn", "lines"]);
    assert!(run.err.contains("a filter of kind stable may miss lines that were added"), "{}", run.err);
}
