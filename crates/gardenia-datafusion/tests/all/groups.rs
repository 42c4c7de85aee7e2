//! GROUP BY, FILTER and windows.

use crate::{built, context, filter, rows, table, value};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::ScalarValue;
use datafusion::prelude::{SessionConfig, SessionContext};
use gardenia::{Digest, KeyHasher};
use std::sync::Arc;

const SPEC: &str = "blocked items=10";

fn digests(keys: impl IntoIterator<Item = i64>) -> Vec<Digest> {
    keys.into_iter().map(|key| KeyHasher::default().digest_key(&key)).collect()
}

/// 300,000 rows: group g has the keys 3·g, 3·g + 1 and 3·g + 2, far apart in the table.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let group = Int64Array::from_iter_values((0..300_000).map(|row| row % 100_000));
    let key = Int64Array::from_iter_values((0..300_000).map(|row| 3 * (row % 100_000) + row / 100_000));
    vec![("g", Arc::new(group)), ("x", Arc::new(key))]
}

#[tokio::test]
async fn a_hundred_thousand_groups_have_a_filter_each() {
    // Once by two stages, once by rows that are passed on without a first stage.
    for skip in [false, true] {
        let config = SessionConfig::new().with_target_partitions(4);
        let config = match skip {
            true => config
                .set_usize("datafusion.execution.skip_partial_aggregation_probe_rows_threshold", 1)
                .set_str("datafusion.execution.skip_partial_aggregation_probe_ratio_threshold", "0.0"),
            false => config,
        };
        let ctx = SessionContext::new_with_config(config);
        gardenia_datafusion::register_all(&ctx);
        table(&ctx, "t", columns(), 3);
        let batches = rows(&ctx, &format!("select g, filter_agg(x, '{SPEC}') from t group by g")).await;
        let mut seen = 0;
        for batch in &batches {
            let (groups, filters) =
                (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_binary::<i32>());
            for row in 0..batch.num_rows() {
                let g = groups.value(row);
                if g % 97 == 0 {
                    let expected = built(SPEC, &digests(3 * g..3 * g + 3)).to_bytes().unwrap();
                    assert_eq!(filters.value(row), expected, "group {g}");
                }
                seen += 1;
            }
        }
        assert_eq!(seen, 100_000);
        // Each group finds its own keys, and the union of all filters all keys of them.
        let query = format!(
            "select count(*) from t join (select g, filter_agg(x, '{SPEC}') as f from t group by g) as u on t.g = u.g \
             where filter_contains(f, x)"
        );
        assert_eq!(value(&ctx, &query).await, ScalarValue::Int64(Some(300_000)));
    }
}

#[tokio::test]
async fn groups_of_many_keys_become_filters() {
    let ctx = context();
    table(&ctx, "t", columns(), 3);
    // 30,000 keys per group: more than are kept as digests.
    let query =
        "select g % 10 as m, filter_agg(x, 'blocked items=30000') as f from t group by g % 10 order by 1";
    let batches = rows(&ctx, query).await;
    let filters: Vec<Vec<u8>> = batches
        .iter()
        .flat_map(|b| b.column(1).as_binary::<i32>().iter().flatten().map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    assert_eq!(filters.len(), 10);
    for (m, filter) in filters.iter().enumerate() {
        let keys = (m as i64..100_000).step_by(10).flat_map(|g| 3 * g..3 * g + 3);
        assert_eq!(*filter, built("blocked items=30000", &digests(keys)).to_bytes().unwrap(), "{m}");
    }
    let union = filter(&ctx, &format!("select filter_union(f) from ({query})")).await;
    assert_eq!(union, built("blocked items=30000", &digests(0..300_000)).to_bytes().unwrap());
    let by_group =
        format!("select filter_union(f) from (select filter_union(f) as f from ({query}) group by m % 2)");
    assert_eq!(filter(&ctx, &by_group).await, union);
}

#[tokio::test]
async fn conditions_and_windows_are_those_of_other_aggregates() {
    let ctx = context();
    table(&ctx, "t", columns(), 3);
    let even = filter(
        &ctx,
        "select filter_agg(x, 'bloom items=1000') filter (where x % 2 = 0) from t where x < 100",
    )
    .await;
    assert_eq!(even, built("bloom items=1000", &digests((0..100).step_by(2))).to_bytes().unwrap());
    let grouped = "select filter_agg(x, 'bloom items=1000') filter (where x % 2 = 0) from t where x < 100 group by x % 1";
    assert_eq!(filter(&ctx, grouped).await, even);
    let grouped = "select filter_union(f) filter (where x % 2 = 0) from \
                   (select x, filter_agg(x, 'bloom items=1000') as f from t where x < 100 group by x) group by x % 1";
    assert_eq!(filter(&ctx, grouped).await, even);
    // What came before: the running filter of a stream.
    let running = "select filter_contains(lag(f) over (order by n), x) as seen from \
                   (select n, x, filter_agg(x, 'bloom items=100 fpp=1e-6') over (order by n) as f \
                    from (values (1, 7), (2, 8), (3, 7), (4, 9)) as t(n, x)) order by n";
    let batches = rows(&ctx, running).await;
    let seen: Vec<Option<bool>> =
        batches.iter().flat_map(|b| b.column(0).as_boolean().iter().collect::<Vec<_>>()).collect();
    assert_eq!(seen, [None, Some(false), Some(true), Some(false)]);
    assert!(batches.iter().all(|batch| batch.column(0).len() == batch.num_rows()));
}
