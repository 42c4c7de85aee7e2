"""Deduplicates a Parquet file of ten million rows in batches, semi-joins another with it, and shares the filter.

    pip install polars pyarrow duckdb redis
    python examples/parquet.py                # makes the data in a temporary directory
    python examples/parquet.py --rows 100000  # a smaller one

Memory stays that of one batch and the filter: 1.2 MB per million distinct keys at 1 %.
"""

import argparse
import importlib.util
import pathlib
import shutil
import subprocess
import tempfile
import time

import duckdb
import gardenia
import gardenia.duckdb
import gardenia.polars
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


def make(path, rows):
    """Visits of users, most of whom come several times."""
    random = np.random.default_rng(24)
    with pq.ParquetWriter(path, pa.schema([("user", pa.string()), ("page", pa.int64())])) as writer:
        for first in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - first)
            users = pa.array([f"user {number}" for number in random.integers(0, rows // 4, count)])
            writer.write_table(pa.table({"user": users, "page": random.integers(0, 1000, count)}))


def deduplicate(path, out, seen):
    """Writes the first row of each user; the file is read and written a batch at a time."""
    rows = kept = 0
    source = pq.ParquetFile(path)
    with pq.ParquetWriter(out, source.schema_arrow) as writer:
        for batch in source.iter_batches(batch_size=1_000_000):
            frame = pl.from_arrow(batch)
            new = frame.filter(pl.col("user").gardenia.is_new(seen))
            writer.write_table(new.to_arrow().cast(source.schema_arrow))
            rows, kept = rows + len(frame), kept + len(new)
    return rows, kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--redis", type=int, default=6379, metavar="PORT", help="port of a Redis with the module (default: 6379)")
    options = parser.parse_args()
    rows, port = options.rows, options.redis
    with tempfile.TemporaryDirectory() as directory:
        there = pathlib.Path(directory)
        make(there / "visits.parquet", rows)

        # 1. Each user once. One user in 10,000 is dropped by mistake: choose fpp for what that may cost.
        seen, begin = gardenia.BlockedBloom(items=rows // 4, fpp=1e-4), time.perf_counter()
        read, kept = deduplicate(there / "visits.parquet", there / "users.parquet", seen)
        print(f"{read:,} rows, {kept:,} users kept, in {time.perf_counter() - begin:.1f} s; {seen}")
        exact = duckdb.sql(f"select count(distinct user) from '{there}/visits.parquet'").fetchall()[0][0]
        print(f"{exact - kept:,} of {exact:,} users were dropped by mistake, {1e-4:.2%} were to be expected at most")

        # 2. Semi-join: rows of another table whose user is known. The filter throws out nearly all others before the join.
        connection = duckdb.connect()
        connection.sql("create table orders as select 'user ' || (i * 17) as user, i as amount from range(1000000) t(i)")
        gardenia.duckdb.register(connection, seen, "is_user")
        let_through = connection.sql("select count(*) from orders where is_user(user)").fetchall()[0][0]
        visits = f"(select user from '{there}/visits.parquet')"
        matching = connection.sql(f"select count(*) from orders where user in {visits}").fetchall()[0][0]
        joined = connection.sql(f"select count(*) from orders where is_user(user) and user in {visits}").fetchall()[0][0]
        print(f"{let_through:,} of 1,000,000 orders are let through to the join, which finds {joined:,}; without the filter {matching:,}")

        # 3. Share it: the file is the same for the shell, for Redis and for every other front.
        seen.save(there / "users.gdn")
        if shutil.which("gardenia"):
            lines = "user 1\nnobody\n"
            found = subprocess.run(["gardenia", "query", there / "users.gdn"], input=lines, capture_output=True, text=True)
            print("gardenia query prints:", found.stdout.split("\n")[:-1])
        if importlib.util.find_spec("redis") is None:
            print("not shared with Redis. hint: pip install redis")
            return
        import redis

        try:
            server = redis.Redis(port=port)
            server.execute_command("GD.LOAD", "users", seen.to_bytes(), "REPLACE")
            print("GD.EXISTS in Redis:", [bool(found) for found in server.execute_command("GD.EXISTS", "users", "user 1")])
        except redis.ConnectionError as error:
            print("not shared with Redis:", error)


if __name__ == "__main__":
    main()
