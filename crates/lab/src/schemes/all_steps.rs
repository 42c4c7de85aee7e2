//! False positives of a filled filter for all first hash values at once.
//!
//! With a step (and a bend) given, the positions of a query are those of h1 = 0 moved by h1. So the
//! queries with that step that pass are the ones of the AND of k rotated copies of the bits, 64 of
//! them to a word: a query costs a tenth of a nanosecond, and rates are accurate to a thousandth
//! and better.

use super::{Filter, Size, Way};
use crate::Stream;

/// A filter, ready for such questions.
pub(crate) struct AllFirst {
    /// The bits, or those of each slice, twice in a row, so that a rotated copy is read from one
    /// place on.
    tables: Vec<Vec<u64>>,
    way: Way,
    hashes: u32,
    range: u64,
    /// What is left of the first hash values.
    room: Vec<u64>,
    /// Steps that are short of multiples; they are asked for one by one, all others by lot.
    short: Vec<u64>,
    /// Leaves out what makes the scheme, as the simulation does.
    broken: bool,
}

impl AllFirst {
    pub(crate) fn new(filter: &Filter, size: &Size, way: Way, broken: bool) -> Self {
        let range = size.range(way);
        let tables =
            (0..size.cells(way) / range).map(|slice| twice(&filter.bits, slice * range, range)).collect();
        let (hashes, room) = (size.hashes, vec![0; range.div_ceil(64) as usize]);
        // Under plain double hashing these matter most, and are too rare for a lot.
        let few = if way == Way::Double && !broken { u64::from(hashes) } else { 0 };
        let mut short: Vec<u64> = (1..few)
            .filter(|&order| range.is_multiple_of(order))
            .flat_map(|order| (0..order).map(move |multiple| multiple * (range / order)))
            .collect();
        short.sort_unstable();
        short.dedup();
        Self { tables, way, hashes, range, room, short, broken }
    }

    /// The same for a scheme that never takes the step 0.
    pub(crate) fn rate_without_zero(&mut self, steps: u64, stream: &mut Stream) -> f64 {
        let (m, rate) = (self.range as f64, self.rate(steps, stream));
        (rate * m - self.passed(0, 0) as f64 / m) / (m - 1.0)
    }

    /// The filter's rate, from all queries of `steps` random steps.
    pub(crate) fn rate(&mut self, steps: u64, stream: &mut Stream) -> f64 {
        let mut passed = 0;
        for _ in 0..steps {
            let mut step = stream.below(self.range);
            while self.short.binary_search(&step).is_ok() {
                step = stream.below(self.range);
            }
            step &= if self.broken && self.way == Way::Double { !1 } else { !0 };
            let bend = if self.way == Way::Triple { stream.below(self.range) } else { 0 };
            passed += self.passed(step, bend);
        }
        let short = std::mem::take(&mut self.short);
        let exact: u64 = short.iter().map(|&step| self.passed(step, 0)).sum();
        let (m, few) = (self.range as f64, short.len() as f64);
        self.short = short;
        (exact as f64 + (m - few) * passed as f64 / steps as f64) / (m * m)
    }

    /// How many of the first hash values pass with this step and bend.
    fn passed(&mut self, step: u64, bend: u64) -> u64 {
        let m = self.range;
        self.room.fill(u64::MAX);
        if let Some(last) = self.room.last_mut() {
            *last >>= (64 - m % 64) % 64;
        }
        for i in 0..u64::from(self.hashes) {
            let offset = match self.way {
                _ if self.broken => i * step,
                Way::Square => i * step + i * i,
                Way::Cube => i * step + i * i * i,
                Way::Triple => i * step + i * i.saturating_sub(1) / 2 % m * bend,
                Way::Standard | Way::Partition | Way::Double => i * step,
            } % m;
            let table = &self.tables[i as usize % self.tables.len()];
            let (from, shift) = ((offset / 64) as usize, offset % 64);
            let words = table[from..].iter().zip(&table[from + 1..]);
            for (left, (low, high)) in self.room.iter_mut().zip(words) {
                *left &= low >> shift | (high << 1) << (63 - shift);
            }
        }
        self.room.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// `range` bits from bit `from` on, twice, and a word behind them.
fn twice(bits: &[u64], from: u64, range: u64) -> Vec<u64> {
    let mut table = vec![0; (2 * range).div_ceil(64) as usize + 2];
    for at in 0..range {
        let bit = bits[((from + at) / 64) as usize] >> ((from + at) % 64) & 1;
        for to in [at, at + range] {
            table[(to / 64) as usize] |= bit << (to % 64);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(trial: u64) -> Stream {
        Stream::new(6, "all first", "tests", trial)
    }

    #[test]
    fn all_first_values_are_asked_as_if_one_by_one() {
        for way in [Way::Partition, Way::Double, Way::Square, Way::Cube, Way::Triple] {
            for (trial, items) in [(0, 16), (1, 17), (2, 40)] {
                let size = Size { items, per_item: 8, hashes: 3 };
                let filter = Filter::new(&size, way, false, &mut stream(trial));
                let mut all = AllFirst::new(&filter, &size, way, false);
                let (m, mut stream) = (size.range(way), stream(9));
                for _ in 0..50 {
                    let (step, bend) = (stream.below(m), stream.below(m));
                    let at = |h1: u64, i: u64| match way {
                        Way::Partition => i * m + (h1 + i * step) % m,
                        Way::Square => (h1 + i * step + i * i) % m,
                        Way::Cube => (h1 + i * step + i * i * i) % m,
                        Way::Triple => (h1 + i * step + [0, 0, 1][i as usize] * bend) % m,
                        _ => (h1 + i * step) % m,
                    };
                    let set = |at: u64| filter.bits[at as usize / 64] >> (at % 64) & 1 == 1;
                    let passed = (0..m).filter(|&h1| (0..3).all(|i| set(at(h1, i)))).count() as u64;
                    assert_eq!(all.passed(step, bend), passed, "{} {step} {bend}", way.name());
                }
            }
        }
    }

    #[test]
    fn short_steps_are_weighed_as_one_of_m_each() {
        // m = 12, k = 5: steps of order 1, 2, 3 and 4 are all but 1, 2, 5, 7, 10 and 11.
        let size = Size { items: 3, per_item: 4, hashes: 5 };
        let filter = Filter::new(&size, Way::Double, false, &mut stream(0));
        let mut all = AllFirst::new(&filter, &size, Way::Double, false);
        assert_eq!(all.short, [0, 3, 4, 6, 8, 9]);
        let exact = (0..12).map(|step| all.passed(step, 0)).sum::<u64>() as f64 / 144.0;
        let rates: Vec<f64> = (0..400).map(|trial| all.rate(6, &mut stream(trial))).collect();
        let mean = crate::Mean::of(&rates);
        assert!(mean.errors_from(exact) < 5.0, "{mean:?} {exact}");
    }
}
