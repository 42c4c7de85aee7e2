"""The helpers for Polars, pandas and DuckDB, with the real libraries; and all examples in docstrings."""

import doctest
import importlib
import inspect
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import duckdb
import gardenia
import gardenia.duckdb
import gardenia.pandas
import gardenia.polars
import pandas as pd
import polars as pl
import pytest
import redis
from conftest import KINDS

GUIDE = pathlib.Path(__file__).parents[3] / "docs" / "python.md"


def test_polars_expressions_also_lazy_and_with_nulls():
    seen = gardenia.CountingBloom(items=100, fpp=1e-6)
    frame = pl.DataFrame({"key": [1, 2, 1, None], "text": ["a", "b", "c", "d"]})
    new = frame.lazy().filter(pl.col("key").gardenia.is_new(seen, nulls="skip")).collect()
    assert new["text"].to_list() == ["a", "b"]
    asked = frame.select(pl.col("key").gardenia.is_in(seen, nulls="skip"), found=pl.col("key").gardenia.count(seen, nulls="skip"))
    assert asked["key"].to_list() == [True, True, True, False] and asked["found"].to_list() == [2, 1, 2, 0]
    assert asked.schema == {"key": pl.Boolean, "found": pl.UInt64}
    with pytest.raises(Exception, match="nulls="):
        frame.select(pl.col("key").gardenia.is_in(seen))


def test_pandas_series_keep_their_index():
    seen = gardenia.CountingBloom(items=100, fpp=1e-6)
    keys = pd.Series(["a", "b", "a"], index=[10, 20, 30], name="key")
    new = keys.gardenia.is_new(seen)
    assert new.to_dict() == {10: True, 20: True, 30: False} and new.name == "key"
    assert keys.gardenia.is_in(seen).all() and keys.gardenia.count(seen).tolist() == [2, 1, 2]


def test_duckdb_functions_semi_join():
    connection = duckdb.connect()
    numbers = gardenia.BlockedBloom(range(0, 1000, 2), items=1000, fpp=1e-6)
    gardenia.duckdb.register(connection, numbers, "is_even", "BIGINT")
    assert connection.sql("select count(*) from range(100000) t(i) where is_even(i)").fetchall()[0][0] == pytest.approx(500, abs=3)
    assert connection.sql("select is_even(null)").fetchall() == [(None,)]
    texts = gardenia.BlockedBloom(["7"], items=10, fpp=1e-6)
    gardenia.duckdb.register(connection, texts, "in_texts")
    assert connection.sql("select in_texts('7'), in_texts(7::varchar), in_texts('8')").fetchall() == [(True, True, False)]


def test_libraries_are_imported_only_when_used():
    script = "import sys, gardenia; gardenia.Bloom(items=9).add(1); print([m for m in ('numpy', 'polars', 'pandas', 'duckdb', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def run_examples(text, name, **names):
    text = re.sub(r"^```.*\n", "", text, flags=re.MULTILINE)  # of a page: fences are no output
    test = doctest.DocTestParser().get_doctest(text, dict(names), name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
    return len(test.examples)


def test_examples_in_docstrings_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = sum(run_examples(kind.type.__doc__, kind.name, gardenia=gardenia) for kind in KINDS)
    assert ran >= 2 * len(KINDS)
    for name in ["gardenia", "gardenia.polars", "gardenia.pandas", "gardenia.duckdb", "gardenia.parquet", "gardenia.corpus"]:
        assert run_examples(importlib.import_module(name).__doc__, name) > 2
    functions = [name for name in gardenia.__all__ if inspect.isbuiltin(getattr(gardenia, name))]
    assert len(functions) >= 7
    for name in functions + ["Top", "Foreign"]:
        assert run_examples(getattr(gardenia, name).__doc__, name, gardenia=gardenia) > 0, f"{name} has no example"
    # Methods and attributes that have one.
    for name in gardenia.__all__:
        for method, member in inspect.getmembers(getattr(gardenia, name)):
            if not method.startswith("__") and ">>>" in (member.__doc__ or ""):
                run_examples(member.__doc__, f"{name}.{method}", gardenia=gardenia)


@pytest.fixture
def redis_port(tmp_path):
    """A server with the module, on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", port, "--bind", "127.0.0.1", "--dir", tmp_path, "--save", "", "--loadmodule", os.environ["GARDENIA_MODULE"]]
    server = subprocess.Popen(["redis-server", *map(str, options)], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                redis.Redis(port=port).ping()
                break
            except redis.ConnectionError:
                assert server.poll() is None
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def test_the_example_program_runs_and_shares_its_filter(redis_port):
    program = pathlib.Path(__file__).parents[1] / "examples" / "parquet.py"
    command = pathlib.Path(os.environ["GARDENIA_CLI"]).parent
    environment = dict(os.environ, PATH=f"{command}:{os.environ['PATH']}")
    run = lambda port: subprocess.run(
        [sys.executable, program, "--rows", "100000", "--redis", str(port)], capture_output=True, text=True, check=True, env=environment
    ).stdout
    text = run(redis_port)
    assert text.startswith("100,000 rows, 24,") and "gardenia query prints: ['user 1']" in text, text
    assert text.endswith("GD.EXISTS in Redis: [True]\n"), text
    server = redis.Redis(port=redis_port)
    assert server.execute_command("GD.EXISTS", "users", "user 2", "nobody") == [1, 0]
    # Users are numbers below 25,000, most of which come, and every 17th of them has an order.
    words = re.search(r"([\d,]+) of 1,000,000 orders are let through to the join, which finds ([\d,]+); without the filter ([\d,]+)", text)
    through, joined, matching = (int(number.replace(",", "")) for number in words.groups())
    assert joined == matching and 1400 < matching <= 1471
    # One absent key in 10,000 is let through: five standard deviations of a million of them.
    assert matching <= through <= matching + 100 + 5 * 10
    server.shutdown(nosave=True)
    assert "not shared with Redis: Error" in run(redis_port)


def test_examples_in_the_guides_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_examples(GUIDE.read_text(), "python.md") > 30
    assert run_examples((GUIDE.parent / "corpus.md").read_text(), "corpus.md") > 5
