//! Lines that cannot be used, damaged files, a full disk.

use crate::common::{Place, recipe};
use gardenia_corpus::generate::Recipe;
use std::process::Command;

fn lines() -> Vec<u8> {
    let mut text = b"{\"id\": \"a\", \"text\": \"first\"}\n{\"id\": broken\n{\"id\": \"b\"}\n\n{\"id\": \"c\", \"text\": \"\xff\"}\n".to_vec();
    text.extend_from_slice(b"{\"id\": \"long\", \"text\": \"");
    text.extend(vec![b'x'; 3 << 20]);
    text.extend_from_slice(b"\"}\n{\"id\": \"d\", \"text\": 7}\n{\"id\": \"e\", \"text\": \"first\"}\n{\"id\": \"f\", \"text\": \"last\"}");
    text
}

const ARGS: [&str; 5] = ["dedup", "in", "--force", "--max-line", "100kB"];

#[test]
fn bad_lines_are_counted_named_and_kept_or_dropped() {
    let place = Place::new();
    place.write("in/a.jsonl", lines());
    let kept = place.report(&[&ARGS[..], &["--output", "keep"]].concat());
    let bad: Vec<(&str, u64)> = kept.total.bad.iter().map(|(name, lines)| (name.as_str(), *lines)).collect();
    assert_eq!(bad, [("broken_json", 1), ("invalid_utf8", 1), ("missing_key", 2), ("too_long", 1)]);
    // All but the repeat, byte for byte.
    let text = String::from_utf8_lossy(&lines()).replace("{\"id\": \"e\", \"text\": \"first\"}\n", "");
    assert_eq!(String::from_utf8_lossy(&place.files("keep")["a.jsonl"]), text);
    let said = place.run(&[&ARGS[..], &["--output", "keep"]].concat());
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    for expected in [
        "a.jsonl, line 2: no JSON",
        "line 3: no text",
        "line 5: invalid UTF-8",
        "line 6: longer",
        "line 7: no text",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let dropped = place.report(&[&ARGS[..], &["--output", "drop", "--bad", "drop"]].concat());
    assert_eq!((dropped.total.documents, dropped.total.kept), (8, 2));
    let expected = "{\"id\": \"a\", \"text\": \"first\"}\n\n{\"id\": \"f\", \"text\": \"last\"}";
    assert_eq!(String::from_utf8_lossy(&place.files("drop")["a.jsonl"]), expected);
    let stop = place.complaint(&[&ARGS[..], &["--output", "stop", "--bad", "stop"]].concat());
    assert!(stop.contains("a.jsonl, line 2: no JSON object") && stop.contains("--bad keep"), "{stop}");
}

/// Attributes are applied with the rules that they were made with: what was too long for the
/// default is a document, and bad lines are dropped there, too.
#[test]
fn attributes_are_applied_with_the_same_lines() {
    let place = Place::new();
    place.write("in/a.jsonl", lines());
    let flags = ["--max-line", "10MB", "--bad", "drop"];
    place.report(&[&["dedup", "in", "--attributes", "flags"], &flags[..]].concat());
    place.report(&[&["dedup", "in", "--output", "once"], &flags[..]].concat());
    let apply = ["apply", "in", "--attributes", "flags", "--output", "later", "--force"];
    let output = place.run(&[&apply[..], &flags].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("4 documents read, 3 kept") && said.contains("4 bad lines"), "{said}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("a.jsonl, line 2: no JSON object"));
    assert!(place.files("later") == place.files("once"));
    // Many short paragraphs: their spans are longer than they are.
    let words = (0..2_000).map(|at| format!("{}\\n", at % 10)).collect::<String>();
    place.write("short/a.jsonl", format!("{{\"text\": \"{words}\"}}\n"));
    let flags = ["--max-line", "10kB", "--attributes", "short-flags"];
    place.report(&[&["dedup", "short", "--by", "paragraph"], &flags[..]].concat());
    assert!(place.files("short-flags")["a.jsonl"].len() > 20_000);
    let output = place.run(&[&["apply", "short", "--output", "short-out"], &flags[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The pieces of a line that is too long follow its beginning.
    place.report(&[&["dedup", "in", "--attributes", "flags", "--force"], &ARGS[3..]].concat());
    for (rule, length) in [("keep", lines().len()), ("drop", 70)] {
        assert!(place.run(&[&apply[..], &["--bad", rule], &ARGS[3..]].concat()).status.success());
        assert!(place.files("later")["a.jsonl"].len().abs_diff(length) < 40, "{rule}");
    }
    let text = place.complaint(&[&apply[..], &["--bad", "stop"]].concat());
    assert!(text.contains("line 2: no JSON object") && text.contains("--bad keep"), "{text}");
}

#[test]
fn pairs_name_what_they_leave_out() {
    let place = Place::new();
    place.write("in/a.jsonl", lines());
    let output = place.run(&["pairs", "in", "--max-line", "100kB"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("5 bad lines not used"), "{said}");
    assert!(said.contains("a.jsonl, line 2: no JSON object") && said.contains("line 6: longer"), "{said}");
    assert!(place.complaint(&["pairs", "in", "--bad", "stop"]).contains("line 2: no JSON object"));
}

/// Documents without a key are not copies of each other: all of them stay, and are counted.
#[test]
fn a_key_that_is_null_is_missing() {
    let place = Place::new();
    let line = |url: &str| format!("{{\"text\": \"t\", \"url\": {url}}}\n");
    let lines = ["null", "\"u\"", "null", "1.0", "\"u\"", "1", "{\"a\": 1, \"b\": 2}", "{\"b\":2.0,\"a\":1}"]
        .map(line);
    place.write("in/a.jsonl", lines.concat());
    let report = place.report(&["dedup", "in", "--key", "url", "--output", "out"]);
    assert_eq!((report.total.bad["missing_key"], report.total.kept), (2, 5));
    let kept = [0, 1, 2, 3, 6].map(|at| lines[at].as_str()).concat();
    assert_eq!(String::from_utf8_lossy(&place.files("out")["a.jsonl"]), kept);
}

#[test]
fn a_damaged_file_ends_the_run_with_its_name() {
    let place = Place::new();
    let recipe = Recipe { packing: gardenia_corpus::input::Packing::Gzip, ..recipe(3_000, 2) };
    place.generate("s", &recipe);
    let path = place.path("s/corpus/part-0002.jsonl.gz");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let output = place.run(&["dedup", "s/corpus", "--output", "out"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("part-0002.jsonl.gz"), "{text}");
    // The files before it are there, and nothing else.
    assert_eq!(
        place.files("out").into_keys().collect::<Vec<_>>(),
        ["part-0000.jsonl.gz", "part-0001.jsonl.gz"]
    );
}

/// Files cannot grow beyond a limit, which looks to the program as a full disk does.
#[test]
#[cfg(unix)]
fn a_full_disk_ends_the_run_with_a_message_and_the_next_goes_on() {
    let place = Place::new();
    place.generate("s", &recipe(3_000, 2));
    let program = env!("CARGO_BIN_EXE_gardenia-corpus");
    let script =
        format!("trap '' XFSZ; ulimit -f 200; exec {program} dedup s/corpus --output out --state state");
    let output = Command::new("bash").args(["-c", &script]).current_dir(place.path("")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("out/part-0000.jsonl") && text.contains("hint: make room"), "{text}");
    assert!(place.files("out").is_empty());
    place.report(&["dedup", "s/corpus", "--output", "out", "--state", "state"]);
    place.report(&["dedup", "s/corpus", "--output", "whole"]);
    assert!(place.files("out") == place.files("whole"));
}

/// The disk of the state is full, and that of the output is not: the message names what could not
/// be written, and nothing that was finished is lost.
#[test]
#[cfg(unix)]
fn a_full_disk_under_the_state_ends_the_run_with_a_message_and_the_next_goes_on() {
    let place = Place::new();
    place.generate("s", &Recipe { words: 10, paragraphs: 40, ..recipe(3_000, 2) });
    let program = env!("CARGO_BIN_EXE_gardenia-corpus");
    let full = |kib: u32, args: &str| {
        let script = format!("trap '' XFSZ; ulimit -f {kib}; exec {program} dedup s/corpus --dry-run {args}");
        let output = Command::new("bash").args(["-c", &script]).current_dir(place.path("")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("hint: make room"), "{text}");
        text
    };
    // A set as a whole, before the first file; a journal, which has eight bytes for each paragraph, in the third.
    let (whole, journal) =
        ("--items 1M --state whole", "--by paragraph --items 200k --fpp 1% --state journal");
    let text = full(200, whole);
    assert!(text.contains("whole/documents-0.gdn: "), "{text}");
    let text = full(500, journal);
    assert!(text.contains("gardenia: journal"), "{text}");
    let finished = || std::fs::read_to_string(place.path("journal/files.jsonl")).unwrap().lines().count();
    assert_eq!(finished(), 2);
    for (state, args) in [("whole", whole), ("journal", journal)] {
        let args: Vec<&str> = args.split(' ').collect();
        let dedup = |args: &[&str]| place.report(&[&["dedup", "s/corpus", "--dry-run"], args].concat());
        let (again, plain) = (dedup(&args), dedup(&args[..args.len() - 2]));
        assert_eq!(again.total, plain.total, "{state}");
        assert_eq!(again.sets[0].items, plain.sets[0].items, "{state}");
    }
    assert_eq!(finished(), 4);
}

/// What a run writes must not be what the next one reads.
#[test]
fn output_and_state_lie_outside_the_input() {
    let place = Place::new();
    place.write("raw/2020/a.jsonl", "{\"text\": \"one\"}\n");
    for args in [
        &["dedup", "raw", "--output", "raw/clean"][..],
        &["dedup", "raw", "--attributes", "./raw/flags"],
        &["dedup", "raw", "--output", "clean", "--state", "raw/state"],
        &["apply", "raw", "--attributes", "flags", "--output", "raw/clean"],
    ] {
        let text = place.complaint(args);
        assert!(text.contains("lies inside raw, and the next run would read it"), "{text}");
    }
    assert_eq!(place.files("raw").len(), 1);
    // Beside it, behind files that are named, and hidden: what is hidden is not read.
    place.report(&["dedup", "raw", "--output", "raw-clean"]);
    place.report(&["dedup", "raw/2020/a.jsonl", "--output", "raw/clean"]);
    place.report(&["dedup", "raw", "--output", "raw/.clean"]);
}
