//! `GD.HADD` and `GD.HEXISTS`: digests in place of items, packed into one string, and one bit for
//! each.
//!
//! A digest is what the filter's hasher gives for the bytes of an item, 8 bytes little-endian:
//! XXH3-64 with the seed that GD.INFO tells. Bit i of the answer, from the lowest of the first byte
//! on, is that of digest i; bits beyond the last are 0.

use super::{Refusal, announce, filter, filter_mut, refused, told, words};
use crate::engine::context::{Context, Failure};
use crate::engine::ffi::Keys;
use crate::engine::stats::Counter;
use crate::values::any::Refused;
use gardenia::Digest;

const NOT_WHOLE: Failure =
    Failure::Text(c"ERR digests have 8 bytes each: the length must be a multiple of 8");
const NO_MEMORY: Failure = Failure::Text(c"ERR Insufficient memory for the answer");

/// Digests that are looked up together: whole bytes of the answer.
const BATCH: usize = 512;

/// The digests in a string.
fn unpack(blob: &[u8]) -> Result<&[[u8; 8]], Failure> {
    match blob.as_chunks() {
        (digests, []) => Ok(digests),
        _ => Err(NOT_WHOLE),
    }
}

/// Reads up to [`BATCH`] digests.
fn read<'r>(packed: &[[u8; 8]], room: &'r mut [Digest; BATCH]) -> &'r [Digest] {
    for (digest, bytes) in room.iter_mut().zip(packed) {
        *digest = Digest(u64::from_le_bytes(*bytes));
    }
    &room[..packed.len()]
}

/// Zeros, a bit for each digest.
fn bitmap(digests: usize) -> Result<Vec<u8>, Failure> {
    let mut bits = Vec::new();
    bits.try_reserve_exact(digests.div_ceil(8)).map_err(|_| NO_MEMORY)?;
    bits.resize(digests.div_ceil(8), 0);
    Ok(bits)
}

/// Sets the bits of a batch.
fn pack(answers: &[bool; BATCH], bits: &mut [u8]) {
    for (bits, answers) in bits.iter_mut().zip(answers.as_chunks::<8>().0) {
        // The truth values of 8 bytes, and a product that brings their lowest bits together in the highest byte.
        let bytes = u64::from_le_bytes(answers.map(u8::from));
        *bits = (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
}

pub(super) fn exists(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    let [_, name, blob] = ctx.args() else { return Err(Failure::Arity) };
    let digests = unpack(blob.bytes())?;
    let mut bits = bitmap(digests.len())?;
    let mut key = keys.open(*name);
    if let Some(key) = &mut key {
        let filter = filter(key)?;
        let (mut room, mut found) = ([Digest(0); BATCH], [false; BATCH]);
        for (packed, bits) in digests.chunks(BATCH).zip(bits.chunks_mut(BATCH / 8)) {
            filter.contains(read(packed, &mut room), &mut found[..packed.len()]);
            found[packed.len()..].fill(false);
            pack(&found, bits);
        }
    }
    ctx.engine().reply_bytes(&bits);
    Ok(())
}

pub(super) fn add(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Failure> {
    told(ctx, add_all(ctx, keys))
}

fn add_all(ctx: &Context<'_>, keys: &mut Keys<'_>) -> Result<(), Refusal> {
    let [_, name, blob] = ctx.args() else { return Err(Failure::Arity.into()) };
    let digests = unpack(blob.bytes())?;
    let mut key = keys.open_mut(*name)?;
    let mut filter = filter_mut(&mut key)?;
    if !filter.inserts() {
        return Err(refused(Refused::Fixed));
    }
    let mut bits = bitmap(digests.len())?;
    let (mut taken, mut error) = (0, None);
    let (mut room, mut new) = ([Digest(0); BATCH], [false; BATCH]);
    for (packed, bits) in digests.chunks(BATCH).zip(bits.chunks_mut(BATCH / 8)) {
        new.fill(false);
        if let Err((at, why)) =
            filter.insert(read(packed, &mut room), &mut new[..packed.len()], || ctx.limit())
        {
            new[at..].fill(false);
            (taken, error) = (taken + at, Some(why));
        } else {
            taken += packed.len();
        }
        pack(&new, bits);
        if error.is_some() {
            break;
        }
    }
    let engine = ctx.engine();
    let changed = if filter.is_set() { bits.iter().any(|bits| *bits != 0) } else { taken > 0 };
    drop(key);
    if changed {
        match error {
            None => engine.replicate_verbatim(),
            Some(_) => ctx.replicate_made(c"GD.HADD", *name, &[&blob.bytes()[..taken * 8]]),
        }
        announce(ctx, keys, *name, c"gd.hadd");
    }
    Counter::Added.add(taken);
    match error {
        None => engine.reply_bytes(&bits),
        Some(why) => {
            // For the counts of INFO: the words are others.
            drop(refused(why));
            let why = match why {
                Refused::Full => "the filter is full",
                Refused::Copies => "the filter holds no further copy of the next item",
                _ => "the filter may not grow",
            };
            let of = digests.len();
            return Err(words(format!("{why}: the first {taken} of {of} digests went in, and no more")));
        }
    }
    Ok(())
}

#[test]
fn answers_are_packed_from_the_lowest_bit_on() {
    let mut answers = [false; BATCH];
    for at in [0, 3, 7, 9, 511] {
        answers[at] = true;
    }
    let mut bits = [0; BATCH / 8];
    pack(&answers, &mut bits);
    assert_eq!((bits[0], bits[1], bits[2], bits[63]), (0b1000_1001, 0b10, 0, 0b1000_0000));
    for byte in 0..=255u8 {
        let answers: [bool; BATCH] = std::array::from_fn(|at| at < 8 && byte >> at & 1 == 1);
        pack(&answers, &mut bits);
        assert_eq!(bits[0], byte);
    }
    assert_eq!(unpack(&[0; 9]), Err(NOT_WHOLE));
    assert_eq!(unpack(&[]).map(<[_]>::len), Ok(0));
}
