//! Retouched Bloom filters: what clearing costs, and what it is worth.
//!
//! Source: Donnet, Baynat and Friedman, "Retouched Bloom Filters" (2006).

/// The share of elements that is lost when `cleared` of `ones` set bits are cleared at random:
/// those of which at least one of `hashes` different bits is among them. The share of false
/// positives that goes is the same.
///
/// ```
/// use gardenia::theory::retouched::lost;
/// assert_eq!(lost(1_000, 0, 5), 0.0);
/// assert_eq!(lost(1_000, 1_000, 5), 1.0);
/// assert!((lost(1_000, 100, 1) - 0.1).abs() < 1e-12);
/// assert!((lost(10, 3, 2) - (1.0 - 21.0 / 45.0)).abs() < 1e-12); // of 45 pairs, 21 are among the 7 that stay
/// ```
#[must_use]
pub fn lost(ones: u64, cleared: u64, hashes: u32) -> f64 {
    let (ones, cleared) = (ones as f64, cleared as f64);
    // All of them stay: drawn without replacement.
    let stays = (0..hashes).map(f64::from).map(|i| {
        let left = ones - i;
        if left <= 0.0 { 1.0 } else { ((left - cleared) / left).max(0.0) }
    });
    1.0 - stays.product::<f64>()
}

/// The quality of a clearing, χ: the share of false positives that went for each share of elements
/// that was lost. 1 is clearing at random; more is better.
///
/// ```
/// let chi = gardenia::theory::retouched::chi((90, 100), (30, 1_000));
/// assert!((chi - 30.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn chi((removed, false_positives): (u64, u64), (lost, elements): (u64, u64)) -> f64 {
    (removed as f64 / false_positives as f64) / (lost as f64 / elements as f64)
}
