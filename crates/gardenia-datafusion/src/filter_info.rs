//! `filter_info(f)`: what a filter is, as a struct; NULL if the filter is.

use crate::decoded::{self, Source};
use crate::{failed, refused};
use datafusion::arrow::array::{Array, ArrayRef, Float64Builder, StringBuilder, StructArray, UInt64Builder};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use gardenia::AnyFilter;
use std::sync::Arc;

const NAME: &str = "filter_info";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FilterInfo {
    signature: Signature,
}

impl FilterInfo {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

fn fields() -> Fields {
    let field = |(name, data_type)| Field::new(name, data_type, true);
    [
        ("kind", DataType::Utf8),
        ("spec", DataType::Utf8),
        ("planned_items", DataType::UInt64),
        ("planned_fpp", DataType::Float64),
        ("estimated_items", DataType::Float64),
        ("fpp", DataType::Float64),
        ("fill", DataType::Float64),
        ("memory_bytes", DataType::UInt64),
    ]
    .into_iter()
    .map(field)
    .collect()
}

/// The columns of the struct, in the order of its fields.
#[derive(Default)]
struct Columns {
    kind: StringBuilder,
    spec: StringBuilder,
    planned_items: UInt64Builder,
    planned_fpp: Float64Builder,
    estimated_items: Float64Builder,
    fpp: Float64Builder,
    fill: Float64Builder,
    memory_bytes: UInt64Builder,
    present: Vec<bool>,
}

/// What there is to know about a filter: much of it takes a look at all its cells.
struct Facts {
    kind: &'static str,
    spec: Option<String>,
    planned_items: Option<u64>,
    planned_fpp: Option<f64>,
    estimated_items: Option<f64>,
    fpp: f64,
    fill: f64,
    memory_bytes: u64,
}

impl Facts {
    fn of(filter: &AnyFilter) -> Self {
        let about = filter.about();
        Self {
            kind: filter.kind().name(),
            spec: filter.spec().map(|spec| spec.to_string()),
            planned_items: Some(about.planned_items()).filter(|items| *items > 0),
            planned_fpp: Some(about.planned_fpp()).filter(|fpp| *fpp > 0.0),
            estimated_items: filter.estimated_items().map(|estimate| estimate.items),
            fpp: filter.fpp(),
            fill: filter.fill(),
            memory_bytes: filter.memory_bytes() as u64,
        }
    }
}

impl Columns {
    fn push(&mut self, facts: Option<&Facts>) {
        self.kind.append_option(facts.map(|facts| facts.kind));
        self.spec.append_option(facts.and_then(|facts| facts.spec.as_deref()));
        self.planned_items.append_option(facts.and_then(|facts| facts.planned_items));
        self.planned_fpp.append_option(facts.and_then(|facts| facts.planned_fpp));
        self.estimated_items.append_option(facts.and_then(|facts| facts.estimated_items));
        self.fpp.append_option(facts.map(|facts| facts.fpp));
        self.fill.append_option(facts.map(|facts| facts.fill));
        self.memory_bytes.append_option(facts.map(|facts| facts.memory_bytes));
        self.present.push(facts.is_some());
    }

    fn finish(mut self) -> ArrayRef {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.kind.finish()),
            Arc::new(self.spec.finish()),
            Arc::new(self.planned_items.finish()),
            Arc::new(self.planned_fpp.finish()),
            Arc::new(self.estimated_items.finish()),
            Arc::new(self.fpp.finish()),
            Arc::new(self.fill.finish()),
            Arc::new(self.memory_bytes.finish()),
        ];
        Arc::new(StructArray::new(fields(), columns, Some(NullBuffer::from(self.present))))
    }
}

impl ScalarUDFImpl for FilterInfo {
    fn name(&self) -> &str {
        NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [filter] = types else {
            return Err(refused(
                NAME,
                format!("a filter is expected, and {} arguments are given", types.len()),
            ));
        };
        decoded::check(filter).map_err(|error| refused(NAME, error))?;
        Ok(types.to_vec())
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields()))
    }
    fn is_strict(&self) -> bool {
        true
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let error = |error| failed(NAME, error);
        let mut columns = Columns::default();
        match args.args.first() {
            Some(ColumnarValue::Scalar(filter)) => {
                let filter =
                    Source::of(filter).map_err(error)?.map(Source::shared).transpose().map_err(error)?;
                columns.push(filter.as_deref().map(Facts::of).as_ref());
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&columns.finish(), 0)?))
            }
            Some(ColumnarValue::Array(filters)) => {
                // One filter in many rows, as a join leaves it, is looked at once.
                let mut last: Option<(Source<'_>, Facts)> = None;
                for row in 0..filters.len() {
                    let source = Source::at(filters.as_ref(), row).map_err(error)?;
                    if let Some(source) = source
                        && !last.as_ref().is_some_and(|(known, _)| known.is(source))
                    {
                        last = Some((source, Facts::of(&source.decode().map_err(error)?)));
                    }
                    columns.push(last.as_ref().filter(|_| source.is_some()).map(|(_, facts)| facts));
                }
                Ok(ColumnarValue::Array(columns.finish()))
            }
            None => Err(failed(NAME, "a filter is expected")),
        }
    }
}
