//! Sizes and error bounds of Count-Min sketches: Cormode and Muthukrishnan (2005), and Kirsch and
//! Mitzenmacher's form with two hash functions (2008), section 9.
//!
//! N is the sum of all weights, the norm ‖a‖ of the papers; w columns, d rows. An estimate is never
//! below the true count, and above it by more than ε·N with probability at most δ, per key, over
//! the choice of the functions.
//!
//! Theorem 9.1 is taken with three corrections. Its printed condition "δ ≥ ln 1/ε(1 − 1/2e²)" must
//! read d ≥ ln(1/(ε·(1 − 1/(2e²)))), which is what its proof uses. For a smaller failure
//! probability δ it takes ⌈ln(1/δ)/ln(1/ε)⌉ copies; the printed factor of two belongs to the number
//! of hash functions. And it needs d ≤ w, so that two keys cannot meet in two rows without meeting
//! in all. Besides, its product bound over rows rests on negative dependence, which fully random
//! functions have and pairwise independent ones need not: no violation was seen in simulation. The
//! "small space increase" is a factor of two: w goes from e/ε to 2e/ε.

use crate::SizeError;
use crate::index::prime;
use crate::index::{Form, MAX_CELLS, MAX_HASHES};
use core::f64::consts::E;

/// The shape of a Count-Min sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SketchShape {
    /// Cells of a row, w.
    pub columns: u64,
    /// Rows of all copies together.
    pub rows: u32,
    /// Copies of the modified form; 1 for the original.
    pub copies: u32,
}

impl SketchShape {
    /// Pairwise independent hash functions that this shape takes.
    ///
    /// ```
    /// use gardenia::index::Form;
    /// use gardenia::theory::count_min::shape;
    /// let functions = |form| shape(form, 0.001, 0.001).map(|shape| shape.functions(form));
    /// assert_eq!((functions(Form::Original)?, functions(Form::Modified)?), (7, 2));
    /// # Ok::<(), gardenia::SizeError>(())
    /// ```
    #[must_use]
    pub fn functions(&self, form: Form) -> u32 {
        match form {
            Form::Original => self.rows,
            Form::Modified => 2 * self.copies,
        }
    }
}

/// The smallest shape whose estimates exceed the truth by more than `epsilon`·N with probability at
/// most `delta`.
///
/// Original: w = ⌈e/ε⌉, d = ⌈ln 1/δ⌉. Modified: w the next prime from 2e/ε, d = ⌈ln(1/(ε(1 −
/// 1/(2e²))))⌉, and ⌈ln(1/δ)/ln(1/ε)⌉ copies, of two hash functions each.
///
/// ```
/// use gardenia::index::Form;
/// use gardenia::theory::count_min::shape;
/// let original = shape(Form::Original, 0.01, 0.01)?;
/// assert_eq!((original.columns, original.rows, original.copies), (272, 5, 1));
/// let modified = shape(Form::Modified, 0.01, 0.01)?;
/// assert_eq!((modified.columns, modified.rows, modified.copies), (547, 5, 1));
/// assert!(shape(Form::Original, 0.0, 0.01).is_err() && shape(Form::Modified, 0.01, 1.0).is_err());
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(form: Form, epsilon: f64, delta: f64) -> Result<SketchShape, SizeError> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if !inside(epsilon) {
        return Err(SizeError::Epsilon(epsilon));
    }
    if !inside(delta) {
        return Err(SizeError::Delta(delta));
    }
    let whole = |x: f64| libm::ceil(x).max(1.0);
    let (columns, depth, copies) = match form {
        Form::Original => (E / epsilon, whole(-libm::log(delta)), 1.0),
        Form::Modified => {
            let depth = whole(-libm::log(epsilon * (1.0 - 0.5 / (E * E))));
            (2.0 * E / epsilon, depth, whole(libm::log(delta) / libm::log(epsilon)))
        }
    };
    // The conversion to integers stops at the largest; so does everything that is refused below.
    let (columns, rows) = (whole(columns) as u64, (depth * copies) as u32);
    if rows > MAX_HASHES {
        return Err(SizeError::Hashes { hashes: rows, max: MAX_HASHES });
    }
    let columns = fit(form, columns, depth as u32)?;
    match columns.checked_mul(rows.into()) {
        Some(cells) if cells <= MAX_CELLS => Ok(SketchShape { columns, rows, copies: copies as u32 }),
        cells => Err(SizeError::TooManyCells { cells: cells.unwrap_or(u64::MAX), max: MAX_CELLS }),
    }
}

/// The smallest number of columns from `columns` on that a form with `depth` rows a copy can use:
/// the modified one needs a prime that is not below the rows.
///
/// ```
/// use gardenia::index::Form;
/// use gardenia::theory::count_min::fit;
/// assert_eq!(fit(Form::Original, 1000, 4), Ok(1000));
/// assert_eq!(fit(Form::Modified, 1000, 4), Ok(1009));
/// assert_eq!(fit(Form::Modified, 2, 6), Ok(7));
/// ```
pub fn fit(form: Form, columns: u64, depth: u32) -> Result<u64, SizeError> {
    match (form, columns) {
        (_, 0) => Err(SizeError::ZeroCells),
        (_, MAX_CELLS..) if columns > MAX_CELLS => {
            Err(SizeError::TooManyCells { cells: columns, max: MAX_CELLS })
        }
        (Form::Original, _) => Ok(columns),
        (Form::Modified, _) => Ok(prime::at_least(columns.max(depth.into()))),
    }
}

/// A bound on the probability that an estimate of the original form is above the truth by more than
/// `epsilon`·N: (1/(εw))^d, by Markov's inequality in each of d independent rows; at most 1.
///
/// ```
/// use gardenia::theory::count_min::failure_original;
/// assert!((failure_original(0.01, 272, 5) - 0.006717).abs() < 1e-6); // e⁻⁵ and a little less for the ceiling
/// assert_eq!(failure_original(0.01, 50, 5), 1.0); // too narrow to promise anything
/// ```
#[must_use]
pub fn failure_original(epsilon: f64, columns: u64, rows: u32) -> f64 {
    powered(1.0 / (epsilon * columns as f64), rows)
}

/// The same for the modified form, Theorem 9.1: (2/(εw²) + (2/(εw))^d)^copies with d rows per copy;
/// at most 1.
///
/// The first term is real: a key that has both functions in common with another collides in all
/// rows, and more rows do not help.
///
/// ```
/// use gardenia::theory::count_min::failure_modified;
/// assert!(failure_modified(0.01, 547, 5, 1) < 0.01);
/// assert!(failure_modified(0.01, 547, 50, 1) > 2.0 / 0.01 / 547f64.powi(2)); // however many rows
/// ```
#[must_use]
pub fn failure_modified(epsilon: f64, columns: u64, depth: u32, copies: u32) -> f64 {
    let w = columns as f64;
    powered(2.0 / (epsilon * w * w) + powered(2.0 / (epsilon * w), depth), copies)
}

/// `p` to the power `n`, at most 1; 1 for what is no number.
fn powered(p: f64, n: u32) -> f64 {
    if p < 1.0 { libm::pow(p.max(0.0), f64::from(n)) } else { 1.0 }
}

/// The ε that this number of columns is made for: e/w, or 2e/w in the modified form.
///
/// ```
/// use gardenia::index::Form;
/// use gardenia::theory::count_min::epsilon;
/// assert!(epsilon(Form::Original, 272) <= 0.01 && epsilon(Form::Original, 271) > 0.01);
/// assert!(epsilon(Form::Modified, 547) <= 0.01);
/// ```
#[must_use]
pub fn epsilon(form: Form, columns: u64) -> f64 {
    let factor = match form {
        Form::Original => 1.0,
        Form::Modified => 2.0,
    };
    factor * E / columns as f64
}

/// The bound on the failure probability at that [`epsilon`].
///
/// ```
/// use gardenia::index::Form;
/// use gardenia::theory::count_min::delta;
/// assert!((delta(Form::Original, 272, 5, 1) - (-5f64).exp()).abs() < 1e-9);
/// assert!(delta(Form::Modified, 547, 5, 1) < 0.01);
/// ```
#[must_use]
pub fn delta(form: Form, columns: u64, rows: u32, copies: u32) -> f64 {
    let epsilon = epsilon(form, columns);
    match form {
        Form::Original => failure_original(epsilon, columns, rows),
        Form::Modified => failure_modified(epsilon, columns, rows / copies.max(1), copies),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_keep_what_they_promise_and_no_smaller_one_does() {
        for epsilon in [0.5, 0.1, 0.03, 0.01, 1e-3, 1e-5, 1e-7] {
            for delta in [0.5, 0.1, 0.02, 1e-3, 1e-6, 1e-9] {
                let original = shape(Form::Original, epsilon, delta).unwrap();
                assert!(failure_original(epsilon, original.columns, original.rows) <= delta);
                // One column or one row less, and e/(εw) or e^-d misses its half of the proof.
                assert!(E / (epsilon * (original.columns - 1) as f64) > 1.0 || original.columns == 1);
                assert!(libm::exp(1.0 - f64::from(original.rows)) > delta || original.rows == 1);

                let modified = shape(Form::Modified, epsilon, delta).unwrap();
                let depth = modified.rows / modified.copies;
                assert_eq!(modified.rows, depth * modified.copies);
                assert!(prime::is_prime(modified.columns) && u64::from(depth) <= modified.columns);
                let one = failure_modified(epsilon, modified.columns, depth, 1);
                assert!(one <= epsilon, "{epsilon}: {one}");
                assert!(failure_modified(epsilon, modified.columns, depth, modified.copies) <= delta);
                assert!(libm::pow(epsilon, f64::from(modified.copies - 1)) > delta);
                // Twice the space at most, and a gap to the next prime (below 150 for all of these sizes).
                assert!(modified.columns <= 2 * original.columns + 150);
            }
        }
    }

    #[test]
    fn a_row_fewer_than_the_corrected_condition_asks_for_breaks_theorem_9_1() {
        for epsilon in [0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5] {
            let SketchShape { columns, rows, copies } = shape(Form::Modified, epsilon, epsilon).unwrap();
            assert_eq!(copies, 1);
            assert!(failure_modified(epsilon, columns, rows, 1) <= epsilon);
            assert!(failure_modified(epsilon, columns, rows - 1, 1) > epsilon, "{epsilon}");
        }
    }

    #[test]
    fn two_functions_are_enough_when_delta_is_epsilon_and_the_factor_two_is_theirs() {
        for (epsilon, delta, functions) in
            [(0.01, 0.01, 2), (0.01, 1e-4, 4), (0.01, 0.9e-4, 6), (1e-3, 0.5, 2)]
        {
            assert_eq!(shape(Form::Modified, epsilon, delta).unwrap().functions(Form::Modified), functions);
        }
    }

    #[test]
    fn what_cannot_be_sized_is_an_error_and_never_a_panic() {
        let odd = [0.0, -0.0, -1.0, 1.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for form in [Form::Original, Form::Modified] {
            for p in odd {
                assert!(matches!(shape(form, p, 0.1), Err(SizeError::Epsilon(_))), "{p}");
                assert!(matches!(shape(form, 0.1, p), Err(SizeError::Delta(_))), "{p}");
            }
            assert!(matches!(shape(form, 1e-30, 0.1), Err(SizeError::TooManyCells { .. })));
            assert!(shape(form, f64::MIN_POSITIVE, 0.1).is_err());
            assert!(matches!(shape(form, 0.01, 1e-300), Err(SizeError::Hashes { .. })));
            assert_eq!(fit(form, 0, 3), Err(SizeError::ZeroCells));
            assert!(fit(form, u64::MAX, 3).is_err());
        }
        assert!(matches!(shape(Form::Modified, 1.0 - 1e-16, 1e-9), Err(SizeError::Hashes { .. })));
        for odd in [0.0, f64::NAN, -1.0] {
            assert!((0.0..=1.0).contains(&failure_original(odd, 10, 3)));
            assert!((0.0..=1.0).contains(&failure_modified(odd, 0, 0, 0)));
        }
        assert_eq!(delta(Form::Modified, 7, 3, 0), 1.0);
    }
}
