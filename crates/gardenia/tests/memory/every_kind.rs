//! Hostile files of every kind in the table: cut, turned and forged bytes give an error or a
//! filter, never a panic, and never more memory than allowed.

use crate::allocator::peak_of;
use crate::specs;
use gardenia::{Ability, AnyFilter, Digest, Filter, ReadOptions, Spec};

/// What a file may ask for here, and what a decoder may hold beside it.
const ALLOWED: usize = 8 << 20;
const BESIDE: usize = 2 << 20;

fn digests(count: u32) -> Vec<Digest> {
    (1..=count).map(|at| Digest(Digest(1970).word(at))).collect()
}

/// A small file of each spec.
fn files() -> impl Iterator<Item = (Spec, Vec<u8>)> {
    specs::all(60, 0.05).map(|spec| {
        let filter = spec.build_from(digests(60)).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let bytes = filter.to_bytes().unwrap();
        (spec, bytes)
    })
}

/// Reads bytes in every way, and uses what comes out.
fn read(bytes: &[u8], what: &dyn Fn() -> String) -> bool {
    let options = ReadOptions::new().max_bytes(ALLOWED as u64).max_expansion(ALLOWED as u64);
    let asked = digests(80);
    let (read, peak) = peak_of(|| AnyFilter::from_bytes_with(bytes, &options));
    assert!(peak <= ALLOWED + BESIDE, "{}: {peak} bytes of memory", what());
    if let Ok(view) = AnyFilter::view_with(bytes, &options) {
        view.contains_digests(&asked, &mut [false; 80]);
    }
    let Ok(mut filter) = read else { return false };
    let (_, peak) = peak_of(|| {
        filter.contains_digests(&asked, &mut [false; 80]);
        let _ = (filter.fpp(), filter.fill(), filter.estimated_items());
        if let Some(count) = filter.as_count() {
            count.count_digests(&asked, &mut [0; 80]);
        }
        if filter.can(Ability::Insert) {
            let _ = filter.insert_digests(&asked, &mut [false; 80]);
        }
        asked.iter().for_each(|digest| _ = filter.remove_digest(*digest));
        let _ = filter.to_bytes();
    });
    assert!(peak <= 4 * ALLOWED, "{}: {peak} bytes of memory", what());
    true
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Puts all checksums right again, of a file whose payload is one chunk.
fn reseal(bytes: &mut [u8]) {
    let field = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = 104usize.saturating_add(field(bytes, 80)).saturating_add(field(bytes, 84));
    if end + 8 <= bytes.len() {
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
        put(bytes, end, sum);
    }
    let header = field(bytes, 12).next_multiple_of(64);
    let len = bytes.len();
    if header + 24 < len {
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[header..len - 24]);
        put(bytes, len - 24, sum);
        let table = xxhash_rust::xxh3::xxh3_64(&bytes[len - 24..len - 16]);
        put(bytes, len - 16, table);
    }
}

#[test]
fn what_is_sealed_again_is_read_again() {
    for (spec, mut bytes) in files() {
        let before = bytes.clone();
        reseal(&mut bytes);
        assert!(bytes == before && read(&bytes, &|| spec.to_string()), "{spec}");
    }
}

#[test]
fn files_that_are_cut_are_refused() {
    for (spec, bytes) in files() {
        for len in (0..bytes.len()).step_by(7).chain(bytes.len().saturating_sub(30)..bytes.len()) {
            assert!(
                !read(&bytes[..len], &|| format!("{spec}, {len} bytes")),
                "{spec}: {len} of {} bytes",
                bytes.len()
            );
        }
    }
}

#[test]
fn headers_and_parameters_may_claim_anything() {
    let mut accepted = 0;
    for (spec, bytes) in files() {
        let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let end = 104 + field(80) + field(84);
        for at in (8..end.saturating_sub(7)).step_by(4) {
            let old = get(&bytes, at);
            for value in [
                0,
                1,
                u64::MAX,
                1 << 39,
                1 << 62,
                old.wrapping_add(1),
                old.wrapping_mul(2),
                old ^ 1 << 32,
                f64::NAN.to_bits(),
            ] {
                let mut forged = bytes.clone();
                put(&mut forged, at, value);
                reseal(&mut forged);
                accepted += u64::from(read(&forged, &|| format!("{spec}, byte {at}: {value:#x}")));
            }
        }
    }
    assert!(accepted > 1_000, "{accepted} were accepted: do the checksums agree?");
}

#[test]
fn payloads_may_hold_anything() {
    for (spec, bytes) in files() {
        let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let payload = header.next_multiple_of(64)..bytes.len() - 24;
        for trial in 0..24u32 {
            let mut forged = bytes.clone();
            for (at, byte) in forged[payload.clone()].iter_mut().enumerate() {
                let random = Digest(u64::from(trial)).word(1 + at as u32) as u8;
                *byte = match trial {
                    0 => 0,
                    1 => 0xff,
                    2..12 => random,
                    _ if random < 16 => random ^ *byte,
                    _ => *byte,
                };
            }
            reseal(&mut forged);
            read(&forged, &|| format!("{spec}, payload {trial}"));
        }
    }
}
