//! Filters of other programs at the shell: recognised, described, asked, built, converted, refused.

use crate::common::{Shell, numbers};
use serde_json::Value;
use std::path::PathBuf;

/// A file that another program wrote.
fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "gardenia", "tests", "data", "interop", name].iter().collect()
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(data(name)).unwrap()).unwrap()
}

/// A shell with the files, their keys as lines (those with no NUL), and values that are none.
fn shell() -> Shell {
    let shell = Shell::new();
    for entry in std::fs::read_dir(data("")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, shell.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    let keys = json("keys.json");
    let lines = |list: &Value| -> Vec<u8> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        list.as_array().unwrap().iter().flat_map(|value| (text(value) + "\0").into_bytes()).collect()
    };
    shell.write("ints", lines(&keys["ints"]));
    shell.write("strings", lines(&keys["strings"]));
    shell.write("absent-ints", lines(&json("probes_ints.json")));
    shell.write("absent-strings", lines(&json("probes_strings.json")));
    shell
}

/// How many lines of a file are found.
fn count(shell: &Shell, args: &[&str]) -> usize {
    let run = shell.run(&[&["query", "-0", "-c"], args].concat());
    assert!(matches!(run.code, Some(0 | 1)) && run.err.is_empty(), "{args:?}: {}", run.err);
    run.text().trim().parse().unwrap()
}

#[test]
fn filters_of_other_programs_answer_as_their_programs_do() {
    let (shell, expected) = (shell(), json("expected.json"));
    let positives = |name: &str| expected[name]["positive_probe_indices"].as_array().unwrap().len();
    for (name, keys, kind) in [
        ("spark_bloom_v1_i64.bin", "ints", "long"),
        ("spark_bloom_v2_str.bin", "strings", "string"),
        ("guava_mitz32_str.bin", "strings", "string"),
        ("guava_mitz64_i64.bin", "ints", "long"),
        ("guava_mitz64_utf16.bin", "strings", "utf16"),
        ("hive_bloom_i64.bin", "ints", "long"),
    ] {
        assert_eq!(count(&shell, &["--as", kind, name, keys]), 200, "{name}");
        assert_eq!(
            count(&shell, &["--as", kind, name, &format!("absent-{keys}")]),
            positives(name),
            "{name}"
        );
    }
    assert_eq!(
        count(&shell, &["--format", "bloomk", "--as", "string", "hive_bloomk_str.bin", "strings"]),
        200
    );
    assert_eq!(count(&shell, &["--as", "string", "datasketches_bloom_str.bin", "strings"]), 199);
    assert_eq!(count(&shell, &["milvus_mbf1_i64.bin", "ints"]), 200);
    assert_eq!(count(&shell, &["bip37_filterload.bin", "absent-strings"]), positives("bip37_filterload.bin"));
    // The empty string is none of its keys, but has the hash 0 and so a single bit.
    assert_eq!(count(&shell, &["rocksdb_bloom.sst", "strings"]), 200);
    for name in ["parquet_pyarrow.parquet", "parquet_duckdb.parquet", "parquet_spark.parquet"] {
        for (column, keys) in [("id", "ints"), ("name", "strings")] {
            let right = expected[name][column]["positive_probe_indices"].as_array().unwrap().len();
            let filter = format!("{name}:{column}");
            assert_eq!(count(&shell, &[&filter, keys]), 200, "{filter}");
            assert_eq!(
                count(&shell, &["--row-group", "0", &filter, &format!("absent-{keys}")]),
                right,
                "{filter}"
            );
        }
    }
    for name in ["orc_spark.orc:id", "orc_pyarrow.orc:id"] {
        assert_eq!(count(&shell, &[name, "ints"]), 200, "{name}");
    }
    // Several filters of several programs at once.
    let run = shell.pipe(
        b"abc\n7\n",
        &["query", "--label", "-F", "rocksdb_bloom.sst", "-F", "parquet_pyarrow.parquet:name"],
    );
    assert_eq!(run.text(), "rocksdb_bloom,parquet_pyarrow.parquet:name:abc\n".replace(".parquet:name:", ":"));
}

#[test]
fn info_recognises_files_and_tells_what_they_hold() {
    let shell = shell();
    let guava: Value =
        serde_json::from_slice(&shell.ok(&["info", "--json", "guava_mitz64_i64.bin"])).unwrap();
    assert_eq!(
        (&guava["format"], &guava["hashes"], &guava["bits"]),
        (&"guava".into(), &5.into(), &1472.into())
    );
    assert!((guava["estimated_items"].as_f64().unwrap() - 200.0).abs() < 10.0);
    assert_eq!(guava["key_types"][0], "long");
    let text = String::from_utf8(shell.ok(&["info", "hive_bloomk_i64.bin", "spark_cms_str.bin"])).unwrap();
    for line in
        ["  or              bloomk: the bytes do not tell, --format does", "  rows            5 of 20 counts"]
    {
        assert!(text.contains(line), "{text}");
    }
    let known = String::from_utf8(shell.ok(&["info", "--format", "bloomk", "hive_bloomk_i64.bin"])).unwrap();
    assert!(
        known.contains("Hive BloomKFilter, as Druid takes it (bloomk)") && !known.contains("  or  "),
        "{known}"
    );
    let text = String::from_utf8(shell.ok(&["info", "parquet_pyarrow.parquet"])).unwrap();
    for line in [
        "  format          Parquet file with filters in its row groups (parquet-file)",
        "  row group  column  type         size          keys  false positives",
        "          0  id      int64   256 bytes          ~197  1.3%",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let parquet: Value =
        serde_json::from_slice(&shell.ok(&["info", "--json", "parquet_spark.parquet"])).unwrap();
    assert_eq!(parquet["filters"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&parquet["filters"][1]["column"], &parquet["filters"][1]["bytes"]),
        (&"name".into(), &1024.into())
    );
    assert_eq!(parquet["columns"][2]["type"], "int32");
    let orc: Value = serde_json::from_slice(&shell.ok(&["info", "--json", "orc_spark.orc:name"])).unwrap();
    assert_eq!(
        (&orc["format"], &orc["filters"][0]["column"], &orc["stripes"]),
        (&"orc".into(), &"name".into(), &1.into())
    );
    // One that cannot be read does not stop the others.
    let cut = shell.read("parquet_spark.parquet");
    shell.write("cut.parquet", [&cut[..100], &cut[cut.len() - 8..]].concat());
    let run = shell.run(&["info", "cut.parquet", "milvus_mbf1_str.bin"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.err.starts_with("gardenia: cut.parquet: truncated: ") && run.text().contains("MBF1"),
        "{}",
        run.err
    );
}

#[test]
fn what_is_built_is_what_the_program_writes() {
    let shell = shell();
    for (format, fpp, kind, keys, name) in [
        ("spark", "3%", "long", "ints", "spark_bloom_v2_i64.bin"),
        ("spark-v1", "3%", "string", "strings", "spark_bloom_v1_str.bin"),
        ("guava", "3%", "utf16", "strings", "guava_mitz64_utf16.bin"),
        ("guava-32", "3%", "long", "ints", "guava_mitz32_i64.bin"),
        ("hive", "3%", "string", "strings", "hive_bloom_str.bin"),
        ("bloomk", "", "long", "ints", "hive_bloomk_i64.bin"), // its program chooses the rate
        ("milvus", "2%", "string", "strings", "milvus_mbf1_str.bin"),
    ] {
        let rate: &[&str] = if fpp.is_empty() { &[] } else { &["-p", fpp] };
        let args = ["build", "-0", "-q", "--force", "--format", format, "--as", kind, "-o", "out", keys];
        shell.ok(&[&args, rate].concat());
        assert!(shell.read("out") == shell.read(name), "{name}");
    }
    let run = shell.run(&[
        "build",
        "-0",
        "--format",
        "redisbloom",
        "-n",
        "100",
        "-p",
        "2%",
        "-o",
        "dump",
        "strings",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        run.err.contains("dump: 200 keys read, 198 certainly new; RedisBloom BF.SCANDUMP"),
        "{}",
        run.err
    );
    assert_eq!(count(&shell, &["dump", "strings"]), 200);
}

#[test]
fn a_column_becomes_a_filter_of_ours_and_back() {
    let shell = shell();
    let convert = |args: &[&str]| shell.ok(&[&["convert", "-q", "--force"], args].concat());
    convert(&["--to", "sbbf", "-o", "id.gdn", "parquet_pyarrow.parquet:id"]);
    assert_eq!(count(&shell, &["--int", "id.gdn", "ints"]), 200);
    convert(&["--to", "parquet", "-o", "id.sbbf", "id.gdn"]);
    let file = shell.read("parquet_pyarrow.parquet");
    let filter = shell.read("id.sbbf");
    assert!(file.windows(filter.len()).any(|part| part == filter));
    assert_eq!(count(&shell, &["--as", "long", "id.sbbf", "ints"]), 200);
    convert(&["--to", "milvus", "-o", "id.mbf", "parquet_pyarrow.parquet:id"]);
    assert_eq!(count(&shell, &["id.mbf", "ints"]), 200);
    convert(&["--to", "parquet", "-o", "again.sbbf", "id.mbf"]);
    assert_eq!(shell.read("again.sbbf"), filter);
}

#[test]
fn what_cannot_be_is_refused_with_the_option_that_helps() {
    let shell = shell();
    shell.write("keys", numbers(0..10));
    shell.ok(&["build", "-q", "-o", "seen.gdn", "keys"]);
    let cases: [(&[&str], &str, &str); 24] = [
        (
            &["query", "spark_bloom_v2_i64.bin", "keys"],
            "spark_bloom_v2_i64.bin: Spark BloomFilter, version 2 does not say of which type its keys are: long or string",
            "--as long or --as string",
        ),
        (
            &["query", "--as", "float", "guava_mitz64_i64.bin", "keys"],
            "has no keys of type float",
            "--as long",
        ),
        (
            &["query", "--as", "long", "hive_bloomk_i64.bin", "keys"],
            "the bytes fit several formats: hive, bloomk",
            "--format hive",
        ),
        (
            &["query", "parquet_pyarrow.parquet", "keys"],
            "several columns have filters: id, name, small",
            "parquet_pyarrow.parquet:id",
        ),
        (&["query", "parquet_pyarrow.parquet:price", "keys"], "there is no column price", "id, name, small"),
        (&["query", "parquet_spark.parquet:small", "keys"], "the column small has no filter", "id, name"),
        (
            &["query", "--row-group", "7", "parquet_spark.parquet:id", "keys"],
            "row group 7 has no filter of the column id",
            "1 row group",
        ),
        (&["query", "--format", "guava", "spark_bloom_v2_i64.bin", "keys"], "spark_bloom_v2_i64.bin: ", ""),
        (
            &["info", "--verify", "rocksdb_bloom.sst"],
            "checksums of other programs' files are not verified",
            "--verify",
        ),
        (
            &["convert", "--to", "guava", "-o", "x", "spark_bloom_v2_i64.bin"],
            "bits cannot be hashed again",
            "gardenia build --format guava",
        ),
        (
            &["convert", "--to", "bloom", "-o", "x", "guava_mitz64_i64.bin"],
            "bits cannot be hashed again",
            "gardenia build --kind bloom",
        ),
        (
            &["convert", "--to", "parquet", "-o", "x", "seen.gdn"],
            "a filter of kind blocked cannot become another without its keys",
            "build --format parquet",
        ),
        (&["convert", "--to", "orc", "-o", "x", "milvus_mbf1_i64.bin"], "cannot become", "read, not written"),
        (
            &["build", "--format", "spark", "-o", "x", "keys"],
            "does not say of which type its keys are",
            "--as long or --as string",
        ),
        (&["build", "--format", "orc", "-o", "x", "keys"], "is read, not written", "parquet, milvus, spark"),
        (
            &["build", "--format", "guava", "--as", "long", "--seed", "7", "-o", "x", "keys"],
            "a filter of format guava has no --seed",
            "--items and --fpp",
        ),
        (&["build", "--as", "long", "-o", "x", "keys"], "--as is for filters of other programs", "--int"),
        (&["query", "--as", "long", "seen.gdn", "keys"], "seen.gdn: a filter of ours has no --as", "--int"),
        // Their programs choose the rate, so that one that is given would be ignored.
        (
            &["build", "--format", "bloomk", "--as", "long", "-p", "0.01%", "-o", "x", "keys"],
            "a filter of format bloomk has no --fpp",
            "it is sized by --items",
        ),
        (
            &["build", "--format", "redis-cuckoo", "-p", "0.01%", "-o", "x", "keys"],
            "a filter of format redis-cuckoo has no --fpp",
            "it is sized by --items",
        ),
        (
            &["remove", "guava_mitz64_i64.bin", "keys"],
            "guava_mitz64_i64.bin: Guava BloomFilter, MURMUR128_MITZ_64 is not changed in place",
            "gardenia build --format guava",
        ),
        (&["add", "spark_bloom_v2_i64.bin", "keys"], "is not changed in place", "build --format spark"),
        (
            &["count", "--as", "long", "guava_mitz64_i64.bin", "keys"],
            "guava_mitz64_i64.bin: Guava BloomFilter, MURMUR128_MITZ_64 does not count",
            "gardenia query",
        ),
        (&["count", "spark_cms_i64.bin", "keys"], "does not say of which type its keys are", "--as long"),
    ];
    for (args, error, hint) in cases {
        let run = shell.run(args);
        assert!(run.complaint().contains(error), "{args:?}: {}", run.err);
        assert!(run.err.lines().nth(1).unwrap_or_default().contains(hint), "{args:?}: {}", run.err);
    }
    assert!(!shell.path("x").exists());
    let guava = shell.read("guava_mitz64_i64.bin");
    let run = shell.pipe(&guava, &["query", "--as", "long", "-", "keys"]);
    assert!(run.complaint().contains("filters of other programs are not read from a pipe"), "{}", run.err);
    assert!(run.err.contains("save the filter to a file first"), "{}", run.err);
    let run = shell.pipe(b"7\nrose\n", &["query", "--as", "long", "guava_mitz64_i64.bin"]);
    assert!(run.err.contains("\"rose\" is not a whole number of 64 bits"), "{}", run.err);
}

#[test]
fn filters_of_one_program_are_merged_compared_and_evaluated() {
    let shell = shell();
    for (name, range) in [("a", 0..600), ("b", 300..900), ("all", 0..900)] {
        shell.write("keys", numbers(range));
        let args = [
            "build", "-q", "--format", "spark", "--as", "long", "-n", "1000", "-p", "1%", "-o", name, "keys",
        ];
        shell.ok(&args);
    }
    shell.ok(&["merge", "-q", "-o", "merged", "a", "b"]);
    assert_eq!(shell.read("merged"), shell.read("all"));
    let diff: Value = serde_json::from_slice(&shell.ok(&["diff", "--json", "a", "b"])).unwrap();
    assert!((diff["common"].as_f64().unwrap() - 300.0).abs() < 60.0, "{diff}");
    assert!((diff["union"].as_f64().unwrap() - 900.0).abs() < 40.0, "{diff}");
    let run = shell.run(&["merge", "-o", "x", "a", "spark_bloom_v2_i64.bin"]);
    assert!(
        run.complaint().contains("spark_bloom_v2_i64.bin and a have different numbers of bits"),
        "{}",
        run.err
    );
    let run = shell.run(&["merge", "-o", "x", "a", "guava_mitz64_i64.bin"]);
    assert!(run.complaint().contains("have different formats (guava and spark)"), "{}", run.err);
    let truth: String = (0..1000).map(|key| format!("{} {key}\n", u64::from(key < 600))).collect();
    let run = shell.pipe(truth.as_bytes(), &["eval", "--json", "--as", "long", "a"]);
    let verdict: Value = serde_json::from_slice(&run.out).unwrap();
    assert_eq!((&verdict["present"], &verdict["false_negatives"]), (&600.into(), &0.into()));
    assert!(verdict["false_positives"].as_u64().unwrap() < 30, "{verdict}");
}

#[test]
fn filters_that_are_not_merged_are_compared_by_their_bits() {
    let shell = shell();
    for format in ["bip37", "redisbloom"] {
        for (name, range) in [("a", 0..600), ("b", 300..900)] {
            shell.write("keys", numbers(range));
            let args =
                ["build", "-q", "--force", "--format", format, "-n", "1000", "-p", "1%", "-o", name, "keys"];
            shell.ok(&args);
        }
        let diff: Value = serde_json::from_slice(&shell.ok(&["diff", "--json", "a", "b"])).unwrap();
        assert!((diff["common"].as_f64().unwrap() - 300.0).abs() < 60.0, "{format}: {diff}");
        assert!((diff["union"].as_f64().unwrap() - 900.0).abs() < 40.0, "{format}: {diff}");
    }
    // A filter and itself: all keys are in both.
    for name in
        ["rocksdb_bloom.sst", "parquet_pyarrow.parquet:id", "parquet_spark.parquet:name", "orc_spark.orc:id"]
    {
        let diff: Value = serde_json::from_slice(&shell.ok(&["diff", "--json", name, name])).unwrap();
        assert!(
            diff["items_a"].as_f64().unwrap() > 150.0 && diff["jaccard"].as_f64().unwrap() > 0.999,
            "{name}: {diff}"
        );
    }
    shell.write("keys", numbers(0..100));
    shell.ok(&["build", "-q", "--format", "redis-cuckoo", "-n", "1000", "-o", "cuckoo", "keys"]);
    let run = shell.run(&["diff", "cuckoo", "cuckoo"]);
    assert!(run.complaint().contains("is not one array of bits"), "{}", run.err);
    assert!(run.err.contains("gardenia build --format redis-cuckoo"), "{}", run.err);
}

#[test]
fn counts_are_those_of_the_program_that_made_the_sketch() {
    let (shell, expected) = (shell(), json("expected.json"));
    for (name, keys, kind) in
        [("spark_cms_i64.bin", "ints", "long"), ("spark_cms_str.bin", "strings", "string")]
    {
        let out = shell.ok(&["count", "-0", "--as", kind, name, keys]);
        let lines = out.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let counts: Vec<u64> = lines
            .map(|line| {
                let digits = line.split(|byte| *byte == b'\t').next().unwrap();
                std::str::from_utf8(digits).unwrap().parse().unwrap()
            })
            .collect();
        assert_eq!(serde_json::to_value(counts).unwrap(), expected[name]["estimates_of_keys"], "{name}");
    }
}

#[test]
fn a_column_may_have_a_colon_in_its_name() {
    let shell = shell();
    let mut bytes = shell.read("parquet_pyarrow.parquet");
    for at in 0..bytes.len() - 4 {
        if &bytes[at..at + 4] == b"name" {
            bytes[at..at + 4].copy_from_slice(b"n:me");
        }
    }
    shell.write("colon.parquet", bytes);
    assert_eq!(count(&shell, &["colon.parquet:n:me", "strings"]), 200);
}
