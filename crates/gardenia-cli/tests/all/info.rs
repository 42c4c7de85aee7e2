//! `gardenia info`: what it tells, and that it notices every damage.

use crate::common::{FILLING, Shell, kind_in_file, kinds, numbers};
use gardenia::index::SchemeId;
use gardenia::{Ability, AnyFilter, Bloom, Kind, Spec};
use serde_json::{Value, json};

/// A shell with `f.gdn`, 1000 numbers at 1 %.
fn shell() -> Shell {
    shell_with("blocked")
}

/// As [`shell`], with a filter of this kind.
fn shell_with(kind: &str) -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1000));
    shell.ok(&["build", "-q", "-o", "f.gdn", "--kind", kind, "--seed", "7", "keys"]);
    shell
}

#[test]
fn everything_about_a_file_is_told() {
    for (kind, probes) in [
        ("bloom", ("scheme", "fractional, 7 probes per key")),
        ("blocked", ("probes", "7 bits in one block of 512")), // it has no scheme
        ("counting", ("scheme", "fractional, 7 probes per key")),
    ] {
        let shell = shell_with(kind);
        let filter = shell.filter("f.gdn");
        let text = String::from_utf8(shell.run(&["info", "f.gdn"]).quietly()).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("f.gdn"));
        let mut line = |name: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(&format!("  {name:<16}")));
            line.unwrap_or_else(|| panic!("{name} is not next in {text}")).to_owned()
        };
        assert_eq!(line("kind"), format!("{kind}, format version 1"));
        assert_eq!(line("hasher"), "xxh3, seed 7");
        assert_eq!(line(probes.0), probes.1);
        let bits = filter.identity().cells;
        let (thousands, rest, kilobytes) = (bits / 1000, bits % 1000, filter.memory_bytes() as f64 / 1e3);
        let size = line("size");
        let one = if kind == "counting" { "cells of 4 bits" } else { "bits" };
        let memory = size.strip_prefix(&format!("{thousands},{rest:03} {one} in ")).unwrap();
        assert_eq!(memory.split(" kB; file ").next(), Some(&*kilobytes.to_string()));
        assert_eq!(line("spec").parse::<Spec>().ok(), filter.spec());
        assert_eq!(line("planned for"), "1,000 keys at 1% false positives");
        let fill = line("fill");
        assert!(fill.starts_with("▕█████████") && fill.ends_with('%'), "{fill}");
        let items = filter.estimated_items().unwrap();
        let expected = format!("about {:.0} ± {:.0} distinct", items.items, items.std_error);
        assert_eq!(line("keys").replace(',', ""), expected);
        if let AnyFilter::Bloom(filter) = &filter {
            let capacity = filter.capacity().unwrap();
            assert!((1_000..1_010).contains(&capacity));
            let full = if filter.is_full() { "the filter is full" } else { "not full" };
            let expected = format!("{capacity} keys at the planned rate; {full}");
            assert_eq!(line("capacity").replace(',', ""), expected);
        }
        assert!(line("false positives").ends_with("% of absent keys, at the current fill"));
        assert_eq!(line("keys made by"), "whole lines");
        assert_eq!(line("metadata"), "none");
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn json_is_one_object_per_line_with_these_fields() {
    for kind in kinds() {
        let shell = shell_with(kind);
        let filter = shell.filter("f.gdn");
        let out = shell.run(&["info", "--json", "f.gdn", "f.gdn"]).quietly();
        let lines: Vec<&str> = std::str::from_utf8(&out).unwrap().lines().collect();
        assert_eq!(lines.len(), 2);
        let found: Value = serde_json::from_str(lines[0]).unwrap();
        let basic = if let AnyFilter::Bloom(filter) = &filter { Some(filter) } else { None };
        let expected = json!({
            "file": "f.gdn",
            "file_bytes": shell.read("f.gdn").len(),
            "format": "gardenia",
            "format_version": 1,
            "kind": kind_in_file(kind),
            "hasher": "xxh3",
            "seed": 7,
            "secret_id": null,
            "secret_stored": false,
            "scheme": filter.identity().scheme.map(SchemeId::name), // null for kinds with blocks
            "hashes": filter.identity().hashes,
            "bits": filter.identity().cells * u64::from(filter.identity().width),
            "cells": filter.identity().cells,
            "width": filter.identity().width,
            "counters": null, // of split filters
            "details": found["details"], // words, which a test of their own reads
            "spec": filter.spec().unwrap().to_string(),
            "bytes": filter.memory_bytes(),
            "planned_items": 1000,
            "planned_fpp": filter.about().planned_fpp(),
            "counted_items": null,
            "fill": filter.fill(),
            "estimated_items": filter.estimated_items().map(|about| about.items),
            "estimated_items_std_error": filter.estimated_items().map(|about| about.std_error),
            "capacity": basic.map(|filter| filter.capacity()),
            "full": basic.map(|filter| filter.is_full()),
            "fpp": filter.fpp(),
            "keys": "whole lines",
            "metadata": null,
            "metadata_hex": "",
            "verified_bytes": null,
        });
        assert_eq!(found["scheme"].is_null(), ["blocked", "sbbf"].contains(&kind));
        // Through text as well: parsing may change the last digit of a float.
        assert_eq!(found, serde_json::from_str::<Value>(&expected.to_string()).unwrap());
    }
}

#[test]
fn what_a_kind_alone_has_is_told() {
    for (kind, details) in [
        ("spectral-ms", "minimum-selection"),
        ("spectral-mi", "minimum-increase"),
        ("spectral-rm", "recurring-minimum, 4,798 secondary cells, with marker"),
        ("bitwise", "1 level with digits of 4 bits, lowest first"),
        ("stable", "cells age at each insertion; 1,000 so far"),
        ("a2", "the last 1,000 keys are remembered for certain; 99"),
    ] {
        let text = String::from_utf8(shell_with(kind).ok(&["info", "f.gdn"])).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("  details         "));
        assert!(line.is_some_and(|line| line.contains(details)), "{kind}: {text}");
    }
}

#[test]
fn json_has_no_infinity_and_no_made_up_plan() {
    for kind in FILLING {
        let shell = shell();
        shell.write("many", numbers(0..5000));
        let shape = ["--bits", "64", "--hashes", "2"]; // one block, if there are blocks
        shell.ok(&[&["build", "-o", "full.gdn", "--kind", kind, "many"], &shape[..]].concat());
        let found: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "full.gdn"])).unwrap();
        assert_eq!((&found["fill"], &found["fpp"]), (&json!(1.0), &json!(1.0)));
        for unknown in ["estimated_items", "estimated_items_std_error", "planned_items", "planned_fpp"] {
            assert_eq!(found[unknown], Value::Null, "{unknown}");
        }
        let text = String::from_utf8(shell.ok(&["info", "full.gdn"])).unwrap();
        assert!(text.contains("unknown: every ") && text.contains("built with --bits"), "{text}");
    }
}

#[test]
fn metadata_is_shown_and_cannot_command_the_terminal() {
    let shell = shell();
    for (bytes, text) in [(&b"spring\x1b[2J"[..], r"spring\u{1b}[2J"), (b"\xff\x00", "2 bytes")] {
        let mut filter = Bloom::new(10, 0.1).unwrap();
        filter.about_mut().set_metadata(bytes).unwrap();
        filter.save(shell.path("m.gdn")).unwrap();
        let found = String::from_utf8(shell.ok(&["info", "m.gdn"])).unwrap();
        assert!(found.contains(&format!("metadata        {text}")), "{found}");
        let found: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "m.gdn"])).unwrap();
        assert_eq!(found["metadata"].as_str().map(str::as_bytes), bytes.is_ascii().then_some(bytes));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found["metadata_hex"], hex);
    }
}

#[test]
fn a_keyed_file_tells_its_header_without_the_secret() {
    let shell = shell();
    let secret = "000102030405060708090a0b0c0d0e0f";
    for kind in kinds() {
        shell.ok(&["build", "--force", "-o", "k.gdn", "--kind", kind, "--secret", secret, "keys"]);
        let without: Value =
            serde_json::from_slice(&shell.run(&["info", "--json", "k.gdn"]).quietly()).unwrap();
        let with: Value =
            serde_json::from_slice(&shell.ok(&["info", "--json", "--secret", secret, "k.gdn"])).unwrap();
        assert_eq!((&without["kind"], &without["hasher"]), (&json!(kind_in_file(kind)), &json!("sip13")));
        assert_eq!(without["seed"], Value::Null);
        for same in ["format_version", "secret_id", "secret_stored", "scheme", "hashes", "bits", "bytes"] {
            assert_eq!(without[same], with[same], "{same}");
        }
        assert_eq!(without["planned_items"], json!(1000));
        assert!((0.0099..=0.01).contains(&without["planned_fpp"].as_f64().unwrap()), "{kind}");
        assert_eq!(with["secret_id"].as_str().map(str::len), Some(16));
        assert!(with["fill"].as_f64() > Some(0.1));
        let text = String::from_utf8(shell.ok(&["info", "--verify", "k.gdn"])).unwrap();
        assert!(text.contains("sip13, secret of id") && text.contains("verified: "), "{text}");
    }
}

#[test]
fn verify_detects_a_change_of_any_byte() {
    for kind in kinds() {
        let shell = Shell::new();
        shell.pipe(&numbers(0..20), &["build", "-q", "--kind", kind, "-o", "f.gdn"]).quietly();
        let intact = shell.read("f.gdn");
        let verified = shell.run(&["info", "--verify", "f.gdn"]);
        assert_eq!(verified.text().lines().last(), Some(&*format!("verified: {} bytes", intact.len())));
        assert_eq!(verified.code, Some(0));
        for at in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[at] ^= 1 << (at % 8);
            shell.write("d.gdn", &damaged);
            let run = shell.run(&["info", "--verify", "d.gdn"]);
            assert!(run.complaint().starts_with("gardenia: d.gdn: "), "byte {at}: {}", run.err);
        }
    }
}

#[test]
fn verify_detects_damage_far_inside_a_large_file() {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10));
    shell.ok(&["build", "-o", "f.gdn", "--bits", "4MiB", "--hashes", "3", "keys"]); // four chunks of checksums
    let intact = shell.read("f.gdn");
    for part in 0..16 {
        let mut damaged = intact.clone();
        damaged[intact.len() * part / 16 + part * 997] ^= 0x10;
        shell.write("d.gdn", &damaged);
        shell.run(&["info", "--verify", "d.gdn"]).complaint();
    }
    shell.write("d.gdn", &intact);
    assert!(shell.run(&["info", "--verify", "d.gdn"]).err.is_empty());
}

#[test]
fn a_damaged_file_does_not_stop_the_others() {
    let shell = shell();
    shell.write("bad.gdn", "no filter");
    let run = shell.run(&["info", "bad.gdn", "f.gdn", "gone.gdn"]);
    assert_eq!(run.code, Some(2));
    assert!(run.text().starts_with("f.gdn\n"));
    assert!(
        run.err.contains("gardenia: bad.gdn: ") && run.err.contains("gardenia: gone.gdn: "),
        "{}",
        run.err
    );
}

#[test]
fn a_filter_from_stdin_is_told_about_but_cannot_be_verified() {
    let shell = shell();
    let filter = shell.read("f.gdn");
    let piped: Value =
        serde_json::from_slice(&shell.pipe(&filter, &["info", "--json", "-"]).quietly()).unwrap();
    let file: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "f.gdn"])).unwrap();
    assert_eq!(piped["fill"], file["fill"]);
    let run = shell.pipe(&filter, &["info", "--verify", "-"]);
    assert!(run.complaint().contains("--verify needs a file"), "{}", run.err);
}

#[test]
fn what_stores_each_copy_says_so_and_every_kind_tells_its_spec() {
    let shell = Shell::new();
    let three: String = (0..100).map(|i| format!("{i}\n")).collect::<String>().repeat(3);
    shell.write("keys", &three);
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_built() && !kind.can(Ability::Map)) {
        let name = kind.name();
        // A file each: counters of split filters lie beside theirs.
        let (file, again_file) = (format!("{name}.gdn"), format!("{name}-again.gdn"));
        if kind == Kind::Retouched {
            continue; // it is built from two lists
        }
        let near: &[&str] =
            if kind.holds_keys() || kind == Kind::Split { &[] } else { &["--near", "10%", "--far", "80%"] };
        shell.ok(&[&["build", "-q", "--force", "--kind", name, "-o", &file, "keys"], near].concat());
        let info = |file: &str| String::from_utf8(shell.ok(&["info", file])).unwrap();
        let text = info(&file);
        let line = |text: &str, word: &str| {
            let line = text.lines().find_map(|line| line.trim_start().strip_prefix(word));
            line.unwrap_or_else(|| panic!("{name} has no {word}: {text}")).trim().to_owned()
        };
        let keys = line(&text, "keys ");
        let copies = kind.can(Ability::Copies) && kind != Kind::Dynamic; // which counts what differs
        assert_eq!(keys == "300, each copy counted", copies, "{name}: {keys}");
        // What info prints builds the filter again: the same spec, of the same size.
        shell.write("spec", line(&text, "spec "));
        shell.ok(&["build", "-q", "--force", "--spec", "spec", "-o", &again_file, "keys"]);
        let again = info(&again_file);
        // How keys chose is not stored, and no part of a spec.
        let words = if kind == Kind::Choice {
            &["planned for "][..]
        } else {
            &["spec ", "size ", "planned for ", "keys "]
        };
        for word in words {
            assert_eq!(line(&again, word), line(&text, word), "{name}");
        }
    }
}
