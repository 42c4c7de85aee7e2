//! The scalable filter: a series of slices whose rates add up to less than the target.
//!
//! Slice i may have the rate P_i = P·(1 − r)·r^i. The sum over all slices that may ever come is P,
//! whatever their number, as long as the tightening r is below 1.
//!
//! Source: Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom Filters" (2007), equations 3
//! and 4.

/// The rate of slice `number`, counted from 0, of a filter whose rate must not exceed
/// `fpp`: P·(1 − r)·r^i.
///
/// ```
/// use gardenia::theory::scalable::slice_fpp;
/// assert!((slice_fpp(0.01, 0.5, 0) - 0.005).abs() < 1e-15);
/// assert!((slice_fpp(0.01, 0.5, 3) - 0.000625).abs() < 1e-15);
/// ```
#[must_use]
pub fn slice_fpp(fpp: f64, tightening: f64, number: u32) -> f64 {
    fpp * (1.0 - tightening) * libm::pow(tightening, f64::from(number))
}

/// The rate of slice `number` of a filter whose slice `peak` has the highest, and the others less
/// by the tightening for each step away from it: P·r^|i − j|·(1 − r)/(1 + r − r^(j+1)). The sum
/// over all slices is P again, and with j = 0 it is [`slice_fpp`].
///
/// The paper's series gives the largest share of the rate to the first slice. Where the first
/// slices are small beside what is to come, strictness costs least in them: shares are better kept
/// for the slices that hold most keys.
///
/// ```
/// use gardenia::theory::scalable::{peaked_fpp, slice_fpp};
/// assert!((peaked_fpp(0.01, 0.5, 0, 3) - slice_fpp(0.01, 0.5, 3)).abs() < 1e-15);
/// let rates: Vec<f64> = (0..200).map(|i| peaked_fpp(0.01, 0.8, 9, i)).collect();
/// assert!(rates[8] < rates[9] && rates[10] < rates[9]);
/// assert!((rates.iter().sum::<f64>() - 0.01).abs() < 1e-12);
/// ```
#[must_use]
pub fn peaked_fpp(fpp: f64, tightening: f64, peak: u32, number: u32) -> f64 {
    let steps = |number: u32| libm::pow(tightening, f64::from(number));
    let all = (1.0 + tightening - tightening * steps(peak)) / (1.0 - tightening);
    fpp * steps(number.abs_diff(peak)) / all
}

/// The rate of filters that are all asked: 1 − Π(1 − P_i).
///
/// ```
/// use gardenia::theory::scalable::{compound, slice_fpp};
/// assert_eq!(compound([0.5, 0.5]), 0.75);
/// assert!(compound((0..1_000).map(|i| slice_fpp(0.01, 0.85, i))) <= 0.01);
/// ```
#[must_use]
pub fn compound(rates: impl IntoIterator<Item = f64>) -> f64 {
    -libm::expm1(rates.into_iter().map(|rate| libm::log1p(-rate)).sum())
}

/// Keys that slice `number` takes, and as many in `growth`-fold for each slice after the first:
/// n₀·s^i; `None` beyond 64 bits.
///
/// ```
/// use gardenia::theory::scalable::capacity;
/// assert_eq!((capacity(1_000, 2, 0), capacity(1_000, 4, 3)), (Some(1_000), Some(64_000)));
/// assert_eq!(capacity(1_000, 2, 60), None);
/// ```
#[must_use]
pub fn capacity(first: u64, growth: u32, number: u32) -> Option<u64> {
    first.checked_mul(u64::from(growth).checked_pow(number)?)
}
