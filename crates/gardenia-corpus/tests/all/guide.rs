//! The commands of `docs/corpus.md` run as they stand.

use crate::common::Place;
use std::process::Command;

#[test]
#[cfg(unix)]
fn the_guide_runs_as_it_stands() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/corpus.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let place = Place::new();
    // `gardenia corpus` is this program: how the command finds it is tested there.
    let program = env!("CARGO_BIN_EXE_gardenia-corpus");
    place.write("bin/gardenia", format!("#!/bin/sh\nshift\nexec {program} \"$@\"\n"));
    Command::new("chmod").args(["+x", "bin/gardenia"]).current_dir(place.path("")).status().expect("chmod");
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let blocks: Vec<&str> =
        guide.split("```sh\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    let mut run = 0;
    for block in blocks.into_iter().filter(|block| !block.contains("cargo ")) {
        let output = Command::new("bash")
            .args(["-e", "-c", block])
            .env("PATH", &path)
            .current_dir(place.path(""))
            .output()
            .expect("bash");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // `head` ends what feeds it.
        assert!(output.status.success() || block.contains("| head"), "{block}{said}");
        assert!(!said.contains("gardenia: "), "{block}{said}");
        run += block.matches("gardenia corpus").count();
    }
    assert!(run >= 15, "{run} commands");
    // What the guide promises is there: as many files, no more documents, and the page.
    assert_eq!(place.files("clean").len(), 4);
    assert!(place.ids("clean").len() < 2_000 && place.ids("clean-near").len() < place.ids("clean").len());
    assert!(std::fs::read_to_string(place.path("report.html")).expect("the page").contains("<svg"));
    assert!(place.ids("clean-decontaminated").len() <= 1_997);
    assert_eq!(place.documents("attributes").len(), 2_000);
}
