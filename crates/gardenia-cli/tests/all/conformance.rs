//! The vectors in `conformance/`: the command builds the same files from the same keys, and prints
//! the same answers.

use crate::common::{Shell, without_notes};
use crate::vectors;
use serde_json::Value;

/// Keys as lines.
fn lines(rules: &Value) -> String {
    vectors::keys(rules).iter().map(|key| format!("{key}\n")).collect()
}

/// The options that a spec stands for: `--name value` for `name=value`.
fn options(asked: &str) -> Vec<String> {
    let mut words = asked.split(' ');
    let kind = ["--kind".to_owned(), words.next().unwrap().to_owned()];
    let option = |word: &str| match word.split_once('=') {
        Some((name, value)) => vec![format!("--{name}"), value.to_owned()],
        None => vec![format!("--{word}")],
    };
    kind.into_iter().chain(words.flat_map(option)).collect()
}

/// The numbers that a command prints before the lines that it finds; none for others.
fn numbers(shell: &Shell, command: &str, probes: &[String]) -> Vec<Option<u64>> {
    let printed = String::from_utf8(shell.run(&[command, "f.gdn", "probes"]).out).unwrap();
    let mut rows = printed.lines().map(|line| line.split_once('\t').unwrap()).peekable();
    let numbers = probes.iter().map(|key| {
        let row = rows.next_if(|(_, line)| line == key)?;
        Some(row.0.parse().unwrap())
    });
    let numbers = numbers.collect();
    assert_eq!(rows.next(), None);
    numbers
}

#[test]
fn the_command_builds_the_filters_of_the_conformance_vectors() {
    let mut ran = 0;
    for kind in vectors::names().into_iter().filter(|name| name != "keys") {
        let (shell, file) = (Shell::new(), vectors::read(&kind));
        let mut keys = lines(&file["keys"]);
        if let Some(rule) = file.get("values") {
            // A key, a tab, and its value.
            let values = vectors::values(rule, keys.lines().count());
            keys = keys.lines().zip(values).map(|(key, value)| format!("{key}\t{value}\n")).collect();
        }
        shell.write("keys", keys);
        shell.write("probes", lines(&file["probes"]));
        let probes = vectors::keys(&file["probes"]);
        let mut extra = Vec::new();
        if let Some(spared) = file.get("spared") {
            shell.write("spared", lines(spared));
            extra = vec!["--spare", "spared"];
        }
        for case in file["cases"].as_array().unwrap() {
            let asked = case["asked"].as_str().unwrap();
            // The command makes one layer for all lines, where no size is given.
            if kind == "dynamic" && !asked.contains("items=") && !asked.contains("cells=") {
                continue;
            }
            // It is sized by distinct lines, and some of these occur twice.
            if kind == "retouched"
                && !["items=", "bits=", "memory="].iter().any(|option| asked.contains(option))
            {
                continue;
            }
            // And it lets keys choose together, where nothing says otherwise.
            if kind == "choice"
                && !["effort=", "choices=", "scheme="].iter().any(|option| asked.contains(option))
            {
                continue;
            }
            let options = options(asked);
            let mut args = vec!["build", "--quiet", "--force", "-o", "f.gdn", "keys"];
            args.extend(options.iter().map(String::as_str));
            args.extend(&extra);
            shell.ok(&args);
            // How the command made the keys is no part of what a program writes.
            let built = without_notes(&shell.read("f.gdn"));
            assert_eq!(vectors::sha256(vectors::payload(&built)), case["payload_sha256"], "{asked}");
            assert_eq!(vectors::sha256(&built), case["file_sha256"], "{asked}");

            let found = String::from_utf8(shell.run(&["query", "f.gdn", "probes"]).out).unwrap();
            let mut found = found.lines().peekable();
            let found: String =
                probes.iter().map(|key| if found.next_if_eq(key).is_some() { '1' } else { '0' }).collect();
            assert_eq!(found, case["found"], "{asked}");
            for (answers, command) in [("counts", "count"), ("values", "get")] {
                let Some(expected) = case.get(answers) else { continue };
                let expected: Vec<Option<u64>> =
                    expected.as_array().unwrap().iter().map(Value::as_u64).collect();
                assert_eq!(numbers(&shell, command, &probes), expected, "{asked}: {command}");
            }
            ran += 1;
        }
    }
    // Every case can be asked for on the command line.
    assert!(ran >= 150, "{ran} cases");
}
