//! How fast are the functions, compared with what DataFusion does exactly?
//!
//! ```sh
//! cargo run --profile bench-engines --example bench [-- ROWS [ROUNDS]]
//! ```
//!
//! Two goals: a filter finds the 1 % of rows that match at least three times as fast as a
//! semi-join, and is built at least 1.5 times as fast as distinct keys are counted. Rounds
//! alternate between the queries, and the median of the ratios counts.

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;
use std::time::Instant;

/// Keys that have nothing to do with each other: the numbers of SplitMix64.
fn key(n: u64) -> i64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as i64
}

/// A table of keys in two parts, a task for each core.
fn table(ctx: &SessionContext, name: &str, keys: impl Iterator<Item = u64>) -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
    let keys: Vec<i64> = keys.map(key).collect();
    let batch = |keys: &[i64]| {
        let column: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        RecordBatch::try_new(schema.clone(), vec![column])
    };
    let parts = keys.chunks(keys.len().div_ceil(2));
    let parts = parts.map(|part| Ok(part.chunks(8192).map(batch).collect::<Result<_, _>>()?));
    let parts = parts.collect::<Result<Vec<Vec<RecordBatch>>>>()?;
    ctx.register_table(name, Arc::new(MemTable::try_new(schema, parts)?))?;
    Ok(())
}

/// Seconds of a query, and the number that it returns.
async fn time(ctx: &SessionContext, query: &str) -> Result<(f64, i64)> {
    let start = Instant::now();
    let rows = ctx.sql(query).await?.collect().await?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((seconds, rows[0].column(0).as_primitive::<Int64Type>().value(0)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let (rows, rounds) = (args.next().unwrap_or(10_000_000), args.next().unwrap_or(7));
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    gardenia_datafusion::register_all(&ctx);
    table(&ctx, "t", 0..rows)?;
    // Every hundredth row matches one of `few`, and of `many`, nine tenths of whose keys match nothing.
    table(&ctx, "few", (0..rows).step_by(100))?;
    table(&ctx, "many", (0..rows).step_by(100).chain(rows..rows + rows / 100 * 9))?;

    let few = format!("blocked items={} fpp=1%", rows / 100);
    let many = format!("blocked items={} fpp=1%", rows / 10);
    let all = format!("blocked items={rows} fpp=1%");
    let pairs = [
        (
            "find 1 % of the rows, table of 1 %",
            3.0,
            "select count(*) from t where x in (select x from few)".to_owned(),
            format!(
                "select count(*) from t where filter_contains((select filter_agg(x, '{few}') from few), x)"
            ),
        ),
        (
            "find 1 % of the rows, table of 10 %",
            3.0,
            "select count(*) from t where x in (select x from many)".to_owned(),
            format!(
                "select count(*) from t where filter_contains((select filter_agg(x, '{many}') from many), x)"
            ),
        ),
        (
            "build from all rows",
            1.5,
            "select count(distinct x) from t".to_owned(),
            format!("select cast(filter_info(filter_agg(x, '{all}'))['estimated_items'] as bigint) from t"),
        ),
    ];
    println!("{rows} rows, {rounds} rounds, medians\n");
    println!("| question | exact, s | filter, s | ratio | goal |  |\n|---|---|---|---|---|---|");
    for (name, goal, exact, filter) in pairs {
        let (mut exact_s, mut filter_s, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (e, exactly) = time(&ctx, &exact).await?;
            let (f, about) = time(&ctx, &filter).await?;
            // 1 % of rows that do not match are let through; an estimate is nearer than that.
            let most = exactly as f64 + rows as f64 * 0.011;
            assert!(about as f64 >= exactly as f64 * 0.99 && (about as f64) < most, "{exactly} {about}");
            exact_s.push(e);
            filter_s.push(f);
            ratios.push(e / f);
        }
        let ratio = median(ratios);
        let met = if ratio >= goal { "met" } else { "missed" };
        println!(
            "| {name} | {:.3} | {:.3} | {ratio:.2} | {goal} | {met} |",
            median(exact_s),
            median(filter_s)
        );
    }
    Ok(())
}
