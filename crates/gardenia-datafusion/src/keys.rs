//! Arrow columns as keys: each type has the canonical bytes that [`gardenia::Key`] gives it, as in
//! Gardenia's Python package.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, new_empty_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use gardenia::{Digest, Key, KeyHasher};
use std::time::{Duration, SystemTime};

/// The digests of a column's keys; room that is used again for the next batch.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    digests: Vec<Digest>,
    nulls: Option<NullBuffer>,
}

impl Keys {
    /// Hashes a column. The message names a type that has no keys.
    pub(crate) fn hash(&mut self, column: &dyn Array, hasher: &KeyHasher) -> Result<(), String> {
        self.digests.clear();
        self.digests.resize(column.len(), Digest(0));
        digest(column, hasher, &mut self.digests)?;
        self.nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(())
    }

    /// A digest for each row; any for rows that are NULL.
    pub(crate) fn all(&self) -> &[Digest] {
        &self.digests
    }

    /// Which rows are NULL.
    pub(crate) fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// Leaves out the rows that are NULL: the digests of the others.
    pub(crate) fn without_nulls(&mut self) -> &[Digest] {
        if let Some(nulls) = self.nulls.take() {
            let mut row = 0;
            self.digests.retain(|_| {
                row += 1;
                nulls.is_valid(row - 1)
            });
        }
        &self.digests
    }
}

/// An error if values of this type have no canonical bytes.
pub(crate) fn check(data_type: &DataType) -> Result<(), String> {
    digest(new_empty_array(data_type).as_ref(), &KeyHasher::default(), &mut [])
}

/// Hashes all rows; those that are NULL get any digest.
fn digest(column: &dyn Array, hasher: &KeyHasher, digests: &mut [Digest]) -> Result<(), String> {
    match column.data_type() {
        DataType::Null => {}
        DataType::Int8 => numbers::<Int8Type>(column, hasher, digests),
        DataType::Int16 => numbers::<Int16Type>(column, hasher, digests),
        DataType::Int32 => numbers::<Int32Type>(column, hasher, digests),
        DataType::Int64 => numbers::<Int64Type>(column, hasher, digests),
        DataType::UInt8 => numbers::<UInt8Type>(column, hasher, digests),
        DataType::UInt16 => numbers::<UInt16Type>(column, hasher, digests),
        DataType::UInt32 => numbers::<UInt32Type>(column, hasher, digests),
        DataType::UInt64 => numbers::<UInt64Type>(column, hasher, digests),
        DataType::Float32 => numbers::<Float32Type>(column, hasher, digests),
        DataType::Float64 => numbers::<Float64Type>(column, hasher, digests),
        DataType::Float16 => {
            let values = column.as_primitive::<Float16Type>().values();
            each(values.iter().map(|value| f64::from(*value)), hasher, digests);
        }
        DataType::Boolean => each(column.as_boolean().values().iter(), hasher, digests),
        DataType::Utf8 => texts(column.as_string::<i32>().iter(), hasher, digests),
        DataType::LargeUtf8 => texts(column.as_string::<i64>().iter(), hasher, digests),
        DataType::Utf8View => texts(column.as_string_view().iter(), hasher, digests),
        DataType::Binary => texts(column.as_binary::<i32>().iter(), hasher, digests),
        DataType::LargeBinary => texts(column.as_binary::<i64>().iter(), hasher, digests),
        DataType::BinaryView => texts(column.as_binary_view().iter(), hasher, digests),
        DataType::FixedSizeBinary(_) => texts(column.as_fixed_size_binary().iter(), hasher, digests),
        // As instants, whatever the time zone they are shown in.
        DataType::Timestamp(unit, _) => {
            let (ticks, per_second) = match unit {
                TimeUnit::Second => (column.as_primitive::<TimestampSecondType>().values(), 1),
                TimeUnit::Millisecond => (column.as_primitive::<TimestampMillisecondType>().values(), 1_000),
                TimeUnit::Microsecond => {
                    (column.as_primitive::<TimestampMicrosecondType>().values(), 1_000_000)
                }
                TimeUnit::Nanosecond => {
                    (column.as_primitive::<TimestampNanosecondType>().values(), 1_000_000_000)
                }
            };
            each(ticks.iter().map(|ticks| moment(*ticks, per_second)), hasher, digests);
        }
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let mut values = vec![Digest(0); dictionary.values().len()];
            digest(dictionary.values().as_ref(), hasher, &mut values)?;
            // Without values all rows are NULL.
            if !values.is_empty() {
                let rows = dictionary.normalized_keys();
                digests.iter_mut().zip(rows).for_each(|(digest, row)| *digest = values[row]);
            }
        }
        other => {
            return Err(format!(
                "values of type {other} have no canonical bytes, so they are not keys. hint: cast them to text, or a date to a timestamp"
            ));
        }
    }
    Ok(())
}

/// Numbers as they lie in memory, many at a time.
fn numbers<T: ArrowPrimitiveType<Native: Key>>(
    column: &dyn Array,
    hasher: &KeyHasher,
    digests: &mut [Digest],
) {
    let values: &[T::Native] = column.as_primitive::<T>().values();
    hasher.digest_many(values, digests);
}

fn each<K: Key>(keys: impl Iterator<Item = K>, hasher: &KeyHasher, digests: &mut [Digest]) {
    digests.iter_mut().zip(keys).for_each(|(digest, key)| *digest = hasher.digest_key(&key));
}

fn texts<'a, K: AsRef<[u8]> + ?Sized + 'a>(
    keys: impl Iterator<Item = Option<&'a K>>,
    hasher: &KeyHasher,
    digests: &mut [Digest],
) {
    for (digest, key) in digests.iter_mut().zip(keys) {
        if let Some(key) = key {
            *digest = hasher.digest(key.as_ref());
        }
    }
}

/// The instant that is `ticks` ticks after 1970, or before.
fn moment(ticks: i64, per_second: i64) -> SystemTime {
    let seconds = ticks.div_euclid(per_second);
    let after = Duration::from_nanos((ticks.rem_euclid(per_second) * (1_000_000_000 / per_second)) as u64);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    match seconds < 0 {
        true => SystemTime::UNIX_EPOCH - whole + after,
        false => SystemTime::UNIX_EPOCH + whole + after,
    }
}

/// A column of one value.
pub(crate) fn one(value: &datafusion::common::ScalarValue) -> datafusion::error::Result<ArrayRef> {
    value.to_array_of_size(1)
}
