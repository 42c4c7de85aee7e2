//! Pairwise independent functions: ((a·x + b) mod P) mod w with P = 2⁶¹ − 1.
//!
//! Sketches are proved with functions whose values on any two keys are independent, and this is the
//! classical family of such. x is the digest mod P; a and b are drawn from a seed. The values are
//! uniform on 0..w up to w/P.
//!
//! Source: Carter and Wegman, "Universal classes of hash functions" (1979).

use super::scale;
use crate::hash::Digest;

/// The Mersenne prime 2⁶¹ − 1: a number modulo it is the sum of its 61-bit digits.
pub(crate) const P: u64 = (1 << 61) - 1;

/// `sum` mod P for a sum below 2P, without a branch: below P the difference wraps to a huge value,
/// and the minimum is `sum`.
#[inline(always)]
pub(crate) fn reduced(sum: u64) -> u64 {
    sum.min(sum.wrapping_sub(P))
}

/// A digest as the functions take it: modulo P.
#[inline(always)]
pub(crate) fn folded(digest: Digest) -> u64 {
    reduced((digest.0 & P) + (digest.0 >> 61))
}

/// Number `i` (from 1) below P of those that `seed` gives: 61 bits of a word of SplitMix64.
pub(crate) fn drawn(seed: u64, i: u32) -> u64 {
    reduced(Digest(seed).word(i) >> 3)
}

/// `a·b + c` mod P, all below P.
#[inline(always)]
pub(crate) fn mul_add(a: u64, b: u64, c: u64) -> u64 {
    let sum = u128::from(a) * u128::from(b) + u128::from(c);
    reduced((sum as u64 & P) + (sum >> 61) as u64)
}

/// x ↦ (a·x + b) mod P, a function drawn from a pairwise independent family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    pub(crate) a: u64,
    pub(crate) b: u64,
}

impl Linear {
    /// Function `i` (from 0) of `seed`.
    pub(crate) fn drawn(seed: u64, i: u32) -> Self {
        Self { a: drawn(seed, 2 * i + 1), b: drawn(seed, 2 * i + 2) }
    }

    /// The value at `x`, which is below P.
    #[inline(always)]
    pub(crate) fn at(self, x: u64) -> u64 {
        mul_add(self.a, x, self.b)
    }
}

/// Reduction modulo w without a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modulus {
    pub(crate) w: u64,
    /// ⌊(2⁶⁴ − 1)/w⌋: multiply-high by it gives the quotient or one less (Barrett 1986).
    pub(crate) reciprocal: u64,
}

impl Modulus {
    /// Modulo `w`, at least 1.
    pub(crate) fn new(w: u64) -> Self {
        let w = w.max(1);
        Self { w, reciprocal: u64::MAX / w }
    }

    /// The modulus.
    #[inline(always)]
    pub(crate) fn get(self) -> u64 {
        self.w
    }

    /// `value` mod w.
    #[inline(always)]
    pub(crate) fn of(self, value: u64) -> u64 {
        let rest = value.wrapping_sub(scale(value, self.reciprocal).wrapping_mul(self.w));
        rest.min(rest.wrapping_sub(self.w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The largest and smallest numbers, where carries and reductions go wrong first.
    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![0..P, 0u64..4, P - 4..P, any::<u32>().prop_map(|x| u64::from(x) << 29)]
    }

    proptest! {
        #[test]
        fn values_are_those_of_exact_arithmetic(a in numbers(), b in numbers(), x in numbers(), w in 1u64..=1 << 40) {
            let exact = ((u128::from(a) * u128::from(x) + u128::from(b)) % u128::from(P)) as u64;
            let function = Linear { a, b };
            prop_assert_eq!(function.at(x), exact);
            for w in [w, 1, 2, 3, (w >> 20) + 1, 1 << 40] {
                prop_assert_eq!(Modulus::new(w).of(exact), exact % w, "mod {}", w);
            }
        }

        #[test]
        fn digests_are_taken_modulo_the_prime(digest in prop_oneof![any::<u64>(), P - 2..P + 9, u64::MAX - 9..u64::MAX]) {
            prop_assert_eq!(folded(Digest(digest)), digest % P);
        }
    }

    #[test]
    fn any_two_keys_meet_in_one_of_w_cells_and_step_as_independent_ones() {
        // Pairs of cells of two keys over many functions: each of the w² pairs is as frequent as the others.
        let (w, functions) = (5u64, 50_000u32);
        for (x, y) in [(0, 1), (1, 2), (12_345, P - 1)] {
            let mut pairs = [0f64; 25];
            for seed in 0..functions {
                let function = Linear::drawn(seed.into(), 0);
                let [a, b] = [x, y].map(|key| Modulus::new(w).of(function.at(key)));
                pairs[(a * w + b) as usize] += 1.0;
            }
            let expected = f64::from(functions) / 25.0;
            let chi_square: f64 = pairs.iter().map(|n| (n - expected) * (n - expected) / expected).sum();
            assert!(chi_square < 24.0 + 5.0 * libm::sqrt(48.0), "{chi_square}"); // mean 24, variance 48
        }
    }
}
