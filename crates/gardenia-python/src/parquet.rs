//! Filters for Parquet files; `python/gardenia/parquet.py` has what people call.

use crate::errors;
use crate::filter::{Filter, Held};
use gardenia::format::parquet::NewFilter;
use gardenia::format::{ParquetFile, ParquetFilter, replace_file};
use gardenia::{AnyFilter, DecodeError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// An empty filter in the size that writers of Parquet files choose.
pub(crate) fn empty(py: Python<'_>, items: u64, fpp: f64) -> PyResult<Bound<'_, PyAny>> {
    let filter = ParquetFilter::new(items, fpp).map_err(errors::size)?;
    Filter::instance(py, None, Held::Owned(filter.into_inner().into()))
}

/// Writes a copy of a Parquet file with these filters: row group, column, filter.
pub(crate) fn add(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    filters: Vec<(u64, usize, Bound<'_, Filter>)>,
) -> PyResult<()> {
    let mut made = Vec::with_capacity(filters.len());
    for (row_group, column, filter) in filters {
        let filter = match &*filter.get().read(py)? {
            Held::Owned(AnyFilter::SplitBlock(filter)) => ParquetFilter::from_inner(filter.clone()),
            _ => {
                return Err(PyTypeError::new_err(
                    "a Parquet file holds filters of the class SplitBlockBloom",
                ));
            }
        };
        made.push((row_group, column, filter.map_err(errors::encode)?));
    }
    let new: Vec<NewFilter<'_>> = made
        .iter()
        .map(|(row_group, column, filter)| NewFilter { row_group: *row_group, column: *column, filter })
        .collect();
    py.detach(|| copy(&source, &target, &new)).map_err(|error| errors::at_path(error, &source))
}

fn copy(source: &Path, target: &Path, filters: &[NewFilter<'_>]) -> Result<(), DecodeError> {
    let mut file = ParquetFile::open(BufReader::new(File::open(source)?), &Default::default())?;
    replace_file(target, |out| file.add_filters(filters, out))
}
