//! What every filter offers beside its own methods.

use gardenia::cells::Bytes;
use gardenia::format::Mapped;
use gardenia::spec::Param;
use gardenia::{
    Ability, AnyFilter, AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, AtomicSplitBlockBloom, BinaryFuse,
    BlockedBloom, Bloom, Bloomier, Builder, CompressedBloom, Count, CountingBloom, Digest, Filter, Insert,
    Kind, OpenFilter, Remove, Spec, SplitBlockBloom, SplitBloom,
};
use std::fmt::Debug;

/// A filter can go to another thread, and many threads can ask it.
fn shared<T: Send + Sync + Debug>() {}

fn copied<T: Send + Sync + Debug + Clone>() {}

/// An [`AnyFilter`] holds a filter of each kind of the table, so that what is asserted of it the
/// compiler asserts of them all.
#[test]
fn filters_can_be_sent_shared_copied_and_printed() {
    copied::<(AnyFilter, AnyFilter<Bytes<&'static [u8]>>)>();
    shared::<AnyFilter<Bytes<Mapped>>>();
    copied::<(Spec, Builder<Bloom>, Builder<BinaryFuse>, CompressedBloom)>();
    shared::<(AtomicA2Bloom, AtomicBlockedBloom, AtomicBloom, AtomicSplitBlockBloom, OpenFilter, SplitBloom)>(
    );
}

#[test]
fn keys_are_collected_into_filters_of_their_number() {
    let keys = || (0..10_000u32).map(|key| (key, "rose"));
    macro_rules! check {
        ($($filter:ident)+) => {$({
            let filter: $filter = keys().collect();
            assert!(keys().all(|key| filter.contains(key)), stringify!($filter));
            let mut plain = $filter::new(10_000, 0.01).unwrap();
            plain.extend(keys());
            assert!(filter == plain, stringify!($filter));
            let mut none: $filter = std::iter::empty::<&str>().collect();
            assert!(none.is_empty() && none.insert("rose") && none.contains("rose"));
            let of_process: $filter = [gardenia::Hashed(&1)].into_iter().collect();
            assert!(of_process.to_bytes().is_err(), "these bytes are not portable");
        })+};
    }
    check!(Bloom BlockedBloom SplitBlockBloom CountingBloom);
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
    for kind in Kind::ALL.into_iter().filter(|kind| kind.holds_keys()) {
        let mut spec = kind.name().to_owned();
        for (param, value) in
            [(Param::Items, "items=100"), (Param::Fpp, "fpp=1%"), (Param::Epsilon, "epsilon=1% delta=1%")]
        {
            if kind.params().contains(&param) {
                spec = format!("{spec} {value}");
            }
        }
        let spec: Spec = spec.parse().unwrap();
        let digests: Vec<Digest> = (0..50).map(|i| Digest(Digest(3).word(i))).collect();
        let (empty, full) = if kind.can(Ability::Map) {
            let map = |digests: &[Digest]| -> AnyFilter {
                Bloomier::builder().build_from_digests(digests, &vec![1; digests.len()]).unwrap().into()
            };
            (map(&[]), map(&digests))
        } else if kind.can(Ability::Fixed) {
            (spec.build_from(Vec::new()).unwrap(), spec.build_from(digests).unwrap())
        } else {
            let empty = spec.build().unwrap();
            let mut full = empty.clone();
            full.insert_digests(&digests, &mut [false; 50]).unwrap();
            (empty, full)
        };
        assert!(empty.kind() == kind && empty.is_empty() && !full.is_empty(), "{spec}");
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
