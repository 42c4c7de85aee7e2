//! Double hashing as Lumetta and Mitzenmacher use it: the step is odd where m is even.

use gardenia::index::Walk;
use gardenia::theory::kirsch_mitzenmacher::same_step_excess;
use gardenia::{Digest, Scheme, SchemeId};

/// Positions `α1 + i·α2 mod m` with an odd α2; no file can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OddStep {
    pub(crate) hashes: u32,
}

/// The walk of [`OddStep`].
#[derive(Clone, Debug)]
pub(crate) struct OddWalk {
    at: u64,
    step: u64,
    cells: u64,
}

/// The upper half of a product: a 64-bit word as a number below `range`.
fn below(word: u64, range: u64) -> u64 {
    ((u128::from(word) * u128::from(range)) >> 64) as u64
}

impl Scheme for OddStep {
    type Walk = OddWalk;
    fn id(&self) -> Option<SchemeId> {
        None
    }
    fn hashes(&self) -> u32 {
        self.hashes
    }
    #[inline]
    fn walk(&self, digest: Digest, cells: u64) -> OddWalk {
        let step = 2 * below(digest.word(1), cells / 2) + 1;
        OddWalk { at: below(digest.word(0), cells), step, cells }
    }
    /// Equal steps among m/2. Cycles of an odd step are multiples of the power of two in m, here longer than any k.
    fn excess(&self, cells: u64, items: f64, fill: f64) -> f64 {
        same_step_excess(cells, items, fill, (cells / 2) as f64)
    }
}

impl Walk for OddWalk {
    #[inline]
    fn step(&mut self) -> u64 {
        let at = self.at;
        let next = at + self.step;
        self.at = if next >= self.cells { next - self.cells } else { next };
        at
    }
}

#[test]
fn steps_are_odd_and_constant() {
    for key in 0..200 {
        let at: Vec<u64> = OddStep { hashes: 6 }.positions(Digest(Digest(5).word(key)), 1_000).collect();
        let steps: Vec<u64> = at.windows(2).map(|pair| (pair[1] + 1_000 - pair[0]) % 1_000).collect();
        assert!(
            steps.iter().all(|step| step % 2 == 1 && *step == steps[0]) && at.iter().all(|&at| at < 1_000)
        );
    }
}
