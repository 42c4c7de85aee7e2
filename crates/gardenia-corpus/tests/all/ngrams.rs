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
    let output = place.run(&["decontaminate", "in", "--benchmark", "empty.jsonl", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
}
