"""The helpers for Polars, pandas and DuckDB, with the real libraries; and all examples in docstrings."""

import doctest
import importlib
import os
import pathlib
import subprocess
import sys

import duckdb
import gardenia
import gardenia.duckdb
import gardenia.pandas
import gardenia.polars
import pandas as pd
import polars as pl
import pytest
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
    for name in ["make", "plan", "key_bytes", "Top", "Foreign"]:
        assert run_examples(getattr(gardenia, name).__doc__, name, gardenia=gardenia) > 0


def test_the_example_program_runs_and_shares_its_filter():
    program = pathlib.Path(__file__).parents[1] / "examples" / "parquet.py"
    command = pathlib.Path(os.environ["GARDENIA_CLI"]).parent
    environment = dict(os.environ, PATH=f"{command}:{os.environ['PATH']}")
    done = subprocess.run([sys.executable, program, "--rows", "100000"], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.startswith("100,000 rows, 24,") and "gardenia query prints: ['user 1']" in done.stdout, done.stdout


def test_examples_in_the_guides_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_examples(GUIDE.read_text(), "python.md") > 30
    assert run_examples((GUIDE.parent / "corpus.md").read_text(), "corpus.md") > 5
