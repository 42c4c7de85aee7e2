"""Filters on Spark with two executor processes: what they hold, what is refused, and that they are those of every other front."""

import collections
import concurrent.futures
import datetime
import hashlib
import json
import logging
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import types

import gardenia
import gardenia.spark as gs
import numpy as np
import pyarrow as pa
import pyspark.sql.types as T
import pytest
import test_conformance as conformance
from cluster import log, no_job, spark  # noqa: F401 - fixtures
from conftest import KINDS
from pyspark import TaskContext
from pyspark.sql import functions as F

HERE = pathlib.Path(__file__).parent
CONFORMANCE = HERE.parents[3] / "conformance"
MERGED = [kind for kind in KINDS if kind.can("insert", "merge")]
SPEC = "blocked items=10000 fpp=1%"


def words(spark, count, partitions):
    return spark.range(0, count, 1, partitions).select(F.concat(F.lit("key "), F.col("id").cast("string")).alias("key"))


def command(*arguments, **options):
    return subprocess.run([os.environ["GARDENIA_CLI"], *arguments], check=True, capture_output=True, **options).stdout


def sha(data):
    return hashlib.sha256(data).hexdigest()


def payload(file):
    """The cells in a file: its header may hold notes."""
    header, length = struct.unpack_from("<I", file, 12)[0], struct.unpack_from("<Q", file, 48)[0]
    start = -(-header // 64) * 64
    return file[start : start + length]


def test_a_filter_is_that_of_the_command_and_each_serves_the_other(spark, tmp_path):
    lines = "".join(f"key {i}\n" for i in range(20_000)).encode()
    command("build", "-o", tmp_path / "command.gdn", "--kind", "blocked", "--items", "20000", "--fpp", "0.01", "-", input=lines)
    built = gs.build(words(spark, 20_000, 6), "key", "blocked items=20000 fpp=0.01")
    assert sha(payload(built.to_bytes())) == sha(payload((tmp_path / "command.gdn").read_bytes()))
    gs.build(words(spark, 20_000, 6), "key", "blocked items=20000 fpp=0.01", path=tmp_path / "spark.gdn")
    assert sorted(os.listdir(tmp_path)) == ["command.gdn", "spark.gdn"]
    assert (tmp_path / "spark.gdn").read_bytes() == built.to_bytes()
    # Executors ask the file of the command.
    probes = words(spark, 40_000, 4)
    found = probes.where(gs.contains(tmp_path / "command.gdn", "key")).count()
    assert found == int(built.contains_many([f"key {i}" for i in range(40_000)]).sum())


def rules(of):
    return [rule["text"].replace("{i}", str(i)) for rule in of for i in range(rule["from"], rule["to"])]


def test_the_vectors_of_all_kinds_that_can_be_merged(spark):
    cases = []
    for kind in MERGED:
        vectors = json.loads((CONFORMANCE / f"{kind.name}.json").read_text())
        online = [case for case in vectors["cases"] if "effort" not in case["asked"] or "effort=online" in case["asked"]]
        for case in online:
            if "merge" in gardenia.make(case["asked"]).abilities:
                cases.append((case, rules(vectors["keys"]), rules(vectors["probes"])))
            else:
                with pytest.raises(gardenia.UnsupportedError, match="two of them cannot be merged"):
                    gs.build(spark.range(9), "id", case["asked"])
    assert len(MERGED) == 9 and len(cases) > 60
    frames = {}
    for _, keys, _ in cases:
        text = "\n".join(keys)
        if text not in frames:
            rows = spark.createDataFrame(pa.table({"key": keys, "number": range(len(keys))}))
            # Three partitions of the keys in order, as the parts below.
            frame = rows.repartitionByRange(3, "number").sortWithinPartitions("number").select("key").localCheckpoint()
            parts = collections.defaultdict(list)
            for row in frame.select("key", F.spark_partition_id().alias("part")).collect():
                parts[row.part].append(row.key)
            frames[text] = frame, [parts[part] for part in sorted(parts)]
            assert len(parts) == 3

    def run(case):
        case, keys, probes = case
        frame, parts = frames["\n".join(keys)]
        built = gs.build(frame, "key", case["asked"])
        merged = None
        for part in parts:
            one = gardenia.make(case["asked"])
            one.update(part)
            if merged is None:
                merged = one
            else:
                merged.merge(one)
        assert built.to_bytes() == merged.to_bytes(), case["asked"]
        exact = sha(merged.to_bytes()) == case["file_sha256"]
        if not exact:  # what such a filter holds depends on the order of its keys, so all of them come in one part
            built = gs.build(spark.createDataFrame(pa.table({"key": keys})), "key", case["asked"], partitions=1)
        assert sha(built.to_bytes()) == case["file_sha256"], case["asked"]
        return built, exact

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        built = list(pool.map(run, cases))
    assert sum(exact for _, exact in built) > len(cases) * 2 // 3
    # All answers in one query for each list of probes.
    for text in {"\n".join(probes) for _, _, probes in cases}:
        probes = text.split("\n")
        asked = [(filter, case) for (filter, _), (case, _, ours) in zip(built, cases) if ours == probes]
        rows = spark.createDataFrame(pa.table({"key": probes, "number": range(len(probes))}))
        columns = [gs.contains(filter, "key").cast("int").alias(f"found{i}") for i, (filter, _) in enumerate(asked)]
        counts = [gs.count(filter, "key").alias(f"count{i}") for i, (filter, case) in enumerate(asked) if "counts" in case]
        answers = rows.select("number", *columns, *counts).toArrow().sort_by("number")
        for i, (_, case) in enumerate(asked):
            assert "".join(map(str, answers[f"found{i}"].to_pylist())) == case["found"], case["asked"]
            if "counts" in case:
                assert answers[f"count{i}"].to_pylist() == case["counts"], case["asked"]


def test_the_vectors_of_all_other_kinds_are_asked(spark):
    """Kinds that Spark cannot build are built here, and asked there."""
    asked = collections.defaultdict(list)
    for kind in [kind for kind in KINDS if kind not in MERGED]:
        vectors = json.loads((CONFORMANCE / f"{kind.name}.json").read_text())
        for case in vectors["cases"]:
            asked["\n".join(rules(vectors["probes"]))].append((conformance.build(kind, vectors, case["asked"]), case))
    assert sum(map(len, asked.values())) > 3 * (len(KINDS) - len(MERGED))
    for probes, cases in asked.items():
        probes = probes.split("\n")
        rows = spark.createDataFrame(pa.table({"key": probes, "number": range(len(probes))}))
        columns = [gs.contains(filter, "key").cast("int").alias(f"found{i}") for i, (filter, _) in enumerate(cases)]
        counts = [gs.count(filter, "key").alias(f"count{i}") for i, (filter, case) in enumerate(cases) if "counts" in case]
        answers = rows.select("number", *columns, *counts).toArrow().sort_by("number")
        for i, (_, case) in enumerate(cases):
            assert "".join(map(str, answers[f"found{i}"].to_pylist())) == case["found"], case["asked"]
            if "counts" in case:
                assert answers[f"count{i}"].to_pylist() == case["counts"], case["asked"]


UTC = datetime.timezone.utc
NAIVE = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
# Every type of Spark that has canonical bytes, with values as Python has them.
TYPES = {
    "tinyint": (T.ByteType(), [-128, 7, 127]),
    "smallint": (T.ShortType(), [-32768, 7]),
    "int": (T.IntegerType(), [-(2**31), 7]),
    "bigint": (T.LongType(), [-(2**63), 7, 2**63 - 1]),
    "float": (T.FloatType(), [1.5, -0.0, float("inf")]),
    "double": (T.DoubleType(), [0.1, 1e300, -0.0]),
    "boolean": (T.BooleanType(), [True, False]),
    "string": (T.StringType(), ["", "rose", "Тюльпан 🌷"]),
    "varchar(9)": (T.VarcharType(9), ["rose"]),
    "binary": (T.BinaryType(), [b"", b"\0\xff", b"rose"]),
    "timestamp": (T.TimestampType(), [NAIVE, datetime.datetime(1969, 12, 31, 23, 59, 59, 1)]),
    "timestamp_ntz": (T.TimestampNTZType(), [NAIVE]),
}


def test_every_type_that_has_canonical_bytes(spark):
    columns, expected = [], {}
    for i, (type, values) in enumerate(TYPES.values()):
        values = [value.replace(tzinfo=UTC) if isinstance(type, T.TimestampType) else value for value in values]
        columns.append((f"c{i}", type, values))
        expected[f"c{i}"] = gardenia.make(SPEC)
        expected[f"c{i}"].update(values)
    longest = max(len(values) for _, _, values in columns) + 1  # at least one NULL in each
    rows = [tuple(values[i] if i < len(values) else None for _, _, values in columns) for i in range(longest)]
    schema = T.StructType([T.StructField(name, T.StringType() if isinstance(type, T.VarcharType) else type) for name, type, _ in columns])
    frame = spark.createDataFrame(rows, schema)
    for name, type, _ in columns:
        if isinstance(type, T.VarcharType):
            frame = frame.withColumn(name, F.col(name).cast("varchar(9)"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        built = dict(zip(expected, pool.map(lambda name: gs.build(frame, name, SPEC, nulls="skip"), expected)))
    assert {name: filter.to_bytes() == expected[name].to_bytes() for name, filter in built.items()} == dict.fromkeys(expected, True)
    asked = frame.select(*[gs.contains(filter, name).alias(name) for name, filter in built.items()]).toArrow()
    for name, _, values in columns:
        answers = asked[name].to_pylist()
        assert sorted(answers, key=str) == [None] * (longest - len(values)) + [True] * len(values), name


@pytest.mark.parametrize("type", ["date", "decimal(9,2)", "array<int>", "map<string,int>", "struct<a:int>", "interval day to second"])
def test_other_types_are_refused_before_a_job_starts(spark, no_job, type):
    frame = spark.sql(f"select cast(null as {type}) as x")
    with pytest.raises(TypeError, match="column x: .* hint: .*cast it to text"):
        gs.build(frame, "x", SPEC)
    with pytest.raises(TypeError, match="column x: .* hint: .*cast it to text"):
        gs.dedup(frame, "x")


def test_the_guide_lists_the_types():
    guide = (HERE.parents[3] / "docs" / "engines.md").read_text()
    listed = re.search(r"Types with canonical bytes: (.*?)\.\s", guide, re.DOTALL)[1]
    assert set(re.findall(r"`([A-Z_]+)`", listed)) == {name.split("(")[0].upper() for name in TYPES}


def test_missing_values(spark):
    frame = spark.createDataFrame([(1.5,), (None,), (float("nan"),)], "x double").coalesce(1)
    with pytest.raises(gardenia.MissingError, match="element 1 is missing"):
        gs.build(frame, "x", SPEC)
    skipped = gs.build(frame, "x", SPEC, nulls="skip")
    assert skipped == gardenia.make(SPEC, [1.5])
    assert gs.build(frame, "x", SPEC, nulls="key") == gardenia.make(SPEC, [1.5, None, float("nan")], nulls="key")
    ask = lambda nulls: frame.select(gs.contains(skipped, "x", nulls=nulls)).toArrow()[0].to_pylist()
    assert ask("null") == [True, None, False] and ask("skip") == [True, False, False] and ask("key") == [True, False, False]
    with pytest.raises(Exception, match="MissingError: element 1 is missing"):
        ask("error")
    with pytest.raises(ValueError, match="nulls is 'no'"):
        gs.build(frame, "x", SPEC, nulls="no")
    with pytest.raises(ValueError, match="nulls is 'no'"):
        gs.contains(skipped, "x", nulls="no")


def test_no_rows_and_one_row(spark, tmp_path):
    none = spark.range(0, 0, 1, 4)
    assert gs.build(none, "id", SPEC).to_bytes() == gardenia.make(SPEC).to_bytes()
    gs.build(none, "id", SPEC, path=tmp_path / "none.gdn")
    assert os.listdir(tmp_path) == ["none.gdn"] and gardenia.open(tmp_path / "none.gdn") == gardenia.make(SPEC)
    assert gs.dedup(none, "id").count() == 0 and none.select(gs.contains(gardenia.make(SPEC), "id")).count() == 0
    one = spark.range(7, 8, 1, 4)  # one row, and three partitions without any
    assert gs.build(one, "id", SPEC) == gardenia.make(SPEC, [7])
    assert gs.build(one, F.col("id") + 1, SPEC, depth=1) == gardenia.make(SPEC, [8])
    assert gs.build(one, "id", SPEC, depth=3, partitions=2) == gardenia.make(SPEC, [7])


@pytest.mark.parametrize(
    "spec, options, message",
    [
        ("blocked items=1000 fpp=2", {}, "fpp is"),
        ("blocked items=1000", {"fpp": 2.0}, "fpp is"),
        ("blocked", {}, "give items"),
        ("bloom items=1000 width=4", {}, "width"),
        ("blocked", {"columns": 3}, "columns"),
        ("choice items=1000 effort=rounds", {}, "effort"),
        ("thistle items=1000", {}, "thistle"),
        ("", {}, "kind"),
    ],
)
def test_a_wrong_spec_is_refused_before_a_job_starts(spark, no_job, spec, options, message):
    with pytest.raises((gardenia.SpecError, TypeError), match=message):
        gs.build(spark.range(9), "id", spec, **options)


def test_kinds_that_cannot_be_merged_are_refused_before_a_job_starts(spark, no_job):
    refused = [kind for kind in KINDS if kind not in MERGED]
    assert len(refused) > 8
    for kind in refused:
        reason = "built from all its keys at once" if kind.can("fixed") else "cannot be merged"
        with pytest.raises(gardenia.UnsupportedError, match=f"{kind.name} cannot be built in parts: .*{reason}. hint: use one of bloom"):
            gs.build(spark.range(9), "id", f"{kind.name} items=100" if "items" in kind.options else kind.name)
    for format, message in [("bip37", "cannot be built in parts"), ("orc", "cannot be built in parts"), ("thistle", "no format is called")]:
        with pytest.raises((gardenia.UnsupportedError, gardenia.SpecError), match=message):
            gs.build(spark.range(9), "id", format=format, items=9)
    with pytest.raises(gardenia.SpecError, match="items is missing"):
        gs.build(spark.range(9), "id", format="spark")
    with pytest.raises(TypeError, match="a spec or a format"):
        gs.build(spark.range(9), "id")
    with pytest.raises(gardenia.UnsupportedError, match="count-min|cannot count"):
        gs.count(gardenia.make(SPEC), "id")
    with pytest.raises(Exception, match="thistle"):
        gs.build(spark.range(9), "thistle", SPEC)
    with pytest.raises(ValueError, match="depth is 0"):
        gs.build(spark.range(9), "id", SPEC, depth=0)


def test_another_version_on_the_workers_is_refused(spark, monkeypatch):
    ours = gardenia.__version__
    monkeypatch.setattr(gardenia, "__version__", "9.9.9")
    message = f"the driver has gardenia 9.9.9, and a worker has {ours}. hint: install the same version on both"
    with pytest.raises(gardenia.UnsupportedError, match=message):
        gs.build(spark.range(9), "id", SPEC)
    with pytest.raises(Exception, match=message):
        spark.range(9).select(gs.contains(gardenia.make(SPEC), "id")).collect()


def test_the_cost_is_known_before_the_job(spark, no_job, caplog):
    cost = gs.cost("blocked", items=1_000_000, fpp=0.01)
    size = gardenia.size("blocked items=1M fpp=1%")
    assert (cost.spec, cost.filter_bytes, cost.executor_tasks) == (size["spec"], size["file_bytes"], 1)
    assert cost.executor_bytes == 3 * size["file_bytes"] and "3.7 MB on an executor of 1 tasks" in str(cost)
    # As logging is without being set up: from warnings on.
    assert logging.getLogger("gardenia.spark").getEffectiveLevel() == logging.WARNING
    with pytest.raises(Exception, match="stop here"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gs, "_task", lambda *_: (_ for _ in ()).throw(Exception("stop here")))
            gs.build(spark.range(9), "id", "blocked items=1M fpp=1%")
    assert str(cost) in caplog.text


@pytest.mark.parametrize(
    "master, cores, cpus, tasks, at_least",
    [
        ("local", "", 1, 1, False),
        ("local[3]", "", 1, 3, False),
        ("local[3, 5]", "1", 1, 3, False),
        ("local[*]", "", 1, os.cpu_count(), False),
        ("local-cluster[2,4,1024]", "", 1, 4, False),
        ("local-cluster[2, 4, 1024]", "3", 1, 3, False),
        ("yarn", "", 1, 1, False),
        ("k8s://https://10.0.0.1", "", 1, 1, False),
        ("spark://10.0.0.1:7077", "", 1, 1, True),
        ("spark://10.0.0.1:7077", "8", 2, 4, False),
    ],
)
def test_the_cost_counts_the_cores_of_an_executor(monkeypatch, master, cores, cpus, tasks, at_least):
    settings = {"spark.master": master, "spark.task.cpus": str(cpus)} | ({"spark.executor.cores": cores} if cores else {})
    session = types.SimpleNamespace(conf=settings)
    monkeypatch.setattr(gs, "SparkSession", types.SimpleNamespace(active=lambda: session))
    cost = gs.cost("blocked items=1M fpp=1%")
    assert (cost.executor_tasks, cost.at_least) == (tasks, at_least)
    assert ("at least 3.7 MB on an executor of 1 tasks; it may run more" in str(cost)) == at_least


def test_a_relative_path_is_that_of_the_driver(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filters, written = gs._filters, []
    monkeypatch.setattr(gs, "_filters", lambda batches: written.extend(os.listdir(tmp_path)) or filters(batches))
    gs.build(spark.range(0, 9, 1, 2), "id", SPEC, path="relative.gdn")
    # The worker, whose directory is another one, wrote here, too.
    assert [name.startswith("relative.gdn.") for name in written] == [True]
    assert os.listdir(tmp_path) == ["relative.gdn"]
    assert gardenia.open("relative.gdn") == gardenia.make(SPEC, range(9))


def test_a_job_that_fails_leaves_no_file(spark, tmp_path, monkeypatch):
    def lost(batches):
        assert [name.startswith("f.gdn.") for name in os.listdir(tmp_path)] == [True]  # that of the last task
        raise ConnectionError("the driver lost the result")

    monkeypatch.setattr(gs, "_filters", lost)
    with pytest.raises(ConnectionError, match="lost the result"):
        gs.build(spark.range(9), "id", SPEC, path=tmp_path / "f.gdn")
    assert os.listdir(tmp_path) == []


def test_a_filter_is_read_once_by_a_process_and_mapped_if_it_is_large(spark):
    small, large = gardenia.make(SPEC, range(100)), gardenia.make("bloom bits=600000000 hashes=2", range(100))
    assert len(small.to_bytes()) < gs.MAPPED < len(large.to_bytes())
    sent = [gs._sending(filter) for filter in (small, large)]

    def look(batches):
        from gardenia import spark as worker

        filters = [worker._open(name, size, None, None) for name, size in sent]
        again = [worker._open(name, size, None, None) for name, size in sent]
        same = all(one is other for one, other in zip(filters, again))
        list(batches)
        yield pa.RecordBatch.from_pydict({"pid": [os.getpid()], "mapped": [[f.mapped for f in filters] == [False, True]], "same": [same]})

    rows = spark.range(0, 8, 1, 8).mapInArrow(look, "pid bigint, mapped boolean, same boolean").collect()
    assert len(rows) == 8 and all(row.mapped and row.same for row in rows)
    found = spark.range(0, 200, 1, 4).select(gs.contains(small, "id").alias("s"), gs.contains(large, "id").alias("l")).toArrow()
    assert found["l"].to_pylist() == [i < 100 for i in range(200)] and sum(found["s"].to_pylist()) in range(100, 110)


def test_a_filter_that_could_not_be_sent_is_sent_again(spark, monkeypatch):
    filter = gardenia.make(SPEC, ["a filter that no other test sends"])
    send, calls = type(spark).addArtifacts, []

    def failing(session, *paths, **options):
        calls.append(paths)
        if len(calls) == 1:
            raise ConnectionError("no network")
        return send(session, *paths, **options)

    monkeypatch.setattr(type(spark), "addArtifacts", failing)
    with pytest.raises(ConnectionError):
        gs.contains(filter, "id")
    column = gs.contains(filter, "key")
    assert len(calls) == 2 and calls[0] == calls[1]
    gs.contains(filter, "key")
    assert len(calls) == 2
    rows = spark.createDataFrame([("a filter that no other test sends",), ("thistle",)], "key string")
    assert [row[0] for row in rows.select(column).collect()] == [True, False]


def test_a_keyed_filter(spark):
    secret = bytes(range(16))
    built = gs.build(spark.range(100), "id", SPEC, secret=secret)
    assert built.to_bytes() == gardenia.make(SPEC, np.arange(100), secret=secret).to_bytes()
    assert spark.range(100).where(gs.contains(built, "id", secret=secret)).count() == 100


def test_sketches(spark):
    # Key k occurs 100·(k + 1) times.
    rows = spark.range(0, 10, 1, 4).select(F.explode(F.sequence(F.lit(1), 100 * (F.col("id") + 1))).alias("n"), "id").select("id")
    counted = gs.build(rows, "id", "count-min epsilon=0.001 update=plain width=32")
    counts = spark.range(12).coalesce(1).select(gs.count(counted, "id")).toArrow()[0].to_pylist()
    assert counts == [100 * (i + 1) for i in range(10)] + [0, 0]
    top = gs.top(rows, "id", 3)
    assert [key for key, _, _ in top.most_common(3, type=int)] == [9, 8, 7] and top.total == 5500
    assert gs.distinct_estimate(spark.range(0, 10_000, 1, 4), "id", "bloom items=10000") == pytest.approx(10_000, rel=0.02)
    with pytest.raises(gardenia.MissingError):
        gs.top(spark.createDataFrame([(None,), (1,)], "x long"), "x")


def test_dedup_keeps_one_row_for_each_key(spark):
    rows = spark.range(0, 60_000, 1, 4).select((F.col("id") % 20_000).cast("string").alias("key"), "id")
    kept = gs.dedup(rows, "key").toArrow()
    assert kept.schema.names == ["key", "id"] and len(set(kept["key"].to_pylist())) == kept.num_rows == 20_000
    assert all(int(key) == i % 20_000 for key, i in zip(kept["key"].to_pylist(), kept["id"].to_pylist()))
    # A share of the keys is lost, and not more than was asked for: five standard deviations of 20,000 trials.
    lossy = gs.dedup(rows, F.col("key"), fpp=0.05)
    lost = 1 - lossy.count() / 20_000
    assert lossy.groupBy("key").count().where("count > 1").count() == 0 and 0 < lost < 0.05 + 5 * (0.05 * 0.95 / 20_000) ** 0.5
    gaps = spark.createDataFrame([(None,), (1,), (None,), (1,)], "x long")
    assert gs.dedup(gaps, "x", nulls="key").count() == 2 and gs.dedup(gaps, "x", nulls="skip").count() == 1
    with pytest.raises(gardenia.SpecError, match="fpp is 0"):
        gs.dedup(gaps, "x", fpp=0)


def test_dedup_by_an_expression(spark):
    """The key is what the expression gives, whatever column has its name; the rows stay as they are."""
    rows = spark.createDataFrame([("Ann", 1, {"at": 7}), ("ann", 2, {"at": 7}), ("Bob", 3, {"at": 8})], "user string, n int, s struct<at: int>")
    kept = lambda column: sorted(row.n for row in gs.dedup(rows, column).collect())
    two = ([1, 3], [2, 3])
    assert kept(F.lower("user").alias("user")) in two and kept(F.lower("user")) in two
    assert kept(F.lower("user").alias("n")) in two and kept(F.lower("user").alias("thistle")) in two
    assert kept("user") == kept("USER") == kept(F.col("User")) == [1, 2, 3]
    assert kept("s.at") in two and len(kept((F.col("n") % 2).cast("string").alias("n"))) == 2
    assert gs.dedup(rows, F.lower("user")).schema == rows.schema
    with pytest.raises(TypeError, match="column lower"):
        gs.dedup(rows, F.array(F.lower("user")).alias("lower"))


def test_the_jvm_reads_our_filters_and_gives_the_same_answers(spark):
    jvm = spark._jvm
    sketch = jvm.org.apache.spark.util.sketch.BloomFilter
    for column, method in [("id", "mightContainLong"), ("key", "mightContainString")]:
        frame = words(spark, 3000, 4).withColumn("id", F.monotonically_increasing_id()) if column == "key" else spark.range(0, 3000, 1, 4)
        built = gs.build(frame, column, format="spark", items=3000, fpp=0.03)
        read = sketch.readFrom(jvm.java.io.ByteArrayInputStream(gs.to_spark(built)))
        probes = [f"key {i}" if column == "key" else i for i in range(2800, 3300)]
        answers = [getattr(read, method)(probe) for probe in probes]
        assert answers == built.contains_many(probes).tolist() and all(answers[:200]) and sum(answers[200:]) < 40
        # Spark's own filter of the same rows has the same bytes.
        theirs = frame._jdf.stat().bloomFilter(column, 3000, 0.03)
        stream = jvm.java.io.ByteArrayOutputStream()
        theirs.writeTo(stream)
        assert bytes(stream.toByteArray()) == gs.to_spark(built)
        # Executors ask it, too.
        found = frame.select(gs.contains(built, column)).toArrow()[0].to_pylist()
        assert found == [True] * 3000
    with pytest.raises(gardenia.UnsupportedError, match="Spark hashes keys in its own way.*format=\"spark\""):
        gs.to_spark(gardenia.make(SPEC))


def test_only_public_interfaces_are_used():
    source = pathlib.Path(gs.__file__).read_text()
    assert re.findall(r"\._jdf|\._jvm|\._sc\b|\._jsc|\._jsparkSession|sparkContext|\.rdd\b|\.broadcast\(", source) == []


def test_it_runs_over_spark_connect():
    done = subprocess.run([sys.executable, "-B", HERE / "connect.py"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("connected\n"), done.stdout + done.stderr


def test_a_speculative_copy_counts_nothing_twice():
    done = subprocess.run([sys.executable, "-B", HERE / "speculation.py"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("speculated\n"), done.stdout + done.stderr


def test_a_repeated_task_counts_nothing_twice(spark, log):
    def failing(batches):
        yield from batches
        context = TaskContext.get()
        if context.partitionId() == 3 and context.attemptNumber() == 0:
            raise RuntimeError("on the first attempt")

    rows = spark.range(0, 4000, 1, 4).selectExpr("id % 100 as id").mapInArrow(failing, "id bigint")
    built = gs.build(rows, "id", "counting items=100 width=8")
    assert built.to_bytes() == gardenia.make("counting items=100 width=8", np.arange(4000) % 100).to_bytes()
    assert any("on the first attempt" in json.dumps(task["Task End Reason"]) for task in log.events("TaskEnd"))


def executors(spark):
    """Process ids of this session's executors."""
    application = spark.sparkContext.applicationId
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().decode().split("\0")
        except OSError:
            continue
        if application in arguments and "--executor-id" in arguments and arguments[0].endswith("java"):
            found[arguments[arguments.index("--executor-id") + 1]] = int(path.parent.name)
    return found


def test_a_killed_executor_leaves_the_filter_right(spark, log):
    def steady(batches):
        time.sleep(2)
        yield from batches

    rows = words(spark, 16_000, 8).mapInArrow(steady, "key string")
    tracker = spark.sparkContext.statusTracker()
    before, running = set(tracker.getJobIdsForGroup()), executors(spark)
    for _ in range(600):  # one that an earlier test lost may not be back yet
        if len(running) == 2:
            break
        time.sleep(0.1)
        running = executors(spark)
    assert len(running) == 2
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        building = pool.submit(gs.build, rows, "key", "counting items=16000 width=8")
        done = 0
        while done == 0:
            assert not building.done()
            time.sleep(0.1)
            jobs = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - before]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            done = max((stage.numCompletedTasks for stage in stages if stage and stage.numTasks == 8), default=0)
        victim = sorted(running)[0]
        os.kill(running[victim], 9)
        built = building.result()
    expected = gardenia.make("counting items=16000 width=8", [f"key {i}" for i in range(16_000)])
    assert built.to_bytes() == expected.to_bytes()
    # By the event log: some of the eight tasks had ended when the executor was lost, and others had not.
    events = log.events("TaskEnd", "ExecutorRemoved")
    lost = next(at for at, event in enumerate(events) if event["Event"].endswith("ExecutorRemoved") and event["Executor ID"] == victim)
    stage = max(stage.stageId for stage in stages if stage and stage.numTasks == 8)
    ended = [at for at, event in enumerate(events) if event.get("Stage ID") == stage and event["Task End Reason"]["Reason"] == "Success"]
    assert sum(at < lost for at in ended) >= 1 and sum(at > lost for at in ended) >= 1
