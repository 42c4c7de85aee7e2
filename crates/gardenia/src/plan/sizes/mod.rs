//! How each kind is sized for a need, and what it promises then.
//!
//! Every kind has one function: for a rate, or, where memory is given alone, with the least rate in it. All figures come
//! from `theory` and from the builders, so that a design is what is built.

mod count;
mod fixed;
mod grow;
mod member;

pub(super) use count::{count_min_design, counting_design, spectral_design, stream_design};
pub(super) use fixed::{bloomier_design, fuse_design, golomb_design, ribbon_design};
pub(super) use grow::{a2_design, dynamic_design, scalable_design, stable_design};
pub(super) use member::{blocked_design, bloom_design, choice_design, compressed_design, cuckoo_design};

use super::design::{ErrorMeans, Parameters};
use super::need::{Ability, Need};
use crate::theory::bloom::{self, Shape};
use crate::theory::concentration::rate_at_most;
use crate::{AnyScheme, Scheme, SchemeId, SizeError};
use alloc::string::String;

/// The rate without another wish.
pub(super) const FPP: f64 = 0.01;

/// The rate from which on a filter is of no use: it says yes to every second absent key.
pub(super) const USELESS: f64 = 0.5;

/// The least rate that is looked for in given memory.
const LEAST: f64 = 1e-12;

/// Keys that the figures of a filter for any number are for.
pub(super) const MANY: u64 = 1_000_000;

/// Bytes of a cache line.
pub(super) const LINE: f64 = 64.0;

/// The figures of a sized design, before they are put together.
pub(super) struct Sized {
    pub(super) parameters: Parameters,
    pub(super) items: u64,
    pub(super) bytes: u64,
    pub(super) file_bytes: Option<u64>,
    pub(super) fpp: f64,
    pub(super) bound: f64,
    pub(super) error: ErrorMeans,
    pub(super) lines: f64,
    pub(super) why: String,
}

/// The design for a rate, or with the least rate that fits.
pub(super) fn search(
    fpp: f64,
    within: Option<u64>,
    sized: impl Fn(f64) -> Result<Sized, SizeError>,
) -> Result<Sized, SizeError> {
    let Some(bytes) = within else { return sized(fpp) };
    let fits = |log: f64| sized(libm::exp2(-log)).ok().filter(|design| design.bytes <= bytes);
    let (mut low, mut high) = (-libm::log2(USELESS), -libm::log2(LEAST));
    let Some(mut best) = fits(low) else { return Err(SizeError::Memory { bytes }) };
    // A fiftieth of a bit of the rate is near enough.
    while high - low > 0.02 {
        let middle = 0.5 * (low + high);
        match fits(middle) {
            Some(design) => (best, low) = (design, middle),
            None => high = middle,
        }
    }
    Ok(best)
}

fn floor(items: u64) -> f64 {
    items as f64 * libm::exp2(-64.0)
}

fn scheme(hashes: u32) -> AnyScheme {
    AnyScheme::new(SchemeId::default(), hashes)
}

/// Bytes of bits.
fn bits_bytes(bits: u64) -> u64 {
    bits.div_ceil(64) * 8
}

/// Bytes of cells that do not cross words.
fn cell_bytes(cells: u64, width: u32) -> u64 {
    cells.div_ceil(u64::from(64 / width.clamp(1, 32))).saturating_mul(8)
}

/// Cells that fit.
fn cells_in(bytes: u64, width: u32) -> u64 {
    (bytes / 8).saturating_mul(u64::from(64 / width.clamp(1, 32)))
}

/// The predicted rate of a filter of the default scheme, and its bound.
fn bloom_rates(need: &Need, shape: Shape, items: u64) -> (f64, f64) {
    rates_at(shape, items, need.confidence)
}

fn rates_at(Shape { cells, hashes }: Shape, items: u64, confidence: f64) -> (f64, f64) {
    let fpp = scheme(hashes).planned_fpp(cells, items);
    let excess = (fpp - bloom::fpp_exact(cells, items, hashes)).max(0.0);
    (fpp, rate_at_most(cells, items, hashes, confidence) + excess)
}

/// Probes of a query: three at once, and for those that passed the rest.
fn probes(hashes: u32, fill: f64, present: f64) -> f64 {
    let k = f64::from(hashes);
    let absent = if k <= 3.0 { k } else { 3.0 + libm::pow(fill, 3.0) * (k - 3.0) };
    present * k + (1.0 - present) * absent
}

fn bloom_probes(need: &Need, Shape { cells, hashes }: Shape, items: u64) -> f64 {
    probes(hashes, bloom::expected_fill(cells, items, hashes), need.present)
}

/// What was said when memory is too little for any cells.
fn no_room(bytes: u64) -> SizeError {
    SizeError::Memory { bytes }
}
