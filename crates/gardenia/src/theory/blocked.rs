//! Blocked filters: one cache line per key, and what that costs in error.
//!
//! A key goes to one of B blocks of 512 bits and sets one bit in each of k of its eight 64-bit
//! lanes (two in k−8 of them above eight). Blocks do not fill alike: their loads are binomial
//! (about Poisson), and the error rate is the mixture over loads, not the classical formula at the
//! mean load. The mixture has a closed form: the chance that all target bits are set is expanded by
//! inclusion and exclusion over the target bits that are *missed*; a missed set T stays missed by n
//! keys with probability (1 − (1−g(T))/B)ⁿ, where g(T) is the chance that a key of the same block
//! misses T.
//!
//! Source: Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters" (2007) for
//! blocks and the mixture; the closed form for lanes is ours, checked by simulation.

use super::bloom::{self, Estimate, Shape, size};
use crate::SizeError;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// Bits of a block.
pub const BLOCK_BITS: u64 = 512;
/// Lanes of a block, of 64 bits each.
const LANES: usize = 8;
/// Bits of a lane.
const LANE_BITS: f64 = 64.0;

/// The most bits a key can set: two in each lane.
pub const MAX_BLOCK_HASHES: u32 = 16;

/// The law of a key's pattern: how likely n keys cover a query's bits. Depends on k alone.
struct Law {
    /// For each set of missed bits, merged when equal: the chance that a key of the same block hits
    /// the set, and the signed weight of the set.
    terms: Vec<(f64, f64)>,
}

impl Law {
    fn new(hashes: u32) -> Self {
        let mut terms = Vec::new();
        let mut missed = [0u8; LANES];
        missed_sets(0, 1.0, hashes, &mut missed, &mut |missed, weight| {
            terms.push((1.0 - miss_chance(missed, hashes), weight));
        });
        // Sets that are rotations of each other have one chance: hundreds of terms become dozens.
        terms.sort_by(|a, b| a.0.total_cmp(&b.0));
        terms.dedup_by(|next, kept| {
            let equal = next.0 - kept.0 < 1e-14;
            if equal {
                kept.1 += next.1;
            }
            equal
        });
        Self { terms }
    }

    fn fpp(&self, blocks: u64, items: f64) -> f64 {
        // (1 − hit/B)ⁿ, accurate for any B
        let missed = |hit: f64| libm::exp(items * libm::log1p(-hit / blocks as f64));
        self.terms.iter().map(|(hit, weight)| weight * missed(*hit)).sum::<f64>().clamp(0.0, 1.0)
    }
}

/// The false-positive probability of a blocked filter of `blocks` blocks with `hashes` bits per key
/// (above 16 taken as 16) after `items` keys. Exact for random digests; 1 without blocks or hashes,
/// 0 without items.
///
/// Inclusion and exclusion cancels: the result is good to about 10⁻¹¹ absolutely.
///
/// ```
/// use gardenia::theory::blocked::fpp;
/// // 10.67 bits per key, six bits set: 0.74 %, where the classical formula says 0.63 %
/// assert!((fpp(20_840, 1_000_000, 6) - 0.00741).abs() < 1e-5);
/// ```
#[must_use]
pub fn fpp(blocks: u64, items: u64, hashes: u32) -> f64 {
    fpp_at(blocks, items as f64, hashes)
}

/// [`fpp`] for a number of items that was estimated.
pub(crate) fn fpp_at(blocks: u64, items: f64, hashes: u32) -> f64 {
    match (blocks, hashes) {
        (0, _) | (_, 0) => 1.0,
        _ if items <= 0.0 => 0.0,
        _ => Law::new(hashes.min(MAX_BLOCK_HASHES)).fpp(blocks, items),
    }
}

/// Bits that a key with rotation 0 sets in lane `lane`: the lanes of a key are a run from its
/// rotation on.
fn bits_in(lane: usize, hashes: u32) -> u8 {
    let hashes = hashes as usize;
    u8::from(lane < hashes.min(LANES)) + u8::from(lane + LANES < hashes)
}

/// The signed weights of missing 0, 1, … of the targets of a lane with `targets` of them.
fn lane_weights(targets: u8) -> &'static [f64] {
    /// Two targets of one lane coincide with this probability, and are then one.
    const SAME: f64 = 1.0 / LANE_BITS;
    match targets {
        0 => &[1.0],
        1 => &[1.0, -1.0],
        _ => &[1.0, -(2.0 - SAME), 1.0 - SAME],
    }
}

/// Calls `term` for every way to miss target bits of a query with rotation 0, with its signed
/// weight.
fn missed_sets(
    lane: usize,
    weight: f64,
    hashes: u32,
    missed: &mut [u8; LANES],
    term: &mut impl FnMut(&[u8; LANES], f64),
) {
    if lane == LANES {
        term(missed, weight);
        return;
    }
    let weights = lane_weights(bits_in(lane, hashes));
    for (count, factor) in weights.iter().enumerate() {
        missed[lane] = count as u8;
        missed_sets(lane + 1, weight * factor, hashes, missed, term);
    }
    missed[lane] = 0;
}

/// The chance that a key of the same block, of random rotation, sets none of `missed[lane]` given
/// bits.
fn miss_chance(missed: &[u8; LANES], hashes: u32) -> f64 {
    let chance_of = |rotation: usize| {
        (0..LANES).fold(1.0, |chance, lane| {
            let clear = 1.0 - f64::from(missed[lane]) / LANE_BITS;
            match bits_in((lane + LANES - rotation) % LANES, hashes) {
                0 => chance,
                1 => chance * clear,
                _ => chance * clear * clear,
            }
        })
    };
    (0..LANES).map(chance_of).sum::<f64>() / LANES as f64
}

/// The smallest blocked filter for `items` keys at `fpp`, digest floor included: its cells are a
/// multiple of [`BLOCK_BITS`], and its hashes the best for their number. Whole blocks are more than
/// a few keys need, which then have a far lower rate than was asked: two keys at 1 % once in 10¹¹.
///
/// # Errors
///
/// As [`size`].
///
/// ```
/// let shape = gardenia::theory::blocked::shape(1_000_000, 0.01)?;
/// assert_eq!(shape.hashes, 6);
/// assert!(shape.cells as f64 / 1e6 < 10.1); // a classical filter needs 9.6
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, fpp: f64) -> Result<Shape, SizeError> {
    let laws = [const { OnceCell::new() }; MAX_BLOCK_HASHES as usize];
    let floor = items as f64 / 18_446_744_073_709_551_616.0;
    // `size` starts at log2(1/fpp) hashes, which may be more than a block takes: then it is as if at the most.
    let rate = |shape: Shape, items| {
        let hashes = shape.hashes.clamp(1, MAX_BLOCK_HASHES);
        let law = laws[hashes as usize - 1].get_or_init(|| Law::new(hashes));
        law.fpp(shape.cells / BLOCK_BITS, items as f64) + floor
    };
    let Shape { cells, hashes } = size(items, fpp, rate, |shape| shape.cells.next_multiple_of(BLOCK_BITS))?;
    // From the hashes of the size before it was rounded up: there is one minimum, and a law for each step takes time.
    let mut best = hashes.min(MAX_BLOCK_HASHES);
    let rate = |hashes| rate(Shape { cells, hashes }, items).max(LEAST);
    while best < MAX_BLOCK_HASHES && rate(best + 1) < rate(best) {
        best += 1;
    }
    Ok(Shape { cells, hashes: best })
}

/// Rates below it cannot be told apart: the closed form cancels.
const LEAST: f64 = 1e-11;

/// The number of bits per key, 1 to 16, with the smallest rate for this many blocks and items; of
/// those whose rate is below 10⁻¹¹, which [`fpp`] cannot tell apart, the smallest.
///
/// ```
/// use gardenia::theory::blocked::best_hashes;
/// let at = |bits_per_key: u64| best_hashes(10_000 * bits_per_key, 5_120_000);
/// assert_eq!([8, 10, 12, 13, 22].map(at), [5, 6, 7, 8, 12]);
/// ```
#[must_use]
pub fn best_hashes(blocks: u64, items: u64) -> u32 {
    let rates = (1..=MAX_BLOCK_HASHES).map(|hashes| (hashes, fpp(blocks, items, hashes).max(LEAST)));
    rates.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(hashes, _)| hashes)
}

/// How many distinct keys leave `ones` bits set: as [`bloom::estimate_items`], with
/// the bits that a key really sets. Above eight, two of them can be one.
///
/// The error is that of the classical filter: what blocks add to the variance of the fill, keys
/// that share a block, cancels against keys that do not.
///
/// ```
/// let told = gardenia::theory::blocked::estimate_items(100, 9, 9_000);
/// assert!((told.items - 1101.7).abs() < 0.1);
/// ```
#[must_use]
pub fn estimate_items(blocks: u64, hashes: u32, ones: u64) -> Estimate {
    let Estimate { items, std_error } =
        bloom::estimate_items(blocks.saturating_mul(BLOCK_BITS), hashes, ones);
    let doubled = f64::from(hashes.saturating_sub(LANES as u32));
    let correction = f64::from(hashes) / (f64::from(hashes) - doubled / LANE_BITS);
    Estimate { items: items * correction, std_error: std_error * correction }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::{SplitMix, mean_and_error};
    use alloc::vec;

    /// A block as the paper's law sees it: random lanes and bits, no hashing.
    fn pattern(random: &mut SplitMix, hashes: u32) -> [u64; LANES] {
        let rotation = random.below(LANES);
        core::array::from_fn(|lane| {
            let bits = bits_in((lane + LANES - rotation) % LANES, hashes);
            (0..bits).fold(0, |mask, _| mask | 1 << random.below(64))
        })
    }

    #[test]
    fn the_closed_form_agrees_with_simulated_blocks() {
        for (hashes, blocks, items) in
            [(1, 4, 60), (5, 8, 400), (6, 8, 400), (8, 16, 500), (11, 8, 150), (16, 8, 150)]
        {
            let mut random = SplitMix(u64::from(hashes));
            let trials: Vec<f64> = (0..60)
                .map(|_| {
                    let mut table = vec![[0u64; LANES]; blocks];
                    for _ in 0..items {
                        let block = random.below(blocks);
                        let mask = pattern(&mut random, hashes);
                        (0..LANES).for_each(|lane| table[block][lane] |= mask[lane]);
                    }
                    let queries = 20_000;
                    let covered = |random: &mut SplitMix| {
                        let block = table[random.below(blocks)];
                        let mask = pattern(random, hashes);
                        (0..LANES).all(|lane| block[lane] & mask[lane] == mask[lane])
                    };
                    (0..queries).filter(|_| covered(&mut random)).count() as f64 / f64::from(queries)
                })
                .collect();
            let (rate, error) = mean_and_error(&trials);
            let theory = fpp(blocks as u64, items, hashes);
            assert!((rate - theory).abs() < 5.0 * error, "k = {hashes}: {rate} ± {error}, theory {theory}");
        }
    }

    #[test]
    fn the_weights_of_a_lane_give_the_chance_that_its_targets_are_set() {
        for clear in 0..=64u32 {
            let c = f64::from(clear);
            let missed = [1.0, c / 64.0, c * (c - 1.0) / (64.0 * 63.0)]; // all of 0, 1, 2 different targets
            for targets in 0..=2u8 {
                let sum: f64 = lane_weights(targets).iter().zip(missed).map(|(w, m)| w * m).sum();
                let set = libm::pow(1.0 - c / 64.0, f64::from(targets));
                assert!((sum - set).abs() < 1e-14, "{targets} targets, {clear} clear bits: {sum}, {set}");
            }
        }
    }

    #[test]
    fn a_full_filter_always_errs() {
        assert!((1..=MAX_BLOCK_HASHES).all(|hashes| fpp(7, 1_000_000, hashes) > 0.999_999));
    }

    #[test]
    fn shapes_meet_their_rate_and_one_block_fewer_does_not() {
        for (items, rate) in
            [(1, 0.01), (100, 0.03), (100_000, 0.01), (1_000_000, 1e-3), (10_000_000, 1e-4), (5_000, 1e-7)]
        {
            let Shape { cells, hashes } = shape(items, rate).unwrap();
            let blocks = cells / BLOCK_BITS;
            assert!(fpp(blocks, items, hashes) <= rate, "{items} at {rate}");
            let fewer = (blocks - 1).min(blocks - blocks / 500_000);
            assert!(fpp(fewer, items, hashes) > rate, "{items} at {rate}: {blocks} blocks, {hashes} hashes");
        }
    }

    #[test]
    fn wishes_that_cannot_be_are_errors() {
        assert!(matches!(shape(0, 0.01), Err(SizeError::ZeroItems)));
        assert!(matches!(shape(10, 1.0), Err(SizeError::Fpp(_))));
        assert!(matches!(shape(1 << 45, 0.01), Err(SizeError::TooManyCells { .. })));
        assert_eq!((fpp(0, 1, 1), fpp(1, 1, 0), fpp(1, 0, 1), fpp(1, u64::MAX, 99)), (1.0, 1.0, 0.0, 1.0));
    }
}
