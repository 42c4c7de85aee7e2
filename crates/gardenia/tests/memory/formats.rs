//! The decoder against damaged, foreign, newer and hostile bytes: a specific error, no panic, and
//! no more memory than the caller allows.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "the mapped files are the test's own")]

use crate::allocator::peak_of;
use gardenia::cells::CellKind;
use gardenia::error::Part;
use gardenia::filter::{Clearing, Effort, PolicyId, Update};
use gardenia::index::{AnyScheme, Form, SchemeId};
use gardenia::theory::distance::DistanceShape;
use gardenia::{
    A2Bloom, Ability, AnyFilter, BinaryFuse, BitwiseBloom, Bloom, Bloomier, ChoiceBloom, CountMin,
    CountSketch, Cuckoo, DecodeError, Digest, DistanceSensitiveBloom, DynamicBloom, Filter, InsertError,
    RangeCountMin, ReadOptions, RetouchedBloom, Ribbon, ScalableBloom, SecretKey, SpectralBloom, StableBloom,
    Top, format,
};
use proptest::prelude::*;

/// Beyond the payload a decoder may hold the header (two copies of at most 128 KiB) and one chunk.
const BESIDE_PAYLOAD: usize = 2 << 20;

fn sample(bits: u64) -> Vec<u8> {
    let mut filter = Bloom::builder().bits(bits).hashes(5).build().unwrap();
    filter.extend(0..bits / 8);
    filter.about_mut().set_metadata(b"a note").unwrap();
    filter.to_bytes().unwrap()
}

/// A bitwise filter of two levels.
fn bitwise_sample(cells: u64) -> Vec<u8> {
    let mut filter = BitwiseBloom::builder().cells(cells).hashes(3).digit(2).max_levels(2).build().unwrap();
    filter.extend((0..cells / 10 + 1).flat_map(|key| [key; 5]));
    filter.about_mut().set_metadata(b"a note").unwrap();
    filter.to_bytes().unwrap()
}

/// A small filter of each kind that has parameters of its own, or an evolving state.
const SAMPLES: [fn(u64) -> Vec<u8>; 8] = [
    sample,
    |cells| {
        let builder = StableBloom::builder().cells(cells).hashes(5).width(3).decrements(1 + cells / 9);
        let mut filter = builder.aging_seed(7).build().unwrap();
        filter.extend(0..cells / 8);
        filter.to_bytes().unwrap()
    },
    |bits| {
        let mut filter = A2Bloom::builder().bits(bits).hashes(5).items(1 + bits / 20).build().unwrap();
        filter.extend(0..bits / 8);
        filter.to_bytes().unwrap()
    },
    |bits| choice_sample(bits, Effort::Rounds),
    |bits| choice_sample(bits, Effort::Partitioned),
    |bits| {
        let mut filter = Cuckoo::builder().cells(bits / 9 + 1).width(9).build().unwrap();
        (0..bits / 12).for_each(|key| _ = filter.insert(key).unwrap());
        filter.to_bytes().unwrap()
    },
    |bits| {
        let mut filter = ScalableBloom::builder().fpp(0.1).items(1 + bits / 40).build().unwrap();
        (0..bits / 12).for_each(|key| _ = filter.insert(key).unwrap());
        filter.to_bytes().unwrap()
    },
    |cells| {
        let mut filter =
            DynamicBloom::builder().cells(1 + cells / 3).hashes(3).items(1 + cells / 30).build().unwrap();
        (0..cells / 15).for_each(|key| _ = filter.insert(key).unwrap());
        filter.to_bytes().unwrap()
    },
];

/// A filter with choices, by groups or by partitions.
fn choice_sample(bits: u64, effort: Effort) -> Vec<u8> {
    let keys: Vec<u64> = (0..bits / 8).collect();
    ChoiceBloom::builder().bits(bits).hashes(5).effort(effort).build_from(&keys).unwrap().to_bytes().unwrap()
}

/// A spectral filter with some counts.
fn spectral_sample(policy: PolicyId, cells: u64, compact: bool, marker: bool) -> Vec<u8> {
    let mut builder = SpectralBloom::builder().cells(cells).hashes(5);
    if policy == PolicyId::RecurringMinimum {
        builder = builder.marker(marker);
    }
    if compact {
        builder = builder.compact();
    }
    let mut filter = builder.policy(policy).build().unwrap();
    (0..cells / 8).for_each(|key| _ = filter.insert_times(key, 1 + key % 9));
    filter.to_bytes().unwrap()
}

/// A ribbon filter, from 2,049 keys on with two layers.
fn ribbon_sample(keys: u64, fpp: f64) -> Vec<u8> {
    let keys: Vec<u64> = (0..keys).collect();
    Ribbon::new(&keys, fpp).unwrap().to_bytes().unwrap()
}

/// A static filter, or a map, of this many keys.
fn static_sample(form: u8, keys: u64) -> Vec<u8> {
    let entries: Vec<(u64, u32)> = (0..keys).map(|key| (key, key as u32 % 9)).collect();
    let keys: Vec<u64> = (0..keys).collect();
    let map = Bloomier::builder().value_bits(4).check_bits(7).arity(3 + u32::from(form) % 2);
    match form {
        0 => BinaryFuse::new(&keys, 0.004).unwrap().to_bytes().unwrap(),
        1 => BinaryFuse::builder().arity(4).fingerprint(16).build_from(&keys).unwrap().to_bytes().unwrap(),
        2 => map.build_from(&entries).unwrap().to_bytes().unwrap(),
        _ => map.build_mutable_from(&entries).unwrap().to_bytes().unwrap(),
    }
}

#[test]
fn every_parameter_of_a_static_file_is_checked() {
    let refused = |form: u8, at: usize, value: u8| {
        let mut bytes = static_sample(form, 100);
        assert_ne!(bytes[at], value, "nothing changes at {at}");
        bytes[at] = value;
        reseal(&mut bytes);
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(AnyFilter::view(&bytes).is_err(), "a view took what was refused: {error}");
        error
    };
    for (form, params) in [(0, 104), (1, 104), (2, 107), (3, 107)] {
        assert_eq!(
            refused(form, params, 100),
            "the header's attempt is 100, but there are at most 100, from 0 on"
        );
        assert!(refused(form, params + 1, 19).contains("segment bits is 19"));
        assert!(refused(form, params + 1, 18).contains("cells"));
        assert!(refused(form, 17, 10).contains("scheme"));
        for arity in [0, 2, 5, 255] {
            assert!(refused(form, 20, arity).contains("a key has 3 or 4 cells"));
        }
        assert!(refused(form, 32, 1).contains("cells"));
        assert!(refused(form, 37, 1).contains("cells")); // 2^40
        assert!(refused(form, 36, 16).contains("cells")); // above 2^32
        assert!(refused(form, 40, 9).contains("cell width"));
        assert!(refused(form, 79, 1).contains("items"));
        for len in [0u32, 1, 3, 4, 6] {
            let mut bytes = static_sample(form, 100);
            let spare = bytes[80];
            bytes[80..84].copy_from_slice(&len.to_le_bytes());
            bytes[12..16].copy_from_slice(&(112 + len).to_le_bytes());
            reseal(&mut bytes);
            assert!(len == u32::from(spare) || decode(&bytes).is_err());
        }
    }
    for width in [1, 7, 24, 33, 64] {
        assert!(refused(0, 40, width).contains("8, 16 or 32 bits"));
    }
    assert!(refused(0, 40, 16).contains("payload length"));
    for form in [2, 3] {
        assert!(refused(form, 104, 2).contains("form is 2"));
        assert!(refused(form, 105, 0).contains("value bits is 0"));
        assert!(refused(form, 105, 33).contains("value bits is 33"));
        assert!(refused(form, 105, 5).contains("cell width"));
        assert!(refused(form, 106, 31).contains("check bits is 31"));
        assert!(refused(form, 106, 8).contains("cell width"));
    }
    assert!(refused(2, 104, 1).contains("cell width"));
    // A map of one form is not one of the other.
    assert!(Bloomier::from_bytes(&static_sample(3, 9)).unwrap_err().to_string().contains("form is 1"));
    assert!(
        gardenia::MutableBloomier::from_bytes(&static_sample(2, 9))
            .unwrap_err()
            .to_string()
            .contains("form is 0")
    );
    assert!(matches!(BinaryFuse::from_bytes(&static_sample(2, 9)), Err(DecodeError::Kind { .. })));
}

#[test]
fn flipping_any_bit_of_a_static_file_is_detected() {
    for good in [0, 1, 2, 3].map(|form| static_sample(form, 20)) {
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "byte {at}, bit {bit}");
            }
        }
    }
}

/// Good files of the kinds that have parameters of their own, and of one that has none.
fn samples() -> impl Strategy<Value = Vec<u8>> {
    let policy = proptest::sample::select(PolicyId::ALL.to_vec());
    prop_oneof![
        (proptest::sample::select(SAMPLES.to_vec()), 1u64..200).prop_map(|(sample, cells)| sample(cells)),
        (policy, 1u64..200, any::<bool>(), any::<bool>())
            .prop_map(|(policy, cells, compact, marker)| spectral_sample(policy, cells, compact, marker)),
        (prop_oneof![0u64..200, Just(2100)], 0.001..0.9).prop_map(|(keys, fpp)| ribbon_sample(keys, fpp)),
        (0u8..4, 0u64..200).prop_map(|(form, keys)| static_sample(form, keys)),
    ]
}

/// Puts the header's checksum right again after a change, so that deeper checks are reached.
fn reseal(bytes: &mut [u8]) {
    let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = 104 + field(80).min(1 << 17) + field(84).min(1 << 17);
    if end + 8 <= bytes.len() {
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
        bytes[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn decode(bytes: &[u8]) -> Result<AnyFilter, DecodeError> {
    AnyFilter::from_bytes(bytes)
}

#[test]
fn flipping_any_bit_of_any_byte_is_detected() {
    for good in SAMPLES.map(|sample| sample(1500)) {
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "byte {at}, bit {bit}");
                assert!(format::verify(&bad[..]).is_err(), "byte {at}, bit {bit}");
            }
        }
        assert!(decode(&good).is_ok() && format::verify(&good[..]).is_ok());
    }
}

#[test]
fn damage_in_a_large_file_names_the_chunk() {
    let good = sample(20 << 20); // 2.5 MiB: three chunks
    let payload = good.len() - (20 << 17) - 5 * 8;
    for (chunk, at) in [(0, payload), (1, payload + (1 << 20) + 17), (2, payload + (20 << 17) - 1)] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        match decode(&bad) {
            Err(DecodeError::Checksum { part: Part::Chunk(found), .. }) => assert_eq!(found, chunk),
            other => panic!("chunk {chunk}: {other:?}"),
        }
    }
    let mut bad = good.clone();
    let table = good.len() - 24;
    bad[table] ^= 1;
    assert!(matches!(decode(&bad), Err(DecodeError::Checksum { part: Part::Table, .. })));
}

#[test]
fn every_truncation_and_every_extension_is_told() {
    let good = sample(1000);
    for len in 0..good.len() {
        let error = decode(&good[..len]).unwrap_err();
        assert!(matches!(error, DecodeError::Truncated { .. }), "{len} bytes: {error}");
        assert!(Bloom::read_from(&good[..len]).is_err());
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(matches!(decode(&longer), Err(DecodeError::Trailing { extra: 1 })));
    assert!(matches!(format::verify(&longer[..]), Err(DecodeError::Trailing { extra: 1 })));
}

#[test]
fn filters_can_follow_each_other_in_a_stream() {
    let stream = [sample(1000), sample(2000)].concat();
    let mut reader = &stream[..];
    let [a, b] = [1000, 2000].map(|bits| {
        let filter = Bloom::read_from(&mut reader).unwrap();
        assert_eq!(filter.bits(), bits);
        filter
    });
    assert!(reader.is_empty() && a != b);
}

#[test]
fn foreign_and_newer_files_are_called_so() {
    let text = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    assert!(text(b"#!/bin/sh\n").contains("not a Gardenia file: it begins with \"#!/bin/s\", not with \""));
    assert!(text(b"").contains("truncated"));
    let change = |at: usize, value: u8| {
        let mut bytes = sample(1000);
        bytes[at] = value;
        reseal(&mut bytes);
        text(&bytes)
    };
    assert_eq!(change(8, 7), "format version 7; this build reads up to version 1: use a newer gardenia");
    assert_eq!(change(10, 99), "kind 99 of filter is unknown to this build");
    assert_eq!(change(16, 9), "hasher 9 is unknown to this build");
    assert_eq!(change(17, 77), "scheme 77 is unknown to this build");
    assert!(change(18, 2).contains("flags"));
    assert!(change(20, 0).contains("hashes"));
    assert_eq!(change(21, 1), "the header's hashes is 261, but at most 255 are allowed");
    assert!(change(33, 4).contains("payload length"));
    assert!(change(40, 2).contains("cell width"));
    assert!(change(44, 1).contains("header length"));
    assert!(change(47, 1).contains("length of notes"));
    assert!(change(71, 0xff).contains("planned rate"));
    assert!(change(88, 1).contains("secret"));
}

#[test]
fn parameters_that_no_filter_has_are_refused_by_name() {
    // Word `word` of the parameters set to `value`.
    let change = |sample: fn(u64) -> Vec<u8>, word: usize, value: u64| {
        let mut bytes = sample(1000);
        bytes[104 + 8 * word..112 + 8 * word].copy_from_slice(&value.to_le_bytes());
        reseal(&mut bytes);
        match decode(&bytes) {
            Ok(filter) => format!("{:?}", filter.contains_digest(Digest(5))),
            Err(error) => error.to_string(),
        }
    };
    let [_, stable, a2, ..] = SAMPLES;
    for decrements in [0, 1001, u64::MAX] {
        assert!(change(stable, 0, decrements).contains("decrements"));
    }
    // Any seed and any number of insertions may be.
    for (word, value) in [(0, 1), (0, 1000), (1, u64::MAX), (2, 0), (2, u64::MAX)] {
        assert_eq!(change(stable, word, value), "false");
    }
    assert!(change(a2, 0, 0).contains("window"));
    assert!(change(a2, 0, 5).contains("active items"));
    assert!(change(a2, 1, 52).contains("active items"));
    assert!(change(a2, 2, 2).contains("active buffer"));
    for (word, value) in [(0, u64::MAX), (1, 0), (1, 51), (2, 0), (2, 1)] {
        assert_eq!(change(a2, word, value), "false");
    }
    // Parameters of another length.
    for sample in [stable, a2] {
        let mut bytes = sample(1000);
        bytes[80..84].copy_from_slice(&16u32.to_le_bytes());
        bytes[84..88].copy_from_slice(&8u32.to_le_bytes());
        reseal(&mut bytes);
        assert!(decode(&bytes).unwrap_err().to_string().contains("parameter length"));
    }
    // A count of insertions at its end goes on.
    let mut bytes = stable(1000);
    bytes[120..128].copy_from_slice(&u64::MAX.to_le_bytes());
    reseal(&mut bytes);
    let mut filter = StableBloom::from_bytes(&bytes).unwrap();
    filter.insert_many(&["rose"; 3]);
    assert_eq!((filter.contains("rose"), filter.inserts()), (true, 2));
}

#[test]
fn every_parameter_of_a_file_with_choices_is_checked() {
    // Byte `byte` of the parameters set to `value`; then their length, whatever follows taken as metadata.
    let change = |effort, byte: usize, value: u8, length: Option<u32>| {
        let mut bytes = choice_sample(1000, effort);
        let before = u32::from_le_bytes(bytes[80..84].try_into().unwrap());
        bytes[104 + byte] = value;
        if let Some(length) = length {
            bytes[80..84].copy_from_slice(&length.to_le_bytes());
            bytes[84..88].copy_from_slice(&(before - length).to_le_bytes());
        }
        reseal(&mut bytes);
        decode(&bytes).map_or_else(|error| error.to_string(), |_| "read".to_owned())
    };
    let groups = |byte, value| change(Effort::Rounds, byte, value, None);
    assert_eq!([1, 2, 32].map(|choices| groups(1, choices)), ["read"; 3]);
    assert!([0, 33, 255].iter().all(|choices| groups(1, *choices).contains("1 to 32 are allowed")));
    assert!([1, 2, 255].iter().all(|form| groups(0, *form).contains("parameter length")));
    assert!([0, 1].iter().all(|n| change(Effort::Rounds, 0, 0, Some(*n)).contains("parameter length")));

    // 1,024 bits: as many as 120 partitions leave a word for the cells.
    let partitions = |byte, value| change(Effort::Partitioned, byte, value, None);
    assert_eq!([8, 64, 120].map(|count| partitions(1, count)), ["read"; 3]);
    for count in [0, 1, 12, 121, 128, 248] {
        assert!(partitions(1, count).contains("multiple of 8 is needed"), "{count}");
    }
    assert!((2..9).all(|byte| partitions(byte, 255).contains("multiple of 8 is needed")));
    assert!([0, 2, 255].iter().all(|form| partitions(0, *form).contains("parameter length")));
    assert!(
        [0, 1, 2, 8].iter().all(|n| change(Effort::Partitioned, 0, 1, Some(*n)).contains("parameter length"))
    );

    // Keys or positions can be partitioned, not both: here the scheme's number is changed, and its size would do.
    let mut bytes = choice_sample(1280, Effort::Partitioned);
    bytes[17] = SchemeId::Partition.number();
    reseal(&mut bytes);
    assert!(decode(&bytes).unwrap_err().to_string().contains("does not go with partitions"));
}

#[test]
fn every_parameter_of_a_spectral_file_is_checked() {
    let refused = |policy: PolicyId, compact, at: usize, value: u8| {
        let mut bytes = spectral_sample(policy, 300, compact, true);
        assert_ne!(bytes[at], value);
        bytes[at] = value;
        reseal(&mut bytes);
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(AnyFilter::view(&bytes).is_err(), "a view took what was refused: {error}");
        error
    };
    let [selection, increase, recurring] = PolicyId::ALL;
    for compact in [false, true] {
        assert_eq!(refused(selection, compact, 104, 0), "the header's policy is 0, but 1 to 3 are known");
        assert!(refused(selection, compact, 104, 4).contains("policy is 4"));
        assert!(refused(selection, compact, 104, 3).contains("secondary hashes is 0"));
        assert!(refused(recurring, compact, 104, 1).contains("marker"));
        assert!(refused(increase, compact, 105, 2).contains("storage is 2"));
        assert!(refused(increase, compact, 106, 1).contains("marker is 1"));
        assert!(refused(recurring, compact, 106, 2).contains("marker is 2"));
        assert!(refused(recurring, compact, 107, 1).contains("belief is 1")); // it has a marker
        assert!(refused(increase, compact, 107, 1).contains("belief is 1"));
        assert!(refused(recurring, compact, 107, 2).contains("belief is 2"));
        assert!(refused(recurring, compact, 108, 0).contains("secondary hashes is 0"));
        assert!(refused(recurring, compact, 109, 1).contains("secondary hashes is 261"));
        assert!(refused(selection, compact, 108, 1).contains("only policy 3 has some"));
        assert!(refused(selection, compact, 112, 1).contains("only policy 3 has some"));
        assert!(refused(recurring, compact, 118, 1).contains("secondary cells"));
        assert!(refused(recurring, compact, 40, 31).contains(if compact { "cell width" } else { "payload" }));
        assert!(refused(recurring, compact, 40, 33).contains("cell width"));
    }
    // Plain and compact cells, more and fewer of them, and no marker need other payloads.
    assert!(refused(recurring, false, 105, 1).contains("cell width"));
    assert!(refused(selection, true, 105, 0).contains("payload length"));
    assert!(refused(recurring, false, 106, 0).contains("payload length"));
    assert!(refused(recurring, false, 113, 1).contains("payload length"));
    assert!(refused(recurring, false, 32, 1).contains("payload length"));
    // Without its marker, or with more cells, the compact secondary filter is not what its directory says.
    assert!(refused(recurring, true, 106, 0).contains("follow the end"));
    assert!(refused(recurring, true, 114, 1).contains("truncated"));
    let short = &spectral_sample(recurring, 300, false, true)[..];
    for params in [0u32, 15, 17] {
        let mut bytes = short.to_vec();
        bytes[80..84].copy_from_slice(&params.to_le_bytes());
        bytes[12..16].copy_from_slice(&(112 + params).to_le_bytes());
        reseal(&mut bytes);
        assert!(decode(&bytes).is_err());
    }
}

#[test]
fn words_of_compact_cells_that_lie_are_refused() {
    // The first word of the payload says how many words the primary cells take.
    let good = spectral_sample(PolicyId::RecurringMinimum, 300, true, true);
    let payload = (104 + 16 + 8usize).next_multiple_of(64);
    for head in [0, 1, 2, u64::MAX, u64::MAX / 8, good.len() as u64 / 8] {
        let mut bytes = good.clone();
        bytes[payload..payload + 8].copy_from_slice(&head.to_le_bytes());
        let sums = bytes.len() - 24;
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[payload..sums]).to_le_bytes();
        bytes[sums..sums + 8].copy_from_slice(&sum);
        let sum = xxhash_rust::xxh3::xxh3_64(&sum).to_le_bytes();
        bytes[sums + 8..sums + 16].copy_from_slice(&sum);
        assert!(format::verify(&bytes[..]).is_ok(), "the checksums were put right");
        assert!(decode(&bytes).is_err() && AnyFilter::view(&bytes).is_err(), "{head}");
    }
    // Compact cells take more memory than their words: the cap holds for both.
    let cap = ReadOptions::new().max_bytes(good.len() as u64 * 2);
    assert!(matches!(AnyFilter::from_bytes_with(&good, &cap), Err(DecodeError::TooLarge { .. })));
    assert!(AnyFilter::view_with(&good, &cap).is_ok());
}

#[test]
fn a_type_reads_only_its_own_scheme() {
    let filter = Bloom::builder().bits(99).hashes(3).scheme(gardenia::index::Double::new).build().unwrap();
    let bytes = filter.to_bytes().unwrap();
    assert!(matches!(Bloom::from_bytes(&bytes), Err(DecodeError::Scheme { found: "double" })));
    let any = Bloom::from_bytes_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap();
    assert_eq!(any.identity().scheme, Some(SchemeId::Double));
}

#[test]
fn a_keyed_filter_needs_its_secret_unless_the_file_holds_it() {
    let (right, wrong) = (SecretKey::new([1; 16]), SecretKey::new([2; 16]));
    let mut filter = Bloom::builder().items(10).fpp(0.01).secret(right.clone()).build().unwrap();
    filter.insert("rose");
    let bytes = filter.to_bytes().unwrap();
    assert!(!bytes.windows(16).any(|window| window == [1; 16]), "the secret is in the file");
    let read = |options: ReadOptions| AnyFilter::from_bytes_with(&bytes, &options);
    assert!(matches!(read(ReadOptions::new()), Err(DecodeError::SecretMissing { id }) if id == right.id()));
    assert!(matches!(read(ReadOptions::new().secret(wrong)), Err(DecodeError::SecretWrong { .. })));
    assert!(read(ReadOptions::new().secret(right)).is_ok());
    filter.about_mut().store_secret(true);
    assert!(Bloom::from_bytes(&filter.to_bytes().unwrap()).unwrap().contains("rose"));
}

#[test]
fn a_huge_claim_is_refused_before_memory_is_taken() {
    let mut bytes = sample(1000);
    bytes[32..40].copy_from_slice(&(1u64 << 39).to_le_bytes()); // cells
    bytes[48..56].copy_from_slice(&(1u64 << 36).to_le_bytes()); // payload: 64 GiB
    reseal(&mut bytes);
    let (result, peak) = peak_of(|| decode(&bytes));
    assert!(matches!(result, Err(DecodeError::Truncated { .. })), "{result:?}");
    assert!(peak < BESIDE_PAYLOAD, "{peak} bytes");
    // A stream has no length to check against: there the cap speaks.
    let (result, peak) = peak_of(|| Bloom::read_from(&bytes[..]));
    assert!(matches!(result, Err(DecodeError::TooLarge { .. })), "{result:?}");
    assert!(peak < BESIDE_PAYLOAD, "{peak} bytes");
}

#[test]
fn every_parameter_of_a_bitwise_filter_is_checked() {
    let good = bitwise_sample(1000);
    assert_eq!(BitwiseBloom::from_bytes(&good).unwrap().levels().count(), 2);
    let change = |changes: &[(usize, u8)]| {
        let mut bytes = good.clone();
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        reseal(&mut bytes);
        let view = BitwiseBloom::view(&bytes).map(|_| ()).unwrap_err().to_string();
        let (error, peak) = peak_of(|| decode(&bytes).unwrap_err().to_string());
        assert_eq!(error, view);
        assert!(peak < BESIDE_PAYLOAD, "{peak} bytes");
        error
    };
    assert!(change(&[(104, 0)]).contains("max_levels")); // fewer than there are
    assert!(change(&[(104, 1)]).contains("max_levels"));
    assert!(change(&[(104, 65)]).contains("max_levels"));
    assert!(change(&[(107, 1)]).contains("max_levels"));
    assert!(change(&[(108, 1)]).contains("reserved"));
    assert!(change(&[(119, 0xbf)]).contains("share")); // negative
    assert!(change(&[(119, 0x7f), (118, 0xf8)]).contains("share")); // not a number
    assert!(change(&[(119, 0x40)]).contains("share")); // 2
    for level in [120, 136] {
        assert!(change(&[(level + 1, 0)]).contains("payload length")); // fewer cells
        assert!(change(&[(level + 2, 1)]).contains("payload length")); // more cells
        assert!(change(&[(level + 5, 2)]).contains("more than a filter can have"));
        assert!(change(&[(level, 0), (level + 1, 0)]).contains("at least 1 cell"));
        assert!(change(&[(level + 8, 0)]).contains("0 hashes"));
        assert!(change(&[(level + 9, 1)]).contains("259 hashes"));
        assert!(change(&[(level + 12, 0)]).contains("a digit of 0 bits"));
        assert!(change(&[(level + 12, 4)]).contains("a digit of 4 bits in cells of 6"));
        assert!(change(&[(level + 13, 1)]).contains("a digit of 258 bits"));
        assert!(change(&[(level + 14, 7)]).contains("payload length"));
        assert!(change(&[(level + 14, 33)]).contains("33 bits per cell"));
        assert!(change(&[(level + 15, 1)]).contains("262 bits per cell"));
    }
    // The header tells the first level too, and must not tell another.
    assert!(change(&[(120 + 8, 4)]).contains("first level"));
    assert!(change(&[(20, 4)]).contains("first level"));
    assert!(change(&[(40, 7)]).contains("first level"));
    assert!(change(&[(32, 0)]).contains("first level"));
    assert!(change(&[(17, 0)]).contains("scheme 0"));
    assert_eq!(
        change(&[(17, 2)]), // 1,000 cells are no multiple of 3
        "the header's cells is 1000, but this scheme needs a multiple of its hashes (with prime slices, of a prime)"
    );
    // Too many, too few and broken parameters.
    for len in [0, 15, 16, 17, 31, 33, 47, 16 + 65 * 16] {
        let mut bytes = good[..104].to_vec();
        bytes.extend(good[104..].iter().cycle().take(len));
        bytes.extend(b"a note");
        bytes[12..16].copy_from_slice(&(118 + len as u32).to_le_bytes());
        bytes[80..84].copy_from_slice(&(len as u32).to_le_bytes());
        bytes.resize((118 + len).next_multiple_of(64), 0);
        bytes.extend(&good[192..]);
        reseal(&mut bytes);
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(error.contains("parameter length"), "{len}: {error}");
    }
}

#[test]
fn flipping_any_bit_of_a_bitwise_filter_is_detected() {
    let good = bitwise_sample(50);
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert!(decode(&bad).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn every_parameter_of_a_retouched_and_of_a_distance_sensitive_filter_is_checked() {
    let mut bed = Bloom::builder().bits(1000).hashes(3).build().unwrap();
    bed.extend(0..50);
    let elements: Vec<i32> = (0..50).collect();
    let retouched = RetouchedBloom::selective(bed, &elements, &elements, Clearing::Ratio, 1).unwrap();
    let good = retouched.to_bytes().unwrap();
    let change = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        reseal(&mut bytes);
        let error = RetouchedBloom::from_bytes(&bytes).unwrap_err().to_string();
        assert_eq!(RetouchedBloom::view(&bytes).unwrap_err().to_string(), error);
        assert_eq!(decode(&bytes).unwrap_err().to_string(), error);
        error
    };
    assert!(change(17, 0).contains("scheme") && change(40, 2).contains("cell width"));
    assert!(change(33, 9).contains("payload length") && change(106, 1).contains("cleared"));
    assert!(change(120, 51).contains("lost") && change(127, 1).contains("lost"));

    let shape = DistanceShape { functions: 4, samples: 5, bits: 50, threshold: 3 };
    let filter = DistanceSensitiveBloom::hamming(64).shape(shape).build().unwrap();
    let good = filter.to_bytes().unwrap();
    let change = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        reseal(&mut bytes);
        let error = DistanceSensitiveBloom::from_bytes(&bytes).unwrap_err().to_string();
        assert_eq!(DistanceSensitiveBloom::view(&bytes).unwrap_err().to_string(), error);
        error
    };
    assert!(change(17, 1).contains("scheme") && change(20, 0).contains("cells"));
    assert!(change(20, 3).contains("cells") && change(33, 9).contains("payload length"));
    assert!(
        change(104, 0).contains("space")
            && change(104, 2).contains("space")
            && change(112, 0).contains("space")
    );
    assert!(change(118, 9).contains("space"), "too many dimensions");
    assert!(change(120, 0).contains("samples") && change(123, 1).contains("samples"));
    assert!(change(128, 0).contains("threshold") && change(128, 5).contains("threshold"));
    assert!(
        change(143, 0xbf).contains("near")
            && change(151, 0x40).contains("near")
            && change(151, 0xbf).contains("near")
    );
}

/// A Count-Min sketch of few cells, some of which have merged.
fn sketch(columns: u64, cells: CellKind, form: Form, update: Update) -> Vec<u8> {
    let builder = CountMin::builder().columns(columns).rows(2).cells(cells).form(form).update(update);
    let mut sketch = builder.build().unwrap();
    (0..40u64).for_each(|key| _ = sketch.add(key, key * key));
    sketch.to_bytes().unwrap()
}

#[test]
fn every_parameter_of_a_sketch_is_checked() {
    let change = |at: usize, value: u8| {
        let mut bytes = sketch(101, CellKind::Merging8, Form::Modified, Update::Plain);
        assert!(CountMin::from_bytes(&bytes).is_ok());
        bytes[at] = value;
        reseal(&mut bytes);
        let error = CountMin::from_bytes(&bytes).unwrap_err().to_string();
        assert_eq!(CountMin::view(&bytes).unwrap_err().to_string(), error);
        assert_eq!(decode(&bytes).unwrap_err().to_string(), error);
        error
    };
    assert!(change(17, 10).contains("scheme"));
    assert!(change(20, 0).contains("cells") && change(20, 3).contains("cells"));
    assert!(change(32, 203).contains("cells"), "not a multiple of the rows");
    assert!(change(32, 204).contains("prime"));
    assert!(change(40, 16).contains("cells of a sketch have 4, 8, 32 or 64 bits"));
    assert!(change(40, 4).contains("payload length"));
    assert!(change(104, 0).contains("form") && change(104, 3).contains("form"));
    assert!(change(105, 0).contains("update") && change(105, 9).contains("update"));
    assert!(
        change(106, 0).contains("copies")
            && change(106, 3).contains("copies")
            && change(107, 1).contains("copies")
    );
    (108..112).for_each(|at| assert!(change(at, 1).contains("reserved parameter")));
    let mut longer = sketch(101, CellKind::Fixed32, Form::Original, Update::Plain);
    longer[80] = 24; // claims eight bytes more of parameters, which the header's own checksum stands in
    longer[12] += 8;
    reseal(&mut longer);
    assert!(decode(&longer).is_err());
}

/// Three candidates of five slots with keys of 3, 0 and 20 bytes; and ranges of which some are
/// counted by sketches.
fn stream_samples() -> [Vec<u8>; 2] {
    let sketch = CountMin::builder().columns(10).rows(2).build().unwrap();
    let mut top = Top::with_slots(5, sketch).unwrap();
    for (key, weight) in [("abc", 5), ("", 2), ("a key that is longer", 9)] {
        top.update(key, weight);
    }
    let mut ranges = RangeCountMin::new(8, 0.9, 0.9).unwrap();
    (0..300u64).for_each(|key| ranges.add(key % 256, key).unwrap());
    [top.to_bytes().unwrap(), ranges.to_bytes().unwrap()]
}

fn decode_stream(bytes: &[u8], options: &ReadOptions) -> Result<u64, DecodeError> {
    let top = Top::from_bytes_with(bytes, options).map(|mut top| {
        top.update("rose", 3);
        top.top(9).len() as u64
    });
    match top {
        Err(DecodeError::Kind { .. }) => {
            RangeCountMin::from_bytes_with(bytes, options).map(|ranges| ranges.count(3..77))
        }
        other => other,
    }
}

#[test]
fn every_byte_and_parameter_of_a_table_of_frequent_keys_is_checked() {
    let (options, [top, ranges]) = (ReadOptions::new(), stream_samples());
    for good in [&top, &ranges] {
        assert!(decode_stream(good, &options).is_ok());
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(decode_stream(&bad, &options).is_err(), "byte {at}");
        }
        assert!(matches!(AnyFilter::from_bytes(good), Err(DecodeError::Kind { .. })));
    }
    let change = |good: &[u8], at: usize, value: u64| {
        let mut bytes = good.to_vec();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        reseal(&mut bytes);
        reseal_payload(&mut bytes);
        let (error, peak) = peak_of(|| decode_stream(&bytes, &options).unwrap_err().to_string());
        assert!(peak < BESIDE_PAYLOAD, "{at}: {peak} bytes");
        error
    };
    // Slots, candidates; sketch and table are longer or shorter than the payload.
    assert!(change(&top, 120, 2).contains("candidates") && change(&top, 120, 0).contains("candidates"));
    assert!(change(&top, 128, 6).contains("candidates") && change(&top, 128, 5).contains("payload length"));
    assert!(change(&top, 120, 1 << 40).contains("limit") && change(&top, 120, u64::MAX).contains("limit"));
    assert!(change(&top, 128, 2).contains("corrupted") && change(&top, 32, 4_000).contains("payload length"));
    // 48 bytes of parameters; ten cells of 32 bits in two rows; then lower, upper, owed and length of each candidate.
    let table = 192 + 80;
    assert_eq!(top[table..table + 32], [5u64, 5, 0, 3].map(u64::to_le_bytes).concat());
    assert!(
        [(0, 0), (0, 6), (8, 4), (16, 6)]
            .map(|(at, value)| change(&top, table + at, value))
            .iter()
            .all(|error| error.contains("bounds"))
    );
    assert!(
        change(&top, table + 24, u64::MAX).contains("longer")
            && change(&top, table + 24, 5).contains("longer")
    );
    assert!(change(&top, table + 24, 2).contains("not zero"), "a byte is left over");
    assert!(change(&top, table + 32 * 3 + 16, 1 << 63).contains("not zero"));
    let mut twice = top.clone();
    twice[table + 24] = 0; // two empty keys
    reseal_payload(&mut twice);
    assert!(Top::from_bytes(&twice).unwrap_err().to_string().contains("twice"));

    let range = |at, value| change(&ranges, at, value);
    assert!(range(104, 0).contains("bits") && range(104, 65).contains("bits"));
    assert!(range(104, 9).contains("payload length") && range(32, 1 << 40).contains("payload length"));
    assert!(range(16, 0x0000_0001_0000_0002).contains("hasher"));
    assert!(range(16, 0x0000_0000_0000_0001).contains("cells"));
}

#[test]
fn marks_that_disagree_are_damage_but_harm_no_view() {
    let mut bytes = sketch(200, CellKind::Merging4, Form::Original, Update::Plain);
    // The map is behind the cells: eight words of 2·256 cells, before sum and end mark.
    let map = bytes.len() - 24 - 8 * 8;
    let payload = map - 32 * 8;
    bytes[map..map + 64].fill(0b1110_0111);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[payload..map + 64]).to_le_bytes();
    bytes[map + 64..map + 72].copy_from_slice(&sum);
    let table = xxhash_rust::xxh3::xxh3_64(&sum).to_le_bytes();
    bytes[map + 72..map + 80].copy_from_slice(&table);
    assert!(format::verify(&bytes[..]).is_ok());
    assert!(matches!(CountMin::from_bytes(&bytes), Err(DecodeError::Damaged(_))));
    let view = CountMin::view(&bytes).unwrap();
    let _ =
        (view.count_many(&[1, 2, 3]), view.fill(), view.fpp(), view.saturated(), view.inner_product(&view));
    assert!(view.try_to_owned().unwrap() == view);
}

#[test]
fn a_huge_claim_of_a_sketch_is_refused_before_memory_is_taken() {
    for (kind, width) in [(9u8, 4u8), (9, 8), (9, 32), (9, 64), (10, 64)] {
        let mut bytes = match kind {
            9 => sketch(101, CellKind::from_width(width.into()).unwrap(), Form::Original, Update::Plain),
            _ => CountSketch::builder().columns(101).rows(1).build().unwrap().to_bytes().unwrap(),
        };
        for cells in [1u64 << 39, 1 << 40] {
            bytes[32..40].copy_from_slice(&cells.to_le_bytes());
            for payload in [1u64 << 36, 1 << 43, 8] {
                bytes[48..56].copy_from_slice(&payload.to_le_bytes());
                reseal(&mut bytes);
                let (refused, peak) = peak_of(|| {
                    let streamed = CountMin::read_from(&bytes[..]).is_err()
                        && CountSketch::read_from(&bytes[..]).is_err();
                    streamed && decode(&bytes).is_err() && CountMin::view(&bytes).is_err()
                });
                assert!(refused && peak < BESIDE_PAYLOAD, "{peak} bytes");
            }
        }
    }
}

#[test]
fn every_parameter_of_a_ribbon_file_is_checked() {
    let good = ribbon_sample(3000, 0.01); // two layers: 48 bytes of parameters
    let set = Ribbon::from_bytes(&good).unwrap();
    assert_eq!((set.layers(), set.fingerprint()), (2, 7));
    let change = |changes: &[(usize, u8)]| {
        let mut bytes = good.clone();
        for (at, value) in changes {
            assert_ne!(bytes[*at], *value, "byte {at} is changed");
            bytes[*at] = *value;
        }
        reseal(&mut bytes);
        let view = Ribbon::view(&bytes).map(|_| ()).unwrap_err().to_string();
        let (error, peak) = peak_of(|| decode(&bytes).unwrap_err().to_string());
        assert_eq!(error, view);
        assert!(peak < BESIDE_PAYLOAD, "{peak} bytes");
        error
    };
    assert!(change(&[(17, 4)]).contains("scheme is 4"));
    assert!(change(&[(20, 63)]).contains("hashes is 63"));
    assert!(change(&[(20, 0)]).contains("hashes is 0"));
    assert!(change(&[(20, 128)]).contains("blocks")); // 46 blocks are no whole buckets of eight
    assert!(change(&[(32, 65)]).contains("cells"));
    assert!(change(&[(40, 8)]).contains("payload length"));
    assert!(change(&[(40, 33)]).contains("cell width is 33"));
    assert!(change(&[(74, 1)]).contains("items"));
    for layer in [104, 128] {
        assert!(change(&[(layer, 0)]).contains("segments is 0"));
        assert!(change(&[(layer + 4, 0)]).contains("blocks is 0"));
        assert!(change(&[(layer + 4, 1)]).contains("blocks is 1"));
        assert!(change(&[(layer + 7, 255)]).contains("cells"));
        assert!(change(&[(layer + 5, 1)]).contains("cells"));
        assert!(change(&[(layer + 8, 64)]).contains("attempt is 64"));
        assert!(change(&[(layer + 11, 1)]).contains("attempt"));
        assert!(change(&[(layer + 12, 1)]).contains("reserved"));
        assert!(change(&[(layer + 16, 0)]).contains("payload length"));
        assert!(change(&[(layer + 16, 200)]).contains("full blocks is 200"));
        assert!(change(&[(layer + 23, 1)]).contains("full blocks"));
    }
    assert!(change(&[(128, 2)]).contains("segments is 2")); // of the last layer
    assert!(change(&[(104, 2)]).contains("cells"));
    assert!(change(&[(104, 255), (105, 255), (106, 255), (107, 255)]).contains("blocks"));
    assert!(change(&[(108, 47)]).contains("whole buckets"));
    // No layer, half a layer, and more than there may be.
    for len in [0, 12, 25, 17 * 24] {
        let mut bytes = good[..104].to_vec();
        bytes.extend(good[104..].iter().cycle().take(len));
        bytes[12..16].copy_from_slice(&(112 + len as u32).to_le_bytes());
        bytes[80..84].copy_from_slice(&(len as u32).to_le_bytes());
        bytes.resize((112 + len).next_multiple_of(64), 0);
        bytes.extend(&good[192..]);
        reseal(&mut bytes);
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(error.contains("parameter length"), "{len}: {error}");
    }
}

#[test]
fn a_threshold_past_the_last_bucket_is_damage() {
    let mut bytes = ribbon_sample(3000, 0.01);
    let (payload, end) = (192, bytes.len() - 24);
    assert_eq!(bytes[end - 1], 0, "23 buckets leave the last byte of their word free");
    bytes[end - 1] = 0x80;
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[payload..end]).to_le_bytes();
    bytes[end..end + 8].copy_from_slice(&sum);
    let sum = xxhash_rust::xxh3::xxh3_64(&sum).to_le_bytes();
    bytes[end + 8..end + 16].copy_from_slice(&sum);
    assert!(format::verify(&bytes[..]).is_ok(), "the checksums were put right");
    assert!(matches!(decode(&bytes), Err(DecodeError::Damaged(_))));
    assert!(matches!(AnyFilter::view(&bytes), Err(DecodeError::Damaged(_))));
}

/// Enough to see every kind of error in a few seconds; more by the variable that proptest itself
/// knows.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(30_000)
}

proptest! {
    // PROPTEST_CASES=5000000 makes this the long run that docs/testing.md records.
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Random changes to a good file, with the header's checksum put right in half of the cases:
    /// never a panic, never more memory than the cap and what is kept beside the payload.
    #[test]
    fn mutated_files_do_no_harm(
        bytes in samples(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
        sealed in any::<bool>(),
        cap in prop_oneof![Just(1u64 << 16), Just(4 << 20)],
    ) {
        let mut bytes = bytes;
        for (at, value, in_header) in changes {
            let range = if in_header { bytes.len().min(136) } else { bytes.len() };
            bytes[at.index(range)] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if sealed && bytes.len() >= 104 {
            reseal(&mut bytes);
        }
        let options = ReadOptions::new().max_bytes(cap);
        let (result, peak) = peak_of(|| AnyFilter::from_bytes_with(&bytes, &options).map(|f| f.fpp()));
        prop_assert!(peak <= cap as usize + BESIDE_PAYLOAD, "{peak} bytes");
        let (streamed, peak) = peak_of(|| AnyFilter::read_from_with(&bytes[..], &options).map(|f| f.fpp()));
        prop_assert!(peak <= cap as usize + BESIDE_PAYLOAD, "{peak} bytes");
        // What a slice accepts a stream accepts; the reverse fails only for bytes that follow.
        prop_assert!(result.is_err() || streamed.is_ok());
        let _ = format::verify(&bytes[..]);
        if let Ok(view) = AnyFilter::view_with(&bytes, &options) {
            let digest = view.hasher().digest(b"rose");
            let _ = (view.contains_digest(digest), view.as_count().map(|view| view.count_digest(digest)), view.fpp(), view.estimated_items());
        }
        if let Ok(view) = SpectralBloom::view_as::<PolicyId>(&bytes, &options) {
            // Whatever a view of damaged compact cells counts, a copy of them is refused or says the same.
            let keys: Vec<Digest> = (0..20).map(Digest).collect();
            if let Ok(copy) = view.try_to_owned() {
                prop_assert!(keys.iter().all(|key| view.count_digest(*key) == copy.count_digest(*key)));
            }
        }
        // What was accepted also works: keys go in, if they can, and it can be asked.
        if let Ok(mut filter) = AnyFilter::from_bytes_with(&bytes, &options) {
            let inserted = filter.insert_digests(&[Digest(1), Digest(u64::MAX)], &mut [false; 2]);
            prop_assert_eq!(inserted != Err(InsertError::Fixed), filter.can(Ability::Insert));
            let _ = (filter.contains_digest(Digest(1)), filter.estimated_items());
        }
        if let Ok(view) = AnyFilter::view_with(&bytes, &options) {
            let _ = (view.contains_digest(Digest(7)), view.fpp());
        }
    }

    /// The same for a bitwise filter, whose parameters tell the sizes of its levels.
    #[test]
    fn mutated_bitwise_files_do_no_harm(
        cells in 1u64..200,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..6),
        sealed in proptest::bool::weighted(0.8),
        cap in prop_oneof![Just(1u64 << 16), Just(4 << 20)],
    ) {
        let mut bytes = bitwise_sample(cells);
        for (at, value, part) in changes {
            let range = [0..104, 104..152, 0..bytes.len()][part as usize].clone();
            bytes[range.start + at.index(range.len())] = value;
        }
        if sealed {
            reseal(&mut bytes);
        }
        let options = ReadOptions::new().max_bytes(cap);
        let ask = |f: &AnyFilter| (f.fpp(), f.fill(), f.as_count().map(|f| f.count_digest(Digest(7))));
        let (result, peak) = peak_of(|| AnyFilter::from_bytes_with(&bytes, &options).map(|f| ask(&f)));
        prop_assert!(peak <= cap as usize + BESIDE_PAYLOAD, "{peak} bytes");
        let (streamed, peak) = peak_of(|| AnyFilter::read_from_with(&bytes[..], &options).map(|f| ask(&f)));
        prop_assert!(peak <= cap as usize + BESIDE_PAYLOAD, "{peak} bytes");
        prop_assert!(result.is_err() || streamed.is_ok());
        if let Ok(view) = BitwiseBloom::view_with(&bytes, &options) {
            let _ = (view.count("rose"), view.fpp(), view.max_count());
        }
        if let Ok(mut filter) = BitwiseBloom::from_bytes_with(&bytes, &options) {
            let _ = (filter.insert("rose"), filter.insert_times("rose", 9));
        }
    }

    /// The same for sketches: random changes to the header, its parameters and the payload.
    #[test]
    fn mutated_sketches_do_no_harm(
        (columns, modified, conservative) in (1u64..150, any::<bool>(), any::<bool>()),
        cells in proptest::sample::select(CellKind::ALL.to_vec()),
        signed in proptest::bool::weighted(0.2),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..5),
        sealed in proptest::bool::weighted(0.8),
    ) {
        let form = if modified { Form::Modified } else { Form::Original };
        let update = if conservative { Update::Conservative } else { Update::Plain };
        let mut bytes = match signed {
            true => CountSketch::builder().columns(columns).rows(3).build().unwrap().to_bytes().unwrap(),
            false => sketch(columns, cells, form, update),
        };
        for (at, value, part) in changes {
            let range = [0..112, 104..120, 0..bytes.len()][usize::from(part)].clone();
            bytes[range.start + at.index(range.len())] = value;
        }
        if sealed {
            reseal(&mut bytes);
        }
        let options = ReadOptions::new().max_bytes(1 << 20);
        let (_, peak) = peak_of(|| {
            let all = AnyFilter::from_bytes_with(&bytes, &options).map(|filter| (filter.fpp(), filter.estimated_items()));
            let _ = (all.is_ok(), CountSketch::from_bytes_with(&bytes, &options).is_ok());
            let _ = CountMin::read_from_with(&bytes[..], &options).is_ok();
        });
        prop_assert!(peak <= (1 << 20) + BESIDE_PAYLOAD, "{peak} bytes");
        if let Ok(view) = CountMin::view_with(&bytes, &options) {
            let _ = (view.count("rose"), view.count_many(&[1, 2]), view.fpp(), view.inner_product(&view));
        }
        if let Ok(view) = CountSketch::view_with(&bytes, &options) {
            let _ = (view.count("rose"), view.second_moment());
        }
    }

    /// The same for tables of frequent keys and ranges.
    #[test]
    fn mutated_tables_of_frequent_keys_do_no_harm(
        ranges in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..5),
    ) {
        let mut bytes = stream_samples()[usize::from(ranges)].clone();
        for (at, value, part) in changes {
            let range = [0..112, 104..152, 0..bytes.len()][usize::from(part)].clone();
            bytes[range.start + at.index(range.len())] = value;
        }
        reseal(&mut bytes);
        if u32::from_le_bytes(bytes[80..84].try_into().unwrap()) < 64 {
            reseal_payload(&mut bytes);
        }
        let options = ReadOptions::new().max_bytes(1 << 20).max_expansion(1 << 20);
        let (_, peak) = peak_of(|| decode_stream(&bytes, &options).is_ok());
        prop_assert!(peak <= (1 << 20) + BESIDE_PAYLOAD, "{peak} bytes");
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400), marked in any::<bool>()) {
        let mut bytes = bytes;
        if marked && bytes.len() >= 12 {
            bytes[..12].copy_from_slice(b"\x89GDN\r\n\x1a\n\x01\x00\x01\x00");
        }
        let (result, peak) = peak_of(|| decode(&bytes).is_err());
        prop_assert!(result);
        prop_assert!(peak <= BESIDE_PAYLOAD, "{peak} bytes");
    }
}

#[cfg(feature = "serde")]
#[test]
fn serde_carries_the_native_bytes() {
    let mut filter = Bloom::new(100, 0.01).unwrap();
    filter.insert("rose");
    let json = serde_json::to_string(&filter).unwrap();
    let copy: Bloom = serde_json::from_str(&json).unwrap();
    assert_eq!(copy, filter);
    assert!(serde_json::from_str::<Bloom>("[1, 2, 3]").unwrap_err().to_string().contains("truncated"));
    let keyed = Bloom::builder().items(9).fpp(0.1).secret(SecretKey::new([3; 16])).build().unwrap();
    assert!(serde_json::to_string(&keyed).unwrap_err().to_string().contains("store_secret"));
}

#[cfg(feature = "mmap")]
mod files {
    use super::*;

    #[test]
    fn a_saved_spectral_filter_answers_the_same_loaded_and_mapped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bed.gdn");
        for (policy, compact) in PolicyId::ALL.iter().flat_map(|policy| [(*policy, false), (*policy, true)]) {
            std::fs::write(&path, spectral_sample(policy, 100_000, compact, true)).unwrap();
            let options = ReadOptions::new();
            let loaded = SpectralBloom::load_as::<PolicyId>(&path, &options).unwrap();
            let mapped = unsafe { SpectralBloom::open_mapped_as::<PolicyId>(&path, &options) }.unwrap();
            let keys: Vec<u64> = (0..20_000).collect();
            assert_eq!(loaded.count_many(&keys), mapped.count_many(&keys));
            assert!(loaded == mapped && loaded.is_compact() == compact);
            assert_eq!(mapped.to_bytes().unwrap(), std::fs::read(&path).unwrap());
            let any = unsafe { AnyFilter::open_mapped(&path) }.unwrap();
            assert_eq!(
                any.as_count().unwrap().count_digest(any.hasher().digest(&7u64.to_le_bytes())),
                loaded.count(7)
            );
        }
    }

    #[test]
    fn a_saved_file_answers_the_same_loaded_and_mapped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bed.gdn");
        let mut filter = Bloom::new(300_000, 0.01).unwrap(); // above one core's cache: batches take the other path
        filter.extend(0..300_000u32);
        filter.save(&path).unwrap();
        let (loaded, mapped) = (Bloom::load(&path).unwrap(), unsafe { Bloom::open_mapped(&path) }.unwrap());
        assert!(loaded == filter && mapped == filter);
        let probes: Vec<u32> = (200_000..500_000).collect();
        assert_eq!(mapped.contains_many(&probes), filter.contains_many(&probes));
        assert!(format::verify_file(&path).is_ok());
        let any = unsafe { AnyFilter::open_mapped(&path) }.unwrap();
        assert!(any.contains_digest(any.hasher().digest(&7u64.to_le_bytes())));
    }

    #[test]
    fn a_saved_filter_of_several_levels_answers_the_same_loaded_and_mapped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bed.gdn");
        // Above one core's cache, and the second level not on a page.
        let mut filter = BitwiseBloom::builder().cells(3_000_003).hashes(5).digit(2).build().unwrap();
        filter.extend((0..50_000u32).flat_map(|key| std::iter::repeat_n(key, 1 + key as usize % 20)));
        filter.save(&path).unwrap();
        assert_eq!(filter.levels().count(), 3);
        let (loaded, mapped) =
            (BitwiseBloom::load(&path).unwrap(), unsafe { BitwiseBloom::open_mapped(&path) }.unwrap());
        assert!(loaded == filter && mapped == filter && mapped.try_to_owned().unwrap() == filter);
        let probes: Vec<u32> = (20_000..80_000).collect();
        assert_eq!(mapped.count_many(&probes), filter.count_many(&probes));
        let any = unsafe { AnyFilter::open_mapped(&path) }.unwrap();
        assert_eq!(any.as_count().unwrap().count_digest(any.hasher().digest(&39u64.to_le_bytes())), 20);
        assert!(any.estimated_items().is_none() && any.fpp() == filter.fpp());
    }

    #[test]
    fn saving_replaces_a_file_whole_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bed.gdn");
        let (old, mut new) = (Bloom::new(10, 0.01).unwrap(), Bloom::new(10, 0.01).unwrap());
        old.save(&path).unwrap();
        let open = unsafe { Bloom::open_mapped(&path) }.unwrap();
        new.insert("rose");
        new.save(&path).unwrap();
        assert!(!open.contains("rose"), "an open map changed under its reader");
        assert!(Bloom::load(&path).unwrap().contains("rose"));
        // A save that fails leaves the old file.
        new.insert(gardenia::Hashed(&1));
        assert!(new.save(&path).is_err());
        assert!(Bloom::load(&path).unwrap().contains("rose"));
        let names: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["bed.gdn"]);
        assert!(old.save(directory.path().join("no/such/directory/x.gdn")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_saved_file_has_the_permissions_of_the_one_it_replaces() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bed.gdn");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let filter = Bloom::new(10, 0.01).unwrap();
        filter.save(&path).unwrap();
        assert_eq!(mode() & 0o400, 0o400);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        filter.save(&path).unwrap();
        assert_eq!(mode(), 0o640);
    }

    #[test]
    fn a_truncated_or_damaged_file_is_refused_by_map_and_load() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bed.gdn");
        let good = sample(100_000);
        std::fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert!(matches!(unsafe { Bloom::open_mapped(&path) }, Err(DecodeError::Truncated { .. })));
        assert!(matches!(Bloom::load(&path), Err(DecodeError::Truncated { .. })));
        assert!(unsafe { Bloom::open_mapped(directory.path()) }.is_err());
        let mut bad = good.clone();
        bad[100] ^= 1; // header
        std::fs::write(&path, &bad).unwrap();
        assert!(matches!(
            unsafe { Bloom::open_mapped(&path) },
            Err(DecodeError::Checksum { part: Part::Header, .. })
        ));
    }
}

/// A Golomb-coded set of this many keys, in several runs.
fn golomb_sample(keys: u64) -> Vec<u8> {
    let keys: Vec<u64> = (0..keys).collect();
    gardenia::GolombSet::builder().fpp(0.01).gaps_per_run(8).build_from(&keys).unwrap().to_bytes().unwrap()
}

/// A compressed filter of this many bits.
fn compressed_sample(bits: u64) -> Vec<u8> {
    let mut filter = gardenia::CompressedBloom::builder().bits(bits).hashes(2).build().unwrap();
    filter.extend(0..bits / 14);
    filter.to_bytes().unwrap()
}

/// Puts the checksum of a payload of one chunk right.
fn reseal_payload(bytes: &mut [u8]) {
    let end = 104 + u32::from_le_bytes(bytes[80..84].try_into().unwrap()) as usize;
    let (payload, sums) = ((end + 8).next_multiple_of(64), bytes.len() - 24);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[payload..sums]).to_le_bytes();
    bytes[sums..sums + 8].copy_from_slice(&sum);
    let sum = xxhash_rust::xxh3::xxh3_64(&sum).to_le_bytes();
    bytes[sums + 8..sums + 16].copy_from_slice(&sum);
}

#[test]
fn every_parameter_of_a_coded_file_is_checked() {
    let refused = |good: &[u8], at: usize, value: u64, width: usize| {
        let mut bytes = good.to_vec();
        let value = value.to_le_bytes();
        assert_ne!(bytes[at..at + width], value[..width]);
        bytes[at..at + width].copy_from_slice(&value[..width]);
        reseal(&mut bytes);
        let (error, peak) = peak_of(|| decode(&bytes).unwrap_err().to_string());
        assert!(peak < BESIDE_PAYLOAD, "{peak} bytes");
        let view = AnyFilter::view(&bytes).map(|view| view.contains_digest(Digest(5)));
        (error, view.err().map(|error| error.to_string()))
    };
    let golomb = golomb_sample(100); // 13 runs
    let header = |at, value, width, text: &str| {
        let (error, view) = refused(&golomb, at, value, width);
        assert!(error.contains(text), "{error}");
        assert_eq!(view, Some(error));
    };
    header(17, 10, 1, "scheme");
    header(20, 2, 4, "hashes");
    header(32, 0, 8, "cells");
    header(32, 40, 8, "payload length");
    header(32, 1 << 40, 8, "payload length");
    header(40, 8, 4, "cell width");
    header(40, 32, 4, "payload length");
    header(72, u64::MAX, 8, "items");
    header(72, 0, 8, "items");
    header(104, 0, 8, "items");
    header(104, 101, 8, "items");
    header(112, 0, 8, "span");
    header(112, 1 << 60, 8, "span");
    header(112, u64::MAX, 8, "span");
    header(120, 0, 8, "divisor");
    header(120, u64::MAX, 8, "divisor");
    header(128, 0, 8, "values");
    header(128, 90, 8, "values");
    header(128, u64::MAX, 8, "code length");
    header(128, 1 << 40, 8, "payload length");
    // What only the words can tell is told by those who read them all.
    for (at, value) in [(104, 99), (112, 9), (120, 68), (120, 64)] {
        let (error, view) = refused(&golomb, at, value, 8);
        assert!(error.starts_with("corrupted") && view.is_none(), "{error} {view:?}");
    }

    let compressed = compressed_sample(10_000);
    let header = |at, value, width, text: &str| {
        let (error, view) = refused(&compressed, at, value, width);
        assert!(error.contains(text), "{error}");
        assert_eq!(view, Some(error)); // a view is decoded
    };
    header(17, 0, 1, "scheme 0");
    header(20, 0, 4, "hashes");
    header(32, 1 << 40, 8, "payload length");
    header(32, 10_001 + 1024, 8, "corrupted");
    header(32, 9_000, 8, "corrupted");
    header(40, 2, 4, "cell width");
    header(104, 10_001, 8, "ones");
    header(104, u64::MAX, 8, "ones");
    header(104, 0, 8, "corrupted");
    header(104, 900, 8, "corrupted");
    for good in [golomb, compressed] {
        for params in [0u32, 7, 16, 33] {
            let mut bytes = good.clone();
            bytes[80..84].copy_from_slice(&params.to_le_bytes());
            bytes[12..16].copy_from_slice(&(112 + params).to_le_bytes());
            reseal(&mut bytes);
            assert!(decode(&bytes).is_err() && AnyFilter::view(&bytes).is_err());
        }
    }
}

#[test]
fn a_small_file_that_claims_many_cells_is_held_to_the_cap() {
    // An empty filter is nearly nothing in coded form; what it takes in memory is still counted.
    let bytes =
        gardenia::CompressedBloom::builder().bits(80_000_000).hashes(2).build().unwrap().to_bytes().unwrap();
    assert!(bytes.len() < 500, "{}", bytes.len());
    let cap = ReadOptions::new().max_bytes(9_000_000);
    for result in [
        peak_of(|| AnyFilter::from_bytes_with(&bytes, &cap).map(|_| ())),
        peak_of(|| AnyFilter::view_with(&bytes, &cap).map(|_| ())),
    ] {
        assert!(matches!(result.0, Err(DecodeError::TooLarge { .. })), "{result:?}");
        assert!(result.1 < BESIDE_PAYLOAD);
    }
    assert_eq!(decode(&bytes).unwrap().fill(), 0.0);
    // And no file claims more cells than its code could be of.
    let mut bytes = bytes;
    bytes[32..40].copy_from_slice(&(1u64 << 39).to_le_bytes());
    reseal(&mut bytes);
    assert!(decode(&bytes).unwrap_err().to_string().contains("payload length"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Random changes to header, parameters and words of coded files, with all checksums put right:
    /// never a panic, an endless loop or more memory than the cap; and what is taken is what a view
    /// answers, and is written again alike.
    #[test]
    fn mutated_coded_files_do_no_harm(
        (golomb, size) in (any::<bool>(), 1u64..300),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..5),
        zeros in any::<bool>(),
        cap in prop_oneof![Just(1u64 << 16), Just(4 << 20)],
    ) {
        let mut bytes = if golomb { golomb_sample(size) } else { compressed_sample(10 * size) };
        let payload = (104 + if golomb { 32 } else { 8 } + 8usize).next_multiple_of(64);
        for (at, value, part) in changes {
            let range = [16..104, 104..136, payload..bytes.len() - 24, payload..bytes.len() - 24][usize::from(part)].clone();
            let at = range.start + at.index(range.len());
            bytes[at] = if zeros && part > 1 { 0 } else { value };
        }
        if bytes[80..84] == (if golomb { 32u32 } else { 8 }).to_le_bytes() {
            reseal_payload(&mut bytes);
        }
        reseal(&mut bytes);
        let options = ReadOptions::new().max_bytes(cap);
        let probes: Vec<Digest> = (0..40).map(|i| Digest(Digest(9).word(i))).collect();
        let ask = |filter: &dyn Filter| {
            let mut answers = vec![false; probes.len()];
            filter.contains_digests(&probes, &mut answers);
            answers
        };
        let (loaded, peak) = peak_of(|| AnyFilter::from_bytes_with(&bytes, &options));
        prop_assert!(peak <= cap as usize + BESIDE_PAYLOAD, "{peak} bytes");
        let (view, peak) = peak_of(|| AnyFilter::view_with(&bytes, &options));
        prop_assert!(peak <= cap as usize + BESIDE_PAYLOAD, "{peak} bytes");
        let view = view.map(|view| (ask(&view), view.fpp(), view.estimated_items()));
        if let Ok(filter) = loaded {
            prop_assert_eq!(ask(&filter), view.unwrap().0);
            prop_assert_eq!(&filter.to_bytes().unwrap()[payload..], &bytes[payload..]);
        }
    }
}
