//! Plan: designs for a need, their curves, and the lines that build them.

use super::{Answer, Call, finite, refuse};
use gardenia::plan::{Design, ErrorMeans, Need, Prefer};
use gardenia::spec::Value as Option_;
use gardenia::theory::choices::fpp_information;
use gardenia::{Ability, Kind};
use serde_json::{Value, json};

/// The abilities that a need can name, with what they mean to a user.
const NEEDS: [(Ability, &str); 8] = [
    (Ability::Remove, "Keys are removed again"),
    (Ability::Count, "Count how often a key occurs"),
    (Ability::Forget, "Only the last keys of a stream matter"),
    (Ability::Grow, "The number of keys is unknown"),
    (Ability::Fixed, "All keys are known up front"),
    (Ability::Merge, "Filters are merged"),
    (Ability::Share, "Several threads insert"),
    (Ability::Send, "Small in a file"),
];

/// Rates at which curves are drawn: down to a millionth, and to the rate that was asked for.
const RATES: [f64; 12] = [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];

pub(super) fn needs() -> Value {
    NEEDS.map(|(ability, meaning)| json!({ "name": ability.name(), "meaning": meaning })).to_vec().into()
}

/// `plan?items=&fpp=&memory=&needs=remove,count&prefer=&curves=1`
pub(super) fn plan(call: &Call<'_>) -> Answer {
    let items: Option<u64> = call.number("items")?;
    let fpp: Option<f64> = call.number("fpp")?;
    let memory: Option<u64> = call.number("memory")?;
    let mut need = items.map_or_else(Need::unknown, Need::of);
    for word in call.text("needs").unwrap_or_default().split(',').filter(|word| !word.is_empty()) {
        let known = NEEDS.iter().find(|(ability, _)| ability.name() == word);
        let Some((ability, _)) = known else { return refuse(400, format!("needs: {word} is not known")) };
        need = match ability {
            Ability::Count => need.count(65_535),
            other => need.with(*other),
        };
    }
    if let Some(word) = call.text("prefer") {
        let Some(prefer) = Prefer::from_name(&word) else {
            return refuse(400, format!("prefer: {word} is not known"));
        };
        need = need.prefer(prefer);
    }
    let sized = |rate: Option<f64>| {
        let need = rate.into_iter().fold(need.clone(), Need::fpp);
        memory.into_iter().fold(need, Need::memory)
    };
    let limit: Vec<_> = (0..=30).map(|bits| [f64::from(bits), fpp_information(bits.into())]).collect();
    let plan = match sized(fpp).plan() {
        Ok(plan) => plan,
        Err(impossible) => {
            let nearest = impossible.nearest.as_deref().map(shown);
            return Ok(json!({
                "designs": [], "limit": limit,
                "error": impossible.to_string(), "nearest": nearest, "without": impossible.without,
            }));
        }
    };
    let mut curves: Vec<(Kind, Vec<Value>)> =
        plan.designs().iter().map(|design| (design.kind, Vec::new())).collect();
    curves.dedup_by_key(|(kind, _)| *kind);
    if call.text("curves").is_some() {
        let lowest = fpp.unwrap_or(1.0).min(2e-6);
        for rate in RATES.into_iter().filter(|rate| *rate > lowest / 5.0) {
            // Whatever the memory: the curves show what a rate costs.
            let Ok(plan) = need.clone().fpp(rate).plan() else { continue };
            for (kind, points) in &mut curves {
                if let Some(design) = plan.designs().iter().find(|design| design.kind == *kind) {
                    points.push(json!([design.bits_per_key, design.fpp]));
                }
            }
        }
    }
    let designs: Vec<_> = plan.designs().iter().map(shown).collect();
    let curves: Vec<_> =
        curves.into_iter().map(|(kind, points)| json!({ "kind": kind.name(), "points": points })).collect();
    Ok(json!({ "designs": designs, "curves": curves, "limit": limit, "error": null }))
}

fn shown(design: &Design) -> Value {
    let error = match design.error {
        ErrorMeans::CountAbove(share) => format!("a count is too large by more than {share:.2e} of all"),
        _ => "an absent key is reported as present".to_owned(),
    };
    json!({
        "kind": design.kind.name(), "summary": design.kind.summary(), "why": design.why,
        "spec": design.spec.to_string(), "items": design.items, "bytes": design.bytes, "file_bytes": design.file_bytes,
        "bits_per_key": finite(design.bits_per_key), "fpp": finite(design.fpp), "bound": finite(design.bound),
        "error": error, "lines": finite(design.lines), "ns": finite(design.ns), "code": code(design),
    })
}

/// The lines that build a design. All of them spell the same spec.
fn code(design: &Design) -> Value {
    let spec = &design.spec;
    let text = spec.to_string();
    let options = |prefix: &str, upper: bool| -> String {
        let words = spec.given().map(|param| {
            let word = if upper { param.word().to_uppercase() } else { param.word().to_owned() };
            match spec.get(param) {
                Some(Option_::Given) | None => format!(" {prefix}{word}"),
                Some(value) => format!(" {prefix}{word} {value}"),
            }
        });
        words.collect()
    };
    let kind = design.kind.name();
    let rust = if design.is_fixed() {
        format!(
            "let spec: gardenia::Spec = \"{text}\".parse()?;\nlet digests: Vec<_> = keys.iter().map(|key| spec.hasher().digest_key(key)).collect();\nlet filter = spec.build_from(&digests[..])?;\nassert!(filter.contains(\"rose\"));"
        )
    } else {
        format!(
            "let mut filter = \"{text}\".parse::<gardenia::Spec>()?.build()?;\nfilter.insert(\"rose\")?;\nassert!(filter.contains(\"rose\"));"
        )
    };
    let python = if design.is_fixed() {
        format!("import gardenia\nfilter = gardenia.make(\"{text}\", keys)\nassert \"rose\" in filter")
    } else {
        format!(
            "import gardenia\nfilter = gardenia.make(\"{text}\")\nfilter.add(\"rose\")\nassert \"rose\" in filter"
        )
    };
    let shell = format!(
        "gardenia build --kind {kind}{} -o filter.gdn keys.txt\necho rose | gardenia query filter.gdn",
        options("--", false)
    );
    let redis = if design.is_fixed() {
        "# built from all its keys at once: build the file at the shell".to_owned()
    } else {
        format!("GD.RESERVE seen KIND {kind}{}\nGD.ADD seen rose\nGD.EXISTS seen rose", options("", true))
    };
    json!([
        { "language": "Rust", "text": rust }, { "language": "Python", "text": python },
        { "language": "Shell", "text": shell }, { "language": "Redis", "text": redis },
    ])
}
