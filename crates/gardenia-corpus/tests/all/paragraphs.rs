//! Paragraphs that occurred before.

use crate::common::{Place, recipe};
use gardenia_corpus::generate::Recipe;

fn texts(place: &Place, args: &[&str]) -> Vec<String> {
    let mut all = vec!["dedup", "in", "--by", "paragraph", "--output", "out", "--force"];
    all.extend(args);
    place.report(&all);
    place.documents("out").iter().map(|doc| doc["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rules_for_short_repeated_and_empty_ones_hold() {
    let place = Place::new();
    let lines = [
        r#"{"text": "a b c\nshort\na b c\n\nend of one\n"}"#,
        r#"{"text": "short\na b c\nnew \"quoted\" \u00e9 line\n"}"#,
        r#"{"text": "a b c\n\nshort"}"#,
    ];
    place.write("in/a.jsonl", lines.join("\n"));
    let one = "a b c\nshort\n\nend of one\n";
    assert_eq!(texts(&place, &[]), [one, "new \"quoted\" é line\n"]);
    let all = "a b c\nshort\na b c\n\nend of one\n";
    assert_eq!(texts(&place, &["--within", "all"]), [all, "new \"quoted\" é line\n"]);
    assert_eq!(texts(&place, &["--empty", "keep"]), [one, "new \"quoted\" é line\n", "\n"]);
    let kept = ["a b c\nshort\n\nend of one\n", "short\nnew \"quoted\" é line\n", "\nshort"];
    assert_eq!(texts(&place, &["--min-words", "2"]), kept);
    // What stays of a text is written as it was.
    assert!(
        String::from_utf8_lossy(&place.files("out")["a.jsonl"]).contains(r#"new \"quoted\" \u00e9 line\n"#)
    );
}

#[test]
fn planted_paragraphs_go_and_nothing_else() {
    let place = Place::new();
    let truth = place
        .generate("in", &Recipe { exact: 0.0, near: 0.0, paragraph: 0.3, words: 20, ..recipe(2_000, 11) });
    let args = ["dedup", "in/corpus", "--by", "paragraph", "--output", "out"];
    let report = place.report(&args);
    let planted = truth.iter().filter(|doc| doc.kind == "paragraph").count() as u64;
    let removed = report.total.removed.values().next().unwrap().units;
    assert_eq!((removed, report.total.kept), (planted, 2_000));
    let (before, after) = (place.documents("in/corpus"), place.documents("out"));
    for ((before, after), truth) in before.iter().zip(&after).zip(&truth) {
        let mut lines: Vec<&str> = before["text"].as_str().unwrap().split_inclusive('\n').collect();
        if let Some(paragraph) = truth.paragraph {
            lines.remove(paragraph as usize);
        }
        assert_eq!(after["text"], lines.concat());
    }
}

#[test]
fn sentences_and_blocks_are_units_too() {
    let place = Place::new();
    let lines = [r#"{"text": "One two. Three four."}"#, r#"{"text": "Five. One two. Six."}"#];
    place.write("in/a.jsonl", lines.join("\n"));
    assert_eq!(texts(&place, &["--split", "sentence"]), ["One two. Three four.", "Five. Six."]);
    let lines = [r#"{"text": "a\nb\n\nc"}"#, r#"{"text": "a\n\na\nb\n\nd"}"#];
    place.write("in/a.jsonl", lines.join("\n"));
    assert_eq!(texts(&place, &["--split", "block"]), ["a\nb\n\nc", "a\n\nd"]);
}
