//! Positions in the rows of a sketch for many digests at once, in vector registers where there are
//! some.
#![allow(unsafe_code)] // calls of functions compiled for instructions that are checked here

use crate::hash::Digest;
use crate::index::rows::{CHUNK, Rows, by_words};

#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::Level;

/// The positions of at most [`CHUNK`] digests, see [`Rows::fill`].
pub(crate) fn positions(rows: &Rows, digests: &[Digest], out: &mut [[u64; CHUNK]]) {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    match Level::best() {
        // SAFETY: the processor has the instructions.
        Level::Avx512 => return unsafe { positions_avx512(rows, digests, out) },
        // SAFETY: the processor has the instructions.
        Level::Avx2 => return unsafe { positions_avx2(rows, digests, out) },
        Level::Portable => {}
    }
    rows.fill(digests, out, by_words);
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn positions_avx512(rows: &Rows, digests: &[Digest], out: &mut [[u64; CHUNK]]) {
    rows.fill(digests, out, halves::position);
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2")]
fn positions_avx2(rows: &Rows, digests: &[Digest], out: &mut [[u64; CHUNK]]) {
    rows.fill(digests, out, halves::position);
}

/// The same values by multiplication of 32-bit halves, which vector registers can do.
#[cfg(any(test, all(target_arch = "x86_64", feature = "std")))]
mod halves {
    use crate::index::linear::{Linear, Modulus, P, reduced};

    /// Low half of a word.
    const LOW: u64 = 0xffff_ffff;

    /// A position in its row.
    #[inline(always)]
    pub(super) fn position(columns: Modulus, function: Linear, x: u64) -> u64 {
        rest(columns, linear(function, x))
    }

    /// [`Linear::at`]. Everything fits 64 bits: the high halves of a and x have 29.
    #[inline(always)]
    pub(super) fn linear(Linear { a, b }: Linear, x: u64) -> u64 {
        let (x0, x1, a0, a1) = (x & LOW, x >> 32, a & LOW, a >> 32);
        let (low, middle, high) = (x0 * a0, x0 * a1 + x1 * a0, x1 * a1);
        // 2⁶⁴ is 8 modulo P, and the middle times 2³² is its bits from 29 on and, shifted, those below.
        let sum = (high << 3) + (middle >> 29) + ((middle & (LOW >> 3)) << 32) + (low & P) + (low >> 61);
        let sum = (sum & P) + (sum >> 61) + b;
        reduced((sum & P) + (sum >> 61))
    }

    /// [`Modulus::of`]. The carry from the lowest of four products is left out (with it, compilers
    /// see a multiply-high and go back to whole words): the quotient is then up to three too small.
    #[inline(always)]
    pub(super) fn rest(Modulus { w, reciprocal }: Modulus, value: u64) -> u64 {
        let (x0, x1, y0, y1) = (value & LOW, value >> 32, reciprocal & LOW, reciprocal >> 32);
        let quotient = x1 * y1 + ((x0 * y1) >> 32) + ((x1 * y0) >> 32);
        let rest = value.wrapping_sub(quotient.wrapping_mul(w));
        let rest = rest.min(rest.wrapping_sub(2 * w));
        rest.min(rest.wrapping_sub(w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Form;
    use crate::index::linear::{Linear, Modulus, P};
    use alloc::vec;
    use proptest::prelude::*;

    /// The largest and smallest numbers, where carries and reductions go wrong first.
    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![0..P, 0u64..4, P - 4..P, any::<u32>().prop_map(|x| u64::from(x) << 29)]
    }

    proptest! {
        #[test]
        fn halves_agree_with_whole_words(a in numbers(), b in numbers(), x in numbers(), w in 1u64..=1 << 40) {
            prop_assert_eq!(halves::linear(Linear { a, b }, x), Linear { a, b }.at(x));
            for w in [w, 1, 2, 3, (w >> 20) + 1, 1 << 40] {
                prop_assert_eq!(halves::rest(Modulus::new(w), x), x % w, "mod {}", w);
            }
        }

        #[test]
        fn positions_of_many_are_those_of_one_by_one(
            original in any::<bool>(),
            (depth, copies) in (1u32..12, 1u32..4),
            columns in 1u64..1_000_000,
            seed in any::<u64>(),
            digests in proptest::collection::vec(any::<u64>().prop_map(Digest), 0..=CHUNK),
        ) {
            let (form, copies) = if original { (Form::Original, 1) } else { (Form::Modified, copies) };
            let rows = Rows::new(form, depth * copies, copies, columns, columns + 3, seed);
            let mut out = [(); 3].map(|()| vec![[0; CHUNK]; rows.rows() as usize]);
            positions(&rows, &digests, &mut out[0]);
            rows.fill(&digests, &mut out[1], by_words);
            rows.fill(&digests, &mut out[2], halves::position);
            for (i, digest) in digests.iter().enumerate() {
                let all = rows.all(*digest, <[u64]>::to_vec);
                prop_assert_eq!(all.len(), rows.rows() as usize);
                for (row, at) in all.iter().enumerate() {
                    prop_assert!(at - row as u64 * (columns + 3) < columns);
                    prop_assert!(out.iter().all(|out| out[row][i] == *at));
                }
            }
        }
    }
}
