//! Specs of every kind: they print themselves exactly, fill themselves in, and build what they say.

use gardenia::plan::{self, Need};
use gardenia::spec::{Param, SpecError, Value};
use gardenia::{Ability, AnyFilter, Digest, Filter, Kind, Spec};

/// Specs of each kind: the plainest, and others with options of its own.
fn examples() -> Vec<Spec> {
    let own = [
        "bloom items=1000 fpp=0.3",
        "bloom memory=1000 items=100",
        "bloom bits=1MiB hashes=3 scheme=double seed=7",
        "blocked bits=10000 hashes=5",
        "blocked items=1M fpp=1/1000 memory=4MiB",
        "counting items=100 width=8 scheme=double",
        "counting cells=1000 items=100",
        "counting bits=64000 items=100 width=5",
        "spectral-ms cells=1000 items=100",
        "spectral-mi items=100 compact",
        "spectral-rm items=100 secondary-cells=50 secondary-hashes=3 no-marker",
        "spectral-rm bits=100000 hashes=3",
        "bitwise items=100 digit=2",
        "stable window=100",
        "stable cells=1000 hashes=3 decrements=10",
        "stable memory=1000",
        "a2 window=100 error=1e-7",
        "a2 memory=1000 fpp=0.1 window=50",
        "a2 bits=10000 fpp=0.05",
        "choice items=100",
        "choice items=2000 fpp=1e-3 choices=3 effort=rounds",
        "choice items=2000 bits=20000 effort=partitioned",
        "count-min",
        "count-min memory=10000 update=plain form=modified",
        "count-min columns=100 width=64 copies=2 form=modified",
        "cuckoo items=100 fpp=0.000001",
        "cuckoo items=100 width=20",
        "cuckoo cells=64 width=12",
        "scalable",
        "scalable items=5000 growth=4 tightening=0.7 peak=2",
        "dynamic seed=18446744073709551615",
        "dynamic items=50 cells=900 width=6",
        "compressed items=1000 wire=8 memory-per-key=40",
        "compressed bits=9000 hashes=2",
        "fuse fingerprint=16 arity=4",
        "ribbon fingerprint=5",
        "golomb fpp=1e-4",
        "bloomier value-bits=7 check=10",
        "retouched items=100 fpp=2% clearing=random",
    ];
    let plain = Kind::ALL.into_iter().filter(|kind| kind.holds_keys());
    let plain = plain.map(|kind| {
        let spec = Spec::new(kind);
        if kind.params().contains(&Param::Items) { spec.items(500) } else { spec }
    });
    plain.chain(own.map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}")))).collect()
}

fn keys(spec: &Spec, count: u64) -> Vec<Digest> {
    (0..count).map(|key| spec.hasher().digest_key(&key)).collect()
}

fn built(spec: &Spec, count: u64) -> AnyFilter {
    spec.build_from(keys(spec, count)).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

#[test]
fn what_is_printed_reads_as_the_same_spec() {
    for spec in examples() {
        let filled = spec.filled().unwrap_or_else(|error| panic!("{spec}: {error}"));
        for spec in [&spec, &filled] {
            assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(spec), "{spec}");
        }
        assert_eq!(filled.filled().as_ref(), Ok(&filled), "{spec}");
    }
}

#[test]
fn a_filled_spec_builds_the_same_filter() {
    for spec in examples() {
        let (filled, count) = (spec.filled().unwrap(), spec.get(Param::Items).map_or(40, |_| 50));
        let bytes = |spec: &Spec| built(spec, count).to_bytes().unwrap();
        assert_eq!(bytes(&filled), bytes(&spec), "{spec} and {filled}");
    }
}

#[test]
fn a_filter_knows_its_spec() {
    for spec in examples().into_iter().chain(crate::specs::all(50, 0.01)) {
        let count = spec.get(Param::Items).map_or(40, |_| 50);
        let filter = built(&spec, count);
        let known = filter.spec().unwrap_or_else(|| panic!("{spec}"));
        let bytes = filter.to_bytes().unwrap();
        assert_eq!(AnyFilter::view(&bytes).unwrap().spec().as_ref(), Some(&known), "{spec}");
        // Neither the effort nor the clearing is stored: the same can be asked for again.
        let unstored = [Param::Effort, Param::Clearing].into_iter();
        let again = unstored.fold(known.clone(), |again, param| match spec.get(param) {
            Some(value) => again.with(param, value),
            None => again,
        });
        assert!(built(&again, count).to_bytes().unwrap() == bytes, "{spec}: {known}");
    }
}

#[test]
fn the_size_that_is_told_is_the_size_that_is_built() {
    for spec in examples() {
        let count = match spec.get(Param::Items) {
            Some(Value::Whole(items)) => items,
            _ => 40,
        };
        let spec =
            if spec.needs_all_keys() && spec.get(Param::Items).is_none() { spec.items(count) } else { spec };
        let size = spec.size().unwrap_or_else(|error| panic!("{spec}: {error}"));
        let grown = spec.kind().can(Ability::Grow) || spec.kind() == Kind::Bitwise;
        let filter = if grown { spec.build().unwrap() } else { built(&spec, count) };
        let (memory, file) = (filter.memory_bytes() as u64, filter.to_bytes().unwrap().len() as u64);
        let compact = spec.get(Param::Compact).is_some();
        // Sets whose size depends on the keys themselves, or on their counts, are told an upper bound or a good estimate.
        let near = matches!(spec.kind(), Kind::Ribbon | Kind::GolombSet | Kind::Compressed | Kind::Bloomier)
            || compact;
        if near {
            let room = if spec.kind() == Kind::GolombSet { 1.1 } else { 1.0 };
            assert!(memory as f64 <= size.bytes as f64 * room, "{spec}: {memory} and {size:?}");
        } else {
            assert_eq!((memory, file), (size.bytes, size.file_bytes), "{spec}");
        }
        assert_eq!(filter.kind(), spec.kind());
    }
}

#[test]
fn a_size_that_follows_from_the_keys_is_not_told() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.can(Ability::Fixed)) {
        let error = Spec::new(kind).size().expect_err(kind.name());
        assert!(error.to_string().contains("its size follows from its keys"), "{}: {error}", kind.name());
    }
}

#[test]
fn plans_are_noted_and_seeds_kept() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.holds_keys() && kind.params().contains(&Param::Fpp))
    {
        let spec = Spec::new(kind).items(50).fpp(0.002).seed(5);
        if spec.filled().is_err() || spec.needs_all_keys() || kind == Kind::Scalable {
            continue;
        }
        let filter = spec.build().unwrap();
        assert_eq!((filter.about().planned_items(), filter.about().planned_fpp()), (50, 0.002), "{spec}");
        assert_eq!(filter.identity().mark, 5, "{spec}");
        assert!(spec.size().unwrap().fpp.unwrap() <= 0.002 * (1.0 + 1e-9), "{spec}");
    }
}

#[test]
fn errors_say_where_and_what_to_change() {
    for (text, error) in [
        ("", "at character 0: a spec needs a kind: begin with one of bloom"),
        ("rose", "at character 0: no kind of filter is called \"rose\": use one of bloom, blocked"),
        ("bloom roses=1", "at character 6: no option is called \"roses\": bloom has "),
        ("bloom items=", "at character 6: items is \"\": a number such as 1000, 10M or 1e7 is expected"),
        ("bloom items=0", "at character 6: items is \"0\": it must be at least 1"),
        ("bloom items=1 window=2", "at character 14: items is given twice: leave out one of them"),
        ("bloom items=9 fpp=1", "at character 14: fpp is \"1\": it must be between 0 and 1 (exclusive)"),
        ("bloom items=9 width=4", "at character 14: a filter of kind bloom has no width: leave it out"),
        ("bloom", "nothing says how large a filter of kind bloom is to be: give items, the number of keys"),
        ("bloom bits=100", "nothing says how large"),
        ("bloom items=9 hashes=3", "at character 14: hashes is given alone: give a size, too: bits or cells"),
        ("bloom items=9 bits=99 fpp=10%", "at character 22: bits and fpp are both given"),
        ("counting cells=9 bits=99 items=3", "at character 9: bits and cells are both given"),
        ("bloom items=9 scheme=rose", "at character 14: scheme is \"rose\": it must be one of independent, "),
        ("cuckoo cells=100", "at character 7: cells is given alone: give width"),
        ("count-min items=9", "at character 10: a filter of kind count-min has no items"),
        ("count-min rows=3", "at character 10: rows is given alone: give columns or bits, too"),
        ("count-min epsilon=0.1 columns=9", "at character 10: columns and epsilon are both given"),
        (
            "spectral-mi items=9 no-marker",
            "at character 20: no-marker is given alone: give policy recurring-minimum",
        ),
        ("spectral items=9 compact width=4", "at character 25: compact and width are both given"),
        ("choice items=9 effort=partitioned choices=3", "at character 34: effort and choices are both given"),
        ("stable items=9 decrements=3", "at character 15: decrements is given alone: give cells and hashes"),
        ("fuse fingerprint=8 fpp=1%", "at character 19: fingerprint and fpp are both given"),
    ] {
        let found = text.parse::<Spec>().unwrap_err().to_string();
        assert!(found.starts_with(error), "{text}: {found}");
    }
    let refused = |text: &str| text.parse::<Spec>().unwrap().filled().unwrap_err().to_string();
    assert_eq!(
        refused("bloom items=1000 fpp=1% memory=1000"),
        "the filter needs 1.2 kB, and memory allows 1 kB: raise memory or fpp, or leave out fpp for the lowest \
         rate that fits"
    );
    assert!(refused("count-min width=5").starts_with("cells of a sketch have 4, 8, 32 or 64 bits"));
    let error: SpecError = "counting items=9 bits=99 fpp=10%".parse::<Spec>().unwrap_err();
    assert_eq!(
        error.what(|param| format!("--{param}")),
        "--bits and --fpp are both given, and each fixes the other"
    );
}

#[cfg(feature = "serde")]
#[test]
fn specs_are_json() {
    for spec in examples() {
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<Spec>(&json).unwrap(), spec, "{json}");
    }
    let spec: Spec = serde_json::from_str(r#"{"items": "1M", "kind": "cuckoo", "fpp": "0.1%"}"#).unwrap();
    assert_eq!(spec.to_string(), "cuckoo items=1000000 fpp=0.001");
    assert!(serde_json::from_str::<Spec>(r#"{"kind": "cuckoo", "cells": 9}"#).is_err());
}

#[cfg(feature = "serde")]
#[test]
fn json_says_an_option_once() {
    let read = |json| serde_json::from_str::<Spec>(json);
    for (json, option) in [
        (r#"{"kind": "spectral-mi", "policy": "minimum-selection"}"#, "policy"),
        (r#"{"policy": "minimum-selection", "kind": "spectral-mi"}"#, "policy"),
        (r#"{"kind": "a2", "items": 100, "window": 200}"#, "items"),
        (r#"{"kind": "bloom", "items": 100, "items": 200}"#, "items"),
        (r#"{"kind": "bloom", "items": 100, "fpp": 0.01, "error": "2%"}"#, "fpp"),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{option} is given twice: leave out one of them")), "{error}");
    }
    let error = read(r#"{"kind": "bloom", "kind": "a2", "items": 9}"#).unwrap_err().to_string();
    assert!(error.starts_with("duplicate field `kind`"), "{error}");
    assert_eq!(
        read(r#"{"kind": "spectral-mi", "items": 9}"#).unwrap(),
        "spectral-mi items=9".parse().unwrap()
    );
}

#[cfg(feature = "serde")]
#[test]
fn json_numbers_are_whole_real_or_levels_as_the_option_takes_them() {
    let read = |json: &str| serde_json::from_str::<Spec>(json);
    for (json, text) in [
        // What Python's `json.dumps(1e6)` writes.
        (r#"{"kind": "bloom", "items": 1000000.0}"#, "bloom items=1M"),
        (r#"{"kind": "bloom", "items": 9, "memory": 1e3}"#, "bloom items=9 memory=1000"),
        (r#"{"kind": "bloom", "items": 9, "bits": 512.0, "hashes": 3.0}"#, "bloom items=9 bits=512 hashes=3"),
        (r#"{"kind": "compressed", "items": 9, "wire": 9}"#, "compressed items=9 wire=9"),
        (r#"{"kind": "choice", "items": 9, "effort": 2}"#, "choice items=9 effort=2"),
        (r#"{"kind": "choice", "items": 9, "effort": 1.0}"#, "choice items=9 effort=1"),
        (
            r#"{"kind": "bloom", "items": 9, "seed": 18446744073709551615}"#,
            "bloom items=9 seed=18446744073709551615",
        ),
    ] {
        assert_eq!(
            read(json).unwrap_or_else(|error| panic!("{json}: {error}")),
            text.parse().unwrap(),
            "{json}"
        );
    }
    // What is refused says what is expected.
    for (json, expected) in [
        (r#"{"kind": "bloom", "items": 1.5}"#, "items is 1.5: not a whole number"),
        (r#"{"kind": "bloom", "items": -5}"#, "items is -5: a number such as"),
        (r#"{"kind": "bloom", "items": 0.0}"#, "items is 0: it must be at least 1"),
        (r#"{"kind": "bloom", "items": 18446744073709551616.0}"#, "items is 18446744073709552000: too large"),
        (r#"{"kind": "bloom", "items": 9, "fpp": 1}"#, "fpp is 1: it must be between 0 and 1"),
        (r#"{"kind": "choice", "items": 9, "effort": 99}"#, "effort is 99: it must be one of online"),
        (r#"{"kind": "bloom", "items": 9, "scheme": 2}"#, "scheme is 2: it must be one of"),
        (r#"{"kind": "stable", "items": 9, "drawn": 1}"#, "drawn is 1: it takes no value"),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{json}: {error}");
    }
    // So does a value that a program sets.
    assert_eq!(Spec::new(Kind::Bloom).with(Param::Items, 1e6), "bloom items=1M".parse().unwrap());
}

/// `Size::bound` and `Design::bound` are one figure: for the same keys in a filter of the same
/// shape.
#[test]
fn the_bound_of_a_spec_is_that_of_its_design() {
    let mut seen = std::collections::BTreeSet::new();
    let needs = [
        Need::of(3_000).fpp(0.003),
        Need::of(3_000).fpp(0.003).remove(),
        Need::of(3_000).fpp(0.003).count(100),
        Need::of(3_000).fpp(0.003).fixed(),
        Need::of(3_000).fpp(0.003).values(5),
        Need::of(3_000).fpp(0.003).grow().remove(),
        Need::of(3_000).fpp(0.003).window(),
        Need::of(3_000).fpp(0.003).send(),
    ];
    for need in needs {
        for design in need.plan().unwrap().designs() {
            let (kind, spec) = (design.kind.name(), design.spec.clone());
            let planned = design.kind.params().contains(&Param::Items);
            let spec = if planned { spec.items(design.items) } else { spec };
            let size = spec.size().unwrap_or_else(|error| panic!("{spec}: {error}"));
            match (design.kind, size.bound) {
                // A sketch plans no keys.
                (Kind::CountMin, bound) => assert_eq!(bound, None),
                // Its spec promises a rate for any number of keys, and the design for these.
                (Kind::Infini, Some(bound)) => assert!(bound >= design.bound && bound < 0.0031, "{bound}"),
                (_, Some(bound)) => {
                    assert!((bound / design.bound - 1.0).abs() < 1e-12, "{spec}: {bound} {}", design.bound);
                    assert!(bound >= size.fpp.unwrap(), "{kind}");
                }
                (_, None) => panic!("{kind} has no bound"),
            }
            seen.insert(kind);
        }
    }
    let planned =
        Kind::ALL.into_iter().filter(|kind| plan::Calibration::default().kinds().any(|(of, _)| of == *kind));
    let left: Vec<&str> = planned.map(Kind::name).filter(|kind| !seen.contains(kind)).collect();
    // A scalable filter's spec is for any number of keys: its bound is the whole rate, and the design's that of one slice.
    assert_eq!(left, ["scalable"]);
}

#[test]
fn a_bound_is_no_less_than_the_rate_and_there_is_one_where_there_is_a_rate() {
    for spec in crate::specs::kinds().flat_map(|kind| crate::specs::varied(kind, 100, 0.01)) {
        if let Ok(size) = spec.size() {
            assert_eq!(size.bound.is_some(), size.fpp.is_some(), "{spec}");
            if let (Some(bound), Some(fpp)) = (size.bound, size.fpp) {
                assert!(bound >= fpp && bound <= 1.0, "{spec}: {bound} {fpp}");
            }
        }
    }
}

#[test]
fn digests_come_from_the_hasher_of_the_spec() {
    let spec: Spec = "bloom items=10 fpp=0.1% seed=9".parse().unwrap();
    let filter = spec.build_from(&[spec.hasher().digest_key("rose")]).unwrap();
    assert!(filter.contains_digest(filter.hasher().digest(b"rose")));
}

#[test]
fn a_spec_knows_whether_its_filters_can_be_merged() {
    let (mut can, mut cannot) = (0, 0);
    for spec in crate::specs::kinds().flat_map(|kind| crate::specs::varied(kind, 100, 0.01)) {
        if spec.needs_all_keys() {
            assert!(spec.check_mergeable().is_err(), "{spec}");
        } else if let Ok(filter) = spec.build() {
            assert_eq!(spec.check_mergeable().is_ok(), filter.can(Ability::Merge), "{spec}");
            *(if filter.can(Ability::Merge) { &mut can } else { &mut cannot }) += 1;
        }
    }
    assert!(can > 20 && cannot > 20, "{can} {cannot}");
}
