//! The vectors in `conformance/`, which every front runs: the library makes them from the table of
//! kinds, and keeps them.
//!
//! `UPDATE_CONFORMANCE=1 cargo test -p gardenia --all-features --test all conformance` writes them.

use crate::vectors;
use gardenia::spec::{Param, SpecError, Takes};
use gardenia::{Ability, AnyFilter, Digest, Filter, Key, KeyHasher, Kind, List, SecretKey, Spec};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// Whether the files are to be written.
fn update() -> bool {
    std::env::var_os("UPDATE_CONFORMANCE").is_some()
}

/// Kinds that a spec builds from keys.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.holds_keys())
}

/// Writes an object and, as its last member, a list: one member and one element to a line.
fn write(name: &str, head: &Value, list: &str, elements: &[Value]) {
    let members = head.as_object().unwrap().iter().map(|(key, value)| format!("  \"{key}\": {value},\n"));
    let elements: Vec<String> = elements.iter().map(|element| format!("    {element}")).collect();
    let (members, elements): (String, String) = (members.collect(), elements.join(",\n"));
    let text = format!("{{\n{members}  \"{list}\": [\n{elements}\n  ]\n}}\n");
    std::fs::create_dir_all(vectors::path(name).parent().unwrap()).unwrap();
    std::fs::write(vectors::path(name), text).unwrap();
}

/// A value as it reads once it is written: numbers go the same way on both sides.
fn written(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}

// Keys.

/// Calls `$work` with the key of a type and a text.
macro_rules! with_key {
    ($type:expr, $text:expr, [$($name:ident)*], $key:ident => $work:expr) => {
        match $type {
            "text" => { let $key = $text.to_owned(); $work }
            "bytes" => { let $key = unhex($text); $work }
            "char" => { let $key = $text.parse::<char>().unwrap(); $work }
            $(stringify!($name) => { let $key = $text.parse::<$name>().unwrap(); $work })*
            other => panic!("no type of keys is called {other}"),
        }
    };
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

fn bytes(key: &impl Key) -> Vec<u8> {
    key.with_bytes(<[u8]>::to_vec)
}

/// The canonical bytes of a key, and its digests.
fn hashed(key: &Value, hashers: &[KeyHasher]) -> (Vec<u8>, Vec<Digest>) {
    fn both(key: &impl Key, hashers: &[KeyHasher]) -> (Vec<u8>, Vec<Digest>) {
        (bytes(key), hashers.iter().map(|hasher| hasher.digest_key(key)).collect())
    }
    let (of, value) = (key["type"].as_str().unwrap(), &key["value"]);
    if of != "tuple" && of != "list" {
        let text = value.as_str().unwrap();
        return with_key!(of, text, [u8 u16 u32 u64 i8 i16 i32 i64 u128 i128 bool f32 f64 IpAddr], key => both(&key, hashers));
    }
    // A part is as good as its bytes, which are a key of the same bytes.
    let parts: Vec<Vec<u8>> = value.as_array().unwrap().iter().map(|part| hashed(part, hashers).0).collect();
    match (of, &parts[..]) {
        ("list", parts) => both(&List(parts), hashers),
        (_, [a, b]) => both(&(a, b), hashers),
        (_, [a, b, c]) => both(&(a, b, c), hashers),
        (_, [a, b, c, d]) => both(&(a, b, c, d), hashers),
        _ => panic!("tuples have two to four parts"),
    }
}

fn hasher(value: &Value) -> KeyHasher {
    match value["hasher"].as_str().unwrap() {
        "xxh3" => KeyHasher::xxh3(value["seed"].as_str().unwrap().parse().unwrap()),
        "sip13" => {
            let secret = unhex(value["secret"].as_str().unwrap());
            KeyHasher::sip13(SecretKey::new(secret.try_into().unwrap()))
        }
        other => panic!("no hash function is called {other}"),
    }
}

fn sample_hashers() -> Value {
    json!([
        {"hasher": "xxh3", "seed": "0"},
        {"hasher": "xxh3", "seed": "1"},
        {"hasher": "xxh3", "seed": u64::MAX.to_string()},
        {"hasher": "sip13", "secret": "000102030405060708090a0b0c0d0e0f"},
    ])
}

fn sample_keys() -> Vec<Value> {
    let mut keys = Vec::new();
    let mut add = |of: &str, value: Value| keys.push(json!({"type": of, "value": value}));
    // XXH3 has branches for 0, 1, 4, 9, 17, 129 and 241 bytes on.
    for text in ["", "a", "rose", "rose\0", "Gänseblümchen 🌼", "a key of more than sixteen bytes"] {
        add("text", text.into());
    }
    for length in [128, 129, 240, 241, 1025] {
        add("text", "rose ".repeat(length)[..length].into());
    }
    for text in ["", "00", "ff", "0001feff", "c3282061"] {
        add("bytes", text.into());
    }
    for letter in ["a", "ä", "🌼"] {
        add("char", letter.into());
    }
    macro_rules! integers {
        ($($of:ident)*) => {$(
            for value in [$of::MIN, 5, $of::MAX] {
                add(stringify!($of), value.to_string().into());
            }
        )*};
    }
    integers!(u8 u16 u32 u64 i8 i16 i32 i64 u128 i128);
    add("i64", "-1".into());
    for edge in [-1, i128::from(i64::MIN), i128::from(i64::MIN) - 1, 1 << 63, (1 << 64) - 1, 1 << 64] {
        add("i128", edge.to_string().into());
    }
    for edge in [u128::from(u64::MAX), 1 << 64] {
        add("u128", edge.to_string().into());
    }
    for value in ["false", "true"] {
        add("bool", value.into());
    }
    for value in ["0", "-0", "1.5", "-1.5", "0.1", "1e300", "5e-324", "inf", "-inf", "NaN", "-NaN"] {
        add("f64", value.into());
    }
    for value in ["-0", "0.5", "0.1", "1e-45", "NaN"] {
        add("f32", value.into());
    }
    for address in ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"] {
        add("IpAddr", address.into());
    }
    let part = |of: &str, value: &str| json!({"type": of, "value": value});
    let (a, b, five) = (part("text", "a"), part("text", "b"), part("u16", "5"));
    add("tuple", json!([a, b]));
    add("tuple", json!([part("text", "ab"), part("text", "")]));
    add("tuple", json!([a, five, part("bytes", "00ff")]));
    add("tuple", json!([a, b, five, part("i64", "-5")]));
    add("tuple", json!([a, {"type": "tuple", "value": [b, five]}]));
    add("list", json!([a, b]));
    add("list", json!([five]));
    add("list", json!([]));
    keys
}

#[test]
fn keys_have_the_bytes_and_digests_of_the_conformance_vectors() {
    let check = |key: &Value, hashers: &Value| {
        let hashers: Vec<KeyHasher> = hashers.as_array().unwrap().iter().map(hasher).collect();
        let (bytes, digests) = hashed(key, &hashers);
        let digests: Vec<String> = digests.iter().map(|digest| format!("{:016x}", digest.0)).collect();
        let mut made = key.as_object().unwrap().clone();
        made.insert("bytes".into(), vectors::hex(&bytes).into());
        made.insert("digests".into(), digests.into());
        Value::Object(made)
    };
    if update() {
        let (hashers, keys) = (sample_hashers(), sample_keys());
        let keys: Vec<Value> = keys.iter().map(|key| check(key, &hashers)).collect();
        write("keys", &json!({"hashers": hashers}), "keys", &keys);
    }
    let file = vectors::read("keys");
    let keys = file["keys"].as_array().unwrap();
    keys.iter().for_each(|key| assert_eq!(&check(key, &file["hashers"]), key));
    let unhashed = |key: &Value| json!({"type": key["type"], "value": key["value"]});
    assert_eq!(keys.iter().map(unhashed).collect::<Vec<_>>(), sample_keys(), "{REMEDY}");
}

const REMEDY: &str = "the vectors are not those of the table: run UPDATE_CONFORMANCE=1 cargo test -p gardenia \
                      --all-features --test all conformance";

// Filters.

/// What all cases of a kind share: keys that go in, one after the other, and keys that are asked
/// for.
fn rules(kind: Kind) -> Value {
    let rule = |from: u64, to: u64| json!({"text": "key {i}", "from": from, "to": to});
    let mut rules = json!({"kind": kind.name(), "probes": [rule(0, 16), rule(284, 316)]});
    if kind.can(Ability::Map) {
        rules["keys"] = json!([rule(0, 300)]);
        rules["values"] = json!({"times": 7, "modulo": 200});
    } else {
        // Some come two and three times.
        rules["keys"] = json!([rule(0, 300), rule(0, 30), rule(0, 6)]);
    }
    if kind.params().contains(&Param::Clearing) {
        rules["spared"] = json!([rule(300, 400)]);
    }
    rules
}

/// The filter of a spec and the keys of the rules.
fn build(spec: &Spec, rules: &Value) -> Result<AnyFilter, SpecError> {
    let hasher = spec.hasher();
    let digests = |rules: &Value| -> Vec<Digest> {
        vectors::keys(rules).iter().map(|key| hasher.digest_key(key)).collect()
    };
    let keys = digests(&rules["keys"]);
    if let Some(values) = rules.get("values") {
        Ok(spec.build_map(&keys, &vectors::values(values, keys.len()))?.into())
    } else if let Some(spared) = rules.get("spared") {
        Ok(spec.build_retouched(&keys, &digests(spared))?.into())
    } else {
        spec.build_from(keys)
    }
}

/// What a filter answers for these keys, asked one by one and at once.
fn answers(filter: &AnyFilter<impl gardenia::cells::Held>, probes: &[String]) -> Map<String, Value> {
    let digests: Vec<Digest> = probes.iter().map(|key| filter.hasher().digest(key.as_bytes())).collect();
    let mut answers = Map::new();
    let found: Vec<bool> = digests.iter().map(|digest| filter.contains_digest(*digest)).collect();
    let mut at_once = vec![false; digests.len()];
    filter.contains_digests(&digests, &mut at_once);
    assert_eq!(found, at_once);
    let found: String = found.iter().map(|found| if *found { '1' } else { '0' }).collect();
    answers.insert("found".into(), found.into());
    if let Some(counter) = filter.as_count() {
        let counts: Vec<u64> = digests.iter().map(|digest| counter.count_digest(*digest)).collect();
        let mut at_once = vec![0; digests.len()];
        counter.count_digests(&digests, &mut at_once);
        assert_eq!(counts, at_once);
        answers.insert("counts".into(), counts.into());
    }
    let mut values = vec![None; digests.len()];
    if filter.get_digests(&digests, &mut values) {
        let mut alone = [None];
        for (digest, value) in digests.iter().zip(&values) {
            assert!(filter.get_digests(&[*digest], &mut alone) && alone[0] == *value);
        }
        answers.insert("values".into(), json!(values));
    }
    if let Some(estimate) = filter.estimated_items() {
        answers.insert("estimated_items".into(), estimate.items.into());
    }
    answers
}

/// The case of a spec: everything that is promised about it.
fn case(asked: &str, rules: &Value) -> Result<Value, SpecError> {
    let spec: Spec = asked.parse()?;
    assert_eq!(spec.to_string().parse::<Spec>()?, spec);
    let filled = spec.filled()?;
    assert_eq!(filled.filled()?, filled, "{asked}");
    assert_eq!(filled.to_string().parse::<Spec>()?, filled, "{asked}");
    let filter = build(&spec, rules)?;
    let file = filter.to_bytes().unwrap();
    assert_eq!(build(&filled, rules)?.to_bytes().unwrap(), file, "{filled} is not {asked}");

    let probes = vectors::keys(&rules["probes"]);
    let mut case = answers(&filter, &probes);
    assert_eq!(answers(&AnyFilter::from_bytes(&file).unwrap(), &probes), case, "{asked}: read");
    assert_eq!(answers(&AnyFilter::view(&file).unwrap(), &probes), case, "{asked}: viewed");
    case.insert("asked".into(), asked.into());
    case.insert("filled".into(), filled.to_string().into());
    // The size of what is built from keys is known once their number is.
    if let Ok(size) = spec.size() {
        assert_eq!(filled.size()?, size, "{asked}");
        let size = json!({"bytes": size.bytes, "file_bytes": size.file_bytes, "fpp": size.fpp});
        case.insert("size".into(), size);
    }
    case.insert("payload_sha256".into(), vectors::sha256(vectors::payload(&file)).into());
    case.insert("file_sha256".into(), vectors::sha256(&file).into());
    Ok(written(&Value::Object(case)))
}

/// Options that say how large a filter is, which [`sizes`] has.
const SIZES: [Param; 7] =
    [Param::Items, Param::Fpp, Param::Bits, Param::Cells, Param::Hashes, Param::Columns, Param::Rows];

/// Ways to say how large a filter is; not all fit every kind.
fn sizes(kind: Kind) -> Vec<String> {
    // Fewer than the keys where a filter is to forget, or to grow.
    let items = if kind.can(Ability::Grow) || kind.can(Ability::Forget) { 100 } else { 400 };
    vec![
        format!(" items={items}"),
        format!(" items={items} fpp=0.1%"),
        " bits=2Ki hashes=3".to_owned(),
        " bits=16Ki".to_owned(),
        " cells=1000 hashes=3".to_owned(),
        format!(" items={items} cells=1000 hashes=3"),
        " cells=400 width=9".to_owned(),
        " columns=67 rows=3".to_owned(),
        String::new(),
    ]
}

/// Values to try for an option of a kind.
fn candidates(kind: Kind, param: Param) -> Vec<String> {
    let texts = |values: &[&str]| values.iter().map(|value| format!("={value}")).collect();
    match param.takes() {
        Takes::Nothing => vec![String::new()],
        Takes::Word(words) | Takes::Level(words) => {
            // All, once; the other kinds have two each, not the same, which stay when a word is added.
            let first = Kind::ALL.into_iter().find(|kind| kind.params().contains(&param));
            let (at, few) = (usize::from(kind.number()), words.len().min(9));
            let some = [words[at % few], words[(at + few / 2) % few]];
            texts(if first == Some(kind) { words } else { &some })
        }
        Takes::Whole(_, most) if most == u64::MAX => texts(&["100", "7"]),
        Takes::Whole(..) => texts(&["7", "16", "4", "3", "2"]),
        Takes::Bits | Takes::Bytes => texts(&["1KiB"]),
        Takes::Share => texts(&["20%", "5%"]),
        Takes::Number => texts(&["12", "20"]),
        other => panic!("{param}: no candidates for {other:?}"),
    }
}

/// The cases of a kind: every size that fits it, and every option with the first size and value
/// that make a difference.
fn cases(kind: Kind, rules: &Value) -> Vec<Value> {
    let mut cases: Vec<Value> = Vec::new();
    // Of two that come to the same only the first counts.
    let add = |cases: &mut Vec<Value>, text: &str| {
        let Ok(made) = case(text, rules) else { return false };
        let new = cases.iter().all(|known| known["filled"] != made["filled"]);
        if new {
            cases.push(made);
        }
        new
    };
    let (sizes, mut bases) = (sizes(kind), Vec::new());
    let names = Spec::names().map(|(name, _)| name).filter(|name| Spec::named(name).unwrap().kind() == kind);
    for name in names {
        let texts = sizes.iter().map(|size| format!("{name}{size}"));
        let fit = texts.filter(|text| add(&mut cases, text));
        // Another name needs to be shown once.
        bases.extend(fit.take(if name == kind.name() { usize::MAX } else { 1 }));
    }
    let own = |param: &&Param| !SIZES.contains(param) && **param != Param::PlannedFpp;
    let (words, others): (Vec<Param>, Vec<Param>) =
        kind.params().iter().filter(own).partition(|param| param.takes().words().is_some());
    // Each word that makes a difference; some options need one of them beside it.
    let mut beside = Vec::new();
    for param in words {
        for value in candidates(kind, param) {
            let texts: Vec<String> = bases.iter().map(|base| format!("{base} {param}{value}")).collect();
            _ = texts.iter().find(|text| add(&mut cases, text));
            beside.extend(texts);
        }
    }
    bases.extend(beside);
    let filled = |text: &str| text.parse().and_then(|spec: Spec| spec.filled()).ok();
    for param in others {
        let values = candidates(kind, param);
        let texts =
            |base: &String| values.iter().map(|value| format!("{base} {param}{value}")).collect::<Vec<_>>();
        let mut pairs = bases.iter().flat_map(|base| texts(base).into_iter().map(move |text| (base, text)));
        _ = pairs.find(|(base, text)| filled(base) != filled(text) && add(&mut cases, text));
    }
    let has = |case: &Value, param| case["asked"].as_str().unwrap().parse::<Spec>().unwrap().has(param);
    for &param in kind.params() {
        // A limit on memory and a note need not make a difference.
        let shown =
            cases.iter().any(|case| has(case, param)) || [Param::Memory, Param::PlannedFpp].contains(&param);
        assert!(shown, "no case shows {param} of {}", kind.name());
    }
    cases
}

#[test]
fn every_kind_has_the_conformance_vectors_of_its_line_in_the_table() {
    for kind in kinds() {
        let rules = rules(kind);
        let cases = cases(kind, &rules);
        if update() {
            write(kind.name(), &rules, "cases", &cases);
        }
        let mut file = vectors::read(kind.name());
        let listed = file.as_object_mut().unwrap().remove("cases").unwrap();
        assert_eq!(file, rules, "{}: {REMEDY}", kind.name());
        let listed = listed.as_array().unwrap();
        for (made, listed) in cases.iter().zip(listed) {
            assert_eq!(made, listed, "{}: {REMEDY}", kind.name());
        }
        assert_eq!(cases.len(), listed.len(), "{}: {REMEDY}", kind.name());
    }
    let expected = kinds().map(Kind::name).chain(["keys"]);
    let mut expected: Vec<&str> = expected.collect();
    expected.sort_unstable();
    assert_eq!(vectors::names(), expected, "conformance/ has one file for each kind, and keys.json");
}
