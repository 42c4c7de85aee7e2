//! NULLs, no rows and one row.

use crate::{answers, built, context, filter, hex, table, value};
use datafusion::arrow::array::{BinaryArray, Int64Array};
use datafusion::common::ScalarValue;
use gardenia::KeyHasher;
use std::sync::Arc;

#[tokio::test]
async fn nulls_are_no_keys_and_have_no_answer() {
    let ctx = context();
    let empty = built("bloom items=10", &[]).to_bytes().unwrap();
    let filter_of =
        |rows: &str| format!("select filter_agg(x, 'bloom items=10') from (values {rows}) as t(x)");
    assert_eq!(filter(&ctx, &filter_of("(null), (null)")).await, empty);
    assert_eq!(filter(&ctx, &filter_of("(1), (null)")).await, filter(&ctx, &filter_of("(1)")).await);
    for query in
        ["filter_contains({}, null)", "filter_contains(null, 1)", "filter_contains({}, cast(null as bigint))"]
    {
        let query = format!("select {}", query.replace("{}", &hex(&empty)));
        assert_eq!(value(&ctx, &query).await, ScalarValue::Boolean(None), "{query}");
    }
    let counting = hex(&built("counting items=10", &[]).to_bytes().unwrap());
    assert_eq!(
        value(&ctx, &format!("select filter_count({counting}, null)")).await,
        ScalarValue::UInt64(None)
    );
    assert_eq!(
        value(&ctx, &format!("select filter_count({counting}, 7)")).await,
        ScalarValue::UInt64(Some(0))
    );
    assert!(value(&ctx, "select filter_info(null)").await.is_null());
}

#[tokio::test]
async fn no_rows_are_the_empty_filter_and_no_filters_are_null() {
    let ctx = context();
    table(&ctx, "t", vec![("x", Arc::new(Int64Array::from(Vec::<i64>::new())))], 2);
    let empty = built("blocked items=1000", &[]);
    let found = filter(&ctx, "select filter_agg(x, 'blocked items=1000') from t").await;
    assert_eq!(found, empty.to_bytes().unwrap());
    let query = "select filter_contains((select filter_agg(x, 'blocked items=1000') from t), 1)";
    assert_eq!(answers(&ctx, query).await, [Some(false)]);
    let none =
        "select filter_union(f) from (select filter_agg(x, 'blocked items=1000') as f from t group by x)";
    assert_eq!(value(&ctx, none).await, ScalarValue::Binary(None));
    let query = format!("select filter_contains({}, x) from t", hex(&found));
    assert!(answers(&ctx, &query).await.is_empty());
}

#[tokio::test]
async fn one_row_is_one_key() {
    let ctx = context();
    let digest = KeyHasher::default().digest_key(&7);
    let expected = built("sbbf items=1000", &[digest]).to_bytes().unwrap();
    assert_eq!(filter(&ctx, "select filter_agg(7, 'sbbf items=1000')").await, expected);
    assert_eq!(filter(&ctx, &format!("select filter_union({})", hex(&expected))).await, expected);
}

#[tokio::test]
async fn filters_of_a_column_answer_for_their_rows() {
    let ctx = context();
    let of = |seed: u64, key: i64| {
        let spec = format!("bloom items=10 fpp=1e-6 seed={seed}");
        built(&spec, &[KeyHasher::xxh3(seed).digest_key(&key)]).to_bytes().unwrap()
    };
    let (one, two) = (of(1, 1), of(2, 2));
    let column = [Some(&one), Some(&one), Some(&two), None, Some(&two), Some(&one)];
    let column = BinaryArray::from(column.map(|filter| filter.map(Vec::as_slice)).to_vec());
    let keys = Int64Array::from(vec![Some(1), Some(2), Some(2), Some(1), None, Some(1)]);
    table(&ctx, "t", vec![("f", Arc::new(column)), ("x", Arc::new(keys))], 1);
    let expected = [Some(true), Some(false), Some(true), None, None, Some(true)];
    assert_eq!(answers(&ctx, "select filter_contains(f, x) from t").await, expected);
    let expected = [Some(true), Some(true), Some(false), None, Some(false), Some(true)];
    assert_eq!(answers(&ctx, "select filter_contains(f, 1) from t").await, expected);
    let kinds = "select filter_info(f)['kind'] is null from t";
    assert_eq!(answers(&ctx, kinds).await, [false, false, false, true, false, false].map(Some));
}
