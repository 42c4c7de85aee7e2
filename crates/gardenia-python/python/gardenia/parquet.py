"""Bloom filters in Parquet files: DuckDB, Spark and others skip the row groups whose filter excludes a value.

>>> import pyarrow as pa, gardenia.parquet
>>> users = pa.table({"name": ["ann", "bob", "eve"], "visits": [7, 1, 4]})
>>> gardenia.parquet.write_table(users, "users.parquet", ["name", "visits"])
>>> import duckdb
>>> probe = "select bloom_filter_excludes from parquet_bloom_probe('users.parquet', 'name', ?)"
>>> [duckdb.execute(probe, [name]).fetchall() for name in ["ann", "dan"]]
[[(False,)], [(True,)]]

`add_filters` does the same to a file that some program has written. `gardenia info` and `gardenia query` read what is there.
"""

import os

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import _gardenia

__all__ = ["add_filters", "write_table"]


def write_table(table, path, columns, *, fpp=0.01, items=None, **options):
    """Writes a table (of pyarrow, or anything with the Arrow capsule protocol) to a Parquet file with filters of these columns.

    `fpp` and `items` are those of `add_filters`; options are those of `pyarrow.parquet.write_table`.
    """
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
    add_filters(path, columns, fpp=fpp, items=items)


def add_filters(path, columns, to=None, *, fpp=0.01, items=None):
    """Adds Bloom filters of these columns to a Parquet file, one for each row group.

    The file is replaced as a whole, or written to `to`; its pages are copied as they are. A nested column is named by its path, such
    as `a.b.c`. A filter is sized for the distinct values that its row group has, unless `items` states their number, at the
    false-positive rate `fpp`, rounded up to a power of two as writers of Parquet files do it.
    """
    filters = []
    with pq.ParquetFile(path) as file:
        places = {file.schema.column(at).path: at for at in range(len(file.schema))}
        for name in [columns] if isinstance(columns, str) else columns:
            if name not in places:
                raise ValueError(f"{os.fspath(path)}: there is no column {name}. hint: use one of {', '.join(places)}")
            column = file.schema.column(places[name])
            for group in range(file.num_row_groups):
                values = _plain(file.read_row_group(group, [name], use_threads=False).column(0), column)
                distinct = items or max(pc.count_distinct(values).as_py(), 1)
                filter = _gardenia._parquet_filter(distinct, fpp)
                filter.update(values)
                filters.append((group, places[name], filter))
    _gardenia._parquet_add(path, path if to is None else to, filters)


def _plain(values, column):
    """The values of a column as keys whose bytes are Parquet's plain encoding."""
    unknown = TypeError(f"the column {column.path} is of a type without filters: {column.physical_type}, {values.type}")
    values = values.combine_chunks()
    while pa.types.is_nested(values.type):
        if pa.types.is_struct(values.type):
            values = pc.struct_field(values, [0])  # the only one that was read
        else:
            values = pc.list_flatten(values)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    values = values.drop_null()
    width = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "FIXED_LEN_BYTE_ARRAY": column.length}.get(column.physical_type)
    if pa.types.is_decimal(values.type):
        return _decimals(values, width, column.physical_type == "FIXED_LEN_BYTE_ARRAY", unknown)
    if column.physical_type == "BYTE_ARRAY":
        return values
    if width == 4 and pa.types.is_integer(values.type):
        # Narrow numbers are widened with their sign, or without one.
        values = values.cast(pa.uint32() if pa.types.is_unsigned_integer(values.type) else pa.int32())
    if width is None or values.type.bit_width != 8 * width:
        raise unknown
    return pa.Array.from_buffers(pa.binary(width), len(values), [None, values.buffers()[1]], offset=values.offset)


def _decimals(values, width, backwards, unknown):
    """The low bytes of decimals, which Arrow has in more bytes than Parquet; `backwards` writes the highest first."""
    import numpy as np

    stored = values.type.byte_width
    if width is None or width > stored:
        raise unknown
    numbers = np.frombuffer(values.buffers()[1], np.uint8).reshape(-1, stored)[values.offset : values.offset + len(values), :width]
    data = np.ascontiguousarray(numbers[:, ::-1] if backwards else numbers)
    return pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(data)])
