//! The three algorithms of the spectral filter by their paper: minimum selection, minimum increase,
//! and recurring minimum with and without its marker. Counters have no top.

use crate::Stream;

/// Which counters an insert by minimum increase raises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Raise {
    /// The smallest ones.
    #[default]
    Smallest,
    /// All: no minimum increase at all.
    All,
}

/// The different cells of each key: a cell that two of its positions share counts once.
pub(crate) struct Places {
    /// Where the cells of a key begin; one more at the end.
    starts: Vec<u32>,
    cells: Vec<u32>,
}

impl Places {
    /// Random positions of this many keys.
    pub(crate) fn draw(keys: u64, cells: u64, hashes: u32, stream: &mut Stream) -> Self {
        let all = stream.positions(keys, cells, hashes);
        let mut places = Self { starts: vec![0], cells: Vec::with_capacity(all.len()) };
        for key in all.chunks_exact(hashes as usize) {
            let from = places.cells.len();
            for at in key {
                if !places.cells[from..].contains(at) {
                    places.cells.push(*at);
                }
            }
            places.starts.push(places.cells.len() as u32);
        }
        places
    }

    /// The cells of a key.
    pub(crate) fn of(&self, key: u32) -> &[u32] {
        let ends = &self.starts[key as usize..key as usize + 2];
        &self.cells[ends[0] as usize..ends[1] as usize]
    }
}

/// Counters.
pub(crate) struct Cells(Vec<u64>);

impl Cells {
    /// All zero.
    pub(crate) fn new(cells: u64) -> Self {
        Self(vec![0; cells as usize])
    }

    /// The smallest counter of a key: its estimate.
    pub(crate) fn least(&self, at: &[u32]) -> u64 {
        at.iter().map(|at| self.0[*at as usize]).min().unwrap_or(0)
    }

    /// Whether the smallest counter appears once among those of a key.
    pub(crate) fn single(&self, at: &[u32]) -> bool {
        let least = self.least(at);
        at.iter().filter(|at| self.0[**at as usize] == least).count() == 1
    }

    /// Minimum selection: raises all counters of a key.
    pub(crate) fn select(&mut self, at: &[u32], by: u64) {
        at.iter().for_each(|at| self.0[*at as usize] += by);
    }

    /// Lowers all counters of a key, none below zero.
    pub(crate) fn lower(&mut self, at: &[u32], by: u64) {
        at.iter().for_each(|at| self.0[*at as usize] = self.0[*at as usize].saturating_sub(by));
    }

    /// Gives all counters of a key this value.
    pub(crate) fn set(&mut self, at: &[u32], value: u64) {
        at.iter().for_each(|at| self.0[*at as usize] = value);
    }

    /// Minimum increase: raises the smallest ones by 1.
    pub(crate) fn increase(&mut self, at: &[u32], raise: Raise) {
        let least = self.least(at);
        for at in at {
            let cell = &mut self.0[*at as usize];
            *cell += u64::from(*cell == least || raise == Raise::All);
        }
    }
}

/// Which counters are believed of a key that has moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Believe {
    Secondary,
    Smaller,
}

/// Recurring minimum: primary and secondary counters, and perhaps a marker of the keys that have
/// moved.
pub(crate) struct Recurring {
    primary: (Places, Cells),
    secondary: (Places, Cells),
    marker: Option<(Places, Cells)>,
}

impl Recurring {
    /// For this many keys with `hashes` positions everywhere; the marker has as many bits as there
    /// are primary cells.
    pub(crate) fn new(keys: u64, cells: [u64; 2], hashes: u32, marked: bool, stream: &mut Stream) -> Self {
        let mut of = |cells| (Places::draw(keys, cells, hashes, stream), Cells::new(cells));
        let [primary, secondary] = cells.map(&mut of);
        let marker = marked.then(|| of(cells[0]));
        Self { primary, secondary, marker }
    }

    /// Inserts a key.
    pub(crate) fn insert(&mut self, key: u32) {
        let (at, second) = (self.primary.0.of(key), self.secondary.0.of(key));
        self.primary.1.select(at, 1);
        let single = self.primary.1.single(at);
        let moved = match &self.marker {
            Some((places, bits)) => bits.least(places.of(key)) > 0,
            None if single => self.secondary.1.least(second) > 0,
            None => return,
        };
        // A key that only its marker takes for moved has nothing there yet: it begins with its minimum.
        if moved && self.secondary.1.least(second) > 0 {
            self.secondary.1.select(second, 1);
        } else if single || moved {
            if let Some((places, bits)) = &mut self.marker {
                bits.select(places.of(key), 1);
            }
            self.secondary.1.select(second, self.primary.1.least(at));
        }
    }

    /// The estimate of a key: the paper believes the secondary counters of a key that has moved,
    /// and the library the smaller of both, for the primary ones are never too low.
    pub(crate) fn estimate(&self, key: u32, believe: Believe) -> u64 {
        let (at, second) = (self.primary.0.of(key), self.secondary.0.of(key));
        let (first, other) = (self.primary.1.least(at), self.secondary.1.least(second));
        let moved = match &self.marker {
            Some((places, bits)) => bits.least(places.of(key)) > 0,
            None => self.primary.1.single(at),
        };
        match (moved && other > 0, believe) {
            (false, _) => first,
            (true, Believe::Secondary) => other,
            (true, Believe::Smaller) => other.min(first),
        }
    }

    /// The share of keys that were never marked that the marker takes for marked.
    pub(crate) fn marker_rate(&self, hashes: u32) -> f64 {
        self.marker.as_ref().map_or(0.0, |(_, Cells(bits))| {
            let set = bits.iter().filter(|bit| **bit > 0).count();
            libm::pow(set as f64 / bits.len() as f64, f64::from(hashes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(cells: &[&[u32]]) -> Places {
        let mut places = Places { starts: vec![0], cells: Vec::new() };
        for key in cells {
            places.cells.extend_from_slice(key);
            places.starts.push(places.cells.len() as u32);
        }
        places
    }

    #[test]
    fn minimum_selection_raises_all_and_minimum_increase_the_smallest() {
        let (mut all, mut smallest) = (Cells::new(3), Cells::new(3));
        for at in [[0, 1], [0, 1], [1, 2]] {
            all.select(&at, 1);
            smallest.increase(&at, Raise::Smallest);
        }
        assert_eq!((all.0, smallest.0.clone()), (vec![2, 3, 1], vec![2, 2, 1]));
        smallest.increase(&[1, 2], Raise::Smallest);
        assert_eq!(smallest.0, [2, 2, 2]);
        smallest.increase(&[1], Raise::All);
        assert_eq!(smallest.0, [2, 3, 2]);
        assert!(smallest.single(&[0, 1]) && !smallest.single(&[0, 2]) && smallest.least(&[1]) == 3);
    }

    #[test]
    fn cells_of_a_key_are_different_ones() {
        let places = Places::draw(1_000, 6, 4, &mut Stream::new(1, "spectral", "places", 0));
        for key in 0..1_000 {
            let mut at = places.of(key).to_vec();
            at.sort_unstable();
            at.dedup();
            assert!(at.len() == places.of(key).len() && (1..=4).contains(&at.len()));
        }
    }

    #[test]
    fn recurring_minimum_moves_a_count_and_without_a_marker_loses_some() {
        let make = |marked: bool| Recurring {
            // Key 0 shares its first cell with key 1 and its second with key 2.
            primary: (places(&[&[0, 1], &[0, 2], &[1, 3]]), Cells::new(4)),
            secondary: (places(&[&[0], &[1], &[2]]), Cells::new(3)),
            marker: marked.then(|| (places(&[&[0], &[1], &[2]]), Cells::new(3))),
        };
        for marked in [true, false] {
            let mut filter = make(marked);
            filter.insert(0); // 1 1: recurring
            filter.insert(1); // its cells are 2 and 1: moved with 1
            assert_eq!(filter.secondary.1.0, [0, 1, 0]);
            filter.insert(0); // 3 2: single, moved with its count of 2
            assert_eq!(
                (filter.secondary.1.0.clone(), filter.estimate(0, Believe::Secondary)),
                (vec![2, 1, 0], 2)
            );
            filter.insert(2); // 3 3: key 0 recurs
            filter.insert(0); // 4 4: what the secondary cells hear of it only with a marker
            filter.insert(1); // 5 4: single again
            assert_eq!(filter.estimate(0, Believe::Smaller), if marked { 3 } else { 2 });
            assert_eq!(
                (filter.estimate(1, Believe::Smaller), filter.estimate(2, Believe::Secondary)),
                (2, 1)
            );
        }
    }
}
