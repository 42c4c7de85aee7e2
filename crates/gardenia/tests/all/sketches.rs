//! Sketches against exact counts: bounds that always hold, ranges, saturation, what cannot be
//! combined.

use gardenia::cells::CellKind;
use gardenia::filter::{Hitter, Update};
use gardenia::index::Form;
use gardenia::{CountMin, CountSketch, Digest, Key, Merge, Mismatch, RangeCountMin, SizeError, Top};
use proptest::prelude::*;
use std::collections::HashMap;

fn sketch(cells: CellKind, update: Update) -> CountMin {
    CountMin::builder().columns(50).rows(3).cells(cells).update(update).build().unwrap()
}

#[test]
fn a_sketch_at_its_top_says_so_and_never_wraps() {
    for update in [Update::Plain, Update::Conservative] {
        for cells in CellKind::ALL {
            let (mut full, top) = (sketch(cells, update), cells.top());
            assert_eq!(full.add("rose", top - 1), top - 1);
            assert_eq!((full.checked_count("rose"), full.saturated()), (Ok(top - 1), 0));
            assert_eq!(full.add("rose", 1), top);
            assert_eq!(
                (full.checked_count("rose").map_err(|error| error.top), full.saturated()),
                (Err(top), 3)
            );
            for more in [1, 1000, u64::MAX] {
                assert_eq!(full.add("rose", more), top, "{cells}");
            }
            assert_eq!((full.count("rose"), full.total(), full.count("tulip")), (top, u64::MAX, 0));
            let mut other = sketch(cells, update);
            other.add("rose", 5);
            other.merge(&full).unwrap();
            assert_eq!(other.checked_count("rose").map_err(|error| error.top), Err(top));
            assert!(full.add_crosses("tulip", u64::MAX, top) && !full.add_crosses("tulip", 1, top));
        }
    }
}

#[test]
fn nothing_is_counted_by_a_weight_of_zero() {
    for cells in CellKind::ALL {
        for update in [Update::Plain, Update::Conservative] {
            let mut counted = sketch(cells, update);
            assert_eq!(counted.add("rose", 0), 0);
            assert_eq!(counted, sketch(cells, update));
            assert!(!counted.add_crosses("rose", 0, 0), "it was not below");
            counted.add("rose", 20);
            let before = counted.clone();
            assert_eq!(counted.add("rose", 0), 20);
            assert_eq!(counted, before);
        }
    }
}

#[test]
fn unlike_sketches_are_not_combined() {
    let make = CountMin::builder;
    let base = make().columns(101).rows(4);
    let others = [
        ("cells", base.clone().columns(103)),
        ("hashes", base.clone().rows(3)),
        ("cell width", base.clone().cells(CellKind::Fixed64)),
        ("cell width", base.clone().cells(CellKind::Merging8)),
        ("seed", base.clone().seed(1)),
        ("form", base.clone().form(Form::Modified)),
        ("update", base.clone().update(Update::Conservative)),
    ];
    let mut ours = base.clone().build().unwrap();
    ours.insert("rose");
    let before = ours.clone();
    for (what, other) in others {
        let other = other.build().unwrap();
        let difference = |result: Result<(), Mismatch>| result.unwrap_err().what;
        assert_eq!(difference(ours.merge(&other)), what);
        assert_eq!(difference(ours.inner_product(&other).map(drop)), what);
        assert!(ours == before && ours != other);
    }
    let copies = |copies: u32| {
        make().columns(101).rows(4 / copies).copies(copies).form(Form::Modified).build().unwrap()
    };
    assert_eq!(copies(2).merge(&copies(1)).unwrap_err().what, "form");
    let conservative = base.update(Update::Conservative).build().unwrap();
    assert_eq!(conservative.inner_product(&conservative).unwrap_err().what, "update");

    let (mut a, b) = (CountSketch::new(0.1, 0.1).unwrap(), CountSketch::new(0.1, 0.2).unwrap());
    assert!(a.merge(&b).is_err() && a.subtract(&b).is_err() && a.inner_product(&b).is_err());
    let range = |bits, seed| RangeCountMin::with_seed(bits, 0.1, 0.1, seed).unwrap();
    assert_eq!(range(20, 1).merge(&range(21, 1)).unwrap_err().what, "bits");
    assert_eq!(range(20, 1).merge(&range(20, 2)).unwrap_err().what, "seed");
    let wide = RangeCountMin::with_seed(20, 0.01, 0.1, 1).unwrap();
    assert!(wide.clone().merge(&range(20, 1)).is_err());
    let top = |slots, seed| {
        let sketch = CountMin::builder().columns(100).rows(2).seed(seed).build().unwrap();
        Top::with_slots(slots, sketch).unwrap()
    };
    assert_eq!(top(5, 1).merge(&top(6, 1)).unwrap_err().what, "slots");
    assert_eq!(top(5, 1).merge(&top(5, 2)).unwrap_err().what, "seed");
}

#[test]
fn a_count_sketch_that_cannot_be_is_an_error() {
    let make = CountSketch::builder;
    assert!(matches!(make().build(), Err(SizeError::Conflict(_))));
    assert!(matches!(make().columns(5).rows(4).build(), Err(SizeError::Conflict(_))));
    assert!(matches!(make().columns(5).rows(3).delta(0.1).build(), Err(SizeError::Conflict(_))));
    assert!(matches!(make().columns(0).rows(3).build(), Err(SizeError::ZeroCells)));
    assert!(matches!(make().columns(5).rows(0).build(), Err(SizeError::Hashes { .. })));
    assert!(matches!(make().columns(5).rows(257).build(), Err(SizeError::Hashes { .. })));
    assert!(matches!(make().columns(u64::MAX).rows(3).build(), Err(SizeError::TooManyCells { .. })));
    assert!(matches!(CountSketch::new(0.0, 0.1), Err(SizeError::Epsilon(_))));
    assert!(matches!(CountSketch::new(0.1, 1.0), Err(SizeError::Delta(_))));
}

#[test]
fn sums_of_a_count_sketch_are_right_whenever_the_last_one_fits() {
    let mut sketch = CountSketch::builder().columns(10).rows(1).build().unwrap();
    for weight in [i64::MAX, 5, -5, i64::MIN, 1, 7] {
        sketch.add("rose", weight);
    }
    assert_eq!(sketch.count("rose"), 7);
}

/// A stream of keys of which some come often: small numbers are frequent.
fn streams() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let key = prop_oneof![3 => 0u64..8, 3 => 0u64..60, 2 => 0u64..2_000];
    let weight = prop_oneof![6 => Just(1u64), 2 => 1u64..50, 1 => Just(0u64)];
    proptest::collection::vec((key, weight), 0..1_500)
}

fn exact(stream: &[(u64, u64)]) -> HashMap<u64, u64> {
    let mut counts = HashMap::new();
    stream.iter().for_each(|(key, weight)| *counts.entry(*key).or_default() += weight);
    counts
}

/// Every promise of a [`Top`] against exact counts.
fn bounds_hold(top: &Top, counts: &HashMap<u64, u64>) {
    let hitters = top.top(usize::MAX);
    assert!(hitters.len() <= top.slots() && hitters.is_sorted_by(|a, b| a.upper >= b.upper));
    let key = |hitter: &Hitter| u64::from_le_bytes(hitter.key[..].try_into().unwrap());
    let listed: HashMap<u64, &Hitter> = hitters.iter().map(|hitter| (key(hitter), hitter)).collect();
    assert_eq!(listed.len(), hitters.len(), "a key is listed twice");
    for (key, count) in counts {
        match listed.get(key) {
            Some(hitter) => {
                assert!((hitter.lower..=hitter.upper).contains(count), "{key}: {count}, {hitter:?}");
            }
            None => assert!(
                *count <= top.floor(),
                "{key} came {count} times and is missing above {}",
                top.floor()
            ),
        }
        let (lower, upper) = top.bounds(*key);
        assert!((lower..=upper).contains(count));
    }
    assert!(listed.keys().all(|key| counts.contains_key(key)));
    assert_eq!(top.total(), counts.values().sum::<u64>());
    let above = top.at_least(top.floor() + 1);
    for (key, count) in counts.iter().filter(|(_, count)| **count > top.floor()) {
        assert!(
            key.with_bytes(|bytes| above.iter().any(|hitter| hitter.key == bytes)),
            "{key} came {count} times"
        );
    }
}

proptest! {
    #[test]
    fn the_bounds_of_frequent_keys_always_hold(
        (a, b) in (streams(), streams()),
        slots in 1usize..40,
        (columns, rows, cells) in (1u64..300, 1u32..4, proptest::sample::select(CellKind::ALL.to_vec())),
        conservative in any::<bool>(),
    ) {
        let update = if conservative { Update::Conservative } else { Update::Plain };
        let sketch = CountMin::builder().columns(columns).rows(rows).cells(cells).update(update).build().unwrap();
        let empty = Top::with_slots(slots, sketch).unwrap();
        let count = |stream: &[(u64, u64)]| {
            let mut top = empty.clone();
            stream.iter().for_each(|(key, weight)| top.update(*key, *weight));
            top
        };
        let nonzero = |stream: &[(u64, u64)]| exact(&stream.iter().copied().filter(|s| s.1 > 0).collect::<Vec<_>>());
        let (mut ours, theirs) = (count(&a), count(&b));
        bounds_hold(&ours, &nonzero(&a));
        ours.merge(&theirs).unwrap();
        let all = [a, b].concat();
        bounds_hold(&ours, &nonzero(&all));
        // And it counts on.
        all.iter().for_each(|(key, weight)| ours.update(*key, *weight));
        bounds_hold(&ours, &nonzero(&[all.clone(), all].concat()));
    }

    /// Saved and read in the middle, once or after a merge, it goes the same way.
    #[test]
    fn a_top_that_was_saved_counts_on_as_if_it_had_not_been(
        (a, b) in (streams(), streams()),
        cut in any::<prop::sample::Index>(),
        slots in 1usize..40,
        (columns, cells) in (1u64..300, proptest::sample::select(CellKind::ALL.to_vec())),
        merged in any::<bool>(),
    ) {
        let sketch = CountMin::builder().columns(columns).rows(2).cells(cells).update(Update::Conservative);
        let mut top = Top::with_slots(slots, sketch.clone().build().unwrap()).unwrap();
        let mut saved = top.clone();
        for (i, (key, weight)) in a.iter().enumerate() {
            if i == cut.index(a.len()) {
                if merged {
                    let mut other = Top::with_slots(slots, sketch.clone().build().unwrap()).unwrap();
                    b.iter().for_each(|(key, weight)| other.update(*key, *weight));
                    [&mut top, &mut saved].into_iter().for_each(|top| top.merge(&other).unwrap());
                }
                saved = Top::from_bytes(&saved.to_bytes().unwrap()).unwrap();
                prop_assert!(saved == top);
            }
            // Keys of many lengths.
            let bytes = &key.to_string().repeat(*key as usize % 5)[..];
            [&mut top, &mut saved].into_iter().for_each(|top| top.update(bytes, *weight));
        }
        prop_assert!(saved == top);
        prop_assert_eq!((saved.top(50), saved.floor()), (top.top(50), top.floor()));
    }

    #[test]
    fn ranges_are_never_counted_too_small_and_small_universes_exactly(
        stream in proptest::collection::vec((0u64..4096, 0u64..9), 0..300),
        bits in prop_oneof![Just(12u32), Just(40), Just(64)],
        ends in proptest::collection::vec((0u64..4200, 0u64..4200), 20),
    ) {
        // Spread over the universe, its last number included.
        let place = |key: u64| if key == 4095 { u64::MAX >> (64 - bits) } else { key << (bits - 12) };
        let mut ranges = RangeCountMin::with_seed(bits, 0.5, 0.3, 7).unwrap();
        stream.iter().for_each(|(key, weight)| ranges.add(place(*key), *weight).unwrap());
        let mut halves = [(); 2].map(|()| RangeCountMin::with_seed(bits, 0.5, 0.3, 7).unwrap());
        stream.iter().enumerate().for_each(|(i, (key, weight))| halves[i % 2].add(place(*key), *weight).unwrap());
        let [merged, other] = halves;
        let mut merged = RangeCountMin::from_bytes(&merged.to_bytes().unwrap()).unwrap();
        merged.merge(&other).unwrap();
        prop_assert_eq!(&merged, &ranges);
        prop_assert_eq!(merged.to_bytes().unwrap(), ranges.to_bytes().unwrap());
        for (from, to) in ends {
            let (from, to) = (place(from.min(4095)), place(to.min(4095)));
            let inside = |key: u64| from <= place(key) && place(key) <= to;
            let exact: u64 = stream.iter().filter(|(key, _)| inside(*key)).map(|(_, weight)| weight).sum();
            let found = ranges.count(from..=to);
            prop_assert!(found >= exact, "{}..={}: {} of {}", from, to, found, exact);
            // Few numbers: every level is an array.
            let mut small = RangeCountMin::new(12, 0.01, 0.1).unwrap();
            stream.iter().for_each(|(key, weight)| small.add(*key, *weight).unwrap());
            let (low, high) = (from >> (bits - 12), to >> (bits - 12));
            let exact: u64 = stream.iter().filter(|(key, _)| low <= *key && *key <= high).map(|s| s.1).sum();
            prop_assert_eq!(small.count(low..=high), exact);
            prop_assert_eq!(small.count(low..high + 1), exact);
        }
        let total: u64 = stream.iter().map(|(_, weight)| weight).sum();
        prop_assert_eq!((ranges.count(..), ranges.total()), (total, total));
        prop_assert_eq!(ranges.count(5..5), 0);
    }

    #[test]
    fn inner_products_are_never_too_small(
        (a, b) in (streams(), streams()),
        columns in 1u64..3_000,
        cells in proptest::sample::select(CellKind::ALL.to_vec()),
    ) {
        let count = |stream: &[(u64, u64)]| {
            let mut sketch = CountMin::builder().columns(columns).rows(3).cells(cells).build().unwrap();
            stream.iter().for_each(|(key, weight)| _ = sketch.add(*key, *weight));
            sketch
        };
        let (exact_a, exact_b) = (exact(&a), exact(&b));
        let product = |(key, count): (&u64, &u64)| u128::from(*count) * u128::from(*exact_b.get(key).unwrap_or(&0));
        let truth: u128 = exact_a.iter().map(product).sum();
        let found = count(&a).inner_product(&count(&b)).unwrap();
        let all = u128::from(exact_a.values().sum::<u64>()) * u128::from(exact_b.values().sum::<u64>());
        prop_assert!((truth..=all).contains(&found), "{} of {}", found, truth);
    }
}

#[test]
fn numbers_outside_the_universe_are_refused() {
    let mut ranges = RangeCountMin::new(8, 0.1, 0.1).unwrap();
    assert_eq!(ranges.add(255, 1), Ok(()));
    assert_eq!(ranges.add(256, 1).map_err(|error| (error.key, error.bits)), Err((256, 8)));
    assert_eq!((ranges.count(200..), ranges.count(300..), ranges.count(..=u64::MAX)), (1, 0, 1));
    for bits in [0, 65, u32::MAX] {
        assert!(matches!(RangeCountMin::new(bits, 0.1, 0.1), Err(SizeError::Conflict(_))));
    }
    assert!(matches!(RangeCountMin::new(64, 1.5, 0.1), Err(SizeError::Epsilon(e)) if e == 1.5));
    let mut all = RangeCountMin::new(64, 0.5, 0.5).unwrap();
    all.add(u64::MAX, 3).unwrap();
    assert_eq!((all.count(u64::MAX..), all.count(..u64::MAX), all.count(1..=u64::MAX)), (3, 0, 3));
}

#[test]
fn a_multistage_filter_lets_each_large_key_through_once() {
    // Twenty flows of 1000 and 5000 of one; the threshold is crossed by the first by their hundredth packet at latest.
    for update in [Update::Plain, Update::Conservative] {
        let mut filter = CountMin::builder().columns(2_000).rows(4).update(update).build().unwrap();
        let mut crossed: HashMap<u64, u32> = HashMap::new();
        for round in 0..1_000u64 {
            let mice = (0..5).map(|i| 1_000 + round * 5 + i);
            for flow in (0..20).chain(mice) {
                if filter.add_crosses(flow, 1, 100) {
                    *crossed.entry(flow).or_default() += 1;
                    assert!(round < 100, "a large flow was let through late");
                }
            }
        }
        assert!((0..20).all(|flow| crossed.get(&flow) == Some(&1)), "{update:?}: {crossed:?}");
        assert!((0..20u64).all(|flow| filter.exceeds(flow, 1_000)));
    }
}

#[test]
fn a_top_that_cannot_be_is_an_error() {
    assert!(matches!(Top::new(0), Err(SizeError::ZeroItems)));
    assert!(Top::new(usize::MAX).is_err());
    let mut used = CountMin::new(0.1, 0.1).unwrap();
    assert!(matches!(Top::with_slots(0, used.clone()), Err(SizeError::ZeroItems)));
    used.insert("rose");
    assert!(matches!(Top::with_slots(9, used), Err(SizeError::Conflict(_))));
}

#[test]
fn bounds_hold_although_the_sketch_has_lost_count() {
    // One slot; "rose" leaves it with a count that cells of 32 bits cannot take, and comes back.
    let sketch = CountMin::builder().columns(3).rows(1).build().unwrap();
    let mut top = Top::with_slots(1, sketch).unwrap();
    let huge = u64::from(u32::MAX) + 10;
    top.update("rose", 1);
    top.update("rose", huge);
    (0..100u64).for_each(|key| top.update(key, huge + 100));
    let (lower, upper) = top.bounds("rose");
    assert!(lower <= huge + 1 && upper > huge);
    assert!(top.floor() > huge);
}

#[test]
fn a_key_that_came_first_to_the_table_is_counted_exactly() {
    let mut top = Top::new(10).unwrap();
    top.update_many(&["rose", "tulip", "rose"]);
    assert_eq!(top.top(9).len(), 2);
    let Hitter { key, lower, upper, .. } = &top.top(9)[0];
    assert_eq!((&key[..], *lower, *upper), (&b"rose"[..], 2, 2));
    assert!(top.top(9)[0].is_exact());
}

#[test]
fn batches_of_a_top_are_its_single_updates() {
    let keys: Vec<u64> = (0..20_000u32).map(|i| Digest(3).word(1 + i) % 3_000 * (u64::from(i) % 3)).collect();
    let make = || Top::with_slots(50, CountMin::builder().columns(500).rows(3).build().unwrap()).unwrap();
    let (mut single, mut batch) = (make(), make());
    keys.iter().for_each(|key| single.update(key, 1));
    batch.update_many(&keys);
    assert_eq!((single.top(50), single.floor()), (batch.top(50), batch.floor()));
}
