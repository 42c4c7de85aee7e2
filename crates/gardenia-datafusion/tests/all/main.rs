//! The functions in SQL, as people call them.

mod conformance;
mod files;
mod groups;
mod nulls;
mod specs;
mod types;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use gardenia::{AnyFilter, Digest, Spec};
use std::sync::Arc;

/// A context that knows the functions, and splits work among four tasks.
fn context() -> SessionContext {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    gardenia_datafusion::register_all(&ctx);
    ctx
}

/// Makes a table of columns, of which each partition gets some of the rows.
fn table(ctx: &SessionContext, name: &str, columns: Vec<(&str, ArrayRef)>, partitions: usize) {
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns.into_iter().map(|(_, column)| column).collect());
    let batch = batch.unwrap();
    let each = batch.num_rows().div_ceil(partitions).max(1);
    let parts = (0..partitions).map(|part| {
        let from = (part * each).min(batch.num_rows());
        vec![batch.slice(from, each.min(batch.num_rows() - from))]
    });
    let table = MemTable::try_new(schema, parts.collect()).unwrap();
    ctx.register_table(name, Arc::new(table)).unwrap();
}

/// All rows of a query.
async fn rows(ctx: &SessionContext, query: &str) -> Vec<RecordBatch> {
    let plan = ctx.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    plan.collect().await.unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// The value of a query of one row and one column.
async fn value(ctx: &SessionContext, query: &str) -> ScalarValue {
    let batches = rows(ctx, query).await;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).expect("a row");
    assert_eq!(
        (batches.iter().map(RecordBatch::num_rows).sum::<usize>(), batch.num_columns()),
        (1, 1),
        "{query}"
    );
    ScalarValue::try_from_array(batch.column(0), 0).unwrap()
}

/// The bytes of the filter that a query returns.
async fn filter(ctx: &SessionContext, query: &str) -> Vec<u8> {
    match value(ctx, query).await {
        ScalarValue::Binary(Some(bytes)) => bytes,
        other => panic!("{query} is {other:?}"),
    }
}

/// A column of true, false and NULL.
async fn answers(ctx: &SessionContext, query: &str) -> Vec<Option<bool>> {
    let batches = rows(ctx, query).await;
    batches.iter().flat_map(|batch| batch.column(0).as_boolean().iter().collect::<Vec<_>>()).collect()
}

/// What planning a query, and nothing more, fails with.
async fn planning_error(ctx: &SessionContext, query: &str) -> String {
    let planned = match ctx.sql(query).await {
        Ok(frame) => frame.create_physical_plan().await.map(drop),
        Err(error) => Err(error),
    };
    planned.expect_err(query).to_string()
}

/// The filter that the library builds from these keys.
fn built(spec: &str, digests: &[Digest]) -> AnyFilter {
    let mut filter = spec.parse::<Spec>().unwrap().build().unwrap();
    filter.insert_digests(digests, &mut vec![false; digests.len()]).unwrap();
    filter
}

/// `X'…'`.
fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

/// Whether the type is what a filter is in SQL.
#[tokio::test]
async fn a_filter_is_binary() {
    let ctx = context();
    let plan = ctx.sql("select filter_agg(1, 'bloom items=10') as f").await.unwrap();
    assert_eq!(plan.schema().field(0).data_type(), &DataType::Binary);
}
