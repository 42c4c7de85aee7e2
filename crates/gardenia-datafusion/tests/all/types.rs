//! Every Arrow type that has canonical bytes, with every function: the list of docs/datafusion.md.

use crate::{answers, built, context, filter, planning_error, rows, table, value};
use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::*;
use datafusion::common::ScalarValue;
use gardenia::{AnyFilter, Digest, Key, KeyHasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A type: three keys and a NULL in the middle, and the keys as the library has them.
struct Case {
    column: ArrayRef,
    keys: Vec<Vec<u8>>,
}

fn case<K: Key>(column: impl Array + 'static, keys: [K; 3]) -> Case {
    let keys = keys.iter().map(|key| key.with_bytes(<[u8]>::to_vec)).collect();
    Case { column: Arc::new(column), keys }
}

fn cases() -> Vec<Case> {
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let texts = [Some("rose"), None, Some(""), Some("a text of more than twelve bytes")];
    let keys = ["rose", "", "a text of more than twelve bytes"];
    let bytes = texts.map(|text| text.map(str::as_bytes));
    let time = |nanos: i64| match u64::try_from(nanos) {
        Ok(nanos) => SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos),
        Err(_) => SystemTime::UNIX_EPOCH - Duration::from_nanos(nanos.unsigned_abs()),
    };
    let half = [Some(0.5), None, Some(-0.0), Some(65504.0)].map(|value| value.map(Half::from_f32));
    vec![
        case(Int8Array::from(vec![Some(-1), None, Some(0), Some(127)]), [-1i64, 0, 127]),
        case(Int16Array::from(vec![Some(-1), None, Some(0), Some(i16::MAX)]), [-1, 0, i16::MAX]),
        case(Int32Array::from(vec![Some(-1), None, Some(0), Some(i32::MIN)]), [-1, 0, i32::MIN]),
        case(Int64Array::from(vec![Some(-1), None, Some(0), Some(i64::MIN)]), [-1, 0, i64::MIN]),
        case(UInt8Array::from(vec![Some(1), None, Some(0), Some(255)]), [1u64, 0, 255]),
        case(UInt16Array::from(vec![Some(1), None, Some(0), Some(u16::MAX)]), [1, 0, u16::MAX]),
        case(UInt32Array::from(vec![Some(1), None, Some(0), Some(u32::MAX)]), [1, 0, u32::MAX]),
        case(UInt64Array::from(vec![Some(1), None, Some(0), Some(u64::MAX)]), [1, 0, u64::MAX]),
        case(Float16Array::from(half.to_vec()), [0.5f64, 0.0, 65504.0]),
        case(Float32Array::from(vec![Some(0.5), None, Some(-0.0), Some(f32::NAN)]), [0.5f64, 0.0, f64::NAN]),
        case(Float64Array::from(vec![Some(0.1), None, Some(-0.0), Some(-f64::NAN)]), [0.1, 0.0, f64::NAN]),
        case(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]), [1u64, 0, 1]),
        case(StringArray::from(texts.to_vec()), keys),
        case(LargeStringArray::from(texts.to_vec()), keys),
        case(StringViewArray::from(texts.to_vec()), keys),
        case(BinaryArray::from(bytes.to_vec()), keys),
        case(LargeBinaryArray::from(bytes.to_vec()), keys),
        case(BinaryViewArray::from(bytes.to_vec()), keys),
        case(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                [Some(*b"ab\0"), None, Some(*b"\0\0\0"), Some(*b"xyz")].into_iter(),
                3,
            )
            .unwrap(),
            [*b"ab\0", *b"\0\0\0", *b"xyz"],
        ),
        case(
            TimestampSecondArray::from(vec![Some(1), None, Some(0), Some(-1)]),
            [time(1_000_000_000), time(0), time(-1_000_000_000)],
        ),
        case(
            TimestampMillisecondArray::from(vec![Some(1), None, Some(0), Some(-1)]).with_timezone("+02:00"),
            [time(1_000_000), time(0), time(-1_000_000)],
        ),
        case(
            TimestampMicrosecondArray::from(vec![Some(1), None, Some(0), Some(-1)]),
            [time(1_000), time(0), time(-1_000)],
        ),
        case(
            TimestampNanosecondArray::from(vec![Some(1), None, Some(0), Some(-1)]),
            [time(1), time(0), time(-1)],
        ),
        case(texts.into_iter().collect::<DictionaryArray<Int8Type>>(), keys),
        case(
            DictionaryArray::<UInt16Type>::new(
                UInt16Array::from(vec![Some(2), Some(0), Some(2), Some(1)]),
                // A row may be NULL by its value, too.
                Arc::new(Int64Array::from(vec![None, Some(-9), Some(7)])),
            ),
            [7i64, 7, -9],
        ),
    ]
}

#[tokio::test]
async fn each_type_gives_the_filter_that_the_library_builds() {
    for Case { column, keys } in cases() {
        let (ctx, name) = (context(), format!("{}", column.data_type()));
        let hasher = KeyHasher::default();
        let digests: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
        table(&ctx, "t", vec![("x", column.clone())], 2);

        let found = filter(&ctx, "select filter_agg(x, 'counting items=100 fpp=0.001') from t").await;
        let expected = built("counting items=100 fpp=0.001", &digests);
        assert_eq!(found, expected.to_bytes().unwrap(), "{name}");

        table(&ctx, "f", vec![("f", Arc::new(BinaryArray::from(vec![found.as_slice()])))], 1);
        let contained = answers(&ctx, "select filter_contains((select f from f), x) from t").await;
        assert_eq!(contained, [Some(true), None, Some(true), Some(true)], "{name}");
        let counts = rows(&ctx, "select filter_count((select f from f), x) from t").await;
        let counts: Vec<Option<u64>> = counts
            .iter()
            .flat_map(|b| b.column(0).as_primitive::<UInt64Type>().iter().collect::<Vec<_>>())
            .collect();
        let expected = digests.iter().map(|digest| expected.as_count().unwrap().count_digest(*digest));
        let mut expected: Vec<Option<u64>> = expected.map(Some).collect();
        expected.insert(1, None);
        assert_eq!(counts, expected, "{name}");

        // As a group of its own: the same by another accumulator, with filters beside keys.
        let grouped = "select filter_union(f) from (select filter_agg(x, 'counting items=100 fpp=0.001') as f from t group by x)";
        assert_eq!(filter(&ctx, grouped).await, found, "{name}");
        let info = value(&ctx, "select filter_info((select f from f))['kind']").await;
        assert_eq!(info, ScalarValue::from("counting"), "{name}");
    }
}

/// The names in the first column of the table of docs/datafusion.md, with a family written out.
fn documented() -> std::collections::BTreeSet<String> {
    let text = include_str!("../../../../docs/datafusion.md");
    let table = text.split("| Arrow type |").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows = table.lines().skip(2).map(|row| row.split('|').nth(1).unwrap());
    let names = rows.flat_map(|row| row.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    let mut names: std::collections::BTreeSet<String> = names.collect();
    names.extend(["Int16", "Int32", "UInt16", "UInt32"].map(str::to_owned)); // "to" stands between their ends
    names
}

#[test]
fn the_types_of_the_guide_are_those_that_are_tested() {
    let name = |case: &Case| {
        let name = format!("{:?}", case.column.data_type());
        name.split('(').next().unwrap().to_owned()
    };
    assert_eq!(cases().iter().map(name).collect::<std::collections::BTreeSet<_>>(), documented());
}

#[tokio::test]
async fn integers_of_all_widths_are_one_key() {
    let ctx = context();
    for data_type in ["tinyint", "smallint", "int", "bigint", "tinyint unsigned", "bigint unsigned"] {
        let query =
            format!("select filter_agg(cast(5 as {data_type}), 'bloom items=10') from (values (1)) as t(a)");
        let digest = KeyHasher::default().digest_key(&5u8);
        assert_eq!(
            filter(&ctx, &query).await,
            built("bloom items=10", &[digest]).to_bytes().unwrap(),
            "{data_type}"
        );
    }
}

#[tokio::test]
async fn types_without_canonical_bytes_are_refused_while_planning() {
    let ctx = context();
    for value in [
        "date '2026-11-18'",
        "cast(1.5 as decimal(10, 2))",
        "interval '1 day'",
        "time '12:00:00'",
        "make_array(1)",
        "struct(1)",
    ] {
        let any = crate::hex(&built("bloom items=10", &[]).to_bytes().unwrap());
        for query in [
            format!("select filter_agg({value}, 'bloom items=10')"),
            format!("select filter_contains({any}, {value})"),
        ] {
            let error = planning_error(&ctx, &query).await;
            assert!(error.contains("have no canonical bytes"), "{query}: {error}");
        }
    }
    let error = planning_error(&ctx, "select filter_contains(1.5, 1)").await;
    assert!(error.contains("is no filter"), "{error}");
}

#[tokio::test]
async fn a_slice_of_a_column_is_hashed_from_its_first_row() {
    for Case { column, keys } in cases() {
        let ctx = context();
        table(&ctx, "t", vec![("x", column.slice(2, 2))], 1);
        let found = filter(&ctx, "select filter_agg(x, 'bloom items=100 fpp=1e-9') from t").await;
        let digests: Vec<Digest> = keys[1..].iter().map(|key| KeyHasher::default().digest(key)).collect();
        let expected: AnyFilter = built("bloom items=100 fpp=1e-9", &digests);
        assert_eq!(found, expected.to_bytes().unwrap(), "{}", column.data_type());
    }
}
