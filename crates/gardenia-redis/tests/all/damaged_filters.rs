//! Filters that were damaged where they are stored, with all sums put right again: an error or a
//! filter that works, and no more memory than their bytes account for. (That damage is found by its
//! sums, `tests/server/test_gd.py` shows.)

use gardenia::{AnyFilter, Digest, Filter, KeyHasher};
use gardenia_redis::engine::alloc::peak_of;
use gardenia_redis::values::any::{Kept, Loaded, load};
use gardenia_redis::values::stored::Whole;

use crate::common::Random;

/// How many damaged filters of each file are tried.
const DAMAGED: u64 = 2_000;
/// The memory that they may take.
const LIMIT: u64 = 1 << 20;

/// A file of each kind.
const FILES: [&[u8]; 22] = [
    include_bytes!("../../../gardenia/tests/data/bloom.gdn"),
    include_bytes!("../../../gardenia/tests/data/bloom-keyed-stored.gdn"),
    include_bytes!("../../../gardenia/tests/data/blocked.gdn"),
    include_bytes!("../../../gardenia/tests/data/counting.gdn"),
    include_bytes!("../../../gardenia/tests/data/bitwise.gdn"),
    include_bytes!("../../../gardenia/tests/data/spectral.gdn"),
    include_bytes!("../../../gardenia/tests/data/spectral-recurring.gdn"),
    include_bytes!("../../../gardenia/tests/data/spectral-compact.gdn"),
    include_bytes!("../../../gardenia/tests/data/stable.gdn"),
    include_bytes!("../../../gardenia/tests/data/a2.gdn"),
    include_bytes!("../../../gardenia/tests/data/choice.gdn"),
    include_bytes!("../../../gardenia/tests/data/choice-partitioned.gdn"),
    include_bytes!("../../../gardenia/tests/data/count-min-merging.gdn"),
    include_bytes!("../../../gardenia/tests/data/cuckoo.gdn"),
    include_bytes!("../../../gardenia/tests/data/dynamic.gdn"),
    include_bytes!("../../../gardenia/tests/data/scalable.gdn"),
    include_bytes!("../../../gardenia/tests/data/compressed.gdn"),
    include_bytes!("../../../gardenia/tests/data/golomb.gdn"),
    include_bytes!("../../../gardenia/tests/data/fuse.gdn"),
    include_bytes!("../../../gardenia/tests/data/ribbon-bumped.gdn"),
    include_bytes!("../../../gardenia/tests/data/bloomier-mutable.gdn"),
    include_bytes!("../../../gardenia/tests/data/retouched.gdn"),
];

/// The sum of a file's parts: XXH3-64 with seed 0.
fn sum(bytes: &[u8]) -> [u8; 8] {
    KeyHasher::xxh3(0).digest(bytes).0.to_le_bytes()
}

/// Where the header of a file ends, and where its payload begins and ends.
fn parts(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let word =
        |at: usize| bytes.get(at..at + 4).map(|word| u32::from_le_bytes(word.try_into().unwrap()) as usize);
    let end = 104 + word(80)?.min(1 << 17) + word(84)?.min(1 << 17);
    let start = (end + 8).next_multiple_of(64);
    let len = u64::from_le_bytes(bytes.get(48..56)?.try_into().unwrap());
    let payload_end = start.checked_add(usize::try_from(len).ok()?)?;
    (payload_end <= bytes.len()).then_some((end, start, payload_end))
}

/// Changes header or payload in one to three places, and puts the sums right.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let Some((header, start, end)) = parts(bytes) else { return };
    for _ in 0..=random.below(3) {
        let at = match random.below(4) {
            0 if end > start => start + random.below((end - start) as u64) as usize,
            _ => 10 + random.below(header as u64 - 10) as usize,
        };
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 2, 0x7f, 0x80, 0xff][random.below(6) as usize],
            2 => bytes[at] = bytes[at].wrapping_add(random.below(3) as u8).wrapping_sub(1),
            _ => {
                let number = random.number().to_le_bytes();
                let at = at & !7;
                bytes[at..end].iter_mut().zip(number).for_each(|(byte, new)| *byte = new);
            }
        }
    }
    if let Some((header, start, end)) = parts(bytes) {
        let sums: Vec<u8> = bytes[start..end].chunks(1 << 20).flat_map(sum).collect();
        let table = sum(&sums);
        bytes.truncate(end);
        bytes.extend([&sums[..], &table, b"GDN.END\n"].concat());
        let header_sum = sum(&bytes[..header]);
        bytes[header..header + 8].copy_from_slice(&header_sum);
    }
}

/// Does everything with a filter that commands do.
fn use_all(mut filter: Kept<'_>, random: &mut Random, what: &str) {
    let digests: Vec<Digest> = (0..40).map(|_| Digest(random.next())).collect();
    let (mut found, mut counts) = ([false; 40], [0; 40]);
    filter.contains(&digests, &mut found);
    filter.count(&digests, &mut counts);
    let taken = match filter.insert(&digests, &mut [false; 40], || LIMIT) {
        Ok(()) => 40,
        Err((taken, _)) => taken,
    };
    filter.contains(&digests[..taken], &mut found[..taken]);
    assert!(filter.inserts() || taken == 0, "{what}");
    digests.iter().for_each(|digest| _ = filter.remove(*digest));
    _ = filter.items();
    if let Kept::Any(filter) = &mut filter {
        assert!(!filter.fpp().is_nan() && !filter.fill().is_nan(), "{what}");
        let copy = Whole::copy(*filter).unwrap();
        _ = filter.merge(&copy);
    }
    let bytes = filter.to_bytes().unwrap();
    let again = load(&bytes, u64::MAX).unwrap_or_else(|error| panic!("{what}: {error}"));
    match again {
        Loaded::Any(mut again) => assert_eq!(Kept::Any(&mut again).to_bytes().unwrap(), bytes, "{what}"),
        Loaded::Scaling(mut again) => {
            assert_eq!(Kept::Scaling(&mut again).to_bytes().unwrap(), bytes, "{what}");
        }
    }
}

#[test]
fn damaged_filters_are_errors_or_work_and_take_no_more_memory_than_their_bytes_account_for() {
    let mut random = Random(23);
    let (mut accepted, mut refused) = (0, 0);
    for (number, file) in FILES.into_iter().enumerate() {
        for round in 0..DAMAGED {
            let what = format!("file {number}, round {round}");
            let mut bytes = file.to_vec();
            damage(&mut bytes, &mut random);
            let (read, peak) = peak_of(|| <AnyFilter as Whole>::read(&bytes[..], bytes.len() as u64));
            // A header of 128 KiB may be announced; then a few times the bytes, for cells that are made wider.
            assert!(peak <= 8 * bytes.len() + (300 << 10), "{what}: {peak} bytes for {}", bytes.len());
            let (loaded, peak) = peak_of(|| load(&bytes, LIMIT));
            assert!(peak <= 2 * LIMIT as usize, "{what}: {peak} bytes");
            match loaded {
                Ok(Loaded::Any(mut filter)) => {
                    accepted += 1;
                    assert!(filter.memory_bytes() as u64 <= LIMIT, "{what}");
                    use_all(Kept::Any(&mut filter), &mut random, &what);
                }
                Ok(Loaded::Scaling(mut filter)) => {
                    accepted += 1;
                    assert!(read.is_none(), "{what}");
                    use_all(Kept::Scaling(&mut filter), &mut random, &what);
                }
                Err(_) => {
                    assert!(read.is_none(), "{what}");
                    refused += 1;
                }
            }
        }
    }
    let all = DAMAGED * FILES.len() as u64;
    assert!(accepted > all / 10 && refused > all / 10, "{accepted} accepted, {refused} refused");
}

#[test]
fn files_are_read_as_the_values_that_they_are() {
    for file in FILES {
        let loaded = load(file, LIMIT).unwrap();
        let stored = <AnyFilter as Whole>::read(file, file.len() as u64);
        match loaded {
            Loaded::Any(filter) => {
                let key = filter.hasher().digest_key("rose");
                assert!(filter.contains_digest(key) || stored.is_some());
                // A compressed file is not stored as it is, and its bits are.
                let mut bytes = Vec::new();
                Whole::write(&filter, &mut bytes).unwrap();
                assert_eq!(bytes == file, stored.is_some());
                assert!(<AnyFilter as Whole>::read(&bytes[..], bytes.len() as u64).is_some());
            }
            Loaded::Scaling(filter) => {
                assert!(stored.is_none());
                assert_eq!(filter.expansion(), filter.filter().growth());
            }
        }
        assert!(load(file, 8).is_err());
    }
}
