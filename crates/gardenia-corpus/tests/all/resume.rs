//! Runs that are killed go on at the last finished file.

use crate::common::{Place, recipe};
use gardenia_corpus::generate::Recipe;
use gardenia_corpus::state::Finished;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::process::Stdio;
use std::time::{Duration, Instant};

const BY: &str = "document,near,paragraph";

/// Kills runs at random times, until so many were killed; each is given up to the end by the same
/// command.
fn kill(kills: u32, extra: &[&str]) {
    let place = Place::new();
    place.generate("s", &Recipe { files: 12, ..recipe(6_000, 9) });
    let args = |state: &'static str, output: &'static str| {
        let mut all = vec!["dedup", "s/corpus", "--by", BY, "--state", state, "--output", output, "-j", "2"];
        all.extend(extra);
        all
    };
    let start = Instant::now();
    let whole = place.report(&args("whole-state", "whole"));
    let time = start.elapsed();
    // With --journals the sets begin new generations in the middle, which kills come across.
    let files = String::from_utf8(std::fs::read(place.path("whole-state/files.jsonl")).unwrap()).unwrap();
    let generations: Vec<u64> =
        files.lines().map(|line| serde_json::from_str::<Finished>(line).unwrap().generation).collect();
    let switches = generations.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(!extra.contains(&"--journals") || (3..11).contains(&switches), "{generations:?}");
    let expected = place.files("whole");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(50);
    let mut killed = 0;
    while killed < kills {
        let _ = std::fs::remove_dir_all(place.path("state"));
        let _ = std::fs::remove_dir_all(place.path("out"));
        loop {
            let mut child = place
                .command(&args("state", "out"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let wait = time.as_secs_f64() * (random.next_u64() % 1000) as f64 / 1500.0;
            std::thread::sleep(Duration::from_secs_f64(wait));
            let ended = child.try_wait().unwrap();
            if let Some(status) = ended {
                assert!(status.success());
                break;
            }
            child.kill().unwrap(); // SIGKILL
            child.wait().unwrap();
            killed += 1;
            if killed >= kills {
                break;
            }
        }
        let report = place.report(&args("state", "out"));
        assert!(place.files("out") == expected, "after {killed} kills");
        assert_eq!(report.total, whole.total);
        let counts = |report: &gardenia_corpus::report::Report| -> Vec<u64> {
            report.sets.iter().map(|set| set.items).collect()
        };
        assert_eq!(counts(&report), counts(&whole));
        let wrong = |report: &gardenia_corpus::report::Report| -> Vec<f64> {
            report.sets.iter().map(|set| set.wrong).collect()
        };
        assert_eq!(wrong(&report), wrong(&whole));
        let repeated = |report: &gardenia_corpus::report::Report| -> Vec<(u64, u64, String)> {
            report.repeated.iter().map(|one| (one.lower, one.upper, one.text.clone())).collect()
        };
        assert_eq!(repeated(&report), repeated(&whole));
    }
}

#[test]
fn killed_runs_give_what_whole_ones_give() {
    kill(4, &[]);
    kill(6, &["--journals", "100kB"]);
    kill(4, &["--exact", "--journals", "100kB"]);
}

#[test]
#[ignore = "a long sweep of kills"]
fn fifty_killed_runs_give_what_whole_ones_give() {
    kill(25, &[]);
    kill(50, &["--journals", "100kB"]);
    kill(25, &["--items", "100000", "--journals", "100kB"]);
}

/// What is finished is not written again: elsewhere it would be missing.
#[test]
fn a_state_is_used_with_the_output_that_it_was_made_with() {
    let place = Place::new();
    place.generate("s", &recipe(400, 2));
    let dedup = ["dedup", "s/corpus", "--state", "dry"];
    place.report(&[&dedup[..], &["--dry-run"]].concat());
    place.report(&[&dedup[..], &["--dry-run"]].concat());
    let text = place.complaint(&[&dedup[..], &["--output", "out"]].concat());
    assert!(text.contains("begun with --dry-run, now it is --output ") && text.contains("--after"), "{text}");
    assert!(!place.path("out").exists());

    let dedup = ["dedup", "s/corpus", "--state", "state"];
    place.report(&[&dedup[..], &["--output", "out"]].concat());
    for other in [&["--output", "other"][..], &["--attributes", "out"], &["--dry-run"]] {
        let text = place.complaint(&[&dedup[..], other].concat());
        assert!(text.contains("begun with --output ") && text.contains(other[0]), "{text}");
    }
    // Another name of the same directory is the same.
    place.report(&[&dedup[..], &["--output", "./s/../out"]].concat());
    std::fs::remove_file(place.path("out/part-0002.jsonl")).unwrap();
    let text = place.complaint(&[&dedup[..], &["--output", "out"]].concat());
    assert!(text.contains("part-0002.jsonl: missing") && text.contains("another --state"), "{text}");
}

/// A state gives no leave to replace what it did not write.
#[test]
fn files_of_others_are_not_replaced_by_a_run_with_a_state() {
    let place = Place::new();
    place.generate("s", &recipe(400, 2));
    let dedup = ["dedup", "s/corpus", "--output", "out", "--state", "state"];
    place.write("out/part-0001.jsonl", "mine");
    assert!(place.complaint(&dedup).contains("part-0001.jsonl: exists"));
    place.report(&[&dedup[..], &["--force"]].concat());
    assert_ne!(place.files("out")["part-0001.jsonl"], b"mine");
}

/// A run that was killed when a file was finished, and had no name yet: the next one gives it.
#[test]
fn a_finished_file_without_its_name_gets_it() {
    let place = Place::new();
    place.generate("s", &recipe(400, 2));
    let dedup = ["dedup", "s/corpus", "--output", "out", "--state", "state"];
    place.report(&dedup);
    let (expected, path) = (place.files("out"), place.path("out/part-0003.jsonl"));
    let partial = place.path("out/.part-0003.jsonl.partial");
    std::fs::rename(&path, &partial).unwrap();
    place.report(&dedup);
    assert!(place.files("out") == expected && !partial.exists());
    // What has another length is not that file.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&partial, "half").unwrap();
    assert!(place.complaint(&dedup).contains("part-0003.jsonl: missing"));
}

#[test]
fn a_state_is_used_with_the_options_and_files_that_it_was_made_with() {
    let place = Place::new();
    place.generate("s", &recipe(400, 2));
    place.report(&["dedup", "s/corpus", "--state", "state", "--output", "out"]);
    let other =
        place.complaint(&["dedup", "s/corpus", "--state", "state", "--output", "out", "--fpp", "1e-5"]);
    assert!(other.contains("fpp was 1e-6") || other.contains("fpp was 0.000001"), "{other}");
    let after =
        place.complaint(&["dedup", "s/corpus", "--state", "state", "--output", "out", "--after", "state"]);
    assert!(after.contains("after was []"), "{after}");
    // More files behind those that are finished: only they are read.
    place.write("s/corpus/part-0009.jsonl", "{\"id\": \"x\", \"text\": \"quite new\"}\n");
    let report = place.report(&["dedup", "s/corpus", "--state", "state", "--output", "out"]);
    assert_eq!((report.files.len(), report.total.documents), (5, 401));
    place.write("s/corpus/part-0001.jsonl", "{\"id\": \"x\", \"text\": \"changed\"}\n");
    let changed = place.complaint(&["dedup", "s/corpus", "--state", "state", "--output", "out"]);
    assert!(changed.contains("part-0001.jsonl"), "{changed}");
}
