"""Real programs and the command read each other's filters and give the same answers.

Each test names what is written by whom. Run by `run` beside this file, which installs the programs.
"""

import datetime
import decimal
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

GARDENIA = os.environ["GARDENIA_CLI"]
DATA = pathlib.Path(__file__).resolve().parents[3] / "gardenia/tests/data/interop"
KEYS = json.loads((DATA / "keys.json").read_text())
INTS, TEXTS = KEYS["ints"], KEYS["strings"]
ABSENT_INTS = json.loads((DATA / "probes_ints.json").read_text())
ABSENT_TEXTS = json.loads((DATA / "probes_strings.json").read_text())


def gardenia(*args, lines=None, fails=False):
    """The command's output."""
    text = None if lines is None else b"".join(str(line).encode() + b"\0" for line in lines)
    done = subprocess.run([GARDENIA, *map(str, args)], input=text, capture_output=True)
    # 1 is "nothing found".
    if (done.returncode > 1) != fails:
        raise AssertionError(f"{args}: {done.returncode}: {done.stderr.decode()}")
    return done.stderr.decode() if fails else done.stdout


def found(path, values, *args):
    """Which of these values the command finds in a filter."""
    numbered = [f"{at}\t{value}" for at, value in enumerate(values)]
    out = gardenia("query", "-0", "-f", "2", *args, path, lines=numbered)
    return {int(line.split(b"\t")[0]) for line in out.split(b"\0") if line}


def build(path, form, values, *args):
    gardenia("build", "-0", "--force", "-q", "-n", len(values), "--format", form, "-o", path, *args, lines=values)
    return pathlib.Path(path).read_bytes()


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.there = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.there.name)

    @classmethod
    def tearDownClass(cls):
        cls.there.cleanup()

    def info(self, path):
        return json.loads(gardenia("info", "--json", path))


class Pyarrow(Programs):
    def test_files_with_many_types_row_groups_and_nested_columns_are_listed_and_asked(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = range(3000)
        day = datetime.date(2020, 1, 1)
        start = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
        columns = {
            "i64": (pa.array([7 * i for i in rows], pa.int64()), lambda i: 7 * i),
            "i32": (pa.array([7 * i for i in rows], pa.int32()), lambda i: 7 * i),
            "i8": (pa.array([i % 100 for i in rows], pa.int8()), lambda i: i % 100),
            "u32": (pa.array([2**32 - 1 - i for i in rows], pa.uint32()), lambda i: 2**32 - 1 - i),
            "u64": (pa.array([2**64 - 1 - i for i in rows], pa.uint64()), lambda i: 2**64 - 1 - i),
            "f32": (pa.array([i / 8 for i in rows], pa.float32()), lambda i: i / 8),
            "f64": (pa.array([i / 10 for i in rows], pa.float64()), lambda i: repr(i / 10)),
            "text": (pa.array([f"key {i} ü" for i in rows]), lambda i: f"key {i} ü"),
            "bytes": (pa.array([f"b{i}".encode() for i in rows], pa.binary()), lambda i: f"b{i}"),
            "fixed": (pa.array([i.to_bytes(3, "big") for i in rows], pa.binary(3)), lambda i: i.to_bytes(3, "big").hex()),
            "day": (pa.array([day + datetime.timedelta(i) for i in rows]), lambda i: day + datetime.timedelta(i)),
            "ms": (pa.array([start + datetime.timedelta(milliseconds=i) for i in rows], pa.timestamp("ms", "UTC")),
                   lambda i: (start + datetime.timedelta(milliseconds=i)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
            "us": (pa.array([start + datetime.timedelta(microseconds=i) for i in rows], pa.timestamp("us")),
                   lambda i: (start + datetime.timedelta(microseconds=i)).strftime("%Y-%m-%d %H:%M:%S.%f")),
            "time": (pa.array([datetime.time(i // 60 % 24, i % 60) for i in rows], pa.time32("ms")),
                     lambda i: datetime.time(i // 60 % 24, i % 60)),
            "price": (pa.array([decimal.Decimal(i) / 100 for i in rows], pa.decimal128(20, 2)), lambda i: decimal.Decimal(i) / 100),
        }
        nested = pa.StructArray.from_arrays([pa.StructArray.from_arrays([columns["i64"][0]], ["c"])], ["b"])
        table = pa.table({**{name: array for name, (array, _) in columns.items()}, "a": nested})
        path = self.dir / "types.parquet"
        names = [*columns, "a.b.c"]
        options = {name: {"ndv": 1000, "fpp": 0.01} for name in names}
        pq.write_table(table, path, row_group_size=1000, bloom_filter_options=options)
        listed = self.info(path)
        self.assertEqual((listed["format"], listed["row_groups"], listed["rows"]), ("parquet-file", 3, 3000))
        groups = {(row["row_group"], row["column"]) for row in listed["filters"]}
        self.assertEqual(groups, {(group, name) for group in range(3) for name in names})
        for row in listed["filters"]:
            expected = 1000 if row["column"] not in ("i8",) else 100
            self.assertAlmostEqual(row["estimated_items"], expected, delta=0.15 * expected, msg=row)
            self.assertLess(row["fpp"], 0.03)
        for name in names:
            value = columns.get(name, columns["i64"])[1]
            self.assertEqual(found(f"{path}:{name}", [value(i) for i in rows]), set(rows), name)
            # One row group knows a third of them.
            some = found(f"{path}:{name}", [value(i) for i in rows], "--row-group", 1)
            self.assertLessEqual(set(range(1000, 2000)), some, name)
            if name not in ("i8", "time"):
                self.assertLess(len(some), 1200, name)
        error = gardenia("query", path, lines=[1], fails=True)
        self.assertIn("several columns have filters", error)
        self.assertIn("there is no column x", gardenia("query", f"{path}:x", lines=[1], fails=True))
        self.assertIn("is not a date such as", gardenia("query", f"{path}:day", lines=["2020-13-01"], fails=True))

    def test_the_filter_that_is_built_is_the_one_that_pyarrow_writes(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        for name, values, array in [("long", INTS, pa.array(INTS, pa.int64())), ("string", TEXTS, pa.array(TEXTS))]:
            path = self.dir / f"{name}.parquet"
            pq.write_table(pa.table({"k": array}), path, bloom_filter_options={"k": {"ndv": 200, "fpp": 0.02}})
            ours = build(self.dir / "k.sbbf", "parquet", values, "--as", name, "--fpp", "0.02")
            self.assertIn(ours, path.read_bytes(), name)
            gardenia("convert", "--force", "-q", "--to", "parquet", "-o", self.dir / "cut.sbbf", f"{path}:k")
            self.assertEqual((self.dir / "cut.sbbf").read_bytes(), ours)
            gardenia("convert", "--force", "-q", "--to", "sbbf", "-o", self.dir / "k.gdn", f"{path}:k")
            gardenia("convert", "--force", "-q", "--to", "parquet", "-o", self.dir / "back.sbbf", self.dir / "k.gdn")
            self.assertEqual((self.dir / "back.sbbf").read_bytes(), ours)


class DuckDb(Programs):
    def test_the_command_agrees_with_parquet_bloom_probe_on_10000_values(self):
        import duckdb

        path = self.dir / "duck.parquet"
        db = duckdb.connect()
        db.execute("create table t as select (i * 7) % 5000 as id, 'name ' || (i % 3000) as name from range(100000) r(i)")
        db.execute(f"copy t to '{path}' (format parquet, row_group_size 25000)")
        listed = self.info(path)
        self.assertGreaterEqual(listed["row_groups"], 4)
        self.assertEqual({row["column"] for row in listed["filters"]}, {"id", "name"})
        for column, values in [("id", list(range(-2500, 7500))), ("name", [f"name {i}" for i in range(10000)])]:
            theirs = {}
            for at, value in enumerate(values):
                rows = db.execute("select row_group_id, bloom_filter_excludes from parquet_bloom_probe(?, ?, ?)",
                                  [str(path), column, value]).fetchall()
                for group, excludes in rows:
                    theirs.setdefault(group, set())
                    if not excludes:
                        theirs[group].add(at)
            self.assertEqual(len(theirs), listed["row_groups"])
            with_filter = {row["row_group"] for row in listed["filters"] if row["column"] == column}
            self.assertGreaterEqual(len(with_filter), 3)
            for group, positives in theirs.items():
                if group not in with_filter:
                    self.assertEqual(len(positives), len(values))
                    continue
                self.assertEqual(found(f"{path}:{column}", values, "--row-group", group), positives, (column, group))
            self.assertEqual(found(f"{path}:{column}", values), set().union(*theirs.values()))


class RocksDb(Programs):
    def test_the_filter_of_a_table_finds_keys_of_all_lengths(self):
        from rocksdict import BlockBasedOptions, Options, SstFileWriter

        options, table = Options(raw_mode=True), BlockBasedOptions()
        table.set_bloom_filter(12, False)
        table.set_format_version(5)
        options.set_block_based_table_factory(table)
        keys = sorted({("%x" % (i * 2654435761)) * (1 + i % 40) for i in range(1, 2000)})
        writer, path = SstFileWriter(options=options), self.dir / "keys.sst"
        writer.open(str(path))
        for key in keys:
            writer[key.encode()] = b"v"
        writer.finish()
        self.assertEqual(found(path, keys), set(range(len(keys))))
        self.assertLess(len(found(path, [f"absent {i}" for i in range(2000)])), 60)
        self.assertEqual(self.info(path)["format"], "rocksdb")


class Spark(Programs):
    """Spark, and Guava, Hive and DataSketches among its jars."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        from pyspark.sql import SparkSession

        cls.spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(cls.dir / "warehouse"))
            .getOrCreate()
        )
        cls.jvm = cls.spark._jvm

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()
        super().tearDownClass()

    def stream(self, data):
        return self.jvm.java.io.ByteArrayInputStream(bytearray(data))

    def agree(self, path, as_type, values, ask, *args):
        """Both give the same answers, and every key is found."""
        absent = ABSENT_INTS if as_type == "long" else ABSENT_TEXTS
        probes = values + absent
        positives = {at for at, value in enumerate(probes) if ask(value)}
        self.assertLessEqual(set(range(len(values))), positives)
        self.assertEqual(found(path, probes, "--as", as_type, *args), positives)

    def test_spark_reads_our_filters(self):
        read = self.jvm.org.apache.spark.util.sketch.BloomFilter.readFrom
        for form in ["spark", "spark-v1"]:
            path = self.dir / form
            longs = read(self.stream(build(path, form, INTS, "--as", "long", "-p", "3%")))
            self.agree(path, "long", INTS, longs.mightContainLong)
            texts = read(self.stream(build(path, form, TEXTS, "--as", "string", "-p", "3%")))
            self.agree(path, "string", TEXTS, texts.mightContainString)

    def test_spark_reads_our_sketches(self):
        path = self.dir / "sketch"
        gardenia("build", "-0", "-q", "--format", "spark-cms", "--as", "string", "--epsilon", "0.01", "--delta", "0.05", "-o", path, lines=TEXTS * 3)
        sketch = self.jvm.org.apache.spark.util.sketch.CountMinSketch.readFrom(self.stream(path.read_bytes()))
        self.assertEqual(sketch.totalCount(), 600)
        self.assertTrue(all(sketch.estimateCount(text) >= 3 for text in TEXTS))
        self.assertEqual(sum(sketch.estimateCount(text) == 3 for text in TEXTS) > 100, True)

    def test_guava_reads_our_filters(self):
        funnels = self.jvm.com.google.common.hash.Funnels
        utf8 = self.jvm.java.nio.charset.StandardCharsets.UTF_8
        read = self.jvm.com.google.common.hash.BloomFilter.readFrom
        for form in ["guava", "guava-32"]:
            path = self.dir / form
            longs = read(self.stream(build(path, form, INTS, "--as", "long", "-p", "3%")), funnels.longFunnel())
            boxed = self.jvm.java.util.stream.LongStream.of
            self.agree(path, "long", INTS, lambda key: boxed(key).boxed().anyMatch(longs))
            texts = read(self.stream(build(path, form, TEXTS, "--as", "string", "-p", "3%")), funnels.stringFunnel(utf8))
            self.agree(path, "string", TEXTS, texts.mightContain)
            wide = read(self.stream(build(path, form, TEXTS, "--as", "utf16", "-p", "3%")), funnels.unencodedCharsFunnel())
            self.agree(path, "utf16", TEXTS, wide.mightContain)

    def test_datasketches_and_the_command_read_each_others_filters(self):
        bloom = self.jvm.org.apache.datasketches.filters.bloomfilter
        wrap = self.jvm.org.apache.datasketches.memory.Memory.wrap
        path = self.dir / "datasketches"
        longs = bloom.BloomFilter.heapify(wrap(bytearray(build(path, "datasketches", INTS, "--as", "long", "-p", "3%"))))
        self.agree(path, "long", INTS, longs.query)
        some = [text for text in TEXTS if text]
        texts = bloom.BloomFilter.heapify(wrap(bytearray(build(path, "datasketches", some, "--as", "string", "-p", "3%"))))
        self.agree(path, "string", some, texts.query)
        theirs = bloom.BloomFilterBuilder.createByAccuracy(200, 0.03, 77)
        for text in some:
            theirs.update(text)
        path.write_bytes(bytes(theirs.toByteArray()))
        self.agree(path, "string", some, theirs.query)

    def test_hive_reads_our_filters(self):
        util = self.jvm.org.apache.hive.common.util
        # A BloomKFilter has a rate of its own.
        for form, kind, rate in [("hive", util.BloomFilter, ["-p", "3%"]), ("bloomk", util.BloomKFilter, [])]:
            path = self.dir / form
            longs = kind.deserialize(self.stream(build(path, form, INTS, "--as", "long", *rate)))
            self.agree(path, "long", INTS, longs.testLong, "--format", form)
            texts = kind.deserialize(self.stream(build(path, form, TEXTS, "--as", "string", *rate)))
            self.agree(path, "string", TEXTS, texts.testString, "--format", form)

    def test_spark_skips_row_groups_by_the_filters_that_python_adds(self):
        import gardenia.parquet
        import pyarrow as pa
        import pyarrow.parquet as pq

        keys = [i * 7919 % 100_003 for i in range(20_000)]
        table = pa.table({"key": keys, "name": [f"name {key}" for key in keys]})
        plain, with_filters = self.dir / "plain.parquet", self.dir / "with.parquet"
        # Without dictionaries and in random order: only filters can exclude a row group.
        pq.write_table(table, plain, row_group_size=5000, use_dictionary=False)
        gardenia.parquet.add_filters(plain, ["key", "name"], with_filters, fpp=1e-4)
        listed = self.info(with_filters)
        self.assertEqual(len(listed["filters"]), 8)
        self.assertEqual(len(found(f"{with_filters}:name", table["name"].to_pylist())), 20_000)

        def read(path, condition):
            """How many rows Spark finds, and how many it reads for them."""
            frame = self.spark.read.parquet(str(path)).where(condition)
            rows = frame.collect()
            plan = frame._jdf.queryExecution().executedPlan()
            scan = plan.collectLeaves().head()
            return len(rows), scan.metrics().apply("numOutputRows").value()

        absent = sorted(set(range(50_000, 50_100)) - set(keys))
        for condition in [f"key = {keys[7]}", f"name = 'name {keys[7]}'"]:
            self.assertEqual(read(plain, condition), (1, 20_000))
            self.assertEqual(read(with_filters, condition), (1, 5_000))
        for condition in [f"key = {absent[0]}", f"name = 'name {absent[0]}'"]:
            self.assertEqual(read(plain, condition), (0, 20_000))
            self.assertEqual(read(with_filters, condition), (0, 0))

    def test_filters_of_sparks_parquet_and_orc_files_are_listed_and_asked(self):
        rows = [(i, f"name {i}", i % 50, i / 10) for i in range(20000)]
        frame = self.spark.createDataFrame(rows, "id long, name string, small int, rate float").coalesce(1)
        parquet = self.dir / "parquet"
        (frame.write.option("parquet.bloom.filter.enabled#id", "true").option("parquet.bloom.filter.expected.ndv#id", "20000")
         .option("parquet.bloom.filter.enabled#name", "true").option("parquet.bloom.filter.expected.ndv#name", "20000")
         .parquet(str(parquet)))
        path = next(parquet.glob("*.parquet"))
        listed = self.info(path)
        self.assertEqual({row["column"] for row in listed["filters"]}, {"id", "name"})
        for row in listed["filters"]:
            self.assertAlmostEqual(row["estimated_items"], 20000, delta=400)
        self.assertIn("the column small has no filter", gardenia("query", f"{path}:small", lines=[1], fails=True))
        orc = self.dir / "orc"
        for codec in ["none", "zlib", "zstd", "lz4"]:
            frame.write.mode("overwrite").option("orc.bloom.filter.columns", "id,name,rate").option("compression", codec).orc(str(orc))
            file = next(orc.glob("*.orc"))
            listed = self.info(file)
            self.assertEqual(len(listed["filters"]), 6, codec)
            # 0.1 of 32 bits is not the 0.1 of 64.
            self.assertEqual(found(f"{file}:rate", [i / 10 for i in range(20000)]), set(range(20000)), codec)
            for which in [file, path]:
                self.assertEqual(found(f"{which}:id", range(20000)), set(range(20000)), codec)
                self.assertLess(len(found(f"{which}:id", range(20000, 40000))), 3000)
                self.assertEqual(len(found(f"{which}:name", [f"name {i}" for i in range(20000)])), 20000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
