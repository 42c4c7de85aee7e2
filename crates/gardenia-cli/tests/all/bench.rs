//! `gardenia bench`: the form of its table and of its JSON, and what it refuses. Never its times.

use crate::common::{Run, Shell, has};
use serde_json::Value;

/// A small run with these options.
fn bench(args: &[&str]) -> Run {
    let run = Shell::new().run(&[&["bench", "--repeat", "2"], args].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    run
}

const OPS: [&str; 7] = ["insert", "hit", "miss", "batch_insert", "batch_hit", "batch_miss", "batch_mix"];

#[test]
fn the_table_has_a_row_per_kind_and_size() {
    let run = bench(&["--items", "1000,20k", "--threads", "2"]);
    let lines: Vec<&str> = run.text().lines().collect();
    assert!([" portable code,", " AVX2 code,", " AVX-512 code,"].iter().any(|code| lines[0].contains(code)));
    assert!(lines[0].ends_with(" cores") || lines[0].ends_with(", 1 core"), "{}", lines[0]);
    assert!(lines[1].contains("numbers of 64 bits") && lines[1].contains("best/median of 2 repeats"));
    let sections = lines[2..].split(|line| line.is_empty()).skip(1);
    for (section, keys) in sections.zip(["1,000 keys", "20,000 keys"]) {
        let [groups, titles, rows @ ..] = section else { panic!("{section:?}") };
        assert!(groups.starts_with(keys) && groups.contains("one by one") && groups.contains("in batches"));
        let words: Vec<&str> = titles.split_whitespace().collect();
        assert_eq!(words.join(" "), "insert hit miss insert hit miss mix per key planned 1%");
        assert_eq!([groups, titles].map(|line| line.chars().count()), [120; 2]);
        let names = ["memory alone", "bloom", "blocked", "blocked, 2 threads"];
        assert_eq!(rows.len(), names.len());
        for (row, name) in rows.iter().zip(names) {
            let figures = row.strip_prefix(name).unwrap_or_else(|| panic!("{name} is not in {row}"));
            let figures: Vec<&str> = figures.split_whitespace().collect();
            // Seven times, the bits, and the rate, its error with a sign between them.
            assert_eq!(figures.len(), if name == "memory alone" { 9 } else { 11 }, "{row}");
            let time = |text: &&str| text.split('/').filter(|part| part.parse::<f64>().is_ok()).count() == 2;
            let timed = figures[..7].iter().filter(|text| time(text)).count();
            assert_eq!(timed, if name.ends_with("threads") { 4 } else { 7 }, "{row}");
            assert_eq!(figures.last().unwrap().ends_with('%'), name != "memory alone", "{row}");
        }
    }
    assert_eq!(lines.iter().filter(|line| line.starts_with("memory alone ")).count(), 2); // both sizes were there
    assert!(lines[lines.len() - 2].starts_with("memory alone: "), "{lines:?}");
}

#[test]
fn json_is_one_object_with_these_fields() {
    let run = bench(&["--items", "1000", "--keys", "text", "--fpp", "1/50", "--threads", "2", "--json"]);
    assert_eq!(run.text().lines().count(), 1);
    let found: Value = serde_json::from_slice(&run.out).unwrap();
    let fields = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(fields(&found), ["cores", "fpp", "instructions", "keys", "processor", "repeat", "rows"]);
    assert!(found["keys"] == "text" && found["fpp"] == 0.02 && found["repeat"] == 2, "{found}");
    assert!(found["cores"].as_u64() > Some(0) && found["processor"].is_string());

    let rows = found["rows"].as_array().unwrap();
    let kinds: Vec<_> = rows.iter().map(|row| (row["kind"].as_str(), row["threads"].as_u64())).collect();
    let kind = |kind, threads| (Some(kind), Some(threads));
    assert_eq!(kinds, [kind("memory", 1), kind("bloom", 1), kind("blocked", 1), kind("blocked", 2)]);
    // What only a filter has, and what every row has.
    let of_filter = ["absent_keys_asked", "bits", "bits_per_key", "fpr", "fpr_std_error", "planned_fpp"];
    let of_all = ["items", "kind", "ns_per_key", "threads"];
    for row in rows {
        let (filter, alone) = (row["kind"] != "memory", row["threads"] == 1);
        let mut expected = [&of_filter[..], &of_all].concat();
        expected.sort_unstable();
        assert_eq!(fields(row), expected);
        assert_eq!(row["items"], 1000);
        of_filter.iter().for_each(|field| assert_eq!(row[field].is_number(), filter, "{field} in {row}"));
        for op in OPS {
            let (time, measured) = (&row["ns_per_key"][op], alone || op.starts_with("batch"));
            assert_eq!(time.is_object(), measured, "{op} in {row}");
            assert!(!measured || time["median"].as_f64() >= time["best"].as_f64(), "{op} in {row}");
        }
    }
}

#[test]
fn the_measured_rate_is_the_planned_one() {
    let run = bench(&["--items", "100k", "--fpp", "3%", "--json"]);
    let found: Value = serde_json::from_slice(&run.out).unwrap();
    for row in &found["rows"].as_array().unwrap()[1..] {
        let number = |field: &str| row[field].as_f64().unwrap();
        let (rate, error) = (number("fpr"), number("fpr_std_error"));
        assert!((rate - 0.03).abs() < 5.0 * error && error < 0.001, "{row}");
        assert!((number("bits_per_key") - number("bits") / 100_000.0).abs() < 1e-9, "{row}");
        assert!((7.0..8.0).contains(&number("bits_per_key")), "{row}");
        assert_eq!(number("absent_keys_asked"), 400_000.0); // 200,000 in each repeat
    }
}

#[test]
fn one_kind_can_be_measured_alone() {
    for kind in ["bloom", "blocked"] {
        let run = bench(&["--items", "1", "--kind", kind, "--json"]);
        let found: Value = serde_json::from_slice(&run.out).unwrap();
        let kinds: Vec<_> = found["rows"].as_array().unwrap().iter().map(|row| &row["kind"]).collect();
        assert_eq!(kinds, ["memory", kind]);
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is() {
    let shell = Shell::new();
    for (args, parts) in [
        (&["--items", "0"][..], &["'0'", "--items", "at least 1 key"][..]),
        (&["--items", "1000,0"], &["'0'", "--items", "at least 1 key"]),
        (&["--items", "1000,"], &["''", "--items"]),
        (&["--items", "1e20"], &["'1e20'", "--items", "too large"]),
        (&["--items", "-5"], &["'-5'", "--items"]),
        (&["--items", "1.5"], &["'1.5'", "--items", "not a whole number"]),
        (&["--fpp", "0"], &["--fpp", "greater than 0 and less than 1, not 0"]),
        (&["--fpp", "low"], &["'low'", "--fpp"]),
        (&["--fpp", "1e-12"], &["blocked filter", "--kind bloom", "--fpp"]),
        (&["--kind", "blom"], &["'blom'", "--kind", "'bloom'"]),
        (&["--keys", "u32"], &["'u32'", "--keys", "u64"]),
        (&["--repeat", "0"], &["'0'", "--repeat", "1..=1000"]),
        (&["--threads", "0"], &["'0'", "--threads", "1..=64"]),
        (&["--threads", "2", "--kind", "bloom"], &["--threads", "blocked", "hint: "]),
    ] {
        let run = shell.run(&[&["bench"], args].concat());
        run.complaint();
        parts.iter().for_each(|part| assert!(run.err.contains(part), "{args:?}: {}", run.err));
    }
    if !has("/proc/meminfo") {
        return;
    }
    for (items, needed) in [("1000,1e15", " 8 PB "), ("18446744073709551615", " 18.4 EB ")] {
        let run = shell.run(&["bench", "--items", items]);
        let complaint = run.complaint();
        assert!(complaint.starts_with("gardenia: measuring ") && complaint.contains(needed), "{complaint}");
        assert!(run.err.contains("hint: lower --items"), "{}", run.err);
    }
}
