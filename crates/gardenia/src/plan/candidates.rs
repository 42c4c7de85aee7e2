//! The kinds, what each can do, and which of them are best for a need.

use super::Calibration;
use super::design::{Design, ErrorMeans, Plan};
use super::need::{Ability, Impossible, Need, Prefer, Reason};
use super::sizes::{
    FPP, LINE, MANY, Sized, USELESS, a2_design, blocked_design, bloom_design, bloomier_design, choice_design,
    compressed_design, count_min_design, counting_design, cuckoo_design, dynamic_design, fuse_design,
    golomb_design, ribbon_design, scalable_design, search, spectral_design, stable_design, stream_design,
};
use crate::theory::cuckoo;
use crate::{Effort, Kind, SizeError};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// All designs for a need, the best first.
pub(super) fn plan(need: &Need, calibration: &Calibration) -> Result<Plan, Impossible> {
    let open = need.items.is_none()
        && ![Ability::Window, Ability::Fixed, Ability::Values].into_iter().any(|ability| need.needs(ability));
    let need = if open { &need.clone().grow() } else { need };
    let reason = match designs(need, calibration) {
        Ok(designs) => return Ok(Plan { designs }),
        Err(reason) => reason,
    };
    let (nearest, without) = nearest(need, calibration, &reason);
    Err(Impossible { reason, nearest: nearest.map(Box::new), without })
}

/// All designs, the best first; at least one.
fn designs(need: &Need, calibration: &Calibration) -> Result<Vec<Design>, Reason> {
    check(need)?;
    let kinds: Vec<Candidate> = CANDIDATES.into_iter().filter(|candidate| candidate.can(need)).collect();
    if kinds.is_empty() {
        return Err(Reason::Together(together(need)));
    }
    if need.items.is_none() {
        // What is made for a number of keys, and has none.
        for ability in [Ability::Fixed, Ability::Values] {
            if need.needs(ability) {
                return Err(Reason::Items(ability));
            }
        }
        if need.needs(Ability::Window) && need.bytes.is_none() {
            return Err(Reason::Items(Ability::Window));
        }
    }
    let sized: Vec<Result<Design, SizeError>> =
        kinds.iter().map(|candidate| candidate.design(need, calibration)).collect();
    // A kind that cannot be had at all (a rate below its floor) does not matter if others can.
    let error = sized.iter().find_map(|design| design.as_ref().err().cloned());
    let mut found: Vec<Design> = sized.into_iter().flatten().collect();
    if found.is_empty() {
        return Err(match (error, need.bytes, need.items) {
            (Some(SizeError::Memory { .. }), Some(allowed), Some(items)) if need.fpp.is_none() => {
                Reason::Useless { allowed, items }
            }
            (Some(error), ..) => Reason::Size(error),
            (None, ..) => Reason::Together(need.abilities.clone()),
        });
    }
    if let Some(allowed) = need.bytes {
        let needed = found.iter().map(|design| design.bytes).min().unwrap_or(u64::MAX);
        found.retain(|design| design.bytes <= allowed);
        if found.is_empty() {
            return Err(Reason::Memory { needed, allowed });
        }
        let useful = |design: &Design| design.fpp <= USELESS || design.error != ErrorMeans::FalsePositive;
        if need.fpp.is_none() && !found.iter().any(useful) {
            return Err(Reason::Useless { allowed, items: need.items.unwrap_or(0) });
        }
        found.retain(|design| need.fpp.is_some() || useful(design));
    }
    rank(need, &mut found);
    Ok(found)
}

/// Parameters that are none.
fn check(need: &Need) -> Result<(), Reason> {
    let size = |error| Err(Reason::Size(error));
    match need.fpp {
        Some(fpp) if !(fpp > 0.0 && fpp < 1.0) => return size(SizeError::Fpp(fpp)),
        _ => {}
    }
    if need.items == Some(0) {
        return size(SizeError::ZeroItems);
    }
    if !(0.0..=1.0).contains(&need.present) {
        return size(SizeError::Conflict("the share of queries for present keys is not between 0 and 1"));
    }
    if !(need.confidence > 0.0 && need.confidence < 1.0) {
        return size(SizeError::Conflict("the confidence is not between 0 and 1 (exclusive)"));
    }
    if need.needs(Ability::Values) && !(1..=32).contains(&need.values) {
        return size(SizeError::Width { width: need.values });
    }
    if need.needs(Ability::Count) && need.counts > u64::from(u32::MAX) {
        return size(SizeError::Width { width: 64 - need.counts.leading_zeros() });
    }
    Ok(())
}

/// The fewest of the abilities that no kind has together.
fn together(need: &Need) -> Vec<Ability> {
    let mut kept = need.abilities.clone();
    for ability in need.abilities.iter().rev() {
        // As of a known number: of an unknown one growing is listed, and not also implied.
        let items = need.items.or(Some(MANY));
        let fewer = Need { abilities: kept.clone(), items, ..need.clone() }.without(*ability);
        if !CANDIDATES.iter().any(|candidate| candidate.can(&fewer)) {
            kept = fewer.abilities;
        }
    }
    kept
}

/// The design that comes nearest to a need, and what it gives up.
fn nearest(need: &Need, calibration: &Calibration, reason: &Reason) -> (Option<Design>, String) {
    let best = |need: &Need| designs(need, calibration).ok().and_then(|designs| designs.into_iter().next());
    match reason {
        Reason::Together(abilities) => {
            // Give up what is listed last first: what a filter does to its keys matters more than how it is kept.
            const ORDER: [Ability; 9] = [
                Ability::Send,
                Ability::Share,
                Ability::Fixed,
                Ability::Unite,
                Ability::Grow,
                Ability::Values,
                Ability::Count,
                Ability::Window,
                Ability::Remove,
            ];
            for (need, more) in [(need.clone(), ""), (need.clone().any_memory(), ", in more memory")] {
                let mut given_up: Vec<&str> = Vec::new();
                let mut fewer = need.clone();
                for ability in ORDER.into_iter().filter(|ability| abilities.contains(ability)) {
                    if let Some(design) = best(&need.clone().without(ability)) {
                        return (Some(design), format!("without {}{more}", ability.name()));
                    }
                    fewer = fewer.without(ability);
                    given_up.push(ability.name());
                    if let Some(design) = best(&fewer) {
                        return (Some(design), format!("without {}{more}", given_up.join(" and ")));
                    }
                }
            }
            (None, String::new())
        }
        Reason::Memory { .. } | Reason::Useless { .. } => {
            let smallest = Need { bytes: None, prefer: Prefer::Memory, ..need.clone() };
            (best(&smallest), "in more memory".to_owned())
        }
        Reason::Items(ability) => {
            let grows = need.clone().without(*ability).grow();
            (best(&grows), format!("for any number of keys, without {}", ability.name()))
        }
        Reason::Size(SizeError::FppBelowFloor { floor, .. }) => {
            let higher = Need { fpp: Some((floor * 2.0).min(USELESS)), ..need.clone() };
            (best(&higher), format!("at a rate of {:e}", floor * 2.0))
        }
        Reason::Size(_) => (None, String::new()),
    }
}

/// Orders designs, the best first.
fn rank(need: &Need, designs: &mut [Design]) {
    let by_rate = need.bytes.is_some() && need.fpp.is_none();
    // What memory is worth in given memory: bits for each halving of the rate.
    let efficiency = |d: &Design| d.bits_per_key / libm::log2(1.0 / d.fpp.clamp(1e-18, 0.999));
    let score = |d: &Design| match need.prefer {
        Prefer::Speed => d.ns,
        Prefer::Memory if by_rate => d.fpp,
        Prefer::Memory if need.needs(Ability::Send) => d.file_bytes as f64,
        Prefer::Memory => d.bytes as f64,
        Prefer::Balance if need.needs(Ability::Send) && !by_rate => d.file_bytes as f64,
        Prefer::Balance if by_rate => d.ns * efficiency(d),
        Prefer::Balance => d.ns * d.bytes as f64,
    };
    designs.sort_by(|a, b| score(a).total_cmp(&score(b)).then(a.bytes.cmp(&b.bytes)));
}

/// A kind, and how it is made where there are several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    Blocked,
    Bloom,
    ChoiceOnline,
    ChoicePartitioned,
    Counting,
    Spectral,
    CountMin,
    Cuckoo,
    Scalable,
    Dynamic,
    A2,
    Stable,
    Fuse,
    Ribbon,
    Golomb,
    Compressed,
    Bloomier,
}

const CANDIDATES: [Candidate; 17] = [
    Candidate::Blocked,
    Candidate::Bloom,
    Candidate::ChoiceOnline,
    Candidate::ChoicePartitioned,
    Candidate::Counting,
    Candidate::Spectral,
    Candidate::CountMin,
    Candidate::Cuckoo,
    Candidate::Scalable,
    Candidate::Dynamic,
    Candidate::A2,
    Candidate::Stable,
    Candidate::Fuse,
    Candidate::Ribbon,
    Candidate::Golomb,
    Candidate::Compressed,
    Candidate::Bloomier,
];

impl Candidate {
    fn kind(self) -> Kind {
        match self {
            Self::Blocked => Kind::Blocked,
            Self::Bloom => Kind::Bloom,
            Self::ChoiceOnline | Self::ChoicePartitioned => Kind::Choice,
            Self::Counting => Kind::Counting,
            Self::Spectral => Kind::Spectral,
            Self::CountMin => Kind::CountMin,
            Self::Cuckoo => Kind::Cuckoo,
            Self::Scalable => Kind::Scalable,
            Self::Dynamic => Kind::Dynamic,
            Self::A2 => Kind::A2,
            Self::Stable => Kind::Stable,
            Self::Fuse => Kind::BinaryFuse,
            Self::Ribbon => Kind::Ribbon,
            Self::Golomb => Kind::GolombSet,
            Self::Compressed => Kind::Compressed,
            Self::Bloomier => Kind::Bloomier,
        }
    }

    /// What it can do. All can be sent.
    fn abilities(self) -> &'static [Ability] {
        use Ability::{Count, Fixed, Grow, Remove, Send, Share, Unite, Values, Window};
        match self {
            Self::Blocked | Self::Bloom => &[Fixed, Unite, Share, Send],
            Self::Compressed => &[Fixed, Unite, Send],
            Self::ChoiceOnline => &[Send],
            Self::Counting => &[Remove, Count, Unite, Send],
            Self::Spectral => &[Remove, Count, Unite, Send, Fixed],
            Self::CountMin => &[Count, Unite, Send, Fixed, Grow],
            Self::Cuckoo => &[Remove, Send],
            Self::Scalable => &[Grow, Send],
            Self::Dynamic => &[Grow, Remove, Send],
            Self::A2 => &[Window, Share, Send],
            Self::Stable => &[Window, Send],
            // No thread inserts into a set that never changes, and all may ask.
            Self::ChoicePartitioned | Self::Fuse | Self::Ribbon | Self::Golomb => &[Fixed, Share, Send],
            Self::Bloomier => &[Values, Fixed, Share, Send],
        }
    }

    /// Whether it does what is needed, and is of use only for that.
    fn can(self, need: &Need) -> bool {
        let (all, has) = (self.abilities(), |ability| need.needs(ability));
        if !need.abilities.iter().all(|ability| all.contains(ability)) {
            return false;
        }
        // What never changes cannot lose keys, whatever the kind could.
        if has(Ability::Fixed) && has(Ability::Remove) {
            return false;
        }
        let grows =
            has(Ability::Grow) || (need.items.is_none() && !has(Ability::Window) && !has(Ability::Fixed));
        match self {
            Self::Blocked | Self::Bloom | Self::ChoiceOnline => !grows,
            Self::Compressed => has(Ability::Send) && !grows,
            Self::Counting => (has(Ability::Remove) || has(Ability::Count)) && !grows,
            Self::Spectral => has(Ability::Count) && !grows,
            Self::CountMin => has(Ability::Count),
            // Copies of a key crowd its two buckets.
            Self::Cuckoo => !grows && cuckoo::room(0, need.insertions(0).1).is_some(),
            Self::Scalable => grows,
            Self::Dynamic => grows && has(Ability::Remove),
            Self::A2 | Self::Stable => has(Ability::Window),
            Self::ChoicePartitioned | Self::Fuse | Self::Ribbon | Self::Golomb => has(Ability::Fixed),
            Self::Bloomier => has(Ability::Values),
        }
    }

    fn design(self, need: &Need, calibration: &Calibration) -> Result<Design, SizeError> {
        let sized = self.sized(need)?;
        let Sized { parameters, items, bytes, file_bytes, fpp, bound, error, lines, why } = sized;
        let kind = self.kind();
        // No more lines than there are; probes that fall into one line count once.
        let all = (bytes as f64 / LINE).max(1.0);
        let lines = all * -libm::expm1(-lines / all);
        Ok(Design {
            kind,
            parameters,
            items,
            bits_per_key: bytes as f64 * 8.0 / items.max(1) as f64,
            bytes,
            file_bytes: file_bytes.unwrap_or(bytes),
            fpp,
            bound: bound.max(fpp).min(1.0),
            confidence: need.confidence,
            error,
            lines,
            ns: calibration.ns(kind, bytes, lines),
            why,
            hasher: need.hasher.clone(),
        })
    }

    fn sized(self, need: &Need) -> Result<Sized, SizeError> {
        let items = need.items.unwrap_or(MANY);
        // The memory decides the rate where no rate is given.
        let within = need.bytes.filter(|_| need.fpp.is_none());
        let fpp = need.fpp.unwrap_or(FPP);
        match self {
            Self::Blocked => blocked_design(need, items, fpp, within),
            Self::Bloom => bloom_design(need, items, fpp, within),
            Self::ChoiceOnline => choice_design(need, items, fpp, within, Effort::Online),
            Self::ChoicePartitioned => choice_design(need, items, fpp, within, Effort::Partitioned),
            Self::Counting => counting_design(need, items, fpp, within),
            Self::Spectral => spectral_design(need, items, fpp, within),
            Self::CountMin if need.items.is_none() || need.needs(Ability::Grow) => stream_design(need),
            Self::CountMin => count_min_design(need, items, fpp, within),
            Self::A2 => a2_design(need, fpp, within),
            Self::Compressed => compressed_design(need, items, fpp, within),
            Self::Cuckoo => cuckoo_design(need, items, fpp, within),
            Self::Fuse => fuse_design(items, fpp, within),
            Self::Bloomier => bloomier_design(need, items, fpp, within),
            Self::Ribbon => search(fpp, within, |fpp| ribbon_design(items, fpp)),
            Self::Golomb => search(fpp, within, |fpp| golomb_design(items, fpp)),
            Self::Scalable => {
                search(fpp, within.filter(|_| need.items.is_some()), |fpp| scalable_design(need, fpp))
            }
            Self::Dynamic => {
                search(fpp, within.filter(|_| need.items.is_some()), |fpp| dynamic_design(need, fpp))
            }
            Self::Stable => search(fpp, within, |fpp| stable_design(need, fpp)),
        }
    }
}
