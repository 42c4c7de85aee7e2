//! `gardenia convert`: between kinds, and DCSO's format both ways.

use crate::common::{Shell, answers, has, numbers};
use gardenia::{AnyFilter, Kind};
use serde_json::Value;

/// A file that DCSO's program wrote, with its keys and that program's answers.
const DCSO: &[u8] = include_bytes!("../../../gardenia/tests/data/dcso.bloom");
const TRUTH: &str = include_str!("../../../gardenia/tests/data/dcso.json");

/// A shell with the numbers below 1000 in filters of several kinds, and with that file.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1000));
    for kind in ["bloom", "counting", "compressed", "blocked", "scalable", "fuse"] {
        let items: &[&str] = if kind == "fuse" { &[] } else { &["--items", "1000"] };
        shell
            .ok(&[&["build", "-q", "-o", &format!("{kind}.gdn"), "--kind", kind], items, &["keys"]].concat());
    }
    shell.write("list.bloom", DCSO);
    let truth: Value = serde_json::from_str(TRUTH).unwrap();
    let lines = |name: &str| -> String {
        truth[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned() + "\n").collect()
    };
    shell.write("list.txt", lines("keys"));
    let plain: String =
        lines("probes").lines().filter(|line| !line.is_empty()).map(|l| l.to_owned() + "\n").collect();
    shell.write("probes.txt", plain);
    shell
}

#[test]
fn a_counting_filter_becomes_the_plain_one() {
    let shell = shell();
    let run = shell.run(&["convert", "--to", "bloom", "-o", "plain.gdn", "counting.gdn"]);
    assert_eq!((run.code, &*run.out), (Some(0), &b""[..]));
    assert!(
        run.err.starts_with("plain.gdn: bloom; 1.2 kB in memory; estimated false positives 0."),
        "{}",
        run.err
    );
    assert_eq!(shell.read("plain.gdn"), shell.read("bloom.gdn"));
    shell.ok(&["convert", "-q", "--to", "compressed", "-o", "packed.gdn", "counting.gdn"]);
    assert_eq!(shell.filter("packed.gdn").kind(), Kind::Compressed);
}

#[test]
fn a_bloom_filter_is_compressed_and_back_without_loss() {
    let shell = shell();
    shell.ok(&["convert", "-q", "--to", "compressed", "-o", "packed.gdn", "bloom.gdn"]);
    shell.ok(&["convert", "-q", "--to", "bloom", "-o", "again.gdn", "packed.gdn"]);
    assert_eq!(shell.read("again.gdn"), shell.read("bloom.gdn"));
    let piped = shell.pipe(&shell.read("packed.gdn"), &["convert", "-q", "--to", "bloom", "-o", "-", "-"]);
    assert_eq!(piped.quietly(), shell.read("bloom.gdn"));
}

#[test]
fn a_dcso_file_goes_through_our_format_without_loss() {
    let shell = shell();
    for kind in ["bloom", "compressed"] {
        let out = format!("{kind}-list.gdn");
        shell.ok(&["convert", "-q", "--to", kind, "-o", &out, "list.bloom"]);
        shell.ok(&["convert", "-q", "--force", "--to", "dcso", "-o", "again.bloom", &out]);
        assert_eq!(shell.read("again.bloom"), DCSO, "{kind}");
    }
    let piped = shell.pipe(DCSO, &["convert", "-q", "--to", "bloom", "-o", "-", "-"]);
    assert_eq!(piped.quietly(), shell.read("bloom-list.gdn"));
    let piped = shell.run(&["convert", "-q", "--to", "dcso", "-o", "-", "bloom-list.gdn"]);
    assert_eq!(piped.quietly(), DCSO);
}

#[test]
fn a_dcso_file_is_asked_as_it_is_and_answers_as_its_program() {
    let shell = shell();
    assert_eq!(shell.ok(&["query", "-c", "list.bloom", "list.txt"]), b"199\n");
    let truth: Value = serde_json::from_str(TRUTH).unwrap();
    let probes = truth["probes"].as_array().unwrap();
    let positive = truth["positives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| probes[at.as_u64().unwrap() as usize].as_str().unwrap().to_owned() + "\n");
    assert_eq!(shell.ok(&["query", "list.bloom", "probes.txt"]), positive.collect::<String>().into_bytes());
    let piped = shell.pipe(DCSO, &["query", "-c", "-", "list.txt"]);
    assert_eq!(piped.quietly(), b"199\n");

    let info = shell.ok(&["info", "list.bloom"]);
    let info = String::from_utf8(info).unwrap();
    assert!(info.contains("kind            bloom, in a DCSO file\n  hasher          fnv1\n"), "{info}");
    assert!(info.contains("planned for     200 keys at 2% false positives"), "{info}");
    let json: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "list.bloom"])).unwrap();
    assert_eq!((&json["format"], &json["counted_items"]), (&"dcso".into(), &198.into()));
    assert_eq!(json["metadata"], "gardenia interop\n");
    assert!(shell.run(&["info", "--verify", "list.bloom"]).complaint().contains("no checksums"));
    let told: Value =
        serde_json::from_slice(&shell.ok(&["diff", "--json", "list.bloom", "list.bloom"])).unwrap();
    assert!((told["jaccard"].as_f64().unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn a_dcso_filter_is_changed_in_our_format_and_given_back() {
    let shell = shell();
    let refused = shell.pipe(b"198.51.100.7\n", &["add", "list.bloom"]);
    assert!(refused.complaint().contains("list.bloom: a DCSO file is not changed here"), "{}", refused.err);
    assert!(refused.err.contains("hint: make a filter of it that can: gardenia convert --to bloom"));
    shell.ok(&["convert", "-q", "--to", "bloom", "-o", "list.gdn", "list.bloom"]);
    shell.pipe(b"198.51.100.7\n198.51.100.7\n", &["add", "-q", "list.gdn"]).quietly();
    shell.ok(&["convert", "-q", "--to", "dcso", "-o", "new.bloom", "list.gdn"]);
    assert_eq!(shell.read("new.bloom")[40..48], 199_u64.to_le_bytes());
    assert_eq!(
        shell.pipe(b"198.51.100.7\n198.51.100.8\n", &["query", "new.bloom"]).quietly(),
        b"198.51.100.7\n"
    );
    shell.ok(&["merge", "-q", "-o", "both.gdn", "list.bloom", "new.bloom"]);
    assert_eq!(shell.filter("both.gdn").about().counted_items(), Some(397));
}

#[test]
fn lines_become_the_dcso_file_that_the_program_makes() {
    let shell = shell();
    let args = ["convert", "-q", "--from", "keys", "--to", "dcso", "-n", "200", "-p", "2%", "-o"];
    shell.ok(&[&args[..], &["made.bloom", "list.txt"]].concat());
    let data = b"gardenia interop\n".len();
    assert_eq!(shell.read("made.bloom"), DCSO[..DCSO.len() - data]);
    // As many as there are, at 1 %, if nothing is said.
    let piped =
        shell.pipe(&numbers(0..500), &["convert", "--from", "keys", "--to", "dcso", "-o", "five.bloom"]);
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    let json: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "five.bloom"])).unwrap();
    assert_eq!((&json["planned_items"], &json["planned_fpp"]), (&500.into(), &0.01.into()));
    let few =
        shell.run(&["convert", "--from", "keys", "--to", "dcso", "-n", "10", "-o", "ten.bloom", "keys"]);
    assert!(few.code == Some(0) && few.err.contains("and 10 were planned"), "{}", few.err);
    let numbers =
        shell.pipe(b"7\n", &["convert", "-q", "--from", "keys", "--int", "--to", "dcso", "-o", "n.bloom"]);
    assert_eq!(numbers.code, Some(0));
    assert_eq!(shell.pipe(b"007\n", &["query", "--int", "n.bloom"]).quietly(), b"007\n");
}

#[test]
fn what_cannot_be_converted_is_said_with_what_can_be_done() {
    let shell = shell();
    for (args, reason, hint) in [
        (
            &["--to", "bloom", "blocked.gdn"][..],
            "blocked.gdn: a filter of kind blocked cannot become",
            "build --kind",
        ),
        (
            &["--to", "bloom", "scalable.gdn"],
            "scalable.gdn: a filter of kind scalable cannot",
            "build --kind",
        ),
        (&["--to", "bloom", "fuse.gdn"], "fuse.gdn: a filter of kind fuse cannot become", "build --kind"),
        (
            &["--to", "dcso", "bloom.gdn"],
            "bloom.gdn: a DCSO file has its own hash function, fnv1",
            "--from keys",
        ),
        (&["--to", "bloom", "bloom.gdn"], "bloom.gdn: the filter is of this kind already", ""),
        (&["--to", "compressed", "compressed.gdn"], "of this kind already", ""),
        (&["--to", "dcso", "list.bloom"], "list.bloom: the filter is of this kind already", ""),
        (&["--to", "bloom", "bloom.gdn", "counting.gdn"], "one filter is converted at a time", "merge"),
        (&["--to", "bloom"], "one filter is converted at a time", "merge"),
        (&["--to", "bloom", "--from", "keys", "keys"], "--from keys is for --to dcso", "gardenia build"),
        (&["--to", "bloom", "--fpp", "1%", "counting.gdn"], "a filter keeps its size", "leave them out"),
        (
            &["--to", "dcso", "--from", "keys", "-p", "2", "keys"],
            "must be greater than 0 and less than 1",
            "--fpp",
        ),
        (&["--to", "dcso", "--from", "keys", "missing"], "missing: No such file", ""),
        (&["--to", "bloom", "missing.gdn"], "missing.gdn: No such file", ""),
        (&["--to", "bloom", "keys"], "keys: not a Gardenia filter", ""),
        (&["--to", "bloom", "."], ".: ", ""),
    ] {
        let run = shell.run(&[&["convert", "-o", "out.gdn"], args].concat());
        assert!(run.complaint().contains(reason), "{args:?}: {}", run.err);
        assert!(run.err.contains(hint), "{args:?}: {}", run.err);
    }
    assert!(!shell.path("out.gdn").exists());
    shell.write("packed.bloom", [&[0x1f, 0x8b][..], &DCSO[2..]].concat());
    let packed = shell.run(&["convert", "--to", "bloom", "-o", "out.gdn", "packed.bloom"]);
    assert!(packed.complaint().contains("packed.bloom: a compressed file") && packed.err.contains("zcat"));
    shell.write("short.bloom", &DCSO[..100]);
    let short = shell.run(&["convert", "--to", "bloom", "-o", "out.gdn", "short.bloom"]);
    assert!(
        short.complaint().contains("short.bloom: truncated: 256 bytes needed, 100 there"),
        "{}",
        short.err
    );
}

#[test]
fn existing_files_are_replaced_only_by_force_and_whole_or_not_at_all() {
    let shell = shell();
    shell.write("out", "mine");
    for args in [&["--to", "bloom", "counting.gdn"][..], &["--to", "dcso", "--from", "keys", "keys"]] {
        let refused = shell.run(&[&["convert", "-o", "out"], args].concat());
        assert_eq!(refused.complaint(), "gardenia: out: already exists");
        assert_eq!(shell.read("out"), b"mine");
        shell.ok(&[&["convert", "-q", "--force", "-o", "out"], args].concat());
        assert_ne!(shell.read("out"), b"mine");
        shell.write("out", "mine");
        if has("/dev/full") {
            shell.run(&[&["convert", "-o", "/dev/full"], args].concat()).complaint();
        }
    }
    let before = shell.read("counting.gdn");
    let lost = shell.run(&["convert", "--force", "--to", "bloom", "-o", "counting.gdn", "counting.gdn"]);
    assert!(lost.complaint().contains("is one of the inputs"));
    assert_eq!(shell.read("counting.gdn"), before);
    let AnyFilter::Counting(filter) = shell.filter("counting.gdn") else { panic!("another kind") };
    assert!(answers(&AnyFilter::from(filter), &["7"])[0]);
}
