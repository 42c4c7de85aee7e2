//! Golomb-coded sets, compressed Bloom filters and BIP 158: laws, sizes and rates against theory,
//! public test vectors.

use crate::common::*;
use crate::interop_files::hex;
use gardenia::format::bip158::{BasicFilter, block_key};
use gardenia::index::{AnyScheme, SchemeId};
use gardenia::theory::{compressed, golomb};
use gardenia::{
    Ability, AnyFilter, Bloom, CompressedBloom, Digest, Filter, GolombSet, InsertError, KeyHasher,
    ReadOptions, SecretKey, format,
};
use proptest::prelude::*;
use std::collections::HashSet;

/// How a set is built: any rate, both codes, short and long runs, both hashers.
fn golomb_builders() -> impl Strategy<Value = gardenia::Builder<gardenia::GolombSet>> {
    let rates = prop_oneof![Just(0.9), Just(0.5), 0.001f64..0.5, Just(1e-6), Just(1e-15)];
    (rates, any::<bool>(), proptest::option::of(1u32..40), any::<u64>(), any::<bool>()).prop_map(
        |(fpp, rice, run, seed, keyed)| {
            let secret = SecretKey::new((u128::from(seed) << 7).to_le_bytes());
            let hasher = if keyed { KeyHasher::sip13(secret) } else { KeyHasher::xxh3(seed) };
            let builder = GolombSet::builder().fpp(fpp).hasher(hasher);
            let builder = if rice { builder.rice() } else { builder };
            run.map_or(builder.clone(), |run| builder.gaps_per_run(run))
        },
    )
}

fn compressed_blooms() -> impl Strategy<Value = CompressedBloom<AnyScheme>> {
    let shapes = prop_oneof![(1u64..100, 1u32..5), (1_000u64..20_000, 1u32..8), Just((150_000, 2))];
    (shapes, proptest::sample::select(SchemeId::ALL.to_vec()), any::<u64>()).prop_map(
        |((bits, hashes), scheme, seed)| {
            let builder = CompressedBloom::builder().bits(bits).hashes(hashes).seed(seed);
            builder.scheme(move |hashes| AnyScheme::new(scheme, hashes)).build().unwrap()
        },
    )
}

/// The numbers that a set is built of, by its definition.
fn scaled(digest: Digest, range: u64) -> u64 {
    ((u128::from(digest.0) * u128::from(range)) >> 64) as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_golomb_set_answers_as_the_set_of_its_numbers(builder in golomb_builders(), a in keys(), b in keys()) {
        let doubled = [&a[..], &a[..a.len() / 2]].concat();
        let set = builder.build_from(&doubled).unwrap();
        let known = digests(&set, &a);
        prop_assert_eq!(set.items(), known.iter().collect::<HashSet<_>>().len() as u64);
        let numbers: HashSet<u64> = known.iter().map(|digest| scaled(*digest, set.range())).collect();
        prop_assert_eq!(set.values(), numbers.len() as u64);
        // Other keys, and neighbours of known numbers.
        let near = known.iter().flat_map(|digest| {
            let step = u64::MAX / set.range();
            [Digest(digest.0.wrapping_add(step)), Digest(digest.0.wrapping_sub(step)), Digest(digest.0 ^ 1)]
        });
        let probes: Vec<Digest> = known.iter().copied().chain(digests(&set, &b)).chain(near).collect();
        let mut answers = vec![false; probes.len()];
        set.contains_digests(&probes, &mut answers);
        for (digest, answer) in probes.iter().zip(answers) {
            let model = numbers.contains(&scaled(*digest, set.range()));
            prop_assert_eq!((set.contains_digest(*digest), answer), (model, model));
        }
        for probes in [&probes[probes.len() / 2..], &digests(&set, &b), &known] {
            let model = probes.iter().any(|digest| set.contains_digest(*digest));
            prop_assert_eq!(set.contains_any_digest(probes.to_vec()), model);
        }
        prop_assert_eq!(set.contains_many(&a), vec![true; a.len()]);
        prop_assert_eq!(set.contains_any(&a), !a.is_empty());
    }

    #[test]
    fn a_golomb_set_survives_encoding(builder in golomb_builders(), a in keys(), b in keys()) {
        let mut set = builder.build_from(&a).unwrap();
        set.about_mut().store_secret(true);
        let bytes = set.to_bytes().unwrap();
        let (copy, view) = (GolombSet::from_bytes(&bytes).unwrap(), GolombSet::view(&bytes).unwrap());
        prop_assert!(copy == set && view == set && view.try_to_owned().unwrap() == set);
        prop_assert_eq!(view.contains_many(&b), set.contains_many(&b));
        prop_assert_eq!(view.contains_many(&a), vec![true; a.len()]);
        let mut any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        prop_assert_eq!(any.estimated_items().unwrap().items, set.items() as f64);
        prop_assert!(!any.can(Ability::Insert) && !any.can(Ability::Remove) && any.as_count().is_none());
        prop_assert_eq!(any.insert_digests(&[Digest(1)], &mut [false]), Err(InsertError::Fixed));
        prop_assert_eq!(any.remove_digest(Digest(1)), None);
        prop_assert_eq!(any.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn a_compressed_filter_keeps_the_laws_of_a_bloom_filter(filter in compressed_blooms(), a in keys(), b in keys()) {
        inserted_keys_are_found(filter.clone(), &a);
        batches_agree(filter.clone(), &a, &b);
        merge_is_insertion_of_both(filter.clone(), &a, &b);
        batches_insert_alike(filter.clone(), &a, |filter, digests, new| filter.insert_digests(digests, new));
        let any = AnyFilter::from(filter.clone());
        batches_insert_in_order(&any, &a);
        storing_interrupts_nothing(any, &a, &b);
        let mut bloom: Bloom<AnyScheme> = filter.clone().into_bloom();
        bloom.extend(&a);
        let mut filter = filter;
        filter.extend(&a);
        prop_assert!(bloom == *filter.as_bloom());
        prop_assert_eq!(bloom.contains_many(&b), filter.contains_many(&b));
    }

    #[test]
    fn a_compressed_filter_survives_encoding(filter in compressed_blooms(), a in keys()) {
        let mut filter = filter;
        filter.extend(&a);
        let bytes = filter.to_bytes().unwrap();
        let copy = CompressedBloom::from_bytes_as::<AnyScheme>(&bytes, &ReadOptions::new()).unwrap();
        prop_assert_eq!(&copy, &filter);
        prop_assert_eq!(copy.to_bytes().unwrap(), &bytes[..]);
        // A view of a coded payload is a decoded copy.
        let view = AnyFilter::view(&bytes).unwrap();
        prop_assert_eq!(view.to_bytes().unwrap(), &bytes[..]);
        prop_assert!(digests(&view, &a).iter().all(|digest| view.contains_digest(*digest)));
        prop_assert_eq!(AnyFilter::read_from(&bytes[..]).unwrap().to_bytes().unwrap(), &bytes[..]);
    }
}

/// `count` digests from a seed.
fn drawn(seed: u64, count: u32) -> Vec<Digest> {
    (1..=count).map(|i| Digest(Digest(seed).word(i))).collect()
}

#[test]
fn golomb_sets_are_as_long_as_theory_says() {
    for (count, fpp) in [(100_000, 0.01), (100_000, 1e-6), (200_000, 0.3), (1_000_000, 0.001)] {
        for rice in [false, true] {
            let builder = GolombSet::builder().fpp(fpp);
            let builder = if rice { builder.rice() } else { builder };
            let set = builder.build_from_digests(drawn(7, count)).unwrap();
            let mean = set.range() as f64 / set.values() as f64;
            let expected = set.values() as f64 * golomb::bits(mean, set.divisor());
            // A quotient is geometric: its standard deviation is √θᵇ/(1 − θᵇ); the remainder adds half a bit at most. Gaps
            // add up to the range, which only lessens the variance.
            let theta = (1.0 - 1.0 / mean).powf(set.divisor() as f64);
            let deviation = (set.values() as f64).sqrt() * (theta.sqrt() / (1.0 - theta) + 0.5);
            let code = set.code_bits() as f64;
            assert!(
                (code - expected).abs() < 5.0 * deviation,
                "{fpp} {rice}: {code} {expected} ± {deviation}"
            );
            assert!((code / expected - 1.0).abs() < 0.01);
            // All that is in memory, against what was asked for.
            let keys = golomb::expected_values(count.into(), set.range());
            let divisor = if rice { golomb::rice_divisor(1.0 / fpp) } else { golomb::divisor(1.0 / fpp) };
            let formula = keys * golomb::bits(set.range() as f64 / keys, divisor);
            let all = set.memory_bytes() as f64 * 8.0;
            assert!((all / formula - 1.0).abs() < 0.01, "{fpp} {rice}: {all} {formula}");
            assert!(set.index_bits() as f64 <= 0.01 * code, "{} {code}", set.index_bits());
            if !rice {
                assert!(code < set.values() as f64 * (golomb::entropy(mean) + 0.05), "above the entropy");
            }
        }
    }
}

#[test]
fn golomb_sets_err_as_often_as_asked() {
    for (count, fpp, probes) in [(20_000, 0.01, 1_000_000), (5_000, 0.3, 200_000), (50_000, 1e-3, 1_000_000)]
    {
        let set = GolombSet::builder().fpp(fpp).build_from_digests(drawn(1, count)).unwrap();
        let absent = drawn(2, probes);
        let mut answers = vec![false; absent.len()];
        set.contains_digests(&absent, &mut answers);
        let found = answers.iter().filter(|answer| **answer).count() as f64;
        let mean = f64::from(probes) * set.fpp();
        assert!((found - mean).abs() < 5.0 * (mean * (1.0 - set.fpp())).sqrt(), "{fpp}: {found} of {mean}");
        assert!(set.fpp() <= fpp, "{} above {fpp}", set.fpp());
    }
}

#[test]
fn compressed_filters_reproduce_the_papers_points() {
    // Mitzenmacher 2002: bits per key in memory, hashes, bits per key sent, false positives.
    for (memory, hashes, wire, fpp) in [
        (8.0, 6, 7.98, 0.0216),
        (14.0, 2, 7.923, 0.0177),
        (92.0, 1, 7.923, 0.0108),
        (28.0, 4, 15.846, 3.14e-4),
        (48.0, 3, 15.829, 2.22e-4),
    ] {
        let (items, probes) = (100_000u32, 1_000_000u32);
        let allowed = f64::ceil(wire - 0.1);
        let mut filter = CompressedBloom::new(items.into(), allowed, memory).unwrap();
        assert_eq!((filter.hashes(), filter.bits()), (hashes, (memory * 1e5) as u64));
        filter.extend((0..items).map(u64::from));
        let bytes = filter.to_bytes().unwrap();
        let sent = format::header(&bytes[..]).unwrap().payload_len as f64 * 8.0;
        assert!((sent / (wire * f64::from(items)) - 1.0).abs() < 0.01, "{memory}: {sent}");
        assert!(
            sent <= filter.expected_wire_bits() * 1.0005 + 256.0,
            "{sent}: {}",
            filter.expected_wire_bits()
        );
        assert!(sent <= allowed * f64::from(items) * 1.002);
        let absent: Vec<u64> = (1u64 << 32..).take(probes as usize).collect();
        let found = filter.contains_many(&absent).into_iter().filter(|found| *found).count() as f64;
        // The printed value has three digits, and the fill of one filter varies by a few in a thousand.
        let mean = f64::from(probes) * fpp;
        assert!((found - mean).abs() < 5.0 * mean.sqrt() + 0.01 * mean, "{memory}: {found} of {mean}");
        let plan = compressed::plan(allowed, memory).unwrap();
        assert!((filter.fpp() / plan.fpp - 1.0).abs() < 0.03, "{} {plan:?}", filter.fpp());
    }
}

#[test]
fn a_compressed_filter_errs_less_than_a_plain_one_for_the_same_bytes_sent() {
    let keys: Vec<u64> = (0..50_000).collect();
    let [mut plain, mut coded] = [8.0, 92.0].map(|memory| CompressedBloom::new(50_000, 8.0, memory).unwrap());
    plain.insert_many(&keys);
    coded.insert_many(&keys);
    assert!(coded.to_bytes().unwrap().len() < plain.to_bytes().unwrap().len());
    let absent: Vec<u64> = (1 << 40..(1 << 40) + 500_000).collect();
    let [plain, coded] =
        [plain, coded].map(|filter| filter.contains_many(&absent).into_iter().filter(|x| *x).count());
    assert!(coded * 10 < plain * 6, "{coded} and {plain} of 500,000");
}

#[test]
fn the_public_vectors_of_bip_158_pass() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../data/bip158.json")).unwrap();
    let blocks = vectors["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 5);
    for block in blocks {
        let text = |field: &str| block[field].as_str().unwrap();
        let mut hash: [u8; 32] = hex(text("block_hash")).try_into().unwrap();
        hash.reverse(); // printed the other way round
        let key = block_key(&hash);
        assert_eq!(key[..], hex(text("siphash_key")));
        let elements: Vec<Vec<u8>> =
            block["elements"].as_array().unwrap().iter().map(|e| hex(e.as_str().unwrap())).collect();
        let bytes = hex(text("filter"));
        let built = BasicFilter::build(key, elements.iter().rev().chain(&elements));
        assert_eq!(built.as_bytes(), bytes, "block {}", block["height"]);
        let read = BasicFilter::from_bytes(key, &bytes).unwrap();
        assert_eq!(read, built);
        assert_eq!(read.items(), elements.len() as u64);
        assert!(elements.iter().all(|element| read.contains(element)));
        let others: Vec<[u8; 9]> = (0..50u8).map(|i| [i; 9]).collect();
        assert!(!others.iter().any(|other| read.contains(other)) && !read.contains_any(&others));
        let last = elements.last().unwrap();
        assert!(read.contains_any(others.iter().map(|other| &other[..]).chain([&last[..]])));
        // Under another key the same bytes say something else.
        assert!(!BasicFilter::from_bytes([0; 16], &bytes).unwrap().contains_any(&elements));
    }
}
