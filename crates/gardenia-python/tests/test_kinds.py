"""Every method of every class, by the table of kinds."""

import copy
import inspect
import pickle
import subprocess
import sys
import threading

import gardenia
import numpy as np
import pyarrow as pa
import pytest
from conftest import KINDS, TABLE, WORDS

EXACT = {"fixed", "copies"}


def keys(count, start=0):
    return [f"key {i}" for i in range(start, start + count)]


def test_there_is_a_class_for_every_kind_of_the_table():
    assert len(KINDS) >= 19 and len({kind.type for kind in KINDS}) == len(TABLE)
    for kind in KINDS:
        assert kind.type.kind == kind.name and issubclass(kind.type, gardenia.Filter)
        assert kind.type.__doc__ and kind.type.__module__ == "gardenia"


def test_keys_that_were_added_are_found(kind):
    filter = kind.build(keys(100))
    assert isinstance(filter, kind.type) and isinstance(filter, gardenia.Filter)
    assert all(key in filter for key in keys(100))
    assert filter.contains_many(keys(100)).all()
    assert bool(filter) and not kind.empty()
    absent = filter.contains_many(keys(1000, 1000))
    assert absent.dtype == bool and absent.sum() < 500
    assert [key in filter for key in keys(1000, 1000)] == absent.tolist()


def test_facts_are_there(kind):
    filter = kind.build(keys(100))
    assert filter.kind == kind.name
    assert 0 <= filter.fpp <= 1 and 0 <= filter.fill <= 1 and filter.nbytes > 0
    assert filter.abilities <= kind.abilities
    assert kind.name in filter.spec and filter.options["seed"] == 0
    assert set(filter.options) <= set(kind.options)
    assert repr(filter).startswith(f"<gardenia.{kind.type.__name__}: ") and "bytes" in repr(filter) or "kB" in repr(filter)
    assert filter.planned_items >= 0 and filter.planned_fpp >= 0 and not filter.mapped
    assert (filter.estimated_items is not None) == kind.can("estimate")
    if kind.can("estimate") and not kind.can("forget"):
        assert 50 < filter.estimated_items < 200
    assert filter.digest("rose") == gardenia.digest("rose")


def test_len_is_there_where_it_is_known(kind):
    filter = kind.build(keys(100))
    if EXACT & kind.abilities and kind.can("estimate") and kind.name != "dynamic":
        assert len(filter) == 100
    else:
        with pytest.raises(TypeError, match="estimated_items"):
            len(filter)


def test_methods_are_those_of_the_abilities(kind):
    everything = {method for other in KINDS for method in other.methods}
    for method in everything:
        assert hasattr(kind.type, method) == (method in kind.methods), method
    with pytest.raises(TypeError, match="Filter is the class of all"):
        gardenia.Filter()


# What each method and attribute returns when it is called on a filter of "key 0" to "key 99".
CALLS = {
    "add": lambda f, path: f.add("rose") in (True, False),
    "update": lambda f, path: f.update(["rose"], ("tulip",)) is None and "tulip" in f,
    "add_many": lambda f, path: f.add_many(["rose", "tulip"]).shape == (2,) and "rose" in f,
    "contains_many": lambda f, path: f.contains_many(keys(100)).all(),
    "count": lambda f, path: f.count("key 1") == 1 or f.kind == "quotient",
    "count_many": lambda f, path: f.count_many(["key 1", "key 2"]).shape == (2,),
    "insert_pairs": lambda f, path: f.insert_pairs(["rose"], [2]) is None and f.count("rose") == 2,
    "remove": lambda f, path: f.remove("key 1") is None and "key 1" not in f,
    "discard": lambda f, path: f.discard("key 1") is True and f.discard("key 1") is False,
    "discard_many": lambda f, path: f.discard_many(["key 1"]).tolist() == [True],
    "get": lambda f, path: f.get("key 7") == 7,
    "get_many": lambda f, path: f.get_many(["key 7", "key 8"]).tolist() == [7, 8],
    "clear": lambda f, path: f.clear() is None and not f,
    "copy": lambda f, path: f.copy() == f,
    "merge": lambda f, path: f.merge(f.copy()) is None and f.contains_many(keys(100)).all(),
    "close": lambda f, path: f.close() is None and "key 1" in f,
    "save": lambda f, path: f.save(path) is None and path.read_bytes() == f.to_bytes(),
    "to_bytes": lambda f, path: len(f.to_bytes()) > 100,
    "from_bytes": lambda f, path: type(f).from_bytes(f.to_bytes()) == f,
    "open": lambda f, path: f.save(path) is None and type(f).open(path) == f,
    "digest": lambda f, path: f.digest("rose") == gardenia.digest("rose"),
    "spec": lambda f, path: f.spec.startswith(f.kind),
    "options": lambda f, path: f.options["seed"] == 0,
    "abilities": lambda f, path: len(f.abilities) > 0,
    "fpp": lambda f, path: 0 <= f.fpp <= 1,
    "fill": lambda f, path: 0 < f.fill <= 1,
    "estimated_items": lambda f, path: f.estimated_items is None or f.estimated_items > 0,
    "planned_items": lambda f, path: f.planned_items >= 0,
    "planned_fpp": lambda f, path: f.planned_fpp >= 0,
    "nbytes": lambda f, path: f.nbytes > 0,
    "metadata": lambda f, path: f.metadata == b"",
    "mapped": lambda f, path: f.mapped is False,
}


def test_every_method_is_called(kind, tmp_path):
    public = {name for name in dir(kind.type) if not name.startswith("_") and name != "kind"}
    assert set(kind.methods) <= public <= set(CALLS)
    for method in sorted(public):
        assert CALLS[method](kind.build(keys(100)), tmp_path / "filter.gdn"), method


def test_add_tells_what_is_new(kind):
    if not kind.can("insert"):
        return
    filter = kind.empty()
    assert filter.add("rose") is True
    if not kind.can("copies"):
        assert filter.add("rose") is False
    assert filter.add_many(["tulip", "daisy"]).tolist() == [True, True]
    filter.update(["lily"], {"fern"}, (word for word in ["moss"]))
    assert all(word in filter for word in ["lily", "fern", "moss"])
    filter.clear()
    assert not filter and "rose" not in filter


def test_keys_can_be_removed(kind):
    if not kind.can("remove"):
        return
    filter = kind.build(WORDS)
    filter.remove("rose")
    assert "rose" not in filter and "tulip" in filter
    with pytest.raises(KeyError) as caught:
        filter.remove("rose")
    assert isinstance(caught.value, gardenia.AbsentError)
    assert filter.discard("tulip") is True and filter.discard("tulip") is False
    filter.update(["a", "b"])
    assert filter.discard_many(["a", "thistle", "b"]).tolist() == [True, False, True]


def test_keys_are_counted(kind):
    if not kind.can("count"):
        return
    filter = kind.build(["rose", "tulip", "rose"])
    assert filter.count("rose") == 2 and filter.count("thistle") == 0
    counts = filter.count_many(["rose", "tulip", "thistle"])
    assert counts.dtype == np.uint64 and counts.tolist() == [2, 1, 0]
    filter.insert_pairs(["fern", "moss"], [3, 4])
    assert filter.count_many(["fern", "moss"]).tolist() == [3, 4]
    for times in [np.array([1, 2], np.uint8), pa.array([1, 2]), pa.chunked_array([[1], [2]]), (1, 2), iter([1, 2]), [np.int64(1), 2]]:
        other = kind.empty()
        other.insert_pairs(["fern", "moss"], times)
        assert other.count_many(["fern", "moss"]).tolist() == [1, 2]
    for times in [np.array([1, -2]), pa.array([1, None]), np.array([1.0, 2.0])]:
        with pytest.raises(ValueError, match="element [01] is not a whole number from 0 to 18446744073709551615"):
            filter.insert_pairs(["fern", "moss"], times)
    with pytest.raises((TypeError, OverflowError)):
        filter.insert_pairs(["fern", "moss"], [1, -2])
    with pytest.raises(ValueError, match="each key needs one"):
        filter.insert_pairs(["fern"], [1, 2])


def test_values_are_found(kind):
    if not kind.can("map"):
        return
    filter = kind.type({"rose": 7, "tulip": 8}, check=20)
    assert filter["rose"] == 7 and filter.get("tulip") == 8
    assert filter.get("thistle") is None and filter.get("thistle", 5) == 5
    assert filter.get_many(["rose", "thistle", "tulip"]).tolist() == [7, -1, 8]
    assert filter.get_many(["thistle"], 99).tolist() == [99]
    with pytest.raises(KeyError):
        filter["thistle"]
    assert kind.type(["rose"], [7])["rose"] == 7
    for values in [np.array([7, 2**32 - 1]), pa.array([7, 2**32 - 1]), iter([7, 2**32 - 1])]:
        assert kind.type(["rose", "tulip"], values).get_many(["rose", "tulip"]).tolist() == [7, 2**32 - 1]
    with pytest.raises(ValueError, match="element 1 is not a whole number from 0 to 4294967295"):
        kind.type(["rose", "tulip"], np.array([7, 2**32]))


def test_filters_are_merged_and_intersected(kind):
    one, other = kind.build(keys(50)), kind.build(keys(50, 25))
    if "merge" in one.abilities:
        both = one | other
        assert type(both) is kind.type and both.contains_many(keys(75)).all()
        assert one != both
        one_more = one.copy()
        one_more |= other
        assert one_more == both
        one_more = one.copy()
        one_more.merge(other)
        assert one_more == both
        same = one.copy()
        same |= same
        assert same.contains_many(keys(50)).all()
        if kind.can("count"):
            assert same.count("key 0") == 2
        with pytest.raises(ValueError, match="differ in") as caught:
            one | kind.build(keys(50), seed=7) if "seed" in kind.options else None
        assert isinstance(caught.value, gardenia.MismatchError)
    else:
        with pytest.raises(TypeError):
            one | other
    if "intersect" in one.abilities:
        common = one & other
        assert common.contains_many(keys(25, 25)).all() and "key 0" not in common
        one &= other
        assert one == common
    else:
        with pytest.raises(TypeError):
            one & other
    with pytest.raises(TypeError):
        one | {"rose"}
    with pytest.raises(TypeError):
        one |= {"rose"}


def test_copies_are_equal_and_apart(kind):
    filter = kind.build(WORDS)
    for made in [filter.copy(), copy.copy(filter), copy.deepcopy(filter)]:
        assert made == filter and type(made) is kind.type and made is not filter
        if kind.can("insert"):
            made.add("thistle")
            assert made != filter and "thistle" not in filter
    assert filter != kind.build(["thistle"]) and filter != "rose"
    with pytest.raises(TypeError):
        hash(filter)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_equal(kind, protocol):
    filter = kind.build(WORDS)
    made = pickle.loads(pickle.dumps(filter, protocol))
    assert made == filter and type(made) is kind.type


def test_pickles_travel_beside_their_buffers_and_to_another_process(kind):
    filter = kind.build(keys(100))
    buffers = []
    data = pickle.dumps(filter, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 and len(data) < 200
    assert pickle.loads(data, buffers=buffers) == filter
    script = "import pickle, sys; f = pickle.load(sys.stdin.buffer); print(f.kind, f.contains_many([f'key {i}' for i in range(100)]).all())"
    out = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(filter), capture_output=True, check=True).stdout
    assert out.decode().split() == [kind.name, "True"]


def test_files_are_read_mapped_and_closed(kind, tmp_path):
    filter, path = kind.build(keys(100)), tmp_path / "filter.gdn"
    filter.metadata = b"spring"
    filter.save(path)
    for read in [gardenia.open(path), gardenia.open(str(path)), kind.type.open(path), gardenia.from_bytes(path.read_bytes())]:
        assert type(read) is kind.type and read == filter and read.metadata == b"spring"
    assert kind.type.from_bytes(bytearray(filter.to_bytes())) == filter
    try:
        mapped = gardenia.open(path, mmap=True)
    except gardenia.FormatError:
        assert kind.name == "compressed"  # it is stored in another form than in memory
        return
    with mapped:
        assert mapped.mapped and type(mapped) is kind.type and "mapped" in repr(mapped) and mapped == filter
        assert mapped.contains_many(keys(100)).all() and "key 7" in mapped
        assert mapped.copy() == filter and not mapped.copy().mapped and mapped.to_bytes() == filter.to_bytes()
        assert pickle.loads(pickle.dumps(mapped)) == filter
        if kind.can("insert"):
            with pytest.raises(TypeError, match="read-only"):
                mapped.add("rose")
            with pytest.raises(TypeError, match="read-only"):
                mapped.update(["rose"])
    for use in [lambda: "rose" in mapped, lambda: mapped.fpp, lambda: mapped.contains_many(["a"]), mapped.to_bytes, mapped.copy]:
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(mapped)


def test_another_kind_of_file_is_refused_by_a_class(kind):
    other = next(other for other in KINDS if other.name != kind.name)
    with pytest.raises(ValueError, match=f"of kind {kind.name}, not {other.name}"):
        other.type.from_bytes(kind.build(WORDS).to_bytes())


def test_a_subclass_of_the_user_stays_what_it_is(kind):
    class Mine(kind.type):
        pass

    globals()["Mine"] = Mine
    Mine.__qualname__ = "Mine"
    filter = Mine.from_bytes(kind.build(WORDS).to_bytes())
    filter.note = "mine"
    assert type(filter) is Mine and type(filter.copy()) is Mine and filter == kind.build(WORDS)
    made = pickle.loads(pickle.dumps(filter))
    assert type(made) is Mine and made.note == "mine" and made == filter


def test_specs_make_the_same_filter(kind):
    filter = kind.build(WORDS)
    values = range(len(WORDS)) if kind.can("map") else None
    if kind.can("fixed"):
        made = gardenia.make(filter.spec, WORDS, values)
    else:
        made = gardenia.make(filter.spec)
        made.update(WORDS)
    assert type(made) is kind.type and made == filter
    by_options = {name: value for name, value in filter.options.items()}
    if not kind.can("fixed"):
        assert kind.type(**by_options) == gardenia.make(filter.spec)


def test_wrong_options_say_what_to_change(kind):
    with pytest.raises(TypeError, match='has no option "petals". hint: use one of'):
        kind.type(["a"], petals=5)
    with pytest.raises(ValueError, match="seed is -1") as caught:
        kind.type(["a"], [1] if kind.can("map") else None, seed=-1)
    assert isinstance(caught.value, gardenia.SpecError)
    if "fpp" in kind.options:
        with pytest.raises(ValueError, match="fpp is 2, and|fpp is 2"):
            kind.type(["a"], fpp=2.0)
        with pytest.raises(TypeError, match="must be a number"):
            kind.type(["a"], fpp=[])
    if kind.can("fixed"):
        with pytest.raises(ValueError, match="hand it the keys"):
            kind.type(**({"items": 5} if "items" in kind.options else {}))


def test_threads_use_one_filter_at_once(kind):
    """Batches and single calls from several threads: nothing is lost, and nothing waits forever."""
    filter = kind.build(keys(2000), items=40_000)
    numbers = [np.arange(5000) + 5000 * i for i in range(4)]
    failed = []

    def work(part):
        try:
            for at in range(0, len(part), 500):
                if kind.can("insert"):
                    filter.update(part[at : at + 500])
                    filter.add(int(part[at]))
                assert filter.contains_many(keys(2000)).shape == (2000,)
                _ = "key 7" in filter
                if "merge" in filter.abilities:
                    other = kind.empty(items=40_000)
                    other |= filter
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in numbers]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not failed and not any(thread.is_alive() for thread in threads)
    if kind.can("insert") and not kind.can("forget"):
        assert all(filter.contains_many(part).all() for part in numbers)


def test_answers_do_not_depend_on_the_number_of_threads(kind):
    numbers = np.arange(50_000, dtype=np.int64)
    filters = []
    for threads in [1, 2, 5, 0]:
        if kind.can("map"):
            made = kind.type(numbers, range(50_000), threads=threads)
        elif kind.can("fixed"):
            made = kind.type(numbers, threads=threads)
        else:
            made = kind.empty(items=60_000)
            new = made.add_many(numbers, threads=threads)
            filters and np.testing.assert_array_equal(new, first)
            first = new
        filters.append(made)
        probes = np.arange(100_000)[::-2]
        np.testing.assert_array_equal(made.contains_many(probes, threads=threads), filters[0].contains_many(probes.tolist()))
    assert all(made == filters[0] for made in filters)


def test_public_names_have_documentation():
    for name in gardenia.__all__:
        assert getattr(gardenia, name).__doc__, name
    for kind in KINDS:
        for name, member in inspect.getmembers(kind.type):
            if not name.startswith("_") and name != "kind":
                assert member.__doc__, f"{kind}.{name}"
