"""What all tests share: the table of kinds, and how to make a filter of each."""

import importlib.util

import gardenia
import pytest
from gardenia import _gardenia

# The tests on Spark have an environment and a script of their own: spark/run.
collect_ignore = [] if importlib.util.find_spec("pyspark") else ["spark"]

TABLE = _gardenia._table()
WORDS = ["rose", "tulip", "daisy"]


class Kind:
    """A line of the table."""

    def __init__(self, row):
        self.name, self.options, self.methods = row["name"], dict((o[0], o[1]) for o in row["options"]), row["methods"]
        self.type = getattr(gardenia, row["class"])
        self.abilities = set(row["abilities"])

    def __repr__(self):
        return self.name

    def can(self, *abilities):
        return self.abilities.issuperset(abilities)

    def build(self, keys, items=1000, **options):
        """A filter that holds the keys."""
        if "items" in self.options:
            options["items"] = items
        if self.can("map"):
            return self.type(keys, range(len(keys)), **options)
        if self.can("fixed"):
            return self.type(keys, **options)
        made = self.type(**options)
        made.update(keys)
        return made

    def empty(self, items=1000, **options):
        return self.build([], items, **options)


KINDS = [Kind(row) for row in TABLE]


def pytest_generate_tests(metafunc):
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", KINDS, ids=repr)


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace):
    doctest_namespace["gardenia"] = gardenia
