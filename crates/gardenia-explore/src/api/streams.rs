//! Streams: one stream through a filter that removes duplicates, Count-Min and the most frequent
//! keys, beside the exact answer.

use super::{Answer, Call, refuse};
use crate::job::Job;
use crate::server::Shared;
use gardenia::{Ability, AnyFilter, Spec, Top};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Points of the plots.
const POINTS: usize = 60;
const MOST_LENGTH: u64 = 5_000_000;
const MOST_KEYS: u64 = 1_000_000;
/// Keys whose counts are compared at each point: the first that came.
const COMPARED: usize = 2000;

#[derive(Deserialize)]
struct Setting {
    length: u64,
    keys: u64,
    skew: f64,
    seed: u64,
    dedup: String,
    counts: String,
    top: usize,
    /// Lines of a stream of one's own, in the place of a generated one.
    lines: Option<String>,
}

/// `streams` with a [`Setting`]: starts a job.
pub(super) fn start(shared: &Shared, call: &Call<'_>) -> Answer {
    let setting: Setting = call.json()?;
    let bad = |what: &str| refuse(400, what.to_owned());
    if setting.lines.as_ref().is_some_and(String::is_empty) {
        return bad("the file has no lines");
    }
    if setting.lines.is_none() {
        if !(1..=MOST_LENGTH).contains(&setting.length) {
            return bad("length must be between 1 and 5 million");
        }
        if !(1..=MOST_KEYS).contains(&setting.keys) {
            return bad("keys must be between 1 and 1 million");
        }
        if !(0.0..=3.0).contains(&setting.skew) {
            return bad("skew must be between 0 and 3");
        }
    }
    if !(1..=1000).contains(&setting.top) {
        return bad("top must be between 1 and 1000");
    }
    let (dedup, counts) = (made(&setting.dedup, Ability::Insert)?, made(&setting.counts, Ability::Count)?);
    let top = Top::new(setting.top)?;
    super::start(shared, call, move |job| Ok(run(job, setting, dedup, counts, top)))
}

/// The filter of a spec, if it has the ability and is not larger than 256 MiB.
fn made(text: &str, ability: Ability) -> Answer<AnyFilter> {
    let spec: Spec = text.parse()?;
    if spec.size()?.bytes > 256 << 20 {
        return refuse(400, format!("{text} takes more than 256 MiB"));
    }
    let filter = spec.build()?;
    if !filter.can(ability) {
        return refuse(400, format!("{} cannot {}", spec.kind().name(), ability.name()));
    }
    Ok(filter)
}

/// Keys of a stream: numbers drawn by Zipf's law, or lines.
enum Source {
    Drawn { below: Vec<f64>, state: u64 },
    Lines(std::vec::IntoIter<u64>),
}

impl Source {
    fn new(setting: &mut Setting, names: &mut Vec<String>) -> (Self, u64) {
        match setting.lines.take() {
            Some(text) => {
                let mut known: HashMap<&str, u64> = HashMap::new();
                let lines: Vec<u64> = text
                    .lines()
                    .map(|line| {
                        *known.entry(line).or_insert_with(|| {
                            names.push(line.to_owned());
                            names.len() as u64 - 1
                        })
                    })
                    .collect();
                let length = lines.len() as u64;
                (Self::Lines(lines.into_iter()), length)
            }
            None => {
                let mut sum = 0.0;
                let below = (1..=setting.keys)
                    .map(|rank| {
                        sum += (rank as f64).powf(-setting.skew);
                        sum
                    })
                    .collect();
                (Self::Drawn { below, state: setting.seed }, setting.length)
            }
        }
    }

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Drawn { below, state } => {
                let share = (random(state) >> 11) as f64 / (1u64 << 53) as f64;
                let wanted = share * below.last().copied()?;
                Some(below.partition_point(|sum| *sum <= wanted).min(below.len() - 1) as u64)
            }
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(super) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

fn run(job: &Job, mut setting: Setting, mut dedup: AnyFilter, mut counts: AnyFilter, mut top: Top) -> Value {
    let mut names = Vec::new();
    let (mut source, length) = Source::new(&mut setting, &mut names);
    let name = |key: u64| names.get(key as usize).cloned().unwrap_or_else(|| format!("key{key}"));
    let (mut exact, mut first): (HashMap<u64, u64>, Vec<u64>) = Default::default();
    let (mut seen, mut dropped, mut repeated, mut refused) = (0u64, 0u64, 0u64, 0u64);
    let mut points: Vec<Value> = Vec::new();
    let every = (length / POINTS as u64).max(1);
    let mut hitters = Value::Null;
    while seen < length {
        let Some(key) = source.next() else { break };
        let text = name(key);
        let copies = exact.entry(key).or_default();
        *copies += 1;
        if *copies == 1 && first.len() < COMPARED {
            first.push(key);
        }
        seen += 1;
        match dedup.insert(text.as_str()) {
            // A new key that is reported as known is lost; a known one that is reported as new comes again.
            Ok(new) => {
                dropped += u64::from(!new && *copies == 1);
                repeated += u64::from(new && *copies > 1);
            }
            Err(_) => refused += 1,
        }
        let _ = counts.insert(text.as_str());
        top.update(text.as_str(), 1);
        if seen.is_multiple_of(every) || seen == length {
            let distinct = exact.len() as u64;
            let (mut most, mut sum, mut compared) = (0u64, 0u64, 0u64);
            for key in &first {
                let above = counts.count(name(*key).as_str()).unwrap_or(0).abs_diff(exact[key]);
                (most, sum, compared) = (most.max(above), sum + above, compared + 1);
            }
            let (found, listed) = hits(&top, &exact, setting.top, &name);
            hitters = listed;
            points.push(json!({
                "seen": seen, "distinct": distinct, "dropped": dropped, "repeated": repeated, "refused": refused,
                "passed": distinct - dropped.min(distinct) + repeated,
                "compared": compared, "mean": sum as f64 / compared.max(1) as f64, "most": most, "found": found,
            }));
            job.report(seen as f64 / length as f64, result(length, &points, &hitters, &dedup, &counts));
            if job.is_stopped() {
                break;
            }
        }
    }
    result(length, &points, &hitters, &dedup, &counts)
}

fn result(length: u64, points: &[Value], hitters: &Value, dedup: &AnyFilter, counts: &AnyFilter) -> Value {
    json!({
        "length": length, "points": points, "top": hitters,
        "dedup_bytes": dedup.memory_bytes(), "counts_bytes": counts.memory_bytes(),
    })
}

/// The share of the most frequent keys that `top` found, and its list beside the exact counts.
fn hits(top: &Top, exact: &HashMap<u64, u64>, keys: usize, name: &impl Fn(u64) -> String) -> (f64, Value) {
    let mut order: Vec<(u64, u64)> = exact.iter().map(|(key, copies)| (*copies, *key)).collect();
    let keys = keys.min(order.len());
    if keys == 0 {
        return (1.0, Value::Null);
    }
    order.select_nth_unstable_by(keys - 1, |a, b| b.cmp(a));
    // Any key that occurs as often as the last of them is as good.
    let least = order[keys - 1].0;
    let frequent: HashMap<String, u64> = order
        .iter()
        .filter(|(copies, _)| *copies >= least)
        .map(|(copies, key)| (name(*key), *copies))
        .collect();
    let found = top.top(keys);
    let listed: Vec<Value> = found
        .iter()
        .take(20)
        .map(|hitter| {
            let key = String::from_utf8_lossy(&hitter.key).into_owned();
            let exact = frequent.get(&key);
            json!({ "key": key, "low": hitter.lower, "high": hitter.upper, "exact": exact })
        })
        .collect();
    let right =
        found.iter().filter(|hitter| frequent.contains_key(&*String::from_utf8_lossy(&hitter.key))).count();
    (right as f64 / keys as f64, listed.into())
}
