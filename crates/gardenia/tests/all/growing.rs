//! Laws of the cuckoo filter and of the filters that grow, and what their decoders refuse.

use crate::common::*;
use gardenia::index::{AnyScheme, Scheme, SchemeId};
use gardenia::theory::scalable::peaked_fpp;
use gardenia::{
    Ability, AnyFilter, Cuckoo, DecodeError, Digest, DynamicBloom, Full, Hashed, Insert, InsertError,
    KeyHasher, RemoveError, ScalableBloom, SecretKey, SizeError,
};
use proptest::prelude::*;
use std::collections::HashMap;

fn hashers() -> impl Strategy<Value = KeyHasher> {
    (any::<u64>(), any::<bool>()).prop_map(|(seed, keyed)| {
        let secret = SecretKey::new((u128::from(seed) << 7).to_le_bytes());
        if keyed { KeyHasher::sip13(secret) } else { KeyHasher::xxh3(seed) }
    })
}

/// Room for 400 keys and more, fingerprints of any width; some beyond the core's cache.
fn cuckoos() -> impl Strategy<Value = Cuckoo> {
    let cells = prop_oneof![9 => 480u64..3_000, 1 => Just(3_000_000)];
    (cells, 4u32..=32, hashers()).prop_map(|(cells, width, hasher)| {
        Cuckoo::builder().cells(cells).width(width).hasher(hasher).build().unwrap()
    })
}

fn scalables() -> impl Strategy<Value = ScalableBloom> {
    let scheme = proptest::sample::select(SchemeId::ALL.to_vec());
    let first = prop_oneof![9 => 1u64..100, 1 => Just(2_000_000)];
    ((0.0001f64..0.5, 0.1f64..0.95), first, (2u32..=5, 0u32..4), scheme, hashers()).prop_map(
        |((fpp, tightening), first, (growth, peak), scheme, hasher)| {
            let builder = ScalableBloom::builder().fpp(fpp).tightening(tightening).items(first);
            builder.growth(growth).peak(peak).scheme(scheme).hasher(hasher).build().unwrap()
        },
    )
}

fn dynamics() -> impl Strategy<Value = DynamicBloom> {
    let scheme = proptest::sample::select(SchemeId::ALL.to_vec());
    let shapes = prop_oneof![9 => (1u64..300, 1u64..120), 1 => Just((5_000_000, 150))];
    (shapes, 1u32..9, 3u32..=32, scheme, hashers()).prop_map(
        |((cells, items), hashes, width, scheme, hasher)| {
            let builder = DynamicBloom::builder().cells(cells).hashes(hashes).items(items).width(width);
            builder.scheme(scheme).hasher(hasher).build().unwrap()
        },
    )
}

/// The filter, with leave to store the secret that it may have.
fn with_secret(filter: impl Into<AnyFilter>) -> AnyFilter {
    let mut any = filter.into();
    any.about_mut().store_secret(true);
    any
}

/// Keys that differ, so that a cuckoo filter has place for each.
fn different(keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut keys = keys.to_vec();
    keys.sort();
    keys.dedup();
    keys
}

/// Encoded, decoded, viewed, and as a filter of any kind, it is the same.
macro_rules! survives {
    ($kind:ident, $filter:expr, $keys:expr) => {{
        let mut filter = $filter;
        filter.about_mut().store_secret(true);
        let bytes = filter.to_bytes().unwrap();
        let (copy, view) = ($kind::from_bytes(&bytes).unwrap(), $kind::view(&bytes).unwrap());
        assert!(copy == filter && view == filter && view.try_to_owned().unwrap() == filter);
        assert_eq!(view.to_bytes().unwrap(), bytes);
        let any = AnyFilter::from_bytes(&bytes).unwrap();
        assert_eq!(any.to_bytes().unwrap(), bytes);
        assert_eq!(view.contains_many($keys), filter.contains_many($keys));
        assert_eq!((copy.items(), copy.fpp(), copy.fill()), (filter.items(), any.fpp(), any.fill()));
        let mut again = copy;
        again.clear();
        assert_eq!((again.items(), again.fill()), (0, 0.0));
        let mut fresh = filter;
        assert!(fresh.insert(Hashed(&1)).is_ok() && fresh.to_bytes().is_err(), "bytes that are not portable");
    }};
}

/// How many keys of a batch went in, and whether the one that did not is there too often.
fn parts(full: Full) -> (u64, bool) {
    (full.taken, full.copies)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn cuckoo_filters_keep_the_laws(filter in cuckoos(), a in keys(), b in keys()) {
        let (a, b) = (different(&a), different(&b));
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        counts_agree(filter.clone(), &a, &b);
        batches_insert_alike(filter.clone(), &a, |f, digests, new| f.insert_digests(digests, new).unwrap());
        batches_insert_in_order(&filter.clone().into(), &a);
        let (some, more) = a.split_at(a.len() / 2);
        storing_interrupts_nothing(with_secret(filter.clone()), some, more);
        let mut full = filter;
        full.insert_many(&a).unwrap();
        survives!(Cuckoo, full, &b);
    }

    /// A small filter is filled beyond its room, and emptied again, against a map of counts.
    #[test]
    fn cuckoo_filters_lose_nothing_whatever_is_put_in_and_taken_out(
        (cells, width, seed) in (1u64..150, 4u32..=32, any::<u64>()),
        steps in proptest::collection::vec((0u8..60, 0u8..5), 0..600),
    ) {
        let mut filter = Cuckoo::builder().cells(cells).width(width).seed(seed).build().unwrap();
        let mut model: HashMap<u8, u64> = HashMap::new();
        for (key, what) in steps {
            let before = filter.to_bytes().unwrap();
            let count = model.entry(key).or_default();
            if what > 1 {
                match filter.insert(key) {
                    Ok(new) => {
                        prop_assert!(!new || *count == 0);
                        *count += 1;
                    }
                    Err(full) => {
                        prop_assert_eq!(parts(full), (0, filter.count(key) == Cuckoo::MAX_COPIES));
                        prop_assert!(filter.to_bytes().unwrap() == before, "a failed insertion has changed a bit");
                        prop_assert!(full.copies || filter.fill() > 0.25);
                    }
                }
            } else if *count > 0 {
                // Only what is in is removed: a false positive would take another key with it.
                prop_assert_eq!(filter.remove(key), Ok(()));
                *count -= 1;
            } else if !filter.contains(key) {
                prop_assert_eq!(filter.remove(key), Err(RemoveError::Absent));
                prop_assert_eq!(&filter.to_bytes().unwrap(), &before);
            }
            prop_assert_eq!(filter.items(), model.values().sum::<u64>());
            for (key, count) in &model {
                prop_assert!(filter.count(*key) >= *count && filter.contains(*key) == (filter.count(*key) > 0));
            }
        }
        // The counts of places agree with the counted items, or the file would be refused.
        prop_assert_eq!(&Cuckoo::from_bytes(&filter.to_bytes().unwrap()).unwrap(), &filter);
        for (key, count) in model {
            (0..count).for_each(|_| filter.remove(key).unwrap());
        }
        prop_assert_eq!((filter.items(), filter.fill()), (0, 0.0));
        prop_assert!((0..=255u8).all(|key| !filter.contains(key)));
    }

    #[test]
    fn scalable_filters_keep_the_laws(filter in scalables(), a in keys(), b in keys()) {
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        batches_insert_alike(filter.clone(), &a, |f, digests, new| f.insert_digests(digests, new).unwrap());
        let twice = [&a[..], &a[..]].concat();
        batches_insert_in_order(&filter.clone().into(), &twice);
        storing_interrupts_nothing(with_secret(filter.clone()), &a, &b);
        let mut full = filter.clone();
        let new = full.insert_many(&twice).unwrap();
        prop_assert_eq!((new, full.insert_many(&a)), (full.items(), Ok(0)));
        // Slices are full but for the last, each takes `growth` times as many, and keeps its share of the rate.
        let slices: Vec<_> = full.slices().collect();
        let (first, scheme) = (slices[0].items.max(1), full.identity().scheme.unwrap());
        for (number, slice) in (0u32..).zip(&slices) {
            let capacity = first * u64::from(full.growth()).pow(number);
            let last = number as usize + 1 == slices.len();
            prop_assert!(slice.items == capacity || last && slice.items <= capacity);
            let planned = AnyScheme::new(scheme, slice.hashes).planned_fpp(slice.bits, slice.items);
            prop_assert!(planned <= peaked_fpp(full.target(), full.tightening(), full.peak(), number));
        }
        survives!(ScalableBloom, full, &b);
    }

    #[test]
    fn dynamic_filters_keep_the_laws(filter in dynamics(), a in keys(), b in keys()) {
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        counts_agree(filter.clone(), &a, &b);
        counts_are_never_too_small(filter.clone(), &a, (1 << filter.width()) - 1);
        batches_insert_alike(filter.clone(), &a, |f, digests, new| f.insert_digests(digests, new).unwrap());
        batches_insert_in_order(&filter.clone().into(), &a);
        storing_interrupts_nothing(with_secret(filter.clone()), &a, &b);
        let mut full = filter;
        full.insert_many(&a).unwrap();
        prop_assert_eq!(full.items(), a.len() as u64);
        prop_assert_eq!(full.layers().count(), a.len().div_ceil(full.capacity() as usize).max(1));
        survives!(DynamicBloom, full, &b);
    }

    /// Keys go in once, and come out where that is certain: those that are in are always found,
    /// whatever happens to the others, and layers fill up again.
    #[test]
    fn dynamic_filters_lose_no_key_by_removals(
        (cells, hashes, capacity) in (30u64..400, 1u32..6, 1u64..30),
        steps in proptest::collection::vec((any::<u8>(), 0u8..9), 0..400),
    ) {
        let builder = DynamicBloom::builder().cells(cells).hashes(hashes).items(capacity).width(8);
        let mut filter = builder.build().unwrap();
        let mut model = std::collections::HashSet::new();
        for (key, what) in steps {
            let before = filter.clone();
            if what == 8 {
                let given = filter.compact();
                prop_assert_eq!(filter.layers().count() + given, before.layers().count());
                let layers: Vec<_> = filter.layers().collect();
                for (i, one) in layers.iter().enumerate() {
                    prop_assert!(layers[i + 1..].iter().all(|other| one + other > capacity));
                }
            } else if what > 3 {
                if model.insert(key) {
                    filter.insert(key).unwrap();
                }
            } else if model.contains(&key) {
                match filter.remove(key) {
                    Ok(()) => _ = model.remove(&key),
                    Err(error) => {
                        prop_assert_eq!(error, RemoveError::Ambiguous);
                        prop_assert!(filter.layers().count() > 1 && filter.count(key) > 1);
                        prop_assert_eq!(&filter, &before);
                    }
                }
            }
            prop_assert_eq!(filter.items(), model.len() as u64);
            prop_assert!(filter.layers().all(|items| items <= capacity));
            prop_assert!(model.iter().all(|key| filter.contains(*key)));
        }
    }
}

#[test]
fn a_key_fits_a_cuckoo_filter_eight_times() {
    let mut bed = Cuckoo::new(1_000, 0.01).unwrap();
    (0..8).for_each(|copies| assert_eq!((bed.count("rose"), bed.insert("rose")), (copies, Ok(copies == 0))));
    let before = bed.clone();
    assert_eq!(bed.insert("rose").map_err(parts), Err((0, true)));
    assert_eq!(bed.insert_many(&["tulip", "rose", "lily"]).map_err(parts), Err((1, true)));
    assert!(bed.contains("tulip") && !bed.contains("lily") && bed != before);
    bed.remove("tulip").unwrap();
    assert_eq!(bed, before);
    let mut any = AnyFilter::from(bed.clone());
    let [rose, lily] = [any.hasher().digest(b"rose"), any.hasher().digest(b"lily")];
    let mut new = [false; 3];
    let refused = any.insert_digests(&[lily, rose, lily], &mut new);
    assert!(matches!(refused, Err(InsertError::Full(full)) if parts(full) == (1, true)));
    assert_eq!((new, any.as_count().unwrap().count_digest(lily)), ([true, false, false], 1));
    (0..8).for_each(|_| bed.remove("rose").unwrap());
    assert_eq!((bed.remove("rose"), bed.items()), (Err(RemoveError::Absent), 0));
}

#[test]
fn a_full_cuckoo_filter_has_all_its_keys_and_not_a_bit_more() {
    for width in [4, 7, 12, 16, 17, 25, 32] {
        let mut bed = Cuckoo::builder().cells(20_000).width(width).seed(width.into()).build().unwrap();
        let digests: Vec<Digest> = (0..20_000).map(|i| Digest(Digest(7).word(i))).collect();
        let mut new = vec![false; digests.len()];
        let full = bed.insert_digests(&digests, &mut new).unwrap_err();
        assert_eq!(parts(full), (bed.items(), false));
        assert!(bed.fill() >= 0.95, "width {width}: full at {}", bed.fill());
        let (inside, rest) = digests.split_at(full.taken as usize);
        assert!(inside.iter().all(|digest| bed.contains_digest(*digest)));
        assert!(new[inside.len()..].iter().all(|new| !new));
        // Some more may still fit; whatever does not leaves every byte as it is.
        let mut failed = 0;
        for digest in &rest[..200] {
            let before = bed.to_bytes().unwrap();
            if bed.insert_digest(*digest).is_err() {
                failed += 1;
                assert!(bed.to_bytes().unwrap() == before);
            }
        }
        assert!(failed > 0);
        inside.iter().for_each(|digest| bed.remove_digest(*digest).unwrap());
        assert!(bed.items() < 200);
    }
}

#[test]
fn sequential_and_equal_ends_of_keys_find_their_room() {
    // Keys that a weak hash would put side by side; as many as the filter was planned for.
    let patterns: [fn(u64) -> u64; 4] = [|i| i, |i| i << 32, |i| i << 48 | i, |i| i.reverse_bits()];
    for pattern in patterns {
        let keys: Vec<u64> = (0..50_000).map(pattern).collect();
        let (mut cuckoo, mut scalable) =
            (Cuckoo::new(50_000, 0.01).unwrap(), ScalableBloom::new(0.01).unwrap());
        let mut dynamic = DynamicBloom::new(10_000, 0.01).unwrap();
        cuckoo.insert_many(&keys).unwrap();
        scalable.insert_many(&keys).unwrap();
        dynamic.insert_many(&keys).unwrap();
        let found =
            [cuckoo.contains_many(&keys), scalable.contains_many(&keys), dynamic.contains_many(&keys)];
        assert!(found.iter().flatten().all(|found| *found));
    }
}

#[test]
fn cuckoo_filters_take_what_they_were_sized_for() {
    for items in [1u64, 2, 7, 8, 9, 10, 15, 20, 33, 50, 100, 500, 5_000] {
        for seed in 0..(200_000 / items).min(3_000) {
            let mut bed = Cuckoo::builder().items(items).fpp(0.02).seed(seed).build().unwrap();
            let keys: Vec<u64> = (0..items).collect();
            assert!(bed.insert_many(&keys).is_ok(), "{items} keys, seed {seed}: full at {}", bed.items());
        }
    }
}

#[test]
fn parameters_that_cannot_be_are_typed_errors() {
    let cuckoo = |change: fn(gardenia::Builder<gardenia::Cuckoo>) -> gardenia::Builder<gardenia::Cuckoo>| {
        change(Cuckoo::builder()).build().unwrap_err()
    };
    assert_eq!(cuckoo(|b| b.items(0).fpp(0.1)), SizeError::ZeroItems);
    assert_eq!(cuckoo(|b| b.items(0).width(8)), SizeError::ZeroItems);
    assert_eq!(cuckoo(|b| b.cells(0).width(8)), SizeError::ZeroCells);
    assert_eq!(cuckoo(|b| b.cells(8).width(3)), SizeError::Width { width: 3 });
    assert_eq!(cuckoo(|b| b.cells(8).width(33)), SizeError::Width { width: 33 });
    assert_eq!(cuckoo(|b| b.items(9).fpp(1.0)), SizeError::Fpp(1.0));
    assert!(matches!(cuckoo(|b| b.items(9).fpp(f64::NAN)), SizeError::Fpp(_)));
    assert!(matches!(cuckoo(|b| b.items(9).fpp(1e-12)), SizeError::FppBelowFloor { .. }));
    assert!(matches!(cuckoo(|b| b.items(1 << 50).fpp(0.1)), SizeError::TooManyCells { .. }));
    assert!(matches!(cuckoo(|b| b.cells(u64::MAX).width(8)), SizeError::TooManyCells { .. }));
    assert!(matches!(cuckoo(|b| b.items(u64::MAX).width(8)), SizeError::TooManyCells { .. }));
    assert!(matches!(cuckoo(|b| b.items(9)), SizeError::Conflict(_)));
    assert!(matches!(cuckoo(|b| b.items(9).fpp(0.1).cells(80)), SizeError::Conflict(_)));

    let scalable = |change: fn(
        gardenia::Builder<gardenia::ScalableBloom>,
    ) -> gardenia::Builder<gardenia::ScalableBloom>| {
        change(ScalableBloom::builder()).build().unwrap_err()
    };
    assert!(matches!(scalable(|b| b), SizeError::Conflict(_)));
    assert_eq!(scalable(|b| b.fpp(0.0)), SizeError::Fpp(0.0));
    assert_eq!(scalable(|b| b.fpp(0.1).items(0)), SizeError::ZeroItems);
    for tightening in [0.0, 1.0, 1.5, -0.5, f64::NAN, f64::INFINITY] {
        let builder = ScalableBloom::builder().fpp(0.1).tightening(tightening);
        assert!(builder.build().unwrap_err().to_string().contains("tightening"));
    }
    assert!(scalable(|b| b.fpp(0.1).growth(0)).to_string().contains("growth"));
    assert!(scalable(|b| b.fpp(0.1).growth(32_769)).to_string().contains("growth"));
    assert!(scalable(|b| b.fpp(0.1).peak(64)).to_string().contains("highest rate"));
    assert!(matches!(scalable(|b| b.fpp(0.1).items(1 << 50)), SizeError::TooManyCells { .. }));
    assert!(matches!(scalable(|b| b.fpp(1e-300)), SizeError::FppBelowFloor { .. }));

    let dynamic = |change: fn(
        gardenia::Builder<gardenia::DynamicBloom>,
    ) -> gardenia::Builder<gardenia::DynamicBloom>| {
        change(DynamicBloom::builder()).build().unwrap_err()
    };
    assert!(matches!(dynamic(|b| b), SizeError::Conflict(_)));
    assert_eq!(dynamic(|b| b.items(0).fpp(0.1)), SizeError::ZeroItems);
    assert_eq!(dynamic(|b| b.fpp(2.0)), SizeError::Fpp(2.0));
    assert_eq!(dynamic(|b| b.fpp(0.1).width(0)), SizeError::Width { width: 0 });
}

#[test]
fn a_scalable_filter_that_cannot_grow_says_so_and_keeps_what_it_has() {
    // The rate of the second slice is below what 64-bit digests can promise.
    let mut bed = ScalableBloom::builder().fpp(0.01).tightening(1e-30).items(100).build().unwrap();
    let keys: Vec<u32> = (0..200).collect();
    let full = bed.insert_many(&keys).unwrap_err();
    assert!((100..110).contains(&full.taken), "{}", full.taken); // a few may be passed over
    assert_eq!(bed.items(), 100);
    assert!(keys[..full.taken as usize].iter().all(|key| bed.contains(*key)));
    let before = bed.to_bytes().unwrap();
    assert_eq!(Insert::insert_digest(&mut bed, Digest(77)).map_err(parts), Err((0, false)));
    assert_eq!(bed.to_bytes().unwrap(), before);
}

#[test]
fn a_stuck_cell_and_two_claims_stop_a_removal() {
    let mut bed = DynamicBloom::builder().cells(1).hashes(1).items(20).width(4).build().unwrap();
    (0..15).for_each(|_| _ = bed.insert("rose").unwrap());
    assert_eq!(bed.remove("rose"), Err(RemoveError::Stuck));
    (0..6).for_each(|_| _ = bed.insert("rose").unwrap());
    assert_eq!(
        (bed.layers().collect::<Vec<_>>(), bed.remove("rose")),
        (vec![20, 1], Err(RemoveError::Ambiguous))
    );
    let mut any = AnyFilter::from(bed);
    let digest = any.hasher().digest(b"rose");
    assert_eq!(any.remove_digest(digest), Some(Err(RemoveError::Ambiguous)));
    assert!(any.can(Ability::Remove) && any.as_count().unwrap().count_digest(digest) == 16);
    assert_eq!(DynamicBloom::new(9, 0.1).unwrap().remove("rose"), Err(RemoveError::Absent));
}

/// A file with words of the header (by offset, 8 bytes each) changed, and the header's sum put
/// right.
fn changed(bytes: &[u8], changes: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, value) in changes {
        bytes[*at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = 104 + field(80) + field(84);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
    bytes[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Each of the changes is refused, by loading and by viewing.
fn refused(good: &[u8], all: &[&[(usize, u64)]]) {
    assert!(AnyFilter::from_bytes(&changed(good, &[])).is_ok());
    for changes in all {
        let bad = changed(good, changes);
        assert!(AnyFilter::from_bytes(&bad).is_err(), "{changes:x?}");
        assert!(AnyFilter::view(&bad).is_err(), "{changes:x?}");
    }
}

#[test]
fn hostile_headers_are_refused() {
    const HASHES: usize = 16; // with hasher, scheme and flags before it
    const CELLS: usize = 32;
    const WIDTH: usize = 40;
    const LENGTH: usize = 48;
    const ITEMS: usize = 72;
    const PARAMS: usize = 104;
    let mut cuckoo = Cuckoo::builder().cells(80).width(9).build().unwrap();
    cuckoo.insert_many(&[1, 2, 3]).unwrap();
    let good = cuckoo.to_bytes().unwrap();
    let one: &[&[(usize, u64)]] = &[
        &[(HASHES, 1 | 3 << 32)],
        &[(HASHES, 1 | 10 << 8 | 2 << 32)],
        &[(CELLS, 84)],
        &[(CELLS, 88)],
        &[(CELLS, 1 << 40)],
        &[(CELLS, 1 << 40), (LENGTH, 9 << 37)],
        &[(WIDTH, 3)],
        &[(WIDTH, 33)],
        &[(WIDTH, 8)],
        &[(WIDTH, 64)],
        &[(ITEMS, 81)],
        &[(ITEMS, u64::MAX)],
        &[(LENGTH, 96)],
    ];
    refused(&good, one);
    // Fewer items than there are fingerprints: found when the payload is read.
    let damaged = changed(&good, &[(ITEMS, 2)]);
    assert!(matches!(Cuckoo::from_bytes(&damaged), Err(DecodeError::Damaged(_))));
    assert!(Cuckoo::view(&damaged).is_ok_and(|view| view.contains(1)));

    let mut scalable = ScalableBloom::builder().fpp(0.05).items(10).build().unwrap();
    scalable.insert_many(&(0..25).collect::<Vec<u32>>()).unwrap();
    assert_eq!(scalable.slices().count(), 2);
    let good = scalable.to_bytes().unwrap();
    let items = scalable.items();
    let slice = |number: usize, field: usize| PARAMS + 32 + 24 * number + 8 * field;
    let nan = f64::NAN.to_bits();
    refused(
        &good,
        &[
            &[(PARAMS, nan)],
            &[(PARAMS, 0)],
            &[(PARAMS, 1f64.to_bits())],
            &[(PARAMS + 8, nan)],
            &[(PARAMS + 8, 1f64.to_bits())],
            &[(PARAMS + 8, (-0.5f64).to_bits())],
            &[(PARAMS + 16, 1)],
            &[(PARAMS + 16, 32_769)],
            &[(PARAMS + 16, 2 | 64 << 32)],
            &[(PARAMS + 24, 0)],
            &[(PARAMS + 24, 11)],
            &[(PARAMS + 24, u64::MAX)],
            &[(slice(0, 0), 0)],
            &[(slice(0, 0), u64::MAX)],
            &[(slice(0, 1), 0)],
            &[(slice(0, 1), 256)],
            &[(slice(0, 1), 1 << 32 | 7)],
            &[(slice(0, 2), 9), (ITEMS, items - 1)],
            &[(slice(1, 0), 1 << 40)],
            &[(slice(1, 0), 64 * 9)],
            &[(slice(1, 0), u64::MAX)],
            &[(slice(1, 1), 0)],
            &[(slice(1, 2), 21), (ITEMS, 31)],
            &[(slice(1, 2), u64::MAX), (ITEMS, u64::MAX)],
            &[(ITEMS, items + 1)],
            &[(CELLS, scalable.bits())],
            &[(WIDTH, 2)],
            &[(HASHES, 1 | 10 << 8 | 1 << 32)],
            &[(LENGTH, 8)],
        ],
    );
    // Items that a slice of so few bits cannot have taken: the next slice would be sized for them.
    let bits = scalable.slices().next().unwrap().bits;
    refused(&good, &[&[(PARAMS + 24, bits + 1), (slice(0, 2), bits + 1), (ITEMS, items - 10 + bits + 1)]]);

    let mut dynamic = DynamicBloom::builder().cells(99).hashes(3).items(10).build().unwrap();
    dynamic.insert_many(&(0..25).collect::<Vec<u32>>()).unwrap();
    let good = dynamic.to_bytes().unwrap();
    refused(
        &good,
        &[
            &[(PARAMS, 0)],
            &[(PARAMS, 9)],
            &[(PARAMS + 8, 11), (ITEMS, 26)],
            &[(PARAMS + 24, 6)],
            &[(PARAMS + 8, u64::MAX), (PARAMS, u64::MAX), (ITEMS, 14)],
            &[(ITEMS, 24)],
            &[(CELLS, 98 + 16)],
            &[(CELLS, 128)],
            &[(CELLS, 1 << 40)],
            &[(WIDTH, 0)],
            &[(WIDTH, 33)],
            &[(LENGTH, 8)],
            &[(HASHES, 1 | 3 << 32)],
            &[(HASHES, 1 | 10 << 8)],
        ],
    );
}

#[test]
fn layers_and_slices_of_a_wrong_number_are_refused() {
    // Params cut short by a word, or grown by one, with the padding that hides it.
    for good in [
        ScalableBloom::new(0.1).unwrap().to_bytes().unwrap(),
        DynamicBloom::new(10, 0.1).unwrap().to_bytes().unwrap(),
        Cuckoo::new(10, 0.1).unwrap().to_bytes().unwrap(),
    ] {
        let params = u32::from_le_bytes(good[80..84].try_into().unwrap());
        for new in [0, 8, params.saturating_sub(8), params + 1, params + 4] {
            if new == params {
                continue;
            }
            let payload = (112 + params as usize).next_multiple_of(64);
            let mut bad = good[..104].to_vec();
            bad[80..84].copy_from_slice(&new.to_le_bytes());
            bad[12..16].copy_from_slice(&(112 + new).to_le_bytes());
            bad.extend_from_slice(&good[104..104 + new.min(params) as usize]);
            bad.resize(104 + new as usize, 0);
            let sum = xxhash_rust::xxh3::xxh3_64(&bad);
            bad.extend_from_slice(&sum.to_le_bytes());
            bad.resize(bad.len().next_multiple_of(64), 0);
            bad.extend_from_slice(&good[payload..]);
            let error = AnyFilter::from_bytes(&bad).unwrap_err();
            assert!(matches!(error, DecodeError::Field { .. }), "{new} bytes: {error}");
        }
    }
}
