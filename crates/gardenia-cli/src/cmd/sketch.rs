//! What a Count-Min sketch promises.

use crate::human;
use gardenia::CountMin;
use gardenia::cells::Memory;

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
