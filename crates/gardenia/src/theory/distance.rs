//! Distance-sensitive Bloom filters: how many votes a near and a far point get, and the smallest
//! filter that tells them apart.
//!
//! k functions look at ℓ samples of a point each (coordinates, or least hash values of its tokens),
//! and points at distance d agree in all of them with probability (1 − d)^ℓ. A near point gets a
//! vote from each of k arrays with that probability at least; a far one only if it agrees with one
//! of n elements after all, or by a collision in the array. Both numbers of votes are binomial, and
//! t of them are called near.
//!
//! Source: Kirsch and Mitzenmacher, "Distance-Sensitive Bloom Filters" (2006).

use super::binomial::Binomial;
use crate::SizeError;
use crate::index::{MAX_CELLS, MAX_HASHES};

/// The shape of a distance-sensitive filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistanceShape {
    /// Functions, and arrays, k.
    pub functions: u32,
    /// Samples that a function looks at, ℓ.
    pub samples: u32,
    /// Bits of each array, m'.
    pub bits: u64,
    /// Votes that make a point near, t.
    pub threshold: u32,
}

/// The most samples of a function.
pub const MAX_SAMPLES: u32 = 1 << 16;

/// The most samples of all functions together, k·ℓ, in a shape that is chosen here: a query draws
/// that many, in Jaccard space for each token. From near = 0.1 % on there is no need for more,
/// because ℓ ends at ln 50/near.
pub const MAX_WORK: u64 = 1 << 20;

/// The probability that a function gives two points at this distance the same value, (1 − d)^ℓ.
///
/// ```
/// assert_eq!(gardenia::theory::distance::agreement(0.5, 3), 0.125);
/// ```
#[must_use]
pub fn agreement(distance: f64, samples: u32) -> f64 {
    libm::pow(1.0 - distance.clamp(0.0, 1.0), f64::from(samples))
}

/// The probability of a vote for a point that is `far` from all of `items` elements: 1 − (1 − (1 −
/// d)^ℓ)ⁿ(1 − 1/m')ⁿ.
#[must_use]
pub fn far_vote(shape: &DistanceShape, items: u64, far: f64) -> f64 {
    let (n, agrees) = (items as f64, agreement(far, shape.samples));
    let none = libm::log1p(-agrees) + libm::log1p(-1.0 / shape.bits as f64);
    -libm::expm1(n * none)
}

/// The probability that a point at distance `near` from an element is missed, at most.
#[must_use]
pub fn misses(shape: &DistanceShape, near: f64) -> f64 {
    votes(shape, agreement(near, shape.samples)).tails(shape.threshold.into()).below
}

/// The probability that a point `far` from all of `items` elements is called near, at most.
#[must_use]
pub fn alarms(shape: &DistanceShape, items: u64, far: f64) -> f64 {
    votes(shape, far_vote(shape, items, far)).tails(shape.threshold.into()).from
}

fn votes(shape: &DistanceShape, hit: f64) -> Binomial {
    Binomial { trials: shape.functions.into(), hit, miss: 1.0 - hit }
}

/// The smallest filter for `items` elements that is wrong with probability at most `error` on
/// points at distance `near` or less (missed) and `far` or more (called near). What lies between
/// may be called either. Its queries take at most [`MAX_WORK`] samples, so distances below 0.1 %
/// cannot be told apart for any number of elements.
///
/// ```
/// use gardenia::theory::distance::{alarms, misses, shape};
/// let shape = shape(1_000, 0.02, 0.3, 0.01)?;
/// assert!(misses(&shape, 0.02) <= 0.01 && alarms(&shape, 1_000, 0.3) <= 0.01);
/// # Ok::<(), gardenia::SizeError>(())
/// ```
pub fn shape(items: u64, near: f64, far: f64, error: f64) -> Result<DistanceShape, SizeError> {
    if items == 0 {
        return Err(SizeError::ZeroItems);
    }
    if !(error > 0.0 && error < 1.0) {
        return Err(SizeError::Fpp(error));
    }
    if !((0.0..1.0).contains(&near) && far > near && far <= 1.0) {
        return Err(SizeError::Conflict("near must be at least 0, far above near and at most 1"));
    }
    let mut best: Option<DistanceShape> = None;
    let mut samples = 1u32;
    while samples <= MAX_SAMPLES && agreement(near, samples) > 0.02 {
        // Bits per element: from half a bit, where most votes of far points are collisions, to 32.
        for step in 0..13 {
            let per_item = 0.5 * libm::pow(2.0, f64::from(step) / 2.0);
            let bits = libm::ceil(items as f64 * per_item).max(1.0) as u64;
            let shape = DistanceShape { functions: 0, samples, bits, threshold: 0 };
            let cost = |shape: &DistanceShape| u64::from(shape.functions).saturating_mul(shape.bits);
            if far_vote(&shape, items, far) >= agreement(near, samples) {
                continue;
            }
            let cheaper = |functions: &u32| {
                best.is_none_or(|best| u64::from(*functions).saturating_mul(bits) < cost(&best))
            };
            let fits = |functions: u32| {
                let shape = DistanceShape { functions, ..shape };
                let threshold = threshold(&shape, items, far, error)?;
                let shape = DistanceShape { threshold, ..shape };
                (misses(&shape, near) <= error).then_some(shape)
            };
            let affordable = |functions: &u32| u64::from(*functions) * u64::from(samples) <= MAX_WORK;
            let functions =
                (1..=MAX_HASHES).take_while(|functions| cheaper(functions) && affordable(functions));
            if let Some(found) = functions.into_iter().find_map(fits) {
                best = Some(found);
            }
        }
        samples += (samples / 16).max(1);
    }
    let shape = best.ok_or(SizeError::Conflict(
        "near and far are too close to be told apart for this many items: raise far, or lower near, items or the \
         demands on errors",
    ))?;
    let cells = shape.bits.saturating_mul(shape.functions.into());
    if cells > MAX_CELLS { Err(SizeError::TooManyCells { cells, max: MAX_CELLS }) } else { Ok(shape) }
}

/// The fewest votes that a far point gets with probability `error` at most.
fn threshold(shape: &DistanceShape, items: u64, far: f64, error: f64) -> Option<u32> {
    let votes = votes(shape, far_vote(shape, items, far));
    (1..=shape.functions).find(|threshold| votes.tails(f64::from(*threshold)).from <= error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_keep_both_promises_and_no_smaller_array_of_the_same_samples_does() {
        for (items, near, far, error) in
            [(1, 0.1, 0.5, 0.01), (1_000, 0.02, 0.3, 0.01), (100_000, 0.01, 0.4, 0.001), (50, 0.0, 0.2, 0.1)]
        {
            let found = shape(items, near, far, error).unwrap();
            assert!(misses(&found, near) <= error && alarms(&found, items, far) <= error, "{found:?}");
            let fewer = DistanceShape { functions: found.functions - 1, ..found };
            let any = (1..=fewer.functions).any(|threshold| {
                let shape = DistanceShape { threshold, ..fewer };
                misses(&shape, near) <= error && alarms(&shape, items, far) <= error
            });
            assert!(!any, "one function fewer would do: {found:?}");
        }
    }

    #[test]
    fn no_shape_takes_more_work_than_readers_allow() {
        let work = |shape: DistanceShape| u64::from(shape.functions) * u64::from(shape.samples);
        // Without the bound: 221 functions of 18,722 samples.
        assert!(matches!(shape(1_000_000, 0.0001, 0.001, 0.001), Err(SizeError::Conflict(_))));
        let small = shape(1_000_000, 0.001, 0.01, 0.001).unwrap();
        assert!((400_000..=MAX_WORK).contains(&work(small)), "{small:?}");
    }

    #[test]
    fn wishes_that_cannot_be_are_errors() {
        assert_eq!(shape(0, 0.1, 0.5, 0.01), Err(SizeError::ZeroItems));
        assert_eq!(shape(9, 0.1, 0.5, 0.0), Err(SizeError::Fpp(0.0)));
        assert_eq!(shape(9, 0.1, 0.5, 1.0), Err(SizeError::Fpp(1.0)));
        for (near, far) in [(0.5, 0.5), (0.6, 0.5), (-0.1, 0.5), (0.1, 1.1), (f64::NAN, 0.5), (0.1, f64::NAN)]
        {
            assert!(matches!(shape(9, near, far, 0.01), Err(SizeError::Conflict(_))), "{near}, {far}");
        }
        // A million elements, and distances that hardly differ.
        assert!(matches!(shape(1_000_000, 0.1, 0.11, 0.01), Err(SizeError::Conflict(_))));
        assert!(matches!(shape(u64::MAX, 0.0, 1.0, 0.01), Err(SizeError::TooManyCells { .. })));
    }
}
