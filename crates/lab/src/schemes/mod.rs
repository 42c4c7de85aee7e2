//! What the experiments on Kirsch and Mitzenmacher's schemes share: the schemes, how large filters
//! are, what is expected of them, and two ways to try them.
//!
//! `simulation` draws true random hash values and shares no code with the library; `library` runs
//! Gardenia's own filter on random digests; `expected` has the library's theory of both.
//! `all_steps` counts false positives of a simulated filter for all first hash values at once.

mod all_steps;
mod expected;
mod library;
mod simulation;

pub(crate) use all_steps::AllFirst;
pub(crate) use expected::{Expected, expected, library_mean_fill, limit, mean_fill};
pub(crate) use library::{library_expected, library_filter, library_found};
pub(crate) use simulation::{Filter, Tally, trial};

use crate::Mean;

/// Where all of this is from.
pub(crate) const KIRSCH: &str =
    "Kirsch and Mitzenmacher, Less Hashing, Same Performance: Building a Better Bloom Filter (2006; 2008)";

/// How k positions are computed from few hash values; all sums are modulo the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// k hash values.
    Standard,
    /// h1 + i·h2 in slice i of m/k cells.
    Partition,
    /// h1 + i·h2, any step h2, also 0.
    Double,
    /// h1 + i·h2 + i².
    Square,
    /// h1 + i·h2 + i³.
    Cube,
    /// h1 + i·h2 + (i(i-1)/2)·h3.
    Triple,
}

impl Way {
    /// All of them, in the paper's order.
    pub const ALL: [Self; 6] =
        [Self::Standard, Self::Partition, Self::Double, Self::Square, Self::Cube, Self::Triple];

    /// Its name in tables and figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Partition => "partition",
            Self::Double => "double",
            Self::Square => "i²",
            Self::Cube => "i³",
            Self::Triple => "triple",
        }
    }
}

/// n keys at c bits each, and the whole k that is best there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Keys, n.
    pub(crate) items: u64,
    /// Bits per key, c.
    pub(crate) per_item: u64,
    /// Positions per key, k.
    pub(crate) hashes: u32,
}

impl Size {
    /// Section 8: k is the better of the floor and the ceiling of c·ln 2 by the limit. (The
    /// conference paper prints the ceiling twice: erratum 20.)
    pub(crate) fn best(per_item: u64, items: u64) -> Self {
        let below = ((per_item as f64 * std::f64::consts::LN_2) as u32).max(1);
        let best = [below, below + 1].map(|hashes| Self { items, per_item, hashes });
        if limit(&best[1]) < limit(&best[0]) { best[1] } else { best[0] }
    }

    /// Cells of the filter: c·n, for slices rounded up to a multiple of k. (The papers are silent:
    /// erratum 22.)
    pub(crate) fn cells(&self, way: Way) -> u64 {
        let cells = self.per_item * self.items;
        if way == Way::Partition { cells.next_multiple_of(self.hashes.into()) } else { cells }
    }

    /// What a hash value ranges over: the cells, or those of a slice.
    pub(crate) fn range(&self, way: Way) -> u64 {
        let cells = self.cells(way);
        if way == Way::Partition { cells / u64::from(self.hashes) } else { cells }
    }

    /// Queries per trial: ⌈10/p⌉.
    pub(crate) fn queries(&self) -> u64 {
        libm::ceil(10.0 / limit(self)) as u64
    }

    /// Its name as a point of an experiment.
    pub(crate) fn name(&self) -> String {
        format!("c={} n={} k={}", self.per_item, self.items, self.hashes)
    }
}

/// The mean rate of filters that found `found` of `queries` queries each. Its error is not below
/// that of the count, which the spread of a few trials may well be.
pub(crate) fn mean_rate(found: &[u64], queries: u64) -> Mean {
    let rates: Vec<f64> = found.iter().map(|&found| found as f64 / queries as f64).collect();
    let (mean, all) = (Mean::of(&rates), Mean::of_rate(found.iter().sum(), queries * found.len() as u64));
    Mean { standard_error: mean.standard_error.max(all.standard_error), ..mean }
}

#[test]
fn equal_counts_do_not_claim_certainty() {
    let rate = mean_rate(&[10, 10], 1_000);
    assert!(rate.mean == 0.01 && (rate.standard_error - 0.002_225).abs() < 1e-6 && rate.trials == 2);
    assert!((mean_rate(&[0, 20], 1_000).standard_error - 0.01).abs() < 1e-12);
}

#[test]
fn the_best_hashes_and_queries_are_those_of_section_8() {
    let of = |per_item| {
        let size = Size::best(per_item, 5_000);
        (size.hashes, size.queries())
    };
    assert_eq!([4, 8, 12, 16].map(of), [(3, 69), (6, 464), (8, 3_183), (11, 21_801)]);
    // Only slices need rounding, and only where k does not divide c·n.
    let size = Size::best(4, 1_000);
    assert_eq!((size.cells(Way::Double), size.cells(Way::Partition)), (4_000, 4_002));
    assert_eq!((size.range(Way::Double), size.range(Way::Partition)), (4_000, 1_334));
    assert_eq!(Size::best(12, 1_000).cells(Way::Partition), 12_000);
}
