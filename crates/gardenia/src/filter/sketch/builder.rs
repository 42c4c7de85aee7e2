//! What a Count-Min sketch was asked for.

use super::count_min::CountMin;
use super::grid::{self, Update};
use crate::SizeError;
use crate::cells::CellKind;
use crate::filter::Builder;
use crate::filter::builder::Built;
use crate::filter::request::Request;
use crate::index::MAX_CELLS;
use crate::index::{Form, prime};
use crate::kinds::{Ability, Kind};
use crate::plan::{Figures, Goal, sizes};
use crate::spec::{FromSpec, Measure, Param, Spec, Value};
use crate::theory::count_min::{SketchShape, fit, shape};
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub struct CountMinOptions {
    epsilon: Option<f64>,
    delta: Option<f64>,
    columns: Option<u64>,
    rows: Option<u32>,
    bytes: Option<u64>,
    copies: Option<u32>,
    form: Form,
    update: Update,
    cells: CellKind,
}

impl Built for CountMin {
    type Options = CountMinOptions;
}

impl Builder<CountMin> {
    /// How far an estimate may be above the truth, as a share of all that was counted.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.options.epsilon = Some(epsilon);
        self
    }

    /// How probable it may be that an estimate is farther above.
    pub fn delta(mut self, delta: f64) -> Self {
        self.options.delta = Some(delta);
        self
    }

    /// Cells of a row, w; the modified form takes the next prime.
    pub fn columns(mut self, columns: u64) -> Self {
        self.options.columns = Some(columns);
        self
    }

    /// Rows, d; in the modified form rows of each copy.
    pub fn rows(mut self, rows: u32) -> Self {
        self.options.rows = Some(rows);
        self
    }

    /// Memory to stay within, instead of columns.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.options.bytes = Some(bytes);
        self
    }

    /// Copies of the modified form; 1 unless set.
    pub fn copies(mut self, copies: u32) -> Self {
        self.options.copies = Some(copies);
        self
    }

    /// A function for each row (the default), or two for all.
    pub fn form(mut self, form: Form) -> Self {
        self.options.form = form;
        self
    }

    /// What happens to the cells of a key; all are raised unless set.
    pub fn update(mut self, update: Update) -> Self {
        self.options.update = update;
        self
    }

    /// What the cells are; of 32 bits unless set.
    pub fn cells(mut self, cells: CellKind) -> Self {
        self.options.cells = cells;
        self
    }

    /// The sketch's shape, before any memory is taken.
    pub fn shape(&self) -> Result<SketchShape, SizeError> {
        let conflict = |message| Err(SizeError::Conflict(message));
        match (
            self.options.epsilon,
            self.options.delta,
            self.options.columns,
            self.options.rows,
            self.options.bytes,
            self.options.copies,
        ) {
            (Some(epsilon), Some(delta), None, None, None, None) => shape(self.options.form, epsilon, delta),
            (None, None, Some(_), Some(depth), None, copies)
            | (None, None, None, Some(depth), Some(_), copies) => {
                let copies = copies.unwrap_or(1);
                if copies != 1 && self.options.form == Form::Original {
                    return conflict("the original form has no copies: give it more rows");
                }
                let rows = depth.saturating_mul(copies);
                grid::measure(self.options.cells, rows, 1)?; // the rows are refused before the columns are
                let columns = match (self.options.columns, self.options.bytes) {
                    (Some(columns), _) => fit(self.options.form, columns, depth)?,
                    (None, bytes) => self.columns_within(bytes.unwrap_or(0), rows, depth)?,
                };
                Ok(SketchShape { columns, rows, copies })
            }
            _ => conflict("give epsilon and delta, or columns and rows, or bytes and rows"),
        }
    }

    /// Memory that the cells will use, in bytes.
    pub fn memory_bytes(&self) -> Result<u64, SizeError> {
        let SketchShape { columns, rows, .. } = self.shape()?;
        grid::measure(self.options.cells, rows, columns).map(|(_, _, words)| words * 8)
    }

    /// The most columns that `bytes` have room for.
    fn columns_within(&self, bytes: u64, rows: u32, depth: u32) -> Result<u64, SizeError> {
        let fits = |columns: u64| {
            grid::measure(self.options.cells, rows, columns).is_ok_and(|(_, _, words)| words <= bytes / 8)
        };
        let (mut low, mut high) = (0, MAX_CELLS);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            (low, high) = if fits(middle) { (middle, high) } else { (low, middle - 1) };
        }
        let wanted = |columns: &u64| match self.options.form {
            Form::Original => true,
            Form::Modified => prime::is_prime(*columns) && *columns >= depth.into(),
        };
        // Gaps between primes below 2⁴⁰ are shorter than this (Nicely's tables of maximal gaps: 652 at most).
        let columns = (low.saturating_sub(1000)..=low).rev().filter(|columns| *columns > 0).find(wanted);
        columns.ok_or(SizeError::Conflict("so few bytes have no room for a cell in each row"))
    }

    /// The sketch.
    pub fn build(self) -> Result<CountMin, SizeError> {
        CountMin::with(
            self.request.hasher.clone(),
            self.options.form,
            self.options.update,
            self.options.cells,
            self.shape()?,
        )
    }
}

/// How far a count may be above the truth, as a share of all, and how often farther, where nothing
/// is asked for.
const EPSILON: f64 = 1e-4;
const DELTA: f64 = 0.01;
/// Rows of a sketch that is given by its size.
const ROWS: u32 = 4;
/// Bits of a cell: those that merge suit most streams.
const WIDTH: u32 = 8;

impl Builder<CountMin> {
    fn of(spec: &Spec) -> Result<Self, SizeError> {
        let width = spec.small(Param::Width).unwrap_or(WIDTH);
        let cells = CellKind::from_width(width);
        let bytes = spec.whole(Param::Bits).map(|bits| bits / 8);
        let columns = spec.whole(Param::Columns);
        let sized = bytes.is_some() || columns.is_some();
        let options = CountMinOptions {
            epsilon: (!sized).then(|| spec.real(Param::Epsilon).unwrap_or(EPSILON)),
            delta: (!sized).then(|| spec.real(Param::Delta).unwrap_or(DELTA)),
            columns,
            rows: sized.then(|| spec.small(Param::Rows).unwrap_or(ROWS)),
            bytes,
            copies: spec.small(Param::Copies),
            form: spec.word(Param::Form).and_then(Form::from_name).unwrap_or_default(),
            update: spec.word(Param::Update).and_then(Update::from_name).unwrap_or(Update::Conservative),
            cells: cells.ok_or(SizeError::Conflict("cells of a sketch have 4, 8, 32 or 64 bits"))?,
        };
        Ok(Self { request: Request::hashed(spec), options })
    }
}

impl FromSpec for CountMin {
    fn designs(kind: Kind, goal: &Goal<'_>) -> Vec<Result<Figures, SizeError>> {
        let stream = goal.need.is_open() || goal.has(Ability::Grow);
        let design = || match stream {
            true => sizes::stream_design(goal.need),
            false => sizes::count_min_design(goal.need, goal.items, goal.fpp, goal.within),
        };
        if goal.has(Ability::Count) { goal.if_able(kind, design) } else { Vec::new() }
    }
    fn fill_in(spec: &mut Spec) -> Result<(), SizeError> {
        let builder = Builder::<CountMin>::of(spec)?;
        let SketchShape { columns, rows, copies } = builder.shape()?;
        spec.forget(&[Param::Epsilon, Param::Delta, Param::Bits]);
        spec.set_whole(Param::Columns, columns);
        spec.set_whole(Param::Rows, rows / copies);
        if copies > 1 {
            spec.set_whole(Param::Copies, copies);
        }
        spec.default_to(Param::Form, Value::Word(builder.options.form.name()));
        spec.default_to(Param::Update, Value::Word(builder.options.update.name()));
        spec.set_whole(Param::Width, builder.options.cells.width());
        Ok(())
    }
    fn measure(spec: &Spec) -> Result<Measure, SizeError> {
        Ok(Measure::as_stored(Builder::<CountMin>::of(spec)?.memory_bytes()?, 16, None))
    }
    fn empty(spec: &Spec) -> Result<Self, SizeError> {
        Builder::<CountMin>::of(spec)?.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_that_cannot_be_are_errors() {
        let make = CountMin::builder;
        let conflict = |builder: Builder<CountMin>| matches!(builder.build(), Err(SizeError::Conflict(_)));
        assert!(conflict(make()) && conflict(make().rows(3)) && conflict(make().columns(3)));
        assert!(conflict(make().epsilon(0.1)) && conflict(make().epsilon(0.1).delta(0.1).rows(3)));
        assert!(
            conflict(make().columns(9).rows(3).bytes(99)) && conflict(make().columns(9).rows(3).copies(2))
        );
        assert!(
            conflict(make().rows(3).bytes(7)) && conflict(make().rows(5).bytes(100).form(Form::Modified))
        );
        assert_eq!(make().epsilon(1.0).delta(0.1).build().unwrap_err(), SizeError::Epsilon(1.0));
        assert_eq!(make().epsilon(0.1).delta(0.0).build().unwrap_err(), SizeError::Delta(0.0));
        assert_eq!(make().columns(0).rows(3).build().unwrap_err(), SizeError::ZeroCells);
        for rows in [0, 256, u32::MAX] {
            let builder = make().columns(9).rows(rows);
            assert_eq!(builder.build().unwrap_err(), SizeError::Hashes { hashes: rows, max: 255 });
        }
        let modified = make().form(Form::Modified).columns(9);
        assert!(matches!(modified.clone().rows(100).copies(3).build(), Err(SizeError::Hashes { .. })));
        assert!(matches!(modified.rows(1).copies(0).build(), Err(SizeError::Hashes { .. })));
        for cells in CellKind::ALL {
            let huge = make().columns(MAX_CELLS).rows(2).cells(cells);
            assert!(matches!(huge.build(), Err(SizeError::TooManyCells { .. })));
            assert!(matches!(
                make().columns(u64::MAX).rows(2).cells(cells).build(),
                Err(SizeError::TooManyCells { .. })
            ));
        }
    }

    #[test]
    fn a_budget_is_used_up_to_the_last_unit_and_never_exceeded() {
        for cells in CellKind::ALL {
            for form in [Form::Original, Form::Modified] {
                for (bytes, rows) in [(1 << 20, 4), (1_000_003, 3), (3_000, 1)] {
                    let builder = CountMin::builder().bytes(bytes).rows(rows).cells(cells).form(form);
                    let sketch = builder.clone().build().unwrap();
                    assert!(sketch.memory_bytes() as u64 <= bytes);
                    assert_eq!(builder.memory_bytes(), Ok(sketch.memory_bytes() as u64));
                    let more = CountMin::builder().columns(sketch.columns() + 1).rows(rows).cells(cells);
                    assert!(
                        more.form(form).build().unwrap().memory_bytes() as u64 > bytes,
                        "{cells}, {bytes}"
                    );
                }
            }
        }
    }
}
