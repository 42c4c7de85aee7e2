//! Frozen values: whatever is stored must mean the same for ever, and the same as other programs
//! make of it.
//!
//! The tables and files under `data/` were written by `data/make_golden.py`, which shares no code
//! with this crate; the hash values in them come from the reference libraries behind the Python
//! packages.

use gardenia::cells::CellKind;
use gardenia::filter::{BitwiseLevel, ChoiceForm, Clearing, Effort, PolicyId, Update};
use gardenia::index::{AnyScheme, Form, Scheme, SchemeId};
use gardenia::simd::Level;
use gardenia::theory::distance::DistanceShape;
use gardenia::{
    A2Bloom, AnyFilter, BinaryFuse, BitwiseBloom, BlockedBloom, Bloom, Bloomier, Builder, ChoiceBloom,
    CountMin, CountSketch, CountingBloom, Cuckoo, Digest, DistanceSensitiveBloom, DynamicBloom, Filter,
    InfiniFilter, KeyHasher, RangeCountMin, ReadOptions, RetouchedBloom, Ribbon, ScalableBlocked,
    ScalableBloom, SecretKey, SpectralBloom, SplitBlockBloom, StableBloom, Top,
};

fn secret() -> SecretKey {
    SecretKey::new(core::array::from_fn(|i| i as u8))
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

#[test]
fn hashers_agree_with_other_implementations() {
    let mut count = 0;
    for row in rows(include_str!("../data/hashes.tsv")) {
        let pairs = row[0].as_bytes().chunks(2).filter(|pair| pair.len() == 2);
        let key: Vec<u8> =
            pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
        let hashers = [
            KeyHasher::xxh3(0),
            KeyHasher::xxh3(1),
            KeyHasher::xxh3(u64::MAX),
            KeyHasher::sip13(secret()),
            KeyHasher::Fnv1,
            KeyHasher::xxh64(0),
            KeyHasher::xxh64(1),
        ];
        for (hasher, expected) in hashers.iter().zip(&row[1..]) {
            assert_eq!(hasher.digest(&key), Digest(hex(expected)), "{hasher:?} of {}", row[0]);
            count += 1;
        }
    }
    assert_eq!(count, 91);
}

#[test]
fn derived_words_are_those_of_javas_splittable_random() {
    // new java.util.SplittableRandom(seed).nextLong(), three times, on OpenJDK 17
    let expected = [
        (0, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]),
        (1, [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67, 0xf893_a2ee_fb32_555e]),
        (0x0123_4567_89ab_cdef, [0x157a_3807_a48f_aa9d, 0xd573_529b_34a1_d093, 0x2f90_b72e_996d_ccbe]),
    ];
    for (seed, words) in expected {
        assert_eq!(Digest(seed).word(0), seed);
        assert_eq!([1, 2, 3].map(|i| Digest(seed).word(i)), words);
    }
}

#[test]
fn schemes_choose_the_specified_positions() {
    let mut count = 0;
    for row in rows(include_str!("../data/positions.tsv")) {
        let id = SchemeId::from_number(row[0].parse().unwrap()).unwrap();
        let (cells, hashes): (u64, u32) = (row[2].parse().unwrap(), row[3].parse().unwrap());
        let scheme = AnyScheme::new(id, hashes);
        let expected: Vec<u64> = row[4].split(',').map(|at| at.parse().unwrap()).collect();
        let found: Vec<u64> = scheme.positions(Digest(hex(row[1])), cells).collect();
        assert_eq!(found, expected, "{} with m = {cells}", id.name());
        assert_eq!(scheme.fit(cells), cells);
        count += 1;
    }
    assert!(count > 400, "{count} rows");
}

/// Keys in the example files: text, nothing, a zero byte, UTF-8, and the integer −1.
fn check_answers(filter: &AnyFilter) {
    let (rose, minus_one) = (b"rose".as_slice(), (-1i64).to_le_bytes());
    for key in [rose, b"tulip", b"", b"\0", "Gänseblümchen".as_bytes(), &minus_one] {
        assert!(filter.contains_digest(filter.hasher().digest(key)), "{key:?}");
    }
    let absent =
        (0..1000u32).filter(|i| filter.contains_digest(filter.hasher().digest(&i.to_le_bytes()))).count();
    assert!(absent < 40, "{absent} of 1000 absent keys found"); // at most 1.4 % is expected of any of the files
}

#[test]
fn files_of_version_1_load_for_ever_and_are_written_alike() {
    let plain = ReadOptions::new;
    let files: [(&[u8], ReadOptions); 33] = [
        (include_bytes!("../data/bloom.gdn"), plain()),
        (include_bytes!("../data/bloom-dcso.gdn"), plain()),
        (include_bytes!("../data/bloom-double.gdn"), plain()),
        (include_bytes!("../data/bloom-keyed.gdn"), plain().secret(secret())),
        (include_bytes!("../data/bloom-keyed-stored.gdn"), plain()),
        (include_bytes!("../data/blocked.gdn"), plain()),
        (include_bytes!("../data/blocked-two-bits.gdn"), plain()),
        (include_bytes!("../data/sbbf.gdn"), plain()),
        (include_bytes!("../data/sbbf-xxh64.gdn"), plain()),
        (include_bytes!("../data/counting.gdn"), plain()),
        (include_bytes!("../data/counting-wide.gdn"), plain()),
        (include_bytes!("../data/bitwise.gdn"), plain()),
        (include_bytes!("../data/bitwise-placed.gdn"), plain()),
        (include_bytes!("../data/stable.gdn"), plain()),
        (include_bytes!("../data/stable-drawn.gdn"), plain()),
        (include_bytes!("../data/a2.gdn"), plain()),
        (include_bytes!("../data/spectral.gdn"), plain()),
        (include_bytes!("../data/spectral-increase.gdn"), plain()),
        (include_bytes!("../data/spectral-recurring.gdn"), plain()),
        (include_bytes!("../data/spectral-recurring-bare.gdn"), plain()),
        (include_bytes!("../data/spectral-recurring-printed.gdn"), plain()),
        (include_bytes!("../data/spectral-compact.gdn"), plain()),
        (include_bytes!("../data/spectral-compact-plain.gdn"), plain()),
        (include_bytes!("../data/choice.gdn"), plain()),
        (include_bytes!("../data/choice-one-by-one.gdn"), plain()),
        (include_bytes!("../data/choice-partitioned.gdn"), plain()),
        (include_bytes!("../data/ribbon.gdn"), plain()),
        (include_bytes!("../data/ribbon-bumped.gdn"), plain()),
        (include_bytes!("../data/fuse.gdn"), plain()),
        (include_bytes!("../data/fuse-four.gdn"), plain()),
        (include_bytes!("../data/fuse-wide.gdn"), plain()),
        (include_bytes!("../data/bloomier.gdn"), plain()),
        (include_bytes!("../data/bloomier-mutable.gdn"), plain()),
    ];
    for (bytes, options) in files {
        let filter = AnyFilter::from_bytes_with(bytes, &options).unwrap();
        check_answers(&filter);
        assert_eq!(filter.to_bytes().unwrap(), bytes);
    }
}

#[test]
fn a_filter_made_here_equals_the_one_made_elsewhere() {
    let mut filter = Bloom::builder().bits(1000).hashes(7).build().unwrap();
    filter.extend(["rose", "tulip", "", "\0", "Gänseblümchen"]);
    filter.insert(-1);
    assert_eq!(filter, Bloom::from_bytes(include_bytes!("../data/bloom.gdn")).unwrap());

    let files: [(&[u8], u64, u32, u64); 2] = [
        (include_bytes!("../data/blocked.gdn"), 20, 6, 0),
        (include_bytes!("../data/blocked-two-bits.gdn"), 70, 13, 3),
    ];
    for (bytes, blocks, hashes, seed) in files {
        for level in Level::available() {
            let filter =
                BlockedBloom::builder().bits(blocks * 512).hashes(hashes).seed(seed).build().unwrap();
            let mut filter = filter.with_level(level);
            filter.extend(["rose", "tulip", "", "\0", "Gänseblümchen"]);
            filter.extend(-1..990);
            assert_eq!(filter, BlockedBloom::from_bytes(bytes).unwrap());
        }
    }

    let files: [(&[u8], u64, KeyHasher); 2] = [
        (include_bytes!("../data/sbbf.gdn"), 43, KeyHasher::xxh3(5)),
        (include_bytes!("../data/sbbf-xxh64.gdn"), 64, KeyHasher::xxh64(0)),
    ];
    for (bytes, blocks, hasher) in files {
        for level in Level::available() {
            let filter =
                SplitBlockBloom::builder().bits(blocks * 256).hasher(hasher.clone()).build().unwrap();
            let mut filter = filter.with_level(level);
            filter.extend(["rose", "tulip", "", "\0", "Gänseblümchen"]);
            filter.extend(-1..990);
            assert_eq!(filter, SplitBlockBloom::from_bytes(bytes).unwrap());
        }
    }
}

#[test]
fn a_counting_filter_made_here_equals_the_one_made_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"];
    let mut filter = CountingBloom::builder().cells(10_000).hashes(7).build().unwrap();
    (0..21).for_each(|_| filter.extend(["rose", "tulip"]));
    (0..2).for_each(|_| filter.extend(&flowers[2..]));
    filter.extend(["rose", "tulip"]);
    filter.extend([-1, -1]);
    filter.extend(0..990);
    assert_eq!(filter, CountingBloom::from_bytes(include_bytes!("../data/counting.gdn")).unwrap());
    assert_eq!((filter.count("rose"), filter.count("")), (15, 2)); // four bits end at 15

    let builder = CountingBloom::builder().cells(10_000).hashes(7).width(11).seed(5);
    let mut filter = builder.scheme(SchemeId::Partition).build().unwrap();
    flowers[..3].iter().for_each(|flower| assert_eq!(filter.insert_times(*flower, 1000), Ok(true)));
    filter.extend(flowers);
    filter.extend(-1..990);
    assert_eq!(filter, CountingBloom::from_bytes(include_bytes!("../data/counting-wide.gdn")).unwrap());
    assert_eq!((filter.cells(), filter.count("rose")), (10_003, 1001));
}

/// Keys and weights in the example files of sketches.
fn weights() -> Vec<(Vec<u8>, u64)> {
    let mut flowers: Vec<Vec<u8>> =
        ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|key| key.into()).to_vec();
    flowers.push((-1i64).to_le_bytes().to_vec());
    let numbers = (0..990i64).map(|n| n.to_le_bytes().to_vec());
    let often: Vec<_> = flowers.iter().cloned().zip(1..).map(|(key, i)| (key, 10u64.pow(i))).collect();
    flowers.into_iter().chain(numbers).map(|key| (key, 1)).chain(often).collect()
}

#[test]
fn a_sketch_made_here_equals_the_one_made_elsewhere() {
    let make = CountMin::builder;
    let files: [(&[u8], Builder<CountMin>); 4] = [
        (include_bytes!("../data/count-min.gdn"), make().columns(272).rows(4)),
        (
            include_bytes!("../data/count-min-wide.gdn"),
            make()
                .columns(200)
                .rows(3)
                .form(Form::Modified)
                .update(Update::Conservative)
                .cells(CellKind::Fixed64)
                .seed(7),
        ),
        (
            include_bytes!("../data/count-min-merging.gdn"),
            make()
                .columns(492)
                .rows(3)
                .copies(2)
                .form(Form::Modified)
                .update(Update::Conservative)
                .cells(CellKind::Merging4)
                .seed(9),
        ),
        (
            include_bytes!("../data/count-min-merging-sum.gdn"),
            make().columns(700).rows(3).cells(CellKind::Merging8).secret(secret()),
        ),
    ];
    for (bytes, builder) in files {
        let (mut sketch, elsewhere) = (builder.build().unwrap(), CountMin::from_bytes(bytes).unwrap());
        weights().into_iter().for_each(|(key, weight)| _ = sketch.add(key, weight));
        assert_eq!(sketch, elsewhere);
        assert_eq!(AnyFilter::from_bytes(bytes).unwrap().to_bytes().unwrap(), bytes);
        assert!(sketch.count("rose") >= 11 && sketch.count(-1) >= 1_000_001 && sketch.total() == 1_112_106);
    }
    let mut sketch = CountSketch::builder().columns(101).rows(5).seed(4).build().unwrap();
    for (i, (key, weight)) in weights().into_iter().enumerate() {
        sketch.add(key, if i < 500 { weight as i64 } else { -(weight as i64) });
    }
    let bytes = include_bytes!("../data/count-sketch.gdn");
    assert_eq!(sketch, CountSketch::from_bytes(bytes).unwrap());
    assert_eq!(sketch.to_bytes().unwrap(), bytes);
    assert!((sketch.count(-1) + 999_999).abs() < 20_000, "{}", sketch.count(-1)); // others add up to 111,000 at most
}

#[test]
fn tables_of_frequent_keys_made_here_equal_those_made_elsewhere() {
    let make = CountMin::builder;
    let table = make().columns(61).rows(3).form(Form::Modified).update(Update::Conservative);
    let files: [(&[u8], usize, Builder<CountMin>, usize); 2] = [
        (include_bytes!("../data/top.gdn"), 20, table.cells(CellKind::Merging8).seed(5), 20),
        (include_bytes!("../data/top-exact.gdn"), 300, make().columns(10).rows(2).secret(secret()), 73),
    ];
    for (bytes, slots, builder, candidates) in files {
        let mut top = Top::with_slots(slots, builder.build().unwrap()).unwrap();
        for i in 0..2000usize {
            top.update(&vec![b'.'; i * i % 97 * (i % 3)][..], 1 + i as u64 % 4);
        }
        let elsewhere = Top::from_bytes(bytes).unwrap();
        assert!(top == elsewhere, "{top:?}, {elsewhere:?}");
        assert_eq!(elsewhere.to_bytes().unwrap(), bytes);
        assert_eq!((top.top(usize::MAX).len(), top.total()), (candidates, 5000));
    }
    let mut ranges = RangeCountMin::with_seed(20, 0.5, 0.3, 7).unwrap();
    (0..500).for_each(|i| ranges.add(Digest(i).word(1) >> 44, 1 + i % 3).unwrap());
    let bytes = include_bytes!("../data/range-count-min.gdn");
    assert_eq!(ranges, RangeCountMin::from_bytes(bytes).unwrap());
    assert_eq!(ranges.to_bytes().unwrap(), bytes);
}

#[test]
fn a_bitwise_filter_made_here_equals_the_one_made_elsewhere() {
    let counts = [("rose", 1000), ("tulip", 5), ("", 16), ("\0", 1), ("Gänseblümchen", 37)];
    let minus_one = [(-1, 255)];
    let mut filter = BitwiseBloom::builder().cells(12_000).hashes(5).digit(2).seed(7).build().unwrap();
    for (key, count) in counts {
        filter.extend(std::iter::repeat_n(key, count as usize));
    }
    filter.extend(std::iter::repeat_n(-1, 255));
    filter.extend(["rose", "tulip", "", "\0", "Gänseblümchen"]);
    filter.extend(-1..990);
    let bytes = include_bytes!("../data/bitwise.gdn");
    assert_eq!(filter, BitwiseBloom::from_bytes(bytes).unwrap());
    assert_eq!(filter.to_bytes().unwrap(), bytes);
    let sizes: Vec<_> = filter.levels().map(|level| level.cells).collect();
    assert_eq!((filter.count("rose"), sizes), (1001, vec![12_000, 6_000, 3_000, 1_500, 1_024]));

    let level = |(cells, hashes, digit, width)| BitwiseLevel { cells, hashes, digit, width };
    let levels = [(999, 3, 3, 6), (300, 5, 1, 5), (400, 4, 6, 9)].map(level);
    let builder = BitwiseBloom::builder().levels(&levels).scheme(SchemeId::Double).share(1.0).max_levels(3);
    let mut filter = builder.clone().from_counts(counts).unwrap();
    // Where no key shares all its cells, insertion comes to the same.
    assert_eq!(filter.insert_times(-1, 255), Ok(true));
    let placed = include_bytes!("../data/bitwise-placed.gdn");
    assert_eq!(filter, BitwiseBloom::from_bytes(placed).unwrap());
    assert_eq!(filter.to_bytes().unwrap(), placed);
    assert_eq!(builder.from_counts(minus_one).unwrap().count(-1), 255);
}

#[test]
fn filters_with_choices_made_here_equal_those_made_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"];
    let builder = ChoiceBloom::builder().bits(16_001).hashes(11).choices(3).seed(7);
    let builder = builder.scheme(move |k| AnyScheme::new(SchemeId::Independent, k));
    let mut filter = builder.build().unwrap();
    filter.extend(flowers);
    filter.extend(-1..990);
    filter.extend(flowers);
    filter.insert(-1);
    let bytes = include_bytes!("../data/choice.gdn");
    let loaded = ChoiceBloom::from_bytes_as::<AnyScheme>(bytes, &ReadOptions::new()).unwrap();
    assert_eq!(filter, loaded);
    assert_eq!(filter.to_bytes().unwrap(), bytes);

    // The first of offline rounds is the online pass.
    let mut filter = ChoiceBloom::builder().bits(16_000).hashes(12).build().unwrap();
    filter.extend(flowers);
    filter.extend(-1..990);
    let bytes = include_bytes!("../data/choice-one-by-one.gdn");
    assert_eq!(filter, ChoiceBloom::from_bytes(bytes).unwrap());
    assert_eq!(filter.to_bytes().unwrap(), bytes);
    let hasher = KeyHasher::default();
    let keys =
        flowers.iter().map(|key| hasher.digest_key(key)).chain((-1..990).map(|key| hasher.digest_key(&key)));
    let rounds = ChoiceBloom::builder().bits(16_000).hashes(12).effort(Effort::Rounds);
    let mut rounds = rounds.offline(keys.collect()).unwrap();
    rounds.improve(1);
    assert_eq!(rounds.filter(), &filter);
}

#[test]
fn a_partitioned_filter_made_elsewhere_answers_here_as_there() {
    // Which of equal sets a partition takes is chance: the table is the other program's, the answers must agree.
    let filter = ChoiceBloom::from_bytes(include_bytes!("../data/choice-partitioned.gdn")).unwrap();
    assert_eq!((filter.form(), filter.cells()), (ChoiceForm::Partitions { partitions: 48 }, 1664));
    let mut inserted: Vec<Digest> = (0..194).map(|key| filter.hasher().digest_key(&key)).collect();
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"];
    inserted.extend(flowers.iter().map(|key| filter.hasher().digest_key(key)));
    inserted.push(filter.hasher().digest_key(&-1));
    // All are found, and nobody else's bits are set: inserting them again changes nothing.
    let mut again = filter.clone();
    for digest in &inserted {
        assert!(filter.contains_digest(*digest));
        assert!(!again.insert_digest(*digest));
    }
    assert_eq!((filter.estimated_items().items, &again), (200.0, &filter));
    // What is built here from the same keys is about as full: both pick the best of 256 sets.
    let builder = ChoiceBloom::builder().bits(2048).hashes(7).seed(3).effort(Effort::Partitioned);
    let mut offline = builder.offline(inserted).unwrap();
    offline.improve(2);
    assert_eq!(offline.filter().form(), filter.form());
    assert!(
        (offline.filter().fill() - filter.fill()).abs() < 0.02,
        "{} {}",
        offline.filter().fill(),
        filter.fill()
    );
}

#[test]
fn streams_leave_the_same_filters_here_and_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"];
    let builder = StableBloom::builder().cells(1009).hashes(5).width(3).decrements(61).seed(5);
    let builder = builder.aging_seed(0x0123_4567_89ab_cdef);
    let files: [(_, &[u8]); 2] = [
        (builder.clone(), include_bytes!("../data/stable.gdn")),
        (builder.drawn(), include_bytes!("../data/stable-drawn.gdn")),
    ];
    for (builder, file) in files {
        let mut filter = builder.build().unwrap();
        filter.extend(0..990);
        filter.extend(flowers);
        filter.insert(-1);
        assert_eq!(filter, StableBloom::from_bytes(file).unwrap());
    }

    let mut filter = A2Bloom::builder().bits(2 * 2999).hashes(8).items(256).build().unwrap();
    filter.extend((0..990).chain(700..800));
    filter.extend(flowers);
    filter.insert(-1);
    assert_eq!(filter, A2Bloom::from_bytes(include_bytes!("../data/a2.gdn")).unwrap());
}

#[test]
fn a_spectral_filter_made_here_equals_the_one_made_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|flower| flower.as_bytes().to_vec());
    let keys: Vec<Vec<u8>> =
        flowers.into_iter().chain((-1..990i64).map(|key| key.to_le_bytes().to_vec())).collect();
    let first = keys.iter().enumerate().map(|(i, key)| (key, 1 + (i * i % 50) as u64));
    let entries: Vec<(&Vec<u8>, u64)> = first.chain(keys.iter().step_by(3).map(|key| (key, 3))).collect();
    let check = |bytes: &[u8],
                 builder: gardenia::Builder<gardenia::SpectralBloom<PolicyId>>,
                 entries: &[(&Vec<u8>, u64)]| {
        let mut filter = builder.build().unwrap();
        entries.iter().for_each(|(key, times)| _ = filter.insert_times(key, *times).unwrap());
        let stored = SpectralBloom::from_bytes_as::<PolicyId>(bytes, &ReadOptions::new()).unwrap();
        assert!(filter == stored, "{filter:?}");
        assert_eq!(filter.to_bytes().unwrap(), bytes);
        let view = SpectralBloom::view_as::<PolicyId>(bytes, &ReadOptions::new()).unwrap();
        assert_eq!(view.count_many(&keys), filter.count_many(&keys));
    };
    let [selection, increase, recurring] = PolicyId::ALL;
    let make = |policy, cells, hashes| SpectralBloom::builder().cells(cells).hashes(hashes).policy(policy);
    check(include_bytes!("../data/spectral.gdn"), make(selection, 9000, 7).width(12), &entries);
    let other = make(increase, 10_007, 6).width(16).seed(5).scheme(SchemeId::Double);
    check(include_bytes!("../data/spectral-increase.gdn"), other, &entries);
    check(include_bytes!("../data/spectral-recurring.gdn"), make(recurring, 9000, 7).width(12), &entries);
    let bare = make(recurring, 9000, 7).width(12).secondary_cells(3001).secondary_hashes(5).marker(false);
    check(include_bytes!("../data/spectral-recurring-bare.gdn"), bare.scheme(SchemeId::Enhanced), &entries);
    let printed = make(recurring, 9000, 7).width(12).secondary_cells(3008).secondary_hashes(5).as_printed();
    let printed = printed.scheme(SchemeId::DoubleOdd);
    check(include_bytes!("../data/spectral-recurring-printed.gdn"), printed, &entries);
    let often = [&entries[..], &[(&keys[0], 5_000_000)]].concat();
    check(include_bytes!("../data/spectral-compact.gdn"), make(recurring, 9000, 7).compact(), &often);
    let few = make(increase, 20_000, 7).seed(9).compact();
    check(include_bytes!("../data/spectral-compact-plain.gdn"), few, &entries[..6]);
}

#[test]
fn relatives_made_here_equal_those_made_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|flower| flower.as_bytes().to_vec());
    let numbers = (-1..54i64).map(|key| key.to_le_bytes().to_vec());
    let elements: Vec<Vec<u8>> = flowers.into_iter().chain(numbers).collect();
    let mut bed = Bloom::builder().bits(300).hashes(3).seed(2).build().unwrap();
    bed.extend(&elements);
    let filter =
        RetouchedBloom::selective(bed, &elements, &[2004, 2013, 2035, 2124], Clearing::Ratio, 77).unwrap();
    let bytes = include_bytes!("../data/retouched.gdn");
    assert_eq!(filter, RetouchedBloom::from_bytes(bytes).unwrap());
    assert_eq!(filter.to_bytes().unwrap(), bytes);

    let shape = DistanceShape { functions: 7, samples: 3, bits: 101, threshold: 4 };
    let mut sets = DistanceSensitiveBloom::jaccard().shape(shape).seed(6).build().unwrap();
    for tokens in [&["rose", "tulip", "daisy"][..], &["tulip"], &["nettle", "thistle", "rose", "rose"]] {
        sets.insert_tokens(tokens).unwrap();
    }
    let bytes = include_bytes!("../data/distance-jaccard.gdn");
    assert_eq!(sets, DistanceSensitiveBloom::from_bytes(bytes).unwrap());
    assert_eq!(sets.to_bytes().unwrap(), bytes);

    let shape = DistanceShape { functions: 9, samples: 11, bits: 77, threshold: 5 };
    let mut points = DistanceSensitiveBloom::hamming(157).shape(shape).seed(8).build().unwrap();
    for first in [0, 40] {
        points.insert_bits(&(first..first + 20).collect::<Vec<u8>>()).unwrap();
    }
    let bytes = include_bytes!("../data/distance-hamming.gdn");
    assert_eq!(points, DistanceSensitiveBloom::from_bytes(bytes).unwrap());
    assert_eq!(points.to_bytes().unwrap(), bytes);

    let mut keyed = DistanceSensitiveBloom::hamming(157).shape(shape).secret(secret()).build().unwrap();
    for first in [0, 40] {
        keyed.insert_bits(&(first..first + 20).collect::<Vec<u8>>()).unwrap();
    }
    let bytes = include_bytes!("../data/distance-hamming-keyed.gdn");
    let options = ReadOptions::new().secret(secret());
    assert_eq!(keyed, DistanceSensitiveBloom::from_bytes_with(bytes, &options).unwrap());
    assert_eq!(keyed.to_bytes().unwrap(), bytes);
}

#[test]
fn filters_of_fingerprints_and_filters_that_grow_are_the_same_here_and_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|flower| flower.as_bytes().to_vec());
    let keys: Vec<Vec<u8>> =
        flowers.into_iter().chain((-1..990i64).map(|key| key.to_le_bytes().to_vec())).collect();
    let same = |bytes: &[u8]| {
        let filter = AnyFilter::from_bytes(bytes).unwrap();
        check_answers(&filter);
        assert_eq!(filter.to_bytes().unwrap(), bytes);
    };

    let files: [(&[u8], u64, u32, u64); 2] = [
        (include_bytes!("../data/cuckoo.gdn"), 1048, 9, 0),
        (include_bytes!("../data/cuckoo-wide.gdn"), 1040, 19, 3),
    ];
    for (bytes, cells, width, seed) in files {
        let mut filter = Cuckoo::builder().cells(cells).width(width).seed(seed).build().unwrap();
        filter.insert_many(&keys).unwrap();
        assert_eq!(filter, Cuckoo::from_bytes(bytes).unwrap());
        same(bytes);
    }

    let bytes = include_bytes!("../data/infini.gdn");
    let mut filter = InfiniFilter::builder().fpp(0.01).seed(7).build().unwrap();
    filter.insert_many(&(0..9_000u32).collect::<Vec<_>>()).unwrap();
    (0..3_000u32).step_by(7).for_each(|key| filter.remove(key).unwrap());
    assert_eq!(filter, InfiniFilter::from_bytes(bytes).unwrap());
    assert_eq!(filter.to_bytes().unwrap(), bytes);

    let bytes = include_bytes!("../data/infini-wide.gdn");
    let mut filter = InfiniFilter::builder().fpp(1e-6).items(600).max(5_000).build().unwrap();
    filter.insert_many(&[&keys[..], &keys[..50]].concat()).unwrap();
    keys[50..100].iter().for_each(|key| filter.remove(key).unwrap());
    assert_eq!(filter, InfiniFilter::from_bytes(bytes).unwrap());
    assert_eq!(filter.to_bytes().unwrap(), bytes);

    let bytes = include_bytes!("../data/scalable-blocked.gdn");
    same(bytes);
    // Shapes are for the writer to choose. So the bits are those of blocked filters of the shapes stored, with keys that go where
    // docs/formats.md says.
    let filter = ScalableBlocked::from_bytes(bytes).unwrap();
    let blocked = |bits, hashes| BlockedBloom::builder().bits(bits).hashes(hashes).seed(6).build().unwrap();
    let mut slices: Vec<_> = filter.slices().map(|slice| (blocked(slice.bits, slice.hashes), 0)).collect();
    let mut last = 0;
    for key in &keys {
        if slices[..=last].iter().any(|(slice, _)| slice.contains(key)) {
            continue;
        }
        last += usize::from(slices[last].1 == 150 << last);
        slices[last].0.insert(key);
        slices[last].1 += 1;
    }
    assert!(slices.iter().map(|slice| slice.1).eq(filter.slices().map(|slice| slice.items)));
    let payload = |bytes: &[u8]| {
        let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let start = field(12).next_multiple_of(64);
        bytes[start..start + field(48)].to_vec()
    };
    let parts: Vec<u8> = slices.iter().flat_map(|(slice, _)| payload(&slice.to_bytes().unwrap())).collect();
    assert_eq!(parts, payload(bytes));

    let bytes = include_bytes!("../data/scalable.gdn");
    // Slices of the file have a bit or two fewer than sizing chooses now: a file keeps the shape that it stores. So the bits
    // are those of the shapes stored, with keys that go where docs/formats.md says.
    let mut filter = ScalableBloom::from_bytes(bytes).unwrap();
    let shapes: Vec<_> = filter.slices().map(|slice| (slice.bits, slice.hashes, slice.items)).collect();
    assert_eq!(shapes, [(2_047, 9, 150), (4_180, 10, 300), (8_544, 10, 543)]);
    let mut slices =
        shapes.iter().map(|&(bits, ..)| vec![0u64; bits.div_ceil(64) as usize]).collect::<Vec<_>>();
    let (mut counted, mut last) = ([0; 3], 0);
    for key in &keys {
        let digest = KeyHasher::xxh3(6).digest(key);
        let at = |slice: usize| {
            let (bits, hashes, _) = shapes[slice];
            let digest = gardenia::Digest(digest.word(256 * slice as u32));
            gardenia::index::Fractional::new(hashes)
                .positions(digest, bits)
                .map(|at| (at as usize / 64, at % 64))
        };
        if (0..=last).any(|slice| at(slice).all(|(word, bit)| slices[slice][word] >> bit & 1 == 1)) {
            continue;
        }
        last += usize::from(counted[last] == 150 << last);
        at(last).for_each(|(word, bit)| slices[last][word] |= 1 << bit);
        counted[last] += 1;
    }
    let payload: Vec<u8> = slices.concat().iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(counted.as_slice(), shapes.iter().map(|slice| slice.2).collect::<Vec<_>>());
    assert!(bytes.windows(payload.len()).any(|window| window == payload));
    // Emptied, it is filled alike here, as far as the first slice goes: the next one has the new shape.
    let mut again = filter.clone();
    again.clear();
    again.insert_many(&keys[..200]).unwrap();
    assert_eq!(again.slices().map(|slice| slice.items).next(), Some(150));
    let (stored, first) = (again.to_bytes().unwrap(), slices[0].len() * 8);
    assert!(stored.windows(first).any(|window| window == &payload[..first]));
    assert_eq!(filter.insert_many(&keys), Ok(0));
    same(bytes);

    let bytes = include_bytes!("../data/dynamic.gdn");
    let mut filter = DynamicBloom::builder().cells(2879).hashes(7).items(300).seed(2).build().unwrap();
    filter.insert_many(&keys).unwrap();
    keys[100..150].iter().for_each(|key| _ = filter.remove(key));
    filter.insert_many(&keys[100..107]).unwrap();
    assert_eq!(filter, DynamicBloom::from_bytes(bytes).unwrap());
    same(bytes);
}

#[test]
fn sizes_are_frozen() {
    // Not stored, but filters made apart can only be united if the same wish gives the same shape.
    let shape = |items, fpp| {
        let filter = Bloom::builder().items(items).fpp(fpp).shape().unwrap();
        (filter.cells, filter.hashes)
    };
    let expected = [
        ((1, 0.01), (12, 4)),
        ((1_000, 0.01), (9_596, 7)),
        ((1_000_000, 0.01), (9_592_959, 7)),
        ((1_000_000, 0.001), (14_377_646, 10)),
        ((10_000_000, 1e-6), (287_552_930, 20)),
    ];
    for ((items, fpp), wanted) in expected {
        assert_eq!(shape(items, fpp), wanted, "{items} at {fpp}");
    }
    let stable = StableBloom::builder().cells(1_000_000).fpp(0.01).shape().unwrap();
    assert_eq!((stable.hashes, stable.decrements), (6, 142));
    let stable = StableBloom::builder().items(10_000).fpp(0.01).shape().unwrap();
    assert_eq!((stable.cells, stable.hashes, stable.decrements), (226_304, 6, 142));
    let a2 = |builder: gardenia::Builder<gardenia::A2Bloom>| {
        let shape = builder.shape().unwrap();
        (shape.bits, shape.hashes, shape.capacity)
    };
    assert_eq!(a2(A2Bloom::builder().bits(1_000_000).fpp(0.01)), (1_000_000, 8, 45_298));
    assert_eq!(a2(A2Bloom::builder().items(10_000).fpp(0.01)), (220_774, 8, 10_000));
    let cuckoo = |items, fpp| {
        let shape = Cuckoo::builder().items(items).fpp(fpp).shape().unwrap();
        (shape.cells(), shape.width)
    };
    assert_eq!((cuckoo(8, 0.01), cuckoo(1_000, 0.01)), ((8, 10), (1_136, 10)));
    assert_eq!(cuckoo(1_000_000, 0.001), (1_054_704, 13));
    let sketch = |form, epsilon, delta| {
        let shape = CountMin::builder().epsilon(epsilon).delta(delta).form(form).shape().unwrap();
        (shape.columns, shape.rows, shape.copies)
    };
    assert_eq!(sketch(Form::Original, 0.001, 0.01), (2_719, 5, 1));
    assert_eq!(sketch(Form::Modified, 0.001, 0.01), (5_437, 7, 1));
    assert_eq!(sketch(Form::Modified, 0.001, 1e-9), (5_437, 21, 3));
}

#[test]
fn a_fixed_set_built_here_equals_the_one_built_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|flower| flower.as_bytes().to_vec());
    let keys = |numbers: std::ops::Range<i64>| {
        let numbers = numbers.map(|number| number.to_le_bytes().to_vec());
        flowers.iter().cloned().chain(numbers).collect::<Vec<_>>()
    };
    let builder = Ribbon::builder;
    let files: [(&[u8], _, _, usize); 3] = [
        (include_bytes!("../data/ribbon.gdn"), builder().fpp(0.01), -1..990, 1),
        (include_bytes!("../data/ribbon-bumped.gdn"), builder().fingerprint(8).seed(9), -1..6000, 2),
        (include_bytes!("../data/ribbon-wide.gdn"), builder().fingerprint(3), -1..6000, 2),
    ];
    for (bytes, builder, numbers, layers) in files {
        for level in Level::available() {
            let set = builder.clone().level(level).build_from(&keys(numbers.clone())).unwrap();
            assert_eq!(set, Ribbon::from_bytes(bytes).unwrap());
            assert_eq!(set.to_bytes().unwrap(), bytes);
            assert_eq!(set.layers(), layers);
        }
    }
}

#[test]
fn static_filters_made_here_equal_those_made_elsewhere() {
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"];
    let hasher = |seed| KeyHasher::xxh3(seed);
    // Flowers, and the numbers from -1 to 989: as digests, because the keys are of two types.
    let digests = |seed| -> Vec<Digest> {
        let texts = flowers.iter().map(|key| hasher(seed).digest_key(key));
        texts.chain((-1..990).map(|key| hasher(seed).digest_key(&key))).collect()
    };
    let same = |bytes: &[u8], filter: BinaryFuse| {
        assert_eq!(filter, BinaryFuse::from_bytes(bytes).unwrap());
        assert_eq!(filter.to_bytes().unwrap(), bytes);
    };
    same(include_bytes!("../data/fuse.gdn"), BinaryFuse::builder().build_from_digests(&digests(0)).unwrap());
    let four = BinaryFuse::builder().arity(4).fingerprint(16).seed(9).threads(2);
    same(include_bytes!("../data/fuse-four.gdn"), four.build_from_digests(&digests(9)).unwrap());
    let few = BinaryFuse::builder().fingerprint(32);
    same(include_bytes!("../data/fuse-wide.gdn"), few.build_from_digests(&digests(0)[..6]).unwrap());

    let values: Vec<u32> = (0..996).map(|i| i * i % 200).collect();
    let map = Bloomier::builder().check_bits(11).build_from_digests(&digests(0), &values).unwrap();
    assert_eq!(map.to_bytes().unwrap(), include_bytes!("../data/bloomier.gdn"));
    assert_eq!((map.get("tulip"), map.get(-1), map.get(989)), (Some(1), Some(25), Some(995 * 995 % 200)));
    let builder = Bloomier::builder().value_bits(13).check_bits(9).arity(4).seed(5);
    let stock = builder.build_mutable_from_digests(&digests(5), &values).unwrap();
    assert_eq!(stock.to_bytes().unwrap(), include_bytes!("../data/bloomier-mutable.gdn"));
}

#[test]
fn coded_sets_and_filters_made_here_equal_those_made_elsewhere() {
    use gardenia::index::Double;
    use gardenia::{CompressedBloom, GolombSet};
    let flowers = ["rose", "tulip", "", "\0", "Gänseblümchen"].map(|flower| flower.as_bytes().to_vec());
    let keys: Vec<Vec<u8>> =
        flowers.into_iter().chain((-1..990i64).map(|key| key.to_le_bytes().to_vec())).collect();
    let new = GolombSet::builder;
    let sets: [(&[u8], GolombSet); 3] = [
        (include_bytes!("../data/golomb.gdn"), new().fpp(0.01).gaps_per_run(27).build_from(&keys).unwrap()),
        (
            include_bytes!("../data/golomb-rice.gdn"),
            new().fpp(1.0 / 4096.0).gaps_per_run(200).rice().seed(3).build_from(&keys).unwrap(),
        ),
        (include_bytes!("../data/golomb-one-run.gdn"), new().fpp(0.9).build_from(&keys[..6]).unwrap()),
    ];
    for (bytes, set) in sets {
        assert!(set == GolombSet::from_bytes(bytes).unwrap(), "{set:?}");
        assert_eq!(set.to_bytes().unwrap(), bytes);
        let any = AnyFilter::from_bytes(bytes).unwrap();
        assert!(keys[..6].iter().all(|key| any.contains_digest(any.hasher().digest(key))));
    }

    let bytes = include_bytes!("../data/compressed.gdn");
    let mut filter = CompressedBloom::new(1_000, 8.0, 14.0).unwrap();
    filter.extend(&keys);
    assert!(filter == CompressedBloom::from_bytes(bytes).unwrap(), "{filter:?}");
    check_answers_of_fpp(&AnyFilter::from_bytes(bytes).unwrap(), filter.fpp());
    let dense = include_bytes!("../data/compressed-dense.gdn");
    let mut filter =
        CompressedBloom::builder().bits(1013).hashes(3).seed(5).scheme(Double::new).build().unwrap();
    filter.extend(&keys);
    assert!(filter.fill() > 0.9, "bits are inverted before they are coded");
    assert!(filter == CompressedBloom::from_bytes_as::<Double>(dense, &ReadOptions::new()).unwrap());
    for bytes in [&bytes[..], dense] {
        let any = AnyFilter::from_bytes(bytes).unwrap();
        assert_eq!(any.to_bytes().unwrap(), bytes);
    }
}

/// As many of 1,000 absent keys are found as five standard deviations allow.
fn check_answers_of_fpp(filter: &AnyFilter, fpp: f64) {
    let found = (2_000..3_000i64)
        .filter(|key| filter.contains_digest(filter.hasher().digest(&key.to_le_bytes())))
        .count();
    let (mean, deviation) = (1_000.0 * fpp, (1_000.0 * fpp * (1.0 - fpp)).sqrt());
    assert!((found as f64 - mean).abs() < 5.0 * deviation, "{found} of {mean}");
}

/// Files of kind 26 in the layout of its first hours, which no release wrote: 16 buckets to a page.
/// The header of the second fits the layout of today as well.
#[test]
fn files_of_kind_26_in_its_first_layout_are_refused() {
    let files: [(&[u8], &str); 2] = [
        (
            include_bytes!("../data/earlier/infini.gdn"),
            "the header's cells is 16, but the first size has others",
        ),
        (include_bytes!("../data/earlier/infini-wide.gdn"), "corrupted: a bucket ends before it begins"),
    ];
    for (bytes, why) in files {
        assert_eq!(InfiniFilter::from_bytes(bytes).unwrap_err().to_string(), why);
        assert_eq!(AnyFilter::from_bytes(bytes).unwrap_err().to_string(), why);
    }
}
