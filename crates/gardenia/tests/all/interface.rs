//! What every filter offers beside its own methods.

use gardenia::spec::Param;
use gardenia::{
    A2Bloom, AnyFilter, AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, BinaryFuse, BitwiseBloom,
    BlockedBloom, Bloom, Bloomier, Builder, ChoiceBloom, CompressedBloom, Count, CountMin, CountSketch,
    CountingBloom, Cuckoo, Digest, DistanceSensitiveBloom, DynamicBloom, Filter, GolombSet, InfiniFilter,
    Insert, Kind, MutableBloomier, OpenFilter, Quotient, RangeCountMin, Remove, RetouchedBloom, Ribbon,
    ScalableBlocked, ScalableBloom, Spec, SpectralBloom, SplitBloom, StableBloom, Top,
};
use std::fmt::Debug;

/// A filter can go to another thread, and many threads can ask it.
fn shared<T: Send + Sync + Debug>() {}

fn copied<T: Send + Sync + Debug + Clone>() {}

#[test]
fn filters_can_be_sent_shared_copied_and_printed() {
    copied::<(A2Bloom, AnyFilter, BinaryFuse, BitwiseBloom, BlockedBloom, Bloom, Bloomier, ChoiceBloom)>();
    copied::<(CompressedBloom, CountMin, CountSketch, CountingBloom, Cuckoo, DistanceSensitiveBloom)>();
    copied::<(DynamicBloom, GolombSet, MutableBloomier, Quotient, RangeCountMin, RetouchedBloom, Ribbon)>();
    copied::<(
        InfiniFilter,
        ScalableBlocked,
        ScalableBloom,
        SpectralBloom,
        StableBloom,
        Top,
        Spec,
        Builder<Bloom>,
    )>();
    shared::<(AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, OpenFilter, SplitBloom)>();
}

#[test]
fn filters_behind_traits_accept_keys_as_they_do_themselves() {
    let mut plain = CountingBloom::new(100, 1e-6).unwrap();
    let mut boxed: Box<dyn Insert> = Box::new(CountingBloom::new(100, 1e-6).unwrap());
    for key in ["rose", "tulip", "rose"] {
        assert_eq!(boxed.insert(key), Ok(plain.insert(key)));
        assert!(boxed.contains(key));
    }
    let (asked, counted, removed): (&dyn Filter, &dyn Count, &mut dyn Remove) =
        (&plain.clone(), &plain.clone(), &mut plain);
    assert_eq!(asked.contains_many(&["rose", "thistle"]), [true, false]);
    assert_eq!(counted.count_digest(counted.hasher().digest_key("rose")), 2);
    let tulip = removed.hasher().digest_key("tulip");
    assert_eq!(removed.remove_digest(tulip), Ok(()));
    assert!(!plain.contains("tulip"));
}

#[test]
fn every_kind_knows_whether_it_is_empty() {
    for kind in Kind::ALL {
        let spec = Spec::new(kind).to_string() + " items=100 fpp=1%";
        let Ok(spec) = spec.parse::<Spec>() else { continue };
        let digests: Vec<Digest> = (0..50).map(|i| Digest(Digest(3).word(i))).collect();
        let (empty, full) = match spec.build() {
            Ok(filter) => {
                let mut full = filter.clone();
                full.insert_digests(&digests, &mut [false; 50]).unwrap();
                (filter, full)
            }
            Err(_) => match (spec.build_from(Vec::new()), spec.build_from(digests)) {
                (Ok(empty), Ok(full)) => (empty, full),
                _ => continue, // the kind is not one of keys
            },
        };
        assert!(empty.is_empty() && !full.is_empty(), "{spec}");
    }
}

#[test]
fn a_key_that_is_not_portable_is_noticed_through_every_type() {
    let mut any = AnyFilter::from(BlockedBloom::new(10, 0.1).unwrap());
    any.insert(gardenia::Hashed(&1)).unwrap();
    assert!(any.to_bytes().is_err());
    let mut boxed: Box<Bloom> = Box::new(Bloom::new(10, 0.1).unwrap());
    (&mut *boxed as &mut dyn Insert).insert(gardenia::Hashed(&1)).unwrap();
    assert!(boxed.to_bytes().is_err());
}

#[test]
fn atomic_filters_are_loaded_from_files_of_the_plain_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.gdn");
    let shared = AtomicBlockedBloom::new(100, 1e-6).unwrap();
    shared.insert("rose");
    shared.save(&path).unwrap();
    let loaded = AtomicBlockedBloom::load(&path).unwrap();
    loaded.insert("tulip");
    assert!(loaded.contains("rose") && loaded.contains("tulip") && !shared.contains("tulip"));
    assert!(BlockedBloom::load(&path).unwrap() == *shared);
    let shared = AtomicBloom::new(100, 1e-6).unwrap();
    shared.insert("rose");
    shared.save(&path).unwrap();
    assert!(*AtomicBloom::load(&path).unwrap() == *shared);
}

#[test]
fn a_spec_survives_text_to_the_last_digit_and_json_as_far_as_its_reader_is_exact() {
    // Found by fuzzing: 1.1 % is 0.011000000000000001, which serde_json takes for 0.011 unless it has `float_roundtrip`.
    for text in ["cuckoo items=1M fpp=1.1%", "bloom items=7 fpp=0.3%", "blocked items=10 fpp=1/3"] {
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(&spec));
        let json = serde_json::to_string(&spec).unwrap();
        let read: Spec = serde_json::from_str(&json).unwrap();
        let (was, is) = (spec.real(Param::Fpp).unwrap(), read.real(Param::Fpp).unwrap());
        assert!(json.contains(&was.to_string()), "{json}"); // what is written is exact
        assert!((is / was - 1.0).abs() <= 2.0 * f64::EPSILON, "{json}: {is:?}");
    }
}

#[test]
fn tables_of_a_few_bits_state_a_rate() {
    // A mutated file had so few cells that triple hashing has no short cycles to draw from.
    for id in gardenia::index::SchemeId::ALL {
        for (bits, hashes) in (1..=12).flat_map(|bits| (1..=12).map(move |hashes| (bits, hashes))) {
            let scheme = move |k| gardenia::index::AnyScheme::new(id, k);
            let Ok(mut filter) = Bloom::builder().bits(bits).hashes(hashes).scheme(scheme).build() else {
                continue;
            };
            assert_eq!(filter.fpp(), 0.0);
            filter.insert("rose");
            let fpp = filter.fpp();
            assert!(fpp > 0.0 && fpp <= 1.0, "{id:?}, {bits} bits, {hashes} hashes: {fpp}");
        }
    }
}
