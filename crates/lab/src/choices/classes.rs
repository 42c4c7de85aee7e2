//! Residue classes of cells, and the rate that their fills give.
//!
//! If the step of a group shares a factor with m, the positions keep to one residue class modulo
//! that factor. Keys that choose take such groups where others did so before, and some classes fill
//! while others empty: the share of ones falls, and a query whose group lies in a full class is
//! found more often. The mean over all residues of the hash values, of the product of the fills
//! that a group meets, is the rate of a group whose cells are otherwise independent. (Worked out
//! for this project; queries of real filters agree, see `choice-double-hashing`.)

/// Classes are told apart modulo this: its factors 2, 4, 5, 10 and 20 are those of m in the paper's
/// settings that steps meet most often.
const MODULUS: usize = 20;

/// How the positions of a group follow from hash values α1 and α2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    /// α1 + i·α2 with an odd α2.
    OddStep,
    /// α1 + i·α2.
    AnyStep,
    /// α1 + i·α2 + i³.
    Cubic,
}

/// The share of ones in each residue class of the cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classes([f64; MODULUS]);

impl Classes {
    /// Of this many cells, a multiple of 20.
    pub(crate) fn of(cells: u64, set: impl Fn(u64) -> bool) -> Self {
        let mut ones = [0u64; MODULUS];
        (0..cells).filter(|at| set(*at)).for_each(|at| ones[at as usize % MODULUS] += 1);
        Self(ones.map(|ones| ones as f64 / (cells / MODULUS as u64) as f64))
    }

    /// How often all k cells of a random group are set.
    pub(crate) fn rate(&self, law: Law, hashes: u32) -> f64 {
        let (mut sum, mut count) = (0.0, 0u32);
        for (start, step) in (0..MODULUS).flat_map(|start| (0..MODULUS).map(move |step| (start, step))) {
            if law == Law::OddStep && step % 2 == 0 {
                continue;
            }
            let place = |i: usize| start + i * step + if law == Law::Cubic { i * i * i } else { 0 };
            sum += (0..hashes as usize).map(|i| self.0[place(i) % MODULUS]).product::<f64>();
            count += 1;
        }
        sum / f64::from(count)
    }

    /// How much more often groups of fewer than k different cells are set, which are those of steps
    /// with a short cycle: `(1/(m-1))·Σ_{L | m, 2 ≤ L < k} φ(L)·p^L`, with the fills of the classes
    /// that a cycle of L cells meets for p^L. The step is never zero.
    pub(crate) fn cycles(&self, cells: u64, hashes: u32) -> f64 {
        let cycles = (2..u64::from(hashes)).filter(|length| cells.is_multiple_of(*length));
        let sum: f64 = cycles
            .map(|length| {
                let met = |start: usize| {
                    let places =
                        (0..length).map(|i| (start as u64 + i * (cells / length)) as usize % MODULUS);
                    places.map(|class| self.0[class]).product::<f64>()
                };
                let steps = (1..length).filter(|step| coprime(*step, length)).count();
                steps as f64 * (0..MODULUS).map(met).sum::<f64>() / MODULUS as f64
            })
            .sum();
        sum / (cells - 1) as f64
    }

    /// The fill of the fullest class.
    pub(crate) fn fullest(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

fn coprime(a: u64, b: u64) -> bool {
    if b == 0 { a == 1 } else { coprime(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_equal_fill_are_as_if_there_were_none() {
        let even = Classes::of(2_000, |at| at / 20 % 2 == 0);
        assert_eq!(even, Classes([0.5; 20]));
        for law in [Law::OddStep, Law::AnyStep, Law::Cubic] {
            assert!((even.rate(law, 10) - libm::pow(0.5, 10.0)).abs() < 1e-15);
        }
    }

    #[test]
    fn cycles_of_equal_classes_are_those_of_all_steps() {
        fn divisor(a: u64, b: u64) -> u64 {
            if b == 0 { a } else { divisor(b, a % b) }
        }
        let even = Classes([0.5; 20]);
        for (cells, hashes) in [(160_000, 15), (320_000, 27), (60, 9)] {
            let lengths =
                (1..cells).map(|step| cells / divisor(step, cells)).filter(|len| *len < u64::from(hashes));
            let expected = lengths.map(|len| libm::pow(0.5, len as f64)).sum::<f64>() / (cells - 1) as f64;
            assert!((even.cycles(cells, hashes) / expected - 1.0).abs() < 1e-9);
        }
        // 40 cells, of which the even are set: cycles of 2, 4, 5 and 8 cells whose steps are 20, 10, 8 and 5.
        let halves = Classes::of(40, |at| at % 2 == 0);
        assert!((halves.cycles(40, 9) - (0.5 + 2.0 * 0.5 + 4.0 * 0.5 + 0.0) / 39.0).abs() < 1e-12);
        assert_eq!(halves.fullest(), 1.0);
    }

    #[test]
    fn groups_in_one_class_meet_its_fill() {
        // Even cells are set, odd ones are not: a group is found if it starts at an even cell and its step is even.
        let halves = Classes::of(200, |at| at % 2 == 0);
        assert!((halves.rate(Law::AnyStep, 5) - 0.25).abs() < 1e-12);
        assert_eq!(halves.rate(Law::OddStep, 5), 0.0);
        // i³ is odd where i is: with an odd step all parities are those of the start.
        assert!((halves.rate(Law::Cubic, 5) - 0.25).abs() < 1e-12);
    }
}
