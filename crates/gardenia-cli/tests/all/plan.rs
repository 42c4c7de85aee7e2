//! `gardenia plan`, and `gardenia bench --calibrate` that it reads.

use crate::common::{Run, Shell, numbers};
use gardenia::AnyFilter;
use gardenia::plan::Calibration;
use serde_json::Value;

/// A shell whose folder for data is its own, so that no calibration of this machine is read.
struct Planner(Shell);

impl Planner {
    fn new() -> Self {
        Self(Shell::new())
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = self.0.command(args);
        command.env("XDG_DATA_HOME", self.0.path("data"));
        let output = command.output().expect("gardenia starts");
        let err = String::from_utf8(output.stderr).expect("messages are UTF-8");
        Run { code: output.status.code(), out: output.stdout, err }
    }

    fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[&["plan", "--json"], args].concat());
        assert_eq!(run.text().lines().count(), 1, "{}", run.err);
        serde_json::from_slice(&run.out).unwrap()
    }
}

fn kinds(plan: &Value) -> Vec<&str> {
    plan["designs"].as_array().unwrap().iter().map(|design| design["kind"].as_str().unwrap()).collect()
}

#[test]
fn a_need_is_answered_by_a_table_and_a_plot() {
    let planner = Planner::new();
    let run = planner.run(&["plan", "--items", "10M", "--fpp", "0.1%", "--remove", "--memory", "20MiB"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let text = run.text();
    assert!(text.starts_with("10,000,000 keys, 0.1% false positives, in 21 MB, remove\n"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[2]), ["kind", "bits/key", "memory", "rate", "at", "most", "lines", "ns"]);
    assert_eq!(words(lines[4])[..2], ["1", "cuckoo"]);
    assert!(lines[5].contains("keys come out again"), "{text}");
    assert!(
        lines[6].starts_with("   gardenia build --kind cuckoo --items 10M --fpp 0.1% -o OUT.gdn KEYS"),
        "{text}"
    );
    assert!(text.contains("bits per key") && text.contains('│') && text.contains('·'), "{text}");
    assert_eq!(
        run.err,
        "times (queries in batches) were measured on a reference machine; run `gardenia bench --calibrate` to measure yours\n"
    );
    // No plot and no remark if they are not wanted.
    let plain = planner.run(&["plan", "-n", "1e7", "-p", "1/1000", "--no-plot", "--quiet"]).quietly();
    let plain = String::from_utf8(plain).unwrap();
    assert!(plain.starts_with("10,000,000 keys, 0.1% false positives\n") && !plain.contains('│'), "{plain}");
}

#[test]
fn json_is_one_object_with_these_fields() {
    let planner = Planner::new();
    let plan =
        planner.json(&["-n", "1000", "-p", "1%", "--fixed", "--present", "25%", "--confidence", "99%"]);
    let fields = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(fields(&plan), ["calibration", "designs", "impossible", "need", "sample"]);
    assert_eq!(fields(&plan["need"]), ["abilities", "fpp", "items", "memory", "present"]);
    assert!(plan["need"]["items"] == 1000 && plan["need"]["present"] == 0.25, "{plan}");
    assert_eq!(plan["need"]["abilities"].as_array().unwrap(), &["fixed"]);
    assert!(plan["calibration"].is_null() && plan["impossible"].is_null() && plan["sample"].is_null());
    for design in plan["designs"].as_array().unwrap() {
        assert_eq!(
            fields(design),
            [
                "bits_per_key",
                "bound",
                "bytes",
                "command",
                "confidence",
                "count_above",
                "file_bytes",
                "fpp",
                "items",
                "kind",
                "lines",
                "ns",
                "why"
            ]
        );
        let number = |field: &str| design[field].as_f64().unwrap();
        assert!(number("fpp") <= 0.01 * (1.0 + 1e-9) && number("bound") >= number("fpp"), "{design}");
        assert_eq!(number("confidence"), 0.99);
    }
    assert!(["fuse", "ribbon", "golomb", "blocked", "bloom"].iter().all(|kind| kinds(&plan).contains(kind)));
}

/// What the command of a row builds is what the row says.
#[test]
fn every_command_builds_its_design() {
    let planner = Planner::new();
    planner.0.write("KEYS", numbers(0..3_000));
    let mut built = Vec::new();
    for need in [
        &["--fixed", "--send"][..],
        &["--remove"],
        &["--count=500"],
        &["--count", "--merge"],
        &["--window"],
        &["--grow"],
        &["--grow", "--remove"],
        &[],
    ] {
        let plan = planner.json(&[&["-n", "3000", "-p", "1/200"], need].concat());
        for design in plan["designs"].as_array().unwrap() {
            let command = design["command"].as_str().unwrap();
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!((words[0], words[1]), ("gardenia", "build"));
            let run = planner.run(&[&words[1..], &["--force", "--quiet"]].concat());
            assert_eq!((run.code, &*run.err), (Some(0), ""), "{command}");
            let filter: AnyFilter = planner.0.filter("OUT.gdn");
            assert!(filter.memory_bytes() as u64 <= design["bytes"].as_u64().unwrap(), "{command}");
            assert!(design["kind"] == filter.kind().name(), "{command}");
            // Counters of the CLI hold every line once; all that does not forget finds all of them.
            let keys: Vec<String> = (0..3_000).map(|key| key.to_string()).collect();
            let found = crate::common::answers(&filter, &keys).into_iter().filter(|found| *found).count();
            assert!(found == 3_000 || design["kind"] == "stable" && found > 2_900, "{command}: {found}");
            built.push(design["kind"].as_str().unwrap().to_owned());
        }
    }
    built.sort();
    built.dedup();
    // All but maps, which need values.
    assert_eq!(built.len() + 1, Calibration::default().kinds().count(), "{built:?}");
    // A map is built from lines with values.
    let maps = planner.json(&["-n", "3000", "-p", "1/200", "--values", "4"]);
    assert_eq!(kinds(&maps), ["bloomier"]);
    let design = &maps["designs"][0];
    planner.0.write("KEYS", (0..3_000).map(|key| format!("{key}\t{}\n", key % 16)).collect::<String>());
    let words: Vec<&str> = design["command"].as_str().unwrap().split(' ').collect();
    let run = planner.run(&[&words[1..], &["--force", "--quiet"]].concat());
    assert_eq!((run.code, &*run.err), (Some(0), ""));
    assert!(planner.0.filter("OUT.gdn").memory_bytes() as u64 <= design["bytes"].as_u64().unwrap());
    planner.0.write("17", "17\n");
    assert_eq!(planner.run(&["get", "OUT.gdn", "17"]).text(), "1\t17\n");
}

#[test]
fn a_sample_is_counted_first() {
    let planner = Planner::new();
    let lines = [numbers(0..1_000), numbers(0..1_000), numbers(0..250)].concat();
    planner.0.write("it's all.txt", &lines);
    let run = planner.run(&["plan", "--sample", "it's all.txt", "--fpp", "1%", "-q"]);
    let text = run.text();
    assert!(text.starts_with("1,000 keys, 1% false positives\n"), "{text}");
    assert!(text.contains(
        "sample: 2,250 keys, 1,000 distinct; 55.6% repeat an earlier one, the most frequent occurs 3 times"
    ));
    assert!(text.contains(r"-o OUT.gdn 'it'\''s all.txt'"), "{text}");
    let plan = planner.json(&["--sample", "it's all.txt"]);
    assert!(plan["sample"]["keys"] == 2_250 && plan["sample"]["distinct"] == 1_000.0, "{plan}");
    assert_eq!((&plan["sample"]["std_error"], &plan["sample"]["largest_count"]), (&0.0.into(), &3.into()));
    assert_eq!(plan["need"]["items"], 1_000);

    // What is planned for the lines of the sample is built from them, with every copy.
    for copies in 1..=4 {
        let parts: Vec<Vec<u8>> = (0..copies).map(|at| numbers(0..2_000 - 500 * at)).collect();
        planner.0.write("copies.txt", parts.concat());
        for need in [&["--remove"][..], &["--remove", "--grow"]] {
            let plan = planner.json(&[&["--sample", "copies.txt"], need].concat());
            assert_eq!(kinds(&plan).contains(&"cuckoo"), copies < 4 && need.len() == 1, "{plan}");
            for design in plan["designs"].as_array().unwrap() {
                let words: Vec<&str> = design["command"].as_str().unwrap().split(' ').collect();
                let run = planner.run(&[&words[1..], &["--force", "--quiet"]].concat());
                // Cells that several keys share may reach their largest count.
                assert!(
                    run.code == Some(0) && (run.err.is_empty() || run.err.contains("largest count")),
                    "{words:?}: {}",
                    run.err
                );
                assert!(planner.0.filter("OUT.gdn").fpp() <= 0.0102, "{words:?}");
                let run = planner.run(&["remove", "OUT.gdn", "copies.txt"]);
                assert!(run.err.contains(" removed;"), "{words:?}: {}", run.err);
            }
        }
    }

    // More keys than are counted exactly.
    planner.0.write("many.txt", numbers(0..200_000));
    let plan = planner.json(&["--sample", "many.txt"]);
    let (distinct, error) =
        (plan["sample"]["distinct"].as_f64().unwrap(), plan["sample"]["std_error"].as_f64().unwrap());
    assert!(error > 0.0 && error < 1_000.0 && (distinct - 200_000.0).abs() < 5.0 * error, "{plan}");
    assert!(plan["need"]["items"].as_f64().unwrap() >= distinct);

    let run = planner.0.pipe(&lines, &["plan", "--sample", "-", "--json"]);
    let plan: Value = serde_json::from_slice(&run.out).unwrap();
    assert!(plan["need"]["items"] == 1_000, "{plan}");
    assert!(plan["designs"][0]["command"].as_str().unwrap().ends_with(" KEYS"), "{plan}");
    assert!(planner.run(&["plan", "--sample", "nowhere"]).complaint().contains("nowhere: "));
    let run = planner.0.pipe(b"", &["plan", "--sample", "-"]);
    assert_eq!(run.complaint(), "gardenia: the sample has no keys");
}

#[test]
fn what_is_impossible_is_said_with_the_nearest_that_is_not() {
    let planner = Planner::new();
    let run = planner.run(&["plan", "-n", "1000", "--remove", "--fixed"]);
    assert_eq!((run.code, &*run.err), (Some(1), ""));
    let text = run.text();
    assert!(text.contains("\nimpossible: no kind of filter can do all of: remove, fixed\n"), "{text}");
    assert!(
        text.contains("\nnearest, without fixed: cuckoo, ") && text.contains("gardenia build --kind cuckoo")
    );

    let run = planner.run(&["plan", "-n", "1e9", "-p", "1%", "-m", "1kB"]);
    assert_eq!(run.code, Some(1));
    let text = run.text();
    assert!(
        text.contains("\nimpossible: the smallest filter takes 1")
            && text.contains("and --memory allows 1 kB")
    );
    assert!(text.contains("nearest, in more memory: "), "{text}");

    let plan = planner.json(&["-n", "1e9", "-p", "1%", "-m", "1kB"]);
    assert!(kinds(&plan).is_empty() && plan["impossible"]["nearest"]["bytes"].as_u64() > Some(800_000_000));
    assert!(plan["impossible"]["reason"].as_str().unwrap().contains("1000 are allowed"), "{plan}");
}

#[test]
fn numbers_that_are_none_are_refused_with_a_hint() {
    let planner = Planner::new();
    for (args, reason) in [
        (&["-n", "0"][..], "at least 1 item"),
        (&["-n", "10", "-p", "2"], "must be greater than 0 and less than 1"),
        (&["-n", "10", "--present", "300%"], "present keys"),
        (&["-n", "10", "--confidence", "1"], "confidence"),
        (&["-n", "10", "--values", "40"], "40 bits"),
        (&["-n", "10", "--count=1e10"], "34 bits"),
        (&["-n", "ten"], "a number such as"),
        (&["-n", "10", "--sample", "x"], "cannot be used with"),
    ] {
        let run = planner.run(&[&["plan"], args].concat());
        let complaint = run.complaint();
        assert!(complaint.contains(reason), "{args:?}: {}", run.err);
    }
}

#[test]
fn calibration_is_stored_and_read() {
    let planner = Planner::new();
    let run = planner.run(&["bench", "--calibrate", "--items", "500,2k", "--repeat", "1"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let text = run.text();
    assert!(
        text.contains("500 keys") && text.contains("2,000 keys") && text.contains("`gardenia plan` reads it")
    );
    let file = "data/gardenia/calibration.json";
    let stored: Value = serde_json::from_slice(&planner.0.read(file)).unwrap();
    assert!(stored["version"] == 1 && stored["processor"].is_string(), "{stored}");
    assert_eq!(stored["kinds"].as_object().unwrap().len(), Calibration::default().kinds().count());
    for (kind, cost) in stored["kinds"].as_object().unwrap() {
        let ns = |field: &str| cost[field].as_f64().unwrap();
        assert!(ns("near") > 0.0 && ns("far") > 0.0 && text.contains(kind.as_str()), "{kind}: {cost}");
    }
    let plan = planner.json(&["-n", "1000"]);
    assert!(plan["calibration"].as_str().unwrap().ends_with(file), "{plan}");

    // Figures of the file decide: the classical filter made free, in place of whatever was measured.
    let edited = r#"{"version":1,"processor":"x","near_bytes":1,"far_bytes":2,"kinds":{"bloom":{"near":1e-6,"far":1e-6}}}"#;
    planner.0.write(file, edited);
    let plan = planner.json(&["-n", "1000", "--prefer", "speed"]);
    assert_eq!(kinds(&plan)[0], "bloom");
    assert!(plan["designs"][0]["ns"].as_f64().unwrap() < 1e-4, "{plan}");

    // A file that cannot be read is said, and does no harm.
    for damaged in ["{", r#"{"version":9,"processor":"x","near_bytes":1,"far_bytes":2,"kinds":{}}"#] {
        planner.0.write(file, damaged);
        let run = planner.run(&["plan", "-n", "1000", "--json"]);
        assert_eq!(run.code, Some(0));
        assert!(run.err.starts_with("gardenia: warning: ") && run.err.contains("--calibrate"), "{}", run.err);
        assert!(serde_json::from_slice::<Value>(&run.out).unwrap()["calibration"].is_null());
    }
    let run = planner.run(&["bench", "--calibrate", "--json"]);
    assert!(run.complaint().contains("cannot be used with"), "{}", run.err);
}
