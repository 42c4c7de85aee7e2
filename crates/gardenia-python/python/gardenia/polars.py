"""Filters in Polars expressions: the namespace `gardenia`.

>>> import polars as pl, gardenia, gardenia.polars
>>> seen = gardenia.BlockedBloom(items=1000)
>>> frame = pl.DataFrame({"user": ["ann", "bob", "ann"]})
>>> frame.filter(pl.col("user").gardenia.is_new(seen))["user"].to_list()
['ann', 'bob']
>>> frame.select(pl.col("user").gardenia.is_in(seen))["user"].to_list()
[True, True, True]
"""

import polars as pl

__all__ = ["Expressions"]


@pl.api.register_expr_namespace("gardenia")
class Expressions:
    """`pl.col("key").gardenia`: expressions that ask a filter, a batch at a time."""

    def __init__(self, expression: pl.Expr):
        self._expression = expression

    def _map(self, call, dtype, options):
        def batch(series):
            return pl.Series(series.name, call(series, **options), dtype=dtype)

        return self._expression.map_batches(batch, return_dtype=dtype)

    def is_in(self, filter, **options) -> pl.Expr:
        """Whether each key may be in the filter. Options are those of `contains_many`: nulls, threads."""
        return self._map(filter.contains_many, pl.Boolean, options)

    def is_new(self, filter, **options) -> pl.Expr:
        """Adds each key, and says whether it was certainly new: `frame.filter(…)` keeps the first row of each key."""
        return self._map(filter.add_many, pl.Boolean, options)

    def count(self, filter, **options) -> pl.Expr:
        """How often each key was added, by the filter's estimate."""
        return self._map(filter.count_many, pl.UInt64, options)
