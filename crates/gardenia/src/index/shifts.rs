//! The false-positive rate of a small table, counted in its cells.
//!
//! In tables of a few thousand cells and fewer the fill does not determine the rate: keys that
//! resemble the query, short cycles and folds take part, in ways that no formula covers to the end.
//! But every numbered scheme except [`Dcso`](super::Dcso) draws a group of positions and all its
//! shifts, modulo m or modulo the slice, equally often. So a group is laid over the cells at 64
//! shifts at a time, and the shifts at which all its cells are set are counted. Where a scheme has
//! few groups up to shifts, all of them are counted, which is exact; otherwise as many as there is
//! time for.
//!
//! The groups are the same every time: a filter always states the same rate.

use super::{Scheme, SchemeId, digest_floor, scale, wrap};
use crate::hash::Digest;
use crate::theory::bloom::estimate_items;
use crate::theory::kirsch_mitzenmacher::greatest_common_divisor;
use alloc::vec::Vec;

/// The most cells of a table whose rate is counted: as many as the shifts of a group that are
/// looked at.
const SMALL: u64 = 64 * WINDOW;

/// Words of 64 shifts to look at, which takes some 2 ms.
const WORDS: u64 = 1 << 16;

/// The standard error, as a share of the rate, with which counting ends.
const NEAR: f64 = 0.03;

/// The false-positive probability of a table of which `ones` cells are occupied: counted up to
/// 2,048 cells, from the fill beyond. `tables` of them share the time, which is some 2 ms.
///
/// Independent positions have an exact formula. If too few groups could be looked at, the count and
/// the formula are weighted: the formula by the variance of the count, and the count by the square
/// of their difference.
pub(crate) fn stated_fpp<S: Scheme>(
    scheme: &S,
    (cells, ones): (u64, u64),
    tables: usize,
    occupied: impl Fn(u64) -> bool,
) -> f64 {
    let formula = || scheme.fpp_at_fill(cells, ones as f64 / cells as f64);
    let hashes = scheme.hashes();
    let small = match scheme.id() {
        None | Some(SchemeId::Dcso | SchemeId::Independent) => 0,
        Some(SchemeId::Triple | SchemeId::Fractional) if hashes <= 3 => 0,
        // Beyond, the formula is good to 1 % (`Distinct::fractional`).
        Some(SchemeId::Fractional) => SMALL.min(20 * u64::from(hashes)),
        _ => SMALL,
    };
    let slices = if scheme.partitioned() { u64::from(hashes) } else { 1 };
    let slice = cells.checked_div(slices).unwrap_or(0);
    if cells > small || ones == 0 || ones >= cells || slice == 0 {
        return formula();
    }
    let rotated = Rotated::new(slices, slice, occupied);
    let floor = digest_floor(estimate_items(cells, hashes, ones).items);
    if scheme.id() == Some(SchemeId::PartitionIndependent) {
        return (rotated.of_slices() + floor).min(1.0);
    }
    let counted = by_shifts(scheme, &rotated, WORDS / tables.max(1) as u64, NEAR);
    let rate = (counted.rate + floor).min(1.0);
    if counted.error == 0.0 {
        return rate;
    }
    let (formula, variance) = (formula(), counted.error * counted.error);
    let off = rate - formula;
    formula + off * off * off / (off * off + variance)
}

/// Cells of which 64 neighbours can be read at a time: slices of the same length, or one. A slice
/// goes on at its start after its end.
pub(crate) trait Cyclic {
    /// How many slices there are.
    fn slices(&self) -> u64;
    /// Cells of a slice.
    fn slice(&self) -> u64;
    /// The 64 cells of a slice from `at` on, which is below twice its length.
    fn word(&self, slice: u64, at: u64) -> u64;
}

/// A small table: a word for every cell, twice.
struct Rotated {
    slices: u64,
    slice: u64,
    words: Vec<u64>,
}

impl Rotated {
    fn new(slices: u64, slice: u64, occupied: impl Fn(u64) -> bool) -> Self {
        let mut words = alloc::vec![0; (2 * slices * slice) as usize];
        for (number, words) in (0..).zip(words.chunks_exact_mut(2 * slice as usize)) {
            let mut word = 0;
            let mut before = |at: u64| {
                word = word << 1 | u64::from(occupied(number * slice + at % slice));
                word
            };
            (0..64).rev().for_each(|at| _ = before(at));
            words.iter_mut().enumerate().rev().for_each(|(at, word)| *word = before(at as u64));
        }
        Self { slices, slice, words }
    }

    /// The rate of positions that are independent, one in each slice.
    fn of_slices(&self) -> f64 {
        let ones = |words: &[u64]| words.iter().map(|word| word & 1).sum::<u64>() as f64;
        let slices = self.words.chunks_exact(2 * self.slice as usize);
        slices.map(|twice| ones(twice) / twice.len() as f64).product()
    }
}

impl Cyclic for Rotated {
    fn slices(&self) -> u64 {
        self.slices
    }
    fn slice(&self) -> u64 {
        self.slice
    }
    #[inline(always)]
    fn word(&self, slice: u64, at: u64) -> u64 {
        self.words[(2 * slice * self.slice + at) as usize]
    }
}

/// Where drawn groups start.
const SEED: Digest = Digest(0x7265_7369_6475_6573);

/// The most groups that are drawn.
const GROUPS: u64 = 1 << 21;

/// Words of shifts of one group.
const WINDOW: u64 = 32;

/// A rate that was counted, and its standard error.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) rate: f64,
    pub(crate) error: f64,
}

/// Groups of one sort: their share of all groups, and what was counted.
#[derive(Clone, Copy, Default)]
struct Sort {
    share: f64,
    groups: f64,
    sum: f64,
    squares: f64,
}

impl Sort {
    fn add(&mut self, hits: u64) {
        let hits = hits as f64;
        (self.groups, self.sum, self.squares) =
            (self.groups + 1.0, self.sum + hits, self.squares + hits * hits);
    }

    /// Groups with a hit are rare, so that the variance is the sum of squares. If none was found, a
    /// few may have been missed.
    fn counted(&self, shifts: u64) -> Counted {
        let weight = self.share / (self.groups.max(1.0) * shifts as f64);
        Counted { rate: weight * self.sum, error: weight * libm::sqrt(self.squares + 4.0) }
    }
}

/// The share of shifts, of all groups or of many, at which all cells of the group are set. Looks at
/// `words` words of 64 shifts at most, and stops where the standard error is `near` times the rate.
///
/// Groups of short cycles, which have few cells, are seldom and found often: they are counted apart
/// from others.
pub(crate) fn by_shifts<S: Scheme>(scheme: &S, cells: &impl Cyclic, words: u64, near: f64) -> Counted {
    let slice = cells.slice();
    let window = Window::new(slice);
    let most = GROUPS.min(words / window.words);
    let mut room = Vec::with_capacity(scheme.hashes() as usize);
    let patterns = Patterns::of(scheme, slice).filter(|_| window.shifts == slice);
    if let Some(patterns) = patterns.as_ref().filter(|patterns| patterns.count <= most) {
        let mut one = |pattern| window.hits(cells, patterns.group(pattern), &mut room);
        let sum: u64 = (0..patterns.count).map(&mut one).sum();
        return Counted { rate: sum as f64 / (patterns.count * slice) as f64, error: 0.0 };
    }
    let (mut short, mut long) = (Sort::default(), Sort { share: 1.0, ..Sort::default() });
    // Of cycles modulo m all groups are counted.
    let mut exact = 0.0;
    if let Some(patterns) = &patterns {
        for pattern in patterns.short() {
            exact += window.hits(cells, patterns.group(pattern), &mut room) as f64;
            long.share -= 1.0 / patterns.count as f64;
        }
        exact /= patterns.count as f64 * slice as f64;
    }
    let fractions =
        (scheme.id() == Some(SchemeId::Fractional)).then(|| Fractions::new(slice, scheme.hashes()));
    if let Some(fractions) = &fractions {
        short.share = fractions.share();
        long.share -= short.share;
    }
    let (most, start) = (most as u32, |number: u32| scale(SEED.word(!number), slice));
    let mut counted = Counted { rate: 0.0, error: 1.0 }; // of no groups
    for number in 1..=most {
        let word = |i: u32| SEED.word(number.wrapping_mul(4).wrapping_add(i));
        match (&patterns, &fractions) {
            (Some(patterns), _) => {
                let pattern = scale(word(0), patterns.count);
                if !patterns.is_short(pattern) {
                    long.add(window.hits(cells, patterns.group(pattern), &mut room));
                }
            }
            // Tables of a few cells have none: they would overlap.
            (_, Some(fractions)) if number % 4 == 0 && !fractions.cycles.is_empty() => {
                let group = fractions.group(word(0), fractions.short([1, 2, 3].map(word)));
                short.add(window.hits(cells, group, &mut room));
            }
            (_, Some(fractions)) => {
                let [step, bend] = [1, 2].map(word);
                if !fractions.are_short(step, bend) {
                    long.add(window.hits(cells, fractions.group(word(0), [step, bend]), &mut room));
                }
            }
            _ => {
                let positions = scheme.positions(Digest(word(0)), cells.slices() * slice);
                let group = (0..).zip(positions).map(|(i, at)| {
                    let base = if cells.slices() > 1 { i * slice } else { 0 };
                    wrap(at - base + start(number), slice)
                });
                long.add(window.hits(cells, group, &mut room));
            }
        }
        if number % 1024 == 0 || number == most {
            let [few, many] = [short, long].map(|sort| sort.counted(window.shifts));
            let rate = exact + few.rate + many.rate;
            counted = Counted { rate, error: libm::hypot(few.error, many.error) };
            if counted.error <= near * rate {
                break;
            }
        }
    }
    counted
}

/// The shifts of a group that are looked at.
struct Window {
    shifts: u64,
    words: u64,
    /// Those of the last word.
    last: u64,
}

impl Window {
    fn new(slice: u64) -> Self {
        let (words, shifts) = (slice.div_ceil(64).min(WINDOW), slice.min(64 * WINDOW));
        let last = if shifts.is_multiple_of(64) { u64::MAX } else { (1 << (shifts % 64)) - 1 };
        Self { shifts, words, last }
    }

    /// At how many shifts all cells of a group are set. Its positions are computed when they are
    /// needed; `group` is room for them.
    #[inline(always)]
    fn hits(
        &self,
        cells: &impl Cyclic,
        mut positions: impl Iterator<Item = u64>,
        group: &mut Vec<u64>,
    ) -> u64 {
        let many = u64::from(cells.slices() > 1);
        group.clear();
        let mut hits = 0;
        for word in 0..self.words {
            let mut all = if word + 1 == self.words { self.last } else { u64::MAX };
            let mut known = 0;
            while all != 0 {
                if known == group.len() {
                    let Some(next) = positions.next() else { break };
                    group.push(next);
                }
                all &= cells.word(known as u64 * many, group[known] + word * 64);
                known += 1;
            }
            hits += u64::from(all.count_ones());
        }
        hits
    }
}

/// All groups of a scheme up to shifts, each as frequent as any other: those of schemes that take
/// sums modulo a number.
struct Patterns {
    id: SchemeId,
    hashes: u64,
    modulus: u64,
    count: u64,
}

impl Patterns {
    fn of<S: Scheme>(scheme: &S, modulus: u64) -> Option<Self> {
        let id = scheme.id()?;
        let count = match id {
            SchemeId::Double => modulus.checked_sub(1).filter(|steps| *steps > 0)?,
            SchemeId::DoubleOdd => modulus / 2,
            SchemeId::EnhancedSquare
            | SchemeId::EnhancedCube
            | SchemeId::Enhanced
            | SchemeId::Partition
            | SchemeId::PartitionPrime => modulus,
            SchemeId::Triple => modulus.checked_mul(modulus)?,
            _ => return None,
        };
        Some(Self { id, hashes: scheme.hashes().into(), modulus, count })
    }

    /// The positions of a group.
    #[inline(always)]
    fn group(&self, pattern: u64) -> impl Iterator<Item = u64> {
        let Self { id, modulus, hashes, .. } = *self;
        let (step, bend) = match id {
            SchemeId::Double => (pattern + 1, 0),
            SchemeId::DoubleOdd => (2 * pattern + 1, 0),
            SchemeId::Triple => (pattern % modulus, pattern / modulus),
            _ => (pattern, 0),
        };
        (0..hashes).map(move |i| {
            let more = match id {
                SchemeId::EnhancedSquare => i * i,
                SchemeId::EnhancedCube => i * i * i,
                SchemeId::Enhanced => (i * i * i - i) / 6,
                SchemeId::Triple => i * i.saturating_sub(1) / 2 * bend,
                _ => 0,
            };
            (i * step + more) % modulus
        })
    }

    /// The groups of triple hashing whose step and bend are multiples of m/L for a small L: they
    /// have L cells at most.
    fn short(&self) -> impl Iterator<Item = u64> {
        let (triple, m) = (self.id == SchemeId::Triple, self.modulus);
        let cycles = (1..=Self::CYCLE).filter(move |&cycle| triple && m.is_multiple_of(cycle));
        cycles.flat_map(move |cycle| reduced(cycle).map(move |(step, bend)| m / cycle * (step + bend * m)))
    }

    fn is_short(&self, pattern: u64) -> bool {
        let (step, bend) = (pattern % self.modulus, pattern / self.modulus);
        let common = greatest_common_divisor(greatest_common_divisor(step, bend), self.modulus);
        self.id == SchemeId::Triple && self.modulus / common <= Self::CYCLE
    }

    /// The longest of the short cycles.
    const CYCLE: u64 = 32;
}

/// All pairs of numbers below `cycle` that have no divisor in common with it, both of them.
fn reduced(cycle: u64) -> impl Iterator<Item = (u64, u64)> {
    let both = (0..cycle).flat_map(move |a| (0..cycle).map(move |b| (a, b)));
    both.filter(move |&(a, b)| greatest_common_divisor(greatest_common_divisor(a, b), cycle) == 1)
}

/// The groups of triple hashing in fractions of the table.
struct Fractions {
    cells: u64,
    hashes: u32,
    /// Where short cycles are: step and bend.
    cycles: Vec<[u64; 2]>,
    longest: u64,
    /// How far step, in the middle of the group, and bend may be from there, either way: so far
    /// that the last positions are off by a cell.
    near: [u64; 2],
}

impl Fractions {
    fn new(cells: u64, hashes: u32) -> Self {
        const ONE: f64 = 18_446_744_073_709_551_616.0;
        let all = cells as f64 * f64::from(hashes);
        let near = [2.0 / all, 8.0 / all / f64::from(hashes)].map(|near| (near * ONE) as u64);
        // Cycles of 1 to 4 steps are twelfths apart, and must not overlap: up to 3 they are sixths apart, and so on.
        let longest =
            (1..=4).zip([1.0, 2.0, 6.0, 12.0]).filter(|(_, apart)| 12.0 * apart <= all).count() as u64;
        let place = |a: u64, cycle: u64| ((u128::from(a) << 64) / u128::from(cycle)) as u64;
        let cycles = (1..=longest)
            .flat_map(|cycle| reduced(cycle).map(move |of| [of.0, of.1].map(|a| place(a, cycle))));
        Self { cells, hashes, cycles: cycles.collect(), longest, near }
    }

    /// The share of all groups that [`are_short`](Self::are_short).
    fn share(&self) -> f64 {
        let [step, bend] = self.near.map(|near| libm::ldexp(near as f64, -63));
        step * bend * self.cycles.len() as f64
    }

    /// How far the step is from that of the first position, in the middle of the group.
    fn to_middle(&self, bend: i64) -> i64 {
        bend.wrapping_mul(i64::from(self.hashes) - 2) / 2
    }

    fn are_short(&self, step: u64, bend: u64) -> bool {
        let near = |off: i64, at: usize| off.unsigned_abs() < self.near[at];
        (1..=self.longest).any(|cycle| {
            let [step, bend] = [step, bend].map(|of| of.wrapping_mul(cycle) as i64 / cycle as i64);
            near(bend, 1) && near(step.wrapping_add(self.to_middle(bend)), 0)
        })
    }

    /// Step and bend of a short cycle.
    fn short(&self, [which, step, bend]: [u64; 3]) -> [u64; 2] {
        let off = |word: u64, near: u64| scale(word, 2 * near).wrapping_sub(near) as i64;
        let bend = off(bend, self.near[1]);
        let step = off(step, self.near[0]) - self.to_middle(bend);
        let at = self.cycles[scale(which, self.cycles.len() as u64) as usize];
        [at[0].wrapping_add_signed(step), at[1].wrapping_add_signed(bend)]
    }

    #[inline(always)]
    fn group(&self, mut at: u64, [mut step, bend]: [u64; 2]) -> impl Iterator<Item = u64> {
        let cells = self.cells;
        (0..self.hashes).map(move |_| {
            let position = scale(at, cells);
            at = at.wrapping_add(step);
            step = step.wrapping_add(bend);
            position
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::AnyScheme;
    use alloc::collections::BTreeSet;

    #[test]
    fn short_cycles_are_as_frequent_as_they_are_said_to_be() {
        for (cells, hashes) in [(12, 4), (29, 8), (100, 13)] {
            let fractions = Fractions::new(cells, hashes);
            let all = 4_000_000;
            let met =
                (1..=all).filter(|i| fractions.are_short(SEED.word(2 * i), SEED.word(2 * i + 1))).count();
            let expected = fractions.share() * f64::from(all);
            assert!((met as f64 - expected).abs() < 5.0 * libm::sqrt(expected), "{met} met, {expected}");
            let all_are = (1..10_000).all(|i| {
                let [step, bend] = fractions.short([3 * i, 3 * i + 1, 3 * i + 2].map(|i| SEED.word(i)));
                fractions.are_short(step, bend)
            });
            assert!(all_are, "{cells} cells");
        }
    }

    #[test]
    fn patterns_are_the_groups_of_a_scheme_up_to_shifts() {
        for id in SchemeId::ALL {
            let scheme = AnyScheme::new(id, 5);
            let cells = if scheme.partitioned() { 11 } else { scheme.fit(11) };
            let Some(patterns) = Patterns::of(&scheme, cells) else { continue };
            let all: BTreeSet<Vec<u64>> =
                (0..patterns.count).map(|one| patterns.group(one).collect()).collect();
            let drawn: BTreeSet<Vec<u64>> = (1..4_000)
                .map(|i| {
                    // Slices of as many cells.
                    let all = if scheme.partitioned() { 5 * cells } else { cells };
                    let group: Vec<u64> = scheme.positions(Digest(SEED.word(i)), all).collect();
                    group.iter().map(|at| (at + cells - group[0]) % cells).collect()
                })
                .collect();
            let zeroed = |group: &Vec<u64>| group.iter().map(|at| (at + cells - group[0]) % cells).collect();
            assert_eq!(all.iter().map(zeroed).collect::<BTreeSet<Vec<u64>>>(), drawn, "{id:?}");
            assert_eq!(all.len() as u64, patterns.count, "{id:?}: each once");
        }
    }
}
