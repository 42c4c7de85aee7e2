//! `filter_count(f, x)`: how often `x` went into the filter, by its estimate; NULL if either is.

use crate::probe::{self, Question};
use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use gardenia::{Ability, AnyFilter, Digest, Kind};
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FilterCount {
    signature: Signature,
}

impl FilterCount {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

struct Counts;

impl Question for Counts {
    const NAME: &'static str = "filter_count";
    type Answer = u64;

    fn check(filter: &AnyFilter) -> Result<(), String> {
        if filter.as_count().is_some() {
            return Ok(());
        }
        let able = |kind: &Kind| kind.can(Ability::Count) && kind.can(Ability::Merge) && kind.holds_keys();
        let able: Vec<&str> = Kind::ALL.into_iter().filter(able).map(Kind::name).collect();
        let (kind, able) = (filter.kind().name(), able.join(", "));
        Err(format!("a filter of kind {kind} does not count its keys. hint: build it as one of {able}"))
    }
    fn answer(filter: &AnyFilter, digests: &[Digest], answers: &mut [u64]) {
        if let Some(counts) = filter.as_count() {
            counts.count_digests(digests, answers);
        }
    }
    fn into_array(answers: Vec<u64>, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(UInt64Array::new(answers.into(), nulls))
    }
}

impl ScalarUDFImpl for FilterCount {
    fn name(&self) -> &str {
        Counts::NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        probe::types::<Counts>(types)
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt64)
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        probe::check::<Counts>(&args)?;
        Ok(Arc::new(Field::new(self.name(), DataType::UInt64, true)))
    }
    fn is_strict(&self) -> bool {
        true
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        probe::ask::<Counts>(&args)
    }
}
