"""Filters in DuckDB's SQL: a function that says whether a key may be in a filter.

>>> import duckdb, gardenia, gardenia.duckdb
>>> seen = gardenia.BlockedBloom(["ann", "bob"], items=1000)
>>> connection = duckdb.connect()
>>> gardenia.duckdb.register(connection, seen, "was_seen")
>>> connection.sql("select count(*) from (values ('ann'), ('eve')) as t(name) where was_seen(name)").fetchall()
[(1,)]
"""

__all__ = ["register"]


def register(connection, filter, name, type="VARCHAR", **options):
    """Makes `name(key)` a function of this connection: true if the key may be in the filter, null if it is null.

    `type` is the SQL type of the keys, such as VARCHAR, BIGINT or BLOB. It decides which key a value is: '7' and 7 are two keys.
    Options are those of `contains_many`: threads.
    """

    def ask(keys):
        return filter.contains_many(keys, arrow=True, nulls="skip", **options)

    connection.create_function(name, ask, [type], "BOOLEAN", type="arrow")
