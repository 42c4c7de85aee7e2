//! The stable filter by its paper: cells are ages, P different cells anywhere are lowered, then K
//! are set to Max.

use crate::Stream;

/// What happens to a cell that is zero when it is lowered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Below {
    /// It stays zero.
    #[default]
    Stop,
    /// It becomes Max, as the arithmetic of cells of this many bits would have it.
    Wrap,
}

/// The parameters, in the letters of the paper: m, K, Max, P.
#[derive(Clone, Copy)]
pub(crate) struct Aging {
    pub(crate) cells: u64,
    pub(crate) hashes: u32,
    pub(crate) max: u32,
    pub(crate) decrements: u64,
}

/// A filter.
pub(crate) struct StableCells {
    aging: Aging,
    below: Below,
    cells: Vec<u8>,
    /// By which insert a cell was lowered last: the cells of one insert are different ones.
    lowered: Vec<u32>,
    inserts: u32,
}

impl StableCells {
    pub(crate) fn new(aging: Aging, below: Below) -> Self {
        let cells = aging.cells as usize;
        Self { aging, below, cells: vec![0; cells], lowered: vec![0; cells], inserts: 0 }
    }

    /// Inserts a key with these positions.
    pub(crate) fn insert(&mut self, key: &[u32], stream: &mut Stream) {
        self.inserts += 1;
        let mut left = self.aging.decrements;
        while left > 0 {
            let at = stream.below(self.aging.cells) as usize;
            if self.lowered[at] == self.inserts {
                continue;
            }
            self.lowered[at] = self.inserts;
            left -= 1;
            self.cells[at] = match (self.cells[at], self.below) {
                (0, Below::Stop) => 0,
                (0, Below::Wrap) => self.aging.max as u8,
                (age, _) => age - 1,
            };
        }
        key.iter().for_each(|at| self.cells[*at as usize] = self.aging.max as u8);
    }

    /// Whether a key seems to have come.
    pub(crate) fn contains(&self, key: &[u32]) -> bool {
        key.iter().all(|at| self.cells[*at as usize] > 0)
    }

    /// The share of zeros.
    pub(crate) fn zeros(&self) -> f64 {
        self.cells.iter().filter(|age| **age == 0).count() as f64 / self.cells.len() as f64
    }

    /// How many of `queries` random keys are reported as seen.
    pub(crate) fn found(&self, queries: u64, stream: &mut Stream) -> u64 {
        let hit = |stream: &mut Stream| self.cells[stream.below(self.aging.cells) as usize] > 0;
        (0..queries).filter(|_| (0..self.aging.hashes).all(|_| hit(stream))).count() as u64
    }
}

#[test]
fn ages_fall_to_zero_and_not_below() {
    let stream = &mut Stream::new(1, "stable", "ages", 0);
    // All cells are lowered by each insert.
    let aging = Aging { cells: 4, hashes: 1, max: 3, decrements: 4 };
    let mut filter = StableCells::new(aging, Below::Stop);
    filter.insert(&[0], stream);
    assert_eq!(filter.cells, [3, 0, 0, 0]);
    filter.insert(&[1], stream);
    filter.insert(&[2], stream);
    assert_eq!(filter.cells, [1, 2, 3, 0]);
    assert!(filter.contains(&[0, 1]) && !filter.contains(&[0, 3]) && filter.zeros() == 0.25);
    filter.insert(&[2], stream);
    assert!(!filter.contains(&[0]) && filter.contains(&[1]));
    let mut wrapping = StableCells::new(aging, Below::Wrap);
    wrapping.insert(&[0], stream);
    assert_eq!(wrapping.cells, [3; 4]);
    // One of two cells is lowered: each alike often.
    let mut filter = StableCells::new(Aging { cells: 2, hashes: 1, max: 1, decrements: 1 }, Below::Stop);
    let first = (0..10_000)
        .filter(|_| {
            filter.cells = vec![1, 1];
            filter.insert(&[], stream);
            filter.cells[0] == 0
        })
        .count();
    assert!(crate::Mean::of_rate(first as u64, 10_000).errors_from(0.5) < 5.0 && filter.zeros() == 0.5);
}
