//! `filter_agg(x, spec)`: the filter of all `x` that are not NULL.

use crate::accumulate::{Groups, One, Recipe};
use crate::{keys, refused};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, Volatility,
};
use datafusion::physical_expr::expressions::Literal;
use gardenia::Spec;
use std::sync::Arc;

const NAME: &str = "filter_agg";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct FilterAgg {
    signature: Signature,
}

impl FilterAgg {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// The spec of filters that are filled apart and merged.
fn spec(text: Option<&ScalarValue>) -> Result<Spec> {
    let Some(text) = text.and_then(|text| text.try_as_str().flatten()) else {
        return Err(refused(NAME, "the spec must be a constant text, such as 'blocked items=1M fpp=1%'"));
    };
    let spec: Spec = text.parse().map_err(|error| refused(NAME, format!("the spec {text:?}: {error}")))?;
    let wrong = |error| refused(NAME, format!("the spec {text:?}: {error}"));
    spec.check_mergeable().map_err(wrong)?;
    let bytes = spec.filled().and_then(|spec| spec.size()).map_err(wrong)?.file_bytes;
    if bytes > i32::MAX as u64 {
        let bytes = gardenia::spec::number::show_bytes(bytes);
        return Err(refused(
            NAME,
            format!(
                "the filter takes {bytes}, and a value in SQL holds 2 GiB at most. hint: lower items or raise fpp"
            ),
        ));
    }
    Ok(spec)
}

fn recipe(args: &AccumulatorArgs<'_>) -> Result<Recipe> {
    let constant = args.exprs.get(1).and_then(|expr| expr.downcast_ref::<Literal>());
    Recipe::of_keys(NAME, spec(constant.map(Literal::value))?)
}

/// What is wrong with a call, while the query is planned.
fn check(call: &AggregateFunction) -> Result<()> {
    if call.params.distinct {
        return Err(refused(
            NAME,
            "DISTINCT is not needed for filters of sets. hint: leave it out, or count distinct rows of a subquery",
        ));
    }
    // Casts of constants are gone by now.
    match call.params.args.get(1) {
        Some(Expr::Literal(text, _)) => spec(Some(text)).map(drop),
        _ => spec(None).map(drop),
    }
}

impl AggregateUDFImpl for FilterAgg {
    fn name(&self) -> &str {
        NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [key, text] = types else {
            let given = types.len();
            return Err(refused(
                NAME,
                format!("a key and a spec are expected, and {given} arguments are given"),
            ));
        };
        keys::check(key).map_err(|error| refused(NAME, error))?;
        match text {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(types.to_vec()),
            _ => spec(None).map(|_| Vec::new()),
        }
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[filter]", args.name), DataType::Binary, true))])
    }
    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        Some(Box::new(|call, _| {
            check(&call)?;
            Ok(Expr::AggregateFunction(call))
        }))
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::new(recipe(&args)?)))
    }
    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }
    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(recipe(&args)?)))
    }
}
