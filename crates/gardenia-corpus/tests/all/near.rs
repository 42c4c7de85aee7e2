//! Near-duplicates: recall and precision follow the printed curve.

use crate::common::{Place, recipe};
use gardenia_corpus::generate::Recipe;
use gardenia_corpus::minhash::Bands;
use std::collections::HashSet;

/// Pairs with similarities from 0.5 to 0.95, at least so many in each bin of 0.05; each is removed
/// as often as the curve says, within five standard errors. Documents that are similar to none
/// stay.
fn follows(pairs: u64, bands: Bands) {
    let place = Place::new();
    let recipe = Recipe {
        exact: 0.0,
        near: 0.48,
        paragraph: 0.0,
        words: 120,
        paragraphs: 1,
        similarity: (0.5, 0.97),
        once: true,
        ..recipe(pairs * 32, 31)
    };
    let truth = place.generate("s", &recipe);
    let (b, r) = (bands.bands.to_string(), bands.rows.to_string());
    let report =
        place.report(&["dedup", "s/corpus", "--by", "near", "--bands", &b, "--rows", &r, "--output", "out"]);
    let kept: HashSet<String> = place.ids("out").into_iter().collect();
    let wrong = truth.iter().filter(|doc| doc.kind == "new" && !kept.contains(&doc.id)).count() as u64;
    assert!(wrong <= report.sets[0].wrong_at_most, "{wrong}");
    for bin in 0..9 {
        let low = 0.5 + 0.05 * f64::from(bin);
        let of: Vec<_> = truth
            .iter()
            .filter_map(|doc| doc.similarity.map(|similarity| (doc, similarity)))
            .filter(|(_, similarity)| (low..low + 0.05).contains(similarity))
            .collect();
        assert!(of.len() as u64 >= pairs, "{} pairs at {low}", of.len());
        let removed = of.iter().filter(|(doc, _)| !kept.contains(&doc.id)).count() as f64;
        let chances = of.iter().map(|(_, similarity)| bands.removed(*similarity, 1e-6));
        let (mean, variance) =
            chances.fold((0.0, 0.0), |(mean, variance), p| (mean + p, variance + p * (1.0 - p)));
        let error: f64 = variance.sqrt().max(0.2);
        assert!(
            (removed - mean).abs() < 5.0 * error,
            "at {low}: {removed} removed, {mean} ± {error} expected"
        );
    }
    // Recall and precision from a similarity on, as the curve implies them. Those of the pairs from it on, and of the others.
    for threshold in [0.6, 0.7, 0.8] {
        let mut sums = [(0.0, 0.0, 0.0); 2];
        let mut pairs = 0.0;
        for doc in &truth {
            let similarity = doc.similarity.unwrap_or(0.0);
            let (chance, gone) = (bands.removed(similarity, 1e-6), !kept.contains(&doc.id));
            let sum = &mut sums[usize::from(similarity < threshold)];
            sum.0 += chance;
            sum.1 += chance * (1.0 - chance);
            sum.2 += f64::from(u8::from(gone));
            pairs += f64::from(u8::from(similarity >= threshold));
        }
        let [(hits, hits_variance, hit), (others, others_variance, other)] = sums;
        let (recall, precision) = (hits / pairs, hits / (hits + others));
        let recall_error = hits_variance.sqrt() / pairs;
        let variance = others.powi(2) * hits_variance + hits.powi(2) * others_variance;
        let precision_error = variance.sqrt() / (hits + others).powi(2);
        assert!((hit / pairs - recall).abs() < 5.0 * recall_error, "recall from {threshold} on");
        assert!(
            (hit / (hit + other) - precision).abs() < 5.0 * precision_error,
            "precision from {threshold} on"
        );
    }
}

#[test]
fn recall_follows_the_curve() {
    follows(300, Bands { bands: 14, rows: 8 });
}

#[test]
#[ignore = "a long sweep of 2,000 pairs for each similarity"]
fn recall_follows_the_curve_with_two_thousand_pairs_for_each_similarity() {
    follows(2_000, Bands { bands: 14, rows: 8 });
    follows(2_000, Bands { bands: 20, rows: 5 });
}

/// What the filter of bands removes by mistake stays within the bound of the report, over 20 seeds,
/// at a rate at which mistakes occur.
#[test]
fn mistakes_with_bands_stay_within_the_stated_bound() {
    let (mut wrong, mut expected) = (0, 0.0);
    for seed in 0..20 {
        let place = Place::new();
        let recipe = Recipe {
            exact: 0.0,
            near: 0.0,
            paragraph: 0.0,
            words: 40,
            paragraphs: 1,
            ..recipe(1_500, 700 + seed)
        };
        place.generate("s", &recipe);
        let fixed = [&[][..], &["--items", "21000"]][seed as usize % 2];
        let report = place
            .report(&[&["dedup", "s/corpus", "--by", "near", "--dry-run", "--fpp", "5%"], fixed].concat());
        let (set, mistakes) = (&report.sets[0], report.total.documents - report.total.kept);
        assert!(mistakes <= set.wrong_at_most, "seed {seed}: {mistakes} above {}", set.wrong_at_most);
        wrong += mistakes;
        expected += set.wrong;
    }
    assert!(expected > 100.0, "{expected}");
    assert!((wrong as f64 - expected).abs() < 5.0 * expected.sqrt(), "{wrong} where {expected} are expected");
}

/// A copy is found whatever its case, and a text without words is nobody's copy.
#[test]
fn copies_are_similar_and_empty_texts_are_not() {
    let place = Place::new();
    let lines = [
        r#"{"id": "a", "text": "one two three four five six"}"#,
        r#"{"id": "b", "text": "One, two -- three FOUR five six!"}"#,
        r#"{"id": "c", "text": ""}"#,
        r#"{"id": "d", "text": "..."}"#,
        r#"{"id": "e", "text": "one"}"#,
    ];
    place.write("in/a.jsonl", lines.join("\n"));
    place.report(&["dedup", "in", "--by", "near", "--output", "out"]);
    assert_eq!(place.ids("out"), ["a", "c", "d", "e"]);
    let text = place.run(&["dedup", "in", "--by", "near", "--dry-run"]).stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find(|line| line.starts_with("curve ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("92.4% at 0.8,") && line.ends_with("half at 0.68"), "{line}");
}

/// Exact buckets on disk find the planted pairs, with similarities within five standard errors of
/// the truth: 112 values each.
#[test]
fn pairs_are_printed_with_their_similarity() {
    let place = Place::new();
    let recipe = Recipe {
        exact: 0.1,
        near: 0.3,
        paragraph: 0.0,
        similarity: (0.8, 0.97),
        once: true,
        ..recipe(2_000, 17)
    };
    let truth = place.generate("s", &recipe);
    let output = place.run(&["pairs", "s/corpus", "--similarity", "0.5", "--work", ".", "-q"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let found: std::collections::HashMap<(String, String), f64> = lines
        .map(|line| serde_json::from_slice::<serde_json::Value>(line).expect("JSON"))
        .map(|pair| {
            let name = |key: &str| pair[key].as_str().expect("an id").to_owned();
            ((name("first"), name("second")), pair["similarity"].as_f64().expect("a number"))
        })
        .collect();
    let (mut expected, mut hits, mut planted) = (0.0, 0.0, 0);
    for doc in truth.iter().filter(|doc| doc.of.is_some()) {
        let similarity = doc.similarity.unwrap_or(1.0);
        let key = (doc.of.clone().expect("a source"), doc.id.clone());
        expected += Bands { bands: 14, rows: 8 }.share(similarity);
        planted += 1;
        if let Some(estimate) = found.get(&key) {
            hits += 1.0;
            // Pairs that are found agree by chance more often than others, the more so the less similar they are.
            let error = (similarity * (1.0 - similarity) / 112.0).sqrt();
            assert!((estimate - similarity).abs() < 5.0 * error + 1e-9, "{key:?}: {estimate} {similarity}");
        }
    }
    assert!(planted > 500 && found.len() <= planted, "{} of {planted}", found.len());
    assert!(
        (hits - expected).abs() < 5.0 * (expected * (1.0 - expected / f64::from(planted as u32))).sqrt(),
        "{hits} {expected}"
    );
    assert_eq!(place.path("").read_dir().unwrap().count(), 1); // nothing temporary is left
}
