//! The ribbon filter: what it promises, its size, and how often it errs.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, reason = "the mapped files are the test's own")]

use gardenia::simd::Level;
use gardenia::{
    Ability, AnyFilter, BuildError, Builder, Digest, Filter, Hashed, InsertError, KeyHasher, ReadOptions,
    Ribbon, SecretKey, SizeError, theory,
};
use proptest::prelude::*;

/// Digests of a stream of keys.
fn digests(stream: u64, count: u32) -> Vec<Digest> {
    (1..=count).map(|i| Digest(Digest(stream).word(i))).collect()
}

fn found(set: &Ribbon, digests: &[Digest]) -> u64 {
    let mut answers = vec![false; digests.len()];
    set.contains_digests(digests, &mut answers);
    answers.into_iter().map(u64::from).sum()
}

/// A rate, or bits of the fingerprint.
fn builders() -> impl Strategy<Value = Builder<Ribbon>> {
    prop_oneof![
        (1u32..=32).prop_map(|bits| Ribbon::builder().fingerprint(bits)),
        (0.01f64..31.9).prop_map(|bits| Ribbon::builder().fpp((-bits).exp2())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_key_is_lost_and_all_ways_to_ask_agree(
        builder in builders(),
        seed in any::<u64>(),
        keyed in any::<bool>(),
        keys in crate::common::keys(),
        many in prop_oneof![4 => 0u64..1000, 1 => 2000u64..5000],
        probes in crate::common::keys(),
    ) {
        let secret = SecretKey::new((u128::from(seed) << 7).to_le_bytes());
        let hasher = if keyed { KeyHasher::sip13(secret) } else { KeyHasher::xxh3(seed) };
        let keys = [keys, (0..many).map(|key| key.to_le_bytes().to_vec()).collect()].concat();
        let mut set = builder.hasher(hasher).build_from(&keys).unwrap();
        prop_assert!(keys.iter().all(|key| set.contains(key)));
        let different: std::collections::HashSet<_> = keys.iter().collect();
        prop_assert_eq!(set.items(), different.len() as u64);
        prop_assert_eq!(set.estimated_items().items, different.len() as f64);

        // Batches answer as single calls, with all instructions, and files as filters.
        let probes = [keys, probes].concat();
        let answers: Vec<bool> = probes.iter().map(|key| set.contains(key)).collect();
        for level in Level::available() {
            let set = set.clone().with_level(level);
            prop_assert_eq!(&set.contains_many(&probes), &answers);
            prop_assert!(probes.iter().zip(&answers).all(|(key, answer)| set.contains(key) == *answer));
        }
        set.about_mut().store_secret(true);
        let bytes = set.to_bytes().unwrap();
        let copy = Ribbon::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&copy, &set);
        prop_assert_eq!((copy.items(), copy.fpp(), copy.slots()), (set.items(), set.fpp(), set.slots()));
        prop_assert_eq!(copy.to_bytes().unwrap(), &bytes[..]);
        let view = Ribbon::view(&bytes).unwrap();
        prop_assert!(view == set);
        prop_assert_eq!(&view.contains_many(&probes), &answers);
        prop_assert_eq!(view.to_bytes().unwrap(), &bytes[..]);
        let mut any = AnyFilter::from_bytes(&bytes).unwrap();
        prop_assert_eq!((any.kind().name(), any.can(Ability::Remove), any.fill()), ("ribbon", false, set.fill()));
        prop_assert_eq!(any.insert_digests(&[Digest(1)], &mut [false]), Err(InsertError::Fixed));
        prop_assert!(any.remove_digest(any.hasher().digest(b"")).is_none() && any.as_count().is_none());
        prop_assert_eq!(any.to_bytes().unwrap(), &bytes[..]);
        let any = AnyFilter::view_with(&bytes, &ReadOptions::new()).unwrap();
        prop_assert_eq!(probes.iter().map(|key| any.contains_digest(any.hasher().digest(key))).collect::<Vec<_>>(), answers);
    }

    #[test]
    fn order_repeats_threads_and_instructions_do_not_change_a_bit(
        bits in 1u32..=12, count in prop_oneof![0u32..3000, 100_000u32..220_000], threads in 2usize..5, seed in any::<u64>(),
    ) {
        let keys = digests(seed, count);
        let builder = Ribbon::builder().fingerprint(bits);
        let set = builder.clone().build_from_digests(&keys).unwrap();
        prop_assert_eq!(found(&set, &keys), u64::from(count));
        let mut other = keys.clone();
        other.reverse();
        other.extend(&keys[..keys.len() / 3]);
        for level in Level::available() {
            // Without its own instructions a level is slow where tests are not optimised.
            if count < 3000 || level > Level::Portable {
                let again = builder.clone().threads(threads).level(level).build_from_digests(&other).unwrap();
                prop_assert!(again == set, "{:?}", level);
                prop_assert_eq!(again.to_bytes().unwrap(), set.to_bytes().unwrap());
            }
        }
    }
}

#[test]
fn a_million_keys_take_at_most_a_hundredth_more_than_the_least() {
    let keys = digests(11, 1_000_000);
    for bits in [1, 2, 3, 4, 5, 8, 12, 32] {
        let set = Ribbon::builder().fingerprint(bits).build_from_digests(&keys).unwrap();
        let ratio = set.memory_bytes() as f64 * 8.0 / (1e6 * f64::from(bits));
        assert!(ratio > 1.0 && ratio <= 1.01, "{bits} bits: {ratio} times the least");
        assert_eq!(found(&set, &keys), 1_000_000, "a key of {bits} bits was lost");
        let expected = theory::ribbon::bits_per_key(theory::ribbon::Bits { width: bits, share: 1.0 });
        assert!((ratio * f64::from(bits) / expected - 1.0).abs() < 0.001, "{bits} bits: {expected} expected");
    }
    // One in a hundred: 6.72 bits where 6.64 are the least, and 7 would be whole.
    let set = Ribbon::builder().fpp(0.01).build_from_digests(&keys).unwrap();
    let bits = set.memory_bytes() as f64 * 8.0 / 1e6;
    assert!((6.72..6.77).contains(&bits) && set.fpp() <= 0.01, "{bits} bits for {}", set.fpp());
}

#[test]
fn absent_keys_are_found_as_often_as_the_bits_say() {
    for (count, fpp, trials) in [
        (1, 0.1, 200), // the last layer only
        (100, 0.01, 100),
        (2_000, 0.5, 20),
        (2_500, 0.25, 20), // rows of 128, two layers
        (5_000, 0.7, 10),
        (5_000, 0.3, 10),
        (5_000, 1.0 / 16.0, 10),
        (20_000, 0.04, 5),
        (60_000, 1.0 / 128.0, 4), // one segment, three layers
        (300_000, 0.01, 2),       // several segments, mixed widths
        (300_000, 1.0 / 1024.0, 2),
    ] {
        let (mut hits, mut asked, mut told) = (0, 0.0, 0.0);
        for trial in 0..trials {
            let set = Ribbon::builder().fpp(fpp).build_from_digests(&digests(trial, count)).unwrap();
            assert!(set.fpp() <= fpp && set.fpp() > 0.0, "{} for {fpp}", set.fpp());
            // Blocks are whole, so that few keys cannot have exactly the share of bits that is asked for.
            assert!(count < 5_000 || set.fpp() > 0.97 * fpp, "{} for {fpp}", set.fpp());
            told += set.fpp() / trials as f64;
            hits += found(&set, &digests(trial ^ 0xab5e_4700_0000_0000, 100_000));
            asked += 100_000.0;
        }
        let (rate, error) = (hits as f64 / asked, (told * (1.0 - told) / asked).sqrt());
        assert!((rate - told).abs() < 5.0 * error, "{count} keys: {rate}, not {told} ± {error}");
    }
}

#[test]
fn each_bit_of_the_fingerprint_halves_the_rate_whichever_layer_answers() {
    // Of keys that were bumped only: their answers come from a later layer.
    let keys = digests(5, 100_000);
    let probes = digests(6, 4_000_000);
    let mut before = probes.len() as f64;
    for bits in 4..=9 {
        let set = Ribbon::builder().fingerprint(bits).build_from_digests(&keys).unwrap();
        let hits = found(&set, &probes) as f64;
        let expected = probes.len() as f64 * set.fpp();
        assert!((hits - expected).abs() < 5.0 * expected.sqrt(), "{bits} bits: {hits}, not {expected}");
        assert!(hits < before);
        before = hits;
    }
}

#[test]
fn digests_that_were_chosen_to_meet_are_found_too() {
    let sets: [(&str, Vec<Digest>); 6] = [
        ("one digest", vec![Digest(7); 100_000]),
        ("in sequence", (0..100_000).map(Digest).collect()),
        ("in the highest bits", (0..100_000).map(|i| Digest(i << 47)).collect()),
        ("one start", (0..5_000).map(|i| Digest((0xabcd_ef01 << 32) + i * i)).collect()),
        (
            "the ends",
            [(0..3_000).map(Digest), (u64::MAX - 3_000..u64::MAX).map(Digest)]
                .into_iter()
                .flatten()
                .collect(),
        ),
        ("multiples", (0..70_000u64).map(|i| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()),
    ];
    for (name, keys) in sets {
        for bits in [2, 8] {
            let set = Ribbon::builder().fingerprint(bits).build_from_digests(&keys).unwrap();
            assert_eq!(found(&set, &keys), keys.len() as u64, "{name}");
            assert!(keys.iter().all(|digest| set.contains_digest(*digest)), "{name}");
            let different: std::collections::HashSet<_> = keys.iter().collect();
            assert_eq!(set.items(), different.len() as u64);
            // Other words of the digests are spread, so that even those take few slots more than there are keys.
            let slots = different.len() as f64 * 1.3 + 400.0;
            assert!((set.slots() as f64) < slots, "{name}: {} slots for {}", set.slots(), set.items());
        }
    }
}

#[test]
fn no_keys_and_one_key_are_sets_too() {
    for bits in [1, 8, 32] {
        let builder = Ribbon::builder().fingerprint(bits);
        let none = builder.clone().build_from::<u64>(&[]).unwrap();
        assert_eq!((none.items(), none.fpp(), found(&none, &digests(1, 10_000))), (0, 0.0, 0));
        assert!((0..1000).all(|key| !none.contains(key)) && none.fill() == 0.0);
        let copy = Ribbon::from_bytes(&none.to_bytes().unwrap()).unwrap();
        assert!(copy == none && !copy.contains("rose"));
        let one = builder.build_from(&["rose"; 3]).unwrap();
        assert_eq!((one.items(), one.contains("rose")), (1, true));
        assert!(one.memory_bytes() <= 32 * 4 * 8);
    }
}

#[test]
fn wishes_that_cannot_be_met_are_errors() {
    let build = |builder: Builder<Ribbon>| match builder.build_from(&[1, 2, 3]) {
        Err(BuildError::Size(error)) => error,
        other => panic!("a wish of the size was to be refused: {:?}", other.map(|_| ())),
    };
    let builder = Ribbon::builder;
    for fpp in [0.0, 1.0, -0.1, f64::INFINITY] {
        assert_eq!(build(builder().fpp(fpp)), SizeError::Fpp(fpp));
    }
    assert!(matches!(build(builder().fpp(f64::NAN)), SizeError::Fpp(_)));
    assert_eq!(build(builder().fpp(1e-10)), SizeError::Width { width: 33 });
    assert_eq!(build(builder().fingerprint(0)), SizeError::Width { width: 0 });
    assert_eq!(build(builder().fingerprint(33)), SizeError::Width { width: 33 });
    assert!(matches!(build(builder()), SizeError::Conflict(_)));
    assert!(matches!(build(builder().fpp(0.1).fingerprint(3)), SizeError::Conflict(_)));
    assert!(builder().fpp(0.1).threads(0).build_from(&[1]).is_ok());
    // Keys whose bytes are not portable cannot be stored.
    assert!(builder().fpp(0.1).build_from(&[Hashed(&1)]).unwrap().to_bytes().is_err());
}

#[cfg(feature = "mmap")]
#[test]
fn a_saved_set_answers_the_same_loaded_and_mapped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bed.gdn");
    let keys: Vec<u32> = (0..700_000).collect(); // above one core's cache: batches fetch ahead
    let probes: Vec<u32> = (600_000..900_000).collect();
    for fpp in [0.3, 0.003] {
        let set = Ribbon::new(&keys, fpp).unwrap();
        set.save(&path).unwrap();
        let (loaded, mapped) = (Ribbon::load(&path).unwrap(), unsafe { Ribbon::open_mapped(&path) }.unwrap());
        assert!(loaded == set && mapped == set);
        let answers: Vec<bool> = probes.iter().map(|key| set.contains(key)).collect();
        assert!(set.contains_many(&probes) == answers && mapped.contains_many(&probes) == answers);
        let any = unsafe { AnyFilter::open_mapped(&path) }.unwrap();
        assert!(any.contains_digest(any.hasher().digest(&7u64.to_le_bytes())));
    }
}
