//! Static kinds: built of all lines at once, asked like any other, and closed to new lines.

use crate::common::{Shell, answers, numbers};
use gardenia::AnyFilter;

fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..20_000));
    shell
}

#[test]
fn a_fuse_filter_of_a_file_and_of_a_pipe_is_the_same() {
    let shell = shell();
    shell.ok(&["build", "--kind", "fuse", "-o", "file.gdn", "keys"]);
    // Each line twice, from a pipe.
    let run = shell.pipe(
        &[numbers(0..20_000), numbers(0..20_000)].concat(),
        &["build", "--kind", "fuse", "-o", "pipe.gdn"],
    );
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("40,000 keys read, 20,000 certainly new"), "{}", run.err);
    assert_eq!(shell.read("file.gdn"), shell.read("pipe.gdn"));
    assert_eq!(answers(&shell.filter("file.gdn"), &["0", "19999"]), [true, true]);
    let found = shell.ok(&["query", "-c", "file.gdn", "keys"]);
    assert_eq!(str::from_utf8(&found).unwrap().trim(), "20000");
}

#[test]
fn fingerprint_rate_and_arity_choose_the_form() {
    let shell = shell();
    for (options, width, arity) in [
        (&[][..], 8, 3),
        (&["--fingerprint", "32"], 32, 3),
        (&["--fpp", "1/1000", "--arity", "4"], 16, 4),
        (&["--fpp", "1%"], 8, 3),
    ] {
        shell.ok(&[&["build", "--force", "--kind", "fuse", "-o", "f.gdn", "keys"], options].concat());
        let AnyFilter::BinaryFuse(filter) = shell.filter("f.gdn") else { panic!("not a fuse filter") };
        assert_eq!((filter.width(), filter.arity(), filter.items()), (width, arity, 20_000));
    }
}

#[test]
fn a_static_filter_takes_and_gives_back_no_lines() {
    let shell = shell();
    shell.ok(&["build", "--kind", "fuse", "-o", "f.gdn", "keys"]);
    let before = shell.read("f.gdn");
    let run = shell.run(&["add", "f.gdn", "keys"]);
    assert!(run.complaint().contains("f.gdn: the filter is static"), "{}", run.err);
    assert!(run.err.contains("hint: build it again with all lines"), "{}", run.err);
    assert!(shell.run(&["remove", "f.gdn", "keys"]).complaint().contains("cannot be removed"));
    assert_eq!(shell.read("f.gdn"), before);
}

#[test]
fn options_that_a_static_filter_has_not_are_said_so() {
    let shell = shell();
    for (options, reason) in [
        (&["--kind", "fuse", "--bits", "8M"][..], "a filter of kind fuse has no --bits"),
        (&["--kind", "fuse", "--scheme", "double"], "a filter of kind fuse has no --scheme"),
        (&["--kind", "bloom", "--fingerprint", "8"], "a filter of kind bloom has no --fingerprint"),
        (&["--kind", "blocked", "--arity", "4"], "a filter of kind blocked has no --arity"),
        (&["--kind", "fuse", "--fingerprint", "9"], "fingerprints have 8, 16 or 32 bits"),
        (&["--kind", "fuse", "--arity", "2"], "--arity is \"2\""),
        (&["--kind", "fuse", "--fpp", "1e-12"], "is below"),
    ] {
        let run = shell.run(&[&["build", "-o", "f.gdn", "keys"], options].concat());
        assert!(run.complaint().contains(reason), "{}", run.err);
        assert!(!shell.path("f.gdn").exists());
    }
}

#[test]
fn info_tells_the_keys_and_the_memory_of_a_static_filter() {
    let shell = shell();
    shell.ok(&["build", "--kind", "fuse", "-o", "f.gdn", "keys"]);
    let text = String::from_utf8(shell.ok(&["info", "f.gdn"])).unwrap();
    for part in [
        "kind            fuse",
        "3 cells per key",
        "20,000, all distinct",
        "bits per key",
        "0.391% of absent keys",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let none = shell.pipe(b"", &["build", "--kind", "fuse", "-o", "none.gdn"]);
    assert_eq!(none.code, Some(0), "{}", none.err);
    assert_eq!(shell.pipe(b"rose\n", &["query", "none.gdn"]).code, Some(1));
}
