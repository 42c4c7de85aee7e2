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
    let warning =
        "warning: f.gdn: the filter is full, and reports every key as present; it was planned for 2 keys";
    assert!(run.err.contains(warning), "{}", run.err);
    assert!(run.err.contains("hint: build it again with a larger --items"), "{}", run.err);
    // Overfull, and not quite full.
    shell.write("some", numbers(0..40));
    shell.ok(&["build", "-q", "--force", "-o", "f.gdn", "two"]);
    let run = shell.run(&["add", "f.gdn", "some"]);
    assert!(run.err.contains("warning: f.gdn: the filter holds about "), "{}", run.err);
    assert!(run.err.contains("; it was planned for 2 keys"), "{}", run.err);
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
            assert!(!run.err.contains("corrupted") && !run.err.contains("damaged"), "{}", run.err);
        }
    }
}

#[test]
fn filters_are_sized_by_distinct_lines_and_keep_the_rate_that_was_asked_for() {
    let shell = Shell::new();
    let lines = numbers(0..5_000).repeat(8);
    shell.write("lines", &lines);
    shell.write("absent", numbers(1_000_000..1_200_000));
    for kind in ["blocked", "bloom", "counting", "spectral-mi", "compressed", "choice"] {
        shell.ok(&["build", "-q", "--force", "-k", kind, "-n", "5000", "-o", "exact.gdn", "lines"]);
        shell.ok(&["build", "-q", "--force", "-k", kind, "-o", "file.gdn", "lines"]);
        let piped = shell.pipe(&lines, &["build", "-q", "--force", "-k", kind, "-o", "pipe.gdn"]);
        assert_eq!(piped.code, Some(0), "{}", piped.err);
        let exact = shell.filter("exact.gdn");
        for name in ["file.gdn", "pipe.gdn"] {
            let filter = shell.filter(name);
            assert_eq!(filter.about().planned_items(), 5_000, "{kind} of a {name}");
            assert_eq!(filter.memory_bytes(), exact.memory_bytes(), "{kind} of a {name}");
        }
        let found = shell.run(&["query", "-c", "file.gdn", "absent"]);
        let found: f64 = found.text().trim().parse().unwrap();
        assert!(found <= 2_000.0 + 5.0 * 2_000f64.sqrt(), "{kind}: {found} of 200,000");
    }
    // Where each copy takes room, and where others age by it, all lines count.
    shell.write("copies", numbers(0..5_000).repeat(3));
    for kind in ["cuckoo", "quotient", "a2"] {
        shell.ok(&["build", "-q", "--force", "-k", kind, "-o", "f.gdn", "copies"]);
        assert!(shell.filter("f.gdn").about().planned_items() >= 15_000, "{kind}");
    }
    // Too many to sort: estimated, and never below.
    shell.write("many", numbers(0..100_000).repeat(3));
    shell.ok(&["build", "-q", "--force", "-o", "f.gdn", "many"]);
    let planned = shell.filter("f.gdn").about().planned_items();
    assert!((100_000..100_600).contains(&planned), "{planned}");
}

#[test]
fn two_keys_are_not_mistaken_for_others() {
    let shell = Shell::new();
    shell.write("two", "a@example.org\nb@example.org\n");
    shell.write("users", numbers(0..100_000));
    shell.ok(&["build", "-q", "-o", "f.gdn", "two"]);
    assert_eq!(shell.run(&["query", "-c", "f.gdn", "users"]).text(), "0\n");
}

#[test]
fn choosing_keys_take_less_room_than_those_that_cannot() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..20_000));
    let size = |kind: &str| {
        shell.ok(&["build", "-q", "--force", "-k", kind, "-o", "f.gdn", "lines"]);
        (shell.filter("f.gdn").memory_bytes() as f64, shell.filter("f.gdn").fpp())
    };
    let (choice, bloom) = (size("choice"), size("bloom"));
    assert!(choice.0 < 0.9 * bloom.0 && choice.1 < 1.05 * 0.01, "{choice:?} {bloom:?}");
}

#[test]
fn a_rate_that_a_kind_does_not_have_is_refused_in_its_own_terms() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..10));
    let run = shell.run(&["build", "-k", "fuse", "--fpp", "1e-12", "-o", "f.gdn", "lines"]);
    let complaint = run.complaint();
    assert!(
        complaint.contains("1e-12 is below 2.3e-10, the lowest rate of this kind of filter"),
        "{complaint}"
    );
    assert!(run.err.contains("hint: raise --fpp, or choose another kind"), "{}", run.err);
    let run = shell.run(&["build", "-k", "bloom", "--fpp", "1e-20", "-n", "1000", "-o", "f.gdn", "lines"]);
    assert!(run.complaint().contains("the floor of 64-bit digests for 1000 items"), "{}", run.err);
}

#[test]
fn metadata_is_set_shown_as_it_is_and_kept() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..10));
    let text = r#"{"feed": "it's 2026\\11"}"#;
    shell.ok(&["build", "-q", "--meta", text, "-n", "100", "-o", "f.gdn", "lines"]);
    assert_eq!(shell.filter("f.gdn").about().metadata(), text.as_bytes());
    shell.pipe(b"more\n", &["add", "-q", "f.gdn"]).quietly();
    let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
    assert!(info.contains(&format!("  metadata        {text}\n")), "{info}");
    let long = "x".repeat(70_000);
    assert!(shell.run(&["build", "--meta", &long, "-o", "g.gdn", "lines"]).complaint().contains("metadata"));
}

#[test]
fn filters_of_several_machines_are_built_from_one_spec() {
    let shell = Shell::new();
    shell.write("spec.txt", "bloom items=1k fpp=0.1% seed=7\n");
    for name in ["a", "b"] {
        shell.write(name, format!("{name}\n"));
        shell.ok(&["build", "-q", "--spec", "spec.txt", "-o", &format!("{name}.gdn"), name]);
    }
    shell.ok(&["merge", "-q", "-o", "both.gdn", "a.gdn", "b.gdn"]);
    shell.write("both", "a\nb\nc\n");
    assert_eq!(shell.run(&["query", "both.gdn", "both"]).text(), "a\nb\n");
    // What `info` says of a filter builds another like it.
    let info: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "a.gdn"])).unwrap();
    shell.write("spec.txt", info["spec"].as_str().unwrap());
    shell.ok(&["build", "-q", "--spec", "spec.txt", "-o", "c.gdn", "both"]);
    shell.ok(&["merge", "-q", "-o", "all.gdn", "a.gdn", "c.gdn"]);
    shell.write("spec.txt", "bloom roses=7");
    assert!(
        shell.run(&["build", "--spec", "spec.txt", "-o", "d.gdn", "a"]).complaint().contains("spec.txt: ")
    );
    assert!(
        shell.run(&["build", "--spec", "spec.txt", "--kind", "bloom", "a"]).complaint().contains("--kind")
    );
}

#[test]
fn a_plan_for_memory_ranks_by_the_rate_and_its_commands_are_short() {
    let shell = Shell::new();
    let plan = |args: &[&str]| -> Value {
        let mut command = shell.command(&[&["plan", "--json"], args].concat());
        serde_json::from_slice(&command.env("XDG_DATA_HOME", shell.path("")).output().unwrap().stdout)
            .unwrap()
    };
    for need in [&["-n", "1M", "-m", "2MB"][..], &["-n", "1e9", "-m", "1GiB", "--fixed"]] {
        let designs = plan(need);
        let rates: Vec<f64> = designs["designs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|design| design["fpp"].as_f64().unwrap())
            .collect();
        assert!(rates.is_sorted() && rates.len() > 2, "{need:?}: {rates:?}");
    }
    for need in [
        &["-n", "900M", "-p", "1e-6", "--fixed"][..],
        &["-n", "10M", "-p", "0.1%", "--remove"],
        &["-n", "1M", "-m", "2MB"],
        &["-n", "1M", "--count", "1000"],
    ] {
        for design in plan(need)["designs"].as_array().unwrap() {
            let command = design["command"].as_str().unwrap();
            let long = |word: &str| word.chars().filter(char::is_ascii_digit).count() > 12;
            assert!(!command.split(' ').any(long), "{command}");
            assert!(command.contains("--items") || command.contains("--columns"), "{command}");
        }
    }
    // Few keys: the bound is one that filters reach.
    let few = plan(&["-n", "100"]);
    for design in few["designs"].as_array().unwrap() {
        assert!(design["bound"].as_f64().unwrap() < 0.025, "{design}");
    }
    let open = shell.run(&["plan", "-p", "1%", "--no-plot", "-q"]);
    assert!(
        open.text().starts_with("any number of keys (sizes are those for 1,000,000), 1% false positives"),
        "{}",
        open.text()
    );
}

#[test]
fn messages_name_what_the_user_named() {
    let shell = Shell::new();
    shell.write("lines", numbers(0..10));
    // Two usages are not joined.
    let run = shell.run(&["query", "--zzz", "f.gdn"]);
    assert_eq!(run.err.matches("gardenia query").count(), 1, "{}", run.err);
    // A tiny rate is not nothing, and a tiny number not exact.
    let run = shell.run(&["build", "-m", "1MiB", "-o", "f.gdn", "lines"]);
    assert!(!run.err.contains("positives 0%"), "{}", run.err);
    assert!(!shell.run(&["info", "f.gdn"]).text().contains("positives 0%"));
    // The help of a kind says what its options mean.
    let kind = shell.run(&["kinds", "choice"]);
    assert!(
        kind.text().contains("--effort online|rounds|partitioned|propagated\n      How hard keys choose"),
        "{}",
        kind.text()
    );
    assert!(shell.run(&["kinds", "roses"]).complaint().contains("no kind \"roses\""));
    assert_eq!(shell.run(&["help", "kinds", "choice"]).quietly(), kind.out);
    // Only options that were given are named.
    let run = shell.run(&["build", "--bits", "1MiB", "--memory", "1MiB", "-o", "g.gdn", "lines"]);
    assert!(run.code == Some(2) && !run.err.contains("--cells"), "{}", run.err);
    // A label of jq is a path.
    let run = shell.pipe(b"{\"a\": {\"b\": \"7\"}}\n", &["query", "--json-key", ".a.b", "f.gdn"]);
    assert_eq!(run.quietly(), b"{\"a\": {\"b\": \"7\"}}\n");
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_named_without_a_temporary_file() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new();
    shell.write("lines", numbers(0..10));
    std::fs::create_dir(shell.path("ro")).unwrap();
    std::fs::set_permissions(shell.path("ro"), std::fs::Permissions::from_mode(0o555)).unwrap();
    let run = shell.run(&["build", "-q", "-o", "ro/x.gdn", "lines"]);
    // Root may write everywhere.
    if run.code == Some(2) {
        assert!(run.err.starts_with("gardenia: ro/x.gdn: ") && !run.err.contains(".tmp"), "{}", run.err);
    }
    let run = shell.run(&["build", "-q", "-o", "/proc/x.gdn", "lines"]);
    assert!(
        run.complaint().starts_with("gardenia: /proc/x.gdn: ") && !run.err.contains(".tmp"),
        "{}",
        run.err
    );
}

#[test]
fn a_plan_of_values_asks_for_the_number_of_keys() {
    let shell = Shell::new();
    let run = shell.run(&["plan", "-q", "--values", "4"]);
    assert_eq!(run.complaint(), "gardenia: --values needs the number of keys");
    assert!(run.err.contains("hint: add -n N, or --sample FILE"), "{}", run.err);
    let plan = shell.run(&["plan", "-q", "--no-plot", "--values", "4", "-n", "1000"]);
    assert!(plan.code == Some(0) && plan.text().contains("gardenia build --kind bloomier"), "{}", plan.err);
}

#[cfg(unix)]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let shell = Shell::new();
    if crate::common::has("/dev/full") {
        for args in [&["--help"][..], &["query", "-h"], &["--version"]] {
            let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let output = shell.command(args).stdout(full).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?}");
        }
    }
}

#[test]
fn a_state_that_cannot_be_begun_leaves_no_file() {
    let shell = Shell::new();
    let run = shell.run(&["dedup", "--state", "s.gdn", "--fpp", "2", "missing"]);
    assert_eq!(run.code, Some(2));
    assert!(!shell.path("s.gdn").exists());
}

/// What the help, the README and the cookbook promise.
#[test]
fn dedup_takes_four_to_twelve_bytes_per_distinct_line() {
    let shell = Shell::new();
    for lines in [100_000, 130_000, 270_000] {
        let input = numbers(0..lines).repeat(2);
        shell.write("lines", &input);
        for run in [shell.pipe(&input, &["dedup", "--json"]), shell.run(&["dedup", "--json", "lines"])] {
            let report: Value = serde_json::from_str(&run.err).unwrap();
            let bytes = report["memory_bytes"].as_f64().unwrap() / lines as f64;
            assert!((3.5..12.0).contains(&bytes), "{lines}: {bytes}");
        }
    }
}
