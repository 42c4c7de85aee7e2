//! `gardenia build`: where it writes, what it refuses, what it says.

use crate::common::{FILLING, Run, Shell, answers, finish_by_itself, has, keeping, kinds, numbers};
use gardenia::AnyFilter;
use gardenia::index::SchemeId;
use std::process::{Command, Stdio};

fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..10_000));
    shell
}

#[test]
fn nothing_is_overwritten_without_force() {
    let shell = shell();
    shell.write("f.gdn", "precious");
    let run = shell.run(&["build", "-o", "f.gdn", "keys"]);
    assert_eq!(run.complaint(), "gardenia: f.gdn: already exists");
    assert!(run.err.contains("hint: --force"), "{}", run.err);
    assert_eq!(shell.read("f.gdn"), b"precious");
    shell.ok(&["build", "--force", "-o", "f.gdn", "keys"]);
    assert_eq!(answers(&shell.filter("f.gdn"), &["42"]), [true]);
}

#[test]
fn an_input_that_cannot_be_read_leaves_no_output() {
    let shell = shell();
    shell.write("old.gdn", "precious");
    std::fs::create_dir(shell.path("folder")).unwrap();
    for bad in ["missing", "folder"] {
        for order in [["keys", bad], [bad, "keys"]] {
            let run = shell.run(&[&["build", "-o", "new.gdn"], &order[..]].concat());
            assert!(run.complaint().starts_with(&format!("gardenia: {bad}: ")), "{}", run.err);
            assert!(!shell.path("new.gdn").exists());
            shell
                .run(&[&["build", "--force", "-o", "old.gdn", "--items", "10"], &order[..]].concat())
                .complaint();
            assert_eq!(shell.read("old.gdn"), b"precious");
        }
    }
    let left: Vec<_> =
        std::fs::read_dir(shell.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}"); // keys, old.gdn, folder
}

#[test]
fn an_input_is_not_replaced_by_its_filter() {
    let shell = shell();
    let run = shell.run(&["build", "--force", "-o", "./keys", "keys"]);
    assert!(run.complaint().contains("one of the inputs"), "{}", run.err);
    assert_eq!(shell.read("keys"), numbers(0..10_000));
}

#[test]
fn an_output_that_cannot_be_is_refused_before_the_keys_are_read() {
    let shell = shell();
    for output in [".", "missing/f.gdn", "keys/f.gdn"] {
        let child = shell.command(&["build", "-o", output]).stdin(Stdio::piped()).spawn().unwrap();
        let run = finish_by_itself(child);
        assert!(run.complaint().starts_with(&format!("gardenia: {output}: ")), "{}", run.err);
    }
}

#[test]
fn counted_kept_aside_or_planned_the_filter_is_the_same() {
    for kind in kinds() {
        let shell = shell();
        let build = |args: &[&str]| shell.ok(&[&["build", "--kind", kind], args].concat());
        let quiet = ["build", "-q", "--kind", kind];
        build(&["-o", "counted.gdn", "keys"]);
        build(&["-o", "planned.gdn", "--items", "10k", "--fpp", "1/100", "keys"]);
        let aside = shell.pipe(&numbers(0..10_000), &quiet).quietly();
        assert_eq!(shell.read("counted.gdn"), shell.read("planned.gdn"));
        assert_eq!(shell.read("counted.gdn"), aside);
        // A file and a pipe together, and a file in two pieces.
        shell.write("first", numbers(0..5_000));
        let both = [&quiet[..], &["first", "-"]].concat();
        assert_eq!(shell.pipe(&numbers(5_000..10_000), &both).quietly(), aside);
        shell.write("second", numbers(5_000..10_000));
        assert_eq!(shell.run(&[&quiet[..], &["first", "second"]].concat()).quietly(), aside);
    }
}

#[test]
fn a_filter_is_blocked_unless_another_kind_is_asked_for() {
    let shell = shell();
    for (args, kind, scheme) in [
        (&[][..], "blocked", None),
        (&["--kind", "blocked"], "blocked", None),
        (&["--kind", "bloom"], "bloom", Some("fractional")),
        (&["-k", "bloom", "--scheme", "double"], "bloom", Some("double")),
        (&["--scheme", "double"], "bloom", Some("double")), // which only this kind has
    ] {
        shell.ok(&[&["build", "--force", "-o", "f.gdn", "keys"], args].concat());
        let id = shell.filter("f.gdn").identity();
        assert_eq!((id.kind.name(), id.scheme.map(SchemeId::name)), (kind, scheme), "{args:?}");
    }
}

#[test]
fn a_million_keys_kept_aside_lose_none() {
    let shell = Shell::new();
    let text = numbers(0..1_100_000); // more than one piece of a million digests
    let filter = shell.pipe(&text, &["build", "-q"]).quietly();
    shell.write("keys", &text);
    assert_eq!(shell.run(&["build", "-q", "keys"]).quietly(), filter);
}

#[test]
fn a_given_shape_is_kept() {
    let shell = shell();
    let shape = |kind: &str, args: &[&str]| {
        shell.ok(&[&["build", "--force", "-o", "f.gdn", "keys", "--kind", kind], args].concat());
        let id = shell.filter("f.gdn").identity();
        (id.cells, id.hashes)
    };
    assert_eq!(shape("bloom", &["--bits", "1M", "--hashes", "3"]), (1_000_000, 3));
    assert_eq!(shape("bloom", &["--bits", "64KiB", "--hashes", "9"]), (64 << 13, 9));
    assert_eq!(shape("bloom", &["--bits", "80k"]), (80_000, 6)); // the best number for 10,000 keys
    assert_eq!(shape("bloom", &["--bits", "80k", "--items", "20k"]), (80_000, 3));
    // Whole blocks of 512 bits.
    assert_eq!(shape("blocked", &["--bits", "1M", "--hashes", "3"]), (1_000_448, 3));
    assert_eq!(shape("blocked", &["--bits", "64KiB", "--hashes", "16"]), (64 << 13, 16));
    assert_eq!(shape("blocked", &["--bits", "80k"]), (80_384, 5));
    assert_eq!(shape("blocked", &["--bits", "80k", "--items", "20k"]), (80_384, 3));
}

#[test]
fn every_scheme_and_seed_can_be_asked_again() {
    let shell = shell();
    for scheme in SchemeId::ALL.map(SchemeId::name) {
        let args = ["build", "--force", "-q", "-o", "f.gdn", "--scheme", scheme, "--seed", "0xfeed", "keys"];
        shell.run(&args).quietly();
        assert_eq!(shell.ok(&["query", "-c", "f.gdn", "keys"]), b"10000\n", "{scheme}");
        let info = String::from_utf8(shell.ok(&["info", "--json", "f.gdn"])).unwrap();
        assert!(
            info.contains(&format!("\"scheme\":\"{scheme}\"")) && info.contains("\"seed\":65261"),
            "{info}"
        );
    }
    let seeded = |seed: &str| {
        shell.ok(&["build", "--force", "-o", "f.gdn", "--kind", "blocked", "--seed", seed, "keys"]);
        assert_eq!(shell.ok(&["query", "-c", "f.gdn", "keys"]), b"10000\n", "{seed}");
        shell.read("f.gdn")
    };
    assert_ne!(seeded("1"), seeded("2"));
}

#[test]
fn a_summary_says_what_was_done_and_quiet_says_nothing() {
    let shell = shell();
    let keys = numbers(0..100_000).repeat(3); // many blocks
    let run = shell.pipe(&keys, &["build", "--fpp", "1e-9", "-o", "f.gdn"]);
    assert_eq!(run.err.lines().count(), 1);
    assert!(run.err.starts_with("f.gdn: 300,000 keys read, 100,000 certainly new; "), "{}", run.err);
    assert!(run.err.contains(" bits (") && run.err.contains("false positives 1 in "), "{}", run.err);
    assert_eq!(shell.run(&["build", "-q", "-o", "g.gdn", "keys"]).err, "");
}

#[test]
fn more_keys_than_planned_give_a_warning_with_the_rate() {
    for kind in FILLING {
        let shell = shell();
        let run = shell.run(&["build", "-q", "--kind", kind, "--items", "5000", "-o", "f.gdn", "keys"]);
        assert_eq!(run.code, Some(0));
        let line = run.err.lines().next().unwrap();
        assert!(line.contains("warning") && line.contains("5,000 were planned"), "{line}");
        let rate = shell.filter("f.gdn").fpp();
        assert!(line.contains(&format!("{:.1}%", rate * 100.0)) && line.ends_with("not 1%"), "{line}");
        // What the hint advises is right: then there is no warning.
        let items = run.err.trim_end().rsplit(' ').next().unwrap();
        let again = shell.run(&["build", "-q", "--kind", kind, "--items", items, "-o", "again.gdn", "keys"]);
        assert_eq!((again.code, &*again.err), (Some(0), ""));
        // Repeats fill nothing, and are no reason to warn.
        let repeats = numbers(0..1000).repeat(10);
        let args = ["build", "-q", "--kind", kind, "--items", "1000", "-o", "g.gdn"];
        let run = shell.pipe(&repeats, &args);
        // Counters have a largest count; that is another warning.
        assert!(
            !run.err.contains("were planned") && (kind == "counting" || run.err.is_empty()),
            "{}",
            run.err
        );
    }
}

#[test]
fn an_empty_list_makes_a_filter_that_finds_nothing() {
    let shell = shell();
    shell.write("empty", "");
    shell.ok(&["build", "-o", "f.gdn", "empty"]);
    let run = shell.run(&["query", "-c", "f.gdn", "keys"]);
    assert_eq!((run.code, run.text()), (Some(1), "0\n"));
    assert_eq!(shell.pipe(b"", &["build", "-q"]).quietly(), shell.read("f.gdn"));
}

#[test]
fn wrong_numbers_are_named_with_their_option() {
    let shell = shell();
    for (args, parts) in [
        (&["--items", "ten"][..], &["\"ten\"", "--items"][..]),
        (&["--items", "-5"], &["\"-5\"", "--items"]),
        (&["--items", "1.5"], &["\"1.5\"", "--items", "not a whole number"]),
        (&["--items", "1e30"], &["\"1e30\"", "--items", "too large"]),
        (&["--items", "0"], &["--items is \"0\"", "at least 1"]),
        (&["--items", "1e13"], &["--items", "cells are more than"]),
        (&["--fpp", "low"], &["\"low\"", "--fpp"]),
        (&["--fpp", "1/0"], &["\"1/0\"", "--fpp"]),
        (&["--fpp", "nan"], &["\"nan\"", "--fpp"]),
        (&["--fpp", "0"], &["--fpp is \"0\"", "between 0 and 1"]),
        (&["--fpp", "100%"], &["--fpp is \"100%\"", "between 0 and 1"]),
        (&["--fpp", "-0.5"], &["--fpp is \"-0.5\"", "between 0 and 1"]),
        (&["--fpp", "1e-30"], &["--fpp", "64-bit digests"]),
        (&["--bits", "0", "--hashes", "3"], &["--bits", "at least 1 cell"]),
        (&["--bits", "big"], &["\"big\"", "--bits"]),
        (&["--bits", "2T", "--hashes", "3"], &["--bits", "more than a filter can have"]),
        (&["--fpp", "1e-12"], &["blocked filter", "rate this low", "kind bloom"]),
        (&["--fpp", "1e-6", "--items", "1e13"], &["--items", "cells are more than"]), // no kind could
        (&["--bits", "1M", "--hashes", "0"], &["--hashes is \"0\"", "between 1 and 255"]),
        (&["--bits", "1M", "--hashes", "17"], &["between 1 and 16\n", "kind bloom, which accepts more"]),
        (&["--kind", "bloom", "--bits", "1M", "--hashes", "0"], &["--hashes", "between 1 and 255"]),
        (&["--kind", "bloom", "--bits", "1M", "--hashes", "256"], &["--hashes", "between 1 and 255"]),
        (
            &["--kind", "blocked", "--scheme", "double"],
            &["has no --scheme", "hint: leave it out", "such as bloom"],
        ),
        (&["--kind", "bloked"], &["'bloked'", "--kind", "'blocked'"]),
        (&["--bits", "1M", "--hashes", "many"], &["\"many\"", "--hashes"]),
        (&["--hashes", "3"], &["--hashes", "--bits"]),
        (&["--kind", "bloom", "--decrements", "3"], &["--decrements", "such as stable"]),
        (&["--kind", "spectral-mi", "--no-marker"], &["--no-marker", "--policy recurring-minimum"]),
        (&["--kind", "a2", "--width", "3"], &["--width", "such as counting"]),
        (&["--kind", "stable", "--compact"], &["--compact", "such as spectral"]),
        (&["--kind", "counting", "--digit", "3"], &["--digit", "such as bitwise"]),
        (
            &["--kind", "stable", "--cells", "1k", "--hashes", "3", "--decrements", "0"],
            &["--decrements is \"0\"", "at least 1"],
        ),
        (&["--kind", "a2", "--items", "0"], &["0"]),
        (&["--bits", "1M", "--fpp", "1%"], &["--bits", "--fpp"]),
        (&["--scheme", "doubel"], &["'doubel'", "--scheme", "'double'"]),
        (&["--seed", "x"], &["\"x\"", "--seed"]),
        (&["--seed", "1", "--secret", "000102030405060708090a0b0c0d0e0f"], &["--seed", "secret"]),
        (&["--store-secret"], &["--store-secret", "--secret"]),
    ] {
        let run = shell.run(&[&["build", "-o", "f.gdn", "keys"], args].concat());
        run.complaint();
        parts.iter().for_each(|part| assert!(run.err.contains(part), "{args:?}: {}", run.err));
        assert!(!shell.path("f.gdn").exists());
    }
}

#[test]
fn what_a_kind_cannot_have_the_other_takes_as_the_hint_says() {
    let shell = shell();
    for args in [&["--fpp", "1e-12"][..], &["--bits", "1M", "--hashes", "17"]] {
        let run = |kind: &str| -> Run {
            shell.run(&[&["build", "--force", "-o", "f.gdn", "keys", "--kind", kind], args].concat())
        };
        assert!(run("blocked").complaint().len() < 100 && run("blocked").err.contains("kind bloom"));
        assert_eq!(run("bloom").code, Some(0));
    }
}

#[test]
fn options_that_exclude_each_other_are_refused_before_the_keys_are_read() {
    let args = ["build", "-o", "f.gdn", "--kind", "blocked", "--scheme", "double"];
    let run = finish_by_itself(shell().command(&args).stdin(Stdio::piped()).spawn().unwrap());
    assert_eq!(run.complaint(), "gardenia: a filter of kind blocked has no --scheme");
}

#[test]
fn memory_is_refused_before_it_is_taken() {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if kilobytes.is_none_or(|kilobytes| kilobytes > 130_000_000) || !has("/dev/full") {
        return; // 2⁴⁰ bits might really be had
    }
    let shell = shell();
    for kind in kinds() {
        // Were it not refused, /dev/full would end it before it fills a disk.
        let hashes: &[&str] = if kind == "sbbf" { &[] } else { &["--hashes", "3"] }; // which always has 8
        let args = ["build", "-o", "/dev/full", "--kind", kind, "--bits", "1Ti", "keys"];
        let run = shell.run(&[&args[..], hashes].concat());
        let complaint = run.complaint();
        assert!(
            complaint.contains("needs 137 GB of memory") && complaint.contains("is available"),
            "{complaint}"
        );
        assert!(run.err.contains("--bits"), "{}", run.err);
    }
}

#[test]
fn a_named_pipe_is_written_to_and_not_replaced() {
    let shell = shell();
    if !Command::new("mkfifo").arg(shell.path("fifo")).status().is_ok_and(|status| status.success()) {
        return;
    }
    let fifo = shell.path("fifo");
    let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
    shell.ok(&["build", "-o", "fifo", "keys"]);
    assert!(!std::fs::metadata(shell.path("fifo")).unwrap().is_file());
    let filter = AnyFilter::from_bytes(&reader.join().unwrap()).unwrap();
    assert_eq!(answers(&filter, &["42"]), [true]);
}

#[test]
fn a_filter_is_never_written_to_a_terminal() {
    if !has("/usr/bin/script") {
        return; // lends us a terminal
    }
    let shell = shell();
    let command = format!("'{}' build '{}'", env!("CARGO_BIN_EXE_gardenia"), shell.path("keys").display());
    let output = Command::new("/usr/bin/script").args(["-qec", &command, "/dev/null"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("gardenia: refusing to write a binary filter to the terminal"), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

const SECRET: &str = "000102030405060708090a0b0c0d0e0f";

#[test]
fn a_keyed_filter_answers_only_to_its_secret() {
    let shell = shell();
    shell.write("secret", format!("{SECRET}\n"));
    shell.write("other", "ff".repeat(16));
    let secret: Vec<u8> = (0..16).collect();
    let holds_secret = |name: &str| shell.read(name).windows(16).any(|window| window == secret);
    for kind in keeping() {
        let build =
            |args: &[&str]| shell.ok(&[&["build", "--force", "--kind", kind], args, &["keys"]].concat());
        build(&["-o", "f.gdn", "--secret-file", "secret"]);
        assert_eq!(shell.ok(&["query", "-c", "--secret-file", "secret", "f.gdn", "keys"]), b"10000\n");
        assert_eq!(shell.ok(&["query", "-c", "--secret", SECRET, "f.gdn", "keys"]), b"10000\n");
        let run = shell.run(&["query", "f.gdn", "keys"]);
        assert!(run.complaint().starts_with("gardenia: f.gdn: the filter is keyed"), "{}", run.err);
        assert!(run.err.contains("--secret-file") && !run.err.contains("ReadOptions"), "{}", run.err);
        let run = shell.run(&["query", "--secret-file", "other", "f.gdn", "keys"]);
        assert!(run.complaint().contains("keyed with the secret of id"), "{}", run.err);
        assert!(!holds_secret("f.gdn"));

        build(&["-o", "open.gdn", "--secret", SECRET, "--store-secret"]);
        assert!(holds_secret("open.gdn"));
        assert_eq!(shell.ok(&["query", "-c", "open.gdn", "keys"]), b"10000\n");
    }
}

#[test]
fn a_wrong_secret_is_refused_and_not_repeated() {
    let shell = shell();
    for wrong in ["", "12", "0001020304050607zz090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f00"] {
        shell.write("secret", wrong);
        let run = shell.run(&["build", "-o", "f.gdn", "--secret-file", "secret", "keys"]);
        assert!(run.complaint().starts_with("gardenia: secret: a secret has"), "{}", run.err);
        let given = shell.run(&["build", "-o", "f.gdn", "--secret", wrong, "keys"]);
        assert!(given.complaint().starts_with("gardenia: --secret: a secret has"), "{}", given.err);
        assert!(wrong.len() < 9 || !(run.err + &given.err).contains(&wrong[..9]));
    }
    let run = shell.run(&["build", "-o", "f.gdn", "--secret-file", "gone", "keys"]);
    assert!(run.complaint().starts_with("gardenia: gone: "), "{}", run.err);
}

#[test]
fn a_filter_keeps_to_its_memory() {
    let shell = Shell::new();
    shell.write("keys.txt", numbers(0..100_000));
    for kind in ["blocked", "bloom", "counting", "a2"] {
        shell.ok(&["build", "--force", "--kind", kind, "--memory", "100kB", "-o", "f.gdn", "keys.txt"]);
        let bytes = shell.filter("f.gdn").memory_bytes();
        assert!((98_000..=100_000).contains(&bytes), "{kind}: {bytes}");
    }
    let run = shell.run(&["build", "--memory", "100kB", "--fpp", "0.01%", "-o", "no.gdn", "keys.txt"]);
    assert!(run.complaint().contains("and --memory allows 100 kB"), "{}", run.err);
    let run = shell.run(&["build", "--kind", "ribbon", "--memory", "10kB", "-o", "no.gdn", "keys.txt"]);
    assert!(run.complaint().contains("and --memory allows 10"), "{}", run.err);
    let run = shell.run(&["build", "--kind", "scalable", "--memory", "10kB", "-o", "no.gdn", "keys.txt"]);
    assert!(run.complaint().contains("and --memory allows 10"), "{}", run.err);
    assert!(!shell.path("no.gdn").exists());
}

#[test]
fn a_full_filter_does_as_it_is_told() {
    let shell = Shell::new();
    shell.write("keys.txt", numbers(0..10_000));
    let build = |options: &[&str]| {
        shell.run(&[&["build", "--force", "--items", "1000", "-o", "f.gdn"], options, &["keys.txt"]].concat())
    };
    let run = build(&[]);
    assert!(run.code == Some(0) && run.err.contains("warning: at least"), "{}", run.err);
    std::fs::remove_file(shell.path("f.gdn")).unwrap();
    let run = build(&["--on-full", "error"]);
    assert!(run.complaint().contains("more than 1,000 distinct keys were added"), "{}", run.err);
    assert!(!shell.path("f.gdn").exists());
    let run = build(&["--on-full", "grow"]);
    assert!(run.code == Some(0) && !run.err.contains("warning"), "{}", run.err);
    assert!(shell.filter("f.gdn").fpp() < 0.01);
    assert!(build(&["--on-full", "grow", "--kind", "bloom"]).complaint().contains("does not grow"));

    shell.write("few.txt", numbers(0..100));
    shell.ok(&["build", "--force", "--items", "1000", "-o", "f.gdn", "few.txt"]);
    let before = shell.read("f.gdn");
    let run = shell.run(&["add", "--on-full", "error", "f.gdn", "keys.txt"]);
    assert!(run.complaint().contains("f.gdn: more than 1,000 distinct keys were added"), "{}", run.err);
    assert!(
        shell.run(&["add", "--on-full", "grow", "f.gdn", "few.txt"]).complaint().contains("does not grow")
    );
    assert_eq!(shell.read("f.gdn"), before);
    let run = shell.run(&["add", "f.gdn", "keys.txt"]);
    assert!(run.code == Some(0) && run.err.contains("; it was planned for 1,000 keys"), "{}", run.err);
}
