//! Lumetta and Mitzenmacher's process, played with true random positions.
//!
//! Nothing of the library is used here, on purpose. Each key draws c groups of k positions. Online,
//! a key takes the group with the fewest cells that are still clear. Offline, keys are walked over
//! again and again: each is removed, its groups are compared given all others, and it is put
//! back; "rounds" count the first pass.
//!
//! A position that comes twice in a group must count once: the second is sent to a cell of its own
//! behind the table, which is never clear and never changed.
//!
//! Source: Lumetta and Mitzenmacher (2007), sections 3.1 and 3.2.

use super::{Law, Setting};
use crate::Stream;

/// Which group a key takes when it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The one that needs the fewest new ones: the paper's.
    #[default]
    Fewest,
    /// Any: no choice at all. It shows that the verdicts notice.
    Any,
}

/// Which of several groups that cost the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Each with the same chance: the paper's.
    #[default]
    Random,
    /// The first: gets stuck early, says the paper.
    First,
}

/// The positions of a group from two hash values below m.
struct Steps {
    at: u64,
    step: u64,
    i: u64,
    cells: u64,
    cubic: bool,
}

impl Steps {
    #[inline]
    fn draw(setting: &Setting, law: Law, stream: &mut Stream) -> Self {
        let m = setting.cells;
        let at = stream.below(m);
        let step = if law == Law::OddStep { 2 * stream.below(m / 2) + 1 } else { 1 + stream.below(m - 1) };
        Self { at, step, i: 0, cells: m, cubic: law == Law::Cubic }
    }
}

impl Iterator for Steps {
    type Item = u32;
    #[inline]
    fn next(&mut self) -> Option<u32> {
        let at = self.at;
        // (i + 1)³ - i³
        let more = if self.cubic { 3 * self.i * (self.i + 1) + 1 } else { 0 };
        self.i += 1;
        self.at = at + self.step + more;
        while self.at >= self.cells {
            self.at -= self.cells;
        }
        Some(at as u32)
    }
}

/// Draws the positions of one key, each of a group once; `stamps` holds the last group that had a
/// position.
#[inline]
fn draw(
    setting: &Setting,
    law: Option<Law>,
    stamps: &mut [u32],
    stamp: &mut u32,
    stream: &mut Stream,
    groups: &mut [u32],
) {
    for group in groups.chunks_exact_mut(setting.hashes as usize) {
        *stamp += 1;
        if let Some(law) = law {
            group.iter_mut().zip(Steps::draw(setting, law, stream)).for_each(|(to, at)| *to = at);
        }
        for position in group {
            let at = if law.is_some() { *position } else { stream.below(setting.cells) as u32 };
            let last = &mut stamps[at as usize];
            *position = if *last == *stamp { setting.cells as u32 } else { at };
            *last = *stamp;
        }
    }
}

/// The cheapest of a key's groups.
#[inline]
fn choose(cells: &[u8], groups: &[u32], hashes: usize, rule: Rule, ties: Ties, stream: &mut Stream) -> usize {
    let mut best = (u64::MAX, 0);
    for (group, positions) in groups.chunks_exact(hashes).enumerate() {
        let clear: u64 = positions.iter().map(|&at| u64::from(cells[at as usize] == 0)).sum();
        let cost = if rule == Rule::Any { 0 } else { clear };
        // What decides among equals stands below the cost.
        let lot = if ties == Ties::Random { stream.word() >> 32 } else { group as u64 };
        best = best.min((cost << 32 | lot, group));
    }
    best.1
}

/// The share of ones after all keys have come one by one.
pub(crate) fn online(setting: &Setting, rule: Rule, stream: &mut Stream) -> f64 {
    let (mut cells, mut stamps, mut stamp) = table(setting);
    let hashes = setting.hashes as usize;
    let mut groups = vec![0; setting.choices as usize * hashes];
    let mut ones = 0u64;
    for _ in 0..setting.items {
        draw(setting, None, &mut stamps, &mut stamp, stream, &mut groups);
        let group = choose(&cells, &groups, hashes, rule, Ties::Random, stream);
        for &at in &groups[group * hashes..][..hashes] {
            ones += u64::from(cells[at as usize] == 0);
            cells[at as usize] = 1;
        }
    }
    ones as f64 / setting.cells as f64
}

/// Clear cells with the one behind them, and stamps for [`draw`].
fn table(setting: &Setting) -> (Vec<u8>, Vec<u32>, u32) {
    let mut cells = vec![0; setting.cells as usize + 1];
    cells[setting.cells as usize] = 1;
    (cells, vec![0; setting.cells as usize], 0)
}

/// Rounds over keys that are all known up front.
pub(crate) struct Rounds<'a> {
    setting: Setting,
    stream: &'a mut Stream,
    /// Of all keys, group by group.
    positions: Vec<u32>,
    /// How many keys use a cell; of the one behind the table, 1.
    counters: Vec<u8>,
    /// The group of each key; none before the first round.
    chosen: Vec<u32>,
    ones: u64,
    ties: Ties,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(setting: Setting, ties: Ties, stream: &'a mut Stream) -> Self {
        Self::of_law(setting, None, ties, stream)
    }

    /// With groups that follow a law from two hash values.
    pub(crate) fn of_law(setting: Setting, law: Option<Law>, ties: Ties, stream: &'a mut Stream) -> Self {
        let (counters, mut stamps, mut stamp) = table(&setting);
        let mut positions = vec![0; setting.positions() as usize];
        draw(&setting, law, &mut stamps, &mut stamp, stream, &mut positions);
        Self { setting, stream, positions, counters, chosen: Vec::new(), ones: 0, ties }
    }

    /// Whether a cell is set.
    pub(crate) fn cell(&self, at: u64) -> bool {
        self.counters[at as usize] > 0
    }

    /// How many of `queries` random keys, whose groups follow this law, are found.
    pub(crate) fn found(&mut self, law: Law, queries: u64) -> u64 {
        let Self { setting, stream, counters, .. } = self;
        let mut all_set = || {
            Steps::draw(setting, law, stream)
                .take(setting.hashes as usize)
                .all(|at| counters[at as usize] > 0)
        };
        // All groups are drawn, found or not.
        let mut ask = || (0..setting.choices).fold(false, |found, _| all_set() | found);
        (0..queries).filter(|_| ask()).count() as u64
    }

    /// One more round; the share of ones after it.
    pub(crate) fn round(&mut self) -> f64 {
        let Self { setting, positions, counters, chosen, ones, .. } = self;
        let (hashes, behind) = (setting.hashes as usize, setting.cells as u32);
        let per_key = setting.choices as usize * hashes;
        let first = chosen.is_empty();
        chosen.resize(setting.items as usize, 0);
        for (groups, chosen) in positions.chunks_exact(per_key).zip(chosen) {
            let of = |group: u32| &groups[group as usize * hashes..][..hashes];
            if !first {
                for &at in of(*chosen) {
                    let counter = &mut counters[at as usize];
                    *counter -= u8::from(at != behind);
                    *ones -= u64::from(*counter == 0);
                }
            }
            *chosen = choose(counters, groups, hashes, Rule::Fewest, self.ties, self.stream) as u32;
            for &at in of(*chosen) {
                let counter = &mut counters[at as usize];
                *ones += u64::from(*counter == 0);
                *counter =
                    counter.checked_add(u8::from(at != behind)).expect("fewer than 256 keys to a cell");
            }
        }
        *ones as f64 / setting.cells as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn stream(trial: u64) -> Stream {
        Stream::new(3, "simulation", "tests", trial)
    }

    /// Crowded, so that positions of a group do coincide.
    const CROWDED: Setting = Setting { items: 40, cells: 97, choices: 3, hashes: 9 };

    #[test]
    fn ones_are_the_cells_of_the_chosen_groups() {
        for trial in 0..50 {
            let mut stream = stream(trial);
            let mut rounds = Rounds::new(CROWDED, Ties::Random, &mut stream);
            let mut before = f64::MAX;
            for _ in 0..6 {
                let fill = rounds.round();
                let groups = rounds.positions.chunks_exact(27).zip(&rounds.chosen);
                let of = |(groups, chosen): (&[u32], &u32)| groups[*chosen as usize * 9..][..9].to_vec();
                let set: BTreeSet<u32> = groups.flat_map(of).filter(|&at| at < 97).collect();
                assert_eq!(fill, set.len() as f64 / 97.0);
                assert!(fill <= before, "no round makes it worse");
                before = fill;
            }
        }
    }

    #[test]
    fn a_position_comes_once_in_a_group() {
        let mut stream = stream(0);
        let rounds = Rounds::new(CROWDED, Ties::Random, &mut stream);
        let mut twice = 0;
        for group in rounds.positions.chunks_exact(9) {
            let real: Vec<u32> = group.iter().copied().filter(|&at| at < 97).collect();
            assert_eq!(real.iter().collect::<BTreeSet<_>>().len(), real.len());
            twice += 9 - real.len();
        }
        // 36 pairs per group at 1/97 each, 120 groups: 44 in the mean.
        assert!((20..70).contains(&twice), "{twice}");
    }

    #[test]
    fn positions_follow_their_laws() {
        let setting = Setting { items: 1, cells: 1_000, choices: 1, hashes: 12 };
        for (law, trial) in [Law::OddStep, Law::AnyStep, Law::Cubic]
            .into_iter()
            .flat_map(|law| (0..50).map(move |trial| (law, trial)))
        {
            let steps = Steps::draw(&setting, law, &mut stream(trial));
            let (start, step) = (steps.at, steps.step);
            assert!((1..1_000).contains(&step) && (law != Law::OddStep || step % 2 == 1));
            for (i, at) in (0..12).zip(steps) {
                let cube = if law == Law::Cubic { i * i * i } else { 0 };
                assert_eq!(u64::from(at), (start + i * step + cube) % 1_000);
            }
        }
    }

    #[test]
    fn the_cheapest_group_is_taken_and_equals_share() {
        let cells = [1, 1, 0, 0, 1];
        // Costs 1, 0, 1; 2, 1, 1.
        let draw =
            |groups: &[u32], ties, trial| choose(&cells, groups, 2, Rule::Fewest, ties, &mut stream(trial));
        assert!((0..20).all(|trial| draw(&[0, 2, 1, 4, 3, 0], Ties::Random, trial) == 1));
        assert_eq!(draw(&[2, 3, 1, 2, 3, 0], Ties::First, 0), 1);
        let thirds = (0..600).filter(|&trial| draw(&[2, 3, 1, 2, 3, 0], Ties::Random, trial) == 2).count();
        assert!((240..360).contains(&thirds), "{thirds}"); // five standard errors
    }

    #[test]
    fn the_first_round_is_the_online_process() {
        let setting = Setting { items: 300, cells: 3_000, choices: 2, hashes: 7 };
        let mean = |fill: &dyn Fn(&mut Stream) -> f64| {
            crate::Mean::of(&(0..400).map(|trial| fill(&mut stream(trial))).collect::<Vec<_>>())
        };
        let one = mean(&|stream| online(&setting, Rule::Fewest, stream));
        let other = mean(&|stream| Rounds::new(setting, Ties::Random, stream).round());
        let error = libm::hypot(one.standard_error, other.standard_error);
        assert!((one.mean - other.mean).abs() < 5.0 * error, "{one:?} {other:?}");
    }
}
