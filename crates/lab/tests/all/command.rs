//! `gardenia-lab`: names, files, exit codes. What the experiments show is tested beside this.

use crate::common::{Run, Shell};
use serde_json::Value;

/// A short run of one table.
const SHORT: [&str; 5] = ["run", "lumetta-table-1", "--quick", "--trials", "4"];

fn short(shell: &Shell, more: &[&str]) -> Run {
    shell.run(&[&SHORT[..], more].concat())
}

#[test]
fn list_names_every_experiment() {
    let out = Shell::new().run(&["list"]).quietly();
    let text = String::from_utf8(out).unwrap();
    for experiment in lab::all() {
        let line = text.lines().find(|line| line.starts_with(&format!("{} ", experiment.name())));
        assert!(line.is_some_and(|line| line.ends_with(experiment.title())), "{text}");
        assert!(text.contains(experiment.source()));
    }
}

#[test]
fn a_run_prints_its_tables_and_no_more() {
    let run = short(&Shell::new(), &["--seed", "2"]);
    assert_eq!((run.code, &*run.err), (Some(0), ""), "{}", run.text());
    let lines: Vec<&str> = run.text().lines().collect();
    assert!(
        lines[0] == "# lumetta-table-1" && lines.last() == Some(&"lumetta-table-1: 11 rows agree"),
        "{lines:?}"
    );
    let heading = lines.iter().position(|line| line.starts_with("m/n ")).unwrap();
    assert!(lines[heading].ends_with("verdict"));
    assert!(lines[heading + 1..][..11].iter().all(|line| line.ends_with("agrees") && line.contains(" ± ")));
}

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let shell = Shell::new();
    let out = |more: &[&str]| short(&shell, more).out;
    let one = out(&["--seed", "5", "--threads", "1"]);
    assert_eq!(one, out(&["--seed", "5", "--threads", "3"]));
    assert_ne!(one, out(&["--seed", "6", "--threads", "3"]));
}

#[test]
fn a_difference_is_an_exit_code_of_one_and_has_a_reason() {
    // Two trials that come out the same know no standard error: by this seed a row seems to differ.
    let run = Shell::new().run(&["run", "garden-counting", "--quick", "--trials", "2", "--seed", DIFFERS]);
    assert_eq!((run.code, &*run.err), (Some(1), ""));
    assert!(run.text().contains("DIFFERS") && run.text().contains(" differs: "), "{}", run.text());
}
const DIFFERS: &str = "1";

#[test]
fn csv_and_json_hold_the_same_numbers() {
    let shell = Shell::new();
    let run = short(&shell, &["--csv", "out/csv", "--json", "out.json"]);
    assert_eq!((run.code, &*run.err), (Some(0), ""), "{}", run.text());
    let json: Value = serde_json::from_slice(&shell.read("out.json")).unwrap();
    assert!(json["seed"] == 1 && json["trials"] == 4 && json["quick"] == true);
    let experiment = &json["experiments"][0];
    assert!(experiment["name"] == "lumetta-table-1" && experiment["differs"] == false);
    let rows = experiment["tables"][0]["rows"].as_array().unwrap();
    let csv = String::from_utf8(shell.read("out/csv/lumetta-table-1.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("m/n,c,k,simulated,\"simulated, standard error\","), "{}", lines[0]);
    assert_eq!(lines.len(), rows.len() + 1);
    for (line, row) in lines[1..].iter().zip(rows) {
        let cells: Vec<&str> = line.split(',').collect();
        // Reading JSON may cost the last digit.
        let same = |text: &str, value: &Value| {
            (text.parse::<f64>().unwrap() / value.as_f64().unwrap() - 1.0).abs() < 1e-15
        };
        assert!(same(cells[3], &row["cells"][3]["mean"]), "{line}");
        assert!(same(cells[4], &row["cells"][3]["standard_error"]), "{line}");
        assert_eq!(cells.last().copied(), row["verdict"]["verdict"].as_str());
    }
    // JSON in place of the text.
    let run = short(&shell, &["--json", "-"]);
    assert_eq!(run.out, shell.read("out.json"));
}

#[test]
fn files_are_replaced_only_by_force() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("csv")).unwrap();
    shell.write("csv/lumetta-table-1.csv", "mine");
    shell.write("mine.json", "mine");
    assert!(short(&shell, &["--csv", "csv"]).complaint().contains("lumetta-table-1.csv: already exists"));
    assert!(short(&shell, &["--json", "mine.json"]).complaint().contains("mine.json: already exists"));
    assert_eq!(
        (shell.read("csv/lumetta-table-1.csv"), shell.read("mine.json")),
        (b"mine".to_vec(), b"mine".to_vec())
    );
    let run = short(&shell, &["--csv", "csv", "--json", "mine.json", "--force"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        shell.read("mine.json").starts_with(b"{")
            && shell.read("csv/lumetta-table-1.csv").starts_with(b"m/n,")
    );
}

#[test]
fn wrong_options_are_errors_that_help() {
    let shell = Shell::new();
    let run = shell.run(&["run", "lumetta-table-9"]);
    assert!(run.complaint().contains("lumetta-table-9"));
    assert!(run.err.contains("similar") && run.err.contains("lumetta-table-1"), "{}", run.err);
    let complaint = |args: &[&str]| shell.run(&[&["run"], args].concat()).complaint().to_owned();
    assert!(complaint(&["lumetta-table-1", "--trials", "1"]).contains("at least 2 trials"));
    assert!(complaint(&["lumetta-table-1", "--trials", "1e18"]).contains("at most 1000000 trials"));
    assert!(complaint(&["--all", "lumetta-table-1"]).contains("cannot be used with"));
    assert!(complaint(&[]).contains("NAME"));
    assert!(complaint(&["lumetta-table-1", "--threads", "0"]).contains("1..=1024"));
    assert!(complaint(&["lumetta-table-1", "--csv", "/dev/null/x"]).contains("/dev/null/x"));
}

/// Files of a directory with their contents, by name.
fn files(shell: &Shell, directory: &str) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(shell.path(directory)).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn a_report_is_a_page_and_the_numbers() {
    let shell = Shell::new();
    let run = short(&shell, &["--report", "out"]);
    assert_eq!((run.code, &*run.err), (Some(0), ""), "{}", run.text());
    assert!(run.text().ends_with("\nThe report is in out/index.html\n"), "{}", run.text());
    let files = files(&shell, "out");
    assert_eq!(files.keys().collect::<Vec<_>>(), ["index.html", "lab.json", "lumetta-table-1.csv"]);
    let page = String::from_utf8(files["index.html"].clone()).unwrap();
    assert!(page.contains("gardenia lab run lumetta-table-1 --quick --trials 4 --seed 1"), "{page}");
    let facts = page.split("class=\"facts\">").nth(1).unwrap().split('<').next().unwrap();
    let date = gardenia_terminal::human::date(std::time::SystemTime::now());
    let commit = option_env!("GARDENIA_COMMIT").unwrap_or("Gardenia");
    assert!(facts.contains(&date[..7]) && facts.contains(commit), "{facts}");
    assert!(page.contains("4 trials per point") && page.contains("✓ 11 agree"), "{page}");
    assert_eq!(short(&shell, &["--json", "-"]).out, files["lab.json"]);
    // What is there stays there.
    assert!(
        short(&shell, &["--report", "out"]).complaint().contains("out/lumetta-table-1.csv: already exists")
    );
    std::fs::remove_file(shell.path("out/lumetta-table-1.csv")).unwrap();
    assert!(short(&shell, &["--report", "out"]).complaint().contains("out/index.html: already exists"));
    assert_eq!(short(&shell, &["--report", "out", "--force"]).code, Some(0));
    assert!(shell.path("out/lumetta-table-1.csv").exists());
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let shell = Shell::new();
    let args = |directory| ["run", "lumetta-table-1", "lumetta-table-2", "--quick", "--report", directory];
    let whole = shell.run(&args("whole"));
    assert_eq!((whole.code, &*whole.err), (Some(0), ""), "{}", whole.text());
    let mut child = shell.command(&args("killed")).stdout(std::process::Stdio::null()).spawn().unwrap();
    let journal = || std::fs::read(shell.path("killed/unfinished.jsonl")).unwrap_or_default();
    while journal().iter().filter(|byte| **byte == b'\n').count() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!shell.path("killed/index.html").exists());
    // Another run is not mixed with it.
    let other = [&args("killed")[..], &["--seed", "2"]].concat();
    assert!(shell.run(&other).complaint().contains("killed/unfinished.jsonl: was begun with another seed"));
    let run = shell.run(&args("killed"));
    assert!(run.code == Some(0) && run.err.contains("resuming an interrupted run"), "{}", run.err);
    let (mut expected, mut files) = (files(&shell, "whole"), files(&shell, "killed"));
    // The page says how long it took.
    assert!(expected.remove("index.html").is_some() && files.remove("index.html").is_some());
    assert_eq!(files, expected);
}

#[test]
fn figures_are_drawn_when_asked_for_and_never_into_a_pipe_by_themselves() {
    let shell = Shell::new();
    let run =
        |more: &[&str]| shell.run(&[&["run", "lumetta-rounds", "--quick", "--trials", "2"], more].concat());
    let (plain, drawn) = (run(&[]), run(&["--figures", "always"]));
    assert!(!plain.text().contains('●') && drawn.text().contains("● random ties  ■ first of equals"));
    assert!(!drawn.text().contains('\x1b'));
    assert_eq!(run(&["--figures", "never"]).out, plain.out);
}

/// The documents of the lab, in the repository.
fn document(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_documents_name_every_experiment_and_the_report_is_whole() {
    let (guide, page) = (document("lab.md"), document("lab/index.html"));
    let json: Value = serde_json::from_str(&document("lab/lab.json")).unwrap();
    let names: Vec<&str> = lab::all().iter().map(|experiment| experiment.name()).collect();
    for name in &names {
        assert!(guide.contains(&format!("| `{name}` | `{}.rs` |", name.replace('-', "_"))), "{name}");
        assert!(page.contains(&format!("<section id=\"{name}\">")), "{name}");
    }
    let reported = json["experiments"].as_array().unwrap();
    assert_eq!(reported.iter().map(|report| report["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    // A full run by the seed that the page names, in which nothing differs.
    assert!(
        json["quick"] == false
            && json["trials"].is_null()
            && reported.iter().all(|report| report["differs"] == false)
    );
    assert!(page.contains(&format!("gardenia lab run --all --seed {}", json["seed"])));
}
