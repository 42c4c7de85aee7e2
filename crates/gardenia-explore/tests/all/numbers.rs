//! What the page shows is what the library says.

use crate::client::Running;
use explore::Options;
use gardenia::plan::Need;
use gardenia::{AnyFilter, Bloom, Cuckoo, Kind, Spec};
use serde_json::{Value, json};

fn close(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() <= 1e-12 * expected.abs())
}

#[test]
fn designs_are_those_of_the_planner() {
    let server = Running::new(Options::default());
    for (query, need) in [
        ("items=1000000&fpp=0.01", Need::of(1_000_000).fpp(0.01)),
        ("items=5000&fpp=0.001&needs=remove", Need::of(5_000).fpp(0.001).remove()),
        ("fpp=0.02", Need::unknown().fpp(0.02)),
        (
            "items=1000000&fpp=0.01&memory=3000000&needs=fixed",
            Need::of(1_000_000).fpp(0.01).memory(3_000_000).fixed(),
        ),
    ] {
        let (status, found) = server.get(&format!("/api/plan?{query}&curves=1"));
        assert_eq!(status, 200, "{query}: {found}");
        let plan = need.plan().unwrap();
        let designs = found["designs"].as_array().unwrap();
        assert_eq!(designs.len(), plan.designs().len(), "{query}");
        for (shown, design) in designs.iter().zip(plan.designs()) {
            assert_eq!(shown["kind"], design.kind.name());
            assert_eq!(shown["bytes"], design.bytes);
            assert!(
                close(&shown["bits_per_key"], design.bits_per_key) && close(&shown["fpp"], design.fpp),
                "{query}"
            );
            assert_eq!(shown["spec"], design.spec.to_string());
            // The lines that are shown say the same spec.
            for code in shown["code"].as_array().unwrap().iter().take(2) {
                assert!(code["text"].as_str().unwrap().contains(&design.spec.to_string()));
            }
        }
    }
    let (_, limit) = server.get("/api/plan?items=100&fpp=0.01");
    assert_eq!(limit["limit"][7], json!([8.0, 1.0 / 256.0]));
    let (status, nothing) = server.get("/api/plan?items=1000000&fpp=0.01&memory=10");
    assert!(status == 200 && nothing["error"].as_str().unwrap().contains("10"), "{nothing}");
    assert_eq!(server.get("/api/plan?items=many").0, 400);
    assert_eq!(server.get("/api/plan?items=5&needs=magic").0, 400);
}

#[test]
fn every_kind_can_be_looked_into_and_is_what_the_library_builds() {
    let server = Running::new(Options::default());
    let (_, kinds) = server.get("/api/kinds");
    let held = Kind::ALL.into_iter().filter(|kind| kind.holds_keys()).count();
    assert_eq!(kinds["kinds"].as_array().unwrap().len(), held);
    for kind in kinds["kinds"].as_array().unwrap() {
        let example = kind["example"].as_str().unwrap();
        let spec: Spec = example.parse().unwrap();
        let keys = ["rose", "tulip", "iris", "lily"];
        let steps: Vec<_> = keys.iter().map(|key| json!(["insert", key])).collect();
        let body = json!({ "spec": example, "steps": steps, "key": "thistle" }).to_string();
        let (status, scene) = server.post("/api/inside", body.as_bytes());
        assert_eq!(status, 200, "{example}: {scene}");
        let digests: Vec<_> = {
            let mut sorted = keys;
            sorted.sort_unstable();
            let keys = if spec.needs_all_keys() { sorted } else { keys };
            keys.iter().map(|key| spec.hasher().digest_key(*key)).collect()
        };
        let filter = if spec.needs_all_keys() {
            spec.build_from(&digests[..]).unwrap()
        } else {
            let mut filter = spec.build().unwrap();
            filter.insert_digests(&digests, &mut [false; 4]).unwrap();
            filter
        };
        for (number, table) in filter.tables().iter().enumerate() {
            let cells = filter.cells(number, 0..table.cells);
            assert_eq!(scene["cells"][number], json!(cells), "{example}");
        }
        let explained = filter.explain("thistle");
        assert_eq!(scene["explained"]["present"], explained.present, "{example}");
        assert_eq!(scene["explained"]["digest"], format!("{:016x}", explained.digest.0));
        assert_eq!(scene["explained"]["probes"].as_array().unwrap().len(), explained.probes.len());
        assert_eq!(scene["fill"], filter.fill());
    }
}

#[test]
fn a_false_positive_names_the_keys_that_set_its_bits() {
    let server = Running::new(Options::default());
    let keys = ["rose", "tulip", "iris", "lily"];
    let steps: Vec<_> = keys.iter().map(|key| json!(["insert", key])).collect();
    let mut found = 0;
    for weed in 0..200 {
        let body = json!({ "spec": "bloom bits=24 hashes=2", "steps": steps, "key": format!("weed{weed}") });
        let (_, scene) = server.post("/api/inside", body.to_string().as_bytes());
        let asked = &scene["explained"];
        let every = asked["keys"].as_array().unwrap().iter().all(|keys| !keys.as_array().unwrap().is_empty());
        // Present if and only if each of its bits was set by one of the keys.
        assert_eq!(asked["present"] == true, every, "{asked}");
        found += u32::from(every);
    }
    assert!((1..200).contains(&found));
}

#[test]
fn steps_insert_and_remove_and_tell_what_fails() {
    let server = Running::new(Options::default());
    let ask = |spec: &str, steps: Value| {
        server.post(
            "/api/inside",
            json!({ "spec": spec, "steps": steps, "key": "rose" }).to_string().as_bytes(),
        )
    };
    let (_, scene) = ask(
        "counting items=20 fpp=0.01",
        json!([["insert", "rose"], ["insert", "rose"], ["remove", "rose"]]),
    );
    assert_eq!((&scene["explained"]["count"], &scene["held"][0]["copies"]), (&json!(1), &json!(1)));
    let (_, scene) = ask("bloom items=20", json!([["insert", "rose"], ["remove", "rose"]]));
    assert!(scene["steps"][1]["ok"] == false && scene["explained"]["present"] == true, "{scene}");
    assert_eq!(ask("bloom items=1M", json!([])).0, 400);
    assert_eq!(ask("nothing items=1", json!([])).0, 400);
    assert_eq!(ask("bloom items=20", json!(vec![["insert", "a"]; 501])).0, 400);
}

#[test]
fn a_file_is_described_as_the_library_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two, cuckoo) =
        (folder.path().join("a.gdn"), folder.path().join("b.gdn"), folder.path().join("c.gdn"));
    let mut first = Bloom::new(10_000, 0.01).unwrap();
    (0..10_000u32).for_each(|key| _ = first.insert(key.to_string().as_str()));
    first.save(&one).unwrap();
    let mut second = Bloom::new(10_000, 0.01).unwrap();
    (5_000..15_000u32).for_each(|key| _ = second.insert(key.to_string().as_str()));
    second.save(&two).unwrap();
    let mut other = Cuckoo::new(1_000, 0.01).unwrap();
    other.insert("rose").unwrap();
    other.save(&cuckoo).unwrap();
    let server =
        Running::new(Options { files: vec![one.clone(), two.clone(), cuckoo], ..Options::default() });
    let (_, files) = server.get("/api/files");
    assert_eq!(files.as_array().unwrap().len(), 3);
    let (_, told) = server.job("/api/file?id=1");
    let filter = AnyFilter::open(&one).unwrap();
    let estimate = filter.estimated_items().unwrap();
    let facts = &told["facts"];
    assert_eq!(
        (&facts["kind"], &facts["spec"]),
        (&json!("bloom"), &json!(filter.spec().unwrap().to_string()))
    );
    assert!(close(&facts["fill"], filter.fill()) && close(&facts["fpp"], filter.fpp()));
    assert!(close(&facts["items"], estimate.items) && close(&facts["items_error"], estimate.std_error));
    let (_, fill) = server.get("/api/fill?id=1");
    let parts: Vec<f64> = serde_json::from_value(fill["parts"].clone()).unwrap();
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    assert!((mean - filter.fill()).abs() < 1e-3, "{mean} {}", filter.fill());
    let (_, zoomed) = server.get("/api/fill?id=1&from=64&to=128");
    let bits: Vec<f64> = filter.cells(0, 64..128).into_iter().map(|bit| bit as f64).collect();
    assert_eq!(serde_json::from_value::<Vec<f64>>(zoomed["parts"].clone()).unwrap(), bits);
    let (_, answers) =
        server.post("/api/query", json!({ "id": 1, "keys": ["77", "rose"] }).to_string().as_bytes());
    assert_eq!(answers["answers"][0]["present"], true);
    assert_eq!(answers["answers"][1]["present"], filter.contains("rose"));
    // The rate by queries: the one of the fill is within the interval of 20,000 of them, give or take.
    let measured = &facts["measured"];
    let hits = measured["hits"].as_u64().unwrap();
    let told = gardenia::theory::sample::rate(hits, 20_000);
    assert!(close(&measured["low"], told.low) && close(&measured["high"], told.high), "{measured}");
    assert!((told.rate - filter.fpp()).abs() < 5.0 * (filter.fpp() / 20_000.0).sqrt(), "{measured}");
    let (_, both) = server.job("/api/compare?a=1&b=2");
    let expected = AnyFilter::open(&one).unwrap().overlap(&AnyFilter::open(&two).unwrap()).unwrap().unwrap();
    assert!(close(&both["common"]["items"], expected.common.items), "{both}");
    assert!(
        close(&both["jaccard"], expected.jaccard)
            && close(&both["only_a"]["error"], expected.only_a.std_error)
    );
    assert!((expected.common.items - 5_000.0).abs() < 5.0 * expected.common.std_error, "{both}");
    let refused = server.job("/api/compare?a=1&b=3").1;
    assert!(refused["error"].as_str().unwrap().contains("kind"), "{refused}");
    let (_, buckets) = server.get("/api/fill?id=3");
    assert_eq!(buckets["loads"]["counts"][1], 1);
    let verified = server.wait(&server.post("/api/verify?id=1", b"").1);
    assert!(close(&verified["result"]["fpp"], filter.fpp()), "{verified}");
}

#[test]
fn a_foreign_file_is_recognised() {
    use gardenia::format::{ForeignKey, Format};
    let server = Running::new(Options::default());
    let mut asked = 0;
    for format in Format::ALL {
        let Ok(mut filter) = format.create(100, 0.01) else { continue };
        if filter.insert(ForeignKey::Text("rose")).is_err() {
            continue;
        }
        let Ok(bytes) = filter.to_bytes() else { continue };
        if !Format::recognise(&bytes).contains(&format) {
            continue;
        }
        let (status, entry) = server.post("/api/upload?name=x.bin", &bytes);
        assert_eq!(status, 200, "{}: {entry}", format.name());
        let (_, told) = server.job(&format!("/api/file?id={}", entry["id"]));
        assert!(told["facts"]["fill"].as_f64().is_some_and(|fill| fill > 0.0), "{}: {told}", format.name());
        // Its cells are drawn, measured, verified and compared like those of native files.
        let (status, fill) = server.get(&format!("/api/fill?id={}", entry["id"]));
        let parts: Vec<f64> = serde_json::from_value(fill["parts"].clone()).unwrap();
        assert!(status == 200 && parts.iter().any(|part| *part > 0.0), "{}: {fill}", format.name());
        assert!(told["facts"]["measured"]["queries"].as_u64().is_some(), "{}: {told}", format.name());
        let verified = server.wait(&server.post(&format!("/api/verify?id={}", entry["id"]), b"").1);
        assert!(verified["error"].is_null(), "{}: {verified}", format.name());
        asked += 1;
    }
    assert!(asked >= 2, "{asked}");
}

#[test]
fn the_columns_of_a_parquet_file_are_filters_of_their_own() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../gardenia/tests/data/interop/parquet_pyarrow.parquet");
    let server = Running::new(Options { files: vec![data.into()], ..Options::default() });
    let (_, files) = server.get("/api/files");
    let names: Vec<_> = files.as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert!(
        names.len() > 1 && names.iter().all(|name| name.starts_with("parquet_pyarrow.parquet: ")),
        "{names:?}"
    );
    for file in files.as_array().unwrap() {
        let (status, told) = server.job(&format!("/api/file?id={}", file["id"]));
        assert_eq!(status, 200, "{told}");
        assert!(told["facts"]["tables"][0]["name"].as_str().unwrap().starts_with("row group"), "{told}");
        assert_eq!(server.get(&format!("/api/fill?id={}", file["id"])).0, 200);
    }
}

#[test]
fn foreign_files_of_one_shape_are_compared() {
    use gardenia::format::{ForeignKey, Format};
    let server = Running::new(Options::default());
    let made = |format: Format, keys: std::ops::Range<i64>| {
        let mut filter = format.create(3_000, 0.01).unwrap();
        keys.for_each(|key| _ = filter.insert(ForeignKey::Long(key)).unwrap());
        server.post("/api/upload?name=x", &filter.to_bytes().unwrap()).1["id"].as_u64().unwrap()
    };
    let (a, b) = (made(Format::Guava, 0..2_000), made(Format::Guava, 1_500..3_000));
    let (status, both) = server.job(&format!("/api/compare?a={a}&b={b}"));
    assert_eq!(status, 200, "{both}");
    let (common, error) =
        (both["common"]["items"].as_f64().unwrap(), both["common"]["error"].as_f64().unwrap());
    assert!((common - 500.0).abs() < 5.0 * error, "{both}");
    let other = made(Format::Spark, 0..2_000);
    let (status, refused) = server.job(&format!("/api/compare?a={a}&b={other}"));
    assert!(status == 200 && refused["error"].as_str().unwrap().contains("format"), "{refused}");
    let mut own = Bloom::new(10, 0.1).unwrap();
    own.insert("rose");
    let own = server.post("/api/upload?name=own.gdn", &own.to_bytes().unwrap()).1["id"].as_u64().unwrap();
    assert_eq!(server.job(&format!("/api/compare?a={a}&b={own}")).0, 400);
}

/// A filter of 100 MB is mapped: facts come from a sample, and say so.
#[test]
fn a_large_file_is_mapped_and_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gdn");
    let mut filter = Bloom::new(70_000_000, 0.01).unwrap();
    let step = 1 << 20;
    (0..step).for_each(|key: u64| _ = filter.insert(key));
    filter.save(&path).unwrap();
    let expected = filter.estimated_items().items;
    drop(filter);
    let server = Running::new(Options { files: vec![path], ..Options::default() });
    let (_, told) = server.job("/api/file?id=1");
    let facts = &told["facts"];
    assert_eq!(facts["sampled"], true);
    let (items, error) = (facts["items"].as_f64().unwrap(), facts["items_error"].as_f64().unwrap());
    assert!(error > 0.0 && (items - expected).abs() < 5.0 * error, "{items} ± {error}, {expected}");
    let (_, fill) = server.get("/api/fill?id=1");
    assert_eq!((&fill["exact"], fill["parts"].as_array().unwrap().len()), (&json!(false), 2048));
    // Verification reads all of it, and can be stopped while it does.
    let started = server.post("/api/verify?id=1", b"").1;
    assert_eq!(server.post(&format!("/api/stop?id={}", started["job"]), b"").0, 200);
    let ended = server.wait(&started);
    assert!(ended["stopped"] == true && ended["error"].is_null(), "{ended}");
    // So does a comparison, which needs both in memory.
    let started = server.post("/api/compare?a=1&b=1", b"").1;
    assert_eq!(server.post(&format!("/api/stop?id={}", started["job"]), b"").0, 200);
    let ended = server.wait(&started);
    assert!(ended["stopped"] == true && ended["error"].is_null() && ended["result"].is_null(), "{ended}");
    let (_, both) = server.job("/api/compare?a=1&b=1");
    assert!(close(&both["common"]["items"], expected), "{both} {expected}");
}

#[test]
fn a_filter_with_choices_is_compared_with_a_plain_one() {
    let server = Running::new(Options::default());
    let keys = ["rose", "tulip", "iris", "lily", "daisy"];
    let steps: Vec<_> = keys.iter().map(|key| json!(["insert", key])).collect();
    let body = json!({ "spec": "choice bits=64 hashes=3 choices=2", "steps": steps, "key": "thistle" });
    let (_, scene) = server.post("/api/inside", body.to_string().as_bytes());
    let mut plain = "bloom bits=64 hashes=3".parse::<Spec>().unwrap().build().unwrap();
    keys.iter().for_each(|key| _ = plain.insert(*key).unwrap());
    assert_eq!(scene["plain_fill"], plain.fill(), "{scene}");
    assert!(scene["fill"].as_f64().unwrap() <= plain.fill());
    let groups: std::collections::BTreeSet<u64> = scene["explained"]["probes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|probe| probe["group"].as_u64().unwrap())
        .collect();
    assert_eq!(groups.len(), 2, "{scene}");
}

#[test]
fn a_stream_is_counted_exactly_beside_the_sketches() {
    let server = Running::new(Options::default());
    let lines: String = (0..3_000u32).map(|at| format!("key{}\n", at % 1_000)).collect();
    let setting = json!({ "length": 0, "keys": 0, "skew": 1, "seed": 1, "top": 5, "dedup": "blocked items=1000 fpp=0.05",
        "counts": "count-min epsilon=0.01 delta=0.01", "lines": lines });
    let done = server.wait(&server.post("/api/streams", setting.to_string().as_bytes()).1);
    let end = done["result"]["points"].as_array().unwrap().last().unwrap();
    assert_eq!((&end["seen"], &end["distinct"]), (&json!(3_000), &json!(1_000)), "{end}");
    // The same keys through the same filter, by hand.
    let mut filter = "blocked items=1000 fpp=0.05".parse::<Spec>().unwrap().build().unwrap();
    let dropped = (0..1_000u32).filter(|at| !filter.insert(format!("key{at}").as_str()).unwrap()).count();
    assert!(dropped > 0);
    assert_eq!(end["dropped"], dropped);
    assert_eq!(end["passed"], 1_000 - dropped);
    // A generated stream has the length and the keys that were asked for, and is the same every time.
    let mut drawn = setting.clone();
    (drawn["lines"], drawn["length"], drawn["keys"]) = (Value::Null, json!(20_000), json!(500));
    let twice: Vec<Value> = (0..2)
        .map(|_| server.wait(&server.post("/api/streams", drawn.to_string().as_bytes()).1)["result"].clone())
        .collect();
    let end = twice[0]["points"].as_array().unwrap().last().unwrap().clone();
    assert!(end["seen"] == 20_000 && (400..=500).contains(&end["distinct"].as_u64().unwrap()), "{end}");
    assert_eq!(twice[0]["points"].as_array().unwrap().last(), twice[1]["points"].as_array().unwrap().last());
    let bad = |field: &str, value: Value| {
        let mut setting = setting.clone();
        setting[field] = value;
        server.post("/api/streams", setting.to_string().as_bytes()).0
    };
    assert_eq!(bad("dedup", json!("fuse items=10")), 400);
    assert_eq!(bad("counts", json!("bloom items=10")), 400);
    assert_eq!(bad("top", json!(0)), 400);
}

#[test]
fn curves_are_the_theory_and_simulations_agree_with_them() {
    let server = Running::new(Options::default());
    let (_, found) = server.get("/api/papers?figure=choices&c=16&n=1000&k=5");
    let rate = gardenia::theory::choices::fpp(16_000, 1_000, 6, 2);
    assert!(close(&found["lines"][1]["points"][5][1], rate), "{found}");
    let body = json!({ "figure": "choices", "c": 8, "n": 1000, "k": 5, "seed": 7 });
    let done = server.wait(&server.post("/api/simulate", body.to_string().as_bytes()).1);
    let (_, theory) = server.get("/api/papers?figure=choices&c=8&n=1000&k=5");
    let points = done["result"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 64);
    for (number, point) in points.iter().take(16).enumerate() {
        // One filter's own rate differs from the expected one by its fill: some percent of the rate, at 1,000 keys.
        let (y, error) = (point["y"].as_f64().unwrap(), point["error"].as_f64().unwrap());
        let expected = theory["lines"][0]["points"][number][1].as_f64().unwrap();
        assert!((y - expected).abs() < 5.0 * error + 0.15 * expected, "k = {}: {y} {expected}", number + 1);
    }
    assert_eq!(server.get("/api/papers?figure=none").0, 400);
    assert_eq!(server.get("/api/papers?figure=hashes&c=1000").0, 400);
}
