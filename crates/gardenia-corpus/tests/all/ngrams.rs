//! N-gram overlap, and decontamination.

use crate::common::Place;

fn words(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

fn line(id: &str, text: &str) -> String {
    format!("{{\"id\": \"{id}\", \"text\": \"{text}\"}}\n")
}

#[test]
fn units_go_when_more_than_the_share_is_known() {
    let place = Place::new();
    // Of 88 n-grams of the second 13 are new, of the third 26: shares of 0.852 and 0.705.
    let second = format!("{} x {}", words(0, 5), words(6, 100));
    let text = line("a", &words(0, 100))
        + &line("b", &words(0, 94).replace("w50 ", "other "))
        + &line("c", &second.replace("w50 ", "third ").replace("w70 ", "fourth "));
    place.write("in/a.jsonl", text);
    let ids = |args: &[&str]| {
        let mut all =
            vec!["dedup", "in", "--by", "ngram", "--unit", "document", "--output", "out", "--force"];
        all.extend(args);
        place.report(&all);
        place.ids("out").concat()
    };
    assert_eq!(ids(&["--overlap", "0.8"]), "ac");
    assert_eq!(ids(&["--overlap", "0.9"]), "abc");
    assert_eq!(ids(&["--overlap", "0.5"]), "a");
}

/// Asked for both, a document must not be taken for a repeat of its own paragraphs: all n-grams go
/// in once.
#[test]
fn documents_and_paragraphs_in_one_run_do_not_remove_what_is_new() {
    let place = Place::new();
    let document = |from: u32| {
        format!(
            "{}\\n{}\\n{}",
            words(from, from + 30),
            words(from + 30, from + 60),
            words(from + 60, from + 90)
        )
    };
    let mut text: String = (0..200).map(|at| line(&format!("n{at}"), &document(at * 1_000))).collect();
    text += &line("copy", &document(5_000));
    text += &line("half", &format!("{}\\n{}", words(3_000, 3_030), words(900_000, 900_100)));
    place.write("in/a.jsonl", text);
    let report = place.report(&["dedup", "in", "--by", "ngram", "--unit", "both", "--output", "out"]);
    let documents = place.documents("out");
    assert_eq!(documents.len(), 201, "{}", report.text());
    assert!(documents.iter().all(|doc| doc["id"] != "copy"));
    assert_eq!(documents.last().unwrap()["text"], words(900_000, 900_100));
    // 200 documents of 3 paragraphs of 18 n-grams, and the new paragraph of 88.
    assert_eq!(report.sets[0].items, 200 * 3 * 18 + 88);
}

/// What is too short for an n-gram shares none: headings that repeat are for paragraphs.
#[test]
fn units_of_fewer_words_than_an_n_gram_stay() {
    let place = Place::new();
    let text = |at: u32| format!("{}\\nContents of {}\\n{}", words(0, 12), words(0, 9), words(0, 13 + at));
    place.write("in/a.jsonl", line("a", &text(0)) + &line("b", &text(0)));
    for (args, kept) in [
        (&["--unit", "paragraph"][..], 2),
        (&["--unit", "paragraph", "--min-words", "14"], 3),
        (&["--unit", "paragraph", "--ngram", "12"], 1),
    ] {
        place.report(&[&["dedup", "in", "--by", "ngram", "--output", "out", "--force"], args].concat());
        let documents = place.documents("out");
        let left = documents.get(1).map_or(0, |doc| doc["text"].as_str().unwrap().lines().count());
        assert_eq!((documents.len(), left), (2, kept), "{args:?}");
    }
}

/// What false positives remove stays within the bound of the report, over 20 seeds, also of texts
/// that repeat their words: one n-gram that is taken for known is then all of them. The rate is
/// high, so that mistakes occur.
#[test]
fn mistakes_with_n_grams_stay_within_the_stated_bound() {
    // Repeats of one word are one n-gram, of three words three; the last has eight and needs seven false positives.
    let repeated = |at: u32| format!("r{at} ").repeat(40);
    let turning = |at: u32| format!("a{at} b{at} c{at} ").repeat(20);
    let plain = |at: u32| words(at * 100 + 1_000_000, at * 100 + 1_000_020);
    for unit in ["paragraph", "document"] {
        let (mut wrong, mut expected) = (0, 0.0);
        for seed in 0..20 {
            let place = Place::new();
            let document = |at: u32| {
                let at = seed * 100_000 + at;
                let text = match at % 4 {
                    0 | 1 => repeated(at),
                    2 => turning(at),
                    _ => plain(at),
                };
                line("x", &text)
            };
            place.write("in/a.jsonl", (0..3_000).map(document).collect::<String>());
            // Of four documents the n-grams are 1, 1, 3 and 8.
            let size = ["--fpp", "2%", "--items", "9750"];
            let args = ["dedup", "in", "--by", "ngram", "--unit", unit, "--output", "out"];
            let report = place.report(&[&args[..], &size].concat());
            let set = &report.sets[0];
            let mistakes = report.total.documents - report.total.kept;
            assert!(mistakes <= set.wrong_at_most, "seed {seed}: {mistakes} above {}", set.wrong_at_most);
            wrong += mistakes;
            expected += set.wrong;
        }
        assert!(wrong > 50, "{unit}: {wrong}");
        let error = 5.0 * expected.sqrt();
        assert!((wrong as f64 - expected).abs() < error, "{unit}: {wrong} where {expected} are expected");
    }
}

#[test]
fn documents_with_n_grams_of_a_benchmark_are_found() {
    let place = Place::new();
    place.write("bench.jsonl", format!("{{\"text\": \"{}\"}}\n", words(100, 120)));
    let text = line("clean", &words(0, 90))
        + &line("hit", &format!("{} W105, {}", words(0, 20), words(106, 130)))
        + &line("short", &words(100, 112));
    place.write("in/a.jsonl", text);
    place.report(&["decontaminate", "in", "--benchmark", "bench.jsonl", "--output", "out"]);
    assert_eq!(place.ids("out"), ["clean", "short"]);
    place.report(&["decontaminate", "in", "--benchmark", "bench.jsonl", "--output", "two", "--matches", "4"]);
    assert_eq!(place.ids("two"), ["clean", "hit", "short"]);
    // The benchmark's text may have a key of its own.
    place.write("bench.jsonl", format!("{{\"text\": \"no\", \"question\": \"{}\"}}\n", words(100, 120)));
    let key = ["--benchmark-key", "question", "--output", "three"];
    place.report(&[&["decontaminate", "in", "--benchmark", "bench.jsonl"], &key[..]].concat());
    assert_eq!(place.ids("three"), ["clean", "short"]);
    place.write("empty.jsonl", "{\"text\": \"a b\"}\n");
    let text = place.complaint(&["decontaminate", "in", "--benchmark", "empty.jsonl", "--dry-run"]);
    assert!(text.contains("as many words as --ngram") && text.contains("--benchmark-key"), "{text}");
}
