//! Documents that occurred before.

use crate::common::{Place, recipe};
use gardenia_corpus::generate::Recipe;
use gardenia_corpus::input::Packing;

#[test]
fn planted_copies_go_and_nothing_else() {
    let place = Place::new();
    let truth = place.generate("s", &recipe(3_000, 7));
    let report = place.report(&["dedup", "s/corpus", "--output", "clean"]);
    let expected: Vec<&str> =
        truth.iter().filter(|doc| doc.kind != "exact").map(|doc| doc.id.as_str()).collect();
    assert_eq!(place.ids("clean"), expected);
    assert_eq!((report.total.documents, report.total.kept), (3_000, expected.len() as u64));
    // What stays has its bytes.
    let input = place.files("s/corpus").into_values().collect::<Vec<_>>().concat();
    let lines: std::collections::HashSet<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    for file in place.files("clean").into_values() {
        assert!(file.split(|byte| *byte == b'\n').all(|line| lines.contains(line)));
    }
}

/// Exact removal has no false negatives, and what is removed by mistake stays within the bound of
/// the report, over 20 seeds. The rate is high, so that mistakes occur.
#[test]
fn mistakes_stay_within_the_stated_bound() {
    let (mut wrong, mut expected) = (0, 0.0);
    for seed in 0..20 {
        let place = Place::new();
        let recipe = Recipe {
            near: 0.0,
            paragraph: 0.0,
            words: 5,
            paragraphs: 2,
            files: 2,
            ..recipe(4_000, 100 + seed)
        };
        let truth = place.generate("s", &recipe);
        for fixed in [&["--items", "4000"][..], &[]] {
            let mut args = vec!["dedup", "s/corpus", "--output", "clean", "--fpp", "2%", "--force"];
            args.extend(fixed);
            let report = place.report(&args);
            let kept: std::collections::HashSet<String> = place.ids("clean").into_iter().collect();
            let mistakes =
                truth.iter().filter(|doc| doc.kind == "new" && !kept.contains(&doc.id)).count() as u64;
            let missed = truth.iter().filter(|doc| doc.kind == "exact" && kept.contains(&doc.id)).count();
            assert_eq!(missed, 0, "seed {seed}");
            let set = &report.sets[0];
            assert!(mistakes <= set.wrong_at_most, "seed {seed}: {mistakes} above {}", set.wrong_at_most);
            wrong += mistakes;
            expected += set.wrong;
        }
    }
    // All together agree with the estimate: Poisson's numbers, within five standard errors.
    assert!(expected > 200.0, "{expected}");
    assert!((wrong as f64 - expected).abs() < 5.0 * expected.sqrt(), "{wrong} where {expected} are expected");
}

/// The same for paragraphs.
#[test]
fn mistakes_with_paragraphs_stay_within_the_stated_bound() {
    let by = "paragraph";
    let (mut wrong, mut expected) = (0, 0.0);
    for seed in 0..20 {
        let place = Place::new();
        let recipe = Recipe {
            exact: 0.0,
            near: 0.0,
            paragraph: 0.2,
            words: 20,
            paragraphs: 3,
            files: 2,
            ..recipe(1_500, 300 + seed)
        };
        let truth = place.generate("s", &recipe);
        let args = ["dedup", "s/corpus", "--by", by, "--output", "clean", "--fpp", "2%", "--empty", "keep"];
        let report = place.report(&args);
        let planted = truth.iter().filter(|doc| doc.kind == "paragraph").count() as u64;
        let removed: u64 = report.total.removed.values().map(|removed| removed.units).sum();
        assert!(removed >= planted, "{by}, seed {seed}: {removed} of {planted}");
        let (set, mistakes) = (&report.sets[0], removed - planted);
        assert!(mistakes <= set.wrong_at_most, "{by}, seed {seed}: {mistakes} above {}", set.wrong_at_most);
        wrong += mistakes;
        expected += set.wrong;
    }
    assert!(expected > 50.0, "{by}: {expected}");
    let error = 5.0 * expected.sqrt();
    assert!((wrong as f64 - expected).abs() < error, "{by}: {wrong} where {expected} are expected");
}

/// A person at a terminal sees bytes, rate and time left, after a second.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "a long run: before a second nothing is shown"]
fn progress_shows_bytes_rate_and_time_left() {
    let place = Place::new();
    place.generate("s", &recipe(40_000, 1));
    let program = env!("CARGO_BIN_EXE_gardenia-corpus");
    let command = format!("{program} dedup s/corpus --by ngram --dry-run -j 1");
    let output = std::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains(" MB of ") && text.contains(" MB/s, ") && text.contains("s left"), "{text}");
}

#[test]
fn any_number_of_threads_gives_the_same_files() {
    let place = Place::new();
    place.generate("s", &Recipe { packing: Packing::Gzip, files: 7, ..recipe(6_000, 3) });
    let raw = |directory: &str| -> Vec<Vec<u8>> {
        (0..7)
            .map(|file| std::fs::read(place.path(&format!("{directory}/part-{file:04}.jsonl.gz"))).unwrap())
            .collect()
    };
    for threads in ["1", "2", "5", "16"] {
        let by = "document,near,paragraph,ngram";
        place
            .report(&["dedup", "s/corpus", "--by", by, "--unit", "both", "-j", threads, "--output", threads]);
        assert!(raw(threads) == raw("1"), "{threads} threads");
    }
}

#[test]
fn plain_gzip_and_zstandard_give_the_same_documents() {
    let place = Place::new();
    let mut ids = Vec::new();
    for (name, packing) in [("plain", Packing::Plain), ("gz", Packing::Gzip), ("zst", Packing::Zstd)] {
        place.generate(name, &Recipe { packing, ..recipe(500, 5) });
        place.report(&["dedup", &format!("{name}/corpus/*"), "--output", &format!("{name}-out")]);
        let (before, after) = (place.files(&format!("{name}/corpus")), place.files(&format!("{name}-out")));
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        ids.push(place.ids(&format!("{name}-out")));
    }
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[0].len() < 500);
}

#[test]
fn keys_and_normalisation_say_what_is_equal() {
    let place = Place::new();
    let lines = [
        r#"{"id": "a", "text": "Hello,  World", "meta": {"url": "u1"}}"#,
        r#"{"id": "b", "text": "hello world", "meta": {"url": "u2"}}"#,
        r#"{"id": "c", "text": "another", "meta": {"url": "u1"}}"#,
        r#"{"id": "d", "text": "hello world", "meta": {"url": "u3"}}"#,
    ];
    place.write("in/a.jsonl", lines.join("\n"));
    let ids = |args: &[&str]| {
        let mut all = vec!["dedup", "in", "--output", "out", "--force"];
        all.extend(args);
        place.report(&all);
        place.ids("out").concat()
    };
    assert_eq!(ids(&[]), "abc");
    assert_eq!(ids(&["--normalise", "all"]), "ac");
    assert_eq!(ids(&["--key", "meta.url"]), "abd");
    assert_eq!(ids(&["--exact"]), "abc");
    // The last line has no end, and stays last without one.
    assert!(place.files("out")["a.jsonl"].ends_with(b"\n"));
}

#[test]
fn a_dry_run_reports_and_writes_nothing() {
    let place = Place::new();
    place.generate("s", &recipe(400, 5));
    let real = place.report(&["dedup", "s/corpus", "--output", "clean"]);
    std::fs::remove_dir_all(place.path("clean")).unwrap();
    let dry = place.report(&["dedup", "s/corpus", "--dry-run"]);
    assert_eq!(dry.total, real.total);
    assert!(dry.dry_run && !place.path("clean").exists());
    assert_eq!(place.path("").read_dir().unwrap().count(), 1);
}

#[test]
fn what_cannot_be_is_said_with_a_remedy() {
    let place = Place::new();
    place.generate("s", &recipe(2_000, 5));
    place.write("clean/part-0001.jsonl", "mine");
    assert!(place.complaint(&["dedup", "s/corpus", "--output", "clean"]).contains("exists"));
    assert_eq!(place.files("clean").len(), 1);
    assert!(place.complaint(&["dedup", "s/corpus", "--output", "s/corpus"]).contains("replace an input"));
    assert!(place.complaint(&["dedup", "none/*.jsonl", "--output", "x"]).contains("no file matches"));
    assert!(
        place.complaint(&["dedup", "s/corpus", "--dry-run", "--memory", "1kB"]).contains("1 kB may be used")
    );
    let full = place.complaint(&["dedup", "s/corpus", "--output", "full", "--items", "100", "--fpp", "1e-4"]);
    assert!(full.contains("is full") && full.contains("--items"), "{full}");
    // Nothing half-written is left.
    assert!(!place.path("full").exists() || place.files("full").is_empty());
}

/// Outputs have the names of inputs below the directory that those share, and stay in theirs.
#[test]
fn outputs_do_not_leave_their_directory() {
    let place = Place::new();
    for name in ["a.jsonl", "in/b.jsonl", "in/sub/a.jsonl"] {
        place.write(name, format!("{{\"text\": \"{name}\"}}\n"));
    }
    let run = |args: &[&str]| {
        let output = place.command(args).current_dir(place.path("in")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["dedup", "../a.jsonl", "b.jsonl", "sub/../../in/sub/a.jsonl", "--output", "../out/deep"]);
    let names = ["a.jsonl", "in/b.jsonl", "in/sub/a.jsonl"];
    assert_eq!(place.files("out/deep").keys().collect::<Vec<_>>(), names);
    assert_eq!(place.files("out").len(), 3);
    // An output that is the input of another one is no output.
    let text = place.complaint(&[
        "dedup",
        "in/b.jsonl",
        "in/sub/a.jsonl",
        "a.jsonl",
        "--output",
        "in/sub",
        "--force",
    ]);
    assert!(text.contains("a.jsonl: the output would replace an input"), "{text}");
    assert_eq!(place.files("in").len(), 2);
}

#[test]
fn attributes_name_what_would_be_removed() {
    let place = Place::new();
    let lines = [
        r#"{"id": 1, "text": "é one\ntwo words\n"}"#,
        r#"{"id": "x", "text": "new\né one\nlast"}"#,
        r#"{"text": "é one\ntwo words\n"}"#,
    ];
    place.write("in/a.jsonl", lines.join("\n"));
    place.report(&["dedup", "in", "--by", "document,paragraph", "--attributes", "out"]);
    let expected = concat!(
        "{\"id\":1,\"attributes\":{}}\n",
        "{\"id\":\"x\",\"attributes\":{\"gardenia__dedup__duplicate_paragraphs\":[[4,10,1.0]]}}\n",
        "{\"id\":null,\"attributes\":{\"gardenia__dedup__duplicate_documents\":[[0,16,1.0]]}}\n",
    );
    assert_eq!(String::from_utf8_lossy(&place.files("out")["a.jsonl"]), expected);
}

#[test]
fn attributes_applied_give_what_a_run_gives() {
    let place = Place::new();
    place.generate("s", &Recipe { packing: Packing::Gzip, ..recipe(1_500, 8) });
    let by = ["dedup", "s/corpus", "--by", "document,near,ngram,paragraph"];
    place.report(&[&by[..], &["--output", "at-once"]].concat());
    place.report(&[&by[..], &["--attributes", "attributes"]].concat());
    let output = place.run(&["apply", "s/corpus", "--attributes", "attributes", "--output", "later"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(place.files("later") == place.files("at-once"));
    let (first, second) = ("attributes/part-0000.jsonl.gz", "attributes/part-0001.jsonl.gz");
    std::fs::copy(place.path(second), place.path(first)).unwrap();
    let wrong = place.complaint(&["apply", "s/corpus", "--attributes", "attributes", "--output", "wrong"]);
    assert!(wrong.contains("part-0000.jsonl.gz, line 1: the document is \"doc-0\""), "{wrong}");
}
