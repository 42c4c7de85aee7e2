//! A filter of a million lines gives the same answers at the shell, in the library and from a
//! mapped file, for every kind that is sized by its keys and forgets none.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "the mapped files are the test's own")]

use crate::common::{Shell, answers, keeping, kind_in_file};
use gardenia::AnyFilter;
use std::fs::File;
use std::io::Write;

const PRESENT: u64 = 1_000_000;
const ABSENT: u64 = 200_000;

#[test]
fn the_command_the_library_and_a_memory_map_agree_on_a_million_lines() {
    let shell = Shell::new();
    let line = |number: u64| format!("/bed/{number:x}/rose.html");
    let write = |name: &str, range: std::ops::Range<u64>| -> Vec<String> {
        let (mut text, lines) = (Vec::new(), range.map(line).collect::<Vec<_>>());
        lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
        shell.write(name, text);
        lines
    };
    let present = write("present", 0..PRESENT);
    let absent = write("absent", PRESENT..PRESENT + ABSENT);

    for kind in keeping() {
        let name = format!("{kind}.gdn");
        shell.ok(&["build", "-o", &name, "--kind", kind, "present"]);
        let count = String::from_utf8(shell.ok(&["query", "-c", &name, "present"])).unwrap();
        assert_eq!(count, format!("{PRESENT}\n"));
        let found = String::from_utf8(shell.ok(&["query", &name, "absent"])).unwrap();
        let by_command: Vec<&str> = found.lines().collect();

        let path = shell.path(&name);
        let read = AnyFilter::read_from(File::open(&path).unwrap()).unwrap();
        let mapped = unsafe { AnyFilter::open_mapped(&path) }.unwrap();
        assert_eq!((read.kind().name(), mapped.kind().name()), (kind_in_file(kind), kind_in_file(kind)));
        assert!(answers(&read, &present).into_iter().all(|found| found));
        assert!(answers(&mapped, &present).into_iter().all(|found| found));
        let by_read = answers(&read, &absent);
        assert_eq!(answers(&mapped, &absent), by_read);
        let by_read: Vec<&String> =
            absent.iter().zip(by_read).filter_map(|(line, found)| found.then_some(line)).collect();
        assert_eq!(by_command, by_read);

        // And the false positives are as many as the fill says, within five standard errors.
        let (expected, found) = (read.fpp() * ABSENT as f64, by_command.len() as f64);
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{kind}: {found}, {expected} expected");
    }
}
