//! How long a Golomb-coded set is: Golomb, "Run-length encodings" (1966), and Gallager and van
//! Voorhis, "Optimal source codes for geometrically distributed integer alphabets" (1975).
//!
//! n values drawn from [0, n·M) leave gaps that are geometric with mean M. A gap g is coded as the
//! quotient ⌊g/b⌋ in unary and the remainder in ⌊log₂ b⌋ or ⌈log₂ b⌉ bits. No code of whole bits
//! per gap is shorter than Golomb's with the best b; Rice's takes the nearest power of two.

use core::f64::consts::LOG2_E;

/// θ = 1 − 1/M, as its natural logarithm, which keeps all digits for large M.
fn ln_theta(mean: f64) -> f64 {
    libm::log1p(-1.0 / mean)
}

/// Bits per value that no code can do without: the entropy of a gap of mean `mean`, near log₂ M +
/// 1.44.
///
/// 0 for a mean of 1 (or below, which no gap has).
///
/// ```
/// use gardenia::theory::golomb::entropy;
/// assert_eq!(entropy(2.0), 2.0); // the gaps between heads of a fair coin
/// assert!((entropy(784_931.0) - (784_931f64.log2() + 1.4427)).abs() < 1e-4);
/// ```
#[must_use]
pub fn entropy(mean: f64) -> f64 {
    if mean > 1.0 { libm::log2(mean) - (mean - 1.0) * ln_theta(mean) * LOG2_E } else { 0.0 }
}

/// The divisor b of the shortest Golomb code for gaps of mean `mean`: the least with θᵇ + θᵇ⁺¹ ≤ 1,
/// near 0.693·M.
///
/// Gallager and van Voorhis. The simpler ⌈−1/log₂ θ⌉ is the same or one too large (for M = 4 it
/// gives 3 instead of 2).
///
/// ```
/// use gardenia::theory::golomb::divisor;
/// assert_eq!([1.5, 2.0, 100.0, 784_931.0].map(divisor), [1, 1, 69, 544_072]);
/// ```
#[must_use]
pub fn divisor(mean: f64) -> u64 {
    if mean > 1.0 {
        let best = libm::log1p(1.0 - 1.0 / mean) / -ln_theta(mean);
        libm::ceil(best).max(1.0) as u64 // saturates
    } else {
        1
    }
}

/// The power of two that is the best divisor of its kind (Rice's code).
///
/// ```
/// use gardenia::theory::golomb::rice_divisor;
/// assert_eq!([2.0, 100.0, 784_931.0].map(rice_divisor), [1, 64, 1 << 19]); // 2^19 is BIP 158's
/// ```
#[must_use]
pub fn rice_divisor(mean: f64) -> u64 {
    let above = divisor(mean).min(1 << 62).next_power_of_two();
    let below = (above / 2).max(1);
    if bits(mean, below) <= bits(mean, above) { below } else { above }
}

/// Bits per value of the Golomb code with this divisor: the exact mean length for geometric gaps of
/// mean `mean`.
///
/// The unary part takes 1/(1 − θᵇ) bits, the remainder one bit less than ⌈log₂ b⌉ unless it is
/// among the last of b.
///
/// ```
/// use gardenia::theory::golomb::{bits, entropy};
/// assert_eq!(bits(2.0, 1), 2.0);
/// assert!((bits(100.0, 69) - 8.11).abs() < 0.005 && bits(100.0, 69) - entropy(100.0) < 0.04);
/// ```
#[must_use]
pub fn bits(mean: f64, divisor: u64) -> f64 {
    let b = divisor.max(1);
    let power = |exponent: u64| if mean > 1.0 { libm::exp(ln_theta(mean) * exponent as f64) } else { 0.0 };
    let unary = 1.0 / (1.0 - power(b));
    if b == 1 {
        return unary;
    }
    let width = 64 - (b - 1).leading_zeros();
    let short = (1u128 << width) as f64 - b as f64; // remainders that are one bit shorter
    let long = if mean > 1.0 { (libm::exp(ln_theta(mean) * short) - power(b)) * unary } else { 0.0 };
    unary + f64::from(width) - 1.0 + long
}

/// How many distinct values `items` keys have in a range of `range`: those that coincide are coded
/// once.
///
/// ```
/// use gardenia::theory::golomb::expected_values;
/// assert!((expected_values(1_000, 100_000) - 995.0).abs() < 0.1);
/// assert_eq!(expected_values(0, 5), 0.0);
/// ```
#[must_use]
pub fn expected_values(items: u64, range: u64) -> f64 {
    if range == 0 {
        return 0.0;
    }
    -(range as f64) * libm::expm1(items as f64 * libm::log1p(-1.0 / range as f64))
}

/// The false-positive probability of a set of `items` keys in [0, `range`): the share of values
/// that are taken, 1 − (1 − 1/N)^n on average, and never more than n/N.
///
/// ```
/// use gardenia::theory::golomb::fpp;
/// assert!((fpp(1_000, 100_000) - 0.00995).abs() < 1e-5);
/// assert_eq!((fpp(0, 10), fpp(1, 0)), (0.0, 1.0));
/// ```
#[must_use]
pub fn fpp(items: u64, range: u64) -> f64 {
    match (items, range) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => expected_values(items, range) / range as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_the_mean_over_all_gaps() {
        for (mean, b) in
            [(1.5, 1), (3.0, 1), (3.0, 2), (10.0, 5), (10.0, 7), (10.0, 8), (50.0, 33), (50.0, 64)]
        {
            let p = 1.0 / mean;
            let width = 64 - (b - 1u64).leading_zeros();
            let short = (1 << width) - b;
            let length = |gap: u64| {
                let rest = if b == 1 { 0 } else { u64::from(width) - u64::from(gap % b < short) };
                gap / b + 1 + rest
            };
            let chance = |gap: u64| p * libm::pow(1.0 - p, gap as f64);
            let mean_length: f64 = (0..5_000).map(|gap| chance(gap) * length(gap) as f64).sum();
            assert!(
                (bits(mean, b) - mean_length).abs() < 1e-9,
                "{mean} {b}: {} {mean_length}",
                bits(mean, b)
            );
        }
    }

    #[test]
    fn no_other_divisor_is_better_and_the_entropy_is_below_all() {
        for mean in [1.1, 1.7, 2.0, 3.0, 4.0, 4.5, 10.0, 99.0, 100.0, 1_000.5] {
            let best = divisor(mean);
            for b in 1..3 * best + 3 {
                assert!(bits(mean, best) <= bits(mean, b) + 1e-12, "{mean}: {best} and {b}");
            }
            assert!(entropy(mean) <= bits(mean, best) + 1e-12);
            let rice = rice_divisor(mean);
            assert!((0..20).all(|i| bits(mean, rice) <= bits(mean, 1 << i) + 1e-12), "{mean}: {rice}");
        }
    }

    #[test]
    fn sizes_are_those_that_the_literature_tells() {
        // Above log₂ M by 1.44 (entropy), 1.47 to 1.48 (Golomb) and 1.47 to 1.57 (Rice).
        for i in 0..200 {
            let mean = 1_000.0 * libm::pow(1.05, f64::from(i));
            let above = |bits: f64| bits - libm::log2(mean);
            assert!((1.440..1.444).contains(&above(entropy(mean))));
            assert!((1.465..1.48).contains(&above(bits(mean, divisor(mean)))), "{mean}");
            assert!((1.465..1.57).contains(&above(bits(mean, rice_divisor(mean)))), "{mean}");
        }
    }

    #[test]
    fn nothing_panics_outside_the_range() {
        for mean in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1.0, 1e300] {
            let _ = (entropy(mean), divisor(mean), rice_divisor(mean));
            for b in [0, 1, 3, u64::MAX] {
                let _ = bits(mean, b);
            }
        }
        let _ = (expected_values(u64::MAX, u64::MAX), expected_values(5, 0));
    }
}
