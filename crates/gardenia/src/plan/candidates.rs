//! Which kinds do what is needed, and which of them are best.

use super::Calibration;
use super::design::{Design, ErrorMeans, Plan};
use super::need::{Impossible, Need, Prefer, Reason};
use super::sizes::{Figures, Goal, LINE, MANY, USELESS};
use crate::format::file_bytes;
use crate::{Ability, SizeError, kinds};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// All designs for a need, the best first.
pub(super) fn plan(need: &Need, calibration: &Calibration) -> Result<Plan, Impossible> {
    let open = need.items.is_none()
        && ![Ability::Forget, Ability::Fixed, Ability::Map].into_iter().any(|ability| need.needs(ability));
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
    let asked = Goal::new(need);
    if !asked.is_possible() {
        return Err(Reason::Together(together(need)));
    }
    if need.items.is_none() {
        // What is made for a number of keys, and has none.
        for ability in [Ability::Fixed, Ability::Map] {
            if need.needs(ability) {
                return Err(Reason::Items(ability));
            }
        }
        if need.needs(Ability::Forget) && need.bytes.is_none() {
            return Err(Reason::Items(Ability::Forget));
        }
    }
    let sized: Vec<Result<Design, SizeError>> =
        asked.designs().map(|sized| Ok(asked.design(sized?, calibration))).collect();
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
        return size(SizeError::Conflict("the share of queries for present keys must be between 0 and 1"));
    }
    if !(need.confidence > 0.0 && need.confidence < 1.0) {
        return size(SizeError::Conflict("the confidence must be greater than 0 and less than 1"));
    }
    if need.needs(Ability::Map) && !(1..=32).contains(&need.values) {
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
        if !Goal::new(&fewer).is_possible() {
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
                Ability::Merge,
                Ability::Grow,
                Ability::Map,
                Ability::Count,
                Ability::Forget,
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
    // What memory is worth: bits for each halving of the rate. A kind of few rates may err far less than was asked for.
    let efficiency = |d: &Design| d.bits_per_key / libm::log2(1.0 / d.fpp.clamp(1e-18, 0.999));
    let sets = designs.iter().all(|design| design.error == ErrorMeans::FalsePositive);
    let score = |d: &Design| match need.prefer {
        Prefer::Speed => d.ns,
        // Whoever gives all the memory there is wants the fewest errors for it.
        Prefer::Memory | Prefer::Balance if by_rate => d.fpp,
        Prefer::Memory if need.needs(Ability::Send) => d.file_bytes as f64,
        Prefer::Memory => d.bytes as f64,
        Prefer::Balance if need.needs(Ability::Send) => d.file_bytes as f64,
        Prefer::Balance if sets => d.ns * efficiency(d),
        Prefer::Balance => d.ns * d.bytes as f64,
    };
    designs.sort_by(|a, b| score(a).total_cmp(&score(b)).then(a.bytes.cmp(&b.bytes)));
}

impl Goal<'_> {
    /// Puts the figures of a design together.
    fn design(&self, sized: Figures, calibration: &Calibration) -> Design {
        let Figures { spec, items, bytes, payload, fpp, bound, error, lines, why } = sized;
        let kind = spec.kind();
        let params = kinds::measure(&spec.clone().items(items)).map_or(0, |measure| measure.params);
        // No more lines than there are; probes that fall into one line count once.
        let all = (bytes as f64 / LINE).max(1.0);
        let lines = all * -libm::expm1(-lines / all);
        Design {
            kind,
            spec: spec.hashed_by(self.need.hasher.clone()),
            items,
            bits_per_key: bytes as f64 * 8.0 / items.max(1) as f64,
            bytes,
            file_bytes: file_bytes(params, payload.unwrap_or(bytes)),
            fpp,
            bound: bound.max(fpp).min(1.0),
            confidence: self.need.confidence,
            error,
            lines,
            ns: calibration.ns(kind, bytes, lines),
            why,
        }
    }
}
