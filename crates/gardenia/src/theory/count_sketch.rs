//! Sizes and error bounds of the Count sketch: Charikar, Chen and Farach-Colton (2002); for the
//! second moment Cormode and Garofalakis (2005), after Alon, Matias and Szegedy (1996).
//!
//! F2 is the sum of the squared counts. The estimate of one row is off by √(F2/w) in standard
//! deviation, so by more than ε·√F2 with probability 1/(ε²w) at most (Chebyshev). The median of d
//! rows, d odd, is off by more only if at least (d+1)/2 of them are.

use super::count_min::SketchShape;
use crate::SizeError;
use crate::index::{MAX_CELLS, MAX_HASHES};

/// The probability that at least half of `rows` rows are wrong, each with probability `p`,
/// independently.
///
/// ```
/// use gardenia::theory::count_sketch::median_failure;
/// assert!((median_failure(0.1, 3) - 0.028).abs() < 1e-12); // 3·0.01·0.9 + 0.001
/// assert_eq!(median_failure(0.25, 1), 0.25);
/// ```
#[must_use]
pub fn median_failure(p: f64, rows: u32) -> f64 {
    let p = if p > 0.0 { p.min(1.0) } else { 0.0 };
    let mut term = 1.0; // C(d, i)·pⁱ, from i = 0
    let mut sum = 0.0;
    for i in 0..=rows {
        if 2 * i > rows {
            sum += term * libm::pow(1.0 - p, f64::from(rows - i));
        }
        term *= f64::from(rows - i) / f64::from(i + 1) * p;
    }
    f64::min(sum, 1.0)
}

/// The smallest sketch whose estimates are off by more than `epsilon`·√F2 with probability at most
/// `delta`.
///
/// ```
/// use gardenia::theory::count_sketch::{median_failure, shape};
/// let shape = shape(0.01, 0.01)?;
/// assert_eq!(shape.rows, 5);
/// assert!(median_failure(1e4 / shape.columns as f64, shape.rows) <= 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(epsilon: f64, delta: f64) -> Result<SketchShape, SizeError> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if !inside(epsilon) {
        return Err(SizeError::Epsilon(epsilon));
    }
    if !inside(delta) {
        return Err(SizeError::Delta(delta));
    }
    // More rows let each of them fail more often and be shorter, up to a point.
    let of_depth = |rows: u32| {
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            (low, high) = if median_failure(middle, rows) <= delta { (middle, high) } else { (low, middle) };
        }
        let columns = libm::ceil(1.0 / (epsilon * epsilon * low)).max(1.0) as u64;
        SketchShape { columns, rows, copies: 1 }
    };
    let cells = |shape: &SketchShape| shape.columns.saturating_mul(shape.rows.into());
    let best = (1..=MAX_HASHES).step_by(2).map(of_depth).min_by_key(cells);
    match best {
        Some(best) if cells(&best) <= MAX_CELLS => Ok(best),
        best => {
            let cells = best.as_ref().map_or(u64::MAX, cells);
            Err(SizeError::TooManyCells { cells, max: MAX_CELLS })
        }
    }
}

/// The standard deviation of the estimated second moment, as a share of it: √(2/w) for one row at
/// most, and √(π/2d) of that for the median of several (the asymptotic efficiency of a median).
///
/// ```
/// use gardenia::theory::count_sketch::moment_error;
/// assert!((moment_error(20_000, 1) - 0.01).abs() < 1e-12);
/// assert!(moment_error(20_000, 5) < 0.006);
/// ```
#[must_use]
pub fn moment_error(columns: u64, rows: u32) -> f64 {
    let median = libm::sqrt(core::f64::consts::FRAC_PI_2 / f64::from(rows.max(1))).min(1.0);
    libm::sqrt(2.0 / columns as f64) * median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_fails_as_the_binomial_distribution_says() {
        // By enumeration of all outcomes of seven rows.
        for p in [0.0, 0.01, 0.3, 0.5, 1.0] {
            let outcome = |bits: u32| {
                let failed = bits.count_ones();
                let chance = libm::pow(p, f64::from(failed)) * libm::pow(1.0 - p, f64::from(7 - failed));
                if failed >= 4 { chance } else { 0.0 }
            };
            let exact: f64 = (0..128).map(outcome).sum();
            assert!((median_failure(p, 7) - exact).abs() < 1e-12, "{p}");
        }
        assert!(median_failure(f64::NAN, 3) <= 1.0 && median_failure(7.0, 255) <= 1.0);
    }

    #[test]
    fn shapes_keep_what_they_promise() {
        for epsilon in [0.3, 0.01, 1e-4] {
            for delta in [0.5, 0.05, 1e-3, 1e-9] {
                let shape = shape(epsilon, delta).unwrap();
                assert!(shape.rows % 2 == 1);
                let p = |columns: u64| 1.0 / (epsilon * epsilon * columns as f64);
                assert!(median_failure(p(shape.columns), shape.rows) <= delta * (1.0 + 1e-9));
                assert!(
                    shape.columns == 1
                        || median_failure(p(shape.columns - 1), shape.rows) > delta * (1.0 - 1e-9)
                );
            }
        }
        for odd in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(shape(odd, 0.1), Err(SizeError::Epsilon(_))));
            assert!(matches!(shape(0.1, odd), Err(SizeError::Delta(_))));
        }
        assert!(matches!(shape(1e-9, 0.1), Err(SizeError::TooManyCells { .. })));
        assert!(matches!(shape(1e-200, 1e-300), Err(SizeError::TooManyCells { .. })));
    }
}
