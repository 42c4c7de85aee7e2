//! `filter_union(f)`: the union of all filters that are not NULL; NULL if there is none.

use crate::accumulate::{Groups, One, Recipe};
use crate::{decoded, refused};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use std::sync::Arc;

const NAME: &str = "filter_union";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FilterUnion {
    signature: Signature,
}

impl FilterUnion {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for FilterUnion {
    fn name(&self) -> &str {
        NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [filter] = types else {
            let given = types.len();
            return Err(refused(NAME, format!("a filter is expected, and {given} arguments are given")));
        };
        decoded::check(filter).map_err(|error| refused(NAME, error))?;
        Ok(types.to_vec())
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[filter]", args.name), DataType::Binary, true))])
    }
    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::new(Recipe::of_filters(NAME))))
    }
    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }
    fn create_groups_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(Recipe::of_filters(NAME))))
    }
}
