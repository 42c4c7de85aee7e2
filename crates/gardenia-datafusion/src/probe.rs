//! Asking filters: what `filter_contains` and `filter_count` have in common.

use crate::decoded::{self, Source};
use crate::keys::{self, Keys};
use crate::{failed, refused};
use datafusion::arrow::array::{Array, ArrayRef, NullBufferBuilder};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs};
use gardenia::{AnyFilter, Digest};

/// A question to a filter: its answers are of one type.
pub(crate) trait Question {
    /// The function.
    const NAME: &'static str;
    type Answer: Clone + Default;

    /// An error if the filter cannot be asked that.
    fn check(filter: &AnyFilter) -> Result<(), String>;
    /// The answers for all keys in order. The filter was checked.
    fn answer(filter: &AnyFilter, digests: &[Digest], answers: &mut [Self::Answer]);
    fn into_array(answers: Vec<Self::Answer>, nulls: Option<NullBuffer>) -> ArrayRef;
}

/// The types of the arguments, which stay as they are: a filter, and a key.
pub(crate) fn types<Q: Question>(types: &[DataType]) -> Result<Vec<DataType>> {
    let [filter, key] = types else {
        return Err(refused(
            Q::NAME,
            format!("a filter and a key are expected, and {} arguments are given", types.len()),
        ));
    };
    decoded::check(filter).and_then(|()| keys::check(key)).map_err(|error| refused(Q::NAME, error))?;
    Ok(types.to_vec())
}

/// An error if the filter is a constant that cannot be asked. One that comes by path is opened
/// where the query runs.
pub(crate) fn check<Q: Question>(args: &ReturnFieldArgs<'_>) -> Result<()> {
    let constant = args.scalar_arguments.first().copied().flatten();
    match constant.map(Source::of).transpose().map_err(|error| refused(Q::NAME, error))?.flatten() {
        Some(source @ Source::Bytes(_)) => {
            let filter = source.shared().map_err(|error| refused(Q::NAME, error))?;
            Q::check(&filter).map_err(|error| refused(Q::NAME, error))
        }
        _ => Ok(()),
    }
}

/// Answers a batch.
pub(crate) fn ask<Q: Question>(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let [filters, keys] = args.args.as_slice() else {
        return Err(failed(Q::NAME, "a filter and a key are expected"));
    };
    match filters {
        ColumnarValue::Scalar(filter) => {
            let Some(source) = Source::of(filter).map_err(|error| failed(Q::NAME, error))? else {
                return Ok(ColumnarValue::Scalar(ScalarValue::try_from(args.return_type())?));
            };
            let filter = source.shared().and_then(checked::<Q, _>).map_err(|error| failed(Q::NAME, error))?;
            match keys {
                ColumnarValue::Scalar(key) => {
                    let answers = column::<Q>(&filter, keys::one(key)?.as_ref())?;
                    Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?))
                }
                ColumnarValue::Array(keys) => Ok(ColumnarValue::Array(column::<Q>(&filter, keys.as_ref())?)),
            }
        }
        ColumnarValue::Array(filters) => {
            let keys = keys.to_array(args.number_rows)?;
            Ok(ColumnarValue::Array(rows::<Q>(filters.as_ref(), keys.as_ref())?))
        }
    }
}

fn checked<Q: Question, F: AsRef<AnyFilter>>(filter: F) -> Result<F, String> {
    Q::check(filter.as_ref())?;
    Ok(filter)
}

/// Asks one filter for all keys of a column.
fn column<Q: Question>(filter: &AnyFilter, keys: &dyn Array) -> Result<ArrayRef> {
    let mut hashed = Keys::default();
    hashed.hash(keys, filter.hasher()).map_err(|error| failed(Q::NAME, error))?;
    let mut answers = vec![Q::Answer::default(); keys.len()];
    Q::answer(filter, hashed.all(), &mut answers);
    Ok(Q::into_array(answers, hashed.nulls().cloned()))
}

/// Asks the filter of each row for the key of the row. Rows in a row with one filter are asked
/// together.
fn rows<Q: Question>(filters: &dyn Array, keys: &dyn Array) -> Result<ArrayRef> {
    let error = |error| failed(Q::NAME, error);
    let source = |row| Source::at(filters, row).map_err(error);
    let rows = keys.len();
    let mut hashed = Keys::default();
    let mut answers = vec![Q::Answer::default(); rows];
    let mut nulls = NullBufferBuilder::new(rows);
    let mut from = 0;
    while from < rows {
        let first = source(from)?;
        let mut to = from + 1;
        while to < rows
            && match (first, source(to)?) {
                (Some(first), Some(next)) => first.is(next),
                (None, None) => true,
                _ => false,
            }
        {
            to += 1;
        }
        if let Some(first) = first {
            // A column of one filter is a constant in disguise: the next batch will have it, too.
            let filter =
                if (from, to) == (0, rows) { first.shared() } else { first.decode().map(Into::into) };
            let filter = filter.and_then(checked::<Q, _>).map_err(error)?;
            hashed.hash(keys.slice(from, to - from).as_ref(), filter.hasher()).map_err(error)?;
            Q::answer(&filter, hashed.all(), &mut answers[from..to]);
            match hashed.nulls() {
                Some(null) => nulls.append_buffer(null),
                None => nulls.append_n_non_nulls(to - from),
            }
        } else {
            nulls.append_n_nulls(to - from);
        }
        from = to;
    }
    Ok(Q::into_array(answers, nulls.finish()))
}
