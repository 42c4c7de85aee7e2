//! Filters in SQL: functions for [DataFusion](datafusion) that build Bloom filters and their
//! relatives, merge them and ask them.
//!
//! | function | returns |
//! |---|---|
//! | `filter_agg(x, spec)` | aggregate: the filter of all `x` that are not NULL |
//! | `filter_union(f)` | aggregate: the union of all filters that are not NULL |
//! | `filter_contains(f, x)` | whether `x` may be in the filter |
//! | `filter_count(f, x)` | how often `x` went in, by the filter's estimate |
//! | `filter_info(f)` | kind, spec, size and fill of the filter |
//!
//! A filter is a value of type `Binary`: the bytes of a `.gdn` file, the same as every other
//! Gardenia program reads and writes. A text in its place is the path of such a file.
//! docs/datafusion.md in the repository is the guide.
//!
//! ```
//! # use datafusion::prelude::*;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let ctx = SessionContext::new();
//! gardenia_datafusion::register_all(&ctx);
//! let rows = ctx
//!     .sql(
//!         "with seen(id) as (values (1), (2), (3))
//!          select filter_contains((select filter_agg(id, 'blocked items=1000') from seen), 2) as found",
//!     )
//!     .await?
//!     .collect()
//!     .await?;
//! assert!(datafusion::arrow::util::pretty::pretty_format_batches(&rows)?.to_string().contains("true"));
//! # Ok(())
//! # }
//! ```

mod accumulate;
mod decoded;
mod filter_agg;
mod filter_contains;
mod filter_count;
mod filter_info;
mod filter_union;
mod keys;
mod probe;

pub use decoded::decodes;

use datafusion::error::DataFusionError;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// Makes all functions known to a context.
pub fn register_all(ctx: &SessionContext) {
    aggregates().into_iter().for_each(|function| ctx.register_udaf(function.as_ref().clone()));
    scalars().into_iter().for_each(|function| ctx.register_udf(function.as_ref().clone()));
}

/// The aggregate functions, for engines that have a registry of their own.
#[must_use]
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    vec![
        Arc::new(AggregateUDF::new_from_impl(filter_agg::FilterAgg::new())),
        Arc::new(AggregateUDF::new_from_impl(filter_union::FilterUnion::new())),
    ]
}

/// The scalar functions, for engines that have a registry of their own.
#[must_use]
pub fn scalars() -> Vec<Arc<ScalarUDF>> {
    vec![
        Arc::new(ScalarUDF::new_from_impl(filter_contains::FilterContains::new())),
        Arc::new(ScalarUDF::new_from_impl(filter_count::FilterCount::new())),
        Arc::new(ScalarUDF::new_from_impl(filter_info::FilterInfo::new())),
    ]
}

/// An error of a function, which a message begins with.
fn failed(function: &str, error: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::Execution(format!("{function}: {error}"))
}

/// An error that is found while a query is planned.
fn refused(function: &str, error: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::Plan(format!("{function}: {error}"))
}
