//! The counting filter by its paper: cells of w bits, and what happens at their top.

/// What happens to a cell at its top when it is lowered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Top {
    /// It stays: nobody knows how much it has missed.
    #[default]
    Sticks,
    /// It is lowered like any other.
    Lowers,
}

/// A filter. Keys are given by their different cells.
#[derive(PartialEq, Eq)]
pub(crate) struct CountingCells {
    cells: Vec<u32>,
    top: u32,
    at_top: Top,
}

impl CountingCells {
    /// Empty cells of this many bits.
    pub(crate) fn new(cells: u64, width: u32, at_top: Top) -> Self {
        Self { cells: vec![0; cells as usize], top: (1 << width) - 1, at_top }
    }

    pub(crate) fn insert(&mut self, key: &[u32]) {
        for at in key {
            let cell = &mut self.cells[*at as usize];
            *cell = (*cell + 1).min(self.top);
        }
    }

    /// Takes a key out that seems to be in.
    pub(crate) fn remove(&mut self, key: &[u32]) {
        for at in key {
            let cell = &mut self.cells[*at as usize];
            if *cell < self.top || self.at_top == Top::Lowers {
                *cell = cell.saturating_sub(1);
            }
        }
    }

    pub(crate) fn contains(&self, key: &[u32]) -> bool {
        key.iter().all(|at| self.cells[*at as usize] > 0)
    }

    /// How many cells are not zero.
    pub(crate) fn set(&self) -> u64 {
        self.cells.iter().filter(|cell| **cell > 0).count() as u64
    }
}

#[test]
fn cells_stick_at_their_top() {
    for (at_top, left) in [(Top::Sticks, 1), (Top::Lowers, 0)] {
        let mut filter = CountingCells::new(3, 2, at_top);
        (0..4).for_each(|_| filter.insert(&[0, 1]));
        filter.insert(&[1, 2]);
        assert_eq!(filter.cells, [3, 3, 1]);
        (0..3).for_each(|_| filter.remove(&[0]));
        filter.remove(&[2]);
        filter.remove(&[2]);
        assert_eq!((u64::from(filter.contains(&[0])), filter.cells[2]), (left, 0));
        assert_eq!(filter.set(), 1 + left);
    }
}
