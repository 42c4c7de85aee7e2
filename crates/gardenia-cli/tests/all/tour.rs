//! `gardenia tour` runs by itself and says what happened.

use crate::common::Shell;
use std::io::{BufRead, BufReader};

#[test]
fn the_tour_shows_its_results_and_leaves_nothing_behind() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("tmp")).unwrap();
    let output = shell.command(&["tour"]).env("TMPDIR", shell.path("tmp")).output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "1. Two filters of flowers",
        " bloom               blocked\n",
        "  gardenia?                             maybe               maybe\n",
        "  carburettor?                          certainly not       certainly not\n",
        " 862 of 862          862 of 862\n",
        "Saved as bloom.gdn, 1.19 kB, and blocked.gdn, 1.24 kB",
        "the same 50,862 answers",
        "1,000,000 log lines",
        "of 500,000 distinct lines; none were passed on twice",
        "Theory: ",
        "  ribbon                8.0",
        "   removes keys",
        "The five most frequent, by `gardenia top`: 1, 2, 3, 4, 5; 5 of their counts are exact",
        "  blocked filter        974 kB ",
        " ns per line",
        "  10,000,000  bloom       12 MB ",
        "  10,000,000  blocked   12.4 MB ",
        "That was all, in ",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains('\x1b'), "colours in a pipe");
    assert_eq!(std::fs::read_dir(shell.path("tmp")).unwrap().count(), 0);

    // The measured loss is what theory says, within five standard errors.
    let line = text.lines().find(|line| line.starts_with("Lost")).unwrap();
    let number = |from: &str| -> f64 {
        let digits = line.split(from).nth(1).unwrap().split([' ', '.']).next().unwrap();
        digits.replace(',', "").parse().unwrap()
    };
    let (lost, expected) = (number("repeats: "), number("Theory: "));
    assert!((lost - expected).abs() < 5.0 * expected.sqrt(), "{line}");
}

#[test]
fn a_reader_that_leaves_early_ends_the_tour_quietly() {
    let mut child = Shell::new().command(&["tour"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("Gardenia"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}
