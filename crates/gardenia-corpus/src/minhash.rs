//! MinHash: how similar two texts are, from a few numbers of each.
//!
//! A text is the set of its shingles. Value i of its signature is the least value that function i
//! has on the set. Two signatures agree in a value with the probability J, the Jaccard similarity
//! of the sets. The values are grouped into b bands of r rows; two texts share a band with
//! probability J^r, and at least one of them with 1 − (1 − J^r)^b.
//!
//! Sources: Broder, "On the resemblance and containment of documents" (1997), for the values;
//! Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4, for the bands; Khan
//! et al., "LSHBloom" (2024), for filters in place of buckets.

use gardenia::{Digest, KeyHasher};
use serde::{Deserialize, Serialize};

/// Bands and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bands {
    /// Number of bands, b.
    pub bands: usize,
    /// Values of each, r.
    pub rows: usize,
}

impl Bands {
    /// The probability that two texts of this similarity share a band.
    pub fn share(&self, similarity: f64) -> f64 {
        1.0 - (1.0 - similarity.powi(self.rows as i32)).powi(self.bands as i32)
    }

    /// The same with filters in place of buckets, whose false positives give a document `fpp` to be
    /// removed at any similarity.
    pub fn removed(&self, similarity: f64, fpp: f64) -> f64 {
        1.0 - (1.0 - self.share(similarity)) * (1.0 - fpp)
    }

    /// The similarity at which half of the pairs are found.
    pub fn half(&self) -> f64 {
        (1.0 - 0.5f64.powf(1.0 / self.bands as f64)).powf(1.0 / self.rows as f64)
    }
}

/// Computes signatures.
#[derive(Debug)]
pub struct MinHash {
    bands: Bands,
    multipliers: Vec<u32>,
    offsets: Vec<u32>,
    values: Vec<u32>,
    shingles: Vec<u32>,
}

/// Values that are computed together: as many as fit in registers.
const LANES: usize = 56;

impl MinHash {
    /// For these bands and rows; the functions are always the same.
    pub fn new(bands: Bands) -> Self {
        let values = bands.bands * bands.rows;
        let padded = values.next_multiple_of(LANES);
        let random = |at: usize, word: u32| Digest(0x4d69_6e48_6173_6801 + at as u64).word(word) as u32;
        Self {
            bands,
            multipliers: (0..padded).map(|at| random(at, 1) | 1).collect(),
            offsets: (0..padded).map(|at| random(at, 2)).collect(),
            values: vec![u32::MAX; padded],
            shingles: Vec::new(),
        }
    }

    /// The signature of a set of shingles.
    pub fn signature(&mut self, shingles: &[Digest]) -> &[u32] {
        self.shingles.clear();
        // The high half: what is left of a digest is as good as all of it for texts of less than a million words.
        self.shingles.extend(shingles.iter().map(|digest| (digest.0 >> 32) as u32));
        let parts = self.multipliers.chunks_exact(LANES).zip(self.offsets.chunks_exact(LANES));
        for ((multipliers, offsets), values) in parts.zip(self.values.chunks_exact_mut(LANES)) {
            least(&self.shingles, multipliers, offsets, values);
        }
        &self.values[..self.bands.bands * self.bands.rows]
    }

    /// The signature that was computed last.
    pub fn last(&self) -> &[u32] {
        &self.values[..self.bands.bands * self.bands.rows]
    }

    /// The digests of a signature's bands, which are equal if all values and the band's number are.
    pub fn bands(&mut self, shingles: &[Digest], hasher: &KeyHasher, out: &mut Vec<Digest>) {
        let rows = self.bands.rows;
        self.signature(shingles);
        let mut key = Vec::with_capacity(4 + 4 * rows);
        for (band, values) in self.values.chunks_exact(rows).take(self.bands.bands).enumerate() {
            key.clear();
            key.extend_from_slice(&(band as u32).to_le_bytes());
            values.iter().for_each(|value| key.extend_from_slice(&value.to_le_bytes()));
            out.push(hasher.digest(&key));
        }
    }
}

/// The least value of each function a·x + b modulo 2³² over all shingles.
fn least(shingles: &[u32], multipliers: &[u32], offsets: &[u32], values: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn least_avx2(shingles: &[u32], multipliers: &[u32], offsets: &[u32], values: &mut [u32]) {
            least_portable(shingles, multipliers, offsets, values);
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as was just asked.
            #[allow(unsafe_code)]
            return unsafe { least_avx2(shingles, multipliers, offsets, values) };
        }
    }
    least_portable(shingles, multipliers, offsets, values);
}

#[inline(always)]
fn least_portable(shingles: &[u32], multipliers: &[u32], offsets: &[u32], values: &mut [u32]) {
    // Lanes of eight stay in one vector register each while all shingles go by.
    for ((multipliers, offsets), values) in multipliers
        .as_chunks::<8>()
        .0
        .iter()
        .zip(offsets.as_chunks::<8>().0)
        .zip(values.as_chunks_mut::<8>().0)
    {
        let mut least = [[u32::MAX; 8]; 2];
        let (pairs, rest) = shingles.as_chunks::<2>();
        for pair in pairs {
            for (least, shingle) in least.iter_mut().zip(pair) {
                for lane in 0..8 {
                    least[lane] =
                        least[lane].min(shingle.wrapping_mul(multipliers[lane]).wrapping_add(offsets[lane]));
                }
            }
        }
        for lane in 0..8 {
            values[lane] = least[0][lane].min(least[1][lane]);
            for shingle in rest {
                values[lane] =
                    values[lane].min(shingle.wrapping_mul(multipliers[lane]).wrapping_add(offsets[lane]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINEWEB: Bands = Bands { bands: 14, rows: 8 };

    #[test]
    fn the_curve_is_that_of_the_formula() {
        assert!((FINEWEB.share(0.75) - 0.772).abs() < 0.001); // FineWeb states 77 % at 0.75
        assert!((FINEWEB.share(0.8) - 0.924).abs() < 0.001);
        assert!((FINEWEB.share(FINEWEB.half()) - 0.5).abs() < 1e-9);
        assert!((FINEWEB.removed(0.0, 0.01) - 0.01).abs() < 1e-12);
    }

    /// The vectors must give what one function after the other gives.
    #[test]
    fn a_signature_holds_the_least_value_of_each_function() {
        let mut minhash = MinHash::new(Bands { bands: 3, rows: 5 });
        for count in [0u64, 1, 2, 7, 100] {
            let shingles: Vec<Digest> = (0..count).map(|at| Digest(Digest(at).word(3))).collect();
            let (a, b) = (minhash.multipliers.clone(), minhash.offsets.clone());
            let expected: Vec<u32> = (0..15)
                .map(|at| {
                    let value =
                        |digest: &Digest| ((digest.0 >> 32) as u32).wrapping_mul(a[at]).wrapping_add(b[at]);
                    shingles.iter().map(value).min().unwrap_or(u32::MAX)
                })
                .collect();
            assert_eq!(minhash.signature(&shingles), expected, "{count}");
        }
    }

    /// One permutation hashing (Li, Owen and Zhang 2012): each shingle is hashed once and falls
    /// into a bin, and a bin keeps its least value. Empty bins take the value of another, by the
    /// densification of Shrivastava, "Optimal Densification for Fast and Accurate Minwise Hashing"
    /// (2017): both texts ask the same bins in the same order, and take the first that is not
    /// empty.
    fn one_permutation(shingles: &[Digest], values: &mut [u32]) {
        let bins = values.len() as u64;
        values.fill(u32::MAX);
        for shingle in shingles {
            // The high half of the product chooses the bin, the low half is the value in it.
            let product = (shingle.0 >> 32) * bins;
            let value = &mut values[(product >> 32) as usize];
            *value = (*value).min(product as u32);
        }
        let empty: Vec<usize> = (0..values.len()).filter(|bin| values[*bin] == u32::MAX).collect();
        if empty.len() == values.len() {
            return;
        }
        let mut is_empty = vec![false; values.len()];
        empty.iter().for_each(|bin| is_empty[*bin] = true);
        for bin in empty {
            let other = (1..).map(|attempt| {
                let number = Digest((bin as u64) << 32 | attempt).word(7) >> 32;
                ((number * bins) >> 32) as usize
            });
            let found = other.into_iter().find(|other| !is_empty[*other]).unwrap_or(bin);
            values[bin] = values[found];
        }
    }

    /// Compares one-permutation hashing with a function per value: how far both are from the truth,
    /// and what a signature takes. With --nocapture it prints the table of docs/design.md.
    #[test]
    #[ignore = "a long sweep of two kinds of signatures"]
    fn one_permutation_hashing_beside_a_function_for_each_value() {
        let pairs = 4_000u64;
        let mut minhash = MinHash::new(FINEWEB);
        let mut ours = [vec![0u32; 112], vec![0u32; 112]];
        let mut one = ours.clone();
        println!("shingles, similarity: mean squared error of functions, of bins, of theory; ns; ns");
        for shingles in [50u64, 250, 1_000] {
            for similarity in [0.5, 0.8] {
                let common = (2.0 * shingles as f64 * similarity / (1.0 + similarity)).round() as u64;
                let truth = common as f64 / (2 * shingles - common) as f64;
                let (mut errors, mut times) = ([0.0; 2], [f64::INFINITY; 2]);
                for pair in 0..pairs {
                    for side in 0..2 {
                        let key = |at: u64| {
                            let own = if at < common { 0 } else { side as u64 + 1 };
                            Digest(Digest(pair << 32 | own << 16 | at).word(5))
                        };
                        let set: Vec<Digest> = (0..shingles).map(key).collect();
                        let start = std::time::Instant::now();
                        ours[side].copy_from_slice(minhash.signature(&set));
                        times[0] = times[0].min(start.elapsed().as_secs_f64());
                        let start = std::time::Instant::now();
                        one_permutation(&set, &mut one[side]);
                        times[1] = times[1].min(start.elapsed().as_secs_f64());
                    }
                    for (error, [a, b]) in errors.iter_mut().zip([&ours, &one]) {
                        let agree = a.iter().zip(b).filter(|(a, b)| a == b).count();
                        *error += (agree as f64 / 112.0 - truth).powi(2);
                    }
                }
                let error = errors.map(|error| error / pairs as f64);
                // The least time of many: the machine does other things as well.
                let ns = times.map(|time| time * 1e9);
                // Agreements of independent functions are binomial.
                let theory = truth * (1.0 - truth) / 112.0;
                println!(
                    "{shingles}, {truth:.3}: {:.3e}, {:.3e}, {theory:.3e}; {:.0}, {:.0}",
                    error[0], error[1], ns[0], ns[1]
                );
                // The mean of squares of normal errors has the relative deviation √(2/pairs).
                let five = 5.0 * (2.0 / pairs as f64).sqrt();
                assert!((error[0] / theory - 1.0).abs() < five, "{shingles} {truth}: {} {theory}", error[0]);
            }
        }
    }

    /// Values agree as often as the sets are similar: 200 pairs of 112 values each, within five
    /// standard errors.
    #[test]
    fn values_agree_as_often_as_the_sets_are_similar() {
        let mut minhash = MinHash::new(FINEWEB);
        for common in [50u64, 100, 150, 190] {
            let (mut agree, mut all) = (0.0, 0.0);
            for pair in 0..200u64 {
                let set = |own: u64| -> Vec<Digest> {
                    let key = |at: u64, own: u64| Digest(Digest(pair << 32 | own << 16 | at).word(5));
                    (0..common).map(|at| key(at, 0)).chain((common..200).map(|at| key(at, own))).collect()
                };
                let first = minhash.signature(&set(1)).to_vec();
                let second = minhash.signature(&set(2));
                agree += first.iter().zip(second).filter(|(a, b)| a == b).count() as f64;
                all += first.len() as f64;
            }
            let similarity = common as f64 / (400 - common) as f64;
            let error = (similarity * (1.0 - similarity) / all).sqrt();
            assert!((agree / all - similarity).abs() < 5.0 * error, "{} {similarity} {error}", agree / all);
        }
    }
}
