//! Groups of positions: which are a key's, which is the cheapest, and whether one of them is all
//! ones.
//!
//! All c groups come from one digest. Group 0 is that of the digest itself, so that a filter with
//! one choice is the plain Bloom filter, bit for bit; group g is that of a word derived from it.
//! The scheme then makes k positions of each: with double hashing 2c hash values do.
//!
//! Source: Lumetta and Mitzenmacher (2007), section 3.1. Online, ties go to the group of the lowest
//! number.

use super::probe::{Choose, FIRST, all_set, fetch_lines};
use crate::cells::{Bits, Memory};
use crate::hash::Digest;
use crate::index::{MAX_HASHES, Scheme, Walk};

/// A key may be covered by any of its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) choices: u32,
}

/// The digest that stands for group `group` of a key.
///
/// Derived words up to [`MAX_HASHES`] are those of independent positions and must not come twice.
#[inline]
pub(super) fn group_digest(digest: Digest, group: u32) -> Digest {
    if group == 0 { digest } else { Digest(digest.word(MAX_HASHES + group)) }
}

/// How many different positions of `walk` are clear.
#[inline(always)]
pub(super) fn clear_cells(bits: &Bits<impl Memory>, hashes: usize, walk: impl Walk) -> u32 {
    // Room for 255 positions would take longer to clear than to use.
    if hashes <= 32 { clear_in::<32>(bits, hashes, walk) } else { clear_in::<256>(bits, hashes, walk) }
}

#[inline(always)]
fn clear_in<const ROOM: usize>(bits: &Bits<impl Memory>, hashes: usize, mut walk: impl Walk) -> u32 {
    let mut clear = [0; ROOM];
    let (mut count, mut marks) = (0, 0u64);
    for _ in 0..hashes.min(ROOM) {
        let at = walk.step();
        let is_clear = !bits.shifted(at) & 1;
        clear[count % ROOM] = at; // below ROOM anyway: spares the check
        count += is_clear as usize;
        marks |= is_clear << (at % 64);
    }
    // As many marks as positions: none came twice.
    if marks.count_ones() as usize == count { count as u32 } else { distinct(&clear[..count]) }
}

#[inline(never)]
fn distinct(positions: &[u64]) -> u32 {
    let is_first = |i: usize| !positions[..i].contains(&positions[i]);
    (0..positions.len()).map(|i| u32::from(is_first(i))).sum()
}

impl Groups {
    /// The group of `digest` with the fewest clear cells, and their number; the first of several.
    #[inline(always)]
    pub(super) fn cheapest<S: Scheme>(self, scheme: &S, bits: &Bits, digest: Digest) -> (u32, u32) {
        let (cells, hashes) = (bits.len(), scheme.hashes() as usize);
        let cost = |group| clear_cells(bits, hashes, scheme.walk(group_digest(digest, group), cells));
        let mut best = (cost(0), 0);
        for group in 1..self.choices {
            best = best.min((cost(group), group));
        }
        (best.1, best.0)
    }
}

impl Choose for Groups {
    #[inline(always)]
    fn covers<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest) -> bool {
        let (cells, hashes) = (bits.len(), scheme.hashes() as usize);
        (0..self.choices).any(|group| {
            let mut walk = scheme.walk(group_digest(digest, group), cells);
            all_set(hashes, || bits.shifted(walk.step()))
        })
    }

    #[inline(always)]
    fn fetch<S: Scheme>(self, scheme: &S, bits: &Bits<impl Memory>, digest: Digest, all: bool) {
        let hashes = scheme.hashes() as usize;
        let lines = if all { hashes } else { hashes.min(FIRST) };
        for group in 0..self.choices {
            fetch_lines(bits, lines, scheme.walk(group_digest(digest, group), bits.len()));
        }
    }

    #[inline(always)]
    fn set<S: Scheme>(self, scheme: &S, bits: &mut Bits, digest: Digest) -> bool {
        let (group, clear) = self.cheapest(scheme, bits, digest);
        let cells = bits.len();
        bits.set_all(scheme.positions(group_digest(digest, group), cells));
        clear > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Independent;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn clear_cells_are_counted_once_however_often_they_come(
            cells in 1u64..400, hashes in 1u32..=255, key in any::<u64>(), set in 1u32..300,
        ) {
            let mut bits = Bits::new(cells).unwrap();
            bits.set_all(Independent::new(set).positions(Digest(!key), cells));
            let scheme = Independent::new(hashes);
            let positions = scheme.positions(Digest(key), cells);
            let expected: BTreeSet<u64> = positions.filter(|at| !bits.get(*at)).collect();
            let found = clear_cells(&bits, hashes as usize, scheme.walk(Digest(key), cells));
            prop_assert_eq!(found as usize, expected.len());
        }

        #[test]
        fn the_cheapest_group_is_the_first_with_the_fewest_clear_cells(
            cells in 1u64..2000, hashes in 1u32..40, choices in 1u32..33, key in any::<u64>(),
        ) {
            let scheme = Independent::new(hashes);
            let mut bits = Bits::new(cells).unwrap();
            bits.set_all(Independent::new(200).positions(Digest(!key), cells));
            let cost = |group| {
                let positions = scheme.positions(group_digest(Digest(key), group), cells);
                positions.filter(|at| !bits.get(*at)).collect::<BTreeSet<_>>().len() as u32
            };
            let expected = (0..choices).map(|group| (cost(group), group)).min().unwrap();
            let (group, clear) = Groups { choices }.cheapest(&scheme, &bits, Digest(key));
            prop_assert_eq!((clear, group), expected);
        }
    }
}
