//! What libbf, the library behind Vallentin's article, got wrong: each a test here, for every
//! filter it concerns.
//!
//! Its bitwise filter on plain bits is in `bitwise_rates.rs`, recurring minimum without a marker in
//! `spectral_rates.rs`; that minimum increase has no removal is a `compile_fail` example of
//! `SpectralBloom`.

use gardenia::filter::{MinimumIncrease, RecurringMinimum};
use gardenia::{
    A2Bloom, Ability, AnyFilter, BitwiseBloom, BlockedBloom, Bloom, CountingBloom, Digest, Filter, KeyHasher,
    RemoveError, SpectralBloom, StableBloom,
};

/// A filter of every kind, for this many keys at a very low rate.
fn every_kind(items: u64, seed: u64) -> Vec<AnyFilter> {
    let fpp = 1e-9;
    let scheme = |hashes| gardenia::index::AnyScheme::new(gardenia::index::SchemeId::Fractional, hashes);
    let spectral = || SpectralBloom::builder().items(items).fpp(fpp).seed(seed);
    vec![
        Bloom::builder().items(items).fpp(fpp).seed(seed).scheme(scheme).build().unwrap().into(),
        BlockedBloom::builder().items(items).fpp(fpp).seed(seed).build().unwrap().into(),
        CountingBloom::builder().items(items).fpp(fpp).seed(seed).build().unwrap().into(),
        spectral().build().unwrap().into(),
        spectral().policy(MinimumIncrease).build().unwrap().into(),
        spectral().policy(RecurringMinimum).build().unwrap().into(),
        BitwiseBloom::builder().items(items).fpp(fpp).seed(seed).build().unwrap().into(),
        A2Bloom::builder().items(items).fpp(fpp).seed(seed).build().unwrap().into(),
        StableBloom::builder().cells(1_000_000).hashes(7).decrements(1).seed(seed).build().unwrap().into(),
    ]
}

fn insert(filter: &mut AnyFilter, key: &[u8]) {
    let digest = filter.hasher().digest(key);
    filter.insert_digests(&[digest], &mut [false]).unwrap();
}

fn contains(filter: &AnyFilter, key: &[u8]) -> bool {
    filter.contains_digest(filter.hasher().digest(key))
}

#[test]
fn keys_over_36_bytes_are_told_apart() {
    for mut filter in every_kind(100, 0) {
        let key = |last: u8| [&[b'x'; 99][..], &[last]].concat();
        insert(&mut filter, &key(0));
        assert!(contains(&filter, &key(0)), "{filter:?}");
        assert!(!contains(&filter, &key(1)), "{filter:?}");
        assert!(!contains(&filter, &key(0)[..36]), "{filter:?}");
    }
}

#[test]
fn trailing_nul_bytes_are_part_of_a_key() {
    for mut filter in every_kind(100, 0) {
        insert(&mut filter, b"rose");
        for other in [&b"rose\0"[..], b"rose\0\0", b"\0rose", b"ros"] {
            assert!(!contains(&filter, other), "{other:?} in {filter:?}");
        }
    }
}

#[test]
fn seeds_0_and_1_are_different_functions() {
    assert_ne!(KeyHasher::xxh3(0).digest(b"rose"), KeyHasher::xxh3(1).digest(b"rose"));
    for (mut zero, one) in every_kind(100, 0).into_iter().zip(every_kind(100, 1)) {
        insert(&mut zero, b"rose");
        // A filter of the other seed looks for the same key in other cells.
        assert!(!zero.contains_digest(one.hasher().digest(b"rose")), "{zero:?}");
        assert_ne!(zero.identity().mark, one.identity().mark);
    }
}

#[test]
fn a_moved_filter_keeps_its_keys() {
    for mut filter in every_kind(100, 0) {
        (0..100u32).for_each(|key| insert(&mut filter, &key.to_le_bytes()));
        let moved = Box::new(filter);
        let mut many = vec![*moved];
        many.reserve(1000); // moves it again
        assert!((0..100u32).all(|key| contains(&many[0], &key.to_le_bytes())), "{:?}", many[0]);
    }
}

#[test]
fn taking_out_what_is_not_in_never_wraps_a_cell() {
    for mut filter in every_kind(100, 0).into_iter().filter(|filter| filter.can(Ability::Remove)) {
        let before = filter.to_bytes().unwrap();
        for key in 0..10_000u32 {
            let digest = filter.hasher().digest(&key.to_le_bytes());
            assert_eq!(filter.remove_digest(digest), Some(Err(RemoveError::Absent)), "{filter:?}");
        }
        assert_eq!(filter.to_bytes().unwrap(), before);
        assert!(!filter.contains_digest(Digest(7)));
    }
}

#[test]
fn an_empty_stable_filter_that_ages_stays_empty_but_for_its_key() {
    // Lowered below zero, cells would be at their top: then everything is found.
    let mut filter = StableBloom::builder().cells(1000).hashes(3).decrements(500).build().unwrap();
    (0..100).for_each(|_| _ = filter.insert("rose"));
    assert_eq!(filter.fill(), 0.003);
    assert!(filter.contains("rose") && !filter.contains("thistle"));
}

#[test]
fn an_a2_filter_that_was_cleared_has_its_whole_window_again() {
    let mut filter = A2Bloom::new(100, 1e-9).unwrap();
    filter.extend(0..150u32);
    filter.clear();
    filter.extend(0..100u32);
    assert!((0..100u32).all(|key| filter.contains(key)));
    assert_eq!(filter.active_items(), 100);
}
