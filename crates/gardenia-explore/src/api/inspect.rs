//! Inspect: facts of a file, its fill, queries, verification, comparison.

use super::streams::random;
use super::{Answer, Call, finite, refuse, start};
use crate::job::Job;
use crate::server::Shared;
use crate::store::{Cells, Entry, Opened};
use gardenia::explain::{CellTable, Holds};
use gardenia::filter::Identity;
use gardenia::format::{self, Foreign, KeyType};
use gardenia::theory::bloom::Estimate;
use gardenia::theory::overlap::Overlap;
use gardenia::theory::{bloom, load, sample};
use gardenia::{AnyFilter, Kind, OpenFilter};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Parts of a picture of the fill, and cells that are read of each.
const PARTS: usize = 2048;
const SAMPLES: usize = 2048;
/// Groups of cells that lie together whose load is counted.
const MOST_GROUPS: u64 = 4096;
/// Absent keys that are asked to measure a rate; fewer where each may read pages of a disk.
const QUERIES: u64 = 20_000;
const QUERIES_MAPPED: u64 = 2_000;
/// Bytes of mapped files that are read to be compared.
const MOST_COMPARED: u64 = 2 << 30;
/// Keys of one query.
const MOST_KEYS: usize = 1000;

fn listed(entry: &Entry) -> Value {
    let error = entry.opened.as_ref().err();
    json!({ "id": entry.id, "name": entry.name, "bytes": entry.len, "error": error })
}

pub(super) fn files(shared: &Shared) -> Value {
    shared.store.all().iter().map(|entry| listed(entry)).collect()
}

/// `upload?name=` with the bytes of a file.
pub(super) fn upload(shared: &Shared, call: &Call<'_>) -> Answer {
    let name = call.text("name").unwrap_or_else(|| "upload".into());
    match shared.store.upload(&name, &call.body) {
        Ok(entry) => Ok(listed(&entry)),
        Err(error) => refuse(422, format!("{name}: {error}")),
    }
}

fn find(shared: &Shared, id: Option<u64>) -> Answer<Arc<Entry>> {
    let entry = id.and_then(|id| shared.store.find(id));
    entry.map_or_else(|| refuse(404, "there is no such file"), Ok)
}

/// The filter of an entry, if its file is still what was opened.
fn opened(entry: &Entry) -> Answer<&Opened> {
    match &entry.opened {
        Err(error) => refuse(422, error.clone()),
        Ok(Opened::Native(filter)) if !filter.is_unchanged()? => {
            refuse(409, format!("{} has changed since it was opened; start the explorer again", entry.name))
        }
        Ok(opened) => Ok(opened),
    }
}

/// `file?id=`: counts cells and asks queries in the background, and tells the facts of a file.
pub(super) fn file(shared: &Shared, call: &Call<'_>) -> Answer {
    let entry = find(shared, call.number("id")?)?;
    opened(&entry)?;
    start(shared, call, move |job| {
        let filter = opened(&entry)?;
        let mut facts = match filter {
            Opened::Native(filter) => native(filter, &filter_cells(&entry)?),
            Opened::Foreign(filter) => other(&**filter),
        };
        facts["measured"] = measured(job, filter)?;
        Ok(json!({ "file": listed(&entry), "facts": facts }))
    })
}

fn filter_cells(entry: &Entry) -> Answer<Cells<'_>> {
    Ok(opened(entry)?.cells())
}

/// Facts of a native file. Of a mapped one the cells are sampled: reading all of them is the work
/// of [`verify`].
fn native(filter: &OpenFilter, cells: &Cells<'_>) -> Value {
    let (identity, about, sampled) = (filter.identity(), filter.about(), cells.is_mapped());
    let (fill, fpp, estimate) = if sampled {
        let (fill, estimate) = sample(filter, cells);
        (fill, None, estimate)
    } else {
        (filter.fill(), finite(filter.fpp()), filter.estimated_items())
    };
    json!({
        "format": "Gardenia", "kind": filter.kind().name(), "summary": filter.kind().summary(),
        "abilities": filter.kind().abilities().iter().map(|ability| ability.name()).collect::<Vec<_>>(),
        "spec": filter.spec().map(|spec| spec.to_string()), "hasher": identity.hasher.name(),
        "scheme": identity.scheme.map(|scheme| scheme.name()), "cells": identity.cells, "hashes": identity.hashes,
        "width": identity.width, "memory": filter.memory_bytes(),
        "planned_items": about.planned_items(), "planned_fpp": about.planned_fpp(), "counted": about.counted_items(),
        "metadata": String::from_utf8_lossy(&about.metadata()[..about.metadata().len().min(1000)]),
        "fill": finite(fill), "sampled": sampled, "fpp": fpp,
        "items": estimate.and_then(|estimate| finite(estimate.items)),
        "items_error": estimate.and_then(|estimate| finite(estimate.std_error)),
        "tables": cells.tables(), "notes": [], "key_types": [],
    })
}

/// The fill of a mapped file and its keys, from the cells of a picture.
fn sample(filter: &OpenFilter, cells: &Cells<'_>) -> (f64, Option<Estimate>) {
    let parts = cells.fill_of(0, 0..u64::MAX, PARTS, SAMPLES);
    let fill = parts.iter().map(|part| f64::from(*part)).sum::<f64>() / parts.len().max(1) as f64;
    let Identity { cells: all, hashes, .. } = filter.identity();
    let sampled = all.min((parts.len() * SAMPLES) as u64);
    let ones = (fill * sampled as f64).round() as u64;
    let estimate = match filter.kind() {
        Kind::Bloom => Some(sample::items(all, hashes, sampled, ones)),
        Kind::Blocked | Kind::SplitBlock => Some(sample::items_of_blocks(all, hashes, sampled, ones)),
        _ => None,
    };
    (fill, estimate)
}

/// Facts of a file of another program.
fn other(filter: &dyn Foreign) -> Value {
    let notes: Vec<_> = filter.describe().into_iter().map(|(name, value)| json!([name, value])).collect();
    let types: Vec<_> = filter.key_types().iter().map(|kind| kind.name()).collect();
    let (cells, hashes, fill) = (filter.bits(), filter.hashes(), filter.fill());
    let items = filter.estimated_items().filter(|items| items.is_finite());
    // Most formats estimate as the theory does, which also knows the error. The others count what they insert.
    let theory = bloom::estimate_items(cells, hashes, (fill * cells as f64).round() as u64);
    let same = items.is_some_and(|items| (items - theory.items).abs() <= 1e-6 * items);
    json!({
        "format": filter.format().title(), "kind": null, "cells": cells, "hashes": hashes,
        "fill": finite(fill), "fpp": finite(filter.fpp()), "sampled": false, "items": items,
        "items_error": same.then_some(theory.std_error).and_then(finite), "notes": notes, "key_types": types,
        "tables": filter.tables(),
    })
}

/// The false-positive rate by queries of keys that nobody has inserted, with its interval; null if
/// it has no keys of text.
fn measured(job: &Job, filter: &Opened) -> Answer {
    let queries = if filter.cells().is_mapped() { QUERIES_MAPPED } else { QUERIES };
    let key_type = match filter {
        Opened::Native(_) => None,
        Opened::Foreign(filter) => {
            let known = |wanted: &KeyType| filter.key_types().contains(wanted);
            let Some(chosen) = [KeyType::String, KeyType::Bytes, KeyType::Long].into_iter().find(known)
            else {
                return Ok(Value::Null);
            };
            Some(chosen)
        }
    };
    let (mut hits, mut state) = (0, 29);
    for done in 0..queries {
        if done % 256 == 0 {
            job.report(done as f64 / queries as f64, Value::Null);
            if job.is_stopped() {
                return refuse(400, "stopped");
            }
        }
        let number = random(&mut state);
        let key = match key_type {
            Some(KeyType::Long) => (number as i64).to_string(),
            _ => format!("no key of anybody {number:016x}"),
        };
        match filter.ask(&key, key_type) {
            Ok((present, _)) => hits += u64::from(present),
            Err(_) => return Ok(Value::Null),
        }
    }
    let rate = sample::rate(hits, queries);
    Ok(json!({ "queries": queries, "hits": hits, "rate": rate.rate, "low": rate.low, "high": rate.high }))
}

/// `fill?id=&table=&from=&to=`: the fill of up to 2048 parts, and the load of blocks or buckets.
pub(super) fn fill(shared: &Shared, call: &Call<'_>) -> Answer {
    let entry = find(shared, call.number("id")?)?;
    let cells = filter_cells(&entry)?;
    let table: usize = call.number("table")?.unwrap_or(0);
    let tables = cells.tables();
    let Some(shape) = tables.get(table) else { return refuse(404, "there is no such table") };
    let from = call.number("from")?.unwrap_or(0).min(shape.cells);
    let to = call.number("to")?.unwrap_or(shape.cells).clamp(from, shape.cells);
    let parts = cells.fill_of(table, from..to, PARTS, SAMPLES);
    let hashes = match opened(&entry)? {
        Opened::Native(filter) => filter.identity().hashes,
        Opened::Foreign(filter) => filter.hashes(),
    };
    Ok(json!({
        "table": table, "from": from, "to": to, "cells": shape.cells, "parts": parts,
        "mean": parts.iter().map(|part| f64::from(*part)).sum::<f64>() / parts.len().max(1) as f64,
        "exact": (to - from) <= (PARTS * SAMPLES) as u64,
        "loads": loads(&cells, table, shape, hashes),
    }))
}

/// How many blocks, or buckets, have how many cells in use; with what theory expects at the same
/// fill.
fn loads(cells: &Cells<'_>, table: usize, shape: &CellTable, hashes: u32) -> Option<Value> {
    let (together, all) = (shape.together, shape.cells);
    if together < 2 || all < together {
        return None;
    }
    let groups = all / together;
    let step = groups.div_ceil(MOST_GROUPS);
    let mut counts = vec![0u64; together as usize + 1];
    let mut read = 0u64;
    for group in (0..groups).step_by(step as usize) {
        let values = cells.cells(table, group * together..(group + 1) * together);
        counts[values.iter().filter(|value| **value > 0).count()] += 1;
        read += 1;
    }
    let used: u64 = counts.iter().enumerate().map(|(load, count)| load as u64 * count).sum();
    let blocks = shape.holds == Holds::Bits && used < read * together;
    let theory = if blocks {
        let items = bloom::estimate_items(read * together, hashes, used).items;
        load::of_blocks(together, read, items.round() as u64, hashes)
    } else {
        load::of_buckets(together, used as f64 / (read * together) as f64)
    };
    let theory: Vec<f64> = theory.into_iter().map(|share| share * read as f64).collect();
    Some(json!({
        "together": together, "groups": groups, "read": read, "counts": counts, "theory": theory,
        "law": if blocks { "blocks" } else { "buckets" },
    }))
}

#[derive(Deserialize)]
struct Query {
    id: u64,
    keys: Vec<String>,
    key_type: Option<String>,
}

/// `query` with keys, which are not kept.
pub(super) fn query(shared: &Shared, call: &Call<'_>) -> Answer {
    let Query { id, keys, key_type } = call.json()?;
    if keys.len() > MOST_KEYS {
        return refuse(400, format!("at most {MOST_KEYS} keys at a time"));
    }
    let entry = find(shared, Some(id))?;
    let filter = opened(&entry)?;
    let key_type = key_type.as_deref().and_then(KeyType::from_name);
    let told = |key: &String| match filter.ask(key, key_type) {
        Ok((present, count)) => json!({ "key": key, "present": present, "count": count }),
        Err(error) => json!({ "key": key, "error": error.to_string() }),
    };
    Ok(json!({ "answers": keys.iter().map(told).collect::<Vec<_>>() }))
}

/// A file that is read for a job: tells how far it is, and ends when the job is stopped.
struct Watched<'a> {
    file: File,
    job: &'a Job,
    read: u64,
    len: u64,
    /// The part of the job that reading is.
    from: f64,
    share: f64,
}

impl<'a> Watched<'a> {
    fn open(entry: &Entry, path: &Path, job: &'a Job, from: f64, share: f64) -> Answer<BufReader<Self>> {
        let file = File::open(path).map_err(|error| about(entry, &error))?;
        let watched = Self { file, job, read: 0, len: entry.len, from, share };
        Ok(BufReader::with_capacity(1 << 20, watched))
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.job.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        let count = self.file.read(buffer)?;
        self.read += count as u64;
        let done = self.from + self.share * self.read as f64 / self.len.max(1) as f64;
        self.job.report(done, Value::Null);
        Ok(count)
    }
}

fn about(entry: &Entry, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", entry.name)
}

/// `verify?id=`: reads the whole file in the background, checks every checksum, counts every cell.
pub(super) fn verify(shared: &Shared, call: &Call<'_>) -> Answer {
    let entry = find(shared, call.number("id")?)?;
    opened(&entry)?;
    start(shared, call, move |job| {
        let filter = match opened(&entry)? {
            Opened::Native(filter) => filter,
            Opened::Foreign(filter) => {
                return Ok(json!({
                    "told": "The file was read to its end without an error. Its format has no checksums.",
                    "fill": finite(filter.fill()), "fpp": finite(filter.fpp()), "items": filter.estimated_items(),
                }));
            }
        };
        if let Some(path) = &entry.path {
            // What is left is to count the cells.
            let watched = Watched::open(&entry, path, job, 0.0, 0.9)?;
            format::verify(watched).map_err(|error| about(&entry, &error))?;
        }
        let estimate = filter.estimated_items();
        Ok(json!({
            "told": "Every checksum is right, and every cell was counted.",
            "fill": finite(filter.fill()), "fpp": finite(filter.fpp()),
            "items": estimate.and_then(|estimate| finite(estimate.items)),
            "items_error": estimate.and_then(|estimate| finite(estimate.std_error)),
        }))
    })
}

/// `compare?a=&b=`: what two files have in common, estimated from their union in the background.
pub(super) fn compare(shared: &Shared, call: &Call<'_>) -> Answer {
    let (a, b) = (find(shared, call.number("a")?)?, find(shared, call.number("b")?)?);
    if let (Opened::Native(_), Opened::Foreign(_)) | (Opened::Foreign(_), Opened::Native(_)) =
        (opened(&a)?, opened(&b)?)
    {
        return refuse(400, "a filter of Gardenia and one of another program cannot be compared");
    }
    start(shared, call, move |job| {
        let found = match (opened(&a)?, opened(&b)?) {
            (Opened::Foreign(a), Opened::Foreign(b)) => format::overlap(&**a, &**b),
            _ => {
                let first = own(&a, job, 0.0)?.into_owned();
                let second = own(&b, job, 0.45)?;
                first.overlap(&second)
            }
        };
        let Some(found) = found else {
            return refuse(400, "filters of this kind do not tell what they have in common");
        };
        let Overlap { common, only_a, only_b, jaccard, jaccard_std_error, .. } = found?;
        // Chance can make an estimate less than nothing.
        let told = |estimate: Estimate| json!({ "items": finite(estimate.items.max(0.0)), "error": finite(estimate.std_error) });
        Ok(json!({
            "a": a.name, "b": b.name, "common": told(common), "only_a": told(only_a), "only_b": told(only_b),
            "jaccard": finite(jaccard.clamp(0.0, 1.0)), "jaccard_error": finite(jaccard_std_error),
        }))
    })
}

/// A native filter in memory: the entry's, or read from its file.
fn own<'a>(entry: &'a Entry, job: &Job, from: f64) -> Answer<Cow<'a, AnyFilter>> {
    if let Opened::Native(filter) = opened(entry)?
        && let Some(owned) = filter.as_owned()
    {
        return Ok(Cow::Borrowed(owned));
    }
    match &entry.path {
        Some(path) if entry.len <= MOST_COMPARED => {
            let watched = Watched::open(entry, path, job, from, 0.45)?;
            Ok(Cow::Owned(AnyFilter::read_from(watched).map_err(|error| about(entry, &error))?))
        }
        _ => refuse(400, format!("{} is too large to be merged here; use `gardenia diff`", entry.name)),
    }
}
