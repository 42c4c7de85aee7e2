//! Files of DCSO's bloom: against one that the program wrote, and its answers.

use gardenia::format::dcso;
use gardenia::index::AnyScheme;
use gardenia::index::Dcso;
use gardenia::{AnyFilter, Bloom, DecodeError, EncodeError, KeyHasher, ReadOptions};
use proptest::prelude::*;
use serde_json::Value;
use std::io::Read;

const FILE: &[u8] = include_bytes!("../data/dcso.bloom");

fn read(bytes: &[u8]) -> Result<Bloom<AnyScheme>, DecodeError> {
    dcso::from_bytes(bytes, &ReadOptions::new())
}

/// The keys of the file, and what the program said to others.
fn truth() -> (Vec<String>, Vec<String>, Vec<usize>) {
    let truth: Value = serde_json::from_str(include_str!("../data/dcso.json")).unwrap();
    let texts = |name: &str| -> Vec<String> { serde_json::from_value(truth[name].clone()).unwrap() };
    (texts("keys"), texts("probes"), serde_json::from_value(truth["positives"].clone()).unwrap())
}

#[test]
fn a_file_of_the_program_gives_the_programs_answers() {
    let filter = read(FILE).unwrap();
    let (keys, probes, positives) = truth();
    assert!(keys.len() == 199 && filter.contains_many(&keys).iter().all(|found| *found));
    let found: Vec<usize> = (0..probes.len()).filter(|i| filter.contains(probes[*i].as_str())).collect();
    assert_eq!(found, positives);
    let about = filter.about();
    assert_eq!((filter.bits(), filter.hashes()), (1628, 6));
    assert_eq!((about.planned_items(), about.planned_fpp(), about.counted_items()), (200, 0.02, Some(198)));
    assert_eq!(about.metadata(), b"gardenia interop\n");
}

#[test]
fn the_programs_keys_make_the_programs_file() {
    let mut filter = dcso::new(200, 0.02).unwrap();
    let new = filter.insert_many(&truth().0);
    filter.about_mut().set_counted_items(Some(new));
    filter.about_mut().set_metadata(b"gardenia interop\n").unwrap();
    assert_eq!(dcso::to_bytes(&filter).unwrap(), FILE);
}

#[test]
fn a_file_goes_through_our_format_without_loss() {
    let native = AnyFilter::from(read(FILE).unwrap()).to_bytes().unwrap();
    let AnyFilter::Bloom(filter) = AnyFilter::from_bytes(&native).unwrap() else { panic!("another kind") };
    assert_eq!(dcso::to_bytes(&filter).unwrap(), FILE);
    let mut written = Vec::new();
    dcso::write_to(&filter, &mut written).unwrap();
    assert_eq!(written, FILE);
    assert!(filter.contains_digest(filter.hasher().digest(truth().0[0].as_bytes())));
    let packed = AnyFilter::<gardenia::cells::Owned>::from(gardenia::CompressedBloom::from(filter))
        .to_bytes()
        .unwrap();
    let AnyFilter::Compressed(filter) = AnyFilter::from_bytes(&packed).unwrap() else {
        panic!("another kind")
    };
    assert_eq!(dcso::to_bytes(filter.as_bloom()).unwrap(), FILE);
}

#[test]
fn what_two_filters_counted_adds_up() {
    let (mut ours, theirs) = (read(FILE).unwrap(), read(FILE).unwrap());
    ours.union_with(&theirs).unwrap();
    assert_eq!(ours.about().counted_items(), Some(396)); // as the program does, which cannot know better
    ours.intersect_with(&theirs).unwrap();
    assert_eq!(ours.about().counted_items(), None);
    let told = read(&dcso::to_bytes(&ours).unwrap()).unwrap().about().counted_items();
    assert_eq!(told, Some(ours.estimated_items().items.round() as u64));
}

#[test]
fn filters_of_other_hashes_are_refused() {
    let other = |hasher, scheme| {
        let builder = Bloom::builder().hasher(hasher).scheme(move |k| AnyScheme::new(scheme, k));
        let error = dcso::to_bytes(&builder.bits(100).hashes(3).build().unwrap()).unwrap_err();
        assert!(matches!(error, EncodeError::Foreign { .. }));
        error.to_string()
    };
    use gardenia::index::SchemeId;
    let hasher = other(KeyHasher::default(), SchemeId::Dcso);
    assert_eq!(hasher, "a DCSO file holds only filters of hasher fnv1, not xxh3");
    assert!(other(KeyHasher::Fnv1, SchemeId::Fractional).contains("filters of scheme dcso, not fractional"));
}

#[test]
fn damaged_files_are_errors_that_name_the_field() {
    let damaged = |at: usize, byte: u8| {
        let mut bytes = FILE.to_vec();
        bytes[at] = byte;
        read(&bytes).unwrap_err().to_string()
    };
    assert!(damaged(0, 2).contains("version is 2") && damaged(7, 1).contains("version"));
    assert!(damaged(23, 0xff).contains("planned rate"));
    assert!(damaged(24, 0).contains("hashes is 0") && damaged(25, 1).contains("hashes is 262"));
    assert!(damaged(39, 1).contains("cells"));
    // 1628 bits end in the middle of the last word.
    assert!(damaged(48 + 26 * 8 - 1, 0x80).contains("past the last cell"));
    assert!(damaged(33, 100).contains("truncated"));
    let mut unknown = FILE.to_vec();
    unknown[40..48].fill(0xff);
    assert!(read(&unknown).unwrap_err().to_string().contains("items counted"));
    let small = ReadOptions::new().max_bytes(207);
    assert!(matches!(dcso::from_bytes(FILE, &small), Err(DecodeError::TooLarge { needed: 208, max: 207 })));
    for len in 0..48 + 26 * 8 {
        assert!(matches!(read(&FILE[..len]), Err(DecodeError::Truncated { .. })), "{len}");
    }
    assert!(read(&FILE[..48 + 26 * 8]).unwrap().about().metadata().is_empty());
    let mut long = FILE.to_vec();
    long.resize(48 + 26 * 8 + 65_536, 7);
    assert_eq!(read(&long).unwrap().about().metadata().len(), 65_536);
    long.push(7);
    assert!(read(&long).unwrap_err().to_string().contains("data after the bits is 65537"));
}

#[test]
fn our_own_files_and_texts_are_not_taken_for_such_files() {
    assert!(dcso::begins(FILE) && dcso::begins(&FILE[..dcso::HEADER]) && !dcso::begins(&FILE[..47]));
    let native = Bloom::new(100, 0.01).unwrap().to_bytes().unwrap();
    assert!(!dcso::begins(&native) && !dcso::begins(&[1; 48]) && !dcso::begins(&[0; 48]));
}

/// Gives one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min(1);
        self.0.read(&mut out[..len])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(
        items in 1_u64..40_000, fpp in 0.0001..0.5_f64, keys in 0..500_u32,
        data in proptest::collection::vec(any::<u8>(), 0..50),
    ) {
        let Ok(mut filter) = dcso::new(items, fpp) else { return Ok(()) };
        filter.extend(0..keys);
        filter.about_mut().set_counted_items(Some(keys.into()));
        filter.about_mut().set_metadata(&data).unwrap();
        let bytes = dcso::to_bytes(&filter).unwrap();
        let copy = dcso::read_from(Slow(&bytes), &ReadOptions::new()).unwrap();
        prop_assert_eq!(&copy, &filter);
        prop_assert_eq!(dcso::to_bytes(&copy).unwrap(), bytes);
        prop_assert!((0..keys).all(|key| copy.contains(key)));
        prop_assert_eq!(copy.scheme(), &AnyScheme::Dcso(Dcso::new(filter.hashes())));
    }

    #[test]
    fn any_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), cells in 0_u64..2000) {
        let _ = read(&bytes);
        if bytes.len() >= 48 {
            for (at, word) in [(0, 1_u64), (16, 0.5_f64.to_bits()), (24, 3), (32, cells)] {
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            if let Ok(filter) = read(&bytes) {
                prop_assert_eq!(dcso::to_bytes(&filter).unwrap(), bytes);
            }
        }
    }
}
