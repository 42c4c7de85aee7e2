//! What the experiments on filters with choices share: a setting, two ways to try it, and the
//! paper's numbers.
//!
//! `simulation` plays the paper's process with true random positions and shares no code with the
//! library, so that it checks both; `library` runs Gardenia's own
//! [`ChoiceBloom`](gardenia::ChoiceBloom) on random digests and independent positions. Both must
//! come out at the paper's numbers (`paper`).

mod classes;
mod library;
mod paper;
mod simulation;

pub(crate) use classes::{Classes, Law};
pub(crate) use library::{library_offline, library_online};
pub(crate) use paper::{
    ELSEWHERE_16, LUMETTA, RANGES, TABLE_1, TABLE_2, TABLE_3, TRIALS, printed, range, ranges,
};
pub(crate) use simulation::{Rounds, online};
pub use simulation::{Rule, Ties};

/// n keys, m cells, c groups of k positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Keys, n.
    pub items: u64,
    /// Cells, m.
    pub cells: u64,
    /// Groups per key, c.
    pub choices: u32,
    /// Positions per group, k.
    pub hashes: u32,
}

impl Setting {
    /// 10,000 keys, as in the paper's tables.
    #[must_use]
    pub const fn paper(per_item: u64, choices: u32, hashes: u32) -> Self {
        Self { items: 10_000, cells: per_item * 10_000, choices, hashes }
    }

    /// The same with other keys and as many cells for each.
    pub(crate) const fn with_items(self, items: u64) -> Self {
        Self { items, cells: self.cells / self.items * items, ..self }
    }

    /// The rate of a filter with this share of ones, as in the paper: `1 - (1 - fill^k)^c`.
    #[must_use]
    pub fn rate(&self, fill: f64) -> f64 {
        self.rate_of_groups(libm::pow(fill, f64::from(self.hashes)))
    }

    /// The rate of a filter of whose groups this share is found: `1 - (1 - group)^c`.
    #[must_use]
    pub fn rate_of_groups(&self, group: f64) -> f64 {
        -libm::expm1(f64::from(self.choices) * libm::log1p(-group))
    }

    /// Positions that all keys have together: the work of one pass.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.items * u64::from(self.choices) * u64::from(self.hashes)
    }

    /// Its name as a point of an experiment.
    #[must_use]
    pub fn name(&self) -> String {
        format!("n={} m={} c={} k={}", self.items, self.cells, self.choices, self.hashes)
    }
}
