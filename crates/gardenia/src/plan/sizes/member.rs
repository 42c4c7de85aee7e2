//! Sets that keys are put into one by one.

use super::{
    ErrorMeans, Figures, LEAST, Need, Shape, bits_bytes, bloom_probes, bloom_rates, cells_in, floor, no_room,
    probes, shaped,
};
use crate::Kind;
use crate::cells::{WIDTHS, bucket_bytes};
use crate::filter::Effort;
use crate::spec::{Param, Spec};
use crate::theory::concentration::{bennett, blocked_rate_at_most, ones, split_block_rate_at_most};
use crate::theory::{blocked, bloom, choices, compressed, cuckoo, split_block};
use crate::{BlockedBloom, Bloom, ChoiceBloom, CompressedBloom, SizeError};
use alloc::borrow::ToOwned;
use alloc::format;

/// Bits per key in memory that a compressed filter may take where no memory is given.
const WIRE_MEMORY: f64 = 32.0;

pub(crate) fn blocked_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let shape = match within {
        None => BlockedBloom::builder().items(items).fpp(fpp).shape()?,
        Some(bytes) => {
            let blocks = bytes / 64;
            if blocks == 0 {
                return Err(no_room(bytes));
            }
            Shape { cells: blocks.min(1 << 31) * 512, hashes: blocked::best_hashes(blocks, items) }
        }
    };
    let blocks = shape.cells / blocked::BLOCK_BITS;
    // The closed form cancels below this.
    let fpp = blocked::fpp(blocks, items, shape.hashes).max(1e-11) + floor(items);
    Ok(Figures {
        spec: shaped(Kind::Blocked, items, Param::Bits, shape),
        items,
        bytes: bits_bytes(shape.cells),
        payload: None,
        fpp,
        bound: blocked_bound(blocks, items, shape.hashes, need.confidence),
        error: ErrorMeans::FalsePositive,
        lines: 1.0,
        why: "one cache line per key, present or absent: the fastest to fill and to ask".to_owned(),
    })
}

/// The bound on the rate of a blocked filter.
pub(crate) fn blocked_bound(blocks: u64, items: u64, hashes: u32, confidence: f64) -> f64 {
    blocked_rate_at_most(blocks, items, hashes, confidence) + floor(items)
}

pub(crate) fn split_block_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let blocks = match within.map(|bytes| (bytes, bytes / 32)) {
        None => split_block::shape(items, fpp)?.cells / split_block::BLOCK_BITS,
        Some((bytes, 0)) => return Err(no_room(bytes)),
        Some((_, blocks)) => blocks.min(split_block::MAX_BLOCKS),
    };
    let bits = blocks * split_block::BLOCK_BITS;
    Ok(Figures {
        spec: Spec::new(Kind::SplitBlock).items(items).with(Param::Bits, bits),
        items,
        bytes: bits_bytes(bits),
        payload: None,
        fpp: split_block::fpp(blocks, items) + floor(items),
        bound: split_block_bound(blocks, items, need.confidence),
        error: ErrorMeans::FalsePositive,
        lines: 1.0,
        why: "the filter of Parquet files, and the fastest where keys come one by one".to_owned(),
    })
}

/// The bound on the rate of a split-block filter.
pub(crate) fn split_block_bound(blocks: u64, items: u64, confidence: f64) -> f64 {
    split_block_rate_at_most(blocks, items, confidence) + floor(items)
}

/// The shape of a filter of the default scheme: for the rate, or the best of this many cells.
pub(super) fn cells_shape(items: u64, fpp: f64, cells: Option<u64>) -> Result<Shape, SizeError> {
    let builder = Bloom::builder().items(items);
    match cells {
        None => builder.fpp(fpp).shape(),
        Some(cells) => builder.bits(cells.min(crate::index::MAX_CELLS)).shape(),
    }
}

pub(crate) fn bloom_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let shape = cells_shape(items, fpp, within.map(|bytes| cells_in(bytes, 1)))?;
    let (fpp, bound) = bloom_rates(need, shape, items);
    Ok(Figures {
        spec: shaped(Kind::Bloom, items, Param::Bits, shape),
        items,
        bytes: bits_bytes(shape.cells),
        payload: None,
        fpp,
        bound,
        error: ErrorMeans::FalsePositive,
        lines: bloom_probes(need, shape, items),
        why: "the classical filter: any rate, and a little smaller than blocked".to_owned(),
    })
}

pub(crate) fn choice_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
    effort: Effort,
) -> Result<Figures, SizeError> {
    // The law of keys that choose takes minutes for hundreds of hashes, and nothing is gained there.
    if within.is_none() && fpp > 0.0 && fpp < LEAST {
        return Err(SizeError::FppBelowFloor { fpp, floor: LEAST, items });
    }
    let builder = ChoiceBloom::builder().items(items).effort(effort);
    let builder = match within {
        None => builder.fpp(fpp),
        Some(bytes) => builder.bits(cells_in(bytes, 1).min(crate::index::MAX_CELLS)),
    };
    let (Shape { cells, hashes }, fpp) = (builder.shape()?, builder.planned_fpp()?);
    let partitioned = effort == Effort::Partitioned;
    let groups = if partitioned { 1 } else { 2 };
    let fill = choice_fill(fpp, hashes, groups);
    let bound = choice_bound(Shape { cells, hashes }, items, fpp, groups, need.confidence);
    let absent = probes(hashes, fill, 0.0);
    let lines = if partitioned {
        1.0 + probes(hashes, fill, need.present)
    } else {
        // A present key is found in its first group, or in its second after a look at the first.
        (1.0 - need.present) * 2.0 * absent + need.present * (f64::from(hashes) + 0.5 * absent)
    };
    Ok(Figures {
        spec: shaped(Kind::Choice, items, Param::Bits, Shape { cells, hashes })
            .with(Param::Effort, effort.name()),
        items,
        bytes: bits_bytes(cells),
        payload: None,
        fpp,
        bound,
        error: ErrorMeans::FalsePositive,
        lines,
        why: if partitioned {
            "a Bloom filter whose keys choose their bits together: a fifth smaller, and slow to build"
                .to_owned()
        } else {
            "a Bloom filter whose keys choose between two groups: fewer errors at low rates".to_owned()
        },
    })
}

/// The fill that gives this rate.
fn choice_fill(fpp: f64, hashes: u32, groups: u32) -> f64 {
    let one = -libm::expm1(libm::log1p(-fpp.min(1.0 - 1e-9)) / f64::from(groups));
    libm::pow(one, 1.0 / f64::from(hashes))
}

/// The bound on the rate of a filter of keys that choose: the fill that gives the rate `fpp`, and
/// what chance adds to it as in a plain filter of as many throws. Keys that choose even out what
/// chance does.
pub(crate) fn choice_bound(
    Shape { cells, hashes }: Shape,
    items: u64,
    fpp: f64,
    groups: u32,
    confidence: f64,
) -> f64 {
    let spread = ones(cells, items, hashes).std_dev;
    let more = bennett(spread * spread, confidence) / cells as f64;
    choices::fpp_at_fill((choice_fill(fpp, hashes, groups) + more).min(1.0), hashes, groups)
}

pub(crate) fn cuckoo_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let (total, most) = need.insertions(items);
    let room = cuckoo::room(total, most).ok_or(SizeError::Conflict("one key has too many copies"))?;
    let shape = match within {
        None => cuckoo::shape(room, fpp)?,
        Some(bytes) => {
            let mut shapes =
                WIDTHS.rev().map(|width| cuckoo::CuckooShape { buckets: cuckoo::buckets(room), width });
            shapes.find(|shape| cuckoo_bytes(*shape) <= bytes).ok_or(no_room(bytes))?
        }
    };
    Ok(Figures {
        spec: Spec::new(Kind::Cuckoo)
            .items(total)
            .with(Param::Cells, shape.cells())
            .with(Param::Width, shape.width),
        items,
        bytes: cuckoo_bytes(shape),
        payload: None,
        fpp: cuckoo::fpp(shape.cells(), total, shape.width) + floor(items),
        bound: cuckoo_bound(shape, total) + floor(items),
        error: ErrorMeans::FalsePositive,
        lines: 2.0,
        why: format!(
            "fingerprints of {} bits: keys come out again, in the size of a Bloom filter; each copy takes room",
            shape.width
        ),
    })
}

/// The bound on the rate of a cuckoo filter: each of n keys has one fingerprint in one pair of
/// buckets, and no query meets more than all of them.
pub(crate) fn cuckoo_bound(shape: cuckoo::CuckooShape, items: u64) -> f64 {
    items as f64 * (8.0 / (shape.cells() as f64 * (libm::exp2(f64::from(shape.width)) - 1.0)))
}

/// Bytes of a cuckoo filter.
fn cuckoo_bytes(shape: cuckoo::CuckooShape) -> u64 {
    bucket_bytes(shape.buckets, shape.width).unwrap_or(u64::MAX)
}

pub(crate) fn compressed_design(
    need: &Need,
    items: u64,
    fpp: f64,
    within: Option<u64>,
) -> Result<Figures, SizeError> {
    let memory = match need.bytes {
        // Rounding up to whole words must not exceed it.
        Some(bytes) => {
            let bits = (bytes as f64 * 8.0 - 64.0).max(1.0) / items as f64;
            libm::floor(bits.min(compressed::MAX_BITS_PER_ITEM) * 64.0) / 64.0
        }
        None => WIRE_MEMORY.max(3.0 * bloom::shape(items, fpp)?.cells as f64 / items as f64),
    };
    if within.is_some() {
        // With memory alone there is no rate to send in fewer bits.
        return Err(SizeError::Conflict("a compressed filter is made for a rate"));
    }
    let shape = CompressedBloom::builder().items(items).fpp(fpp).memory(memory).shape()?;
    if need.bytes.is_some_and(|bytes| bits_bytes(shape.cells) > bytes) {
        return Err(SizeError::Conflict("the rate needs more bits per key in memory than are allowed"));
    }
    let (rate, bound) = bloom_rates(need, shape, items);
    let fill = bloom::expected_fill(shape.cells, items, shape.hashes);
    let wire = shape.cells as f64 * compressed::entropy(fill) / 8.0;
    Ok(Figures {
        spec: Spec::new(Kind::Compressed).items(items).fpp(fpp).with(Param::MemoryPerKey, memory),
        items,
        bytes: bits_bytes(shape.cells),
        // The coder stays within 1 % of the entropy.
        payload: Some(libm::ceil(1.01 * wire) as u64 + 16),
        fpp: rate,
        bound,
        error: ErrorMeans::FalsePositive,
        lines: bloom_probes(need, shape, items),
        why: "a Bloom filter with few ones, which are coded when it is sent".to_owned(),
    })
}
