//! `gardenia add` and `gardenia remove`: a filter file that changes, whole or not at all.

use crate::common::{Shell, answers, has, keeping, numbers};

/// A shell with `f.gdn` of this kind: the numbers below 1000, with few false positives.
fn shell(kind: &str) -> Shell {
    let shell = Shell::new();
    shell.write("keys", numbers(0..1000));
    shell.write("more", numbers(1000..1500));
    shell.ok(&["build", "-q", "-o", "f.gdn", "--items", "2000", "--fpp", "1e-6", "--kind", kind, "keys"]);
    shell
}

#[test]
fn adding_later_is_building_at_once() {
    for kind in keeping() {
        let shell = shell(kind);
        // All keys of one build choose together, unless they are to choose as they come.
        let effort: &[&str] = if kind == "choice" { &["--effort", "online"] } else { &[] };
        let build = |to: &str, keys: &[&str]| {
            let args =
                ["build", "-q", "--force", "-o", to, "--items", "2000", "--fpp", "1e-6", "--kind", kind];
            shell.ok(&[&args[..], effort, keys].concat());
        };
        build("f.gdn", &["keys"]);
        let run = shell.run(&["add", "f.gdn", "more"]);
        assert_eq!((run.code, &*run.out), (Some(0), &b""[..]));
        assert!(run.err.starts_with("f.gdn: 500 keys read, 500 certainly new; estimated"), "{}", run.err);
        build("g.gdn", &["keys", "more"]);
        assert!(shell.read("f.gdn") == shell.read("g.gdn"), "{kind}");
    }
}

#[test]
fn removing_is_never_having_added() {
    let shell = shell("counting");
    let before = shell.read("f.gdn");
    shell.ok(&["add", "-q", "f.gdn", "more"]);
    shell.pipe(b"7\n7\n", &["add", "-q", "f.gdn"]).quietly();
    let run = shell.pipe(b"7\n7\nthistle\n", &["remove", "f.gdn", "-", "more"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.err.starts_with("f.gdn: 503 keys read, 502 removed, 1 not in the filter; estimated"),
        "{}",
        run.err
    );
    assert_eq!(shell.read("f.gdn"), before);
    assert_eq!(shell.pipe(b"thistle\n", &["remove", "-q", "f.gdn"]).code, Some(1));
    assert_eq!(shell.read("f.gdn"), before);
}

#[test]
fn another_output_leaves_the_filter_as_it_is() {
    let shell = shell("counting");
    let before = shell.read("f.gdn");
    shell.ok(&["add", "-q", "-o", "g.gdn", "f.gdn", "more"]);
    assert_eq!(shell.read("f.gdn"), before);
    assert!(answers(&shell.filter("g.gdn"), &["1499"])[0]);
    let again = shell.run(&["add", "-o", "g.gdn", "f.gdn", "more"]);
    assert_eq!(again.complaint(), "gardenia: g.gdn: already exists");
    let piped = shell.run(&["add", "-q", "-o", "-", "f.gdn", "more"]);
    assert_eq!(piped.out, shell.read("g.gdn"));
    let from_pipe = shell.pipe(&before, &["add", "-q", "-o", "h.gdn", "-", "more"]);
    assert_eq!((from_pipe.code, shell.read("h.gdn") == piped.out), (Some(0), true));
    let in_place = shell.pipe(&before, &["add", "-", "more"]);
    assert!(in_place.complaint().contains("cannot be changed in place") && in_place.err.contains("-o OUT"));
}

#[test]
fn what_fails_leaves_the_filter_as_it_is() {
    let shell = shell("blocked");
    let before = shell.read("f.gdn");
    let unable = shell.run(&["remove", "f.gdn", "keys"]);
    let reason = "gardenia: f.gdn: keys cannot be removed from a filter of kind blocked";
    assert_eq!(unable.complaint(), reason);
    assert!(unable.err.contains("--kind counting"));
    assert!(shell.run(&["add", "f.gdn", "missing"]).complaint().starts_with("gardenia: missing: "));
    assert!(shell.run(&["add", "f.gdn", "f.gdn"]).complaint().contains("is one of the inputs"));
    assert!(shell.pipe(b"7\nx\n", &["add", "--int", "f.gdn"]).complaint().contains("with --int its keys"));
    assert!(shell.run(&["add", "keys", "more"]).complaint().contains("not a Gardenia filter"));
    if has("/dev/full") {
        shell.run(&["add", "-o", "/dev/full", "f.gdn", "more"]).complaint();
    }
    assert_eq!(shell.read("f.gdn"), before);
}
