//! `gardenia diff`: what two filters have in common.

use crate::common::{Shell, numbers};
use serde_json::Value;

/// A shell with `a.gdn` of 0..20000, `b.gdn` of 15000..30000 and `c.gdn` of 50000..60000.
fn shell(options: &[&str]) -> Shell {
    let shell = Shell::new();
    for (name, range) in [("a", 0..20_000), ("b", 15_000..30_000), ("c", 50_000..60_000)] {
        shell.write(name, numbers(range));
        let out = format!("{name}.gdn");
        shell.ok(&[&["build", "-q", "-o", &out, "--items", "40000"], options, &[name]].concat());
    }
    shell
}

fn json(shell: &Shell, a: &str, b: &str) -> Value {
    serde_json::from_slice(&shell.run(&["diff", "--json", a, b]).quietly()).unwrap()
}

#[test]
fn estimates_are_within_their_errors() {
    for options in [
        &["--kind", "bloom"][..],
        &["--kind", "blocked"],
        &["--kind", "compressed"],
        &["--kind", "counting"],
        &["--kind", "spectral-ms"],
    ] {
        let shell = shell(options);
        for (b, truth) in [
            ("b.gdn", [20e3, 15e3, 5e3, 15e3, 10e3, 5.0 / 30.0]),
            ("c.gdn", [20e3, 10e3, 0.0, 20e3, 10e3, 0.0]),
        ] {
            let told = json(&shell, "a.gdn", b);
            let fields = ["items_a", "items_b", "common", "only_a", "only_b", "jaccard"];
            for (field, truth) in fields.into_iter().zip(truth) {
                let (value, error) =
                    (told[field].as_f64().unwrap(), told[format!("{field}_std_error")].as_f64().unwrap());
                assert!((value - truth).abs() < 5.0 * error, "{options:?} {field}: {value} ± {error}");
                assert!(error > 0.0 && error < 0.02 * truth.max(if field == "jaccard" { 1.0 } else { 10e3 }));
            }
            assert!((told["union"].as_f64().unwrap() - truth[3] - truth[1]).abs() < 500.0);
        }
    }
}

#[test]
fn the_same_file_has_all_in_common() {
    let shell = shell(&["--kind", "bloom"]);
    let told = json(&shell, "a.gdn", "a.gdn");
    assert!((told["jaccard"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert_eq!((told["only_a"].as_f64(), told["only_b"].as_f64()), (Some(0.0), Some(0.0)));
    assert_eq!(told["common"], told["items_a"]);
}

#[test]
fn the_fields_of_the_json_form_stay() {
    let shell = shell(&["--kind", "bloom"]);
    let told = json(&shell, "a.gdn", "b.gdn");
    let mut fields: Vec<&String> = told.as_object().unwrap().keys().collect();
    fields.sort();
    let expected = [
        "a",
        "b",
        "common",
        "common_std_error",
        "items_a",
        "items_a_std_error",
        "items_b",
        "items_b_std_error",
        "jaccard",
        "jaccard_std_error",
        "kind",
        "only_a",
        "only_a_std_error",
        "only_b",
        "only_b_std_error",
        "union",
    ];
    assert_eq!(fields, expected);
    assert_eq!((&told["a"], &told["b"], &told["kind"]), (&"a.gdn".into(), &"b.gdn".into(), &"bloom".into()));
}

#[test]
fn people_are_told_in_words() {
    let shell = shell(&["--kind", "blocked"]);
    let run = shell.run(&["diff", "a.gdn", "b.gdn"]);
    let text = run.text();
    assert!(text.starts_with("a.gdn (A) and b.gdn (B)\n  A               about "), "{text}");
    let words: Vec<&str> = text.lines().skip(1).map(|line| line[2..18].trim()).collect();
    assert_eq!(words, ["A", "B", "both", "A alone", "B alone", "Jaccard"]);
    assert!(text.lines().last().unwrap().ends_with("of all keys are in both"), "{text}");
}

#[test]
fn full_and_empty_filters_are_told_so() {
    let shell = Shell::new();
    shell.write("none", "");
    shell.write("many", numbers(0..20_000));
    for (out, keys) in [("empty.gdn", "none"), ("full.gdn", "many")] {
        shell.ok(&["build", "-q", "-o", out, "--kind", "bloom", "--bits", "1000", "--hashes", "3", keys]);
    }
    let told = json(&shell, "empty.gdn", "empty.gdn");
    assert_eq!((told["common"].as_f64(), told["jaccard"].is_null()), (Some(0.0), true));
    assert!(!shell.run(&["diff", "empty.gdn", "empty.gdn"]).text().contains("Jaccard"));
    let told = json(&shell, "full.gdn", "empty.gdn");
    assert!(told["items_a"].is_null() && told["common"].is_null() && told["jaccard"].is_null());
    assert!(shell.run(&["diff", "full.gdn", "empty.gdn"]).text().contains("unknown: a filter is full"));
}

#[test]
fn unlike_filters_and_other_files_are_errors() {
    let shell = shell(&["--kind", "bloom"]);
    shell.ok(&["build", "-q", "-o", "seed.gdn", "--kind", "bloom", "--items", "40000", "--seed", "1", "a"]);
    shell.ok(&["build", "-q", "-o", "a2.gdn", "--kind", "a2", "--items", "40000", "a"]);
    shell.ok(&["build", "-q", "-o", "choice.gdn", "--kind", "choice", "--items", "40000", "a"]);
    let whole = shell.read("b.gdn");
    shell.write("short.gdn", &whole[..whole.len() / 2]);
    for (a, b, reason) in [
        ("a.gdn", "seed.gdn", "seed.gdn and a.gdn have different seeds"),
        ("a2.gdn", "a2.gdn", "a2.gdn: a filter of kind a2 cannot estimate it"),
        ("choice.gdn", "choice.gdn", "choice.gdn: a filter of kind choice cannot estimate it"),
        ("a.gdn", "missing.gdn", "missing.gdn: No such file"),
        ("short.gdn", "a.gdn", "short.gdn: truncated"),
        ("a.gdn", "a", "a: not a Gardenia filter"),
        ("a.gdn", ".", ".: "),
        ("-", "-", "only one filter can come from stdin"),
    ] {
        let run = shell.run(&["diff", a, b]);
        assert!(run.complaint().starts_with(&format!("gardenia: {reason}")), "{}", run.err);
    }
    // Keys that were made in another way are not in common, whatever the cells say.
    let options = ["--kind", "bloom", "--items", "40000", "-i"];
    shell.ok(&[&["build", "-q", "-o", "case.gdn"], &options[..], &["a"]].concat());
    let run = shell.run(&["diff", "a.gdn", "case.gdn"]);
    let reason = "gardenia: case.gdn: was built with --ignore-case, and a.gdn with whole lines";
    assert!(run.complaint().starts_with(reason), "{}", run.err);
    let piped = shell.pipe(&shell.read("a.gdn"), &["diff", "--json", "-", "b.gdn"]);
    let told: Value = serde_json::from_slice(&piped.quietly()).unwrap();
    assert_eq!(told["a"], "(stdin)");
}
