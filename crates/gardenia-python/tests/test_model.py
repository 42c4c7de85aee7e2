"""Operations against a set or a Counter of canonical bytes."""

import datetime as dt
from collections import Counter

import gardenia
import pytest
from conftest import KINDS
from gardenia import key_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# The same examples in every run, and no opinion on how fast a busy machine is.
settings.register_profile(
    "fixed",
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    deadline=None,
)
settings.load_profile("fixed")

scalars = st.one_of(
    st.text(max_size=8).filter(lambda text: text.isprintable()),
    st.binary(max_size=8),
    st.integers(-(2**127), 2**128 - 1),
    st.integers(-3, 3),
    st.booleans(),
    st.floats(),
    st.none(),
    st.uuids(),
    st.ip_addresses(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.timezone.utc)),
)
keys = st.recursive(scalars, lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=4)
batches = st.lists(keys, max_size=12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), keys),
        st.tuples(st.just("update"), batches),
        st.tuples(st.just("add_many"), batches),
        st.tuples(st.just("discard"), keys),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("merge"), batches),
        st.tuples(st.just("pickle"), st.none()),
    ),
    max_size=12,
)

# Kinds that hold every key, at a rate so low that nothing is found by chance: the lowest power of ten that all of them accept.
INSERTING = [kind for kind in KINDS if kind.can("insert") and not kind.can("forget")]
FPP = 1e-8


def make(kind):
    if kind.name == "count-min":
        return kind.type(epsilon=1e-5, delta=1e-6)
    return kind.empty(items=2000, fpp=1e-6 if kind.name == "compressed" else FPP)


@pytest.mark.parametrize("inserting", INSERTING, ids=repr)
@settings(max_examples=60)
@given(steps=steps)
def test_a_filter_answers_as_a_counter_of_canonical_bytes(inserting, steps):
    kind = inserting
    filter, model, touched = make(kind), Counter(), set()
    for verb, data in steps:
        many = data if isinstance(data, list) else [data]
        held = max(Counter([key_bytes(key) for key in many]).values(), default=0)
        # A cuckoo filter holds eight copies of a key.
        if verb in ("add", "update", "add_many", "merge") and any(model[key_bytes(k)] + held > 8 for k in many):
            continue
        touched.update(key_bytes(key) for key in many if verb != "clear" and verb != "pickle")
        if verb == "add":
            new = model[key_bytes(data)] == 0
            assert filter.add(data) or not new
            model[key_bytes(data)] += 1
        elif verb in ("update", "add_many"):
            getattr(filter, verb)(data, nulls="key")
            model.update(key_bytes(key) for key in data)
        elif verb == "discard" and "remove" in filter.abilities:
            assert filter.discard(data) == (model[key_bytes(data)] > 0)
            model[key_bytes(data)] = max(model[key_bytes(data)] - 1, 0)
        elif verb == "clear":
            filter.clear()
            model.clear()
        elif verb == "merge" and "merge" in filter.abilities:
            other = make(kind)
            other.update(data, nulls="key")
            filter |= other
            model.update(key_bytes(key) for key in data)
        elif verb == "pickle":
            filter = gardenia.from_bytes(filter.to_bytes())
    probes = sorted(touched)
    expected = [model[key] > 0 for key in probes]
    assert filter.contains_many(probes).tolist() == expected == [probe in filter for probe in probes]
    if kind.can("count") and kind.name != "quotient":
        assert all(count >= model[key] for key, count in zip(probes, filter.count_many(probes).tolist()))


@pytest.mark.parametrize("fixed", [kind for kind in KINDS if kind.can("fixed") and not kind.can("map")], ids=repr)
@settings(max_examples=30)
@given(keys=batches)
def test_a_static_filter_has_the_keys_it_was_built_from(fixed, keys):
    kind = fixed
    if not keys and kind.name == "retouched":
        return
    filter = kind.type(keys, nulls="key", **({"fpp": 1e-6} if "fpp" in kind.options else {}))
    assert filter.contains_many(keys, nulls="key").all()
    if kind.can("estimate"):
        assert len(filter) == len({key_bytes(key) for key in keys})
    assert filter.contains_many([f"absent {i}" for i in range(100)]).sum() <= 2


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=5).filter(str.isprintable), st.integers(0, 1000), min_size=1))
def test_a_map_has_the_values_of_its_dict(values):
    filter = gardenia.Bloomier(values)
    assert {key: filter[key] for key in values} == values
    assert filter.get_many(list(values)).tolist() == list(values.values())


@settings(max_examples=50)
@given(keys)
def test_a_key_alone_in_a_list_and_in_a_tuple_has_one_digest(key):
    assert gardenia.digest(key) == gardenia.digest(key_bytes(key))
    filter = gardenia.Bloom(items=10, fpp=1e-9)
    filter.update([key], nulls="key")
    assert key in filter and key_bytes(key) in filter
