//! Look inside: a small filter, cell by cell, and what it does with a key.
//!
//! Nothing is kept between calls: the page sends the spec and what was done so far, and the filter
//! is built anew. So two pages never meet, and nothing that was typed stays in the server.

use super::{Answer, Call, refuse};
use gardenia::explain::CellTable;
use gardenia::spec::Param;
use gardenia::{Ability, AnyFilter, Digest, Kind, Spec};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most cells that are drawn.
const MOST_CELLS: u64 = 4096;
/// Bits of a whole number that JavaScript holds exactly: what is wider is sent as text.
const EXACT_BITS: u32 = 53;
/// The most steps, and bytes of a key.
const MOST_STEPS: usize = 500;
const MOST_KEY: usize = 1000;

#[derive(Deserialize)]
struct Scene {
    spec: String,
    /// What was done: `["insert", "rose"]`.
    steps: Vec<(String, String)>,
    /// The key to explain.
    key: Option<String>,
}

/// A small filter of a kind, from the options that it has.
pub(super) fn example(kind: Kind) -> String {
    let small = [
        (Param::Columns, "24"),
        (Param::Rows, "3"),
        (Param::Items, "12"),
        (Param::Fpp, "0.1"),
        (Param::Choices, "2"),
        (Param::Max, "64"),
    ];
    let mut text = kind.name().to_owned();
    for (param, value) in small {
        let with = format!("{text} {}={value}", param.word());
        if kind.params().contains(&param) && with.parse::<Spec>().is_ok_and(|spec| spec.size().is_ok()) {
            text = with;
        }
    }
    text
}

/// What one step did.
fn step(filter: &mut AnyFilter, verb: &str, key: &str) -> Result<String, String> {
    match verb {
        "insert" => match filter.insert(key) {
            Ok(true) => Ok("inserted: it was certainly absent".into()),
            Ok(false) => Ok("inserted: it was reported as present before".into()),
            Err(error) => Err(error.to_string()),
        },
        "remove" => match filter.remove(key) {
            Some(Ok(())) => Ok("removed once".into()),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("filters of this kind cannot remove keys".into()),
        },
        "query" => Ok(if filter.contains(key) { "may be present" } else { "certainly absent" }.into()),
        _ => Err(format!("{verb} is not known")),
    }
}

/// `inside` with a [`Scene`].
pub(super) fn inside(call: &Call<'_>) -> Answer {
    let scene: Scene = call.json()?;
    if scene.steps.len() > MOST_STEPS {
        return refuse(400, format!("at most {MOST_STEPS} steps are drawn"));
    }
    if scene.steps.iter().map(|(_, key)| key).chain(&scene.key).any(|key| key.len() > MOST_KEY) {
        return refuse(400, format!("a key may have {MOST_KEY} bytes here"));
    }
    let spec: Spec = scene.spec.parse()?;
    if !spec.kind().holds_keys() {
        return refuse(400, format!("{} has no cells of keys to look at", spec.kind().name()));
    }
    let size = spec.size()?;
    if size.bytes > 64 << 10 {
        return refuse(
            400,
            format!("the filter takes {} bytes; a drawing needs a smaller one, of 65536 at most", size.bytes),
        );
    }
    // The keys that are in, by what was done.
    let mut held: BTreeMap<&str, u64> = BTreeMap::new();
    let mut steps = Vec::new();
    let fixed = spec.needs_all_keys();
    let mut filter = if fixed { None } else { Some(spec.build()?) };
    for (verb, key) in &scene.steps {
        let told = match &mut filter {
            Some(filter) => step(filter, verb, key),
            None if verb == "insert" => Ok("built in".into()),
            None if verb == "remove" && held.contains_key(key.as_str()) => Ok("left out".into()),
            None => Ok(String::new()),
        };
        match (verb.as_str(), &told) {
            ("insert", Ok(_)) => *held.entry(key).or_default() += 1,
            ("remove", Ok(_)) => {
                if let Some(copies) = held.get_mut(key.as_str()) {
                    *copies -= 1;
                }
                held.retain(|_, copies| *copies > 0);
            }
            _ => {}
        }
        let (ok, told) = told.map_or_else(|error| (false, error), |told| (true, told));
        steps.push(json!({ "verb": verb, "key": key, "ok": ok, "told": told }));
    }
    let filter = match filter {
        Some(filter) => filter,
        None => {
            let hasher = spec.hasher();
            let digests: Vec<Digest> = held.keys().map(|key| hasher.digest_key(*key)).collect();
            spec.build_from(&digests[..])?
        }
    };
    let tables = filter.tables();
    if tables.iter().map(|table| table.cells).sum::<u64>() > MOST_CELLS {
        return refuse(
            400,
            format!(
                "the filter has more than {MOST_CELLS} cells, too many to draw; ask for fewer items or bits"
            ),
        );
    }
    let cells = |number: usize, table: &CellTable| -> Vec<Value> {
        filter.cells(number, 0..table.cells).into_iter().map(|value| cell(table, value)).collect()
    };
    let cells: Vec<_> = tables.iter().enumerate().map(|(number, table)| cells(number, table)).collect();
    let explained =
        scene.key.as_deref().filter(|key| !key.is_empty()).map(|key| explain(&filter, key, &held));
    let abilities: Vec<_> =
        Ability::ALL.into_iter().filter(|ability| filter.can(*ability)).map(Ability::name).collect();
    let estimate = filter.estimated_items();
    let held_keys: Vec<&str> = held.keys().copied().collect();
    let held: Vec<_> =
        held.into_iter().map(|(key, copies)| json!({ "key": key, "copies": copies })).collect();
    Ok(json!({
        "kind": spec.kind().name(), "summary": spec.kind().summary(),
        "spec": filter.spec().map(|spec| spec.to_string()),
        "tables": tables, "cells": cells, "abilities": abilities, "steps": steps, "held": held,
        "fill": filter.fill(), "fpp": filter.fpp(), "bytes": filter.memory_bytes(),
        "items": estimate.map(|estimate| super::finite(estimate.items)),
        "explained": explained, "plain_fill": plain_fill(&filter, &held_keys),
    }))
}

/// What a cell holds, for the page.
fn cell(table: &CellTable, value: u64) -> Value {
    if table.width > EXACT_BITS { value.to_string().into() } else { value.into() }
}

/// The fill of a plain Bloom filter with the same bits, hashes and keys, to compare a filter with
/// choices with.
fn plain_fill(filter: &AnyFilter, keys: &[&str]) -> Option<f64> {
    let identity = filter.identity();
    if filter.kind() != Kind::Choice {
        return None;
    }
    let spec: Spec = format!("bloom bits={} hashes={}", identity.cells, identity.hashes).parse().ok()?;
    let mut plain = spec.build().ok()?;
    keys.iter().for_each(|key| _ = plain.insert(*key));
    Some(plain.fill())
}

/// What the filter does with a key, and for each of its cells which keys use it, too.
fn explain(filter: &AnyFilter, key: &str, held: &BTreeMap<&str, u64>) -> Value {
    let explained = filter.explain_insert(key).unwrap_or_else(|_| filter.explain(key));
    let others: Vec<&str> = held.keys().copied().collect();
    let users = filter.users(&explained, &others);
    let keys: Vec<Vec<&str>> =
        users.into_iter().map(|users| users.into_iter().map(|at| others[at]).collect()).collect();
    let tables = filter.tables();
    let probes = explained.probes.iter().map(|probe| {
        let (mut shown, table) = (json!(probe), &tables[probe.table as usize]);
        shown["value"] = cell(table, probe.value);
        shown["after"] = probe.after.map(|after| cell(table, after)).into();
        shown
    });
    json!({
        "key": key, "inserted": held.contains_key(key),
        // As text: it has 64 bits.
        "digest": format!("{:016x}", explained.digest.0),
        "bytes": explained.bytes, "fingerprint": explained.fingerprint.map(|number| number.to_string()),
        "probes": probes.collect::<Vec<_>>(), "keys": keys, "decoded": explained.decoded,
        "present": explained.present, "count": explained.count,
    })
}
