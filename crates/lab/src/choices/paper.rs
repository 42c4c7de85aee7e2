//! The numbers that Lumetta and Mitzenmacher print.

use super::Setting;
use crate::{Cell, Checks, Form, Mean, Reference, Table};

/// The paper.
pub(crate) const LUMETTA: &str =
    "Lumetta and Mitzenmacher, Using the Power of Two Choices to Improve Bloom Filters (2007)";

/// Trials of every number in the paper's tables, and the digits with which rates are printed.
pub(crate) const TRIALS: u64 = 1_000;
const DIGITS: u32 = 4;

/// A rate as the paper prints it, with the error of its own trials, which are like ours.
pub(crate) fn printed(rate: f64, ours: Mean) -> Reference {
    Reference::printed(rate, DIGITS).of_trials(TRIALS, ours)
}

/// The mean of the largest of a thousand normal numbers, and its standard deviation, in their own.
const LARGEST: [f64; 2] = [3.241, 0.351];

/// The largest, or the smallest, rate of a thousand trials by the mean and the spread of ours,
/// whose logarithms are nearly normal.
pub(crate) fn extreme(rates: &[f64], largest: bool) -> (Mean, f64) {
    let logs: Vec<f64> = rates.iter().map(|rate| libm::log(*rate)).collect();
    let mean = Mean::of(&logs);
    let spread = mean.standard_error * libm::sqrt(logs.len() as f64);
    let sign = if largest { 1.0 } else { -1.0 };
    // A spread is known to one part in √(2ν).
    let of_spread = LARGEST[0] * spread / libm::sqrt(2.0 * (logs.len() as f64 - 1.0));
    let found = Mean {
        mean: mean.mean + sign * LARGEST[0] * spread,
        standard_error: libm::hypot(mean.standard_error, of_spread),
        trials: mean.trials,
    };
    (found, LARGEST[1] * spread)
}

/// Ranges of the rates of a thousand trials that the text gives: sections 3.1 and 3.2.
pub(crate) const RANGES: [(Setting, u64, [f64; 2]); 3] = [
    (Setting::paper(32, 1, 22), 0, [1.955e-7, 2.270e-7]),
    (Setting::paper(32, 2, 24), 0, [1.206e-7, 1.378e-7]),
    (Setting::paper(32, 2, 26), 15, [5.706e-8, 6.486e-8]),
];

/// Compares the range of a thousand trials with that of ours.
pub(crate) fn range(table: &mut Table, setting: Setting, rounds: u64, rates: &[f64], printed: [f64; 2]) {
    let mut checks = Checks::default();
    let ends = [false, true].map(|largest| extreme(rates, largest));
    for ((what, (found, spread)), printed) in ["least", "most"].into_iter().zip(ends).zip(printed) {
        let half = Reference::printed(printed, DIGITS).half_unit / printed;
        let reference = Reference { value: libm::log(printed), standard_error: spread, half_unit: half };
        checks.is(&format!("logarithm of the {what}"), found, reference);
    }
    let rate = Form::Power(3);
    let cells = vec![
        Cell::Count(setting.cells / setting.items),
        Cell::Count(setting.choices.into()),
        Cell::Count(setting.hashes.into()),
        if rounds == 0 { Cell::Empty } else { Cell::Count(rounds) },
        Cell::Number(libm::exp(ends[0].0.mean), rate),
        Cell::Number(printed[0], rate),
        Cell::Number(libm::exp(ends[1].0.mean), rate),
        Cell::Number(printed[1], rate),
    ];
    table.judge(cells, checks);
}

/// An empty table for [`range`].
pub(crate) fn ranges() -> Table {
    let columns = ["m/n", "c", "k", "rounds", "least", "paper", "most", "paper"];
    let mut table = Table::new("Rates of a thousand filters, simulated", &columns);
    table.note(
        "The least and the most of a thousand, by the mean and the spread of the logarithms of our rates. A row agrees if both \
         are the paper's, but for chance: the largest of a thousand normal numbers is 3.241 ± 0.351 standard deviations \
         above their mean.",
    );
    table
}

/// A row of Table 1.
pub(crate) struct Online {
    pub(crate) setting: Setting,
    pub(crate) rate: f64,
}

const fn online(per_item: u64, choices: u32, hashes: u32, rate: f64) -> Online {
    Online { setting: Setting::paper(per_item, choices, hashes), rate }
}

/// Table 1: keys come one by one.
pub(crate) const TABLE_1: [Online; 9] = [
    online(8, 1, 6, 2.159e-2),
    online(8, 2, 7, 2.323e-2),
    online(8, 3, 7, 2.389e-2),
    online(16, 1, 11, 4.588e-4),
    online(16, 2, 13, 3.935e-4),
    online(16, 3, 13, 3.607e-4),
    online(32, 1, 22, 2.106e-7),
    online(32, 2, 24, 1.285e-7),
    online(32, 3, 25, 9.980e-8),
];

/// From the text of section 3.1: hashes near the best, whose row is in [`TABLE_1`].
pub(crate) const ELSEWHERE_16: [Online; 2] = [online(16, 2, 12, 3.954e-4), online(16, 2, 14, 4.035e-4)];

/// A row of Table 2.
pub(crate) struct Fraction {
    pub(crate) setting: Setting,
    pub(crate) observed: f64,
    pub(crate) predicted: f64,
}

const fn fraction(per_item: u64, choices: u32, hashes: u32, observed: f64, predicted: f64) -> Fraction {
    Fraction { setting: Setting::paper(per_item, choices, hashes), observed, predicted }
}

/// Table 2: the share of ones, and equation (3.2).
pub(crate) const TABLE_2: [Fraction; 6] = [
    fraction(8, 2, 7, 0.5296, 0.5296),
    fraction(8, 3, 7, 0.5020, 0.5019),
    fraction(16, 2, 13, 0.5187, 0.5187),
    fraction(16, 3, 13, 0.4994, 0.4994),
    fraction(32, 2, 24, 0.5016, 0.5016),
    fraction(32, 3, 25, 0.5022, 0.5022),
];

/// Rows of Table 3 that one run gives: rounds, and the rate after them.
pub(crate) struct Offline {
    pub(crate) setting: Setting,
    pub(crate) rates: &'static [(u64, f64)],
}

const fn offline(per_item: u64, choices: u32, hashes: u32, rates: &'static [(u64, f64)]) -> Offline {
    Offline { setting: Setting::paper(per_item, choices, hashes), rates }
}

/// Table 3: rounds over all keys. Its rows for one group are those of Table 1.
pub(crate) const TABLE_3: [Offline; 7] = [
    offline(8, 2, 7, &[(10, 1.505e-2)]),
    offline(8, 2, 8, &[(15, 1.485e-2)]),
    offline(8, 3, 8, &[(30, 1.237e-2), (40, 1.222e-2)]),
    offline(16, 2, 14, &[(10, 2.259e-4), (15, 2.223e-4)]),
    offline(16, 3, 15, &[(30, 1.604e-4), (40, 1.582e-4)]),
    offline(32, 2, 26, &[(10, 6.260e-8), (15, 6.143e-8)]),
    offline(32, 3, 27, &[(30, 3.579e-8), (40, 3.525e-8)]),
];
