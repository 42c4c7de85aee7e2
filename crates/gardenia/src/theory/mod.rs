//! Sizes, error rates and estimates: pure functions, one file per paper, each with its equation.
//!
//! | question | function |
//! | --- | --- |
//! | how large is a filter for n items at an fpp? | [`bloom::shape`]; for any scheme [`bloom::size`] |
//! | the same for one cache line per key? | [`blocked::shape`], [`split_block::shape`] |
//! | the same with a choice of groups, and how far choices could go? | [`choices`] |
//! | which whole number of hashes is best for given cells? | [`bloom::best_hashes`] |
//! | which false-positive probability to expect? | [`bloom::fpp_exact`] and its neighbours |
//! | what does deriving all positions from two values cost? | [`distinct`], [`kirsch_mitzenmacher`] |
//! | how surely is the rate of one filter near that probability? | [`concentration::rate_at_most`] and its neighbours |
//! | how many keys are in a filter with a given number of ones? | [`bloom::estimate_items`] |
//! | the same from some of its cells, and a rate from some queries? | [`sample`] |
//! | how are bits spread over blocks, and slots over buckets? | [`load`] |
//! | how many keys do two filters have in common? | [`overlap::overlap`] |
//! | how wide must a counter be? | [`counting::width`] |
//! | how often is a count wrong, a minimum alone, and how many bits do counters hold? | [`spectral`] |
//! | how large is a table of static keys, and what is its rate? | [`binary_fuse`] |
//! | how large is each level of a count kept bit by bit? | [`bitwise::shapes`] |
//! | how long does a filter that forgets remember, at which fpp? | [`stable::shape`], [`stable::memory`] |
//! | how large are two buffers for a window of keys? | [`a2::size`] |
//! | how many bits on the wire for an fpp, and which filter has them? | [`compressed::plan`] |
//! | how long is a Golomb-coded set? | [`golomb::bits`] |
//! | how large a filter of fingerprints, and how full can it be? | [`cuckoo::shape`] |
//! | which rate has a filter that grows, and its parts? | [`scalable`], [`dynamic`] |
//! | how large a sketch for counts within ε of the total? | [`count_min::shape`], [`count_sketch::shape`] |
//! | what does removing false positives cost? | [`retouched`] |
//! | how large a filter for points close to those that are in? | [`distance::shape`] |
//! | how many bits of fingerprint for a fixed set at an fpp? | [`ribbon::bits`] |
//!
//! Letters are those of the papers: n keys (`items`), m cells, k positions per key (`hashes`), p
//! the fraction of ones (`fill`). No function panics; each says what it returns outside its range.
//!
//! Every logarithm and power comes from the crate `libm`, whose code is compiled into the program,
//! and never from `f64::ln` and its kin, which call whatever library the system has and differ in
//! the last digit. So the same `(items, fpp)` gives the same shape on every machine, with and
//! without the standard library.

pub mod a2;
pub mod binary_fuse;
mod binomial;
pub mod bitwise;
pub mod blocked;
pub mod bloom;
pub mod choices;
pub mod compressed;
pub mod concentration;
pub mod count_min;
pub mod count_sketch;
pub mod counting;
pub mod cuckoo;
pub mod distance;
pub mod distinct;
pub mod dynamic;
pub mod golomb;
pub mod infini;
pub mod kirsch_mitzenmacher;
pub mod load;
pub mod overlap;
pub mod quotient;
pub mod retouched;
pub mod ribbon;
pub mod sample;
pub mod scalable;
pub mod spectral;
pub mod split_block;
pub mod stable;

/// The smallest number for which `holds`, which from there on it does; `u64::MAX` if for none
/// below.
pub(crate) fn first(holds: impl Fn(u64) -> bool) -> u64 {
    if holds(0) {
        return 0;
    }
    // Invariant: false at `low`; true at `high`, or `high` is the last.
    let mut high = 1;
    while high < u64::MAX && !holds(high) {
        high = high.saturating_mul(2);
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod testing {
    //! What the simulations of all files share.

    /// SplitMix64 (Steele, Lea and Flood 2014): tiny, seeded, and good enough to check rates to 1%.
    pub(super) struct SplitMix(pub u64);

    impl SplitMix {
        pub(super) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = self.0;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        }
        /// A value below `bound`; the bias of the multiply-shift, `bound / 2^64`, is far below any
        /// test here.
        pub(super) fn below(&mut self, bound: usize) -> usize {
            ((u128::from(self.next()) * bound as u128) >> 64) as usize
        }
    }

    /// Mean and standard error of the mean of a sample, one value per independent trial.
    pub(super) fn mean_and_error(sample: &[f64]) -> (f64, f64) {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        (mean, libm::sqrt(variance / n))
    }
}
