//! Filters with choices from the command line, at every effort.

use crate::common::{Shell, numbers};
use gardenia::AnyFilter;
use gardenia::filter::ChoiceForm;

fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10_000));
    shell.write("absent", numbers(10_000..30_000));
    shell
}

/// Builds with `args` and gives the filter.
fn build(shell: &Shell, args: &[&str]) -> AnyFilter {
    shell.ok(&[&["build", "--force", "-o", "f.gdn", "--kind", "choice"], args, &["keys"]].concat());
    shell.filter("f.gdn")
}

/// How many lines of a file the filter finds.
fn found(shell: &Shell, keys: &str) -> u64 {
    let run = shell.run(&["query", "-c", "f.gdn", keys]);
    assert!(run.code == Some(0) || run.code == Some(1), "{}", run.err);
    run.text().trim().parse().unwrap()
}

#[test]
fn every_effort_builds_a_filter_that_keeps_its_rate_and_more_effort_a_smaller_one() {
    let shell = shell();
    let mut bits = Vec::new();
    for effort in ["0", "1", "2", "3"] {
        let filter = build(&shell, &["--effort", effort, "--fpp", "0.01"]);
        assert_eq!(found(&shell, "keys"), 10_000);
        // Five standard errors above what was asked for.
        let (wrong, most) = (found(&shell, "absent"), 200.0 + 5.0 * 200f64.sqrt());
        assert!(wrong > 0 && (wrong as f64) < most, "effort {effort}: {wrong} of 20,000");
        assert_eq!((filter.about().planned_items(), filter.about().planned_fpp() <= 0.01), (10_000, true));
        bits.push(filter.identity().cells);

        let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
        let form = if effort == "2" { "each with one of 256 hash sets" } else { "2 groups of bits per key" };
        assert!(info.contains("choice") && info.contains(form), "{info}");

        // Keys can still be added, whatever was chosen before.
        shell.write("more", numbers(50_000..50_100));
        shell.ok(&["add", "f.gdn", "more"]);
        assert_eq!((found(&shell, "keys"), found(&shell, "more")), (10_000, 100));
    }
    assert!(bits[1] < bits[0] && bits[3] < bits[1] && bits[2] < bits[3], "{bits:?}");
}

#[test]
fn choices_are_groups_except_for_partitions() {
    let shell = shell();
    for (args, choices) in
        [(&["--choices", "5"][..], 5), (&["--choices", "32", "--effort", "1"], 32), (&["--effort", "0"], 2)]
    {
        let AnyFilter::Choice(filter) = build(&shell, args) else { panic!("another kind") };
        assert_eq!(filter.form(), ChoiceForm::Groups { choices });
    }
    // Without a word, by the effort that gains something.
    for args in [&["--effort", "2"][..], &[]] {
        let AnyFilter::Choice(filter) = build(&shell, args) else { panic!() };
        assert!(matches!(filter.form(), ChoiceForm::Partitions { .. }));
    }
    let run =
        shell.run(&["build", "-o", "g.gdn", "--kind", "choice", "--choices", "3", "--effort", "2", "keys"]);
    assert!(run.complaint().contains("--effort and --choices are both given"), "{}", run.err);
}

#[test]
fn what_comes_out_depends_on_the_keys_alone() {
    let shell = shell();
    for effort in ["1", "2", "3"] {
        let args = ["build", "-q", "--kind", "choice", "--effort", effort];
        let first = shell.run(&[&args[..], &["keys"]].concat()).quietly();
        assert_eq!(shell.pipe(&numbers(0..10_000), &args).quietly(), first);
        assert!(AnyFilter::from_bytes(&first).is_ok());
    }
}

#[test]
fn empty_lists_one_key_and_repeats_are_no_trouble() {
    let shell = shell();
    for effort in ["0", "1", "2", "3"] {
        for (keys, count) in [("", 0), ("rose\n", 1), (&*"rose\n".repeat(1000), 1000)] {
            let filter =
                shell.pipe(keys.as_bytes(), &["build", "-q", "--kind", "choice", "--effort", effort]);
            shell.write("f.gdn", filter.quietly());
            shell.write("few", keys);
            assert_eq!(found(&shell, "few"), count);
            let filter = shell.filter("f.gdn");
            assert!(!filter.contains("thistle"));
        }
    }
}

#[test]
fn wishes_that_cannot_be_say_what_to_change() {
    let shell = shell();
    for (args, parts) in [
        (&["--choices", "1"][..], &["--choices is \"1\"", "between 2 and 32"][..]),
        (&["--choices", "0"], &["\"0\"", "--choices", "between 2 and 32"]),
        (&["--choices", "33"], &["\"33\"", "--choices", "between 2 and 32"]),
        (&["--choices", "-2"], &["\"-2\"", "--choices"]),
        (&["--choices", "two"], &["\"two\"", "--choices"]),
        (&["--effort", "4"], &["\"4\"", "--effort", "online, rounds, partitioned, propagated"]),
        (&["--effort", "-1"], &["\"-1\"", "--effort"]),
        (&["--effort", "2", "--scheme", "partition"], &["scheme"]),
        (&["--effort", "1", "--fpp", "0.01", "--bits", "1M"], &["--bits and --fpp", "leave out one"]),
        (&["--width", "4"], &["kind choice", "--width"]),
    ] {
        let run = shell.run(&[&["build", "-o", "g.gdn", "--kind", "choice"], args, &["keys"]].concat());
        run.complaint();
        assert!(parts.iter().all(|part| run.err.contains(part)), "{args:?}: {}", run.err);
        assert!(!shell.path("g.gdn").exists());
    }
    for option in ["--choices", "--effort"] {
        let run = shell.run(&["build", "-o", "g.gdn", "--kind", "bloom", option, "2", "keys"]);
        assert!(run.complaint().contains(&format!("kind bloom has no {option}")), "{}", run.err);
        assert!(run.err.contains("such as choice"), "{}", run.err);
    }
    // Nothing can be counted or removed.
    build(&shell, &[]);
    for verb in ["count", "remove"] {
        let run = shell.run(&[verb, "f.gdn", "keys"]);
        assert!(run.complaint().contains("choice"), "{}", run.err);
    }
}

#[test]
fn schemes_that_take_sums_state_the_rate_that_queries_find() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10_000));
    shell.write("absent", numbers(10_000..310_000));
    let shape = ["--bits", "160000", "--items", "10000", "--hashes", "18"];
    for (scheme, size) in [
        ("enhanced-cube", &shape[..]),
        ("double", &shape),
        ("triple", &["--items", "10000", "--fpp", "2e-4"]),
    ] {
        let args = [&["--scheme", scheme, "--choices", "8", "--effort", "3"], size].concat();
        let filter = build(&shell, &args);
        assert_eq!(found(&shell, "keys"), 10_000);
        let (found, told) = (found(&shell, "absent") as f64, filter.fpp() * 300e3);
        assert!((found - told).abs() < 5.0 * told.sqrt(), "{scheme}: {found} found, {told} stated");
        let planned = filter.about().planned_fpp() * 300e3;
        assert!(found < planned + 5.0 * planned.sqrt(), "{scheme}: {found} found, {planned} planned");
        let info = String::from_utf8(shell.ok(&["info", "--json", "f.gdn"])).unwrap();
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        assert_eq!(info["fpp"].as_f64(), Some(filter.fpp()), "{info}");
    }
    let run = shell.run(&["build", "--kind", "choice", "--effort", "2", "--scheme", "double", "keys"]);
    assert!(run.complaint().contains("use the scheme fractional or independent"), "{}", run.err);
}
