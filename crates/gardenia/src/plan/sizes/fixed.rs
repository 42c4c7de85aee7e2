//! Sets and maps that are made of all their keys at once.

use super::{ErrorMeans, LINE, Need, Parameters, Sized, floor, no_room};
use crate::theory::{binary_fuse, golomb, ribbon};
use crate::{GolombSet, SizeError};
use alloc::borrow::ToOwned;
use alloc::format;

pub(in crate::plan) fn fuse_design(items: u64, fpp: f64, within: Option<u64>) -> Result<Sized, SizeError> {
    const ARITY: u32 = 3;
    let cells = binary_fuse::shape(items, ARITY)?.cells();
    let bytes_of = |width: u32| (cells * u64::from(width)).div_ceil(64) * 8;
    let fingerprint = match within {
        None => binary_fuse::width(items, fpp)?,
        Some(bytes) => {
            [32, 16, 8].into_iter().find(|width| bytes_of(*width) <= bytes).ok_or(no_room(bytes))?
        }
    };
    let rate = binary_fuse::fpp(items, fingerprint);
    Ok(Sized {
        parameters: Parameters::Fuse { fingerprint, arity: ARITY },
        items,
        bytes: bytes_of(fingerprint),
        file_bytes: None,
        fpp: rate,
        bound: rate,
        error: ErrorMeans::FalsePositive,
        lines: f64::from(ARITY),
        why: "three reads that do not wait for each other, in 1.13 times the least bits of its rate"
            .to_owned(),
    })
}

/// The rate without what equal digests add to it, if that shows.
fn above_floor(fpp: f64, items: u64) -> f64 {
    let floor = floor(items);
    if floor > 9e-10 * fpp { fpp - floor } else { fpp }
}

pub(in crate::plan) fn ribbon_design(items: u64, fpp: f64) -> Result<Sized, SizeError> {
    let fpp = above_floor(fpp, items);
    let bits = ribbon::bits(fpp)?;
    // Beyond what many keys take: the last layer, the borders of segments, whole blocks, and an attempt or two more.
    let n = items as f64;
    let slots = if items <= 2048 { 1.18 * n + 320.0 } else { 1.006 * n + 760.0 };
    let per_slot = ribbon::bits_per_key(bits);
    let bytes = libm::ceil(slots * per_slot / 64.0) as u64 * 8;
    let rate = bits.fpp() + floor(items);
    Ok(Sized {
        parameters: Parameters::Ribbon { fpp },
        items,
        bytes,
        file_bytes: None,
        fpp: rate,
        bound: rate,
        error: ErrorMeans::FalsePositive,
        lines: 2.0,
        why: "the fewest bits of all: within a percent of the least that any filter needs".to_owned(),
    })
}

pub(in crate::plan) fn golomb_design(items: u64, fpp: f64) -> Result<Sized, SizeError> {
    let fpp = above_floor(fpp, items);
    let builder = GolombSet::builder().fpp(fpp);
    let mean = builder.memory_bytes(items)?;
    // The lengths of gaps vary by 1.5 bits or so each: five deviations, and the last word of the index.
    let bytes = mean + 64 + libm::ceil(5.0 * 1.5 * libm::sqrt(items as f64) / 8.0) as u64;
    let range = libm::ceil(items as f64 / fpp).max(1.0) as u64;
    let gap = golomb::bits(1.0 / fpp, golomb::divisor(1.0 / fpp));
    // The index, and half a run of 2,400 bits.
    let run = (1200.0f64).min(items as f64 * gap) / 8.0 / LINE;
    Ok(Sized {
        parameters: Parameters::Golomb { fpp },
        items,
        bytes: bytes.next_multiple_of(8),
        file_bytes: None,
        fpp: golomb::fpp(items, range) + floor(items),
        bound: items as f64 / range as f64 + floor(items),
        error: ErrorMeans::FalsePositive,
        lines: 2.0 + run,
        why: "sorted numbers coded by their gaps: small in a file, and slow to ask".to_owned(),
    })
}

pub(in crate::plan) fn bloomier_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Sized, SizeError> {
    const ARITY: u32 = 3;
    const MAX_CHECK: u32 = 30;
    let cells = binary_fuse::shape(items, ARITY)?.cells();
    let bytes_of = |check: u32| {
        let bits = cells.saturating_mul(u64::from(need.values + check));
        bits.div_ceil(64).saturating_mul(8)
    };
    let check_bits = match within {
        None => {
            let check = libm::ceil(-libm::log2(fpp) - 1e-9).max(1.0);
            if check > f64::from(MAX_CHECK) {
                let floor = libm::exp2(-f64::from(MAX_CHECK));
                return Err(SizeError::FppBelowFloor { fpp, floor, items });
            }
            check as u32
        }
        Some(bytes) => (1..=MAX_CHECK).rev().find(|check| bytes_of(*check) <= bytes).ok_or(no_room(bytes))?,
    };
    let rate = libm::exp2(-f64::from(check_bits)) + floor(items);
    Ok(Sized {
        parameters: Parameters::Bloomier { value_bits: need.values, check_bits, arity: ARITY },
        items,
        bytes: bytes_of(check_bits) + 8,
        file_bytes: None,
        fpp: rate,
        bound: rate,
        error: ErrorMeans::FalsePositive,
        lines: f64::from(ARITY),
        why: format!(
            "a map without its keys: {} bits of value and {check_bits} of check in each cell",
            need.values
        ),
    })
}
