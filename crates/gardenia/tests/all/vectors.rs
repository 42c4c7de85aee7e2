//! The vectors in `conformance/`, and the rules in them that stand for keys and values. The
//! command's tests share this file.
#![allow(dead_code)] // each program uses its own part

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Where a file of vectors is.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(format!("{name}.json"))
}

/// What a file of vectors says.
pub(crate) fn read(name: &str) -> Value {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all files of vectors, in order.
pub(crate) fn names() -> Vec<String> {
    let files = std::fs::read_dir(path("keys").parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let vectors = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut names: Vec<String> =
        vectors.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// The keys that rules stand for: `{"text": "key {i}", "from": 0, "to": 3}` is `key 0`, `key 1`,
/// `key 2`.
pub(crate) fn keys(rules: &Value) -> Vec<String> {
    let rule = |rule: &Value| {
        let (text, range) =
            (rule["text"].as_str().unwrap().to_owned(), number(&rule["from"])..number(&rule["to"]));
        range.map(move |i| text.replace("{i}", &i.to_string()))
    };
    rules.as_array().unwrap().iter().flat_map(rule).collect()
}

/// The values of this many keys: `{"times": 7, "modulo": 200}` is `7 n mod 200` for the key with
/// number n, from 0 on.
pub(crate) fn values(rule: &Value, keys: usize) -> Vec<u32> {
    let (times, modulo) = (number(&rule["times"]), number(&rule["modulo"]));
    (0..keys as u64).map(|n| (n * times % modulo) as u32).collect()
}

/// A whole number.
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// The payload of a file (docs/formats.md, "The container").
pub(crate) fn payload(file: &[u8]) -> &[u8] {
    let header = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let length = u64::from_le_bytes(file[48..56].try_into().unwrap()) as usize;
    &file[header.next_multiple_of(64)..][..length]
}

/// SHA-256, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
