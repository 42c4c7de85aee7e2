"""The same over Spark Connect, in a process of its own: a session is either classic or connected."""

import tempfile

import gardenia
import gardenia.spark as gs
import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sessions import SETTINGS

builder = SparkSession.builder.remote("local[2]")
for name, value in SETTINGS.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)

spec = "blocked items=10000 fpp=1%"
expected = gardenia.make(spec, np.arange(5000))
frame = spark.range(0, 5000, 1, 3)
built = gs.build(frame, "id", spec)
assert built.to_bytes() == expected.to_bytes()
with tempfile.TemporaryDirectory() as directory:
    gs.build(frame, "id", spec, path=f"{directory}/f.gdn")
    assert gardenia.open(f"{directory}/f.gdn") == expected
    assert spark.range(5000).where(gs.contains(f"{directory}/f.gdn", "id")).count() == 5000
large = gardenia.make("bloom bits=600000000 hashes=2", range(100))  # above 64 MB, so that it is mapped
found = spark.range(0, 200, 1, 2).select(gs.contains(built, "id").alias("b"), gs.contains(large, "id").alias("l")).toArrow()
assert found["b"].to_pylist() == [True] * 200 and found["l"].to_pylist() == [i < 100 for i in range(200)]
counted = gs.build(frame.select((F.col("id") % 10).alias("id")), "id", "counting items=100 width=16")
assert spark.range(10).select(gs.count(counted, "id")).toArrow()[0].to_pylist() == [500] * 10
assert gs.dedup(frame.select((F.col("id") % 10).alias("id")), "id").count() == 10
assert gs.top(frame.select((F.col("id") % 10).alias("id")), "id", 3).total == 5000
try:
    gs.build(spark.sql("select cast(null as bigint) x"), "x", spec)
except gardenia.MissingError:
    print("connected")
spark.stop()
