//! The filter that grows in place: how long fingerprints are, and how many keys a page holds before
//! it splits.
//!
//! A key has a place among 32·2^d buckets, where d is the depth of its page, and a fingerprint of F
//! bits. When a page splits, each of its fingerprints gives one bit to its address, and new keys
//! have F bits again. The keys that a page of depth d receives, C/2 between two splits, are found
//! by mistake with probability (C/2)/(32·2^F), and so are they later: what is known of a key does
//! not change. So the rate is a sum over generations, and grows by the same share with each
//! doubling, or by any share that C is chosen for.
//!
//! The shares: with an upper bound for the number of keys, g doublings after the first size, each
//! generation has 1/(g + 2) of the rate, and the first has two. Without one, the first 16
//! generations have 1/20 each (the first two), and generation 15 + k has 0.15/(k·(k + 1)): their
//! sum stays below 1 however many come.
//!
//! Sources: Dayan, Bercea, Reviriego and Pagh, "InfiniFilter: Expanding Filters to Infinity and
//! Beyond" (2023), for fingerprints that give away bits; Fagin, Nievergelt, Pippenger and Strong,
//! "Extendible Hashing" (1979), for pages that split one by one.

use crate::SizeError;

/// Buckets of a page: 2 to the power of [`BUCKET_BITS`].
pub const BUCKETS: usize = 1 << BUCKET_BITS;
/// Bits of a key that choose one of them.
pub const BUCKET_BITS: u32 = 5;

/// The most keys that a page is planned for. Larger ones take less memory for their head, and
/// longer for an insertion.
pub const LARGEST: u16 = 768;

/// Pages hold a multiple of this number of keys.
pub const STEP: u16 = 16;

/// Fingerprints have 15 bits if pages of this size keep the rate with them, else 31.
const SHORT: u16 = 128;

/// Generations with equal shares where no bound is given.
const EQUAL: u32 = 15;

/// How a filter grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The rate that is kept.
    pub fpp: f64,
    /// Keys of the first size.
    pub items: u64,
    /// Keys that may come, where that is known.
    pub max: Option<u64>,
    /// Bits of a slot: a fingerprint, and the mark that tells its length.
    pub width: u32,
    /// Depth of the first pages.
    pub depth: u32,
    /// Doublings that the rate is shared among, where that is known.
    doublings: Option<u32>,
}

impl Rule {
    /// The rule for a rate of at most `fpp` from `items` keys on, up to `max` if that is given,
    /// else without end.
    ///
    /// ```
    /// use gardenia::theory::infini::Rule;
    /// let rule = Rule::new(0.01, 1_000, None)?;
    /// assert_eq!((rule.width, rule.depth, rule.page(1), rule.page(12)), (16, 1, 768, 768));
    /// assert_eq!(Rule::new(1e-6, 1, None)?.width, 32);
    /// // A bound saves memory where the rate is low.
    /// assert_eq!(Rule::new(0.001, 100_000, Some(1_000_000))?.width, 16);
    /// assert!(Rule::new(1e-10, 1, None).is_err() && Rule::new(1.0, 1, None).is_err());
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `fpp` is no probability or below what fingerprints of 31 bits promise, there are no
    /// items, or too many.
    pub fn new(fpp: f64, items: u64, max: Option<u64>) -> Result<Self, SizeError> {
        if !(fpp > 0.0 && fpp < 1.0) {
            return Err(SizeError::Fpp(fpp));
        }
        if items == 0 {
            return Err(SizeError::ZeroItems);
        }
        let of_width = |width| {
            let fewest = if width == 16 { SHORT } else { STEP };
            let doublings = match max {
                Some(max) => Some((0..64).find(|&g| {
                    let page = capacity(fpp, 1.0 / f64::from(g + 2), width);
                    page >= fewest
                        && pages(items, page).checked_add(g).is_some_and(|depth| holds(depth, page, max))
                })?),
                None => None,
            };
            let page = capacity(fpp, share(doublings, 0), width);
            let depth = pages(items, page.max(STEP));
            (page >= fewest).then_some(Self { fpp, items, max, width, depth, doublings })
        };
        let rule = of_width(16).or_else(|| of_width(32)).ok_or(SizeError::FppBelowFloor {
            fpp,
            floor: f64::from(STEP) / (2.0 * share(None, 0) * slots(32)),
            items,
        })?;
        // Half of the digest's bits are left for growth.
        let most = 1u64 << 32;
        if items > most { Err(SizeError::TooManyCells { cells: items, max: most }) } else { Ok(rule) }
    }

    /// Keys that a page of this depth holds before it splits. Past an upper bound, pages go on as
    /// before, and the rate is no longer kept.
    #[must_use]
    pub fn page(&self, depth: u32) -> u16 {
        let generation = depth.saturating_sub(self.depth);
        capacity(self.fpp, share(self.doublings, generation), self.width).max(STEP)
    }

    /// The greatest depth: address, bucket and fingerprint have 64 bits at most.
    #[must_use]
    pub fn deepest(&self) -> u32 {
        64 - BUCKET_BITS - (self.width - 1)
    }

    /// The rate after `items` insertions, all of distinct keys, if all pages split together: they
    /// split within some per cent of each other.
    ///
    /// ```
    /// use gardenia::theory::infini::Rule;
    /// let rule = Rule::new(0.01, 1, None)?;
    /// // The first page, and fourteen doublings.
    /// assert!((rule.fpp_at(768) - 768.0 / 32.0 / 32_768.0).abs() < 1e-5);
    /// assert!((rule.fpp_at(768 << 14) - 8.0 * rule.fpp_at(768)).abs() < 1e-4);
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn fpp_at(&self, items: u64) -> f64 {
        let (mut before, mut rate) = (0.0, 0.0);
        for depth in self.depth..=self.deepest() {
            let pages = libm::exp2(f64::from(depth));
            let full = (pages * f64::from(self.page(depth))).min(items as f64);
            rate += (full - before).max(0.0) / (pages * slots(self.width));
            before = full.max(before);
        }
        -libm::expm1(-rate)
    }
}

/// Fingerprints that a page tells apart: those of each bucket.
fn slots(width: u32) -> f64 {
    libm::exp2(f64::from(BUCKET_BITS + width - 1))
}

/// Keys of a page whose new half has this share of the rate: a multiple of [`STEP`].
fn capacity(fpp: f64, share: f64, width: u32) -> u16 {
    let keys = (2.0 * share * fpp * slots(width)).min(f64::from(LARGEST)) as u16;
    keys / STEP * STEP
}

/// The depth at which pages of this size hold this many keys.
fn pages(items: u64, page: u16) -> u32 {
    items.div_ceil(page.max(1).into()).next_power_of_two().trailing_zeros()
}

fn holds(depth: u32, page: u16, items: u64) -> bool {
    depth >= 64 || u128::from(items) <= u128::from(page) << depth
}

/// The share of the rate that the keys of a generation have.
fn share(doublings: Option<u32>, generation: u32) -> f64 {
    match doublings {
        Some(doublings) => 1.0 / f64::from(doublings + 2),
        None if generation <= EQUAL => 0.05,
        None => {
            let later = f64::from(generation - EQUAL);
            0.15 / (later * (later + 1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_up_to_the_bound_or_for_ever() {
        for fpp in [0.5, 0.05, 0.01, 0.003, 1e-3, 1e-6] {
            for items in [1, 1_000, 1_000_000] {
                let rule = Rule::new(fpp, items, None).unwrap();
                // As long as pages hold more than the fewest keys.
                let last = (rule.depth..=rule.deepest()).take_while(|depth| rule.page(*depth) > STEP).last();
                for depth in 0..=last.unwrap_or(rule.depth).min(40) {
                    let keys = u64::from(rule.page(depth)) << depth;
                    assert!(rule.fpp_at(keys) <= fpp, "{fpp}, {items} items, depth {depth}");
                }
                let max = items * 1_000;
                let rule = Rule::new(fpp, items, Some(max)).unwrap();
                assert!(rule.fpp_at(max) <= fpp, "{fpp} up to {max}");
            }
        }
    }

    #[test]
    fn a_bound_makes_pages_larger_or_fingerprints_shorter() {
        for fpp in [0.004, 0.002] {
            let (open, bound) =
                (Rule::new(fpp, 1_000, None).unwrap(), Rule::new(fpp, 1_000, Some(10_000)).unwrap());
            assert!(bound.width < open.width || bound.page(2) > open.page(2), "{fpp}");
        }
    }
}
