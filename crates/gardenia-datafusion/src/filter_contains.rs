//! `filter_contains(f, x)`: whether `x` may be in the filter; NULL if either is.

use crate::probe::{self, Question};
use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use gardenia::{AnyFilter, Digest, Filter};
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FilterContains {
    signature: Signature,
}

impl FilterContains {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

struct Contains;

impl Question for Contains {
    const NAME: &'static str = "filter_contains";
    type Answer = bool;

    fn check(_: &AnyFilter) -> Result<(), String> {
        Ok(())
    }
    fn answer(filter: &AnyFilter, digests: &[Digest], answers: &mut [bool]) {
        filter.contains_digests(digests, answers);
    }
    fn into_array(answers: Vec<bool>, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(BooleanArray::new(BooleanBuffer::from(answers), nulls))
    }
}

impl ScalarUDFImpl for FilterContains {
    fn name(&self) -> &str {
        Contains::NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        probe::types::<Contains>(types)
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        probe::check::<Contains>(&args)?;
        Ok(Arc::new(Field::new(self.name(), DataType::Boolean, true)))
    }
    fn is_strict(&self) -> bool {
        true
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        probe::ask::<Contains>(&args)
    }
}
