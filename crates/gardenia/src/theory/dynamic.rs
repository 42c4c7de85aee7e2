//! The dynamic filter: equal layers of a fixed capacity, as many as the keys need.
//!
//! Source: Guo, Wu, Chen and Luo, "Theory and Network Applications of Dynamic Bloom Filters"
//! (2006), equation 5.

use super::bloom;
use super::scalable::compound;

/// The false-positive probability after `items` keys in layers of `cells` cells that take
/// `capacity` keys each: 1 − (1 − f(c))^⌊n/c⌋·(1 − f(n mod c)), where f is that of one layer. It
/// grows about as n/c.
///
/// No capacity gives 1.
///
/// ```
/// use gardenia::theory::{bloom, dynamic::fpp};
/// let one = bloom::fpp_exact(10_000, 1_000, 7);
/// assert_eq!(fpp(10_000, 7, 1_000, 0), 0.0);
/// assert!((fpp(10_000, 7, 1_000, 1_000) - one).abs() < 1e-12);
/// assert!((fpp(10_000, 7, 1_000, 10_000) - (1.0 - (1.0 - one).powi(10))).abs() < 1e-12);
/// ```
#[must_use]
pub fn fpp(cells: u64, hashes: u32, capacity: u64, items: u64) -> f64 {
    let (Some(full), Some(rest)) = (items.checked_div(capacity), items.checked_rem(capacity)) else {
        return 1.0;
    };
    let layer = |items| bloom::fpp_exact(cells, items, hashes);
    let all = full as f64 * libm::log1p(-layer(capacity)) + libm::log1p(-layer(rest));
    -libm::expm1(all)
}

/// The probability that the removal of a present key is refused, because another of these layers
/// claims it, too: the rates are those of the other layers.
///
/// ```
/// use gardenia::theory::dynamic::refused;
/// assert!((refused([0.01; 9]) - 0.0865).abs() < 1e-4); // ten layers of 1 %: one removal in twelve
/// ```
#[must_use]
pub fn refused(others: impl IntoIterator<Item = f64>) -> f64 {
    compound(others)
}
