//! A filter of a million lines gives the same answers everywhere.

mod common;

use common::Shell;
use gardenia::{AnyScheme, Bloom, ReadOptions};
use std::fs::File;
use std::io::Write;

const PRESENT: u64 = 1_000_000;
const ABSENT: u64 = 200_000;

#[test]
fn the_command_the_library_and_a_memory_map_agree_on_a_million_lines() {
    let shell = Shell::new();
    let line = |number: u64| format!("/bed/{number:x}/rose.html");
    let write = |name: &str, range: std::ops::Range<u64>| {
        let mut text = Vec::new();
        range.for_each(|number| writeln!(text, "{}", line(number)).unwrap());
        shell.write(name, text);
    };
    write("present", 0..PRESENT);
    write("absent", PRESENT..PRESENT + ABSENT);
    shell.ok(&["build", "-o", "f.gdn", "present"]);

    let count = String::from_utf8(shell.ok(&["query", "-c", "f.gdn", "present"])).unwrap();
    assert_eq!(count, format!("{PRESENT}\n"));
    let found = String::from_utf8(shell.ok(&["query", "f.gdn", "absent"])).unwrap();
    let by_command: Vec<&str> = found.lines().collect();

    let path = shell.path("f.gdn");
    let read = Bloom::read_from_as::<AnyScheme>(File::open(&path).unwrap(), &ReadOptions::new()).unwrap();
    let mapped = Bloom::open_mapped(&path).unwrap();
    assert!((0..PRESENT).all(|number| read.contains(line(number)) && mapped.contains(line(number))));
    let absent: Vec<String> = (PRESENT..PRESENT + ABSENT).map(line).collect();
    let by_read: Vec<&String> = absent.iter().filter(|line| read.contains(*line)).collect();
    assert_eq!(by_command, by_read);
    let by_map: Vec<bool> = mapped.contains_many(&absent);
    assert_eq!(by_map, absent.iter().map(|line| read.contains(line)).collect::<Vec<_>>());

    // And the false positives are as many as the fill says, within five standard errors.
    let (expected, found) = (read.fpp() * ABSENT as f64, by_command.len() as f64);
    assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found} false positives, {expected} expected");
}
