//! Filters of fingerprints: short hashes of keys, kept as they are.

pub(super) mod cuckoo;
pub(super) mod quotient;

use crate::filter::request::Request;
use crate::spec::{DEFAULT_FPP, Param, Spec, Value};

/// What a spec asks of a table of fingerprints, and how wide they are.
fn requested(spec: &Spec) -> (Request, Option<u32>) {
    let (cells, width) = (spec.whole(Param::Cells), spec.small(Param::Width));
    let fpp = spec.real(Param::Fpp).or((width.is_none() && cells.is_none()).then_some(DEFAULT_FPP));
    let (items, hasher) = (spec.whole(Param::Items), spec.hasher());
    (Request { items, fpp, cells, hasher, ..Request::default() }, width)
}

/// Puts the shape of a table into a spec, and the rate it was planned for.
fn fill_in(spec: &mut Spec, fpp: Option<f64>, cells: u64, width: u32) {
    spec.forget(&[Param::Fpp]);
    if let Some(fpp) = fpp {
        spec.default_to(Param::PlannedFpp, Value::Real(fpp));
    }
    spec.set_whole(Param::Cells, cells);
    spec.set_whole(Param::Width, width);
}
