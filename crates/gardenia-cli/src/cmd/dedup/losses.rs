//! How many lines were probably lost: new ones that the filter took for known.
//!
//! Each new line is lost with the rate that the filter has when it comes, so that the number
//! expected is the sum of that rate over the new lines, and the number itself is nearly Poisson's.

/// The number expected so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    expected: f64,
    /// Keys in the filter, and its rate, when it was last measured.
    last: Option<(f64, f64)>,
}

impl Losses {
    /// Notes that this many lines were found to be new at this rate.
    pub(crate) fn at_rate(&mut self, new: u64, rate: f64) {
        self.expected += new as f64 * odds(rate);
    }

    /// Notes that a filter of this many keys has this rate, where the rate is too dear to be
    /// measured for every block. Between two measurements it is taken for a power of the keys, as
    /// that of a Bloom filter nearly is.
    pub(crate) fn measured(&mut self, keys: f64, rate: f64) {
        let rate = odds(rate);
        if let Some((before, old)) = self.last.replace((keys, rate))
            && keys > before
        {
            let power = (rate / old).ln() / (keys / before).ln();
            self.expected += match power.is_finite() && power > -0.9 {
                true => (keys * rate - before * old) / (power + 1.0),
                false => (keys - before) * (old + rate) / 2.0,
            };
        }
    }

    /// As [`measured`](Self::measured), when what came since was noted by
    /// [`at_rate`](Self::at_rate).
    pub(crate) fn begin(&mut self, keys: f64, rate: f64) {
        self.last = Some((keys, odds(rate)));
    }

    /// The rate when it was last measured.
    pub(crate) fn rate(&self) -> f64 {
        self.last.map_or(0.0, |(_, odds)| odds / (1.0 + odds))
    }

    /// The number expected.
    pub(crate) fn expected(&self) -> f64 {
        self.expected
    }

    /// From what to what the number is, 95 times in 100.
    pub(crate) fn interval(&self) -> (u64, u64) {
        poisson(self.expected)
    }
}

/// Lines lost for each that is printed.
fn odds(rate: f64) -> f64 {
    rate / (1.0 - rate).max(1e-9)
}

/// The 2.5 % and 97.5 % quantiles of Poisson's distribution.
fn poisson(mean: f64) -> (u64, u64) {
    if mean > 500.0 {
        let half = 1.96 * mean.sqrt(); // near enough to normal there
        return ((mean - half) as u64, (mean + half).ceil() as u64);
    }
    let (mut chance, mut sum, mut low) = ((-mean).exp(), 0.0, None);
    for number in 0..10_000 {
        sum += chance;
        if low.is_none() && sum >= 0.025 {
            low = Some(number);
        }
        if sum >= 0.975 {
            return (low.unwrap_or(number), number);
        }
        chance *= mean / (number + 1) as f64;
    }
    (0, mean.ceil() as u64) // not reached: 10,000 is far above any quantile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // R: qpois(c(.025, .975), mean)
        for (mean, interval) in
            [(0.0, (0, 0)), (0.5, (0, 2)), (1.0, (0, 3)), (5.0, (1, 10)), (100.0, (81, 120))]
        {
            assert_eq!(poisson(mean), interval, "{mean}");
        }
        let (low, high) = poisson(10_000.0);
        assert!((9_800..9_810).contains(&low) && (10_190..10_200).contains(&high));
    }

    #[test]
    fn a_few_measurements_tell_what_all_of_them_would() {
        let rate = |keys: f64| 1e-6 * (keys / 1e6).powi(20);
        let mut losses = Losses::default();
        let mut keys = 1e5;
        while keys < 1.01e6 {
            losses.measured(keys, rate(keys));
            keys *= 1.15;
        }
        let last = keys / 1.15;
        let sum = last * rate(last) / 21.0; // the integral
        assert!((losses.expected() / sum - 1.0).abs() < 1e-3, "{} {sum}", losses.expected());
        losses.at_rate(1_000_000, 0.5);
        assert!((losses.expected() - 1e6).abs() < 10.0); // as many lost as printed
    }
}
