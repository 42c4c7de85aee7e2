"""Filters on pandas series: the accessor `gardenia`.

>>> import pandas as pd, gardenia, gardenia.pandas
>>> seen = gardenia.BlockedBloom(items=1000)
>>> users = pd.Series(["ann", "bob", "ann"])
>>> users[users.gardenia.is_new(seen)].tolist()
['ann', 'bob']
>>> users.gardenia.is_in(seen).tolist()
[True, True, True]
"""

import pandas as pd

__all__ = ["Accessor"]


@pd.api.extensions.register_series_accessor("gardenia")
class Accessor:
    """`series.gardenia`: a series of answers with the index of the keys."""

    def __init__(self, series: pd.Series):
        self._series = series

    def _answers(self, answers):
        return pd.Series(answers, index=self._series.index, name=self._series.name)

    def is_in(self, filter, **options) -> pd.Series:
        """Whether each key may be in the filter. Options are those of `contains_many`: nulls, threads."""
        return self._answers(filter.contains_many(self._series, **options))

    def is_new(self, filter, **options) -> pd.Series:
        """Adds each key, and says whether it was certainly new: `series[…]` keeps the first of each key."""
        return self._answers(filter.add_many(self._series, **options))

    def count(self, filter, **options) -> pd.Series:
        """How often each key was added, by the filter's estimate."""
        return self._answers(filter.count_many(self._series, **options))
