//! `gardenia merge`: merges filters.

use crate::common::{Shell, answers, has, kinds_with, numbers};
use gardenia::Ability;
use gardenia::spec::Param;

/// Kinds that can be united, and options that make them small.
const MERGING: [&[&str]; 8] = [
    &["--kind", "bloom"],
    &["--kind", "blocked"],
    &["--kind", "compressed"],
    &["--kind", "counting"],
    &["--kind", "spectral-ms"],
    &["--kind", "spectral-mi"],
    &["--kind", "spectral-ms", "--compact"],
    &["--kind", "choice", "--effort", "online"],
];

/// A shell with `a.gdn` of 0..1000, `b.gdn` of 500..1500 and `all.gdn` of all of them, built with
/// these options.
fn shell(options: &[&str]) -> Shell {
    let shell = Shell::new();
    shell.write("a", numbers(0..1000));
    shell.write("b", numbers(500..1500));
    for (out, keys) in [("a.gdn", &["a"][..]), ("b.gdn", &["b"]), ("all.gdn", &["a", "b"])] {
        shell.ok(&[&["build", "-q", "-o", out, "--items", "2000"], options, keys].concat());
    }
    shell
}

#[test]
fn a_union_is_the_filter_of_all_keys() {
    for options in MERGING {
        let shell = shell(options);
        let run = shell.run(&["merge", "-o", "u.gdn", "a.gdn", "b.gdn"]);
        assert_eq!((run.code, &*run.out), (Some(0), &b""[..]), "{}", run.err);
        assert!(run.err.starts_with("u.gdn: 2 filters merged; about "), "{}", run.err);
        let keys: Vec<String> = (0..1500).map(|key| key.to_string()).collect();
        assert!(answers(&shell.filter("u.gdn"), &keys).iter().all(|found| *found), "{options:?}");
        // Minimum increase and choices depend on the order; all others are the same bit for bit.
        if !["spectral-mi", "choice"].contains(&options[1]) {
            assert_eq!(shell.read("u.gdn"), shell.read("all.gdn"), "{options:?}");
        }
    }
}

#[test]
fn counts_add_up() {
    for options in [&["--kind", "counting"][..], &["--kind", "spectral-mi"]] {
        let shell = shell(options);
        shell.ok(&["merge", "-q", "-o", "u.gdn", "a.gdn", "b.gdn", "a.gdn"]);
        shell.write("some", "7\n700\n1400\nthistle\n");
        let counts = shell.ok(&["count", "u.gdn", "some"]);
        assert_eq!(counts, b"2\t7\n3\t700\n1\t1400\n0\tthistle\n");
    }
    let shell = Shell::new();
    shell.write("a", "rose\nrose\ntulip\n");
    for (update, hint) in [("plain", false), ("conservative", true)] {
        let options =
            ["build", "-q", "--kind", "count-min", "--update", update, "-o", "a.gdn", "--force", "a"];
        shell.ok(&options);
        let run = shell.run(&["merge", "--force", "-o", "u.gdn", "a.gdn", "a.gdn"]);
        assert_eq!(
            (run.code, run.err.contains("hint: built with --update plain")),
            (Some(0), hint),
            "{}",
            run.err
        );
        assert_eq!(shell.ok(&["count", "u.gdn", "a"]), b"4\trose\n4\trose\n2\ttulip\n");
    }
}

#[test]
fn an_intersection_finds_the_common_keys_and_tells_their_number() {
    for kind in kinds_with(Ability::Intersect, &[Param::Fpp]) {
        let shell = shell(&["--kind", kind, "--fpp", "1e-4"]);
        let run = shell.run(&["merge", "--intersect", "-o", "i.gdn", "a.gdn", "b.gdn"]);
        assert!(run.err.starts_with("i.gdn: intersection of 2 filters; about "), "{}", run.err);
        assert!(
            run.err.contains(" common keys; estimated") && run.err.contains("would have fewer"),
            "{}",
            run.err
        );
        let about: f64 = run.err.split("about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let error: f64 = run.err.split("± ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((about - 500.0).abs() <= 5.0 * error + 1.0 && error < 30.0, "{}", run.err);
        let filter = shell.filter("i.gdn");
        let found = |range: std::ops::Range<u64>| {
            let keys: Vec<String> = range.map(|key| key.to_string()).collect();
            answers(&filter, &keys).iter().filter(|found| **found).count()
        };
        assert_eq!(found(500..1000), 500);
        assert!(found(0..500) < 20 && found(1000..1500) < 20);
        let both = shell.run(&["merge", "-q", "--intersect", "-o", "-", "a.gdn", "b.gdn", "all.gdn"]);
        assert_eq!(both.quietly(), shell.read("i.gdn"));
    }
}

#[test]
fn what_differs_is_named_with_what_to_do() {
    let shell = shell(&["--kind", "bloom"]);
    let build = |out: &str, options: &[&str]| {
        shell.ok(&[&["build", "-q", "-o", out], options, &["a"]].concat());
    };
    build("seed.gdn", &["--kind", "bloom", "--items", "2000", "--seed", "7"]);
    build("size.gdn", &["--kind", "bloom", "--items", "3000"]);
    build("kind.gdn", &["--kind", "blocked", "--items", "2000"]);
    build("fuse.gdn", &["--kind", "fuse"]);
    build("ms.gdn", &["--kind", "spectral-ms", "--items", "2000"]);
    build("mi.gdn", &["--kind", "spectral-mi", "--items", "2000"]);
    build("rm.gdn", &["--kind", "spectral-rm", "--items", "2000"]);
    for (first, other, reason, hint) in [
        (
            "a.gdn",
            "seed.gdn",
            "seed.gdn is bloom seed=7, and a.gdn is bloom seed=0: ",
            "FILE holds: bloom items=2000 fpp=0.01",
        ),
        ("a.gdn", "size.gdn", "size.gdn is bloom items=", "--spec FILE, where FILE holds: bloom items="),
        ("a.gdn", "kind.gdn", "kind.gdn is blocked ", "--spec FILE"),
        (
            "ms.gdn",
            "mi.gdn",
            "mi.gdn is spectral policy=minimum-increase, and ms.gdn is spectral policy=minimum-selection",
            "same options",
        ),
        ("fuse.gdn", "fuse.gdn", "fuse.gdn: filters of kind fuse cannot be merged", "--kind blocked"),
        ("rm.gdn", "rm.gdn", "rm.gdn: filters of kind spectral cannot be merged", "spectral-ms"),
    ] {
        let run = shell.run(&["merge", "-o", "u.gdn", first, other]);
        assert!(run.complaint().contains(reason), "{}", run.err);
        assert!(run.err.lines().nth(1).is_some_and(|line| line.contains(hint)), "{}", run.err);
    }
    let intersect = shell.run(&["merge", "--intersect", "-o", "u.gdn", "ms.gdn", "ms.gdn"]);
    assert!(intersect.complaint().contains("filters of kind spectral cannot be intersected"));
    assert!(!shell.path("u.gdn").exists());
}

#[test]
fn files_that_are_no_filters_are_said_before_anything_is_written() {
    let shell = shell(&["--kind", "bloom"]);
    let whole = shell.read("b.gdn");
    shell.write("short.gdn", &whole[..whole.len() - 9]);
    for (path, reason) in [
        ("missing.gdn", "missing.gdn: No such file"),
        ("short.gdn", "short.gdn: truncated"),
        ("a", "a: not a Gardenia filter"),
        (".", ".: "),
    ] {
        let run = shell.run(&["merge", "-o", "u.gdn", "a.gdn", path]);
        assert!(run.complaint().starts_with(&format!("gardenia: {reason}")), "{}", run.err);
    }
    assert!(shell.run(&["merge", "-o", "u.gdn", "a.gdn"]).complaint().contains("2 values"));
    assert!(shell.run(&["merge", "-o", "u.gdn", "-", "-"]).complaint().contains("only one filter"));
    assert!(
        shell
            .run(&["merge", "-o", "nowhere/u.gdn", "a.gdn", "b.gdn"])
            .complaint()
            .contains("the directory nowhere")
    );
    assert!(!shell.path("u.gdn").exists());
    if has("/dev/full") {
        shell.run(&["merge", "-o", "/dev/full", "a.gdn", "b.gdn"]).complaint();
    }
}

#[test]
fn existing_files_are_replaced_only_by_force_and_inputs_never() {
    let shell = shell(&["--kind", "bloom"]);
    let before = shell.read("a.gdn");
    shell.write("u.gdn", "mine");
    let refused = shell.run(&["merge", "-o", "u.gdn", "a.gdn", "b.gdn"]);
    assert_eq!(refused.complaint(), "gardenia: u.gdn: already exists");
    assert_eq!(shell.read("u.gdn"), b"mine");
    shell.ok(&["merge", "--force", "-o", "u.gdn", "a.gdn", "b.gdn"]);
    assert_eq!(shell.read("u.gdn"), shell.read("all.gdn"));
    let lost = shell.run(&["merge", "--force", "-o", "a.gdn", "a.gdn", "b.gdn"]);
    assert!(lost.complaint().contains("is one of the inputs"));
    assert_eq!(shell.read("a.gdn"), before);
    // By pipes, too.
    let piped = shell.pipe(&before, &["merge", "-q", "-o", "-", "-", "b.gdn"]);
    assert_eq!(piped.quietly(), shell.read("all.gdn"));
}

#[test]
fn keyed_filters_need_their_secret_and_too_many_keys_are_warned_of() {
    let shell = Shell::new();
    shell.write("a", numbers(0..1000));
    shell.write("b", numbers(1000..2000));
    shell.write("secret", "000102030405060708090a0b0c0d0e0f\n");
    for key in ["a", "b"] {
        let out = format!("{key}.gdn");
        shell.ok(&["build", "-q", "-o", &out, "--items", "1000", "--secret-file", "secret", key]);
    }
    assert!(
        shell.run(&["merge", "-o", "u.gdn", "a.gdn", "b.gdn"]).complaint().contains("the filter is keyed")
    );
    let run = shell.run(&["merge", "-o", "u.gdn", "--secret-file", "secret", "a.gdn", "b.gdn"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.err.contains("warning: each was planned for 1,000 keys: false-positive rate "),
        "{}",
        run.err
    );
    let quiet =
        shell.run(&["merge", "-q", "--force", "-o", "u.gdn", "--secret-file", "secret", "a.gdn", "b.gdn"]);
    assert_eq!(&*quiet.err, "");
}

#[test]
fn filters_without_room_for_each_other_are_told_so() {
    let shell = Shell::new();
    shell.write("a", numbers(0..1000));
    shell.write("b", numbers(1000..2000));
    for key in ["a", "b"] {
        shell.ok(&["build", "-q", "--kind", "quotient", "-o", &format!("{key}.gdn"), key]);
    }
    let run = shell.run(&["merge", "-o", "u.gdn", "a.gdn", "b.gdn"]);
    assert!(run.complaint().contains("b.gdn: holds 1000 keys, and a.gdn has room for "), "{}", run.err);
    assert!(run.err.contains("hint: build each of them with --items for the keys of all"), "{}", run.err);
}
