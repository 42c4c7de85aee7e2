//! `gardenia count` and `gardenia eval`: how often, and how often wrong.

use crate::common::{Shell, kinds_with, numbers};
use gardenia::Ability;
use gardenia::spec::Param;
use serde_json::Value;

/// A shell with `f.gdn`: number n below 100 went in 1 + n % 5 times.
fn shell(kind: &str) -> Shell {
    let shell = Shell::new();
    let lines: String =
        (0..500).filter(|i| i % 100 % 5 >= i / 100).map(|i| format!("{}\n", i % 100)).collect();
    shell.write("lines", lines);
    shell.ok(&["build", "-q", "-o", "f.gdn", "--items", "1000", "--fpp", "1e-6", "--kind", kind, "lines"]);
    shell
}

#[test]
fn lines_are_printed_after_their_counts() {
    for kind in kinds_with(Ability::Count, &[Param::Items, Param::Fpp]) {
        let shell = shell(kind);
        let run = shell.pipe(b"0\n4\nthistle\n\n99", &["count", "f.gdn"]);
        assert_eq!(run.quietly(), b"1\t0\n5\t4\n0\tthistle\n0\t\n5\t99\n");
        let run = shell.pipe(b"0\n4\nthistle\n\n99", &["count", "--min", "2", "f.gdn"]);
        assert_eq!(run.quietly(), b"5\t4\n5\t99\n");
        assert_eq!(shell.pipe(b"thistle\n", &["count", "f.gdn"]).code, Some(1));
        let two = shell.run(&["count", "f.gdn", "missing", "lines"]);
        assert_eq!((two.code, two.text().lines().count()), (Some(2), 300));
        assert!(two.err.starts_with("gardenia: missing: "), "{}", two.err);
        // From a pipe as well as from a file.
        let filter = shell.read("f.gdn");
        assert_eq!(shell.pipe(&filter, &["count", "-", "lines"]).quietly(), two.out);
        assert_eq!(shell.run(&["count", "-", "-"]).complaint().split(':').next(), Some("gardenia"));
    }
}

#[test]
fn a_filter_that_does_not_count_says_so() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10));
    shell.ok(&["build", "-q", "-o", "f.gdn", "keys"]);
    let run = shell.run(&["count", "f.gdn", "keys"]);
    assert_eq!(run.complaint(), "gardenia: f.gdn: a filter of kind blocked does not count");
    assert!(run.err.contains("hint: build it with one of --kind counting"));
}

/// The columns of the last line that `eval --each` prints.
fn last_columns(text: &str) -> Vec<u64> {
    let last = text.lines().last().expect("a line");
    last.split(' ').take(4).map(|column| column.parse().expect("a number")).collect()
}

#[test]
fn a_filter_is_compared_with_the_truth() {
    let shell = shell("counting");
    // Right, right and absent, absent, given too low, given too high.
    let truth = "      1 0\n5 4\n0\tthistle\n0 \n3 99\n9 98\n";
    let run = shell.pipe(truth.as_bytes(), &["eval", "--each", "f.gdn"]);
    let expected = "TN TP FP FN G C E\n0 1 0 0 1 1 0\n0 2 0 0 5 5 4\n1 2 0 0 0 0 thistle\n2 2 0 0 0 0 \n\
                    2 2 1 0 3 5 99\n2 2 1 1 9 4 98\n";
    assert_eq!(String::from_utf8(run.quietly()).unwrap(), expected);
    let json = shell.pipe(truth.as_bytes(), &["eval", "--json", "f.gdn"]).quietly();
    let found: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&found["lines"], &found["absent"], &found["present"]), (&6.into(), &2.into(), &4.into()));
    assert_eq!((&found["over_counted"], &found["under_counted"]), (&1.into(), &1.into()));
    assert_eq!((&found["mean_count_error"], &found["largest_count_error"]), (&(7.0 / 4.0).into(), &5.into()));
    assert_eq!(found["false_positive_rate"]["rate"], 0.0);
    let text = shell.pipe(truth.as_bytes(), &["eval", "f.gdn"]).quietly();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("false positives   0 of 2 absent lines, 0% (95% interval 0% to "), "{text}");
    assert!(text.ends_with("error of a count  1.7500 on average, 5 at most\n"), "{text}");
}

#[test]
fn of_a_filter_that_does_not_count_presence_is_compared() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1000));
    shell.ok(&["build", "-q", "-o", "f.gdn", "--kind", "bloom", "--fpp", "10%", "keys"]);
    let truth: String = (0..2000).map(|i| format!("{} {i}\n", if i < 1000 { 3 } else { 0 })).collect();
    shell.write("truth", &truth);
    let each = shell.ok(&["eval", "--each", "f.gdn", "truth"]);
    let columns = last_columns(str::from_utf8(&each).unwrap());
    assert_eq!((columns[0] + columns[2], columns[1], columns[3]), (1000, 1000, 0));
    let found: Value = serde_json::from_slice(&shell.ok(&["eval", "--json", "f.gdn", "truth"])).unwrap();
    assert_eq!(found["false_positives"], columns[2]);
    assert_eq!(found["mean_count_error"], Value::Null);
    let rate = &found["false_positive_rate"];
    let number = |name: &str| rate[name].as_f64().unwrap();
    assert!(number("low") < 0.1 && 0.1 < number("high"), "{rate}"); // fixed keys: 95 % of such files would pass
}

#[test]
fn a_truth_that_cannot_be_read_is_named() {
    let shell = shell("counting");
    let run = shell.pipe(b"1 0\nrose\n", &["eval", "--each", "f.gdn"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.err.starts_with("gardenia: (stdin): line 2: \"rose\" is not a count and a line"),
        "{}",
        run.err
    );
}

#[test]
fn every_row_of_libbfs_tool_has_its_counterpart() {
    // The table of docs/libbf.md.
    let shell = Shell::new();
    let lines: String = (0..300).map(|i| format!("{}\n", i % 100)).collect();
    shell.write("in", lines);
    let truth: String =
        (0..100).map(|i| format!("{:>7} {i}\n", 3)).chain((0..50).map(|i| format!("0 x{i}\n"))).collect();
    shell.write("truth", truth);
    let double = ["--scheme", "double"];
    let rows: [(&str, &[&str]); 9] = [
        ("bloom", &["--items", "100", "--fpp", "0.0001", "--seed", "7"]),
        ("bloom", &["--bits", "4000", "--hashes", "7", "--scheme", "partition"]),
        ("counting", &["--cells", "4000", "--hashes", "7", "--width", "4", double[0], double[1]]),
        ("spectral-mi", &["--cells", "4000", "--hashes", "7", "--width", "8"]),
        (
            "spectral-rm",
            &["--cells", "4000", "--hashes", "7", "--secondary-cells", "2000", "--secondary-hashes", "5"],
        ),
        ("bitwise", &["--cells", "4000", "--hashes", "7", "--seed", "3"]),
        ("a2", &["--bits", "8000", "--hashes", "7", "--items", "100"]),
        ("stable", &["--cells", "40000", "--hashes", "7", "--evict", "1"]),
        ("spectral-ms", &["--cells", "4000", "--hashes", "7", "--compact"]),
    ];
    for (kind, options) in rows {
        shell.ok(&[&["build", "-q", "--force", "-o", "f.gdn", "--kind", kind, "in"], options].concat());
        let each = shell.ok(&["eval", "--each", "f.gdn", "truth"]);
        let text = str::from_utf8(&each).unwrap();
        assert_eq!((text.lines().next(), text.lines().count()), (Some("TN TP FP FN G C E"), 151), "{kind}");
        let [tn, tp, fp, fn_] = last_columns(text)[..] else { panic!("{kind}: four columns") };
        // 40 cells per key: one absent line in 10⁵ or fewer is found, and no count is wrong.
        assert_eq!((tn, tp, fp, fn_), (50, 100, 0, 0), "{kind}");
    }
    // Numbers as keys.
    shell.ok(&["build", "-q", "--force", "--int", "-o", "f.gdn", "--kind", "counting", "in"]);
    assert_eq!(shell.pipe(b"007\n", &["count", "--int", "f.gdn"]).quietly(), b"3\t007\n");
}
