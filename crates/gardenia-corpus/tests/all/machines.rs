//! Several machines, each of which is a process here: states of those before are named with
//! `--after`, or merged.

use crate::common::{Place, recipe};
use gardenia_corpus::generate::Recipe;
use std::collections::BTreeSet;

/// A corpus of three parts, and what one machine makes of it.
fn parts(place: &Place, extra: &[&str]) -> Vec<String> {
    place.generate("s", &Recipe { files: 3, ..recipe(3_000, 21) });
    let mut args = vec!["dedup", "s/corpus", "--by", "document,paragraph", "--output", "whole"];
    args.extend(extra);
    place.report(&args);
    (0..3).map(|part| format!("s/corpus/part-{part:04}.jsonl")).collect()
}

fn dedup(place: &Place, part: &str, extra: &[&[&str]]) -> gardenia_corpus::report::Report {
    let mut args = vec!["dedup", part, "--by", "document,paragraph"];
    extra.iter().for_each(|extra| args.extend(*extra));
    place.report(&args)
}

#[test]
fn three_machines_with_digests_give_what_one_gives() {
    let place = Place::new();
    let parts = parts(&place, &["--exact"]);
    let exact: &[&str] = &["--exact"];
    // The first pass: all at once, in processes of their own.
    std::thread::scope(|scope| {
        for (part, state) in parts.iter().zip(["a", "b"]) {
            let place = &place;
            scope.spawn(move || dedup(place, part, &[&["--dry-run", "--state", state], exact]));
        }
    });
    let merged = place.run(&["merge", "a", "b", "--output", "ab"]);
    assert!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
    // The second, with what comes before each.
    let out: &[&str] = &["--output", "out"];
    dedup(&place, &parts[0], &[out, exact]);
    dedup(&place, &parts[1], &[out, exact, &["--after", "a"]]);
    dedup(&place, &parts[2], &[out, exact, &["--after", "ab"]]);
    assert!(place.files("out") == place.files("whole"));
    dedup(&place, &parts[2], &[&["--output", "two"], exact, &["--after", "a", "--after", "b"]]);
    assert_eq!(place.files("two")["part-0002.jsonl"], place.files("whole")["part-0002.jsonl"]);
}

/// Each unit is compared by itself, so that one mistake is one unit: all that one machine removes
/// goes, and no more than the bounds of the reports besides.
#[test]
fn three_machines_with_filters_differ_within_the_stated_bound() {
    let mut mistakes = 0;
    for by in ["document", "paragraph"] {
        let place = Place::new();
        let filters: &[&str] = &["--items", "20k", "--fpp", "0.5%"];
        place.generate("s", &Recipe { files: 3, words: 20, ..recipe(6_000, 21) });
        // Units are counted in the documents that are left.
        let empty: &[&str] = if by == "paragraph" { &["--empty", "keep"] } else { &[] };
        place.report(&[&["dedup", "s/corpus", "--by", by, "--output", "whole", "--exact"], empty].concat());
        let parts: Vec<String> = (0..3).map(|part| format!("s/corpus/part-{part:04}.jsonl")).collect();
        let run = |part: &str, extra: &[&str]| {
            let args = [&["dedup", part, "--by", by], empty, filters, extra].concat();
            place.report(&args)
        };
        // The first pass, and the merge; the first part is its own second pass.
        for (part, state) in parts.iter().zip(["a", "b"]) {
            run(part, &["--dry-run", "--state", state]);
        }
        let output = place.run(&["merge", "a", "b", "--output", "ab"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut bound = 0;
        for (part, after) in parts.iter().zip([&[][..], &["--after", "a"], &["--after", "ab"]]) {
            let report = run(part, &[&["--output", "out"], after].concat());
            bound += report.sets.iter().map(|set| set.wrong_at_most).sum::<u64>();
        }
        let (ours, exact) = (units(&place, "out", by), units(&place, "whole", by));
        assert!(ours.is_subset(&exact), "{by}");
        let more = (exact.len() - ours.len()) as u64;
        assert!(more <= bound, "{by}: {more} above {bound}");
        mistakes += more;
    }
    assert!(mistakes > 10, "{mistakes}: the bounds were not tried");
}

/// Documents by id, or their paragraphs by id and text.
fn units(place: &Place, directory: &str, by: &str) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for document in place.documents(directory) {
        let (id, text) = (document["id"].to_string(), document["text"].as_str().expect("a text").to_owned());
        match by {
            "document" => _ = all.insert((id, String::new())),
            _ => all.extend(text.lines().map(|line| (id.clone(), line.to_owned()))),
        }
    }
    all
}

/// One after the other, each with the states of all before it: the same documents as one machine
/// keeps, whatever is compared.
#[test]
fn machines_in_a_row_give_what_one_gives_also_for_n_grams_and_near_duplicates() {
    let place = Place::new();
    place.generate("s", &Recipe { files: 3, ..recipe(2_000, 23) });
    let by = ["--by", "document,near,ngram,paragraph", "--unit", "both", "--exact"];
    place.report(&[&["dedup", "s/corpus", "--output", "whole"], &by[..]].concat());
    let states = ["a", "b", "c"];
    for (part, state) in states.iter().enumerate() {
        let part_name = format!("s/corpus/part-{part:04}.jsonl");
        let mut args = [&["dedup", &part_name, "--output", "out", "--state", state], &by[..]].concat();
        states[..part].iter().for_each(|before| args.extend(["--after", before]));
        place.report(&args);
    }
    assert!(place.files("out") == place.files("whole"));
}

/// Filters that are full each by themselves are far too full together: nobody gets such a state.
#[test]
fn filters_that_are_too_full_together_are_not_merged_and_not_used() {
    let place = Place::new();
    let once = Recipe { exact: 0.0, near: 0.0, paragraph: 0.0, words: 20, files: 3, ..recipe(3_000, 5) };
    place.generate("s", &once);
    for (items, fpp) in [("1000", "1e-6"), ("1000", "1%")] {
        let states = ["a", "b", "c"].map(|state| format!("{state}-{fpp}"));
        for (part, state) in states.iter().enumerate() {
            let part = format!("s/corpus/part-{part:04}.jsonl");
            place.report(&["dedup", &part, "--dry-run", "--items", items, "--fpp", fpp, "--state", state]);
        }
        let merge = ["merge", &states[0], &states[1], &states[2], "--output", "abc"];
        let text = place.complaint(&merge);
        assert!(text.contains("the merged filter of documents is full: after "), "{text}");
        assert!(text.contains("--items for the units of all machines"), "{text}");
        assert!(!place.path("abc").exists());
        // Each by itself is of use to the next.
        let part = ["dedup", "s/corpus/part-0002.jsonl", "--dry-run", "--items", items, "--fpp", fpp];
        let report = place.report(&[&part[..], &["--after", &states[0], "--after", &states[1]]].concat());
        assert!(report.total.kept > 950, "{}", report.total.kept);
        // One that was filled beyond its size before this was checked: its options say for how many it is.
        let path = place.path(&states[0]).join("files.jsonl");
        let line = std::fs::read_to_string(&path).unwrap();
        let mut line: serde_json::Value = serde_json::from_str(&line).unwrap();
        line["sets"][0]["items"] = 2000.into();
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let text = place.complaint(&[&part[..], &["--after", &states[0]]].concat());
        assert!(
            text.contains("the filter of documents in ") && text.contains(" is full: after 2,000"),
            "{text}"
        );
    }
}

/// What other runs saw is in memory, too.
#[test]
fn states_of_others_count_for_the_memory() {
    let place = Place::new();
    place.generate("s", &recipe(4_000, 1));
    let items = ["dedup", "s/corpus", "--dry-run", "--items", "100k"];
    for state in ["a", "b"] {
        place.report(&[&items[..], &["--state", state]].concat());
    }
    // One filter takes 359 kB: there is room for two, for three it is too little.
    let two = [&items[..], &["--memory", "800kB", "--after", "a"]].concat();
    place.report(&two);
    let text = place.complaint(&[&two[..], &["--after", "b"]].concat());
    assert!(text.contains("need 359 kB") && text.contains("may be used"), "{text}");
    let text = place.complaint(&[&items[..], &["--memory", "300kB", "--after", "b"]].concat());
    assert!(text.contains("b: its documents take 359 kB, and 300 kB are left of --memory"), "{text}");
    // The size of a filter does not depend on how much repeats.
    let copies = "{\"text\": \"one\"}\n".repeat(1_000);
    place.write("in/a.jsonl", copies);
    let text = place.complaint(&["dedup", "in", "--dry-run", "--items", "100k", "--memory", "300kB"]);
    assert!(text.contains("need 359 kB"), "{text}");
}

#[test]
fn growing_filters_are_not_merged_and_say_what_to_do() {
    let place = Place::new();
    place.generate("s", &recipe(200, 1));
    for state in ["a", "b"] {
        place.report(&["dedup", "s/corpus", "--dry-run", "--state", state]);
    }
    let text = place.complaint(&["merge", "a", "b", "--output", "ab"]);
    assert!(text.contains("growing filters cannot be merged") && text.contains("--after"), "{text}");
    let other = place.complaint(&["dedup", "s/corpus", "--dry-run", "--after", "a", "--normalise", "case"]);
    assert!(other.contains("compared other things"), "{other}");
}
