//! The numbers that Lumetta and Mitzenmacher print.

use super::Setting;

/// The paper.
pub(crate) const LUMETTA: &str =
    "Lumetta and Mitzenmacher, Using the Power of Two Choices to Improve Bloom Filters (2007)";

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
