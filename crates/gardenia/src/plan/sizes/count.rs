//! Filters that count.

use super::member::cells_shape;
use super::{
    Ability, ErrorMeans, FPP, Figures, MANY, Need, bloom_probes, bloom_rates, cell_bytes, cells_in, floor,
    no_room, shaped, sketch,
};
use crate::Kind;
use crate::filter::{PolicyId, Update};
use crate::index::Form;
use crate::spec::Param;
use crate::theory::concentration::ones_at_most;
use crate::theory::{bloom, count_min};
use crate::{CountMin, CountingBloom, SizeError, SpectralBloom};
use alloc::borrow::ToOwned;
use alloc::format;

/// How probable it may be that a count of a stream is farther above the truth than told.
const DELTA: f64 = 0.01;

/// Bits of a cell that counts so far.
pub(super) fn width_of(counts: u64, least: u32) -> u32 {
    (64 - counts.leading_zeros()).clamp(least, 32)
}

pub(crate) fn counting_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let width = width_of(need.counts, 4);
    let shape = match within {
        None => CountingBloom::builder().items(items).fpp(fpp).width(width).shape()?,
        Some(bytes) => cells_shape(items, fpp, Some(cells_in(bytes, width)))?,
    };
    let (fpp, bound) = bloom_rates(need, shape, items);
    Ok(Figures {
        spec: shaped(Kind::Counting, items, Param::Cells, shape).with(Param::Width, width),
        items,
        bytes: cell_bytes(shape.cells, width),
        payload: None,
        fpp,
        bound,
        error: ErrorMeans::FalsePositive,
        lines: bloom_probes(need, shape, items),
        why: format!(
            "counters of {width} bits in the place of bits: keys come out again, and filters add up"
        ),
    })
}

pub(crate) fn spectral_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let width = width_of(need.counts, 4);
    let policy = if need.needs(Ability::Remove) || need.needs(Ability::Merge) {
        PolicyId::MinimumSelection
    } else {
        PolicyId::MinimumIncrease
    };
    let shape = match within {
        None => SpectralBloom::builder().items(items).fpp(fpp).width(width).shape()?,
        Some(bytes) => cells_shape(items, fpp, Some(cells_in(bytes, width)))?,
    };
    let (fpp, bound) = bloom_rates(need, shape, items);
    Ok(Figures {
        spec: shaped(Kind::Spectral, items, Param::Cells, shape)
            .with(Param::Width, width)
            .with(Param::Policy, policy.name()),
        items,
        bytes: cell_bytes(shape.cells, width),
        payload: None,
        fpp,
        bound,
        error: ErrorMeans::FalsePositive,
        // A count looks at all cells.
        lines: f64::from(shape.hashes),
        why: match policy {
            PolicyId::MinimumIncrease => {
                "counts by raising only the least cells: the smallest errors".to_owned()
            }
            _ => "counts by the least of a key's cells, and can be removed or merged".to_owned(),
        },
    })
}

/// A sketch whose rows tell absent keys from present ones.
pub(crate) fn count_min_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    const WIDTH: u32 = 32;
    let rate = |columns: u64, rows: u32| {
        bloom::fpp_partitioned(columns.saturating_mul(rows.into()), items, rows) + floor(items)
    };
    let columns_for = |rows: u32| {
        let one = libm::pow(fpp, 1.0 / f64::from(rows));
        let mut columns = libm::ceil(-(items as f64) / libm::log1p(-one)).max(1.0) as u64;
        while rate(columns, rows) > fpp && columns < crate::index::MAX_CELLS {
            columns += columns / 64 + 1;
        }
        columns
    };
    let (columns, rows) = match within {
        Some(bytes) => (1..=16)
            .map(|rows| (cells_in(bytes, WIDTH) / u64::from(rows), rows))
            .filter(|(columns, _)| *columns > 0)
            .min_by(|a, b| rate(a.0, a.1).total_cmp(&rate(b.0, b.1)))
            .ok_or(no_room(bytes))?,
        None => (1..=16)
            .map(|rows| (columns_for(rows), rows))
            .min_by_key(|(columns, rows)| columns.saturating_mul((*rows).into()))
            .unwrap_or((1, 1)),
    };
    let update = if need.needs(Ability::Merge) { Update::Plain } else { Update::Conservative };
    // Each row has its share of the doubt.
    let confidence = 1.0 - (1.0 - need.confidence) / f64::from(rows);
    let fill = ones_at_most(columns, items, 1, confidence) / columns as f64;
    Ok(Figures {
        spec: sketch(columns, rows, update),
        items,
        bytes: CountMin::builder().columns(columns).rows(rows).memory_bytes()?,
        payload: None,
        fpp: rate(columns, rows),
        bound: libm::pow(fill.min(1.0), f64::from(rows)) + floor(items),
        error: ErrorMeans::FalsePositive,
        lines: f64::from(rows),
        why: "a sketch with one cell per row: counts to four billion, in cells of 32 bits".to_owned(),
    })
}

/// A sketch for a stream of any length: the rate is how far a count may be above the truth.
pub(crate) fn stream_design(need: &Need) -> Result<Figures, SizeError> {
    let builder = match (need.fpp, need.bytes) {
        (None, Some(bytes)) => CountMin::builder().bytes(bytes).rows(5),
        (fpp, _) => CountMin::builder().epsilon(fpp.unwrap_or(FPP)).delta(DELTA),
    };
    let shape = builder.shape()?;
    let update = if need.needs(Ability::Merge) { Update::Plain } else { Update::Conservative };
    let epsilon = count_min::epsilon(Form::Original, shape.columns);
    let delta = count_min::failure_original(epsilon, shape.columns, shape.rows);
    Ok(Figures {
        spec: sketch(shape.columns, shape.rows, update),
        items: need.items.unwrap_or(MANY),
        bytes: builder.memory_bytes()?,
        payload: None,
        fpp: delta,
        bound: delta,
        error: ErrorMeans::CountAbove(need.fpp.unwrap_or(epsilon).max(epsilon)),
        lines: f64::from(shape.rows),
        why: "counts a stream of any length in a size that does not depend on it".to_owned(),
    })
}
