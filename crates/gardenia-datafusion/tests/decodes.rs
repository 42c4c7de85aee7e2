//! A filter that is a constant of a query is decoded once. Alone in its process, because decodes
//! are counted for all of it.

use datafusion::arrow::array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::Expr;
use datafusion::prelude::{SessionConfig, SessionContext, col};
use gardenia_datafusion::decodes;
use std::sync::Arc;

#[tokio::test]
async fn a_constant_is_decoded_once_and_not_once_per_batch() {
    // 40 batches in four tasks.
    let config = SessionConfig::new().with_target_partitions(4).with_batch_size(100);
    let ctx = SessionContext::new_with_config(config);
    gardenia_datafusion::register_all(&ctx);
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
    let batch = |from: i64| {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + 100));
        RecordBatch::try_new(schema.clone(), vec![column]).unwrap()
    };
    let parts = (0..4).map(|part| (0..10).map(|at| batch(1000 * part + 100 * at)).collect()).collect();
    ctx.register_table("t", Arc::new(MemTable::try_new(schema.clone(), parts).unwrap())).unwrap();

    let one = async |query: &str| {
        let batches = ctx.sql(query).await.unwrap().collect().await.unwrap();
        ScalarValue::try_from_array(batches[0].column(0), 0).unwrap()
    };
    let decoded = |before: u64| decodes() - before;

    // Four partial states are merged into one: each is decoded once.
    let before = decodes();
    let ScalarValue::Binary(Some(bytes)) = one("select filter_agg(x, 'blocked items=100000') from t").await
    else {
        panic!("no filter")
    };
    assert!(decoded(before) <= 4, "{}", decoded(before));

    // A literal of SQL.
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let before = decodes();
    assert_eq!(
        one(&format!("select count(*) from t where filter_contains(X'{digits}', x)")).await,
        ScalarValue::Int64(Some(4000))
    );
    assert_eq!(decoded(before), 1);

    // The same constant in another query, by the interface for programs: known already.
    let function = gardenia_datafusion::scalars().remove(0);
    let constant = Expr::Literal(ScalarValue::Binary(Some(bytes.clone())), None);
    let frame = ctx.table("t").await.unwrap().filter(function.call(vec![constant, col("x")])).unwrap();
    let before = decodes();
    assert_eq!(frame.count().await.unwrap(), 4000);
    assert_eq!(decoded(before), 0);

    // A path.
    let there = tempfile::tempdir().unwrap();
    let path = there.path().join("f.gdn");
    std::fs::write(&path, &bytes).unwrap();
    let before = decodes();
    let query = format!("select count(*) from t where filter_contains('{}', x)", path.display());
    assert_eq!(one(&query).await, ScalarValue::Int64(Some(4000)));
    assert_eq!(decoded(before), 1);

    // A subquery, and a column that is the same in all rows, as Ballista plans subqueries.
    let other =
        one("select filter_agg(x, 'blocked items=100000') from t where x < 4000 and x >= 0 and x <> 7").await;
    let ScalarValue::Binary(Some(other)) = other else { panic!("no filter") };
    let column: ArrayRef = Arc::new(BinaryArray::from(vec![other.as_slice()]));
    assert_eq!(column.len(), 1);
    let batch = RecordBatch::try_from_iter([("f", column)]).unwrap();
    ctx.register_batch("f", batch).unwrap();
    let before = decodes();
    assert_eq!(
        one("select count(*) from t where filter_contains((select f from f), x)").await,
        ScalarValue::Int64(Some(3999 + i64::from(found(&other, 7))))
    );
    assert_eq!(decoded(before), 1);
    let before = decodes();
    assert_eq!(
        one("select count(*) from t cross join f where filter_contains(f, x)").await,
        ScalarValue::Int64(Some(3999 + i64::from(found(&other, 7))))
    );
    assert_eq!(decoded(before), 0);

    // Asked what it is, beside each row of a batch: once for each.
    let before = decodes();
    let query = "select count(distinct filter_info(f)['estimated_items']) from t cross join f";
    assert_eq!(one(query).await, ScalarValue::Int64(Some(1)));
    assert!((1..=40).contains(&decoded(before)), "{}", decoded(before));
}

fn found(filter: &[u8], key: i64) -> bool {
    gardenia::AnyFilter::from_bytes(filter).unwrap().contains(key)
}
