"""Filters that are added to Parquet files: the bytes that pyarrow writes itself, and the answers that DuckDB gives."""

import datetime as dt
import decimal
import uuid

import duckdb
import gardenia
import gardenia.parquet
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = range(1000)
DAY, START = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)
MONEY = [decimal.Decimal(7 * i - 999) / 100 for i in ROWS]
COLUMNS = {
    "i8": pa.array([i % 256 - 128 for i in ROWS], pa.int8()),
    "u16": pa.array(ROWS, pa.uint16()),
    "i32": pa.array([7 * i - 99 for i in ROWS], pa.int32()),
    "u32": pa.array([2**32 - 1 - i for i in ROWS], pa.uint32()),
    "i64": pa.array([7 * i - 99 for i in ROWS], pa.int64()),
    "u64": pa.array([2**64 - 1 - i for i in ROWS], pa.uint64()),
    "f16": pa.array([i / 8 for i in ROWS]).cast(pa.float16()),
    "f32": pa.array([i / 8 for i in ROWS], pa.float32()),
    "f64": pa.array([-0.0 if i == 0 else i / 10 for i in ROWS], pa.float64()),
    "text": pa.array([f"key {i} ü" for i in ROWS]),
    "large": pa.array([f"key {i}" for i in ROWS], pa.large_string()),
    "view": pa.array([f"key {i}" for i in ROWS], pa.string_view()),
    "words": pa.array([f"word {i % 9}" for i in ROWS]).dictionary_encode(),
    "bytes": pa.array([f"b{i}\0".encode() for i in ROWS], pa.binary()),
    "fixed": pa.array([i.to_bytes(3, "big") for i in ROWS], pa.binary(3)),
    "uuid": pa.array([uuid.UUID(int=i << 90).bytes for i in ROWS], pa.uuid()),
    "day": pa.array([DAY + dt.timedelta(i) for i in ROWS]),
    "s": pa.array([START + dt.timedelta(seconds=i) for i in ROWS], pa.timestamp("s")),
    "ms": pa.array([START + dt.timedelta(seconds=i) for i in ROWS], pa.timestamp("ms", "UTC")),
    "us": pa.array([START + dt.timedelta(microseconds=i) for i in ROWS], pa.timestamp("us")),
    "ns": pa.array([START + dt.timedelta(microseconds=i) for i in ROWS], pa.timestamp("ns")),
    "time": pa.array([dt.time(i // 60 % 24, i % 60) for i in ROWS], pa.time32("s")),
    "span": pa.array([dt.timedelta(seconds=i) for i in ROWS], pa.duration("s")),
    "money": pa.array(MONEY, pa.decimal128(20, 2)),
    "cents": pa.array(MONEY, pa.decimal128(9, 2)),
    "huge": pa.array(MONEY, pa.decimal256(50, 2)),
    "some": pa.array([None if i % 3 else i for i in ROWS], pa.int64()),
    "none": pa.nulls(1000, pa.int64()),
}
NESTED = {
    "a": pa.array([None if i % 5 == 0 else {"b": {"c": i if i % 3 else None, "d": "x"}} for i in ROWS]),
    "list": pa.array([[i, i + 1] if i % 2 else None for i in ROWS]),
    "map": pa.array([[(f"k{i}", i)] for i in ROWS], pa.map_(pa.string(), pa.int64())),
}
LEAVES = ["a.b.c", "a.b.d", "list.list.element", "map.key_value.key", "map.key_value.value"]


def filters(path):
    """The bytes of all filters of a file, by row group and column."""
    data, found = path.read_bytes(), {}
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            for at in range(file.metadata.num_columns):
                column = file.metadata.row_group(group).column(at)
                if column.bloom_filter_offset is not None:
                    place = column.bloom_filter_offset
                    found[group, column.path_in_schema] = data[place : place + column.bloom_filter_length]
    return found


def folded(filter, length):
    """A filter at the size to which pyarrow folds those with few values: two neighbouring blocks become one."""
    blocks = np.frombuffer(filter[len(filter) % 32 :], np.uint8).reshape(-1, 32)
    while len(blocks) * 32 > length:
        blocks = blocks[::2] | blocks[1::2]
    return blocks.tobytes()


@pytest.mark.parametrize("options", [{}, {"store_decimal_as_integer": True}, {"version": "1.0", "write_page_index": True}], ids=str)
def test_the_filters_are_those_that_pyarrow_would_write(tmp_path, options):
    table = pa.table({**COLUMNS, **NESTED})
    if options.get("version") == "1.0":
        table = table.drop_columns(["f16"])
    names = [name for name in table.column_names if name not in NESTED] + LEAVES
    theirs, ours = tmp_path / "theirs.parquet", tmp_path / "ours.parquet"
    wanted = {name: {"ndv": 400, "fpp": 0.03} for name in names}
    pq.write_table(table, theirs, row_group_size=400, bloom_filter_options=wanted, **options)
    gardenia.parquet.write_table(table, ours, names, items=400, fpp=0.03, row_group_size=400, **options)
    expected = filters(theirs)
    assert expected.keys() == {(group, name) for group in range(3) for name in names}
    made = filters(ours)
    assert made.keys() == expected.keys()
    sizes = set()
    for place, theirs_bytes in expected.items():
        bitset = theirs_bytes[len(theirs_bytes) % 32 :]
        sizes.add(len(bitset))
        assert folded(made[place], len(bitset)) == bitset, place
        assert len(bitset) < 512 or made[place] == theirs_bytes, place  # with its header
    assert max(sizes) == 512 and len(sizes) > 2
    assert pq.read_table(ours) == pq.read_table(theirs)


def test_duckdb_uses_them(tmp_path):
    path, copy = tmp_path / "plain.parquet", tmp_path / "with.parquet"
    keys = [i * 7919 % 100_003 for i in range(10_000)]
    pl.DataFrame({"key": keys, "text": [f"text {key}" for key in keys]}).write_parquet(path, row_group_size=2500)
    before = path.read_bytes()
    gardenia.parquet.add_filters(path, ["key", "text"], copy, fpp=0.001)
    assert path.read_bytes() == before and pl.read_parquet(copy).equals(pl.read_parquet(path))
    for column, value in [("key", lambda key: key), ("text", lambda key: f"text {key}")]:
        probe = "select bloom_filter_excludes from parquet_bloom_probe(?, ?, ?)"
        ask = lambda key: [row[0] for row in duckdb.execute(probe, [str(copy), column, value(key)]).fetchall()]
        for at in range(0, 10_000, 500):
            excluded = ask(keys[at])
            assert len(excluded) == 4 and not excluded[at // 2500] and sum(excluded) >= 2, (column, at, excluded)
        absent = [ask(-key - 1) for key in range(30)]
        assert sum(map(sum, absent)) >= 115, absent
        found = duckdb.execute(f"select count(*) from '{copy}' where {column} = ?", [value(keys[7])]).fetchall()
        assert found == [(1,)]
    gardenia.parquet.add_filters(path, "key")  # in place
    assert filters(path).keys() == {(group, "key") for group in range(4)}


def test_what_cannot_have_a_filter_is_refused_and_the_file_stays(tmp_path):
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"key": [1, 2], "flag": [True, False]}), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="there is no column kex. hint: use one of key, flag"):
        gardenia.parquet.add_filters(path, ["kex"])
    with pytest.raises(TypeError, match="the column flag is of a type without filters"):
        gardenia.parquet.add_filters(path, ["key", "flag"])
    with pytest.raises(gardenia.SpecError, match="2"):
        gardenia.parquet.add_filters(path, ["key"], fpp=2)
    with pytest.raises(gardenia.FormatError, match="file.parquet: two filters for one column"):
        gardenia.parquet.add_filters(path, ["key", "key"])
    assert path.read_bytes() == before
    gardenia.parquet.add_filters(path, ["key"])
    before = path.read_bytes()
    with pytest.raises(gardenia.FormatError, match="has a filter already"):
        gardenia.parquet.add_filters(path, ["key"])
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError):
        gardenia.parquet.add_filters(tmp_path / "none.parquet", ["key"])
