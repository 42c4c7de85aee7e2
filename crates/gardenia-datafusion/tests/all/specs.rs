//! What is refused, and when: before any row is read.

use crate::{built, context, hex, planning_error};
use gardenia::{Ability, Kind};

#[tokio::test]
async fn a_wrong_spec_names_the_option_while_planning() {
    let ctx = context();
    for (spec, expected) in [
        ("bloom items=1M width=4", "a filter of kind bloom has no width"),
        ("bloom items=1M fpp=2", "fpp is \"2\""),
        ("bloom items=lots", "items is \"lots\""),
        ("bloom", "give items, the number of keys"),
        ("rose items=1M", "no kind of filter is called \"rose\""),
        ("bloom itmes=1M", "no option is called \"itmes\""),
        ("bloom items=1M bits=1K fpp=1%", "bits and fpp are both given"),
        ("bloom items=10G", "a value in SQL holds 2 GiB at most"),
    ] {
        for query in [
            format!("select filter_agg(x, '{spec}') from (values (1)) as t(x)"),
            format!("select x, filter_agg(x, '{spec}') from (values (1)) as t(x) group by x"),
        ] {
            let error = planning_error(&ctx, &query).await;
            assert!(error.contains(expected), "{query}: {error}");
        }
    }
    // DataFusion has no place to check the constants of windows: they are checked when the query starts.
    let window = "select filter_agg(x, 'bloom items=1M width=4') over () from (values (1)) as t(x)";
    let error = ctx.sql(window).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("a filter of kind bloom has no width"), "{error}");
    for query in [
        "select filter_agg(x, s) from (values (1, 'bloom items=10')) as t(x, s)",
        "select filter_agg(x, 7) from (values (1)) as t(x)",
        "select filter_agg(x, null) from (values (1)) as t(x)",
    ] {
        let error = planning_error(&ctx, query).await;
        assert!(error.contains("the spec must be a constant text"), "{query}: {error}");
    }
    let error =
        planning_error(&ctx, "select filter_agg(distinct x, 'bloom items=9') from (values (1)) as t(x)")
            .await;
    assert!(error.contains("DISTINCT"), "{error}");
    let error = planning_error(&ctx, "select filter_agg(1)").await;
    assert!(error.contains("a key and a spec are expected"), "{error}");
}

#[tokio::test]
async fn kinds_that_cannot_be_merged_are_refused_while_planning() {
    let ctx = context();
    let mut refused = 0;
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.can(Ability::Merge)) {
        let query = format!("select filter_agg(x, '{} items=100') from (values (1)) as t(x)", kind.name());
        let error = planning_error(&ctx, &query).await;
        let reasons = ["that were filled apart cannot be merged", "is built from all its keys at once"];
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{query}: {error}");
        refused += 1;
    }
    assert!(refused > 10);
    for spec in ["spectral-rm items=100", "choice items=100 effort=rounds"] {
        let query = format!("select filter_agg(x, '{spec}') from (values (1)) as t(x)");
        let error = planning_error(&ctx, &query).await;
        assert!(
            error.contains("cannot be merged") || error.contains("all its keys at once"),
            "{query}: {error}"
        );
    }
}

#[tokio::test]
async fn a_constant_that_cannot_answer_is_refused_while_planning() {
    let ctx = context();
    let bloom = hex(&built("bloom items=10", &[]).to_bytes().unwrap());
    let error =
        planning_error(&ctx, &format!("select filter_count({bloom}, x) from (values (1)) as t(x)")).await;
    assert!(
        error.contains("a filter of kind bloom does not count its keys. hint: build it as one of counting"),
        "{error}"
    );
    let error = planning_error(&ctx, "select filter_contains(X'0102', x) from (values (1)) as t(x)").await;
    assert!(error.contains("the bytes are no filter"), "{error}");
    let damaged = bloom.replace("X'8947", "X'8948");
    let error =
        planning_error(&ctx, &format!("select filter_contains({damaged}, x) from (values (1)) as t(x)"))
            .await;
    assert!(error.contains("the bytes are no filter"), "{error}");
}

#[tokio::test]
async fn filters_of_two_specs_are_not_merged() {
    let ctx = context();
    let of = |spec: &str| hex(&built(spec, &[]).to_bytes().unwrap());
    let union =
        |one: String, two: String| format!("select filter_union(f) from (values ({one}), ({two})) as t(f)");
    let frame = ctx.sql(&union(of("bloom items=10"), of("bloom items=1000"))).await.unwrap();
    let error = frame.collect().await.unwrap_err().to_string();
    assert!(
        error.contains("filter_union: ")
            && error.contains("hint: merge filters that were built with one spec"),
        "{error}"
    );
    let frame = ctx.sql(&union(of("cuckoo items=10"), of("cuckoo items=10"))).await.unwrap();
    let error = frame.collect().await.unwrap_err().to_string();
    assert!(error.contains("filters of kind cuckoo cannot be merged"), "{error}");
}

#[tokio::test]
async fn a_full_filter_is_an_error() {
    let ctx = context();
    let frame =
        ctx.sql("select filter_agg(value, 'quotient items=10') from generate_series(1, 5000)").await.unwrap();
    let error = frame.collect().await.unwrap_err().to_string();
    assert!(error.contains("filter_agg: ") && error.contains("hint: raise items"), "{error}");
}
