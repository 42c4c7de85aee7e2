//! What a new user meets in the first hour: nothing is silently wrong, and messages say what to do.

use crate::common::{Shell, numbers};
use serde_json::Value;

#[test]
fn dedup_never_reports_more_lost_lines_than_dropped_ones() {
    let shell = Shell::new();
    let lines = numbers(0..100_000);
    for memory in ["1KiB", "10KiB", "30KiB", "60KiB", "100KiB", "1MiB"] {
        let run = shell.pipe(&lines, &["dedup", "--memory", memory, "--json"]);
        let report: Value = serde_json::from_str(run.err.lines().last().unwrap()).unwrap();
        let (dropped, fpp) = (report["dropped"].as_u64().unwrap(), report["fpp"].as_f64().unwrap());
        // All lines are distinct, so that whatever is dropped is lost.
        assert_eq!(dropped, 100_000 - run.out.iter().filter(|byte| **byte == b'\n').count() as u64);
        match report["lost"].as_f64() {
            None => {
                assert!(fpp > 0.5 && report["lost_high"].is_null(), "{memory}: {report}");
                let run = shell.pipe(&lines, &["dedup", "--memory", memory, "--stats"]);
                assert!(
                    run.err.contains("an unknown number of them lost: the filter is full"),
                    "{}",
                    run.err
                );
            }
            Some(lost) => {
                assert!(fpp <= 0.5 && lost <= dropped as f64, "{memory}: {report}");
                let (low, high) =
                    (report["lost_low"].as_u64().unwrap(), report["lost_high"].as_u64().unwrap());
                assert!(
                    low as f64 <= lost.ceil() && lost.floor() <= high as f64 && high <= dropped,
                    "{report}"
                );
                assert!(
                    (lost - dropped as f64).abs() <= 5.0 * lost.sqrt() + 0.05 * lost,
                    "{memory}: {report}"
                );
            }
        }
    }
}

#[test]
fn adding_to_a_filter_that_is_full_to_the_last_bit_warns() {
    let shell = Shell::new();
    shell.write("two", numbers(0..2));
    shell.write("many", numbers(0..100_000));
    shell.ok(&["build", "-q", "-o", "f.gdn", "two"]);
    let run = shell.run(&["add", "f.gdn", "many"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.err.contains("warning: f.gdn: all different keys are found in it, and 2 were planned"),
        "{}",
        run.err
    );
}

#[test]
fn merging_warns_only_where_the_rate_is_above_the_planned_one() {
    let shell = Shell::new();
    for (name, keys) in [("a", 0..1), ("b", 1..2), ("c", 0..1_000), ("d", 1_000..2_000)] {
        shell.write(name, numbers(keys));
        shell.ok(&["build", "-q", "-o", &format!("{name}.gdn"), name]);
    }
    let small = shell.run(&["merge", "-o", "ab.gdn", "a.gdn", "b.gdn"]);
    assert!(small.code == Some(0) && !small.err.contains("warning"), "{}", small.err);
    let large = shell.run(&["merge", "-o", "cd.gdn", "c.gdn", "d.gdn"]);
    assert!(large.err.contains("warning: each was planned for 1,000 keys"), "{}", large.err);
}

#[test]
fn quiet_is_quiet() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..10));
    shell.ok(&["build", "-q", "-o", "f.gdn", "lines"]);
    assert_eq!(shell.run(&["query", "-q", "-c", "f.gdn", "lines"]).quietly(), b"");
}

#[test]
fn a_text_in_the_place_of_the_filter_is_not_called_damaged() {
    let shell = Shell::new();
    for text in ["", "a\n", "rose\n", "rose\ntulip\nlily\n"] {
        shell.write("lines", text);
        for args in [&["query", "lines", "lines"][..], &["info", "lines"]] {
            let run = shell.run(args);
            let complaint = run.complaint();
            assert!(complaint.contains("lines: not a Gardenia filter"), "{args:?}: {complaint}");
            assert!(run.err.contains("hint: the filter comes first"), "{}", run.err);
            assert!(!run.err.contains("damaged"), "{}", run.err);
        }
    }
}
