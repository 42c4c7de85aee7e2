//! Filters that grow, and filters that forget.

use super::count::width_of;
use super::{
    ErrorMeans, Figures, MANY, Need, Shape, bits_bytes, bloom_bound, bloom_probes, cell_bytes, cells_in,
    floor, no_room, probes, rates_at, scheme, sum_bound,
};
use crate::filter::Builder;
use crate::index::{AnyScheme, Scheme};
use crate::spec::{Param, Spec};
use crate::theory::concentration::bennett;
use crate::theory::infini::Rule;
use crate::theory::scalable::compound;
use crate::theory::{a2, stable};
use crate::{A2Bloom, DynamicBloom, SizeError, StableBloom};
use crate::{Kind, ScalableBloom};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

/// Keys in a layer of a dynamic filter for any number.
const LAYER: u64 = 100_000;

pub(crate) fn scalable_design(need: &Need, fpp: f64) -> Result<Figures, SizeError> {
    // The first slice takes what is expected; of an unknown number, some thousand.
    let first = need.items.unwrap_or(10_000);
    let spec = Spec::new(Kind::Scalable).items(first).fpp(fpp);
    let builder = Builder::<ScalableBloom>::of(&spec);
    let (mut items, mut bytes, mut slices) = (0u64, 0u64, Vec::new());
    let goal = need.items.unwrap_or(if need.bytes.is_some() { u64::MAX } else { MANY });
    while items < goal {
        let Ok((shape, capacity)) = builder.shape(slices.len()) else { break };
        let more = bits_bytes(shape.cells);
        if need.items.is_none() && need.bytes.is_some_and(|allowed| bytes + more > allowed) {
            break;
        }
        let here = capacity.min(goal - items);
        bytes += more;
        items += here;
        slices.push((shape, here));
    }
    if slices.is_empty() {
        builder.shape(0)?;
        return Err(no_room(need.bytes.unwrap_or(0)));
    }
    let confidence = 1.0 - (1.0 - need.confidence) / slices.len() as f64;
    let rates: Vec<(f64, f64)> = slices
        .iter()
        .map(|(shape, here)| {
            let planned = scheme(shape.hashes).planned_fpp(shape.cells, *here);
            rates_at(*shape, slice_items(*here, planned), confidence)
        })
        .collect();
    // An absent key is looked for in all slices; a present one from the newest back to its own.
    let lines: f64 = slices
        .iter()
        .rev()
        .scan(0.0, |newer, (shape, here)| {
            let absent = bloom_probes(&Need { present: 0.0, ..need.clone() }, *shape, *here);
            let found = *here as f64 / items as f64 * (*newer + f64::from(shape.hashes));
            *newer += absent;
            Some((1.0 - need.present) * absent + need.present * found)
        })
        .sum();
    Ok(Figures {
        spec,
        items,
        bytes,
        payload: None,
        fpp: compound(rates.iter().map(|rate| rate.0)),
        bound: compound(rates.iter().map(|rate| rate.1)),
        error: ErrorMeans::FalsePositive,
        lines,
        why: "grows slice by slice, and keeps the rate however many keys come".to_owned(),
    })
}

/// Keys in a part of the rate `planned` that has counted `items`: keys that it takes for known are
/// not counted, so that it is a little fuller than its count.
pub(crate) fn slice_items(items: u64, planned: f64) -> u64 {
    libm::ceil(items as f64 / (1.0 - planned.min(0.5))) as u64
}

/// Bits per key of pages that have just split, which is the worst of times: a slot, and for half a
/// page its head, two entries of the directory and half a step of free slots, rounded up a little.
fn page_bits(rule: &Rule) -> f64 {
    let width = f64::from(rule.width);
    width + (600.0 + 9.0 * width) / (f64::from(rule.page(rule.depth)) / 2.0)
}

pub(crate) fn infini_design(need: &Need, fpp: f64) -> Result<Figures, SizeError> {
    let any = Rule::new(fpp, 1, None)?;
    let per_key = page_bits(&any);
    let (items, spec) = match (need.items, need.bytes) {
        (Some(items), _) => {
            let items = need.insertions(items).0;
            (items, Spec::new(Kind::Infini).items(items).fpp(fpp))
        }
        // Of an unknown number, as many as memory has room for, or a million.
        (None, Some(bytes)) if bytes < 4_096 => return Err(no_room(bytes)),
        (None, bytes) => {
            let items = bytes.map_or(MANY, |bytes| (bytes as f64 * 8.0 / per_key) as u64);
            (items, Spec::new(Kind::Infini).fpp(fpp))
        }
    };
    let rule = if need.items.is_some() { Rule::new(fpp, items, None)? } else { any };
    let rate = rule.fpp_at(items);
    let bytes = match need.items {
        // Pages have room for what they hold on average: some need a little more, and some split.
        Some(_) => crate::kinds::measure(&spec)?.memory as f64 * 1.1 + 600.0,
        None => (items as f64 * page_bits(&rule) / 8.0).max(4_096.0),
    };
    let bytes = libm::ceil(bytes) as u64;
    Ok(Figures {
        spec,
        items: need.items.unwrap_or(items),
        bytes,
        payload: None,
        fpp: rate,
        bound: sum_bound(rate),
        error: ErrorMeans::FalsePositive,
        lines: 1.0,
        why: "grows in place, page by page, and keeps the rate however many keys come; keys can be removed"
            .to_owned(),
    })
}

pub(crate) fn dynamic_design(need: &Need, fpp: f64) -> Result<Figures, SizeError> {
    let width = width_of(need.counts, 4);
    let layer = need.items.map_or(LAYER, |items| need.insertions(items).0);
    let of = |rate: f64| DynamicBloom::builder().items(layer).fpp(rate).width(width).shape();
    // Of an unknown number, so many layers as memory has room for, or a million keys fill.
    let layers = match (need.items, need.bytes) {
        (Some(_), _) => 1,
        (None, None) => MANY / LAYER,
        (None, Some(bytes)) => (bytes / cell_bytes(of(fpp)?.cells, width).max(1)).clamp(1, 4096),
    };
    let mut rate = -libm::expm1(libm::log1p(-fpp) / layers as f64);
    let (mut shape, mut layers) = (of(rate)?, layers);
    if let (None, Some(bytes)) = (need.items, need.bytes) {
        while layers > 1 && layers * cell_bytes(shape.cells, width) > bytes {
            layers -= 1;
            rate = -libm::expm1(libm::log1p(-fpp) / layers as f64);
            shape = of(rate)?;
        }
    }
    let confidence = 1.0 - (1.0 - need.confidence) / layers as f64;
    let one = rates_at(shape, layer, confidence);
    let (probes, hashes) = (bloom_probes(&Need { present: 0.0, ..need.clone() }, shape, layer), shape.hashes);
    let asked = layers as f64;
    let present = f64::from(hashes) + (asked - 1.0) / 2.0 * probes;
    Ok(Figures {
        spec: Spec::new(Kind::Dynamic).items(layer).fpp(rate).with(Param::Width, width),
        items: need.items.unwrap_or(layers * layer),
        bytes: layers * cell_bytes(shape.cells, width),
        payload: None,
        fpp: compound((0..layers).map(|_| one.0)),
        bound: compound((0..layers).map(|_| one.1)),
        error: ErrorMeans::FalsePositive,
        lines: (1.0 - need.present) * asked * probes + need.present * present,
        why: format!(
            "grows by layers of {layer} keys, which come out again; the rate grows with their number"
        ),
    })
}

pub(crate) fn a2_design(need: &Need, fpp: f64, within: Option<u64>) -> Result<Figures, SizeError> {
    let builder = A2Bloom::builder();
    let builder = match (need.items, need.bytes, within) {
        (Some(items), _, None) => builder.items(items).fpp(fpp),
        (Some(items), _, Some(bytes)) => builder.items(items).bits(bytes / 16 * 128),
        (None, Some(bytes), _) => builder.bits(bytes / 16 * 128).fpp(fpp),
        (None, None, _) => return Err(SizeError::ZeroItems),
    };
    let shape = builder.shape()?;
    let half = Shape { cells: shape.bits / 2, hashes: shape.hashes };
    let one = scheme(half.hashes).planned_fpp(half.cells, shape.capacity);
    let absent = bloom_probes(&Need { present: 0.0, ..need.clone() }, half, shape.capacity);
    Ok(Figures {
        spec: Spec::new(Kind::A2)
            .items(shape.capacity)
            .with(Param::Bits, shape.bits)
            .with(Param::Hashes, shape.hashes),
        items: shape.capacity,
        bytes: 2 * bits_bytes(half.cells),
        payload: None,
        fpp: compound([one, one]),
        bound: a2_bound(shape, scheme(shape.hashes), need.confidence),
        error: ErrorMeans::FalsePositive,
        lines: (1.0 - need.present) * 2.0 * absent + need.present * (f64::from(half.hashes) + 0.5 * absent),
        why: "two buffers that take turns: the last keys are found for certain, older ones go".to_owned(),
    })
}

/// The bound on the rate of two buffers, both as full as they become.
pub(crate) fn a2_bound(shape: a2::A2Shape, scheme: AnyScheme, confidence: f64) -> f64 {
    let half = Shape { cells: shape.bits / 2, hashes: shape.hashes };
    let met = slice_items(shape.capacity, scheme.planned_fpp(half.cells, shape.capacity));
    let planned = scheme.planned_fpp(half.cells, met);
    // Each buffer has its share of the doubt.
    let most = bloom_bound(half, met, planned, 1.0 - (1.0 - confidence) / 2.0);
    compound([most, most])
}

pub(crate) fn stable_design(need: &Need, fpp: f64) -> Result<Figures, SizeError> {
    const WIDTH: u32 = 4;
    let builder = StableBloom::builder().fpp(fpp).width(WIDTH);
    let builder = match (need.items, need.bytes) {
        (Some(items), _) => builder.items(items),
        (None, Some(bytes)) => builder.cells(cells_in(bytes, WIDTH)),
        (None, None) => return Err(SizeError::ZeroItems),
    };
    let shape @ stable::StableShape { cells, hashes, max, decrements } = builder.shape()?;
    let zeros = stable::zero_fraction(cells, hashes, max, decrements);
    let rate = stable::stable_fpp(cells, hashes, max, decrements);
    // What it remembers, as surely as it tells absent keys.
    let items = need.items.unwrap_or_else(|| stable::memory(cells, hashes, max, decrements, fpp));
    Ok(Figures {
        spec: Spec::new(Kind::Stable)
            .with(Param::Cells, cells)
            .with(Param::Hashes, hashes)
            .with(Param::Width, WIDTH)
            .with(Param::Decrements, decrements),
        items,
        bytes: cell_bytes(cells, WIDTH),
        payload: None,
        fpp: rate + floor(items),
        bound: stable_bound(shape, items, need.confidence),
        error: ErrorMeans::FalsePositive,
        lines: probes(hashes, 1.0 - zeros, need.present),
        why: "forgets keys by chance, the older the likelier, with the same small work at every key"
            .to_owned(),
    })
}

/// The bound on the rate of a stable filter. Cells are set and lowered by chance; a run lowers
/// neighbours together, which the factor allows for.
pub(crate) fn stable_bound(shape: stable::StableShape, items: u64, confidence: f64) -> f64 {
    let stable::StableShape { cells, hashes, max, decrements } = shape;
    let zeros = stable::zero_fraction(cells, hashes, max, decrements);
    let variance = 2.0 * cells as f64 * zeros * (1.0 - zeros);
    let fill = 1.0 - zeros + bennett(variance, confidence) / cells as f64;
    libm::pow(fill.min(1.0), f64::from(hashes)) + floor(items)
}
