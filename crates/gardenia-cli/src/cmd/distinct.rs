//! How many distinct keys there are, by their digests.
//!
//! Few are sorted. Many are counted in a table of bits, one for each value of some bits of a
//! digest: of B bits, z stay zero if about n = −B·ln(z/B) distinct keys came, with a variance of
//! B·(eᵗ − t − 1) for t = n/B (Whang, Vander-Zanden and Taylor, "A Linear-Time Probabilistic
//! Counting Algorithm for Database Applications", 1990). That takes a nanosecond or two per key,
//! where sorting takes thirty.

use super::collected::Collected;
use gardenia::Digest;

/// Up to this many keys are sorted.
const FEW: u64 = 1 << 16;

/// Bits for more keys than can be kept aside: 16 MiB. They tell up to a billion of them
/// within 0.1 %.
const LARGE: u32 = 27;

/// With fewer zeros than this there is no estimate.
const LEAST_ZEROS: f64 = 1000.0;

/// How many distinct digests there are, to plan for: no fewer, but for one time in a million.
pub(crate) fn items(keys: &Collected) -> u64 {
    if keys.len <= FEW {
        return exact(keys);
    }
    // 16 bits per key, up to 2 MiB; then one, so that the table stays in the cache.
    let bits = (16 * keys.len).min(1 << 24).max(keys.len).next_power_of_two().trailing_zeros();
    let mut census = Census::new(bits.min(LARGE));
    keys.pieces.iter().for_each(|piece| census.add(piece));
    census.items()
}

/// How many distinct digests there are. They are copied and sorted, unless memory is short.
pub(crate) fn exact(keys: &Collected) -> u64 {
    let short = crate::memory::available().is_some_and(|free| free / 2 < 8 * keys.len);
    if short && keys.len > FEW {
        return items(keys);
    }
    let mut all = keys.pieces.concat();
    all.sort_unstable();
    all.dedup();
    all.len() as u64
}

/// A table of bits that counts distinct keys.
pub(crate) struct Census {
    table: Vec<u64>,
    /// Digests are cut to this many bits.
    bits: u32,
    lines: u64,
}

impl Census {
    fn new(bits: u32) -> Self {
        Self { table: vec![0; 1 << (bits - 6)], bits, lines: 0 }
    }

    /// For more keys than can be kept aside.
    pub(crate) fn large() -> Self {
        Self::new(LARGE)
    }

    pub(crate) fn add(&mut self, digests: &[Digest]) {
        self.lines += digests.len() as u64;
        let shift = 64 - self.bits;
        for digest in digests {
            let at = digest.0 >> shift;
            self.table[(at / 64) as usize] |= 1 << (at % 64);
        }
    }

    /// Keys to plan for: five standard errors more than estimated, but no more than there are
    /// lines.
    pub(crate) fn items(&self) -> u64 {
        let all = 2f64.powi(self.bits as i32);
        let zeros = self.table.iter().map(|word| f64::from(word.count_zeros())).sum::<f64>();
        if zeros < LEAST_ZEROS {
            return self.lines.max(1);
        }
        let load = -(zeros / all).ln();
        let error = (all * (load.exp() - load - 1.0)).max(0.0).sqrt();
        ((all * load + 5.0 * error).ceil() as u64).min(self.lines).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(seed: u64, distinct: u32, times: u32) -> Collected {
        let piece: Vec<Digest> = (0..distinct).map(|i| Digest(Digest(seed).word(i))).collect();
        Collected { len: u64::from(distinct) * u64::from(times), pieces: vec![piece; times as usize] }
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        for (distinct, times) in [(1, 1), (1, 9), (1000, 7), (30_000, 2), (65_536, 1)] {
            assert_eq!(items(&keys(1, distinct, times)), u64::from(distinct));
        }
        assert_eq!((items(&Collected::default()), exact(&keys(2, 100_000, 2))), (0, 100_000));
    }

    #[test]
    fn many_keys_are_never_estimated_too_low_and_hardly_too_high() {
        for (distinct, times) in [(70_000, 1), (70_000, 3), (300_000, 2), (1_500_000, 2), (1_500_000, 1)] {
            for seed in 0..4 {
                let found = items(&keys(seed, distinct, times)) as f64 / f64::from(distinct);
                assert!((1.0..1.006).contains(&found), "{distinct} of {times}: {found}");
                assert!(times > 1 || found == 1.0, "no more than there are lines");
            }
        }
    }

    #[test]
    fn a_table_that_is_full_tells_no_less_than_the_lines() {
        let mut census = Census::new(12);
        census.add(&keys(1, 100_000, 1).pieces[0]);
        assert_eq!(census.items(), 100_000);
    }
}
