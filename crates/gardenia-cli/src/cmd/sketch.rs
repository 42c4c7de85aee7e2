//! A Count-Min sketch on the command line: its options, and what it promises.

use crate::args::{SketchArgs, SketchForm, SketchUpdate};
use crate::human;
use crate::message::hinted;
use gardenia::cells::Memory;
use gardenia::{CellKind, CountMin, CountMinBuilder, Form, Update};

/// Without another wish: within 0.01 % of all lines, 99 times in 100.
const EPSILON: f64 = 1e-4;
const DELTA: f64 = 0.01;

/// Rows of a sketch that is given by its size.
const ROWS: u32 = 4;

impl SketchArgs {
    /// Whether any of them was given.
    pub(crate) fn any(&self) -> bool {
        let Self { epsilon, delta, columns, rows, form, update } = self;
        epsilon.is_some()
            || delta.is_some()
            || columns.is_some()
            || rows.is_some()
            || form.is_some()
            || update.is_some()
    }

    /// The builder that they describe, with cells of `width` bits and, if it is given, of a size in bits.
    pub(crate) fn builder(&self, width: Option<u32>, bits: Option<u64>) -> anyhow::Result<CountMinBuilder> {
        let width = width.unwrap_or(8);
        let Some(cells) = CellKind::from_width(width) else {
            let reason = format!("cells of a sketch have 4, 8, 32 or 64 bits, not {width}");
            return Err(hinted(reason, "--width 8 suits most streams: its cells merge when they overflow"));
        };
        let builder = CountMin::builder().cells(cells);
        let builder = builder.form(match self.form {
            Some(SketchForm::Modified) => Form::Modified,
            Some(SketchForm::Original) | None => Form::Original,
        });
        let builder = builder.update(match self.update {
            Some(SketchUpdate::Plain) => Update::Plain,
            Some(SketchUpdate::Conservative) | None => Update::Conservative,
        });
        let rows = self.rows.unwrap_or(ROWS);
        Ok(match (self.columns, bits) {
            (Some(columns), _) => builder.columns(columns).rows(rows),
            (None, Some(bits)) => builder.bytes(bits / 8).rows(rows),
            (None, None) if self.rows.is_some() => {
                return Err(hinted("--rows is given without a size", "give --columns or --bits, too"));
            }
            (None, None) => {
                builder.epsilon(self.epsilon.unwrap_or(EPSILON)).delta(self.delta.unwrap_or(DELTA))
            }
        })
    }
}

/// What a sketch promises of the counts that it tells.
pub(crate) fn promise(sketch: &CountMin<impl Memory>) -> String {
    let above = (sketch.epsilon() * sketch.total() as f64).ceil() as u64;
    format!(
        "a count is never too small, and above the truth by {} at most {} of the time",
        human::count(above),
        human::share(1.0 - sketch.delta())
    )
}

/// The rows of a sketch.
pub(crate) fn rows(sketch: &CountMin<impl Memory>) -> String {
    let (rows, columns) = (human::plural(sketch.rows().into(), "row"), human::count(sketch.columns()));
    format!("{rows} of {columns} cells")
}
