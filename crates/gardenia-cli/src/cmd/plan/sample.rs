//! How many distinct keys a sample has, in bounded memory: the smallest digests, counted.
//!
//! Digests are as if drawn at random, so that the k-th smallest of n different ones is about k/n of
//! all numbers: n is estimated by (k − 1)/U, with a standard error of 1/√(k − 2) of itself
//! (Bar-Yossef et al. 2002). Up to k distinct keys are counted exactly. A digest that is among the
//! smallest in the end always was, so that all its repeats are counted: they are a fair sample of
//! how often keys occur.

use gardenia::Digest;

/// Digests that are kept: the estimate is good to 0.4 %.
const KEPT: usize = 1 << 16;

/// The smallest different digests of a stream, and how often each came.
#[derive(Default)]
pub(crate) struct Smallest {
    lines: u64,
    /// Sorted and different.
    kept: Vec<(Digest, u64)>,
    /// Not yet sorted in.
    fresh: Vec<Digest>,
}

/// What is known of the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) lines: u64,
    pub(crate) distinct: f64,
    /// One standard deviation of it; 0 if they were all counted.
    pub(crate) std_error: f64,
    /// The largest count of a key in the sample that was kept.
    pub(crate) most: u64,
}

impl Smallest {
    pub(crate) fn add(&mut self, digests: &[Digest]) {
        self.lines += digests.len() as u64;
        let limit = match self.kept.get(KEPT - 1) {
            Some((largest, _)) => *largest,
            None => Digest(u64::MAX),
        };
        self.fresh.extend(digests.iter().filter(|digest| **digest <= limit));
        if self.fresh.len() >= KEPT {
            self.sort_in();
        }
    }

    fn sort_in(&mut self) {
        self.fresh.sort_unstable();
        let all =
            std::mem::take(&mut self.kept).into_iter().chain(self.fresh.drain(..).map(|digest| (digest, 1)));
        let mut all: Vec<(Digest, u64)> = all.collect();
        all.sort_unstable();
        for (digest, count) in all {
            match self.kept.last_mut() {
                Some((last, so_far)) if *last == digest => *so_far += count,
                _ => self.kept.push((digest, count)),
            }
        }
        self.kept.truncate(KEPT);
    }

    pub(crate) fn estimate(mut self) -> Estimate {
        self.sort_in();
        let (lines, most) = (self.lines, self.kept.iter().map(|(_, count)| *count).max().unwrap_or(0));
        let (distinct, std_error) = match self.kept.get(KEPT - 1) {
            None => (self.kept.len() as f64, 0.0),
            Some((largest, _)) => {
                let distinct = (KEPT - 1) as f64 / (largest.0 as f64 / 2f64.powi(64));
                (distinct.min(lines as f64), distinct / ((KEPT - 2) as f64).sqrt())
            }
        };
        Estimate { lines, distinct, std_error, most }
    }
}

impl Estimate {
    /// Keys to plan for: three standard errors more than estimated, but no more than there are
    /// lines.
    pub(crate) fn items(&self) -> u64 {
        ((self.distinct + 3.0 * self.std_error).ceil() as u64).min(self.lines).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(seed: u64, keys: u32, times: u32) -> Smallest {
        let mut smallest = Smallest::default();
        for _ in 0..times {
            let digests: Vec<Digest> = (0..keys).map(|i| Digest(Digest(seed).word(i))).collect();
            digests.chunks(10_000).for_each(|digests| smallest.add(digests));
        }
        smallest
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let found = stream(1, 50_000, 3).estimate();
        assert_eq!(found, Estimate { lines: 150_000, distinct: 50_000.0, std_error: 0.0, most: 3 });
        assert_eq!((found.items(), Smallest::default().estimate().items()), (50_000, 1));
        assert_eq!(stream(1, KEPT as u32 - 1, 1).estimate().distinct, KEPT as f64 - 1.0);
    }

    #[test]
    fn many_keys_are_estimated_as_well_as_it_says() {
        let errors: Vec<f64> = (0..20)
            .map(|seed| {
                let found = stream(seed, 300_000, 1 + seed as u32 % 2).estimate();
                assert_eq!(found.most, 1 + seed % 2);
                (found.distinct - 300_000.0) / found.std_error
            })
            .collect();
        assert!(errors.iter().all(|error| error.abs() < 5.0), "{errors:?}");
        // 20 squares of standard normal errors: between 4 and 50, or one in a hundred thousand.
        let sum: f64 = errors.iter().map(|error| error * error).sum();
        assert!((4.0..50.0).contains(&sum), "{sum}");
    }
}
