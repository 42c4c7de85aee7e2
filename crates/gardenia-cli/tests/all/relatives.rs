//! The relatives at the shell: static sets, filters that grow, that give lines back, and that are
//! small in files.

use crate::common::{Shell, answers, kinds_with, numbers};
use gardenia::spec::Param;
use gardenia::{Ability, AnyFilter, Kind};

/// Kinds whose rate is asked for and whose lines stay, with the kind in the file.
fn kinds() -> impl Iterator<Item = &'static str> {
    let stays = |kind: &Kind| !kind.can(Ability::Forget) && kind.holds_keys();
    let rated = |kind: &Kind| kind.can(Ability::Estimate) && kind.params().contains(&Param::Fpp);
    Kind::ALL.into_iter().filter(stays).filter(rated).map(Kind::name)
}

/// A shell with 20,000 lines, and each of them twice.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..20_000));
    shell.write("twice", [numbers(0..20_000), numbers(0..20_000)].concat());
    shell
}

#[test]
fn no_line_is_lost_and_absent_ones_are_found_as_rarely_as_asked() {
    let shell = shell();
    shell.write("absent", numbers(1_000_000..1_100_000));
    for kind in kinds() {
        for input in ["keys", "twice"] {
            shell.ok(&["build", "--force", "--kind", kind, "--fpp", "1%", "-o", "f.gdn", input]);
            let filter = shell.filter("f.gdn");
            assert_eq!(filter.kind().name(), kind);
            assert_eq!(shell.ok(&["query", "-c", "f.gdn", "keys"]), b"20000\n", "{kind}");
            let found = shell.run(&["query", "-c", "f.gdn", "absent"]);
            let found: f64 = found.text().trim().parse().unwrap();
            assert!(found < 1_000.0 + 5.0 * f64::sqrt(1_000.0), "{kind}: {found}");
            // Where copies take room, the rate is told as if all that is in were distinct.
            // In a filter that has grown the first ones, with the shortest fingerprints, make nearly all of it.
            let distinct = !filter.can(Ability::Copies) || filter.can(Ability::Grow) || input == "keys";
            let copies = if distinct { 1.0 } else { 2.0 };
            let told = filter.fpp() * 1e5 / copies;
            assert!((found - told).abs() < 5.0 * told.sqrt().max(1.0), "{kind}: {found}, told {told}");
        }
    }
}

#[test]
fn a_pipe_gives_the_filter_of_the_file() {
    let shell = shell();
    for kind in kinds() {
        shell.ok(&["build", "--force", "-q", "--kind", kind, "-o", "file.gdn", "keys"]);
        shell
            .pipe(&numbers(0..20_000), &["build", "--force", "-q", "--kind", kind, "-o", "pipe.gdn"])
            .quietly();
        assert_eq!(shell.read("file.gdn"), shell.read("pipe.gdn"), "{kind}");
    }
}

#[test]
fn growing_filters_take_any_number_of_lines_and_keep_their_promise() {
    let shell = shell();
    for kind in kinds_with(Ability::Grow, &[Param::Items]) {
        shell
            .pipe(b"rose\n", &["build", "-q", "--force", "--kind", kind, "--items", "100", "-o", "f.gdn"])
            .quietly();
        let run = shell.run(&["add", "f.gdn", "twice"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(!run.err.contains("warning"), "{}", run.err);
        assert_eq!(shell.ok(&["query", "-c", "f.gdn", "keys"]), b"20000\n");
        assert!(answers(&shell.filter("f.gdn"), &["rose"])[0]);
        if kind == "scalable" {
            assert!(shell.filter("f.gdn").fpp() <= 0.01);
        }
    }
    let run = shell.run(&["build", "--kind", "dynamic", "-o", "d.gdn", "twice"]);
    assert!(run.err.starts_with("d.gdn: 40,000 keys read, 19,"), "{}", run.err);
    assert!(!run.err.contains("warning"), "{}", run.err);
    let AnyFilter::Dynamic(filter) = shell.filter("d.gdn") else { panic!("another kind") };
    assert_eq!(filter.layers().collect::<Vec<_>>(), [40_000]); // a copy is one of its lines
    let run = shell.run(&["build", "--force", "--kind", "dynamic", "--items", "10k", "-o", "d.gdn", "twice"]);
    assert!(run.err.contains("warning: 40,000 lines in layers of 10,000: false positives 3."), "{}", run.err);
    assert!(run.err.contains("hint: build it again with --items 40000"), "{}", run.err);
    let AnyFilter::Dynamic(filter) = shell.filter("d.gdn") else { panic!("another kind") };
    assert_eq!(filter.layers().collect::<Vec<_>>(), [10_000; 4]);
}

#[test]
fn lines_are_taken_out_of_fingerprints_and_layers() {
    for kind in ["cuckoo", "dynamic"] {
        let shell = shell();
        let build = ["build", "--kind", kind, "--fpp", "1e-6", "--items", "50000", "-o", "f.gdn", "twice"];
        shell.ok(&build);
        shell.write("some", numbers(100..300));
        for (found, all, counts) in
            [("200\n", "20000\n", "2\t5\n1\t150\n"), ("0\n", "19800\n", "2\t5\n0\t150\n")]
        {
            let run = shell.run(&["remove", "f.gdn", "some"]);
            assert_eq!(run.code, Some(0), "{}", run.err);
            assert!(run.err.contains("200 keys read, 200 removed;"), "{kind}: {}", run.err);
            assert_eq!(shell.run(&["query", "-c", "f.gdn", "some"]).text(), found, "{kind}");
            assert_eq!(shell.run(&["query", "-c", "f.gdn", "keys"]).text(), all, "{kind}");
            assert_eq!(shell.pipe(b"5\n150\n", &["count", "f.gdn"]).text(), counts, "{kind}");
        }
    }
}

#[test]
fn a_line_that_several_layers_claim_stays_and_that_is_reported() {
    let shell = shell();
    shell.ok(&["build", "--kind", "dynamic", "--fpp", "1e-6", "--items", "10000", "-o", "f.gdn", "twice"]);
    let run = shell.pipe(b"5\nrose\n", &["remove", "f.gdn"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    let report =
        "2 keys read, 0 removed, 1 not in the filter, 1 could not be removed (several layers may hold them);";
    assert!(run.err.contains(report), "{}", run.err);
    assert_eq!(shell.pipe(b"5\n", &["count", "f.gdn"]).text(), "2\t5\n");
}

#[test]
fn a_full_filter_says_so_and_nothing_is_written() {
    let shell = shell();
    let run = shell.run(&["build", "--kind", "cuckoo", "--items", "100", "-o", "f.gdn", "keys"]);
    assert_eq!(run.complaint(), "gardenia: the filter is full");
    assert!(run.err.contains("hint: build it again with more --items") && !shell.path("f.gdn").exists());
    shell
        .pipe(&numbers(0..100), &["build", "-q", "--kind", "cuckoo", "--items", "100", "-o", "f.gdn"])
        .quietly();
    let before = shell.read("f.gdn");
    assert_eq!(shell.run(&["add", "f.gdn", "keys"]).complaint(), "gardenia: f.gdn: the filter is full");
    assert_eq!(shell.read("f.gdn"), before);
}

#[test]
fn a_compressed_file_is_as_small_as_asked_and_answers_from_memory() {
    let shell = shell();
    shell.ok(&[
        "build",
        "--kind",
        "compressed",
        "--wire",
        "8",
        "--memory-per-key",
        "14",
        "-o",
        "f.gdn",
        "keys",
    ]);
    let bits = shell.read("f.gdn").len() as f64 * 8.0 / 20_000.0;
    assert!((7.6..8.2).contains(&bits), "{bits}"); // with the header: 0.1 bits per line
    let AnyFilter::Compressed(filter) = shell.filter("f.gdn") else { panic!("another kind") };
    assert!(filter.bits() <= 14 * 20_000 && filter.bits() > 13 * 20_000 && filter.hashes() == 2);
    let info = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
    assert!(info.contains("range-coded in files: about "), "{info}");
}

#[test]
fn options_that_a_relative_has_not_are_said() {
    let shell = shell();
    for (options, reason) in [
        (&["--kind", "ribbon", "--bits", "8M"][..], "a filter of kind ribbon has no --bits"),
        (&["--kind", "golomb", "--fingerprint", "8"], "a filter of kind golomb has no --fingerprint"),
        (&["--kind", "cuckoo", "--scheme", "double"], "a filter of kind cuckoo has no --scheme"),
        (&["--kind", "scalable", "--bits", "8M"], "a filter of kind scalable has no --bits"),
        (&["--kind", "dynamic", "--cells", "80"], "--cells is given alone"),
        (&["--kind", "bloom", "--wire", "8"], "a filter of kind bloom has no --wire"),
        (&["--kind", "ribbon", "--memory-per-key", "8"], "a filter of kind ribbon has no --memory-per-key"),
        (&["--kind", "ribbon", "--fingerprint", "33"], "--fingerprint is \"33\""),
        (&["--kind", "cuckoo", "--cells", "80"], "--cells is given alone"),
        (&["--kind", "golomb", "--fpp", "2"], "--fpp is \"2\""),
        (&["--kind", "scalable", "--fpp", "0"], "--fpp is \"0\""),
        (&["--kind", "compressed", "--fpp", "1e-9"], "more bits per key in memory"),
        (&["--kind", "compressed", "--fpp", "1%", "--wire", "8"], "--wire and --fpp are both given"),
    ] {
        let run = shell.run(&[&["build", "-o", "f.gdn", "keys"], options].concat());
        assert!(run.complaint().contains(reason), "{}", run.err);
        assert!(!shell.path("f.gdn").exists());
    }
}
