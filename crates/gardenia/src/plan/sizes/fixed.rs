//! Sets and maps that are built from all their keys at once.

use super::{ErrorMeans, Figures, LINE, Need, floor, no_room};
use crate::Kind;
use crate::spec::{Param, Spec};
use crate::theory::{binary_fuse, golomb, ribbon};
use crate::{GolombSet, SizeError};
use alloc::borrow::ToOwned;
use alloc::format;

pub(crate) fn fuse_design(items: u64, fpp: f64, within: Option<u64>) -> Result<Figures, SizeError> {
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
    Ok(Figures {
        spec: Spec::new(Kind::BinaryFuse).with(Param::Fingerprint, fingerprint).with(Param::Arity, ARITY),
        items,
        bytes: bytes_of(fingerprint),
        payload: None,
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

pub(crate) fn ribbon_design(items: u64, fpp: f64) -> Result<Figures, SizeError> {
    let fpp = above_floor(fpp, items);
    let bits = ribbon::bits(fpp)?;
    let bytes = ribbon::most_bytes(items, bits);
    let rate = bits.fpp() + floor(items);
    Ok(Figures {
        spec: Spec::new(Kind::Ribbon).fpp(fpp),
        items,
        bytes,
        payload: None,
        fpp: rate,
        bound: rate,
        error: ErrorMeans::FalsePositive,
        lines: 2.0,
        why: "the fewest bits of all: within a percent of the least that any filter needs".to_owned(),
    })
}

pub(crate) fn golomb_design(items: u64, fpp: f64) -> Result<Figures, SizeError> {
    let fpp = above_floor(fpp, items);
    let builder = GolombSet::builder().fpp(fpp);
    let mean = builder.memory_bytes(items)?;
    // The lengths of gaps vary by 1.5 bits or so each: five deviations, and the last word of the index.
    let bytes = mean + 64 + libm::ceil(5.0 * 1.5 * libm::sqrt(items as f64) / 8.0) as u64;
    let range = golomb_range(items, fpp);
    let gap = golomb::bits(1.0 / fpp, golomb::divisor(1.0 / fpp));
    // The index, and half a run of 2,400 bits.
    let run = (1200.0f64).min(items as f64 * gap) / 8.0 / LINE;
    Ok(Figures {
        spec: Spec::new(Kind::GolombSet).fpp(fpp),
        items,
        bytes: bytes.next_multiple_of(8),
        payload: None,
        fpp: golomb::fpp(items, range) + floor(items),
        bound: golomb_bound(items, fpp),
        error: ErrorMeans::FalsePositive,
        lines: 2.0 + run,
        why: "sorted numbers coded by their gaps: small in a file, and slow to ask".to_owned(),
    })
}

/// The numbers among which those of the keys are.
fn golomb_range(items: u64, fpp: f64) -> u64 {
    libm::ceil(items as f64 / fpp).max(1.0) as u64
}

/// The bound on the rate of a coded set: the share of numbers that are taken if no two keys agree.
pub(crate) fn golomb_bound(items: u64, fpp: f64) -> f64 {
    items as f64 / golomb_range(items, fpp) as f64 + floor(items)
}

pub(crate) fn bloomier_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
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
    Ok(Figures {
        spec: Spec::new(Kind::Bloomier)
            .with(Param::ValueBits, need.values)
            .with(Param::Check, check_bits)
            .with(Param::Arity, ARITY),
        items,
        bytes: bytes_of(check_bits) + 8,
        payload: None,
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
