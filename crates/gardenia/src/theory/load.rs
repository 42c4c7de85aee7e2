//! How the cells of a filter are spread over blocks or buckets: what a picture of a file is
//! compared with.
//!
//! Keys choose their block at random, so the number of keys of a block is binomial (about Poisson),
//! and the number of its bits follows from the number of its keys. A healthy filter looks like
//! [`of_blocks`]. A filter whose keys are hashed badly is spread wider.

use super::binomial::Binomial;
use alloc::vec;
use alloc::vec::Vec;

/// Numbers of keys in a block that are less likely are left out.
const NEGLIGIBLE: f64 = 1e-12;

/// The probability that a block of `bits` bits has 0, 1, … `bits` of them set, after `items` keys
/// were spread over `blocks` blocks and each set `hashes` distinct bits of its block.
///
/// ```
/// let loads = gardenia::theory::load::of_blocks(512, 1_000, 50_000, 6);
/// let mean: f64 = loads.iter().enumerate().map(|(load, chance)| load as f64 * chance).sum();
/// assert!((loads.iter().sum::<f64>() - 1.0).abs() < 1e-9);
/// assert!((mean / 512.0 - (1.0 - (-6.0f64 * 50.0 / 512.0).exp())).abs() < 1e-3);
/// ```
#[must_use]
pub fn of_blocks(bits: u64, blocks: u64, items: u64, hashes: u32) -> Vec<f64> {
    let (size, hashes) = (bits as usize, (hashes as usize).min(bits as usize));
    let mut loads = vec![0.0; size + 1];
    if blocks == 0 || bits == 0 {
        return loads;
    }
    let keys = Binomial::of_cell(blocks, items as f64);
    let mut held = vec![0.0; size + 1];
    held[0] = 1.0;
    let mut left = 1.0;
    for count in 0..=items {
        let chance = keys.of(count as f64);
        loads.iter_mut().zip(&held).for_each(|(load, share)| *load += chance * share);
        left -= chance;
        if count as f64 > keys.mean() && (left < NEGLIGIBLE || chance < NEGLIGIBLE) {
            break;
        }
        held = one_more(&held, hashes);
    }
    loads
}

/// The bits of a block after one more key.
fn one_more(held: &[f64], hashes: usize) -> Vec<f64> {
    let size = held.len() - 1;
    let mut next = vec![0.0; size + 1];
    for (ones, share) in held.iter().enumerate().filter(|(_, share)| **share > 1e-300) {
        // The distinct bits of a key, one after the other: how many of them were clear.
        let mut fresh = vec![0.0; hashes + 1];
        fresh[0] = *share;
        for drawn in 0..hashes {
            for new in (0..=drawn).rev() {
                let clear = (size - ones).saturating_sub(new) as f64 / (size - drawn) as f64;
                let (hit, miss) = (fresh[new] * clear, fresh[new] * (1.0 - clear));
                fresh[new + 1] += hit;
                fresh[new] = miss;
            }
        }
        for (new, share) in fresh.into_iter().enumerate().filter(|(new, _)| ones + new <= size) {
            next[ones + new] += share;
        }
    }
    next
}

/// The probability that 0, 1, … `cells` cells of a bucket are in use, if each is with probability
/// `fill`.
///
/// ```
/// let loads = gardenia::theory::load::of_buckets(2, 0.5);
/// assert!(loads.len() == 3 && (loads[1] - 0.5).abs() < 1e-12);
/// ```
#[must_use]
pub fn of_buckets(cells: u64, fill: f64) -> Vec<f64> {
    let fill = fill.clamp(0.0, 1.0);
    let bucket = Binomial { trials: cells as f64, hit: fill, miss: 1.0 - fill };
    let sure = |load: u64| match fill {
        0.0 => Some(f64::from(u8::from(load == 0))),
        1.0 => Some(f64::from(u8::from(load == cells))),
        _ => None,
    };
    (0..=cells).map(|load| sure(load).unwrap_or_else(|| bucket.of(load as f64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockedBloom;
    use crate::explain::Explain;

    /// The real filter sets a key's bits in distinct lanes, which the law leaves out: five standard
    /// errors of the counts, and a hundredth of them, are allowed.
    #[test]
    fn the_blocks_of_a_real_filter_have_these_loads() {
        let mut filter = BlockedBloom::new(200_000, 0.01).unwrap();
        (0..200_000u32).for_each(|key| _ = filter.insert(key));
        let blocks = filter.bits() / 512;
        let expected = of_blocks(512, blocks, 200_000, filter.hashes());
        let mut found = vec![0u64; 513];
        for block in 0..blocks {
            found[(block * 512..block * 512 + 512).filter(|at| filter.cell(0, *at) > 0).count()] += 1;
        }
        // In classes of sixteen loads, so that each has many blocks.
        for (found, expected) in found.chunks(16).zip(expected.chunks(16)) {
            let (found, share) = (found.iter().sum::<u64>() as f64, expected.iter().sum::<f64>());
            let (mean, error) = (share * blocks as f64, (share * (1.0 - share) * blocks as f64).sqrt());
            assert!((found - mean).abs() <= 5.0 * error + 0.01 * mean + 1e-6, "{found} {mean} ± {error}");
        }
    }

    #[test]
    fn a_key_sets_distinct_bits_and_a_full_block_stays_full() {
        assert_eq!(of_blocks(8, 1, 1, 3), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(of_blocks(2, 1, 5, 2), [0.0, 0.0, 1.0]);
        assert_eq!(of_blocks(4, 7, 0, 2), [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!((of_buckets(2, 0.0), of_buckets(2, 1.0)), (vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]));
    }
}
