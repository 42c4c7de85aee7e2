//! `gardenia improve`: keys that choose again.

use crate::common::{Shell, numbers};
use serde_json::Value;

/// A shell with an online filter of 10,000 numbers in 8 bits each.
fn shell(options: &[&str]) -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10_000));
    shell.write("absent", numbers(10_000..60_000));
    let build = ["build", "-q", "-o", "f.gdn", "--kind", "choice", "--bits", "80000", "--items", "10000"];
    let effort: &[&str] = if options.contains(&"--effort") { &[] } else { &["--effort", "online"] };
    shell.ok(&[&build[..], effort, options, &["keys"]].concat());
    shell
}

fn count(shell: &Shell, filter: &str, keys: &str) -> u64 {
    shell.run(&["query", "-c", filter, keys]).text().trim().parse().unwrap()
}

#[test]
fn rounds_lower_the_false_positives_of_the_same_bits() {
    for (options, more) in [
        (&[][..], &[][..]),
        (&["--choices", "3", "--hashes", "6"], &["--rounds", "5"]),
        (&["--scheme", "double", "--seed", "7"], &["--effort", "3"]),
    ] {
        let shell = shell(options);
        let before = shell.read("f.gdn");
        let run = shell.run(&[&["improve", "-o", "g.gdn"], more, &["f.gdn", "keys"]].concat());
        assert_eq!((run.code, &*run.out), (Some(0), &b""[..]), "{}", run.err);
        assert!(run.err.starts_with("g.gdn: 10,000 keys in "), "{}", run.err);
        assert!(run.err.contains(" before, ") && run.err.trim_end().ends_with(" after"), "{}", run.err);
        assert_eq!(shell.read("f.gdn"), before);
        let (old, new) = (shell.filter("f.gdn"), shell.filter("g.gdn"));
        assert_eq!(old.identity(), new.identity());
        assert_eq!(old.about().planned_items(), new.about().planned_items());
        assert_eq!(count(&shell, "g.gdn", "keys"), 10_000);
        // Both filters are asked for 50,000 absent keys: the gain is far beyond chance.
        let (was, is) = (count(&shell, "f.gdn", "absent") as f64, count(&shell, "g.gdn", "absent") as f64);
        assert!(was - is > 5.0 * (was + is).sqrt(), "{was} before, {is} after");
        let about = [(old.fpp(), was), (new.fpp(), is)];
        assert!(
            about.iter().all(|(fpp, found)| (fpp * 50e3 - found).abs() < 5.0 * found.sqrt()),
            "{about:?}"
        );
    }
}

#[test]
fn it_is_the_filter_that_rounds_would_have_built() {
    let shell = shell(&[]);
    shell.ok(&["improve", "-q", "f.gdn", "keys"]);
    // The order of the keys does not matter, nor that one comes twice.
    let reversed: Vec<u8> =
        (0..10_000).rev().chain([7]).flat_map(|key| format!("{key}\n").into_bytes()).collect();
    let build = [
        "build",
        "-q",
        "-o",
        "online.gdn",
        "--kind",
        "choice",
        "--effort",
        "online",
        "--bits",
        "80000",
        "--items",
        "10000",
        "keys",
    ];
    shell.ok(&build);
    let again = shell.pipe(&reversed, &["improve", "-q", "-o", "again.gdn", "online.gdn"]);
    again.quietly();
    assert_eq!(shell.read("again.gdn"), shell.read("f.gdn"));
}

#[test]
fn what_is_as_good_already_is_left_alone() {
    let shell = shell(&["--effort", "3", "--choices", "4"]);
    let before = shell.read("f.gdn");
    let run = shell.run(&["improve", "--rounds", "1", "f.gdn", "keys"]);
    assert_eq!((run.code, &*run.err), (Some(1), "f.gdn: no improvement found; nothing is written\n"));
    assert_eq!(shell.read("f.gdn"), before);
    let run = shell.run(&["improve", "--rounds", "1", "--json", "-o", "g.gdn", "f.gdn", "keys"]);
    let json: Value = serde_json::from_str(run.text()).unwrap();
    assert_eq!((run.code, json["output"].is_null(), shell.path("g.gdn").exists()), (Some(1), true, false));
}

#[test]
fn the_fields_of_the_json_form_stay() {
    let shell = shell(&[]);
    let run = shell.run(&["improve", "--json", "-o", "g.gdn", "f.gdn", "keys"]);
    let json: Value = serde_json::from_slice(&run.quietly()).unwrap();
    let mut fields: Vec<&String> = json.as_object().unwrap().keys().collect();
    fields.sort();
    let expected = [
        "bits",
        "choices",
        "fill_after",
        "fill_before",
        "filter",
        "fpp_after",
        "fpp_before",
        "hashes",
        "keys",
        "output",
        "rounds",
    ];
    assert_eq!(fields, expected);
    assert_eq!((&json["keys"], &json["bits"]), (&10_000.into(), &80_000.into()));
    assert!(json["fpp_after"].as_f64() < json["fpp_before"].as_f64());
    assert_eq!(json["fpp_after"].as_f64(), Some(shell.filter("g.gdn").fpp()));
}

#[test]
fn other_keys_than_those_that_went_in_are_an_error() {
    let shell = shell(&[]);
    let before = shell.read("f.gdn");
    shell.write("few", numbers(0..9_000));
    let lost = shell.run(&["improve", "f.gdn", "few"]);
    assert!(
        lost.complaint().starts_with("gardenia: f.gdn: 9,000 distinct keys were given, and "),
        "{}",
        lost.err
    );
    assert!(lost.err.contains("hint: give all files of its keys"));
    let others = shell.run(&["improve", "f.gdn", "absent"]);
    assert!(
        others.complaint().ends_with(" of 50,000 keys were never added: these are not its keys"),
        "{}",
        others.err
    );
    shell.write("more", numbers(10_000..10_500));
    let more = shell.run(&["improve", "f.gdn", "keys", "more"]);
    assert!(
        more.complaint().contains(" of 10,500 keys were never added") && more.err.contains("gardenia add")
    );
    assert_eq!(shell.read("f.gdn"), before);
    shell.ok(&["add", "-q", "f.gdn", "more"]);
    shell.ok(&["improve", "-q", "f.gdn", "keys", "more"]);
    assert_eq!((count(&shell, "f.gdn", "keys"), count(&shell, "f.gdn", "more")), (10_000, 500));
}

#[test]
fn wrong_kinds_and_files_are_errors_and_leave_all_as_it_is() {
    let shell = shell(&[]);
    let before = shell.read("f.gdn");
    shell.ok(&["build", "-q", "-o", "bloom.gdn", "--kind", "bloom", "keys"]);
    shell.ok(&["build", "-q", "-o", "parts.gdn", "--kind", "choice", "--effort", "2", "keys"]);
    shell.write("short.gdn", &before[..before.len() - 1]);
    for (args, reason, hint) in [
        (&["bloom.gdn", "keys"][..], "bloom.gdn: a filter of kind bloom has no choices", "--kind choice"),
        (&["short.gdn", "keys"], "short.gdn: truncated", "corrupted"),
        (&["missing.gdn", "keys"], "missing.gdn: No such file", ""),
        (&[".", "keys"], ".: ", ""),
        (&["f.gdn", "missing"], "missing: No such file", ""),
        (&["f.gdn", "."], ".: Is a directory", ""),
        (&["--effort", "2", "f.gdn", "keys"], "1 (rounds) or 3 (propagation) is expected", ""),
        (&["--rounds", "0", "f.gdn", "keys"], "--rounds 0 leaves the filter as it is", "1 or more"),
        (&["--json", "-o", "-", "f.gdn", "keys"], "cannot both go to stdout", "-o FILE"),
        (&["-o", "bloom.gdn", "f.gdn", "keys"], "bloom.gdn: already exists", "--force"),
        (&["-o", "keys", "--force", "f.gdn", "keys"], "keys: is one of the inputs", "change -o"),
        (&["-", "keys"], "a filter from a pipe cannot be changed in place", "-o OUT"),
        (&["-o", "g.gdn", "-"], "cannot both come from stdin", ""),
    ] {
        let run = shell.run(&[&["improve"], args].concat());
        assert!(run.complaint().contains(reason), "{args:?}: {}", run.err);
        assert!(run.err.contains(hint), "{args:?}: {}", run.err);
    }
    assert_eq!(shell.read("f.gdn"), before);
}

#[test]
fn keys_that_were_placed_together_have_nothing_to_improve() {
    let shell = shell(&[]);
    shell.ok(&["build", "-q", "-o", "parts.gdn", "--kind", "choice", "keys"]);
    let before = shell.read("parts.gdn");
    let run = shell.run(&["improve", "parts.gdn", "keys"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.err, "parts.gdn: its keys were placed together already; nothing is written\n");
    let run = shell.run(&["improve", "--json", "parts.gdn", "keys"]);
    let report: serde_json::Value = serde_json::from_slice(&run.out).unwrap();
    assert_eq!(
        (run.code, &report["output"], &report["rounds"]),
        (Some(1), &serde_json::Value::Null, &0.into())
    );
    assert_eq!(shell.read("parts.gdn"), before);
}

#[test]
fn a_keyed_filter_keeps_its_secret() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..2_000));
    shell.write("secret", "000102030405060708090a0b0c0d0e0f\n");
    let build = [
        "build",
        "-q",
        "-o",
        "f.gdn",
        "--kind",
        "choice",
        "--effort",
        "online",
        "--secret-file",
        "secret",
        "--store-secret",
        "keys",
    ];
    shell.ok(&build);
    shell.ok(&["improve", "-q", "f.gdn", "keys"]);
    assert!(shell.filter("f.gdn").about().stores_secret());
    assert_eq!(count(&shell, "f.gdn", "keys"), 2_000);
}
