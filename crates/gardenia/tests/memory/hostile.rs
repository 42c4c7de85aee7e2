//! Small files that would do great harm: memory and work are bounded by what is really there, or by
//! a stated limit.
//!
//! All memory comes from the counting allocator here, however large; checksums are put right after
//! every change.

use crate::allocator::peak_of;
use gardenia::format::{self, dcso};
use gardenia::theory::distance::DistanceShape;
use gardenia::{
    AnyFilter, BlockedBloom, Bloom, CompressedBloom, CountMin, Cuckoo, DecodeError, Digest,
    DistanceSensitiveBloom, DynamicBloom, InsertError, KeyHasher, ReadOptions, ScalableBloom, SecretKey,
};

const MIB: usize = 1 << 20;

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Puts the header's checksum right again.
fn reseal(bytes: &mut [u8]) {
    let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = 104 + field(80) + field(84);
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
    put(bytes, end, sum);
}

/// A file with the header of `bytes`, changed by `change`, and this payload of less than 1 MiB.
fn forge(bytes: &[u8], payload: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let len = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut forged = bytes[..len.next_multiple_of(64)].to_vec();
    put(&mut forged, 48, payload.len() as u64);
    change(&mut forged);
    reseal(&mut forged);
    let sum = xxhash_rust::xxh3::xxh3_64(payload).to_le_bytes();
    let table = xxhash_rust::xxh3::xxh3_64(&sum).to_le_bytes();
    forged.extend_from_slice(payload);
    [&forged[..], &sum, &table, b"GDN.END\n"].concat()
}

#[test]
fn a_dcso_file_takes_memory_for_bytes_that_exist() {
    let mut bytes = dcso::to_bytes(&dcso::new(100, 0.01).unwrap()).unwrap();
    put(&mut bytes, 32, 1 << 34); // 2 GiB
    for len in [48, bytes.len()] {
        let (sliced, peak) = peak_of(|| dcso::from_bytes(&bytes[..len], &ReadOptions::new()));
        assert!(matches!(sliced, Err(DecodeError::Truncated { needed, .. }) if needed == (1 << 31) + 48));
        assert!(peak < MIB, "{peak} bytes for {len}");
        let (read, peak) = peak_of(|| dcso::read_from(&bytes[..len], &ReadOptions::new()));
        assert!(matches!(read, Err(DecodeError::Truncated { found, .. }) if found == len as u64));
        assert!(peak < 3 * MIB, "{peak} bytes for {len}");
    }
    // What is honest is read as before, over several pieces.
    let mut list = dcso::new(2_000_000, 0.001).unwrap();
    list.insert_many(&(0..1000).collect::<Vec<u32>>());
    let bytes = dcso::to_bytes(&list).unwrap();
    assert!(bytes.len() > 3 * MIB);
    assert!(dcso::from_bytes(&bytes, &ReadOptions::new()).unwrap() == list);
    assert!(dcso::read_from(&bytes[..], &ReadOptions::new()).unwrap() == list);
    for cut in [1, bytes.len() / 2] {
        let short = &bytes[..bytes.len() - cut];
        assert!(matches!(dcso::from_bytes(short, &ReadOptions::new()), Err(DecodeError::Truncated { .. })));
        assert!(matches!(dcso::read_from(short, &ReadOptions::new()), Err(DecodeError::Truncated { .. })));
    }
}

#[test]
fn a_stream_takes_memory_as_its_bytes_arrive() {
    let small = Bloom::builder().bits(1000).hashes(5).build().unwrap().to_bytes().unwrap();
    let claim = |payload: usize| {
        let mut bytes = small[..small.len() - 24 - 128].to_vec();
        put(&mut bytes, 32, 1 << 34);
        put(&mut bytes, 48, 1 << 31);
        reseal(&mut bytes);
        bytes.resize(bytes.len() + payload, 0x55);
        bytes
    };
    for payload in [0, 400, 5 * MIB] {
        let bytes = claim(payload);
        let (read, peak) = peak_of(|| AnyFilter::read_from(&bytes[..]).map(|_| ()));
        assert!(matches!(read, Err(DecodeError::Truncated { .. })), "{read:?}");
        assert!(peak < payload + 3 * MIB, "{peak} bytes for {payload}");
        assert!(matches!(AnyFilter::from_bytes(&bytes), Err(DecodeError::Truncated { .. })));
    }
    // What is honest is read as before, and no byte beyond it.
    let mut large = Bloom::builder().bits(30 << 20).hashes(5).build().unwrap();
    large.extend(0..1000);
    let bytes = [large.to_bytes().unwrap(), small].concat();
    let mut reader = &bytes[..];
    let (copy, peak) = peak_of(|| Bloom::read_from(&mut reader).unwrap());
    assert!(copy == large && Bloom::read_from(&mut reader).unwrap().bits() == 1000 && reader.is_empty());
    assert!(peak < 2 * large.memory_bytes() + 3 * MIB, "{peak} bytes");
    let mut bad = large.to_bytes().unwrap();
    let at = bad.len() - 2 * MIB;
    bad[at] ^= 1;
    assert!(matches!(Bloom::read_from(&bad[..]), Err(DecodeError::Checksum { .. })));
}

#[test]
fn a_compressed_filter_is_decoded_within_a_stated_limit() {
    let empty = |bits| CompressedBloom::builder().bits(bits).hashes(2).build().unwrap().to_bytes().unwrap();
    // 2^33 bits, nearly all the same, in 3,840 bytes: 1 GiB of memory, and 2^30 steps of the decoder.
    let bytes = forge(&empty(64), &[0; 3688], |header| put(header, 32, 1 << 33));
    assert_eq!(bytes.len(), 3840);
    for (result, peak) in [
        peak_of(|| AnyFilter::from_bytes(&bytes).map(|_| ())),
        peak_of(|| AnyFilter::view(&bytes).map(|_| ())),
        peak_of(|| AnyFilter::read_from(&bytes[..]).map(|_| ())),
        peak_of(|| CompressedBloom::from_bytes(&bytes).map(|_| ())),
    ] {
        let limit =
            matches!(result, Err(DecodeError::Expansion { stored: 3688, max, .. }) if max == 256 << 20);
        assert!(limit && peak < MIB, "{result:?}, {peak} bytes");
    }
    // The limit can be lowered and raised.
    let bytes = empty(1 << 26);
    let read = |most| AnyFilter::from_bytes_with(&bytes, &ReadOptions::new().max_expansion(most));
    assert!(matches!(read(8 << 20), Err(DecodeError::Expansion { .. })) && read(9 << 20).is_ok());
    // It is no limit for filters that are not larger than eight times their file.
    let mut filter = CompressedBloom::new(10_000, 8.0, 30.0).unwrap();
    filter.insert_many(&(0..10_000).collect::<Vec<u32>>());
    let none = ReadOptions::new().max_expansion(0);
    let read = AnyFilter::from_bytes_with(&filter.to_bytes().unwrap(), &none).unwrap();
    assert_eq!(read.memory_bytes(), filter.memory_bytes());
}

/// Inserts keys until the filter is full.
fn fill(filter: &mut AnyFilter, keys: std::ops::Range<u64>) -> Result<(), InsertError> {
    keys.map(|key| Digest(Digest(key).word(1))).try_for_each(|d| filter.insert_digests(&[d], &mut [false]))
}

#[test]
fn a_scalable_filter_does_not_grow_beyond_the_limit_of_its_reader() {
    // 16,384 keys in 28 KB; the next slice is for 32,768 times as many, in 0.9 GB.
    let mut filter = ScalableBloom::builder().fpp(0.01).items(16_384).growth(32_768).build().unwrap();
    let mut keys = 0..;
    while filter.items() < 16_384 {
        filter.insert_digest(Digest(Digest(keys.next().unwrap()).word(1))).unwrap();
    }
    let bytes = filter.to_bytes().unwrap();
    assert!(bytes.len() < 40_000 && filter.next_slice().unwrap().0.cells > 7_000_000_000);
    let (mut any, mut scalable) =
        (AnyFilter::from_bytes(&bytes).unwrap(), ScalableBloom::from_bytes(&bytes).unwrap());
    let (refused, peak) = peak_of(|| fill(&mut any, 100_000..101_000));
    assert!(matches!(refused, Err(InsertError::Growth { needed, max }) if needed > max && max == 256 << 20));
    assert!(peak < MIB, "{peak} bytes");
    let absent = (1 << 20..).map(Digest).find(|digest| !scalable.contains_digest(*digest)).unwrap();
    assert!(scalable.insert_digest(absent).is_err_and(|full| full.taken == 0 && !full.copies));
    assert_eq!(scalable.to_bytes().unwrap(), bytes, "nothing has changed");

    // A smaller one, whose limit is lowered and raised; copies and views keep it.
    let mut filter = ScalableBloom::builder().fpp(0.01).items(100).growth(32_768).build().unwrap();
    (0..90).for_each(|key| _ = filter.insert(key).unwrap());
    let bytes = filter.to_bytes().unwrap();
    let read = |most| AnyFilter::from_bytes_with(&bytes, &ReadOptions::new().max_expansion(most)).unwrap();
    assert!(fill(&mut read(1 << 20), 0..1000).is_err() && fill(&mut read(64 << 20), 0..1000).is_ok());
    let options = ReadOptions::new().max_expansion(1 << 20);
    let view = ScalableBloom::view_with(&bytes, &options).unwrap().try_to_owned().unwrap();
    assert!(fill(&mut view.into(), 0..1000).is_err());
    // A filter that was built here follows the parameters of its builder.
    assert!(fill(&mut filter.into(), 0..1000).is_ok());
}

#[test]
fn filters_that_grow_with_their_keys_are_not_held_up_by_any_limit() {
    let none = ReadOptions::new().max_expansion(0);
    for (growth, fpp) in [(1, 0.01), (2, 0.01), (2, 1e-11), (4, 1e-9)] {
        let builder = ScalableBloom::builder().fpp(fpp).items(1_000).growth(growth);
        let mut filter =
            AnyFilter::from_bytes_with(&builder.build().unwrap().to_bytes().unwrap(), &none).unwrap();
        fill(&mut filter, 0..60_000).unwrap();
        let mut copy = AnyFilter::from_bytes_with(&filter.to_bytes().unwrap(), &none).unwrap();
        fill(&mut copy, 0..62_000).unwrap();
    }
    let mut filter = DynamicBloom::new(1_000, 1e-6).unwrap().to_bytes().unwrap();
    for round in 0..2 {
        let mut read = AnyFilter::from_bytes_with(&filter, &none).unwrap();
        fill(&mut read, 50_000 * round..50_000 * (round + 1)).unwrap();
        filter = read.to_bytes().unwrap();
    }
}

#[test]
fn a_layer_for_each_key_is_held_to_the_limit() {
    // Layers of 512 KiB that take one key each: 2 GiB for 4,096 keys.
    let filter = DynamicBloom::builder().items(1).cells(1 << 20).hashes(2).build().unwrap();
    let bytes = filter.to_bytes().unwrap();
    let options = ReadOptions::new().max_expansion(8 << 20);
    let mut filter = AnyFilter::from_bytes_with(&bytes, &options).unwrap();
    let (refused, peak) = peak_of(|| fill(&mut filter, 0..4096));
    assert!(matches!(refused, Err(InsertError::Growth { needed, max }) if needed > max && max == 8 << 20));
    assert!(peak <= 8 << 20, "{peak} bytes");
    assert_eq!(filter.memory_bytes(), 8 << 20);
}

#[test]
fn a_slice_that_claims_more_keys_than_bits_is_refused_and_never_written() {
    // Three words of bits by its builder; by the file they are for 1,000 keys, and nearly as many are in it without a bit set.
    let builder = ScalableBloom::builder().fpp(0.5).items(80).tightening(0.01);
    let good = builder.build().unwrap().to_bytes().unwrap();
    let forged = |items: u64| {
        forge(&good, &[0; 24], |header| {
            put(header, 104 + 24, 1000);
            put(header, 104 + 32 + 16, items);
            put(header, 72, items);
        })
    };
    let bits = get(&good, 32);
    assert!((129..=192).contains(&bits), "{bits}: three words");
    let bytes = forged(bits - 6);
    assert!(format::verify(&bytes[..]).is_ok());
    let message = |result: Result<(), DecodeError>| result.unwrap_err().to_string();
    let refusal = "corrupted: a slice claims more keys than it has bits set";
    assert_eq!(message(AnyFilter::from_bytes(&bytes).map(|_| ())), refusal);
    assert_eq!(message(AnyFilter::read_from(&bytes[..]).map(|_| ())), refusal);
    let view = AnyFilter::view(&bytes).unwrap();
    assert_eq!(message(view.check_cells()), refusal);
    // A view is not read as a whole, and a copy of it takes keys. What it writes can still be opened.
    let mut copy = ScalableBloom::view(&bytes).unwrap().try_to_owned().unwrap();
    assert!((0..200).any(|key| copy.insert(key).is_err()));
    assert_eq!(copy.items(), bits);
    assert!(ScalableBloom::view(&copy.to_bytes().unwrap()).is_ok());
    // As many keys as bits are fine if the bits are set; and so is an empty slice of few bits.
    let full = forge(&good, &[0xff; 24], |header| {
        put(header, 32, 192);
        put(header, 104 + 24, 1000);
        [192, 1, 192].iter().enumerate().for_each(|(i, value)| put(header, 104 + 32 + 8 * i, *value));
        put(header, 72, 192);
        header[20] = 1;
    });
    let mut filter = AnyFilter::from_bytes(&full).unwrap();
    fill(&mut filter, 0..1000).unwrap();
    assert_eq!(filter.to_bytes().unwrap(), full);
    fill(&mut AnyFilter::from_bytes(&forged(0)).unwrap(), 0..200).unwrap();
}

#[test]
fn the_work_of_a_query_for_near_points_is_held_to_a_limit() {
    let shape = |samples| DistanceShape { functions: 255, samples, bits: 64, threshold: 255 };
    let bytes = |samples| {
        DistanceSensitiveBloom::jaccard().shape(shape(samples)).build().unwrap().to_bytes().unwrap()
    };
    let costly = bytes(65_536);
    assert_eq!(costly.len(), 2_256);
    let work = DecodeError::Work { samples: 255 * 65_536, max: 1 << 20 }.to_string();
    assert_eq!(DistanceSensitiveBloom::from_bytes(&costly).unwrap_err().to_string(), work);
    assert_eq!(DistanceSensitiveBloom::view(&costly).unwrap_err().to_string(), work);
    let raised = ReadOptions::new().max_samples(255 * 65_536);
    assert!(DistanceSensitiveBloom::from_bytes_with(&costly, &raised).is_ok());
    assert!(DistanceSensitiveBloom::from_bytes(&bytes((1 << 20) / 255)).is_ok());
    assert!(DistanceSensitiveBloom::from_bytes(&bytes((1 << 20) / 255 + 1)).is_err());
}

#[test]
fn the_id_of_a_secret_does_not_tell_which_bits_are_sampled() {
    let (dimension, secret) = (4096, SecretKey::new([7; 16]));
    let builder = || DistanceSensitiveBloom::hamming(dimension).items(100).near(0.05).far(0.4).error(0.01);
    let mut filter = builder().secret(secret.clone()).build().unwrap();
    let point: Vec<u8> = (0..64).flat_map(|i| Digest(5).word(i).to_le_bytes()).collect();
    filter.insert_bits(&point).unwrap();
    // What an attacker knows: the file with its public id. All bits are turned that its words do not choose.
    let shape = filter.shape();
    let turn = |mark: u64| {
        let drawn = (0..shape.functions * shape.samples)
            .map(|i| ((u128::from(Digest(mark).word(1 + i)) * u128::from(dimension)) >> 64) as usize);
        let mut turned: Vec<u8> = point.iter().map(|byte| !byte).collect();
        drawn.for_each(|at| {
            let bit = 1 << (at % 8);
            turned[at / 8] = turned[at / 8] & !bit | point[at / 8] & bit;
        });
        let differ: u32 = turned.iter().zip(&point).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert!(f64::from(differ) > 0.6 * dimension as f64, "{differ}");
        turned
    };
    assert!(!filter.is_near_bits(&turn(secret.id())).unwrap());
    assert!(filter.is_near_bits(&point).unwrap());
    // Without a secret that is how it goes: a seed is none.
    let mut open = builder().seed(9).build().unwrap();
    open.insert_bits(&point).unwrap();
    assert!(open.is_near_bits(&turn(9)).unwrap());

    // Keyed files of space 1 were sampled by the id: refused. Space 3 is for keyed ones only.
    let bytes = filter.to_bytes().unwrap();
    let with_space = |bytes: &[u8], space| {
        let mut bytes = bytes.to_vec();
        put(&mut bytes, 104, space);
        reseal(&mut bytes);
        DistanceSensitiveBloom::from_bytes_with(&bytes, &ReadOptions::new().secret(secret.clone()))
            .map(|_| ())
    };
    assert!(with_space(&bytes, 3).is_ok());
    let refused = with_space(&bytes, 1).unwrap_err().to_string();
    assert!(refused.contains("space is 1") && refused.contains("build it again"), "{refused}");
    assert!(with_space(&open.to_bytes().unwrap(), 1).is_ok());
    assert!(with_space(&open.to_bytes().unwrap(), 3).unwrap_err().to_string().contains("for keyed filters"));
    // Everything but answers can be had without the secret.
    assert!(format::verify(&bytes[..]).is_ok());
    assert_eq!(format::header(&bytes[..]).unwrap().identity.cells, filter.bits());
    let missing = DistanceSensitiveBloom::from_bytes(&bytes).unwrap_err();
    assert!(matches!(missing, DecodeError::SecretMissing { id } if id == secret.id()));
}

/// The 8-byte key with this digest under XXH3 with seed 0: each of its steps can be undone.
fn key_for(digest: u64) -> u64 {
    const SECRET: u64 = 0x1cad_21f7_2c81_017c ^ 0xdb97_9083_e96d_d4de;
    const PRIME: u64 = 0x9fb2_1c65_1e98_df25;
    // Newton's iteration doubles the bits of an odd number's inverse that are right.
    let inverse = (0..6).fold(PRIME, |x, _| x.wrapping_mul(2u64.wrapping_sub(PRIME.wrapping_mul(x))));
    let mut h = digest ^ digest >> 28 ^ digest >> 56;
    h = h.wrapping_mul(inverse);
    h ^= (h >> 35) + 8;
    h = h.wrapping_mul(inverse);
    // A sum of three rotations, 64 times, is the identity.
    h = (0..63).fold(h, |h, _| h ^ h.rotate_left(49) ^ h.rotate_left(24));
    (h ^ SECRET).rotate_left(32)
}

#[test]
fn what_is_said_of_keys_that_an_attacker_chooses_is_so() {
    for digest in (0..1000).map(|i| Digest(Digest(i).word(1))) {
        assert_eq!(KeyHasher::default().digest(&key_for(digest.0).to_le_bytes()), digest);
    }
    // Keys of one digest: eight have room in a cuckoo filter, and others have more.
    let mut cuckoo = Cuckoo::new(1_000, 0.01).unwrap();
    let added = [(); 9].map(|()| cuckoo.insert_digest(Digest(1 << 40)).is_ok());
    assert_eq!(added, [true, true, true, true, true, true, true, true, false]);
    assert!(cuckoo.insert("rose").is_ok());
    // Digests that agree modulo 2^61 - 1 are one key to a sketch of any seed.
    for seed in 0..10 {
        let mut sketch = CountMin::builder().columns(1_000).rows(4).seed(seed).build().unwrap();
        (0..8).for_each(|j| _ = sketch.insert_digest(Digest(5 + j * ((1 << 61) - 1))));
        assert_eq!(sketch.count_digest(Digest(5)), 8);
    }
    // A block of a blocked filter, of which keys are chosen that set a bit: it takes no more than it has bits.
    let mut blocked = BlockedBloom::builder().bits(512 * 1000).hashes(6).build().unwrap();
    let in_block =
        |i: u64| Digest((7u128 << 64).div_ceil(1000) as u64 + Digest(i).word(1) % (u64::MAX / 1001));
    let chosen = (0..50_000).filter(|i| blocked.insert_digest(in_block(*i))).count();
    assert!(chosen <= 508, "{chosen}");
    assert!((50_000..60_000).all(|i| blocked.contains_digest(in_block(i))));
    assert!(blocked.fill() < 0.0011, "all other blocks are empty");
}
