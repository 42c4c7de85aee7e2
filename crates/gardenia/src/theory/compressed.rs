//! Bloom filters that are sent in coded form: Mitzenmacher, "Compressed Bloom filters" (2002).
//!
//! A bit vector of m/n = c bits per key whose ones have share p = 1 − e^(−k/c) takes z = c·H₂(p)
//! bits per key on the wire, H₂ being the binary entropy. The k that is best for given memory makes
//! p = 1/2 and z = c: nothing is won by coding, and of all filters with that z it is the *worst*.
//! More memory and fewer hashes have a lower rate at the same z. The limit, 2^(−z) against 0.6185^z
//! uncoded, would take less than one hash: with whole ones it ends at k = 1.

use super::bloom::fpp_asymptotic;
use crate::SizeError;
use crate::index::MAX_HASHES;
use core::f64::consts::LN_2;

/// The most bits per key, on the wire or in memory, that a plan may ask for.
pub const MAX_BITS_PER_ITEM: f64 = 1e6;

const OUT_OF_RANGE: SizeError =
    SizeError::Conflict("bits per key, sent or kept, must be a number from 1 to a million");

/// Binary entropy of a probability in bits; 0 outside 0 to 1.
///
/// ```
/// use gardenia::theory::compressed::entropy;
/// assert_eq!((entropy(0.5), entropy(0.0)), (1.0, 0.0));
/// ```
#[must_use]
pub fn entropy(p: f64) -> f64 {
    if p > 0.0 && p < 1.0 { -p * libm::log2(p) - (1.0 - p) * libm::log1p(-p) / LN_2 } else { 0.0 }
}

/// Bits per key on the wire, z, of a filter with `cells_per_item` bits per key in memory: c·H₂(1 −
/// e^(−k/c)).
///
/// ```
/// use gardenia::theory::compressed::wire_bits;
/// assert!((wire_bits(14.0, 2) - 7.923).abs() < 5e-4); // 14 bits in memory, 8 to be sent
/// assert!((wire_bits(8.0, 6) - 7.98).abs() < 5e-3); // the best of 8 bits does not compress
/// ```
#[must_use]
pub fn wire_bits(cells_per_item: f64, hashes: u32) -> f64 {
    if cells_per_item > 0.0 {
        cells_per_item * entropy(-libm::expm1(-f64::from(hashes) / cells_per_item))
    } else {
        0.0
    }
}

/// How a compressed filter is made, and what to expect of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompressedPlan {
    /// Bits per key in memory, m/n.
    pub cells_per_item: f64,
    /// Positions per key, k.
    pub hashes: u32,
    /// Bits per key on the wire, z.
    pub wire: f64,
    /// False-positive probability.
    pub fpp: f64,
}

impl CompressedPlan {
    fn new(cells_per_item: f64, hashes: u32) -> Self {
        let (wire, fpp) = (wire_bits(cells_per_item, hashes), fpp_asymptotic(cells_per_item, hashes));
        Self { cells_per_item, hashes, wire, fpp }
    }
}

/// The filter of the least false-positive probability that takes at most `wire` bits per key when
/// sent and `memory` bits per key when used.
///
/// For each k the size is the root of c·H₂(1 − e^(−k/c)) = z, which grows with c, or the memory
/// allowed, whichever is less.
///
/// ```
/// use gardenia::theory::compressed::plan;
/// let (plain, coded) = (plan(8.0, 8.0)?, plan(8.0, 15.0)?);
/// assert_eq!((plain.hashes, coded.hashes), (6, 2));
/// assert!(coded.wire < 8.0 + 1e-9 && coded.fpp < 0.0175 && plain.fpp > 0.0215);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn plan(wire: f64, memory: f64) -> Result<CompressedPlan, SizeError> {
    let sane = |bits: f64| (1.0..=MAX_BITS_PER_ITEM).contains(&bits);
    if !sane(wire) || !sane(memory) {
        return Err(OUT_OF_RANGE);
    }
    // More hashes than that make most bits ones. Many more would compress, too, and err as little, with many more probes.
    let most = libm::ceil(wire * LN_2).min(f64::from(MAX_HASHES)) as u32;
    let of = |hashes: u32| {
        if wire_bits(memory, hashes) <= wire {
            return CompressedPlan::new(memory, hashes);
        }
        let (mut low, mut high) = (0.0, memory);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            (low, high) = if wire_bits(middle, hashes) <= wire { (middle, high) } else { (low, middle) };
        }
        CompressedPlan::new(low, hashes)
    };
    let better = |best: CompressedPlan, plan: CompressedPlan| if plan.fpp < best.fpp { plan } else { best };
    Ok((2..=most).map(of).fold(of(1), better))
}

/// The fewest bits per key on the wire for a false-positive probability of `fpp` with at most
/// `memory` bits per key in use.
///
/// ```
/// use gardenia::theory::compressed::plan_for_fpp;
/// let plan = plan_for_fpp(0.01, 100.0)?;
/// assert!(plan.fpp <= 0.01 && plan.hashes == 1 && (8.0..8.1).contains(&plan.wire)); // 9.6 uncoded
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn plan_for_fpp(fpp: f64, memory: f64) -> Result<CompressedPlan, SizeError> {
    if !(fpp > 0.0 && fpp < 1.0) {
        return Err(SizeError::Fpp(fpp));
    }
    if !(1.0..=MAX_BITS_PER_ITEM).contains(&memory) {
        return Err(OUT_OF_RANGE);
    }
    // For each k the rate fixes the size, (1 − e^(−k/c))^k = fpp, and the size the bits on the wire. A search over the bits would
    // plan some hundred filters for each k, and take a second for a single key at a low rate.
    let of = |hashes: u32| {
        let k = f64::from(hashes);
        let exact = -k / libm::log1p(-libm::pow(fpp, 1.0 / k));
        // Rounding must not leave it above the rate.
        let up = (0..4).map(|ulps| exact * (1.0 + f64::from(ulps) * f64::EPSILON));
        let found = up.map(|cells| CompressedPlan::new(cells, hashes)).find(|plan| plan.fpp <= fpp);
        // As in `plan`: more hashes than that make most bits ones.
        found.filter(|plan| plan.cells_per_item <= memory && k <= libm::ceil(plan.wire * LN_2))
    };
    let better = |best: CompressedPlan, plan: CompressedPlan| if plan.wire < best.wire { plan } else { best };
    let short = SizeError::Conflict("the rate needs more bits per key in memory than are allowed");
    match (1..=MAX_HASHES).filter_map(of).reduce(better) {
        Some(best) if best.wire < 1.0 => plan(1.0, memory), // the least that a plan may ask for
        best => best.ok_or(short),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mitzenmacher's Tables I and II: (m/n, k, z, fpp).
    const PAPER: [(f64, u32, f64, f64); 6] = [
        (8.0, 6, 7.98, 0.0216),
        (14.0, 2, 7.923, 0.0177),
        (92.0, 1, 7.923, 0.0108),
        (16.0, 11, 16.0, 4.59e-4),
        (28.0, 4, 15.846, 3.14e-4),
        (48.0, 3, 15.829, 2.22e-4),
    ];

    #[test]
    fn the_papers_points_are_reproduced() {
        for (cells, hashes, wire, fpp) in PAPER {
            let found = CompressedPlan::new(cells, hashes);
            assert!(
                (found.wire - wire).abs()
                    <= 0.5001
                        * if wire == 16.0 {
                            0.1
                        } else if wire == 7.98 {
                            0.01
                        } else {
                            0.001
                        }
            );
            assert!((found.fpp / fpp - 1.0).abs() < 0.005, "{cells} {hashes}: {} {fpp}", found.fpp);
        }
    }

    #[test]
    fn the_papers_points_are_what_is_chosen_under_their_limits() {
        for (cells, hashes, ..) in PAPER {
            let wire = CompressedPlan::new(cells, hashes)
                .wire
                .max(libm::ceil(CompressedPlan::new(cells, hashes).wire - 0.1));
            let found = plan(wire, cells).unwrap();
            assert_eq!(found.hashes, hashes, "{cells}");
            assert!((found.cells_per_item - cells).abs() < 0.3, "{cells}: {found:?}");
        }
    }

    #[test]
    fn a_plan_keeps_its_limits_and_no_other_shape_does_better() {
        for wire in [1.0, 2.5, 8.0, 9.6, 16.0, 30.0] {
            for memory in [1.0, 8.0, 14.0, 20.0, 92.0, 1_000.0] {
                let found = plan(wire, memory).unwrap();
                assert!(found.wire <= wire * (1.0 + 1e-9) && found.cells_per_item <= memory);
                for hashes in 1..=libm::ceil(wire * LN_2) as u32 {
                    for i in 1..200 {
                        let cells = memory * f64::from(i) / 200.0;
                        let other = CompressedPlan::new(cells, hashes);
                        assert!(
                            other.wire > wire || other.fpp >= found.fpp * (1.0 - 1e-6),
                            "{found:?} {other:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn more_memory_never_errs_more_and_ends_at_one_hash() {
        let rates = [8.0, 14.0, 92.0, 10_000.0, 1e6].map(|memory| plan(8.0, memory).unwrap().fpp);
        assert!(rates.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9)));
        assert!(rates[4] > 1.0 / 256.0 && rates[4] < 0.0107);
        assert_eq!(plan(8.0, 1e6).unwrap().hashes, 1);
        assert!(plan(8.0, 8.0).unwrap().fpp > libm::pow(0.6185, 8.0));
    }

    #[test]
    fn the_closed_form_is_what_a_search_over_the_wire_finds() {
        for memory in [1.0, 2.0, 9.0, 14.0, 30.0, 92.0, 512.0, 1e4, 1e6] {
            // Not 0.5, where one hash and two come to the same bits, and rounding decides.
            for fpp in [0.9, 0.4, 0.1, 0.01, 1e-4, 1e-7, 1e-9] {
                let enough = |wire: f64| plan(wire, memory).ok().filter(|plan| plan.fpp <= fpp);
                let found = plan_for_fpp(fpp, memory).ok();
                assert_eq!(found.is_some(), enough(memory).is_some(), "{memory} {fpp}");
                let Some(found) = found else { continue };
                let (mut low, mut high) = (1.0, memory);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    (low, high) = if enough(middle).is_some() { (low, middle) } else { (middle, high) };
                }
                let searched = enough(high).unwrap();
                assert_eq!(found.hashes, searched.hashes, "{memory} {fpp}");
                assert!(
                    (found.cells_per_item / searched.cells_per_item - 1.0).abs() < 1e-12,
                    "{memory} {fpp}"
                );
            }
        }
    }

    #[test]
    fn a_rate_is_met_with_the_fewest_bits_on_the_wire() {
        for (fpp, memory) in [(0.01, 10.0), (0.01, 30.0), (1e-4, 60.0), (0.3, 500.0)] {
            let found = plan_for_fpp(fpp, memory).unwrap();
            assert!(found.fpp <= fpp && found.cells_per_item <= memory);
            assert!(
                plan((found.wire * 0.999).max(1.0), memory).unwrap().fpp > fpp * 0.999 || found.wire < 1.01
            );
        }
        assert!(matches!(plan_for_fpp(0.01, 9.0), Err(SizeError::Conflict(_))));
        for odd in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(matches!(plan_for_fpp(odd, 10.0), Err(SizeError::Fpp(_))));
        }
        for odd in [0.0, -1.0, 0.5, f64::NAN, f64::INFINITY, 1e7] {
            assert!(plan(odd, 10.0).is_err() && plan(10.0, odd).is_err() && plan_for_fpp(0.1, odd).is_err());
        }
    }
}
