//! What the page shows is what the library says.

use crate::client::Running;
use explore::Options;
use gardenia::plan::Need;
use gardenia::spec::{Param, Takes};
use gardenia::{Ability, AnyFilter, Bloom, Cuckoo, Kind, Spec};
use serde_json::{Value, json};

fn close(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() <= 1e-12 * expected.abs())
}

/// The spec in the first line of a command: its kind, then options with a prefix and their values.
fn said(text: &str, begin: &str, end: &str, prefix: &str) -> Spec {
    let line = text.lines().next().unwrap().strip_prefix(begin).unwrap().strip_suffix(end).unwrap();
    let mut words = line.split(' ');
    let kind = Kind::from_name(words.next().unwrap()).unwrap();
    let mut spec = Spec::new(kind);
    while let Some(word) = words.next() {
        let param = Param::from_word(&word.strip_prefix(prefix).unwrap().to_lowercase()).unwrap();
        let value = if matches!(param.takes(), Takes::Nothing) { "" } else { words.next().unwrap() };
        spec = spec.parse_option(param, value).unwrap();
    }
    spec
}

#[test]
fn designs_are_those_of_the_planner() {
    let server = Running::new(Options::default());
    let million = || Need::of(1_000_000);
    let some = || Need::of(5_000).fpp(0.001);
    // Curves are drawn for the need without its rate: each is a plan per rate, so only two are compared.
    for (query, curve, need) in [
        ("items=1000000&fpp=0.01", Some(million()), million().fpp(0.01)),
        ("items=5000&fpp=0.001&needs=remove", Some(Need::of(5_000).remove()), some().remove()),
        ("items=5000&fpp=0.001&needs=count", None, some().count(65_535)),
        ("items=5000&fpp=0.001&needs=forget", None, some().with(Ability::Forget)),
        ("fpp=0.02", None, Need::unknown().fpp(0.02)),
        (
            "items=1000000&fpp=0.01&memory=3000000&needs=fixed",
            None,
            million().fpp(0.01).memory(3_000_000).fixed(),
        ),
    ] {
        let curves = if curve.is_some() { "&curves=1" } else { "" };
        let (status, found) = server.get(&format!("/api/plan?{query}{curves}"));
        assert_eq!(status, 200, "{query}: {found}");
        let plan = need.plan().unwrap();
        let designs = found["designs"].as_array().unwrap();
        assert_eq!(designs.len(), plan.designs().len(), "{query}");
        for (shown, design) in designs.iter().zip(plan.designs()) {
            assert_eq!(shown["kind"], design.kind.name());
            assert_eq!(shown["why"], design.why);
            for (name, value) in
                [("bytes", design.bytes), ("file_bytes", design.file_bytes), ("items", design.items)]
            {
                assert_eq!(shown[name], value, "{query}: {name} of {:?}", design.kind);
            }
            for (name, value) in [
                ("bits_per_key", design.bits_per_key),
                ("fpp", design.fpp),
                ("bound", design.bound),
                ("lines", design.lines),
                ("ns", design.ns),
            ] {
                assert!(close(&shown[name], value), "{query}: {name} of {:?}: {shown}", design.kind);
            }
            assert_eq!(shown["spec"], design.spec.to_string());
            let lines: Vec<_> = shown["code"].as_array().unwrap().iter().collect();
            assert_eq!(lines.len(), 4);
            for code in lines {
                let text = code["text"].as_str().unwrap();
                // Each says the same spec, in its own way.
                let said = match code["language"].as_str().unwrap() {
                    "Rust" | "Python" => text.split('"').nth(1).unwrap().parse::<Spec>().unwrap(),
                    "Shell" => said(text, "gardenia build --kind ", " -o filter.gdn keys.txt", "--"),
                    "Redis" if design.is_fixed() => {
                        assert!(text.starts_with("# "), "{text}");
                        continue;
                    }
                    "Redis" => {
                        assert!(design.kind.can(Ability::Insert), "{text}");
                        said(text, "GD.RESERVE seen KIND ", "", "")
                    }
                    other => panic!("{other}"),
                };
                assert_eq!(said, design.spec, "{text}");
            }
        }
        let Some(curve) = curve else { continue };
        let rates = [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6];
        let plans: Vec<_> =
            rates.into_iter().filter_map(|rate| curve.clone().fpp(rate).plan().ok()).collect();
        for line in found["curves"].as_array().unwrap() {
            let designs = plans
                .iter()
                .filter_map(|plan| plan.designs().iter().find(|design| line["kind"] == design.kind.name()));
            let expected: Vec<_> = designs.map(|design| [design.bits_per_key, design.fpp]).collect();
            let points = line["points"].as_array().unwrap();
            let alike = |(point, expected): (&Value, &[f64; 2])| {
                close(&point[0], expected[0]) && close(&point[1], expected[1])
            };
            assert!(
                points.len() == expected.len() && points.iter().zip(&expected).all(alike),
                "{query}: {line}, {expected:?}"
            );
        }
    }
    let (_, limit) = server.get("/api/plan?items=100&fpp=0.01");
    assert_eq!(limit["limit"][8], json!([8.0, 1.0 / 256.0]));
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

/// JavaScript rounds whole numbers above 2⁵³: cells that can hold them are sent as text.
#[test]
fn wide_cells_are_sent_as_text() {
    let server = Running::new(Options::default());
    let (spec, keys) = ("quotient items=12 fpp=4e-16", ["rose", "tulip", "iris", "lily", "daisy", "poppy"]);
    let steps: Vec<_> = keys.iter().map(|key| json!(["insert", key])).collect();
    let body = json!({ "spec": spec, "steps": steps, "key": "rose" });
    let (status, scene) = server.post("/api/inside", body.to_string().as_bytes());
    assert_eq!(status, 200, "{scene}");
    let mut filter = spec.parse::<Spec>().unwrap().build().unwrap();
    keys.iter().for_each(|key| _ = filter.insert(*key).unwrap());
    let table = &filter.tables()[0];
    let cells = filter.cells(0, 0..table.cells);
    assert!(table.width > 53 && cells.iter().any(|cell| *cell > 1 << 53), "{table:?} {cells:?}");
    assert_eq!(scene["cells"][0], json!(cells.iter().map(u64::to_string).collect::<Vec<_>>()));
    let probes = filter.explain_insert("rose").unwrap().probes;
    assert!(!probes.is_empty());
    for (shown, probe) in scene["explained"]["probes"].as_array().unwrap().iter().zip(probes) {
        assert_eq!(shown["value"], probe.value.to_string());
        assert_eq!(shown["after"], json!(probe.after.map(|after| after.to_string())));
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
    // So does a comparison, which needs both in memory. It may end before it hears of the stop.
    let started = server.post("/api/compare?a=1&b=1", b"").1;
    assert_eq!(server.post(&format!("/api/stop?id={}", started["job"]), b"").0, 200);
    let ended = server.wait(&started);
    let right = |both: &Value| close(&both["common"]["items"], expected);
    let result = &ended["result"];
    assert!(ended["stopped"] == true && ended["error"].is_null(), "{ended}");
    assert!(result.is_null() || right(result), "{ended} {expected}");
    let (_, both) = server.job("/api/compare?a=1&b=1");
    assert!(right(&both), "{both} {expected}");
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
        server.post("/api/streams", setting.to_string().as_bytes())
    };
    let (status, empty) = bad("lines", json!(""));
    assert_eq!((status, &empty["error"]), (400, &json!("the file has no lines")));
    let bad = |field: &str, value: Value| bad(field, value).0;
    assert_eq!(bad("dedup", json!("fuse items=10")), 400);
    assert_eq!(bad("counts", json!("bloom items=10")), 400);
    assert_eq!(bad("top", json!(0)), 400);
}

#[test]
fn curves_are_the_theory() {
    use gardenia::index::{AnyScheme, Scheme, SchemeId};
    use gardenia::theory::{bloom, choices};
    let server = Running::new(Options::default());
    let curves = |figure: &str, c: f64, n: u64, k: u32| {
        let (status, found) = server.get(&format!("/api/papers?figure={figure}&c={c}&n={n}&k={k}"));
        assert_eq!(status, 200, "{found}");
        found
    };
    // Each point of each line, by the function of the library that it is to be.
    let compare = |found: &Value, names: &[&str], points: usize, theory: &dyn Fn(usize, f64) -> f64| {
        let lines = found["lines"].as_array().unwrap();
        assert_eq!(lines.iter().map(|line| line["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(line["points"].as_array().unwrap().len(), points, "{line}");
            for point in line["points"].as_array().unwrap() {
                let expected = theory(number, point[0].as_f64().unwrap());
                assert!(close(&point[1], expected), "{}: {point}, {expected}", line["name"]);
            }
        }
    };
    let found = curves("schemes", 12.0, 10_000, 8);
    let names: Vec<_> = SchemeId::ALL.into_iter().map(SchemeId::name).collect();
    compare(&found, &names, 5, &|number, items| {
        let scheme = AnyScheme::new(SchemeId::ALL[number], 8);
        scheme.planned_fpp(scheme.fit(12 * items as u64), items as u64)
    });
    assert_eq!(
        (&found["cells"], &found["best"]),
        (&json!(120_000), &json!(bloom::best_hashes(120_000, 10_000)))
    );
    let found = curves("choices", 16.0, 1_000, 5);
    compare(&found, &["1 choice", "2 choices", "3 choices", "4 choices"], 16, &|number, hashes| {
        choices::fpp(16_000, 1_000, hashes as u32, number as u32 + 1)
    });
    let found = curves("hashes", 10.0, 1_000, 5);
    compare(&found, &["rounded down", "rounded up", "best"], 17, &|number, bits| {
        let (cells, exact) = ((bits * 1_000.0) as u64, bits * std::f64::consts::LN_2);
        let hashes = [exact as u32, exact.ceil() as u32, bloom::best_hashes(cells, 1_000)][number];
        // The rate with b·ln 2 hashes, as if that were a whole number, is drawn as 1.
        bloom::fpp(cells, 1_000, hashes.max(1)) / 2f64.powf(-exact)
    });
    assert_eq!(server.get("/api/papers?figure=none").0, 400);
    assert_eq!(server.get("/api/papers?figure=hashes&c=1000").0, 400);
}

/// Each dot is what the filters of its point, built here again, lead one to expect by their fill.
#[test]
fn simulations_agree_with_the_fill_of_their_filters() {
    let server = Running::new(Options::default());
    let body = json!({ "figure": "choices", "c": 8, "n": 1000, "k": 5, "seed": 7 });
    let done = server.wait(&server.post("/api/simulate", body.to_string().as_bytes()).1);
    let points = done["result"]["points"].as_array().unwrap();
    assert_eq!((points.len(), &done["result"]["queries"]), (64, &json!(50_000)));
    for (number, point) in points.iter().enumerate() {
        let (choice, hashes) = (number / 16 + 1, number % 16 + 1);
        let spec = match choice {
            1 => format!("bloom bits=8000 hashes={hashes}"),
            _ => format!("choice bits=8000 hashes={hashes} choices={choice}"),
        };
        let filter = |seed: u64| {
            let mut filter = spec.parse::<Spec>().unwrap().seed(7 + seed).build().unwrap();
            (0..1_000u64).for_each(|key| _ = filter.insert(key).unwrap());
            filter.fpp()
        };
        let expected = (0..10).map(filter).sum::<f64>() / 10.0;
        let y = point["y"].as_f64().unwrap();
        let deviation = (expected * (1.0 - expected) / 50_000.0).sqrt();
        assert!((y - expected).abs() < 5.0 * deviation, "{spec}: {y}, {expected} ± {deviation}");
        let told = gardenia::theory::sample::rate((y * 50_000.0).round() as u64, 50_000);
        assert!(close(&point["low"], told.low) && close(&point["high"], told.high), "{point}");
        assert_eq!(point["x"], hashes as f64);
    }
}
