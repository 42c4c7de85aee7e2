//! Count-Min, both forms, by their papers: pairwise independent functions ((a·x + b) mod 2⁶¹-1) mod
//! w, one for each row or two for all rows of a copy.

use crate::Stream;
use gardenia::index::Form as SketchForm;

/// 2⁶¹ - 1, a prime.
const PRIME: u64 = (1 << 61) - 1;

/// A function drawn from a pairwise independent family.
struct Pairwise {
    a: u64,
    b: u64,
}

impl Pairwise {
    fn draw(stream: &mut Stream) -> Self {
        Self { a: stream.below(PRIME), b: stream.below(PRIME) }
    }

    /// Of a key below 2⁶¹ - 1: a column below w, even to w/2⁶¹.
    #[inline]
    fn of(&self, key: u64, columns: u64) -> u64 {
        let product = u128::from(self.a) * u128::from(key) + u128::from(self.b);
        // Bits above the 61st count as much as those below: 2⁶¹ is 1.
        let folded = (product as u64 & PRIME) + (product >> 61) as u64;
        let folded = (folded & PRIME) + (folded >> 61);
        (if folded >= PRIME { folded - PRIME } else { folded }) % columns
    }
}

/// What may be wrong with the modified form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Nothing: row j adds j times the second function.
    #[default]
    Drawn,
    /// The second function is left out: all rows are the same.
    Missing,
}

/// The shape of a sketch.
#[derive(Clone, Copy)]
pub(crate) struct SketchSize {
    pub(crate) form: SketchForm,
    pub(crate) columns: u64,
    /// Rows of a copy.
    pub(crate) depth: u32,
    /// 1 in the original form.
    pub(crate) copies: u32,
}

/// A sketch.
pub(crate) struct CountMinSketch {
    size: SketchSize,
    step: Step,
    functions: Vec<Pairwise>,
    cells: Vec<u64>,
}

impl CountMinSketch {
    /// An empty one, with functions drawn from the stream.
    pub(crate) fn new(size: SketchSize, step: Step, stream: &mut Stream) -> Self {
        let per_copy = if size.form == SketchForm::Original { size.depth } else { 2 };
        let functions = (0..per_copy * size.copies).map(|_| Pairwise::draw(stream)).collect();
        let cells = vec![0; size.columns as usize * (size.depth * size.copies) as usize];
        Self { size, step, functions, cells }
    }

    /// Calls `visit` with the place of a key in each row.
    #[inline]
    fn rows(&self, key: u64, mut ask: impl FnMut(usize)) {
        let w = self.size.columns;
        let mut start = 0;
        let mut row = |column: u64| {
            ask((start + column) as usize);
            start += w;
        };
        if self.size.form == SketchForm::Original {
            self.functions.iter().for_each(|function| row(function.of(key, w)));
            return;
        }
        for pair in self.functions.chunks_exact(2) {
            let mut column = pair[0].of(key, w);
            let step = if self.step == Step::Missing { 0 } else { pair[1].of(key, w) };
            for _ in 0..self.size.depth {
                row(column);
                column = (column + step) % w;
            }
        }
    }

    /// Adds to the count of a key below 2⁶¹ - 1.
    pub(crate) fn add(&mut self, key: u64, weight: u64) {
        let mut cells = std::mem::take(&mut self.cells);
        self.rows(key, |at| cells[at] += weight);
        self.cells = cells;
    }

    /// Its estimate.
    pub(crate) fn estimate(&self, key: u64) -> u64 {
        let mut least = u64::MAX;
        self.rows(key, |at| least = least.min(self.cells[at]));
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mean;

    #[test]
    fn functions_are_what_long_arithmetic_says() {
        let stream = &mut Stream::new(1, "count-min", "functions", 0);
        for _ in 0..1_000 {
            let (function, key) = (Pairwise::draw(stream), stream.below(PRIME));
            let long =
                (u128::from(function.a) * u128::from(key) + u128::from(function.b)) % u128::from(PRIME);
            assert_eq!(u128::from(function.of(key, u64::MAX)), long);
            assert_eq!(u128::from(function.of(key, 23)), long % 23);
        }
        let edge = Pairwise { a: PRIME - 1, b: PRIME - 1 };
        assert_eq!((edge.of(PRIME - 1, 1 << 62), edge.of(0, 1 << 62)), (0, PRIME - 1));
    }

    #[test]
    fn rows_of_the_modified_form_are_steps_apart() {
        let size = SketchSize { form: SketchForm::Modified, columns: 7, depth: 3, copies: 2 };
        let places = |step| {
            let sketch = CountMinSketch::new(size, step, &mut Stream::new(1, "count-min", "rows", 0));
            let mut places = Vec::new();
            sketch.rows(12_345, |at| places.push(at as u64));
            places
        };
        let drawn = places(Step::Drawn);
        for copy in [&drawn[..3], &drawn[3..]] {
            let column = |row: usize| copy[row] % 7;
            assert_eq!((column(1) + 7 - column(0)) % 7, (column(2) + 7 - column(1)) % 7);
        }
        assert!(drawn.iter().zip(0..).all(|(at, row)| at / 7 == row));
        let same = places(Step::Missing);
        assert!(same[0] % 7 == same[1] % 7 && same[1] % 7 == same[2] % 7);
    }

    #[test]
    fn estimates_are_never_too_low_and_two_keys_meet_as_often_as_chance_has_it() {
        let size = SketchSize { form: SketchForm::Original, columns: 5, depth: 2, copies: 1 };
        let met = (0..2_000)
            .filter(|trial| {
                let stream = &mut Stream::new(1, "count-min", "meet", *trial);
                let mut sketch = CountMinSketch::new(size, Step::Drawn, stream);
                sketch.add(1, 10);
                sketch.add(2, 1);
                assert!(sketch.estimate(1) >= 10 && sketch.estimate(2) >= 1);
                sketch.estimate(2) > 1
            })
            .count();
        assert!(Mean::of_rate(met as u64, 2_000).errors_from(1.0 / 25.0) < 5.0);
    }
}
