#!/usr/bin/env python3
"""Compares `gardenia.spark.build` with Spark's own `df.stat.bloomFilter` on the same rows and rate, in one run.

    bench_spark.py [--rows 2e7] [--fpp 0.01] [--rounds 5] [--master 'local[2]'] [--spec blocked]
    bench_spark.py --worked 1e9       the worked example of docs/engines.md: build, keep and ask a filter of that many rows

Rounds alternate, and the ratios of each round are printed: other work on the machine changes both sides alike. Run it with the Python of
target/spark-venv, which tests/spark/run makes.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests" / "spark"))

import gardenia
import gardenia.spark as gs
import numpy as np
from sessions import session


def rate(contains, rows, probes=1_000_000):
    """The share of absent keys that are reported as present."""
    return float(contains(np.arange(rows, rows + probes)).mean())


def compare(spark, options):
    rows = int(options.rows)
    frame = spark.range(0, rows, 1, options.partitions)
    spec = f"{options.spec} items={rows} fpp={options.fpp}"
    jvm = spark._jvm

    def theirs():
        return frame._jdf.stat().bloomFilter("id", rows, options.fpp)

    def ours():
        return gs.build(frame, "id", spec)

    for build in (theirs, ours):  # Java's compiler and the workers are warm afterwards
        build()
    ratios = []
    for number in range(options.rounds):
        times = []
        for build in (theirs, ours) if number % 2 else (ours, theirs):
            start = time.perf_counter()
            made = build()
            times.append((build is ours, time.perf_counter() - start))
            if build is ours:
                filter = made
            else:
                spark_filter = made
        times = dict(times)
        ratios.append(times[False] / times[True])
        print(f"round {number + 1}: Spark {times[False]:.2f} s, Gardenia {times[True]:.2f} s, {ratios[-1]:.2f} times as fast")
    stream = jvm.java.io.ByteArrayOutputStream()
    spark_filter.writeTo(stream)
    data = bytes(stream.toByteArray())
    read = gardenia.Foreign.from_bytes(data, "spark")
    size = len(filter.to_bytes())
    print(f"speed: {statistics.median(ratios):.2f} times that of df.stat.bloomFilter (median of {len(ratios)} rounds)")
    print(f"size: {size:,} and {len(data):,} bytes, {size / len(data):.3f} of it")
    print(f"measured rate: {rate(filter.contains_many, rows):.4%} and {rate(read.contains_many, rows):.4%} at {options.fpp:%}")


def worked(spark, options):
    rows = int(options.worked)
    frame = spark.range(0, rows, 1, options.partitions)
    spec = f"{options.spec} items={rows} fpp={options.fpp}"
    print(gs.cost(spec))
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "all.gdn")
        start = time.perf_counter()
        gs.build(frame, "id", spec, path=path)
        seconds = time.perf_counter() - start
        print(f"build: {rows:,} rows in {seconds:.0f} s, {rows / seconds / 1e6:.1f} million rows per second, {os.path.getsize(path):,} bytes")
        probes = rows // 10
        asked = spark.range(rows - probes // 2, rows + probes // 2, 1, options.partitions)
        start = time.perf_counter()
        found = asked.where(gs.contains(path, "id")).count()
        seconds = time.perf_counter() - start
        print(f"query: {probes:,} rows in {seconds:.0f} s, {probes / seconds / 1e6:.1f} million per second")
        print(f"measured rate: {(found - probes // 2) / (probes // 2):.4%} at {options.fpp:%}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--fpp", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--spec", default="blocked")
    parser.add_argument("--worked", type=float)
    options = parser.parse_args()
    spark = session(options.master, spark__driver__memory="2g")
    (worked if options.worked else compare)(spark, options)
    spark.stop()


if __name__ == "__main__":
    main()
