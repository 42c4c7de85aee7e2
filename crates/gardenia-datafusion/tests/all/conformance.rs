//! The vectors of `conformance/` through SQL.

use crate::{answers, rows, table};
use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::prelude::{SessionConfig, SessionContext};
use gardenia::spec::SpecError;
use gardenia::{Ability, AnyFilter, Digest, Kind, Spec};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::Arc;

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// The texts of rules.
fn texts(rules: &Value) -> Vec<String> {
    let rule = |rule: &Value| {
        let (text, from, to) =
            (rule["text"].as_str().unwrap(), rule["from"].as_u64().unwrap(), rule["to"].as_u64().unwrap());
        (from..to).map(|i| text.replace("{i}", &i.to_string())).collect::<Vec<_>>()
    };
    rules.as_array().unwrap().iter().flat_map(rule).collect()
}

/// A context of one task: some kinds choose by what is there already, and keys arrive in order
/// then.
fn context() -> SessionContext {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
    gardenia_datafusion::register_all(&ctx);
    ctx
}

fn column(texts: &[String]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

/// Of kinds that SQL does not build: what the library does, of those that are built from keys
/// alone.
fn by_library(spec: &Spec, keys: &[String]) -> Result<AnyFilter, SpecError> {
    let digests: Vec<Digest> = keys.iter().map(|key| spec.hasher().digest_key(key)).collect();
    spec.build_from(&digests)
}

#[tokio::test]
async fn every_kind_is_built_and_asked_as_the_vectors_say() {
    let (mut files, mut cases, mut built, mut asked, mut left_out) = (0, 0, 0, 0, Vec::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") || path.ends_with("keys.json") {
            continue;
        }
        files += 1;
        let vectors = read(&path);
        let (keys, probes) = (texts(&vectors["keys"]), texts(&vectors["probes"]));
        let ctx = context();
        table(&ctx, "keys", vec![("x", column(&keys))], 1);
        table(&ctx, "probes", vec![("x", column(&probes))], 1);
        for case in vectors["cases"].as_array().unwrap() {
            cases += 1;
            let asked_for = case["asked"].as_str().unwrap();
            let spec: Spec = asked_for.parse().unwrap();
            let bytes = if spec.check_mergeable().is_ok() {
                built += 1;
                let filled = case["filled"].as_str().unwrap();
                let bytes =
                    crate::filter(&ctx, &format!("select filter_agg(x, '{asked_for}') from keys")).await;
                let again = crate::filter(&ctx, &format!("select filter_agg(x, '{filled}') from keys")).await;
                assert_eq!(bytes, again, "{filled}");
                bytes
            } else if vectors["values"].is_null() && vectors["spared"].is_null() {
                by_library(&spec, &keys).unwrap().to_bytes().unwrap()
            } else {
                left_out.push(asked_for.to_owned()); // they are built from more than keys
                continue;
            };
            asked += 1;
            let sha: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(sha, case["file_sha256"].as_str().unwrap(), "{asked_for}");
            let _ = ctx.deregister_table("f");
            table(&ctx, "f", vec![("f", Arc::new(BinaryArray::from(vec![bytes.as_slice()])))], 1);
            let found = answers(&ctx, "select filter_contains((select f from f), x) from probes").await;
            let found: String = found.iter().map(|found| if found.unwrap() { '1' } else { '0' }).collect();
            assert_eq!(found, case["found"].as_str().unwrap(), "{asked_for}");
            if let Some(counts) = case["counts"].as_array() {
                let batches = rows(&ctx, "select filter_count((select f from f), x) from probes").await;
                let found: Vec<u64> = batches
                    .iter()
                    .flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec())
                    .collect();
                let counts: Vec<u64> = counts.iter().map(|count| count.as_u64().unwrap()).collect();
                assert_eq!(found, counts, "{asked_for}");
            }
        }
    }
    // One file for each kind of the table that holds keys. Maps and retouched filters, which are built from more than keys,
    // are not asked; of the others those that can be merged are built by SQL.
    assert_eq!(files, Kind::ALL.iter().filter(|kind| kind.holds_keys()).count());
    assert_eq!(asked + left_out.len(), cases);
    let kind = |asked: &String| asked.parse::<Spec>().unwrap().kind();
    assert!(
        left_out.iter().all(|asked| kind(asked).can(Ability::Map) || kind(asked) == Kind::Retouched),
        "{left_out:?}"
    );
    assert!(left_out.len() < 20 && built > 80, "{built} built, {left_out:?}");
}

#[tokio::test]
async fn keys_of_arrow_types_have_the_digests_of_the_vectors() {
    let vectors = read(&folder().join("keys.json"));
    let hashers = vectors["hashers"].as_array().unwrap();
    let (mut ran, mut left_out) = (0, 0);
    for key in vectors["keys"].as_array().unwrap() {
        let text = key["value"].as_str().unwrap_or_default();
        let bytes = || {
            (0..text.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
                .collect::<Vec<u8>>()
        };
        let columns: Vec<ArrayRef> = match key["type"].as_str().unwrap() {
            "text" | "char" => vec![
                Arc::new(StringArray::from(vec![text])),
                Arc::new(LargeStringArray::from(vec![text])),
                Arc::new(StringViewArray::from(vec![text])),
            ],
            "bytes" => vec![
                Arc::new(BinaryArray::from(vec![bytes().as_slice()])),
                Arc::new(BinaryViewArray::from(vec![bytes().as_slice()])),
            ],
            "u8" => vec![Arc::new(UInt8Array::from(vec![text.parse::<u8>().unwrap()]))],
            "u16" => vec![Arc::new(UInt16Array::from(vec![text.parse::<u16>().unwrap()]))],
            "u32" => vec![Arc::new(UInt32Array::from(vec![text.parse::<u32>().unwrap()]))],
            "u64" => vec![Arc::new(UInt64Array::from(vec![text.parse::<u64>().unwrap()]))],
            "i8" => vec![Arc::new(Int8Array::from(vec![text.parse::<i8>().unwrap()]))],
            "i16" => vec![Arc::new(Int16Array::from(vec![text.parse::<i16>().unwrap()]))],
            "i32" => vec![Arc::new(Int32Array::from(vec![text.parse::<i32>().unwrap()]))],
            "i64" => vec![Arc::new(Int64Array::from(vec![text.parse::<i64>().unwrap()]))],
            _ => {
                left_out += 1; // 128 bits, tuples and lists are no types of Arrow that have keys
                continue;
            }
        };
        for column in columns {
            let ctx = context();
            table(&ctx, "t", vec![("x", column)], 1);
            for (hasher, digest) in hashers.iter().zip(key["digests"].as_array().unwrap()) {
                let Some(seed) = hasher["seed"].as_str() else { continue }; // a secret is no part of a spec
                let digest = Digest(u64::from_str_radix(digest.as_str().unwrap(), 16).unwrap());
                let spec = format!("bloom items=100 fpp=1e-9 seed={seed}");
                let found = crate::filter(&ctx, &format!("select filter_agg(x, '{spec}') from t")).await;
                assert_eq!(found, crate::built(&spec, &[digest]).to_bytes().unwrap(), "{key}");
                ran += 1;
            }
        }
    }
    assert_eq!((ran, left_out), (231, 43));
}
