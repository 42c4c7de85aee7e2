//! How each kind is sized for a need, and what it promises then.
//!
//! Every kind has one function: for a rate, or, where memory is given alone, with the least rate in
//! it. All figures come from `theory` and from the builders, so that a design is what is built.

mod count;
mod fixed;
mod grow;
mod member;

pub(crate) use count::{count_min_design, counting_design, spectral_design, stream_design};
pub(crate) use fixed::{bloomier_design, fuse_design, golomb_bound, golomb_design, ribbon_design};
pub(crate) use grow::{
    a2_bound, a2_design, dynamic_design, infini_design, scalable_design, slice_items, stable_bound,
    stable_design,
};
pub(crate) use member::{
    blocked_bound, blocked_design, bloom_design, choice_bound, choice_design, compressed_design,
    cuckoo_bound, cuckoo_design, split_block_bound, split_block_design,
};

use super::design::ErrorMeans;
use super::need::Need;
use crate::filter::Update;
use crate::index::{AnyScheme, Scheme, SchemeId};
use crate::spec::{Param, Spec};
use crate::theory::bloom::{self, Shape};
use crate::theory::concentration::rate_at_most;
use crate::{Ability, Kind, SizeError};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// The rate without another request.
pub(super) const FPP: f64 = 0.01;

/// The rate above which a filter is useless: it reports every second absent key as present.
pub(super) const USELESS: f64 = 0.5;

/// The least rate that is looked for in given memory.
const LEAST: f64 = 1e-12;

/// Keys that the figures of a filter for any number are for.
pub(super) const MANY: u64 = 1_000_000;

/// Bytes of a cache line.
pub(super) const LINE: f64 = 64.0;

/// The figures of a sized design, before they are put together.
pub(crate) struct Figures {
    pub(crate) spec: Spec,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    /// Bytes of the payload in a file, where they are not those of memory.
    pub(crate) payload: Option<u64>,
    pub(crate) fpp: f64,
    pub(crate) bound: f64,
    pub(crate) error: ErrorMeans,
    pub(crate) lines: f64,
    pub(crate) why: String,
}

/// What is asked of every kind in turn.
pub(crate) struct Goal<'a> {
    pub(crate) need: &'a Need,
    pub(crate) items: u64,
    pub(crate) fpp: f64,
    /// The memory that decides the rate, where no rate is given.
    pub(crate) within: Option<u64>,
    /// Whether any number of keys may come.
    pub(crate) grows: bool,
}

impl<'a> Goal<'a> {
    pub(super) fn new(need: &'a Need) -> Self {
        let open = need.items.is_none() && !need.needs(Ability::Forget) && !need.needs(Ability::Fixed);
        Self {
            need,
            items: need.items.unwrap_or(MANY),
            fpp: need.fpp.unwrap_or(FPP),
            within: need.bytes.filter(|_| need.fpp.is_none()),
            grows: need.needs(Ability::Grow) || open,
        }
    }

    /// All designs, kind by kind.
    pub(super) fn designs(&self) -> impl Iterator<Item = Result<Figures, SizeError>> {
        Kind::ALL.into_iter().flat_map(|kind| crate::kinds::designs(kind, self))
    }

    /// Whether any kind does what is needed.
    pub(super) fn is_possible(&self) -> bool {
        self.designs().next().is_some()
    }

    /// Whether this must be possible.
    pub(crate) fn has(&self, ability: Ability) -> bool {
        self.need.needs(ability)
    }

    /// A design, if the kind does what is needed. Any kind can be asked for keys that never change,
    /// and any filter can be sent; but what is to be built once, to forget or to hold values, only
    /// a kind for that does well.
    pub(crate) fn if_able(
        &self,
        kind: Kind,
        design: impl FnOnce() -> Result<Figures, SizeError>,
    ) -> Vec<Result<Figures, SizeError>> {
        use Ability::{Copies, Count, Fixed, Forget, Grow, Map, Remove, Send, Share};
        let can = |ability: &Ability| match ability {
            Send => true,
            // No thread inserts into a set that never changes, and all may ask.
            Share => kind.can(Share) || kind.can(Fixed),
            // What never changes cannot lose keys, whatever the kind could.
            Fixed => {
                !self.has(Remove)
                    && ![Copies, Forget].iter().any(|other| kind.can(*other))
                    && (kind.can(Count) || !kind.can(Grow))
            }
            // Copies that take room are no way to count.
            Count => kind.can(Count) && !kind.can(Copies),
            ability => kind.can(*ability),
        };
        let only = |ability: Ability| !kind.can(ability) || self.has(ability);
        let at_once = kind.can(Map) || only(Fixed);
        let growing = if kind.can(Grow) { self.grows || self.has(Count) } else { !self.grows };
        let suits = only(Forget) && at_once && only(Map) && only(Send) && growing;
        match suits && self.need.abilities.iter().all(can) {
            true => alloc::vec![design()],
            false => Vec::new(),
        }
    }

    /// The design of a kind whose options and theory say all there is to know.
    pub(crate) fn by_spec(&self, kind: Kind) -> Result<Figures, SizeError> {
        search(self.fpp, self.within, |fpp| {
            let (copies, _) = self.need.insertions(self.items);
            let items = if kind.can(Ability::Copies) { copies } else { self.items };
            let mut spec = Spec::new(kind).items(items).fpp(fpp);
            crate::kinds::fill(&mut spec)?;
            let found = crate::kinds::measure(&spec)?;
            let fpp = found.fpp.unwrap_or(fpp);
            let bound = crate::kinds::bound(&spec, fpp, self.need.confidence)?;
            Ok(Figures {
                spec,
                items: self.items,
                bytes: found.memory,
                payload: Some(found.payload),
                fpp,
                bound,
                error: ErrorMeans::FalsePositive,
                lines: 1.0,
                why: kind.summary().trim_end_matches('.').to_owned(),
            })
        })
    }
}

/// The design for a rate, or with the least rate that fits.
pub(crate) fn search(
    fpp: f64,
    within: Option<u64>,
    sized: impl Fn(f64) -> Result<Figures, SizeError>,
) -> Result<Figures, SizeError> {
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

/// A filter of this shape.
fn shaped(kind: Kind, items: u64, size: Param, Shape { cells, hashes }: Shape) -> Spec {
    Spec::new(kind).items(items).with(size, cells).with(Param::Hashes, hashes)
}

/// A Count-Min sketch with cells of 32 bits.
fn sketch(columns: u64, rows: u32, update: Update) -> Spec {
    let spec = Spec::new(Kind::CountMin).with(Param::Columns, columns).with(Param::Rows, rows);
    spec.with(Param::Width, 32_u32).with(Param::Update, update.name())
}

/// What equal digests add to a rate.
pub(crate) fn floor(items: u64) -> f64 {
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

fn rates_at(shape: Shape, items: u64, confidence: f64) -> (f64, f64) {
    let fpp = scheme(shape.hashes).planned_fpp(shape.cells, items);
    (fpp, bloom_bound(shape, items, fpp, confidence))
}

/// The bound on the rate of a Bloom filter whose scheme predicts the rate `fpp`.
pub(crate) fn bloom_bound(Shape { cells, hashes }: Shape, items: u64, fpp: f64, confidence: f64) -> f64 {
    let excess = (fpp - bloom::fpp_exact(cells, items, hashes)).max(0.0);
    rate_at_most(cells, items, hashes, confidence) + excess
}

/// The bound where each of n keys collides alone: their sum is the most that they do together.
pub(crate) fn sum_bound(fpp: f64) -> f64 {
    -libm::log1p(-fpp.min(USELESS))
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

/// The error if memory is too little for any cells.
fn no_room(bytes: u64) -> SizeError {
    SizeError::Memory { bytes }
}
