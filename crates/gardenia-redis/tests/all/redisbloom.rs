//! RedisBloom's layouts: against what a server wrote, against exact models, and against damaged
//! bytes.

use gardenia_redis::redisbloom::bloom::{self, BloomChain};
use gardenia_redis::redisbloom::count_min::{self, CountMinTable, WeightedSum};
use gardenia_redis::redisbloom::cuckoo::{self, CuckooChain, Limits};
use gardenia_redis::redisbloom::layout::{Field, LayoutError};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

use crate::common::{Random, damaged_bytes, damaged_fields};
use gardenia_redis::engine::alloc::peak_of;

const ALL: u64 = u64::MAX;

/// What the server wrote, its keys, and keys that it has not.
fn interop() -> (Value, Vec<String>, Vec<String>) {
    let dumps = serde_json::from_str(include_str!("../data/redisbloom.json")).unwrap();
    let strings: Value = serde_json::from_str(include_str!("../data/strings.json")).unwrap();
    let list =
        |name: &str| strings[name].as_array().unwrap().iter().map(|s| s.as_str().unwrap().into()).collect();
    (dumps, list("keys"), list("probes"))
}

fn base64(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (vec![], 0u32, 0);
    for digit in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | digits.iter().position(|known| *known == digit).unwrap() as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// Iterators and chunks of a dump.
fn chunks(dump: &Value) -> Vec<(u64, Vec<u8>)> {
    let pair = |pair: &Value| (pair[0].as_u64().unwrap(), base64(pair[1].as_str().unwrap()));
    dump["chunks"].as_array().unwrap().iter().map(pair).collect()
}

fn indices(list: &Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|index| index.as_u64().unwrap() as usize).collect()
}

/// Positions of the keys for which `yes`.
fn positive(keys: &[String], yes: impl Fn(&[u8]) -> bool) -> Vec<usize> {
    (0..keys.len()).filter(|i| yes(keys[*i].as_bytes())).collect()
}

fn dump_of(header: Vec<u8>, chunk: impl Fn(u64) -> Option<(u64, Vec<u8>)>) -> Vec<(u64, Vec<u8>)> {
    let mut dump = vec![(1, header)];
    while let Some(next) = chunk(dump[dump.len() - 1].0) {
        dump.push(next);
    }
    dump
}

fn bloom_dump(chain: &BloomChain) -> Vec<(u64, Vec<u8>)> {
    dump_of(chain.header(), |at| chain.chunk(at).map(|(next, bytes)| (next, bytes.to_vec())))
}

fn cuckoo_dump(chain: &CuckooChain) -> Vec<(u64, Vec<u8>)> {
    dump_of(chain.header(), |at| chain.chunk(at).map(|(next, bytes)| (next, bytes.to_vec())))
}

fn bloom_of(dump: &[(u64, Vec<u8>)], max_bytes: u64) -> Result<BloomChain, LayoutError> {
    let mut chain = BloomChain::from_header(&dump[0].1, max_bytes)?;
    dump[1..].iter().for_each(|(at, chunk)| _ = chain.load_chunk(*at, chunk));
    Ok(chain)
}

fn cuckoo_of(dump: &[(u64, Vec<u8>)], max_bytes: u64) -> Result<CuckooChain, LayoutError> {
    let mut chain = CuckooChain::from_header(&dump[0].1, max_bytes)?;
    dump[1..].iter().for_each(|(at, chunk)| _ = chain.load_chunk(*at, chunk));
    Ok(chain)
}

fn fields_of(save: impl FnOnce(&mut Vec<Field>)) -> Vec<Field> {
    let mut fields = vec![];
    save(&mut fields);
    fields
}

#[test]
fn a_servers_bloom_filters_load_answer_and_are_written_again_byte_by_byte() {
    let (dumps, keys, probes) = interop();
    for name in ["bf_scaling", "bf_nonscaling"] {
        let dump = chunks(&dumps[name]);
        let chain = bloom_of(&dump, 1 << 20).unwrap();
        assert_eq!(positive(&keys, |key| chain.contains(key)).len(), keys.len(), "{name}");
        let expected = indices(&dumps[name]["positive_probe_indices"]);
        assert_eq!(positive(&probes, |key| chain.contains(key)), expected, "{name}");
        assert_eq!(bloom_dump(&chain), dump, "{name}");
        let info = &dumps[name]["info"];
        let fact = |fact: &str| info[format!("b'{fact}'")].as_u64();
        assert_eq!(fact("Capacity"), Some(chain.capacity()), "{name}");
        assert_eq!(fact("Size"), Some(chain.size()), "{name}");
        assert_eq!(fact("Number of filters"), Some(chain.layers().len() as u64), "{name}");
        assert_eq!(fact("Number of items inserted"), Some(chain.items()), "{name}");
        assert_eq!(fact("Expansion rate"), chain.growth().map(u64::from), "{name}");
    }
}

/// The commands that the server was given, and what must come of them.
#[test]
fn the_same_keys_give_a_servers_bytes_in_every_layout() {
    let (dumps, keys, _) = interop();
    for (name, entries, growth) in [("bf_scaling", 100, Some(2)), ("bf_nonscaling", 200, None)] {
        let mut chain = BloomChain::new(0.02, entries, growth, ALL).unwrap();
        let news: Vec<_> = keys.iter().map(|key| chain.insert(key.as_bytes(), ALL).unwrap()).collect();
        let present: Vec<_> = (0..keys.len()).filter(|i| !news[*i]).collect();
        assert_eq!(present, indices(&dumps[name]["already_present_key_indices"]), "{name}");
        assert_eq!(bloom_dump(&chain), chunks(&dumps[name]), "{name}");
    }
    let mut chain = CuckooChain::new(200, 2, 20, 1, ALL).unwrap();
    keys.iter().for_each(|key| chain.insert(key.as_bytes(), Limits::default()).unwrap());
    assert_eq!(cuckoo_dump(&chain), chunks(&dumps["cf"]));
}

#[test]
fn a_servers_cuckoo_filter_loads_answers_and_is_written_again_byte_by_byte() {
    let (dumps, keys, probes) = interop();
    let dump = chunks(&dumps["cf"]);
    let mut chain = cuckoo_of(&dump, 1 << 20).unwrap();
    assert_eq!(positive(&keys, |key| chain.contains(key)).len(), keys.len());
    assert_eq!(positive(&probes, |key| chain.contains(key)), indices(&dumps["cf"]["positive_probe_indices"]));
    assert_eq!(cuckoo_dump(&chain), dump);
    // Every fingerprint belongs to a key, so removing the keys leaves nothing.
    assert!(keys.iter().all(|key| chain.remove(key.as_bytes())));
    assert_eq!((chain.items(), chain.deletes()), (0, 200));
    assert_eq!(cuckoo_dump(&chain)[1].1, vec![0; 256]);
}

/// The bytes that LZF wrote so: runs of literals, and copies of what came before.
fn unpacked(mut packed: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    while let [control, rest @ ..] = packed {
        let control = usize::from(*control);
        if control < 32 {
            let (literals, rest) = rest.split_at(control + 1);
            bytes.extend(literals);
            packed = rest;
        } else {
            let (long, rest) = if control >> 5 == 7 { (usize::from(rest[0]), &rest[1..]) } else { (0, rest) };
            let from = bytes.len() - ((control & 31) << 8 | usize::from(rest[0])) - 1;
            (0..(control >> 5) + long + 2).for_each(|i| bytes.push(bytes[from + i]));
            packed = &rest[1..];
        }
    }
    bytes
}

/// A dump of type 7 (a module's value): its id, then fields with marks 2 (number) and 5 (string,
/// here packed), then 0.
#[test]
fn a_servers_count_min_sketch_loads_and_answers() {
    let (dumps, keys, _) = interop();
    let bytes = base64(dumps["cms"]["dump_payload_b64"].as_str().unwrap());
    assert_eq!(bytes[..16], *b"\x07\x81\x08\xc4\xa4\xf9\x36\x0f\x10\x00\x02\x3c\x02\x04\x02\x43");
    assert_eq!((&bytes[16..22], &bytes[22 + 535..][..1]), (&b"\x1a\x05\xc3\x42\x17\x43"[..], &b"\x00"[..]));
    let cells = unpacked(&bytes[23..][..535]);
    let fields = [Field::U64(60), Field::U64(4), Field::U64(0x31a), Field::Bytes(cells)];
    let sketch = CountMinTable::load(count_min::RDB_VERSION, &mut &fields[..], 1 << 20).unwrap();
    let estimates: Vec<_> = keys.iter().map(|key| sketch.count(key.as_bytes()) as usize).collect();
    assert_eq!(estimates, indices(&dumps["cms"]["estimates_of_keys"]));
    assert_eq!(fields_of(|fields| sketch.save(fields)), fields);

    let mut again = CountMinTable::new(60, 4, ALL).unwrap();
    keys.iter().zip(0..).for_each(|(key, i)| _ = again.add(key.as_bytes(), i % 7 + 1));
    assert_eq!(again, sketch);
}

/// Headers that real servers do not write, one field each.
#[test]
fn each_field_of_a_header_is_checked() {
    let (dumps, ..) = interop();
    let bloom = chunks(&dumps["bf_scaling"])[0].1.clone();
    // At (place, width) stands a number instead.
    let with = |header: &[u8], at: usize, bytes: &[u8]| {
        let mut header = header.to_vec();
        header[at..at + bytes.len()].copy_from_slice(bytes);
        header
    };
    let half = 0.5f64.to_le_bytes();
    let bloom_fields: [(&str, usize, &[u8]); 22] = [
        ("items", 0, &[1]),
        ("no layers", 8, &[0]),
        ("more layers than bytes", 8, &[3]),
        ("32-bit hashes", 12, &[1]),
        ("rounding", 12, &[4]),
        ("entries are bits", 12, &[7]),
        ("an unknown option", 12, &[21]),
        ("two layers of fixed size", 12, &[13]),
        ("no growth", 16, &[0]),
        ("large growth", 16, &[1, 128]),
        ("bytes", 20, &[0x80]),
        ("huge bytes", 27, &[0xff]),
        ("bits", 28, &[0xff]),
        ("no bits", 28, &[0, 0]),
        ("items above entries", 36, &[101]),
        ("another error", 44, &half),
        ("no number", 44, &f64::NAN.to_le_bytes()),
        ("infinite bits per entry", 52, &f64::INFINITY.to_le_bytes()),
        ("no hashes", 60, &[0]),
        ("too many hashes", 60, &[9]),
        ("no entries", 64, &[0]),
        ("n2", 72, &[10]),
    ];
    assert!(BloomChain::from_header(&bloom, 1 << 20).is_ok());
    for (what, at, bytes) in bloom_fields {
        assert!(BloomChain::from_header(&with(&bloom, at, bytes), 1 << 40).is_err(), "{what}");
    }
    let more = with(&with(&bloom, 0, &[199]), 36, &[101]); // a sum that agrees, of 101 items in a layer for 100
    let error = BloomChain::from_header(&more, 1 << 40).unwrap_err();
    assert!(matches!(error, LayoutError::Field { field: "entries", .. }), "{error}");
    for length in 0..bloom.len() {
        let error = BloomChain::from_header(&bloom[..length], 1 << 40).unwrap_err();
        assert!(matches!(error, LayoutError::Length { .. }), "{length}: {error}");
    }
    let limit = BloomChain::from_header(&bloom, 559).unwrap_err();
    assert_eq!(limit, LayoutError::TooLarge { needed: 560, max: 559 });

    let cuckoo = chunks(&dumps["cf"])[0].1.clone();
    let cuckoo_fields: [(&str, usize, &[u8]); 12] = [
        ("more items than slots", 0, &[1, 1]),
        ("no buckets", 8, &[0]),
        ("no power of two", 8, &[192]),
        ("buckets without end", 8, &[0, 0, 0, 0, 0, 0, 0, 128]),
        ("no filters", 24, &[0]),
        ("filters without end", 24, &[255; 8]),
        ("empty buckets", 32, &[0]),
        ("large buckets", 32, &[0, 1]),
        ("no iterations", 34, &[0]),
        ("growth that is no power of two", 36, &[3]),
        ("large growth", 36, &[0, 255]),
        ("several filters without growth", 24, &[2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 20, 0, 0, 0]),
    ];
    for (what, at, bytes) in cuckoo_fields {
        assert!(CuckooChain::from_header(&with(&cuckoo, at, bytes), 1 << 40).is_err(), "{what}");
    }
    let doubled = with(&cuckoo, 24, &[40, 0, 0, 0, 0, 0, 0, 0, 2, 0, 20, 0, 2]); // 40 tables
    assert!(matches!(CuckooChain::from_header(&doubled, 1 << 40), Err(LayoutError::TooLarge { .. })));
    assert!(CuckooChain::from_header(&cuckoo[..37], ALL).is_err());
    let limit = CuckooChain::from_header(&cuckoo, 311).unwrap_err();
    assert_eq!(limit, LayoutError::TooLarge { needed: 312, max: 311 });
    assert!(CuckooChain::from_header(&cuckoo, 312).is_ok());
}

/// The same for the fields of an RDB file, where the items of a layer stand behind its bits.
#[test]
fn a_layer_in_an_rdb_file_has_no_more_items_than_entries() {
    let (dumps, ..) = interop();
    let chain = bloom_of(&chunks(&dumps["bf_scaling"]), 1 << 20).unwrap();
    let mut fields = fields_of(|fields| chain.save(fields));
    assert_eq!((&fields[0], &fields[4], &fields[11]), (&Field::U64(198), &Field::U64(100), &Field::U64(100)));
    (fields[0], fields[11]) = (Field::U64(199), Field::U64(101));
    let error = BloomChain::load(bloom::RDB_VERSION, &mut &fields[..], 1 << 20).unwrap_err();
    assert!(matches!(error, LayoutError::Field { field: "entries", .. }), "{error}");
}

#[test]
fn other_versions_are_refused() {
    let chain = BloomChain::new(0.01, 10, Some(2), ALL).unwrap();
    let fields = fields_of(|fields| chain.save(fields));
    for version in [0, 1, 2, 3, 5] {
        assert_eq!(BloomChain::load(version, &mut &fields[..], ALL), Err(LayoutError::Version(version)));
    }
    assert_eq!(BloomChain::load(bloom::RDB_VERSION, &mut &fields[..], ALL), Ok(chain));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_chain_has_every_key_and_counts_the_new_ones(
        keys in prop::collection::vec(0u16..500, 0..400),
        entries in 1u64..40,
        growth in prop::option::of(1u32..5),
        error in 0.0001..0.9,
    ) {
        let mut chain = BloomChain::new(error, entries, growth, ALL).unwrap();
        let (mut inside, mut taken) = (HashSet::new(), 0);
        for key in &keys {
            let (bytes, there) = (key.to_le_bytes(), chain.contains(&key.to_le_bytes()));
            prop_assert!(there || !inside.contains(key));
            match chain.insert(&bytes, ALL) {
                Ok(new) => {
                    prop_assert_eq!(new, !there);
                    taken += u64::from(new);
                    inside.insert(*key);
                }
                Err(_) => prop_assert!(growth.is_none() && taken == entries),
            }
        }
        prop_assert!(inside.iter().all(|key| chain.contains(&key.to_le_bytes())));
        prop_assert_eq!(chain.items(), taken);
        prop_assert_eq!(&bloom_of(&bloom_dump(&chain), chain.size()).unwrap(), &chain);
        let fields = fields_of(|fields| chain.save(fields));
        let (version, size) = (bloom::RDB_VERSION, chain.size());
        prop_assert_eq!(&BloomChain::load(version, &mut &fields[..], size).unwrap(), &chain);
        prop_assert!(BloomChain::load(version, &mut &fields[..], size - 1).is_err());
        prop_assert!(BloomChain::from_header(&chain.header(), size - 1).is_err());
    }

    #[test]
    fn a_cuckoo_filter_counts_no_key_too_low(
        steps in prop::collection::vec((0u16..120, 0u8..8), 0..600),
        capacity in 1u64..60,
        bucket_size in 1u16..5,
        iterations in 1u16..12,
        expansion in 0u16..4,
    ) {
        let mut chain = CuckooChain::new(capacity, bucket_size, iterations, expansion, ALL).unwrap();
        let mut model = HashMap::new();
        for (key, step) in steps {
            let (bytes, count) = (key.to_le_bytes(), model.entry(key).or_insert(0u64));
            match step {
                0 if *count > 0 => {
                    prop_assert!(chain.remove(&bytes));
                    *count -= 1;
                }
                0 => {}
                1 => chain.compact(),
                2 => {
                    let absent = !chain.contains(&bytes);
                    prop_assert!(absent || *count == 0 || chain.count(&bytes) >= *count);
                    match chain.insert_if_absent(&bytes, Limits::default()) {
                        Ok(new) => {
                            prop_assert_eq!(new, absent);
                            *count += u64::from(new);
                        }
                        Err(_) => prop_assert!(absent),
                    }
                }
                _ => {
                    let before = chain.clone();
                    match chain.insert(&bytes, Limits::default()) {
                        Ok(()) => *count += 1,
                        Err(error) => {
                            prop_assert!(expansion == 0 || error == cuckoo::InsertError::Expansions);
                            prop_assert_eq!(&before, &chain);
                        }
                    }
                }
            }
            prop_assert_eq!(chain.items(), model.values().sum::<u64>());
        }
        for (key, count) in &model {
            prop_assert!(chain.count(&key.to_le_bytes()) >= *count);
        }
        prop_assert_eq!(&cuckoo_of(&cuckoo_dump(&chain), chain.size()).unwrap(), &chain);
        let fields = fields_of(|fields| chain.save(fields));
        let (version, size) = (cuckoo::RDB_VERSION, chain.size());
        prop_assert_eq!(&CuckooChain::load(version, &mut &fields[..], size).unwrap(), &chain);
        prop_assert!(CuckooChain::load(version, &mut &fields[..], size - 1).is_err());
    }

    #[test]
    fn a_sketch_counts_no_key_too_low_and_merges_as_if_it_had_counted_both(
        steps in prop::collection::vec((0u16..200, 0u64..50, any::<bool>()), 0..300),
        width in 1u64..60,
        depth in 1u64..6,
        weights in (0i64..9, 0i64..9),
    ) {
        let empty = CountMinTable::new(width, depth, ALL).unwrap();
        let (mut a, mut b, mut both, mut truth) = (empty.clone(), empty.clone(), empty, HashMap::new());
        for (key, by, first) in steps {
            let (sketch, weight) = if first { (&mut a, weights.0) } else { (&mut b, weights.1) };
            let after = sketch.add(&key.to_le_bytes(), by);
            prop_assert_eq!(after, sketch.count(&key.to_le_bytes()));
            both.add(&key.to_le_bytes(), by * weight as u64);
            *truth.entry(key).or_insert(0) += by * weight as u64;
        }
        let mut sum = WeightedSum::like(&a).unwrap();
        prop_assert!(sum.add(&a, weights.0) && sum.add(&b, weights.1));
        let merged = sum.finish().unwrap();
        prop_assert_eq!(merged.as_ref(), Some(&both));
        prop_assert!(truth.iter().all(|(key, count)| both.count(&key.to_le_bytes()) >= *count));
        let fields = fields_of(|fields| both.save(fields));
        prop_assert_eq!(CountMinTable::load(0, &mut &fields[..], both.size()), Ok(both));
    }
}

/// The rate of false positives, against what the bits that are set imply, within five standard
/// errors.
#[test]
fn absent_keys_are_found_as_often_as_the_bits_say() {
    let mut chain = BloomChain::new(0.02, 10_000, None, ALL).unwrap();
    (0..10_000u64).for_each(|key| _ = chain.insert(&key.to_le_bytes(), ALL));
    let ones: u32 =
        bloom_dump(&chain)[1..].iter().flat_map(|(_, bytes)| bytes).map(|byte| byte.count_ones()).sum();
    let layer = &chain.layers()[0];
    let rate = (f64::from(ones) / (8.0 * layer.bytes() as f64)).powi(layer.hashes() as i32);
    let trials = 400_000;
    let found = (0..trials).filter(|key| chain.contains(&(key + (1u64 << 40)).to_le_bytes())).count() as f64;
    let (mean, sigma) = (rate * trials as f64, (rate * (1.0 - rate) * trials as f64).sqrt());
    assert!((found - mean).abs() < 5.0 * sigma, "{found} found, {mean} expected, standard error {sigma}");
}

/// How many damaged values of each type are tried.
const DAMAGED: u64 = 10_000;
/// The memory that they may take.
const LIMIT: u64 = 64 << 10;
/// Memory beside what is counted: the list of 1024 layers that fields may announce, and what the
/// test itself takes.
const BESIDE: usize = 80 << 10;

/// A chain of three layers.
fn bloom_sample(random: &mut Random) -> BloomChain {
    let mut chain = BloomChain::new(0.01, 20, Some(2), ALL).unwrap();
    (0..100).for_each(|_| _ = chain.insert(&random.next().to_le_bytes(), ALL));
    chain
}

/// A filter of some tables.
fn cuckoo_sample(random: &mut Random) -> CuckooChain {
    let mut chain = CuckooChain::new(32, 2, 10, 2, ALL).unwrap();
    (0..100).for_each(|_| chain.insert(&random.next().to_le_bytes(), Limits::default()).unwrap());
    chain
}

/// Damages a chunk, sometimes its place, and the fields.
fn damage((place, bytes): &mut (u64, Vec<u8>), fields: &mut Vec<Field>, random: &mut Random) {
    damaged_bytes(bytes, random);
    if random.below(4) == 0 {
        *place = random.number();
    }
    damaged_fields(fields, random);
}

#[test]
fn damaged_bloom_filters_are_errors_or_harmless_and_take_no_more_memory_than_allowed() {
    let mut random = Random(11);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..DAMAGED {
        let chain = bloom_sample(&mut random);
        let (mut dump, mut fields) = (bloom_dump(&chain), fields_of(|fields| chain.save(fields)));
        let at = random.below(dump.len() as u64) as usize;
        damage(&mut dump[at], &mut fields, &mut random);
        let (results, peak) = peak_of(|| {
            let loaded = BloomChain::load(bloom::RDB_VERSION, &mut &fields[..], LIMIT);
            [bloom_of(&dump, LIMIT), loaded].map(|result| {
                let mut chain = result.ok()?;
                std::hint::black_box(chain.contains(b"rose"));
                for key in 0..20u64 {
                    let _ = chain.insert(&key.to_le_bytes(), LIMIT);
                }
                Some(chain)
            })
        });
        assert!(peak <= 2 * LIMIT as usize + BESIDE, "round {round}: {peak} bytes"); // two values
        for chain in results {
            let Some(chain) = chain else {
                refused += 1;
                continue;
            };
            accepted += 1;
            assert!(chain.size() <= LIMIT, "round {round}");
            assert_eq!(bloom_of(&bloom_dump(&chain), LIMIT).as_ref(), Ok(&chain), "round {round}");
        }
    }
    assert!(accepted > DAMAGED / 10 && refused > DAMAGED / 10, "{accepted} accepted, {refused} refused");
}

#[test]
fn damaged_cuckoo_filters_are_errors_or_harmless_and_take_no_more_memory_than_allowed() {
    let mut random = Random(12);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..DAMAGED {
        let chain = cuckoo_sample(&mut random);
        let (mut dump, mut fields) = (cuckoo_dump(&chain), fields_of(|fields| chain.save(fields)));
        let at = random.below(2).min(dump.len() as u64 - 1) as usize;
        damage(&mut dump[at], &mut fields, &mut random);
        let (results, peak) = peak_of(|| {
            let loaded = CuckooChain::load(cuckoo::RDB_VERSION, &mut &fields[..], LIMIT);
            [cuckoo_of(&dump, LIMIT), loaded].map(|result| {
                let mut chain = result.ok()?;
                let limits = Limits { max_bytes: LIMIT, ..Limits::default() };
                for key in 0..20u64 {
                    let _ = chain.insert(&key.to_le_bytes(), limits);
                    chain.remove(&(key / 2).to_le_bytes());
                }
                chain.compact();
                Some(chain)
            })
        });
        // A table's place in the list takes 24 bytes, and is counted with 16.
        assert!(peak <= 3 * LIMIT as usize + BESIDE, "round {round}: {peak} bytes");
        for chain in results {
            let Some(chain) = chain else {
                refused += 1;
                continue;
            };
            accepted += 1;
            assert!(chain.size() <= LIMIT, "round {round}");
        }
    }
    assert!(accepted > DAMAGED / 10 && refused > DAMAGED / 10, "{accepted} accepted, {refused} refused");
}

#[test]
fn damaged_count_min_sketches_are_errors_or_harmless_and_take_no_more_memory_than_allowed() {
    let mut random = Random(13);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..DAMAGED {
        let mut sketch = CountMinTable::new(1 + random.below(30), 1 + random.below(5), ALL).unwrap();
        (0..20).for_each(|_| _ = sketch.add(&random.next().to_le_bytes(), random.number()));
        let mut fields = fields_of(|fields| sketch.save(fields));
        damaged_fields(&mut fields, &mut random);
        let (sketch, peak) = peak_of(|| CountMinTable::load(0, &mut &fields[..], LIMIT));
        assert!(peak <= LIMIT as usize, "round {round}: {peak} bytes");
        match sketch {
            Ok(mut sketch) => {
                sketch.add(b"rose", random.number());
                let mut sum = WeightedSum::like(&sketch).unwrap();
                assert!(sum.add(&sketch, 0), "round {round}");
                let _ = [i64::MIN, i64::MAX, i64::MIN].map(|weight| sum.add(&sketch, weight));
                let _ = sum.finish();
                accepted += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(accepted > DAMAGED / 10 && refused > DAMAGED / 10, "{accepted} accepted, {refused} refused");
}
